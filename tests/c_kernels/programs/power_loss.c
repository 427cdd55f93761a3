/* Two slots in a flash that loses its power at each byte of each erase and each write, in turn: what is restored must be
 * one of the last two whole states, bit for bit, and learning must go on to the same bits. Prints the number of cuts. */
#include "two_slots.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { D = 1, K = 2, SLOT = 1024, SAVES = 3, POINTS = 20, LAST = 2 * SAVES + 1, FILE_BYTES = 2048 };
enum { BLANK, GARBAGE, USED, STARTS }; /* what is in the flash at first */

static unsigned char flash[2][SLOT];
static long left; /* bytes until the power is lost */
static jmp_buf power_loss;
static uint64_t memory[MAPDPM_STATE_BYTES(D, K) / 8];
static mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;
static unsigned char states[LAST + 1][FILE_BYTES]; /* after each batch of points, without any loss of power */
static volatile unsigned saved;                    /* the last state of which we know that it is in the flash */

#define CHECK(condition) (void)((condition) || (failed(#condition, __LINE__), 0))

static void failed(const char *condition, int line)
{
    printf("line %d: %s\n", line, condition);
    exit(1);
}

/* A byte goes over to its new value, or half of its bits do. */
static void change(unsigned char *byte, unsigned char value, unsigned char half)
{
    if (left-- == 0) {
        *byte = half;
        longjmp(power_loss, 1);
    }
    *byte = value;
}

const unsigned char *slot_memory(unsigned slot)
{
    return flash[slot];
}

int slot_erase(unsigned slot)
{
    unsigned char *const bytes = flash[slot];
    size_t i;

    for (i = 0; i < SLOT; i++)
        change(&bytes[i], 0xff, (unsigned char)(bytes[i] | 0xf0));
    return 0;
}

/* Writing clears bits. */
int slot_write(unsigned slot, size_t at, const unsigned char page[TWO_SLOTS_PAGE])
{
    size_t i;

    CHECK(at % TWO_SLOTS_PAGE == 0 && at + TWO_SLOTS_PAGE <= SLOT);
    for (i = 0; i < TWO_SLOTS_PAGE; i++) {
        unsigned char *const byte = &flash[slot][at + i];

        change(byte, (unsigned char)(*byte & page[i]), (unsigned char)(*byte & (page[i] | 0x0f)));
    }
    return 0;
}

static void start(void)
{
    static const mapdpm_real centre[D] = {5}, spread[D] = {1};
    mapdpm_real prior[2 * D + 2];
    mapdpm_options options = {0};

    CHECK(mapdpm_prior(prior, D, centre, spread) == MAPDPM_OK);
    options.family = MAPDPM_NORMAL_GAMMA;
    options.n_features = D;
    options.max_clusters = K;
    options.parameters = prior;
    options.alpha = 1;
    CHECK(mapdpm_init(learner, sizeof memory, &options) == MAPDPM_OK);
}

/* Learns the points up to the end of a batch, from where the learner is. */
static void learn(unsigned batch)
{
    while (mapdpm_n_seen(learner) < batch * POINTS) {
        const unsigned n = (unsigned)mapdpm_n_seen(learner);
        const mapdpm_real x[D] = {(mapdpm_real)(n % 2 * 10) + (mapdpm_real)(n * 7 % 11) / 8};

        CHECK(mapdpm_learn(learner, x, NULL, NULL) == MAPDPM_OK);
    }
}

static int is_state(unsigned batch)
{
    static unsigned char now[FILE_BYTES];
    size_t n;

    memset(now, 0, sizeof now);
    CHECK(mapdpm_snapshot_write(learner, now, sizeof now, &n) == MAPDPM_OK);
    return memcmp(now, states[batch], sizeof now) == 0;
}

/* Starts or goes on, and saves three times. */
static void run(void)
{
    two_slots slots;
    unsigned first, i;

    if (two_slots_restore(&slots, SLOT, learner, sizeof memory) != MAPDPM_OK)
        start();
    first = (unsigned)mapdpm_n_seen(learner) / POINTS;
    for (i = first + 1; i <= first + SAVES; i++) {
        learn(i);
        CHECK(two_slots_save(&slots, learner) == MAPDPM_OK);
        saved = i;
    }
}

static void prepare(int kind)
{
    static uint32_t random = 1;
    size_t i;

    saved = 0;
    left = -1;
    memset(flash, 0xff, sizeof flash);
    for (i = 0; kind == GARBAGE && i < sizeof flash; i++) {
        random = random * 1664525u + 1013904223u;
        flash[i / SLOT][i % SLOT] = (unsigned char)(random >> 24);
    }
    if (kind == USED)
        run();
}

/* After a loss of power: nothing is in memory. */
static void recover(void)
{
    two_slots slots;
    int error;

    left = -1;
    memset(memory, 0xa5, sizeof memory);
    error = two_slots_restore(&slots, SLOT, learner, sizeof memory);
    if (error != MAPDPM_OK) {
        CHECK(saved == 0 && error == MAPDPM_E_UNKNOWN);
        start();
    } else {
        CHECK((saved > 0 && is_state(saved)) || is_state(saved + 1));
    }
    learn(LAST);
    CHECK(is_state(LAST));
    CHECK(two_slots_save(&slots, learner) == MAPDPM_OK);
    memset(memory, 0xa5, sizeof memory);
    CHECK(two_slots_restore(&slots, SLOT, learner, sizeof memory) == MAPDPM_OK && is_state(LAST));
}

int main(void)
{
    static volatile long cuts;
    static volatile int kind;
    unsigned i;

    start();
    for (i = 0; i <= LAST; i++) {
        size_t n;

        learn(i);
        CHECK(mapdpm_snapshot_write(learner, states[i], FILE_BYTES, &n) == MAPDPM_OK);
    }
    for (kind = 0; kind < STARTS; kind++) {
        static volatile long at;
        static volatile int is_cut;

        for (at = 0, is_cut = 1; is_cut; at++) {
            prepare(kind);
            left = at;
            if (setjmp(power_loss) == 0) {
                run();
                is_cut = 0;
            }
            recover();
            cuts += is_cut;
        }
    }
    printf("%ld\n", cuts);
    return 0;
}
