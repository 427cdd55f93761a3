/* How unusual a point is: an assessment, of a point that may be learned then. */
#include "stream/mapdpm_steps.h"

void stream_assess_nothing(mapdpm_assessment *a)
{
    a->id = MD_NONE;
    a->log_density = a->novelty = a->surprise = math_nan();
}

void stream_assess(const mapdpm_stream *s, const choice *c, md_real surprise, mapdpm_assessment *a)
{
    a->id = c->best == MD_NONE ? MD_NONE : ids_of(s)[c->best];
    a->log_density = c->density;
    a->novelty = c->novelty;
    a->surprise = surprise;
}

/* The time of the next point. *time is s->now for points without times, until the first one, whose time is any. */
static int next_time(const mapdpm_stream *s, const int64_t *microseconds, int64_t *time)
{
    *time = s->now;
    if (s->clock == CLOCK_UNKNOWN)
        return MAPDPM_OK;
    if ((s->clock == CLOCK_POINTS && microseconds) || s->now >= INT64_MAX / 2)
        return MAPDPM_E_TIME;
    if (s->clock == CLOCK_POINTS) {
        *time = s->now + 1;
        return MAPDPM_OK;
    }
    if (microseconds)
        *time = *microseconds;
    return *time < s->now || *time > INT64_MAX / 2 ? MAPDPM_E_TIME : MAPDPM_OK;
}

int mapdpm_assess(mapdpm_stream *s, const md_real *x, const int64_t *microseconds, mapdpm_assessment *a)
{
    int64_t time, before;
    choice c;
    int error;

    if (is_none(s) || x == NULL || a == NULL || HAS_STATES(s) || HAS_GROUPS(s))
        return MAPDPM_E_ARGUMENT;
    error = stream_check_point(s, x);
    if (error == MAPDPM_OK)
        error = next_time(s, microseconds, &time);
    if (error != MAPDPM_OK)
        return error;
    stream_assess_nothing(a);
    if (IS_WARMING(s))
        return MAPDPM_OK;
    before = s->now;
    s->now = time;
    c = stream_choose(s, x, 1);
    stream_assess(s, &c, HAS_SURPRISE(s) ? surprise_rank(s, surprise_nats(s, x, &c)) : math_nan(), a);
    s->now = before;
    return MAPDPM_OK;
}
