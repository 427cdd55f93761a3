/* Clusters of points with missing values, under families of independent features: the twin of
 * mapdpm/likelihoods/_skipping.py. Internal; static inlines only.
 *
 * A feature of a cluster is a cluster of one feature, whose points are those with a value there. The layout: weight,
 * then of each feature count[D], mean[D], squares[D] | constant[D], exponent[D], log scale[D], share left[D], centre[D],
 * scale[D]. What a feature has is gathered, and the functions of mapdpm_diagonal.h do the rest.
 */
#ifndef MAPDPM_SKIPPING_H
#define MAPDPM_SKIPPING_H

#include "families/mapdpm_diagonal.h"

/* What each feature has. */
enum {
    FEATURE_COUNT,
    FEATURE_MEAN,
    FEATURE_SQUARES,
    FEATURE_CONSTANT,
    FEATURE_EXPONENT,
    FEATURE_LOG_SCALE,
    FEATURE_SHARE_LEFT,
    FEATURE_CENTRE,
    FEATURE_SCALE,
    FEATURE_ENTRIES
};

static inline int64_t skipping_sufficient(int64_t D) { return 1 + FEATURE_CONSTANT * D; }
static inline int64_t skipping_size(int64_t D) { return 1 + FEATURE_ENTRIES * D; }
/* One entry of all features. */
static inline double *entries_of(double *row, int64_t D, int entry) { return row + 1 + entry * D; }
static inline int is_there(double x) { return x == x; }

/* The family of one feature. */
ALWAYS_INLINE likelihood feature_of(const likelihood *f, int64_t d)
{
    likelihood one = *f;

    one.kind = plain_family(f->kind);
    one.D = 1;
    one.m0 = f->m0 + d;
    one.noise_scale = f->noise_scale + d;
    one.prior_variance = f->prior_variance ? f->prior_variance + d : NULL;
    one.resolution = f->resolution ? f->resolution + d : NULL;
    return one;
}

ALWAYS_INLINE void gather(const double *row, int64_t D, int64_t d, double *own)
{
    int j;

    for (j = 0; j < FEATURE_ENTRIES; j++)
        own[j] = row[1 + j * D + d];
}

ALWAYS_INLINE void scatter(double *row, int64_t D, int64_t d, const double *own)
{
    int j;

    for (j = 0; j < FEATURE_ENTRIES; j++)
        row[1 + j * D + d] = own[j];
}

/* Compute the derived entries of a feature. */
ALWAYS_INLINE void skipping_prepare_feature(const likelihood *f, double *row, int64_t d, double log_constant)
{
    const likelihood one = feature_of(f, d);
    double own[FEATURE_ENTRIES];

    gather(row, f->D, d, own);
    diagonal_prepare_with(&one, own, log_constant, own + FEATURE_SCALE);
    scatter(row, f->D, d, own);
}

static inline double skipping_log_constant(const likelihood *f, double n)
{
    const likelihood one = feature_of(f, 0);

    return student_log_constant(&one, n);
}

static inline void skipping_prepare(const likelihood *f, double *row)
{
    int64_t d;

    for (d = 0; d < f->D; d++)
        skipping_prepare_feature(f, row, d, skipping_log_constant(f, row[1 + d]));
}

/* The statistics of an empty cluster; f->empty is not read. */
static inline void skipping_init(const likelihood *f, double *row)
{
    int64_t d;

    memset(row, 0, (size_t)skipping_size(f->D) * sizeof *row);
    for (d = 0; d < f->D; d++)
        entries_of(row, f->D, FEATURE_SHARE_LEFT)[d] = 1.0;
}

static inline void skipping_add(const likelihood *f, double *row, const double *x, double w)
{
    int64_t d;

    row[0] += w;
    for (d = 0; d < f->D; d++)
        if (is_there(x[d])) {
            const likelihood one = feature_of(f, d);
            double own[FEATURE_ENTRIES];

            gather(row, f->D, d, own);
            diagonal_add(&one, own, x + d, w);
            scatter(row, f->D, d, own);
        }
}

