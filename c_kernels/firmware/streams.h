/* The data of the conformance program: streams of 3 features. They are made of integers, so that every machine and
 * language makes the same data (tests/c_kernels/test_firmware.py does in Python).
 */
#ifndef STREAMS_H
#define STREAMS_H

#include "mapdpm.h"

enum { N_FEATURES = 3 };
enum { STATIONARY, FULL, WARM_UP, DRIFT, MISSING, GROUPS, STATES, N_STREAMS };

typedef struct {
    int kind;
    uint32_t random;
    uint32_t n;       /* points so far */
    uint32_t cluster; /* of the last point */
} data_stream;

static inline void stream_begins(data_stream *g, int kind)
{
    g->kind = kind;
    g->random = 2463534242u + (uint32_t)kind;
    g->n = g->cluster = 0;
}

/* 16 bits of a linear congruential generator. */
static inline uint32_t random16(data_stream *g)
{
    g->random = g->random * 1664525u + 1013904223u;
    return g->random >> 16;
}

/* The next point, in steps of 2^-15; in whole numbers, 512 for 1. Centres are at least 10 apart; the noise has a standard deviation of 1.15. With
 * missing values each value is missing with probability 1/8, but never all. States last for 16 points or so, and overlap:
 * their centres are at least 2 apart. Learners that choose features get noise in the last
 * one of WARM_UP, and those that know steps halves in the first. Returns the number of the cluster. */
static inline uint32_t next_point(data_stream *g, mapdpm_real *x)
{
    const uint32_t clusters = g->kind == FULL ? 11 : 6, next = random16(g) % clusters;
    const uint32_t c = g->kind == STATES && random16(g) % 16u > 0 ? g->cluster : next;
#if !MAPDPM_INTEGERS
    const uint32_t missing = g->kind == MISSING ? random16(g) & random16(g) & random16(g) & 7u : 0u;
#endif
    uint32_t d, i;

    for (d = 0; d < N_FEATURES; d++) {
        int32_t place = ((int32_t)((c * (2 * d + 3) + d) % 11u) - 5) * (g->kind == STATES ? 2 : 10);

#ifdef MAPDPM_RELEVANCE
        if (g->kind == WARM_UP && d == N_FEATURES - 1)
            place = 0;
#endif
        place *= 32768;
        if (g->kind == DRIFT)
            place += (int32_t)g->n * ((int32_t)(c * 5u % 7u) - 3) * 20;
        for (i = 0; i < 4; i++)
            place += (int32_t)random16(g) - 32768;
#ifdef MAPDPM_RESOLUTION
        if (g->kind == WARM_UP && d == 0)
            place = place / 16384 * 16384;
#endif
#if MAPDPM_INTEGERS
        x[d] = (mapdpm_real)(place / 64);
#else
        x[d] = (mapdpm_real)place / 32768;
        if (missing >> d & 1u && missing != 7u) {
            const volatile mapdpm_real zero = 0;

            x[d] = zero / zero;
        }
#endif
    }
    g->n++;
    g->cluster = c;
    return c;
}

#endif
