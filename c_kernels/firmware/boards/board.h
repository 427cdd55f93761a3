/* The interface of a board to the conformance program. Each boards/NAME.c has the start-up code and these four
 * functions. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

void board_write(const char *text);
uint32_t board_ticks(void); /* 0 if the emulator counts instead (count.c) */
void board_exit(int status);
const void *board_stack_end(void); /* the lowest address that the stack may have; NULL if no one knows */

void write_hex(uint32_t value);
void write_number(uint32_t value);

/* ---- measurements: report.c -------------------------------------------------------------------------------------- */

enum { learn, settle, score, save, load, N_MEASURES };
#ifndef PAINTED
#define PAINTED 4096u /* bytes, or as many as the board has */
#endif

/* What is painted at a time: a whole word where the stack has whole words. */
#ifdef __AVR__
typedef uint8_t stack_word;
#else
typedef uintptr_t stack_word;
#endif
#define PAINT ((stack_word)UINT32_C(0xa5a5a5a5))

/* count.c counts the instructions between mark_start and the mark of the measured function. */
void mark_start(void);
void mark_learn(void);
void mark_settle(void);
void mark_score(void);
void mark_save(void);
void mark_load(void);
const volatile stack_word *painted_from(const volatile stack_word *pointer);
void measured(int what, uint32_t ticks, const volatile stack_word *pointer, const volatile stack_word *deepest);
void report_line(const char *name, uint32_t crc, int error);
void report_end(uint32_t crc, size_t state_bytes);

#if defined(__arm__) && !defined(__linux__)
#define STACK_POINTER(p) __asm volatile("mov %0, sp" : "=r"(p) : : "memory")
#elif defined(__riscv)
#define STACK_POINTER(p) __asm volatile("mv %0, sp" : "=r"(p) : : "memory")
#elif defined(__AVR__)
#include <avr/io.h>
#define STACK_POINTER(p) ((p) = (volatile stack_word *)SP)
#else
#define STACK_POINTER(p) ((p) = NULL)
#endif

/* Run a statement and record its ticks and the depth of its stack: how much of the painted memory below it has
 * changed. The loops are not in functions, which would have their own stack in this memory. */
#define MEASURED(what, statement)                                                                                      \
    do {                                                                                                               \
        volatile stack_word *pointer_, *p_;                                                                            \
        uint32_t ticks_;                                                                                               \
        STACK_POINTER(pointer_);                                                                                       \
        for (p_ = (volatile stack_word *)(uintptr_t)painted_from(pointer_); p_ < pointer_; p_++)                       \
            *p_ = PAINT;                                                                                               \
        ticks_ = board_ticks();                                                                                        \
        mark_start();                                                                                                  \
        statement;                                                                                                     \
        mark_##what();                                                                                                 \
        ticks_ = board_ticks() - ticks_;                                                                               \
        for (p_ = (volatile stack_word *)(uintptr_t)painted_from(pointer_); p_ < pointer_ && *p_ == PAINT; p_++)       \
            ;                                                                                                          \
        measured(what, ticks_, pointer_, p_);                                                                          \
    } while (0)

#endif
