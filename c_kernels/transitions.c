/* The steps of a learner whose clusters are states in time: an HDP-HMM (docs/maths.md, section 22). A point is filtered
 * when it comes, and waits. When `lag` later points are known, states are smoothed, and it is learned by its best state.
 * Points of a chunk that follow each other in one state are a block, which goes to a half of the state as a whole: the means
 * of blocks tell states apart that overlap.
 */
#include "mapdpm_learner.h"

/* A row of transitions above so many is halved, so that each point still counts in float. */
#define MOST_TRANSITIONS ((real)1048576)
/* A state with fewer points is looked at after each of its blocks, not only at the end of a chunk. */
#define GROWN ((real)400)
/* No more points wait than this part of the points of their state. */
#define PATIENCE ((real)10)
/* Tables are counted anew after so many attempts to change. */
#define RECOUNT_PERIOD 32u

void states_reset(mapdpm_stream *s, const mapdpm_options *o)
{
    *share_gamma(s) = *state_total(s) = o->gamma;
    *kappa_of(s) = o->kappa;
    *last_slot_of(s) = *last_half_of(s) = *state_id_of(s) = NONE;
    states_prepare(s);
}

/* ---- shares and probabilities ------------------------------------------------------------------------------------ */

static real stick(const mapdpm_stream *s, uint32_t row, uint32_t k) { return row == k ? *kappa_of(s) : 0; }

/* The tables of a cell of n transitions that the share has opened, of which its weight is a, and all of it a + c (maths
 * (86)). */
static real cell_tables(real n, real a, real c)
{
    const real all = a + c;

    return n > 1 ? a / all + a * math_log((n + all - HALF) / (all + HALF)) : n * a / all;
}

/* Count the tables of all slots from their transitions, and all tables. */
void states_recount(mapdpm_stream *s)
{
    uint32_t k, v;
    real all = *share_gamma(s);

    for (k = 0; k < s->width; k++) {
        const real a = state_weight(s, k);
        real tables = 0;

        if (!is_used(s, k))
            continue;
        for (v = 0; v <= SLOTS(s); v++)
            if (counts_from(s, v)[k] > 0)
                tables += cell_tables(counts_from(s, v)[k], a, stick(s, v, k));
        state_tables(s)[k] = at_least(tables, LEAST_TABLES);
        all += state_tables(s)[k];
    }
    *state_total(s) = all;
}

/* All tables and gamma, as a sum: differences could lose gamma, and the total must stay above 0. */
static void sum_tables(mapdpm_stream *s)
{
    real all = *share_gamma(s);
    uint32_t k;

    for (k = 0; k < SLOTS(s); k++)
        all += state_tables(s)[k];
    *state_total(s) = all;
}

/* Compute the probabilities of transitions from their counts. */
void states_prepare(mapdpm_stream *s)
{
    const uint32_t K = SLOTS(s);
    uint32_t v, k;

    sum_tables(s);
    for (v = 0; v <= K; v++) {
        real *const steps = steps_from(s, v);
        const real *const counts = counts_from(s, v);
        real sum = s->alpha + (v < K ? *kappa_of(s) : 0), each;

        memset(steps, 0, K * sizeof(real));
        opening_of(s)[v] = 0;
        if (v < K && !is_used(s, v))
            continue;
        for (k = 0; k < s->width; k++)
            sum += counts[k];
        each = 1 / sum;
        for (k = 0; k < s->width; k++)
            if (is_used(s, k))
                steps[k] = (counts[k] + state_weight(s, k) + stick(s, v, k)) * each;
        opening_of(s)[v] = s->alpha * (*share_gamma(s) / *state_total(s)) * each;
    }
}

/* Count `weight` transitions from a row to slot k. */
void states_count(mapdpm_stream *s, uint32_t row, uint32_t k, real weight)
{
    real *const counts = counts_from(s, row);
    const real a = state_weight(s, k), n = counts[k], more = weight * (a / (a + stick(s, row, k) + n));
    uint32_t i;

    counts[k] += weight;
    state_tables(s)[k] += more;
    *state_total(s) += more;
    if (counts[k] > MOST_TRANSITIONS)
        for (i = 0; i < SLOTS(s); i++)
            counts[i] *= HALF;
}

