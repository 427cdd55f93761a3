/* The end of the warm-up: cluster the kept points, and set the prior by the variance within clusters.
 *
 * Bounded: rounds x (sweeps x warm-up x K + K^3) x D steps, once in a learner's life.
 */
#include "mapdpm_learner.h"

enum { ROUNDS = 2, SWEEPS = 10, STARTS = 3 };

/* The bit in the label of a point that marks the second half, while its cluster is being divided. */
#define SECOND_HALF UINT32_C(0x80000000)

/* The first guess: the share of the total variance that lies within clusters, and a0. */
typedef struct {
    md_real share;
    md_real shape;
} prior_guess;

static const md_real *point(const mapdpm_stream *s, size_t i) { return points_of(s) + i * MD_FEATURES(s); }

/* The mean and the variance of a feature over the warm-up. They start from the first value, so that an offset costs no
 * digits. A constant feature has no scale and gets variance 1. */
static void mean_and_variance(const mapdpm_stream *s, size_t d, md_real *mean, md_real *variance)
{
    md_real first = 0, sum = 0, squares = 0, n = 0;
    size_t i;

    for (i = 0; i < MD_WARMUP(s); i++) {
        const md_real x = point(s, i)[d];

        if (!is_present(x))
            continue;
        if (n == 0)
            first = x;
        n += 1;
        sum += x - first;
    }
    *mean = n > 0 ? sum / n : 0;
    for (i = 0; i < MD_WARMUP(s); i++)
        if (is_present(point(s, i)[d])) {
            const md_real t = (point(s, i)[d] - first) - *mean;

            squares += t * t;
        }
    *mean += first;
    *variance = n > 0 ? squares / n : 0;
    if (!(*variance > LEAST_VARIANCE))
        *variance = 1;
}

static void add_warmup_point(mapdpm_stream *s, size_t i, uint32_t k, md_real weight)
{
    moments_add(s, slot_of(s, k), half_size(s), point(s, i), weight);
    stream_refresh(s, k);
}

/* Put point i where it belongs: into a free slot if it opens a cluster and a slot is free. */
static void assign(mapdpm_stream *s, size_t i)
{
    const choice c = stream_choose(s, point(s, i), 0);
    uint32_t k = c.best;

    if (c.opens && s->n_clusters < MD_SLOTS(s)) {
        k = stream_free_slot(s);
        stream_open_slot(s, k);
    }
    add_warmup_point(s, i, k, 1);
    warmup_labels_of(s)[i] = k;
}

static void remove_warmup_point(mapdpm_stream *s, size_t i)
{
    const uint32_t k = warmup_labels_of(s)[i];

    if (*slot_of(s, k) > (md_real)1.5) {
        add_warmup_point(s, i, k, -1);
    } else {
        stream_clear_slot(s, k);
        s->n_clusters--;
    }
}

/* The pair whose merge raises the log joint most. Returns whether there is one. */
static int best_pair(const mapdpm_stream *s, uint32_t *to, uint32_t *from)
{
    md_real most = 0;
    uint32_t a, b;
    int found = 0;

    for (a = 0; a < s->width; a++)
        for (b = a + 1; b < s->width; b++)
            if (is_used(s, a) && is_used(s, b)) {
                const md_real gain = merge_gain(s, view_of(s, a, s->now), view_of(s, b, s->now));

                if (gain > most) {
                    most = gain;
                    *to = a;
                    *from = b;
                    found = 1;
                }
            }
    return found;
}

/* Merge the pair whose merge raises the log joint most. Returns whether there was one. */
static int merge_best(mapdpm_stream *s)
{
    uint32_t to, from;
    size_t i;

    if (!best_pair(s, &to, &from))
        return 0;
    moments_merge(s, slot_of(s, to), slot_of(s, from), half_size(s));
    stream_clear_slot(s, from);
    s->n_clusters--;
    stream_refresh(s, to);
    for (i = 0; i < MD_WARMUP(s); i++)
        if (warmup_labels_of(s)[i] == from)
            warmup_labels_of(s)[i] = to;
    return 1;
}

/* Divide the members of slot k between its halves again, by the nearer mean in units of the variance within halves.
 * Returns whether any moved. */
static int reassign_halves(mapdpm_stream *s, uint32_t k)
{
    uint32_t *const labels = warmup_labels_of(s);
    const md_real *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1), *const slot = slot_of(s, k);
    size_t i;
    int moved = 0;

    for (i = 0; i < MD_WARMUP(s); i++) {
        uint32_t side;

        if ((labels[i] & ~SECOND_HALF) != k)
            continue;
        side = is_nearer_to_second(s, slot, h0, h1, point(s, i)) ? SECOND_HALF : 0;
        moved |= side != (labels[i] & SECOND_HALF);
        labels[i] = k | side;
    }
    return moved;
}

