/* Two slots in a file instead of a flash, to try it on a desktop: learns ten points in each run, and goes on where the
 * last run ended, even if you stop it in the middle.
 *
 *     cc -I../../src main.c two_slots.c ../../src/mapdpm.c -o two_slots && ./two_slots && ./two_slots
 */
#include "two_slots.h"

#include <stdio.h>
#include <string.h>

enum { D = 2, K = 8, SECTOR = 4096 };

static uint64_t memory[MAPDPM_STATE_BYTES(D, K) / 8];
static unsigned char flash[2][SECTOR]; /* what is in the file */
static const char *const FILE_NAME = "learner.flash";

const unsigned char *slot_memory(unsigned slot)
{
    return flash[slot];
}

static int to_file(unsigned slot, size_t at, size_t n)
{
    FILE *file = fopen(FILE_NAME, "r+b");
    int failed;

    if (file == NULL)
        return 1;
    failed = fseek(file, (long)(slot * SECTOR + at), SEEK_SET) != 0 || fwrite(flash[slot] + at, 1, n, file) != n;
    return fclose(file) != 0 || failed;
}

int slot_erase(unsigned slot)
{
    memset(flash[slot], 0xff, SECTOR);
    return to_file(slot, 0, SECTOR);
}

int slot_write(unsigned slot, size_t at, const unsigned char page[TWO_SLOTS_PAGE])
{
    memcpy(flash[slot] + at, page, TWO_SLOTS_PAGE);
    return to_file(slot, at, TWO_SLOTS_PAGE);
}

/* Reads the file, or makes an empty one. */
static int open_flash(void)
{
    FILE *file = fopen(FILE_NAME, "rb");
    size_t n = 0;

    memset(flash, 0xff, sizeof flash);
    if (file != NULL) {
        n = fread(flash, 1, sizeof flash, file);
        fclose(file);
    }
    if (n == sizeof flash)
        return 0;
    file = fopen(FILE_NAME, "wb");
    n = file == NULL ? 0 : fwrite(flash, 1, sizeof flash, file);
    return file == NULL || fclose(file) != 0 || n != sizeof flash;
}

static int start(mapdpm_stream *learner)
{
    static const mapdpm_real centre[D] = {5, 5}, spread[D] = {1, 1};
    mapdpm_real prior[2 * D + 2];
    mapdpm_options options = {0};
    int error = mapdpm_prior(prior, D, centre, spread);

    options.family = MAPDPM_NORMAL_GAMMA;
    options.n_features = D;
    options.max_clusters = K;
    options.parameters = prior;
    options.alpha = 1;
    return error != MAPDPM_OK ? error : mapdpm_init(learner, sizeof memory, &options);
}

int main(void)
{
    mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;
    two_slots slots;
    unsigned i;
    int error = open_flash();

    if (error == 0)
        error = two_slots_restore(&slots, SECTOR, learner, sizeof memory);
    if (error == MAPDPM_E_UNKNOWN)
        error = start(learner);
    for (i = 0; i < 10 && error == MAPDPM_OK; i++) {
        const unsigned n = (unsigned)mapdpm_n_seen(learner);
        const mapdpm_real x[D] = {(mapdpm_real)(n % 2 * 10) + (mapdpm_real)(n % 7) / 4, (mapdpm_real)(n % 5) / 4};

        error = mapdpm_learn(learner, x, NULL, NULL);
    }
    if (error == MAPDPM_OK)
        error = two_slots_save(&slots, learner);
    if (error != MAPDPM_OK) {
        printf("error %d %s\n", error, mapdpm_error_name(error));
        return 1;
    }
    printf("%u points, %u clusters, file %u in slot %u\n", (unsigned)mapdpm_n_seen(learner),
           (unsigned)mapdpm_n_clusters(learner), (unsigned)slots.sequence, slots.newest);
    return 0;
}
