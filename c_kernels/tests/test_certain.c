/* Bounds hold, in float and in double, also after moves: a point that is certain to stay stays, whatever the data. If
 * clusters lie apart, almost all points are certain. */
#include "check.h"
#include "scores/mapdpm_scores.h"

#include <float.h>
#include <stdlib.h>

enum { N = 240, MOST_FEATURES = 40, CAPACITY = 12, K = 7 };

static mapdpm_real data[N * MOST_FEATURES];
static double parameters[MOST_FEATURES + 2 + MOST_FEATURES * MOST_FEATURES];
static double steps[MOST_FEATURES];
static int64_t labels[N], counts[CAPACITY];
static mapdpm_clusters clusters = {CAPACITY, labels, counts, NULL, NULL};
static uint64_t state = 88172645463325252u;

typedef struct {
    double apart;   /* the distance of clusters, in deviations */
    double scale;   /* of all data */
    double offset;  /* of all data, in units of scale */
    double strange; /* the distance of a few outliers, in units of scale */
    int tied;       /* points are rounded, so that many are equal */
    int wrong;      /* one in so many points has the label of another cluster; 0: none */
} shape;

static double normal(void)
{
    double sum = 0.0;
    int i;

    for (i = 0; i < 12; i++)
        sum += check_uniform(&state);
    return 0.5 * sum;
}

static void draw(int64_t D, const shape *s)
{
    double centres[K * MOST_FEATURES];
    int64_t i, d;

    for (i = 0; i < K * D; i++)
        centres[i] = s->apart * normal();
    for (i = 0; i < N; i++) {
        const int64_t k =
            i % 40 == 0 ? K - 1 : (int64_t)((check_uniform(&state) + 1.0) * 0.5 * (K - 1)); /* one cluster is small */

        labels[i] = s->wrong && i % s->wrong == 1 ? (k + 1) % K : k;
        for (d = 0; d < D; d++) {
            double x = centres[k * D + d] + normal() * (1.0 + 0.5 * (double)k);

            x = s->tied ? floor(x) : x;
            x += s->strange > 0.0 && i % 50 == 7 ? s->strange * normal() : 0.0;
            data[i * D + d] = (mapdpm_real)(s->scale * (x + s->offset));
        }
    }
    labels[N - 1] = K; /* one point is alone */
}

static void set_parameters(int family, int64_t D, const shape *s)
{
    static const double wide[] = {1.0, 9.0, 1e-3, 0.0};
    const double unit = s->scale * s->scale;
    int64_t d;

    for (d = 0; d < D; d++) {
        parameters[d] = s->scale * s->offset;
        steps[d] = s->scale * wide[d % 4];
    }
    if (family == MAPDPM_NORMAL_GAMMA) {
        parameters[D] = 0.1;
        parameters[D + 1] = 1.0;
        for (d = 0; d < D; d++)
            parameters[D + 2 + d] = unit * (d % 2 ? 0.1 : 3.0);
    } else if (family == MAPDPM_NORMAL_INVERSE_WISHART) {
        parameters[D] = 0.1;
        parameters[D + 1] = (double)D + 2.0;
        for (d = 0; d < D * D; d++) /* a decimal order between neighbours on the diagonal, correlations of 1 / 2 or less */
            parameters[D + 2 + d] = unit * (d / D == d % D ? (d % D % 2 ? 0.1 : 1.0) : 0.1 / (double)D);
    } else {
        for (d = 0; d < D && family == MAPDPM_SQUARED_DISTANCE; d++)
            parameters[d] = unit;
        for (d = 0; d < D && family != MAPDPM_SQUARED_DISTANCE; d++) {
            parameters[D + d] = unit * s->apart * s->apart;
            parameters[2 * D + d] = unit * (1.0 + (double)(d % 3));
        }
    }
}

/* Columns that bounds leave open have the exact score, and no other column is as good. */
static void check_candidates(score_table *table, int64_t i, int64_t slot, int64_t q)
{
    double scores[CAPACITY + 1], best = -INFINITY;
    int64_t k, j, n;

    (void)score_all(table, i, slot);
    if (table->free_slot < 0 && !(slot >= 0 && table->clusters->counts[slot] == 1))
        table->scores[0] = -INFINITY;
    memcpy(scores, table->scores, (size_t)table->n_columns * sizeof *scores);
    for (k = 0; k < table->n_columns; k++)
        best = scores[k] > best ? scores[k] : best;
    n = score_candidates(table, i, slot, q, 0.0);
    for (j = 0; j < n; j++)
        CHECK(table->scores[table->candidates[j]] == scores[table->candidates[j]]);
    for (k = 0, j = 0; k < table->n_columns; k++)
        if (j < n && table->candidates[j] == k)
            j++;
        else
            CHECK(scores[k] < best - TOLERANCE * (1.0 + fabs(best)));
    CHECK(j == n);
}

