/* What RMS, CREST and BAND share. Their state begins with a value [D], which is 0 where a feature has no sample yet.
 * The counters are the points of the block so far, and of each feature those that have a value. Internal; static
 * inlines.
 */
#ifndef MAPDPM_BLOCKS_H
#define MAPDPM_BLOCKS_H

#include "features/mapdpm_transformers.h"

/* Whether this is the last sample of the block. */
static inline int is_last(const step_run *r) { return r->words[0] == r->p->step.n; }

static inline int is_part_of_block(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const uint32_t D = p->from;
    uint32_t d;

    for (d = 0; d < D; d++)
        if (words[1 + d] > words[0] || (words[1 + d] == 0 && !are_between(state + d, 1, 0, 0)))
            return 0; /* squares about a mean without values could become negative */
    return are_between(state, D, -2 * FEATURE_LIMIT, 2 * FEATURE_LIMIT);
}

#endif
