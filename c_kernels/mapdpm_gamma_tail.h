/* Tails of Gamma variables, which may be too small for a real. Internal; static inlines. */
#ifndef MAPDPM_GAMMA_TAIL_H
#define MAPDPM_GAMMA_TAIL_H

#include "mapdpm_learner.h"

/* The number factor exp(-nats). */
typedef struct {
    md_real nats;
    md_real factor;
} small_number;

/* *sum += weight * x, where x may be far smaller than the sum. */
static inline void add_small(small_number *sum, md_real weight, small_number x)
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
static inline md_real scaled_erfc(md_real z)
{
    static const md_real c[] = {(md_real)0.17087277, (md_real)-0.82215223, (md_real)1.48851587, (md_real)-1.13520398,
                                (md_real)0.27886807, (md_real)-0.18628806, (md_real)0.09678418, (md_real)0.37409196,
                                (md_real)1.00002368, (md_real)-1.26551223};
    const md_real t = 1 / (1 + MD_HALF * z);
    md_real polynomial = 0;
    size_t i;

    for (i = 0; i < sizeof c / sizeof *c; i++)
        polynomial = polynomial * t + c[i];
    return t * math_exp(polynomial);
}

/* P(Z > r) of a standard normal Z. */
static inline small_number normal_tail(md_real r)
{
    const md_real z = (r < 0 ? -r : r) * (md_real)0.70710678118654752;
    small_number tail;

    tail.nats = z * z;
    tail.factor = MD_HALF * scaled_erfc(z);
    if (r < 0) {
        tail.factor = 1 - tail.factor * math_exp(-tail.nats);
        tail.nats = 0;
    }
    return tail;
}

/* P(G > x) of a Gamma variable G of shape n / 2, for x > 0 and n <= MOST_TERMS: a finite sum (docs/maths.md (117)). */
enum { MOST_TERMS = 32 };
static inline small_number short_tail(uint32_t n, md_real x)
{
    static const md_real reciprocals[MOST_TERMS - 2] = {
        (md_real)(2.0 / 1),  (md_real)(2.0 / 2),  (md_real)(2.0 / 3),  (md_real)(2.0 / 4),  (md_real)(2.0 / 5),
        (md_real)(2.0 / 6),  (md_real)(2.0 / 7),  (md_real)(2.0 / 8),  (md_real)(2.0 / 9),  (md_real)(2.0 / 10),
        (md_real)(2.0 / 11), (md_real)(2.0 / 12), (md_real)(2.0 / 13), (md_real)(2.0 / 14), (md_real)(2.0 / 15),
        (md_real)(2.0 / 16), (md_real)(2.0 / 17), (md_real)(2.0 / 18), (md_real)(2.0 / 19), (md_real)(2.0 / 20),
        (md_real)(2.0 / 21), (md_real)(2.0 / 22), (md_real)(2.0 / 23), (md_real)(2.0 / 24), (md_real)(2.0 / 25),
        (md_real)(2.0 / 26), (md_real)(2.0 / 27), (md_real)(2.0 / 28), (md_real)(2.0 / 29), (md_real)(2.0 / 30)};
    const md_real bounded = x < 500 ? x : 500; /* so that no power overflows */
    const uint32_t least = n % 2 ? 1 : 0;
    small_number tail = {x, 1};
    uint32_t i;

    for (i = n; i > least + 2; i -= 2)
        tail.factor = 1 + bounded * reciprocals[i - 3] * tail.factor;
    if (least) {
        const md_real inverse = math_inverse_root(x), root = x * inverse;

        tail.factor = scaled_erfc(root) + (n > 1 ? (md_real)1.1283791670955126 * root * tail.factor : 0);
    }
    return tail;
}

/* The same for any shape k: a saddlepoint, Barndorff-Nielsen's r* (docs/maths.md (118)). From k = 16 on it is at most
 * 0.2 % too large, for all tails down to 1e-20. */
static inline small_number long_tail(md_real k, md_real x)
{
    const md_real d = x / k - 1;
    md_real q, r; /* q = 2 (d - log(1 + d)) / d^2, without what cancels */

    if (d < (md_real)0.4 && d > (md_real)-0.4) {
        const md_real s = d / (2 + d), w = s * s;
        const md_real series =
            (md_real)(1.0 / 3) +
            w * ((md_real)(1.0 / 5) +
                 w * ((md_real)(1.0 / 7) +
                      w * ((md_real)(1.0 / 9) + w * ((md_real)(1.0 / 11) + w * (md_real)(1.0 / 13)))));

        q = (2 - 4 * s * series / (2 + d)) / (2 + d);
    } else {
        q = 2 * (d - math_log(1 + d)) / (d * d);
    }
    r = d * k * q * math_inverse_root(k * q);
    if (d < (md_real)1e-3 && d > (md_real)-1e-3)
        return normal_tail(r + math_inverse_root(k) / 3);
    return normal_tail(r - MD_HALF * math_log(q) / r);
}

/* P(G > x) of a Gamma variable G of shape n / 2: half a chi-square of n degrees of freedom. */
static inline small_number gamma_tail(uint32_t n, md_real x)
{
    static const small_number all = {0, 1};

    if (!(x > (md_real)1e-6))
        return all;
    return n <= MOST_TERMS ? short_tail(n, x) : long_tail(MD_HALF * (md_real)n, x);
}

#endif
