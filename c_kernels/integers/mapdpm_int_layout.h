/* Where the learner in whole numbers keeps what, and what it shares among its files. Internal.
 *
 * Behind the head: twice b0 of each feature, the slots, the rows of the score table, the events, the centre. A slot has three
 * moments: of its points (WHOLE), and of its two halves (1 and 2). Row INT_SLOTS is that of a new cluster.
 */
#ifndef MAPDPM_INT_LAYOUT_H
#define MAPDPM_INT_LAYOUT_H

#include "integers/mapdpm_whole.h"
#include "learner/mapdpm_policy.h"

#ifndef MAPDPM_INTERNAL
#define MAPDPM_INTERNAL
#endif

#ifdef MAPDPM_FEATURES
#define INT_FEATURES(s) ((void)(s), (uint32_t)MAPDPM_FEATURES)
#else
#define INT_FEATURES(s) ((s)->n_features)
#endif
#ifdef MAPDPM_CLUSTERS
#define INT_SLOTS(s) ((void)(s), (uint32_t)MAPDPM_CLUSTERS)
#else
#define INT_SLOTS(s) ((s)->max_clusters)
#endif
#ifdef MAPDPM_WHEN_FULL
#define INT_WHEN_FULL(s) MAPDPM_WHEN_FULL
#else
#define INT_WHEN_FULL(s) ((s)->when_full)
#endif
#ifdef MAPDPM_NO_FORGETTING
#define INT_FORGETS(s) 0
#else
#define INT_FORGETS(s) ((s)->half_life > 0)
#endif
#ifdef MAPDPM_NO_SPLIT
#define INT_SPLITS 0
#else
#define INT_SPLITS 1
#endif

#define INT_POINT UINT32_C(256) /* the weight of a point, in Q8 */
#define INT_NONE UINT32_C(0xff)
#define INT_NAT INT32_C(65536)
#define INT_MOST_GAIN (INT64_C(1) << 62) /* more than any */
#ifdef MAPDPM_FEATURES
#define INT_MOST_FEATURES MAPDPM_FEATURES
#else
#define INT_MOST_FEATURES 64u
#endif
#define INT_MOST_CLUSTERS 254u
#define INT_LARGEST_WEIGHT (UINT32_C(1) << 30) /* of all points: 2^22 of them */
#define INT_NEGLIGIBLE (12u * INT_NAT)

enum { WHOLE = 0, PARTS = 3 };

typedef struct {
    uint32_t weights[PARTS];
    uint32_t id;
    uint32_t seen; /* the number of its last point, modulo 2^32 */
    uint32_t trials;
} int_slot; /* behind squares [PARTS][D], the loss by the cheapest merge that it has met, and means [PARTS][D]; then what is left
             * of means [D], and its partner in that merge */

/* A row of the score table: its constant and centres [D], its exponent and roots [D], the exponent's scale and shifts [D]. */
typedef struct {
    const int32_t *constant;
    const uint16_t *exponent;
    const uint8_t *scale;
} int_row;

static inline size_t int_slot_bytes(uint32_t D) { return MAPDPM_SLOT_BYTES(D); }
static inline size_t int_row_bytes(uint32_t D) { return MAPDPM_ROW_BYTES(D); }

static inline uint64_t *int_twice_b0(const mapdpm_stream *s)
{
    return (uint64_t *)(void *)((unsigned char *)(uintptr_t)s + sizeof *s);
}
static inline uint64_t *int_squares(const mapdpm_stream *s, uint32_t k, uint32_t part)
{
    unsigned char *const slot =
        (unsigned char *)(int_twice_b0(s) + INT_FEATURES(s)) + k * int_slot_bytes(INT_FEATURES(s));

    return (uint64_t *)(void *)slot + (size_t)(INT_FEATURES(s) * part);
}
static inline int64_t *int_loss(const mapdpm_stream *s, uint32_t k)
{
    return (int64_t *)(void *)int_squares(s, k, PARTS);
}
static inline int32_t *int_means(const mapdpm_stream *s, uint32_t k, uint32_t part)
{
    return (int32_t *)(void *)(int_loss(s, k) + 1) + (size_t)(INT_FEATURES(s) * part);
}
static inline int_slot *int_slot_of(const mapdpm_stream *s, uint32_t k)
{
    return (int_slot *)(void *)int_means(s, k, PARTS);
}
static inline uint16_t *int_rests(const mapdpm_stream *s, uint32_t k)
{
    return (uint16_t *)(void *)(int_slot_of(s, k) + 1);
}
static inline uint8_t *int_partner(const mapdpm_stream *s, uint32_t k)
{
    return (uint8_t *)(void *)(int_rests(s, k) + INT_FEATURES(s));
}
static inline uint32_t *int_weight(const mapdpm_stream *s, uint32_t k, uint32_t part)
{
    return &int_slot_of(s, k)->weights[part];
}
static inline int32_t *int_constant(const mapdpm_stream *s, uint32_t k)
{
    return (int32_t *)(void *)((unsigned char *)int_squares(s, INT_SLOTS(s), 0) + k * int_row_bytes(INT_FEATURES(s)));
}
static inline int_row int_row_at(const mapdpm_stream *s, const int32_t *constant)
{
    int_row row;

    row.constant = constant;
    row.exponent = (const uint16_t *)(const void *)(row.constant + 1 + INT_FEATURES(s));
    row.scale = (const uint8_t *)(row.exponent + 1 + INT_FEATURES(s));
    return row;
}
static inline uint32_t *int_events(const mapdpm_stream *s)
{
    return (uint32_t *)(void *)int_constant(s, INT_SLOTS(s) + 1);
}
static inline int16_t *int_centre(const mapdpm_stream *s)
{
    return (int16_t *)(void *)(int_events(s) + (size_t)(4 * MAPDPM_EVENTS(INT_SLOTS(s))));
}

