/* The end of the warm-up: the points it has kept are clustered, and what lies within clusters sets the prior.
 *
 * Bounded: rounds x (sweeps x warm-up x K + K^3) x D steps, once in a learner's life.
 */
#include "mapdpm_learner.h"

enum { ROUNDS = 2, SWEEPS = 10, STARTS = 3 };

/* In the label of a point while its cluster is being divided: the second half. */
#define SIDE UINT32_C(0x80000000)

/* c0 = EMPIRICAL_POINTS / warm-up, as in the batch prior. */
#define EMPIRICAL_POINTS ((real)10)
/* A cluster's variance is not believed to be less than this share of that of all. */
#define LEAST_SHARE ((real)1e-4)

/* The share of the variance of all that is first believed to lie within clusters, and a0. */
typedef struct {
    real share;
    real shape;
} guess;

static const real *point(const mapdpm_stream *s, size_t i)
{
    return points_of(s) + i * FEATURES(s);
}

/* Mean and variance of a feature over the warm-up, from the first value on, so that an offset costs no digits; a
 * constant feature has no scale of its own and counts as of variance 1. */
static void describe(const mapdpm_stream *s, size_t d, real *mean, real *variance)
{
    real first = 0, sum = 0, squares = 0, n = 0;
    size_t i;

    for (i = 0; i < WARMUP(s); i++) {
        const real x = point(s, i)[d];

        if (!is_there(x))
            continue;
        if (n == 0)
            first = x;
        n += 1;
        sum += x - first;
    }
    *mean = n > 0 ? sum / n : 0;
    for (i = 0; i < WARMUP(s); i++)
        if (is_there(point(s, i)[d])) {
            const real t = (point(s, i)[d] - first) - *mean;

            squares += t * t;
        }
    *mean += first;
    *variance = n > 0 ? squares / n : 0;
    if (!(*variance > LEAST_VARIANCE))
        *variance = 1;
}

static void put(mapdpm_stream *s, size_t i, uint32_t k, real weight)
{
    moments_add(s, slot_of(s, k), half_size(s), point(s, i), weight);
    stream_refresh(s, k);
}

/* Where point i belongs, a free slot if it wants a new cluster and there is one. */
static void assign(mapdpm_stream *s, size_t i)
{
    const choice c = stream_choose(s, point(s, i), 0);
    uint32_t k = c.best;

    if (c.opens && s->n_clusters < SLOTS(s)) {
        k = stream_free_slot(s);
        stream_open(s, k);
    }
    put(s, i, k, 1);
    labels_of(s)[i] = k;
}

static void take(mapdpm_stream *s, size_t i)
{
    const uint32_t k = labels_of(s)[i];

    if (*slot_of(s, k) > (real)1.5) {
        put(s, i, k, -1);
    } else {
        stream_clear(s, k);
        s->n_clusters--;
    }
}

/* Merge the pair that raises the log joint most; whether there was one. */
static int merge_best(mapdpm_stream *s)
{
    uint32_t to, from;
    size_t i;

    if (!stream_best_pair(s, 0, &to, &from))
        return 0;
    moments_merge(s, slot_of(s, to), slot_of(s, from), half_size(s));
    stream_clear(s, from);
    s->n_clusters--;
    stream_refresh(s, to);
    for (i = 0; i < WARMUP(s); i++)
        if (labels_of(s)[i] == from)
            labels_of(s)[i] = to;
    return 1;
}

/* Divide the members of slot k anew between its halves: the nearer mean in units of the variance within halves. */
static int reassign_halves(mapdpm_stream *s, uint32_t k)
{
    uint32_t *const labels = labels_of(s);
    const real *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1), *const slot = slot_of(s, k);
    size_t i;
    int moved = 0;

    for (i = 0; i < WARMUP(s); i++) {
        uint32_t side;

        if ((labels[i] & ~SIDE) != k)
            continue;
        side = is_nearer_to_second(s, slot, h0, h1, point(s, i)) ? SIDE : 0;
        moved |= side != (labels[i] & SIDE);
        labels[i] = k | side;
    }
    return moved;
}

static void rebuild_halves(mapdpm_stream *s, uint32_t k)
{
    size_t i;

    memset(half_of(s, k, 0), 0, 2 * half_size(s) * sizeof(real));
    for (i = 0; i < WARMUP(s); i++)
        if ((labels_of(s)[i] & ~SIDE) == k)
            moments_add(s, half_of(s, k, labels_of(s)[i] & SIDE ? 1 : 0), 0, point(s, i), 1);
}

