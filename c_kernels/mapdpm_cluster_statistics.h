/* The statistics of one cluster, and the arithmetic of all families on them: the twin of mapdpm/likelihoods. Internal;
 * static inlines only.
 *
 * The including file defines the type of an entry first: #define STATISTICS_REAL double.
 */
#ifndef MAPDPM_CLUSTER_STATISTICS_H
#define MAPDPM_CLUSTER_STATISTICS_H

#include "mapdpm.h"

#include <math.h>
#include <string.h>

typedef STATISTICS_REAL statistics_real;

#define LOG_2PI ((statistics_real)1.8378770664093453)
#define LOG_PI ((statistics_real)1.1447298858494002)
/* A product becomes a logarithm when it leaves these bounds. */
#define PRODUCT_TINY ((statistics_real)1e-100)
#define PRODUCT_HUGE ((statistics_real)1e100)
/* The share of the weight, or of the squares, that removals must leave. Less has lost four digits, and the statistics
 * must be rebuilt. */
#define LEAST_SHARE_LEFT ((statistics_real)1e-4)
/* Independent sums or products over the features, so that a processor need not wait for one to finish before the
 * next. */
enum { ACCUMULATORS = 4 };

/* Functions that run for each point are inlined into their caller, and so into each clone of it for a processor. */
#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

/* A family with its parameters. noise_scale is b0 of the Normal-Gamma, or the variance of the known-variance family.
 * Normal-Gamma has also m0, c0 and a0; known variance has m0 and prior_variance; squared distance has noise_scale
 * alone. */
typedef struct likelihood {
    int32_t kind;
    int64_t D;
    const statistics_real *m0;
    const statistics_real *noise_scale;
    const statistics_real *prior_variance;
    statistics_real c0;
    statistics_real a0;
} likelihood;

static inline likelihood likelihood_of(int32_t kind, int64_t D, const statistics_real *parameters)
{
    likelihood f;

    f.kind = kind;
    f.D = D;
    f.m0 = parameters;
    if (kind == MAPDPM_NORMAL_GAMMA) {
        f.c0 = parameters[D];
        f.a0 = parameters[D + 1];
        f.noise_scale = parameters + D + 2;
        f.prior_variance = NULL;
    } else if (kind == MAPDPM_SQUARED_DISTANCE) {
        f.c0 = f.a0 = 0;
        f.noise_scale = parameters;
        f.m0 = f.prior_variance = NULL;
    } else {
        f.c0 = f.a0 = 0;
        f.prior_variance = parameters + D;
        f.noise_scale = parameters + 2 * D;
    }
    return f;
}

/* The layout of the statistics of a cluster: weight, mean[D], squares[D], then what follows from them. */
static inline int64_t sufficient_size(int64_t D) { return 1 + 2 * D; }
static inline int64_t statistics_size(int64_t D) { return sufficient_size(D) + 4 + 2 * D; }
static inline statistics_real *statistics_mean(statistics_real *statistics) { return statistics + 1; }
static inline statistics_real *statistics_squares(statistics_real *statistics, int64_t D) { return statistics + 1 + D; }
static inline statistics_real *statistics_constants(statistics_real *statistics, int64_t D)
{
    return statistics + sufficient_size(D);
}
static inline statistics_real *statistics_share_left(statistics_real *statistics, int64_t D)
{
    return statistics + sufficient_size(D) + 3;
}
static inline statistics_real *statistics_centre(statistics_real *statistics, int64_t D)
{
    return statistics + sufficient_size(D) + 4;
}
static inline statistics_real *statistics_scale(statistics_real *statistics, int64_t D)
{
    return statistics + sufficient_size(D) + 4 + D;
}

static inline statistics_real stirling_tail(statistics_real x)
{
    const statistics_real r = 1 / (x * x);
    const statistics_real tail = (statistics_real)(1.0 / 1188) - r * (statistics_real)(691.0 / 360360);

    return ((statistics_real)(1.0 / 12) -
            r * ((statistics_real)(1.0 / 360) -
                 r * ((statistics_real)(1.0 / 1260) - r * ((statistics_real)(1.0 / 1680) - r * tail)))) /
           x;
}

