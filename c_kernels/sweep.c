/* The sweep of MAP-DPM on a desktop: point by point, against constants cached a cluster.
 *
 * The constants of all slots stand side by side, one array a feature, so that one pass over the features scores a
 * point against all clusters at once and the compiler vectorises it. Column 0 is a new cluster, column k + 1 slot k.
 * A point's own cluster is scored as if the point were not in it (leave-one-out) in closed form from the full
 * statistics; where that cancels, from a row made without the point.
 */
#include "mapdpm_batch.h"

#include <string.h>

#define ROW_REAL double
#include "mapdpm_rows.h"

/* Runtime dispatch by the dynamic linker; the sanitizers start too late for it. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(MAPDPM_NO_CLONES)
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

/* Slots a vector register may hold at most, in doubles: columns come in multiples of it. */
enum { LANES = 8 };

/* Of a cache line: a vector that straddles two is stored and loaded again at half the speed. */
enum { ALIGNMENT = 64 };

/* A move must gain more than this times (1 + |log weight|): mapdpm/objective.py. */
static const double TOLERANCE = 1e-10;

/* Where D factors times their exponent exceed LARGE, a plain product may be off by a tenth of the tolerance; it is off
 * by less than ROUNDING times both. Scores within NEAR (1 + |best|) and that of the best may decide; scores NEGLIGIBLE
 * nats below it do not change a density. */
static const double LARGE = 1e5, ROUNDING = 4e-16, NEAR = 1e-6, NEGLIGIBLE = 40.0;

/* A product of shares this close to 0 becomes a logarithm before it loses digits. */
static const double MOST_LOST = 0.5;

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
} columns;

static int64_t padded(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

int64_t mapdpm_row_size(int64_t n_features)
{
    return row_size(n_features);
}

size_t mapdpm_workspace_bytes(int64_t n_features, int64_t capacity)
{
    const size_t D = (size_t)n_features, stride = (size_t)padded(capacity + 1);

    if (n_features < 1 || capacity < 1)
        return 0;
    return ALIGNMENT + sizeof(double) * (3 * D * stride + 7 * stride + D + (size_t)row_size(n_features)) + D;
}

static const mapdpm_real *point(const columns *c, int64_t i)
{
    return c->problem->data + i * c->family.D;
}

static double *row(const columns *c, int64_t slot)
{
    return c->clusters->rows + slot * c->row_size;
}

static double weight(const mapdpm_problem *problem, int64_t i)
{
    return problem->weights ? problem->weights[i] : 1.0;
}

static void load(const mapdpm_real *from, double *to, int64_t D)
{
    int64_t d;

    for (d = 0; d < D; d++)
        to[d] = from[d];
}

/* ---- the partition prior: mapdpm/partition_priors --------------------------------------------------------------- */

static double log_existing(const mapdpm_problem *p, double n, double w)
{
    return w == 1.0 ? log(n - p->discount) : row_log_rising(n - p->discount, w);
}

static double log_new(const mapdpm_problem *p, int64_t used, double w)
{
    double opening = log(p->alpha + (double)used * p->discount);

    if (p->discount > 0.0)
        return (used > 0 ? opening : 0.0) + (w == 1.0 ? 0.0 : row_log_rising(1.0 - p->discount, w - 1.0));
    return w == 1.0 ? opening : opening + row_log_rising(1.0, w - 1.0);
}

static double log_normaliser(const mapdpm_problem *p, double total)
{
    return total > 0.0 || p->discount == 0.0 ? -log(p->alpha + total) : 0.0;
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
        (void)frexp(1.0 + far * far / (2.0 * f->floor[d]), &exponent);
        c->fold[d] = sum + exponent > LARGEST_EXPONENT;
        sum = c->fold[d] ? exponent : sum + exponent;
    }
}

/* Whether all that is needed is there. */
static int is_batch(const mapdpm_problem *p, const mapdpm_clusters *z)
{
    return p != NULL && z != NULL && p->n_features >= 1 && p->n_points >= 0 && z->capacity >= 1 &&
           (p->family == MAPDPM_NORMAL_GAMMA || p->family == MAPDPM_NORMAL_KNOWN_VARIANCE) && p->parameters != NULL &&
           z->counts != NULL && z->rows != NULL && (p->n_points == 0 || p->data != NULL);
}

