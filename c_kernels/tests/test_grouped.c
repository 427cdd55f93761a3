/* Points in groups: one group is the process without groups to the last bit; the table and the weights stay those of
 * the labels; sweeps and moves of cells raise the joint for held weights; wrong arguments are refused. */
#include "weighted.h"
#include "sizes.h"

enum { GROUPS = 6, TABLE = GROUPS * CAPACITY };

static int64_t of_points[N], table[TABLE];
static double weights[CAPACITY + 1];
static mapdpm_groups groups = {GROUPS, of_points, table, weights, 0.4, 1, NULL};

/* A root and two sections of three groups each. */
enum { INNER = 3 };
static double tree_weights[INNER * (CAPACITY + 1)];
static int64_t parents[INNER + GROUPS] = {-1, 0, 0, 1, 1, 1, 2, 2, 2};
static mapdpm_groups tree = {GROUPS, of_points, table, tree_weights, 0.4, INNER, parents};

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

static void recompute(const mapdpm_problem *problem, partition *p)
{
    CHECK_OK(mapdpm_statistics(problem, CLUSTERS_OF(p), workspace));
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
    recompute(problem, p);
    for (k = 0; k < CAPACITY; k++)
        weights[k] = p->counts[k] > 0 ? 1.2 / (double)used : 0;
    weights[CAPACITY] = 0.3;
}

static void table_is_that_of_the_labels(const partition *p)
{
    int64_t i, j, rest[TABLE];

    memcpy(rest, table, sizeof rest);
    for (i = 0; i < N; i++)
        rest[of_points[i] * CAPACITY + p->labels[i]]--;
    for (j = 0; j < TABLE; j++)
        CHECK(rest[j] == 0);
    check_weights(weights, p->counts, CAPACITY, 1.5);
}

/* Log rising factorials of the weights over cells, and log marginals. */
static double joint_of(const mapdpm_problem *problem, partition *p, const double *held)
{
    double marginals[CAPACITY], joint = 0;
    int64_t j, k;

    CHECK_OK(mapdpm_log_marginals(problem, CLUSTERS_OF(p), workspace, marginals));
    for (k = 0; k < CAPACITY; k++) {
        joint += marginals[k];
        for (j = 0; j < GROUPS; j++)
            if (table[j * CAPACITY + k] > 0)
                joint += lgamma(held[k] + (double)table[j * CAPACITY + k]) - lgamma(held[k]);
    }
    return joint;
}

/* Sweep once; returns how many moved. */
static int64_t sweep(const mapdpm_problem *problem, partition *p, const mapdpm_groups *g)
{
    int64_t position = 0, moved = 0;

    CHECK_OK(mapdpm_grouped_sweep(problem, CLUSTERS_OF(p), g, workspace, 0, &position, &moved));
    CHECK(position == N);
    return moved;
}

static void draw_uniforms(uint64_t *state, double *uniforms)
{
    int64_t i;

    for (i = 0; i < N; i++)
        uniforms[i] = 0.5 + 0.5 * check_uniform(state);
}

/* With one group and no shares, the weight of a slot is its count: the same sweeps, draws and starts, to the last
 * bit. */
static void one_group_is_no_group(int32_t family, uint64_t *state)
{
    const mapdpm_problem problem = problem_of(family);
    partition one, two;
    int64_t order[N], saved[N], i, round, k, at, other_at, moved;
    double uniforms[N];

    memcpy(saved, of_points, sizeof saved);
    memset(of_points, 0, sizeof of_points);
    groups.new_share = 0;
    for (round = 0; round < 6; round++) {
        shuffle(&problem, &one, state, 5);
        two = one;
        recompute(&problem, &two);
        memset(weights, 0, sizeof weights);
        weights[CAPACITY] = problem.alpha;
        at = other_at = moved = 0;
        if (round % 3 == 1) {
            for (i = 0; i < N; i++) {
                order[i] = (7 * i) % N;
                one.labels[i] = two.labels[i] = -1;
            }
            memset(table, 0, sizeof table);
            recompute(&problem, &one);
            recompute(&problem, &two);
            CHECK_OK(mapdpm_sequential_start(&problem, CLUSTERS_OF(&one), workspace, order, N, 0, &at));
            CHECK_OK(mapdpm_grouped_start(&problem, CLUSTERS_OF(&two), &groups, workspace, order, N, 0, &other_at));
            CHECK(at == N && other_at == N);
        } else if (round % 3 == 2) {
            draw_uniforms(state, uniforms);
            CHECK_OK(mapdpm_gibbs_sweep(&problem, CLUSTERS_OF(&one), workspace, uniforms));
            CHECK_OK(mapdpm_grouped_gibbs_sweep(&problem, CLUSTERS_OF(&two), &groups, workspace, uniforms));
        } else {
            CHECK_OK(mapdpm_sweep(&problem, CLUSTERS_OF(&one), workspace, 0, &at, &moved));
            CHECK(sweep(&problem, &two, &groups) == moved);
        }
        CHECK(memcmp(one.labels, two.labels, sizeof one.labels) == 0);
        for (k = 0; k < CAPACITY; k++)
            CHECK(table[k] == two.counts[k]);
    }
    memcpy(of_points, saved, sizeof saved);
    groups.new_share = 0.4;
}

