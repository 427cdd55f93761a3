/* Functions for moves of many points at once: the cheapest merges, and the best clustering along an order. The twin of
 * merge_losses and segments in mapdpm/backends/generic.py.
 */
#include "batch/mapdpm_cut.h"

#include <string.h>

int mapdpm_merge_losses(const mapdpm_problem *problem, const mapdpm_clusters *z, void *workspace, const int64_t *stale,
                        int64_t *partners, double *losses)
{
    double *const both = (double *)workspace;
    int64_t k, j, size;
    likelihood f;

    if (!is_batch_call(problem, z) || both == NULL || stale == NULL || partners == NULL || losses == NULL)
        return MAPDPM_E_ARGUMENT;
    size = statistics_size(problem);
    f = likelihood_of(problem, both + size);
    for (k = 0; k < z->capacity; k++) {
        const double *const statistics = z->rows + k * size;
        int recompute;

        if (partners[k] >= z->capacity)
            return MAPDPM_E_ARGUMENT;
        recompute = stale[k] || (partners[k] >= 0 && stale[partners[k]]);
        if (recompute) {
            partners[k] = -1;
            losses[k] = INFINITY;
        }
        if (z->counts[k] == 0)
            continue;
        for (j = k + 1; j < z->capacity; j++) {
            const double *const other = z->rows + j * size;
            double loss;

            if (z->counts[j] == 0 || !(recompute || stale[j]))
                continue;
            loss = -(log_existing(problem, statistics[0], other[0]) - log_size_term(problem, other[0]) +
                     statistics_union(&f, both, statistics, other));
            if (exceeds(-loss, -losses[k])) {
                partners[k] = j;
                losses[k] = loss;
            }
        }
    }
    return MAPDPM_OK;
}

size_t mapdpm_segments_bytes(const mapdpm_problem *problem, int64_t beam, int64_t width)
{
    if (!has_sizes(problem) || beam < 1 || width < 1)
        return 0;
    return sizeof(double) * ((size_t)(beam + 1) * ((size_t)statistics_size(problem) + 1) + (size_t)width +
                             (size_t)likelihood_doubles(problem)) +
           sizeof(int64_t) * (size_t)(beam + 1);
}

typedef struct beam_state {
    int64_t n_starts;   /* starts of the last cluster that are kept */
    int64_t *starts;    /* in ascending order */
    double *values;     /* the best log joint with each */
    double *statistics; /* the statistics of the cluster from each start on */
} beam_state;

/* Drop the worst start, except for the `youngest` newest ones. */
static void drop_worst_start(beam_state *b, int64_t youngest, int64_t size)
{
    int64_t a, worst = 0;

    for (a = 1; a < b->n_starts - youngest; a++)
        worst = b->values[a] < b->values[worst] ? a : worst;
    b->n_starts--;
    for (a = worst; a < b->n_starts; a++)
        b->starts[a] = b->starts[a + 1];
    memmove(b->statistics + worst * size, b->statistics + (worst + 1) * size,
            (size_t)((b->n_starts - worst) * size) * sizeof *b->statistics);
}

int mapdpm_segments(const mapdpm_problem *problem, void *workspace, const double *atoms, int64_t n_atoms, int64_t beam,
                    int64_t width, double *best, int64_t *came_from)
{
    const int64_t adds_cluster = width > 1;
    int64_t r, a, j, size;
    double *opening;
    likelihood f;
    beam_state b;
    int ends;

    if (!has_family(problem) || workspace == NULL || atoms == NULL || n_atoms < 1 || beam < 1 || width < 1 ||
        best == NULL || came_from == NULL)
        return MAPDPM_E_ARGUMENT;
    f = likelihood_of(problem, (double *)workspace);
    size = f.size;
    b.n_starts = 0;
    b.statistics = (double *)workspace + likelihood_doubles(problem);
    b.values = b.statistics + (beam + 1) * size;
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

        for (j = 0, ends = 0; j + adds_cluster < width; j++)
            ends |= best[r * width + j] > -INFINITY;
        if (ends) { /* a clustering ends before atom r */
            statistics_clear(&f, b.statistics + b.n_starts * size);
            b.starts[b.n_starts++] = r;
        }
        for (a = 0; a < b.n_starts; a++) {
            double *const statistics = b.statistics + a * size;
            const double *const before = best + b.starts[a] * width;
            double value;

            statistics_merge(&f, statistics, atoms + r * size);
            value = statistics_log_marginal(&f, statistics) + log_size_term(problem, statistics[0]);
            b.values[a] = -INFINITY;
            for (j = 0; j + adds_cluster < width; j++) {
                const double total = before[j] + opening[j] + value;

                if (before[j] == -INFINITY)
                    continue;
                b.values[a] = total > b.values[a] ? total : b.values[a];
                if (exceeds(total, to[j + adds_cluster])) {
                    to[j + adds_cluster] = total;
                    from[j + adds_cluster] = b.starts[a];
                }
            }
        }
        if (b.n_starts > beam)
            drop_worst_start(&b, beam / 2, size);
    }
    return MAPDPM_OK;
}

size_t mapdpm_cut_bytes(const mapdpm_problem *problem, int64_t n_atoms)
{
    return !has_sizes(problem) || n_atoms < 1 ? 0 : sizeof(double) * (size_t)cut_doubles(problem, n_atoms);
}

