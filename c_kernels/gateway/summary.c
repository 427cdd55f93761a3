/* The clusters that a learner saw itself, as a message between a device and its gateway (docs/format.md, kind 5). */
#include "files/mapdpm_bytes.h"
#include "gateway/mapdpm_summary.h"

/* The points seen, then five numbers: places for clusters, policy, whether there are counts, places for groups, policy;
 * then four reals: concentrations and half-life.
 */
enum { NUMBERS = 8 + 4 * 5, CONCENTRATIONS = 4 };

/* ---- reals of either width --------------------------------------------------------------------------------------- */

static int is_width(uint32_t real_bytes) { return real_bytes == MD_REAL || (MD_REAL == 8 && real_bytes == 4); }

static unsigned char *put_real(unsigned char *p, md_real value, uint32_t width)
{
    if (MD_REAL == 8 && width == 4) {
        const float rounded = (float)value;

        copy_entries(p, &rounded, 1, 4);
    } else {
        copy_entries(p, &value, 1, MD_REAL);
    }
    return p + width;
}

static md_real real_at(const unsigned char *p, size_t i, uint32_t width)
{
    if (MD_REAL == 8 && width == 4) {
        float value;

        copy_entries(&value, p + 4 * i, 1, 4);
        return (md_real)value;
    }
    return get_real(p + MD_REAL * i);
}

/* A cluster is: weight, (in float what rounding lost of it,) tables, (counts[D],) mean[D], variance[D]. */
static uint32_t weights_in(uint32_t width) { return width == 4 ? 2 : 1; }
static uint32_t cluster_reals(uint32_t n_features, int has_counts, uint32_t width)
{
    return weights_in(width) + 1 + (has_counts ? 3 : 2) * n_features;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int is_written(const mapdpm_stream *s, uint32_t k)
{
    return is_used(s, k) && tables_seen(s, k, decay_of(s, k, s->now)) > 0;
}

static uint32_t n_written(const mapdpm_stream *s)
{
    uint32_t k, n = 0;

    for (k = 0; k < s->width; k++)
        n += (uint32_t)is_written(s, k);
    return n;
}

size_t mapdpm_summary_bytes(const mapdpm_stream *s, uint32_t real_bytes)
{
    uint64_t reals, bytes;

    if (is_none(s) || !is_width(real_bytes))
        return 0;
    reals = CONCENTRATIONS + mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s)) +
            (uint64_t)n_written(s) * cluster_reals(MD_FEATURES(s), HAS_MISSING(s), real_bytes);
    bytes = MD_HEADER + NUMBERS + real_bytes * reals + MD_CRC;
    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

static unsigned char *put_cluster(const mapdpm_stream *s, uint32_t k, uint32_t width, unsigned char *p)
{
    const md_real *const seen = seen_in(s, k), decay = decay_of(s, k, s->now), weight = *seen * decay;
    size_t d;

    p = put_real(p, weight, width);
    if (width == 4)
        p = put_real(p, MD_REAL == 4 ? low_part(seen, half_size(s)) * decay : weight - (md_real)(float)weight, width);
    p = put_real(p, tables_seen(s, k, decay), width);
    for (d = 0; HAS_MISSING(s) && d < MD_FEATURES(s); d++)
        p = put_real(p, counts_in(s, seen)[d] * decay, width);
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real m0 = stream_parameter(s, d), lost = width < MD_REAL ? m0 - (md_real)(float)m0 : 0;

        p = put_real(p, (mean_in(s, seen)[d] + low_part(mean_in(s, seen) + d, half_size(s))) / unit_of(s)[d] + lost,
                     width);
    }
    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real n = counts_in(s, seen)[d * count_step(s)];

        p = put_real(p, n > 0 ? squares_in(s, seen)[d] / n / unit_of(s)[d] / unit_of(s)[d] : 0, width);
    }
    return p;
}

