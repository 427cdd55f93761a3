/* The densities of a stream's clusters, for both families: the twin of mapdpm_cluster_statistics.h. It needs no libm
 * (docs/maths.md, section 10). tests/stream/test_online_oracle.py ties the two to one oracle. Internal; static inlines.
 *
 * Features with the same number of points share their logarithms. A product runs until that number changes, which never
 * happens without missing values.
 */
#ifndef MAPDPM_DENSITIES_H
#define MAPDPM_DENSITIES_H

#include "learner/mapdpm_moments.h"

/* A product becomes a logarithm outside these bounds. Within COORDINATE_LIMIT, no product overflows before. */
#define PRODUCT_TINY FLOAT_OR_DOUBLE(1e-9, 1e-100)
#define PRODUCT_HUGE FLOAT_OR_DOUBLE(1e18, 1e100)

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
    const uint32_t *const marks = marks_of(s);
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

        if (is_marked(marks, d)) {
            if (x == NULL)
                centres_of(s, d)[k] = scales_of(s, d)[k] = 0;
            continue;
        }
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

/* The nats by which feature d alone lowers the log density of x below its peak. */
static inline md_real nats_below_peak(const mapdpm_stream *s, view v, const md_real *x, size_t d)
{
    const md_real n = v.decay * *(count_step(s) ? counts_in(s, v.moments) + d : v.moments);
    const md_real mean = mean_in(s, v.moments)[d], squares = v.decay * squares_in(s, v.moments)[d];
    md_real centre, wide;

    if (IS_GAMMA(s)) {
        const posterior p = posterior_of(s, n);

        centre = n / p.c * mean;
        wide = 2 * (p.c + 1) / p.c * posterior_b(noise_scale_of(s)[d], shrinkage_of(s, n), mean, squares);
    } else {
        const md_real rest = prior_variance_of(s)[d] / (noise_scale_of(s)[d] + n * prior_variance_of(s)[d]);

        centre = n * rest * mean;
        wide = 2 * noise_scale_of(s)[d] * (1 + rest);
    }
    centre = coordinate(s, x, d) - centre;
    if (!IS_GAMMA(s))
        return centre * (centre / wide);
    return (s->a0 + MD_HALF * n + MD_HALF) * math_log1p(centre * (centre / wide));
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
    const uint32_t *const marks = marks_of(s);
    md_real excess = 0, logs = 0;
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real t = coordinate(s, x, d) - centres_of(s, d)[k];

        if (is_marked(marks, d))
            continue;
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
