/* The score table: the constants of all clusters in one array for each feature, so that one pass over the features
 * scores a point with all clusters at once. It has a column for each cluster: column 0 is a new cluster, column k + 1
 * is slot k. Internal to the batch sweep.
 */
#ifndef MAPDPM_SCORE_TABLE_H
#define MAPDPM_SCORE_TABLE_H

#include "mapdpm_batch.h"

#include <string.h>

#include "mapdpm_priors.h"

/* The dynamic linker chooses among clones of a function. The sanitizers start too late for that. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) &&                       \
    !defined(MAPDPM_NO_CLONES)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), unused))
#elif defined(__GNUC__)
#define CLONES __attribute__((unused))
#else
#define CLONES
#endif

/* Whether the compiler has vectors as GCC and Clang do. MAPDPM_NO_VECTORS turns them off, to test what other compilers
 * do. */
#if defined(__GNUC__) && !defined(MAPDPM_NO_VECTORS)
#define HAS_VECTORS 1
#else
#define HAS_VECTORS 0
#endif

#if HAS_VECTORS
typedef double vector __attribute__((vector_size(32), may_alias));
typedef uint64_t bit_vector __attribute__((vector_size(32), may_alias));
#endif

/* The number of columns is a multiple of this: the widest kernel computes so many in one step. */
enum { COLUMNS_PER_STEP = 8 };

/* A cache line. A vector that straddles two lines loads and stores at half the speed. */
enum { ALIGNMENT = 64 };

/* Points that are scored together. */
enum { MD_BLOCK = 4 };

/* Features whose factors are multiplied before the product is scaled back to about 1. */
enum { MD_GROUP = 8 };

/* Cluster sizes whose logarithms are cached; a power of two. */
enum { SIZE_CACHE = 1024 };

/* With larger factors, a product of MD_GROUP of them, or its inverse, could overflow. */
static const double LARGEST_FACTOR = 1e36;

/* Allowances for rounding: of a score, and of the factor of each feature. Each is at least twice what rounding can
 * lose. */
static const double SLACK = 1e-12, ROUNDING = 4e-15;

/* A lower bound of a logarithm is the bits of the number, read as an integer without the last 11 and less those of 1,
 * times this unit. */
static const double ROUGH_LOG_UNIT = 0.693147180559945 / 2199023255552.0; /* ln 2, rounded down, over 2^41 */

/* The terms that depend on a cluster's weight alone. A move changes the weight by 1 only. */
typedef struct size_terms {
    double n;
    double log_constant; /* student_log_constant */
    double log_weight;   /* log prior weight of joining */
} size_terms;

