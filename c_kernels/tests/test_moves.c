/* Merges, segments and draws against the definition: the log joint of whole partitions. */
#include "joint.h"
#include "sizes.h"

enum { N = 8, D = 3, CAPACITY = 8, WIDTH = N + 1 };

static mapdpm_real data[N * D], data_with_holes[N * D];
static double gamma_parameters[2 * D + 2] = {0, 0.5, 0, 0.1, 1, 1, 2, 0.5};
static double known_parameters[3 * D] = {0, 0.5, 0, 9, 9, 9, 1, 2, 0.5};
static double distance_parameters[D] = {1, 1, 1};
static double full_parameters[2 + D + D * D] = {0, 0.5, 0, 0.1, 4.5, 1, 0.3, 0, 0.3, 2, -0.4, 0, -0.4, 0.5};
static int64_t labels[N], counts[CAPACITY];
static double *rows, *workspace;
static mapdpm_clusters clusters = {CAPACITY, labels, counts, NULL, NULL};

static double log_opening(const mapdpm_problem *p, int64_t used)
{
    if (p->penalty > 0)
        return -p->penalty;
    return used == 0 && p->discount > 0 ? 0 : log(p->alpha + (double)used * p->discount);
}

/* Segments count the opening of the first cluster, too. */
static double log_joint(const mapdpm_problem *p) { return joint_of(p, &clusters) + log_opening(p, 0); }

static int near(double a, double b)
{
    return fabs(a - b) <= 1e-10 * (1 + fabs(a) + fabs(b));
}

/* Each loss is the loss of the log joint after relabelling, and no partner is cheaper. */
static void cheapest_merges(const mapdpm_problem *p)
{
    static const int64_t start[N] = {0, 1, 1, 3, 0, 5, 3, 3};
    int64_t stale[CAPACITY], partners[CAPACITY], used = 0, i, j, k;
    double losses[CAPACITY], before;

    for (i = 0; i < N; i++)
        labels[i] = start[i];
    for (k = 0; k < CAPACITY; k++) {
        stale[k] = 1;
        partners[k] = -1;
    }
    before = log_joint(p);
    for (k = 0; k < CAPACITY; k++)
        used += counts[k] > 0;
    CHECK_OK(mapdpm_merge_losses(p, &clusters, workspace, stale, partners, losses));
    for (k = 0; k < CAPACITY; k++) {
        double cheapest = INFINITY;
        int alive = 0;

        for (j = k + 1; j < CAPACITY; j++) {
            double loss;

            for (i = 0, alive = 0; i < N; i++)
                alive |= start[i] == j;
            for (i = 0; i < N; i++)
                labels[i] = start[i] == j ? k : start[i];
            loss = before - log_joint(p) - log_opening(p, used - 1);
            for (i = 0; i < N; i++)
                if (alive && start[i] == k) {
                    cheapest = loss < cheapest ? loss : cheapest;
                    CHECK(partners[k] != j || near(losses[k], loss));
                    break;
                }
        }
        CHECK(cheapest < INFINITY ? near(losses[k], cheapest) : partners[k] == -1 && losses[k] == INFINITY);
    }
    for (i = 0; i < N; i++)
        labels[i] = start[i];
    (void)log_joint(p);
    for (k = 0; k < CAPACITY; k++)
        stale[k] = 0;
    before = losses[0];
    CHECK(mapdpm_merge_losses(p, &clusters, workspace, stale, partners, losses) == MAPDPM_OK && losses[0] == before);
}

