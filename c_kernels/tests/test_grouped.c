/* Points in groups: one group is the process without groups to the last bit; the table and the weights stay those of the
 * labels; sweeps and moves of cells raise the joint for held weights; wrong arguments are refused. */
#include "check.h"
#include "mapdpm_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 120, D = 3, CAPACITY = 24, GROUPS = 6 };

static mapdpm_real data[N * D];
static double parameters[2 * D + 2] = {0, 0, 0, 0.1, 2, 1, 1, 1};
static double known_parameters[3 * D] = {0, 0, 0, 20, 20, 20, 1, 1, 1};
static int64_t of_points[N], table[GROUPS * CAPACITY];
static double weights[CAPACITY + 1];
static mapdpm_groups groups = {GROUPS, of_points, table, weights, 0.4, 1, NULL};

/* A root and two sections of three groups each. */
enum { INNER = 3 };
static double tree_weights[INNER * (CAPACITY + 1)];
static int64_t parents[INNER + GROUPS] = {-1, 0, 0, 1, 1, 1, 2, 2, 2};
static mapdpm_groups tree = {GROUPS, of_points, table, tree_weights, 0.4, INNER, parents};

typedef struct partition {
    int64_t labels[N], counts[CAPACITY];
    mapdpm_clusters clusters;
    unsigned char *workspace;
} partition;

static partition new_partition(void)
{
    partition p = {{0}, {0}, {CAPACITY, NULL, NULL, NULL, NULL}, NULL};

    p.clusters.rows = malloc(sizeof(double) * CAPACITY * (size_t)mapdpm_row_size(MAPDPM_NORMAL_INVERSE_WISHART, D));
    p.workspace = malloc(mapdpm_workspace_bytes(MAPDPM_NORMAL_GAMMA, D, CAPACITY));
    return p;
}

/* A copy of a struct that points into itself. */
static mapdpm_clusters *clusters_of(partition *p)
{
    p->clusters.labels = p->labels;
    p->clusters.counts = p->counts;
    return &p->clusters;
}

static void free_partition(partition *p)
{
    free(p->clusters.rows);
    free(p->workspace);
}

/* Overlapping clusters, whose shares differ between groups. */
static void fill(uint64_t *state)
{
    int64_t i, d;

    for (i = 0; i < N; i++) {
        const int64_t kind = (int64_t)(check_random(state) % 3);

        of_points[i] = i * i * GROUPS / (N * N); /* of unequal sizes, so that blocks of points straddle them */
        for (d = 0; d < D; d++)
            data[i * D + d] = (mapdpm_real)((double)((kind + of_points[i]) % 4) + 1.5 * check_uniform(state));
    }
}

static mapdpm_problem problem_of(int32_t family)
{
    mapdpm_problem p = {0, N, D, data, NULL, NULL, 1.5, 0, 0};

    p.family = family;
    p.parameters = family == MAPDPM_NORMAL_GAMMA ? parameters : known_parameters;
    return p;
}

/* Random labels; the table and the statistics of them; weights that sum to 1.5. */
static void shuffle(const mapdpm_problem *problem, partition *p, uint64_t *state, int64_t used)
{
    int64_t i, k;

    memset(table, 0, sizeof table);
    for (i = 0; i < N; i++) {
        p->labels[i] = (int64_t)(check_random(state) % (uint64_t)used);
        table[of_points[i] * CAPACITY + p->labels[i]]++;
    }
    CHECK(mapdpm_statistics(problem, clusters_of(p), p->workspace) == MAPDPM_OK);
    for (k = 0; k < CAPACITY; k++)
        weights[k] = p->counts[k] > 0 ? 1.2 / (double)used : 0;
    weights[CAPACITY] = 0.3;
}

