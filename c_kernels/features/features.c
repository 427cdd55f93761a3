/* Pipelines of causal transformers: steps are checked and laid out, and points go through them (docs/maths.md, section
 * 32). A pipeline is a straight-line program: each step is a function of the point or of an earlier step.
 */
#include "features/mapdpm_transformers.h"

/* The result of the point or of a step: how many features, and after how many points each. */
typedef struct {
    uint32_t width, period;
} outcome;

/* ---- checks of steps --------------------------------------------------------------------------------------------- */

static int is_a_block(uint32_t kind)
{
    return kind == MAPDPM_STEP_RMS || kind == MAPDPM_STEP_CREST || kind == MAPDPM_STEP_BAND;
}

/* Whether n is one that the kind allows. */
static int is_length(const mapdpm_step *t)
{
    switch (t->kind) {
    case MAPDPM_STEP_LAG:
        return t->n >= 1 && t->n <= LONGEST_LAG;
    case MAPDPM_STEP_SEASONAL:
        return t->n == HOURS || t->n == DAYS || t->n == HOURS_OF_WEEK;
    case MAPDPM_STEP_JOIN:
        return t->n == 0;
    default:
        return t->n >= 1 && t->n <= LARGEST_BLOCK;
    }
}

/* Whether the fields are valid, and those that the kind does not use are 0. */
static int are_fields(const mapdpm_step *t)
{
    const int is_seasonal = t->kind == MAPDPM_STEP_SEASONAL, is_band = t->kind == MAPDPM_STEP_BAND;

    if (t->kind < MAPDPM_STEP_LAG || t->kind > MAPDPM_STEP_JOIN || !is_length(t))
        return 0;
    if (t->second != 0 && t->kind != MAPDPM_STEP_JOIN)
        return 0;
    if (is_band ? !(t->first >= 1 && t->first < t->end && t->end <= t->n / 2 + 1) : (t->first != 0 || t->end != 0))
        return 0;
    if (is_seasonal ? (t->offset < -MINUTES_OF_DAY || t->offset > MINUTES_OF_DAY) : t->offset != 0)
        return 0;
    if (t->centred > (t->kind == MAPDPM_STEP_RMS || t->kind == MAPDPM_STEP_CREST ? 1u : 0u))
        return 0;
    if (!(t->half_life >= 0 && t->half_life <= 0))
        return is_seasonal && t->half_life >= (md_real)1e-6 && t->half_life <= (md_real)1e9;
    return 1;
}

/* The sizes of a step whose source has D features. */
static step_sizes sizes_of(const mapdpm_step *t, uint64_t D)
{
    step_sizes s = {0, 0, 0};

    switch (t->kind) {
    case MAPDPM_STEP_LAG:
    case MAPDPM_STEP_DIFFERENCE:
        s.state = D * t->n;
        s.words = 1;
        break;
    case MAPDPM_STEP_CENTRE:
        s.state = D * ((uint64_t)t->n + CENTRE_SUMS);
        s.words = 2 + 2 * D;
        break;
    case MAPDPM_STEP_SEASONAL:
        s.state = D * (SEASONAL_SUMS + 2 * (uint64_t)t->n);
        s.table = 1;
        break;
    case MAPDPM_STEP_RMS:
        s.state = 2 * D;
        s.words = 1 + D;
        break;
    case MAPDPM_STEP_CREST:
        s.state = 4 * D;
        s.words = 1 + D;
        break;
    case MAPDPM_STEP_BAND:
        s.state = D * (1 + 2 * (uint64_t)(t->end - t->first));
        s.table = t->end - t->first;
        s.words = 1 + D;
        break;
    default:
        break;
    }
    return s;
}

/* The result of a valid step i, or a width of 0. of[0] is the point, of[i] the result of the i-th step. */
static outcome outcome_of(const mapdpm_step *t, uint32_t i, const outcome *of)
{
    outcome o = {0, 0};
    uint64_t width, period;

    if (!are_fields(t) || t->source > i || t->second > i)
        return o;
    width = of[t->source].width;
    period = of[t->source].period;
    if (t->kind == MAPDPM_STEP_LAG)
        width *= (uint64_t)t->n + 1;
    if (t->kind == MAPDPM_STEP_JOIN) {
        width += of[t->second].width;
        if (of[t->second].period != period)
            return o;
    }
    if (is_a_block(t->kind))
        period *= t->n;
    if (width > LARGEST_WIDTH || period > INT32_MAX)
        return o;
    o.width = (uint32_t)width;
    o.period = (uint32_t)period;
    return o;
}

