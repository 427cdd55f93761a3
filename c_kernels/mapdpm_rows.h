/* One row describes one cluster: the arithmetic of both families, the twin of mapdpm/likelihoods. Internal.
 *
 * Whoever includes this names the type of a row first: #define ROW_REAL double. Static inlines only.
 */
#ifndef MAPDPM_ROWS_H
#define MAPDPM_ROWS_H

#include "mapdpm.h"

#include <math.h>
#include <string.h>

typedef ROW_REAL row_real;

#define ROW_LOG_2PI ((row_real)1.8378770664093453)
#define ROW_LOG_PI ((row_real)1.1447298858494002)
/* A product is turned into a logarithm when it leaves these bounds. */
#define ROW_TINY ((row_real)1e-100)
#define ROW_HUGE ((row_real)1e100)
/* Removals that leave less than this share of the weight or the squares lost four digits: the row must be rebuilt. */
#define ROW_LEAST_SHARE ((row_real)1e-4)
/* Sums and products of this many features at a time: a processor does not wait for one to begin the next. */
enum { ROW_LANES = 4 };

/* What is called for each point becomes part of its caller, and of each of its variants for a processor. */
#if defined(__GNUC__)
#define ROW_INLINE static inline __attribute__((always_inline))
#else
#define ROW_INLINE static inline
#endif

/* A family with its parameters. Normal-Gamma has b0, c0, a0 (and floor = b0); known variance has rho and floor =
 * variance; squared distance has floor alone. */
typedef struct row_family {
    int32_t kind;
    int64_t D;
    const row_real *m0;
    const row_real *floor;
    const row_real *rho;
    row_real c0;
    row_real a0;
} row_family;

static inline row_family row_family_of(int32_t kind, int64_t D, const row_real *parameters)
{
    row_family f;

    f.kind = kind;
    f.D = D;
    f.m0 = parameters;
    if (kind == MAPDPM_NORMAL_GAMMA) {
        f.c0 = parameters[D];
        f.a0 = parameters[D + 1];
        f.floor = parameters + D + 2;
        f.rho = NULL;
    } else if (kind == MAPDPM_SQUARED_DISTANCE) {
        f.c0 = f.a0 = 0;
        f.floor = parameters;
        f.m0 = f.rho = NULL;
    } else {
        f.c0 = f.a0 = 0;
        f.rho = parameters + D;
        f.floor = parameters + 2 * D;
    }
    return f;
}

/* Where things are in a row. */
static inline int64_t row_statistics(int64_t D) { return 1 + 2 * D; }
static inline int64_t row_size(int64_t D) { return row_statistics(D) + 4 + 2 * D; }
static inline row_real *row_mean(row_real *row) { return row + 1; }
static inline row_real *row_squares(row_real *row, int64_t D) { return row + 1 + D; }
static inline row_real *row_constants(row_real *row, int64_t D) { return row + row_statistics(D); }
static inline row_real *row_left(row_real *row, int64_t D) { return row + row_statistics(D) + 3; }
static inline row_real *row_centre(row_real *row, int64_t D) { return row + row_statistics(D) + 4; }
static inline row_real *row_scale(row_real *row, int64_t D) { return row + row_statistics(D) + 4 + D; }

static inline row_real row_stirling_tail(row_real x)
{
    const row_real r = 1 / (x * x);
    const row_real tail = (row_real)(1.0 / 1188) - r * (row_real)(691.0 / 360360);

    return ((row_real)(1.0 / 12) -
            r * ((row_real)(1.0 / 360) - r * ((row_real)(1.0 / 1260) - r * ((row_real)(1.0 / 1680) - r * tail)))) / x;
}

/* log Gamma(a + h) - log Gamma(a), without forming either: mapdpm/special.py. */
static inline row_real row_log_rising(row_real a, row_real h)
{
    row_real shift = 1;

    while (a < 10 || a + h < 10) {
        shift *= a / (a + h);
        a += 1;
    }
    return log(shift) + ((a - (row_real)0.5) * log1p(h / a) + h * (log(a + h) - 1)) +
           (row_stirling_tail(a + h) - row_stirling_tail(a));
}