static void table_is_that_of_the_labels(const partition *p)
{
    int64_t i, k, j, rest[GROUPS * CAPACITY];
    double sum = weights[CAPACITY];

    memcpy(rest, table, sizeof rest);
    for (i = 0; i < N; i++)
        rest[of_points[i] * CAPACITY + p->labels[i]]--;
    for (j = 0; j < GROUPS * CAPACITY; j++)
        CHECK(rest[j] == 0);
    for (k = 0; k < CAPACITY; k++) {
        CHECK((p->counts[k] > 0) == (weights[k] > 0));
        sum += weights[k];
    }
    CHECK(fabs(sum - 1.5) < 1e-12); /* some hundred roundings */
}

/* Log rising factorials of the weights over cells, and log marginals. */
static double joint_of(const mapdpm_problem *problem, partition *p, const double *held)
{
    double marginals[CAPACITY], joint = 0;
    int64_t j, k;

    CHECK(mapdpm_log_marginals(problem, clusters_of(p), p->workspace, marginals) == MAPDPM_OK);
    for (k = 0; k < CAPACITY; k++) {
        joint += marginals[k];
        for (j = 0; j < GROUPS; j++)
            if (table[j * CAPACITY + k] > 0)
                joint += lgamma(held[k] + (double)table[j * CAPACITY + k]) - lgamma(held[k]);
    }
    return joint;
}

/* With one group and no shares, the weight of a slot is its count: the same sweeps, draws and starts, to the last bit. */
static void one_group_is_no_group(int32_t family, uint64_t *state)
{
    const mapdpm_problem problem = problem_of(family);
    partition one = new_partition(), two = new_partition();
    int64_t order[N], saved[N], i, round, start, moved, k, at = 0, other_at = 0;
    double uniforms[N];

    memcpy(saved, of_points, sizeof saved);
    memset(of_points, 0, sizeof of_points);
    groups.new_share = 0;
    for (round = 0; round < 6; round++) {
        shuffle(&problem, &one, state, 5);
        memcpy(two.labels, one.labels, sizeof one.labels);
        CHECK(mapdpm_statistics(&problem, clusters_of(&two), two.workspace) == MAPDPM_OK);
        memset(weights, 0, sizeof weights);
        weights[CAPACITY] = problem.alpha;
        if (round % 3 == 2)
            for (i = 0; i < N; i++)
                uniforms[i] = 0.5 + 0.5 * check_uniform(state);
        if (round % 3 == 1) {
            for (i = 0; i < N; i++) {
                order[i] = (7 * i) % N;
                one.labels[i] = two.labels[i] = -1;
            }
            memset(table, 0, sizeof table);
            CHECK(mapdpm_statistics(&problem, clusters_of(&one), one.workspace) == MAPDPM_OK);
            CHECK(mapdpm_statistics(&problem, clusters_of(&two), two.workspace) == MAPDPM_OK);
            at = other_at = 0;
            CHECK(mapdpm_sequential_start(&problem, clusters_of(&one), one.workspace, order, N, 0, &at) == MAPDPM_OK);
            CHECK(mapdpm_grouped_start(&problem, clusters_of(&two), &groups, two.workspace, order, N, 0, &other_at) ==
                  MAPDPM_OK);
            CHECK(at == N && other_at == N);
        } else if (round % 3 == 2) {
            CHECK(mapdpm_gibbs_sweep(&problem, clusters_of(&one), one.workspace, uniforms) == MAPDPM_OK);
            CHECK(mapdpm_grouped_gibbs_sweep(&problem, clusters_of(&two), &groups, two.workspace, uniforms) == MAPDPM_OK);
        } else {
            start = moved = 0;
            CHECK(mapdpm_sweep(&problem, clusters_of(&one), one.workspace, 0, &start, &moved) == MAPDPM_OK);
            at = other_at = 0;
            CHECK(mapdpm_grouped_sweep(&problem, clusters_of(&two), &groups, two.workspace, 0, &at, &other_at) ==
                  MAPDPM_OK);
            CHECK(at == N && other_at == moved);
        }
        CHECK(memcmp(one.labels, two.labels, sizeof one.labels) == 0);
        for (k = 0; k < CAPACITY; k++)
            CHECK(table[k] == two.counts[k]);
    }
    memcpy(of_points, saved, sizeof saved);
    groups.new_share = 0.4;
    free_partition(&one);
    free_partition(&two);
}

