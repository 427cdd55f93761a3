/* A learner of states in time: sizes, rows, beliefs, what waits, snapshots, and all that may befall a state. The
 * arithmetic is compared with sums over states by Python (tests/stream/test_hdp_hmm.py). */
#include "files.h"
#include "stream/mapdpm_steps.h"

enum { LAG = 3, ROOM = 3 * LAG };

static mapdpm_options timed(int32_t family, uint32_t max_clusters)
{
    mapdpm_options o = options_of(family, max_clusters);

    o.lag = LAG;
    o.gamma = 2;
    return o;
}

static mapdpm_options timed_warming(uint32_t max_clusters, uint32_t warmup)
{
    mapdpm_options o = warming(max_clusters, warmup);

    o.lag = LAG;
    o.gamma = 1;
    return o;
}

/* The next point of a machine that stays in its state nine times in ten. */
static void step(uint64_t *state, unsigned *z, unsigned n_states, double apart, md_real *x)
{
    if ((check_random(state) >> 40) % 10 == 0)
        *z = (unsigned)(check_random(state) >> 40) % n_states;
    draw_near(state, *z, apart, x);
}

static int learn_some(mapdpm_stream *s, unsigned n, unsigned n_states, double apart, uint64_t *state)
{
    unsigned i, z = 0;
    md_real x[3];
    int error = MAPDPM_OK;

    for (i = 0; i < n && error == MAPDPM_OK; i++) {
        step(state, &z, n_states, apart, x);
        error = mapdpm_learn(s, x, NULL, NULL);
    }
    return error;
}

/* All of the memory is the same, but for the scratch in which a prediction and a smoother compute. */
static int is_same_learner(const memory *a, const memory *b)
{
    const mapdpm_stream *const s = &a->stream;
    const size_t scratch = (size_t)((unsigned char *)state_scores(s) - a->bytes),
                 steps = (size_t)((unsigned char *)steps_from(s, 0) - a->bytes),
                 block = (size_t)((unsigned char *)block_of(s) - a->bytes);

    return memcmp(a, b, scratch) == 0 && memcmp(a->bytes + steps, b->bytes + steps, block - steps) == 0;
}

static double sum_of(const md_real *values, size_t n)
{
    double total = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        CHECK(values[i] >= 0 && (double)values[i] < 1e30); /* not NaN either */
        total += (double)values[i];
    }
    return total;
}

/* Rows of transitions are probabilities, and so are beliefs; the tables are those of states that are there. */
static void check_whole(const mapdpm_stream *s)
{
    static md_real steps[(K_MOST + 1) * (K_MOST + 1)];
    const uint32_t K = s->max_clusters;
    md_real belief[K_MOST];
    double all = (double)*share_gamma(s);
    uint32_t v, k;

    CHECK(mapdpm_get_transitions(s, steps) == MAPDPM_OK && mapdpm_get_belief(s, belief) == MAPDPM_OK);
    for (v = 0; v <= K; v++) {
        const int is_there = v == K || is_used(s, v);

        CHECK_NEAR(sum_of(steps + v * (K + 1), K + 1), is_there, 16 * (K + 8) * EPS);
        for (k = 0; k < K; k++)
            CHECK(is_there && is_used(s, k) ? steps[v * (K + 1) + k] > 0 : steps[v * (K + 1) + k] == 0);
        CHECK(!is_there || steps[v * (K + 1) + K] > 0);
    }
    for (k = 0; k < K; k++) {
        CHECK(is_used(s, k) ? state_tables(s)[k] > 0 : state_tables(s)[k] <= 0 && belief[k] <= 0);
        all += (double)state_tables(s)[k];
    }
    CHECK(*state_total(s) >= *share_gamma(s));
    CHECK_NEAR(*state_total(s), all, 8 * K * EPS * all);
    CHECK_NEAR(sum_of(belief, K), *state_id_of(s) != MD_NONE, 16 * (K + 8) * EPS);
    for (v = 0; v < *n_waiting_of(s); v++)
        CHECK_NEAR(sum_of(waiting_belief(s, v), K), 1, 1e-3); /* states of no belief may go */
    CHECK(*n_waiting_of(s) < waiting_room(s));
    CHECK(*last_slot_of(s) == MD_NONE || is_used(s, *last_slot_of(s)));
    CHECK(*last_slot_of(s) == MD_NONE || *last_half_of(s) == MD_NONE ||
          *half_of(s, *last_slot_of(s), *last_half_of(s)) > 0);
    (void)sum_of(counts_from(s, 0), (size_t)(waiting_belief(s, 0) - counts_from(s, 0)));
    (void)total_weight(s);
}

/* ---- sizes and arguments ----------------------------------------------------------------------------------------- */

static void static_memory_is_enough(void)
{
    static const uint32_t lags[] = {1, 2, 7, 64}, slots[] = {1, 2, 5, 8, 32};
    unsigned i, j, d;

    for (i = 0; i < 4; i++)
        for (j = 0; j < 5; j++)
            for (d = 1; d <= D_MOST; d++) {
                mapdpm_options o = timed(MAPDPM_NORMAL_KNOWN_VARIANCE, slots[j]);
                const size_t more = MAPDPM_TIME_BYTES(d, slots[j], lags[i]);

                o.lag = lags[i];
                o.n_features = d;
                CHECK(mapdpm_stream_bytes(&o) == MAPDPM_STATE_BYTES(d, slots[j]) + more);
            }
}

