/* mapdpm: clustering without a given number of clusters. The C library: version, errors, model files, streams.
 *
 * C99. The library needs memcpy and memset only; the batch part also needs libm. The caller owns all memory: nothing is
 * allocated, and nothing is global.
 *
 * Functions return 0 or a negative mapdpm_error. A program has one real type: compile all files with the same
 * -DMAPDPM_REAL=float or -DMAPDPM_REAL=double (the default, except on Arduino), or with -DMAPDPM_REAL=int for the learner in
 * whole numbers (mapdpm_int.h). docs/c-library.md lists the other switches. A program may set all of them in a header of its
 * own: -DMAPDPM_CONFIG='"my_config.h"'.
 */
#ifndef MAPDPM_H
#define MAPDPM_H

#include <stddef.h>
#include <stdint.h>

#ifdef MAPDPM_CONFIG
#include MAPDPM_CONFIG
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define MAPDPM_VERSION "0.2.0"
#define MAPDPM_VERSION_MAJOR 0
#define MAPDPM_VERSION_MINOR 2
#define MAPDPM_VERSION_PATCH 0
#define MAPDPM_VERSION_NUMBER (MAPDPM_VERSION_MAJOR * 10000 + MAPDPM_VERSION_MINOR * 100 + MAPDPM_VERSION_PATCH)
#define MAPDPM_FORMAT 1

#ifndef MAPDPM_REAL
#ifdef ARDUINO /* its builder gives libraries no flags */
#define MAPDPM_REAL float
#else
#define MAPDPM_REAL double
#endif
#endif

#define MAPDPM_OF_REAL(name, real) name##_##real
#define MAPDPM_BY_REAL(name, real) MAPDPM_OF_REAL(name, real)

/* Whether the real type is int; the preprocessor cannot compare names. */
#define MAPDPM_HAS_INTEGERS_int 1
#define MAPDPM_HAS_INTEGERS_float 0
#define MAPDPM_HAS_INTEGERS_double 0
#define MAPDPM_INTEGERS MAPDPM_BY_REAL(MAPDPM_HAS_INTEGERS, MAPDPM_REAL)

#include "mapdpm_codes.h"
#if MAPDPM_INTEGERS
#include "mapdpm_int.h"
#else

typedef MAPDPM_REAL mapdpm_real;

/* The linker knows the functions that make objects, and those that most points go through, by names with the real type:
 * mapdpm_init_float. So it refuses a library that was compiled for the other one, by "undefined reference to
 * mapdpm_init_double" in a program of double (decision 146). */
#define mapdpm_model_read MAPDPM_BY_REAL(mapdpm_model_read, MAPDPM_REAL)
#define mapdpm_init MAPDPM_BY_REAL(mapdpm_init, MAPDPM_REAL)
#define mapdpm_learn MAPDPM_BY_REAL(mapdpm_learn, MAPDPM_REAL)
#define mapdpm_learn_at MAPDPM_BY_REAL(mapdpm_learn_at, MAPDPM_REAL)
#define mapdpm_predict MAPDPM_BY_REAL(mapdpm_predict, MAPDPM_REAL)
#define mapdpm_snapshot_read MAPDPM_BY_REAL(mapdpm_snapshot_read, MAPDPM_REAL)
#define mapdpm_snapshot_receive MAPDPM_BY_REAL(mapdpm_snapshot_receive, MAPDPM_REAL)
#define mapdpm_bank_init MAPDPM_BY_REAL(mapdpm_bank_init, MAPDPM_REAL)
#define mapdpm_alarm_init MAPDPM_BY_REAL(mapdpm_alarm_init, MAPDPM_REAL)
#define mapdpm_features_init MAPDPM_BY_REAL(mapdpm_features_init, MAPDPM_REAL)
#define mapdpm_features_read MAPDPM_BY_REAL(mapdpm_features_read, MAPDPM_REAL)

/* The bytes of a learner of D features and at most K clusters; constants, for static memory. The second is for a learner
 * of options.warmup W, options.window N and options.missing M (0 or 1). In float every sum has a second real, which
 * holds what rounding lost. */
#define MAPDPM_STREAM_HEAD (2 * 8 + 8 + 22 * 4 + 10 * sizeof(mapdpm_real))
#define MAPDPM_HALF_REALS(D, M) (1 + (2 + (size_t)(M)) * (size_t)(D))
#define MAPDPM_SLOT_REALS(D, M) ((sizeof(mapdpm_real) == 4 ? 4 : 3) * MAPDPM_HALF_REALS(D, M) + 1)
#define MAPDPM_KEPT_BYTES(D, W, N)                                                                                     \
    (((W) > (N) ? (size_t)(W) : (size_t)(N)) * (8 + (size_t)(D) * sizeof(mapdpm_real)) + 4 * ((size_t)(W) + (N)))
#define MAPDPM_STATE_BYTES(D, K) MAPDPM_STATE_BYTES_WITH(D, K, 0, 0, 0)
#define MAPDPM_STATE_BYTES_WITH(D, K, W, N, M)                                                                         \
    ((MAPDPM_STREAM_HEAD +                                                                                             \
      (size_t)(K) * (8 + 4 * 4 + 16 * MAPDPM_EVENTS(1) +                                                               \
                     (MAPDPM_SLOT_REALS(D, M) + 2 + 2 * (size_t)(D)) * sizeof(mapdpm_real)) +                          \
      5 * (size_t)(D) * sizeof(mapdpm_real) + MAPDPM_KEPT_BYTES(D, W, N) + 7) / 8 * 8)

/* The bytes of its snapshot; with MAPDPM_NORMAL_KNOWN_VARIANCE, D - 2 reals more. What groups, states, surprise or a
 * queue add to the learner is enough for what they add to the snapshot. A sequence number adds the last constant. */