typedef struct score_table {
    likelihood likelihood;
    const mapdpm_problem *problem;
    const mapdpm_clusters *clusters;
    const mapdpm_groups *groups; /* or NULL */
    const mapdpm_states *states; /* or NULL */
    int64_t group;               /* the group whose weights the columns have */
    int64_t before, after;       /* the rows of states around the current point; -1 where none comes after */
    int64_t end;                 /* the points of the current run end here: of a group, or of all */
    int64_t stride;    /* columns that there is room for */
    int64_t n_columns; /* columns to compute: up to the last slot in use */
    int64_t n_used;    /* slots in use */
    int64_t free_slot; /* the lowest free one, or -1 */
    int64_t statistics_size;
    int is_full;      /* 1: clusters have full covariance matrices; then is_product too */
    int64_t n_wide;   /* features that have columns; none of full matrices, and none with missing values */
    int is_product;   /* 1: a score is the log of a product over features; 0: a sum */
    int has_tails;    /* 1: tails of all columns are computed, and bound the scores (mapdpm_tails.h) */
    double *centre;   /* [n_wide][stride] */
    double *scale;    /* [n_wide][stride] g in the factors 1 + (x - centre)^2 / g; for sums, the factor of (x - centre)^2 */
    double *norm;     /* [n_groups][stride] 1 / the product of the g of MD_GROUP features */
    double *inverse;  /* [stride][D] for full matrices: 1 / the diagonal of the factor of each column */
    double
        *solved; /* [2][D][MD_BLOCK] for full matrices: a block of points, and their distances in units of a cluster */
    double *constant; /* [stride], as all up to loo_exponent */
    double *exponent;
    double *log_weight;         /* log prior weight of joining, or of opening a cluster; -inf for a free slot */
    double *upper_constant;     /* no score is above it */
    double *rough_exponent;     /* exponent times ROUGH_LOG_UNIT */
    double *loo_base;           /* loo_constant without its prior weight */
    double *loo_constant;       /* of leave-one-out scores, with the log prior weight of joining the rest */
    double *loo_lower_constant; /* lower bound: this - loo_exponent log(1 - loo_share ...) */
    double *loo_share;
    double *loo_exponent;
    double *loo_scale;          /* [capacity][n_wide] */
    double *scores;             /* [stride] */
    int64_t *candidates;        /* [stride] columns that may have the best score */
    double *tails;              /* [MD_BLOCK][stride] products, or sums, of points with columns */
    double *point_copies;       /* [MD_BLOCK][D] points in double */
    double *scratch;            /* [D] */
    double *scratch_statistics; /* [statistics_size] */
    const double *x;            /* [D] the current point */
    const double *block;        /* [MD_BLOCK][D] the current points */
    size_terms *size_cache;     /* [SIZE_CACHE] */
} score_table;

static inline int64_t n_groups(int64_t D) { return (D + MD_GROUP - 1) / MD_GROUP; }

