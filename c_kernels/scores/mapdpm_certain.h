/* Which columns may have the best score of a point, and which points certainly stay where they are. Bounds of the
 * scores decide that, at a fraction of the cost (mapdpm_lanes.h). Points that bounds leave open are scored exactly, so
 * labels do not depend on the bounds. Internal to the batch sweep.
 *
 * A point stays if its leave-one-out score with its own cluster is not below any other score (docs/maths.md (30)). The
 * lower bound of its own score comes from the same tail as the other bounds. It uses the full statistics, so the own
 * column always exceeds it. A point is certain to stay if no other column does.
 */
#ifndef MAPDPM_CERTAIN_H
#define MAPDPM_CERTAIN_H

#include "scores/mapdpm_full_tails.h"

/* ---- the batch --------------------------------------------------------------------------------------------------- */

/* The points of the batch as rows, one behind another: the data itself, or a copy whose last row is repeated. */
static inline const mapdpm_real *rows_of_batch(const score_table *table)
{
    const int64_t D = table->likelihood.D;
    int64_t q;

    if (table->order == NULL && table->n_batch == MD_POINTS)
        return point(table, table->batch);
    for (q = 0; q < MD_POINTS; q++)
        memcpy(table->rows + q * D, point(table, point_of_lane(table, q < table->n_batch ? q : table->n_batch - 1)),
               (size_t)D * sizeof(mapdpm_real));
    return table->rows;
}

/* The rows behind those of the batch, if there are as many, else any. */
static inline const mapdpm_real *next_rows(const score_table *table)
{
    const int64_t after = table->batch + table->n_batch;

    if (table->order == NULL && after + MD_POINTS <= table->problem->n_points)
        return point(table, after);
    return table->rows;
}

/* Make the points `first`, first + 1, ... the batch, at most up to before `end`; of `order`, if it is not NULL. They have
 * no slots, or none that matter. */
static inline void load_points(score_table *table, const int64_t *order, int64_t first, int64_t end)
{
    const int64_t most = table->is_full ? MD_BLOCK : MD_POINTS;

    table->order = order;
    table->batch = first;
    table->n_batch = end - first < most ? end - first : most;
    table->is_stale = 0;
    memset(table->own_column, 0, MD_POINTS * sizeof *table->own_column);
    if (table->has_bounds && table->is_full)
        load_of_full(table);
    else if (table->has_bounds && table->in_double)
        load_of_doubles(table, rows_of_batch(table), next_rows(table));
    else if (table->has_bounds)
        load_of_floats(table, rows_of_batch(table), next_rows(table));
}

/* The same with their slots. */
static inline void load_batch(score_table *table, const int64_t *order, int64_t first, int64_t end)
{
    int64_t q;

    load_points(table, order, first, end);
    for (q = 0; q < table->n_batch && order == NULL; q++)
        table->own_column[q] = (int32_t)(table->clusters->labels[first + q] + 1);
    for (q = 0; q < table->n_batch && order != NULL; q++)
        table->own_column[q] = (int32_t)(slot_of_lane(table, q) + 1);
}

/* The bounds of the batch with the columns from `first` to before `end`. */
static inline void bound_columns(const score_table *table, int64_t first, int64_t end)
{
    if (table->is_full)
        bound_columns_of_full(table, first, end);
    else if (table->in_double)
        bound_columns_of_doubles(table, first, end);
    else
        bound_columns_of_floats(table, first, end);
}

/* Beyond it the logarithm of the share that is left multiplies the rounding of the loss. */
static const double MOST_LOST = 0.95;

/* The bounds of the batch with all columns. */
static inline void bound_all_columns(const score_table *table)
{
    if (table->has_bounds)
        bound_columns(table, 0, table->n_columns);
}

/* A lower bound of a leave-one-out score, from that score. */
static inline float below_score(const score_table *table, int64_t column, double score)
{
    return (float)(score - 2.0 * COARSE_SLACK * (1.0 + fabs(score)) -
                   ROUNDING * (double)(table->likelihood.D + 4) * table->loo_exponent[column]);
}

/* Lower bounds of leave-one-out scores that have none yet. Points far out in their clusters are usual where these have
 * few points for their features. Their scores cost little compared with those of all columns. */
static inline void far_lower_bounds(score_table *table, uint32_t missing)
{
    for (; missing != 0; missing &= missing - 1) {
        const int q = lowest_bit(missing);
        const int64_t column = table->own_column[q];
        const double lost = table->loo_share[column] * (double)table->own_tail[q];
        double score;

        if (!(table->loo_constant[column] > -INFINITY))
            continue;
        if (table->is_full) {
            if (lost < MOST_LOST)
                table->least[q] = below_score(table, column, table->loo_constant[column] +
                                                                 (table->exponent[column] - 1.0) * log1p(-lost));
            continue;
        }
        load_point(table, point_of_lane(table, q));
        if (leave_one_out_in_closed_form(table, column - 1, table->x, &score))
            table->least[q] = below_score(table, column, score);
    }
}

