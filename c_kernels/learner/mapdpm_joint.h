/* The changes of the log joint by a merge, a split or an eviction (docs/maths.md, section 10). Internal; static
 * inlines. */
#ifndef MAPDPM_JOINT_H
#define MAPDPM_JOINT_H

#include "learner/mapdpm_groups.h"
#include "learner/mapdpm_policy.h"

/* ---- merging: L(a + b) - L(a) - L(b), without the large terms that cancel ---------------------------------------- */

/* The Normal-Gamma terms of one feature that depend on the numbers of points only. */
static inline md_real merge_count_term(const mapdpm_stream *s, md_real n1, md_real n2)
{
    const md_real a0 = s->a0, c0 = s->c0;
    md_real r1, r2, r, ratio;
    const md_real tails = math_excess(a0 + MD_HALF * (n1 + n2), &r) + s->excess - math_excess(a0 + MD_HALF * n1, &r1) -
                          math_excess(a0 + MD_HALF * n2, &r2);

    ratio = ((c0 + n1) * r1) / ((c0 + n1 + n2) * r) * (((c0 + n2) * r2) / (c0 * s->root));
    return tails + MD_HALF * math_log(ratio);
}

static inline md_real normal_gamma_merge(const mapdpm_stream *s, view v1, view v2)
{
    const uint32_t *const marks = marks_of(s);
    const size_t D = MD_FEATURES(s), step = count_step(s);
    const md_real *const counts1 = step ? counts_in(s, v1.moments) : v1.moments;
    const md_real *const counts2 = step ? counts_in(s, v2.moments) : v2.moments;
    const md_real *const mean1 = mean_in(s, v1.moments), *const mean2 = mean_in(s, v2.moments);
    const md_real *const squares1 = squares_in(s, v1.moments), *const squares2 = squares_in(s, v2.moments);
    const md_real *const noise_scale = noise_scale_of(s);
    md_real total = 0, n1 = -1, n2 = -1, a1 = 0, a2 = 0, a = 0, by_number = 0, ratio1 = 0, ratio2 = 0, ratio0 = 0;
    md_real shrinkage1 = 0, shrinkage2 = 0, shrinkage = 0, share = 0, between = 0;
    md_real product1 = 1, product2 = 1, product0 = 1, logs1 = 0, logs2 = 0, logs0 = 0;
    size_t d;

    for (d = 0; d <= D; d++) {
        const md_real next1 = d < D ? v1.decay * counts1[d * step] : -1,
                      next2 = d < D ? v2.decay * counts2[d * step] : -1;
        md_real delta, inverse, b1, b2;

        if (d < D && is_marked(marks, d))
            continue;
        if (d == D || next1 != n1 || next2 != n2) {
            if (n1 >= 0)
                total += a1 * (logs1 + math_log(product1)) + a2 * (logs2 + math_log(product2)) -
                         s->a0 * (logs0 + math_log(product0));
            if (d == D)
                break;
            product1 = product2 = product0 = 1;
            logs1 = logs2 = logs0 = 0;
            n1 = next1;
            n2 = next2;
            a1 = s->a0 + MD_HALF * n1;
            a2 = s->a0 + MD_HALF * n2;
            a = s->a0 + MD_HALF * (n1 + n2);
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
static inline md_real mean_penalty(md_real n, md_real mean, md_real variance, md_real prior_variance)
{
    return n * mean * mean / (variance + n * prior_variance);
}

static inline md_real known_variance_merge(const mapdpm_stream *s, view v1, view v2)
{
    const size_t D = MD_FEATURES(s), step = count_step(s);
    const md_real *const counts1 = step ? counts_in(s, v1.moments) : v1.moments;
    const md_real *const counts2 = step ? counts_in(s, v2.moments) : v2.moments;
    const md_real *const mean1 = mean_in(s, v1.moments), *const mean2 = mean_in(s, v2.moments);
    md_real total = 0, product = 1, logs = 0;
    size_t d;

    for (d = 0; d < D; d++) {
        const md_real n1 = v1.decay * counts1[d * step], n2 = v2.decay * counts2[d * step], n = n1 + n2;
        const md_real variance = noise_scale_of(s)[d], prior_variance = prior_variance_of(s)[d],
                      delta = mean2[d] - mean1[d];
        const md_real share = n > 0 ? n2 / n : 0;

        multiply_into(&product, &logs, (variance + n1 * prior_variance) / variance);
        multiply_into(&product, &logs, (variance + n2 * prior_variance) / (variance + n * prior_variance));
        total += mean_penalty(n1, mean1[d], variance, prior_variance) +
                 mean_penalty(n2, mean2[d], variance, prior_variance) -
                 mean_penalty(n, mean1[d] + delta * share, variance, prior_variance) -
                 n1 * share * delta * delta / variance;
    }
    return MD_HALF * (total + logs + math_log(product));
}

/* log Gamma(n1 + n2) - log Gamma(n1) - log Gamma(n2), each of max(n, 1). */
static inline md_real merge_size_term(md_real n1, md_real n2)
{
    return gamma_merge(at_least(n1, 1), at_least(n2, 1), at_least(n1 + n2, 1));
}

/* Whether two clusters are so far apart that their merge certainly lowers the log joint. With y = sum_d n1 n2 / n^2
 * delta^2 / variance within, the merge loses at least n/2 log(1 + y) nats. It gains n H(n1 / n) from one label less,
 * and for each feature one prior less, at most PRIOR_NATS. The bounds of the logarithms cost no more than a product. */
static inline int merge_surely_loses(const mapdpm_stream *s, view v1, view v2)
{
    const uint32_t *const marks = marks_of(s);
    const size_t D = MD_FEATURES(s);
    const md_real *const mean1 = mean_in(s, v1.moments), *const mean2 = mean_in(s, v2.moments);
    const md_real *const squares1 = squares_in(s, v1.moments), *const squares2 = squares_in(s, v2.moments);
    const md_real *const noise_scale = noise_scale_of(s);
    const md_real n1 = v1.decay * *v1.moments, n2 = v2.decay * *v2.moments, n = n1 + n2;
    const md_real share = (n1 < n2 ? n1 : n2) / n;
    md_real sum = 0, least, loss, entropy, priors = 1;
    size_t d;

    if (HAS_MISSING(s) || !IS_GAMMA(s) || !(share > 0))
        return 0;
    for (d = 0; d < D; d++) {
        const md_real delta = mean2[d] - mean1[d];

        if (is_marked(marks, d))
            continue;
        priors += 1;
        sum += delta * delta / (2 * noise_scale[d] + v1.decay * squares1[d] + v2.decay * squares2[d]);
    }
    sum *= n * share * (1 - share);
    least = PRIOR_NATS * priors;
    loss = MD_HALF * math_log_below(1 + sum);
    entropy = share * (1 - math_log_below(share));
    if (IS_TIMED(s)) /* each of so many cells and rows saves a few logarithms of its size */
        least += 3 * (md_real)(MD_SLOTS(s) + 2) * (2 + math_log_below(n + 1) + MOST_BELOW);
    if (!IS_GROUPED(s) || !(loss > entropy + least / n))
        return loss > entropy + least / n;
    if (loss > entropy + (least + most_groups_gain(s, v1, v2, (md_real)groups_of(s))) / n) /* usually far enough */
        return 1;
    return loss > entropy + (least + most_groups_gain(s, v1, v2, meetings_of(s, v1, v2))) / n;
}

/* The part of the likelihood in the gain of a merge. */
static inline md_real merge_data_gain(const mapdpm_stream *s, view v1, view v2)
{
    return IS_GAMMA(s) ? normal_gamma_merge(s, v1, v2) : known_variance_merge(s, v1, v2);
}

/* The gain of the log joint when two clusters merge. */
static inline md_real merge_gain(const mapdpm_stream *s, view v1, view v2)
{
    const md_real data = merge_data_gain(s, v1, v2);

    if (IS_GROUPED(s))
        return data + merge_groups_term(s, v1, v2);
    return data + merge_size_term(v1.decay * *v1.moments, v2.decay * *v2.moments) - s->log_alpha;
}

/* ---- forgetting -------------------------------------------------------------------------------------------------- */

/* The prior's term in the log p of each cluster: a0 sum_d log(b0 / a0). */
static inline md_real log_prior(const mapdpm_stream *s)
{
    const uint32_t *const marks = marks_of(s);
    md_real logs = 0, product = 1;
    size_t d;

    for (d = 0; d < MD_FEATURES(s) && IS_GAMMA(s); d++)
        if (!is_marked(marks, d))
            multiply_into(&product, &logs, noise_scale_of(s)[d] / s->a0);
    return s->a0 * (logs + math_log(product));
}

/* A cluster's term of the log joint, given log_prior: log p of all its points, and log Gamma(max(n, 1)), or with groups
 * the weights by which they joined it. *alone is the log p of a point as a cluster of its own, at the root mean square
 * distance of the points from the prior mean. */
static inline md_real log_joint_term(const mapdpm_stream *s, view v, md_real prior_term, md_real *alone)
{
    const uint32_t *const marks = marks_of(s);
    const size_t D = MD_FEATURES(s), step = count_step(s);
    const md_real *const counts = step ? counts_in(s, v.moments) : v.moments;
    const md_real *const mean = mean_in(s, v.moments), *const squares = squares_in(s, v.moments);
    const md_real *const noise_scale = noise_scale_of(s);
    const md_real weight = v.decay * *v.moments, size = weight > 1 ? weight : 1;
    md_real total, root, logs = 0, product, tail = 0, excess = 0;
    md_real last = -1, a = 1, by_number = 0, factor = 1, shrinkage = 0, spreads = 1, spread_logs = 0;
    size_t d;

    *alone = s->opening - s->log_alpha;
    if (IS_GROUPED(s)) {
        total = joining_term(s, v);
        product = 1;
    } else {
        total = math_excess(size, &root) + size * (math_log(size) - 1) + MD_HALF * MATH_LOG_2PI;
        product = 1 / root;
    }
    for (d = 0; d < D; d++) {
        const md_real n = v.decay * counts[d * step], M2 = v.decay * squares[d];
        const md_real away = (n > 0 ? M2 / n : 0) + mean[d] * mean[d];

        if (is_marked(marks, d))
            continue;
        if (IS_GAMMA(s)) {
            if (n != last) {
                total -= a * (spread_logs + math_log(spreads));
                spreads = 1;
                spread_logs = 0;
                last = n;
                a = s->a0 + MD_HALF * n;
                by_number = math_excess(a, &root) - s->excess - MD_HALF * n * (1 + MATH_LOG_2PI);
                factor = s->c0 / (s->c0 + n) * (s->root / root);
                shrinkage = shrinkage_of(s, n);
            }
            total += by_number;
            multiply_into(&product, &logs, factor);
            multiply_into(&spreads, &spread_logs, posterior_b(noise_scale[d], shrinkage, mean[d], M2) / a);
            multiply_one_plus(&excess, &tail, away * prior_scale(s)[d]);
        } else {
            const md_real grown = noise_scale[d] + n * prior_variance_of(s)[d];

            total -= MD_HALF * (n * MATH_LOG_2PI + (n - 1) * math_log(noise_scale[d]) + math_log(grown) +
                                M2 / noise_scale[d] + n * mean[d] * mean[d] / grown);
            tail += away * prior_scale(s)[d];
        }
    }
    if (IS_GAMMA(s)) {
        total += prior_term - a * (spread_logs + math_log(spreads));
        *alone -= (s->a0 + MD_HALF) * (tail + math_log1p(excess));
    } else {
        *alone -= tail;
    }
    return total + MD_HALF * (logs + math_log(product));
}

/* The loss of the log joint if each point of the cluster were alone. It shrinks with the time since the cluster was
 * last seen (docs/maths.md (27)). */
static inline md_real eviction_loss(const mapdpm_stream *s, view v, md_real prior_term, md_real idle,
                                    md_real total_weight)
{
    const md_real n = v.decay * *v.moments, size = n > 1 ? n : 1;
    md_real alone, loss = log_joint_term(s, v, prior_term, &alone);

    loss += (1 - size) * log_opening(s) - n * alone; /* n, not size: the unit of the data must not matter */
    return loss * math_exp(-idle * n / (3 * total_weight));
}

#endif
