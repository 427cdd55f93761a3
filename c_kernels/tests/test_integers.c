/* The learner in whole numbers: laws that need no oracle. tests/integers compares it with its definition in Python. */
#include "mapdpm.h"

#include "check.h"

enum { D = 3, K = 6, N = 4000 };

static uint64_t memory[MAPDPM_STATE_BYTES(D, K) / 8];
static mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;
static uint32_t state = 1;

static uint32_t random16(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 16;
}

static mapdpm_options options_of(uint32_t when_full, uint32_t half_life)
{
    static const int16_t centre[D] = {0, 100, -100};
    static const uint64_t twice_b0[D] = {UINT64_C(512) << 14, UINT64_C(512) << 14, UINT64_C(512) << 14}; /* 128^2 */
    mapdpm_options o = {0};

    o.n_features = D;
    o.max_clusters = K;
    o.when_full = when_full;
    o.half_life = half_life;
    o.alpha = 65536;
    o.c0 = 3277;
    o.twice_a0 = 512;
    o.centre = centre;
    o.twice_b0 = twice_b0;
    return o;
}

/* A point of one of n clusters, or anything at all. */
static void next_point(uint32_t n, int16_t *x)
{
    const uint32_t c = random16() % n;
    uint32_t d;

    for (d = 0; d < D; d++)
        x[d] = random16() % 50 == 0 ? (int16_t)((int32_t)random16() - 32768)
                                    : (int16_t)((int32_t)(c * (d + 1) * 4099 % 50000) - 25000 + (int32_t)(random16() % 400));
}

static uint64_t total_weight(void)
{
    mapdpm_cluster cluster;
    uint64_t total = 0;
    uint32_t k;

    for (k = 0; k < K; k++)
        if (mapdpm_get_cluster(learner, k, &cluster, NULL, NULL) == 1)
            total += cluster.weight;
    return total;
}

/* No point is lost but by eviction, and no id comes twice, whatever the policy. */
static void test_policies(void)
{
    uint32_t full, i;

    for (full = MAPDPM_FULL_LEAST_LOSS; full <= MAPDPM_FULL_ERROR; full++) {
        const mapdpm_options o = options_of(full, 0);
        uint32_t refused = 0, newest = 0;
        mapdpm_event event;
        uint64_t seen = 0;

        CHECK(mapdpm_init(learner, sizeof memory, &o) == MAPDPM_OK);
        for (i = 0; i < N; i++) {
            const uint64_t before = total_weight();
            int16_t x[D];
            uint32_t id, best;
            mapdpm_score score, alone;
            int error, evicts = 0;

            next_point(9, x);
            CHECK(mapdpm_predict(learner, x, NULL, &alone) == MAPDPM_OK);
            CHECK(i == 0 || mapdpm_predict(learner, x, &best, NULL) == MAPDPM_OK);
            error = mapdpm_learn(learner, x, &id, &score);
            CHECK(error == MAPDPM_OK || (full == MAPDPM_FULL_ERROR && error == MAPDPM_E_FULL));
            if (error != MAPDPM_OK) {
                refused++;
                CHECK(total_weight() == before);
                continue;
            }
            CHECK(score == alone);
            for (; seen < mapdpm_n_events(learner); seen++) {
                CHECK(mapdpm_get_event(learner, seen, &event) == MAPDPM_OK);
                evicts |= event.kind == MAPDPM_EVICTED;
                if (event.kind == MAPDPM_CREATED || event.kind == MAPDPM_SPLIT) {
                    const uint32_t made = event.kind == MAPDPM_CREATED ? event.id : event.other;

                    CHECK(made == newest);
                    newest = made + 1;
                }
            }
            CHECK(evicts || total_weight() == before + 256);
        }
        CHECK(mapdpm_n_seen(learner) == N - refused);
        CHECK(mapdpm_n_clusters(learner) <= K && newest > 2);
        CHECK((refused > 0) == (full == MAPDPM_FULL_ERROR));
    }
}

/* With a half-life h the weight of all points tends to 1 + 2^(-1/h) + ... , about h / ln 2. */
static void test_half_life(void)
{
    const mapdpm_options o = options_of(MAPDPM_FULL_LEAST_LOSS, 100);
    uint32_t i;

    CHECK(mapdpm_init(learner, sizeof memory, &o) == MAPDPM_OK);
    for (i = 0; i < N; i++) {
        int16_t x[D];

        next_point(3, x);
        CHECK(mapdpm_learn(learner, x, NULL, NULL) == MAPDPM_OK);
    }
    CHECK(total_weight() > 256 * 136 && total_weight() <= 256 * 146); /* 144.8, less what was forgotten as clusters */
}