/* A first division: by the side of the mean in the feature that is widest, in units of the prior. */
static void halve_by_feature(mapdpm_stream *s, uint32_t k, size_t skip)
{
    const size_t D = FEATURES(s);
    const real *const mean = mean_in(s, slot_of(s, k)), *const squares = squares_in(s, slot_of(s, k));
    real before = -1;
    size_t i, d, widest = 0, turn;

    for (turn = 0; turn <= skip; turn++) {
        real most = -1;

        for (d = 0; d < D; d++) {
            const real width = squares[d] / floor_of(s)[d];

            if (width > most && (before < 0 || width < before)) {
                most = width;
                widest = d;
            }
        }
        before = most;
    }
    for (i = 0; i < WARMUP(s); i++)
        if ((labels_of(s)[i] & ~SIDE) == k)
            labels_of(s)[i] = k | (entry(s, point(s, i), widest) > mean[widest] ? SIDE : 0);
}

/* Make two clusters of slot k where that raises the log joint; whether it did. */
static int divide(mapdpm_stream *s, uint32_t k)
{
    uint32_t *const labels = labels_of(s), e;
    size_t i, start;
    int step;

    for (start = 0; start < STARTS && start < FEATURES(s); start++) {
        halve_by_feature(s, k, start);
        rebuild_halves(s, k);
        for (step = 0; step < SWEEPS && *half_of(s, k, 0) > 0 && *half_of(s, k, 1) > 0 && reassign_halves(s, k); step++)
            rebuild_halves(s, k);
        if (*half_of(s, k, 0) > 0 && *half_of(s, k, 1) > 0 &&
            -merge_gain(s, half_view(s, k, 0), half_view(s, k, 1)) > 0)
            break;
    }
    if (start == STARTS || start == FEATURES(s)) {
        for (i = 0; i < WARMUP(s); i++)
            labels[i] &= ~SIDE;
        return 0;
    }
    e = stream_free_slot(s);
    stream_open(s, e);
    for (i = 0; i < WARMUP(s); i++)
        if (labels[i] == (k | SIDE)) {
            put(s, i, k, -1);
            put(s, i, e, 1);
            labels[i] = e;
        }
    memset(half_of(s, k, 0), 0, 2 * half_size(s) * sizeof(real));
    return 1;
}

/* MAP-DPM on the kept points: a sequential start, sweeps until nothing moves, merges and splits, and again. */
static void cluster(mapdpm_stream *s)
{
    uint32_t k;
    size_t i;
    int sweep, turn, moved, changed = 1;

    for (i = 0; i < WARMUP(s); i++)
        assign(s, i);
    for (turn = 0; turn < SWEEPS && changed; turn++) {
        for (sweep = 0, moved = 1; sweep < SWEEPS && moved; sweep++) {
            moved = 0;
            for (i = 0; i < WARMUP(s); i++) {
                const uint32_t before = labels_of(s)[i];

                take(s, i);
                assign(s, i);
                moved |= labels_of(s)[i] != before;
            }
        }
        changed = 0;
        while (merge_best(s))
            changed = 1;
        for (k = 0; k < SLOTS(s) && s->n_clusters < SLOTS(s); k++)
            if (is_used(s, k) && *slot_of(s, k) >= 2)
                changed |= divide(s, k);
    }
}

static void clear_all(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < SLOTS(s); k++)
        stream_clear(s, k);
    s->n_clusters = 0;
}

/* b0 from the variance within the clusters that were found: pooled, so that the prior's own guess has no say. */
static void learn_prior(mapdpm_stream *s, real *parameters, real a0)
{
    const size_t D = FEATURES(s);
    size_t d;
    uint32_t k;

    for (d = 0; d < D; d++) {
        real squares = 0, n = 0, mean, variance;

        for (k = 0; k < SLOTS(s); k++)
            if (is_used(s, k)) {
                const real points = counts_in(s, slot_of(s, k))[d * count_step(s)];

                squares += squares_in(s, slot_of(s, k))[d] / unit_of(s)[d] / unit_of(s)[d];
                n += points > 1 ? points - 1 : 0;
            }
        describe(s, d, &mean, &variance);
        squares = n > 0 ? squares / n : variance;
        parameters[D + 2 + d] = a0 * (squares > LEAST_SHARE * variance ? squares : LEAST_SHARE * variance);
    }
}

