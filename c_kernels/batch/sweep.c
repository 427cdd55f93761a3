/* The sweep of MAP-DPM on a desktop. It takes a batch of points at a time and compares them with the score table
 * (mapdpm_score_table.h); only columns that may have the best score are scored exactly (bounds.c). The twin of
 * mapdpm/backends/generic.py.
 */
#include "scores/mapdpm_scores.h"

int64_t mapdpm_row_size(const mapdpm_problem *problem)
{
    return has_sizes(problem) ? statistics_size(problem) : 0;
}

size_t mapdpm_workspace_bytes(const mapdpm_problem *problem, int64_t capacity)
{
    if (!has_sizes(problem) || capacity < 1)
        return 0;
    return ALIGNMENT + table_bytes(problem, capacity);
}

/* Score lane q of the batch as far as its bounds leave the result open, and put it where it belongs. Returns the slot
 * that it left, or -1 if it stays. */
CLONES
static int64_t visit(score_table *table, int64_t q)
{
    const int64_t i = point_of_lane(table, q), slot = table->clusters->labels[i];
    const int alone = table->clusters->counts[slot] == 1;
    /* A point that was alone stays by opening a cluster. It keeps its own slot, even if a lower one is free. */
    const int64_t stay = alone ? 0 : slot + 1;
    int64_t n, column;

    load_point(table, i);
    n = score_candidates(table, i, slot, q, 0.0);
    column = best_column(table, n, alone || table->free_slot >= 0, stay);
    if (column == stay)
        return -1;
    leave_slot(table, i);
    join_slot(table, i, column == 0 ? table->free_slot : column - 1);
    return slot;
}

/* Visit the points of the batch that are not certain to stay. It ends early at a point for which there may be no free
 * slot. Returns the number of points passed; adds to *moved. */
static int64_t visit_batch(score_table *table, uint32_t certain, int may_grow, int64_t *moved)
{
    uint32_t open = ~certain & lanes_in_use(table);

    while (open != 0) {
        const int q = lowest_bit(open);
        int64_t from;

        if (table->free_slot < 0 && may_grow)
            return q;
        open &= open - 1;
        from = visit(table, q);
        if (from < 0)
            continue;
        ++*moved;
        certain = bound_batch_after_move(table, q, from + 1, slot_of_lane(table, q) + 1, certain);
        open = ~certain & lanes_in_use(table) & ~((UINT32_C(2) << q) - 1);
    }
    return table->n_batch;
}

/* Visit the points from *position to the end of the run. Returns 0 if it ends early, as there may be no free slot. */
static int sweep_run(score_table *table, int may_grow, int64_t *position, int64_t *moved)
{
    while (*position < table->end) {
        int64_t passed;

        load_batch(table, NULL, *position, table->end);
        passed = visit_batch(table, bound_batch(table), may_grow, moved);
        *position += passed;
        if (passed < table->n_batch)
            return 0;
    }
    return 1;
}

/* The slot at which the cumulated shares of exp(score) exceed u, in the order of slots. */
static int64_t draw_slot(const score_table *table, double u)
{
    const int64_t capacity = table->clusters->capacity;
    double best = table->free_slot >= 0 ? table->scores[0] : -INFINITY, total = 0.0;
    int64_t k, last = 0;

    for (k = 1; k < table->n_columns; k++)
        best = table->scores[k] > best ? table->scores[k] : best;
    for (k = 0; k < capacity; k++) {
        const double score = k == table->free_slot      ? table->scores[0]
                             : k + 1 < table->n_columns ? table->scores[k + 1]
                                                        : -INFINITY;

        total += exp(score - best);
    }
    u *= total;
    for (k = 0; k < capacity; k++) {
        const double score = k == table->free_slot      ? table->scores[0]
                             : k + 1 < table->n_columns ? table->scores[k + 1]
                                                        : -INFINITY;
        const double share = exp(score - best);

        if (share > 0.0) {
            last = k;
            u -= share;
            if (u < 0.0)
                break;
        }
    }
    return last;
}

