/* Four points against all columns at once, eight columns at a time: all of that stays in registers over the features, and
 * what is loaded serves four points. Of Normal-Gamma a product each, kept near 1 by the product of its scales; else a sum.
 * Vectors as GCC and Clang have them. Internal to the batch sweep.
 */
#ifndef MAPDPM_FOUR_H
#define MAPDPM_FOUR_H

#include "mapdpm_scores.h"

/* Room for what is lost of a score, and of each feature's factor; twice what rounding can lose, at least. */
static const double SLACK = 1e-12, ROUNDINGS = 4e-15;

/* Beyond it GROUP factors, or their inverse, could overflow. */
static const double FAR = 1e36, HUGE_PRODUCT = 1e300;

#if defined(__GNUC__)

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 4")
#endif

typedef double lanes __attribute__((vector_size(32), may_alias));
typedef uint64_t words __attribute__((vector_size(32)));

/* Lanes of a vector, and vectors of a step. */
enum { WIDE = 4, STEP = LANES / WIDE };

/* The products of four points with all columns, prod_d (g + (x - centre)^2) / prod_d g, or sums of scaled squares. */
static inline __attribute__((always_inline)) void tails_of_four(const columns *c, int64_t width, const int multiplies)
{
    const int64_t D = c->family.D, stride = c->stride;
    const double *const x = c->four, *const scale = multiplies ? c->spread : c->scale;
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
                const lanes *const g = (const lanes *)(void *)(scale + d * stride + k);

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

/* With every operation rounded, for scores. */
CLONES
static void plain_products_of_four(const columns *c, int64_t width)
{
    tails_of_four(c, width, 1);
}

/* What the bounds need to know of a column: its scores are at most top - exponent log product. */
static void set_bounds(columns *c, int64_t column)
{
    const int64_t D = c->family.D, slot = column - 1;
    const double weight = column > 0 ? c->log_size[column] : log_new(c->problem, c->used, 1.0);
    double product = 1.0, share = 0.0, top = c->constant[column] + weight;
    int64_t d;

    top += SLACK * (1.0 + fabs(top)) + ROUNDINGS * (double)(D + 4) * c->exponent[column];
    c->top[column] = weight > -INFINITY ? top : -INFINITY;
    c->own_share[column] = c->own_exponent[column] = 0.0;
    c->own_top[column] = -INFINITY; /* one that is alone is scored */
    if (slot >= 0 && slot < c->clusters->capacity && c->clusters->counts[slot] > 1 && !c->problem->weights) {
        const double constant = c->own_constant[slot], n = row(c, slot)[0];

        for (d = 0; d < D; d++) {
            const double ratio = c->own_scale[slot * D + d] / c->scale[d * c->stride + column];

            share = ratio > share ? ratio : share;
        }
        c->own_share[column] = share;
        c->own_exponent[column] =
            (c->family.kind == MAPDPM_NORMAL_GAMMA ? c->family.a0 + 0.5 * n - 0.5 : 1.0) * (1.0 + (double)D * SLACK);
        c->own_top[column] = constant - SLACK * (1.0 + fabs(constant));
    }
    for (d = 0; c->family.kind == MAPDPM_NORMAL_GAMMA && d < D; d++) {
        const double g = 1.0 / c->scale[d * c->stride + column];

        c->spread[d * c->stride + column] = g;
        product *= g;
        if (d % GROUP == GROUP - 1 || d == D - 1) {
            c->norm[d / GROUP * c->stride + column] = 1.0 / product;
            product = 1.0;
        }
        if (!(g > 1.0 / FAR && g + c->far < FAR))
            c->is_bounded = 0;
    }
}

/* What the tails of four points need, brought up to date, and the points from the i-th on; whether tails are sound. */
static int prepare_four(columns *c, int64_t i)
{
    const int64_t D = c->family.D, left = c->problem->n_points - i;
    int64_t column, q;

    for (column = 0; column < padded(c->width) && c->is_stale; column++)
        if (!c->fresh[column] || column == 0) {
            set_bounds(c, column);
            c->fresh[column] = 1;
        }
    c->is_stale = 0;
    if (sizeof(mapdpm_real) == sizeof(double) && left >= FOUR) {
        c->four = (const double *)(const void *)point(c, i);
    } else { /* the last one fills up, so that a point's score does not depend on how many come after it */
        for (q = 0; q < FOUR; q++)
            load(point(c, i + (q < left ? q : left - 1)), c->copies + q * D, D);
        c->four = c->copies;
    }
    return c->is_bounded;
}

/* Scores of points i .. i + 3 with all columns, of Normal-Gamma data, into c->tails; of which that can be done, as bits. */
static unsigned score_four(columns *c, int64_t i)
{
    const int64_t width = padded(c->width);
    unsigned sound = 0;
    int64_t q, k;

    if (c->family.kind != MAPDPM_NORMAL_GAMMA || !prepare_four(c, i))
        return 0;
    plain_products_of_four(c, width);
    for (q = 0; q < FOUR; q++) {
        double *const scores = c->tails + q * c->stride;
        int64_t too_large = 0;

        for (k = 0; k < width; k++)
            too_large += !(scores[k] < HUGE_PRODUCT);
        memset(c->logs, 0, (size_t)width * sizeof *c->logs);
        log_columns(scores, c->logs, width);
        for (k = 0; k < width; k++)
            scores[k] = c->constant[k] + c->log_size[k] - c->exponent[k] * c->logs[k];
        sound |= (unsigned)(too_large == 0) << q;
    }
    return sound;
}

#else /* one point after the other */

static unsigned score_four(columns *c, int64_t i)
{
    (void)c;
    (void)i;
    return 0;
}

#endif

#endif