ROW_INLINE void row_add(const row_family *f, row_real *row, const row_real *x, row_real w)
{
    row_real *const mean = row_mean(row), *const squares = row_squares(row, f->D);
    row_real share;
    int64_t d;

    row[0] += w;
    share = w / row[0];
    for (d = 0; d < f->D; d++) {
        const row_real delta = x[d] - mean[d];

        mean[d] += delta * share;
        squares[d] += w * delta * (x[d] - mean[d]);
    }
}

/* Chan's union of two clusters, into row: statistics only. */
static inline void row_merge(const row_family *f, row_real *row, const row_real *other)
{
    const int64_t D = f->D;
    const row_real n = row[0], m = other[0], all = n + m;
    int64_t d;

    if (m == 0)
        return;
    row[0] = all;
    for (d = 0; d < D; d++) {
        const row_real delta = other[1 + d] - row[1 + d];

        row[1 + d] += delta * (m / all);
        row[1 + D + d] += other[1 + D + d] + delta * delta * (n * m / all);
    }
}

/* The inverse of row_add; 0 where rounding has eaten what is left, now or over all removals since the row was made. */
ROW_INLINE int row_remove(const row_family *f, row_real *row, const row_real *x, row_real w)
{
    row_real *const mean = row_mean(row), *const squares = row_squares(row, f->D);
    const row_real weight = row[0] - w, share = w / weight, lost = w * (weight / row[0]);
    row_real most[ROW_LANES] = {0, 0, 0, 0};
    int64_t d, j;

    if (weight < ROW_LEAST_SHARE * row[0])
        return 0;
    row[0] = weight;
    for (d = 0; d < f->D; d++) {
        const row_real delta = x[d] - mean[d];
        row_real after;

        mean[d] -= delta * share;
        after = squares[d] - w * delta * (x[d] - mean[d]);
        squares[d] = after > 0 ? after : 0;
    }
    for (d = 0; d + ROW_LANES <= f->D; d += ROW_LANES) /* what was lost, in units of what is left */
        for (j = 0; j < ROW_LANES; j++) {
            const row_real delta = x[d + j] - mean[d + j];
            const row_real ratio = lost * delta * delta / (squares[d + j] + 2 * f->floor[d + j]);

            most[j] = most[j] > ratio ? most[j] : ratio;
        }
    for (; d < f->D; d++) {
        const row_real delta = x[d] - mean[d], ratio = lost * delta * delta / (squares[d] + 2 * f->floor[d]);

        most[0] = most[0] > ratio ? most[0] : ratio;
    }
    for (j = 1; j < ROW_LANES; j++)
        most[0] = most[0] > most[j] ? most[0] : most[j];
    *row_left(row, f->D) /= 1 + most[0];
    return *row_left(row, f->D) >= ROW_LEAST_SHARE;
}

/* The logarithm of a product of positive numbers, which may itself be far beyond what a number holds: exponents are taken
 * out as it grows. */
ROW_INLINE double row_log_product(const double *factors, int64_t D)
{
    const uint64_t mantissa = UINT64_C(0x000fffffffffffff), one = UINT64_C(0x3ff0000000000000);
    double p[ROW_LANES] = {1, 1, 1, 1};
    uint64_t exponents[ROW_LANES] = {0, 0, 0, 0}, bits;
    int64_t d, j;

    for (d = 0; d + ROW_LANES <= D; d += ROW_LANES)
        for (j = 0; j < ROW_LANES; j++) {
            p[j] *= factors[d + j];
            memcpy(&bits, p + j, sizeof bits);
            exponents[j] += bits >> 52;
            bits = (bits & mantissa) | one;
            memcpy(p + j, &bits, sizeof bits);
        }
    exponents[0] += exponents[1] + exponents[2] + exponents[3];
    exponents[0] -= UINT64_C(1023) * (uint64_t)d;
    for (j = 0; d + j < D; j++) {
        p[j] *= factors[d + j];
        memcpy(&bits, p + j, sizeof bits);
        exponents[0] += (bits >> 52) - 1023;
        bits = (bits & mantissa) | one;
        memcpy(p + j, &bits, sizeof bits);
    }
    return log((p[0] * p[1]) * (p[2] * p[3])) + (double)(int64_t)exponents[0] * 0.6931471805599453;
}

