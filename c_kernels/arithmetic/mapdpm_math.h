/* Logarithm, exponential, root, sine and differences of log-gamma, without libm: the same bits on any machine with IEEE
 * reals, compiled with -ffp-contract=off. libm does not promise that. No double in a float build. Internal; static
 * inlines.
 *
 * docs/maths.md, section 10, lists the largest errors, in units of the last place (ulp) of the result, or in 1e-16
 * (double) and 1e-8 (float) where the result crosses 0. tests/test_math.c measures them.
 */
#ifndef MAPDPM_MATH_H
#define MAPDPM_MATH_H

#include "mapdpm_switches.h"

enum { MATH_IS_FLOAT = sizeof(mapdpm_real) == 4 ? 1 : 0 };

/* In a double build, constants must be doubles. */
typedef char compile_without_single_precision_constant[MATH_IS_FLOAT || sizeof(1.0) == sizeof(mapdpm_real) ? 1 : -1];

#define MATH_LN2_HIGH FLOAT_OR_DOUBLE(6.9313812256e-01, 6.93147180369123816490e-01)
#define MATH_LN2_LOW FLOAT_OR_DOUBLE(9.0580006145e-06, 1.90821492927058770002e-10)
#define MATH_LOG_2PI ((mapdpm_real)1.8378770664093453)
#define MATH_PI ((mapdpm_real)3.14159265358979324)

/* x = 2^k (1 + f), with f in [sqrt(1/2) - 1, sqrt(2) - 1]. x is normal. */
static inline int math_split(mapdpm_real x, mapdpm_real *f)
{
    int k;

    if (MATH_IS_FLOAT) {
        uint32_t bits;

        memcpy(&bits, &x, 4);
        bits += 0x3f800000u - 0x3f3504f3u;
        k = (int)(bits >> 23) - 127;
        bits = (bits & 0x007fffffu) + 0x3f3504f3u;
        memcpy(&x, &bits, 4);
    } else {
        uint64_t bits;

        memcpy(&bits, &x, sizeof x);
        bits += UINT64_C(0x3ff0000000000000) - UINT64_C(0x3fe6a09e667f3bcd);
        k = (int)(bits >> 52) - 1023;
        bits = (bits & UINT64_C(0x000fffffffffffff)) + UINT64_C(0x3fe6a09e667f3bcd);
        memcpy(&x, &bits, sizeof x);
    }
    *f = x - 1;
    return k;
}

/* The NaN with the same bits everywhere. */
static inline mapdpm_real math_nan(void)
{
    const uint32_t single = 0x7fc00000u;
    const uint64_t whole = UINT64_C(0x7ff8000000000000);
    mapdpm_real value;

    if (sizeof value == 4)
        memcpy(&value, &single, 4);
    else
        memcpy(&value, &whole, sizeof value);
    return value;
}

/* The bits of x, the lowest ones in float. */
static inline uint64_t math_bits(mapdpm_real x)
{
    uint64_t bits = 0;
    uint32_t word;

    if (!MATH_IS_FLOAT) {
        memcpy(&bits, &x, sizeof x);
        return bits;
    }
    memcpy(&word, &x, 4);
    return word;
}

/* The bits of |x| in float, or the upper half of those in double. */
static inline uint32_t math_size_bits(mapdpm_real x)
{
    return (uint32_t)(math_bits(x) >> (MATH_IS_FLOAT ? 0u : 32u)) & 0x7fffffffu;
}

/* Whether x is neither infinite nor NaN; whether it is NaN. By its bits, for a compiler that was told that there is no
 * NaN takes every comparison for granted (-fno-honor-nans; Arm Compiler by default). */
static inline int math_is_finite(mapdpm_real x)
{
    return math_size_bits(x) < (MATH_IS_FLOAT ? 0x7f800000u : 0x7ff00000u);
}
static inline int math_is_nan(mapdpm_real x)
{
    if (MATH_IS_FLOAT)
        return math_size_bits(x) > 0x7f800000u;
    return (math_bits(x) & UINT64_C(0x7fffffffffffffff)) > UINT64_C(0x7ff0000000000000);
}

/* The largest whole number up to k / 2. */
static inline int math_half(int k) { return k >= 0 ? k / 2 : -((1 - k) / 2); }