int mapdpm_cut(const mapdpm_problem *problem, void *workspace, const int64_t *order, int64_t n_atoms, int64_t *first,
               double *log_joint)
{
    cutter c;
    int64_t i;

    if (!has_family(problem) || !has_points(problem) || workspace == NULL || order == NULL || n_atoms < 2 ||
        n_atoms > problem->n_points || first == NULL || log_joint == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < problem->n_points; i++)
        if (order[i] < 0 || order[i] >= problem->n_points)
            return MAPDPM_E_ARGUMENT;
    c = cutter_of(problem, (double *)workspace, n_atoms);
    *first = best_cut(&c, order, log_joint);
    return MAPDPM_OK;
}

size_t mapdpm_move_cells_bytes(const mapdpm_problem *problem, int64_t n_cells)
{
    if (!has_sizes(problem) || n_cells < 1)
        return 0;
    return sizeof(double) *
           (size_t)((n_cells + 3) * statistics_size(problem) + likelihood_doubles(problem));
}

/* The arguments of a move of cells, and scratch space. */
typedef struct cell_move {
    likelihood f;
    int64_t size;
    const mapdpm_clusters *clusters;
    const mapdpm_groups *groups;
    double *both; /* scratch statistics */
} cell_move;

/* The gain of a cell that joins a cluster, compared with a cluster of its own. `prior_weight` is that of the cluster. */
static double gain_of_cell(const cell_move *m, const double *cluster, const double *cell, double prior_weight)
{
    return statistics_union(&m->f, m->both, cluster, cell) + log_rising(prior_weight, cell[0]);
}

/* The slot where the cell of group j gains most, and the gain in *gained; `rest` is what its slot holds besides. */
static int64_t best_slot_of_cell(const cell_move *m, int64_t slot, int64_t j, const double *cell, const double *rest,
                                 double *gained)
{
    const int64_t capacity = m->clusters->capacity;
    const double *const weights = weights_above(m->groups, capacity, j);
    const double stay = gain_of_cell(m, rest, cell, weights[slot]);
    double best = stay;
    int64_t k, to = slot, has_free = 0;

    for (k = 0; k < capacity; k++) {
        double gain;

        if (k == slot || (m->clusters->counts[k] == 0 && has_free))
            continue;
        if (m->clusters->counts[k] == 0) {
            has_free = 1;
            gain = log_rising(new_weight_above(m->groups, capacity, j), cell[0]);
        } else {
            gain = gain_of_cell(m, m->clusters->rows + k * m->size, cell,
                                weights[k] + (double)m->groups->table[j * capacity + k]);
        }
        if (exceeds(gain, best)) {
            best = gain;
            to = k;
        }
    }
    *gained += best - stay;
    return to;
}

int mapdpm_move_cells(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_groups *groups,
                      void *workspace, int64_t slot, int64_t n_cells, const int64_t *cell_groups, const double *cells,
                      int64_t *to, double *gained)
{
    double *kept, *later; /* the cells that stay, and the unions of the cells from each on */
    cell_move m;
    int64_t c;

    if (!is_batch_call(problem, clusters) || !are_groups(groups) || workspace == NULL || slot < 0 ||
        slot >= clusters->capacity || n_cells < 1 || cell_groups == NULL || cells == NULL || to == NULL ||
        gained == NULL)
        return MAPDPM_E_ARGUMENT;
    for (c = 0; c < n_cells; c++)
        if (cell_groups[c] < 0 || cell_groups[c] >= groups->n_groups)
            return MAPDPM_E_ARGUMENT;
    m.f = likelihood_of(problem, (double *)workspace);
    m.size = m.f.size;
    m.clusters = clusters;
    m.groups = groups;
    m.both = (double *)workspace + likelihood_doubles(problem);
    kept = m.both + m.size;
    later = kept + m.size;
    statistics_clear(&m.f, kept);
    statistics_clear(&m.f, later + n_cells * m.size);
    for (c = n_cells - 1; c >= 0; c--) {
        memcpy(later + c * m.size, later + (c + 1) * m.size, (size_t)m.size * sizeof *later);
        statistics_merge(&m.f, later + c * m.size, cells + c * m.size);
    }
    *gained = 0.0;
    for (c = 0; c < n_cells; c++) {
        const double *const cell = cells + c * m.size;
        double *const rest = later + (c + 1) * m.size, *row;
        int64_t *const in_group = groups->table + cell_groups[c] * clusters->capacity, n = in_group[slot], k = slot;

        if (n < clusters->counts[slot]) {
            statistics_merge(&m.f, rest, kept);
            k = best_slot_of_cell(&m, slot, cell_groups[c], cell, rest, gained);
        }
        to[c] = k;
        if (k == slot) {
            statistics_merge(&m.f, kept, cell);
            continue;
        }
        if (clusters->counts[k] == 0)
            take_weights(groups, clusters->capacity, cell_groups[c], k);
        row = clusters->rows + k * m.size;
        statistics_merge(&m.f, row, cell);
        statistics_prepare(&m.f, row);
        clusters->counts[k] += n;
        clusters->counts[slot] -= n;
        in_group[k] += n;
        in_group[slot] = 0;
    }
    memcpy(clusters->rows + slot * m.size, kept, (size_t)m.size * sizeof *kept);
    statistics_prepare(&m.f, clusters->rows + slot * m.size);
    return MAPDPM_OK;
}
