/* The last points of a stream, kept and visited again one a step: a point that now belongs elsewhere moves. */
#include "mapdpm_learner.h"

/* What the kept points of one cluster belong to from now on; NONE: nobody knows, and they are not visited any more. */
void stream_relabel(mapdpm_stream *s, uint32_t from, uint32_t to)
{
    uint32_t *const kept = kept_of(s);
    size_t i;

    for (i = 0; i < WINDOW(s); i++)
        if (kept[i] == from)
            kept[i] = to;
}

static uint32_t slot_with(const mapdpm_stream *s, uint32_t id)
{
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k) && ids_of(s)[k] == id)
            return k;
    return NONE;
}

static void put_back(mapdpm_stream *s, uint32_t k, const real *x, real weight)
{
    moments_add(s, slot_of(s, k), half_size(s), x, weight);
    stream_refresh(s, k);
}

/* Take point i out of its cluster and let it choose again, among the clusters that there are. */
static void visit(mapdpm_stream *s, size_t i)
{
    const real *const x = points_of(s) + i * FEATURES(s);
    const real weight = FORGETS(s) ? math_exp(-(real)(s->now - times_of(s)[i]) * s->rate) : 1;
    const uint32_t k = slot_with(s, kept_of(s)[i]);
    choice c;

    if (k == NONE || !(*slot_of(s, k) * fade_of(s, k, s->now) > weight + FLOOR) || !(weight > 0))
        return;
    stream_settle(s, k);
    put_back(s, k, x, -weight);
    c = stream_choose(s, x, 0);
    if (c.best == NONE || c.opens)
        c.best = k;
    stream_settle(s, c.best);
    put_back(s, c.best, x, weight);
    kept_of(s)[i] = ids_of(s)[c.best];
}

/* Keep the point that was just learned in place of the oldest, and visit the next in turn. */
void stream_revisit(mapdpm_stream *s, const real *x, uint32_t id)
{
    const size_t i = remainder_of(s->n_seen - 1, WINDOW(s));

    memcpy(points_of(s) + i * FEATURES(s), x, FEATURES(s) * sizeof(real));
    times_of(s)[i] = s->now;
    kept_of(s)[i] = id;
    s->visited = s->visited + 1 < WINDOW(s) ? s->visited + 1 : 0;
    if (kept_of(s)[s->visited] != NONE && s->visited != i)
        visit(s, s->visited);
}