/* Beyond 2^22 points all weights halve, and the means stay where they are. */
static void test_largest_weight(void)
{
    const mapdpm_options o = options_of(MAPDPM_FULL_LEAST_LOSS, 0);
    int32_t mean[D];
    double all[D] = {0, 0, 0};
    mapdpm_cluster cluster;
    uint32_t i, k, d;

    CHECK(mapdpm_init(learner, sizeof memory, &o) == MAPDPM_OK);
    for (i = 0; i < (UINT32_C(1) << 22) + 300000; i++) {
        const int16_t x[D] = {(int16_t)(random16() % 401), (int16_t)(random16() % 201), 7};

        CHECK(mapdpm_learn(learner, x, NULL, NULL) == MAPDPM_OK);
    }
    CHECK(total_weight() < UINT32_C(1) << 30 && total_weight() > UINT32_C(1) << 29);
    for (k = 0; k < K; k++) /* uniform data are split in four or so */
        if (mapdpm_get_cluster(learner, k, &cluster, mean, NULL) == 1)
            for (d = 0; d < D; d++)
                all[d] += (double)mean[d] / 8192 * cluster.weight / (double)total_weight();
    CHECK_NEAR(all[0], 200, 0.5);
    CHECK_NEAR(all[1], 100, 0.5);
    CHECK_NEAR(all[2], 7, 0);
}

/* Whatever is wrong with the options, no learner is made, and all functions refuse it. */
static void test_options(void)
{
    static const uint64_t none[D] = {1, 0, 1}, large[D] = {UINT64_C(1) << 57, 1, 1};
    const mapdpm_options good = options_of(MAPDPM_FULL_MERGE, 0);
    const int16_t x[D] = {1, 2, 3};
    uint32_t i;

    for (i = 0; i < 15; i++) {
        mapdpm_options o = good;

        o.n_features = i == 0 ? 0 : i == 1 ? 65 : D;
        o.max_clusters = i == 2 ? 0 : i == 3 ? 255 : K;
        o.when_full = i == 4 ? 5 : MAPDPM_FULL_MERGE;
        o.half_life = i == 5 ? 1 : i == 14 ? (UINT32_C(1) << 20) + 1 : 0;
        o.alpha = i != 6;
        o.c0 = i == 7 ? 0 : i == 8 ? (UINT32_C(255) << 16) + 1 : 1;
        o.twice_a0 = i == 9 ? 0 : i == 10 ? (UINT32_C(1) << 24) + 1 : 1;
        if (i == 11)
            o.centre = NULL;
        if (i == 12 || i == 13)
            o.twice_b0 = i == 12 ? none : large;
        CHECK(mapdpm_init(learner, sizeof memory, &o) == MAPDPM_E_ARGUMENT);
        CHECK(mapdpm_learn(learner, x, NULL, NULL) == MAPDPM_E_ARGUMENT && mapdpm_n_seen(learner) == 0);
        CHECK((mapdpm_stream_bytes(&o) == 0) == (i < 6 || i == 14));
    }
    CHECK(mapdpm_init(learner, sizeof memory - 8, &good) == MAPDPM_E_SPACE);
    CHECK(mapdpm_stream_bytes(&good) == sizeof memory);
    CHECK(mapdpm_init(learner, sizeof memory, &good) == MAPDPM_OK);
    CHECK(mapdpm_predict(learner, x, &i, NULL) == MAPDPM_E_WARMING);
}

static unsigned char file[MAPDPM_SNAPSHOT_BYTES(D, K)], again[sizeof file];
static uint64_t other_memory[sizeof memory / 8], other_copy[sizeof memory / 8];
static mapdpm_stream *const other = (mapdpm_stream *)(void *)other_memory;

/* Write the CRC anew, so that what was changed is found by no CRC. */
static void forge(void)
{
    const uint32_t crc = mapdpm_crc32(0, file, sizeof file - 4);
    int i;

    for (i = 0; i < 4; i++)
        file[sizeof file - 4 + (size_t)i] = (unsigned char)(crc >> 8 * i);
}

