/* States of sequences: counts, sizes and weights stay those of the labels; each visit finds the best state for held
 * weights; nothing moves at a mode. Paths agree with all paths, one by one. Wrong arguments are refused. */
#include "weighted.h"
#include "sizes.h"

enum { SEQUENCES = 5, ROWS = CAPACITY + 1 };

static int64_t previous[N], following[N], in_time[N];

/* What a visit keeps up to date beside the partition. */
static struct counted {
    int64_t capacity; /* slots in the table and in use */
    int64_t table[ROWS * CAPACITY], sizes[ROWS];
    double weights[ROWS];
} now;

static mapdpm_states states = {previous, following, now.table, now.sizes, now.weights, 1.5, 0, 0.4};

#define SLOTS(p) SLOTS_OF(p, now.capacity)

/* Sequences whose points lie between each other, so that neighbours in memory are not neighbours in time. The last
 * point is a sequence of its own. Clusters overlap, so that the points alone do not decide. */
static void fill(uint64_t *state)
{
    int64_t i, d, kind[N];

    for (i = 0; i < N; i++) {
        in_time[i] = i;
        previous[i] = i < SEQUENCES || i == N - 1 ? -1 : i - SEQUENCES;
        following[i] = i + SEQUENCES < N - 1 ? i + SEQUENCES : -1;
        kind[i] = (int64_t)(check_random(state) % 4);
        if (previous[i] >= 0 && check_random(state) % 4 > 0)
            kind[i] = kind[previous[i]];
        for (d = 0; d < D; d++)
            data[i * D + d] = (mapdpm_real)((double)kind[i] * (d == 1 ? -1.5 : 1.5) + 1.5 * check_uniform(state));
    }
}

/* The transitions of labels; those of a point without a slot do not count. */
static void count_transitions(const mapdpm_problem *problem, const int64_t *labels, int64_t capacity, int64_t *counts,
                              int64_t *sums)
{
    int64_t i;

    memset(counts, 0, sizeof *counts * (size_t)((capacity + 1) * capacity));
    memset(sums, 0, sizeof *sums * (size_t)(capacity + 1));
    for (i = 0; i < problem->n_points; i++) {
        const int64_t v = previous[i] < 0 ? capacity : labels[previous[i]];

        if (v < 0 || labels[i] < 0)
            continue;
        counts[v * capacity + labels[i]]++;
        sums[v]++;
    }
}

/* All that depends on the labels; weights that sum to alpha. */
static void set_up(const mapdpm_problem *problem, partition *p, int64_t capacity)
{
    int64_t k, used = 0;

    now.capacity = capacity;
    CHECK_OK(mapdpm_statistics(problem, SLOTS(p), workspace));
    count_transitions(problem, p->labels, capacity, now.table, now.sizes);
    for (k = 0; k < capacity; k++)
        used += p->counts[k] > 0;
    for (k = 0; k < capacity; k++)
        now.weights[k] = p->counts[k] > 0 ? 1.2 / (double)used : 0;
    now.weights[capacity] = used > 0 ? 0.3 : 1.5;
}

static void shuffle(const mapdpm_problem *problem, partition *p, uint64_t *state, int64_t used)
{
    int64_t i;

    for (i = 0; i < N; i++)
        p->labels[i] = (int64_t)(check_random(state) % (uint64_t)used);
    set_up(problem, p, CAPACITY);
}

/* No point is in. */
static void take_all_out(const mapdpm_problem *problem, partition *p, int64_t capacity)
{
    memset(p->labels, 0xff, sizeof p->labels);
    set_up(problem, p, capacity);
}

