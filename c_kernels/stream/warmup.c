/* MAP-DPM on the points of the warm-up under a given prior, in small steps: a sequential start; then sweeps until no point
 * moves, merges and splits, in turn. settle.c sets the priors.
 *
 * A step takes O((warm-up + K) D) time.
 */
#include "stream/mapdpm_steps.h"

enum { SWEEPS = 10, STARTS = 3 };

/* The bit in the label of a point that marks the second half, while its cluster is being divided. */
#define SECOND_HALF UINT32_C(0x80000000)

const md_real *warmup_point(const mapdpm_stream *s, size_t i)
{
    return points_of(s) + i * MD_FEATURES(s);
}

void warmup_add_point(mapdpm_stream *s, size_t i, uint32_t k, md_real weight)
{
    moments_add(s, slot_of(s, k), half_size(s), warmup_point(s, i), weight);
    stream_refresh(s, k);
}

/* Put point i where it belongs: into a free slot if it opens a cluster and a slot is free. */
static void assign(mapdpm_stream *s, size_t i)
{
    const choice c = stream_choose(s, warmup_point(s, i), 0);
    uint32_t k = c.best;

    if (c.opens && s->n_clusters < MD_SLOTS(s)) {
        k = stream_free_slot(s);
        stream_open_slot(s, k);
    }
    warmup_add_point(s, i, k, 1);
    warmup_labels_of(s)[i] = k;
}

static void remove_warmup_point(mapdpm_stream *s, size_t i)
{
    const uint32_t k = warmup_labels_of(s)[i];

    if (*slot_of(s, k) > (md_real)1.5) {
        warmup_add_point(s, i, k, -1);
    } else {
        stream_clear_slot(s, k);
        s->n_clusters--;
    }
}

/* Try the merges of a slot with those behind it; keep the best. */
static void look_for_merge(const mapdpm_stream *s, settling *z)
{
    uint32_t b;

    for (b = z->k + 1; b < s->width; b++)
        if (is_used(s, z->k) && is_used(s, b)) {
            const md_real gain = merge_gain(s, view_of(s, z->k, s->now), view_of(s, b, s->now));

            if (gain > z->gain) {
                z->gain = gain;
                z->to = z->k;
                z->from = b;
            }
        }
    z->k++;
}

static void merge_pair(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    size_t i;

    moments_merge(s, slot_of(s, to), slot_of(s, from), half_size(s));
    stream_clear_slot(s, from);
    s->n_clusters--;
    stream_refresh(s, to);
    for (i = 0; i < MD_WARMUP(s); i++)
        if (warmup_labels_of(s)[i] == from)
            warmup_labels_of(s)[i] = to;
}

/* Divide the members of slot k between its halves again, by the nearer mean in units of the variance within halves.
 * Returns whether any moved. */
static int reassign_halves(mapdpm_stream *s, uint32_t k)
{
    uint32_t *const labels = warmup_labels_of(s);
    const md_real *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1), *const slot = slot_of(s, k);
    size_t i;
    int moved = 0;

    for (i = 0; i < MD_WARMUP(s); i++) {
        uint32_t side;

        if ((labels[i] & ~SECOND_HALF) != k)
            continue;
        side = is_nearer_to_second(s, slot, h0, h1, warmup_point(s, i)) ? SECOND_HALF : 0;
        moved |= side != (labels[i] & SECOND_HALF);
        labels[i] = k | side;
    }
    return moved;
}

static void rebuild_halves(mapdpm_stream *s, uint32_t k)
{
    size_t i;

    memset(half_of(s, k, 0), 0, 2 * half_size(s) * sizeof(md_real));
    for (i = 0; i < MD_WARMUP(s); i++)
        if ((warmup_labels_of(s)[i] & ~SECOND_HALF) == k)
            moments_add(s, half_of(s, k, warmup_labels_of(s)[i] & SECOND_HALF ? 1 : 0), 0, warmup_point(s, i), 1);
}

/* A first division: by the side of the mean in the widest feature, in units of the prior, after the `skip` widest
 * ones. */
static void halve_by_feature(mapdpm_stream *s, uint32_t k, size_t skip)
{
    const size_t D = MD_FEATURES(s);
    const md_real *const mean = mean_in(s, slot_of(s, k)), *const squares = squares_in(s, slot_of(s, k));
    md_real before = -1;
    size_t i, d, widest = 0, round;

    for (round = 0; round <= skip; round++) {
        md_real most = -1;

        for (d = 0; d < D; d++) {
            const md_real width = squares[d] / noise_scale_of(s)[d];

            if (is_relevant(s, d) && width > most && (before < 0 || width < before)) {
                most = width;
                widest = d;
            }
        }
        before = most;
    }
    for (i = 0; i < MD_WARMUP(s); i++)
        if ((warmup_labels_of(s)[i] & ~SECOND_HALF) == k)
            warmup_labels_of(s)[i] = k | (coordinate(s, warmup_point(s, i), widest) > mean[widest] ? SECOND_HALF : 0);
}

