/* The arithmetic of a stream's clusters, for both families: the twin of mapdpm_cluster_statistics.h. It needs no libm,
 * forgets, and takes missing values; the prior mean is 0 in its coordinates (docs/maths.md, section 10). Internal;
 * static inlines.
 *
 * Features with the same number of points share their logarithms. A product runs until that number changes, which never
 * happens without missing values.
 */
#ifndef MAPDPM_MOMENTS_H
#define MAPDPM_MOMENTS_H

#include "mapdpm_layout.h"
#include "mapdpm_math.h"

#define HALF ((real)0.5)
/* A product becomes a logarithm outside these bounds. A point farther than COORDINATE_LIMIT is refused, so that no
 * product overflows before. */
#define PRODUCT_TINY FLOAT_OR_DOUBLE(1e-9, 1e-100)
#define PRODUCT_HUGE FLOAT_OR_DOUBLE(1e18, 1e100)
#define COORDINATE_LIMIT FLOAT_OR_DOUBLE(1e9, 1e75)

#define PRIOR_NATS 12

/* Moments at some time: weights and squares are to be multiplied by `decay`. */
typedef struct {
    const real *moments;
    real decay;
} view;

static inline int is_present(real x) { return x == x; }
static inline real coordinate(const mapdpm_stream *s, const real *x, size_t d)
{
    return (x[d] - anchor_of(s)[d]) * unit_of(s)[d];
}

/* Conversions between a whole number, 0 <= x < 2^62, and a real. On a chip without such instructions compilers would
 * use arithmetic on double, or large functions. */
static inline uint64_t to_uint64(real x)
{
    const uint32_t high = (uint32_t)(x / 4294967296);

    return (uint64_t)high << 32 | (uint32_t)(x - (real)high * 4294967296);
}

