/* The parameters of largest evidence, against the evidence of other places and of the whole sums of log marginals. */
#include "check.h"
#include "sizes.h"
#include "families/mapdpm_cluster_statistics.h"
#include "families/mapdpm_priors.h"

#include <stdlib.h>

enum { N = 60, D = 3, CAPACITY = 5, USED = 4, SIZE = 1 + 9 * D, OF_GAMMA = 2 * D + 2, MOST_PARAMETERS = 3 * D, LOGS = 3 };

static mapdpm_real data[N * D];
static int64_t labels[N], counts[CAPACITY];
static double rows[CAPACITY * SIZE], *workspace;
static const mapdpm_clusters clusters = {CAPACITY, labels, counts, rows, NULL}, *const z = &clusters;
static const int64_t from_the_first = 0;
static uint64_t seed = 88172645463325252u;

static const double gamma_parameters[MOST_PARAMETERS] = {0.1, -0.2, 0.3, 0.2, 1.0, 2.0, 3.0, 4.0};
static const int64_t gamma_logs[MOST_PARAMETERS] = {-1, -1, -1, 0, 2, 1, 1, 1};
static const int64_t none[MOST_PARAMETERS] = {-1, -1, -1, -1, -1, -1, -1, -1, -1};
static const double known_parameters[MOST_PARAMETERS] = {0.1, -0.2, 0.3, 5.0, 6.0, 7.0, 1.0, 2.0, 3.0};
static const int64_t known_logs[MOST_PARAMETERS] = {-1, -1, -1, 0, 0, 0, 1, 1, 1};
static const double low[LOGS] = {-6.0, -5.0, -1.0}, high[LOGS] = {2.0, 5.0, 3.0};

/* The sum of the log marginals where the parameters are changed by hand. */
static double evidence_of(const mapdpm_problem *made_by, const mapdpm_widths *w, const double *logs)
{
    double parameters[MOST_PARAMETERS], marginals[CAPACITY], total = 0.0;
    mapdpm_problem p = *made_by;
    int64_t i;

    for (i = 0; i < MOST_PARAMETERS; i++)
        parameters[i] = w->parameters[i] * (w->log_of[i] < 0 ? 1.0 : exp(logs[w->log_of[i]]));
    p.parameters = parameters;
    CHECK_OK(mapdpm_log_marginals(&p, z, workspace, marginals));
    for (i = 0; i < CAPACITY; i++)
        total += marginals[i];
    return total;
}

/* The best place is in the box, the gain is that of the evidence, and no step along an axis gains more than the search
 * may leave. */
static void test_family(int32_t family, const double *parameters, const int64_t *log_of, int64_t n_logs)
{
    const mapdpm_problem p = {.family = family, .n_points = N, .n_features = D, .data = data,
                              .parameters = parameters, .alpha = 1.0};
    const mapdpm_widths w = {n_logs, parameters, log_of, low, high, 0.03, 1e-5};
    const mapdpm_alike_parts whole = {1, &from_the_first, statistics_size(&p)};
    double logs[LOGS] = {9.0, -1.0, 0.5}, start[LOGS], evidence[2], best;
    int64_t j, step;

    CHECK_OK(mapdpm_statistics(&p, z, workspace));
    memcpy(start, logs, sizeof logs);
    CHECK_OK(mapdpm_largest_evidence(&p, z, workspace, &whole, &w, logs, evidence));
    best = evidence_of(&p, &w, logs);
    CHECK(fabs(evidence[0] - evidence_of(&p, &w, start)) < 1e-9 * fabs(evidence[0]));
    CHECK(fabs(evidence[1] - best) < 1e-9 * fabs(best));
    CHECK(evidence[1] > evidence[0]);
    for (j = 0; j < n_logs; j++) {
        CHECK(logs[j] >= low[j] && logs[j] <= high[j]);
        for (step = -10; step <= 10; step++) {
            double other[LOGS];

            memcpy(other, logs, sizeof logs);
            other[j] += 0.2 * (double)step;
            if (other[j] >= low[j] && other[j] <= high[j])
                CHECK(evidence_of(&p, &w, other) < best + 1e-3 * fabs(best));
        }
    }
}

/* The sum of the log marginals of full covariances, term by term. */
static double full_evidence(const mapdpm_full_clusters *full, const mapdpm_widths *w, const double *logs)
{
    const double width = (double)full->n_features;
    double p[LOGS], total = full->constant;
    int64_t i, k, d;

    for (i = 0; i < LOGS; i++)
        p[i] = w->parameters[i] * exp(logs[i]);
    for (k = 0; k < full->n_clusters; k++) {
        const double n = full->counts[k];
        double determinant = 1.0, pulled = 1.0;

        for (d = 0; d < full->n_features; d++) {
            const double grown = p[2] + full->squares[k * full->n_features + d];

            determinant *= grown / p[2];
            pulled += p[0] * n / (p[0] + n) * full->pulls[k * full->n_features + d] / grown;
            total += lgamma(0.5 * (p[1] + n - (double)d)) - lgamma(0.5 * (p[1] - (double)d));
        }
        total += 0.5 * width * (log(p[0]) - log(p[0] + n)) - 0.5 * (p[1] + n) * log(determinant * pulled);
        total -= 0.5 * n * width * log(p[2]);
    }
    return total;
}

