/* AVR (ATmega1284P) under simavr, which prints the serial line. Ticks are cycles, from timer 1. */
#include "board.h"

#include <avr/interrupt.h>
#include <avr/sleep.h>

void board_write(const char *text)
{
    UCSR0B = 1 << TXEN0;
    for (; *text; text++) {
        while (!(UCSR0A & 1 << UDRE0))
            ;
        UDR0 = (uint8_t)*text;
    }
}

/* In steps of 256 cycles; a measurement lasts at most 16 million cycles. */
uint32_t board_ticks(void)
{
    static uint16_t before;
    static uint32_t ticks;
    uint16_t now;

    TCCR1B = 1 << CS12;
    now = TCNT1;
    ticks += (uint16_t)(now - before);
    before = now;
    return ticks * 256;
}

extern unsigned char __heap_start; /* the linker's: behind all variables */
const void *board_stack_end(void) { return &__heap_start; }

/* simavr ends when nothing can wake the chip. */
void board_exit(int status)
{
    (void)status;
    cli();
    sleep_enable();
    for (;;)
        sleep_cpu();
}
