/* Any bytes as the life of two devices and their gateway: points of groups, summaries that were changed on the way, files
 * in pieces whose reader or writer fails, slots after a loss of power, batch models. What fails changes nothing, or
 * leaves memory that all functions refuse.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { DEVICES = 2, SLOTS = 3, MODEL_CLUSTERS = 3 };

/* The bytes that come or go in pieces, until a piece fails. */
typedef struct {
    unsigned char *p;
    size_t left;
    unsigned fails_at; /* the number of the piece; 0: never */
} pipe;

static int take(pipe *q, size_t n)
{
    if (q->fails_at == 1)
        return -99;
    q->fails_at -= q->fails_at > 0;
    MUST(n <= q->left);
    q->left -= n;
    q->p += n;
    return 0;
}

static int put(void *context, const unsigned char *bytes, size_t n)
{
    pipe *const q = (pipe *)context;
    unsigned char *const to = q->p;
    const int error = take(q, n);

    if (error == 0)
        memcpy(to, bytes, n);
    return error;
}

static int get(void *context, unsigned char *bytes, size_t n)
{
    pipe *const q = (pipe *)context;
    const unsigned char *const from = q->p;
    int error;

    if (n > q->left)
        return -98;
    error = take(q, n);
    if (error == 0)
        memcpy(bytes, from, n);
    return error;
}

static void learn(input *t, mapdpm_stream *s)
{
    mapdpm_real x[D_MOST];
    uint32_t d, id;

    for (d = 0; d < D_MOST; d++)
        x[d] = next_real(t);
    (void)mapdpm_set_group(s, next_byte(t) % 5u);
    (void)mapdpm_learn(s, x, &id, NULL);
    (void)mapdpm_settle_all(s);
}

/* A summary of one learner, forged or not, for another; or back to be the base of those that can have one. */
static void message(input *t, const mapdpm_stream *from, mapdpm_stream *to)
{
    const uint32_t real_bytes = next_byte(t) & 1 ? 4 : sizeof(mapdpm_real);
    const size_t capacity = mapdpm_summary_bytes(from, real_bytes);
    unsigned char *const file = (unsigned char *)malloc(capacity + 1);
    unsigned char *const before = (unsigned char *)copy_of(to, to->bytes);
    int error;
    size_t n;

    MUST(file != NULL);
    if (mapdpm_summary_write(from, real_bytes, file, capacity, &n) == MAPDPM_OK) {
        mapdpm_options o;
        mapdpm_real parameters[3 * D_MOST];

        forge(t, file, n);
        if (next_byte(t) > 240)
            n -= 1 + next_byte(t) % n;
        if (mapdpm_summary_options(file, n, &o, NULL) == MAPDPM_OK && o.n_features <= D_MOST)
            MUST(mapdpm_summary_options(file, n, &o, parameters) == MAPDPM_OK);
        error = next_byte(t) & 1 ? mapdpm_set_base(to, file, n) : mapdpm_pool_summary(to, file, n);
        MUST(error == MAPDPM_OK || memcmp(before, to, to->bytes) == 0);
    }
    free(before);
    free(file);
}

/* Send a learner in pieces and receive it, where a piece, or a byte on the way, may be wrong. */
static void in_pieces(input *t, mapdpm_stream **s)
{
    const size_t bytes = (*s)->bytes, capacity = mapdpm_snapshot_bytes(*s) + MAPDPM_SEQUENCE_BYTES;
    unsigned char *const file = (unsigned char *)malloc(capacity);
    mapdpm_stream *const back = new_stream(bytes);
    const uint32_t sequence = next_byte(t);
    const uint8_t how = next_byte(t);
    uint32_t found, unused;
    pipe q;
    int error;
    size_t n;

    MUST(file != NULL);
    q.p = file;
    q.left = capacity;
    q.fails_at = how & 1 ? next_byte(t) : 0;
    error = mapdpm_snapshot_send(*s, how & 2 ? &sequence : NULL, put, &q);
    MUST(error == MAPDPM_OK || error == -99);
    n = capacity - q.left;
    if (error == MAPDPM_OK) {
        MUST(n == mapdpm_file_bytes(file, n));
        MUST(mapdpm_snapshot_sequence(file, n, &found) == (how & 2 ? MAPDPM_OK : MAPDPM_E_UNKNOWN));
        MUST(!(how & 2) || found == sequence);
        if (how & 4)
            forge(t, file, n);
        q.p = file;
        q.left = n - (how & 8 ? next_byte(t) % n : 0);
        q.fails_at = how & 16 ? next_byte(t) : 0;
        if (how & 32) /* as memory after a start, which holds nothing */
            memset(back, 0, bytes);
        error = mapdpm_snapshot_receive(back, bytes, get, &q);
        if (error == MAPDPM_OK) {
            free(*s);
            *s = back;
            free(file);
            return;
        }
        if (how & 32) {
            mapdpm_real x[D_MOST] = {0};

            MUST(mapdpm_n_clusters(back) == 0 && mapdpm_learn(back, x, &unused, NULL) == MAPDPM_E_ARGUMENT);
        }
    }
    free(back);
    free(file);
}