/* Check and lay out the steps. Sets the sizes of f, and `planned` if it is not NULL. Returns the bytes of all,
 * or 0. */
static uint64_t lay_out_steps(mapdpm_features *f, planned_step *planned, const mapdpm_step *steps,
                              const unsigned char *file)
{
    outcome of[MOST_STEPS + 1];
    uint64_t state = 0, derived = 0, words = 0, bytes;
    uint32_t i;

    if (f->n_steps < 1 || f->n_steps > MOST_STEPS || f->n_features < 1 || f->n_features > LARGEST_WIDTH)
        return 0;
    of[0].width = f->n_features;
    of[0].period = 1;
    derived = f->n_features;
    f->timed = 0;
    for (i = 0; i < f->n_steps; i++) {
        const mapdpm_step t = file != NULL ? features_step_in(file, i) : steps[i];
        const outcome o = outcome_of(&t, i, of);
        step_sizes s;

        if (o.width == 0)
            return 0;
        s = sizes_of(&t, of[t.source].width);
        if (planned != NULL) {
            planned_step *const p = planned + i;

            memset(p, 0, sizeof *p);
            p->step = t;
            p->from = of[t.source].width;
            p->width = o.width;
            p->at_state = (uint32_t)state;
            p->at_table = (uint32_t)derived;
            p->at_result = (uint32_t)(derived + s.table);
            p->at_words = (uint32_t)words;
        }
        of[i + 1] = o;
        state += s.state;
        derived += s.table + o.width;
        words += s.words;
        f->timed |= t.kind == MAPDPM_STEP_SEASONAL ? 1u : 0u;
    }
    bytes = (sizeof *f + f->n_steps * sizeof *planned + (state + derived) * sizeof(md_real) + 4 * words + 7) / 8 * 8;
    if (bytes > INT32_MAX || bytes > SIZE_MAX)
        return 0;
    f->width = of[f->n_steps].width;
    f->n_state = (uint32_t)state;
    f->n_derived = (uint32_t)derived;
    f->n_words = (uint32_t)words;
    f->bytes = (uint32_t)bytes;
    return bytes;
}

uint64_t features_size(const mapdpm_step *steps, const unsigned char *file, uint32_t n, uint32_t n_features)
{
    mapdpm_features f;

    memset(&f, 0, sizeof f);
    f.n_steps = n;
    f.n_features = n_features;
    return lay_out_steps(&f, NULL, steps, file);
}

