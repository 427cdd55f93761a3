/* A firmware in trouble: power cuts, forged files, clocks that begin anew, a warm-up that must not take long. Each case
 * must end as the headers say; the CRC is that of the snapshots. `settle` measures one step, `save` and `load` a snapshot in
 * pieces.
 */
#include "boards/board.h"
#include "streams.h"

#include <string.h>

enum { CLUSTERS = 8, WARMUP = 40, QUEUE = 12, N_POINTS = 150 };
enum { BYTES = MAPDPM_STATE_BYTES_WITH(N_FEATURES, CLUSTERS, WARMUP, 0, 0), ROOM = 3700 };
enum { FORGED = -100, CUT = -101, SETTLED = -102, CLOCK = -103, POOLED = -104, LOW_PART = -105, PLACED = -106 };

static uint64_t memory[(BYTES + MAPDPM_QUEUE_BYTES(N_FEATURES, QUEUE)) / 8];
static unsigned char slots[2][ROOM];

/* A slot of a flash, and the bytes until the power is lost. */
typedef struct {
    unsigned char *slot;
    size_t at;
    size_t left;
} flash;

static int put(void *context, const unsigned char *bytes, size_t n)
{
    flash *const f = (flash *)context;

    if (n > f->left || f->at + n > ROOM)
        return CUT;
    memcpy(f->slot + f->at, bytes, n);
    f->at += n;
    f->left -= n;
    return MAPDPM_OK;
}

static int get(void *context, unsigned char *bytes, size_t n)
{
    flash *const f = (flash *)context;

    if (f->at + n > ROOM)
        return CUT;
    memcpy(bytes, f->slot + f->at, n);
    f->at += n;
    return MAPDPM_OK;
}

static int save_to(const mapdpm_stream *s, int slot, uint32_t number, size_t left)
{
    flash f = {NULL, 0, 0};
    int error;

    f.slot = slots[slot];
    f.left = left;
    MEASURED(save, error = mapdpm_snapshot_send(s, &number, put, &f));
    return error;
}

static mapdpm_options warming_options(uint32_t queue)
{
    mapdpm_options o = {0};

    o.family = MAPDPM_NORMAL_GAMMA;
    o.n_features = N_FEATURES;
    o.max_clusters = CLUSTERS;
    o.warmup = WARMUP;
    o.queue = queue;
    o.half_life = 50;
    o.alpha = 1;
    return o;
}

/* Learn the stream at times that begin anew, with a step of the settlement for each point if there is a queue, and more
 * when it is full; return the CRC of the learner. */
static int learn_all(mapdpm_stream *s, uint32_t queue, uint32_t *crc)
{
    const mapdpm_options o = warming_options(queue);
    mapdpm_real x[N_FEATURES];
    int64_t time = 0;
    data_stream g;
    uint32_t i;
    size_t n = 0;
    int error = mapdpm_init(s, sizeof memory, &o);

    stream_begins(&g, WARM_UP);
    for (i = 0; i < N_POINTS && error == MAPDPM_OK; i++) {
        (void)next_point(&g, x);
        if (i == N_POINTS / 2) { /* the clock begins anew */
            while (mapdpm_settle_step(s) == 1)
                ;
            time = 0;
            if (mapdpm_learn_at(s, x, time, NULL, NULL) != MAPDPM_E_TIME || mapdpm_rebase(s, -500000) != MAPDPM_OK)
                return CLOCK;
        }
        while (mapdpm_n_queued(s) == QUEUE && error >= 0)
            MEASURED(settle, error = mapdpm_settle_step(s));
        if (error >= 0)
            MEASURED(learn, error = mapdpm_learn_at(s, x, time, NULL, NULL));
        time = mapdpm_unwrap(time, (uint32_t)time + 500000u);
    }
    if (error != MAPDPM_OK || mapdpm_settle_all(s) != MAPDPM_OK)
        return SETTLED;
    error = mapdpm_snapshot_write(s, slots[0], ROOM, &n);
    *crc = mapdpm_crc32(0, slots[0], n - 4); /* a file with its CRC has the same CRC as any other */
    return error;
}