/* A learner that was restored goes on with the same bits, and writes the same file. */
static void test_snapshots(void)
{
    uint32_t half_life, i;

    for (half_life = 0; half_life < 200; half_life += 100) {
        const mapdpm_options o = options_of(MAPDPM_FULL_LEAST_LOSS, half_life);
        mapdpm_options seen;
        size_t n = 0;

        CHECK(mapdpm_init(learner, sizeof memory, &o) == MAPDPM_OK);
        for (i = 0; i < 900; i++) {
            int16_t x[D];
            uint32_t id, same;
            mapdpm_score score, density;

            next_point(9, x);
            if (i % 97 == 0) {
                CHECK(mapdpm_snapshot_write(learner, file, sizeof file - 1, &n) == MAPDPM_E_SPACE && n == sizeof file);
                CHECK(mapdpm_snapshot_write(learner, file, sizeof file, &n) == MAPDPM_OK && n == sizeof file);
                CHECK(mapdpm_snapshot_options(file, n, &seen) == MAPDPM_OK && seen.half_life == half_life &&
                      seen.n_features == D && seen.max_clusters == K && seen.alpha == o.alpha && seen.c0 == o.c0 &&
                      seen.twice_a0 == o.twice_a0 && seen.when_full == o.when_full);
                CHECK(mapdpm_snapshot_read(other, sizeof other_memory - 8, file, n) == MAPDPM_E_SPACE);
                CHECK(mapdpm_snapshot_read(other, sizeof other_memory, file, n) == MAPDPM_OK);
                CHECK(mapdpm_snapshot_write(other, again, sizeof again, &n) == MAPDPM_OK && !memcmp(file, again, n));
            }
            CHECK(mapdpm_learn(learner, x, &id, &score) == MAPDPM_OK);
            CHECK(mapdpm_learn(other, x, &same, &density) == MAPDPM_OK && same == id && density == score);
            CHECK(mapdpm_n_clusters(learner) == mapdpm_n_clusters(other) && mapdpm_n_events(learner) == mapdpm_n_events(other));
        }
    }
    for (i = 0; i < sizeof file; i += 7) { /* a bit is wrong, or the end is missing */
        file[i] ^= 1;
        CHECK(mapdpm_snapshot_read(other, sizeof other_memory, file, sizeof file) != MAPDPM_OK);
        file[i] ^= 1;
        CHECK(mapdpm_snapshot_read(other, sizeof other_memory, file, i) != MAPDPM_OK);
    }
    CHECK(mapdpm_snapshot_read(NULL, 0, file, sizeof file) == MAPDPM_E_ARGUMENT);
}

/* Whatever a file holds, it is refused, or makes a learner that stays within its arithmetic: sanitizers look. */
static void test_forged_snapshots(void)
{
    uint32_t i, j, taken = 0, n_forged = PART ? 3000 : 30000;
    const mapdpm_options o = options_of(MAPDPM_FULL_LEAST_LOSS, 50);
    size_t n = 0;

    CHECK(mapdpm_init(learner, sizeof memory, &o) == MAPDPM_OK);
    for (i = 0; i < 400; i++) {
        int16_t x[D];

        next_point(9, x);
        (void)mapdpm_learn(learner, x, NULL, NULL);
    }
    for (i = 0; i < n_forged; i++) {
        CHECK(mapdpm_snapshot_write(learner, file, sizeof file, &n) == MAPDPM_OK);
        for (j = random16() % 4; j < 4; j++)
            file[40 + (random16() * UINT32_C(65536) + random16()) % (sizeof file - 44)] = (unsigned char)random16();
        forge();
        if (mapdpm_snapshot_read(other, sizeof other_memory, file, sizeof file) != MAPDPM_OK)
            continue;
        taken++;
        for (j = 0; j < 40; j++) {
            int16_t x[D];
            mapdpm_score score;

            next_point(9, x);
            (void)mapdpm_learn(other, x, NULL, &score);
        }
    }
    CHECK(taken > n_forged / 20 && taken < n_forged);
}

