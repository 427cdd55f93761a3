/* The constants of all slots, side by side, one array a feature: so that one pass over the features scores a point
 * against all clusters at once, and the compiler vectorises it. Column 0 is a new cluster, column k + 1 slot k.
 * Internal to the batch sweep.
 */
#ifndef MAPDPM_COLUMNS_H
#define MAPDPM_COLUMNS_H

#include "mapdpm_batch.h"

#include <string.h>

#include "mapdpm_priors.h"

/* Slots a vector register may hold at most, in doubles: columns come in multiples of it. */
enum { LANES = 8 };

/* Of a cache line: a vector that straddles two is stored and loaded again at half the speed. */
enum { ALIGNMENT = 64 };

/* Features whose factors are multiplied before the product is brought back to about 1. */
enum { GROUP = 8 };

/* Products of factors below 2^LARGEST_EXPONENT are finite. */
enum { LARGEST_EXPONENT = 1000 };

typedef struct columns {
    row_family family;
    const mapdpm_problem *problem;
    const mapdpm_clusters *clusters;
    int64_t stride;    /* columns that there is room for */
    int64_t width;     /* columns to compute: up to the last slot in use */
    int64_t used;      /* slots in use */
    int64_t free_slot; /* the lowest free one, or -1 */
    int64_t row_size;
    double *centre;      /* [D][stride] */
    double *scale;       /* [D][stride] */
    double *constant;    /* [stride], and so on */
    double *exponent;
    double *log_size;    /* log weight of joining; -inf for a free slot */
    double *product;
    double *logs;
    double *scores;
    double *own_constant; /* leave-one-out, with the log weight of joining what is left */
    double *own_scale;    /* [capacity][D] */
    double *x;            /* [D] the point, in double */
    double *scratch;      /* [row_size] */
    unsigned char *fold;  /* [D] whether products must become logarithms before this feature */

    /* For four points at a time and for bounds (mapdpm_four.h), made anew before use where a column is not fresh. */
    double *spread;    /* [D][stride] 1 / scale */
    double *norm;      /* [D / GROUP][stride] products of scales */
    double *top;       /* [stride] no score is above it */
    double *own_top;   /* [stride] leave-one-out: no score is below own_top - own_exponent log (1 - own_share ...) */
    double *own_share;
    double *own_exponent;
    double *tails;     /* [FOUR][stride] */
    double *least;     /* [FOUR] */
    double *copies;    /* [FOUR][D] */
    const double *four; /* the points, in double */
    unsigned char *fresh; /* [stride] */
    double far;           /* no squared distance from a centre is larger, in any feature */
    int is_stale;
    int is_bounded; /* whether no product can overflow */
} columns;

/* Points whose bounds are computed at once. */
enum { FOUR = 4 };

static int64_t groups(int64_t D)
{
    return (D + GROUP - 1) / GROUP;
}

