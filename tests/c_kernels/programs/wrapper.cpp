// mapdpm.hpp does what mapdpm.h does, bit for bit. Prints each check that fails; returns their number.
#include <mapdpm.hpp>

#include <stdio.h>
#include <string.h>

enum { D = 2, K = 4, N = 300 };

static int failures;

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            printf("line %d: %s\n", __LINE__, #condition); \
            failures++; \
        } \
    } while (0)

using Learner = mapdpm::Learner<D, K>;

static Learner learner; // in static memory, and no code runs for it before main
static uint64_t memory[MAPDPM_STATE_BYTES(D, K) / 8];
static const mapdpm_real CENTRE[D] = {5, -5}, SPREAD[D] = {1, 0.5f};

// Three clusters, in turn.
static void point(unsigned i, mapdpm_real (&x)[D])
{
    x[0] = static_cast<mapdpm_real>(i % 3 * 10) + static_cast<mapdpm_real>(i * 7 % 11) / 8;
    x[1] = static_cast<mapdpm_real>(i % 3 * 4) - static_cast<mapdpm_real>(i * 5 % 13) / 16;
}

static bool same_bits(mapdpm_real a, mapdpm_real b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static mapdpm_stream *made_in_c()
{
    mapdpm_stream *const stream = reinterpret_cast<mapdpm_stream *>(memory);
    mapdpm_real prior[2 * D + 2];
    mapdpm_options options = {};

    CHECK(mapdpm_prior(prior, D, CENTRE, SPREAD) == MAPDPM_OK);
    options.family = MAPDPM_NORMAL_GAMMA;
    options.n_features = D;
    options.max_clusters = K;
    options.parameters = prior;
    options.alpha = 0.5f;
    CHECK(mapdpm_init(stream, sizeof memory, &options) == MAPDPM_OK);
    return stream;
}

static void before_init()
{
    unsigned char file[8];
    mapdpm_real x[D] = {0, 0};
    unsigned n = 0;

    CHECK(!learner.learn(x) && learner.learn(x).error == MAPDPM_E_ARGUMENT);
    CHECK(!learner.learn_at(x, 0) && !learner.predict(x));
    CHECK(learner.n_clusters() == 0 && learner.n_seen() == 0 && !learner.is_warming() && learner.file_bytes() == 0);
    CHECK(learner.save(file, sizeof file) == MAPDPM_E_ARGUMENT);
    CHECK(learner.load(file, sizeof file) < 0);
    for (const auto &cluster : learner.clusters())
        n += cluster.id < K;
    CHECK(n == 0);
}

static void learns_the_same_bits(mapdpm_stream *stream)
{
    CHECK(learner.init(CENTRE, SPREAD, 0.5f) == MAPDPM_OK);
    for (unsigned i = 0; i < N; i++) {
        mapdpm_real x[D], score;
        uint32_t id;

        point(i, x);
        const int error = mapdpm_predict(stream, x, &id, &score);
        const mapdpm::Result seen = learner.predict(x);
        CHECK(seen.error == error && static_cast<bool>(seen) == (i > 0)); // at first there is no cluster
        CHECK(i == 0 || (seen.id == id && same_bits(seen.score, score)));
        CHECK(mapdpm_learn(stream, x, &id, &score) == MAPDPM_OK);
        const mapdpm::Result learned = learner.learn(x);
        CHECK(learned && learned.id == id && same_bits(learned.score, score));
    }
    CHECK(memcmp(learner.c(), stream, sizeof memory) == 0);
    CHECK(learner.n_seen() == N && learner.n_clusters() == 3 && !learner.is_warming());
}

static void gives_the_same_clusters(const mapdpm_stream *stream)
{
    unsigned n = 0;

    for (const auto &cluster : learner.clusters()) {
        mapdpm_real mean[D], variance[D];
        mapdpm_cluster c;

        CHECK(mapdpm_get_cluster(stream, cluster.slot, &c, mean, variance) == 1);
        CHECK(cluster.id == c.id && same_bits(cluster.weight, c.weight));
        CHECK(memcmp(cluster.mean, mean, sizeof mean) == 0 && memcmp(cluster.variance, variance, sizeof mean) == 0);
        CHECK(cluster.weight > 99 && cluster.weight < 101);
        n++;
    }
    CHECK(n == 3);
    CHECK(learner.clusters().begin()->id == (*learner.clusters().begin()).id);
}

static void saves_and_loads(const mapdpm_stream *stream)
{
    static unsigned char file[MAPDPM_SNAPSHOT_BYTES(D, K)], same[MAPDPM_SNAPSHOT_BYTES(D, K)];
    static mapdpm::Learner<D, K + 1> wider;
    static Learner other;
    size_t n = 0, m = 0;

    CHECK(mapdpm_snapshot_write(stream, same, sizeof same, &m) == MAPDPM_OK);
    CHECK(learner.file_bytes() == m && learner.save(file, m - 1, &n) == MAPDPM_E_SPACE);
    CHECK(learner.save(file, sizeof file, &n) == MAPDPM_OK && n == m && memcmp(file, same, n) == 0);
    CHECK(wider.load(file, n) == MAPDPM_E_KIND);
    CHECK(other.load(file, n - 1) == MAPDPM_E_TRUNCATED && other.n_seen() == 0);
    CHECK(other.load(file, n) == MAPDPM_OK && memcmp(other.c(), stream, sizeof memory) == 0);
    file[n / 2] ^= 1;
    CHECK(other.load(file, n) == MAPDPM_E_DAMAGED);
    CHECK(other.n_seen() == N); // found by the CRC, before anything changed
}

static void copies_and_moves()
{
    Learner copy = learner, moved = static_cast<Learner &&>(copy);
    mapdpm_real x[D] = {70, 70};

    CHECK(moved.learn(x) && moved.n_seen() == N + 1 && learner.n_seen() == N);
    learner = moved;
    CHECK(learner.n_seen() == N + 1);
    mapdpm_options wrong = Learner::defaults();
    wrong.alpha = -1;
    CHECK(learner.init(wrong) == MAPDPM_E_ARGUMENT && learner.n_seen() == 0);
}

static void warms_up()
{
    enum { WARMUP = 20 };
    static mapdpm::Learner<D, K, MAPDPM_STATE_BYTES_WITH(D, K, WARMUP, 0, 0)> warm;
    mapdpm_options options = Learner::defaults();
    mapdpm_real x[D];
    unsigned n = 0;

    options.warmup = WARMUP;
    CHECK(learner.init(options) == MAPDPM_E_SPACE);
    CHECK(warm.init(options) == MAPDPM_OK && warm.is_warming());
    for (const auto &cluster : warm.clusters())
        n += cluster.slot < K;
    CHECK(n == 0);
    for (unsigned i = 0; i < 2 * WARMUP; i++) {
        point(i, x);
        CHECK(warm.learn_at(x, 1000 * static_cast<int64_t>(i)));
    }
    CHECK(!warm.is_warming() && warm.n_clusters() > 0);
    CHECK(warm.learn_at(x, 0).error == MAPDPM_E_TIME);
}

int main()
{
    before_init();
    mapdpm_stream *const stream = made_in_c();
    learns_the_same_bits(stream);
    gives_the_same_clusters(stream);
    saves_and_loads(stream);
    copies_and_moves();
    warms_up();
    return failures;
}
