/* A pipeline of transformers to a file and back, bit for bit (docs/format.md, kind 12). A forged file does no harm. */
#include "files/mapdpm_bytes.h"
#include "features/mapdpm_transformers.h"

enum { STEP_WORDS = 8, STEP_BYTES = 4 * STEP_WORDS + MD_REAL };

static uint64_t pipeline_file_size(const mapdpm_features *f)
{
    return MD_HEADER + MD_CRC + (uint64_t)f->n_steps * STEP_BYTES + 4 * (uint64_t)f->n_words +
           MD_REAL * (uint64_t)f->n_state;
}

size_t mapdpm_features_file_bytes(const mapdpm_features *f)
{
    const uint64_t bytes = is_no_pipeline(f) ? 0 : pipeline_file_size(f);

    return bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

static unsigned char *put_step(unsigned char *p, const mapdpm_step *t)
{
    const uint32_t words[STEP_WORDS] = {t->kind, t->source, t->second,           t->n,
                                        t->first, t->end,   (uint32_t)t->offset, t->centred};
    int i;

    for (i = 0; i < STEP_WORDS; i++)
        p = put_bytes(p, words[i], 4);
    return put_reals(p, &t->half_life, 1);
}

mapdpm_step features_step_in(const unsigned char *file, uint32_t i)
{
    const unsigned char *const p = file + MD_HEADER + (size_t)i * STEP_BYTES;
    const uint32_t offset = get32(p + 24);
    mapdpm_step t;

    t.kind = get32(p);
    t.source = get32(p + 4);
    t.second = get32(p + 8);
    t.n = get32(p + 12);
    t.first = get32(p + 16);
    t.end = get32(p + 20);
    t.offset = offset <= INT32_MAX ? (int32_t)offset : -(int32_t)(UINT32_MAX - offset) - 1;
    t.centred = get32(p + 28);
    t.half_life = get_real(p + 32);
    return t;
}

int mapdpm_features_write(const mapdpm_features *f, unsigned char *file, size_t capacity, size_t *file_bytes)
{
    const size_t total = mapdpm_features_file_bytes(f);
    uint32_t sizes[5], i;
    unsigned char *p;

    if (is_no_pipeline(f) || file == NULL || file_bytes == NULL)
        return MAPDPM_E_ARGUMENT;
    if (capacity < total)
        return MAPDPM_E_SPACE;
    sizes[0] = f->n_features;
    sizes[1] = f->n_steps;
    sizes[2] = f->n_state;
    sizes[3] = f->n_words;
    sizes[4] = 0;
    p = mapdpm_file_begin(file, TRANSFORMERS, 0, sizes, total);
    for (i = 0; i < f->n_steps; i++)
        p = put_step(p, &steps_of(f)[i].step);
    copy_entries(p, counters_of(f), f->n_words, 4);
    p = put_reals(p + 4 * (size_t)f->n_words, state_of(f), f->n_state);
    (void)put_bytes(p, mapdpm_crc32(0, file, total - MD_CRC), MD_CRC);
    *file_bytes = total;
    return MAPDPM_OK;
}

int mapdpm_features_memory(const unsigned char *file, size_t file_bytes, size_t *bytes)
{
    uint64_t steps, rest;
    int error;

    if (file == NULL || bytes == NULL)
        return MAPDPM_E_ARGUMENT;
    error = mapdpm_file_check(file, file_bytes, TRANSFORMERS);
    if (error != MAPDPM_OK)
        return error;
    steps = (uint64_t)get32(file + 16) * STEP_BYTES;
    rest = MD_REAL * (uint64_t)get32(file + 20) + 4 * (uint64_t)get32(file + 24) + get32(file + 28);
    if (get_bytes(file + 8, 2) != 0 || file_bytes != MD_HEADER + steps + rest + MD_CRC)
        return MAPDPM_E_DAMAGED;
    *bytes = (size_t)features_size(NULL, file, get32(file + 16), get32(file + 12));
    return *bytes > 0 ? MAPDPM_OK : MAPDPM_E_DAMAGED;
}

/* Whether points could have left the state of a step. */
static int is_state(const mapdpm_features *f, const planned_step *p)
{
    const step_kind *const kind = features_kind(p->step.kind);
    const uint32_t *const words = counters_of(f) + p->at_words;

    if ((kind->is & IN_BLOCKS) != 0 && words[0] >= p->step.n)
        return 0;
    if ((kind->is & WARMS_UP) != 0 && words[0] > p->step.n)
        return 0;
    return kind->is_state == NULL || kind->is_state(p, state_of(f) + p->at_state, words);
}

int mapdpm_features_read(mapdpm_features *f, size_t bytes, const unsigned char *file, size_t file_bytes)
{
    const unsigned char *p;
    size_t needed = 0;
    uint32_t i;
    int error = mapdpm_features_memory(file, file_bytes, &needed);

    if (error != MAPDPM_OK)
        return error;
    if (f == NULL || !is_aligned(f))
        return MAPDPM_E_ARGUMENT;
    if (bytes < needed)
        return MAPDPM_E_SPACE;
    error = features_plan(f, NULL, file, get32(file + 16), get32(file + 12));
    if (error != MAPDPM_OK || f->n_state != get32(file + 20) || f->n_words != get32(file + 24)) {
        f->bytes = 0;
        return MAPDPM_E_DAMAGED;
    }
    p = file + MD_HEADER + (size_t)f->n_steps * STEP_BYTES;
    copy_entries(counters_of(f), p, f->n_words, 4);
    copy_entries(state_of(f), p + 4 * (size_t)f->n_words, f->n_state, MD_REAL);
    for (i = 0; i < f->n_steps; i++)
        if (!is_state(f, steps_of(f) + i)) {
            f->bytes = 0;
            return MAPDPM_E_DAMAGED;
        }
    return MAPDPM_OK;
}
