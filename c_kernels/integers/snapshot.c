/* Snapshots of the learner in whole numbers: kind 13 of docs/format.md. One walk over all fields writes and reads them. */
#include "integers/mapdpm_int_layout.h"

enum { HEADER = 40, CRC = 4, KIND = 13, REAL = 2, FAMILY = 1 };

#define MAGIC UINT32_C(0x4d50444d) /* MDPM */
#define MOST_CONSTANT (INT32_C(1) << 28)

static unsigned char *put(unsigned char *p, uint64_t value, int n)
{
    for (; n > 0; n--, value >>= 8)
        *p++ = (unsigned char)(value & 255u);
    return p;
}

static uint64_t get(const unsigned char *p, int n)
{
    uint64_t value = 0;

    while (n-- > 0)
        value = value << 8 | p[n];
    return value;
}

/* A place in a file that is read, or written. */
typedef struct {
    unsigned char *to;
    const unsigned char *from;
} cursor;

/* n entries of a size, lowest byte first in the file. */
static void pass(cursor *c, void *at, size_t n, size_t size)
{
    const uint16_t one = 1;
    const size_t swap = *(const unsigned char *)&one == 1 ? 0 : size - 1;
    unsigned char *const bytes = (unsigned char *)at;
    size_t i;

    for (i = 0; i < n * size; i++)
        if (c->to)
            c->to[i] = bytes[i ^ swap];
        else
            bytes[i ^ swap] = c->from[i];
    if (c->to)
        c->to += n * size;
    else
        c->from += n * size;
}

/* All fields behind the header that other fields do not tell. */
static void walk(mapdpm_stream *s, cursor *c)
{
    const size_t D = INT_FEATURES(s);
    uint32_t k;

    pass(c, &s->n_seen, 1, 8);
    pass(c, &s->n_events, 1, 8);
    pass(c, &s->next_id, 1, 4);
    pass(c, &s->half_life, 1, 4);
    pass(c, &s->phase, 1, 4);
    pass(c, &s->alpha, 1, 4);
    pass(c, &s->c0, 1, 4);
    pass(c, &s->twice_a0, 1, 4);
    pass(c, &s->turn, 1, 1);
    pass(c, int_centre(s), D, 2);
    pass(c, int_twice_b0(s), D, 8);
    for (k = 0; k < INT_SLOTS(s); k++) {
        pass(c, int_squares(s, k, WHOLE), PARTS * D, 8);
        pass(c, int_loss(s, k), 1, 8);
        pass(c, int_means(s, k, WHOLE), PARTS * D, 4);
        pass(c, int_slot_of(s, k), sizeof(int_slot) / 4, 4);
        pass(c, int_rests(s, k), D, 2);
        pass(c, int_partner(s, k), 1, 1);
    }
    for (k = 0; k <= INT_SLOTS(s); k++) {
        const int_row row = int_row_at(s, int_constant(s, k));

        pass(c, int_constant(s, k), 1 + D, 4);
        pass(c, (void *)(uintptr_t)row.exponent, 1 + D, 2);
        pass(c, (void *)(uintptr_t)row.scale, 1 + D, 1);
    }
    pass(c, int_events(s), (size_t)(4 * MAPDPM_EVENTS(INT_SLOTS(s))), 4);
}

size_t mapdpm_snapshot_bytes(const mapdpm_stream *s)
{
    return s == NULL || s->bytes == 0 ? 0 : MAPDPM_SNAPSHOT_BYTES(INT_FEATURES(s), INT_SLOTS(s));
}

int mapdpm_snapshot_write(const mapdpm_stream *s, unsigned char *file, size_t capacity, size_t *file_bytes)
{
    const size_t total = mapdpm_snapshot_bytes(s);
    cursor c;
    uint32_t D;

    if (total == 0 || file == NULL || file_bytes == NULL)
        return MAPDPM_E_ARGUMENT;
    *file_bytes = total;
    if (capacity < total)
        return MAPDPM_E_SPACE;
    D = INT_FEATURES(s);
    c.to = put(put(put(put(file, MAGIC, 4), MAPDPM_FORMAT, 2), KIND, 1), REAL, 1);
    c.to = put(put(put(put(c.to, FAMILY, 2), INT_WHEN_FULL(s), 2), D, 4), INT_SLOTS(s), 4);
    c.to = put(put(put(put(c.to, 2 * D + 2, 4), 1 + 2 * D, 4), 0, 4), total, 8);
    walk((mapdpm_stream *)(uintptr_t)s, &c);
    (void)put(c.to, mapdpm_crc32(0, file, total - CRC), CRC);
    return MAPDPM_OK;
}

