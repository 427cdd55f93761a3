/* The code that all batch functions share: the partition prior, the weight of a point, checks of arguments.
 * Internal. */
#ifndef MAPDPM_PRIORS_H
#define MAPDPM_PRIORS_H

#include "mapdpm_batch.h"

#define STATISTICS_REAL double
#include "mapdpm_cluster_statistics.h"

/* A gain must exceed this times (1 + its size): mapdpm/objective.py. */
#define TOLERANCE 1e-10

static inline double weight(const mapdpm_problem *problem, int64_t i)
{
    return problem->weights ? problem->weights[i] : 1.0;
}

/* ---- the partition prior: mapdpm/partition_priors ---------------------------------------------------------------- */

static inline double log_existing(const mapdpm_problem *p, double n, double w)
{
    if (p->penalty > 0.0)
        return 0.0;
    return w == 1.0 ? log(n - p->discount) : log_rising(n - p->discount, w);
}

static inline double log_new(const mapdpm_problem *p, int64_t used, double w)
{
    const double opening = p->penalty > 0.0 ? -p->penalty : log(p->alpha + (double)used * p->discount);

    if (p->penalty > 0.0)
        return opening;
    if (p->discount > 0.0)
        return (used > 0 ? opening : 0.0) + (w == 1.0 ? 0.0 : log_rising(1.0 - p->discount, w - 1.0));
    return w == 1.0 ? opening : opening + log_rising(1.0, w - 1.0);
}

static inline double log_normaliser(const mapdpm_problem *p, double total)
{
    if (p->penalty > 0.0)
        return 0.0;
    return total > 0.0 || p->discount == 0.0 ? -log(p->alpha + total) : 0.0;
}

/* ---- arguments --------------------------------------------------------------------------------------------------- */

/* Whether all required arguments are there and in range. */
static inline int is_batch_call(const mapdpm_problem *p, const mapdpm_clusters *z)
{
    return p != NULL && z != NULL && p->n_features >= 1 && p->n_points >= 0 && z->capacity >= 1 &&
           p->family >= MAPDPM_NORMAL_GAMMA && p->family <= MAPDPM_SQUARED_DISTANCE && p->parameters != NULL &&
           z->counts != NULL && z->rows != NULL && (p->n_points == 0 || p->data != NULL);
}

/* Whether the groups can be read and edited. */
static inline int are_groups(const mapdpm_groups *groups)
{
    return groups != NULL && groups->n_groups >= 1 && groups->table != NULL && groups->weights != NULL &&
           groups->new_share >= 0.0 && groups->new_share <= 1.0;
}

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