/* Assign the points of an order; see mapdpm_sequential_start. */
static void assign_in_order(score_table *table, const int64_t *order, int64_t n_order, int may_grow, int64_t *position)
{
    int64_t q = 0, column;

    table->is_start = 1;
    for (table->n_batch = 0; *position < n_order; ++*position, q++) {
        const int64_t i = order[*position];

        if (table->free_slot < 0 && may_grow)
            return;
        if (table->groups)
            set_group(table, table->groups->of_points[i]);
        if (q == table->n_batch) {
            load_points(table, order, *position, n_order);
            bound_all_columns(table);
            q = 0;
        }
        load_point(table, i);
        column = best_column(table, score_candidates(table, i, -1, q, 0.0), table->free_slot >= 0, -1);
        join_slot(table, i, column == 0 ? table->free_slot : column - 1);
        (void)bound_batch_after_move(table, q, 0, table->clusters->labels[i] + 1, 0);
    }
}

/* Redraw the slots of all points; see mapdpm_gibbs_sweep. */
static void draw_all(score_table *table, const double *uniforms)
{
    int64_t i;

    for (i = 0; i < table->problem->n_points; i++) {
        if (table->groups)
            set_group(table, table->groups->of_points[i]);
        load_point(table, i);
        leave_slot(table, i);
        (void)score_all(table, i, -1);
        join_slot(table, i, draw_slot(table, uniforms[i]));
    }
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

int mapdpm_sequential_start(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                            const int64_t *order, int64_t n_order, int may_grow, int64_t *position)
{
    score_table table;
    const int error = set_up_table(&table, problem, clusters, workspace);

    if (error != MAPDPM_OK)
        return error;
    if (order == NULL || position == NULL || !are_labels_in_range(problem, clusters, -1))
        return MAPDPM_E_ARGUMENT;
    assign_in_order(&table, order, n_order, may_grow, position);
    return MAPDPM_OK;
}

int mapdpm_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_grow,
                 int64_t *position, int64_t *moved)
{
    score_table table;
    const int error = set_up_table(&table, problem, clusters, workspace);

    if (error != MAPDPM_OK)
        return error;
    if (position == NULL || moved == NULL || !are_labels_in_range(problem, clusters, 0))
        return MAPDPM_E_ARGUMENT;
    (void)sweep_run(&table, may_grow, position, moved);
    return MAPDPM_OK;
}

int mapdpm_gibbs_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                       const double *uniforms)
{
    score_table table;
    const int error = set_up_table(&table, problem, clusters, workspace);

    if (error != MAPDPM_OK)
        return error;
    if (uniforms == NULL || !are_labels_in_range(problem, clusters, 0))
        return MAPDPM_E_ARGUMENT;
    draw_all(&table, uniforms);
    return MAPDPM_OK;
}

/* Set up the table for points in groups, and check the groups. */
static int set_up_groups(score_table *table, const mapdpm_problem *problem, const mapdpm_clusters *clusters,
                         const mapdpm_groups *groups, void *workspace, int64_t least_label)
{
    int64_t i;

    if (!is_batch_call(problem, clusters) || !are_groups(groups) || problem->weights || groups->of_points == NULL ||
        !are_labels_in_range(problem, clusters, least_label))
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < problem->n_points; i++)
        if (groups->of_points[i] < 0 || groups->of_points[i] >= groups->n_groups)
            return MAPDPM_E_ARGUMENT;
    return set_up_sharing_table(table, problem, clusters, groups, NULL, workspace);
}

int mapdpm_grouped_start(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_groups *groups,
                         void *workspace, const int64_t *order, int64_t n_order, int may_grow, int64_t *position)
{
    score_table table;
    const int error = set_up_groups(&table, problem, clusters, groups, workspace, -1);

    if (error != MAPDPM_OK)
        return error;
    if (order == NULL || position == NULL)
        return MAPDPM_E_ARGUMENT;
    assign_in_order(&table, order, n_order, may_grow, position);
    return MAPDPM_OK;
}

int mapdpm_grouped_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_groups *groups,
                         void *workspace, int may_grow, int64_t *position, int64_t *moved)
{
    score_table table;
    const int error = set_up_groups(&table, problem, clusters, groups, workspace, 0);

    if (error != MAPDPM_OK)
        return error;
    if (position == NULL || moved == NULL)
        return MAPDPM_E_ARGUMENT;
    do {
        const int64_t group = *position < problem->n_points ? groups->of_points[*position] : 0;

        for (table.end = *position; table.end < problem->n_points && groups->of_points[table.end] == group; table.end++)
            ;
        set_group(&table, group);
    } while (*position < problem->n_points && sweep_run(&table, may_grow, position, moved));
    return MAPDPM_OK;
}

