/* The steps that the files of the stream learner share. Internal. */
#ifndef MAPDPM_LEARNER_H
#define MAPDPM_LEARNER_H

#include "mapdpm_joint.h"

/* The nats that a split or a merge must gain, so that one point does not undo the change of another. A split of n
 * points must gain log n more, because it was tried about so often. */
#define HYSTERESIS ((md_real)3)
/* A cluster of less weight is removed: a single point after one half-life. */
#define FORGOTTEN_WEIGHT ((md_real)0.5)
/* After so many points, halves that have not become clusters start anew with another division. The number doubles each
 * time, up to TRIAL_LENGTH << DOUBLINGS. */
#define TRIAL_LENGTH 300u
#define DOUBLINGS 4u
/* A half with fewer points is ignored. */
#define LEAST_HALF ((md_real)2)
/* Halves of LARGE_HALF points or more stand for up to EXTRAPOLATION times as many points of their cluster. */
#define LARGE_HALF ((md_real)500)
#define EXTRAPOLATION ((md_real)4)
/* One in so many points of a cluster is followed by an attempt to split it, the others by an attempt to merge it. */
#define LOOK_PERIOD 4u
/* c0 = EMPIRICAL_POINTS / warm-up, as in the batch prior. */
#define EMPIRICAL_POINTS ((md_real)10)
/* The least variance within clusters, as a share of the variance of all points. */
#define LEAST_SHARE ((md_real)1e-4)
/* Losses within so many nats are ties. */
#define TIE_NATS ((md_real)1e-3)
/* Added to a variance, so that a constant feature does not divide by zero. */
#define TINY_VARIANCE ((md_real)1e-30)

/* A cluster so many nats below the best does not change a density by a bit. */
#define NEGLIGIBLE ((md_real)40)

/* The largest coordinate before there is a prior that sets the scale. */
#define WARMUP_LIMIT FLOAT_OR_DOUBLE(1e15, 1e100)
/* The limit of the weight of all points. */
#define MOST_WEIGHT ((md_real)1e18)

/* The limit of the variance of a cluster that is inserted, in its coordinates: that of points within COORDINATE_LIMIT,
 * with room for rounding. Sums of squares of MOST_WEIGHT points then stay finite, whatever is merged. */
#define MOST_SPREAD (2 * COORDINATE_LIMIT * COORDINATE_LIMIT)

/* The limits of the variances of a prior. */
#define LEAST_VARIANCE FLOAT_OR_DOUBLE(1e-30, 1e-200)
#define MOST_VARIANCE FLOAT_OR_DOUBLE(1e30, 1e200)

/* The limit of the numbers of features, of slots and of groups. */
#define LARGEST_COUNT (UINT32_C(1) << 20)
/* The largest lag. */
#define LARGEST_LAG 1024u

/* Almost the largest real. */
#define LARGEST_REAL FLOAT_OR_DOUBLE(3e38, 1e300)

enum { CLOCK_UNKNOWN = 0, CLOCK_POINTS = 1, CLOCK_MICROSECONDS = 2 };

/* The choice of a point: the best cluster, the most likely of the others, and whether a new cluster scores higher. */
typedef struct {
    uint32_t best;
    uint32_t second;
    int has_aged; /* the weight of a cluster is below FORGOTTEN_WEIGHT */
    int opens;
    md_real density;
    md_real novelty; /* the probability of a new cluster */
    md_real common;  /* the log of the sum of all weighted densities but those of rare clusters */
    md_real weight;  /* of all clusters, and alpha */
} choice;

