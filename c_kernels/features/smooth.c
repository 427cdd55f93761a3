/* SMOOTH: the mean of the point and the n - 1 points before it (docs/maths.md (186)). */
#include "features/mapdpm_moving.h"

static void smooth_run(const step_run *r)
{
    uint32_t d;

    put_in_moving(r);
    for (d = 0; d < r->p->from; d++)
        r->result[d] = moving_count(r, d) > 0 ? moving_shift(r, d) + moving_mean_less_shift(r, d) : math_nan();
}

MAPDPM_INTERNAL const step_kind features_smooth = {.is = USES_N,
                                                   .state = {MOVING_SUMS, 1, 0, 0},
                                                   .words = {MOVING_WORDS, MOVING_COUNTS},
                                                   .run = smooth_run,
                                                   .is_state = is_moving};