static uint32_t last_row(const mapdpm_stream *s) { return *last_slot_of(s) == NONE ? SLOTS(s) : *last_slot_of(s); }

/* Forget transitions as points. */
static void decay_counts(mapdpm_stream *s)
{
    const real decay = FORGETS(s) ? math_exp(-to_real((uint64_t)(s->now - *decayed_to(s))) * s->rate) : 1;
    const size_t n = (size_t)(waiting_belief(s, 0) - counts_from(s, 0));
    size_t i;

    if (decay < 1) {
        for (i = 0; i < n; i++)
            counts_from(s, 0)[i] *= decay;
        states_recount(s);
    }
    *decayed_to(s) = s->now;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

void states_clear_halves(mapdpm_stream *s, uint32_t k)
{
    const uint32_t K = SLOTS(s);

    memset(entries_of(s, k, 0), 0, 2 * (K + 1) * sizeof(real));
    memset(exits_of(s, k, 0), 0, 2 * K * sizeof(real));
    memset(within_of(s, k), 0, 4 * sizeof(real));
    if (*last_slot_of(s) == k)
        *last_half_of(s) = NONE;
}

/* Divide what all beliefs give slot k: slot e gets a share of it. */
static void divide_beliefs(mapdpm_stream *s, uint32_t k, uint32_t e, real share)
{
    uint32_t i;

    belief_of(s)[e] = belief_of(s)[k] * share;
    belief_of(s)[k] -= belief_of(s)[e];
    for (i = 0; i < *n_waiting_of(s); i++) {
        real *const belief = waiting_belief(s, i);

        belief[e] = belief[k] * share;
        belief[k] -= belief[e];
    }
}

void states_clear(mapdpm_stream *s, uint32_t k)
{
    const uint32_t K = SLOTS(s);
    uint32_t i, h;

    state_tables(s)[k] = belief_of(s)[k] = 0;
    sum_tables(s);
    memset(counts_from(s, k), 0, K * sizeof(real));
    for (i = 0; i <= K; i++)
        counts_from(s, i)[k] = 0;
    for (i = 0; i < K; i++)
        for (h = 0; h < 2; h++)
            entries_of(s, i, h)[k] = exits_of(s, i, h)[k] = 0;
    states_clear_halves(s, k);
    for (i = 0; i < *n_waiting_of(s); i++)
        waiting_belief(s, i)[k] = 0;
    if (*last_slot_of(s) == k)
        *last_slot_of(s) = NONE;
}

/* Slot `from` goes into slot `to`: its row, its column, and what is believed of it. */
void states_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const uint32_t K = SLOTS(s);
    uint32_t i, h;

    for (i = 0; i < K; i++)
        counts_from(s, to)[i] += counts_from(s, from)[i];
    for (i = 0; i <= K; i++) {
        counts_from(s, i)[to] += i == from ? 0 : counts_from(s, i)[from];
        counts_from(s, i)[from] = 0;
    }
    memset(counts_from(s, from), 0, K * sizeof(real));
    for (i = 0; i < K; i++)
        for (h = 0; h < 2; h++) {
            entries_of(s, i, h)[to] += entries_of(s, i, h)[from];
            exits_of(s, i, h)[to] += exits_of(s, i, h)[from];
        }
    state_tables(s)[to] += state_tables(s)[from];
    belief_of(s)[to] += belief_of(s)[from];
    for (i = 0; i < *n_waiting_of(s); i++) {
        waiting_belief(s, i)[to] += waiting_belief(s, i)[from];
        if (waiting_slots(s)[i] == from)
            waiting_slots(s)[i] = to;
    }
    if (*last_slot_of(s) == from)
        *last_slot_of(s) = to;
}

/* The part of a count that goes to the lighter half, by what is known of both, and by its share of points. */
static real part_of(real n, real light, real heavy, real share) { return n * ((light + share) / (light + heavy + 1)); }

