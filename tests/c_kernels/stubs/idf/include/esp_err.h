#ifndef ESP_ERR_H
#define ESP_ERR_H

#include <stdlib.h>

typedef int esp_err_t;
#define ESP_OK 0
#define ESP_ERROR_CHECK(call) ((call) == ESP_OK ? (void)0 : abort())

#endif
