/* Clusters of normals with full covariance matrices: the twin of mapdpm/likelihoods/normal_inverse_wishart.py.
 * Internal; static inlines only.
 *
 * The layout: weight, mean[D], the factor L of psi0 + scatter | constant, exponent, stretch, log |psi_n| / 2, share
 * left, pivots[D] of psi0, centre[D], the factor R of psi_n, room[2][D]. The room is that of Python's twin.
 */
#ifndef MAPDPM_FULL_NORMAL_H
#define MAPDPM_FULL_NORMAL_H

#include "families/mapdpm_triangle.h"

static inline double *full_mean(const double *row) { return (double *)(uintptr_t)row + 1; }
static inline double *full_own_factor(const double *row, int64_t D) { return (double *)(uintptr_t)row + 1 + D; }
static inline int64_t full_sufficient(int64_t D) { return 1 + D + triangle_length(D); }
static inline int64_t full_size(int64_t D) { return full_sufficient(D) + 5 + 4 * D + triangle_length(D); }
static inline double *full_constants(double *row, int64_t D) { return row + full_sufficient(D); }
static inline double *full_share_left(double *row, int64_t D) { return row + full_sufficient(D) + 4; }
static inline const double *full_pivots(const double *row, int64_t D) { return row + full_sufficient(D) + 5; }
static inline double *full_centre(double *row, int64_t D) { return row + full_sufficient(D) + 5 + D; }
static inline double *full_factor(double *row, int64_t D) { return row + full_sufficient(D) + 5 + 2 * D; }

/* The log constant of the multivariate Student t, as far as it depends on the cluster's weight alone. */
static inline double full_log_constant(const likelihood *f, double n)
{
    const double c = f->c0 + n, nu = f->nu0 + n, half = 0.5 * (double)f->D;

    return log_rising(0.5 * (nu - (double)f->D + 1.0), half) - half * (LOG_PI + log((c + 1.0) / c));
}

/* docs/maths.md (35), (36). */
static inline void full_prepare_with(const likelihood *f, double *row, double log_constant)
{
    const int64_t D = f->D;
    const double n = row[0], c = f->c0 + n, root = sqrt(f->c0 * (n / c));
    double *const constants = full_constants(row, D), *const centre = full_centre(row, D);
    double *const factor = full_factor(row, D);
    int64_t d;

    for (d = 0; d < D; d++) {
        const double delta = full_mean(row)[d] - f->m0[d];

        centre[d] = full_mean(row)[d] - f->c0 / c * delta;
        f->scratch[d] = root * delta;
    }
    memcpy(factor, full_own_factor(row, D), (size_t)triangle_length(D) * sizeof *factor);
    triangle_update(factor, f->scratch, D);
    constants[3] = triangle_log_determinant(factor, D);
    constants[0] = log_constant - constants[3];
    constants[1] = 0.5 * (f->nu0 + n + 1.0);
    constants[2] = c / (c + 1.0);
}

/* The statistics of an empty cluster; f->empty is not read. */
static inline void full_init(const likelihood *f, double *row)
{
    const int64_t D = f->D;
    double *const pivots = row + full_sufficient(D) + 5, *const L = full_own_factor(row, D);
    int64_t i;

    memset(row, 0, (size_t)full_size(D) * sizeof *row);
    for (i = 0; i < D; i++)
        memcpy(L + triangle_length(i), f->psi0 + i * D, (size_t)(i + 1) * sizeof *L);
    triangle_factorise(L, pivots, D); /* the floor is 0 here */
    for (i = 0; i < D; i++)
        pivots[i] = L[triangle_diagonal(i)];
    *full_share_left(row, D) = 1.0;
}

/* docs/maths.md (34). */
static inline void full_add(const likelihood *f, double *row, const double *x, double w)
{
    const double n = row[0], share = w / (n + w), root = sqrt(n * share);
    int64_t d;

    row[0] = n + w;
    for (d = 0; d < f->D; d++) {
        const double delta = x[d] - full_mean(row)[d];

        full_mean(row)[d] += share * delta;
        f->scratch[d] = root * delta;
    }
    triangle_update(row + 1 + f->D, f->scratch, f->D);
}

