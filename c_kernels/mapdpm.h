/* mapdpm: clustering when nobody knows the number of clusters. The C library: version, errors, models in files.
 *
 * C99, freestanding but for memcpy and memset (the batch part also needs libm). The caller owns all memory; nothing is
 * allocated, nothing is global.
 * Functions return 0 or a negative mapdpm_error. One program holds one real type: compile everything with the same
 * -DMAPDPM_REAL=float or -DMAPDPM_REAL=double (the default, but for Arduino). docs/c-library.md lists what else may be switched.
 */
#ifndef MAPDPM_H
#define MAPDPM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MAPDPM_VERSION "0.1.0"
#define MAPDPM_FORMAT 1

#ifndef MAPDPM_REAL
#ifdef ARDUINO /* whose builder gives a library no flags */
#define MAPDPM_REAL float
#else
#define MAPDPM_REAL double
#endif
#endif
typedef MAPDPM_REAL mapdpm_real;

/* Bytes of a learner of D features and at most K clusters, without a warm-up, a window or missing values; a constant
 * for static memory. In float every sum has a second real with what rounding lost. */
#define MAPDPM_STREAM_HEAD (2 * 8 + 8 + 20 * 4 + 10 * sizeof(mapdpm_real))
#define MAPDPM_EVENTS(K) (2 * (K))
#define MAPDPM_SLOT_REALS(D) ((sizeof(mapdpm_real) == 4 ? 2 + 4 * (D) : 1 + 2 * (D)) + 2 * (1 + 2 * (D)) + 3 + 2 * (D))
#define MAPDPM_STATE_BYTES(D, K)                                                                                       \
    (((size_t)MAPDPM_STREAM_HEAD + (size_t)(K) * (8 + 4 * 4 + MAPDPM_SLOT_REALS((size_t)(D)) * sizeof(mapdpm_real)) +   \
      5 * (size_t)(D) * sizeof(mapdpm_real) + MAPDPM_EVENTS((size_t)(K)) * 16 + 7) / 8 * 8)

/* No cluster's id. */
#define MAPDPM_NO_ID UINT32_C(0xffffffff)

/* What lies between the two markers is also the declaration that Python reads (build_kernels.py). */
/* cdef: begin */
enum mapdpm_error {
    MAPDPM_OK = 0,
    MAPDPM_E_ARGUMENT = -1,  /* a null pointer, or a size out of range */
    MAPDPM_E_SPACE = -2,     /* the memory or the buffer that was given is too small */
    MAPDPM_E_FOREIGN = -3,   /* not a mapdpm model */
    MAPDPM_E_TRUNCATED = -4, /* the file is shorter than it says */
    MAPDPM_E_DAMAGED = -5,   /* the CRC or a field is wrong */
    MAPDPM_E_NEWER = -6,     /* written in a newer format than this library reads */
    MAPDPM_E_REAL = -7,      /* written with the other real type: save with dtype "float32" or "float64" */
    MAPDPM_E_KIND = -8,      /* a batch model where a stream is wanted, or the reverse; or a stream with other switches */
    MAPDPM_E_NUMBER = -9,    /* an entry is NaN or infinite; or, with missing values, all are */
    MAPDPM_E_RANGE = -10,    /* an entry is farther from the prior mean than sums of squares can hold, or a weight too large */
    MAPDPM_E_FULL = -11,     /* a new cluster is wanted and the buffer is full, with MAPDPM_FULL_ERROR */
    MAPDPM_E_IDS = -12,      /* all 2^32 - 1 ids have been given */
    MAPDPM_E_TIME = -13,     /* time went backwards, or learn and learn_at were mixed */
    MAPDPM_E_UNKNOWN = -14,  /* an id that was never given, or whose cluster ended beyond the ring of events */
    MAPDPM_E_WARMING = -15   /* the warm-up is not over: there are no clusters yet */
};

enum mapdpm_family {
    MAPDPM_NORMAL_GAMMA = 1,          /* parameters: m0[D], c0, a0, b0[D] */
    MAPDPM_NORMAL_KNOWN_VARIANCE = 2, /* parameters: m0[D], prior_variance[D], variance[D] */
    MAPDPM_SQUARED_DISTANCE = 3       /* of DP-means, batch only: scale[D], a squared distance that matters */
};

