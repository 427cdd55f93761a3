/* Gateways: statistics of many learners in one, in any order, with nothing lost. */
#include "learners.h"

enum { PARTS = 3, N = 3000 };

static memory parts[PARTS], all;
static unsigned char file[2][MD_MEMORY];

static void learn_parts(const mapdpm_options *o, uint64_t seed)
{
    uint64_t state = seed;
    unsigned p, i;
    md_real x[3];

    for (p = 0; p < PARTS; p++) {
        mapdpm_stream *const s = begin(&parts[p], o);

        for (i = 0; i < N; i++) {
            draw(&state, 3 + p, 12.0, x);
            CHECK(mapdpm_learn(s, x, NULL, NULL) == MAPDPM_OK);
        }
    }
}

/* The weight, and the weighted mean of feature 0 in the user's units. */
static void totals(const mapdpm_stream *s, double *weight, double *mean)
{
    md_real anchor[3], parameters[3 * 3], means[3];
    mapdpm_cluster c;
    uint32_t k;

    *weight = *mean = 0;
    CHECK(mapdpm_get_prior(s, anchor, parameters) == MAPDPM_OK);
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
    size_t n = 0;
    unsigned p;

    for (p = 0; p < PARTS; p++)
        CHECK(mapdpm_pool(s, &parts[order[p]].stream) == MAPDPM_OK);
    CHECK(mapdpm_reduce(s, 8) == MAPDPM_OK && s->n_clusters <= 8);
    CHECK(mapdpm_snapshot_write(s, into, MD_MEMORY, &n) == MAPDPM_OK);
    return n;
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
    n = pooled(&o, forth, file[0]);
    CHECK(n == pooled(&o, back, file[1]) && memcmp(file[0], file[1], n) == 0);
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
    CHECK(mapdpm_pool(s, s) == MAPDPM_E_ARGUMENT);
    CHECK(mapdpm_pool(s, &parts[0].stream) == MAPDPM_OK);
    memcpy(&second, &all, sizeof all);
    CHECK(mapdpm_pool(s, &parts[2].stream) == MAPDPM_E_SPACE && is_same(&second, &all));
    other.n_features = 2;
    CHECK(mapdpm_pool(begin(&first, &other), s) == MAPDPM_E_ARGUMENT);
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
    size_t n = 0;

    memset(&c, 0, sizeof c);
    c.weight = (md_real)6e17;
    CHECK(mapdpm_insert(s, &c, mean, variance) == MAPDPM_OK && mapdpm_insert(t, &c, mean, variance) == MAPDPM_OK);
    memcpy(&second, &all, sizeof all);
    CHECK(mapdpm_insert(s, &c, mean, variance) == MAPDPM_E_RANGE && is_same(&second, &all));
    CHECK(mapdpm_pool(s, t) == MAPDPM_E_RANGE && is_same(&second, &all));
    c.weight = (md_real)3e17;
    CHECK(mapdpm_insert(s, &c, mean, variance) == MAPDPM_OK && mapdpm_reduce(s, 1) == MAPDPM_OK);
    CHECK(mapdpm_snapshot_write(s, file[0], MD_MEMORY, &n) == MAPDPM_OK);
    CHECK(mapdpm_snapshot_read(&first.stream, MD_MEMORY, file[0], n) == MAPDPM_OK && s->n_clusters == 1);
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

            CHECK(mapdpm_learn(t, x, NULL, NULL) == MAPDPM_OK);
        }
        memcpy(&second, &all, s->bytes);
        CHECK(mapdpm_pool(s, t) == MAPDPM_E_RANGE && is_same(&second, &all));
    }
    CHECK(mapdpm_reduce(s, 1) == MAPDPM_OK);
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
    size_t n;

    CHECK(mapdpm_insert(s, &c, mean, variance) == MAPDPM_E_ARGUMENT);
    c.weight_low = (md_real)5.1;
    CHECK(mapdpm_insert(s, &c, mean, variance) == MAPDPM_E_ARGUMENT);
    c.weight_low = 5;
    CHECK(mapdpm_insert(s, &c, mean, variance) == MAPDPM_OK);
    c.weight_low = -5;
    CHECK(mapdpm_insert(s, &c, mean, variance) == MAPDPM_OK);
    CHECK(mapdpm_snapshot_write(s, file[0], MD_MEMORY, &n) == MAPDPM_OK);
    CHECK(mapdpm_snapshot_read(&second.stream, sizeof second, file[0], n) == MAPDPM_OK);
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
    return REPORT();
}
