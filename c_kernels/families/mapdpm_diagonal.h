/* Clusters of normals with diagonal covariances, and of squared distances: the twin of mapdpm/likelihoods/_moments.py,
 * normal_gamma.py, normal_known_variance.py and _squared_distance.py. Internal; static inlines only.
 */
#ifndef MAPDPM_DIAGONAL_H
#define MAPDPM_DIAGONAL_H

#include "families/mapdpm_likelihood.h"

/* The layout of the statistics of a cluster: weight, mean[D], squares[D], then what follows from them. */
static inline int64_t diagonal_sufficient(int64_t D) { return 1 + 2 * D; }
static inline int64_t diagonal_size(int64_t D) { return diagonal_sufficient(D) + 4 + 2 * D; }
static inline double *diagonal_mean(const double *statistics) { return (double *)(uintptr_t)statistics + 1; }
static inline double *diagonal_squares(const double *statistics, int64_t D)
{
    return (double *)(uintptr_t)statistics + 1 + D;
}
static inline double *diagonal_constants(double *statistics, int64_t D)
{
    return statistics + diagonal_sufficient(D);
}
static inline double *diagonal_share_left(double *statistics, int64_t D)
{
    return statistics + diagonal_sufficient(D) + 3;
}
static inline double *diagonal_centre(double *statistics, int64_t D)
{
    return statistics + diagonal_sufficient(D) + 4;
}
static inline double *diagonal_scale(double *statistics, int64_t D)
{
    return statistics + diagonal_sufficient(D) + 4 + D;
}

/* What rounding to steps adds to the squared deviation of a value, docs/maths.md (148). */
static inline double cell_of(const likelihood *f, int64_t d) { return f->resolution[d] * f->resolution[d] / 12; }

ALWAYS_INLINE void diagonal_add(const likelihood *f, double *statistics, const double *restrict x, double w)
{
    double *restrict const mean = diagonal_mean(statistics), *restrict const squares = diagonal_squares(statistics, f->D);
    double share;
    int64_t d;

    statistics[0] += w;
    share = w / statistics[0];
    for (d = 0; d < f->D; d++) {
        const double delta = x[d] - mean[d];

        mean[d] += delta * share;
        squares[d] += w * delta * (x[d] - mean[d]);
    }
    for (d = 0; d < f->D && f->resolution; d++)
        squares[d] += w * cell_of(f, d);
}

/* The union of two clusters (Chan), into `statistics`. Only the sufficient statistics change. */
static inline void diagonal_merge(const likelihood *f, double *statistics, const double *other)
{
    const int64_t D = f->D;
    const double n = statistics[0], m = other[0], all = n + m;
    const double *const mean2 = diagonal_mean(other), *const squares2 = diagonal_squares(other, D);
    double *const mean = diagonal_mean(statistics), *const squares = diagonal_squares(statistics, D);
    int64_t d;

    if (m == 0)
        return;
    statistics[0] = all;
    for (d = 0; d < D; d++) {
        const double delta = mean2[d] - mean[d];

        mean[d] += delta * (m / all);
        squares[d] += squares2[d] + delta * delta * (n * m / all);
    }
}

/* Take the cells of a point away, after the point. The others leave no less than they have added themselves. */
static inline int diagonal_remove_cells(const likelihood *f, double *statistics, double w)
{
    double *const squares = diagonal_squares(statistics, f->D), least = 1;
    int64_t d;

    for (d = 0; d < f->D; d++) {
        const double cell = cell_of(f, d), before = squares[d], others = statistics[0] * cell, rest = before - w * cell;
        const double after = others > rest ? others : rest;
        const double left = (after + 2 * f->noise_scale[d]) / (before + 2 * f->noise_scale[d]);

        squares[d] = after;
        least = left < least ? left : least;
    }
    *diagonal_share_left(statistics, f->D) *= least;
    return *diagonal_share_left(statistics, f->D) >= LEAST_SHARE_LEFT;
}

