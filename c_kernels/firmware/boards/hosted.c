/* Any machine with an operating system. */
#include "board.h"

#include <stdio.h>
#include <stdlib.h>

void board_write(const char *text) { (void)fputs(text, stdout); }
uint32_t board_ticks(void) { return 0; }
const void *board_stack_end(void) { return NULL; }
void board_exit(int status) { exit(status); }