static void refuses_what_it_cannot_do(void)
{
    const mapdpm_options right = timed(MAPDPM_NORMAL_GAMMA, 4);
    const md_real nan = (md_real)NAN;
    mapdpm_options o = right;
    mapdpm_cluster cluster;
    mapdpm_stream *s, *flat;
    md_real mean[3] = {0, 0, 0}, variance[3] = {1, 1, 1}, room[25];
    uint32_t ids[1] = {0}, length;
    size_t moved, n;

#define WRONG(field, value) CHECK_WITH(o.field, value, is_refused(&o))
    WRONG(lag, LARGEST_LAG + 1);
    CHECK_WITH(o.lag, LARGEST_LAG + 1, mapdpm_stream_bytes(&o) == 0);
    WRONG(lag, UINT32_MAX);
    WRONG(window, 3);
    WRONG(max_groups, 2);
    WRONG(kappa, -1);
    WRONG(kappa, nan);
    WRONG(kappa, (md_real)INFINITY);
    WRONG(gamma, 0);
    WRONG(gamma, nan);
    o.alpha = 0;
    WRONG(log_alpha, -100);
    o.alpha = right.alpha;
    CHECK_WITH(o.max_clusters, LARGEST_COUNT, mapdpm_stream_bytes(&o) == 0); /* its square overflows */
    CHECK(mapdpm_init(&first.stream, mapdpm_stream_bytes(&right) - 1, &right) == MAPDPM_E_SPACE);

    s = begin(&first, &right);
    o = options_of(MAPDPM_NORMAL_GAMMA, 4);
    flat = begin(&second, &o);
    CHECK(mapdpm_learn(flat, mean, NULL, NULL) == MAPDPM_OK && mapdpm_learn(s, mean, NULL, NULL) == MAPDPM_OK);
    CHECK(mapdpm_gap(NULL) == MAPDPM_E_ARGUMENT && mapdpm_gap(flat) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_get_belief(NULL, room) == MAPDPM_E_ARGUMENT && mapdpm_get_belief(s, NULL) == MAPDPM_E_ARGUMENT &&
          mapdpm_get_belief(flat, room) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_get_transitions(NULL, room) == MAPDPM_E_ARGUMENT &&
          mapdpm_get_transitions(s, NULL) == MAPDPM_E_ARGUMENT &&
          mapdpm_get_transitions(flat, room) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_get_run(NULL, &length) == MAPDPM_E_ARGUMENT && mapdpm_get_run(s, NULL) == MAPDPM_E_ARGUMENT &&
          mapdpm_get_run(flat, &length) == MAPDPM_E_ARGUMENT);
    memset(&cluster, 0, sizeof cluster);
    cluster.weight = 1;
    n = save(s, again);
    CHECK_REFUSED(mapdpm_insert(s, &cluster, mean, variance));
    CHECK(mapdpm_pool(s, flat) == MAPDPM_E_ARGUMENT && mapdpm_reduce(s, 2) == MAPDPM_E_ARGUMENT);
    CHECK_REFUSED(mapdpm_resweep(s, mean, NULL, ids, 1, &moved));
    CHECK(mapdpm_set_group(s, 1) == MAPDPM_E_ARGUMENT && mapdpm_get_shares(s, room) == MAPDPM_E_ARGUMENT);
    CHECK_OK(mapdpm_summary_write(flat, sizeof(md_real), file, sizeof file, &moved));
    CHECK(mapdpm_pool_summary(s, file, moved) == MAPDPM_E_ARGUMENT &&
          mapdpm_set_base(s, file, moved) == MAPDPM_E_ARGUMENT);
    CHECK(save(s, file) == n && memcmp(file, again, n) == 0);
    CHECK(mapdpm_pool(flat, s) == MAPDPM_OK && flat->n_clusters == 2); /* its states are clusters to others */
}

/* Options come back from a learner and from its file. */
static void the_kind_of_file(void)
{
    mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, 4), back;
    mapdpm_stream *s;
    mapdpm_model model;
    size_t n;

    o.kappa = (md_real)2.5;
    s = begin(&first, &o);
    n = save(s, file);
    CHECK(file[6] == STREAM_OF_STATES && mapdpm_model_shape(file, n, &model) == MAPDPM_E_KIND);
    CHECK(mapdpm_snapshot_options(file, n, &back) == MAPDPM_OK && back.lag == LAG && back.gamma == o.gamma &&
          back.kappa == o.kappa && back.max_groups == 0);
    CHECK(mapdpm_get_options(s, &back) == MAPDPM_OK && back.lag == LAG && back.gamma == o.gamma &&
          back.kappa == o.kappa);
    CHECK(mapdpm_snapshot_read(&second.stream, s->bytes - 1, file, n) == MAPDPM_E_SPACE);
    o.lag = 0;
    n = save(begin(&first, &o), file);
    CHECK(file[6] == MD_STREAM && n < mapdpm_snapshot_bytes(&second.stream) + MD_MEMORY);
}

/* ---- what holds on the way --------------------------------------------------------------------------------------- */

/* One learner gets its points one by one. Another is saved and restored before each of them, so with any number of
 * points that wait. A third one gets them all at once. Returns the numbers of points that waited, each a bit. */
static unsigned goes_on_from_a_file_at_every_point(mapdpm_options o, unsigned n_states, double apart)
{
    enum { POINTS = 700 };
    static memory third;
    static md_real x[POINTS * 3];
    static uint32_t ids[POINTS];
    static md_real scores[POINTS];
    mapdpm_stream *const s = begin(&first, &o), *const t = begin(&second, &o), *const u = begin(&third, &o);
    uint64_t state = 99;
    uint32_t id;
    unsigned i, z = 0, waits = 0;
    md_real score;
    size_t n, done;

    for (i = 0; i < POINTS; i++) {
        step(&state, &z, n_states, apart, x + 3 * i);
        if (o.missing && i % 5 == 0)
            x[3 * i + i % 3] = (md_real)NAN;
    }
    for (i = 0; i < POINTS; i++) {
        n = save(t, again);
        waits |= 1u << *n_waiting_of(t);
        CHECK_OK(restore(&second, again, n));
        CHECK(mapdpm_learn(s, x + 3 * i, &ids[i], &scores[i]) == MAPDPM_OK &&
              mapdpm_learn(t, x + 3 * i, &id, &score) == MAPDPM_OK);
        CHECK(id == ids[i] && memcmp(&score, &scores[i], sizeof score) == 0);
        CHECK(have_same_file(s, t) && mapdpm_snapshot_bytes(s) == n);
        if (!s->warming)
            check_whole(s);
    }
    for (i = 0; i < POINTS; i += 50) {
        uint32_t some[50];
        md_real densities[50];

        CHECK(mapdpm_learn_many(u, x + 3 * i, NULL, 50, some, densities, &done) == MAPDPM_OK && done == 50);
        CHECK(memcmp(some, ids + i, sizeof some) == 0 && memcmp(densities, scores + i, sizeof densities) == 0);
    }
    CHECK(is_same_learner(&first, &third));
    CHECK(mapdpm_gap(s) == MAPDPM_OK && mapdpm_gap(t) == MAPDPM_OK);
    CHECK(have_same_file(s, t));
    return waits;
}