/* The lighter half of slot k, with this share of its points, becomes slot e. */
void states_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, real share)
{
    const uint32_t K = SLOTS(s);
    const real *const light_in = entries_of(s, k, lighter), *const heavy_in = entries_of(s, k, 1 - lighter);
    const real *const light_out = exits_of(s, k, lighter), *const heavy_out = exits_of(s, k, 1 - lighter);
    const real *const within = within_of(s, k);
    const size_t ll = 3 * lighter, lh = 1 + lighter, hl = 2 - lighter, hh = 3 - ll; /* of [from half][to half] */
    const real stays = counts_from(s, k)[k], each = stays / (within[0] + within[1] + within[2] + within[3] + 1);
    real part;
    uint32_t i, h;

    for (i = 0; i <= K; i++)
        if (i != k && i != e) {
            part = part_of(counts_from(s, i)[k], light_in[i], heavy_in[i], share);
            counts_from(s, i)[e] = part;
            counts_from(s, i)[k] -= part;
        }
    for (i = 0; i < K; i++)
        if (i != k && i != e) {
            part = part_of(counts_from(s, k)[i], light_out[i], heavy_out[i], share);
            counts_from(s, e)[i] = part;
            counts_from(s, k)[i] -= part;
        }
    counts_from(s, e)[e] = (within[ll] + share) * each;
    counts_from(s, e)[k] = within[lh] * each;
    counts_from(s, k)[e] = within[hl] * each;
    counts_from(s, k)[k] = (within[hh] + 1 - share) * each;
    for (i = 0; i < K; i++)
        for (h = 0; h < 2 && i != k && i != e; h++) {
            entries_of(s, i, h)[e] = entries_of(s, i, h)[k] * share;
            entries_of(s, i, h)[k] -= entries_of(s, i, h)[e];
            exits_of(s, i, h)[e] = exits_of(s, i, h)[k] * share;
            exits_of(s, i, h)[k] -= exits_of(s, i, h)[e];
        }
    state_tables(s)[e] = state_tables(s)[k] * share;
    state_tables(s)[k] -= state_tables(s)[e];
    divide_beliefs(s, k, e, share);
    if (*last_slot_of(s) == k && *last_half_of(s) == lighter)
        *last_slot_of(s) = e;
    *last_half_of(s) = *last_slot_of(s) == e ? NONE : *last_half_of(s);
}

/* ---- the gain of the prior by a split or a merge ------------------------------------------------------------------ */

/* The logarithm of the beta function of x and y > 0. There are no terms like x log x, whose rounding would hide a
 * gain. */
static real log_beta(real x, real y)
{
    return math_log((x + y) / x) - math_log(y) - gamma_merge(x + 1, y + 1, x + y + 1);
}

/* With r(a, n) = log Gamma(a + n) - log Gamma(a): r(a1, n1) + r(a2, n2) - r(a1 + a2, n1 + n2). So much more have two
 * states with weights a1 and a2 than one with both, for a cell that is divided into n1 and n2. */
static real divided_cell(real a1, real a2, real n1, real n2)
{
    return n1 + n2 > 0 ? log_beta(a1 + n1, a2 + n2) - log_beta(a1, a2) : 0;
}

/* r(a, n1) + r(a, n2) - r(a, n1 + n2): two rows less one, for the cell of a column that is divided. */
static real divided_row(real a, real n1, real n2)
{
    return n1 > 0 && n2 > 0 ? log_beta(a + n1, a + n2) - log_beta(a, a + (n1 + n2)) : 0;
}

/* What goes into and out of two states, and within them, [from][to]. */
typedef struct {
    const real *in1;
    const real *in2;
    size_t step; /* from one row to the next */
    const real *out1;
    const real *out2;
    real within[4];
    real a1;
    real a2;
    real scale;
} two_states;

/* log p(z) of two states less that of one, with the shares held (maths (87)); a and b are their slots, or one slot
 * twice. */
