/* Any bytes as a learner that knows how surprising points are: assessments, contributions, alarms, files, forged files. An
 * assessment is in its range whatever has happened, and assessing changes nothing.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MANY = 5 };

/* What holds for each assessment. */
static void must_be_assessment(const mapdpm_stream *s, const mapdpm_assessment *a, int is_warming)
{
    MUST(is_warming == math_is_nan(a->log_density) && is_warming == math_is_nan(a->novelty));
    if (is_warming)
        return;
    MUST(a->novelty >= 0 && a->novelty <= 1);
    MUST(s->surprise ? a->surprise >= 0 && a->surprise <= 1 : math_is_nan(a->surprise));
}

/* A point, and its time where `by_time` says that points have times. */
static const int64_t *next_point(input *t, const mapdpm_stream *s, int by_time, mapdpm_real *x, int64_t *when)
{
    uint32_t d;

    for (d = 0; d < D_MOST; d++)
        x[d] = next_real(t);
    *when = s->now;
    if (by_time)
        *when = (int64_t)((uint64_t)*when + (uint64_t)next_time_of(t));
    return by_time ? when : NULL;
}

/* The nats of the features of a point; finite where there are any. */
static void contributions(const mapdpm_stream *s, const mapdpm_real *x)
{
    mapdpm_real nats[D_MOST];
    uint32_t d;

    if (mapdpm_contributions(s, x, nats) == MAPDPM_OK)
        for (d = 0; d < s->n_features; d++)
            MUST(math_is_finite(nats[d]));
}

/* A point is assessed, then learned: both say the same of it. An error changes nothing. */
static void learn_assessed(input *t, mapdpm_stream *s, int by_time, mapdpm_alarm *alarm, mapdpm_real *mean)
{
    const int was_warming = s->warming != 0;
    unsigned char *const before = (unsigned char *)copy_of(s, s->bytes);
    mapdpm_assessment one, other;
    mapdpm_real x[D_MOST], combined;
    int64_t when;
    const int64_t *const at = next_point(t, s, by_time, x, &when);
    const int error = mapdpm_assess(s, x, at, &one);
    int now;

    MUST(is_as_before(before, s));
    contributions(s, x);
    MUST(is_as_before(before, s));
    now = mapdpm_learn_assessed(s, x, at, &other);
    MUST(now == MAPDPM_OK || is_as_before(before, s));
    free(before);
    if (error == MAPDPM_OK)
        must_be_assessment(s, &one, was_warming);
    if (now != MAPDPM_OK)
        return;
    MUST(error == MAPDPM_OK && memcmp(&one.log_density, &other.log_density, 3 * sizeof(mapdpm_real)) == 0);
    MUST(mapdpm_alarm_update(alarm, other.surprise) == 0 || !(other.surprise > alarm->level));
    combined = mapdpm_combine_surprise(mean, other.surprise, 1 + (uint32_t)(s->n_seen % 40));
    MUST(math_is_nan(other.surprise) ? math_is_nan(combined) : combined >= 0 && combined <= 1);
}

static void assess_many(input *t, mapdpm_stream *s, int by_time)
{
    const int learns = next_byte(t) & 1, had_warming = s->warming != 0;
    unsigned char *const before = (unsigned char *)copy_of(s, s->bytes);
    mapdpm_real *const x = (mapdpm_real *)malloc((MANY + 1) * D_MOST * sizeof *x);
    mapdpm_real *const nats = (mapdpm_real *)malloc((size_t)MANY * s->n_features * sizeof *nats);
    mapdpm_assessment all[MANY];
    int64_t times[MANY], when = s->now;
    size_t n, done = 0;

    MUST(x != NULL && nats != NULL);
    for (n = 0; n < MANY; n++) {
        (void)next_point(t, s, 0, x + n * s->n_features, &times[n]);
        times[n] = when = (int64_t)((uint64_t)when + next_byte(t));
    }
    if (mapdpm_assess_many(s, x, by_time ? times : NULL, MANY, learns, all, nats, &done) == MAPDPM_OK)
        MUST(done == MANY);
    MUST(done <= MANY);
    MUST((learns && done > 0) || is_as_before(before, s));
    for (n = 0; n < done && !had_warming; n++)
        must_be_assessment(s, &all[n], 0);
    free(nats);
    free(x);
    free(before);
}

/* Save the learner, change some bytes of the file, and read it: refused, or a learner as good as others. */
static mapdpm_stream *through_forged_file(input *t, mapdpm_stream *s)
{
    const size_t bytes = s->bytes, capacity = mapdpm_snapshot_bytes(s);
    unsigned char *const file = (unsigned char *)malloc(capacity);
    mapdpm_stream *const back = new_stream(bytes);
    size_t n;

    MUST(file != NULL);
    MUST(mapdpm_snapshot_write(s, file, capacity, &n) == MAPDPM_OK);
    forge(t, file, n);
    if (mapdpm_snapshot_read(back, bytes, file, n) == MAPDPM_OK) {
        free(file);
        free(s);
        return back;
    }
    free(file);
    free(back);
    return s;
}

/* Alarms with any level, hold and time. */
static void any_alarm(input *t)
{
    mapdpm_alarm alarm;
    mapdpm_real mean = 0;
    unsigned n;

    if (mapdpm_alarm_init(&alarm, next_real(t), next_time_of(t), next_byte(t)) != MAPDPM_OK)
        return;
    for (n = next_byte(t) & 15u; n > 0; n--) {
        const mapdpm_real surprise = next_real(t), combined = mapdpm_combine_surprise(&mean, surprise, next_byte(t));
        const int alerts = n & 1 ? mapdpm_alarm_update_at(&alarm, surprise, next_time_of(t))
                                 : mapdpm_alarm_update(&alarm, surprise);

        MUST(alerts == 0 || (alerts == 1 && alarm.active == 1));
        MUST(!(surprise >= 0 && surprise <= 1) || (combined >= 0 && combined <= 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mapdpm_real parameters[3 * D_MOST], mean = 0;
    mapdpm_alarm alarm;
    mapdpm_options o;
    mapdpm_stream *s;
    input t;
    int by_time;
    size_t bytes;

    t.p = data;
    t.left = size;
    next_options(&t, &o, parameters);
    o.surprise = 1;
    o.rare = next_byte(&t) & 1 ? next_real(&t) : (mapdpm_real)0.01;
    o.max_groups = o.with_base = o.lag = 0;
    by_time = next_byte(&t) & 1;
    any_alarm(&t);
    bytes = mapdpm_stream_bytes(&o);
    if (bytes == 0)
        return 0;
    s = new_stream(bytes);
    MUST(mapdpm_alarm_init(&alarm, (mapdpm_real)0.001, 10, 1) == MAPDPM_OK);
    if (mapdpm_init(s, bytes, &o) == MAPDPM_OK) {
        while (t.left > 0) {
            const uint8_t op = next_byte(&t);

            if (op < 8)
                s = through_forged_file(&t, s);
            else if (op < 12)
                (void)mapdpm_reduce(s, op - 7u);
            else if (op < 20)
                (void)mapdpm_settle_step(s);
            else if (op < 40)
                assess_many(&t, s, by_time);
            else
                learn_assessed(&t, s, by_time, &alarm, &mean);
            must_be_whole(s);
        }
    }
    free(s);
    return 0;
}