static inline int64_t round_up(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Features that have a column each. */
static inline int64_t features_with_columns(int32_t family, int64_t D)
{
    return is_full(family) || is_skipping(family) ? 0 : D;
}

static const mapdpm_real *point(const score_table *table, int64_t i)
{
    return table->problem->data + i * table->likelihood.D;
}

static inline double *statistics_of(const score_table *table, int64_t slot)
{
    return table->clusters->rows + slot * table->statistics_size;
}

static inline void to_double(const mapdpm_real *from, double *to, int64_t D)
{
    int64_t d;

    for (d = 0; d < D; d++)
        to[d] = from[d];
}

/* Make point i the current point. */
static inline void load_point(score_table *table, int64_t i)
{
    if (sizeof(mapdpm_real) == sizeof(double)) {
        table->x = (const double *)(const void *)point(table, i);
    } else {
        to_double(point(table, i), table->point_copies, table->likelihood.D);
        table->x = table->point_copies;
    }
}

/* ---- updating columns -------------------------------------------------------------------------------------------- */

static const size_terms *size_terms_of(const score_table *table, double n)
{
    size_terms *const terms = table->size_cache + ((uint64_t)n & (SIZE_CACHE - 1));

    if (terms->n != n) {
        terms->n = n;
        terms->log_constant = statistics_log_constant(&table->likelihood, n);
        terms->log_weight = table->problem->weights ? 0.0 : n > 0.0 ? log_existing(table->problem, n, 1.0) : -INFINITY;
    }
    return terms;
}

/* The log of a prior weight; -inf for 0. */
static inline double log_or_never(double weight)
{
    return weight > 0.0 ? log(weight) : -INFINITY;
}

/* The log prior weight of joining a slot for a point of the current group, which is `less` (0 or 1) of the points in
 * it. n is the weight of the slot, less that. */
static inline double log_weight_of(score_table *table, int64_t slot, double n, int64_t less)
{
    const mapdpm_groups *const g = table->groups;
    const int64_t capacity = table->clusters->capacity;

    if (table->states)
        return log_or_never(weight_of_step(table->states, capacity, table->before, slot, table->after));
    if (g == NULL)
        return size_terms_of(table, n)->log_weight;
    return log_or_never((double)(g->table[table->group * capacity + slot] - less) +
                        weights_above(g, capacity, table->group)[slot]);
}

static inline void set_upper_constant(score_table *table, int64_t column)
{
    const double constant = table->constant[column] + table->log_weight[column];

    table->upper_constant[column] = constant + SLACK * (1.0 + fabs(constant)) +
                                    ROUNDING * (double)(table->likelihood.D + 4) * table->exponent[column];
    if (constant == -INFINITY)
        table->upper_constant[column] = constant;
}

/* Write the derived entries of a cluster into a column, and the constants of its bounds. For products, `spread` is 1 /
 * scale. */
ALWAYS_INLINE void set_column(score_table *table, int64_t column, double *statistics, const double *spread)
{
    const int64_t D = table->n_wide, stride = table->stride;
    const double *const constants = statistics_constants(&table->likelihood, statistics);
    const double *const centre = diagonal_centre(statistics, D), *const inverse = diagonal_scale(statistics, D);
    const double *const scale = table->is_product ? spread : inverse;
    int64_t d;

    if (table->is_full)
        triangle_invert_diagonal(full_factor(statistics, table->likelihood.D),
                                 table->inverse + column * table->likelihood.D, table->likelihood.D);
    for (d = 0; d < D; d++) {
        table->centre[d * stride + column] = centre[d];
        table->scale[d * stride + column] = scale[d];
    }
    for (d = 0; d < D && table->is_product; d += MD_GROUP) {
        const int64_t last = d + MD_GROUP < D ? d + MD_GROUP : D;
        double product[2] = {1.0, 1.0};
        int64_t j;

        for (j = d; j + 1 < last; j += 2) {
            product[0] *= inverse[j];
            product[1] *= inverse[j + 1];
        }
        table->norm[d / MD_GROUP * stride + column] = product[0] * product[1] * (j < last ? inverse[j] : 1.0);
    }
    table->constant[column] = constants[0];
    table->exponent[column] = constants[1];
    table->rough_exponent[column] = constants[1] * ROUGH_LOG_UNIT;
    set_upper_constant(table, column);
}

/* Complete the constants of leave-one-out scores of a slot by its prior weight. */
static inline void set_leave_one_out_weight(score_table *table, int64_t slot)
{
    const int64_t column = slot + 1;
    const double left = statistics_of(table, slot)[0] - 1.0;
    const double constant = table->loo_base[column] + log_weight_of(table, slot, left, 1);

    table->loo_constant[column] = constant;
    table->loo_lower_constant[column] = constant - SLACK * (1.0 + fabs(constant));
}

/* The constants of leave-one-out scores of points of weight 1, from the full statistics (docs/maths.md (10), (14),
 * (113)), and of their bounds. */
ALWAYS_INLINE void set_leave_one_out(score_table *table, int64_t slot)
{
    const likelihood *const f = &table->likelihood;
    const int64_t D = f->D, column = slot + 1;
    double *const statistics = statistics_of(table, slot), *const scale = diagonal_scale(statistics, D);
    double *const loo_scale = table->loo_scale + slot * table->n_wide;
    const double n = statistics[0], left = n - 1.0, *const constants = statistics_constants(f, statistics);
    double share = 0.0, constant, exponent = 1.0;
    int64_t d;

    table->loo_share[column] = table->loo_exponent[column] = 0.0;
    table->loo_lower_constant[column] = -INFINITY; /* a point that is alone is scored in full */
    if (table->clusters->counts[slot] < 2 || table->problem->weights)
        return;
    if (is_skipping(f->kind)) {
        constant = 0.0; /* each feature has its own */
    } else if (table->is_full) {
        const double cn = f->c0 + n;

        share = (cn + 1.0) / (cn - 1.0);
        constant = size_terms_of(table, left)->log_constant - constants[3];
        exponent = constants[1] - 1.0;
    } else if (f->kind == MAPDPM_NORMAL_KNOWN_VARIANCE) {
        for (d = 0; d < D; d++)
            loo_scale[d] = f->noise_scale[d] * ((f->noise_scale[d] + n * f->prior_variance[d]) /
                                                (f->noise_scale[d] + left * f->prior_variance[d]));
        constant = -0.5 * ((double)D * LOG_2PI + log_product(loo_scale, D));
        for (d = 0; d < D; d++) {
            loo_scale[d] *= 0.5 / (f->noise_scale[d] * f->noise_scale[d]);
            share = loo_scale[d] / scale[d] > share ? loo_scale[d] / scale[d] : share;
        }
    } else {
        if (f->kind == MAPDPM_NORMAL_GAMMA) {
            const double cn = f->c0 + n;

            share = (cn + 1.0) / (cn - 1.0);
            constant = (double)D * size_terms_of(table, left)->log_constant - 0.5 * constants[2];
            exponent = f->a0 + 0.5 * n - 0.5;
        } else {
            share = (n + 1.0) / left;
            constant = 0.0;
        }
        for (d = 0; d < D; d++)
            loo_scale[d] = scale[d] * share;
    }
    table->loo_base[column] = constant;
    set_leave_one_out_weight(table, slot);
    table->loo_share[column] = share * (1.0 + SLACK);
    table->loo_exponent[column] = exponent * (1.0 + (double)D * SLACK);
}

static inline void set_n_used(score_table *table, int64_t used)
{
    const int64_t capacity = table->clusters->capacity;

    table->n_used = used;
    if (table->states)
        table->log_weight[0] = log_or_never(weight_of_new_state(table->states, capacity, table->after));
    else if (table->groups)
        table->log_weight[0] = log_or_never(weights_above(table->groups, capacity, table->group)[capacity]);
    else
        table->log_weight[0] = log_new(table->problem, used, 1.0);
    set_upper_constant(table, 0);
}

/* Fill the column of a slot in use. The derived entries of its statistics are up to date. */
ALWAYS_INLINE void fill_column(score_table *table, int64_t slot, const double *spread)
{
    const int64_t column = slot + 1;

    table->log_weight[column] = log_weight_of(table, slot, statistics_of(table, slot)[0], 0);
    table->n_columns = column + 1 > table->n_columns ? column + 1 : table->n_columns;
    set_column(table, column, statistics_of(table, slot), spread);
    set_leave_one_out(table, slot);
}

/* Give all columns their prior weights anew. O(capacity). */
static inline void set_log_weights(score_table *table)
{
    int64_t k;

    for (k = 0; k < table->clusters->capacity; k++)
        if (table->clusters->counts[k] > 0) {
            table->log_weight[k + 1] = log_weight_of(table, k, 0.0, 0);
            set_upper_constant(table, k + 1);
            if (table->clusters->counts[k] > 1)
                set_leave_one_out_weight(table, k);
        }
    set_n_used(table, table->n_used);
}

/* Give all columns the prior weights of a group. O(capacity). */
static inline void set_group(score_table *table, int64_t group)
{
    if (table->group == group)
        return;
    table->group = group;
    set_log_weights(table);
}

static inline void find_free_slot(score_table *table)
{
    const mapdpm_clusters *const z = table->clusters;
    int64_t k;

    for (k = 0; k < z->capacity && z->counts[k] > 0; k++)
        ;
    table->free_slot = k < z->capacity ? k : -1;
}

/* Update the derived entries and the column of a slot that has changed, and the lowest free slot. */
CLONES
static void refresh_column(score_table *table, int64_t slot)
{
    const int64_t is_free = table->clusters->counts[slot] == 0, column = slot + 1;
    double *const statistics = statistics_of(table, slot);

    if (is_free) {
        statistics_clear(&table->likelihood, statistics);
        table->log_weight[column] = table->upper_constant[column] = table->loo_lower_constant[column] = -INFINITY;
    } else {
        statistics_prepare_with(&table->likelihood, statistics, size_terms_of(table, statistics[0])->log_constant,
                                table->scratch);
        fill_column(table, slot, table->scratch);
    }
    if (is_free || slot == table->free_slot)
        find_free_slot(table);
}

#endif
