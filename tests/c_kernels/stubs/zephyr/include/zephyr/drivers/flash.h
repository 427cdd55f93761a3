#ifndef ZEPHYR_DRIVERS_FLASH_H
#define ZEPHYR_DRIVERS_FLASH_H

#include <zephyr/device.h>

#include <stddef.h>
#include <sys/types.h>

struct flash_pages_info {
    off_t start_offset;
    size_t size;
    uint32_t index;
};

int flash_get_page_info_by_offs(const struct device *device, off_t offset, struct flash_pages_info *info);

#endif