/* 2^k, which is a normal number. */
static inline mapdpm_real math_power_of_2(int k)
{
    mapdpm_real x;

    if (MATH_IS_FLOAT) {
        const uint32_t bits = (uint32_t)(k + 127) << 23;

        memcpy(&x, &bits, 4);
    } else {
        const uint64_t bits = (uint64_t)(k + 1023) << 52;

        memcpy(&x, &bits, sizeof x);
    }
    return x;
}

/* k ln 2 + log(1 + f): the atanh series in s = f / (2 + f), with fdlibm's coefficients. Even and odd terms are
 * separate, so that neither waits for the other. */
static inline mapdpm_real math_log_of(int k, mapdpm_real f)
{
    const mapdpm_real s = f / (2 + f), z = s * s, w = z * z, half = (mapdpm_real)0.5 * f * f, e = (mapdpm_real)k;
    mapdpm_real r;

    if (MATH_IS_FLOAT)
        r = w * ((mapdpm_real)0.40000972152 + w * (mapdpm_real)0.24279078841) +
            z * ((mapdpm_real)0.66666662693 + w * (mapdpm_real)0.28498786688);
    else
        r = w * ((mapdpm_real)3.999999999940941908e-01 +
                 w * ((mapdpm_real)2.222219843214978396e-01 + w * (mapdpm_real)1.531383769920937332e-01)) +
            z * ((mapdpm_real)6.666666666666735130e-01 +
                 w * ((mapdpm_real)2.857142874366239149e-01 +
                      w * ((mapdpm_real)1.818357216161805012e-01 + w * (mapdpm_real)1.479819860511658591e-01)));
    return e * MATH_LN2_HIGH - ((half - (s * (half + r) + e * MATH_LN2_LOW)) - f);
}

/* log x for positive finite x. */
static inline mapdpm_real math_log(mapdpm_real x)
{
    const mapdpm_real least = FLOAT_OR_DOUBLE(1.17549435e-38, 2.2250738585072014e-308);
    mapdpm_real f;
    int k = 0;

    if (x < least) { /* subnormal */
        x *= FLOAT_OR_DOUBLE(16777216, 18014398509481984);
        k = MATH_IS_FLOAT ? -24 : -54;
    }
    k += math_split(x, &f);
    return math_log_of(k, f);
}

/* log(1 + x) for x >= 0. */
static inline mapdpm_real math_log1p(mapdpm_real x)
{
    mapdpm_real f;
    int k;

    if (x < (mapdpm_real)0.41421356)
        return math_log_of(0, x);
    k = math_split(1 + x, &f);
    return math_log_of(k, f);
}

/* A lower bound of log x, at most 0.06 too low: log2 lies above its chord between powers of 2. It has no branches or
 * conversions, so that compilers vectorise it. */
static inline mapdpm_real math_log_below(mapdpm_real x)
{
    mapdpm_real mantissa, exponent, log2;

    if (MATH_IS_FLOAT) {
        uint32_t bits, m, e;

        memcpy(&bits, &x, 4);
        m = (bits & 0x007fffffu) | 0x3f800000u;
        e = (bits >> 23) | 0x4b000000u;
        memcpy(&mantissa, &m, 4);
        memcpy(&exponent, &e, 4);
        log2 = (exponent - (mapdpm_real)8388736) + mantissa; /* 2^23 + 128 */
    } else {
        uint64_t bits, m, e;

        memcpy(&bits, &x, sizeof x);
        m = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000);
        e = (bits >> 52) | UINT64_C(0x4330000000000000);
        memcpy(&mantissa, &m, sizeof m);
        memcpy(&exponent, &e, sizeof e);
        log2 = (exponent - (mapdpm_real)4503599627371520) + mantissa; /* 2^52 + 1024 */
    }
    return log2 * (log2 < 0 ? (mapdpm_real)0.693148 : (mapdpm_real)0.693147);
}

