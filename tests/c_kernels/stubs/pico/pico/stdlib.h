#ifndef PICO_STDLIB_H
#define PICO_STDLIB_H

#include <stdbool.h>
#include <stdint.h>

typedef unsigned int uint;

bool stdio_init_all(void);
void sleep_ms(uint32_t ms);

#endif