/* The inverse of diagonal_add. It returns 0 if rounding has destroyed too much, in this removal or in all since the
 * statistics were rebuilt. */
ALWAYS_INLINE int diagonal_remove(const likelihood *f, double *statistics, const double *x, double w)
{
    double *const mean = diagonal_mean(statistics), *const squares = diagonal_squares(statistics, f->D);
    const double weight = statistics[0] - w, share = w / weight, lost = w * (weight / statistics[0]);
    double most[ACCUMULATORS] = {0, 0, 0, 0};
    int64_t d, j;

    if (weight < LEAST_SHARE_LEFT * statistics[0])
        return 0;
    statistics[0] = weight;
    for (d = 0; d < f->D; d++) {
        const double delta = x[d] - mean[d];
        double after;

        mean[d] -= delta * share;
        after = squares[d] - w * delta * (x[d] - mean[d]);
        squares[d] = after > 0 ? after : 0;
    }
    for (d = 0; d + ACCUMULATORS <= f->D; d += ACCUMULATORS) /* the loss, relative to the rest */
        for (j = 0; j < ACCUMULATORS; j++) {
            const double delta = x[d + j] - mean[d + j];
            const double ratio = lost * delta * delta / (squares[d + j] + 2 * f->noise_scale[d + j]);

            most[j] = most[j] > ratio ? most[j] : ratio;
        }
    for (; d < f->D; d++) {
        const double delta = x[d] - mean[d], ratio = lost * delta * delta / (squares[d] + 2 * f->noise_scale[d]);

        most[0] = most[0] > ratio ? most[0] : ratio;
    }
    for (j = 1; j < ACCUMULATORS; j++)
        most[0] = most[0] > most[j] ? most[0] : most[j];
    *diagonal_share_left(statistics, f->D) /= 1 + most[0];
    if (*diagonal_share_left(statistics, f->D) < LEAST_SHARE_LEFT)
        return 0;
    return !f->resolution || diagonal_remove_cells(f, statistics, w);
}

/* The excess of the scale b_n of the Normal-Gamma posterior over b0. */
static inline double b_growth(const likelihood *f, const double *statistics, int64_t d)
{
    const double n = statistics[0], delta = diagonal_mean(statistics)[d] - f->m0[d];

    return 0.5 * (diagonal_squares(statistics, f->D)[d] + f->c0 * n / (f->c0 + n) * (delta * delta));
}

/* The log constant of the Student t predictive of one feature, as far as it depends on the cluster's weight alone: log
 * Gamma(a + 1/2) / Gamma(a) - 1/2 log(pi stretch). For large a it takes one logarithm and the asymptotic series of the
 * ratio, whose next term is below 1e-16. */
static inline double student_log_constant(const likelihood *f, double n)
{
    const double c = f->c0 + n, half = 0.5, a = f->a0 + half * n, stretch = 2 * (c + 1) / c, r = 1 / a, s = r * r;

    if (f->kind != MAPDPM_NORMAL_GAMMA)
        return 0;
    if (a < 20)
        return log_rising(a, half) - half * (LOG_PI + log(stretch));
    return half * (log(a / stretch) - LOG_PI) -
           r * (1.0 / 8 - s * (1.0 / 192 - s * (1.0 / 640 - s * (17.0 / 14336 - s * (31.0 / 18432)))));
}

/* Add the half cell of a point to the scales b[D]; returns the sum of the logarithms of their growth, by one logarithm of
 * the product less 1. */
static inline double add_half_cells(const likelihood *f, double *b)
{
    double excess = 0, total = 0;
    int64_t d;

    for (d = 0; d < f->D; d++) {
        const double half = 0.5 * cell_of(f, d), u = half / b[d];

        b[d] += half;
        excess += u + excess * u;
        if (excess > PRODUCT_HUGE) {
            total += log1p(excess);
            excess = 0;
        }
    }
    return total + log1p(excess);
}

