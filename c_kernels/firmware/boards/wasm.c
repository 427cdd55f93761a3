/* WebAssembly: the host provides write(pointer, length). */
#include "board.h"

__attribute__((import_module("board"), import_name("write"))) void host_write(const char *text, size_t n);

void board_write(const char *text)
{
    size_t n = 0;

    while (text[n])
        n++;
    host_write(text, n);
}
uint32_t board_ticks(void) { return 0; }
const void *board_stack_end(void) { return NULL; }
void board_exit(int status) { (void)status; }
