/* Which features carry clusters: the set R of largest J(z, R), docs/maths.md, section 39. The warm-up looks for it, and the
 * learner follows (decision 163). The moments of all features stay, so that any may begin to carry clusters.
 */
#include "stream/mapdpm_steps.h"

/* The nats that a feature must gain at least, and those that are no chance. */
#define ENOUGH_NATS ((md_real)2)
#define CLEAR_NATS ((md_real)3)
/* A value is far from all points beyond so many variances. */
#define FAR_VARIANCES ((md_real)16)
enum { MOST_CLIMBS = 4, MOST_COMPARED = 256 };
/* A feature ends to carry clusters when it falls short so many times in a row: no more than MOST_UNUSUAL, for a file. */
#define MOST_SHORT UINT32_C(8)
/* A feature of one normal cluster has a larger statistic of its skewness and kurtosis (Jarque and Bera) in one of 20 sets. */
#define ODD_SHAPE ((md_real)6)

/* The searches of a warm-up: from all features; in each alone; from those that have clusters alone; last the best again, or
 * all features whatever they carry. */
enum { FROM_ALL = 0, ALONE = 1, TOGETHER = 2, AGAIN = 3, IN_ALL = 4 };

/* What a feature gains by the clusters over one of all points; nothing where it does not vary, and any number where little
 * is known. */
static md_real gain_of(const mapdpm_stream *s, size_t d)
{
    const feature_spread all = stream_spread(s, d, FROM_CLUSTERS);
    md_real gain = 0;
    uint32_t k;

    if (all.points < LEAST_KNOWN)
        return LARGEST_REAL;
    if (!(all.total > 0))
        return 0;
    for (k = 0; k < s->width; k++)
        if (is_used(s, k))
            gain += evidence_in(s, view_of(s, k, s->now), d);
    return gain - evidence_of_one(all.points, all.total);
}

/* The least gain of the features of the best set: R of m features has the m largest gains, and the last of them gains more
 * than the prior asks for it. O(D) a round, and few rounds. */
static md_real least_gain(const md_real *gains, size_t D)
{
    md_real least = ENOUGH_NATS;
    size_t m = D + 1, before, d;

    do {
        before = m;
        for (m = 0, d = 0; d < D; d++)
            m += gains[d] > least;
        if (m > 0)
            least = at_least(math_log((md_real)(D - m + 1) / (md_real)m), ENOUGH_NATS);
    } while (m > 0 && m < before);
    return least;
}

/* A feature begins to carry clusters, or ends. Returns whether that is new. */
static int mark(mapdpm_stream *s, size_t d, int relevant)
{
    uint32_t *const word = relevance_of(s) + d;
    const int changes = relevant != is_relevant(s, d);

    if (relevant)
        *word &= ~MD_IRRELEVANT;
    else
        *word |= MD_IRRELEVANT;
    return changes;
}

/* Numbers of features, in memory that this family does not use: they must be cleared. */
static md_real *gains_of(const mapdpm_stream *s) { return prior_variance_of(s); }

/* ---- the warm-up ------------------------------------------------------------------------------------------------- */

/* What the features that carry no clusters add to the log joint of the warm-up, but for units. */
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
        if (is_there && s->n_clusters < 2)
            joint -= gain_of(s, d);
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
    size_t d;

    if (!(worth > z->worth))
        return 0;
    z->worth = worth;
    z->chosen_share = z->best_share;
    z->chosen_shape = z->best_shape;
    for (d = 0; d < MD_FEATURES(s); d++) {
        uint32_t *const word = relevance_of(s) + d;

        *word &= ~MD_CHOSEN;
        if (s->n_clusters < 2 || (is_relevant(s, d) && varies(s, d)))
            *word |= MD_CHOSEN;
    }
    return 1;
}

/* Take the best features for the clusters at hand. Returns whether they are others, and any. *is_clear says whether all
 * features carry these clusters beyond chance. */
static int climb(mapdpm_stream *s, int *is_clear)
{
    const size_t D = MD_FEATURES(s);
    md_real *const gains = gains_of(s), least;
    size_t d, m = 0;
    int changes = 0;

    *is_clear = s->n_clusters > 1;
    for (d = 0; d < D; d++)
        gains[d] = gain_of(s, d);
    least = least_gain(gains, D);
    for (d = 0; d < D; d++) {
        m += gains[d] > least;
        if (varies(s, d) && !(gains[d] > CLEAR_NATS))
            *is_clear = 0;
    }
    for (d = 0; d < D && m > 0 && s->n_clusters > 1; d++)
        changes |= mark(s, d, gains[d] > least);
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
    if (!(n > 0))
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

/* Whether values of a feature that carries clusters repeat. Then all features stay: their noise is all that keeps each such
 * value from being a cluster. */
static int has_repeats(const mapdpm_stream *s)
{
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++)
        if (is_relevant(s, d) && (relevance_of(s)[d] & MD_REPEATS) != 0)
            return 1;
    return 0;
}

/* Whether the feature has clusters of its own that are no chance: what they gain, less what more labels cost. */
static int has_own_clusters(const mapdpm_stream *s, size_t d)
{
    md_real gain = gain_of(s, d), n = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            if (n > 0)
                gain += s->log_alpha - merge_size_term(n, *slot_of(s, k));
            n += *slot_of(s, k);
        }
    return s->n_clusters > 1 && gain > CLEAR_NATS;
}