static void files(void)
{
    mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, 6);

    CHECK(goes_on_from_a_file_at_every_point(o, 4, 9) == (1u << ROOM) - 1); /* each number that can wait */
    (void)goes_on_from_a_file_at_every_point(o, 4, 1);
    o.kappa = 5;
    o.half_life = 60;
    (void)goes_on_from_a_file_at_every_point(o, 5, 3);
    o.missing = WITH_MISSING;
    (void)goes_on_from_a_file_at_every_point(o, 5, 3);
    o.half_life = 0;
    (void)goes_on_from_a_file_at_every_point(o, 5, 3);
    (void)goes_on_from_a_file_at_every_point(timed(MAPDPM_NORMAL_KNOWN_VARIANCE, 9), 5, 4);
    o = timed_warming(6, 40);
    (void)goes_on_from_a_file_at_every_point(o, 4, 9);
    o.half_life = 50;
    o.missing = WITH_MISSING;
    (void)goes_on_from_a_file_at_every_point(o, 3, 4);
}

/* Every policy, with too few slots for the states. */
static void few_slots(void)
{
    uint32_t K, policy;
    double apart;

    for (K = 1; K <= 3; K++)
        for (policy = MAPDPM_FULL_LEAST_LOSS; policy <= MAPDPM_FULL_REFUSE; policy++)
            for (apart = 1; apart < 100; apart *= PART ? 64 : 8) {
                mapdpm_options o = timed(policy % 2 ? MAPDPM_NORMAL_GAMMA : MAPDPM_NORMAL_KNOWN_VARIANCE, K);
                mapdpm_stream *s;
                uint64_t state = 5 + K;
                unsigned round;

                o.when_full = policy;
                (void)goes_on_from_a_file_at_every_point(o, 5, apart);
                o.half_life = 40;
                s = begin(&first, &o);
                for (round = 0; round < 100; round++) {
                    CHECK_OK(learn_some(s, 7, 5, apart, &state));
                    check_whole(s);
                }
                CHECK_OK(mapdpm_gap(s));
                check_whole(s);
            }
}

/* A point that is far from all states and may not open one joins the nearest. What is believed stays known, although
 * a new state would be more probable by more than a real can say. */
static void an_outlier_without_a_slot(void)
{
    static const double centres[2][3] = {{0, 1, 4}, {3, 6, 11}};
    const md_real away[3] = {(md_real)101.5, (md_real)-26.5, (md_real)7.5}; /* as far from one as from the other */
    mapdpm_options o = timed(MAPDPM_NORMAL_KNOWN_VARIANCE, 2);
    const md_real far[3] = {3000, 3000, 3000};
    mapdpm_stream *s;
    uint64_t state = 1;
    md_real score = 0, known, x[3], belief[2];
    unsigned i, d;
    uint32_t id;

    o.when_full = MAPDPM_FULL_REFUSE;
    s = begin(&first, &o);
    CHECK(learn_some(s, 300, 2, 9, &state) == MAPDPM_OK && s->n_clusters == 2);
    CHECK(mapdpm_predict(s, far, &id, &known) == MAPDPM_OK && mapdpm_learn(s, far, &id, &score) == MAPDPM_OK);
    CHECK(is_present(score));
    check_whole(s);
    CHECK(*state_id_of(s) == id);
    CHECK(mapdpm_predict(s, far, NULL, &score) == MAPDPM_OK && (double)score > -1e6);
    CHECK_OK(learn_some(s, 40, 2, 9, &state));
    check_whole(s);

    s = begin(&first, &o);
    for (i = 0; i < 400; i++) {
        for (d = 0; d < 3; d++)
            x[d] = (md_real)centres[i / 10 % 2][d];
        CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
    }
    CHECK(mapdpm_learn(s, away, &id, &score) == MAPDPM_OK && s->n_clusters == 2);
    CHECK(mapdpm_get_belief(s, belief) == MAPDPM_OK && (double)belief[0] > 0.02 && (double)belief[1] > 0.5);
}

/* Points in a row without a value go to the half that is nearer in the features that they have. */
static void halves_of_missing_values(void)
{
    static const double centres[2][3] = {{-5, 20, 0}, {5, 0, 0}};
    mapdpm_options o = timed(MAPDPM_NORMAL_KNOWN_VARIANCE, 1);
    mapdpm_stream *s;
    unsigned i, h, d;

    o.when_full = MAPDPM_FULL_REFUSE;
    o.missing = 1;
    for (i = 0; i < 2; i++) {
        md_real x[3] = {1, -2, 3}; /* the prior mean */

        s = begin(&first, &o);
        CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
        for (h = 0; h < 2; h++) {
            md_real *const half = half_of(s, 0, h);

            *half = 10;
            for (d = 0; d < 3; d++) {
                counts_in(s, half)[d] = squares_in(s, half)[d] = 10;
                mean_in(s, half)[d] = (md_real)centres[h][d];
            }
        }
        x[0] = 1 + (md_real)centres[i][0] / unit_of(s)[0];
        x[1] = x[2] = (md_real)NAN;
        CHECK(mapdpm_learn(s, x, NULL, NULL) == MAPDPM_OK && mapdpm_gap(s) == MAPDPM_OK);
        CHECK_NEAR(*half_of(s, 0, i), 11, EPS);
        CHECK_NEAR(*half_of(s, 0, 1 - i), 10, EPS);
    }
}

static uint32_t waiting(const mapdpm_stream *s)
{
    return *n_waiting_of(s);
}

