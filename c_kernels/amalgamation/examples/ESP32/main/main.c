/* An ESP32 that learns from an analogue accelerometer on three inputs, ten times a second, and forgets with a half-life
 * of a day. Every ten minutes it saves the learner in NVS, which survives a loss of power at any time: the old value
 * stays until the new one is whole.
 */
#include "mapdpm.h"

#include "esp_adc/adc_oneshot.h"
#include "esp_err.h"
#include "esp_log.h"
#include "esp_timer.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#include "nvs.h"
#include "nvs_flash.h"

enum { D = 3, K = 8, POINTS_PER_SAVE = 6000 };

static const char *const TAG = "learner";
static uint64_t memory[MAPDPM_STATE_BYTES(D, K) / 8];
static mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;
static unsigned char file[MAPDPM_SNAPSHOT_BYTES(D, K)];
static nvs_handle_t storage;

static void open_storage(void)
{
    esp_err_t error = nvs_flash_init();

    if (error == ESP_ERR_NVS_NO_FREE_PAGES || error == ESP_ERR_NVS_NEW_VERSION_FOUND) {
        ESP_ERROR_CHECK(nvs_flash_erase());
        error = nvs_flash_init();
    }
    ESP_ERROR_CHECK(error);
    ESP_ERROR_CHECK(nvs_open("mapdpm", NVS_READWRITE, &storage));
}

/* The clock of the chip starts at 0. The last point that the learner saw counts as one of now. */
static int restore(void)
{
    size_t n = sizeof file;
    int error;

    if (nvs_get_blob(storage, "learner", file, &n) != ESP_OK)
        return MAPDPM_E_UNKNOWN;
    error = mapdpm_snapshot_read(learner, sizeof memory, file, n);
    return error != MAPDPM_OK ? error : mapdpm_rebase(learner, esp_timer_get_time());
}

static int start(void)
{
    static const mapdpm_real centre[D] = {0, 0, 0}, spread[D] = {0.1f, 0.1f, 0.1f}; /* in g */
    mapdpm_real prior[2 * D + 2];
    mapdpm_options options = {0};
    int error = mapdpm_prior(prior, D, centre, spread);

    options.family = MAPDPM_NORMAL_GAMMA;
    options.n_features = D;
    options.max_clusters = K;
    options.parameters = prior;
    options.alpha = 1;
    options.half_life = 24 * 3600; /* seconds, with mapdpm_learn_at */
    return error != MAPDPM_OK ? error : mapdpm_init(learner, sizeof memory, &options);
}

static int save(void)
{
    size_t n;
    int error = mapdpm_snapshot_write(learner, file, sizeof file, &n);

    if (error == MAPDPM_OK && (nvs_set_blob(storage, "learner", file, n) != ESP_OK || nvs_commit(storage) != ESP_OK))
        ESP_LOGE(TAG, "NVS is full, or its partition is too small"); /* learning goes on */
    return error;
}

/* In g: half the range at rest, a tenth of it for each g. */
static void read_sensor(adc_oneshot_unit_handle_t adc, mapdpm_real *x)
{
    int d;

    for (d = 0; d < D; d++) {
        int raw = 0;

        ESP_ERROR_CHECK(adc_oneshot_read(adc, (adc_channel_t)(ADC_CHANNEL_0 + d), &raw));
        x[d] = (mapdpm_real)(raw - 2048) / 409.6f;
    }
}

static adc_oneshot_unit_handle_t open_sensor(void)
{
    const adc_oneshot_unit_init_cfg_t unit = {.unit_id = ADC_UNIT_1};
    const adc_oneshot_chan_cfg_t channel = {.atten = ADC_ATTEN_DB_12, .bitwidth = ADC_BITWIDTH_12};
    adc_oneshot_unit_handle_t adc;
    int d;

    ESP_ERROR_CHECK(adc_oneshot_new_unit(&unit, &adc));
    for (d = 0; d < D; d++)
        ESP_ERROR_CHECK(adc_oneshot_config_channel(adc, (adc_channel_t)(ADC_CHANNEL_0 + d), &channel));
    return adc;
}

void app_main(void)
{
    const adc_oneshot_unit_handle_t adc = open_sensor();
    int error;

    open_storage();
    error = restore();
    ESP_LOGI(TAG, "restored: %s", error == MAPDPM_OK ? "yes" : mapdpm_error_name(error));
    if (error != MAPDPM_OK)
        error = start();
    while (error == MAPDPM_OK) {
        mapdpm_real x[D], score;
        uint32_t id;

        read_sensor(adc, x);
        error = mapdpm_learn_at(learner, x, esp_timer_get_time(), &id, &score);
        if (error == MAPDPM_OK)
            ESP_LOGI(TAG, "cluster %u, log density %.2f", (unsigned)id, (double)score);
        if (error == MAPDPM_OK && mapdpm_n_seen(learner) % POINTS_PER_SAVE == 0)
            error = save();
        vTaskDelay(pdMS_TO_TICKS(100));
    }
    ESP_LOGE(TAG, "error %d %s", error, mapdpm_error_name(error));
}
