/* As eva.c, for the features before a learner: each kind of step gets any points at any times, without end. */
#include "mapdpm.h"

#include <__fc_builtin.h>

enum { D = 2, MOST_STEPS = 3, BYTES = 4096, WIDTH = 16 };

static volatile int again;
static volatile int64_t any_time;
static uint64_t memory[BYTES / 8];

/* A pipeline for each kind of step, by its number. The fields of a step are kind, source, second, n, first, end, offset,
 * centred and half_life. */
static const mapdpm_step pipelines[][MOST_STEPS] = {
    {{MAPDPM_STEP_LAG, 0, 0, 2, 0, 0, 0, 0, 0}},
    {{MAPDPM_STEP_DIFFERENCE, 0, 0, 2, 0, 0, 0, 0, 0}},
    {{MAPDPM_STEP_CENTRE, 0, 0, 3, 0, 0, 0, 0, 0}},
    {{MAPDPM_STEP_SEASONAL, 0, 0, 7, 0, 0, -90, 0, 5}},
    {{MAPDPM_STEP_RMS, 0, 0, 4, 0, 0, 0, 1, 0}},
    {{MAPDPM_STEP_CREST, 0, 0, 4, 0, 0, 0, 1, 0}},
    {{MAPDPM_STEP_BAND, 0, 0, 4, 1, 3, 0, 0, 0}},
    {{MAPDPM_STEP_LAG, 0, 0, 1, 0, 0, 0, 0, 0},
     {MAPDPM_STEP_SMOOTH, 0, 0, 3, 0, 0, 0, 0, 0},
     {MAPDPM_STEP_JOIN, 1, 2, 0, 0, 0, 0, 0, 0}},
    {{MAPDPM_STEP_STUCK, 0, 0, 3, 0, 0, 0, 0, 0}},
    {{MAPDPM_STEP_SILENCE, 0, 0, 3, 0, 0, 0, 0, 0}},
    {{MAPDPM_STEP_WINDOW, 0, 0, 4, 2, 0, 0, 0, 0}},
    {{MAPDPM_STEP_SPREAD, 0, 0, 7, 0, 0, 90, 0, 5}},
    {{MAPDPM_STEP_SMOOTH, 0, 0, 3, 0, 0, 0, 0, 0}},
    {{MAPDPM_STEP_AUTOPERIOD, 0, 0, 16, 2, 0, 0, 0, 0}},
    {{MAPDPM_STEP_PCA, 0, 0, 4, 1, 0, 0, 0, 0}},
    {{MAPDPM_STEP_CLOCK, 0, 0, 168, 0, 0, 90, 0, 0}},
};

int main(void)
{
    mapdpm_features *const f = (mapdpm_features *)memory;
    mapdpm_real x[D], out[WIDTH];
    const mapdpm_step *const steps = pipelines[EVA_KIND - 1];
    uint32_t n;

    for (n = 1; n < MOST_STEPS && steps[n].kind != 0; n++)
        continue;
    if (mapdpm_features_init(f, sizeof memory, steps, n, D) != MAPDPM_OK || mapdpm_features_width(f) > WIDTH)
        return 1;
    Frama_C_show_each_accepted(EVA_KIND);
    /*@ loop unroll 0;
        loop widen_hints "all", 2, 3, 4, 15, 16; */
    while (again) {
        const int64_t now = any_time;

        Frama_C_make_unknown((char *)x, sizeof x);
        (void)mapdpm_features_step(f, x, &now, out);
    }
    return 0;
}
