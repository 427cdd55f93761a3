/* Pipelines of causal transformers: steps are checked and laid out, and points go through them (docs/maths.md, section
 * 32). A pipeline is a straight-line program: each step is a function of the point or of an earlier step.
 */
#include "features/mapdpm_transformers.h"

/* The result of the point or of a step: how many features, and after how many points each. */
typedef struct {
    uint32_t width, period;
} outcome;

/* ---- checks of steps --------------------------------------------------------------------------------------------- */

/* Whether `first` is within the limits that the kind has; 0 where it has none. */
static int is_first(const mapdpm_step *t, uint32_t is)
{
    const uint32_t first = t->first, n = t->n;

    if ((is & USES_BAND) != 0)
        return first >= 1;
    if ((is & USES_EVERY) != 0)
        return first >= 1 && first <= n;
    if ((is & HAS_PARTS) != 0)
        return first >= 2 && first <= n / 2;
    if ((is & HAS_COMPONENTS) != 0)
        return first >= 1 && first <= MOST_AXES;
    return first == 0;
}

/* Whether the fields that the kind uses are valid, and those that it does not use are 0. */
static int are_fields(const mapdpm_step *t, const step_kind *kind)
{
    const uint32_t n = t->n, is = kind->is;

    if ((is & USES_SEASON) != 0 ? n != HOURS && n != DAYS && n != HOURS_OF_WEEK
                                : ((is & USES_N) != 0 ? n < 1 || n > LARGEST_BLOCK : n != 0))
        return 0;
    if (t->second != 0 && (is & USES_SECOND) == 0)
        return 0;
    if (!is_first(t, is) || ((is & USES_BAND) != 0 ? t->end <= t->first || t->end > n / 2 + 1 : t->end != 0))
        return 0;
    if (t->offset != 0 && ((is & USES_OFFSET) == 0 || t->offset < -MINUTES_OF_DAY || t->offset > MINUTES_OF_DAY))
        return 0;
    if (t->centred > ((is & USES_CENTRED) != 0 ? 1u : 0u))
        return 0;
    if (!(t->half_life >= 0 && t->half_life <= 0))
        return (is & USES_HALF_LIFE) != 0 && t->half_life >= (md_real)1e-6 && t->half_life <= (md_real)1e9;
    return 1;
}

/* The reals of the state of a valid step, of each feature of its source; its counters. */
static uint32_t reals_in(const mapdpm_step *t, const step_kind *kind, uint32_t D)
{
    return kind->state[0] + kind->state[1] * t->n + kind->state[2] * n_bins(t) + kind->state[3] * D;
}

static uint32_t counters_in(const step_kind *kind, uint32_t D)
{
    return kind->words[0] + kind->words[1] * D;
}

