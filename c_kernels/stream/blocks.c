/* Blocks of a learner of states in time: points that follow each other in one state. A block goes to a half of its
 * state as a whole, because the means of blocks tell states apart that overlap. Then one split or merge is tried.
 */
#include "stream/mapdpm_steps.h"

/* Tables are counted anew after so many attempts to change. */
#define RECOUNT_PERIOD 32u

/* Whether the block has a value of a feature that carries clusters. */
static int has_feature(const mapdpm_stream *s, size_t d)
{
    return is_relevant(s, d) && counts_in(s, block_of(s))[d * count_step(s)] > 0;
}

/* The half for the block of slot k. While the halves are small, the side of the slot's mean in one feature decides: the
 * widest, or each in order. */
static size_t half_for_block(const mapdpm_stream *s, uint32_t k)
{
    const size_t D = MD_FEATURES(s);
    const md_real *const slot = slot_of(s, k), *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1);
    const md_real *const mean = mean_in(s, block_of(s)), *const squares = squares_in(s, slot);
    const uint32_t trial = trial_of(s, k);
    const md_real two = 2 / *slot;
    md_real difference = 0, most = -1;
    size_t d, widest = relevant_feature(s, trial >> 1);

    if (*h0 >= LEAST_HALF && *h1 >= LEAST_HALF) {
        for (d = 0; d < D; d++) {
            const md_real t0 = mean[d] - mean_in(s, h0)[d], t1 = mean[d] - mean_in(s, h1)[d];

            if (has_feature(s, d))
                difference += (t0 - t1) * (t0 + t1) /
                              (squares_in(s, h0)[d] + squares_in(s, h1)[d] + two * squares[d] + TINY_VARIANCE);
        }
        return difference > 0;
    }
    for (d = 0; d < D && trial % 2 == 0; d++) {
        const md_real width = squares[d] / noise_scale_of(s)[d];

        if (has_feature(s, d) && width > most) {
            most = width;
            widest = d;
        }
    }
    return has_feature(s, widest) && mean[widest] > mean_in(s, slot)[widest];
}

/* The block of n points in slot k goes to a half, with its transitions. It follows points of the same slot, or those of
 * the last slot. */
static void join_half(mapdpm_stream *s, uint32_t k, md_real n, int follows)
{
    const size_t h = MD_SPLITS ? half_for_block(s, k) : 0;
    const uint32_t last = *last_slot_of(s);

    *last_slot_of(s) = k;
    trials_of(s)[k] += (uint32_t)n;
    if (!MD_SPLITS)
        return;
    moments_merge(s, half_of(s, k, h), block_of(s), 0);
    within_of(s, k)[3 * h] += n - 1;
    if (!follows) {
        entries_of(s, k, h)[last == MD_NONE ? MD_SLOTS(s) : last] += 1;
        if (last != MD_NONE && *last_half_of(s) != MD_NONE)
            exits_of(s, last, *last_half_of(s))[k] += 1;
    } else if (*last_half_of(s) != MD_NONE) {
        within_of(s, k)[2 * *last_half_of(s) + h] += 1;
    }
    *last_half_of(s) = (uint32_t)h;
}

static uint32_t last_row(const mapdpm_stream *s)
{
    return *last_slot_of(s) == MD_NONE ? MD_SLOTS(s) : *last_slot_of(s);
}

/* Learn points of one slot that follow each other. */
void states_learn_block(mapdpm_stream *s, uint32_t k, const md_real *x, size_t n)
{
    const int follows = *last_slot_of(s) == k;
    size_t i;

    stream_apply_decay(s, k);
    memset(block_of(s), 0, half_size(s) * sizeof(md_real));
    for (i = 0; i < n; i++) {
        moments_add(s, slot_of(s, k), half_size(s), x + i * MD_FEATURES(s), 1);
        moments_add(s, block_of(s), 0, x + i * MD_FEATURES(s), 1);
        states_count(s, i == 0 ? last_row(s) : k, k, 1);
    }
    last_seen_of(s)[k] = (uint32_t)s->n_seen;
    stream_refresh(s, k);
    join_half(s, k, (md_real)n, follows);
}

/* The most probable other slot for the last point. */
static uint32_t second_slot(const mapdpm_stream *s, uint32_t k)
{
    uint32_t i, second = MD_NONE;

    for (i = 0; i < s->width; i++)
        if (i != k && is_used(s, i) && (second == MD_NONE || belief_of(s)[i] > belief_of(s)[second]))
            second = i;
    return second;
}

/* Whether a split would take the last id, or the last slot where none is ever freed for a point. */
static int takes_the_last(const mapdpm_stream *s)
{
    return s->next_id + 1 == MD_NONE || (WHEN_FULL(s) == MAPDPM_FULL_ERROR && s->n_clusters + 1 == MD_SLOTS(s));
}

/* Try one change that may follow: of the slot that was learned last, with its most probable rival, with the next slot
 * in order, or a split. If `reserves`, splits leave a slot and an id to the next point. */
void states_try_change(mapdpm_stream *s, int reserves)
{
    const uint32_t k = *last_slot_of(s), look = ++*looks_of(s), n = s->n_clusters;

    if (k == MD_NONE) /* nothing was learned: a forged snapshot */
        return;
    if (look % LOOK_PERIOD == 0) {
        const uint32_t id = s->next_id;

        if (!(reserves && takes_the_last(s)))
            (void)stream_try_split(s, k, 0);
        if (s->next_id != id)
            states_recount(s);
    } else if (look % 2 == 0) {
        s->turn = s->turn + 1 < MD_SLOTS(s) ? s->turn + 1 : 0;
        stream_try_merge(s, k, s->turn);
    } else {
        stream_try_merge(s, k, second_slot(s, k));
    }
    if (s->n_clusters != n || look % RECOUNT_PERIOD == 0)
        states_recount(s);
}
