/* What each point adds to its cluster, beside the others: docs/maths.md (145). The twin of `left_out` in
 * mapdpm/backends/generic.py.
 */
#include "scores/mapdpm_scores.h"

/* The gain of the log marginal by point i, the current point. */
static double gain_by_point(score_table *table, int64_t i)
{
    const mapdpm_problem *const p = table->problem;
    const likelihood *const f = &table->likelihood;
    const int64_t slot = table->clusters->labels[i];
    const int alone = table->clusters->counts[slot] == 1;

    if (p->weights)
        return statistics_log_predictive_weighted(f, alone ? f->empty : statistics_left(table, slot, i), table->x,
                                                  weight(p, i));
    if (alone)
        return statistics_log_predictive(f, f->empty, table->x);
    return score_leave_one_out(table, slot, i) - log_weight_of(table, slot, statistics_of(table, slot)[0] - 1.0, 1);
}

int mapdpm_left_out(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *gains)
{
    score_table table;
    const int error = set_up_table(&table, problem, clusters, workspace);
    int64_t i;

    if (error != MAPDPM_OK)
        return error;
    if (gains == NULL || !are_labels_in_range(problem, clusters, 0))
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < problem->n_points; i++) {
        load_point(&table, i);
        gains[i] = gain_by_point(&table, i);
    }
    return MAPDPM_OK;
}
