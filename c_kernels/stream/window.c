/* Points that are visited again, so that they move to the cluster where they now belong: the last points, which the
 * learner keeps, one a step; or points that the caller keeps.
 */
#include "stream/mapdpm_steps.h"

/* Rename the cluster of kept points. With MD_NONE their cluster is unknown, and they are not visited any more. */
void stream_relabel_window(mapdpm_stream *s, uint32_t from, uint32_t to)
{
    uint32_t *const ids = window_ids_of(s);
    size_t i;

    for (i = 0; i < MD_WINDOW(s); i++)
        if (ids[i] == from)
            ids[i] = to;
}

static uint32_t slot_of_id(const mapdpm_stream *s, uint32_t id)
{
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k) && ids_of(s)[k] == id)
            return k;
    return MD_NONE;
}

/* Add a point of the current group to a slot that is up to date; a weight below 0 removes it. */
static void add_to_slot(mapdpm_stream *s, uint32_t k, const md_real *x, md_real weight)
{
    moments_add(s, slot_of(s, k), half_size(s), x, weight);
    if (HAS_BASE(s))
        base_add(s, k, x, weight);
    if (IS_GROUPED(s)) {
        groups_add(s, k, *row_of(s), weight);
        groups_recount(s, k);
        groups_total(s);
    }
    stream_refresh(s, k);
}

/* Take a point of the current group, learned at `time`, out of its cluster, and let it choose among the existing
 * clusters. Returns the id of its new cluster. */
static uint32_t revisit_point(mapdpm_stream *s, const md_real *x, int64_t time, uint32_t id)
{
    const md_real weight = FORGETS(s) ? math_exp(-to_real((uint64_t)(s->now - time)) * s->rate) : 1;
    const uint32_t k = slot_of_id(s, id);
    choice c;

    if (k == MD_NONE || !(*slot_of(s, k) * decay_of(s, k, s->now) > weight + FORGOTTEN_WEIGHT) || !(weight > 0))
        return id;
    stream_apply_decay(s, k);
    add_to_slot(s, k, x, -weight);
    c = stream_choose(s, x, 0);
    if (c.best == MD_NONE || c.opens)
        c.best = k;
    stream_apply_decay(s, c.best);
    add_to_slot(s, c.best, x, weight);
    return ids_of(s)[c.best];
}

/* Keep the point just learned in place of the oldest one, and visit the next kept point. */
void stream_revisit(mapdpm_stream *s, const md_real *x, uint32_t id)
{
    const size_t i = modulo(s->n_seen - 1, MD_WINDOW(s));

    memcpy(points_of(s) + i * MD_FEATURES(s), x, MD_FEATURES(s) * sizeof(md_real));
    times_of(s)[i] = s->now;
    window_ids_of(s)[i] = id;
    s->visited = s->visited + 1 < MD_WINDOW(s) ? s->visited + 1 : 0;
    if (HAS_GROUPS(s)) {
        point_rows_of(s)[i] = *row_of(s);
        *row_of(s) = point_rows_of(s)[s->visited];
    }
    if (window_ids_of(s)[s->visited] != MD_NONE && s->visited != i)
        window_ids_of(s)[s->visited] = revisit_point(s, points_of(s) + s->visited * MD_FEATURES(s),
                                                     times_of(s)[s->visited], window_ids_of(s)[s->visited]);
    if (HAS_GROUPS(s))
        *row_of(s) = point_rows_of(s)[i];
}

/* ---- windows that the caller keeps ------------------------------------------------------------------------------- */

int mapdpm_follow(const mapdpm_stream *s, uint64_t *event, uint32_t *ids, size_t n)
{
    size_t i;

    if (is_none(s) || event == NULL || (ids == NULL && n > 0) || *event > mapdpm_n_events(s))
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_OK;
    if (s->n_events - *event > RING_SIZE(s)) {
        for (i = 0; i < n; i++)
            ids[i] = MD_NONE;
        *event = s->n_events;
    }
    while (*event < s->n_events) {
        const uint32_t *const e = event_of(s, *event);

        for (i = 0; i < n && e[0] != MAPDPM_CREATED && e[0] < MAPDPM_PRIOR; i++)
            if (ids[i] == e[1])
                ids[i] = e[0] == MAPDPM_MERGED ? e[2] : MD_NONE;
        ++*event;
    }
    return MAPDPM_OK;
}

int mapdpm_resweep(mapdpm_stream *s, const md_real *x, const int64_t *times, uint32_t *ids, size_t n, size_t *moved)
{
    size_t i;
    int error = MAPDPM_OK;

    if (is_none(s) || HAS_STATES(s) || moved == NULL || (n > 0 && (x == NULL || ids == NULL)) ||
        (FORGETS(s) && times == NULL && n > 0))
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    if (HAS_GROUPS(s) && *row_of(s) == MD_NONE)
        return MAPDPM_E_GROUP;
    *moved = 0;
    for (i = 0; i < n && error == MAPDPM_OK; i++) {
        error = stream_check_point(s, x + i * MD_FEATURES(s));
        if (FORGETS(s) && (times[i] > s->now || times[i] < -(INT64_MAX / 2)))
            error = MAPDPM_E_TIME;
    }
    for (i = 0; i < n && error == MAPDPM_OK; i++)
        if (ids[i] != MD_NONE) {
            const uint32_t id = revisit_point(s, x + i * MD_FEATURES(s), FORGETS(s) ? times[i] : 0, ids[i]);

            *moved += id != ids[i];
            ids[i] = id;
        }
    return error;
}
