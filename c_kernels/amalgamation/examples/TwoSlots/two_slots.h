/* A learner in flash that survives a power loss at any time: two slots, which are written in turn.
 *
 * The slot with the newest whole file stays as it is while the other one is erased and written. A file has a sequence
 * number and a CRC, so a file that was not written to its end is never taken. The file is sent in pieces: it needs one
 * page of memory, not a buffer for the whole file.
 *
 * NVS of ESP-IDF and of Zephyr, LittleFS and the like do this themselves: with them, store the bytes of
 * mapdpm_snapshot_write under one key (examples/ESP32, examples/Zephyr).
 */
#ifndef TWO_SLOTS_H
#define TWO_SLOTS_H

#include "mapdpm.h"

#ifndef TWO_SLOTS_PAGE
#define TWO_SLOTS_PAGE 256 /* bytes that the flash writes at once */
#endif

/* Three functions of the flash, which you write for your chip. They return 0 or an error of your own, above 0. A slot is
 * a whole number of sectors, of which it shares none. */
const unsigned char *slot_memory(unsigned slot);
int slot_erase(unsigned slot);
int slot_write(unsigned slot, size_t at, const unsigned char page[TWO_SLOTS_PAGE]); /* `at`: a multiple of the page */

typedef struct two_slots {
    size_t slot_bytes;
    uint32_t sequence; /* of the newest whole file; 0: none */
    unsigned newest;   /* its slot */
} two_slots;

/* Find the newest whole file, and make the learner of it. MAPDPM_OK, or MAPDPM_E_UNKNOWN if there is no whole file: then
 * call mapdpm_init. Other errors are those of mapdpm_snapshot_read: a file of other options than this memory is for. */
int two_slots_restore(two_slots *slots, size_t slot_bytes, mapdpm_stream *learner, size_t bytes);

/* Write the learner to the slot that is not the newest. 0, or an error; then the newest file is as before. */
int two_slots_save(two_slots *slots, const mapdpm_stream *learner);

#endif
