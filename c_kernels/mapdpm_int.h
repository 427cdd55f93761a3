/* The learner in whole numbers, for chips without floating point (docs/integers.md): mapdpm.h with -DMAPDPM_REAL=int.
 *
 * A value is an int16_t, as sensors and converters give it; a reading less the centre is what the learner sees. Weights are in
 * Q8: 256 is one point. A score is in nats, in Q16: 65536 is one nat; it is a density over whole numbers.
 */
#ifndef MAPDPM_INT_H
#define MAPDPM_INT_H

/* The bytes of a learner of D features and at most K clusters; a constant, for static memory. */
#define MAPDPM_STREAM_HEAD (2 * 8 + 12 * 4 + 8)
#define MAPDPM_SLOT_BYTES(D) ((8 + 6 * 4 + 1 + (3 * 8 + 3 * 4 + 2) * (size_t)(D) + 7) / 8 * 8)
#define MAPDPM_ROW_BYTES(D) ((7 + 7 * (size_t)(D) + 3) / 4 * 4)
#define MAPDPM_STATE_BYTES(D, K)                                                                                       \
    ((MAPDPM_STREAM_HEAD + 10 * (size_t)(D) + (size_t)(K) * (MAPDPM_SLOT_BYTES(D) + 16 * MAPDPM_EVENTS(1)) +            \
      ((size_t)(K) + 1) * MAPDPM_ROW_BYTES(D) + 7) / 8 * 8)

/* The bytes of its snapshot. */
#define MAPDPM_SNAPSHOT_BYTES(D, K)                                                                                    \
    (40 + 2 * 8 + 6 * 4 + 1 + 10 * (size_t)(D) + (size_t)(K) * (8 + 6 * 4 + 1 + 38 * (size_t)(D) + 16 * MAPDPM_EVENTS(1)) + \
     ((size_t)(K) + 1) * (7 + 7 * (size_t)(D)) + 4)

#define mapdpm_init MAPDPM_BY_REAL(mapdpm_init, MAPDPM_REAL)
#define mapdpm_learn MAPDPM_BY_REAL(mapdpm_learn, MAPDPM_REAL)
#define mapdpm_predict MAPDPM_BY_REAL(mapdpm_predict, MAPDPM_REAL)
#define mapdpm_snapshot_read MAPDPM_BY_REAL(mapdpm_snapshot_read, MAPDPM_REAL)

/* cdef: begin */
typedef int16_t mapdpm_real;  /* a value */
typedef int32_t mapdpm_score; /* nats, Q16 */

typedef struct mapdpm_options {
    uint32_t n_features;      /* 1 to 64 */
    uint32_t max_clusters;    /* 1 to 254 */
    uint32_t when_full;       /* enum mapdpm_when_full */
    uint32_t half_life;       /* in points, 2 to 2^20; 0: no forgetting, but for the limit of 2^22 points */
    uint32_t alpha;           /* Q16, > 0 */
    uint32_t c0;              /* Q16, > 0, up to 255 */
    uint32_t twice_a0;        /* 2 a0 in Q8, > 0, up to 2^24 */
    const int16_t *centre;    /* [n_features]: the prior mean m0 */
    const uint64_t *twice_b0; /* [n_features]: 2 b0 in Q8, > 0, up to 2^56 */
} mapdpm_options;

typedef struct mapdpm_cluster {
    uint32_t id;
    uint32_t weight; /* Q8 */
} mapdpm_cluster;

/* The learner: the head of the caller's memory, all of which may be moved. The fields are private: functions read
 * them. */
typedef struct mapdpm_stream {
    uint64_t n_seen;
    uint64_t n_events;
    uint32_t bytes;
    uint32_t next_id;
    uint32_t at_event;
    uint32_t half_life;
    uint32_t phase;
    uint32_t weight;
    uint32_t alpha;
    uint32_t c0;
    uint32_t twice_a0;
    int32_t log_alpha;
    uint32_t unusual;
    uint8_t n_features;
    uint8_t max_clusters;
    uint8_t when_full;
    uint8_t n_clusters;
    uint8_t turn;
    uint8_t clock; /* this and what follows is 0 here: for callers of both learners */
    uint8_t warming;
    uint8_t missing;
    uint8_t relevance;
    uint8_t max_groups;
    uint8_t resolution;
    uint8_t unused;
} mapdpm_stream;

