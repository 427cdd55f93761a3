/* The checks of a learner that was read from a file: a forged one must do no harm. */
#include "stream/mapdpm_steps.h"

static int is_between(md_real x, md_real least, md_real most) { return x >= least && x <= most; }

/* Whether moments are those of at most `most` points, within the limits of learning. */
static int are_moments(const mapdpm_stream *s, const md_real *moments, md_real most, int has_low)
{
    const size_t D = MD_FEATURES(s), low = half_size(s);
    const md_real reach = 2 * COORDINATE_LIMIT, squares = LARGEST_REAL;
    size_t d, i;

    if (!is_between(*moments, 0, most))
        return 0;
    for (d = 0; d < D; d++)
        if (!is_between(counts_in(s, moments)[d * count_step(s)], 0, most) ||
            !is_between(mean_in(s, moments)[d], -reach, reach) || !is_between(squares_in(s, moments)[d], 0, squares))
            return 0;
    for (i = 0; COMPENSATED && has_low && i < low; i++) {
        const md_real range =
            moments + i < mean_in(s, moments) ? moments[i] / 2 : LARGEST_REAL; /* the weight stays above 0 */

        if (!is_between(moments[low + i], -range, range))
            return 0;
    }
    return 1;
}

/* Whether learning could have left this slot. */
static int is_slot(const mapdpm_stream *s, uint32_t k)
{
    const md_real most = MOST_WEIGHT * 2; /* weights are rounded when they are added */
    const uint32_t id = ids_of(s)[k];

    if (!are_moments(s, slot_of(s, k), most, 1) || !are_moments(s, half_of(s, k, 0), most, 0) ||
        !are_moments(s, half_of(s, k, 1), most, 0) || !is_between(*merge_loss_of(s, k), -LARGEST_REAL, LARGEST_REAL))
        return 0;
    if (HAS_BASE(s) && !(are_moments(s, own_of(s, k), most, 1) && is_between(*base_tables_of(s, k), 0, most)))
        return 0;
    if (merge_partner_of(s)[k] != MD_NONE && merge_partner_of(s)[k] >= MD_SLOTS(s))
        return 0;
    if (last_times_of(s)[k] < -(INT64_MAX / 2) ||
        (last_times_of(s)[k] > s->now && (is_used(s, k) || last_times_of(s)[k] != 0)))
        return 0;
    return !is_used(s, k) || (id >= MD_WARMUP(s) && id < s->next_id);
}

/* Move numbers[i] down until no child in numbers[0..n-1] is larger. */
static void sift(uint32_t *numbers, uint32_t n, uint32_t i)
{
    const uint32_t moved = numbers[i];

    while (i < n / 2) {
        uint32_t child = 2 * i + 1;

        if (child + 1 < n && numbers[child + 1] > numbers[child])
            child++;
        if (numbers[child] <= moved)
            break;
        numbers[i] = numbers[child];
        i = child;
    }
    numbers[i] = moved;
}

/* Whether no two clusters have the same id. O(K log K): a heap gives the ids from the largest down. It lies where the
 * score table will be, which is computed later. */
static int are_distinct(const mapdpm_stream *s)
{
    uint32_t *const numbers = (uint32_t *)address_of(s, s->at_columns);
    uint32_t n = 0, i;

    for (i = 0; i < MD_SLOTS(s); i++)
        if (is_used(s, i)) {
            numbers[n] = ids_of(s)[i];
            n++;
        }
    for (i = n / 2; i > 0; i--)
        sift(numbers, n, i - 1);
    while (n > 1) {
        const uint32_t largest = numbers[0];

        n--;
        numbers[0] = numbers[n];
        sift(numbers, n, 0);
        if (numbers[0] == largest)
            return 0;
    }
    return 1;
}

static int is_event(const mapdpm_stream *s, size_t i)
{
    const uint32_t *const event = event_ring_of(s) + WORDS_PER_EVENT * i;

    if (i >= s->n_events)
        return 1;
    if (HAS_RELEVANCE(s) && (event[0] == MAPDPM_RELEVANT || event[0] == MAPDPM_IRRELEVANT))
        return event[1] < MD_FEATURES(s);
    return event[0] >= MAPDPM_CREATED && event[0] <= MAPDPM_PRIOR && event[1] < s->next_id && event[2] < s->next_id;
}