static void mark_only(mapdpm_stream *s, uint32_t bits)
{
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++)
        (void)mark(s, d, (relevance_of(s)[d] & bits) != 0);
}

static void mark_one(mapdpm_stream *s, size_t own)
{
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++)
        (void)mark(s, d, d == own);
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
    mark_only(s, MD_ALONE);
    return any && differ;
}

/* A search has ended, with clusters of this log joint. Set the features of the next one and return 1; 0 after the last. */
int relevance_next(mapdpm_stream *s, settling *z, md_real joint)
{
    int is_clear = 0;
    size_t d;

    if (z->search >= AGAIN) {
        for (d = 0; d < MD_FEATURES(s); d++)
            relevance_of(s)[d] &= MD_IRRELEVANT | MD_REPEATS;
        return 0;
    }
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
        mark_one(s, z->feature);
        return 1;
    }
    if (z->search == ALONE && begin_together(s)) {
        z->search = TOGETHER;
        z->climbs = 0;
        return 1;
    }
    z->search = AGAIN;
    z->best_share = z->chosen_share;
    z->best_shape = z->chosen_shape;
    mark_only(s, MD_CHOSEN);
    for (d = 0; d < MD_FEATURES(s); d++)
        if (repeats(s, d))
            relevance_of(s)[d] |= MD_REPEATS;
    if (has_repeats(s)) {
        z->search = IN_ALL;
        for (d = 0; d < MD_FEATURES(s); d++)
            (void)mark(s, d, 1);
    }
    return 1;
}

/* Whether the search that begins has its prior: it is the best one again. */
int relevance_is_chosen(const settling *z) { return z->search == AGAIN; }

/* ---- learning ---------------------------------------------------------------------------------------------------- */

/* To be called when features have begun or ended to carry clusters. */
static void changed(mapdpm_stream *s)
{
    uint32_t k;

    stream_prepare_opening(s);
    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            merge_partner_of(s)[k] = MD_NONE;
            stream_refresh(s, k);
        }
}

static int mark_and_record(mapdpm_stream *s, size_t d, int relevant)
{
    if (!mark(s, d, relevant))
        return 0;
    stream_record(s, relevant ? MAPDPM_RELEVANT : MAPDPM_IRRELEVANT, (uint32_t)d, 0);
    return 1;
}

/* Count a point that was learned; the one before came at the time `before`. A feature whose values have moved away from all
 * points may be a new cluster: it is relevant from now on. */
void relevance_learn(mapdpm_stream *s, const md_real *x, int64_t before)
{
    const uint32_t *const marks = marks_of(s);
    md_real *const all = background_of(s);
    int changes = 0;
    size_t d;

    if (FORGETS(s))
        moments_scale(s, all, half_size(s), math_exp(-to_real((uint64_t)(s->now - before)) * s->rate));
    for (d = 0; d < MD_FEATURES(s); d++) {
        uint32_t *const word = relevance_of(s) + d;
        md_real unused;

        if (!is_marked(marks, d) || (HAS_MISSING(s) && !is_present(x[d])))
            continue;
        if (background_distance(s, x, d, &unused) * background_count(s, d) > FAR_VARIANCES)
            *word += 2;
        else if (*word & MD_COUNT)
            --*word;
        if ((*word & MD_COUNT) < MOST_UNUSUAL)
            continue;
        *word &= ~MD_COUNT;
        changes |= mark_and_record(s, d, 1);
    }
    moments_add(s, all, half_size(s), x, 1);
    if (changes)
        changed(s);
}

/* Find the best features for the clusters at hand. All are relevant if there is one cluster, for nothing is known of where
 * others will be. A feature must fall short several times in a row, and beside more than two clusters (as decision 140), for
 * clusters that overlap in the others may part by it yet. O(K D). */
void relevance_judge(mapdpm_stream *s)
{
    const size_t D = MD_FEATURES(s);
    md_real *const gains = gains_of(s), least;
    size_t d, m = 0;
    int changes = 0;

    for (d = 0; d < D; d++)
        gains[d] = gain_of(s, d) + (is_relevant(s, d) ? HYSTERESIS : -HYSTERESIS);
    least = least_gain(gains, D);
    for (d = 0; d < D; d++)
        m += gains[d] > least;
    for (d = 0; d < D; d++) {
        const int relevant = m == 0 || s->n_clusters < 2 || gains[d] > least;

        if (!relevant && is_relevant(s, d) &&
            (s->n_clusters <= 2 || has_repeats(s) || (++relevance_of(s)[d] & MD_COUNT) < MOST_SHORT))
            continue;
        if (relevant || is_relevant(s, d))
            relevance_of(s)[d] &= ~MD_COUNT;
        changes |= mark_and_record(s, d, relevant);
    }
    memset(gains, 0, D * sizeof *gains);
    if (changes)
        changed(s);
}

int mapdpm_get_relevance(const mapdpm_stream *s, unsigned char *relevant, md_real *nats)
{
    size_t d;

    if (is_none(s) || relevant == NULL || !HAS_RELEVANCE(s))
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    for (d = 0; d < MD_FEATURES(s); d++) {
        relevant[d] = (unsigned char)is_relevant(s, d);
        if (nats)
            nats[d] = gain_of(s, d);
    }
    return MAPDPM_OK;
}
