/* The tails of points with all columns, for full covariance matrices: 1 + stretch times the squared distance. Four
 * points are solved at a time, in the lanes of a vector. Internal to the batch sweep.
 */
#ifndef MAPDPM_FULL_TAILS_H
#define MAPDPM_FULL_TAILS_H

#include "mapdpm_scores.h"

#if HAS_VECTORS

#define SOLVE solve_lanes
#define SOLVE_NUMBER vector
#include "mapdpm_solve.h"

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

/* The tails of the current block with a column. */
ALWAYS_INLINE void full_tail_of_block(const score_table *table, int64_t k, int64_t n_rows, vector *tail)
{
    int64_t q;

    full_tail(table, k, (const vector *)(const void *)table->solved, n_rows, tail);
    for (q = 0; q < MD_BLOCK; q++)
        table->tails[q * table->stride + k] = (*tail)[q];
}

/* Put the current block into lanes, for full_tail_of_block. Columns that are not in use get tails of 1. */
static inline void load_lanes(const score_table *table, int64_t n_columns)
{
    const int64_t D = table->likelihood.D;
    const double *const x = table->block;
    vector *const points = (vector *)(void *)table->solved;
    int64_t d, k, q;

    for (d = 0; d < D; d++)
        points[d] = (vector){x[d], x[D + d], x[2 * D + d], x[3 * D + d]};
    for (k = 1; k < n_columns; k++)
        for (q = 0; q < MD_BLOCK && !is_column_used(table, k); q++)
            table->tails[q * table->stride + k] = 1.0;
}

/* The tails of the current block, or of the current point, with all columns. */
static __attribute__((noinline)) CLONES void full_tails_of_block(const score_table *table)
{
    vector tail;
    int64_t k;

    load_lanes(table, round_up(table->n_columns, COLUMNS_PER_STEP));
    for (k = 0; k < table->n_columns; k++)
        if (is_column_used(table, k))
            full_tail_of_block(table, k, table->likelihood.D, &tail);
}

static __attribute__((noinline)) CLONES void full_tails_of_point(const score_table *table)
{
    vector *const points = (vector *)(void *)table->solved;
    const vector ones = {1.0, 1.0, 1.0, 1.0};
    int64_t d, k;

    for (d = 0; d < table->likelihood.D; d++)
        points[d] = table->x[d] * ones;
    for (k = 0; k < round_up(table->n_columns, COLUMNS_PER_STEP); k++) {
        vector tail = ones;

        if (is_column_used(table, k))
            full_tail(table, k, points, table->likelihood.D, &tail);
        table->tails[k] = tail[0];
    }
}

static const double ROUGH_LOG_OF_ONE = 4503599627370496.0 + 1023.0 * 2199023255552.0; /* 2^52 + 1023 2^41 */

/* Lower bounds of the logarithms of tails, in ROUGH_LOG_UNITs: log2(1 + f) >= f. */
ALWAYS_INLINE void to_rough_log(vector *tail)
{
    *tail = (vector)((bit_vector)*tail >> 11 | UINT64_C(0x4330000000000000)) - ROUGH_LOG_OF_ONE;
}

/* ---- two stages: after the first rows of their factors, most columns are out of question ------------------------- */

enum { LEAST_FIRST_ROWS = 8 };

/* A quarter of the rows is a sixteenth of the work. */
static inline int64_t first_rows(int64_t D)
{
    const int64_t quarter = round_up(D / 4, 4);

    return quarter > LEAST_FIRST_ROWS ? quarter : LEAST_FIRST_ROWS;
}

/* With few columns, or few rows, there is nothing to save. */
static inline int has_two_stages(const score_table *table)
{
    return table->is_full && table->n_columns > COLUMNS_PER_STEP && table->likelihood.D > 2 * LEAST_FIRST_ROWS;
}

/* Whether a slot is one of the first n labels. */
static inline int is_among(const int64_t *labels, int n, int64_t slot)
{
    int q, found = 0;

    for (q = 0; q < n; q++)
        found |= labels[q] == slot;
    return found;
}

/* The tails of the current block with the slots of its points. */
static __attribute__((noinline)) CLONES void own_full_tails(const score_table *table, const int64_t *labels)
{
    vector tail;
    int q;

    load_lanes(table, round_up(table->n_columns, COLUMNS_PER_STEP));
    for (q = 0; q < MD_BLOCK; q++)
        if (!is_among(labels, q, labels[q]))
            full_tail_of_block(table, labels[q] + 1, table->likelihood.D, &tail);
}

/* The tails with all other columns. Where no score with the block can exceed least[MD_BLOCK], they are lower bounds. */
static __attribute__((noinline)) CLONES void other_full_tails(const score_table *table, const int64_t *labels,
                                                              const double *least)
{
    const vector limit = {least[0], least[1], least[2], least[3]};
    int64_t *const is_done = table->candidates; /* that array is not in use yet */
    vector tail;
    int64_t k;

    for (k = 0; k < table->n_columns; k++) { /* without a branch that has to wait for a tail */
        bit_vector below;

        is_done[k] = !is_column_used(table, k) || is_among(labels, MD_BLOCK, k - 1);
        if (is_done[k])
            continue;
        full_tail_of_block(table, k, first_rows(table->likelihood.D), &tail);
        to_rough_log(&tail);
        below = (bit_vector)(table->upper_constant[k] - table->rough_exponent[k] * tail <= limit);
        is_done[k] = (int64_t)(below[0] & below[1] & below[2] & below[3] & 1);
    }
    for (k = 0; k < table->n_columns; k++)
        if (!is_done[k])
            full_tail_of_block(table, k, table->likelihood.D, &tail);
}

#endif

#endif
