/* The transitions of a learner whose clusters are states in time, an HDP-HMM (docs/maths.md, section 22): their counts,
 * the shares that all rows have in common, and the gain of the prior by a split or a merge.
 */
#include "groups/mapdpm_rows.h"

/* A row of transitions above so many is halved, so that each point still counts in float. */
#define MOST_TRANSITIONS ((md_real)1048576)

void states_reset(mapdpm_stream *s, const mapdpm_options *o)
{
    *share_gamma(s) = *state_total(s) = o->gamma;
    *kappa_of(s) = o->kappa;
    *last_slot_of(s) = *last_half_of(s) = *state_id_of(s) = MD_NONE;
    states_prepare(s);
}

/* ---- shares and probabilities ------------------------------------------------------------------------------------ */

static md_real stick(const mapdpm_stream *s, uint32_t row, uint32_t k) { return row == k ? *kappa_of(s) : 0; }

/* The tables of a cell of n transitions that the share has opened, of which its weight is a, and all of it a + c (maths
 * (86)). */
static md_real cell_tables(md_real n, md_real a, md_real c)
{
    const md_real all = a + c;

    return n > 1 ? a / all + a * math_log((n + all - MD_HALF) / (all + MD_HALF)) : n * a / all;
}

/* All tables and gamma, as a sum: differences could lose gamma, and the total must stay above 0. */
static void sum_tables(mapdpm_stream *s)
{
    md_real all = *share_gamma(s);
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        all += state_tables(s)[k];
    *state_total(s) = all;
}

/* Count the tables of all slots from their transitions, and all tables. */
void states_recount(mapdpm_stream *s)
{
    uint32_t k, v;

    for (k = 0; k < s->width; k++) {
        const md_real a = state_weight(s, k);
        md_real tables = 0;

        if (!is_used(s, k))
            continue;
        for (v = 0; v <= MD_SLOTS(s); v++)
            if (counts_from(s, v)[k] > 0)
                tables += cell_tables(counts_from(s, v)[k], a, stick(s, v, k));
        state_tables(s)[k] = at_least(tables, LEAST_TABLES);
    }
    sum_tables(s);
}

