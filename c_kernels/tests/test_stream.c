/* The promises of the stream learner: refusals, conservation, and scores against a plain reference. */
#include "files.h"

static memory third;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static void options(void)
{
    const mapdpm_options good = options_of(MAPDPM_NORMAL_GAMMA, 8);
    mapdpm_options o = good;
    md_real broken[12];
    uint32_t D, K, i;

    CHECK(is_refused(NULL));
    CHECK_REFUSED(mapdpm_init(NULL, 1 << 20, &good));
    CHECK(mapdpm_init(&first.stream, mapdpm_stream_bytes(&good) - 1, &good) == MAPDPM_E_SPACE);
    CHECK_OK(mapdpm_init(&first.stream, mapdpm_stream_bytes(&good), &good));
    CHECK(mapdpm_stream_bytes(NULL) == 0);
#define BAD(field, value) CHECK_WITH(o.field, value, is_refused(&o))
    BAD(family, 0);
    BAD(family, MAPDPM_SQUARED_DISTANCE);
    BAD(family, -1);
    BAD(n_features, 0);
    BAD(n_features, UINT32_MAX);
    BAD(max_clusters, 0);
    BAD(max_clusters, UINT32_MAX);
    BAD(warmup, 10);       /* parameters are given too */
    BAD(parameters, NULL); /* and there is no warm-up */
    BAD(window, UINT32_MAX);
    BAD(when_full, 5);
    BAD(missing, 2);
    BAD(alpha, -1);
    BAD(alpha, (md_real)NAN);
    BAD(alpha, (md_real)INFINITY);
    BAD(log_alpha, (md_real)NAN);
    BAD(log_alpha, -(md_real)INFINITY);
    BAD(half_life, -1);
    BAD(half_life, (md_real)NAN);
    CHECK_WITH(o.missing, 1, (mapdpm_stream_bytes(&o) > 0) == WITH_MISSING);
    o.parameters = broken;
    memcpy(broken, gamma_prior, sizeof gamma_prior);
    for (i = 0; i < 8; i++) {
        const md_real values[] = {0, -1, (md_real)NAN, (md_real)INFINITY};
        unsigned j;

        for (j = i < 3 ? 2 : 0; j < 4; j++) /* a mean may be 0 or negative */
            CHECK_WITH(broken[i], values[j], is_refused(&o));
    }
    o = warming(8, 10);
    o.family = MAPDPM_NORMAL_KNOWN_VARIANCE;
    CHECK(is_refused(&o));
    o = warming(8, 1);
    CHECK(is_refused(&o));
    o = options_of(MAPDPM_NORMAL_KNOWN_VARIANCE, 8);
    o.parameters = broken;
    memcpy(broken, known_prior, 9 * sizeof(md_real));
    for (i = 3; i < 9; i++) {
        CHECK_WITH(broken[i], (md_real)NAN, is_refused(&o));
        CHECK_WITH(broken[i], 0, is_refused(&o));
    }
    for (D = 1; D < 40; D += 3)
        for (K = 1; K < 300; K += K < 20 ? 1 : 31) {
            o = good;
            o.n_features = D;
            o.max_clusters = K;
            CHECK(mapdpm_stream_bytes(&o) == MAPDPM_STATE_BYTES(D, K));
        }
    CHECK(sizeof(md_real) != 4 || MAPDPM_STATE_BYTES(3, 8) <= 2048);
}

/* ---- refused points, and functions that change nothing ----------------------------------------------------------- */

