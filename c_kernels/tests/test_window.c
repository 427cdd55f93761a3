/* Windows that the caller keeps: ids are followed, and a sweep moves points to where they belong. */
#include "learners.h"

enum { N = 64 };

typedef struct {
    md_real x[N][3];
    int64_t times[N];
    uint32_t ids[N];
    uint64_t event;
} window;

static window kept;

/* Learn `n` points into a ring of N. Ids are followed before each new one is stored. */
static void learn(mapdpm_stream *s, uint64_t *state, unsigned n, unsigned groups, double apart)
{
    static unsigned next;
    unsigned i;

    for (i = 0; i < n; i++, next = (next + 1) % N) {
        uint32_t id;

        draw(state, groups, apart, kept.x[next]);
        CHECK_OK(mapdpm_learn(s, kept.x[next], &id, NULL));
        CHECK_OK(mapdpm_follow(s, &kept.event, kept.ids, N));
        kept.ids[next] = id;
        kept.times[next] = (int64_t)s->n_seen;
    }
}

static void forget_window(void)
{
    memset(&kept, 0, sizeof kept);
    memset(kept.ids, 0xff, sizeof kept.ids);
}

/* An id that is known belongs to an existing cluster, whatever happens. */
static void follows_ids(const mapdpm_options *o)
{
    mapdpm_stream *const s = begin(&first, o);
    uint64_t state = 5;
    unsigned round, i, n_known = 0, n_lost = 0;
    double weight;

    forget_window();
    for (round = 0; round < 300; round++) {
        learn(s, &state, 40, 3 + round / 20 % 9, 2.0 + round % 5);
        for (i = 0; i < N; i++) {
            if (kept.ids[i] == MAPDPM_NO_ID) {
                n_lost++;
                continue;
            }
            n_known++;
            CHECK(has_cluster(s, kept.ids[i], &weight));
        }
    }
    CHECK(n_known > 1000 && n_lost > 100);
}

/* Events are applied one by one, as they say. If the ring has overwritten one, no id is known any more. */
static void lost_events(void)
{
    const mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 4);
    mapdpm_stream *const s = begin(&first, &o);
    uint64_t state = 9, event = 0, before;
    uint32_t ids[3] = {0, 1, MAPDPM_NO_ID}, now;
    mapdpm_event e;
    md_real x[3];

    while (s->n_events <= MAPDPM_EVENTS(4)) {
        draw(&state, 9, 30.0, x);
        CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
    }
    CHECK_OK(mapdpm_follow(s, &event, ids, 3));
    CHECK(ids[0] == MAPDPM_NO_ID && ids[1] == MAPDPM_NO_ID && event == s->n_events);
    event++;
    CHECK_REFUSED(mapdpm_follow(s, &event, ids, 3));
    event = before = s->n_events;
    for (;;) {
        CHECK_OK(mapdpm_learn(s, x, &ids[0], NULL));
        draw(&state, 9, 30.0, x);
        before = s->n_events;
        now = ids[0];
        CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
        event = before;
        CHECK_OK(mapdpm_follow(s, &event, ids, 1));
        for (; before < s->n_events; before++) {
            CHECK_OK(mapdpm_get_event(s, before, &e));
            if (e.kind != MAPDPM_CREATED && e.id == now)
                now = e.kind == MAPDPM_MERGED ? e.other : MAPDPM_NO_ID;
        }
        CHECK(ids[0] == now);
        if (now == MAPDPM_NO_ID)
            break;
    }
}

/* Sweeps keep all weight and end when no point wants to move. They help a learner whose points came in a misleading
 * order. */
static void resweeps(const mapdpm_options *o)
{
    mapdpm_stream *const s = begin(&first, o);
    uint64_t state = 31;
    unsigned round, n_moved = 0;
    size_t moved = 1;
    double weight;

    forget_window();
    for (round = 0; round < 60; round++) {
        learn(s, &state, N, 2 + round % 7, 0.4 + 0.1 * (round % 10));
        weight = total_weight(s);
        CHECK_OK(mapdpm_resweep(s, &kept.x[0][0], kept.times, kept.ids, N, &moved));
        CHECK(fabs(total_weight(s) - weight) <= 256 * EPS * weight);
        n_moved += (unsigned)moved;
    }
    CHECK(n_moved > 0);
    for (round = 0; round < 50 && moved > 0; round++)
        CHECK_OK(mapdpm_resweep(s, &kept.x[0][0], kept.times, kept.ids, N, &moved));
    CHECK(moved == 0);
}

/* A window of one point does the same as the learner's own window does with its last point. */
static void equals_own_window(void)
{
    const mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 6);
    mapdpm_stream *const s = begin(&first, &o), *const t = begin(&second, &o);
    uint64_t state = 77;
    md_real x[2][3];
    uint32_t ids[2];
    size_t moved;
    unsigned i;

    for (i = 0; i < 2000; i++) {
        draw(&state, 5, 4.0, x[i % 2]);
        CHECK_OK(mapdpm_learn(s, x[i % 2], &ids[i % 2], NULL));
        CHECK_OK(mapdpm_learn(t, x[i % 2], NULL, NULL));
    }
    CHECK(is_same(&first, &second));
    CHECK(mapdpm_resweep(s, x[0], NULL, ids, 0, &moved) == MAPDPM_OK && moved == 0);
    CHECK(is_same(&first, &second));
    x[1][2] = (md_real)1 / (md_real)(i - 2000);
    CHECK(mapdpm_resweep(s, x[0], NULL, ids, 2, &moved) == MAPDPM_E_NUMBER);
    CHECK(is_same(&first, &second));
    CHECK_REFUSED(mapdpm_resweep(s, NULL, NULL, ids, 2, &moved));
    CHECK_REFUSED(mapdpm_resweep(NULL, x[0], NULL, ids, 2, &moved));
    CHECK_REFUSED(mapdpm_follow(s, NULL, ids, 2));
}

int main(void)
{
    mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 8), cold = warming(8, 20);
    mapdpm_stream *s;
    size_t moved;
    int64_t late = 3;
    uint32_t id = 0;
    const md_real x[3] = {0, 0, 0};

    follows_ids(&o);
    resweeps(&o);
    o.half_life = 200;
    follows_ids(&o);
    resweeps(&o);
    s = begin(&first, &o);
    CHECK_OK(mapdpm_learn(s, x, &id, NULL));
    CHECK(mapdpm_resweep(s, x, &late, &id, 1, &moved) == MAPDPM_E_TIME);
    CHECK_REFUSED(mapdpm_resweep(s, x, NULL, &id, 1, &moved));
    o = options_of(MAPDPM_NORMAL_KNOWN_VARIANCE, 5);
    follows_ids(&o);
    resweeps(&o);
    lost_events();
    equals_own_window();
    s = begin(&first, &cold);
    CHECK(mapdpm_resweep(s, x, NULL, &id, 1, &moved) == MAPDPM_E_WARMING);
    return REPORT();
}