ALWAYS_INLINE void diagonal_prepare_normal_gamma(const likelihood *f, double *statistics, double log_constant,
                                                 double *spread)
{
    const int64_t D = f->D;
    const double n = statistics[0], c = f->c0 + n, stretch = 2 * (c + 1) / c, half = 0.5;
    const double rest = f->c0 / c, pull = f->c0 * n / c;
    double *const constants = diagonal_constants(statistics, D),
                           *const centre = diagonal_centre(statistics, D),
                           *const scale = diagonal_scale(statistics, D);
    double growth = 0;
    int64_t d;

    for (d = 0; d < D; d++) {
        const double delta = diagonal_mean(statistics)[d] - f->m0[d];

        centre[d] = diagonal_mean(statistics)[d] - rest * delta;
        scale[d] = f->noise_scale[d] + half * (diagonal_squares(statistics, D)[d] + pull * (delta * delta));
    }
    constants[2] = log_product(scale, D);
    if (f->resolution)
        growth = add_half_cells(f, scale);
    for (d = 0; d < D; d++) {
        const double g = stretch * scale[d];

        spread[d] = g; /* may be scale itself */
        scale[d] = 1 / g;
    }
    constants[1] = f->a0 + half * n + half;
    constants[0] = (double)D * log_constant - half * constants[2] - constants[1] * growth;
}

/* What the cells of a point cost each of its scores under a known variance, docs/maths.md (154). */
static inline double known_cost_of_cells(const likelihood *f)
{
    double total = 0;
    int64_t d;

    for (d = 0; d < f->D && f->resolution; d++)
        total += cell_of(f, d) / f->noise_scale[d];
    return 0.5 * total;
}

static inline void diagonal_prepare_known_variance(const likelihood *f, double *statistics)
{
    const int64_t D = f->D;
    const double n = statistics[0];
    double *const constants = diagonal_constants(statistics, D),
                           *const centre = diagonal_centre(statistics, D),
                           *const scale = diagonal_scale(statistics, D);
    int64_t d;

    for (d = 0; d < D; d++) {
        const double spread = f->noise_scale[d] + n * f->prior_variance[d];

        centre[d] =
            diagonal_mean(statistics)[d] - f->noise_scale[d] / spread * (diagonal_mean(statistics)[d] - f->m0[d]);
        scale[d] = f->noise_scale[d] * (1 + f->prior_variance[d] / spread);
    }
    constants[0] = -0.5 * ((double)D * LOG_2PI + log_product(scale, D)) - known_cost_of_cells(f);
    for (d = 0; d < D; d++)
        scale[d] = 0.5 / scale[d];
    constants[1] = 1;
    constants[2] = 0;
}

static inline void diagonal_prepare_squared_distance(const likelihood *f, double *statistics)
{
    double *const constants = diagonal_constants(statistics, f->D),
                           *const centre = diagonal_centre(statistics, f->D),
                           *const scale = diagonal_scale(statistics, f->D);
    int64_t d;

    for (d = 0; d < f->D; d++) {
        centre[d] = diagonal_mean(statistics)[d];
        scale[d] = statistics[0] / (statistics[0] + 1);
    }
    constants[0] = constants[2] = 0;
    constants[1] = 1;
}

/* Compute the derived entries from the sufficient statistics. log_constant is student_log_constant of the weight.
 * Normal-Gamma also writes 1 / scale to spread[D]. */
ALWAYS_INLINE void diagonal_prepare_with(const likelihood *f, double *statistics, double log_constant, double *spread)
{
    if (f->kind == MAPDPM_NORMAL_GAMMA)
        diagonal_prepare_normal_gamma(f, statistics, log_constant, spread);
    else if (f->kind == MAPDPM_SQUARED_DISTANCE)
        diagonal_prepare_squared_distance(f, statistics);
    else
        diagonal_prepare_known_variance(f, statistics);
}

/* The statistics of an empty cluster; f->empty is not read. */
static inline void diagonal_init(const likelihood *f, double *statistics)
{
    memset(statistics, 0, (size_t)diagonal_size(f->D) * sizeof *statistics);
    *diagonal_share_left(statistics, f->D) = 1;
}

