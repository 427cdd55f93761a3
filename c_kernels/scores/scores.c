/* The exact score of one point with one column. With its own cluster the score is leave-one-out, as if the point were
 * not in it: in closed form from the full statistics or, where that cancels, from statistics made without the point.
 * Internal to the batch sweep.
 */
#include "scores/mapdpm_scores.h"

/* If D factors times their exponent exceed this, a plain product may be off by a tenth of the tolerance. */
static const double LARGE_EXPONENT = 1e5;

/* Whether the exponent of a column makes a plain product lose digits of the score. */
static int is_large(const score_table *table, double exponent)
{
    return table->is_product && exponent * (double)table->likelihood.D > LARGE_EXPONENT;
}

/* |R^-1 (x - centre)|^2 of a point with a column, for full covariance matrices. */
ALWAYS_INLINE double distance_of(const score_table *table, int64_t column, const double *x)
{
    const int64_t D = table->likelihood.D;
    double *const statistics = statistics_of_column(table, column), total = 0.0;

    triangle_solve(full_factor(statistics, D), table->inverse + column * D, x, full_centre(statistics, D),
                   table->likelihood.scratch, D, &total);
    return total;
}

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

/* Most labels belong to other slots, so eight are checked at a time. */
CLONES
double *statistics_without(score_table *table, int64_t slot, int64_t i)
{
    const int64_t *const labels = table->clusters->labels, N = table->problem->n_points;
    double *const statistics = table->scratch_statistics;
    int64_t first, j;

    statistics_clear(&table->likelihood, statistics);
    if (table->clusters->base != NULL)
        memcpy(statistics, table->clusters->base + slot * table->statistics_size,
               (size_t)sufficient_size(table->likelihood.kind, table->likelihood.D) * sizeof *statistics);
    for (first = 0; first < N; first += 8) {
        const int64_t last = first + 8 < N ? first + 8 : N;
        int64_t there = last < first + 8;

        for (j = 0; j < 8 && last == first + 8; j++)
            there |= labels[first + j] == slot;
        for (j = first; j < last && there; j++)
            if (labels[j] == slot && j != i) {
                to_double(point(table, j), table->scratch, table->likelihood.D);
                statistics_add(&table->likelihood, statistics, table->scratch, weight(table->problem, j));
            }
    }
    statistics_prepare(&table->likelihood, statistics);
    return statistics;
}

/* log |psi_n without the point| / |psi_n|, docs/maths.md (113). It returns 0 if little would be left. */
ALWAYS_INLINE int loo_log_share(const score_table *table, int64_t slot, const double *x, double *logs)
{
    const double c = table->likelihood.c0 + statistics_of(table, slot)[0];
    const double lost = c / (c - 1.0) * distance_of(table, slot + 1, x);

    if (!(1.0 - lost >= LEAST_SHARE_LEFT))
        return 0;
    *logs = log1p(-lost);
    return 1;
}

/* log prod_d (1 - scale (x - centre)^2). It returns 0 if the full statistics cannot give it, because little would be
 * left. */
ALWAYS_INLINE int loo_log_product(const score_table *table, int64_t slot, const double *x, double *logs)
{
    const int64_t D = table->likelihood.D;
    const double *const scale = table->loo_scale + slot * D;
    const double *const centre = diagonal_centre(statistics_of(table, slot), D);
    double p[ACCUMULATORS] = {1.0, 1.0, 1.0, 1.0}, least[ACCUMULATORS] = {1.0, 1.0, 1.0, 1.0}, lost = 0.0;
    int64_t d, j;

    for (d = 0; d + ACCUMULATORS <= D; d += ACCUMULATORS)
        for (j = 0; j < ACCUMULATORS; j++) {
            const double t = x[d + j] - centre[d + j], factor = 1.0 - scale[d + j] * t * t;

            p[j] *= factor;
            least[j] = least[j] < factor ? least[j] : factor;
        }
    for (j = 0; d + j < D; j++) {
        const double t = x[d + j] - centre[d + j], factor = 1.0 - scale[d + j] * t * t;

        p[j] *= factor;
        least[j] = least[j] < factor ? least[j] : factor;
    }
    for (j = 0; j < ACCUMULATORS; j++)
        if (!(least[j] >= LEAST_SHARE_LEFT))
            return 0;
    p[0] = (p[0] * p[1]) * (p[2] * p[3]);
    *logs = 0.0;
    if (p[0] > PRODUCT_TINY && !is_large(table, table->exponent[slot + 1])) {
        *logs = log(p[0]);
        return 1;
    }
    for (d = 0; d < D; d++) {
        const double t = x[d] - centre[d], u = scale[d] * t * t;

        lost += u - lost * u; /* 1 - the product of all 1 - u, as in statistics_log_tail */
        if (lost > LARGEST_LOSS) {
            *logs += log1p(-lost);
            lost = 0.0;
        }
    }
    *logs += log1p(-lost);
    return 1;
}

