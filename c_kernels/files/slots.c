/* Files in slots of a flash: their length, their sequence number, and the latest of them. */
#include "files/mapdpm_bytes.h"

/* A sequence number is an addition of Python's form: the length of a JSON text, and the text. The number takes ten
 * places, so that all files have one length. */
enum { BEFORE = 23, DIGITS = 10, AFTER = 16, TEXT = BEFORE + DIGITS + AFTER };
static const char BEFORE_TEXT[] = "{\"plain\": {\"sequence\": ", AFTER_TEXT[] = "}, \"arrays\": []}";

typedef char text_is_counted[sizeof BEFORE_TEXT == BEFORE + 1 && sizeof AFTER_TEXT == AFTER + 1 &&
                                     TEXT + 4 == MAPDPM_SEQUENCE_BYTES
                                 ? 1
                                 : -1];

void sequence_write(unsigned char *p, uint32_t sequence)
{
    size_t i;

    p = put_bytes(p, TEXT, 4);
    memcpy(p, BEFORE_TEXT, BEFORE);
    memcpy(p + BEFORE + DIGITS, AFTER_TEXT, AFTER);
    for (i = DIGITS; i > 0; i--, sequence /= 10)
        p[BEFORE + i - 1] = (unsigned char)(sequence > 0 || i == DIGITS ? '0' + sequence % 10 : ' ');
}

static int is_text(const unsigned char *p, const char *text, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (p[i] != (unsigned char)text[i])
            return 0;
    return 1;
}

/* Whether additions are a sequence number, which is then set. */
static int is_sequence(const unsigned char *p, uint32_t *sequence)
{
    uint64_t number = 0;
    size_t i;

    if (get32(p) != TEXT || !is_text(p + 4, BEFORE_TEXT, BEFORE) || !is_text(p + 4 + BEFORE + DIGITS, AFTER_TEXT, AFTER))
        return 0;
    for (i = 0; i < DIGITS; i++) {
        const unsigned char c = p[4 + BEFORE + i];

        if (c >= '0' && c <= '9')
            number = 10 * number + (c - (unsigned)'0');
        else if (c != ' ' || number > 0)
            return 0;
    }
    *sequence = (uint32_t)number;
    return number <= UINT32_MAX;
}

size_t mapdpm_file_bytes(const unsigned char *header, size_t n)
{
    uint64_t total;

    if (header == NULL || n < MD_HEADER || get32(header) != MD_MAGIC)
        return 0;
    total = total_in(header);
    return total >= MD_HEADER + MD_CRC && total <= SIZE_MAX ? (size_t)total : 0;
}

int mapdpm_snapshot_sequence(const unsigned char *file, size_t file_bytes, uint32_t *sequence)
{
    int error;

    if (file == NULL || sequence == NULL)
        return MAPDPM_E_ARGUMENT;
    error = mapdpm_file_check(file, file_bytes, file_bytes > MD_HEADER ? file[6] : MD_STREAM);
    if (error != MAPDPM_OK)
        return error;
    if (get32(file + 28) != MAPDPM_SEQUENCE_BYTES || file_bytes < MD_HEADER + MAPDPM_SEQUENCE_BYTES + MD_CRC)
        return MAPDPM_E_UNKNOWN;
    return is_sequence(file + file_bytes - MD_CRC - MAPDPM_SEQUENCE_BYTES, sequence) ? MAPDPM_OK : MAPDPM_E_UNKNOWN;
}

int mapdpm_snapshot_newest(const unsigned char *const *slots, size_t n_slots, size_t slot_bytes, size_t *newest,
                           uint32_t *sequence)
{
    uint32_t latest = 0, number;
    size_t i;
    int found = 0;

    if (slots == NULL || newest == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n_slots; i++) {
        const size_t bytes = mapdpm_file_bytes(slots[i], slot_bytes);

        if (bytes == 0 || bytes > slot_bytes || mapdpm_snapshot_sequence(slots[i], bytes, &number) != MAPDPM_OK)
            continue;
        if (found && (int32_t)(number - latest) <= 0) /* numbers wrap */
            continue;
        found = 1;
        latest = number;
        *newest = i;
    }
    if (found && sequence)
        *sequence = latest;
    return found ? MAPDPM_OK : MAPDPM_E_UNKNOWN;
}
