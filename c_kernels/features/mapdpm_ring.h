/* The last n points of LAG and DIFFERENCE: a ring [n][D], and a counter. Internal; static inlines. */
#ifndef MAPDPM_RING_H
#define MAPDPM_RING_H

#include "features/mapdpm_transformers.h"

/* The place in the ring where the point goes, that of the oldest one. The first point fills the ring. */
static inline uint32_t place_in_ring(const step_run *r)
{
    const uint32_t n = r->p->step.n, D = r->p->from, word = *r->words;
    uint32_t i;

    for (i = 0; word == 0 && i < n; i++)
        memcpy(r->state + (size_t)i * D, r->x, D * sizeof(md_real));
    return word == 0 ? 0 : word - 1;
}

/* Put the point in the place of the oldest one. The counter is 1 plus the place of the next. */
static inline void put_in_ring(const step_run *r, uint32_t at)
{
    memcpy(r->state + (size_t)at * r->p->from, r->x, r->p->from * sizeof(md_real));
    *r->words = at + 1 == r->p->step.n ? 1 : at + 2;
}

static inline int is_ring(const planned_step *p, const md_real *state, const uint32_t *words)
{
    return *words <= p->step.n && are_values(state, (size_t)p->step.n * p->from);
}

#endif
