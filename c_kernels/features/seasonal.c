/* SEASONAL: the point less the mean of its hour or day, of the points before it (docs/maths.md (133)).
 *
 * The state is the mean of all points [D], their number [D], then the means and the weights [n][D] of all bins.
 */
#include "features/mapdpm_transformers.h"

/* What the weight of a bin is multiplied by at a visit. */
static void seasonal_tabulate(const mapdpm_step *t, md_real *table)
{
    *table = t->half_life > 0 ? math_exp((md_real)-0.69314718055994530942 / t->half_life) : 1;
}

/* The quotient of the floor; by > 0. */
static int64_t floor_of(int64_t a, int64_t by)
{
    return a / by - (a % by < 0 ? 1 : 0);
}

static uint32_t bin_at(const mapdpm_step *t, int64_t microseconds)
{
    const int64_t hours = floor_of(microseconds + (int64_t)t->offset * 60000000, INT64_C(3600000000));
    const int64_t days = floor_of(hours, HOURS), week = floor_of(days + 3, DAYS); /* 1970 began on a Thursday */

    if (t->n == HOURS)
        return (uint32_t)(hours - days * HOURS);
    if (t->n == DAYS)
        return (uint32_t)(days + 3 - week * DAYS);
    return (uint32_t)(hours + 3 * HOURS - week * HOURS_OF_WEEK);
}

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
    const md_real most = 2 * FEATURE_LIMIT, largest = (md_real)1152921504606846976.0; /* 2^60 */

    (void)words;
    return are_between(state, D, -most, most) && are_between(state + D, D, 0, largest) &&
           are_between(state + 2 * D, n * D, -most, most) && are_between(state + (2 + n) * D, n * D, 0, largest);
}

MAPDPM_INTERNAL const step_kind features_seasonal = {.is = USES_SEASON | USES_OFFSET | USES_HALF_LIFE | NEEDS_TIMES,
                                                     .state = {2, 2, 0},
                                                     .table = 1,
                                                     .tabulate = seasonal_tabulate,
                                                     .run = seasonal_run,
                                                     .is_state = is_seasonal};