static void refusals(const mapdpm_options *o, unsigned n)
{
    const md_real far = COMPENSATED ? (md_real)1e30 : (md_real)1e120;
    uint64_t state = 7;
    md_real x[3], score;
    uint32_t id;
    unsigned i, d;
    mapdpm_stream *const s = begin(&first, o);

    learn_drawn(s, n, 4, 12, &state);
    memcpy(&second, &first, s->bytes);
    for (d = 0; d < 3; d++) {
        md_real bad[3] = {1, 2, 3};

        bad[d] = (md_real)INFINITY;
        CHECK(mapdpm_learn(s, bad, &id, &score) == MAPDPM_E_NUMBER);
        bad[d] = -(md_real)INFINITY;
        CHECK(mapdpm_learn(s, bad, NULL, NULL) == MAPDPM_E_NUMBER &&
              mapdpm_predict(s, bad, NULL, NULL) == MAPDPM_E_NUMBER);
        bad[d] = far;
        CHECK(mapdpm_learn(s, bad, &id, &score) == MAPDPM_E_RANGE &&
              mapdpm_predict(s, bad, &id, &score) == MAPDPM_E_RANGE);
        if (!o->missing) {
            bad[d] = (md_real)NAN;
            CHECK(mapdpm_learn(s, bad, &id, &score) == MAPDPM_E_NUMBER);
        }
    }
    x[0] = x[1] = x[2] = (md_real)NAN;
    CHECK(mapdpm_learn(s, x, &id, &score) == MAPDPM_E_NUMBER);
    CHECK(mapdpm_learn(NULL, x, &id, &score) == MAPDPM_E_ARGUMENT &&
          mapdpm_learn(s, NULL, &id, &score) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_predict(NULL, x, &id, &score) == MAPDPM_E_ARGUMENT &&
          mapdpm_predict(s, NULL, &id, &score) == MAPDPM_E_ARGUMENT);
    if (n > 0)
        CHECK(mapdpm_learn_at(s, gamma_prior, 1, NULL, NULL) == MAPDPM_E_TIME);
    for (i = 0; i < 50; i++) {
        draw(&state, 4, 12, x);
        id = MD_NONE;
        CHECK(mapdpm_predict(s, x, &id, &score) == (s->n_clusters ? MAPDPM_OK : MAPDPM_E_WARMING));
        CHECK((score == score) == (s->warming == 0));
        CHECK_OK(mapdpm_predict(s, x, NULL, NULL));
        if (s->n_clusters)
            CHECK_OK(mapdpm_resolve(s, id, &id));
    }
    CHECK(is_same(&first, &second));
}

/* Many points in one call, other memory, and no scores: the same results. */
static void equivalents(const mapdpm_options *o)
{
    enum { N = 700 };
    static md_real points[3 * N], scores[N], scores2[N];
    static uint32_t ids[N], ids2[N];
    uint64_t state = 11;
    size_t i, done;
    mapdpm_stream *const s = begin(&first, o), *const t = begin(&second, o);

    for (i = 0; i < N; i++)
        draw(&state, 5, 7, points + 3 * i);
    for (i = 0; i < N; i++)
        CHECK_OK(mapdpm_learn(s, points + 3 * i, &ids[i], &scores[i]));
    CHECK(mapdpm_learn_many(t, points, NULL, N, ids2, scores2, &done) == MAPDPM_OK && done == N);
    CHECK(is_same(&first, &second) && memcmp(ids, ids2, sizeof ids) == 0 &&
          memcmp(scores, scores2, sizeof scores) == 0);
    CHECK(mapdpm_predict_many(s, points, N, ids, scores, &done) == MAPDPM_OK && done == N);
    for (i = 0; i < N; i += 7) {
        uint32_t id;
        md_real score;

        CHECK(mapdpm_predict(s, points + 3 * i, &id, &score) == MAPDPM_OK && id == ids[i] &&
              memcmp(&score, &scores[i], sizeof score) == 0);
    }
    points[3 * 600] = (md_real)INFINITY;
    (void)begin(&second, o);
    CHECK(mapdpm_learn_many(t, points, NULL, N, NULL, NULL, &done) == MAPDPM_E_NUMBER && done == 600);
    (void)begin(&first, o);
    CHECK_OK(mapdpm_learn_many(s, points, NULL, 300, NULL, NULL, &done));
    memcpy(third.bytes + 64, &first, s->bytes); /* moved */
    memset(&first, 0, s->bytes);
    CHECK(mapdpm_learn_many((mapdpm_stream *)(void *)(third.bytes + 64), points + 900, NULL, 300, ids2, scores2,
                            &done) == MAPDPM_OK);
    CHECK(memcmp(third.bytes + 64, &second, second.stream.bytes) == 0);
}

/* ---- scores against a reference in long double ------------------------------------------------------------------- */

typedef long double wide;

/* log p(x | n points with a mean and a sum of squares) of one feature. Positions are relative to the prior mean. */
static wide student(wide c0, wide a0, wide b0, wide n, wide mean, wide squares, wide x)
{
    const wide c = c0 + n, a = a0 + n / 2, b = b0 + (squares + c0 * n / c * mean * mean) / 2, t = x - n * mean / c;
    const wide width = 2 * b * (c + 1) / c;

    return lgammal(a + 0.5) - lgammal(a) - logl(3.14159265358979323846L * width) / 2 -
           (a + 0.5) * log1pl(t * t / width);
}

static wide normal(wide prior_variance, wide variance, wide n, wide mean, wide x)
{
    const wide spread = variance + n * prior_variance, width = variance * (1 + prior_variance / spread),
               t = x - n * prior_variance / spread * mean;

    return -(logl(2 * 3.14159265358979323846L * width) + t * t / width) / 2;
}

