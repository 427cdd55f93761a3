/* The points of a problem, in the forms that they may have, as families read them. Internal; static inlines only. */
#ifndef MAPDPM_POINTS_H
#define MAPDPM_POINTS_H

#include "mapdpm_batch.h"

#include <stddef.h>

/* Whether sizes can be told. */
static inline int has_sizes(const mapdpm_problem *p)
{
    return p != NULL && p->n_features >= 1 && (p->verbs == NULL || p->view != NULL);
}

/* Whether the points can be read. */
static inline int has_points(const mapdpm_problem *p)
{
    return p->data != NULL || p->words != NULL ||
           (p->values != NULL && p->indices != NULL && p->begins != NULL && p->ends != NULL);
}

/* Doubles of a point: its columns, but for the long points of sparse counts. */
static inline int64_t point_size(const mapdpm_problem *p)
{
    return p->n_features > p->longest ? p->n_features : p->longest;
}

static inline void to_double(const mapdpm_real *from, double *to, int64_t D)
{
    int64_t d;

    for (d = 0; d < D; d++)
        to[d] = from[d];
}

/* A point in double: itself, or a copy in `room`. */
static inline const double *as_double(const mapdpm_real *point, double *room, int64_t D)
{
    if (sizeof(mapdpm_real) == sizeof(double))
        return (const double *)(const void *)point;
    to_double(point, room, D);
    return room;
}

/* Point i as x of mapdpm_verbs: itself, or a copy in room[point_size]. */
static inline const double *point_of(const mapdpm_problem *p, int64_t i, double *room)
{
    int64_t j, n;

    if (p->data != NULL)
        return as_double(p->data + i * p->n_features, room, p->n_features);
    if (p->words != NULL) {
        room[0] = (double)p->words[i];
        return room;
    }
    n = p->ends[i] - p->begins[i];
    room[0] = (double)n;
    for (j = 0; j < n; j++) {
        room[1 + 2 * j] = (double)p->indices[p->begins[i] + j];
        room[2 + 2 * j] = p->values[p->begins[i] + j];
    }
    return room;
}

#endif
