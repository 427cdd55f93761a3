/* The conformance program: does this machine compute the same bits? It learns seven streams, or with -DPIPELINES_ONLY
 * transforms two, and prints the CRC-32 of all ids, scores, features and snapshots. It also prints the deepest stack of
 * each function and, if the board can count, its instructions. With -DRAW_IMAGE it saves the learner's memory as it is,
 * with its CRC-32, instead of snapshots.
 */
#include "boards/board.h"
#include "streams.h"

#ifndef N_POINTS
#define N_POINTS 2000u
#endif
enum { CLUSTERS = 8, PLACES = 3, LAG = 4, WARMUP = 60, WINDOW = 12, SCORE_EVERY = 5, GAP_EVERY = 300, SNAPSHOT_EVERY = 500 };
#ifdef SMALLEST /* the smallest library has no warm-up, no forgetting, no missing values, no groups and no states */
enum { STREAMS_HERE = FULL + 1, CLUSTERS_OF_FULL = CLUSTERS };
#elif defined(PIPELINES_ONLY)
enum { STREAMS_HERE = 0, CLUSTERS_OF_FULL = CLUSTERS };
#elif defined(MAPDPM_SURPRISE) /* those without groups and states */
enum { STREAMS_HERE = MISSING + 1, CLUSTERS_OF_FULL = CLUSTERS / 2 };
#else
enum { STREAMS_HERE = N_STREAMS, CLUSTERS_OF_FULL = CLUSTERS / 2 };
#endif
#define NAN_BITS UINT32_C(0x7fc00000)

/* What the stream of states has besides, which takes most; the smallest library has none. */
#ifdef SMALLEST
#define MORE 0
#else
#define MORE MAPDPM_TIME_BYTES(N_FEATURES, CLUSTERS, LAG)
#endif

static uint64_t memory[(MAPDPM_STATE_BYTES(N_FEATURES, CLUSTERS) + MORE) / 8];
static unsigned char file[sizeof memory + 256];

static mapdpm_options options_of(int kind)
{
    static const mapdpm_real prior[] = {0, 0, 0, (mapdpm_real)0.05, 1, 1, 1, 1};
    mapdpm_options o = {0};

    o.family = MAPDPM_NORMAL_GAMMA;
    o.n_features = N_FEATURES;
    o.max_clusters = kind == FULL ? CLUSTERS_OF_FULL : CLUSTERS;
    o.warmup = kind == WARM_UP ? WARMUP : 0;
    o.window = kind == DRIFT ? WINDOW : 0;
    o.half_life = kind == DRIFT ? 300 : 0;
    o.missing = kind == MISSING;
    o.alpha = 1;
    o.max_groups = kind == GROUPS ? PLACES : 0;
    o.when_groups_full = MAPDPM_GROUPS_REPLACE;
    o.with_base = kind == GROUPS;
    o.gamma = 2;
    o.lag = kind == STATES ? LAG : 0;
    o.kappa = kind == STATES ? 1 : 0;
#ifdef MAPDPM_SURPRISE
    o.surprise = 1;
#endif
#ifdef MAPDPM_RELEVANCE
    o.relevance = o.warmup > 0;
#endif
#ifdef MAPDPM_RESOLUTION
    o.resolution = o.warmup > 0;
#endif
    o.rare = o.surprise ? (mapdpm_real)0.0625 : 0;
    o.parameters = o.warmup > 0 ? NULL : prior;
    return o;
}

static uint32_t crc_of_word(uint32_t crc, uint32_t word)
{
    const unsigned char bytes[4] = {(unsigned char)word, (unsigned char)(word >> 8), (unsigned char)(word >> 16),
                                    (unsigned char)(word >> 24)};

    return mapdpm_crc32(crc, bytes, 4);
}

/* The bits of a score, lowest byte first. Every NaN counts as the same. */
static uint32_t crc_of_real(uint32_t crc, mapdpm_real x)
{
    const union {
        mapdpm_real real;
        uint32_t word;
        uint64_t words;
    } bits = {x};

    if (!(x == x))
        return crc_of_word(crc, NAN_BITS);
    if (sizeof x == 4)
        return crc_of_word(crc, bits.word);
    return crc_of_word(crc_of_word(crc, (uint32_t)bits.words), (uint32_t)(bits.words >> 32));
}

/* The CRC of a file, continued, without the CRC at its end: with it, the sum of any file would depend on its length
 * alone. */
static uint32_t crc_of_file(uint32_t crc, size_t n) { return mapdpm_crc32(crc, file, n - 4); }

#ifdef RAW_IMAGE
#include <string.h>

/* A program of one library keeps the memory itself, in a flash or in RAM that survives sleep. */
static size_t keep(const mapdpm_stream *s)
{
    const uint32_t crc = mapdpm_crc32(0, (const unsigned char *)s, s->bytes);

    memcpy(file, s, s->bytes);
    memcpy(file + s->bytes, &crc, sizeof crc);
    return s->bytes;
}

