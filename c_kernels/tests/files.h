/* Files of learners: written, read back and changed. */
#ifndef FILES_H
#define FILES_H

#include "learners.h"
#include "repair.h"

static unsigned char file[MD_MEMORY], again[MD_MEMORY];

static inline size_t save(const mapdpm_stream *s, unsigned char *into)
{
    size_t n = 0;

    CHECK(mapdpm_snapshot_write(s, into, MD_MEMORY, &n) == MAPDPM_OK && n == mapdpm_snapshot_bytes(s));
    return n;
}

/* The memory need not be clean. */
static inline int restore(memory *m, const unsigned char *from, size_t n)
{
    memset(m->bytes, 0x5a, sizeof m->bytes);
    return mapdpm_snapshot_read(&m->stream, sizeof m->bytes, from, n);
}

/* Learners are compared by their files where free slots may differ in memory. */
static inline int have_same_file(const mapdpm_stream *s, const mapdpm_stream *t)
{
    const size_t n = save(s, file);

    return save(t, again) == n && memcmp(file, again, n) == 0;
}

/* What reading says to the file with another field. */
static inline int with(size_t where, uint64_t value, int bytes, size_t n)
{
    memcpy(again, file, n);
    (void)put_bytes(again + where, value, bytes);
    repair(again, n);
    return mapdpm_snapshot_read(&second.stream, sizeof second.bytes, again, n);
}

static inline int breaks(size_t where, uint64_t value, int bytes, size_t n)
{
    return with(where, value, bytes, n) == MAPDPM_E_DAMAGED;
}

#endif
