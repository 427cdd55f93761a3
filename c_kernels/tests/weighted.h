/* What tests of groups and of states share: points, priors, and the weights of slots. */
#ifndef MAPDPM_TEST_WEIGHTED_H
#define MAPDPM_TEST_WEIGHTED_H

enum { N = 120, D = 3, CAPACITY = 24 };

#include "partition.h"

static const double gamma_parameters[2 * D + 2] = {0, 0, 0, 0.1, 2, 1, 1, 1};
static const double known_parameters[3 * D] = {0, 0, 0, 20, 20, 20, 1, 1, 1};

static mapdpm_problem problem_of(int32_t family)
{
    mapdpm_problem p = {.family = family, .n_points = N, .n_features = D, .data = data,
                        .parameters = gamma_parameters, .alpha = 1.5};

    p.parameters = family == MAPDPM_NORMAL_GAMMA ? gamma_parameters : known_parameters;
    return p;
}

/* A slot has weight where it has points; all weights and the rest have this sum. */
static void check_weights(const double *weights, const int64_t *counts, int64_t capacity, double total)
{
    double sum = weights[capacity];
    int64_t k;

    for (k = 0; k < capacity; k++) {
        CHECK((counts[k] > 0) == (weights[k] > 0));
        sum += weights[k];
    }
    CHECK(fabs(sum - total) < 1e-12); /* some hundred roundings */
}

#endif