/* No point is lost, as none is removed. */
static void gaps(double apart)
{
    mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, 6), warm = timed_warming(6, 40);
    mapdpm_stream *s;
    md_real belief[6], score, mean[3];
    uint64_t state = 11;
    uint32_t length, round, i;

    o.when_full = MAPDPM_FULL_MERGE;
    s = begin(&first, &o);
    CHECK(mapdpm_gap(s) == MAPDPM_OK && mapdpm_get_run(s, &length) == MAPDPM_OK && length == 0);
    check_whole(s);
    for (round = 0; round < 200; round++) {
        CHECK_OK(learn_some(s, 20 + round % ROOM, 3, apart, &state));
        CHECK(mapdpm_get_run(s, &length) == MAPDPM_OK && length >= 1);
        CHECK_OK(mapdpm_gap(s));
        CHECK(waiting(s) == 0 && mapdpm_get_run(s, &length) == MAPDPM_OK && length == 0);
        CHECK_OK(mapdpm_get_belief(s, belief));
        for (i = 0; i < 6; i++)
            CHECK(belief[i] <= 0 && belief[i] >= 0);
        check_whole(s);
        CHECK_NEAR(total_weight(s), s->n_seen, 1e-6 * (double)s->n_seen);
        memcpy(&second, &first, s->bytes);
        CHECK(mapdpm_gap(s) == MAPDPM_OK && is_same_learner(&first, &second)); /* two are one */
    }
    CHECK_NEAR(sum_of(counts_from(s, 6), 6), 200, 1e-3); /* so many sequences have begun */
    CHECK(mapdpm_predict(s, memset(mean, 0, sizeof mean), NULL, &score) == MAPDPM_OK && is_present(score));

    s = begin(&first, &warm);
    for (i = 0; i < 40; i++) {
        memcpy(&second, &first, s->bytes);
        CHECK(mapdpm_gap(s) == MAPDPM_OK && is_same(&first, &second)); /* nothing happens during the warm-up */
        CHECK_OK(learn_some(s, 1, 3, 9, &state));
        CHECK_OK(restore(&second, file, save(s, file)));
    }
    CHECK(!s->warming);
    check_whole(s);
    CHECK_OK(mapdpm_gap(s));
    check_whole(s);
}

/* States that grow into each other become one, also while points of both wait to be learned. */
static void merges(void)
{
    mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, 6);
    mapdpm_event event;
    uint64_t state, round, e;
    unsigned i, d, merged = 0;
    md_real x[3];

    o.when_full = MAPDPM_FULL_MERGE;
    for (round = 1; round <= 60; round++) {
        mapdpm_stream *const s = begin(&first, &o);

        state = round;
        CHECK_OK(learn_some(s, 40, 4, 6, &state));
        for (i = 0; i < 150; i++) {
            for (d = 0; d < 3; d++)
                x[d] = (md_real)(25 + 40 * check_uniform(&state));
            CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
            check_whole(s);
        }
        CHECK_OK(mapdpm_gap(s));
        CHECK_NEAR(total_weight(s), s->n_seen, 1e-3);
        for (e = 0; e < s->n_events; e++)
            merged += mapdpm_get_event(s, e, &event) == MAPDPM_OK && event.kind == MAPDPM_MERGED;
    }
    CHECK(merged > 10);
}

static void check_total(const mapdpm_stream *s)
{
    double all = (double)*share_gamma(s);
    uint32_t k;

    for (k = 0; k < s->max_clusters; k++)
        all += (double)state_tables(s)[k];
    CHECK_NEAR(*state_total(s), all, 8 * EPS * all);
}

/* The total of tables is right when tables were counted, and when a state goes, even before transitions are computed
 * anew: a merge that follows depends on the shares. */
static void the_total_of_tables(void)
{
    const mapdpm_options o = timed(MAPDPM_NORMAL_KNOWN_VARIANCE, 6);
    mapdpm_stream *const s = begin(&first, &o);
    uint64_t state = 3;
    uint32_t k;

    CHECK(learn_some(s, 300, 4, 30, &state) == MAPDPM_OK && mapdpm_gap(s) == MAPDPM_OK && s->n_clusters == 4);
    *state_total(s) *= 2;
    states_recount(s);
    check_total(s);
    for (k = 0; k < 4; k++) {
        stream_remove(s, k, MAPDPM_EVICTED);
        check_total(s);
    }
    CHECK(*state_total(s) <= *share_gamma(s)); /* nothing is left */
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

/* A silence in which states are forgotten, while points wait. Those points count as much as others of their time. */
static void silences(void)
{
    static const int64_t seconds[] = {1, 300, 600, 1000, 2000, 10000, 1000000, INT64_C(1) << 41};
    unsigned i, waits;

    for (i = 0; i < 8; i++)
        for (waits = 0; waits < ROOM; waits++) {
            mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, 5);
            mapdpm_stream *s;
            uint64_t state = 3 + waits;
            int64_t now = -(INT64_C(1) << 45);
            unsigned j, z = 0;
            md_real x[3], score;
            double weight;

            o.half_life = 100;
            s = begin(&first, &o);
            for (j = 0; j < 200 || (waiting(s) != waits && j < 400); j++) {
                step(&state, &z, 2, 9, x);
                CHECK_OK(mapdpm_learn_at(s, x, now += 1000000, NULL, &score));
            }
            CHECK(waiting(s) == waits);
            weight = total_weight(s);
            now += seconds[i] * 1000000;
            if (i % 2)
                step(&state, &z, 3, 9, x); /* else the same state goes on */
            CHECK(mapdpm_learn_at(s, x, now, NULL, &score) == MAPDPM_OK && is_present(score));
            check_whole(s);
            CHECK(total_weight(s) <= (weight + waits) * exp2(-(double)seconds[i] / 100) * 1.0001 + 1 +
                                         (seconds[i] < 1000 ? waits : 0)); /* where nothing was forgotten, they wait on */
            CHECK_OK(restore(&second, file, save(s, file)));
            for (j = 0; j < 30; j++) {
                md_real other;

                step(&state, &z, 3, 9, x);
                CHECK_OK(mapdpm_learn_at(s, x, now += 1000000, NULL, &score));
                CHECK_OK(mapdpm_learn_at(&second.stream, x, now, NULL, &other));
                CHECK(memcmp(&score, &other, sizeof score) == 0);
                check_whole(s);
            }
        }
}

