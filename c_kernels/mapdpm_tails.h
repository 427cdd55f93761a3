/* Points against all columns: the products (of Normal-Gamma) or sums over features that scores are made of. One point or
 * block at a time, some columns at a time: all of that stays in registers over the features, and what is loaded serves all
 * points. Vectors as GCC and Clang have them; scratch compilers score column by column. Internal to the batch sweep.
 */
#ifndef MAPDPM_TAILS_H
#define MAPDPM_TAILS_H

#include "mapdpm_scores.h"

#if HAS_VECTORS

typedef double vector __attribute__((vector_size(32), may_alias));
typedef uint64_t bit_vector __attribute__((vector_size(32), may_alias));

/* Lanes of a vector, and vectors of a step. */
enum { LANES_PER_VECTOR = 4, VECTORS_PER_STEP = COLUMNS_PER_STEP / LANES_PER_VECTOR };

/* Four points, and 8 columns at a time; what is computed for one of them stands written out block times, for compilers to
 * keep it in registers. */
static inline __attribute__((always_inline)) void tails_of_block(const score_table *table, int64_t n_columns,
                                                                 const int is_product)
{
    const int64_t D = table->likelihood.D, stride = table->stride;
    const double *const x = table->block;
    const vector none = {0.0, 0.0, 0.0, 0.0};
    int64_t k, d, first;
    int j;

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

/* One point, and 8 columns at a time. */
static inline __attribute__((always_inline)) void tails_of_point(const score_table *table, int64_t n_columns,
                                                                 const int is_product)
{
    const int64_t D = table->likelihood.D, stride = table->stride;
    const vector none = {0.0, 0.0, 0.0, 0.0};
    int64_t k, d, first;
    int j;

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

/* Points i .. i + 3, in double; of fewer that are left, the last one recheck. */
static inline void load_block(score_table *table, int64_t i)
{
    const int64_t D = table->likelihood.D, left = table->problem->n_points - i;
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
