/* The changes that may follow a point, in whole numbers: halves, splits, merges. mapdpm/integers/changes.py, step by
 * step; the learner of reals does the same in stream/split_merge.c and stream/clusters.c.
 */
#include "integers/mapdpm_int_layout.h"

#define HYSTERESIS_Q16 (HYSTERESIS_NATS * INT_NAT)
#define FAR_AWAY (UINT64_C(1) << 40)

void int_record(mapdpm_stream *s, uint32_t kind, uint32_t id, uint32_t other)
{
    uint32_t *const event = int_events(s) + 4 * (size_t)s->at_event;

    event[0] = kind;
    event[1] = id;
    event[2] = other;
    event[3] = (uint32_t)s->n_seen;
    s->n_events++;
    s->at_event = s->at_event + 1 < MAPDPM_EVENTS(INT_SLOTS(s)) ? s->at_event + 1 : 0;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static void clear_moments(mapdpm_stream *s, uint32_t k, uint32_t part)
{
    const size_t D = INT_FEATURES(s);

    *int_weight(s, k, part) = 0;
    memset(int_squares(s, k, part), 0, D * sizeof(uint64_t));
    memset(int_means(s, k, part), 0, D * sizeof(int32_t));
    if (part == WHOLE)
        memset(int_rests(s, k), 0, D * sizeof(uint16_t));
}

void int_clear_halves(mapdpm_stream *s, uint32_t k)
{
    clear_moments(s, k, 1);
    clear_moments(s, k, 2);
}

void int_clear(mapdpm_stream *s, uint32_t k)
{
    clear_moments(s, k, WHOLE);
    int_clear_halves(s, k);
    int_slot_of(s, k)->trials = 0;
    *int_loss(s, k) = 0;
    *int_partner(s, k) = INT_NONE;
}

uint32_t int_free(const mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < INT_SLOTS(s); k++)
        if (!int_is_used(s, k))
            return k;
    return INT_NONE;
}

void int_open(mapdpm_stream *s, uint32_t k)
{
    int_clear(s, k);
    int_slot_of(s, k)->id = s->next_id++;
    int_slot_of(s, k)->seen = (uint32_t)s->n_seen;
    s->n_clusters++;
}

void int_remove(mapdpm_stream *s, uint32_t k, uint32_t kind)
{
    int_record(s, kind, int_slot_of(s, k)->id, 0);
    int_clear(s, k);
    s->n_clusters--;
}

/* ---- halves ------------------------------------------------------------------------------------------------------ */

/* Whether a point is far from the cluster in slot k: its squared distance in one feature exceeds 4 + 2 log D, in units of the
 * variance, or that in all its mean D by three standard deviations. */
static int is_unusual(const mapdpm_stream *s, uint32_t k, const int32_t *x)
{
    const uint32_t D = INT_FEATURES(s), twice_a = s->twice_a0 + int_weight_now(s, *int_weight(s, k, WHOLE));
    const int_row row = int_row_at(s, int_constant(s, k));
    uint64_t sum = 0, most = 0, beyond;
    uint32_t d;

    for (d = 0; d < D; d++) {
        const uint64_t z = int_distance(whole_abs(int_place(x[d]) - row.constant[1 + d]), row.exponent[1 + d], row.scale[1 + d]);
        const uint64_t square = z * z >> 16;
        const uint64_t away = (square < UINT32_MAX ? square : UINT32_MAX) * twice_a >> 16;

        sum += away;
        if (sum > FAR_AWAY)
            sum = FAR_AWAY;
        if (away > most)
            most = away;
    }
    if (most > s->unusual)
        return 1;
    if (sum <= (uint64_t)D * INT_NAT)
        return 0;
    beyond = sum - (uint64_t)D * INT_NAT;
    if (beyond > UINT32_MAX >> 1)
        beyond = UINT32_MAX >> 1;
    return beyond * beyond >> 16 > (uint64_t)18 * D * INT_NAT;
}