/* After a silence of any length, all is as at the start of a sequence: the next point has the density of a new one. */
static void all_is_forgotten(void)
{
    mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, 5);
    mapdpm_stream *const fresh = begin(&second, &o);
    mapdpm_stream *s;
    const md_real x[3] = {2, 0, 1};
    uint64_t state = 3;
    md_real alone, score;
    unsigned i, z = 0;

    CHECK_OK(mapdpm_learn(fresh, x, NULL, &alone));
    o.half_life = 1;
    s = begin(&first, &o);
    for (i = 0; i < 65; i++) {
        md_real y[3];

        step(&state, &z, 3, 9, y);
        CHECK_OK(mapdpm_learn_at(s, y, (int64_t)i * 100000, NULL, NULL));
    }
    CHECK(mapdpm_learn_at(s, x, INT64_C(1) << 50, NULL, &score) == MAPDPM_OK && s->n_clusters == 1);
    CHECK_NEAR(score, alone, 40 * EPS * fabs((double)alone));
    check_whole(s);
    CHECK_NEAR(total_weight(s), 1, 4 * EPS);
}

/* Times before 0 during a warm-up, and files there. */
static void times_of_a_warm_up(void)
{
    mapdpm_options o = timed_warming(5, 30);
    mapdpm_stream *s;
    uint64_t state = 4;
    unsigned i, z = 0;
    md_real x[3];

    o.half_life = 20;
    s = begin(&first, &o);
    for (i = 0; i < 80; i++) {
        step(&state, &z, 3, 9, x);
        CHECK_OK(mapdpm_learn_at(s, x, (int64_t)i * 1000000 - INT64_C(1000000000000), NULL, NULL));
        CHECK(restore(&second, file, save(s, file)) == MAPDPM_OK && have_same_file(s, &second.stream));
        if (!s->warming)
            check_whole(s);
    }
}

/* ---- the limits of numbers --------------------------------------------------------------------------------------- */

/* Rows stay exact where each more point counts, and the gain of a merge is a number. */
static void long_runs(void)
{
    mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, 4);
    mapdpm_stream *s;
    uint64_t state = 17;
    unsigned round;
    uint32_t v, k;

    for (round = 0; round < 2; round++) {
        o.kappa = (md_real)round * 1000;
        s = begin(&first, &o);
        CHECK_OK(learn_some(s, 300, 3, 9, &state));
        for (v = 0; v <= 4; v++)
            for (k = 0; k < 4; k++)
                if (counts_from(s, v)[k] > 0)
                    counts_from(s, v)[k] = 1048570;
        CHECK_OK(learn_some(s, 600, 3, 9, &state));
        check_whole(s);
        for (v = 0; v < 4; v++)
            for (k = 0; k < 4; k++)
                CHECK(counts_from(s, v)[k] <= 1048576);
    }
}

/* Few tables and a tiny gamma, many times: their sum must not lose gamma when states go. */
static void a_tiny_gamma(void)
{
    mapdpm_options o = timed(MAPDPM_NORMAL_KNOWN_VARIANCE, 3);
    mapdpm_stream *s;
    uint64_t state = 8;
    unsigned round, z = 0;
    int64_t now = 0;
    md_real x[3], score;

    o.gamma = (md_real)1e-9;
    o.alpha = (md_real)1e-9;
    o.half_life = 5;
    s = begin(&first, &o);
    for (round = 0; round < 3000; round++) {
        step(&state, &z, 7, 9, x);
        now += round % 37 == 0 ? 200000000 : 1000000;
        CHECK(mapdpm_learn_at(s, x, now, NULL, &score) == MAPDPM_OK && is_present(score));
        check_whole(s);
    }
}

/* The farthest points that are allowed, alone and among others; and great and small concentrations. */
static void extremes(void)
{
    static const double scales[] = {1e-9, 1, 1e9};
    unsigned i, j, round, z = 0;

    for (i = 0; i < 36; i++)
        for (j = 0; j < 2; j++) {
            mapdpm_options o = timed(j ? MAPDPM_NORMAL_GAMMA : MAPDPM_NORMAL_KNOWN_VARIANCE, 1 + i / 9);
            mapdpm_stream *s;
            uint64_t state = 21;
            md_real x[3], score;
            uint32_t id;

            o.alpha = (md_real)scales[i % 3];
            o.gamma = (md_real)scales[i / 3 % 3];
            o.kappa = i % 2 ? (md_real)1e9 : 0;
            o.when_full = i % 4;
            s = begin(&first, &o);
            for (round = 0; round < 400; round++) {
                step(&state, &z, 3, 9, x);
                if (round % 11 == 5)
                    x[round % 3] = (round % 2 ? -1 : 1) * COORDINATE_LIMIT / unit_of(s)[round % 3] / 2;
                if (round % 50 == 7)
                    x[0] = x[1] = x[2] = COORDINATE_LIMIT / 4;
                CHECK(round == 0 || mapdpm_predict(s, x, &id, NULL) == MAPDPM_OK);
                CHECK(mapdpm_learn(s, x, &id, &score) == MAPDPM_OK && is_present(score));
                check_whole(s);
            }
        }
}

/* ---- predictions, and errors ------------------------------------------------------------------------------------- */

/* The points since the last change, in states without a doubt. */
static void runs(void)
{
    const mapdpm_options o = timed(MAPDPM_NORMAL_KNOWN_VARIANCE, 6);
    mapdpm_stream *const s = begin(&first, &o);
    uint64_t state = 2;
    unsigned i, z = 0, last = 99;
    uint32_t length, since = 0;
    md_real x[3];

    for (i = 0; i < 1000; i++) {
        step(&state, &z, 4, 30, x);
        since = z == last ? since + 1 : 1;
        last = z;
        CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
        CHECK(mapdpm_get_run(s, &length) == MAPDPM_OK && length == since);
        if (i % 97 == 0) {
            CHECK_OK(mapdpm_gap(s));
            last = 99;
        }
    }
}

