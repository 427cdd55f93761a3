/* The mean of the last n points of CENTRE and SMOOTH. Internal; static inlines.
 *
 * The state is a ring [n][D] of points, and of the last whole turn of the ring and of this one a first value and a sum,
 * [D] each. The counters are the place of the next point, the points in the ring, and of each feature those with a
 * value, in the first sum and in the second.
 */
#ifndef MAPDPM_MOVING_H
#define MAPDPM_MOVING_H

#include "features/mapdpm_transformers.h"

enum { MOVING_SUMS = 4, MOVING_WORDS = 2, MOVING_COUNTS = 2 };

/* What the points of the ring have in feature d: their number, the first value of a turn, and the sum about it. */
static inline uint32_t moving_count(const step_run *r, uint32_t d) { return r->words[MOVING_WORDS + d]; }
static inline md_real moving_shift(const step_run *r, uint32_t d)
{
    return r->state[(size_t)r->p->step.n * r->p->from + d];
}
static inline md_real moving_mean_less_shift(const step_run *r, uint32_t d)
{
    return r->state[((size_t)r->p->step.n + 1) * r->p->from + d] / (md_real)moving_count(r, d);
}

/* Put the point in the place of the oldest one. A second sum begins with each turn of the ring, and replaces the first
 * one when the turn ends: rounding does not add up. Sums are of values less the first one of their turn, so a constant
 * stream has sums of 0. */
static inline void put_in_moving(const step_run *r)
{
    const md_real *const x = r->x;
    uint32_t *const words = r->words;
    const uint32_t n = r->p->step.n, D = r->p->from, at = words[0], filled = words[1];
    md_real *const ring = r->state, *const shift = ring + (size_t)n * D, *const sum = shift + D,
                   *const next_shift = sum + D, *const next_sum = next_shift + D;
    uint32_t *const counts = words + MOVING_WORDS, *const next_counts = counts + D;
    uint32_t d;

    for (d = 0; d < D; d++) {
        md_real *const oldest = ring + (size_t)at * D + d;

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

/* The first `rows` points of a ring that have a value of feature d. */
static inline uint32_t values_in(const md_real *ring, uint32_t rows, uint32_t D, uint32_t d)
{
    uint32_t i, n = 0;

    for (i = 0; i < rows; i++)
        n += is_missing(ring[(size_t)i * D + d]) ? 0u : 1u;
    return n;
}

static inline int is_moving(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const uint32_t n = p->step.n, D = p->from;
    const md_real most = FEATURE_LIMIT * 4194304; /* of a sum: 2^20 differences */
    uint32_t d;

    if (words[0] >= n || words[1] > n || (words[1] < n && words[0] != words[1]))
        return 0;
    if (!are_values(state, (size_t)n * D) || !are_between(state + (size_t)n * D, MOVING_SUMS * (size_t)D, -most, most))
        return 0;
    for (d = 0; d < D; d++)
        if (words[2 + d] != values_in(state, words[1], D, d) || words[2 + D + d] != values_in(state, words[0], D, d))
            return 0;
    return 1;
}

#endif
