/* Devices and a gateway: summaries, and a base that others saw. */
#include "files.h"

static memory third;

static mapdpm_options with_base(int32_t family, uint32_t max_clusters)
{
    mapdpm_options o = options_of(family, max_clusters);

    o.max_groups = 2;
    o.gamma = 2;
    o.with_base = 1;
    return o;
}

static void learn_some(mapdpm_stream *s, unsigned n, unsigned centres, uint64_t *state)
{
    md_real x[3];
    unsigned i;

    for (i = 0; i < n; i++) {
        draw(state, centres, 9, x);
        if (HAS_GROUPS(s))
            CHECK_OK(mapdpm_set_group(s, i % 2));
        CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
    }
}

/* The summary is in `file`. */
static size_t summarize(const mapdpm_stream *s)
{
    size_t n = 0;

    CHECK_OK(mapdpm_summary_write(s, sizeof(md_real), file, sizeof file, &n));
    CHECK(n == mapdpm_summary_bytes(s, sizeof(md_real)));
    return n;
}

static int set_base(mapdpm_stream *s, const mapdpm_stream *gateway)
{
    return mapdpm_set_base(s, file, summarize(gateway));
}

/* The points that a learner saw itself, by its cells. */
static double own_weight(const mapdpm_stream *s)
{
    double total = 0;
    uint32_t k;

    for (k = 0; k < s->max_clusters; k++)
        if (is_used(s, k))
            total += ((double)*seen_in(s, k) + (double)low_part(seen_in(s, k), half_size(s))) *
                     (double)decay_of(s, k, s->now);
    return total;
}

/* A summary has all that a learner knows of its clusters. */
static void a_summary_is_complete(int32_t family)
{
    mapdpm_options o = options_of(family, 8);
    mapdpm_stream *const s = begin(&first, &o), *const gateway = begin(&second, &o);
    mapdpm_cluster a, b;
    mapdpm_options found;
    md_real mean[2][3], variance[2][3], parameters[3 * D_MOST];
    uint64_t state = 5;
    uint32_t k;
    size_t d, n;

    learn_some(s, 400, 5, &state);
    n = summarize(s);
    CHECK_OK(mapdpm_summary_options(file, n, &found, parameters));
    CHECK(found.max_clusters == 8 && found.family == family && found.n_features == 3);
    for (d = 0; d < mapdpm_n_parameters(family, 3); d++)
        CHECK_NEAR(parameters[d], o.parameters[d], 4 * EPS * fabs((double)o.parameters[d]));
    CHECK_OK(mapdpm_pool_summary(gateway, file, n));
    CHECK(gateway->n_clusters == s->n_clusters && gateway->n_seen == s->n_seen);
    CHECK(mapdpm_reduce(gateway, 8) == MAPDPM_OK && mapdpm_reduce(s, 8) == MAPDPM_OK);
    for (k = 0; k < 8; k++) {
        const int there = mapdpm_get_cluster_relative(s, k, &a, mean[0], variance[0]);

        CHECK(mapdpm_get_cluster_relative(gateway, k, &b, mean[1], variance[1]) == there);
        if (there != 1)
            continue;
        CHECK_NEAR(a.weight, b.weight, 2 * EPS * (double)a.weight);
        for (d = 0; d < 3; d++) { /* each number is rounded up to three times on its way */
            CHECK_NEAR(mean[0][d], mean[1][d], 6 * EPS * (1 + fabs((double)mean[0][d])));
            CHECK_NEAR(variance[0][d], variance[1][d], 6 * EPS * (double)variance[0][d]);
        }
    }
}

/* Without a base, a learner that could have one learns as if it could not. */
static void may_have_none(mapdpm_options o)
{
    mapdpm_options plain = o;
    mapdpm_stream *s, *t;
    uint64_t state = 11;
    unsigned i;

    plain.with_base = 0;
    s = begin(&first, &o);
    t = begin(&second, &plain);
    for (i = 0; i < 1500; i++) {
        uint32_t one = 0, two = 0;
        md_real x[3], a = 0, b = 0;

        draw(&state, 7, 9, x);
        CHECK(mapdpm_set_group(s, i % 2) == MAPDPM_OK && mapdpm_set_group(t, i % 2) == MAPDPM_OK);
        CHECK(mapdpm_learn(s, x, &one, &a) == MAPDPM_OK && mapdpm_learn(t, x, &two, &b) == MAPDPM_OK);
        CHECK(one == two && (a <= b || a != a) && (a >= b || a != a));
    }
    CHECK_NEAR(own_weight(s), total_weight(t), 2000 * EPS * EPS + 1e-12 + (o.half_life > 0 ? 1e-3 : 0));
}

