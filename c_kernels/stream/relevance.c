/* Which features carry clusters: the set R of largest J(z, R), docs/maths.md, section 39. The warm-up looks for it
 * (relevance_search.c), and the learner follows (decision 163). The moments of all features stay, so that any may begin to
 * carry clusters.
 */
#include "stream/mapdpm_steps.h"

/* The nats that a feature must gain at least. */
#define ENOUGH_NATS ((md_real)2)
/* A value is far from all points beyond so many variances. */
#define FAR_VARIANCES ((md_real)16)
/* A feature ends to carry clusters when it falls short so many times in a row: no more than MOST_UNUSUAL, for a file. */
#define MOST_SHORT UINT32_C(8)

/* The nats that a feature gains by the clusters over one of all points: 0 where it does not vary, LARGEST_REAL where little
 * is known. */
md_real relevance_gain(const mapdpm_stream *s, size_t d)
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
md_real relevance_least(const md_real *gains, size_t D)
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
int relevance_mark(mapdpm_stream *s, size_t d, int relevant)
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
md_real *relevance_gains(const mapdpm_stream *s) { return prior_variance_of(s); }

/* Whether values of a feature that carries clusters repeat. Then all features stay: their noise is all that keeps each such
 * value from being a cluster. */
int relevance_repeats(const mapdpm_stream *s)
{
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++)
        if (is_relevant(s, d) && (relevance_of(s)[d] & MD_REPEATS) != 0)
            return 1;
    return 0;
}

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
    if (!relevance_mark(s, d, relevant))
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
    md_real *const gains = relevance_gains(s), least;
    const int may_end = s->n_clusters > 2 && !relevance_repeats(s);
    size_t d, m = 0;
    int changes = 0;

    for (d = 0; d < D; d++)
        gains[d] = relevance_gain(s, d) + (is_relevant(s, d) ? HYSTERESIS : -HYSTERESIS);
    least = relevance_least(gains, D);
    for (d = 0; d < D; d++)
        m += gains[d] > least;
    for (d = 0; d < D; d++) {
        const int relevant = m == 0 || s->n_clusters < 2 || gains[d] > least;

        if (!relevant && is_relevant(s, d)) {
            relevance_of(s)[d] += may_end ? 1u : 0u;
            if (!may_end || (relevance_of(s)[d] & MD_COUNT) < MOST_SHORT)
                continue;
        }
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
        if (nats) {
            const md_real gain = relevance_gain(s, d);

            nats[d] = gain < LARGEST_REAL ? gain : math_nan();
        }
    }
    return MAPDPM_OK;
}
