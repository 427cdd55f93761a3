/* An ESP32 on a desktop: NVS is the file nvs, and it loses its power after 15 minutes. */
#include "esp_adc/adc_oneshot.h"
#include "esp_timer.h"
#include "freertos/task.h"
#include "nvs_flash.h"

#include <stdio.h>
#include <string.h>

struct adc_oneshot_unit_ctx_t {
    int channels;
};

static struct adc_oneshot_unit_ctx_t unit;
static int64_t now;
static unsigned char value[4096];
static size_t value_bytes;

void app_main(void);

esp_err_t nvs_flash_init(void)
{
    FILE *const file = fopen("nvs", "rb");

    if (file != NULL) {
        value_bytes = fread(value, 1, sizeof value, file);
        fclose(file);
    }
    return ESP_OK;
}

esp_err_t nvs_flash_erase(void)
{
    value_bytes = 0;
    return ESP_OK;
}

esp_err_t nvs_open(const char *name, nvs_open_mode_t mode, nvs_handle_t *handle)
{
    *handle = 5;
    return strlen(name) <= 15 && mode == NVS_READWRITE ? ESP_OK : -1;
}

esp_err_t nvs_get_blob(nvs_handle_t handle, const char *key, void *to, size_t *n)
{
    if (value_bytes == 0)
        return ESP_ERR_NVS_NOT_FOUND;
    if (handle != 5 || strcmp(key, "learner") != 0 || *n < value_bytes)
        return -1;
    memcpy(to, value, value_bytes);
    *n = value_bytes;
    return ESP_OK;
}

esp_err_t nvs_set_blob(nvs_handle_t handle, const char *key, const void *from, size_t n)
{
    if (handle != 5 || strcmp(key, "learner") != 0 || n > sizeof value)
        return -1;
    memcpy(value, from, n);
    value_bytes = n;
    return ESP_OK;
}

esp_err_t nvs_commit(nvs_handle_t handle)
{
    FILE *const file = fopen("nvs", "wb");
    const size_t n = file == NULL ? 0 : fwrite(value, 1, value_bytes, file);

    return file != NULL && fclose(file) == 0 && n == value_bytes && handle == 5 ? ESP_OK : -1;
}

int64_t esp_timer_get_time(void)
{
    return now;
}

void vTaskDelay(TickType_t ticks)
{
    now += (int64_t)ticks * 1000;
    if (now >= (int64_t)15 * 60 * 1000000)
        exit(0);
}

esp_err_t adc_oneshot_new_unit(const adc_oneshot_unit_init_cfg_t *config, adc_oneshot_unit_handle_t *handle)
{
    *handle = &unit;
    return config->unit_id == ADC_UNIT_1 ? ESP_OK : -1;
}

esp_err_t adc_oneshot_config_channel(adc_oneshot_unit_handle_t handle, adc_channel_t channel,
                                     const adc_oneshot_chan_cfg_t *config)
{
    handle->channels |= 1 << channel;
    return config->bitwidth == ADC_BITWIDTH_12 ? ESP_OK : -1;
}

/* Two postures, a minute each. */
esp_err_t adc_oneshot_read(adc_oneshot_unit_handle_t handle, adc_channel_t channel, int *raw)
{
    const int tenths = (int)(now / 100000);

    *raw = 2048 + tenths * (5 + (int)channel) % 13 * 4 + (tenths / 600 % 2 == (int)channel) * 410;
    return handle->channels >> channel & 1 ? ESP_OK : -1;
}

int main(void)
{
    app_main();
    return 1; /* it ends by a loss of power */
}
