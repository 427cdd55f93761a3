/* Points against all columns: the products (of Normal-Gamma) or sums over features that scores are made of. One point or
 * four at a time, some columns at a time: all of that stays in registers over the features, and what is loaded serves all
 * points. Vectors as GCC and Clang have them; other compilers score column by column. Internal to the batch sweep.
 */
#ifndef MAPDPM_TAILS_H
#define MAPDPM_TAILS_H

#include "mapdpm_scores.h"

#if HAS_LANES

typedef double lanes __attribute__((vector_size(32), may_alias));
typedef uint64_t words __attribute__((vector_size(32), may_alias));

/* Lanes of a vector, and vectors of a step. */
enum { WIDE = 4, STEP = LANES / WIDE };

/* Four points, and 8 columns at a time; what is computed for one of them stands written out four times, for compilers to
 * keep it in registers. */
static inline __attribute__((always_inline)) void four_with(const columns *c, int64_t width, const int multiplies)
{
    const int64_t D = c->family.D, stride = c->stride;
    const double *const x = c->four;
    const lanes none = {0.0, 0.0, 0.0, 0.0};
    int64_t k, d, first;
    int j;

    for (k = 0; k < width; k += LANES) {
        lanes p[FOUR][STEP];
        lanes *const out = (lanes *)(void *)(c->tails + k);
        const lanes *norm = (const lanes *)(void *)(c->norm + k);

        for (j = 0; j < STEP; j++)
            p[0][j] = p[1][j] = p[2][j] = p[3][j] = none + (multiplies ? 1.0 : 0.0);
        for (first = 0; first < D; first += GROUP) {
            const int64_t last = first + GROUP < D ? first + GROUP : D;

            for (d = first; d < last; d++) {
                const lanes *const centre = (const lanes *)(void *)(c->centre + d * stride + k);
                const lanes *const g = (const lanes *)(void *)(c->scale + d * stride + k);

                for (j = 0; j < STEP; j++) {
                    const lanes t0 = x[d] - centre[j], t1 = x[D + d] - centre[j];
                    const lanes t2 = x[2 * D + d] - centre[j], t3 = x[3 * D + d] - centre[j];

                    if (multiplies) {
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
            for (j = 0; j < STEP && multiplies; j++) {
                p[0][j] *= norm[j];
                p[1][j] *= norm[j];
                p[2][j] *= norm[j];
                p[3][j] *= norm[j];
            }
            norm += stride / WIDE;
        }
        for (j = 0; j < STEP; j++) {
            out[j] = p[0][j];
            out[stride / WIDE + j] = p[1][j];
            out[2 * stride / WIDE + j] = p[2][j];
            out[3 * stride / WIDE + j] = p[3][j];
        }
    }
}

/* One point, and 8 columns at a time. */
static inline __attribute__((always_inline)) void one_with(const columns *c, int64_t width, const int multiplies)
{
    const int64_t D = c->family.D, stride = c->stride;
    const lanes none = {0.0, 0.0, 0.0, 0.0};
    int64_t k, d, first;
    int j;

    for (k = 0; k < width; k += LANES) {
        lanes p[STEP];
        lanes *const out = (lanes *)(void *)(c->tails + k);
        const lanes *norm = (const lanes *)(void *)(c->norm + k);

        for (j = 0; j < STEP; j++)
            p[j] = none + (multiplies ? 1.0 : 0.0);
        for (first = 0; first < D; first += GROUP) {
            const int64_t last = first + GROUP < D ? first + GROUP : D;

            for (d = first; d < last; d++) {
                const lanes *const centre = (const lanes *)(void *)(c->centre + d * stride + k);
                const lanes *const g = (const lanes *)(void *)(c->scale + d * stride + k);

                for (j = 0; j < STEP; j++) {
                    const lanes t = c->x[d] - centre[j];

                    p[j] = multiplies ? p[j] * (g[j] + t * t) : p[j] + g[j] * t * t;
                }
            }
            for (j = 0; j < STEP && multiplies; j++)
                p[j] *= norm[j];
            norm += stride / WIDE;
        }
        for (j = 0; j < STEP; j++)
            out[j] = p[j];
    }
}

#endif

/* Points i .. i + 3, in double; of fewer that are left, the last one again. */
static inline void take_four(columns *c, int64_t i)
{
    const int64_t D = c->family.D, left = c->problem->n_points - i;
    int64_t q;

    if (sizeof(mapdpm_real) == sizeof(double) && left >= FOUR) {
        c->four = (const double *)(const void *)point(c, i);
    } else {
        for (q = 0; q < FOUR; q++)
            load(point(c, i + (q < left ? q : left - 1)), c->copies + q * D, D);
        c->four = c->copies;
    }
}

#endif
