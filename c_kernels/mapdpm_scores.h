/* The exact score of one point with one column, its own cluster as if the point were not in it (leave-one-out): in closed
 * form from the full statistics, and where that cancels from a row made without the point. Internal to the batch sweep.
 */
#ifndef MAPDPM_SCORES_H
#define MAPDPM_SCORES_H

#include "mapdpm_columns.h"

/* Where D factors times their exponent exceed LARGE, a plain product may be off by a tenth of the tolerance. */
static const double LARGE = 1e5;

/* A product of shares this close to 0 becomes a logarithm before it loses digits. */
static const double MOST_LOST = 0.5;

/* Whether a column's exponent makes its score lose digits to a plain product. */
static inline int is_large(const columns *c, double exponent)
{
    return c->multiplies && exponent * (double)c->family.D > LARGE;
}

/* prod_d (1 + scale (x - centre)^2) of a row, or the sum of its terms. */
ROW_INLINE double tail_of(const columns *c, const double *from, const double *x)
{
    const int64_t D = c->family.D;
    const double *const centre = row_centre((double *)from, D), *const scale = row_scale((double *)from, D);
    double p[ROW_LANES];
    int64_t d, j;

    for (j = 0; j < ROW_LANES; j++)
        p[j] = c->multiplies ? 1.0 : 0.0;
    for (d = 0; d + ROW_LANES <= D && c->multiplies; d += ROW_LANES)
        for (j = 0; j < ROW_LANES; j++)
            p[j] *= 1.0 + (x[d + j] - centre[d + j]) * (x[d + j] - centre[d + j]) * scale[d + j];
    for (; d + ROW_LANES <= D; d += ROW_LANES)
        for (j = 0; j < ROW_LANES; j++)
            p[j] += (x[d + j] - centre[d + j]) * (x[d + j] - centre[d + j]) * scale[d + j];
    for (j = 0; d + j < D; j++) {
        const double u = (x[d + j] - centre[d + j]) * (x[d + j] - centre[d + j]) * scale[d + j];

        p[j] = c->multiplies ? p[j] * (1.0 + u) : p[j] + u;
    }
    return c->multiplies ? (p[0] * p[1]) * (p[2] * p[3]) : (p[0] + p[1]) + (p[2] + p[3]);
}

/* Of a point with a column, whoever else is there. */
static inline double score_column(const columns *c, int64_t column, const double *x)
{
    double *const from = column > 0 ? row(c, column - 1) : c->blank;
    const double exponent = c->exponent[column], weight = c->log_size[column];
    double tail;

    if (is_large(c, exponent))
        return weight + row_log_predictive(&c->family, from, x);
    tail = tail_of(c, from, x);
    if (!c->multiplies)
        return c->constant[column] + weight - tail;
    if (!(tail < ROW_HUGE))
        return weight + row_log_predictive(&c->family, from, x);
    return c->constant[column] + weight - exponent * log(tail);
}

/* The row of a slot without point i, from its members. Most labels are others': eight are passed at a time. */
CLONES
static double *row_without(columns *c, int64_t slot, int64_t i)
{
    const int64_t *const labels = c->clusters->labels, N = c->problem->n_points;
    double *const own = c->scratch;
    int64_t first, j;

    row_clear(&c->family, own);
    for (first = 0; first < N; first += 8) {
        const int64_t last = first + 8 < N ? first + 8 : N;
        int64_t there = last < first + 8;

        for (j = 0; j < 8 && last == first + 8; j++)
            there |= labels[first + j] == slot;
        for (j = first; j < last && there; j++)
            if (labels[j] == slot && j != i) {
                load(point(c, j), c->other, c->family.D);
                row_add(&c->family, own, c->other, weight(c->problem, j));
            }
    }
    row_prepare(&c->family, own);
    return own;
}