/* log Gamma(a + h) - log Gamma(a), without either of the two: mapdpm/special.py. */
static inline statistics_real log_rising(statistics_real a, statistics_real h)
{
    statistics_real shift = 1;

    while (a < 10 || a + h < 10) {
        shift *= a / (a + h);
        a += 1;
    }
    return log(shift) + ((a - (statistics_real)0.5) * log1p(h / a) + h * (log(a + h) - 1)) +
           (stirling_tail(a + h) - stirling_tail(a));
}

ALWAYS_INLINE void statistics_add(const likelihood *f, statistics_real *statistics, const statistics_real *x,
                                  statistics_real w)
{
    statistics_real *const mean = statistics_mean(statistics), *const squares = statistics_squares(statistics, f->D);
    statistics_real share;
    int64_t d;

    statistics[0] += w;
    share = w / statistics[0];
    for (d = 0; d < f->D; d++) {
        const statistics_real delta = x[d] - mean[d];

        mean[d] += delta * share;
        squares[d] += w * delta * (x[d] - mean[d]);
    }
}

/* The union of two clusters (Chan), into `statistics`. Only the sufficient statistics change. */
static inline void statistics_merge(const likelihood *f, statistics_real *statistics, const statistics_real *other)
{
    const int64_t D = f->D;
    const statistics_real n = statistics[0], m = other[0], all = n + m;
    int64_t d;

    if (m == 0)
        return;
    statistics[0] = all;
    for (d = 0; d < D; d++) {
        const statistics_real delta = other[1 + d] - statistics[1 + d];

        statistics[1 + d] += delta * (m / all);
        statistics[1 + D + d] += other[1 + D + d] + delta * delta * (n * m / all);
    }
}

/* The inverse of statistics_add. It returns 0 if rounding has destroyed too much, in this removal or in all since the
 * statistics were rebuilt. */
ALWAYS_INLINE int statistics_remove(const likelihood *f, statistics_real *statistics, const statistics_real *x,
                                    statistics_real w)
{
    statistics_real *const mean = statistics_mean(statistics), *const squares = statistics_squares(statistics, f->D);
    const statistics_real weight = statistics[0] - w, share = w / weight, lost = w * (weight / statistics[0]);
    statistics_real most[ACCUMULATORS] = {0, 0, 0, 0};
    int64_t d, j;

    if (weight < LEAST_SHARE_LEFT * statistics[0])
        return 0;
    statistics[0] = weight;
    for (d = 0; d < f->D; d++) {
        const statistics_real delta = x[d] - mean[d];
        statistics_real after;

        mean[d] -= delta * share;
        after = squares[d] - w * delta * (x[d] - mean[d]);
        squares[d] = after > 0 ? after : 0;
    }
    for (d = 0; d + ACCUMULATORS <= f->D; d += ACCUMULATORS) /* the loss, relative to the rest */
        for (j = 0; j < ACCUMULATORS; j++) {
            const statistics_real delta = x[d + j] - mean[d + j];
            const statistics_real ratio = lost * delta * delta / (squares[d + j] + 2 * f->noise_scale[d + j]);

            most[j] = most[j] > ratio ? most[j] : ratio;
        }
    for (; d < f->D; d++) {
        const statistics_real delta = x[d] - mean[d],
                              ratio = lost * delta * delta / (squares[d] + 2 * f->noise_scale[d]);

        most[0] = most[0] > ratio ? most[0] : ratio;
    }
    for (j = 1; j < ACCUMULATORS; j++)
        most[0] = most[0] > most[j] ? most[0] : most[j];
    *statistics_share_left(statistics, f->D) /= 1 + most[0];
    return *statistics_share_left(statistics, f->D) >= LEAST_SHARE_LEFT;
}

/* The logarithm of a product of positive factors. The product itself may leave the range of a double, so the exponents
 * are removed as it grows. */
