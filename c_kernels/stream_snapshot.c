/* A stream learner to a file and back, bit for bit (docs/format.md, kinds 2, 4 and 7). */
#include "mapdpm_bytes.h"
#include "mapdpm_learner.h"

/* The place of the next entry in a file, and the direction of the copy. */
typedef struct {
    unsigned char *p;
    int reads;
} cursor;

static void transfer(cursor *c, void *entries, size_t n, size_t size)
{
    if (c->reads)
        copy_entries(entries, c->p, n, size);
    else
        copy_entries(c->p, entries, n, size);
    c->p += n * size;
}

/* The options. They come first, because they determine how much memory the rest needs. */
static void transfer_options(cursor *c, mapdpm_options *o, int kind)
{
    transfer(c, &o->warmup, 1, 4);
    transfer(c, &o->window, 1, 4);
    transfer(c, &o->when_full, 1, 4);
    transfer(c, &o->missing, 1, 4);
    transfer(c, &o->alpha, 1, MD_REAL);
    transfer(c, &o->log_alpha, 1, MD_REAL);
    transfer(c, &o->half_life, 1, MD_REAL);
    if (o->surprise)
        transfer(c, &o->rare, 1, MD_REAL);
    if (kind == STREAM_OF_STATES) {
        transfer(c, &o->lag, 1, 4);
        transfer(c, &o->gamma, 1, MD_REAL);
        transfer(c, &o->kappa, 1, MD_REAL);
    }
    if (kind == STREAM_OF_GROUPS) {
        transfer(c, &o->max_groups, 1, 4);
        transfer(c, &o->when_groups_full, 1, 4);
        transfer(c, &o->with_base, 1, 4);
        transfer(c, &o->gamma, 1, MD_REAL);
    }
}

/* Everything except the options and the parameters. Writing and reading share this one description. */
static void transfer_state(cursor *c, mapdpm_stream *s)
{
    const size_t K = MD_SLOTS(s), B = buffer_size(s);

    transfer(c, &s->n_seen, 1, 8);
    transfer(c, &s->n_events, 1, 8);
    transfer(c, &s->now, 1, 8);
    transfer(c, &s->next_id, 1, 4);
    transfer(c, &s->turn, 1, 4);
    transfer(c, &s->n_clusters, 1, 4);
    transfer(c, &s->clock, 1, 4);
    transfer(c, &s->warming, 1, 4);
    transfer(c, &s->visited, 1, 4);
    transfer(c, last_times_of(s), K + B, 8);
    transfer(c, slot_of(s, 0), K * slot_size(s), MD_REAL);
    transfer(c, points_of(s), B * MD_FEATURES(s), MD_REAL);
    transfer(c, words_of(s), WORDS_PER_SLOT * K + WORDS_PER_EVENT * (size_t)RING_SIZE(s) + MD_WARMUP(s) + MD_WINDOW(s),
             4);
    if (HAS_SURPRISE(s)) {
        transfer(c, tail_counts(s), SURPRISE_BINS, MD_REAL);
        transfer(c, standing_of(s), (size_t)MD_SLOTS(s) + SURPRISE_WORDS, 4);
    }
    if (HAS_GROUPS(s)) {
        transfer(c, n_groups_of(s), 1, 4);
        transfer(c, all_tables_of(s), group_reals(s), MD_REAL);
        transfer(c, group_numbers_of(s), 2 * groups_of(s) + B, 4);
    }
    if (HAS_STATES(s)) {
        transfer(c, decayed_to(s), 1, 8);
        transfer(c, n_waiting_of(s), TIME_WORDS, 4);
        transfer(c, state_total(s), time_reals(s) - 2, MD_REAL);
    }
}

enum { COUNTERS = 3 * 8 + 6 * 4 };

