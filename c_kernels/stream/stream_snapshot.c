/* A stream learner to a file and back, bit for bit, at once or in pieces (docs/format.md, kinds 2, 4 and 7). */
#include "files/mapdpm_cursor.h"
#include "stream/mapdpm_steps.h"

/* A field of a structure: where it is, and its bytes. */
typedef struct {
    uint16_t at;
    uint16_t size;
} field;
#define OPTION(name, size) {(uint16_t)offsetof(mapdpm_options, name), size}
#define COUNTER(name, size) {(uint16_t)offsetof(mapdpm_stream, name), size}

/* The options. They come first, because they determine how much memory the rest needs. */
static const field options[] = {OPTION(warmup, 4),      OPTION(window, 4),         OPTION(when_full, 4),     OPTION(missing, 4),
                                OPTION(alpha, MD_REAL), OPTION(log_alpha, MD_REAL), OPTION(half_life, MD_REAL)};
static const field options_of_states[] = {OPTION(lag, 4), OPTION(gamma, MD_REAL), OPTION(kappa, MD_REAL)};
static const field options_of_groups[] = {OPTION(max_groups, 4), OPTION(when_groups_full, 4), OPTION(with_base, 4),
                                          OPTION(gamma, MD_REAL)};
/* Everything except the options, the parameters and the arrays. */
static const field counters[] = {COUNTER(n_seen, 8), COUNTER(n_events, 8),   COUNTER(now, 8),   COUNTER(next_id, 4), COUNTER(turn, 4),
                                 COUNTER(n_clusters, 4), COUNTER(clock, 4), COUNTER(warming, 4), COUNTER(visited, 4)};

/* Writing and reading share one description: this, and transfer_arrays. */
static void transfer_fields(cursor *c, void *structure, const field *fields, size_t n)
{
    for (; n > 0; n--, fields++)
        transfer(c, (unsigned char *)structure + fields->at, 1, fields->size);
}
#define TRANSFER_ALL(c, structure, fields) transfer_fields(c, structure, fields, sizeof(fields) / sizeof(fields)[0])

static void transfer_options(cursor *c, mapdpm_options *o)
{
    TRANSFER_ALL(c, o, options);
    if (HAS_SURPRISE(o))
        transfer(c, &o->rare, 1, MD_REAL);
    if (MD_QUEUE(o) > 0)
        transfer(c, &o->queue, 1, 4);
    if (HAS_STATES(o))
        TRANSFER_ALL(c, o, options_of_states);
    if (HAS_GROUPS(o))
        TRANSFER_ALL(c, o, options_of_groups);
}

/* Entries of clusters. While a warm-up is settled there are clusters on trial: a file has zeros in their place, as it had
 * before the first step, and its reader begins anew. */
static void transfer_clusters(cursor *c, const mapdpm_stream *s, void *entries, size_t n, size_t size)
{
    unsigned char zeros[32];
    size_t left = n * size, m;

    if (c->get || !has_trials(s)) {
        transfer(c, entries, n, size);
        return;
    }
    memset(zeros, 0, sizeof zeros);
    for (; left > 0; left -= m) {
        m = left < sizeof zeros ? left : sizeof zeros;
        transfer_bytes(c, zeros, m);
    }
}