static void test_full(void)
{
    static const double sizes[] = {20.0, 1.0, 7.5}, squares[] = {30.0, 2.0, 0.0, 0.0, 5.0, 9.0},
                        pulls[] = {1.0, 40.0, 0.5, 0.0, 3.0, 2.0}, parameters[] = {0.1, 4.0, 1.0};
    static const double from[] = {-6.0, -1.0, -6.0}, to[] = {2.0, 5.0, 3.0}; /* nu0 > 1 */
    static const int64_t log_of[] = {0, 1, 2}, stays[] = {0, -1, 1};
    mapdpm_full_clusters full = {3, 2, sizes, squares, pulls, -5.0};
    mapdpm_widths w = {LOGS, parameters, log_of, from, to, 1e-4, 1e-12};
    double logs[LOGS] = {3.0, -0.5, 0.5}, evidence[2], best;
    int64_t j, step;

    CHECK_OK(mapdpm_largest_full_evidence(&full, &w, logs, evidence));
    best = full_evidence(&full, &w, logs);
    CHECK(fabs(evidence[0] - full_evidence(&full, &w, (const double[]){3.0, -0.5, 0.5})) < 1e-9 * fabs(evidence[0]));
    CHECK(fabs(evidence[1] - best) < 1e-9 * fabs(best));
    CHECK(evidence[1] > evidence[0]);
    for (j = 0; j < LOGS; j++)
        for (step = -10; step <= 10; step++) {
            double other[LOGS];

            memcpy(other, logs, sizeof logs);
            other[j] += 0.2 * (double)step;
            if (other[j] >= from[j] && other[j] <= to[j])
                CHECK(full_evidence(&full, &w, other) < best + 1e-6 * fabs(best));
        }
    w.log_of = stays;
    w.n_logs = 2;
    CHECK_OK(mapdpm_largest_full_evidence(&full, &w, logs, evidence));
    full.n_clusters = 0;
    CHECK_OK(mapdpm_largest_full_evidence(&full, &w, logs, evidence));
    CHECK(evidence[0] == full.constant && evidence[1] == full.constant);
#define REFUSED(place, value)                                                                                         \
    CHECK_WITH(place, value, mapdpm_largest_full_evidence(&full, &w, logs, evidence) == MAPDPM_E_ARGUMENT)
    REFUSED(full.n_clusters, -1);
    REFUSED(full.n_features, 0);
    REFUSED(full.counts, NULL);
    REFUSED(full.squares, NULL);
    REFUSED(full.pulls, NULL);
    REFUSED(w.n_logs, 1);
    CHECK_REFUSED(mapdpm_largest_full_evidence(NULL, &w, logs, evidence));
    CHECK_REFUSED(mapdpm_largest_full_evidence(&full, NULL, logs, evidence));
    CHECK_REFUSED(mapdpm_largest_full_evidence(&full, &w, NULL, evidence));
    CHECK_REFUSED(mapdpm_largest_full_evidence(&full, &w, logs, NULL));
}

