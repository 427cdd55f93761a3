/* Blocks of raw vibration: root mean square, crest factor, energy in a band, each in O(1) memory a feature or bin
 * (docs/maths.md, section 32).
 */
#include "mapdpm_transformers.h"

/* Add a value to the mean and to the sum of squares about it, or to the sum of squares about 0. */
static void add_square(const planned_step *p, real x, uint32_t count, real *mean, real *squares)
{
    const real delta = x - *mean;

    if (p->step.centred != 0) {
        *mean += delta / (real)count;
        *squares += delta * (x - *mean);
    } else {
        *squares += x * x;
    }
}

static real rms_of(real squares, uint32_t count)
{
    return count > 0 ? math_sqrt(squares / (real)count) : math_nan();
}

/* The largest distance from the mean, over the root mean square. */
static real crest_of(real low, real high, real mean, real rms)
{
    const real above = high - mean, below = mean - low, peak = above > below ? above : below;

    return rms > 0 ? peak / rms : (rms == rms ? 0 : rms);
}

/* The state is mean[D], squares[D], and of CREST low[D], high[D]. */
static void add_to_block(const planned_step *p, const real *x, real *state, uint32_t *counts)
{
    const uint32_t D = p->from;
    uint32_t d;

    for (d = 0; d < D; d++) {
        if (is_missing(x[d]))
            continue;
        counts[d]++;
        add_square(p, x[d], counts[d], state + d, state + D + d);
        if (p->step.kind == MAPDPM_STEP_CREST) {
            real *const low = state + 2 * (size_t)D + d, *const high = low + D;

            *low = counts[d] == 1 || x[d] < *low ? x[d] : *low;
            *high = counts[d] == 1 || x[d] > *high ? x[d] : *high;
        }
    }
}

/* Goertzel's recurrence with Reinsch's differences: s_i = v_i + 2 cos(2 pi k / n) s_(i-1) - s_(i-2), where the state is
 * s_i and s_i - s_(i-1) near the frequency 0, or s_i + s_(i-1) near the largest one. */
static void add_to_bins(const planned_step *p, real v, real *s, const real *table)
{
    const uint32_t n = n_bins(p);
    uint32_t i;

    for (i = 0; i < n; i++) {
        real *const value = s + 2 * (size_t)i, *const change = value + 1;

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
static real energy_of(const planned_step *p, const real *s, const real *table)
{
    const real n = (real)p->step.n;
    const uint32_t bins = n_bins(p);
    real sum = 0;
    uint32_t i;

    for (i = 0; i < bins; i++) {
        const uint32_t k = p->step.first + i;
        const real value = s[2 * (size_t)i] / n, change = s[2 * (size_t)i + 1] / n;
        const real power = change * change + table[i] * value * (value - change);

        if (power > 0)
            sum += 2 * k == p->step.n ? power : 2 * power;
    }
    return sum;
}

/* The state is the first value[D] of the block, which is subtracted, and the bins of each feature. */
static void add_to_spectrum(const planned_step *p, const real *x, real *state, const real *table, uint32_t *counts)
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

static void end_block(const planned_step *p, const real *state, const real *table, const uint32_t *counts, real *result)
{
    const uint32_t D = p->from;
    uint32_t d;

    for (d = 0; d < D; d++) {
        const real rms = p->step.kind == MAPDPM_STEP_BAND ? 0 : rms_of(state[D + d], counts[d]);

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
int features_block(const planned_step *p, const real *x, real *state, const real *table, uint32_t *words, real *result)
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
    memset(state, 0, n_reals * sizeof(real));
    memset(words, 0, (1 + D) * sizeof(uint32_t));
    return 1;
}
