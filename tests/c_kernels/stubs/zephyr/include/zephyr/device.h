#ifndef ZEPHYR_DEVICE_H
#define ZEPHYR_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

struct device {
    const char *name;
};

extern const struct device accel0, internal_flash;
#define DT_ALIAS(alias) alias
#define DEVICE_DT_GET(node) (&node)

bool device_is_ready(const struct device *device);

#endif
