/* The input of a fuzzer, and conditions that must hold: for all real types. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: violated: %s\n", __FILE__, __LINE__, #condition);                                  \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The bytes of the input in order; zeros after its end. */
typedef struct {
    const uint8_t *p;
    size_t left;
} input;

static inline uint8_t next_byte(input *t)
{
    if (t->left == 0)
        return 0;
    t->left--;
    return *t->p++;
}

#endif
