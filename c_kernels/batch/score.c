/* Points against clusters that do not change: all scores, the best slot, the log density. The twin of
 * mapdpm/backends/generic.py. The results of a point do not depend on its neighbours in the data.
 */
#include "scores/mapdpm_scores.h"

/* Scores so many nats below the best do not change a density, nor do all of them together: 2^-54 is half an ulp. */
static inline double negligible_nats(const score_table *t) { return 37.5 + log((double)t->n_columns); }

/* The least exponent whose exponential is not taken for 0. */
static const double LEAST_EXPONENT = -700.0;

/* If a batch has more pairs of points and columns within these nats, it is scored in groups: a pair costs some four
 * times as much as a place in a group, and MOST_PAIRS is room. */
enum { MOST_PAIRS = 32 * MD_POINTS, FEW_PAIRS = 8 * MD_POINTS, COLUMNS_PER_PAIR = 4 };
static inline int64_t most_pairs(const score_table *t)
{
    const int64_t some = t->n_columns * MD_POINTS / COLUMNS_PER_PAIR;

    return some < FEW_PAIRS ? FEW_PAIRS : some < MOST_PAIRS ? some : MOST_PAIRS;
}

/* Logarithms of tails are bounded from below, to so large a part. If a tail in float may have overflowed, it has no
 * upper bound. */
static const float LOG_LACKS = 0.007f, LARGEST_LOG = 87.0f;

static double log_normaliser_of(const score_table *table)
{
    double total = 0.0;
    int64_t k;

    for (k = 0; k < table->clusters->capacity; k++)
        total += table->clusters->counts[k] > 0 ? statistics_of(table, k)[0] : 0.0;
    return log_normaliser(table->problem, total);
}

/* ---- by bounds --------------------------------------------------------------------------------------------------- */

/* For each point of the batch, what the bound of a column must reach if its score is within `band` nats of the best. */
CLONES
static void limits_of_batch(const score_table *t, float band, float *restrict limits)
{
    float most[MD_POINTS];
    int64_t k, q;

    for (q = 0; q < MD_POINTS; q++)
        most[q] = -INFINITY;
    for (k = 0; k < t->n_columns; k++) {
        const float *restrict const bounds = t->bounds + k * MD_POINTS;
        const float upper = t->upper[k], weight = t->weight[k], furthest = LARGEST_LOG * t->slope[k];
        const float lacks = t->is_product ? LOG_LACKS : (float)(2.0 * t->log_error[k] + SLOPE_SLACK);
        const float error = (float)(2.0 * (t->is_product ? t->exponent[k] * t->log_error[k] : t->tail_error[k]));
        const float gap = error + (float)(8.0 * COARSE_SLACK) * (1.0f + fabsf(upper) + fabsf(weight));

        if (!is_column_used(t, k) || !(weight > -INFINITY))
            continue;
        for (q = 0; q < MD_POINTS && t->by_factors; q++) {
            const float lower =
                bounds[q] - (float)(8.0 * COARSE_SLACK) * (1.0f + fabsf(bounds[q]) + fabsf(weight)) + weight;

            most[q] = lower > most[q] ? lower : most[q];
        }
        for (q = 0; q < MD_POINTS && !t->by_factors; q++) {
            const float bound = bounds[q] < upper ? bounds[q] : upper; /* rounding may take a product below 1 */
            const float below = upper - bound, lower = bound - lacks * below - gap + weight;

            most[q] = (!t->is_product || below < furthest) && lower > most[q] ? lower : most[q];
        }
    }
    for (q = 0; q < MD_POINTS; q++)
        limits[q] = most[q] - band - (float)(4.0 * COARSE_SLACK) * (1.0f + band + fabsf(most[q]));
}

