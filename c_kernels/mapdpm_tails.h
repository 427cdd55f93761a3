/* The tails of points with all columns: products (for Normal-Gamma) or sums over the features, of which scores are
 * made. One point or a block of points is computed at a time, for a few columns at a time. Then everything stays in
 * registers, and each load serves all points. This uses vectors of GCC and Clang; with other compilers points are
 * scored column by column. Internal to the batch sweep.
 */
#ifndef MAPDPM_TAILS_H
#define MAPDPM_TAILS_H

#include "mapdpm_full_tails.h"

#if HAS_VECTORS

/* A step computes 8 columns, in vectors of 4 lanes. */
enum { LANES_PER_VECTOR = 4, VECTORS_PER_STEP = COLUMNS_PER_STEP / LANES_PER_VECTOR };

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
        vector p[MD_BLOCK][VECTORS_PER_STEP];
        vector *const out = (vector *)(void *)(table->tails + k);
        const vector *norm = (const vector *)(void *)(table->norm + k);

        for (j = 0; j < VECTORS_PER_STEP; j++)
            p[0][j] = p[1][j] = p[2][j] = p[3][j] = none + (is_product ? 1.0 : 0.0);
        for (first = 0; first < D; first += MD_GROUP) {
            const int64_t last = first + MD_GROUP < D ? first + MD_GROUP : D;

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
        for (first = 0; first < D; first += MD_GROUP) {
            const int64_t last = first + MD_GROUP < D ? first + MD_GROUP : D;

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

    if (sizeof(mapdpm_real) == sizeof(double) && left >= MD_BLOCK) {
        table->block = (const double *)(const void *)point(table, i);
    } else {
        for (q = 0; q < MD_BLOCK; q++)
            to_double(point(table, i + (q < left ? q : left - 1)), table->point_copies + q * D, D);
        table->block = table->point_copies;
    }
}

#endif
