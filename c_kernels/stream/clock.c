/* Clocks that begin anew, or wrap. They count integers: decision 52. */
#include "stream/mapdpm_steps.h"

/* A time that was `age` before `from`, when that is moved to `to`. The earliest time stays in the range. */
static int64_t moved_time(int64_t time, int64_t from, int64_t to)
{
    const uint64_t age = (uint64_t)from - (uint64_t)time, most = (uint64_t)to + (uint64_t)(INT64_MAX / 2);

    return age < most ? to - (int64_t)age : -(INT64_MAX / 2);
}

static void move_times(int64_t *times, size_t n, int64_t from, int64_t to)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (times[i] <= from) /* else it was never used */
            times[i] = moved_time(times[i], from, to);
}

int mapdpm_rebase(mapdpm_stream *s, int64_t now)
{
    int64_t from;

    if (is_none(s))
        return MAPDPM_E_ARGUMENT;
    if (s->clock != CLOCK_MICROSECONDS || now > INT64_MAX / 2 || now < -(INT64_MAX / 2))
        return MAPDPM_E_TIME;
    from = queue_latest(s);
    move_times(last_times_of(s), MD_SLOTS(s) + buffer_size(s), from, now);
    move_times(queue_times(s), MD_QUEUE(s), from, now);
    if (HAS_STATES(s))
        move_times(decayed_to(s), 1, from, now);
    s->now = moved_time(s->now, from, now);
    return MAPDPM_OK;
}

int64_t mapdpm_unwrap(int64_t before, uint32_t ticks)
{
    return before + (int64_t)(uint32_t)(ticks - (uint32_t)((uint64_t)before & UINT32_MAX));
}
