/* The score table of a problem and its clusters, before any point moves; and moving points. */
#include "scores/mapdpm_scores.h"

/* A part of the workspace, of n entries of so many bytes each, in whole cache lines. *used grows by it. */
static void *take(unsigned char *workspace, size_t *used, int64_t n, size_t bytes)
{
    const size_t first = *used;

    *used += ((size_t)n * bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return workspace ? workspace + first : NULL;
}

/* Divide a workspace among the arrays of a table, and return how many bytes they take. NULL only measures. */
static size_t lay_out(score_table *t, const mapdpm_problem *p, int64_t capacity, unsigned char *workspace)
{
    const int64_t D = p->n_features, wide = t->n_wide = features_with_columns(p), of_full = is_full(p->family) ? 1 : 0;
    const int64_t factors = features_in_lanes(p);
    const int64_t stride = t->stride = round_up(capacity + 1, COLUMNS_PER_LINE);
    const size_t number = sizeof(double);
    size_t used = 0;

    t->bounds = (float *)take(workspace, &used, stride * MD_POINTS, sizeof(float));
    t->lanes = (double *)take(workspace, &used, (wide + factors) * MD_POINTS, number);
    t->rows = (mapdpm_real *)take(workspace, &used, (wide + factors) * MD_POINTS, sizeof(mapdpm_real));
    t->lane_rows = (double *)take(workspace, &used, stride * lane_row_size(wide), number);
    t->origin = (double *)take(workspace, &used, wide, number);
    t->unit = (double *)take(workspace, &used, wide, number);
    t->per_unit = (double *)take(workspace, &used, wide, number);
    t->square = (double *)take(workspace, &used, wide, number);
    t->per_square = (double *)take(workspace, &used, wide, number);
    t->upper = (float *)take(workspace, &used, stride, sizeof(float));
    t->slope = (float *)take(workspace, &used, stride, sizeof(float));
    t->weight = (float *)take(workspace, &used, stride, sizeof(float));
    t->own = (own_bound *)take(workspace, &used, stride, sizeof(own_bound));
    t->own_tail = (float *)take(workspace, &used, MD_POINTS, sizeof(float));
    t->least = (float *)take(workspace, &used, MD_POINTS, sizeof(float));
    t->own_column = (int32_t *)take(workspace, &used, MD_POINTS, sizeof(int32_t));
    t->inverse = (double *)take(workspace, &used, of_full * stride * D, number);
    t->solved = (double *)take(workspace, &used, of_full * 2 * MD_BLOCK * D, number);
    t->constant = (double *)take(workspace, &used, stride, number);
    t->exponent = (double *)take(workspace, &used, stride, number);
    t->log_weight = (double *)take(workspace, &used, stride, number);
    t->log_error = (double *)take(workspace, &used, stride, number);
    t->tail_error = (double *)take(workspace, &used, stride, number);
    t->loo_base = (double *)take(workspace, &used, stride, number);
    t->loo_constant = (double *)take(workspace, &used, stride, number);
    t->loo_share = (double *)take(workspace, &used, stride, number);
    t->loo_exponent = (double *)take(workspace, &used, stride, number);
    t->scores = (double *)take(workspace, &used, stride, number);
    t->exact_rows = (double *)take(workspace, &used, stride * 2 * round_up(wide, 4), number);
    t->exact_points = (double *)take(workspace, &used, MD_POINTS * round_up(wide, 4), number);
    t->group_points = (double *)take(workspace, &used, MD_SCORED * round_up(wide, 4), number);
    t->group_scores = (double *)take(workspace, &used, stride * MD_SCORED, number);
    t->loo_scale = (double *)take(workspace, &used, capacity * wide, number);
    t->candidates = (int64_t *)take(workspace, &used, stride, sizeof(int64_t));
    t->point_copy = (double *)take(workspace, &used, point_size(p), number);
    t->scratch = (double *)take(workspace, &used, point_size(p), number);
    t->scratch_statistics = (double *)take(workspace, &used, statistics_size(p), number);
    t->size_cache = (size_terms *)take(workspace, &used, SIZE_CACHE, sizeof(size_terms));
    t->likelihood_room = (double *)take(workspace, &used, likelihood_doubles(p), number);
    return used;
}

size_t table_bytes(const mapdpm_problem *p, int64_t capacity)
{
    score_table table;

    return lay_out(&table, p, capacity, NULL);
}

int set_up_sharing_table(score_table *table, const mapdpm_problem *p, const mapdpm_clusters *z,
                         const mapdpm_groups *groups, const mapdpm_states *states, void *workspace)
{
    if (!is_batch_call(p, z) || workspace == NULL)
        return MAPDPM_E_ARGUMENT;
    table->problem = p;
    table->clusters = z;
    table->groups = groups;
    table->states = states;
    table->group = 0;
    table->before = z->capacity;
    table->after = -1;
    table->end = p->n_points;
    table->is_full = is_full(p->family);
    table->is_product = table->is_full || p->family == MAPDPM_NORMAL_GAMMA;
    table->has_units = table->in_double = table->is_start = 0;
    table->statistics_size = statistics_size(p);
    (void)lay_out(table, p, z->capacity,
                  (unsigned char *)workspace + (ALIGNMENT - (uintptr_t)workspace % ALIGNMENT) % ALIGNMENT);
    table->likelihood = likelihood_of(p, table->likelihood_room);
    fill_columns(table);
    return MAPDPM_OK;
}

int set_up_table(score_table *table, const mapdpm_problem *p, const mapdpm_clusters *z, void *workspace)
{
    return set_up_sharing_table(table, p, z, NULL, NULL, workspace);
}

/* ---- moving points ---------------------------------------------------------------------------------------------- */

/* Count one point of the current group more or less in a slot, which is empty before or after. A new cluster takes its
 * shares of the rest, an emptied slot gives them back. */
static void count_in_group(const score_table *table, int64_t slot, int64_t change)
{
    const mapdpm_groups *const g = table->groups;
    const int64_t capacity = table->clusters->capacity;

    g->table[table->group * capacity + slot] += change;
    if (table->clusters->counts[slot] > 0)
        return;
    if (change > 0)
        take_weights(g, capacity, table->group, slot);
    else
        give_weights_back(g, capacity, slot);
}

CLONES
void join_slot(score_table *table, int64_t i, int64_t slot)
{
    const mapdpm_clusters *const z = table->clusters;

    if (table->groups)
        count_in_group(table, slot, 1);
    z->labels[i] = slot;
    statistics_add(&table->likelihood, statistics_of(table, slot), table->x, weight(table->problem, i));
    if (z->counts[slot]++ == 0)
        set_n_used(table, table->n_used + 1);
    refresh_column(table, slot);
}

CLONES
void leave_slot(score_table *table, int64_t i)
{
    const mapdpm_clusters *const z = table->clusters;
    const int64_t slot = z->labels[i];

    z->labels[i] = -1;
    z->counts[slot]--;
    if (table->groups)
        count_in_group(table, slot, -1);
    if (z->counts[slot] == 0)
        set_n_used(table, table->n_used - 1);
    else if (!statistics_remove(&table->likelihood, statistics_of(table, slot), table->x, weight(table->problem, i)))
        memcpy(statistics_of(table, slot), statistics_without(table, slot, i),
               (size_t)table->statistics_size * sizeof(double));
    refresh_column(table, slot);
}