/* Look whether points of slot k have moved away: then its halves begin anew, the first with all points so far (decision
 * 161). A look that finds an unusual point counts two, another one takes one back. */
void int_watch(mapdpm_stream *s, uint32_t k, const int32_t *x)
{
    const int_moments own = int_moments_of(s, k, WHOLE), half = int_moments_of(s, k, 1);
    uint32_t *const trials = &int_slot_of(s, k)->trials, level = *trials / TRIAL_LEVEL % (TRIAL_MOVED / TRIAL_LEVEL), d;

    if ((*trials & TRIAL_MOVED) || *int_weight(s, k, WHOLE) < WATCHED_POINTS * s->weight)
        return;
    *trials -= level * TRIAL_LEVEL;
    if (is_unusual(s, k, x))
        level += 2;
    else if (level > 0)
        level--;
    if (level < MOST_UNUSUAL) {
        *trials += level * TRIAL_LEVEL;
        return;
    }
    int_clear_halves(s, k);
    *half.weight = *own.weight;
    for (d = 0; d < INT_FEATURES(s); d++) {
        half.squares[d] = own.squares[d];
        half.means[d] = int_mean(&own, d);
    }
    *trials = int_trial(s, k) << 16 | TRIAL_MOVED;
}

static int have_both_points(const mapdpm_stream *s, uint32_t k)
{
    return *int_weight(s, k, 1) >= HALF_POINTS * s->weight && *int_weight(s, k, 2) >= HALF_POINTS * s->weight;
}

/* Whether x is nearer to the mean of the second half, in units of the sum of squares within halves, plus the share of two
 * points in that of the whole cluster. */
static int is_nearer_to_second(const mapdpm_stream *s, uint32_t k, const int32_t *x)
{
    const int_moments own = int_moments_of(s, k, WHOLE), left = int_moments_of(s, k, 1), right = int_moments_of(s, k, 2);
    const uint32_t bits = whole_bits(*own.weight), down = bits > 10 ? bits - 10 : 0; /* about two points of all */
    int64_t difference = 0;
    uint32_t d;

    for (d = 0; d < INT_FEATURES(s); d++) {
        const int32_t place = int_place(x[d]), a = place - left.means[d], b = place - right.means[d];
        const uint64_t within = left.squares[d] + right.squares[d] + (own.squares[d] >> down) + 1;
        uint64_t away = whole_scaled(whole_times(whole_abs(a - b), whole_abs(a + b)), whole_divide(1, within), 16);

        if (away > FAR_AWAY)
            away = FAR_AWAY;
        difference += (a > b) == (a + b > 0) ? (int64_t)away : -(int64_t)away;
    }
    return difference > 0;
}

/* The half of slot k for a point: 0 or 1. While the halves are small, the side of the cluster's mean in one feature decides:
 * the widest feature, or each feature in order. */
uint32_t int_choose_half(const mapdpm_stream *s, uint32_t k, const int32_t *x)
{
    const uint32_t D = INT_FEATURES(s), trial = int_trial(s, k);
    const int_moments own = int_moments_of(s, k, WHOLE);
    uint32_t d, widest = (trial >> 1) % D;
    int32_t most = INT32_MIN;

    if (have_both_points(s, k))
        return (uint32_t)is_nearer_to_second(s, k, x);
    if (int_slot_of(s, k)->trials & TRIAL_MOVED)
        return (uint32_t)is_unusual(s, k, x);
    for (d = 0; d < D && trial % 2 == 0; d++) {
        const int32_t width =
            whole_log2(int_squares(s, k, WHOLE)[d] + 1) - whole_log2(int_twice_b0(s)[d]);

        if (width > most) {
            most = width;
            widest = d;
        }
    }
    return int_place(x[widest]) > int_mean(&own, widest);
}

/* ---- merging and splitting --------------------------------------------------------------------------------------- */