static int restore(mapdpm_stream *s, size_t n)
{
    uint32_t kept;

    memcpy(&kept, file + n, sizeof kept);
    if (n > sizeof memory || mapdpm_crc32(0, file, n) != kept)
        return MAPDPM_E_DAMAGED;
    memcpy(s, file, n);
    return MAPDPM_OK;
}

/* Save the learner's memory, lose it, and restore it. */
static int through_file(mapdpm_stream *s, uint32_t *crc)
{
    size_t n = 0;
    int error;

    MEASURED(save, n = keep(s));
    *crc = crc_of_word(*crc, (uint32_t)n);
    memset(memory, 0, sizeof memory);
    MEASURED(load, error = restore(s, n));
    return error;
}
#else
/* Save the learner to a file and restore it. */
static int through_file(mapdpm_stream *s, uint32_t *crc)
{
    size_t n = 0;
    int error;

    MEASURED(save, error = mapdpm_snapshot_write(s, file, sizeof file, &n));
    if (error != MAPDPM_OK)
        return error;
    *crc = crc_of_file(*crc, n);
    MEASURED(load, error = mapdpm_snapshot_read(s, sizeof memory, file, n));
    return error;
}
#endif

#ifdef MAPDPM_GROUPS

/* What the learner saw becomes its base, as if another device had seen the same. */
static int take_base(mapdpm_stream *s, uint32_t *crc)
{
    size_t n = 0;
    int error = mapdpm_summary_write(s, sizeof(mapdpm_real), file, sizeof file, &n);

    if (error != MAPDPM_OK)
        return error;
    *crc = crc_of_file(*crc, n);
    return mapdpm_set_base(s, file, n);
}
#endif

/* The one step that ends a warm-up is measured separately. */
static int learn_measured(mapdpm_stream *s, const mapdpm_real *x, uint32_t *id, mapdpm_real *density)
{
    int error;

    if (s->warming && s->n_seen + 1 == s->warmup)
        MEASURED(settle, error = mapdpm_learn(s, x, id, density));
    else
        MEASURED(learn, error = mapdpm_learn(s, x, id, density));
    return error;
}

static int run(int kind, uint32_t *crc)
{
    mapdpm_stream *const s = (mapdpm_stream *)(void *)memory;
    const mapdpm_options o = options_of(kind);
    mapdpm_real x[N_FEATURES], density;
    mapdpm_assessment a;
    data_stream g;
    uint32_t i, id, group;
    int error;

    if (mapdpm_stream_bytes(&o) > sizeof memory)
        return MAPDPM_E_SPACE;
    error = mapdpm_init(s, sizeof memory, &o);
    stream_begins(&g, kind);
    for (i = 1; i <= N_POINTS && error == MAPDPM_OK; i++) {
        group = next_point(&g, x);
        if (kind == GROUPS) { /* four groups take turns in three places */
            group = (group / 2 + (i / 64 + random16(&g) % 2u)) % 4u;
            error = mapdpm_set_group(s, group);
        }
        if (kind == STATES && i % GAP_EVERY == 0)
            error = mapdpm_gap(s);
        if (i % SCORE_EVERY == 0) {
            MEASURED(score, error = mapdpm_predict(s, x, NULL, &density));
            *crc = crc_of_real(*crc, density);
        }
        if (o.surprise && i % SCORE_EVERY == 0 && error == MAPDPM_OK) {
            error = mapdpm_assess(s, x, NULL, &a);
            *crc = crc_of_real(crc_of_real(*crc, a.novelty), a.surprise);
        }
        if (error == MAPDPM_OK)
            error = learn_measured(s, x, &id, &density);
        *crc = crc_of_real(crc_of_word(*crc, id), density);
        if (error == MAPDPM_OK && i % SNAPSHOT_EVERY == 0)
            error = through_file(s, crc);
#ifdef MAPDPM_GROUPS
        if (error == MAPDPM_OK && kind == GROUPS && i % SNAPSHOT_EVERY == 0)
            error = take_base(s, crc);
#endif
    }
    return error;
}

/* Features of the stream with missing values at each point, and of blocks and of windows of the stream that drifts. */
enum { POINTWISE, BLOCKS, WINDOWS, PIPELINES };
#ifdef PIPELINES_ONLY
enum { PIPELINES_HERE = PIPELINES };
#else
enum { PIPELINES_HERE = 0 };
#endif

