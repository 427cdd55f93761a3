/* The verbs of a family of distributions, as C: what mapdpm/translation writes from a class of Python, and what the batch
 * kernels call for families that have no code of their own. mapdpm/protocol.py defines the meaning of each verb.
 */
#ifndef MAPDPM_VERBS_H
#define MAPDPM_VERBS_H

#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cdef: begin */
typedef struct mapdpm_verbs mapdpm_verbs;
typedef struct mapdpm_factor mapdpm_factor;

/* A family with its parameters, as verbs read it. */
typedef struct mapdpm_family_view {
    int64_t n_entries;           /* of each vector; a matrix has as many rows and columns */
    int64_t n_columns;           /* of points */
    int64_t size;                /* of the row of a cluster */
    int64_t n_statistics;        /* of these numbers, first, are statistics */
    int64_t n_parameters;        /* of what log_likelihood reads */
    const double *const *fields; /* in the order of the class: vectors, matrices row by row, numbers */
    int64_t n_factors;           /* of a product of families; else 0 */
    const mapdpm_factor *factors;
} mapdpm_family_view;

/* A family that a product has for some columns of the points. */
enum { MAPDPM_MOST_GATHERED = 64 }; /* numbers of a row, or parameters, that are no neighbours */
struct mapdpm_factor {
    const mapdpm_verbs *verbs;
    mapdpm_family_view view;
    int64_t column;     /* the first one */
    int64_t place;      /* of its row in the row of the product */
    int64_t parameters; /* the place of its parameters in those of the product */
    int64_t stride;     /* from one number of its row, or of its parameters, to the next: 1 if they are neighbours */
};

/* A point is x: its columns; or the number of a word; or how many entries it has, and an index and a value for each. */
struct mapdpm_verbs {
    void (*init)(const mapdpm_family_view *self, double *row);
    void (*prepare)(const mapdpm_family_view *self, double *row);
    void (*add)(const mapdpm_family_view *self, double *row, const double *x, double w);
    int (*remove)(const mapdpm_family_view *self, double *row, const double *x, double w);
    void (*merge)(const mapdpm_family_view *self, double *row, const double *other);
    double (*log_predictive)(const mapdpm_family_view *self, const double *row, const double *x);
    double (*log_predictive_weighted)(const mapdpm_family_view *self, const double *row, const double *x, double w);
    double (*log_marginal)(const mapdpm_family_view *self, const double *row);
    double (*log_merge)(const mapdpm_family_view *self, const double *both, const double *row, const double *other);
    double (*log_likelihood)(const mapdpm_family_view *self, const double *parameters, const double *x);
}; /* log_predictive_weighted and log_likelihood may be NULL */

/* The verbs of products. A value that is not there is NaN; a factor without all of its values is left out. */
const mapdpm_verbs *mapdpm_verbs_of_product(void);
/* cdef: end */

/* ---- operations of Python ---------------------------------------------------------------------------------------- */

/* Of equals the first. */
static inline double mapdpm_max_of_reals(double a, double b) { return b > a ? b : a; }
static inline double mapdpm_min_of_reals(double a, double b) { return b < a ? b : a; }
static inline int64_t mapdpm_max_of_ints(int64_t a, int64_t b) { return b > a ? b : a; }
static inline int64_t mapdpm_min_of_ints(int64_t a, int64_t b) { return b < a ? b : a; }
static inline int64_t mapdpm_absolute(int64_t a) { return a < 0 ? -a : a; }
/* Towards minus infinity, with a remainder of the sign of b. */
static inline int64_t mapdpm_floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) & ((a < 0) != (b < 0))); }
static inline int64_t mapdpm_modulo(int64_t a, int64_t b) { return a - b * mapdpm_floor_div(a, b); }

/* log |Gamma(x)| by Lanczos' sum with the coefficients of Boost for N = 13, operation by operation as math.lgamma of Python
 * has it: that of libm differs in the last bits, and writes a global. */
static inline double mapdpm_lgamma(double x)
{
    static const double above[13] = {
        23531376880.41076, 42919803642.6491, 35711959237.35567, 17921034426.03721, 6039542586.352028,
        1439720407.3117216, 248874557.86205417, 31426415.585400194, 2876370.6289353725, 186056.26539522348,
        8071.672002365816, 210.82427775157936, 2.5066282746310002};
    static const double below[13] = {0.0,        39916800.0, 120543840.0, 150917976.0, 105258076.0, 45995730.0, 13339535.0,
                                     2637558.0, 357423.0,   32670.0,     1925.0,      66.0,        1.0};
    const double g = 6.024680040776729583740234375, size = fabs(x);
    double one = 0.0, two = 0.0, r;
    int i;

    if (!(size < INFINITY))
        return x != x ? x : INFINITY;
    if (x == floor(x) && x <= 2.0)
        return x <= 0.0 ? INFINITY : 0.0;
    if (size < 1e-20)
        return -log(size);
    for (i = 12; i >= 0 && size < 5.0; i--) {
        one = one * size + above[i];
        two = two * size + below[i];
    }
    for (i = 0; i < 13 && !(size < 5.0); i++) {
        one = one / size + above[i];
        two = two / size + below[i];
    }
    r = log(one / two) - g;
    r += (size - 0.5) * (log(size + g - 0.5) - 1.0);
    if (x < 0.0) { /* by reflection */
        const double rest = fmod(size, 2.0), near = floor(2.0 * rest + 0.5), pi = 3.141592653589793;
        const double sine = near == 0.0 || near == 4.0 ? sin(pi * (rest - near / 2.0))
                            : near == 2.0              ? sin(pi * (1.0 - rest))
                            : near == 1.0              ? cos(pi * (rest - 0.5))
                                                       : -cos(pi * (rest - 1.5));

        r = 1.1447298858494002 - log(fabs(sine)) - log(size) - r;
    }
    return r;
}

#ifdef __cplusplus
}
#endif
#endif
