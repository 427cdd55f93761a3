/* The functions of a score table: table.c sets it up and moves points, columns.c keeps its columns, bounds.c and factors.c
 * bound the scores of a batch of points; leave_one_out.c, scores.c and exact.c score them. Internal to the batch kernels.
 */
#ifndef MAPDPM_SCORES_H
#define MAPDPM_SCORES_H

#include "scores/mapdpm_score_table.h"

/* ---- table.c ----------------------------------------------------------------------------------------------------- */

/* The bytes of a workspace, but for its alignment. */
size_t table_bytes(const mapdpm_problem *p, int64_t capacity);

int set_up_table(score_table *table, const mapdpm_problem *p, const mapdpm_clusters *z, void *workspace);

/* The same for the first group, if the points have groups, or for the start of a sequence, if they have states. */
int set_up_sharing_table(score_table *table, const mapdpm_problem *p, const mapdpm_clusters *z,
                         const mapdpm_groups *groups, const mapdpm_states *states, void *workspace);

/* Put point i, the current point, into a slot. */
void join_slot(score_table *table, int64_t i, int64_t slot);

/* Take point i, the current point, out of its slot. */
void leave_slot(score_table *table, int64_t i);

/* ---- columns.c --------------------------------------------------------------------------------------------------- */

const size_terms *size_terms_of(const score_table *table, double n);

/* The log prior weight of joining a slot for a point of the current group, which is `less` (0 or 1) of the points in
 * it. n is the weight of the slot, less that. */
double log_weight_of(score_table *table, int64_t slot, double n, int64_t less);

/* Change the log prior weight of a column. */
void set_log_weight(score_table *table, int64_t column, double log_weight);

/* Give all columns their prior weights anew. O(capacity). */
void set_log_weights(score_table *table);

/* Give all columns the prior weights of a group. O(capacity). */
void set_group(score_table *table, int64_t group);

/* So many slots are in use: the weight of a new cluster may depend on that. */
void set_n_used(score_table *table, int64_t used);

/* Fill the columns of a new cluster and of all slots in use, and choose units. */
void fill_columns(score_table *table);

/* Update the derived entries and the column of a slot that has changed, and the lowest free slot. */
void refresh_column(score_table *table, int64_t slot);

/* Write the bounds of all columns in use. Returns whether the units fit. */
int set_all_bounds(score_table *table);

/* ---- bounds.c ---------------------------------------------------------------------------------------------------- */

/* Write the bounds of a column: `scale` is g in the factors 1 + (x - centre)^2 / g of products, `inverse` 1 / g. For
 * sums, both are the factor of (x - centre)^2. Returns whether the units fit. */
int set_bounds_of(score_table *t, int64_t column, const double *centre, const double *scale, const double *inverse);

/* Make the points `first`, first + 1, ... the batch, at most up to before `end`; of `order`, if it is not NULL. They have
 * no slots, or none that matter. */
void load_points(score_table *table, const int64_t *order, int64_t first, int64_t end);

/* The same with their slots. */
void load_batch(score_table *table, const int64_t *order, int64_t first, int64_t end);

/* The bounds of the batch with all columns. */
void bound_all_columns(const score_table *table);

/* The same. Returns the points that are certain to stay, as bits. */
uint32_t bound_batch(score_table *table);

/* Repair the bounds after lane q has moved from one column, or none (0), to another. `certain` are the points that were
 * certain to stay; returns those that still are. */
uint32_t bound_batch_after_move(score_table *table, int64_t q, int64_t from, int64_t to, uint32_t certain);

/* ---- factors.c --------------------------------------------------------------------------------------------------- */

/* Features that have lanes for the sake of factors; 0 where no factor has a form that C knows. */
int64_t features_in_lanes(const mapdpm_problem *p);

/* Whether bounds are scores by factors. */
int has_factors_in_lanes(const score_table *t);

void load_of_factors(const score_table *t, const mapdpm_real *rows);

void bound_columns_of_factors(const score_table *t, int64_t first, int64_t end);

/* Lower bounds of the leave-one-out scores of the batch with their own columns, into table->least. */
void least_of_factors(score_table *t);

/* ---- leave_one_out.c ------------------------------------------------------------------------------------------- */

/* The statistics of a slot without point i, from its members. */
double *statistics_without(score_table *table, int64_t slot, int64_t i);

/* The same, by a removal where that does not destroy them. Point i is the current point. */
double *statistics_left(score_table *table, int64_t slot, int64_t i);

/* The leave-one-out score of a point with its own slot, which holds other points too, from the full statistics. It
 * returns 0 if they cannot give it. */
int leave_one_out_in_closed_form(const score_table *table, int64_t slot, const double *x, double *score);

/* The leave-one-out score of point i, the current point, in any case. */
double score_leave_one_out(score_table *table, int64_t slot, int64_t i);

/* ---- scores.c ---------------------------------------------------------------------------------------------------- */

/* The scores of the current point with all columns that are in use, into table->scores. */
void score_columns(const score_table *table);

/* All scores of point i, the current point. slot is its own slot, or -1. Returns whether the point is alone in it. */
int score_all(score_table *table, int64_t i, int64_t slot);

/* Score point i, the current point and lane q of the batch, with its own slot (or -1) and with all columns whose score
 * may be within `band` nats of the best, or within its tolerance. The scores go to table->scores, the columns to
 * table->candidates in ascending order. Returns the number of candidates. */
int64_t score_candidates(score_table *table, int64_t i, int64_t slot, int64_t q, double band);

/* objective.best_slot over the n candidates: `stay` if it is within the tolerance of the best, else the lowest slot
 * that is, else column 0. */
int64_t best_column(const score_table *table, int64_t n, int may_open, int64_t stay);

/* ---- exact.c ----------------------------------------------------------------------------------------------------- */

/* Put the columns, and the points of the batch, into rows of the same length. */
void load_exact_rows(const score_table *t);
void load_exact_points(const score_table *t);

/* The scores of n pairs of a lane and a column. `tails` is room for n numbers. */
void exact_scores_of_pairs(const score_table *t, const int32_t *lanes, const int32_t *columns, int64_t n,
                           double *restrict tails, double *restrict scores);

/* Put the points q, q + 1, ... of the batch into lanes. */
void load_group(const score_table *t, int64_t q);

/* The scores of the loaded group, the points q, q + 1, ... of the batch, with a column. */
void exact_scores_of_group(const score_table *t, int64_t q, int64_t column, double *restrict scores);

#endif