/* The mixture of all clusters and a new one, from public functions; counts[k][d] with missing values. */
static wide reference(const mapdpm_stream *s, const md_real *x, wide alpha, uint32_t *best)
{
    const uint32_t D = s->n_features;
    md_real anchor[D_MOST], parameters[3 * D_MOST], mean[D_MOST], variance[D_MOST];
    wide top = -1e300, sum = 0, total = 0, best_score = -1e300, scores[K_MOST + 1];
    uint32_t k, d;

    CHECK(mapdpm_get_prior(s, anchor, parameters) == MAPDPM_OK && memcmp(anchor, parameters, D * sizeof(md_real)) == 0);
    *best = MD_NONE;
    for (k = 0; k <= s->max_clusters; k++) {
        mapdpm_cluster c = {0, 0, 0};
        wide n = 0;

        scores[k] = -1e300;
        if (k < s->max_clusters) {
            if (mapdpm_get_cluster_relative(s, k, &c, mean, variance) == 0)
                continue;
            n = (wide)c.weight;
            if (n < 0.5)
                continue;
            total += n;
        }
        scores[k] = logl(n > 0 ? n : alpha);
        for (d = 0; d < D; d++) {
            const wide t = (wide)x[d] - (wide)anchor[d];
            const wide there =
                n > 0 && s->missing ? (wide)(counts_in(s, slot_of(s, k))[d] * decay_of(s, k, s->now)) : n;
            const wide m = n > 0 ? (wide)mean[d] : 0, v = n > 0 ? (wide)variance[d] : 0;

            if (!is_present(x[d]))
                continue;
            scores[k] += s->family == MAPDPM_NORMAL_GAMMA
                             ? student((wide)parameters[D], (wide)parameters[D + 1], (wide)parameters[D + 2 + d], there,
                                       m, v * there, t)
                             : normal((wide)parameters[D + d], (wide)parameters[2 * D + d], there, m, t);
        }
        if (k < s->max_clusters && scores[k] > best_score) {
            best_score = scores[k];
            *best = c.id;
        }
        if (scores[k] > top)
            top = scores[k];
    }
    for (k = 0; k <= s->max_clusters; k++)
        sum += scores[k] > -1e299 ? expl(scores[k] - top) : 0;
    return top + logl(sum) - logl(total + alpha);
}

static double worst_score;

/* The worst error of scores so far, of which NaN is the largest. */
static void note(double *worst, double score, double right)
{
    const double error = fabs(score - right) / (1 + fabs(right));

    if (!(error <= *worst))
        *worst = error;
}

/* The error of a score: 20 eps (1 + |score|) were measured with forgetting, 6 without. 50 leave room for other
 * machines. */
static void scores(const mapdpm_options *o, double apart)
{
    uint64_t state = 5;
    md_real x[3], score;
    uint32_t id, expected, wrong = 0;
    unsigned i, d;
    double worst = 0;
    mapdpm_stream *const s = begin(&first, o);

    for (i = 0; i < 2000; i++) {
        draw(&state, 5, apart, x);
        if (o->missing)
            for (d = 0; d < 3; d++)
                if (check_random(&state) >> 62 == 0 && d != i % 3)
                    x[d] = (md_real)NAN;
        if (i % 10 == 9 && !s->warming && s->n_clusters > 0) {
            const double right = (double)reference(s, x, (wide)o->alpha, &expected);

            CHECK_OK(mapdpm_predict(s, x, &id, &score));
            wrong += id != expected;
            note(&worst, (double)score, right);
        }
        CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
        CHECK(!s->warming || total_weight(s) == 0);
    }
    if (worst > worst_score)
        worst_score = worst;
    CHECK(worst < 50 * EPS);
    CHECK(wrong <= 1); /* two clusters may be equal up to rounding */
}

/* Products overflow for points far away. The nearer cluster must win all the same. */
static void far_points(void)
{
    static md_real prior[2 * 24 + 2];
    static md_real x[24];
    mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 8);
    uint32_t d, id, near_id = 0;
    int i;
    mapdpm_stream *s;

    for (d = 0; d < 24; d++)
        prior[24 + 2 + d] = 1;
    prior[24] = (md_real)0.001;
    prior[25] = 1;
    o.n_features = 24;
    o.parameters = prior;
    s = begin(&first, &o);
    for (i = 0; i < 40; i++) {
        for (d = 0; d < 24; d++)
            x[d] = d < 12 ? (md_real)(i % 4) / 4 : (md_real)(i % 2 ? 400 : 0) + (md_real)(i % 4) / 4;
        CHECK_OK(mapdpm_learn(s, x, &id, NULL));
        if (i % 2)
            near_id = id;
    }
    CHECK(s->n_clusters == 2);
    for (d = 0; d < 24; d++) /* equally far from both in 12 features; at the second one in the others */
        x[d] = d < 12 ? (COMPENSATED ? (md_real)1e8 : (md_real)1e70) : centres_of(s, d)[1];
    x[23] = 400;
    CHECK(mapdpm_predict(s, x, &id, NULL) == MAPDPM_OK && id == near_id);
    for (d = 0; d < 12; d++) { /* features in reverse order */
        const md_real t = x[d];

        x[d] = x[d + 12];
        x[d + 12] = t;
    }
    CHECK_OK(mapdpm_predict(s, x, &id, NULL));
}