int mapdpm_summary_write(const mapdpm_stream *s, uint32_t real_bytes, unsigned char *file, size_t capacity,
                         size_t *file_bytes)
{
    const size_t total = mapdpm_summary_bytes(s, real_bytes);
    const md_real least_alpha = real_bytes < MD_REAL ? (md_real)1e-9 : 0; /* below it, float has log alpha */
    uint32_t sizes[5], k;
    unsigned char *p;
    mapdpm_options o;
    size_t i;

    if (mapdpm_get_options(s, &o) != MAPDPM_OK || file == NULL || file_bytes == NULL || total == 0)
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    if (capacity < total)
        return MAPDPM_E_SPACE;
    sizes[0] = MD_FEATURES(s);
    sizes[1] = n_written(s);
    sizes[2] = (uint32_t)mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s));
    sizes[3] = cluster_reals(MD_FEATURES(s), HAS_MISSING(s), real_bytes);
    sizes[4] = 0;
    p = mapdpm_file_begin(file, MD_SUMMARY, (int32_t)s->family, sizes, total);
    file[7] = (unsigned char)real_bytes;
    p = put_bytes(p, s->n_seen, 8);
    p = put_bytes(p, o.max_clusters, 4);
    p = put_bytes(p, o.when_full, 4);
    p = put_bytes(p, o.missing, 4);
    p = put_bytes(p, o.max_groups, 4);
    p = put_bytes(p, o.when_groups_full, 4);
    p = put_real(p, o.alpha < least_alpha ? 0 : o.alpha, real_bytes);
    p = put_real(p, o.log_alpha, real_bytes);
    p = put_real(p, o.half_life, real_bytes);
    p = put_real(p, o.gamma, real_bytes);
    for (i = 0; i < sizes[2]; i++)
        p = put_real(p, stream_parameter(s, i), real_bytes);
    for (k = 0; k < s->width; k++)
        if (is_written(s, k))
            p = put_cluster(s, k, real_bytes, p);
    (void)put_bytes(p, mapdpm_crc32(0, file, total - MD_CRC), MD_CRC);
    *file_bytes = total;
    return MAPDPM_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Check all but the values of clusters. */
int summary_open(const unsigned char *file, size_t file_bytes, summary *f)
{
    const int error = mapdpm_file_check(file, file_bytes, MD_SUMMARY);
    uint64_t n_parameters, bytes;

    if (error != MAPDPM_OK && !(error == MAPDPM_E_REAL && MD_REAL == 8))
        return error;
    if (file_bytes < MD_HEADER + NUMBERS + MD_CRC || get32(file + MD_HEADER + 16) > 1)
        return MAPDPM_E_DAMAGED;
    f->width = file[7];
    f->n_features = get32(file + 12);
    f->n = get32(file + 16);
    f->has_counts = get32(file + MD_HEADER + 16) == 1;
    if (f->n_features < 1 || f->n_features > LARGEST_COUNT || f->n > LARGEST_COUNT ||
        f->n > get32(file + MD_HEADER + 8))
        return MAPDPM_E_DAMAGED;
    n_parameters = mapdpm_n_parameters((int32_t)get_bytes(file + 8, 2), f->n_features);
    f->reals = cluster_reals(f->n_features, f->has_counts, f->width);
    bytes = MD_HEADER + NUMBERS + f->width * (CONCENTRATIONS + n_parameters + (uint64_t)f->n * f->reals) +
            get32(file + 28) + MD_CRC;
    if (bytes != file_bytes || get32(file + 20) != n_parameters || get32(file + 24) != f->reals || n_parameters == 0)
        return MAPDPM_E_DAMAGED;
    f->parameters = file + MD_HEADER + NUMBERS + (size_t)f->width * CONCENTRATIONS;
    f->clusters = f->parameters + (size_t)n_parameters * f->width;
    return MAPDPM_OK;
}

int mapdpm_summary_options(const unsigned char *file, size_t file_bytes, mapdpm_options *o, md_real *parameters)
{
    summary f;
    size_t i;
    int error;

    if (file == NULL || o == NULL)
        return MAPDPM_E_ARGUMENT;
    error = summary_open(file, file_bytes, &f);
    if (error != MAPDPM_OK)
        return error;
    memset(o, 0, sizeof *o);
    o->family = (int32_t)get_bytes(file + 8, 2);
    o->n_features = f.n_features;
    o->max_clusters = get32(file + MD_HEADER + 8);
    o->when_full = get32(file + MD_HEADER + 12);
    o->missing = (uint32_t)f.has_counts;
    o->max_groups = get32(file + MD_HEADER + 20);
    o->when_groups_full = get32(file + MD_HEADER + 24);
    o->alpha = real_at(file + MD_HEADER + NUMBERS, 0, f.width);
    o->log_alpha = real_at(file + MD_HEADER + NUMBERS, 1, f.width);
    o->half_life = real_at(file + MD_HEADER + NUMBERS, 2, f.width);
    o->gamma = real_at(file + MD_HEADER + NUMBERS, 3, f.width);
    for (i = 0; parameters && i < mapdpm_n_parameters(o->family, f.n_features); i++)
        parameters[i] = real_at(f.parameters, i, f.width);
    return MAPDPM_OK;
}

