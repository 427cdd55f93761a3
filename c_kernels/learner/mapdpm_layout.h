/* The memory layout of a stream learner (docs/c-library.md counts every word). Internal; static inlines.
 *
 * head | last time[K], times[B] (int64) | prior: anchor, unit, noise scale, prior variance, prior scale, each [D] |
 * slots[K] | score table | points[B][D] (reals) | id, last seen, merge partner, trials, each [K], event ring, warm-up
 * labels[warm-up], window ids[window] (uint32). B is the larger of warm-up and window. The noise scale is b0 or the
 * variance.
 *
 * A slot is: moments of the cluster | moments of its two halves | (with a base: moments of the points that the learner
 * saw itself, tables of the base) | loss of its cheapest merge. Halves are sub-clusters, candidates for a split. Moments
 * are weight, (counts[D],) mean[D], squares[D]: sums of squared deviations. In float the moments of the cluster and of
 * its own points are followed by what rounding lost of each. The score table holds the constants of the densities of all
 * slots: constant, exponent, centre[D], scale[D], each [K]. Coordinates are (x - anchor) unit: the anchor is the prior
 * mean, the unit a power of 2 near one over the prior scale.
 *
 * A learner of G groups has behind it: groups so far, policy, number and row of the current group (uint32) | gamma, log
 * gamma, all tables and gamma | tables[K] | tables of groups that are gone[K] | cells[G][K] | what rounding lost of
 * them (in float) | cells[G][K] of the first and of the second halves (reals) | number and last point of each group[G],
 * row of each kept point[B] (uint32). A cell is the number of points of a group in a slot; the number of tables is the
 * weight of a slot for a new group.
 *
 * A learner of states has behind it: the time up to which transitions are decayed (int64) | points that wait, the slot
 * and the half of the last point that was learned, points in a row, attempts to change, id of the last state (uint32) |
 * gamma, kappa, all tables and gamma | tables[K] | belief[K] | counts[K + 1][K] of transitions, the last row of starts |
 * of the halves of each slot: entries[K][2][K + 1] from other rows, exits[K][2][K], within[K][2][2] | belief[3 lag][K]
 * and points[3 lag][D] that wait | what a file leaves out: scratch scores[K] and smoothed[K], the probabilities of
 * transitions steps[K + 1][K] and opening[K + 1], scratch moments of a block (reals) | slots[3 lag] of points that wait,
 * scratch (uint32).
 *
 * A learner that knows surprises has behind it: the share of rare clusters, counts[SURPRISE_BINS] of tails | nats of a
 * tail for each nat below the peak[K], which a file leaves out (reals) | standing[K], the slot to check next, points
 * from one halving of the counts to the next, points since the last, points since an extreme one, those left out of its
 * episode (uint32). The standing of a cluster is its number of points, without forgetting; its highest bit marks a rare
 * cluster.
 *
 * A learner that knows which features carry clusters has behind it: moments of all points | a word for each feature (uint32):
 * its marks, if it carries none and if its values repeat; how unusual its values were of late, or how many times in a row
 * it fell short.
 *
 * A learner that knows the steps of its features has behind it, in the user's units: the step of each feature[D], 0 where it
 * has none; and a value of each feature[D] from which others should be whole steps away, or a very large number (reals). A step
 * is less than 0 where the feature was constant in the warm-up: minus the distance of a second value, or a very large number.
 *
 * A learner with a queue has last: times[Q] (int64) | the state of the settlement | points[Q][D] (reals) | points in the
 * queue, the place of the first, groups[Q] (uint32).
 */
#ifndef MAPDPM_LAYOUT_H
#define MAPDPM_LAYOUT_H

#include "mapdpm_switches.h"

/* No slot, no id, no row, no group. */
#define MD_NONE UINT32_MAX

/* Whether sums have low parts, which hold what rounding lost. */
enum { COMPENSATED = sizeof(md_real) == 4 ? 1 : 0 };
enum { WORDS_PER_SLOT = 4, WORDS_PER_EVENT = 4, PRIOR_VECTORS = 5 };
enum { EVENTS_PER_SLOT = MAPDPM_EVENTS(1) };
#define RING_SIZE(s) (EVENTS_PER_SLOT * MD_SLOTS(s))