/* Compute the probabilities of transitions from their counts. */
void states_prepare(mapdpm_stream *s)
{
    const uint32_t K = MD_SLOTS(s);
    uint32_t v, k;

    sum_tables(s);
    for (v = 0; v <= K; v++) {
        md_real *const steps = steps_from(s, v);
        const md_real *const counts = counts_from(s, v);
        md_real sum = s->alpha + (v < K ? *kappa_of(s) : 0), each;

        memset(steps, 0, K * sizeof(md_real));
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
void states_count(mapdpm_stream *s, uint32_t row, uint32_t k, md_real weight)
{
    md_real *const counts = counts_from(s, row);
    const md_real a = state_weight(s, k), n = counts[k], more = weight * (a / (a + stick(s, row, k) + n));
    uint32_t i;

    counts[k] += weight;
    state_tables(s)[k] += more;
    *state_total(s) += more;
    if (counts[k] > MOST_TRANSITIONS)
        for (i = 0; i < MD_SLOTS(s); i++)
            counts[i] *= MD_HALF;
}

/* Forget transitions as points. */
void states_decay(mapdpm_stream *s)
{
    const md_real decay = FORGETS(s) ? math_exp(-to_real((uint64_t)(s->now - *decayed_to(s))) * s->rate) : 1;
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
    const uint32_t K = MD_SLOTS(s);

    memset(entries_of(s, k, 0), 0, 2 * (K + 1) * sizeof(md_real));
    memset(exits_of(s, k, 0), 0, 2 * K * sizeof(md_real));
    memset(within_of(s, k), 0, 4 * sizeof(md_real));
    if (*last_slot_of(s) == k)
        *last_half_of(s) = MD_NONE;
}

/* Divide what all beliefs give slot k: slot e gets a share of it. */
static void divide_beliefs(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share)
{
    uint32_t i;

    belief_of(s)[e] = belief_of(s)[k] * share;
    belief_of(s)[k] -= belief_of(s)[e];
    for (i = 0; i < *n_waiting_of(s); i++) {
        md_real *const belief = waiting_belief(s, i);

        belief[e] = belief[k] * share;
        belief[k] -= belief[e];
    }
}

void states_clear(mapdpm_stream *s, uint32_t k)
{
    const uint32_t K = MD_SLOTS(s);
    uint32_t i, h;

    state_tables(s)[k] = belief_of(s)[k] = 0;
    sum_tables(s);
    memset(counts_from(s, k), 0, K * sizeof(md_real));
    for (i = 0; i <= K; i++)
        counts_from(s, i)[k] = 0;
    for (i = 0; i < K; i++)
        for (h = 0; h < 2; h++)
            entries_of(s, i, h)[k] = exits_of(s, i, h)[k] = 0;
    states_clear_halves(s, k);
    for (i = 0; i < *n_waiting_of(s); i++)
        waiting_belief(s, i)[k] = 0;
    if (*last_slot_of(s) == k)
        *last_slot_of(s) = MD_NONE;
}

/* Slot `from` goes into slot `to`: its row, its column, and what is believed of it. */
void states_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const uint32_t K = MD_SLOTS(s);
    uint32_t i, h;

    for (i = 0; i < K; i++)
        counts_from(s, to)[i] += counts_from(s, from)[i];
    for (i = 0; i <= K; i++) {
        counts_from(s, i)[to] += i == from ? 0 : counts_from(s, i)[from];
        counts_from(s, i)[from] = 0;
    }
    memset(counts_from(s, from), 0, K * sizeof(md_real));
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
static md_real part_of(md_real n, md_real light, md_real heavy, md_real share)
{
    return n * ((light + share) / (light + heavy + 1));
}

/* The lighter half of slot k, with this share of its points, becomes slot e. */
void states_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, md_real share)
{
    const uint32_t K = MD_SLOTS(s);
    const md_real *const light_in = entries_of(s, k, lighter), *const heavy_in = entries_of(s, k, 1 - lighter);
    const md_real *const light_out = exits_of(s, k, lighter), *const heavy_out = exits_of(s, k, 1 - lighter);
    const md_real *const within = within_of(s, k);
    const size_t ll = 3 * lighter, lh = 1 + lighter, hl = 2 - lighter, hh = 3 - ll; /* of [from half][to half] */
    const md_real stays = counts_from(s, k)[k], each = stays / (within[0] + within[1] + within[2] + within[3] + 1);
    md_real part;
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
    *last_half_of(s) = *last_slot_of(s) == e ? MD_NONE : *last_half_of(s);
}

/* ---- the gain of the prior by a split or a merge ------------------------------------------------------------------ */

/* The logarithm of the beta function of x and y > 0. There are no terms like x log x, whose rounding would hide a
 * gain. */
static md_real log_beta(md_real x, md_real y)
{
    return math_log((x + y) / x) - math_log(y) - gamma_merge(x + 1, y + 1, x + y + 1);
}

/* With r(a, n) = log Gamma(a + n) - log Gamma(a): r(a1, n1) + r(a2, n2) - r(a1 + a2, n1 + n2). So much more have two
 * states with weights a1 and a2 than one with both, for a cell that is divided into n1 and n2. */
static md_real divided_cell(md_real a1, md_real a2, md_real n1, md_real n2)
{
    return n1 + n2 > 0 ? log_beta(a1 + n1, a2 + n2) - log_beta(a1, a2) : 0;
}

/* r(a, n1) + r(a, n2) - r(a, n1 + n2): two rows less one, for the cell of a column that is divided. */
static md_real divided_row(md_real a, md_real n1, md_real n2)
{
    return n1 > 0 && n2 > 0 ? log_beta(a + n1, a + n2) - log_beta(a, a + (n1 + n2)) : 0;
}

/* What goes into and out of two states, and within them, [from][to]. */
typedef struct {
    const md_real *in1;
    const md_real *in2;
    size_t step; /* from one row to the next */
    const md_real *out1;
    const md_real *out2;
    md_real within[4];
    md_real a1;
    md_real a2;
    md_real scale;
} two_states;

/* log p(z) of two states less that of one, with the shares held (maths (87)); a and b are their slots, or one slot
 * twice. */
static md_real divided_prior(const mapdpm_stream *s, const two_states *t, uint32_t a, uint32_t b)
{
    const md_real stays = *kappa_of(s), both = s->alpha + stays, *const w = t->within;
    md_real total = math_log(*share_gamma(s)) - math_log(t->a1 / (t->a1 + t->a2) * (t->a2 / s->alpha));
    md_real n1 = w[0] + w[1], n2 = w[2] + w[3];
    uint32_t i;

    for (i = 0; i <= MD_SLOTS(s); i++)
        if (i != a && i != b)
            total += divided_cell(t->a1, t->a2, t->scale * t->in1[i * t->step], t->scale * t->in2[i * t->step]);
    for (i = 0; i < s->width; i++)
        if (i != a && i != b && is_used(s, i)) {
            const md_real m1 = t->scale * t->out1[i], m2 = t->scale * t->out2[i];

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
md_real states_merge_gain(const mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const md_real *const row_a = counts_from(s, a), *const row_b = counts_from(s, b), *const rows = counts_from(s, 0);
    two_states t = {0, 0, MD_SLOTS(s), 0, 0, {0, 0, 0, 0}, 0, 0, 1};

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
md_real states_split_gain(const mapdpm_stream *s, uint32_t k, md_real scale)
{
    two_states t = {0, 0, 1, 0, 0, {0, 0, 0, 0}, 0, 0, 1};
    size_t i;

    t.in1 = entries_of(s, k, 0);
    t.in2 = entries_of(s, k, 1);
    t.out1 = exits_of(s, k, 0);
    t.out2 = exits_of(s, k, 1);
    for (i = 0; i < 4; i++)
        t.within[i] = scale * within_of(s, k)[i];
    t.a1 = t.a2 = MD_HALF * state_weight(s, k);
    t.scale = scale;
    return divided_prior(s, &t, k, k);
}
