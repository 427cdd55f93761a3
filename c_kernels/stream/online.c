/* The stream learner: it takes one point with all its consequences in O(K D) time, in the caller's memory
 * (docs/streams-how.md).
 *
 * Each cluster holds the moments of two halves and divides its points between them. It splits when two clusters explain
 * the halves better. No point is kept.
 */
#include "stream/mapdpm_steps.h"

/* How many points come between two looks for steps: a power of 2. */
enum { LOOKS_FOR_STEPS = 8 };

/* Returns MAPDPM_OK if x can be learned or scored. */
int stream_check_point(const mapdpm_stream *s, const md_real *x)
{
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s);
    const md_real most = IS_WARMING(s) ? WARMUP_LIMIT : COORDINATE_LIMIT;
    size_t d, n_there = 0;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real place = IS_WARMING(s) ? x[d] : (x[d] - anchor[d]) * unit[d];

        if (HAS_MISSING(s) && !is_present(x[d]))
            continue;
        if (!math_is_finite(x[d]))
            return MAPDPM_E_NUMBER;
        if (!(place >= -most && place <= most))
            return MAPDPM_E_RANGE;
        n_there++;
    }
    return n_there > 0 ? MAPDPM_OK : MAPDPM_E_NUMBER;
}

/* Whether it is time: at the end of the warm-up, and whenever as many points have come once more, while there are at
 * most two clusters. More of them show that the prior is narrow enough (decision 140). One that was given stays. */
static int revisits_prior(const mapdpm_stream *s)
{
    return MD_WARMUP(s) > 0 && !HAS_GROUPS(s) && !HAS_STATES(s) && modulo(s->n_seen, MD_WARMUP(s)) == 0 &&
           (s->n_clusters <= 2 || s->n_seen == MD_WARMUP(s));
}

/* To be called when the clusters of the warm-up are there. */
void stream_settled(mapdpm_stream *s)
{
    if (revisits_prior(s))
        stream_revisit_prior(s);
}

static int learn_warming(mapdpm_stream *s, const md_real *x, uint32_t *id)
{
    const size_t i = (size_t)s->n_seen, D = MD_FEATURES(s);
    settling z;
    int more;

    memcpy(points_of(s) + i * D, x, D * sizeof(md_real));
    times_of(s)[i] = s->now;
    *id = (uint32_t)i;
    s->n_seen++;
    if (HAS_GROUPS(s)) {
        groups_admit(s);
        point_rows_of(s)[i] = *row_of(s);
    }
    if (s->n_seen < MD_WARMUP(s))
        return MAPDPM_OK;
    if (MD_QUEUE(s) > 0) {
        settle_begin(settling_of(s));
        return MAPDPM_OK;
    }
    settle_begin(&z);
    do
        more = settle_step(s, &z);
    while (more > 0);
    if (more == 0)
        stream_settled(s);
    return more;
}

/* Add the point to slot k, new or not. Then try one change that may follow: a merge with the second best slot, a merge
 * with the next slot in order, or a split. Returns the final slot of the point. */
static uint32_t join(mapdpm_stream *s, uint32_t k, uint32_t second, const md_real *x)
{
    uint32_t look;
    size_t h = 0;

    stream_apply_decay(s, k);
    moments_add(s, slot_of(s, k), half_size(s), x, 1);
    if (HAS_BASE(s))
        base_add(s, k, x, 1);
    last_seen_of(s)[k] = (uint32_t)s->n_seen;
    if (MD_SPLITS) {
        h = stream_choose_half(s, k, x);
        moments_add(s, half_of(s, k, h), 0, x, 1);
    }
    stream_refresh(s, k);
    if (IS_GROUPED(s))
        groups_count(s, k, h);
    look = ++trials_of(s)[k] % LOOK_PERIOD;
    if (look == 0 && MD_SPLITS)
        stream_watch(s, k, x);
    if (look == 0)
        return stream_try_split(s, k, h);
    if (look % 2 == 0) {
        second = s->turn;
        s->turn = s->turn + 1 < MD_SLOTS(s) ? s->turn + 1 : 0;
    }
    stream_try_merge(s, k, second);
    return k;
}

/* Whether a point may open a cluster: MAPDPM_OK, or why not. The point before it came at the time `before`. */
static int check_opening(const mapdpm_stream *s, const choice *c, int64_t before)
{
    if (s->next_id == MD_NONE)
        return MAPDPM_E_IDS;
    if (s->n_clusters < MD_SLOTS(s) || WHEN_FULL(s) != MAPDPM_FULL_ERROR)
        return MAPDPM_OK;
    return c->has_aged && (!IS_TIMED(s) || states_will_age(s, before)) ? MAPDPM_OK : MAPDPM_E_FULL;
}