typedef char head_has_no_padding[sizeof(mapdpm_stream) == MAPDPM_STREAM_HEAD ? 1 : -1];

/* Whether there is no learner: no memory, or memory that mapdpm_init or mapdpm_snapshot_read could not fill. */
static inline int is_none(const mapdpm_stream *s) { return s == NULL || s->bytes == 0; }

static inline size_t vectors_per_moments(const mapdpm_stream *s) { return HAS_MISSING(s) ? 3u : 2u; }
static inline size_t half_size(const mapdpm_stream *s) { return 1 + vectors_per_moments(s) * MD_FEATURES(s); }
static inline size_t moments_size(const mapdpm_stream *s) { return COMPENSATED ? 2 * half_size(s) : half_size(s); }
static inline size_t slot_size(const mapdpm_stream *s)
{
    return moments_size(s) + 2 * half_size(s) + (HAS_BASE(s) ? moments_size(s) + 1 : 0) + 1;
}
static inline size_t buffer_size(const mapdpm_stream *s)
{
    return MD_WARMUP(s) > MD_WINDOW(s) ? MD_WARMUP(s) : MD_WINDOW(s);
}

static inline void *address_of(const mapdpm_stream *s, size_t bytes)
{
    return (unsigned char *)(uintptr_t)s + bytes;
}
static inline int64_t *last_times_of(const mapdpm_stream *s) { return (int64_t *)address_of(s, sizeof *s); }
static inline int64_t *times_of(const mapdpm_stream *s) { return last_times_of(s) + MD_SLOTS(s); }
static inline md_real *prior_vector(const mapdpm_stream *s, size_t i)
{
    return (md_real *)address_of(s, s->at_reals) + i * MD_FEATURES(s);
}
static inline md_real *anchor_of(const mapdpm_stream *s) { return prior_vector(s, 0); }
static inline md_real *unit_of(const mapdpm_stream *s) { return prior_vector(s, 1); }
static inline md_real *noise_scale_of(const mapdpm_stream *s) { return prior_vector(s, 2); }
static inline md_real *prior_variance_of(const mapdpm_stream *s) { return prior_vector(s, 3); }
static inline md_real *prior_scale(const mapdpm_stream *s) { return prior_vector(s, 4); }
static inline md_real *slot_of(const mapdpm_stream *s, size_t k)
{
    return (md_real *)address_of(s, s->at_slots) + k * slot_size(s);
}
static inline md_real *half_of(const mapdpm_stream *s, size_t k, size_t h)
{
    return slot_of(s, k) + moments_size(s) + h * half_size(s);
}
static inline md_real *own_of(const mapdpm_stream *s, size_t k) { return half_of(s, k, 2); }
static inline md_real *base_tables_of(const mapdpm_stream *s, size_t k) { return own_of(s, k) + moments_size(s); }
/* Moments of a cluster that has no slot. */
static inline md_real *spare_of(const mapdpm_stream *s) { return slot_of(s, MD_SLOTS(s)); }
static inline md_real *merge_loss_of(const mapdpm_stream *s, size_t k) { return slot_of(s, k + 1) - 1; }
static inline md_real *constants_of(const mapdpm_stream *s) { return (md_real *)address_of(s, s->at_columns); }
static inline md_real *exponents_of(const mapdpm_stream *s) { return constants_of(s) + MD_SLOTS(s); }
static inline md_real *centres_of(const mapdpm_stream *s, size_t d) { return constants_of(s) + (2 + d) * MD_SLOTS(s); }
static inline md_real *scales_of(const mapdpm_stream *s, size_t d)
{
    return constants_of(s) + (2 + MD_FEATURES(s) + d) * MD_SLOTS(s);
}
static inline md_real *points_of(const mapdpm_stream *s)
{
    return constants_of(s) + (2 + 2 * (size_t)MD_FEATURES(s)) * MD_SLOTS(s);
}
static inline uint32_t *words_of(const mapdpm_stream *s) { return (uint32_t *)address_of(s, s->at_words); }
static inline uint32_t *ids_of(const mapdpm_stream *s) { return words_of(s); }
static inline uint32_t *last_seen_of(const mapdpm_stream *s) { return words_of(s) + MD_SLOTS(s); }
static inline uint32_t *merge_partner_of(const mapdpm_stream *s) { return words_of(s) + 2 * (size_t)MD_SLOTS(s); }
static inline uint32_t *trials_of(const mapdpm_stream *s) { return words_of(s) + 3 * (size_t)MD_SLOTS(s); }
static inline uint32_t *event_ring_of(const mapdpm_stream *s)
{
    return words_of(s) + WORDS_PER_SLOT * (size_t)MD_SLOTS(s);
}
static inline uint32_t *warmup_labels_of(const mapdpm_stream *s)
{
    return event_ring_of(s) + WORDS_PER_EVENT * (size_t)RING_SIZE(s);
}
static inline uint32_t *window_ids_of(const mapdpm_stream *s) { return warmup_labels_of(s) + MD_WARMUP(s); }

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static inline size_t groups_of(const mapdpm_stream *s) { return s->max_groups; }
static inline size_t n_cells(const mapdpm_stream *s) { return groups_of(s) * MD_SLOTS(s); }
/* The reals of all groups: one, and two for each slot, and those of the cells. */
static inline size_t group_reals(const mapdpm_stream *s)
{
    return 1 + 2 * (size_t)MD_SLOTS(s) + (3 + COMPENSATED) * n_cells(s);
}
static inline uint32_t *n_groups_of(const mapdpm_stream *s) { return (uint32_t *)address_of(s, s->at_more); }
static inline uint32_t *groups_full_of(const mapdpm_stream *s) { return n_groups_of(s) + 1; }
static inline uint32_t *group_of(const mapdpm_stream *s) { return n_groups_of(s) + 2; }
static inline uint32_t *row_of(const mapdpm_stream *s) { return n_groups_of(s) + 3; }
static inline md_real *gamma_of(const mapdpm_stream *s) { return (md_real *)address_of(s, s->at_more + 16); }
static inline md_real *log_gamma_of(const mapdpm_stream *s) { return gamma_of(s) + 1; }
static inline md_real *all_tables_of(const mapdpm_stream *s) { return gamma_of(s) + 2; }
static inline md_real *tables_of(const mapdpm_stream *s) { return gamma_of(s) + 3; }
static inline md_real *past_tables_of(const mapdpm_stream *s) { return tables_of(s) + MD_SLOTS(s); }
static inline md_real *cells_of(const mapdpm_stream *s, size_t row)
{
    return past_tables_of(s) + (1 + row) * MD_SLOTS(s);
}
static inline md_real *half_cells_of(const mapdpm_stream *s, size_t h, size_t row)
{
    return cells_of(s, row) + (1 + COMPENSATED + h) * n_cells(s);
}
static inline uint32_t *group_numbers_of(const mapdpm_stream *s)
{
    return (uint32_t *)(void *)(all_tables_of(s) + group_reals(s));
}
static inline uint32_t *group_seen_of(const mapdpm_stream *s) { return group_numbers_of(s) + groups_of(s); }
static inline uint32_t *point_rows_of(const mapdpm_stream *s) { return group_seen_of(s) + groups_of(s); }