int64_t int_pair_gain(const mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const int_view va = int_view_of(s, a, WHOLE), vb = int_view_of(s, b, WHOLE);

    return int_merge_gain(s, &va, &vb);
}

/* Merge slot `from` into slot `to`. The id of the heavier one stays. */
void int_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const int keeps = *int_weight(s, to, WHOLE) >= *int_weight(s, from, WHOLE);
    const uint32_t kept = int_slot_of(s, keeps ? to : from)->id, gone = int_slot_of(s, keeps ? from : to)->id;

    int_unite(s, to, from);
    if (int_slot_of(s, from)->seen - int_slot_of(s, to)->seen < UINT32_C(1) << 31)
        int_slot_of(s, to)->seen = int_slot_of(s, from)->seen;
    int_record(s, MAPDPM_MERGED, gone, kept);
    int_slot_of(s, to)->id = kept;
    int_clear_halves(s, to);
    int_slot_of(s, to)->trials = 0;
    *int_partner(s, to) = INT_NONE;
    int_clear(s, from);
    s->n_clusters--;
    int_prepare(s, to);
}

/* Whether a merge certainly lowers the log joint, because two clusters lie far apart for the variance within them. With
 * y = n m / (n + m) sum_d delta^2 / (4 b0 + M2 + M2') it loses at least (n + m) / 2 log(1 + y) nats. It gains at most n + m by
 * one label less, and PRIOR_NATS for each prior less. The row of each cluster says how far the other one is. */
static int are_surely_apart(const mapdpm_stream *s, uint32_t a, const int_view *va, uint32_t b, const int_view *vb)
{
    const int_row ra = int_row_at(s, int_constant(s, a)), rb = int_row_at(s, int_constant(s, b));
    const uint32_t n = va->weight + vb->weight;
    uint64_t far = 0, least;
    int32_t loss;
    uint32_t d;

    for (d = 0; d < INT_FEATURES(s); d++) {
        const uint32_t away = whole_abs(int_mean(&va->at, d) - int_mean(&vb->at, d));
        const uint32_t z = whole_least(int_distance(away, ra.exponent[1 + d], ra.scale[1 + d]),
                                       int_distance(away, rb.exponent[1 + d], rb.scale[1 + d]));

        far += whole_times(z, z) >> 25; /* half the square in Q16 */
    }
    if (far > UINT32_MAX >> 1)
        far = UINT32_MAX >> 1;
    far = whole_product(whole_scaled(va->weight, whole_divide(vb->weight, n), 0), (uint32_t)far, 16);
    loss = whole_down(whole_nats_of(whole_log2(far + INT_POINT), 8), 1);
    least = (uint32_t)INT_NAT + whole_scaled((uint32_t)PRIOR_NATS * (INT_FEATURES(s) + 1), whole_divide(1, n), 24);
    return loss > 0 && (uint32_t)loss > least;
}

/* Look at the merge of another slot into slot k. Returns whether it raises the log joint, and remembers the cheapest partner
 * that k has met. */
static int should_merge(const mapdpm_stream *s, uint32_t k, uint32_t other)
{
    const int_view mine = int_view_of(s, k, WHOLE), its = int_view_of(s, other, WHOLE);
    uint8_t *const partner = int_partner(s, k);
    int64_t gain;

    if (are_surely_apart(s, k, &mine, other, &its))
        return 0;
    gain = int_merge_gain(s, &mine, &its);
    if (*partner == INT_NONE || *partner == other || -gain < *int_loss(s, k)) {
        *partner = (uint8_t)other;
        *int_loss(s, k) = -gain;
    }
    return gain > HYSTERESIS_Q16;
}

/* Merge another slot into slot k if that raises the log joint. */
void int_try_merge(mapdpm_stream *s, uint32_t k, uint32_t other)
{
    if (other != INT_NONE && other != k && int_is_used(s, other) && should_merge(s, k, other))
        int_merge(s, k, other);
}