/* By how much the scale b_n of the Normal-Gamma posterior exceeds b0. */
static inline row_real row_b_grown(const row_family *f, const row_real *row, int64_t d)
{
    const row_real n = row[0], delta = row[1 + d] - f->m0[d];

    return (row_real)0.5 * (row[1 + f->D + d] + f->c0 * n / (f->c0 + n) * (delta * delta));
}

/* What the weight of a cluster alone says of its predictive, a feature: log Gamma(a + 1/2) / Gamma(a) - 1/2 log(pi stretch).
 * Of large a by one logarithm, and the asymptotic series of the ratio, whose next term is below 1e-16. */
static inline row_real row_gain(const row_family *f, row_real n)
{
    const row_real c = f->c0 + n, half = (row_real)0.5, a = f->a0 + half * n, stretch = 2 * (c + 1) / c, r = 1 / a, s = r * r;

    if (f->kind != MAPDPM_NORMAL_GAMMA)
        return 0;
    if (a < 20)
        return row_log_rising(a, half) - half * (ROW_LOG_PI + log(stretch));
    return half * (log(a / stretch) - ROW_LOG_PI) -
           r * ((row_real)(1.0 / 8) -
                s * ((row_real)(1.0 / 192) -
                     s * ((row_real)(1.0 / 640) - s * ((row_real)(17.0 / 14336) - s * (row_real)(31.0 / 18432)))));
}

ROW_INLINE void row_prepare_normal_gamma(const row_family *f, row_real *row, row_real gain, row_real *spread)
{
    const int64_t D = f->D;
    const row_real n = row[0], c = f->c0 + n, stretch = 2 * (c + 1) / c, half = (row_real)0.5;
    const row_real rest = f->c0 / c, pull = f->c0 * n / c;
    row_real *const constants = row_constants(row, D), *const centre = row_centre(row, D),
                    *const scale = row_scale(row, D);
    int64_t d;

    for (d = 0; d < D; d++) {
        const row_real delta = row[1 + d] - f->m0[d];

        centre[d] = row[1 + d] - rest * delta;
        scale[d] = f->floor[d] + half * (row[1 + D + d] + pull * (delta * delta));
    }
    constants[2] = row_log_product(scale, D);
    for (d = 0; d < D; d++) {
        const row_real g = stretch * scale[d];

        spread[d] = g; /* which may be scale itself */
        scale[d] = 1 / g;
    }
    constants[0] = (row_real)D * gain - half * constants[2];
    constants[1] = f->a0 + half * n + half;
}

static inline void row_prepare_known_variance(const row_family *f, row_real *row)
{
    const int64_t D = f->D;
    const row_real n = row[0];
    row_real *const constants = row_constants(row, D), *const centre = row_centre(row, D),
                    *const scale = row_scale(row, D);
    int64_t d;

    for (d = 0; d < D; d++) {
        const row_real spread = f->floor[d] + n * f->rho[d];

        centre[d] = row[1 + d] - f->floor[d] / spread * (row[1 + d] - f->m0[d]);
        scale[d] = f->floor[d] * (1 + f->rho[d] / spread);
    }
    constants[0] = -(row_real)0.5 * ((row_real)D * ROW_LOG_2PI + row_log_product(scale, D));
    for (d = 0; d < D; d++)
        scale[d] = (row_real)0.5 / scale[d];
    constants[1] = 1;
    constants[2] = 0;
}

static inline void row_prepare_squared_distance(const row_family *f, row_real *row)
{
    row_real *const constants = row_constants(row, f->D), *const centre = row_centre(row, f->D),
                    *const scale = row_scale(row, f->D);
    int64_t d;

    for (d = 0; d < f->D; d++) {
        centre[d] = row_mean(row)[d];
        scale[d] = row[0] / (row[0] + 1);
    }
    constants[0] = constants[2] = 0;
    constants[1] = 1;
}