/* The caller knows that the memory suffices. */
int features_plan(mapdpm_features *f, const mapdpm_step *steps, const unsigned char *file, uint32_t n,
                  uint32_t n_features)
{
    uint32_t i;

    memset(f, 0, sizeof *f);
    f->n_steps = n;
    f->n_features = n_features;
    if (lay_out_steps(f, steps_of(f), steps, file) == 0)
        return MAPDPM_E_ARGUMENT;
    memset(state_of(f), 0, f->bytes - (size_t)((unsigned char *)state_of(f) - (unsigned char *)f));
    for (i = 0; i < n; i++)
        features_tabulate(steps_of(f) + i, derived_of(f) + steps_of(f)[i].at_table);
    return MAPDPM_OK;
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

size_t mapdpm_features_bytes(const mapdpm_step *steps, uint32_t n_steps, uint32_t n_features)
{
    return steps == NULL ? 0 : (size_t)features_size(steps, NULL, n_steps, n_features);
}

int mapdpm_features_init(mapdpm_features *f, size_t bytes, const mapdpm_step *steps, uint32_t n_steps,
                         uint32_t n_features)
{
    const size_t needed = mapdpm_features_bytes(steps, n_steps, n_features);

    if (f == NULL || !is_aligned(f) || needed == 0)
        return MAPDPM_E_ARGUMENT;
    if (bytes < needed)
        return MAPDPM_E_SPACE;
    return features_plan(f, steps, NULL, n_steps, n_features);
}

int mapdpm_features_reset(mapdpm_features *f)
{
    uint32_t i;

    if (is_no_pipeline(f))
        return MAPDPM_E_ARGUMENT;
    memset(state_of(f), 0, f->n_state * sizeof(md_real));
    memset(counters_of(f), 0, f->n_words * sizeof(uint32_t));
    for (i = 0; i < f->n_steps; i++) {
        planned_step *const p = steps_of(f) + i;

        p->emits = 0;
        memset(derived_of(f) + p->at_result, 0, p->width * sizeof(md_real));
    }
    memset(derived_of(f), 0, f->n_features * sizeof(md_real));
    return MAPDPM_OK;
}

uint32_t mapdpm_features_width(const mapdpm_features *f)
{
    return is_no_pipeline(f) ? 0 : f->width;
}

int mapdpm_features_get_step(const mapdpm_features *f, uint32_t i, mapdpm_step *step)
{
    if (is_no_pipeline(f) || step == NULL || i >= f->n_steps)
        return MAPDPM_E_ARGUMENT;
    *step = steps_of(f)[i].step;
    return MAPDPM_OK;
}

/* Whether a point can be transformed. */
static int check_of(const mapdpm_features *f, const md_real *x, const int64_t *microseconds)
{
    uint32_t d;

    if (f->timed != 0 && microseconds == NULL)
        return MAPDPM_E_TIME;
    if (microseconds != NULL && (*microseconds < -(INT64_MAX / 4) || *microseconds > INT64_MAX / 4))
        return MAPDPM_E_TIME;
    for (d = 0; d < f->n_features; d++)
        if (!(x[d] >= -FEATURE_LIMIT && x[d] <= FEATURE_LIMIT) && !is_missing(x[d]))
            return math_is_finite(x[d]) ? MAPDPM_E_RANGE : MAPDPM_E_NUMBER;
    return MAPDPM_OK;
}

/* Values within the limit. Every NaN has the same bits. */
static void put_result(md_real *to, const md_real *from, uint32_t n)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        const md_real x = from[i];

        if (is_missing(x))
            to[i] = math_nan();
        else
            to[i] = x > FEATURE_LIMIT ? FEATURE_LIMIT : (x < -FEATURE_LIMIT ? -FEATURE_LIMIT : x);
    }
}

/* The point, which is there, goes through all steps. Returns 1 if a result came out. */
static int transform(mapdpm_features *f, const md_real *x, const int64_t *microseconds, md_real *out)
{
    planned_step *const steps = steps_of(f);
    md_real *const derived = derived_of(f);
    uint32_t i, emits = 0;

    put_result(derived, x, f->n_features);
    for (i = 0; i < f->n_steps; i++) {
        planned_step *const p = steps + i;
        const uint32_t source = p->step.source;
        md_real *const result = derived + p->at_result;

        emits = source == 0 || steps[source - 1].emits != 0;
        if (emits != 0)
            emits = (uint32_t)features_run(f, p, source == 0 ? derived : derived + steps[source - 1].at_result,
                                           microseconds);
        p->emits = emits;
        if (emits != 0)
            put_result(result, result, p->width);
    }
    if (emits != 0)
        memcpy(out, derived + steps[f->n_steps - 1].at_result, f->width * sizeof(md_real));
    return (int)emits;
}

int mapdpm_features_step(mapdpm_features *f, const mapdpm_real *x, const int64_t *microseconds, mapdpm_real *out)
{
    int error;

    if (is_no_pipeline(f) || x == NULL || out == NULL)
        return MAPDPM_E_ARGUMENT;
    error = check_of(f, x, microseconds);
    return error != MAPDPM_OK ? error : transform(f, x, microseconds, out);
}

int mapdpm_features_many(mapdpm_features *f, const mapdpm_real *x, const int64_t *microseconds, size_t n,
                         mapdpm_real *out, size_t *rows, size_t *done)
{
    size_t i, found = 0;

    if (is_no_pipeline(f) || x == NULL || out == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        const int error = check_of(f, x + i * f->n_features, microseconds == NULL ? NULL : microseconds + i);

        if (error != MAPDPM_OK) {
            *done = i;
            return error;
        }
    }
    for (i = 0; i < n; i++) {
        const int64_t *const time = microseconds == NULL ? NULL : microseconds + i;

        if (transform(f, x + i * f->n_features, time, out + found * f->width)) {
            if (rows != NULL)
                rows[found] = i;
            found++;
        }
    }
    *done = found;
    return MAPDPM_OK;
}
