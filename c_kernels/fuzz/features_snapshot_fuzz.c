/* Any bytes as the file of a pipeline with the right length and CRC: refused, or a pipeline that goes on without harm.
 *
 * Without a corpus the mutator begins with files of its own, of pipelines of every kind of step.
 */
#include "fuzz.h"
#include "tests/steps.h"

enum { D = 2, MOST = 1 << 15, SNAPSHOT_HEAD = 40 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static mapdpm_features *new_pipeline(size_t bytes)
{
    return (mapdpm_features *)(void *)new_stream(bytes);
}

/* Some points; NaN and steps in time among them. */
static void transform_points(mapdpm_features *f, unsigned n)
{
    mapdpm_real *const x = (mapdpm_real *)calloc(f->n_features, sizeof *x);
    mapdpm_real *const out = (mapdpm_real *)malloc((f->width + (size_t)1) * sizeof *out);
    int64_t now = -INT64_C(7200000000);
    unsigned i;

    MUST(x != NULL && out != NULL);
    for (i = 0; i < n; i++, now += INT64_C(2345678901)) {
        x[0] = i % 5 == 3 ? math_nan() : (mapdpm_real)(i * 37 % 11) - 5;
        x[f->n_features - 1] = (mapdpm_real)(i % 3) / 4;
        MUST(mapdpm_features_step(f, x, &now, out) >= 0);
    }
    free(x);
    free(out);
}

/* The file of a pipeline of up to four steps, each of the one before or of the point, after some points. */
static size_t a_file(unsigned which, uint8_t *file, size_t capacity)
{
    mapdpm_step steps[4];
    const uint32_t n = 1 + (which & 3u);
    mapdpm_features *f;
    size_t bytes, length = 0;
    uint32_t i;

    for (i = 0; i < n; i++) {
        steps[i] = step_of_kind(1 + (which >> (2 + 5 * i) & 15u) % n_kinds(), 4);
        steps[i].source = which >> (6 + 5 * i) & 1u ? i : 0;
        if ((features_kind(steps[i].kind)->is & USES_SECOND) != 0)
            steps[i].second = steps[i].source;
    }
    bytes = mapdpm_features_bytes(steps, n, D);
    MUST(bytes > 0);
    f = new_pipeline(bytes);
    MUST(mapdpm_features_init(f, bytes, steps, n, D) == MAPDPM_OK);
    transform_points(f, which >> 22 & 31u);
    if (mapdpm_features_write(f, file, capacity, &length) != MAPDPM_OK)
        length = 0;
    free(f);
    return length;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    if (size < SNAPSHOT_HEAD || seed % 1000 == 0)
        size = a_file(mixed(seed / 1000), data, max_size);
    return LLVMFuzzerMutate(data, size, max_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *file, *again;
    size_t bytes = 0, n, i;

    if (size < SNAPSHOT_HEAD + 4)
        return 0;
    file = (uint8_t *)copy_of(data, size);
    for (i = 0; i < 8; i++)
        file[32 + i] = (uint8_t)((uint64_t)size >> (8 * i));
    seal(file, size);
    if (mapdpm_features_memory(file, size, &bytes) == MAPDPM_OK && bytes <= MOST) {
        mapdpm_features *const f = new_pipeline(bytes);

        if (mapdpm_features_read(f, bytes, file, size) == MAPDPM_OK) {
            again = (uint8_t *)malloc(mapdpm_features_file_bytes(f));
            MUST(again != NULL && f->bytes == bytes);
            MUST(mapdpm_features_write(f, again, mapdpm_features_file_bytes(f), &n) == MAPDPM_OK && n <= size);
            for (i = SNAPSHOT_HEAD; i < n - 4; i++) /* all but the extras */
                MUST(file[i] == again[i]);
            transform_points(f, 40);
            MUST(mapdpm_features_write(f, again, n, &n) == MAPDPM_OK);
            (void)mapdpm_features_read(f, bytes, again, n); /* sums of a forged file may have left their bounds */
            free(again);
        }
        free(f);
    }
    free(file);
    return 0;
}
