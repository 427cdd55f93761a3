/* A problem whose sizes are asked before there is one. */
#ifndef MAPDPM_TEST_SIZES_H
#define MAPDPM_TEST_SIZES_H

#include "mapdpm_batch.h"

#define OF(kind, D) (&(const mapdpm_problem){.family = (kind), .n_features = (D)})

#endif
