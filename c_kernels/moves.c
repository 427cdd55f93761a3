/* What moves of many points at once need: the cheapest merges, and the best clustering along an order. The twin of
 * merge_losses and segments in mapdpm/backends/generic.py.
 */
#include "mapdpm_priors.h"

#include <string.h>

/* The log weight of a cluster of weight n, but for that of opening it. */
static double log_size(const mapdpm_problem *p, double n)
{
    return log_new(p, 1, n) - log_new(p, 1, 1.0);
}

/* Whether a is better than b by more than rounding; b may be -inf. */
static int exceeds(double a, double b)
{
    return a > b + TOLERANCE * (1.0 + fabs(a));
}

int mapdpm_merge_losses(const mapdpm_problem *problem, const mapdpm_clusters *z, void *workspace, const int64_t *stale,
                        int64_t *partners, double *losses)
{
    double *const both = (double *)workspace;
    int64_t k, j, size;
    row_family f;

    if (!is_batch(problem, z) || both == NULL || stale == NULL || partners == NULL || losses == NULL)
        return MAPDPM_E_ARGUMENT;
    f = row_family_of(problem->family, problem->n_features, problem->parameters);
    size = row_size(f.D);
    for (k = 0; k < z->capacity; k++) {
        const double *const row = z->rows + k * size;
        int anew;

        if (partners[k] >= z->capacity)
            return MAPDPM_E_ARGUMENT;
        anew = stale[k] || (partners[k] >= 0 && stale[partners[k]]);
        if (anew) {
            partners[k] = -1;
            losses[k] = INFINITY;
        }
        if (z->counts[k] == 0)
            continue;
        for (j = k + 1; j < z->capacity; j++) {
            const double *const other = z->rows + j * size;
            double loss;

            if (z->counts[j] == 0 || !(anew || stale[j]))
                continue;
            memcpy(both, row, (size_t)row_statistics(f.D) * sizeof *both);
            row_merge(&f, both, other);
            loss = -(log_existing(problem, row[0], other[0]) - log_size(problem, other[0]) +
                     row_log_merge(&f, both, row, other));
            if (exceeds(-loss, -losses[k])) {
                partners[k] = j;
                losses[k] = loss;
            }
        }
    }
    return MAPDPM_OK;
}

size_t mapdpm_segments_bytes(int64_t n_features, int64_t beam, int64_t width)
{
    if (n_features < 1 || beam < 1 || width < 1)
        return 0;
    return sizeof(double) * ((size_t)(beam + 1) * ((size_t)row_size(n_features) + 1) + (size_t)width) +
           sizeof(int64_t) * (size_t)(beam + 1);
}

typedef struct beam_of {
    int64_t held;    /* starts of the last cluster that are kept in mind */
    int64_t *starts; /* in order */
    double *values;  /* the best log joint with each */
    double *rows;    /* the cluster from each start on */
} beam_of;

/* Forget the worst start but for the youngest. */
static void prune(beam_of *b, int64_t youngest, int64_t size)
{
    int64_t a, worst = 0;

    for (a = 1; a < b->held - youngest; a++)
        worst = b->values[a] < b->values[worst] ? a : worst;
    b->held--;
    for (a = worst; a < b->held; a++)
        b->starts[a] = b->starts[a + 1];
    memmove(b->rows + worst * size, b->rows + (worst + 1) * size,
            (size_t)((b->held - worst) * size) * sizeof *b->rows);
}

