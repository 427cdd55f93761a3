/* What learners of all real types have in common: errors, policies, events, functions without reals. Part of mapdpm.h,
 * which includes it.
 */
#ifndef MAPDPM_CODES_H
#define MAPDPM_CODES_H

#include <stddef.h>
#include <stdint.h>

/* Events of a learner of K clusters that are kept. */
#define MAPDPM_EVENTS(K) (2 * (K))
/* The id of no cluster, and the number of no group. */
#define MAPDPM_NO_ID UINT32_C(0xffffffff)

/* Python reads the declarations between the two markers (build_kernels.py). */
/* cdef: begin */
enum mapdpm_error {
    MAPDPM_OK = 0,
    MAPDPM_E_ARGUMENT = -1,  /* a null pointer, or a size out of range */
    MAPDPM_E_SPACE = -2,     /* the given memory or buffer is too small */
    MAPDPM_E_FOREIGN = -3,   /* not a mapdpm model */
    MAPDPM_E_TRUNCATED = -4, /* the file is shorter than its header says */
    MAPDPM_E_DAMAGED = -5,   /* the CRC or a field is wrong */
    MAPDPM_E_NEWER = -6,     /* written in a newer format than this library reads */
    MAPDPM_E_REAL = -7,      /* written with the other real type: save with dtype "float32" or "float64" */
    MAPDPM_E_KIND = -8,      /* a batch model instead of a stream, or the reverse; or other switches */
    MAPDPM_E_NUMBER = -9,    /* an entry is NaN or infinite; with missing values: one is infinite, or all are NaN */
    MAPDPM_E_RANGE = -10,    /* an entry too far from the prior mean for its square, or too large a weight */
    MAPDPM_E_FULL = -11,     /* a point opens a cluster, but no slot is free, with MAPDPM_FULL_ERROR */
    MAPDPM_E_IDS = -12,      /* all 2^32 - 1 ids are used up */
    MAPDPM_E_TIME = -13,     /* time went backwards, or learn and learn_at were mixed */
    MAPDPM_E_UNKNOWN = -14,  /* an id that was never given, or whose cluster ended before the oldest event kept */
    MAPDPM_E_WARMING = -15,  /* the warm-up is not over: there are no clusters yet */
    MAPDPM_E_GROUP = -16,    /* no group was set; or it is new, all groups are taken, and none may be replaced */
    MAPDPM_E_ARITHMETIC = -17 /* arithmetic differs from that of other builds: mapdpm_selftest */
};

/* The policy for a point that opens a cluster when no slot is free. */
enum mapdpm_when_full {
    MAPDPM_FULL_LEAST_LOSS = 0, /* the cheaper of the next two */
    MAPDPM_FULL_MERGE = 1,      /* merge the two clusters whose merge costs the log joint least */
    MAPDPM_FULL_EVICT = 2,      /* remove the cluster whose removal costs least */
    MAPDPM_FULL_REFUSE = 3,     /* the point joins the best existing cluster */
    MAPDPM_FULL_ERROR = 4       /* MAPDPM_E_FULL; nothing changes */
};

enum mapdpm_event_kind {
    MAPDPM_CREATED = 1, /* id */
    MAPDPM_SPLIT = 2,   /* id stays with the heavier part; other is the new one */
    MAPDPM_MERGED = 3,  /* id is now part of other */
    MAPDPM_EVICTED = 4, /* id, to free a slot */
    MAPDPM_AGED = 5,    /* id, whose weight has decayed too far */
    MAPDPM_PRIOR = 6,   /* no cluster: the prior of the warm-up was revisited, and has changed */
    MAPDPM_RELEVANT = 7,  /* id is a feature: it carries clusters from now on */
    MAPDPM_IRRELEVANT = 8 /* id is a feature: it carries none any more */
};

typedef struct mapdpm_event {
    uint32_t kind;
    uint32_t id;
    uint32_t other;
    uint32_t when; /* number of the point, modulo 2^32 */
} mapdpm_event;

const char *mapdpm_version(void);
const char *mapdpm_error_name(int error);
int mapdpm_real_size(void);

/* The CRC-32 (of zlib and Ethernet) of n bytes, continued from crc; start with 0. */
uint32_t mapdpm_crc32(uint32_t crc, const unsigned char *bytes, size_t n);
/* cdef: end */

#endif
