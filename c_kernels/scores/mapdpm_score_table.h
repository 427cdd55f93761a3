/* The score table: the constants of all clusters in one array for each feature, so that one pass over the features
 * scores a point with all clusters at once. It has a column for each cluster: column 0 is a new cluster, column k + 1
 * is slot k. Internal to the batch sweep.
 */
#ifndef MAPDPM_SCORE_TABLE_H
#define MAPDPM_SCORE_TABLE_H

#include "mapdpm_batch.h"

#include <string.h>

#include "families/mapdpm_priors.h"

#define CLONES MAPDPM_CLONES

/* Whether the compiler has vectors as GCC and Clang do. MAPDPM_NO_VECTORS turns them off, to test what other compilers
 * do. */
#if defined(__GNUC__) && !defined(MAPDPM_NO_VECTORS)
#define HAS_VECTORS 1
#else
#define HAS_VECTORS 0
#endif

/* A loop over a few points, which are the lanes of a vector. GCC must not unroll it before it makes vectors. */
#if defined(__GNUC__) && !defined(__clang__)
#define LANE_LOOP _Pragma("GCC unroll 1") for
#else
#define LANE_LOOP for
#endif

#if HAS_VECTORS
typedef double vector __attribute__((vector_size(32), may_alias));
typedef uint64_t bit_vector __attribute__((vector_size(32), may_alias));
#endif

/* A cache line. A vector that straddles two lines loads and stores at half the speed. */
enum { ALIGNMENT = 64 };

/* Factors of so many features are multiplied before the product is divided by their scales. */
enum { FEATURES_PER_STEP = 4 };

/* Points whose bounds are computed together, and points with full covariance matrices: more of these would cost more in
 * repairs, after each move, than sharing saves. */
enum { MD_POINTS = 32, MD_BLOCK = 4 };

/* Points that are scored together, of a batch: a vector of doubles of the widest processors. */
enum { MD_SCORED = 8 };

/* Arrays of columns are a multiple of a cache line. */
enum { COLUMNS_PER_LINE = 16 };

/* Cluster sizes whose logarithms are cached; a power of two. */
enum { SIZE_CACHE = 1024 };

/* A product of shares that has lost this much becomes a logarithm, before it loses digits. */
static const double LARGEST_LOSS = 0.5;

/* Allowances for rounding: of a score, and of the factor of each feature. Each is at least twice what rounding can
 * lose. */
static const double SLACK = 1e-12, ROUNDING = 4e-15;

/* The bound of a column that is not in use. */
static const float NEVER = -1e30f;

/* Relative allowances for the rounding of a few operations in float: of constants, and of slopes. */
static const double COARSE_SLACK = 4.8e-7 /* > 2^-21 */, SLOPE_SLACK = 1e-6 /* > 2^-20 */;

/* The terms that depend on a cluster's weight alone. A move changes the weight by 1 only. */
typedef struct size_terms {
    double n;
    double log_constant; /* student_log_constant */
    double log_weight;   /* log prior weight of joining */
} size_terms;

/* What a lower bound of leave-one-out scores with a slot consists of; constant is -inf if there is none. */
typedef struct own_bound {
    float constant;
    float exponent;
    float share;
} own_bound;

