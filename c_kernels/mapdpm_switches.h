/* The switches that fix or remove parts of the stream learner at compile time (docs/c-library.md lists them), so that
 * the compiler drops the rest. Internal.
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

/* The same bits everywhere: no fused multiply-add, whatever the command line says (except -ffp-contract=fast with
 * clang). */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif
#ifdef __FAST_MATH__
#error "-ffast-math changes results; compile without it"
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