static void rebuild_halves(mapdpm_stream *s, uint32_t k)
{
    size_t i;

    memset(half_of(s, k, 0), 0, 2 * half_size(s) * sizeof(md_real));
    for (i = 0; i < MD_WARMUP(s); i++)
        if ((warmup_labels_of(s)[i] & ~SECOND_HALF) == k)
            moments_add(s, half_of(s, k, warmup_labels_of(s)[i] & SECOND_HALF ? 1 : 0), 0, point(s, i), 1);
}

/* A first division: by the side of the mean in the widest feature, in units of the prior, after the `skip` widest
 * ones. */
static void halve_by_feature(mapdpm_stream *s, uint32_t k, size_t skip)
{
    const size_t D = MD_FEATURES(s);
    const md_real *const mean = mean_in(s, slot_of(s, k)), *const squares = squares_in(s, slot_of(s, k));
    md_real before = -1;
    size_t i, d, widest = 0, round;

    for (round = 0; round <= skip; round++) {
        md_real most = -1;

        for (d = 0; d < D; d++) {
            const md_real width = squares[d] / noise_scale_of(s)[d];

            if (width > most && (before < 0 || width < before)) {
                most = width;
                widest = d;
            }
        }
        before = most;
    }
    for (i = 0; i < MD_WARMUP(s); i++)
        if ((warmup_labels_of(s)[i] & ~SECOND_HALF) == k)
            warmup_labels_of(s)[i] = k | (coordinate(s, point(s, i), widest) > mean[widest] ? SECOND_HALF : 0);
}

/* Split slot k if that raises the log joint. Returns whether it did. */
static int try_divide(mapdpm_stream *s, uint32_t k)
{
    uint32_t *const labels = warmup_labels_of(s), e;
    size_t i, start;
    int step;

    for (start = 0; start < STARTS && start < MD_FEATURES(s); start++) {
        halve_by_feature(s, k, start);
        rebuild_halves(s, k);
        for (step = 0; step < SWEEPS && *half_of(s, k, 0) > 0 && *half_of(s, k, 1) > 0 && reassign_halves(s, k); step++)
            rebuild_halves(s, k);
        if (*half_of(s, k, 0) > 0 && *half_of(s, k, 1) > 0 &&
            -merge_gain(s, half_view(s, k, 0), half_view(s, k, 1)) > 0)
            break;
    }
    if (start == STARTS || start == MD_FEATURES(s)) {
        for (i = 0; i < MD_WARMUP(s); i++)
            labels[i] &= ~SECOND_HALF;
        return 0;
    }
    e = stream_free_slot(s);
    stream_open_slot(s, e);
    for (i = 0; i < MD_WARMUP(s); i++)
        if (labels[i] == (k | SECOND_HALF)) {
            add_warmup_point(s, i, k, -1);
            add_warmup_point(s, i, e, 1);
            labels[i] = e;
        }
    memset(half_of(s, k, 0), 0, 2 * half_size(s) * sizeof(md_real));
    return 1;
}

/* MAP-DPM on the kept points: a sequential start, then sweeps until no point moves, merges and splits, in turn. */
static void cluster_warmup(mapdpm_stream *s)
{
    uint32_t k;
    size_t i;
    int sweep, round, moved, changed = 1;

    for (i = 0; i < MD_WARMUP(s); i++)
        assign(s, i);
    for (round = 0; round < SWEEPS && changed; round++) {
        for (sweep = 0, moved = 1; sweep < SWEEPS && moved; sweep++) {
            moved = 0;
            for (i = 0; i < MD_WARMUP(s); i++) {
                const uint32_t before = warmup_labels_of(s)[i];

                remove_warmup_point(s, i);
                assign(s, i);
                moved |= warmup_labels_of(s)[i] != before;
            }
        }
        changed = 0;
        while (merge_best(s))
            changed = 1;
        for (k = 0; k < MD_SLOTS(s) && s->n_clusters < MD_SLOTS(s); k++)
            if (is_used(s, k) && *slot_of(s, k) >= 2)
                changed |= try_divide(s, k);
    }
}

static void clear_all(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        stream_clear_slot(s, k);
    s->n_clusters = 0;
}

/* b0 from the pooled variance within the clusters found, so that the guess has no influence. */
static void learn_prior(mapdpm_stream *s, md_real *parameters, md_real a0)
{
    const size_t D = MD_FEATURES(s);
    size_t d;
    uint32_t k;

    for (d = 0; d < D; d++) {
        md_real squares = 0, n = 0, mean, variance;

        for (k = 0; k < MD_SLOTS(s); k++)
            if (is_used(s, k)) {
                const md_real points = counts_in(s, slot_of(s, k))[d * count_step(s)];

                squares += squares_in(s, slot_of(s, k))[d] / unit_of(s)[d] / unit_of(s)[d];
                n += points > 1 ? points - 1 : 0;
            }
        mean_and_variance(s, d, &mean, &variance);
        squares = n > 0 ? squares / n : variance;
        parameters[D + 2 + d] = a0 * (squares > LEAST_SHARE * variance ? squares : LEAST_SHARE * variance);
    }
}