static void all_is_that_of_the_labels(const mapdpm_problem *problem, const partition *p)
{
    const int64_t capacity = now.capacity;
    int64_t i, k, counted[ROWS * CAPACITY], sums[ROWS], points[CAPACITY] = {0};

    count_transitions(problem, p->labels, capacity, counted, sums);
    CHECK(memcmp(counted, now.table, sizeof *counted * (size_t)((capacity + 1) * capacity)) == 0);
    CHECK(memcmp(sums, now.sizes, sizeof *sums * (size_t)(capacity + 1)) == 0);
    for (i = 0; i < problem->n_points; i++)
        if (p->labels[i] >= 0)
            points[p->labels[i]]++;
    for (k = 0; k < capacity; k++)
        CHECK(points[k] == p->counts[k]);
    check_weights(now.weights, p->counts, capacity, 1.5);
}

/* The rows that moves edited have the log marginals of rows that are made from the labels. */
static void rows_are_those_of_the_labels(const mapdpm_problem *problem, partition *p)
{
    double edited[CAPACITY], made[CAPACITY];
    partition other = *p;
    int64_t k;

    CHECK_OK(mapdpm_log_marginals(problem, CLUSTERS_OF(p), workspace, edited));
    CHECK_OK(mapdpm_statistics(problem, CLUSTERS_OF(&other), workspace));
    CHECK_OK(mapdpm_log_marginals(problem, CLUSTERS_OF(&other), workspace, made));
    for (k = 0; k < CAPACITY; k++)
        CHECK_NEAR(edited[k], made[k], 1e-9 * (1 + fabs(made[k])));
}

/* log of w (w + 1) ... (w + n - 1) */
static double log_rising(double w, int64_t n)
{
    return n > 0 ? lgamma(w + (double)n) - lgamma(w) : 0;
}

/* The log joint of the labels of p and the points, for held weights: of each row a Polya sequence, and log marginals.
 * It shares no count with the library. */
static double joint_of(const mapdpm_problem *problem, partition *p, const double *held)
{
    int64_t v, k, counted[ROWS * CAPACITY], sums[ROWS];
    double marginals[CAPACITY], joint = 0;

    CHECK_OK(mapdpm_statistics(problem, CLUSTERS_OF(p), workspace));
    CHECK_OK(mapdpm_log_marginals(problem, CLUSTERS_OF(p), workspace, marginals));
    count_transitions(problem, p->labels, CAPACITY, counted, sums);
    for (k = 0; k < CAPACITY; k++)
        joint += marginals[k];
    for (v = 0; v < ROWS; v++) {
        joint -= log_rising(states.alpha + (v < CAPACITY ? states.kappa : 0), sums[v]);
        for (k = 0; k < CAPACITY; k++)
            joint += log_rising(held[k] + (v == k ? states.kappa : 0), counted[v * CAPACITY + k]);
    }
    return joint;
}

/* Visits of these points; *position and *moved go on. */
static int visit(const mapdpm_problem *problem, partition *p, const int64_t *order, int64_t n, int64_t *position,
                 int64_t *moved)
{
    return mapdpm_visit_states(problem, SLOTS(p), &states, workspace, order, n, 0, position, moved);
}

/* Visit all points in order; returns how many moved. */
static int64_t visit_all(const mapdpm_problem *problem, partition *p, int may_grow)
{
    int64_t position = 0, moved = 0;

    CHECK_OK(mapdpm_visit_states(problem, SLOTS(p), &states, workspace, in_time, problem->n_points, may_grow, &position,
                                 &moved));
    CHECK(position == problem->n_points);
    return moved;
}

/* One more visit moves nothing, and changes no bit of anything. */
static void nothing_changes(const mapdpm_problem *problem, partition *p)
{
    const struct counted before = now;
    const partition was = *p;

    CHECK(mapdpm_row_size(problem) == ROW); /* so that all of the rows is compared */
    CHECK(visit_all(problem, p, 0) == 0);
    CHECK(memcmp(before.table, now.table, sizeof now.table) == 0);
    CHECK(memcmp(before.sizes, now.sizes, sizeof now.sizes) == 0);
    CHECK(memcmp(before.weights, now.weights, sizeof now.weights) == 0);
    CHECK(memcmp(was.labels, p->labels, sizeof p->labels) == 0);
    CHECK(memcmp(was.counts, p->counts, sizeof p->counts) == 0);
    CHECK(memcmp(was.rows, p->rows, sizeof p->rows) == 0);
}

