/* A program that scores only: it restores a learner that image.c made on another machine, and predicts points. The
 * memory of a learner is its own image: a CRC-32 says whether it is whole. With -DFROM_SNAPSHOT the learner comes from a
 * snapshot, every field of which is checked.
 */
#include "boards/board.h"
#include "image.h" /* which firmware.py lets image.c write */
#include "streams.h"

#include <string.h>

enum { N_SCORED = 500 };

static uint64_t memory[IMAGE_WORDS];

static int restore(mapdpm_stream *s)
{
#ifdef FROM_SNAPSHOT
    return mapdpm_snapshot_read(s, sizeof memory, image, sizeof image);
#else
    if (mapdpm_crc32(0, image, sizeof image) != IMAGE_CRC)
        return MAPDPM_E_DAMAGED;
    memcpy(s, image, sizeof image);
    return s->n_features == N_FEATURES ? MAPDPM_OK : MAPDPM_E_KIND;
#endif
}

/* The CRC of the ids and scores of a stream of other clusters than the learner's: some points are novel. */
static int score_points(const mapdpm_stream *s, uint32_t *crc)
{
    mapdpm_real x[N_FEATURES], density;
    data_stream g;
    uint32_t i, id;
    int error = MAPDPM_OK;

    stream_begins(&g, FULL);
    for (i = 0; i < N_SCORED && error == MAPDPM_OK; i++) {
        (void)next_point(&g, x);
        MEASURED(score, error = mapdpm_predict(s, x, &id, &density));
        *crc = mapdpm_crc32(*crc, (const unsigned char *)&id, sizeof id);
        *crc = mapdpm_crc32(*crc, (const unsigned char *)&density, sizeof density);
    }
    return error;
}

int main(void)
{
    mapdpm_stream *const s = (mapdpm_stream *)(void *)memory;
    uint32_t crc = 0;
    int error;

    MEASURED(load, error = restore(s));
    if (error == MAPDPM_OK)
        error = score_points(s, &crc);
    report_line("scores", crc, error);
    report_end(crc, sizeof memory);
    board_exit(0);
    return 0;
}
