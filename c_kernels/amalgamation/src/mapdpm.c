/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026, The mapdpm developers
 *
 * mapdpm 0.2.0: mapdpm.c, one of two files, which c_kernels/amalgamate.py made of several; do not edit.
 */
/* BSD 3-Clause License
 *
 * Copyright (c) 2026, The mapdpm developers
 *
 * Redistribution and use in source and binary forms, with or without
 * modification, are permitted provided that the following conditions are met:
 *
 * 1. Redistributions of source code must retain the above copyright notice, this
 *    list of conditions and the following disclaimer.
 *
 * 2. Redistributions in binary form must reproduce the above copyright notice,
 *    this list of conditions and the following disclaimer in the documentation
 *    and/or other materials provided with the distribution.
 *
 * 3. Neither the name of the copyright holder nor the names of its
 *    contributors may be used to endorse or promote products derived from
 *    this software without specific prior written permission.
 *
 * THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS"
 * AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE
 * IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE
 * DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR CONTRIBUTORS BE LIABLE
 * FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
 * DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR
 * SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER
 * CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY,
 * OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE
 * OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.
 */
#define MAPDPM_INTERNAL static
#include "mapdpm.h"

/* clang inlines at -Os as it does at -O2, which makes the library almost twice as large. At -Oz it does not. */
#if defined(__clang__) && defined(__OPTIMIZE_SIZE__)
#pragma clang attribute push(__attribute__((minsize)), apply_to = function)
#endif

/* ==== mapdpm.c ====================================================================================================== */

const char *mapdpm_version(void)
{
    return MAPDPM_VERSION;
}

int mapdpm_real_size(void)
{
    return (int)sizeof(mapdpm_real);
}

const char *mapdpm_error_name(int error)
{
#ifdef MAPDPM_NO_ERROR_NAMES
    (void)error;
    return "";
#else
    static const char *const names[] = {"ok",    "argument", "space",   "foreign", "truncated", "damaged",
                                        "newer", "real",     "kind",    "number",  "range",     "full",
                                        "ids",   "time",     "unknown", "warming", "group",
                                        "arithmetic"};
    const int n = (int)(sizeof names / sizeof names[0]);

    return (error <= 0 && -error < n) ? names[-error] : "unknown";
#endif
}

size_t mapdpm_n_parameters(int32_t family, uint32_t n_features)
{
    const size_t D = n_features;

    switch (family) {
    case MAPDPM_NORMAL_GAMMA:
        return 2 * D + 2;
    case MAPDPM_NORMAL_KNOWN_VARIANCE:
        return 3 * D;
    default:
        return 0;
    }
}

/* ==== snapshot.c ==================================================================================================== */

/* The container of models (docs/format.md), the twin of mapdpm/files/container.py. No double in a float build. */

/* ==== mapdpm_bytes.h ================================================================================================ */

/* Little-endian bytes on any machine, and the parts that all files share (docs/format.md). Internal. */
#ifndef MAPDPM_BYTES_H
#define MAPDPM_BYTES_H

/* ==== mapdpm_switches.h ============================================================================================= */

/* The switches that fix or remove parts of the stream learner at compile time (docs/c-library.md lists them), so that
 * the compiler drops the rest. Internal.
 */
#ifndef MAPDPM_SWITCHES_H
#define MAPDPM_SWITCHES_H

#include <float.h>
#if __STDC_HOSTED__
#include <string.h>
#else
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int byte, size_t n);
#endif

/* The same bits everywhere: each operation rounds by itself and in the order of the source, whatever the command line
 * says. Compilers differ in what a file may forbid. What it cannot forbid is refused if a macro shows it;
 * mapdpm_selftest finds the rest. */
#ifdef __FAST_MATH__
#error "-ffast-math or -Ofast changes results: compile mapdpm and link the program without it"
#endif
#if defined(__clang__)
#if defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0 /* passes NaN to no function, whatever pragmas say */
#error "-ffinite-math-only (or -fno-honor-nans with -fno-honor-infinities) loses NaN: compile mapdpm without it"
#endif
#ifdef __ARM_FP_FAST
#error "-ffp-mode=fast changes results: compile mapdpm with -ffp-mode=full"
#endif
#if __clang_major__ >= 13
#if defined(__x86_64__) || defined(__i386__) || defined(__powerpc__) /* other targets warn, and ignore it */
#pragma float_control(precise, on)
#endif
#pragma clang fp reassociate(off)
#endif
#if __clang_major__ >= 18
#pragma clang fp reciprocal(off)
#endif
#pragma STDC FP_CONTRACT OFF /* the last one, for float_control turns it on */
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off", "no-unsafe-math-optimizations", "no-associative-math", "no-reciprocal-math",   \
                     "no-finite-math-only", "signed-zeros")
#if (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0) || defined(__ASSOCIATIVE_MATH__) ||                    \
    defined(__RECIPROCAL_MATH__) /* the pragma clears them, except where gcc only preprocesses */
#error "a part of -ffast-math (-ffinite-math-only, -funsafe-math-optimizations, ...): compile mapdpm without it"
#endif
#elif defined(_MSC_VER)
#ifdef _M_FP_FAST
#error "/fp:fast changes results: compile mapdpm with /fp:precise"
#endif
#pragma float_control(precise, on)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#if (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0) || defined(__ASSOCIATIVE_MATH__) ||                    \
    defined(__RECIPROCAL_MATH__) || defined(__FP_FAST)
#error "arithmetic faster than IEEE's changes results: compile mapdpm without it"
#endif
#endif
#if FLT_EVAL_METHOD == 1 || FLT_EVAL_METHOD == 2
#error "reals are computed with more digits than they have; on x86 compile with -msse2 -mfpmath=sse"
#endif

/* A constant of the real type. On AVR double is float, and cannot hold the second. */
#if DBL_MAX_EXP < 1024
#define FLOAT_OR_DOUBLE(single, whole) ((mapdpm_real)(single))
#else
#define FLOAT_OR_DOUBLE(single, whole) (sizeof(mapdpm_real) == 4 ? (mapdpm_real)(single) : (mapdpm_real)(whole))
#endif

/* For a function whose stack must not be taken while other functions run. */
#ifdef __GNUC__
#define NOT_INLINED __attribute__((noinline))
#else
#define NOT_INLINED
#endif

/* Vectors as wide as the machine has. The operations and their order stay the same, and none is fused. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) &&                       \
    !defined(MAPDPM_NO_CLONES)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

/* For functions that several files share and programs do not call. They are static in the amalgamation
 * (amalgamate.py). */
#ifndef MAPDPM_INTERNAL
#define MAPDPM_INTERNAL
#endif

#ifdef MAPDPM_FEATURES
#define MD_FEATURES(s) ((void)(s), (uint32_t)(MAPDPM_FEATURES))
#else
#define MD_FEATURES(s) ((s)->n_features)
#endif

#ifdef MAPDPM_CLUSTERS
#define MD_SLOTS(s) ((void)(s), (uint32_t)(MAPDPM_CLUSTERS))
#else
#define MD_SLOTS(s) ((s)->max_clusters)
#endif

#ifdef MAPDPM_WHEN_FULL
#define WHEN_FULL(s) ((void)(s), (uint32_t)(MAPDPM_WHEN_FULL))
#else
#define WHEN_FULL(s) ((s)->when_full)
#endif

#ifdef MAPDPM_MISSING
#define HAS_MISSING(s) ((s)->missing != 0)
#else
#define HAS_MISSING(s) ((void)(s), 0)
#endif

#ifdef MAPDPM_GROUPS
#define HAS_GROUPS(s) ((s)->max_groups > 0)
#define HAS_BASE(s) ((s)->with_base != 0)
#else
#define HAS_GROUPS(s) ((void)(s), 0)
#define HAS_BASE(s) ((void)(s), 0)
#endif

#ifdef MAPDPM_STATES
#define HAS_STATES(s) ((s)->lag > 0)
#else
#define HAS_STATES(s) ((void)(s), 0)
#endif

#ifdef MAPDPM_SURPRISE
#define HAS_SURPRISE(s) ((s)->surprise != 0)
#else
#define HAS_SURPRISE(s) ((void)(s), 0)
#endif

#ifdef MAPDPM_NO_KNOWN_VARIANCE
#define IS_GAMMA(s) ((void)(s), 1)
#else
#define IS_GAMMA(s) ((s)->family == MAPDPM_NORMAL_GAMMA)
#endif

#ifdef MAPDPM_NO_FORGETTING
#define FORGETS(s) ((void)(s), 0)
#else
#define FORGETS(s) ((s)->half_life > 0)
#endif

#ifdef MAPDPM_NO_WARMUP
#define MD_WARMUP(s) ((void)(s), 0u)
#define IS_WARMING(s) ((void)(s), 0)
#define MD_QUEUE(s) ((void)(s), 0u)
#else
#define MD_WARMUP(s) ((s)->warmup)
#define IS_WARMING(s) ((s)->warming != 0)
#define MD_QUEUE(s) ((s)->queue)
#endif

#ifdef MAPDPM_NO_WINDOW
#define MD_WINDOW(s) ((void)(s), 0u)
#else
#define MD_WINDOW(s) ((s)->window)
#endif

/* The one switch that changes results: clusters never split, so that points need no halves. */
#ifdef MAPDPM_NO_SPLIT
#define MD_SPLITS 0
#else
#define MD_SPLITS 1
#endif

/* Whether clusters are weighed by groups. The warm-up pools all points. */
#define IS_GROUPED(s) (HAS_GROUPS(s) && !IS_WARMING(s))
/* Whether clusters are states in time; likewise. */
#define IS_TIMED(s) (HAS_STATES(s) && !IS_WARMING(s))

/* Whether this library was compiled for learners with these options. */
static inline int is_compiled_for(const mapdpm_options *o)
{
    return MD_FEATURES(o) == o->n_features && MD_SLOTS(o) == o->max_clusters && WHEN_FULL(o) == o->when_full &&
           HAS_MISSING(o) == (o->missing != 0) && IS_GAMMA(o) == (o->family == MAPDPM_NORMAL_GAMMA) &&
           FORGETS(o) == (o->half_life > 0) && MD_WARMUP(o) == o->warmup && MD_QUEUE(o) == o->queue &&
           MD_WINDOW(o) == o->window &&
           HAS_GROUPS(o) == (o->max_groups > 0) && HAS_BASE(o) == (o->with_base != 0) &&
           HAS_STATES(o) == (o->lag > 0) && HAS_SURPRISE(o) == (o->surprise != 0);
}

/* Whether memory is aligned for the largest number. */
typedef struct {
    char first;
    uint64_t second;
} alignment;
static inline int is_aligned(const void *memory) { return (uintptr_t)memory % offsetof(alignment, second) == 0; }

#endif

enum {
    MD_HEADER = 40,
    MD_CRC = 4,
    MD_BATCH = 1,
    MD_STREAM = 2,
    STREAM_OF_GROUPS = 4,
    MD_SUMMARY = 5,
    STREAM_OF_STATES = 7
};
enum { TRANSFORMERS = 12 };
enum { MD_REAL = sizeof(mapdpm_real) };
/* The place of the flags in the header, and those of a stream that knows surprises, or has a queue. */
enum { MD_FLAGS = 10, WITH_SURPRISE = 2, WITH_QUEUE = 4 };

#define MD_MAGIC UINT32_C(0x4d50444d) /* MDPM */

typedef char real_is_float_or_double[(MD_REAL == 4 || MD_REAL == 8) ? 1 : -1];

static inline uint64_t get_bytes(const unsigned char *p, int n)
{
    uint64_t value = 0;

    while (n-- > 0)
        value = value << 8 | p[n];
    return value;
}

static inline uint32_t get32(const unsigned char *p)
{
    return (uint32_t)get_bytes(p, 4);
}

static inline unsigned char *put_bytes(unsigned char *p, uint64_t value, int n)
{
    for (; n > 0; n--, value >>= 8)
        *p++ = (unsigned char)(value & 255u);
    return p;
}

/* Whether memory has the order of files. */
static inline int is_little_endian(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 1;
}

/* Copy n entries of `size` bytes (1, 2, 4 or 8) from a file to memory or back. A big-endian machine reverses the bytes
 * of each entry. */
static inline void copy_entries(void *to, const void *from, size_t n, size_t size)
{
    const size_t swap = is_little_endian() ? 0 : size - 1;
    size_t i;

    for (i = 0; i < n * size; i++)
        ((unsigned char *)to)[i ^ swap] = ((const unsigned char *)from)[i];
}

static inline mapdpm_real get_real(const unsigned char *p)
{
    mapdpm_real value;

    copy_entries(&value, p, 1, MD_REAL);
    return value;
}

static inline unsigned char *put_reals(unsigned char *p, const mapdpm_real *values, size_t n)
{
    copy_entries(p, values, n, MD_REAL);
    return p + n * MD_REAL;
}

/* The bytes of a file, by its header. */
MAPDPM_INTERNAL uint64_t total_in(const unsigned char *header);

/* The checks that all kinds of files share, in the order of docs/format.md: magic, length, CRC, format, kind, real. */
MAPDPM_INTERNAL int mapdpm_file_check(const unsigned char *file, size_t file_bytes, int kind);

/* Those of the header alone, which begins with the magic number. */
MAPDPM_INTERNAL int mapdpm_header_check(const unsigned char *header, uint64_t file_bytes, int kind);

/* Write the header of a file. The sizes are in the header's order. */
MAPDPM_INTERNAL unsigned char *mapdpm_file_begin(unsigned char *file, int kind, int32_t family, const uint32_t *sizes,
                                                 uint64_t total);

/* Write a sequence number as the additions of a file (slots.c). */
MAPDPM_INTERNAL void sequence_write(unsigned char *p, uint32_t sequence);

#endif

/* ==== mapdpm_math.h ================================================================================================= */

/* Logarithm, exponential, root, sine and differences of log-gamma, without libm: the same bits on any machine with IEEE
 * reals, compiled with -ffp-contract=off. libm does not promise that. No double in a float build. Internal; static
 * inlines.
 *
 * docs/maths.md, section 10, lists the largest errors, in units of the last place (ulp) of the result, or in 1e-16
 * (double) and 1e-8 (float) where the result crosses 0. tests/test_math.c measures them.
 */
#ifndef MAPDPM_MATH_H
#define MAPDPM_MATH_H

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

#endif

/* The largest array of a model, so that sizes cannot overflow 64 bits. */
#define LARGEST_ARRAY (UINT32_C(1) << 28)

uint32_t mapdpm_crc32(uint32_t crc, const unsigned char *bytes, size_t n)
{
    static const uint32_t nibble[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
                                        0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                        0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
    size_t i;

    crc = ~crc;
    for (i = 0; i < n; i++) {
        crc = (crc >> 4) ^ nibble[(crc ^ bytes[i]) & 15u];
        crc = (crc >> 4) ^ nibble[(crc ^ (uint32_t)(bytes[i] >> 4)) & 15u];
    }
    return ~crc;
}

static uint64_t n_reals(size_t n_parameters, uint64_t n_features, uint64_t n_clusters)
{
    return 2 + n_features + n_parameters + n_clusters * (1 + 2 * n_features);
}

static int is_shape(int32_t family, uint32_t n_features, uint32_t n_clusters)
{
    return mapdpm_n_parameters(family, 1) > 0 && n_features >= 1 && n_clusters >= 1 && n_features <= LARGEST_ARRAY &&
           n_clusters <= LARGEST_ARRAY;
}

static size_t fitting(uint64_t bytes)
{
    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

size_t mapdpm_model_bytes(int32_t family, uint32_t n_features, uint32_t n_clusters)
{
    if (!is_shape(family, n_features, n_clusters))
        return 0;
    return fitting(8 * (uint64_t)n_clusters +
                   MD_REAL * n_reals(mapdpm_n_parameters(family, n_features), n_features, n_clusters));
}

size_t mapdpm_model_file_bytes(int32_t family, uint32_t n_features, uint32_t n_clusters)
{
    const size_t body = mapdpm_model_bytes(family, n_features, n_clusters);

    return body == 0 ? 0 : fitting((uint64_t)body + MD_HEADER + MD_CRC);
}

uint64_t total_in(const unsigned char *header) { return get_bytes(header + 32, 8); }

int mapdpm_file_check(const unsigned char *file, size_t file_bytes, int kind)
{
    if (file_bytes < 4 || get32(file) != MD_MAGIC)
        return MAPDPM_E_FOREIGN;
    if (file_bytes < MD_HEADER + MD_CRC)
        return MAPDPM_E_TRUNCATED;
    if (mapdpm_crc32(0, file, file_bytes - MD_CRC) != get32(file + file_bytes - MD_CRC))
        return total_in(file) > file_bytes ? MAPDPM_E_TRUNCATED : MAPDPM_E_DAMAGED;
    return mapdpm_header_check(file, file_bytes, kind);
}

/* The flags that a kind may have. */
static uint64_t flags_of(unsigned kind)
{
    if (kind == MD_STREAM)
        return WITH_SURPRISE | WITH_QUEUE;
    return kind == STREAM_OF_GROUPS || kind == STREAM_OF_STATES ? WITH_QUEUE : 0;
}

int mapdpm_header_check(const unsigned char *file, uint64_t file_bytes, int kind)
{
    const uint64_t total = total_in(file);

    if (get_bytes(file + 4, 2) > MAPDPM_FORMAT)
        return MAPDPM_E_NEWER;
    if (get_bytes(file + 4, 2) != MAPDPM_FORMAT ||
        (file[6] != MD_BATCH && file[6] != MD_STREAM && file[6] != STREAM_OF_GROUPS && file[6] != MD_SUMMARY &&
         file[6] != STREAM_OF_STATES && file[6] != TRANSFORMERS) ||
        (file[7] != 4 && file[7] != 8) || total != file_bytes ||
        (get_bytes(file + MD_FLAGS, 2) & ~flags_of(file[6])) != 0)
        return MAPDPM_E_DAMAGED;
    if (file[6] != kind)
        return MAPDPM_E_KIND;
    return file[7] == MD_REAL ? MAPDPM_OK : MAPDPM_E_REAL;
}

unsigned char *mapdpm_file_begin(unsigned char *file, int kind, int32_t family, const uint32_t *sizes, uint64_t total)
{
    unsigned char *p = file;
    int i;

    p = put_bytes(p, MD_MAGIC, 4);
    p = put_bytes(p, MAPDPM_FORMAT, 2);
    p = put_bytes(p, (uint64_t)kind, 1);
    p = put_bytes(p, MD_REAL, 1);
    p = put_bytes(p, (uint64_t)family, 2);
    p = put_bytes(p, 0, 2);
    for (i = 0; i < 5; i++)
        p = put_bytes(p, sizes[i], 4);
    return put_bytes(p, total, 8);
}

int mapdpm_model_shape(const unsigned char *file, size_t file_bytes, mapdpm_model *shape)
{
    uint32_t family, n_features, n_clusters, n_extras;
    uint64_t body;
    int error;

    if (file == NULL || shape == NULL)
        return MAPDPM_E_ARGUMENT;
    error = mapdpm_file_check(file, file_bytes, MD_BATCH);
    if (error != MAPDPM_OK)
        return error;
    family = (uint32_t)get_bytes(file + 8, 2);
    n_features = get32(file + 12);
    n_clusters = get32(file + 16);
    n_extras = get32(file + 28);
    if (!is_shape((int32_t)family, n_features, n_clusters))
        return MAPDPM_E_DAMAGED;
    if (get32(file + 20) != mapdpm_n_parameters((int32_t)family, n_features) || get32(file + 24) != 1 + 2 * n_features)
        return MAPDPM_E_DAMAGED;
    body = mapdpm_model_bytes((int32_t)family, n_features, n_clusters);
    if (body == 0 || file_bytes != MD_HEADER + body + n_extras + MD_CRC)
        return MAPDPM_E_DAMAGED;
    shape->family = (int32_t)family;
    shape->n_features = n_features;
    shape->n_clusters = n_clusters;
    return MAPDPM_OK;
}

/* Whether the parameters of a family are finite, and positive from index `first` on. */
static int are_parameters(const mapdpm_real *parameters, size_t n, size_t first)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (!math_is_finite(parameters[i]) || (i >= first && !(parameters[i] > 0)))
            return 0;
    return 1;
}

static int is_model(const mapdpm_model *model)
{
    const size_t D = model->n_features, n_parameters = mapdpm_n_parameters(model->family, model->n_features);
    size_t d, k;

    if (!math_is_finite(model->alpha) || !(model->discount >= 0 && model->discount < 1))
        return 0;
    if (!(model->alpha > -model->discount) || !are_parameters(model->anchor, D, D))
        return 0;
    if (!are_parameters(model->parameters, n_parameters, D))
        return 0;
    for (k = 0; k < model->n_clusters; k++) {
        const mapdpm_real *const statistics = model->statistics + k * (1 + 2 * D);
        const mapdpm_real *const mean = statistics + 1, *const squares = mean + D;

        if (model->counts[k] < 1 || model->counts[k] > INT64_MAX || !(statistics[0] > 0) ||
            !math_is_finite(statistics[0]))
            return 0;
        for (d = 0; d < D; d++)
            if (!math_is_finite(mean[d]) || !math_is_finite(squares[d]) || !(squares[d] >= 0))
                return 0;
    }
    return 1;
}

/* Divide the memory among the arrays of a model of known shape. The counts come first, for their alignment. */
static void lay_out_model(mapdpm_model *model, void *memory)
{
    const size_t D = model->n_features;

    model->counts = (uint64_t *)memory;
    model->anchor = (mapdpm_real *)(void *)(model->counts + model->n_clusters);
    model->parameters = model->anchor + D;
    model->statistics = model->parameters + mapdpm_n_parameters(model->family, model->n_features);
}

int mapdpm_model_read(const unsigned char *file, size_t file_bytes, void *memory, size_t memory_bytes,
                      mapdpm_model *model)
{
    const int error = mapdpm_model_shape(file, file_bytes, model);
    const unsigned char *p;
    size_t i, n_before, n_statistics;

    if (error != MAPDPM_OK)
        return error;
    if (memory == NULL || !is_aligned(memory))
        return MAPDPM_E_ARGUMENT;
    if (memory_bytes < mapdpm_model_bytes(model->family, model->n_features, model->n_clusters))
        return MAPDPM_E_SPACE;
    lay_out_model(model, memory);
    p = file + MD_HEADER;
    model->alpha = get_real(p);
    model->discount = get_real(p + MD_REAL);
    p += 2 * MD_REAL;
    n_before = model->n_features + mapdpm_n_parameters(model->family, model->n_features);
    for (i = 0; i < n_before; i++, p += MD_REAL)
        model->anchor[i] = get_real(p);
    for (i = 0; i < model->n_clusters; i++, p += 8)
        model->counts[i] = get_bytes(p, 8);
    n_statistics = (size_t)model->n_clusters * (1 + 2 * (size_t)model->n_features);
    for (i = 0; i < n_statistics; i++, p += MD_REAL)
        model->statistics[i] = get_real(p);
    return is_model(model) ? MAPDPM_OK : MAPDPM_E_DAMAGED;
}

int mapdpm_model_write(const mapdpm_model *model, unsigned char *file, size_t capacity, size_t *file_bytes)
{
    unsigned char *p;
    size_t total, n_parameters, n_statistics, k;
    uint32_t sizes[5];

    if (model == NULL || file == NULL || file_bytes == NULL || model->anchor == NULL || model->parameters == NULL ||
        model->statistics == NULL || model->counts == NULL)
        return MAPDPM_E_ARGUMENT;
    total = mapdpm_model_file_bytes(model->family, model->n_features, model->n_clusters);
    if (total == 0 || !is_model(model))
        return MAPDPM_E_ARGUMENT;
    if (capacity < total)
        return MAPDPM_E_SPACE;
    n_parameters = mapdpm_n_parameters(model->family, model->n_features);
    n_statistics = 1 + 2 * (size_t)model->n_features;
    sizes[0] = model->n_features;
    sizes[1] = model->n_clusters;
    sizes[2] = (uint32_t)n_parameters;
    sizes[3] = (uint32_t)n_statistics;
    sizes[4] = 0;
    p = mapdpm_file_begin(file, MD_BATCH, model->family, sizes, total);
    p = put_reals(p, &model->alpha, 1);
    p = put_reals(p, &model->discount, 1);
    p = put_reals(p, model->anchor, model->n_features);
    p = put_reals(p, model->parameters, n_parameters);
    for (k = 0; k < model->n_clusters; k++)
        p = put_bytes(p, model->counts[k], 8);
    p = put_reals(p, model->statistics, model->n_clusters * n_statistics);
    (void)put_bytes(p, mapdpm_crc32(0, file, total - MD_CRC), MD_CRC);
    *file_bytes = total;
    return MAPDPM_OK;
}

/* ==== stream.c ====================================================================================================== */

/* The memory of a stream learner: its size, its initial state, and its prior. */

/* ==== mapdpm_learner.h ============================================================================================== */

/* The steps that the files of the stream learner share. Internal. */
#ifndef MAPDPM_LEARNER_H
#define MAPDPM_LEARNER_H

/* ==== mapdpm_joint.h ================================================================================================ */

/* The changes of the log joint by a merge, a split or an eviction (docs/maths.md, section 10). Internal; static
 * inlines. */
#ifndef MAPDPM_JOINT_H
#define MAPDPM_JOINT_H

/* ==== mapdpm_groups.h =============================================================================================== */

/* The arithmetic of groups: tables, weights, and the prior of a cluster whose points have groups (docs/maths.md,
 * section 16). Internal; static inlines.
 */
#ifndef MAPDPM_GROUPS_H
#define MAPDPM_GROUPS_H

/* ==== mapdpm_densities.h ============================================================================================ */

/* The densities of a stream's clusters, for both families: the twin of mapdpm_cluster_statistics.h. It needs no libm
 * (docs/maths.md, section 10). tests/stream/test_online_oracle.py ties the two to one oracle. Internal; static inlines.
 *
 * Features with the same number of points share their logarithms. A product runs until that number changes, which never
 * happens without missing values.
 */
#ifndef MAPDPM_DENSITIES_H
#define MAPDPM_DENSITIES_H

/* ==== mapdpm_moments.h ============================================================================================== */

/* The moments of a stream's clusters: sums that forget, and take missing values. The prior mean is 0 in their coordinates
 * (docs/maths.md, section 10). Internal; static inlines.
 */
#ifndef MAPDPM_MOMENTS_H
#define MAPDPM_MOMENTS_H

/* ==== mapdpm_layout.h =============================================================================================== */

/* The memory layout of a stream learner (docs/c-library.md counts every word). Internal; static inlines.
 *
 * head | last time[K], times[B] (int64) | prior: anchor, unit, noise scale, prior variance, prior scale, each [D] |
 * slots[K] | score table | points[B][D] (reals) | id, last seen, merge partner, trials, each [K], event ring, warm-up
 * labels[warm-up], window ids[window] (uint32). B is the larger of warm-up and window. The noise scale is b0 or the
 * variance.
 *
 * A slot is: moments of the cluster | moments of its two halves | (with a base: moments of the points that the learner
 * saw itself, tables of the base) | loss of its cheapest merge. Halves are sub-clusters, candidates for a split. Moments
 * are weight, (counts[D],) mean[D], squares[D]: sums of squared deviations. In float the moments of the cluster and of
 * its own points are followed by what rounding lost of each. The score table holds the constants of the densities of all
 * slots: constant, exponent, centre[D], scale[D], each [K]. Coordinates are (x - anchor) unit: the anchor is the prior
 * mean, the unit a power of 2 near one over the prior scale.
 *
 * A learner of G groups has behind it: groups so far, policy, number and row of the current group (uint32) | gamma, log
 * gamma, all tables and gamma | tables[K] | tables of groups that are gone[K] | cells[G][K] | what rounding lost of
 * them (in float) | cells[G][K] of the first and of the second halves (reals) | number and last point of each group[G],
 * row of each kept point[B] (uint32). A cell is the number of points of a group in a slot; the number of tables is the
 * weight of a slot for a new group.
 *
 * A learner of states has behind it: the time up to which transitions are decayed (int64) | points that wait, the slot
 * and the half of the last point that was learned, points in a row, attempts to change, id of the last state (uint32) |
 * gamma, kappa, all tables and gamma | tables[K] | belief[K] | counts[K + 1][K] of transitions, the last row of starts |
 * of the halves of each slot: entries[K][2][K + 1] from other rows, exits[K][2][K], within[K][2][2] | belief[3 lag][K]
 * and points[3 lag][D] that wait | what a file leaves out: scratch scores[K] and smoothed[K], the probabilities of
 * transitions steps[K + 1][K] and opening[K + 1], scratch moments of a block (reals) | slots[3 lag] of points that wait,
 * scratch (uint32).
 *
 * A learner that knows surprises has behind it: the share of rare clusters, counts[SURPRISE_BINS] of tails | nats of a
 * tail for each nat below the peak[K], which a file leaves out (reals) | standing[K], the slot to check next, points
 * from one halving of the counts to the next, points since the last, points since an extreme one, those left out of its
 * episode (uint32). The standing of a cluster is its number of points, without forgetting; its highest bit marks a rare
 * cluster.
 *
 * A learner with a queue has last: times[Q] (int64) | the state of the settlement | points[Q][D] (reals) | points in the
 * queue, the place of the first, groups[Q] (uint32).
 */
#ifndef MAPDPM_LAYOUT_H
#define MAPDPM_LAYOUT_H

typedef mapdpm_real md_real;

/* No slot, no id, no row, no group. */
#define MD_NONE UINT32_MAX

/* Whether sums have low parts, which hold what rounding lost. */
enum { COMPENSATED = sizeof(md_real) == 4 ? 1 : 0 };
enum { WORDS_PER_SLOT = 4, WORDS_PER_EVENT = 4, PRIOR_VECTORS = 5 };
enum { EVENTS_PER_SLOT = MAPDPM_EVENTS(1) };
#define RING_SIZE(s) (EVENTS_PER_SLOT * MD_SLOTS(s))

typedef char head_has_no_padding[sizeof(mapdpm_stream) == MAPDPM_STREAM_HEAD ? 1 : -1];

/* Whether there is no learner: no memory, or memory that mapdpm_init or mapdpm_snapshot_read could not fill. */
static inline int is_none(const mapdpm_stream *s) { return s == NULL || s->bytes == 0; }

static inline size_t vectors_per_moments(const mapdpm_stream *s) { return HAS_MISSING(s) ? 3u : 2u; }
static inline size_t half_size(const mapdpm_stream *s) { return 1 + vectors_per_moments(s) * MD_FEATURES(s); }
static inline size_t moments_size(const mapdpm_stream *s) { return COMPENSATED ? 2 * half_size(s) : half_size(s); }
static inline size_t slot_size(const mapdpm_stream *s)
{
    return moments_size(s) + 2 * half_size(s) + (HAS_BASE(s) ? moments_size(s) + 1 : 0) + 1;
}
static inline size_t buffer_size(const mapdpm_stream *s)
{
    return MD_WARMUP(s) > MD_WINDOW(s) ? MD_WARMUP(s) : MD_WINDOW(s);
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

static inline void *address_of(const mapdpm_stream *s, size_t bytes)
{
    return (unsigned char *)(uintptr_t)s + bytes;
}
static inline int64_t *last_times_of(const mapdpm_stream *s) { return (int64_t *)address_of(s, sizeof *s); }
static inline int64_t *times_of(const mapdpm_stream *s) { return last_times_of(s) + MD_SLOTS(s); }
static inline md_real *prior_vector(const mapdpm_stream *s, size_t i)
{
    return (md_real *)address_of(s, s->at_reals) + i * MD_FEATURES(s);
}
static inline md_real *anchor_of(const mapdpm_stream *s) { return prior_vector(s, 0); }
static inline md_real *unit_of(const mapdpm_stream *s) { return prior_vector(s, 1); }
static inline md_real *noise_scale_of(const mapdpm_stream *s) { return prior_vector(s, 2); }
static inline md_real *prior_variance_of(const mapdpm_stream *s) { return prior_vector(s, 3); }
static inline md_real *prior_scale(const mapdpm_stream *s) { return prior_vector(s, 4); }
static inline md_real *slot_of(const mapdpm_stream *s, size_t k)
{
    return (md_real *)address_of(s, s->at_slots) + k * slot_size(s);
}
static inline md_real *half_of(const mapdpm_stream *s, size_t k, size_t h)
{
    return slot_of(s, k) + moments_size(s) + h * half_size(s);
}
static inline md_real *own_of(const mapdpm_stream *s, size_t k) { return half_of(s, k, 2); }
static inline md_real *base_tables_of(const mapdpm_stream *s, size_t k) { return own_of(s, k) + moments_size(s); }
/* Moments of a cluster that has no slot. */
static inline md_real *spare_of(const mapdpm_stream *s) { return slot_of(s, MD_SLOTS(s)); }
static inline md_real *merge_loss_of(const mapdpm_stream *s, size_t k) { return slot_of(s, k + 1) - 1; }
static inline md_real *constants_of(const mapdpm_stream *s) { return (md_real *)address_of(s, s->at_columns); }
static inline md_real *exponents_of(const mapdpm_stream *s) { return constants_of(s) + MD_SLOTS(s); }
static inline md_real *centres_of(const mapdpm_stream *s, size_t d) { return constants_of(s) + (2 + d) * MD_SLOTS(s); }
static inline md_real *scales_of(const mapdpm_stream *s, size_t d)
{
    return constants_of(s) + (2 + MD_FEATURES(s) + d) * MD_SLOTS(s);
}
static inline md_real *points_of(const mapdpm_stream *s)
{
    return constants_of(s) + (2 + 2 * (size_t)MD_FEATURES(s)) * MD_SLOTS(s);
}
static inline uint32_t *words_of(const mapdpm_stream *s) { return (uint32_t *)address_of(s, s->at_words); }
static inline uint32_t *ids_of(const mapdpm_stream *s) { return words_of(s); }
static inline uint32_t *last_seen_of(const mapdpm_stream *s) { return words_of(s) + MD_SLOTS(s); }
static inline uint32_t *merge_partner_of(const mapdpm_stream *s) { return words_of(s) + 2 * (size_t)MD_SLOTS(s); }
static inline uint32_t *trials_of(const mapdpm_stream *s) { return words_of(s) + 3 * (size_t)MD_SLOTS(s); }
static inline uint32_t *event_ring_of(const mapdpm_stream *s)
{
    return words_of(s) + WORDS_PER_SLOT * (size_t)MD_SLOTS(s);
}
static inline uint32_t *warmup_labels_of(const mapdpm_stream *s)
{
    return event_ring_of(s) + WORDS_PER_EVENT * (size_t)RING_SIZE(s);
}
static inline uint32_t *window_ids_of(const mapdpm_stream *s) { return warmup_labels_of(s) + MD_WARMUP(s); }

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static inline size_t groups_of(const mapdpm_stream *s) { return s->max_groups; }
static inline size_t n_cells(const mapdpm_stream *s) { return groups_of(s) * MD_SLOTS(s); }
/* The reals of all groups: one, and two for each slot, and those of the cells. */
static inline size_t group_reals(const mapdpm_stream *s)
{
    return 1 + 2 * (size_t)MD_SLOTS(s) + (3 + COMPENSATED) * n_cells(s);
}
static inline uint32_t *n_groups_of(const mapdpm_stream *s) { return (uint32_t *)address_of(s, s->at_more); }
static inline uint32_t *groups_full_of(const mapdpm_stream *s) { return n_groups_of(s) + 1; }
static inline uint32_t *group_of(const mapdpm_stream *s) { return n_groups_of(s) + 2; }
static inline uint32_t *row_of(const mapdpm_stream *s) { return n_groups_of(s) + 3; }
static inline md_real *gamma_of(const mapdpm_stream *s) { return (md_real *)address_of(s, s->at_more + 16); }
static inline md_real *log_gamma_of(const mapdpm_stream *s) { return gamma_of(s) + 1; }
static inline md_real *all_tables_of(const mapdpm_stream *s) { return gamma_of(s) + 2; }
static inline md_real *tables_of(const mapdpm_stream *s) { return gamma_of(s) + 3; }
static inline md_real *past_tables_of(const mapdpm_stream *s) { return tables_of(s) + MD_SLOTS(s); }
static inline md_real *cells_of(const mapdpm_stream *s, size_t row)
{
    return past_tables_of(s) + (1 + row) * MD_SLOTS(s);
}
static inline md_real *half_cells_of(const mapdpm_stream *s, size_t h, size_t row)
{
    return cells_of(s, row) + (1 + COMPENSATED + h) * n_cells(s);
}
static inline uint32_t *group_numbers_of(const mapdpm_stream *s)
{
    return (uint32_t *)(void *)(all_tables_of(s) + group_reals(s));
}
static inline uint32_t *group_seen_of(const mapdpm_stream *s) { return group_numbers_of(s) + groups_of(s); }
static inline uint32_t *point_rows_of(const mapdpm_stream *s) { return group_seen_of(s) + groups_of(s); }

/* ---- surprise ---------------------------------------------------------------------------------------------------- */

enum { SURPRISE_BINS = 40, SURPRISE_REALS = 1 + SURPRISE_BINS };
/* The mark of a rare cluster in its standing, and the limit of the rest. */
#define MD_RARE UINT32_C(0x80000000)
#define MOST_STANDING UINT32_C(0x3fffffff)
static inline md_real *rare_share(const mapdpm_stream *s) { return (md_real *)address_of(s, s->at_more); }
static inline md_real *tail_counts(const mapdpm_stream *s) { return rare_share(s) + 1; }
static inline md_real *steepness_of(const mapdpm_stream *s) { return rare_share(s) + SURPRISE_REALS; }
static inline uint32_t *standing_of(const mapdpm_stream *s)
{
    return (uint32_t *)(void *)(steepness_of(s) + MD_SLOTS(s));
}
enum { SURPRISE_WORDS = 5 };
static inline uint32_t *next_to_check(const mapdpm_stream *s) { return standing_of(s) + MD_SLOTS(s); }
static inline uint32_t *counting_period(const mapdpm_stream *s) { return next_to_check(s) + 1; }
static inline uint32_t *counted_in_period(const mapdpm_stream *s) { return next_to_check(s) + 2; }
static inline uint32_t *since_extreme(const mapdpm_stream *s) { return next_to_check(s) + 3; }
static inline uint32_t *left_out_in_run(const mapdpm_stream *s) { return next_to_check(s) + 4; }
static inline int is_rare(const mapdpm_stream *s, uint32_t k)
{
    return HAS_SURPRISE(s) && (standing_of(s)[k] & MD_RARE) != 0;
}

/* ---- a warm-up that is settled in steps, while points wait ------------------------------------------------------- */

/* The state of the settlement: which step is next, and what it goes on with (warmup.c). */
typedef struct {
    md_real share; /* of the total variance that lies within clusters, a guess */
    md_real shape; /* a0 */
    md_real best_share;
    md_real best_shape;
    md_real most; /* the log joint of the best guess */
    md_real gain; /* of the best merge so far */
    uint32_t step;
    uint32_t trial;
    uint32_t round;
    uint32_t pass;
    uint32_t sweep;
    uint32_t i;
    uint32_t k;
    uint32_t moved;
    uint32_t changed;
    uint32_t start;
    uint32_t to;
    uint32_t from;
} settling;
typedef char settling_is_counted[sizeof(settling) == 6 * sizeof(md_real) + 12 * 4 ? 1 : -1];
static inline size_t queue_bytes(const mapdpm_stream *s)
{
    return MD_QUEUE(s) > 0 ? MAPDPM_QUEUE_BYTES(MD_FEATURES(s), MD_QUEUE(s)) : 0;
}
static inline int64_t *queue_times(const mapdpm_stream *s) { return (int64_t *)address_of(s, s->bytes - queue_bytes(s)); }
static inline settling *settling_of(const mapdpm_stream *s)
{
    return (settling *)(void *)(queue_times(s) + MD_QUEUE(s));
}
static inline md_real *queue_points(const mapdpm_stream *s) { return (md_real *)(void *)(settling_of(s) + 1); }
static inline uint32_t *queue_length(const mapdpm_stream *s)
{
    return (uint32_t *)(void *)(queue_points(s) + (size_t)MD_QUEUE(s) * MD_FEATURES(s));
}
static inline uint32_t *queue_first(const mapdpm_stream *s) { return queue_length(s) + 1; }
static inline uint32_t *queue_groups(const mapdpm_stream *s) { return queue_length(s) + 2; }
/* Whether the warm-up has all its points, but no clusters yet. */
static inline int is_settling(const mapdpm_stream *s) { return IS_WARMING(s) && s->n_seen == MD_WARMUP(s); }
/* Whether there are clusters on trial. */
static inline int has_trials(const mapdpm_stream *s) { return MD_QUEUE(s) > 0 && is_settling(s); }
/* Whether points must wait. */
static inline int has_queue_to_do(const mapdpm_stream *s)
{
    return MD_QUEUE(s) > 0 && (is_settling(s) || *queue_length(s) > 0);
}

/* ---- states in time ---------------------------------------------------------------------------------------------- */

enum { TIME_WORDS = 6 };

static inline size_t waiting_room(const mapdpm_stream *s) { return 3 * (size_t)s->lag; }
/* The reals of a snapshot, with gamma and kappa. Behind them lie 2 K + (K + 1)^2 + half_size that a file leaves out. */
static inline size_t time_reals(const mapdpm_stream *s)
{
    const size_t K = MD_SLOTS(s);

    return 3 + K * (2 + (K + 1) + 2 * (K + 1) + 2 * K + 4) + waiting_room(s) * (K + MD_FEATURES(s));
}
static inline int64_t *decayed_to(const mapdpm_stream *s) { return (int64_t *)address_of(s, s->at_more); }
static inline uint32_t *n_waiting_of(const mapdpm_stream *s) { return (uint32_t *)(void *)(decayed_to(s) + 1); }
static inline uint32_t *last_slot_of(const mapdpm_stream *s) { return n_waiting_of(s) + 1; }
static inline uint32_t *last_half_of(const mapdpm_stream *s) { return n_waiting_of(s) + 2; }
static inline uint32_t *run_of(const mapdpm_stream *s) { return n_waiting_of(s) + 3; }
static inline uint32_t *looks_of(const mapdpm_stream *s) { return n_waiting_of(s) + 4; }
static inline uint32_t *state_id_of(const mapdpm_stream *s) { return n_waiting_of(s) + 5; }
static inline md_real *share_gamma(const mapdpm_stream *s) { return (md_real *)address_of(s, s->at_more + 32); }
static inline md_real *kappa_of(const mapdpm_stream *s) { return share_gamma(s) + 1; }
static inline md_real *state_total(const mapdpm_stream *s) { return share_gamma(s) + 2; }
static inline md_real *state_tables(const mapdpm_stream *s) { return share_gamma(s) + 3; }
static inline md_real *belief_of(const mapdpm_stream *s) { return state_tables(s) + MD_SLOTS(s); }
static inline md_real *counts_from(const mapdpm_stream *s, size_t row)
{
    return belief_of(s) + (1 + row) * MD_SLOTS(s);
}
static inline md_real *entries_of(const mapdpm_stream *s, size_t k, size_t h)
{
    return counts_from(s, MD_SLOTS(s) + 1) + (2 * k + h) * (MD_SLOTS(s) + 1);
}
static inline md_real *exits_of(const mapdpm_stream *s, size_t k, size_t h)
{
    return entries_of(s, MD_SLOTS(s), 0) + (2 * k + h) * MD_SLOTS(s);
}
static inline md_real *within_of(const mapdpm_stream *s, size_t k) { return exits_of(s, MD_SLOTS(s), 0) + 4 * k; }
static inline md_real *waiting_belief(const mapdpm_stream *s, size_t i)
{
    return within_of(s, MD_SLOTS(s)) + i * MD_SLOTS(s);
}
static inline md_real *waiting_point(const mapdpm_stream *s, size_t i)
{
    return waiting_belief(s, waiting_room(s)) + i * MD_FEATURES(s);
}
static inline md_real *state_scores(const mapdpm_stream *s) { return waiting_point(s, waiting_room(s)); }
static inline md_real *smoothed_of(const mapdpm_stream *s) { return state_scores(s) + MD_SLOTS(s); }
static inline md_real *steps_from(const mapdpm_stream *s, size_t row)
{
    return state_scores(s) + (2 + row) * MD_SLOTS(s);
}
static inline md_real *opening_of(const mapdpm_stream *s) { return steps_from(s, MD_SLOTS(s) + 1); }
static inline md_real *block_of(const mapdpm_stream *s) { return opening_of(s) + MD_SLOTS(s) + 1; }
static inline uint32_t *waiting_slots(const mapdpm_stream *s)
{
    return (uint32_t *)(void *)(block_of(s) + half_size(s));
}

/* Event number i, which the ring still has. */
static inline const uint32_t *event_of(const mapdpm_stream *s, uint64_t i)
{
    const uint32_t back = (uint32_t)(s->n_events - i),
                   place = s->at_event + (back > s->at_event ? RING_SIZE(s) : 0) - back;

    return event_ring_of(s) + WORDS_PER_EVENT * (size_t)place;
}

/* The place of the counts for each feature, of the means and of the squares in moments. The low parts lie half_size
 * behind. Without missing values the weight is the count of every feature. */
static inline md_real *counts_in(const mapdpm_stream *s, const md_real *moments)
{
    return (md_real *)(uintptr_t)moments + (HAS_MISSING(s) ? 1 : 0);
}
static inline size_t count_step(const mapdpm_stream *s) { return HAS_MISSING(s) ? 1 : 0; }
static inline md_real *mean_in(const mapdpm_stream *s, const md_real *moments)
{
    return (md_real *)(uintptr_t)moments + 1 + (vectors_per_moments(s) - 2) * MD_FEATURES(s);
}
static inline md_real *squares_in(const mapdpm_stream *s, const md_real *moments)
{
    return mean_in(s, moments) + MD_FEATURES(s);
}

#endif

#define MD_HALF ((md_real)0.5)
/* A point farther from the prior mean is refused. */
#define COORDINATE_LIMIT FLOAT_OR_DOUBLE(1e9, 1e75)

/* Moments at some time: weights and squares are to be multiplied by `decay`. With groups: the cells, to be multiplied
 * too; tables of groups that are gone; and all tables of the cluster. Without them, a view stays small. */
typedef struct {
    const md_real *moments;
    md_real decay;
#ifdef MAPDPM_GROUPS
    const md_real *cells;
    md_real past;
    md_real tables;
#endif
} view;

/* Moments of no point. Any slot will do, for its weight does not count. */
static inline view empty_view(const mapdpm_stream *s)
{
    view v;

    memset(&v, 0, sizeof v);
    v.moments = slot_of(s, 0);
    return v;
}

static inline int is_present(md_real x) { return !math_is_nan(x); }
static inline md_real coordinate(const mapdpm_stream *s, const md_real *x, size_t d)
{
    return (x[d] - anchor_of(s)[d]) * unit_of(s)[d];
}

/* Conversions between a whole number, 0 <= x < 2^62, and a real. On a chip without such instructions compilers would
 * use arithmetic on double, or large functions. */
static inline uint64_t to_uint64(md_real x)
{
    const uint32_t high = (uint32_t)(x / 4294967296);

    return (uint64_t)high << 32 | (uint32_t)(x - (md_real)high * 4294967296);
}

static inline md_real to_real(uint64_t n) { return (md_real)(uint32_t)(n >> 32) * 4294967296 + (md_real)(uint32_t)n; }

static inline int is_used(const mapdpm_stream *s, uint32_t k) { return *slot_of(s, k) > 0; }

/* The factor that the weight of a cluster has decayed by since it last learned, and minus its logarithm. */
static inline md_real elapsed(const mapdpm_stream *s, uint32_t k, int64_t now)
{
    return FORGETS(s) ? to_real((uint64_t)(now - last_times_of(s)[k])) * s->rate : 0;
}
static inline md_real decay_of(const mapdpm_stream *s, uint32_t k, int64_t now)
{
    return FORGETS(s) ? math_exp(-elapsed(s, k, now)) : 1;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* *sum += x, by Knuth's two-sum. The rounding error is added to the real `low` places behind; with low = 0 it is
 * lost. */
static inline void add_compensated(md_real *sum, size_t low, md_real x)
{
    if (COMPENSATED && low) {
        const md_real old = *sum, all = old + x, rest = all - old;
        const md_real lost = sum[low] + ((old - (all - rest)) + (x - rest));

        *sum = all + lost;
        sum[low] = lost - (*sum - all);
    } else {
        *sum += x;
    }
}

static inline md_real low_part(const md_real *sum, size_t low) { return COMPENSATED && low ? sum[low] : 0; }

/* Add a point of weight w; w < 0 removes one, but never the last. */
static inline void moments_add(const mapdpm_stream *s, md_real *moments, size_t low, const md_real *x, md_real w)
{
    md_real *const mean = mean_in(s, moments), *const squares = squares_in(s, moments),
                   *const counts = counts_in(s, moments);
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s);
    md_real share;
    size_t d;

    add_compensated(moments, low, w);
    share = w / *moments;
    for (d = 0; d < MD_FEATURES(s); d++) {
        md_real delta, t;

        if (HAS_MISSING(s)) {
            if (!is_present(x[d]))
                continue;
            add_compensated(counts + d, low, w);
            if (w < 0 && !(counts[d] > -w / 1024)) { /* the last value is gone: the rest is rounding */
                counts[d] = mean[d] = squares[d] = 0;
                if (COMPENSATED && low)
                    counts[low + d] = mean[low + d] = squares[low + d] = 0;
                continue;
            }
            share = w / counts[d];
        }
        t = (x[d] - anchor[d]) * unit[d];
        delta = (t - mean[d]) - low_part(mean + d, low);
        add_compensated(mean + d, low, delta * share);
        add_compensated(squares + d, low, w * delta * ((t - mean[d]) - low_part(mean + d, low)));
        if (!(squares[d] > 0)) { /* rounding: the mean may step past a value that it almost equals */
            squares[d] = 0;
            if (COMPENSATED && low)
                squares[low + d] = 0;
        }
    }
}

/* The union of two clusters (Chan): `from` is added to `to`. */
static inline void moments_merge(const mapdpm_stream *s, md_real *to, const md_real *from, size_t low)
{
    md_real *const mean = mean_in(s, to), *const squares = squares_in(s, to), *const counts = counts_in(s, to);
    const md_real *const mean2 = mean_in(s, from), *const squares2 = squares_in(s, from),
                         *const counts2 = counts_in(s, from);
    md_real n = *to, m = *from;
    size_t d;

    add_compensated(to, low, m);
    add_compensated(to, low, low_part(from, low));
    for (d = 0; d < MD_FEATURES(s); d++) {
        md_real delta, all = n + m;

        if (HAS_MISSING(s)) {
            n = counts[d];
            m = counts2[d];
            all = n + m;
            if (!(m > 0))
                continue;
            add_compensated(counts + d, low, m);
            add_compensated(counts + d, low, low_part(counts2 + d, low));
        }
        delta = (mean2[d] - mean[d]) + (low_part(mean2 + d, low) - low_part(mean + d, low));
        add_compensated(mean + d, low, delta * (m / all));
        add_compensated(squares + d, low, squares2[d]);
        add_compensated(squares + d, low, low_part(squares2 + d, low));
        add_compensated(squares + d, low, delta * delta * (n * (m / all)));
    }
}

/* Multiply weights and squares by g: to forget, or to let a half stand for the whole. */
static inline void moments_scale(const mapdpm_stream *s, md_real *moments, size_t low, md_real g)
{
    const size_t n = half_size(s), mean = (size_t)(mean_in(s, moments) - moments), D = MD_FEATURES(s);
    size_t i;

    for (i = 0; i < n; i++) {
        if (i >= mean && i < mean + D)
            continue;
        moments[i] *= g;
        if (COMPENSATED && low)
            moments[low + i] *= g;
    }
}

#endif

/* A product becomes a logarithm outside these bounds. Within COORDINATE_LIMIT, no product overflows before. */
#define PRODUCT_TINY FLOAT_OR_DOUBLE(1e-9, 1e-100)
#define PRODUCT_HUGE FLOAT_OR_DOUBLE(1e18, 1e100)

/* *product *= factor. Its logarithm moves to *logs before it leaves the range of a real. */
static inline void multiply_into(md_real *product, md_real *logs, md_real factor)
{
    *product *= factor;
    if (*product > PRODUCT_HUGE || *product < PRODUCT_TINY) {
        *logs += math_log(*product);
        *product = 1;
    }
}

/* 1 + *excess is multiplied by 1 + u, u >= 0. A large cluster multiplies the logarithm by half its size, so the excess
 * over 1 must keep its digits. */
static inline void multiply_one_plus(md_real *excess, md_real *logs, md_real u)
{
    *excess += u + *excess * u;
    if (*excess > PRODUCT_HUGE) {
        *logs += math_log1p(*excess);
        *excess = 0;
    }
}

/* The Normal-Gamma posterior of n points: a_n, c_n, and the parts of Gamma(a_n + 1/2) / Gamma(a_n). */
typedef struct {
    md_real a;
    md_real c;
    md_real series;
    md_real square;
} posterior;

static inline posterior posterior_of(const mapdpm_stream *s, md_real n)
{
    posterior p;

    p.a = s->a0 + MD_HALF * n;
    p.c = s->c0 + n;
    p.series = math_half_rising(p.a, &p.square);
    return p;
}

/* c0 n / (c0 + n): the weight of the shrinkage to the prior mean. */
static inline md_real shrinkage_of(const mapdpm_stream *s, md_real n) { return s->c0 * (n / (s->c0 + n)); }

/* The posterior scale b_n of a feature. */
static inline md_real posterior_b(md_real noise_scale, md_real shrinkage, md_real mean, md_real squares)
{
    return noise_scale + MD_HALF * (squares + shrinkage * mean * mean);
}

/* log p(x | moments), or if at_peak its highest value where x has values. If x is NULL: its constant, exponent, centres
 * and scales, into column k of the score table. */
static inline md_real normal_gamma_density(const mapdpm_stream *s, view v, const md_real *x, size_t k, int at_peak)
{
    const size_t D = MD_FEATURES(s), step = count_step(s);
    const md_real *const counts = step ? counts_in(s, v.moments) : v.moments;
    const md_real *const mean = mean_in(s, v.moments), *const squares = squares_in(s, v.moments);
    const md_real *const noise_scale = noise_scale_of(s);
    md_real total = 0, logs = 0, product = 1, excess = 0, tail = 0, n = -1, stretch = 0, shrink = 0, square = 0,
            shrinkage = 0;
    posterior p = {0, 0, 0, 0};
    size_t d;

    for (d = 0; d < D; d++) {
        const md_real now = v.decay * counts[d * step];
        md_real scale;

        if (step && x && !is_present(x[d]))
            continue;
        if (now != n) {
            total -= (p.a + MD_HALF) * (tail + math_log1p(excess));
            tail = excess = 0;
            n = now;
            p = posterior_of(s, n);
            stretch = MD_HALF * p.c / (p.c + 1);
            shrink = n / p.c;
            square = p.square / MATH_PI;
            shrinkage = shrinkage_of(s, n);
        }
        scale = stretch / posterior_b(noise_scale[d], shrinkage, mean[d], v.decay * squares[d]);
        total += p.series;
        multiply_into(&product, &logs, scale * square);
        if (x == NULL) {
            centres_of(s, d)[k] = shrink * mean[d];
            scales_of(s, d)[k] = scale;
        } else if (!at_peak) {
            const md_real t = coordinate(s, x, d) - shrink * mean[d];

            multiply_one_plus(&excess, &tail, t * t * scale);
        }
    }
    if (x == NULL && n > 0 && !IS_GROUPED(s) && !IS_TIMED(s)) { /* log n, by the same logarithm */
        multiply_into(&product, &logs, n);
        multiply_into(&product, &logs, n);
    }
    total += MD_HALF * (logs + math_log(product));
    if (x == NULL) {
        constants_of(s)[k] = total;
        exponents_of(s)[k] = p.a + MD_HALF;
        return total;
    }
    return total - (p.a + MD_HALF) * (tail + math_log1p(excess));
}

static inline md_real known_variance_density(const mapdpm_stream *s, view v, const md_real *x, size_t k, int at_peak)
{
    const size_t D = MD_FEATURES(s), step = count_step(s);
    const md_real *const counts = step ? counts_in(s, v.moments) : v.moments;
    const md_real *const mean = mean_in(s, v.moments), *const variance = noise_scale_of(s),
                         *const prior_variance = prior_variance_of(s);
    md_real logs = 0, product = 1, sum = 0, features = 0;
    size_t d;

    for (d = 0; d < D; d++) {
        md_real n, spread, wide, centre;

        if (step && x && !is_present(x[d]))
            continue;
        n = v.decay * counts[d * step];
        spread = variance[d] + n * prior_variance[d];
        wide = variance[d] * (1 + prior_variance[d] / spread);
        centre = n * prior_variance[d] / spread * mean[d];
        features += 1;
        multiply_into(&product, &logs, wide);
        if (x == NULL) {
            centres_of(s, d)[k] = centre;
            scales_of(s, d)[k] = MD_HALF / wide;
        } else if (!at_peak) {
            const md_real t = coordinate(s, x, d) - centre;

            sum += t * t * (MD_HALF / wide);
        }
    }
    logs = -MD_HALF * (features * MATH_LOG_2PI + logs + math_log(product));
    if (x == NULL) {
        const md_real n = v.decay * *v.moments;

        constants_of(s)[k] = n > 0 && !IS_GROUPED(s) && !IS_TIMED(s) ? logs + math_log(n) : logs;
        exponents_of(s)[k] = 1;
    }
    return logs - sum;
}

/* log p(x | moments), from the moments. */
static inline md_real density(const mapdpm_stream *s, view v, const md_real *x)
{
    return IS_GAMMA(s) ? normal_gamma_density(s, v, x, 0, 0) : known_variance_density(s, v, x, 0, 0);
}

/* The highest log density of a point with the same missing values as x. */
static inline md_real peak(const mapdpm_stream *s, view v, const md_real *x)
{
    return IS_GAMMA(s) ? normal_gamma_density(s, v, x, 0, 1) : known_variance_density(s, v, x, 0, 1);
}

/* Fill column k of the score table. Then each density, times the weight if there is one, costs a product for each
 * feature and one logarithm. */
static inline void prepare(const mapdpm_stream *s, view v, size_t k)
{
    if (IS_GAMMA(s))
        (void)normal_gamma_density(s, v, NULL, k, 0);
    else
        (void)known_variance_density(s, v, NULL, k, 0);
}

/* Clusters that are compared at once: as many as vectors hold, or one if the code must be small. */
#ifdef __OPTIMIZE_SIZE__
enum { MD_BLOCK = 1 };
#else
enum { MD_BLOCK = 8 };
#endif

/* log p(x | column k of the score table), safe from overflow. */
static inline md_real table_density(const mapdpm_stream *s, const md_real *x, size_t k)
{
    md_real excess = 0, logs = 0;
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real t = coordinate(s, x, d) - centres_of(s, d)[k];

        if (IS_GAMMA(s))
            multiply_one_plus(&excess, &logs, t * t * scales_of(s, d)[k]);
        else
            logs += t * t * scales_of(s, d)[k];
    }
    return constants_of(s)[k] - exponents_of(s)[k] * (logs + math_log1p(excess));
}

/* The same, from its tail. */
static inline md_real density_of_tail(const mapdpm_stream *s, const md_real *x, size_t k, md_real tail)
{
    if (!IS_GAMMA(s))
        return constants_of(s)[k] - tail;
    if (!(tail <= PRODUCT_HUGE))
        return table_density(s, x, k);
    return constants_of(s)[k] - exponents_of(s)[k] * math_log1p(tail);
}

#endif

/* A cluster has at least so many tables, so that no share is 0. */
#define LEAST_TABLES ((md_real)1e-3)
/* A lower bound of a logarithm plus this is an upper bound. */
#define MOST_BELOW ((md_real)0.0601)
/* A pseudo-count is at least so large, so that no quotient leaves the normal numbers. */
#define LEAST_PSEUDO_COUNT FLOAT_OR_DOUBLE(1e-18, 1e-200)

/* log Gamma(x) - log Gamma(x1) - log Gamma(x2) for positive numbers. Its large terms cancel in the formula, not in
 * rounded numbers. */
static inline md_real gamma_merge(md_real x1, md_real x2, md_real x)
{
    const md_real over = x - x1 - x2;
    md_real r, r1, r2;
    const md_real tails = math_excess(x, &r) - math_excess(x1, &r1) - math_excess(x2, &r2);

    return tails + x1 * math_log(x / x1) + x2 * math_log(x / x2) + over * (math_log(x) - 1) +
           MD_HALF * (math_log(r1 / r * r2) - MATH_LOG_2PI);
}

/* ---- what a view has besides ------------------------------------------------------------------------------------ */

#ifdef MAPDPM_GROUPS
static inline const md_real *cells_in(view v) { return v.cells; }
static inline md_real past_in(view v) { return v.past; }
static inline md_real tables_in(view v) { return v.tables; }
static inline void set_groups(view *v, const md_real *cells, md_real past, md_real tables)
{
    v->cells = cells;
    v->past = past;
    v->tables = tables;
}
#else
static inline const md_real *cells_in(view v) { return v.moments; }
static inline md_real past_in(view v) { return (void)v, (md_real)0; }
static inline md_real tables_in(view v) { return (void)v, (md_real)0; }
static inline void set_groups(view *v, const md_real *cells, md_real past, md_real tables)
{
    (void)v, (void)cells, (void)past, (void)tables;
}
#endif

/* The points of group g. A view without cells has none. */
static inline md_real points_in(const mapdpm_stream *s, view v, size_t g)
{
    return cells_in(v) ? v.decay * cells_in(v)[g * MD_SLOTS(s)] : 0;
}

/* The same cluster without points. */
static inline view faded(view v)
{
    v.decay = 0;
    return v;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static inline md_real at_least(md_real x, md_real least) { return x > least ? x : least; }

/* A group with n points in a cluster has min(n, 1) + a log(this) tables there, for a pseudo-count a: docs/maths.md
 * (59). */
static inline md_real table_factor(md_real n, md_real a) { return n > 1 ? (n + a - MD_HALF) / (a + MD_HALF) : 1; }

/* The expected number of tables of two clusters together. */
static inline md_real count_tables(const mapdpm_stream *s, view v1, view v2, md_real a)
{
    md_real whole = 0, product = 1, logs = 0;
    size_t g;

    for (g = 0; g < groups_of(s); g++) {
        const md_real n = points_in(s, v1, g) + points_in(s, v2, g);

        whole += n > 1 ? 1 : n;
        if (n > 1)
            multiply_into(&product, &logs, table_factor(n, a));
    }
    return whole + a * (logs + math_log(product));
}

/* The tables of a slot whose weight has decayed. A cluster has no more tables than points. */
static inline md_real tables_at(const mapdpm_stream *s, uint32_t k, md_real decay)
{
    const md_real n = *slot_of(s, k) * decay, tables = tables_of(s)[k];

    return tables < n ? tables : n;
}

/* The pseudo-count of a share of all tables and gamma. */
static inline md_real pseudo_count(const mapdpm_stream *s, md_real tables, md_real all)
{
    return at_least(s->alpha * (tables / all), LEAST_PSEUDO_COUNT);
}

/* The weight of a slot for the next point of the group in a row, which may be MD_NONE. The weights of all slots and of
 * a new cluster sum to alpha plus the points of the group. */
static inline md_real group_weight(const mapdpm_stream *s, uint32_t k, uint32_t row, md_real decay)
{
    const md_real n = row == MD_NONE ? 0 : cells_of(s, row)[k] * decay;

    return n + pseudo_count(s, tables_at(s, k, decay), *all_tables_of(s));
}

/* The points of the group in a row. */
static inline md_real points_here(const mapdpm_stream *s, uint32_t row)
{
    md_real total = 0;
    uint32_t k;

    for (k = 0; k < s->width && row != MD_NONE; k++)
        if (is_used(s, k))
            total += cells_of(s, row)[k] * decay_of(s, k, s->now);
    return total;
}

/* The log weight of a new cluster. */
static inline md_real log_opening(const mapdpm_stream *s)
{
    return IS_GROUPED(s) ? s->log_alpha + (*log_gamma_of(s) - math_log(*all_tables_of(s))) : s->log_alpha;
}

/* ---- the prior --------------------------------------------------------------------------------------------------- */

/* Two clusters: the expected tables and the pseudo-count of each, and all tables and gamma with these. */
typedef struct {
    md_real e1;
    md_real e2;
    md_real a1;
    md_real a2;
    md_real all;
} two_tables;

static inline two_tables tables_of_two(const mapdpm_stream *s, view v1, view v2)
{
    const md_real all = *all_tables_of(s);
    const view nothing = faded(v2);
    two_tables t;

    t.e1 = at_least(past_in(v1) + count_tables(s, v1, nothing, pseudo_count(s, tables_in(v1), all)), LEAST_TABLES);
    t.e2 = at_least(past_in(v2) + count_tables(s, v2, nothing, pseudo_count(s, tables_in(v2), all)), LEAST_TABLES);
    t.all = all - tables_in(v1) - tables_in(v2) + t.e1 + t.e2;
    t.a1 = pseudo_count(s, t.e1, t.all);
    t.a2 = pseudo_count(s, t.e2, t.all);
    return t;
}

/* The gain of the log prior when two clusters become one (docs/maths.md (60)). */
static inline md_real merge_groups_term(const mapdpm_stream *s, view v1, view v2)
{
    const two_tables t = tables_of_two(s, v1, v2);
    const md_real both = count_tables(s, v1, v2, pseudo_count(s, t.e1 + t.e2, t.all));
    const md_real e = at_least(past_in(v1) + past_in(v2) + both, LEAST_TABLES), after = t.all - t.e1 - t.e2 + e;
    const md_real a1 = t.a1, a2 = t.a2, a = pseudo_count(s, e, after);
    md_real total = -*log_gamma_of(s), product = 1, logs = 0, cells = 0, r, r1, r2;
    size_t g;

    for (g = 0; g < groups_of(s); g++) {
        const md_real n1 = points_in(s, v1, g), n2 = points_in(s, v2, g);

        if (!(n1 + n2 > 0))
            continue;
        cells += 1;
        total += gamma_merge(a1 + 1 + n1, a2 + 1 + n2, a + 1 + n1 + n2);
        multiply_into(&product, &logs, a / (a + n1 + n2));
        multiply_into(&product, &logs, (a1 + n1) / a1);
        multiply_into(&product, &logs, (a2 + n2) / a2);
    }
    total += logs + math_log(product) - cells * gamma_merge(a1 + 1, a2 + 1, a + 1);
    total += past_in(v1) * math_log(a / a1) + past_in(v2) * math_log(a / a2);
    total += (t.all - t.e1 - t.e2 - MD_HALF) * math_log(t.all / after);
    total += math_excess(e, &r) - math_excess(t.e1, &r1) - math_excess(t.e2, &r2);
    return total + MD_HALF * (math_log(r1 / r * r2) - MATH_LOG_2PI);
}

/* The number of groups that have points in both clusters. */
static inline md_real meetings_of(const mapdpm_stream *s, view v1, view v2)
{
    md_real meetings = 0;
    size_t g;

    for (g = 0; g < groups_of(s); g++)
        if (points_in(s, v1, g) > 0 && points_in(s, v2, g) > 0)
            meetings += 1;
    return meetings;
}

/* What that gain may exceed the entropy of the labels by, if so many groups meet. */
static inline md_real most_groups_gain(const mapdpm_stream *s, view v1, view v2, md_real meetings)
{
    const md_real least = tables_in(v1) < tables_in(v2) ? tables_in(v1) : tables_in(v2);
    const md_real rarest = math_log_below(pseudo_count(s, least, *all_tables_of(s)));
    const md_real n = v1.decay * *v1.moments + v2.decay * *v2.moments;

    return meetings * (2 + math_log_below(n) - (rarest < 0 ? rarest : 0)) + least +
           (*log_gamma_of(s) < 0 ? -*log_gamma_of(s) : 0);
}

/* A lower bound of that gain (docs/maths.md, section 16). A lower bound of a logarithm costs no more than a product. */
static inline md_real least_groups_gain(const mapdpm_stream *s, view v1, view v2)
{
    const two_tables t = tables_of_two(s, v1, v2);
    const md_real rarest = t.a1 < t.a2 ? t.a1 : t.a2, each = -(math_log_below(rarest) + MOST_BELOW) - (md_real)1.1;
    md_real total = -*log_gamma_of(s) - (md_real)1.5;
    size_t g;

    for (g = 0; g < groups_of(s); g++) {
        const md_real n1 = points_in(s, v1, g), n2 = points_in(s, v2, g), n = n1 + n2;

        if (n1 >= 1 && n2 >= 1)
            total += at_least(n1 * math_log_below(n / n1) + n2 * math_log_below(n / n2) +
                                  MD_HALF * math_log_below(n1 * (n2 / n)) + each -
                                  (t.a1 + t.a2) * (1 + (math_log_below(n) + MOST_BELOW)),
                              0);
    }
    return total;
}

/* log prod_g a^(n_g) / a, with rising factorials: the weights by which the points of a cluster joined it. */
static inline md_real joining_term(const mapdpm_stream *s, view v)
{
    const md_real a = pseudo_count(s, at_least(tables_in(v), LEAST_TABLES), *all_tables_of(s));
    md_real total = 0, product = 1, logs = 0, roots = 1, root_logs = 0, root, empty_root, empty;
    size_t g;

    empty = math_excess(a + 1, &empty_root) + (a + 1) * (math_log(a + 1) - 1);
    for (g = 0; g < groups_of(s); g++) {
        const md_real n = points_in(s, v, g), x = a + 1 + n;

        if (!(n > 0))
            continue;
        total += math_excess(x, &root) + x * (math_log(x) - 1) - empty;
        multiply_into(&roots, &root_logs, empty_root / root);
        multiply_into(&product, &logs, a / (a + n));
    }
    return total + MD_HALF * (root_logs + math_log(roots)) + logs + math_log(product) - math_log(a);
}

#endif

#define PRIOR_NATS 12

/* ---- merging: L(a + b) - L(a) - L(b), without the large terms that cancel ---------------------------------------- */

/* The Normal-Gamma terms of one feature that depend on the numbers of points only. */
static inline md_real merge_count_term(const mapdpm_stream *s, md_real n1, md_real n2)
{
    const md_real a0 = s->a0, c0 = s->c0;
    md_real r1, r2, r, ratio;
    const md_real tails = math_excess(a0 + MD_HALF * (n1 + n2), &r) + s->excess - math_excess(a0 + MD_HALF * n1, &r1) -
                          math_excess(a0 + MD_HALF * n2, &r2);

    ratio = ((c0 + n1) * r1) / ((c0 + n1 + n2) * r) * (((c0 + n2) * r2) / (c0 * s->root));
    return tails + MD_HALF * math_log(ratio);
}

static inline md_real normal_gamma_merge(const mapdpm_stream *s, view v1, view v2)
{
    const size_t D = MD_FEATURES(s), step = count_step(s);
    const md_real *const counts1 = step ? counts_in(s, v1.moments) : v1.moments;
    const md_real *const counts2 = step ? counts_in(s, v2.moments) : v2.moments;
    const md_real *const mean1 = mean_in(s, v1.moments), *const mean2 = mean_in(s, v2.moments);
    const md_real *const squares1 = squares_in(s, v1.moments), *const squares2 = squares_in(s, v2.moments);
    const md_real *const noise_scale = noise_scale_of(s);
    md_real total = 0, n1 = -1, n2 = -1, a1 = 0, a2 = 0, a = 0, by_number = 0, ratio1 = 0, ratio2 = 0, ratio0 = 0;
    md_real shrinkage1 = 0, shrinkage2 = 0, shrinkage = 0, share = 0, between = 0;
    md_real product1 = 1, product2 = 1, product0 = 1, logs1 = 0, logs2 = 0, logs0 = 0;
    size_t d;

    for (d = 0; d <= D; d++) {
        const md_real next1 = d < D ? v1.decay * counts1[d * step] : -1,
                      next2 = d < D ? v2.decay * counts2[d * step] : -1;
        md_real delta, inverse, b1, b2;

        if (d == D || next1 != n1 || next2 != n2) {
            if (d > 0)
                total += a1 * (logs1 + math_log(product1)) + a2 * (logs2 + math_log(product2)) -
                         s->a0 * (logs0 + math_log(product0));
            if (d == D)
                break;
            product1 = product2 = product0 = 1;
            logs1 = logs2 = logs0 = 0;
            n1 = next1;
            n2 = next2;
            a1 = s->a0 + MD_HALF * n1;
            a2 = s->a0 + MD_HALF * n2;
            a = s->a0 + MD_HALF * (n1 + n2);
            by_number = merge_count_term(s, n1, n2);
            ratio1 = a / a1;
            ratio2 = a / a2;
            ratio0 = a / s->a0;
            shrinkage1 = shrinkage_of(s, n1);
            shrinkage2 = shrinkage_of(s, n2);
            shrinkage = shrinkage_of(s, n1 + n2);
            share = n1 + n2 > 0 ? n2 / (n1 + n2) : 0;
            between = n1 * share;
        }
        total += by_number;
        delta = mean2[d] - mean1[d];
        b1 = posterior_b(noise_scale[d], shrinkage1, mean1[d], v1.decay * squares1[d]);
        b2 = posterior_b(noise_scale[d], shrinkage2, mean2[d], v2.decay * squares2[d]);
        inverse = 1 / posterior_b(noise_scale[d], shrinkage, mean1[d] + delta * share,
                                  v1.decay * squares1[d] + v2.decay * squares2[d] + delta * delta * between);
        multiply_into(&product1, &logs1, b1 * inverse * ratio1);
        multiply_into(&product2, &logs2, b2 * inverse * ratio2);
        multiply_into(&product0, &logs0, noise_scale[d] * inverse * ratio0);
    }
    return total;
}

/* n mean^2 / (variance + n prior_variance), in the unit of the mean. */
static inline md_real mean_penalty(md_real n, md_real mean, md_real variance, md_real prior_variance)
{
    return n * mean * mean / (variance + n * prior_variance);
}

static inline md_real known_variance_merge(const mapdpm_stream *s, view v1, view v2)
{
    const size_t D = MD_FEATURES(s), step = count_step(s);
    const md_real *const counts1 = step ? counts_in(s, v1.moments) : v1.moments;
    const md_real *const counts2 = step ? counts_in(s, v2.moments) : v2.moments;
    const md_real *const mean1 = mean_in(s, v1.moments), *const mean2 = mean_in(s, v2.moments);
    md_real total = 0, product = 1, logs = 0;
    size_t d;

    for (d = 0; d < D; d++) {
        const md_real n1 = v1.decay * counts1[d * step], n2 = v2.decay * counts2[d * step], n = n1 + n2;
        const md_real variance = noise_scale_of(s)[d], prior_variance = prior_variance_of(s)[d],
                      delta = mean2[d] - mean1[d];
        const md_real share = n > 0 ? n2 / n : 0;

        multiply_into(&product, &logs, (variance + n1 * prior_variance) / variance);
        multiply_into(&product, &logs, (variance + n2 * prior_variance) / (variance + n * prior_variance));
        total += mean_penalty(n1, mean1[d], variance, prior_variance) +
                 mean_penalty(n2, mean2[d], variance, prior_variance) -
                 mean_penalty(n, mean1[d] + delta * share, variance, prior_variance) -
                 n1 * share * delta * delta / variance;
    }
    return MD_HALF * (total + logs + math_log(product));
}

/* log Gamma(n1 + n2) - log Gamma(n1) - log Gamma(n2), each of max(n, 1). */
static inline md_real merge_size_term(md_real n1, md_real n2)
{
    return gamma_merge(at_least(n1, 1), at_least(n2, 1), at_least(n1 + n2, 1));
}

/* Whether two clusters are so far apart that their merge certainly lowers the log joint. With y = sum_d n1 n2 / n^2
 * delta^2 / variance within, the merge loses at least n/2 log(1 + y) nats. It gains n H(n1 / n) from one label less,
 * and for each feature one prior less, at most PRIOR_NATS. The bounds of the logarithms cost no more than a product. */
static inline int merge_surely_loses(const mapdpm_stream *s, view v1, view v2)
{
    const size_t D = MD_FEATURES(s);
    const md_real *const mean1 = mean_in(s, v1.moments), *const mean2 = mean_in(s, v2.moments);
    const md_real *const squares1 = squares_in(s, v1.moments), *const squares2 = squares_in(s, v2.moments);
    const md_real *const noise_scale = noise_scale_of(s);
    const md_real n1 = v1.decay * *v1.moments, n2 = v2.decay * *v2.moments, n = n1 + n2;
    const md_real share = (n1 < n2 ? n1 : n2) / n;
    md_real sum = 0, least, loss, entropy;
    size_t d;

    if (HAS_MISSING(s) || !IS_GAMMA(s) || !(share > 0))
        return 0;
    for (d = 0; d < D; d++) {
        const md_real delta = mean2[d] - mean1[d];

        sum += delta * delta / (2 * noise_scale[d] + v1.decay * squares1[d] + v2.decay * squares2[d]);
    }
    sum *= n * share * (1 - share);
    least = PRIOR_NATS * (md_real)(D + 1);
    loss = MD_HALF * math_log_below(1 + sum);
    entropy = share * (1 - math_log_below(share));
    if (IS_TIMED(s)) /* each of so many cells and rows saves a few logarithms of its size */
        least += 3 * (md_real)(MD_SLOTS(s) + 2) * (2 + math_log_below(n + 1) + MOST_BELOW);
    if (!IS_GROUPED(s) || !(loss > entropy + least / n))
        return loss > entropy + least / n;
    if (loss > entropy + (least + most_groups_gain(s, v1, v2, (md_real)groups_of(s))) / n) /* usually far enough */
        return 1;
    return loss > entropy + (least + most_groups_gain(s, v1, v2, meetings_of(s, v1, v2))) / n;
}

/* The part of the likelihood in the gain of a merge. */
static inline md_real merge_data_gain(const mapdpm_stream *s, view v1, view v2)
{
    return IS_GAMMA(s) ? normal_gamma_merge(s, v1, v2) : known_variance_merge(s, v1, v2);
}

/* The gain of the log joint when two clusters merge. */
static inline md_real merge_gain(const mapdpm_stream *s, view v1, view v2)
{
    const md_real data = merge_data_gain(s, v1, v2);

    if (IS_GROUPED(s))
        return data + merge_groups_term(s, v1, v2);
    return data + merge_size_term(v1.decay * *v1.moments, v2.decay * *v2.moments) - s->log_alpha;
}

/* ---- forgetting -------------------------------------------------------------------------------------------------- */

/* The prior's term in the log p of each cluster: a0 sum_d log(b0 / a0). */
static inline md_real log_prior(const mapdpm_stream *s)
{
    md_real logs = 0, product = 1;
    size_t d;

    for (d = 0; d < MD_FEATURES(s) && IS_GAMMA(s); d++)
        multiply_into(&product, &logs, noise_scale_of(s)[d] / s->a0);
    return s->a0 * (logs + math_log(product));
}

/* A cluster's term of the log joint, given log_prior: log p of all its points, and log Gamma(max(n, 1)), or with groups
 * the weights by which they joined it. *alone is the log p of a point as a cluster of its own, at the root mean square
 * distance of the points from the prior mean. */
static inline md_real log_joint_term(const mapdpm_stream *s, view v, md_real prior_term, md_real *alone)
{
    const size_t D = MD_FEATURES(s), step = count_step(s);
    const md_real *const counts = step ? counts_in(s, v.moments) : v.moments;
    const md_real *const mean = mean_in(s, v.moments), *const squares = squares_in(s, v.moments);
    const md_real *const noise_scale = noise_scale_of(s);
    const md_real weight = v.decay * *v.moments, size = weight > 1 ? weight : 1;
    md_real total, root, logs = 0, product, tail = 0, excess = 0;
    md_real last = -1, a = 1, by_number = 0, factor = 1, shrinkage = 0, spreads = 1, spread_logs = 0;
    size_t d;

    *alone = s->opening - s->log_alpha;
    if (IS_GROUPED(s)) {
        total = joining_term(s, v);
        product = 1;
    } else {
        total = math_excess(size, &root) + size * (math_log(size) - 1) + MD_HALF * MATH_LOG_2PI;
        product = 1 / root;
    }
    for (d = 0; d < D; d++) {
        const md_real n = v.decay * counts[d * step], M2 = v.decay * squares[d];
        const md_real away = (n > 0 ? M2 / n : 0) + mean[d] * mean[d];

        if (IS_GAMMA(s)) {
            if (n != last) {
                total -= a * (spread_logs + math_log(spreads));
                spreads = 1;
                spread_logs = 0;
                last = n;
                a = s->a0 + MD_HALF * n;
                by_number = math_excess(a, &root) - s->excess - MD_HALF * n * (1 + MATH_LOG_2PI);
                factor = s->c0 / (s->c0 + n) * (s->root / root);
                shrinkage = shrinkage_of(s, n);
            }
            total += by_number;
            multiply_into(&product, &logs, factor);
            multiply_into(&spreads, &spread_logs, posterior_b(noise_scale[d], shrinkage, mean[d], M2) / a);
            multiply_one_plus(&excess, &tail, away * prior_scale(s)[d]);
        } else {
            const md_real grown = noise_scale[d] + n * prior_variance_of(s)[d];

            total -= MD_HALF * (n * MATH_LOG_2PI + (n - 1) * math_log(noise_scale[d]) + math_log(grown) +
                                M2 / noise_scale[d] + n * mean[d] * mean[d] / grown);
            tail += away * prior_scale(s)[d];
        }
    }
    if (IS_GAMMA(s)) {
        total += prior_term - a * (spread_logs + math_log(spreads));
        *alone -= (s->a0 + MD_HALF) * (tail + math_log1p(excess));
    } else {
        *alone -= tail;
    }
    return total + MD_HALF * (logs + math_log(product));
}

/* The loss of the log joint if each point of the cluster were alone. It shrinks with the time since the cluster was
 * last seen (docs/maths.md (27)). */
static inline md_real eviction_loss(const mapdpm_stream *s, view v, md_real prior_term, md_real idle,
                                    md_real total_weight)
{
    const md_real n = v.decay * *v.moments, size = n > 1 ? n : 1;
    md_real alone, loss = log_joint_term(s, v, prior_term, &alone);

    loss += (1 - size) * log_opening(s) - n * alone; /* n, not size: the unit of the data must not matter */
    return loss * math_exp(-idle * n / (3 * total_weight));
}

#endif

/* The nats that a split or a merge must gain, so that one point does not undo the change of another. A split of n
 * points must gain log n more, because it was tried about so often. */
#define HYSTERESIS ((md_real)3)
/* A cluster of less weight is removed: a single point after one half-life. */
#define FORGOTTEN_WEIGHT ((md_real)0.5)
/* After so many points, halves that have not become clusters start anew with another division. The number doubles each
 * time, up to TRIAL_LENGTH << DOUBLINGS. */
#define TRIAL_LENGTH 300u
#define DOUBLINGS 4u
/* A half with fewer points is ignored. */
#define LEAST_HALF ((md_real)2)
/* Halves of LARGE_HALF points or more stand for up to EXTRAPOLATION times as many points of their cluster. */
#define LARGE_HALF ((md_real)500)
#define EXTRAPOLATION ((md_real)4)
/* One in so many points of a cluster is followed by an attempt to split it, the others by an attempt to merge it. */
#define LOOK_PERIOD 4u
/* c0 = EMPIRICAL_POINTS / warm-up, as in the batch prior. */
#define EMPIRICAL_POINTS ((md_real)10)
/* The least variance within clusters, as a share of the variance of all points. */
#define LEAST_SHARE ((md_real)1e-4)
/* Losses within so many nats are ties. */
#define TIE_NATS ((md_real)1e-3)
/* Added to a variance, so that a constant feature does not divide by zero. */
#define TINY_VARIANCE ((md_real)1e-30)

/* A cluster so many nats below the best does not change a density by a bit. */
#define NEGLIGIBLE ((md_real)40)

/* The largest coordinate before there is a prior that sets the scale. */
#define WARMUP_LIMIT FLOAT_OR_DOUBLE(1e15, 1e100)
/* The limit of the weight of all points. */
#define MOST_WEIGHT ((md_real)1e18)

/* The limit of the variance of a cluster that is inserted, in its coordinates: that of points within COORDINATE_LIMIT,
 * with room for rounding. Sums of squares of MOST_WEIGHT points then stay finite, whatever is merged. */
#define MOST_SPREAD (2 * COORDINATE_LIMIT * COORDINATE_LIMIT)

/* The limits of the variances of a prior. */
#define LEAST_VARIANCE FLOAT_OR_DOUBLE(1e-30, 1e-200)
#define MOST_VARIANCE FLOAT_OR_DOUBLE(1e30, 1e200)

/* The limit of the numbers of features, of slots and of groups. */
#define LARGEST_COUNT (UINT32_C(1) << 20)
/* The largest lag. */
#define LARGEST_LAG 1024u

/* Almost the largest real. */
#define LARGEST_REAL FLOAT_OR_DOUBLE(3e38, 1e300)

enum { CLOCK_UNKNOWN = 0, CLOCK_POINTS = 1, CLOCK_MICROSECONDS = 2 };

/* The choice of a point: the best cluster, the most likely of the others, and whether a new cluster scores higher. */
typedef struct {
    uint32_t best;
    uint32_t second;
    int has_aged; /* the weight of a cluster is below FORGOTTEN_WEIGHT */
    int opens;
    md_real density;
    md_real novelty; /* the probability of a new cluster */
    md_real common;  /* the log of the sum of all weighted densities but those of rare clusters */
    md_real weight;  /* of all clusters, and alpha */
} choice;

MAPDPM_INTERNAL int stream_reset(mapdpm_stream *s, const mapdpm_options *options);
MAPDPM_INTERNAL md_real stream_parameter(const mapdpm_stream *s, size_t i);
MAPDPM_INTERNAL choice stream_choose(const mapdpm_stream *s, const md_real *x, int with_density);
MAPDPM_INTERNAL int stream_check_point(const mapdpm_stream *s, const md_real *x);
MAPDPM_INTERNAL md_real stream_total_weight(const mapdpm_stream *s);
MAPDPM_INTERNAL size_t stream_choose_half(const mapdpm_stream *s, uint32_t k, const md_real *x);
MAPDPM_INTERNAL uint32_t stream_try_split(mapdpm_stream *s, uint32_t k, size_t h);
MAPDPM_INTERNAL void stream_try_merge(mapdpm_stream *s, uint32_t k, uint32_t b);
MAPDPM_INTERNAL uint32_t stream_make_room(mapdpm_stream *s, uint32_t spared, md_real gain);
MAPDPM_INTERNAL void stream_clear_halves(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_remove(mapdpm_stream *s, uint32_t k, uint32_t kind);
MAPDPM_INTERNAL void stream_remove_aged(mapdpm_stream *s);
MAPDPM_INTERNAL void stream_open_slot(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL int stream_set_prior(mapdpm_stream *s, const md_real *parameters);
MAPDPM_INTERNAL void stream_clear_slot(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_apply_decay(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_refresh(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void stream_relabel_window(mapdpm_stream *s, uint32_t from, uint32_t to);
MAPDPM_INTERNAL void stream_revisit(mapdpm_stream *s, const md_real *x, uint32_t id);
MAPDPM_INTERNAL void stream_record(mapdpm_stream *s, uint32_t kind, uint32_t id, uint32_t other);
MAPDPM_INTERNAL uint32_t stream_free_slot(const mapdpm_stream *s);
MAPDPM_INTERNAL md_real stream_unit_for(md_real variance);
MAPDPM_INTERNAL void stream_prepare_opening(mapdpm_stream *s);
MAPDPM_INTERNAL md_real stream_gain_of_split(const mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_revisit_prior(mapdpm_stream *s);
MAPDPM_INTERNAL int stream_is_valid(const mapdpm_stream *s);

/* The end of the warm-up (warmup.c, settle.c): begin, and take a step, which returns whether there are more, or an
 * error. */
MAPDPM_INTERNAL const md_real *warmup_point(const mapdpm_stream *s, size_t i);
MAPDPM_INTERNAL void warmup_add_point(mapdpm_stream *s, size_t i, uint32_t k, md_real weight);
MAPDPM_INTERNAL void warmup_begin(settling *z);
MAPDPM_INTERNAL int warmup_step(mapdpm_stream *s, settling *z);
MAPDPM_INTERNAL void settle_begin(settling *z);
MAPDPM_INTERNAL int settle_step(mapdpm_stream *s, settling *z);

/* Points that wait (queue.c), and how they are learned (online.c). */
MAPDPM_INTERNAL int queue_add(mapdpm_stream *s, const md_real *x, int64_t now);
MAPDPM_INTERNAL int64_t queue_latest(const mapdpm_stream *s);
MAPDPM_INTERNAL int stream_learn(mapdpm_stream *s, const md_real *x, int64_t now, uint32_t *id, md_real *score,
                                 mapdpm_assessment *a);
MAPDPM_INTERNAL void stream_settled(mapdpm_stream *s);

/* Assessments (assess.c). */
MAPDPM_INTERNAL void stream_assess_nothing(mapdpm_assessment *a);
MAPDPM_INTERNAL void stream_assess(const mapdpm_stream *s, const choice *c, md_real surprise, mapdpm_assessment *a);

/* With surprise (surprise.c). */
MAPDPM_INTERNAL void surprise_reset(mapdpm_stream *s, md_real rare);
MAPDPM_INTERNAL md_real surprise_nats(const mapdpm_stream *s, const md_real *x, const choice *c);
MAPDPM_INTERNAL md_real surprise_rank(const mapdpm_stream *s, md_real nats);
MAPDPM_INTERNAL void surprise_count(mapdpm_stream *s, md_real nats, md_real surprise, uint32_t k, md_real weight);
MAPDPM_INTERNAL void surprise_refresh(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void surprise_judge_all(mapdpm_stream *s);
MAPDPM_INTERNAL void surprise_seat(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void surprise_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void surprise_split(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share);
MAPDPM_INTERNAL void surprise_pool(mapdpm_stream *s, const mapdpm_stream *from);

/* With groups (groups.c). */
MAPDPM_INTERNAL void groups_reset(mapdpm_stream *s, const mapdpm_options *options);
MAPDPM_INTERNAL int groups_can_learn(const mapdpm_stream *s);
MAPDPM_INTERNAL void groups_admit(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_total(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_count(mapdpm_stream *s, uint32_t k, size_t h);
MAPDPM_INTERNAL void groups_recount(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void groups_settle(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_balance(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_add(mapdpm_stream *s, uint32_t k, uint32_t row, md_real weight);
MAPDPM_INTERNAL void groups_decay(mapdpm_stream *s, uint32_t k, md_real decay);
MAPDPM_INTERNAL void groups_clear(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void groups_clear_halves(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void groups_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void groups_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, md_real share);
MAPDPM_INTERNAL void groups_seat(mapdpm_stream *s, uint32_t k, md_real tables);
MAPDPM_INTERNAL void groups_swap(mapdpm_stream *s, uint32_t a, uint32_t b);

/* With states in time: transitions.c. */
MAPDPM_INTERNAL void states_reset(mapdpm_stream *s, const mapdpm_options *options);
MAPDPM_INTERNAL void states_prepare(mapdpm_stream *s);
MAPDPM_INTERNAL void states_recount(mapdpm_stream *s);
MAPDPM_INTERNAL void states_count(mapdpm_stream *s, uint32_t row, uint32_t k, md_real weight);
MAPDPM_INTERNAL void states_decay(mapdpm_stream *s);
MAPDPM_INTERNAL void states_clear(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void states_clear_halves(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void states_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void states_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, md_real share);
MAPDPM_INTERNAL md_real states_merge_gain(const mapdpm_stream *s, uint32_t a, uint32_t b);
MAPDPM_INTERNAL md_real states_split_gain(const mapdpm_stream *s, uint32_t k, md_real scale);
/* filter.c, which shares three steps of choose.c. */
MAPDPM_INTERNAL choice states_choose(const mapdpm_stream *s, const md_real *x, int with_density);
MAPDPM_INTERNAL void states_believe(const mapdpm_stream *s, uint32_t chosen, md_real *belief);
MAPDPM_INTERNAL uint32_t stream_bound_block(const mapdpm_stream *s, const md_real *x, uint32_t first, md_real *tails,
                                            md_real *bounds);
MAPDPM_INTERNAL md_real stream_score_new(const mapdpm_stream *s, const md_real *x, md_real least, md_real *bound);
MAPDPM_INTERNAL md_real stream_unit_term(const mapdpm_stream *s, const md_real *x);
/* blocks.c. */
MAPDPM_INTERNAL void states_learn_block(mapdpm_stream *s, uint32_t k, const md_real *x, size_t n);
MAPDPM_INTERNAL void states_try_change(mapdpm_stream *s, int reserves);
/* smoothing.c. */
MAPDPM_INTERNAL int states_expect(const mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL int states_will_age(const mapdpm_stream *s, int64_t before);
MAPDPM_INTERNAL void states_settle(mapdpm_stream *s, size_t m, int reserves);
MAPDPM_INTERNAL uint32_t states_learn(mapdpm_stream *s, uint32_t k, int is_new, const md_real *x);
MAPDPM_INTERNAL void states_begin(mapdpm_stream *s);
MAPDPM_INTERNAL void states_removed(mapdpm_stream *s);

/* A summary in a file: its clusters, each of so many reals of so many bytes. */
typedef struct {
    const unsigned char *clusters;
    const unsigned char *parameters;
    uint32_t n;
    uint32_t n_features;
    uint32_t reals;
    uint32_t width;
    int has_counts;
} summary;

/* Messages (summary.c). */
MAPDPM_INTERNAL int summary_open(const unsigned char *file, size_t file_bytes, summary *f);
MAPDPM_INTERNAL int summary_check(const mapdpm_stream *s, const summary *f);
MAPDPM_INTERNAL md_real summary_tables(const summary *f, uint32_t i);
MAPDPM_INTERNAL md_real summary_read(const mapdpm_stream *s, const summary *f, uint32_t i, md_real *moments);

/* With a base (base.c). */
MAPDPM_INTERNAL void base_add(mapdpm_stream *s, uint32_t k, const md_real *x, md_real weight);
MAPDPM_INTERNAL void base_decay(mapdpm_stream *s, uint32_t k, md_real decay);
MAPDPM_INTERNAL void base_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void base_split(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share);
MAPDPM_INTERNAL void base_none(mapdpm_stream *s, uint32_t k);

/* The moments of the points in slot k that the learner saw itself, and the tables of their groups. */
static inline const md_real *seen_in(const mapdpm_stream *s, uint32_t k)
{
    return HAS_BASE(s) ? own_of(s, k) : slot_of(s, k);
}
static inline md_real tables_seen(const mapdpm_stream *s, uint32_t k, md_real decay)
{
    const md_real n = *seen_in(s, k) * decay, tables = IS_GROUPED(s) ? tables_at(s, k, decay) : 1;
    const md_real own = HAS_BASE(s) ? at_least(tables - *base_tables_of(s, k) * decay, LEAST_TABLES) : tables;

    return own < n ? own : n;
}

/* Whether the weight of all points stays within MOST_WEIGHT if `weight` is added. Then no cluster can outgrow the limit
 * of a snapshot, whichever clusters merge. */
static inline int weight_fits(uint64_t seen, md_real weight)
{
    const uint64_t most = to_uint64(MOST_WEIGHT);

    return seen <= most && to_uint64(weight + MD_HALF) <= most - seen;
}

static inline view view_of(const mapdpm_stream *s, uint32_t k, int64_t now)
{
    view v = empty_view(s);

    v.moments = slot_of(s, k);
    v.decay = decay_of(s, k, now);
    if (IS_GROUPED(s))
        set_groups(&v, cells_of(s, 0) + k, past_tables_of(s)[k] * v.decay, tables_at(s, k, v.decay));
    return v;
}

/* A half as if it were a cluster: its share of the slot's tables is that of its points. */
static inline view half_view(const mapdpm_stream *s, uint32_t k, size_t h)
{
    view v = empty_view(s);

    v.moments = half_of(s, k, h);
    v.decay = 1;
    if (IS_GROUPED(s)) {
        const md_real share = *v.moments / (*half_of(s, k, 0) + *half_of(s, k, 1));

        set_groups(&v, half_cells_of(s, h, 0) + k, past_tables_of(s)[k] * share, tables_at(s, k, 1) * share);
    }
    return v;
}

/* A number of points that a split gives to a half. Counts stay whole numbers without forgetting; larger reals are whole
 * anyway. */
static inline md_real whole_points(const mapdpm_stream *s, md_real n)
{
    md_real whole = n;

    if (!FORGETS(s) && n >= 0 && n < (md_real)8388608)
        whole = (md_real)(int32_t)(n + MD_HALF);
    return whole;
}

/* Whether x is nearer to the mean of the second half than to that of the first. The unit of each feature is the sum of
 * squares within the halves, plus the share of two points in that of the whole cluster. */
static inline int is_nearer_to_second(const mapdpm_stream *s, const md_real *slot, const md_real *h0, const md_real *h1,
                                      const md_real *x)
{
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s), *const squares = squares_in(s, slot);
    const md_real *const mean0 = mean_in(s, h0), *const squares0 = squares_in(s, h0);
    const md_real *const mean1 = mean_in(s, h1), *const squares1 = squares_in(s, h1);
    const md_real two = 2 / *slot;
    md_real difference = 0;
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real t = (x[d] - anchor[d]) * unit[d], t0 = t - mean0[d], t1 = t - mean1[d];

        if (!HAS_MISSING(s) || is_present(x[d]))
            difference += (t0 - t1) * (t0 + t1) / (squares0[d] + squares1[d] + two * squares[d] + TINY_VARIANCE);
    }
    return difference > 0;
}

/* The slots that loops over states visit: a multiple of MD_LANES where there are so many, so that vectors are full.
 * Free slots have probability 0. */
enum { MD_LANES = 4 };
static inline uint32_t padded_width(const mapdpm_stream *s)
{
    const uint32_t width = (s->width + MD_LANES - 1) / MD_LANES * MD_LANES;

    return width < MD_SLOTS(s) ? width : MD_SLOTS(s);
}

/* The share of a slot, times alpha. */
static inline md_real state_weight(const mapdpm_stream *s, uint32_t k)
{
    return at_least(s->alpha * (state_tables(s)[k] / *state_total(s)), LEAST_PSEUDO_COUNT);
}

/* Whether clusters are scored by the score table. They are not if every point would change all of it. */
static inline int is_prepared(const mapdpm_stream *s) { return !FORGETS(s) && !HAS_MISSING(s); }

#endif

/* The limits of a shape, of a number of pseudo-points, and of a ratio of variances. */
#define MD_SMALL FLOAT_OR_DOUBLE(1e-9, 1e-30)
#define MD_LARGE FLOAT_OR_DOUBLE(1e9, 1e30)

/* How many points the prior mean of mapdpm_prior counts for: clusters lie 4.5 of their widths apart, as a rule. */
#define PRIOR_POINTS ((md_real)0.05)

static int is_within(md_real x, md_real least, md_real most) { return x >= least && x <= most; }

static int is_sound(const mapdpm_options *o)
{
    if (o == NULL || (o->family != MAPDPM_NORMAL_GAMMA && o->family != MAPDPM_NORMAL_KNOWN_VARIANCE))
        return 0;
    if (o->n_features < 1 || o->n_features > LARGEST_COUNT || o->max_clusters < 1 || o->max_clusters > LARGEST_COUNT)
        return 0;
    if (o->warmup > LARGEST_COUNT || o->window > LARGEST_COUNT || o->when_full > MAPDPM_FULL_ERROR || o->missing > 1)
        return 0;
    if (o->max_groups > LARGEST_COUNT || o->when_groups_full > MAPDPM_GROUPS_REPLACE || o->with_base > 1)
        return 0;
    if (o->lag > LARGEST_LAG || (o->lag > 0 && (o->max_groups > 0 || o->window > 0)))
        return 0;
    if (o->queue > UINT16_MAX || (o->queue > 0 && o->warmup == 0))
        return 0;
    if (o->surprise > 1 || (o->surprise && (o->max_groups > 0 || o->lag > 0)))
        return 0;
    return (o->max_groups > 0 || o->with_base == 0) && is_compiled_for(o);
}

/* Set the head, which holds the layout. Returns 0 if sizes overflow. */
static int lay_out(mapdpm_stream *s, const mapdpm_options *o)
{
    uint64_t D, K, B, bytes;

    memset(s, 0, sizeof *s);
    s->family = (uint8_t)o->family;
    s->surprise = (uint8_t)o->surprise;
    s->queue = (uint16_t)o->queue;
    s->n_features = o->n_features;
    s->max_clusters = o->max_clusters;
    s->warmup = o->warmup;
    s->window = o->window;
    s->when_full = o->when_full;
    s->missing = (uint8_t)o->missing;
    s->max_groups = o->max_groups;
    s->with_base = (uint8_t)o->with_base;
    s->lag = (uint16_t)o->lag;
    D = MD_FEATURES(s);
    K = MD_SLOTS(s);
    B = buffer_size(s);
    bytes = sizeof *s + 8 * (K + B);
    s->at_reals = (uint32_t)bytes;
    bytes += PRIOR_VECTORS * D * sizeof(md_real);
    s->at_slots = (uint32_t)bytes;
    bytes += (K * slot_size(s) + (HAS_BASE(s) ? moments_size(s) : 0)) * sizeof(md_real);
    s->at_columns = (uint32_t)bytes;
    bytes += (K * (2 + 2 * D) + B * D) * sizeof(md_real);
    s->at_words = (uint32_t)bytes;
    bytes += 4 * (WORDS_PER_SLOT * K + WORDS_PER_EVENT * (uint64_t)RING_SIZE(s) + MD_WARMUP(s) + MD_WINDOW(s));
    bytes = (bytes + 7) / 8 * 8;
    s->at_more = (uint32_t)bytes;
    if (HAS_GROUPS(s)) { /* group_reals in 64 bits */
        const uint64_t G = groups_of(s);

        bytes += 16 + (3 + K * (2 + (3 + COMPENSATED) * G)) * sizeof(md_real) + 4 * (2 * G + B);
    }
    if (HAS_STATES(s)) { /* time_reals in 64 bits, and the reals behind them */
        const uint64_t waiting = 3 * (uint64_t)s->lag;

        bytes += 32 + (4 + K * (13 + 6 * K) + half_size(s) + waiting * (K + D)) * sizeof(md_real) + 4 * waiting;
    }
    if (HAS_SURPRISE(s))
        bytes += (SURPRISE_REALS + K) * sizeof(md_real) + 4 * (K + SURPRISE_WORDS);
    bytes = (bytes + 7) / 8 * 8 + (MD_QUEUE(s) > 0 ? MAPDPM_QUEUE_BYTES(D, MD_QUEUE(s)) : 0);
    s->bytes = (uint32_t)bytes;
    return bytes <= UINT32_MAX && bytes <= SIZE_MAX;
}

size_t mapdpm_stream_bytes(const mapdpm_options *options)
{
    mapdpm_stream s;

    return is_sound(options) && lay_out(&s, options) ? s.bytes : 0;
}

/* 2^-round(log2(variance) / 2), so that the multiplication is exact. */
md_real stream_unit_for(md_real variance)
{
    md_real f;

    return math_power_of_2(-math_half(math_split(variance, &f)));
}

/* The density of a new cluster by the score table. Column 0 is only used on the way. */
void stream_prepare_opening(mapdpm_stream *s)
{
    const md_real constant = constants_of(s)[0];
    size_t d;

    prepare(s, empty_view(s), 0);
    s->opening = constants_of(s)[0] + s->log_alpha;
    for (d = 0; d < MD_FEATURES(s); d++)
        prior_scale(s)[d] = scales_of(s, d)[0];
    constants_of(s)[0] = constant; /* that of a free slot must stay */
}

/* Set the prior from the parameters of the family, in the user's units. All slots are empty. */
int stream_set_prior(mapdpm_stream *s, const md_real *parameters)
{
    const size_t D = MD_FEATURES(s);
    const int is_gamma = IS_GAMMA(s);
    const md_real *const variances = is_gamma ? parameters + D + 2 : parameters + 2 * D;
    const md_real least = LEAST_VARIANCE, most = MOST_VARIANCE;
    size_t d;

    if (is_gamma && !(is_within(parameters[D], MD_SMALL, MD_LARGE) && is_within(parameters[D + 1], MD_SMALL, MD_LARGE)))
        return MAPDPM_E_ARGUMENT;
    s->log_units = 0;
    for (d = 0; d < D; d++) {
        const md_real prior_variance = is_gamma ? 0 : parameters[D + d], m0 = parameters[d];

        if (!is_within(m0, -most, most) || !is_within(variances[d], least, most))
            return MAPDPM_E_ARGUMENT;
        if (!is_gamma && !is_within(prior_variance / variances[d], MD_SMALL, MD_LARGE))
            return MAPDPM_E_ARGUMENT;
        anchor_of(s)[d] = m0;
        unit_of(s)[d] = stream_unit_for(variances[d]);
        noise_scale_of(s)[d] = variances[d] * unit_of(s)[d] * unit_of(s)[d];
        prior_variance_of(s)[d] = prior_variance * unit_of(s)[d] * unit_of(s)[d];
        s->log_units += math_log(unit_of(s)[d]);
    }
    if (is_gamma) {
        s->c0 = parameters[D];
        s->a0 = parameters[D + 1];
        s->excess = math_excess(s->a0, &s->root);
    }
    stream_prepare_opening(s);
    stream_clear_slot(s, 0);
    return MAPDPM_OK;
}

/* Set everything except the prior: a learner without points. The memory is large enough. */
int stream_reset(mapdpm_stream *s, const mapdpm_options *o)
{
    size_t i;
    uint32_t k;

    if (!is_within(o->log_alpha, -LARGEST_REAL, LARGEST_REAL))
        return MAPDPM_E_ARGUMENT;
    if (!(is_within(o->alpha, MD_SMALL, MD_LARGE) ||
          (o->alpha == 0 && is_within(o->log_alpha, -LARGEST_REAL, math_log(MD_SMALL)))))
        return MAPDPM_E_ARGUMENT;
    if (!(o->half_life == 0 || is_within(o->half_life, MD_SMALL, MD_LARGE)))
        return MAPDPM_E_ARGUMENT;
    if ((HAS_GROUPS(o) || HAS_STATES(o)) && !(o->alpha > 0 && is_within(o->gamma, MD_SMALL, MD_LARGE)))
        return MAPDPM_E_ARGUMENT;
    if (HAS_STATES(o) && !is_within(o->kappa, 0, MD_LARGE))
        return MAPDPM_E_ARGUMENT;
    if (HAS_SURPRISE(o) && !(o->rare >= 0 && o->rare < 1))
        return MAPDPM_E_ARGUMENT;
    if (o->warmup > 0 && (o->family != MAPDPM_NORMAL_GAMMA || o->warmup < 2))
        return MAPDPM_E_ARGUMENT;
    memset(s, 0, mapdpm_stream_bytes(o));
    (void)lay_out(s, o);
    s->alpha = o->alpha;
    s->log_alpha = o->alpha > 0 ? math_log(o->alpha) : o->log_alpha;
    s->half_life = o->half_life;
    s->rate = o->half_life > 0 ? (md_real)0.69314718055994531 / o->half_life : 0;
    s->warming = o->warmup > 0;
    s->next_id = o->warmup;
    for (k = 0; k < MD_SLOTS(s); k++)
        stream_clear_slot(s, k);
    for (i = 0; i < MD_WINDOW(s); i++)
        window_ids_of(s)[i] = MD_NONE;
    if (HAS_SURPRISE(s))
        surprise_reset(s, o->rare);
    if (HAS_GROUPS(s))
        groups_reset(s, o);
    if (HAS_STATES(s))
        states_reset(s, o);
    return MAPDPM_OK;
}

int mapdpm_init(mapdpm_stream *s, size_t bytes, const mapdpm_options *o)
{
    const size_t needed = mapdpm_stream_bytes(o);
    int error;

    if (s == NULL || !is_aligned(s))
        return MAPDPM_E_ARGUMENT;
    if (bytes >= sizeof *s)
        s->bytes = 0; /* no learner, if this fails */
    if (needed == 0 || (o->warmup > 0) != (o->parameters == NULL))
        return MAPDPM_E_ARGUMENT;
    if (bytes < needed)
        return MAPDPM_E_SPACE;
    error = stream_reset(s, o);
    if (error == MAPDPM_OK && !IS_WARMING(s))
        error = stream_set_prior(s, o->parameters);
    if (error != MAPDPM_OK)
        s->bytes = 0;
    return error;
}

int mapdpm_prior(md_real *parameters, uint32_t n_features, const md_real *centre, const md_real *spread)
{
    const size_t D = n_features;
    size_t d;

    if (parameters == NULL || centre == NULL || spread == NULL || D < 1)
        return MAPDPM_E_ARGUMENT;
    for (d = 0; d < D; d++) {
        const md_real variance = spread[d] * spread[d];

        if (!is_within(centre[d], -MOST_VARIANCE, MOST_VARIANCE) ||
            !(spread[d] > 0 && is_within(variance, LEAST_VARIANCE, MOST_VARIANCE)))
            return MAPDPM_E_ARGUMENT;
        parameters[d] = centre[d];
        parameters[D + 2 + d] = variance;
    }
    parameters[D] = PRIOR_POINTS;
    parameters[D + 1] = 1;
    return MAPDPM_OK;
}

/* ==== queries.c ===================================================================================================== */

/* What a learner knows: its numbers, options, clusters, events and prior. Nothing here changes it. */

uint64_t mapdpm_n_seen(const mapdpm_stream *s) { return is_none(s) ? 0 : s->n_seen; }
/* While the end of a warm-up is settled, there are clusters on trial only. */
uint64_t mapdpm_n_events(const mapdpm_stream *s) { return is_none(s) || IS_WARMING(s) ? 0 : s->n_events; }
uint32_t mapdpm_n_clusters(const mapdpm_stream *s) { return is_none(s) || IS_WARMING(s) ? 0 : s->n_clusters; }
uint32_t mapdpm_n_features(const mapdpm_stream *s) { return is_none(s) ? 0 : MD_FEATURES(s); }
uint32_t mapdpm_max_clusters(const mapdpm_stream *s) { return is_none(s) ? 0 : MD_SLOTS(s); }
int mapdpm_is_warming(const mapdpm_stream *s) { return !is_none(s) && IS_WARMING(s); }

int mapdpm_get_options(const mapdpm_stream *s, mapdpm_options *o)
{
    if (is_none(s) || o == NULL)
        return MAPDPM_E_ARGUMENT;
    memset(o, 0, sizeof *o);
    o->family = (int32_t)s->family;
    o->n_features = MD_FEATURES(s);
    o->max_clusters = MD_SLOTS(s);
    o->warmup = MD_WARMUP(s);
    o->queue = MD_QUEUE(s);
    o->window = MD_WINDOW(s);
    o->when_full = WHEN_FULL(s);
    o->missing = s->missing;
    o->alpha = s->alpha;
    o->log_alpha = s->log_alpha;
    o->half_life = s->half_life;
    if (HAS_GROUPS(s)) {
        o->max_groups = s->max_groups;
        o->when_groups_full = *groups_full_of(s);
        o->with_base = s->with_base;
        o->gamma = *gamma_of(s);
    }
    if (HAS_SURPRISE(s)) {
        o->surprise = 1;
        o->rare = *rare_share(s);
    }
    if (HAS_STATES(s)) {
        o->lag = s->lag;
        o->gamma = *share_gamma(s);
        o->kappa = *kappa_of(s);
    }
    return MAPDPM_OK;
}

int mapdpm_resolve(const mapdpm_stream *s, uint32_t id, uint32_t *now)
{
    uint64_t i, first;
    uint32_t k;

    if (is_none(s) || now == NULL)
        return MAPDPM_E_ARGUMENT;
    if (id < MD_WARMUP(s)) {
        if (IS_WARMING(s)) {
            *now = id;
            return id < s->n_seen ? MAPDPM_OK : MAPDPM_E_UNKNOWN;
        }
        id = warmup_labels_of(s)[id];
    }
    if (IS_WARMING(s))
        return MAPDPM_E_UNKNOWN;
    first = s->n_events > RING_SIZE(s) ? s->n_events - RING_SIZE(s) : 0;
    for (i = first; i < s->n_events; i++) {
        const uint32_t *const event = event_of(s, i);

        if (event[0] == MAPDPM_MERGED && event[1] == id)
            id = event[2];
    }
    for (k = 0; k < MD_SLOTS(s); k++)
        if (is_used(s, k) && ids_of(s)[k] == id) {
            *now = id;
            return MAPDPM_OK;
        }
    return MAPDPM_E_UNKNOWN;
}

int mapdpm_get_event(const mapdpm_stream *s, uint64_t i, mapdpm_event *event)
{
    if (is_none(s) || event == NULL)
        return MAPDPM_E_ARGUMENT;
    if (i >= mapdpm_n_events(s) || s->n_events - i > RING_SIZE(s))
        return MAPDPM_E_UNKNOWN;
    memcpy(event, event_of(s, i), sizeof *event);
    return MAPDPM_OK;
}

/* A cluster, and its means, relative to the anchor or not. */
static int get_cluster(const mapdpm_stream *s, uint32_t k, mapdpm_cluster *cluster, md_real *mean, md_real *variance,
                       int is_relative)
{
    size_t d;
    md_real decay;

    if (is_none(s) || cluster == NULL || k >= MD_SLOTS(s))
        return MAPDPM_E_ARGUMENT;
    if (!is_used(s, k) || IS_WARMING(s))
        return 0;
    decay = decay_of(s, k, s->now);
    cluster->id = ids_of(s)[k];
    cluster->weight = *slot_of(s, k) * decay;
    cluster->weight_low = low_part(slot_of(s, k), half_size(s)) * decay;
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real *const slot = slot_of(s, k), n = counts_in(s, slot)[d * count_step(s)] * decay;
        const md_real m = mean_in(s, slot)[d] + low_part(mean_in(s, slot) + d, half_size(s));

        if (mean)
            mean[d] = m / unit_of(s)[d] + (is_relative ? 0 : anchor_of(s)[d]);
        if (variance)
            variance[d] = n > 0 ? squares_in(s, slot)[d] * decay / n / unit_of(s)[d] / unit_of(s)[d] : 0;
    }
    return 1;
}

int mapdpm_get_cluster(const mapdpm_stream *s, uint32_t k, mapdpm_cluster *cluster, md_real *mean, md_real *variance)
{
    return get_cluster(s, k, cluster, mean, variance, 0);
}

int mapdpm_get_cluster_relative(const mapdpm_stream *s, uint32_t k, mapdpm_cluster *cluster, md_real *mean,
                                md_real *variance)
{
    return get_cluster(s, k, cluster, mean, variance, 1);
}

/* Parameter i of the family, in the user's units. */
md_real stream_parameter(const mapdpm_stream *s, size_t i)
{
    const size_t D = MD_FEATURES(s), d = i % D;

    if (i < D)
        return anchor_of(s)[i];
    if (!IS_GAMMA(s))
        return (i < 2 * D ? prior_variance_of(s)[d] : noise_scale_of(s)[d]) / unit_of(s)[d] / unit_of(s)[d];
    if (i < D + 2)
        return i == D ? s->c0 : s->a0;
    i -= D + 2;
    return noise_scale_of(s)[i] / unit_of(s)[i] / unit_of(s)[i];
}

int mapdpm_get_prior(const mapdpm_stream *s, md_real *anchor, md_real *parameters)
{
    size_t i;

    if (is_none(s) || anchor == NULL || parameters == NULL)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    for (i = 0; i < mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s)); i++) {
        parameters[i] = stream_parameter(s, i);
        if (i < MD_FEATURES(s))
            anchor[i] = parameters[i];
    }
    return MAPDPM_OK;
}

/* ==== clock.c ======================================================================================================= */

/* Clocks that begin anew, or wrap. */

/* A time that was `age` before `from`, when that is moved to `to`. The earliest time stays in the range. */
static int64_t moved_time(int64_t time, int64_t from, int64_t to)
{
    const uint64_t age = (uint64_t)from - (uint64_t)time, most = (uint64_t)to + (uint64_t)(INT64_MAX / 2);

    return age < most ? to - (int64_t)age : -(INT64_MAX / 2);
}

static void move_times(int64_t *times, size_t n, int64_t from, int64_t to)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (times[i] <= from) /* else it was never used */
            times[i] = moved_time(times[i], from, to);
}

int mapdpm_rebase(mapdpm_stream *s, int64_t now)
{
    int64_t from;

    if (is_none(s))
        return MAPDPM_E_ARGUMENT;
    if (s->clock != CLOCK_MICROSECONDS || now > INT64_MAX / 2 || now < -(INT64_MAX / 2))
        return MAPDPM_E_TIME;
    from = queue_latest(s);
    move_times(last_times_of(s), MD_SLOTS(s) + buffer_size(s), from, now);
    move_times(queue_times(s), MD_QUEUE(s), from, now);
    if (HAS_STATES(s))
        move_times(decayed_to(s), 1, from, now);
    s->now = moved_time(s->now, from, now);
    return MAPDPM_OK;
}

int64_t mapdpm_unwrap(int64_t before, uint32_t ticks)
{
    return before + (int64_t)(uint32_t)(ticks - (uint32_t)((uint64_t)before & UINT32_MAX));
}

/* ==== clusters.c ==================================================================================================== */

/* The steps of a stream learner: open a slot, apply the decay, merge, remove, and record events. */

void stream_record(mapdpm_stream *s, uint32_t kind, uint32_t id, uint32_t other)
{
    uint32_t *const event = event_ring_of(s) + WORDS_PER_EVENT * (size_t)s->at_event;

    event[0] = kind;
    event[1] = id;
    event[2] = other;
    event[3] = (uint32_t)s->n_seen;
    s->n_events++;
    s->at_event = s->at_event + 1 < RING_SIZE(s) ? s->at_event + 1 : 0;
}

void stream_clear_halves(mapdpm_stream *s, uint32_t k)
{
    memset(half_of(s, k, 0), 0, 2 * half_size(s) * sizeof(md_real));
    if (HAS_GROUPS(s))
        groups_clear_halves(s, k);
    if (HAS_STATES(s))
        states_clear_halves(s, k);
}

void stream_clear_slot(mapdpm_stream *s, uint32_t k)
{
    memset(slot_of(s, k), 0, slot_size(s) * sizeof(md_real));
    if (HAS_GROUPS(s))
        groups_clear(s, k);
    if (HAS_STATES(s))
        states_clear(s, k);
    if (HAS_SURPRISE(s))
        standing_of(s)[k] = 0;
    constants_of(s)[k] = -LARGEST_REAL;
    merge_partner_of(s)[k] = MD_NONE;
    trials_of(s)[k] = 0;
    while (s->width > 0 && !is_used(s, s->width - 1))
        s->width--;
}

uint32_t stream_free_slot(const mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        if (!is_used(s, k))
            return k;
    return MD_NONE;
}

/* To be called after the moments of a slot have changed. */
void stream_refresh(mapdpm_stream *s, uint32_t k)
{
    if (k >= s->width)
        s->width = k + 1;
    if (is_prepared(s))
        prepare(s, view_of(s, k, s->now), k);
    else if (HAS_SURPRISE(s) && !HAS_MISSING(s)) /* as of the last point of the cluster */
        prepare(s, view_of(s, k, last_times_of(s)[k]), k);
    if (HAS_SURPRISE(s))
        surprise_refresh(s, k);
}

/* Bring the moments of a slot up to the current time. */
void stream_apply_decay(mapdpm_stream *s, uint32_t k)
{
    const md_real decay = decay_of(s, k, s->now);

    if (decay < 1) {
        moments_scale(s, slot_of(s, k), half_size(s), decay);
        moments_scale(s, half_of(s, k, 0), 0, decay);
        moments_scale(s, half_of(s, k, 1), 0, decay);
        if (HAS_BASE(s))
            base_decay(s, k, decay);
        if (HAS_GROUPS(s))
            groups_decay(s, k, decay);
    }
    last_times_of(s)[k] = s->now;
}

void stream_remove(mapdpm_stream *s, uint32_t k, uint32_t kind)
{
    stream_relabel_window(s, ids_of(s)[k], MD_NONE);
    stream_record(s, kind, ids_of(s)[k], 0);
    stream_clear_slot(s, k);
    s->n_clusters--;
}

void stream_open_slot(mapdpm_stream *s, uint32_t k)
{
    stream_clear_slot(s, k);
    last_times_of(s)[k] = s->now;
    last_seen_of(s)[k] = (uint32_t)s->n_seen;
    s->n_clusters++;
}

/* Merge slot `from` into slot `to`, both up to date. The id of the heavier one stays. */
void stream_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const int keeps = !(*slot_of(s, from) > *slot_of(s, to));
    const uint32_t kept = ids_of(s)[keeps ? to : from], gone = ids_of(s)[keeps ? from : to];

    if (IS_GROUPED(s))
        groups_merge(s, to, from);
    if (IS_TIMED(s))
        states_merge(s, to, from);
    moments_merge(s, slot_of(s, to), slot_of(s, from), half_size(s));
    if (HAS_BASE(s))
        base_merge(s, to, from);
    if (HAS_SURPRISE(s))
        surprise_merge(s, to, from);
    if ((int32_t)(last_seen_of(s)[from] - last_seen_of(s)[to]) > 0)
        last_seen_of(s)[to] = last_seen_of(s)[from];
    ids_of(s)[to] = kept;
    stream_relabel_window(s, gone, kept);
    stream_record(s, MAPDPM_MERGED, gone, kept);
    stream_clear_halves(s, to);
    trials_of(s)[to] = 0;
    merge_partner_of(s)[to] = MD_NONE;
    stream_clear_slot(s, from);
    s->n_clusters--;
    if (IS_GROUPED(s)) {
        groups_recount(s, to);
        groups_total(s);
    }
    stream_refresh(s, to);
}

/* Remove the clusters whose weight has decayed below FORGOTTEN_WEIGHT. */
void stream_remove_aged(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        if (is_used(s, k) && *slot_of(s, k) * decay_of(s, k, s->now) < FORGOTTEN_WEIGHT)
            stream_remove(s, k, MAPDPM_AGED);
    if (IS_GROUPED(s))
        groups_total(s);
    if (IS_TIMED(s))
        states_removed(s);
}

/* ==== groups.c ====================================================================================================== */

/* The steps of a learner whose points have groups (docs/maths.md, section 16): rows, cells, tables, shares. A cell is the
 * number of points of a group in a slot. The tables of a slot are its weight for a group without points.
 */

/* After a warm-up, or with another base, the tables are the fixed point of so many rounds. */
enum { TABLE_ROUNDS = 8 };
/* Between sums of all tables, so many points add to the last sum. */
#define TOTAL_PERIOD 256u

int groups_can_learn(const mapdpm_stream *s)
{
    return *group_of(s) != MD_NONE &&
           (*row_of(s) != MD_NONE || *n_groups_of(s) < groups_of(s) || *groups_full_of(s) == MAPDPM_GROUPS_REPLACE);
}

void groups_reset(mapdpm_stream *s, const mapdpm_options *o)
{
    size_t i;

    *groups_full_of(s) = o->when_groups_full;
    *group_of(s) = *row_of(s) = MD_NONE;
    *gamma_of(s) = *all_tables_of(s) = o->gamma;
    *log_gamma_of(s) = math_log(o->gamma);
    for (i = 0; i < buffer_size(s); i++)
        point_rows_of(s)[i] = MD_NONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void clear_cell(const mapdpm_stream *s, md_real *cell)
{
    *cell = 0;
    if (COMPENSATED)
        cell[n_cells(s)] = 0;
}

/* Free a row. Its tables stay, so that the shares do not forget the group. */
static void leave_row(mapdpm_stream *s, uint32_t row)
{
    uint32_t k;
    size_t i;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            md_real *const cell = cells_of(s, row) + k;
            const md_real a = pseudo_count(s, tables_at(s, k, decay_of(s, k, s->now)), *all_tables_of(s));

            past_tables_of(s)[k] += (*cell > 1 ? 1 : *cell) + a * math_log(table_factor(*cell, a));
            half_cells_of(s, 0, row)[k] = half_cells_of(s, 1, row)[k] = 0;
            clear_cell(s, cell);
        }
    for (i = 0; i < buffer_size(s); i++)
        if (point_rows_of(s)[i] == row)
            point_rows_of(s)[i] = MD_NONE;
}

/* The row of the group that was seen least recently. */
static uint32_t idlest_row(const mapdpm_stream *s)
{
    uint32_t row, idlest = 0, longest = 0;

    for (row = 0; row < groups_of(s); row++) {
        const uint32_t idle = (uint32_t)s->n_seen - group_seen_of(s)[row];

        if (idle > longest) {
            longest = idle;
            idlest = row;
        }
    }
    return idlest;
}

/* The current group, whose point is learned, gets a row if it has none. */
void groups_admit(mapdpm_stream *s)
{
    uint32_t row = *row_of(s);

    if (row == MD_NONE) {
        if (*n_groups_of(s) < groups_of(s)) {
            row = *n_groups_of(s);
            *n_groups_of(s) = row + 1;
        } else {
            row = idlest_row(s);
            leave_row(s, row);
        }
        *row_of(s) = row;
        group_numbers_of(s)[row] = *group_of(s);
    }
    group_seen_of(s)[row] = (uint32_t)s->n_seen;
}

int mapdpm_set_group(mapdpm_stream *s, uint32_t group)
{
    uint32_t row;

    if (is_none(s) || !HAS_GROUPS(s))
        return MAPDPM_E_ARGUMENT;
    if (*group_of(s) == group)
        return MAPDPM_OK;
    *group_of(s) = group;
    *row_of(s) = MD_NONE;
    for (row = 0; row < *n_groups_of(s) && group != MD_NONE; row++)
        if (group_numbers_of(s)[row] == group) {
            *row_of(s) = row;
            break;
        }
    return MAPDPM_OK;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* To be called when the time or the tables of a slot have changed. */
void groups_total(mapdpm_stream *s)
{
    md_real all = *gamma_of(s);
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k))
            all += tables_at(s, k, decay_of(s, k, s->now));
    *all_tables_of(s) = all;
}

/* Count the tables of a slot, which is up to date, from its cells. */
void groups_recount(mapdpm_stream *s, uint32_t k)
{
    const view v = view_of(s, k, s->now);
    const md_real a = pseudo_count(s, tables_in(v), *all_tables_of(s));
    const md_real tables = past_in(v) + count_tables(s, v, faded(v), a);

    tables_of(s)[k] = at_least(tables, LEAST_TABLES);
    tables_of(s)[k] = tables_at(s, k, 1);
}

/* Add to a cell of a slot that is up to date. A split may have given the slot too little of a group. */
void groups_add(mapdpm_stream *s, uint32_t k, uint32_t row, md_real weight)
{
    md_real *const cell = cells_of(s, row == MD_NONE ? 0 : row) + k;

    if (row == MD_NONE)
        return;
    add_compensated(cell, n_cells(s), weight);
    if (*cell < 0)
        clear_cell(s, cell);
}

/* A point of the current group has joined slot k, and its half h. It sits at a new table with probability a / (a + n),
 * which is added to the tables. If points are forgotten, the tables are counted anew. */
void groups_count(mapdpm_stream *s, uint32_t k, size_t h)
{
    const md_real n = cells_of(s, *row_of(s))[k], a = s->alpha * (tables_of(s)[k] / *all_tables_of(s));
    const md_real more = n > 0 ? a / (a + n) : 1;

    tables_of(s)[k] += more;
    groups_add(s, k, *row_of(s), 1);
    if (MD_SPLITS)
        half_cells_of(s, h, *row_of(s))[k] += 1;
    if (FORGETS(s))
        groups_recount(s, k);
    if (FORGETS(s) || s->n_seen % TOTAL_PERIOD == 0)
        groups_total(s);
    else
        *all_tables_of(s) += more;
}

/* Count the tables of all slots, which are up to date, until they agree with the shares. */
void groups_balance(mapdpm_stream *s)
{
    uint32_t k;
    int round;

    for (round = 0; round < TABLE_ROUNDS; round++) {
        groups_total(s);
        for (k = 0; k < s->width; k++)
            if (is_used(s, k))
                groups_recount(s, k);
    }
    groups_total(s);
}

/* The cells are filled, and the tables are not. */
void groups_settle(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < s->width; k++)
        tables_of(s)[k] = *slot_of(s, k);
    groups_balance(s);
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

void groups_clear(mapdpm_stream *s, uint32_t k)
{
    md_real *const cells = cells_of(s, 0);
    size_t i;

    tables_of(s)[k] = past_tables_of(s)[k] = 0;
    for (i = k; i < (3 + COMPENSATED) * n_cells(s); i += MD_SLOTS(s))
        cells[i] = 0;
}

void groups_clear_halves(mapdpm_stream *s, uint32_t k)
{
    md_real *const cells = half_cells_of(s, 0, 0);
    size_t i;

    for (i = k; i < 2 * n_cells(s); i += MD_SLOTS(s))
        cells[i] = 0;
}

void groups_decay(mapdpm_stream *s, uint32_t k, md_real decay)
{
    md_real *const past = past_tables_of(s);
    size_t i;

    for (i = k; i < (1 + (3 + COMPENSATED) * groups_of(s)) * MD_SLOTS(s); i += MD_SLOTS(s)) /* all but the tables */
        past[i] *= decay;
}

/* Slot `from`, which is cleared afterwards, goes into slot `to`. Both are up to date, and have their old weights. */
void groups_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const size_t low = n_cells(s);
    size_t g;

    tables_of(s)[to] = tables_at(s, to, 1) + tables_at(s, from, 1);
    past_tables_of(s)[to] += past_tables_of(s)[from];
    for (g = 0; g < groups_of(s); g++) {
        md_real *const row = cells_of(s, g);

        add_compensated(row + to, low, row[from]);
        add_compensated(row + to, low, low_part(row + from, low));
    }
}

/* The lighter half of slot k, with this share of its points, becomes slot e, which is empty. Slot k has its old weight.
 * A group divides as its points in the halves do; one point more divides like all points. */
void groups_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, md_real share)
{
    const md_real tables = tables_at(s, k, 1);
    md_real *const past = past_tables_of(s);
    size_t g;

    tables_of(s)[e] = tables * share;
    tables_of(s)[k] = tables - tables_of(s)[e];
    past[e] = past[k] * share;
    past[k] -= past[e];
    for (g = 0; g < groups_of(s); g++) {
        const md_real light = half_cells_of(s, lighter, g)[k], heavy = half_cells_of(s, 1 - lighter, g)[k];
        const md_real part = whole_points(s, cells_of(s, g)[k] * ((light + share) / (light + heavy + 1)));

        cells_of(s, g)[e] = part;
        groups_add(s, k, (uint32_t)g, -part);
    }
}

/* The cluster of a new slot has tables of groups that are not here. */
void groups_seat(mapdpm_stream *s, uint32_t k, md_real tables)
{
    tables_of(s)[k] = at_least(tables, LEAST_TABLES);
    past_tables_of(s)[k] = tables_of(s)[k] = tables_at(s, k, 1);
    groups_total(s);
}

void groups_swap(mapdpm_stream *s, uint32_t a, uint32_t b)
{
    md_real *const reals = tables_of(s);
    size_t i;

    for (i = 0; i + 1 < group_reals(s); i += MD_SLOTS(s)) {
        const md_real t = reals[i + a];

        reals[i + a] = reals[i + b];
        reals[i + b] = t;
    }
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

int mapdpm_learn_groups(mapdpm_stream *s, const md_real *x, const uint32_t *groups, const int64_t *microseconds,
                        size_t n, uint32_t *ids, md_real *scores, size_t *done)
{
    size_t i, one;
    int error = MAPDPM_OK;

    if (is_none(s) || x == NULL || groups == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        error = mapdpm_set_group(s, groups[i]);
        if (error == MAPDPM_OK)
            error = mapdpm_learn_many(s, x + i * MD_FEATURES(s), microseconds ? microseconds + i : NULL, 1,
                                      ids ? ids + i : NULL, scores ? scores + i : NULL, &one);
        if (error != MAPDPM_OK)
            break;
    }
    *done = i;
    return error;
}

int mapdpm_predict_groups(mapdpm_stream *s, const md_real *x, const uint32_t *groups, size_t n, uint32_t *ids,
                          md_real *scores, size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (is_none(s) || x == NULL || groups == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        error = mapdpm_set_group(s, groups[i]);
        if (error == MAPDPM_OK)
            error = mapdpm_predict(s, x + i * MD_FEATURES(s), ids ? ids + i : NULL, scores ? scores + i : NULL);
        if (error != MAPDPM_OK)
            break;
    }
    *done = i;
    return error;
}

/* The probabilities of the slots for the next point of the group in a row, or of a group without points. */
static void write_shares(const mapdpm_stream *s, uint32_t row, md_real *shares)
{
    const md_real all = s->alpha + points_here(s, row);
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++) {
        const md_real decay = is_used(s, k) ? decay_of(s, k, s->now) : 0;

        shares[k] = decay > 0 ? group_weight(s, k, row, decay) / all : 0;
    }
    shares[MD_SLOTS(s)] = s->alpha * (*gamma_of(s) / *all_tables_of(s)) / all;
}

int mapdpm_get_group(const mapdpm_stream *s, uint32_t row, uint32_t *group, md_real *shares)
{
    if (is_none(s) || !HAS_GROUPS(s) || group == NULL || row >= groups_of(s))
        return MAPDPM_E_ARGUMENT;
    if (row >= *n_groups_of(s))
        return 0;
    *group = group_numbers_of(s)[row];
    if (shares)
        write_shares(s, row, shares);
    return 1;
}

int mapdpm_get_shares(const mapdpm_stream *s, md_real *shares)
{
    if (is_none(s) || !HAS_GROUPS(s) || shares == NULL)
        return MAPDPM_E_ARGUMENT;
    write_shares(s, MD_NONE, shares);
    return MAPDPM_OK;
}

/* ==== transitions.c ================================================================================================= */

/* The transitions of a learner whose clusters are states in time, an HDP-HMM (docs/maths.md, section 22): their counts,
 * the shares that all rows have in common, and the gain of the prior by a split or a merge.
 */

/* A row of transitions above so many is halved, so that each point still counts in float. */
#define MOST_TRANSITIONS ((md_real)1048576)

void states_reset(mapdpm_stream *s, const mapdpm_options *o)
{
    *share_gamma(s) = *state_total(s) = o->gamma;
    *kappa_of(s) = o->kappa;
    *last_slot_of(s) = *last_half_of(s) = *state_id_of(s) = MD_NONE;
    states_prepare(s);
}

/* ---- shares and probabilities ------------------------------------------------------------------------------------ */

static md_real stick(const mapdpm_stream *s, uint32_t row, uint32_t k) { return row == k ? *kappa_of(s) : 0; }

/* The tables of a cell of n transitions that the share has opened, of which its weight is a, and all of it a + c (maths
 * (86)). */
static md_real cell_tables(md_real n, md_real a, md_real c)
{
    const md_real all = a + c;

    return n > 1 ? a / all + a * math_log((n + all - MD_HALF) / (all + MD_HALF)) : n * a / all;
}

/* All tables and gamma, as a sum: differences could lose gamma, and the total must stay above 0. */
static void sum_tables(mapdpm_stream *s)
{
    md_real all = *share_gamma(s);
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        all += state_tables(s)[k];
    *state_total(s) = all;
}

/* Count the tables of all slots from their transitions, and all tables. */
void states_recount(mapdpm_stream *s)
{
    uint32_t k, v;

    for (k = 0; k < s->width; k++) {
        const md_real a = state_weight(s, k);
        md_real tables = 0;

        if (!is_used(s, k))
            continue;
        for (v = 0; v <= MD_SLOTS(s); v++)
            if (counts_from(s, v)[k] > 0)
                tables += cell_tables(counts_from(s, v)[k], a, stick(s, v, k));
        state_tables(s)[k] = at_least(tables, LEAST_TABLES);
    }
    sum_tables(s);
}

/* Compute the probabilities of transitions from their counts. */
void states_prepare(mapdpm_stream *s)
{
    const uint32_t K = MD_SLOTS(s);
    uint32_t v, k;

    sum_tables(s);
    for (v = 0; v <= K; v++) {
        md_real *const steps = steps_from(s, v);
        const md_real *const counts = counts_from(s, v);
        md_real sum = s->alpha + (v < K ? *kappa_of(s) : 0), each;

        memset(steps, 0, K * sizeof(md_real));
        opening_of(s)[v] = 0;
        if (v < K && !is_used(s, v))
            continue;
        for (k = 0; k < s->width; k++)
            sum += counts[k];
        each = 1 / sum;
        for (k = 0; k < s->width; k++)
            if (is_used(s, k))
                steps[k] = (counts[k] + state_weight(s, k) + stick(s, v, k)) * each;
        opening_of(s)[v] = s->alpha * (*share_gamma(s) / *state_total(s)) * each;
    }
}

/* Count `weight` transitions from a row to slot k. */
void states_count(mapdpm_stream *s, uint32_t row, uint32_t k, md_real weight)
{
    md_real *const counts = counts_from(s, row);
    const md_real a = state_weight(s, k), n = counts[k], more = weight * (a / (a + stick(s, row, k) + n));
    uint32_t i;

    counts[k] += weight;
    state_tables(s)[k] += more;
    *state_total(s) += more;
    if (counts[k] > MOST_TRANSITIONS)
        for (i = 0; i < MD_SLOTS(s); i++)
            counts[i] *= MD_HALF;
}

/* Forget transitions as points. */
void states_decay(mapdpm_stream *s)
{
    const md_real decay = FORGETS(s) ? math_exp(-to_real((uint64_t)(s->now - *decayed_to(s))) * s->rate) : 1;
    const size_t n = (size_t)(waiting_belief(s, 0) - counts_from(s, 0));
    size_t i;

    if (decay < 1) {
        for (i = 0; i < n; i++)
            counts_from(s, 0)[i] *= decay;
        states_recount(s);
    }
    *decayed_to(s) = s->now;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

void states_clear_halves(mapdpm_stream *s, uint32_t k)
{
    const uint32_t K = MD_SLOTS(s);

    memset(entries_of(s, k, 0), 0, 2 * (K + 1) * sizeof(md_real));
    memset(exits_of(s, k, 0), 0, 2 * K * sizeof(md_real));
    memset(within_of(s, k), 0, 4 * sizeof(md_real));
    if (*last_slot_of(s) == k)
        *last_half_of(s) = MD_NONE;
}

/* Divide what all beliefs give slot k: slot e gets a share of it. */
static void divide_beliefs(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share)
{
    uint32_t i;

    belief_of(s)[e] = belief_of(s)[k] * share;
    belief_of(s)[k] -= belief_of(s)[e];
    for (i = 0; i < *n_waiting_of(s); i++) {
        md_real *const belief = waiting_belief(s, i);

        belief[e] = belief[k] * share;
        belief[k] -= belief[e];
    }
}

void states_clear(mapdpm_stream *s, uint32_t k)
{
    const uint32_t K = MD_SLOTS(s);
    uint32_t i, h;

    state_tables(s)[k] = belief_of(s)[k] = 0;
    sum_tables(s);
    memset(counts_from(s, k), 0, K * sizeof(md_real));
    for (i = 0; i <= K; i++)
        counts_from(s, i)[k] = 0;
    for (i = 0; i < K; i++)
        for (h = 0; h < 2; h++)
            entries_of(s, i, h)[k] = exits_of(s, i, h)[k] = 0;
    states_clear_halves(s, k);
    for (i = 0; i < *n_waiting_of(s); i++)
        waiting_belief(s, i)[k] = 0;
    if (*last_slot_of(s) == k)
        *last_slot_of(s) = MD_NONE;
}

/* Slot `from` goes into slot `to`: its row, its column, and what is believed of it. */
void states_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const uint32_t K = MD_SLOTS(s);
    uint32_t i, h;

    for (i = 0; i < K; i++)
        counts_from(s, to)[i] += counts_from(s, from)[i];
    for (i = 0; i <= K; i++) {
        counts_from(s, i)[to] += i == from ? 0 : counts_from(s, i)[from];
        counts_from(s, i)[from] = 0;
    }
    memset(counts_from(s, from), 0, K * sizeof(md_real));
    for (i = 0; i < K; i++)
        for (h = 0; h < 2; h++) {
            entries_of(s, i, h)[to] += entries_of(s, i, h)[from];
            exits_of(s, i, h)[to] += exits_of(s, i, h)[from];
        }
    state_tables(s)[to] += state_tables(s)[from];
    belief_of(s)[to] += belief_of(s)[from];
    for (i = 0; i < *n_waiting_of(s); i++) {
        waiting_belief(s, i)[to] += waiting_belief(s, i)[from];
        if (waiting_slots(s)[i] == from)
            waiting_slots(s)[i] = to;
    }
    if (*last_slot_of(s) == from)
        *last_slot_of(s) = to;
}

/* The part of a count that goes to the lighter half, by what is known of both, and by its share of points. */
static md_real part_of(md_real n, md_real light, md_real heavy, md_real share)
{
    return n * ((light + share) / (light + heavy + 1));
}

/* The lighter half of slot k, with this share of its points, becomes slot e. */
void states_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, md_real share)
{
    const uint32_t K = MD_SLOTS(s);
    const md_real *const light_in = entries_of(s, k, lighter), *const heavy_in = entries_of(s, k, 1 - lighter);
    const md_real *const light_out = exits_of(s, k, lighter), *const heavy_out = exits_of(s, k, 1 - lighter);
    const md_real *const within = within_of(s, k);
    const size_t ll = 3 * lighter, lh = 1 + lighter, hl = 2 - lighter, hh = 3 - ll; /* of [from half][to half] */
    const md_real stays = counts_from(s, k)[k], each = stays / (within[0] + within[1] + within[2] + within[3] + 1);
    md_real part;
    uint32_t i, h;

    for (i = 0; i <= K; i++)
        if (i != k && i != e) {
            part = part_of(counts_from(s, i)[k], light_in[i], heavy_in[i], share);
            counts_from(s, i)[e] = part;
            counts_from(s, i)[k] -= part;
        }
    for (i = 0; i < K; i++)
        if (i != k && i != e) {
            part = part_of(counts_from(s, k)[i], light_out[i], heavy_out[i], share);
            counts_from(s, e)[i] = part;
            counts_from(s, k)[i] -= part;
        }
    counts_from(s, e)[e] = (within[ll] + share) * each;
    counts_from(s, e)[k] = within[lh] * each;
    counts_from(s, k)[e] = within[hl] * each;
    counts_from(s, k)[k] = (within[hh] + 1 - share) * each;
    for (i = 0; i < K; i++)
        for (h = 0; h < 2 && i != k && i != e; h++) {
            entries_of(s, i, h)[e] = entries_of(s, i, h)[k] * share;
            entries_of(s, i, h)[k] -= entries_of(s, i, h)[e];
            exits_of(s, i, h)[e] = exits_of(s, i, h)[k] * share;
            exits_of(s, i, h)[k] -= exits_of(s, i, h)[e];
        }
    state_tables(s)[e] = state_tables(s)[k] * share;
    state_tables(s)[k] -= state_tables(s)[e];
    divide_beliefs(s, k, e, share);
    if (*last_slot_of(s) == k && *last_half_of(s) == lighter)
        *last_slot_of(s) = e;
    *last_half_of(s) = *last_slot_of(s) == e ? MD_NONE : *last_half_of(s);
}

/* ---- the gain of the prior by a split or a merge ------------------------------------------------------------------ */

/* The logarithm of the beta function of x and y > 0. There are no terms like x log x, whose rounding would hide a
 * gain. */
static md_real log_beta(md_real x, md_real y)
{
    return math_log((x + y) / x) - math_log(y) - gamma_merge(x + 1, y + 1, x + y + 1);
}

/* With r(a, n) = log Gamma(a + n) - log Gamma(a): r(a1, n1) + r(a2, n2) - r(a1 + a2, n1 + n2). So much more have two
 * states with weights a1 and a2 than one with both, for a cell that is divided into n1 and n2. */
static md_real divided_cell(md_real a1, md_real a2, md_real n1, md_real n2)
{
    return n1 + n2 > 0 ? log_beta(a1 + n1, a2 + n2) - log_beta(a1, a2) : 0;
}

/* r(a, n1) + r(a, n2) - r(a, n1 + n2): two rows less one, for the cell of a column that is divided. */
static md_real divided_row(md_real a, md_real n1, md_real n2)
{
    return n1 > 0 && n2 > 0 ? log_beta(a + n1, a + n2) - log_beta(a, a + (n1 + n2)) : 0;
}

/* What goes into and out of two states, and within them, [from][to]. */
typedef struct {
    const md_real *in1;
    const md_real *in2;
    size_t step; /* from one row to the next */
    const md_real *out1;
    const md_real *out2;
    md_real within[4];
    md_real a1;
    md_real a2;
    md_real scale;
} two_states;

/* log p(z) of two states less that of one, with the shares held (maths (87)); a and b are their slots, or one slot
 * twice. */
static md_real divided_prior(const mapdpm_stream *s, const two_states *t, uint32_t a, uint32_t b)
{
    const md_real stays = *kappa_of(s), both = s->alpha + stays, *const w = t->within;
    md_real total = math_log(*share_gamma(s)) - math_log(t->a1 / (t->a1 + t->a2) * (t->a2 / s->alpha));
    md_real n1 = w[0] + w[1], n2 = w[2] + w[3];
    uint32_t i;

    for (i = 0; i <= MD_SLOTS(s); i++)
        if (i != a && i != b)
            total += divided_cell(t->a1, t->a2, t->scale * t->in1[i * t->step], t->scale * t->in2[i * t->step]);
    for (i = 0; i < s->width; i++)
        if (i != a && i != b && is_used(s, i)) {
            const md_real m1 = t->scale * t->out1[i], m2 = t->scale * t->out2[i];

            total += divided_row(state_weight(s, i), m1, m2);
            n1 += m1;
            n2 += m2;
        }
    total += divided_cell(t->a1 + stays, t->a2, w[0], w[1]) + divided_cell(t->a1, t->a2 + stays, w[2], w[3]) +
             divided_row(t->a1 + t->a2 + stays, w[0] + w[1], w[2] + w[3]);
    return total - divided_row(both, n1, n2);
}

/* The gain of the log prior when slots a and b become one. */
NOT_INLINED
md_real states_merge_gain(const mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const md_real *const row_a = counts_from(s, a), *const row_b = counts_from(s, b), *const rows = counts_from(s, 0);
    two_states t = {0, 0, MD_SLOTS(s), 0, 0, {0, 0, 0, 0}, 0, 0, 1};

    t.in1 = rows + a;
    t.in2 = rows + b;
    t.out1 = row_a;
    t.out2 = row_b;
    t.within[0] = row_a[a];
    t.within[1] = row_a[b];
    t.within[2] = row_b[a];
    t.within[3] = row_b[b];
    t.a1 = state_weight(s, a);
    t.a2 = state_weight(s, b);
    return -divided_prior(s, &t, a, b);
}

/* The gain of the log prior when the halves of slot k, which stand for `scale` times their points, become slots. */
NOT_INLINED
md_real states_split_gain(const mapdpm_stream *s, uint32_t k, md_real scale)
{
    two_states t = {0, 0, 1, 0, 0, {0, 0, 0, 0}, 0, 0, 1};
    size_t i;

    t.in1 = entries_of(s, k, 0);
    t.in2 = entries_of(s, k, 1);
    t.out1 = exits_of(s, k, 0);
    t.out2 = exits_of(s, k, 1);
    for (i = 0; i < 4; i++)
        t.within[i] = scale * within_of(s, k)[i];
    t.a1 = t.a2 = MD_HALF * state_weight(s, k);
    t.scale = scale;
    return divided_prior(s, &t, k, k);
}

/* ==== blocks.c ====================================================================================================== */

/* Blocks of a learner of states in time: points that follow each other in one state. A block goes to a half of its
 * state as a whole, because the means of blocks tell states apart that overlap. Then one split or merge is tried.
 */

/* Tables are counted anew after so many attempts to change. */
#define RECOUNT_PERIOD 32u

/* Whether the block has a value of a feature. */
static int has_feature(const mapdpm_stream *s, size_t d)
{
    return counts_in(s, block_of(s))[d * count_step(s)] > 0;
}

/* The half for the block of slot k. While the halves are small, the side of the slot's mean in one feature decides: the
 * widest, or each in order. */
static size_t half_for_block(const mapdpm_stream *s, uint32_t k)
{
    const size_t D = MD_FEATURES(s);
    const md_real *const slot = slot_of(s, k), *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1);
    const md_real *const mean = mean_in(s, block_of(s)), *const squares = squares_in(s, slot);
    const uint32_t trial = trials_of(s)[k] >> 16;
    const md_real two = 2 / *slot;
    md_real difference = 0, most = -1;
    size_t d, widest = (trial >> 1) % D;

    if (*h0 >= LEAST_HALF && *h1 >= LEAST_HALF) {
        for (d = 0; d < D; d++) {
            const md_real t0 = mean[d] - mean_in(s, h0)[d], t1 = mean[d] - mean_in(s, h1)[d];

            if (has_feature(s, d))
                difference += (t0 - t1) * (t0 + t1) /
                              (squares_in(s, h0)[d] + squares_in(s, h1)[d] + two * squares[d] + TINY_VARIANCE);
        }
        return difference > 0;
    }
    for (d = 0; d < D && trial % 2 == 0; d++) {
        const md_real width = squares[d] / noise_scale_of(s)[d];

        if (has_feature(s, d) && width > most) {
            most = width;
            widest = d;
        }
    }
    return has_feature(s, widest) && mean[widest] > mean_in(s, slot)[widest];
}

/* The block of n points in slot k goes to a half, with its transitions. It follows points of the same slot, or those of
 * the last slot. */
static void join_half(mapdpm_stream *s, uint32_t k, md_real n, int follows)
{
    const size_t h = MD_SPLITS ? half_for_block(s, k) : 0;
    const uint32_t last = *last_slot_of(s);

    *last_slot_of(s) = k;
    trials_of(s)[k] += (uint32_t)n;
    if (!MD_SPLITS)
        return;
    moments_merge(s, half_of(s, k, h), block_of(s), 0);
    within_of(s, k)[3 * h] += n - 1;
    if (!follows) {
        entries_of(s, k, h)[last == MD_NONE ? MD_SLOTS(s) : last] += 1;
        if (last != MD_NONE && *last_half_of(s) != MD_NONE)
            exits_of(s, last, *last_half_of(s))[k] += 1;
    } else if (*last_half_of(s) != MD_NONE) {
        within_of(s, k)[2 * *last_half_of(s) + h] += 1;
    }
    *last_half_of(s) = (uint32_t)h;
}

static uint32_t last_row(const mapdpm_stream *s)
{
    return *last_slot_of(s) == MD_NONE ? MD_SLOTS(s) : *last_slot_of(s);
}

/* Learn points of one slot that follow each other. */
void states_learn_block(mapdpm_stream *s, uint32_t k, const md_real *x, size_t n)
{
    const int follows = *last_slot_of(s) == k;
    size_t i;

    stream_apply_decay(s, k);
    memset(block_of(s), 0, half_size(s) * sizeof(md_real));
    for (i = 0; i < n; i++) {
        moments_add(s, slot_of(s, k), half_size(s), x + i * MD_FEATURES(s), 1);
        moments_add(s, block_of(s), 0, x + i * MD_FEATURES(s), 1);
        states_count(s, i == 0 ? last_row(s) : k, k, 1);
    }
    last_seen_of(s)[k] = (uint32_t)s->n_seen;
    stream_refresh(s, k);
    join_half(s, k, (md_real)n, follows);
}

/* The most probable other slot for the last point. */
static uint32_t second_slot(const mapdpm_stream *s, uint32_t k)
{
    uint32_t i, second = MD_NONE;

    for (i = 0; i < s->width; i++)
        if (i != k && is_used(s, i) && (second == MD_NONE || belief_of(s)[i] > belief_of(s)[second]))
            second = i;
    return second;
}

/* Whether a split would take the last id, or the last slot where none is ever freed for a point. */
static int takes_the_last(const mapdpm_stream *s)
{
    return s->next_id + 1 == MD_NONE || (WHEN_FULL(s) == MAPDPM_FULL_ERROR && s->n_clusters + 1 == MD_SLOTS(s));
}

/* Try one change that may follow: of the slot that was learned last, with its most probable rival, with the next slot
 * in order, or a split. If `reserves`, splits leave a slot and an id to the next point. */
void states_try_change(mapdpm_stream *s, int reserves)
{
    const uint32_t k = *last_slot_of(s), look = ++*looks_of(s), n = s->n_clusters;

    if (k == MD_NONE) /* nothing was learned: a forged snapshot */
        return;
    if (look % LOOK_PERIOD == 0) {
        const uint32_t id = s->next_id;

        if (!(reserves && takes_the_last(s)))
            (void)stream_try_split(s, k, 0);
        if (s->next_id != id)
            states_recount(s);
    } else if (look % 2 == 0) {
        s->turn = s->turn + 1 < MD_SLOTS(s) ? s->turn + 1 : 0;
        stream_try_merge(s, k, s->turn);
    } else {
        stream_try_merge(s, k, second_slot(s, k));
    }
    if (s->n_clusters != n || look % RECOUNT_PERIOD == 0)
        states_recount(s);
}

/* ==== smoothing.c =================================================================================================== */

/* The points of a learner of states in time (docs/maths.md, section 22). A point is filtered when it comes, and waits.
 * When `lag` later points are known, it is smoothed: learned by its most probable state given all of them.
 */

/* A state with fewer points is looked at after each of its blocks, not only at the end of a chunk. */
#define GROWN ((md_real)400)
/* No more points wait than this part of the points of their state. */
#define PATIENCE ((md_real)10)
/* What is believed of a state below this does not change which one is the most probable. Of a point with so little
 * doubt, later points change nothing: they would have to be as sure that the state changed one point before. */
#define MD_FAINT FLOAT_OR_DOUBLE(1e-6, 1e-9)
#define DOUBT ((md_real)1e-5)

/* Whether slot k may be the state of the last point, or of one that waits. Only such a state can get one of them. */
int states_expect(const mapdpm_stream *s, uint32_t k)
{
    int is_expected = belief_of(s)[k] > MD_FAINT;
    size_t i;

    for (i = 0; i < *n_waiting_of(s); i++)
        is_expected |= waiting_belief(s, i)[k] > MD_FAINT;
    return is_expected;
}

/* Whether a state will surely be forgotten when the points that wait have been learned, as of the time `before`: it has
 * too little weight at the present time, even with all of them if it is one that they may have. */
NOT_INLINED
int states_will_age(const mapdpm_stream *s, int64_t before)
{
    const md_real n = (md_real)*n_waiting_of(s), more = n * math_exp(-to_real((uint64_t)(s->now - before)) * s->rate);
    uint32_t k;

    for (k = 0; k < s->width; k++) {
        const md_real weight = *slot_of(s, k) * decay_of(s, k, s->now);
        const md_real most = n > 0 && states_expect(s, k) ? (md_real)0.99 * FORGOTTEN_WEIGHT - more : FORGOTTEN_WEIGHT;

        if (is_used(s, k) && weight < most)
            return 1;
    }
    return 0;
}

/* One step back in time: `later`, the beliefs at a point given all points, becomes those at the point before, of which
 * `now` is what was believed when it came. */
CLONES
static void step_back(const mapdpm_stream *s, const md_real *restrict now, md_real *restrict later,
                      md_real *restrict next)
{
    const uint32_t width = padded_width(s);
    uint32_t v, k, j;

    for (v = 0; v < s->width; v++)
        if (now[v] > 1 - DOUBT) {
            memcpy(later, now, width * sizeof(md_real));
            return;
        }
    for (k = 0; k < width; k++)
        next[k] = 0;
    for (v = 0; v < s->width; v++) {
        const md_real *const steps = steps_from(s, v);
        const md_real belief = now[v];

        if (belief > MD_FAINT)
            for (k = 0; k < width; k++)
                next[k] += belief * steps[k];
    }
    for (k = 0; k < width; k++)
        next[k] = next[k] > 0 ? later[k] / next[k] : 0;
    for (v = 0; v < s->width; v++) {
        const md_real *const steps = steps_from(s, v);
        md_real sums[MD_LANES] = {0}, rest = 0;

        later[v] = 0;
        if (!(now[v] > MD_FAINT))
            continue;
        for (k = 0; k + MD_LANES <= width; k += MD_LANES)
            for (j = 0; j < MD_LANES; j++)
                sums[j] += steps[k + j] * next[k + j];
        for (; k < width; k++)
            rest += steps[k] * next[k];
        later[v] = now[v] * ((sums[0] + sums[1]) + (sums[2] + sums[3]) + rest);
    }
}

static uint32_t largest_of(const md_real *values, uint32_t n)
{
    uint32_t k, best = 0;

    for (k = 1; k < n; k++)
        if (values[k] > values[best])
            best = k;
    return best;
}

/* Fill waiting_slots with the most probable slots of the first m points that wait, given all of them. */
static void smooth(mapdpm_stream *s, size_t m)
{
    md_real *const later = state_scores(s);
    size_t i;

    memcpy(later, belief_of(s), MD_SLOTS(s) * sizeof(md_real));
    for (i = *n_waiting_of(s); i > 0; i--) {
        if (i < *n_waiting_of(s))
            step_back(s, waiting_belief(s, i - 1), later, smoothed_of(s));
        if (i <= m)
            waiting_slots(s)[i - 1] = largest_of(later, s->width);
    }
}

/* Learn the first m points that wait. If `reserves`, splits leave a slot and an id to the next point. */
void states_settle(mapdpm_stream *s, size_t m, int reserves)
{
    const size_t D = MD_FEATURES(s), K = MD_SLOTS(s), left = *n_waiting_of(s) - m;
    size_t i, n;

    if (m == 0)
        return;
    smooth(s, m);
    states_decay(s);
    for (i = 0; i < m; i += n) {
        const uint32_t k = waiting_slots(s)[i];

        for (n = 1; i + n < m && waiting_slots(s)[i + n] == k; n++)
            ;
        if (!is_used(s, k)) /* no belief is a number: a forged snapshot */
            continue;
        states_learn_block(s, k, waiting_point(s, i), n);
        if (*slot_of(s, k) < GROWN)
            states_try_change(s, reserves);
    }
    for (i = 0; i < left; i++) {
        memcpy(waiting_point(s, i), waiting_point(s, m + i), D * sizeof(md_real));
        memcpy(waiting_belief(s, i), waiting_belief(s, m + i), K * sizeof(md_real));
    }
    *n_waiting_of(s) = (uint32_t)left;
    states_try_change(s, reserves);
    states_prepare(s);
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* Whether too many points wait for slot k to learn: a new state must not wait to be known. */
static int is_young(const mapdpm_stream *s, uint32_t k, size_t n)
{
    const md_real weight = *slot_of(s, k);

    return weight < PATIENCE * (md_real)waiting_room(s) && PATIENCE * (md_real)n >= weight;
}

/* Take the point for which slot k was chosen, after stream_choose. It waits; a point that opens a state is learned at
 * once, and no others wait then. Returns the slot of the most probable state. */
uint32_t states_learn(mapdpm_stream *s, uint32_t k, int is_new, const md_real *x)
{
    const size_t D = MD_FEATURES(s), n = *n_waiting_of(s);
    const int stays = ids_of(s)[k] == *state_id_of(s);

    *run_of(s) = stays && !is_new ? *run_of(s) + 1 : 1;
    if (is_new) {
        memset(belief_of(s), 0, MD_SLOTS(s) * sizeof(md_real));
        belief_of(s)[k] = 1;
        states_decay(s);
        states_learn_block(s, k, x, 1);
        states_try_change(s, 0);
        states_prepare(s);
    } else {
        size_t m = 0;

        states_believe(s, k, belief_of(s));
        memcpy(waiting_point(s, n), x, D * sizeof(md_real));
        memcpy(waiting_belief(s, n), belief_of(s), MD_SLOTS(s) * sizeof(md_real));
        *n_waiting_of(s) = (uint32_t)n + 1;
        if (n + 1 == waiting_room(s))
            m = n + 1 - s->lag;
        else if (is_young(s, k, n + 1))
            m = n + 1;
        states_settle(s, m, 0);
        if (m > 0)
            k = largest_of(belief_of(s), s->width);
    }
    *state_id_of(s) = ids_of(s)[k];
    return k;
}

/* After the warm-up, whose points have ids: transitions between them, and the belief in the state of the last one. */
void states_begin(mapdpm_stream *s)
{
    const uint32_t *const labels = warmup_labels_of(s);
    uint32_t k, row = MD_SLOTS(s);
    size_t i;

    *decayed_to(s) = s->now;
    for (i = 0; i < MD_WARMUP(s); i++) {
        const md_real age = to_real((uint64_t)(s->now - times_of(s)[i]));

        for (k = 0; k < s->width && !(is_used(s, k) && ids_of(s)[k] == labels[i]); k++)
            ;
        if (labels[i] == MD_NONE || k == s->width)
            continue;
        states_count(s, row, k, FORGETS(s) ? math_exp(-age * s->rate) : 1);
        row = k;
    }
    if (row < MD_SLOTS(s)) {
        belief_of(s)[row] = 1;
        *last_slot_of(s) = row;
        *state_id_of(s) = ids_of(s)[row];
        *run_of(s) = 1;
    }
    states_recount(s);
    states_prepare(s);
}

/* The next point begins a sequence. */
static void begin_sequence(mapdpm_stream *s)
{
    memset(belief_of(s), 0, MD_SLOTS(s) * sizeof(md_real));
    *last_slot_of(s) = *last_half_of(s) = *state_id_of(s) = MD_NONE;
    *run_of(s) = 0;
}

/* To be called after states were removed. If one of them was probably the last, nothing is known of the next. */
void states_removed(mapdpm_stream *s)
{
    md_real sum = 0;
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        sum += belief_of(s)[k];
    if (!(sum > MD_HALF))
        begin_sequence(s);
    for (k = 0; k < MD_SLOTS(s) && sum > MD_HALF; k++)
        belief_of(s)[k] /= sum;
    states_prepare(s);
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

int mapdpm_gap(mapdpm_stream *s)
{
    if (is_none(s) || !HAS_STATES(s))
        return MAPDPM_E_ARGUMENT;
    if (has_queue_to_do(s))
        return MAPDPM_E_WARMING;
    if (IS_WARMING(s))
        return MAPDPM_OK;
    states_settle(s, *n_waiting_of(s), 0);
    begin_sequence(s);
    return MAPDPM_OK;
}

int mapdpm_get_belief(const mapdpm_stream *s, md_real *belief)
{
    if (is_none(s) || !HAS_STATES(s) || belief == NULL)
        return MAPDPM_E_ARGUMENT;
    memcpy(belief, belief_of(s), MD_SLOTS(s) * sizeof(md_real));
    return MAPDPM_OK;
}

int mapdpm_get_transitions(const mapdpm_stream *s, md_real *steps)
{
    size_t v, K;

    if (is_none(s) || !HAS_STATES(s) || steps == NULL)
        return MAPDPM_E_ARGUMENT;
    K = MD_SLOTS(s);
    for (v = 0; v <= K; v++) {
        memcpy(steps + v * (K + 1), steps_from(s, v), K * sizeof(md_real));
        steps[v * (K + 1) + K] = opening_of(s)[v];
    }
    return MAPDPM_OK;
}

int mapdpm_get_run(const mapdpm_stream *s, uint32_t *length)
{
    if (is_none(s) || !HAS_STATES(s) || length == NULL)
        return MAPDPM_E_ARGUMENT;
    *length = *run_of(s);
    return MAPDPM_OK;
}

/* ==== base.c ======================================================================================================== */

/* A learner with a base: its clusters have a part that others saw. What it saw itself is kept apart, so that its
 * gateway gets each point once, and can replace the rest (docs/maths.md, section 16).
 */

/* All of slot k is what the learner saw itself. */
void base_none(mapdpm_stream *s, uint32_t k)
{
    memcpy(own_of(s, k), slot_of(s, k), moments_size(s) * sizeof(md_real));
    *base_tables_of(s, k) = 0;
}

/* Add a point to what the learner saw itself; a weight below 0 removes one. A split may have moved it elsewhere. */
void base_add(mapdpm_stream *s, uint32_t k, const md_real *x, md_real weight)
{
    md_real *const own = own_of(s, k);

    if (weight < 0 && !(*own + weight > -weight / 1024))
        memset(own, 0, moments_size(s) * sizeof(md_real));
    else
        moments_add(s, own, half_size(s), x, weight);
}

void base_decay(mapdpm_stream *s, uint32_t k, md_real decay)
{
    moments_scale(s, own_of(s, k), half_size(s), decay);
    *base_tables_of(s, k) *= decay;
}

void base_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    md_real *const own = own_of(s, to), *const other = own_of(s, from);

    if (!(*own > 0))
        memcpy(own, other, moments_size(s) * sizeof(md_real));
    else if (*other > 0)
        moments_merge(s, own, other, half_size(s));
    *base_tables_of(s, to) += *base_tables_of(s, from);
}

/* So many points that lie like those of slot k. */
static void fill(const mapdpm_stream *s, uint32_t k, md_real n)
{
    md_real *const own = own_of(s, k);

    memset(own, 0, moments_size(s) * sizeof(md_real));
    if (!(n > 0))
        return;
    memcpy(own, slot_of(s, k), half_size(s) * sizeof(md_real));
    moments_scale(s, own, 0, n / *own);
    *own = n;
}

/* Slot e, which is new, takes this share of slot k. Both have their new moments. */
void base_split(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share)
{
    md_real *const own = own_of(s, k);
    const md_real low = low_part(own, half_size(s)), whole = *own, part = whole_points(s, whole * share);

    fill(s, e, part);
    fill(s, k, whole - part);
    if (COMPENSATED && *own > 0)
        add_compensated(own, half_size(s), low);
    *base_tables_of(s, e) = *base_tables_of(s, k) * share;
    *base_tables_of(s, k) -= *base_tables_of(s, e);
}

/* ---- another base ------------------------------------------------------------------------------------------------ */

/* Whether a slot is left of the last base: no point of it is the learner's own. */
static int is_left(const mapdpm_stream *s, uint32_t k)
{
    return is_used(s, k) && !(*own_of(s, k) > 0) && !(*base_tables_of(s, k) > 0);
}

/* Reduce each slot to what the learner saw itself. Slots without such points, or whose points are forgotten, stay until
 * the end, so that they keep their ids if they are in the new base too. */
static void leave_base(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < s->width; k++) {
        md_real *const past = past_tables_of(s) + k;

        if (!is_used(s, k))
            continue;
        stream_apply_decay(s, k);
        if (*own_of(s, k) < FORGOTTEN_WEIGHT) {
            memset(own_of(s, k), 0, moments_size(s) * sizeof(md_real));
        } else {
            memcpy(slot_of(s, k), own_of(s, k), moments_size(s) * sizeof(md_real));
            *past = at_least(*past - *base_tables_of(s, k), 0);
            groups_recount(s, k);
        }
        *base_tables_of(s, k) = 0;
    }
    groups_total(s);
}

/* The slot whose merge with a cluster of the base raises the log joint most, or MD_NONE. */
static uint32_t best_match(const mapdpm_stream *s, view v)
{
    uint32_t k, best = MD_NONE;
    md_real most = 0;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            const md_real gain = merge_gain(s, view_of(s, k, s->now), v);

            if (gain > most) {
                most = gain;
                best = k;
            }
        }
    return best;
}

/* A slot for a cluster that matches none, or MD_NONE. */
static uint32_t new_slot(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < s->width && s->n_clusters == MD_SLOTS(s); k++)
        if (is_left(s, k))
            stream_remove(s, k, MAPDPM_EVICTED);
    k = s->n_clusters < MD_SLOTS(s) ? stream_free_slot(s) : MD_NONE;
    if (k != MD_NONE) {
        stream_open_slot(s, k);
        ids_of(s)[k] = s->next_id++;
        stream_record(s, MAPDPM_CREATED, ids_of(s)[k], 0);
    }
    return k;
}

/* Take one cluster of the base, which is in spare_of(s). */
static void take(mapdpm_stream *s, md_real tables)
{
    const size_t bytes = moments_size(s) * sizeof(md_real);
    md_real *const spare = spare_of(s);
    view v = empty_view(s);
    uint32_t k;

    v.moments = spare;
    v.decay = 1;
    set_groups(&v, NULL, tables, tables);
    k = best_match(s, v);
    if (k != MD_NONE && !is_left(s, k)) {
        moments_merge(s, slot_of(s, k), spare, half_size(s));
        past_tables_of(s)[k] += tables;
        tables_of(s)[k] += tables;
    } else {
        if (k == MD_NONE)
            k = new_slot(s);
        if (k == MD_NONE)
            return;
        memcpy(slot_of(s, k), spare, bytes);
        past_tables_of(s)[k] = tables_of(s)[k] = tables;
    }
    *base_tables_of(s, k) += tables;
    if (k >= s->width)
        s->width = k + 1;
    groups_total(s);
}

/* The cluster with the most tables after cluster `last`, or of all if that is MD_NONE; MD_NONE if there is no other. */
static uint32_t next_in_order(const summary *f, uint32_t last)
{
    const md_real most = last == MD_NONE ? 0 : summary_tables(f, last);
    md_real best = 0;
    uint32_t i, next = MD_NONE;

    for (i = 0; i < f->n; i++) {
        const md_real tables = summary_tables(f, i);
        const int follows = last == MD_NONE || tables < most || (tables <= most && i > last);

        if (follows && tables > best) {
            best = tables;
            next = i;
        }
    }
    return next;
}

int mapdpm_set_base(mapdpm_stream *s, const unsigned char *file, size_t file_bytes)
{
    summary f;
    uint32_t i, k;
    int error;

    if (is_none(s) || file == NULL || !HAS_BASE(s))
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    error = summary_open(file, file_bytes, &f);
    if (error == MAPDPM_OK)
        error = summary_check(s, &f);
    if (error != MAPDPM_OK)
        return error;
    leave_base(s);
    for (i = next_in_order(&f, MD_NONE); i != MD_NONE; i = next_in_order(&f, i)) {
        memset(spare_of(s), 0, moments_size(s) * sizeof(md_real));
        take(s, summary_read(s, &f, i, spare_of(s)));
    }
    memset(spare_of(s), 0, moments_size(s) * sizeof(md_real)); /* equal learners have equal memory */
    for (k = 0; k < s->width; k++)
        if (is_left(s, k))
            stream_remove(s, k, MAPDPM_EVICTED);
    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            merge_partner_of(s)[k] = MD_NONE;
            stream_refresh(s, k);
        }
    groups_balance(s);
    return MAPDPM_OK;
}

/* ==== choose.c ====================================================================================================== */

/* The choice of a cluster for a point, and the density of the point under all clusters. */

/* The tails of x with columns k to k + n - 1, n <= MD_BLOCK: for Normal-Gamma a product less 1, infinite if it
 * overflowed; for known variances a sum. And upper bounds of the densities. */
CLONES
static void tails_of(const mapdpm_stream *s, const md_real *x, size_t k, size_t n, md_real *restrict tails,
                     md_real *restrict bounds)
{
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s);
    const md_real *const constants = constants_of(s) + k, *const exponents = exponents_of(s) + k;
    const int is_product = IS_GAMMA(s);
    md_real u[MD_BLOCK] = {0};
    size_t d, j;

    for (j = 0; j < MD_BLOCK; j++)
        tails[j] = 0;
    if (n == MD_BLOCK && is_product) /* the usual case is separate, so that it stays in registers */
        for (d = 0; d < MD_FEATURES(s); d++) {
            const md_real *const centre = centres_of(s, d) + k, *const scale = scales_of(s, d) + k;
            const md_real t = (x[d] - anchor[d]) * unit[d];

            for (j = 0; j < MD_BLOCK; j++) {
                const md_real v = (t - centre[j]) * (t - centre[j]) * scale[j];

                tails[j] = tails[j] * (1 + v) + v; /* at most infinite, never NaN */
            }
        }
    else
        for (d = 0; d < MD_FEATURES(s); d++) {
            const md_real *const centre = centres_of(s, d) + k, *const scale = scales_of(s, d) + k;
            const md_real t = (x[d] - anchor[d]) * unit[d];

            for (j = 0; j < n; j++)
                u[j] = (t - centre[j]) * (t - centre[j]) * scale[j];
            if (is_product)
                for (j = 0; j < MD_BLOCK; j++)
                    tails[j] = tails[j] * (1 + u[j]) + u[j];
            else
                for (j = 0; j < MD_BLOCK; j++)
                    tails[j] += u[j];
        }
    if (!is_product)
        for (j = 0; j < n; j++)
            bounds[j] = constants[j] - tails[j];
    else if (n == MD_BLOCK)
        for (j = 0; j < MD_BLOCK; j++)
            bounds[j] = constants[j] - exponents[j] * math_log_below(1 + tails[j]);
    else
        for (j = 0; j < n; j++)
            bounds[j] = constants[j] - exponents[j] * math_log_below(1 + tails[j]);
}

/* log p(x | a new cluster), with its log weight but for states in time, and an upper bound of it. If the bound is below
 * `least`, the bound is returned. */
md_real stream_score_new(const mapdpm_stream *s, const md_real *x, md_real least, md_real *bound)
{
    const size_t D = MD_FEATURES(s);
    const md_real opening = IS_TIMED(s)     ? s->opening - s->log_alpha
                            : IS_GROUPED(s) ? s->opening + (log_opening(s) - s->log_alpha)
                                            : s->opening;
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s), *const scale = prior_scale(s);
    md_real sum = 0, logs = 0;
    size_t d;

    if (HAS_MISSING(s)) {
        return *bound = density(s, empty_view(s), x) + (IS_TIMED(s) ? 0 : log_opening(s));
    }
    for (d = 0; d < D; d++) {
        const md_real t = (x[d] - anchor[d]) * unit[d], u = t * t * scale[d];

        if (IS_GAMMA(s))
            multiply_one_plus(&sum, &logs, u);
        else
            logs += u;
    }
    if (!IS_GAMMA(s))
        return *bound = opening - logs;
    *bound = opening - (s->a0 + MD_HALF) * (logs + math_log_below(1 + sum));
    return *bound < least ? *bound : opening - (s->a0 + MD_HALF) * (logs + math_log1p(sum));
}

/* The sum of exp(score - top) of all scores that matter. */
typedef struct {
    md_real top;
    md_real sum;
} score_sum;

/* The best cluster so far; the two clusters with the highest upper bounds; the sum of all scores; and if some clusters
 * are rare, that of the others. */
typedef struct {
    uint32_t best;
    uint32_t candidate;
    uint32_t runner_up;
    md_real best_score;
    md_real candidate_bound;
    md_real runner_up_bound;
    score_sum all;
    score_sum common;
    int has_rare;
} ranking;

/* A cluster with a lower score cannot win, nor change the density. */
static md_real least_score(const ranking *r, int with_density)
{
    const md_real top = r->has_rare && r->common.top < r->all.top ? r->common.top : r->all.top;

    return with_density && top - NEGLIGIBLE < r->best_score ? top - NEGLIGIBLE : r->best_score;
}

static void add_score(score_sum *s, md_real score)
{
    if (score > s->top) {
        s->sum = s->sum * math_exp(s->top - score) + 1;
        s->top = score;
    } else if (score > s->top - NEGLIGIBLE) {
        s->sum += math_exp(score - s->top);
    }
}

/* A score may round above its bound. If the bound is below the best score, the score is ignored, so that the same
 * cluster wins with and without a density. The candidate and the runner-up are ranked by bounds alone. */
static void rank_score(const mapdpm_stream *s, ranking *r, uint32_t k, md_real score, md_real bound, int with_density)
{
    if (bound > r->best_score && score > r->best_score) {
        r->best = k;
        r->best_score = score;
    }
    if (with_density)
        add_score(&r->all, score);
    if (r->has_rare && !is_rare(s, k))
        add_score(&r->common, score);
}

static void rank_bound(ranking *r, uint32_t k, md_real bound)
{
    if (bound > r->candidate_bound) {
        r->runner_up = r->candidate;
        r->runner_up_bound = r->candidate_bound;
        r->candidate = k;
        r->candidate_bound = bound;
    } else if (bound > r->runner_up_bound) {
        r->runner_up = k;
        r->runner_up_bound = bound;
    }
}

/* Add upper bounds of the log weights for the group of the next point. Without forgetting no cluster has more tables
 * than points. The weight of a free slot is 0, and its bound stays the lowest. */
CLONES
static void weigh_block(const mapdpm_stream *s, uint32_t first, uint32_t n, md_real *restrict bounds)
{
    const uint32_t row = *row_of(s);
    const md_real *const tables = tables_of(s) + first, *const cells = row == MD_NONE ? NULL : cells_of(s, row) + first;
    const md_real per_table = s->alpha / *all_tables_of(s);
    uint32_t j;

    for (j = 0; j < n; j++)
        bounds[j] += math_log_below((cells ? cells[j] : 0) + per_table * tables[j]) + MOST_BELOW;
}

/* The score of a slot by the score table, from its tail. */
static md_real score_of_tail(const mapdpm_stream *s, const md_real *x, uint32_t k, md_real tail)
{
    const md_real density = density_of_tail(s, x, k, tail);

    return IS_GROUPED(s) ? density + math_log(group_weight(s, k, *row_of(s), 1)) : density;
}

/* The tails and bounds of the block of clusters from `first` on. Returns their number. */
uint32_t stream_bound_block(const mapdpm_stream *s, const md_real *x, uint32_t first, md_real *tails, md_real *bounds)
{
    const uint32_t room = MD_SLOTS(s) - first, left = s->width - first, n = left < MD_BLOCK ? left : MD_BLOCK;

    tails_of(s, x, first, room < MD_BLOCK ? room : MD_BLOCK, tails, bounds);
    if (IS_GROUPED(s))
        weigh_block(s, first, n, bounds);
    return n;
}

/* Rank all clusters by the score table. Its constants include the log weights, except with groups; those of free slots
 * are -LARGEST_REAL.
 * Bounds come first: usually they decide, and only one logarithm is needed. Those of the first clusters are kept for the
 * density. */
static void rank_by_score_table(const mapdpm_stream *s, const md_real *x, ranking *r, int with_density)
{
    enum { KEPT = 4 * MD_BLOCK };
    md_real tails[KEPT + MD_BLOCK], bounds[KEPT + MD_BLOCK], tail = 0;
    uint32_t first, at, j, n;

    for (first = 0; first < s->width; first += MD_BLOCK) {
        at = first < KEPT ? first : KEPT;
        n = stream_bound_block(s, x, first, &tails[at], &bounds[at]);
        for (j = 0; j < n; j++)
            if (bounds[at + j] > r->runner_up_bound) {
                if (bounds[at + j] > r->candidate_bound)
                    tail = tails[at + j];
                rank_bound(r, first + j, bounds[at + j]);
            }
    }
    if (r->candidate == MD_NONE)
        return;
    r->best = r->candidate;
    r->best_score = r->all.top = score_of_tail(s, x, r->candidate, tail);
    if (!with_density && r->runner_up_bound < r->best_score)
        return;
    for (first = 0; first < s->width; first += MD_BLOCK) {
        at = first < KEPT ? first : KEPT;
        n = s->width - first < MD_BLOCK ? s->width - first : MD_BLOCK;
        if (first >= KEPT)
            n = stream_bound_block(s, x, first, &tails[at], &bounds[at]);
        for (j = 0; j < n; j++)
            if (bounds[at + j] > least_score(r, with_density)) {
                const md_real score = score_of_tail(s, x, first + j, tails[at + j]);

                rank_score(s, r, first + j, score, bounds[at + j], with_density);
            }
    }
}

/* Rank all clusters by their moments at the current time. Returns the total weight. A cluster below FORGOTTEN_WEIGHT is
 * left out, and sets *is_aged. */
static md_real rank_by_moments(const mapdpm_stream *s, const md_real *x, ranking *r, int with_density, int *is_aged)
{
    md_real total = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++) {
        view v;
        md_real weight, score;

        if (!is_used(s, k))
            continue;
        v = view_of(s, k, s->now);
        weight = v.decay * *v.moments;
        if (weight < FORGOTTEN_WEIGHT) {
            *is_aged = 1;
            continue;
        }
        if (IS_GROUPED(s)) {
            total += *row_of(s) == MD_NONE ? 0 : cells_of(s, *row_of(s))[k] * v.decay;
            weight = group_weight(s, k, *row_of(s), v.decay);
        } else {
            total += weight;
        }
        score = density(s, v, x) + math_log(weight);
        rank_score(s, r, k, score, score, with_density);
        rank_bound(r, k, score);
    }
    return total;
}

md_real stream_total_weight(const mapdpm_stream *s)
{
    md_real total = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        total += *slot_of(s, k) * decay_of(s, k, s->now);
    return total;
}

/* What units and missing values add to a log density. */
md_real stream_unit_term(const mapdpm_stream *s, const md_real *x)
{
    md_real total = s->log_units;
#ifdef MAPDPM_MISSING
    size_t d;

    for (d = 0; HAS_MISSING(s) && d < MD_FEATURES(s); d++)
        if (!is_present(x[d]))
            total -= math_log(unit_of(s)[d]);
#endif
    (void)x;
    return total;
}

/* The logarithm of a sum. Its highest term is 1, unless scores are so large that a nat does not change them. */
static md_real log_of(const score_sum *s) { return s->top + math_log(at_least(s->sum, 1)); }

static int has_rare_clusters(const mapdpm_stream *s)
{
    uint32_t k, any = 0;

    for (k = 0; HAS_SURPRISE(s) && k < s->width; k++)
        any |= standing_of(s)[k];
    return (any & MD_RARE) != 0;
}

choice stream_choose(const mapdpm_stream *s, const md_real *x, int with_density)
{
    static const score_sum none = {-LARGEST_REAL, 0};
    ranking all = {MD_NONE, MD_NONE, MD_NONE, -LARGEST_REAL, -LARGEST_REAL, -LARGEST_REAL, {0, 0}, {0, 0}, 0};
    choice c = {MD_NONE, MD_NONE, 0, 1, 0, 0, 0, 0};
    md_real total_weight = 0, opening, bound;

    if (IS_TIMED(s))
        return states_choose(s, x, with_density);
    all.all = all.common = none;
    all.has_rare = with_density && has_rare_clusters(s);
    if (is_prepared(s)) {
        rank_by_score_table(s, x, &all, with_density);
        if (with_density)
            total_weight = IS_GROUPED(s) ? points_here(s, *row_of(s)) : stream_total_weight(s);
    } else {
        total_weight = rank_by_moments(s, x, &all, with_density, &c.has_aged);
    }
    opening = stream_score_new(s, x, least_score(&all, with_density), &bound);
    if (with_density) {
        add_score(&all.all, opening);
        add_score(&all.common, opening);
    }
    c.best = all.best;
    c.second = all.candidate == all.best ? all.runner_up : all.candidate;
    c.opens = c.best == MD_NONE || (bound > all.best_score && opening > all.best_score);
    if (with_density) {
        const md_real all_weight = total_weight + s->alpha;

        const md_real sum = log_of(&all.all);

        c.density = sum - (all_weight > 0 ? math_log(all_weight) : s->log_alpha) + stream_unit_term(s, x);
        c.novelty = math_exp(opening - all.all.top) / at_least(all.all.sum, 1);
        c.common = all.has_rare ? log_of(&all.common) : sum;
        c.weight = all_weight;
    }
    return c;
}

/* ==== surprise.c ==================================================================================================== */

/* How unusual a point is: the calibrated tail probability of its log density (docs/maths.md, section 30).
 *
 * First the tail of the learner's own predictive: the probability that a draw has so low a density. Then the rank of
 * this number among those of all points so far, which are counted in bins. The last counts have an exponential tail.
 */

/* ==== mapdpm_gamma_tail.h =========================================================================================== */

/* Tails of Gamma variables, which may be too small for a real. Internal; static inlines. */
#ifndef MAPDPM_GAMMA_TAIL_H
#define MAPDPM_GAMMA_TAIL_H

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

/* Bins of -log(tail probability), in nats: so many for each doubling of 1 + nats. */
enum { BINS_PER_DOUBLING = 4 };
/* The tail holds at least so many counts. Its slope comes from the lower half of them, so that a few outliers have no
 * influence. */
#define TAIL_COUNTS ((md_real)16)
/* The lower half ends with a bin that its own counts have chosen. So many counts less make up for that, as
 * tests/stream/test_surprise.py simulates. */
#define CHOSEN_END ((md_real)0.15)
/* The nats of the points in the tail that are assumed before there are any. */
#define TAIL_PRIOR ((md_real)1)
/* Counts are halved after FIRST_PERIOD points, then after twice as many each time: the learner itself changes most when
 * it is young. No period is longer than MOST_PERIOD or, with forgetting, than MD_MEMORY times the weight of all clusters
 * or LEAST_PERIOD. */
enum { FIRST_PERIOD = 64, LEAST_PERIOD = 2048 };
#define MOST_PERIOD UINT32_C(2097152)
#define MD_MEMORY ((md_real)32)
/* Points of such a surprise are extreme. One that comes within APART points of another is not counted, so that an
 * episode counts once; but no more than LONGEST_RUN are left out in a row. */
#define MD_EXTREME ((md_real)1e-3)
enum { APART = 16, LONGEST_RUN = 64 };
/* No cluster counts as narrower than its density says by more than this, as a share of the variance. */
#define LEAST_VARIANCE_SHARE ((md_real)(1.0 / 64))

/* ---- the tail of the predictive ---------------------------------------------------------------------------------- */

/* The tail of draws from a cluster of n points, at a log density so many nats below the highest one, is that of a Gamma
 * variable of shape D / 2 at so many nats times the steepness (docs/maths.md (115)). It is exact for known variances and
 * in the limit of many points; else Bartlett's approximation, for a variance that is such a share of that in the density.
 */
static md_real steepness(const mapdpm_stream *s, md_real n, md_real share)
{
    const md_real exponent = s->a0 + MD_HALF * n + MD_HALF;

    if (!IS_GAMMA(s))
        return 1;
    return at_least(1 - (md_real)0.75 * (2 - share) / exponent, (md_real)0.25) / at_least(share, LEAST_VARIANCE_SHARE);
}

/* That of slot k, as of its last point, for points that have the features that x has, or all if x is NULL. The variance
 * is that about the cluster's own mean: a density takes the distance of this mean from the prior mean for variance. */
static md_real steepness_in(const mapdpm_stream *s, uint32_t k, const md_real *x)
{
    const md_real *const slot = slot_of(s, k), *const counts = counts_in(s, slot);
    md_real shares = 0, features = 0, n = -1, shrinkage = 0, freedom = 0;
    size_t d;

    for (d = 0; IS_GAMMA(s) && d < MD_FEATURES(s); d++) {
        const md_real count = counts[d * count_step(s)], mean = mean_in(s, slot)[d], squares = squares_in(s, slot)[d];
        const md_real b0 = noise_scale_of(s)[d];

        if (x && !is_present(x[d]))
            continue;
        if (count != n) {
            n = count;
            shrinkage = shrinkage_of(s, n);
            freedom = (s->a0 + MD_HALF * n) / (s->a0 + MD_HALF * at_least(n - 1, 0));
        }
        features += 1;
        shares += freedom * (posterior_b(b0, 0, mean, squares) / posterior_b(b0, shrinkage, mean, squares));
    }
    return steepness(s, *slot, features > 0 ? shares / features : 1);
}

/* To be called after the moments of slot k have changed. */
void surprise_refresh(mapdpm_stream *s, uint32_t k) { steepness_of(s)[k] = steepness_in(s, k, NULL); }

/* Tails need it above 0: at 1e-14 they are 1, but for 1e-7. */
static md_real depth_of(md_real below, md_real steep) { return at_least(below * steep, (md_real)1e-14); }

static uint32_t features_there(const mapdpm_stream *s, const md_real *x)
{
    uint32_t d, n = 0;

    if (!HAS_MISSING(s))
        return MD_FEATURES(s);
    for (d = 0; d < MD_FEATURES(s); d++)
        n += (uint32_t)is_present(x[d]);
    return n;
}

/* The highest log density that a point with the same missing values can have in slot k, with the log weight. */
static md_real highest_score(const mapdpm_stream *s, const md_real *x, uint32_t k, md_real weight)
{
    if (HAS_MISSING(s))
        return peak(s, view_of(s, k, s->now), x) + math_log(weight);
    return constants_of(s)[k] - elapsed(s, k, s->now);
}

/* The same of a new cluster. */
static md_real highest_of_new(const mapdpm_stream *s, const md_real *x)
{
    return HAS_MISSING(s) ? peak(s, empty_view(s), x) + s->log_alpha : s->opening;
}

CLONES
md_real surprise_nats(const mapdpm_stream *s, const md_real *x, const choice *c)
{
    const uint32_t n_features = features_there(s, x);
    small_number sum = {0, 0};
    md_real known = 0, weights[MD_BLOCK], depths[MD_BLOCK];
    uint32_t k = 0, n;

    while (k < s->width) {
        for (n = 0; k < s->width && n < MD_BLOCK; k++) {
            const md_real weight = is_used(s, k) ? *slot_of(s, k) * decay_of(s, k, s->now) : 0;

            if (weight < FORGOTTEN_WEIGHT || is_rare(s, k))
                continue;
            known += weight;
            weights[n] = weight;
            depths[n++] = depth_of(highest_score(s, x, k, weight) - c->common,
                                   n_features < MD_FEATURES(s) ? steepness_in(s, k, x) : steepness_of(s)[k]);
        }
        add_tails(&sum, n_features, n, weights, depths);
    }
    if (!(known > 0)) {
        known = weights[0] = 1;
        depths[0] = depth_of(highest_of_new(s, x) - c->common, steepness(s, 0, 1));
        add_tails(&sum, n_features, 1, weights, depths);
    }
    return at_least(sum.nats - math_log(sum.factor / known), 0);
}

/* ---- their distribution so far ----------------------------------------------------------------------------------- */

static md_real start_of_bin(uint32_t i)
{
    return math_power_of_2((int)(i / BINS_PER_DOUBLING)) *
               (1 + (md_real)(i % BINS_PER_DOUBLING) / (md_real)BINS_PER_DOUBLING) -
           1;
}

/* By the leading bits of 1 + nats. */
static uint32_t bin_of(md_real nats)
{
    const md_real z = 1 + nats;
    uint32_t i;

    if (!(nats < start_of_bin(SURPRISE_BINS)))
        return SURPRISE_BINS - 1;
    if (MATH_IS_FLOAT) {
        memcpy(&i, &z, 4);
        i = (i >> 21) - 4 * 127;
    } else {
        uint64_t bits;

        memcpy(&bits, &z, sizeof z);
        i = (uint32_t)(bits >> 50) - 4 * 1023;
    }
    return i < SURPRISE_BINS ? i : SURPRISE_BINS - 1;
}

/* The number of points, each of weight 1, that are as precise as the counts, relative to the weight of the counts. Those
 * from before the last halving have weights 1/2, 1/4, ...: OLD_PRECISION is the mean of their squares over their mean,
 * where periods double. */
#define OLD_PRECISION ((md_real)0.42857143)
static md_real precision_of(const mapdpm_stream *s, md_real all)
{
    const md_real recent = (md_real)*counted_in_period(s), old = at_least(all - recent, 0);

    return all > 0 ? (old + recent) / (OLD_PRECISION * old + recent) : 1;
}

/* The tail: where it starts, the counts in it, those of its lower part, and the nats by which these exceed the start; the
 * others count as if they ended there (type II censoring). */
typedef struct {
    uint32_t bin;
    md_real counts;
    md_real lower;
    md_real nats;
} tail_of_counts;

static tail_of_counts find_tail(const md_real *counts, md_real precision)
{
    const md_real least = TAIL_COUNTS / precision;
    tail_of_counts tail = {SURPRISE_BINS, 0, 0, 0};
    md_real start;
    uint32_t i;

    while (tail.bin > 0 && tail.counts < least)
        tail.counts += counts[--tail.bin];
    tail.counts *= precision;
    start = start_of_bin(tail.bin);
    for (i = tail.bin; i < SURPRISE_BINS && tail.lower < MD_HALF * tail.counts; i++)
        if (counts[i] > 0) {
            const md_real width = start_of_bin(i + 1) - start_of_bin(i);

            tail.lower += counts[i] * precision;
            tail.nats += counts[i] * precision * (start_of_bin(i) - start + width / (2 + width / 3));
        }
    tail.nats += (tail.counts - tail.lower) * (start_of_bin(i) - start);
    return tail;
}

/* The sum of the counts from bin `first` up to bin `end` - 1, in four sums, so that an addition does not wait for the one
 * before. */
static md_real sum_of_counts(const md_real *counts, uint32_t first, uint32_t end)
{
    md_real sums[4] = {0, 0, 0, 0};
    uint32_t i, j;

    for (i = first; i + 4 <= end; i += 4)
        for (j = 0; j < 4; j++)
            sums[j] += counts[i + j];
    for (j = 0; i + j < end; j++)
        sums[j] += counts[i + j];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

md_real surprise_rank(const mapdpm_stream *s, md_real nats)
{
    const md_real *const counts = tail_counts(s);
    const uint32_t bin = bin_of(nats);
    const md_real above = sum_of_counts(counts, bin + 1, SURPRISE_BINS);
    const md_real all = sum_of_counts(counts, 0, bin + 1) + above, precision = precision_of(s, all);
    const md_real all_with_it = all * precision + 1;
    md_real share, width;

    if (above * precision < TAIL_COUNTS) { /* by rounding, the tail may begin at the next bin */
        const tail_of_counts tail = find_tail(counts, precision);
        const md_real c = at_least(nats - start_of_bin(tail.bin), 0) / (TAIL_PRIOR + tail.nats);
        const md_real power = at_least(tail.lower - CHOSEN_END, 0);

        return (tail.counts + 1) / all_with_it * math_exp(-(TAIL_PRIOR * c + power * math_log1p(c)));
    }
    width = math_exp(start_of_bin(bin) - start_of_bin(bin + 1));
    share = above * precision +
            (math_exp(start_of_bin(bin) - nats) - width) / (1 - width) * (counts[bin] * precision + 1);
    return share < all_with_it ? share / all_with_it : 1;
}

/* ---- rare clusters ----------------------------------------------------------------------------------------------- */

/* Mark slot k as rare, or not. The standing of free slots is 0. */
static void judge(mapdpm_stream *s, uint32_t k)
{
    uint32_t *const standing = standing_of(s), own = standing[k] & ~MD_RARE;
    uint64_t lighter = 0, all = 0;
    uint32_t j;

    for (j = 0; j < s->width; j++) {
        const uint32_t other = standing[j] & ~MD_RARE;

        all += other;
        lighter += other < own + (uint32_t)(j <= k) ? other : 0;
    }
    standing[k] = own | (to_real(lighter) <= *rare_share(s) * to_real(all) ? MD_RARE : 0);
}

void surprise_judge_all(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k))
            judge(s, k);
}

/* The points of an inserted cluster have the standing of points that were learned. */
void surprise_seat(mapdpm_stream *s, uint32_t k)
{
    const md_real n = *slot_of(s, k);

    standing_of(s)[k] = n < (md_real)MOST_STANDING ? (uint32_t)(n + MD_HALF) : MOST_STANDING;
}

void surprise_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const uint32_t sum = (standing_of(s)[to] & ~MD_RARE) + (standing_of(s)[from] & ~MD_RARE);

    standing_of(s)[to] = sum < MOST_STANDING ? sum : MOST_STANDING;
    standing_of(s)[from] = 0;
    judge(s, to);
}

/* Slot e has been given a share of the points of slot k. */
void surprise_split(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share)
{
    const uint32_t all = standing_of(s)[k] & ~MD_RARE, part = (uint32_t)((md_real)all * share);

    standing_of(s)[e] = part < all ? part : all;
    standing_of(s)[k] = all - standing_of(s)[e];
    judge(s, k);
    judge(s, e);
}

static void halve_counts(mapdpm_stream *s, int with_standing)
{
    uint32_t *const standing = standing_of(s), i;

    for (i = 0; i < SURPRISE_BINS; i++)
        tail_counts(s)[i] *= MD_HALF;
    for (i = 0; with_standing && i < MD_SLOTS(s); i++)
        standing[i] = (standing[i] & MD_RARE) | (((standing[i] & ~MD_RARE) + 1) / 2);
}

static uint32_t longest_period(const mapdpm_stream *s, md_real weight)
{
    const md_real memory = weight * MD_MEMORY;

    if (!FORGETS(s) || !(memory < (md_real)MOST_PERIOD))
        return MOST_PERIOD;
    return memory > (md_real)LEAST_PERIOD ? (uint32_t)memory : (uint32_t)LEAST_PERIOD;
}

/* Whether a point counts: not if it goes on with an episode of extreme points. */
static int counts_as_new(mapdpm_stream *s, md_real surprise)
{
    uint32_t *const since = since_extreme(s), *const left_out = left_out_in_run(s);
    const int goes_on = *since < APART && surprise <= MD_EXTREME && *left_out < LONGEST_RUN;

    if (surprise <= MD_EXTREME) {
        *since = 0;
        *left_out += (uint32_t)goes_on;
    } else if (*since < APART) {
        ++*since;
    } else {
        *left_out = 0;
    }
    return !goes_on;
}

/* Count a point of such a surprise that has joined slot k, where the weight of all clusters was `weight`. */
void surprise_count(mapdpm_stream *s, md_real nats, md_real surprise, uint32_t k, md_real weight)
{
    uint32_t *const next = next_to_check(s), *const period = counting_period(s), *const counted = counted_in_period(s);

    if (counts_as_new(s, surprise))
        tail_counts(s)[bin_of(nats)] += 1;
    if ((standing_of(s)[k] & ~MD_RARE) < MOST_STANDING)
        standing_of(s)[k]++;
    if (++*counted >= (*period > 0 ? *period : (uint32_t)FIRST_PERIOD)) {
        const uint32_t most = longest_period(s, weight), twice = 2 * *counted;

        halve_counts(s, twice >= most);
        *period = twice < most ? twice : most;
        *counted = 0;
    }
    judge(s, k);
    *next = *next + 1 < MD_SLOTS(s) ? *next + 1 : 0;
    if (is_used(s, *next)) /* its share may have changed though it was not seen */
        judge(s, *next);
}

/* Nothing is counted yet: no point is extreme. */
void surprise_reset(mapdpm_stream *s, md_real rare)
{
    *rare_share(s) = rare;
    *since_extreme(s) = APART;
}

/* Add what another learner has counted. */
void surprise_pool(mapdpm_stream *s, const mapdpm_stream *from)
{
    uint32_t i;

    if (*counting_period(from) > *counting_period(s))
        *counting_period(s) = *counting_period(from);
    for (i = 0; i < SURPRISE_BINS; i++)
        tail_counts(s)[i] += tail_counts(from)[i];
}

/* ==== assess.c ====================================================================================================== */

/* How unusual a point is: an assessment, of a point that may be learned then. */

void stream_assess_nothing(mapdpm_assessment *a)
{
    a->id = MD_NONE;
    a->log_density = a->novelty = a->surprise = math_nan();
}

void stream_assess(const mapdpm_stream *s, const choice *c, md_real surprise, mapdpm_assessment *a)
{
    a->id = c->best == MD_NONE ? MD_NONE : ids_of(s)[c->best];
    a->log_density = c->density;
    a->novelty = c->novelty;
    a->surprise = surprise;
}

/* The time of the next point. *time is s->now for points without times, until the first one, whose time is any. */
static int next_time(const mapdpm_stream *s, const int64_t *microseconds, int64_t *time)
{
    *time = s->now;
    if (s->clock == CLOCK_UNKNOWN)
        return MAPDPM_OK;
    if ((s->clock == CLOCK_POINTS && microseconds) || s->now >= INT64_MAX / 2)
        return MAPDPM_E_TIME;
    if (s->clock == CLOCK_POINTS) {
        *time = s->now + 1;
        return MAPDPM_OK;
    }
    if (microseconds)
        *time = *microseconds;
    return *time < s->now || *time > INT64_MAX / 2 ? MAPDPM_E_TIME : MAPDPM_OK;
}

int mapdpm_assess(mapdpm_stream *s, const md_real *x, const int64_t *microseconds, mapdpm_assessment *a)
{
    int64_t time, before;
    choice c;
    int error;

    if (is_none(s) || x == NULL || a == NULL || HAS_STATES(s) || HAS_GROUPS(s))
        return MAPDPM_E_ARGUMENT;
    error = stream_check_point(s, x);
    if (error == MAPDPM_OK)
        error = next_time(s, microseconds, &time);
    if (error != MAPDPM_OK)
        return error;
    stream_assess_nothing(a);
    if (IS_WARMING(s))
        return MAPDPM_OK;
    before = s->now;
    s->now = time;
    c = stream_choose(s, x, 1);
    stream_assess(s, &c, HAS_SURPRISE(s) ? surprise_rank(s, surprise_nats(s, x, &c)) : math_nan(), a);
    s->now = before;
    return MAPDPM_OK;
}

/* ==== filter.c ====================================================================================================== */

/* The filter of a learner of states in time (docs/maths.md, section 22): the most probable state of a point given the
 * points before, and what is then believed of all states.
 */

/* A state of less belief is left out of predictions; so is one so many nats below the best. Each of them changes a log
 * density by less than 3e-9. */
#define UNSEEN FLOAT_OR_DOUBLE(1e-9, 1e-12)
#define FAR_BELOW ((md_real)20)

/* Fill `p` with the probabilities of slots for the next point, given the belief. Returns that of a new state. */
CLONES
static md_real predict_states(const mapdpm_stream *s, md_real *restrict p)
{
    const md_real *const belief = belief_of(s);
    const uint32_t K = MD_SLOTS(s), width = padded_width(s);
    md_real opening = 0;
    uint32_t v, k;

    if (*state_id_of(s) == MD_NONE) {
        memcpy(p, steps_from(s, K), K * sizeof(md_real));
        return opening_of(s)[K];
    }
    memset(p, 0, K * sizeof(md_real));
    for (v = 0; v < s->width; v++) {
        const md_real *const steps = steps_from(s, v);

        if (!(belief[v] > UNSEEN))
            continue;
        for (k = 0; k < width; k++)
            p[k] += belief[v] * steps[k];
        opening += belief[v] * opening_of(s)[v];
    }
    return opening;
}

/* Bounds of the log densities of states `first` to first + n - 1 with their probabilities p, from their tails. */
CLONES
static void bound_states(const mapdpm_stream *s, uint32_t first, uint32_t n, const md_real *restrict p,
                         const md_real *restrict tails, md_real *restrict bounds)
{
    const md_real *const constants = constants_of(s) + first, *const exponents = exponents_of(s) + first;
    uint32_t j;

    if (IS_GAMMA(s))
        for (j = 0; j < n; j++)
            bounds[j] = constants[j] - exponents[j] * math_log_below(1 + tails[j]) + math_log_below(p[j]);
    else
        for (j = 0; j < n; j++)
            bounds[j] = constants[j] - tails[j] + math_log_below(p[j]);
}

/* Log densities of x in all states, by the score table: those of states whose bound is FAR_BELOW the score of one state
 * are -LARGEST_REAL. */
static void rate_by_score_table(const mapdpm_stream *s, const md_real *x, const md_real *p, md_real *densities)
{
    md_real tails[MD_BLOCK], bounds[MD_BLOCK], most = -LARGEST_REAL, least = -LARGEST_REAL, of_best = -LARGEST_REAL;
    uint32_t first, j, n, best = MD_NONE;

    for (first = 0; first < s->width; first += MD_BLOCK) {
        n = stream_bound_block(s, x, first, tails, bounds);
        for (j = 0; j < n; j++) {
            densities[first + j] = tails[j];
            if (bounds[j] > most) {
                most = bounds[j];
                best = first + j;
            }
        }
    }
    if (best != MD_NONE) {
        of_best = density_of_tail(s, x, best, densities[best]);
        least = of_best + math_log_below(p[best]) - (FAR_BELOW + MOST_BELOW);
    }
    for (first = 0; first < s->width; first += MD_BLOCK) {
        n = s->width - first < MD_BLOCK ? s->width - first : MD_BLOCK;
        bound_states(s, first, n, p + first, densities + first, bounds);
        for (j = 0; j < n; j++)
            if (first + j != best)
                densities[first + j] =
                    bounds[j] > least ? density_of_tail(s, x, first + j, densities[first + j]) : -LARGEST_REAL;
    }
    if (best != MD_NONE)
        densities[best] = of_best;
}

/* The same by moments at the current time. */
static void rate_by_moments(const mapdpm_stream *s, const md_real *x, md_real *densities, int *is_aged)
{
    uint32_t k;

    for (k = 0; k < s->width; k++) {
        const view v = view_of(s, k, s->now);
        const int is_there = is_used(s, k), is_heavy = !(v.decay * *v.moments < FORGOTTEN_WEIGHT);

        *is_aged |= is_there && !is_heavy;
        densities[k] = is_there && is_heavy ? density(s, v, x) : -LARGEST_REAL;
    }
}

/* The most probable state of x given all points before; state_scores becomes what each slot contributes to the
 * density. */
choice states_choose(const mapdpm_stream *s, const md_real *x, int with_density)
{
    choice c = {MD_NONE, MD_NONE, 0, 1, 0, 0, 0, 0};
    md_real *const p = state_scores(s), *const densities = smoothed_of(s);
    md_real top = -LARGEST_REAL, sum = 0, less = 1, opening = predict_states(s, p), bound, score;
    uint32_t k;

    if (is_prepared(s))
        rate_by_score_table(s, x, p, densities);
    else
        rate_by_moments(s, x, densities, &c.has_aged);
    for (k = 0; k < s->width; k++)
        top = densities[k] > top ? densities[k] : top;
    for (k = 0; k < s->width; k++)
        p[k] = densities[k] > -LARGEST_REAL ? p[k] * math_exp(densities[k] - top) : 0;
    for (k = 0; k < s->width; k++) {
        sum += p[k];
        if (p[k] > 0 && (c.best == MD_NONE || p[k] > p[c.best]))
            c.best = k;
    }
    score = stream_score_new(s, x, sum > 0 ? top + math_log_below(sum) - NEGLIGIBLE : -LARGEST_REAL, &bound);
    if (!(sum > 0)) {
        top = score;
        c.best = MD_NONE;
    } else if (score <= top) {
        opening = score < top - NEGLIGIBLE ? 0 : opening * math_exp(score - top);
    } else { /* p stays: what is believed of slots is not lost, however far the point is from them */
        less = math_exp(top - score);
        top = score;
    }
    c.opens = c.best == MD_NONE || opening > p[c.best] * less;
    if (with_density)
        c.density = top + math_log(sum * less + opening) + stream_unit_term(s, x);
    return c;
}

/* The scores of a choice become the belief. If none is a number, as after a forged snapshot, all of it is in
 * the chosen slot. */
void states_believe(const mapdpm_stream *s, uint32_t chosen, md_real *belief)
{
    const md_real *const scores = state_scores(s);
    md_real sum = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        sum += scores[k];
    memset(belief, 0, MD_SLOTS(s) * sizeof(md_real));
    belief[chosen] = 1;
    if (sum > 0) {
        const md_real each = 1 / sum;

        for (k = 0; k < s->width; k++)
            belief[k] = scores[k] * each;
    }
}

/* ==== split_merge.c ================================================================================================= */

/* Splits and merges that raise the log joint, and the policies that free a slot. */

/* The half of slot k for a point: the one with the nearer mean, in units of the variance within halves. While the
 * halves are small, the side of the cluster's mean in one feature decides: the widest feature, or each feature in
 * order. */
size_t stream_choose_half(const mapdpm_stream *s, uint32_t k, const md_real *x)
{
    const size_t D = MD_FEATURES(s);
    const md_real *const slot = slot_of(s, k), *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1);
    const md_real *const mean = mean_in(s, slot), *const squares = squares_in(s, slot);
    const uint32_t trial = trials_of(s)[k] >> 16;
    size_t d, widest = (trial >> 1) % D;
    md_real most = -1;

    if (*h0 >= LEAST_HALF && *h1 >= LEAST_HALF)
        return (size_t)is_nearer_to_second(s, slot, h0, h1, x);
    for (d = 0; d < D && trial % 2 == 0; d++) { /* every second trial takes the next feature instead */
        const md_real width = squares[d] / noise_scale_of(s)[d];

        if ((!HAS_MISSING(s) || is_present(x[d])) && width > most) {
            most = width;
            widest = d;
        }
    }
    return coordinate(s, x, widest) > mean[widest];
}

/* The halves of slot k become two clusters, the lighter one in the free slot e. Together they keep the weight of k. */
NOT_INLINED
static void split(mapdpm_stream *s, uint32_t k, uint32_t e)
{
    const size_t size = half_size(s), lighter = *half_of(s, k, 1) > *half_of(s, k, 0) ? 0 : 1;
    md_real *const light = half_of(s, k, lighter), *const heavy = half_of(s, k, 1 - lighter);
    md_real *const slot = slot_of(s, k);
    const md_real low = low_part(slot, size), share = *light / (*light + *heavy);
    const md_real rest = *slot, part = whole_points(s, rest * share);

    moments_scale(s, light, 0, part / *light);
    moments_scale(s, heavy, 0, (rest - part) / *heavy);
    *light = part;

    stream_open_slot(s, e);
    ids_of(s)[e] = s->next_id++;
    if (IS_GROUPED(s))
        groups_split(s, k, e, lighter, share);
    memcpy(slot_of(s, e), light, size * sizeof(md_real));
    memcpy(slot, heavy, size * sizeof(md_real));
    if (COMPENSATED)
        memset(slot + size, 0, size * sizeof(md_real));
    *slot = rest;
    if (COMPENSATED)
        slot[size] = low;
    add_compensated(slot, size, -part);
    if (HAS_BASE(s))
        base_split(s, k, e, share);
    if (IS_TIMED(s))
        states_split(s, k, e, lighter, share);
    last_seen_of(s)[e] = last_seen_of(s)[k];
    stream_clear_halves(s, k);
    trials_of(s)[k] = 0;
    merge_partner_of(s)[k] = MD_NONE;
    stream_relabel_window(s, ids_of(s)[k], MD_NONE);
    stream_record(s, MAPDPM_SPLIT, ids_of(s)[k], ids_of(s)[e]);
    stream_refresh(s, k);
    stream_refresh(s, e);
    if (HAS_SURPRISE(s))
        surprise_split(s, k, e, share);
    if (IS_GROUPED(s)) {
        groups_recount(s, k);
        groups_recount(s, e);
        groups_total(s);
    }
}

/* The gain of splitting slot k if its halves stood for the whole cluster, or for as much of it as they may stand for.
 * If an upper bound is too little already, the bound. */
NOT_INLINED
static md_real split_gain(const mapdpm_stream *s, uint32_t k)
{
    view v0 = half_view(s, k, 0), v1 = half_view(s, k, 1);
    const md_real n = *v0.moments + *v1.moments, all = *slot_of(s, k), most = EXTRAPOLATION * n;
    const md_real scale = (all < most ? all : most) / n;

    if (scale > 1 && n >= LARGE_HALF)
        v0.decay = v1.decay = scale;
    if (IS_TIMED(s))
        return states_split_gain(s, k, v0.decay) - merge_data_gain(s, v0, v1);
    if (IS_GROUPED(s)) { /* the exact gain takes several logarithms a group */
        const md_real gain = -merge_data_gain(s, v0, v1) - least_groups_gain(s, v0, v1);

        if (gain <= HYSTERESIS)
            return gain;
    }
    return -merge_gain(s, v0, v1);
}

/* ---- merging, and freeing a slot --------------------------------------------------------------------------------- */

static md_real pair_gain(const mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const view va = view_of(s, a, s->now), vb = view_of(s, b, s->now);

    return IS_TIMED(s) ? merge_data_gain(s, va, vb) + states_merge_gain(s, a, b) : merge_gain(s, va, vb);
}

/* Whether the merge of slots a and b raises the log joint. Remembers the cheapest partner that a has met. */
static int should_merge(mapdpm_stream *s, uint32_t a, uint32_t b)
{
    md_real gain;

    if (merge_surely_loses(s, view_of(s, a, s->now), view_of(s, b, s->now)))
        return 0;
    gain = pair_gain(s, a, b);
    if (merge_partner_of(s)[a] == MD_NONE || merge_partner_of(s)[a] == b || -gain < *merge_loss_of(s, a)) {
        merge_partner_of(s)[a] = b;
        *merge_loss_of(s, a) = -gain;
    }
    return gain > HYSTERESIS;
}

/* Merge slot b into slot k if that raises the log joint. */
void stream_try_merge(mapdpm_stream *s, uint32_t k, uint32_t b)
{
    if (b != MD_NONE && b != k && is_used(s, b) && should_merge(s, k, b)) {
        stream_apply_decay(s, b);
        stream_merge(s, k, b);
    }
}

/* The lightest slot and its cheapest merge partner, which is cached. Returns whether there are two slots. For clusters
 * that have met no other. */
static int lightest_pair(mapdpm_stream *s, uint32_t spared, uint32_t *to, uint32_t *from)
{
    uint32_t k, lightest = MD_NONE;
    int found = 0;

    for (k = 0; k < s->width; k++)
        if (k != spared && is_used(s, k) && (lightest == MD_NONE || *slot_of(s, k) < *slot_of(s, lightest)))
            lightest = k;
    for (k = 0; k < s->width && lightest != MD_NONE; k++)
        if (k != spared && k != lightest && is_used(s, k)) {
            const md_real gain = pair_gain(s, lightest, k);

            if (!found || -gain < *merge_loss_of(s, lightest)) {
                merge_partner_of(s)[lightest] = k;
                *merge_loss_of(s, lightest) = -gain;
                *to = lightest;
                *from = k;
                found = 1;
            }
        }
    return found;
}

/* The slot whose cached merge costs least, its partner, and the recomputed loss. Slot `spared` is left out. Returns
 * whether there is a pair. */
static int cheapest_pair(mapdpm_stream *s, uint32_t spared, uint32_t *to, uint32_t *from, md_real *loss)
{
    uint32_t k;
    int found = 0;

    for (k = 0; k < MD_SLOTS(s); k++) {
        const uint32_t b = merge_partner_of(s)[k];

        if (k != spared && b != spared && is_used(s, k) && b != MD_NONE && b != k && is_used(s, b) &&
            (!found || *merge_loss_of(s, k) < *merge_loss_of(s, *to))) {
            *to = k;
            *from = b;
            found = 1;
        }
    }
    if (!found && WHEN_FULL(s) == MAPDPM_FULL_MERGE)
        found = lightest_pair(s, spared, to, from);
    if (found) {
        *loss = -pair_gain(s, *to, *from);
        *merge_loss_of(s, *to) = *loss;
    }
    return found;
}

/* The slot whose eviction costs least, and its loss. Ties within TIE_NATS, as between single points, go to the cluster
 * unseen for longest. For a split, no state goes that points wait for. */
NOT_INLINED
static uint32_t cheapest_eviction(const mapdpm_stream *s, uint32_t spared, md_real *loss)
{
    const md_real total_weight = stream_total_weight(s) + s->alpha, prior_term = log_prior(s);
    uint32_t k, best = MD_NONE, longest = 0;

    for (k = 0; k < s->width; k++)
        if (k != spared && is_used(s, k) && !(IS_TIMED(s) && spared != MD_NONE && states_expect(s, k))) {
            const uint32_t idle = (uint32_t)s->n_seen - last_seen_of(s)[k];
            const md_real cost = eviction_loss(s, view_of(s, k, s->now), prior_term, (md_real)idle, total_weight);

            if (best == MD_NONE || cost < *loss - TIE_NATS || (cost <= *loss + TIE_NATS && idle > longest)) {
                best = k;
                *loss = cost;
                longest = idle;
            }
        }
    return best;
}

/* Free a slot by the policy if that costs less than `gain`. Returns MD_NONE if it costs more or the policy refuses. */
uint32_t stream_make_room(mapdpm_stream *s, uint32_t spared, md_real gain)
{
    md_real merging = 0, evicting = 0;
    uint32_t to = 0, from = 0, victim = MD_NONE;
    int is_pair = 0;

    if (WHEN_FULL(s) == MAPDPM_FULL_REFUSE || WHEN_FULL(s) == MAPDPM_FULL_ERROR)
        return MD_NONE;
    if (WHEN_FULL(s) != MAPDPM_FULL_EVICT)
        is_pair = cheapest_pair(s, spared, &to, &from, &merging);
    if (WHEN_FULL(s) != MAPDPM_FULL_MERGE)
        victim = cheapest_eviction(s, spared, &evicting);
    if (is_pair && (victim == MD_NONE || merging <= evicting)) {
        if (!(merging < gain))
            return MD_NONE;
        stream_apply_decay(s, to);
        stream_apply_decay(s, from);
        stream_merge(s, to, from);
        return from;
    }
    if (victim == MD_NONE || !(evicting < gain))
        return MD_NONE;
    stream_remove(s, victim, MAPDPM_EVICTED);
    if (IS_GROUPED(s))
        groups_total(s);
    return victim;
}

/* The gain of a split of slot k beyond what it must gain; below 0 if it has no two halves. */
md_real stream_gain_of_split(const mapdpm_stream *s, uint32_t k)
{
    const md_real n0 = *half_of(s, k, 0), n1 = *half_of(s, k, 1);

    if (!MD_SPLITS || !(n0 >= LEAST_HALF && n1 >= LEAST_HALF))
        return -1;
    if (!(*slot_of(s, k) * ((n0 < n1 ? n0 : n1) / (n0 + n1)) >= 1)) /* a window has removed too much */
        return -1;
    return split_gain(s, k) - HYSTERESIS - math_log(*slot_of(s, k));
}

/* Split slot k if that raises the log joint by more than the cost of freeing a slot for it. Returns the slot of half
 * h. */
uint32_t stream_try_split(mapdpm_stream *s, uint32_t k, size_t h)
{
    const md_real n0 = *half_of(s, k, 0), n1 = *half_of(s, k, 1);
    const uint32_t trial = trials_of(s)[k] >> 16;
    md_real gain;

    if (!MD_SPLITS) { /* halves from a snapshot of another library would be out of date when one goes back */
        stream_clear_halves(s, k);
        trials_of(s)[k] = trial << 16;
        return k;
    }
    if (!(n0 >= LEAST_HALF && n1 >= LEAST_HALF) || s->next_id == MD_NONE)
        return k;
    gain = stream_gain_of_split(s, k);
    if (gain > 0) {
        const size_t lighter = n1 > n0 ? 0 : 1;
        const uint32_t e = s->n_clusters < MD_SLOTS(s) ? stream_free_slot(s) : stream_make_room(s, k, gain);

        if (e != MD_NONE) {
            split(s, k, e);
            return h == lighter ? e : k;
        }
    }
    if ((trials_of(s)[k] & 0xffffu) >= (TRIAL_LENGTH << (trial < DOUBLINGS ? trial : DOUBLINGS))) {
        stream_clear_halves(s, k);
        trials_of(s)[k] = (trial + 1) << 16;
    }
    return k;
}

/* ==== window.c ====================================================================================================== */

/* Points that are visited again, so that they move to the cluster where they now belong: the last points, which the
 * learner keeps, one a step; or points that the caller keeps.
 */

/* Rename the cluster of kept points. With MD_NONE their cluster is unknown, and they are not visited any more. */
void stream_relabel_window(mapdpm_stream *s, uint32_t from, uint32_t to)
{
    uint32_t *const ids = window_ids_of(s);
    size_t i;

    for (i = 0; i < MD_WINDOW(s); i++)
        if (ids[i] == from)
            ids[i] = to;
}

static uint32_t slot_of_id(const mapdpm_stream *s, uint32_t id)
{
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k) && ids_of(s)[k] == id)
            return k;
    return MD_NONE;
}

/* Add a point of the current group to a slot that is up to date; a weight below 0 removes it. */
static void add_to_slot(mapdpm_stream *s, uint32_t k, const md_real *x, md_real weight)
{
    moments_add(s, slot_of(s, k), half_size(s), x, weight);
    if (HAS_BASE(s))
        base_add(s, k, x, weight);
    if (IS_GROUPED(s)) {
        groups_add(s, k, *row_of(s), weight);
        groups_recount(s, k);
        groups_total(s);
    }
    stream_refresh(s, k);
}

/* Take a point of the current group, learned at `time`, out of its cluster, and let it choose among the existing
 * clusters. Returns the id of its new cluster. */
static uint32_t revisit_point(mapdpm_stream *s, const md_real *x, int64_t time, uint32_t id)
{
    const md_real weight = FORGETS(s) ? math_exp(-to_real((uint64_t)(s->now - time)) * s->rate) : 1;
    const uint32_t k = slot_of_id(s, id);
    choice c;

    if (k == MD_NONE || !(*slot_of(s, k) * decay_of(s, k, s->now) > weight + FORGOTTEN_WEIGHT) || !(weight > 0))
        return id;
    stream_apply_decay(s, k);
    add_to_slot(s, k, x, -weight);
    c = stream_choose(s, x, 0);
    if (c.best == MD_NONE || c.opens)
        c.best = k;
    stream_apply_decay(s, c.best);
    add_to_slot(s, c.best, x, weight);
    return ids_of(s)[c.best];
}

/* Keep the point just learned in place of the oldest one, and visit the next kept point. */
void stream_revisit(mapdpm_stream *s, const md_real *x, uint32_t id)
{
    const size_t i = modulo(s->n_seen - 1, MD_WINDOW(s));

    memcpy(points_of(s) + i * MD_FEATURES(s), x, MD_FEATURES(s) * sizeof(md_real));
    times_of(s)[i] = s->now;
    window_ids_of(s)[i] = id;
    s->visited = s->visited + 1 < MD_WINDOW(s) ? s->visited + 1 : 0;
    if (HAS_GROUPS(s)) {
        point_rows_of(s)[i] = *row_of(s);
        *row_of(s) = point_rows_of(s)[s->visited];
    }
    if (window_ids_of(s)[s->visited] != MD_NONE && s->visited != i)
        window_ids_of(s)[s->visited] = revisit_point(s, points_of(s) + s->visited * MD_FEATURES(s),
                                                     times_of(s)[s->visited], window_ids_of(s)[s->visited]);
    if (HAS_GROUPS(s))
        *row_of(s) = point_rows_of(s)[i];
}

/* ---- windows that the caller keeps ------------------------------------------------------------------------------- */

int mapdpm_follow(const mapdpm_stream *s, uint64_t *event, uint32_t *ids, size_t n)
{
    size_t i;

    if (is_none(s) || event == NULL || (ids == NULL && n > 0) || *event > mapdpm_n_events(s))
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_OK;
    if (s->n_events - *event > RING_SIZE(s)) {
        for (i = 0; i < n; i++)
            ids[i] = MD_NONE;
        *event = s->n_events;
    }
    while (*event < s->n_events) {
        const uint32_t *const e = event_of(s, *event);

        for (i = 0; i < n && e[0] != MAPDPM_CREATED && e[0] != MAPDPM_PRIOR; i++)
            if (ids[i] == e[1])
                ids[i] = e[0] == MAPDPM_MERGED ? e[2] : MD_NONE;
        ++*event;
    }
    return MAPDPM_OK;
}

int mapdpm_resweep(mapdpm_stream *s, const md_real *x, const int64_t *times, uint32_t *ids, size_t n, size_t *moved)
{
    size_t i;
    int error = MAPDPM_OK;

    if (is_none(s) || HAS_STATES(s) || moved == NULL || (n > 0 && (x == NULL || ids == NULL)) ||
        (FORGETS(s) && times == NULL && n > 0))
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    if (HAS_GROUPS(s) && *row_of(s) == MD_NONE)
        return MAPDPM_E_GROUP;
    *moved = 0;
    for (i = 0; i < n && error == MAPDPM_OK; i++) {
        error = stream_check_point(s, x + i * MD_FEATURES(s));
        if (FORGETS(s) && (times[i] > s->now || times[i] < -(INT64_MAX / 2)))
            error = MAPDPM_E_TIME;
    }
    for (i = 0; i < n && error == MAPDPM_OK; i++)
        if (ids[i] != MD_NONE) {
            const uint32_t id = revisit_point(s, x + i * MD_FEATURES(s), FORGETS(s) ? times[i] : 0, ids[i]);

            *moved += id != ids[i];
            ids[i] = id;
        }
    return error;
}

/* ==== warmup.c ====================================================================================================== */

/* MAP-DPM on the points of the warm-up under a given prior, in small steps: a sequential start; then sweeps until no point
 * moves, merges and splits, in turn. settle.c sets the priors.
 *
 * A step takes O((warm-up + K) D) time.
 */

enum { SWEEPS = 10, STARTS = 3 };

/* The bit in the label of a point that marks the second half, while its cluster is being divided. */
#define SECOND_HALF UINT32_C(0x80000000)

const md_real *warmup_point(const mapdpm_stream *s, size_t i)
{
    return points_of(s) + i * MD_FEATURES(s);
}

void warmup_add_point(mapdpm_stream *s, size_t i, uint32_t k, md_real weight)
{
    moments_add(s, slot_of(s, k), half_size(s), warmup_point(s, i), weight);
    stream_refresh(s, k);
}

/* Put point i where it belongs: into a free slot if it opens a cluster and a slot is free. */
static void assign(mapdpm_stream *s, size_t i)
{
    const choice c = stream_choose(s, warmup_point(s, i), 0);
    uint32_t k = c.best;

    if (c.opens && s->n_clusters < MD_SLOTS(s)) {
        k = stream_free_slot(s);
        stream_open_slot(s, k);
    }
    warmup_add_point(s, i, k, 1);
    warmup_labels_of(s)[i] = k;
}

static void remove_warmup_point(mapdpm_stream *s, size_t i)
{
    const uint32_t k = warmup_labels_of(s)[i];

    if (*slot_of(s, k) > (md_real)1.5) {
        warmup_add_point(s, i, k, -1);
    } else {
        stream_clear_slot(s, k);
        s->n_clusters--;
    }
}

/* Try the merges of a slot with those behind it; keep the best. */
static void look_for_merge(const mapdpm_stream *s, settling *z)
{
    uint32_t b;

    for (b = z->k + 1; b < s->width; b++)
        if (is_used(s, z->k) && is_used(s, b)) {
            const md_real gain = merge_gain(s, view_of(s, z->k, s->now), view_of(s, b, s->now));

            if (gain > z->gain) {
                z->gain = gain;
                z->to = z->k;
                z->from = b;
            }
        }
    z->k++;
}

static void merge_pair(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    size_t i;

    moments_merge(s, slot_of(s, to), slot_of(s, from), half_size(s));
    stream_clear_slot(s, from);
    s->n_clusters--;
    stream_refresh(s, to);
    for (i = 0; i < MD_WARMUP(s); i++)
        if (warmup_labels_of(s)[i] == from)
            warmup_labels_of(s)[i] = to;
}

/* Divide the members of slot k between its halves again, by the nearer mean in units of the variance within halves.
 * Returns whether any moved. */
static int reassign_halves(mapdpm_stream *s, uint32_t k)
{
    uint32_t *const labels = warmup_labels_of(s);
    const md_real *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1), *const slot = slot_of(s, k);
    size_t i;
    int moved = 0;

    for (i = 0; i < MD_WARMUP(s); i++) {
        uint32_t side;

        if ((labels[i] & ~SECOND_HALF) != k)
            continue;
        side = is_nearer_to_second(s, slot, h0, h1, warmup_point(s, i)) ? SECOND_HALF : 0;
        moved |= side != (labels[i] & SECOND_HALF);
        labels[i] = k | side;
    }
    return moved;
}

static void rebuild_halves(mapdpm_stream *s, uint32_t k)
{
    size_t i;

    memset(half_of(s, k, 0), 0, 2 * half_size(s) * sizeof(md_real));
    for (i = 0; i < MD_WARMUP(s); i++)
        if ((warmup_labels_of(s)[i] & ~SECOND_HALF) == k)
            moments_add(s, half_of(s, k, warmup_labels_of(s)[i] & SECOND_HALF ? 1 : 0), 0, warmup_point(s, i), 1);
}

/* A first division: by the side of the mean in the widest feature, in units of the prior, after the `skip` widest
 * ones. */
static void halve_by_feature(mapdpm_stream *s, uint32_t k, size_t skip)
{
    const size_t D = MD_FEATURES(s);
    const md_real *const mean = mean_in(s, slot_of(s, k)), *const squares = squares_in(s, slot_of(s, k));
    md_real before = -1;
    size_t i, d, widest = 0, round;

    for (round = 0; round <= skip; round++) {
        md_real most = -1;

        for (d = 0; d < D; d++) {
            const md_real width = squares[d] / noise_scale_of(s)[d];

            if (width > most && (before < 0 || width < before)) {
                most = width;
                widest = d;
            }
        }
        before = most;
    }
    for (i = 0; i < MD_WARMUP(s); i++)
        if ((warmup_labels_of(s)[i] & ~SECOND_HALF) == k)
            warmup_labels_of(s)[i] = k | (coordinate(s, warmup_point(s, i), widest) > mean[widest] ? SECOND_HALF : 0);
}

static int has_two_halves(const mapdpm_stream *s, uint32_t k)
{
    return *half_of(s, k, 0) > 0 && *half_of(s, k, 1) > 0;
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

enum { AT_START, AT_SWEEP, AT_MERGE, AT_CHOICE, AT_DIVISION, AT_SPLIT };

static void go_to(settling *z, uint32_t step)
{
    z->step = step;
    z->i = z->k = z->moved = 0;
    z->gain = 0;
}

/* The merges are over, or one is done: look for the next. */
static void step_of_merges(mapdpm_stream *s, settling *z)
{
    if (z->k < s->width) {
        look_for_merge(s, z);
    } else if (z->gain > 0) {
        merge_pair(s, z->to, z->from);
        z->changed = 1;
        go_to(z, AT_MERGE);
    } else {
        go_to(z, AT_CHOICE);
    }
}

/* Choose the next slot to divide. Returns 0 if the points are clustered. */
static int step_of_choice(mapdpm_stream *s, settling *z)
{
    while (z->k < MD_SLOTS(s) && s->n_clusters < MD_SLOTS(s) && !(is_used(s, z->k) && *slot_of(s, z->k) >= 2))
        z->k++;
    if (z->k < MD_SLOTS(s) && s->n_clusters < MD_SLOTS(s)) {
        z->start = z->i = 0;
        z->step = AT_DIVISION;
        halve_by_feature(s, z->k, 0);
        rebuild_halves(s, z->k);
        return 1;
    }
    z->pass++;
    z->sweep = 0;
    go_to(z, AT_SWEEP);
    return z->pass < SWEEPS && z->changed;
}

/* Improve the division of slot k once; when that is done, split it, or divide it in another way, or leave it. */
static void step_of_division(mapdpm_stream *s, settling *z)
{
    const uint32_t k = z->k;
    size_t i;

    if (z->i < SWEEPS && has_two_halves(s, k) && reassign_halves(s, k)) {
        rebuild_halves(s, k);
        z->i++;
        return;
    }
    z->i = 0;
    if (has_two_halves(s, k) && -merge_gain(s, half_view(s, k, 0), half_view(s, k, 1)) > 0) {
        z->to = stream_free_slot(s);
        stream_open_slot(s, z->to);
        z->step = AT_SPLIT;
        return;
    }
    z->start++;
    if (z->start < STARTS && z->start < MD_FEATURES(s)) {
        halve_by_feature(s, k, z->start);
        rebuild_halves(s, k);
        return;
    }
    for (i = 0; i < MD_WARMUP(s); i++)
        warmup_labels_of(s)[i] &= ~SECOND_HALF;
    z->k++;
    z->step = AT_CHOICE;
}

/* Move a point of the second half into its new slot; after the last one, go on with the next slot. */
static void step_of_split(mapdpm_stream *s, settling *z)
{
    if (warmup_labels_of(s)[z->i] == (z->k | SECOND_HALF)) {
        warmup_add_point(s, z->i, z->k, -1);
        warmup_add_point(s, z->i, z->to, 1);
        warmup_labels_of(s)[z->i] = z->to;
    }
    z->i++;
    if (z->i < MD_WARMUP(s))
        return;
    memset(half_of(s, z->k, 0), 0, 2 * half_size(s) * sizeof(md_real));
    z->changed = 1;
    z->k++;
    z->step = AT_CHOICE;
}

/* A point takes its cluster anew. */
static void step_of_sweep(mapdpm_stream *s, settling *z)
{
    const uint32_t before = warmup_labels_of(s)[z->i];

    remove_warmup_point(s, z->i);
    assign(s, z->i);
    z->moved |= warmup_labels_of(s)[z->i] != before;
    z->i++;
    if (z->i < MD_WARMUP(s))
        return;
    z->sweep++;
    z->changed = 0;
    go_to(z, z->sweep < SWEEPS && z->moved ? AT_SWEEP : AT_MERGE);
}

void warmup_begin(settling *z)
{
    z->pass = z->sweep = 0;
    go_to(z, AT_START);
}

int warmup_step(mapdpm_stream *s, settling *z)
{
    switch (z->step) {
    case AT_START:
        assign(s, z->i);
        z->i++;
        if (z->i == MD_WARMUP(s))
            go_to(z, AT_SWEEP);
        return 1;
    case AT_SWEEP:
        step_of_sweep(s, z);
        return 1;
    case AT_MERGE:
        step_of_merges(s, z);
        return 1;
    case AT_CHOICE:
        return step_of_choice(s, z);
    case AT_DIVISION:
        step_of_division(s, z);
        return 1;
    default:
        step_of_split(s, z);
        return 1;
    }
}

/* ==== settle.c ====================================================================================================== */

/* The end of the warm-up in small steps: set the prior by the variance within clusters, cluster the points (warmup.c), try
 * the next guess; last, create the clusters of the best one.
 */

enum { ROUNDS = 2, N_SHARES = 4, N_SHAPES = 3, LAST_TRIAL = N_SHARES + N_SHAPES };

/* Beyond the steps of warmup.c, in the same field. */
enum { AT_PRIOR = 16, AT_CREATION = 17 };

/* The mean and the variance of a feature over the warm-up. They start from the first value, so that an offset costs no
 * digits. A constant feature has no scale and gets variance 1. */
static void mean_and_variance(const mapdpm_stream *s, size_t d, md_real *mean, md_real *variance)
{
    md_real first = 0, sum = 0, squares = 0, n = 0;
    size_t i;

    for (i = 0; i < MD_WARMUP(s); i++) {
        const md_real x = warmup_point(s, i)[d];

        if (!is_present(x))
            continue;
        if (n == 0)
            first = x;
        n += 1;
        sum += x - first;
    }
    *mean = n > 0 ? sum / n : 0;
    for (i = 0; i < MD_WARMUP(s); i++)
        if (is_present(warmup_point(s, i)[d])) {
            const md_real t = (warmup_point(s, i)[d] - first) - *mean;

            squares += t * t;
        }
    *mean += first;
    *variance = n > 0 ? squares / n : 0;
    if (!(*variance > LEAST_VARIANCE))
        *variance = 1;
}

static void clear_all(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        stream_clear_slot(s, k);
    s->n_clusters = 0;
}

/* b0 from the pooled variance within the clusters found, so that the guess has no influence. */
static void learn_prior(mapdpm_stream *s, md_real *parameters, md_real a0)
{
    const size_t D = MD_FEATURES(s);
    size_t d;
    uint32_t k;

    for (d = 0; d < D; d++) {
        md_real squares = 0, n = 0, mean, variance;

        for (k = 0; k < MD_SLOTS(s); k++)
            if (is_used(s, k)) {
                const md_real points = counts_in(s, slot_of(s, k))[d * count_step(s)];

                squares += squares_in(s, slot_of(s, k))[d] / unit_of(s)[d] / unit_of(s)[d];
                n += points > 1 ? points - 1 : 0;
            }
        mean_and_variance(s, d, &mean, &variance);
        squares = n > 0 ? squares / n : variance;
        parameters[D + 2 + d] = a0 * (squares > LEAST_SHARE * variance ? squares : LEAST_SHARE * variance);
    }
}

/* The log joint of the kept points and their clusters, in the user's units. */
static md_real log_joint(const mapdpm_stream *s)
{
    const md_real prior_term = log_prior(s);
    md_real total = (md_real)MD_WARMUP(s) * s->log_units, unused;
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        if (is_used(s, k))
            total += log_joint_term(s, view_of(s, k, s->now), prior_term, &unused) + s->log_alpha;
    return total;
}

/* The prior of a round: a guess of the variance within clusters, then the variance found. */
static int set_prior(mapdpm_stream *s, const settling *z)
{
    const size_t D = MD_FEATURES(s);
    md_real *const parameters = half_of(s, 0, 0); /* memory that a warm-up does not use */
    size_t d;

    if (z->round > 0)
        learn_prior(s, parameters, z->shape);
    for (d = 0; d < D; d++) {
        md_real variance;

        mean_and_variance(s, d, &parameters[d], &variance);
        if (z->round == 0)
            parameters[D + 2 + d] = z->share * z->shape * variance;
    }
    for (d = 0; d < D; d++)
        if (!(parameters[D + 2 + d] >= LEAST_VARIANCE))
            parameters[D + 2 + d] = LEAST_VARIANCE;
        else if (parameters[D + 2 + d] > MOST_VARIANCE)
            parameters[D + 2 + d] = MOST_VARIANCE;
    parameters[D] = EMPIRICAL_POINTS / (md_real)MD_WARMUP(s);
    parameters[D + 1] = z->shape;
    return stream_set_prior(s, parameters);
}

/* Begin trial z->trial: a share of the variance, then a shape with the best share, last the best of both. The shapes end
 * with the first that is no better. */
static void begin_trial(settling *z)
{
    static const md_real shares[N_SHARES] = {(md_real)1, (md_real)0.1, (md_real)0.01, (md_real)0.001};
    static const md_real shapes[N_SHAPES] = {2, 4, 8};

    if (z->trial > N_SHARES && z->best_shape != z->shape)
        z->trial = LAST_TRIAL;
    z->shape = z->trial < N_SHARES ? 1 : z->best_shape;
    z->share = z->trial < N_SHARES ? shares[z->trial] : z->best_share;
    if (z->trial >= N_SHARES && z->trial < LAST_TRIAL)
        z->shape = shapes[z->trial - N_SHARES];
    z->round = 0;
    z->step = AT_PRIOR;
}

/* A round is over: begin the next, or the next trial, or create the clusters. */
static void end_round(mapdpm_stream *s, settling *z)
{
    uint32_t k;

    z->round++;
    z->step = AT_PRIOR;
    if (z->round <= ROUNDS)
        return;
    if (z->trial < LAST_TRIAL) {
        const md_real joint = log_joint(s);

        if (z->trial == 0 || joint > z->most) {
            z->most = joint;
            z->best_share = z->share;
            z->best_shape = z->shape;
        }
        z->trial++;
        begin_trial(z);
        return;
    }
    for (k = 0; k < MD_SLOTS(s); k++)
        ids_of(s)[k] = MD_NONE;
    clear_all(s);
    z->i = 0;
    z->step = AT_CREATION;
}

/* Put a point into its cluster for good. Clusters get ids in order of appearance, and weights as if each point had been
 * learned when it came. */
static void create(mapdpm_stream *s, size_t i)
{
    uint32_t *const label = warmup_labels_of(s) + i;
    const uint32_t k = *label;
    const md_real age = to_real((uint64_t)(s->now - times_of(s)[i]));
    const md_real weight = FORGETS(s) ? math_exp(-age * s->rate) : 1;

    if (!(weight > 0)) { /* forgotten before the warm-up ended */
        *label = MD_NONE;
        return;
    }
    if (ids_of(s)[k] == MD_NONE) {
        stream_open_slot(s, k);
        ids_of(s)[k] = s->next_id++;
        stream_record(s, MAPDPM_CREATED, ids_of(s)[k], 0);
    }
    warmup_add_point(s, i, k, weight);
    if (HAS_SURPRISE(s))
        standing_of(s)[k]++;
    if (HAS_GROUPS(s))
        groups_add(s, k, point_rows_of(s)[i], weight);
    *label = ids_of(s)[k];
    last_times_of(s)[k] = s->now;
    last_seen_of(s)[k] = (uint32_t)(i + 1);
}

/* All clusters are there. */
static void begin_learning(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; HAS_BASE(s) && k < s->width; k++)
        base_none(s, k);
    if (HAS_SURPRISE(s))
        surprise_judge_all(s);
    if (HAS_GROUPS(s))
        groups_settle(s);
    if (HAS_STATES(s))
        states_begin(s);
}

void settle_begin(settling *z)
{
    memset(z, 0, sizeof *z);
    begin_trial(z);
}

int settle_step(mapdpm_stream *s, settling *z)
{
    int error;

    if (z->step == AT_PRIOR) {
        error = set_prior(s, z);
        if (error != MAPDPM_OK)
            return error;
        clear_all(s);
        warmup_begin(z);
        return 1;
    }
    if (z->step != AT_CREATION) {
        if (!warmup_step(s, z))
            end_round(s, z);
        return 1;
    }
    s->warming = 0; /* the steps that learning takes, too */
    create(s, z->i);
    z->i++;
    if (z->i == MD_WARMUP(s)) {
        begin_learning(s);
        return 0;
    }
    s->warming = 1;
    return 1;
}

/* ==== queue.c ======================================================================================================= */

/* Points that wait while the end of a warm-up is settled in steps. They are learned in their order, so that the learner
 * gets the same bits as one that settles at once.
 */

uint32_t mapdpm_n_queued(const mapdpm_stream *s)
{
    return is_none(s) || MD_QUEUE(s) == 0 ? 0 : *queue_length(s);
}

/* The place of the i-th point that waits. */
static uint32_t place_of(const mapdpm_stream *s, uint32_t i)
{
    const uint32_t place = *queue_first(s) + i;

    return place < MD_QUEUE(s) ? place : place - MD_QUEUE(s);
}

/* The time of the last point that came. */
int64_t queue_latest(const mapdpm_stream *s)
{
    return mapdpm_n_queued(s) > 0 ? queue_times(s)[place_of(s, *queue_length(s) - 1)] : s->now;
}

/* Put a point into the queue. */
int queue_add(mapdpm_stream *s, const md_real *x, int64_t now)
{
    const uint32_t place = place_of(s, *queue_length(s));

    if (*queue_length(s) == MD_QUEUE(s))
        return MAPDPM_E_WARMING;
    memcpy(queue_points(s) + (size_t)place * MD_FEATURES(s), x, MD_FEATURES(s) * sizeof(md_real));
    queue_times(s)[place] = now;
    queue_groups(s)[place] = HAS_GROUPS(s) ? *group_of(s) : MD_NONE;
    ++*queue_length(s);
    return MAPDPM_OK;
}

/* Take the first point from the queue and learn it, in its group. */
static int learn_first(mapdpm_stream *s)
{
    const uint32_t place = *queue_first(s);
    const uint32_t group = HAS_GROUPS(s) ? *group_of(s) : MD_NONE;
    const md_real *const x = queue_points(s) + (size_t)place * MD_FEATURES(s);
    const int64_t time = s->clock == CLOCK_MICROSECONDS ? queue_times(s)[place] : s->now + 1;
    uint32_t id;
    int error;

    *queue_first(s) = place_of(s, 1);
    --*queue_length(s);
    if (HAS_GROUPS(s))
        (void)mapdpm_set_group(s, queue_groups(s)[place]);
    error = stream_learn(s, x, time, &id, NULL, NULL);
    if (HAS_GROUPS(s))
        (void)mapdpm_set_group(s, group);
    return error;
}

int mapdpm_settle_step(mapdpm_stream *s)
{
    int more;

    if (is_none(s))
        return MAPDPM_E_ARGUMENT;
    if (!has_queue_to_do(s))
        return 0;
    if (is_settling(s)) {
        more = settle_step(s, settling_of(s));
        if (more < 0)
            return more;
        if (more == 0)
            stream_settled(s);
    } else {
        const int error = learn_first(s);

        if (error != MAPDPM_OK)
            return error;
    }
    return has_queue_to_do(s);
}

int mapdpm_settle_all(mapdpm_stream *s)
{
    int error = MAPDPM_OK;

    if (is_none(s))
        return MAPDPM_E_ARGUMENT;
    while (has_queue_to_do(s)) {
        const int more = mapdpm_settle_step(s);

        if (more < 0 && error == MAPDPM_OK)
            error = more;
        if (more < 0 && is_settling(s)) /* the clusters cannot be found */
            return error;
    }
    s->bytes -= (uint32_t)queue_bytes(s); /* it comes last */
    s->queue = 0;
    return error;
}

/* ==== prior.c ======================================================================================================= */

/* The prior that the warm-up set is revisited: b0 follows the variance within the learner's own clusters, and c0 the
 * spread of their means, where that raises the log joint (docs/maths.md, section 31). One call takes O(K D) steps.
 */

/* The cells of K clusters and D features that the first c0 counts for, and the least c0 as a share of it. */
#define PRIOR_CELLS ((md_real)2)
#define LEAST_C0 ((md_real)0.2)

/* The prior changes if the log joint gains so many nats for each number that was learned: less is not worth another
 * clustering. */
#define LEAST_GAIN ((md_real)0.1)

/* Where b0 comes from: the moments of clusters, or those of their halves, where there are two. */
enum { FROM_CLUSTERS = 0, FROM_HALVES = 1 };

/* The sum of squares of a feature about the grand mean, and about the means of clusters or halves; and the degrees of
 * freedom of the second. */
typedef struct {
    md_real total;
    md_real points;
    md_real within;
    md_real degrees;
} feature_spread;

static void add_within(const mapdpm_stream *s, feature_spread *f, const md_real *moments, md_real decay, size_t d)
{
    f->within += squares_in(s, moments)[d] * decay;
    f->degrees += at_least(counts_in(s, moments)[d * count_step(s)] * decay - 1, 0);
}

static feature_spread spread_of(const mapdpm_stream *s, size_t d, int source)
{
    feature_spread f = {0, 0, 0, 0};
    md_real sum = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            const md_real decay = decay_of(s, k, s->now), n = counts_in(s, slot_of(s, k))[d * count_step(s)] * decay;

            f.points += n;
            sum += n * mean_in(s, slot_of(s, k))[d];
        }
    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            const md_real *const slot = slot_of(s, k), *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1);
            const md_real decay = decay_of(s, k, s->now), away = mean_in(s, slot)[d] - sum / f.points;

            f.total += (squares_in(s, slot)[d] + counts_in(s, slot)[d * count_step(s)] * away * away) * decay;
            if (source == FROM_HALVES && *h0 >= LEAST_HALF && *h1 >= LEAST_HALF) {
                add_within(s, &f, h0, decay, d);
                add_within(s, &f, h1, decay, d);
            } else {
                add_within(s, &f, slot, decay, d);
            }
        }
    return f;
}

/* The numbers in all clusters. */
static md_real numbers_in(const mapdpm_stream *s)
{
    md_real sum = 0;
    uint32_t k;
    size_t d;

    for (k = 0; k < s->width; k++)
        for (d = 0; is_used(s, k) && d < MD_FEATURES(s); d++)
            sum += counts_in(s, slot_of(s, k))[d * count_step(s)] * decay_of(s, k, s->now);
    return sum;
}

/* c0 from the squared means of clusters, in units of the variance within: at most that of the warm-up, for a cluster
 * far from the prior mean must not be taken for a wide one. */
static md_real c0_of_means(const mapdpm_stream *s, md_real most)
{
    md_real sum = PRIOR_CELLS / most, cells = PRIOR_CELLS;
    uint32_t k;
    size_t d;

    for (k = 0; k < s->width; k++)
        for (d = 0; is_used(s, k) && d < MD_FEATURES(s); d++)
            if (counts_in(s, slot_of(s, k))[d * count_step(s)] > 0) {
                const md_real mean = mean_in(s, slot_of(s, k))[d];

                sum += mean * (mean / noise_scale_of(s)[d]) * s->a0;
                cells += 1;
            }
    return cells / sum < most ? at_least(cells / sum, most * LEAST_C0) : most;
}

/* What depends on the parameters, but no moments. */
static void set_c0(mapdpm_stream *s, md_real c0)
{
    s->c0 = c0;
    stream_prepare_opening(s);
}

/* The log joint but for terms that do not depend on the prior. With halves, as if clusters were split where that
 * gains. */
static md_real joint_of(mapdpm_stream *s, int source)
{
    const md_real prior_term = log_prior(s);
    md_real joint = 0, unused;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            joint += log_joint_term(s, view_of(s, k, s->now), prior_term, &unused);
            if (source == FROM_HALVES)
                joint += at_least(stream_gain_of_split(s, k), 0);
        }
    return joint;
}

/* Set b0 and c0 for a source, and return the log joint. The b0 before remains in `kept`. */
static md_real try_source(mapdpm_stream *s, int source, const md_real *kept, md_real most_c0)
{
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const feature_spread f = spread_of(s, d, source);
        const md_real least = LEAST_SHARE * f.total / f.points;
        md_real *const b0 = noise_scale_of(s) + d;

        *b0 = kept[d];
        if (f.degrees > 0 && f.total > 0 && s->a0 * at_least(f.within / f.degrees, least) < kept[d])
            *b0 = s->a0 * at_least(f.within / f.degrees, least);
    }
    set_c0(s, c0_of_means(s, most_c0));
    return joint_of(s, source);
}

/* Give the moments the units of the new prior: powers of 2, so that no digit is lost. */
static void change_units(mapdpm_stream *s, md_real *moments, size_t d, md_real ratio)
{
    mean_in(s, moments)[d] *= ratio;
    squares_in(s, moments)[d] *= ratio * ratio;
}

static void adopt(mapdpm_stream *s)
{
    uint32_t k;
    size_t d, i;

    s->log_units = 0;
    for (d = 0; d < MD_FEATURES(s); d++) {
        md_real *const unit = unit_of(s) + d, *const b0 = noise_scale_of(s) + d;
        const md_real ratio = stream_unit_for(*b0 / *unit / *unit) / *unit;

        *unit *= ratio;
        *b0 *= ratio * ratio;
        s->log_units += math_log(*unit);
        for (k = 0; k < MD_SLOTS(s); k++) {
            for (i = 0; i <= (COMPENSATED ? half_size(s) : 0); i += half_size(s))
                change_units(s, slot_of(s, k) + i, d, ratio);
            change_units(s, half_of(s, k, 0), d, ratio);
            change_units(s, half_of(s, k, 1), d, ratio);
        }
    }
    set_c0(s, s->c0);
    for (k = 0; k < s->width; k++)
        merge_partner_of(s)[k] = MD_NONE;
    stream_record(s, MAPDPM_PRIOR, 0, 0);
}

void stream_revisit_prior(mapdpm_stream *s)
{
    md_real *const kept = prior_variance_of(s); /* 0 in this family */
    const md_real c0 = s->c0, most_c0 = EMPIRICAL_POINTS / (md_real)MD_WARMUP(s);
    const size_t bytes = MD_FEATURES(s) * sizeof(md_real);
    md_real joint, best;
    int source = FROM_CLUSTERS;
    uint32_t k;

    memcpy(kept, noise_scale_of(s), bytes);
    joint = joint_of(s, FROM_CLUSTERS);
    best = try_source(s, FROM_CLUSTERS, kept, most_c0);
    if (try_source(s, FROM_HALVES, kept, most_c0) > best + HYSTERESIS) {
        source = FROM_HALVES;
        best = joint_of(s, FROM_HALVES);
    }
    if (best > joint + at_least(HYSTERESIS, LEAST_GAIN * numbers_in(s))) {
        (void)try_source(s, source, kept, most_c0);
        adopt(s);
    } else {
        memcpy(noise_scale_of(s), kept, bytes);
        set_c0(s, c0);
    }
    memset(kept, 0, bytes);
    for (k = 0; k < s->width; k++)
        if (is_used(s, k))
            stream_refresh(s, k);
}

/* ==== online.c ====================================================================================================== */

/* The stream learner: it takes one point with all its consequences in O(K D) time, in the caller's memory
 * (docs/streams-how.md).
 *
 * Each cluster holds the moments of two halves and divides its points between them. It splits when two clusters explain
 * the halves better. No point is kept.
 */

/* Returns MAPDPM_OK if x can be learned or scored. */
int stream_check_point(const mapdpm_stream *s, const md_real *x)
{
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s);
    const md_real most = IS_WARMING(s) ? WARMUP_LIMIT : COORDINATE_LIMIT;
    size_t d, n_there = 0;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real place = IS_WARMING(s) ? x[d] : (x[d] - anchor[d]) * unit[d];

        if (HAS_MISSING(s) && !is_present(x[d]))
            continue;
        if (!math_is_finite(x[d]))
            return MAPDPM_E_NUMBER;
        if (!(place >= -most && place <= most))
            return MAPDPM_E_RANGE;
        n_there++;
    }
    return n_there > 0 ? MAPDPM_OK : MAPDPM_E_NUMBER;
}

/* Whether it is time: at the end of the warm-up, and whenever as many points have come once more, while there are at
 * most two clusters. More of them show that the prior is narrow enough. A prior that was given stays. */
static int revisits_prior(const mapdpm_stream *s)
{
    return MD_WARMUP(s) > 0 && !HAS_GROUPS(s) && !HAS_STATES(s) && modulo(s->n_seen, MD_WARMUP(s)) == 0 &&
           (s->n_clusters <= 2 || s->n_seen == MD_WARMUP(s));
}

/* To be called when the clusters of the warm-up are there. */
void stream_settled(mapdpm_stream *s)
{
    if (revisits_prior(s))
        stream_revisit_prior(s);
}

static int learn_warming(mapdpm_stream *s, const md_real *x, uint32_t *id)
{
    const size_t i = (size_t)s->n_seen, D = MD_FEATURES(s);
    settling z;
    int more;

    memcpy(points_of(s) + i * D, x, D * sizeof(md_real));
    times_of(s)[i] = s->now;
    *id = (uint32_t)i;
    s->n_seen++;
    if (HAS_GROUPS(s)) {
        groups_admit(s);
        point_rows_of(s)[i] = *row_of(s);
    }
    if (s->n_seen < MD_WARMUP(s))
        return MAPDPM_OK;
    if (MD_QUEUE(s) > 0) {
        settle_begin(settling_of(s));
        return MAPDPM_OK;
    }
    settle_begin(&z);
    do
        more = settle_step(s, &z);
    while (more > 0);
    if (more == 0)
        stream_settled(s);
    return more;
}

/* Add the point to slot k, new or not. Then try one change that may follow: a merge with the second best slot, a merge
 * with the next slot in order, or a split. Returns the final slot of the point. */
static uint32_t join(mapdpm_stream *s, uint32_t k, uint32_t second, const md_real *x)
{
    uint32_t look;
    size_t h = 0;

    stream_apply_decay(s, k);
    moments_add(s, slot_of(s, k), half_size(s), x, 1);
    if (HAS_BASE(s))
        base_add(s, k, x, 1);
    last_seen_of(s)[k] = (uint32_t)s->n_seen;
    if (MD_SPLITS) {
        h = stream_choose_half(s, k, x);
        moments_add(s, half_of(s, k, h), 0, x, 1);
    }
    stream_refresh(s, k);
    if (IS_GROUPED(s))
        groups_count(s, k, h);
    look = ++trials_of(s)[k] % LOOK_PERIOD;
    if (look == 0)
        return stream_try_split(s, k, h);
    if (look % 2 == 0) {
        second = s->turn;
        s->turn = s->turn + 1 < MD_SLOTS(s) ? s->turn + 1 : 0;
    }
    stream_try_merge(s, k, second);
    return k;
}

/* Whether a point may open a cluster: MAPDPM_OK, or why not. The point before it came at the time `before`. */
static int check_opening(const mapdpm_stream *s, const choice *c, int64_t before)
{
    if (s->next_id == MD_NONE)
        return MAPDPM_E_IDS;
    if (s->n_clusters < MD_SLOTS(s) || WHEN_FULL(s) != MAPDPM_FULL_ERROR)
        return MAPDPM_OK;
    return c->has_aged && (!IS_TIMED(s) || states_will_age(s, before)) ? MAPDPM_OK : MAPDPM_E_FULL;
}

/* A point without an answer: the warm-up is not over. */
static int answer_nothing(md_real *score, mapdpm_assessment *a)
{
    if (score)
        *score = math_nan();
    if (a)
        stream_assess_nothing(a);
    return MAPDPM_OK;
}

/* Learn a point, and assess it before if `a` is not NULL. */
int stream_learn(mapdpm_stream *s, const md_real *x, int64_t now, uint32_t *id, md_real *score, mapdpm_assessment *a)
{
    const int64_t before = s->now;
    const int with_density = score != NULL || HAS_SURPRISE(s) || a != NULL;
    md_real nats = 0, surprise = math_nan();
    choice c;
    uint32_t k;
    int error = stream_check_point(s, x);

    if (error == MAPDPM_OK && HAS_GROUPS(s) && !groups_can_learn(s))
        error = MAPDPM_E_GROUP;
    if (error != MAPDPM_OK)
        return error;
    s->now = now;
    if (IS_GROUPED(s) && FORGETS(s))
        groups_total(s);
    if (IS_WARMING(s)) {
        (void)answer_nothing(score, a);
        return learn_warming(s, x, id);
    }
    c = stream_choose(s, x, with_density);
    k = c.best;
    if (c.opens)
        error = check_opening(s, &c, before);
    if (error != MAPDPM_OK) {
        s->now = before;
        if (IS_GROUPED(s) && FORGETS(s))
            groups_total(s);
        return error;
    }
    if (IS_TIMED(s) && (c.opens || c.has_aged)) { /* what waits is learned before slots come and go, as of its time */
        s->now = before;
        states_settle(s, *n_waiting_of(s), 1);
        s->now = now;
        if (c.has_aged)
            stream_remove_aged(s);
        c = stream_choose(s, x, with_density);
        k = c.best;
        if (s->next_id == MD_NONE) /* it did not open a state before what waited was learned */
            c.opens = 0;
        if (k == MD_NONE && !c.opens) { /* no score is a number: a forged snapshot */
            s->now = before;
            return MAPDPM_E_IDS;
        }
    }
    if (HAS_SURPRISE(s)) {
        nats = surprise_nats(s, x, &c);
        surprise = surprise_rank(s, nats);
    }
    if (a)
        stream_assess(s, &c, surprise, a);
    s->n_seen++;
    if (IS_GROUPED(s))
        groups_admit(s);
    if (c.has_aged)
        stream_remove_aged(s);
    if (c.opens) {
        uint32_t e = s->n_clusters < MD_SLOTS(s) ? stream_free_slot(s) : stream_make_room(s, MD_NONE, LARGEST_REAL);

        if (e != MD_NONE) {
            stream_open_slot(s, e);
            ids_of(s)[e] = s->next_id++;
            stream_record(s, MAPDPM_CREATED, ids_of(s)[e], 0);
            c.second = k;
            k = e;
        } else {
            c.opens = 0;
        }
    }
    if (k == MD_NONE) /* no score is a number: a forged snapshot */
        k = 0;
    if (IS_TIMED(s))
        k = states_learn(s, k, c.opens, x);
    else
        k = join(s, k, c.second, x);
    if (HAS_SURPRISE(s))
        surprise_count(s, nats, surprise, k, c.weight);
    if (score)
        *score = c.density;
    *id = ids_of(s)[k];
    if (MD_WINDOW(s) > 0)
        stream_revisit(s, x, *id);
    if (revisits_prior(s))
        stream_revisit_prior(s);
    return MAPDPM_OK;
}

/* Learn a point, or put it into the queue. */
static int learn(mapdpm_stream *s, const md_real *x, int64_t now, uint32_t *id, md_real *score, mapdpm_assessment *a)
{
    int error;

    if (!has_queue_to_do(s))
        return stream_learn(s, x, now, id, score, a);
    error = stream_check_point(s, x);
    if (error == MAPDPM_OK && HAS_GROUPS(s) && !groups_can_learn(s))
        error = MAPDPM_E_GROUP;
    if (error == MAPDPM_OK)
        error = queue_add(s, x, now);
    if (error != MAPDPM_OK)
        return error;
    *id = MD_NONE;
    return answer_nothing(score, a);
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

static int learn_next(mapdpm_stream *s, const md_real *x, uint32_t *id, md_real *score, mapdpm_assessment *a)
{
    uint32_t unused;
    int error;

    if (is_none(s) || x == NULL)
        return MAPDPM_E_ARGUMENT;
    if (s->clock == CLOCK_MICROSECONDS || s->now >= INT64_MAX / 2)
        return MAPDPM_E_TIME;
    error = learn(s, x, s->now + 1, id ? id : &unused, score, a);
    if (error == MAPDPM_OK)
        s->clock = CLOCK_POINTS;
    return error;
}

static int learn_at(mapdpm_stream *s, const md_real *x, int64_t microseconds, uint32_t *id, md_real *score,
                    mapdpm_assessment *a)
{
    uint32_t unused;
    const int starts = s != NULL && s->clock == CLOCK_UNKNOWN;
    md_real rate;
    uint32_t k;
    int error;

    if (is_none(s) || x == NULL)
        return MAPDPM_E_ARGUMENT;
    /* Within 2^62 microseconds of 0, 146,000 years, so that differences do not overflow. */
    if (s->clock == CLOCK_POINTS || (!starts && microseconds < queue_latest(s)) || microseconds > INT64_MAX / 2 ||
        microseconds < -(INT64_MAX / 2))
        return MAPDPM_E_TIME;
    rate = s->rate;
    if (starts) { /* clusters inserted before the first time get that time */
        s->rate = rate / 1000000;
        for (k = 0; k < s->width; k++)
            last_times_of(s)[k] = microseconds;
    }
    error = learn(s, x, microseconds, id ? id : &unused, score, a);
    if (error == MAPDPM_OK)
        s->clock = CLOCK_MICROSECONDS;
    else
        s->rate = rate;
    for (k = 0; starts && error != MAPDPM_OK && k < s->width; k++)
        last_times_of(s)[k] = s->now;
    if (starts && error != MAPDPM_OK && IS_GROUPED(s))
        groups_total(s);
    return error;
}

int mapdpm_learn(mapdpm_stream *s, const md_real *x, uint32_t *id, md_real *score)
{
    return learn_next(s, x, id, score, NULL);
}

int mapdpm_learn_at(mapdpm_stream *s, const md_real *x, int64_t microseconds, uint32_t *id, md_real *score)
{
    return learn_at(s, x, microseconds, id, score, NULL);
}

int mapdpm_learn_many(mapdpm_stream *s, const md_real *x, const int64_t *microseconds, size_t n, uint32_t *ids,
                      md_real *scores, size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (is_none(s) || x == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        const md_real *const point = x + i * MD_FEATURES(s);
        uint32_t *const id = ids ? ids + i : NULL;
        md_real *const score = scores ? scores + i : NULL;

        error =
            microseconds ? mapdpm_learn_at(s, point, microseconds[i], id, score) : mapdpm_learn(s, point, id, score);
        if (error != MAPDPM_OK)
            break;
    }
    *done = i;
    return error;
}

int mapdpm_predict(const mapdpm_stream *s, const md_real *x, uint32_t *id, md_real *score)
{
    choice c;
    int error;

    if (is_none(s) || x == NULL)
        return MAPDPM_E_ARGUMENT;
    error = stream_check_point(s, x);
    if (error != MAPDPM_OK)
        return error;
    if (IS_WARMING(s)) {
        if (score)
            *score = math_nan();
        return id ? MAPDPM_E_WARMING : MAPDPM_OK;
    }
    c = stream_choose(s, x, score != NULL);
    if (score)
        *score = c.density;
    if (id == NULL)
        return MAPDPM_OK;
    if (c.best == MD_NONE)
        return MAPDPM_E_WARMING;
    *id = ids_of(s)[c.best];
    return MAPDPM_OK;
}

int mapdpm_predict_many(const mapdpm_stream *s, const md_real *x, size_t n, uint32_t *ids, md_real *scores,
                        size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (is_none(s) || x == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        error = mapdpm_predict(s, x + i * MD_FEATURES(s), ids ? ids + i : NULL, scores ? scores + i : NULL);
        if (error != MAPDPM_OK)
            break;
    }
    *done = i;
    return error;
}

/* ---- assessments ------------------------------------------------------------------------------------------------- */

int mapdpm_learn_assessed(mapdpm_stream *s, const md_real *x, const int64_t *microseconds, mapdpm_assessment *a)
{
    mapdpm_assessment found;
    uint32_t id = MD_NONE;
    int error;

    if (is_none(s) || a == NULL || HAS_STATES(s) || HAS_GROUPS(s))
        return MAPDPM_E_ARGUMENT;
    error = microseconds ? learn_at(s, x, *microseconds, &id, NULL, &found) : learn_next(s, x, &id, NULL, &found);
    if (error != MAPDPM_OK)
        return error;
    *a = found;
    a->id = id;
    return MAPDPM_OK;
}

int mapdpm_assess_many(mapdpm_stream *s, const md_real *x, const int64_t *microseconds, size_t n, int learns,
                       mapdpm_assessment *assessments, size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (is_none(s) || x == NULL || assessments == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n && error == MAPDPM_OK; i += error == MAPDPM_OK) {
        const md_real *const point = x + i * MD_FEATURES(s);
        const int64_t *const time = microseconds ? microseconds + i : NULL;

        error = learns ? mapdpm_learn_assessed(s, point, time, assessments + i)
                       : mapdpm_assess(s, point, time, assessments + i);
    }
    *done = i;
    return error;
}

/* ==== gateway.c ===================================================================================================== */

/* Many learners into one: clusters are inserted by their statistics, then merged by the log joint. */

/* To be called when the moments of an inserted cluster are there: all of it is the learner's own. */
static void seat(mapdpm_stream *s, uint32_t k, md_real tables)
{
    stream_refresh(s, k);
    if (HAS_BASE(s))
        base_none(s, k);
    if (HAS_SURPRISE(s))
        surprise_seat(s, k);
    if (IS_GROUPED(s))
        groups_seat(s, k, tables);
}

int mapdpm_insert(mapdpm_stream *s, const mapdpm_cluster *cluster, const md_real *mean, const md_real *variance)
{
    return mapdpm_insert_counted(s, cluster, NULL, mean, variance);
}

int mapdpm_insert_counted(mapdpm_stream *s, const mapdpm_cluster *cluster, const md_real *counts, const md_real *mean,
                          const md_real *variance)
{
    md_real *slot;
    uint64_t n;
    uint32_t j, k;
    size_t d;

    if (is_none(s) || HAS_STATES(s) || cluster == NULL || mean == NULL || variance == NULL)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    if ((counts != NULL && !HAS_MISSING(s)) ||
        !(cluster->weight > 0 && cluster->weight <= MOST_WEIGHT && cluster->weight_low >= -MD_HALF * cluster->weight &&
          cluster->weight_low <= MD_HALF * cluster->weight))
        return MAPDPM_E_ARGUMENT;
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real centre = mean[d] * unit_of(s)[d], spread = variance[d] * unit_of(s)[d] * unit_of(s)[d];

        if (counts != NULL && !(counts[d] >= 0 && counts[d] <= MOST_WEIGHT))
            return MAPDPM_E_ARGUMENT;
        if (!(centre >= -COORDINATE_LIMIT && centre <= COORDINATE_LIMIT && spread >= 0 && spread <= MOST_SPREAD))
            return MAPDPM_E_RANGE;
    }
    if (!weight_fits(s->n_seen, cluster->weight))
        return MAPDPM_E_RANGE;
    if (s->n_clusters == MD_SLOTS(s))
        return MAPDPM_E_SPACE;
    if (s->next_id == MD_NONE)
        return MAPDPM_E_IDS;
    k = stream_free_slot(s);
    stream_open_slot(s, k);
    ids_of(s)[k] = s->next_id++;
    slot = slot_of(s, k);
    *slot = cluster->weight;
    if (COMPENSATED)
        slot[half_size(s)] = cluster->weight_low;
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real unit = unit_of(s)[d], count = counts ? counts[d] : cluster->weight;

        if (HAS_MISSING(s))
            counts_in(s, slot)[d] = count;
        mean_in(s, slot)[d] = count > 0 ? mean[d] * unit : 0;
        squares_in(s, slot)[d] = variance[d] * unit * unit * count;
    }
    n = to_uint64(cluster->weight + MD_HALF);
    s->n_seen += n;
    for (j = 0; j < s->width; j++) /* the others do not become idle by this */
        if (is_used(s, j))
            last_seen_of(s)[j] += (uint32_t)n;
    last_seen_of(s)[k] = (uint32_t)s->n_seen;
    seat(s, k, 1);
    return MAPDPM_OK;
}

/* The mean of another learner's cluster in a feature, in the coordinates of this one. */
static md_real mean_from(const mapdpm_stream *s, const mapdpm_stream *from, const md_real *slot, size_t d)
{
    const md_real *const mean = mean_in(from, slot) + d;
    const md_real place = (*mean + low_part(mean, half_size(from))) / unit_of(from)[d];

    return ((anchor_of(from)[d] - anchor_of(s)[d]) + place) * unit_of(s)[d];
}

/* Whether all clusters of another learner with any weight left can be inserted, or the error. */
static int check_pool(const mapdpm_stream *s, const mapdpm_stream *from)
{
    uint64_t seen = s->n_seen;
    uint32_t k, n = 0;
    size_t d;

    for (k = 0; k < from->width; k++) {
        const md_real *const slot = seen_in(from, k), weight = *slot * decay_of(from, k, from->now);

        if (!is_used(from, k) || !(weight > 0))
            continue;
        if (!weight_fits(seen, weight))
            return MAPDPM_E_RANGE;
        n++;
        seen += to_uint64(weight + MD_HALF);
        for (d = 0; d < MD_FEATURES(s); d++) {
            const md_real mean = mean_from(s, from, slot, d), unit = unit_of(s)[d] / unit_of(from)[d];
            const md_real squares = squares_in(from, slot)[d] * unit * unit;
            const md_real count = counts_in(from, slot)[d * count_step(from)];

            if (!(mean >= -COORDINATE_LIMIT && mean <= COORDINATE_LIMIT && squares <= MOST_SPREAD * count))
                return MAPDPM_E_RANGE;
        }
    }
    if (n > MD_SLOTS(s) - s->n_clusters)
        return MAPDPM_E_SPACE;
    return n < MD_NONE - s->next_id ? MAPDPM_OK : MAPDPM_E_IDS;
}

int mapdpm_pool(mapdpm_stream *s, const mapdpm_stream *from)
{
    uint32_t k;
    size_t d;
    int error;

    if (is_none(s) || is_none(from) || s == from || HAS_STATES(s) || MD_FEATURES(s) != from->n_features ||
        from->missing > s->missing)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s) || IS_WARMING(from))
        return MAPDPM_E_WARMING;
    error = check_pool(s, from);
    for (k = 0; k < from->width && error == MAPDPM_OK; k++) {
        const md_real decay = decay_of(from, k, from->now), *const theirs = seen_in(from, k);
        md_real *slot;
        uint32_t e;

        if (!is_used(from, k) || !(*theirs * decay > 0))
            continue;
        e = stream_free_slot(s);
        stream_open_slot(s, e);
        ids_of(s)[e] = s->next_id++;
        slot = slot_of(s, e);
        *slot = *theirs * decay;
        if (COMPENSATED)
            slot[half_size(s)] = theirs[half_size(from)] * decay;
        for (d = 0; d < MD_FEATURES(s); d++) {
            const md_real unit = unit_of(s)[d] / unit_of(from)[d];

            if (HAS_MISSING(s))
                counts_in(s, slot)[d] = counts_in(from, theirs)[d * count_step(from)] * decay;
            mean_in(s, slot)[d] = mean_from(s, from, theirs, d);
            squares_in(s, slot)[d] = squares_in(from, theirs)[d] * unit * unit * decay;
        }
        s->n_seen += to_uint64(*slot + MD_HALF);
        seat(s, e, IS_GROUPED(from) ? tables_seen(from, k, decay) : 1);
        if (HAS_SURPRISE(s) && HAS_SURPRISE(from))
            standing_of(s)[e] = standing_of(from)[k] & ~MD_RARE;
    }
    if (error == MAPDPM_OK && HAS_SURPRISE(s) && HAS_SURPRISE(from))
        surprise_pool(s, from);
    return error;
}

int mapdpm_pool_summary(mapdpm_stream *s, const unsigned char *file, size_t file_bytes)
{
    summary f;
    uint32_t i;
    int error;

    if (is_none(s) || HAS_STATES(s) || file == NULL)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    error = summary_open(file, file_bytes, &f);
    if (error == MAPDPM_OK)
        error = summary_check(s, &f);
    if (error == MAPDPM_OK && f.n > MD_SLOTS(s) - s->n_clusters)
        error = MAPDPM_E_SPACE;
    for (i = 0; i < f.n && error == MAPDPM_OK; i++) {
        const uint32_t k = stream_free_slot(s);
        md_real tables;

        stream_open_slot(s, k);
        ids_of(s)[k] = s->next_id++;
        tables = summary_read(s, &f, i, slot_of(s, k));
        s->n_seen += to_uint64(*slot_of(s, k) + MD_HALF);
        seat(s, k, tables);
    }
    return error;
}

/* Whether slot a comes before slot b: by weight, the heaviest first, then by the moments in their order. */
static int comes_before(const mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const md_real *const x = slot_of(s, a), *const y = slot_of(s, b);
    size_t i;

    for (i = 0; i < moments_size(s); i++)
        if (x[i] < y[i] || x[i] > y[i])
            return x[i] > y[i];
    return 0;
}

static void swap_slots(mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const int64_t last = last_times_of(s)[a];
    const uint32_t seen = last_seen_of(s)[a];
    md_real *const x = slot_of(s, a), *const y = slot_of(s, b);
    size_t i;

    last_times_of(s)[a] = last_times_of(s)[b];
    last_times_of(s)[b] = last;
    last_seen_of(s)[a] = last_seen_of(s)[b];
    last_seen_of(s)[b] = seen;
    for (i = 0; i < slot_size(s); i++) {
        const md_real t = x[i];

        x[i] = y[i];
        y[i] = t;
    }
    if (HAS_SURPRISE(s)) {
        const uint32_t standing = standing_of(s)[a];

        standing_of(s)[a] = standing_of(s)[b];
        standing_of(s)[b] = standing;
    }
    if (HAS_GROUPS(s))
        groups_swap(s, a, b);
}

/* Sort the slots, free ones last, and number their ids from `first` on. Insertion sort is bounded and needs no
 * memory. */
static void put_in_order(mapdpm_stream *s, uint32_t first)
{
    uint32_t i, k;

    for (i = 1; i < MD_SLOTS(s); i++)
        for (k = i; k > 0 && comes_before(s, k, k - 1); k--)
            swap_slots(s, k, k - 1);
    s->width = s->n_clusters;
    for (k = 0; k < MD_SLOTS(s); k++) {
        if (k >= s->n_clusters) {
            stream_clear_slot(s, k);
            ids_of(s)[k] = last_seen_of(s)[k] = 0;
            continue;
        }
        ids_of(s)[k] = first + k;
        last_seen_of(s)[k] = (uint32_t)s->n_seen; /* the time of insertion does not matter */
        merge_partner_of(s)[k] = MD_NONE;
        *merge_loss_of(s, k) = 0;
        trials_of(s)[k] = 0;
        stream_refresh(s, k);
    }
    s->next_id = first + s->n_clusters;
}

/* Make slot b the partner of slot a, a < b, if their merge loses less than with the partner so far. The first slot wins
 * a tie. */
static void meet(mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const md_real loss = -merge_gain(s, view_of(s, a, s->now), view_of(s, b, s->now)), least = *merge_loss_of(s, a);

    if (loss < least || (loss <= least && b < merge_partner_of(s)[a])) {
        merge_partner_of(s)[a] = b;
        *merge_loss_of(s, a) = loss;
    }
}

/* The best partner of slot a among the slots after it, or MD_NONE. */
static void find_partner(mapdpm_stream *s, uint32_t a)
{
    uint32_t b;

    merge_partner_of(s)[a] = MD_NONE;
    *merge_loss_of(s, a) = LARGEST_REAL;
    for (b = a + 1; b < s->width; b++)
        if (is_used(s, b))
            meet(s, a, b);
}

/* Merge the pair with the smallest loss, if that is below `most`. Returns whether there was one. Each slot has its best
 * partner, and a merge changes few of them: so the time of all merges is O(K^2) as a rule, not O(K^3). */
static int merge_best_slots(mapdpm_stream *s, md_real most)
{
    uint32_t a, to = MD_NONE, from;

    for (a = 0; a < s->width; a++)
        if (is_used(s, a) && *merge_loss_of(s, a) < (to == MD_NONE ? most : *merge_loss_of(s, to)))
            to = a;
    if (to == MD_NONE)
        return 0;
    from = merge_partner_of(s)[to];
    stream_merge(s, to, from);
    for (a = 0; a < s->width; a++)
        if (is_used(s, a)) {
            const uint32_t partner = merge_partner_of(s)[a];

            if (a == to || partner == to || partner == from)
                find_partner(s, a);
            if (a < to)
                meet(s, a, to);
        }
    return 1;
}

int mapdpm_reduce(mapdpm_stream *s, uint32_t n)
{
    uint32_t k;

    if (is_none(s) || HAS_STATES(s) || n < 1)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            stream_apply_decay(s, k);
            if (!is_used(s, k)) { /* nothing is left of it */
                s->n_clusters--;
                continue;
            }
            stream_clear_halves(s, k);
            *merge_loss_of(s, k) = 0;
        }
    for (k = 0; k < MD_WINDOW(s); k++)
        window_ids_of(s)[k] = MD_NONE;
    for (k = 0; k < MD_WARMUP(s); k++) /* ids begin anew */
        warmup_labels_of(s)[k] = MD_NONE;
    put_in_order(s, MD_WARMUP(s));
    if (IS_GROUPED(s))
        groups_total(s);
    for (k = 0; k < s->width; k++)
        find_partner(s, k);
    while (merge_best_slots(s, 0))
        ;
    while (s->n_clusters > n && merge_best_slots(s, LARGEST_REAL))
        ;
    put_in_order(s, MD_WARMUP(s));
    if (HAS_SURPRISE(s))
        surprise_judge_all(s);
    s->n_events = 0;
    s->at_event = 0;
    memset(event_ring_of(s), 0, WORDS_PER_EVENT * sizeof(uint32_t) * (size_t)RING_SIZE(s));
    return MAPDPM_OK;
}

/* ==== summary.c ===================================================================================================== */

/* The clusters that a learner saw itself, as a message between a device and its gateway (docs/format.md, kind 5). */

/* The points seen, then five numbers: places for clusters, policy, whether there are counts, places for groups, policy;
 * then four reals: concentrations and half-life.
 */
enum { NUMBERS = 8 + 4 * 5, CONCENTRATIONS = 4 };

/* ---- reals of either width --------------------------------------------------------------------------------------- */

static int is_width(uint32_t real_bytes) { return real_bytes == MD_REAL || (MD_REAL == 8 && real_bytes == 4); }

static unsigned char *put_real(unsigned char *p, md_real value, uint32_t width)
{
    if (MD_REAL == 8 && width == 4) {
        const float rounded = (float)value;

        copy_entries(p, &rounded, 1, 4);
    } else {
        copy_entries(p, &value, 1, MD_REAL);
    }
    return p + width;
}

static md_real real_at(const unsigned char *p, size_t i, uint32_t width)
{
    if (MD_REAL == 8 && width == 4) {
        float value;

        copy_entries(&value, p + 4 * i, 1, 4);
        return (md_real)value;
    }
    return get_real(p + MD_REAL * i);
}

/* A cluster is: weight, (in float what rounding lost of it,) tables, (counts[D],) mean[D], variance[D]. */
static uint32_t weights_in(uint32_t width) { return width == 4 ? 2 : 1; }
static uint32_t cluster_reals(uint32_t n_features, int has_counts, uint32_t width)
{
    return weights_in(width) + 1 + (has_counts ? 3 : 2) * n_features;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int is_written(const mapdpm_stream *s, uint32_t k)
{
    return is_used(s, k) && tables_seen(s, k, decay_of(s, k, s->now)) > 0;
}

static uint32_t n_written(const mapdpm_stream *s)
{
    uint32_t k, n = 0;

    for (k = 0; k < s->width; k++)
        n += (uint32_t)is_written(s, k);
    return n;
}

size_t mapdpm_summary_bytes(const mapdpm_stream *s, uint32_t real_bytes)
{
    uint64_t reals, bytes;

    if (is_none(s) || !is_width(real_bytes))
        return 0;
    reals = CONCENTRATIONS + mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s)) +
            (uint64_t)n_written(s) * cluster_reals(MD_FEATURES(s), HAS_MISSING(s), real_bytes);
    bytes = MD_HEADER + NUMBERS + real_bytes * reals + MD_CRC;
    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

static unsigned char *put_cluster(const mapdpm_stream *s, uint32_t k, uint32_t width, unsigned char *p)
{
    const md_real *const seen = seen_in(s, k), decay = decay_of(s, k, s->now), weight = *seen * decay;
    size_t d;

    p = put_real(p, weight, width);
    if (width == 4)
        p = put_real(p, MD_REAL == 4 ? low_part(seen, half_size(s)) * decay : weight - (md_real)(float)weight, width);
    p = put_real(p, tables_seen(s, k, decay), width);
    for (d = 0; HAS_MISSING(s) && d < MD_FEATURES(s); d++)
        p = put_real(p, counts_in(s, seen)[d] * decay, width);
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real m0 = stream_parameter(s, d), lost = width < MD_REAL ? m0 - (md_real)(float)m0 : 0;

        p = put_real(p, (mean_in(s, seen)[d] + low_part(mean_in(s, seen) + d, half_size(s))) / unit_of(s)[d] + lost,
                     width);
    }
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real n = counts_in(s, seen)[d * count_step(s)];

        p = put_real(p, n > 0 ? squares_in(s, seen)[d] / n / unit_of(s)[d] / unit_of(s)[d] : 0, width);
    }
    return p;
}

int mapdpm_summary_write(const mapdpm_stream *s, uint32_t real_bytes, unsigned char *file, size_t capacity,
                         size_t *file_bytes)
{
    const size_t total = mapdpm_summary_bytes(s, real_bytes);
    const md_real least_alpha = real_bytes < MD_REAL ? (md_real)1e-9 : 0; /* below it, float has log alpha */
    uint32_t sizes[5], k;
    unsigned char *p;
    mapdpm_options o;
    size_t i;

    if (mapdpm_get_options(s, &o) != MAPDPM_OK || file == NULL || file_bytes == NULL || total == 0)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    if (capacity < total)
        return MAPDPM_E_SPACE;
    sizes[0] = MD_FEATURES(s);
    sizes[1] = n_written(s);
    sizes[2] = (uint32_t)mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s));
    sizes[3] = cluster_reals(MD_FEATURES(s), HAS_MISSING(s), real_bytes);
    sizes[4] = 0;
    p = mapdpm_file_begin(file, MD_SUMMARY, (int32_t)s->family, sizes, total);
    file[7] = (unsigned char)real_bytes;
    p = put_bytes(p, s->n_seen, 8);
    p = put_bytes(p, o.max_clusters, 4);
    p = put_bytes(p, o.when_full, 4);
    p = put_bytes(p, o.missing, 4);
    p = put_bytes(p, o.max_groups, 4);
    p = put_bytes(p, o.when_groups_full, 4);
    p = put_real(p, o.alpha < least_alpha ? 0 : o.alpha, real_bytes);
    p = put_real(p, o.log_alpha, real_bytes);
    p = put_real(p, o.half_life, real_bytes);
    p = put_real(p, o.gamma, real_bytes);
    for (i = 0; i < sizes[2]; i++)
        p = put_real(p, stream_parameter(s, i), real_bytes);
    for (k = 0; k < s->width; k++)
        if (is_written(s, k))
            p = put_cluster(s, k, real_bytes, p);
    (void)put_bytes(p, mapdpm_crc32(0, file, total - MD_CRC), MD_CRC);
    *file_bytes = total;
    return MAPDPM_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Check all but the values of clusters. */
int summary_open(const unsigned char *file, size_t file_bytes, summary *f)
{
    const int error = mapdpm_file_check(file, file_bytes, MD_SUMMARY);
    uint64_t n_parameters, bytes;

    if (error != MAPDPM_OK && !(error == MAPDPM_E_REAL && MD_REAL == 8))
        return error;
    if (file_bytes < MD_HEADER + NUMBERS + MD_CRC || get32(file + MD_HEADER + 16) > 1)
        return MAPDPM_E_DAMAGED;
    f->width = file[7];
    f->n_features = get32(file + 12);
    f->n = get32(file + 16);
    f->has_counts = get32(file + MD_HEADER + 16) == 1;
    if (f->n_features < 1 || f->n_features > LARGEST_COUNT || f->n > LARGEST_COUNT ||
        f->n > get32(file + MD_HEADER + 8))
        return MAPDPM_E_DAMAGED;
    n_parameters = mapdpm_n_parameters((int32_t)get_bytes(file + 8, 2), f->n_features);
    f->reals = cluster_reals(f->n_features, f->has_counts, f->width);
    bytes = MD_HEADER + NUMBERS + f->width * (CONCENTRATIONS + n_parameters + (uint64_t)f->n * f->reals) +
            get32(file + 28) + MD_CRC;
    if (bytes != file_bytes || get32(file + 20) != n_parameters || get32(file + 24) != f->reals || n_parameters == 0)
        return MAPDPM_E_DAMAGED;
    f->parameters = file + MD_HEADER + NUMBERS + (size_t)f->width * CONCENTRATIONS;
    f->clusters = f->parameters + (size_t)n_parameters * f->width;
    return MAPDPM_OK;
}

int mapdpm_summary_options(const unsigned char *file, size_t file_bytes, mapdpm_options *o, md_real *parameters)
{
    summary f;
    size_t i;
    int error;

    if (file == NULL || o == NULL)
        return MAPDPM_E_ARGUMENT;
    error = summary_open(file, file_bytes, &f);
    if (error != MAPDPM_OK)
        return error;
    memset(o, 0, sizeof *o);
    o->family = (int32_t)get_bytes(file + 8, 2);
    o->n_features = f.n_features;
    o->max_clusters = get32(file + MD_HEADER + 8);
    o->when_full = get32(file + MD_HEADER + 12);
    o->missing = (uint32_t)f.has_counts;
    o->max_groups = get32(file + MD_HEADER + 20);
    o->when_groups_full = get32(file + MD_HEADER + 24);
    o->alpha = real_at(file + MD_HEADER + NUMBERS, 0, f.width);
    o->log_alpha = real_at(file + MD_HEADER + NUMBERS, 1, f.width);
    o->half_life = real_at(file + MD_HEADER + NUMBERS, 2, f.width);
    o->gamma = real_at(file + MD_HEADER + NUMBERS, 3, f.width);
    for (i = 0; parameters && i < mapdpm_n_parameters(o->family, f.n_features); i++)
        parameters[i] = real_at(f.parameters, i, f.width);
    return MAPDPM_OK;
}

/* One feature of a cluster in a summary, in the coordinates of a learner. */
typedef struct {
    md_real count;
    md_real mean;
    md_real squares;
} feature;

static const unsigned char *cluster_at(const summary *f, uint32_t i)
{
    return f->clusters + (size_t)i * f->reals * f->width;
}

static feature feature_of(const mapdpm_stream *s, const summary *f, uint32_t i, size_t d)
{
    const unsigned char *const p = cluster_at(f, i);
    const size_t D = MD_FEATURES(s), at = weights_in(f->width) + 1, mean = at + (f->has_counts ? D : 0);
    const md_real unit = unit_of(s)[d];
    feature x;

    x.count = f->has_counts ? real_at(p, at + d, f->width) : real_at(p, 0, f->width);
    x.mean = ((real_at(f->parameters, d, f->width) - anchor_of(s)[d]) + real_at(p, mean + d, f->width)) * unit;
    x.squares = real_at(p, mean + D + d, f->width) * unit * unit * x.count;
    return x;
}

md_real summary_tables(const summary *f, uint32_t i)
{
    return real_at(cluster_at(f, i), weights_in(f->width), f->width);
}

/* Whether a learner can take all clusters of a summary, or the error. */
int summary_check(const mapdpm_stream *s, const summary *f)
{
    uint64_t seen = s->n_seen;
    uint32_t i;
    size_t d;

    if (f->n_features != MD_FEATURES(s) || (f->has_counts && !HAS_MISSING(s)))
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < f->n; i++) {
        const unsigned char *const p = cluster_at(f, i);
        const md_real weight = real_at(p, 0, f->width), tables = summary_tables(f, i);
        const md_real low = f->width == 4 ? real_at(p, 1, f->width) : 0;

        if (!(weight > 0 && weight <= MOST_WEIGHT && tables > 0 && tables <= MOST_WEIGHT && low >= -MD_HALF * weight &&
              low <= MD_HALF * weight))
            return MAPDPM_E_DAMAGED;
        if (!weight_fits(seen, weight))
            return MAPDPM_E_RANGE;
        seen += to_uint64(weight + MD_HALF);
        for (d = 0; d < MD_FEATURES(s); d++) {
            const feature x = feature_of(s, f, i, d);

            if (!(x.count >= 0 && x.count <= MOST_WEIGHT))
                return MAPDPM_E_DAMAGED;
            if (!(x.mean >= -COORDINATE_LIMIT && x.mean <= COORDINATE_LIMIT && x.squares >= 0 &&
                  x.squares <= MOST_SPREAD * x.count))
                return MAPDPM_E_RANGE;
        }
    }
    return f->n < MD_NONE - s->next_id ? MAPDPM_OK : MAPDPM_E_IDS;
}

/* Read cluster i into moments, which were cleared. Returns its tables. */
md_real summary_read(const mapdpm_stream *s, const summary *f, uint32_t i, md_real *moments)
{
    const unsigned char *const p = cluster_at(f, i);
    md_real tables;
    size_t d;

    *moments = real_at(p, 0, f->width);
    if (f->width == 4)
        add_compensated(moments, half_size(s), real_at(p, 1, f->width));
    for (d = 0; d < MD_FEATURES(s); d++) {
        const feature x = feature_of(s, f, i, d);

        if (HAS_MISSING(s))
            counts_in(s, moments)[d] = x.count;
        mean_in(s, moments)[d] = x.mean;
        squares_in(s, moments)[d] = x.squares;
    }
    tables = at_least(summary_tables(f, i), LEAST_TABLES);
    return tables < *moments ? tables : *moments;
}

/* ==== bank.c ======================================================================================================== */

/* The same stream learned under several alphas. The learner that has predicted best answers. */

/* The memory: head | scores[n], low parts[n] (reals) | learners, all of the same size. */
static size_t at_learners(uint32_t n) { return (sizeof(mapdpm_bank) + 2 * (size_t)n * sizeof(md_real) + 7) / 8 * 8; }

static md_real *scores_of(const mapdpm_bank *b)
{
    return (md_real *)(void *)((unsigned char *)(uintptr_t)b + sizeof *b);
}

static size_t stride_of(const mapdpm_bank *b) { return (b->bytes - at_learners(b->n)) / b->n; }

static mapdpm_stream *learner_of(const mapdpm_bank *b, uint32_t i)
{
    return (mapdpm_stream *)(void *)((unsigned char *)(uintptr_t)b + at_learners(b->n) + i * stride_of(b));
}

size_t mapdpm_bank_bytes(const mapdpm_options *o, uint32_t n)
{
    const uint64_t each = mapdpm_stream_bytes(o);
    uint64_t bytes;

    if (each == 0 || o->max_groups > 0 || n < 1 || n > UINT32_C(1) << 16 || o->queue > 0 || o->when_full == MAPDPM_FULL_ERROR)
        return 0;
    bytes = at_learners(n) + each * n;
    return bytes <= UINT32_MAX && bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

int mapdpm_bank_init(mapdpm_bank *b, size_t bytes, const mapdpm_options *o, const md_real *alphas, uint32_t n,
                     md_real half_life, md_real margin)
{
    const size_t needed = mapdpm_bank_bytes(o, n);
    uint32_t i;
    int error = MAPDPM_OK;

    if (b == NULL || !is_aligned(b) || alphas == NULL || needed == 0 || !(margin >= 0) || !(half_life == 0 || half_life >= 1))
        return MAPDPM_E_ARGUMENT;
    if (bytes < needed)
        return MAPDPM_E_SPACE;
    memset(b, 0, at_learners(n));
    b->bytes = (uint32_t)needed;
    b->n = n;
    b->keep = half_life > 0 ? math_exp((md_real)-0.69314718055994531 / half_life) : 1;
    b->margin = margin;
    for (i = 0; i < n && error == MAPDPM_OK; i++) {
        mapdpm_options each = *o;

        each.alpha = alphas[i];
        error = alphas[i] > 0 ? mapdpm_init(learner_of(b, i), stride_of(b), &each) : MAPDPM_E_ARGUMENT;
    }
    return error;
}

/* Whether all learners can learn a point, so that none refuses it after others have learned it. */
static int check_all(const mapdpm_bank *b, const md_real *x)
{
    uint32_t i;
    int error = MAPDPM_OK;

    for (i = 0; i < b->n && error == MAPDPM_OK; i++) {
        error = stream_check_point(learner_of(b, i), x);
        if (learner_of(b, i)->next_id == MD_NONE)
            error = MAPDPM_E_IDS;
    }
    return error;
}

int mapdpm_bank_learn(mapdpm_bank *b, const md_real *x, uint32_t *id, md_real *score)
{
    md_real density, first = 0, *scores;
    uint32_t i, number;
    int error;

    if (b == NULL || x == NULL)
        return MAPDPM_E_ARGUMENT;
    error = check_all(b, x);
    if (error != MAPDPM_OK)
        return error;
    scores = scores_of(b);
    for (i = 0; i < b->n; i++) {
        error = mapdpm_learn(learner_of(b, i), x, &number, &density);
        if (error != MAPDPM_OK)
            return error;
        if (i == b->best && id)
            *id = number;
        if (i == b->best && score)
            *score = density;
        if (i == 0)
            first = density;
        scores[i] *= b->keep;
        scores[b->n + i] *= b->keep;
        if (is_present(density))
            add_compensated(scores + i, b->n, density - first);
    }
    for (number = b->best, i = 0; i < b->n; i++)
        if (scores[i] > scores[number])
            number = i;
    if (scores[number] > scores[b->best] + b->margin) {
        b->best = number;
        b->n_switches++;
    }
    return MAPDPM_OK;
}

mapdpm_stream *mapdpm_bank_stream(mapdpm_bank *b, uint32_t i)
{
    return b != NULL && i < b->n ? learner_of(b, i) : NULL;
}

int mapdpm_bank_score(const mapdpm_bank *b, uint32_t i, md_real *score)
{
    if (b == NULL || score == NULL || i >= b->n)
        return MAPDPM_E_ARGUMENT;
    *score = scores_of(b)[i];
    return MAPDPM_OK;
}

/* ==== alarm.c ======================================================================================================= */

/* Alarms: an alert where surprises stay at or below a level, one for each episode (docs/alarms.md). */

int mapdpm_alarm_init(mapdpm_alarm *alarm, mapdpm_real level, int64_t hold, uint32_t debounce)
{
    if (alarm == NULL || !(level > 0 && level < 1) || hold < 0 || hold > INT64_MAX / 2 || debounce < 1)
        return MAPDPM_E_ARGUMENT;
    alarm->now = 0;
    alarm->last = 0;
    alarm->hold = hold;
    alarm->level = level;
    alarm->debounce = debounce;
    alarm->run = 0;
    alarm->active = 0;
    return MAPDPM_OK;
}

static int update(mapdpm_alarm *alarm, mapdpm_real surprise, int64_t now)
{
    const int low = surprise <= alarm->level;
    const int64_t since = now - alarm->last;

    alarm->now = now;
    if (alarm->active != 0 && (low ? since > alarm->hold : since >= alarm->hold)) { /* it was quiet for long enough */
        alarm->active = 0;
        alarm->run = 0;
    }
    if (low == 0) {
        if (alarm->active == 0)
            alarm->run = 0;
        return 0;
    }
    alarm->last = now;
    if (alarm->active != 0)
        return 0;
    alarm->run++;
    if (alarm->run < alarm->debounce)
        return 0;
    alarm->active = 1;
    return 1;
}

static int is_tail(mapdpm_real surprise) { return !math_is_nan(surprise) && surprise >= 0; }

int mapdpm_alarm_update(mapdpm_alarm *alarm, mapdpm_real surprise)
{
    if (alarm == NULL || !is_tail(surprise) || alarm->now >= INT64_MAX / 2)
        return 0;
    return update(alarm, surprise, alarm->now + 1);
}

int mapdpm_alarm_update_at(mapdpm_alarm *alarm, mapdpm_real surprise, int64_t microseconds)
{
    if (alarm == NULL || !is_tail(surprise) || microseconds > INT64_MAX / 2 || microseconds < -(INT64_MAX / 2))
        return 0;
    if ((alarm->active == 0u && alarm->run == 0u) || microseconds > alarm->now) /* or there is no past that matters */
        return update(alarm, surprise, microseconds);
    return update(alarm, surprise, alarm->now);
}

/* ==== selftest.c ==================================================================================================== */

/* Whether this build computes as all others do. A flag of the compiler that the sources cannot forbid, a flag of the
 * linker or a mode of the processor may change arithmetic; then this says so. No value is known to the compiler, so
 * that nothing is computed before the program runs.
 */

enum { TEST_POINTS = 40, TEST_LOW = 3 }; /* moments: weight, mean, squares; then what rounding lost of each */

/* The CRC-32 of what was computed, continued by the bits of x, lowest byte first. */
static uint32_t with_bits(uint32_t crc, md_real x)
{
    const uint64_t bits = math_bits(x);
    unsigned char bytes[sizeof bits];
    size_t i;

    for (i = 0; i < sizeof x; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    return mapdpm_crc32(crc, bytes, sizeof x);
}

/* Whether there are NaN, infinity and numbers below the least normal one. */
static int has_special_values(md_real one)
{
    const volatile md_real unordered = math_nan();
    const md_real nan = unordered, infinity = one * FLOAT_OR_DOUBLE(FLT_MAX, DBL_MAX) * 2;
    const md_real least = one * FLOAT_OR_DOUBLE(FLT_MIN, DBL_MIN);
    const volatile md_real half = least / 2;
    const md_real below = half;

    return !(nan == nan) && !(nan >= 0) && !(nan < 0) && math_is_nan(nan) && !math_is_finite(nan) &&
           !math_is_finite(infinity) && !math_is_nan(infinity) && infinity > 0 && math_is_nan(infinity - infinity) &&
           below > 0 && below + below == least;
}

/* Single operations, each of which some flag would replace by others. */
static uint32_t crc_of_operations(uint32_t crc, md_real one)
{
    const md_real seven = one * 7;
    const md_real step = FLOAT_OR_DOUBLE(1.0 / 4096, 1.0 / 134217728), near = one + step;
    const md_real large = one * FLOAT_OR_DOUBLE(16777215, 9007199254740991), third = one / 3;
    const md_real all = large + third, rest = all - large;
    md_real n = one, sum[2];
    int i;

    for (i = 0; i < 9; i++, n += one) { /* divisions by the same number, and by a constant */
        crc = with_bits(crc, n / seven);
        crc = with_bits(crc, (n + 9) / seven + (n + 4) / seven);
        crc = with_bits(crc, n / 10);
    }
    crc = with_bits(crc, near * near - (one + 2 * step));          /* 0, unless fused */
    crc = with_bits(crc, (large - (all - rest)) + (third - rest)); /* 0 if sums were reordered */
    sum[0] = large;
    sum[1] = one - one;
    for (i = 0; i < 9; i++)
        add_compensated(sum, 1, one);
    return with_bits(with_bits(crc, sum[0]), sum[1]);
}

/* A cluster of one feature learns a stream: the steps of moments_add and normal_gamma_density. */
static uint32_t crc_of_cluster(uint32_t crc, md_real one)
{
    md_real moments[2 * TEST_LOW], *const mean = moments + 1, *const squares = moments + 2;
    uint32_t random = 2463534242u;
    int i;

    for (i = 0; i < 2 * TEST_LOW; i++)
        moments[i] = one - one;
    for (i = 0; i < TEST_POINTS; i++) {
        const md_real a = one + MD_HALF * *moments, c = *moments + (md_real)0.05;
        md_real square, excess = 0, logs = 0, x, delta, scale, nats;

        random = random * 1664525u + 1013904223u;
        x = (one * (md_real)(int32_t)(random >> 16) - 32768) / 3072;
        nats = math_half_rising(a, &square);
        scale = MD_HALF * c / (c + 1) / posterior_b(one, (md_real)0.05 * (*moments / c), *mean, *squares);
        delta = x - *moments / c * *mean;
        multiply_one_plus(&excess, &logs, delta * delta * scale);
        nats += MD_HALF * math_log(scale * (square / MATH_PI)) - (a + MD_HALF) * (logs + math_log1p(excess));
        crc = with_bits(crc, nats);
        crc = with_bits(crc, math_exp(nats - 1));

        add_compensated(moments, TEST_LOW, one);
        delta = (x - *mean) - low_part(mean, TEST_LOW);
        add_compensated(mean, TEST_LOW, delta * (one / *moments));
        add_compensated(squares, TEST_LOW, one * delta * ((x - *mean) - low_part(mean, TEST_LOW)));
    }
    for (i = 0; i < 2 * TEST_LOW; i++)
        crc = with_bits(crc, moments[i]);
    return crc;
}

int mapdpm_selftest(void)
{
    const volatile md_real unknown = 1;
    const md_real one = unknown;
    const uint32_t crc = crc_of_cluster(crc_of_operations(0, one), one);
    const uint32_t known = MATH_IS_FLOAT ? 0x581b1c4cu : 0x56f7df78u;

    return has_special_values(one) && crc == known ? MAPDPM_OK : MAPDPM_E_ARITHMETIC;
}

/* ==== stream_checks.c =============================================================================================== */

/* The checks of a learner that was read from a file: a forged one must do no harm. */

static int is_between(md_real x, md_real least, md_real most) { return x >= least && x <= most; }

/* Whether moments are those of at most `most` points, within the limits of learning. */
static int are_moments(const mapdpm_stream *s, const md_real *moments, md_real most, int has_low)
{
    const size_t D = MD_FEATURES(s), low = half_size(s);
    const md_real reach = 2 * COORDINATE_LIMIT, squares = LARGEST_REAL;
    size_t d, i;

    if (!is_between(*moments, 0, most))
        return 0;
    for (d = 0; d < D; d++)
        if (!is_between(counts_in(s, moments)[d * count_step(s)], 0, most) ||
            !is_between(mean_in(s, moments)[d], -reach, reach) || !is_between(squares_in(s, moments)[d], 0, squares))
            return 0;
    for (i = 0; COMPENSATED && has_low && i < low; i++) {
        const md_real range =
            moments + i < mean_in(s, moments) ? moments[i] / 2 : LARGEST_REAL; /* the weight stays above 0 */

        if (!is_between(moments[low + i], -range, range))
            return 0;
    }
    return 1;
}

/* Whether learning could have left this slot. */
static int is_slot(const mapdpm_stream *s, uint32_t k)
{
    const md_real most = MOST_WEIGHT * 2; /* weights are rounded when they are added */
    const uint32_t id = ids_of(s)[k];

    if (!are_moments(s, slot_of(s, k), most, 1) || !are_moments(s, half_of(s, k, 0), most, 0) ||
        !are_moments(s, half_of(s, k, 1), most, 0) || !is_between(*merge_loss_of(s, k), -LARGEST_REAL, LARGEST_REAL))
        return 0;
    if (HAS_BASE(s) && !(are_moments(s, own_of(s, k), most, 1) && is_between(*base_tables_of(s, k), 0, most)))
        return 0;
    if (merge_partner_of(s)[k] != MD_NONE && merge_partner_of(s)[k] >= MD_SLOTS(s))
        return 0;
    if (last_times_of(s)[k] < -(INT64_MAX / 2) ||
        (last_times_of(s)[k] > s->now && (is_used(s, k) || last_times_of(s)[k] != 0)))
        return 0;
    return !is_used(s, k) || (id >= MD_WARMUP(s) && id < s->next_id);
}

/* Move numbers[i] down until no child in numbers[0..n-1] is larger. */
static void sift(uint32_t *numbers, uint32_t n, uint32_t i)
{
    const uint32_t moved = numbers[i];

    while (i < n / 2) {
        uint32_t child = 2 * i + 1;

        if (child + 1 < n && numbers[child + 1] > numbers[child])
            child++;
        if (numbers[child] <= moved)
            break;
        numbers[i] = numbers[child];
        i = child;
    }
    numbers[i] = moved;
}

/* Whether no two clusters have the same id. O(K log K): a heap gives the ids from the largest down. It lies where the
 * score table will be, which is computed later. */
static int are_distinct(const mapdpm_stream *s)
{
    uint32_t *const numbers = (uint32_t *)address_of(s, s->at_columns);
    uint32_t n = 0, i;

    for (i = 0; i < MD_SLOTS(s); i++)
        if (is_used(s, i)) {
            numbers[n] = ids_of(s)[i];
            n++;
        }
    for (i = n / 2; i > 0; i--)
        sift(numbers, n, i - 1);
    while (n > 1) {
        const uint32_t largest = numbers[0];

        n--;
        numbers[0] = numbers[n];
        sift(numbers, n, 0);
        if (numbers[0] == largest)
            return 0;
    }
    return 1;
}

static int is_event(const mapdpm_stream *s, size_t i)
{
    const uint32_t *const event = event_ring_of(s) + WORDS_PER_EVENT * i;

    return i >= s->n_events ||
           (event[0] >= MAPDPM_CREATED && event[0] <= MAPDPM_PRIOR && event[1] < s->next_id && event[2] < s->next_id);
}

/* Whether a kept point is valid: one of a warm-up that is not over, or one of the window. */
static int is_kept_point(const mapdpm_stream *s, size_t i)
{
    const int matters = IS_WARMING(s) ? i < s->n_seen : i < MD_WINDOW(s) && window_ids_of(s)[i] != MD_NONE;
    size_t d;

    if (times_of(s)[i] < -(INT64_MAX / 2) || (times_of(s)[i] > s->now && (matters || times_of(s)[i] != 0)))
        return 0;
    if (!matters)
        return 1;
    if (!IS_WARMING(s) && window_ids_of(s)[i] >= s->next_id)
        return 0;
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real x = points_of(s)[i * MD_FEATURES(s) + d];

        const md_real most = IS_WARMING(s) ? WARMUP_LIMIT : COORDINATE_LIMIT;

        if (is_present(x)
                ? !is_between(IS_WARMING(s) ? x : coordinate(s, points_of(s) + i * MD_FEATURES(s), d), -most, most)
                : !HAS_MISSING(s))
            return 0;
    }
    return 1;
}

/* Whether learning could have left the groups like this. */
static int are_groups(const mapdpm_stream *s)
{
    const md_real most = MOST_WEIGHT * 2;
    const uint32_t n = *n_groups_of(s);
    md_real all = *gamma_of(s);
    uint32_t k, i;
    size_t j;

    if (n > groups_of(s))
        return 0;
    for (i = 0; i < n; i++)
        if (group_numbers_of(s)[i] == MD_NONE)
            return 0;
    for (j = 0; j < buffer_size(s); j++)
        if (point_rows_of(s)[j] != MD_NONE && point_rows_of(s)[j] >= n)
            return 0;
    for (k = 0; k < MD_SLOTS(s); k++) {
        if (is_used(s, k) && !(tables_of(s)[k] > 0))
            return 0;
        all += is_used(s, k) ? tables_at(s, k, decay_of(s, k, s->now)) : 0;
    }
    for (j = 0; j + 1 < group_reals(s); j++) {
        const int is_low = COMPENSATED && tables_of(s) + j >= cells_of(s, 0) + n_cells(s) &&
                           tables_of(s) + j < half_cells_of(s, 0, 0);

        if (!is_between(tables_of(s)[j], is_low ? -most : 0, most))
            return 0;
    }
    return *all_tables_of(s) >= *gamma_of(s) &&
           is_between(*all_tables_of(s), (md_real)0.99 * all, (md_real)1.01 * all); /* it is a sum of rounded parts */
}

/* Whether nothing is known of a slot without a state. */
static int is_empty_state(const mapdpm_stream *s, uint32_t k)
{
    md_real sum = state_tables(s)[k] + belief_of(s)[k];
    size_t i;

    for (i = 0; i <= MD_SLOTS(s); i++)
        sum += counts_from(s, i)[k] + (i < MD_SLOTS(s) ? counts_from(s, k)[i] : 0);
    for (i = 0; i < *n_waiting_of(s); i++)
        sum += waiting_belief(s, i)[k];
    return sum <= 0; /* none is negative */
}

/* Whether these are probabilities of slots, whose sum is `all` but for rounding. */
static int is_belief(const mapdpm_stream *s, const md_real *belief, int all)
{
    md_real sum = 0;
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++) {
        if (!is_between(belief[k], 0, 2))
            return 0;
        sum += belief[k];
    }
    return is_between(sum, (md_real)all * (md_real)0.99, (md_real)all * (md_real)1.01);
}

/* Whether learning could have left the states in time like this. */
static int are_states(const mapdpm_stream *s)
{
    const md_real most = MOST_WEIGHT * 2;
    const size_t n = *n_waiting_of(s), slots = MD_SLOTS(s);
    const int is_known = *state_id_of(s) != MD_NONE;
    md_real all = *share_gamma(s);
    size_t i, d;
    uint32_t k;

    if (n > 0 && n >= waiting_room(s))
        return 0;
    if ((*last_slot_of(s) != MD_NONE && (*last_slot_of(s) >= slots || !is_used(s, *last_slot_of(s)))) ||
        (*last_half_of(s) != MD_NONE && *last_half_of(s) > 1) || (*decayed_to(s) > s->now && *decayed_to(s) != 0) ||
        *decayed_to(s) < -(INT64_MAX / 2))
        return 0;
    for (i = 0; share_gamma(s) + i < waiting_point(s, 0); i++)
        if (!is_between(share_gamma(s)[i], 0, most))
            return 0;
    for (k = 0; k < slots; k++) {
        if (is_used(s, k) ? !(state_tables(s)[k] > 0) : !is_empty_state(s, k))
            return 0;
        all += state_tables(s)[k];
    }
    if (!is_between(*state_total(s), all, all) || !is_belief(s, belief_of(s), is_known))
        return 0;
    for (i = 0; i < n; i++)
        if (!is_belief(s, waiting_belief(s, i), 1))
            return 0;
    for (i = 0; i < n; i++)
        for (d = 0; d < MD_FEATURES(s); d++) {
            const md_real *const x = waiting_point(s, i);

            if (is_present(x[d]) ? !is_between(coordinate(s, x, d), -COORDINATE_LIMIT, COORDINATE_LIMIT)
                                 : !HAS_MISSING(s))
                return 0;
        }
    return *state_id_of(s) == MD_NONE || *state_id_of(s) < s->next_id;
}

/* Whether learning could have counted tails like this. */
static int are_counts(const mapdpm_stream *s)
{
    uint32_t i;

    for (i = 0; i < SURPRISE_BINS; i++)
        if (!is_between(tail_counts(s)[i], 0, MOST_WEIGHT))
            return 0;
    for (i = 0; i < MD_SLOTS(s); i++) {
        const uint32_t standing = standing_of(s)[i];

        if (is_used(s, i) ? (standing & ~MD_RARE) > MOST_STANDING : standing > 0)
            return 0;
    }
    return *next_to_check(s) < MD_SLOTS(s) && *counting_period(s) <= MOST_STANDING &&
           *counted_in_period(s) <= MOST_STANDING;
}

/* Whether points could wait like this. They are checked when they are learned. */
static int is_queue(const mapdpm_stream *s)
{
    int64_t before = s->now;
    uint32_t i, place = *queue_first(s);

    if (*queue_length(s) > MD_QUEUE(s) || place >= MD_QUEUE(s) ||
        (*queue_length(s) > 0 && IS_WARMING(s) && !is_settling(s)))
        return 0;
    for (i = 0; i < *queue_length(s) && s->clock == CLOCK_MICROSECONDS; i++) {
        if (queue_times(s)[place] < before || queue_times(s)[place] > INT64_MAX / 2)
            return 0;
        before = queue_times(s)[place];
        place = place + 1 < MD_QUEUE(s) ? place + 1 : 0;
    }
    return 1;
}

/* Whether learning could have left this learner. */
int stream_is_valid(const mapdpm_stream *s)
{
    uint32_t k, used = 0;
    size_t i;

    if (s->clock > CLOCK_MICROSECONDS || s->warming > 1 || s->turn >= MD_SLOTS(s) || s->next_id < MD_WARMUP(s))
        return 0;
    if (s->now > INT64_MAX / 2 || s->now < -(INT64_MAX / 2) || (s->clock != CLOCK_MICROSECONDS && s->now < 0))
        return 0;
    if (s->n_seen > INT64_MAX || s->n_events > INT64_MAX) /* the next ones are counted too */
        return 0;
    if (s->visited > 0 && s->visited >= MD_WINDOW(s))
        return 0;
    if (IS_WARMING(s) ? MD_WARMUP(s) == 0 || s->n_seen >= MD_WARMUP(s) + (MD_QUEUE(s) > 0) || s->next_id != MD_WARMUP(s)
                      : s->n_seen < MD_WARMUP(s))
        return 0;
    for (k = 0; k < MD_SLOTS(s); k++) {
        used += (uint32_t)is_used(s, k);
        if (!is_slot(s, k))
            return 0;
    }
    if (used != s->n_clusters || (IS_WARMING(s) && used > 0) || !are_distinct(s))
        return 0;
    for (i = 0; i < RING_SIZE(s); i++)
        if (!is_event(s, i))
            return 0;
    for (i = 0; !IS_WARMING(s) && i < MD_WARMUP(s); i++)
        if (warmup_labels_of(s)[i] != MD_NONE &&
            (warmup_labels_of(s)[i] < MD_WARMUP(s) || warmup_labels_of(s)[i] >= s->next_id))
            return 0;
    for (i = 0; IS_WARMING(s) && i < MD_WINDOW(s); i++)
        if (window_ids_of(s)[i] != MD_NONE)
            return 0;
    for (i = 0; i < buffer_size(s); i++)
        if (!is_kept_point(s, i))
            return 0;
    if ((HAS_SURPRISE(s) && !are_counts(s)) || (MD_QUEUE(s) > 0 && !is_queue(s)))
        return 0;
    return HAS_GROUPS(s) ? are_groups(s) : !HAS_STATES(s) || are_states(s);
}

/* ==== stream_snapshot.c ============================================================================================= */

/* A stream learner to a file and back, bit for bit, at once or in pieces (docs/format.md, kinds 2, 4 and 7). */

/* ==== mapdpm_cursor.h =============================================================================================== */

/* A file on its way to the caller's function or from it, in pieces. Internal; static inlines. */
#ifndef MAPDPM_CURSOR_H
#define MAPDPM_CURSOR_H

/* The bytes of a file on their way, to the caller's function or from it: one of the two is NULL. */
typedef struct {
    mapdpm_put put;
    mapdpm_get get;
    void *context;
    uint32_t crc;
    int sums;  /* whether the CRC is needed */
    int error; /* the first of the caller's function; then nothing more moves */
} cursor;

static inline void transfer_bytes(cursor *c, unsigned char *bytes, size_t n)
{
    if (c->error != MAPDPM_OK || n == 0)
        return;
    c->error = c->put ? c->put(c->context, bytes, n) : c->get(c->context, bytes, n);
    if (c->sums && c->error == MAPDPM_OK)
        c->crc = mapdpm_crc32(c->crc, bytes, n);
}

/* n entries of a size. Memory is as the file on a little-endian machine; another one takes a block at a time. */
static inline void transfer(cursor *c, void *entries, size_t n, size_t size)
{
    unsigned char *const bytes = (unsigned char *)entries;
    unsigned char block[32];
    size_t i, m;

    if (is_little_endian()) {
        transfer_bytes(c, bytes, n * size);
        return;
    }
    for (i = 0; i < n; i += m) {
        m = n - i < sizeof block / size ? n - i : sizeof block / size;
        if (c->put)
            copy_entries(block, bytes + i * size, m, size);
        transfer_bytes(c, block, m * size);
        if (c->get)
            copy_entries(bytes + i * size, block, m, size);
    }
}

/* A file in memory as context: the place of its next byte. */
typedef struct {
    unsigned char *to;
    const unsigned char *from;
} in_memory;

static inline int put_to_memory(void *context, const unsigned char *bytes, size_t n)
{
    in_memory *const p = (in_memory *)context;

    memcpy(p->to, bytes, n);
    p->to += n;
    return MAPDPM_OK;
}

static inline int get_from_memory(void *context, unsigned char *bytes, size_t n)
{
    in_memory *const p = (in_memory *)context;

    memcpy(bytes, p->from, n);
    p->from += n;
    return MAPDPM_OK;
}

static inline cursor writer(mapdpm_put put, void *context)
{
    cursor c = {NULL, NULL, NULL, 0, 1, MAPDPM_OK};

    c.put = put;
    c.context = context;
    return c;
}

static inline cursor reader(mapdpm_get get, void *context, int sums)
{
    cursor c = {NULL, NULL, NULL, 0, 0, MAPDPM_OK};

    c.get = get;
    c.context = context;
    c.sums = sums;
    return c;
}

#endif

/* The options. They come first, because they determine how much memory the rest needs. */
static void transfer_options(cursor *c, mapdpm_options *o, int kind)
{
    transfer(c, &o->warmup, 1, 4);
    transfer(c, &o->window, 1, 4);
    transfer(c, &o->when_full, 1, 4);
    transfer(c, &o->missing, 1, 4);
    transfer(c, &o->alpha, 1, MD_REAL);
    transfer(c, &o->log_alpha, 1, MD_REAL);
    transfer(c, &o->half_life, 1, MD_REAL);
    if (o->surprise)
        transfer(c, &o->rare, 1, MD_REAL);
    if (o->queue)
        transfer(c, &o->queue, 1, 4);
    if (kind == STREAM_OF_STATES) {
        transfer(c, &o->lag, 1, 4);
        transfer(c, &o->gamma, 1, MD_REAL);
        transfer(c, &o->kappa, 1, MD_REAL);
    }
    if (kind == STREAM_OF_GROUPS) {
        transfer(c, &o->max_groups, 1, 4);
        transfer(c, &o->when_groups_full, 1, 4);
        transfer(c, &o->with_base, 1, 4);
        transfer(c, &o->gamma, 1, MD_REAL);
    }
}

/* Everything except the options and the parameters. Writing and reading share this one description. */
static void transfer_counters(cursor *c, mapdpm_stream *s)
{
    transfer(c, &s->n_seen, 1, 8);
    transfer(c, &s->n_events, 1, 8);
    transfer(c, &s->now, 1, 8);
    transfer(c, &s->next_id, 1, 4);
    transfer(c, &s->turn, 1, 4);
    transfer(c, &s->n_clusters, 1, 4);
    transfer(c, &s->clock, 1, 4);
    transfer(c, &s->warming, 1, 4);
    transfer(c, &s->visited, 1, 4);
}

/* Entries of clusters. While a warm-up is settled there are clusters on trial: a file has zeros in their place, as it had
 * before the first step, and its reader begins anew. */
static void transfer_clusters(cursor *c, const mapdpm_stream *s, void *entries, size_t n, size_t size)
{
    unsigned char zeros[32];
    size_t left = n * size, m;

    if (c->get || !has_trials(s)) {
        transfer(c, entries, n, size);
        return;
    }
    memset(zeros, 0, sizeof zeros);
    for (; left > 0; left -= m) {
        m = left < sizeof zeros ? left : sizeof zeros;
        transfer_bytes(c, zeros, m);
    }
}

static void transfer_arrays(cursor *c, mapdpm_stream *s)
{
    const size_t K = MD_SLOTS(s), B = buffer_size(s);

    transfer_clusters(c, s, last_times_of(s), K, 8);
    transfer(c, times_of(s), B, 8);
    transfer_clusters(c, s, slot_of(s, 0), K * slot_size(s), MD_REAL);
    transfer(c, points_of(s), B * MD_FEATURES(s), MD_REAL);
    transfer_clusters(c, s, ids_of(s), 2 * K, 4); /* and last_seen_of */
    transfer(c, merge_partner_of(s), 2 * K, 4);   /* and trials_of: only learning sets them */
    transfer_clusters(c, s, event_ring_of(s), WORDS_PER_EVENT * (size_t)RING_SIZE(s) + MD_WARMUP(s), 4);
    transfer(c, window_ids_of(s), MD_WINDOW(s), 4);
    if (HAS_SURPRISE(s)) {
        transfer(c, tail_counts(s), SURPRISE_BINS, MD_REAL);
        transfer_clusters(c, s, standing_of(s), K, 4);
        transfer(c, next_to_check(s), SURPRISE_WORDS, 4);
    }
    if (HAS_GROUPS(s)) {
        transfer(c, n_groups_of(s), 1, 4);
        transfer(c, all_tables_of(s), 1, MD_REAL);
        transfer_clusters(c, s, tables_of(s), group_reals(s) - 1, MD_REAL);
        transfer(c, group_numbers_of(s), 2 * groups_of(s) + B, 4);
    }
    if (HAS_STATES(s)) {
        transfer(c, decayed_to(s), 1, 8);
        transfer(c, n_waiting_of(s), TIME_WORDS, 4);
        transfer(c, state_total(s), time_reals(s) - 2, MD_REAL);
    }
    if (MD_QUEUE(s) > 0) {
        transfer(c, queue_times(s), MD_QUEUE(s), 8);
        transfer(c, queue_points(s), MD_QUEUE(s) * (size_t)MD_FEATURES(s), MD_REAL);
        transfer(c, queue_length(s), 2 + (size_t)MD_QUEUE(s), 4);
    }
}

enum { COUNTERS = 3 * 8 + 6 * 4 };

static size_t options_bytes(int kind, uint64_t flags)
{
    const size_t most =
        4 * 4 + 3 * MD_REAL + (flags & WITH_SURPRISE ? MD_REAL : 0u) + (flags & WITH_QUEUE ? 4u : 0u);

    if (kind == STREAM_OF_GROUPS)
        return most + 3 * 4 + MD_REAL;
    return kind == STREAM_OF_STATES ? most + 4 + 2 * MD_REAL : most;
}

static int kind_of(const mapdpm_stream *s)
{
    return HAS_GROUPS(s) ? STREAM_OF_GROUPS : HAS_STATES(s) ? STREAM_OF_STATES : MD_STREAM;
}

static unsigned flags_in(const mapdpm_stream *s)
{
    return (HAS_SURPRISE(s) ? WITH_SURPRISE : 0u) | (MD_QUEUE(s) > 0 ? WITH_QUEUE : 0u);
}

/* What the kind and the flags add to the state. */
static uint64_t more_bytes(const mapdpm_stream *s)
{
    const uint64_t words = 1 + 2 * (uint64_t)groups_of(s) + buffer_size(s), queue = MD_QUEUE(s);
    const uint64_t waiting = queue > 0 ? queue * (12 + MD_REAL * (uint64_t)MD_FEATURES(s)) + 8 : 0;

    if (HAS_SURPRISE(s))
        return waiting + MD_REAL * (uint64_t)SURPRISE_BINS + 4 * ((uint64_t)MD_SLOTS(s) + SURPRISE_WORDS);
    if (HAS_GROUPS(s))
        return waiting + MD_REAL * (uint64_t)group_reals(s) + 4 * words;
    return waiting + (HAS_STATES(s) ? 8 + 4 * TIME_WORDS + MD_REAL * (uint64_t)(time_reals(s) - 2) : 0);
}

static uint64_t body_bytes(const mapdpm_stream *s)
{
    const uint64_t K = MD_SLOTS(s), B = buffer_size(s), D = MD_FEATURES(s);

    return options_bytes(kind_of(s), flags_in(s)) + COUNTERS + more_bytes(s) +
           MD_REAL * (mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s)) + K * slot_size(s) + B * D) +
           8 * (K + B) +
           4 * (WORDS_PER_SLOT * K + WORDS_PER_EVENT * (uint64_t)RING_SIZE(s) + MD_WARMUP(s) + MD_WINDOW(s));
}

size_t mapdpm_snapshot_bytes(const mapdpm_stream *s)
{
    const uint64_t bytes = is_none(s) ? 0 : MD_HEADER + body_bytes(s) + MD_CRC;

    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int send_learner(const mapdpm_stream *stream, const uint32_t *sequence, cursor *c)
{
    mapdpm_stream *const s = (mapdpm_stream *)(uintptr_t)stream; /* only read */
    const size_t more = sequence != NULL ? (size_t)MAPDPM_SEQUENCE_BYTES : 0u;
    unsigned char block[MAPDPM_SEQUENCE_BYTES];
    uint32_t sizes[5], i;
    mapdpm_options o;
    mapdpm_stream head;

    sizes[0] = MD_FEATURES(s);
    sizes[1] = MD_SLOTS(s);
    sizes[2] = (uint32_t)mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s));
    sizes[3] = (uint32_t)slot_size(s);
    sizes[4] = (uint32_t)more;
    (void)mapdpm_file_begin(block, kind_of(s), (int32_t)s->family, sizes, (uint64_t)mapdpm_snapshot_bytes(s) + more);
    (void)put_bytes(block + MD_FLAGS, flags_in(s), 2);
    transfer_bytes(c, block, MD_HEADER);
    (void)mapdpm_get_options(s, &o);
    transfer_options(c, &o, kind_of(s));
    for (i = 0; i < sizes[2]; i++) {
        md_real parameter = IS_WARMING(s) ? 0 : stream_parameter(s, i);

        transfer(c, &parameter, 1, MD_REAL);
    }
    head = *s;
    if (has_trials(s)) {
        head.n_events = 0;
        head.n_clusters = 0;
        head.next_id = MD_WARMUP(s);
    }
    transfer_counters(c, &head);
    transfer_arrays(c, s);
    if (sequence) {
        sequence_write(block, *sequence);
        transfer_bytes(c, block, more);
    }
    (void)put_bytes(block, c->crc, MD_CRC);
    transfer_bytes(c, block, MD_CRC);
    return c->error;
}

int mapdpm_snapshot_write(const mapdpm_stream *s, unsigned char *file, size_t capacity, size_t *file_bytes)
{
    const size_t total = mapdpm_snapshot_bytes(s);
    in_memory p = {NULL, NULL};
    cursor c = writer(put_to_memory, &p);

    if (total == 0 || file == NULL || file_bytes == NULL)
        return MAPDPM_E_ARGUMENT;
    if (capacity < total)
        return MAPDPM_E_SPACE;
    p.to = file;
    *file_bytes = total;
    return send_learner(s, NULL, &c);
}

int mapdpm_snapshot_send(const mapdpm_stream *s, const uint32_t *sequence, mapdpm_put put, void *context)
{
    cursor c = writer(put, context);

    if (mapdpm_snapshot_bytes(s) == 0 || put == NULL)
        return MAPDPM_E_ARGUMENT;
    return send_learner(s, sequence, &c);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int kind_in(const unsigned char *header)
{
    return header[6] == STREAM_OF_GROUPS || header[6] == STREAM_OF_STATES ? header[6] : MD_STREAM;
}

/* The options of a file whose header is in order. */
static int read_options(cursor *c, const unsigned char *header, mapdpm_options *o)
{
    const int kind = kind_in(header);
    const uint64_t flags = get_bytes(header + MD_FLAGS, 2);

    memset(o, 0, sizeof *o);
    o->surprise = (flags & WITH_SURPRISE) != 0;
    o->queue = (flags & WITH_QUEUE) != 0;
    if (total_in(header) < MD_HEADER + options_bytes(kind, flags) + COUNTERS + MD_CRC)
        return MAPDPM_E_DAMAGED;
    o->family = (int32_t)get_bytes(header + 8, 2);
    o->n_features = get32(header + 12);
    o->max_clusters = get32(header + 16);
    transfer_options(c, o, kind);
    if (c->error != MAPDPM_OK)
        return c->error;
    if ((kind == STREAM_OF_GROUPS && o->max_groups == 0) || (kind == STREAM_OF_STATES && o->lag == 0) ||
        (o->queue == 0 && (flags & WITH_QUEUE) != 0))
        return MAPDPM_E_DAMAGED;
    if (!is_compiled_for(o))
        return MAPDPM_E_KIND;
    return mapdpm_stream_bytes(o) > 0 ? MAPDPM_OK : MAPDPM_E_DAMAGED;
}

int mapdpm_snapshot_options(const unsigned char *file, size_t file_bytes, mapdpm_options *o)
{
    in_memory p = {NULL, NULL};
    cursor c = reader(get_from_memory, &p, 0);
    int error;

    if (file == NULL || o == NULL)
        return MAPDPM_E_ARGUMENT;
    error = mapdpm_file_check(file, file_bytes, file_bytes >= MD_HEADER ? kind_in(file) : MD_STREAM);
    if (error != MAPDPM_OK)
        return error;
    p.from = file + MD_HEADER;
    return read_options(&c, file, o);
}

/* Compute the parts that a file leaves out because they follow from others. */
static void derive(mapdpm_stream *s)
{
    uint32_t k;

    s->width = 0;
    s->at_event = (uint32_t)modulo(s->n_events, RING_SIZE(s));
    for (k = 0; k < MD_SLOTS(s); k++)
        if (is_used(s, k))
            stream_refresh(s, k);
        else
            constants_of(s)[k] = -LARGEST_REAL;
    if (HAS_STATES(s))
        states_prepare(s);
}

/* Set the prior from the parameters of a file, which are all 0 while there is none. */
static int restore_prior(mapdpm_stream *s, const md_real *parameters, size_t n)
{
    const uint32_t warming = s->warming;
    int error = MAPDPM_OK;
    size_t i;

    if (!IS_WARMING(s)) {
        s->warming = MD_WARMUP(s) > 0; /* as when it was set first */
        error = stream_set_prior(s, parameters);
        s->warming = warming;
        return error;
    }
    for (i = 0; i < n * sizeof(md_real) && error == MAPDPM_OK; i++)
        if (((const unsigned char *)parameters)[i] != 0)
            error = MAPDPM_E_DAMAGED;
    return error;
}

/* The learner in a file whose header and options are in order. The memory is large enough. */
static int read_learner(cursor *c, const unsigned char *header, const mapdpm_options *o, mapdpm_stream *s)
{
    const size_t n = mapdpm_n_parameters(o->family, o->n_features);
    md_real *parameters;
    int error = stream_reset(s, o);

    if (error != MAPDPM_OK || total_in(header) != (uint64_t)mapdpm_snapshot_bytes(s) + get32(header + 28) ||
        get32(header + 20) != n || get32(header + 24) != slot_size(s) || !(o->log_alpha == s->log_alpha))
        return MAPDPM_E_DAMAGED;
    s->log_alpha = o->log_alpha;   /* a zero keeps its sign */
    parameters = half_of(s, 0, 0); /* free memory until the slots are read */
    transfer(c, parameters, n, MD_REAL);
    transfer_counters(c, s);
    if (c->error != MAPDPM_OK)
        return c->error;
    if (s->warming > 1 || (s->warming == 1 && MD_WARMUP(s) == 0) || restore_prior(s, parameters, n) != MAPDPM_OK)
        return MAPDPM_E_DAMAGED;
    transfer_arrays(c, s);
    if (c->error != MAPDPM_OK)
        return c->error;
    if (s->clock == CLOCK_MICROSECONDS)
        s->rate /= 1000000;
    if (!stream_is_valid(s))
        return MAPDPM_E_DAMAGED;
    if (has_trials(s))
        settle_begin(settling_of(s));
    derive(s);
    return MAPDPM_OK;
}

static int check_memory(const mapdpm_stream *s, size_t bytes, const mapdpm_options *o)
{
    const int has_space = bytes >= mapdpm_stream_bytes(o);

    return s == NULL || !is_aligned(s) ? MAPDPM_E_ARGUMENT : has_space ? MAPDPM_OK : MAPDPM_E_SPACE;
}

int mapdpm_snapshot_read(mapdpm_stream *s, size_t bytes, const unsigned char *file, size_t file_bytes)
{
    mapdpm_options o;
    in_memory p = {NULL, NULL};
    cursor c = reader(get_from_memory, &p, 0);
    int error = mapdpm_snapshot_options(file, file_bytes, &o);

    if (error == MAPDPM_OK)
        error = check_memory(s, bytes, &o);
    if (error != MAPDPM_OK)
        return error;
    p.from = file + MD_HEADER + options_bytes(kind_in(file), get_bytes(file + MD_FLAGS, 2));
    error = read_learner(&c, file, &o, s);
    if (error != MAPDPM_OK)
        s->bytes = 0;
    return error;
}

/* The rest of a file: the additions, and the CRC. */
static int read_end(cursor *c, uint32_t n)
{
    unsigned char block[32];
    uint32_t crc, m;

    for (; n > 0 && c->error == MAPDPM_OK; n -= m) {
        m = n < sizeof block ? n : (uint32_t)sizeof block;
        transfer_bytes(c, block, m);
    }
    crc = c->crc;
    transfer_bytes(c, block, MD_CRC);
    if (c->error != MAPDPM_OK)
        return c->error;
    return get32(block) == crc ? MAPDPM_OK : MAPDPM_E_DAMAGED;
}

int mapdpm_snapshot_receive(mapdpm_stream *s, size_t bytes, mapdpm_get get, void *context)
{
    cursor c = reader(get, context, 1);
    unsigned char header[MD_HEADER] = {0};
    mapdpm_options o;
    int error;

    if (s == NULL || get == NULL)
        return MAPDPM_E_ARGUMENT;
    transfer_bytes(&c, header, MD_HEADER);
    if (c.error != MAPDPM_OK)
        return c.error;
    if (get32(header) != MD_MAGIC)
        return MAPDPM_E_FOREIGN;
    error = mapdpm_header_check(header, total_in(header), kind_in(header));
    if (error == MAPDPM_OK)
        error = read_options(&c, header, &o);
    if (error == MAPDPM_OK)
        error = check_memory(s, bytes, &o);
    if (error != MAPDPM_OK)
        return error;
    error = read_learner(&c, header, &o, s);
    if (error == MAPDPM_OK)
        error = read_end(&c, get32(header + 28));
    if (error != MAPDPM_OK)
        s->bytes = 0;
    return error;
}

/* ==== slots.c ======================================================================================================= */

/* Files in slots of a flash: their length, their sequence number, and the latest of them. */

/* A sequence number is an addition of Python's form: the length of a JSON text, and the text. The number takes ten
 * places, so that all files have one length. */
enum { BEFORE = 23, DIGITS = 10, AFTER = 16, TEXT = BEFORE + DIGITS + AFTER };
static const char BEFORE_TEXT[] = "{\"plain\": {\"sequence\": ", AFTER_TEXT[] = "}, \"arrays\": []}";

typedef char text_is_counted[sizeof BEFORE_TEXT == BEFORE + 1 && sizeof AFTER_TEXT == AFTER + 1 &&
                                     TEXT + 4 == MAPDPM_SEQUENCE_BYTES
                                 ? 1
                                 : -1];

void sequence_write(unsigned char *p, uint32_t sequence)
{
    size_t i;

    p = put_bytes(p, TEXT, 4);
    memcpy(p, BEFORE_TEXT, BEFORE);
    memcpy(p + BEFORE + DIGITS, AFTER_TEXT, AFTER);
    for (i = DIGITS; i > 0; i--, sequence /= 10)
        p[BEFORE + i - 1] = (unsigned char)(sequence > 0 || i == DIGITS ? '0' + sequence % 10 : ' ');
}

static int is_text(const unsigned char *p, const char *text, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (p[i] != (unsigned char)text[i])
            return 0;
    return 1;
}

/* Whether additions are a sequence number, which is then set. */
static int is_sequence(const unsigned char *p, uint32_t *sequence)
{
    uint64_t number = 0;
    size_t i;

    if (get32(p) != TEXT || !is_text(p + 4, BEFORE_TEXT, BEFORE) || !is_text(p + 4 + BEFORE + DIGITS, AFTER_TEXT, AFTER))
        return 0;
    for (i = 0; i < DIGITS; i++) {
        const unsigned char c = p[4 + BEFORE + i];

        if (c >= '0' && c <= '9')
            number = 10 * number + (c - (unsigned)'0');
        else if (c != ' ' || number > 0)
            return 0;
    }
    *sequence = (uint32_t)number;
    return number <= UINT32_MAX;
}

size_t mapdpm_file_bytes(const unsigned char *header, size_t n)
{
    uint64_t total;

    if (header == NULL || n < MD_HEADER || get32(header) != MD_MAGIC)
        return 0;
    total = total_in(header);
    return total >= MD_HEADER + MD_CRC && total <= SIZE_MAX ? (size_t)total : 0;
}

int mapdpm_snapshot_sequence(const unsigned char *file, size_t file_bytes, uint32_t *sequence)
{
    int error;

    if (file == NULL || sequence == NULL)
        return MAPDPM_E_ARGUMENT;
    error = mapdpm_file_check(file, file_bytes, file_bytes > MD_HEADER ? file[6] : MD_STREAM);
    if (error != MAPDPM_OK)
        return error;
    if (get32(file + 28) != MAPDPM_SEQUENCE_BYTES || file_bytes < MD_HEADER + MAPDPM_SEQUENCE_BYTES + MD_CRC)
        return MAPDPM_E_UNKNOWN;
    return is_sequence(file + file_bytes - MD_CRC - MAPDPM_SEQUENCE_BYTES, sequence) ? MAPDPM_OK : MAPDPM_E_UNKNOWN;
}

int mapdpm_snapshot_newest(const unsigned char *const *slots, size_t n_slots, size_t slot_bytes, size_t *newest,
                           uint32_t *sequence)
{
    uint32_t latest = 0, number;
    size_t i;
    int found = 0;

    if (slots == NULL || newest == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n_slots; i++) {
        const size_t bytes = mapdpm_file_bytes(slots[i], slot_bytes);

        if (bytes == 0 || bytes > slot_bytes || mapdpm_snapshot_sequence(slots[i], bytes, &number) != MAPDPM_OK)
            continue;
        if (found && (int32_t)(number - latest) <= 0) /* numbers wrap */
            continue;
        found = 1;
        latest = number;
        *newest = i;
    }
    if (found && sequence)
        *sequence = latest;
    return found ? MAPDPM_OK : MAPDPM_E_UNKNOWN;
}

/* ==== features.c ==================================================================================================== */

/* Pipelines of causal transformers: steps are checked and laid out, and points go through them (docs/maths.md, section
 * 32). A pipeline is a straight-line program: each step is a function of the point or of an earlier step.
 */

/* ==== mapdpm_transformers.h ========================================================================================= */

/* The memory layout of a pipeline of transformers. Internal; static inlines.
 *
 * head | steps, planned[n] | state of each step (reals, which a file holds) | derived: tables and results of each step
 * (reals) | counters of each step (uint32, which a file holds). docs/c-library.md counts every word.
 */
#ifndef MAPDPM_TRANSFORMERS_H
#define MAPDPM_TRANSFORMERS_H

/* Whether there is no pipeline: no memory, or memory that mapdpm_features_init or _read could not fill. */
static inline int is_no_pipeline(const mapdpm_features *f) { return f == NULL || f->bytes == 0; }

enum { MOST_STEPS = 64 };
#define LARGEST_WIDTH UINT32_C(65536)
#define LONGEST_LAG UINT32_C(65535)
#define LARGEST_BLOCK UINT32_C(1048576)
enum { HOURS = 24, DAYS = 7, HOURS_OF_WEEK = 168, MINUTES_OF_DAY = 1440 };
/* Reals a feature of CENTRE besides its ring, and of SEASONAL besides its bins. */
enum { CENTRE_SUMS = 4, SEASONAL_SUMS = 2 };

/* The largest value of a point or a result: the squares of a block have a sum. */
#define FEATURE_LIMIT FLOAT_OR_DOUBLE(1125899906842624, 3.1217485503159922e+144)

/* A step, and the places of its parts. */
typedef struct {
    mapdpm_step step;
    uint32_t from;      /* features of the source */
    uint32_t width;     /* features of the result */
    uint32_t emits;     /* 1: the result is that of the last point */
    uint32_t at_state;  /* first of its reals */
    uint32_t at_table;  /* first of its coefficients */
    uint32_t at_result; /* first value of its result */
    uint32_t at_words;  /* first of its counters */
    uint32_t reserved;
} planned_step;

/* The sizes of the parts of a step. */
typedef struct {
    uint64_t state, table, words;
} step_sizes;

static inline planned_step *steps_of(const mapdpm_features *f)
{
    return (planned_step *)(void *)((unsigned char *)(uintptr_t)f + sizeof *f);
}
static inline md_real *state_of(const mapdpm_features *f) { return (md_real *)(void *)(steps_of(f) + f->n_steps); }
static inline md_real *derived_of(const mapdpm_features *f) { return state_of(f) + f->n_state; }
static inline uint32_t *counters_of(const mapdpm_features *f)
{
    return (uint32_t *)(void *)(derived_of(f) + f->n_derived);
}

static inline int is_missing(md_real x) { return math_is_nan(x); }

static inline uint32_t n_bins(const planned_step *p) { return p->step.end - p->step.first; }

/* Make a pipeline that has seen nothing from n steps, of the program or of a file. */
MAPDPM_INTERNAL int features_plan(mapdpm_features *f, const mapdpm_step *steps, const unsigned char *file, uint32_t n,
                                  uint32_t n_features);
/* The bytes of its memory; 0 if a step is invalid. */
MAPDPM_INTERNAL uint64_t features_size(const mapdpm_step *steps, const unsigned char *file, uint32_t n,
                                       uint32_t n_features);
/* Step i of a file. */
MAPDPM_INTERNAL mapdpm_step features_step_in(const unsigned char *file, uint32_t i);

/* The result of one step for the result x of its source. Returns 1 if something came out. */
MAPDPM_INTERNAL int features_run(const mapdpm_features *f, planned_step *p, const md_real *x,
                                 const int64_t *microseconds);
/* Compute the coefficients of a step. */
MAPDPM_INTERNAL void features_tabulate(const planned_step *p, md_real *table);
/* The results of blocks. */
MAPDPM_INTERNAL int features_block(const planned_step *p, const md_real *x, md_real *state, const md_real *table,
                                   uint32_t *words, md_real *result);

#endif

/* The result of the point or of a step: how many features, and after how many points each. */
typedef struct {
    uint32_t width, period;
} outcome;

/* ---- checks of steps --------------------------------------------------------------------------------------------- */

static int is_a_block(uint32_t kind)
{
    return kind == MAPDPM_STEP_RMS || kind == MAPDPM_STEP_CREST || kind == MAPDPM_STEP_BAND;
}

/* Whether n is one that the kind allows. */
static int is_length(const mapdpm_step *t)
{
    switch (t->kind) {
    case MAPDPM_STEP_LAG:
        return t->n >= 1 && t->n <= LONGEST_LAG;
    case MAPDPM_STEP_SEASONAL:
        return t->n == HOURS || t->n == DAYS || t->n == HOURS_OF_WEEK;
    case MAPDPM_STEP_JOIN:
        return t->n == 0;
    default:
        return t->n >= 1 && t->n <= LARGEST_BLOCK;
    }
}

/* Whether the fields are valid, and those that the kind does not use are 0. */
static int are_fields(const mapdpm_step *t)
{
    const int is_seasonal = t->kind == MAPDPM_STEP_SEASONAL, is_band = t->kind == MAPDPM_STEP_BAND;

    if (t->kind < MAPDPM_STEP_LAG || t->kind > MAPDPM_STEP_JOIN || !is_length(t))
        return 0;
    if (t->second != 0 && t->kind != MAPDPM_STEP_JOIN)
        return 0;
    if (is_band ? !(t->first >= 1 && t->first < t->end && t->end <= t->n / 2 + 1) : (t->first != 0 || t->end != 0))
        return 0;
    if (is_seasonal ? (t->offset < -MINUTES_OF_DAY || t->offset > MINUTES_OF_DAY) : t->offset != 0)
        return 0;
    if (t->centred > (t->kind == MAPDPM_STEP_RMS || t->kind == MAPDPM_STEP_CREST ? 1u : 0u))
        return 0;
    if (!(t->half_life >= 0 && t->half_life <= 0))
        return is_seasonal && t->half_life >= (md_real)1e-6 && t->half_life <= (md_real)1e9;
    return 1;
}

/* The sizes of a step whose source has D features. */
static step_sizes sizes_of(const mapdpm_step *t, uint64_t D)
{
    step_sizes s = {0, 0, 0};

    switch (t->kind) {
    case MAPDPM_STEP_LAG:
    case MAPDPM_STEP_DIFFERENCE:
        s.state = D * t->n;
        s.words = 1;
        break;
    case MAPDPM_STEP_CENTRE:
        s.state = D * ((uint64_t)t->n + CENTRE_SUMS);
        s.words = 2 + 2 * D;
        break;
    case MAPDPM_STEP_SEASONAL:
        s.state = D * (SEASONAL_SUMS + 2 * (uint64_t)t->n);
        s.table = 1;
        break;
    case MAPDPM_STEP_RMS:
        s.state = 2 * D;
        s.words = 1 + D;
        break;
    case MAPDPM_STEP_CREST:
        s.state = 4 * D;
        s.words = 1 + D;
        break;
    case MAPDPM_STEP_BAND:
        s.state = D * (1 + 2 * (uint64_t)(t->end - t->first));
        s.table = t->end - t->first;
        s.words = 1 + D;
        break;
    default:
        break;
    }
    return s;
}

/* The result of a valid step i, or a width of 0. of[0] is the point, of[i] the result of the i-th step. */
static outcome outcome_of(const mapdpm_step *t, uint32_t i, const outcome *of)
{
    outcome o = {0, 0};
    uint64_t width, period;

    if (!are_fields(t) || t->source > i || t->second > i)
        return o;
    width = of[t->source].width;
    period = of[t->source].period;
    if (t->kind == MAPDPM_STEP_LAG)
        width *= (uint64_t)t->n + 1;
    if (t->kind == MAPDPM_STEP_JOIN) {
        width += of[t->second].width;
        if (of[t->second].period != period)
            return o;
    }
    if (is_a_block(t->kind))
        period *= t->n;
    if (width > LARGEST_WIDTH || period > INT32_MAX)
        return o;
    o.width = (uint32_t)width;
    o.period = (uint32_t)period;
    return o;
}

/* Check and lay out the steps. Sets the sizes of f, and `planned` if it is not NULL. Returns the bytes of all,
 * or 0. */
static uint64_t lay_out_steps(mapdpm_features *f, planned_step *planned, const mapdpm_step *steps,
                              const unsigned char *file)
{
    outcome of[MOST_STEPS + 1];
    uint64_t state = 0, derived = 0, words = 0, bytes;
    uint32_t i;

    if (f->n_steps < 1 || f->n_steps > MOST_STEPS || f->n_features < 1 || f->n_features > LARGEST_WIDTH)
        return 0;
    of[0].width = f->n_features;
    of[0].period = 1;
    derived = f->n_features;
    f->timed = 0;
    for (i = 0; i < f->n_steps; i++) {
        const mapdpm_step t = file != NULL ? features_step_in(file, i) : steps[i];
        const outcome o = outcome_of(&t, i, of);
        step_sizes s;

        if (o.width == 0)
            return 0;
        s = sizes_of(&t, of[t.source].width);
        if (planned != NULL) {
            planned_step *const p = planned + i;

            memset(p, 0, sizeof *p);
            p->step = t;
            p->from = of[t.source].width;
            p->width = o.width;
            p->at_state = (uint32_t)state;
            p->at_table = (uint32_t)derived;
            p->at_result = (uint32_t)(derived + s.table);
            p->at_words = (uint32_t)words;
        }
        of[i + 1] = o;
        state += s.state;
        derived += s.table + o.width;
        words += s.words;
        f->timed |= t.kind == MAPDPM_STEP_SEASONAL ? 1u : 0u;
    }
    bytes = (sizeof *f + f->n_steps * sizeof *planned + (state + derived) * sizeof(md_real) + 4 * words + 7) / 8 * 8;
    if (bytes > INT32_MAX || bytes > SIZE_MAX)
        return 0;
    f->width = of[f->n_steps].width;
    f->n_state = (uint32_t)state;
    f->n_derived = (uint32_t)derived;
    f->n_words = (uint32_t)words;
    f->bytes = (uint32_t)bytes;
    return bytes;
}

uint64_t features_size(const mapdpm_step *steps, const unsigned char *file, uint32_t n, uint32_t n_features)
{
    mapdpm_features f;

    memset(&f, 0, sizeof f);
    f.n_steps = n;
    f.n_features = n_features;
    return lay_out_steps(&f, NULL, steps, file);
}

/* The caller knows that the memory suffices. */
int features_plan(mapdpm_features *f, const mapdpm_step *steps, const unsigned char *file, uint32_t n,
                  uint32_t n_features)
{
    uint32_t i;

    memset(f, 0, sizeof *f);
    f->n_steps = n;
    f->n_features = n_features;
    if (lay_out_steps(f, steps_of(f), steps, file) == 0)
        return MAPDPM_E_ARGUMENT;
    memset(state_of(f), 0, f->bytes - (size_t)((unsigned char *)state_of(f) - (unsigned char *)f));
    for (i = 0; i < n; i++)
        features_tabulate(steps_of(f) + i, derived_of(f) + steps_of(f)[i].at_table);
    return MAPDPM_OK;
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

size_t mapdpm_features_bytes(const mapdpm_step *steps, uint32_t n_steps, uint32_t n_features)
{
    return steps == NULL ? 0 : (size_t)features_size(steps, NULL, n_steps, n_features);
}

int mapdpm_features_init(mapdpm_features *f, size_t bytes, const mapdpm_step *steps, uint32_t n_steps,
                         uint32_t n_features)
{
    const size_t needed = mapdpm_features_bytes(steps, n_steps, n_features);

    if (f == NULL || !is_aligned(f) || needed == 0)
        return MAPDPM_E_ARGUMENT;
    if (bytes < needed)
        return MAPDPM_E_SPACE;
    return features_plan(f, steps, NULL, n_steps, n_features);
}

int mapdpm_features_reset(mapdpm_features *f)
{
    uint32_t i;

    if (is_no_pipeline(f))
        return MAPDPM_E_ARGUMENT;
    memset(state_of(f), 0, f->n_state * sizeof(md_real));
    memset(counters_of(f), 0, f->n_words * sizeof(uint32_t));
    for (i = 0; i < f->n_steps; i++) {
        planned_step *const p = steps_of(f) + i;

        p->emits = 0;
        memset(derived_of(f) + p->at_result, 0, p->width * sizeof(md_real));
    }
    memset(derived_of(f), 0, f->n_features * sizeof(md_real));
    return MAPDPM_OK;
}

uint32_t mapdpm_features_width(const mapdpm_features *f)
{
    return is_no_pipeline(f) ? 0 : f->width;
}

int mapdpm_features_get_step(const mapdpm_features *f, uint32_t i, mapdpm_step *step)
{
    if (is_no_pipeline(f) || step == NULL || i >= f->n_steps)
        return MAPDPM_E_ARGUMENT;
    *step = steps_of(f)[i].step;
    return MAPDPM_OK;
}

/* Whether a point can be transformed. */
static int check_of(const mapdpm_features *f, const md_real *x, const int64_t *microseconds)
{
    uint32_t d;

    if (f->timed != 0 && microseconds == NULL)
        return MAPDPM_E_TIME;
    if (microseconds != NULL && (*microseconds < -(INT64_MAX / 4) || *microseconds > INT64_MAX / 4))
        return MAPDPM_E_TIME;
    for (d = 0; d < f->n_features; d++)
        if (!(x[d] >= -FEATURE_LIMIT && x[d] <= FEATURE_LIMIT) && !is_missing(x[d]))
            return math_is_finite(x[d]) ? MAPDPM_E_RANGE : MAPDPM_E_NUMBER;
    return MAPDPM_OK;
}

/* Values within the limit. Every NaN has the same bits. */
static void put_result(md_real *to, const md_real *from, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        const md_real x = from[i];

        if (is_missing(x))
            to[i] = math_nan();
        else
            to[i] = x > FEATURE_LIMIT ? FEATURE_LIMIT : (x < -FEATURE_LIMIT ? -FEATURE_LIMIT : x);
    }
}

/* The point, which is there, goes through all steps. Returns 1 if a result came out. */
static int transform(mapdpm_features *f, const md_real *x, const int64_t *microseconds, md_real *out)
{
    planned_step *const steps = steps_of(f);
    md_real *const derived = derived_of(f);
    uint32_t i, emits = 0;

    put_result(derived, x, f->n_features);
    for (i = 0; i < f->n_steps; i++) {
        planned_step *const p = steps + i;
        const uint32_t source = p->step.source;
        md_real *const result = derived + p->at_result;

        emits = source == 0 || steps[source - 1].emits != 0;
        if (emits != 0)
            emits = (uint32_t)features_run(f, p, source == 0 ? derived : derived + steps[source - 1].at_result,
                                           microseconds);
        p->emits = emits;
        if (emits != 0)
            put_result(result, result, p->width);
    }
    if (emits != 0)
        memcpy(out, derived + steps[f->n_steps - 1].at_result, f->width * sizeof(md_real));
    return (int)emits;
}

int mapdpm_features_step(mapdpm_features *f, const mapdpm_real *x, const int64_t *microseconds, mapdpm_real *out)
{
    int error;

    if (is_no_pipeline(f) || x == NULL || out == NULL)
        return MAPDPM_E_ARGUMENT;
    error = check_of(f, x, microseconds);
    return error != MAPDPM_OK ? error : transform(f, x, microseconds, out);
}

int mapdpm_features_many(mapdpm_features *f, const mapdpm_real *x, const int64_t *microseconds, size_t n,
                         mapdpm_real *out, size_t *rows, size_t *done)
{
    size_t i, found = 0;

    if (is_no_pipeline(f) || x == NULL || out == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        const int error = check_of(f, x + i * f->n_features, microseconds == NULL ? NULL : microseconds + i);

        if (error != MAPDPM_OK) {
            *done = i;
            return error;
        }
    }
    for (i = 0; i < n; i++) {
        const int64_t *const time = microseconds == NULL ? NULL : microseconds + i;

        if (transform(f, x + i * f->n_features, time, out + found * f->width)) {
            if (rows != NULL)
                rows[found] = i;
            found++;
        }
    }
    *done = found;
    return MAPDPM_OK;
}

/* ==== features_steps.c ============================================================================================== */

/* What each kind of step computes (docs/maths.md, section 32). State, counters and results lie in the pipeline. */

/* ---- points before ----------------------------------------------------------------------------------------------- */

/* The place in a ring of n points where the point goes, that of the oldest one. The first point fills the ring. */
static uint32_t place_in_ring(const planned_step *p, const md_real *x, md_real *ring, uint32_t *word)
{
    const uint32_t n = p->step.n, D = p->from;
    uint32_t i;

    for (i = 0; *word == 0 && i < n; i++)
        memcpy(ring + (size_t)i * D, x, D * sizeof(md_real));
    return *word == 0 ? 0 : *word - 1;
}

/* Put the point in the place of the oldest one. The counter is 1 plus the place of the next. */
static void put_in_ring(const planned_step *p, const md_real *x, md_real *ring, uint32_t *word, uint32_t at)
{
    memcpy(ring + (size_t)at * p->from, x, p->from * sizeof(md_real));
    *word = at + 1 == p->step.n ? 1 : at + 2;
}

static void lag(const planned_step *p, const md_real *x, md_real *ring, uint32_t *word, md_real *result)
{
    const uint32_t n = p->step.n, D = p->from, at = place_in_ring(p, x, ring, word);
    uint32_t i, from = at;

    memcpy(result, x, D * sizeof(md_real));
    for (i = 1; i <= n; i++) { /* backwards from the newest */
        from = from == 0 ? n - 1 : from - 1;
        memcpy(result + (size_t)i * D, ring + (size_t)from * D, D * sizeof(md_real));
    }
    put_in_ring(p, x, ring, word, at);
}

static void difference(const planned_step *p, const md_real *x, md_real *ring, uint32_t *word, md_real *result)
{
    const uint32_t D = p->from, at = place_in_ring(p, x, ring, word);
    uint32_t d;

    for (d = 0; d < D; d++)
        result[d] = x[d] - ring[(size_t)at * D + d];
    put_in_ring(p, x, ring, word, at);
}

/* A second sum begins with each turn of the ring, and replaces the first one when the turn ends: rounding does not
 * add up. Sums are of values less the first one of their turn, so a constant stream has sums of 0. */
static void centre(const planned_step *p, const md_real *x, md_real *state, uint32_t *words, md_real *result)
{
    const uint32_t n = p->step.n, D = p->from, at = words[0], filled = words[1];
    md_real *const ring = state, *const shift = state + (size_t)n * D, *const sum = shift + D,
                   *const next_shift = sum + D, *const next_sum = next_shift + D;
    uint32_t *const counts = words + 2, *const next_counts = counts + D;
    uint32_t d;

    for (d = 0; d < D; d++) {
        md_real *const oldest = ring + (size_t)at * D + d;

        result[d] = counts[d] > 0 ? (x[d] - shift[d]) - sum[d] / (md_real)counts[d] : (is_missing(x[d]) ? x[d] : 0);
        if (filled == n && !is_missing(*oldest)) {
            counts[d]--;
            sum[d] = counts[d] > 0 ? sum[d] - (*oldest - shift[d]) : 0;
        }
        if (!is_missing(x[d])) {
            if (counts[d] == 0)
                shift[d] = x[d];
            if (next_counts[d] == 0)
                next_shift[d] = x[d];
            sum[d] += x[d] - shift[d];
            next_sum[d] += x[d] - next_shift[d];
            counts[d]++;
            next_counts[d]++;
        }
        *oldest = x[d];
    }
    words[0] = at + 1 == n ? 0 : at + 1;
    words[1] = filled < n ? filled + 1 : n;
    if (words[0] != 0)
        return;
    memcpy(shift, next_shift, 2 * (size_t)D * sizeof(md_real)); /* and the sum */
    memset(next_shift, 0, 2 * (size_t)D * sizeof(md_real));
    memset(next_counts, 0, D * sizeof(uint32_t));
}

/* ---- hours and days ---------------------------------------------------------------------------------------------- */

/* The quotient of the floor; by > 0. */
static int64_t floor_of(int64_t a, int64_t by)
{
    return a / by - (a % by < 0 ? 1 : 0);
}

static uint32_t bin_at(const mapdpm_step *t, int64_t microseconds)
{
    const int64_t hours = floor_of(microseconds + (int64_t)t->offset * 60000000, INT64_C(3600000000));
    const int64_t days = floor_of(hours, HOURS), week = floor_of(days + 3, DAYS); /* 1970 began on a Thursday */

    if (t->n == HOURS)
        return (uint32_t)(hours - days * HOURS);
    if (t->n == DAYS)
        return (uint32_t)(days + 3 - week * DAYS);
    return (uint32_t)(hours + 3 * HOURS - week * HOURS_OF_WEEK);
}

/* The state is the mean of all points, their number, then the means and the weights of all bins. */
static void seasonal(const planned_step *p, const md_real *x, md_real *state, md_real keep, int64_t microseconds,
                     md_real *result)
{
    const uint32_t D = p->from, bin = bin_at(&p->step, microseconds);
    md_real *const all = state, *const n = all + D, *const means = n + D + (size_t)bin * D;
    md_real *const weights = means + (size_t)p->step.n * D;
    uint32_t d;

    for (d = 0; d < D; d++) {
        const md_real expected = weights[d] > 0 ? means[d] : (n[d] > 0 ? all[d] : x[d]);

        result[d] = x[d] - expected;
        if (is_missing(x[d]))
            continue;
        weights[d] = keep * weights[d] + 1;
        means[d] += (x[d] - means[d]) / weights[d];
        n[d] += 1;
        all[d] += (x[d] - all[d]) / n[d];
    }
}

/* ---- all kinds --------------------------------------------------------------------------------------------------- */

int features_run(const mapdpm_features *f, planned_step *p, const md_real *x, const int64_t *microseconds)
{
    const planned_step *const steps = steps_of(f);
    md_real *const state = state_of(f) + p->at_state, *const derived = derived_of(f);
    md_real *const result = derived + p->at_result;
    const md_real *const table = derived + p->at_table;
    uint32_t *const words = counters_of(f) + p->at_words;
    const uint32_t second = p->step.second;

    switch (p->step.kind) {
    case MAPDPM_STEP_LAG:
        lag(p, x, state, words, result);
        return 1;
    case MAPDPM_STEP_DIFFERENCE:
        difference(p, x, state, words, result);
        return 1;
    case MAPDPM_STEP_CENTRE:
        centre(p, x, state, words, result);
        return 1;
    case MAPDPM_STEP_SEASONAL:
        seasonal(p, x, state, *table, *microseconds, result);
        return 1;
    case MAPDPM_STEP_JOIN:
        memcpy(result, x, p->from * sizeof(md_real));
        memcpy(result + p->from, second == 0 ? derived : derived + steps[second - 1].at_result,
               (p->width - p->from) * sizeof(md_real));
        return 1;
    default:
        return features_block(p, x, state, table, words, result);
    }
}

/* What rotates by pi k / n: 4 sin^2 near 0, and 4 cos^2 near pi / 2. */
static md_real rotation(uint32_t k, uint32_t n)
{
    const uint32_t m = 4 * k <= n ? 2 * k : n - 2 * k;
    const md_real s = math_sin(MATH_PI * (md_real)m / (md_real)(2 * n));

    return 4 * s * s;
}

void features_tabulate(const planned_step *p, md_real *table)
{
    const md_real half_life = p->step.half_life;
    uint32_t i;

    if (p->step.kind == MAPDPM_STEP_SEASONAL)
        *table = half_life > 0 ? math_exp((md_real)-0.69314718055994530942 / half_life) : 1;
    for (i = 0; p->step.kind == MAPDPM_STEP_BAND && i < n_bins(p); i++)
        table[i] = rotation(p->step.first + i, p->step.n);
}

/* ==== features_blocks.c ============================================================================================= */

/* Blocks of raw vibration: root mean square, crest factor, energy in a band, each in O(1) memory a feature or bin
 * (docs/maths.md, section 32).
 */

/* Add a value to the mean and to the sum of squares about it, or to the sum of squares about 0. */
static void add_square(const planned_step *p, md_real x, uint32_t count, md_real *mean, md_real *squares)
{
    const md_real delta = x - *mean;

    if (p->step.centred != 0) {
        *mean += delta / (md_real)count;
        *squares += delta * (x - *mean);
    } else {
        *squares += x * x;
    }
}

static md_real rms_of(md_real squares, uint32_t count)
{
    return count > 0 ? math_sqrt(squares / (md_real)count) : math_nan();
}

/* The largest distance from the mean, over the root mean square. */
static md_real crest_of(md_real low, md_real high, md_real mean, md_real rms)
{
    const md_real above = high - mean, below = mean - low, peak = above > below ? above : below;

    return rms > 0 ? peak / rms : (is_missing(rms) ? rms : 0);
}

/* The state is mean[D], squares[D], and of CREST low[D], high[D]. */
static void add_to_block(const planned_step *p, const md_real *x, md_real *state, uint32_t *counts)
{
    const uint32_t D = p->from;
    uint32_t d;

    for (d = 0; d < D; d++) {
        if (is_missing(x[d]))
            continue;
        counts[d]++;
        add_square(p, x[d], counts[d], state + d, state + D + d);
        if (p->step.kind == MAPDPM_STEP_CREST) {
            md_real *const low = state + 2 * (size_t)D + d, *const high = low + D;

            *low = counts[d] == 1 || x[d] < *low ? x[d] : *low;
            *high = counts[d] == 1 || x[d] > *high ? x[d] : *high;
        }
    }
}

/* Goertzel's recurrence with Reinsch's differences: s_i = v_i + 2 cos(2 pi k / n) s_(i-1) - s_(i-2), where the state is
 * s_i and s_i - s_(i-1) near the frequency 0, or s_i + s_(i-1) near the largest one. */
static void add_to_bins(const planned_step *p, md_real v, md_real *s, const md_real *table)
{
    const uint32_t n = n_bins(p);
    uint32_t i;

    for (i = 0; i < n; i++) {
        md_real *const value = s + 2 * (size_t)i, *const change = value + 1;

        if (4 * (p->step.first + i) <= p->step.n) {
            *change = (v - table[i] * *value) + *change;
            *value += *change;
        } else {
            *change = (v + table[i] * *value) - *change;
            *value = *change - *value;
        }
    }
}

/* The mean square in the bins: of each bin 2 |X_k|^2 / n^2, and half of that at half the rate. */
static md_real energy_of(const planned_step *p, const md_real *s, const md_real *table)
{
    const md_real n = (md_real)p->step.n;
    const uint32_t bins = n_bins(p);
    md_real sum = 0;
    uint32_t i;

    for (i = 0; i < bins; i++) {
        const uint32_t k = p->step.first + i;
        const md_real value = s[2 * (size_t)i] / n, change = s[2 * (size_t)i + 1] / n;
        const md_real power = change * change + table[i] * value * (value - change);

        if (power > 0)
            sum += 2 * k == p->step.n ? power : 2 * power;
    }
    return sum;
}

/* The state is the first value[D] of the block, which is subtracted, and the bins of each feature. */
static void add_to_spectrum(const planned_step *p, const md_real *x, md_real *state, const md_real *table,
                            uint32_t *counts)
{
    const uint32_t D = p->from;
    uint32_t d;

    for (d = 0; d < D; d++) {
        if (is_missing(x[d]))
            continue; /* the block has no spectrum */
        if (counts[d] == 0)
            state[d] = x[d];
        counts[d]++;
        add_to_bins(p, x[d] - state[d], state + D + 2 * (size_t)n_bins(p) * d, table);
    }
}

static void end_block(const planned_step *p, const md_real *state, const md_real *table, const uint32_t *counts,
                      md_real *result)
{
    const uint32_t D = p->from;
    uint32_t d;

    for (d = 0; d < D; d++) {
        const md_real rms = p->step.kind == MAPDPM_STEP_BAND ? 0 : rms_of(state[D + d], counts[d]);

        if (p->step.kind == MAPDPM_STEP_RMS)
            result[d] = rms;
        else if (p->step.kind == MAPDPM_STEP_CREST)
            result[d] = crest_of(state[2 * (size_t)D + d], state[3 * (size_t)D + d], state[d], rms);
        else
            result[d] = counts[d] < p->step.n ? math_nan()
                                              : energy_of(p, state + D + 2 * (size_t)n_bins(p) * d, table);
    }
}

/* The counters are the points of the block so far, and of each feature those that have a value. */
int features_block(const planned_step *p, const md_real *x, md_real *state, const md_real *table, uint32_t *words,
                   md_real *result)
{
    const size_t D = p->from;
    size_t n_reals = 2 * D;

    if (p->step.kind == MAPDPM_STEP_BAND) {
        n_reals = D * (1 + 2 * (size_t)n_bins(p));
        add_to_spectrum(p, x, state, table, words + 1);
    } else {
        n_reals = p->step.kind == MAPDPM_STEP_CREST ? 4 * D : 2 * D;
        add_to_block(p, x, state, words + 1);
    }
    words[0]++;
    if (words[0] < p->step.n)
        return 0;
    end_block(p, state, table, words + 1, result);
    memset(state, 0, n_reals * sizeof(md_real));
    memset(words, 0, (1 + D) * sizeof(uint32_t));
    return 1;
}

/* ==== features_snapshot.c =========================================================================================== */

/* A pipeline of transformers to a file and back, bit for bit (docs/format.md, kind 12). A forged file does no harm. */

enum { STEP_WORDS = 8, STEP_BYTES = 4 * STEP_WORDS + MD_REAL };

static uint64_t pipeline_file_size(const mapdpm_features *f)
{
    return MD_HEADER + MD_CRC + (uint64_t)f->n_steps * STEP_BYTES + 4 * (uint64_t)f->n_words +
           MD_REAL * (uint64_t)f->n_state;
}

size_t mapdpm_features_file_bytes(const mapdpm_features *f)
{
    const uint64_t bytes = is_no_pipeline(f) ? 0 : pipeline_file_size(f);

    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

static unsigned char *put_step(unsigned char *p, const mapdpm_step *t)
{
    const uint32_t words[STEP_WORDS] = {t->kind, t->source, t->second,           t->n,
                                        t->first, t->end,   (uint32_t)t->offset, t->centred};
    int i;

    for (i = 0; i < STEP_WORDS; i++)
        p = put_bytes(p, words[i], 4);
    return put_reals(p, &t->half_life, 1);
}

mapdpm_step features_step_in(const unsigned char *file, uint32_t i)
{
    const unsigned char *const p = file + MD_HEADER + (size_t)i * STEP_BYTES;
    const uint32_t offset = get32(p + 24);
    mapdpm_step t;

    t.kind = get32(p);
    t.source = get32(p + 4);
    t.second = get32(p + 8);
    t.n = get32(p + 12);
    t.first = get32(p + 16);
    t.end = get32(p + 20);
    t.offset = offset <= INT32_MAX ? (int32_t)offset : -(int32_t)(UINT32_MAX - offset) - 1;
    t.centred = get32(p + 28);
    t.half_life = get_real(p + 32);
    return t;
}

int mapdpm_features_write(const mapdpm_features *f, unsigned char *file, size_t capacity, size_t *file_bytes)
{
    const size_t total = mapdpm_features_file_bytes(f);
    uint32_t sizes[5], i;
    unsigned char *p;

    if (is_no_pipeline(f) || file == NULL || file_bytes == NULL)
        return MAPDPM_E_ARGUMENT;
    if (capacity < total)
        return MAPDPM_E_SPACE;
    sizes[0] = f->n_features;
    sizes[1] = f->n_steps;
    sizes[2] = f->n_state;
    sizes[3] = f->n_words;
    sizes[4] = 0;
    p = mapdpm_file_begin(file, TRANSFORMERS, 0, sizes, total);
    for (i = 0; i < f->n_steps; i++)
        p = put_step(p, &steps_of(f)[i].step);
    copy_entries(p, counters_of(f), f->n_words, 4);
    p = put_reals(p + 4 * (size_t)f->n_words, state_of(f), f->n_state);
    (void)put_bytes(p, mapdpm_crc32(0, file, total - MD_CRC), MD_CRC);
    *file_bytes = total;
    return MAPDPM_OK;
}

int mapdpm_features_memory(const unsigned char *file, size_t file_bytes, size_t *bytes)
{
    uint64_t steps, rest;
    int error;

    if (file == NULL || bytes == NULL)
        return MAPDPM_E_ARGUMENT;
    error = mapdpm_file_check(file, file_bytes, TRANSFORMERS);
    if (error != MAPDPM_OK)
        return error;
    steps = (uint64_t)get32(file + 16) * STEP_BYTES;
    rest = MD_REAL * (uint64_t)get32(file + 20) + 4 * (uint64_t)get32(file + 24) + get32(file + 28);
    if (get_bytes(file + 8, 2) != 0 || file_bytes != MD_HEADER + steps + rest + MD_CRC)
        return MAPDPM_E_DAMAGED;
    *bytes = (size_t)features_size(NULL, file, get32(file + 16), get32(file + 12));
    return *bytes > 0 ? MAPDPM_OK : MAPDPM_E_DAMAGED;
}

/* ---- checks of the state ----------------------------------------------------------------------------------------- */

static int are_between(const md_real *x, size_t n, md_real least, md_real most)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (!(x[i] >= least && x[i] <= most))
            return 0;
    return 1;
}

/* Whether entries are values of points, or missing. */
static int are_values(const md_real *x, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (!is_missing(x[i]) && !are_between(x + i, 1, -FEATURE_LIMIT, FEATURE_LIMIT))
            return 0;
    return 1;
}

/* The first `rows` points of a ring that have a value of feature d. */
static uint32_t values_in(const md_real *ring, uint32_t rows, uint32_t D, uint32_t d)
{
    uint32_t i, n = 0;

    for (i = 0; i < rows; i++)
        n += is_missing(ring[(size_t)i * D + d]) ? 0u : 1u;
    return n;
}

static int is_centre(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const uint32_t n = p->step.n, D = p->from;
    const md_real most = FEATURE_LIMIT * 4194304; /* of a sum: 2^20 differences */
    uint32_t d;

    if (words[0] >= n || words[1] > n || (words[1] < n && words[0] != words[1]))
        return 0;
    if (!are_values(state, (size_t)n * D) || !are_between(state + (size_t)n * D, CENTRE_SUMS * (size_t)D, -most, most))
        return 0;
    for (d = 0; d < D; d++)
        if (words[2 + d] != values_in(state, words[1], D, d) || words[2 + D + d] != values_in(state, words[0], D, d))
            return 0;
    return 1;
}

static int is_seasonal(const planned_step *p, const md_real *state)
{
    const size_t D = p->from, n = p->step.n;
    const md_real most = 2 * FEATURE_LIMIT, largest = (md_real)1152921504606846976.0; /* 2^60 */

    return are_between(state, D, -most, most) && are_between(state + D, D, 0, largest) &&
           are_between(state + 2 * D, n * D, -most, most) && are_between(state + (2 + n) * D, n * D, 0, largest);
}

static int is_part_of_block(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const size_t D = p->from;
    const md_real most = 2 * FEATURE_LIMIT, squares = FEATURE_LIMIT * FEATURE_LIMIT * 16777216;
    const md_real sums = FEATURE_LIMIT * (md_real)4398046511104.0; /* 2^42: a recurrence over 2^20 points */
    uint32_t d;

    if (words[0] >= p->step.n)
        return 0;
    for (d = 0; d < D; d++)
        if (words[1 + d] > words[0] || (words[1 + d] == 0 && !are_between(state + d, 1, 0, 0)))
            return 0; /* squares about a mean without values could become negative */
    if (!are_between(state, D, -most, most))
        return 0;
    if (p->step.kind == MAPDPM_STEP_BAND)
        return are_between(state + D, 2 * D * n_bins(p), -sums, sums);
    return are_between(state + D, D, 0, squares) &&
           (p->step.kind == MAPDPM_STEP_RMS || are_between(state + 2 * D, 2 * D, -most, most));
}

/* Whether points could have left this state. */
static int is_state(const mapdpm_features *f, const planned_step *p)
{
    const md_real *const state = state_of(f) + p->at_state;
    const uint32_t *const words = counters_of(f) + p->at_words;

    switch (p->step.kind) {
    case MAPDPM_STEP_LAG:
    case MAPDPM_STEP_DIFFERENCE:
        return *words <= p->step.n && are_values(state, (size_t)p->step.n * p->from);
    case MAPDPM_STEP_CENTRE:
        return is_centre(p, state, words);
    case MAPDPM_STEP_SEASONAL:
        return is_seasonal(p, state);
    case MAPDPM_STEP_JOIN:
        return 1;
    default:
        return is_part_of_block(p, state, words);
    }
}

int mapdpm_features_read(mapdpm_features *f, size_t bytes, const unsigned char *file, size_t file_bytes)
{
    const unsigned char *p;
    size_t needed = 0;
    uint32_t i;
    int error = mapdpm_features_memory(file, file_bytes, &needed);

    if (error != MAPDPM_OK)
        return error;
    if (f == NULL || !is_aligned(f))
        return MAPDPM_E_ARGUMENT;
    if (bytes < needed)
        return MAPDPM_E_SPACE;
    error = features_plan(f, NULL, file, get32(file + 16), get32(file + 12));
    if (error != MAPDPM_OK || f->n_state != get32(file + 20) || f->n_words != get32(file + 24)) {
        f->bytes = 0;
        return MAPDPM_E_DAMAGED;
    }
    p = file + MD_HEADER + (size_t)f->n_steps * STEP_BYTES;
    copy_entries(counters_of(f), p, f->n_words, 4);
    copy_entries(state_of(f), p + 4 * (size_t)f->n_words, f->n_state, MD_REAL);
    for (i = 0; i < f->n_steps; i++)
        if (!is_state(f, steps_of(f) + i)) {
            f->bytes = 0;
            return MAPDPM_E_DAMAGED;
        }
    return MAPDPM_OK;
}

#if defined(__clang__) && defined(__OPTIMIZE_SIZE__)
#pragma clang attribute pop
#endif
