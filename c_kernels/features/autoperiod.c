/* AUTOPERIOD: the means of `first` equal parts of the last half period, whose length the first n points tell
 * (docs/maths.md (187)).
 *
 * The state is a ring [n][D]. The counters are the points, up to n, the place of the next one in the ring, the points of
 * a part, and the period, 0 where none was found.
 */
#include "features/mapdpm_transformers.h"

enum { LEAST_LAG = 4, OTHERWISE_OF_N = 4 };

/* The mean of m values of a feature of a ring, those that are there: the one at `place` and those before it. Afterwards
 * `place` is that of the value before them. */
static md_real mean_in_ring(const step_run *r, uint32_t d, uint32_t *place, uint32_t m)
{
    const uint32_t n = r->p->step.n, D = r->p->from;
    md_real first = 0, sum = 0;
    uint32_t i, found = 0;

    for (i = 0; i < m; i++) {
        const md_real x = r->state[(size_t)*place * D + d];

        *place = *place > 0 ? *place - 1 : n - 1;
        if (is_missing(x))
            continue;
        if (found++ == 0)
            first = x;
        sum += x - first;
    }
    return found > 0 ? first + sum / (md_real)found : math_nan();
}

/* The sum of products of a feature, less its mean and times its scale, with that `lag` points later. */
static md_real products(const step_run *r, uint32_t d, md_real mean, md_real scale, uint32_t lag)
{
    const uint32_t n = r->p->step.n, D = r->p->from;
    md_real sum = 0;
    uint32_t i;

    for (i = 0; i + lag < n; i++) {
        const md_real now = r->state[(size_t)i * D + d], then = r->state[(size_t)(i + lag) * D + d];

        if (!is_missing(now) && !is_missing(then))
            sum += ((now - mean) * scale) * ((then - mean) * scale);
    }
    return sum;
}

/* The mean of a feature, and the scale by which its sum of products at a lag of 0 is 1, or 0 where it does not vary.
 * The largest distance from the mean comes first, so that no square is beyond the reals. */
static void put_scale(const step_run *r, uint32_t d, md_real *mean, md_real *scale)
{
    const uint32_t n = r->p->step.n, D = r->p->from;
    md_real largest = 0;
    uint32_t i, last = n - 1;

    *mean = mean_in_ring(r, d, &last, n);
    for (i = 0; i < n; i++) {
        const md_real away = r->state[(size_t)i * D + d] - *mean;

        if (away > largest || -away > largest)
            largest = away > 0 ? away : -away;
    }
    *scale = largest > 0 ? 1 / largest : 0;
    if (*scale > 0)
        *scale /= math_sqrt(products(r, d, *mean, *scale, 0));
}

/* The sum of the autocorrelations of all features. The result has their means and scales. */
static md_real correlation(const step_run *r, uint32_t lag)
{
    const uint32_t D = r->p->from;
    md_real sum = 0;
    uint32_t d;

    for (d = 0; d < D; d++)
        if (r->result[D + d] > 0)
            sum += products(r, d, r->result[d], r->result[D + d], lag);
    return sum;
}

/* The lag, at most n / 2, of the highest local maximum of the autocorrelation; 0 where none is beyond the noise, three
 * standard deviations. The ring is in the order of the points when it has just filled. */
static uint32_t find_period(const step_run *r)
{
    const uint32_t D = r->p->from;
    const md_real noise = 3 / math_sqrt((md_real)r->p->step.n);
    md_real before, here, best = 0;
    uint32_t lag, d, found = 0;

    for (d = 0; d < D; d++) {
        put_scale(r, d, r->result + d, r->result + D + d);
        best += r->result[D + d] > 0 ? noise : 0;
    }
    before = correlation(r, LEAST_LAG - 1);
    here = correlation(r, LEAST_LAG);
    for (lag = LEAST_LAG; lag < r->p->step.n / 2; lag++) {
        const md_real after = correlation(r, lag + 1);

        if (before < here && here >= after && here > best) {
            best = here;
            found = lag;
        }
        before = here;
        here = after;
    }
    return found;
}

/* The nearest number of points in a part of half a period, at least 1. */
static uint32_t points_of_part(uint32_t n, uint32_t parts, uint32_t period)
{
    const uint32_t part = ((period > 0 ? period : n / OTHERWISE_OF_N) + parts) / (2 * parts);

    return part > 0 ? part : 1;
}

static void autoperiod_run(const step_run *r)
{
    const uint32_t n = r->p->step.n, parts = r->p->step.first, D = r->p->from, at = r->words[AUTOPERIOD_AT];
    uint32_t i, d;

    memcpy(r->state + (size_t)at * D, r->x, D * sizeof(md_real));
    r->words[AUTOPERIOD_AT] = at + 1 < n ? at + 1 : 0;
    if (r->words[AUTOPERIOD_POINTS] < n && ++r->words[AUTOPERIOD_POINTS] == n) {
        r->words[AUTOPERIOD_PERIOD] = find_period(r);
        r->words[AUTOPERIOD_PART] = points_of_part(n, parts, r->words[AUTOPERIOD_PERIOD]);
    }
    if (r->words[AUTOPERIOD_POINTS] < n)
        return;
    for (d = 0; d < D; d++) {
        uint32_t place = at;

        for (i = 0; i < parts; i++)
            r->result[(size_t)i * D + d] = mean_in_ring(r, d, &place, r->words[AUTOPERIOD_PART]);
    }
}

static int is_autoperiod(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const uint32_t n = p->step.n, points = words[AUTOPERIOD_POINTS], period = words[AUTOPERIOD_PERIOD];

    if (words[AUTOPERIOD_AT] >= n || (points < n && words[AUTOPERIOD_AT] != points) || period > n / 2)
        return 0;
    return words[AUTOPERIOD_PART] == (points < n ? 0 : points_of_part(n, p->step.first, period)) &&
           are_values(state, (size_t)n * p->from);
}

MAPDPM_INTERNAL const step_kind features_autoperiod = {.is = USES_N | HAS_PARTS | WARMS_UP,
                                                       .state = {0, 1, 0, 0},
                                                       .words = {AUTOPERIOD_WORDS, 0},
                                                       .run = autoperiod_run,
                                                       .is_state = is_autoperiod};