/* No score of lane q is above its bound, its leave-one-out score is not below `least`, and if it is certain, no other
 * score is higher. `fresh`: nothing has moved. Returns whether it is certain. */
static int64_t check_lane(score_table *table, int64_t q, uint32_t certain, int fresh)
{
    const int64_t i = point_of_lane(table, q), slot = labels[i];
    double own, others = -INFINITY;
    int64_t k;
    int alone;

    load_point(table, i);
    score_columns(table);
    for (k = 0; k < table->n_columns; k++)
        if (is_column_used(table, k)) {
            const double bound = (double)table->bounds[k * MD_POINTS + q];

            CHECK(!(bound + COARSE_SLACK * fabs(bound) + table->log_weight[k] < table->scores[k]));
            CHECK(!((double)(table->bounds[k * MD_POINTS + q] + table->weight[k]) +
                        COARSE_SLACK * (1.0 + fabs(bound)) < table->scores[k]));
        }
    alone = score_all(table, i, slot);
    own = table->scores[slot + 1];
    for (k = 0; k < table->n_columns; k++)
        others = k != slot + 1 && table->scores[k] > others ? table->scores[k] : others;
    if (fresh || certain >> q & 1)
        CHECK(alone ? !(table->least[q] > -INFINITY) : (double)table->least[q] <= own);
    CHECK(!(certain >> q & 1) || (!alone && own >= others));
    check_candidates(table, i, slot, q);
    check_candidates(table, i, -1, q);
    return certain >> q & 1;
}

/* Check the batch, then move some of its points, and check the others after each move. Returns the number of certain
 * points at first. */
static int64_t check_batch(score_table *table, int64_t i, int64_t n_moves)
{
    uint32_t certain;
    int64_t q, later, found = 0;

    load_batch(table, NULL, i, N);
    certain = bound_batch(table);
    for (q = 0; q < table->n_batch; q++)
        found += check_lane(table, q, certain, 1);
    for (q = 0; q < table->n_batch && q < n_moves && table->has_bounds; q++) {
        const int64_t from = labels[i + q], to = q % 3 ? (from + 1) % K : table->free_slot;

        if (to < 0 || counts[from] == 0)
            continue;
        load_point(table, i + q);
        leave_slot(table, i + q);
        join_slot(table, i + q, to);
        certain = bound_batch_after_move(table, q, from + 1, to + 1, certain);
        for (later = q + 1; later < table->n_batch && table->has_bounds; later++)
            (void)check_lane(table, later, certain, 0);
    }
    return found;
}

/* The score of a diagonal family in long double, from the derived entries of the statistics, and the size of the terms
 * that it is the sum of. */
static long double long_score(const score_table *t, int64_t column, const double *x, double *size)
{
    const int64_t D = t->likelihood.D;
    double *const statistics = statistics_of_column(t, column);
    const double *const centre = diagonal_centre(statistics, D), *const scale = diagonal_scale(statistics, D);
    long double tail = 0.0L;
    int64_t d;

    for (d = 0; d < D; d++) {
        const long double y = (long double)x[d] - centre[d], u = y * y * scale[d];

        tail += t->is_product ? log1pl(u) : u;
    }
    tail *= t->exponent[column];
    *size = fabs(t->constant[column]) + fabs(t->log_weight[column]) + (double)tail;
    return (long double)t->constant[column] + t->log_weight[column] - tail;
}

/* Exact scores lose few digits: a factor takes 4 roundings, a product of two of them 2, of which D / 4 + 2 follow each
 * other, the logarithm and the sum of terms 4; each is 2^-53 at most, of the terms. */
static void check_digits(const mapdpm_problem *p, const double *scores, double weight, void *workspace)
{
    score_table t;
    double normaliser, size;
    int64_t i, k, d;

    CHECK(set_up_table(&t, p, &clusters, workspace) == MAPDPM_OK);
    normaliser = log_normaliser(p, weight);
    for (i = 0; i < N; i++)
        for (k = 0; k < CAPACITY; k++) {
            double x[MOST_FEATURES], bound;
            long double exact;

            if (counts[k] == 0)
                continue;
            for (d = 0; d < p->n_features; d++)
                x[d] = (double)p->data[i * p->n_features + d];
            exact = long_score(&t, k + 1, x, &size) + normaliser;
            bound = (12.0 + 0.5 * (double)p->n_features) * 1.2e-16 * (size + fabs(normaliser));
            CHECK(fabs((double)(exact - scores[i * CAPACITY + k])) <= bound);
        }
}

