/* The memory of a stream learner: its size, its initial state, and its prior. */
#include "stream/mapdpm_steps.h"

/* The limits of a shape, of a number of pseudo-points, and of a ratio of variances. */
#define MD_SMALL FLOAT_OR_DOUBLE(1e-9, 1e-30)
#define MD_LARGE FLOAT_OR_DOUBLE(1e9, 1e30)

/* How many points the prior mean of mapdpm_prior counts for: clusters lie 4.5 of their widths apart, as a rule. */
#define PRIOR_POINTS ((md_real)0.05)

static int is_within(md_real x, md_real least, md_real most) { return x >= least && x <= most; }

static int is_sound(const mapdpm_options *o)
{
    if (o == NULL || (o->family != MAPDPM_NORMAL_GAMMA && o->family != MAPDPM_NORMAL_KNOWN_VARIANCE))
        return 0;
    if (o->n_features < 1 || o->n_features > LARGEST_COUNT || o->max_clusters < 1 || o->max_clusters > LARGEST_COUNT)
        return 0;
    if (o->warmup > LARGEST_COUNT || o->window > LARGEST_COUNT || o->when_full > MAPDPM_FULL_ERROR || o->missing > 1)
        return 0;
    if (o->max_groups > LARGEST_COUNT || o->when_groups_full > MAPDPM_GROUPS_REPLACE || o->with_base > 1)
        return 0;
    if (o->lag > LARGEST_LAG || (o->lag > 0 && (o->max_groups > 0 || o->window > 0)))
        return 0;
    if (o->queue > UINT16_MAX || (o->queue > 0 && o->warmup == 0))
        return 0;
    if (o->surprise > 1 || (o->surprise && (o->max_groups > 0 || o->lag > 0)))
        return 0;
    if (o->relevance > 1 || (o->relevance && (o->warmup == 0 || o->with_base)))
        return 0;
    if (o->resolution > STEPS_GIVEN || (o->resolution == STEPS_FOUND && o->warmup == 0))
        return 0;
    return (o->max_groups > 0 || o->with_base == 0) && is_compiled_for(o);
}

/* Set the head, which holds the layout. Returns 0 if sizes overflow. */
static int lay_out(mapdpm_stream *s, const mapdpm_options *o)
{
    uint64_t D, K, B, bytes;

    memset(s, 0, sizeof *s);
    s->family = (uint8_t)o->family;
    s->surprise = HAS_SURPRISE(o);
    s->queue = (uint16_t)MD_QUEUE(o);
    s->n_features = MD_FEATURES(o);
    s->max_clusters = MD_SLOTS(o);
    s->warmup = MD_WARMUP(o);
    s->window = MD_WINDOW(o);
    s->when_full = (uint16_t)WHEN_FULL(o);
    s->relevance = HAS_RELEVANCE(o);
    s->resolution = (uint8_t)(HAS_RESOLUTION(o) ? o->resolution : 0);
    s->missing = HAS_MISSING(o);
    s->max_groups = o->max_groups;
    s->with_base = HAS_BASE(o);
    s->lag = (uint16_t)o->lag;
    D = MD_FEATURES(s);
    K = MD_SLOTS(s);
    B = buffer_size(s);
    bytes = sizeof *s + 8 * (K + B);
    s->at_reals = (uint32_t)bytes;
    bytes += PRIOR_VECTORS * D * sizeof(md_real);
    s->at_slots = (uint32_t)bytes;
    bytes += (K * slot_size(s) + (HAS_BASE(s) ? moments_size(s) : 0)) * sizeof(md_real);
    s->at_columns = (uint32_t)bytes;
    bytes += (K * (2 + 2 * D) + B * D) * sizeof(md_real);
    s->at_words = (uint32_t)bytes;
    bytes += 4 * (WORDS_PER_SLOT * K + WORDS_PER_EVENT * (uint64_t)RING_SIZE(s) + MD_WARMUP(s) + MD_WINDOW(s));
    bytes = (bytes + 7) / 8 * 8;
    s->at_more = (uint32_t)bytes;
    if (HAS_GROUPS(s)) { /* group_reals in 64 bits */
        const uint64_t G = groups_of(s);

        bytes += 16 + (3 + K * (2 + (3 + COMPENSATED) * G)) * sizeof(md_real) + 4 * (2 * G + B);
    }
    if (HAS_STATES(s)) { /* time_reals in 64 bits, and the reals behind them */
        const uint64_t waiting = 3 * (uint64_t)s->lag;

        bytes += 32 + (4 + K * (13 + 6 * K) + half_size(s) + waiting * (K + D)) * sizeof(md_real) + 4 * waiting;
    }
    if (HAS_SURPRISE(s))
        bytes += (SURPRISE_REALS + K) * sizeof(md_real) + 4 * (K + SURPRISE_WORDS);
    bytes = (bytes + 7) / 8 * 8 + relevance_bytes(s) + resolution_bytes(s) +
            (MD_QUEUE(s) > 0 ? MAPDPM_QUEUE_BYTES(D, MD_QUEUE(s)) : 0);
    s->bytes = (uint32_t)bytes;
    return bytes <= UINT32_MAX && bytes <= SIZE_MAX;
}

