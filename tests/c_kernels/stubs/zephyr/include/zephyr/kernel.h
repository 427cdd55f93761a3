#ifndef ZEPHYR_KERNEL_H
#define ZEPHYR_KERNEL_H

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>

int32_t k_msleep(int32_t ms);

#endif