/* Rebuild the constants of a row from its statistics; gain is row_gain of its weight. Of Normal-Gamma 1 / scale goes to
 * spread[D]. */
ROW_INLINE void row_prepare_with(const row_family *f, row_real *row, row_real gain, row_real *spread)
{
    if (f->kind == MAPDPM_NORMAL_GAMMA)
        row_prepare_normal_gamma(f, row, gain, spread);
    else if (f->kind == MAPDPM_SQUARED_DISTANCE)
        row_prepare_squared_distance(f, row);
    else
        row_prepare_known_variance(f, row);
}

static inline void row_prepare(const row_family *f, row_real *row)
{
    row_prepare_with(f, row, row_gain(f, row[0]), row_scale(row, f->D));
}

static inline void row_clear(const row_family *f, row_real *row)
{
    int64_t i;

    for (i = 0; i < row_statistics(f->D); i++)
        row[i] = 0;
    *row_left(row, f->D) = 1;
}

/* sum_d log(1 + stretch scale_d (x_d - centre_d)^2), by one logarithm: of the product less 1, which a large cluster
 * would otherwise lose, and multiply what is left of it by half its size. */
static inline row_real row_log_tail(const row_family *f, row_real *row, const row_real *x, row_real stretch)
{
    const row_real *const centre = row_centre(row, f->D), *const scale = row_scale(row, f->D);
    row_real excess = 0, total = 0;
    int64_t d;

    for (d = 0; d < f->D; d++) {
        const row_real t = x[d] - centre[d], u = stretch * t * t * scale[d];

        excess += u + excess * u;
        if (excess > ROW_HUGE) {
            total += log1p(excess);
            excess = 0;
        }
    }
    return total + log1p(excess);
}

/* log p(x | row); the row is prepared. */
static inline row_real row_log_predictive(const row_family *f, row_real *row, const row_real *x)
{
    const row_real *const constants = row_constants(row, f->D), *const centre = row_centre(row, f->D),
                          *const scale = row_scale(row, f->D);
    row_real total = 0;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA)
        return constants[0] - constants[1] * row_log_tail(f, row, x, 1);
    for (d = 0; d < f->D; d++) {
        const row_real t = x[d] - centre[d];

        total += t * t * scale[d];
    }
    return constants[0] - total;
}

/* L(row + w x) - L(row), L the log marginal. */
static inline row_real row_log_predictive_weighted(const row_family *f, row_real *row, const row_real *x, row_real w)
{
    const int64_t D = f->D;
    const row_real *const centre = row_centre(row, D);
    const row_real half = (row_real)0.5, n = row[0];
    row_real product = 1, logs = 0, squares = 0;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA) {
        const row_real c = f->c0 + n, a = f->a0 + half * n;
        const row_real tail = row_log_tail(f, row, x, w * (c + 1) / (c + w));
        const row_real gain = row_log_rising(a, half * w) + half * (log(c / (c + w)) - w * ROW_LOG_2PI);

        return (row_real)D * gain - half * w * row_constants(row, D)[2] - (a + half * w) * tail;
    }
    if (f->kind == MAPDPM_SQUARED_DISTANCE) {
        for (d = 0; d < D; d++)
            squares += (x[d] - centre[d]) * (x[d] - centre[d]);
        return -squares * n * w / (n + w);
    }
    for (d = 0; d < D; d++) {
        const row_real shrink = (f->floor[d] + n * f->rho[d]) / (f->floor[d] + (n + w) * f->rho[d]);
        const row_real t = x[d] - centre[d];

        squares += w * shrink * t * t / f->floor[d];
        logs -= w * log(f->floor[d]);
        product *= shrink;
        if (product < ROW_TINY) {
            logs += log(product);
            product = 1;
        }
    }
    return half * (logs + log(product) - squares - w * (row_real)D * ROW_LOG_2PI);
}