/* sum_d log(1 + stretch scale_d (x_d - centre_d)^2), by one logarithm of the product less 1. The product itself would
 * lose digits, and a large cluster multiplies the loss by half its size. */
static inline double diagonal_log_tail(const likelihood *f, double *statistics, const double *x, double stretch)
{
    const double *const centre = diagonal_centre(statistics, f->D), *const scale = diagonal_scale(statistics, f->D);
    double excess = 0, total = 0;
    int64_t d;

    for (d = 0; d < f->D; d++) {
        const double t = x[d] - centre[d], u = stretch * t * t * scale[d];

        excess += u + excess * u;
        if (excess > PRODUCT_HUGE) {
            total += log1p(excess);
            excess = 0;
        }
    }
    return total + log1p(excess);
}

/* sum_d log(b / b_n), with b the scale after a rounded point of weight w; docs/maths.md (151). */
static inline double diagonal_log_growth(const likelihood *f, double *statistics, const double *x, double w)
{
    const double *const centre = diagonal_centre(statistics, f->D), c = f->c0 + statistics[0];
    double excess = 0, total = 0;
    int64_t d;

    for (d = 0; d < f->D; d++) {
        const double t = x[d] - centre[d], b = f->noise_scale[d] + b_growth(f, statistics, d);
        const double u = 0.5 * w * (cell_of(f, d) + c / (c + w) * t * t) / b;

        excess += u + excess * u;
        if (excess > PRODUCT_HUGE) {
            total += log1p(excess);
            excess = 0;
        }
    }
    return total + log1p(excess);
}

/* log p(x | statistics). The derived entries are up to date. */
static inline double diagonal_log_predictive(const likelihood *f, double *statistics, const double *x)
{
    const double *const constants = diagonal_constants(statistics, f->D);
    const double *const centre = diagonal_centre(statistics, f->D), *const scale = diagonal_scale(statistics, f->D);
    double total = 0;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA)
        return constants[0] - constants[1] * diagonal_log_tail(f, statistics, x, 1);
    for (d = 0; d < f->D; d++) {
        const double t = x[d] - centre[d];

        total += t * t * scale[d];
    }
    return constants[0] - total;
}

/* L(statistics + w x) - L(statistics), where L is the log marginal. */
static inline double diagonal_log_predictive_weighted(const likelihood *f, double *statistics, const double *x,
                                                      double w)
{
    const int64_t D = f->D;
    const double *const centre = diagonal_centre(statistics, D);
    const double half = 0.5, n = statistics[0];
    double product = 1, logs = 0, squares = 0;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA) {
        const double c = f->c0 + n, a = f->a0 + half * n;
        const double tail = f->resolution ? diagonal_log_growth(f, statistics, x, w)
                                          : diagonal_log_tail(f, statistics, x, w * (c + 1) / (c + w));
        const double log_constant = log_rising(a, half * w) + half * (log(c / (c + w)) - w * LOG_2PI);

        return (double)D * log_constant - half * w * diagonal_constants(statistics, D)[2] -
               (a + half * w) * tail;
    }
    if (f->kind == MAPDPM_SQUARED_DISTANCE) {
        for (d = 0; d < D; d++)
            squares += (x[d] - centre[d]) * (x[d] - centre[d]);
        return -squares * n * w / (n + w);
    }
    for (d = 0; d < D; d++) {

        const double shrink = (f->noise_scale[d] + n * f->prior_variance[d]) /
                              (f->noise_scale[d] + (n + w) * f->prior_variance[d]);
        const double t = x[d] - centre[d];

        squares += w * shrink * t * t / f->noise_scale[d];
        logs -= w * log(f->noise_scale[d]);
        product *= shrink;
        if (product < PRODUCT_TINY) {
            logs += log(product);
            product = 1;
        }
    }
    return half * (logs + log(product) - squares - w * (double)D * LOG_2PI) - w * known_cost_of_cells(f);
}

