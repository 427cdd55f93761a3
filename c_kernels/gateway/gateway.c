/* Many learners into one: clusters are inserted by their statistics. reduce.c merges them. */
#include "gateway/mapdpm_summary.h"

/* The first free slot. There is one. */
static uint32_t next_slot(const mapdpm_stream *s)
{
    return s->n_clusters == s->width ? s->width : stream_free_slot(s);
}

/* To be called when the moments of an inserted cluster are there: all of it is the learner's own. With groups,
 * groups_total follows the last one. */
static void seat(mapdpm_stream *s, uint32_t k, md_real tables)
{
    stream_refresh(s, k);
    if (HAS_BASE(s))
        base_none(s, k);
    if (HAS_RELEVANCE(s))
        moments_merge(s, background_of(s), slot_of(s, k), half_size(s));
    if (HAS_SURPRISE(s))
        surprise_seat(s, k);
    if (IS_GROUPED(s))
        groups_seat(s, k, tables);
}

int mapdpm_insert(mapdpm_stream *s, const mapdpm_cluster *cluster, const md_real *mean, const md_real *variance)
{
    return mapdpm_insert_counted(s, cluster, NULL, mean, variance);
}

int mapdpm_insert_counted(mapdpm_stream *s, const mapdpm_cluster *cluster, const md_real *counts, const md_real *mean,
                          const md_real *variance)
{
    md_real *slot;
    uint64_t n;
    uint32_t j, k;
    size_t d;

    if (is_none(s) || HAS_STATES(s) || cluster == NULL || mean == NULL || variance == NULL)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    if ((counts != NULL && !HAS_MISSING(s)) ||
        !(cluster->weight > 0 && cluster->weight <= MOST_WEIGHT && cluster->weight_low >= -MD_HALF * cluster->weight &&
          cluster->weight_low <= MD_HALF * cluster->weight))
        return MAPDPM_E_ARGUMENT;
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real centre = mean[d] * unit_of(s)[d], spread = variance[d] * unit_of(s)[d] * unit_of(s)[d];

        if (counts != NULL && !(counts[d] >= 0 && counts[d] <= MOST_WEIGHT))
            return MAPDPM_E_ARGUMENT;
        if (!(centre >= -COORDINATE_LIMIT && centre <= COORDINATE_LIMIT && spread >= 0 && spread <= MOST_SPREAD))
            return MAPDPM_E_RANGE;
    }
    if (!weight_fits(s->n_seen, cluster->weight))
        return MAPDPM_E_RANGE;
    if (s->n_clusters == MD_SLOTS(s))
        return MAPDPM_E_SPACE;
    if (s->next_id == MD_NONE)
        return MAPDPM_E_IDS;
    k = next_slot(s);
    stream_open_slot(s, k);
    ids_of(s)[k] = s->next_id++;
    slot = slot_of(s, k);
    *slot = cluster->weight;
    if (COMPENSATED)
        slot[half_size(s)] = cluster->weight_low;
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real unit = unit_of(s)[d], count = counts ? counts[d] : cluster->weight;

        if (HAS_MISSING(s))
            counts_in(s, slot)[d] = count;
        mean_in(s, slot)[d] = count > 0 ? mean[d] * unit : 0;
        squares_in(s, slot)[d] = variance[d] * unit * unit * count;
        if (HAS_RESOLUTION(s))
            squares_in(s, slot)[d] += cell_of(s, d) * count;
    }
    n = to_uint64(cluster->weight + MD_HALF);
    s->n_seen += n;
    for (j = 0; j < s->width; j++) /* the others do not become idle by this */
        if (is_used(s, j))
            last_seen_of(s)[j] += (uint32_t)n;
    last_seen_of(s)[k] = (uint32_t)s->n_seen;
    seat(s, k, 1);
    if (IS_GROUPED(s))
        groups_total(s);
    return MAPDPM_OK;
}

/* The mean of another learner's cluster in a feature, in the coordinates of this one. */
static md_real mean_from(const mapdpm_stream *s, const mapdpm_stream *from, const md_real *slot, size_t d)
{
    const md_real *const mean = mean_in(from, slot) + d;
    const md_real place = (*mean + low_part(mean, half_size(from))) / unit_of(from)[d];

    return ((anchor_of(from)[d] - anchor_of(s)[d]) + place) * unit_of(s)[d];
}