/* L(row): the log of the density of the points in a row, parameters integrated out. */
static inline row_real row_log_marginal(const row_family *f, const row_real *row)
{
    const int64_t D = f->D;
    const row_real half = (row_real)0.5, n = row[0];
    row_real total;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA) {
        total = (row_real)D * (row_log_rising(f->a0, half * n) - half * (log((f->c0 + n) / f->c0) + n * ROW_LOG_2PI));
        for (d = 0; d < D; d++) {
            const row_real grown = row_b_grown(f, row, d);

            total -= f->a0 * log1p(grown / f->floor[d]) + half * n * log(f->floor[d] + grown);
        }
        return total;
    }
    if (f->kind == MAPDPM_SQUARED_DISTANCE) {
        for (d = 0, total = 0; d < D; d++)
            total -= row[1 + D + d];
        return total;
    }
    total = -n * (row_real)D * ROW_LOG_2PI;
    for (d = 0; d < D; d++) {
        const row_real spread = f->floor[d] + n * f->rho[d], delta = row[1 + d] - f->m0[d];

        total -= (n - 1) * log(f->floor[d]) + log(spread);
        total -= row[1 + D + d] / f->floor[d] + n * delta * delta / spread;
    }
    return half * total;
}

/* log Gamma(x) - x log x + x: mapdpm/special.py. */
static inline row_real row_log_gamma_excess(row_real x)
{
    if (x < 10)
        return lgamma(x) - x * log(x) + x;
    return (row_real)0.5 * (ROW_LOG_2PI - log(x)) + row_stirling_tail(x);
}

static inline row_real row_log_merge_normal_gamma(const row_family *f, const row_real *both, const row_real *row,
                                                  const row_real *other)
{
    const row_real half = (row_real)0.5, a0 = f->a0, a = a0 + half * both[0];
    const row_real a1 = a0 + half * row[0], a2 = a0 + half * other[0];
    row_real total = row_log_gamma_excess(a) + row_log_gamma_excess(a0) - row_log_gamma_excess(a1) -
                     row_log_gamma_excess(a2) +
                     half * log((f->c0 + row[0]) / f->c0 * ((f->c0 + other[0]) / (f->c0 + both[0])));
    int64_t d;

    total *= (row_real)f->D;
    for (d = 0; d < f->D; d++) {
        const row_real b0 = f->floor[d], v = (b0 + row_b_grown(f, both, d)) / a;

        total += a1 * log((b0 + row_b_grown(f, row, d)) / a1 / v) + a2 * log((b0 + row_b_grown(f, other, d)) / a2 / v);
        total -= a0 * log(b0 / a0 / v);
    }
    return total;
}

/* n (mean - m0)^2 / (variance + n prior variance). */
static inline row_real row_pull(const row_family *f, const row_real *row, int64_t d)
{
    const row_real delta = row[1 + d] - f->m0[d];

    return row[0] * delta * delta / (f->floor[d] + row[0] * f->rho[d]);
}

/* L(both) - L(row) - L(other), both the merged row, without the large terms that cancel. */
static inline row_real row_log_merge(const row_family *f, const row_real *both, const row_real *row, const row_real *other)
{
    const row_real weight = row[0] * other[0] / both[0];
    row_real total = 0;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA)
        return row_log_merge_normal_gamma(f, both, row, other);
    for (d = 0; d < f->D; d++) {
        const row_real t = row[1 + d] - other[1 + d];

        if (f->kind == MAPDPM_SQUARED_DISTANCE) {
            total -= t * t;
        } else {
            const row_real variance = f->floor[d], rho = f->rho[d];

            total += log((variance + row[0] * rho) / variance);
            total += log((variance + other[0] * rho) / (variance + both[0] * rho));
            total += row_pull(f, row, d) + row_pull(f, other, d) - row_pull(f, both, d) - weight * t * t / variance;
        }
    }
    return total * (f->kind == MAPDPM_SQUARED_DISTANCE ? weight : (row_real)0.5);
}

#endif
