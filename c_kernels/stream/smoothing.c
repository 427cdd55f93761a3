/* The points of a learner of states in time (docs/maths.md, section 22). A point is filtered when it comes, and waits.
 * When `lag` later points are known, it is smoothed: learned by its most probable state given all of them.
 */
#include "stream/mapdpm_steps.h"

/* A state with fewer points is looked at after each of its blocks, not only at the end of a chunk. */
#define GROWN ((md_real)400)
/* No more points wait than this part of the points of their state. */
#define PATIENCE ((md_real)10)
/* What is believed of a state below this does not change which one is the most probable. Of a point with so little
 * doubt, later points change nothing: they would have to be as sure that the state changed one point before. */
#define MD_FAINT FLOAT_OR_DOUBLE(1e-6, 1e-9)
#define DOUBT ((md_real)1e-5)

/* Whether slot k may be the state of the last point, or of one that waits. Only such a state can get one of them. */
int states_expect(const mapdpm_stream *s, uint32_t k)
{
    int is_expected = belief_of(s)[k] > MD_FAINT;
    size_t i;

    for (i = 0; i < *n_waiting_of(s); i++)
        is_expected |= waiting_belief(s, i)[k] > MD_FAINT;
    return is_expected;
}

/* Whether a state will surely be forgotten when the points that wait have been learned, as of the time `before`: it has
 * too little weight at the present time, even with all of them if it is one that they may have. */
NOT_INLINED
int states_will_age(const mapdpm_stream *s, int64_t before)
{
    const md_real n = (md_real)*n_waiting_of(s), more = n * math_exp(-to_real((uint64_t)(s->now - before)) * s->rate);
    uint32_t k;

    for (k = 0; k < s->width; k++) {
        const md_real weight = *slot_of(s, k) * decay_of(s, k, s->now);
        const md_real most = n > 0 && states_expect(s, k) ? (md_real)0.99 * FORGOTTEN_WEIGHT - more : FORGOTTEN_WEIGHT;

        if (is_used(s, k) && weight < most)
            return 1;
    }
    return 0;
}

/* One step back in time: `later`, the beliefs at a point given all points, becomes those at the point before, of which
 * `now` is what was believed when it came. */
CLONES
static void step_back(const mapdpm_stream *s, const md_real *restrict now, md_real *restrict later,
                      md_real *restrict next)
{
    const uint32_t width = padded_width(s);
    uint32_t v, k, j;

    for (v = 0; v < s->width; v++)
        if (now[v] > 1 - DOUBT) {
            memcpy(later, now, width * sizeof(md_real));
            return;
        }
    for (k = 0; k < width; k++)
        next[k] = 0;
    for (v = 0; v < s->width; v++) {
        const md_real *const steps = steps_from(s, v);
        const md_real belief = now[v];

        if (belief > MD_FAINT)
            for (k = 0; k < width; k++)
                next[k] += belief * steps[k];
    }
    for (k = 0; k < width; k++)
        next[k] = next[k] > 0 ? later[k] / next[k] : 0;
    for (v = 0; v < s->width; v++) {
        const md_real *const steps = steps_from(s, v);
        md_real sums[MD_LANES] = {0}, rest = 0;

        later[v] = 0;
        if (!(now[v] > MD_FAINT))
            continue;
        for (k = 0; k + MD_LANES <= width; k += MD_LANES)
            for (j = 0; j < MD_LANES; j++)
                sums[j] += steps[k + j] * next[k + j];
        for (; k < width; k++)
            rest += steps[k] * next[k];
        later[v] = now[v] * ((sums[0] + sums[1]) + (sums[2] + sums[3]) + rest);
    }
}

static uint32_t largest_of(const md_real *values, uint32_t n)
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
    md_real *const later = state_scores(s);
    size_t i;

    memcpy(later, belief_of(s), MD_SLOTS(s) * sizeof(md_real));
    for (i = *n_waiting_of(s); i > 0; i--) {
        if (i < *n_waiting_of(s))
            step_back(s, waiting_belief(s, i - 1), later, smoothed_of(s));
        if (i <= m)
            waiting_slots(s)[i - 1] = largest_of(later, s->width);
    }
}

