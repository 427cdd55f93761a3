/* The code that all batch functions share: the partition prior, the weight of a point, checks of arguments.
 * Internal. */
#ifndef MAPDPM_PRIORS_H
#define MAPDPM_PRIORS_H

#include "mapdpm_batch.h"

#include "families/mapdpm_cluster_statistics.h"

/* A gain must exceed this times (1 + its size): mapdpm/objective.py. */
#define TOLERANCE 1e-10

/* Whether a is better than b by more than rounding; b may be -inf. */
static inline int exceeds(double a, double b)
{
    return a > b + TOLERANCE * (1.0 + fabs(a));
}

static inline double weight(const mapdpm_problem *problem, int64_t i)
{
    return problem->weights ? problem->weights[i] : 1.0;
}

/* ---- the partition prior: mapdpm/partition_priors ---------------------------------------------------------------- */

/* log Gamma of a weight, as the prior of partitions counts it. */
static inline double log_gamma_of_weight(const mapdpm_problem *p, double w)
{
    return p->light && w < 1.0 ? log(w) : log_rising(1.0, w - 1.0);
}

static inline double log_existing(const mapdpm_problem *p, double n, double w)
{
    if (p->penalty > 0.0)
        return 0.0;
    if (p->light && n < 1.0)
        return log_gamma_of_weight(p, n + w) - log_gamma_of_weight(p, n);
    return w == 1.0 ? log(n - p->discount) : log_rising(n - p->discount, w);
}

static inline double log_new(const mapdpm_problem *p, int64_t used, double w)
{
    const double opening = p->penalty > 0.0 ? -p->penalty : log(p->alpha + (double)used * p->discount);

    if (p->penalty > 0.0)
        return opening;
    if (p->discount > 0.0)
        return (used > 0 ? opening : 0.0) + (w == 1.0 ? 0.0 : log_rising(1.0 - p->discount, w - 1.0));
    return w == 1.0 ? opening : opening + log_gamma_of_weight(p, w);
}

/* The log prior weight of a cluster of weight n, without that of opening it. */
static inline double log_size_term(const mapdpm_problem *p, double n)
{
    return log_new(p, 1, n) - log_new(p, 1, 1.0);
}

