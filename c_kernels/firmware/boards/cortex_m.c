/* Cortex-M under QEMU: vectors, start-up, and output to the debugger (semihosting). */
#include "board.h"

extern uint32_t stack_top, data_from, data_begin, data_end, bss_begin, bss_end;
int main(void);
void reset(void);

static uint32_t semihosting(uint32_t operation, const void *argument)
{
    register uint32_t r0 __asm("r0") = operation;
    register const void *r1 __asm("r1") = argument;

    __asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void board_write(const char *text) { (void)semihosting(0x04, text); }
uint32_t board_ticks(void) { return 0; }
const void *board_stack_end(void) { return &bss_end; }

void board_exit(int status)
{
    const uint32_t arguments[2] = {0x20026, (uint32_t)status}; /* ADP_Stopped_ApplicationExit */

    (void)semihosting(0x20, arguments);
    for (;;)
        ;
}

static void fault(void)
{
    board_write("fault\n");
    board_exit(99);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))&stack_top, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault};

void reset(void)
{
    const uint32_t *from = &data_from;
    uint32_t *to;

    for (to = &data_begin; to < &data_end; to++)
        *to = *from++;
    for (to = &bss_begin; to < &bss_end; to++)
        *to = 0;
#ifdef __ARM_FP
    *(volatile uint32_t *)0xe000ed88u |= 0xfu << 20; /* CPACR: the floating point unit */
    __asm volatile("dsb\n isb");
#endif
    board_exit(main());
}
