/* Streams in files: they are restored bit for bit, and damaged files are refused. */
#include "files.h"

enum { D = 2, K = 3, MOST = 1 << 14 };

static memory third;
static unsigned char broken[MOST];

static const md_real gamma_of_two[2 * D + 2] = {0, 0, (md_real)0.1, 2, 1, 1};
static const md_real known_of_two[3 * D] = {0, 0, 100, 100, 1, 1};

/* The states that a file can hold. */
enum { GAMMA, KNOWN, WARMING, WARMED, IN_TIME, MD_WINDOW, ALL, MISSING, STATES };

static mapdpm_options options_of_kind(int kind)
{
    mapdpm_options o;

    memset(&o, 0, sizeof o);
    o.family = kind == KNOWN ? MAPDPM_NORMAL_KNOWN_VARIANCE : MAPDPM_NORMAL_GAMMA;
    o.n_features = D;
    o.max_clusters = K;
    o.alpha = (md_real)1.5;
    o.warmup = kind == WARMING || kind == WARMED || kind == ALL ? 8 : 0;
    o.parameters = o.warmup ? NULL : (kind == KNOWN ? known_of_two : gamma_of_two);
    o.window = kind == MD_WINDOW || kind == ALL ? 4 : 0;
    o.half_life = kind == IN_TIME || kind == ALL ? 20 : 0;
    o.missing = kind == MISSING;
    return o;
}

/* Point i of a stream. */
static int learn(mapdpm_stream *s, int kind, uint32_t i, uint32_t *id, md_real *score)
{
    uint64_t state = 1000 + i;
    md_real x[D];
    unsigned d;

    for (d = 0; d < D; d++)
        x[d] = (md_real)(check_uniform(&state) + 8 * (double)((i * 7 + i / 90 + d) % 3));
    if (kind == MISSING && i % 3 == 0)
        x[i % D] = math_nan(); /* the quiet one, whatever the compiler makes of NAN */
    return kind == IN_TIME || kind == ALL ? mapdpm_learn_at(s, x, (int64_t)i * 700000 - 5000000, id, score)
                                          : mapdpm_learn(s, x, id, score);
}

static mapdpm_stream *learned(memory *m, int kind, uint32_t n)
{
    const mapdpm_options o = options_of_kind(kind);
    mapdpm_stream *const s = begin(m, &o);
    uint32_t i;

    for (i = 0; i < n; i++)
        CHECK_OK(learn(s, kind, i, NULL, NULL));
    return s;
}

static int reads(const unsigned char *from, size_t n)
{
    return mapdpm_snapshot_read(&third.stream, sizeof third.bytes, from, n);
}

static void round_trip(int kind, uint32_t n_points)
{
    const mapdpm_options o = options_of_kind(kind);
    mapdpm_stream *const s = learned(&first, kind, n_points);
    mapdpm_options back;
    mapdpm_model model;
    size_t n = save(s, file), m = 0;

    CHECK(mapdpm_snapshot_options(file, n, &back) == MAPDPM_OK &&
          mapdpm_stream_bytes(&back) == mapdpm_stream_bytes(&o));
    CHECK(back.family == o.family && back.n_features == D && back.max_clusters == K && back.warmup == o.warmup &&
          back.window == o.window && back.alpha == o.alpha && back.half_life == o.half_life &&
          back.missing == o.missing && back.parameters == NULL);
    memset(second.bytes, 0xa5, sizeof second.bytes); /* memory need not be clean */
    CHECK_OK(mapdpm_snapshot_read(&second.stream, s->bytes, file, n));
    CHECK(save(&second.stream, again) == n && memcmp(file, again, n) == 0);
    CHECK(second.bytes[s->bytes] == 0xa5);
    CHECK(mapdpm_snapshot_read(&second.stream, s->bytes - 1, file, n) == MAPDPM_E_SPACE);
    CHECK(mapdpm_snapshot_write(s, again, n - 1, &m) == MAPDPM_E_SPACE);
    CHECK(mapdpm_snapshot_read(NULL, s->bytes, file, n) == MAPDPM_E_ARGUMENT && reads(NULL, n) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_snapshot_write(NULL, again, n, &m) == MAPDPM_E_ARGUMENT && mapdpm_snapshot_bytes(NULL) == 0);
    CHECK_REFUSED(mapdpm_snapshot_options(NULL, n, &back));
    CHECK(mapdpm_model_shape(file, n, &model) == MAPDPM_E_KIND);
}

/* A learner that is saved and restored at every 97th point goes on as if it had not been. */
static void going_on(int kind)
{
    mapdpm_stream *const s = learned(&first, kind, 0), *t = learned(&second, kind, 0);
    uint32_t i, id, id2;
    md_real a, b;

    for (i = 0; i < 1500; i++) {
        CHECK(learn(s, kind, i, &id, &a) == MAPDPM_OK && learn(t, kind, i, &id2, &b) == MAPDPM_OK);
        CHECK(id == id2 && memcmp(&a, &b, sizeof a) == 0);
        if (i % 97 == 0 || i == 7 || i == 8) {
            const size_t n = save(s, file);

            CHECK(save(t, again) == n && memcmp(file, again, n) == 0);
            CHECK_OK(restore(&second, file, n));
        }
    }
    CHECK(have_same_file(s, t));
}