/* One feature of a cluster in a summary, in the coordinates of a learner. */
typedef struct {
    md_real count;
    md_real mean;
    md_real squares;
} feature;

static const unsigned char *cluster_at(const summary *f, uint32_t i)
{
    return f->clusters + (size_t)i * f->reals * f->width;
}

static feature feature_of(const mapdpm_stream *s, const summary *f, uint32_t i, size_t d)
{
    const unsigned char *const p = cluster_at(f, i);
    const size_t D = MD_FEATURES(s), at = weights_in(f->width) + 1, mean = at + (f->has_counts ? D : 0);
    const md_real unit = unit_of(s)[d];
    feature x;

    x.count = f->has_counts ? real_at(p, at + d, f->width) : real_at(p, 0, f->width);
    x.mean = ((real_at(f->parameters, d, f->width) - anchor_of(s)[d]) + real_at(p, mean + d, f->width)) * unit;
    x.squares = real_at(p, mean + D + d, f->width) * unit * unit * x.count;
    return x;
}

md_real summary_tables(const summary *f, uint32_t i)
{
    return real_at(cluster_at(f, i), weights_in(f->width), f->width);
}

/* Whether a learner can take all clusters of a summary, or the error. */
int summary_check(const mapdpm_stream *s, const summary *f)
{
    uint64_t seen = s->n_seen;
    uint32_t i;
    size_t d;

    if (f->n_features != MD_FEATURES(s) || (f->has_counts && !HAS_MISSING(s)))
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < f->n; i++) {
        const unsigned char *const p = cluster_at(f, i);
        const md_real weight = real_at(p, 0, f->width), tables = summary_tables(f, i);
        const md_real low = f->width == 4 ? real_at(p, 1, f->width) : 0;

        if (!(weight > 0 && weight <= MOST_WEIGHT && tables > 0 && tables <= MOST_WEIGHT && low >= -MD_HALF * weight &&
              low <= MD_HALF * weight))
            return MAPDPM_E_DAMAGED;
        if (!weight_fits(seen, weight))
            return MAPDPM_E_RANGE;
        seen += to_uint64(weight + MD_HALF);
        for (d = 0; d < MD_FEATURES(s); d++) {
            const feature x = feature_of(s, f, i, d);

            if (!(x.count >= 0 && x.count <= MOST_WEIGHT))
                return MAPDPM_E_DAMAGED;
            if (!(x.mean >= -COORDINATE_LIMIT && x.mean <= COORDINATE_LIMIT && x.squares >= 0 &&
                  x.squares <= MOST_SPREAD * x.count))
                return MAPDPM_E_RANGE;
        }
    }
    return f->n < MD_NONE - s->next_id ? MAPDPM_OK : MAPDPM_E_IDS;
}

/* Read cluster i into moments, which were cleared. Returns its tables. */
md_real summary_read(const mapdpm_stream *s, const summary *f, uint32_t i, md_real *moments)
{
    const unsigned char *const p = cluster_at(f, i);
    md_real tables;
    size_t d;

    *moments = real_at(p, 0, f->width);
    if (f->width == 4)
        add_compensated(moments, half_size(s), real_at(p, 1, f->width));
    for (d = 0; d < MD_FEATURES(s); d++) {
        const feature x = feature_of(s, f, i, d);

        if (HAS_MISSING(s))
            counts_in(s, moments)[d] = x.count;
        mean_in(s, moments)[d] = x.mean;
        squares_in(s, moments)[d] = x.squares;
    }
    tables = at_least(summary_tables(f, i), LEAST_TABLES);
    return tables < *moments ? tables : *moments;
}
