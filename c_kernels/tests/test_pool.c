/* Gateways: statistics of many learners in one, in any order, with nothing lost. */
#include "files.h"

enum { PARTS = 3, N = 3000 };

static memory parts[PARTS], all;

static void learn_parts(const mapdpm_options *o, uint64_t seed)
{
    uint64_t state = seed;
    unsigned p;

    for (p = 0; p < PARTS; p++)
        learn_drawn(begin(&parts[p], o), N, 3 + p, 12.0, &state);
}

/* The weight, and the weighted mean of feature 0 in the user's units. */
static void totals(const mapdpm_stream *s, double *weight, double *mean)
{
    md_real anchor[3], parameters[3 * 3], means[3];
    mapdpm_cluster c;
    uint32_t k;

    *weight = *mean = 0;
    CHECK_OK(mapdpm_get_prior(s, anchor, parameters));
    for (k = 0; k < s->max_clusters; k++)
        if (mapdpm_get_cluster_relative(s, k, &c, means, NULL) == 1) {
            *weight += (double)c.weight;
            *mean += (double)c.weight * ((double)means[0] + (double)anchor[0]);
        }
    *mean /= *weight;
}

static size_t pooled(const mapdpm_options *o, const unsigned *order, unsigned char *into)
{
    mapdpm_stream *const s = begin(&all, o);
    unsigned p;

    for (p = 0; p < PARTS; p++)
        CHECK_OK(mapdpm_pool(s, &parts[order[p]].stream));
    CHECK(mapdpm_reduce(s, 8) == MAPDPM_OK && s->n_clusters <= 8);
    return save(s, into);
}

static void pools(mapdpm_options o, int with_warmup)
{
    static const unsigned forth[PARTS] = {0, 1, 2}, back[PARTS] = {2, 0, 1};
    mapdpm_options each = o;
    double weight, mean, sum = 0, moment = 0;
    size_t n;
    unsigned p;

    if (with_warmup)
        each = warming(o.max_clusters, 60); /* each has its own prior, and so its own anchor */
    learn_parts(&each, 3);
    o.max_clusters *= PARTS;
    for (p = 0; p < PARTS; p++) {
        totals(&parts[p].stream, &weight, &mean);
        sum += weight;
        moment += weight * mean;
    }
    n = pooled(&o, forth, file);
    CHECK(n == pooled(&o, back, again) && memcmp(file, again, n) == 0);
    totals(&all.stream, &weight, &mean);
    CHECK(fabs(weight - sum) <= 64 * EPS * sum);
    CHECK(fabs(mean - moment / sum) <= 256 * EPS * 100);
}

static void refusals(void)
{
    const mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 6), cold = warming(6, 50);
    mapdpm_options other = o;
    mapdpm_stream *const s = begin(&all, &o);

    learn_parts(&o, 8);
    CHECK(mapdpm_pool(s, NULL) == MAPDPM_E_ARGUMENT && mapdpm_pool(NULL, s) == MAPDPM_E_ARGUMENT);
    CHECK_REFUSED(mapdpm_pool(s, s));
    CHECK_OK(mapdpm_pool(s, &parts[0].stream));
    memcpy(&second, &all, sizeof all);
    CHECK(mapdpm_pool(s, &parts[2].stream) == MAPDPM_E_SPACE && is_same(&second, &all));
    other.n_features = 2;
    CHECK_REFUSED(mapdpm_pool(begin(&first, &other), s));
    CHECK(mapdpm_pool(begin(&first, &cold), s) == MAPDPM_E_WARMING);
    CHECK(mapdpm_pool(s, &first.stream) == MAPDPM_E_WARMING);
}

/* Weights add up when clusters merge, so the sum must stay within the limit of a snapshot. */
static void weight_limit(void)
{
    static const md_real mean[3] = {1, -2, 3}, variance[3] = {1, 1, 1};
    const mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 6);
    mapdpm_stream *const s = begin(&all, &o), *const t = begin(&parts[0], &o);
    mapdpm_cluster c;

    memset(&c, 0, sizeof c);
    c.weight = (md_real)6e17;
    CHECK(mapdpm_insert(s, &c, mean, variance) == MAPDPM_OK && mapdpm_insert(t, &c, mean, variance) == MAPDPM_OK);
    memcpy(&second, &all, sizeof all);
    CHECK(mapdpm_insert(s, &c, mean, variance) == MAPDPM_E_RANGE && is_same(&second, &all));
    CHECK(mapdpm_pool(s, t) == MAPDPM_E_RANGE && is_same(&second, &all));
    c.weight = (md_real)3e17;
    CHECK(mapdpm_insert(s, &c, mean, variance) == MAPDPM_OK && mapdpm_reduce(s, 1) == MAPDPM_OK);
    CHECK(restore(&first, file, save(s, file)) == MAPDPM_OK && s->n_clusters == 1);
}