MAPDPM_INTERNAL int stream_reset(mapdpm_stream *s, const mapdpm_options *options);
MAPDPM_INTERNAL md_real stream_parameter(const mapdpm_stream *s, size_t i);
MAPDPM_INTERNAL choice stream_choose(const mapdpm_stream *s, const md_real *x, int with_density);
MAPDPM_INTERNAL int stream_check_point(const mapdpm_stream *s, const md_real *x);
MAPDPM_INTERNAL md_real stream_total_weight(const mapdpm_stream *s);
MAPDPM_INTERNAL size_t stream_choose_half(const mapdpm_stream *s, uint32_t k, const md_real *x);
MAPDPM_INTERNAL uint32_t stream_try_split(mapdpm_stream *s, uint32_t k, size_t h);
MAPDPM_INTERNAL void stream_try_merge(mapdpm_stream *s, uint32_t k, uint32_t b);
MAPDPM_INTERNAL uint32_t stream_make_room(mapdpm_stream *s, uint32_t spared, md_real gain);
MAPDPM_INTERNAL void stream_clear_halves(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_remove(mapdpm_stream *s, uint32_t k, uint32_t kind);
MAPDPM_INTERNAL void stream_remove_aged(mapdpm_stream *s);
MAPDPM_INTERNAL void stream_open_slot(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL int stream_set_prior(mapdpm_stream *s, const md_real *parameters);
MAPDPM_INTERNAL void stream_clear_slot(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_apply_decay(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_refresh(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void stream_relabel_window(mapdpm_stream *s, uint32_t from, uint32_t to);
MAPDPM_INTERNAL void stream_revisit(mapdpm_stream *s, const md_real *x, uint32_t id);
MAPDPM_INTERNAL void stream_record(mapdpm_stream *s, uint32_t kind, uint32_t id, uint32_t other);
MAPDPM_INTERNAL uint32_t stream_free_slot(const mapdpm_stream *s);
MAPDPM_INTERNAL md_real stream_unit_for(md_real variance);
MAPDPM_INTERNAL void stream_prepare_opening(mapdpm_stream *s);
MAPDPM_INTERNAL md_real stream_gain_of_split(const mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_revisit_prior(mapdpm_stream *s);
MAPDPM_INTERNAL int stream_is_valid(const mapdpm_stream *s);

/* The end of the warm-up (warmup.c, settle.c): begin, and take a step, which returns whether there are more, or an
 * error. */
MAPDPM_INTERNAL const md_real *warmup_point(const mapdpm_stream *s, size_t i);
MAPDPM_INTERNAL void warmup_add_point(mapdpm_stream *s, size_t i, uint32_t k, md_real weight);
MAPDPM_INTERNAL void warmup_begin(settling *z);
MAPDPM_INTERNAL int warmup_step(mapdpm_stream *s, settling *z);
MAPDPM_INTERNAL void settle_begin(settling *z);
MAPDPM_INTERNAL int settle_step(mapdpm_stream *s, settling *z);

/* Points that wait (queue.c), and how they are learned (online.c). */
MAPDPM_INTERNAL int queue_add(mapdpm_stream *s, const md_real *x, int64_t now);
MAPDPM_INTERNAL int64_t queue_latest(const mapdpm_stream *s);
MAPDPM_INTERNAL int stream_learn(mapdpm_stream *s, const md_real *x, int64_t now, uint32_t *id, md_real *score,
                                 mapdpm_assessment *a);
MAPDPM_INTERNAL void stream_settled(mapdpm_stream *s);

/* Assessments (assess.c). */
MAPDPM_INTERNAL void stream_assess_nothing(mapdpm_assessment *a);
MAPDPM_INTERNAL void stream_assess(const mapdpm_stream *s, const choice *c, md_real surprise, mapdpm_assessment *a);

/* With surprise (surprise.c). */
MAPDPM_INTERNAL void surprise_reset(mapdpm_stream *s, md_real rare);
MAPDPM_INTERNAL md_real surprise_nats(const mapdpm_stream *s, const md_real *x, const choice *c);
MAPDPM_INTERNAL md_real surprise_rank(const mapdpm_stream *s, md_real nats);
MAPDPM_INTERNAL void surprise_count(mapdpm_stream *s, md_real nats, md_real surprise, uint32_t k, md_real weight);
MAPDPM_INTERNAL void surprise_refresh(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void surprise_judge_all(mapdpm_stream *s);
MAPDPM_INTERNAL void surprise_seat(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void surprise_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void surprise_split(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share);
MAPDPM_INTERNAL void surprise_pool(mapdpm_stream *s, const mapdpm_stream *from);

/* With groups (groups.c). */
MAPDPM_INTERNAL void groups_reset(mapdpm_stream *s, const mapdpm_options *options);
MAPDPM_INTERNAL int groups_can_learn(const mapdpm_stream *s);
MAPDPM_INTERNAL void groups_admit(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_total(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_count(mapdpm_stream *s, uint32_t k, size_t h);
MAPDPM_INTERNAL void groups_recount(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void groups_settle(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_balance(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_add(mapdpm_stream *s, uint32_t k, uint32_t row, md_real weight);
MAPDPM_INTERNAL void groups_decay(mapdpm_stream *s, uint32_t k, md_real decay);
MAPDPM_INTERNAL void groups_clear(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void groups_clear_halves(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void groups_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void groups_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, md_real share);
MAPDPM_INTERNAL void groups_seat(mapdpm_stream *s, uint32_t k, md_real tables);
MAPDPM_INTERNAL void groups_swap(mapdpm_stream *s, uint32_t a, uint32_t b);

/* With states in time: transitions.c. */
MAPDPM_INTERNAL void states_reset(mapdpm_stream *s, const mapdpm_options *options);
MAPDPM_INTERNAL void states_prepare(mapdpm_stream *s);
MAPDPM_INTERNAL void states_recount(mapdpm_stream *s);
MAPDPM_INTERNAL void states_count(mapdpm_stream *s, uint32_t row, uint32_t k, md_real weight);
MAPDPM_INTERNAL void states_decay(mapdpm_stream *s);
MAPDPM_INTERNAL void states_clear(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void states_clear_halves(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void states_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void states_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, md_real share);
MAPDPM_INTERNAL md_real states_merge_gain(const mapdpm_stream *s, uint32_t a, uint32_t b);
MAPDPM_INTERNAL md_real states_split_gain(const mapdpm_stream *s, uint32_t k, md_real scale);
/* filter.c, which shares three steps of choose.c. */
MAPDPM_INTERNAL choice states_choose(const mapdpm_stream *s, const md_real *x, int with_density);
MAPDPM_INTERNAL void states_believe(const mapdpm_stream *s, uint32_t chosen, md_real *belief);
MAPDPM_INTERNAL uint32_t stream_bound_block(const mapdpm_stream *s, const md_real *x, uint32_t first, md_real *tails,
                                            md_real *bounds);
MAPDPM_INTERNAL md_real stream_score_new(const mapdpm_stream *s, const md_real *x, md_real least, md_real *bound);
MAPDPM_INTERNAL md_real stream_unit_term(const mapdpm_stream *s, const md_real *x);
/* blocks.c. */
MAPDPM_INTERNAL void states_learn_block(mapdpm_stream *s, uint32_t k, const md_real *x, size_t n);
MAPDPM_INTERNAL void states_try_change(mapdpm_stream *s, int reserves);
/* smoothing.c. */
MAPDPM_INTERNAL int states_expect(const mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL int states_will_age(const mapdpm_stream *s, int64_t before);
MAPDPM_INTERNAL void states_settle(mapdpm_stream *s, size_t m, int reserves);
MAPDPM_INTERNAL uint32_t states_learn(mapdpm_stream *s, uint32_t k, int is_new, const md_real *x);
MAPDPM_INTERNAL void states_begin(mapdpm_stream *s);
MAPDPM_INTERNAL void states_removed(mapdpm_stream *s);

/* A summary in a file: its clusters, each of so many reals of so many bytes. */
typedef struct {
    const unsigned char *clusters;
    const unsigned char *parameters;
    uint32_t n;
    uint32_t n_features;
    uint32_t reals;
    uint32_t width;
    int has_counts;
} summary;

/* Messages (summary.c). */
MAPDPM_INTERNAL int summary_open(const unsigned char *file, size_t file_bytes, summary *f);
MAPDPM_INTERNAL int summary_check(const mapdpm_stream *s, const summary *f);
MAPDPM_INTERNAL md_real summary_tables(const summary *f, uint32_t i);
MAPDPM_INTERNAL md_real summary_read(const mapdpm_stream *s, const summary *f, uint32_t i, md_real *moments);

/* With a base (base.c). */
MAPDPM_INTERNAL void base_add(mapdpm_stream *s, uint32_t k, const md_real *x, md_real weight);
MAPDPM_INTERNAL void base_decay(mapdpm_stream *s, uint32_t k, md_real decay);
MAPDPM_INTERNAL void base_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void base_split(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share);
MAPDPM_INTERNAL void base_none(mapdpm_stream *s, uint32_t k);

/* The moments of the points in slot k that the learner saw itself, and the tables of their groups. */
static inline const md_real *seen_in(const mapdpm_stream *s, uint32_t k)
{
    return HAS_BASE(s) ? own_of(s, k) : slot_of(s, k);
}
static inline md_real tables_seen(const mapdpm_stream *s, uint32_t k, md_real decay)
{
    const md_real n = *seen_in(s, k) * decay, tables = IS_GROUPED(s) ? tables_at(s, k, decay) : 1;
    const md_real own = HAS_BASE(s) ? at_least(tables - *base_tables_of(s, k) * decay, LEAST_TABLES) : tables;

    return own < n ? own : n;
}

/* Whether the weight of all points stays within MOST_WEIGHT if `weight` is added. Then no cluster can outgrow the limit
 * of a snapshot, whichever clusters merge. */
static inline int weight_fits(uint64_t seen, md_real weight)
{
    const uint64_t most = to_uint64(MOST_WEIGHT);

    return seen <= most && to_uint64(weight + MD_HALF) <= most - seen;
}

static inline view view_of(const mapdpm_stream *s, uint32_t k, int64_t now)
{
    view v = empty_view(s);

    v.moments = slot_of(s, k);
    v.decay = decay_of(s, k, now);
    if (IS_GROUPED(s))
        set_groups(&v, cells_of(s, 0) + k, past_tables_of(s)[k] * v.decay, tables_at(s, k, v.decay));
    return v;
}

/* A half as if it were a cluster: its share of the slot's tables is that of its points. */
static inline view half_view(const mapdpm_stream *s, uint32_t k, size_t h)
{
    view v = empty_view(s);

    v.moments = half_of(s, k, h);
    v.decay = 1;
    if (IS_GROUPED(s)) {
        const md_real share = *v.moments / (*half_of(s, k, 0) + *half_of(s, k, 1));

        set_groups(&v, half_cells_of(s, h, 0) + k, past_tables_of(s)[k] * share, tables_at(s, k, 1) * share);
    }
    return v;
}

/* A number of points that a split gives to a half. Counts stay whole numbers without forgetting; larger reals are whole
 * anyway. */
static inline md_real whole_points(const mapdpm_stream *s, md_real n)
{
    md_real whole = n;

    if (!FORGETS(s) && n >= 0 && n < (md_real)8388608)
        whole = (md_real)(int32_t)(n + MD_HALF);
    return whole;
}

/* Whether x is nearer to the mean of the second half than to that of the first. The unit of each feature is the sum of
 * squares within the halves, plus the share of two points in that of the whole cluster. */
static inline int is_nearer_to_second(const mapdpm_stream *s, const md_real *slot, const md_real *h0, const md_real *h1,
                                      const md_real *x)
{
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s), *const squares = squares_in(s, slot);
    const md_real *const mean0 = mean_in(s, h0), *const squares0 = squares_in(s, h0);
    const md_real *const mean1 = mean_in(s, h1), *const squares1 = squares_in(s, h1);
    const md_real two = 2 / *slot;
    md_real difference = 0;
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real t = (x[d] - anchor[d]) * unit[d], t0 = t - mean0[d], t1 = t - mean1[d];

        if (!HAS_MISSING(s) || is_present(x[d]))
            difference += (t0 - t1) * (t0 + t1) / (squares0[d] + squares1[d] + two * squares[d] + TINY_VARIANCE);
    }
    return difference > 0;
}

/* The slots that loops over states visit: a multiple of MD_LANES where there are so many, so that vectors are full.
 * Free slots have probability 0. */
enum { MD_LANES = 4 };
static inline uint32_t padded_width(const mapdpm_stream *s)
{
    const uint32_t width = (s->width + MD_LANES - 1) / MD_LANES * MD_LANES;

    return width < MD_SLOTS(s) ? width : MD_SLOTS(s);
}

/* The share of a slot, times alpha. */
static inline md_real state_weight(const mapdpm_stream *s, uint32_t k)
{
    return at_least(s->alpha * (state_tables(s)[k] / *state_total(s)), LEAST_PSEUDO_COUNT);
}

/* Whether clusters are scored by the score table. They are not if every point would change all of it. */
static inline int is_prepared(const mapdpm_stream *s) { return !FORGETS(s) && !HAS_MISSING(s); }

#endif
