/* Batch clustering on desktops: the sweep of MAP-DPM and its helpers. Statistics and decisions are in double for either
 * mapdpm_real; only data is mapdpm_real. Not for chips. mapdpm/backends/generic.py, the twin, defines the meaning;
 * tests/backends compares the two.
 */
#ifndef MAPDPM_BATCH_H
#define MAPDPM_BATCH_H

#include "mapdpm.h"
#include "mapdpm_verbs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef: begin */
/* Added to MAPDPM_NORMAL_GAMMA or MAPDPM_NORMAL_KNOWN_VARIANCE: NaN is a missing value, and is integrated out. */
enum mapdpm_batch_family { MAPDPM_SKIPPING = 16 };

typedef struct mapdpm_problem {
    int32_t family;
    int64_t n_points;
    int64_t n_features;
    const mapdpm_real *data;  /* [n_points][n_features], or NULL: then points have one of the forms below */
    const double *weights;    /* [n_points], > 0, or NULL if all are 1 */
    const double *parameters; /* in the order of enum mapdpm_family */
    const double *resolution; /* [n_features] the steps that values are rounded to, or NULL; not of a Normal-inverse-
                               * Wishart, and not with verbs, whose view has them */
    double alpha;
    double discount; /* 0: Dirichlet process; else Pitman-Yor process */
    double penalty;  /* > 0: DP-means; the cost of a cluster, in place of alpha and discount */
    int32_t light;   /* 1: weights are relative: the factor of a cluster of weight n < 1 is n, not Gamma(n) */
    const mapdpm_verbs *verbs;      /* of a family that is called by its verbs; NULL: one of enum mapdpm_family */
    const mapdpm_family_view *view; /* its parameters; then family is 0, and parameters are not read */
    const int64_t *words;           /* [n_points] the word that each point is, from 0 to n_features - 1; or */
    const double *values;           /* counts: values[j] of feature indices[j] for begins[i] <= j < ends[i] */
    const int64_t *indices;
    const int64_t *begins; /* [n_points] */
    const int64_t *ends;   /* [n_points] */
    int64_t longest;       /* doubles of the longest point as mapdpm_verbs has it, if more than n_features */
} mapdpm_problem;

/* A partition. A slot of count 0 is free, and its statistics are those of an empty cluster. */
typedef struct mapdpm_clusters {
    int64_t capacity;
    int64_t *labels; /* [n_points], -1 for a point without a slot */
    int64_t *counts; /* [capacity] */
    double *rows;    /* [capacity][mapdpm_row_size(problem)], the cluster statistics */
    const double *base; /* the same of points that are not here, for rows that are made anew; NULL: all points are here */
} mapdpm_clusters;

/* The groups of the points, for the partition prior of a hierarchical Dirichlet process. Groups are the leaves of a tree.
 * The weight of slot k for a point of group j with parent u is table[j][k] + weights[u][k]; for a new cluster it is
 * weights[u][capacity], and 0 forbids one. */
typedef struct mapdpm_groups {
    int64_t n_groups;
    const int64_t *of_points; /* [n_points]; functions are fastest where equal groups are neighbours */
    int64_t *table;           /* [n_groups][capacity] points of each group in each slot */
    double *weights;          /* [n_inner][capacity + 1] the alpha of the children of each inner node times its share of
                               * each slot; 0 for a free one */
    double new_share;         /* what a new cluster takes of weights[0][capacity] */
    int64_t n_inner;          /* nodes that have children; not read without parents */
    const int64_t *parents;   /* [n_inner + n_groups] the parent of each inner node, then of each group; a parent has a
                               * lower number, and the root is 0. NULL: the root is the parent of all groups */
} mapdpm_groups;

/* The states of points in sequences, for the partition prior of an HDP-HMM: slots are states. The weight of slot k after row v
 * is counts[v][k] + weights[k], and kappa more if v = k. Row `capacity` is that of the starts of sequences. */