/* ---- conservation ------------------------------------------------------------------------------------------------ */

static void conserves_weight(const mapdpm_options *o, int exactly)
{
    uint64_t state = 3;
    md_real x[3];
    unsigned i;
    mapdpm_stream *const s = begin(&first, o);

    for (i = 0; i < 4000; i++) {
        draw(&state, 1 + i / 500, 1 + (i / 250) % 9, x);
        CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
        CHECK(s->n_clusters <= s->max_clusters);
        if (s->warming)
            continue;
        if (exactly)
            CHECK(total_weight(s) == (double)s->n_seen);
        else
            CHECK(fabs(total_weight(s) - (double)s->n_seen) <= 64 * EPS * (double)s->n_seen);
    }
}

/* Every id is new: ids of created and split clusters ascend, and none returns after its cluster ended. */
static void ids(const mapdpm_options *o)
{
    static unsigned char ended[1 << 16];
    uint64_t state = 17, seen = 0;
    uint32_t newest = o->warmup, id, now;
    md_real x[3];
    mapdpm_event event;
    unsigned i, n_ended = 0;
    int is_new = 1, is_alive = 1;
    mapdpm_stream *const s = begin(&first, o);

    memset(ended, 0, sizeof ended);
    for (i = 0; i < 20000; i++) {
        draw(&state, 2 + i / 100 % 7, 3 + i / 300 % 11, x);
        x[0] += (md_real)(i / 50 % 13 * 40);
        CHECK_OK(mapdpm_learn(s, x, &id, NULL));
        for (; seen < s->n_events; seen++) {
            uint32_t made;

            if (mapdpm_get_event(s, seen, &event) != MAPDPM_OK) {
                CHECK(s->n_events - seen > MAPDPM_EVENTS(s->max_clusters));
                continue;
            }
            made = event.kind == MAPDPM_CREATED ? event.id : event.kind == MAPDPM_SPLIT ? event.other : MD_NONE;
            if (made != MD_NONE) {
                is_new &= made == newest;
                newest = made + 1;
            }
            if (event.kind != MAPDPM_CREATED && event.kind != MAPDPM_SPLIT) {
                is_new &= event.id < newest && !ended[event.id & 0xffff];
                ended[event.id & 0xffff] = 1;
                n_ended++;
            }
            CHECK(event.when <= (uint32_t)s->n_seen);
        }
        if (id >= s->warmup)
            is_alive &= !ended[id & 0xffff] && mapdpm_resolve(s, id, &now) == MAPDPM_OK && now == id;
        if (i % 100 == 0)
            (void)total_weight(s);
    }
    CHECK(is_new && is_alive && newest < 65536);
    CHECK(n_ended > 50 && s->next_id == newest);
    CHECK_REFUSED(mapdpm_get_event(s, s->n_events, NULL));
    CHECK(mapdpm_get_event(s, s->n_events, &event) == MAPDPM_E_UNKNOWN);
    CHECK(mapdpm_get_event(s, 0, &event) == MAPDPM_E_UNKNOWN);
    CHECK_OK(mapdpm_get_event(s, s->n_events - MAPDPM_EVENTS(s->max_clusters), &event));
}

