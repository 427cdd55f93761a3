/* The clusters of a pool get an order of their own, and merge by the log joint. */
#include "gateway/mapdpm_summary.h"

/* So many clusters are compared in all pairs (decision 162). More are divided into parts of MOST_IN_PART or less, and a
 * part keeps as many, or as many as the pool may keep, where they do not merge by themselves. */
enum { MOST_AT_ONCE = 256, MOST_IN_PART = 64 };

/* ---- an order that does not depend on the slots ------------------------------------------------------------------ */

/* Whether slot a comes before slot b: by the mean of feature d, the smallest first, unless d is MD_NONE; then by
 * weight, the heaviest first, by the moments in their order, by tables and by standing. Slots that differ in none of
 * these may stand in any order. */
static int comes_before(const mapdpm_stream *s, uint32_t a, uint32_t b, uint32_t d)
{
    const md_real *const x = slot_of(s, a), *const y = slot_of(s, b);
    size_t i;

    if (d != MD_NONE && mean_in(s, x)[d] != mean_in(s, y)[d])
        return mean_in(s, x)[d] < mean_in(s, y)[d];
    for (i = 0; i < moments_size(s); i++)
        if (x[i] < y[i] || x[i] > y[i])
            return x[i] > y[i];
    if (IS_GROUPED(s) && tables_of(s)[a] != tables_of(s)[b])
        return tables_of(s)[a] > tables_of(s)[b];
    return HAS_SURPRISE(s) && standing_of(s)[a] > standing_of(s)[b];
}

/* Let order[at] sink until those below it, of the first n, come before it. */
static void sink(const mapdpm_stream *s, uint32_t *order, size_t at, size_t n, uint32_t d)
{
    const uint32_t k = order[at];
    size_t below;

    for (below = 2 * at + 1; below < n; below = 2 * at + 1) {
        if (below + 1 < n && comes_before(s, order[below], order[below + 1], d))
            below++;
        if (!comes_before(s, k, order[below], d))
            break;
        order[at] = order[below];
        at = below;
    }
    order[at] = k;
}

