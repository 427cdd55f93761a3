/* The constants of all slots, side by side, one array a feature: so that one pass over the features scores a point
 * against all clusters at once. Column 0 is a new cluster, column k + 1 slot k. Internal to the batch sweep.
 */
#ifndef MAPDPM_COLUMNS_H
#define MAPDPM_COLUMNS_H

#include "mapdpm_batch.h"

#include <string.h>

#include "mapdpm_priors.h"

/* Runtime dispatch by the dynamic linker; the sanitizers start too late for it. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(MAPDPM_NO_CLONES)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), unused))
#elif defined(__GNUC__)
#define CLONES __attribute__((unused))
#else
#define CLONES
#endif

/* Whether there are vectors, as GCC and Clang have them; MAPDPM_NO_LANES says no, for tests of what others do. */
#if defined(__GNUC__) && !defined(MAPDPM_NO_LANES)
#define HAS_LANES 1
#else
#define HAS_LANES 0
#endif

/* Columns come in multiples of it: of what one step of the widest kernel takes. */
enum { LANES = 8 };

/* Of a cache line: a vector that straddles two is stored and loaded again at half the speed. */
enum { ALIGNMENT = 64 };

/* Points that are taken at once. */
enum { FOUR = 4 };

/* Features whose factors are multiplied before the product is brought back to about 1. */
enum { GROUP = 8 };

/* Cluster sizes whose logarithms are kept at hand; a power of two. */
enum { SIZES = 1024 };

/* Beyond it GROUP factors, or their inverse, could overflow. */
static const double FAR = 1e36;

/* Room for what is lost of a score, and of each feature's factor; twice what rounding can lose, at least. */
static const double SLACK = 1e-12, ROUNDINGS = 4e-15;

/* Of a positive number's bits, read as an integer without the last 11, above those of 1: no more than its logarithm. */
static const double ROUGH_UNIT = 0.693147180559945 / 2199023255552.0; /* ln 2, rounded down, by 2^41 */

/* What the weight of a cluster alone says, and a move changes by 1 only. */
typedef struct size_terms {
    double n;
    double gain;     /* row_gain */
    double log_size; /* log weight of joining */
} size_terms;

typedef struct columns {
    row_family family;
    const mapdpm_problem *problem;
    const mapdpm_clusters *clusters;
    int64_t stride;    /* columns that there is room for */
    int64_t width;     /* columns to compute: up to the last slot in use */
    int64_t used;      /* slots in use */
    int64_t free_slot; /* the lowest free one, or -1 */
    int64_t row_size;
    int multiplies;    /* a score is the log of a product over features, else a sum */
    int has_tails;     /* whether products or sums over all columns are formed, and bound scores: mapdpm_tails.h */
    double *centre;    /* [D][stride] */
    double *scale;     /* [D][stride] g, where factors are 1 + (x - centre)^2 / g; else of (x - centre)^2 */
    double *norm;      /* [groups][stride] 1 / the product of the g of GROUP features */
    double *constant;  /* [stride], and so on */
    double *exponent;
    double *log_size;  /* log weight of joining, or of opening; -inf for a free slot */
    double *top;       /* no score is above it */
    double *steepness; /* exponent, in the unit of rough logarithms: ROUGH_UNIT */
    double *own_constant; /* leave-one-out, with the log weight of joining what is left */
    double *own_top;      /* no leave-one-out score is below own_top - own_exponent log (1 - own_share ...) */
    double *own_share;
    double *own_exponent;
    double *own_scale;  /* [capacity][D] */
    double *scores;     /* [stride] */
    int64_t *listed;    /* [stride] columns that may decide */
    double *tails;      /* [FOUR][stride] products, or sums, of points with columns */
    double *copies;     /* [FOUR][D] points in double */
    double *other;      /* [D] */
    double *scratch;    /* [row_size] */
    double *blank;      /* [row_size] the row of an empty cluster */
    const double *x;    /* [D] the point */
    const double *four; /* [FOUR][D] the points */
    size_terms *sizes;  /* [SIZES] */
} columns;

static inline int64_t groups(int64_t D)
{
    return (D + GROUP - 1) / GROUP;
}