/* A learner from a forged file must do no harm. */
static int is_harmless(int kind)
{
    mapdpm_stream *const s = &third.stream;
    const md_real x[D] = {1, 2};
    uint32_t i, k, used = 0;
    mapdpm_cluster cluster;
    mapdpm_event event;
    uint32_t id;
    md_real score, mean[D], variance[D];

    for (i = 0; i < 5; i++) {
        (void)mapdpm_predict(s, x, &id, &score);
        (void)mapdpm_resolve(s, i * 3, &id);
        (void)mapdpm_get_event(s, s->n_events - i, &event);
        if (learn(s, kind, 40 + i, &id, &score) == MAPDPM_E_TIME && mapdpm_learn(s, x, &id, &score) == MAPDPM_E_TIME)
            (void)mapdpm_learn_at(s, x, s->now + 1000000, &id, &score);
    }
    for (k = 0; k < s->max_clusters && s->n_features <= D; k++)
        used += mapdpm_get_cluster_relative(s, k, &cluster, mean, variance) == 1;
    (void)save(s, again);
    (void)mapdpm_snapshot_read(&second.stream, sizeof second.bytes, again, mapdpm_snapshot_bytes(s));
    return s->n_features > D || used == s->n_clusters;
}

static void damage(int kind, uint32_t n_points)
{
    mapdpm_stream *const s = learned(&first, kind, n_points);
    const size_t n = save(s, file);
    size_t i, accepted = 0;
    unsigned bit;
    int is_refused = 1, harmless = 1;

    CHECK(n < MOST);
    for (i = 0; i < n; i++) {
        memcpy(broken, file, n);
        CHECK(reads(broken, i) == (i < 4 ? MAPDPM_E_FOREIGN : MAPDPM_E_TRUNCATED));
        for (bit = PART ? i % 4 : 0; bit < 8; bit += PART ? 4 : 1) {
            memcpy(broken, file, n);
            broken[i] ^= (unsigned char)(1u << bit);
            is_refused &= reads(broken, n) < 0;
            repair(broken, n);
            if (i < n - 4 && reads(broken, n) == MAPDPM_OK) {
                accepted++;
                harmless &= is_harmless(kind);
            }
        }
    }
    CHECK(is_refused);
    CHECK(harmless);
    CHECK(accepted > 0); /* most bits of a mean are valid */
    memcpy(broken, file, n);
    broken[n] = 0;
    CHECK(reads(broken, n + 1) == MAPDPM_E_DAMAGED);
}

static void forgery(void)
{
    const size_t options = 40, counters = options + 16 + 3 * MD_REAL + (2 * D + 2) * MD_REAL;
    mapdpm_stream *const s = learned(&first, ALL, 60);
    const size_t n = save(s, file), words = n - 4 - 4 * (4 * K + 4 * MAPDPM_EVENTS((size_t)s->max_clusters) + 8 + 4);
    const size_t labels = n - 4 - 4 * (8 + 4), kept = n - 4 - 4 * 4;

    CHECK(reads(file, n) == MAPDPM_OK && words % 4 == 0);
    CHECK(with(0, 'm', 1, n) == MAPDPM_E_FOREIGN);
    CHECK(with(4, 2, 2, n) == MAPDPM_E_NEWER && breaks(4, 0, 2, n));
    CHECK(with(6, 1, 1, n) == MAPDPM_E_KIND && breaks(6, 3, 1, n));
    CHECK(with(7, COMPENSATED ? 8 : 4, 1, n) == MAPDPM_E_REAL && breaks(7, 2, 1, n));
    CHECK(breaks(8, 3, 2, n) && breaks(8, 2, 2, n) && breaks(10, 1, 2, n));
    CHECK(breaks(12, 0, 4, n) && breaks(12, 1, 4, n));
    CHECK(breaks(12, UINT32_MAX, 4, n) && breaks(16, UINT32_MAX, 4, n));
    CHECK(with(16, 1 << 20, 4, n) == MAPDPM_E_SPACE && breaks(16, K - 1, 4, n));
    CHECK(breaks(20, 1, 4, n) && breaks(24, 1, 4, n) && breaks(28, 4, 4, n));
    CHECK(breaks(options, 7, 4, n) && breaks(options, 1, 4, n));
    CHECK(breaks(options + 4, 5, 4, n) && breaks(options + 8, 9, 4, n));
    CHECK(with(options + 12, 1, 4, n) < 0); /* missing values, which this library may not support */
    CHECK(breaks(options + 16 + MD_REAL - 1, 0xbf, 1, n));               /* alpha < 0 */
    CHECK(breaks(options + 16 + 2 * MD_REAL - 1, 0x40, 1, n));           /* not its logarithm */
    CHECK(breaks(options + 16 + 3 * MD_REAL - 1, 0xbf, 1, n));           /* half-life < 0 */
    CHECK(breaks(options + 16 + (3 + D + 1) * MD_REAL - 1, 0xbf, 1, n)); /* c0 < 0 */
    CHECK(breaks(counters, 3, 8, n));                      /* fewer points than the warm-up */
    CHECK(breaks(counters, UINT64_MAX, 8, n) &&            /* so many that no more can be counted */
          breaks(counters + 8, UINT64_MAX, 8, n));
    CHECK(breaks(counters + 16, UINT64_C(1) << 63, 8, n)); /* a time out of range */
    CHECK(breaks(counters + 24, 0, 4, n));                 /* fewer ids than were given */
    CHECK(breaks(counters + 28, K, 4, n));                 /* turn out of range */
    CHECK(breaks(counters + 32, K + 1, 4, n));             /* number of clusters */
    CHECK(breaks(counters + 36, 3, 4, n) && breaks(counters + 40, 1, 4, n));
    CHECK(breaks(counters + 40, 2, 4, n) && breaks(counters + 44, 4, 4, n));
    CHECK(breaks(labels, 0, 4, n) && breaks(labels, s->next_id, 4, n));
    CHECK(breaks(kept, s->next_id, 4, n));
}

