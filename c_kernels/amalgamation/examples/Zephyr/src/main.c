/* Learns from the accelerometer of a board, ten times a second. Every ten minutes it saves the learner in NVS, which
 * survives a loss of power at any time: the old value stays until the new one is whole.
 */
#include "mapdpm.h"

#include <zephyr/device.h>
#include <zephyr/drivers/flash.h>
#include <zephyr/drivers/sensor.h>
#include <zephyr/fs/nvs.h>
#include <zephyr/kernel.h>
#include <zephyr/storage/flash_map.h>
#include <zephyr/sys/printk.h>

enum { D = 3, K = 8, POINTS_PER_SAVE = 6000, LEARNER = 1 };

static uint64_t memory[MAPDPM_STATE_BYTES(D, K) / 8];
static mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;
static unsigned char file[MAPDPM_SNAPSHOT_BYTES(D, K)];
static struct nvs_fs storage;

static int open_storage(void)
{
    struct flash_pages_info page;
    int error;

    storage.flash_device = FIXED_PARTITION_DEVICE(storage_partition);
    storage.offset = FIXED_PARTITION_OFFSET(storage_partition);
    if (!device_is_ready(storage.flash_device))
        return -ENODEV;
    error = flash_get_page_info_by_offs(storage.flash_device, storage.offset, &page);
    if (error != 0)
        return error;
    storage.sector_size = (uint16_t)page.size;
    storage.sector_count = 3;
    return nvs_mount(&storage);
}

static int restore(void)
{
    const ssize_t n = nvs_read(&storage, LEARNER, file, sizeof file);

    return n <= 0 ? MAPDPM_E_UNKNOWN : mapdpm_snapshot_read(learner, sizeof memory, file, (size_t)n);
}

static int start(void)
{
    static const mapdpm_real centre[D] = {0, 0, 0}, spread[D] = {1, 1, 1}; /* in m/s^2 */
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

static int save(void)
{
    size_t n;
    int error = mapdpm_snapshot_write(learner, file, sizeof file, &n);

    if (error == MAPDPM_OK && nvs_write(&storage, LEARNER, file, n) < 0)
        printk("NVS is full, or its sectors are too small\n"); /* learning goes on */
    return error;
}

static int read_sensor(const struct device *sensor, mapdpm_real *x)
{
    struct sensor_value values[D];
    int d, error = sensor_sample_fetch(sensor);

    if (error == 0)
        error = sensor_channel_get(sensor, SENSOR_CHAN_ACCEL_XYZ, values);
    for (d = 0; d < D && error == 0; d++)
        x[d] = (mapdpm_real)sensor_value_to_double(&values[d]);
    return error;
}

int main(void)
{
    const struct device *const sensor = DEVICE_DT_GET(DT_ALIAS(accel0));
    int error;

    if (!device_is_ready(sensor) || open_storage() != 0) {
        printk("no sensor, or no storage\n");
        return 0;
    }
    error = restore();
    printk("restored: %s\n", error == MAPDPM_OK ? "yes" : mapdpm_error_name(error));
    if (error != MAPDPM_OK)
        error = start();
    while (error == MAPDPM_OK) {
        mapdpm_real x[D], score;
        uint32_t id;

        if (read_sensor(sensor, x) == 0) {
            error = mapdpm_learn(learner, x, &id, &score);
            if (error == MAPDPM_OK)
                printk("cluster %u, log density %d / 100\n", (unsigned)id, (int)(100 * score));
            if (error == MAPDPM_OK && mapdpm_n_seen(learner) % POINTS_PER_SAVE == 0)
                error = save();
        }
        k_msleep(100);
    }
    printk("error %d %s\n", error, mapdpm_error_name(error));
    return 0;
}