size_t mapdpm_stream_bytes(const mapdpm_options *options)
{
    mapdpm_stream s;

    return is_sound(options) && lay_out(&s, options) ? s.bytes : 0;
}

/* 2^-round(log2(variance) / 2), so that the multiplication is exact. */
md_real stream_unit_for(md_real variance)
{
    md_real f;

    return math_power_of_2(-math_half(math_split(variance, &f)));
}

/* The density of a new cluster by the score table. Column 0 is only used on the way. */
void stream_prepare_opening(mapdpm_stream *s)
{
    const md_real constant = constants_of(s)[0];
    size_t d;

    prepare(s, empty_view(s), 0);
    s->opening = constants_of(s)[0] + s->log_alpha;
    for (d = 0; d < MD_FEATURES(s); d++)
        prior_scale(s)[d] = scales_of(s, d)[0];
    constants_of(s)[0] = constant; /* that of a free slot must stay */
}

/* Set the prior from the parameters of the family, in the user's units. All slots are empty. */
int stream_set_prior(mapdpm_stream *s, const md_real *parameters)
{
    const size_t D = MD_FEATURES(s);
    const int is_gamma = IS_GAMMA(s);
    const md_real *const variances = is_gamma ? parameters + D + 2 : parameters + 2 * D;
    const md_real least = LEAST_VARIANCE, most = MOST_VARIANCE;
    size_t d;

    if (is_gamma && !(is_within(parameters[D], MD_SMALL, MD_LARGE) && is_within(parameters[D + 1], MD_SMALL, MD_LARGE)))
        return MAPDPM_E_ARGUMENT;
    s->log_units = 0;
    for (d = 0; d < D; d++) {
        const md_real prior_variance = is_gamma ? 0 : parameters[D + d], m0 = parameters[d];

        if (!is_within(m0, -most, most) || !is_within(variances[d], least, most))
            return MAPDPM_E_ARGUMENT;
        if (!is_gamma && !is_within(prior_variance / variances[d], MD_SMALL, MD_LARGE))
            return MAPDPM_E_ARGUMENT;
        anchor_of(s)[d] = m0;
        unit_of(s)[d] = stream_unit_for(variances[d]);
        noise_scale_of(s)[d] = variances[d] * unit_of(s)[d] * unit_of(s)[d];
        prior_variance_of(s)[d] = prior_variance * unit_of(s)[d] * unit_of(s)[d];
        s->log_units += math_log(unit_of(s)[d]);
    }
    if (is_gamma) {
        s->c0 = parameters[D];
        s->a0 = parameters[D + 1];
        s->excess = math_excess(s->a0, &s->root);
    }
    stream_prepare_opening(s);
    stream_clear_slot(s, 0);
    return MAPDPM_OK;
}

