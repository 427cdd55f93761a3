/* The search of a warm-up for the features that carry clusters: from all; in each alone; from those that have clusters alone
 * (docs/maths.md, section 39). A search is all trials of a prior (settle.c), in the features that are marked.
 */
#include "stream/mapdpm_steps.h"

/* The nats that are no chance. */
#define CLEAR_NATS ((md_real)3)
enum { MOST_CLIMBS = 4, MOST_COMPARED = 256 };
/* A feature of one normal cluster has a larger statistic of its skewness and kurtosis (Jarque and Bera) in one of 20 sets. */
#define ODD_SHAPE ((md_real)6)

/* The searches: last the best again; where values repeat, all features whatever they carry, and if these hide clusters the
 * best once more. */
enum { FROM_ALL = 0, ALONE = 1, TOGETHER = 2, AGAIN = 3, IN_ALL = 4, LAST = 5 };

/* The part of the log joint of the warm-up that is of features without clusters, but for units. */
md_real relevance_joint(const mapdpm_stream *s)
{
    md_real total = 0;
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++)
        if (!is_relevant(s, d)) {
            const feature_spread all = stream_spread(s, d, FROM_CLUSTERS);

            total += all.total > 0 ? evidence_of_one(all.points, all.total) : -all.points * math_log(unit_of(s)[d]);
        }
    return total;
}

static int varies(const mapdpm_stream *s, size_t d) { return stream_spread(s, d, FROM_CLUSTERS).total > 0; }

/* J, from the log joint of the clusters; with one cluster that of no feature, whatever the search has used. A feature that
 * does not vary has no density. */
static md_real worth_of(const mapdpm_stream *s, md_real joint)
{
    md_real D = 0, m = 0;
    size_t d;
    uint32_t k;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const int is_there = varies(s, d);

        D += (md_real)is_there;
        if (!is_relevant(s, d))
            continue;
        m += (md_real)is_there;
        if (s->n_clusters < 2 && relevance_gain(s, d) < LARGEST_REAL)
            joint -= relevance_gain(s, d);
        for (k = 0; k < s->width && !is_there; k++)
            if (is_used(s, k))
                joint -= evidence_in(s, view_of(s, k, s->now), d) + *slot_of(s, k) * math_log(unit_of(s)[d]);
    }
    return s->n_clusters > 1 ? joint - gamma_merge(m + 1, D - m + 1, D + 1) : joint;
}

/* Choose the features of the search that has ended if J is larger than before. */
static int is_better(mapdpm_stream *s, settling *z, md_real joint)
{
    const md_real worth = worth_of(s, joint);
    size_t d, m = 0;

    if (!(worth > z->worth))
        return 0;
    for (d = 0; d < MD_FEATURES(s); d++)
        m += is_relevant(s, d) && varies(s, d);
    z->worth = worth;
    z->chosen_share = z->best_share;
    z->chosen_shape = z->best_shape;
    for (d = 0; d < MD_FEATURES(s); d++) {
        uint32_t *const word = relevance_of(s) + d;

        *word &= ~MD_CHOSEN;
        if (s->n_clusters < 2 || m == 0 || (is_relevant(s, d) && varies(s, d))) /* one is relevant at least */
            *word |= MD_CHOSEN;
    }
    return 1;
}

/* Take the best features for the clusters at hand. Returns whether they are others, and any. *is_clear says whether all
 * features carry these clusters beyond chance. */
static int climb(mapdpm_stream *s, int *is_clear)
{
    const size_t D = MD_FEATURES(s);
    md_real *const gains = relevance_gains(s), least;
    size_t d, m = 0;
    int changes = 0;

    *is_clear = s->n_clusters > 1;
    for (d = 0; d < D; d++)
        gains[d] = relevance_gain(s, d);
    least = relevance_least(gains, D);
    for (d = 0; d < D; d++) {
        m += gains[d] > least;
        if (varies(s, d) && !(gains[d] > CLEAR_NATS))
            *is_clear = 0;
    }
    for (d = 0; d < D && m > 0 && s->n_clusters > 1; d++)
        changes |= relevance_mark(s, d, gains[d] > least);
    memset(gains, 0, D * sizeof *gains);
    return changes;
}

/* Whether the values of a feature have not the shape of one normal cluster. One that has is not worth a search. */
static int has_odd_shape(const mapdpm_stream *s, size_t d)
{
    md_real mean, variance, n = 0, cubes = 0, fourth = 0, skewness, kurtosis;
    size_t i;

    warmup_spread(s, d, &mean, &variance);
    for (i = 0; i < MD_WARMUP(s); i++)
        if (is_present(warmup_point(s, i)[d])) {
            const md_real t = warmup_point(s, i)[d] - mean, square = t * (t / variance);

            n += 1;
            cubes += t / variance * square;
            fourth += square * square;
        }
    if (!(fourth > 0)) /* none is there, or all are the same */
        return 0;
    skewness = cubes * (cubes / n) * (variance / n);
    kurtosis = fourth / n - 3;
    return n / 6 * (skewness + kurtosis * kurtosis / 4) > ODD_SHAPE;
}