/* Clusters go from one learner to another with their ids and scores; what is wrong with one is said, and changes nothing. */
static void test_insert(void)
{
    static const int16_t low[D] = {-32768, 0, 0};
    static const uint64_t wide[D] = {0, 0, UINT64_C(1) << 60};
    const mapdpm_options o = options_of(MAPDPM_FULL_EVICT, 0);
    mapdpm_cluster cluster, wrong;
    int32_t mean[D], away[D];
    uint64_t squares[D];
    uint32_t i, k, last = 0, best, same;

    CHECK(mapdpm_init(learner, sizeof memory, &o) == MAPDPM_OK && mapdpm_init(other, sizeof other_memory, &o) == MAPDPM_OK);
    for (i = 0; i < 2000; i++) {
        int16_t x[D];

        next_point(K - 1, x);
        CHECK(mapdpm_learn(learner, x, NULL, NULL) == MAPDPM_OK);
    }
    for (i = 0; i < K; i++, last = cluster.id + 1) { /* by rising ids */
        cluster.id = MAPDPM_NO_ID;
        for (k = 0; k < K; k++)
            if (mapdpm_get_cluster(learner, k, &wrong, NULL, NULL) == 1 && wrong.id >= last && wrong.id < cluster.id)
                CHECK(mapdpm_get_cluster(learner, k, &cluster, mean, squares) == 1);
        if (cluster.id == MAPDPM_NO_ID)
            break;
        memcpy(other_copy, other_memory, sizeof other_memory);
        memcpy(away, mean, sizeof mean);
        away[1] = 32767 * 8192 + 1;
        CHECK(mapdpm_insert(other, &cluster, away, squares) == MAPDPM_E_RANGE);
        CHECK(mapdpm_insert(other, &cluster, mean, wide) == MAPDPM_E_RANGE);
        wrong = cluster;
        wrong.weight = 0;
        CHECK(mapdpm_insert(other, &wrong, mean, squares) == MAPDPM_E_ARGUMENT);
        wrong.weight = (UINT32_C(1) << 30) + 1;
        CHECK(mapdpm_insert(other, &wrong, mean, squares) == MAPDPM_E_RANGE);
        wrong = cluster;
        wrong.id = last - 1;
        CHECK(i == 0 || mapdpm_insert(other, &wrong, mean, squares) == MAPDPM_E_ARGUMENT);
        CHECK(mapdpm_insert(other, NULL, mean, squares) == MAPDPM_E_ARGUMENT);
        CHECK(memcmp(other_copy, other_memory, sizeof other_memory) == 0);
        CHECK(mapdpm_insert(other, &cluster, mean, squares) == MAPDPM_OK);
    }
    CHECK(i > 2 && mapdpm_n_clusters(other) == i && mapdpm_n_seen(other) <= mapdpm_n_seen(learner));
    for (k = 0; k < 300; k++) {
        int16_t x[D];
        mapdpm_score score, alone;

        next_point(K - 1, x);
        CHECK(mapdpm_predict(learner, x, &best, &score) == MAPDPM_OK && mapdpm_predict(other, x, &same, &alone) == MAPDPM_OK);
        CHECK(same == best && score - alone < 66 && alone - score < 66); /* means have lost what is below Q13 */
    }
    cluster.id = MAPDPM_NO_ID;
    while (mapdpm_n_clusters(other) < K)
        CHECK(mapdpm_insert(other, &cluster, mean, squares) == MAPDPM_OK);
    CHECK(mapdpm_insert(other, &cluster, mean, squares) == MAPDPM_E_SPACE);
    CHECK(mapdpm_learn(other, low, &best, NULL) == MAPDPM_OK);
}

/* The heaviest cluster leaves room for the points of a half-life: files of the learner are read. */
static void test_heavy_insert(void)
{
    static const int32_t mean[D] = {0, 0, 0};
    static const uint64_t squares[D] = {UINT64_C(1) << 40, 0, 0};
    uint32_t half_life, i;

    for (half_life = 0; half_life <= UINT32_C(1) << 20; half_life += UINT32_C(1) << 20) {
        const mapdpm_options o = options_of(MAPDPM_FULL_MERGE, half_life);
        const uint32_t most = half_life ? UINT32_C(1) << 29 : UINT32_C(1) << 30;
        mapdpm_cluster cluster = {MAPDPM_NO_ID, 0};
        size_t n = 0;

        CHECK(mapdpm_init(learner, sizeof memory, &o) == MAPDPM_OK);
        cluster.weight = most + 1;
        CHECK(mapdpm_insert(learner, &cluster, mean, squares) == MAPDPM_E_RANGE);
        cluster.weight = most;
        CHECK(mapdpm_insert(learner, &cluster, mean, squares) == MAPDPM_OK);
        for (i = 0; i < (PART ? 1000 : 3 * half_life + 1000); i++) {
            const int16_t x[D] = {(int16_t)(random16() % 100), 0, 0};

            CHECK(mapdpm_learn(learner, x, NULL, NULL) == MAPDPM_OK);
            if (i % 100000 == 999) {
                CHECK(mapdpm_snapshot_write(learner, file, sizeof file, &n) == MAPDPM_OK);
                CHECK(mapdpm_snapshot_read(other, sizeof other_memory, file, n) == MAPDPM_OK);
            }
        }
    }
}

int main(void)
{
    test_options();
    test_insert();
    test_heavy_insert();
    test_snapshots();
    test_forged_snapshots();
    state = 1; /* the same points, however many were drawn before */
    test_policies();
    test_half_life();
    if (!PART) /* takes seconds */
        test_largest_weight();
    return REPORT();
}