/* Ids in order of appearance; weights as if each point had been learned when it came. */
static void adopt(mapdpm_stream *s)
{
    uint32_t *const labels = labels_of(s);
    uint32_t k;
    size_t i;

    for (k = 0; k < SLOTS(s); k++)
        ids_of(s)[k] = NONE;
    clear_all(s);
    for (i = 0; i < WARMUP(s); i++) {
        const real age = real_of((uint64_t)(s->now - times_of(s)[i]));
        const real weight = FORGETS(s) ? math_exp(-age * s->rate) : 1;

        k = labels[i];
        if (!(weight > 0)) { /* forgotten while the warm-up lasted */
            labels[i] = NONE;
            continue;
        }
        if (ids_of(s)[k] == NONE) {
            stream_open(s, k);
            ids_of(s)[k] = s->next_id++;
            stream_record(s, MAPDPM_CREATED, ids_of(s)[k], 0);
        }
        put(s, i, k, weight);
        labels[i] = ids_of(s)[k];
        lasts(s)[k] = s->now;
        seen_of(s)[k] = (uint32_t)(i + 1);
    }
}

/* The log joint of the kept points and their clusters, in the user's units. */
static real log_joint(const mapdpm_stream *s)
{
    const real by_prior = log_prior(s);
    real total = (real)WARMUP(s) * s->log_units, unasked;
    uint32_t k;

    for (k = 0; k < SLOTS(s); k++)
        if (is_used(s, k))
            total += log_share(s, view_of(s, k, s->now), by_prior, &unasked) + s->log_alpha;
    return total;
}

/* Cluster the kept points under a first guess of the variance within clusters, and again under what it has found. */
static int fit(mapdpm_stream *s, guess g)
{
    const size_t D = FEATURES(s);
    real *const parameters = half_of(s, 0, 0); /* room that a warm-up does not use */
    size_t d;
    int round, error;

    for (round = 0; round <= ROUNDS; round++) {
        if (round > 0)
            learn_prior(s, parameters, g.shape);
        for (d = 0; d < D; d++) {
            real variance;

            describe(s, d, &parameters[d], &variance);
            if (round == 0)
                parameters[D + 2 + d] = g.share * g.shape * variance;
        }
        for (d = 0; d < D; d++)
            if (!(parameters[D + 2 + d] >= LEAST_VARIANCE))
                parameters[D + 2 + d] = LEAST_VARIANCE;
            else if (parameters[D + 2 + d] > MOST_VARIANCE)
                parameters[D + 2 + d] = MOST_VARIANCE;
        parameters[D] = EMPIRICAL_POINTS / (real)WARMUP(s);
        parameters[D + 1] = g.shape;
        error = stream_set_prior(s, parameters);
        if (error != MAPDPM_OK)
            return error;
        clear_all(s);
        cluster(s);
    }
    return MAPDPM_OK;
}

/* Fit with a first guess and a shape; keeps what has the higher log joint. */
static int attempt(mapdpm_stream *s, guess try, guess *best, real *most)
{
    const int error = fit(s, try);
    const real joint = error == MAPDPM_OK ? log_joint(s) : 0;

    if (error == MAPDPM_OK && (best->share == 0 || joint > *most)) {
        *most = joint;
        *best = try;
    }
    return error;
}

int stream_hand_over(mapdpm_stream *s)
{
    static const real shares[] = {(real)1, (real)0.1, (real)0.01, (real)0.001}, shapes[] = {2, 4, 8};
    guess best = {0, 0}, try = {0, 1};
    real most = 0;
    size_t i;
    int error = MAPDPM_OK;

    for (i = 0; i < sizeof shares / sizeof *shares && error == MAPDPM_OK; i++) {
        try.share = shares[i];
        error = attempt(s, try, &best, &most);
    }
    try = best;
    for (i = 0; i < sizeof shapes / sizeof *shapes && error == MAPDPM_OK && (i == 0 || best.shape == try.shape); i++) {
        try.shape = shapes[i];
        error = attempt(s, try, &best, &most);
    }
    if (error == MAPDPM_OK)
        error = fit(s, best);
    if (error != MAPDPM_OK)
        return error;
    adopt(s);
    s->warming = 0;
    return MAPDPM_OK;
}
