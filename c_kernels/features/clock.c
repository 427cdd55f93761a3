/* CLOCK: the cosine and the sine of the time of the day, or of the week (docs/maths.md (190)). */
#include "features/mapdpm_season.h"

/* An eighth of a turn in microseconds: 3 or 21 hours. */
#define EIGHTH(hours) ((int64_t)(hours) / 8 * INT64_C(3600000000))

static void clock_run(const step_run *r)
{
    const int64_t eighth = EIGHTH(r->p->step.n == HOURS ? HOURS : HOURS_OF_WEEK);
    const int64_t monday = r->p->step.n == HOURS ? 0 : INT64_C(3) * HOURS * INT64_C(3600000000);
    const int64_t local = *r->microseconds + (int64_t)r->p->step.offset * 60000000 + monday;
    const int64_t phase = rest_of(local, 8 * eighth);
    const uint32_t octant = (uint32_t)(phase / eighth), swaps = (octant + 1) / 2 % 2;
    const int64_t since = phase % eighth, from_axis = octant % 2 == 0 ? since : eighth - since;
    /* In milliseconds, for chips without a conversion of 64 bits. */
    const md_real angle = (md_real)(uint32_t)(from_axis / 1000) / (md_real)(uint32_t)(eighth / 1000) * (MATH_PI / 4);
    const md_real sine = math_sin(angle), cosine = math_sqrt(1 - sine * sine);
    const md_real x = swaps != 0 ? sine : cosine, y = swaps != 0 ? cosine : sine;

    r->result[0] = octant >= 2 && octant < 6 ? -x : x;
    r->result[1] = octant >= 4 ? -y : y;
}

MAPDPM_INTERNAL const step_kind features_clock = {.is = USES_SEASON | USES_OFFSET | NEEDS_TIMES | IS_PAIR,
                                                  .run = clock_run};
