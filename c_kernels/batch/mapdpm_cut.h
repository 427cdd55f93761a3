/* The best two clusters along an order of points. Internal to the moves. */
#ifndef MAPDPM_CUT_H
#define MAPDPM_CUT_H

#include "families/mapdpm_priors.h"

/* The largest exponent times D at which a logarithm of a product loses less than a tenth of the tolerance:
 * docs/maths.md, section 5. */
#define LARGE_EXPONENT 1e5

/* The terms of a log joint that depend on the weight of a cluster alone. */
typedef struct weight_terms {
    double weight;
    double value;
} weight_terms;

/* What a cut needs. Cuts of the same points share it: their clusters mostly have the same weights. */
typedef struct cutter {
    const mapdpm_problem *problem;
    likelihood likelihood;
    int64_t size;
    int64_t n_atoms;
    double log_scales; /* the sum of log b0 */
    double *cluster;
    double *atoms;  /* [n_atoms] statistics */
    double *joints; /* [n_atoms] */
    double *x;
    weight_terms *terms; /* [2][n_atoms] of the clusters below and above */
} cutter;

/* Doubles that a cutter takes. */
static inline int64_t cut_doubles(const mapdpm_problem *p, int64_t n_atoms)
{
    return (n_atoms + 1) * statistics_size(p) + 5 * n_atoms + point_size(p) + likelihood_doubles(p);
}

static inline cutter cutter_of(const mapdpm_problem *p, double *space, int64_t n_atoms)
{
    cutter c;
    int64_t r;

    c.problem = p;
    c.likelihood = likelihood_of(p, space);
    c.size = c.likelihood.size;
    c.n_atoms = n_atoms;
    c.log_scales = p->family == MAPDPM_NORMAL_GAMMA ? log_product(c.likelihood.noise_scale, p->n_features) : 0.0;
    c.cluster = space + likelihood_doubles(p);
    c.atoms = c.cluster + c.size;
    c.joints = c.atoms + n_atoms * c.size;
    c.x = c.joints + n_atoms;
    c.terms = (weight_terms *)(void *)(c.x + point_size(p));
    for (r = 0; r < 2 * n_atoms; r++)
        c.terms[r].weight = -1.0;
    return c;
}

/* The log marginal of a Normal-Gamma cluster of weight n, but for what depends on n alone: by one logarithm. */
static inline double log_marginal_of_scales(const cutter *c, double n)
{
    const likelihood *const f = &c->likelihood;
    int64_t d;

    for (d = 0; d < f->D; d++)
        f->scratch[d] = f->noise_scale[d] + b_growth(f, c->cluster, d);
    return f->a0 * c->log_scales - (f->a0 + 0.5 * n) * log_product(f->scratch, f->D);
}

static inline double terms_of_weight(const cutter *c, double n, weight_terms *known)
{
    const likelihood *const f = &c->likelihood;

    if (known->weight != n) {
        known->weight = n;
        known->value = log_size_term(c->problem, n) +
                       (double)f->D * (log_rising(f->a0, 0.5 * n) - 0.5 * (log((f->c0 + n) / f->c0) + n * LOG_2PI));
    }
    return known->value;
}

/* Add an atom to the cluster. Returns the cluster's term of the log joint. */
static inline double log_joint_with(const cutter *c, const double *atom, weight_terms *known)
{
    const likelihood *const f = &c->likelihood;
    double n;

    statistics_merge(f, c->cluster, atom);
    n = c->cluster[0];
    if (f->kind == MAPDPM_NORMAL_GAMMA && (double)f->D * (f->a0 + 0.5 * n) <= LARGE_EXPONENT)
        return terms_of_weight(c, n, known) + log_marginal_of_scales(c, n);
    return statistics_log_marginal(f, c->cluster) + log_size_term(c->problem, n);
}

/* See mapdpm_cut. Entries of the order are in range. Returns the number of points before the cut. */
static inline int64_t best_cut(const cutter *c, const int64_t *order, double *log_joint)
{
    const likelihood *const f = &c->likelihood;
    const int64_t n = c->problem->n_points, n_atoms = c->n_atoms;
    double best = -INFINITY;
    int64_t i, r;

    for (r = 0; r < n_atoms; r++)
        statistics_clear(f, c->atoms + r * c->size);
    for (i = 0; i < n; i++) {
        const double *const x = point_of(c->problem, order[i], c->x);

        statistics_add(f, c->atoms + i * n_atoms / n * c->size, x, weight(c->problem, order[i]));
    }
    statistics_clear(f, c->cluster);
    for (r = 0; r + 1 < n_atoms; r++)
        c->joints[r] = log_joint_with(c, c->atoms + r * c->size, c->terms + r);
    statistics_clear(f, c->cluster);
    for (r = n_atoms - 1; r > 0; r--) {
        c->joints[r - 1] += log_joint_with(c, c->atoms + r * c->size, c->terms + n_atoms + r);
        best = c->joints[r - 1] > best ? c->joints[r - 1] : best;
    }
    for (r = 0; c->joints[r] < best - TOLERANCE * (1.0 + fabs(best)); r++)
        ;
    *log_joint = c->joints[r];
    return ((r + 1) * n + n_atoms - 1) / n_atoms;
}

#endif