/* The bounds of the batch with all columns. Returns the points that are certain to stay, as bits. */
static inline uint32_t bound_batch(score_table *table)
{
    if (!table->has_bounds)
        return 0;
    if (has_two_stages(table))
        bound_own_of_full(table);
    else
        bound_columns(table, 0, table->n_columns);
    far_lower_bounds(table, loo_lower_bounds(table));
    if (has_two_stages(table))
        bound_others_of_full(table);
    return only_one_above(table);
}

/* Repair the bounds after lane q has moved from one column, or none (0), to another. `certain` are the points that were
 * certain to stay; returns those that still are. */
static inline uint32_t bound_batch_after_move(score_table *table, int64_t q, int64_t from, int64_t to, uint32_t certain)
{
    if (q + 1 == table->n_batch || !table->has_bounds)
        return 0;
    if (table->is_stale) {
        load_batch(table, table->order, table->batch, table->batch + table->n_batch);
        return bound_batch(table);
    }
    if (from > 0)
        bound_columns(table, from, from + 1);
    bound_columns(table, to, to + 1);
    return certain == 0 || table->groups ? 0 : certain & unattracted(table, from, to);
}

/* ---- the columns that may have the best score -------------------------------------------------------------------- */

/* Upper bounds of the scores of lane q with all columns but one, into table->scores. Returns the column of the highest,
 * or -1. */
static inline int64_t upper_bounds(const score_table *table, int64_t q, int64_t but)
{
    const float *const bounds = table->bounds + q;
    double *const scores = table->scores, highest = -INFINITY;
    int64_t k, best = -1;

    for (k = 0; k < table->n_columns; k++) {
        const double bound = (double)bounds[k * MD_POINTS];

        scores[k] = bound + COARSE_SLACK * fabs(bound) + table->log_weight[k];
        if (k != but && scores[k] > highest) {
            highest = scores[k];
            best = k;
        }
    }
    return best;
}

/* All columns are candidates. Returns their number. */
static inline int64_t all_columns(const score_table *table)
{
    int64_t k;

    for (k = 0; k < table->n_columns; k++)
        table->candidates[k] = k;
    return table->n_columns;
}

/* The lowest score that may be the best, or within `band` nats of it. */
static inline double least_candidate(double best, double band)
{
    return best - band - 2.0 * TOLERANCE * (1.0 + fabs(best));
}

static inline int64_t score_candidates_by_bounds(score_table *table, int64_t i, int64_t slot, int64_t q, double band)
{
    const int alone = slot >= 0 && table->clusters->counts[slot] == 1;
    const int64_t own = slot >= 0 ? slot + 1 : -1, seed = upper_bounds(table, q, own);
    double *const scores = table->scores, best = -INFINITY;
    double least;
    int64_t k, n = 0, scored = -1;

    if (own >= 0)
        best = scores[own] = alone ? -INFINITY : score_leave_one_out(table, slot, i);
    if (alone)
        scores[0] = score_new_for_lone_point(table, slot);
    else if (table->free_slot < 0)
        scores[0] = -INFINITY;
    best = alone && scores[0] > best ? scores[0] : best;
    if (seed > 0 && !(scores[seed] < least_candidate(best, band))) {
        scores[seed] = score_column(table, seed, table->x);
        best = scores[seed] > best ? scores[seed] : best;
        scored = seed;
    }
    least = least_candidate(best, band);
    for (k = 0; k < table->n_columns; k++) {
        if (scores[k] < least || scores[k] == -INFINITY)
            continue;
        if (k != scored && k != own && !(k == 0 && (alone || table->free_slot < 0))) {
            scores[k] = score_column(table, k, table->x);
            best = scores[k] > best ? scores[k] : best;
            least = least_candidate(best, band);
        }
        table->candidates[n++] = k;
    }
    return n;
}

/* Score point i, the current point and lane q of the batch, with its own slot (or -1) and with all columns whose score
 * may be within `band` nats of the best, or within its tolerance. The scores go to table->scores, the columns to
 * table->candidates in ascending order. Returns the number of candidates. */
static inline int64_t score_candidates(score_table *table, int64_t i, int64_t slot, int64_t q, double band)
{
    if (table->has_bounds)
        return score_candidates_by_bounds(table, i, slot, q, band);
    if (!score_all(table, i, slot) && table->free_slot < 0)
        table->scores[0] = -INFINITY;
    return all_columns(table);
}

/* objective.best_slot over the n candidates: `stay` if it is within the tolerance of the best, else the lowest slot
 * that is, else column 0. */
static inline int64_t best_column(const score_table *table, int64_t n, int may_open, int64_t stay)
{
    const double *const scores = table->scores;
    double best = -INFINITY, least;
    int64_t j;

    for (j = 0; j < n; j++)
        if (scores[table->candidates[j]] > best && (may_open || table->candidates[j] > 0))
            best = scores[table->candidates[j]];
    least = best - TOLERANCE * (1.0 + fabs(best));
    if (stay >= 0 && scores[stay] >= least)
        return stay;
    for (j = 0; j < n; j++)
        if (scores[table->candidates[j]] >= least && table->candidates[j] > 0)
            return table->candidates[j];
    return may_open ? 0 : (stay >= 0 ? stay : 1);
}

#endif
