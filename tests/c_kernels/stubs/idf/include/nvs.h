#ifndef NVS_H
#define NVS_H

#include "esp_err.h"

#include <stddef.h>
#include <stdint.h>

#define ESP_ERR_NVS_NO_FREE_PAGES 0x110d
#define ESP_ERR_NVS_NEW_VERSION_FOUND 0x1110
#define ESP_ERR_NVS_NOT_FOUND 0x1102

typedef uint32_t nvs_handle_t;
typedef enum { NVS_READONLY, NVS_READWRITE } nvs_open_mode_t;

esp_err_t nvs_open(const char *name, nvs_open_mode_t mode, nvs_handle_t *handle);
esp_err_t nvs_get_blob(nvs_handle_t handle, const char *key, void *value, size_t *n);
esp_err_t nvs_set_blob(nvs_handle_t handle, const char *key, const void *value, size_t n);
esp_err_t nvs_commit(nvs_handle_t handle);

#endif