static void transfer_arrays(cursor *c, mapdpm_stream *s)
{
    const size_t K = MD_SLOTS(s), B = buffer_size(s);

    transfer_clusters(c, s, last_times_of(s), K, 8);
    transfer(c, times_of(s), B, 8);
    transfer_clusters(c, s, slot_of(s, 0), K * slot_size(s), MD_REAL);
    transfer(c, points_of(s), B * MD_FEATURES(s), MD_REAL);
    transfer_clusters(c, s, ids_of(s), 2 * K, 4); /* and last_seen_of */
    transfer(c, merge_partner_of(s), 2 * K, 4);   /* and trials_of: only learning sets them */
    transfer_clusters(c, s, event_ring_of(s), WORDS_PER_EVENT * (size_t)RING_SIZE(s) + MD_WARMUP(s), 4);
    transfer(c, window_ids_of(s), MD_WINDOW(s), 4);
    if (HAS_SURPRISE(s)) {
        transfer(c, tail_counts(s), SURPRISE_BINS, MD_REAL);
        transfer_clusters(c, s, standing_of(s), K, 4);
        transfer(c, next_to_check(s), SURPRISE_WORDS, 4);
    }
    if (HAS_RELEVANCE(s)) {
        transfer_clusters(c, s, background_of(s), moments_size(s), MD_REAL);
        transfer_clusters(c, s, relevance_of(s), MD_FEATURES(s), 4);
    }
    if (HAS_RESOLUTION(s))
        transfer(c, resolution_of(s), 2 * (size_t)MD_FEATURES(s), MD_REAL); /* and origin_of */
    if (HAS_GROUPS(s)) {
        transfer(c, n_groups_of(s), 1, 4);
        transfer(c, all_tables_of(s), 1, MD_REAL);
        transfer_clusters(c, s, tables_of(s), group_reals(s) - 1, MD_REAL);
        transfer(c, group_numbers_of(s), 2 * groups_of(s) + B, 4);
    }
    if (HAS_STATES(s)) {
        transfer(c, decayed_to(s), 1, 8);
        transfer(c, n_waiting_of(s), TIME_WORDS, 4);
        transfer(c, state_total(s), time_reals(s) - 2, MD_REAL);
    }
    if (MD_QUEUE(s) > 0) {
        transfer(c, queue_times(s), MD_QUEUE(s), 8);
        transfer(c, queue_points(s), MD_QUEUE(s) * (size_t)MD_FEATURES(s), MD_REAL);
        transfer(c, queue_length(s), 2 + (size_t)MD_QUEUE(s), 4);
    }
}

enum { COUNTERS = 3 * 8 + 6 * 4 };

static size_t options_bytes(int kind, uint32_t flags)
{
    const size_t most =
        4 * 4 + 3 * MD_REAL + (flags & WITH_SURPRISE ? MD_REAL : 0u) + (flags & WITH_QUEUE ? 4u : 0u);

    if (kind == STREAM_OF_GROUPS)
        return most + 3 * 4 + MD_REAL;
    return kind == STREAM_OF_STATES ? most + 4 + 2 * MD_REAL : most;
}

static int kind_of(const mapdpm_stream *s)
{
    return HAS_GROUPS(s) ? STREAM_OF_GROUPS : HAS_STATES(s) ? STREAM_OF_STATES : MD_STREAM;
}

static unsigned flags_in(const mapdpm_stream *s)
{
    return (HAS_SURPRISE(s) ? WITH_SURPRISE : 0u) | (MD_QUEUE(s) > 0 ? WITH_QUEUE : 0u) |
           (HAS_RELEVANCE(s) ? WITH_RELEVANCE : 0u) | (HAS_RESOLUTION(s) ? (unsigned)s->resolution << STEPS_AT : 0u);
}

/* What the kind and the flags add to the state. */
static uint64_t more_bytes(const mapdpm_stream *s)
{
    const uint64_t words = 1 + 2 * (uint64_t)groups_of(s) + buffer_size(s), queue = MD_QUEUE(s);
    const uint64_t of_features =
        (HAS_RELEVANCE(s) ? MD_REAL * (uint64_t)moments_size(s) + 4 * (uint64_t)MD_FEATURES(s) : 0) +
        (HAS_RESOLUTION(s) ? 2 * MD_REAL * (uint64_t)MD_FEATURES(s) : 0);
    const uint64_t waiting = of_features + (queue > 0 ? queue * (12 + MD_REAL * (uint64_t)MD_FEATURES(s)) + 8 : 0);

    if (HAS_SURPRISE(s))
        return waiting + MD_REAL * (uint64_t)SURPRISE_BINS + 4 * ((uint64_t)MD_SLOTS(s) + SURPRISE_WORDS);
    if (HAS_GROUPS(s))
        return waiting + MD_REAL * (uint64_t)group_reals(s) + 4 * words;
    return waiting + (HAS_STATES(s) ? 8 + 4 * TIME_WORDS + MD_REAL * (uint64_t)(time_reals(s) - 2) : 0);
}