static inline int64_t padded(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

static const mapdpm_real *point(const columns *c, int64_t i)
{
    return c->problem->data + i * c->family.D;
}

static inline double *row(const columns *c, int64_t slot)
{
    return c->clusters->rows + slot * c->row_size;
}

static inline void load(const mapdpm_real *from, double *to, int64_t D)
{
    int64_t d;

    for (d = 0; d < D; d++)
        to[d] = from[d];
}

/* Point i for scoring. */
static inline void look_at(columns *c, int64_t i)
{
    if (sizeof(mapdpm_real) == sizeof(double)) {
        c->x = (const double *)(const void *)point(c, i);
    } else {
        load(point(c, i), c->copies, c->family.D);
        c->x = c->copies;
    }
}

/* ---- bringing columns up to date --------------------------------------------------------------------------------- */

static const size_terms *of_size(columns *c, double n)
{
    size_terms *const terms = c->sizes + ((uint64_t)n & (SIZES - 1));

    if (terms->n != n) {
        terms->n = n;
        terms->gain = row_gain(&c->family, n);
        terms->log_size = c->problem->weights ? 0.0 : n > 0.0 ? log_existing(c->problem, n, 1.0) : -INFINITY;
    }
    return terms;
}

static inline void set_top(columns *c, int64_t column)
{
    const double top = c->constant[column] + c->log_size[column];

    c->top[column] =
        top + SLACK * (1.0 + fabs(top)) + ROUNDINGS * (double)(c->family.D + 4) * c->exponent[column];
}

/* A prepared row becomes a column, and what bounds need to know of it; where factors multiply, spread is 1 / scale. */
ROW_INLINE void set_column(columns *c, int64_t column, double *from, const double *spread)
{
    const int64_t D = c->family.D, stride = c->stride;
    const double *const constants = row_constants(from, D), *const centre = row_centre(from, D);
    const double *const inverse = row_scale(from, D), *const scale = c->multiplies ? spread : inverse;
    int64_t d;

    for (d = 0; d < D; d++) {
        c->centre[d * stride + column] = centre[d];
        c->scale[d * stride + column] = scale[d];
    }
    for (d = 0; d < D && c->multiplies; d += GROUP) {
        const int64_t last = d + GROUP < D ? d + GROUP : D;
        double product[2] = {1.0, 1.0};
        int64_t j;

        for (j = d; j + 1 < last; j += 2) {
            product[0] *= inverse[j];
            product[1] *= inverse[j + 1];
        }
        c->norm[d / GROUP * stride + column] = product[0] * product[1] * (j < last ? inverse[j] : 1.0);
    }
    c->constant[column] = constants[0];
    c->exponent[column] = constants[1];
    c->steepness[column] = constants[1] * ROUGH_UNIT;
    set_top(c, column);
}

/* What the leave-one-out of a point of weight 1 needs, from the full row (docs/maths.md (10), (14)), and its bounds. */
ROW_INLINE void set_own(columns *c, int64_t slot)
{
    const row_family *const f = &c->family;
    const int64_t D = f->D, column = slot + 1;
    double *const from = row(c, slot), *const own = c->own_scale + slot * D, *const scale = row_scale(from, D);
    const double n = from[0], left = n - 1.0, log_b = row_constants(from, D)[2];
    double share = 0.0, constant, exponent = 1.0;
    int64_t d;

    c->own_share[column] = c->own_exponent[column] = 0.0;
    c->own_top[column] = -INFINITY; /* one that is alone is scored */
    if (c->clusters->counts[slot] < 2 || c->problem->weights)
        return;
    if (f->kind == MAPDPM_NORMAL_KNOWN_VARIANCE) {
        for (d = 0; d < D; d++)
            own[d] = f->floor[d] * ((f->floor[d] + n * f->rho[d]) / (f->floor[d] + left * f->rho[d]));
        constant = -0.5 * ((double)D * ROW_LOG_2PI + row_log_product(own, D));
        for (d = 0; d < D; d++) {
            own[d] *= 0.5 / (f->floor[d] * f->floor[d]);
            share = own[d] / scale[d] > share ? own[d] / scale[d] : share;
        }
    } else {
        if (f->kind == MAPDPM_NORMAL_GAMMA) {
            const double cn = f->c0 + n;

            share = (cn + 1.0) / (cn - 1.0);
            constant = (double)D * of_size(c, left)->gain - 0.5 * log_b;
            exponent = f->a0 + 0.5 * n - 0.5;
        } else {
            share = (n + 1.0) / left;
            constant = 0.0;
        }
        for (d = 0; d < D; d++)
            own[d] = scale[d] * share;
    }
    constant += of_size(c, left)->log_size;
    c->own_constant[column] = constant;
    c->own_share[column] = share * (1.0 + SLACK);
    c->own_exponent[column] = exponent * (1.0 + (double)D * SLACK);
    c->own_top[column] = constant - SLACK * (1.0 + fabs(constant));
}

static inline void count_used(columns *c, int64_t used)
{
    c->used = used;
    c->log_size[0] = log_new(c->problem, used, 1.0);
    set_top(c, 0);
}

/* The column of a slot in use, whose row is prepared. */
ROW_INLINE void use_column(columns *c, int64_t slot, const double *spread)
{
    const int64_t column = slot + 1;

    c->log_size[column] = of_size(c, row(c, slot)[0])->log_size;
    c->width = column + 1 > c->width ? column + 1 : c->width;
    set_column(c, column, row(c, slot), spread);
    set_own(c, slot);
}

static inline void find_free_slot(columns *c)
{
    const mapdpm_clusters *const z = c->clusters;
    int64_t k;

    for (k = 0; k < z->capacity && z->counts[k] > 0; k++)
        ;
    c->free_slot = k < z->capacity ? k : -1;
}

/* After a slot has changed: its row, its column, and which slots are in use. */
CLONES
static void refresh(columns *c, int64_t slot)
{
    const int64_t is_free = c->clusters->counts[slot] == 0, column = slot + 1;
    double *const of = row(c, slot);

    if (is_free) {
        memcpy(of, c->blank, (size_t)c->row_size * sizeof *of);
        c->log_size[column] = c->top[column] = c->own_top[column] = -INFINITY;
    } else {
        row_prepare_with(&c->family, of, of_size(c, of[0])->gain, c->other);
        use_column(c, slot, c->other);
    }
    if (is_free || slot == c->free_slot)
        find_free_slot(c);
}

#endif