static int is_base_alone(const mapdpm_stream *s, uint32_t k) { return is_used(s, k) && !(*own_of(s, k) > 0); }

/* What a learner saw itself stays apart from its base, whatever its clusters do, also through a file. */
static void keeps_its_own(mapdpm_options o)
{
    mapdpm_options gateway_options = options_of(o.family, 8);
    mapdpm_stream *const gateway = begin(&third, &gateway_options), *const s = begin(&first, &o);
    uint64_t state = 17, more = 29;
    double base;
    size_t n;
    int round;

    learn_some(gateway, 500, 4, &state);
    base = total_weight(gateway);
    CHECK(set_base(s, gateway) == MAPDPM_OK && s->n_seen == 0);
    CHECK(s->n_clusters == gateway->n_clusters);
    CHECK_NEAR(total_weight(s), base, 8 * EPS * base);
    CHECK(mapdpm_summary_bytes(s, sizeof(md_real)) < mapdpm_summary_bytes(gateway, sizeof(md_real)));
    for (round = 0; round < 8; round++) {
        learn_some(s, 100, 6, &more);
        CHECK_OK(restore(&second, file, save(s, file)));
        CHECK(have_same_file(s, &second.stream));
        if (!FORGETS(s) && s->when_full == MAPDPM_FULL_MERGE && MD_WINDOW(s) == 0) { /* nothing is lost or moved */
            CHECK_NEAR(own_weight(s), (round + 1) * 100, 0);
            CHECK_NEAR(total_weight(s), base + (round + 1) * 100, 64 * EPS * base);
        }
        n = summarize(gateway);
        if (round % 2 == 0)
            CHECK_OK(mapdpm_set_base(s, file, n));
    }
}

/* The same base again changes no more than rounding does; no base takes away all that others saw. */
static void a_base_is_replaced(mapdpm_options o)
{
    mapdpm_options gateway_options = options_of(o.family, 16);
    mapdpm_stream *const gateway = begin(&third, &gateway_options), *const s = begin(&first, &o);
    uint64_t state = 23, more = 31;
    uint32_t ids[K_MOST], k;
    double own;

    learn_some(gateway, 500, 5, &state);
    CHECK_OK(set_base(s, gateway));
    learn_some(s, 60, 2, &more);
    own = own_weight(s);
    memcpy(ids, ids_of(s), sizeof(uint32_t) * s->max_clusters);
    memcpy(&second, &first, s->bytes);
    CHECK_OK(set_base(s, gateway));
    CHECK(memcmp(ids, ids_of(s), sizeof(uint32_t) * s->max_clusters) == 0);
    CHECK(s->n_clusters == second.stream.n_clusters);
    for (k = 0; k < s->max_clusters; k++)
        if (is_used(s, k))
            CHECK_NEAR(*slot_of(s, k), *slot_of(&second.stream, k), 8 * EPS * (double)*slot_of(s, k));
    CHECK_OK(set_base(s, begin(&third, &gateway_options)));
    CHECK_NEAR(total_weight(s), own, 8 * EPS * own);
    for (k = 0; k < s->max_clusters; k++)
        CHECK(!is_base_alone(s, k));
}