/* exp x for x <= 0. It is 0 below the logarithm of the least normal real. */
static inline mapdpm_real math_exp(mapdpm_real x)
{
    mapdpm_real k, r, y;

    if (!(x > FLOAT_OR_DOUBLE(-87, -708)))
        return 0;
    if (x >= 0)
        return 1;
    k = (mapdpm_real)(int)(x * (mapdpm_real)1.4426950408889634 - (mapdpm_real)0.5);
    r = (x - k * MATH_LN2_HIGH) - k * MATH_LN2_LOW;
    if (MATH_IS_FLOAT) {
        y = 1 + r * (1 + r * ((mapdpm_real)0.5 +
                              r * ((mapdpm_real)(1.0 / 6) +
                                   r * ((mapdpm_real)(1.0 / 24) +
                                        r * ((mapdpm_real)(1.0 / 120) +
                                             r * ((mapdpm_real)(1.0 / 720) + r * (mapdpm_real)(1.0 / 5040)))))));
    } else {
        static const mapdpm_real c[] = {
            (mapdpm_real)(1.0 / 6227020800.0), (mapdpm_real)(1.0 / 479001600.0), (mapdpm_real)(1.0 / 39916800.0),
            (mapdpm_real)(1.0 / 3628800.0),    (mapdpm_real)(1.0 / 362880.0),    (mapdpm_real)(1.0 / 40320.0),
            (mapdpm_real)(1.0 / 5040.0),       (mapdpm_real)(1.0 / 720.0),       (mapdpm_real)(1.0 / 120.0),
            (mapdpm_real)(1.0 / 24.0),         (mapdpm_real)(1.0 / 6.0),         (mapdpm_real)0.5};
        unsigned i;

        y = c[0];
        for (i = 1; i < sizeof c / sizeof *c; i++)
            y = c[i] + r * y;
        y = 1 + r * (1 + r * y);
    }
    return y * math_power_of_2((int)k);
}

/* The root of x >= 0, correctly rounded: a digit at a time, as in fdlibm. */
static inline mapdpm_real math_sqrt(mapdpm_real x)
{
    const unsigned digits = MATH_IS_FLOAT ? 23u : 52u;
    const int bias = MATH_IS_FLOAT ? 127 : 1023;
    uint64_t bits, digit, rest, root = 0, twice = 0;
    int exponent = 0;

    if (!(x > 0))
        return 0;
    if (x < FLOAT_OR_DOUBLE(1.17549435e-38, 2.2250738585072014e-308)) { /* subnormal */
        x *= FLOAT_OR_DOUBLE(16777216, 18014398509481984);
        exponent = MATH_IS_FLOAT ? -24 : -54;
    }
    bits = math_bits(x);
    exponent += (int)(bits >> digits) - bias;
    rest = (bits & ((UINT64_C(1) << digits) - 1)) | UINT64_C(1) << digits;
    if (exponent % 2 != 0) {
        rest += rest;
        exponent--;
    }
    rest += rest;
    for (digit = UINT64_C(1) << (digits + 1); digit != 0; digit >>= 1) {
        const uint64_t trial = twice + digit;

        if (trial <= rest) {
            twice = trial + digit;
            rest -= trial;
            root += digit;
        }
        rest += rest;
    }
    root += rest != 0 ? root & 1u : 0u;
    bits = (root >> 1) + ((uint64_t)(exponent / 2 + bias - 1) << digits);
    if (MATH_IS_FLOAT) {
        const uint32_t word = (uint32_t)bits;

        memcpy(&x, &word, 4);
    } else {
        memcpy(&x, &bits, sizeof x);
    }
    return x;
}

/* 1 / sqrt x for a positive normal x, within 4 ulp: Newton's steps without a division. Much faster than math_sqrt. */
static inline mapdpm_real math_inverse_root(mapdpm_real x)
{
    mapdpm_real f, y;
    const mapdpm_real scale = math_power_of_2(-math_half(math_split(x, &f))), rest = x * scale * scale; /* in [0.7, 2.9) */
    int i;

    y = (mapdpm_real)1.25 - (mapdpm_real)0.25 * rest; /* above 0, and below sqrt(3 / rest) */
    for (i = 0; i < (MATH_IS_FLOAT ? 4 : 5); i++)
        y *= (mapdpm_real)1.5 - (mapdpm_real)0.5 * rest * y * y;
    return y * scale;
}