static void when_full(uint32_t policy, int32_t family)
{
    mapdpm_options o = options_of(family, 4);
    uint64_t state = 23, i;
    unsigned kinds[6] = {0}, n_full = 0;
    mapdpm_event event;
    mapdpm_stream *s;
    md_real x[3];

    o.when_full = policy;
    s = begin(&first, &o);
    for (i = 0; i < 1500; i++) {
        const uint64_t before = s->n_events;
        uint64_t e;
        int error;

        draw(&state, 9, 60, x);
        memcpy(&second, &first, s->bytes);
        error = mapdpm_learn(s, x, NULL, NULL);
        CHECK(error == MAPDPM_OK || (error == MAPDPM_E_FULL && policy == MAPDPM_FULL_ERROR));
        if (error != MAPDPM_OK) {
            CHECK(is_same(&first, &second));
            n_full++;
        }
        for (e = before; e < s->n_events; e++) {
            CHECK(mapdpm_get_event(s, e, &event) == MAPDPM_OK && event.kind >= 1 && event.kind <= 5);
            kinds[event.kind % 6]++;
        }
        CHECK(s->n_clusters <= 4);
        if (kinds[MAPDPM_EVICTED] == 0)
            CHECK(total_weight(s) == (double)s->n_seen);
    }
    CHECK(s->n_clusters == 4 && kinds[MAPDPM_AGED] == 0);
    if (family != MAPDPM_NORMAL_GAMMA) /* its wide clusters take in points and split later */
        CHECK((n_full > 0) == (policy == MAPDPM_FULL_ERROR));
    if (policy == MAPDPM_FULL_EVICT)
        CHECK(kinds[MAPDPM_EVICTED] > 0);
    else if (policy != MAPDPM_FULL_LEAST_LOSS)
        CHECK(kinds[MAPDPM_EVICTED] == 0);
    if (policy == MAPDPM_FULL_MERGE)
        CHECK(kinds[MAPDPM_MERGED] > 0);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void half_lives(void)
{
    mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 8);
    const md_real a[3] = {0, 0, 0}, b[3] = {300, 300, 300}, other[3] = {(md_real)0.5, 0, 0};
    mapdpm_cluster before, after;
    uint32_t id, id2;
    int i;
    mapdpm_stream *s;

    o.half_life = 30;
    s = begin(&first, &o);
    for (i = 0; i < 10; i++)
        CHECK_OK(mapdpm_learn_at(s, i % 2 ? a : other, 1000000 * INT64_C(1000), &id, NULL));
    CHECK(mapdpm_get_cluster_relative(s, 0, &before, NULL, NULL) == 1 && before.weight == 10 && before.id == id);
    memcpy(&second, &first, s->bytes);
    CHECK(mapdpm_learn_at(s, a, 1000000 * INT64_C(1000) - 1, NULL, NULL) == MAPDPM_E_TIME);
    CHECK(mapdpm_learn_at(s, a, INT64_MAX, NULL, NULL) == MAPDPM_E_TIME);
    CHECK(mapdpm_learn(s, a, NULL, NULL) == MAPDPM_E_TIME);
    CHECK(is_same(&first, &second));
    for (i = 1; i <= 3; i++) {
        const double right = 10 * pow(2, -i);

        CHECK(mapdpm_learn_at(s, b, 1000000 * (INT64_C(1000) + 30 * i), &id2, NULL) == MAPDPM_OK && id2 != id);
        CHECK(mapdpm_get_cluster_relative(s, 0, &after, NULL, NULL) == 1 && after.id == id);
        CHECK(fabs((double)after.weight - right) < 16 * EPS * right);
    }
    /* After so long nothing is left. A cluster is removed at each point, and its slot becomes free. */
    for (i = 0; i < 12; i++)
        CHECK_OK(mapdpm_learn_at(s, a, INT64_C(1) << 50, &id, NULL));
    CHECK(s->n_clusters == 1 && total_weight(s) == 12);

    begin(&first, &o);
    CHECK_OK(mapdpm_learn_at(s, a, -(INT64_C(1) << 61), &id, NULL));
    CHECK_OK(mapdpm_learn_at(s, a, INT64_C(1) << 61, &id, NULL));
    begin(&first, &o);
    CHECK(mapdpm_learn(s, a, NULL, NULL) == MAPDPM_OK && mapdpm_learn_at(s, a, 5, NULL, NULL) == MAPDPM_E_TIME);
}

/* After a jump in time, the points of a window and of a warm-up weigh nothing. */
static void long_gaps(uint32_t warmup, uint32_t window)
{
    mapdpm_options o = warmup ? warming(4, warmup) : options_of(MAPDPM_NORMAL_GAMMA, 4);
    uint64_t state = 41;
    int64_t now = 0;
    md_real x[3];
    int i;
    mapdpm_stream *s;

    o.window = window;
    o.half_life = 1;
    o.when_full = MAPDPM_FULL_REFUSE;
    s = begin(&first, &o);
    for (i = 0; i < 400; i++) {
        draw(&state, 3, 20, x);
        now += i % 11 == 10 ? INT64_C(1) << 40 : 50000;
        CHECK_OK(mapdpm_learn_at(s, x, now, NULL, NULL));
        (void)total_weight(s);
        CHECK(s->warming || (s->n_clusters > 0 && total_weight(s) > 0.5 && total_weight(s) < 400));
    }
}

/* ---- changed ids ------------------------------------------------------------------------------------------------- */