static inline int int_is_used(const mapdpm_stream *s, uint32_t k) { return *int_weight(s, k, WHOLE) > 0; }
static inline uint32_t int_trial(const mapdpm_stream *s, uint32_t k)
{
    return int_slot_of(s, k)->trials >> 16 & TRIAL_NUMBERS;
}

/* A place of a point that is centred, in Q13. */
static inline int32_t int_place(int32_t x) { return x * 8192; }
/* Where the moments of some points are. Halves keep no rest of their means: NULL. */
typedef struct {
    uint32_t *weight;
    uint64_t *squares;
    int32_t *means;
    uint16_t *rests;
} int_moments;

/* A mean, rounded to Q13. */
WHOLE_INLINE int32_t int_mean(const int_moments *m, uint32_t d)
{
    return m->rests ? m->means[d] + (m->rests[d] >> 15) : m->means[d];
}

/* Moments as the prior counts them, in units of a point of now: less by what points have gained in weight since. With
 * `factor`, halves stand for more points. */
typedef struct {
    uint32_t weight;
    int_moments at;
    whole_ratio factor;
} int_view;

/* The choice of a point: the best cluster, the next best, whether a new one is better, the log density, and the
 * weight of all clusters. */
typedef struct {
    uint32_t best;
    uint32_t second;
    int opens;
    int32_t density;
    uint32_t weight;
} int_choice;

MAPDPM_INTERNAL int_moments int_moments_of(const mapdpm_stream *s, uint32_t k, uint32_t part);
MAPDPM_INTERNAL uint32_t int_weight_now(const mapdpm_stream *s, uint32_t weight);
MAPDPM_INTERNAL int_view int_view_of(const mapdpm_stream *s, uint32_t k, uint32_t part);
MAPDPM_INTERNAL uint64_t int_squares_of(const mapdpm_stream *s, const int_view *v, uint32_t d);
MAPDPM_INTERNAL void int_stretch(int_view *v, whole_ratio factor);
MAPDPM_INTERNAL void int_add(const mapdpm_stream *s, const int_moments *m, const int32_t *x);
MAPDPM_INTERNAL void int_unite(const mapdpm_stream *s, uint32_t k, uint32_t other);
MAPDPM_INTERNAL void int_prepare(const mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL int64_t int_merge_gain(const mapdpm_stream *s, const int_view *a, const int_view *b);
MAPDPM_INTERNAL int64_t int_eviction_loss(const mapdpm_stream *s, uint32_t k, uint32_t idle, uint32_t total);

MAPDPM_INTERNAL uint32_t int_distance(uint32_t away, uint32_t root, uint32_t shift);
MAPDPM_INTERNAL int_choice int_choose(const mapdpm_stream *s, const int32_t *x, int with_density);
MAPDPM_INTERNAL uint32_t int_total(const mapdpm_stream *s);

MAPDPM_INTERNAL void int_begin(mapdpm_stream *s, const mapdpm_options *o);
MAPDPM_INTERNAL int int_is_prior(mapdpm_stream *s);
MAPDPM_INTERNAL void int_record(mapdpm_stream *s, uint32_t kind, uint32_t id, uint32_t other);
MAPDPM_INTERNAL void int_clear_halves(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void int_clear(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void int_open(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void int_remove(mapdpm_stream *s, uint32_t k, uint32_t kind);
MAPDPM_INTERNAL uint32_t int_free(const mapdpm_stream *s);
MAPDPM_INTERNAL int64_t int_pair_gain(const mapdpm_stream *s, uint32_t a, uint32_t b);
MAPDPM_INTERNAL void int_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL uint32_t int_make_room(mapdpm_stream *s, uint32_t spared, int64_t gain);
MAPDPM_INTERNAL void int_watch(mapdpm_stream *s, uint32_t k, const int32_t *x);
MAPDPM_INTERNAL uint32_t int_choose_half(const mapdpm_stream *s, uint32_t k, const int32_t *x);
MAPDPM_INTERNAL uint32_t int_try_split(mapdpm_stream *s, uint32_t k, uint32_t half);
MAPDPM_INTERNAL void int_try_merge(mapdpm_stream *s, uint32_t k, uint32_t other);

#endif