typedef struct score_table {
    likelihood likelihood;
    const mapdpm_problem *problem;
    const mapdpm_clusters *clusters;
    const mapdpm_groups *groups; /* or NULL */
    const mapdpm_states *states; /* or NULL */
    int64_t group;               /* the group whose weights the columns have */
    int64_t before, after;       /* the rows of states around the current point; -1 where none comes after */
    int64_t end;                 /* the points of the current run end here: of a group, or of all */
    int64_t stride;              /* columns that there is room for */
    int64_t n_columns;           /* columns to compute: up to the last slot in use */
    int64_t n_used;              /* slots in use */
    int64_t free_slot;           /* the lowest free one, or -1 */
    int64_t statistics_size;
    int is_full;     /* 1: clusters have full covariance matrices; then is_product too */
    int64_t n_wide;  /* features that have lanes; none of full matrices, with missing values or with verbs */
    int is_start;    /* 1: points join clusters, and none is in one already */
    int is_product;  /* 1: a score is the log of a product over features; 0: a sum */
    int has_bounds;  /* 1: bounds of scores are computed for a batch of points (bounds.c) */
    int by_factors;  /* 1: these bounds are scores by verbs, in float (factors.c) */
    int has_units;   /* 1: columns have units, and are kept in them */
    int is_stale;    /* 1: the units have changed since the batch was loaded */
    int in_double;   /* 1: bounds are computed in double, as floats would be too coarse */
    double *inverse; /* [stride][D] for full matrices: 1 / the diagonal of the factor of each column */
    double
        *solved; /* [2][D][MD_BLOCK] for full matrices: a block of points, and their distances in units of a cluster */
    double *constant;   /* [stride], as all up to scores */
    double *exponent;
    double *log_weight;   /* log prior weight of joining, or of opening a cluster; -inf for a free slot */
    double *log_error;    /* what rounding may add to the logarithm of a tail; for sums, relative to it */
    double *tail_error;   /* for sums: what rounding may add besides */
    double *loo_base;     /* loo_constant without its prior weight */
    double *loo_constant; /* of leave-one-out scores, with the log prior weight of joining the rest */
    double *loo_share;    /* a tail less 1, times this, is the share that a point has in the tail of its cluster */
    double *loo_exponent;
    double *scores;
    double *exact_rows;         /* [stride][2][padded D], as all up to group_scores for exact.c */
    double *exact_points;       /* [MD_POINTS][padded D] */
    double *group_points;       /* [padded D][MD_SCORED] */
    double *group_scores;       /* [stride][MD_SCORED] */
    double *loo_scale;          /* [capacity][n_wide] */
    int64_t *candidates;        /* [stride] columns that may have the best score */
    double *point_copy;         /* [point_size] a point in double */
    double *scratch;            /* [point_size] */
    double *scratch_statistics; /* [statistics_size] */
    const double *x;            /* the current point */
    double *likelihood_room;    /* [likelihood_doubles] */
    size_terms *size_cache;     /* [SIZE_CACHE] */

    /* the batch, and the bounds of its points */
    const int64_t *order; /* of points, or NULL */
    int64_t batch;        /* the first one, in that order */
    int64_t n_batch;
    double *origin;      /* [n_wide] of the units */
    double *unit;        /* [n_wide] powers of 2 */
    double *per_unit;    /* [n_wide] 1 / unit */
    double *square;      /* [n_wide] unit * unit */
    double *per_square;  /* [n_wide] 1 / square */
    double *lane_rows;   /* [stride][lane_row_size] centre[n_wide], scale[n_wide] and norms, as floats or doubles */
    double *lanes;       /* [n_wide][MD_POINTS] the points, as floats or doubles */
    mapdpm_real *rows;   /* [MD_POINTS][n_wide] copies of points */
    float *bounds;       /* [stride][MD_POINTS] no score is above this and the prior weight */
    float *upper;        /* [stride] a bound is this, less slope times the logarithm of a product, or a sum */
    float *slope;        /* [stride] */
    float *weight;       /* [stride] log_weight, rounded up */
    own_bound *own;      /* [stride] */
    float *own_tail;     /* [MD_POINTS] the tail of each point with its own column; less 1, if it is a product */
    float *least;        /* [MD_POINTS] no leave-one-out score is below this */
    int32_t *own_column; /* [MD_POINTS] 0 where a point has no slot */
} score_table;

static inline int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* Features that have a column each. */
static inline int64_t features_with_columns(const mapdpm_problem *p)
{
    return p->verbs || is_full(p->family) || is_skipping(p->family) ? 0 : p->n_features;
}

/* Point i of a problem with dense points. */
static inline const mapdpm_real *point(const score_table *table, int64_t i)
{
    return table->problem->data + i * table->likelihood.D;
}

/* Whether a column is that of a new cluster, or of a slot in use. */
static inline int is_column_used(const score_table *table, int64_t k)
{
    return k == 0 || (k < table->n_columns && table->clusters->counts[k - 1] > 0);
}

static inline double *statistics_of(const score_table *table, int64_t slot)
{
    return table->clusters->rows + slot * table->statistics_size;
}

/* Make point i the current point. */
static inline void load_point(score_table *table, int64_t i)
{
    table->x = point_of(table->problem, i, table->point_copy);
}

static inline double *statistics_of_column(const score_table *table, int64_t column)
{
    return column > 0 ? statistics_of(table, column - 1) : table->likelihood.empty;
}

/* The log of a prior weight; -inf for 0. */
static inline double log_or_never(double weight)
{
    return weight > 0.0 ? log(weight) : -INFINITY;
}

static inline int64_t point_of_lane(const score_table *t, int64_t q)
{
    return t->order ? t->order[t->batch + q] : t->batch + q;
}

static inline int64_t slot_of_lane(const score_table *t, int64_t q)
{
    return t->clusters->labels[point_of_lane(t, q)];
}

/* The lanes that hold points, as bits. */
static inline uint32_t lanes_in_use(const score_table *t)
{
    return t->n_batch == MD_POINTS ? ~UINT32_C(0) : (UINT32_C(1) << t->n_batch) - 1;
}

/* The lowest bit that is set. */
static inline int lowest_bit(uint32_t bits)
{
#if defined(__GNUC__)
    return __builtin_ctz(bits);
#else
    int q = 0;

    while (!(bits >> q & 1))
        q++;
    return q;
#endif
}

/* Doubles of a row of lane_rows: as many as centres, scales and norms in double. */
static inline int64_t lane_row_size(int64_t D)
{
    return 2 * D + (D + FEATURES_PER_STEP - 1) / FEATURES_PER_STEP;
}

/* If D factors times their exponent exceed this, a plain product may be off by a tenth of the tolerance. */
static const double LARGE_EXPONENT = 1e5;

/* Whether the exponent of a column makes a plain product lose digits of the score. */
static inline int is_large(const score_table *table, double exponent)
{
    return table->is_product && exponent * (double)table->likelihood.D > LARGE_EXPONENT;
}

/* |R^-1 (x - centre)|^2 of a point with a column, for full covariance matrices. */
ALWAYS_INLINE double distance_of(const score_table *table, int64_t column, const double *x)
{
    const int64_t D = table->likelihood.D;
    double *const statistics = statistics_of_column(table, column), total = 0.0;

    triangle_solve(full_factor(statistics, D), table->inverse + column * D, x, full_centre(statistics, D),
                   table->likelihood.scratch, D, &total);
    return total;
}

#endif