static void sweeps_end_at_a_mode(int32_t family, uint64_t *state)
{
    const mapdpm_problem problem = problem_of(family);
    partition p;
    int64_t round, sweep, moved, total = 0;

    for (round = 0; round < 10; round++) {
        shuffle(&problem, &p, state, 2 + round);
        for (sweep = 0, moved = 1; sweep < 100 && moved > 0; sweep++) {
            moved = visit_all(&problem, &p, 0);
            total += moved;
            all_is_that_of_the_labels(&problem, &p);
            rows_are_those_of_the_labels(&problem, &p);
        }
        CHECK(moved == 0);
        nothing_changes(&problem, &p);
    }
    CHECK(total > 0);
}

/* A call keeps weights from point to point where they are the same; calls of one point cannot. */
static void one_call_is_many_calls(int32_t family, uint64_t *state)
{
    const mapdpm_problem problem = problem_of(family);
    partition p, other;
    int64_t order[N], i, s, round, n = 0;

    for (s = 0; s < SEQUENCES; s++) /* along sequences, where runs of points are in one state */
        for (i = s; i < N - 1; i += SEQUENCES)
            order[n++] = i;
    order[n++] = N - 1;
    for (round = 0; round < 6; round++) {
        int64_t position = 0, moved = 0, single_moves = 0;
        struct counted start, single;

        if (round % 3 == 0)
            shuffle(&problem, &p, state, 8);
        if (round == 3) /* a start, where points come from one state again and again, and counts grow */
            take_all_out(&problem, &p, CAPACITY);
        other = p;
        start = now;
        for (i = 0; i < N; i++) {
            position = 0;
            CHECK_OK(visit(&problem, &other, order + i, 1, &position, &single_moves));
        }
        single = now;
        now = start;
        position = 0;
        CHECK_OK(visit(&problem, &p, order, N, &position, &moved));
        CHECK(position == N && moved == single_moves);
        CHECK(memcmp(other.labels, p.labels, sizeof p.labels) == 0);
        CHECK(memcmp(other.counts, p.counts, sizeof p.counts) == 0);
        CHECK(memcmp(other.rows, p.rows, sizeof p.rows) == 0);
        CHECK(memcmp(single.weights, now.weights, sizeof now.weights) == 0);
        all_is_that_of_the_labels(&problem, &p);
    }
}

/* What single visits came upon; a test that misses a case would prove little. */
static struct {
    int64_t moves, births, deaths, lone_stays, entries;
} seen;

/* The state that a visit chose is the best of all. A new state weighs all of the rest when it is judged, as the point
 * that is alone in a state does, with its state's share; so these weights are held. */
static void visit_finds_the_best(const mapdpm_problem *problem, partition *p, int64_t i)
{
    const int64_t own = p->labels[i], alone = own >= 0 && p->counts[own] == 1;
    int64_t k, to, fresh = own, position = 0, moved = 7;
    double held[ROWS], chosen, before, joint;
    partition other = *p;

    memcpy(held, now.weights, sizeof held);
    if (!alone)
        for (fresh = 0; fresh < CAPACITY && p->counts[fresh] > 0; fresh++)
            ;
    if (fresh < CAPACITY)
        held[fresh] += held[CAPACITY];
    before = own >= 0 ? joint_of(problem, &other, held) : -INFINITY;
    CHECK_OK(visit(problem, p, &i, 1, &position, &moved));
    to = p->labels[i];
    CHECK(position == 1 && to >= 0 && moved == 7 + (to != own)); /* moves are added */
    seen.moves += to != own;
    seen.births += to == fresh && !alone;
    seen.deaths += to != own && alone;
    seen.lone_stays += to == own && alone;
    seen.entries += own < 0;
    for (k = 0; k < N; k++)
        CHECK(k == i || p->labels[k] == other.labels[k]);
    other.labels[i] = to;
    chosen = joint_of(problem, &other, held);
    CHECK(chosen >= before - 1e-8 * (1 + fabs(chosen)));
    for (k = 0; k < CAPACITY; k++)
        if (held[k] > 0) {
            other.labels[i] = k;
            joint = joint_of(problem, &other, held);
            CHECK(joint <= chosen + 1e-8 * (1 + fabs(chosen)));
        }
}

