/* The tails of points with all columns: products (for Normal-Gamma) or sums over the features, of which scores are
 * made. One point or a block of points is computed at a time, for a few columns at a time. Then everything stays in
 * registers, and each load serves all points. This uses vectors of GCC and Clang; with other compilers points are
 * scored column by column. Internal to the batch sweep.
 */
#ifndef MAPDPM_TAILS_H
#define MAPDPM_TAILS_H

#include "mapdpm_scores.h"

#if HAS_VECTORS

typedef double vector __attribute__((vector_size(32), may_alias));
typedef uint64_t bit_vector __attribute__((vector_size(32), may_alias));

/* A step computes 8 columns, in vectors of 4 lanes. */
enum { LANES_PER_VECTOR = 4, VECTORS_PER_STEP = COLUMNS_PER_STEP / LANES_PER_VECTOR };

/* The tails of four points, in the lanes of points[D], with a column, for full covariance matrices; from the first n_rows
 * rows of its factor, D or a multiple of 4, alone they are lower bounds. Every operation is that of triangle_solve, lane
 * by lane, so tails are those that exact scores are made of. */
static inline __attribute__((always_inline)) void full_tail(const score_table *table, int64_t k, const vector *points,
                                                            int64_t n_rows, vector *tail)
{
    const int64_t D = table->likelihood.D;
    vector *const z = (vector *)(void *)(table->solved + BLOCK * D);
    double *const statistics = statistics_of_column(table, k);
    const double *const centre = full_centre(statistics, D), *const inverse = table->inverse + k * D;
    const double *r = full_factor(statistics, D);
    vector total = {0.0, 0.0, 0.0, 0.0};
    int64_t i, j;

    for (i = 0; i + 4 <= n_rows; i += 4) {
        const double *const r1 = r + i + 1, *const r2 = r1 + i + 2, *const r3 = r2 + i + 3;
        vector t0 = points[i] - centre[i], t1 = points[i + 1] - centre[i + 1];
        vector t2 = points[i + 2] - centre[i + 2], t3 = points[i + 3] - centre[i + 3];

        for (j = 0; j < i; j++) {
            t0 -= r[j] * z[j];
            t1 -= r1[j] * z[j];
            t2 -= r2[j] * z[j];
            t3 -= r3[j] * z[j];
        }
        t0 *= inverse[i];
        t1 = (t1 - r1[i] * t0) * inverse[i + 1];
        t2 = (t2 - r2[i] * t0 - r2[i + 1] * t1) * inverse[i + 2];
        t3 = (t3 - r3[i] * t0 - r3[i + 1] * t1 - r3[i + 2] * t2) * inverse[i + 3];
        z[i] = t0;
        z[i + 1] = t1;
        z[i + 2] = t2;
        z[i + 3] = t3;
        total = total + t0 * t0 + t1 * t1 + t2 * t2 + t3 * t3;
        r = r3 + i + 4;
    }
    for (; i < n_rows; i++) {
        vector t = points[i] - centre[i];

        for (j = 0; j < i; j++)
            t -= r[j] * z[j];
        z[i] = t * inverse[i];
        total += z[i] * z[i];
        r += i + 1;
    }
    *tail = 1.0 + full_constants(statistics, D)[2] * total;
}

