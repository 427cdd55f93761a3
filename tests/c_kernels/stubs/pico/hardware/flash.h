#ifndef HARDWARE_FLASH_H
#define HARDWARE_FLASH_H

#include <stddef.h>
#include <stdint.h>

#define FLASH_PAGE_SIZE (1u << 8)
#define FLASH_SECTOR_SIZE (1u << 12)
#define PICO_FLASH_SIZE_BYTES (16 * FLASH_SECTOR_SIZE)

extern uint8_t pico_flash[PICO_FLASH_SIZE_BYTES];
#define XIP_BASE ((uintptr_t)pico_flash)

void flash_range_erase(uint32_t at, size_t n);
void flash_range_program(uint32_t at, const uint8_t *bytes, size_t n);

#endif