static void visits_find_the_best(int32_t family, uint64_t *state)
{
    const mapdpm_problem problem = problem_of(family);
    partition p;
    int64_t i, round, sweep;

    for (round = 0; round < 4; round++) {
        shuffle(&problem, &p, state, round % 2 ? 4 : CAPACITY - 4);
        if (round > 1) { /* points that are out, between others that are in */
            for (i = 0; i < N; i++)
                if (check_random(state) % 3 == 0)
                    p.labels[i] = -1;
            set_up(&problem, &p, CAPACITY);
        }
        for (i = 0; i < N; i++)
            if (p.labels[i] < 0)
                visit_finds_the_best(&problem, &p, i);
        all_is_that_of_the_labels(&problem, &p);
        for (sweep = 0; sweep < 2; sweep++)
            for (i = 0; i < N; i++)
                visit_finds_the_best(&problem, &p, i);
        all_is_that_of_the_labels(&problem, &p);
    }
}

/* From no labels, in order of time. */
static void a_start_puts_all_points_in(int32_t family)
{
    const mapdpm_problem problem = problem_of(family);
    partition p, few;
    int64_t i, position = 0, moved = 0;

    take_all_out(&problem, &p, CAPACITY);
    CHECK(visit_all(&problem, &p, 1) == N);
    all_is_that_of_the_labels(&problem, &p);
    CHECK(p.labels[0] == 0 && p.counts[1] > 0 && p.counts[CAPACITY - 1] == 0);

#define GROW(may_grow)                                                                                                \
    mapdpm_visit_states(&problem, SLOTS(&few), &states, workspace, in_time, N, may_grow, &position, &moved)
    take_all_out(&problem, &few, 2);
    CHECK_OK(GROW(1));
    CHECK(position > 1 && position < N && moved == position);
    CHECK(few.counts[0] > 0 && few.counts[1] == 1); /* the last point took the last slot */
    CHECK(few.labels[position - 1] == 1);
    for (i = 0; i < N; i++)
        CHECK((few.labels[i] >= 0) == (i < position));
    all_is_that_of_the_labels(&problem, &few);
    CHECK_OK(GROW(1));
    CHECK(moved == position); /* still no slot */
    CHECK_OK(GROW(0));
    CHECK(position == N && moved == N);
    for (i = 0; i < N; i++)
        CHECK(few.labels[i] == 0 || few.labels[i] == 1);
    all_is_that_of_the_labels(&problem, &few);
}

