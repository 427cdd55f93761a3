/* A warm-up that ends in steps while points wait: the same bits as one that ends at once, for every kind of learner,
 * with steps and losses of power at any time.
 */
#include "files.h"

enum { N = 400, WARMUP = 60, QUEUE = 25 };

typedef struct {
    mapdpm_options options;
    int timed;
} learner_kind;

static learner_kind kind_of_learner(unsigned i)
{
    learner_kind kind;

    kind.options = warming(8, WARMUP);
    kind.timed = i % 2 == 1;
    kind.options.half_life = i == 1 || i == 2 ? 100 : 0;
    kind.options.window = i == 3 ? 80 : 0;
    kind.options.missing = WITH_MISSING && i == 4;
#ifdef MAPDPM_SURPRISE
    kind.options.surprise = i == 5 || i == 2;
    kind.options.rare = kind.options.surprise ? (md_real)0.02 : 0;
#endif
    if (WITH_GROUPS && (i == 6 || i == 7)) {
        kind.options.max_groups = 3;
        kind.options.gamma = 2;
        kind.options.when_groups_full = MAPDPM_GROUPS_REPLACE;
        kind.options.with_base = i == 7;
    }
    if (WITH_STATES && (i == 8 || i == 9)) {
        kind.options.lag = 4;
        kind.options.gamma = 2;
        kind.options.kappa = 1;
    }
    return kind;
}

static int learn_point(mapdpm_stream *s, const learner_kind *kind, uint32_t i, const md_real *x, uint32_t *id,
                       md_real *score)
{
    if (kind->options.max_groups > 0)
        CHECK_OK(mapdpm_set_group(s, i / 7 % 5));
    return kind->timed ? mapdpm_learn_at(s, x, (int64_t)i * 250000, id, score) : mapdpm_learn(s, x, id, score);
}

/* The power is lost, and the learner is restored from its last snapshot. */
static void lose_power(memory *m)
{
    const size_t n = save(&m->stream, file), bytes = m->stream.bytes;

    memset(m->bytes, 0x5a, bytes);
    CHECK_OK(mapdpm_snapshot_read(&m->stream, bytes, file, n));
    CHECK(save(&m->stream, again) == n && memcmp(file, again, n) == 0);
}

/* Learn a point, with as many steps before as it takes to have room. */
static void learn_in_steps(mapdpm_stream *s, const learner_kind *kind, uint32_t i, const md_real *x)
{
    uint32_t id = 0;
    md_real score = 0;
    int error, waits;

    while (mapdpm_n_queued(s) == QUEUE) {
        CHECK(learn_point(s, kind, i, x, &id, &score) == MAPDPM_E_WARMING);
        CHECK(mapdpm_settle_step(s) == 1);
    }
    waits = has_queue_to_do(s);
    error = learn_point(s, kind, i, x, &id, &score);
    CHECK(error == MAPDPM_OK);
    CHECK(!waits || (id == MAPDPM_NO_ID && !(score == score)));
}

static void same_bits(unsigned which, unsigned most_steps, unsigned losses, uint64_t seed)
{
    const learner_kind kind = kind_of_learner(which);
    mapdpm_options o = kind.options;
    mapdpm_stream *const s = begin(&first, &o), *t;
    uint64_t state = seed, chance = seed + 1;
    unsigned steps;
    uint32_t i;
    md_real x[3];

    o.queue = QUEUE;
    t = begin(&second, &o);
    for (i = 0; i < N; i++) {
        draw(&state, 4, 9.0, x);
        if (o.missing && i % 5 == 2)
            x[i % 3] = (md_real)NAN;
        CHECK_OK(learn_point(s, &kind, i, x, NULL, NULL));
        for (steps = (unsigned)(check_random(&chance) >> 33) % (most_steps + 1); steps > 0; steps--) {
            if (losses > 0 && (check_random(&chance) >> 33) % losses == 0)
                lose_power(&second);
            CHECK(mapdpm_settle_step(t) >= 0);
        }
        learn_in_steps(t, &kind, i, x);
    }
    CHECK(!mapdpm_is_warming(t) || (mapdpm_n_clusters(t) == 0 && mapdpm_n_events(t) == 0));
    while (mapdpm_settle_step(t) == 1)
        ;
    CHECK(mapdpm_settle_step(t) == 0 && mapdpm_n_queued(t) == 0 && !mapdpm_is_warming(t));
    CHECK(mapdpm_settle_all(t) == MAPDPM_OK && t->bytes == s->bytes);
    CHECK(have_same_file(s, t));
    CHECK(s->n_clusters > 1);
}

