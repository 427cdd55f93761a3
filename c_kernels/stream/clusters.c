/* The steps of a stream learner: open a slot, apply the decay, merge, remove, and record events. */
#include "stream/mapdpm_steps.h"

void stream_record(mapdpm_stream *s, uint32_t kind, uint32_t id, uint32_t other)
{
    uint32_t *const event = event_ring_of(s) + WORDS_PER_EVENT * (size_t)s->at_event;

    event[0] = kind;
    event[1] = id;
    event[2] = other;
    event[3] = (uint32_t)s->n_seen;
    s->n_events++;
    s->at_event = s->at_event + 1 < RING_SIZE(s) ? s->at_event + 1 : 0;
}

void stream_clear_halves(mapdpm_stream *s, uint32_t k)
{
    memset(half_of(s, k, 0), 0, 2 * half_size(s) * sizeof(md_real));
    if (HAS_GROUPS(s))
        groups_clear_halves(s, k);
    if (HAS_STATES(s))
        states_clear_halves(s, k);
}

void stream_clear_slot(mapdpm_stream *s, uint32_t k)
{
    memset(slot_of(s, k), 0, slot_size(s) * sizeof(md_real));
    if (HAS_GROUPS(s))
        groups_clear(s, k);
    if (HAS_STATES(s))
        states_clear(s, k);
    if (HAS_SURPRISE(s))
        standing_of(s)[k] = 0;
    constants_of(s)[k] = -LARGEST_REAL;
    merge_partner_of(s)[k] = MD_NONE;
    trials_of(s)[k] = 0;
    while (s->width > 0 && !is_used(s, s->width - 1))
        s->width--;
}

uint32_t stream_free_slot(const mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        if (!is_used(s, k))
            return k;
    return MD_NONE;
}

/* To be called after the moments of a slot have changed. */
void stream_refresh(mapdpm_stream *s, uint32_t k)
{
    if (k >= s->width)
        s->width = k + 1;
    if (is_prepared(s))
        prepare(s, view_of(s, k, s->now), k);
    else if (HAS_SURPRISE(s) && !HAS_MISSING(s)) /* as of the last point of the cluster */
        prepare(s, view_of(s, k, last_times_of(s)[k]), k);
    if (HAS_SURPRISE(s))
        surprise_refresh(s, k);
}

/* Bring the moments of a slot up to the current time. */
void stream_apply_decay(mapdpm_stream *s, uint32_t k)
{
    const md_real decay = decay_of(s, k, s->now);

    if (decay < 1) {
        moments_scale(s, slot_of(s, k), half_size(s), decay);
        moments_scale(s, half_of(s, k, 0), 0, decay);
        moments_scale(s, half_of(s, k, 1), 0, decay);
        if (HAS_BASE(s))
            base_decay(s, k, decay);
        if (HAS_GROUPS(s))
            groups_decay(s, k, decay);
    }
    last_times_of(s)[k] = s->now;
}

void stream_remove(mapdpm_stream *s, uint32_t k, uint32_t kind)
{
    stream_relabel_window(s, ids_of(s)[k], MD_NONE);
    stream_record(s, kind, ids_of(s)[k], 0);
    stream_clear_slot(s, k);
    s->n_clusters--;
}

void stream_open_slot(mapdpm_stream *s, uint32_t k)
{
    stream_clear_slot(s, k);
    last_times_of(s)[k] = s->now;
    last_seen_of(s)[k] = (uint32_t)s->n_seen;
    s->n_clusters++;
}

/* Merge slot `from` into slot `to`, both up to date. The id of the heavier one stays. */
void stream_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const int keeps = !(*slot_of(s, from) > *slot_of(s, to));
    const uint32_t kept = ids_of(s)[keeps ? to : from], gone = ids_of(s)[keeps ? from : to];

    if (IS_GROUPED(s))
        groups_merge(s, to, from);
    if (IS_TIMED(s))
        states_merge(s, to, from);
    moments_merge(s, slot_of(s, to), slot_of(s, from), half_size(s));
    if (HAS_BASE(s))
        base_merge(s, to, from);
    if (HAS_SURPRISE(s))
        surprise_merge(s, to, from);
    if ((int32_t)(last_seen_of(s)[from] - last_seen_of(s)[to]) > 0)
        last_seen_of(s)[to] = last_seen_of(s)[from];
    ids_of(s)[to] = kept;
    stream_relabel_window(s, gone, kept);
    stream_record(s, MAPDPM_MERGED, gone, kept);
    stream_clear_halves(s, to);
    trials_of(s)[to] = 0;
    merge_partner_of(s)[to] = MD_NONE;
    stream_clear_slot(s, from);
    s->n_clusters--;
    if (IS_GROUPED(s)) {
        groups_recount(s, to);
        groups_total(s);
    }
    stream_refresh(s, to);
}

/* Remove the clusters whose weight has decayed below FORGOTTEN_WEIGHT. */
void stream_remove_aged(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        if (is_used(s, k) && *slot_of(s, k) * decay_of(s, k, s->now) < FORGOTTEN_WEIGHT)
            stream_remove(s, k, MAPDPM_AGED);
    if (IS_GROUPED(s))
        groups_total(s);
    if (IS_TIMED(s))
        states_removed(s);
}