/* Whether a kept point is valid: one of a warm-up that is not over, or one of the window. */
static int is_kept_point(const mapdpm_stream *s, size_t i)
{
    const int matters = IS_WARMING(s) ? i < s->n_seen : i < MD_WINDOW(s) && window_ids_of(s)[i] != MD_NONE;
    size_t d;

    if (times_of(s)[i] < -(INT64_MAX / 2) || (times_of(s)[i] > s->now && (matters || times_of(s)[i] != 0)))
        return 0;
    if (!matters)
        return 1;
    if (!IS_WARMING(s) && window_ids_of(s)[i] >= s->next_id)
        return 0;
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real x = points_of(s)[i * MD_FEATURES(s) + d];

        const md_real most = IS_WARMING(s) ? WARMUP_LIMIT : COORDINATE_LIMIT;

        if (is_present(x)
                ? !is_between(IS_WARMING(s) ? x : coordinate(s, points_of(s) + i * MD_FEATURES(s), d), -most, most)
                : !HAS_MISSING(s))
            return 0;
    }
    return 1;
}

/* Whether learning could have left the groups like this. */
static int are_groups(const mapdpm_stream *s)
{
    const md_real most = MOST_WEIGHT * 2;
    const uint32_t n = *n_groups_of(s);
    md_real all = *gamma_of(s);
    uint32_t k, i;
    size_t j;

    if (n > groups_of(s))
        return 0;
    for (i = 0; i < n; i++)
        if (group_numbers_of(s)[i] == MD_NONE)
            return 0;
    for (j = 0; j < buffer_size(s); j++)
        if (point_rows_of(s)[j] != MD_NONE && point_rows_of(s)[j] >= n)
            return 0;
    for (k = 0; k < MD_SLOTS(s); k++) {
        if (is_used(s, k) && !(tables_of(s)[k] > 0))
            return 0;
        all += is_used(s, k) ? tables_at(s, k, decay_of(s, k, s->now)) : 0;
    }
    for (j = 0; j + 1 < group_reals(s); j++) {
        const int is_low = COMPENSATED && tables_of(s) + j >= cells_of(s, 0) + n_cells(s) &&
                           tables_of(s) + j < half_cells_of(s, 0, 0);

        if (!is_between(tables_of(s)[j], is_low ? -most : 0, most))
            return 0;
    }
    return *all_tables_of(s) >= *gamma_of(s) &&
           is_between(*all_tables_of(s), (md_real)0.99 * all, (md_real)1.01 * all); /* it is a sum of rounded parts */
}

/* Whether nothing is known of a slot without a state. */
static int is_empty_state(const mapdpm_stream *s, uint32_t k)
{
    md_real sum = state_tables(s)[k] + belief_of(s)[k];
    size_t i;

    for (i = 0; i <= MD_SLOTS(s); i++)
        sum += counts_from(s, i)[k] + (i < MD_SLOTS(s) ? counts_from(s, k)[i] : 0);
    for (i = 0; i < *n_waiting_of(s); i++)
        sum += waiting_belief(s, i)[k];
    return sum <= 0; /* none is negative */
}

/* Whether these are probabilities of slots, whose sum is `all` but for rounding. */
static int is_belief(const mapdpm_stream *s, const md_real *belief, int all)
{
    md_real sum = 0;
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++) {
        if (!is_between(belief[k], 0, 2))
            return 0;
        sum += belief[k];
    }
    return is_between(sum, (md_real)all * (md_real)0.99, (md_real)all * (md_real)1.01);
}

/* Whether learning could have left the states in time like this. */
static int are_states(const mapdpm_stream *s)
{
    const md_real most = MOST_WEIGHT * 2;
    const size_t n = *n_waiting_of(s), slots = MD_SLOTS(s);
    const int is_known = *state_id_of(s) != MD_NONE;
    md_real all = *share_gamma(s);
    size_t i, d;
    uint32_t k;

    if (n > 0 && n >= waiting_room(s))
        return 0;
    if ((*last_slot_of(s) != MD_NONE && (*last_slot_of(s) >= slots || !is_used(s, *last_slot_of(s)))) ||
        (*last_half_of(s) != MD_NONE && *last_half_of(s) > 1) || (*decayed_to(s) > s->now && *decayed_to(s) != 0) ||
        *decayed_to(s) < -(INT64_MAX / 2))
        return 0;
    for (i = 0; share_gamma(s) + i < waiting_point(s, 0); i++)
        if (!is_between(share_gamma(s)[i], 0, most))
            return 0;
    for (k = 0; k < slots; k++) {
        if (is_used(s, k) ? !(state_tables(s)[k] > 0) : !is_empty_state(s, k))
            return 0;
        all += state_tables(s)[k];
    }
    if (!is_between(*state_total(s), all, all) || !is_belief(s, belief_of(s), is_known))
        return 0;
    for (i = 0; i < n; i++)
        if (!is_belief(s, waiting_belief(s, i), 1))
            return 0;
    for (i = 0; i < n; i++)
        for (d = 0; d < MD_FEATURES(s); d++) {
            const md_real *const x = waiting_point(s, i);

            if (is_present(x[d]) ? !is_between(coordinate(s, x, d), -COORDINATE_LIMIT, COORDINATE_LIMIT)
                                 : !HAS_MISSING(s))
                return 0;
        }
    return *state_id_of(s) == MD_NONE || *state_id_of(s) < s->next_id;
}

