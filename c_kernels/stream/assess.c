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

/* The time of the next point, as it would be learned. The first time may be any: it is that of the clusters so far. */
static int next_time(const mapdpm_stream *s, const int64_t *microseconds, int64_t *time)
{
    *time = s->now;
    if (s->clock == CLOCK_UNKNOWN && microseconds)
        return MAPDPM_OK;
    if ((s->clock == CLOCK_POINTS && microseconds) || s->now >= INT64_MAX / 2)
        return MAPDPM_E_TIME;
    if (s->clock != CLOCK_MICROSECONDS) {
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

/* The nearest cluster that is not rare, by the density of x and the weight; what a new one is where there is none. */
static view nearest_common(const mapdpm_stream *s, const md_real *x)
{
    view best = empty_view(s);
    md_real most = -LARGEST_REAL;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k) && !is_rare(s, k)) {
            const view v = view_of(s, k, s->now);
            const md_real weight = v.decay * *v.moments;
            const md_real score = weight >= FORGOTTEN_WEIGHT ? density(s, v, x) + math_log(weight) : -LARGEST_REAL;

            if (score > most) {
                most = score;
                best = v;
            }
        }
    return best;
}

int mapdpm_contributions(const mapdpm_stream *s, const md_real *x, md_real *nats)
{
    view v;
    size_t d;
    int error;

    if (is_none(s) || x == NULL || nats == NULL || !HAS_SURPRISE(s))
        return MAPDPM_E_ARGUMENT;
    error = stream_check_point(s, x);
    if (error != MAPDPM_OK)
        return error;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    v = nearest_common(s, x);
    for (d = 0; d < MD_FEATURES(s); d++)
        if (HAS_MISSING(s) && !is_present(x[d]))
            nats[d] = 0;
        else
            nats[d] = is_relevant(s, d) ? nats_below_peak(s, v, x, d) : background_below(s, x, d);
    return MAPDPM_OK;
}

/* The contributions to a point that is unusual enough to ask why; NaN for another one. */
static void tell_contributions(const mapdpm_stream *s, const md_real *x, md_real surprise, md_real *nats)
{
    size_t d;

    if (surprise <= MD_UNUSUAL && mapdpm_contributions(s, x, nats) == MAPDPM_OK)
        return;
    for (d = 0; d < MD_FEATURES(s); d++)
        nats[d] = math_nan();
}

int mapdpm_assess_many(mapdpm_stream *s, const md_real *x, const int64_t *microseconds, size_t n, int learns,
                       mapdpm_assessment *assessments, md_real *contributions, size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (is_none(s) || x == NULL || assessments == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n && error == MAPDPM_OK; i += error == MAPDPM_OK) {
        const size_t place = i * MD_FEATURES(s);
        const int64_t *const time = microseconds ? microseconds + i : NULL;

        error = learns ? mapdpm_learn_assessed(s, x + place, time, assessments + i)
                       : mapdpm_assess(s, x + place, time, assessments + i);
        if (error == MAPDPM_OK && contributions)
            tell_contributions(s, x + place, assessments[i].surprise, contributions + place);
    }
    *done = i;
    return error;
}