static uint64_t body_bytes(const mapdpm_stream *s)
{
    const uint64_t K = MD_SLOTS(s), B = buffer_size(s), D = MD_FEATURES(s);

    return options_bytes(kind_of(s), flags_in(s)) + COUNTERS + more_bytes(s) +
           MD_REAL * (mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s)) + K * slot_size(s) + B * D) +
           8 * (K + B) +
           4 * (WORDS_PER_SLOT * K + WORDS_PER_EVENT * (uint64_t)RING_SIZE(s) + MD_WARMUP(s) + MD_WINDOW(s));
}

size_t mapdpm_snapshot_bytes(const mapdpm_stream *s)
{
    const uint64_t bytes = is_none(s) ? 0 : MD_HEADER + body_bytes(s) + MD_CRC;

    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static int send_learner(const mapdpm_stream *stream, const uint32_t *sequence, cursor *c)
{
    mapdpm_stream *const s = (mapdpm_stream *)(uintptr_t)stream; /* only read */
    const size_t more = sequence != NULL ? (size_t)MAPDPM_SEQUENCE_BYTES : 0u;
    unsigned char block[MAPDPM_SEQUENCE_BYTES];
    uint32_t sizes[5], i;
    mapdpm_options o;
    mapdpm_stream head;

    sizes[0] = MD_FEATURES(s);
    sizes[1] = MD_SLOTS(s);
    sizes[2] = (uint32_t)mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s));
    sizes[3] = (uint32_t)slot_size(s);
    sizes[4] = (uint32_t)more;
    (void)mapdpm_file_begin(block, kind_of(s), (int32_t)s->family, sizes, (uint64_t)mapdpm_snapshot_bytes(s) + more);
    (void)put_bytes(block + MD_FLAGS, flags_in(s), 2);
    transfer_bytes(c, block, MD_HEADER);
    (void)mapdpm_get_options(s, &o);
    transfer_options(c, &o);
    for (i = 0; i < sizes[2]; i++) {
        md_real parameter = IS_WARMING(s) ? 0 : stream_parameter(s, i);

        transfer(c, &parameter, 1, MD_REAL);
    }
    head = *s;
    if (has_trials(s)) {
        head.n_events = 0;
        head.n_clusters = 0;
        head.next_id = MD_WARMUP(s);
    }
    TRANSFER_ALL(c, &head, counters);
    transfer_arrays(c, s);
    if (sequence) {
        sequence_write(block, *sequence);
        transfer_bytes(c, block, more);
    }
    (void)put_bytes(block, c->crc, MD_CRC);
    transfer_bytes(c, block, MD_CRC);
    return c->error;
}

int mapdpm_snapshot_write(const mapdpm_stream *s, unsigned char *file, size_t capacity, size_t *file_bytes)
{
    const size_t total = mapdpm_snapshot_bytes(s);
    in_memory p = {NULL, NULL};
    cursor c = writer(put_to_memory, &p);

    if (total == 0 || file == NULL || file_bytes == NULL)
        return MAPDPM_E_ARGUMENT;
    if (capacity < total)
        return MAPDPM_E_SPACE;
    p.to = file;
    *file_bytes = total;
    return send_learner(s, NULL, &c);
}

