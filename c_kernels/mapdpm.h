/* mapdpm: clustering when nobody knows the number of clusters. The C library: version, errors, models in files.
 *
 * C99, freestanding but for memcpy, memset and memcmp (batch: and libm). The caller owns all memory; nothing is allocated, nothing is global.
 * Functions return 0 or a negative mapdpm_error. One program holds one real type: compile everything with the same
 * -DMAPDPM_REAL=float or -DMAPDPM_REAL=double (the default).
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
#define MAPDPM_REAL double
#endif
typedef MAPDPM_REAL mapdpm_real;

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
    MAPDPM_E_REAL = -7       /* written with the other real type: save with dtype "float32" or "float64" */
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

/* CRC-32 (the one of zlib and Ethernet) of n bytes, going on from crc; start with 0. */
uint32_t mapdpm_crc32(uint32_t crc, const unsigned char *bytes, size_t n);
/* cdef: end */

#ifdef __cplusplus
}
#endif
#endif