/* ---- surprise ---------------------------------------------------------------------------------------------------- */

enum { SURPRISE_BINS = 40, SURPRISE_REALS = 1 + SURPRISE_BINS };
/* The mark of a rare cluster in its standing, and the limit of the rest. */
#define MD_RARE UINT32_C(0x80000000)
#define MOST_STANDING UINT32_C(0x3fffffff)
static inline md_real *rare_share(const mapdpm_stream *s) { return (md_real *)address_of(s, s->at_more); }
static inline md_real *tail_counts(const mapdpm_stream *s) { return rare_share(s) + 1; }
static inline md_real *steepness_of(const mapdpm_stream *s) { return rare_share(s) + SURPRISE_REALS; }
static inline uint32_t *standing_of(const mapdpm_stream *s)
{
    return (uint32_t *)(void *)(steepness_of(s) + MD_SLOTS(s));
}
enum { SURPRISE_WORDS = 5 };
static inline uint32_t *next_to_check(const mapdpm_stream *s) { return standing_of(s) + MD_SLOTS(s); }
static inline uint32_t *counting_period(const mapdpm_stream *s) { return next_to_check(s) + 1; }
static inline uint32_t *counted_in_period(const mapdpm_stream *s) { return next_to_check(s) + 2; }
static inline uint32_t *since_extreme(const mapdpm_stream *s) { return next_to_check(s) + 3; }
static inline uint32_t *left_out_in_run(const mapdpm_stream *s) { return next_to_check(s) + 4; }
static inline int is_rare(const mapdpm_stream *s, uint32_t k)
{
    return HAS_SURPRISE(s) && (standing_of(s)[k] & MD_RARE) != 0;
}

