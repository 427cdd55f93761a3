/* CENTRE: the point less the mean of the n points before it (docs/maths.md (132)). */
#include "features/mapdpm_moving.h"

static void centre_run(const step_run *r)
{
    uint32_t d;

    for (d = 0; d < r->p->from; d++) {
        const md_real x = r->x[d];

        if (moving_count(r, d) > 0)
            r->result[d] = (x - moving_shift(r, d)) - moving_mean_less_shift(r, d);
        else
            r->result[d] = is_missing(x) ? x : 0;
    }
    put_in_moving(r);
}

MAPDPM_INTERNAL const step_kind features_centre = {.is = USES_N,
                                                   .state = {MOVING_SUMS, 1, 0, 0},
                                                   .words = {MOVING_WORDS, MOVING_COUNTS},
                                                   .run = centre_run,
                                                   .is_state = is_moving};
