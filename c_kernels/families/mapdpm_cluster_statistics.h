/* The statistics of one cluster of any family, by its own code or by its verbs: weight, mean[D] and squares, or those of
 * the verbs, which are sufficient; then what follows from them. Internal; static inlines only.
 */
#ifndef MAPDPM_CLUSTER_STATISTICS_H
#define MAPDPM_CLUSTER_STATISTICS_H

#include "families/mapdpm_diagonal.h"
#include "families/mapdpm_full_normal.h"
#include "families/mapdpm_points.h"
#include "families/mapdpm_skipping.h"

static inline int64_t sufficient_size(const mapdpm_problem *p)
{
    const int64_t D = p->n_features;

    return p->verbs                 ? p->view->n_statistics
           : is_full(p->family)     ? full_sufficient(D)
           : is_skipping(p->family) ? skipping_sufficient(D)
                                    : diagonal_sufficient(D);
}

static inline int64_t statistics_size(const mapdpm_problem *p)
{
    const int64_t D = p->n_features;

    return p->verbs                 ? p->view->size
           : is_full(p->family)     ? full_size(D)
           : is_skipping(p->family) ? skipping_size(D)
                                    : diagonal_size(D);
}

/* What the log predictive consists of, but for the point: first a constant and an exponent. Not with verbs. */
static inline double *statistics_constants(const likelihood *f, double *statistics)
{
    return statistics + f->n_sufficient;
}

/* The log constant of the predictive, as far as it depends on the cluster's weight alone. */
static inline double statistics_log_constant(const likelihood *f, double n)
{
    return f->verbs               ? 0.0
           : is_full(f->kind)     ? full_log_constant(f, n)
           : is_skipping(f->kind) ? skipping_log_constant(f, n)
                                  : student_log_constant(f, n);
}

/* Compute the derived entries from the sufficient statistics. log_constant is that of the weight. Normal-Gamma also
 * writes 1 / scale to spread[D]. */
ALWAYS_INLINE void statistics_prepare_with(const likelihood *f, double *statistics, double log_constant, double *spread)
{
    if (f->verbs)
        f->verbs->prepare(f->view, statistics);
    else if (is_full(f->kind))
        full_prepare_with(f, statistics, log_constant);
    else if (is_skipping(f->kind))
        skipping_prepare(f, statistics);
    else
        diagonal_prepare_with(f, statistics, log_constant, spread);
}

static inline void statistics_prepare(const likelihood *f, double *statistics)
{
    statistics_prepare_with(f, statistics, statistics_log_constant(f, statistics[0]), f->scratch);
}

/* Doubles that `likelihood_of` takes. */
static inline int64_t likelihood_doubles(const mapdpm_problem *p)
{
    return statistics_size(p) + 2 * p->n_features;
}

/* The family of a problem. `room` has likelihood_doubles. */
static inline likelihood likelihood_of(const mapdpm_problem *p, double *room)
{
    likelihood f = family_of(p->family, p->n_features, p->parameters);

    f.verbs = p->verbs;
    f.view = p->view;
    f.resolution = p->resolution;
    f.size = statistics_size(p);
    f.n_sufficient = sufficient_size(p);
    f.empty = room;
    f.scratch = room + f.size;
    if (f.verbs) {
        f.verbs->init(f.view, f.empty);
        return f;
    }
    if (is_full(f.kind))
        full_init(&f, f.empty);
    else if (is_skipping(f.kind))
        skipping_init(&f, f.empty);
    else
        diagonal_init(&f, f.empty);
    statistics_prepare(&f, f.empty);
    return f;
}

static inline void statistics_clear(const likelihood *f, double *statistics)
{
    memcpy(statistics, f->empty, (size_t)f->size * sizeof *statistics);
}

ALWAYS_INLINE void statistics_add(const likelihood *f, double *statistics, const double *x, double w)
{
    if (f->verbs)
        f->verbs->add(f->view, statistics, x, w);
    else if (is_full(f->kind))
        full_add(f, statistics, x, w);
    else if (is_skipping(f->kind))
        skipping_add(f, statistics, x, w);
    else
        diagonal_add(f, statistics, x, w);
}

/* The union of two clusters, into `statistics`. Only the sufficient statistics change. */
static inline void statistics_merge(const likelihood *f, double *statistics, const double *other)
{
    if (f->verbs)
        f->verbs->merge(f->view, statistics, other);
    else if (is_full(f->kind))
        full_merge(f, statistics, other);
    else if (is_skipping(f->kind))
        skipping_merge(f, statistics, other);
    else
        diagonal_merge(f, statistics, other);
}

/* The inverse of statistics_add. It returns 0 if rounding has destroyed too much, in this removal or in all since the
 * statistics were rebuilt. */
ALWAYS_INLINE int statistics_remove(const likelihood *f, double *statistics, const double *x, double w)
{
    return f->verbs               ? f->verbs->remove(f->view, statistics, x, w)
           : is_full(f->kind)     ? full_remove(f, statistics, x, w)
           : is_skipping(f->kind) ? skipping_remove(f, statistics, x, w)
                                  : diagonal_remove(f, statistics, x, w);
}

/* log p(x | statistics). The derived entries are up to date. */
static inline double statistics_log_predictive(const likelihood *f, double *statistics, const double *x)
{
    return f->verbs               ? f->verbs->log_predictive(f->view, statistics, x)
           : is_full(f->kind)     ? full_log_predictive(f, statistics, x)
           : is_skipping(f->kind) ? skipping_log_predictive(f, statistics, x)
                                  : diagonal_log_predictive(f, statistics, x);
}

/* L(statistics + w x) - L(statistics), where L is the log marginal. */
static inline double statistics_log_predictive_weighted(const likelihood *f, double *statistics, const double *x,
                                                        double w)
{
    return f->verbs               ? f->verbs->log_predictive_weighted(f->view, statistics, x, w)
           : is_full(f->kind)     ? full_log_predictive_weighted(f, statistics, x, w)
           : is_skipping(f->kind) ? skipping_log_predictive_weighted(f, statistics, x, w)
                                  : diagonal_log_predictive_weighted(f, statistics, x, w);
}

/* L(statistics): the log density of the cluster's points, with the parameters integrated out. */
static inline double statistics_log_marginal(const likelihood *f, const double *statistics)
{
    return f->verbs               ? f->verbs->log_marginal(f->view, statistics)
           : is_full(f->kind)     ? full_log_marginal(f, statistics)
           : is_skipping(f->kind) ? skipping_log_marginal(f, statistics)
                                  : diagonal_log_marginal(f, statistics);
}

/* L(both) - L(statistics) - L(other), where `both` is the union, without the large terms that cancel. */
static inline double statistics_log_merge(const likelihood *f, const double *both, const double *statistics,
                                          const double *other)
{
    return f->verbs               ? f->verbs->log_merge(f->view, both, statistics, other)
           : is_full(f->kind)     ? full_log_merge(f, both, statistics, other)
           : is_skipping(f->kind) ? skipping_log_merge(f, both, statistics, other)
                                  : diagonal_log_merge(f, both, statistics, other);
}

/* The union of two clusters, into both[statistics_size]; returns statistics_log_merge. */
static inline double statistics_union(const likelihood *f, double *both, const double *statistics, const double *other)
{
    if (is_full(f->kind))
        statistics_clear(f, both); /* merges read the pivots */
    memcpy(both, statistics, (size_t)(f->verbs ? f->size : f->n_sufficient) * sizeof *both);
    statistics_merge(f, both, other);
    return statistics_log_merge(f, both, statistics, other);
}

#endif
