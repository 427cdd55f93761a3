/* What a learner knows: its numbers, options, clusters, events and prior. Nothing here changes it. */
#include "stream/mapdpm_steps.h"

uint64_t mapdpm_n_seen(const mapdpm_stream *s) { return is_none(s) ? 0 : s->n_seen; }
/* While the end of a warm-up is settled, there are clusters on trial only. */
uint64_t mapdpm_n_events(const mapdpm_stream *s) { return is_none(s) || IS_WARMING(s) ? 0 : s->n_events; }
uint32_t mapdpm_n_clusters(const mapdpm_stream *s) { return is_none(s) || IS_WARMING(s) ? 0 : s->n_clusters; }
uint32_t mapdpm_n_features(const mapdpm_stream *s) { return is_none(s) ? 0 : MD_FEATURES(s); }
uint32_t mapdpm_max_clusters(const mapdpm_stream *s) { return is_none(s) ? 0 : MD_SLOTS(s); }
int mapdpm_is_warming(const mapdpm_stream *s) { return !is_none(s) && IS_WARMING(s); }

int mapdpm_get_options(const mapdpm_stream *s, mapdpm_options *o)
{
    if (is_none(s) || o == NULL)
        return MAPDPM_E_ARGUMENT;
    memset(o, 0, sizeof *o);
    o->family = (int32_t)s->family;
    o->n_features = MD_FEATURES(s);
    o->max_clusters = MD_SLOTS(s);
    o->warmup = MD_WARMUP(s);
    o->queue = MD_QUEUE(s);
    o->window = MD_WINDOW(s);
    o->when_full = WHEN_FULL(s);
    o->missing = HAS_MISSING(s);
    o->alpha = s->alpha;
    o->log_alpha = s->log_alpha;
    o->half_life = s->half_life;
    if (HAS_GROUPS(s)) {
        o->max_groups = s->max_groups;
        o->when_groups_full = *groups_full_of(s);
        o->with_base = s->with_base;
        o->gamma = *gamma_of(s);
    }
    if (HAS_SURPRISE(s)) {
        o->surprise = 1;
        o->rare = *rare_share(s);
    }
    o->relevance = HAS_RELEVANCE(s);
    o->resolution = HAS_RESOLUTION(s) ? s->resolution : 0;
    if (HAS_STATES(s)) {
        o->lag = s->lag;
        o->gamma = *share_gamma(s);
        o->kappa = *kappa_of(s);
    }
    return MAPDPM_OK;
}

int mapdpm_resolve(const mapdpm_stream *s, uint32_t id, uint32_t *now)
{
    uint64_t i, first;
    uint32_t k;

    if (is_none(s) || now == NULL)
        return MAPDPM_E_ARGUMENT;
    if (id < MD_WARMUP(s)) {
        if (IS_WARMING(s)) {
            *now = id;
            return id < s->n_seen ? MAPDPM_OK : MAPDPM_E_UNKNOWN;
        }
        id = warmup_labels_of(s)[id];
    }
    if (IS_WARMING(s))
        return MAPDPM_E_UNKNOWN;
    first = s->n_events > RING_SIZE(s) ? s->n_events - RING_SIZE(s) : 0;
    for (i = first; i < s->n_events; i++) {
        const uint32_t *const event = event_of(s, i);

        if (event[0] == MAPDPM_MERGED && event[1] == id)
            id = event[2];
    }
    for (k = 0; k < MD_SLOTS(s); k++)
        if (is_used(s, k) && ids_of(s)[k] == id) {
            *now = id;
            return MAPDPM_OK;
        }
    return MAPDPM_E_UNKNOWN;
}

int mapdpm_get_event(const mapdpm_stream *s, uint64_t i, mapdpm_event *event)
{
    if (is_none(s) || event == NULL)
        return MAPDPM_E_ARGUMENT;
    if (i >= mapdpm_n_events(s) || s->n_events - i > RING_SIZE(s))
        return MAPDPM_E_UNKNOWN;
    memcpy(event, event_of(s, i), sizeof *event);
    return MAPDPM_OK;
}

/* A cluster, and its means, relative to the anchor or not. */
static int get_cluster(const mapdpm_stream *s, uint32_t k, mapdpm_cluster *cluster, md_real *mean, md_real *variance,
                       int is_relative)
{
    size_t d;
    md_real decay;

    if (is_none(s) || cluster == NULL || k >= MD_SLOTS(s))
        return MAPDPM_E_ARGUMENT;
    if (!is_used(s, k) || IS_WARMING(s))
        return 0;
    decay = decay_of(s, k, s->now);
    cluster->id = ids_of(s)[k];
    cluster->weight = *slot_of(s, k) * decay;
    cluster->weight_low = low_part(slot_of(s, k), half_size(s)) * decay;
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real *const slot = slot_of(s, k), n = counts_in(s, slot)[d * count_step(s)] * decay;
        const md_real m = mean_in(s, slot)[d] + low_part(mean_in(s, slot) + d, half_size(s));
        const md_real cell = HAS_RESOLUTION(s) ? cell_of(s, d) : 0;

        if (mean)
            mean[d] = m / unit_of(s)[d] + (is_relative ? 0 : anchor_of(s)[d]);
        if (variance)
            variance[d] =
                n > 0 ? at_least(squares_in(s, slot)[d] * decay / n - cell, 0) / unit_of(s)[d] / unit_of(s)[d] : 0;
    }
    return 1;
}

int mapdpm_get_cluster(const mapdpm_stream *s, uint32_t k, mapdpm_cluster *cluster, md_real *mean, md_real *variance)
{
    return get_cluster(s, k, cluster, mean, variance, 0);
}

int mapdpm_get_cluster_relative(const mapdpm_stream *s, uint32_t k, mapdpm_cluster *cluster, md_real *mean,
                                md_real *variance)
{
    return get_cluster(s, k, cluster, mean, variance, 1);
}

/* Parameter i of the family, in the user's units. */
md_real stream_parameter(const mapdpm_stream *s, size_t i)
{
    const size_t D = MD_FEATURES(s), d = i % D;

    if (i < D)
        return anchor_of(s)[i];
    if (!IS_GAMMA(s))
        return (i < 2 * D ? prior_variance_of(s)[d] : noise_scale_of(s)[d]) / unit_of(s)[d] / unit_of(s)[d];
    if (i < D + 2)
        return i == D ? s->c0 : s->a0;
    i -= D + 2;
    return noise_scale_of(s)[i] / unit_of(s)[i] / unit_of(s)[i];
}

int mapdpm_get_prior(const mapdpm_stream *s, md_real *anchor, md_real *parameters)
{
    size_t i;

    if (is_none(s) || anchor == NULL || parameters == NULL)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    for (i = 0; i < mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s)); i++) {
        parameters[i] = stream_parameter(s, i);
        if (i < MD_FEATURES(s))
            anchor[i] = parameters[i];
    }
    return MAPDPM_OK;
}
