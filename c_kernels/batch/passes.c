/* Passes over a chunk of the points: labels by tangents of the log joint (docs/maths.md, section 25), the points that
 * would move one by one, and sums of statistics of chunks. The twin of mapdpm/backends/passes.py.
 */
#include "scores/mapdpm_scores.h"

/* Points whose scores are computed side by side. */
enum { MD_LANES = 32 };

size_t mapdpm_tangent_bytes(const mapdpm_problem *problem)
{
    return has_sizes(problem) ? ALIGNMENT + sizeof(double) * 2 * MD_LANES * (size_t)point_size(problem) : 0;
}

/* The parameters of all slots, and a tile of points. */
typedef struct tangent_table {
    int32_t family;
    int64_t D;
    int64_t n_slots;
    int64_t size; /* entries of the parameters of a slot */
    const double *constants;
    const double *parameters;
    const mapdpm_verbs *verbs;
    const mapdpm_family_view *view;
    double *tile; /* [D][MD_LANES]; with verbs, [MD_LANES][D] points of that many numbers */
    double *less; /* [D][MD_LANES] the tile less the mean of a slot, for full covariance matrices */
} tangent_table;

/* The scores of MD_LANES points, side by side in the tile, with a slot. */
ALWAYS_INLINE void score_lanes(const tangent_table *t, int64_t slot, double *restrict score)
{
    const double *const parameters = t->parameters + slot * t->size, *const centre = parameters + 1;
    const double *const factor = centre + t->D;
    int64_t d, m;

    for (m = 0; m < MD_LANES; m++)
        score[m] = t->constants[slot] + parameters[0];
    for (d = 0; d < t->D; d++) {
        const double c = centre[d], f = factor[d];

        for (m = 0; m < MD_LANES; m++) {
            const double x = t->tile[d * MD_LANES + m] - c;

            score[m] -= f * x * x;
        }
    }
}

/* The same for full covariance matrices. */
ALWAYS_INLINE void score_full_lanes(const tangent_table *t, int64_t slot, double *restrict score)
{
    const double *const parameters = t->parameters + slot * t->size, *const centre = parameters + 1;
    const double *w = centre + t->D;
    double *const restrict less = t->less, z[MD_LANES], squares[MD_LANES];
    int64_t d, k, m;

    for (d = 0; d < t->D; d++)
        for (m = 0; m < MD_LANES; m++)
            less[d * MD_LANES + m] = t->tile[d * MD_LANES + m] - centre[d];
    for (m = 0; m < MD_LANES; m++)
        squares[m] = 0.0;
    for (d = 0; d < t->D; w += ++d) {
        for (m = 0; m < MD_LANES; m++)
            z[m] = 0.0;
        for (k = 0; k <= d; k++)
            for (m = 0; m < MD_LANES; m++)
                z[m] += w[k] * less[k * MD_LANES + m];
        for (m = 0; m < MD_LANES; m++)
            squares[m] += z[m] * z[m];
    }
    for (m = 0; m < MD_LANES; m++)
        score[m] = t->constants[slot] + (parameters[0] - 0.5 * squares[m]);
}

/* The same with missing values. */
ALWAYS_INLINE void score_skipping_lanes(const tangent_table *t, int64_t slot, double *restrict score)
{
    const double *const constant = t->parameters + slot * t->size, *const centre = constant + t->D;
    const double *const factor = centre + t->D;
    int64_t d, m;

    for (m = 0; m < MD_LANES; m++)
        score[m] = t->constants[slot];
    for (d = 0; d < t->D; d++)
        for (m = 0; m < MD_LANES; m++) {
            const double x = t->tile[d * MD_LANES + m] - centre[d], term = constant[d] - factor[d] * x * x;

            score[m] += is_there(x) ? term : 0.0;
        }
}

/* The same with verbs. */
static void score_lanes_by_verbs(const tangent_table *t, int64_t slot, double *restrict score)
{
    const double *const parameters = t->parameters + slot * t->size;
    int64_t m;

    for (m = 0; m < MD_LANES; m++)
        score[m] = t->constants[slot] + t->verbs->log_likelihood(t->view, parameters, t->tile + m * t->D);
}

ALWAYS_INLINE void score_slot(const tangent_table *t, int64_t slot, double *restrict score)
{
    if (t->verbs)
        score_lanes_by_verbs(t, slot, score);
    else if (is_full(t->family))
        score_full_lanes(t, slot, score);
    else if (is_skipping(t->family))
        score_skipping_lanes(t, slot, score);
    else
        score_lanes(t, slot, score);
}

/* Label the n points of the tile: the best slot of each, or the lowest within the tolerance of the best. */
CLONES
static void score_tile(const tangent_table *t, int64_t n, int64_t *slots, double *margins)
{
    double best[MD_LANES], second[MD_LANES], score[MD_LANES];
    int64_t found[MD_LANES], k, m, equals = 0;

    for (m = 0; m < MD_LANES; m++) {
        best[m] = second[m] = -INFINITY;
        found[m] = 0;
    }
    for (k = 0; k < t->n_slots; k++) {
        score_slot(t, k, score);
        for (m = 0; m < MD_LANES; m++) {
            const int64_t is_better = score[m] > best[m];
            const double least = is_better ? best[m] : score[m];

            second[m] = second[m] > least ? second[m] : least;
            found[m] = is_better ? k : found[m];
            best[m] = is_better ? score[m] : best[m];
        }
    }
    for (m = 0; m < n; m++) {
        margins[m] = best[m] - second[m];
        slots[m] = found[m];
        equals |= margins[m] <= TOLERANCE * (1.0 + fabs(best[m]));
    }
    for (k = 0; k < t->n_slots && equals; k++) {
        score_slot(t, k, score);
        for (m = 0; m < n; m++)
            if (k < slots[m] && score[m] >= best[m] - TOLERANCE * (1.0 + fabs(best[m]))) {
                slots[m] = k;
                margins[m] = 0.0; /* another slot is as good, or better within the tolerance */
            }
    }
}

