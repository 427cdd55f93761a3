/* The search for two halves, against the log joint of whole partitions and against every cut along a feature. */
#include "joint.h"
#include "sizes.h"
#include "families/mapdpm_priors.h"

enum { N = 40, D = 3, ATOMS = 64, STARTS = 5, DRAWS = N + 2 + N + 6 + 3 };

static mapdpm_real data[N * D];
static int64_t labels[N], counts[2], draws[DRAWS];
static void *workspace;
static unsigned char tried[2 * STARTS * N];
static mapdpm_clusters z = {2, labels, counts, NULL, NULL};
static uint64_t seed = 88172645463325252u;

static const double gamma_parameters[2 * D + 2] = {0, 0.5, 0, 0.1, 1, 1, 2, 0.5};
static const double known_parameters[3 * D] = {0, 0.5, 0, 9, 9, 9, 1, 2, 0.5};
static const double distance_parameters[D] = {1, 1, 1};
static const double full_parameters[2 + D + D * D] = {0, 0.5, 0, 0.1, 4.5, 1, 0.3, 0, 0.3, 2, -0.4, 0, -0.4, 0.5};
static const double direction[D] = {1.0, 0.5, -0.2};
static const int64_t all_starts[STARTS] = {MAPDPM_WIDEST, MAPDPM_FARTHEST_PAIR, MAPDPM_RANDOM_PAIR, MAPDPM_DIFFERENCES,
                                           MAPDPM_AXES};

static mapdpm_halves search(void)
{
    const mapdpm_halves h = {STARTS, all_starts, D, NULL, direction, DRAWS, draws, ATOMS, 10, 0, tried};

    return h;
}

static void draw_order(int64_t *order)
{
    int64_t i;

    for (i = 0; i < N; i++)
        order[i] = i;
    for (i = N - 1; i > 0; i--) {
        const int64_t j = (int64_t)(check_random(&seed) % (uint64_t)(i + 1)), at = order[i];

        order[i] = order[j];
        order[j] = at;
    }
}

static void draw_all(void)
{
    int64_t i;

    draw_order(draws);
    draws[N] = 3;
    draws[N + 1] = 8;
    draw_order(draws + N + 2);
    for (i = 0; i < 6; i++)
        draws[2 * N + 2 + i] = 5 * i;
    for (i = 0; i < 3; i++)
        draws[2 * N + 8 + i] = i;
}

/* The halves are a mode of single moves, their joint is the one reported, and no cut along a feature is better. */
static void test_family(int32_t family, const double *parameters, double discount, double penalty)
{
    const mapdpm_problem p = {.family = family, .n_points = N, .n_features = D, .data = data,
                              .parameters = parameters, .alpha = 1.0, .discount = discount, .penalty = penalty};
    mapdpm_halves h = search();
    double joints[2], joint, again;
    int64_t i, d, j, copy[N], n_tried;

    CHECK_OK(mapdpm_best_halves(&p, &z, workspace, &h, joints));
    joint = joints[1];
    CHECK(h.n_tried >= 1 && h.n_tried <= STARTS);
    CHECK(counts[0] > 0 && counts[1] > 0 && counts[0] + counts[1] == N);
    CHECK(fabs(joint_of(&p, &z) - joint) <= 1e-9 * (1.0 + fabs(joint)));
    memcpy(copy, labels, sizeof copy);
    n_tried = h.n_tried;
    again = joints[0];
    CHECK_OK(mapdpm_best_halves(&p, &z, workspace, &h, joints)); /* all were tried */
    CHECK(joints[1] == -INFINITY && joints[0] == again && h.n_tried == n_tried);
    CHECK(memcmp(copy, labels, sizeof copy) == 0);
    for (i = 0; i < N; i++)
        labels[i] = 0;
    CHECK(fabs(joint_of(&p, &z) - joints[0]) <= 1e-9 * (1.0 + fabs(joints[0])));
    for (d = 0; d < D; d++)
        for (j = 0; j < N; j++) {
            for (i = 0; i < N; i++)
                labels[i] = data[i * D + d] > data[j * D + d];
            again = joint_of(&p, &z);
            CHECK(counts[0] == 0 || counts[1] == 0 || again <= joint + 1e-9 * (1.0 + fabs(joint)));
        }
}

static void test_arguments(void)
{
    const mapdpm_problem p = {.family = MAPDPM_NORMAL_GAMMA, .n_points = N, .n_features = D, .data = data,
                              .parameters = gamma_parameters, .alpha = 1.0};
    mapdpm_halves h = search();
    double joint[2];

    CHECK_REFUSED(mapdpm_best_halves(NULL, &z, workspace, &h, joint));
    CHECK_REFUSED(mapdpm_best_halves(&p, NULL, workspace, &h, joint));
    CHECK_REFUSED(mapdpm_best_halves(&p, &z, NULL, &h, joint));
    CHECK_REFUSED(mapdpm_best_halves(&p, &z, workspace, NULL, joint));
    CHECK_REFUSED(mapdpm_best_halves(&p, &z, workspace, &h, NULL));
#define WRONG(place, value)                                                                                           \
    CHECK_WITH(place, value, mapdpm_best_halves(&p, &z, workspace, &h, joint) == MAPDPM_E_ARGUMENT)
    WRONG(z.capacity, 3);
    WRONG(h.n_draws, DRAWS - 1);
    WRONG(h.direction, NULL);
    WRONG(draws[DRAWS - 1], D); /* no feature */
    WRONG(draws[N + 1], draws[N]); /* one point is no pair */
    CHECK(mapdpm_halves_bytes(OF(MAPDPM_NORMAL_GAMMA, D), 1, D, ATOMS) == 0);
    CHECK(mapdpm_halves_bytes(OF(MAPDPM_NORMAL_GAMMA, 0), N, 0, ATOMS) == 0);
}

int main(void)
{
    int64_t i, d;

    for (i = 0; i < N; i++)
        for (d = 0; d < D; d++)
            data[i * D + d] = (mapdpm_real)(4.0 * (double)(i % 2) + check_uniform(&seed));
    z.rows = malloc(2 * sizeof *z.rows * (size_t)mapdpm_row_size(OF(MAPDPM_NORMAL_INVERSE_WISHART, D)) +
                    16 * D * sizeof *z.rows);
    workspace = malloc(mapdpm_halves_bytes(OF(MAPDPM_NORMAL_INVERSE_WISHART, D), N, D, ATOMS) +
                       mapdpm_halves_bytes(OF(MAPDPM_SKIPPING + MAPDPM_NORMAL_GAMMA, D), N, D, ATOMS));
    draw_all();
    test_arguments();
    test_family(MAPDPM_NORMAL_GAMMA, gamma_parameters, 0.0, 0.0);
    test_family(MAPDPM_NORMAL_GAMMA, gamma_parameters, 0.3, 0.0);
    test_family(MAPDPM_NORMAL_KNOWN_VARIANCE, known_parameters, 0.0, 0.0);
    test_family(MAPDPM_SQUARED_DISTANCE, distance_parameters, 0.0, 2.0);
    test_family(MAPDPM_NORMAL_INVERSE_WISHART, full_parameters, 0.0, 0.0);
    data[5] = data[16] = data[42] = (mapdpm_real)NAN;
    test_family(MAPDPM_SKIPPING + MAPDPM_NORMAL_GAMMA, gamma_parameters, 0.0, 0.0);
    free(z.rows);
    free(workspace);
    return REPORT();
}
