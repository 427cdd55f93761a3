/* Any bytes as options and operations: points, times, predictions, snapshots, inserted clusters. A point that cannot be
 * learned changes nothing, and every learner can be saved and restored. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Save the learner and restore it in other memory: it must be the same. */
static mapdpm_stream *through_file(mapdpm_stream *s)
{
    const size_t bytes = s->bytes;
    unsigned char *const file = (unsigned char *)malloc(mapdpm_snapshot_bytes(s)), *again;
    mapdpm_stream *back = new_stream(bytes);
    size_t n, m;

    MUST(file != NULL);
    MUST(mapdpm_snapshot_write(s, file, mapdpm_snapshot_bytes(s), &n) == MAPDPM_OK);
    MUST(mapdpm_snapshot_read(back, bytes, file, n) == MAPDPM_OK);
    again = (unsigned char *)malloc(n);
    MUST(again != NULL);
    MUST(mapdpm_snapshot_write(back, again, n, &m) == MAPDPM_OK && m == n && memcmp(file, again, n) == 0);
    free(file);
    free(again);
    free(s);
    return back;
}

static void insert_one(input *t, mapdpm_stream *s)
{
    mapdpm_real mean[D_MOST], variance[D_MOST];
    mapdpm_cluster cluster;
    uint32_t d;

    memset(&cluster, 0, sizeof cluster);
    cluster.weight = next_real(t);
    for (d = 0; d < s->n_features; d++) {
        mean[d] = next_real(t);
        variance[d] = next_real(t);
    }
    (void)mapdpm_insert(s, &cluster, mean, variance);
}

/* What the learner saw becomes its base, or that of nothing. An error must change nothing. */
static void set_base(mapdpm_stream *s)
{
    const size_t capacity = mapdpm_summary_bytes(s, sizeof(mapdpm_real));
    unsigned char *const file = (unsigned char *)malloc(capacity);
    void *const before = copy_of(s, s->bytes);
    size_t n;

    MUST(file != NULL);
    if (mapdpm_summary_write(s, sizeof(mapdpm_real), file, capacity, &n) == MAPDPM_OK) {
        MUST(n == capacity);
        MUST(mapdpm_set_base(s, file, n) == MAPDPM_OK || memcmp(before, s, s->bytes) == 0);
    }
    free(before);
    free(file);
}

/* Learn a point. An error must change nothing. */
static void learn_one(input *t, mapdpm_stream *s, int op)
{
    unsigned char *before;
    mapdpm_real x[D_MOST], score;
    int64_t when = s->now;
    uint32_t id, d;
    int error;

    for (d = 0; d < D_MOST; d++)
        x[d] = next_real(t);
    (void)mapdpm_set_group(s, op >> 3 & 3u);
    before = (unsigned char *)copy_of(s, s->bytes);
    call_queries(s, x);
    if (op & 1) {
        const unsigned shift = next_byte(t) & 63u;

        when = (int64_t)((uint64_t)when + ((uint64_t)next_byte(t) << shift));
        error = mapdpm_learn_at(s, x, when, op & 2 ? &id : NULL, op & 4 ? &score : NULL);
    } else {
        error = mapdpm_learn(s, x, op & 2 ? &id : NULL, op & 4 ? &score : NULL);
    }
    MUST(error == MAPDPM_OK || is_as_before(before, s));
    free(before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mapdpm_real parameters[3 * D_MOST];
    input t;
    mapdpm_options o;
    mapdpm_stream *s;
    size_t bytes;

    t.p = data;
    t.left = size;
    next_options(&t, &o, parameters);
    bytes = mapdpm_stream_bytes(&o);
    if (bytes == 0)
        return 0;
    s = new_stream(bytes);
    if (mapdpm_init(s, bytes, &o) == MAPDPM_OK) {
        while (t.left > 0) {
            const uint8_t op = next_byte(&t);

            if (op < 8)
                s = through_file(s);
            else if (op < 16)
                insert_one(&t, s);
            else if (op < 20)
                (void)mapdpm_reduce(s, op - 15u);
            else if (op < 24)
                set_base(s);
            else if (op < 28)
                MUST(mapdpm_gap(s) == (!HAS_STATES(s) ? MAPDPM_E_ARGUMENT
                                       : has_queue_to_do(s) ? MAPDPM_E_WARMING
                                                            : MAPDPM_OK));
            else
                learn_one(&t, s, op);
            must_be_whole(s);
        }
        if (size % 4 == 0) /* the CRC of a file costs as much as all the rest */
            s = through_file(s);
        must_be_whole(s);
    }
    free(s);
    return 0;
}
