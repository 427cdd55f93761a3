/* States of sequences that are drawn as whole paths, again and again: blocked Gibbs sampling, with the shares of states at
 * their mode. The twin of mapdpm/backends/states.py (decision 154).
 */
#include "families/mapdpm_priors.h"

#include <math.h>

#define MOST_STEPS 200
#define LONGEST_STEP 2.0
#define NEAR 1e-7 /* the error that a step of Newton's leaves is about its square */
#define NEAR_BY_CLIMBS 1e-12
#define FIRST_STEPS 2
#define SERIES_FROM 10
#define LEAST_WEIGHT 1e-100

/* The states in use, and their shares as they come to their mode. */
typedef struct shares {
    int64_t K;
    int64_t *slots;      /* [K] */
    double *log_shares;  /* [K] */
    double *tables;      /* [K] the expected tables of all rows, E */
    double *squares;     /* [K] E less its derivative by the log share */
    double *moves;       /* [K] */
    double total;        /* gamma and all tables, S */
} shares;

static size_t rounded(size_t n_bytes) { return (n_bytes + sizeof(double) - 1) / sizeof(double) * sizeof(double); }

size_t mapdpm_draw_states_bytes(const mapdpm_problem *problem, int64_t n_points, int64_t n_sequences, int64_t capacity)
{
    const int64_t numbers = 2 * n_points * capacity + capacity * (capacity + 6) + n_sequences + n_points;

    return rounded(mapdpm_workspace_bytes(problem, capacity)) + sizeof(double) * (size_t)numbers;
}

/* log x - 1 / (2 x) - psi(x), and psi'(x) - 1 / x - 1 / (2 x^2), for x >= 10. */
static double digamma_tail(double x)
{
    const double r = 1.0 / (x * x);

    return r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r * (1.0 / 132 - r * (691.0 / 32760 - r / 12))))));
}

static double trigamma_tail(double x)
{
    const double r = 1.0 / (x * x);

    return r / x * (1.0 / 6 - r * (1.0 / 30 - r * (1.0 / 42 - r * (1.0 / 30 - r * (5.0 / 66)))));
}

/* The sums over i < n of p_i = a / (a + i), and of p_i^2, for n > 0: rising_moments of mapdpm/special.py. */
static void rising_moments(double a, double n, double *first, double *second)
{
    const double x = a + SERIES_FROM, width = n / (x * (x + n));
    double sum = 0.0, squares = 0.0;
    int i;

    for (i = 0; i < SERIES_FROM; i++) {
        const double p = a / (a + i), r = n / (a + n + i);

        sum += p * r;
        squares += p * p * r * (2.0 - r);
    }
    *first = sum + a * (log1p(n / x) + 0.5 * width + (digamma_tail(x) - digamma_tail(x + n)));
    *second = squares + a * a * (width * (1.0 + 0.5 / x + 0.5 / (x + n)) + (trigamma_tail(x) - trigamma_tail(x + n)));
}

/* The expected tables at the log shares; of the tables of staying, those that are opened by the share (maths (83)). */
static void count_tables(shares *b, const mapdpm_states *s, int64_t capacity)
{
    int64_t j, v;

    for (j = 0; j < b->K; j++) {
        const int64_t k = b->slots[j];
        double share = s->alpha * exp(b->log_shares[j]), tables = 0.0, squares = 0.0;

        share = share > LEAST_WEIGHT ? share : LEAST_WEIGHT;
        for (v = 0; v <= b->K; v++) {
            const int64_t row = v < b->K ? b->slots[v] : capacity, n = s->counts[row * capacity + k];
            const double weight = row == k ? share + s->kappa : share, part = share / weight;
            double first, second;

            if (n == 0)
                continue;
            rising_moments(weight, (double)n, &first, &second);
            tables += first * part;
            squares += second * part * part;
        }
        b->tables[j] = tables;
        b->squares[j] = squares;
    }
}

static double all_tables(const shares *b, double gamma)
{
    double sum = gamma;
    int64_t j;

    for (j = 0; j < b->K; j++)
        sum += b->tables[j];
    return sum;
}

/* A step of Newton's for the log shares and log S; where it is not safe, one that always climbs. Returns whether it was
 * the last. */
static int step(shares *b, double gamma)
{
    const double sum = all_tables(b, gamma);
    double top = b->total - sum, bottom = b->total, move_total, longest;
    int64_t j;
    int safe = 1;

    for (j = 0; j < b->K; j++) {
        const double wanted = b->total * exp(b->log_shares[j]), derivative = b->tables[j] - b->squares[j];
        const double slope = wanted - derivative, rate = derivative / (slope > 0.0 ? slope : 1.0);

        safe &= slope > 0.0;
        top += rate * (wanted - b->tables[j]);
        bottom += rate * wanted;
    }
    move_total = -top / bottom;
    longest = fabs(move_total);
    for (j = 0; j < b->K; j++) {
        const double wanted = b->total * exp(b->log_shares[j]), slope = wanted - b->tables[j] + b->squares[j];

        b->moves[j] = -(wanted - b->tables[j] + wanted * move_total) / (slope > 0.0 ? slope : 1.0);
        longest = fabs(b->moves[j]) > longest ? fabs(b->moves[j]) : longest;
    }
    safe = safe && longest <= LONGEST_STEP;
    if (!safe) {
        move_total = log(sum / b->total);
        longest = fabs(move_total);
        for (j = 0; j < b->K; j++) {
            b->moves[j] = log(b->tables[j] / sum) - b->log_shares[j];
            longest = fabs(b->moves[j]) > longest ? fabs(b->moves[j]) : longest;
        }
    }
    for (j = 0; j < b->K; j++)
        b->log_shares[j] += b->moves[j];
    b->total *= exp(move_total);
    return longest < (safe ? NEAR : NEAR_BY_CLIMBS);
}