ALWAYS_INLINE double log_product(const double *factors, int64_t D)
{
    const uint64_t mantissa = UINT64_C(0x000fffffffffffff), one = UINT64_C(0x3ff0000000000000);
    double p[ACCUMULATORS] = {1, 1, 1, 1};
    uint64_t exponents[ACCUMULATORS] = {0, 0, 0, 0}, bits;
    int64_t d, j;

    for (d = 0; d + ACCUMULATORS <= D; d += ACCUMULATORS)
        for (j = 0; j < ACCUMULATORS; j++) {
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

/* The excess of the scale b_n of the Normal-Gamma posterior over b0. */
static inline statistics_real b_growth(const likelihood *f, const statistics_real *statistics, int64_t d)
{
    const statistics_real n = statistics[0], delta = statistics[1 + d] - f->m0[d];

    return (statistics_real)0.5 * (statistics[1 + f->D + d] + f->c0 * n / (f->c0 + n) * (delta * delta));
}

/* The log constant of the Student t predictive of one feature, as far as it depends on the cluster's weight alone: log
 * Gamma(a + 1/2) / Gamma(a) - 1/2 log(pi stretch). For large a it takes one logarithm and the asymptotic series of the
 * ratio, whose next term is below 1e-16. */
static inline statistics_real student_log_constant(const likelihood *f, statistics_real n)
{
    const statistics_real c = f->c0 + n, half = (statistics_real)0.5, a = f->a0 + half * n, stretch = 2 * (c + 1) / c,
                          r = 1 / a, s = r * r;

    if (f->kind != MAPDPM_NORMAL_GAMMA)
        return 0;
    if (a < 20)
        return log_rising(a, half) - half * (LOG_PI + log(stretch));
    return half * (log(a / stretch) - LOG_PI) -
           r * ((statistics_real)(1.0 / 8) -
                s * ((statistics_real)(1.0 / 192) -
                     s * ((statistics_real)(1.0 / 640) -
                          s * ((statistics_real)(17.0 / 14336) - s * (statistics_real)(31.0 / 18432)))));
}

ALWAYS_INLINE void statistics_prepare_normal_gamma(const likelihood *f, statistics_real *statistics,
                                                   statistics_real log_constant, statistics_real *spread)
{
    const int64_t D = f->D;
    const statistics_real n = statistics[0], c = f->c0 + n, stretch = 2 * (c + 1) / c, half = (statistics_real)0.5;
    const statistics_real rest = f->c0 / c, pull = f->c0 * n / c;
    statistics_real *const constants = statistics_constants(statistics, D),
                           *const centre = statistics_centre(statistics, D),
                           *const scale = statistics_scale(statistics, D);
    int64_t d;

    for (d = 0; d < D; d++) {
        const statistics_real delta = statistics[1 + d] - f->m0[d];

        centre[d] = statistics[1 + d] - rest * delta;
        scale[d] = f->noise_scale[d] + half * (statistics[1 + D + d] + pull * (delta * delta));
    }
    constants[2] = log_product(scale, D);
    for (d = 0; d < D; d++) {
        const statistics_real g = stretch * scale[d];

        spread[d] = g; /* may be scale itself */
        scale[d] = 1 / g;
    }
    constants[0] = (statistics_real)D * log_constant - half * constants[2];
    constants[1] = f->a0 + half * n + half;
}

static inline void statistics_prepare_known_variance(const likelihood *f, statistics_real *statistics)
{
    const int64_t D = f->D;
    const statistics_real n = statistics[0];
    statistics_real *const constants = statistics_constants(statistics, D),
                           *const centre = statistics_centre(statistics, D),
                           *const scale = statistics_scale(statistics, D);
    int64_t d;

    for (d = 0; d < D; d++) {
        const statistics_real spread = f->noise_scale[d] + n * f->prior_variance[d];

        centre[d] = statistics[1 + d] - f->noise_scale[d] / spread * (statistics[1 + d] - f->m0[d]);
        scale[d] = f->noise_scale[d] * (1 + f->prior_variance[d] / spread);
    }
    constants[0] = -(statistics_real)0.5 * ((statistics_real)D * LOG_2PI + log_product(scale, D));
    for (d = 0; d < D; d++)
        scale[d] = (statistics_real)0.5 / scale[d];
    constants[1] = 1;
    constants[2] = 0;
}

static inline void statistics_prepare_squared_distance(const likelihood *f, statistics_real *statistics)
{
    statistics_real *const constants = statistics_constants(statistics, f->D),
                           *const centre = statistics_centre(statistics, f->D),
                           *const scale = statistics_scale(statistics, f->D);
    int64_t d;

    for (d = 0; d < f->D; d++) {
        centre[d] = statistics_mean(statistics)[d];
        scale[d] = statistics[0] / (statistics[0] + 1);
    }
    constants[0] = constants[2] = 0;
    constants[1] = 1;
}

/* Compute the derived entries from the sufficient statistics. log_constant is student_log_constant of the weight.
 * Normal-Gamma also writes 1 / scale to spread[D]. */
ALWAYS_INLINE void statistics_prepare_with(const likelihood *f, statistics_real *statistics,
                                           statistics_real log_constant, statistics_real *spread)
{
    if (f->kind == MAPDPM_NORMAL_GAMMA)
        statistics_prepare_normal_gamma(f, statistics, log_constant, spread);
    else if (f->kind == MAPDPM_SQUARED_DISTANCE)
        statistics_prepare_squared_distance(f, statistics);
    else
        statistics_prepare_known_variance(f, statistics);
}

static inline void statistics_prepare(const likelihood *f, statistics_real *statistics)
{
    statistics_prepare_with(f, statistics, student_log_constant(f, statistics[0]), statistics_scale(statistics, f->D));
}

static inline void statistics_clear(const likelihood *f, statistics_real *statistics)
{
    int64_t i;

    for (i = 0; i < sufficient_size(f->D); i++)
        statistics[i] = 0;
    *statistics_share_left(statistics, f->D) = 1;
}

/* sum_d log(1 + stretch scale_d (x_d - centre_d)^2), by one logarithm of the product less 1. The product itself would
 * lose digits, and a large cluster multiplies the loss by half its size. */
static inline statistics_real statistics_log_tail(const likelihood *f, statistics_real *statistics,
                                                  const statistics_real *x, statistics_real stretch)
{
    const statistics_real *const centre = statistics_centre(statistics, f->D), *const scale =
                                                                                   statistics_scale(statistics, f->D);
    statistics_real excess = 0, total = 0;
    int64_t d;

    for (d = 0; d < f->D; d++) {
        const statistics_real t = x[d] - centre[d], u = stretch * t * t * scale[d];

        excess += u + excess * u;
        if (excess > PRODUCT_HUGE) {
            total += log1p(excess);
            excess = 0;
        }
    }
    return total + log1p(excess);
}

/* log p(x | statistics). The derived entries are up to date. */
static inline statistics_real statistics_log_predictive(const likelihood *f, statistics_real *statistics,
                                                        const statistics_real *x)
{
    const statistics_real *const constants = statistics_constants(statistics, f->D),
                                 *const centre = statistics_centre(statistics, f->D),
                                 *const scale = statistics_scale(statistics, f->D);
    statistics_real total = 0;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA)
        return constants[0] - constants[1] * statistics_log_tail(f, statistics, x, 1);
    for (d = 0; d < f->D; d++) {
        const statistics_real t = x[d] - centre[d];

        total += t * t * scale[d];
    }
    return constants[0] - total;
}

/* L(statistics + w x) - L(statistics), where L is the log marginal. */
static inline statistics_real statistics_log_predictive_weighted(const likelihood *f, statistics_real *statistics,
                                                                 const statistics_real *x, statistics_real w)
{
    const int64_t D = f->D;
    const statistics_real *const centre = statistics_centre(statistics, D);
    const statistics_real half = (statistics_real)0.5, n = statistics[0];
    statistics_real product = 1, logs = 0, squares = 0;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA) {
        const statistics_real c = f->c0 + n, a = f->a0 + half * n;
        const statistics_real tail = statistics_log_tail(f, statistics, x, w * (c + 1) / (c + w));
        const statistics_real log_constant = log_rising(a, half * w) + half * (log(c / (c + w)) - w * LOG_2PI);

        return (statistics_real)D * log_constant - half * w * statistics_constants(statistics, D)[2] -
               (a + half * w) * tail;
    }
    if (f->kind == MAPDPM_SQUARED_DISTANCE) {
        for (d = 0; d < D; d++)
            squares += (x[d] - centre[d]) * (x[d] - centre[d]);
        return -squares * n * w / (n + w);
    }
    for (d = 0; d < D; d++) {
        const statistics_real shrink =
            (f->noise_scale[d] + n * f->prior_variance[d]) / (f->noise_scale[d] + (n + w) * f->prior_variance[d]);
        const statistics_real t = x[d] - centre[d];

        squares += w * shrink * t * t / f->noise_scale[d];
        logs -= w * log(f->noise_scale[d]);
        product *= shrink;
        if (product < PRODUCT_TINY) {
            logs += log(product);
            product = 1;
        }
    }
    return half * (logs + log(product) - squares - w * (statistics_real)D * LOG_2PI);
}