/* ---- a warm-up that is settled in steps, while points wait ------------------------------------------------------- */

/* The state of the settlement: which step is next, and what it goes on with (warmup.c). */
typedef struct {
    md_real share; /* of the total variance that lies within clusters, a guess */
    md_real shape; /* a0 */
    md_real best_share;
    md_real best_shape;
    md_real most; /* the log joint of the best guess */
    md_real gain; /* of the best merge so far */
    md_real worth; /* J of the best features so far, and what it was found with (relevance.c) */
    md_real chosen_share;
    md_real chosen_shape;
    uint32_t step;
    uint32_t trial;
    uint32_t round;
    uint32_t pass;
    uint32_t sweep;
    uint32_t i;
    uint32_t k;
    uint32_t moved;
    uint32_t changed;
    uint32_t start;
    uint32_t to;
    uint32_t from;
    uint32_t feature;
    uint16_t search;
    uint16_t climbs;
} settling;
typedef char settling_is_counted[sizeof(settling) == 9 * sizeof(md_real) + 14 * 4 ? 1 : -1];
static inline size_t queue_bytes(const mapdpm_stream *s)
{
    return MD_QUEUE(s) > 0 ? MAPDPM_QUEUE_BYTES(MD_FEATURES(s), MD_QUEUE(s)) : 0;
}
static inline int64_t *queue_times(const mapdpm_stream *s) { return (int64_t *)address_of(s, s->bytes - queue_bytes(s)); }
static inline settling *settling_of(const mapdpm_stream *s)
{
    return (settling *)(void *)(queue_times(s) + MD_QUEUE(s));
}
static inline md_real *queue_points(const mapdpm_stream *s) { return (md_real *)(void *)(settling_of(s) + 1); }
static inline uint32_t *queue_length(const mapdpm_stream *s)
{
    return (uint32_t *)(void *)(queue_points(s) + (size_t)MD_QUEUE(s) * MD_FEATURES(s));
}
static inline uint32_t *queue_first(const mapdpm_stream *s) { return queue_length(s) + 1; }
static inline uint32_t *queue_groups(const mapdpm_stream *s) { return queue_length(s) + 2; }

/* ---- the steps of features ---------------------------------------------------------------------------------------- */

static inline size_t resolution_bytes(const mapdpm_stream *s)
{
    return HAS_RESOLUTION(s) ? MAPDPM_RESOLUTION_BYTES(MD_FEATURES(s)) : 0;
}
static inline md_real *resolution_of(const mapdpm_stream *s)
{
    return (md_real *)address_of(s, s->bytes - queue_bytes(s) - resolution_bytes(s));
}
static inline md_real *origin_of(const mapdpm_stream *s) { return resolution_of(s) + MD_FEATURES(s); }
/* The step of a feature, 0 where it has none. */
static inline md_real step_of(const mapdpm_stream *s, size_t d)
{
    return resolution_of(s)[d] > 0 ? resolution_of(s)[d] : 0;
}
/* The variance of a value within its cell, in coordinates. */
static inline md_real cell_of(const mapdpm_stream *s, size_t d)
{
    const md_real step = step_of(s, d) * unit_of(s)[d];

    return step * step / 12;
}

/* ---- features that carry clusters -------------------------------------------------------------------------------- */