/* A point without an answer: the warm-up is not over. */
static int answer_nothing(md_real *score, mapdpm_assessment *a)
{
    if (score)
        *score = math_nan();
    if (a)
        stream_assess_nothing(a);
    return MAPDPM_OK;
}

/* Learn a point, and assess it before if `a` is not NULL. */
int stream_learn(mapdpm_stream *s, const md_real *x, int64_t now, uint32_t *id, md_real *score, mapdpm_assessment *a)
{
    const int64_t before = s->now;
    const int with_density = score != NULL || HAS_SURPRISE(s) || a != NULL;
    md_real nats = 0, surprise = math_nan();
    choice c;
    uint32_t k;
    int error = stream_check_point(s, x);

    if (error == MAPDPM_OK && HAS_GROUPS(s) && !groups_can_learn(s))
        error = MAPDPM_E_GROUP;
    if (error != MAPDPM_OK)
        return error;
    s->now = now;
    if (IS_GROUPED(s) && FORGETS(s))
        groups_total(s);
    if (IS_WARMING(s)) {
        (void)answer_nothing(score, a);
        return learn_warming(s, x, id);
    }
    c = stream_choose(s, x, with_density);
    k = c.best;
    if (c.opens)
        error = check_opening(s, &c, before);
    if (error != MAPDPM_OK) {
        s->now = before;
        if (IS_GROUPED(s) && FORGETS(s))
            groups_total(s);
        return error;
    }
    if (IS_TIMED(s) && (c.opens || c.has_aged)) { /* what waits is learned before slots come and go: decision 117 */
        s->now = before;
        states_settle(s, *n_waiting_of(s), 1);
        s->now = now;
        if (c.has_aged)
            stream_remove_aged(s);
        c = stream_choose(s, x, with_density);
        k = c.best;
        if (s->next_id == MD_NONE) /* it did not open a state before what waited was learned */
            c.opens = 0;
        if (k == MD_NONE && !c.opens) { /* no score is a number: a forged snapshot */
            s->now = before;
            return MAPDPM_E_IDS;
        }
    }
    if (HAS_SURPRISE(s)) {
        nats = surprise_nats(s, x, &c);
        surprise = surprise_rank(s, nats);
    }
    if (a)
        stream_assess(s, &c, surprise, a);
    s->n_seen++;
    if (IS_GROUPED(s))
        groups_admit(s);
    if (c.has_aged)
        stream_remove_aged(s);
    if (c.opens) {
        uint32_t e = s->n_clusters < MD_SLOTS(s) ? stream_free_slot(s) : stream_make_room(s, MD_NONE, LARGEST_REAL);

        if (e != MD_NONE) {
            stream_open_slot(s, e);
            ids_of(s)[e] = s->next_id++;
            stream_record(s, MAPDPM_CREATED, ids_of(s)[e], 0);
            c.second = k;
            k = e;
        } else {
            c.opens = 0;
        }
    }
    if (k == MD_NONE) /* no score is a number: a forged snapshot */
        k = 0;
    if (IS_TIMED(s))
        k = states_learn(s, k, c.opens, x);
    else
        k = join(s, k, c.second, x);
    if (HAS_SURPRISE(s))
        surprise_count(s, nats, surprise, k, c.weight);
    if (score)
        *score = c.density;
    *id = ids_of(s)[k];
    if (MD_WINDOW(s) > 0)
        stream_revisit(s, x, *id);
    if (HAS_RELEVANCE(s))
        relevance_learn(s, x, before);
    if (HAS_RESOLUTION(s) && s->n_seen % LOOKS_FOR_STEPS == 0)
        resolution_look(s, x);
    if (revisits_prior(s))
        stream_revisit_prior(s);
    if (HAS_RELEVANCE(s) && modulo(s->n_seen, MD_WARMUP(s)) == 0)
        relevance_judge(s);
    return MAPDPM_OK;
}

