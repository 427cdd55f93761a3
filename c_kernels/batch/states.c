/* Sweeps over the states of sequences, for the partition prior of an HDP-HMM. The twin of mapdpm/backends/states.py. */
#include "scores/mapdpm_scores.h"

/* What the weights of columns depend on, while no point moves. */
typedef struct context {
    int64_t slot; /* of the point, or -1 */
    int64_t before;
    int64_t after;
    int is_known;
} context;

/* Give the columns the weights between the rows around the current point, which was in a slot, or -1, and is not counted
 * there now. A run of points in one state asks for the same weights again and again. */
static void set_rows_around(score_table *table, context *last, int64_t slot, int64_t before, int64_t after)
{
    if (last->is_known && last->slot == slot && last->before == before && last->after == after)
        return;
    table->before = last->before = before;
    table->after = last->after = after;
    last->slot = slot;
    last->is_known = 1;
    set_log_weights(table);
}

/* Put lane q of the batch into its best slot. Returns whether it moved. */
CLONES
static int visit_state(score_table *table, const mapdpm_states *s, context *last, int64_t q)
{
    const int64_t i = point_of_lane(table, q);
    const mapdpm_clusters *const z = table->clusters;
    const int64_t capacity = z->capacity, slot = z->labels[i], next = s->following[i];
    const int64_t v = s->previous[i] < 0 ? capacity : z->labels[s->previous[i]], w = next < 0 ? -1 : z->labels[next];
    const int alone = slot >= 0 && z->counts[slot] == 1;
    const double share = slot >= 0 ? s->weights[slot] : 0.0, rest = s->weights[capacity];
    const int64_t stay = alone ? 0 : slot >= 0 ? slot + 1 : -1;
    int64_t n, column, to;

    if (slot >= 0)
        count_step(s, capacity, v, slot, w, -1);
    if (alone) {
        s->weights[capacity] += share;
        s->weights[slot] = 0.0;
    }
    set_rows_around(table, last, slot, v, w);
    load_point(table, i);
    n = score_candidates(table, i, slot, q, 0.0);
    column = best_column(table, n, alone || table->free_slot >= 0, stay);
    if (slot >= 0 && column == stay) {
        s->weights[capacity] = rest;
        s->weights[slot] = share;
        count_step(s, capacity, v, slot, w, 1);
        return 0;
    }
    if (slot >= 0)
        leave_slot(table, i);
    to = column == 0 ? table->free_slot : column - 1;
    if (z->counts[to] == 0) {
        s->weights[to] = s->weights[capacity] * s->new_share;
        s->weights[capacity] -= s->weights[to];
    }
    join_slot(table, i, to);
    count_step(s, capacity, v, to, w, 1);
    last->is_known = 0;
    (void)bound_batch_after_move(table, q, slot + 1, to + 1, 0);
    return 1;
}

int mapdpm_visit_states(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_states *states,
                        void *workspace, const int64_t *order, int64_t n_order, int may_grow, int64_t *position,
                        int64_t *moved)
{
    score_table table;
    context last = {-1, -1, -1, 0};
    int64_t valid, q = 0;
    int error;

    if (!is_batch_call(problem, clusters) || problem->weights || !are_states(states, problem) ||
        !are_labels_in_range(problem, clusters, -1) || order == NULL || position == NULL || moved == NULL)
        return MAPDPM_E_ARGUMENT;
    error = set_up_sharing_table(&table, problem, clusters, NULL, states, workspace);
    if (error != MAPDPM_OK)
        return error;
    for (valid = *position; valid < n_order && order[valid] >= 0 && order[valid] < problem->n_points; valid++)
        ;
    for (table.n_batch = 0; *position < valid; ++*position, q++) {
        const int64_t i = order[*position];

        if (states->previous[i] >= 0 && clusters->labels[states->previous[i]] < 0)
            return MAPDPM_E_ARGUMENT;
        if (table.free_slot < 0 && may_grow)
            return MAPDPM_OK;
        if (q == table.n_batch) {
            load_batch(&table, order, *position, valid);
            bound_all_columns(&table);
            q = 0;
        }
        *moved += visit_state(&table, states, &last, q);
    }
    return valid == n_order ? MAPDPM_OK : MAPDPM_E_ARGUMENT;
}