/* The gain of a split of slot k beyond what it must gain, if its halves stood for the whole cluster, or for as much of it as
 * they may stand for. */
static int64_t split_gain(const mapdpm_stream *s, uint32_t k)
{
    int_view left = int_view_of(s, k, 1), right = int_view_of(s, k, 2);
    const uint32_t n = left.weight + right.weight, whole = int_weight_now(s, *int_weight(s, k, WHOLE));

    if (n >= LARGE_HALF_POINTS * INT_POINT && whole > n) {
        const uint64_t most = EXTRAPOLATION_TIMES * (uint64_t)n;
        const whole_ratio factor = whole_divide(whole < most ? whole : most, n);

        int_stretch(&left, factor);
        int_stretch(&right, factor);
    }
    return -int_merge_gain(s, &left, &right) - HYSTERESIS_Q16 - whole_nats_of(whole_log2(whole), 8);
}

/* A half becomes the cluster in slot `to`, with another weight. */
static void promote(mapdpm_stream *s, uint32_t k, uint32_t part, uint32_t to, uint32_t weight)
{
    const int_moments half = int_moments_of(s, k, part), own = int_moments_of(s, to, WHOLE);
    const whole_ratio factor = whole_divide(weight, *half.weight);
    uint32_t d;

    for (d = 0; d < INT_FEATURES(s); d++) {
        own.squares[d] = whole_scaled(half.squares[d], factor, 0);
        own.means[d] = half.means[d];
        own.rests[d] = 0;
    }
    *own.weight = weight;
}

/* The halves of slot k become two clusters, the lighter one in the free slot. Together they keep the weight of k. */
static void split(mapdpm_stream *s, uint32_t k, uint32_t free, uint32_t lighter)
{
    const uint32_t light = *int_weight(s, k, lighter), rest = *int_weight(s, k, WHOLE);
    uint32_t part =
        (uint32_t)whole_scaled(rest, whole_divide(light, light + *int_weight(s, k, PARTS - lighter)), 0);

    if (!INT_FORGETS(s))
        part = (part + INT_POINT / 2) / INT_POINT * INT_POINT;
    int_open(s, free);
    int_slot_of(s, free)->seen = int_slot_of(s, k)->seen;
    promote(s, k, lighter, free, part);
    promote(s, k, PARTS - lighter, k, rest - part);
    int_clear_halves(s, k);
    int_slot_of(s, k)->trials = 0;
    *int_partner(s, k) = INT_NONE;
    int_record(s, MAPDPM_SPLIT, int_slot_of(s, k)->id, int_slot_of(s, free)->id);
    int_prepare(s, k);
    int_prepare(s, free);
}

/* Split slot k if that raises the log joint by more than the cost of freeing a slot for it. Returns the slot of the half. */
uint32_t int_try_split(mapdpm_stream *s, uint32_t k, uint32_t half)
{
    const uint32_t trial = int_trial(s, k);
    int64_t gain;

    if (!have_both_points(s, k) || s->next_id == MAPDPM_NO_ID)
        return k;
    gain = split_gain(s, k);
    if (gain > 0) {
        const uint32_t lighter = *int_weight(s, k, 2) > *int_weight(s, k, 1) ? 1 : 2;
        const uint32_t free = s->n_clusters < INT_SLOTS(s) ? int_free(s) : int_make_room(s, k, gain);

        if (free != INT_NONE) {
            split(s, k, free, lighter);
            return half + 1 == lighter ? free : k;
        }
    }
    if ((int_slot_of(s, k)->trials & 0xffffu) >= TRIAL_LENGTH << (trial < DOUBLINGS ? trial : DOUBLINGS)) {
        int_clear_halves(s, k);
        int_slot_of(s, k)->trials = ((trial + 1) & TRIAL_NUMBERS) << 16;
    }
    return k;
}