#define MAPDPM_SNAPSHOT_BYTES(D, K) MAPDPM_SNAPSHOT_BYTES_WITH(D, K, 0, 0, 0)
#define MAPDPM_SNAPSHOT_BYTES_WITH(D, K, W, N, M)                                                                      \
    (40 + 4 * 4 + 3 * 8 + 6 * 4 + (5 + 2 * (size_t)(D)) * sizeof(mapdpm_real) +                                        \
     (size_t)(K) * (8 + 4 * 4 + 16 * MAPDPM_EVENTS(1) + MAPDPM_SLOT_REALS(D, M) * sizeof(mapdpm_real)) +               \
     MAPDPM_KEPT_BYTES(D, W, N) + 4)
#define MAPDPM_SEQUENCE_BYTES 53

/* The further bytes of a learner whose queue holds Q points. */
#define MAPDPM_QUEUE_BYTES(D, Q)                                                                                       \
    (((size_t)(Q) * (12 + (size_t)(D) * sizeof(mapdpm_real)) + 9 * sizeof(mapdpm_real) + 16 * 4 + 7) / 8 * 8)

/* The further bytes of a learner that knows G groups. */
#define MAPDPM_GROUP_BYTES(K, G)                                                                                       \
    ((16 + (3 + (size_t)(K) * (2 + (sizeof(mapdpm_real) == 4 ? 4 : 3) * (size_t)(G))) * sizeof(mapdpm_real) +           \
      8 * (size_t)(G) + 7) / 8 * 8)

/* The further bytes of a learner of states in time that waits for L points. */
#define MAPDPM_TIME_BYTES(D, K, L)                                                                                     \
    ((32 + ((5 + 2 * (size_t)(D)) + (size_t)(K) * (13 + 6 * (size_t)(K)) + 3 * (size_t)(L) * ((size_t)(D) + (K))) *     \
              sizeof(mapdpm_real) + 12 * (size_t)(L) + 7) / 8 * 8)

/* The further bytes of a learner that knows how surprising a point is. */
#define MAPDPM_SURPRISE_BYTES(K) (((41 + (size_t)(K)) * sizeof(mapdpm_real) + 4 * ((size_t)(K) + 5) + 7) / 8 * 8)

/* The further bytes of a learner that finds the features that carry clusters. */
#define MAPDPM_RELEVANCE_BYTES(D, M)                                                                                   \
    (((sizeof(mapdpm_real) == 4 ? 2 : 1) * MAPDPM_HALF_REALS(D, M) * sizeof(mapdpm_real) + 4 * (size_t)(D) + 7) / 8 * 8)

/* The further bytes of a learner of groups that can have a base; the last term where it has missing values. */
#define MAPDPM_BASE_BYTES(D, K)                                                                                        \
    ((((size_t)(K) + 1) * ((sizeof(mapdpm_real) == 4 ? 2 : 1) * (1 + 2 * (size_t)(D))) + (size_t)(K)) *                \
     sizeof(mapdpm_real))

/* The further bytes of a learner that finds the steps of its features. */
#define MAPDPM_RESOLUTION_BYTES(D) ((2 * (size_t)(D) * sizeof(mapdpm_real) + 7) / 8 * 8)

/* Python reads the declarations between the two markers (build_kernels.py). */
/* cdef: begin */
enum mapdpm_family {
    MAPDPM_NORMAL_GAMMA = 1,          /* parameters: m0[D], c0, a0, b0[D] */
    MAPDPM_NORMAL_KNOWN_VARIANCE = 2, /* parameters: m0[D], prior_variance[D], variance[D] */
    MAPDPM_SQUARED_DISTANCE = 3,      /* DP-means, batch only: scale[D], a typical squared distance */
    MAPDPM_NORMAL_INVERSE_WISHART = 4 /* batch only: m0[D], c0, nu0, psi0[D][D] */
};

/* A batch model: the values that scoring needs. Positions are relative to the anchor, which is subtracted from data
 * first. */
typedef struct mapdpm_model {
    int32_t family;
    uint32_t n_features;
    uint32_t n_clusters;
    mapdpm_real alpha;
    mapdpm_real discount;
    mapdpm_real *anchor;     /* [n_features] */
    mapdpm_real *parameters; /* [mapdpm_n_parameters(family, n_features)] */
    mapdpm_real *statistics; /* [n_clusters][1 + 2 n_features]: weight, mean, sum of squared deviations */
    uint64_t *counts;        /* [n_clusters], in points */
} mapdpm_model;

/* Whether this program computes the same bits as all others: MAPDPM_OK, or MAPDPM_E_ARITHMETIC if a flag of the
 * compiler or the linker, or a mode of the processor changes arithmetic. Takes no memory. Call it once, in a test or at
 * start. */
int mapdpm_selftest(void);

/* The number of parameters of a family; 0 for an unknown family. */
size_t mapdpm_n_parameters(int32_t family, uint32_t n_features);

/* The bytes of memory that mapdpm_model_read needs, and of the file that mapdpm_model_write makes; 0 if they
 * overflow. */
size_t mapdpm_model_bytes(int32_t family, uint32_t n_features, uint32_t n_clusters);
size_t mapdpm_model_file_bytes(int32_t family, uint32_t n_features, uint32_t n_clusters);

/* Check the header and the CRC of a file. Sets family, n_features and n_clusters of shape, and nothing else. */
int mapdpm_model_shape(const unsigned char *file, size_t file_bytes, mapdpm_model *shape);

/* Read a file into the caller's memory, aligned for uint64_t. Every field is checked. Python's additions are
 * skipped. */
