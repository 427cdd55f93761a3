/* Any bytes as a snapshot with the right length and CRC: refused, or a learner that goes on without harm.
 *
 * Without a corpus the mutator begins with snapshots of its own, one of each state of a learner.
 */
#include "fuzz.h"

enum { D = 2, K = 4, MOST = 1 << 14, SNAPSHOT_HEAD = 40 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A snapshot of a learner, or a summary. The bits of `which` give its options and its state. */
static size_t a_snapshot(unsigned which, uint8_t *file, size_t capacity)
{
    static const mapdpm_real gamma[] = {0, 0, (mapdpm_real)0.1, 2, 1, 1}, known[] = {0, 0, 100, 100, 1, 1};
    const int by_time = which & 1, warms = which & 2;
    const unsigned points = which >> 6 & 63u;
    mapdpm_options o;
    mapdpm_stream *s;
    unsigned i;
    size_t n = 0;

    memset(&o, 0, sizeof o);
    o.family = warms || which & 4 ? MAPDPM_NORMAL_GAMMA : MAPDPM_NORMAL_KNOWN_VARIANCE;
    o.parameters = warms ? NULL : (which & 4 ? gamma : known);
    o.n_features = D;
    o.max_clusters = K;
    o.warmup = warms ? 16 : 0;
    o.queue = warms && which >> 24 & 1u ? 3 : 0;
    o.window = which & 8 ? 5 : 0;
    o.missing = (which & 16) != 0;
    o.half_life = which & 32 ? 20 : 0;
    o.when_full = which >> 12 & 3u;
    o.alpha = 1;
    o.max_groups = which >> 14 & 1u ? 2 : 0;
    o.with_base = which >> 15 & o.max_groups & 1u;
    o.when_groups_full = MAPDPM_GROUPS_REPLACE;
    o.gamma = 2;
    if (which >> 20 & 1u) {
        o.max_groups = o.with_base = o.window = 0;
        o.lag = 1 + (which >> 21 & 1u);
        o.kappa = which >> 23 & 1u;
    }
    o.relevance = warms && !o.with_base && (which >> 26 & 1u);
    o.resolution = warms && (which >> 27 & 1u);
    o.surprise = o.max_groups == 0 && o.lag == 0 && (which >> 28 & 1u);
    o.rare = o.surprise ? (mapdpm_real)(which >> 29 & 3u) / 8 : 0;
    s = new_stream(mapdpm_stream_bytes(&o));
    MUST(mapdpm_init(s, mapdpm_stream_bytes(&o), &o) == MAPDPM_OK);
    for (i = 0; i < points; i++) {
        mapdpm_real x[D];

        (void)mapdpm_set_group(s, i / 8 % 3);
        x[0] = (mapdpm_real)(i % 5) * 10 + (mapdpm_real)(i % 7) / 8;
        x[1] = (mapdpm_real)(i % 3) * 20;
        if (mapdpm_n_queued(s) == 3)
            break;
        MUST((by_time ? mapdpm_learn_at(s, x, 1000000 * (int64_t)i, NULL, NULL) : mapdpm_learn(s, x, NULL, NULL)) ==
             MAPDPM_OK);
        if (which >> 25 & 1u)
            while (mapdpm_settle_step(s) == 1)
                ;
    }
    if (o.with_base && mapdpm_summary_write(s, sizeof(mapdpm_real), file, capacity, &n) == MAPDPM_OK)
        MUST(mapdpm_set_base(s, file, n) == MAPDPM_OK); /* as if another device had seen the same */
    if ((which >> 16 & 7u) == 0)
        (void)mapdpm_summary_write(s, which >> 19 & 1u ? 4 : sizeof(mapdpm_real), file, capacity, &n);
    else if (mapdpm_snapshot_write(s, file, capacity, &n) != MAPDPM_OK)
        n = 0;
    free(s);
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    if (size < SNAPSHOT_HEAD || seed % 1000 == 0)
        size = a_snapshot(mixed(seed / 1000), data, max_size);
    return LLVMFuzzerMutate(data, size, max_size);
}

/* An assessment of a point is in its range. */
static void assess(mapdpm_stream *s, const mapdpm_real *x)
{
    mapdpm_assessment a;

    if (mapdpm_assess(s, x, NULL, &a) == MAPDPM_OK && !s->warming) {
        MUST(a.novelty >= 0 && a.novelty <= 1);
        MUST(!s->surprise || (a.surprise >= 0 && a.surprise <= 1));
    }
}

static void go_on(mapdpm_stream *s)
{
    mapdpm_real *const x = (mapdpm_real *)calloc(s->n_features, sizeof *x);
    int i;

    MUST(x != NULL);
    for (i = 0; i < 24; i++) {
        (void)mapdpm_set_group(s, (uint32_t)i / 4);
        x[0] = (mapdpm_real)((i * 37 % 11) * 10 - 50) + (mapdpm_real)(i % 4) / 16;
        call_queries(s, x);
        assess(s, x);
        if (i == 17)
            (void)mapdpm_gap(s);
        (void)mapdpm_settle_step(s);
        if (mapdpm_learn(s, x, NULL, NULL) == MAPDPM_E_TIME)
            (void)mapdpm_learn_at(s, x, s->now + (i % 8 == 7 ? INT64_C(1) << (i + 20) : 1000), NULL, NULL);
        must_be_whole(s);
    }
    (void)mapdpm_reduce(s, 2);
    must_be_whole(s);
    free(x);
}

/* A file that is read and written again stays the same, except for the flags and extras of its header. */
static void differs(const uint8_t *file, const uint8_t *again, size_t n)
{
    size_t i;

    for (i = SNAPSHOT_HEAD; i < n - 4; i++)
        if (file[i] != again[i]) {
            fprintf(stderr, "byte %u of %u differs\n", (unsigned)i, (unsigned)n);
            MUST(file[i] == again[i]);
        }
}

/* A summary as the base of one learner, and as clusters of another. */
static void take_summary(const uint8_t *file, size_t size)
{
    mapdpm_real parameters[3 * D_MOST];
    mapdpm_options o;
    int pools;

    if (mapdpm_summary_options(file, size, &o, NULL) != MAPDPM_OK || o.n_features > D_MOST || o.max_clusters > K)
        return;
    MUST(mapdpm_summary_options(file, size, &o, parameters) == MAPDPM_OK);
    o.parameters = parameters;
    for (pools = 0; pools < 2; pools++) {
        mapdpm_stream *s;

        o.max_groups = o.with_base = !pools;
        s = new_stream(mapdpm_stream_bytes(&o) + 8);
        if (mapdpm_init(s, mapdpm_stream_bytes(&o), &o) == MAPDPM_OK) {
            if ((pools ? mapdpm_pool_summary(s, file, size) : mapdpm_set_base(s, file, size)) == MAPDPM_OK)
                must_be_whole(s);
            go_on(s);
            if (!pools && mapdpm_set_base(s, file, size) == MAPDPM_OK)
                must_be_whole(s);
            go_on(s);
        }
        free(s);
    }
}

static int next_piece(void *context, unsigned char *bytes, size_t n)
{
    uint8_t **const p = (uint8_t **)context;

    memcpy(bytes, *p, n);
    *p += n;
    return MAPDPM_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file, *again;
    mapdpm_options o;
    mapdpm_stream *s;
    size_t bytes, n, i;
    int error;

    if (size < SNAPSHOT_HEAD + 4)
        return 0;
    file = (uint8_t *)copy_of(data, size);
    for (i = 0; i < 8; i++)
        file[32 + i] = (uint8_t)((uint64_t)size >> (8 * i));
    seal(file, size);
    take_summary(file, size);
    if (mapdpm_snapshot_options(file, size, &o) == MAPDPM_OK && mapdpm_stream_bytes(&o) <= MOST) {
        bytes = mapdpm_stream_bytes(&o);
        s = new_stream(bytes);
        error = mapdpm_snapshot_read(s, bytes, file, size);
        again = file;
        MUST(mapdpm_snapshot_receive(s, bytes, next_piece, &again) == error && (error != MAPDPM_OK || again == file + size));
        if (error == MAPDPM_OK) {
            again = (uint8_t *)malloc(mapdpm_snapshot_bytes(s));
            MUST(again != NULL);
            MUST(mapdpm_snapshot_write(s, again, mapdpm_snapshot_bytes(s), &n) == MAPDPM_OK && n <= size);
            if (!is_settling(s)) /* else free slots are written as zeros, whatever they held */
                differs(file, again, n);
            must_be_whole(s);
            go_on(s);
            MUST(mapdpm_snapshot_write(s, again, mapdpm_snapshot_bytes(s), &n) == MAPDPM_OK);
            (void)mapdpm_snapshot_read(s, bytes, again, n);
            free(again);
        }
        free(s);
    }
    free(file);
    return 0;
}