/* Whether fewer than three of four values differ, of the first ones: a value that repeats is a cluster without a width. */
static int repeats(const mapdpm_stream *s, size_t d)
{
    const size_t n = MD_WARMUP(s) < MOST_COMPARED ? MD_WARMUP(s) : MOST_COMPARED;
    size_t i, j, there = 0, again = 0;

    for (i = 0; i < n; i++) {
        const md_real x = warmup_point(s, i)[d];

        there += (size_t)is_present(x);
        for (j = 0; j < i && !(warmup_point(s, j)[d] >= x && warmup_point(s, j)[d] <= x); j++)
            ;
        again += j < i;
    }
    return 4 * again > there;
}

/* Whether the feature has clusters of its own that are no chance: what they gain, less what more labels cost. */
static int has_own_clusters(const mapdpm_stream *s, size_t d)
{
    md_real gain = relevance_gain(s, d), n = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            if (n > 0)
                gain += s->log_alpha - merge_size_term(n, *slot_of(s, k));
            n += *slot_of(s, k);
        }
    return s->n_clusters > 1 && gain > CLEAR_NATS;
}

/* The next search is in the features with these bits, or in all. */
static void search_in(mapdpm_stream *s, uint32_t bits)
{
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++)
        (void)relevance_mark(s, d, (relevance_of(s)[d] & bits) == bits);
}

static void search_in_one(mapdpm_stream *s, size_t own)
{
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++)
        (void)relevance_mark(s, d, d == own);
}

/* The features with clusters of their own. Returns whether there are any, and others than those chosen. */
static int begin_together(mapdpm_stream *s)
{
    size_t d;
    int any = 0, differ = 0;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const uint32_t word = relevance_of(s)[d];
        const int alone = (word & MD_ALONE) != 0, chosen = (word & MD_CHOSEN) != 0;

        any |= alone;
        differ |= alone != chosen;
    }
    search_in(s, MD_ALONE);
    return any && differ;
}

/* The best features once more, with their prior. */
static void search_again(mapdpm_stream *s, settling *z, uint16_t search)
{
    z->search = search;
    z->best_share = z->chosen_share;
    z->best_shape = z->chosen_shape;
    search_in(s, MD_CHOSEN);
}

/* Mark the features whose values repeat. Returns whether any of those that carry clusters has no step: then each such value
 * would be a cluster. */
static int mark_repeats(mapdpm_stream *s)
{
    size_t d;
    int any = 0;

    for (d = 0; d < MD_FEATURES(s); d++)
        if (repeats(s, d)) {
            relevance_of(s)[d] |= MD_REPEATS;
            any |= is_relevant(s, d) && !(HAS_RESOLUTION(s) && resolution_of(s)[d] > 0);
        }
    return any;
}

/* What follows the search in the best features: all of them are taken where values repeat and as many clusters are found, for
 * their noise holds values together that steps and diagonal covariances do not. Returns 0 after the last search. */
static int search_all(mapdpm_stream *s, settling *z)
{
    size_t d;

    if (z->search == AGAIN) {
        z->climbs = mark_repeats(s) || s->n_clusters > UINT16_MAX ? 0 : (uint16_t)s->n_clusters; /* to be found in all */
        if (relevance_repeats(s)) {
            z->search = IN_ALL;
            search_in(s, 0);
            return 1;
        }
    } else if (z->search == IN_ALL && s->n_clusters < z->climbs) {
        search_again(s, z, LAST);
        return 1;
    }
    for (d = 0; d < MD_FEATURES(s); d++)
        relevance_of(s)[d] &= z->search == LAST ? MD_IRRELEVANT : MD_IRRELEVANT | MD_REPEATS;
    return 0;
}

/* A search has ended, with clusters of this log joint. Set the features of the next one and return 1; 0 after the last. */
int relevance_next(mapdpm_stream *s, settling *z, md_real joint)
{
    int is_clear = 0;

    if (z->search >= AGAIN)
        return search_all(s, z);
    if (z->search == ALONE) {
        if (has_own_clusters(s, z->feature))
            relevance_of(s)[z->feature] |= MD_ALONE;
        z->feature++;
    } else if (is_better(s, z, joint) && climb(s, &is_clear) && z->climbs < MOST_CLIMBS) {
        z->climbs++;
        return 1;
    } else if (z->search == FROM_ALL && !(is_clear && z->climbs == 0) && MD_FEATURES(s) > 1) {
        z->search = ALONE;
    }
    while (z->search == ALONE && z->feature < MD_FEATURES(s) && !has_odd_shape(s, z->feature))
        z->feature++;
    if (z->search == ALONE && z->feature < MD_FEATURES(s)) {
        search_in_one(s, z->feature);
    } else if (z->search == ALONE && begin_together(s)) {
        z->search = TOGETHER;
        z->climbs = 0;
    } else {
        search_again(s, z, AGAIN);
    }
    return 1;
}

/* Whether the search that begins has its prior: it is the best one again. */
int relevance_is_chosen(const settling *z) { return z->search == AGAIN || z->search == LAST; }
