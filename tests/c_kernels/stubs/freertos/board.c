/* A board for examples/FreeRTOS on a desktop. The scheduler lets the sensor interrupt 20 times, and then runs each task
 * from its start until it must wait. After 400 readings it shows what was lost, and ends. */
#include "board.h"

#include "queue.h"
#include "semphr.h"
#include "task.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static StaticTask_t *tasks[4];
static unsigned n_tasks, n_readings, n_learned, n_shown, is_started;
static jmp_buf waits;

static void need(int condition, const char *what)
{
    if (!condition) {
        printf("failed: %s\n", what);
        exit(1);
    }
}

QueueHandle_t xQueueCreateStatic(UBaseType_t length, UBaseType_t item_size, uint8_t *items, StaticQueue_t *queue)
{
    const StaticQueue_t made = {items, length, item_size, 0, 0};

    *queue = made;
    return queue;
}

BaseType_t xQueueSendFromISR(QueueHandle_t queue, const void *item, BaseType_t *woken)
{
    if (queue->n == queue->length)
        return pdFALSE;
    memcpy(queue->items + (queue->first + queue->n) % queue->length * queue->item_size, item, queue->item_size);
    queue->n++;
    *woken = pdTRUE;
    return pdTRUE;
}

BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks)
{
    need(ticks == portMAX_DELAY, "the task waits for ever");
    if (queue->n == 0)
        longjmp(waits, 1);
    memcpy(item, queue->items + queue->first * queue->item_size, queue->item_size);
    queue->first = (queue->first + 1) % queue->length;
    queue->n--;
    return pdTRUE;
}

SemaphoreHandle_t xSemaphoreCreateMutexStatic(StaticSemaphore_t *semaphore)
{
    semaphore->taken = 0;
    return semaphore;
}

BaseType_t xSemaphoreTake(SemaphoreHandle_t semaphore, TickType_t ticks)
{
    (void)ticks;
    need(!semaphore->taken, "the mutex is free");
    semaphore->taken = 1;
    return pdTRUE;
}

BaseType_t xSemaphoreGive(SemaphoreHandle_t semaphore)
{
    need(semaphore->taken, "the mutex is taken");
    semaphore->taken = 0;
    return pdTRUE;
}

TaskHandle_t xTaskCreateStatic(TaskFunction_t function, const char *name, uint32_t stack_words, void *argument,
                               UBaseType_t priority, StackType_t *stack, StaticTask_t *task)
{
    need(function != NULL && name != NULL && stack_words * sizeof *stack >= 2048 && priority > 0, "a task");
    task->function = function;
    task->argument = argument;
    tasks[n_tasks++] = task;
    return task;
}

void vTaskDelay(TickType_t ticks)
{
    need(ticks > 0, "a task that waits");
    longjmp(waits, 1);
}

void vTaskStartScheduler(void)
{
    need(is_started, "the sensor was started");
    while (n_readings < 400) {
        static volatile unsigned i;

        for (i = 0; i < 20; i++)
            board_sensor_ready();
        for (i = 0; i < n_tasks; i++)
            if (setjmp(waits) == 0)
                tasks[i]->function(tasks[i]->argument);
    }
    printf("%u readings, %u learned, %u times a cluster was shown\n", n_readings, n_learned, n_shown);
    exit(0);
}

void board_start_sensor(void)
{
    is_started = 1;
}

/* Three postures. */
void board_read_sensor(mapdpm_real *x)
{
    const unsigned n = n_readings++;
    unsigned d;

    for (d = 0; d < 3; d++)
        x[d] = (mapdpm_real)(n / 50 % 3 == d) + (mapdpm_real)(n * (5 + d) % 13) / 64;
}

void board_learned(int error, uint32_t id, mapdpm_real score)
{
    need(error == MAPDPM_OK && id != MAPDPM_NO_ID && score < 100, "a reading is learned");
    n_learned++;
}

void board_show(const mapdpm_cluster *cluster, const mapdpm_real *mean)
{
    need(cluster->weight > 0 && mean[0] > -1 && mean[0] < 2, "a cluster");
    n_shown++;
}
