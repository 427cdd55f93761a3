/* All kinds of steps, each from its file (decision 158). No other line of the library names one. */
#include "features/mapdpm_transformers.h"

const step_kind *features_kind(uint32_t kind)
{
    static const step_kind *const kinds[] = {
        [MAPDPM_STEP_LAG] = &features_lag,       [MAPDPM_STEP_DIFFERENCE] = &features_difference,
        [MAPDPM_STEP_CENTRE] = &features_centre, [MAPDPM_STEP_SEASONAL] = &features_seasonal,
        [MAPDPM_STEP_RMS] = &features_rms,       [MAPDPM_STEP_CREST] = &features_crest,
        [MAPDPM_STEP_BAND] = &features_band,     [MAPDPM_STEP_JOIN] = &features_join,
        [MAPDPM_STEP_STUCK] = &features_stuck,   [MAPDPM_STEP_SILENCE] = &features_silence,
        [MAPDPM_STEP_WINDOW] = &features_window, [MAPDPM_STEP_SPREAD] = &features_spread,
        [MAPDPM_STEP_SMOOTH] = &features_smooth, [MAPDPM_STEP_AUTOPERIOD] = &features_autoperiod,
        [MAPDPM_STEP_PCA] = &features_pca,       [MAPDPM_STEP_CLOCK] = &features_clock,
    };

    return kind < sizeof kinds / sizeof *kinds ? kinds[kind] : NULL;
}
