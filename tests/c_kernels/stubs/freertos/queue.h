#ifndef QUEUE_H
#define QUEUE_H

#include "FreeRTOS.h"

typedef struct StaticQueue {
    uint8_t *items;
    UBaseType_t length, item_size, first, n;
} StaticQueue_t;
typedef StaticQueue_t *QueueHandle_t;

QueueHandle_t xQueueCreateStatic(UBaseType_t length, UBaseType_t item_size, uint8_t *items, StaticQueue_t *queue);
BaseType_t xQueueSendFromISR(QueueHandle_t queue, const void *item, BaseType_t *woken);
BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks);

#endif