static void resolving(void)
{
    mapdpm_options o = warming(8, 60);
    uint64_t state = 2;
    uint32_t provisional[60], id, now, j;
    md_real x[60][3];
    int i;
    mapdpm_stream *const s = begin(&first, &o);

    for (i = 0; i < 60; i++) {
        draw(&state, 3, 30, x[i]);
        CHECK(mapdpm_learn(s, x[i], &provisional[i], NULL) == MAPDPM_OK && provisional[i] == (uint32_t)i);
        if (i < 59)
            CHECK(mapdpm_resolve(s, (uint32_t)i, &now) == MAPDPM_OK && now == (uint32_t)i);
        CHECK(s->warming == (i < 59));
    }
    CHECK(s->n_clusters == 3 && total_weight(s) == 60);
    for (i = 0; i < 60; i++) {
        CHECK(mapdpm_resolve(s, provisional[i], &now) == MAPDPM_OK && now >= 60);
        CHECK(mapdpm_predict(s, x[i], &id, NULL) == MAPDPM_OK && id == now);
    }
    /* The gap between two groups fills up: they merge, and the old ids resolve to the rest. */
    for (i = 0; i < 3000; i++) {
        draw(&state, 3, 30, x[0]);
        for (j = 0; j < 3; j++)
            x[0][j] = (md_real)(45 + 60 * check_uniform(&state));
        CHECK(mapdpm_learn(s, x[0], &id, NULL) == MAPDPM_OK && mapdpm_resolve(s, id, &now) == MAPDPM_OK && now == id);
        CHECK(mapdpm_resolve(s, s->next_id, &now) == MAPDPM_E_UNKNOWN);
    }
    for (j = 0; j < s->next_id; j++) /* every known id belongs to a cluster */
        if (mapdpm_resolve(s, j, &now) == MAPDPM_OK) {
            CHECK(mapdpm_resolve(s, now, &id) == MAPDPM_OK && id == now);
        }
}

/* ---- the warm-up ------------------------------------------------------------------------------------------------- */

/* The warm-up ends and finds the same clusters, for any scale and offset. */
static void scales(void)
{
    const double units[] = {
        1, 1e-6, 1e4, COMPENSATED ? 4e-16 : 1e-99, COMPENSATED ? 1e-13 : 1e-90, COMPENSATED ? 1e6 : 1e70};
    mapdpm_options o = warming(8, 50);
    unsigned u, i, d;

    for (u = 0; u < sizeof units / sizeof *units; u++) {
        uint64_t state = 19;
        md_real x[3];
        mapdpm_stream *const s = begin(&first, &o);

        for (i = 0; i < 200; i++) {
            draw(&state, 3, 30, x);
            for (d = 0; d < 3; d++)
                x[d] = (md_real)((double)x[d] * units[u]);
            CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
            if (i >= 50)
                break;
        }
        CHECK(!s->warming && s->n_seen == 51);
        if (u < 3)
            CHECK(s->n_clusters == 3 && total_weight(s) == 51);
    }
    for (u = 0; u < 200; u++) { /* as wide as allowed, half at each limit */
        const md_real most = WARMUP_LIMIT, wide_one[3] = {u % 2 ? most : -most, 0, u % 3 ? most : 0};

        CHECK_OK(mapdpm_learn(u ? &first.stream : begin(&first, &o), wide_one, NULL, NULL));
    }
    CHECK(!first.stream.warming && total_weight(&first.stream) == 200);
    for (u = 0; u < 2; u++) { /* all points are equal */
        const md_real same[3] = {5, u ? 5 : (md_real)1e8, 0};
        mapdpm_stream *const s = begin(&first, &o);

        for (i = 0; i < 200; i++)
            CHECK_OK(mapdpm_learn(s, same, NULL, NULL));
        CHECK(s->n_clusters == 1 && total_weight(s) == 200);
    }
}

/* ---- gateways ---------------------------------------------------------------------------------------------------- */

static void insert_all(mapdpm_stream *s, int backwards)
{
    int i;

    for (i = 0; i < 12; i++) {
        const int j = backwards ? 11 - i : i;
        const mapdpm_cluster c = {0, (md_real)(j + 2), 0};
        const md_real mean[3] = {(md_real)(j % 3 * 50), (md_real)(j % 3), (md_real)(j % 4) / 4},
                      variance[3] = {1, (md_real)0.5, 2};

        CHECK_OK(mapdpm_insert(s, &c, mean, variance));
    }
}

