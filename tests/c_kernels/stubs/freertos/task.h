#ifndef TASK_H
#define TASK_H

#include "FreeRTOS.h"

typedef struct StaticTask {
    void (*function)(void *);
    void *argument;
} StaticTask_t;
typedef StaticTask_t *TaskHandle_t;
typedef void (*TaskFunction_t)(void *);

TaskHandle_t xTaskCreateStatic(TaskFunction_t function, const char *name, uint32_t stack_words, void *argument,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *task);
void vTaskStartScheduler(void);
void vTaskDelay(TickType_t ticks);

#endif
