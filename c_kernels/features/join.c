/* JOIN: the features of the source, and behind them those of the second source. */
#include "features/mapdpm_transformers.h"

static void join_run(const step_run *r)
{
    const uint32_t D = r->p->from;

    memcpy(r->result, r->x, D * sizeof(md_real));
    memcpy(r->result + D, r->second, (r->p->width - D) * sizeof(md_real));
}

MAPDPM_INTERNAL const step_kind features_join = {.is = USES_SECOND, .run = join_run};