int mapdpm_grouped_gibbs_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters,
                               const mapdpm_groups *groups, void *workspace, const double *uniforms)
{
    score_table table;
    const int error = set_up_groups(&table, problem, clusters, groups, workspace, 0);

    if (error != MAPDPM_OK)
        return error;
    if (uniforms == NULL)
        return MAPDPM_E_ARGUMENT;
    draw_all(&table, uniforms);
    return MAPDPM_OK;
}

/* Add all points, or those of one slot, to the statistics of their slots, which are clear. `room` is for a point. */
CLONES
static void add_points(const mapdpm_problem *problem, const mapdpm_clusters *z, const likelihood *f, int64_t only,
                       double *room)
{
    const int64_t size = f->size;
    int64_t i;

    for (i = 0; i < problem->n_points; i++) {
        if (z->labels[i] < 0 || (only >= 0 && z->labels[i] != only))
            continue;
        statistics_add(f, z->rows + z->labels[i] * size, point_of(problem, i, room), weight(problem, i));
    }
}

/* The same for full covariance matrices, by sums of squares about the means. */
CLONES
static void add_points_to_full(const mapdpm_problem *problem, const mapdpm_clusters *z, const likelihood *f, double *x)
{
    const int64_t size = full_size(f->D);
    int64_t i, k;

    for (k = 0; k < z->capacity; k++)
        if (z->counts[k] > 0)
            memset(z->rows + k * size, 0, (size_t)full_sufficient(f->D) * sizeof *x);
    for (i = 0; i < problem->n_points; i++) {
        if (z->labels[i] < 0)
            continue;
        to_double(problem->data + i * f->D, x, f->D);
        full_add_mean(f, z->rows + z->labels[i] * size, x, weight(problem, i));
    }
    for (i = 0; i < problem->n_points; i++) {
        if (z->labels[i] < 0)
            continue;
        to_double(problem->data + i * f->D, x, f->D);
        full_add_square(f, z->rows + z->labels[i] * size, x, weight(problem, i));
    }
    for (k = 0; k < z->capacity; k++)
        if (z->counts[k] > 0 && !full_factorise_sums(f, z->rows + k * size)) {
            statistics_clear(f, z->rows + k * size);
            add_points(problem, z, f, k, x);
        }
}

int mapdpm_statistics(const mapdpm_problem *problem, const mapdpm_clusters *z, void *workspace)
{
    double *const x = (double *)workspace;
    int64_t i, k, size;
    likelihood f;

    if (!is_batch_call(problem, z) || x == NULL || !are_labels_in_range(problem, z, -1))
        return MAPDPM_E_ARGUMENT;
    f = likelihood_of(problem, x + point_size(problem));
    size = f.size;
    for (k = 0; k < z->capacity; k++) {
        z->counts[k] = 0;
        statistics_clear(&f, z->rows + k * size);
    }
    for (i = 0; i < problem->n_points; i++)
        if (z->labels[i] >= 0)
            z->counts[z->labels[i]]++;
    if (is_full(f.kind))
        add_points_to_full(problem, z, &f, x);
    else
        add_points(problem, z, &f, -1, x);
    for (k = 0; k < z->capacity; k++)
        if (z->counts[k] > 0)
            statistics_prepare(&f, z->rows + k * size);
    return MAPDPM_OK;
}

int mapdpm_settle(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int64_t most)
{
    int64_t position, moved = 1;
    int error = mapdpm_statistics(problem, clusters, workspace);

    for (; error == MAPDPM_OK && moved > 0 && most > 0; most--) {
        position = moved = 0;
        error = mapdpm_sweep(problem, clusters, workspace, 0, &position, &moved);
    }
    return error;
}

int mapdpm_log_marginals(const mapdpm_problem *problem, const mapdpm_clusters *z, void *workspace,
                         double *log_marginals)
{
    int64_t k, size;
    likelihood f;

    if (!is_batch_call(problem, z) || workspace == NULL || log_marginals == NULL)
        return MAPDPM_E_ARGUMENT;
    f = likelihood_of(problem, (double *)workspace);
    size = f.size;
    for (k = 0; k < z->capacity; k++)
        log_marginals[k] = z->counts[k] > 0 ? statistics_log_marginal(&f, z->rows + k * size) : 0.0;
    return MAPDPM_OK;
}