/* Sort the numbers of n slots: a heap needs no memory, and n log n steps at most. */
static void sort(const mapdpm_stream *s, uint32_t *order, size_t n, uint32_t d)
{
    size_t i;

    for (i = n / 2; i > 0; i--)
        sink(s, order, i - 1, n, d);
    for (i = n; i > 1; i--) {
        const uint32_t last = order[0];

        order[0] = order[i - 1];
        order[i - 1] = last;
        sink(s, order, 0, i - 1, d);
    }
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

/* Slots `first` to `end` get the clusters of the slots in ids_of(s), in that order. Ids begin anew, so their place is
 * free for the order. */
static void arrange(mapdpm_stream *s, uint32_t first, uint32_t end)
{
    uint32_t *const order = ids_of(s), i;

    for (i = first; i < end; i++) {
        uint32_t at = i, next;

        for (next = order[at]; next != i; next = order[at]) { /* along a cycle: each swap fills one slot for good */
            swap_slots(s, at, next);
            order[at] = at;
            at = next;
        }
        order[at] = at;
    }
}

/* Move the clusters among slots `first` to `end` to the front. Returns the end of them. */
static uint32_t gather(mapdpm_stream *s, uint32_t first, uint32_t end)
{
    uint32_t k, to = first;

    for (k = first; k < end; k++)
        if (is_used(s, k)) {
            if (k != to)
                swap_slots(s, to, k);
            to++;
        }
    return to;
}

/* Bring the clusters among slots `first` to `end` to the front, the heaviest first. Returns the end of them. */
static uint32_t put_in_order(mapdpm_stream *s, uint32_t first, uint32_t end)
{
    uint32_t k;

    end = gather(s, first, end);
    for (k = first; k < end; k++)
        ids_of(s)[k] = k;
    sort(s, ids_of(s) + first, end - first, MD_NONE);
    arrange(s, first, end);
    return end;
}

/* Number the ids from `first` on, and clear all that belongs to another order. */
static void number(mapdpm_stream *s, uint32_t first)
{
    uint32_t k;

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

/* ---- merging the clusters of some slots -------------------------------------------------------------------------- */

/* Make slot b the partner of slot a, a < b, if their merge loses less than with the partner so far. The first slot wins
 * a tie. */
static void meet(mapdpm_stream *s, uint32_t a, uint32_t b, md_real most)
{
    const view va = view_of(s, a, s->now), vb = view_of(s, b, s->now);
    md_real loss, *const least = merge_loss_of(s, a);

    if (!(most > 0) && merge_surely_loses(s, va, vb))
        return;
    loss = -merge_gain(s, va, vb);
    if (loss < *least || (loss <= *least && b < merge_partner_of(s)[a])) {
        merge_partner_of(s)[a] = b;
        *least = loss;
    }
}

/* The best partner of slot a among the slots between it and `end`, or MD_NONE. */
static void find_partner(mapdpm_stream *s, uint32_t a, uint32_t end, md_real most)
{
    uint32_t b;

    merge_partner_of(s)[a] = MD_NONE;
    *merge_loss_of(s, a) = LARGEST_REAL;
    for (b = a + 1; b < end; b++)
        if (is_used(s, b))
            meet(s, a, b, most);
}

/* Merge the best pair, if it loses less than `most`. Returns whether there was one. */
static int merge_best_slots(mapdpm_stream *s, uint32_t first, uint32_t end, md_real most)
{
    uint32_t a, to = MD_NONE, from;

    for (a = first; a < end; a++)
        if (is_used(s, a) && *merge_loss_of(s, a) < (to == MD_NONE ? most : *merge_loss_of(s, to)))
            to = a;
    if (to == MD_NONE)
        return 0;
    from = merge_partner_of(s)[to];
    stream_merge(s, to, from);
    for (a = first; a < end; a++)
        if (is_used(s, a)) {
            const uint32_t partner = merge_partner_of(s)[a];

            if (a == to || partner == to || partner == from)
                find_partner(s, a, end, most);
            if (a < to)
                meet(s, a, to, most);
        }
    return 1;
}

static void find_partners(mapdpm_stream *s, uint32_t first, uint32_t end, md_real most)
{
    uint32_t k;

    for (k = first; k < end; k++)
        if (is_used(s, k))
            find_partner(s, k, end, most);
}

/* Merge the clusters among slots `first` to `end` where that raises the log joint, the best pair first; then those that
 * cost least, until n are left. Each slot has its best partner, and a merge changes few of them: so the time is O(K^2)
 * as a rule, not O(K^3). */
static void merge_part(mapdpm_stream *s, uint32_t first, uint32_t end, uint32_t n)
{
    uint32_t others;

    end = put_in_order(s, first, end);
    others = s->n_clusters - (end - first);
    find_partners(s, first, end, 0);
    while (merge_best_slots(s, first, end, 0))
        ;
    if (s->n_clusters - others > n)
        find_partners(s, first, end, LARGEST_REAL);
    while (s->n_clusters - others > n && merge_best_slots(s, first, end, LARGEST_REAL))
        ;
}

/* ---- many clusters ----------------------------------------------------------------------------------------------- */

static uint32_t part_begin(uint32_t n, uint32_t parts, uint32_t i) { return (uint32_t)((uint64_t)n * i / parts); }

/* The feature in which the means of so many slots differ most, in units of the noise. */
static uint32_t widest_feature(const mapdpm_stream *s, const uint32_t *order, size_t n)
{
    md_real most = -1;
    uint32_t widest = 0, d;
    size_t i;

    for (d = 0; d < MD_FEATURES(s); d++) {
        md_real low = LARGEST_REAL, high = -LARGEST_REAL;

        for (i = 0; i < n; i++) {
            const md_real mean = mean_in(s, slot_of(s, order[i]))[d];

            low = mean < low ? mean : low;
            high = mean > high ? mean : high;
        }
        if ((high - low) * (high - low) / noise_scale_of(s)[d] > most) {
            most = (high - low) * (high - low) / noise_scale_of(s)[d];
            widest = d;
        }
    }
    return widest;
}

/* Put clusters that may merge into slots near each other: halve all by the median of their widest feature, then each
 * half, until no part has more than MOST_IN_PART. Returns the number of parts. */
static uint32_t divide(mapdpm_stream *s)
{
    uint32_t *const order = ids_of(s);
    const uint32_t n = s->n_clusters;
    uint32_t parts, i;

    for (i = 0; i < n; i++)
        order[i] = i;
    for (parts = 1; n / parts >= MOST_IN_PART; parts *= 2)
        for (i = 0; i < parts; i++) {
            const uint32_t first = part_begin(n, parts, i), size = part_begin(n, parts, i + 1) - first;

            sort(s, order + first, size, widest_feature(s, order + first, size));
        }
    arrange(s, 0, n);
    return parts;
}

int mapdpm_reduce(mapdpm_stream *s, uint32_t n)
{
    uint32_t k, all, parts;

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
    all = gather(s, 0, s->width);
    number(s, MD_WARMUP(s));
    if (IS_GROUPED(s))
        groups_total(s);
    for (parts = all > MOST_AT_ONCE ? divide(s) : 1; parts > 0; parts /= 2)
        for (k = 0; k < parts; k++)
            merge_part(s, part_begin(all, parts, k), part_begin(all, parts, k + 1),
                       parts == 1 || n > MOST_IN_PART ? n : MOST_IN_PART);
    (void)put_in_order(s, 0, all);
    number(s, MD_WARMUP(s));
    if (HAS_SURPRISE(s))
        surprise_judge_all(s);
    s->n_events = 0;
    s->at_event = 0;
    memset(event_ring_of(s), 0, WORDS_PER_EVENT * sizeof(uint32_t) * (size_t)RING_SIZE(s));
    return MAPDPM_OK;
}
