/* Streams in files: they are restored bit for bit, and damaged files are refused. */
#include "check.h"
#include "files/mapdpm_bytes.h"
#include "learner/mapdpm_learner.h"

enum { D = 2, K = 3, MD_MEMORY = 1 << 14, MOST = 1 << 14 };

typedef union {
    uint64_t aligned;
    mapdpm_stream stream;
    unsigned char bytes[MD_MEMORY];
} memory;

static memory first, second, third;
static unsigned char file[MOST], file2[MOST], broken[MOST];

static const md_real gamma_prior[2 * D + 2] = {0, 0, (md_real)0.1, 2, 1, 1};
static const md_real known_prior[3 * D] = {0, 0, 100, 100, 1, 1};

/* The states that a file can hold. */
enum { GAMMA, KNOWN, WARMING, WARMED, IN_TIME, MD_WINDOW, ALL, MISSING, STATES };

static mapdpm_options options_of(int kind)
{
    mapdpm_options o;

    memset(&o, 0, sizeof o);
    o.family = kind == KNOWN ? MAPDPM_NORMAL_KNOWN_VARIANCE : MAPDPM_NORMAL_GAMMA;
    o.n_features = D;
    o.max_clusters = K;
    o.alpha = (md_real)1.5;
    o.warmup = kind == WARMING || kind == WARMED || kind == ALL ? 8 : 0;
    o.parameters = o.warmup ? NULL : (kind == KNOWN ? known_prior : gamma_prior);
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
    if (kind == MISSING && i % 3 == 0) {
        const uint32_t quiet = 0x7fc00000u;
        const uint64_t whole = UINT64_C(0x7ff8000000000000);

        if (COMPENSATED)
            memcpy(&x[i % D], &quiet, 4);
        else
            memcpy(&x[i % D], &whole, sizeof(md_real));
    }
    return kind == IN_TIME || kind == ALL ? mapdpm_learn_at(s, x, (int64_t)i * 700000 - 5000000, id, score)
                                          : mapdpm_learn(s, x, id, score);
}

static mapdpm_stream *begin(memory *m, int kind, uint32_t n)
{
    const mapdpm_options o = options_of(kind);
    uint32_t i;

    CHECK(mapdpm_init(&m->stream, sizeof m->bytes, &o) == MAPDPM_OK);
    for (i = 0; i < n; i++)
        CHECK(learn(&m->stream, kind, i, NULL, NULL) == MAPDPM_OK);
    return &m->stream;
}

static size_t write(const mapdpm_stream *s, unsigned char *to)
{
    size_t n = 0;

    CHECK(mapdpm_snapshot_write(s, to, MOST, &n) == MAPDPM_OK && n == mapdpm_snapshot_bytes(s));
    return n;
}

static int reads(const unsigned char *from, size_t n)
{
    return mapdpm_snapshot_read(&third.stream, sizeof third.bytes, from, n);
}

static void round_trip(int kind, uint32_t n_points)
{
    const mapdpm_options o = options_of(kind);
    mapdpm_stream *const s = begin(&first, kind, n_points);
    mapdpm_options back;
    mapdpm_model model;
    size_t n = write(s, file), m = 0;

    CHECK(mapdpm_snapshot_options(file, n, &back) == MAPDPM_OK &&
          mapdpm_stream_bytes(&back) == mapdpm_stream_bytes(&o));
    CHECK(back.family == o.family && back.n_features == D && back.max_clusters == K && back.warmup == o.warmup &&
          back.window == o.window && back.alpha == o.alpha && back.half_life == o.half_life &&
          back.missing == o.missing && back.parameters == NULL);
    memset(second.bytes, 0xa5, sizeof second.bytes); /* memory need not be clean */
    CHECK(mapdpm_snapshot_read(&second.stream, s->bytes, file, n) == MAPDPM_OK);
    CHECK(write(&second.stream, file2) == n && memcmp(file, file2, n) == 0);
    CHECK(second.bytes[s->bytes] == 0xa5);
    CHECK(mapdpm_snapshot_read(&second.stream, s->bytes - 1, file, n) == MAPDPM_E_SPACE);
    CHECK(mapdpm_snapshot_write(s, file2, n - 1, &m) == MAPDPM_E_SPACE);
    CHECK(mapdpm_snapshot_read(NULL, s->bytes, file, n) == MAPDPM_E_ARGUMENT && reads(NULL, n) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_snapshot_write(NULL, file2, n, &m) == MAPDPM_E_ARGUMENT && mapdpm_snapshot_bytes(NULL) == 0);
    CHECK(mapdpm_snapshot_options(NULL, n, &back) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_model_shape(file, n, &model) == MAPDPM_E_KIND);
}

