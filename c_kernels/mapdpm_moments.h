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

/* Moments at some time: weights and squares are to be multiplied by `decay`. With groups: the cells, to be multiplied
 * too; tables of groups that are gone; and all tables of the cluster. Without them, a view stays small. */
typedef struct {
    const real *moments;
    real decay;
#ifdef MAPDPM_GROUPS
    const real *cells;
    real past;
    real tables;
#endif
} view;

/* Moments of no point. Any slot will do, for its weight does not count. */
static inline view empty_view(const mapdpm_stream *s)
{
    view v;

    memset(&v, 0, sizeof v);
    v.moments = slot_of(s, 0);
    return v;
}

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

static inline int is_used(const mapdpm_stream *s, uint32_t k) { return *slot_of(s, k) > 0; }

/* The factor that the weight of a cluster has decayed by since it last learned, and minus its logarithm. */
static inline real elapsed(const mapdpm_stream *s, uint32_t k, int64_t now)
{
    return FORGETS(s) ? to_real((uint64_t)(now - last_times_of(s)[k])) * s->rate : 0;
}
static inline real decay_of(const mapdpm_stream *s, uint32_t k, int64_t now)
{
    return FORGETS(s) ? math_exp(-elapsed(s, k, now)) : 1;
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

/* log p(x | moments), or if at_peak its highest value where x has values. If x is NULL: its constant, exponent, centres
 * and scales, into column k of the score table. */
static inline real normal_gamma_density(const mapdpm_stream *s, view v, const real *x, size_t k, int at_peak)
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
        } else if (!at_peak) {
            const real t = coordinate(s, x, d) - shrink * mean[d];

            multiply_one_plus(&excess, &tail, t * t * scale);
        }
    }
    if (x == NULL && n > 0 && !IS_GROUPED(s) && !IS_TIMED(s)) { /* log n, by the same logarithm */
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

static inline real known_variance_density(const mapdpm_stream *s, view v, const real *x, size_t k, int at_peak)
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
        } else if (!at_peak) {
            const real t = coordinate(s, x, d) - centre;

            sum += t * t * (HALF / wide);
        }
    }
    logs = -HALF * (features * MATH_LOG_2PI + logs + math_log(product));
    if (x == NULL) {
        const real n = v.decay * *v.moments;

        constants_of(s)[k] = n > 0 && !IS_GROUPED(s) && !IS_TIMED(s) ? logs + math_log(n) : logs;
        exponents_of(s)[k] = 1;
    }
    return logs - sum;
}

/* log p(x | moments), from the moments. */
static inline real density(const mapdpm_stream *s, view v, const real *x)
{
    return IS_GAMMA(s) ? normal_gamma_density(s, v, x, 0, 0) : known_variance_density(s, v, x, 0, 0);
}

/* The highest log density of a point with the same missing values as x. */
static inline real peak(const mapdpm_stream *s, view v, const real *x)
{
    return IS_GAMMA(s) ? normal_gamma_density(s, v, x, 0, 1) : known_variance_density(s, v, x, 0, 1);
}

/* Fill column k of the score table. Then each density, times the weight if there is one, costs a product for each
 * feature and one logarithm. */
static inline void prepare(const mapdpm_stream *s, view v, size_t k)
{
    if (IS_GAMMA(s))
        (void)normal_gamma_density(s, v, NULL, k, 0);
    else
        (void)known_variance_density(s, v, NULL, k, 0);
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

#endif
