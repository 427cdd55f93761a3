/* The container of models (docs/format.md), the twin of mapdpm/files/container.py. No double in a float build. */
#include "files/mapdpm_bytes.h"
#include "arithmetic/mapdpm_math.h"

/* The largest array of a model, so that sizes cannot overflow 64 bits. */
#define LARGEST_ARRAY (UINT32_C(1) << 28)

static uint64_t n_reals(size_t n_parameters, uint64_t n_features, uint64_t n_clusters)
{
    return 2 + n_features + n_parameters + n_clusters * (1 + 2 * n_features);
}

static int is_shape(int32_t family, uint32_t n_features, uint32_t n_clusters)
{
    return mapdpm_n_parameters(family, 1) > 0 && n_features >= 1 && n_clusters >= 1 && n_features <= LARGEST_ARRAY &&
           n_clusters <= LARGEST_ARRAY;
}

static size_t fitting(uint64_t bytes)
{
    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

size_t mapdpm_model_bytes(int32_t family, uint32_t n_features, uint32_t n_clusters)
{
    if (!is_shape(family, n_features, n_clusters))
        return 0;
    return fitting(8 * (uint64_t)n_clusters +
                   MD_REAL * n_reals(mapdpm_n_parameters(family, n_features), n_features, n_clusters));
}

size_t mapdpm_model_file_bytes(int32_t family, uint32_t n_features, uint32_t n_clusters)
{
    const size_t body = mapdpm_model_bytes(family, n_features, n_clusters);

    return body == 0 ? 0 : fitting((uint64_t)body + MD_HEADER + MD_CRC);
}

uint64_t total_in(const unsigned char *header) { return get_bytes(header + 32, 8); }

int mapdpm_file_check(const unsigned char *file, size_t file_bytes, int kind)
{
    if (file_bytes < 4 || get32(file) != MD_MAGIC)
        return MAPDPM_E_FOREIGN;
    if (file_bytes < MD_HEADER + MD_CRC)
        return MAPDPM_E_TRUNCATED;
    if (mapdpm_crc32(0, file, file_bytes - MD_CRC) != get32(file + file_bytes - MD_CRC))
        return total_in(file) > file_bytes ? MAPDPM_E_TRUNCATED : MAPDPM_E_DAMAGED;
    return mapdpm_header_check(file, file_bytes, kind);
}

/* The kinds of files, as bits. */
enum {
    KINDS = 1 << MD_BATCH | 1 << MD_STREAM | 1 << STREAM_OF_GROUPS | 1 << MD_SUMMARY | 1 << STREAM_OF_STATES | 1 << TRANSFORMERS
};

/* The flags that a kind may have. */
static uint32_t flags_of(unsigned kind)
{
    if (kind == MD_STREAM)
        return WITH_SURPRISE | WITH_QUEUE | WITH_RELEVANCE | WITH_RESOLUTION;
    return kind == STREAM_OF_GROUPS || kind == STREAM_OF_STATES ? WITH_QUEUE | WITH_RELEVANCE | WITH_RESOLUTION : 0;
}

int mapdpm_header_check(const unsigned char *file, uint64_t file_bytes, int kind)
{
    const uint32_t version = (uint32_t)get_bytes(file + 4, 2), flags = (uint32_t)get_bytes(file + MD_FLAGS, 2);
    const uint64_t total = total_in(file);

    if (version > MAPDPM_FORMAT)
        return MAPDPM_E_NEWER;
    if (version != MAPDPM_FORMAT || file[6] > TRANSFORMERS || (KINDS >> file[6] & 1) == 0 || (file[7] != 4 && file[7] != 8) ||
        total != file_bytes || (flags & ~flags_of(file[6])) != 0)
        return MAPDPM_E_DAMAGED;
    if (file[6] != kind)
        return MAPDPM_E_KIND;
    return file[7] == MD_REAL ? MAPDPM_OK : MAPDPM_E_REAL;
}

unsigned char *mapdpm_file_begin(unsigned char *file, int kind, int32_t family, const uint32_t *sizes, uint64_t total)
{
    unsigned char *p = file;
    int i;

    p = put_bytes(p, MD_MAGIC, 4);
    p = put_bytes(p, MAPDPM_FORMAT, 2);
    p = put_bytes(p, (uint64_t)kind, 1);
    p = put_bytes(p, MD_REAL, 1);
    p = put_bytes(p, (uint64_t)family, 2);
    p = put_bytes(p, 0, 2);
    for (i = 0; i < 5; i++)
        p = put_bytes(p, sizes[i], 4);
    return put_bytes(p, total, 8);
}

int mapdpm_model_shape(const unsigned char *file, size_t file_bytes, mapdpm_model *shape)
{
    uint32_t family, n_features, n_clusters, n_extras;
    uint64_t body;
    int error;

    if (file == NULL || shape == NULL)
        return MAPDPM_E_ARGUMENT;
    error = mapdpm_file_check(file, file_bytes, MD_BATCH);
    if (error != MAPDPM_OK)
        return error;
    family = (uint32_t)get_bytes(file + 8, 2);
    n_features = get32(file + 12);
    n_clusters = get32(file + 16);
    n_extras = get32(file + 28);
    if (!is_shape((int32_t)family, n_features, n_clusters))
        return MAPDPM_E_DAMAGED;
    if (get32(file + 20) != mapdpm_n_parameters((int32_t)family, n_features) || get32(file + 24) != 1 + 2 * n_features)
        return MAPDPM_E_DAMAGED;
    body = mapdpm_model_bytes((int32_t)family, n_features, n_clusters);
    if (body == 0 || file_bytes != MD_HEADER + body + n_extras + MD_CRC)
        return MAPDPM_E_DAMAGED;
    shape->family = (int32_t)family;
    shape->n_features = n_features;
    shape->n_clusters = n_clusters;
    return MAPDPM_OK;
}

/* Whether the parameters of a family are finite, and positive from index `first` on. */
static int are_parameters(const mapdpm_real *parameters, size_t n, size_t first)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (!math_is_finite(parameters[i]) || (i >= first && !(parameters[i] > 0)))
            return 0;
    return 1;
}