/* Each point of a cluster counts a hundred thousand times. The logarithm of a tail is then multiplied by millions. */
static void check_digits_of_large_clusters(const mapdpm_problem *p, double *scores, void *workspace)
{
    const int64_t size = mapdpm_row_size(p);
    double *const kept = (double *)malloc(sizeof(double) * CAPACITY * (size_t)size);
    int64_t k, d;
    score_table t;

    memcpy(kept, clusters.rows, sizeof(double) * CAPACITY * (size_t)size);
    CHECK(set_up_table(&t, p, &clusters, workspace) == MAPDPM_OK);
    for (k = 0; k < CAPACITY; k++)
        if (counts[k] > 0) {
            double *const row = statistics_of(&t, k);

            row[0] *= 1e5;
            for (d = 0; d < p->n_features; d++)
                diagonal_squares(row, p->n_features)[d] *= 1e5;
            statistics_prepare(&t.likelihood, row);
        }
    CHECK(mapdpm_score(p, &clusters, workspace, scores) == MAPDPM_OK);
    check_digits(p, scores, 1e5 * N, workspace);
    memcpy(clusters.rows, kept, sizeof(double) * CAPACITY * (size_t)size);
    free(kept);
}

/* Densities and best slots are those of all scores, and do not depend on the neighbours of a point. */
static void check_scores(const mapdpm_problem *p, void *workspace)
{
    double *const scores = (double *)malloc(sizeof(double) * N * CAPACITY), densities[N], some[N];
    int64_t slots[N], i, k;
    mapdpm_problem part = *p;

    CHECK(mapdpm_score(p, &clusters, workspace, scores) == MAPDPM_OK);
    if (LDBL_MANT_DIG > 60 && p->family != MAPDPM_NORMAL_INVERSE_WISHART && !p->resolution)
        check_digits(p, scores, (double)N, workspace);
    CHECK(mapdpm_log_densities(p, &clusters, workspace, densities) == MAPDPM_OK);
    CHECK(mapdpm_best_slots(p, &clusters, workspace, 1, slots) == MAPDPM_OK);
    part.data += 5 * p->n_features;
    part.n_points -= 5;
    CHECK(mapdpm_log_densities(&part, &clusters, workspace, some) == MAPDPM_OK);
    CHECK(memcmp(some, densities + 5, sizeof(double) * (N - 5)) == 0);
    for (i = 0; i < N; i++) {
        double best = -INFINITY, sum = 0.0;

        for (k = 0; k < CAPACITY; k++)
            best = scores[i * CAPACITY + k] > best ? scores[i * CAPACITY + k] : best;
        for (k = 0; k < CAPACITY; k++)
            sum += exp(scores[i * CAPACITY + k] - best);
        /* 13 exponentials and their sum, a few roundings each */
        CHECK(fabs(densities[i] - (best + log(sum))) <= 1e-14 * (fabs(best) + 1.0));
        CHECK(scores[i * CAPACITY + slots[i]] >= best - 2.0 * TOLERANCE * (1.0 + fabs(best)));
    }
    if (LDBL_MANT_DIG > 60 && p->family != MAPDPM_NORMAL_INVERSE_WISHART && !p->resolution)
        check_digits_of_large_clusters(p, scores, workspace);
    free(scores);
}

/* Returns the number of certain points. */
static int64_t check_bounds(const mapdpm_problem *p)
{
    const size_t bytes = mapdpm_workspace_bytes(p, CAPACITY);
    void *const workspace = malloc(bytes);
    int64_t found = 0, i, in_double;
    score_table table;

    clusters.rows = (double *)malloc(sizeof(double) * CAPACITY * (size_t)mapdpm_row_size(p));
    CHECK(mapdpm_statistics(p, &clusters, workspace) == MAPDPM_OK);
    check_scores(p, workspace);
    for (in_double = 1; in_double >= 0; in_double--) {
        CHECK(set_up_table(&table, p, &clusters, workspace) == MAPDPM_OK);
        if (in_double && table.has_bounds) {
            table.in_double = 1;
            CHECK(set_all_bounds(&table));
        }
        for (i = found = 0; i < p->n_points && table.has_bounds; i += table.n_batch)
            found += check_batch(&table, i, 0);
    }
    for (i = 0; i < p->n_points && table.has_bounds; i += table.n_batch)
        (void)check_batch(&table, i, i == 0 || i > N / 2 ? 9 : 0);
    free(workspace);
    free(clusters.rows);
    return found;
}

