/* Passes over a chunk of the points, against slow computations and against the sweep over all points. */
#include "families/mapdpm_priors.h"
#include "sizes.h"

#include <float.h>

enum { N = 61, D = 9, CAPACITY = 8 };

#include "partition.h"

enum { SUFFICIENT = 1 + 2 * D, SHARE_LEFT = SUFFICIENT + 3 };
/* The chunk is the points from CHUNK on; no multiple of the block of the sweep. LAST may become an outlier. */
enum { CHUNK = 26, LAST = N - 1 };
enum { PARTS = 4, MOST_PARTS = 2 * PARTS + 1 };
enum { MD_SLOTS = 6, PARAMETERS = 1 + 2 * D, MOST_POINTS = 70 };

static double weights[N];
static double gamma_parameters[2 * D + 2], known_parameters[3 * D], distance_parameters[D];
static int64_t n_still, n_restless;
static uint64_t seed = 88172645463325252u;

/* Statistics anew, so that no earlier removal counts. */
static void recompute(const mapdpm_problem *p, partition *now)
{
    CHECK_OK(mapdpm_statistics(p, CLUSTERS_OF(now), workspace));
}

static mapdpm_problem points_of(const mapdpm_problem *all, int64_t first, int64_t end)
{
    mapdpm_problem p = *all;

    p.n_points = end - first;
    p.data = all->data + first * D;
    p.weights = all->weights ? all->weights + first : NULL;
    return p;
}

/* The points of the chunk, and perhaps rows of others, which stay. */
static mapdpm_clusters chunk_of(partition *p, double *base)
{
    const mapdpm_clusters z = {CAPACITY, p->labels + CHUNK, p->counts, p->rows, base};

    return z;
}

static int64_t below(int64_t n)
{
    return (int64_t)(check_random(&seed) % (uint64_t)n);
}

/* Clusters overlap, and no two points are farther apart than 44 in a feature. */
static void draw_points(void)
{
    int64_t i, d;

    for (i = 0; i < N; i++) {
        for (d = 0; d < D; d++)
            data[i * D + d] = (mapdpm_real)(1.5 * (double)(i % 4) + 2.0 * check_uniform(&seed));
        weights[i] = 1.5 + check_uniform(&seed);
    }
    for (d = 0; d < D; d++)
        data[LAST * D + d] = 40;
}

static void draw_labels(const mapdpm_problem *p, partition *now, int64_t first, int64_t used)
{
    int64_t i;

    for (i = 0; i < N; i++)
        now->labels[i] = first + below(used);
    recompute(p, now);
}

/* ---- labels by tangents ------------------------------------------------------------------------------------------ */

/* Slots 3 to 5 are copies of the first three: 4 is a tie, 5 is one within the tolerance, and 3 is better. */
static void draw_tangents(double *constants, double *parameters)
{
    int64_t k, d;

    for (k = 0; k < 3; k++) {
        constants[k] = check_uniform(&seed);
        for (d = 0; d < PARAMETERS; d++)
            parameters[k * PARAMETERS + d] = d <= D ? 2.0 * check_uniform(&seed) : 1.0 + 0.5 * check_uniform(&seed);
    }
    memcpy(parameters + 3 * PARAMETERS, parameters, 3 * PARAMETERS * sizeof *parameters);
    constants[3] = constants[0] + 1e-6; /* scores are below 1000, so the tolerance is below 1e-7 */
    constants[4] = constants[1];
    constants[5] = constants[2] + 1e-12;
}

/* The score of a point with a slot, summed in another order than the library does. A square has 4 roundings with its
 * factor, a sum of D + 2 terms D + 1: each order errs by at most (D + 5) / 2 epsilons of the sum of the magnitudes, to
 * the first order. *bound is that of both orders, and one epsilon for the higher orders. */
static double slow_score(const mapdpm_real *x, double constant, const double *parameters, double *bound)
{
    double sum = 0.0;
    int64_t d;

    for (d = D - 1; d >= 0; d--) {
        const double t = (double)x[d] - parameters[1 + d];

        sum += t * t * parameters[1 + D + d];
    }
    *bound = (D + 6) * DBL_EPSILON * (fabs(constant) + fabs(parameters[0]) + sum);
    return constant + (parameters[0] - sum);
}