typedef struct mapdpm_states {
    const int64_t *previous;  /* [n_points] the point before, or -1 at a start */
    const int64_t *following; /* [n_points] the point after, or -1 */
    int64_t *counts;          /* [capacity + 1][capacity] transitions from each slot, and from a start */
    int64_t *sizes;           /* [capacity + 1] the sums of rows */
    double *weights;          /* [capacity + 1] alpha times the share of each slot, 0 for a free one; last that of all
                               * states nobody was in */
    double alpha;
    double kappa;
    double new_share; /* what a new state takes of weights[capacity] */
} mapdpm_states;

/* The length of the cluster statistics of a slot: weight, mean[D], squares[D] | constant, exponent, log scale,
 * share left, centre[D], scale[D]. Of a Normal-inverse-Wishart: see mapdpm_full_normal.h; with missing values:
 * mapdpm_skipping.h. Sizes depend on the family, or the verbs and their view, on the number of features and on
 * the longest point of a problem. They are 0 for less than one feature. */
int64_t mapdpm_row_size(const mapdpm_problem *problem);
size_t mapdpm_workspace_bytes(const mapdpm_problem *problem, int64_t capacity);

/* All functions take a workspace of mapdpm_workspace_bytes, aligned for double. They return 0 or an error:
 * MAPDPM_E_ARGUMENT for a null pointer, a size below 1, or a label out of range (in a sweep also -1). */

/* Assign order[*position], order[*position + 1], ... With may_grow it ends early when no slot is free; *position says
 * where. */
int mapdpm_sequential_start(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                            const int64_t *order, int64_t n_order, int may_grow, int64_t *position);

/* Visit points *position, *position + 1, ... and add the number of moves to *moved. It ends early as above. */
int mapdpm_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_grow,
                 int64_t *position, int64_t *moved);

/* Redraw the slot of each point given all others, by uniforms[n_points] in [0, 1). If all slots are in use, among
 * those. */
int mapdpm_gibbs_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                       const double *uniforms);

/* scores[n_points][capacity]: log p(z = k) p(x | cluster k). The lowest free slot is a new cluster; other free slots
 * have -inf. */
int mapdpm_score(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *scores);

/* shares[n_points][capacity]: p(z = k | x), the exponentials of scores over their sum; 0 where a score is -inf. */
int mapdpm_posteriors(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *shares);

/* gains[n_points]: L(cluster of the point) - L(that without the point and its weight), L the log marginal. Where the
 * statistics lose too much, those of the points that are here take their place. */
int mapdpm_left_out(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *gains);

/* slots[n_points]: the slot of the highest score, the lowest slot among equals. With may_open it is the lowest free
 * slot if a new cluster scores higher than all others. */
int mapdpm_best_slots(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_open,
                      int64_t *slots);

/* log_densities[n_points]: log p(x), the logarithm of the sum of exp(scores). */
int mapdpm_log_densities(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                         double *log_densities);

/* Recompute counts and statistics from the labels. */
int mapdpm_statistics(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace);

/* The log marginal of each slot, 0 for a free one. */
int mapdpm_log_marginals(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                         double *log_marginals);

/* The cheapest merges. For each slot k in use: the slot above k whose merge with k costs least, and that cost, less the
 * log weight of a new cluster; -1 and infinity if there is none. Only pairs with a slot of stale[k] != 0 are computed,
 * and all pairs of a slot whose partner is stale. The other entries stay as an earlier call left them. */
int mapdpm_merge_losses(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                        const int64_t *stale, int64_t *partners, double *losses);

/* What is known of pairs, from one call to the next: with nan in `known`, nothing. */
typedef struct mapdpm_pairs {
    double *known;     /* [capacity][] the sufficient statistics of each slot, as mapdpm_join_rows reads them */
    int64_t *partners; /* [capacity] and the losses: those of mapdpm_merge_losses */
    double *losses;
} mapdpm_pairs;

/* Merge the cheapest pair of clusters while that raises the log joint, or up to eight pairs that together do. It ends
 * when none do, or when at least `most` pairs were merged; *merged is their number. The workspace has
 * mapdpm_merge_bytes. */
size_t mapdpm_merge_bytes(const mapdpm_problem *problem, int64_t capacity);
int mapdpm_merge(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                 const mapdpm_pairs *pairs, int64_t most, int64_t *merged);