static real divided_prior(const mapdpm_stream *s, const two_states *t, uint32_t a, uint32_t b)
{
    const real stays = *kappa_of(s), both = s->alpha + stays, *const w = t->within;
    real total = math_log(*share_gamma(s)) - math_log(t->a1 / (t->a1 + t->a2) * (t->a2 / s->alpha));
    real n1 = w[0] + w[1], n2 = w[2] + w[3];
    uint32_t i;

    for (i = 0; i <= SLOTS(s); i++)
        if (i != a && i != b)
            total += divided_cell(t->a1, t->a2, t->scale * t->in1[i * t->step], t->scale * t->in2[i * t->step]);
    for (i = 0; i < s->width; i++)
        if (i != a && i != b && is_used(s, i)) {
            const real m1 = t->scale * t->out1[i], m2 = t->scale * t->out2[i];

            total += divided_row(state_weight(s, i), m1, m2);
            n1 += m1;
            n2 += m2;
        }
    total += divided_cell(t->a1 + stays, t->a2, w[0], w[1]) + divided_cell(t->a1, t->a2 + stays, w[2], w[3]) +
             divided_row(t->a1 + t->a2 + stays, w[0] + w[1], w[2] + w[3]);
    return total - divided_row(both, n1, n2);
}

/* The gain of the log prior when slots a and b become one. */
NOT_INLINED
real states_merge_gain(const mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const real *const row_a = counts_from(s, a), *const row_b = counts_from(s, b), *const rows = counts_from(s, 0);
    two_states t = {0, 0, SLOTS(s), 0, 0, {0, 0, 0, 0}, 0, 0, 1};

    t.in1 = rows + a;
    t.in2 = rows + b;
    t.out1 = row_a;
    t.out2 = row_b;
    t.within[0] = row_a[a];
    t.within[1] = row_a[b];
    t.within[2] = row_b[a];
    t.within[3] = row_b[b];
    t.a1 = state_weight(s, a);
    t.a2 = state_weight(s, b);
    return -divided_prior(s, &t, a, b);
}

/* The gain of the log prior when the halves of slot k, which stand for `scale` times their points, become slots. */
NOT_INLINED
real states_split_gain(const mapdpm_stream *s, uint32_t k, real scale)
{
    two_states t = {0, 0, 1, 0, 0, {0, 0, 0, 0}, 0, 0, 1};
    size_t i;

    t.in1 = entries_of(s, k, 0);
    t.in2 = entries_of(s, k, 1);
    t.out1 = exits_of(s, k, 0);
    t.out2 = exits_of(s, k, 1);
    for (i = 0; i < 4; i++)
        t.within[i] = scale * within_of(s, k)[i];
    t.a1 = t.a2 = HALF * state_weight(s, k);
    t.scale = scale;
    return divided_prior(s, &t, k, k);
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

/* Whether the block has a value of a feature. */
static int has_feature(const mapdpm_stream *s, size_t d)
{
    return counts_in(s, block_of(s))[d * count_step(s)] > 0;
}

/* The half for the block of slot k. While the halves are small, the side of the slot's mean in one feature decides: the
 * widest, or each in order. */
static size_t half_for_block(const mapdpm_stream *s, uint32_t k)
{
    const size_t D = FEATURES(s);
    const real *const slot = slot_of(s, k), *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1);
    const real *const mean = mean_in(s, block_of(s)), *const squares = squares_in(s, slot);
    const uint32_t trial = trials_of(s)[k] >> 16;
    const real two = 2 / *slot;
    real difference = 0, most = -1;
    size_t d, widest = (trial >> 1) % D;

    if (*h0 >= LEAST_HALF && *h1 >= LEAST_HALF) {
        for (d = 0; d < D; d++) {
            const real t0 = mean[d] - mean_in(s, h0)[d], t1 = mean[d] - mean_in(s, h1)[d];

            if (has_feature(s, d))
                difference += (t0 - t1) * (t0 + t1) /
                              (squares_in(s, h0)[d] + squares_in(s, h1)[d] + two * squares[d] + TINY_VARIANCE);
        }
        return difference > 0;
    }
    for (d = 0; d < D && trial % 2 == 0; d++) {
        const real width = squares[d] / noise_scale_of(s)[d];

        if (has_feature(s, d) && width > most) {
            most = width;
            widest = d;
        }
    }
    return has_feature(s, widest) && mean[widest] > mean_in(s, slot)[widest];
}

/* The block of n points in slot k goes to a half, with its transitions. It follows points of the same slot, or those of
 * the last slot. */