/* Returns whether the point has a tie. Gaps are ties, or far from the tolerance, so the slot is certain. */
static int check_tangent(const mapdpm_real *x, int64_t n_slots, const double *constants, const double *parameters,
                         int64_t slot, double margin)
{
    double scores[MD_SLOTS] = {0.0}, bounds[MD_SLOTS], best = -INFINITY, second = -INFINITY, most = 0.0;
    int64_t k, expected = 0;

    for (k = 0; k < n_slots; k++) {
        scores[k] = slow_score(x, constants[k], parameters + k * PARAMETERS, bounds + k);
        best = scores[k] > best ? scores[k] : best;
        most = bounds[k] > most ? bounds[k] : most;
    }
    while (scores[expected] < best - TOLERANCE * (1.0 + fabs(best)))
        expected++;
    for (k = 0; k < n_slots; k++)
        if (k != expected && scores[k] > second)
            second = scores[k];
    CHECK(slot == expected);
    if (second >= scores[expected]) /* the margin is that of a tie, though rounding may have made the other better */
        CHECK(margin == 0.0);
    else
        CHECK(n_slots == 1 ? margin == INFINITY : fabs(margin - (scores[expected] - second)) <= 2.0 * most);
    return second >= scores[expected];
}

static void tangents_are_those_of_slow_sums(int64_t n, int64_t n_slots)
{
    static mapdpm_real x[MOST_POINTS * D];
    double constants[MD_SLOTS], parameters[MD_SLOTS * PARAMETERS], margins[MOST_POINTS + 1];
    int64_t slots[MOST_POINTS + 1], i, ties = 0;
    /* as badly aligned as a workspace may be, and no byte too long */
    double *const space = (double *)malloc(sizeof *space + mapdpm_tangent_bytes(OF(0, D)));
    const mapdpm_problem p = {.n_points = n, .n_features = D, .data = n > 0 ? x : NULL};

    draw_tangents(constants, parameters);
    for (i = 0; i < n * D; i++)
        x[i] = (mapdpm_real)(3.0 * check_uniform(&seed));
    slots[n] = 77;
    margins[n] = 77.0;
    CHECK(mapdpm_tangent_slots(&p, n_slots, constants, parameters, space + 1, slots, margins) == MAPDPM_OK);
    for (i = 0; i < n; i++)
        ties += check_tangent(x + i * D, n_slots, constants, parameters, slots[i], margins[i]);
    CHECK(slots[n] == 77 && margins[n] == 77.0);
    CHECK(n < 32 || n_slots < MD_SLOTS || (ties > 0 && ties < n));
    free(space);
}

static void no_slot_without_weight(void)
{
    const double constants[2] = {-INFINITY, -5.0}, parameters[2 * PARAMETERS] = {0.0};
    const mapdpm_problem p = {.n_points = 1, .n_features = D, .data = data};
    double margin;
    int64_t slot;

    CHECK(mapdpm_tangent_slots(&p, 2, constants, parameters, workspace, &slot, &margin) == MAPDPM_OK);
    CHECK(slot == 1 && margin == INFINITY);
}

/* ---- points that would move -------------------------------------------------------------------------------------- */

/* Whether statistics alone cannot tell: the last point is an outlier, and nearly all of the squares of its slot. */
static int is_unsure(const mapdpm_problem *p, const partition *now, int64_t i)
{
    return i == LAST && data[LAST * D] > 1000 && now->counts[now->labels[i]] > 1 &&
           (p->weights || p->family == MAPDPM_NORMAL_GAMMA);
}

/* The sweep comes to each point first. Scores of a point are the same bits in both, so no bound is needed. */
static void restless_are_those_that_move(const mapdpm_problem *p, partition *now)
{
    static partition before, after;
    unsigned char restless[N + 1];
    int64_t i;

    before = *now;
    restless[N] = 77;
    CHECK(mapdpm_restless(p, CLUSTERS_OF(now), workspace, restless) == MAPDPM_OK && restless[N] == 77);
    CHECK(memcmp(&before, now, sizeof before) == 0);
    for (i = 0; i < N; i++) {
        int64_t position = i, moved = 0;
        int moves;

        after = before;
        CHECK(mapdpm_sweep(p, CLUSTERS_OF(&after), workspace, 0, &position, &moved) == MAPDPM_OK && position == N);
        moves = after.labels[i] != before.labels[i];
        CHECK(restless[i] == (is_unsure(p, &before, i) ? 1 : moves));
        n_restless += moves;
        n_still += !moves;
    }
}

