/* What each kind of step computes (docs/maths.md, section 32). State, counters and results lie in the pipeline. */
#include "features/mapdpm_transformers.h"

/* ---- points before ----------------------------------------------------------------------------------------------- */

/* The place in a ring of n points where the point goes, that of the oldest one. The first point fills the ring. */
static uint32_t place_in_ring(const planned_step *p, const md_real *x, md_real *ring, uint32_t *word)
{
    const uint32_t n = p->step.n, D = p->from;
    uint32_t i;

    for (i = 0; *word == 0 && i < n; i++)
        memcpy(ring + (size_t)i * D, x, D * sizeof(md_real));
    return *word == 0 ? 0 : *word - 1;
}

/* Put the point in the place of the oldest one. The counter is 1 plus the place of the next. */
static void put_in_ring(const planned_step *p, const md_real *x, md_real *ring, uint32_t *word, uint32_t at)
{
    memcpy(ring + (size_t)at * p->from, x, p->from * sizeof(md_real));
    *word = at + 1 == p->step.n ? 1 : at + 2;
}

static void lag(const planned_step *p, const md_real *x, md_real *ring, uint32_t *word, md_real *result)
{
    const uint32_t n = p->step.n, D = p->from, at = place_in_ring(p, x, ring, word);
    uint32_t i, from = at;

    memcpy(result, x, D * sizeof(md_real));
    for (i = 1; i <= n; i++) { /* backwards from the newest */
        from = from == 0 ? n - 1 : from - 1;
        memcpy(result + (size_t)i * D, ring + (size_t)from * D, D * sizeof(md_real));
    }
    put_in_ring(p, x, ring, word, at);
}

static void difference(const planned_step *p, const md_real *x, md_real *ring, uint32_t *word, md_real *result)
{
    const uint32_t D = p->from, at = place_in_ring(p, x, ring, word);
    uint32_t d;

    for (d = 0; d < D; d++)
        result[d] = x[d] - ring[(size_t)at * D + d];
    put_in_ring(p, x, ring, word, at);
}

/* A second sum begins with each turn of the ring, and replaces the first one when the turn ends: rounding does not
 * add up. Sums are of values less the first one of their turn, so a constant stream has sums of 0. */
static void centre(const planned_step *p, const md_real *x, md_real *state, uint32_t *words, md_real *result)
{
    const uint32_t n = p->step.n, D = p->from, at = words[0], filled = words[1];
    md_real *const ring = state, *const shift = state + (size_t)n * D, *const sum = shift + D,
                   *const next_shift = sum + D, *const next_sum = next_shift + D;
    uint32_t *const counts = words + 2, *const next_counts = counts + D;
    uint32_t d;

    for (d = 0; d < D; d++) {
        md_real *const oldest = ring + (size_t)at * D + d;

        result[d] = counts[d] > 0 ? (x[d] - shift[d]) - sum[d] / (md_real)counts[d] : (is_missing(x[d]) ? x[d] : 0);
        if (filled == n && !is_missing(*oldest)) {
            counts[d]--;
            sum[d] = counts[d] > 0 ? sum[d] - (*oldest - shift[d]) : 0;
        }
        if (!is_missing(x[d])) {
            if (counts[d] == 0)
                shift[d] = x[d];
            if (next_counts[d] == 0)
                next_shift[d] = x[d];
            sum[d] += x[d] - shift[d];
            next_sum[d] += x[d] - next_shift[d];
            counts[d]++;
            next_counts[d]++;
        }
        *oldest = x[d];
    }
    words[0] = at + 1 == n ? 0 : at + 1;
    words[1] = filled < n ? filled + 1 : n;
    if (words[0] != 0)
        return;
    memcpy(shift, next_shift, 2 * (size_t)D * sizeof(md_real)); /* and the sum */
    memset(next_shift, 0, 2 * (size_t)D * sizeof(md_real));
    memset(next_counts, 0, D * sizeof(uint32_t));
}

/* ---- hours and days ---------------------------------------------------------------------------------------------- */

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

/* The state is the mean of all points, their number, then the means and the weights of all bins. */
static void seasonal(const planned_step *p, const md_real *x, md_real *state, md_real keep, int64_t microseconds,
                     md_real *result)
{
    const uint32_t D = p->from, bin = bin_at(&p->step, microseconds);
    md_real *const all = state, *const n = all + D, *const means = n + D + (size_t)bin * D;
    md_real *const weights = means + (size_t)p->step.n * D;
    uint32_t d;

    for (d = 0; d < D; d++) {
        const md_real expected = weights[d] > 0 ? means[d] : (n[d] > 0 ? all[d] : x[d]);

        result[d] = x[d] - expected;
        if (is_missing(x[d]))
            continue;
        weights[d] = keep * weights[d] + 1;
        means[d] += (x[d] - means[d]) / weights[d];
        n[d] += 1;
        all[d] += (x[d] - all[d]) / n[d];
    }
}

/* ---- all kinds --------------------------------------------------------------------------------------------------- */

int features_run(const mapdpm_features *f, planned_step *p, const md_real *x, const int64_t *microseconds)
{
    const planned_step *const steps = steps_of(f);
    md_real *const state = state_of(f) + p->at_state, *const derived = derived_of(f);
    md_real *const result = derived + p->at_result;
    const md_real *const table = derived + p->at_table;
    uint32_t *const words = counters_of(f) + p->at_words;
    const uint32_t second = p->step.second;

    switch (p->step.kind) {
    case MAPDPM_STEP_LAG:
        lag(p, x, state, words, result);
        return 1;
    case MAPDPM_STEP_DIFFERENCE:
        difference(p, x, state, words, result);
        return 1;
    case MAPDPM_STEP_CENTRE:
        centre(p, x, state, words, result);
        return 1;
    case MAPDPM_STEP_SEASONAL:
        seasonal(p, x, state, *table, *microseconds, result);
        return 1;
    case MAPDPM_STEP_JOIN:
        memcpy(result, x, p->from * sizeof(md_real));
        memcpy(result + p->from, second == 0 ? derived : derived + steps[second - 1].at_result,
               (p->width - p->from) * sizeof(md_real));
        return 1;
    default:
        return features_block(p, x, state, table, words, result);
    }
}

/* What rotates by pi k / n: 4 sin^2 near 0, and 4 cos^2 near pi / 2. */
static md_real rotation(uint32_t k, uint32_t n)
{
    const uint32_t m = 4 * k <= n ? 2 * k : n - 2 * k;
    const md_real s = math_sin(MATH_PI * (md_real)m / (md_real)(2 * n));

    return 4 * s * s;
}

void features_tabulate(const planned_step *p, md_real *table)
{
    const md_real half_life = p->step.half_life;
    uint32_t i;

    if (p->step.kind == MAPDPM_STEP_SEASONAL)
        *table = half_life > 0 ? math_exp((md_real)-0.69314718055994530942 / half_life) : 1;
    for (i = 0; p->step.kind == MAPDPM_STEP_BAND && i < n_bins(p); i++)
        table[i] = rotation(p->step.first + i, p->step.n);
}
