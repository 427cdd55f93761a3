/* Bounds of the scores of points with all columns, for full covariance matrices: their tails are 1 + stretch times the
 * squared distance. Four points are solved at a time, in the lanes of a vector. A part of bounds.c.
 */
#ifndef MAPDPM_FULL_TAILS_H
#define MAPDPM_FULL_TAILS_H

#include "scores/mapdpm_scores.h"

#if HAS_VECTORS

#define SOLVE solve_lanes
#define SOLVE_NUMBER vector
#include "arithmetic/mapdpm_solve.h"

/* The tails of four points, in the lanes of points[D], with a column: those that exact scores are made of, bit for bit.
 * From the first n_rows rows of the factor alone, a multiple of 4, they are lower bounds. */
ALWAYS_INLINE void full_tail(const score_table *table, int64_t k, const vector *points, int64_t n_rows, vector *tail)
{
    const int64_t D = table->likelihood.D;
    double *const statistics = statistics_of_column(table, k);
    vector total = {0.0, 0.0, 0.0, 0.0};

    solve_lanes(full_factor(statistics, D), table->inverse + k * D, points, full_centre(statistics, D),
                (vector *)(void *)(table->solved + MD_BLOCK * D), n_rows, &total);
    *tail = 1.0 + full_constants(statistics, D)[2] * total;
}

/* The tails of the batch with a column, and its bounds. */
ALWAYS_INLINE void full_tail_of_batch(const score_table *table, int64_t k, int64_t n_rows, vector *tail)
{
    double tails[MD_BLOCK];

    full_tail(table, k, (const vector *)(const void *)table->solved, n_rows, tail);
    memcpy(tails, tail, sizeof tails);
    bound_by_tails_of_doubles(table, k, tails, NULL, MD_BLOCK);
}

/* Put the points of the batch into the lanes of vectors; the last one is repeated. */
static inline void load_of_full(const score_table *table)
{
    const int64_t D = table->likelihood.D;
    vector *const points = (vector *)(void *)table->solved;
    int64_t d, q;

    for (q = 0; q < MD_BLOCK; q++) {
        const mapdpm_real *const x = point(table, point_of_lane(table, q < table->n_batch ? q : table->n_batch - 1));

        for (d = 0; d < D; d++)
            points[d][q] = (double)x[d];
    }
}

/* The bounds of the batch with the columns from `first` to before `end`. */
static __attribute__((noinline)) CLONES void bound_columns_of_full(const score_table *table, int64_t first, int64_t end)
{
    vector tail;
    int64_t k, q;

    for (k = first; k < end; k++)
        if (is_column_used(table, k))
            full_tail_of_batch(table, k, table->likelihood.D, &tail);
        else
            for (q = 0; q < MD_BLOCK; q++)
                table->bounds[k * MD_POINTS + q] = NEVER;
}

/* ---- two stages: after the first rows of their factors, most columns are out of question ------------------------- */

/* A lower bound of a logarithm is the bits of the number, read as an integer without the last 11 and less those of 1,
 * times this unit. */
static const double ROUGH_LOG_UNIT = 0.693147180559945 / 2199023255552.0; /* ln 2, rounded down, over 2^41 */
static const double ROUGH_LOG_OF_ONE = 4503599627370496.0 + 1023.0 * 2199023255552.0; /* 2^52 + 1023 2^41 */

/* Lower bounds of the logarithms of tails, in ROUGH_LOG_UNITs: log2(1 + f) >= f. */
ALWAYS_INLINE void to_rough_log(vector *tail)
{
    *tail = (vector)((bit_vector)*tail >> 11 | UINT64_C(0x4330000000000000)) - ROUGH_LOG_OF_ONE;
}

enum { LEAST_FIRST_ROWS = 8, FEWEST_COLUMNS = 8 };

/* A quarter of the rows is a sixteenth of the work. */
static inline int64_t first_rows(int64_t D)
{
    const int64_t quarter = round_up(D / 4, 4);

    return quarter > LEAST_FIRST_ROWS ? quarter : LEAST_FIRST_ROWS;
}

/* With few columns, or few rows, there is nothing to save. */
static inline int has_two_stages(const score_table *table)
{
    return table->is_full && table->n_columns > FEWEST_COLUMNS && table->likelihood.D > 2 * LEAST_FIRST_ROWS;
}

/* Whether a column is the own one of one of the first n points. */
static inline int is_among(const score_table *table, int n, int64_t column)
{
    int q, found = 0;

    for (q = 0; q < n; q++)
        found |= table->own_column[q] == column;
    return found;
}

/* The bounds of the batch with the own columns of its points. */
static __attribute__((noinline)) CLONES void bound_own_of_full(const score_table *table)
{
    vector tail;
    int q;

    for (q = 0; q < MD_BLOCK; q++)
        if (!is_among(table, q, table->own_column[q]))
            full_tail_of_batch(table, table->own_column[q], table->likelihood.D, &tail);
}

/* The bounds with all other columns: rough ones, where no score can exceed table->least. */
static __attribute__((noinline)) CLONES void bound_others_of_full(const score_table *table)
{
    const float *const least = table->least;
    const vector limit = {(double)least[0], (double)least[1], (double)least[2], (double)least[3]};
    int64_t *const is_done = table->candidates; /* that array is not in use yet */
    vector tail;
    int64_t k, q;

    for (k = 0; k < table->n_columns; k++) { /* without a branch that has to wait for a tail */
        bit_vector below;

        is_done[k] = !is_column_used(table, k) || is_among(table, MD_BLOCK, k);
        for (q = 0; q < MD_BLOCK && !is_column_used(table, k); q++)
            table->bounds[k * MD_POINTS + q] = NEVER;
        if (is_done[k])
            continue;
        full_tail_of_batch(table, k, first_rows(table->likelihood.D), &tail);
        to_rough_log(&tail);
        below = (bit_vector)(table->upper[k] + (double)table->weight[k] -
                                 table->slope[k] * ROUGH_LOG_UNIT * tail <= limit);
        is_done[k] = (int64_t)(below[0] & below[1] & below[2] & below[3] & 1);
    }
    for (k = 0; k < table->n_columns; k++)
        if (!is_done[k])
            full_tail_of_batch(table, k, table->likelihood.D, &tail);
}

#else /* full matrices have no bounds */

static inline void load_of_full(const score_table *table) { (void)table; }
static inline void bound_columns_of_full(const score_table *table, int64_t first, int64_t end)
{
    (void)table;
    (void)first;
    (void)end;
}
static inline void bound_own_of_full(const score_table *table) { (void)table; }
static inline void bound_others_of_full(const score_table *table) { (void)table; }
static inline int has_two_stages(const score_table *table)
{
    (void)table;
    return 0;
}

#endif

#endif
