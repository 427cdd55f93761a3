/* The learner as a page sees it: WebAssembly exports, and one learner in memory that never grows. */
#include "mapdpm.h"

enum { FEATURES = 3, CLUSTERS = 8, WARMUP = 100 };
#define EXPORT(name) __attribute__((export_name(#name)))

static uint64_t memory[(MAPDPM_STATE_BYTES(FEATURES, CLUSTERS) + WARMUP * (8 + 4 + FEATURES * sizeof(mapdpm_real)) + 7) / 8];
static mapdpm_real reading[FEATURES], means[FEATURES], density;
static uint32_t id;
static mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;

EXPORT(begin) int begin(void)
{
    mapdpm_options options = {0};

    options.family = MAPDPM_NORMAL_GAMMA;
    options.n_features = FEATURES;
    options.max_clusters = CLUSTERS;
    options.warmup = WARMUP;
    options.alpha = 1;
    return mapdpm_init(learner, sizeof memory, &options);
}

EXPORT(reading_at) mapdpm_real *reading_at(void) { return reading; }
EXPORT(learn) int learn(void) { return mapdpm_learn(learner, reading, &id, &density); }
EXPORT(cluster) uint32_t cluster(void) { return id; }
EXPORT(log_density) mapdpm_real log_density(void) { return density; }
EXPORT(bytes) uint32_t bytes(void) { return learner->bytes; }

/* The id of a slot's cluster, or -1, and its weight. */
EXPORT(id_in) double id_in(uint32_t slot)
{
    mapdpm_cluster c;

    return mapdpm_get_cluster(learner, slot, &c, means, NULL) == 1 ? c.id : -1.0;
}
EXPORT(weight_in) mapdpm_real weight_in(uint32_t slot)
{
    mapdpm_cluster c;

    return mapdpm_get_cluster(learner, slot, &c, NULL, NULL) == 1 ? c.weight : 0;
}
EXPORT(resolved) double resolved(uint32_t old)
{
    uint32_t now;

    return mapdpm_resolve(learner, old, &now) == MAPDPM_OK ? now : -1.0;
}

/* Of all ids and densities so far, as little-endian words. */
EXPORT(crc) uint32_t crc(uint32_t before)
{
    const unsigned char bytes_of_id[4] = {(unsigned char)id, (unsigned char)(id >> 8), (unsigned char)(id >> 16),
                                          (unsigned char)(id >> 24)};
    const union {
        mapdpm_real real;
        unsigned char bytes[sizeof(mapdpm_real)];
    } bits = {density == density ? density : 0};

    return mapdpm_crc32(mapdpm_crc32(before, bytes_of_id, 4), bits.bytes, sizeof bits.bytes);
}