/* Make clusters with ids in order of appearance, and weights as if each point had been learned when it came. */
static void create_clusters(mapdpm_stream *s)
{
    uint32_t *const labels = warmup_labels_of(s);
    uint32_t k;
    size_t i;

    for (k = 0; k < MD_SLOTS(s); k++)
        ids_of(s)[k] = MD_NONE;
    clear_all(s);
    for (i = 0; i < MD_WARMUP(s); i++) {
        const md_real age = to_real((uint64_t)(s->now - times_of(s)[i]));
        const md_real weight = FORGETS(s) ? math_exp(-age * s->rate) : 1;

        k = labels[i];
        if (!(weight > 0)) { /* forgotten before the warm-up ended */
            labels[i] = MD_NONE;
            continue;
        }
        if (ids_of(s)[k] == MD_NONE) {
            stream_open_slot(s, k);
            ids_of(s)[k] = s->next_id++;
            stream_record(s, MAPDPM_CREATED, ids_of(s)[k], 0);
        }
        add_warmup_point(s, i, k, weight);
        if (HAS_SURPRISE(s))
            standing_of(s)[k]++;
        if (HAS_GROUPS(s))
            groups_add(s, k, point_rows_of(s)[i], weight);
        labels[i] = ids_of(s)[k];
        last_times_of(s)[k] = s->now;
        last_seen_of(s)[k] = (uint32_t)(i + 1);
    }
    for (k = 0; HAS_BASE(s) && k < s->width; k++)
        base_none(s, k);
    if (HAS_SURPRISE(s))
        surprise_judge_all(s);
    if (HAS_GROUPS(s))
        groups_settle(s);
    if (HAS_STATES(s))
        states_begin(s);
}

/* The log joint of the kept points and their clusters, in the user's units. */
static md_real log_joint(const mapdpm_stream *s)
{
    const md_real prior_term = log_prior(s);
    md_real total = (md_real)MD_WARMUP(s) * s->log_units, unused;
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++)
        if (is_used(s, k))
            total += log_joint_term(s, view_of(s, k, s->now), prior_term, &unused) + s->log_alpha;
    return total;
}

/* Cluster the kept points with a guess of the variance within clusters, then with the variance found. */
static int fit(mapdpm_stream *s, prior_guess g)
{
    const size_t D = MD_FEATURES(s);
    md_real *const parameters = half_of(s, 0, 0); /* memory that a warm-up does not use */
    size_t d;
    int round, error;

    for (round = 0; round <= ROUNDS; round++) {
        if (round > 0)
            learn_prior(s, parameters, g.shape);
        for (d = 0; d < D; d++) {
            md_real variance;

            mean_and_variance(s, d, &parameters[d], &variance);
            if (round == 0)
                parameters[D + 2 + d] = g.share * g.shape * variance;
        }
        for (d = 0; d < D; d++)
            if (!(parameters[D + 2 + d] >= LEAST_VARIANCE))
                parameters[D + 2 + d] = LEAST_VARIANCE;
            else if (parameters[D + 2 + d] > MOST_VARIANCE)
                parameters[D + 2 + d] = MOST_VARIANCE;
        parameters[D] = EMPIRICAL_POINTS / (md_real)MD_WARMUP(s);
        parameters[D + 1] = g.shape;
        error = stream_set_prior(s, parameters);
        if (error != MAPDPM_OK)
            return error;
        clear_all(s);
        cluster_warmup(s);
    }
    return MAPDPM_OK;
}

/* Fit with a guess and a shape; keep the fit with the higher log joint. */
static int try_guess(mapdpm_stream *s, prior_guess guess, prior_guess *best, md_real *most)
{
    const int error = fit(s, guess);
    const md_real joint = error == MAPDPM_OK ? log_joint(s) : 0;

    if (error == MAPDPM_OK && (best->share == 0 || joint > *most)) {
        *most = joint;
        *best = guess;
    }
    return error;
}

int stream_end_warmup(mapdpm_stream *s)
{
    static const md_real shares[] = {(md_real)1, (md_real)0.1, (md_real)0.01, (md_real)0.001}, shapes[] = {2, 4, 8};
    prior_guess best = {0, 0}, guess = {0, 1};
    md_real most = 0;
    size_t i;
    int error = MAPDPM_OK;

    for (i = 0; i < sizeof shares / sizeof *shares && error == MAPDPM_OK; i++) {
        guess.share = shares[i];
        error = try_guess(s, guess, &best, &most);
    }
    guess = best;
    for (i = 0; i < sizeof shapes / sizeof *shapes && error == MAPDPM_OK && (i == 0 || best.shape == guess.shape);
         i++) {
        guess.shape = shapes[i];
        error = try_guess(s, guess, &best, &most);
    }
    if (error == MAPDPM_OK)
        error = fit(s, best);
    if (error != MAPDPM_OK)
        return error;
    s->warming = 0; /* from here on, groups count */
    create_clusters(s);
    return MAPDPM_OK;
}
