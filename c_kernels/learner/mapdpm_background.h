/* Features that carry no clusters: all points are one normal cluster there, under a prior that says nothing (docs/maths.md,
 * section 39). Its moments are kept for every feature, so that one may begin to carry clusters, and the reverse. Internal;
 * static inlines.
 */
#ifndef MAPDPM_BACKGROUND_H
#define MAPDPM_BACKGROUND_H

#include "learner/mapdpm_joint.h"

/* A feature with fewer values is taken to carry clusters: nothing is known of it. */
#define LEAST_KNOWN ((md_real)8)
/* The least variance of all points in a feature, as a share of the variance within clusters. */
#define LEAST_BACKGROUND ((md_real)1e-4)

static inline md_real background_count(const mapdpm_stream *s, size_t d)
{
    return counts_in(s, background_of(s))[d * count_step(s)];
}

static inline md_real background_squares(const mapdpm_stream *s, size_t d)
{
    return at_least(squares_in(s, background_of(s))[d],
                    LEAST_BACKGROUND * (noise_scale_of(s)[d] / s->a0) * background_count(s, d));
}

/* The squared distance of a value from the mean of all points, times the scale of its density; and that scale. */
static inline md_real background_distance(const mapdpm_stream *s, const md_real *x, size_t d, md_real *scale)
{
    const md_real n = at_least(background_count(s, d), LEAST_KNOWN);
    const md_real away = coordinate(s, x, d) - mean_in(s, background_of(s))[d];

    *scale = n / (n + 1) / background_squares(s, d);
    return away * (away * *scale);
}

/* The nats by which a value lowers the log density below its peak: a Student t of n - 1 degrees of freedom. */
static inline md_real background_below(const mapdpm_stream *s, const md_real *x, size_t d)
{
    md_real scale;
    const md_real distance = background_distance(s, x, d, &scale);

    return MD_HALF * at_least(background_count(s, d), LEAST_KNOWN) * math_log1p(distance);
}

/* The log density of a value, in coordinates. */
static inline md_real background_density(const mapdpm_stream *s, const md_real *x, size_t d)
{
    const md_real freedom = at_least(background_count(s, d), LEAST_KNOWN) - 1;
    md_real square, scale;
    const md_real distance = background_distance(s, x, d, &scale), series = math_half_rising(MD_HALF * freedom, &square);

    return series + MD_HALF * math_log(square * (scale / MATH_PI)) - MD_HALF * (freedom + 1) * math_log1p(distance);
}

/* The log evidence of n values as one cluster of this sum of squares, under the best of all priors. */
static inline md_real evidence_of_one(md_real n, md_real squares)
{
    return n > 0 ? -MD_HALF * n * (1 + MATH_LOG_2PI + math_log(squares / n)) : 0;
}

/* The log evidence of the values of a cluster in one feature. */
static inline md_real evidence_in(const mapdpm_stream *s, view v, size_t d)
{
    const md_real n = v.decay * counts_in(s, v.moments)[d * count_step(s)], b0 = noise_scale_of(s)[d];
    const md_real b = posterior_b(b0, shrinkage_of(s, n), mean_in(s, v.moments)[d], v.decay * squares_in(s, v.moments)[d]);
    const md_real a = s->a0 + MD_HALF * n;
    md_real root;
    const md_real by_number = math_excess(a, &root) - s->excess - MD_HALF * n * (1 + MATH_LOG_2PI);

    return by_number + MD_HALF * math_log(s->c0 / (s->c0 + n) * (s->root / root)) - a * math_log(b / a) +
           s->a0 * math_log(b0 / s->a0);
}

#endif