/* The inverse of skipping_add. A feature that loses its last point is empty; whole weights say so exactly. */
static inline int skipping_remove(const likelihood *f, double *row, const double *x, double w)
{
    const double left = row[0] - w;
    const int is_whole = w == floor(w);
    int64_t d;

    if (left < LEAST_SHARE_LEFT * row[0] && !(left > 0.0 && is_whole && row[0] == floor(row[0])))
        return 0;
    row[0] = left;
    for (d = 0; d < f->D; d++)
        if (is_there(x[d])) {
            const likelihood one = feature_of(f, d);
            double own[FEATURE_ENTRIES];
            int is_fine = 1;

            gather(row, f->D, d, own);
            if (own[FEATURE_COUNT] == w && is_whole)
                gather(f->empty, f->D, d, own);
            else
                is_fine = diagonal_remove(&one, own, x + d, w);
            scatter(row, f->D, d, own);
            if (!is_fine)
                return 0;
        }
    return 1;
}

static inline void skipping_merge(const likelihood *f, double *row, const double *other)
{
    int64_t d;

    row[0] += other[0];
    for (d = 0; d < f->D; d++) {
        const likelihood one = feature_of(f, d);
        double own[FEATURE_ENTRIES], added[FEATURE_CONSTANT];
        int j;

        gather(row, f->D, d, own);
        for (j = 0; j < FEATURE_CONSTANT; j++)
            added[j] = other[1 + j * f->D + d];
        diagonal_merge(&one, own, added);
        scatter(row, f->D, d, own);
    }
}

/* log p(x | row). Loops over features run as vectors: a term with a missing value is NaN, and left out last. */
ALWAYS_INLINE double skipping_log_predictive(const likelihood *f, double *row, const double *x)
{
    const int64_t D = f->D;
    const double *const restrict constant = entries_of(row, D, FEATURE_CONSTANT);
    const double *const restrict exponent = entries_of(row, D, FEATURE_EXPONENT);
    const double *const restrict centre = entries_of(row, D, FEATURE_CENTRE);
    const double *const restrict scale = entries_of(row, D, FEATURE_SCALE);
    double *const restrict terms = f->scratch, sums[ACCUMULATORS] = {0, 0, 0, 0};
    int64_t d, j;

    if (plain_family(f->kind) == MAPDPM_NORMAL_GAMMA)
        for (d = 0; d < D; d++) {
            const double t = x[d] - centre[d];

            terms[d] = constant[d] - exponent[d] * log1p_of(t * t * scale[d]) + (t - t);
        }
    else
        for (d = 0; d < D; d++) {
            const double t = x[d] - centre[d];

            terms[d] = constant[d] - t * t * scale[d];
        }
    for (d = 0; d < D; d++)
        terms[d] = is_there(terms[d]) ? terms[d] : 0.0;
    for (d = 0; d + ACCUMULATORS <= D; d += ACCUMULATORS)
        for (j = 0; j < ACCUMULATORS; j++)
            sums[j] += terms[d + j];
    for (j = 0; d + j < D; j++)
        sums[j] += terms[d + j];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static inline double skipping_log_predictive_weighted(const likelihood *f, double *row, const double *x, double w)
{
    double total = 0.0;
    int64_t d;

    for (d = 0; d < f->D; d++)
        if (is_there(x[d])) {
            const likelihood one = feature_of(f, d);
            double own[FEATURE_ENTRIES];

            gather(row, f->D, d, own);
            total += diagonal_log_predictive_weighted(&one, own, x + d, w);
        }
    return total;
}

static inline double skipping_log_marginal(const likelihood *f, const double *row)
{
    double total = 0.0;
    int64_t d;

    for (d = 0; d < f->D; d++) {
        const likelihood one = feature_of(f, d);
        double own[FEATURE_ENTRIES];

        gather(row, f->D, d, own);
        total += diagonal_log_marginal(&one, own);
    }
    return total;
}

/* The sum over the features of which both have points: elsewhere the union is one of the two. */
static inline double skipping_log_merge(const likelihood *f, const double *both, const double *row, const double *other)
{
    double total = 0.0;
    int64_t d;

    for (d = 0; d < f->D; d++)
        if (row[1 + d] > 0.0 && other[1 + d] > 0.0) {
            const likelihood one = feature_of(f, d);
            double three[3][FEATURE_ENTRIES];

            gather(both, f->D, d, three[0]);
            gather(row, f->D, d, three[1]);
            gather(other, f->D, d, three[2]);
            total += diagonal_log_merge(&one, three[0], three[1], three[2]);
        }
    return total;
}

#endif
