/* Pipelines: steps against formulas written out; and of each kind, files at any point, refusals, and forged files.
 * tests/features compares all kinds with an oracle in Python.
 */
#include "repair.h"
#include "steps.h"

enum { D = 2, N = 200, MOST_WIDTH = 32, MD_MEMORY = 1 << 15 };
#define HOUR INT64_C(3600000000)
#define EPS (MATH_IS_FLOAT ? 1.2e-7 : 2.3e-16)

static uint64_t first[MD_MEMORY / 8], second[MD_MEMORY / 8];
static unsigned char file[MD_MEMORY], other[MD_MEMORY];

/* lag, difference, centre and week of it, side by side; of all that, blocks. */
static const mapdpm_step steps[] = {
    {MAPDPM_STEP_LAG, 0, 0, 2, 0, 0, 0, 0, 0},         {MAPDPM_STEP_DIFFERENCE, 0, 0, 3, 0, 0, 0, 0, 0},
    {MAPDPM_STEP_CENTRE, 0, 0, 7, 0, 0, 0, 0, 0},      {MAPDPM_STEP_SEASONAL, 3, 0, 24, 0, 0, -90, 0, 5},
    {MAPDPM_STEP_JOIN, 1, 2, 0, 0, 0, 0, 0, 0},        {MAPDPM_STEP_JOIN, 5, 4, 0, 0, 0, 0, 0, 0},
    {MAPDPM_STEP_RMS, 6, 0, 8, 0, 0, 0, 1, 0},         {MAPDPM_STEP_CREST, 0, 0, 8, 0, 0, 0, 0, 0},
    {MAPDPM_STEP_BAND, 0, 0, 8, 1, 5, 0, 0, 0},        {MAPDPM_STEP_JOIN, 7, 8, 0, 0, 0, 0, 0, 0},
    {MAPDPM_STEP_JOIN, 10, 9, 0, 0, 0, 0, 0, 0},
};
enum { N_STEPS = sizeof steps / sizeof *steps, POINTWISE = 6 };

static mapdpm_features *begin(uint64_t *memory, const mapdpm_step *program, uint32_t n)
{
    mapdpm_features *const f = (mapdpm_features *)(void *)memory;

    memset(memory, 0xa5, MD_MEMORY);
    CHECK_OK(mapdpm_features_init(f, MD_MEMORY, program, n, D));
    CHECK(f->bytes == mapdpm_features_bytes(program, n, D) && f->width == mapdpm_features_width(f));
    CHECK(f->width <= MOST_WIDTH);
    return f;
}

static void draw(uint64_t *state, md_real *x)
{
    uint32_t d;

    for (d = 0; d < D; d++)
        x[d] = check_random(state) % 16 == 0 ? math_nan() : (md_real)check_uniform(state);
}

/* A file at any point, and pieces of any length, change nothing. Returns the number of results of N points. */
static size_t files_and_pieces(const mapdpm_step *program, uint32_t n)
{
    mapdpm_features *const a = begin(first, program, n), *const b = begin(second, program, n);
    md_real x[N * D], out[N * MOST_WIDTH], row[MOST_WIDTH];
    int64_t times[N];
    size_t rows[N], done, found = 0, bytes, length;
    uint64_t state = 5;
    uint32_t i, d;

    for (i = 0; i < N; i++) {
        draw(&state, x + i * D);
        times[i] = (int64_t)i * 5 * HOUR / 3 - 40 * HOUR;
    }
    CHECK_OK(mapdpm_features_many(a, x, times, N, out, rows, &done));
    for (i = 0; i < N; i++) {
        const int came = mapdpm_features_step(b, x + i * D, times + i, row);

        CHECK(came == (found < done && rows[found] == i));
        for (d = 0; came == 1 && d < b->width; d++)
            CHECK(memcmp(row + d, out + found * b->width + d, sizeof *row) == 0);
        found += came == 1;
        CHECK_OK(mapdpm_features_write(b, file, sizeof file, &length));
        CHECK(length == mapdpm_features_file_bytes(b));
        memset(second, 0x5a, sizeof second);
        CHECK(mapdpm_features_memory(file, length, &bytes) == MAPDPM_OK && bytes <= MD_MEMORY);
        CHECK(mapdpm_features_read(b, bytes, file, length) == MAPDPM_OK && b->bytes == bytes);
        CHECK_OK(mapdpm_features_write(b, other, sizeof other, &bytes));
        CHECK(bytes == length && memcmp(file, other, length) == 0);
    }
    CHECK_OK(mapdpm_features_reset(a));
    (void)begin(second, program, n);
    CHECK(memcmp(first, second, a->bytes) == 0);
    return done;
}

