/* Lower triangular matrices, packed row by row: Cholesky factors that follow their matrix. The twin of
 * mapdpm/likelihoods/_triangle.py. Internal; static inlines only.
 */
#ifndef MAPDPM_TRIANGLE_H
#define MAPDPM_TRIANGLE_H

#include "families/mapdpm_likelihood.h"

/* How many entries there are. */
static inline int64_t triangle_length(int64_t D) { return D * (D + 1) / 2; }
/* The index of entry (i, i). */
static inline int64_t triangle_diagonal(int64_t i) { return i * (i + 3) / 2; }

/* Log of the product of the diagonal, by one logarithm where it does not overflow. */
static inline double triangle_log_determinant(const double *L, int64_t D)
{
    double product = 1.0, total = 0.0;
    int64_t i;

    for (i = 0; i < D; i++) {
        product *= L[triangle_diagonal(i)];
        if (product > PRODUCT_HUGE || product < PRODUCT_TINY) {
            total += log(product);
            product = 1.0;
        }
    }
    return total + log(product);
}

/* 1 / L_ii. */
static inline void triangle_invert_diagonal(const double *L, double *inverse, int64_t D)
{
    int64_t i;

    for (i = 0; i < D; i++)
        inverse[i] = 1.0 / L[triangle_diagonal(i)];
}

#define SOLVE triangle_solve
#define SOLVE_NUMBER double
#include "arithmetic/mapdpm_solve.h"

/* The factor of L L' + v v' in place of L, by rotations; v is overwritten. */
static inline void triangle_update(double *L, double *v, int64_t D)
{
    int64_t i, j;

    for (j = 0; j < D; j++) {
        double *p = L + triangle_diagonal(j);
        const double r = sqrt(*p * *p + v[j] * v[j]), c = *p / r, s = v[j] / r;

        *p = r;
        for (i = j + 1; i < D; i++) {
            const double t = *(p += i);

            *p = c * t + s * v[i];
            v[i] = c * v[i] - s * t;
        }
    }
}

/* The factor of L L' - v v' in place of L, by the rotations that turn (L^-1 v, sqrt(share)) into a unit vector
 * (LINPACK's dchdd). Returns the share of L L' that is left in the direction that loses most; below `least` nothing
 * changes. v[2 D]: v, and room for D numbers. */
static inline double triangle_downdate(double *L, double *v, int64_t D, double least)
{
    double *const cosines = v + D, share = 1.0, r;
    int64_t i, j;

    for (i = 0; i < D; i++) {
        const double *const row = L + triangle_length(i);
        double t = v[i];

        for (j = 0; j < i; j++)
            t -= row[j] * v[j];
        v[i] = t / row[i];
        share -= v[i] * v[i];
    }
    if (share < least)
        return share;
    r = sqrt(share);
    for (j = D - 1; j >= 0; j--) {
        const double longer = sqrt(r * r + v[j] * v[j]);

        cosines[j] = r / longer;
        v[j] /= longer;
        r = longer;
    }
    for (i = 0; i < D; i++) {
        double *const row = L + triangle_length(i), carried = 0.0;

        for (j = i; j >= 0; j--) {
            const double t = cosines[j] * carried + v[j] * row[j];

            row[j] = cosines[j] * row[j] - v[j] * carried;
            carried = t;
        }
    }
    return share;
}

/* The factor of the matrix whose lower triangle is there, in its place; no pivot below `floor`. */
static inline void triangle_factorise(double *L, const double *floor, int64_t D)
{
    int64_t i, j, k;

    for (i = 0; i < D; i++) {
        double *const row = L + triangle_length(i);

        for (j = 0; j <= i; j++) {
            const double *const other = L + triangle_length(j);
            double t = row[j];

            for (k = 0; k < j; k++)
                t -= row[k] * other[k];
            if (j < i)
                row[j] = t / other[j];
            else
                row[j] = sqrt(t > floor[i] * floor[i] ? t : floor[i] * floor[i]);
        }
    }
}

/* The lower triangle of L L' + M M' - less[D][D] in place of L. Downwards: what is overwritten is not needed any
 * more. */
static inline void triangle_multiply_out(double *L, const double *M, const double *less, int64_t D)
{
    int64_t i, j, k;

    for (i = D - 1; i >= 0; i--) {
        double *const row = L + triangle_length(i);
        const double *const row_of_m = M + triangle_length(i);

        for (j = i; j >= 0; j--) {
            const double *const other = L + triangle_length(j), *const other_of_m = M + triangle_length(j);
            double t = -less[i * D + j];

            for (k = 0; k <= j; k++)
                t += row[k] * other[k] + row_of_m[k] * other_of_m[k];
            row[j] = t;
        }
    }
}

#endif
