/* The interface of a board to the conformance program. Each boards/NAME.c has the start-up code and these three
 * functions. */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

void board_write(const char *text);
uint32_t board_ticks(void); /* 0 if the emulator counts instead (count.c) */
void board_exit(int status);

void write_hex(uint32_t value);
void write_number(uint32_t value);

/* ---- measurements: report.c -------------------------------------------------------------------------------------- */

enum { learn, settle, score, save, load, N_MEASURES };
enum { PAINTED = 2048 };

/* count.c counts the instructions between mark_start and the mark of the measured function. */
void mark_start(void);
void mark_learn(void);
void mark_settle(void);
void mark_score(void);
void mark_save(void);
void mark_load(void);
void measured(int what, uint32_t ticks, size_t stack);
void report_line(const char *name, uint32_t crc, int error);
void report_end(uint32_t crc, size_t state_bytes);

#if defined(__arm__) && !defined(__linux__)
#define STACK_POINTER(p) __asm volatile("mov %0, sp" : "=r"(p) : : "memory")
#elif defined(__riscv)
#define STACK_POINTER(p) __asm volatile("mv %0, sp" : "=r"(p) : : "memory")
#elif defined(__AVR__)
#include <avr/io.h>
#define STACK_POINTER(p) ((p) = (volatile unsigned char *)SP)
#else
#define STACK_POINTER(p) ((p) = NULL)
#endif

/* Run a statement and record its ticks and the depth of its stack: how much of the painted memory below it has
 * changed. */
#define MEASURED(what, statement)                                                                                      \
    do {                                                                                                               \
        volatile unsigned char *pointer_, *p_;                                                                         \
        uint32_t ticks_;                                                                                               \
        STACK_POINTER(pointer_);                                                                                       \
        for (p_ = pointer_ ? pointer_ - PAINTED : NULL; p_ < pointer_; p_++)                                           \
            *p_ = 0xa5;                                                                                                \
        ticks_ = board_ticks();                                                                                        \
        mark_start();                                                                                                  \
        statement;                                                                                                     \
        mark_##what();                                                                                                 \
        ticks_ = board_ticks() - ticks_;                                                                               \
        for (p_ = pointer_ ? pointer_ - PAINTED : NULL; p_ < pointer_ && *p_ == 0xa5; p_++)                            \
            ;                                                                                                          \
        measured(what, ticks_, (size_t)(pointer_ - p_));                                                               \
    } while (0)

#endif