/* A cluster that takes in an outlier grows beyond the units of the batch. */
static void check_new_units(void)
{
    static const shape plain = {6, 1, 0, 0, 0, 0};
    mapdpm_problem p = {.family = MAPDPM_NORMAL_GAMMA, .n_points = N, .n_features = 3, .data = data,
                        .parameters = parameters, .alpha = 1.0};
    void *const workspace = malloc(mapdpm_workspace_bytes(&p, CAPACITY));
    score_table table;
    uint32_t certain;
    double unit;
    int64_t q;

    draw(3, &plain);
    set_parameters(p.family, 3, &plain);
    clusters.rows = (double *)malloc(sizeof(double) * CAPACITY * (size_t)mapdpm_row_size(&p));
    for (q = 0; q < 3; q++)
        data[5 * 3 + q] = (mapdpm_real)1e6;
    labels[5] = -1;
    CHECK(mapdpm_statistics(&p, &clusters, workspace) == MAPDPM_OK);
    CHECK(set_up_table(&table, &p, &clusters, workspace) == MAPDPM_OK);
    load_batch(&table, NULL, 0, N);
    certain = bound_batch(&table);
    unit = table.unit[0];
    load_point(&table, 5);
    join_slot(&table, 5, 0);
    CHECK(table.unit[0] > 100.0 * unit && table.has_bounds);
    certain = bound_batch_after_move(&table, 5, 0, 1, certain);
    for (q = 6; q < MD_POINTS; q++)
        (void)check_lane(&table, q, certain, 1);
    free(workspace);
    free(clusters.rows);
}

int main(void)
{
    static const shape shapes[] = {{6, 1, 0, 0, 0, 0},     {6, 1, 0, 0, 0, 9},    {1, 1, 0, 0, 0, 3},
                                   {0, 1, 0, 0, 1, 2},     {4, 1e-6, 0, 0, 0, 9}, {4, 1e6, 0, 0, 1, 9},
                                   {4, 1, 1000, 0, 0, 9},  {4, 1, 0, 1e9, 0, 9},  {4, 1, 0, 1e15, 1, 4},
                                   {4, 1e15, 0, 1e9, 0, 9}};
    static const int64_t widths[] = {1, 2, 3, 8, 9, 17, MOST_FEATURES};
    size_t i, j;
    int family, with;

    for (i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (j = 0; j < sizeof widths / sizeof *widths; j++)
            for (family = MAPDPM_NORMAL_GAMMA; family <= MAPDPM_NORMAL_INVERSE_WISHART; family++)
                for (with = 0; with < (family <= MAPDPM_NORMAL_KNOWN_VARIANCE ? 3 : 2); with++) {
                    mapdpm_problem p = {.family = family, .n_points = N, .n_features = widths[j], .data = data,
                                        .parameters = parameters, .alpha = 1.0};
                    int64_t found;

                    if (PART && ((size_t)family + i + j + 2 * (size_t)with) % 4 != 0)
                        continue;
                    if (sizeof(mapdpm_real) == 4 && shapes[i].scale * shapes[i].strange > 1e18)
                        continue;
                    p.discount = with == 1 ? 0.3 : 0.0;
                    p.resolution = with == 2 ? steps : NULL;
                    if (family == MAPDPM_SQUARED_DISTANCE) {
                        p.penalty = shapes[i].scale * shapes[i].scale * 20.0 * (double)widths[j];
                        p.alpha = 1.0;
                        p.discount = 0.0;
                    }
                    draw(widths[j], &shapes[i]);
                    set_parameters(family, widths[j], &shapes[i]);
                    found = check_bounds(&p);
                    /* If clusters lie apart, almost all points must be certain, else bounds are useless. */
                    if (i == 0 && widths[j] >= 8 && with < 2 &&
                        (family == MAPDPM_NORMAL_GAMMA || /* a covariance matrix needs more points than features */
                         (HAS_VECTORS && family == MAPDPM_NORMAL_INVERSE_WISHART && widths[j] <= 17)))
                        CHECK(found > N * 8 / 10);
                    if (getenv("MAPDPM_TOLD"))
                        printf("shape %d, %d features, family %d: %d certain\n", (int)i, (int)widths[j], family,
                               (int)found);
                }
    check_new_units();
    return REPORT();
}