/* The mark of a feature that carries none, and of one whose values repeat; of one of the best ones so far, and of one with
 * clusters of its own, while a warm-up is settled; and the bits of the count. */
#define MD_IRRELEVANT UINT32_C(0x80000000)
#define MD_REPEATS UINT32_C(0x40000000)
#define MD_CHOSEN UINT32_C(0x20000000)
#define MD_ALONE UINT32_C(0x10000000)
#define MD_COUNT UINT32_C(0xf)
static inline size_t relevance_bytes(const mapdpm_stream *s)
{
    return HAS_RELEVANCE(s) ? MAPDPM_RELEVANCE_BYTES(MD_FEATURES(s), HAS_MISSING(s)) : 0;
}
/* The moments of all points; elsewhere any, which nothing reads. */
#ifdef MAPDPM_RELEVANCE
static inline md_real *background_of(const mapdpm_stream *s)
{
    return (md_real *)address_of(s, s->bytes - queue_bytes(s) - resolution_bytes(s) - relevance_bytes(s));
}
#else
#define background_of(s) slot_of(s, 0)
#endif
static inline uint32_t *relevance_of(const mapdpm_stream *s)
{
    return (uint32_t *)(void *)(background_of(s) + moments_size(s));
}
/* The words where any feature may carry no clusters, else NULL: for loops. */
static inline const uint32_t *marks_of(const mapdpm_stream *s) { return HAS_RELEVANCE(s) ? relevance_of(s) : NULL; }
static inline int is_marked(const uint32_t *marks, size_t d) { return marks != NULL && (marks[d] & MD_IRRELEVANT) != 0; }
static inline int is_relevant(const mapdpm_stream *s, size_t d) { return !is_marked(marks_of(s), d); }
static inline size_t n_relevant(const mapdpm_stream *s)
{
    const uint32_t *const marks = marks_of(s);
    size_t d, n = 0;

    for (d = 0; marks != NULL && d < MD_FEATURES(s); d++)
        n += (size_t)!is_marked(marks, d);
    return marks != NULL ? n : MD_FEATURES(s);
}
/* The i-th feature that carries clusters, counted round and round. */
static inline size_t relevant_feature(const mapdpm_stream *s, size_t i)
{
    const uint32_t *const marks = marks_of(s);
    size_t left = i % n_relevant(s), d = 0;

    if (marks == NULL)
        return left;
    while (is_marked(marks, d) || left-- > 0)
        d++;
    return d;
}

/* Whether the warm-up has all its points, but no clusters yet. */
static inline int is_settling(const mapdpm_stream *s) { return IS_WARMING(s) && s->n_seen == MD_WARMUP(s); }
/* Whether there are clusters on trial. */
static inline int has_trials(const mapdpm_stream *s) { return MD_QUEUE(s) > 0 && is_settling(s); }
/* Whether points must wait. */
static inline int has_queue_to_do(const mapdpm_stream *s)
{
    return MD_QUEUE(s) > 0 && (is_settling(s) || *queue_length(s) > 0);
}

/* ---- states in time ---------------------------------------------------------------------------------------------- */

enum { TIME_WORDS = 6 };

