/* Sums in eight parts, which a processor adds side by side: the order of numpy for up to 128 numbers, and that of
 * mapdpm/data/standard.py for any. Internal.
 */
#ifndef MAPDPM_SUMS_H
#define MAPDPM_SUMS_H

#include <stdint.h>

enum { PARTIAL_SUMS = 8 };

static inline double sum_of_parts(const double *sums)
{
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

static inline double sum_of(const double *terms, int64_t n)
{
    double sums[PARTIAL_SUMS] = {0}, total;
    int64_t i, j;

    for (i = 0; i + PARTIAL_SUMS <= n; i += PARTIAL_SUMS)
        for (j = 0; j < PARTIAL_SUMS; j++)
            sums[j] += terms[i + j];
    for (total = sum_of_parts(sums); i < n; i++)
        total += terms[i];
    return total;
}

/* The sum of the products of two vectors. */
static inline double dot_of(const double *a, const double *b, int64_t n)
{
    double sums[PARTIAL_SUMS] = {0}, total;
    int64_t i, j;

    for (i = 0; i + PARTIAL_SUMS <= n; i += PARTIAL_SUMS)
        for (j = 0; j < PARTIAL_SUMS; j++)
            sums[j] += a[i + j] * b[i + j];
    for (total = sum_of_parts(sums); i < n; i++)
        total += a[i] * b[i];
    return total;
}

#endif
