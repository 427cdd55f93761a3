/* The end of the warm-up in small steps (decision 143): set the prior by the variance within clusters, cluster the
 * points (warmup.c), try the next guess; last, create the clusters of the best one.
 */
#include "stream/mapdpm_steps.h"

enum { ROUNDS = 2, N_SHARES = 4, N_SHAPES = 3, LAST_TRIAL = N_SHARES + N_SHAPES };

/* Beyond the steps of warmup.c, in the same field. */
enum { AT_PRIOR = 16, AT_CREATION = 17, AT_STEPS = 18 };

/* The mean and the variance of a feature over the warm-up. They start from the first value, so that an offset costs no
 * digits. A constant feature has no scale and gets variance 1. */
void warmup_spread(const mapdpm_stream *s, size_t d, md_real *mean, md_real *variance)
{
    md_real first = 0, sum = 0, squares = 0, n = 0;
    size_t i;

    for (i = 0; i < MD_WARMUP(s); i++) {
        const md_real x = warmup_point(s, i)[d];

        if (!is_present(x))
            continue;
        if (n == 0)
            first = x;
        n += 1;
        sum += x - first;
    }
    *mean = n > 0 ? sum / n : 0;
    for (i = 0; i < MD_WARMUP(s); i++)
        if (is_present(warmup_point(s, i)[d])) {
            const md_real t = (warmup_point(s, i)[d] - first) - *mean;

            squares += t * t;
        }
    *mean += first;
    *variance = n > 0 ? squares / n : 0;
    if (!(*variance > LEAST_VARIANCE))
        *variance = 1;
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
        warmup_spread(s, d, &mean, &variance);
        squares = n > 0 ? squares / n : variance;
        parameters[D + 2 + d] = a0 * (squares > LEAST_SHARE * variance ? squares : LEAST_SHARE * variance);
    }
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
    return HAS_RELEVANCE(s) ? total + relevance_joint(s) : total;
}

/* The prior of a round: a guess of the variance within clusters, then the variance found. */
static int set_prior(mapdpm_stream *s, const settling *z)
{
    const size_t D = MD_FEATURES(s);
    md_real *const parameters = half_of(s, 0, 0); /* memory that a warm-up does not use */
    size_t d;

    if (z->round > 0)
        learn_prior(s, parameters, z->shape);
    for (d = 0; d < D; d++) {
        md_real variance;

        warmup_spread(s, d, &parameters[d], &variance);
        if (z->round == 0)
            parameters[D + 2 + d] = z->share * z->shape * variance;
        if (HAS_RESOLUTION(s)) /* no cluster is narrower than a cell */
            parameters[D + 2 + d] =
                at_least(parameters[D + 2 + d], z->shape * (step_of(s, d) * step_of(s, d) / 12));
    }
    for (d = 0; d < D; d++)
        if (!(parameters[D + 2 + d] >= LEAST_VARIANCE))
            parameters[D + 2 + d] = LEAST_VARIANCE;
        else if (parameters[D + 2 + d] > MOST_VARIANCE)
            parameters[D + 2 + d] = MOST_VARIANCE;
    parameters[D] = EMPIRICAL_POINTS / (md_real)MD_WARMUP(s);
    parameters[D + 1] = z->shape;
    return stream_set_prior(s, parameters);
}

/* Begin trial z->trial: a share of the variance, then a shape with the best share, last the best of both. The shapes end
 * with the first that is no better. */
static void begin_trial(settling *z)
{
    static const md_real shares[N_SHARES] = {(md_real)1, (md_real)0.1, (md_real)0.01, (md_real)0.001};
    static const md_real shapes[N_SHAPES] = {2, 4, 8};

    if (z->trial > N_SHARES && z->best_shape != z->shape)
        z->trial = LAST_TRIAL;
    z->shape = z->trial < N_SHARES ? 1 : z->best_shape;
    z->share = z->trial < N_SHARES ? shares[z->trial] : z->best_share;
    if (z->trial >= N_SHARES && z->trial < LAST_TRIAL)
        z->shape = shapes[z->trial - N_SHARES];
    z->round = 0;
    z->step = AT_PRIOR;
}

