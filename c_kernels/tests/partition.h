/* Clusters in memory of fixed size. A program defines N, D and CAPACITY before it includes this. */
#ifndef MAPDPM_TEST_PARTITION_H
#define MAPDPM_TEST_PARTITION_H

#include "check.h"
#include "mapdpm_batch.h"

#include <stdlib.h>

enum { ROW = 5 + 4 * D }; /* entries of a row in the families without covariances */

/* It points nowhere, so that a copy is a partition, too, and equal ones have equal bytes. */
typedef struct {
    int64_t labels[N], counts[CAPACITY];
    double rows[CAPACITY * ROW];
} partition;

/* The first slots of a partition, or all. */
#define SLOTS_OF(p, capacity) (&(mapdpm_clusters){capacity, (p)->labels, (p)->counts, (p)->rows, NULL})
#define CLUSTERS_OF(p) SLOTS_OF(p, CAPACITY)

static mapdpm_real data[N * D];
static void *workspace;

#endif