static int64_t padded(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

static const mapdpm_real *point(const columns *c, int64_t i)
{
    return c->problem->data + i * c->family.D;
}

static double *row(const columns *c, int64_t slot)
{
    return c->clusters->rows + slot * c->row_size;
}

static void load(const mapdpm_real *from, double *to, int64_t D)
{
    int64_t d;

    for (d = 0; d < D; d++)
        to[d] = from[d];
}

/* ---- columns: the constants of all slots, side by side ---------------------------------------------------------- */

static void set_column(columns *c, int64_t column, double *from)
{
    const int64_t D = c->family.D;
    const double *const constants = row_constants(from, D), *const centre = row_centre(from, D),
                 *const scale = row_scale(from, D);
    int64_t d;

    for (d = 0; d < D; d++) {
        c->centre[d * c->stride + column] = centre[d];
        c->scale[d * c->stride + column] = scale[d];
    }
    c->constant[column] = constants[0];
    c->exponent[column] = constants[1];
}

/* What the leave-one-out of a point of weight 1 needs, from the full row (docs/maths.md (10), (14)). */
static void set_own(columns *c, int64_t slot)
{
    const row_family *const f = &c->family;
    const int64_t D = f->D;
    double *const from = row(c, slot), *const own = c->own_scale + slot * D, *const constants = row_constants(from, D);
    const double n = from[0], left = n - 1.0;
    double product = 1.0, logs = 0.0;
    int64_t d;

    if (c->clusters->counts[slot] < 2 || c->problem->weights)
        return;
    if (f->kind == MAPDPM_NORMAL_GAMMA) {
        const double cn = f->c0 + n, a = f->a0 + 0.5 * n, ratio = (cn + 1.0) / (cn - 1.0);

        for (d = 0; d < D; d++)
            own[d] = row_scale(from, D)[d] * ratio;
        c->own_constant[slot] =
            (double)D * (row_log_rising(a - 0.5, 0.5) + 0.5 * (log((cn - 1.0) / cn) - ROW_LOG_2PI)) -
            0.5 * constants[2];
    } else if (f->kind == MAPDPM_SQUARED_DISTANCE) {
        for (d = 0; d < D; d++)
            own[d] = n / left;
        c->own_constant[slot] = 0.0;
    } else {
        for (d = 0; d < D; d++) {
            const double grown = (f->floor[d] + n * f->rho[d]) / (f->floor[d] + left * f->rho[d]);

            own[d] = 0.5 * grown / f->floor[d];
            product *= f->floor[d] * grown;
            if (product > ROW_HUGE || product < ROW_TINY) {
                logs += log(product);
                product = 1.0;
            }
        }
        c->own_constant[slot] = -0.5 * ((double)D * ROW_LOG_2PI + logs + log(product));
    }
    c->own_constant[slot] += log_existing(c->problem, left, 1.0);
}

/* After a slot has changed: its constants, and which slots are in use. */
static void refresh(columns *c, int64_t slot)
{
    const mapdpm_clusters *const z = c->clusters;
    int64_t k;

    c->fresh[slot + 1] = 0;
    c->is_stale = 1;
    row_prepare(&c->family, row(c, slot));
    set_column(c, slot + 1, row(c, slot));
    set_own(c, slot);
    c->log_size[slot + 1] =
        z->counts[slot] == 0 ? -INFINITY : (c->problem->weights ? 0.0 : log_existing(c->problem, row(c, slot)[0], 1.0));
    if (z->counts[slot] > 0 && slot + 2 > c->width)
        c->width = slot + 2;
    if (slot == c->free_slot || z->counts[slot] == 0) {
        for (k = 0; k < z->capacity && z->counts[k] > 0; k++)
            ;
        c->free_slot = k < z->capacity ? k : -1;
    }
}

/* Products stay finite between folds: bound each factor by how far data and centres reach from the prior mean. */
static void plan_folds(columns *c)
{
    const row_family *const f = &c->family;
    const int64_t D = f->D;
    double *const reach = c->x;
    int64_t d, i, k;
    int exponent, sum = 0;

    if (f->kind != MAPDPM_NORMAL_GAMMA)
        return;
    memset(reach, 0, (size_t)D * sizeof *reach);
    for (i = 0; i < c->problem->n_points; i++)
        for (d = 0; d < D; d++) {
            const double t = fabs(point(c, i)[d] - f->m0[d]);

            reach[d] = t > reach[d] ? t : reach[d];
        }
    for (d = 0; d < D; d++) {
        double far = reach[d];

        for (k = 0; k < c->clusters->capacity; k++) {
            const double t = fabs(row_centre(row(c, k), D)[d] - f->m0[d]);

            far = t > far ? t : far;
        }
        far += reach[d];
        c->far = far * far > c->far ? far * far : c->far;
        (void)frexp(1.0 + far * far / (2.0 * f->floor[d]), &exponent);
        c->fold[d] = sum + exponent > LARGEST_EXPONENT;
        sum = c->fold[d] ? exponent : sum + exponent;
    }
}

static int set_up(columns *c, const mapdpm_problem *p, const mapdpm_clusters *z, void *workspace)
{
    int64_t k, column;
    double *next;

    if (!is_batch(p, z) || workspace == NULL)
        return MAPDPM_E_ARGUMENT;
    next = (double *)(void *)((unsigned char *)workspace + (ALIGNMENT - (uintptr_t)workspace % ALIGNMENT) % ALIGNMENT);
    c->family = row_family_of(p->family, p->n_features, p->parameters);
    c->problem = p;
    c->clusters = z;
    c->row_size = row_size(p->n_features);
    c->stride = padded(z->capacity + 1);
    c->centre = next;
    c->scale = next += p->n_features * c->stride;
    c->constant = next += p->n_features * c->stride;
    c->exponent = next += c->stride;
    c->log_size = next += c->stride;
    c->product = next += c->stride;
    c->logs = next += c->stride;
    c->scores = next += c->stride;
    c->own_constant = next += c->stride;
    c->own_scale = next += c->stride;
    c->spread = next += p->n_features * c->stride;
    c->norm = next += p->n_features * c->stride;
    c->top = next += groups(p->n_features) * c->stride;
    c->own_top = next += c->stride;
    c->own_share = next += c->stride;
    c->own_exponent = next += c->stride;
    c->tails = next += c->stride;
    c->least = next += FOUR * c->stride;
    c->x = next += LANES;
    c->copies = next += p->n_features;
    c->scratch = next += FOUR * p->n_features;
    c->fresh = (unsigned char *)(next + c->row_size);
    c->fold = c->fresh + c->stride;
    c->far = 0.0;
    c->is_stale = c->is_bounded = 1;
    memset(c->fresh, 0, (size_t)c->stride);

    row_clear(&c->family, c->scratch);
    row_prepare(&c->family, c->scratch);
    for (column = 0; column < c->stride; column++) {
        set_column(c, column, c->scratch);
        c->log_size[column] = column == 0 ? 0.0 : -INFINITY;
    }
    c->width = 1;
    c->used = 0;
    c->free_slot = -1;
    for (k = z->capacity - 1; k >= 0; k--) {
        c->used += z->counts[k] > 0;
        if (z->counts[k] == 0)
            row_clear(&c->family, row(c, k));
        refresh(c, k);
    }
    plan_folds(c);
    return MAPDPM_OK;
}

#endif