/* The inverse of full_add. It returns 0 if rounding has destroyed too much, in this removal or in all since the
 * statistics were rebuilt. */
static inline int full_remove(const likelihood *f, double *row, const double *x, double w)
{
    const double n = row[0], left = n - w, share = w / left, root = sqrt(n * share);
    int64_t d;

    if (left < LEAST_SHARE_LEFT * n)
        return 0;
    row[0] = left;
    for (d = 0; d < f->D; d++) {
        const double delta = x[d] - full_mean(row)[d];

        full_mean(row)[d] -= share * delta;
        f->scratch[d] = root * delta;
    }
    *full_share_left(row, f->D) *= triangle_downdate(row + 1 + f->D, f->scratch, f->D, LEAST_SHARE_LEFT);
    return *full_share_left(row, f->D) >= LEAST_SHARE_LEFT;
}

/* The union of two clusters, into `row`: L L' + M M' - psi0, and the squared distance of the means. Pivots stay above
 * those of psi0, for they grow with the matrix. */
static inline void full_merge(const likelihood *f, double *row, const double *other)
{
    const int64_t D = f->D;
    const double n = row[0], m = other[0], all = n + m;
    int64_t d;

    if (m == 0.0)
        return;
    for (d = 0; d < D; d++) {
        const double delta = full_mean(other)[d] - full_mean(row)[d];

        full_mean(row)[d] += delta * (m / all);
        f->scratch[d] = delta * sqrt(n * (m / all));
    }
    triangle_multiply_out(full_own_factor(row, D), full_own_factor(other, D), f->psi0, D);
    triangle_factorise(full_own_factor(row, D), full_pivots(row, D), D);
    triangle_update(full_own_factor(row, D), f->scratch, D);
    row[0] = all;
}

/* The sums of many points, in two passes over them and one factorisation a cluster: less work than a rotation for each
 * point. A row collects weight and mean by full_add_mean, then squares by full_add_square, from 0 on. */
static inline void full_add_mean(const likelihood *f, double *row, const double *x, double w)
{
    int64_t d;

    row[0] += w;
    for (d = 0; d < f->D; d++)
        full_mean(row)[d] += w / row[0] * (x[d] - full_mean(row)[d]);
}

static inline void full_add_square(const likelihood *f, double *row, const double *x, double w)
{
    double *restrict L = row + 1 + f->D, *const restrict y = f->scratch;
    int64_t i, j;

    for (i = 0; i < f->D; i++)
        y[i] = x[i] - row[1 + i];
    for (i = 0; i < f->D; L += ++i)
        for (j = 0; j <= i; j++)
            L[j] += w * y[i] * y[j];
}

/* The factor of psi0 and the squares. It returns 0 if rounding has destroyed too much: squares lose digits that
 * rotations keep, where features nearly depend on each other, as when an outlier is in the cluster. */
static inline int full_factorise_sums(const likelihood *f, double *row)
{
    double *const L = row + 1 + f->D, *const before = f->scratch, least = 1.0;
    int64_t i, j;

    for (i = 0; i < f->D; i++) {
        for (j = 0; j <= i; j++)
            L[triangle_length(i) + j] += f->psi0[i * f->D + j];
        before[i] = L[triangle_diagonal(i)];
    }
    triangle_factorise(L, full_pivots(row, f->D), f->D);
    for (i = 0; i < f->D; i++) {
        const double pivot = L[triangle_diagonal(i)], left = pivot * pivot / before[i];

        least = left < least ? left : least;
    }
    return least >= LEAST_SHARE_LEFT;
}

/* |factor^-1 (x - centre)|^2. */
static inline double full_distance(const likelihood *f, const double *factor, const double *centre, const double *x)
{
    double *const inverse = f->scratch + f->D, total = 0.0;

    triangle_invert_diagonal(factor, inverse, f->D);
    triangle_solve(factor, inverse, x, centre, f->scratch, f->D, &total);
    return total;
}