int mapdpm_model_read(const unsigned char *file, size_t file_bytes, void *memory, size_t memory_bytes,
                      mapdpm_model *model);

/* Write a model to a buffer. */
int mapdpm_model_write(const mapdpm_model *model, unsigned char *file, size_t capacity, size_t *file_bytes);

/* ---- streams: learning without end in fixed memory --------------------------------------------------------------- */

/* The policy for a new group when all groups are taken. */
enum mapdpm_when_groups_full {
    MAPDPM_GROUPS_ERROR = 0,  /* MAPDPM_E_GROUP; nothing changes */
    MAPDPM_GROUPS_REPLACE = 1 /* it takes the place of the group that was seen least recently */
};

typedef struct mapdpm_options {
    int32_t family; /* normal data only */
    uint32_t n_features;
    uint32_t max_clusters;
    uint32_t warmup;               /* points that set the prior; 0 if parameters are given */
    uint32_t window;               /* points that are kept and revisited, one a step; 0: none */
    uint32_t when_full;            /* enum mapdpm_when_full */
    uint32_t missing;              /* 1: NaN is a missing value (only with MAPDPM_MISSING) */
    const mapdpm_real *parameters; /* [mapdpm_n_parameters(family, n_features)], or NULL with a warm-up */
    mapdpm_real alpha;             /* > 0 */
    mapdpm_real log_alpha;         /* used if alpha is 0: for an alpha below 1e-9, or 1e-30 in double (DP-means) */
    mapdpm_real half_life;         /* 0: no forgetting. In points; in seconds with mapdpm_learn_at */
    uint32_t max_groups;           /* 0: points have no groups (else only with MAPDPM_GROUPS, and alpha > 0) */
    uint32_t when_groups_full;     /* enum mapdpm_when_groups_full */
    uint32_t with_base;            /* 1: clusters can have a part from a gateway (only with groups): mapdpm_set_base */
    mapdpm_real gamma;             /* > 0 with groups or states: the concentration of the shares they have in common */
    uint32_t lag;                  /* 0: points have no order. Else clusters are states in time (only with
                                    * MAPDPM_STATES, alpha > 0, no window and no groups): a point is learned when `lag`
                                    * later points are known, or three times as many at most. Up to 1024 */
    mapdpm_real kappa;             /* >= 0: the additional weight of a state after itself, in transitions */
    uint32_t queue;                /* 0: the call that ends a warm-up finds its clusters, which takes long. Else
                                    * mapdpm_settle_step finds them in small steps, while up to so many points that
                                    * come wait to be learned. Up to 65535 */
    uint32_t surprise;             /* 1: the learner knows how surprising a point is, for mapdpm_assess (only with
                                    * MAPDPM_SURPRISE, without groups and states) */
    mapdpm_real rare;              /* 0 <= rare < 1: the lightest clusters are rare while together they have at most
                                    * this share of all points. Rare clusters do not make a point less surprising */
    uint32_t relevance;            /* 1: clusters are found in the features that carry them, which the warm-up finds and
                                    * the learner follows (only with MAPDPM_RELEVANCE and a warm-up, without a base) */
    uint32_t resolution;           /* 1: the warm-up finds the steps in which values come, such as 0.1 of a thermometer, so
                                    * that equal values are no cluster. 2: they are given by `steps` (only with
                                    * MAPDPM_RESOLUTION, 1 only with a warm-up) */
    const mapdpm_real *steps;      /* [n_features], 0 where values are exact */
} mapdpm_options;

/* A cluster at the current time. The weight is weight + weight_low; the second term matters in float only. */
typedef struct mapdpm_cluster {
    uint32_t id;
    mapdpm_real weight;
    mapdpm_real weight_low;
} mapdpm_cluster;

/* The learner: the head of the caller's memory, all of which may be moved. The fields are private: functions read
 * them. */
typedef struct mapdpm_stream {
    uint64_t n_seen;
    uint64_t n_events;
    int64_t now;
    uint32_t bytes;
    uint32_t n_features;
    uint32_t max_clusters;
    uint32_t warmup;
    uint32_t window;
    uint32_t at_event;
    uint32_t next_id;
    uint32_t turn;
    uint32_t n_clusters;
    uint8_t family;
    uint8_t surprise;
    uint16_t queue;
    uint16_t when_full;
    uint8_t relevance;
    uint8_t resolution;
    uint8_t missing;
    uint8_t with_base;
    uint16_t lag;
    uint32_t clock;
    uint32_t warming;
    uint32_t at_reals;
    uint32_t at_slots;
    uint32_t at_columns;
    uint32_t at_words;
    uint32_t width;
    uint32_t visited;
    uint32_t max_groups;
    uint32_t at_more;
    mapdpm_real alpha;
    mapdpm_real log_alpha;
    mapdpm_real half_life;
    mapdpm_real rate;
    mapdpm_real c0;
    mapdpm_real a0;
    mapdpm_real excess;
    mapdpm_real root;
    mapdpm_real opening;
    mapdpm_real log_units;
} mapdpm_stream;

/* The bytes of a learner, a multiple of 8; 0 if the options are invalid or sizes overflow. */
size_t mapdpm_stream_bytes(const mapdpm_options *options);

/* Make a learner in the caller's memory, aligned for uint64_t. After an error there is none: all functions refuse it. */
int mapdpm_init(mapdpm_stream *stream, size_t bytes, const mapdpm_options *options);

/* Learn one point x[n_features]. Returns the id of its cluster, and its log predictive density before it was learned,
 * in nats with all constants (NaN during the warm-up). id and score may be NULL. An error changes nothing. */
