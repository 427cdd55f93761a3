/* Batch clustering on desktops: the sweep of MAP-DPM and what belongs to it. Statistics and decisions are in double
 * whatever mapdpm_real is; only data is mapdpm_real. Not for chips. Semantics: mapdpm/backends/generic.py, the twin.
 */
#ifndef MAPDPM_BATCH_H
#define MAPDPM_BATCH_H

#include "mapdpm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef: begin */
typedef struct mapdpm_problem {
    int32_t family;
    int64_t n_points;
    int64_t n_features;
    const mapdpm_real *data;  /* [n_points][n_features] */
    const double *weights;    /* [n_points], > 0, or NULL where all are 1 */
    const double *parameters; /* in the order of enum mapdpm_family */
    double alpha;
    double discount; /* 0: Dirichlet process; else Pitman-Yor process */
    double penalty;  /* > 0: DP-means; a cluster costs this, and alpha and discount say nothing */
} mapdpm_problem;

/* A partition. A slot of count 0 is free and its row that of an empty cluster. */
typedef struct mapdpm_clusters {
    int64_t capacity;
    int64_t *labels; /* [n_points], -1 for a point that is out */
    int64_t *counts; /* [capacity] */
    double *rows;    /* [capacity][mapdpm_row_size(n_features)] */
} mapdpm_clusters;

/* Entries of a row: weight, mean[D], squares[D] | constant, exponent, log scale, share left, centre[D], scale[D]. */
int64_t mapdpm_row_size(int64_t n_features);
size_t mapdpm_workspace_bytes(int64_t n_features, int64_t capacity);

/* All take a workspace of mapdpm_workspace_bytes, aligned for double, and return 0 or an error: MAPDPM_E_ARGUMENT for a
 * null pointer, a size below 1, or a label out of range (of a sweep: also -1). */

/* Assign order[*position], order[*position + 1], ...; ends early, *position telling where, if may_grow and full. */
int mapdpm_sequential_start(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                            const int64_t *order, int64_t n_order, int may_grow, int64_t *position);

/* Visit points *position, *position + 1, ...; adds to *moved; ends early as above. */
int mapdpm_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_grow,
                 int64_t *position, int64_t *moved);

/* Redraw the slot of each point given all others by uniforms[n_points] in [0, 1); if full, among the slots in use. */
int mapdpm_gibbs_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                       const double *uniforms);

/* scores[n_points][capacity]: log p(z = k) p(x | cluster k); the lowest free slot is a new cluster, others -inf. */
int mapdpm_score(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *scores);

/* slots[n_points]: the slot of the highest score, the lowest of equals; with may_open, the lowest free slot where a new
 * cluster scores higher than all that there are. */
int mapdpm_best_slots(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_open,
                      int64_t *slots);

/* log_densities[n_points]: log p(x), the logarithm of the sum of exp(scores). */
int mapdpm_log_densities(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                         double *log_densities);

/* Make counts and rows anew from the labels. */
int mapdpm_statistics(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace);

/* The log marginal of each slot, 0 for a free one; needs no workspace. */
int mapdpm_log_marginals(const mapdpm_problem *problem, const mapdpm_clusters *clusters, double *log_marginals);

/* The cheapest merges. For each slot k in use: the slot above k that costs least to merge with, and that cost, less the
 * log weight of a new cluster; -1 and infinity where there is none. Only pairs of slots with stale[k] != 0 are computed,
 * and all of a slot whose partner is one: the others are as an earlier call left them. */
int mapdpm_merge_losses(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                        const int64_t *stale, int64_t *partners, double *losses);

/* The best clusterings of n_atoms rows whose clusters are segments of their order. best and came_from are
 * [n_atoms + 1][width]: of the first r atoms in K clusters, the log joint, and where the last cluster begins; with
 * width 1 whatever K is. beam starts of the last cluster are kept; n_atoms of them make it exact. */
size_t mapdpm_segments_bytes(int64_t n_features, int64_t beam, int64_t width);
int mapdpm_segments(const mapdpm_problem *problem, void *workspace, const double *atoms, int64_t n_atoms, int64_t beam,
                    int64_t width, double *best, int64_t *came_from);
/* Along an order of all points, the two clusters of the highest log joint, one all before the other: of order[0] to
 * order[*first - 1], and of the rest. Cuts are tried between n_atoms runs of points, 2 or more but no more than points, as
 * even as can be. */
size_t mapdpm_cut_bytes(int64_t n_features, int64_t n_atoms);
int mapdpm_cut(const mapdpm_problem *problem, void *workspace, const int64_t *order, int64_t n_atoms, int64_t *first,
               double *log_joint);

/* mapdpm_statistics, and sweeps until nobody moves, `most` at most; no slot is added. */
int mapdpm_settle(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int64_t most);
/* cdef: end */

#ifdef __cplusplus
}
#endif
#endif
