#ifndef IDF_TASK_H
#define IDF_TASK_H

#include "freertos/FreeRTOS.h"

void vTaskDelay(TickType_t ticks);

#endif
