/* Whole numbers in place of reals: logarithms, powers and ratios (docs/integers.md; mapdpm/integers/arithmetic.py).
 * A number "in Q16" stands for itself divided by 2^16. No negative number is shifted, nothing overflows. Internal; static
 * inlines.
 */
#ifndef MAPDPM_WHOLE_H
#define MAPDPM_WHOLE_H

#include "mapdpm.h"

#if __STDC_HOSTED__
#include <string.h>
#else
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int byte, size_t n);
#endif

#if defined(__GNUC__) && defined(__OPTIMIZE_SIZE__)
#define WHOLE_FUNCTION static __attribute__((noinline, unused))
#else
#define WHOLE_FUNCTION static inline
#endif
#if defined(__GNUC__) && !defined(__AVR__) /* there code is large */
#define WHOLE_INLINE static inline __attribute__((always_inline))
#else
#define WHOLE_INLINE static inline
#endif

/* A whole number in Q24. */
#define Q24(n) ((int32_t)(n) * INT32_C(16777216))
#define WHOLE_MOST (UINT64_C(1) << 62) /* products end here */
#define LN2_Q16 45426
#define LOG2_E_LESS_1 29012 /* in Q16 */
#define LOG2_E_Q16 94548

/* m 2^e, 2^15 <= m < 2^16; or 0. */
typedef struct {
    uint32_t m;
    int32_t e;
} whole_ratio;

/* Products of 32 bits are slow on the smallest cores of Arm, which have none of 64 bits. */
#if defined(__ARM_ARCH_6M__) || defined(__ARM_ARCH_8M_BASE__)
#define WHOLE_BY_PARTS 1
#else
#define WHOLE_BY_PARTS 0
#endif

static inline uint64_t whole_times(uint32_t a, uint32_t b)
{
#if WHOLE_BY_PARTS
    const uint32_t low = (a & 0xffffu) * (b & 0xffffu), cross = (a >> 16) * (b & 0xffffu) + (low >> 16),
                   other = (a & 0xffffu) * (b >> 16) + (cross & 0xffffu);

    return (uint64_t)((a >> 16) * (b >> 16) + (cross >> 16) + (other >> 16)) << 32 | (other << 16 | (low & 0xffffu));
#else
    return (uint64_t)a * b;
#endif
}

/* Whether the processor counts leading zeros. */
#if defined(__GNUC__) && (defined(__ARM_FEATURE_CLZ) || defined(__aarch64__) || defined(__x86_64__) || defined(__i386__) ||     \
                          defined(__powerpc__) || defined(__wasm__) || defined(__riscv_zbb))
#define WHOLE_CLZ 1
#else
#define WHOLE_CLZ 0
#endif

/* The number of bits of v. */
WHOLE_INLINE uint32_t whole_bits(uint32_t v)
{
#if WHOLE_CLZ
    return v ? 8 * (uint32_t)sizeof(unsigned long) - (uint32_t)__builtin_clzl(v) : 0;
#else
    static const uint8_t few[16] = {0, 1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4};
    uint32_t n = 0;

    if (v >> 16) {
        n = 16;
        v >>= 16;
    }
    if (v >> 8) {
        n += 8;
        v >>= 8;
    }
    if (v >> 4) {
        n += 4;
        v >>= 4;
    }
    return n + few[v];
#endif
}

/* The 32 highest bits of v > 0, the highest first, and the number of its bits. */
WHOLE_INLINE uint32_t whole_top(uint64_t v, uint32_t *bits)
{
    const uint32_t high = (uint32_t)(v >> 32), low = (uint32_t)v;
    const uint32_t n = whole_bits(high ? high : low);

    *bits = high ? 32 + n : n;
    if (high == 0)
        return low << (32 - n);
    return n == 32 ? high : high << (32 - n) | low >> n;
}

static inline uint32_t whole_abs(int32_t v) { return v < 0 ? 0u - (uint32_t)v : (uint32_t)v; }
static inline uint64_t whole_square(int32_t v)
{
    return whole_times(whole_abs(v), whole_abs(v));
}
static inline uint32_t whole_least(uint32_t a, uint32_t b) { return a < b ? a : b; }

/* v / 2^n, rounded down; compilers know it. */
static inline int32_t whole_down(int32_t v, uint32_t n)
{
    return v < 0 ? -1 - (int32_t)((uint32_t)(-1 - v) >> n) : (int32_t)((uint32_t)v >> n);
}
static inline int64_t whole_down64(int64_t v, uint32_t n)
{
    return v < 0 ? -1 - (int64_t)((uint64_t)(-1 - v) >> n) : (int64_t)((uint64_t)v >> n);
}

