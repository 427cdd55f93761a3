/* The learner in whole numbers: it takes one point with all its consequences in O(K D) time, in the caller's memory, on
 * chips without floating point (docs/integers.md). mapdpm/integers/learner.py defines it.
 */
#include "integers/mapdpm_int_layout.h"

#define MOST_HALF_LIFE (UINT32_C(1) << 20) /* so that the weight of all points stays below the largest */
#define MOST_C0 (UINT32_C(255) << 16)
#define MOST_A0 (UINT32_C(1) << 24)
#define MOST_B0 (UINT64_C(1) << 56)

static int is_valid(const mapdpm_options *o)
{
    if (o == NULL || o->n_features < 1 || o->n_features > INT_MOST_FEATURES || o->max_clusters < 1 ||
        o->max_clusters > INT_MOST_CLUSTERS || o->when_full > MAPDPM_FULL_ERROR || o->half_life == 1 ||
        o->half_life > MOST_HALF_LIFE)
        return 0;
#ifdef MAPDPM_FEATURES
    if (o->n_features != MAPDPM_FEATURES)
        return 0;
#endif
#ifdef MAPDPM_CLUSTERS
    if (o->max_clusters != MAPDPM_CLUSTERS)
        return 0;
#endif
#ifdef MAPDPM_WHEN_FULL
    if (o->when_full != MAPDPM_WHEN_FULL)
        return 0;
#endif
#ifdef MAPDPM_NO_FORGETTING
    if (o->half_life > 0)
        return 0;
#endif
    return 1;
}

size_t mapdpm_stream_bytes(const mapdpm_options *o)
{
    return is_valid(o) ? MAPDPM_STATE_BYTES(o->n_features, o->max_clusters) : 0;
}

/* Take over the settings of options, but for the arrays, and what they tell. */
void int_begin(mapdpm_stream *s, const mapdpm_options *o)
{
    s->n_features = (uint8_t)o->n_features;
    s->max_clusters = (uint8_t)o->max_clusters;
    s->when_full = (uint8_t)o->when_full;
    s->half_life = o->half_life;
    s->alpha = o->alpha;
    s->c0 = o->c0;
    s->twice_a0 = o->twice_a0;
}

/* Whether the prior is in its limits; then what follows from it. */
int int_is_prior(mapdpm_stream *s)
{
    uint32_t d;

    if (s->alpha < 1 || s->c0 < 1 || s->c0 > MOST_C0 || s->twice_a0 < 1 || s->twice_a0 > MOST_A0)
        return 0;
    for (d = 0; d < INT_FEATURES(s); d++)
        if (int_twice_b0(s)[d] < 1 || int_twice_b0(s)[d] > MOST_B0)
            return 0;
    s->weight = whole_power(s->phase >> 16) >> 8;
    s->log_alpha = whole_nats_of(whole_log2(s->alpha), 16);
    s->unusual = 4 * INT_NAT + 2 * (uint32_t)whole_nats_of(whole_log2(INT_FEATURES(s)), 0);
    return 1;
}

int mapdpm_init(mapdpm_stream *s, size_t bytes, const mapdpm_options *o)
{
    uint32_t k;

    if (s == NULL)
        return MAPDPM_E_ARGUMENT;
    if (bytes >= sizeof *s)
        memset(s, 0, sizeof *s);
    if (!is_valid(o) || o->centre == NULL || o->twice_b0 == NULL)
        return MAPDPM_E_ARGUMENT;
    if (bytes < mapdpm_stream_bytes(o))
        return MAPDPM_E_SPACE;
    memset(s, 0, mapdpm_stream_bytes(o));
    int_begin(s, o);
    memcpy(int_twice_b0(s), o->twice_b0, o->n_features * sizeof *o->twice_b0);
    memcpy(int_centre(s), o->centre, o->n_features * sizeof *o->centre);
    if (!int_is_prior(s))
        return MAPDPM_E_ARGUMENT;
    for (k = 0; k < INT_SLOTS(s); k++)
        int_clear(s, k);
    int_prepare(s, INT_SLOTS(s));
    s->bytes = (uint32_t)mapdpm_stream_bytes(o);
    return MAPDPM_OK;
}

