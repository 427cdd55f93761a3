#ifndef ESP_LOG_H
#define ESP_LOG_H

#include <stdio.h>

#define ESP_LOGI(tag, format, ...) printf("I %s: " format "\n", tag, __VA_ARGS__)
#define ESP_LOGE(tag, ...) (printf("E %s: ", tag), printf(__VA_ARGS__), printf("\n"))

#endif
