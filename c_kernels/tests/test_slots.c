/* Snapshots in pieces and in slots, failures in between, sizes at compile time, and memory that holds no learner. */
#include "files.h"

enum { ROOM = 1 << 14, SLOTS = 3 };

/* A file that the caller's functions write or read; they fail after `left` bytes. */
typedef struct {
    unsigned char *bytes;
    size_t at;
    size_t left;
} medium;

static unsigned char slots[SLOTS][ROOM];

static int put(void *context, const unsigned char *bytes, size_t n)
{
    medium *const m = (medium *)context;
    const size_t whole = n <= m->left ? n : m->left;

    memcpy(m->bytes + m->at, bytes, whole);
    m->at += whole;
    m->left -= whole;
    return whole == n ? MAPDPM_OK : -100;
}

static int get(void *context, unsigned char *bytes, size_t n)
{
    medium *const m = (medium *)context;

    if (n > m->left)
        return -200;
    memcpy(bytes, m->bytes + m->at, n);
    m->at += n;
    m->left -= n;
    return MAPDPM_OK;
}

static medium medium_of(unsigned char *bytes, size_t left)
{
    const medium m = {bytes, 0, left};

    return m;
}

static mapdpm_stream *learned(memory *m, unsigned n)
{
    const mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 6);
    mapdpm_stream *const s = begin(m, &o);
    uint64_t state = 3;

    learn_drawn(s, n, 4, 9.0, &state);
    return s;
}

/* All functions that take a learner refuse what is none. */
static int refuses(mapdpm_stream *s)
{
    const md_real x[3] = {1, 2, 3};
    md_real prior[9], mean[3];
    mapdpm_assessment a;
    mapdpm_cluster c = {0, 1, 0};
    mapdpm_options o;
    mapdpm_event e;
    uint64_t event = 0;
    uint32_t id = 0;
    size_t n = 0;
    medium m = medium_of(file, ROOM);
    const int refused[] = {mapdpm_learn(s, x, NULL, NULL),
                           mapdpm_learn_at(s, x, 1, NULL, NULL),
                           mapdpm_learn_many(s, x, NULL, 1, NULL, NULL, &n),
                           mapdpm_learn_assessed(s, x, NULL, &a),
                           mapdpm_assess(s, x, NULL, &a),
                           mapdpm_assess_many(s, x, NULL, 1, 1, &a, NULL, &n),
                           mapdpm_contributions(s, x, mean),
                           mapdpm_predict(s, x, &id, NULL),
                           mapdpm_predict_many(s, x, 1, &id, NULL, &n),
                           mapdpm_resolve(s, 0, &id),
                           mapdpm_get_event(s, 0, &e),
                           mapdpm_get_cluster(s, 0, &c, mean, NULL),
                           mapdpm_get_options(s, &o),
                           mapdpm_get_prior(s, mean, prior),
                           mapdpm_follow(s, &event, NULL, 0),
                           mapdpm_resweep(s, NULL, NULL, NULL, 0, &n),
                           mapdpm_pool(s, &first.stream),
                           mapdpm_insert(s, &c, x, x),
                           mapdpm_reduce(s, 1),
                           mapdpm_rebase(s, 0),
                           mapdpm_settle_step(s),
                           mapdpm_settle_all(s),
                           mapdpm_summary_write(s, sizeof(md_real), file, ROOM, &n),
                           mapdpm_snapshot_write(s, file, ROOM, &n),
                           mapdpm_snapshot_send(s, NULL, put, &m),
                           mapdpm_set_group(s, 1),
                           mapdpm_gap(s)};
    size_t i;
    int all = mapdpm_n_clusters(s) == 0 && mapdpm_n_seen(s) == 0 && mapdpm_n_events(s) == 0 &&
              mapdpm_snapshot_bytes(s) == 0 && mapdpm_is_warming(s) == 0 && mapdpm_n_features(s) == 0 &&
              mapdpm_max_clusters(s) == 0;

    for (i = 0; i < sizeof refused / sizeof *refused; i++)
        all &= refused[i] == MAPDPM_E_ARGUMENT;
    return all;
}