/* log2(1 + i / 64) in Q24. */
static const uint32_t whole_logs[65] = {
    0, 375270, 744810, 1108793, 1467383, 1820738, 2169009, 2512340, 2850868, 3184728,
    3514044, 3838941, 4159533, 4475935, 4788255, 5096595, 5401057, 5701737, 5998727, 6292118,
    6581994, 6868440, 7151536, 7431359, 7707984, 7981483, 8251926, 8519380, 8783912, 9045584,
    9304457, 9560591, 9814042, 10064867, 10313120, 10558852, 10802114, 11042956, 11281425, 11517568,
    11751428, 11983051, 12212479, 12439752, 12664911, 12887994, 13109041, 13328087, 13545168, 13760320,
    13973576, 14184969, 14394532, 14602297, 14808293, 15012551, 15215099, 15415967, 15615181, 15812769,
    16008758, 16203172, 16396036, 16587377, 16777216
};

/* log2 v for a v > 0 of so many bits whose top bits are `top`, the highest first. */
WHOLE_INLINE int32_t whole_log2_of_top(uint32_t top, uint32_t bits)
{
    const uint32_t *const at = &whole_logs[top >> 25 & 63u];
    const uint32_t f = top >> 9 & 0xffffu, rise = at[1] - at[0], slope = rise >> 8;
    const uint32_t bend = (slope * slope * 89 >> 16) * (f * (65536 - f) >> 16) >> 16;

    return (int32_t)(((bits - 1) << 24) + at[0] + (((rise >> 3) * f + ((rise & 7u) * f >> 3)) >> 13) + bend);
}

/* log2 v in Q24, v > 0; error at most 2^-20. */
WHOLE_FUNCTION int32_t whole_log2(uint64_t v)
{
    uint32_t bits;
    const uint32_t top = whole_top(v, &bits);

    return whole_log2_of_top(top, bits);
}

/* Logarithms to base 2 as nats, both in Q16. */
static inline int32_t whole_nats(int32_t bits)
{
    const int32_t high = whole_down(bits, 16);

    return high * LN2_Q16 + (int32_t)((uint32_t)(bits - high * 65536) * LN2_Q16 >> 16);
}
WHOLE_FUNCTION int32_t whole_nats_of(int32_t log2_q24, int32_t whole)
{
    return whole_nats(whole_down(log2_q24 - whole * Q24(1), 8));
}

/* 2^f for 0 <= f < 1, both in Q16; relative error at most 1.3e-4. */
WHOLE_FUNCTION uint32_t whole_power(uint32_t f)
{
    return 65536 + (f * (45575 + (f * (14831 + (f * 5130 >> 16)) >> 16)) >> 16);
}

/* e^-x for 0 <= x < 2^20, both in Q16. */
WHOLE_FUNCTION uint32_t whole_exp_minus(uint32_t x)
{
    const uint32_t bits = x + ((x >> 4) * LOG2_E_LESS_1 >> 12), whole = (bits + 0xffffu) >> 16;

    return whole < 31 ? whole_power((0u - bits) & 0xffffu) >> whole : 0;
}

/* v 2^e, rounded down, for v < 2^63; at most WHOLE_MOST. */
WHOLE_FUNCTION uint64_t whole_shifted(uint64_t v, int32_t e)
{
    uint32_t bits;

    if (e <= -32)
        return e > -64 ? (uint32_t)(v >> 32) >> (-32 - e) : 0;
    if (e < 0) {
        const uint32_t high = (uint32_t)(v >> 32);

        return (uint64_t)(high >> -e) << 32 | (uint32_t)(high << (32 + e) | (uint32_t)v >> -e);
    }
    if (v == 0 || e == 0)
        return v;
    (void)whole_top(v, &bits);
    return (int32_t)bits + e <= 62 ? v << e : WHOLE_MOST;
}

/* 1 / (1 + i / 64) in Q16, less 32768. */
static const uint16_t whole_inverses[65] = {
    32768, 31760, 30782, 29834, 28913, 28019, 27151, 26307, 25486, 24688, 23912, 23156, 22420,
    21703, 21005, 20324, 19661, 19014, 18382, 17766, 17164, 16577, 16003, 15442, 14895, 14359,
    13835, 13323, 12822, 12332, 11852, 11383, 10923, 10472, 10031, 9599, 9175, 8760, 8353,
    7953, 7562, 7178, 6801, 6431, 6068, 5712, 5362, 5019, 4681, 4350, 4024, 3704,
    3390, 3081, 2777, 2478, 2185, 1896, 1612, 1332, 1057, 786, 520, 258, 0
};