/* Set everything except the prior: a learner without points. The memory is large enough. */
int stream_reset(mapdpm_stream *s, const mapdpm_options *o)
{
    size_t i;
    uint32_t k;

    if (!is_within(o->log_alpha, -LARGEST_REAL, LARGEST_REAL))
        return MAPDPM_E_ARGUMENT;
    if (!(is_within(o->alpha, MD_SMALL, MD_LARGE) ||
          (o->alpha == 0 && is_within(o->log_alpha, -LARGEST_REAL, math_log(MD_SMALL)))))
        return MAPDPM_E_ARGUMENT;
    if (!(o->half_life == 0 || is_within(o->half_life, MD_SMALL, MD_LARGE)))
        return MAPDPM_E_ARGUMENT;
    if ((HAS_GROUPS(o) || HAS_STATES(o)) && !(o->alpha > 0 && is_within(o->gamma, MD_SMALL, MD_LARGE)))
        return MAPDPM_E_ARGUMENT;
    if (HAS_STATES(o) && !is_within(o->kappa, 0, MD_LARGE))
        return MAPDPM_E_ARGUMENT;
    if (HAS_SURPRISE(o) && !(o->rare >= 0 && o->rare < 1))
        return MAPDPM_E_ARGUMENT;
    if (o->warmup > 0 && (o->family != MAPDPM_NORMAL_GAMMA || o->warmup < 2))
        return MAPDPM_E_ARGUMENT;
    memset(s, 0, mapdpm_stream_bytes(o));
    (void)lay_out(s, o);
    s->alpha = o->alpha;
    s->log_alpha = o->alpha > 0 ? math_log(o->alpha) : o->log_alpha;
    s->half_life = o->half_life;
    s->rate = o->half_life > 0 ? (md_real)0.69314718055994531 / o->half_life : 0;
    s->warming = o->warmup > 0;
    s->next_id = o->warmup;
    for (k = 0; k < MD_SLOTS(s); k++)
        stream_clear_slot(s, k);
    for (i = 0; i < MD_WINDOW(s); i++)
        window_ids_of(s)[i] = MD_NONE;
    if (HAS_SURPRISE(s))
        surprise_reset(s, o->rare);
    if (HAS_GROUPS(s))
        groups_reset(s, o);
    if (HAS_STATES(s))
        states_reset(s, o);
    return MAPDPM_OK;
}

int mapdpm_init(mapdpm_stream *s, size_t bytes, const mapdpm_options *o)
{
    const size_t needed = mapdpm_stream_bytes(o);
    int error;

    if (s == NULL || !is_aligned(s))
        return MAPDPM_E_ARGUMENT;
    if (bytes >= sizeof *s)
        s->bytes = 0; /* no learner, if this fails */
    if (needed == 0 || (o->warmup > 0) != (o->parameters == NULL))
        return MAPDPM_E_ARGUMENT;
    if (bytes < needed)
        return MAPDPM_E_SPACE;
    error = stream_reset(s, o);
    if (error == MAPDPM_OK && !IS_WARMING(s))
        error = stream_set_prior(s, o->parameters);
    if (error == MAPDPM_OK && HAS_RESOLUTION(s) && s->resolution == STEPS_GIVEN)
        error = resolution_set(s, o->steps);
    if (error != MAPDPM_OK)
        s->bytes = 0;
    return error;
}

int mapdpm_prior(md_real *parameters, uint32_t n_features, const md_real *centre, const md_real *spread)
{
    const size_t D = n_features;
    size_t d;

    if (parameters == NULL || centre == NULL || spread == NULL || D < 1)
        return MAPDPM_E_ARGUMENT;
    for (d = 0; d < D; d++) {
        const md_real variance = spread[d] * spread[d];

        if (!is_within(centre[d], -MOST_VARIANCE, MOST_VARIANCE) ||
            !(spread[d] > 0 && is_within(variance, LEAST_VARIANCE, MOST_VARIANCE)))
            return MAPDPM_E_ARGUMENT;
        parameters[d] = centre[d];
        parameters[D + 2 + d] = variance;
    }
    parameters[D] = PRIOR_POINTS;
    parameters[D + 1] = 1;
    return MAPDPM_OK;
}
