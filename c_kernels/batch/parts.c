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
    const int64_t size = statistics_size(f->kind, f->D);
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

/* Copy the points to `data` and `weights`, and mark their slots. Returns the problem of them alone: other clusters count
 * as a part of alpha (docs/maths.md, section 6). */
static mapdpm_problem problem_of(const mapdpm_problem *all, const mapdpm_clusters *z, const mapdpm_part *part,
                                 mapdpm_real *data, double *weights, unsigned char *used)
{
    const int64_t D = all->n_features;
    mapdpm_problem p = *all;
    int64_t i, k, n_others = 0;

    memset(used, 0, (size_t)z->capacity);
    for (i = 0; i < part->n_points; i++) {
        const int64_t point = part->points[i];

        memcpy(data + i * D, all->data + point * D, (size_t)D * sizeof *data);
        if (all->weights)
            weights[i] = all->weights[point];
        used[z->labels[point]] = 1;
    }
    for (k = 0; k < z->capacity; k++)
        n_others += z->counts[k] > 0 && !used[k];
    p.n_points = part->n_points;
    p.data = data;
    p.weights = all->weights ? weights : NULL;
    p.alpha += (double)n_others * all->discount;
    return p;
}

size_t mapdpm_recluster_bytes(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_part *part,
                              const mapdpm_clusters *anew)
{
    if (!is_batch_call(problem, clusters) || part == NULL || part->n_points < 1 || anew == NULL || anew->capacity < 1)
        return 0;
    return rounded(mapdpm_workspace_bytes(problem->family, problem->n_features, anew->capacity)) +
           sizeof(double) * (size_t)(likelihood_doubles(problem->family, problem->n_features) + part->n_points) +
           rounded(sizeof(mapdpm_real) * (size_t)(part->n_points * problem->n_features)) + (size_t)clusters->capacity;
}

int mapdpm_recluster(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                     const mapdpm_part *part, const mapdpm_clusters *anew, double *log_joints)
{
    unsigned char *used;
    double *room, *weights;
    mapdpm_problem p;
    likelihood f;
    mapdpm_real *data;
    int64_t position = 0;
    int error = MAPDPM_OK;

    if (!is_batch_call(problem, clusters) || clusters->labels == NULL || workspace == NULL ||
        !is_part(problem, clusters, part) || !is_batch_call(problem, anew) || anew->labels == NULL || log_joints == NULL)
        return MAPDPM_E_ARGUMENT;
    room = (double *)(void *)((unsigned char *)workspace +
                              rounded(mapdpm_workspace_bytes(problem->family, problem->n_features, anew->capacity)));
    weights = room + likelihood_doubles(problem->family, problem->n_features);
    data = (mapdpm_real *)(void *)(weights + part->n_points);
    f = likelihood_of(problem->family, problem->n_features, problem->parameters, room);
    used = (unsigned char *)data + rounded(sizeof *data * (size_t)(part->n_points * problem->n_features));
    p = problem_of(problem, clusters, part, data, weights, used);
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