static void move_one(const mapdpm_problem *problem, partition *p, int64_t i, int64_t to)
{
    table[of_points[i] * CAPACITY + p->labels[i]]--;
    table[of_points[i] * CAPACITY + to]++;
    p->labels[i] = to;
    recompute(problem, p);
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
            move_one(problem, p, i, k);
            CHECK(joint_of(problem, p, held) <= best + 1e-8 * (1 + fabs(best)));
            move_one(problem, p, i, own);
        }
    }
}

static void sweeps_raise_the_joint(int32_t family, uint64_t *state)
{
    const mapdpm_problem problem = problem_of(family);
    partition p;
    double uniforms[N], held[CAPACITY + 1], before;
    int64_t round, moved;

    for (round = 0; round < 20; round++) {
        shuffle(&problem, &p, state, 6);
        weights[CAPACITY] = 0; /* no births, so that one joint is comparable */
        memcpy(held, weights, sizeof held);
        for (moved = 1; moved > 0;) {
            before = joint_of(&problem, &p, held);
            moved = sweep(&problem, &p, &groups);
            if (memcmp(held, weights, sizeof held) != 0) /* a cluster was emptied */
                break;
            CHECK(joint_of(&problem, &p, held) >= before - 1e-9 * (1 + fabs(before)));
        }
        if (moved == 0)
            no_point_gains(&problem, &p, held);
        shuffle(&problem, &p, state, 6);
        (void)sweep(&problem, &p, &groups);
        table_is_that_of_the_labels(&p);
        draw_uniforms(state, uniforms);
        CHECK_OK(mapdpm_grouped_gibbs_sweep(&problem, CLUSTERS_OF(&p), &groups, workspace, uniforms));
        table_is_that_of_the_labels(&p);
    }
}

/* In each inner node weights sum to what they did, and a slot has some where it has points; a birth gives most to the
 * nodes above its point. */
static void tree_keeps_its_weights(uint64_t *state)
{
    const mapdpm_problem problem = problem_of(MAPDPM_NORMAL_GAMMA);
    partition p;
    double uniforms[N];
    int64_t round, i, k, u;

    for (round = 0; round < 20; round++) {
        shuffle(&problem, &p, state, 6);
        for (u = 0; u < INNER; u++)
            for (k = 0; k <= CAPACITY; k++)
                tree_weights[u * (CAPACITY + 1) + k] = (double)(u + 1) * weights[k];
        if (round % 2) {
            (void)sweep(&problem, &p, &tree);
        } else {
            for (i = 0; i < N; i++)
                uniforms[i] = check_uniform(state);
            CHECK_OK(mapdpm_grouped_gibbs_sweep(&problem, CLUSTERS_OF(&p), &tree, workspace, uniforms));
        }
        for (u = 0; u < INNER; u++)
            check_weights(tree_weights + u * (CAPACITY + 1), p.counts, CAPACITY, 1.5 * (double)(u + 1));
    }
}

static void a_birth_is_for_its_path(void)
{
    const mapdpm_problem problem = problem_of(MAPDPM_NORMAL_GAMMA);
    const int64_t last[1] = {N - 1}; /* of the last group, whose parent is the second section */
    partition p;
    int64_t u, position = 0;

    memset(table, 0, sizeof table);
    memset(tree_weights, 0, sizeof tree_weights);
    memset(p.labels, 0xff, sizeof p.labels); /* -1: all points are out */
    for (u = 0; u < INNER; u++)
        tree_weights[u * (CAPACITY + 1) + CAPACITY] = 2.0;
    recompute(&problem, &p);
    CHECK_OK(mapdpm_grouped_start(&problem, CLUSTERS_OF(&p), &tree, workspace, last, 1, 0, &position));
    CHECK(fabs(tree_weights[0] - 0.8) < 1e-15);                               /* 0.4 of 2 */
    CHECK(fabs(tree_weights[CAPACITY + 1] - 0.8) < 1e-15);                    /* 0.8 of 2.0 */
    CHECK(fabs(tree_weights[2 * (CAPACITY + 1)] - 2.0 * 1.8 / 3.0) < 1e-15); /* 0.8 + 1 of 2.0 + 1 */
}

