/* Rows of single clusters, where digits are lost: removals that must fail, and scores without the point. */
#include "check.h"
#include "sizes.h"
#include "scores/mapdpm_scores.h"

#include <float.h>
#include <stdlib.h>

enum { D = 3, ROOM = 8, N = 40, CAPACITY = 3 };

static double full_parameters[D + 2 + D * D] = {0, 0.5, 0, 0.1, 5, 1, 0.3, 0, 0.3, 2, -0.4, 0, -0.4, 0.5};
static double gamma_parameters[2 * D + 2] = {0, 0.5, 0, 0.1, 1, 1, 2, 0.5};
static double known_parameters[3 * D] = {0, 0.5, 0, 9, 9, 9, 1, 2, 0.5};
static const int32_t families[] = {MAPDPM_NORMAL_INVERSE_WISHART, MAPDPM_NORMAL_GAMMA + MAPDPM_SKIPPING,
                                   MAPDPM_NORMAL_GAMMA, MAPDPM_NORMAL_KNOWN_VARIANCE + MAPDPM_SKIPPING};
static const double *const parameters[] = {full_parameters, gamma_parameters, gamma_parameters, known_parameters};
static const double steps[D] = {0.5, 0, 2};

/* 1 + x loses x, the correction brings it back: two roundings of the logarithm, and one of the quotient. */
static void logarithms(void)
{
    double x;

    for (x = 1e-300; x < 1e300; x *= 1.7)
        CHECK(fabs(log1p_of(x) - log1p(x)) <= 4.0 * DBL_EPSILON * log1p(x));
    for (x = 1e-18; x < 0.9998; x *= 1.3)
        CHECK(fabs(log1p_of(-x) - log1p(-x)) <= 4.0 * DBL_EPSILON * fabs(log1p(-x)));
}

/* A removal undoes an addition. A point that is nearly all of the weight, or of the squares, cannot be removed; nor can several, one after another,
 * that are together. */
static void removals(int32_t family, const double *of_family, const double *resolution)
{
    double room[2 * (5 + 6 * D + D * D) + 9 * D], row[5 + 9 * D + D * D], before[5 + 9 * D + D * D];
    const mapdpm_problem of_rows = {.family = family, .n_features = D, .parameters = of_family,
                                    .resolution = resolution};
    const likelihood f = likelihood_of(&of_rows, room);
    const double near[ROOM] = {0.3, 0.1, -0.2}, other[ROOM] = {1.5, -2.0, 0.7}, far[ROOM] = {1e4, 1e4, 1e4};
    static const double scales[] = {1.0, 9.0, 90.0};
    int64_t i, j, done = 0;

    statistics_clear(&f, row);
    statistics_add(&f, row, near, 1.5);
    statistics_add(&f, row, other, 2.0);
    memcpy(before, row, (size_t)f.size * sizeof *row);
    statistics_add(&f, row, other, 0.5);
    CHECK(statistics_remove(&f, row, other, 0.5));
    for (j = 0; j < f.n_sufficient; j++)
        CHECK(fabs(row[j] - before[j]) <= 64.0 * DBL_EPSILON * (1.0 + fabs(before[j])));
    statistics_clear(&f, row);
    statistics_add(&f, row, near, 1.5);
    statistics_add(&f, row, near, 1e5);
    CHECK(!statistics_remove(&f, row, near, 1e5)); /* leaves less than 1e-4 of the weight */
    statistics_clear(&f, row);
    for (i = 0; i < 4; i++)
        statistics_add(&f, row, near, 1.0);
    statistics_add(&f, row, far, 1.0);
    CHECK(!statistics_remove(&f, row, far, 1.0)); /* leaves less than 1e-4 of the squares */
    statistics_clear(&f, row);
    for (i = 0; i < 4; i++)
        statistics_add(&f, row, near, 1.0);
    for (i = 0; i < 6; i++) {
        const double scale = scales[i < 3 ? i : 5 - i]; /* in, and out in reverse order */
        double x[ROOM];

        for (j = 0; j < D; j++)
            x[j] = scale * (j == 1 ? -8.0 : 7.0);
        if (i < 3)
            statistics_add(&f, row, x, 1.0);
        else
            done += statistics_remove(&f, row, x, 1.0);
    }
    CHECK(done >= 1 && done < 3); /* each leaves some hundredth of the squares, all three less than 1e-4 */
}

/* The score of each point with its own slot is that of statistics made without it: an outlier's too, whose full
 * statistics cannot tell. */
static void own_scores(int32_t family, const double *of_family, const double *resolution, double outlier)
{
    static mapdpm_real data[N * D];
    static int64_t labels[N], counts[CAPACITY];
    double rows[CAPACITY * (5 + 9 * D + D * D)];
    const mapdpm_problem p = {.family = family, .n_points = N, .n_features = D, .data = data, .parameters = of_family,
                              .resolution = resolution, .alpha = 1.0};
    const mapdpm_clusters z = {CAPACITY, labels, counts, rows, NULL};
    void *const workspace = malloc(mapdpm_workspace_bytes(OF(family, D), CAPACITY));
    uint64_t seed = 7;
    static score_table table;
    int64_t i, open = 0;

    for (i = 0; i < N; i++)
        labels[i] = i % 2;
    for (i = 0; i < N * D; i++)
        data[i] = (mapdpm_real)check_uniform(&seed);
    for (i = 0; i < D; i++)
        data[4 * D + i] = (mapdpm_real)outlier;
    CHECK_OK(mapdpm_statistics(&p, &z, workspace));
    CHECK_OK(set_up_table(&table, &p, &z, workspace));
    for (i = 0; i < N; i++) {
        const int64_t slot = labels[i];
        double score, expected, without[5 + 9 * D + D * D];

        load_point(&table, i);
        memcpy(without, statistics_without(&table, slot, i), (size_t)table.statistics_size * sizeof *without);
        expected = log_weight_of(&table, slot, without[0], 1) +
                   statistics_log_predictive(&table.likelihood, without, table.x);
        score = score_leave_one_out(&table, slot, i);
        /* 1e-4 of the squares are left at least: four digits of sixteen, for D features and half the weight */
        CHECK(fabs(score - expected) <= 1e4 * DBL_EPSILON * D * N * (1.0 + fabs(expected)));
        open += !leave_one_out_in_closed_form(&table, slot, table.x, &score);
    }
    CHECK(open == (outlier > 100.0 && plain_family(family) != MAPDPM_NORMAL_KNOWN_VARIANCE));
    free(workspace);
}

int main(void)
{
    size_t f;

    logarithms();
    for (f = 0; f < sizeof families / sizeof *families; f++) {
        removals(families[f], parameters[f], NULL);
        own_scores(families[f], parameters[f], NULL, 3.0);
        own_scores(families[f], parameters[f], NULL, 1e6);
        if (!is_full(families[f])) {
            removals(families[f], parameters[f], steps);
            own_scores(families[f], parameters[f], steps, 3.0);
            own_scores(families[f], parameters[f], steps, 1e6);
        }
    }
    return REPORT();
}