int mapdpm_learn(mapdpm_stream *stream, const mapdpm_real *x, uint32_t *id, mapdpm_real *score);

/* The same at a time in microseconds, from any origin. It must not be earlier than that of the previous point. */
int mapdpm_learn_at(mapdpm_stream *stream, const mapdpm_real *x, int64_t microseconds, uint32_t *id,
                    mapdpm_real *score);

/* Learn n points one after the other: as mapdpm_learn, or as mapdpm_learn_at if microseconds[n] is not NULL. ids[n] and
 * scores[n] may be NULL. *done is the number of points learned; it is below n only after an error. */
int mapdpm_learn_many(mapdpm_stream *stream, const mapdpm_real *x, const int64_t *microseconds, size_t n, uint32_t *ids,
                      mapdpm_real *scores, size_t *done);

/* ---- a warm-up that ends in small steps, and clocks ---------------------------------------------------------------- */

/* Take one step of the work that the end of a warm-up has left, for a learner with options.queue > 0: find the clusters
 * of the warm-up, then learn the points that wait, one a call. The time of a call grows with (warmup + K) D. Returns 1
 * while work is left, 0 when nothing is. After an error, which is one of mapdpm_learn, the point that was to be learned
 * is left out. Until nothing is left, mapdpm_learn puts points into the queue: their ids are MAPDPM_NO_ID, their scores
 * NaN; MAPDPM_E_WARMING if the queue is full, and nothing changes. The learner gets the same bits as one without a
 * queue. A snapshot in between holds the warm-up and the queue; its reader finds the clusters anew. */
int mapdpm_settle_step(mapdpm_stream *stream);

/* Take all these steps at once, and give up the queue: the learner then has queue = 0, takes MAPDPM_QUEUE_BYTES less
 * memory, the last part, and settles a warm-up that is not over at once. Returns the first error of a step. */
int mapdpm_settle_all(mapdpm_stream *stream);

/* The number of points in the queue. */
uint32_t mapdpm_n_queued(const mapdpm_stream *stream);

/* A clock began anew, as after a loss of power: it shows `now` at the moment when the last point of the learner came. All
 * times of the learner are moved by the difference. Only for learners of mapdpm_learn_at; else MAPDPM_E_TIME. */
int mapdpm_rebase(mapdpm_stream *stream, int64_t now);

/* The time in ticks of a 32-bit clock that wraps: the first time that is not before `before` and has these lowest 32
 * bits. Call it at least once in 2^32 ticks: now = mapdpm_unwrap(now, clock). */
int64_t mapdpm_unwrap(int64_t before, uint32_t ticks);

/* ---- anomalies --------------------------------------------------------------------------------------------------- */

/* How unusual a point is. All reals are NaN during the warm-up. */
typedef struct mapdpm_assessment {
    uint32_t id;             /* the best existing cluster; MAPDPM_NO_ID if there is none */
    mapdpm_real log_density; /* as of mapdpm_predict, at the time of the point */
    mapdpm_real novelty;     /* the probability that the point belongs to a new cluster */
    mapdpm_real surprise;    /* the share of points that are expected to be at least as unusual: small is unusual. NaN
                              * unless options.surprise is 1 */
} mapdpm_assessment;

/* Assess a point as mapdpm_learn would find it next, or mapdpm_learn_at at *microseconds, which may be NULL. Changes
 * nothing; but as it sets the time for a while, no other call may run at the same time. */
int mapdpm_assess(mapdpm_stream *stream, const mapdpm_real *x, const int64_t *microseconds,
                  mapdpm_assessment *assessment);

/* Assess a point, then learn it. The id is that of the cluster that learned it. An error changes nothing. */
int mapdpm_learn_assessed(mapdpm_stream *stream, const mapdpm_real *x, const int64_t *microseconds,
                          mapdpm_assessment *assessment);

/* Which features make a point unusual: nats[n_features], the nats by which each lowers the log density of the point below
 * the peak of the nearest cluster that is not rare; 0 of missing values. For a learner with options.surprise, after its
 * warm-up. */
int mapdpm_contributions(const mapdpm_stream *stream, const mapdpm_real *x, mapdpm_real *nats);

/* mapdpm_assess or mapdpm_learn_assessed for n points. microseconds[n] may be NULL. If `learns` is 0, all are assessed as
 * the next point. contributions[n][n_features] may be NULL; else they are those of points of a surprise of at most .01,
 * and NaN of others. *done is the number of points assessed; it is below n only after an error. */
int mapdpm_assess_many(mapdpm_stream *stream, const mapdpm_real *x, const int64_t *microseconds, size_t n, int learns,
                       mapdpm_assessment *assessments, mapdpm_real *contributions, size_t *done);

/* ---- groups: clusters that several sensors, devices or sessions share, each in its own proportions --------------- */

/* Set the group of all points that follow: those to learn, to predict, and to visit again. A group is any number but
 * MAPDPM_NO_ID, which stands for no group. A new group gets its place when it learns its first point; until then, it
 * predicts by the shares that all groups have in common. */
int mapdpm_set_group(mapdpm_stream *stream, uint32_t group);

/* mapdpm_learn_many and mapdpm_predict_many, where point i has group groups[i]. The group of the last point stays
 * set. */
int mapdpm_learn_groups(mapdpm_stream *stream, const mapdpm_real *x, const uint32_t *groups,
                        const int64_t *microseconds, size_t n, uint32_t *ids, mapdpm_real *scores, size_t *done);
int mapdpm_predict_groups(mapdpm_stream *stream, const mapdpm_real *x, const uint32_t *groups, size_t n, uint32_t *ids,
                          mapdpm_real *scores, size_t *done);

