/* Some clusters whose points are clustered anew, against the log joint of all points. */
#include "joint.h"
#include "families/mapdpm_priors.h"

enum { N = 40, D = 2, CAPACITY = 6, USED = 4, ANEW = 3, SIZE = 1 + 9 * D };

static mapdpm_real data[N * D];
static double weights[N];
static int64_t labels[N], counts[CAPACITY], points[N], order[N], new_labels[N], new_counts[ANEW];
static double rows[CAPACITY * SIZE], new_rows[ANEW * SIZE], *workspace;
static const mapdpm_clusters clusters = {CAPACITY, labels, counts, rows, NULL}, *const z = &clusters;
static const mapdpm_clusters reclustered = {ANEW, new_labels, new_counts, new_rows, NULL}, *const anew = &reclustered;
static uint64_t seed = 88172645463325252u;

static const double gamma_parameters[2 * D + 2] = {0.5, 0, 0.1, 1.5, 2, 0.5};
static const double known_parameters[3 * D] = {0.5, 0, 9, 9, 2, 0.5};
static const double distance_parameters[D] = {1, 1};

/* The points of slots 1 and 3: one of each begins a cluster, or two halves do, and the others join in order. */
static mapdpm_part take_out(int by_order)
{
    mapdpm_part part = {0, points, 0, order, 5};
    int64_t i;

    for (i = 0; i < N; i++)
        if (labels[i] % 2 == 1) {
            new_labels[part.n_points] = part.n_points < 2 || !by_order ? part.n_points % 2 : -1;
            if (new_labels[part.n_points] < 0)
                order[part.n_order++] = part.n_points;
            points[part.n_points++] = i;
        }
    return part;
}

/* The gain is that of the log joint of all points, and the clusters of the others are unchanged. */
static void test_family(int32_t family, const double *parameters, double discount, double penalty, const double *w,
                        int by_order)
{
    const mapdpm_problem p = {.family = family, .n_points = N, .n_features = D, .data = data, .weights = w,
                              .parameters = parameters, .alpha = 1.5, .discount = discount, .penalty = penalty};
    mapdpm_part part;
    double joints[2], before, copy[CAPACITY * SIZE];
    int64_t i;

    for (i = 0; i < N; i++)
        labels[i] = i % USED;
    before = joint_of(&p, z);
    memcpy(copy, rows, sizeof copy);
    part = take_out(by_order);
    CHECK_OK(mapdpm_recluster(&p, z, workspace, &part, anew, joints));
    CHECK(memcmp(copy, rows, sizeof copy) == 0);
    for (i = 0; i < part.n_points; i++) {
        static const int64_t place_of[ANEW] = {1, 3, 5};

        CHECK(new_labels[i] >= 0 && new_labels[i] < ANEW);
        labels[points[i]] = place_of[new_labels[i]];
    }
    CHECK(fabs((joint_of(&p, z) - before) - (joints[1] - joints[0])) < 1e-9 * (1.0 + fabs(before)));
}

static void test_arguments(void)
{
    const mapdpm_problem p = {.family = MAPDPM_NORMAL_GAMMA, .n_points = N, .n_features = D, .data = data,
                              .parameters = gamma_parameters, .alpha = 1.0};
    mapdpm_part part;
    double joints[2];

    (void)joint_of(&p, z);
    part = take_out(1);
    CHECK_REFUSED(mapdpm_recluster(NULL, z, workspace, &part, anew, joints));
    CHECK_REFUSED(mapdpm_recluster(&p, NULL, workspace, &part, anew, joints));
    CHECK_REFUSED(mapdpm_recluster(&p, z, NULL, &part, anew, joints));
    CHECK_REFUSED(mapdpm_recluster(&p, z, workspace, NULL, anew, joints));
    CHECK_REFUSED(mapdpm_recluster(&p, z, workspace, &part, NULL, joints));
    CHECK_REFUSED(mapdpm_recluster(&p, z, workspace, &part, anew, NULL));
    order[0] = part.n_points;
    CHECK_REFUSED(mapdpm_recluster(&p, z, workspace, &part, anew, joints));
    part = take_out(1);
    points[0] = N;
    CHECK_REFUSED(mapdpm_recluster(&p, z, workspace, &part, anew, joints));
    part.n_points = 0;
    CHECK_REFUSED(mapdpm_recluster(&p, z, workspace, &part, anew, joints));
    CHECK(mapdpm_recluster_bytes(&p, z, &part, anew) == 0);
}

int main(void)
{
    const mapdpm_problem wide = {.family = MAPDPM_NORMAL_GAMMA, .n_points = N, .n_features = D, .data = data,
                                 .weights = weights, .parameters = gamma_parameters, .alpha = 1};
    const mapdpm_problem skipping = {.family = MAPDPM_SKIPPING + wide.family, .n_points = N, .n_features = D,
                                     .data = data, .weights = weights, .parameters = gamma_parameters, .alpha = 1};
    const mapdpm_part part = {N, points, 0, order, 5};
    int64_t i, d;

    for (i = 0; i < N; i++) {
        weights[i] = 1.5 + check_uniform(&seed);
        for (d = 0; d < D; d++)
            data[i * D + d] = (mapdpm_real)(2.0 * (double)(i % USED * (d + 1) % 3) + check_uniform(&seed));
    }
    workspace = malloc(mapdpm_recluster_bytes(&wide, z, &part, z) + mapdpm_recluster_bytes(&skipping, z, &part, z));
    for (i = 0; i < 2; i++) {
        test_family(MAPDPM_NORMAL_GAMMA, gamma_parameters, 0.0, 0.0, NULL, (int)i);
        test_family(MAPDPM_NORMAL_GAMMA, gamma_parameters, 0.3, 0.0, NULL, (int)i);
        test_family(MAPDPM_NORMAL_GAMMA, gamma_parameters, 0.3, 0.0, weights, (int)i);
        test_family(MAPDPM_NORMAL_KNOWN_VARIANCE, known_parameters, 0.0, 0.0, NULL, (int)i);
        test_family(MAPDPM_SQUARED_DISTANCE, distance_parameters, 0.0, 2.0, NULL, (int)i);
    }
    for (i = 0; i < N; i++)
        labels[i] = i % USED;
    test_arguments();
    data[3] = (mapdpm_real)NAN;
    test_family(MAPDPM_SKIPPING + MAPDPM_NORMAL_GAMMA, gamma_parameters, 0.0, 0.0, NULL, 1);
    free(workspace);
    return REPORT();
}
