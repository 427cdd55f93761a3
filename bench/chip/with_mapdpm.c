/* A learner from a snapshot; emlearn_gmm.py writes snapshot.h. With UNREAD the learner is taken to be in its memory
 * already: such a program is linked, but not run, for the bytes that scoring needs by itself. */
#include "mapdpm.h"
#include "scorer.h"
#include "snapshot.h"

static uint64_t memory[STATE_BYTES / 8];

int scorer_begin(void)
{
#ifdef UNREAD
    return 0;
#else
    return mapdpm_snapshot_read((mapdpm_stream *)(void *)memory, sizeof memory, snapshot, sizeof snapshot);
#endif
}

int scorer_score(const float *x, uint32_t *id, float *density)
{
    return mapdpm_predict((const mapdpm_stream *)(const void *)memory, x, id, density);
}