/* The group in a row below max_groups. Returns 1 if there is one, 0 if the row is free. shares[max_clusters + 1], which
 * may be NULL, are the probabilities of each slot for its next point; the last is that of a new cluster. */
int mapdpm_get_group(const mapdpm_stream *stream, uint32_t row, uint32_t *group, mapdpm_real *shares);

/* The same for a group without points: the shares that all groups have in common. */
int mapdpm_get_shares(const mapdpm_stream *stream, mapdpm_real *shares);

/* ---- states in time: an HDP-HMM ---------------------------------------------------------------------------------- */

/* A learner with options.lag > 0 takes its points for a sequence. Its clusters are states, each in a slot
 * (mapdpm_get_cluster). mapdpm_learn and mapdpm_predict return the most probable state of the point and its log density
 * in nats, both given the points before. Predictions compute in scratch memory of the learner: do not run two of them
 * at the same time. */

/* Learn all points that wait, and begin a sequence with the next point: the recording was interrupted, or ends. Before
 * the end of the warm-up it does nothing; MAPDPM_E_WARMING while points are in the queue. */
int mapdpm_gap(mapdpm_stream *stream);

/* Get belief[max_clusters], the probability of each slot for the last point, given all points so far. All are 0 at the
 * start of a sequence, and after the state of the last point was forgotten. */
int mapdpm_get_belief(const mapdpm_stream *stream, mapdpm_real *belief);

/* Get steps[max_clusters + 1][max_clusters + 1], the probability of each slot (column) after each slot (row); 0 for
 * free slots. The last row is the start of a sequence, the last column a new state. */
int mapdpm_get_transitions(const mapdpm_stream *stream, mapdpm_real *steps);

/* Get the number of points in a row, up to the last one, that had the same state when they came: 1 after a change, 0 at
 * the start of a sequence. */
int mapdpm_get_run(const mapdpm_stream *stream, uint32_t *length);

/* The best existing cluster, and the log predictive density in nats with all constants. Changes nothing. id and score
 * may be NULL. */
int mapdpm_predict(const mapdpm_stream *stream, const mapdpm_real *x, uint32_t *id, mapdpm_real *score);
int mapdpm_predict_many(const mapdpm_stream *stream, const mapdpm_real *x, size_t n, uint32_t *ids,
                        mapdpm_real *scores, size_t *done);

/* Which features carry clusters: relevant[n_features] is 1 or 0. nats[n_features], which may be NULL, are the nats that each
 * gains by the clusters over one cluster of all points; NaN where fewer than 8 values are known. For a learner with options.relevance, after its warm-up. O(K D). */
int mapdpm_get_relevance(const mapdpm_stream *stream, unsigned char *relevant, mapdpm_real *nats);

/* The step of each feature, 0 where its values are exact: steps[D]. For a learner with options.resolution, after its warm-up,
 * or from the start where they were given. */
int mapdpm_get_resolution(const mapdpm_stream *stream, mapdpm_real *steps);

/* The current id of the cluster that had this id, after merges. Also takes provisional ids of the warm-up. */
int mapdpm_resolve(const mapdpm_stream *stream, uint32_t id, uint32_t *now);

/* Event i, counted from the first event ever; MAPDPM_E_UNKNOWN if the ring has overwritten it. */
int mapdpm_get_event(const mapdpm_stream *stream, uint64_t i, mapdpm_event *event);

/* Points learned, events so far, clusters, features, slots; 0 without a learner. */
uint64_t mapdpm_n_seen(const mapdpm_stream *stream);
uint64_t mapdpm_n_events(const mapdpm_stream *stream);
uint32_t mapdpm_n_clusters(const mapdpm_stream *stream);
uint32_t mapdpm_n_features(const mapdpm_stream *stream);
uint32_t mapdpm_max_clusters(const mapdpm_stream *stream);

/* Whether the warm-up is not over: 1 or 0. */
int mapdpm_is_warming(const mapdpm_stream *stream);

/* The cluster in a slot below max_clusters. Returns 1 if there is one, 0 if the slot is free. The means go to
 * mean[n_features], the variances M2 / n to variance[n_features]; both may be NULL. The second function gives means less
 * the anchor (mapdpm_get_prior), which keep all digits where the anchor is large. */
int mapdpm_get_cluster(const mapdpm_stream *stream, uint32_t slot, mapdpm_cluster *cluster, mapdpm_real *mean,
                       mapdpm_real *variance);
int mapdpm_get_cluster_relative(const mapdpm_stream *stream, uint32_t slot, mapdpm_cluster *cluster, mapdpm_real *mean,
                                mapdpm_real *variance);

/* parameters[2 n_features + 2] of MAPDPM_NORMAL_GAMMA: data around `centre`, clusters as wide as `spread`, a standard
 * deviation for each feature. Clusters lie some 4.5 of their widths apart (c0 = 0.05), and a first point says as much of
 * a width as the prior (a0 = 1). */
int mapdpm_prior(mapdpm_real *parameters, uint32_t n_features, const mapdpm_real *centre, const mapdpm_real *spread);

/* The options of the learner, without its parameters. */
int mapdpm_get_options(const mapdpm_stream *stream, mapdpm_options *options);

/* The anchor[n_features] and the parameters of the family, in the user's units; MAPDPM_E_WARMING before there are
 * any. */
int mapdpm_get_prior(const mapdpm_stream *stream, mapdpm_real *anchor, mapdpm_real *parameters);

/* ---- a window that the caller keeps: points that are visited again ----------------------------------------------- */

/* Update ids[n] of points learned earlier by all events from number *event on. Merged clusters are followed. An id
 * becomes MAPDPM_NO_ID if its cluster is gone, or was split, because no one knows to which part the point belongs. All
 * become MAPDPM_NO_ID if the ring has overwritten an event. Then *event is the number of the next event. Call it before
 * you add ids of new points, or at least before you next use the ids; begin with event 0. */