/* Whether labels point to slots; least is 0, or -1 where points may be out. */
static int are_labels(const mapdpm_problem *p, const mapdpm_clusters *z, int64_t least)
{
    int64_t i;

    for (i = 0; i < p->n_points; i++)
        if (z->labels == NULL || z->labels[i] < least || z->labels[i] >= z->capacity)
            return 0;
    return 1;
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
    c->x = next += p->n_features * c->stride;
    c->scratch = next += p->n_features;
    c->fold = (unsigned char *)(next + c->row_size);

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

/* ---- scoring one point ------------------------------------------------------------------------------------------ */

/* One feature of a point against all columns: here, and only here, the two families differ. */
static inline void multiply_feature(double x, const double *restrict m, const double *restrict s, int64_t width,
                                    double *restrict product)
{
    int64_t k;

    for (k = 0; k < width; k++)
        product[k] *= 1.0 + (x - m[k]) * (x - m[k]) * s[k];
}

static inline void add_feature(double x, const double *restrict m, const double *restrict s, int64_t width,
                               double *restrict sum)
{
    int64_t k;

    for (k = 0; k < width; k++)
        sum[k] += (x - m[k]) * (x - m[k]) * s[k];
}

/* product[k] *= 1 + scale (x - centre)^2 over features first .. last - 1. */
CLONES
static void multiply(const columns *c, int64_t first, int64_t last, int64_t width)
{
    int64_t d;

    for (d = first; d < last; d++)
        multiply_feature(c->x[d], c->centre + d * c->stride, c->scale + d * c->stride, width, c->product);
}

/* logs[k] += scale (x - centre)^2: the other family. */
CLONES
static void accumulate(const columns *c, int64_t width)
{
    int64_t d;

    for (d = 0; d < c->family.D; d++)
        add_feature(c->x[d], c->centre + d * c->stride, c->scale + d * c->stride, width, c->logs);
}

static void take_logs(columns *c)
{
    int64_t k;

    for (k = 0; k < c->width; k++) {
        c->logs[k] += log(c->product[k]);
        c->product[k] = 1.0;
    }
}

/* log p(x | column) for the point in c->x and every column below the width, as sum of logs or of squares. */
static void score_columns(columns *c)
{
    const int64_t D = c->family.D, width = padded(c->width);
    int64_t k, d, first = 0;

    for (k = 0; k < width; k++) {
        c->product[k] = 1.0;
        c->logs[k] = 0.0;
    }
    if (c->family.kind == MAPDPM_NORMAL_KNOWN_VARIANCE) {
        accumulate(c, width);
    } else {
        for (d = 1; d < D; d++)
            if (c->fold[d]) {
                multiply(c, first, d, width);
                take_logs(c);
                first = d;
            }
        multiply(c, first, D, width);
        take_logs(c);
    }
    for (k = 0; k < c->width; k++)
        c->scores[k] = c->constant[k] + c->log_size[k] - c->exponent[k] * c->logs[k];
}

/* The row of a slot without point i, from its members. */
static double *row_without(columns *c, int64_t slot, int64_t i)
{
    const int64_t *const labels = c->clusters->labels;
    double *const own = c->scratch;
    int64_t j;

    row_clear(&c->family, own);
    for (j = 0; j < c->problem->n_points; j++)
        if (labels[j] == slot && j != i) {
            load(point(c, j), c->x, c->family.D);
            row_add(&c->family, own, c->x, weight(c->problem, j));
        }
    load(point(c, i), c->x, c->family.D);
    row_prepare(&c->family, own);
    return own;
}

/* The score of point i, in c->x, with its own slot, which holds others too, as if it were not there. */
static double score_own(columns *c, int64_t slot, int64_t i)
{
    const int64_t D = c->family.D;
    double *const from = row(c, slot);
    const double *const own = c->own_scale + slot * D, *const centre = row_centre(from, D);
    double lost = 0.0, logs = 0.0, sum = 0.0, least = 1.0;
    int64_t d;

    if (c->family.kind == MAPDPM_NORMAL_KNOWN_VARIANCE) {
        for (d = 0; d < D; d++)
            sum += own[d] * (c->x[d] - centre[d]) * (c->x[d] - centre[d]);
        return c->own_constant[slot] - sum;
    }
    for (d = 0; d < D; d++) {
        const double t = c->x[d] - centre[d], u = own[d] * t * t;

        least = 1.0 - u < least ? 1.0 - u : least;
        lost += u - lost * u; /* 1 - the product of all 1 - u, as in row_log_tail */
        if (lost > MOST_LOST) {
            logs += log1p(-lost);
            lost = 0.0;
        }
    }
    if (least >= ROW_LEAST_SHARE)
        return c->own_constant[slot] + (c->family.a0 + 0.5 * from[0] - 0.5) * (logs + log1p(-lost));
    return log_existing(c->problem, from[0] - 1.0, 1.0) +
           row_log_predictive(&c->family, row_without(c, slot, i), c->x);
}

/* The product of many factors near 1 is off by as many roundings, and a large cluster multiplies its logarithm by half
 * its size. Large clusters that score within band of the best, and so may matter, are scored plainly; but the own. */
static void settle(columns *c, int64_t own, double opening, double band)
{
    const double large = LARGE / (double)c->family.D;
    double best = -INFINITY, exponent = 0.0, least;
    int64_t k;

    if (c->family.kind != MAPDPM_NORMAL_GAMMA)
        return;
    for (k = 0; k < c->width; k++) {
        best = c->scores[k] > best ? c->scores[k] : best;
        exponent = c->exponent[k] > exponent ? c->exponent[k] : exponent;
    }
    if (exponent <= large)
        return;
    least = best - (band > 0.0 ? band : NEAR * (1.0 + fabs(best)) + ROUNDING * exponent * (double)c->family.D);
    for (k = 0; k < c->width; k++)
        if (c->scores[k] >= least && c->exponent[k] > large && k != own) {
            double *const from = k > 0 ? row(c, k - 1) : c->scratch;

            if (k == 0) {
                row_clear(&c->family, from);
                row_prepare(&c->family, from);
            }
            c->scores[k] = (k > 0 ? c->log_size[k] : opening) + row_log_predictive(&c->family, from, c->x);
        }
}

/* All scores of point i of weight 1; slot is its own, or -1. Returns whether it is alone there. */
static int score_point(columns *c, int64_t i, int64_t slot)
{
    const int alone = slot >= 0 && c->clusters->counts[slot] == 1;
    const double opening = log_new(c->problem, c->used - alone, 1.0);

    score_columns(c);
    c->scores[0] += opening;
    if (alone)
        c->scores[slot + 1] = -INFINITY;
    else if (slot >= 0)
        c->scores[slot + 1] = score_own(c, slot, i);
    settle(c, slot >= 0 ? slot + 1 : -1, opening, 0.0);
    return alone;
}

/* The same for any weight, plainly. */
static int score_weighted(columns *c, int64_t i, int64_t slot)
{
    const mapdpm_problem *const p = c->problem;
    const int alone = slot >= 0 && c->clusters->counts[slot] == 1;
    const double w = weight(p, i);
    int64_t k;

    row_clear(&c->family, c->scratch);
    row_prepare(&c->family, c->scratch);
    c->scores[0] =
        log_new(p, c->used - alone, w) + row_log_predictive_weighted(&c->family, c->scratch, c->x, w);
    for (k = 0; k + 1 < c->width; k++) {
        double *from = row(c, k);

        c->scores[k + 1] = -INFINITY;
        if (c->clusters->counts[k] == 0 || (alone && k == slot))
            continue;
        if (k == slot) {
            memcpy(c->scratch, from, (size_t)c->row_size * sizeof *from);
            from = c->scratch;
            if (row_remove(&c->family, from, c->x, w))
                row_prepare(&c->family, from);
            else
                from = row_without(c, slot, i);
        }
        c->scores[k + 1] = log_existing(p, from[0], w) + row_log_predictive_weighted(&c->family, from, c->x, w);
    }
    return alone;
}

static int score_any(columns *c, int64_t i, int64_t slot)
{
    load(point(c, i), c->x, c->family.D);
    return c->problem->weights ? score_weighted(c, i, slot) : score_point(c, i, slot);
}

/* objective.best_slot over columns: `stay` if within the tolerance of the best, else the lowest slot, else column 0. */
static int64_t best_column(const columns *c, int may_open, int64_t stay)
{
    const double *const scores = c->scores;
    double best = may_open ? scores[0] : -INFINITY, least;
    int64_t k;

    for (k = 1; k < c->width; k++)
        best = scores[k] > best ? scores[k] : best;
    least = best - TOLERANCE * (1.0 + fabs(best));
    if (stay >= 0 && scores[stay] >= least)
        return stay;
    for (k = 1; k < c->width; k++)
        if (scores[k] >= least)
            return k;
    return may_open ? 0 : (stay >= 0 ? stay : 1);
}

/* ---- moving one point ------------------------------------------------------------------------------------------- */

/* Put point i, in c->x, into a slot. */
static void assign(columns *c, int64_t i, int64_t slot)
{
    const mapdpm_clusters *const z = c->clusters;

    z->labels[i] = slot;
    c->used += z->counts[slot]++ == 0;
    row_add(&c->family, row(c, slot), c->x, weight(c->problem, i));
    refresh(c, slot);
}

/* Take point i, in c->x, out of its slot. */
static void unassign(columns *c, int64_t i)
{
    const mapdpm_clusters *const z = c->clusters;
    const int64_t slot = z->labels[i];

    z->labels[i] = -1;
    if (--z->counts[slot] == 0) {
        c->used--;
        row_clear(&c->family, row(c, slot));
    } else if (!row_remove(&c->family, row(c, slot), c->x, weight(c->problem, i))) {
        memcpy(row(c, slot), row_without(c, slot, i), (size_t)c->row_size * sizeof(double));
    }
    refresh(c, slot);
}

/* ---- the public functions --------------------------------------------------------------------------------------- */

int mapdpm_sequential_start(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                            const int64_t *order, int64_t n_order, int may_grow, int64_t *position)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace);

    if (error != MAPDPM_OK)
        return error;
    if (order == NULL || position == NULL || !are_labels(problem, clusters, -1))
        return MAPDPM_E_ARGUMENT;
    for (; *position < n_order; ++*position) {
        const int64_t i = order[*position];
        int64_t column;

        if (c.free_slot < 0 && may_grow)
            return MAPDPM_OK;
        (void)score_any(&c, i, -1);
        column = best_column(&c, c.free_slot >= 0, -1);
        assign(&c, i, column == 0 ? c.free_slot : column - 1);
    }
    return MAPDPM_OK;
}

