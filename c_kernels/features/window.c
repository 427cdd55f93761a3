/* WINDOW: the point, and every `first`-th of the n - 1 points before it, the newest first (docs/maths.md (184)). */
#include "features/mapdpm_ring.h"

static void window_run(const step_run *r)
{
    const uint32_t n = r->p->step.n, every = r->p->step.first, D = r->p->from, at = place_in_ring(r);
    uint32_t back;
    md_real *to = r->result;

    put_in_ring(r, at);
    for (back = 0; back < n; back += every, to += D) {
        const uint32_t from = at >= back ? at - back : at + n - back;

        memcpy(to, r->state + (size_t)from * D, D * sizeof(md_real));
    }
}

MAPDPM_INTERNAL const step_kind features_window = {
    .is = USES_N | USES_EVERY, .state = {0, 1, 0, 0}, .words = {1, 0}, .run = window_run, .is_state = is_ring};
