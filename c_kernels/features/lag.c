/* LAG: the point and the n points before it, the newest first (docs/maths.md (130)). */
#include "features/mapdpm_ring.h"

static void lag_run(const step_run *r)
{
    const uint32_t n = r->p->step.n, D = r->p->from, at = place_in_ring(r);
    uint32_t i, from = at;

    memcpy(r->result, r->x, D * sizeof(md_real));
    for (i = 1; i <= n; i++) { /* backwards from the newest */
        from = from == 0 ? n - 1 : from - 1;
        memcpy(r->result + (size_t)i * D, r->state + (size_t)from * D, D * sizeof(md_real));
    }
    put_in_ring(r, at);
}

MAPDPM_INTERNAL const step_kind features_lag = {
    .is = USES_N | HAS_LAGS, .state = {0, 1, 0, 0}, .words = {1, 0}, .run = lag_run, .is_state = is_ring};