static int is_model(const mapdpm_model *model)
{
    const size_t D = model->n_features, n_parameters = mapdpm_n_parameters(model->family, model->n_features);
    size_t d, k;

    if (!math_is_finite(model->alpha) || !(model->discount >= 0 && model->discount < 1))
        return 0;
    if (!(model->alpha > -model->discount) || !are_parameters(model->anchor, D, D))
        return 0;
    if (!are_parameters(model->parameters, n_parameters, D))
        return 0;
    for (k = 0; k < model->n_clusters; k++) {
        const mapdpm_real *const statistics = model->statistics + k * (1 + 2 * D);
        const mapdpm_real *const mean = statistics + 1, *const squares = mean + D;

        if (model->counts[k] < 1 || model->counts[k] > INT64_MAX || !(statistics[0] > 0) ||
            !math_is_finite(statistics[0]))
            return 0;
        for (d = 0; d < D; d++)
            if (!math_is_finite(mean[d]) || !math_is_finite(squares[d]) || !(squares[d] >= 0))
                return 0;
    }
    return 1;
}

/* Divide the memory among the arrays of a model of known shape. The counts come first, for their alignment. */
static void lay_out_model(mapdpm_model *model, void *memory)
{
    const size_t D = model->n_features;

    model->counts = (uint64_t *)memory;
    model->anchor = (mapdpm_real *)(void *)(model->counts + model->n_clusters);
    model->parameters = model->anchor + D;
    model->statistics = model->parameters + mapdpm_n_parameters(model->family, model->n_features);
}

int mapdpm_model_read(const unsigned char *file, size_t file_bytes, void *memory, size_t memory_bytes,
                      mapdpm_model *model)
{
    const int error = mapdpm_model_shape(file, file_bytes, model);
    const unsigned char *p;
    size_t i, n_before, n_statistics;

    if (error != MAPDPM_OK)
        return error;
    if (memory == NULL || !is_aligned(memory))
        return MAPDPM_E_ARGUMENT;
    if (memory_bytes < mapdpm_model_bytes(model->family, model->n_features, model->n_clusters))
        return MAPDPM_E_SPACE;
    lay_out_model(model, memory);
    p = file + MD_HEADER;
    model->alpha = get_real(p);
    model->discount = get_real(p + MD_REAL);
    p += 2 * MD_REAL;
    n_before = model->n_features + mapdpm_n_parameters(model->family, model->n_features);
    for (i = 0; i < n_before; i++, p += MD_REAL)
        model->anchor[i] = get_real(p);
    for (i = 0; i < model->n_clusters; i++, p += 8)
        model->counts[i] = get_bytes(p, 8);
    n_statistics = (size_t)model->n_clusters * (1 + 2 * (size_t)model->n_features);
    for (i = 0; i < n_statistics; i++, p += MD_REAL)
        model->statistics[i] = get_real(p);
    return is_model(model) ? MAPDPM_OK : MAPDPM_E_DAMAGED;
}

int mapdpm_model_write(const mapdpm_model *model, unsigned char *file, size_t capacity, size_t *file_bytes)
{
    unsigned char *p;
    size_t total, n_parameters, n_statistics, k;
    uint32_t sizes[5];

    if (model == NULL || file == NULL || file_bytes == NULL || model->anchor == NULL || model->parameters == NULL ||
        model->statistics == NULL || model->counts == NULL)
        return MAPDPM_E_ARGUMENT;
    total = mapdpm_model_file_bytes(model->family, model->n_features, model->n_clusters);
    if (total == 0 || !is_model(model))
        return MAPDPM_E_ARGUMENT;
    if (capacity < total)
        return MAPDPM_E_SPACE;
    n_parameters = mapdpm_n_parameters(model->family, model->n_features);
    n_statistics = 1 + 2 * (size_t)model->n_features;
    sizes[0] = model->n_features;
    sizes[1] = model->n_clusters;
    sizes[2] = (uint32_t)n_parameters;
    sizes[3] = (uint32_t)n_statistics;
    sizes[4] = 0;
    p = mapdpm_file_begin(file, MD_BATCH, model->family, sizes, total);
    p = put_reals(p, &model->alpha, 1);
    p = put_reals(p, &model->discount, 1);
    p = put_reals(p, model->anchor, model->n_features);
    p = put_reals(p, model->parameters, n_parameters);
    for (k = 0; k < model->n_clusters; k++)
        p = put_bytes(p, model->counts[k], 8);
    p = put_reals(p, model->statistics, model->n_clusters * n_statistics);
    (void)put_bytes(p, mapdpm_crc32(0, file, total - MD_CRC), MD_CRC);
    *file_bytes = total;
    return MAPDPM_OK;
}
