/* A step of each kind that there is, for tests and fuzzers: a new one is found by its number. */
#ifndef STEPS_H
#define STEPS_H

#include "features/mapdpm_transformers.h"

static inline uint32_t n_kinds(void)
{
    uint32_t kind = 1;

    while (features_kind(kind) != NULL)
        kind++;
    return kind - 1;
}

/* A step of the point, or of the point and the point, with valid values in all fields that the kind uses. n >= 4. */
static inline mapdpm_step step_of_kind(uint32_t kind, uint32_t n)
{
    const uint32_t is = features_kind(kind)->is;
    mapdpm_step t;

    memset(&t, 0, sizeof t);
    t.kind = kind;
    t.n = (is & USES_SEASON) != 0 ? DAYS : ((is & USES_N) != 0 ? n : 0);
    t.first = (is & USES_EVERY) != 0 ? 3 : ((is & (USES_BAND | HAS_COMPONENTS)) != 0 ? 1 : 0);
    t.first += (is & HAS_PARTS) != 0 ? 2 : 0;
    t.end = (is & USES_BAND) != 0 ? n / 2 + 1 : 0;
    t.offset = (is & USES_OFFSET) != 0 ? -60 : 0;
    t.centred = (is & USES_CENTRED) != 0 ? 1 : 0;
    t.half_life = (is & USES_HALF_LIFE) != 0 ? 3 : 0;
    return t;
}

#endif
