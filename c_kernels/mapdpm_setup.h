/* Columns of a problem and its clusters, as they are before anybody moves. Internal to the batch sweep. */
#ifndef MAPDPM_SETUP_H
#define MAPDPM_SETUP_H

#include "mapdpm_columns.h"

CLONES
static double farthest(const mapdpm_real *entries, int64_t n)
{
    mapdpm_real most[LANES] = {0};
    int64_t i, j;
    double result = 0.0;

    for (i = 0; i + LANES <= n; i += LANES)
        for (j = 0; j < LANES; j++) {
            const mapdpm_real size = entries[i + j] < 0 ? -entries[i + j] : entries[i + j];

            most[j] = most[j] > size ? most[j] : size;
        }
    for (; i < n; i++)
        result = fabs((double)entries[i]) > result ? fabs((double)entries[i]) : result;
    for (j = 0; j < LANES; j++)
        result = most[j] > result ? most[j] : result;
    return result;
}

/* Whether no product over GROUP features can overflow: of g = 2 (c + 1) / c b_n, and, where points will join, of squared
 * distances; g then is at most what it were if all points lay as far from their mean as any two lie from each other. */
static inline int is_near(const columns *c, int will_join)
{
    const row_family *const f = &c->family;
    double far = will_join ? farthest(c->problem->data, c->problem->n_points * f->D) : 0.0, most = 0.0;
    const double n = will_join ? (double)c->problem->n_points : 0.0;
    int64_t d, k;

    if (f->kind != MAPDPM_NORMAL_GAMMA)
        return 1;
    for (k = 0; k < c->clusters->capacity; k++)
        for (d = 0; d < f->D && c->clusters->counts[k] > 0; d++) {
            const double mean = row_mean(row(c, k))[d], squares = row_squares(row(c, k), f->D)[d];

            far = fabs(mean) > far ? fabs(mean) : far;
            most = squares > most ? squares : most;
        }
    for (d = 0; d < f->D; d++)
        far = fabs(f->m0[d]) > far ? fabs(f->m0[d]) : far;
    most += 4.0 * far * far * (n + f->c0 + 1.0);
    for (d = 0; d < f->D; d++)
        if (!(f->floor[d] > 1.0 / FAR && (2.0 + 2.0 / f->c0) * (f->floor[d] + most) < FAR))
            return 0;
    return 1;
}

static inline size_t doubles(int64_t n_features, int64_t capacity)
{
    const int64_t D = n_features, stride = padded(capacity + 1, LANES);

    return (size_t)((2 * D + groups(D) + 10 + FOUR) * stride + padded(capacity * D, LANES) +
                    (FOUR + 1) * padded(D, LANES) + 2 * row_size(D));
}

/* Where everything lies, for a family and a stride. */
static inline void lay_out(columns *c, double *next)
{
    const int64_t D = c->family.D;

    c->centre = next;
    c->scale = next += D * c->stride;
    c->norm = next += D * c->stride;
    c->constant = next += groups(D) * c->stride;
    c->exponent = next += c->stride;
    c->log_size = next += c->stride;
    c->top = next += c->stride;
    c->steepness = next += c->stride;
    c->own_constant = next += c->stride;
    c->own_top = next += c->stride;
    c->own_share = next += c->stride;
    c->own_exponent = next += c->stride;
    c->scores = next += c->stride;
    c->tails = next += c->stride;
    c->own_scale = next += FOUR * c->stride;
    c->copies = next += padded(c->clusters->capacity * D, LANES);
    c->other = next += FOUR * padded(D, LANES);
    c->scratch = next += padded(D, LANES);
    c->blank = next += c->row_size;
    c->sizes = (size_terms *)(void *)(next + c->row_size);
    c->listed = (int64_t *)(void *)(c->sizes + SIZES);
}

/* will_join: whether points may join clusters; else what is known of a point must not depend on others. */
static inline int set_up(columns *c, const mapdpm_problem *p, const mapdpm_clusters *z, void *workspace, int will_join)
{
    const int64_t D = p ? p->n_features : 0;
    int64_t k, d, column, used = 0;
    double *next;

    if (!is_batch(p, z) || workspace == NULL)
        return MAPDPM_E_ARGUMENT;
    next = (double *)(void *)((unsigned char *)workspace + (ALIGNMENT - (uintptr_t)workspace % ALIGNMENT) % ALIGNMENT);
    c->family = row_family_of(p->family, D, p->parameters);
    c->problem = p;
    c->clusters = z;
    c->row_size = row_size(D);
    c->stride = padded(z->capacity + 1, LANES);
    lay_out(c, next);
    for (k = 0; k < SIZES; k++)
        c->sizes[k].n = -1.0;

    c->multiplies = p->family == MAPDPM_NORMAL_GAMMA;
    c->has_tails = HAS_LANES && !p->weights && is_near(c, will_join);
    row_clear(&c->family, c->blank);
    row_prepare_with(&c->family, c->blank, row_gain(&c->family, 0.0), c->other);
    c->log_size[0] = 0.0;
    set_column(c, 0, c->blank, c->other);
    for (d = 0; d < (2 * D + groups(D) + 5) * c->stride; d += c->stride) /* from centre to steepness */
        for (column = 1; column < c->stride; column++)
            c->centre[d + column] = c->centre[d];
    for (column = 1; column < c->stride; column++)
        c->log_size[column] = c->top[column] = -INFINITY;
    for (column = 0; column < c->stride; column++) {
        c->own_top[column] = -INFINITY;
        c->own_share[column] = c->own_exponent[column] = 0.0;
    }
    c->width = 1;
    for (k = 0; k < z->capacity; k++)
        if (z->counts[k] > 0) { /* rows are only read here: other threads may be at it too */
            for (d = 0; d < D; d++)
                c->other[d] = 1.0 / row_scale(row(c, k), D)[d];
            use_column(c, k, c->other);
            used++;
        }
    find_free_slot(c);
    count_used(c, used);
    return MAPDPM_OK;
}

#endif
