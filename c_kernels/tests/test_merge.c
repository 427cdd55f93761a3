/* Merges against the log joint of whole partitions: they raise it, and no single merge is left that does. */
#include "joint.h"
#include "sizes.h"
#include "families/mapdpm_priors.h"

enum { N = 36, D = 2, CAPACITY = 9, USED = 8, SIZE = 1 + 9 * D, MOST = 64 };

static mapdpm_real data[N * D];
static int64_t labels[N], counts[CAPACITY], partners[CAPACITY];
static double rows[CAPACITY * SIZE * 2], known[CAPACITY * SIZE * 2], losses[CAPACITY], *space;
static const mapdpm_pairs pairs = {known, partners, losses};
static const mapdpm_clusters clusters = {CAPACITY, labels, counts, rows, NULL}, *const z = &clusters;
static uint64_t seed = 88172645463325252u;

static const double gamma_parameters[2 * D + 2] = {0.5, 0, 0.1, 1.5, 2, 0.5};
static const double known_parameters[3 * D] = {0.5, 0, 9, 9, 2, 0.5};
static const double distance_parameters[D] = {1, 1};
static const double full_parameters[2 + D + D * D] = {0.5, 0, 0.1, 4.5, 1, 0.3, 0.3, 2};

static void forget(void)
{
    int64_t k;

    for (k = 0; k < CAPACITY * SIZE * 2; k++)
        known[k] = NAN;
    for (k = 0; k < CAPACITY; k++) {
        partners[k] = -1;
        losses[k] = INFINITY;
    }
}

/* No single merge gains more than rounding. */
static void check_no_gain(const mapdpm_problem *p)
{
    const double joint = joint_of(p, z);
    int64_t a, b, i, before[N];

    memcpy(before, labels, sizeof before);
    for (a = 0; a < CAPACITY; a++)
        for (b = a + 1; b < CAPACITY; b++) {
            for (i = 0; i < N; i++)
                labels[i] = before[i] == b ? a : before[i];
            CHECK(joint_of(p, z) <= joint + 1e-8 * (1.0 + fabs(joint)));
            memcpy(labels, before, sizeof before);
        }
    (void)joint_of(p, z);
}

static void test_family(int32_t family, const double *parameters, double discount, double penalty, int64_t most)
{
    const mapdpm_problem p = {.family = family, .n_points = N, .n_features = D, .data = data,
                              .parameters = parameters, .alpha = 1.5, .discount = discount, .penalty = penalty};
    int64_t i, k, used = 0, merged, total = 0;
    double before;

    for (i = 0; i < N; i++)
        labels[i] = i % USED;
    before = joint_of(&p, z);
    forget();
    do {
        CHECK_OK(mapdpm_merge(&p, z, space, &pairs, most, &merged));
        total += merged;
    } while (merged >= most);
    for (k = 0; k < CAPACITY; k++) {
        int64_t n = 0;

        for (i = 0; i < N; i++)
            n += labels[i] == k;
        CHECK(n == counts[k]);
        used += n > 0;
    }
    CHECK(total > 0 && used == USED - total);
    CHECK(joint_of(&p, z) > before);
    check_no_gain(&p);
    CHECK(mapdpm_merge(&p, z, space, &pairs, most, &merged) == MAPDPM_OK && merged == 0);
}

static void test_arguments(void)
{
    const mapdpm_problem p = {.family = MAPDPM_NORMAL_GAMMA, .n_points = N, .n_features = D, .data = data,
                              .parameters = gamma_parameters, .alpha = 1.0};
    const mapdpm_pairs none = {NULL, partners, losses};
    int64_t merged;

    CHECK_REFUSED(mapdpm_merge(NULL, z, space, &pairs, MOST, &merged));
    CHECK_REFUSED(mapdpm_merge(&p, NULL, space, &pairs, MOST, &merged));
    CHECK_REFUSED(mapdpm_merge(&p, z, NULL, &pairs, MOST, &merged));
    CHECK_REFUSED(mapdpm_merge(&p, z, space, NULL, MOST, &merged));
    CHECK_REFUSED(mapdpm_merge(&p, z, space, &none, MOST, &merged));
    CHECK_REFUSED(mapdpm_merge(&p, z, space, &pairs, MOST, NULL));
    CHECK(mapdpm_merge(&p, z, space, &pairs, 0, &merged) == MAPDPM_OK && merged == 0);
    CHECK_WITH(labels[0], CAPACITY, mapdpm_merge(&p, z, space, &pairs, MOST, &merged) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_merge_bytes(OF(MAPDPM_NORMAL_GAMMA, 0), CAPACITY) == 0);
    CHECK(mapdpm_merge_bytes(OF(MAPDPM_NORMAL_GAMMA, D), 0) == 0);
}

int main(void)
{
    int64_t i, d;

    for (i = 0; i < N; i++)
        for (d = 0; d < D; d++)
            data[i * D + d] = (mapdpm_real)(9.0 * (double)(i % 2) + check_uniform(&seed));
    space = malloc(mapdpm_merge_bytes(OF(MAPDPM_NORMAL_INVERSE_WISHART, D), CAPACITY) +
                   mapdpm_merge_bytes(OF(MAPDPM_SKIPPING + MAPDPM_NORMAL_GAMMA, D), CAPACITY));
    for (i = 1; i <= MOST; i *= MOST) {
        test_family(MAPDPM_NORMAL_GAMMA, gamma_parameters, 0.0, 0.0, i);
        test_family(MAPDPM_NORMAL_GAMMA, gamma_parameters, 0.3, 0.0, i);
        test_family(MAPDPM_NORMAL_KNOWN_VARIANCE, known_parameters, 0.0, 0.0, i);
        test_family(MAPDPM_SQUARED_DISTANCE, distance_parameters, 0.0, 9.0, i);
        test_family(MAPDPM_NORMAL_INVERSE_WISHART, full_parameters, 0.0, 0.0, i);
    }
    for (i = 0; i < N; i++)
        labels[i] = i % USED;
    test_arguments();
    data[3] = (mapdpm_real)NAN;
    test_family(MAPDPM_SKIPPING + MAPDPM_NORMAL_GAMMA, gamma_parameters, 0.0, 0.0, MOST);
    free(space);
    return REPORT();
}