/* The column with the highest bound of each point of the batch, and how many reach its limit. */
CLONES
static void best_bounds(const score_table *t, const float *restrict limits, int32_t *restrict columns,
                        int32_t *restrict counts)
{
    float most[MD_POINTS];
    int64_t k, q;

    for (q = 0; q < MD_POINTS; q++) {
        most[q] = -INFINITY;
        columns[q] = counts[q] = 0;
    }
    for (k = 0; k < t->n_columns; k++) {
        const float *restrict const bounds = t->bounds + k * MD_POINTS;
        const float weight = t->weight[k];

        for (q = 0; q < MD_POINTS; q++) {
            const float bound = bounds[q] + weight;

            counts[q] += !(bound < limits[q]);
            columns[q] = bound > most[q] ? (int32_t)k : columns[q];
            most[q] = bound > most[q] ? bound : most[q];
        }
    }
}

/* The pairs of lanes and columns whose bounds reach the limits, by columns. Returns their number, or -1 if there are
 * more than most_pairs. */
CLONES
static int64_t pairs_of_batch(const score_table *t, const float *restrict limits, int32_t *restrict lanes,
                              int32_t *restrict columns)
{
    const int64_t most = most_pairs(t);
    int64_t k, n = 0;

    for (k = 0; k < t->n_columns; k++) {
        const float *restrict const bounds = t->bounds + k * MD_POINTS;
        const float weight = t->weight[k];
        uint32_t reach = 0;
        int q;

        for (q = 0; q < MD_POINTS; q++)
            reach |= bounds[q] + weight < limits[q] ? 0 : UINT32_C(1) << q;
        for (reach &= is_column_used(t, k) ? lanes_in_use(t) : 0; reach != 0; reach &= reach - 1) {
            if (n == most)
                return -1;
            lanes[n] = lowest_bit(reach);
            columns[n++] = (int32_t)k;
        }
    }
    return n;
}

/* ---- densities --------------------------------------------------------------------------------------------------- */

/* The log densities of the batch from few pairs. */
CLONES
static void sum_pairs(const score_table *t, const int32_t *lanes, const int32_t *columns, int64_t n, double *sums)
{
    const double least = -negligible_nats(t);
    double scores[MOST_PAIRS], shares[MOST_PAIRS], best[MD_POINTS];
    int64_t p, q;

    exact_scores_of_pairs(t, lanes, columns, n, shares, scores);
    for (q = 0; q < MD_POINTS; q++) {
        best[q] = -INFINITY;
        sums[q] = 0.0;
    }
    for (p = 0; p < n; p++)
        best[lanes[p]] = scores[p] > best[lanes[p]] ? scores[p] : best[lanes[p]];
    for (p = 0; p < n; p++)
        scores[p] -= best[lanes[p]];
    for (p = 0; p < n; p++)
        shares[p] = exp_of(scores[p] > least ? scores[p] : least);
    for (p = 0; p < n; p++)
        sums[lanes[p]] += scores[p] >= least ? shares[p] : 0.0;
    for (q = 0; q < MD_POINTS; q++)
        sums[q] = best[q] + log_positive(sums[q] > 0.0 ? sums[q] : 1.0);
}

/* The scores of a group, from point q of the batch on, with all columns; -inf with those that are not in use. */
static void score_group(score_table *t, int64_t q)
{
    int64_t k, j;

    if (t->n_wide > 0)
        load_group(t, q);
    for (k = 0; k < t->n_columns && t->n_wide > 0; k++)
        if (is_column_used(t, k))
            exact_scores_of_group(t, q, k, t->group_scores + k * MD_SCORED);
        else
            for (j = 0; j < MD_SCORED; j++)
                t->group_scores[k * MD_SCORED + j] = -INFINITY;
    for (j = 0; j < MD_SCORED && t->n_wide == 0; j++) {
        const int64_t i = point_of_lane(t, q + j < t->n_batch ? q + j : t->n_batch - 1);

        load_point(t, i);
        score_columns(t);
        for (k = 0; k < t->n_columns; k++)
            t->group_scores[k * MD_SCORED + j] = t->scores[k];
    }
}