/* Learn the first m points that wait. If `reserves`, splits leave a slot and an id to the next point. */
void states_settle(mapdpm_stream *s, size_t m, int reserves)
{
    const size_t D = MD_FEATURES(s), K = MD_SLOTS(s), left = *n_waiting_of(s) - m;
    size_t i, n;

    if (m == 0)
        return;
    smooth(s, m);
    states_decay(s);
    for (i = 0; i < m; i += n) {
        const uint32_t k = waiting_slots(s)[i];

        for (n = 1; i + n < m && waiting_slots(s)[i + n] == k; n++)
            ;
        if (!is_used(s, k)) /* no belief is a number: a forged snapshot */
            continue;
        states_learn_block(s, k, waiting_point(s, i), n);
        if (*slot_of(s, k) < GROWN)
            states_try_change(s, reserves);
    }
    for (i = 0; i < left; i++) {
        memcpy(waiting_point(s, i), waiting_point(s, m + i), D * sizeof(md_real));
        memcpy(waiting_belief(s, i), waiting_belief(s, m + i), K * sizeof(md_real));
    }
    *n_waiting_of(s) = (uint32_t)left;
    states_try_change(s, reserves);
    states_prepare(s);
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* Whether too many points wait for slot k to learn: a new state must not wait to be known. */
static int is_young(const mapdpm_stream *s, uint32_t k, size_t n)
{
    const md_real weight = *slot_of(s, k);

    return weight < PATIENCE * (md_real)waiting_room(s) && PATIENCE * (md_real)n >= weight;
}

/* Take the point for which slot k was chosen, after stream_choose. It waits; a point that opens a state is learned at
 * once, and no others wait then. Returns the slot of the most probable state. */
uint32_t states_learn(mapdpm_stream *s, uint32_t k, int is_new, const md_real *x)
{
    const size_t D = MD_FEATURES(s), n = *n_waiting_of(s);
    const int stays = ids_of(s)[k] == *state_id_of(s);

    *run_of(s) = stays && !is_new ? *run_of(s) + 1 : 1;
    if (is_new) {
        memset(belief_of(s), 0, MD_SLOTS(s) * sizeof(md_real));
        belief_of(s)[k] = 1;
        states_decay(s);
        states_learn_block(s, k, x, 1);
        states_try_change(s, 0);
        states_prepare(s);
    } else {
        size_t m = 0;

        states_believe(s, k, belief_of(s));
        memcpy(waiting_point(s, n), x, D * sizeof(md_real));
        memcpy(waiting_belief(s, n), belief_of(s), MD_SLOTS(s) * sizeof(md_real));
        *n_waiting_of(s) = (uint32_t)n + 1;
        if (n + 1 == waiting_room(s))
            m = n + 1 - s->lag;
        else if (is_young(s, k, n + 1))
            m = n + 1;
        states_settle(s, m, 0);
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
    uint32_t k, row = MD_SLOTS(s);
    size_t i;

    *decayed_to(s) = s->now;
    for (i = 0; i < MD_WARMUP(s); i++) {
        const md_real age = to_real((uint64_t)(s->now - times_of(s)[i]));

        for (k = 0; k < s->width && !(is_used(s, k) && ids_of(s)[k] == labels[i]); k++)
            ;
        if (labels[i] == MD_NONE || k == s->width)
            continue;
        states_count(s, row, k, FORGETS(s) ? math_exp(-age * s->rate) : 1);
        row = k;
    }
    if (row < MD_SLOTS(s)) {
        belief_of(s)[row] = 1;
        *last_slot_of(s) = row;
        *state_id_of(s) = ids_of(s)[row];
        *run_of(s) = 1;
    }
    states_recount(s);
    states_prepare(s);
}

/* The next point begins a sequence. */
static void begin_sequence(mapdpm_stream *s)
{
    memset(belief_of(s), 0, MD_SLOTS(s) * sizeof(md_real));
    *last_slot_of(s) = *last_half_of(s) = *state_id_of(s) = MD_NONE;
    *run_of(s) = 0;
}

/* To be called after states were removed. If one of them was probably the last, nothing is known of the next. */
void states_removed(mapdpm_stream *s)
{
    md_real sum = 0;
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        sum += belief_of(s)[k];
    if (!(sum > MD_HALF))
        begin_sequence(s);
    for (k = 0; k < MD_SLOTS(s) && sum > MD_HALF; k++)
        belief_of(s)[k] /= sum;
    states_prepare(s);
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

int mapdpm_gap(mapdpm_stream *s)
{
    if (is_none(s) || !HAS_STATES(s))
        return MAPDPM_E_ARGUMENT;
    if (has_queue_to_do(s))
        return MAPDPM_E_WARMING;
    if (IS_WARMING(s))
        return MAPDPM_OK;
    states_settle(s, *n_waiting_of(s), 0);
    begin_sequence(s);
    return MAPDPM_OK;
}

int mapdpm_get_belief(const mapdpm_stream *s, md_real *belief)
{
    if (is_none(s) || !HAS_STATES(s) || belief == NULL)
        return MAPDPM_E_ARGUMENT;
    memcpy(belief, belief_of(s), MD_SLOTS(s) * sizeof(md_real));
    return MAPDPM_OK;
}

int mapdpm_get_transitions(const mapdpm_stream *s, md_real *steps)
{
    size_t v, K;

    if (is_none(s) || !HAS_STATES(s) || steps == NULL)
        return MAPDPM_E_ARGUMENT;
    K = MD_SLOTS(s);
    for (v = 0; v <= K; v++) {
        memcpy(steps + v * (K + 1), steps_from(s, v), K * sizeof(md_real));
        steps[v * (K + 1) + K] = opening_of(s)[v];
    }
    return MAPDPM_OK;
}

int mapdpm_get_run(const mapdpm_stream *s, uint32_t *length)
{
    if (is_none(s) || !HAS_STATES(s) || length == NULL)
        return MAPDPM_E_ARGUMENT;
    *length = *run_of(s);
    return MAPDPM_OK;
}