/* A point that is alone in its state, first at `at` in the only sequence. */
static void a_lone_point(int32_t family, int64_t at)
{
    mapdpm_problem problem = problem_of(family);
    mapdpm_real points[5 * D] = {0};
    int64_t old_previous[N], old_following[N], i, d;
    double share, rest;
    partition p = {{0}, {0}, {0}};

    memcpy(old_previous, previous, sizeof previous);
    memcpy(old_following, following, sizeof following);
    problem.n_points = 5;
    problem.data = points;
    for (i = 0; i < 5; i++) {
        previous[i] = i - 1;
        following[i] = i < 4 ? i + 1 : -1;
        p.labels[i] = i == at;
    }
    for (d = 0; d < D; d++)
        points[at * D + d] = 50;
    set_up(&problem, &p, 2);
    now.weights[1] = 0.1; /* so that a share that is not restored shows: 0.3 + 0.1 - 0.1 is not 0.3 */
    now.weights[0] = 1.1;
    nothing_changes(&problem, &p); /* far from the others it stays, though no slot is free */

    for (d = 0; d < D; d++)
        points[at * D + d] = 0;
    set_up(&problem, &p, 2);
    share = now.weights[1];
    rest = now.weights[2];
    CHECK(visit_all(&problem, &p, 0) == 1);
    CHECK(p.labels[at] == 0 && p.counts[0] == 5 && p.counts[1] == 0);
    CHECK(now.weights[1] == 0 && now.weights[2] == rest + share);
    all_is_that_of_the_labels(&problem, &p);
    nothing_changes(&problem, &p);

    problem.n_points = 1; /* all that there is */
    following[0] = -1;
    take_all_out(&problem, &p, 2);
    CHECK(visit_all(&problem, &p, 1) == 1);
    CHECK(p.labels[0] == 0 && p.counts[0] == 1 && fabs(now.weights[0] - 0.4 * 1.5) < 1e-15);
    all_is_that_of_the_labels(&problem, &p);
    nothing_changes(&problem, &p);
    memcpy(previous, old_previous, sizeof previous);
    memcpy(following, old_following, sizeof following);
}

