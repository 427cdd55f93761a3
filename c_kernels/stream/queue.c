/* Points that wait while the end of a warm-up is settled in steps. They are learned in their order, so that the learner
 * gets the same bits as one that settles at once.
 */
#include "stream/mapdpm_steps.h"

uint32_t mapdpm_n_queued(const mapdpm_stream *s)
{
    return is_none(s) || MD_QUEUE(s) == 0 ? 0 : *queue_length(s);
}

/* The place of the i-th point that waits. */
static uint32_t place_of(const mapdpm_stream *s, uint32_t i)
{
    const uint32_t place = *queue_first(s) + i;

    return place < MD_QUEUE(s) ? place : place - MD_QUEUE(s);
}

/* The time of the last point that came. */
int64_t queue_latest(const mapdpm_stream *s)
{
    return mapdpm_n_queued(s) > 0 ? queue_times(s)[place_of(s, *queue_length(s) - 1)] : s->now;
}

/* Put a point into the queue. */
int queue_add(mapdpm_stream *s, const md_real *x, int64_t now)
{
    const uint32_t place = place_of(s, *queue_length(s));

    if (*queue_length(s) == MD_QUEUE(s))
        return MAPDPM_E_WARMING;
    memcpy(queue_points(s) + (size_t)place * MD_FEATURES(s), x, MD_FEATURES(s) * sizeof(md_real));
    queue_times(s)[place] = now;
    queue_groups(s)[place] = HAS_GROUPS(s) ? *group_of(s) : MD_NONE;
    ++*queue_length(s);
    return MAPDPM_OK;
}

/* Take the first point from the queue and learn it, in its group. */
static int learn_first(mapdpm_stream *s)
{
    const uint32_t place = *queue_first(s);
    const uint32_t group = HAS_GROUPS(s) ? *group_of(s) : MD_NONE;
    const md_real *const x = queue_points(s) + (size_t)place * MD_FEATURES(s);
    const int64_t time = s->clock == CLOCK_MICROSECONDS ? queue_times(s)[place] : s->now + 1;
    uint32_t id;
    int error;

    *queue_first(s) = place_of(s, 1);
    --*queue_length(s);
    if (HAS_GROUPS(s))
        (void)mapdpm_set_group(s, queue_groups(s)[place]);
    error = stream_learn(s, x, time, &id, NULL, NULL);
    if (HAS_GROUPS(s))
        (void)mapdpm_set_group(s, group);
    return error;
}

int mapdpm_settle_step(mapdpm_stream *s)
{
    int more;

    if (is_none(s))
        return MAPDPM_E_ARGUMENT;
    if (!has_queue_to_do(s))
        return 0;
    if (is_settling(s)) {
        more = settle_step(s, settling_of(s));
        if (more < 0)
            return more;
        if (more == 0)
            stream_settled(s);
    } else {
        const int error = learn_first(s);

        if (error != MAPDPM_OK)
            return error;
    }
    return has_queue_to_do(s);
}

int mapdpm_settle_all(mapdpm_stream *s)
{
    int error = MAPDPM_OK;

    if (is_none(s))
        return MAPDPM_E_ARGUMENT;
    while (has_queue_to_do(s)) {
        const int more = mapdpm_settle_step(s);

        if (more < 0 && error == MAPDPM_OK)
            error = more;
        if (more < 0 && is_settling(s)) /* the clusters cannot be found */
            return error;
    }
    s->bytes -= (uint32_t)queue_bytes(s); /* it comes last */
    s->queue = 0;
    return error;
}