/* L(statistics): the log density of the cluster's points, with the parameters integrated out. */
static inline statistics_real statistics_log_marginal(const likelihood *f, const statistics_real *statistics)
{
    const int64_t D = f->D;
    const statistics_real half = (statistics_real)0.5, n = statistics[0];
    statistics_real total;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA) {
        total = (statistics_real)D * (log_rising(f->a0, half * n) - half * (log((f->c0 + n) / f->c0) + n * LOG_2PI));
        for (d = 0; d < D; d++) {
            const statistics_real grown = b_growth(f, statistics, d);

            total -= f->a0 * log1p(grown / f->noise_scale[d]) + half * n * log(f->noise_scale[d] + grown);
        }
        return total;
    }
    if (f->kind == MAPDPM_SQUARED_DISTANCE) {
        for (d = 0, total = 0; d < D; d++)
            total -= statistics[1 + D + d];
        return total;
    }
    total = -n * (statistics_real)D * LOG_2PI;
    for (d = 0; d < D; d++) {
        const statistics_real spread = f->noise_scale[d] + n * f->prior_variance[d],
                              delta = statistics[1 + d] - f->m0[d];

        total -= (n - 1) * log(f->noise_scale[d]) + log(spread);
        total -= statistics[1 + D + d] / f->noise_scale[d] + n * delta * delta / spread;
    }
    return half * total;
}

