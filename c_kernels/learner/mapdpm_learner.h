/* What the rooms of the stream learner share: limits, the choice of a point, views of clusters. Internal; static inlines. */
#ifndef MAPDPM_LEARNER_H
#define MAPDPM_LEARNER_H

#include "learner/mapdpm_background.h"
#include "learner/mapdpm_policy.h"

#define HYSTERESIS ((md_real)HYSTERESIS_NATS)
/* A cluster of less weight is removed: a single point after one half-life (decision 47). */
#define FORGOTTEN_WEIGHT ((md_real)0.5)
#define LEAST_WATCHED ((md_real)WATCHED_POINTS)
#define LEAST_HALF ((md_real)HALF_POINTS)
#define LARGE_HALF ((md_real)LARGE_HALF_POINTS)
#define EXTRAPOLATION ((md_real)EXTRAPOLATION_TIMES)
static inline uint32_t trial_of(const mapdpm_stream *s, uint32_t k) { return trials_of(s)[k] >> 16 & TRIAL_NUMBERS; }
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

/* A surprise of at most this is told with contributions. */
#define MD_UNUSUAL ((md_real)0.01)

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
    const uint32_t *const marks = marks_of(s);
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s), *const squares = squares_in(s, slot);
    const md_real *const mean0 = mean_in(s, h0), *const squares0 = squares_in(s, h0);
    const md_real *const mean1 = mean_in(s, h1), *const squares1 = squares_in(s, h1);
    const md_real two = 2 / *slot;
    md_real difference = 0;
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real t = (x[d] - anchor[d]) * unit[d], t0 = t - mean0[d], t1 = t - mean1[d];

        if (!is_marked(marks, d) && (!HAS_MISSING(s) || is_present(x[d])))
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