int mapdpm_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_grow,
                 int64_t *position, int64_t *moved)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace);

    if (error != MAPDPM_OK)
        return error;
    if (position == NULL || moved == NULL || !are_labels(problem, clusters, 0))
        return MAPDPM_E_ARGUMENT;
    for (; *position < problem->n_points; ++*position) {
        const int64_t i = *position, slot = clusters->labels[i];
        int64_t stay, column;
        int alone;

        if (c.free_slot < 0 && may_grow)
            return MAPDPM_OK;
        alone = score_any(&c, i, slot);
        /* A point that was alone stays by opening a cluster: it keeps its own slot, whichever is free. */
        stay = alone ? 0 : slot + 1;
        column = best_column(&c, alone || c.free_slot >= 0, stay);
        if (column == stay)
            continue;
        unassign(&c, i);
        assign(&c, i, column == 0 ? c.free_slot : column - 1);
        ++*moved;
    }
    return MAPDPM_OK;
}

int mapdpm_score(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *scores)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace);
    double total = 0.0, normaliser;
    int64_t i, k;

    if (error != MAPDPM_OK || scores == NULL)
        return error != MAPDPM_OK ? error : MAPDPM_E_ARGUMENT;
    for (k = 0; k < clusters->capacity; k++)
        total += clusters->counts[k] > 0 ? row(&c, k)[0] : 0.0;
    for (k = 0; k < clusters->capacity; k++)
        if (clusters->counts[k] > 0)
            c.log_size[k + 1] = log_existing(problem, row(&c, k)[0], 1.0);
    normaliser = log_normaliser(problem, total);
    c.log_size[0] = log_new(problem, c.used, 1.0);
    for (i = 0; i < problem->n_points; i++) {
        double *const out = scores + i * clusters->capacity;

        load(point(&c, i), c.x, c.family.D);
        score_columns(&c);
        settle(&c, -1, c.log_size[0], NEGLIGIBLE);
        for (k = 0; k < clusters->capacity; k++)
            out[k] = k + 1 < c.width ? c.scores[k + 1] + normaliser : -INFINITY;
        if (c.free_slot >= 0)
            out[c.free_slot] = c.scores[0] + normaliser;
    }
    return MAPDPM_OK;
}

