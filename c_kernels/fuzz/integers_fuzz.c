/* Any bytes as a learner in whole numbers: options, points, files, forged files. Whatever has happened, predicting changes
 * nothing, an error changes nothing, and a learner that was restored has the bits of the one that was saved.
 */
#include "mapdpm.h"

#include "input.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { D_MOST = 4, K_MOST = 6, FIXED = 40 };

static uint64_t memory[MAPDPM_STATE_BYTES(D_MOST, K_MOST) / 8], restored[sizeof memory / 8], copy[sizeof memory / 8];
static unsigned char file[MAPDPM_SNAPSHOT_BYTES(D_MOST, K_MOST)];

/* n bytes as a number; often of few bits. */
static uint64_t next_number(input *t, unsigned n)
{
    const uint32_t bits = next_byte(t) % (8 * n + 1);
    uint64_t value = 0;

    while (n-- > 0)
        value = value << 8 | next_byte(t);
    return bits < 64 ? value & ((UINT64_C(1) << bits) - 1) : value;
}

static void next_point(input *t, int16_t *x)
{
    unsigned d;

    for (d = 0; d < D_MOST; d++)
        x[d] = (int16_t)(next_byte(t) % 2 ? (int32_t)next_byte(t) - 128
                                          : (int32_t)(next_byte(t) << 8 | next_byte(t)) - 32768);
}

/* Save the learner and restore it; forge its file, which is refused or makes a learner that takes points. */
static void through_file(input *t, const mapdpm_stream *s)
{
    mapdpm_stream *const other = (mapdpm_stream *)(void *)restored;
    const uint32_t changes = next_byte(t) % 4;
    uint32_t i, crc;
    size_t n = 0;

    MUST(mapdpm_snapshot_write(s, file, sizeof file, &n) == MAPDPM_OK && n == mapdpm_snapshot_bytes(s));
    MUST(mapdpm_snapshot_read(other, sizeof restored, file, n) == MAPDPM_OK);
    MUST(memcmp(other, s, s->bytes) == 0);
    for (i = 0; i < changes; i++)
        file[FIXED + (next_byte(t) << 8 | next_byte(t)) % (n - FIXED - 4)] = (unsigned char)next_byte(t);
    crc = mapdpm_crc32(0, file, n - 4);
    for (i = 0; i < 4; i++)
        file[n - 4 + i] = (unsigned char)(crc >> 8 * i);
    if (changes > 0 && mapdpm_snapshot_read(other, sizeof restored, file, n) == MAPDPM_OK)
        for (i = 0; i < 12; i++) {
            int16_t x[D_MOST];

            next_point(t, x);
            (void)mapdpm_learn(other, x, NULL, NULL);
        }
}

/* Insert any cluster. Returns the number of points that it stands for; an error changes nothing. */
static uint64_t insert(input *t, mapdpm_stream *s)
{
    mapdpm_cluster cluster;
    int32_t mean[D_MOST];
    uint64_t squares[D_MOST];
    unsigned d;
    int error;

    cluster.id = next_byte(t) % 2 ? MAPDPM_NO_ID : (uint32_t)next_number(t, 4);
    cluster.weight = (uint32_t)next_number(t, 4);
    for (d = 0; d < D_MOST; d++) {
        mean[d] = (int32_t)((int64_t)next_number(t, 4) - (INT64_C(1) << (next_byte(t) % 32)));
        squares[d] = next_number(t, 8);
    }
    memcpy(copy, memory, sizeof memory);
    error = mapdpm_insert(s, &cluster, mean, squares);
    MUST(error == MAPDPM_OK || memcmp(copy, memory, sizeof memory) == 0);
    return error == MAPDPM_OK ? ((uint64_t)cluster.weight + 128) >> 8 : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mapdpm_stream *const s = (mapdpm_stream *)(void *)memory;
    int16_t centre[D_MOST], x[D_MOST];
    uint64_t twice_b0[D_MOST], seen = 0;
    mapdpm_options o = {0};
    input t = {data, size};
    unsigned d;

    o.n_features = next_byte(&t) % D_MOST + 1;
    o.max_clusters = next_byte(&t) % K_MOST + 1;
    o.when_full = next_byte(&t) % 5;
    o.half_life = next_byte(&t) % 2 ? (uint32_t)next_number(&t, 4) : 0;
    o.alpha = (uint32_t)next_number(&t, 4);
    o.c0 = (uint32_t)next_number(&t, 4);
    o.twice_a0 = (uint32_t)next_number(&t, 4);
    next_point(&t, centre);
    for (d = 0; d < D_MOST; d++)
        twice_b0[d] = next_number(&t, 8);
    o.centre = centre;
    o.twice_b0 = twice_b0;
    memset(memory, 0, sizeof memory);
    memset(restored, 0, sizeof restored);
    if (mapdpm_init(s, sizeof memory, &o) != MAPDPM_OK) {
        MUST(mapdpm_learn(s, centre, NULL, NULL) == MAPDPM_E_ARGUMENT);
        return 0;
    }
    while (t.left > 0) {
        const uint32_t what = next_byte(&t);
        mapdpm_score before = 0, score = 0;
        uint32_t best = 0, id = 0;
        int error;

        next_point(&t, x);
        memcpy(copy, memory, sizeof memory);
        error = mapdpm_predict(s, x, &best, &before);
        MUST(error == MAPDPM_OK || (error == MAPDPM_E_WARMING && mapdpm_n_clusters(s) == 0));
        MUST(memcmp(copy, memory, sizeof memory) == 0);
        error = mapdpm_learn(s, x, &id, &score);
        MUST(error == MAPDPM_OK || memcmp(copy, memory, sizeof memory) == 0);
        seen += error == MAPDPM_OK;
        MUST(mapdpm_n_seen(s) == seen && mapdpm_n_clusters(s) <= o.max_clusters);
        MUST(error != MAPDPM_OK || o.half_life > 0 || score == before);
        if (what % 16 == 0)
            through_file(&t, s);
        if (what % 16 == 1)
            seen += insert(&t, s);
    }
    return 0;
}