int mapdpm_tangent_slots(const mapdpm_problem *p, int64_t n_slots, const double *constants, const double *parameters,
                         void *workspace, int64_t *slots, double *margins)
{
    const int64_t D = has_sizes(p) ? point_size(p) : 0;
    tangent_table t;
    int64_t i, m, d;

    if (D < 1 || p->n_points < 0 || (p->n_points > 0 && !has_points(p)) || n_slots < 1 ||
        (p->verbs && p->verbs->log_likelihood == NULL) || constants == NULL || parameters == NULL ||
        workspace == NULL || slots == NULL || margins == NULL)
        return MAPDPM_E_ARGUMENT;
    t.family = p->family;
    t.D = D;
    t.n_slots = n_slots;
    t.verbs = p->verbs;
    t.view = p->view;
    t.size = p->verbs ? p->view->n_parameters : is_skipping(p->family) ? 3 * D : sufficient_size(p);
    t.constants = constants;
    t.parameters = parameters;
    t.tile = (double *)(void *)((unsigned char *)workspace + (ALIGNMENT - (uintptr_t)workspace % ALIGNMENT) % ALIGNMENT);
    t.less = t.tile + MD_LANES * D;
    memset(t.tile, 0, sizeof *t.tile * MD_LANES * (size_t)D);
    for (i = 0; i < p->n_points; i += MD_LANES) {
        const int64_t n = i + MD_LANES < p->n_points ? MD_LANES : p->n_points - i;

        for (m = 0; m < n && p->verbs; m++) {
            double *const room = t.tile + m * D;
            const double *const x = point_of(p, i + m, room);

            if (x != room)
                memcpy(room, x, sizeof *x * (size_t)D);
        }
        for (m = 0; m < n && !p->verbs; m++)
            for (d = 0; d < D; d++)
                t.tile[d * MD_LANES + m] = p->data[(i + m) * D + d];
        score_tile(&t, n, slots + i, margins + i);
    }
    return MAPDPM_OK;
}

/* Whether full statistics give the leave-one-out score of the current point. If not, the points of its slot are needed,
 * and they are not here. */
static int has_leave_one_out(score_table *table, int64_t i, int64_t slot)
{
    double score;

    if (table->clusters->counts[slot] == 1)
        return 1;
    if (!table->problem->weights && !table->likelihood.verbs)
        return leave_one_out_in_closed_form(table, slot, table->x, &score);
    memcpy(table->scratch_statistics, statistics_of(table, slot), (size_t)table->statistics_size * sizeof(double));
    return statistics_remove(&table->likelihood, table->scratch_statistics, table->x, weight(table->problem, i));
}

/* Whether lane q of the batch would leave its slot. */
CLONES
static int would_move(score_table *table, int64_t q)
{
    const int64_t i = point_of_lane(table, q), slot = table->clusters->labels[i];
    const int alone = table->clusters->counts[slot] == 1;
    const int64_t stay = alone ? 0 : slot + 1;
    int64_t n;

    load_point(table, i);
    if (!has_leave_one_out(table, i, slot))
        return 1;
    n = score_candidates(table, i, slot, q, 0.0);
    return best_column(table, n, alone || table->free_slot >= 0, stay) != stay;
}

int mapdpm_restless(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                    unsigned char *restless)
{
    score_table table;
    const int error = set_up_table(&table, problem, clusters, workspace);
    int64_t i, q;

    if (error != MAPDPM_OK)
        return error;
    if (restless == NULL || !are_labels_in_range(problem, clusters, 0))
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < problem->n_points; i += table.n_batch) {
        uint32_t certain;

        load_batch(&table, NULL, i, problem->n_points);
        certain = bound_batch(&table);
        for (q = 0; q < table.n_batch; q++)
            restless[i + q] = (unsigned char)(!(certain >> q & 1) && would_move(&table, q));
    }
    return MAPDPM_OK;
}

int mapdpm_join_rows(const mapdpm_problem *problem, const mapdpm_clusters *z, void *workspace, int64_t n_parts,
                     const double *parts)
{
    int64_t k, j, size, n;
    likelihood f;

    if (!is_batch_call(problem, z) || workspace == NULL || n_parts < 0 || parts == NULL)
        return MAPDPM_E_ARGUMENT;
    f = likelihood_of(problem, (double *)workspace);
    size = f.size;
    n = f.n_sufficient;
    for (k = 0; k < z->capacity; k++) {
        statistics_clear(&f, z->rows + k * size);
        for (j = 0; j < n_parts; j++) {
            const double *const part = parts + (j * z->capacity + k) * n;

            if (part[0] > 0.0)
                statistics_merge(&f, z->rows + k * size, part);
        }
        statistics_prepare(&f, z->rows + k * size);
    }
    return MAPDPM_OK;
}
