/* Functions in any order, with arguments that are null, of another learner, out of date or out of range. Each call is
 * refused without a change, or does no harm. Banks, windows of the caller, pools, memory that is too small.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { KEPT = 6, LEARNERS = 2, BANK = 3 };

typedef struct {
    mapdpm_stream *stream;
    mapdpm_real x[KEPT * D_MOST];
    int64_t times[KEPT];
    uint32_t ids[KEPT];
    uint64_t event;
} learner;

/* A learner, or NULL if its options are invalid. Sometimes the memory is a byte too small. */
static mapdpm_stream *begin(input *t, const mapdpm_options *o)
{
    const size_t bytes = mapdpm_stream_bytes(o), given = bytes - (next_byte(t) > 250);
    mapdpm_stream *s;
    int error;

    if (bytes == 0)
        return NULL;
    s = new_stream(bytes);
    error = mapdpm_init(s, given, o);
    MUST(given == bytes || error == MAPDPM_E_SPACE || error == MAPDPM_E_ARGUMENT);
    if (error == MAPDPM_OK)
        return s;
    free(s);
    return NULL;
}

static void learn_and_keep(input *t, learner *l)
{
    const size_t at = next_byte(t) % KEPT, D = l->stream->n_features;
    mapdpm_real x[D_MOST];
    uint32_t id;
    size_t d;

    for (d = 0; d < D; d++)
        x[d] = next_real(t);
    if (mapdpm_learn(l->stream, x, &id, NULL) != MAPDPM_OK)
        return;
    if (next_byte(t) & 3) /* else out of date */
        MUST(mapdpm_follow(l->stream, &l->event, l->ids, KEPT) == MAPDPM_OK || l->event > l->stream->n_events);
    memcpy(l->x + at * D, x, D * sizeof *x);
    l->ids[at] = id;
    l->times[at] = (int64_t)l->stream->n_seen - (next_byte(t) > 200);
}

static void sweep_again(input *t, learner *l)
{
    unsigned char *const before = (unsigned char *)copy_of(l->stream, l->stream->bytes);
    const uint8_t how = next_byte(t);
    size_t moved = 0;
    int error;

    if (how & 1)
        l->event = next_byte(t);
    if (how & 2)
        (void)mapdpm_follow(l->stream, &l->event, l->ids, KEPT);
    if (how & 4)
        l->ids[how % KEPT] = next_byte(t);
    if (how & 8)
        l->times[how % KEPT] = (int64_t)((uint64_t)next_byte(t) << (next_byte(t) & 63u));
    error = mapdpm_resweep(l->stream, how & 16 ? NULL : l->x, how & 32 ? NULL : l->times, l->ids,
                           next_byte(t) % (KEPT + 1), &moved);
    MUST(error == MAPDPM_OK || memcmp(before, l->stream, l->stream->bytes) == 0);
    MUST(moved <= KEPT);
    free(before);
}

/* Ends of sequences, and questions about states, also to learners that know none. */
static void interrupt(input *t, learner *l)
{
    const uint8_t how = next_byte(t);
    uint32_t length;

    MUST(mapdpm_get_belief(how & 1 ? NULL : l->stream, NULL) == MAPDPM_E_ARGUMENT);
    MUST(mapdpm_get_transitions(how & 1 ? l->stream : NULL, NULL) == MAPDPM_E_ARGUMENT);
    MUST(mapdpm_get_run(NULL, &length) == MAPDPM_E_ARGUMENT && mapdpm_get_run(l->stream, NULL) == MAPDPM_E_ARGUMENT);
    MUST(mapdpm_gap(how & 2 ? NULL : l->stream) ==
         (how & 2 || !HAS_STATES(l->stream)   ? MAPDPM_E_ARGUMENT
          : has_queue_to_do(l->stream) ? MAPDPM_E_WARMING
                                              : MAPDPM_OK));
}

/* Steps of a settlement, and a clock that begins anew. */
static void settle(input *t, learner *l)
{
    const uint8_t how = next_byte(t);
    unsigned n;

    if (how & 1)
        (void)mapdpm_rebase(l->stream, (int64_t)((uint64_t)next_byte(t) << (next_byte(t) & 63u)));
    for (n = how >> 1 & 31u; n > 0; n--) {
        const int more = mapdpm_settle_step(l->stream);

        MUST(more < 0 || (more > 0) == has_queue_to_do(l->stream));
    }
    if (how > 250)
        MUST(mapdpm_settle_all(l->stream) != MAPDPM_E_ARGUMENT && l->stream->queue == 0);
}

static void pool(input *t, learner *to, learner *from)
{
    unsigned char *const before = (unsigned char *)copy_of(to->stream, to->stream->bytes);
    const uint8_t how = next_byte(t);

    if (mapdpm_pool(to->stream, how & 1 ? to->stream : from->stream) != MAPDPM_OK)
        MUST(memcmp(before, to->stream, to->stream->bytes) == 0);
    if (how & 2)
        (void)mapdpm_reduce(to->stream, how >> 2 & 7u);
    free(before);
}

static void bank(input *t, const mapdpm_options *o)
{
    const uint32_t n = next_byte(t) % (BANK + 2);
    const size_t bytes = mapdpm_bank_bytes(o, n);
    mapdpm_real alphas[BANK + 2], x[D_MOST], half_life, margin, score;
    mapdpm_bank *b;
    uint32_t i, id;

    for (i = 0; i < BANK + 2; i++)
        alphas[i] = next_real(t);
    half_life = next_real(t);
    margin = next_real(t);
    if (bytes == 0)
        return;
    b = (mapdpm_bank *)malloc(bytes);
    MUST(b != NULL);
    for (i = mapdpm_bank_init(b, bytes, o, alphas, n, half_life, margin) == MAPDPM_OK ? next_byte(t) : 0; i > 0; i--) {
        unsigned char *const before = (unsigned char *)copy_of(b, bytes);
        size_t d;

        for (d = 0; d < D_MOST; d++)
            x[d] = next_real(t);
        if (mapdpm_bank_learn(b, x, &id, &score) != MAPDPM_OK)
            MUST(memcmp(before, b, bytes) == 0);
        MUST(b->best < n && mapdpm_bank_score(b, b->best, &score) == MAPDPM_OK);
        must_be_whole(mapdpm_bank_stream(b, next_byte(t) % n));
        free(before);
    }
    free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mapdpm_real parameters[3 * D_MOST];
    learner l[LEARNERS];
    mapdpm_options o;
    input t;
    unsigned i;

    t.p = data;
    t.left = size;
    memset(l, 0, sizeof l);
    for (i = 0; i < LEARNERS; i++) {
        next_options(&t, &o, parameters);
        l[i].stream = begin(&t, &o);
        memset(l[i].ids, 0xff, sizeof l[i].ids);
    }
    bank(&t, &o);
    while (t.left > 0 && l[0].stream && l[1].stream) {
        const uint8_t op = next_byte(&t);
        learner *const one = &l[op & 1];

        if (op < 8)
            interrupt(&t, one);
        else if (op < 24)
            settle(&t, one);
        else if (op < 192)
            learn_and_keep(&t, one);
        else if (op < 240)
            sweep_again(&t, one);
        else
            pool(&t, one, &l[!(op & 1)]);
        must_be_whole(one->stream);
    }
    for (i = 0; i < LEARNERS; i++)
        free(l[i].stream);
    return 0;
}
