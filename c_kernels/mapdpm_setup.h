/* The score table of a problem and its clusters, before any point moves. Internal to the batch sweep. */
#ifndef MAPDPM_SETUP_H
#define MAPDPM_SETUP_H

#include "mapdpm_score_table.h"

CLONES
static double largest_magnitude(const mapdpm_real *entries, int64_t n)
{
    mapdpm_real most[COLUMNS_PER_STEP] = {0};
    int64_t i, j;
    double result = 0.0;

    for (i = 0; i + COLUMNS_PER_STEP <= n; i += COLUMNS_PER_STEP)
        for (j = 0; j < COLUMNS_PER_STEP; j++) {
            const mapdpm_real size = entries[i + j] < 0 ? -entries[i + j] : entries[i + j];

            most[j] = most[j] > size ? most[j] : size;
        }
    for (; i < n; i++)
        result = fabs((double)entries[i]) > result ? fabs((double)entries[i]) : result;
    for (j = 0; j < COLUMNS_PER_STEP; j++)
        result = most[j] > result ? most[j] : result;
    return result;
}

/* Whether no product over MD_GROUP features can overflow: of g = 2 (c + 1) / c b_n and, if points will join, of squared
 * distances. The largest g would arise if all points lay as far from their mean as any two points can lie from each
 * other. */
static inline int products_fit(const score_table *table, int will_join)
{
    const likelihood *const f = &table->likelihood;
    double far = will_join ? largest_magnitude(table->problem->data, table->problem->n_points * f->D) : 0.0, most = 0.0;
    const double n = will_join ? (double)table->problem->n_points : 0.0;
    int64_t d, k;

    if (f->kind != MAPDPM_NORMAL_GAMMA)
        return 1;
    for (k = 0; k < table->clusters->capacity; k++)
        for (d = 0; d < f->D && table->clusters->counts[k] > 0; d++) {
            const double mean = diagonal_mean(statistics_of(table, k))[d];
            const double squares = diagonal_squares(statistics_of(table, k), f->D)[d];

            far = fabs(mean) > far ? fabs(mean) : far;
            most = squares > most ? squares : most;
        }
    for (d = 0; d < f->D; d++)
        far = fabs(f->m0[d]) > far ? fabs(f->m0[d]) : far;
    most += 4.0 * far * far * (n + f->c0 + 1.0);
    for (d = 0; d < f->D; d++)
        if (!(f->noise_scale[d] > 1.0 / LARGEST_FACTOR &&
              (2.0 + 2.0 / f->c0) * (f->noise_scale[d] + most) < LARGEST_FACTOR))
            return 0;
    return 1;
}

static inline size_t workspace_doubles(int32_t family, int64_t n_features, int64_t capacity)
{
    const int64_t D = features_with_columns(family, n_features), stride = round_up(capacity + 1, COLUMNS_PER_STEP);
    const int64_t of_full = is_full(family) ? n_features * (stride + 2 * MD_BLOCK) : 0;

    return (size_t)((2 * D + n_groups(D) + 11 + MD_BLOCK) * stride + of_full +
                    round_up(capacity * D, COLUMNS_PER_STEP) + (MD_BLOCK + 1) * round_up(n_features, COLUMNS_PER_STEP) +
                    statistics_size(family, n_features) + likelihood_doubles(family, n_features));
}

