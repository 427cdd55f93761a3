/* The switches that fix or remove parts of the stream learner at compile time (docs/c-library.md lists them), so that
 * the compiler drops the rest (decision 60). Internal.
 */
#ifndef MAPDPM_SWITCHES_H
#define MAPDPM_SWITCHES_H

#include "mapdpm.h"

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

typedef mapdpm_real md_real;

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

/* For functions that several files share and programs do not call, and for declarations of such constants. They are
 * static in the amalgamation (amalgamate.py). */
#ifndef MAPDPM_INTERNAL
#define MAPDPM_INTERNAL
#define MAPDPM_INTERNAL_CONSTANT extern
#else
#define MAPDPM_INTERNAL_CONSTANT static
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

#ifdef MAPDPM_RELEVANCE
#define HAS_RELEVANCE(s) ((s)->relevance != 0)
#else
#define HAS_RELEVANCE(s) ((void)(s), 0)
#endif

#ifdef MAPDPM_RESOLUTION
#define HAS_RESOLUTION(s) ((s)->resolution != 0)
#else
#define HAS_RESOLUTION(s) ((void)(s), 0)
#endif
enum { STEPS_FOUND = 1, STEPS_GIVEN = 2 };

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
           HAS_STATES(o) == (o->lag > 0) && HAS_SURPRISE(o) == (o->surprise != 0) &&
           HAS_RELEVANCE(o) == (o->relevance != 0) && HAS_RESOLUTION(o) == (o->resolution != 0);
}

/* Whether memory is aligned for the largest number. */
typedef struct {
    char first;
    uint64_t second;
} alignment;
static inline int is_aligned(const void *memory) { return (uintptr_t)memory % offsetof(alignment, second) == 0; }

#endif