/* Learn a point, or put it into the queue. */
static int learn(mapdpm_stream *s, const md_real *x, int64_t now, uint32_t *id, md_real *score, mapdpm_assessment *a)
{
    int error;

    if (!has_queue_to_do(s))
        return stream_learn(s, x, now, id, score, a);
    error = stream_check_point(s, x);
    if (error == MAPDPM_OK && HAS_GROUPS(s) && !groups_can_learn(s))
        error = MAPDPM_E_GROUP;
    if (error == MAPDPM_OK)
        error = queue_add(s, x, now);
    if (error != MAPDPM_OK)
        return error;
    *id = MD_NONE;
    return answer_nothing(score, a);
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

static int learn_next(mapdpm_stream *s, const md_real *x, uint32_t *id, md_real *score, mapdpm_assessment *a)
{
    uint32_t unused;
    int error;

    if (is_none(s) || x == NULL)
        return MAPDPM_E_ARGUMENT;
    if (s->clock == CLOCK_MICROSECONDS || s->now >= INT64_MAX / 2)
        return MAPDPM_E_TIME;
    error = learn(s, x, s->now + 1, id ? id : &unused, score, a);
    if (error == MAPDPM_OK)
        s->clock = CLOCK_POINTS;
    return error;
}

static int learn_at(mapdpm_stream *s, const md_real *x, int64_t microseconds, uint32_t *id, md_real *score,
                    mapdpm_assessment *a)
{
    uint32_t unused;
    const int starts = s != NULL && s->clock == CLOCK_UNKNOWN;
    md_real rate;
    uint32_t k;
    int error;

    if (is_none(s) || x == NULL)
        return MAPDPM_E_ARGUMENT;
    /* Within 2^62 microseconds of 0, 146,000 years, so that differences do not overflow. */
    if (s->clock == CLOCK_POINTS || (!starts && microseconds < queue_latest(s)) || microseconds > INT64_MAX / 2 ||
        microseconds < -(INT64_MAX / 2))
        return MAPDPM_E_TIME;
    rate = s->rate;
    if (starts) { /* clusters inserted before the first time get that time */
        s->rate = rate / 1000000;
        for (k = 0; k < s->width; k++)
            last_times_of(s)[k] = microseconds;
    }
    error = learn(s, x, microseconds, id ? id : &unused, score, a);
    if (error == MAPDPM_OK)
        s->clock = CLOCK_MICROSECONDS;
    else
        s->rate = rate;
    for (k = 0; starts && error != MAPDPM_OK && k < s->width; k++)
        last_times_of(s)[k] = s->now;
    if (starts && error != MAPDPM_OK && IS_GROUPED(s))
        groups_total(s);
    return error;
}

int mapdpm_learn(mapdpm_stream *s, const md_real *x, uint32_t *id, md_real *score)
{
    return learn_next(s, x, id, score, NULL);
}

int mapdpm_learn_at(mapdpm_stream *s, const md_real *x, int64_t microseconds, uint32_t *id, md_real *score)
{
    return learn_at(s, x, microseconds, id, score, NULL);
}

int mapdpm_learn_many(mapdpm_stream *s, const md_real *x, const int64_t *microseconds, size_t n, uint32_t *ids,
                      md_real *scores, size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (is_none(s) || x == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        const md_real *const point = x + i * MD_FEATURES(s);
        uint32_t *const id = ids ? ids + i : NULL;
        md_real *const score = scores ? scores + i : NULL;

        error =
            microseconds ? mapdpm_learn_at(s, point, microseconds[i], id, score) : mapdpm_learn(s, point, id, score);
        if (error != MAPDPM_OK)
            break;
    }
    *done = i;
    return error;
}

int mapdpm_predict(const mapdpm_stream *s, const md_real *x, uint32_t *id, md_real *score)
{
    choice c;
    int error;

    if (is_none(s) || x == NULL)
        return MAPDPM_E_ARGUMENT;
    error = stream_check_point(s, x);
    if (error != MAPDPM_OK)
        return error;
    if (IS_WARMING(s)) {
        if (score)
            *score = math_nan();
        return id ? MAPDPM_E_WARMING : MAPDPM_OK;
    }
    c = stream_choose(s, x, score != NULL);
    if (score)
        *score = c.density;
    if (id == NULL)
        return MAPDPM_OK;
    if (c.best == MD_NONE)
        return MAPDPM_E_WARMING;
    *id = ids_of(s)[c.best];
    return MAPDPM_OK;
}

int mapdpm_predict_many(const mapdpm_stream *s, const md_real *x, size_t n, uint32_t *ids, md_real *scores,
                        size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (is_none(s) || x == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        error = mapdpm_predict(s, x + i * MD_FEATURES(s), ids ? ids + i : NULL, scores ? scores + i : NULL);
        if (error != MAPDPM_OK)
            break;
    }
    *done = i;
    return error;
}

/* ---- assessments ------------------------------------------------------------------------------------------------- */

int mapdpm_learn_assessed(mapdpm_stream *s, const md_real *x, const int64_t *microseconds, mapdpm_assessment *a)
{
    mapdpm_assessment found;
    uint32_t id = MD_NONE;
    int error;

    if (is_none(s) || a == NULL || HAS_STATES(s) || HAS_GROUPS(s))
        return MAPDPM_E_ARGUMENT;
    error = microseconds ? learn_at(s, x, *microseconds, &id, NULL, &found) : learn_next(s, x, &id, NULL, &found);
    if (error != MAPDPM_OK)
        return error;
    *a = found;
    a->id = id;
    return MAPDPM_OK;
}