static void gateways(int32_t family)
{
    mapdpm_options o = options_of(family, 12);
    const md_real ok[3] = {1, 1, 1}, bad[3] = {1, (md_real)NAN, 1}, negative[3] = {1, -1, 1};
    mapdpm_cluster c = {0, 2, 0};
    mapdpm_stream *const s = begin(&first, &o), *const t = begin(&second, &o);

    CHECK(mapdpm_insert(s, &c, bad, ok) == MAPDPM_E_RANGE && mapdpm_insert(s, &c, ok, bad) == MAPDPM_E_RANGE);
    CHECK(mapdpm_insert(s, &c, ok, negative) == MAPDPM_E_RANGE && mapdpm_insert(s, NULL, ok, ok) == MAPDPM_E_ARGUMENT);
    c.weight = 0;
    CHECK_REFUSED(mapdpm_insert(s, &c, ok, ok));
    c.weight = (md_real)NAN;
    CHECK(mapdpm_insert(s, &c, ok, ok) == MAPDPM_E_ARGUMENT && mapdpm_reduce(s, 0) == MAPDPM_E_ARGUMENT);
    CHECK(is_same(&first, &second));
    insert_all(s, 0);
    insert_all(t, 1);
    c.weight = 1;
    CHECK(mapdpm_insert(s, &c, ok, ok) == MAPDPM_E_SPACE && s->n_clusters == 12 && total_weight(s) == 90);
    CHECK_REFUSED(mapdpm_insert_counted(s, &c, ok, ok, ok)); /* it has no missing values */
    CHECK(mapdpm_reduce(s, 12) == MAPDPM_OK && mapdpm_reduce(t, 12) == MAPDPM_OK);
    CHECK(have_same_file(s, t));
    CHECK(s->n_clusters == 3 && total_weight(s) == 90 && s->n_events == 0);
    CHECK(mapdpm_reduce(s, 12) == MAPDPM_OK && have_same_file(s, t)); /* a second call changes nothing */
    CHECK(mapdpm_reduce(s, 2) == MAPDPM_OK && s->n_clusters == 2 && total_weight(s) == 90);
    CHECK(mapdpm_learn(s, ok, NULL, NULL) == MAPDPM_OK && total_weight(s) == 91 && s->n_seen == 91);
}

/* Clusters inserted before the first time get that time, whatever it is. After a warm-up, its ids have ended. */
static void gateways_in_time(void)
{
    const int64_t times[] = {INT64_C(1700000000000000), -INT64_C(1700000000000000), 0};
    mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 16);
    const md_real x[3] = {200, 200, 200};
    uint64_t state = 77;
    uint32_t now;
    unsigned i;
    mapdpm_stream *s = &first.stream;

    o.half_life = 1000;
    for (i = 0; i < 3; i++) {
        begin(&first, &o);
        insert_all(s, 0);
        CHECK_OK(mapdpm_learn_at(s, x, times[i], NULL, NULL));
        CHECK(fabs(total_weight(s) - 91) < 1e-3);
    }
    CHECK_OK(mapdpm_learn_at(s, x, INT64_C(1) << 60, NULL, NULL));
    CHECK(mapdpm_reduce(s, 4) == MAPDPM_OK && total_weight(s) == 1);
    o = warming(16, 40);
    begin(&first, &o);
    CHECK(mapdpm_reduce(s, 4) == MAPDPM_E_WARMING);
    learn_drawn(s, 40, 5, 40, &state);
    CHECK(s->n_clusters > 2 && mapdpm_reduce(s, 2) == MAPDPM_OK && s->n_clusters == 2);
    for (i = 0; i < 40; i++)
        CHECK(mapdpm_resolve(s, i, &now) == MAPDPM_E_UNKNOWN);
}

/* ---- missing values ---------------------------------------------------------------------------------------------- */

static void nothing_missing(int32_t family)
{
    mapdpm_options o = options_of(family, 8);
    uint64_t state = 13;
    unsigned i, differ = 0;
    md_real x[3], a, b;
    uint32_t id, id2;
    double worst = 0;
    mapdpm_stream *const s = begin(&first, &o), *t;

    o.missing = 1;
    t = begin(&second, &o);
    for (i = 0; i < 1000; i++) {
        draw(&state, 4, 15, x);
        CHECK(mapdpm_learn(s, x, &id, &a) == MAPDPM_OK && mapdpm_learn(t, x, &id2, &b) == MAPDPM_OK);
        differ += id != id2;
        note(&worst, (double)b, (double)a);
    }
    CHECK(differ == 0);
    CHECK(worst < 50 * EPS);
}

