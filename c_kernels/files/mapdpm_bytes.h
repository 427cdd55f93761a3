/* Little-endian bytes on any machine, and the parts that all files share (docs/format.md). Internal. */
#ifndef MAPDPM_BYTES_H
#define MAPDPM_BYTES_H

#include "mapdpm_switches.h"

enum {
    MD_HEADER = 40,
    MD_CRC = 4,
    MD_BATCH = 1,
    MD_STREAM = 2,
    STREAM_OF_GROUPS = 4,
    MD_SUMMARY = 5,
    STREAM_OF_STATES = 7
};
enum { TRANSFORMERS = 12 };
enum { MD_REAL = sizeof(mapdpm_real) };
/* The place of the flags in the header, and those of a stream that knows surprises, has a queue, or chooses its features; the
 * place of two bits that say where it has steps from, and both. */
enum { MD_FLAGS = 10, WITH_SURPRISE = 2, WITH_QUEUE = 4, WITH_RELEVANCE = 8, STEPS_AT = 4, WITH_RESOLUTION = 48 };

#define MD_MAGIC UINT32_C(0x4d50444d) /* MDPM */

typedef char real_is_float_or_double[(MD_REAL == 4 || MD_REAL == 8) ? 1 : -1];

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

/* Whether memory has the order of files. */
static inline int is_little_endian(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 1;
}

/* Copy n entries of `size` bytes (1, 2, 4 or 8) from a file to memory or back. A big-endian machine reverses the bytes
 * of each entry. */
static inline void copy_entries(void *to, const void *from, size_t n, size_t size)
{
    const size_t swap = is_little_endian() ? 0 : size - 1;
    size_t i;

    for (i = 0; i < n * size; i++)
        ((unsigned char *)to)[i ^ swap] = ((const unsigned char *)from)[i];
}

static inline mapdpm_real get_real(const unsigned char *p)
{
    mapdpm_real value;

    copy_entries(&value, p, 1, MD_REAL);
    return value;
}

static inline unsigned char *put_reals(unsigned char *p, const mapdpm_real *values, size_t n)
{
    copy_entries(p, values, n, MD_REAL);
    return p + n * MD_REAL;
}

/* The bytes of a file, by its header. */
MAPDPM_INTERNAL uint64_t total_in(const unsigned char *header);

/* The checks that all kinds of files share, in the order of docs/format.md: magic, length, CRC, format, kind, real. */
MAPDPM_INTERNAL int mapdpm_file_check(const unsigned char *file, size_t file_bytes, int kind);

/* Those of the header alone, which begins with the magic number. */
MAPDPM_INTERNAL int mapdpm_header_check(const unsigned char *header, uint64_t file_bytes, int kind);

/* Write the header of a file. The sizes are in the header's order. */
MAPDPM_INTERNAL unsigned char *mapdpm_file_begin(unsigned char *file, int kind, int32_t family, const uint32_t *sizes,
                                                 uint64_t total);

/* Write a sequence number as the additions of a file (slots.c). */
MAPDPM_INTERNAL void sequence_write(unsigned char *p, uint32_t sequence);

#endif