static inline double full_log_predictive(const likelihood *f, double *row, const double *x)
{
    const double *const constants = full_constants(row, f->D);

    return constants[0] -
           constants[1] * log1p(constants[2] * full_distance(f, full_factor(row, f->D), full_centre(row, f->D), x));
}

/* docs/maths.md (37). */
static inline double full_log_predictive_weighted(const likelihood *f, double *row, const double *x, double w)
{
    const int64_t D = f->D;
    const double c = f->c0 + row[0], nu = f->nu0 + row[0];
    double gain = 0.5 * (double)D * (log(c / (c + w)) - w * LOG_PI) - w * full_constants(row, D)[3];
    int64_t j;

    for (j = 0; j < D; j++)
        gain += log_rising(0.5 * (nu - (double)j), 0.5 * w);
    return gain - 0.5 * (nu + w) *
                      log1p(w * c / (c + w) * full_distance(f, full_factor(row, D), full_centre(row, D), x));
}

/* c0 n / c_n |L^-1 (mean - m0)|^2: |psi_n| is 1 + that, times |L|^2. */
static inline double full_pull(const likelihood *f, const double *row)
{
    return f->c0 * (row[0] / (f->c0 + row[0])) * full_distance(f, row + 1 + f->D, f->m0, row + 1);
}

/* docs/maths.md (35). */
static inline double full_log_marginal(const likelihood *f, const double *row)
{
    const int64_t D = f->D;
    const double n = row[0], *const L = full_own_factor(row, D), *const pivots = full_pivots(row, D);
    double grown = log1p(full_pull(f, row)), log_prior = 0.0, total;
    int64_t d;

    for (d = 0; d < D; d++) {
        grown += 2.0 * log(L[triangle_diagonal(d)] / pivots[d]);
        log_prior += 2.0 * log(pivots[d]);
    }
    total = -0.5 * (f->nu0 + n) * grown - 0.5 * n * log_prior;
    total -= 0.5 * (double)D * (log((f->c0 + n) / f->c0) + n * LOG_PI);
    for (d = 0; d < D; d++)
        total += log_rising(0.5 * (f->nu0 - (double)d), 0.5 * n);
    return total;
}

/* sum_j log Gamma((nu - j) / 2) less D (nu / 2 log(nu / 2) - nu / 2), without its large terms. */
static inline double full_excess(double nu, int64_t D)
{
    double total = 0.0;
    int64_t j;

    for (j = 0; j < D; j++) {
        const double a = 0.5 * (nu - (double)j);

        total += log_gamma_excess(a) + a * log1p(-(double)j / nu) - 0.5 * (double)j * (log(0.5 * nu) - 1.0);
    }
    return total;
}

/* docs/maths.md (38): by ratios of determinants, for the marginals themselves are large and nearly cancel. */
static inline double full_log_merge(const likelihood *f, const double *both, const double *row, const double *other)
{
    const int64_t D = f->D;
    const double c0 = f->c0, nu0 = f->nu0, nu = nu0 + both[0], nu1 = nu0 + row[0], nu2 = nu0 + other[0];
    const double *const pivots = full_pivots(both, D), u = log1p(full_pull(f, both));
    double r0 = -u - (double)D * log(nu0 / nu), r1 = log1p(full_pull(f, row)) - u - (double)D * log(nu1 / nu);
    double r2 = log1p(full_pull(f, other)) - u - (double)D * log(nu2 / nu), total;
    int64_t d;

    for (d = 0; d < D; d++) {
        const int64_t p = 1 + D + triangle_diagonal(d);

        r0 += 2.0 * log(pivots[d] / both[p]);
        r1 += 2.0 * log(row[p] / both[p]);
        r2 += 2.0 * log(other[p] / both[p]);
    }
    total = 0.5 * (nu1 * r1 + nu2 * r2 - nu0 * r0);
    total += 0.5 * (double)D * log((c0 + row[0]) / c0 * ((c0 + other[0]) / (c0 + both[0])));
    return total + full_excess(nu, D) + full_excess(nu0, D) - full_excess(nu1, D) - full_excess(nu2, D);
}

#endif