/* Set the weights of all slots to alpha times their shares at the mode given the counts (maths (83)). */
static void share_out(shares *b, const mapdpm_states *s, double gamma, int64_t capacity)
{
    double sum, rest;
    int64_t j, v;
    int i;

    for (j = 0; j < b->K; j++)
        for (b->tables[j] = 0.0, v = 0; v <= b->K; v++)
            b->tables[j] += s->counts[(v < b->K ? b->slots[v] : capacity) * capacity + b->slots[j]] > 0;
    for (i = 0; i <= FIRST_STEPS; i++) {
        b->total = all_tables(b, gamma);
        for (j = 0; j < b->K; j++)
            b->log_shares[j] = log(b->tables[j] / b->total);
        count_tables(b, s, capacity);
    }
    for (i = 0; i < MOST_STEPS && !step(b, gamma); i++)
        count_tables(b, s, capacity);
    sum = rest = gamma / b->total;
    for (j = 0; j < b->K; j++)
        sum += exp(b->log_shares[j]);
    for (j = 0; j <= capacity; j++)
        s->weights[j] = 0.0;
    for (j = 0; j < b->K; j++)
        s->weights[b->slots[j]] = s->alpha * exp(b->log_shares[j]) / sum;
    s->weights[capacity] = s->alpha * rest / sum;
}

/* The posterior means of the first state, and of the transitions between the states in use. */
static void set_means(const shares *b, const mapdpm_states *s, int64_t capacity, double *start, double *steps)
{
    int64_t v, j;

    for (v = 0; v <= b->K; v++) {
        const int64_t row = v < b->K ? b->slots[v] : capacity;
        double *const into = v < b->K ? steps + v * b->K : start, sum = s->weights[capacity];

        for (j = 0; j < b->K; j++) {
            const int64_t k = b->slots[j];

            into[j] = (double)s->counts[row * capacity + k] + s->weights[k] + (j == v ? s->kappa : 0.0);
            sum += into[j];
        }
        for (j = 0; j < b->K; j++)
            into[j] /= sum;
    }
}

/* Find the states in use, and count the transitions between slots. */
static void recount(shares *b, const mapdpm_problem *p, const mapdpm_clusters *z, const mapdpm_states *s)
{
    const int64_t capacity = z->capacity;
    int64_t i, k;

    for (b->K = k = 0; k < capacity; k++)
        if (z->counts[k] > 0)
            b->slots[b->K++] = k;
    memset(s->counts, 0, sizeof(int64_t) * (size_t)(capacity * (capacity + 1)));
    memset(s->sizes, 0, sizeof(int64_t) * (size_t)(capacity + 1));
    for (i = 0; i < p->n_points; i++) {
        const int64_t v = s->previous[i] < 0 ? capacity : z->labels[s->previous[i]];

        s->counts[v * capacity + z->labels[i]]++;
        s->sizes[v]++;
    }
}

int mapdpm_draw_states(const mapdpm_problem *problem, const mapdpm_clusters *clusters, const mapdpm_states *states,
                       int64_t n_sequences, const int64_t *begins, void *workspace, double gamma, int64_t n_rounds,
                       const double *uniforms)
{
    mapdpm_chain chain = {0, NULL, NULL, 0, NULL};
    double *scores, *filtered, *start, *steps, *totals;
    int64_t *path, N, capacity, round, i, j;
    shares b;
    int error = MAPDPM_OK;

    if (!is_batch_call(problem, clusters) || problem->weights || !are_states(states, problem) || workspace == NULL ||
        !are_labels_in_range(problem, clusters, 0) || begins == NULL || uniforms == NULL || !(gamma > 0.0))
        return MAPDPM_E_ARGUMENT;
    N = problem->n_points;
    capacity = clusters->capacity;
    scores = (double *)(void *)((unsigned char *)workspace +
                                rounded(mapdpm_workspace_bytes(problem, capacity)));
    filtered = scores + N * capacity;
    steps = filtered + N * capacity;
    start = steps + capacity * capacity;
    b.log_shares = start + capacity;
    b.tables = b.log_shares + capacity;
    b.squares = b.tables + capacity;
    b.moves = b.squares + capacity;
    totals = b.moves + capacity;
    b.slots = (int64_t *)(void *)(totals + n_sequences);
    path = b.slots + capacity;
    chain.start = start;
    chain.steps = steps;
    chain.n_sequences = n_sequences;
    chain.begins = begins;
    recount(&b, problem, clusters, states);
    for (round = 0; round < n_rounds && error == MAPDPM_OK; round++) {
        set_means(&b, states, capacity, start, steps);
        error = mapdpm_score(problem, clusters, workspace, scores);
        for (i = 0; i < N; i++)
            for (j = 0; j < b.K; j++)
                scores[i * b.K + j] = scores[i * capacity + b.slots[j]];
        chain.n_states = b.K;
        if (error == MAPDPM_OK)
            error = mapdpm_forward(&chain, scores, filtered, totals);
        if (error == MAPDPM_OK)
            error = mapdpm_draw_path(&chain, filtered, uniforms + round * N, path);
        if (error != MAPDPM_OK)
            break;
        for (i = 0; i < N; i++)
            clusters->labels[i] = b.slots[path[i]];
        error = mapdpm_statistics(problem, clusters, workspace);
        recount(&b, problem, clusters, states);
        share_out(&b, states, gamma, capacity);
    }
    return error;
}