/* For every number of clusters: the best of all 2^(N - 1) divisions of the order, and the path back to it. */
static void best_segments(const mapdpm_problem *p, int64_t width)
{
    static double best[(N + 1) * WIDTH], enumerated[WIDTH];
    static int64_t came_from[(N + 1) * WIDTH];
    double *const space = malloc(mapdpm_segments_bytes(p, N, width));
    double *atoms = malloc(sizeof *atoms * (size_t)(N * mapdpm_row_size(p)));
    int64_t cut, i, k, r, j;

    for (k = 0; k < WIDTH; k++)
        enumerated[k] = -INFINITY;
    for (cut = 0; cut < 1 << (N - 1); cut++) {
        double joint;

        for (i = 0, k = 0; i < N; i++) {
            k += i > 0 && cut >> (i - 1) & 1;
            labels[i] = k;
        }
        joint = log_joint(p);
        enumerated[k + 1] = joint > enumerated[k + 1] ? joint : enumerated[k + 1];
        enumerated[0] = joint > enumerated[0] ? joint : enumerated[0];
    }
    for (i = 0; i < N; i++)
        labels[i] = i;
    (void)log_joint(p);
    for (i = 0; i < N * mapdpm_row_size(p); i++)
        atoms[i] = rows[i];
    CHECK_OK(mapdpm_segments(p, space, atoms, N, N, width, best, came_from));
    if (width == 1) {
        CHECK(near(best[N], enumerated[0]));
    } else {
        for (k = 1; k < width; k++)
            CHECK(near(best[N * width + k], enumerated[k]));
        for (k = 1; k < width; k++) {
            for (r = N, j = k; r > 0; r = i, j--) {
                i = came_from[r * width + j];
                CHECK(i >= 0 && i < r);
            }
            CHECK(j == 0);
        }
    }
    CHECK_OK(mapdpm_segments(p, space, atoms, N, 2, width, best, came_from));
    CHECK(best[N * width + width / 2] <= enumerated[width == 1 ? 0 : width / 2] + 1e-9);
    CHECK_OK(mapdpm_segments(p, space, atoms, 1, 1, 1, best, came_from));
    CHECK_REFUSED(mapdpm_segments(p, space, atoms, 0, 1, 1, best, came_from));
    CHECK_REFUSED(mapdpm_segments(p, NULL, atoms, N, N, 1, best, came_from));
    CHECK(mapdpm_segments_bytes(p, 0, 1) == 0);
    free(space);
    free(atoms);
}

/* The best cut of a reversed order, among all cuts. An array that is no order is refused. */
static void best_two_clusters(const mapdpm_problem *p)
{
    double *const space = malloc(mapdpm_cut_bytes(p, N)), best = -INFINITY, shared, joint;
    int64_t order[N], i, cut, where = 0, first;

    for (i = 0; i < N; i++)
        order[i] = N - 1 - i;
    for (cut = 1; cut < N; cut++) {
        for (i = 0; i < N; i++)
            labels[order[i]] = i >= cut;
        joint = log_joint(p);
        where = joint > best ? cut : where;
        best = joint > best ? joint : best;
    }
    CHECK(mapdpm_cut(p, space, order, N, &first, &joint) == MAPDPM_OK && first == where);
    shared = best - joint;
    CHECK(mapdpm_cut(p, space, order, 2, &first, &joint) == MAPDPM_OK && first == (N + 1) / 2);
    for (i = 0; i < N; i++)
        labels[order[i]] = i >= first;
    CHECK(near(joint + shared, log_joint(p)));
    CHECK_REFUSED(mapdpm_cut(p, space, order, 1, &first, &joint));
    CHECK_REFUSED(mapdpm_cut(p, space, order, N + 1, &first, &joint));
    CHECK_REFUSED(mapdpm_cut(p, NULL, order, N, &first, &joint));
    order[3] = N;
    CHECK_REFUSED(mapdpm_cut(p, space, order, N, &first, &joint));
    CHECK(mapdpm_cut_bytes(p, 0) == 0);
    free(space);
}