static int transform(int which, uint32_t *crc)
{
    static const mapdpm_step pointwise[] = {
        {MAPDPM_STEP_LAG, 0, 0, 2, 0, 0, 0, 0, 0},     {MAPDPM_STEP_DIFFERENCE, 0, 0, 3, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_CENTRE, 1, 0, 13, 0, 0, 0, 0, 0}, {MAPDPM_STEP_SEASONAL, 0, 0, 24, 0, 0, -150, 0, 6},
        {MAPDPM_STEP_JOIN, 2, 3, 0, 0, 0, 0, 0, 0},    {MAPDPM_STEP_JOIN, 5, 4, 0, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_STUCK, 0, 0, 8, 0, 0, 0, 0, 0},   {MAPDPM_STEP_SILENCE, 0, 0, 8, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_JOIN, 6, 7, 0, 0, 0, 0, 0, 0},    {MAPDPM_STEP_JOIN, 9, 8, 0, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_WINDOW, 4, 0, 5, 2, 0, 0, 0, 0},  {MAPDPM_STEP_SPREAD, 4, 0, 24, 0, 0, 90, 0, 6},
        {MAPDPM_STEP_JOIN, 11, 12, 0, 0, 0, 0, 0, 0},  {MAPDPM_STEP_JOIN, 10, 13, 0, 0, 0, 0, 0, 0},
    };
    static const mapdpm_step blocks[] = {
        {MAPDPM_STEP_RMS, 0, 0, 16, 0, 0, 0, 1, 0},   {MAPDPM_STEP_CREST, 0, 0, 16, 0, 0, 0, 1, 0},
        {MAPDPM_STEP_BAND, 0, 0, 16, 1, 9, 0, 0, 0},  {MAPDPM_STEP_JOIN, 1, 2, 0, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_JOIN, 4, 3, 0, 0, 0, 0, 0, 0},   {MAPDPM_STEP_SEASONAL, 5, 0, 7, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_JOIN, 5, 6, 0, 0, 0, 0, 0, 0},
    };
    static const mapdpm_step windows[] = {
        {MAPDPM_STEP_SMOOTH, 0, 0, 5, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_AUTOPERIOD, 1, 0, 32, 3, 0, 0, 0, 0},
        {MAPDPM_STEP_PCA, 2, 0, 40, 2, 0, 0, 0, 0},
        {MAPDPM_STEP_CLOCK, 0, 0, 24, 0, 0, 90, 0, 0},
        {MAPDPM_STEP_CLOCK, 0, 0, 168, 0, 0, -90, 0, 0},
        {MAPDPM_STEP_JOIN, 4, 5, 0, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_JOIN, 3, 6, 0, 0, 0, 0, 0, 0},
    };
    static const struct {
        const mapdpm_step *steps;
        uint32_t n;
    } programs[PIPELINES] = {{pointwise, sizeof pointwise / sizeof *pointwise},
                             {blocks, sizeof blocks / sizeof *blocks},
                             {windows, sizeof windows / sizeof *windows}};
    mapdpm_features *const f = (mapdpm_features *)(void *)memory;
    mapdpm_real x[N_FEATURES], out[12 * N_FEATURES];
    int64_t microseconds = -INT64_C(90000000000);
    data_stream g;
    uint32_t i, d;
    size_t n = 0;
    int came = mapdpm_features_init(f, sizeof memory, programs[which].steps, programs[which].n, N_FEATURES);

    stream_begins(&g, which == POINTWISE ? MISSING : DRIFT);
    for (i = 1; i <= N_POINTS && came >= 0; i++) {
        (void)next_point(&g, x);
        microseconds += INT64_C(1234567890);
        MEASURED(learn, came = mapdpm_features_step(f, x, &microseconds, out));
        for (d = 0; came == 1 && d < mapdpm_features_width(f); d++)
            *crc = crc_of_real(*crc, out[d]);
        if (came >= 0 && i % SNAPSHOT_EVERY == 0) {
            MEASURED(save, came = mapdpm_features_write(f, file, sizeof file, &n));
            *crc = crc_of_file(*crc, n);
            if (came == MAPDPM_OK)
                MEASURED(load, came = mapdpm_features_read(f, sizeof memory, file, n));
        }
    }
    return came < 0 ? came : MAPDPM_OK;
}

int main(void)
{
    static const char *const names[] = {"stationary", "full", "warm-up", "drift", "missing", "groups", "states"};
    static const char *const pipelines[] = {"features", "blocks", "windows"};
    uint32_t all = 0;
    int kind;

    for (kind = 0; kind < STREAMS_HERE; kind++) {
        uint32_t crc = 0;
        const int error = run(kind, &crc);

        all = crc_of_word(all, crc);
        report_line(names[kind], crc, error);
    }
    for (kind = 0; kind < PIPELINES_HERE; kind++) {
        uint32_t crc = 0;
        const int error = transform(kind, &crc);

        all = crc_of_word(all, crc);
        report_line(pipelines[kind], crc, error);
    }
    report_end(all, MAPDPM_STATE_BYTES(N_FEATURES, CLUSTERS));
    board_exit(0);
    return 0;
}