/* Each of two parts of wider rows finds what the same rows by themselves find, and none is sought where none moves. */
static void test_parts(void)
{
    enum { GAP = 2, WIDE = 2 * SIZE + GAP };
    static double wide[CAPACITY * WIDE];
    const mapdpm_problem p = {.family = MAPDPM_NORMAL_GAMMA, .n_points = N, .n_features = D, .data = data,
                              .parameters = gamma_parameters, .alpha = 1.0};
    const mapdpm_clusters of_both = {CAPACITY, labels, counts, wide, NULL};
    const int64_t size = statistics_size(&p), at[] = {1, 1 + size + GAP};
    const mapdpm_alike_parts both = {2, at, WIDE}, one = {1, &from_the_first, size};
    double parameters[2][OF_GAMMA], from[2][LOGS], to[2][LOGS], logs[2][LOGS], evidence[2][2];
    mapdpm_widths w = {LOGS, parameters[0], gamma_logs, from[0], to[0], 0.03, 1e-5};
    int64_t part, k, i;

    CHECK_OK(mapdpm_statistics(&p, z, workspace));
    for (part = 0; part < 2; part++) {
        for (k = 0; k < CAPACITY; k++)
            memcpy(wide + k * WIDE + at[part], rows + k * size, (size_t)size * sizeof *rows);
        for (i = 0; i < OF_GAMMA; i++)
            parameters[part][i] = gamma_parameters[i] * (part ? 1.5 : 1.0);
        for (i = 0; i < LOGS; i++) {
            from[part][i] = low[i] + 0.5 * (double)part;
            to[part][i] = part && i == 1 ? from[1][1] + 0.1 : high[i]; /* a box that holds the second one */
            logs[part][i] = 0.25 * (double)(i - part);
        }
    }
    CHECK_OK(mapdpm_largest_evidence(&p, &of_both, workspace, &both, &w, logs[0], evidence[0]));
    for (part = 0; part < 2; part++) {
        const mapdpm_widths own = {LOGS, parameters[part], gamma_logs, from[part], to[part], 0.03, 1e-5};
        double alone[LOGS], own_evidence[2];

        for (i = 0; i < LOGS; i++)
            alone[i] = 0.25 * (double)(i - part);
        CHECK_OK(mapdpm_largest_evidence(&p, z, workspace, &one, &own, alone, own_evidence));
        CHECK(memcmp(alone, logs[part], sizeof alone) == 0);
        CHECK(memcmp(own_evidence, evidence[part], sizeof own_evidence) == 0);
    }
    CHECK(memcmp(logs[0], logs[1], sizeof logs[0]) != 0);
    w.n_logs = 0;
    w.log_of = none;
    CHECK_OK(mapdpm_largest_evidence(&p, &of_both, workspace, &both, &w, logs[0], evidence[0]));
    CHECK(evidence[0][0] == evidence_of(&p, &w, logs[0]));
    CHECK(evidence[0][1] == evidence[0][0] && evidence[1][1] == evidence[1][0]);
}

static void test_arguments(void)
{
    mapdpm_problem p = {.family = MAPDPM_NORMAL_GAMMA, .n_points = N, .n_features = D, .data = data,
                        .parameters = gamma_parameters, .alpha = 1.0};
    mapdpm_widths w = {LOGS, gamma_parameters, gamma_logs, low, high, 0.03, 1e-5};
    mapdpm_alike_parts whole = {1, &from_the_first, diagonal_size(D)};
    double logs[LOGS] = {0.0, 0.0, 0.0}, evidence[2];

    CHECK_REFUSED(mapdpm_largest_evidence(NULL, z, workspace, &whole, &w, logs, evidence));
    CHECK_REFUSED(mapdpm_largest_evidence(&p, NULL, workspace, &whole, &w, logs, evidence));
    CHECK_REFUSED(mapdpm_largest_evidence(&p, z, NULL, &whole, &w, logs, evidence));
    CHECK_REFUSED(mapdpm_largest_evidence(&p, z, workspace, NULL, &w, logs, evidence));
    CHECK_REFUSED(mapdpm_largest_evidence(&p, z, workspace, &whole, NULL, logs, evidence));
    CHECK_REFUSED(mapdpm_largest_evidence(&p, z, workspace, &whole, &w, NULL, evidence));
    CHECK_REFUSED(mapdpm_largest_evidence(&p, z, workspace, &whole, &w, logs, NULL));
#define WRONG(place, value)                                                                                           \
    CHECK_WITH(place, value,                                                                                          \
               mapdpm_largest_evidence(&p, z, workspace, &whole, &w, logs, evidence) == MAPDPM_E_ARGUMENT)
    WRONG(w.n_logs, LOGS - 1); /* an entry has a logarithm that is not there */
    WRONG(w.n_logs, 5);
    WRONG(w.n_logs, -1);
    WRONG(p.family, MAPDPM_SQUARED_DISTANCE);
    WRONG(p.family, MAPDPM_NORMAL_INVERSE_WISHART);
    WRONG(whole.n_parts, -1);
    WRONG(whole.at, NULL);
    WRONG(whole.row_size, diagonal_size(D) - 1);
    w.low = high;
    WRONG(w.high, low);
}

int main(void)
{
    int64_t i, d;

    for (i = 0; i < N; i++) {
        labels[i] = i % USED;
        for (d = 0; d < D; d++)
            data[i * D + d] = (mapdpm_real)(5.0 * (double)((i % USED) * (d + 1) % 4) + 0.3 * check_uniform(&seed));
    }
    workspace = malloc(mapdpm_workspace_bytes(OF(MAPDPM_SKIPPING, D), CAPACITY));
    test_family(MAPDPM_NORMAL_GAMMA, gamma_parameters, gamma_logs, LOGS);
    test_family(MAPDPM_NORMAL_KNOWN_VARIANCE, known_parameters, known_logs, 2);
    test_arguments();
    test_parts();
    test_full();
    data[4] = data[17] = (mapdpm_real)NAN;
    test_family(MAPDPM_SKIPPING + MAPDPM_NORMAL_GAMMA, gamma_parameters, gamma_logs, LOGS);
    test_family(MAPDPM_SKIPPING + MAPDPM_NORMAL_KNOWN_VARIANCE, known_parameters, known_logs, 2);
    free(workspace);
    return REPORT();
}