/* In pieces: the same bytes, and back. It fails at every byte, and then there is no learner. */
static void in_pieces(void)
{
    mapdpm_stream *const s = learned(&first, 300);
    size_t n = 0, cut;
    medium m = medium_of(slots[0], ROOM);

    CHECK_OK(mapdpm_snapshot_write(s, file, ROOM, &n));
    CHECK(mapdpm_snapshot_send(s, NULL, put, &m) == MAPDPM_OK && m.at == n && memcmp(file, slots[0], n) == 0);
    m = medium_of(slots[0], ROOM);
    memset(second.bytes, 0xa5, s->bytes);
    CHECK(mapdpm_snapshot_receive(&second.stream, sizeof second, get, &m) == MAPDPM_OK && m.at == n);
    CHECK(is_same(&first, &second));
    for (cut = 0; cut < n; cut++) {
        const int was_there = !is_none(&second.stream);

        m = medium_of(slots[1], cut);
        CHECK(mapdpm_snapshot_send(s, NULL, put, &m) == -100 && m.at == cut);
        m = medium_of(slots[0], cut);
        CHECK(mapdpm_snapshot_receive(&second.stream, sizeof second, get, &m) == -200);
        CHECK(is_none(&second.stream) || (was_there && is_same(&first, &second)));
    }
    CHECK(refuses(&second.stream));
    slots[0][n - 1] ^= 1; /* the CRC comes last */
    m = medium_of(slots[0], ROOM);
    CHECK(mapdpm_snapshot_receive(&second.stream, sizeof second, get, &m) == MAPDPM_E_DAMAGED);
    CHECK(refuses(&second.stream));
    slots[0][n - 1] ^= 1;
    m = medium_of(slots[0], ROOM);
    CHECK(mapdpm_snapshot_receive(&second.stream, s->bytes - 1, get, &m) == MAPDPM_E_SPACE);
    slots[0][0] ^= 1;
    m = medium_of(slots[0], ROOM);
    CHECK(mapdpm_snapshot_receive(&second.stream, sizeof second, get, &m) == MAPDPM_E_FOREIGN);
    CHECK_REFUSED(mapdpm_snapshot_send(s, NULL, NULL, &m));
    CHECK_REFUSED(mapdpm_snapshot_receive(&second.stream, sizeof second, NULL, &m));
    CHECK_REFUSED(mapdpm_snapshot_receive(NULL, sizeof second, get, &m));
}

/* A forged file with a right CRC: it is refused late, when the memory has changed. Then there is no learner. */
static void forged(void)
{
    const size_t turn = MD_HEADER + 4 * 4 + 3 * MD_REAL + 8 * MD_REAL + 3 * 8 + 4;
    mapdpm_stream *const s = learned(&first, 300);
    const mapdpm_options wrong = options_of(MAPDPM_NORMAL_KNOWN_VARIANCE, 0);
    mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 6);
    size_t n = 0;

    CHECK_OK(mapdpm_snapshot_write(s, file, ROOM, &n));
    (void)learned(&second, 10);
    (void)put_bytes(file + turn, UINT32_C(1) << 20, 4);
    repair(file, n);
    CHECK(mapdpm_snapshot_read(&second.stream, sizeof second, file, n) == MAPDPM_E_DAMAGED);
    CHECK(refuses(&second.stream));
    memset(&second, 0, sizeof(mapdpm_stream)); /* static memory before mapdpm_init */
    CHECK(refuses(&second.stream));
    (void)learned(&second, 10);
    CHECK(mapdpm_init(&second.stream, sizeof second, &wrong) == MAPDPM_E_ARGUMENT && refuses(&second.stream));
    o.alpha = -1;
    CHECK(mapdpm_init(&second.stream, sizeof second, &o) == MAPDPM_E_ARGUMENT && refuses(&second.stream));
    o.alpha = 1;
    if (offsetof(alignment, second) > 1) {
        mapdpm_stream *const odd = (mapdpm_stream *)(void *)(second.bytes + 1);

        CHECK_REFUSED(mapdpm_init(odd, sizeof second - 1, &o));
        CHECK_OK(mapdpm_snapshot_write(s, file, ROOM, &n));
        CHECK_REFUSED(mapdpm_snapshot_read(odd, sizeof second - 1, file, n));
    }
}