/* The best score of each point of a group. */
ALWAYS_INLINE void best_of_group(const score_table *t, double *restrict best)
{
    int64_t k, j;

    for (j = 0; j < MD_SCORED; j++)
        best[j] = -INFINITY;
    for (k = 0; k < t->n_columns; k++)
        LANE_LOOP (j = 0; j < MD_SCORED; j++)
            best[j] = t->group_scores[k * MD_SCORED + j] > best[j] ? t->group_scores[k * MD_SCORED + j] : best[j];
}

/* The log densities of a group, from its scores. */
CLONES
static void sum_group(const score_table *t, double *sums)
{
    const double least = -negligible_nats(t);
    double best[MD_SCORED], shares[MD_SCORED] = {0};
    int64_t k, j;

    best_of_group(t, best);
    for (k = 0; k < t->n_columns; k++)
        LANE_LOOP (j = 0; j < MD_SCORED; j++) {
            const double below = t->group_scores[k * MD_SCORED + j] - best[j];
            const double share = exp_of(below > least ? below : least);

            shares[j] += below >= least ? share : 0.0;
        }
    LANE_LOOP (j = 0; j < MD_SCORED; j++)
        sums[j] = best[j] + log_positive(shares[j]);
}

/* The log densities of the batch, of a diagonal family. */
static void densities_of_batch(score_table *t, double *sums)
{
    int32_t lanes[MOST_PAIRS], columns[MOST_PAIRS];
    float limits[MD_POINTS];
    int64_t q, n = -1;

    load_exact_points(t);
    if (t->has_bounds) {
        bound_all_columns(t);
        limits_of_batch(t, (float)negligible_nats(t), limits);
        n = pairs_of_batch(t, limits, lanes, columns);
    }
    if (n >= 0)
        sum_pairs(t, lanes, columns, n, sums);
    for (q = 0; q < t->n_batch && n < 0; q += MD_SCORED) {
        score_group(t, q);
        sum_group(t, sums + q);
    }
}