int mapdpm_follow(const mapdpm_stream *stream, uint64_t *event, uint32_t *ids, size_t n);

/* Visit n points x[n][n_features] again, each as if it had not been learned, so that points move that now belong to
 * another existing cluster. ids[n] are their clusters, as mapdpm_follow has updated them, and then their new ones.
 * times[n] is when each was learned, in microseconds or as the number of the point, counted from 1; NULL without
 * forgetting. *moved is the number of moves. Errors are found before anything changes. */
int mapdpm_resweep(mapdpm_stream *stream, const mapdpm_real *x, const int64_t *times, uint32_t *ids, size_t n,
                   size_t *moved);

/* ---- gateways: many learners into one ---------------------------------------------------------------------------- */

/* Insert all clusters of another learner, as they are now, by their statistics, so that no prior counts twice; of a
 * learner with a base, what it saw itself.
 * MAPDPM_E_SPACE if too few slots are free. Call mapdpm_reduce afterwards to merge. */
int mapdpm_pool(mapdpm_stream *stream, const mapdpm_stream *from);

/* Insert one cluster of a weight, a mean less this learner's anchor, and a variance M2 / weight, that of values. It gets a new id.
 * MAPDPM_E_SPACE if no slot is free. Statistics only, so that no prior counts twice. */
int mapdpm_insert(mapdpm_stream *stream, const mapdpm_cluster *cluster, const mapdpm_real *mean,
                  const mapdpm_real *variance);

/* The same for a learner of missing values: counts[n_features] are the weights of the points with a value in each
 * feature, and each variance is M2 / count. NULL: all points have all values. */
int mapdpm_insert_counted(mapdpm_stream *stream, const mapdpm_cluster *cluster, const mapdpm_real *counts,
                          const mapdpm_real *mean, const mapdpm_real *variance);

/* Merge clusters while that raises the log joint; then merge those that cost it least until n are left. Slots get an
 * order of their own; ids and events begin anew. The order in which clusters were inserted does not matter. Of more than
 * 256 clusters, those near each other merge first, so that K of them cost O(K max(n, 64) D) as a rule. */
int mapdpm_reduce(mapdpm_stream *stream, uint32_t n);

/* ---- devices and a gateway: what one device saw helps the others ------------------------------------------------- */

/* A summary of the clusters that a learner saw itself, without those of its base, in the container of docs/format.md:
 * the prior, and of each cluster its tables and its moments. It is the message of a device to its gateway, and the
 * message back. Without groups each cluster is one table. real_bytes is that of the reader: 4 for float. A double build
 * reads and writes both. The size is 0 if there is no such width. A float reader refuses
 * what is out of its range. */
size_t mapdpm_summary_bytes(const mapdpm_stream *stream, uint32_t real_bytes);
int mapdpm_summary_write(const mapdpm_stream *stream, uint32_t real_bytes, unsigned char *file, size_t capacity,
                         size_t *file_bytes);

/* The options of the learner of a summary, for a new learner like it without a warm-up, and its parameters
 * [mapdpm_n_parameters(family, n_features)], which may be NULL. max_clusters is that of the writer: give the new one
 * less if memory is short. */
int mapdpm_summary_options(const unsigned char *file, size_t file_bytes, mapdpm_options *options,
                           mapdpm_real *parameters);

/* Insert all clusters of a summary: mapdpm_pool for a message. An error changes nothing. */
int mapdpm_pool_summary(mapdpm_stream *stream, const unsigned char *file, size_t file_bytes);

/* Replace the base of a learner, which was made with options.with_base = 1, by the clusters of a summary: what others
 * have seen. A cluster of the base joins the cluster of the learner with which it raises the log joint most. If there
 * is none, it takes a free slot as a cluster of its own; if no slot is free, it is left out. Those of most tables come
 * first. Ids stay. The points of the learner and their groups stay, and its next summary has no part of the base. An
 * error changes nothing. A message of n clusters costs O(n (K D + n / 16)): give it a limit of length. */
int mapdpm_set_base(mapdpm_stream *stream, const unsigned char *file, size_t file_bytes);

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

/* The whole learner, bit for bit, in the container of docs/format.md. */
size_t mapdpm_snapshot_bytes(const mapdpm_stream *stream);
int mapdpm_snapshot_write(const mapdpm_stream *stream, unsigned char *file, size_t capacity, size_t *file_bytes);

/* The options of the learner in a file, without its parameters. Checks the header and the CRC. */
int mapdpm_snapshot_options(const unsigned char *file, size_t file_bytes, mapdpm_options *options);

/* Make a learner in the caller's memory from a file. Every field is checked. Python's additions are skipped. After an
 * error the memory holds what it held before, or no learner: then all functions refuse it. */
int mapdpm_snapshot_read(mapdpm_stream *stream, size_t bytes, const unsigned char *file, size_t file_bytes);

/* The caller's functions that take or give the next n bytes of a file. They return 0, or an error that ends the call and
 * is passed on. */
typedef int (*mapdpm_put)(void *context, const unsigned char *bytes, size_t n);
typedef int (*mapdpm_get)(void *context, unsigned char *bytes, size_t n);

/* The same in pieces, without a buffer for the file. `put` gets some of n = 4 to n = the largest array, in order.
 * `sequence` is NULL or a number that the file gets, of a series that grows by 1 and may wrap; it takes
 * MAPDPM_SEQUENCE_BYTES more. While pieces come, the memory of the reader is no learner. */
