/* Some clusters of a partition, whose points are clustered anew. The twin of mapdpm/backends/parts.py. */
#include "families/mapdpm_priors.h"

static size_t rounded(size_t bytes) { return (bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double); }

/* Whether the points and their order can be read. */
static int is_part(const mapdpm_problem *p, const mapdpm_clusters *z, const mapdpm_part *part)
{
    int64_t i;

    if (part == NULL || part->n_points < 1 || part->points == NULL || part->n_order < 0 ||
        (part->n_order > 0 && part->order == NULL))
        return 0;
    for (i = 0; i < part->n_points; i++) {
        const int64_t point = part->points[i];

        if (point < 0 || point >= p->n_points || z->labels[point] < 0 || z->labels[point] >= z->capacity)
            return 0;
    }
    for (i = 0; i < part->n_order; i++)
        if (part->order[i] < 0 || part->order[i] >= part->n_points)
            return 0;
    return 1;
}

/* The log joint of clusters, without the terms that all clusterings of their points share. `used` marks the slots that
 * count, or is NULL for all in use. */
static double log_joint_of(const mapdpm_problem *p, const likelihood *f, const mapdpm_clusters *z,
                           const unsigned char *used)
{
    const int64_t size = f->size;
    int64_t k, n_before = 0;
    double total = 0.0;

    for (k = 0; k < z->capacity; k++) {
        const double *const row = z->rows + k * size;

        if (z->counts[k] == 0 || (used && !used[k]))
            continue;
        total += statistics_log_marginal(f, row) + log_size_term(p, row[0]);
        total += n_before > 0 ? log_new(p, n_before, 1.0) : 0.0;
        n_before++;
    }
    return total;
}

/* The bytes of n points; of sparse counts, only where their entries begin and end. */
static size_t bytes_of_points(const mapdpm_problem *p, int64_t n)
{
    return p->data != NULL ? sizeof(mapdpm_real) * (size_t)(n * p->n_features) : sizeof(int64_t) * 2 * (size_t)n;
}

/* Make the points of a part those of p, in `room`. */
static void copy_points(mapdpm_problem *p, const mapdpm_problem *all, const mapdpm_part *part, void *room)
{
    mapdpm_real *const data = (mapdpm_real *)room;
    int64_t *const begins = (int64_t *)room, *const ends = begins + part->n_points, D = all->n_features, i;

    for (i = 0; i < part->n_points; i++) {
        const int64_t point = part->points[i];

        if (all->data != NULL)
            memcpy(data + i * D, all->data + point * D, (size_t)D * sizeof *data);
        else
            begins[i] = all->words != NULL ? all->words[point] : all->begins[point];
        if (all->data == NULL && all->words == NULL)
            ends[i] = all->ends[point];
    }
    p->data = all->data != NULL ? data : NULL;
    p->words = all->words != NULL ? begins : NULL;
    p->begins = begins;
    p->ends = ends;
}

/* Copy the points to `room` and `weights`, and mark their slots. Returns the problem of them alone: other clusters count
 * as a part of alpha (docs/maths.md, section 6). */
static mapdpm_problem problem_of(const mapdpm_problem *all, const mapdpm_clusters *z, const mapdpm_part *part,
                                 void *room, double *weights, unsigned char *used)
{
    mapdpm_problem p = *all;
    int64_t i, k, n_others = 0;

    memset(used, 0, (size_t)z->capacity);
    for (i = 0; i < part->n_points; i++) {
        const int64_t point = part->points[i];

        if (all->weights)
            weights[i] = all->weights[point];
        used[z->labels[point]] = 1;
    }
    for (k = 0; k < z->capacity; k++)
        n_others += z->counts[k] > 0 && !used[k];
    p.n_points = part->n_points;
    copy_points(&p, all, part, room);
    p.weights = all->weights ? weights : NULL;
    p.alpha += (double)n_others * all->discount;
    return p;
}

size_t mapdpm_recluster_bytes(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_part *part,
                              const mapdpm_clusters *anew)
{
    if (!is_batch_call(problem, clusters) || part == NULL || part->n_points < 1 || anew == NULL || anew->capacity < 1)
        return 0;
    return rounded(mapdpm_workspace_bytes(problem, anew->capacity)) +
           sizeof(double) * (size_t)(likelihood_doubles(problem) + part->n_points) +
           rounded(bytes_of_points(problem, part->n_points)) + (size_t)clusters->capacity;
}

int mapdpm_recluster(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                     const mapdpm_part *part, const mapdpm_clusters *anew, double *log_joints)
{
    unsigned char *used;
    double *room, *weights;
    mapdpm_problem p;
    likelihood f;
    void *points;
    int64_t position = 0;
    int error = MAPDPM_OK;

    if (!is_batch_call(problem, clusters) || clusters->labels == NULL || workspace == NULL ||
        !is_part(problem, clusters, part) || !is_batch_call(problem, anew) || anew->labels == NULL || log_joints == NULL)
        return MAPDPM_E_ARGUMENT;
    room = (double *)(void *)((unsigned char *)workspace +
                              rounded(mapdpm_workspace_bytes(problem, anew->capacity)));
    weights = room + likelihood_doubles(problem);
    points = weights + part->n_points;
    f = likelihood_of(problem, room);
    used = (unsigned char *)points + rounded(bytes_of_points(problem, part->n_points));
    p = problem_of(problem, clusters, part, points, weights, used);
    log_joints[0] = log_joint_of(&p, &f, clusters, used);
    if (part->n_order > 0) {
        error = mapdpm_statistics(&p, anew, workspace);
        if (error == MAPDPM_OK)
            error = mapdpm_sequential_start(&p, anew, workspace, part->order, part->n_order, 0, &position);
    }
    if (error == MAPDPM_OK)
        error = mapdpm_settle(&p, anew, workspace, part->most_sweeps);
    log_joints[1] = log_joint_of(&p, &f, anew, NULL);
    return error;
}
