/* The learner as the page sees it: one learner in static memory, and buffers that JavaScript reads and writes.
 *
 * A call takes a whole batch, because each call from JavaScript costs as much as a few points. All numbers in the
 * buffers have four bytes.
 */
#include "mapdpm.h"

enum { FEATURES = 8, SLOTS = 32, WARMUP = 1000, BATCH = 256, EVENTS = 1024, FILE_BYTES = 1 << 18 };
#define EXPORT(name) __attribute__((export_name(#name)))
#define STATE_BYTES                                                                                                    \
    (MAPDPM_STATE_BYTES_WITH(FEATURES, SLOTS, WARMUP, 0, 1) + MAPDPM_SURPRISE_BYTES(SLOTS) +                           \
     MAPDPM_RELEVANCE_BYTES(FEATURES, 1) + MAPDPM_RESOLUTION_BYTES(FEATURES) + MAPDPM_QUEUE_BYTES(FEATURES, 1))

static struct {
    uint32_t n_features;
    uint32_t max_clusters;
    uint32_t warmup;  /* 0: the prior has the centre and the spread below */
    uint32_t missing; /* 1: NaN is a missing value */
    mapdpm_real alpha;
    mapdpm_real half_life;
    mapdpm_real centre[FEATURES];
    mapdpm_real spread[FEATURES];
} settings;

static struct {
    uint32_t id;
    mapdpm_real weight;
    mapdpm_real mean[FEATURES];
    mapdpm_real variance[FEATURES];
} clusters[SLOTS];

static uint64_t memory[STATE_BYTES / 8];
static mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;
static mapdpm_alarm alarm;
static mapdpm_real points[BATCH * FEATURES], densities[BATCH];
static mapdpm_assessment found[BATCH];
static uint32_t alerts[BATCH], ids[BATCH];
static mapdpm_event events[EVENTS];
static uint64_t n_told; /* events that were passed on, or came before this learner */
static uint32_t n_events;
static unsigned char file[FILE_BYTES];
static int error;

EXPORT(settings_at) void *settings_at(void) { return &settings; }
EXPORT(clusters_at) void *clusters_at(void) { return clusters; }
EXPORT(points_at) void *points_at(void) { return points; }
EXPORT(found_at) void *found_at(void) { return found; }
EXPORT(alerts_at) void *alerts_at(void) { return alerts; }
EXPORT(events_at) void *events_at(void) { return events; }
EXPORT(ids_at) void *ids_at(void) { return ids; }
EXPORT(densities_at) void *densities_at(void) { return densities; }
EXPORT(file_at) void *file_at(void) { return file; }
EXPORT(batch) uint32_t batch(void) { return BATCH; }
EXPORT(file_capacity) uint32_t file_capacity(void) { return FILE_BYTES; }

EXPORT(error_name) const char *error_name(int which) { return mapdpm_error_name(which); }
EXPORT(last_error) int last_error(void) { return error; }
EXPORT(n_seen) double n_seen(void) { return (double)mapdpm_n_seen(learner); }
EXPORT(n_bytes) uint32_t n_bytes(void) { return learner->bytes; }

/* Whether the points of the warm-up are complete, and its clusters are not found yet. */
EXPORT(is_settling) int is_settling(void)
{
    return mapdpm_is_warming(learner) && mapdpm_n_seen(learner) >= settings.warmup;
}
EXPORT(is_warming) int is_warming(void) { return mapdpm_is_warming(learner); }

/* A learner of these settings. The queue lets the page find the clusters of a warm-up in steps; settle gives it up. */
EXPORT(begin) int begin(void)
{
    mapdpm_real parameters[2 * FEATURES + 2];
    mapdpm_options options = {0};

    n_told = 0;
    n_events = 0;
    options.family = MAPDPM_NORMAL_GAMMA;
    options.n_features = settings.n_features;
    options.max_clusters = settings.max_clusters;
    options.warmup = settings.warmup;
    options.missing = settings.missing;
    options.queue = settings.warmup > 0;
    options.alpha = settings.alpha;
    options.half_life = settings.half_life;
    options.surprise = 1;
    options.relevance = settings.warmup > 0;
    options.resolution = settings.warmup > 0;
    options.rare = (mapdpm_real)0.02;
    if (settings.n_features < 1 || settings.n_features > FEATURES)
        return MAPDPM_E_ARGUMENT;
    if (settings.warmup == 0) {
        error = mapdpm_prior(parameters, settings.n_features, settings.centre, settings.spread);
        if (error)
            return error;
        options.parameters = parameters;
    }
    return mapdpm_init(learner, sizeof memory, &options);
}

