/* The prior that the warm-up set is revisited: b0 follows the variance within the learner's own clusters, and c0 the
 * spread of their means, where that raises the log joint (docs/maths.md, section 31). One call takes O(K D) steps.
 */
#include "stream/mapdpm_steps.h"

/* The cells of K clusters and D features that the first c0 counts for, and the least c0 as a share of it. */
#define PRIOR_CELLS ((md_real)2)
#define LEAST_C0 ((md_real)0.2)

/* The prior changes if the log joint gains so many nats for each number that was learned: less is not worth another
 * clustering. */
#define LEAST_GAIN ((md_real)0.1)

static void add_within(const mapdpm_stream *s, feature_spread *f, const md_real *moments, md_real decay, size_t d)
{
    f->within += squares_in(s, moments)[d] * decay;
    f->degrees += at_least(counts_in(s, moments)[d * count_step(s)] * decay - 1, 0);
}

feature_spread stream_spread(const mapdpm_stream *s, size_t d, int source)
{
    feature_spread f = {0, 0, 0, 0};
    md_real sum = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            const md_real decay = decay_of(s, k, s->now), n = counts_in(s, slot_of(s, k))[d * count_step(s)] * decay;

            f.points += n;
            sum += n * mean_in(s, slot_of(s, k))[d];
        }
    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            const md_real *const slot = slot_of(s, k), *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1);
            const md_real decay = decay_of(s, k, s->now), away = mean_in(s, slot)[d] - sum / f.points;

            f.total += (squares_in(s, slot)[d] + counts_in(s, slot)[d * count_step(s)] * away * away) * decay;
            if (source == FROM_HALVES && *h0 >= LEAST_HALF && *h1 >= LEAST_HALF) {
                add_within(s, &f, h0, decay, d);
                add_within(s, &f, h1, decay, d);
            } else {
                add_within(s, &f, slot, decay, d);
            }
        }
    return f;
}

/* The numbers in all clusters. */
static md_real numbers_in(const mapdpm_stream *s)
{
    md_real sum = 0;
    uint32_t k;
    size_t d;

    for (k = 0; k < s->width; k++)
        for (d = 0; is_used(s, k) && d < MD_FEATURES(s); d++)
            if (is_relevant(s, d))
                sum += counts_in(s, slot_of(s, k))[d * count_step(s)] * decay_of(s, k, s->now);
    return sum;
}

/* c0 from the squared means of clusters, in units of the variance within: at most that of the warm-up, for a cluster
 * far from the prior mean must not be taken for a wide one. */
static md_real c0_of_means(const mapdpm_stream *s, md_real most)
{
    md_real sum = PRIOR_CELLS / most, cells = PRIOR_CELLS;
    uint32_t k;
    size_t d;

    for (k = 0; k < s->width; k++)
        for (d = 0; is_used(s, k) && d < MD_FEATURES(s); d++)
            if (is_relevant(s, d) && counts_in(s, slot_of(s, k))[d * count_step(s)] > 0) {
                const md_real mean = mean_in(s, slot_of(s, k))[d];

                sum += mean * (mean / noise_scale_of(s)[d]) * s->a0;
                cells += 1;
            }
    return cells / sum < most ? at_least(cells / sum, most * LEAST_C0) : most;
}

/* What depends on the parameters, but no moments. */
static void set_c0(mapdpm_stream *s, md_real c0)
{
    s->c0 = c0;
    stream_prepare_opening(s);
}

/* The log joint but for terms that do not depend on the prior. With halves, as if clusters were split where that
 * gains. */
static md_real joint_of(mapdpm_stream *s, int source)
{
    const md_real prior_term = log_prior(s);
    md_real joint = 0, unused;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            joint += log_joint_term(s, view_of(s, k, s->now), prior_term, &unused);
            if (source == FROM_HALVES)
                joint += at_least(stream_gain_of_split(s, k), 0);
        }
    return joint;
}

/* Set b0 and c0 for a source, and return the log joint. The b0 before remains in `kept`. */
static md_real try_source(mapdpm_stream *s, int source, const md_real *kept, md_real most_c0)
{
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const feature_spread f = stream_spread(s, d, source);
        const md_real unit = unit_of(s)[d], bound = LEAST_VARIANCE * unit * unit / s->a0; /* what a reader takes */
        const md_real least = at_least(LEAST_SHARE * f.total / f.points, bound);
        md_real *const b0 = noise_scale_of(s) + d;

        *b0 = kept[d];
        if (f.degrees > 0 && f.total > 0 && s->a0 * at_least(f.within / f.degrees, least) < kept[d])
            *b0 = s->a0 * at_least(f.within / f.degrees, least);
    }
    set_c0(s, c0_of_means(s, most_c0));
    return joint_of(s, source);
}

/* Give moments the unit of the new prior: a power of 2, so that no digit is lost. */
static void change_units(mapdpm_stream *s, md_real *moments, size_t d, md_real ratio)
{
    mean_in(s, moments)[d] *= ratio;
    squares_in(s, moments)[d] *= ratio * ratio;
}

/* Take b0 and c0 as they are now for the prior. Scores of slots are to be computed anew afterwards. */
void stream_adopt_prior(mapdpm_stream *s)
{
    uint32_t k;
    size_t d, i;

    s->log_units = 0;
    for (d = 0; d < MD_FEATURES(s); d++) {
        md_real *const unit = unit_of(s) + d, *const b0 = noise_scale_of(s) + d;
        const md_real ratio = stream_unit_for(*b0 / *unit / *unit) / *unit;

        *unit *= ratio;
        *b0 *= ratio * ratio;
        s->log_units += math_log(*unit);
        for (i = 0; HAS_RELEVANCE(s) && i <= (COMPENSATED ? half_size(s) : 0); i += half_size(s))
            change_units(s, background_of(s) + i, d, ratio);
        for (k = 0; k < MD_SLOTS(s); k++) {
            for (i = 0; i <= (COMPENSATED ? half_size(s) : 0); i += half_size(s))
                change_units(s, slot_of(s, k) + i, d, ratio);
            change_units(s, half_of(s, k, 0), d, ratio);
            change_units(s, half_of(s, k, 1), d, ratio);
        }
    }
    set_c0(s, s->c0);
    for (k = 0; k < s->width; k++)
        merge_partner_of(s)[k] = MD_NONE;
    stream_record(s, MAPDPM_PRIOR, 0, 0);
}

void stream_revisit_prior(mapdpm_stream *s)
{
    md_real *const kept = prior_variance_of(s); /* 0 in this family */
    const md_real c0 = s->c0, most_c0 = EMPIRICAL_POINTS / (md_real)MD_WARMUP(s);
    const size_t bytes = MD_FEATURES(s) * sizeof(md_real);
    md_real joint, best;
    int source = FROM_CLUSTERS;
    uint32_t k;

    memcpy(kept, noise_scale_of(s), bytes);
    joint = joint_of(s, FROM_CLUSTERS);
    best = try_source(s, FROM_CLUSTERS, kept, most_c0);
    if (try_source(s, FROM_HALVES, kept, most_c0) > best + HYSTERESIS) {
        source = FROM_HALVES;
        best = joint_of(s, FROM_HALVES);
    }
    if (best > joint + at_least(HYSTERESIS, LEAST_GAIN * numbers_in(s))) {
        (void)try_source(s, source, kept, most_c0);
        stream_adopt_prior(s);
    } else {
        memcpy(noise_scale_of(s), kept, bytes);
        set_c0(s, c0);
    }
    memset(kept, 0, bytes);
    for (k = 0; k < s->width; k++)
        if (is_used(s, k))
            stream_refresh(s, k);
}