/* A batch model: what scoring needs. All positions are relative to the anchor, which is subtracted from data first. */
typedef struct mapdpm_model {
    int32_t family;
    uint32_t n_features;
    uint32_t n_clusters;
    mapdpm_real alpha;
    mapdpm_real discount;
    mapdpm_real *anchor;     /* [n_features] */
    mapdpm_real *parameters; /* [mapdpm_n_parameters(family, n_features)] */
    mapdpm_real *statistics; /* [n_clusters][1 + 2 n_features]: weight, mean, sum of squared deviations */
    uint64_t *counts;        /* [n_clusters] points */
} mapdpm_model;

const char *mapdpm_version(void);
const char *mapdpm_error_name(int error);
int mapdpm_real_size(void);

/* Number of parameters of a family, 0 for a family that does not exist. */
size_t mapdpm_n_parameters(int32_t family, uint32_t n_features);

/* Bytes of memory that mapdpm_model_read needs, and of the file that mapdpm_model_write makes; 0 where they overflow. */
size_t mapdpm_model_bytes(int32_t family, uint32_t n_features, uint32_t n_clusters);
size_t mapdpm_model_file_bytes(int32_t family, uint32_t n_features, uint32_t n_clusters);

/* Check the header and the CRC of a file; sets family, n_features and n_clusters of shape, and nothing else. */
int mapdpm_model_shape(const unsigned char *file, size_t file_bytes, mapdpm_model *shape);

/* Read a file into the caller's memory (aligned for uint64_t), every field checked. What Python adds is skipped. */
int mapdpm_model_read(const unsigned char *file, size_t file_bytes, void *memory, size_t memory_bytes,
                      mapdpm_model *model);

/* Write a model to a buffer. */
int mapdpm_model_write(const mapdpm_model *model, unsigned char *file, size_t capacity, size_t *file_bytes);

/* ---- streams: learning for ever in fixed memory ------------------------------------------------------------------- */

/* What to do with a point that wants a new cluster when no slot is free. */
enum mapdpm_when_full {
    MAPDPM_FULL_LEAST_LOSS = 0, /* the cheaper of the next two */
    MAPDPM_FULL_MERGE = 1,      /* merge the two clusters whose merging costs the log joint least */
    MAPDPM_FULL_EVICT = 2,      /* forget the cluster that is cheapest to forget */
    MAPDPM_FULL_REFUSE = 3,     /* the point joins the best cluster there is */
    MAPDPM_FULL_ERROR = 4       /* MAPDPM_E_FULL; nothing has changed */
};

enum mapdpm_event_kind {
    MAPDPM_CREATED = 1, /* id */
    MAPDPM_SPLIT = 2,   /* id, which stays with the heavier part, and other, the new one */
    MAPDPM_MERGED = 3,  /* id went into other */
    MAPDPM_EVICTED = 4, /* id, to make room */
    MAPDPM_AGED = 5     /* id, whose weight has decayed below the floor */
};

typedef struct mapdpm_options {
    int32_t family; /* normal data only */
    uint32_t n_features;
    uint32_t max_clusters;
    uint32_t warmup;               /* points that set the prior; 0 where parameters are given */
    uint32_t window;               /* points that are kept and visited again, one a step; 0 for none */
    uint32_t when_full;            /* enum mapdpm_when_full */
    uint32_t missing;              /* 1: NaN is a missing value (a library built with MAPDPM_MISSING only) */
    const mapdpm_real *parameters; /* [mapdpm_n_parameters(family, n_features)], or NULL with a warm-up */
    mapdpm_real alpha;             /* > 0 */
    mapdpm_real log_alpha;         /* instead, where alpha is 0: for one below 1e-9, or 1e-30 in double (DP-means) */
    mapdpm_real half_life;         /* 0: nothing is forgotten. In points, or in seconds with mapdpm_learn_at */
} mapdpm_options;

typedef struct mapdpm_event {
    uint32_t kind;
    uint32_t id;
    uint32_t other;
    uint32_t when; /* number of the point, modulo 2^32 */
} mapdpm_event;