/* Whether all clusters of another learner with any weight left can be inserted, or the error. */
static int check_pool(const mapdpm_stream *s, const mapdpm_stream *from)
{
    uint64_t seen = s->n_seen;
    uint32_t k, n = 0;
    size_t d;

    for (k = 0; k < from->width; k++) {
        const md_real *const slot = seen_in(from, k), weight = *slot * decay_of(from, k, from->now);

        if (!is_used(from, k) || !(weight > 0))
            continue;
        if (!weight_fits(seen, weight))
            return MAPDPM_E_RANGE;
        n++;
        seen += to_uint64(weight + MD_HALF);
        for (d = 0; d < MD_FEATURES(s); d++) {
            const md_real mean = mean_from(s, from, slot, d), unit = unit_of(s)[d] / unit_of(from)[d];
            const md_real squares = squares_in(from, slot)[d] * unit * unit;
            const md_real count = counts_in(from, slot)[d * count_step(from)];

            if (!(mean >= -COORDINATE_LIMIT && mean <= COORDINATE_LIMIT && squares <= MOST_SPREAD * count))
                return MAPDPM_E_RANGE;
        }
    }
    if (n > MD_SLOTS(s) - s->n_clusters)
        return MAPDPM_E_SPACE;
    return n < MD_NONE - s->next_id ? MAPDPM_OK : MAPDPM_E_IDS;
}

int mapdpm_pool(mapdpm_stream *s, const mapdpm_stream *from)
{
    uint32_t k;
    size_t d;
    int error;

    if (is_none(s) || is_none(from) || s == from || HAS_STATES(s) || MD_FEATURES(s) != from->n_features ||
        from->missing > s->missing)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s) || IS_WARMING(from))
        return MAPDPM_E_WARMING;
    error = check_pool(s, from);
    for (k = 0; k < from->width && error == MAPDPM_OK; k++) {
        const md_real decay = decay_of(from, k, from->now), *const theirs = seen_in(from, k);
        md_real *slot;
        uint32_t e;

        if (!is_used(from, k) || !(*theirs * decay > 0))
            continue;
        e = next_slot(s);
        stream_open_slot(s, e);
        ids_of(s)[e] = s->next_id++;
        slot = slot_of(s, e);
        *slot = *theirs * decay;
        if (COMPENSATED)
            slot[half_size(s)] = theirs[half_size(from)] * decay;
        for (d = 0; d < MD_FEATURES(s); d++) {
            const md_real unit = unit_of(s)[d] / unit_of(from)[d];

            if (HAS_MISSING(s))
                counts_in(s, slot)[d] = counts_in(from, theirs)[d * count_step(from)] * decay;
            mean_in(s, slot)[d] = mean_from(s, from, theirs, d);
            squares_in(s, slot)[d] = squares_in(from, theirs)[d] * unit * unit * decay;
        }
        s->n_seen += to_uint64(*slot + MD_HALF);
        seat(s, e, IS_GROUPED(from) ? tables_seen(from, k, decay) : 1);
        if (HAS_SURPRISE(s) && HAS_SURPRISE(from))
            standing_of(s)[e] = standing_of(from)[k] & ~MD_RARE;
    }
    if (error == MAPDPM_OK && IS_GROUPED(s))
        groups_total(s);
    if (error == MAPDPM_OK && HAS_SURPRISE(s) && HAS_SURPRISE(from))
        surprise_pool(s, from);
    return error;
}

int mapdpm_pool_summary(mapdpm_stream *s, const unsigned char *file, size_t file_bytes)
{
    summary f;
    uint32_t i;
    int error;

    if (is_none(s) || HAS_STATES(s) || file == NULL)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    error = summary_open(file, file_bytes, &f);
    if (error == MAPDPM_OK)
        error = summary_check(s, &f);
    if (error == MAPDPM_OK && f.n > MD_SLOTS(s) - s->n_clusters)
        error = MAPDPM_E_SPACE;
    for (i = 0; error == MAPDPM_OK && i < f.n; i++) {
        const uint32_t k = next_slot(s);
        md_real tables;

        stream_open_slot(s, k);
        ids_of(s)[k] = s->next_id++;
        tables = summary_read(s, &f, i, slot_of(s, k));
        s->n_seen += to_uint64(*slot_of(s, k) + MD_HALF);
        seat(s, k, tables);
    }
    if (error == MAPDPM_OK && IS_GROUPED(s))
        groups_total(s);
    return error;
}