/* L(statistics): the log density of the cluster's points, with the parameters integrated out. */
static inline double diagonal_log_marginal(const likelihood *f, const double *statistics)
{
    const int64_t D = f->D;
    const double half = 0.5, n = statistics[0];
    double total;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA) {
        total = (double)D * (log_rising(f->a0, half * n) - half * (log((f->c0 + n) / f->c0) + n * LOG_2PI));
        for (d = 0; d < D; d++) {
            const double grown = b_growth(f, statistics, d);

            total -= f->a0 * log1p(grown / f->noise_scale[d]) + half * n * log(f->noise_scale[d] + grown);
        }
        return total;
    }
    if (f->kind == MAPDPM_SQUARED_DISTANCE) {
        for (d = 0, total = 0; d < D; d++)
            total -= diagonal_squares(statistics, D)[d];
        return total;
    }
    total = -n * (double)D * LOG_2PI;
    for (d = 0; d < D; d++) {
        const double spread = f->noise_scale[d] + n * f->prior_variance[d],
                     delta = diagonal_mean(statistics)[d] - f->m0[d];

        total -= (n - 1) * log(f->noise_scale[d]) + log(spread);
        total -= diagonal_squares(statistics, D)[d] / f->noise_scale[d] + n * delta * delta / spread;
    }
    return half * total;
}

static inline double diagonal_log_merge_normal_gamma(const likelihood *f, const double *both,
                                                     const double *statistics, const double *other)
{
    const double half = 0.5, a0 = f->a0, a = a0 + half * both[0];
    const double a1 = a0 + half * statistics[0], a2 = a0 + half * other[0];
    double total = log_gamma_excess(a) + log_gamma_excess(a0) - log_gamma_excess(a1) - log_gamma_excess(a2) +
                            half * log((f->c0 + statistics[0]) / f->c0 * ((f->c0 + other[0]) / (f->c0 + both[0])));
    int64_t d;

    total *= (double)f->D;
    for (d = 0; d < f->D; d++) {
        const double b0 = f->noise_scale[d], v = (b0 + b_growth(f, both, d)) / a;

        total += a1 * log((b0 + b_growth(f, statistics, d)) / a1 / v) + a2 * log((b0 + b_growth(f, other, d)) / a2 / v);
        total -= a0 * log(b0 / a0 / v);
    }
    return total;
}

/* n (mean - m0)^2 / (variance + n prior variance). */
static inline double mean_penalty(const likelihood *f, const double *statistics, int64_t d)
{
    const double delta = diagonal_mean(statistics)[d] - f->m0[d];

    return statistics[0] * delta * delta / (f->noise_scale[d] + statistics[0] * f->prior_variance[d]);
}

/* L(both) - L(statistics) - L(other), where `both` is the union, without the large terms that cancel. */
static inline double diagonal_log_merge(const likelihood *f, const double *both, const double *statistics,
                                        const double *other)
{
    const double weight = statistics[0] * other[0] / both[0];
    double total = 0;
    int64_t d;

    if (f->kind == MAPDPM_NORMAL_GAMMA)
        return diagonal_log_merge_normal_gamma(f, both, statistics, other);
    for (d = 0; d < f->D; d++) {
        const double t = diagonal_mean(statistics)[d] - diagonal_mean(other)[d];

        if (f->kind == MAPDPM_SQUARED_DISTANCE) {
            total -= t * t;
        } else {
            const double variance = f->noise_scale[d], prior_variance = f->prior_variance[d];

            total += log((variance + statistics[0] * prior_variance) / variance);
            total += log((variance + other[0] * prior_variance) / (variance + both[0] * prior_variance));
            total += mean_penalty(f, statistics, d) + mean_penalty(f, other, d) - mean_penalty(f, both, d) -
                     weight * t * t / variance;
        }
    }
    return total * (f->kind == MAPDPM_SQUARED_DISTANCE ? weight : 0.5);
}

#endif