/* The sum of the gains is the gain of the joint, where no cluster opens. */
static void cells_gain_what_they_say(int32_t family, uint64_t *state)
{
    const mapdpm_problem problem = problem_of(family);
    const int64_t size = mapdpm_row_size(OF(family, D));
    partition p, cells;
    int64_t names[GROUPS], to[GROUPS], i, j, slot, round, moves = 0;
    unsigned char *const space = malloc(mapdpm_move_cells_bytes(OF(family, D), GROUPS));
    double rows[GROUPS * ROW];

    for (round = 0; round < 10; round++) {
        shuffle(&problem, &p, state, 4);
        weights[CAPACITY] = 0;
        for (slot = 0; slot < 4; slot++) {
            double gained, before, held[CAPACITY + 1];
            int64_t n = 0;

            for (i = 0; i < N; i++)
                cells.labels[i] = p.labels[i] == slot ? of_points[i] : -1;
            recompute(&problem, &cells);
            for (j = 0; j < GROUPS; j++)
                if (cells.counts[j] > 0) {
                    memcpy(rows + n * size, cells.rows + j * size, sizeof(double) * (size_t)size);
                    names[n++] = j;
                }
            if (n == 0)
                continue;
            memcpy(held, weights, sizeof held);
            before = joint_of(&problem, &p, held);
            CHECK_OK(mapdpm_move_cells(&problem, CLUSTERS_OF(&p), &groups, space, slot, n, names, rows, to, &gained));
            for (j = 0; j < n; j++)
                for (i = 0; i < N && to[j] != slot; i++)
                    if (of_points[i] == names[j] && cells.labels[i] >= 0) {
                        p.labels[i] = to[j];
                        moves++;
                    }
            CHECK_NEAR(joint_of(&problem, &p, held) - before, gained, 1e-9 * (1 + fabs(before)));
            CHECK(gained >= 0);
        }
    }
    CHECK(moves > 0);
    free(space);
}

static void wrong_arguments_are_refused(void)
{
    mapdpm_problem problem = problem_of(MAPDPM_NORMAL_GAMMA);
    partition p;
    const mapdpm_clusters *const z = CLUSTERS_OF(&p);
    int64_t position = 0, moved = 0, to[1], name = 0, order[1] = {0};
    double uniforms[N] = {0}, gained, unit[N], row[64] = {1};
    uint64_t state = 5;
    int64_t i;
    unsigned char space[8192];

#define SWEEP(g) mapdpm_grouped_sweep(&problem, z, g, workspace, 0, &position, &moved)
#define WRONG(place, value) CHECK_WITH(place, value, SWEEP(&groups) == MAPDPM_E_ARGUMENT)
#define MOVE(slot, n) mapdpm_move_cells(&problem, z, &groups, space, slot, n, &name, row, to, &gained)
    for (i = 0; i < N; i++)
        unit[i] = 1;
    shuffle(&problem, &p, &state, 3);
    CHECK_REFUSED(SWEEP(NULL));
    WRONG(groups.n_groups, 0);
    WRONG(groups.table, NULL);
    WRONG(groups.weights, NULL);
    WRONG(groups.of_points, NULL);
    WRONG(groups.new_share, 1.5);
    WRONG(of_points[N - 1], GROUPS);
    groups.parents = parents;
    WRONG(groups.n_inner, 0);
    groups.n_inner = INNER;
    WRONG(parents[2], 2);
    WRONG(parents[INNER], INNER);
    WRONG(parents[INNER], -1);
    groups.parents = NULL;
    groups.n_inner = 1;
    WRONG(problem.weights, unit);
    CHECK_REFUSED(mapdpm_grouped_sweep(&problem, z, &groups, NULL, 0, &position, &moved));
    CHECK_REFUSED(mapdpm_grouped_sweep(&problem, z, &groups, workspace, 0, NULL, &moved));
    CHECK_REFUSED(mapdpm_grouped_sweep(&problem, z, &groups, workspace, 0, &position, NULL));
    CHECK_REFUSED(mapdpm_grouped_gibbs_sweep(&problem, z, &groups, workspace, NULL));
    CHECK_REFUSED(mapdpm_grouped_gibbs_sweep(&problem, NULL, &groups, workspace, uniforms));
    CHECK_REFUSED(mapdpm_grouped_start(&problem, z, &groups, workspace, NULL, 1, 0, &position));
    CHECK_REFUSED(mapdpm_grouped_start(&problem, z, &groups, workspace, order, 1, 0, NULL));
    CHECK_REFUSED(mapdpm_grouped_start(&problem, NULL, &groups, workspace, order, 1, 0, &position));
    CHECK(MOVE(-1, 1) == MAPDPM_E_ARGUMENT && MOVE(CAPACITY, 1) == MAPDPM_E_ARGUMENT &&
          MOVE(0, 0) == MAPDPM_E_ARGUMENT);
    CHECK_WITH(name, GROUPS, MOVE(0, 1) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_move_cells_bytes(OF(1, 0), 1) == 0 && mapdpm_move_cells_bytes(OF(1, 1), 0) == 0);
}

int main(void)
{
    uint64_t state = 88172645463325252;
    int round;

    workspace = malloc(mapdpm_workspace_bytes(OF(MAPDPM_NORMAL_GAMMA, D), CAPACITY));
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
    free(workspace);
    return REPORT();
}
