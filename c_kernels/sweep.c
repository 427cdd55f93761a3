/* The sweep of MAP-DPM on a desktop: point by point, against constants cached a cluster (mapdpm_columns.h,
 * mapdpm_scores.h). The twin of mapdpm/backends/generic.py.
 */
#include "mapdpm_certain.h"

/* Points after which bounds are tried again at the latest. */
enum { LONGEST_PAUSE = 1024 };

int64_t mapdpm_row_size(int64_t n_features)
{
    return row_size(n_features);
}

size_t mapdpm_workspace_bytes(int64_t n_features, int64_t capacity)
{
    const size_t D = (size_t)n_features, stride = (size_t)padded(capacity + 1);

    if (n_features < 1 || capacity < 1)
        return 0;
    return ALIGNMENT + stride + D +
           sizeof(double) * ((4 * D + (size_t)groups(n_features) + 11 + FOUR) * stride + LANES + (1 + FOUR) * D +
                             (size_t)row_size(n_features));
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

/* Score point i, and put it where it belongs. Returns whether it has moved. */
static int visit(columns *c, int64_t i)
{
    const int64_t slot = c->clusters->labels[i];
    const int alone = score_any(c, i, slot);
    /* A point that was alone stays by opening a cluster: it keeps its own slot, whichever is free. */
    const int64_t stay = alone ? 0 : slot + 1;
    const int64_t column = best_column(c, alone || c->free_slot >= 0, stay);

    if (column == stay)
        return 0;
    unassign(c, i);
    assign(c, i, column == 0 ? c->free_slot : column - 1);
    return 1;
}

/* When bounds are tried: at once where the last ones decided most, else after a pause that grows. */
typedef struct {
    int64_t wait;
    int64_t pause;
} patience;

static void learn_from(patience *p, int were_tried, int scored, int moved)
{
    if (!were_tried) {
        p->wait--;
    } else if (moved || 2 * scored > FOUR) {
        p->wait = p->pause;
        p->pause = p->pause < LONGEST_PAUSE ? 2 * p->pause : p->pause;
    } else {
        p->pause = FOUR;
    }
}

int mapdpm_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_grow,
                 int64_t *position, int64_t *moved)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace);
    patience p = {0, FOUR};

    if (error != MAPDPM_OK)
        return error;
    if (position == NULL || moved == NULL || !are_labels(problem, clusters, 0))
        return MAPDPM_E_ARGUMENT;
    if (problem->weights) /* bounds are for points of weight 1 */
        p.wait = INT64_MAX;
    while (*position < problem->n_points) {
        const int tries = p.wait <= 0 && problem->n_points - *position >= FOUR;
        const unsigned sure = tries ? certain(&c, *position) : 0;
        int q, scored = 0, moves = 0;

        for (q = 0; q < (tries ? FOUR : 1) && !moves; q++, ++*position) {
            if (sure >> q & 1)
                continue;
            if (c.free_slot < 0 && may_grow)
                return MAPDPM_OK;
            moves = visit(&c, *position);
            scored++;
        }
        *moved += moves;
        learn_from(&p, tries, scored, moves);
    }
    return MAPDPM_OK;
}

/* The slot where the cumulated shares of exp(score) pass u, in the order of slots. */
static int64_t drawn_slot(const columns *c, double u)
{
    const int64_t capacity = c->clusters->capacity;
    double best = c->free_slot >= 0 ? c->scores[0] : -INFINITY, total = 0.0;
    int64_t k, last = 0;

    for (k = 1; k < c->width; k++)
        best = c->scores[k] > best ? c->scores[k] : best;
    for (k = 0; k < capacity; k++)
        total += exp((k == c->free_slot ? c->scores[0] : k + 1 < c->width ? c->scores[k + 1] : -INFINITY) - best);
    u *= total;
    for (k = 0; k < capacity; k++) {
        const double share =
            exp((k == c->free_slot ? c->scores[0] : k + 1 < c->width ? c->scores[k + 1] : -INFINITY) - best);

        if (share > 0.0) {
            last = k;
            u -= share;
            if (u < 0.0)
                break;
        }
    }
    return last;
}

int mapdpm_gibbs_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                       const double *uniforms)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace);
    int64_t i;

    if (error != MAPDPM_OK)
        return error;
    if (uniforms == NULL || !are_labels(problem, clusters, 0))
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < problem->n_points; i++) {
        load(point(&c, i), c.x, c.family.D);
        unassign(&c, i);
        (void)score_any(&c, i, -1);
        assign(&c, i, drawn_slot(&c, uniforms[i]));
    }
    return MAPDPM_OK;
}

int mapdpm_score(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *scores)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace);
    double total = 0.0, normaliser;
    int64_t i, k;
    unsigned by_four = 0;

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
        if (i % FOUR == 0)
            by_four = score_four(&c, i);
        if (by_four >> i % FOUR & 1)
            memcpy(c.scores, c.tails + i % FOUR * c.stride, (size_t)c.width * sizeof *c.scores);
        else
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