/* The best clusterings of n_atoms cluster statistics into segments of their order. best and came_from are [n_atoms +
 * 1][width]: the log joint of the first r atoms in K clusters, and the start of the last cluster. With width 1, K is
 * any number. `beam` starts of the last cluster are kept; with n_atoms of them the result is exact. */
size_t mapdpm_segments_bytes(const mapdpm_problem *problem, int64_t beam, int64_t width);
int mapdpm_segments(const mapdpm_problem *problem, void *workspace, const double *atoms, int64_t n_atoms, int64_t beam,
                    int64_t width, double *best, int64_t *came_from);
/* The best two clusters along an order of all points, by the log joint: order[0] to order[*first - 1], and the rest.
 * Cuts are tried between n_atoms runs of points of almost equal length; n_atoms is at least 2 and at most the number of
 * points. */
size_t mapdpm_cut_bytes(const mapdpm_problem *problem, int64_t n_atoms);
int mapdpm_cut(const mapdpm_problem *problem, void *workspace, const int64_t *order, int64_t n_atoms, int64_t *first,
               double *log_joint);

/* mapdpm_statistics, then sweeps until no point moves, at most `most`. No slot is added. */
int mapdpm_settle(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int64_t most);

/* Some points of a partition: all that some slots hold. */
typedef struct mapdpm_part {
    int64_t n_points;
    const int64_t *points; /* [n_points] rising */
    int64_t n_order;
    const int64_t *order; /* [n_order] places in `points`, of those that join clusters one by one before the sweeps */
    int64_t most_sweeps;
} mapdpm_part;

/* Cluster some points anew: those of the order, whose labels are -1 at first, join the clusters of the others by
 * mapdpm_sequential_start, and mapdpm_settle follows. anew->labels[part->n_points] says where they begin.
 * log_joints[2]: before and after, without the terms that both share. `clusters` stay. */
size_t mapdpm_recluster_bytes(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_part *part,
                              const mapdpm_clusters *anew);
int mapdpm_recluster(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                     const mapdpm_part *part, const mapdpm_clusters *anew, double *log_joints);

/* The starts of a search for two clusters, and what each reads of the draws. Cuts are those of mapdpm_cut. */
enum mapdpm_start {
    MAPDPM_WIDEST,        /* the best cut along the direction of largest variance: nothing */
    MAPDPM_FARTHEST_PAIR, /* around two points far from each other: the order in which the others join them */
    MAPDPM_RANDOM_PAIR,   /* around two points: these, and the order */
    MAPDPM_DIFFERENCES,   /* the best cut along up to three lines through two points: two for each of min(3, width) */
    MAPDPM_AXES           /* the best cut along up to three columns: min(3, width) of them */
};

typedef struct mapdpm_halves {
    int64_t n_starts;
    const int64_t *starts;   /* [n_starts] of enum mapdpm_start */
    int64_t width;           /* the number of features, or of entries of the vectors */
    const double *vectors;   /* [n_points][width] in place of points that are no dense ones; else NULL */
    const double *direction; /* [width] from where the widest direction is sought; NULL without that start */
    int64_t n_draws;
    const int64_t *draws; /* [n_draws] what the starts read, one after the other; orders are of all points */
    int64_t n_atoms;      /* at most so many runs of points are cut between */
    int64_t most_sweeps;  /* after each start */
    int64_t n_tried;      /* halves that were tried before; those that are tried now are added */
    unsigned char *tried; /* [n_tried + n_starts][n_points] whether a point is in the half of the first one */
} mapdpm_halves;

/* The best two clusters of all points that several starts lead to, each followed by mapdpm_settle, in `best`, whose
 * capacity is 2. Starts that were tried are left out. log_joints[2]: of all points as one cluster, and as these two,
 * without the terms that both share; the second is -infinity if no start leads to two clusters, and then `best` is as
 * it was. The workspace has mapdpm_halves_bytes. */
size_t mapdpm_halves_bytes(const mapdpm_problem *problem, int64_t n_points, int64_t width, int64_t n_atoms);
int mapdpm_best_halves(const mapdpm_problem *problem, const mapdpm_clusters *best, void *workspace,
                       mapdpm_halves *halves, double *log_joints);