/* A round is over: begin the next, or the next trial, or create the clusters. */
static void end_round(mapdpm_stream *s, settling *z)
{
    uint32_t k;

    z->round++;
    z->step = AT_PRIOR;
    if (z->round <= ROUNDS)
        return;
    if (z->trial < LAST_TRIAL) {
        const md_real joint = log_joint(s);

        if (z->trial == 0 || joint > z->most) {
            z->most = joint;
            z->best_share = z->share;
            z->best_shape = z->shape;
        }
        z->trial++;
        begin_trial(z);
        return;
    }
    if (HAS_RELEVANCE(s) && (md_real)MD_WARMUP(s) >= LEAST_KNOWN && relevance_next(s, z, log_joint(s))) {
        z->trial = relevance_is_chosen(z) ? LAST_TRIAL : 0;
        begin_trial(z);
        return;
    }
    for (k = 0; k < MD_SLOTS(s); k++)
        ids_of(s)[k] = MD_NONE;
    clear_all(s);
    z->i = 0;
    z->step = AT_CREATION;
}

/* Put a point into its cluster for good. Clusters get ids in order of appearance, and weights as if each point had been
 * learned when it came. */
static void create(mapdpm_stream *s, size_t i)
{
    uint32_t *const label = warmup_labels_of(s) + i;
    const uint32_t k = *label;
    const md_real age = to_real((uint64_t)(s->now - times_of(s)[i]));
    const md_real weight = FORGETS(s) ? math_exp(-age * s->rate) : 1;

    if (!(weight > 0)) { /* forgotten before the warm-up ended */
        *label = MD_NONE;
        return;
    }
    if (ids_of(s)[k] == MD_NONE) {
        stream_open_slot(s, k);
        ids_of(s)[k] = s->next_id++;
        stream_record(s, MAPDPM_CREATED, ids_of(s)[k], 0);
    }
    warmup_add_point(s, i, k, weight);
    if (HAS_RELEVANCE(s))
        moments_add(s, background_of(s), half_size(s), warmup_point(s, i), weight);
    if (HAS_SURPRISE(s))
        standing_of(s)[k]++;
    if (HAS_GROUPS(s))
        groups_add(s, k, point_rows_of(s)[i], weight);
    *label = ids_of(s)[k];
    last_times_of(s)[k] = s->now;
    last_seen_of(s)[k] = (uint32_t)(i + 1);
}

/* All clusters are there. */
static void begin_learning(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; HAS_BASE(s) && k < s->width; k++)
        base_none(s, k);
    if (HAS_SURPRISE(s))
        surprise_judge_all(s);
    if (HAS_GROUPS(s))
        groups_settle(s);
    if (HAS_STATES(s))
        states_begin(s);
}

void settle_begin(settling *z)
{
    memset(z, 0, sizeof *z);
    z->worth = -LARGEST_REAL;
    z->step = AT_STEPS;
}

int settle_step(mapdpm_stream *s, settling *z)
{
    int error;

    if (z->step == AT_STEPS) {
        if (HAS_RESOLUTION(s) && s->resolution == STEPS_FOUND && z->i < MD_FEATURES(s)) {
            resolution_find(s, z->i++);
            return 1;
        }
        begin_trial(z);
    }
    if (z->step == AT_PRIOR) {
        error = set_prior(s, z);
        if (error != MAPDPM_OK)
            return error;
        clear_all(s);
        warmup_begin(z);
        return 1;
    }
    if (z->step != AT_CREATION) {
        if (!warmup_step(s, z))
            end_round(s, z);
        return 1;
    }
    s->warming = 0; /* the steps that learning takes, too */
    create(s, z->i);
    z->i++;
    if (z->i == MD_WARMUP(s)) {
        begin_learning(s);
        return 0;
    }
    s->warming = 1;
    return 1;
}