/* A learner that is saved and restored at every 97th point goes on as if it had not been. */
static void going_on(int kind)
{
    mapdpm_stream *const s = begin(&first, kind, 0), *t = begin(&second, kind, 0);
    uint32_t i, id, id2;
    md_real a, b;

    for (i = 0; i < 1500; i++) {
        CHECK(learn(s, kind, i, &id, &a) == MAPDPM_OK && learn(t, kind, i, &id2, &b) == MAPDPM_OK);
        CHECK(id == id2 && memcmp(&a, &b, sizeof a) == 0);
        if (i % 97 == 0 || i == 7 || i == 8) {
            const size_t n = write(s, file);

            CHECK(write(t, file2) == n && memcmp(file, file2, n) == 0);
            memset(second.bytes, 0x5a, sizeof second.bytes);
            CHECK(mapdpm_snapshot_read(t, sizeof second.bytes, file, n) == MAPDPM_OK);
        }
    }
    CHECK(write(s, file) == write(t, file2) && memcmp(file, file2, mapdpm_snapshot_bytes(s)) == 0);
}

static void repair(unsigned char *snapshot, size_t n)
{
    (void)put_bytes(snapshot + n - 4, mapdpm_crc32(0, snapshot, n - 4), 4);
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
    (void)write(s, file2);
    (void)mapdpm_snapshot_read(&second.stream, sizeof second.bytes, file2, mapdpm_snapshot_bytes(s));
    return s->n_features > D || used == s->n_clusters;
}