/* Two slots in turn, the power lost at every byte: the latest whole file is found, and its number goes on. */
static void in_slots(uint32_t from)
{
    const unsigned char *const places[SLOTS] = {slots[0], slots[1], slots[2]};
    mapdpm_stream *const s = learned(&first, 50);
    const size_t n = mapdpm_snapshot_bytes(s) + MAPDPM_SEQUENCE_BYTES;
    uint32_t number = from, found = 0;
    size_t cut, newest = 9;
    medium m;

    memset(slots, 0xff, sizeof slots); /* an erased flash */
    CHECK(mapdpm_snapshot_newest(places, SLOTS, ROOM, &newest, &found) == MAPDPM_E_UNKNOWN && newest == 9);
    m = medium_of(slots[0], ROOM);
    CHECK(mapdpm_snapshot_send(s, &number, put, &m) == MAPDPM_OK && m.at == n);
    for (cut = 0; cut <= n; cut++) {
        const uint32_t next = from + 1;

        memset(slots[1], 0xff, n);
        m = medium_of(slots[1], cut);
        CHECK(mapdpm_snapshot_send(s, &next, put, &m) == (cut < n ? -100 : MAPDPM_OK));
        CHECK_OK(mapdpm_snapshot_newest(places, SLOTS, ROOM, &newest, &found));
        CHECK(newest == (cut == n) && found == (cut == n ? next : from));
        CHECK(mapdpm_snapshot_newest(places, 1, ROOM, &newest, NULL) == MAPDPM_OK && newest == 0);
        CHECK(mapdpm_file_bytes(slots[1], ROOM) == (cut >= MD_HEADER ? n : 0) || (cut >= 4 && cut < MD_HEADER));
    }
    CHECK(mapdpm_snapshot_read(&second.stream, sizeof second, slots[1], n) == MAPDPM_OK && is_same(&first, &second));
    CHECK(mapdpm_snapshot_sequence(slots[1], n, &number) == MAPDPM_OK && number == from + 1);
    CHECK(mapdpm_snapshot_sequence(slots[1], n - 1, &number) == MAPDPM_E_TRUNCATED);
    CHECK(mapdpm_snapshot_newest(places, SLOTS, n - 1, &newest, &found) == MAPDPM_E_UNKNOWN);
    CHECK_OK(mapdpm_snapshot_write(s, file, ROOM, &cut));
    CHECK(mapdpm_snapshot_sequence(file, cut, &number) == MAPDPM_E_UNKNOWN);
    CHECK(mapdpm_file_bytes(NULL, ROOM) == 0 && mapdpm_file_bytes(file, MD_HEADER - 1) == 0);
    CHECK_REFUSED(mapdpm_snapshot_newest(NULL, SLOTS, ROOM, &newest, &found));
}