static void formulas(void)
{
    static const mapdpm_step centre = {MAPDPM_STEP_CENTRE, 0, 0, 4, 0, 0, 0, 0, 0};
    static const mapdpm_step rms = {MAPDPM_STEP_RMS, 0, 0, 4, 0, 0, 0, 1, 0};
    static const mapdpm_step band = {MAPDPM_STEP_BAND, 0, 0, 64, 5, 6, 0, 0, 0};
    mapdpm_features *f = begin(first, &centre, 1);
    md_real x[D] = {1, 0}, out[MOST_WIDTH];
    int i;

    for (i = 1; i <= 8; i++) {
        x[0] = (md_real)i;
        CHECK(mapdpm_features_step(f, x, NULL, out) == 1);
        CHECK(fabs((double)out[0] - (i < 5 ? i / 2.0 : 2.5)) < 8 * EPS || i == 1);
        CHECK(!(out[1] > 0 || out[1] < 0));
    }
    f = begin(first, &rms, 1);
    for (i = 0; i < 4; i++) {
        x[0] = (md_real)(1000 + (i % 2 ? 3 : -3));
        CHECK(mapdpm_features_step(f, x, NULL, out) == (i == 3));
    }
    CHECK(fabs((double)out[0] - 3) < 64 * EPS && !(out[1] > 0));
    f = begin(first, &band, 1);
    for (i = 0; i < 64; i++) {
        x[0] = (md_real)(9 + 2 * sin(2 * 3.14159265358979 * 5 * i / 64));
        CHECK(mapdpm_features_step(f, x, NULL, out) == (i == 63));
    }
    CHECK(fabs((double)out[0] - 2) < 1024 * EPS + 1e-12);
}

/* A wave of 10 points, which grows, has that period, whatever the other feature does; parts are of 3 points. */
static void period_and_parts(void)
{
    static const mapdpm_step windows = {MAPDPM_STEP_AUTOPERIOD, 0, 0, 100, 2, 0, 0, 0, 0};
    static const int wave[10] = {0, 3, 5, 5, 3, 0, -3, -5, -5, -3};
    mapdpm_features *const f = begin(first, &windows, 1);
    md_real x[D] = {0, 7}, out[MOST_WIDTH];
    int i;

    for (i = 0; i < 100; i++) {
        x[0] = (md_real)((i + 50) * wave[i % 10]);
        CHECK(mapdpm_features_period(f, 0) == 0);
        CHECK(mapdpm_features_step(f, x, NULL, out) == (i == 99));
    }
    CHECK(mapdpm_features_period(f, 0) == 10 && mapdpm_features_period(f, 1) == 0 && mapdpm_features_period(NULL, 0) == 0);
    CHECK_NEAR(out[0], (149 * -3 + 148 * -5 + 147 * -5) / 3.0, 4096 * EPS);
    CHECK_NEAR(out[2], (146 * -3 + 145 * 0 + 144 * 3) / 3.0, 4096 * EPS);
    CHECK(out[1] == 7 && out[3] == 7);
}

/* Points about (1, 2) on a line of slope 4 / 3, and then one beside it. */
static void components(void)
{
    static const mapdpm_step axis = {MAPDPM_STEP_PCA, 0, 0, 5, 1, 0, 0, 0, 0};
    mapdpm_features *const f = begin(first, &axis, 1);
    md_real x[D], out[MOST_WIDTH];
    int i;

    for (i = -2; i <= 2; i++) {
        x[0] = (md_real)(1 + 3 * i);
        x[1] = (md_real)(2 + 4 * i);
        CHECK(mapdpm_features_step(f, x, NULL, out) == (i == 2));
    }
    CHECK_NEAR(out[0], 10, 64 * EPS);
    CHECK_NEAR(out[1], log(1e-9), 0.01);
    x[0] = 1 + 3 - 8;
    x[1] = 2 + 4 + 6;
    CHECK(mapdpm_features_step(f, x, NULL, out) == 1);
    CHECK_NEAR(out[0], 5, 256 * EPS); /* as the second point */
    CHECK_NEAR(out[1], log(100 / 50.0 + 1e-9), 256 * EPS);
}

static void refuses(mapdpm_step step, uint32_t n_steps)
{
    mapdpm_step both[2];

    both[0] = steps[0];
    both[1] = step;
    CHECK(mapdpm_features_bytes(both, n_steps, D) == 0);
    CHECK_REFUSED(mapdpm_features_init((mapdpm_features *)(void *)first, MD_MEMORY, both, n_steps, D));
}