static inline double log_normaliser(const mapdpm_problem *p, double total)
{
    if (p->penalty > 0.0)
        return 0.0;
    return total > 0.0 || p->discount == 0.0 ? -log(p->alpha + total) : 0.0;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Whether the functions know the family, and it has parameters. */
static inline int has_family(const mapdpm_problem *p)
{
    const int32_t last = p && is_skipping(p->family) ? MAPDPM_NORMAL_KNOWN_VARIANCE : MAPDPM_NORMAL_INVERSE_WISHART;

    if (p == NULL || p->n_features < 1)
        return 0;
    if (p->verbs != NULL)
        return p->family == 0 && p->view != NULL && (p->weights == NULL || takes_weights(p->verbs, p->view));
    return plain_family(p->family) >= MAPDPM_NORMAL_GAMMA && plain_family(p->family) <= last && p->parameters != NULL;
}

/* Whether all required arguments are there and in range. */
static inline int is_batch_call(const mapdpm_problem *p, const mapdpm_clusters *z)
{
    return has_family(p) && z != NULL && p->n_points >= 0 && z->capacity >= 1 && z->counts != NULL &&
           z->rows != NULL && (p->n_points == 0 || has_points(p));
}

/* Whether the groups can be read and edited. */
static inline int are_groups(const mapdpm_groups *groups)
{
    int64_t node;

    if (groups == NULL || groups->n_groups < 1 || groups->table == NULL || groups->weights == NULL ||
        !(groups->new_share >= 0.0 && groups->new_share <= 1.0))
        return 0;
    if (groups->parents == NULL)
        return 1;
    for (node = 1; node < groups->n_inner + groups->n_groups; node++)
        if (groups->parents[node] < 0 || groups->parents[node] >= node || groups->parents[node] >= groups->n_inner)
            return 0;
    return groups->n_inner >= 1;
}

static inline int64_t n_inner_of(const mapdpm_groups *groups)
{
    return groups->parents ? groups->n_inner : 1;
}

/* The weights of the parent of a group. */
static inline double *weights_above(const mapdpm_groups *groups, int64_t capacity, int64_t group)
{
    return groups->weights + (groups->parents ? groups->parents[groups->n_inner + group] * (capacity + 1) : 0);
}

/* Whether an inner node is above a group. */
static inline int is_above(const mapdpm_groups *groups, int64_t node, int64_t group)
{
    int64_t v = groups->parents ? groups->parents[groups->n_inner + group] : 0;

    while (v > node)
        v = groups->parents[v];
    return v == node;
}

/* The part of the rest of an inner node that a cluster takes whose weight in the parent is w, beside others of weight
 * `rest`: the mean of docs/maths.md (72). A node above the point has seen the cluster once. */
static inline double part_of_rest(double w, double rest, int seen, double otherwise)
{
    const double sum = w + rest + (double)seen;

    return sum > 0.0 ? (w + (double)seen) / sum : otherwise;
}

/* Give a new cluster, which a point of a group opens in a slot, its weights. */
static inline void take_weights(const mapdpm_groups *groups, int64_t capacity, int64_t group, int64_t slot)
{
    int64_t u;

    for (u = 0; u < n_inner_of(groups); u++) {
        double *const own = groups->weights + u * (capacity + 1);
        double part = groups->new_share;

        if (u > 0) {
            const double *const up = groups->weights + groups->parents[u] * (capacity + 1);

            part = part_of_rest(up[slot], up[capacity], is_above(groups, u, group), part);
        }
        own[slot] = own[capacity] * part;
        own[capacity] -= own[slot];
    }
}

/* Give the weights of an emptied slot back. */
static inline void give_weights_back(const mapdpm_groups *groups, int64_t capacity, int64_t slot)
{
    int64_t u;

    for (u = 0; u < n_inner_of(groups); u++) {
        double *const own = groups->weights + u * (capacity + 1);

        own[capacity] += own[slot];
        own[slot] = 0.0;
    }
}

/* The weight of a new cluster for the other points of the group whose point opens it. */
static inline double new_weight_above(const mapdpm_groups *groups, int64_t capacity, int64_t group)
{
    double w = groups->weights[capacity] * groups->new_share, rest = groups->weights[capacity] - w;
    int64_t u;

    for (u = 1; u < n_inner_of(groups); u++) {
        if (is_above(groups, u, group)) {
            const double all = groups->weights[u * (capacity + 1) + capacity];

            w = all * part_of_rest(w, rest, 1, groups->new_share);
            rest = all - w;
        }
    }
    return w;
}

/* ---- states of sequences: mapdpm/backends/states.py -------------------------------------------------------------- */

/* The weight of slot k after row v. */
static inline double weight_between(const mapdpm_states *s, int64_t capacity, int64_t v, int64_t k)
{
    const double weight = (double)s->counts[v * capacity + k] + s->weights[k];

    return v == k ? weight + s->kappa : weight;
}

/* The weight of slot k between rows v and w, whose transitions are not counted; w is -1 for none (docs/maths.md (84)). */
static inline double weight_of_step(const mapdpm_states *s, int64_t capacity, int64_t v, int64_t k, int64_t w)
{
    const double weight = weight_between(s, capacity, v, k), again = v == k;

    if (w < 0)
        return weight;
    return weight * (weight_between(s, capacity, k, w) + (k == w ? again : 0.0)) /
           ((double)s->sizes[k] + s->alpha + s->kappa + again);
}

/* The weight of all states that nobody was in, before row w. */
static inline double weight_of_new_state(const mapdpm_states *s, int64_t capacity, int64_t w)
{
    return w < 0 ? s->weights[capacity] : s->weights[capacity] * s->weights[w] / (s->alpha + s->kappa);
}

/* Count the transitions from v to k and from there to w once more, or less. */
static inline void count_step(const mapdpm_states *s, int64_t capacity, int64_t v, int64_t k, int64_t w, int64_t change)
{
    s->counts[v * capacity + k] += change;
    s->sizes[v] += change;
    if (w >= 0) {
        s->counts[k * capacity + w] += change;
        s->sizes[k] += change;
    }
}

/* Whether the states can be read and edited. */
static inline int are_states(const mapdpm_states *s, const mapdpm_problem *p)
{
    int64_t i;

    if (s == NULL || s->previous == NULL || s->following == NULL || s->counts == NULL || s->sizes == NULL ||
        s->weights == NULL || !(s->new_share >= 0.0 && s->new_share <= 1.0))
        return 0;
    for (i = 0; i < p->n_points; i++)
        if (s->previous[i] < -1 || s->previous[i] >= p->n_points || s->following[i] < -1 ||
            s->following[i] >= p->n_points)
            return 0;
    return 1;
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* Whether all labels are slots. `least` is 0, or -1 if points may have no slot. */
static inline int are_labels_in_range(const mapdpm_problem *p, const mapdpm_clusters *z, int64_t least)
{
    int64_t i;

    for (i = 0; i < p->n_points; i++)
        if (z->labels == NULL || z->labels[i] < least || z->labels[i] >= z->capacity)
            return 0;
    return 1;
}

#endif