/* a / b for a < 2^63, 0 < b < 2^63; relative error at most 2^-13.9, none where b is a power of 2 and a < 2^16. */
WHOLE_FUNCTION whole_ratio whole_divide(uint64_t a, uint64_t b)
{
    whole_ratio r = {0, 0};
    uint32_t up, down, high, top, f, inverse, bend, product;
    const uint16_t *at;

    if (a == 0)
        return r;
    high = whole_top(a, &up) >> 16;
    top = whole_top(b, &down);
    at = &whole_inverses[top >> 25 & 63u];
    f = top >> 9 & 0xffffu;
    inverse = UINT32_C(32768) + at[0];
    bend = inverse == 65536 ? 16 : (inverse * inverse >> 16) * (inverse >> 8) >> 20; /* half the second difference */
    inverse -= (((uint32_t)at[0] - at[1]) * f >> 16) + (bend * (f * (65536 - f) >> 16) >> 16);
    product = high * inverse;
    r.m = product >> 31 ? product >> 16 : product >> 15;
    r.e = (int32_t)up - (int32_t)down - (product >> 31 ? 15 : 16);
    return r;
}

/* v times a ratio times 2^e, for v < 2^63. */
WHOLE_FUNCTION uint64_t whole_scaled(uint64_t v, whole_ratio r, int32_t e)
{
    uint32_t high, cross;

    if (v == 0)
        return 0;
    if (v >> 47) {
        v >>= 16;
        e += 16;
    }
    cross = ((uint32_t)v >> 16) * r.m + (((uint32_t)v & 0xffffu) * r.m >> 16);
    high = (uint32_t)(v >> 32) * r.m + (cross >> 16);
    return whole_shifted((uint64_t)high << 32 | (uint32_t)((uint32_t)v * r.m), r.e + e);
}

/* a b / 2^down for a < 2^63, b < 2^31. */
WHOLE_FUNCTION uint64_t whole_product(uint64_t a, uint32_t b, int32_t down)
{
    uint32_t bits = 0, top;

    if (a >> 32 == 0)
        return whole_shifted(whole_times((uint32_t)a, b), -down);
    top = whole_top(a, &bits);
    return whole_shifted(whole_times(top, b), (int32_t)bits - 32 - down);
}

/* a x / 2^n, rounded down. */
static inline int64_t whole_part(uint32_t a, int32_t x, uint32_t n)
{
    const uint64_t size = whole_times(a, whole_abs(x));

    return whole_down64(x < 0 ? -(int64_t)size : (int64_t)size, n);
}

/* log2 Gamma(x) + x log2(e) - log2(2 pi) / 2, in Q16, for x > 0 in Q9 (Stirling; error at most 1e-4). */
WHOLE_FUNCTION int64_t whole_log_gamma(uint32_t x)
{
    int32_t rest = 0;

    if (x < 4 * 512) { /* Gamma(x) = Gamma(x + 4) / (x (x + 1) (x + 2) (x + 3)) */
        const uint64_t all = (uint64_t)(x * (x + 512)) * ((x + 1024) * (x + 1536));

        rest = whole_down(whole_log2(all) - Q24(36), 8) + 4 * LOG2_E_Q16;
        x += 4 * 512;
    }
    if (x < UINT32_C(128) * 512)
        rest -= (int32_t)whole_scaled(4033838, whole_divide(1, x), 0); /* log2(e) / 12x */
    return whole_part(x - 256, whole_log2(x) - Q24(9), 17) - rest;
}

/* log2(Gamma(x + 1/2) / Gamma(x)) in Q24, for x > 0 in Q9; error 7e-5. */
WHOLE_FUNCTION int32_t whole_half_rising(uint32_t x)
{
    int32_t step = 0;
    uint32_t small;

    for (; x < 2 * 512; x += 512) /* Gamma(x + 3/2) / Gamma(x + 1) = (x + 1/2) / x of it */
        step += whole_log2(x) - whole_log2(x + 256);
    small = (uint32_t)whole_scaled(UINT32_C(1) << 30, whole_divide(1, x), 0); /* 1 / 8x in Q24 */
    if (x < 8 * 512) {               /* 1 / 192x^3 = 8/3 (1/8x)^3 */
        const uint32_t y = small >> 8;

        small -= (uint32_t)((uint64_t)y * y * y >> 32) * 683;
    }
    return whole_down(whole_log2(x) - Q24(9), 1) - (int32_t)(small + ((small >> 4) * LOG2_E_LESS_1 >> 12)) + step;
}

#endif
