/* A smart watch's chip: learns its accelerometer's readings, which on_a_chip.py has put into recording.h, and tells of each
 * its cluster and the bits of its log density.
 */
#include "boards/board.h"
#include "recording.h"

static uint64_t memory[STATE_BYTES / 8];

int main(void)
{
    mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;
    mapdpm_options options = {0};
    uint32_t i, id;
    int error;

    options.family = MAPDPM_NORMAL_GAMMA;
    options.n_features = N_FEATURES;
    options.max_clusters = N_CLUSTERS;
    options.warmup = WARMUP;
    options.alpha = 1;
    error = mapdpm_init(learner, sizeof memory, &options);
    for (i = 0; i < N_READINGS && error == MAPDPM_OK; i++) {
        union {
            float real;
            uint32_t word;
        } density = {0};

        if (learner->warming && learner->n_seen + 1 == learner->warmup)
            MEASURED(settle, error = mapdpm_learn(learner, readings[i], &id, &density.real));
        else
            MEASURED(learn, error = mapdpm_learn(learner, readings[i], &id, &density.real));
        write_number(id);
        board_write(" ");
        write_hex(density.real == density.real ? density.word : UINT32_C(0x7fc00000));
        board_write("\n");
    }
    report_end((uint32_t)-error, sizeof memory);
    board_exit(error != MAPDPM_OK);
    return 0;
}