/* A draw of 0 takes the first slot with a share, a draw near 1 the last. Counts and labels still agree. */
static void gibbs_draws(const mapdpm_problem *p)
{
    double uniforms[N], held;
    int64_t i, k, total;

    for (i = 0; i < N; i++) {
        labels[i] = i % 3;
        uniforms[i] = (double)(i % 5) / 5.0;
    }
    (void)log_joint(p);
    CHECK_OK(mapdpm_gibbs_sweep(p, &clusters, workspace, uniforms));
    for (k = 0, total = 0; k < CAPACITY; k++) {
        int64_t found = 0;

        for (i = 0; i < N; i++)
            found += labels[i] == k;
        CHECK(found == counts[k] && fabs(rows[k * mapdpm_row_size(p)] - (double)found) < 1e-12);
        total += found;
    }
    CHECK(total == N);
    held = log_joint(p);
    CHECK(held == held);
    for (i = 0; i < N; i++) {
        labels[i] = 1;
        uniforms[i] = 0.0;
    }
    (void)log_joint(p);
    CHECK_OK(mapdpm_gibbs_sweep(p, &clusters, workspace, uniforms));
    CHECK(labels[0] == 0); /* the free slot comes first, and its share is not 0 */
    CHECK_REFUSED(mapdpm_gibbs_sweep(p, &clusters, workspace, NULL));
}

int main(void)
{
    static const int32_t families[] = {MAPDPM_NORMAL_GAMMA, MAPDPM_NORMAL_KNOWN_VARIANCE, MAPDPM_SQUARED_DISTANCE,
                                       MAPDPM_NORMAL_INVERSE_WISHART, MAPDPM_NORMAL_GAMMA + MAPDPM_SKIPPING,
                                       MAPDPM_NORMAL_KNOWN_VARIANCE + MAPDPM_SKIPPING};
    const double *const parameters[] = {gamma_parameters, known_parameters, distance_parameters,
                                        full_parameters,  gamma_parameters, known_parameters};
    uint64_t seed = 5;
    int64_t i, f;
    int discounted;

    rows = malloc(sizeof *rows * CAPACITY * (size_t)(mapdpm_row_size(OF(MAPDPM_NORMAL_INVERSE_WISHART, D)) +
                                                     mapdpm_row_size(OF(MAPDPM_NORMAL_GAMMA + MAPDPM_SKIPPING, D))));
    workspace = malloc(mapdpm_workspace_bytes(OF(MAPDPM_NORMAL_GAMMA, D), CAPACITY) +
                       mapdpm_workspace_bytes(OF(MAPDPM_NORMAL_INVERSE_WISHART, D), CAPACITY));
    clusters.rows = rows;
    for (i = 0; i < N * D; i++)
        data[i] = data_with_holes[i] = (mapdpm_real)(2.0 * check_uniform(&seed));
    for (i = 1; i < N * D; i += i % 2 ? 5 : 4) /* every point has a value */
        data_with_holes[i] = (mapdpm_real)NAN;
    for (f = 0; f < 6; f++)
        for (discounted = 0; discounted < 2; discounted++) {
            mapdpm_problem p = {.family = families[f], .n_points = N, .n_features = D,
                                .data = f < 4 ? data : data_with_holes, .parameters = parameters[f], .alpha = 0.7};

            p.discount = discounted && f != 2 ? 0.4 : 0.0;
            p.penalty = f == 2 ? 1.5 : 0.0;
            cheapest_merges(&p);
            best_segments(&p, WIDTH);
            best_segments(&p, 3);
            if (p.discount == 0.0)
                best_segments(&p, 1);
            best_two_clusters(&p);
            gibbs_draws(&p);
            CHECK_REFUSED(mapdpm_merge_losses(&p, &clusters, workspace, NULL, labels, rows));
            CHECK_REFUSED(mapdpm_merge_losses(NULL, &clusters, workspace, counts, labels, rows));
            p.family = MAPDPM_NORMAL_INVERSE_WISHART + 1;
            CHECK_REFUSED(mapdpm_gibbs_sweep(&p, &clusters, workspace, rows));
        }
    free(rows);
    free(workspace);
    return REPORT();
}