static void refusals(void)
{
    static const mapdpm_step wrong[] = {
        {0, 0, 0, 2, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_LAG, 2, 0, 2, 0, 0, 0, 0, 0},      /* itself */
        {MAPDPM_STEP_LAG, 0, 0, 0, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_LAG, 0, 0, 65535, 0, 0, 0, 0, 0},  /* too wide */
        {MAPDPM_STEP_LAG, 0, 1, 2, 0, 0, 0, 0, 0},      /* a field that it does not use */
        {MAPDPM_STEP_CENTRE, 0, 0, 1048577, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_CENTRE, 0, 0, 4, 0, 0, 0, 1, 0},
        {MAPDPM_STEP_CENTRE, 0, 0, 4, 0, 0, 0, 0, 3},
        {MAPDPM_STEP_SEASONAL, 0, 0, 25, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_SEASONAL, 0, 0, 24, 0, 0, 1441, 0, 0},
        {MAPDPM_STEP_SEASONAL, 0, 0, 24, 0, 0, 0, 0, -1},
        {MAPDPM_STEP_RMS, 0, 0, 8, 0, 0, 0, 2, 0},
        {MAPDPM_STEP_BAND, 0, 0, 8, 0, 2, 0, 0, 0},
        {MAPDPM_STEP_BAND, 0, 0, 8, 2, 2, 0, 0, 0},
        {MAPDPM_STEP_BAND, 0, 0, 8, 2, 6, 0, 0, 0},
        {MAPDPM_STEP_JOIN, 1, 2, 0, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_SMOOTH, 0, 0, 4, 1, 0, 0, 0, 0},
        {MAPDPM_STEP_AUTOPERIOD, 0, 0, 9, 1, 0, 0, 0, 0},
        {MAPDPM_STEP_AUTOPERIOD, 0, 0, 9, 5, 0, 0, 0, 0},
        {MAPDPM_STEP_AUTOPERIOD, 0, 0, 1048576, 65536, 0, 0, 0, 0}, /* too wide */
        {MAPDPM_STEP_PCA, 0, 0, 9, 0, 0, 0, 0, 0},
        {MAPDPM_STEP_PCA, 0, 0, 9, D + 1, 0, 0, 0, 0},
    };
    static const mapdpm_step apart[] = {{MAPDPM_STEP_RMS, 0, 0, 4, 0, 0, 0, 0, 0}, {MAPDPM_STEP_JOIN, 1, 0, 0, 0, 0, 0, 0, 0}};
    const mapdpm_step unknown = {n_kinds() + 1, 0, 0, 2, 0, 0, 0, 0, 0};
    mapdpm_features *f;
    md_real x[D] = {1, 2}, out[MOST_WIDTH];
    const int64_t now = 0, late = INT64_MAX;
    size_t i, done;

    for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses(wrong[i], 2);
    refuses(unknown, 2);
    refuses(steps[0], 0);
    refuses(steps[0], MOST_STEPS + 1);
    CHECK(mapdpm_features_bytes(apart, 2, D) == 0 && mapdpm_features_bytes(apart, 1, 0) == 0);
    CHECK(mapdpm_features_bytes(NULL, 1, D) == 0);
    f = begin(first, steps, POINTWISE);
    CHECK(mapdpm_features_init(f, f->bytes - 1, steps, POINTWISE, D) == MAPDPM_E_SPACE);
    CHECK(mapdpm_features_step(f, x, &now, out) == 1);
    memcpy(second, first, sizeof first);
    CHECK(mapdpm_features_step(f, x, NULL, out) == MAPDPM_E_TIME && mapdpm_features_step(f, x, &late, out) == MAPDPM_E_TIME);
    x[1] = FEATURE_LIMIT * 2;
    CHECK(mapdpm_features_step(f, x, &now, out) == MAPDPM_E_RANGE);
    CHECK(mapdpm_features_many(f, x, &now, 1, out, NULL, &done) == MAPDPM_E_RANGE && done == 0);
    x[1] *= FEATURE_LIMIT;
    x[1] *= FEATURE_LIMIT;
    CHECK(mapdpm_features_step(f, x, &now, out) == MAPDPM_E_NUMBER);
    CHECK_REFUSED(mapdpm_features_step(f, NULL, &now, out));
    CHECK_REFUSED(mapdpm_features_step(f, x, &now, NULL));
    CHECK(memcmp(first, second, sizeof first) == 0);
}