static void join_half(mapdpm_stream *s, uint32_t k, real n, int follows)
{
    const size_t h = half_for_block(s, k);
    const uint32_t last = *last_slot_of(s);

    moments_merge(s, half_of(s, k, h), block_of(s), 0);
    within_of(s, k)[3 * h] += n - 1;
    if (!follows) {
        entries_of(s, k, h)[last == NONE ? SLOTS(s) : last] += 1;
        if (last != NONE && *last_half_of(s) != NONE)
            exits_of(s, last, *last_half_of(s))[k] += 1;
    } else if (*last_half_of(s) != NONE) {
        within_of(s, k)[2 * *last_half_of(s) + h] += 1;
    }
    *last_slot_of(s) = k;
    *last_half_of(s) = (uint32_t)h;
    trials_of(s)[k] += (uint32_t)n;
}

/* Learn points of one slot that follow each other. */
static void learn_block(mapdpm_stream *s, uint32_t k, const real *x, size_t n)
{
    const int follows = *last_slot_of(s) == k;
    size_t i;

    stream_apply_decay(s, k);
    memset(block_of(s), 0, half_size(s) * sizeof(real));
    for (i = 0; i < n; i++) {
        moments_add(s, slot_of(s, k), half_size(s), x + i * FEATURES(s), 1);
        moments_add(s, block_of(s), 0, x + i * FEATURES(s), 1);
        states_count(s, i == 0 ? last_row(s) : k, k, 1);
    }
    last_seen_of(s)[k] = (uint32_t)s->n_seen;
    stream_refresh(s, k);
    join_half(s, k, (real)n, follows);
}

/* The most probable other slot for the last point. */
static uint32_t second_slot(const mapdpm_stream *s, uint32_t k)
{
    uint32_t i, second = NONE;

    for (i = 0; i < s->width; i++)
        if (i != k && is_used(s, i) && (second == NONE || belief_of(s)[i] > belief_of(s)[second]))
            second = i;
    return second;
}

/* Try one change that may follow: of the slot that was learned last, with its most probable rival, with the next slot in
 * order, or a split. */
static void try_change(mapdpm_stream *s)
{
    const uint32_t k = *last_slot_of(s), look = ++*looks_of(s), n = s->n_clusters;

    if (k == NONE) /* nothing was learned: a forged snapshot */
        return;
    if (look % LOOK_PERIOD == 0) {
        const uint32_t id = s->next_id;

        (void)stream_try_split(s, k, 0);
        if (s->next_id != id)
            states_recount(s);
    } else if (look % 2 == 0) {
        s->turn = s->turn + 1 < SLOTS(s) ? s->turn + 1 : 0;
        stream_try_merge(s, k, s->turn);
    } else {
        stream_try_merge(s, k, second_slot(s, k));
    }
    if (s->n_clusters != n || look % RECOUNT_PERIOD == 0)
        states_recount(s);
}

/* What is believed of a state below this does not change which one is the most probable. Of a point with so little doubt,
 * later points change nothing: they would have to be as sure that the state changed one point before. */
#define FAINT FLOAT_OR_DOUBLE(1e-6, 1e-9)
#define DOUBT ((real)1e-5)

/* Whether slot k may be the state of the last point, or of one that waits. */
int states_expect(const mapdpm_stream *s, uint32_t k)
{
    int is_expected = belief_of(s)[k] > FAINT;
    size_t i;

    for (i = 0; i < *n_waiting_of(s); i++)
        is_expected |= waiting_belief(s, i)[k] > FAINT;
    return is_expected;
}

/* One step back in time: `later`, the beliefs at a point given all points, becomes those at the point before, of which
 * `now` is what was believed when it came. */
