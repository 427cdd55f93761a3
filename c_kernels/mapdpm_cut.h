/* The best two clusters along an order of points. Internal to the moves. */
#ifndef MAPDPM_CUT_H
#define MAPDPM_CUT_H

#include "mapdpm_priors.h"

/* Doubles that a cut takes. */
static inline int64_t cut_doubles(int32_t family, int64_t D, int64_t n_atoms)
{
    return (n_atoms + 1) * statistics_size(family, D) + n_atoms + D + likelihood_doubles(family, D);
}

/* Add an atom to a cluster. Returns the cluster's term of the log joint. */
static inline double log_joint_with(const mapdpm_problem *p, const likelihood *f, double *cluster, const double *atom)
{
    statistics_merge(f, cluster, atom);
    return statistics_log_marginal(f, cluster) + log_size_term(p, cluster[0]);
}

/* See mapdpm_cut. Entries of the order are in range. Returns the number of points before the cut. */
static inline int64_t best_cut(const mapdpm_problem *p, double *space, const int64_t *order, int64_t n_atoms,
                               double *log_joint)
{
    const likelihood f = likelihood_of(p->family, p->n_features, p->parameters, space);
    const int64_t size = statistics_size(f.kind, f.D), n = p->n_points;
    double *const cluster = space + likelihood_doubles(f.kind, f.D), *const atoms = cluster + size;
    double *const joints = atoms + n_atoms * size, *const x = joints + n_atoms;
    double best = -INFINITY;
    int64_t i, d, r;

    for (r = 0; r < n_atoms; r++)
        statistics_clear(&f, atoms + r * size);
    for (i = 0; i < n; i++) {
        for (d = 0; d < f.D; d++)
            x[d] = p->data[order[i] * f.D + d];
        statistics_add(&f, atoms + i * n_atoms / n * size, x, weight(p, order[i]));
    }
    statistics_clear(&f, cluster);
    for (r = 0; r + 1 < n_atoms; r++)
        joints[r] = log_joint_with(p, &f, cluster, atoms + r * size);
    statistics_clear(&f, cluster);
    for (r = n_atoms - 1; r > 0; r--) {
        joints[r - 1] += log_joint_with(p, &f, cluster, atoms + r * size);
        best = joints[r - 1] > best ? joints[r - 1] : best;
    }
    for (r = 0; joints[r] < best - TOLERANCE * (1.0 + fabs(best)); r++)
        ;
    *log_joint = joints[r];
    return ((r + 1) * n + n_atoms - 1) / n_atoms;
}

#endif
