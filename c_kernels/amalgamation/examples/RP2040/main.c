/* A Raspberry Pi Pico that learns its temperature and the voltage at GP26, once a second. It saves the learner every ten
 * minutes in the last two sectors of its flash, and goes on after a loss of power. A flash of 100,000 erasures per
 * sector lasts nearly four years so.
 */
#include "mapdpm.h"
#include "two_slots.h"

#include "hardware/adc.h"
#include "hardware/flash.h"
#include "hardware/sync.h"
#include "pico/stdlib.h"

#include <stdio.h>

enum { D = 2, K = 8, POINTS_PER_SAVE = 600, VOLTAGE_INPUT = 0, TEMPERATURE_INPUT = 4 };

#define SLOTS_AT (PICO_FLASH_SIZE_BYTES - 2 * FLASH_SECTOR_SIZE)

_Static_assert(TWO_SLOTS_PAGE == FLASH_PAGE_SIZE, "two_slots.c writes whole pages");
_Static_assert(MAPDPM_SNAPSHOT_BYTES(D, K) + MAPDPM_SEQUENCE_BYTES <= FLASH_SECTOR_SIZE, "a slot is one sector");

static uint64_t memory[MAPDPM_STATE_BYTES(D, K) / 8];

const unsigned char *slot_memory(unsigned slot)
{
    return (const unsigned char *)(XIP_BASE + SLOTS_AT) + slot * FLASH_SECTOR_SIZE;
}

/* The flash cannot be read meanwhile, so no interrupt may run. If the other core runs too, use flash_safe_execute. */
int slot_erase(unsigned slot)
{
    const uint32_t interrupts = save_and_disable_interrupts();

    flash_range_erase(SLOTS_AT + slot * FLASH_SECTOR_SIZE, FLASH_SECTOR_SIZE);
    restore_interrupts(interrupts);
    return 0;
}

int slot_write(unsigned slot, size_t at, const unsigned char page[TWO_SLOTS_PAGE])
{
    const uint32_t interrupts = save_and_disable_interrupts();

    flash_range_program(SLOTS_AT + slot * FLASH_SECTOR_SIZE + (uint32_t)at, page, FLASH_PAGE_SIZE);
    restore_interrupts(interrupts);
    return 0;
}

static mapdpm_real volts(unsigned input)
{
    adc_select_input(input);
    return (mapdpm_real)adc_read() * (3.3f / 4096);
}

static int start(mapdpm_stream *learner)
{
    static const mapdpm_real centre[D] = {25, 1.6f}, spread[D] = {1, 0.05f}; /* degrees, volts */
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
    int error;

    stdio_init_all();
    adc_init();
    adc_gpio_init(26);
    adc_set_temp_sensor_enabled(true);
    if (two_slots_restore(&slots, FLASH_SECTOR_SIZE, learner, sizeof memory) == MAPDPM_OK)
        error = MAPDPM_OK;
    else
        error = start(learner);
    while (error == MAPDPM_OK) {
        const mapdpm_real x[D] = {27 - (volts(TEMPERATURE_INPUT) - 0.706f) / 0.001721f, volts(VOLTAGE_INPUT)};
        mapdpm_real score;
        uint32_t id;

        error = mapdpm_learn(learner, x, &id, &score);
        if (error == MAPDPM_OK)
            printf("cluster %u, log density %.2f\n", (unsigned)id, (double)score);
        if (error == MAPDPM_OK && mapdpm_n_seen(learner) % POINTS_PER_SAVE == 0)
            error = two_slots_save(&slots, learner);
        sleep_ms(1000);
    }
    for (;;) {
        printf("error %d %s\n", error, mapdpm_error_name(error));
        sleep_ms(1000);
    }
}