/* Kept points of a warm-up have no cluster yet. If a file names one, points that were never checked would be
 * visited. */
static void forged_warm_up(void)
{
    mapdpm_stream *const s = learned(&first, ALL, 3);
    const size_t n = save(s, file);

    CHECK(s->warming && reads(file, n) == MAPDPM_OK);
    CHECK(breaks(n - 8, 9, 4, n));
}

/* Two clusters with one id are found in whatever slots they are; the order of ids is free. */
static void ids_twice(void)
{
    enum { MANY = 20 };
    mapdpm_options o = options_of_kind(GAMMA);
    mapdpm_cluster cluster;
    const md_real mean[D] = {0, 0}, variance[D] = {1, 1};
    size_t n, ids;
    uint32_t i, j;

    o.max_clusters = MANY;
    (void)begin(&first, &o);
    memset(&cluster, 0, sizeof cluster);
    for (i = 0; i < MANY - 1; i++) {
        cluster.weight = (md_real)(1 + i);
        CHECK_OK(mapdpm_insert(&first.stream, &cluster, mean, variance));
    }
    n = save(&first.stream, file);
    ids = n - 4 - 4 * (4 * MANY + 4 * MAPDPM_EVENTS((size_t)MANY));
    CHECK_OK(reads(file, n));
    for (i = 0; i < MANY - 1; i++)
        for (j = 0; j < MANY - 1; j++) {
            const uint32_t here = get32(file + ids + 4 * i), there = get32(file + ids + 4 * j);

            CHECK(with(ids + 4 * i, there, 4, n) == (i == j ? MAPDPM_OK : MAPDPM_E_DAMAGED));
            (void)put_bytes(again + ids + 4 * j, here, 4);
            repair(again, n);
            CHECK_OK(reads(again, n));
        }
}

/* The same after a gateway has reduced the learner. */
static void reduced(void)
{
    static const int kinds[] = {GAMMA, KNOWN, WARMED, ALL};
    uint32_t i, n;

    for (i = 0; i < 4; i++)
        for (n = 1; n <= 3; n++) {
            mapdpm_stream *const s = learned(&first, kinds[i], 200);

            CHECK(mapdpm_reduce(s, n) == MAPDPM_OK && s->n_clusters <= n);
            CHECK_OK(reads(file, save(s, file)));
        }
}

static void other_kinds(void)
{
    static md_real anchor[D], statistics[1 + 2 * D] = {2, 1, 1, 1, 1}, parameters[2 * D + 2] = {0, 0, 1, 1, 1, 1};
    static uint64_t counts[1] = {2};
    mapdpm_model model = {MAPDPM_NORMAL_GAMMA, D, 1, 1, 0, NULL, NULL, NULL, NULL};
    mapdpm_options o;
    size_t n;

    model.anchor = anchor;
    model.parameters = parameters;
    model.statistics = statistics;
    model.counts = counts;
    CHECK_OK(mapdpm_model_write(&model, file, sizeof file, &n));
    CHECK(reads(file, n) == MAPDPM_E_KIND && mapdpm_snapshot_options(file, n, &o) == MAPDPM_E_KIND);
}

int main(void)
{
    static const uint32_t points[STATES] = {40, 40, 5, 40, 40, 40, 40, 40};
    int kind;

    for (kind = 0; kind < STATES; kind++) {
#ifndef MAPDPM_MISSING
        if (kind == MISSING)
            continue;
#endif
        round_trip(kind, 0);
        round_trip(kind, points[kind]);
        going_on(kind);
        damage(kind, points[kind]);
    }
    damage(ALL, 5);
    forgery();
    forged_warm_up();
    ids_twice();
    reduced();
    other_kinds();
    return REPORT();
}
