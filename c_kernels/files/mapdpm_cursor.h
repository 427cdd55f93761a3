/* A file on its way to the caller's function or from it, in pieces (decision 144). Internal; static inlines. */
#ifndef MAPDPM_CURSOR_H
#define MAPDPM_CURSOR_H

#include "files/mapdpm_bytes.h"

/* The bytes of a file on their way, to the caller's function or from it: one of the two is NULL. */
typedef struct {
    mapdpm_put put;
    mapdpm_get get;
    void *context;
    uint32_t crc;
    int sums;  /* whether the CRC is needed */
    int error; /* the first of the caller's function; then nothing more moves */
} cursor;

static inline void transfer_bytes(cursor *c, unsigned char *bytes, size_t n)
{
    if (c->error != MAPDPM_OK || n == 0)
        return;
    c->error = c->put ? c->put(c->context, bytes, n) : c->get(c->context, bytes, n);
    if (c->sums && c->error == MAPDPM_OK)
        c->crc = mapdpm_crc32(c->crc, bytes, n);
}

/* n entries of a size. Memory is as the file on a little-endian machine; another one takes a block at a time. */
static inline void transfer(cursor *c, void *entries, size_t n, size_t size)
{
    unsigned char *const bytes = (unsigned char *)entries;
    unsigned char block[32];
    size_t i, m;

    if (is_little_endian()) {
        transfer_bytes(c, bytes, n * size);
        return;
    }
    for (i = 0; i < n; i += m) {
        m = n - i < sizeof block / size ? n - i : sizeof block / size;
        if (c->put)
            copy_entries(block, bytes + i * size, m, size);
        transfer_bytes(c, block, m * size);
        if (c->get)
            copy_entries(bytes + i * size, block, m, size);
    }
}

/* A file in memory as context: the place of its next byte. */
typedef struct {
    unsigned char *to;
    const unsigned char *from;
} in_memory;

static inline int put_to_memory(void *context, const unsigned char *bytes, size_t n)
{
    in_memory *const p = (in_memory *)context;

    memcpy(p->to, bytes, n);
    p->to += n;
    return MAPDPM_OK;
}

static inline int get_from_memory(void *context, unsigned char *bytes, size_t n)
{
    in_memory *const p = (in_memory *)context;

    memcpy(bytes, p->from, n);
    p->from += n;
    return MAPDPM_OK;
}

static inline cursor writer(mapdpm_put put, void *context)
{
    cursor c = {NULL, NULL, NULL, 0, 1, MAPDPM_OK};

    c.put = put;
    c.context = context;
    return c;
}

static inline cursor reader(mapdpm_get get, void *context, int sums)
{
    cursor c = {NULL, NULL, NULL, 0, 0, MAPDPM_OK};

    c.get = get;
    c.context = context;
    c.sums = sums;
    return c;
}

#endif
