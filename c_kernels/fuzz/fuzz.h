/* The parts that all fuzzers share: input, options, and conditions that hold whatever has happened to a learner. */
#ifndef FUZZ_H
#define FUZZ_H
#include "learner/mapdpm_learner.h"

#include "input.h"

/* Usually a typical value, sometimes any bits. */
static inline mapdpm_real next_real(input *t)
{
    static const mapdpm_real powers[] = {(mapdpm_real)1e-12, (mapdpm_real)0.01, 1, 1, 1, 100,
                                         (mapdpm_real)1e6,   (mapdpm_real)1e9};
    const uint8_t kind = next_byte(t);
    mapdpm_real value;
    unsigned char bytes[sizeof value];
    size_t i;

    if (kind >= 16)
        return ((mapdpm_real)next_byte(t) - 128) * powers[kind & 7];
    for (i = 0; i < sizeof bytes; i++)
        bytes[i] = next_byte(t);
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* Any time, small or large. */
static inline int64_t next_time_of(input *t)
{
    const unsigned shift = next_byte(t) & 63u;

    return (int64_t)((uint64_t)next_byte(t) << shift);
}

/* Write the check sum of a file that was changed, so that it is read. */
static inline void seal(uint8_t *file, size_t n)
{
    size_t i;

    for (i = 0; i < 4; i++)
        file[n - 4 + i] = (uint8_t)(mapdpm_crc32(0, file, n - 4) >> (8 * i));
}

/* Change up to three bits of a file anywhere, and seal it. */
static inline void forge(input *t, uint8_t *file, size_t n)
{
    unsigned edits = next_byte(t) & 3u;

    for (; edits > 0; edits--) {
        const size_t at = ((size_t)next_byte(t) << 8) + next_byte(t);

        file[at % (n - 4)] ^= (uint8_t)(1u << (next_byte(t) & 7u));
    }
    seal(file, n);
}

/* A number whose bits all depend on those of n. */
static inline uint32_t mixed(uint32_t n)
{
    n = (n ^ n >> 16) * 0x7feb352du;
    n = (n ^ n >> 15) * 0x846ca68bu;
    return n ^ n >> 16;
}

enum { D_MOST = 4 };

/* Options of all sorts, valid or not. */
static inline void next_options(input *t, mapdpm_options *o, mapdpm_real *parameters)
{
    const uint8_t a = next_byte(t), b = next_byte(t), c = next_byte(t);
    uint32_t d;

    memset(o, 0, sizeof *o);
    o->family = a & 1 ? MAPDPM_NORMAL_KNOWN_VARIANCE : MAPDPM_NORMAL_GAMMA;
    o->n_features = 1 + (a >> 1) % D_MOST;
    o->max_clusters = 1 + (a >> 3) % 12;
    o->warmup = b & 1 ? b % 32 : 0;
    o->queue = o->warmup > 0 && (a ^ c) % 2 == 0 ? 1 + (b >> 5) : 0;
    o->window = b & 64 ? b >> 3 & 7u : 0;
    o->missing = b >> 7;
    o->when_full = c & 7u;
    o->alpha = c & 8 ? next_real(t) : (c & 16 ? 0 : 1);
    o->log_alpha = c & 16 ? next_real(t) : 0;
    o->half_life = c & 32 ? next_real(t) : (c & 64 ? 5 : 0);
    o->max_groups = (a ^ c) % 3 == 0 ? (a ^ b) % 4 : 0;
    o->when_groups_full = b >> 2 & 1u;
    o->with_base = o->max_groups > 1;
    o->lag = (a ^ b ^ c) % 5 == 0 ? 1 + (b ^ c) % 5u : 0;
    if (o->lag > 0 && c % 8 != 7) /* else they are refused with groups or a window */
        o->max_groups = o->with_base = o->window = 0;
    o->relevance = o->warmup > 0 && o->with_base == 0 && (b ^ c) % 2 == 0;
    o->resolution = o->warmup > 0 && (a ^ b) % 2 == 0;
    o->surprise = o->max_groups == 0 && o->lag == 0 && (a ^ b ^ c) % 3 == 0;
    o->rare = o->surprise ? (mapdpm_real)(b % 4) / 8 : 0;
    o->gamma = c & 8 && (o->max_groups > 0 || o->lag > 0) ? next_real(t) : 1;
    o->kappa = o->lag > 0 && c & 64 ? next_real(t) : 0;
    for (d = 0; d < 3 * D_MOST; d++)
        parameters[d] = c & 128 ? next_real(t) : 1;
    o->parameters = o->warmup > 0 ? NULL : parameters;
}

/* Probabilities that sum to `all`, but for rounding. */
static inline void must_be_probabilities(const mapdpm_real *p, size_t n, int all)
{
    mapdpm_real sum = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        MUST(p[i] >= 0);
        sum += p[i];
    }
    MUST(sum >= (mapdpm_real)all * (mapdpm_real)0.97 && sum <= (mapdpm_real)all * (mapdpm_real)1.03);
}