/* Slots of which some were cut by a loss of power: the newest whole one is found. */
static void slots(input *t, const mapdpm_stream *s)
{
    const size_t capacity = mapdpm_snapshot_bytes(s) + MAPDPM_SEQUENCE_BYTES;
    unsigned char *memory[SLOTS];
    const unsigned char *list[SLOTS];
    uint32_t newest = 0, found;
    size_t at, i;
    int is_there = 0;

    for (i = 0; i < SLOTS; i++) {
        const uint32_t sequence = next_byte(t) & 7u;
        pipe q;

        list[i] = memory[i] = (unsigned char *)malloc(capacity);
        MUST(memory[i] != NULL);
        memset(memory[i], next_byte(t) & 1 ? 0xff : 0, capacity);
        q.p = memory[i];
        q.left = capacity;
        q.fails_at = next_byte(t) % 24u;
        if (mapdpm_snapshot_send(s, &sequence, put, &q) == MAPDPM_OK) {
            newest = !is_there || sequence > newest ? sequence : newest;
            is_there = 1;
        }
    }
    MUST((mapdpm_snapshot_newest(list, SLOTS, capacity, &at, &found) == MAPDPM_OK) == is_there);
    MUST(!is_there || (at < SLOTS && found == newest));
    for (i = 0; i < SLOTS; i++)
        free(memory[i]);
}

/* A batch model that was changed is refused, or has numbers within their ranges. */
static void model(input *t)
{
    mapdpm_real reals[D_MOST + 3 * D_MOST + MODEL_CLUSTERS * (1 + 2 * D_MOST)];
    uint64_t counts[MODEL_CLUSTERS];
    mapdpm_model m, back;
    unsigned char *file;
    void *room;
    size_t n, i;

    memset(&m, 0, sizeof m);
    m.family = next_byte(t) & 1 ? MAPDPM_NORMAL_KNOWN_VARIANCE : MAPDPM_NORMAL_GAMMA;
    m.n_features = 1 + next_byte(t) % D_MOST;
    m.n_clusters = next_byte(t) % (MODEL_CLUSTERS + 1);
    m.alpha = 1;
    for (i = 0; i < sizeof reals / sizeof *reals; i++)
        reals[i] = i % 3 == 2 ? next_real(t) : 1;
    for (i = 0; i < MODEL_CLUSTERS; i++)
        counts[i] = 1 + next_byte(t);
    m.anchor = reals;
    m.parameters = reals + D_MOST;
    m.statistics = reals + 4 * D_MOST;
    m.counts = counts;
    n = mapdpm_model_file_bytes(m.family, m.n_features, m.n_clusters);
    file = (unsigned char *)malloc(n + 1);
    room = malloc(mapdpm_model_bytes(m.family, m.n_features, m.n_clusters) + 1);
    MUST(file != NULL && room != NULL);
    if (mapdpm_model_write(&m, file, n, &n) == MAPDPM_OK) {
        forge(t, file, n);
        if (mapdpm_model_read(file, n, room, mapdpm_model_bytes(m.family, m.n_features, m.n_clusters), &back) ==
            MAPDPM_OK)
            for (i = 0; i < back.n_clusters; i++)
                MUST(back.counts[i] > 0 && math_is_finite(back.statistics[i * (1 + 2 * back.n_features)]));
    }
    free(room);
    free(file);
}

static mapdpm_stream *begin(mapdpm_options *o)
{
    mapdpm_stream *s;

    if (mapdpm_stream_bytes(o) == 0)
        return NULL;
    s = new_stream(mapdpm_stream_bytes(o));
    if (mapdpm_init(s, mapdpm_stream_bytes(o), o) == MAPDPM_OK)
        return s;
    free(s);
    return NULL;
}

/* Two devices with a base each, and a gateway without one. */
static int begin_all(input *t, mapdpm_stream *all[DEVICES + 1])
{
    mapdpm_real parameters[3 * D_MOST];
    mapdpm_options o;
    unsigned i;
    int are_there = 1;

    next_options(t, &o, parameters);
    o.lag = o.surprise = o.relevance = 0;
    o.rare = o.kappa = 0;
    o.gamma = 1;
    for (i = 0; i <= DEVICES; i++) {
        o.max_groups = i < DEVICES ? 3 : next_byte(t) & 3u;
        o.with_base = i < DEVICES;
        all[i] = begin(&o);
        are_there &= all[i] != NULL;
    }
    return are_there;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mapdpm_stream *all[DEVICES + 1] = {NULL};
    input t;
    unsigned i;

    t.p = data;
    t.left = size;
    if (next_byte(&t) < 64)
        model(&t);
    if (begin_all(&t, all))
        while (t.left > 0) {
            const uint8_t op = next_byte(&t), one = op % (DEVICES + 1);

            if (op < 40)
                message(&t, all[one], all[(one + 1u + (op >> 4 & 1u)) % (DEVICES + 1)]);
            else if (op < 56)
                in_pieces(&t, &all[one]);
            else if (op < 62)
                slots(&t, all[one]);
            else if (op < 70)
                (void)mapdpm_reduce(all[one], op & 3u);
            else
                learn(&t, all[one]);
            must_be_whole(all[one]);
        }
    for (i = 0; i <= DEVICES; i++)
        free(all[i]);
    return 0;
}
