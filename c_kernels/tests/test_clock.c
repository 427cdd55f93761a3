/* Clocks that begin anew, or wrap. */
#include "files.h"

enum { N = 300 };

static mapdpm_options forgetful(unsigned kind)
{
    mapdpm_options o = kind == 1 ? warming(8, 40) : options_of(MAPDPM_NORMAL_GAMMA, 8);

    o.half_life = 5;
    o.window = kind == 2 ? 20 : 0;
    if (WITH_STATES && kind == 3) {
        o.lag = 4;
        o.gamma = 2;
    }
    return o;
}

/* A learner whose clock begins anew, several times, answers as one whose clock goes on. */
static void begins_anew(unsigned kind, int64_t anew)
{
    const mapdpm_options o = forgetful(kind);
    mapdpm_stream *const s = begin(&first, &o), *const t = begin(&second, &o);
    int64_t time = 1000000000, away = 0;
    uint64_t state = 7 + kind;
    uint32_t id, id2;
    md_real x[3], a, b;
    unsigned i;

    for (i = 0; i < N; i++, time += 100000) {
        draw(&state, 4, 9.0, x);
        if (i % 70 == 69) {
            CHECK_OK(restore(&second, file, save(t, file)));
            CHECK(anew >= t->now || mapdpm_learn_at(t, x, anew, NULL, NULL) == MAPDPM_E_TIME);
            CHECK_OK(mapdpm_rebase(t, anew));
            away = anew - (time - 100000);
        }
        CHECK_OK(mapdpm_learn_at(s, x, time, &id, &a));
        CHECK_OK(mapdpm_learn_at(t, x, time + away, &id2, &b));
        CHECK(id == id2 && memcmp(&a, &b, sizeof a) == 0);
    }
    CHECK(s->n_clusters == t->n_clusters && s->n_events == t->n_events);
    CHECK_OK(restore(&first, file, save(t, file)));
}

static void limits(void)
{
    mapdpm_options o = forgetful(0);
    mapdpm_stream *s = begin(&first, &o);
    const md_real x[3] = {0};
    const int64_t most = INT64_MAX / 2;

    CHECK(mapdpm_rebase(NULL, 0) == MAPDPM_E_ARGUMENT && mapdpm_rebase(s, 0) == MAPDPM_E_TIME); /* no time yet */
    CHECK_OK(mapdpm_learn_at(s, x, -most, NULL, NULL));
    CHECK_OK(mapdpm_learn_at(s, x, most, NULL, NULL));
    CHECK(mapdpm_rebase(s, most + 1) == MAPDPM_E_TIME && mapdpm_rebase(s, -most - 1) == MAPDPM_E_TIME);
    CHECK(mapdpm_rebase(s, -most) == MAPDPM_OK && mapdpm_rebase(s, most) == MAPDPM_OK);
    CHECK_OK(restore(&second, file, save(s, file)));
    s = begin(&first, &o);
    CHECK(mapdpm_learn(s, x, NULL, NULL) == MAPDPM_OK && mapdpm_rebase(s, 0) == MAPDPM_E_TIME);
}

static void wraps(void)
{
    const uint32_t steps[] = {0, 1, 7, UINT32_C(0x80000000), UINT32_C(0xfffffffe), UINT32_C(0xffffffff)};
    int64_t now = 0, truth = 0;
    unsigned i;

    for (i = 0; i < 60; i++) {
        truth += steps[i % 6];
        now = mapdpm_unwrap(now, (uint32_t)(uint64_t)truth);
        CHECK(now == truth);
    }
    CHECK(mapdpm_unwrap(-1, 0) == 0 && mapdpm_unwrap(-5, UINT32_MAX) == -1);
}

int main(void)
{
    unsigned kind;

    for (kind = 0; kind < 4; kind++) {
        begins_anew(kind, 0);
        begins_anew(kind, -5000000000);
        begins_anew(kind, INT64_C(1) << 50);
    }
    limits();
    wraps();
    return REPORT();
}