/* At the end of the sweeps no point gains by another slot in use. */
static void no_point_gains(const mapdpm_problem *problem, partition *p, const double *held)
{
    const double best = joint_of(problem, p, held);
    int64_t i, k;

    for (i = 0; i < N; i++) {
        const int64_t own = p->labels[i];

        for (k = 0; k < CAPACITY; k++) {
            if (k == own || p->counts[k] == 0 || p->counts[own] == 1)
                continue;
            p->labels[i] = k;
            table[of_points[i] * CAPACITY + own]--;
            table[of_points[i] * CAPACITY + k]++;
            CHECK(mapdpm_statistics(problem, clusters_of(p), p->workspace) == MAPDPM_OK);
            CHECK(joint_of(problem, p, held) <= best + 1e-8 * (1 + fabs(best)));
            p->labels[i] = own;
            table[of_points[i] * CAPACITY + own]++;
            table[of_points[i] * CAPACITY + k]--;
            CHECK(mapdpm_statistics(problem, clusters_of(p), p->workspace) == MAPDPM_OK);
        }
    }
}

static void sweeps_raise_the_joint(int32_t family, uint64_t *state)
{
    const mapdpm_problem problem = problem_of(family);
    partition p = new_partition();
    double uniforms[N], held[CAPACITY + 1], before;
    int64_t i, round, position, moved;

    for (round = 0; round < 20; round++) {
        shuffle(&problem, &p, state, 6);
        weights[CAPACITY] = 0; /* no births, so that one joint is comparable */
        memcpy(held, weights, sizeof held);
        for (moved = 1; moved > 0;) {
            before = joint_of(&problem, &p, held);
            position = moved = 0;
            CHECK(mapdpm_grouped_sweep(&problem, clusters_of(&p), &groups, p.workspace, 0, &position, &moved) == MAPDPM_OK);
            CHECK(position == N);
            if (memcmp(held, weights, sizeof held) != 0) /* a cluster was emptied */
                break;
            CHECK(joint_of(&problem, &p, held) >= before - 1e-9 * (1 + fabs(before)));
        }
        if (moved == 0)
            no_point_gains(&problem, &p, held);
        shuffle(&problem, &p, state, 6);
        position = moved = 0;
        CHECK(mapdpm_grouped_sweep(&problem, clusters_of(&p), &groups, p.workspace, 0, &position, &moved) == MAPDPM_OK);
        table_is_that_of_the_labels(&p);
        for (i = 0; i < N; i++)
            uniforms[i] = 0.5 + 0.5 * check_uniform(state);
        CHECK(mapdpm_grouped_gibbs_sweep(&problem, clusters_of(&p), &groups, p.workspace, uniforms) == MAPDPM_OK);
        table_is_that_of_the_labels(&p);
    }
    free_partition(&p);
}

/* In each inner node weights sum to what they did, and a slot has some where it has points; a birth gives most to the
 * nodes above its point. */
static void tree_keeps_its_weights(uint64_t *state)
{
    const mapdpm_problem problem = problem_of(MAPDPM_NORMAL_GAMMA);
    partition p = new_partition();
    double uniforms[N];
    int64_t round, i, k, u, position, moved;

    for (round = 0; round < 20; round++) {
        shuffle(&problem, &p, state, 6);
        for (u = 0; u < INNER; u++)
            for (k = 0; k <= CAPACITY; k++)
                tree_weights[u * (CAPACITY + 1) + k] = (double)(u + 1) * weights[k];
        if (round % 2) {
            position = moved = 0;
            CHECK(mapdpm_grouped_sweep(&problem, clusters_of(&p), &tree, p.workspace, 0, &position, &moved) == MAPDPM_OK);
        } else {
            for (i = 0; i < N; i++)
                uniforms[i] = check_uniform(state);
            CHECK(mapdpm_grouped_gibbs_sweep(&problem, clusters_of(&p), &tree, p.workspace, uniforms) == MAPDPM_OK);
        }
        for (u = 0; u < INNER; u++) {
            const double *const own = tree_weights + u * (CAPACITY + 1);
            double sum = own[CAPACITY];

            for (k = 0; k < CAPACITY; k++) {
                CHECK((p.counts[k] > 0) == (own[k] > 0));
                sum += own[k];
            }
            CHECK(fabs(sum - 1.5 * (double)(u + 1)) < 1e-12); /* some hundred roundings */
        }
    }
    free_partition(&p);
}

