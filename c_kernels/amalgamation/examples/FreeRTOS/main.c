/* A learner in a task of FreeRTOS. The interrupt of the sensor puts readings into a queue, and one task learns them.
 * Another task shows the clusters; a mutex keeps it from reading while the first one learns.
 *
 * All memory is static: configSUPPORT_STATIC_ALLOCATION must be 1. Compile mapdpm.c and this file with
 * -DMAPDPM_REAL=float, and write the functions in board.h.
 */
#include "board.h"
#include "mapdpm.h"

#include "FreeRTOS.h"
#include "queue.h"
#include "semphr.h"
#include "task.h"

enum { D = 3, K = 8, WAITING = 16, STACK_WORDS = 2048 / sizeof(StackType_t), LEARNER_PRIORITY = 2 };

typedef struct reading {
    mapdpm_real x[D];
} reading;

static uint64_t memory[MAPDPM_STATE_BYTES(D, K) / 8];
static mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;

static StaticQueue_t queue_memory;
static uint8_t waiting[WAITING * sizeof(reading)];
static QueueHandle_t readings;
static StaticSemaphore_t lock_memory;
static SemaphoreHandle_t lock;
static StaticTask_t task_memory[2];
static StackType_t stacks[2][STACK_WORDS]; /* the library takes half of it at most */
static volatile uint32_t n_lost;           /* readings for which the queue had no place */

/* Called by the interrupt handler of the sensor. */
void board_sensor_ready(void)
{
    BaseType_t woken = pdFALSE;
    reading r;

    board_read_sensor(r.x);
    if (xQueueSendFromISR(readings, &r, &woken) != pdTRUE)
        n_lost++;
    portYIELD_FROM_ISR(woken);
}

static void learn(void *unused)
{
    (void)unused;
    for (;;) {
        reading r;
        mapdpm_real score;
        uint32_t id;
        int error;

        if (xQueueReceive(readings, &r, portMAX_DELAY) != pdTRUE)
            continue;
        (void)xSemaphoreTake(lock, portMAX_DELAY);
        error = mapdpm_learn(learner, r.x, &id, &score);
        (void)xSemaphoreGive(lock);
        board_learned(error, id, score);
    }
}

/* Copies a cluster under the lock, and shows the copy without it: to show takes long. */
static void show(void *unused)
{
    (void)unused;
    for (;;) {
        uint32_t slot;

        for (slot = 0; slot < K; slot++) {
            mapdpm_real mean[D];
            mapdpm_cluster cluster;
            int found;

            (void)xSemaphoreTake(lock, portMAX_DELAY);
            found = mapdpm_get_cluster(learner, slot, &cluster, mean, NULL);
            (void)xSemaphoreGive(lock);
            if (found == 1)
                board_show(&cluster, mean);
        }
        vTaskDelay(pdMS_TO_TICKS(10000));
    }
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
    return error != MAPDPM_OK ? error : mapdpm_init(learner, sizeof memory, &options);
}

int main(void)
{
    if (start() != MAPDPM_OK)
        return 1;
    readings = xQueueCreateStatic(WAITING, sizeof(reading), waiting, &queue_memory);
    lock = xSemaphoreCreateMutexStatic(&lock_memory);
    (void)xTaskCreateStatic(learn, "learn", STACK_WORDS, NULL, LEARNER_PRIORITY, stacks[0], &task_memory[0]);
    (void)xTaskCreateStatic(show, "show", STACK_WORDS, NULL, LEARNER_PRIORITY - 1, stacks[1], &task_memory[1]);
    board_start_sensor();
    vTaskStartScheduler(); /* does not return */
    return 1;
}