/* Rows tell all: the points that are not here make no difference. */
static void restless_of_a_chunk(const mapdpm_problem *p, partition *now)
{
    const mapdpm_problem chunk = points_of(p, CHUNK, N);
    const mapdpm_clusters here = chunk_of(now, NULL);
    unsigned char of_all[N], of_chunk[N];

    CHECK_OK(mapdpm_restless(p, CLUSTERS_OF(now), workspace, of_all));
    CHECK_OK(mapdpm_restless(&chunk, &here, workspace, of_chunk));
    CHECK(memcmp(of_all + CHUNK, of_chunk, N - CHUNK) == 0);
}

static void check_restless(const mapdpm_problem *p, partition *now)
{
    recompute(p, now);
    restless_are_those_that_move(p, now);
    restless_of_a_chunk(p, now);
}

/* Except for an outlier, each removal leaves more than LEAST_SHARE_LEFT = 1e-4. With weights of 0.5 to 2.5, distances
 * up to 44 and b0 (or a variance) of at least 0.5, the squares shrink at most by the factor 1 + 2.5 44^2 / (2 0.5) <
 * 5000, and a weight by 1 + 2.5 / 0.5. So only an outlier is unsure. */
static void restless_of_many_states(const mapdpm_problem *p)
{
    static partition now;
    int64_t i;

    draw_labels(p, &now, 0, 1);
    check_restless(p, &now);
    draw_labels(p, &now, 0, CAPACITY); /* no slot is free */
    check_restless(p, &now);
    draw_labels(p, &now, 2, 4); /* the lowest slots are free */
    check_restless(p, &now);
    CHECK_OK(mapdpm_settle(p, CLUSTERS_OF(&now), workspace, 100));
    check_restless(p, &now);
    for (i = 3; i < N; i += 7)
        now.labels[i] = now.labels[i - 1];
    check_restless(p, &now);
    draw_labels(p, &now, 1, 4); /* lone points, of which one lies between others; a lower slot is free */
    now.labels[11] = 6;
    now.labels[LAST] = 7;
    check_restless(p, &now);
}

/* ---- unions of statistics ---------------------------------------------------------------------------------------- */

/* parts[j] becomes the statistics of the points from cuts[j] to cuts[j + 1]. */
static void part_statistics(const mapdpm_problem *p, const partition *now, const int64_t *cuts, double *parts)
{
    static partition of_part;
    int64_t j, k;

    for (j = 0; j < PARTS; j++) {
        const mapdpm_problem part = points_of(p, cuts[j], cuts[j + 1]);

        memcpy(of_part.labels, now->labels + cuts[j], (size_t)part.n_points * sizeof *of_part.labels);
        recompute(&part, &of_part);
        for (k = 0; k < CAPACITY; k++)
            memcpy(parts + (j * CAPACITY + k) * SUFFICIENT, of_part.rows + k * ROW, SUFFICIENT * sizeof *parts);
    }
}

/* Two ways to add up points in `steps` steps differ by roundings. u is half an epsilon, M the largest |x|, w a weight.
 * A weight errs by at most u w in each step, so a share s = w_i / w by (steps + 1) u s. A step of a mean has three more
 * roundings of s |x - mean| <= 2 M s, and one of the result: E = steps (2 steps + 7) u M in all. The squares multiply
 * two such differences: 12 w M E for points and then unions, and as much again is more than all their own roundings.
 * Both ways err, so u becomes an epsilon. */
static void near_statistics(const double *a, const double *b, double steps, double M, int is_exact)
{
    const double mean = steps * (2.0 * steps + 7.0) * DBL_EPSILON * M;
    int64_t d;

    CHECK(fabs(a[0] - b[0]) <= (is_exact ? 0.0 : steps * DBL_EPSILON * b[0]));
    for (d = 0; d < D; d++) {
        CHECK(fabs(a[1 + d] - b[1 + d]) <= mean);
        CHECK(fabs(a[1 + D + d] - b[1 + D + d]) <= 24.0 * b[0] * M * mean);
    }
}