static void predictions_change_nothing(void)
{
    const mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, 6);
    mapdpm_stream *const s = begin(&first, &o), *const t = begin(&second, &o);
    static md_real steps[7 * 7], steps2[7 * 7];
    uint64_t state = 2;
    md_real x[3], y[3], a, b, belief[6], belief2[6];
    uint32_t id, id2, length;
    unsigned i, z = 0;
    size_t done;

    for (i = 0; i < 400; i++) {
        step(&state, &z, 4, 3, x);
        step(&state, &z, 4, 3, y);
        CHECK(i == 0 || mapdpm_predict(s, y, &id, &a) == MAPDPM_OK);
        CHECK(i == 0 || (mapdpm_predict(t, y, &id2, NULL) == MAPDPM_OK && id == id2)); /* also without a density */
        CHECK(mapdpm_predict_many(s, y, 1, NULL, &b, &done) == MAPDPM_OK && (i == 0 || memcmp(&a, &b, sizeof a) == 0));
        CHECK(mapdpm_get_belief(s, belief) == MAPDPM_OK && mapdpm_get_run(s, &length) == MAPDPM_OK &&
              mapdpm_get_transitions(s, steps) == MAPDPM_OK);
        CHECK(is_same_learner(&first, &second));
        CHECK(mapdpm_get_belief(t, belief2) == MAPDPM_OK && memcmp(belief, belief2, sizeof belief) == 0 &&
              mapdpm_get_transitions(t, steps2) == MAPDPM_OK && memcmp(steps, steps2, sizeof steps) == 0);
        CHECK(mapdpm_learn(s, x, &id, &a) == MAPDPM_OK && mapdpm_learn(t, x, &id2, &b) == MAPDPM_OK);
        CHECK(id == id2 && memcmp(&a, &b, sizeof a) == 0);
    }
}

/* The first learner learns a point of its machine, or refuses it so, and nothing has changed. Returns the error. */
static int learns_or_refuses(int refusal, uint64_t *state, unsigned *z, unsigned n_states, uint32_t *id)
{
    mapdpm_stream *const s = &first.stream;
    md_real x[3];
    int error;

    step(state, z, n_states, 9, x);
    memcpy(&second, &first, s->bytes);
    error = mapdpm_learn(s, x, id, NULL);
    CHECK(error == MAPDPM_OK || (error == refusal && is_same_learner(&first, &second)));
    check_whole(s);
    return error;
}

static void errors_change_nothing(void)
{
    mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, 3);
    const md_real bad[3][3] = {{(md_real)NAN, 0, 0}, {0, (md_real)INFINITY, 0}, {0, 0, COORDINATE_LIMIT * 16}};
    const md_real x[3] = {500, 500, 500};
    mapdpm_stream *s;
    uint64_t state = 6;
    uint32_t id, kept;
    unsigned i, n_full = 0, z = 0;
    size_t done;

    o.when_full = MAPDPM_FULL_ERROR;
    s = begin(&first, &o);
    for (i = 0; i < 400; i++)
        n_full += learns_or_refuses(MAPDPM_E_FULL, &state, &z, i < 100 ? 3 : 5, &id) == MAPDPM_E_FULL;
    CHECK(n_full > 10);
    memcpy(&second, &first, s->bytes);
    for (i = 0; i < 3; i++)
        CHECK(mapdpm_learn(s, bad[i], &id, NULL) < 0 && is_same_learner(&first, &second));
    CHECK(mapdpm_learn_at(s, x, 0, &id, NULL) == MAPDPM_E_TIME && is_same_learner(&first, &second));
    CHECK(mapdpm_learn(s, NULL, &id, NULL) == MAPDPM_E_ARGUMENT && mapdpm_predict(s, NULL, &id, NULL) < 0);
    CHECK(mapdpm_learn_many(s, bad[0], NULL, 1, NULL, NULL, &done) < 0 && done == 0 &&
          is_same_learner(&first, &second));

    o = timed(MAPDPM_NORMAL_KNOWN_VARIANCE, 3);
    o.when_full = MAPDPM_FULL_EVICT; /* all ids are used up, or all but a few, which splits may take */
    for (kept = 0; kept < 4; kept++) {
        unsigned n_ids = 0;

        s = begin(&first, &o);
        CHECK_OK(learn_some(s, 100, 3, 9, &state));
        s->next_id = MAPDPM_NO_ID - kept;
        for (i = 0; i < 400; i++) {
            const int error = learns_or_refuses(MAPDPM_E_IDS, &state, &z, 6, &id);

            n_ids += error == MAPDPM_E_IDS;
            CHECK(s->next_id >= MAPDPM_NO_ID - kept && (error != MAPDPM_OK || id != MAPDPM_NO_ID));
        }
        CHECK(n_ids > 0);
    }
}

/* Whether one of the states will have too little weight after a silence, and none of the points that wait can be its. */
static int forgets_one(const mapdpm_stream *s, double half_lives)
{
    uint32_t k;
    int forgets = 0;

    for (k = 0; k < s->max_clusters; k++)
        forgets |= is_used(s, k) && !states_expect(s, k) &&
                   (double)(*slot_of(s, k) * decay_of(s, k, s->now)) * exp2(-half_lives) < 0.4999;
    return forgets;
}

/* After each point of a stream, a copy of the learner gets one that is far from all others. It opens a state, or is
 * refused before anything has changed. Points that wait are learned in between: they must not take its slot or its id
 * by a split, nor keep a state that was to be forgotten. Returns how many were refused. */