/* The half-lives begin anew: all that was learned counts half (decision 167). */
static void halve(mapdpm_stream *s)
{
    uint32_t k, part, d;

    s->weight = INT_POINT;
    for (k = 0; k < INT_SLOTS(s); k++) {
        if (!int_is_used(s, k))
            continue;
        for (part = WHOLE; part < PARTS; part++) {
            *int_weight(s, k, part) >>= 1;
            for (d = 0; d < INT_FEATURES(s); d++)
                int_squares(s, k, part)[d] >>= 1;
        }
        if (2 * *int_weight(s, k, WHOLE) < INT_POINT)
            int_remove(s, k, MAPDPM_AGED);
        else
            int_prepare(s, k);
    }
}

/* A point gains weight while older ones do not; when it has doubled, all halve. */
static void pass_time(mapdpm_stream *s)
{
    if (INT_FORGETS(s)) {
        const uint32_t before = s->phase;

        s->phase += (uint32_t)((UINT64_C(1) << 32) / s->half_life);
        if (s->phase < before)
            halve(s);
        s->weight = whole_power(s->phase >> 16) >> 8;
    }
}

/* Add the point to slot k, new or not. Then try one change that may follow. Returns the final slot of the point. */
static uint32_t join(mapdpm_stream *s, uint32_t k, uint32_t second, const int32_t *x)
{
    const int_moments own = int_moments_of(s, k, WHOLE);
    uint32_t half = 0, look;

    int_add(s, &own, x);
    int_slot_of(s, k)->seen = (uint32_t)s->n_seen;
    if (INT_SPLITS) {
        int_moments m;

        half = int_choose_half(s, k, x);
        m = int_moments_of(s, k, half + 1);
        int_add(s, &m, x);
    }
    int_prepare(s, k);
    look = ++int_slot_of(s, k)->trials % LOOK_PERIOD;
    if (look == 0 && INT_SPLITS) {
        int_watch(s, k, x);
        return int_try_split(s, k, half);
    }
    if (look % 2 == 0) {
        second = s->turn;
        s->turn = s->turn + 1u < INT_SLOTS(s) ? (uint8_t)(s->turn + 1) : 0;
    }
    int_try_merge(s, k, second);
    return k;
}

static void centred(const mapdpm_stream *s, const int16_t *x, int32_t *point)
{
    uint32_t d;

    for (d = 0; d < INT_FEATURES(s); d++)
        point[d] = (int32_t)x[d] - int_centre(s)[d];
}

int mapdpm_learn(mapdpm_stream *s, const mapdpm_real *x, uint32_t *id, mapdpm_score *score)
{
    int32_t point[INT_MOST_FEATURES];
    int_choice c;
    uint32_t k;

    if (s == NULL || s->bytes == 0 || x == NULL)
        return MAPDPM_E_ARGUMENT;
    centred(s, x, point);
    if (INT_WHEN_FULL(s) == MAPDPM_FULL_ERROR && s->n_clusters == INT_SLOTS(s) && int_choose(s, point, 0).opens)
        return MAPDPM_E_FULL;
    pass_time(s);
    c = int_choose(s, point, score != NULL);
    s->n_seen++;
    k = c.best;
    if (c.opens && s->next_id != MAPDPM_NO_ID) {
        const uint32_t free =
            s->n_clusters < INT_SLOTS(s) ? int_free(s) : int_make_room(s, INT_NONE, INT_MOST_GAIN);

        if (free != INT_NONE) {
            int_open(s, free);
            int_record(s, MAPDPM_CREATED, int_slot_of(s, free)->id, 0);
            c.second = k;
            k = free;
        }
    }
    if (k == INT_NONE)
        return MAPDPM_E_IDS;
    k = join(s, k, c.second, point);
    if (id)
        *id = int_slot_of(s, k)->id;
    if (score)
        *score = c.density;
    if (!INT_FORGETS(s) && c.weight >= INT_LARGEST_WEIGHT)
        halve(s);
    return MAPDPM_OK;
}

int mapdpm_predict(const mapdpm_stream *s, const mapdpm_real *x, uint32_t *id, mapdpm_score *score)
{
    int32_t point[INT_MOST_FEATURES];
    int_choice c;

    if (s == NULL || s->bytes == 0 || x == NULL)
        return MAPDPM_E_ARGUMENT;
    centred(s, x, point);
    c = int_choose(s, point, score != NULL);
    if (score)
        *score = c.density;
    if (id == NULL)
        return MAPDPM_OK;
    if (c.best == INT_NONE)
        return MAPDPM_E_WARMING;
    *id = int_slot_of(s, c.best)->id;
    return MAPDPM_OK;
}

