/* The exact scores of one point with columns, and the columns that may have the best. */
#include "scores/mapdpm_scores.h"

/* The tail of a point with a column: prod_d (1 + scale (x - centre)^2), or the sum of the terms; for full covariance
 * matrices 1 + stretch times the distance. */
ALWAYS_INLINE double tail_of(const score_table *table, int64_t column, const double *x)
{
    const int64_t D = table->likelihood.D;
    double *const statistics = statistics_of_column(table, column);
    const double *const centre = diagonal_centre(statistics, D), *const scale = diagonal_scale(statistics, D);
    double p[ACCUMULATORS];
    int64_t d, j;

    if (table->is_full)
        return 1.0 + full_constants(statistics, D)[2] * distance_of(table, column, x);
    for (j = 0; j < ACCUMULATORS; j++)
        p[j] = table->is_product ? 1.0 : 0.0;
    for (d = 0; d + ACCUMULATORS <= D && table->is_product; d += ACCUMULATORS)
        for (j = 0; j < ACCUMULATORS; j++)
            p[j] *= 1.0 + (x[d + j] - centre[d + j]) * (x[d + j] - centre[d + j]) * scale[d + j];
    for (; d + ACCUMULATORS <= D; d += ACCUMULATORS)
        for (j = 0; j < ACCUMULATORS; j++)
            p[j] += (x[d + j] - centre[d + j]) * (x[d + j] - centre[d + j]) * scale[d + j];
    for (j = 0; d + j < D; j++) {
        const double u = (x[d + j] - centre[d + j]) * (x[d + j] - centre[d + j]) * scale[d + j];

        p[j] = table->is_product ? p[j] * (1.0 + u) : p[j] + u;
    }
    return table->is_product ? (p[0] * p[1]) * (p[2] * p[3]) : (p[0] + p[1]) + (p[2] + p[3]);
}

/* The score of a point with a column, whatever the other clusters are. */
ALWAYS_INLINE double score_column(const score_table *table, int64_t column, const double *x)
{
    double *const statistics = statistics_of_column(table, column);
    const double exponent = table->exponent[column], weight = table->log_weight[column];
    double tail;

    if (table->likelihood.verbs)
        return weight + statistics_log_predictive(&table->likelihood, statistics, x);
    if (is_skipping(table->likelihood.kind))
        return weight + skipping_log_predictive(&table->likelihood, statistics, x);
    if (table->is_full)
        return table->constant[column] + weight -
               exponent * log1p(full_constants(statistics, table->likelihood.D)[2] * distance_of(table, column, x));
    if (is_large(table, exponent))
        return weight + statistics_log_predictive(&table->likelihood, statistics, x);
    tail = tail_of(table, column, x);
    if (!table->is_product)
        return table->constant[column] + weight - tail;
    if (!(tail < PRODUCT_HUGE))
        return weight + statistics_log_predictive(&table->likelihood, statistics, x);
    return table->constant[column] + weight - exponent * log(tail);
}

/* The score of the current point with a new cluster, if it is alone in its slot, which would become free. */
static double score_new_for_lone_point(score_table *table, int64_t slot)
{
    const mapdpm_groups *const g = table->groups;
    const int64_t capacity = table->clusters->capacity;
    const double held = table->log_weight[0], *weights;
    double score;

    if (table->states) /* the slot has given its weight back */
        return score_column(table, 0, table->x);
    if (g == NULL)
        return score_column(table, 0, table->x) + (log_new(table->problem, table->n_used - 1, 1.0) - held);
    weights = weights_above(g, capacity, table->group);
    table->log_weight[0] = log_or_never(weights[capacity] + weights[slot]);
    score = score_column(table, 0, table->x);
    table->log_weight[0] = held;
    return score;
}

CLONES
void score_columns(const score_table *table)
{
    int64_t k;

    for (k = 0; k < table->n_columns; k++)
        table->scores[k] = is_column_used(table, k) ? score_column(table, k, table->x) : -INFINITY;
}

/* All scores of point i, the current point, if all weights are 1. slot is its own slot, or -1. Returns whether the
 * point is alone in it. */
static int score_unweighted(score_table *table, int64_t i, int64_t slot)
{
    const int alone = slot >= 0 && table->clusters->counts[slot] == 1;

    score_columns(table);
    if (alone)
        table->scores[0] = score_new_for_lone_point(table, slot);
    if (slot >= 0)
        table->scores[slot + 1] = alone ? -INFINITY : score_leave_one_out(table, slot, i);
    return alone;
}

/* The same for any weights. */
static int score_weighted(score_table *table, int64_t i, int64_t slot)
{
    const mapdpm_problem *const p = table->problem;
    const int alone = slot >= 0 && table->clusters->counts[slot] == 1;
    const double w = weight(p, i);
    int64_t k;

    table->scores[0] = log_new(p, table->n_used - alone, w) +
                       statistics_log_predictive_weighted(&table->likelihood, table->likelihood.empty, table->x, w);
    for (k = 0; k + 1 < table->n_columns; k++) {
        double *statistics = statistics_of(table, k);

        table->scores[k + 1] = -INFINITY;
        if (table->clusters->counts[k] == 0 || (alone && k == slot))
            continue;
        if (k == slot)
            statistics = statistics_left(table, slot, i);
        table->scores[k + 1] = log_existing(p, statistics[0], w) +
                               statistics_log_predictive_weighted(&table->likelihood, statistics, table->x, w);
    }
    return alone;
}

int score_all(score_table *table, int64_t i, int64_t slot)
{
    return table->problem->weights ? score_weighted(table, i, slot) : score_unweighted(table, i, slot);
}

/* ---- the columns that may have the best score -------------------------------------------------------------------- */

/* Upper bounds of the scores of lane q with all columns but one, into table->scores. Returns the column of the highest,
 * or -1. */
static int64_t upper_bounds(const score_table *table, int64_t q, int64_t but)
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
static int64_t all_columns(const score_table *table)
{
    int64_t k;

    for (k = 0; k < table->n_columns; k++)
        table->candidates[k] = k;
    return table->n_columns;
}

/* The lowest score that may be the best, or within `band` nats of it. */
static double least_candidate(double best, double band)
{
    return best - band - 2.0 * TOLERANCE * (1.0 + fabs(best));
}

static int64_t score_candidates_by_bounds(score_table *table, int64_t i, int64_t slot, int64_t q, double band)
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

CLONES
int64_t score_candidates(score_table *table, int64_t i, int64_t slot, int64_t q, double band)
{
    if (table->has_bounds)
        return score_candidates_by_bounds(table, i, slot, q, band);
    if (!score_all(table, i, slot) && table->free_slot < 0)
        table->scores[0] = -INFINITY;
    return all_columns(table);
}

int64_t best_column(const score_table *table, int64_t n, int may_open, int64_t stay)
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