/* The leave-one-out log predictive of feature d of a point, with missing values (docs/maths.md (10), (14)). It returns
 * 0 if the full statistics cannot give it, because little would be left. */
ALWAYS_INLINE int loo_of_feature(const score_table *table, double *row, int64_t d, double x, double *score)
{
    const likelihood *const f = &table->likelihood;
    const int64_t D = f->D;
    const double n = entries_of(row, D, FEATURE_COUNT)[d], c = f->c0 + n, t = x - entries_of(row, D, FEATURE_CENTRE)[d];
    const double noise = f->noise_scale[d];

    if (n <= 1.0) { /* no other point has this feature */
        const likelihood one = feature_of(f, d);
        double own[FEATURE_ENTRIES];

        gather(f->empty, D, d, own);
        *score = diagonal_log_predictive(&one, own, &x);
    } else if (plain_family(f->kind) == MAPDPM_NORMAL_GAMMA) {
        const double lost = (c + 1.0) / (c - 1.0) * entries_of(row, D, FEATURE_SCALE)[d] * t * t;

        if (!(1.0 - lost >= LEAST_SHARE_LEFT))
            return 0;
        *score = size_terms_of(table, n - 1.0)->log_constant - 0.5 * entries_of(row, D, FEATURE_LOG_SCALE)[d] +
                 (entries_of(row, D, FEATURE_EXPONENT)[d] - 1.0) * log1p_of(-lost);
    } else {
        const double prior = f->prior_variance[d];
        const double variance = noise * ((noise + n * prior) / (noise + (n - 1.0) * prior));

        *score = -0.5 * (LOG_2PI + log_positive(variance) + variance / (noise * noise) * t * t);
    }
    return 1;
}

/* The same of the whole point, and its log weight. */
static int loo_skipping(const score_table *table, int64_t slot, const double *x, double *score)
{
    double term = 0.0;
    int64_t d;

    *score = table->loo_constant[slot + 1];
    for (d = 0; d < table->likelihood.D; d++) {
        if (is_there(x[d]) && !loo_of_feature(table, statistics_of(table, slot), d, x[d], &term))
            return 0;
        *score += is_there(x[d]) ? term : 0.0;
    }
    return 1;
}

int leave_one_out_in_closed_form(const score_table *table, int64_t slot, const double *x, double *score)
{
    const int64_t D = table->likelihood.D;
    const double *const scale = table->loo_scale + slot * D;
    const double *const centre = diagonal_centre(statistics_of(table, slot), D);
    double logs = 0.0, sum = 0.0;
    int64_t d;

    if (is_skipping(table->likelihood.kind))
        return loo_skipping(table, slot, x, score);
    if (table->is_product) {
        if (!(table->is_full ? loo_log_share(table, slot, x, &logs) : loo_log_product(table, slot, x, &logs)))
            return 0;
        *score = table->loo_constant[slot + 1] + (table->exponent[slot + 1] - 1.0) * logs;
        return 1;
    }
    for (d = 0; d < D; d++)
        sum += scale[d] * (x[d] - centre[d]) * (x[d] - centre[d]);
    *score = table->loo_constant[slot + 1] - sum;
    return 1;
}

double score_leave_one_out(score_table *table, int64_t slot, int64_t i)
{
    double score;

    if (leave_one_out_in_closed_form(table, slot, table->x, &score))
        return score;
    return log_weight_of(table, slot, statistics_of(table, slot)[0] - 1.0, 1) +
           statistics_log_predictive(&table->likelihood, statistics_without(table, slot, i), table->x);
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
        if (k == slot) {
            memcpy(table->scratch_statistics, statistics, (size_t)table->statistics_size * sizeof *statistics);
            statistics = table->scratch_statistics;
            if (statistics_remove(&table->likelihood, statistics, table->x, w))
                statistics_prepare(&table->likelihood, statistics);
            else
                statistics = statistics_without(table, slot, i);
        }
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
