/* A board with Zephyr on a desktop: NVS is the file nvs, and it loses its power after 15 minutes. */
#include <zephyr/device.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/drivers/sensor.h>
#include <zephyr/fs/nvs.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const struct device accel0 = {"accel0"}, internal_flash = {"flash"};
static int tenths, is_mounted;

bool device_is_ready(const struct device *device)
{
    return device == &accel0 || device == &internal_flash;
}

int flash_get_page_info_by_offs(const struct device *device, off_t offset, struct flash_pages_info *info)
{
    info->start_offset = offset;
    info->size = 4096;
    info->index = 8;
    return device == &internal_flash && offset == 0x8000 ? 0 : -EINVAL;
}

int nvs_mount(struct nvs_fs *fs)
{
    is_mounted = fs->flash_device == &internal_flash && fs->sector_size == 4096 && fs->sector_count >= 2;
    return is_mounted ? 0 : -EINVAL;
}

ssize_t nvs_write(struct nvs_fs *fs, uint16_t id, const void *data, size_t n)
{
    FILE *const file = is_mounted && id == 1 && n + 32 <= fs->sector_size ? fopen("nvs", "wb") : NULL;
    const size_t done = file == NULL ? 0 : fwrite(data, 1, n, file);

    return file != NULL && fclose(file) == 0 && done == n ? (ssize_t)n : -ENOSPC;
}

ssize_t nvs_read(struct nvs_fs *fs, uint16_t id, void *data, size_t n)
{
    FILE *const file = is_mounted && fs->sector_count > 0 && id == 1 ? fopen("nvs", "rb") : NULL;
    const size_t done = file == NULL ? 0 : fread(data, 1, n, file);

    if (file != NULL)
        fclose(file);
    return file == NULL ? -ENOENT : (ssize_t)done;
}

/* Two postures, a minute each. */
int sensor_channel_get(const struct device *device, enum sensor_channel channel, struct sensor_value *value)
{
    int d;

    for (d = 0; d < 3; d++) {
        value[d].val1 = (tenths / 600 % 2 == d) * 10;
        value[d].val2 = tenths * (5 + d) % 13 * 50000;
    }
    return device == &accel0 && channel == SENSOR_CHAN_ACCEL_XYZ ? 0 : -ENOTSUP;
}

int sensor_sample_fetch(const struct device *device)
{
    return device == &accel0 ? 0 : -ENODEV;
}

int32_t k_msleep(int32_t ms)
{
    tenths += ms / 100;
    if (tenths >= 9000)
        exit(0);
    return 0;
}

void printk(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
}
