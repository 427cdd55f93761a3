/* A learner of groups: shares, tables, places, snapshots. The arithmetic is compared with scipy by Python
 * (tests/stream/test_hdp.py). */
#include "files.h"

enum { PLACES = 3 };

static mapdpm_options grouped(int32_t family, uint32_t max_clusters)
{
    mapdpm_options o = options_of(family, max_clusters);

    o.max_groups = PLACES;
    o.gamma = 2;
    return o;
}

/* Each group has its own centres. */
static int learn_some(mapdpm_stream *s, unsigned n, unsigned n_groups, uint64_t *state)
{
    md_real x[3];
    unsigned i;
    int error = MAPDPM_OK;

    for (i = 0; i < n && error == MAPDPM_OK; i++) {
        const uint32_t group = (uint32_t)(check_random(state) >> 40) % n_groups;

        draw(state, 2 + group, 9, x);
        error = mapdpm_set_group(s, 100 + group);
        if (error == MAPDPM_OK)
            error = mapdpm_learn(s, x, NULL, NULL);
    }
    return error;
}

static void check_whole(const mapdpm_stream *s)
{
    double all = (double)*gamma_of(s), total;
    md_real shares[K_MOST + 1];
    uint32_t k, row, group;

    for (k = 0; k < s->max_clusters; k++)
        if (is_used(s, k)) {
            CHECK(tables_of(s)[k] > 0);
            all += (double)tables_at(s, k, decay_of(s, k, s->now));
        }
    /* The sum of all tables is kept up to 256 points, each of which rounds once. */
    CHECK_NEAR(*all_tables_of(s), all, 300 * EPS * all);
    for (row = 0; row <= PLACES; row++) {
        const int there = row < PLACES ? mapdpm_get_group(s, row, &group, shares) : 1 - mapdpm_get_shares(s, shares);

        if (there != 1)
            continue;
        for (k = 0, total = 0; k <= s->max_clusters; k++)
            total += (double)shares[k];
        CHECK_NEAR(total, 1, 400 * EPS);
    }
}

static void stays_whole_and_goes_on_from_a_file(mapdpm_options o)
{
    mapdpm_stream *const s = begin(&first, &o);
    uint64_t one = 7, other;
    int round;

    for (round = 0; round < 12; round++) {
        CHECK_OK(learn_some(s, 100, o.when_groups_full == MAPDPM_GROUPS_REPLACE ? 5 : 3, &one));
        if (!s->warming)
            check_whole(s);
        CHECK_OK(restore(&second, file, save(s, file)));
        other = one;
        CHECK(learn_some(s, 30, 3, &one) == MAPDPM_OK && learn_some(&second.stream, 30, 3, &other) == MAPDPM_OK);
        CHECK(have_same_file(s, &second.stream));
    }
}

static void refuses_what_it_cannot_do(void)
{
    mapdpm_options o = grouped(MAPDPM_NORMAL_GAMMA, 4), flat = options_of(MAPDPM_NORMAL_GAMMA, 4);
    const md_real x[3] = {0, 0, 0};
    mapdpm_stream *s = begin(&first, &o);
    md_real score, known;
    uint32_t group;

    CHECK(mapdpm_learn(s, x, NULL, NULL) == MAPDPM_E_GROUP);
    for (group = 0; group < PLACES; group++)
        CHECK(mapdpm_set_group(s, group) == MAPDPM_OK && mapdpm_learn(s, x, NULL, NULL) == MAPDPM_OK);
    CHECK_OK(mapdpm_set_group(s, 77));
    memcpy(&second, &first, s->bytes);
    CHECK(mapdpm_learn(s, x, NULL, NULL) == MAPDPM_E_GROUP && is_same(&first, &second));
    CHECK_OK(mapdpm_predict(s, x, NULL, &score));
    CHECK(mapdpm_set_group(s, MAPDPM_NO_ID) == MAPDPM_OK && mapdpm_learn(s, x, NULL, NULL) == MAPDPM_E_GROUP);
    CHECK(mapdpm_predict(s, x, NULL, &known) == MAPDPM_OK && score <= known && score >= known);
    CHECK_REFUSED(mapdpm_get_group(s, PLACES, &group, NULL));
    s = begin(&first, &flat);
    CHECK(mapdpm_set_group(s, 1) == MAPDPM_E_ARGUMENT && mapdpm_get_shares(s, &score) == MAPDPM_E_ARGUMENT);
    CHECK_WITH(o.gamma, 0, is_refused(&o));
    o.alpha = 0;
    o.log_alpha = -100;
    CHECK(is_refused(&o));
    CHECK(mapdpm_bank_bytes(&o, 2) == 0);
}

static void static_memory_is_enough(void)
{
    mapdpm_options o = grouped(MAPDPM_NORMAL_GAMMA, 8);

    CHECK(mapdpm_stream_bytes(&o) == MAPDPM_STATE_BYTES(3, 8) + MAPDPM_GROUP_BYTES(8, PLACES));
}

/* The slots of a device are tables: a cluster that a learner of groups is given has one table, whatever its weight. */
static void inserted_clusters_are_tables(void)
{
    mapdpm_options o = grouped(MAPDPM_NORMAL_KNOWN_VARIANCE, 8), flat = options_of(MAPDPM_NORMAL_KNOWN_VARIANCE, 8);
    mapdpm_stream *const s = begin(&first, &o), *const device = begin(&second, &flat);
    md_real shares[K_MOST + 1], x[3];
    uint64_t state = 3;
    unsigned i, round;

    for (i = 0; i < 300; i++) {
        draw(&state, 2, 9, x);
        CHECK_OK(mapdpm_learn(device, x, NULL, NULL));
    }
    CHECK(device->n_clusters == 2);
    for (round = 0; round < 3; round++)
        CHECK_OK(mapdpm_pool(s, device));
    CHECK(mapdpm_reduce(s, 8) == MAPDPM_OK && s->n_clusters == 2);
    CHECK_OK(mapdpm_get_shares(s, shares));
    CHECK_NEAR(shares[0], 3.0 / 8, 8 * EPS); /* three devices, gamma is 2 */
    CHECK_NEAR(shares[1], 3.0 / 8, 8 * EPS);
    CHECK_NEAR(shares[8], 2.0 / 8, 8 * EPS);
}

int main(void)
{
    mapdpm_options o = grouped(MAPDPM_NORMAL_GAMMA, 6);

    if (!WITH_GROUPS) { /* this library is compiled without groups */
        CHECK(mapdpm_stream_bytes(&o) == 0);
        CHECK_REFUSED(mapdpm_init(&first.stream, sizeof first.bytes, &o));
        o.max_groups = 0;
        CHECK_REFUSED(mapdpm_set_group(begin(&second, &o), 1));
        return REPORT();
    }
    stays_whole_and_goes_on_from_a_file(o);
    stays_whole_and_goes_on_from_a_file(grouped(MAPDPM_NORMAL_KNOWN_VARIANCE, 6));
    o.when_groups_full = MAPDPM_GROUPS_REPLACE;
    stays_whole_and_goes_on_from_a_file(o);
    o.half_life = 60;
    o.window = 9;
    stays_whole_and_goes_on_from_a_file(o);
    o.warmup = 150;
    o.parameters = NULL;
    stays_whole_and_goes_on_from_a_file(o);
    refuses_what_it_cannot_do();
    static_memory_is_enough();
    inserted_clusters_are_tables();
    return REPORT();
}