static void wrong_states_are_refused(void)
{
    mapdpm_problem problem = problem_of(MAPDPM_NORMAL_GAMMA);
    partition p;
    mapdpm_clusters z = *CLUSTERS_OF(&p);
    int64_t position = 0, moved = 0, order[2] = {0, N}, *const here = &position, *const count = &moved;
    uint64_t state = 5;
    double unit[N];
    int64_t i;

#define VISIT(z, s, space, points, at, moves) mapdpm_visit_states(&problem, z, s, space, points, 2, 0, at, moves)
#define IS_REFUSED(s) (VISIT(&z, s, workspace, in_time, here, count) == MAPDPM_E_ARGUMENT)
    for (i = 0; i < N; i++)
        unit[i] = 1;
    shuffle(&problem, &p, &state, 3);
    CHECK_REFUSED(mapdpm_visit_states(NULL, &z, &states, workspace, in_time, 2, 0, here, count));
    CHECK_REFUSED(VISIT(NULL, &states, workspace, in_time, here, count));
    CHECK_REFUSED(VISIT(&z, &states, NULL, in_time, here, count));
    CHECK_REFUSED(VISIT(&z, &states, workspace, NULL, here, count));
    CHECK_REFUSED(VISIT(&z, &states, workspace, in_time, NULL, count));
    CHECK_REFUSED(VISIT(&z, &states, workspace, in_time, here, NULL));
    CHECK(IS_REFUSED(NULL));

#define WRONG(place, value) CHECK_WITH(place, value, IS_REFUSED(&states))
    WRONG(z.labels, NULL);
    WRONG(z.counts, NULL);
    WRONG(z.rows, NULL);
    WRONG(z.capacity, 0);
    WRONG(problem.data, NULL);
    WRONG(problem.parameters, NULL);
    WRONG(problem.weights, unit);
    WRONG(problem.n_features, 0);
    WRONG(problem.n_points, -1);
    WRONG(problem.family, MAPDPM_NORMAL_GAMMA - 1);
    WRONG(problem.family, MAPDPM_NORMAL_INVERSE_WISHART + 1);
    WRONG(states.previous, NULL);
    WRONG(states.following, NULL);
    WRONG(states.counts, NULL);
    WRONG(states.sizes, NULL);
    WRONG(states.weights, NULL);
    WRONG(states.new_share, -0.5);
    WRONG(states.new_share, 1.5);
    WRONG(states.new_share, NAN);
    /* The last entry is that of a point that is not visited: all entries are read before the first visit. */
    WRONG(previous[N - 1], -2);
    WRONG(previous[N - 1], N);
    WRONG(following[N - 1], -2);
    WRONG(following[N - 1], N);
    WRONG(p.labels[N - 1], -2);
    WRONG(p.labels[N - 1], CAPACITY);
    CHECK(position == 0 && moved == 0);
    all_is_that_of_the_labels(&problem, &p);

    CHECK_REFUSED(visit(&problem, &p, order, 2, here, count));
    CHECK(position == 1); /* the first point was visited, and the second does not exist */
    order[1] = -1;
    CHECK(visit(&problem, &p, order, 2, here, count) == MAPDPM_E_ARGUMENT && position == 1);
    p.labels[0] = p.labels[SEQUENCES] = -1;
    set_up(&problem, &p, CAPACITY);
    order[1] = SEQUENCES; /* after point 0, which has no slot */
    CHECK(visit(&problem, &p, order, 2, here, count) == MAPDPM_E_ARGUMENT && position == 1);
    position = 0;
    CHECK(visit(&problem, &p, order, 2, here, count) == MAPDPM_OK && position == 2);
    all_is_that_of_the_labels(&problem, &p);
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

enum { STATES = 3, POINTS = 5, PATHS = 243, END = 4 };

static double start[STATES], steps[STATES * STATES], scores[POINTS * STATES];
static int64_t begins[3] = {0, END, POINTS};
static mapdpm_chain chain = {STATES, start, steps, 2, begins};

static double filtered[POINTS * STATES], totals[2], space[STATES * (STATES + 2)], log_joint, uniforms[POINTS];
static int64_t came_from[POINTS * STATES], found[POINTS];

/* All paths, and their log joints with the points. */
static int64_t paths[PATHS][POINTS];
static double joints[PATHS];

static void draw_distribution(uint64_t *state, double *to)
{
    double sum = 0;
    int64_t k;

    for (k = 0; k < STATES; k++)
        sum += to[k] = 0.05 + fabs(check_uniform(state));
    for (k = 0; k < STATES; k++)
        to[k] /= sum;
}

/* The log joint of the first points of a path, up to `end`; with begins[1] = 4 the last point has no point before. */
static double joint_of_path(const int64_t *path, int64_t first, int64_t end)
{
    double joint = 0;
    int64_t t;

    for (t = first; t < end; t++)
        joint += scores[t * STATES + path[t]] +
                 log(t == 0 || t == END ? start[path[t]] : steps[path[t - 1] * STATES + path[t]]);
    return joint;
}

/* The scores are far below what exp can take. */
static void draw_chain(uint64_t *state)
{
    int64_t k, t, rest, path;

    draw_distribution(state, start);
    for (k = 0; k < STATES; k++)
        draw_distribution(state, steps + k * STATES);
    for (t = 0; t < POINTS * STATES; t++)
        scores[t] = -1000 + 2 * check_uniform(state);
    for (path = 0; path < PATHS; path++) {
        for (t = 0, rest = path; t < POINTS; t++, rest /= STATES)
            paths[path][t] = rest % STATES;
        joints[path] = joint_of_path(paths[path], 0, POINTS);
    }
}

/* The log of the sum of the densities of all ways from `first` to `end`. Paths that differ elsewhere have the same part
 * there, so the points elsewhere have state 0. */
static double log_total(int64_t first, int64_t end)
{
    double total = 0;
    int64_t path, t;

    for (path = 0; path < PATHS; path++) {
        int64_t others = 0;

        for (t = 0; t < POINTS; t++)
            others += (t < first || t >= end) && paths[path][t] != 0;
        if (others == 0)
            total += exp(joint_of_path(paths[path], first, end) + 1000.0 * (double)(end - first));
    }
    return log(total) - 1000.0 * (double)(end - first);
}

/* The probability that point t has state k, among paths that agree with `like` in the points from `from` to `to`, given
 * the points of the data up to `end`. */
static double share_of(const int64_t *like, int64_t from, int64_t to, int64_t t, int64_t k, int64_t end)
{
    double part = 0, total = 0;
    int64_t path, j;

    for (path = 0; path < PATHS; path++) {
        const double share = exp(joint_of_path(paths[path], 0, end) + 1000.0 * (double)end);
        int is_like = 1;

        for (j = from; j < to; j++)
            is_like = is_like && paths[path][j] == like[j];
        total += is_like ? share : 0;
        part += is_like && paths[path][t] == k ? share : 0;
    }
    return part / total;
}

static void paths_are_the_best_of_all(uint64_t *state)
{
    int64_t path, t, k, best = 0;

    draw_chain(state);
    for (path = 1; path < PATHS; path++)
        best = joints[path] > joints[best] ? path : best;
    CHECK(mapdpm_viterbi(&chain, scores, space, came_from, found, &log_joint) == MAPDPM_OK);
    CHECK(memcmp(found, paths[best], sizeof found) == 0);
    CHECK(fabs(log_joint - joints[best]) < 1e-9);

    CHECK(mapdpm_forward(&chain, scores, filtered, totals) == MAPDPM_OK);
    CHECK(fabs(totals[0] - log_total(0, END)) < 1e-9);
    CHECK(fabs(totals[1] - log_total(END, POINTS)) < 1e-9);
    for (t = 0; t < POINTS; t++)
        for (k = 0; k < STATES; k++)
            CHECK(fabs(filtered[t * STATES + k] - share_of(NULL, 0, 0, t, k, t + 1)) < 1e-9);

    /* The uniforms in the middle of what a path has of its last state, of the one before given that, and so on. */
    for (path = 0; path < PATHS; path++) {
        for (t = 0; t < POINTS; t++) {
            double below = 0;

            for (k = 0; k < paths[path][t]; k++)
                below += share_of(paths[path], t + 1, POINTS, t, k, POINTS);
            uniforms[t] = below + 0.5 * share_of(paths[path], t + 1, POINTS, t, k, POINTS);
        }
        CHECK(mapdpm_draw_path(&chain, filtered, uniforms, found) == MAPDPM_OK);
        CHECK(memcmp(found, paths[path], sizeof found) == 0);
    }

    CHECK(mapdpm_backward(&chain, space, filtered) == MAPDPM_OK);
    for (t = 0; t < POINTS; t++)
        for (k = 0; k < STATES; k++)
            CHECK(fabs(filtered[t * STATES + k] - share_of(NULL, 0, 0, t, k, POINTS)) < 1e-9);
}

/* Of equals the lowest; a draw never finds a state without a share. */
static void ties_and_ends(void)
{
    int64_t t, k;

    for (k = 0; k < STATES; k++)
        start[k] = 1.0 / STATES;
    for (k = 0; k < STATES * STATES; k++)
        steps[k] = 1.0 / STATES;
    memset(scores, 0, sizeof scores);
    CHECK(mapdpm_viterbi(&chain, scores, space, came_from, found, &log_joint) == MAPDPM_OK);
    for (t = 0; t < POINTS; t++)
        CHECK(found[t] == 0);
    CHECK(fabs(log_joint - POINTS * log(1.0 / STATES)) < 1e-12);

    for (t = 0; t < POINTS; t++) {
        filtered[t * STATES] = filtered[t * STATES + 2] = 0;
        filtered[t * STATES + 1] = 1;
        uniforms[t] = t % 2 ? 0 : 1 - 1e-16;
    }
    filtered[END * STATES] = 0.3; /* 1 - 1e-16 less 0.3 less 0.7 is 0 by rounding, as if there were more */
    filtered[END * STATES + 1] = 0.7;
    CHECK(mapdpm_draw_path(&chain, filtered, uniforms, found) == MAPDPM_OK);
    for (t = 0; t < POINTS; t++)
        CHECK(found[t] == 1);
}

static void wrong_chains_are_refused(uint64_t *state)
{
    draw_chain(state);
    CHECK_OK(mapdpm_forward(&chain, scores, filtered, totals));
    CHECK_REFUSED(mapdpm_viterbi(&chain, NULL, space, came_from, found, &log_joint));
    CHECK_REFUSED(mapdpm_viterbi(&chain, scores, NULL, came_from, found, &log_joint));
    CHECK_REFUSED(mapdpm_viterbi(&chain, scores, space, NULL, found, &log_joint));
    CHECK_REFUSED(mapdpm_viterbi(&chain, scores, space, came_from, NULL, &log_joint));
    CHECK_REFUSED(mapdpm_viterbi(&chain, scores, space, came_from, found, NULL));
    CHECK_REFUSED(mapdpm_forward(&chain, NULL, filtered, totals));
    CHECK_REFUSED(mapdpm_forward(&chain, scores, NULL, totals));
    CHECK_REFUSED(mapdpm_forward(&chain, scores, filtered, NULL));
    CHECK_REFUSED(mapdpm_backward(&chain, NULL, filtered));
    CHECK_REFUSED(mapdpm_backward(&chain, space, NULL));
    CHECK_REFUSED(mapdpm_draw_path(&chain, NULL, uniforms, found));
    CHECK_REFUSED(mapdpm_draw_path(&chain, filtered, NULL, found));
    CHECK_REFUSED(mapdpm_draw_path(&chain, filtered, uniforms, NULL));

#define ALL_REFUSE(c, place, value)                                                                                   \
    CHECK_WITH(place, value, mapdpm_viterbi(c, scores, space, came_from, found, &log_joint) == MAPDPM_E_ARGUMENT);     \
    CHECK_WITH(place, value, mapdpm_forward(c, scores, filtered, totals) == MAPDPM_E_ARGUMENT);                       \
    CHECK_WITH(place, value, mapdpm_backward(c, space, filtered) == MAPDPM_E_ARGUMENT);                               \
    CHECK_WITH(place, value, mapdpm_draw_path(c, filtered, uniforms, found) == MAPDPM_E_ARGUMENT)
    ALL_REFUSE(NULL, chain.n_states, STATES); /* all is right, but there is no chain */
    ALL_REFUSE(&chain, chain.n_states, 0);
    ALL_REFUSE(&chain, chain.steps, NULL);
    ALL_REFUSE(&chain, chain.n_sequences, -1);
    ALL_REFUSE(&chain, chain.begins, NULL);
    ALL_REFUSE(&chain, begins[0], -1);
    ALL_REFUSE(&chain, begins[1], 0);
    ALL_REFUSE(&chain, begins[2], END);
    ALL_REFUSE(&chain, begins[2], 1);
    chain.start = NULL; /* not read by all */
    CHECK_REFUSED(mapdpm_viterbi(&chain, scores, space, came_from, found, &log_joint));
    CHECK_REFUSED(mapdpm_forward(&chain, scores, filtered, totals));
    CHECK_OK(mapdpm_draw_path(&chain, filtered, uniforms, found));
    CHECK_OK(mapdpm_backward(&chain, space, filtered));
    chain.start = start;
}

int main(void)
{
    uint64_t state = 88172645463325252;
    int64_t at;
    int round;

    workspace = malloc(mapdpm_workspace_bytes(OF(MAPDPM_NORMAL_GAMMA, D), CAPACITY));
    for (round = 0; round < 4; round++) {
        const int32_t family = round % 2 ? MAPDPM_NORMAL_KNOWN_VARIANCE : MAPDPM_NORMAL_GAMMA;

        states.kappa = round < 2 ? 0 : 3;
        fill(&state);
        sweeps_end_at_a_mode(family, &state);
        one_call_is_many_calls(family, &state);
        visits_find_the_best(family, &state);
        a_start_puts_all_points_in(family);
        for (at = 0; at < 5; at += 2) /* at the start of the sequence, between others, and at its end */
            a_lone_point(family, at);
    }
    CHECK(seen.moves > 0 && seen.births > 0 && seen.deaths > 0 && seen.lone_stays > 0 && seen.entries > 0);
    wrong_states_are_refused();
    for (round = 0; round < 5; round++)
        paths_are_the_best_of_all(&state);
    ties_and_ends();
    wrong_chains_are_refused(&state);
    free(workspace);
    return REPORT();
}
