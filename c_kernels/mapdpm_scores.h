/* The scores of one point against all columns, its own cluster as if the point were not in it (leave-one-out): in
 * closed form from the full statistics, and where that cancels from a row made without the point. Internal to the
 * batch sweep.
 */
#ifndef MAPDPM_SCORES_H
#define MAPDPM_SCORES_H

#include "mapdpm_columns.h"

/* Runtime dispatch by the dynamic linker; the sanitizers start too late for it. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(MAPDPM_NO_CLONES)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

/* Where D factors times their exponent exceed LARGE, a plain product may be off by a tenth of the tolerance; it is off
 * by less than ROUNDING times both. Scores within NEAR (1 + |best|) and that of the best may decide; scores NEGLIGIBLE
 * nats below it do not change a density. */
static const double LARGE = 1e5, ROUNDING = 4e-16, NEAR = 1e-6, NEGLIGIBLE = 40.0;

/* A product of shares this close to 0 becomes a logarithm before it loses digits. */
static const double MOST_LOST = 0.5;

/* One feature of a point against all columns: here, and only here, the two families differ. */
static inline void multiply_feature(double x, const double *restrict m, const double *restrict s, int64_t width,
                                    double *restrict product)
{
    int64_t k;

    for (k = 0; k < width; k++)
        product[k] *= 1.0 + (x - m[k]) * (x - m[k]) * s[k];
}

static inline void add_feature(double x, const double *restrict m, const double *restrict s, int64_t width,
                               double *restrict sum)
{
    int64_t k;

    for (k = 0; k < width; k++)
        sum[k] += (x - m[k]) * (x - m[k]) * s[k];
}

/* product[k] *= 1 + scale (x - centre)^2 over features first .. last - 1. */
CLONES
static void multiply(const columns *c, int64_t first, int64_t last, int64_t width)
{
    int64_t d;

    for (d = first; d < last; d++)
        multiply_feature(c->x[d], c->centre + d * c->stride, c->scale + d * c->stride, width, c->product);
}

/* logs[k] += scale (x - centre)^2: the other family. */
CLONES
static void accumulate(const columns *c, int64_t width)
{
    int64_t d;

    for (d = 0; d < c->family.D; d++)
        add_feature(c->x[d], c->centre + d * c->stride, c->scale + d * c->stride, width, c->logs);
}

/* x = 2^k (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1], and log x = k ln 2 + log(1 + f) by fdlibm's series in
 * f / (2 + f): 1 ulp, and several at once, as libm's is not. x is positive, finite and not subnormal. */
static inline double log_in_lanes(double x)
{
    const uint64_t half = UINT64_C(0x3fe6a09e667f3bcd), magic = UINT64_C(0x4330000000000000); /* sqrt(1/2), 2^52 */
    uint64_t bits, mantissa, power;
    double f, s, z, w, r, e;

    memcpy(&bits, &x, sizeof bits);
    bits += UINT64_C(0x3ff0000000000000) - half;
    power = bits >> 52 | magic;
    mantissa = (bits & UINT64_C(0x000fffffffffffff)) + half;
    memcpy(&e, &power, sizeof e);
    memcpy(&f, &mantissa, sizeof f);
    e -= 4503599627371519.0; /* 2^52 + 1023 */
    f -= 1.0;
    s = f / (2.0 + f);
    z = s * s;
    w = z * z;
    r = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01)) +
        z * (6.666666666666735130e-01 +
             w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    return e * 6.93147180369123816490e-01 -
           ((0.5 * f * f - (s * (0.5 * f * f + r) + e * 1.90821492927058770002e-10)) - f);
}

CLONES
static void log_columns(double *restrict product, double *restrict logs, int64_t width)
{
    int64_t k;

    for (k = 0; k < width; k++) {
        logs[k] += log_in_lanes(product[k]);
        product[k] = 1.0;
    }
}

static void take_logs(columns *c)
{
    log_columns(c->product, c->logs, padded(c->width));
}

/* log p(x | column) for the point in c->x and every column below the width, as sum of logs or of squares. */
static void score_columns(columns *c)
{
    const int64_t D = c->family.D, width = padded(c->width);
    int64_t k, d, first = 0;

    for (k = 0; k < width; k++) {
        c->product[k] = 1.0;
        c->logs[k] = 0.0;
    }
    if (c->family.kind != MAPDPM_NORMAL_GAMMA) {
        accumulate(c, width);
    } else {
        for (d = 1; d < D; d++)
            if (c->fold[d]) {
                multiply(c, first, d, width);
                take_logs(c);
                first = d;
            }
        multiply(c, first, D, width);
        take_logs(c);
    }
    for (k = 0; k < c->width; k++)
        c->scores[k] = c->constant[k] + c->log_size[k] - c->exponent[k] * c->logs[k];
}

/* The row of a slot without point i, from its members. */
static double *row_without(columns *c, int64_t slot, int64_t i)
{
    const int64_t *const labels = c->clusters->labels;
    double *const own = c->scratch;
    int64_t j;

    row_clear(&c->family, own);
    for (j = 0; j < c->problem->n_points; j++)
        if (labels[j] == slot && j != i) {
            load(point(c, j), c->x, c->family.D);
            row_add(&c->family, own, c->x, weight(c->problem, j));
        }
    load(point(c, i), c->x, c->family.D);
    row_prepare(&c->family, own);
    return own;
}

