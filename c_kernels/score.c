/* Points against clusters that do not change: all scores, the best slot, the log density. The twin of
 * mapdpm/backends/generic.py. The results of a point do not depend on its neighbours in the data.
 */
#include "mapdpm_certain.h"
#include "mapdpm_setup.h"

/* Scores so many nats below the best do not change a density: exp(-45) times a thousand clusters is below half an
 * ulp. */
static const double NEGLIGIBLE_NATS = 45.0;

CLONES
static void log_all(double *restrict products, int64_t n)
{
    int64_t k;

    for (k = 0; k < n; k++)
        products[k] = log_positive(products[k]);
}

#if HAS_VECTORS

/* Every operation is rounded, as scores require. */
CLONES
static void exact_tails_of_block(const score_table *table)
{
    tails_of_block(table, round_up(table->n_columns, COLUMNS_PER_STEP), 1);
}

/* The scores of points i to i + 3 of Normal-Gamma data with all columns, in place of their tails. Returns the points
 * whose scores are valid, as bits: those whose products are finite. */
static unsigned score_block(score_table *table, int64_t i)
{
    const int64_t n_columns = round_up(table->n_columns, COLUMNS_PER_STEP);
    unsigned valid = 0;
    int64_t q, k;

    if (!table->has_tails || !table->is_product)
        return 0;
    load_block(table, i);
    exact_tails_of_block(table);
    for (q = 0; q < MD_BLOCK; q++) {
        double *const scores = table->tails + q * table->stride;
        int64_t too_large = 0;

        for (k = 0; k < n_columns; k++)
            too_large += !(scores[k] < 1e300);
        log_all(scores, n_columns);
        for (k = 0; k < n_columns; k++)
            scores[k] = table->constant[k] + table->log_weight[k] - table->exponent[k] * scores[k];
        valid |= (unsigned)(too_large == 0) << q;
    }
    return valid;
}

#else

static unsigned score_block(score_table *table, int64_t i)
{
    (void)table;
    (void)i;
    return 0;
}

#endif

/* A product of many factors near 1 is off by as many roundings, and a large cluster multiplies its logarithm by half
 * its size. Large clusters within NEGLIGIBLE_NATS of the best matter, so they are scored one by one. */
static void rescore_large(score_table *table, double *scores)
{
    double best = -INFINITY;
    int64_t k;

    for (k = 0; k < table->n_columns; k++)
        best = scores[k] > best ? scores[k] : best;
    for (k = 0; k < table->n_columns; k++)
        if (scores[k] >= best - NEGLIGIBLE_NATS && is_large(table, table->exponent[k]))
            scores[k] = score_column(table, k, table->x);
}

static double log_normaliser_of(const score_table *table)
{
    double total = 0.0;
    int64_t k;

    for (k = 0; k < table->clusters->capacity; k++)
        total += table->clusters->counts[k] > 0 ? statistics_of(table, k)[0] : 0.0;
    return log_normaliser(table->problem, total);
}

int mapdpm_score(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *scores)
{
    score_table table;
    const int error = set_up_table(&table, problem, clusters, workspace, 0);
    double normaliser, exponent = 0.0;
    int64_t i, k;
    unsigned valid = 0;

    if (error != MAPDPM_OK || scores == NULL)
        return error != MAPDPM_OK ? error : MAPDPM_E_ARGUMENT;
    for (k = 1; k < table.n_columns; k++)
        exponent = table.exponent[k] > exponent ? table.exponent[k] : exponent;
    normaliser = log_normaliser_of(&table);
    for (i = 0; i < problem->n_points; i++) {
        double *const out = scores + i * clusters->capacity, *from = table.scores;

        load_point(&table, i);
        if (i % MD_BLOCK == 0)
            valid = score_block(&table, i);
        if (valid >> i % MD_BLOCK & 1) {
            from = table.tails + i % MD_BLOCK * table.stride;
            if (is_large(&table, exponent))
                rescore_large(&table, from);
        } else {
            (void)score_unweighted(&table, i, -1);
        }
        for (k = 0; k < clusters->capacity; k++)
            out[k] = k + 1 < table.n_columns ? from[k + 1] + normaliser : -INFINITY;
        if (table.free_slot >= 0)
            out[table.free_slot] = from[0] + normaliser;
    }
    return MAPDPM_OK;
}

/* The candidates of point i + q of the current block. */
static int64_t candidates_of_point(score_table *table, int64_t i, int64_t q, double band)
{
    table->x = table->block + q * table->likelihood.D;
    return score_candidates(table, i + q, -1, table->has_tails ? table->tails + q * table->stride : NULL, band);
}

static void load_and_bound_block(score_table *table, int64_t i)
{
    load_block(table, i);
    if (table->has_tails)
        compute_tails(table, MD_BLOCK);
}

int mapdpm_best_slots(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_open,
                      int64_t *slots)
{
    score_table table;
    const int error = set_up_table(&table, problem, clusters, workspace, 1);
    int64_t i, q, column;

    if (error != MAPDPM_OK || slots == NULL)
        return error != MAPDPM_OK ? error : MAPDPM_E_ARGUMENT;
    if (!may_open)
        table.free_slot = -1;
    for (i = 0; i < problem->n_points; i += MD_BLOCK) {
        load_and_bound_block(&table, i);
        for (q = 0; q < MD_BLOCK && i + q < problem->n_points; q++) {
            column = best_column(&table, candidates_of_point(&table, i, q, 0.0), table.free_slot >= 0, -1);
            slots[i + q] = column == 0 ? table.free_slot : column - 1;
        }
    }
    return MAPDPM_OK;
}

int mapdpm_log_densities(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                         double *log_densities)
{
    score_table table;
    const int error = set_up_table(&table, problem, clusters, workspace, 1);
    double normaliser;
    int64_t i, q, j;

    if (error != MAPDPM_OK || log_densities == NULL)
        return error != MAPDPM_OK ? error : MAPDPM_E_ARGUMENT;
    normaliser = log_normaliser_of(&table);
    for (i = 0; i < problem->n_points; i += MD_BLOCK) {
        load_and_bound_block(&table, i);
        for (q = 0; q < MD_BLOCK && i + q < problem->n_points; q++) {
            const int64_t n = candidates_of_point(&table, i, q, NEGLIGIBLE_NATS);
            double best = -INFINITY, sum = 0.0;

            for (j = 0; j < n; j++)
                best = table.scores[table.candidates[j]] > best ? table.scores[table.candidates[j]] : best;
            for (j = 0; j < n; j++)
                if (table.scores[table.candidates[j]] >= best - NEGLIGIBLE_NATS)
                    sum += exp(table.scores[table.candidates[j]] - best);
            log_densities[i + q] = best + log(sum) + normaliser;
        }
    }
    return MAPDPM_OK;
}