static unsigned opens_or_is_refused(mapdpm_options o, uint64_t seed, uint32_t ids_left, int refused)
{
    static memory copy;
    mapdpm_stream *const s = begin(&first, &o), *const t = &copy.stream;
    uint64_t state = seed;
    unsigned i, z = 0, n_refused = 0;
    int64_t now = 0;

    for (i = 0; i < 300; i++) {
        const int64_t silence = (int64_t)(check_random(&state) >> 36);
        const double half_lives = o.half_life > 0 ? (double)silence / 1e6 / (double)o.half_life : 0;
        md_real x[3], far[3] = {-70, 80, 90};
        uint32_t id = MAPDPM_NO_ID;
        double weight;
        int error;

        step(&state, &z, 4, 0.5, x);
        error = mapdpm_learn_at(s, x, now += 1000000, NULL, NULL);
        CHECK(error == MAPDPM_OK || error == refused);
        memcpy(&second, &first, s->bytes);
        memcpy(&copy, &first, s->bytes);
        error = mapdpm_learn_at(t, far, now + silence, &id, NULL);
        if (error == MAPDPM_OK) {
            CHECK_NEAR(has_cluster(t, id, &weight) ? weight : 0, 1, 4 * EPS);
            check_whole(t);
        } else {
            CHECK(error == refused && is_same_learner(&copy, &second));
            CHECK(refused == MAPDPM_E_FULL ? s->n_clusters == o.max_clusters : s->next_id == MAPDPM_NO_ID);
            CHECK(refused != MAPDPM_E_FULL || (half_lives < 12 && !forgets_one(s, half_lives)));
            n_refused++;
        }
        if (i == 0)
            s->next_id = MAPDPM_NO_ID - ids_left;
    }
    return n_refused;
}

static void the_last_slot_and_the_last_id(void)
{
    unsigned n_full = 0, n_ids = 0, round;
    uint64_t seed;

    for (seed = PART ? 21 : 1; seed <= 40; seed++)
        for (round = 0; round < 4; round++) {
            mapdpm_options o = timed(MAPDPM_NORMAL_KNOWN_VARIANCE, 2 + round / 2);

            o.half_life = round % 2 ? 15 : 0;
            o.when_full = MAPDPM_FULL_ERROR;
            n_full += opens_or_is_refused(o, seed, 1000, MAPDPM_E_FULL);
            o.when_full = MAPDPM_FULL_EVICT;
            n_ids += opens_or_is_refused(o, seed, 1 + round / 2, MAPDPM_E_IDS);
        }
    CHECK(n_full > (PART ? 500 : 1000) && n_ids > (PART ? 500 : 1000));
}

/* No id is left. After a silence, a point that joins a state would rather open one when what waited has been learned: it
 * joins all the same. */
static void no_id_is_left(void)
{
    uint64_t state;
    unsigned round, i;

    for (round = 1; round <= (PART ? 150 : 300); round++) {
        mapdpm_options o = timed(round % 2 ? MAPDPM_NORMAL_KNOWN_VARIANCE : MAPDPM_NORMAL_GAMMA, 2 + round % 7);
        mapdpm_stream *s;
        unsigned z = 0;
        int64_t now = 0;
        md_real x[3];

        o.half_life = (md_real)(5 + round % 50);
        s = begin(&first, &o);
        state = round;
        for (i = 0; i < 500; i++) {
            uint32_t id = 0;
            int error;

            if (i == 60)
                s->next_id = MAPDPM_NO_ID;
            step(&state, &z, 2 + round % 6, 1 + round % 4 * 3, x);
            now += i > 100 && i % 50 == 0 ? (int64_t)(check_random(&state) >> 36) : 1000000;
            error = mapdpm_learn_at(s, x, now, &id, NULL);
            CHECK((error == MAPDPM_OK || error == MAPDPM_E_IDS) && id != MAPDPM_NO_ID);
            CHECK(i < 60 || s->next_id == MAPDPM_NO_ID);
        }
        check_whole(s);
    }
}

/* ---- files of others --------------------------------------------------------------------------------------------- */

static int with_real(size_t where, md_real value, size_t n)
{
    memcpy(again, file, n);
    (void)put_reals(again + where, &value, 1);
    repair(again, n);
    return mapdpm_snapshot_read(&second.stream, sizeof second.bytes, again, n);
}

static int breaks_real(size_t where, md_real value, size_t n)
{
    return with_real(where, value, n) == MAPDPM_E_DAMAGED;
}