int mapdpm_statistics(const mapdpm_problem *problem, const mapdpm_clusters *z, void *workspace)
{
    double *const x = (double *)workspace;
    int64_t i, k, size;
    row_family f;

    if (!is_batch(problem, z) || x == NULL || !are_labels(problem, z, -1))
        return MAPDPM_E_ARGUMENT;
    f = row_family_of(problem->family, problem->n_features, problem->parameters);
    size = row_size(f.D);
    for (k = 0; k < z->capacity; k++) {
        z->counts[k] = 0;
        row_clear(&f, z->rows + k * size);
    }
    for (i = 0; i < problem->n_points; i++) {
        const int64_t slot = z->labels[i];

        if (slot < 0)
            continue;
        load(problem->data + i * f.D, x, f.D);
        z->counts[slot]++;
        row_add(&f, z->rows + slot * size, x, weight(problem, i));
    }
    for (k = 0; k < z->capacity; k++)
        row_prepare(&f, z->rows + k * size);
    return MAPDPM_OK;
}

int mapdpm_log_marginals(const mapdpm_problem *problem, const mapdpm_clusters *z, double *log_marginals)
{
    int64_t k;
    row_family f;

    if (!is_batch(problem, z) || log_marginals == NULL)
        return MAPDPM_E_ARGUMENT;
    f = row_family_of(problem->family, problem->n_features, problem->parameters);
    for (k = 0; k < z->capacity; k++)
        log_marginals[k] = z->counts[k] > 0 ? row_log_marginal(&f, z->rows + k * row_size(f.D)) : 0.0;
    return MAPDPM_OK;
}