CLONES
static void step_back(const mapdpm_stream *s, const real *restrict now, real *restrict later, real *restrict next)
{
    const uint32_t width = padded_width(s);
    uint32_t v, k, j;

    for (v = 0; v < s->width; v++)
        if (now[v] > 1 - DOUBT) {
            memcpy(later, now, width * sizeof(real));
            return;
        }
    for (k = 0; k < width; k++)
        next[k] = 0;
    for (v = 0; v < s->width; v++) {
        const real *const steps = steps_from(s, v);
        const real belief = now[v];

        if (belief > FAINT)
            for (k = 0; k < width; k++)
                next[k] += belief * steps[k];
    }
    for (k = 0; k < width; k++)
        next[k] = next[k] > 0 ? later[k] / next[k] : 0;
    for (v = 0; v < s->width; v++) {
        const real *const steps = steps_from(s, v);
        real sums[LANES] = {0}, rest = 0;

        later[v] = 0;
        if (!(now[v] > FAINT))
            continue;
        for (k = 0; k + LANES <= width; k += LANES)
            for (j = 0; j < LANES; j++)
                sums[j] += steps[k + j] * next[k + j];
        for (; k < width; k++)
            rest += steps[k] * next[k];
        later[v] = now[v] * ((sums[0] + sums[1]) + (sums[2] + sums[3]) + rest);
    }
}

static uint32_t largest_of(const real *values, uint32_t n)
{
    uint32_t k, best = 0;

    for (k = 1; k < n; k++)
        if (values[k] > values[best])
            best = k;
    return best;
}

/* Fill waiting_slots with the most probable slots of the first m points that wait, given all of them. */
static void smooth(mapdpm_stream *s, size_t m)
{
    real *const later = state_scores(s);
    size_t i;

    memcpy(later, belief_of(s), SLOTS(s) * sizeof(real));
    for (i = *n_waiting_of(s); i > 0; i--) {
        if (i < *n_waiting_of(s))
            step_back(s, waiting_belief(s, i - 1), later, smoothed_of(s));
        if (i <= m)
            waiting_slots(s)[i - 1] = largest_of(later, s->width);
    }
}

