/* Tails of Gamma variables, which may be too small for a real. Internal; static inlines. */
#ifndef MAPDPM_GAMMA_TAIL_H
#define MAPDPM_GAMMA_TAIL_H

#include "learner/mapdpm_learner.h"

/* The number factor exp(-nats). */
typedef struct {
    md_real nats;
    md_real factor;
} small_number;

/* The functions below are off by 1e-6 at most, relative. Tails need no more, and the functions of mapdpm_math.h take
 * longer. */

/* exp(-x) for 0 <= x <= NEGLIGIBLE; beyond, that of NEGLIGIBLE. */
static inline md_real exp_of_minus(md_real x)
{
    const md_real shift = FLOAT_OR_DOUBLE(12582912, 6755399441055744.0); /* adding it rounds to an integer */
    const md_real y = x < NEGLIGIBLE ? -x : -NEGLIGIBLE, k = y * (md_real)1.4426950408889634 + shift - shift;
    const md_real r = (y - k * MATH_LN2_HIGH) - k * MATH_LN2_LOW;

    return math_power_of_2((int)k) *
           (1 + r * (1 + r * ((md_real)0.5 +
                              r * ((md_real)(1.0 / 6) + r * ((md_real)(1.0 / 24) +
                                                             r * ((md_real)(1.0 / 120) + r * (md_real)(1.0 / 720)))))));
}

/* x^(-1/2) for a normal x > 0: Newton's steps from half the exponent, as the bits of x give it. No branches, so that
 * compilers vectorise it. */
static inline md_real quick_inverse_root(md_real x)
{
    md_real y;
    int i;

    if (MATH_IS_FLOAT) {
        uint32_t bits;

        memcpy(&bits, &x, 4);
        bits = 0x5f3759dfu - (bits >> 1);
        memcpy(&y, &bits, 4);
    } else {
        uint64_t bits;

        memcpy(&bits, &x, sizeof x);
        bits = UINT64_C(0x5fe6eb50c7b537a9) - (bits >> 1);
        memcpy(&y, &bits, sizeof y);
    }
    for (i = 0; i < 3; i++)
        y *= (md_real)1.5 - MD_HALF * x * y * y;
    return y;
}

/* *sum += weight * x, where x may be far smaller than the sum. */
static inline void add_small(small_number *sum, md_real weight, small_number x)
{
    if (!(sum->factor > 0) || x.nats < sum->nats) {
        sum->factor = sum->factor > 0 ? sum->factor * exp_of_minus(sum->nats - x.nats) : 0;
        sum->factor += weight * x.factor;
        sum->nats = x.nats;
    } else if (x.nats < sum->nats + NEGLIGIBLE) {
        sum->factor += weight * x.factor * exp_of_minus(x.nats - sum->nats);
    }
}

/* exp(z^2) erfc(z) for z >= 0: t times a polynomial in t = 1 / (1 + 0.45 z), by minimax, off by 3.3e-8 at most. */
static inline md_real scaled_erfc(md_real z)
{
    const md_real t = 1 / (1 + (md_real)0.45 * z);

    return t *
           ((md_real)0.253885321 +
            t * ((md_real)0.253883163 +
                 t * ((md_real)0.228271639 +
                      t * ((md_real)0.175252164 +
                           t * ((md_real)0.119950227 +
                                t * ((md_real)-0.0223572923 +
                                     t * ((md_real)0.142399784 +
                                          t * ((md_real)-0.300581238 +
                                               t * ((md_real)0.190687196 - t * (md_real)0.041390949)))))))));
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

/* P(G > x) exp(x) of Gamma variables G of shape n_features / 2, at most MOST_TERMS / 2, for each x > 0 of a block: a finite
 * sum (docs/maths.md (117)). */
enum { MOST_TERMS = 32 };
static inline void short_tails(uint32_t n_features, const md_real *x, md_real *tails)
{
    static const md_real reciprocals[MOST_TERMS - 2] = {
        (md_real)(2.0 / 1),  (md_real)(2.0 / 2),  (md_real)(2.0 / 3),  (md_real)(2.0 / 4),  (md_real)(2.0 / 5),
        (md_real)(2.0 / 6),  (md_real)(2.0 / 7),  (md_real)(2.0 / 8),  (md_real)(2.0 / 9),  (md_real)(2.0 / 10),
        (md_real)(2.0 / 11), (md_real)(2.0 / 12), (md_real)(2.0 / 13), (md_real)(2.0 / 14), (md_real)(2.0 / 15),
        (md_real)(2.0 / 16), (md_real)(2.0 / 17), (md_real)(2.0 / 18), (md_real)(2.0 / 19), (md_real)(2.0 / 20),
        (md_real)(2.0 / 21), (md_real)(2.0 / 22), (md_real)(2.0 / 23), (md_real)(2.0 / 24), (md_real)(2.0 / 25),
        (md_real)(2.0 / 26), (md_real)(2.0 / 27), (md_real)(2.0 / 28), (md_real)(2.0 / 29), (md_real)(2.0 / 30)};
    const md_real most = 500; /* so that no power overflows */
    const md_real with_root = n_features > 1 ? (md_real)1.1283791670955126 : 0;
    const uint32_t least = n_features % 2;
    uint32_t i, j;

    for (j = 0; j < MD_BLOCK; j++)
        tails[j] = 1;
    for (i = n_features; i > least + 2; i -= 2)
        for (j = 0; j < MD_BLOCK; j++)
            tails[j] = 1 + (x[j] < most ? x[j] : most) * reciprocals[i - 3] * tails[j];
    for (j = 0; least && j < MD_BLOCK; j++) {
        const md_real root = x[j] * quick_inverse_root(x[j]);

        tails[j] = scaled_erfc(root) + with_root * root * tails[j];
    }
}

/* The same for any shape k: a saddlepoint, Barndorff-Nielsen's r* (docs/maths.md (118)). From k = 16 on it is at most
 * 0.2 % too large, for all tails down to 1e-20. */
static inline small_number long_tail(md_real k, md_real x)
{
    const md_real ratio = x / k, d = ratio - 1;
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
        q = 2 * (d - math_log(ratio)) / (d * d); /* not 1 + d, which rounds to 0 */
    }
    r = d * k * q * math_inverse_root(k * q);
    if (d < (md_real)1e-3 && d > (md_real)-1e-3)
        return normal_tail(r + math_inverse_root(k) / 3);
    return normal_tail(r - MD_HALF * math_log(q) / r);
}

/* *sum += sum_j weights[j] P(G > x[j]), over the first n of a block, of Gamma variables G of shape n_features / 2: half a
 * chi-square. */
static inline void add_tails(small_number *sum, uint32_t n_features, uint32_t n, const md_real *weights, md_real *x)
{
    md_real factors[MD_BLOCK];
    uint32_t j;

    if (n_features > MOST_TERMS) {
        for (j = 0; j < n; j++)
            add_small(sum, weights[j], long_tail(MD_HALF * (md_real)n_features, x[j]));
        return;
    }
    for (j = n; j < MD_BLOCK; j++)
        x[j] = 1;
    short_tails(n_features, x, factors);
    for (j = 0; j < n; j++) {
        const small_number tail = {x[j], factors[j]};

        add_small(sum, weights[j], tail);
    }
}

#endif