/* What must_be_whole says of states in time. */
static inline void states_must_be_whole(const mapdpm_stream *s)
{
    const uint32_t K = s->max_clusters;
    mapdpm_real *const steps = (mapdpm_real *)malloc(((size_t)K + 1) * (K + 1) * sizeof *steps);
    mapdpm_real *const belief = (mapdpm_real *)malloc(K * sizeof *belief);
    uint32_t v, k;
    size_t i;

    MUST(steps != NULL && belief != NULL);
    MUST(mapdpm_get_transitions(s, steps) == MAPDPM_OK && mapdpm_get_belief(s, belief) == MAPDPM_OK);
    for (v = 0; v <= K; v++)
        must_be_probabilities(steps + (size_t)v * (K + 1), (size_t)K + 1, v == K || (is_used(s, v) && !s->warming));
    must_be_probabilities(belief, K, *state_id_of(s) != MD_NONE);
    MUST(*n_waiting_of(s) < waiting_room(s) && (*n_waiting_of(s) == 0 || !s->warming));
    for (i = 0; i < *n_waiting_of(s); i++)
        must_be_probabilities(waiting_belief(s, i), K, 1);
    for (k = 0; k < K; k++)
        MUST(is_used(s, k) && !s->warming ? state_tables(s)[k] > 0 : !(state_tables(s)[k] > 0 || belief[k] > 0));
    MUST(*state_total(s) >= *share_gamma(s));
    MUST(*state_total(s) < 2 * *share_gamma(s) + 4 * MOST_WEIGHT * (mapdpm_real)(K + 1));
    MUST(*last_slot_of(s) == MD_NONE || is_used(s, *last_slot_of(s)));
    for (i = 0; counts_from(s, 0) + i < waiting_belief(s, 0); i++)
        MUST(counts_from(s, 0)[i] >= 0 && counts_from(s, 0)[i] < LARGEST_REAL);
    free(steps);
    free(belief);
}

/* Conditions that nothing may break, not even a forged snapshot that was accepted. */
static inline void must_be_whole(const mapdpm_stream *s)
{
    uint32_t k, used = 0;

    for (k = 0; k < s->max_clusters; k++) {
        used += is_used(s, k);
        MUST(!is_used(s, k) || k < s->width);
    }
    MUST(used == s->n_clusters || is_settling(s)); /* a slot may be open for points that are moved in later steps */
    MUST(!s->warming || mapdpm_n_clusters(s) == 0);
    for (k = 0; IS_GROUPED(s) && k < s->max_clusters; k++)
        MUST(!is_used(s, k) || tables_of(s)[k] > 0);
    MUST(!HAS_GROUPS(s) || *all_tables_of(s) >= *gamma_of(s));
    MUST(s->warming ? s->n_seen < s->warmup + (s->queue > 0) : s->turn < s->max_clusters);
    MUST(mapdpm_n_queued(s) <= s->queue);
    if (HAS_STATES(s))
        states_must_be_whole(s);
}

/* Whether a learner is as it was, but for the scratch in which predictions of states compute. */
static inline int is_as_before(const void *before, const mapdpm_stream *s)
{
    const unsigned char *const old = (const unsigned char *)before, *const now = (const unsigned char *)s;
    size_t begin = s->bytes, end = s->bytes;

    if (HAS_STATES(s)) {
        begin = (size_t)((const unsigned char *)state_scores(s) - now);
        end = (size_t)((const unsigned char *)steps_from(s, 0) - now);
    }
    return memcmp(old, now, begin) == 0 && memcmp(old + end, now + end, s->bytes - end) == 0;
}

/* Memory of exactly the requested size, so that the bytes behind it are poisoned. MemorySanitizer knows that it is not
 * initialised, and complains if a learner is compared before all its bytes are written. */
static inline mapdpm_stream *new_stream(size_t bytes)
{
    mapdpm_stream *const s = (mapdpm_stream *)malloc(bytes);

    MUST(s != NULL);
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
    return s;
#endif
#endif
    memset(s, 0xa5, bytes);
    return s;
}

static inline void *copy_of(const void *memory, size_t bytes)
{
    void *const copy = malloc(bytes);

    MUST(copy != NULL);
    return memcpy(copy, memory, bytes);
}

/* Call all functions that change nothing. A learner of groups remembers the last one. */
static inline void call_queries(const mapdpm_stream *s, const mapdpm_real *x)
{
    unsigned char *const before = (unsigned char *)copy_of(s, s->bytes);
    mapdpm_real *const room = (mapdpm_real *)malloc((4 * (size_t)s->n_features + 2) * sizeof *room);
    mapdpm_cluster cluster;
    mapdpm_event event;
    mapdpm_real score;
    unsigned char relevant[D_MOST];
    uint32_t id, k;

    MUST(room != NULL);
    if (mapdpm_predict(s, x, &id, &score) == MAPDPM_OK)
        (void)mapdpm_resolve(s, id, &id);
    (void)mapdpm_predict(s, x, NULL, &score);
    for (k = 0; k < s->max_clusters; k++)
        MUST(mapdpm_get_cluster(s, k, &cluster, room, room + s->n_features) ==
             mapdpm_get_cluster_relative(s, k, &cluster, room, NULL));
    (void)mapdpm_get_event(s, s->n_events - 1, &event);
    (void)mapdpm_resolve(s, 0, &id);
    (void)mapdpm_get_prior(s, room, room + s->n_features);
    (void)mapdpm_get_group(s, 0, &id, NULL);
    (void)mapdpm_get_run(s, &id);
    (void)mapdpm_contributions(s, x, room);
    if (s->n_features <= D_MOST)
        (void)mapdpm_get_relevance(s, relevant, room);
    MUST(is_as_before(before, s));
    free(before);
    free(room);
}
#endif
