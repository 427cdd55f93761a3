/* Blocks of raw vibration: root mean square, crest factor, energy in a band, each in O(1) memory a feature or bin
 * (docs/maths.md, section 32).
 */
#include "features/mapdpm_transformers.h"

/* Add a value to the mean and to the sum of squares about it, or to the sum of squares about 0. */
static void add_square(const planned_step *p, md_real x, uint32_t count, md_real *mean, md_real *squares)
{
    const md_real delta = x - *mean;

    if (p->step.centred != 0) {
        *mean += delta / (md_real)count;
        *squares += delta * (x - *mean);
    } else {
        *squares += x * x;
    }
}

static md_real rms_of(md_real squares, uint32_t count)
{
    return count > 0 ? math_sqrt(squares / (md_real)count) : math_nan();
}

/* The largest distance from the mean, over the root mean square. */
static md_real crest_of(md_real low, md_real high, md_real mean, md_real rms)
{
    const md_real above = high - mean, below = mean - low, peak = above > below ? above : below;

    return rms > 0 ? peak / rms : (is_missing(rms) ? rms : 0);
}

/* The state is mean[D], squares[D], and of CREST low[D], high[D]. */
static void add_to_block(const planned_step *p, const md_real *x, md_real *state, uint32_t *counts)
{
    const uint32_t D = p->from;
    uint32_t d;

    for (d = 0; d < D; d++) {
        if (is_missing(x[d]))
            continue;
        counts[d]++;
        add_square(p, x[d], counts[d], state + d, state + D + d);
        if (p->step.kind == MAPDPM_STEP_CREST) {
            md_real *const low = state + 2 * (size_t)D + d, *const high = low + D;

            *low = counts[d] == 1 || x[d] < *low ? x[d] : *low;
            *high = counts[d] == 1 || x[d] > *high ? x[d] : *high;
        }
    }
}

/* Goertzel's recurrence with Reinsch's differences: s_i = v_i + 2 cos(2 pi k / n) s_(i-1) - s_(i-2), where the state is
 * s_i and s_i - s_(i-1) near the frequency 0, or s_i + s_(i-1) near the largest one. */
static void add_to_bins(const planned_step *p, md_real v, md_real *s, const md_real *table)
{
    const uint32_t n = n_bins(p);
    uint32_t i;

    for (i = 0; i < n; i++) {
        md_real *const value = s + 2 * (size_t)i, *const change = value + 1;

        if (4 * (p->step.first + i) <= p->step.n) {
            *change = (v - table[i] * *value) + *change;
            *value += *change;
        } else {
            *change = (v + table[i] * *value) - *change;
            *value = *change - *value;
        }
    }
}

/* The mean square in the bins: of each bin 2 |X_k|^2 / n^2, and half of that at half the rate. */
static md_real energy_of(const planned_step *p, const md_real *s, const md_real *table)
{
    const md_real n = (md_real)p->step.n;
    const uint32_t bins = n_bins(p);
    md_real sum = 0;
    uint32_t i;

    for (i = 0; i < bins; i++) {
        const uint32_t k = p->step.first + i;
        const md_real value = s[2 * (size_t)i] / n, change = s[2 * (size_t)i + 1] / n;
        const md_real power = change * change + table[i] * value * (value - change);

        if (power > 0)
            sum += 2 * k == p->step.n ? power : 2 * power;
    }
    return sum;
}

/* The state is the first value[D] of the block, which is subtracted, and the bins of each feature. */
static void add_to_spectrum(const planned_step *p, const md_real *x, md_real *state, const md_real *table,
                            uint32_t *counts)
{
    const uint32_t D = p->from;
    uint32_t d;

    for (d = 0; d < D; d++) {
        if (is_missing(x[d]))
            continue; /* the block has no spectrum */
        if (counts[d] == 0)
            state[d] = x[d];
        counts[d]++;
        add_to_bins(p, x[d] - state[d], state + D + 2 * (size_t)n_bins(p) * d, table);
    }
}

static void end_block(const planned_step *p, const md_real *state, const md_real *table, const uint32_t *counts,
                      md_real *result)
{
    const uint32_t D = p->from;
    uint32_t d;

    for (d = 0; d < D; d++) {
        const md_real rms = p->step.kind == MAPDPM_STEP_BAND ? 0 : rms_of(state[D + d], counts[d]);

        if (p->step.kind == MAPDPM_STEP_RMS)
            result[d] = rms;
        else if (p->step.kind == MAPDPM_STEP_CREST)
            result[d] = crest_of(state[2 * (size_t)D + d], state[3 * (size_t)D + d], state[d], rms);
        else
            result[d] = counts[d] < p->step.n ? math_nan()
                                              : energy_of(p, state + D + 2 * (size_t)n_bins(p) * d, table);
    }
}

/* The counters are the points of the block so far, and of each feature those that have a value. */
int features_block(const planned_step *p, const md_real *x, md_real *state, const md_real *table, uint32_t *words,
                   md_real *result)
{
    const size_t D = p->from;
    size_t n_reals = 2 * D;

    if (p->step.kind == MAPDPM_STEP_BAND) {
        n_reals = D * (1 + 2 * (size_t)n_bins(p));
        add_to_spectrum(p, x, state, table, words + 1);
    } else {
        n_reals = p->step.kind == MAPDPM_STEP_CREST ? 4 * D : 2 * D;
        add_to_block(p, x, state, words + 1);
    }
    words[0]++;
    if (words[0] < p->step.n)
        return 0;
    end_block(p, state, table, words + 1, result);
    memset(state, 0, n_reals * sizeof(md_real));
    memset(words, 0, (1 + D) * sizeof(uint32_t));
    return 1;
}
