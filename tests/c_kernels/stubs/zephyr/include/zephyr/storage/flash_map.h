#ifndef ZEPHYR_STORAGE_FLASH_MAP_H
#define ZEPHYR_STORAGE_FLASH_MAP_H

#define FIXED_PARTITION_DEVICE(label) (&internal_flash)
#define FIXED_PARTITION_OFFSET(label) 0x8000

#endif