/* The log density of lane q, point by point. */
static double density_of_lane(score_table *t, int64_t q)
{
    const double negligible = negligible_nats(t);
    double best = -INFINITY, sum = 0.0;
    int64_t j, n;

    load_point(t, point_of_lane(t, q));
    n = score_candidates(t, point_of_lane(t, q), -1, q, negligible);
    for (j = 0; j < n; j++)
        best = t->scores[t->candidates[j]] > best ? t->scores[t->candidates[j]] : best;
    for (j = 0; j < n; j++)
        if (t->scores[t->candidates[j]] >= best - negligible)
            sum += exp(t->scores[t->candidates[j]] - best);
    return best + log(sum);
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

/* Set up the table for scores: a point cannot open a cluster if no slot is free, or `may_open` is 0. */
static int set_up_scores(score_table *t, const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                         int may_open)
{
    const int error = set_up_table(t, problem, clusters, workspace);

    if (error == MAPDPM_OK && (!may_open || t->free_slot < 0)) {
        t->free_slot = -1;
        set_log_weight(t, 0, -INFINITY);
    }
    return error;
}

/* Turn the scores of a group with all columns into their shares of the sum of exponentials. */
CLONES
static void to_shares(const score_table *t)
{
    double best[MD_SCORED], total[MD_SCORED] = {0};
    int64_t k, j;

    best_of_group(t, best);
    for (k = 0; k < t->n_columns; k++) {
        double *restrict const scores = t->group_scores + k * MD_SCORED;

        LANE_LOOP (j = 0; j < MD_SCORED; j++) {
            const double below = scores[j] - best[j];
            const double share = exp_of(below > LEAST_EXPONENT ? below : LEAST_EXPONENT);

            scores[j] = below > LEAST_EXPONENT ? share : 0.0;
            total[j] += scores[j];
        }
    }
    for (k = 0; k < t->n_columns; k++)
        LANE_LOOP (j = 0; j < MD_SCORED; j++)
            t->group_scores[k * MD_SCORED + j] /= total[j];
}

/* Fill a row of `entries` for each point: scores, or their shares. Returns an error of the arguments. */
static int fill_rows(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int are_shares,
                     double *entries)
{
    score_table table, *const t = &table;
    const int error = set_up_scores(t, problem, clusters, workspace, 1);
    double normaliser;
    int64_t i, q, j, k;

    if (error != MAPDPM_OK || entries == NULL)
        return error != MAPDPM_OK ? error : MAPDPM_E_ARGUMENT;
    normaliser = are_shares ? 0.0 : log_normaliser_of(t);
    t->has_bounds = 0;
    load_exact_rows(t);
    for (i = 0; i < problem->n_points; i += t->n_batch) {
        load_points(t, NULL, i, problem->n_points);
        load_exact_points(t);
        for (q = 0; q < t->n_batch; q += MD_SCORED) {
            score_group(t, q);
            if (are_shares)
                to_shares(t);
            for (j = 0; j < MD_SCORED && q + j < t->n_batch; j++) {
                double *const row = entries + (i + q + j) * clusters->capacity;

                for (k = 0; k < clusters->capacity; k++)
                    row[k] = k + 1 < t->n_columns ? t->group_scores[(k + 1) * MD_SCORED + j] + normaliser
                                                  : (are_shares ? 0.0 : -INFINITY);
                if (t->free_slot >= 0)
                    row[t->free_slot] = t->group_scores[j] + normaliser;
            }
        }
    }
    return MAPDPM_OK;
}

int mapdpm_score(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *scores)
{
    return fill_rows(problem, clusters, workspace, 0, scores);
}

int mapdpm_posteriors(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *shares)
{
    return fill_rows(problem, clusters, workspace, 1, shares);
}

int mapdpm_best_slots(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_open,
                      int64_t *slots)
{
    score_table t;
    const int error = set_up_scores(&t, problem, clusters, workspace, may_open);
    int32_t columns[MD_POINTS], counts[MD_POINTS] = {0};
    float limits[MD_POINTS];
    int64_t i, q;

    if (error != MAPDPM_OK || slots == NULL)
        return error != MAPDPM_OK ? error : MAPDPM_E_ARGUMENT;
    for (i = 0; i < problem->n_points; i += t.n_batch) {
        load_points(&t, NULL, i, problem->n_points);
        if (t.has_bounds) {
            bound_all_columns(&t);
            limits_of_batch(&t, 0.0f, limits);
            best_bounds(&t, limits, columns, counts);
        }
        for (q = 0; q < t.n_batch; q++) {
            int64_t column = columns[q];

            if (!t.has_bounds || counts[q] != 1) {
                load_point(&t, i + q);
                column = best_column(&t, score_candidates(&t, i + q, -1, q, 0.0), t.free_slot >= 0, -1);
            }
            slots[i + q] = column == 0 ? t.free_slot : column - 1;
        }
    }
    return MAPDPM_OK;
}

int mapdpm_log_densities(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                         double *log_densities)
{
    score_table t;
    const int error = set_up_scores(&t, problem, clusters, workspace, 1);
    double normaliser, sums[MD_POINTS];
    int64_t i, q;

    if (error != MAPDPM_OK || log_densities == NULL)
        return error != MAPDPM_OK ? error : MAPDPM_E_ARGUMENT;
    normaliser = log_normaliser_of(&t);
    load_exact_rows(&t);
    for (i = 0; i < problem->n_points; i += t.n_batch) {
        load_points(&t, NULL, i, problem->n_points);
        if (t.n_wide > 0)
            densities_of_batch(&t, sums);
        else
            (void)bound_batch(&t);
        for (q = 0; q < t.n_batch; q++)
            log_densities[i + q] = (t.n_wide > 0 ? sums[q] : density_of_lane(&t, q)) + normaliser;
    }
    return MAPDPM_OK;
}
