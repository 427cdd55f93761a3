#ifndef ZEPHYR_DRIVERS_SENSOR_H
#define ZEPHYR_DRIVERS_SENSOR_H

#include <zephyr/device.h>

struct sensor_value {
    int32_t val1;
    int32_t val2; /* millionths */
};
enum sensor_channel { SENSOR_CHAN_ACCEL_X, SENSOR_CHAN_ACCEL_Y, SENSOR_CHAN_ACCEL_Z, SENSOR_CHAN_ACCEL_XYZ };

int sensor_sample_fetch(const struct device *device);
int sensor_channel_get(const struct device *device, enum sensor_channel channel, struct sensor_value *value);
static inline double sensor_value_to_double(const struct sensor_value *value)
{
    return value->val1 + value->val2 / 1000000.0;
}

#endif
