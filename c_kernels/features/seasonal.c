/* SEASONAL: the point less the mean of its hour or day, of the points before it (docs/maths.md (133)).
 *
 * The state is the mean of all points [D], their number [D], then the means and the weights [n][D] of all bins.
 */
#include "features/mapdpm_season.h"

static void seasonal_run(const step_run *r)
{
    const md_real *const x = r->x;
    const md_real keep = *r->table;
    const uint32_t D = r->p->from, bin = bin_at(&r->p->step, *r->microseconds);
    md_real *const all = r->state, *const n = all + D, *const means = n + D + (size_t)bin * D;
    md_real *const weights = means + (size_t)r->p->step.n * D;
    uint32_t d;

    for (d = 0; d < D; d++) {
        const md_real expected = weights[d] > 0 ? means[d] : (n[d] > 0 ? all[d] : x[d]);

        r->result[d] = x[d] - expected;
        if (is_missing(x[d]))
            continue;
        weights[d] = keep * weights[d] + 1;
        means[d] += (x[d] - means[d]) / weights[d];
        n[d] += 1;
        all[d] += (x[d] - all[d]) / n[d];
    }
}

static int is_seasonal(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const size_t D = p->from, n = p->step.n;
    const md_real most = 2 * FEATURE_LIMIT, largest = MOST_VISITS;

    (void)words;
    return are_between(state, D, -most, most) && are_between(state + D, D, 0, largest) &&
           are_between(state + 2 * D, n * D, -most, most) && are_between(state + (2 + n) * D, n * D, 0, largest);
}

MAPDPM_INTERNAL const step_kind features_seasonal = {.is = USES_SEASON | USES_OFFSET | USES_HALF_LIFE | NEEDS_TIMES,
                                                     .state = {2, 2, 0, 0},
                                                     .table = 1,
                                                     .tabulate = tabulate_season,
                                                     .run = seasonal_run,
                                                     .is_state = is_seasonal};
