/* The verbs of a family of distributions, as C: what mapdpm/translation writes from a class of Python, and what the
 * batch kernels call for families that have no code of their own. mapdpm/protocol.py defines each verb.
 */
#ifndef MAPDPM_VERBS_H
#define MAPDPM_VERBS_H

#include <stddef.h>
#include <stdint.h>

/* The dynamic linker chooses among clones of a function. The sanitizers start too late for that. MAPDPM_ONE_CLONE names
 * one, for tests and measurements. */
#if defined(MAPDPM_ONE_CLONE)
#define MAPDPM_CLONES __attribute__((target(MAPDPM_ONE_CLONE)))
#elif defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) &&                     \
    !defined(MAPDPM_NO_CLONES)
#define MAPDPM_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "arch=x86-64-v2", "default")))
#else
#define MAPDPM_CLONES
#endif

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
    int32_t form; /* of log_predictive, of the family, or of all factors if their rows lie side by side */
} mapdpm_family_view;

/* Forms of log_predictive that C computes for many points at once, from the prepared row of a family. */
enum {
    MAPDPM_BY_VERB,
    MAPDPM_STUDENT,   /* n, mean, M2 | constant, exponent, sum log b, share left, centre, scale */
    MAPDPM_BERNOULLI, /* n, ones | share left, log p, log(1 - p) */
    MAPDPM_POISSON,   /* n, sums, sum log x! | share left, constant, log(b + 1) */
};

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
    double (*log_predictive_without)(const mapdpm_family_view *self, const double *row, const double *x);
}; /* log_predictive_weighted and the last three may be NULL */

/* The verbs of products. A value that is not there is NaN; a factor without any value is left out. */
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

#ifdef __cplusplus
}
#endif
#endif