/* A snapshot with a wrong field and a right CRC leaves no learner, which all functions refuse. */
static int forge(mapdpm_stream *s)
{
    const size_t turn = 40 + 4 * 4 + (3 + 2 * N_FEATURES + 2) * sizeof(mapdpm_real) + 3 * 8 + 4;
    mapdpm_real x[N_FEATURES] = {0, 0, 0};
    size_t n = 0, i;
    uint32_t crc;
    int error = mapdpm_snapshot_write(s, slots[0], ROOM, &n);

    slots[0][turn + 2] = 16;
    crc = mapdpm_crc32(0, slots[0], n - 4);
    for (i = 0; i < 4; i++)
        slots[0][n - 4 + i] = (unsigned char)(crc >> (8 * i));
    if (error != MAPDPM_OK || mapdpm_snapshot_read(s, sizeof memory, slots[0], n) != MAPDPM_E_DAMAGED)
        return FORGED;
    return mapdpm_learn_at(s, x, 0, NULL, NULL) == MAPDPM_E_ARGUMENT ? MAPDPM_OK : FORGED;
}

/* The power is lost while a slot is written; the other one has a whole snapshot, from which the learner goes on. */
static int lose_power(mapdpm_stream *s, uint32_t *crc)
{
    const unsigned char *const places[2] = {slots[0], slots[1]};
    uint32_t number = UINT32_MAX, found = 0;
    size_t newest = 2, n, cut;
    flash f = {NULL, 0, 0};
    int error;

    memset(slots, 0xff, sizeof slots);
    if (save_to(s, 0, number, ROOM) != MAPDPM_OK)
        return CUT;
    n = mapdpm_file_bytes(slots[0], ROOM);
    for (cut = 0; cut < n; cut += 61)
        if (save_to(s, 1, number + 1, cut) != CUT || mapdpm_snapshot_newest(places, 2, ROOM, &newest, &found) != 0 ||
            newest != 0 || found != number)
            return CUT;
    if (save_to(s, 1, number + 1, n) != MAPDPM_OK || mapdpm_snapshot_newest(places, 2, ROOM, &newest, &found) != 0 ||
        newest != 1 || found != 0)
        return CUT;
    memset(memory, 0, sizeof memory);
    f.slot = slots[newest];
    MEASURED(load, error = mapdpm_snapshot_receive(s, sizeof memory, get, &f));
    *crc = mapdpm_crc32(*crc, slots[newest], n - 4);
    return error;
}

/* What would overflow later is refused now; so is what a snapshot could not hold, and memory that is not aligned. */
static int refuse(mapdpm_stream *s)
{
    const mapdpm_real mean[N_FEATURES] = {0, 0, 0}, variance[N_FEATURES] = {1, 1, 1};
    const mapdpm_real wide[N_FEATURES] = {(mapdpm_real)3e37, 1, 1};
    const mapdpm_options o = warming_options(0);
    mapdpm_cluster c = {0, 4, 3};

    if (mapdpm_insert(s, &c, mean, variance) != MAPDPM_E_ARGUMENT)
        return LOW_PART;
    c.weight_low = 0;
    if (mapdpm_insert(s, &c, mean, wide) != MAPDPM_E_RANGE && sizeof(mapdpm_real) == 4)
        return POOLED;
#ifndef __AVR__ /* which has no alignment */
    if (mapdpm_init((mapdpm_stream *)(void *)((unsigned char *)memory + 1), sizeof memory - 1, &o) !=
        MAPDPM_E_ARGUMENT)
        return PLACED;
#else
    (void)o;
#endif
    return MAPDPM_OK;
}

int main(void)
{
    mapdpm_stream *const s = (mapdpm_stream *)(void *)memory;
    uint32_t crc = 0, stepped = 0;
    int error = learn_all(s, 0, &crc);

    report_line("at once", crc, error);
    error = learn_all(s, QUEUE, &stepped);
    report_line("in steps", stepped, error == MAPDPM_OK && stepped != crc ? SETTLED : error);
    error = lose_power(s, &crc);
    report_line("power", crc, error);
    report_line("refused", 0, refuse(s));
    report_line("forged", 0, forge(s));
    report_end(crc, sizeof memory);
    board_exit(0);
    return 0;
}