int mapdpm_segments(const mapdpm_problem *problem, void *workspace, const double *atoms, int64_t n_atoms, int64_t beam,
                    int64_t width, double *best, int64_t *came_from)
{
    const int64_t up = width > 1;
    int64_t r, a, j, size;
    double *opening;
    row_family f;
    beam_of b;
    int ends;

    if (problem == NULL || problem->n_features < 1 || problem->family < MAPDPM_NORMAL_GAMMA ||
        problem->family > MAPDPM_SQUARED_DISTANCE || problem->parameters == NULL || workspace == NULL ||
        atoms == NULL || n_atoms < 1 || beam < 1 || width < 1 || best == NULL || came_from == NULL)
        return MAPDPM_E_ARGUMENT;
    f = row_family_of(problem->family, problem->n_features, problem->parameters);
    size = row_size(f.D);
    b.held = 0;
    b.rows = (double *)workspace;
    b.values = b.rows + (beam + 1) * size;
    opening = b.values + beam + 1;
    b.starts = (int64_t *)(void *)(opening + width);
    for (j = 0; j < width; j++)
        opening[j] = log_new(problem, j, 1.0);
    for (j = 0; j < (n_atoms + 1) * width; j++) {
        best[j] = -INFINITY;
        came_from[j] = 0;
    }
    best[0] = 0.0;
    for (r = 0; r < n_atoms; r++) {
        double *const to = best + (r + 1) * width;
        int64_t *const from = came_from + (r + 1) * width;

        for (j = 0, ends = 0; j + up < width; j++)
            ends |= best[r * width + j] > -INFINITY;
        if (ends) { /* a clustering does, before atom r */
            row_clear(&f, b.rows + b.held * size);
            b.starts[b.held++] = r;
        }
        for (a = 0; a < b.held; a++) {
            double *const row = b.rows + a * size;
            const double *const before = best + b.starts[a] * width;
            double value;

            row_merge(&f, row, atoms + r * size);
            value = row_log_marginal(&f, row) + log_size(problem, row[0]);
            b.values[a] = -INFINITY;
            for (j = 0; j + up < width; j++) {
                const double total = before[j] + opening[j] + value;

                if (before[j] == -INFINITY)
                    continue;
                b.values[a] = total > b.values[a] ? total : b.values[a];
                if (exceeds(total, to[j + up])) {
                    to[j + up] = total;
                    from[j + up] = b.starts[a];
                }
            }
        }
        if (b.held > beam)
            prune(&b, beam / 2, size);
    }
    return MAPDPM_OK;
}

size_t mapdpm_cut_bytes(int64_t n_features, int64_t n_atoms)
{
    if (n_features < 1 || n_atoms < 1)
        return 0;
    return sizeof(double) * (size_t)((n_atoms + 1) * row_size(n_features) + n_atoms + n_features);
}

/* What atom r, added to a cluster, makes of its share of the log joint. */
static double joined(const mapdpm_problem *p, const row_family *f, double *cluster, const double *atom)
{
    row_merge(f, cluster, atom);
    return row_log_marginal(f, cluster) + log_size(p, cluster[0]);
}

int mapdpm_cut(const mapdpm_problem *problem, void *workspace, const int64_t *order, int64_t n_atoms, int64_t *first,
               double *log_joint)
{
    double *const cluster = (double *)workspace, *atoms, *joints, *x, best = -INFINITY;
    int64_t i, d, r, size;
    row_family f;

    if (problem == NULL || problem->n_features < 1 || problem->family < MAPDPM_NORMAL_GAMMA ||
        problem->family > MAPDPM_SQUARED_DISTANCE || problem->parameters == NULL || problem->data == NULL ||
        workspace == NULL || order == NULL || n_atoms < 2 || n_atoms > problem->n_points || first == NULL ||
        log_joint == NULL)
        return MAPDPM_E_ARGUMENT;
    f = row_family_of(problem->family, problem->n_features, problem->parameters);
    size = row_size(f.D);
    atoms = cluster + size;
    joints = atoms + n_atoms * size;
    x = joints + n_atoms;
    for (r = 0; r < n_atoms; r++)
        row_clear(&f, atoms + r * size);
    for (i = 0; i < problem->n_points; i++) {
        if (order[i] < 0 || order[i] >= problem->n_points)
            return MAPDPM_E_ARGUMENT;
        for (d = 0; d < f.D; d++)
            x[d] = problem->data[order[i] * f.D + d];
        row_add(&f, atoms + i * n_atoms / problem->n_points * size, x, weight(problem, order[i]));
    }
    row_clear(&f, cluster);
    for (r = 0; r + 1 < n_atoms; r++)
        joints[r] = joined(problem, &f, cluster, atoms + r * size);
    row_clear(&f, cluster);
    for (r = n_atoms - 1; r > 0; r--) {
        joints[r - 1] += joined(problem, &f, cluster, atoms + r * size);
        best = joints[r - 1] > best ? joints[r - 1] : best;
    }
    for (r = 0; joints[r] < best - TOLERANCE * (1.0 + fabs(best)); r++)
        ;
    *first = ((r + 1) * problem->n_points + n_atoms - 1) / n_atoms;
    *log_joint = joints[r];
    return MAPDPM_OK;
}
