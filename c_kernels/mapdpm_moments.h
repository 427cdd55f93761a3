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

#define MD_HALF ((md_real)0.5)
/* A product becomes a logarithm outside these bounds. A point farther than COORDINATE_LIMIT is refused, so that no
 * product overflows before. */
#define PRODUCT_TINY FLOAT_OR_DOUBLE(1e-9, 1e-100)
#define PRODUCT_HUGE FLOAT_OR_DOUBLE(1e18, 1e100)
#define COORDINATE_LIMIT FLOAT_OR_DOUBLE(1e9, 1e75)

/* Moments at some time: weights and squares are to be multiplied by `decay`. With groups: the cells, to be multiplied
 * too; tables of groups that are gone; and all tables of the cluster. Without them, a view stays small. */
typedef struct {
    const md_real *moments;
    md_real decay;
#ifdef MAPDPM_GROUPS
    const md_real *cells;
    md_real past;
    md_real tables;
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

static inline int is_present(md_real x) { return x == x; }
static inline md_real coordinate(const mapdpm_stream *s, const md_real *x, size_t d)
{
    return (x[d] - anchor_of(s)[d]) * unit_of(s)[d];
}

/* Conversions between a whole number, 0 <= x < 2^62, and a real. On a chip without such instructions compilers would
 * use arithmetic on double, or large functions. */
static inline uint64_t to_uint64(md_real x)
{
    const uint32_t high = (uint32_t)(x / 4294967296);

    return (uint64_t)high << 32 | (uint32_t)(x - (md_real)high * 4294967296);
}

static inline md_real to_real(uint64_t n) { return (md_real)(uint32_t)(n >> 32) * 4294967296 + (md_real)(uint32_t)n; }

static inline int is_used(const mapdpm_stream *s, uint32_t k) { return *slot_of(s, k) > 0; }

/* The factor that the weight of a cluster has decayed by since it last learned, and minus its logarithm. */
static inline md_real elapsed(const mapdpm_stream *s, uint32_t k, int64_t now)
{
    return FORGETS(s) ? to_real((uint64_t)(now - last_times_of(s)[k])) * s->rate : 0;
}
static inline md_real decay_of(const mapdpm_stream *s, uint32_t k, int64_t now)
{
    return FORGETS(s) ? math_exp(-elapsed(s, k, now)) : 1;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* *sum += x, by Knuth's two-sum. The rounding error is added to the real `low` places behind; with low = 0 it is
 * lost. */
static inline void add_compensated(md_real *sum, size_t low, md_real x)
{
    if (COMPENSATED && low) {
        const md_real old = *sum, all = old + x, rest = all - old;
        const md_real lost = sum[low] + ((old - (all - rest)) + (x - rest));

        *sum = all + lost;
        sum[low] = lost - (*sum - all);
    } else {
        *sum += x;
    }
}

static inline md_real low_part(const md_real *sum, size_t low) { return COMPENSATED && low ? sum[low] : 0; }

/* Add a point of weight w; w < 0 removes one, but never the last. */
static inline void moments_add(const mapdpm_stream *s, md_real *moments, size_t low, const md_real *x, md_real w)
{
    md_real *const mean = mean_in(s, moments), *const squares = squares_in(s, moments),
                   *const counts = counts_in(s, moments);
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s);
    md_real share;
    size_t d;

    add_compensated(moments, low, w);
    share = w / *moments;
    for (d = 0; d < MD_FEATURES(s); d++) {
        md_real delta, t;

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
static inline void moments_merge(const mapdpm_stream *s, md_real *to, const md_real *from, size_t low)
{
    md_real *const mean = mean_in(s, to), *const squares = squares_in(s, to), *const counts = counts_in(s, to);
    const md_real *const mean2 = mean_in(s, from), *const squares2 = squares_in(s, from),
                         *const counts2 = counts_in(s, from);
    md_real n = *to, m = *from;
    size_t d;

    add_compensated(to, low, m);
    add_compensated(to, low, low_part(from, low));
    for (d = 0; d < MD_FEATURES(s); d++) {
        md_real delta, all = n + m;

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
static inline void moments_scale(const mapdpm_stream *s, md_real *moments, size_t low, md_real g)
{
    const size_t n = half_size(s), mean = (size_t)(mean_in(s, moments) - moments), D = MD_FEATURES(s);
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
static inline void multiply_into(md_real *product, md_real *logs, md_real factor)
{
    *product *= factor;
    if (*product > PRODUCT_HUGE || *product < PRODUCT_TINY) {
        *logs += math_log(*product);
        *product = 1;
    }
}

/* 1 + *excess is multiplied by 1 + u, u >= 0. A large cluster multiplies the logarithm by half its size, so the excess
 * over 1 must keep its digits. */
static inline void multiply_one_plus(md_real *excess, md_real *logs, md_real u)
{
    *excess += u + *excess * u;
    if (*excess > PRODUCT_HUGE) {
        *logs += math_log1p(*excess);
        *excess = 0;
    }
}

/* The Normal-Gamma posterior of n points: a_n, c_n, and the parts of Gamma(a_n + 1/2) / Gamma(a_n). */
typedef struct {
    md_real a;
    md_real c;
    md_real series;
    md_real square;
} posterior;

static inline posterior posterior_of(const mapdpm_stream *s, md_real n)
{
    posterior p;

    p.a = s->a0 + MD_HALF * n;
    p.c = s->c0 + n;
    p.series = math_half_rising(p.a, &p.square);
    return p;
}

/* c0 n / (c0 + n): the weight of the shrinkage to the prior mean. */
static inline md_real shrinkage_of(const mapdpm_stream *s, md_real n) { return s->c0 * (n / (s->c0 + n)); }

/* The posterior scale b_n of a feature. */
static inline md_real posterior_b(md_real noise_scale, md_real shrinkage, md_real mean, md_real squares)
{
    return noise_scale + MD_HALF * (squares + shrinkage * mean * mean);
}

/* log p(x | moments), or if at_peak its highest value where x has values. If x is NULL: its constant, exponent, centres
 * and scales, into column k of the score table. */
static inline md_real normal_gamma_density(const mapdpm_stream *s, view v, const md_real *x, size_t k, int at_peak)
{
    const size_t D = MD_FEATURES(s), step = count_step(s);
    const md_real *const counts = step ? counts_in(s, v.moments) : v.moments;
    const md_real *const mean = mean_in(s, v.moments), *const squares = squares_in(s, v.moments);
    const md_real *const noise_scale = noise_scale_of(s);
    md_real total = 0, logs = 0, product = 1, excess = 0, tail = 0, n = -1, stretch = 0, shrink = 0, square = 0,
            shrinkage = 0;
    posterior p = {0, 0, 0, 0};
    size_t d;

    for (d = 0; d < D; d++) {
        const md_real now = v.decay * counts[d * step];
        md_real scale;

        if (step && x && !is_present(x[d]))
            continue;
        if (now != n) {
            total -= (p.a + MD_HALF) * (tail + math_log1p(excess));
            tail = excess = 0;
            n = now;
            p = posterior_of(s, n);
            stretch = MD_HALF * p.c / (p.c + 1);
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
            const md_real t = coordinate(s, x, d) - shrink * mean[d];

            multiply_one_plus(&excess, &tail, t * t * scale);
        }
    }
    if (x == NULL && n > 0 && !IS_GROUPED(s) && !IS_TIMED(s)) { /* log n, by the same logarithm */
        multiply_into(&product, &logs, n);
        multiply_into(&product, &logs, n);
    }
    total += MD_HALF * (logs + math_log(product));
    if (x == NULL) {
        constants_of(s)[k] = total;
        exponents_of(s)[k] = p.a + MD_HALF;
        return total;
    }
    return total - (p.a + MD_HALF) * (tail + math_log1p(excess));
}

static inline md_real known_variance_density(const mapdpm_stream *s, view v, const md_real *x, size_t k, int at_peak)
{
    const size_t D = MD_FEATURES(s), step = count_step(s);
    const md_real *const counts = step ? counts_in(s, v.moments) : v.moments;
    const md_real *const mean = mean_in(s, v.moments), *const variance = noise_scale_of(s),
                         *const prior_variance = prior_variance_of(s);
    md_real logs = 0, product = 1, sum = 0, features = 0;
    size_t d;

    for (d = 0; d < D; d++) {
        md_real n, spread, wide, centre;

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
            scales_of(s, d)[k] = MD_HALF / wide;
        } else if (!at_peak) {
            const md_real t = coordinate(s, x, d) - centre;

            sum += t * t * (MD_HALF / wide);
        }
    }
    logs = -MD_HALF * (features * MATH_LOG_2PI + logs + math_log(product));
    if (x == NULL) {
        const md_real n = v.decay * *v.moments;

        constants_of(s)[k] = n > 0 && !IS_GROUPED(s) && !IS_TIMED(s) ? logs + math_log(n) : logs;
        exponents_of(s)[k] = 1;
    }
    return logs - sum;
}

/* log p(x | moments), from the moments. */
static inline md_real density(const mapdpm_stream *s, view v, const md_real *x)
{
    return IS_GAMMA(s) ? normal_gamma_density(s, v, x, 0, 0) : known_variance_density(s, v, x, 0, 0);
}

/* The highest log density of a point with the same missing values as x. */
static inline md_real peak(const mapdpm_stream *s, view v, const md_real *x)
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
enum { MD_BLOCK = 1 };
#else
enum { MD_BLOCK = 8 };
#endif

/* log p(x | column k of the score table), safe from overflow. */
static inline md_real table_density(const mapdpm_stream *s, const md_real *x, size_t k)
{
    md_real excess = 0, logs = 0;
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real t = coordinate(s, x, d) - centres_of(s, d)[k];

        if (IS_GAMMA(s))
            multiply_one_plus(&excess, &logs, t * t * scales_of(s, d)[k]);
        else
            logs += t * t * scales_of(s, d)[k];
    }
    return constants_of(s)[k] - exponents_of(s)[k] * (logs + math_log1p(excess));
}

/* The same, from its tail. */
static inline md_real density_of_tail(const mapdpm_stream *s, const md_real *x, size_t k, md_real tail)
{
    if (!IS_GAMMA(s))
        return constants_of(s)[k] - tail;
    if (!(tail <= PRODUCT_HUGE))
        return table_density(s, x, k);
    return constants_of(s)[k] - exponents_of(s)[k] * math_log1p(tail);
}

#endif