EXPORT(set_alarm) int set_alarm(mapdpm_real level) { return mapdpm_alarm_init(&alarm, level, 100, 1); }

/* The ring of the learner forgets events, so they are copied after each point. */
static void copy_events(void)
{
    for (; n_told < mapdpm_n_events(learner) && n_events < EVENTS; n_told++)
        if (mapdpm_get_event(learner, n_told, &events[n_events]) == MAPDPM_OK)
            n_events++;
}

/* The number of events since the last call of this function. Those of the last call are overwritten afterwards. */
EXPORT(take_events) uint32_t take_events(void)
{
    const uint32_t n = n_events;

    n_events = 0;
    return n;
}

/* Learn up to n points. Returns the number learned: fewer after an error, at the end of the warm-up, or when the buffer
 * of events may be too small for another point. */
EXPORT(learn) uint32_t learn(uint32_t n)
{
    uint32_t i;

    error = MAPDPM_OK;
    for (i = 0; i < n && i < BATCH && !is_settling() && n_events + MAPDPM_EVENTS(SLOTS) <= EVENTS; i++) {
        error = mapdpm_learn_assessed(learner, points + i * settings.n_features, NULL, &found[i]);
        if (error)
            break;
        alerts[i] = mapdpm_alarm_update(&alarm, found[i].surprise) == 1;
        copy_events();
    }
    return i;
}

/* Take up to n steps of the settlement. Returns 1 while work is left. */
EXPORT(settle) int settle(uint32_t n)
{
    for (; n > 0; n--)
        if (mapdpm_settle_step(learner) != 1) {
            error = mapdpm_settle_all(learner);
            copy_events();
            return 0;
        }
    return 1;
}

/* The best cluster and the log density of up to n points of the buffer, which are not learned; MAPDPM_NO_ID and NaN where
 * there is none. */
EXPORT(predict) void predict(uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n && i < BATCH; i++)
        if (mapdpm_predict(learner, points + i * settings.n_features, &ids[i], &densities[i]) != MAPDPM_OK) {
            ids[i] = MAPDPM_NO_ID;
            densities[i] = __builtin_nanf("");
        }
}

EXPORT(get_clusters) uint32_t get_clusters(void)
{
    uint32_t slot, n = 0;

    for (slot = 0; slot < mapdpm_max_clusters(learner) && n < SLOTS; slot++) {
        mapdpm_cluster c;

        if (mapdpm_get_cluster(learner, slot, &c, clusters[n].mean, clusters[n].variance) != 1)
            continue;
        clusters[n].id = c.id;
        clusters[n].weight = c.weight;
        n++;
    }
    return n;
}

EXPORT(resolve) uint32_t resolve(uint32_t id)
{
    uint32_t now;

    return mapdpm_resolve(learner, id, &now) == MAPDPM_OK ? now : MAPDPM_NO_ID;
}

/* Write a snapshot to the file buffer. Returns its bytes, or 0 after an error. */
EXPORT(save) uint32_t save(void)
{
    size_t bytes = 0;

    error = mapdpm_snapshot_write(learner, file, sizeof file, &bytes);
    return error ? 0 : (uint32_t)bytes;
}

/* Replace the learner by that in the file buffer, and the settings by its own. */
EXPORT(load) int load(uint32_t bytes)
{
    mapdpm_options options;

    error = mapdpm_snapshot_options(file, bytes, &options);
    if (error)
        return error;
    if (options.n_features > FEATURES || options.max_clusters > SLOTS)
        return MAPDPM_E_SPACE;
    if (options.family != MAPDPM_NORMAL_GAMMA || options.surprise != 1)
        return MAPDPM_E_KIND;
    error = mapdpm_snapshot_read(learner, sizeof memory, file, bytes);
    if (!error && options.queue > 0)
        error = mapdpm_settle_all(learner);
    if (error)
        return error;
    settings.n_features = options.n_features;
    settings.max_clusters = options.max_clusters;
    settings.warmup = options.warmup;
    settings.missing = options.missing;
    settings.alpha = options.alpha;
    settings.half_life = options.half_life;
    n_told = mapdpm_n_events(learner);
    n_events = 0;
    return MAPDPM_OK;
}