static inline size_t waiting_room(const mapdpm_stream *s) { return 3 * (size_t)s->lag; }
/* The reals of a snapshot, with gamma and kappa. Behind them lie 2 K + (K + 1)^2 + half_size that a file leaves out. */
static inline size_t time_reals(const mapdpm_stream *s)
{
    const size_t K = MD_SLOTS(s);

    return 3 + K * (2 + (K + 1) + 2 * (K + 1) + 2 * K + 4) + waiting_room(s) * (K + MD_FEATURES(s));
}
static inline int64_t *decayed_to(const mapdpm_stream *s) { return (int64_t *)address_of(s, s->at_more); }
static inline uint32_t *n_waiting_of(const mapdpm_stream *s) { return (uint32_t *)(void *)(decayed_to(s) + 1); }
static inline uint32_t *last_slot_of(const mapdpm_stream *s) { return n_waiting_of(s) + 1; }
static inline uint32_t *last_half_of(const mapdpm_stream *s) { return n_waiting_of(s) + 2; }
static inline uint32_t *run_of(const mapdpm_stream *s) { return n_waiting_of(s) + 3; }
static inline uint32_t *looks_of(const mapdpm_stream *s) { return n_waiting_of(s) + 4; }
static inline uint32_t *state_id_of(const mapdpm_stream *s) { return n_waiting_of(s) + 5; }
static inline md_real *share_gamma(const mapdpm_stream *s) { return (md_real *)address_of(s, s->at_more + 32); }
static inline md_real *kappa_of(const mapdpm_stream *s) { return share_gamma(s) + 1; }
static inline md_real *state_total(const mapdpm_stream *s) { return share_gamma(s) + 2; }
static inline md_real *state_tables(const mapdpm_stream *s) { return share_gamma(s) + 3; }
static inline md_real *belief_of(const mapdpm_stream *s) { return state_tables(s) + MD_SLOTS(s); }
static inline md_real *counts_from(const mapdpm_stream *s, size_t row)
{
    return belief_of(s) + (1 + row) * MD_SLOTS(s);
}
static inline md_real *entries_of(const mapdpm_stream *s, size_t k, size_t h)
{
    return counts_from(s, MD_SLOTS(s) + 1) + (2 * k + h) * (MD_SLOTS(s) + 1);
}
static inline md_real *exits_of(const mapdpm_stream *s, size_t k, size_t h)
{
    return entries_of(s, MD_SLOTS(s), 0) + (2 * k + h) * MD_SLOTS(s);
}
static inline md_real *within_of(const mapdpm_stream *s, size_t k) { return exits_of(s, MD_SLOTS(s), 0) + 4 * k; }
static inline md_real *waiting_belief(const mapdpm_stream *s, size_t i)
{
    return within_of(s, MD_SLOTS(s)) + i * MD_SLOTS(s);
}
static inline md_real *waiting_point(const mapdpm_stream *s, size_t i)
{
    return waiting_belief(s, waiting_room(s)) + i * MD_FEATURES(s);
}
static inline md_real *state_scores(const mapdpm_stream *s) { return waiting_point(s, waiting_room(s)); }
static inline md_real *smoothed_of(const mapdpm_stream *s) { return state_scores(s) + MD_SLOTS(s); }
static inline md_real *steps_from(const mapdpm_stream *s, size_t row)
{
    return state_scores(s) + (2 + row) * MD_SLOTS(s);
}
static inline md_real *opening_of(const mapdpm_stream *s) { return steps_from(s, MD_SLOTS(s) + 1); }
static inline md_real *block_of(const mapdpm_stream *s) { return opening_of(s) + MD_SLOTS(s) + 1; }
static inline uint32_t *waiting_slots(const mapdpm_stream *s)
{
    return (uint32_t *)(void *)(block_of(s) + half_size(s));
}

/* Event number i, which the ring still has. */
static inline const uint32_t *event_of(const mapdpm_stream *s, uint64_t i)
{
    const uint32_t back = (uint32_t)(s->n_events - i),
                   place = s->at_event + (back > s->at_event ? RING_SIZE(s) : 0) - back;

    return event_ring_of(s) + WORDS_PER_EVENT * (size_t)place;
}

/* The place of the counts for each feature, of the means and of the squares in moments. The low parts lie half_size
 * behind. Without missing values the weight is the count of every feature. */
static inline md_real *counts_in(const mapdpm_stream *s, const md_real *moments)
{
    return (md_real *)(uintptr_t)moments + (HAS_MISSING(s) ? 1 : 0);
}
static inline size_t count_step(const mapdpm_stream *s) { return HAS_MISSING(s) ? 1 : 0; }
static inline md_real *mean_in(const mapdpm_stream *s, const md_real *moments)
{
    return (md_real *)(uintptr_t)moments + 1 + (vectors_per_moments(s) - 2) * MD_FEATURES(s);
}
static inline md_real *squares_in(const mapdpm_stream *s, const md_real *moments)
{
    return mean_in(s, moments) + MD_FEATURES(s);
}

#endif