/* Join parts without looking at counts. */
static void join(const mapdpm_problem *p, partition *into, int64_t n_parts, const double *parts)
{
    int64_t k;

    for (k = 0; k < CAPACITY; k++)
        into->counts[k] = -1 - k;
    memset(into->rows, 0x7f, sizeof into->rows);
    CHECK_OK(mapdpm_join_rows(p, CLUSTERS_OF(into), workspace, n_parts, parts));
    for (k = 0; k < CAPACITY; k++)
        CHECK(into->counts[k] == -1 - k);
}

/* The union of one part is the part, to the last bit, and its derived entries are those that points give. */
static void union_of_one(const mapdpm_problem *p, const partition *now)
{
    static partition joined;
    double part[CAPACITY * SUFFICIENT];
    int64_t k;

    for (k = 0; k < CAPACITY; k++)
        memcpy(part + k * SUFFICIENT, now->rows + k * ROW, SUFFICIENT * sizeof *part);
    join(p, &joined, 1, part);
    CHECK(memcmp(joined.rows, now->rows, sizeof joined.rows) == 0);
}

/* Parts of weight 0 change no bit, whatever else they hold. */
static void empty_parts_change_nothing(const mapdpm_problem *p, const partition *joined, const double *parts)
{
    static double more[MOST_PARTS * CAPACITY * SUFFICIENT];
    static partition again;
    int64_t j, i;

    for (j = 0; j < MOST_PARTS; j++)
        for (i = 0; i < CAPACITY * SUFFICIENT; i++)
            more[j * CAPACITY * SUFFICIENT + i] = j % 2   ? parts[j / 2 * CAPACITY * SUFFICIENT + i]
                                                  : i % SUFFICIENT ? 3.0
                                                                   : 0.0;
    join(p, &again, MOST_PARTS, more);
    CHECK(memcmp(again.rows, joined->rows, sizeof again.rows) == 0);
}

static void unions_are_those_of_all_points(const mapdpm_problem *p)
{
    static const int64_t cuts[PARTS + 1] = {0, 7, 8, 40, N};
    static double parts[PARTS * CAPACITY * SUFFICIENT];
    static partition now, joined;
    double most = 0.0;
    int64_t i, k;

    draw_labels(p, &now, 1, 5); /* some slots are empty */
    for (i = 0; i < N * D; i++)
        most = fabs((double)data[i]) > most ? fabs((double)data[i]) : most;
    part_statistics(p, &now, cuts, parts);
    join(p, &joined, PARTS, parts);
    for (k = 0; k < CAPACITY; k++)
        near_statistics(joined.rows + k * ROW, now.rows + k * ROW, N + PARTS, most, p->weights == NULL);
    union_of_one(p, &now);
    union_of_one(p, &joined);
    empty_parts_change_nothing(p, &joined, parts);
    for (i = 0; i < N; i++)
        now.labels[i] = -1;
    recompute(p, &now);
    join(p, &joined, 0, parts);
    CHECK(memcmp(joined.rows, now.rows, sizeof now.rows) == 0);
}

/* ---- points that are not here ------------------------------------------------------------------------------------ */

/* Sweeps over the chunk, alone and as the end of all points. A row that is made anew adds up the same points in the
 * same order, those of `base` first, so both end with the same bits. */
static void chunk_is_swept_as_in_all(const mapdpm_problem *p, const partition *now)
{
    static partition whole, part, others;
    const mapdpm_problem chunk = points_of(p, CHUNK, N), rest = points_of(p, 0, CHUNK);
    const mapdpm_clusters here = chunk_of(&part, others.rows);
    int64_t moved = 1, sweeps;

    others = whole = part = *now;
    recompute(&rest, &others);
    for (sweeps = 0; sweeps < 50 && moved > 0; sweeps++) {
        int64_t from = CHUNK, position = 0, as_many = moved = 0;

        CHECK(mapdpm_sweep(p, CLUSTERS_OF(&whole), workspace, 0, &from, &moved) == MAPDPM_OK && from == N);
        CHECK(mapdpm_sweep(&chunk, &here, workspace, 0, &position, &as_many) == MAPDPM_OK);
        CHECK(position == N - CHUNK);
        CHECK(moved == as_many && memcmp(&whole, &part, sizeof whole) == 0);
    }
    CHECK(moved == 0);
}

