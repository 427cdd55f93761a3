/* BAND: of blocks of n points, the mean square in the DFT bins first <= k < end (docs/maths.md (136) to (138)).
 *
 * The state is the first value[D] of the block, which is subtracted, and two reals for each bin of each feature.
 */
#include "features/mapdpm_blocks.h"

/* What rotates by pi k / n: 4 sin^2 near 0, and 4 cos^2 near pi / 2. */
static md_real rotation(uint32_t k, uint32_t n)
{
    const uint32_t m = 4 * k <= n ? 2 * k : n - 2 * k;
    const md_real s = math_sin(MATH_PI * (md_real)m / (md_real)(2 * n));

    return 4 * s * s;
}

static void band_tabulate(const mapdpm_step *t, md_real *table)
{
    const uint32_t n = n_bins(t);
    uint32_t i;

    for (i = 0; i < n; i++)
        table[i] = rotation(t->first + i, t->n);
}

/* Goertzel's recurrence with Reinsch's differences: s_i = v_i + 2 cos(2 pi k / n) s_(i-1) - s_(i-2), where the state is
 * s_i and s_i - s_(i-1) near the frequency 0, or s_i + s_(i-1) near the largest one. */
static void add_to_bins(const mapdpm_step *t, md_real v, md_real *s, const md_real *table)
{
    const uint32_t n = n_bins(t);
    uint32_t i;

    for (i = 0; i < n; i++) {
        md_real *const value = s + 2 * (size_t)i, *const change = value + 1;

        if (4 * (t->first + i) <= t->n) {
            *change = (v - table[i] * *value) + *change;
            *value += *change;
        } else {
            *change = (v + table[i] * *value) - *change;
            *value = *change - *value;
        }
    }
}

/* The mean square in the bins: of each bin 2 |X_k|^2 / n^2, and half of that at half the rate. */
static md_real energy_of(const mapdpm_step *t, const md_real *s, const md_real *table)
{
    const md_real n = (md_real)t->n;
    const uint32_t bins = n_bins(t);
    md_real sum = 0;
    uint32_t i;

    for (i = 0; i < bins; i++) {
        const uint32_t k = t->first + i;
        const md_real value = s[2 * (size_t)i] / n, change = s[2 * (size_t)i + 1] / n;
        const md_real power = change * change + table[i] * value * (value - change);

        if (power > 0)
            sum += 2 * k == t->n ? power : 2 * power;
    }
    return sum;
}

static void band_run(const step_run *r)
{
    const mapdpm_step *const t = &r->p->step;
    const uint32_t D = r->p->from;
    uint32_t *const counts = r->words + 1;
    uint32_t d;

    for (d = 0; d < D; d++) {
        md_real *const bins = r->state + D + 2 * (size_t)n_bins(t) * d;

        if (!is_missing(r->x[d])) { /* else the block has no spectrum */
            if (counts[d] == 0)
                r->state[d] = r->x[d];
            counts[d]++;
            add_to_bins(t, r->x[d] - r->state[d], bins, r->table);
        }
        if (is_last(r))
            r->result[d] = counts[d] < t->n ? math_nan() : energy_of(t, bins, r->table);
    }
}

static int is_band(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const size_t D = p->from;
    const md_real sums = FEATURE_LIMIT * (md_real)4398046511104.0; /* 2^42: a recurrence over 2^20 points */

    return is_part_of_block(p, state, words) && are_between(state + D, 2 * D * n_bins(&p->step), -sums, sums);
}

MAPDPM_INTERNAL const step_kind features_band = {.is = USES_N | USES_BAND | IN_BLOCKS,
                                                 .state = {1, 0, 2, 0},
                                                 .table = 1,
                                                 .words = {1, 1},
                                                 .tabulate = band_tabulate,
                                                 .run = band_run,
                                                 .is_state = is_band};
