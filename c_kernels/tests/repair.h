/* Changed files that are whole again. */
#ifndef REPAIR_H
#define REPAIR_H

#include "check.h"
#include "files/mapdpm_bytes.h"

/* A valid CRC over what was changed, as an attacker or a bug would write it. */
static inline void repair(unsigned char *changed, size_t n)
{
    (void)put_bytes(changed + n - MD_CRC, mapdpm_crc32(0, changed, n - MD_CRC), MD_CRC);
}

#endif