/* A good file with another length, another bit, or variances beyond all limits. */
static void errors_change_nothing(void)
{
    mapdpm_options o = with_base(MAPDPM_NORMAL_GAMMA, 4), gateway_options = options_of(MAPDPM_NORMAL_GAMMA, 8);
    mapdpm_stream *const s = begin(&first, &o), *const gateway = begin(&third, &gateway_options);
    uint64_t state = 41;
    uint32_t k;
    size_t n;

    learn_some(gateway, 300, 6, &state);
    learn_some(s, 50, 2, &state);
    n = summarize(gateway);
    memcpy(&second, &first, s->bytes);
    CHECK(mapdpm_set_base(s, file, n - 1) == MAPDPM_E_TRUNCATED);
    file[n / 2] ^= 1;
    CHECK(mapdpm_set_base(s, file, n) == MAPDPM_E_DAMAGED);
    file[n / 2] ^= 1;
    CHECK(mapdpm_pool_summary(s, file, n) == MAPDPM_E_SPACE && is_same(&first, &second));
    for (k = 0; k < 3 * (uint32_t)sizeof(md_real); k++) /* the last variances */
        file[n - 5 - k] = k % sizeof(md_real) == 0 ? 0x7e : 0x11;
    repair(file, n);
    CHECK(mapdpm_set_base(s, file, n) == MAPDPM_E_RANGE && is_same(&first, &second));
    CHECK(mapdpm_set_base(NULL, file, n) == MAPDPM_E_ARGUMENT && mapdpm_set_base(s, NULL, n) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_summary_bytes(s, 2) == 0);
    CHECK(mapdpm_summary_write(s, sizeof(md_real), file, 10, &n) == MAPDPM_E_SPACE && is_same(&first, &second));
    CHECK_REFUSED(mapdpm_set_base(gateway, file, n));
}

/* More clusters than slots: those of most tables come first, and the learner's own stay. */
static void the_heaviest_come_first(void)
{
    mapdpm_options o = with_base(MAPDPM_NORMAL_GAMMA, 4), gateway_options = options_of(MAPDPM_NORMAL_GAMMA, K_MOST);
    mapdpm_stream *const s = begin(&first, &o), *const gateway = begin(&third, &gateway_options);
    uint64_t state = 43;
    uint32_t k;

    gateway_options.max_groups = 1;
    gateway_options.gamma = 1;
    (void)begin(&third, &gateway_options);
    learn_some(s, 40, 1, &state);
    for (k = 0; k < 9; k++) { /* a cluster of k + 1 tables */
        const md_real mean[3] = {(md_real)(40 * (int)k), (md_real)(-20 * (int)k), 7}, variance[3] = {1, 1, 1};
        mapdpm_cluster c = {0, 30, 0};
        uint32_t i;

        for (i = 0; i <= k; i++)
            CHECK_OK(mapdpm_insert(gateway, &c, mean, variance));
        CHECK(mapdpm_reduce(gateway, K_MOST) == MAPDPM_OK && gateway->n_clusters == k + 1);
    }
    CHECK(set_base(s, gateway) == MAPDPM_OK && s->n_clusters == 4);
    CHECK(*own_of(s, 0) >= 40);
    for (k = 1; k < 4; k++)
        CHECK_NEAR(*base_tables_of(s, k), 10 - k, 64 * EPS);
}

static void static_memory_is_enough(void)
{
    mapdpm_options o = with_base(MAPDPM_NORMAL_GAMMA, 8);

    CHECK(mapdpm_stream_bytes(&o) == MAPDPM_STATE_BYTES(3, 8) + MAPDPM_GROUP_BYTES(8, 2) + MAPDPM_BASE_BYTES(3, 8));
}

int main(void)
{
    mapdpm_options o = with_base(MAPDPM_NORMAL_GAMMA, 8);

    a_summary_is_complete(MAPDPM_NORMAL_GAMMA);
    a_summary_is_complete(MAPDPM_NORMAL_KNOWN_VARIANCE);
    if (!WITH_GROUPS) { /* this library is compiled without groups, and so without a base */
        CHECK(mapdpm_stream_bytes(&o) == 0);
        return REPORT();
    }
    may_have_none(o);
    may_have_none(with_base(MAPDPM_NORMAL_KNOWN_VARIANCE, 6));
    o.when_full = MAPDPM_FULL_MERGE;
    keeps_its_own(o);
    a_base_is_replaced(o);
    o.window = 9;
    o.half_life = 300;
    may_have_none(o);
    keeps_its_own(o);
    o.half_life = 0;
    o.when_full = MAPDPM_FULL_LEAST_LOSS;
    keeps_its_own(o);
    a_base_is_replaced(with_base(MAPDPM_NORMAL_KNOWN_VARIANCE, 8));
    errors_change_nothing();
    the_heaviest_come_first();
    static_memory_is_enough();
    return REPORT();
}