/* Every byte of a file is changed, with a CRC that fits: it is refused, or goes on without harm. */
static void forgeries(const mapdpm_step *program, uint32_t n)
{
    mapdpm_features *const f = begin(first, program, n), *const g = (mapdpm_features *)(void *)second;
    md_real x[D], out[MOST_WIDTH];
    uint64_t state = 9;
    size_t length, bytes, i, refused = 0;
    int64_t now = 0;
    int k;

    for (k = 0; k < 21; k++, now += HOUR) {
        draw(&state, x);
        (void)mapdpm_features_step(f, x, &now, out);
    }
    CHECK_OK(mapdpm_features_write(f, file, sizeof file, &length));
    CHECK(mapdpm_features_write(f, file, length - 1, &bytes) == MAPDPM_E_SPACE);
    for (i = 0; i < length - 4; i++) {
        memcpy(other, file, length);
        other[i] = (unsigned char)(other[i] ^ (1u + (unsigned)(check_random(&state) % 255)));
        CHECK(mapdpm_features_read(g, sizeof second, other, length) != MAPDPM_OK);
        repair(other, length);
        if (mapdpm_features_read(g, sizeof second, other, length) != MAPDPM_OK) {
            refused++;
            continue;
        }
        for (k = 0; k < 40 && g->width <= MOST_WIDTH && g->n_features <= D; k++) {
            draw(&state, x);
            (void)mapdpm_features_step(g, x, &now, out);
        }
        CHECK(mapdpm_features_write(g, other, sizeof other, &bytes) == MAPDPM_OK && bytes <= sizeof other);
    }
    CHECK(refused > length / 8);
    CHECK(mapdpm_features_read(g, f->bytes - 1, file, length) == MAPDPM_E_SPACE);
    CHECK_REFUSED(mapdpm_features_read(NULL, f->bytes, file, length));
}

/* A field that the kind does not use is refused, and one that it uses has limits. */
static void fields(const mapdpm_step *step)
{
    const uint32_t is = features_kind(step->kind)->is;
    uint32_t field;

    for (field = USES_N; field <= USES_HALF_LIFE; field *= 2) {
        mapdpm_step t = *step;

        if (field == USES_N || field == USES_SEASON)
            t.n = LARGEST_BLOCK + 1;
        else if (field == USES_SECOND)
            t.second = (is & field) != 0 ? 2 : 1;
        else if (field == USES_BAND)
            t.end = t.n / 2 + 2;
        else if (field == USES_OFFSET)
            t.offset = (is & field) != 0 ? MINUTES_OF_DAY + 1 : 1;
        else if (field == USES_CENTRED)
            t.centred = (is & field) != 0 ? 2 : 1;
        else
            t.half_life = (is & field) != 0 ? -1 : 1;
        CHECK(mapdpm_features_bytes(&t, 1, D) == 0);
    }
}

/* A step keeps to its own memory: the point and the coefficients before its result, and what follows, stay. */
static void neighbours(const mapdpm_step *step)
{
    mapdpm_features *const f = begin(first, step, 1);
    const md_real *const table = derived_of(f) + D;
    const size_t n_table = (steps_of(f)->at_result - D) * sizeof(md_real);
    md_real x[D], out[MOST_WIDTH];
    const int64_t now = 0;
    uint64_t state = 3;
    size_t i;

    memcpy(second, table, n_table);
    for (i = 0; i < 40; i++) {
        draw(&state, x);
        (void)mapdpm_features_step(f, x, &now, out);
        CHECK(memcmp(derived_of(f), x, sizeof x) == 0 && memcmp(table, second, n_table) == 0);
    }
    for (i = f->bytes; i < sizeof first; i++)
        CHECK(((const unsigned char *)first)[i] == 0xa5);
}

/* A file in which a block has all of its points already. */
static void full_block(const mapdpm_step *step)
{
    mapdpm_features *const f = begin(first, step, 1);
    size_t length;

    counters_of(f)[0] = step->n;
    CHECK_OK(mapdpm_features_write(f, file, sizeof file, &length));
    CHECK(mapdpm_features_read((mapdpm_features *)(void *)second, sizeof second, file, length) == MAPDPM_E_DAMAGED);
}

static void each_kind(void)
{
    uint32_t kind;

    CHECK(n_kinds() >= MAPDPM_STEP_JOIN && features_kind(0) == NULL && features_kind(UINT32_MAX) == NULL);
    for (kind = 1; kind <= n_kinds(); kind++) {
        const mapdpm_step step = step_of_kind(kind, 8);
        const size_t done = files_and_pieces(&step, 1);

        if ((features_kind(kind)->is & WARMS_UP) != 0)
            CHECK(done > 0 && done <= N - step.n + 1);
        else
            CHECK(done == ((features_kind(kind)->is & IN_BLOCKS) != 0 ? N / 8 : N));
        fields(&step);
        neighbours(&step);
        if ((features_kind(kind)->is & IN_BLOCKS) != 0)
            full_block(&step);
        if (features_kind(kind)->is_state != NULL)
            forgeries(&step, 1);
    }
}

int main(void)
{
    CHECK(files_and_pieces(steps, N_STEPS) == N / 8);
    CHECK(files_and_pieces(steps, POINTWISE) == N);
    formulas();
    period_and_parts();
    components();
    refusals();
    forgeries(steps, N_STEPS);
    each_kind();
    return REPORT();
}