/* The outlier is the last to leave slot 0. That destroys its row, and only a row made anew has lost nothing. */
static void destroyed_row_is_made_anew(const mapdpm_problem *p, const partition *now)
{
    static partition swept, others;
    const mapdpm_problem chunk = points_of(p, CHUNK, N), rest = points_of(p, 0, CHUNK);
    const mapdpm_clusters here = chunk_of(&swept, others.rows);
    int64_t position = 0, moved = 0;

    others = swept = *now;
    recompute(&rest, &others);
    CHECK(mapdpm_sweep(&chunk, &here, workspace, 0, &position, &moved) == MAPDPM_OK);
    CHECK(now->labels[LAST] == 0 && swept.labels[LAST] != 0 && swept.counts[0] > 0);
    CHECK(swept.rows[SHARE_LEFT] == 1.0);
}

/* Others of the outlier's slot are here and elsewhere, or only elsewhere. */
static void rows_of_outliers(const mapdpm_problem *p)
{
    static partition now;
    int only_elsewhere;
    int64_t i;

    for (only_elsewhere = 0; only_elsewhere < 2; only_elsewhere++) {
        draw_labels(p, &now, 0, 3);
        for (i = CHUNK; i < N && only_elsewhere; i++)
            now.labels[i] = now.labels[i] == 0 ? 1 : now.labels[i];
        now.labels[LAST] = 0;
        recompute(p, &now);
        chunk_is_swept_as_in_all(p, &now);
        destroyed_row_is_made_anew(p, &now);
        restless_are_those_that_move(p, &now);
        restless_of_a_chunk(p, &now);
    }
}

/* ---- wrong arguments --------------------------------------------------------------------------------------------- */

static void wrong_tangents_are_refused(mapdpm_problem p)
{
    static double margins[N], constants[1], parameters[PARAMETERS];
    static int64_t slots[N];

#define REFUSED(p, n, c, t, w, s, m) CHECK_REFUSED(mapdpm_tangent_slots(p, n, c, t, w, s, m))
#define WRONG(place, value)                                                                                           \
    CHECK_WITH(place, value, mapdpm_tangent_slots(&p, 1, constants, parameters, workspace, slots, margins) ==         \
                                 MAPDPM_E_ARGUMENT)
    REFUSED(NULL, 1, constants, parameters, workspace, slots, margins);
    REFUSED(&p, 0, constants, parameters, workspace, slots, margins);
    REFUSED(&p, 1, NULL, parameters, workspace, slots, margins);
    REFUSED(&p, 1, constants, NULL, workspace, slots, margins);
    REFUSED(&p, 1, constants, parameters, NULL, slots, margins);
    REFUSED(&p, 1, constants, parameters, workspace, NULL, margins);
    REFUSED(&p, 1, constants, parameters, workspace, slots, NULL);
    WRONG(p.data, NULL);
    WRONG(p.n_features, 0);
    WRONG(p.n_points, -1);
#undef WRONG
    CHECK(mapdpm_tangent_bytes(OF(0, 0)) == 0 && mapdpm_tangent_bytes(OF(0, -1)) == 0);
    CHECK(mapdpm_tangent_bytes(OF(0, 1)) > 0);
}

/* Wrong problems and clusters are wrong for both. */
static void wrong_clusters_are_refused(mapdpm_problem p)
{
    static const double parts[CAPACITY * SUFFICIENT] = {0.0};
    static partition now;
    mapdpm_clusters z = *CLUSTERS_OF(&now);
    unsigned char restless[N];

#define WRONG(p, z, place, value)                                                                                     \
    CHECK_WITH(place, value, mapdpm_restless(p, z, workspace, restless) == MAPDPM_E_ARGUMENT);                        \
    CHECK_WITH(place, value, mapdpm_join_rows(p, z, workspace, 1, parts) == MAPDPM_E_ARGUMENT)
    draw_labels(&p, &now, 0, 3);
    WRONG(NULL, &z, z.capacity, CAPACITY); /* all is right, but there is no problem, or there are no clusters */
    WRONG(&p, NULL, z.capacity, CAPACITY);
    WRONG(&p, &z, z.capacity, 0);
    WRONG(&p, &z, z.counts, NULL);
    WRONG(&p, &z, z.rows, NULL);
    WRONG(&p, &z, p.n_features, 0);
    WRONG(&p, &z, p.n_points, -1);
    WRONG(&p, &z, p.data, NULL);
    WRONG(&p, &z, p.parameters, NULL);
    WRONG(&p, &z, p.family, MAPDPM_NORMAL_INVERSE_WISHART + 1);
}