/* log Gamma(x) - x log x + x: mapdpm/special.py. */
static inline statistics_real log_gamma_excess(statistics_real x)
{
    if (x < 10)
        return lgamma(x) - x * log(x) + x;
    return (statistics_real)0.5 * (LOG_2PI - log(x)) + stirling_tail(x);
}

static inline statistics_real statistics_log_merge_normal_gamma(const likelihood *f, const statistics_real *both,
                                                                const statistics_real *statistics,
                                                                const statistics_real *other)
{
    const statistics_real half = (statistics_real)0.5, a0 = f->a0, a = a0 + half * both[0];
    const statistics_real a1 = a0 + half * statistics[0], a2 = a0 + half * other[0];
    statistics_real total = log_gamma_excess(a) + log_gamma_excess(a0) - log_gamma_excess(a1) - log_gamma_excess(a2) +
                            half * log((f->c0 + statistics[0]) / f->c0 * ((f->c0 + other[0]) / (f->c0 + both[0])));
    int64_t d;

    total *= (statistics_real)f->D;
    for (d = 0; d < f->D; d++) {
        const statistics_real b0 = f->noise_scale[d], v = (b0 + b_growth(f, both, d)) / a;

        total += a1 * log((b0 + b_growth(f, statistics, d)) / a1 / v) + a2 * log((b0 + b_growth(f, other, d)) / a2 / v);
        total -= a0 * log(b0 / a0 / v);
    }
    return total;
}

/* n (mean - m0)^2 / (variance + n prior variance). */
static inline statistics_real mean_penalty(const likelihood *f, const statistics_real *statistics, int64_t d)
{
    const statistics_real delta = statistics[1 + d] - f->m0[d];

    return statistics[0] * delta * delta / (f->noise_scale[d] + statistics[0] * f->prior_variance[d]);
}

/* L(both) - L(statistics) - L(other), where `both` is the union, without the large terms that cancel. */
static inline statistics_real statistics_log_merge(const likelihood *f, const statistics_real *both,
                                                   const statistics_real *statistics, const statistics_real *other)
{
    const statistics_real weight = statistics[0] * other[0] / both[0];
    statistics_real total = 0;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA)
        return statistics_log_merge_normal_gamma(f, both, statistics, other);
    for (d = 0; d < f->D; d++) {
        const statistics_real t = statistics[1 + d] - other[1 + d];

        if (f->kind == MAPDPM_SQUARED_DISTANCE) {
            total -= t * t;
        } else {
            const statistics_real variance = f->noise_scale[d], prior_variance = f->prior_variance[d];

            total += log((variance + statistics[0] * prior_variance) / variance);
            total += log((variance + other[0] * prior_variance) / (variance + both[0] * prior_variance));
            total += mean_penalty(f, statistics, d) + mean_penalty(f, other, d) - mean_penalty(f, both, d) -
                     weight * t * t / variance;
        }
    }
    return total * (f->kind == MAPDPM_SQUARED_DISTANCE ? weight : (statistics_real)0.5);
}

#endif
