#include "two_slots.h"

#include <string.h>

typedef struct page_writer {
    unsigned slot;
    size_t capacity; /* of the slot */
    size_t at;       /* of the page in the slot */
    size_t n;        /* bytes in the page */
    unsigned char page[TWO_SLOTS_PAGE];
} page_writer;

static int write_page(page_writer *writer)
{
    int error;

    if (writer->n == 0)
        return 0;
    memset(writer->page + writer->n, 0xff, TWO_SLOTS_PAGE - writer->n); /* 0xff: bits that stay as erased */
    error = slot_write(writer->slot, writer->at, writer->page);
    writer->at += TWO_SLOTS_PAGE;
    writer->n = 0;
    return error;
}

/* Collects pieces of the file in a page, for mapdpm_snapshot_send. */
static int put(void *context, const unsigned char *bytes, size_t n)
{
    page_writer *const writer = (page_writer *)context;
    size_t i;

    for (i = 0; i < n; i++) {
        if (writer->at + writer->n >= writer->capacity)
            return MAPDPM_E_SPACE;
        writer->page[writer->n++] = bytes[i];
        if (writer->n == TWO_SLOTS_PAGE) {
            const int error = write_page(writer);

            if (error != 0)
                return error;
        }
    }
    return 0;
}

int two_slots_restore(two_slots *slots, size_t slot_bytes, mapdpm_stream *learner, size_t bytes)
{
    const unsigned char *const memory[2] = {slot_memory(0), slot_memory(1)};
    size_t newest = 0, file_bytes;
    int error;

    slots->slot_bytes = slot_bytes;
    slots->sequence = 0;
    slots->newest = 0;
    error = mapdpm_snapshot_newest(memory, 2, slot_bytes, &newest, &slots->sequence);
    if (error != MAPDPM_OK)
        return error;
    slots->newest = (unsigned)newest;
    file_bytes = mapdpm_file_bytes(memory[newest], slot_bytes);
    return mapdpm_snapshot_read(learner, bytes, memory[newest], file_bytes);
}

int two_slots_save(two_slots *slots, const mapdpm_stream *learner)
{
    const uint32_t sequence = slots->sequence + 1;
    page_writer writer = {0};
    int error;

    writer.slot = 1 - slots->newest;
    writer.capacity = slots->slot_bytes;
    error = slot_erase(writer.slot);
    if (error == 0)
        error = mapdpm_snapshot_send(learner, &sequence, put, &writer);
    if (error == 0)
        error = write_page(&writer);
    if (error != 0)
        return error;
    slots->sequence = sequence;
    slots->newest = writer.slot;
    return MAPDPM_OK;
}