/* The result of a valid step i, or a width of 0. of[0] is the point, of[i] the result of the i-th step. */
static outcome outcome_of(const mapdpm_step *t, const step_kind *kind, uint32_t i, const outcome *of)
{
    outcome o = {0, 0};
    uint64_t width, period;

    if (kind == NULL || t->source > i || t->second > i || !are_fields(t, kind))
        return o;
    width = of[t->source].width;
    period = of[t->source].period;
    if ((kind->is & HAS_LAGS) != 0)
        width *= (uint64_t)t->n + 1;
    if ((kind->is & USES_EVERY) != 0)
        width *= (t->n - 1) / t->first + 1;
    if ((kind->is & HAS_PARTS) != 0)
        width *= t->first;
    if ((kind->is & HAS_COMPONENTS) != 0)
        width = width >= t->first && width <= MOST_AXES ? (uint64_t)t->first + 1 : 0;
    if ((kind->is & HAS_LENGTHS) != 0)
        width *= 2;
    if ((kind->is & IS_PAIR) != 0)
        width = 2;
    if ((kind->is & USES_SECOND) != 0) {
        width += of[t->second].width;
        if (of[t->second].period != period)
            return o;
    }
    if ((kind->is & IN_BLOCKS) != 0)
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
        const step_kind *const kind = features_kind(t.kind);
        const outcome o = outcome_of(&t, kind, i, of);
        uint32_t D, n_table;

        if (o.width == 0)
            return 0;
        D = of[t.source].width;
        n_table = kind->table * ((kind->is & USES_BAND) != 0 ? n_bins(&t) : 1);
        if (planned != NULL) {
            planned_step *const p = planned + i;

            memset(p, 0, sizeof *p);
            p->step = t;
            p->from = D;
            p->width = o.width;
            p->at_state = (uint32_t)state;
            p->at_table = (uint32_t)derived;
            p->at_result = (uint32_t)(derived + n_table);
            p->at_words = (uint32_t)words;
        }
        of[i + 1] = o;
        state += (uint64_t)D * reals_in(&t, kind, D);
        derived += (uint64_t)n_table + o.width;
        words += counters_in(kind, D);
        f->timed |= (kind->is & NEEDS_TIMES) != 0 ? 1u : 0u;
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
    for (i = 0; i < n; i++) {
        const planned_step *const p = steps_of(f) + i;
        const step_kind *const kind = features_kind(p->step.kind);

        if (kind->tabulate != NULL)
            kind->tabulate(&p->step, derived_of(f) + p->at_table);
    }
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

uint32_t mapdpm_features_period(const mapdpm_features *f, uint32_t i)
{
    if (is_no_pipeline(f) || i >= f->n_steps || steps_of(f)[i].step.kind != MAPDPM_STEP_AUTOPERIOD)
        return 0;
    return counters_of(f)[steps_of(f)[i].at_words + AUTOPERIOD_PERIOD];
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

/* Whether the point came, or a result of a step with it. */
static uint32_t came(const planned_step *steps, uint32_t source)
{
    return source == 0 || steps[source - 1].emits != 0 ? 1u : 0u;
}

static int has_missing(const md_real *x, uint32_t D)
{
    uint32_t d;

    for (d = 0; d < D; d++)
        if (is_missing(x[d]))
            return 1;
    return 0;
}

/* Run a step whose sources have a result. Returns 1 if something came out. */
static uint32_t run(const step_run *r)
{
    const planned_step *const p = r->p;
    const step_kind *const kind = features_kind(p->step.kind);
    md_real *const result = r->result;

    if ((kind->is & HAS_COMPONENTS) != 0 && has_missing(r->x, p->from))
        return 0;
    if ((kind->is & IN_BLOCKS) == 0) {
        kind->run(r);
        if ((kind->is & WARMS_UP) != 0 && r->words[0] < p->step.n)
            return 0;
    } else {
        r->words[0]++;
        kind->run(r);
        if (r->words[0] < p->step.n)
            return 0;
        memset(r->state, 0, (size_t)p->from * reals_in(&p->step, kind, p->from) * sizeof(md_real));
        memset(r->words, 0, counters_in(kind, p->from) * sizeof(uint32_t));
    }
    put_result(result, result, p->width);
    return 1;
}

/* The point, which is there, goes through all steps. Returns 1 if a result came out. */
static int transform(mapdpm_features *f, const md_real *x, const int64_t *microseconds, md_real *out)
{
    planned_step *const steps = steps_of(f);
    md_real *const state = state_of(f), *const derived = derived_of(f);
    uint32_t *const words = counters_of(f);
    uint32_t i, emits = 0;
    step_run r;

    put_result(derived, x, f->n_features);
    r.microseconds = microseconds;
    for (i = 0; i < f->n_steps; i++) {
        planned_step *const p = steps + i;
        const uint32_t source = p->step.source, second = p->step.second;

        emits = came(steps, source) & came(steps, second);
        if (emits != 0) {
            r.p = p;
            r.x = source == 0 ? derived : derived + steps[source - 1].at_result;
            r.second = second == 0 ? derived : derived + steps[second - 1].at_result;
            r.table = derived + p->at_table;
            r.state = state + p->at_state;
            r.words = words + p->at_words;
            r.result = derived + p->at_result;
            emits = run(&r);
        }
        p->emits = emits;
    }
    if (emits != 0)
        memcpy(out, r.result, f->width * sizeof(md_real));
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
