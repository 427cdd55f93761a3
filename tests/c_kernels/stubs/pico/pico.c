/* A Pico on a desktop: its flash is the file pico.flash, and it loses its power after 1500 seconds. */
#include "hardware/adc.h"
#include "hardware/flash.h"
#include "hardware/sync.h"
#include "pico/stdlib.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint8_t pico_flash[PICO_FLASH_SIZE_BYTES];
static unsigned seconds, input, is_disabled, is_ready;

static void need(int condition, const char *what)
{
    if (!condition) {
        printf("failed: %s\n", what);
        exit(1);
    }
}

bool stdio_init_all(void)
{
    FILE *const file = fopen("pico.flash", "rb");

    memset(pico_flash, 0xff, sizeof pico_flash);
    if (file != NULL) {
        need(fread(pico_flash, 1, sizeof pico_flash, file) == sizeof pico_flash, "the file of the flash");
        fclose(file);
    }
    return true;
}

void sleep_ms(uint32_t ms)
{
    seconds += ms / 1000;
    if (seconds == 1500) {
        FILE *const file = fopen("pico.flash", "wb");

        need(file != NULL && fwrite(pico_flash, 1, sizeof pico_flash, file) == sizeof pico_flash, "a file");
        need(fclose(file) == 0, "a whole file");
        exit(0);
    }
}

void adc_init(void)
{
    is_ready |= 1;
}

void adc_gpio_init(uint gpio)
{
    is_ready |= (gpio == 26) * 2u;
}

void adc_set_temp_sensor_enabled(bool enable)
{
    is_ready |= enable * 4u;
}

void adc_select_input(uint number)
{
    input = number;
}

/* The voltage changes every five minutes. */
uint16_t adc_read(void)
{
    need(is_ready == 7 && (input == 0 || input == 4), "the converter is set up");
    return (uint16_t)((input == 4 ? 876 : seconds / 300 % 2 * 1000 + 1000) + seconds * 7 % 11);
}

uint32_t save_and_disable_interrupts(void)
{
    need(!is_disabled, "interrupts were enabled");
    is_disabled = 1;
    return 7;
}

void restore_interrupts(uint32_t status)
{
    need(is_disabled && status == 7, "interrupts were disabled");
    is_disabled = 0;
}

void flash_range_erase(uint32_t at, size_t n)
{
    need(is_disabled && at % FLASH_SECTOR_SIZE == 0 && n % FLASH_SECTOR_SIZE == 0, "whole sectors");
    need(n <= PICO_FLASH_SIZE_BYTES && at <= PICO_FLASH_SIZE_BYTES - n, "sectors of the flash");
    memset(pico_flash + at, 0xff, n);
}

void flash_range_program(uint32_t at, const uint8_t *bytes, size_t n)
{
    size_t i;

    need(is_disabled && at % FLASH_PAGE_SIZE == 0 && n % FLASH_PAGE_SIZE == 0, "whole pages");
    need(n <= PICO_FLASH_SIZE_BYTES && at <= PICO_FLASH_SIZE_BYTES - n, "pages of the flash");
    for (i = 0; i < n; i++)
        pico_flash[at + i] &= bytes[i];
}