/* Points that cannot be learned once the prior is known are refused then, and only those. */
static void refused(void)
{
    mapdpm_options o = warming(8, WARMUP);
    const md_real far[3] = {FLOAT_OR_DOUBLE(9e14, 9e90), 0, 0}, nan[3] = {(md_real)NAN, 0, 0};
    mapdpm_stream *const s = begin(&first, &o), *t;
    uint64_t state = 5;
    uint32_t i, refusals = 0;
    md_real x[3];
    int more = 1;

    o.queue = QUEUE;
    t = begin(&second, &o);
    for (i = 0; i < WARMUP + 20; i++) {
        draw(&state, 3, 9.0, x);
        CHECK(mapdpm_learn(s, i == WARMUP + 3 ? far : x, NULL, NULL) == (i == WARMUP + 3 ? MAPDPM_E_RANGE : MAPDPM_OK));
        CHECK_OK(mapdpm_learn(t, i == WARMUP + 3 ? far : x, NULL, NULL));
    }
    CHECK(WITH_MISSING || mapdpm_learn(t, nan, NULL, NULL) == MAPDPM_E_NUMBER);
    CHECK(mapdpm_predict(t, x, NULL, NULL) == MAPDPM_OK && mapdpm_is_warming(t) && mapdpm_n_queued(t) == 20);
    while (more != 0) {
        more = mapdpm_settle_step(t);
        refusals += more == MAPDPM_E_RANGE;
    }
    CHECK(refusals == 1 && mapdpm_settle_all(t) == MAPDPM_OK);
    CHECK(have_same_file(s, t));
}

/* Times in the queue may not go backwards; a full queue changes nothing; options out of range. */
static void limits(void)
{
    mapdpm_options o = warming(8, 30);
    mapdpm_bank *const bank = (mapdpm_bank *)(void *)&first;
    const md_real alpha = 1;
    mapdpm_stream *s;
    uint64_t state = 9;
    uint32_t i;
    md_real x[3];

    o.queue = 3;
    s = begin(&second, &o);
    for (i = 0; i < 33; i++) {
        draw(&state, 3, 9.0, x);
        CHECK_OK(mapdpm_learn_at(s, x, 100 * (int64_t)i, NULL, NULL));
        if (i == 31)
            CHECK(mapdpm_learn_at(s, x, 3099, NULL, NULL) == MAPDPM_E_TIME);
    }
    memcpy(&first, &second, s->bytes);
    CHECK(mapdpm_learn_at(s, x, 9999, NULL, NULL) == MAPDPM_E_WARMING && is_same(&first, &second));
    CHECK(mapdpm_rebase(s, 50) == MAPDPM_OK && mapdpm_settle_step(s) == 1);
    CHECK(mapdpm_settle_all(s) == MAPDPM_OK && mapdpm_n_queued(s) == 0 && s->now == 50 && mapdpm_n_seen(s) == 33);
    CHECK(mapdpm_settle_step(s) == 0 && mapdpm_settle_all(s) == MAPDPM_OK);
    CHECK(mapdpm_settle_step(NULL) == MAPDPM_E_ARGUMENT && mapdpm_settle_all(NULL) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_n_queued(NULL) == 0);
    CHECK_REFUSED(mapdpm_bank_init(bank, sizeof first, &o, &alpha, 1, 0, 0));
    CHECK_WITH(o.queue, 65536, mapdpm_stream_bytes(&o) == 0);
    o = options_of(MAPDPM_NORMAL_GAMMA, 8);
    o.queue = 5;
    CHECK(mapdpm_stream_bytes(&o) == 0);
}

int main(void)
{
    unsigned i;

    for (i = 0; i < 10; i++) {
        same_bits(i, 3, 0, 11 + i);    /* long before the queue is empty */
        same_bits(i, 300, 0, 31 + i);  /* soon over */
        same_bits(i, 800, 97, 51 + i); /* with losses of power, after which the settlement starts anew */
    }
    refused();
    limits();
    return REPORT();
}