static size_t options_bytes(int kind, int has_surprise)
{
    const size_t most = 4 * 4 + 3 * MD_REAL + (has_surprise ? MD_REAL : 0u);

    if (kind == STREAM_OF_GROUPS)
        return most + 3 * 4 + MD_REAL;
    return kind == STREAM_OF_STATES ? most + 4 + 2 * MD_REAL : most;
}

static int kind_of(const mapdpm_stream *s)
{
    return HAS_GROUPS(s) ? STREAM_OF_GROUPS : HAS_STATES(s) ? STREAM_OF_STATES : MD_STREAM;
}

/* What the kind adds to the state. */
static uint64_t more_bytes(const mapdpm_stream *s)
{
    const uint64_t words = 1 + 2 * (uint64_t)groups_of(s) + buffer_size(s);

    if (HAS_SURPRISE(s))
        return MD_REAL * (uint64_t)SURPRISE_BINS + 4 * ((uint64_t)MD_SLOTS(s) + SURPRISE_WORDS);
    if (HAS_GROUPS(s))
        return MD_REAL * (uint64_t)group_reals(s) + 4 * words;
    return HAS_STATES(s) ? 8 + 4 * TIME_WORDS + MD_REAL * (uint64_t)(time_reals(s) - 2) : 0;
}

static uint64_t body_bytes(const mapdpm_stream *s)
{
    const uint64_t K = MD_SLOTS(s), B = buffer_size(s), D = MD_FEATURES(s);

    return options_bytes(kind_of(s), HAS_SURPRISE(s)) + COUNTERS + more_bytes(s) +
           MD_REAL * (mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s)) + K * slot_size(s) + B * D) +
           8 * (K + B) +
           4 * (WORDS_PER_SLOT * K + WORDS_PER_EVENT * (uint64_t)RING_SIZE(s) + MD_WARMUP(s) + MD_WINDOW(s));
}