/* The score of a point with its own slot, which holds others too, as if it were not there; from the full statistics.
 * Whether these could tell: where little is left without the point, they cannot. */
static int own_in_closed_form(const columns *c, int64_t slot, const double *x, double *score)
{
    const int64_t D = c->family.D;
    double *const from = row(c, slot);
    const double *const own = c->own_scale + slot * D, *const centre = row_centre(from, D);
    double lost = 0.0, logs = 0.0, sum = 0.0, least = 1.0;
    int64_t d;

    if (c->family.kind != MAPDPM_NORMAL_GAMMA) {
        for (d = 0; d < D; d++)
            sum += own[d] * (x[d] - centre[d]) * (x[d] - centre[d]);
        *score = c->own_constant[slot] - sum;
        return 1;
    }
    for (d = 0; d < D; d++) {
        const double t = x[d] - centre[d], u = own[d] * t * t;

        least = 1.0 - u < least ? 1.0 - u : least;
        lost += u - lost * u; /* 1 - the product of all 1 - u, as in row_log_tail */
        if (lost > MOST_LOST) {
            logs += log1p(-lost);
            lost = 0.0;
        }
    }
    *score = c->own_constant[slot] + (c->family.a0 + 0.5 * from[0] - 0.5) * (logs + log1p(-lost));
    return least >= ROW_LEAST_SHARE;
}

/* The same of point i, in c->x, in any case. */
static double score_own(columns *c, int64_t slot, int64_t i)
{
    double score;

    if (own_in_closed_form(c, slot, c->x, &score))
        return score;
    return log_existing(c->problem, row(c, slot)[0] - 1.0, 1.0) +
           row_log_predictive(&c->family, row_without(c, slot, i), c->x);
}

/* The product of many factors near 1 is off by as many roundings, and a large cluster multiplies its logarithm by half
 * its size. Large clusters that score within band of the best, and so may matter, are scored plainly; but the own. */
static void settle(columns *c, int64_t own, double opening, double band)
{
    const double large = LARGE / (double)c->family.D;
    double best = -INFINITY, exponent = 0.0, least;
    int64_t k;

    if (c->family.kind != MAPDPM_NORMAL_GAMMA)
        return;
    for (k = 0; k < c->width; k++) {
        best = c->scores[k] > best ? c->scores[k] : best;
        exponent = c->exponent[k] > exponent ? c->exponent[k] : exponent;
    }
    if (exponent <= large)
        return;
    least = best - (band > 0.0 ? band : NEAR * (1.0 + fabs(best)) + ROUNDING * exponent * (double)c->family.D);
    for (k = 0; k < c->width; k++)
        if (c->scores[k] >= least && c->exponent[k] > large && k != own) {
            double *const from = k > 0 ? row(c, k - 1) : c->scratch;

            if (k == 0) {
                row_clear(&c->family, from);
                row_prepare(&c->family, from);
            }
            c->scores[k] = (k > 0 ? c->log_size[k] : opening) + row_log_predictive(&c->family, from, c->x);
        }
}

/* All scores of point i of weight 1; slot is its own, or -1. Returns whether it is alone there. */
static int score_point(columns *c, int64_t i, int64_t slot)
{
    const int alone = slot >= 0 && c->clusters->counts[slot] == 1;
    const double opening = log_new(c->problem, c->used - alone, 1.0);

    score_columns(c);
    c->scores[0] += opening;
    if (alone)
        c->scores[slot + 1] = -INFINITY;
    else if (slot >= 0)
        c->scores[slot + 1] = score_own(c, slot, i);
    settle(c, slot >= 0 ? slot + 1 : -1, opening, 0.0);
    return alone;
}

/* The same for any weight, plainly. */
static int score_weighted(columns *c, int64_t i, int64_t slot)
{
    const mapdpm_problem *const p = c->problem;
    const int alone = slot >= 0 && c->clusters->counts[slot] == 1;
    const double w = weight(p, i);
    int64_t k;

    row_clear(&c->family, c->scratch);
    row_prepare(&c->family, c->scratch);
    c->scores[0] =
        log_new(p, c->used - alone, w) + row_log_predictive_weighted(&c->family, c->scratch, c->x, w);
    for (k = 0; k + 1 < c->width; k++) {
        double *from = row(c, k);

        c->scores[k + 1] = -INFINITY;
        if (c->clusters->counts[k] == 0 || (alone && k == slot))
            continue;
        if (k == slot) {
            memcpy(c->scratch, from, (size_t)c->row_size * sizeof *from);
            from = c->scratch;
            if (row_remove(&c->family, from, c->x, w))
                row_prepare(&c->family, from);
            else
                from = row_without(c, slot, i);
        }
        c->scores[k + 1] = log_existing(p, from[0], w) + row_log_predictive_weighted(&c->family, from, c->x, w);
    }
    return alone;
}

static int score_any(columns *c, int64_t i, int64_t slot)
{
    load(point(c, i), c->x, c->family.D);
    return c->problem->weights ? score_weighted(c, i, slot) : score_point(c, i, slot);
}

#endif
