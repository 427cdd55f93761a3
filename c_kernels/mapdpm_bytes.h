/* Little-endian bytes, whatever the machine, and what all files have in common (docs/format.md). Internal. */
#ifndef MAPDPM_BYTES_H
#define MAPDPM_BYTES_H

#include "mapdpm.h"

#include <string.h>

enum { HEADER = 40, CRC = 4, BATCH = 1, STREAM = 2 };
enum { REAL = sizeof(mapdpm_real) };

typedef char real_is_float_or_double[(REAL == 4 || REAL == 8) ? 1 : -1];

static inline uint64_t get_bytes(const unsigned char *p, int n)
{
    uint64_t value = 0;

    while (n-- > 0)
        value = value << 8 | p[n];
    return value;
}

static inline uint32_t get32(const unsigned char *p)
{
    return (uint32_t)get_bytes(p, 4);
}

static inline unsigned char *put_bytes(unsigned char *p, uint64_t value, int n)
{
    for (; n > 0; n--, value >>= 8)
        *p++ = (unsigned char)(value & 255u);
    return p;
}

static inline mapdpm_real get_real(const unsigned char *p)
{
    mapdpm_real value;

    if (REAL == 4) {
        const uint32_t bits = get32(p);
        memcpy(&value, &bits, REAL);
    } else {
        const uint64_t bits = get_bytes(p, 8);
        memcpy(&value, &bits, REAL);
    }
    return value;
}

static inline unsigned char *put_reals(unsigned char *p, const mapdpm_real *values, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        uint32_t half;
        uint64_t whole;

        if (REAL == 4) {
            memcpy(&half, &values[i], 4);
            whole = half;
        } else {
            memcpy(&whole, &values[i], REAL);
        }
        p = put_bytes(p, whole, REAL);
    }
    return p;
}

/* The checks that all kinds of file share, in the order of docs/format.md: magic, length, CRC, format, kind, real. */
int mapdpm_file_check(const unsigned char *file, size_t file_bytes, int kind);

/* The header of a file; the sizes are in the header's order. */
unsigned char *mapdpm_file_begin(unsigned char *file, int kind, int32_t family, const uint32_t *sizes, uint64_t total);

#endif
