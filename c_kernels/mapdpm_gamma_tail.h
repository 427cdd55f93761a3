/* Tails of Gamma variables, which may be too small for a real. Internal; static inlines. */
#ifndef MAPDPM_GAMMA_TAIL_H
#define MAPDPM_GAMMA_TAIL_H

#include "mapdpm_learner.h"

/* The number factor exp(-nats). */
typedef struct {
    real nats;
    real factor;
} small_number;

/* *sum += weight * x, where x may be far smaller than the sum. */
static inline void add_small(small_number *sum, real weight, small_number x)
{
    if (!(sum->factor > 0) || x.nats < sum->nats) {
        sum->factor = sum->factor > 0 ? sum->factor * math_exp(x.nats - sum->nats) : 0;
        sum->factor += weight * x.factor;
        sum->nats = x.nats;
    } else if (x.nats < sum->nats + NEGLIGIBLE) {
        sum->factor += weight * x.factor * math_exp(sum->nats - x.nats);
    }
}

/* exp(z^2) erfc(z) for z >= 0, with a relative error of 1.2e-7 (Press et al., Numerical Recipes, erfcc). */
static inline real scaled_erfc(real z)
{
    static const real c[] = {(real)0.17087277,  (real)-0.82215223, (real)1.48851587, (real)-1.13520398,
                             (real)0.27886807,  (real)-0.18628806, (real)0.09678418, (real)0.37409196,
                             (real)1.00002368,  (real)-1.26551223};
    const real t = 1 / (1 + HALF * z);
    real polynomial = 0;
    size_t i;

    for (i = 0; i < sizeof c / sizeof *c; i++)
        polynomial = polynomial * t + c[i];
    return t * math_exp(polynomial);
}

/* P(Z > r) of a standard normal Z. */
static inline small_number normal_tail(real r)
{
    const real z = (r < 0 ? -r : r) * (real)0.70710678118654752;
    small_number tail;

    tail.nats = z * z;
    tail.factor = HALF * scaled_erfc(z);
    if (r < 0) {
        tail.factor = 1 - tail.factor * math_exp(-tail.nats);
        tail.nats = 0;
    }
    return tail;
}

/* P(G > x) of a Gamma variable G of shape n / 2, for x > 0 and n <= MOST_TERMS: a finite sum (docs/maths.md (117)). */
enum { MOST_TERMS = 32 };
static inline small_number short_tail(uint32_t n, real x)
{
    static const real reciprocals[MOST_TERMS - 2] = {
        (real)(2.0 / 1), (real)(2.0 / 2), (real)(2.0 / 3), (real)(2.0 / 4), (real)(2.0 / 5),
        (real)(2.0 / 6), (real)(2.0 / 7), (real)(2.0 / 8), (real)(2.0 / 9), (real)(2.0 / 10),
        (real)(2.0 / 11), (real)(2.0 / 12), (real)(2.0 / 13), (real)(2.0 / 14), (real)(2.0 / 15),
        (real)(2.0 / 16), (real)(2.0 / 17), (real)(2.0 / 18), (real)(2.0 / 19), (real)(2.0 / 20),
        (real)(2.0 / 21), (real)(2.0 / 22), (real)(2.0 / 23), (real)(2.0 / 24), (real)(2.0 / 25),
        (real)(2.0 / 26), (real)(2.0 / 27), (real)(2.0 / 28), (real)(2.0 / 29), (real)(2.0 / 30)};
    const real bounded = x < 500 ? x : 500; /* so that no power overflows */
    const uint32_t least = n % 2 ? 1 : 0;
    small_number tail = {x, 1};
    uint32_t i;

    for (i = n; i > least + 2; i -= 2)
        tail.factor = 1 + bounded * reciprocals[i - 3] * tail.factor;
    if (least) {
        const real inverse = math_inverse_root(x), root = x * inverse;

        tail.factor = scaled_erfc(root) + (n > 1 ? (real)1.1283791670955126 * root * tail.factor : 0);
    }
    return tail;
}

/* The same for any shape k: a saddlepoint, Barndorff-Nielsen's r* (docs/maths.md (118)). From k = 16 on it is at most
 * 0.2 % too large, for all tails down to 1e-20. */
static inline small_number long_tail(real k, real x)
{
    const real d = x / k - 1;
    real q, r; /* q = 2 (d - log(1 + d)) / d^2, without what cancels */

    if (d < (real)0.4 && d > (real)-0.4) {
        const real s = d / (2 + d), w = s * s;
        const real series = (real)(1.0 / 3) +
                            w * ((real)(1.0 / 5) +
                                 w * ((real)(1.0 / 7) +
                                      w * ((real)(1.0 / 9) + w * ((real)(1.0 / 11) + w * (real)(1.0 / 13)))));

        q = (2 - 4 * s * series / (2 + d)) / (2 + d);
    } else {
        q = 2 * (d - math_log(1 + d)) / (d * d);
    }
    r = d * k * q * math_inverse_root(k * q);
    if (d < (real)1e-3 && d > (real)-1e-3)
        return normal_tail(r + math_inverse_root(k) / 3);
    return normal_tail(r - HALF * math_log(q) / r);
}

/* P(G > x) of a Gamma variable G of shape n / 2: half a chi-square of n degrees of freedom. */
static inline small_number gamma_tail(uint32_t n, real x)
{
    static const small_number all = {0, 1};

    if (!(x > (real)1e-6))
        return all;
    return n <= MOST_TERMS ? short_tail(n, x) : long_tail(HALF * (real)n, x);
}

#endif