static void forgery(void)
{
    enum { K = 4, D = 3 };
    mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, K), warm = timed_warming(K, 20);
    mapdpm_stream *s = begin(&first, &o);
    const size_t options = MD_HEADER + 16 + 3 * MD_REAL, reals = time_reals(s) - 2;
    uint64_t state = 12;
    size_t n, time, words, total, tables, belief, counts, halves, beliefs, points;
    uint32_t k, unused;

    CHECK_OK(learn_some(s, 200, 2, 9, &state));
    for (k = 0; k < ROOM && waiting(s) != 4; k++)
        CHECK_OK(learn_some(s, 1, 2, 9, &state));
    CHECK(waiting(s) == 4);
    CHECK(s->n_clusters < K);
    for (k = 0; is_used(s, k); k++)
        ;
    unused = k;
    n = save(s, file);
    total = n - MD_CRC - reals * MD_REAL;
    words = total - 4 * TIME_WORDS;
    time = words - 8;
    tables = total + MD_REAL;
    belief = tables + K * MD_REAL;
    counts = belief + K * MD_REAL;
    halves = counts + (K + 1) * K * MD_REAL;
    points = n - MD_CRC - ROOM * D * MD_REAL;
    beliefs = points - ROOM * K * MD_REAL;
    CHECK(beliefs == halves + K * (2 * (K + 1) + 2 * K + 4) * MD_REAL);
    CHECK(restore(&second, file, n) == MAPDPM_OK && is_same_learner(&first, &second));

    CHECK(breaks(6, MD_STREAM, 1, n) && with(6, STREAM_OF_GROUPS, 1, n) < 0 &&
          with(6, MD_BATCH, 1, n) == MAPDPM_E_KIND && with(6, MD_SUMMARY, 1, n) == MAPDPM_E_KIND);
    CHECK(breaks(MD_HEADER + 4, 3, 4, n)); /* a window */
    CHECK(breaks(options, 0, 4, n) && breaks(options, LAG + 1, 4, n) && breaks(options, LARGEST_LAG + 1, 4, n));
    CHECK(breaks_real(options + 4, 0, n) && breaks_real(options + 4, (md_real)NAN, n));
    CHECK(breaks_real(options + 4 + MD_REAL, -1, n) && breaks_real(options + 4 + MD_REAL, (md_real)NAN, n));
    CHECK(breaks(MD_HEADER + 16, 0, MD_REAL, n)); /* alpha 0 */
    CHECK(breaks(time, (uint64_t)s->now + 1, 8, n) && breaks(time, UINT64_C(1) << 63, 8, n));
    CHECK(breaks(words, ROOM, 4, n) && breaks(words, UINT32_MAX, 4, n));
    CHECK(breaks(words + 4, K, 4, n) && breaks(words + 4, unused, 4, n));
    CHECK(breaks(words + 8, 2, 4, n));
    CHECK(with(words + 12, 77, 4, n) == MAPDPM_OK && with(words + 16, 77, 4, n) == MAPDPM_OK);
    CHECK(breaks(words + 20, s->next_id, 4, n));
    CHECK(breaks(words + 20, MAPDPM_NO_ID, 4, n)); /* no state, but a belief */
    CHECK(breaks_real(total, *state_total(s) * 2, n));
    CHECK(breaks_real(total, (md_real)NAN, n) && breaks_real(total, 0, n));
    CHECK(breaks_real(tables, 0, n) && breaks_real(tables, -1, n));
    CHECK(breaks_real(tables + unused * MD_REAL, (md_real)1e-5, n)); /* tables of no state */
    CHECK(breaks_real(belief, 5, n) && breaks_real(belief, -1, n) && breaks_real(belief, (md_real)NAN, n));
    CHECK(breaks_real(belief + unused * MD_REAL, (md_real)1e-5, n));
    CHECK(breaks_real(counts, (md_real)NAN, n) && breaks_real(counts, -1, n) &&
          with_real(counts, 12345, n) == MAPDPM_OK);
    CHECK(breaks_real(counts + unused * MD_REAL, 1, n) && breaks_real(counts + unused * K * MD_REAL, 1, n));
    CHECK(breaks_real(halves, -1, n) && breaks_real(beliefs - MD_REAL, (md_real)INFINITY, n));
    for (k = 0; k < 4; k++) {
        const size_t at = beliefs + k * K * MD_REAL;

        CHECK(breaks_real(at, 3, n) && breaks_real(at, (md_real)NAN, n));
        memcpy(again, file, n);
        memset(again + at, 0, K * MD_REAL); /* no state at all */
        repair(again, n);
        CHECK(restore(&second, again, n) == MAPDPM_E_DAMAGED);
        CHECK(breaks_real(points + k * D * MD_REAL, (md_real)INFINITY, n));
        CHECK((with_real(points + k * D * MD_REAL, (md_real)NAN, n) == MAPDPM_OK) == 0);
    }
    CHECK_OK(with_real(points + 4 * D * MD_REAL, 7, n)); /* no point waits there */

    s = begin(&first, &warm);
    CHECK_OK(learn_some(s, 10, 2, 9, &state));
    n = save(s, file);
    total = n - MD_CRC - reals * MD_REAL;
    words = total - 4 * TIME_WORDS;
    CHECK_OK(restore(&second, file, n));
    CHECK(breaks(words, 1, 4, n) && breaks(words + 4, 0, 4, n));
    CHECK(breaks(words + 20, 5, 4, n));
    CHECK(breaks_real(total + 2 * MD_REAL, (md_real)1e-6, n));
}

/* Every bit: a file is refused, or makes a learner that does no harm. */
static void damage(mapdpm_options o, unsigned n_points)
{
    mapdpm_stream *const s = begin(&first, &o);
    uint64_t state = 30;
    size_t n, i, accepted = 0;
    unsigned bit;

    o.n_features = 3;
    CHECK_OK(learn_some(s, n_points, 3, 5, &state));
    n = save(s, file);
    for (i = 0; i < n; i += 1 + i % 3) {
        CHECK(restore(&second, file, i) < 0);
        for (bit = PART ? i % 4 : 0; bit < 8; bit += PART ? 4 : 1) {
            memcpy(again, file, n);
            again[i] ^= (unsigned char)(1u << bit);
            CHECK(mapdpm_snapshot_read(&second.stream, sizeof second.bytes, again, n) < 0);
            repair(again, n);
            if (i < n - 4 && mapdpm_snapshot_read(&second.stream, sizeof second.bytes, again, n) == MAPDPM_OK) {
                mapdpm_stream *const t = &second.stream;
                unsigned j, z = 1;
                md_real x[3], score;
                uint32_t id;

                accepted++;
                for (j = 0; j < 12 && t->n_features <= 3; j++) {
                    step(&state, &z, 3, 5, x);
                    (void)mapdpm_predict(t, x, &id, &score);
                    if (mapdpm_learn(t, x, &id, &score) == MAPDPM_E_TIME)
                        (void)mapdpm_learn_at(t, x, t->now + 1000000, &id, &score);
                }
                (void)mapdpm_gap(t);
                (void)total_weight(t);
                CHECK(save(t, again) > 0 && waiting(t) == 0);
            }
        }
    }
    CHECK(accepted > 100);
}

int main(void)
{
    mapdpm_options o = timed(MAPDPM_NORMAL_GAMMA, 6);
    uint32_t length;

    if (!WITH_STATES) { /* this library is compiled without states */
        CHECK(mapdpm_stream_bytes(&o) == 0);
        CHECK_REFUSED(mapdpm_init(&first.stream, sizeof first.bytes, &o));
        o.lag = 0;
        CHECK_REFUSED(mapdpm_gap(begin(&second, &o)));
        CHECK_REFUSED(mapdpm_get_run(&second.stream, &length));
        return REPORT();
    }
    static_memory_is_enough();
    refuses_what_it_cannot_do();
    the_kind_of_file();
    files();
    few_slots();
    an_outlier_without_a_slot();
    if (WITH_MISSING)
        halves_of_missing_values();
    gaps(9);
    gaps(1);
    merges();
    the_total_of_tables();
    silences();
    all_is_forgotten();
    times_of_a_warm_up();
    long_runs();
    a_tiny_gamma();
    extremes();
    runs();
    predictions_change_nothing();
    errors_change_nothing();
    the_last_slot_and_the_last_id();
    no_id_is_left();
    forgery();
    o.half_life = 30;
    damage(o, 64);
    o = timed_warming(3, 30);
    damage(o, 12);
    damage(o, 45);
    return REPORT();
}