int mapdpm_learn_many(mapdpm_stream *s, const mapdpm_real *x, size_t n, uint32_t *ids, mapdpm_score *scores, size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (s == NULL || s->bytes == 0 || x == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n && error == MAPDPM_OK; i++)
        error = mapdpm_learn(s, x + i * INT_FEATURES(s), ids ? ids + i : NULL, scores ? scores + i : NULL);
    *done = error == MAPDPM_OK ? n : i - 1;
    return error;
}

int mapdpm_predict_many(const mapdpm_stream *s, const mapdpm_real *x, size_t n, uint32_t *ids, mapdpm_score *scores,
                        size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (s == NULL || s->bytes == 0 || x == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n && error == MAPDPM_OK; i++)
        error = mapdpm_predict(s, x + i * INT_FEATURES(s), ids ? ids + i : NULL, scores ? scores + i : NULL);
    *done = error == MAPDPM_OK ? n : i - 1;
    return error;
}

/* ---- what it has learned ----------------------------------------------------------------------------------------- */

uint64_t mapdpm_n_seen(const mapdpm_stream *s) { return s == NULL || s->bytes == 0 ? 0 : s->n_seen; }
uint64_t mapdpm_n_events(const mapdpm_stream *s) { return s == NULL || s->bytes == 0 ? 0 : s->n_events; }
uint32_t mapdpm_n_clusters(const mapdpm_stream *s) { return s == NULL || s->bytes == 0 ? 0 : s->n_clusters; }
uint32_t mapdpm_n_features(const mapdpm_stream *s) { return s == NULL || s->bytes == 0 ? 0 : s->n_features; }
uint32_t mapdpm_max_clusters(const mapdpm_stream *s) { return s == NULL || s->bytes == 0 ? 0 : s->max_clusters; }

int mapdpm_get_cluster(const mapdpm_stream *s, uint32_t slot, mapdpm_cluster *cluster, int32_t *mean, uint64_t *squares)
{
    uint32_t d;
    int_view v;

    if (s == NULL || s->bytes == 0 || cluster == NULL || slot >= INT_SLOTS(s))
        return MAPDPM_E_ARGUMENT;
    if (!int_is_used(s, slot))
        return 0;
    v = int_view_of(s, slot, WHOLE);
    cluster->id = int_slot_of(s, slot)->id;
    cluster->weight = v.weight;
    for (d = 0; d < INT_FEATURES(s); d++) {
        if (mean)
            mean[d] = int_mean(&v.at, d) + int_place(int_centre(s)[d]);
        if (squares)
            squares[d] = int_squares_of(s, &v, d);
    }
    return 1;
}

int mapdpm_get_options(const mapdpm_stream *s, mapdpm_options *o)
{
    if (s == NULL || s->bytes == 0 || o == NULL)
        return MAPDPM_E_ARGUMENT;
    memset(o, 0, sizeof *o);
    o->n_features = INT_FEATURES(s);
    o->max_clusters = INT_SLOTS(s);
    o->when_full = INT_WHEN_FULL(s);
    o->half_life = s->half_life;
    o->alpha = s->alpha;
    o->c0 = s->c0;
    o->twice_a0 = s->twice_a0;
    return MAPDPM_OK;
}

int mapdpm_get_prior(const mapdpm_stream *s, int16_t *centre, uint64_t *twice_b0)
{
    if (s == NULL || s->bytes == 0 || centre == NULL || twice_b0 == NULL)
        return MAPDPM_E_ARGUMENT;
    memcpy(centre, int_centre(s), INT_FEATURES(s) * sizeof *centre);
    memcpy(twice_b0, int_twice_b0(s), INT_FEATURES(s) * sizeof *twice_b0);
    return MAPDPM_OK;
}

int mapdpm_get_event(const mapdpm_stream *s, uint64_t i, mapdpm_event *event)
{
    const uint32_t *found;
    uint64_t back;
    uint32_t size, at;

    if (s == NULL || s->bytes == 0 || event == NULL)
        return MAPDPM_E_ARGUMENT;
    size = MAPDPM_EVENTS(INT_SLOTS(s));
    if (i >= s->n_events || s->n_events - i > size)
        return MAPDPM_E_UNKNOWN;
    back = s->n_events - i;
    at = s->at_event >= back ? s->at_event - (uint32_t)back : s->at_event + size - (uint32_t)back;
    found = int_events(s) + 4 * (size_t)at;
    event->kind = found[0];
    event->id = found[1];
    event->other = found[2];
    event->when = found[3];
    return MAPDPM_OK;
}