/* One cluster, as it is now. Positions are relative to the anchor. What weight_low adds matters in float only. */
typedef struct mapdpm_cluster {
    uint32_t id;
    mapdpm_real weight;
    mapdpm_real weight_low;
} mapdpm_cluster;

/* The learner: the head of the caller's memory, all of it relocatable. Its fields are private. */
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
    uint32_t family;
    uint32_t when_full;
    uint32_t missing;
    uint32_t clock;
    uint32_t warming;
    uint32_t at_reals;
    uint32_t at_slots;
    uint32_t at_columns;
    uint32_t at_words;
    uint32_t width;
    uint32_t visited;
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

/* Bytes of a learner, a multiple of 8; 0 where the options are not sound or sizes overflow. */
size_t mapdpm_stream_bytes(const mapdpm_options *options);

/* Make a learner of the caller's memory, aligned for uint64_t. */
int mapdpm_init(mapdpm_stream *stream, size_t bytes, const mapdpm_options *options);

/* Learn one point x[n_features]: its cluster's id, and its log predictive density before it was learned, in nats with
 * all constants (NaN during the warm-up). id and score may be NULL. All or nothing: an error changes nothing. */
int mapdpm_learn(mapdpm_stream *stream, const mapdpm_real *x, uint32_t *id, mapdpm_real *score);

/* The same at a time in microseconds, from any origin; never before the point before. */
int mapdpm_learn_at(mapdpm_stream *stream, const mapdpm_real *x, int64_t microseconds, uint32_t *id,
                    mapdpm_real *score);

/* Learn n points, one after the other, as by mapdpm_learn, or by mapdpm_learn_at where microseconds[n] is not NULL; ids[n]
 * and scores[n] may be NULL. *done says how many were learned, all but where an error stops it. */
int mapdpm_learn_many(mapdpm_stream *stream, const mapdpm_real *x, const int64_t *microseconds, size_t n, uint32_t *ids,
                      mapdpm_real *scores, size_t *done);

/* The best of the clusters there are, and the log predictive density; changes nothing. id and score may be NULL. */
int mapdpm_predict(const mapdpm_stream *stream, const mapdpm_real *x, uint32_t *id, mapdpm_real *score);
int mapdpm_predict_many(const mapdpm_stream *stream, const mapdpm_real *x, size_t n, uint32_t *ids,
                        mapdpm_real *scores, size_t *done);

/* The id that id has now, after merges; provisional ids of the warm-up too. */
int mapdpm_resolve(const mapdpm_stream *stream, uint32_t id, uint32_t *now);

/* Event number i, counted from the first ever; MAPDPM_E_UNKNOWN where the ring has lost it. */
int mapdpm_get_event(const mapdpm_stream *stream, uint64_t i, mapdpm_event *event);

/* The cluster in a slot below max_clusters, by 1 if there is one, 0 if the slot is free. Means, less the anchor, and
 * variances M2 / n go to mean[n_features] and variance[n_features], which may be NULL. */
int mapdpm_get_cluster(const mapdpm_stream *stream, uint32_t slot, mapdpm_cluster *cluster, mapdpm_real *mean,
                       mapdpm_real *variance);

/* The anchor[n_features] and the parameters of the family, in the user's units; MAPDPM_E_WARMING before there are any. */
int mapdpm_get_prior(const mapdpm_stream *stream, mapdpm_real *anchor, mapdpm_real *parameters);

/* ---- a window of the caller's own: points that are visited again -------------------------------------------------- */

/* Bring ids[n] of points learned earlier up to date with what has happened since event number *event: merged clusters are
 * followed; MAPDPM_NO_ID where the cluster is gone, or has been split, for who knows which part a point belongs to; all of
 * them where the ring has lost an event. *event is then the number of the next. To be called before ids of new points
 * come in, or at least before the next look at them; begin with event 0. */
int mapdpm_follow(const mapdpm_stream *stream, uint64_t *event, uint32_t *ids, size_t n);

/* Visit n points x[n][n_features] again, each as if it were not there, so that those move that now belong elsewhere, among
 * the clusters that there are; ids[n], which mapdpm_follow has brought up to date, say where they are, and then where they
 * have gone. times[n] says when each was learned, in microseconds or else as the number of the point, counted from 1; NULL
 * where nothing is forgotten. *moved says how many moved. An error is found before anything has changed. */