int mapdpm_snapshot_send(const mapdpm_stream *stream, const uint32_t *sequence, mapdpm_put put, void *context);
int mapdpm_snapshot_receive(mapdpm_stream *stream, size_t bytes, mapdpm_get get, void *context);

/* The length of a file, from its first 40 bytes or more; 0 if it is no file of mapdpm. */
size_t mapdpm_file_bytes(const unsigned char *header, size_t n);

/* The sequence number of a file; MAPDPM_E_UNKNOWN if it has none. Checks the header and the CRC. */
int mapdpm_snapshot_sequence(const unsigned char *file, size_t file_bytes, uint32_t *sequence);

/* Find the slot with the latest whole file, by sequence numbers, among slots of slot_bytes that may hold anything, as
 * after a loss of power. MAPDPM_E_UNKNOWN if there is none. Its length is mapdpm_file_bytes(slots[*newest],
 * slot_bytes). sequence may be NULL. */
int mapdpm_snapshot_newest(const unsigned char *const *slots, size_t n_slots, size_t slot_bytes, size_t *newest,
                           uint32_t *sequence);

/* ---- banks: the same stream learned under several alphas --------------------------------------------------------- */

/* The head of the caller's memory. The learners follow it. */
typedef struct mapdpm_bank {
    uint32_t bytes;
    uint32_t n;
    uint32_t best;       /* the learner that answers */
    uint32_t n_switches; /* how often another learner took over */
    mapdpm_real keep;    /* the factor that scores decay by at each point */
    mapdpm_real margin;
} mapdpm_bank;

/* The bytes of a bank of n learners with these options; 0 if they are invalid or have MAPDPM_FULL_ERROR. */
size_t mapdpm_bank_bytes(const mapdpm_options *options, uint32_t n);

/* Make a bank in the caller's memory, aligned for uint64_t: n learners that differ in alphas[n] only. A learner's score
 * is the sum of the log predictive densities of the points, each before it was learned. The score decays with
 * half_life, in points; 0: never. Another learner takes over when its score exceeds that of the current one by more
 * than margin, in nats. */
int mapdpm_bank_init(mapdpm_bank *bank, size_t bytes, const mapdpm_options *options, const mapdpm_real *alphas,
                     uint32_t n, mapdpm_real half_life, mapdpm_real margin);

/* All learners learn a point. id and score are those of the learner that was best before; both may be NULL. An error
 * changes nothing. */
int mapdpm_bank_learn(mapdpm_bank *bank, const mapdpm_real *x, uint32_t *id, mapdpm_real *score);

/* Learner i below n; NULL if there is none. mapdpm_predict of learner bank->best is the bank's answer for a point. */
mapdpm_stream *mapdpm_bank_stream(mapdpm_bank *bank, uint32_t i);

/* The score of learner i less that of learner 0, in nats. */
int mapdpm_bank_score(const mapdpm_bank *bank, uint32_t i, mapdpm_real *score);

/* ---- alarms ------------------------------------------------------------------------------------------------------ */

/* An alarm takes the surprise of each point, its tail probability. It alerts when debounce points in a row were at or
 * below the level. The episode then lasts until hold points in a row, or hold microseconds, were above it. */
typedef struct mapdpm_alarm {
    int64_t now;  /* the number of points, or the time of the last one */
    int64_t last; /* the last point at or below the level, in the same unit */
    int64_t hold;
    mapdpm_real level;
    uint32_t debounce;
    uint32_t run;    /* points in a row at or below the level, before the alert */
    uint32_t active; /* 1 in an episode */
} mapdpm_alarm;

/* MAPDPM_E_ARGUMENT unless 0 < level < 1, hold >= 0 and debounce >= 1. */
int mapdpm_alarm_init(mapdpm_alarm *alarm, mapdpm_real level, int64_t hold, uint32_t debounce);

/* Take a surprise. Returns 1 on an alert, the first of an episode, else 0. NaN, as in a warm-up, is no evidence: it
 * changes nothing. hold counts points; with mapdpm_alarm_update_at it is in microseconds. Use one of the two. A time
 * that goes backwards counts as the time before. */
int mapdpm_alarm_update(mapdpm_alarm *alarm, mapdpm_real surprise);
int mapdpm_alarm_update_at(mapdpm_alarm *alarm, mapdpm_real surprise, int64_t microseconds);

/* Combine a surprise with those before it, with weights that fade with a span of n points, as a mean of n points has:
 * for anomalies that last. The result is a tail probability again, whatever the dependence of the points
 * (docs/maths.md (189)). *mean is 0 before the first point. n = 1, and NaN, change nothing: the result is the surprise. */
mapdpm_real mapdpm_combine_surprise(mapdpm_real *mean, mapdpm_real surprise, uint32_t n);

/* ---- features: causal transformers before a learner -------------------------------------------------------------- */