int mapdpm_snapshot_options(const unsigned char *file, size_t n, mapdpm_options *options)
{
    if (file == NULL || options == NULL)
        return MAPDPM_E_ARGUMENT;
    if (n < 4 || get(file, 4) != MAGIC)
        return MAPDPM_E_FOREIGN;
    if (n < HEADER + CRC || get(file + 32, 8) > n)
        return MAPDPM_E_TRUNCATED;
    if (get(file + 32, 8) != n || mapdpm_crc32(0, file, n - CRC) != get(file + n - CRC, CRC))
        return MAPDPM_E_DAMAGED;
    if (get(file + 4, 2) > MAPDPM_FORMAT)
        return MAPDPM_E_NEWER;
    if (file[6] != KIND)
        return file[7] == REAL ? MAPDPM_E_KIND : MAPDPM_E_REAL;
    memset(options, 0, sizeof *options);
    options->n_features = (uint32_t)get(file + 12, 4);
    options->max_clusters = (uint32_t)get(file + 16, 4);
    options->when_full = (uint32_t)get(file + 10, 2);
    if (get(file + 4, 2) != MAPDPM_FORMAT || file[7] != REAL || get(file + 8, 2) != FAMILY ||
        options->n_features < 1 || options->n_features > INT_MOST_FEATURES || options->max_clusters < 1 ||
        options->max_clusters > INT_MOST_CLUSTERS || get(file + 20, 4) != 2 * options->n_features + 2 ||
        get(file + 24, 4) != 1 + 2 * options->n_features ||
        n != MAPDPM_SNAPSHOT_BYTES(options->n_features, options->max_clusters) + get(file + 28, 4)) /* Python's additions */
        return MAPDPM_E_DAMAGED;
    options->half_life = (uint32_t)get(file + HEADER + 20, 4);
    options->alpha = (uint32_t)get(file + HEADER + 28, 4);
    options->c0 = (uint32_t)get(file + HEADER + 32, 4);
    options->twice_a0 = (uint32_t)get(file + HEADER + 36, 4);
    return mapdpm_stream_bytes(options) > 0 ? MAPDPM_OK : MAPDPM_E_DAMAGED;
}

/* Whether a mean lies where values can, and squares are not more than their weight allows. */
static int are_moments(const mapdpm_stream *s, uint32_t k, uint32_t part)
{
    const int_moments m = int_moments_of(s, k, part);
    uint32_t d;

    for (d = 0; d < INT_FEATURES(s); d++) {
        const int32_t least = int_place(-INT32_C(32768) - int_centre(s)[d]), most = int_place(INT32_C(32767) - int_centre(s)[d]);

        if (m.squares[d] > (uint64_t)*m.weight << 31 || (*m.weight > 0 && (m.means[d] < least - 1 || m.means[d] > most + 1)))
            return 0;
    }
    return 1;
}

static int is_slot(const mapdpm_stream *s, uint32_t k)
{
    const int_slot *const slot = int_slot_of(s, k);
    uint32_t j;

    if (*int_partner(s, k) >= INT_SLOTS(s) && *int_partner(s, k) != INT_NONE)
        return 0;
    if (slot->weights[WHOLE] == 0)
        return 1;
    if (slot->id >= s->next_id || slot->weights[1] > slot->weights[WHOLE] ||
        slot->weights[2] > slot->weights[WHOLE] - slot->weights[1])
        return 0;
    for (j = 0; j < k; j++)
        if (int_is_used(s, j) && int_slot_of(s, j)->id == slot->id)
            return 0;
    return are_moments(s, k, WHOLE) && are_moments(s, k, 1) && are_moments(s, k, 2);
}

static int is_row(const mapdpm_stream *s, uint32_t k)
{
    const int32_t *const row = int_constant(s, k);
    uint32_t d;

    if (row[0] > MOST_CONSTANT || row[0] < -MOST_CONSTANT)
        return 0;
    for (d = 1; d <= INT_FEATURES(s); d++)
        if (row[d] > int_place(65536) || row[d] < -int_place(65536))
            return 0;
    return 1;
}

static int is_sound(const mapdpm_stream *s)
{
    uint64_t total = 0;
    uint32_t k;

    if (s->turn >= INT_SLOTS(s) || (!INT_FORGETS(s) && s->phase > 0))
        return 0;
    for (k = 0; k < INT_SLOTS(s); k++) {
        total += *int_weight(s, k, WHOLE);
        if (!is_slot(s, k) || !is_row(s, k))
            return 0;
    }
    return is_row(s, INT_SLOTS(s)) && total <= INT_LARGEST_WEIGHT + INT_POINT;
}

int mapdpm_snapshot_read(mapdpm_stream *s, size_t bytes, const unsigned char *file, size_t n)
{
    mapdpm_options o;
    cursor c = {NULL, NULL};
    uint32_t k;
    int error = mapdpm_snapshot_options(file, n, &o);

    if (s == NULL)
        return MAPDPM_E_ARGUMENT;
    if (error != MAPDPM_OK)
        return error;
    if (bytes < mapdpm_stream_bytes(&o))
        return MAPDPM_E_SPACE;
    memset(s, 0, mapdpm_stream_bytes(&o));
    int_begin(s, &o);
    c.from = file + HEADER;
    walk(s, &c);
    if (!int_is_prior(s) || !is_sound(s))
        return MAPDPM_E_DAMAGED;
    s->at_event = (uint32_t)(s->n_events % (uint64_t)MAPDPM_EVENTS(INT_SLOTS(s)));
    for (k = 0; k < INT_SLOTS(s); k++)
        s->n_clusters = (uint8_t)(s->n_clusters + int_is_used(s, k));
    s->bytes = (uint32_t)mapdpm_stream_bytes(&o);
    return MAPDPM_OK;
}
