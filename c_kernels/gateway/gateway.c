/* Many learners into one: clusters are inserted by their statistics, then merged by the log joint. */
#include "gateway/mapdpm_summary.h"

/* To be called when the moments of an inserted cluster are there: all of it is the learner's own. */
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
    k = stream_free_slot(s);
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
    }
    n = to_uint64(cluster->weight + MD_HALF);
    s->n_seen += n;
    for (j = 0; j < s->width; j++) /* the others do not become idle by this */
        if (is_used(s, j))
            last_seen_of(s)[j] += (uint32_t)n;
    last_seen_of(s)[k] = (uint32_t)s->n_seen;
    seat(s, k, 1);
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
        e = stream_free_slot(s);
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
    for (i = 0; i < f.n && error == MAPDPM_OK; i++) {
        const uint32_t k = stream_free_slot(s);
        md_real tables;

        stream_open_slot(s, k);
        ids_of(s)[k] = s->next_id++;
        tables = summary_read(s, &f, i, slot_of(s, k));
        s->n_seen += to_uint64(*slot_of(s, k) + MD_HALF);
        seat(s, k, tables);
    }
    return error;
}

/* Whether slot a comes before slot b: by weight, the heaviest first, then by the moments in their order. */
static int comes_before(const mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const md_real *const x = slot_of(s, a), *const y = slot_of(s, b);
    size_t i;

    for (i = 0; i < moments_size(s); i++)
        if (x[i] < y[i] || x[i] > y[i])
            return x[i] > y[i];
    return 0;
}

static void swap_slots(mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const int64_t last = last_times_of(s)[a];
    const uint32_t seen = last_seen_of(s)[a];
    md_real *const x = slot_of(s, a), *const y = slot_of(s, b);
    size_t i;

    last_times_of(s)[a] = last_times_of(s)[b];
    last_times_of(s)[b] = last;
    last_seen_of(s)[a] = last_seen_of(s)[b];
    last_seen_of(s)[b] = seen;
    for (i = 0; i < slot_size(s); i++) {
        const md_real t = x[i];

        x[i] = y[i];
        y[i] = t;
    }
    if (HAS_SURPRISE(s)) {
        const uint32_t standing = standing_of(s)[a];

        standing_of(s)[a] = standing_of(s)[b];
        standing_of(s)[b] = standing;
    }
    if (HAS_GROUPS(s))
        groups_swap(s, a, b);
}

/* Sort the slots, free ones last, and number their ids from `first` on. Insertion sort is bounded and needs no
 * memory. */
static void put_in_order(mapdpm_stream *s, uint32_t first)
{
    uint32_t i, k;

    for (i = 1; i < MD_SLOTS(s); i++)
        for (k = i; k > 0 && comes_before(s, k, k - 1); k--)
            swap_slots(s, k, k - 1);
    s->width = s->n_clusters;
    for (k = 0; k < MD_SLOTS(s); k++) {
        if (k >= s->n_clusters) {
            stream_clear_slot(s, k);
            ids_of(s)[k] = last_seen_of(s)[k] = 0;
            continue;
        }
        ids_of(s)[k] = first + k;
        last_seen_of(s)[k] = (uint32_t)s->n_seen; /* the time of insertion does not matter */
        merge_partner_of(s)[k] = MD_NONE;
        *merge_loss_of(s, k) = 0;
        trials_of(s)[k] = 0;
        stream_refresh(s, k);
    }
    s->next_id = first + s->n_clusters;
}

/* Make slot b the partner of slot a, a < b, if their merge loses less than with the partner so far. The first slot wins
 * a tie. */
static void meet(mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const md_real loss = -merge_gain(s, view_of(s, a, s->now), view_of(s, b, s->now)), least = *merge_loss_of(s, a);

    if (loss < least || (loss <= least && b < merge_partner_of(s)[a])) {
        merge_partner_of(s)[a] = b;
        *merge_loss_of(s, a) = loss;
    }
}

/* The best partner of slot a among the slots after it, or MD_NONE. */
static void find_partner(mapdpm_stream *s, uint32_t a)
{
    uint32_t b;

    merge_partner_of(s)[a] = MD_NONE;
    *merge_loss_of(s, a) = LARGEST_REAL;
    for (b = a + 1; b < s->width; b++)
        if (is_used(s, b))
            meet(s, a, b);
}

/* Merge the pair with the smallest loss, if that is below `most`. Returns whether there was one. Each slot has its best
 * partner, and a merge changes few of them: so the time of all merges is O(K^2) as a rule, not O(K^3). */
static int merge_best_slots(mapdpm_stream *s, md_real most)
{
    uint32_t a, to = MD_NONE, from;

    for (a = 0; a < s->width; a++)
        if (is_used(s, a) && *merge_loss_of(s, a) < (to == MD_NONE ? most : *merge_loss_of(s, to)))
            to = a;
    if (to == MD_NONE)
        return 0;
    from = merge_partner_of(s)[to];
    stream_merge(s, to, from);
    for (a = 0; a < s->width; a++)
        if (is_used(s, a)) {
            const uint32_t partner = merge_partner_of(s)[a];

            if (a == to || partner == to || partner == from)
                find_partner(s, a);
            if (a < to)
                meet(s, a, to);
        }
    return 1;
}

int mapdpm_reduce(mapdpm_stream *s, uint32_t n)
{
    uint32_t k;

    if (is_none(s) || HAS_STATES(s) || n < 1)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            stream_apply_decay(s, k);
            if (!is_used(s, k)) { /* nothing is left of it */
                s->n_clusters--;
                continue;
            }
            stream_clear_halves(s, k);
            *merge_loss_of(s, k) = 0;
        }
    for (k = 0; k < MD_WINDOW(s); k++)
        window_ids_of(s)[k] = MD_NONE;
    for (k = 0; k < MD_WARMUP(s); k++) /* ids begin anew */
        warmup_labels_of(s)[k] = MD_NONE;
    put_in_order(s, MD_WARMUP(s));
    if (IS_GROUPED(s))
        groups_total(s);
    for (k = 0; k < s->width; k++)
        find_partner(s, k);
    while (merge_best_slots(s, 0))
        ;
    while (s->n_clusters > n && merge_best_slots(s, LARGEST_REAL))
        ;
    put_in_order(s, MD_WARMUP(s));
    if (HAS_SURPRISE(s))
        surprise_judge_all(s);
    s->n_events = 0;
    s->at_event = 0;
    memset(event_ring_of(s), 0, WORDS_PER_EVENT * sizeof(uint32_t) * (size_t)RING_SIZE(s));
    return MAPDPM_OK;
}
