/* The filter of a learner of states in time (docs/maths.md, section 22): the most probable state of a point given the
 * points before, and what is then believed of all states.
 */
#include "stream/mapdpm_steps.h"

/* A state of less belief is left out of predictions; so is one so many nats below the best. Each of them changes a log
 * density by less than 3e-9. */
#define UNSEEN FLOAT_OR_DOUBLE(1e-9, 1e-12)
#define FAR_BELOW ((md_real)20)

/* Fill `p` with the probabilities of slots for the next point, given the belief. Returns that of a new state. */
CLONES
static md_real predict_states(const mapdpm_stream *s, md_real *restrict p)
{
    const md_real *const belief = belief_of(s);
    const uint32_t K = MD_SLOTS(s), width = padded_width(s);
    md_real opening = 0;
    uint32_t v, k;

    if (*state_id_of(s) == MD_NONE) {
        memcpy(p, steps_from(s, K), K * sizeof(md_real));
        return opening_of(s)[K];
    }
    memset(p, 0, K * sizeof(md_real));
    for (v = 0; v < s->width; v++) {
        const md_real *const steps = steps_from(s, v);

        if (!(belief[v] > UNSEEN))
            continue;
        for (k = 0; k < width; k++)
            p[k] += belief[v] * steps[k];
        opening += belief[v] * opening_of(s)[v];
    }
    return opening;
}

/* Bounds of the log densities of states `first` to first + n - 1 with their probabilities p, from their tails. */
CLONES
static void bound_states(const mapdpm_stream *s, uint32_t first, uint32_t n, const md_real *restrict p,
                         const md_real *restrict tails, md_real *restrict bounds)
{
    const md_real *const constants = constants_of(s) + first, *const exponents = exponents_of(s) + first;
    uint32_t j;

    if (IS_GAMMA(s))
        for (j = 0; j < n; j++)
            bounds[j] = constants[j] - exponents[j] * math_log_below(1 + tails[j]) + math_log_below(p[j]);
    else
        for (j = 0; j < n; j++)
            bounds[j] = constants[j] - tails[j] + math_log_below(p[j]);
}

/* Log densities of x in all states, by the score table: those of states whose bound is FAR_BELOW the score of one state
 * are -LARGEST_REAL. */
static void rate_by_score_table(const mapdpm_stream *s, const md_real *x, const md_real *p, md_real *densities)
{
    md_real tails[MD_BLOCK], bounds[MD_BLOCK], most = -LARGEST_REAL, least = -LARGEST_REAL, of_best = -LARGEST_REAL;
    uint32_t first, j, n, best = MD_NONE;

    for (first = 0; first < s->width; first += MD_BLOCK) {
        n = stream_bound_block(s, x, first, tails, bounds);
        for (j = 0; j < n; j++) {
            densities[first + j] = tails[j];
            if (bounds[j] > most) {
                most = bounds[j];
                best = first + j;
            }
        }
    }
    if (best != MD_NONE) {
        of_best = density_of_tail(s, x, best, densities[best]);
        least = of_best + math_log_below(p[best]) - (FAR_BELOW + MOST_BELOW);
    }
    for (first = 0; first < s->width; first += MD_BLOCK) {
        n = s->width - first < MD_BLOCK ? s->width - first : MD_BLOCK;
        bound_states(s, first, n, p + first, densities + first, bounds);
        for (j = 0; j < n; j++)
            if (first + j != best)
                densities[first + j] =
                    bounds[j] > least ? density_of_tail(s, x, first + j, densities[first + j]) : -LARGEST_REAL;
    }
    if (best != MD_NONE)
        densities[best] = of_best;
}

/* The same by moments at the current time. */
static void rate_by_moments(const mapdpm_stream *s, const md_real *x, md_real *densities, int *is_aged)
{
    uint32_t k;

    for (k = 0; k < s->width; k++) {
        const view v = view_of(s, k, s->now);
        const int is_there = is_used(s, k), is_heavy = !(v.decay * *v.moments < FORGOTTEN_WEIGHT);

        *is_aged |= is_there && !is_heavy;
        densities[k] = is_there && is_heavy ? density(s, v, x) : -LARGEST_REAL;
    }
}

/* The most probable state of x given all points before; state_scores becomes what each slot contributes to the
 * density. */
choice states_choose(const mapdpm_stream *s, const md_real *x, int with_density)
{
    choice c = {MD_NONE, MD_NONE, 0, 1, 0, 0, 0, 0};
    md_real *const p = state_scores(s), *const densities = smoothed_of(s);
    md_real top = -LARGEST_REAL, sum = 0, less = 1, opening = predict_states(s, p), bound, score;
    uint32_t k;

    if (is_prepared(s))
        rate_by_score_table(s, x, p, densities);
    else
        rate_by_moments(s, x, densities, &c.has_aged);
    for (k = 0; k < s->width; k++)
        top = densities[k] > top ? densities[k] : top;
    for (k = 0; k < s->width; k++)
        p[k] = densities[k] > -LARGEST_REAL ? p[k] * math_exp(densities[k] - top) : 0;
    for (k = 0; k < s->width; k++) {
        sum += p[k];
        if (p[k] > 0 && (c.best == MD_NONE || p[k] > p[c.best]))
            c.best = k;
    }
    score = stream_score_new(s, x, sum > 0 ? top + math_log_below(sum) - NEGLIGIBLE : -LARGEST_REAL, &bound);
    if (!(sum > 0)) {
        top = score;
        c.best = MD_NONE;
    } else if (score <= top) {
        opening = score < top - NEGLIGIBLE ? 0 : opening * math_exp(score - top);
    } else { /* p stays: what is believed of slots is not lost, however far the point is from them */
        less = math_exp(top - score);
        top = score;
    }
    c.opens = c.best == MD_NONE || opening > p[c.best] * less;
    if (with_density)
        c.density = top + math_log(sum * less + opening) + stream_common_term(s, x);
    return c;
}

/* The scores of a choice become the belief. If none is a number, as after a forged snapshot, all of it is in
 * the chosen slot. */
void states_believe(const mapdpm_stream *s, uint32_t chosen, md_real *belief)
{
    const md_real *const scores = state_scores(s);
    md_real sum = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        sum += scores[k];
    memset(belief, 0, MD_SLOTS(s) * sizeof(md_real));
    belief[chosen] = 1;
    if (sum > 0) {
        const md_real each = 1 / sum;

        for (k = 0; k < s->width; k++)
            belief[k] = scores[k] * each;
    }
}