/* Clusters whose squares are finite, but not their sum: refused, so that merging cannot reach infinity or NaN. */
static void wide_clusters(void)
{
    const mapdpm_options narrow = options_of(MAPDPM_NORMAL_GAMMA, 8);
    mapdpm_options o = narrow;
    const md_real wide = FLOAT_OR_DOUBLE(1e30, 1e190), step = FLOAT_OR_DOUBLE(1e14, 1e94);
    const md_real prior[8] = {0, 0, 0, 1, 1, wide, wide, wide};
    mapdpm_stream *const s = begin(&all, &narrow);
    md_real mean[3], variance[3];
    mapdpm_cluster c;
    unsigned p, i;
    uint32_t k;

    o.parameters = prior;
    for (p = 0; p < PARTS; p++) {
        mapdpm_stream *const t = begin(&parts[p], &o);

        for (i = 0; i < 2000; i++) {
            const md_real x[3] = {i % 2 ? step : -step, 0, 0};

            CHECK_OK(mapdpm_learn(t, x, NULL, NULL));
        }
        memcpy(&second, &all, s->bytes);
        CHECK(mapdpm_pool(s, t) == MAPDPM_E_RANGE && is_same(&second, &all));
    }
    CHECK_OK(mapdpm_reduce(s, 1));
    for (k = 0; k < 8; k++)
        if (mapdpm_get_cluster(s, k, &c, mean, variance) == 1)
            CHECK(variance[0] <= LARGEST_REAL && mean[0] - mean[0] == 0);
}

/* What insert takes, a snapshot gives back: the low part of a weight is at most half of it. */
static void low_parts(void)
{
    const mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 8);
    const md_real mean[3] = {0, 0, 0}, variance[3] = {1, 1, 1};
    mapdpm_stream *const s = begin(&all, &o);
    mapdpm_cluster c = {0, 10, (md_real)-5.1};

    CHECK_REFUSED(mapdpm_insert(s, &c, mean, variance));
    c.weight_low = (md_real)5.1;
    CHECK_REFUSED(mapdpm_insert(s, &c, mean, variance));
    c.weight_low = 5;
    CHECK_OK(mapdpm_insert(s, &c, mean, variance));
    c.weight_low = -5;
    CHECK_OK(mapdpm_insert(s, &c, mean, variance));
    CHECK_OK(restore(&second, file, save(s, file)));
}

/* More clusters than are compared in all pairs: they merge in parts, and the order of insertion still does not matter. */
static void many_clusters(int32_t family, uint32_t most)
{
    const mapdpm_options o = options_of(family, 600);
    mapdpm_stream *const s = begin(&all, &o), *const t = begin(&parts[0], &o);
    const md_real variance[3] = {1, 1, 1};
    uint32_t i;

    for (i = 0; i < 600; i++) {
        const uint32_t there[2] = {i, 599 - i};
        uint32_t j;

        for (j = 0; j < 2; j++) {
            const uint32_t k = there[j]; /* a cluster of each has a twin, and some of many are near */
            const md_real mean[3] = {(md_real)(k / 2 % 7) * 30, (md_real)(k / 2 % 11) * 20, (md_real)(k / 2 % 100)};
            const mapdpm_cluster c = {0, (md_real)(1 + k / 2 % 5), 0};

            CHECK_OK(mapdpm_insert(j ? t : s, &c, mean, variance));
        }
    }
    CHECK(mapdpm_reduce(s, most) == MAPDPM_OK && s->n_clusters <= most);
    CHECK(mapdpm_reduce(t, most) == MAPDPM_OK && have_same_file(s, t));
    CHECK_NEAR(total_weight(s), 1800, 600 * EPS);
    CHECK_OK(mapdpm_reduce(t, most));
    CHECK(t->n_clusters <= s->n_clusters);
}

int main(void)
{
    mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 8);

    pools(o, 0);
    pools(o, 1);
    o.half_life = 500;
    pools(o, 0);
    pools(options_of(MAPDPM_NORMAL_KNOWN_VARIANCE, 8), 0);
    refusals();
    weight_limit();
    wide_clusters();
    low_parts();
    many_clusters(MAPDPM_NORMAL_GAMMA, 5);
    many_clusters(MAPDPM_NORMAL_GAMMA, 100);
    many_clusters(MAPDPM_NORMAL_KNOWN_VARIANCE, 12);
    return REPORT();
}
