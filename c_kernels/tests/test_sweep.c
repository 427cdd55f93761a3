/* The sweep: every decision is the best by the definition, from marginals of whole clusters. */
#include "joint.h"
#include "sizes.h"

enum { N = 60, D = 5, CAPACITY = 16 };

static mapdpm_real data[N * D], data_with_holes[N * D];
static double weights[N];
static double gamma_parameters[2 * D + 2] = {0, 0, 0, 0, 0, 0.1, 1, 1, 1, 2, 1, 0.5};
static const double steps[D] = {0.5, 0, 1, 3, 1e-3};
static double known_parameters[3 * D] = {0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 1, 1, 2, 1, 0.5};
/* m0, c0, nu0, and psi0: 1 on the diagonal, 0.25 beside it */
static double full_parameters[D + 2 + D * D] = {0, 0, 0, 0, 0, 0.1, 7};
static int64_t labels[N], counts[CAPACITY], order[N];
static double *rows, *workspace;
static mapdpm_clusters clusters = {CAPACITY, labels, counts, NULL, NULL};

/* Whether no single point can move, as after a sweep without moves. */
static int is_mode(const mapdpm_problem *p)
{
    const double best = joint_of(p, &clusters);
    int64_t i, k;

    for (i = 0; i < N; i++) {
        const int64_t own = labels[i];

        for (k = 0; k < CAPACITY; k++) {
            labels[i] = k;
            if (joint_of(p, &clusters) > best + 1e-9 * (1 + fabs(best)))
                return 0;
        }
        labels[i] = own;
    }
    (void)joint_of(p, &clusters);
    return 1;
}

static void fits(mapdpm_problem *p)
{
    int64_t position = 0, moved = 1, sweeps = 0, i;
    double before, after;

    for (i = 0; i < N; i++)
        labels[i] = -1;
    CHECK_OK(mapdpm_statistics(p, &clusters, workspace)); /* all slots are free, and their rows empty */
    CHECK(mapdpm_sequential_start(p, &clusters, workspace, order, N, 0, &position) == MAPDPM_OK && position == N);
    before = joint_of(p, &clusters);
    while (moved > 0 && sweeps++ < 100) {
        position = moved = 0;
        CHECK(mapdpm_sweep(p, &clusters, workspace, 0, &position, &moved) == MAPDPM_OK && position == N);
        after = joint_of(p, &clusters);
        CHECK(after >= before - 1e-9 * fabs(before));
        before = after;
    }
    CHECK(moved == 0 && is_mode(p));
}

static void scores(const mapdpm_problem *p)
{
    static double out[N * CAPACITY];
    int64_t i, k;

    CHECK_OK(mapdpm_score(p, &clusters, workspace, out));
    for (i = 0; i < N; i++)
        for (k = 0; k < CAPACITY; k++)
            CHECK(!isnan(out[i * CAPACITY + k]));
}

static void grows(mapdpm_problem *p)
{
    mapdpm_clusters tight = clusters;
    int64_t position = 0, i;

    tight.capacity = 1;
    for (i = 0; i < N; i++)
        labels[i] = -1;
    CHECK_OK(mapdpm_statistics(p, &clusters, workspace)); /* all slots are free, and their rows empty */
    CHECK_OK(mapdpm_sequential_start(p, &tight, workspace, order, N, 1, &position));
    CHECK(position == 1); /* the first point takes the only slot; then none is free */
    CHECK_OK(mapdpm_sequential_start(p, &tight, workspace, order, N, 0, &position));
    CHECK(position == N && counts[0] == N);
}

int main(void)
{
    static const int32_t families[] = {MAPDPM_NORMAL_GAMMA, MAPDPM_NORMAL_KNOWN_VARIANCE, MAPDPM_NORMAL_INVERSE_WISHART,
                                       MAPDPM_NORMAL_GAMMA + MAPDPM_SKIPPING,
                                       MAPDPM_NORMAL_KNOWN_VARIANCE + MAPDPM_SKIPPING};
    const double *const parameters[] = {gamma_parameters, known_parameters, full_parameters, gamma_parameters,
                                        known_parameters};
    uint64_t state = 88172645463325252u;
    mapdpm_problem p = {.family = MAPDPM_NORMAL_GAMMA, .n_points = N, .n_features = D, .data = data,
                        .parameters = gamma_parameters, .alpha = 1.0};
    int64_t i, d;
    int variant;

    rows = (double *)malloc(sizeof(double) * CAPACITY *
                            (size_t)(mapdpm_row_size(OF(MAPDPM_NORMAL_INVERSE_WISHART, D)) +
                                     mapdpm_row_size(OF(MAPDPM_NORMAL_GAMMA + MAPDPM_SKIPPING, D))));
    workspace = (double *)malloc(mapdpm_workspace_bytes(OF(MAPDPM_NORMAL_GAMMA, D), CAPACITY) +
                                 mapdpm_workspace_bytes(OF(MAPDPM_NORMAL_INVERSE_WISHART, D), CAPACITY));
    clusters.rows = rows;
    CHECK_REFUSED(mapdpm_sweep(NULL, &clusters, workspace, 0, &i, &d));
    for (i = 0; i < N; i++) {
        const double centre = 6.0 * (double)(i % 4);

        for (d = 0; d < D; d++)
            data[i * D + d] = (mapdpm_real)(centre + 2.0 * check_uniform(&state));
        weights[i] = 1.5 + check_uniform(&state);
        order[i] = i;
    }
    data[7] = 1000; /* an outlier for which the leave-one-out score must not cancel */
    for (i = 0; i < D; i++)
        for (d = 0; d < D; d++)
            full_parameters[D + 2 + i * D + d] = i == d ? 1.0 : i - d == 1 || d - i == 1 ? 0.25 : 0.0;
    for (i = 0; i < N * D; i++) /* every point has a value, but not the last cluster in feature 1 */
        data_with_holes[i] = i % 7 == 3 || (i % D == 1 && i / D % 4 == 3) ? (mapdpm_real)NAN : data[i];
    for (variant = 0; variant < 40; variant++) {
        p.family = families[variant % 5];
        p.data = p.family > MAPDPM_SKIPPING ? data_with_holes : data;
        p.parameters = parameters[variant % 5];
        p.weights = variant / 5 & 1 ? weights : NULL;
        p.discount = variant / 10 & 1 ? 0.3 : 0.0;
        p.resolution = variant < 20 || p.family == MAPDPM_NORMAL_INVERSE_WISHART ? NULL : steps;
        fits(&p);
        scores(&p);
        grows(&p);
    }
    free(rows);
    free(workspace);
    return REPORT();
}