/* sin x for 0 <= x <= pi / 4: Taylor's series, in double with fdlibm's coefficients. */
static inline mapdpm_real math_sin(mapdpm_real x)
{
    const mapdpm_real z = x * x;

    if (MATH_IS_FLOAT)
        return x - x * z *
                       ((mapdpm_real)(1.0 / 6) -
                        z * ((mapdpm_real)(1.0 / 120) -
                             z * ((mapdpm_real)(1.0 / 5040) - z * (mapdpm_real)(1.0 / 362880))));
    return x + x * z *
                   ((mapdpm_real)-1.66666666666666324348e-01 +
                    z * ((mapdpm_real)8.33333333332248946124e-03 +
                         z * ((mapdpm_real)-1.98412698298579493134e-04 +
                              z * ((mapdpm_real)2.75573137070700676789e-06 +
                                   z * ((mapdpm_real)-2.50507602534068634195e-08 +
                                        z * (mapdpm_real)1.58969099521155010221e-10)))));
}

/* log Gamma(x) - ((x - 1/2) log x - x + log(2 pi) / 2) for x >= 8. */
static inline mapdpm_real math_stirling_tail(mapdpm_real x)
{
    const mapdpm_real i = 1 / x, r = i * i;

    if (MATH_IS_FLOAT)
        return i * ((mapdpm_real)(1.0 / 12) - r * ((mapdpm_real)(1.0 / 360) - r * (mapdpm_real)(1.0 / 1260)));
    return i * ((mapdpm_real)(1.0 / 12) -
                r * ((mapdpm_real)(1.0 / 360) -
                     r * ((mapdpm_real)(1.0 / 1260) -
                          r * ((mapdpm_real)(1.0 / 1680) -
                               r * ((mapdpm_real)(1.0 / 1188) -
                                    r * ((mapdpm_real)(691.0 / 360360) - r * (mapdpm_real)(1.0 / 156)))))));
}

/* h(x) = log Gamma(x) - x log x + x for x > 0, as log(2 pi) / 2 + (the returned value) - log(*root) / 2. The caller
 * multiplies roots, so that logarithms with the same factor are taken once. */
static inline mapdpm_real math_excess(mapdpm_real x, mapdpm_real *root)
{
    mapdpm_real shifted, rising = 1, power = 1;
    int i;

    if (x >= 8) {
        *root = x;
        return math_stirling_tail(x);
    }
    shifted = x + 8;
    for (i = 0; i < 8; i++) {
        rising *= x + (mapdpm_real)i;
        power *= shifted;
    }
    rising /= power;
    *root = shifted * rising * rising;
    return math_stirling_tail(shifted) - 8 + x * math_log(shifted / x);
}

/* log Gamma(a + 1/2) - log Gamma(a) for a > 0, as (the returned value) + log(*square) / 2. The series in z = a - 1/4
 * has even powers only; its coefficients come from Euler's numbers: E_2n / (4 n 16^n). */
static inline mapdpm_real math_half_rising(mapdpm_real a, mapdpm_real *square)
{
    mapdpm_real z, r, numerator = 1, denominator = 1;

    if (a < 10) {
        int i;

        for (i = 0; i < 10; i++) {
            numerator *= a + (mapdpm_real)i;
            denominator *= a + (mapdpm_real)i + (mapdpm_real)0.5;
        }
        numerator /= denominator;
        a += 10;
    }
    z = a - (mapdpm_real)0.25;
    *square = z * numerator * numerator;
    r = 1 / (z * z);
    if (MATH_IS_FLOAT)
        return r * ((mapdpm_real)(1.0 / 64) - r * (mapdpm_real)(5.0 / 2048));
    return r * ((mapdpm_real)(1.0 / 64) -
                r * ((mapdpm_real)(5.0 / 2048) -
                     r * ((mapdpm_real)(61.0 / 49152) -
                          r * ((mapdpm_real)(1385.0 / 1048576) -
                               r * ((mapdpm_real)(50521.0 / 20971520) - r * (mapdpm_real)(2702765.0 / 402653184))))));
}

/* n modulo `by`. On small machines a 64-bit division takes a function as large as a tenth of the library. */
static inline size_t modulo(uint64_t n, uint32_t by)
{
#if SIZE_MAX > UINT32_MAX
    return (size_t)(n % by);
#else
    uint32_t rest = 0;
    int i;

    for (i = 0; i < 64; i++, n <<= 1) {
        rest = rest << 1 | (uint32_t)(n >> 63);
        if (rest >= by)
            rest -= by;
    }
    return (size_t)rest;
#endif
}

#endif