/* Divide the workspace, for a problem and a stride. */
static inline void lay_out(score_table *table, double *next)
{
    const mapdpm_problem *const p = table->problem;
    const int64_t D = table->n_wide;

    table->centre = next;
    table->scale = next += D * table->stride;
    table->norm = next += D * table->stride;
    table->constant = next += n_groups(D) * table->stride;
    table->exponent = next += table->stride;
    table->log_weight = next += table->stride;
    table->upper_constant = next += table->stride;
    table->rough_exponent = next += table->stride;
    table->loo_base = next += table->stride;
    table->loo_constant = next += table->stride;
    table->loo_lower_constant = next += table->stride;
    table->loo_share = next += table->stride;
    table->loo_exponent = next += table->stride;
    table->scores = next += table->stride;
    table->tails = next += table->stride;
    table->loo_scale = next += MD_BLOCK * table->stride;
    table->inverse = next += round_up(table->clusters->capacity * D, COLUMNS_PER_STEP);
    table->solved = next += table->is_full ? p->n_features * table->stride : 0;
    table->point_copies = next += table->is_full ? 2 * MD_BLOCK * p->n_features : 0;
    table->scratch = next += MD_BLOCK * round_up(p->n_features, COLUMNS_PER_STEP);
    table->scratch_statistics = next += round_up(p->n_features, COLUMNS_PER_STEP);
    next += table->statistics_size;
    table->likelihood = likelihood_of(p->family, p->n_features, p->parameters, next);
    next += likelihood_doubles(p->family, p->n_features);
    table->size_cache = (size_terms *)(void *)next;
    table->candidates = (int64_t *)(void *)(table->size_cache + SIZE_CACHE);
}

/* 1 / scale of prepared statistics. It only reads them: other threads may read them too. */
static inline const double *spread_of(const score_table *table, double *statistics)
{
    int64_t d;

    for (d = 0; d < table->n_wide; d++)
        table->scratch[d] = 1.0 / diagonal_scale(statistics, table->n_wide)[d];
    return table->scratch;
}

/* Set up the table for the first group, if the points have groups, or for the start of a sequence, if they have states.
 * will_join: whether points may join clusters. If not, the scores of a point must not depend on other points. */
static inline int set_up_sharing_table(score_table *table, const mapdpm_problem *p, const mapdpm_clusters *z,
                                       const mapdpm_groups *groups, const mapdpm_states *states, void *workspace,
                                       int will_join)
{
    int64_t k, d, column, used = 0;
    double *next;

    if (!is_batch_call(p, z) || workspace == NULL)
        return MAPDPM_E_ARGUMENT;
    next = (double *)(void *)((unsigned char *)workspace + (ALIGNMENT - (uintptr_t)workspace % ALIGNMENT) % ALIGNMENT);
    table->problem = p;
    table->clusters = z;
    table->groups = groups;
    table->states = states;
    table->group = 0;
    table->before = z->capacity;
    table->after = -1;
    table->end = p->n_points;
    table->is_full = is_full(p->family);
    table->n_wide = features_with_columns(p->family, p->n_features);
    table->is_product = table->is_full || p->family == MAPDPM_NORMAL_GAMMA;
    table->statistics_size = statistics_size(p->family, p->n_features);
    table->stride = round_up(z->capacity + 1, COLUMNS_PER_STEP);
    lay_out(table, next);
    for (k = 0; k < SIZE_CACHE; k++)
        table->size_cache[k].n = -1.0;

    table->has_tails = HAS_VECTORS && !p->weights && !is_skipping(p->family) && products_fit(table, will_join);
    table->log_weight[0] = 0.0;
    set_column(table, 0, table->likelihood.empty, spread_of(table, table->likelihood.empty));
    /* from centre to rough_exponent */
    for (d = 0; d < (2 * table->n_wide + n_groups(table->n_wide) + 5) * table->stride; d += table->stride)
        for (column = 1; column < table->stride; column++)
            table->centre[d + column] = table->centre[d];
    for (column = 1; column < table->stride; column++)
        table->log_weight[column] = table->upper_constant[column] = -INFINITY;
    for (column = 0; column < table->stride; column++) {
        table->loo_lower_constant[column] = -INFINITY;
        table->loo_share[column] = table->loo_exponent[column] = 0.0;
    }
    table->n_columns = 1;
    for (k = 0; k < z->capacity; k++)
        if (z->counts[k] > 0) {
            fill_column(table, k, spread_of(table, statistics_of(table, k)));
            used++;
        }
    find_free_slot(table);
    set_n_used(table, used);
    return MAPDPM_OK;
}

static inline int set_up_table(score_table *table, const mapdpm_problem *p, const mapdpm_clusters *z, void *workspace,
                               int will_join)
{
    return set_up_sharing_table(table, p, z, NULL, NULL, workspace, will_join);
}

#endif