/* If the one point with a value in a feature moves, nothing of the value stays. */
static void rarely_there(uint32_t warmup, uint32_t window)
{
    mapdpm_options o = warmup ? warming(8, warmup) : options_of(MAPDPM_NORMAL_GAMMA, 8);
    uint64_t state = 29;
    unsigned i;
    uint32_t k;
    mapdpm_stream *s;

    o.missing = 1;
    o.window = window;
    s = begin(&first, &o);
    for (i = 0; i < 600; i++) {
        md_real x[3], score = 0;

        draw(&state, 3, 4, x);
        if (i % 9)
            x[1] = (md_real)NAN;
        if (i % 5)
            x[2] = (md_real)NAN;
        CHECK(mapdpm_learn(s, x, NULL, &score) == MAPDPM_OK && (i < warmup || score == score));
        for (k = 0; k < s->max_clusters; k++)
            CHECK(!is_used(s, k) || mean_in(s, slot_of(s, k))[1] * 0 == 0);
        CHECK(s->warming || fabs(total_weight(s) - (double)s->n_seen) < 0.01);
    }
}

/* ---- DP-means ---------------------------------------------------------------------------------------------------- */

/* If alpha is beyond the range of a real, a cluster opens at a squared distance of about -2 log alpha. */
static void dp_means(void)
{
    mapdpm_options o = options_of(MAPDPM_NORMAL_KNOWN_VARIANCE, 16);
    const md_real origin[3] = {1, -2, 3}, near_by[3] = {41, -2, 3}, far[3] = {401, -2, 3};
    double right = 0;
    md_real score;
    uint32_t a, b, c, d;
    mapdpm_stream *const s = &first.stream;

    o.alpha = 0;
    o.log_alpha = -5000;
    begin(&first, &o);
    for (d = 0; d < 3; d++)
        right += (double)normal((wide)known_prior[3 + d], (wide)known_prior[6 + d], 0, 0, 0);
    CHECK(mapdpm_predict(s, origin, NULL, &score) == MAPDPM_OK &&
          fabs((double)score - right) < 1e-3 * (1 + fabs(right)));
    CHECK(mapdpm_learn(s, origin, &a, &score) == MAPDPM_OK && fabs((double)score - right) < 1e-3 * (1 + fabs(right)));
    CHECK(mapdpm_learn(s, near_by, &b, NULL) == MAPDPM_OK && b == a);
    CHECK(mapdpm_learn(s, far, &c, NULL) == MAPDPM_OK && c != a && s->n_clusters == 2);
}

int main(void)
{
    mapdpm_options gamma = options_of(MAPDPM_NORMAL_GAMMA, 8), known = options_of(MAPDPM_NORMAL_KNOWN_VARIANCE, 8);
    mapdpm_options warm = warming(8, 50), o;
    const mapdpm_options *const kinds[] = {&gamma, &known, &warm};
    uint32_t i;

    options();
    refusals(&gamma, 0);
    refusals(&warm, 49);
    scores(&gamma, 2);
    for (i = 0; i < 3; i++) {
        refusals(kinds[i], 300);
        equivalents(kinds[i]);
        scores(kinds[i], 10);
    }
    far_points();
    for (i = MAPDPM_FULL_MERGE; i <= MAPDPM_FULL_REFUSE; i += 2) {
        gamma.when_full = known.when_full = i;
        conserves_weight(&gamma, 1);
        conserves_weight(&known, 1);
        o = gamma;
        o.window = 50;
        conserves_weight(&o, 0);
    }
    gamma.when_full = known.when_full = 0;
    o = gamma;
    o.window = 50;
    scores(&o, 5);
    o = gamma;
    o.half_life = 100;
    scores(&o, 10);
    equivalents(&o);
    o.max_clusters = 5;
    ids(&o);
    o.window = 20;
    ids(&o);
    o = gamma;
    o.max_clusters = 5;
    o.when_full = MAPDPM_FULL_EVICT;
    ids(&o);
    o = warming(5, 20);
    o.half_life = 60;
    ids(&o);
    for (i = 0; i <= MAPDPM_FULL_ERROR; i++) {
        when_full(i, MAPDPM_NORMAL_GAMMA);
        when_full(i, MAPDPM_NORMAL_KNOWN_VARIANCE);
    }
    half_lives();
    long_gaps(0, 0);
    long_gaps(0, 5);
    long_gaps(20, 0);
    long_gaps(20, 30);
    resolving();
    scales();
    gateways(MAPDPM_NORMAL_GAMMA);
    gateways(MAPDPM_NORMAL_KNOWN_VARIANCE);
    gateways_in_time();
    dp_means();
    if (WITH_MISSING) {
        nothing_missing(MAPDPM_NORMAL_GAMMA);
        nothing_missing(MAPDPM_NORMAL_KNOWN_VARIANCE);
        gamma.missing = known.missing = warm.missing = 1;
        refusals(&gamma, 300);
        for (i = 0; i < 3; i++)
            scores(kinds[i], 10);
        rarely_there(0, 7);
        rarely_there(30, 0);
        rarely_there(30, 50);
    }
    printf("scores: worst error %.1f eps (1 + |score|)\n", worst_score / EPS);
    return REPORT();
}