/* The sizes at compile time are those of the functions. */
#define SIZES(D, K, W, N, M)                                                                                           \
    do {                                                                                                               \
        mapdpm_options o = {.family = MAPDPM_NORMAL_GAMMA, .n_features = D, .max_clusters = K, .warmup = W,            \
                            .window = N, .missing = M, .alpha = 1, .parameters = (W) > 0 ? NULL : parameters};         \
        size_t n = 0;                                                                                                  \
        CHECK(mapdpm_stream_bytes(&o) == MAPDPM_STATE_BYTES_WITH(D, K, W, N, M));                                      \
        CHECK(mapdpm_init(&first.stream, MAPDPM_STATE_BYTES_WITH(D, K, W, N, M), &o) == MAPDPM_OK);                    \
        CHECK(mapdpm_snapshot_write(&first.stream, file, ROOM, &n) == MAPDPM_OK);                                      \
        CHECK(n == MAPDPM_SNAPSHOT_BYTES_WITH(D, K, W, N, M));                                                         \
        if ((W) > 0) {                                                                                                 \
            o.queue = 7;                                                                                               \
            CHECK(mapdpm_stream_bytes(&o) ==                                                                           \
                  MAPDPM_STATE_BYTES_WITH(D, K, W, N, M) + MAPDPM_QUEUE_BYTES(D, 7));                                  \
            CHECK(mapdpm_init(&first.stream, sizeof first, &o) == MAPDPM_OK);                                          \
            CHECK(mapdpm_snapshot_bytes(&first.stream) <=                                                              \
                  MAPDPM_SNAPSHOT_BYTES_WITH(D, K, W, N, M) + MAPDPM_QUEUE_BYTES(D, 7));                               \
        }                                                                                                              \
    } while (0)

static void sizes(void)
{
    md_real parameters[2 * 7 + 2], centre[7] = {0, 1, 2, 3, 4, 5, 6}, spread[7] = {1, 2, 3, 1, 2, 3, 1};

    CHECK_OK(mapdpm_prior(parameters, 3, centre, spread));
    CHECK(parameters[1] == 1 && parameters[3] == (md_real)0.05 && parameters[4] == 1 && parameters[6] == 4);
    spread[1] = 0;
    CHECK_REFUSED(mapdpm_prior(parameters, 3, centre, spread));
    spread[1] = (md_real)NAN;
    CHECK_REFUSED(mapdpm_prior(parameters, 3, centre, spread));
    CHECK_REFUSED(mapdpm_prior(parameters, 0, centre, spread));
    spread[1] = 2;
    CHECK_REFUSED(mapdpm_prior(NULL, 3, centre, spread));
    CHECK_OK(mapdpm_prior(parameters, 1, centre, spread));
    SIZES(1, 1, 0, 0, 0);
    SIZES(1, 8, 0, 0, WITH_MISSING);
    CHECK_OK(mapdpm_prior(parameters, 7, centre, spread));
    SIZES(7, 5, 0, 0, 0);
    SIZES(7, 5, 0, 9, WITH_MISSING);
    SIZES(7, 5, 20, 9, 0);
    SIZES(7, 5, 9, 20, WITH_MISSING);
    SIZES(2, 32, 50, 0, 0);
}

/* Means are in the user's coordinates, or less the anchor. */
static void absolute_means(void)
{
    mapdpm_stream *const s = learned(&first, 300);
    md_real anchor[3], parameters[8], mean[3], relative[3], variance[3];
    mapdpm_cluster c, d;
    uint32_t k, found = 0;

    CHECK_OK(mapdpm_get_prior(s, anchor, parameters));
    for (k = 0; k < mapdpm_max_clusters(s); k++)
        if (mapdpm_get_cluster(s, k, &c, mean, variance) == 1) {
            CHECK(mapdpm_get_cluster_relative(s, k, &d, relative, NULL) == 1 && c.id == d.id);
            CHECK(mean[0] == relative[0] + anchor[0] && mean[2] == relative[2] + anchor[2]);
            found++;
        }
    CHECK(found == mapdpm_n_clusters(s) && found > 1 && mapdpm_n_seen(s) == 300 && mapdpm_n_events(s) >= found);
    CHECK(mapdpm_n_features(s) == 3 && mapdpm_max_clusters(s) == 6);
    CHECK(mapdpm_get_cluster(s, 0, &c, NULL, NULL) >= 0);
}

int main(void)
{
    in_pieces();
    forged();
    in_slots(0);
    in_slots(41);
    in_slots(UINT32_MAX);         /* wraps to 0 */
    in_slots(UINT32_C(1999999999)); /* ten digits */
    sizes();
    absolute_means();
    return REPORT();
}
