/* RISC-V under QEMU's board "virt": start-up, and output to the debugger (semihosting). Everything is in RAM. */
#include "board.h"

int main(void);

__asm(".section .start, \"ax\"\n"
      ".globl _start\n"
      "_start:\n"
      "    la sp, stack_top\n"
#ifdef __riscv_flen
      "    li t0, 0x6000\n" /* mstatus: the floating point unit */
      "    csrs mstatus, t0\n"
#endif
      "    call begin\n"
      ".text\n");

extern uint32_t bss_begin, bss_end, stack_end;
void begin(void);

static long semihosting(long operation, const void *argument)
{
    register long a0 __asm("a0") = operation;
    register const void *a1 __asm("a1") = argument;

    __asm volatile(".option push\n"
                   ".option norvc\n"
                   ".balign 16\n"
                   "slli zero, zero, 0x1f\n"
                   "ebreak\n"
                   "srai zero, zero, 7\n"
                   ".option pop"
                   : "+r"(a0)
                   : "r"(a1)
                   : "memory");
    return a0;
}

void board_write(const char *text) { (void)semihosting(0x04, text); }
uint32_t board_ticks(void) { return 0; }
const void *board_stack_end(void) { return &stack_end; }

void board_exit(int status)
{
    const unsigned long arguments[2] = {0x20026, (unsigned long)status};

    (void)semihosting(0x20, arguments);
    for (;;)
        ;
}

void begin(void)
{
    uint32_t *to;

    for (to = &bss_begin; to < &bss_end; to++)
        *to = 0;
    board_exit(main());
}
