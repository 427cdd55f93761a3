/* The score table of a problem and its clusters, before any point moves. Internal to the batch sweep. */
#ifndef MAPDPM_SETUP_H
#define MAPDPM_SETUP_H

#include "scores/mapdpm_columns.h"

/* A part of the workspace, of n entries of so many bytes each, in whole cache lines. *used grows by it. */
static inline void *take(unsigned char *workspace, size_t *used, int64_t n, size_t bytes)
{
    const size_t first = *used;

    *used += ((size_t)n * bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return workspace ? workspace + first : NULL;
}

/* Divide a workspace among the arrays of a table, and return how many bytes they take. NULL only measures. */
static inline size_t lay_out(score_table *t, int32_t family, int64_t D, int64_t capacity, unsigned char *workspace)
{
    const int64_t wide = t->n_wide = features_with_columns(family, D), of_full = is_full(family) ? 1 : 0;
    const int64_t stride = t->stride = round_up(capacity + 1, COLUMNS_PER_LINE);
    const size_t number = sizeof(double);
    size_t used = 0;


    t->bounds = (float *)take(workspace, &used, stride * MD_POINTS, sizeof(float));
    t->lanes = (double *)take(workspace, &used, wide * MD_POINTS, number);
    t->rows = (mapdpm_real *)take(workspace, &used, wide * MD_POINTS, sizeof(mapdpm_real));
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
    t->point_copy = (double *)take(workspace, &used, D, number);
    t->scratch = (double *)take(workspace, &used, D, number);
    t->scratch_statistics = (double *)take(workspace, &used, statistics_size(family, D), number);
    t->size_cache = (size_terms *)take(workspace, &used, SIZE_CACHE, sizeof(size_terms));
    t->likelihood_room = (double *)take(workspace, &used, likelihood_doubles(family, D), number);
    return used;
}

/* A column that is not in use. */
static inline void clear_column(score_table *table, int64_t column)
{
    table->constant[column] = table->exponent[column] = table->log_error[column] = table->tail_error[column] = 0.0;
    table->upper[column] = table->slope[column] = 0.0f;
    set_log_weight(table, column, -INFINITY);
    forget_leave_one_out(table, column);
}

/* Set up the table for the first group, if the points have groups, or for the start of a sequence, if they have
 * states. */
static inline int set_up_sharing_table(score_table *table, const mapdpm_problem *p, const mapdpm_clusters *z,
                                       const mapdpm_groups *groups, const mapdpm_states *states, void *workspace)
{
    int64_t k, used = 0;

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
    table->statistics_size = statistics_size(p->family, p->n_features);
    (void)lay_out(table, p->family, p->n_features, z->capacity,
                  (unsigned char *)workspace + (ALIGNMENT - (uintptr_t)workspace % ALIGNMENT) % ALIGNMENT);
    table->likelihood = likelihood_of(p->family, p->n_features, p->parameters, table->likelihood_room);
    for (k = 0; k < SIZE_CACHE; k++)
        table->size_cache[k].n = -1.0;
    for (k = 0; k < table->stride; k++)
        clear_column(table, k);
    table->n_columns = 1;
    (void)set_column(table, 0, table->likelihood.empty, NULL);
    for (k = 0; k < z->capacity; k++)
        if (z->counts[k] > 0) {
            (void)fill_column(table, k, NULL); /* has no units yet, so spreads are not read */
            used++;
        }
    find_free_slot(table);
    set_n_used(table, used);
    table->has_bounds = 0;
    if (!p->weights && !is_skipping(p->family) && (HAS_VECTORS || !table->is_full))
        set_units(table);
    return MAPDPM_OK;
}

static inline int set_up_table(score_table *table, const mapdpm_problem *p, const mapdpm_clusters *z, void *workspace)
{
    return set_up_sharing_table(table, p, z, NULL, NULL, workspace);
}

#endif
