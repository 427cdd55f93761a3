/* DIFFERENCE: the point less that n points before it (docs/maths.md (131)). */
#include "features/mapdpm_ring.h"

static void difference_run(const step_run *r)
{
    const uint32_t D = r->p->from, at = place_in_ring(r);
    uint32_t d;

    for (d = 0; d < D; d++)
        r->result[d] = r->x[d] - r->state[(size_t)at * D + d];
    put_in_ring(r, at);
}

MAPDPM_INTERNAL const step_kind features_difference = {
    .is = USES_N, .state = {0, 1, 0, 0}, .words = {1, 0}, .run = difference_run, .is_state = is_ring};