/* log prod_d (1 - own (x - centre)^2), and whether statistics of all could tell: where little is left, they cannot. */
ROW_INLINE int log_kept(const columns *c, int64_t slot, const double *x, double *logs)
{
    const int64_t D = c->family.D;
    const double *const own = c->own_scale + slot * D, *const centre = row_centre(row(c, slot), D);
    double p[ROW_LANES] = {1.0, 1.0, 1.0, 1.0}, least[ROW_LANES] = {1.0, 1.0, 1.0, 1.0}, lost = 0.0;
    int64_t d, j;

    for (d = 0; d + ROW_LANES <= D; d += ROW_LANES)
        for (j = 0; j < ROW_LANES; j++) {
            const double t = x[d + j] - centre[d + j], kept = 1.0 - own[d + j] * t * t;

            p[j] *= kept;
            least[j] = least[j] < kept ? least[j] : kept;
        }
    for (j = 0; d + j < D; j++) {
        const double t = x[d + j] - centre[d + j], kept = 1.0 - own[d + j] * t * t;

        p[j] *= kept;
        least[j] = least[j] < kept ? least[j] : kept;
    }
    for (j = 0; j < ROW_LANES; j++)
        if (!(least[j] >= ROW_LEAST_SHARE))
            return 0;
    p[0] = (p[0] * p[1]) * (p[2] * p[3]);
    *logs = 0.0;
    if (p[0] > ROW_TINY && !is_large(c, c->exponent[slot + 1])) {
        *logs = log(p[0]);
        return 1;
    }
    for (d = 0; d < D; d++) {
        const double t = x[d] - centre[d], u = own[d] * t * t;

        lost += u - lost * u; /* 1 - the product of all 1 - u, as in row_log_tail */
        if (lost > MOST_LOST) {
            *logs += log1p(-lost);
            lost = 0.0;
        }
    }
    *logs += log1p(-lost);
    return 1;
}

/* The score of a point with its own slot, which holds others too, as if it were not there; from the full statistics.
 * Whether these could tell. */
static inline int own_in_closed_form(const columns *c, int64_t slot, const double *x, double *score)
{
    const int64_t D = c->family.D;
    const double *const own = c->own_scale + slot * D, *const centre = row_centre(row(c, slot), D);
    double logs, sum = 0.0;
    int64_t d;

    if (c->multiplies) {
        if (!log_kept(c, slot, x, &logs))
            return 0;
        *score = c->own_constant[slot + 1] + (c->exponent[slot + 1] - 1.0) * logs;
        return 1;
    }
    for (d = 0; d < D; d++)
        sum += own[d] * (x[d] - centre[d]) * (x[d] - centre[d]);
    *score = c->own_constant[slot + 1] - sum;
    return 1;
}

/* The same of point i, in c->x, in any case. */
static inline double score_own(columns *c, int64_t slot, int64_t i)
{
    double score;

    if (own_in_closed_form(c, slot, c->x, &score))
        return score;
    return log_existing(c->problem, row(c, slot)[0] - 1.0, 1.0) +
           row_log_predictive(&c->family, row_without(c, slot, i), c->x);
}

/* All scores of point i, in c->x, of weight 1; slot is its own, or -1. Returns whether it is alone there. */
static inline int score_plainly(columns *c, int64_t i, int64_t slot)
{
    const int alone = slot >= 0 && c->clusters->counts[slot] == 1;
    int64_t k;

    for (k = 0; k < c->width; k++)
        c->scores[k] = k > 0 && c->clusters->counts[k - 1] == 0 ? -INFINITY : score_column(c, k, c->x);
    if (alone)
        c->scores[0] += log_new(c->problem, c->used - 1, 1.0) - c->log_size[0];
    if (slot >= 0)
        c->scores[slot + 1] = alone ? -INFINITY : score_own(c, slot, i);
    return alone;
}

/* The same for any weight. */
static inline int score_weighted(columns *c, int64_t i, int64_t slot)
{
    const mapdpm_problem *const p = c->problem;
    const int alone = slot >= 0 && c->clusters->counts[slot] == 1;
    const double w = weight(p, i);
    int64_t k;

    c->scores[0] = log_new(p, c->used - alone, w) + row_log_predictive_weighted(&c->family, c->blank, c->x, w);
    for (k = 0; k + 1 < c->width; k++) {
        double *from = row(c, k);

        c->scores[k + 1] = -INFINITY;
        if (c->clusters->counts[k] == 0 || (alone && k == slot))
            continue;
        if (k == slot) {
            memcpy(c->scratch, from, (size_t)c->row_size * sizeof *from);
            from = c->scratch;
            if (row_remove(&c->family, from, c->x, w))
                row_prepare(&c->family, from);
            else
                from = row_without(c, slot, i);
        }
        c->scores[k + 1] = log_existing(p, from[0], w) + row_log_predictive_weighted(&c->family, from, c->x, w);
    }
    return alone;
}

static inline int score_all(columns *c, int64_t i, int64_t slot)
{
    return c->problem->weights ? score_weighted(c, i, slot) : score_plainly(c, i, slot);
}

#endif
