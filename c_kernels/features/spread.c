/* SPREAD: the point over the root mean square of its hour or day, of the points before it (docs/maths.md (185)).
 *
 * The state is the mean square of all points [D], their number [D], then the mean squares and the weights [n][D] of all
 * bins.
 */
#include "features/mapdpm_season.h"

static md_real over(md_real x, md_real square)
{
    if (is_missing(x) || (x >= 0 && x <= 0))
        return x;
    if (square > 0)
        return x / math_sqrt(square);
    return x > 0 ? 1 : -1;
}

static void spread_run(const step_run *r)
{
    const md_real *const x = r->x;
    const md_real keep = *r->table;
    const uint32_t D = r->p->from, bin = bin_at(&r->p->step, *r->microseconds);
    md_real *const all = r->state, *const n = all + D, *const squares = n + D + (size_t)bin * D;
    md_real *const weights = squares + (size_t)r->p->step.n * D;
    uint32_t d;

    for (d = 0; d < D; d++) {
        const md_real square = x[d] * x[d];

        r->result[d] = over(x[d], (weights[d] * squares[d] + all[d]) / (weights[d] + 1));
        if (is_missing(x[d]))
            continue;
        weights[d] = keep * weights[d] + 1;
        squares[d] += (square - squares[d]) / weights[d];
        n[d] += 1;
        all[d] += (square - all[d]) / n[d];
    }
}

static int is_spread(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const size_t D = p->from, n = p->step.n;
    const md_real most = 2 * FEATURE_LIMIT * FEATURE_LIMIT;

    (void)words;
    return are_between(state, D, 0, most) && are_between(state + D, D, 0, MOST_VISITS) &&
           are_between(state + 2 * D, n * D, 0, most) && are_between(state + (2 + n) * D, n * D, 0, MOST_VISITS);
}

MAPDPM_INTERNAL const step_kind features_spread = {.is = USES_SEASON | USES_OFFSET | USES_HALF_LIFE | NEEDS_TIMES,
                                                   .state = {2, 2, 0, 0},
                                                   .table = 1,
                                                   .tabulate = tabulate_season,
                                                   .run = spread_run,
                                                   .is_state = is_spread};