int mapdpm_snapshot_send(const mapdpm_stream *s, const uint32_t *sequence, mapdpm_put put, void *context)
{
    cursor c = writer(put, context);

    if (mapdpm_snapshot_bytes(s) == 0 || put == NULL)
        return MAPDPM_E_ARGUMENT;
    return send_learner(s, sequence, &c);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int kind_in(const unsigned char *header)
{
    return header[6] == STREAM_OF_GROUPS || header[6] == STREAM_OF_STATES ? header[6] : MD_STREAM;
}

/* The options of a file of `total` bytes whose header is in order. */
static int read_options(cursor *c, const unsigned char *header, uint64_t total, mapdpm_options *o)
{
    const int kind = kind_in(header);
    const uint32_t flags = (uint32_t)get_bytes(header + MD_FLAGS, 2);

    memset(o, 0, sizeof *o);
    o->max_groups = kind == STREAM_OF_GROUPS; /* or none; how many, the file says next, as of lag and queue */
    o->lag = kind == STREAM_OF_STATES;
    o->surprise = (flags & WITH_SURPRISE) != 0;
    o->queue = (flags & WITH_QUEUE) != 0;
    o->relevance = (flags & WITH_RELEVANCE) != 0;
    o->resolution = (flags & WITH_RESOLUTION) >> STEPS_AT;
    if (total < MD_HEADER + options_bytes(kind, flags) + COUNTERS + MD_CRC)
        return MAPDPM_E_DAMAGED;
    o->family = (int32_t)get_bytes(header + 8, 2);
    o->n_features = get32(header + 12);
    o->max_clusters = get32(header + 16);
    transfer_options(c, o);
    if (c->error != MAPDPM_OK)
        return c->error;
    if ((kind == STREAM_OF_GROUPS && o->max_groups == 0) || (kind == STREAM_OF_STATES && o->lag == 0) ||
        (o->queue == 0 && (flags & WITH_QUEUE) != 0))
        return MAPDPM_E_DAMAGED;
    if (!is_compiled_for(o))
        return MAPDPM_E_KIND;
    return mapdpm_stream_bytes(o) > 0 ? MAPDPM_OK : MAPDPM_E_DAMAGED;
}

int mapdpm_snapshot_options(const unsigned char *file, size_t file_bytes, mapdpm_options *o)
{
    in_memory p = {NULL, NULL};
    cursor c = reader(get_from_memory, &p, 0);
    int error;

    if (file == NULL || o == NULL)
        return MAPDPM_E_ARGUMENT;
    error = mapdpm_file_check(file, file_bytes, file_bytes >= MD_HEADER ? kind_in(file) : MD_STREAM);
    if (error != MAPDPM_OK)
        return error;
    p.from = file + MD_HEADER;
    return read_options(&c, file, file_bytes, o);
}

/* Compute the parts that a file leaves out because they follow from others. */
static void derive(mapdpm_stream *s)
{
    uint32_t k;

    if (HAS_RELEVANCE(s) && !IS_WARMING(s)) /* the prior came before the features that it is read in */
        stream_prepare_opening(s);
    s->width = 0;
    s->at_event = (uint32_t)modulo(s->n_events, RING_SIZE(s));
    for (k = 0; k < MD_SLOTS(s); k++)
        if (is_used(s, k))
            stream_refresh(s, k);
        else
            constants_of(s)[k] = -LARGEST_REAL;
    if (HAS_STATES(s))
        states_prepare(s);
}

/* Set the prior from the parameters of a file, which are all 0 while there is none. */
static int restore_prior(mapdpm_stream *s, const md_real *parameters, size_t n)
{
    const uint32_t warming = s->warming;
    int error = MAPDPM_OK;
    size_t i;

    if (!IS_WARMING(s)) {
        s->warming = MD_WARMUP(s) > 0; /* as when it was set first */
        error = stream_set_prior(s, parameters);
        s->warming = warming;
        return error;
    }
    for (i = 0; i < n * sizeof(md_real) && error == MAPDPM_OK; i++)
        if (((const unsigned char *)parameters)[i] != 0)
            error = MAPDPM_E_DAMAGED;
    return error;
}

/* The learner in a file of `total` bytes whose header and options are in order. The memory is large enough. */
static int read_learner(cursor *c, const unsigned char *header, uint64_t total, const mapdpm_options *o,
                        mapdpm_stream *s)
{
    const size_t n = mapdpm_n_parameters(o->family, o->n_features);
    md_real *parameters;
    int error = stream_reset(s, o);

    if (error != MAPDPM_OK || total != (uint64_t)mapdpm_snapshot_bytes(s) + get32(header + 28) ||
        get32(header + 20) != n || get32(header + 24) != slot_size(s) || !(o->log_alpha == s->log_alpha))
        return MAPDPM_E_DAMAGED;
    s->log_alpha = o->log_alpha;   /* a zero keeps its sign */
    parameters = half_of(s, 0, 0); /* free memory until the slots are read */
    transfer(c, parameters, n, MD_REAL);
    TRANSFER_ALL(c, s, counters);
    if (c->error != MAPDPM_OK)
        return c->error;
    if (s->warming > 1 || (s->warming == 1 && MD_WARMUP(s) == 0) || restore_prior(s, parameters, n) != MAPDPM_OK)
        return MAPDPM_E_DAMAGED;
    transfer_arrays(c, s);
    if (c->error != MAPDPM_OK)
        return c->error;
    if (s->clock == CLOCK_MICROSECONDS)
        s->rate /= 1000000;
    if (!stream_is_valid(s))
        return MAPDPM_E_DAMAGED;
    if (has_trials(s))
        settle_begin(settling_of(s));
    derive(s);
    return MAPDPM_OK;
}

static int check_memory(const mapdpm_stream *s, size_t bytes, const mapdpm_options *o)
{
    const int has_space = bytes >= mapdpm_stream_bytes(o);

    return s == NULL || !is_aligned(s) ? MAPDPM_E_ARGUMENT : has_space ? MAPDPM_OK : MAPDPM_E_SPACE;
}

int mapdpm_snapshot_read(mapdpm_stream *s, size_t bytes, const unsigned char *file, size_t file_bytes)
{
    mapdpm_options o;
    in_memory p = {NULL, NULL};
    cursor c = reader(get_from_memory, &p, 0);
    int error = mapdpm_snapshot_options(file, file_bytes, &o);

    if (error == MAPDPM_OK)
        error = check_memory(s, bytes, &o);
    if (error != MAPDPM_OK)
        return error;
    p.from = file + MD_HEADER + options_bytes(kind_in(file), (uint32_t)get_bytes(file + MD_FLAGS, 2));
    error = read_learner(&c, file, file_bytes, &o, s);
    if (error != MAPDPM_OK)
        s->bytes = 0;
    return error;
}

/* The rest of a file: the additions, and the CRC. */
static int read_end(cursor *c, uint32_t n)
{
    unsigned char block[32];
    uint32_t crc, m;

    for (; n > 0 && c->error == MAPDPM_OK; n -= m) {
        m = n < sizeof block ? n : (uint32_t)sizeof block;
        transfer_bytes(c, block, m);
    }
    crc = c->crc;
    transfer_bytes(c, block, MD_CRC);
    if (c->error != MAPDPM_OK)
        return c->error;
    return get32(block) == crc ? MAPDPM_OK : MAPDPM_E_DAMAGED;
}

int mapdpm_snapshot_receive(mapdpm_stream *s, size_t bytes, mapdpm_get get, void *context)
{
    cursor c = reader(get, context, 1);
    unsigned char header[MD_HEADER] = {0};
    mapdpm_options o;
    uint64_t total;
    int error;

    if (s == NULL || get == NULL)
        return MAPDPM_E_ARGUMENT;
    transfer_bytes(&c, header, MD_HEADER);
    if (c.error != MAPDPM_OK)
        return c.error;
    if (get32(header) != MD_MAGIC)
        return MAPDPM_E_FOREIGN;
    total = total_in(header);
    error = mapdpm_header_check(header, total, kind_in(header));
    if (error == MAPDPM_OK)
        error = read_options(&c, header, total, &o);
    if (error == MAPDPM_OK)
        error = check_memory(s, bytes, &o);
    if (error != MAPDPM_OK)
        return error;
    error = read_learner(&c, header, total, &o, s);
    if (error == MAPDPM_OK)
        error = read_end(&c, get32(header + 28));
    if (error != MAPDPM_OK)
        s->bytes = 0;
    return error;
}