/* Parts of a product that are families of one kind, over as many columns each; or one, with the whole of a row. */
typedef struct mapdpm_alike_parts {
    int64_t n_parts;
    const int64_t *at; /* [n_parts] where the row of each begins, within a row of the clusters */
    int64_t row_size;  /* of the clusters */
} mapdpm_alike_parts;

/* Parameters of families as multiples of given ones: each entry times the exponential of a logarithm, or as it is. The
 * logarithms are sought in a box. All but log_of and the tolerances have a row for each part. */
typedef struct mapdpm_widths {
    int64_t n_logs;           /* at most 4; 0 where nothing is sought */
    const double *parameters; /* where all logarithms are 0, as mapdpm_problem has them */
    const int64_t *log_of;    /* for each entry of these, its logarithm, or -1 */
    const double *low;        /* [n_logs] the box */
    const double *high;
    double tolerance; /* of a logarithm */
    double gain;      /* a cycle of the search that gains at most this times (1 + |evidence|) is the last */
} mapdpm_widths;

/* logs[n_parts][n_logs]: from there, climb to the logarithms at which the sum of the log marginals of the clusters is
 * largest, for each part; evidence[n_parts][2] is this sum at the start, and in the end. Families of independent features but MAPDPM_SQUARED_DISTANCE, and none with verbs: `problem` has that of a part. */
int mapdpm_largest_evidence(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                            const mapdpm_alike_parts *parts, const mapdpm_widths *widths, double *logs,
                            double *evidence);

/* Clusters of a Normal-inverse-Wishart where psi0 is f R R': the eigenvalues of R^-1 S R'^-1, S the sums of squares of a
 * cluster about its mean, and the squares of R^-1 (mean - m0) along their vectors. maths (35) */
typedef struct mapdpm_full_clusters {
    int64_t n_clusters;
    int64_t n_features;
    const double *counts;  /* [n_clusters] */
    const double *squares; /* [n_clusters][n_features] >= 0 */
    const double *pulls;   /* [n_clusters][n_features] >= 0 */
    double constant;       /* of the evidence, which no parameter changes */
} mapdpm_full_clusters;

/* mapdpm_largest_evidence of such clusters; the parameters of the widths are c0, nu0 and f. */
int mapdpm_largest_full_evidence(const mapdpm_full_clusters *clusters, const mapdpm_widths *widths, double *logs,
                                 double *evidence);

/* mapdpm_sequential_start, mapdpm_sweep and mapdpm_gibbs_sweep of points in groups. They edit the table and the
 * weights: a new cluster takes its share of weights[u][capacity] in each inner node u, and an emptied slot gives its weights
 * back. */
int mapdpm_grouped_start(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_groups *groups,
                         void *workspace, const int64_t *order, int64_t n_order, int may_grow, int64_t *position);
int mapdpm_grouped_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_groups *groups,
                         void *workspace, int may_grow, int64_t *position, int64_t *moved);
int mapdpm_grouped_gibbs_sweep(const mapdpm_problem *problem, const mapdpm_clusters *clusters,
                               const mapdpm_groups *groups, void *workspace, const double *uniforms);

/* Labels by tangents: slots[i] is the slot k of the highest constants[k] + parameters[k][0] - sum_d f_d (x_d - m_d)^2,
 * the lowest of equals, where parameters[n_slots][1 + 2 D] are a constant, m and f; margins[i] is by how much the
 * second best is lower. For a Normal-inverse-Wishart the sum is |W (x - m)|^2 / 2, and W, lower triangular, follows m
 * row by row. With missing values each feature has a constant: constants[D], m[D], f[D]. With verbs,
 * parameters are those of their log_likelihood, which takes the place of the sum. The workspace has
 * mapdpm_tangent_bytes. Of the problem, only the points and the family are read. */
size_t mapdpm_tangent_bytes(const mapdpm_problem *problem);
int mapdpm_tangent_slots(const mapdpm_problem *problem, int64_t n_slots, const double *constants,
                         const double *parameters, void *workspace, int64_t *slots, double *margins);