int mapdpm_resweep(mapdpm_stream *stream, const mapdpm_real *x, const int64_t *times, uint32_t *ids, size_t n,
                   size_t *moved);

/* ---- gateways: many learners into one --------------------------------------------------------------------------------- */

/* All clusters of another learner, as they are now, by their statistics: a prior is never counted twice. MAPDPM_E_SPACE
 * where there are not so many free slots. mapdpm_reduce then merges. */
int mapdpm_pool(mapdpm_stream *stream, const mapdpm_stream *from);

/* One more cluster, of a weight, a mean less this learner's anchor, and a variance M2 / weight; its id is new.
 * MAPDPM_E_SPACE where no slot is free. Statistics only: a prior is never counted twice. */
int mapdpm_insert(mapdpm_stream *stream, const mapdpm_cluster *cluster, const mapdpm_real *mean,
                  const mapdpm_real *variance);

/* Merge clusters while that raises the log joint, then those that cost it least until n are left. Slots are put into an
 * order of their own, ids and events begin anew: in which order clusters were inserted does not matter. */
int mapdpm_reduce(mapdpm_stream *stream, uint32_t n);

/* ---- snapshots --------------------------------------------------------------------------------------------------------- */

/* In the container of docs/format.md: all of the learner, to the last bit. */
size_t mapdpm_snapshot_bytes(const mapdpm_stream *stream);
int mapdpm_snapshot_write(const mapdpm_stream *stream, unsigned char *file, size_t capacity, size_t *file_bytes);

/* The options of the learner in a file, but for its parameters; checks the header and the CRC. */
int mapdpm_snapshot_options(const unsigned char *file, size_t file_bytes, mapdpm_options *options);

/* Make a learner of the caller's memory from a file, every field checked. What Python adds is skipped. */
int mapdpm_snapshot_read(mapdpm_stream *stream, size_t bytes, const unsigned char *file, size_t file_bytes);

/* ---- banks: the same stream learned under several alphas --------------------------------------------------------------- */

/* The head of the caller's memory; the learners lie behind it. */
typedef struct mapdpm_bank {
    uint32_t bytes;
    uint32_t n;
    uint32_t best;       /* which one answers */
    uint32_t n_switches; /* how often another has taken over */
    mapdpm_real keep;    /* by what scores are multiplied at each point */
    mapdpm_real margin;
} mapdpm_bank;

/* Bytes of a bank of n learners with these options; 0 where they are not sound, or say MAPDPM_FULL_ERROR. */
size_t mapdpm_bank_bytes(const mapdpm_options *options, uint32_t n);

/* Make a bank of the caller's memory, aligned for uint64_t: learners that differ in alphas[n] only. Each is scored by the
 * log predictive density of each point before it learns it; half_life, in points, is how long scores are remembered, 0 for
 * ever. Another one answers when its score is above that of the one that does by more than margin, in nats. */
int mapdpm_bank_init(mapdpm_bank *bank, size_t bytes, const mapdpm_options *options, const mapdpm_real *alphas, uint32_t n,
                     mapdpm_real half_life, mapdpm_real margin);

/* All learn a point; id and score, which may be NULL, are those of the one that answered best before. All or nothing. */
int mapdpm_bank_learn(mapdpm_bank *bank, const mapdpm_real *x, uint32_t *id, mapdpm_real *score);

/* Learner i below n; NULL where there is none. mapdpm_predict of learner bank->best is what the bank says of a point. */
mapdpm_stream *mapdpm_bank_stream(mapdpm_bank *bank, uint32_t i);

/* By how many nats learner i has predicted better than learner 0, as far as that is remembered. */
int mapdpm_bank_score(const mapdpm_bank *bank, uint32_t i, mapdpm_real *score);

/* CRC-32 (the one of zlib and Ethernet) of n bytes, going on from crc; start with 0. */
uint32_t mapdpm_crc32(uint32_t crc, const unsigned char *bytes, size_t n);
/* cdef: end */

#ifdef __cplusplus
}
#endif
#endif
