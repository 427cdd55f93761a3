/* The score of a point with its own cluster is leave-one-out, as if the point were not in it: in closed form from the
 * full statistics or, where that cancels, from statistics made without the point. Verbs have such a form where the family
 * has log_predictive_without; else the point is taken out of a copy.
 */
#include "scores/mapdpm_scores.h"

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
               (size_t)table->likelihood.n_sufficient * sizeof *statistics);
    for (first = 0; first < N; first += 8) {
        const int64_t last = first + 8 < N ? first + 8 : N;
        int64_t there = last < first + 8;

        for (j = 0; j < 8 && last == first + 8; j++)
            there |= labels[first + j] == slot;
        for (j = first; j < last && there; j++)
            if (labels[j] == slot && j != i)
                statistics_add(&table->likelihood, statistics, point_of(table->problem, j, table->scratch),
                               weight(table->problem, j));
    }
    statistics_prepare(&table->likelihood, statistics);
    return statistics;
}

double *statistics_left(score_table *table, int64_t slot, int64_t i)
{
    double *const statistics = table->scratch_statistics;

    memcpy(statistics, statistics_of(table, slot), (size_t)table->statistics_size * sizeof *statistics);
    if (!statistics_remove(&table->likelihood, statistics, table->x, weight(table->problem, i)))
        return statistics_without(table, slot, i);
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

/* How much the scale of a leave-one-out score grows without the cell of the point, and the logarithm of the share of b_n
 * that is left without it: docs/maths.md (152). */
static double growth_without_cell(double cell, double c, double scale, double *log_share)
{
    const double b = 0.5 * c / ((c + 1.0) * scale); /* with half a cell more than b_n */

    *log_share = log1p_of(-0.5 * cell / (b - 0.5 * cell));
    return b / (b - cell);
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
        const double scale = entries_of(row, D, FEATURE_SCALE)[d];
        double lost = (c + 1.0) / (c - 1.0) * scale * t * t, log_share = 0.0;

        if (f->resolution)
            lost *= growth_without_cell(cell_of(f, d), c, scale, &log_share);
        if (!(1.0 - lost >= LEAST_SHARE_LEFT))
            return 0;
        *score = size_terms_of(table, n - 1.0)->log_constant - 0.5 * entries_of(row, D, FEATURE_LOG_SCALE)[d] +
                 (entries_of(row, D, FEATURE_EXPONENT)[d] - 1.0) * (log1p_of(-lost) + log_share);
    } else {
        const double prior = f->prior_variance[d];
        const double variance = noise * ((noise + n * prior) / (noise + (n - 1.0) * prior));

        *score = -0.5 * (LOG_2PI + log_positive(variance) + variance / (noise * noise) * t * t);
        if (f->resolution)
            *score -= 0.5 * cell_of(f, d) / noise;
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

ALWAYS_INLINE int in_closed_form(const score_table *table, int64_t slot, const double *x, double *score)
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

CLONES
int leave_one_out_in_closed_form(const score_table *table, int64_t slot, const double *x, double *score)
{
    return in_closed_form(table, slot, x, score);
}

CLONES
double score_leave_one_out(score_table *table, int64_t slot, int64_t i)
{
    double score, *statistics;

    if (!table->likelihood.verbs && in_closed_form(table, slot, table->x, &score))
        return score;
    score = log_weight_of(table, slot, statistics_of(table, slot)[0] - 1.0, 1);
    if (table->likelihood.verbs && table->likelihood.verbs->log_predictive_without) {
        const double gain =
            table->likelihood.verbs->log_predictive_without(table->likelihood.view, statistics_of(table, slot), table->x);

        if (gain == gain)
            return score + gain;
    }
    statistics = table->likelihood.verbs ? statistics_left(table, slot, i) : statistics_without(table, slot, i);
    return score + statistics_log_predictive(&table->likelihood, statistics, table->x);
}