size_t mapdpm_snapshot_bytes(const mapdpm_stream *s)
{
    const uint64_t bytes = s ? MD_HEADER + body_bytes(s) + MD_CRC : 0;

    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

int mapdpm_snapshot_write(const mapdpm_stream *stream, unsigned char *file, size_t capacity, size_t *file_bytes)
{
    mapdpm_stream *const s = (mapdpm_stream *)(uintptr_t)stream; /* only read */
    const size_t total = mapdpm_snapshot_bytes(s);
    uint32_t sizes[5], i;
    mapdpm_options o;
    cursor c;

    if (s == NULL || file == NULL || file_bytes == NULL)
        return MAPDPM_E_ARGUMENT;
    if (capacity < total)
        return MAPDPM_E_SPACE;
    sizes[0] = MD_FEATURES(s);
    sizes[1] = MD_SLOTS(s);
    sizes[2] = (uint32_t)mapdpm_n_parameters((int32_t)s->family, MD_FEATURES(s));
    sizes[3] = (uint32_t)slot_size(s);
    sizes[4] = 0;
    c.p = mapdpm_file_begin(file, kind_of(s), (int32_t)s->family, sizes, total);
    (void)put_bytes(file + MD_FLAGS, HAS_SURPRISE(s) ? WITH_SURPRISE : 0, 2);
    c.reads = 0;
    (void)mapdpm_get_options(s, &o);
    transfer_options(&c, &o, kind_of(s));
    for (i = 0; i < sizes[2]; i++) {
        const md_real parameter = IS_WARMING(s) ? 0 : stream_parameter(s, i);

        c.p = put_reals(c.p, &parameter, 1);
    }
    transfer_state(&c, s);
    (void)put_bytes(c.p, mapdpm_crc32(0, file, total - MD_CRC), MD_CRC);
    *file_bytes = total;
    return MAPDPM_OK;
}

int mapdpm_snapshot_options(const unsigned char *file, size_t file_bytes, mapdpm_options *o)
{
    cursor c;
    int error, kind;

    if (file == NULL || o == NULL)
        return MAPDPM_E_ARGUMENT;
    kind =
        file_bytes >= MD_HEADER && (file[6] == STREAM_OF_GROUPS || file[6] == STREAM_OF_STATES) ? file[6] : MD_STREAM;
    error = mapdpm_file_check(file, file_bytes, kind);
    if (error != MAPDPM_OK)
        return error;
    memset(o, 0, sizeof *o);
    o->surprise = get_bytes(file + MD_FLAGS, 2) == WITH_SURPRISE;
    if (file_bytes < MD_HEADER + options_bytes(kind, o->surprise != 0) + COUNTERS + MD_CRC)
        return MAPDPM_E_DAMAGED;
    o->family = (int32_t)get_bytes(file + 8, 2);
    o->n_features = get32(file + 12);
    o->max_clusters = get32(file + 16);
    c.p = (unsigned char *)(uintptr_t)(file + MD_HEADER);
    c.reads = 1;
    transfer_options(&c, o, kind);
    if ((kind == STREAM_OF_GROUPS && o->max_groups == 0) || (kind == STREAM_OF_STATES && o->lag == 0))
        return MAPDPM_E_DAMAGED;
    if (!is_compiled_for(o))
        return MAPDPM_E_KIND;
    return mapdpm_stream_bytes(o) > 0 ? MAPDPM_OK : MAPDPM_E_DAMAGED;
}

/* Compute the parts that a file leaves out because they follow from others. */
static void derive(mapdpm_stream *s)
{
    uint32_t k;

    s->width = 0;
    s->at_event = (uint32_t)modulo(s->n_events, RING_SIZE(s));
    for (k = 0; k < MD_SLOTS(s); k++)
        if (is_used(s, k)) {
            stream_refresh(s, k);
        } else {
            constants_of(s)[k] = -LARGEST_REAL;
        }
    if (HAS_STATES(s))
        states_prepare(s);
}

int mapdpm_snapshot_read(mapdpm_stream *s, size_t bytes, const unsigned char *file, size_t file_bytes)
{
    mapdpm_options o;
    md_real *parameters;
    cursor c;
    size_t n, i, at;
    int error = mapdpm_snapshot_options(file, file_bytes, &o);

    if (error != MAPDPM_OK)
        return error;
    if (s == NULL)
        return MAPDPM_E_ARGUMENT;
    if (bytes < mapdpm_stream_bytes(&o))
        return MAPDPM_E_SPACE;
    error = stream_reset(s, &o);
    n = mapdpm_n_parameters(o.family, o.n_features);
    if (error != MAPDPM_OK || file_bytes != MD_HEADER + body_bytes(s) + get32(file + 28) + MD_CRC ||
        get32(file + 20) != n || get32(file + 24) != slot_size(s) || !(o.log_alpha == s->log_alpha))
        return MAPDPM_E_DAMAGED;
    s->log_alpha = o.log_alpha; /* a zero keeps its sign */
    at = MD_HEADER + options_bytes(kind_of(s), HAS_SURPRISE(s));
    c.p = (unsigned char *)(uintptr_t)(file + at);
    c.reads = 1;
    parameters = half_of(s, 0, 0); /* free memory until the slots are read */
    transfer(&c, parameters, n, MD_REAL);
    s->warming = 1;
    if (o.warmup == 0 || get32(file + at + n * MD_REAL + 24 + 16) == 0) {
        error = stream_set_prior(s, parameters);
        if (error != MAPDPM_OK)
            return MAPDPM_E_DAMAGED;
    } else {
        for (i = 0; i < n * MD_REAL; i++)
            if (file[at + i] != 0)
                return MAPDPM_E_DAMAGED;
    }
    transfer_state(&c, s);
    if (s->clock == CLOCK_MICROSECONDS)
        s->rate /= 1000000;
    if (!stream_is_valid(s))
        return MAPDPM_E_DAMAGED;
    derive(s);
    return MAPDPM_OK;
}