static void wrong_arguments_are_refused(const mapdpm_problem *p)
{
    static partition now;
    mapdpm_clusters z = *CLUSTERS_OF(&now);
    unsigned char restless[N];
    double gains[N];

    wrong_tangents_are_refused(*p);
    wrong_clusters_are_refused(*p);
    draw_labels(p, &now, 0, 3);
    CHECK_REFUSED(mapdpm_restless(p, &z, NULL, restless));
    CHECK_REFUSED(mapdpm_restless(p, &z, workspace, NULL));
    CHECK_REFUSED(mapdpm_left_out(p, &z, NULL, gains));
    CHECK_REFUSED(mapdpm_left_out(p, &z, workspace, NULL));
    now.labels[LAST] = -1;
    CHECK_REFUSED(mapdpm_restless(p, &z, workspace, restless));
    CHECK_REFUSED(mapdpm_left_out(p, &z, workspace, gains));
    now.labels[LAST] = CAPACITY;
    CHECK_REFUSED(mapdpm_restless(p, &z, workspace, restless));
    z.labels = NULL;
    CHECK_REFUSED(mapdpm_restless(p, &z, workspace, restless));
    CHECK_REFUSED(mapdpm_join_rows(p, &z, workspace, 1, NULL));
    CHECK_REFUSED(mapdpm_join_rows(p, &z, workspace, -1, weights));
}

/* No points: no point moves, and nothing is read. */
static void no_points(const mapdpm_problem *right)
{
    static partition now;
    mapdpm_problem p = *right;
    mapdpm_clusters z = *CLUSTERS_OF(&now);
    unsigned char restless[1] = {77};

    p.n_points = 0;
    p.data = NULL;
    z.labels = NULL;
    CHECK(mapdpm_restless(&p, &z, workspace, restless) == MAPDPM_OK && restless[0] == 77);
}

static void set_parameters(void)
{
    int64_t d;

    gamma_parameters[D] = 0.1;
    gamma_parameters[D + 1] = 1.0;
    for (d = 0; d < D; d++) {
        gamma_parameters[D + 2 + d] = known_parameters[2 * D + d] = 0.5 + 0.25 * (double)(d % 3);
        known_parameters[D + d] = 9.0;
        distance_parameters[d] = 1.0;
    }
}

static void check_problem(const mapdpm_problem *p)
{
    static partition now;
    int64_t d;

    draw_points();
    restless_of_many_states(p);
    unions_are_those_of_all_points(p);
    draw_labels(p, &now, 0, 6);
    chunk_is_swept_as_in_all(p, &now);
    no_points(p);
    wrong_arguments_are_refused(p);
    for (d = 0; d < D; d++)
        data[LAST * D + d] = 1000000;
    rows_of_outliers(p);
}

int main(void)
{
    static const int64_t sizes[] = {0, 1, 31, 33, MOST_POINTS};
    const double *const parameters[] = {gamma_parameters, known_parameters, distance_parameters};
    size_t i;
    int variant;

    CHECK(mapdpm_row_size(OF(MAPDPM_NORMAL_GAMMA, D)) == ROW);
    workspace = malloc(mapdpm_workspace_bytes(OF(MAPDPM_NORMAL_GAMMA, D), CAPACITY));
    set_parameters();
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        tangents_are_those_of_slow_sums(sizes[i], 1);
        tangents_are_those_of_slow_sums(sizes[i], 3);
        tangents_are_those_of_slow_sums(sizes[i], MD_SLOTS);
    }
    no_slot_without_weight();
    for (variant = 0; variant < 12; variant++) {
        const int32_t family = MAPDPM_NORMAL_GAMMA + variant % 3;
        mapdpm_problem p = {.family = family, .n_points = N, .n_features = D, .data = data,
                            .parameters = parameters[variant % 3], .alpha = 1.0};

        p.weights = variant / 3 & 1 ? weights : NULL;
        p.discount = family != MAPDPM_SQUARED_DISTANCE && variant >= 6 ? 0.3 : 0.0;
        p.penalty = family == MAPDPM_SQUARED_DISTANCE ? (variant >= 6 ? 5.0 : 60.0) : 0.0;
        check_problem(&p);
    }
    CHECK(n_still > 0 && n_restless > 0);
    free(workspace);
    return REPORT();
}