static void a_birth_is_for_its_path(void)
{
    const mapdpm_problem problem = problem_of(MAPDPM_NORMAL_GAMMA);
    partition p = new_partition();
    int64_t order[1], k, u, position = 0;

    memset(table, 0, sizeof table);
    memset(tree_weights, 0, sizeof tree_weights);
    for (k = 0; k < N; k++)
        p.labels[k] = -1;
    for (u = 0; u < INNER; u++)
        tree_weights[u * (CAPACITY + 1) + CAPACITY] = 2.0;
    CHECK(mapdpm_statistics(&problem, clusters_of(&p), p.workspace) == MAPDPM_OK);
    order[0] = N - 1; /* of the last group, whose parent is the second section */
    CHECK(mapdpm_grouped_start(&problem, clusters_of(&p), &tree, p.workspace, order, 1, 0, &position) == MAPDPM_OK);
    CHECK(fabs(tree_weights[0] - 0.8) < 1e-15);                               /* 0.4 of 2 */
    CHECK(fabs(tree_weights[CAPACITY + 1] - 0.8) < 1e-15);                    /* 0.8 of 2.0 */
    CHECK(fabs(tree_weights[2 * (CAPACITY + 1)] - 2.0 * 1.8 / 3.0) < 1e-15); /* 0.8 + 1 of 2.0 + 1 */
    free_partition(&p);
}

/* The sum of the gains is the gain of the joint, where no cluster opens. */
static void cells_gain_what_they_say(int32_t family, uint64_t *state)
{
    const mapdpm_problem problem = problem_of(family);
    const int64_t size = mapdpm_row_size(family, D);
    partition p = new_partition(), cells = new_partition();
    int64_t names[GROUPS], to[GROUPS], i, j, slot, round, moves = 0;
    unsigned char *const space = malloc(mapdpm_move_cells_bytes(family, D, GROUPS));
    double *const rows = malloc(sizeof(double) * GROUPS * (size_t)size);

    for (round = 0; round < 10; round++) {
        shuffle(&problem, &p, state, 4);
        weights[CAPACITY] = 0;
        for (slot = 0; slot < 4; slot++) {
            double gained, before, held[CAPACITY + 1];
            int64_t n = 0;

            for (i = 0; i < N; i++)
                cells.labels[i] = p.labels[i] == slot ? of_points[i] : -1;
            CHECK(mapdpm_statistics(&problem, clusters_of(&cells), cells.workspace) == MAPDPM_OK);
            for (j = 0; j < GROUPS; j++)
                if (cells.counts[j] > 0) {
                    memcpy(rows + n * size, cells.clusters.rows + j * size, sizeof(double) * (size_t)size);
                    names[n++] = j;
                }
            if (n == 0)
                continue;
            memcpy(held, weights, sizeof held);
            before = joint_of(&problem, &p, held);
            CHECK(mapdpm_move_cells(&problem, clusters_of(&p), &groups, space, slot, n, names, rows, to, &gained) ==
                  MAPDPM_OK);
            for (j = 0; j < n; j++)
                for (i = 0; i < N && to[j] != slot; i++)
                    if (of_points[i] == names[j] && cells.labels[i] >= 0) {
                        p.labels[i] = to[j];
                        moves++;
                    }
            CHECK(fabs(joint_of(&problem, &p, held) - before - gained) <= 1e-9 * (1 + fabs(before)));
            CHECK(gained >= 0);
        }
    }
    CHECK(moves > 0);
    free(space);
    free(rows);
    free_partition(&p);
    free_partition(&cells);
}