static inline real to_real(uint64_t n)
{
    return (real)(uint32_t)(n >> 32) * 4294967296 + (real)(uint32_t)n;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* *sum += x, by Knuth's two-sum. The rounding error is added to the real `low` places behind; with low = 0 it is
 * lost. */
static inline void add_compensated(real *sum, size_t low, real x)
{
    if (COMPENSATED && low) {
        const real old = *sum, all = old + x, rest = all - old;
        const real lost = sum[low] + ((old - (all - rest)) + (x - rest));

        *sum = all + lost;
        sum[low] = lost - (*sum - all);
    } else {
        *sum += x;
    }
}

static inline real low_part(const real *sum, size_t low) { return COMPENSATED && low ? sum[low] : 0; }

/* Add a point of weight w; w < 0 removes one, but never the last. */
static inline void moments_add(const mapdpm_stream *s, real *moments, size_t low, const real *x, real w)
{
    real *const mean = mean_in(s, moments), *const squares = squares_in(s, moments),
                *const counts = counts_in(s, moments);
    const real *const anchor = anchor_of(s), *const unit = unit_of(s);
    real share;
    size_t d;

    add_compensated(moments, low, w);
    share = w / *moments;
    for (d = 0; d < FEATURES(s); d++) {
        real delta, t;

        if (HAS_MISSING(s)) {
            if (!is_present(x[d]))
                continue;
            add_compensated(counts + d, low, w);
            if (w < 0 && !(counts[d] > -w / 1024)) { /* the last value is gone: the rest is rounding */
                counts[d] = mean[d] = squares[d] = 0;
                if (COMPENSATED && low)
                    counts[low + d] = mean[low + d] = squares[low + d] = 0;
                continue;
            }
            share = w / counts[d];
        }
        t = (x[d] - anchor[d]) * unit[d];
        delta = (t - mean[d]) - low_part(mean + d, low);
        add_compensated(mean + d, low, delta * share);
        add_compensated(squares + d, low, w * delta * ((t - mean[d]) - low_part(mean + d, low)));
        if (!(squares[d] > 0)) { /* rounding: the mean may step past a value that it almost equals */
            squares[d] = 0;
            if (COMPENSATED && low)
                squares[low + d] = 0;
        }
    }
}

/* The union of two clusters (Chan): `from` is added to `to`. */
static inline void moments_merge(const mapdpm_stream *s, real *to, const real *from, size_t low)
{
    real *const mean = mean_in(s, to), *const squares = squares_in(s, to), *const counts = counts_in(s, to);
    const real *const mean2 = mean_in(s, from), *const squares2 = squares_in(s, from),
                      *const counts2 = counts_in(s, from);
    real n = *to, m = *from;
    size_t d;

    add_compensated(to, low, m);
    add_compensated(to, low, low_part(from, low));
    for (d = 0; d < FEATURES(s); d++) {
        real delta, all = n + m;

        if (HAS_MISSING(s)) {
            n = counts[d];
            m = counts2[d];
            all = n + m;
            if (!(m > 0))
                continue;
            add_compensated(counts + d, low, m);
            add_compensated(counts + d, low, low_part(counts2 + d, low));
        }
        delta = (mean2[d] - mean[d]) + (low_part(mean2 + d, low) - low_part(mean + d, low));
        add_compensated(mean + d, low, delta * (m / all));
        add_compensated(squares + d, low, squares2[d]);
        add_compensated(squares + d, low, low_part(squares2 + d, low));
        add_compensated(squares + d, low, delta * delta * (n * (m / all)));
    }
}

/* Multiply weights and squares by g: to forget, or to let a half stand for the whole. */
static inline void moments_scale(const mapdpm_stream *s, real *moments, size_t low, real g)
{
    const size_t n = half_size(s), mean = (size_t)(mean_in(s, moments) - moments), D = FEATURES(s);
    size_t i;

    for (i = 0; i < n; i++) {
        if (i >= mean && i < mean + D)
            continue;
        moments[i] *= g;
        if (COMPENSATED && low)
            moments[low + i] *= g;
    }
}

/* ---- densities --------------------------------------------------------------------------------------------------- */

/* *product *= factor. Its logarithm moves to *logs before it leaves the range of a real. */
static inline void multiply_into(real *product, real *logs, real factor)
{
    *product *= factor;
    if (*product > PRODUCT_HUGE || *product < PRODUCT_TINY) {
        *logs += math_log(*product);
        *product = 1;
    }
}

/* 1 + *excess is multiplied by 1 + u, u >= 0. A large cluster multiplies the logarithm by half its size, so the excess
 * over 1 must keep its digits. */
static inline void multiply_one_plus(real *excess, real *logs, real u)
{
    *excess += u + *excess * u;
    if (*excess > PRODUCT_HUGE) {
        *logs += math_log1p(*excess);
        *excess = 0;
    }
}

/* The Normal-Gamma posterior of n points: a_n, c_n, and the parts of Gamma(a_n + 1/2) / Gamma(a_n). */
typedef struct {
    real a;
    real c;
    real series;
    real square;
} posterior;

static inline posterior posterior_of(const mapdpm_stream *s, real n)
{
    posterior p;

    p.a = s->a0 + HALF * n;
    p.c = s->c0 + n;
    p.series = math_half_rising(p.a, &p.square);
    return p;
}

/* c0 n / (c0 + n): the weight of the shrinkage to the prior mean. */
static inline real shrinkage_of(const mapdpm_stream *s, real n) { return s->c0 * (n / (s->c0 + n)); }

/* The posterior scale b_n of a feature. */
static inline real posterior_b(real noise_scale, real shrinkage, real mean, real squares)
{
    return noise_scale + HALF * (squares + shrinkage * mean * mean);
}

/* log p(x | moments). If x is NULL: its constant, exponent, centres and scales, into column k of the score table. */
static inline real normal_gamma_density(const mapdpm_stream *s, view v, const real *x, size_t k)
{
    const size_t D = FEATURES(s), step = count_step(s);
    const real *const counts = step ? counts_in(s, v.moments) : v.moments;
    const real *const mean = mean_in(s, v.moments), *const squares = squares_in(s, v.moments);
    const real *const noise_scale = noise_scale_of(s);
    real total = 0, logs = 0, product = 1, excess = 0, tail = 0, n = -1, stretch = 0, shrink = 0, square = 0,
         shrinkage = 0;
    posterior p = {0, 0, 0, 0};
    size_t d;

    for (d = 0; d < D; d++) {
        const real now = v.decay * counts[d * step];
        real scale;

        if (step && x && !is_present(x[d]))
            continue;
        if (now != n) {
            total -= (p.a + HALF) * (tail + math_log1p(excess));
            tail = excess = 0;
            n = now;
            p = posterior_of(s, n);
            stretch = HALF * p.c / (p.c + 1);
            shrink = n / p.c;
            square = p.square / MATH_PI;
            shrinkage = shrinkage_of(s, n);
        }
        scale = stretch / posterior_b(noise_scale[d], shrinkage, mean[d], v.decay * squares[d]);
        total += p.series;
        multiply_into(&product, &logs, scale * square);
        if (x == NULL) {
            centres_of(s, d)[k] = shrink * mean[d];
            scales_of(s, d)[k] = scale;
        } else {
            const real t = coordinate(s, x, d) - shrink * mean[d];

            multiply_one_plus(&excess, &tail, t * t * scale);
        }
    }
    if (x == NULL && n > 0) { /* log n, by the same logarithm */
        multiply_into(&product, &logs, n);
        multiply_into(&product, &logs, n);
    }
    total += HALF * (logs + math_log(product));
    if (x == NULL) {
        constants_of(s)[k] = total;
        exponents_of(s)[k] = p.a + HALF;
        return total;
    }
    return total - (p.a + HALF) * (tail + math_log1p(excess));
}

static inline real known_variance_density(const mapdpm_stream *s, view v, const real *x, size_t k)
{
    const size_t D = FEATURES(s), step = count_step(s);
    const real *const counts = step ? counts_in(s, v.moments) : v.moments;
    const real *const mean = mean_in(s, v.moments), *const variance = noise_scale_of(s),
                      *const prior_variance = prior_variance_of(s);
    real logs = 0, product = 1, sum = 0, features = 0;
    size_t d;

    for (d = 0; d < D; d++) {
        real n, spread, wide, centre;

        if (step && x && !is_present(x[d]))
            continue;
        n = v.decay * counts[d * step];
        spread = variance[d] + n * prior_variance[d];
        wide = variance[d] * (1 + prior_variance[d] / spread);
        centre = n * prior_variance[d] / spread * mean[d];
        features += 1;
        multiply_into(&product, &logs, wide);
        if (x == NULL) {
            centres_of(s, d)[k] = centre;
            scales_of(s, d)[k] = HALF / wide;
        } else {
            const real t = coordinate(s, x, d) - centre;

            sum += t * t * (HALF / wide);
        }
    }
    logs = -HALF * (features * MATH_LOG_2PI + logs + math_log(product));
    if (x == NULL) {
        const real n = v.decay * *v.moments;

        constants_of(s)[k] = n > 0 ? logs + math_log(n) : logs;
        exponents_of(s)[k] = 1;
    }
    return logs - sum;
}

/* log p(x | moments), from the moments. */
static inline real density(const mapdpm_stream *s, view v, const real *x)
{
    return IS_GAMMA(s) ? normal_gamma_density(s, v, x, 0) : known_variance_density(s, v, x, 0);
}

/* Fill column k of the score table. Then each density, times the weight if there is one, costs a product for each
 * feature and one logarithm. */
static inline void prepare(const mapdpm_stream *s, view v, size_t k)
{
    if (IS_GAMMA(s))
        (void)normal_gamma_density(s, v, NULL, k);
    else
        (void)known_variance_density(s, v, NULL, k);
}

/* Clusters that are compared at once: as many as vectors hold, or one if the code must be small. */
#ifdef __OPTIMIZE_SIZE__
enum { BLOCK = 1 };
#else
enum { BLOCK = 8 };
#endif

/* log p(x | column k of the score table), safe from overflow. */
static inline real table_density(const mapdpm_stream *s, const real *x, size_t k)
{
    real excess = 0, logs = 0;
    size_t d;

    for (d = 0; d < FEATURES(s); d++) {
        const real t = coordinate(s, x, d) - centres_of(s, d)[k];

        if (IS_GAMMA(s))
            multiply_one_plus(&excess, &logs, t * t * scales_of(s, d)[k]);
        else
            logs += t * t * scales_of(s, d)[k];
    }
    return constants_of(s)[k] - exponents_of(s)[k] * (logs + math_log1p(excess));
}

/* The same, from its tail. */
static inline real density_of_tail(const mapdpm_stream *s, const real *x, size_t k, real tail)
{
    if (!IS_GAMMA(s))
        return constants_of(s)[k] - tail;
    if (!(tail <= PRODUCT_HUGE))
        return table_density(s, x, k);
    return constants_of(s)[k] - exponents_of(s)[k] * math_log1p(tail);
}

/* ---- merging: L(a + b) - L(a) - L(b), without the large terms that cancel ---------------------------------------- */

/* The Normal-Gamma terms of one feature that depend on the numbers of points only. */
static inline real merge_count_term(const mapdpm_stream *s, real n1, real n2)
{
    const real a0 = s->a0, c0 = s->c0;
    real r1, r2, r, ratio;
    const real tails = math_excess(a0 + HALF * (n1 + n2), &r) + s->excess - math_excess(a0 + HALF * n1, &r1) -
                       math_excess(a0 + HALF * n2, &r2);

    ratio = ((c0 + n1) * r1) / ((c0 + n1 + n2) * r) * (((c0 + n2) * r2) / (c0 * s->root));
    return tails + HALF * math_log(ratio);
}

static inline real normal_gamma_merge(const mapdpm_stream *s, view v1, view v2)
{
    const size_t D = FEATURES(s), step = count_step(s);
    const real *const counts1 = step ? counts_in(s, v1.moments) : v1.moments;
    const real *const counts2 = step ? counts_in(s, v2.moments) : v2.moments;
    const real *const mean1 = mean_in(s, v1.moments), *const mean2 = mean_in(s, v2.moments);
    const real *const squares1 = squares_in(s, v1.moments), *const squares2 = squares_in(s, v2.moments);
    const real *const noise_scale = noise_scale_of(s);
    real total = 0, n1 = -1, n2 = -1, a1 = 0, a2 = 0, a = 0, by_number = 0, ratio1 = 0, ratio2 = 0, ratio0 = 0;
    real shrinkage1 = 0, shrinkage2 = 0, shrinkage = 0, share = 0, between = 0;
    real product1 = 1, product2 = 1, product0 = 1, logs1 = 0, logs2 = 0, logs0 = 0;
    size_t d;

    for (d = 0; d <= D; d++) {
        const real next1 = d < D ? v1.decay * counts1[d * step] : -1, next2 = d < D ? v2.decay * counts2[d * step] : -1;
        real delta, inverse, b1, b2;

        if (d == D || next1 != n1 || next2 != n2) {
            if (d > 0)
                total += a1 * (logs1 + math_log(product1)) + a2 * (logs2 + math_log(product2)) -
                         s->a0 * (logs0 + math_log(product0));
            if (d == D)
                break;
            product1 = product2 = product0 = 1;
            logs1 = logs2 = logs0 = 0;
            n1 = next1;
            n2 = next2;
            a1 = s->a0 + HALF * n1;
            a2 = s->a0 + HALF * n2;
            a = s->a0 + HALF * (n1 + n2);
            by_number = merge_count_term(s, n1, n2);
            ratio1 = a / a1;
            ratio2 = a / a2;
            ratio0 = a / s->a0;
            shrinkage1 = shrinkage_of(s, n1);
            shrinkage2 = shrinkage_of(s, n2);
            shrinkage = shrinkage_of(s, n1 + n2);
            share = n1 + n2 > 0 ? n2 / (n1 + n2) : 0;
            between = n1 * share;
        }
        total += by_number;
        delta = mean2[d] - mean1[d];
        b1 = posterior_b(noise_scale[d], shrinkage1, mean1[d], v1.decay * squares1[d]);
        b2 = posterior_b(noise_scale[d], shrinkage2, mean2[d], v2.decay * squares2[d]);
        inverse = 1 / posterior_b(noise_scale[d], shrinkage, mean1[d] + delta * share,
                                  v1.decay * squares1[d] + v2.decay * squares2[d] + delta * delta * between);
        multiply_into(&product1, &logs1, b1 * inverse * ratio1);
        multiply_into(&product2, &logs2, b2 * inverse * ratio2);
        multiply_into(&product0, &logs0, noise_scale[d] * inverse * ratio0);
    }
    return total;
}

/* n mean^2 / (variance + n prior_variance), in the unit of the mean. */
static inline real mean_penalty(real n, real mean, real variance, real prior_variance)
{
    return n * mean * mean / (variance + n * prior_variance);
}

static inline real known_variance_merge(const mapdpm_stream *s, view v1, view v2)
{
    const size_t D = FEATURES(s), step = count_step(s);
    const real *const counts1 = step ? counts_in(s, v1.moments) : v1.moments;
    const real *const counts2 = step ? counts_in(s, v2.moments) : v2.moments;
    const real *const mean1 = mean_in(s, v1.moments), *const mean2 = mean_in(s, v2.moments);
    real total = 0, product = 1, logs = 0;
    size_t d;

    for (d = 0; d < D; d++) {
        const real n1 = v1.decay * counts1[d * step], n2 = v2.decay * counts2[d * step], n = n1 + n2;
        const real variance = noise_scale_of(s)[d], prior_variance = prior_variance_of(s)[d],
                   delta = mean2[d] - mean1[d];
        const real share = n > 0 ? n2 / n : 0;

        multiply_into(&product, &logs, (variance + n1 * prior_variance) / variance);
        multiply_into(&product, &logs, (variance + n2 * prior_variance) / (variance + n * prior_variance));
        total += mean_penalty(n1, mean1[d], variance, prior_variance) +
                 mean_penalty(n2, mean2[d], variance, prior_variance) -
                 mean_penalty(n, mean1[d] + delta * share, variance, prior_variance) -
                 n1 * share * delta * delta / variance;
    }
    return HALF * (total + logs + math_log(product));
}

/* log Gamma(n1 + n2) - log Gamma(n1) - log Gamma(n2), each of max(n, 1). */
static inline real merge_size_term(real n1, real n2)
{
    const real x1 = n1 > 1 ? n1 : 1, x2 = n2 > 1 ? n2 : 1, x = n1 + n2 > 1 ? n1 + n2 : 1, over = x - x1 - x2;
    real r, r1, r2;
    const real tails = math_excess(x, &r) - math_excess(x1, &r1) - math_excess(x2, &r2);

    return tails + x1 * math_log(x / x1) + x2 * math_log(x / x2) + over * (math_log(x) - 1) +
           HALF * (math_log(r1 / r * r2) - MATH_LOG_2PI);
}

/* Whether two clusters are so far apart that their merge certainly lowers the log joint. With y = sum_d n1 n2 / n^2
 * delta^2 / variance within, the merge loses at least n/2 log(1 + y) nats. It gains n H(n1 / n) from one label less,
 * and for each feature one prior less, at most PRIOR_NATS. The bounds of the logarithms cost no more than a product. */
static inline int merge_surely_loses(const mapdpm_stream *s, view v1, view v2)
{
    const size_t D = FEATURES(s);
    const real *const mean1 = mean_in(s, v1.moments), *const mean2 = mean_in(s, v2.moments);
    const real *const squares1 = squares_in(s, v1.moments), *const squares2 = squares_in(s, v2.moments);
    const real *const noise_scale = noise_scale_of(s);
    const real n1 = v1.decay * *v1.moments, n2 = v2.decay * *v2.moments, n = n1 + n2;
    const real share = (n1 < n2 ? n1 : n2) / n;
    real sum = 0;
    size_t d;

    if (HAS_MISSING(s) || !IS_GAMMA(s) || !(share > 0))
        return 0;
    for (d = 0; d < D; d++) {
        const real delta = mean2[d] - mean1[d];

        sum += delta * delta / (2 * noise_scale[d] + v1.decay * squares1[d] + v2.decay * squares2[d]);
    }
    sum *= n * share * (1 - share);
    return HALF * math_log_below(1 + sum) > share * (1 - math_log_below(share)) + PRIOR_NATS * (real)(D + 1) / n;
}

/* The gain of the log joint when two clusters merge. */
static inline real merge_gain(const mapdpm_stream *s, view v1, view v2)
{
    const real data = IS_GAMMA(s) ? normal_gamma_merge(s, v1, v2) : known_variance_merge(s, v1, v2);

    return data + merge_size_term(v1.decay * *v1.moments, v2.decay * *v2.moments) - s->log_alpha;
}

/* ---- forgetting -------------------------------------------------------------------------------------------------- */

/* The prior's term in the log p of each cluster: a0 sum_d log(b0 / a0). */
static inline real log_prior(const mapdpm_stream *s)
{
    real logs = 0, product = 1;
    size_t d;

    for (d = 0; d < FEATURES(s) && IS_GAMMA(s); d++)
        multiply_into(&product, &logs, noise_scale_of(s)[d] / s->a0);
    return s->a0 * (logs + math_log(product));
}

/* A cluster's term of the log joint: log Gamma(max(n, 1)) + log p of all its points, given log_prior. *alone is the log
 * p of a point as a cluster of its own, at the root mean square distance of the points from the prior mean. */
static inline real log_joint_term(const mapdpm_stream *s, view v, real prior_term, real *alone)
{
    const size_t D = FEATURES(s), step = count_step(s);
    const real *const counts = step ? counts_in(s, v.moments) : v.moments;
    const real *const mean = mean_in(s, v.moments), *const squares = squares_in(s, v.moments);
    const real *const noise_scale = noise_scale_of(s);
    const real weight = v.decay * *v.moments, size = weight > 1 ? weight : 1;
    real total, root, logs = 0, product, tail = 0, excess = 0;
    real last = -1, a = 1, by_number = 0, factor = 1, shrinkage = 0, spreads = 1, spread_logs = 0;
    size_t d;

    *alone = s->opening - s->log_alpha;
    total = math_excess(size, &root) + size * (math_log(size) - 1) + HALF * MATH_LOG_2PI;
    product = 1 / root;
    for (d = 0; d < D; d++) {
        const real n = v.decay * counts[d * step], M2 = v.decay * squares[d];
        const real away = (n > 0 ? M2 / n : 0) + mean[d] * mean[d];

        if (IS_GAMMA(s)) {
            if (n != last) {
                total -= a * (spread_logs + math_log(spreads));
                spreads = 1;
                spread_logs = 0;
                last = n;
                a = s->a0 + HALF * n;
                by_number = math_excess(a, &root) - s->excess - HALF * n * (1 + MATH_LOG_2PI);
                factor = s->c0 / (s->c0 + n) * (s->root / root);
                shrinkage = shrinkage_of(s, n);
            }
            total += by_number;
            multiply_into(&product, &logs, factor);
            multiply_into(&spreads, &spread_logs, posterior_b(noise_scale[d], shrinkage, mean[d], M2) / a);
            multiply_one_plus(&excess, &tail, away * prior_scale(s)[d]);
        } else {
            const real grown = noise_scale[d] + n * prior_variance_of(s)[d];

            total -= HALF * (n * MATH_LOG_2PI + (n - 1) * math_log(noise_scale[d]) + math_log(grown) +
                             M2 / noise_scale[d] + n * mean[d] * mean[d] / grown);
            tail += away * prior_scale(s)[d];
        }
    }
    if (IS_GAMMA(s)) {
        total += prior_term - a * (spread_logs + math_log(spreads));
        *alone -= (s->a0 + HALF) * (tail + math_log1p(excess));
    } else {
        *alone -= tail;
    }
    return total + HALF * (logs + math_log(product));
}

/* The loss of the log joint if each point of the cluster were alone. It shrinks with the time since the cluster was
 * last seen (docs/maths.md (27)). */
static inline real eviction_loss(const mapdpm_stream *s, view v, real prior_term, real idle, real total_weight)
{
    const real n = v.decay * *v.moments, size = n > 1 ? n : 1;
    real alone, loss = log_joint_term(s, v, prior_term, &alone);

    loss += (1 - size) * s->log_alpha - n * alone; /* n, not size: the unit of the data must not matter */
    return loss * math_exp(-idle * n / (3 * total_weight));
}

#endif
