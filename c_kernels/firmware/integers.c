/* The conformance program of the learner in whole numbers: does this machine compute the same bits? It learns three streams
 * and prints the CRC-32 of all ids, scores and snapshots; then stacks and instructions, as conformance.c does.
 */
#include "boards/board.h"
#include "streams.h"

enum { N_POINTS = 2000, CLUSTERS = 8, SCORE_EVERY = 5, SNAPSHOT_EVERY = 500 };
#ifdef SMALLEST /* does not forget */
enum { STREAMS_HERE = 2 };
#else
enum { STREAMS_HERE = 3 };
#endif

static uint64_t memory[MAPDPM_STATE_BYTES(N_FEATURES, CLUSTERS) / 8];
static unsigned char file[MAPDPM_SNAPSHOT_BYTES(N_FEATURES, CLUSTERS)];

static mapdpm_options options_of(int kind)
{
    static const int16_t centre[N_FEATURES] = {0, 0, 0};
    static const uint64_t twice_b0[N_FEATURES] = {UINT64_C(2) << 26, UINT64_C(2) << 26, UINT64_C(2) << 26}; /* 512^2 */
    mapdpm_options o = {0};

    o.n_features = N_FEATURES;
    o.max_clusters = CLUSTERS;
    o.half_life = kind == DRIFT ? 300 : 0;
    o.alpha = 65536;
    o.c0 = 3277; /* 0.05 */
    o.twice_a0 = 2 * 256;
    o.centre = centre;
    o.twice_b0 = twice_b0;
    return o;
}

static uint32_t crc_of_word(uint32_t crc, uint32_t word)
{
    const unsigned char bytes[4] = {(unsigned char)word, (unsigned char)(word >> 8), (unsigned char)(word >> 16),
                                    (unsigned char)(word >> 24)};

    return mapdpm_crc32(crc, bytes, 4);
}

/* Save the learner, lose it, and restore it. */
static int through_file(mapdpm_stream *s, uint32_t *crc)
{
    size_t n = 0, i;
    int error;

    MEASURED(save, error = mapdpm_snapshot_write(s, file, sizeof file, &n));
    if (error != MAPDPM_OK)
        return error;
    *crc = mapdpm_crc32(*crc, file, n);
    for (i = 0; i < sizeof memory / sizeof *memory; i++)
        memory[i] = 0;
    MEASURED(load, error = mapdpm_snapshot_read(s, sizeof memory, file, n));
    return error;
}

static int run(int kind, uint32_t *crc)
{
    mapdpm_stream *const s = (mapdpm_stream *)(void *)memory;
    const mapdpm_options o = options_of(kind);
    mapdpm_real x[N_FEATURES];
    mapdpm_score density = 0;
    data_stream g;
    uint32_t i, id = 0;
    int error = mapdpm_init(s, sizeof memory, &o);

    stream_begins(&g, kind);
    for (i = 1; i <= N_POINTS && error == MAPDPM_OK; i++) {
        (void)next_point(&g, x);
        if (i % SCORE_EVERY == 0) {
            MEASURED(score, error = mapdpm_predict(s, x, NULL, &density));
            *crc = crc_of_word(*crc, (uint32_t)density);
        }
        MEASURED(learn, error = mapdpm_learn(s, x, &id, &density));
        *crc = crc_of_word(crc_of_word(*crc, id), (uint32_t)density);
        if (error == MAPDPM_OK && i % SNAPSHOT_EVERY == 0)
            error = through_file(s, crc);
    }
    return error;
}

int main(void)
{
    static const char *const names[] = {"stationary", "full", "drift"};
    static const int kinds[] = {STATIONARY, FULL, DRIFT};
    uint32_t all = 0, i;

    for (i = 0; i < STREAMS_HERE; i++) {
        uint32_t crc = 0;
        const int error = run(kinds[i], &crc);

        all = crc_of_word(all, crc);
        report_line(names[i], crc, error);
    }
    report_end(all, MAPDPM_STATE_BYTES(N_FEATURES, CLUSTERS));
    board_exit(0);
    return 0;
}