/* restless[i]: 1 if a sweep that came to point i first would move it, or if that cannot be told from the statistics
 * alone; else 0. Slots may hold points that are not here. Changes nothing else. */
int mapdpm_restless(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                    unsigned char *restless);

/* rows[k]: the union of parts[n_parts][capacity][], joined in order. A part has the first 1 + 2 D entries of a row, or
 * 1 + D + D (D + 1) / 2 of a Normal-inverse-Wishart, or 1 + 3 D with missing values, or the statistics of
 * verbs. Reads no counts. */
int mapdpm_join_rows(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int64_t n_parts,
                     const double *parts);

/* Move the cells of a slot, all points of a group in it at once, to the slots where they gain most, in order; the last
 * one stays. cells[n_cells] has the statistics of the points of cell_groups[n_cells] in the slot, to[n_cells] becomes
 * their slot. Edits counts, rows, table and weights, not the labels. Sets *gained to the sum of the gains. */
size_t mapdpm_move_cells_bytes(const mapdpm_problem *problem, int64_t n_cells);
int mapdpm_move_cells(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_groups *groups,
                      void *workspace, int64_t slot, int64_t n_cells, const int64_t *cell_groups, const double *cells,
                      int64_t *to, double *gained);

/* Put the points order[*position], order[*position + 1], ... into their best states, and add the number of moves to
 * *moved. A point that has a slot stays in it unless another is better; one without needs that the point before it has
 * one. It ends early as above. It edits counts, sizes and weights. */
int mapdpm_visit_states(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_states *states,
                        void *workspace, const int64_t *order, int64_t n_order, int may_grow, int64_t *position,
                        int64_t *moved);

/* A hidden Markov model with fixed transitions and emissions, and its sequences. */
typedef struct mapdpm_chain {
    int64_t n_states;
    const double *start;   /* [n_states] probabilities > 0 of the first state of a sequence; not read by all functions */
    const double *steps;   /* [n_states][n_states] probabilities > 0 of a state after another */
    int64_t n_sequences;
    const int64_t *begins; /* [n_sequences + 1] the first point of each sequence, and last the number of points */
} mapdpm_chain;

/* The most probable path[n_points], given scores[n_points][n_states], log densities of points in states; of equals the
 * lowest state. *log_joint is that of the path and the points. came_from[n_points][n_states] and workspace[n_states *
 * (n_states + 2)] are overwritten. The functions of a chain return 0, or MAPDPM_E_ARGUMENT for a null pointer, a size
 * below 1 or begins that do not rise. */
int mapdpm_viterbi(const mapdpm_chain *chain, const double *scores, double *workspace, int64_t *came_from, int64_t *path,
                   double *log_joint);
/* filtered[n_points][n_states]: the probabilities of states given the points so far; log_totals[n_sequences]: the log
 * density of the points of each sequence. */
int mapdpm_forward(const mapdpm_chain *chain, const double *scores, double *filtered, double *log_totals);
/* Turn `filtered` into the probabilities given all points of the sequence. workspace[n_states]. */
int mapdpm_backward(const mapdpm_chain *chain, double *workspace, double *filtered);
/* Draw a path given all points, by uniforms[n_points] in [0, 1). */
int mapdpm_draw_path(const mapdpm_chain *chain, const double *filtered, const double *uniforms, int64_t *path);

/* Draw the states of all points as paths given the means of transitions and of emissions, n_rounds times, each by
 * uniforms[n_points] in [0, 1) and given the states before. After a round, rows, counts and sizes are those of the path, and
 * the weights are alpha times the shares at their mode, with a concentration of gamma above them. The workspace has
 * mapdpm_draw_states_bytes. The prior of the problem weighs no cluster. Returns 0, or MAPDPM_E_ARGUMENT. */
size_t mapdpm_draw_states_bytes(const mapdpm_problem *problem, int64_t n_points, int64_t n_sequences,
                                int64_t capacity);
int mapdpm_draw_states(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_states *states,
                       int64_t n_sequences, const int64_t *begins, void *workspace, double gamma, int64_t n_rounds,
                       const double *uniforms);
/* cdef: end */

#ifdef __cplusplus
}
#endif
#endif