/* Whether learning could have counted tails like this. */
static int are_counts(const mapdpm_stream *s)
{
    uint32_t i;

    for (i = 0; i < SURPRISE_BINS; i++)
        if (!is_between(tail_counts(s)[i], 0, MOST_WEIGHT))
            return 0;
    for (i = 0; i < MD_SLOTS(s); i++) {
        const uint32_t standing = standing_of(s)[i];

        if (is_used(s, i) ? (standing & ~MD_RARE) > MOST_STANDING : standing > 0)
            return 0;
    }
    return *next_to_check(s) < MD_SLOTS(s) && *counting_period(s) <= MOST_STANDING &&
           *counted_in_period(s) <= MOST_STANDING;
}

/* Whether learning could have left what is known of features like this. A clean warm-up has nothing. */
static int is_background(const mapdpm_stream *s)
{
    uint32_t relevant = 0;
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const uint32_t word = relevance_of(s)[d];

        if ((word & ~(MD_IRRELEVANT | MD_REPEATS)) >= MOST_UNUSUAL || (IS_WARMING(s) && word > 0))
            return 0;
        relevant += (word & MD_IRRELEVANT) == 0;
    }
    return relevant > 0 && are_moments(s, background_of(s), MOST_WEIGHT * 2, 1);
}

/* Whether points could wait like this. They are checked when they are learned. */
static int is_queue(const mapdpm_stream *s)
{
    int64_t before = s->now;
    uint32_t i, place = *queue_first(s);

    if (*queue_length(s) > MD_QUEUE(s) || place >= MD_QUEUE(s) ||
        (*queue_length(s) > 0 && IS_WARMING(s) && !is_settling(s)))
        return 0;
    for (i = 0; i < *queue_length(s) && s->clock == CLOCK_MICROSECONDS; i++) {
        if (queue_times(s)[place] < before || queue_times(s)[place] > INT64_MAX / 2)
            return 0;
        before = queue_times(s)[place];
        place = place + 1 < MD_QUEUE(s) ? place + 1 : 0;
    }
    return 1;
}

/* Whether learning could have left this learner. */
int stream_is_valid(const mapdpm_stream *s)
{
    uint32_t k, used = 0;
    size_t i;

    if (s->clock > CLOCK_MICROSECONDS || s->warming > 1 || s->turn >= MD_SLOTS(s) || s->next_id < MD_WARMUP(s))
        return 0;
    if (s->now > INT64_MAX / 2 || s->now < -(INT64_MAX / 2) || (s->clock != CLOCK_MICROSECONDS && s->now < 0))
        return 0;
    if (s->n_seen > INT64_MAX || s->n_events > INT64_MAX) /* the next ones are counted too */
        return 0;
    if (s->visited > 0 && s->visited >= MD_WINDOW(s))
        return 0;
    if (IS_WARMING(s) ? MD_WARMUP(s) == 0 || s->n_seen >= MD_WARMUP(s) + (MD_QUEUE(s) > 0) || s->next_id != MD_WARMUP(s)
                      : s->n_seen < MD_WARMUP(s))
        return 0;
    for (k = 0; k < MD_SLOTS(s); k++) {
        used += (uint32_t)is_used(s, k);
        if (!is_slot(s, k))
            return 0;
    }
    if (used != s->n_clusters || (IS_WARMING(s) && used > 0) || !are_distinct(s))
        return 0;
    for (i = 0; i < RING_SIZE(s); i++)
        if (!is_event(s, i))
            return 0;
    for (i = 0; !IS_WARMING(s) && i < MD_WARMUP(s); i++)
        if (warmup_labels_of(s)[i] != MD_NONE &&
            (warmup_labels_of(s)[i] < MD_WARMUP(s) || warmup_labels_of(s)[i] >= s->next_id))
            return 0;
    for (i = 0; IS_WARMING(s) && i < MD_WINDOW(s); i++)
        if (window_ids_of(s)[i] != MD_NONE)
            return 0;
    for (i = 0; i < buffer_size(s); i++)
        if (!is_kept_point(s, i))
            return 0;
    if ((HAS_RELEVANCE(s) && !is_background(s)) || (HAS_RESOLUTION(s) && !resolution_is_sound(s)))
        return 0;
    if ((HAS_SURPRISE(s) && !are_counts(s)) || (MD_QUEUE(s) > 0 && !is_queue(s)))
        return 0;
    return HAS_GROUPS(s) ? are_groups(s) : !HAS_STATES(s) || are_states(s);
}