/* The bytes of a learner, a multiple of 8; 0 if the options are invalid. */
size_t mapdpm_stream_bytes(const mapdpm_options *options);

/* Make a learner in the caller's memory, aligned for uint64_t. After an error there is none: all functions refuse it. */
int mapdpm_init(mapdpm_stream *stream, size_t bytes, const mapdpm_options *options);

/* Learn one point x[n_features]. Returns the id of its cluster, and its log predictive density before it was learned. id
 * and score may be NULL. An error changes nothing. */
int mapdpm_learn(mapdpm_stream *stream, const mapdpm_real *x, uint32_t *id, mapdpm_score *score);

/* Learn n points one after the other. ids[n] and scores[n] may be NULL. *done is the number of points learned; it is below n
 * only after an error. */
int mapdpm_learn_many(mapdpm_stream *stream, const mapdpm_real *x, size_t n, uint32_t *ids, mapdpm_score *scores,
                      size_t *done);

/* Find the id of the best cluster and the log predictive density of a point. id and score may be NULL; MAPDPM_E_WARMING where
 * there is no cluster. */
int mapdpm_predict(const mapdpm_stream *stream, const mapdpm_real *x, uint32_t *id, mapdpm_score *score);
int mapdpm_predict_many(const mapdpm_stream *stream, const mapdpm_real *x, size_t n, uint32_t *ids,
                        mapdpm_score *scores, size_t *done);

/* Points learned, events so far, clusters, features, slots; 0 without a learner. */
uint64_t mapdpm_n_seen(const mapdpm_stream *stream);
uint64_t mapdpm_n_events(const mapdpm_stream *stream);
uint32_t mapdpm_n_clusters(const mapdpm_stream *stream);
uint32_t mapdpm_n_features(const mapdpm_stream *stream);
uint32_t mapdpm_max_clusters(const mapdpm_stream *stream);

/* The cluster in a slot below max_clusters. Returns 1 if there is one, 0 if the slot is free. mean[n_features] is in Q13,
 * squares[n_features], the sums of squares about it, in Q8; both may be NULL. */
int mapdpm_get_cluster(const mapdpm_stream *stream, uint32_t slot, mapdpm_cluster *cluster, int32_t *mean,
                       uint64_t *squares);

/* Insert a cluster that was found elsewhere: its weight, its mean and its sums of squares, as mapdpm_get_cluster tells them.
 * Its id is MAPDPM_NO_ID, for the next one, or one that is not below the next one: ids rise. MAPDPM_E_SPACE if no slot is
 * free; MAPDPM_E_RANGE if a mean is no value, squares[d] exceeds 2^30 of the weight, or all weigh more than 2^22
 * points, 2^21 with a half-life. */
int mapdpm_insert(mapdpm_stream *stream, const mapdpm_cluster *cluster, const int32_t *mean, const uint64_t *squares);

/* The options of the learner, without its arrays; and those, centre[n_features] and twice_b0[n_features]. */
int mapdpm_get_options(const mapdpm_stream *stream, mapdpm_options *options);
int mapdpm_get_prior(const mapdpm_stream *stream, int16_t *centre, uint64_t *twice_b0);

/* Event i, counted from the first event ever; MAPDPM_E_UNKNOWN if the ring has overwritten it. */
int mapdpm_get_event(const mapdpm_stream *stream, uint64_t i, mapdpm_event *event);

/* The whole learner, bit for bit, in the container of docs/format.md. */
size_t mapdpm_snapshot_bytes(const mapdpm_stream *stream);
int mapdpm_snapshot_write(const mapdpm_stream *stream, unsigned char *file, size_t capacity, size_t *file_bytes);

/* The options of the learner in a file, without its arrays. Checks the header and the CRC. */
int mapdpm_snapshot_options(const unsigned char *file, size_t file_bytes, mapdpm_options *options);

/* Make a learner in the caller's memory, aligned for uint64_t, from a file. Every field is checked. Python's
 * additions are skipped. After an error it holds what it held before, or no learner: then all functions refuse it. */
int mapdpm_snapshot_read(mapdpm_stream *stream, size_t bytes, const unsigned char *file, size_t file_bytes);
/* cdef: end */

#endif
