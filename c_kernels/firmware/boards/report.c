/* Print the measurements in lines that firmware.py reads. */
#include "board.h"

static uint32_t n[N_MEASURES], most[N_MEASURES], stack[N_MEASURES];
static uint64_t sum[N_MEASURES];
static int is_used_up;

/* Each function differs, because compilers would merge equal ones. */
volatile uint8_t marked;
__attribute__((noinline)) void mark_start(void) { marked = N_MEASURES; }
__attribute__((noinline)) void mark_learn(void) { marked = learn; }
__attribute__((noinline)) void mark_settle(void) { marked = settle; }
__attribute__((noinline)) void mark_score(void) { marked = score; }
__attribute__((noinline)) void mark_save(void) { marked = save; }
__attribute__((noinline)) void mark_load(void) { marked = load; }

void write_hex(uint32_t value)
{
    char text[9];
    int i;

    for (i = 7; i >= 0; i--, value >>= 4)
        text[i] = "0123456789abcdef"[value & 15u];
    text[8] = 0;
    board_write(text);
}

void write_number(uint32_t value)
{
    char text[11];
    int i = 10;

    text[i] = 0;
    do {
        text[--i] = (char)('0' + value % 10u);
        value /= 10u;
    } while (value > 0);
    board_write(text + i);
}

/* Where the painted memory begins: PAINTED bytes below the pointer, or where the stack must end. */
const volatile stack_word *painted_from(const volatile stack_word *pointer)
{
    const uintptr_t top = (uintptr_t)pointer, end = (uintptr_t)board_stack_end();

    if (pointer == NULL || end == 0)
        return pointer;
    return (const volatile stack_word *)(top - end > PAINTED ? top - PAINTED : end);
}

void measured(int what, uint32_t ticks, const volatile stack_word *pointer, const volatile stack_word *deepest)
{
    const size_t depth = (size_t)((uintptr_t)pointer - (uintptr_t)deepest);

    if (pointer != NULL && depth > 0 && deepest == painted_from(pointer)) /* then no one knows how deep it was */
        is_used_up = 1;
    n[what]++;
    sum[what] += ticks;
    most[what] = ticks > most[what] ? ticks : most[what];
    stack[what] = depth > stack[what] ? (uint32_t)depth : stack[what];
}

void report_line(const char *name, uint32_t crc, int error)
{
    board_write(name);
    board_write(" ");
    write_hex(crc);
    if (error) {
        board_write(" error -");
        write_number((uint32_t)-error);
    }
    board_write("\n");
}

void report_end(uint32_t crc, size_t state_bytes)
{
    static const char *const names[] = {"learn", "settle", "score", "save", "load"};
    int what;

    for (what = 0; what < N_MEASURES; what++) {
        board_write(names[what]);
        board_write(" mean ");
        write_number(n[what] ? (uint32_t)(sum[what] / n[what]) : 0);
        board_write(" most ");
        write_number(most[what]);
        board_write(" stack ");
        write_number(stack[what]);
        board_write("\n");
    }
    if (is_used_up)
        board_write("error: the painted part of the stack was used up\n");
    board_write("state ");
    write_number((uint32_t)state_bytes);
    board_write("\ncrc ");
    write_hex(crc);
    board_write("\n");
}