static int has_two_halves(const mapdpm_stream *s, uint32_t k)
{
    return *half_of(s, k, 0) > 0 && *half_of(s, k, 1) > 0;
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

enum { AT_START, AT_SWEEP, AT_MERGE, AT_CHOICE, AT_DIVISION, AT_SPLIT };

static void go_to(settling *z, uint32_t step)
{
    z->step = step;
    z->i = z->k = z->moved = 0;
    z->gain = 0;
}

/* The merges are over, or one is done: look for the next. */
static void step_of_merges(mapdpm_stream *s, settling *z)
{
    if (z->k < s->width) {
        look_for_merge(s, z);
    } else if (z->gain > 0) {
        merge_pair(s, z->to, z->from);
        z->changed = 1;
        go_to(z, AT_MERGE);
    } else {
        go_to(z, AT_CHOICE);
    }
}

/* Choose the next slot to divide. Returns 0 if the points are clustered. */
static int step_of_choice(mapdpm_stream *s, settling *z)
{
    while (z->k < MD_SLOTS(s) && s->n_clusters < MD_SLOTS(s) && !(is_used(s, z->k) && *slot_of(s, z->k) >= 2))
        z->k++;
    if (z->k < MD_SLOTS(s) && s->n_clusters < MD_SLOTS(s)) {
        z->start = z->i = 0;
        z->step = AT_DIVISION;
        halve_by_feature(s, z->k, 0);
        rebuild_halves(s, z->k);
        return 1;
    }
    z->pass++;
    z->sweep = 0;
    go_to(z, AT_SWEEP);
    return z->pass < SWEEPS && z->changed;
}

/* Improve the division of slot k once; when that is done, split it, or divide it in another way, or leave it. */
static void step_of_division(mapdpm_stream *s, settling *z)
{
    const uint32_t k = z->k;
    size_t i;

    if (z->i < SWEEPS && has_two_halves(s, k) && reassign_halves(s, k)) {
        rebuild_halves(s, k);
        z->i++;
        return;
    }
    z->i = 0;
    if (has_two_halves(s, k) && -merge_gain(s, half_view(s, k, 0), half_view(s, k, 1)) > 0) {
        z->to = stream_free_slot(s);
        stream_open_slot(s, z->to);
        z->step = AT_SPLIT;
        return;
    }
    z->start++;
    if (z->start < STARTS && z->start < n_relevant(s)) {
        halve_by_feature(s, k, z->start);
        rebuild_halves(s, k);
        return;
    }
    for (i = 0; i < MD_WARMUP(s); i++)
        warmup_labels_of(s)[i] &= ~SECOND_HALF;
    z->k++;
    z->step = AT_CHOICE;
}

/* Move a point of the second half into its new slot; after the last one, go on with the next slot. */
static void step_of_split(mapdpm_stream *s, settling *z)
{
    if (warmup_labels_of(s)[z->i] == (z->k | SECOND_HALF)) {
        warmup_add_point(s, z->i, z->k, -1);
        warmup_add_point(s, z->i, z->to, 1);
        warmup_labels_of(s)[z->i] = z->to;
    }
    z->i++;
    if (z->i < MD_WARMUP(s))
        return;
    memset(half_of(s, z->k, 0), 0, 2 * half_size(s) * sizeof(md_real));
    z->changed = 1;
    z->k++;
    z->step = AT_CHOICE;
}

/* A point takes its cluster anew. */
static void step_of_sweep(mapdpm_stream *s, settling *z)
{
    const uint32_t before = warmup_labels_of(s)[z->i];

    remove_warmup_point(s, z->i);
    assign(s, z->i);
    z->moved |= warmup_labels_of(s)[z->i] != before;
    z->i++;
    if (z->i < MD_WARMUP(s))
        return;
    z->sweep++;
    z->changed = 0;
    go_to(z, z->sweep < SWEEPS && z->moved ? AT_SWEEP : AT_MERGE);
}

void warmup_begin(settling *z)
{
    z->pass = z->sweep = 0;
    go_to(z, AT_START);
}

int warmup_step(mapdpm_stream *s, settling *z)
{
    switch (z->step) {
    case AT_START:
        assign(s, z->i);
        z->i++;
        if (z->i == MD_WARMUP(s))
            go_to(z, AT_SWEEP);
        return 1;
    case AT_SWEEP:
        step_of_sweep(s, z);
        return 1;
    case AT_MERGE:
        step_of_merges(s, z);
        return 1;
    case AT_CHOICE:
        return step_of_choice(s, z);
    case AT_DIVISION:
        step_of_division(s, z);
        return 1;
    default:
        step_of_split(s, z);
        return 1;
    }
}
