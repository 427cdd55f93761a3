/* Learn a stream on the machine that compiles, and print the learner as the header that score.c includes: its memory
 * with the CRC-32, or with -DFROM_SNAPSHOT a snapshot. Both machines have the same byte order.
 */
#include "streams.h"

#include <stdio.h>

enum { CLUSTERS = 8, N_LEARNED = 1000 };

static uint64_t memory[MAPDPM_STATE_BYTES(N_FEATURES, CLUSTERS) / 8];

static int learn_stream(mapdpm_stream *s)
{
    static const mapdpm_real prior[] = {0, 0, 0, (mapdpm_real)0.05, 1, 1, 1, 1};
    mapdpm_options o = {0};
    mapdpm_real x[N_FEATURES];
    data_stream g;
    int i, error;

    o.family = MAPDPM_NORMAL_GAMMA;
    o.n_features = N_FEATURES;
    o.max_clusters = CLUSTERS;
    o.alpha = 1;
    o.parameters = prior;
    error = mapdpm_init(s, sizeof memory, &o);
    stream_begins(&g, STATIONARY);
    for (i = 0; i < N_LEARNED && error == MAPDPM_OK; i++) {
        (void)next_point(&g, x);
        error = mapdpm_learn(s, x, NULL, NULL);
    }
    return error;
}

int main(void)
{
    mapdpm_stream *const s = (mapdpm_stream *)(void *)memory;
    const unsigned char *bytes = (const unsigned char *)memory;
    size_t i, n = sizeof memory;
    int error = learn_stream(s);
#ifdef FROM_SNAPSHOT
    static unsigned char file[sizeof memory + 256];

    error = error ? error : mapdpm_snapshot_write(s, file, sizeof file, &n);
    bytes = file;
#endif
    printf("static const unsigned char image[] = {");
    for (i = 0; i < n; i++)
        printf("%s%d,", i % 24 ? "" : "\n    ", bytes[i]);
    printf("\n};\nenum { IMAGE_WORDS = %d };\n", (int)(sizeof memory / 8));
    printf("#define IMAGE_CRC UINT32_C(0x%08lx)\n", (unsigned long)mapdpm_crc32(0, bytes, n));
    return error != MAPDPM_OK;
}