/* The kinds of steps, and the fields of mapdpm_step that each uses besides its source. All other fields are 0. */
enum mapdpm_step_kind {
    MAPDPM_STEP_LAG = 1,        /* n: the point, and the n points before it; the newest first */
    MAPDPM_STEP_DIFFERENCE = 2, /* n: the point less that n points before it */
    MAPDPM_STEP_CENTRE = 3,     /* n: the point less the mean of the n points before it */
    MAPDPM_STEP_SEASONAL = 4,   /* n, offset, half_life: the point less the mean of its hour of the day (n = 24), day of
                                 * the week (7) or hour of the week (168) before it. Only with times */
    MAPDPM_STEP_RMS = 5,        /* n, centred: of blocks of n points, the root mean square */
    MAPDPM_STEP_CREST = 6,      /* n, centred: of blocks, the largest absolute value over the root mean square */
    MAPDPM_STEP_BAND = 7,       /* n, first, end: of blocks, the mean square in the DFT bins first <= k < end, with
                                 * 1 <= first and end <= n / 2 + 1 */
    MAPDPM_STEP_JOIN = 8,       /* second: the features of the source, and behind them those of the second source */
    MAPDPM_STEP_STUCK = 9,      /* n: the tail probability of the present run of equal values, 1 for the first n points;
                                 * of each feature, and behind them the lengths of the runs */
    MAPDPM_STEP_SILENCE = 10,   /* n: the tail probability of the gap of time before the point, 1 for the first n
                                 * points; and the gap in seconds. Only with times */
    MAPDPM_STEP_WINDOW = 11,    /* n, first: the point, and every first-th of the n - 1 points before it */
    MAPDPM_STEP_SPREAD = 12,    /* n, offset, half_life, as SEASONAL: the point over the root mean square of its hour or
                                 * day before it. Only with times */
    MAPDPM_STEP_SMOOTH = 13,    /* n: the mean of the point and the n - 1 points before it */
    MAPDPM_STEP_AUTOPERIOD = 14, /* n, first: the means of `first` equal parts, 2 to n / 2, of the last half period, whose
                                 * length the first n points tell. A result comes from the n-th point on */
    MAPDPM_STEP_PCA = 15,       /* n, first: so many principal components of the first n rows, at most as many as there
                                 * are features and 256, and the logarithm of what they leave of a row. A result comes
                                 * from the n-th row on. A row with a missing value is left out, and has none */
    MAPDPM_STEP_CLOCK = 16      /* n, offset: the cosine and the sine of the time of the day (n = 24), or of the week from
                                 * Monday on (7 or 168). Only with times */
};

/* A step of a pipeline: a function of the result of an earlier step. */
typedef struct mapdpm_step {
    uint32_t kind;         /* enum mapdpm_step_kind */
    uint32_t source;       /* 0: the point; i: the result of the i-th step, counted from 1 */
    uint32_t second;       /* likewise */
    uint32_t n;            /* points: at most 65535 of LAG, else 2^20 */
    uint32_t first;
    uint32_t end;
    int32_t offset;        /* of local time from UTC, in minutes, up to a day */
    uint32_t centred;      /* 1: about the mean of the block; 0: about 0 */
    mapdpm_real half_life; /* in visits; 0: no forgetting */
} mapdpm_step;

/* A pipeline: the head of the caller's memory, all of which may be moved. The fields are private. */
typedef struct mapdpm_features {
    uint32_t bytes;
    uint32_t n_features;
    uint32_t n_steps;
    uint32_t width;
    uint32_t n_state;
    uint32_t n_derived;
    uint32_t n_words;
    uint32_t timed;
} mapdpm_features;

/* The bytes of a pipeline of 1 to 64 steps, a multiple of 8; 0 if a step is invalid, if two steps that are joined do
 * not give results at the same points, or if sizes overflow. */
size_t mapdpm_features_bytes(const mapdpm_step *steps, uint32_t n_steps, uint32_t n_features);

/* Make a pipeline in the caller's memory, aligned for uint64_t. After an error there is none: all functions refuse it.
 * So it is with mapdpm_features_read. */
int mapdpm_features_init(mapdpm_features *features, size_t bytes, const mapdpm_step *steps, uint32_t n_steps,
                         uint32_t n_features);

/* Forget all points. */
int mapdpm_features_reset(mapdpm_features *features);

/* The length of a result: the features of the last step. */
uint32_t mapdpm_features_width(const mapdpm_features *features);

/* Transform one point x[n_features]. Returns 1 if a result came out, which is in out[width] then, else 0. The time, in
 * microseconds since 1970 (UTC), may be NULL without a seasonal step. A value may be NaN. An error changes nothing:
 * MAPDPM_E_NUMBER for infinity, MAPDPM_E_RANGE beyond 2^50 (double: 2^480), MAPDPM_E_TIME. Results are cut there. */
int mapdpm_features_step(mapdpm_features *features, const mapdpm_real *x, const int64_t *microseconds,
                         mapdpm_real *out);

/* Transform n points one after the other. The results go to out[.][width], and the numbers of their points, counted
 * from 0, to rows[.], which may be NULL; *done is the number of results. Errors are found before anything changes; then
 * *done is the number of the point at fault. */
int mapdpm_features_many(mapdpm_features *features, const mapdpm_real *x, const int64_t *microseconds, size_t n,
                         mapdpm_real *out, size_t *rows, size_t *done);

/* Step i of a pipeline, counted from 0. */
int mapdpm_features_get_step(const mapdpm_features *features, uint32_t i, mapdpm_step *step);
/* The period in points that step i, of MAPDPM_STEP_AUTOPERIOD, has found; 0 where there is none, or none yet. */
uint32_t mapdpm_features_period(const mapdpm_features *features, uint32_t i);

/* The whole pipeline, bit for bit, in the container of docs/format.md. */
size_t mapdpm_features_file_bytes(const mapdpm_features *features);
int mapdpm_features_write(const mapdpm_features *features, unsigned char *file, size_t capacity, size_t *file_bytes);

/* The bytes of memory that the pipeline in a file needs. Checks the header, the CRC and the steps. */
int mapdpm_features_memory(const unsigned char *file, size_t file_bytes, size_t *bytes);

/* Make a pipeline in the caller's memory from a file. Every field is checked. Python's additions are skipped. */
int mapdpm_features_read(mapdpm_features *features, size_t bytes, const unsigned char *file, size_t file_bytes);
/* cdef: end */

#endif /* MAPDPM_INTEGERS */

#ifdef __cplusplus
}
#endif
#endif