static void damage(int kind, uint32_t n_points)
{
    mapdpm_stream *const s = begin(&first, kind, n_points);
    const size_t n = write(s, file);
    size_t i, accepted = 0;
    unsigned bit;
    int is_refused = 1, harmless = 1;

    CHECK(n < MOST);
    for (i = 0; i < n; i++) {
        memcpy(broken, file, n);
        CHECK(reads(broken, i) == (i < 4 ? MAPDPM_E_FOREIGN : MAPDPM_E_TRUNCATED));
        for (bit = 0; bit < 8; bit++) {
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

/* A valid CRC over an invalid field, as an attacker or a bug would write it. */
static int with(size_t where, uint64_t value, int bytes, size_t n)
{
    memcpy(broken, file, n);
    (void)put_bytes(broken + where, value, bytes);
    repair(broken, n);
    return reads(broken, n);
}

static void forgery(void)
{
    const size_t options = 40, counters = options + 16 + 3 * MD_REAL + (2 * D + 2) * MD_REAL;
    mapdpm_stream *const s = begin(&first, ALL, 60);
    const size_t n = write(s, file), words = n - 4 - 4 * (4 * K + 4 * MAPDPM_EVENTS((size_t)s->max_clusters) + 8 + 4);
    const size_t labels = n - 4 - 4 * (8 + 4), kept = n - 4 - 4 * 4;

    CHECK(reads(file, n) == MAPDPM_OK && words % 4 == 0);
    CHECK(with(0, 'm', 1, n) == MAPDPM_E_FOREIGN);
    CHECK(with(4, 2, 2, n) == MAPDPM_E_NEWER && with(4, 0, 2, n) == MAPDPM_E_DAMAGED);
    CHECK(with(6, 1, 1, n) == MAPDPM_E_KIND && with(6, 3, 1, n) == MAPDPM_E_DAMAGED);
    CHECK(with(7, COMPENSATED ? 8 : 4, 1, n) == MAPDPM_E_REAL && with(7, 2, 1, n) == MAPDPM_E_DAMAGED);
    CHECK(with(8, 3, 2, n) == MAPDPM_E_DAMAGED && with(8, 2, 2, n) == MAPDPM_E_DAMAGED &&
          with(10, 1, 2, n) == MAPDPM_E_DAMAGED);
    CHECK(with(12, 0, 4, n) == MAPDPM_E_DAMAGED && with(12, 1, 4, n) == MAPDPM_E_DAMAGED);
    CHECK(with(12, UINT32_MAX, 4, n) == MAPDPM_E_DAMAGED && with(16, UINT32_MAX, 4, n) == MAPDPM_E_DAMAGED);
    CHECK(with(16, 1 << 20, 4, n) == MAPDPM_E_SPACE && with(16, K - 1, 4, n) == MAPDPM_E_DAMAGED);
    CHECK(with(20, 1, 4, n) == MAPDPM_E_DAMAGED && with(24, 1, 4, n) == MAPDPM_E_DAMAGED &&
          with(28, 4, 4, n) == MAPDPM_E_DAMAGED);
    CHECK(with(options, 7, 4, n) == MAPDPM_E_DAMAGED && with(options, 1, 4, n) == MAPDPM_E_DAMAGED);
    CHECK(with(options + 4, 5, 4, n) == MAPDPM_E_DAMAGED && with(options + 8, 9, 4, n) == MAPDPM_E_DAMAGED);
    CHECK(with(options + 12, 1, 4, n) < 0); /* missing values, which this library may not support */
    CHECK(with(options + 16 + MD_REAL - 1, 0xbf, 1, n) == MAPDPM_E_DAMAGED);               /* alpha < 0 */
    CHECK(with(options + 16 + 2 * MD_REAL - 1, 0x40, 1, n) == MAPDPM_E_DAMAGED);           /* not its logarithm */
    CHECK(with(options + 16 + 3 * MD_REAL - 1, 0xbf, 1, n) == MAPDPM_E_DAMAGED);           /* half-life < 0 */
    CHECK(with(options + 16 + (3 + D + 1) * MD_REAL - 1, 0xbf, 1, n) == MAPDPM_E_DAMAGED); /* c0 < 0 */
    CHECK(with(counters, 3, 8, n) == MAPDPM_E_DAMAGED);                      /* fewer points than the warm-up */
    CHECK(with(counters, UINT64_MAX, 8, n) == MAPDPM_E_DAMAGED &&            /* so many that no more can be counted */
          with(counters + 8, UINT64_MAX, 8, n) == MAPDPM_E_DAMAGED);
    CHECK(with(counters + 16, UINT64_C(1) << 63, 8, n) == MAPDPM_E_DAMAGED); /* a time out of range */
    CHECK(with(counters + 24, 0, 4, n) == MAPDPM_E_DAMAGED);                 /* fewer ids than were given */
    CHECK(with(counters + 28, K, 4, n) == MAPDPM_E_DAMAGED);                 /* turn out of range */
    CHECK(with(counters + 32, K + 1, 4, n) == MAPDPM_E_DAMAGED);             /* number of clusters */
    CHECK(with(counters + 36, 3, 4, n) == MAPDPM_E_DAMAGED && with(counters + 40, 1, 4, n) == MAPDPM_E_DAMAGED);
    CHECK(with(counters + 40, 2, 4, n) == MAPDPM_E_DAMAGED && with(counters + 44, 4, 4, n) == MAPDPM_E_DAMAGED);
    CHECK(with(labels, 0, 4, n) == MAPDPM_E_DAMAGED && with(labels, s->next_id, 4, n) == MAPDPM_E_DAMAGED);
    CHECK(with(kept, s->next_id, 4, n) == MAPDPM_E_DAMAGED);
}

/* Kept points of a warm-up have no cluster yet. If a file names one, points that were never checked would be
 * visited. */
static void forged_warm_up(void)
{
    mapdpm_stream *const s = begin(&first, ALL, 3);
    const size_t n = write(s, file);

    CHECK(s->warming && reads(file, n) == MAPDPM_OK);
    CHECK(with(n - 8, 9, 4, n) == MAPDPM_E_DAMAGED);
}

/* Two clusters with one id are found in whatever slots they are; the order of ids is free. */
static void ids_twice(void)
{
    enum { MANY = 20 };
    mapdpm_options o = options_of(GAMMA);
    mapdpm_cluster cluster;
    const md_real mean[D] = {0, 0}, variance[D] = {1, 1};
    size_t n, ids;
    uint32_t i, j;

    o.max_clusters = MANY;
    CHECK(mapdpm_init(&first.stream, sizeof first.bytes, &o) == MAPDPM_OK);
    memset(&cluster, 0, sizeof cluster);
    for (i = 0; i < MANY - 1; i++) {
        cluster.weight = (md_real)(1 + i);
        CHECK(mapdpm_insert(&first.stream, &cluster, mean, variance) == MAPDPM_OK);
    }
    n = write(&first.stream, file);
    ids = n - 4 - 4 * (4 * MANY + 4 * MAPDPM_EVENTS((size_t)MANY));
    CHECK(reads(file, n) == MAPDPM_OK);
    for (i = 0; i < MANY - 1; i++)
        for (j = 0; j < MANY - 1; j++) {
            const uint32_t here = get32(file + ids + 4 * i), there = get32(file + ids + 4 * j);

            CHECK(with(ids + 4 * i, there, 4, n) == (i == j ? MAPDPM_OK : MAPDPM_E_DAMAGED));
            (void)put_bytes(broken + ids + 4 * j, here, 4);
            repair(broken, n);
            CHECK(reads(broken, n) == MAPDPM_OK);
        }
}

/* The same after a gateway has reduced the learner. */
static void reduced(void)
{
    static const int kinds[] = {GAMMA, KNOWN, WARMED, ALL};
    uint32_t i, n;

    for (i = 0; i < 4; i++)
        for (n = 1; n <= 3; n++) {
            mapdpm_stream *const s = begin(&first, kinds[i], 200);
            size_t m;

            CHECK(mapdpm_reduce(s, n) == MAPDPM_OK && s->n_clusters <= n);
            m = write(s, file);
            CHECK(reads(file, m) == MAPDPM_OK);
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
    CHECK(mapdpm_model_write(&model, file, sizeof file, &n) == MAPDPM_OK);
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