/* The tails of the current block with a column. */
static inline __attribute__((always_inline)) void full_tail_of_block(const score_table *table, int64_t k, int64_t n_rows,
                                                                     vector *tail)
{
    int64_t q;

    full_tail(table, k, (const vector *)(const void *)table->solved, n_rows, tail);
    for (q = 0; q < BLOCK; q++)
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
        for (q = 0; q < BLOCK && !is_column_used(table, k); q++)
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

/* The tails of a block of four points. The code of the four is written out, so that compilers keep the values in
 * registers. */
static inline __attribute__((always_inline)) void tails_of_block(const score_table *table, int64_t n_columns,
                                                                 const int is_product)
{
    const int64_t D = table->likelihood.D, stride = table->stride;
    const double *const x = table->block;
    const vector none = {0.0, 0.0, 0.0, 0.0};
    int64_t k, d, first;
    int j;

    if (table->is_full) {
        full_tails_of_block(table);
        return;
    }
    for (k = 0; k < n_columns; k += COLUMNS_PER_STEP) {
        vector p[BLOCK][VECTORS_PER_STEP];
        vector *const out = (vector *)(void *)(table->tails + k);
        const vector *norm = (const vector *)(void *)(table->norm + k);

        for (j = 0; j < VECTORS_PER_STEP; j++)
            p[0][j] = p[1][j] = p[2][j] = p[3][j] = none + (is_product ? 1.0 : 0.0);
        for (first = 0; first < D; first += GROUP) {
            const int64_t last = first + GROUP < D ? first + GROUP : D;

            for (d = first; d < last; d++) {
                const vector *const centre = (const vector *)(void *)(table->centre + d * stride + k);
                const vector *const g = (const vector *)(void *)(table->scale + d * stride + k);

                for (j = 0; j < VECTORS_PER_STEP; j++) {
                    const vector t0 = x[d] - centre[j], t1 = x[D + d] - centre[j];
                    const vector t2 = x[2 * D + d] - centre[j], t3 = x[3 * D + d] - centre[j];

                    if (is_product) {
                        p[0][j] *= g[j] + t0 * t0;
                        p[1][j] *= g[j] + t1 * t1;
                        p[2][j] *= g[j] + t2 * t2;
                        p[3][j] *= g[j] + t3 * t3;
                    } else {
                        p[0][j] += g[j] * t0 * t0;
                        p[1][j] += g[j] * t1 * t1;
                        p[2][j] += g[j] * t2 * t2;
                        p[3][j] += g[j] * t3 * t3;
                    }
                }
            }
            for (j = 0; j < VECTORS_PER_STEP && is_product; j++) {
                p[0][j] *= norm[j];
                p[1][j] *= norm[j];
                p[2][j] *= norm[j];
                p[3][j] *= norm[j];
            }
            norm += stride / LANES_PER_VECTOR;
        }
        for (j = 0; j < VECTORS_PER_STEP; j++) {
            out[j] = p[0][j];
            out[stride / LANES_PER_VECTOR + j] = p[1][j];
            out[2 * stride / LANES_PER_VECTOR + j] = p[2][j];
            out[3 * stride / LANES_PER_VECTOR + j] = p[3][j];
        }
    }
}

/* The tails of the current point. */
static inline __attribute__((always_inline)) void tails_of_point(const score_table *table, int64_t n_columns,
                                                                 const int is_product)
{
    const int64_t D = table->likelihood.D, stride = table->stride;
    const vector none = {0.0, 0.0, 0.0, 0.0};
    int64_t k, d, first;
    int j;

    if (table->is_full) {
        full_tails_of_point(table);
        return;
    }
    for (k = 0; k < n_columns; k += COLUMNS_PER_STEP) {
        vector p[VECTORS_PER_STEP];
        vector *const out = (vector *)(void *)(table->tails + k);
        const vector *norm = (const vector *)(void *)(table->norm + k);

        for (j = 0; j < VECTORS_PER_STEP; j++)
            p[j] = none + (is_product ? 1.0 : 0.0);
        for (first = 0; first < D; first += GROUP) {
            const int64_t last = first + GROUP < D ? first + GROUP : D;

            for (d = first; d < last; d++) {
                const vector *const centre = (const vector *)(void *)(table->centre + d * stride + k);
                const vector *const g = (const vector *)(void *)(table->scale + d * stride + k);

                for (j = 0; j < VECTORS_PER_STEP; j++) {
                    const vector t = table->x[d] - centre[j];

                    p[j] = is_product ? p[j] * (g[j] + t * t) : p[j] + g[j] * t * t;
                }
            }
            for (j = 0; j < VECTORS_PER_STEP && is_product; j++)
                p[j] *= norm[j];
            norm += stride / LANES_PER_VECTOR;
        }
        for (j = 0; j < VECTORS_PER_STEP; j++)
            out[j] = p[j];
    }
}

#endif

/* Make points i to i + 3 the current points, in double. If fewer are left in the run, the last one is repeated. */
static inline void load_block(score_table *table, int64_t i)
{
    const int64_t D = table->likelihood.D, left = table->end - i;
    int64_t q;

    if (sizeof(mapdpm_real) == sizeof(double) && left >= BLOCK) {
        table->block = (const double *)(const void *)point(table, i);
    } else {
        for (q = 0; q < BLOCK; q++)
            to_double(point(table, i + (q < left ? q : left - 1)), table->point_copies + q * D, D);
        table->block = table->point_copies;
    }
}

#endif