static void wrong_arguments_are_refused(void)
{
    mapdpm_problem problem = problem_of(MAPDPM_NORMAL_GAMMA);
    partition p = new_partition();
    const mapdpm_groups right = groups;
    int64_t position = 0, moved = 0, to[1], name = 0, order[1] = {0};
    double uniforms[N] = {0}, gained, unit[N], row[64] = {1};
    uint64_t state = 5;
    int64_t i;
    unsigned char space[8192];

#define SWEEP(g) mapdpm_grouped_sweep(&problem, clusters_of(&p), g, p.workspace, 0, &position, &moved)
#define MOVE(slot, n) mapdpm_move_cells(&problem, clusters_of(&p), &groups, space, slot, n, &name, row, to, &gained)
    for (i = 0; i < N; i++)
        unit[i] = 1;
    shuffle(&problem, &p, &state, 3);
    CHECK(SWEEP(NULL) == MAPDPM_E_ARGUMENT);
    groups.n_groups = 0;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    groups = right;
    groups.table = NULL;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    groups = right;
    groups.weights = NULL;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    groups = right;
    groups.of_points = NULL;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    groups = right;
    groups.new_share = 1.5;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    groups = right;
    of_points[N - 1] = GROUPS;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    of_points[N - 1] = GROUPS - 1;
    groups.parents = parents;
    groups.n_inner = 0;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    groups.n_inner = INNER;
    parents[2] = 2;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    parents[2] = 0;
    parents[INNER] = INNER;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    parents[INNER] = -1;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    parents[INNER] = 1;
    groups = right;
    problem.weights = unit;
    CHECK(SWEEP(&groups) == MAPDPM_E_ARGUMENT);
    problem.weights = NULL;
    CHECK(mapdpm_grouped_sweep(&problem, clusters_of(&p), &groups, NULL, 0, &position, &moved) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_grouped_sweep(&problem, clusters_of(&p), &groups, p.workspace, 0, NULL, &moved) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_grouped_sweep(&problem, clusters_of(&p), &groups, p.workspace, 0, &position, NULL) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_grouped_gibbs_sweep(&problem, clusters_of(&p), &groups, p.workspace, NULL) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_grouped_gibbs_sweep(&problem, NULL, &groups, p.workspace, uniforms) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_grouped_start(&problem, clusters_of(&p), &groups, p.workspace, NULL, 1, 0, &position) ==
          MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_grouped_start(&problem, clusters_of(&p), &groups, p.workspace, order, 1, 0, NULL) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_grouped_start(&problem, NULL, &groups, p.workspace, order, 1, 0, &position) == MAPDPM_E_ARGUMENT);
    CHECK(MOVE(-1, 1) == MAPDPM_E_ARGUMENT && MOVE(CAPACITY, 1) == MAPDPM_E_ARGUMENT && MOVE(0, 0) == MAPDPM_E_ARGUMENT);
    name = GROUPS;
    CHECK(MOVE(0, 1) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_move_cells_bytes(1, 0, 1) == 0 && mapdpm_move_cells_bytes(1, 1, 0) == 0);
    free_partition(&p);
}

int main(void)
{
    uint64_t state = 88172645463325252;
    int round;

    for (round = 0; round < 3; round++) {
        fill(&state);
        one_group_is_no_group(MAPDPM_NORMAL_GAMMA, &state);
        one_group_is_no_group(MAPDPM_NORMAL_KNOWN_VARIANCE, &state);
        sweeps_raise_the_joint(MAPDPM_NORMAL_GAMMA, &state);
        sweeps_raise_the_joint(MAPDPM_NORMAL_KNOWN_VARIANCE, &state);
        cells_gain_what_they_say(MAPDPM_NORMAL_GAMMA, &state);
        cells_gain_what_they_say(MAPDPM_NORMAL_KNOWN_VARIANCE, &state);
    }
    tree_keeps_its_weights(&state);
    a_birth_is_for_its_path();
    wrong_arguments_are_refused();
    return REPORT();
}