/* Learn the first m points that wait. */
void states_settle(mapdpm_stream *s, size_t m)
{
    const size_t D = FEATURES(s), K = SLOTS(s), left = *n_waiting_of(s) - m;
    size_t i, n;

    if (m == 0)
        return;
    smooth(s, m);
    decay_counts(s);
    for (i = 0; i < m; i += n) {
        const uint32_t k = waiting_slots(s)[i];

        for (n = 1; i + n < m && waiting_slots(s)[i + n] == k; n++)
            ;
        if (!is_used(s, k)) /* no belief is a number: a forged snapshot */
            continue;
        learn_block(s, k, waiting_point(s, i), n);
        if (*slot_of(s, k) < GROWN)
            try_change(s);
    }
    for (i = 0; i < left; i++) {
        memcpy(waiting_point(s, i), waiting_point(s, m + i), D * sizeof(real));
        memcpy(waiting_belief(s, i), waiting_belief(s, m + i), K * sizeof(real));
    }
    *n_waiting_of(s) = (uint32_t)left;
    try_change(s);
    states_prepare(s);
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* The scores of a choice become the belief. If none is a number, as after a forged snapshot, all of it is in
 * the chosen slot. */
static void believe_scores(const mapdpm_stream *s, uint32_t chosen, real *belief)
{
    const real *const scores = state_scores(s);
    real sum = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        sum += scores[k];
    memset(belief, 0, SLOTS(s) * sizeof(real));
    belief[chosen] = 1;
    if (sum > 0) {
        const real each = 1 / sum;

        for (k = 0; k < s->width; k++)
            belief[k] = scores[k] * each;
    }
}

/* Whether too many points wait for slot k to learn: a new state must not wait to be known. */
static int is_young(const mapdpm_stream *s, uint32_t k, size_t n)
{
    const real weight = *slot_of(s, k);

    return weight < PATIENCE * (real)waiting_room(s) && PATIENCE * (real)n >= weight;
}

/* Take the point for which slot k was chosen, after stream_choose. It waits; a point that opens a state is learned at once,
 * and no others wait then. Returns the slot of the most probable state. */
uint32_t states_learn(mapdpm_stream *s, uint32_t k, int is_new, const real *x)
{
    const size_t D = FEATURES(s), n = *n_waiting_of(s);
    const int stays = ids_of(s)[k] == *state_id_of(s);

    *run_of(s) = stays && !is_new ? *run_of(s) + 1 : 1;
    if (is_new) {
        memset(belief_of(s), 0, SLOTS(s) * sizeof(real));
        belief_of(s)[k] = 1;
        decay_counts(s);
        learn_block(s, k, x, 1);
        try_change(s);
        states_prepare(s);
    } else {
        size_t m = 0;

        believe_scores(s, k, belief_of(s));
        memcpy(waiting_point(s, n), x, D * sizeof(real));
        memcpy(waiting_belief(s, n), belief_of(s), SLOTS(s) * sizeof(real));
        *n_waiting_of(s) = (uint32_t)n + 1;
        if (n + 1 == waiting_room(s))
            m = n + 1 - s->lag;
        else if (is_young(s, k, n + 1))
            m = n + 1;
        states_settle(s, m);
        if (m > 0)
            k = largest_of(belief_of(s), s->width);
    }
    *state_id_of(s) = ids_of(s)[k];
    return k;
}

/* After the warm-up, whose points have ids: transitions between them, and the belief in the state of the last one. */
void states_begin(mapdpm_stream *s)
{
    const uint32_t *const labels = warmup_labels_of(s);
    uint32_t k, row = SLOTS(s);
    size_t i;

    *decayed_to(s) = s->now;
    for (i = 0; i < WARMUP(s); i++) {
        const real age = to_real((uint64_t)(s->now - times_of(s)[i]));

        for (k = 0; k < s->width && !(is_used(s, k) && ids_of(s)[k] == labels[i]); k++)
            ;
        if (labels[i] == NONE || k == s->width)
            continue;
        states_count(s, row, k, FORGETS(s) ? math_exp(-age * s->rate) : 1);
        row = k;
    }
    if (row < SLOTS(s)) {
        belief_of(s)[row] = 1;
        *last_slot_of(s) = row;
        *state_id_of(s) = ids_of(s)[row];
        *run_of(s) = 1;
    }
    states_recount(s);
    states_prepare(s);
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

/* The next point begins a sequence. */
static void begin_sequence(mapdpm_stream *s)
{
    memset(belief_of(s), 0, SLOTS(s) * sizeof(real));
    *last_slot_of(s) = *last_half_of(s) = *state_id_of(s) = NONE;
    *run_of(s) = 0;
}

/* To be called after states were removed. If one of them was probably the last, nothing is known of the next. */
void states_removed(mapdpm_stream *s)
{
    real sum = 0;
    uint32_t k;

    for (k = 0; k < SLOTS(s); k++)
        sum += belief_of(s)[k];
    if (!(sum > HALF))
        begin_sequence(s);
    for (k = 0; k < SLOTS(s) && sum > HALF; k++)
        belief_of(s)[k] /= sum;
    states_prepare(s);
}

int mapdpm_gap(mapdpm_stream *s)
{
    if (s == NULL || !HAS_STATES(s))
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_OK;
    states_settle(s, *n_waiting_of(s));
    begin_sequence(s);
    return MAPDPM_OK;
}

int mapdpm_get_belief(const mapdpm_stream *s, real *belief)
{
    if (s == NULL || !HAS_STATES(s) || belief == NULL)
        return MAPDPM_E_ARGUMENT;
    memcpy(belief, belief_of(s), SLOTS(s) * sizeof(real));
    return MAPDPM_OK;
}

int mapdpm_get_transitions(const mapdpm_stream *s, real *steps)
{
    size_t v, K;

    if (s == NULL || !HAS_STATES(s) || steps == NULL)
        return MAPDPM_E_ARGUMENT;
    K = SLOTS(s);
    for (v = 0; v <= K; v++) {
        memcpy(steps + v * (K + 1), steps_from(s, v), K * sizeof(real));
        steps[v * (K + 1) + K] = opening_of(s)[v];
    }
    return MAPDPM_OK;
}

int mapdpm_get_run(const mapdpm_stream *s, uint32_t *length)
{
    if (s == NULL || !HAS_STATES(s) || length == NULL)
        return MAPDPM_E_ARGUMENT;
    *length = *run_of(s);
    return MAPDPM_OK;
}
