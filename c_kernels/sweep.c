/* The sweep of MAP-DPM on a desktop: four points at a time, against constants cached a cluster (mapdpm_columns.h), of which
 * those are scored that may decide (mapdpm_certain.h). The twin of mapdpm/backends/generic.py.
 */
#include "mapdpm_certain.h"
#include "mapdpm_setup.h"

/* Fours of points after which it is tested again whether points surely stay, at the latest. */
enum { LONGEST_PAUSE = 256 };

int64_t mapdpm_row_size(int64_t n_features)
{
    return row_size(n_features);
}

size_t mapdpm_workspace_bytes(int64_t n_features, int64_t capacity)
{
    if (n_features < 1 || capacity < 1)
        return 0;
    return ALIGNMENT + sizeof(double) * doubles(n_features, capacity) + SIZES * sizeof(size_terms) +
           sizeof(int64_t) * (size_t)padded(capacity + 1, LANES);
}

/* ---- moving one point ------------------------------------------------------------------------------------------- */

/* Put point i, in c->x, into a slot. */
CLONES
static void assign(columns *c, int64_t i, int64_t slot)
{
    const mapdpm_clusters *const z = c->clusters;

    z->labels[i] = slot;
    row_add(&c->family, row(c, slot), c->x, weight(c->problem, i));
    if (z->counts[slot]++ == 0)
        count_used(c, c->used + 1);
    refresh(c, slot);
}

/* Take point i, in c->x, out of its slot. */
CLONES
static void unassign(columns *c, int64_t i)
{
    const mapdpm_clusters *const z = c->clusters;
    const int64_t slot = z->labels[i];

    z->labels[i] = -1;
    if (--z->counts[slot] == 0)
        count_used(c, c->used - 1);
    else if (!row_remove(&c->family, row(c, slot), c->x, weight(c->problem, i)))
        memcpy(row(c, slot), row_without(c, slot, i), (size_t)c->row_size * sizeof(double));
    refresh(c, slot);
}

/* Score point i, in c->x, with what its tails leave open, and put it where it belongs. Returns the slot that it left, or
 * -1 where it stays. */
CLONES
static int64_t visit(columns *c, int64_t i, const double *tails)
{
    const int64_t slot = c->clusters->labels[i];
    const int alone = c->clusters->counts[slot] == 1;
    /* A point that was alone stays by opening a cluster: it keeps its own slot, whichever is free. */
    const int64_t stay = alone ? 0 : slot + 1, n = score_candidates(c, i, slot, tails, 0.0);
    const int64_t column = best_column(c, n, alone || c->free_slot >= 0, stay);

    if (column == stay)
        return -1;
    unassign(c, i);
    assign(c, i, column == 0 ? c->free_slot : column - 1);
    return slot;
}

/* ---- the public functions --------------------------------------------------------------------------------------- */

int mapdpm_sequential_start(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                            const int64_t *order, int64_t n_order, int may_grow, int64_t *position)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace, 1);

    if (error != MAPDPM_OK)
        return error;
    if (order == NULL || position == NULL || !are_labels(problem, clusters, -1))
        return MAPDPM_E_ARGUMENT;
    for (; *position < n_order; ++*position) {
        const int64_t i = order[*position];
        int64_t column;

        if (c.free_slot < 0 && may_grow)
            return MAPDPM_OK;
        look_at(&c, i);
        if (c.has_tails)
            bound(&c, 1);
        column = best_column(&c, score_candidates(&c, i, -1, c.has_tails ? c.tails : NULL, 0.0), c.free_slot >= 0, -1);
        assign(&c, i, column == 0 ? c.free_slot : column - 1);
    }
    return MAPDPM_OK;
}

/* When that is tested: at once where it was so of most points, else after a pause that grows. */
typedef struct patience {
    int64_t wait;
    int64_t pause;
} patience;

static void learn_from(patience *p, int were_tried, int visited)
{
    if (!were_tried) {
        p->wait--;
    } else if (2 * visited > FOUR) {
        p->wait = p->pause;
        p->pause = p->pause < LONGEST_PAUSE ? 2 * p->pause : p->pause;
    } else {
        p->pause = 1;
    }
}

/* Visit up to four points from the i-th on, but those that surely stay; ends early at a point that there may be no slot
 * for. Returns how many it has passed, and adds to *moved and to *visited. */
CLONES
static int64_t visit_four(columns *c, int64_t i, unsigned sure, int may_grow, int64_t *moved, int *visited)
{
    const int64_t D = c->family.D, left = c->problem->n_points - i;
    int64_t q, later, from;

    for (q = 0; q < FOUR && q < left; q++) {
        if (sure >> q & 1)
            continue;
        if (c->free_slot < 0 && may_grow)
            return q;
        ++*visited;
        c->x = c->four + q * D;
        from = visit(c, i + q, c->has_tails ? c->tails + q * c->stride : NULL);
        if (from < 0)
            continue;
        ++*moved;
        sure = 0;
        for (later = q + 1; later < FOUR && c->has_tails; later++) { /* two columns are others now */
            const int64_t to = c->clusters->labels[i + q];

            c->tails[later * c->stride + from + 1] = tail_of(c, row(c, from), c->four + later * D);
            c->tails[later * c->stride + to + 1] = tail_of(c, row(c, to), c->four + later * D);
        }
    }
    return q;
}

int mapdpm_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_grow,
                 int64_t *position, int64_t *moved)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace, 1);
    patience p = {0, 1};

    if (error != MAPDPM_OK)
        return error;
    if (position == NULL || moved == NULL || !are_labels(problem, clusters, 0))
        return MAPDPM_E_ARGUMENT;
    while (*position < problem->n_points) {
        const int tries = c.has_tails && p.wait <= 0;
        unsigned sure = 0;
        int64_t passed;
        int visited = 0;

        if (tries) {
            *position += pass_certain(&c, *position, &sure);
        } else {
            take_four(&c, *position);
            if (c.has_tails)
                bound(&c, FOUR);
        }
        passed = visit_four(&c, *position, sure, may_grow, moved, &visited);
        *position += passed;
        if (passed < FOUR && *position < problem->n_points)
            return MAPDPM_OK;
        learn_from(&p, tries, visited);
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
    const int error = set_up(&c, problem, clusters, workspace, 1);
    int64_t i;

    if (error != MAPDPM_OK)
        return error;
    if (uniforms == NULL || !are_labels(problem, clusters, 0))
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < problem->n_points; i++) {
        look_at(&c, i);
        unassign(&c, i);
        (void)score_all(&c, i, -1);
        assign(&c, i, drawn_slot(&c, uniforms[i]));
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
