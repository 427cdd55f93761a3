/* The step of a feature: the grid m q + c on which its values lie, found in the warm-up as in a table (docs/maths.md, section
 * 36). A grid of decimals comes first; then the smallest gap, or a part of it; last the usual distance of repeated values.
 * Each point then adds the variance of its cell to the squares of its cluster (section 34, decision 164).
 */
#include "stream/mapdpm_steps.h"

/* How far values may be off, as a share of the largest: the noise of some operations on reals, of many on those of eight bytes,
 * and of those of four bytes that are read as eight. */
static const md_real noises[3] = {FLOAT_OR_DOUBLE(2.384185791015625e-7, 4.440892098500626e-16),
                                  (md_real)4.547473508864641e-13, (md_real)2.384185791015625e-7};
/* The finest step that is no decimal, in noises and in units of printed values, which lie off by OFF_IN_PRINT of one. */
#define CLEAR_OF_NOISE ((md_real)16)
#define CLEAR_OF_UNITS ((md_real)5)
#define OFF_IN_PRINT ((md_real)0.55)
/* A step matters from this share of equal values on; beyond so many cells a value, a grid says nothing of equal ones; beyond
 * so many, it may be that of two values alone. */
#define TIES ((md_real)0.02)
#define SPARSE ((md_real)16)
#define LONELY ((md_real)4)
/* Distances of two values are the same up to this share. */
#define SAME_DISTANCE ((md_real)1e-6)
/* The marks of a feature that has had no second value, and of one whose values need not be whole steps away from another. */
#define CONSTANT_YET ((md_real)-1e30)
#define NO_ORIGIN ((md_real)1e30)
/* A value that a feature did not have in the warm-up is no rare one from so many points on. */
#define LEAST_ALIVE ((md_real)8)
/* Nats of evidence for a grid: how improbable it is that random values lie on it. */
#define EVIDENCE ((md_real)20)
/* A sum with this has no fraction, if what is added to it is not too large. */
#define WHOLE FLOAT_OR_DOUBLE(12582912, 6755399441055744.0)
#define MOST_CELLS FLOAT_OR_DOUBLE(2097152, 1125899906842624.0)
/* The smallest gap is at most so many steps. */
enum { MOST_VALUES = 256, MOST_PARTS = 8, MOST_DECIMALS = 17 };

/* The values of a feature that are looked at: the first ones, whose places are sorted in memory that a warm-up fills later. */
typedef struct {
    const mapdpm_stream *s;
    const uint32_t *order;
    size_t d;
    size_t n;
    size_t distinct;
    int is_single;
    md_real noise;
} grid_values;

static md_real nearest_whole(md_real x) { return (x + WHOLE) - WHOLE; }
static md_real magnitude(md_real x) { return x < 0 ? -x : x; }
static md_real grid_value(const grid_values *v, size_t i) { return warmup_point(v->s, v->order[i])[v->d]; }
static md_real grid_gap(const grid_values *v, size_t i) { return grid_value(v, i) - grid_value(v, i - 1); }
static int is_evident(size_t n, md_real step, md_real noise) { return (md_real)n * math_log(step / noise) >= EVIDENCE; }

static int is_step(md_real step)
{
    return step > 0 && step * step > LEAST_VARIANCE && step * step <= MOST_VARIANCE;
}

static grid_values sorted_values(const mapdpm_stream *s, size_t d)
{
    uint32_t *const order = warmup_labels_of(s);
    grid_values v = {s, order, d, 0, 0, 1, 0};
    uint32_t i;
    size_t j;

    for (i = 0; i < MD_WARMUP(s) && v.n < MOST_VALUES; i++) {
        const md_real x = warmup_point(s, i)[d];

        if (!is_present(x))
            continue;
        v.is_single &= magnitude(x) < (md_real)FLT_MAX && (md_real)(float)x >= x && (md_real)(float)x <= x;
        for (j = v.n; j > 0 && grid_value(&v, j - 1) > x; j--)
            order[j] = order[j - 1];
        order[j] = i;
        v.n++;
    }
    for (j = 0; j < v.n; j++)
        v.distinct += j == 0 || grid_gap(&v, j) > 0;
    return v;
}

static md_real span_of(const grid_values *v) { return grid_value(v, v->n - 1) - grid_value(v, 0); }

static int are_whole(const grid_values *v, md_real unit)
{
    size_t i;

    for (i = 0; i < MD_WARMUP(v->s); i++) {
        const md_real x = warmup_point(v->s, i)[v->d], scaled = x / unit;

        if (is_present(x) && !(magnitude(scaled) < MOST_CELLS && magnitude(scaled - nearest_whole(scaled)) <= v->noise / unit))
            return 0;
    }
    return 1;
}

/* The greatest common divisor of two whole numbers. */
static md_real divisor(md_real a, md_real b)
{
    while (b > 0) {
        const md_real rest = magnitude(a - b * nearest_whole(a / b));

        a = b;
        b = rest;
    }
    return a;
}

/* The step of the fewest decimals on which all values of the warm-up lie; 0 if there is none. */
static md_real decimal_step(const grid_values *v)
{
    const md_real first = grid_value(v, 0), span = span_of(v);
    md_real unit = 1, power = 1, common = 0;
    int k;
    size_t i;

    while (unit <= span / 10)
        unit *= 10;
    while (unit > span) {
        power *= 10;
        unit = 1 / power;
    }
    for (k = 0; !are_whole(v, unit); k++) {
        power *= unit > 1 ? 1 : 10;
        unit = unit > 1 ? unit / 10 : 1 / power;
        if (k == MOST_DECIMALS || !(unit >= 4 * v->noise) || !is_evident(v->distinct, unit, 2 * v->noise))
            return 0;
    }
    if (!(unit >= 4 * v->noise) || !is_evident(v->distinct, unit, 2 * v->noise))
        return 0;
    for (i = 0; i < MD_WARMUP(v->s); i++) {
        const md_real x = warmup_point(v->s, i)[v->d];

        if (is_present(x))
            common = divisor(common, magnitude(nearest_whole(x / unit) - nearest_whole(first / unit)));
    }
    return common * unit;
}

/* The step near a guess, which gaps of more and more steps make exact; 0 where a value lies off its grid. */
static md_real fitted_step(const grid_values *v, md_real step, md_real noise)
{
    md_real reach = 8, cells = 0;
    size_t i, near = 0;

    while (near < v->n - 1) {
        md_real products = 0, squares = 0;

        for (i = 1, near = 0; i < v->n; i++)
            if (grid_gap(v, i) < reach * step) {
                const md_real whole = nearest_whole(grid_gap(v, i) / step);

                near++;
                products += grid_gap(v, i) * whole;
                squares += whole * whole;
            }
        if (squares > 0)
            step = products / squares;
        reach *= 8;
    }
    for (i = 1; i < v->n; i++)
        cells += nearest_whole(grid_gap(v, i) / step);
    if (!(cells > 0 && cells < MOST_CELLS))
        return 0;
    step = span_of(v) / cells;
    for (i = 1; i < v->n; i++) {
        const md_real away = grid_value(v, i) - grid_value(v, 0);

        if (magnitude(away - step * nearest_whole(away / step)) > 2 * noise)
            return 0;
    }
    return step;
}

/* The smallest gap between two values that is larger than `above`. */
static md_real least_gap(const grid_values *v, md_real above)
{
    md_real least = LARGEST_REAL;
    size_t i;

    for (i = 1; i < v->n; i++)
        if (grid_gap(v, i) > above && grid_gap(v, i) < least)
            least = grid_gap(v, i);
    return least;
}

/* The largest step of which all gaps are multiples, up to a noise in each value; 0 if none could matter. */
static md_real common_step(const grid_values *v, md_real noise, md_real clear)
{
    const md_real middle = grid_value(v, 3 * v->n / 4) - grid_value(v, v->n / 4);
    const md_real least = least_gap(v, 4 * noise);
    md_real sum = 0, gaps = 0;
    size_t i, part;

    if (!(least < LARGEST_REAL) || least * (md_real)v->distinct < (md_real)1e-3 * middle || v->distinct < 3)
        return 0;
    for (i = 1; i < v->n; i++)
        if (grid_gap(v, i) > 4 * noise && grid_gap(v, i) <= least + 4 * noise) {
            sum += grid_gap(v, i);
            gaps += 1;
        }
    for (part = 1; part <= MOST_PARTS; part++) {
        const md_real step = sum / gaps / (md_real)part;
        md_real found;

        if (step < clear * noise || !is_evident(v->distinct - 2, step, 4 * noise))
            return 0;
        found = fitted_step(v, step, noise);
        if (found > 0)
            return found;
    }
    return 0;
}

/* The first value above value i, or the end. */
static size_t end_of_equals(const grid_values *v, size_t i)
{
    const md_real x = grid_value(v, i);

    while (i < v->n && !(grid_value(v, i) > x))
        i++;
    return i;
}

/* The distance from the values i to `end`, which are equal, to the next one. */
static md_real nearest_distance(const grid_values *v, size_t i, size_t end)
{
    const md_real below = i > 0 ? grid_gap(v, i) : LARGEST_REAL, above = end < v->n ? grid_gap(v, end) : LARGEST_REAL;

    return below < above ? below : above;
}

/* The distance of a value to the next one, in the median of all points. */
static md_real usual_distance(const grid_values *v)
{
    md_real best = LARGEST_REAL;
    size_t i, j, end, last, within;

    for (i = 0; i < v->n; i = end) {
        end = end_of_equals(v, i);
        for (j = 0, within = 0; j < v->n; j = last) {
            last = end_of_equals(v, j);
            if (nearest_distance(v, j, last) <= nearest_distance(v, i, end))
                within += last - j;
        }
        if (2 * within >= v->n && nearest_distance(v, i, end) < best)
            best = nearest_distance(v, i, end);
    }
    return best;
}

/* The step, where it matters: 0 where few values are equal, or would be. */
static md_real step_that_matters(const grid_values *v, md_real step)
{
    const md_real span = span_of(v), n = (md_real)v->n;
    const int is_grid = step > 0 && step >= (md_real)1e-6 * span, is_full = step > 0 && span < step * (SPARSE * (md_real)v->distinct);

    if (!is_full && 2 * v->distinct <= v->n) {
        const md_real distance = usual_distance(v), steps = is_grid ? nearest_whole(distance / step) : 0;

        return is_grid ? (steps >= LONELY ? steps : 1) * step : distance;
    }
    return is_grid && ((md_real)v->distinct <= (1 - TIES) * n || step * n >= TIES * span) ? step : 0;
}

void resolution_find(mapdpm_stream *s, size_t d)
{
    grid_values v = sorted_values(s, d);
    const md_real largest = v.n > 0 ? at_least(magnitude(grid_value(&v, 0)), magnitude(grid_value(&v, v.n - 1))) : 0;
    const int n_noises = COMPENSATED ? 1 : v.is_single ? 3 : 2;
    md_real step = 0, decimal = 0, used;
    int i;

    resolution_of(s)[d] = v.distinct < 2 ? CONSTANT_YET : 0;
    origin_of(s)[d] = v.n > 0 ? grid_value(&v, 0) : 0;
    if (v.distinct < 2 || !(span_of(&v) > noises[0] * largest))
        return;
    for (i = 0; i < n_noises && !(step > 0); i++) {
        v.noise = noises[i] * largest;
        step = decimal = decimal_step(&v);
        if (!(step > 0))
            step = common_step(&v, v.noise, CLEAR_OF_NOISE);
    }
    if (step > 0 && least_gap(&v, step / 2) >= (md_real)1.5 * step) { /* rounded twice */
        const md_real wider = common_step(&v, OFF_IN_PRINT * step, CLEAR_OF_UNITS);

        step = wider > 0 ? wider : step;
    }
    used = step_that_matters(&v, step);
    if (is_step(used))
        resolution_of(s)[d] = used;
    if (used < decimal || used > decimal) /* it is not exact enough, or no grid */
        origin_of(s)[d] = NO_ORIGIN;
}

/* ---- features whose values turn out to be others ------------------------------------------------------------------- */

/* How many points of all `n` are at a distance t from the value that the others have: their offsets sum to k t. */
static md_real number_away(const mapdpm_stream *s, size_t d, md_real t, md_real *n)
{
    md_real sum = 0;
    uint32_t k;

    *n = 0;
    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            const md_real own = counts_in(s, slot_of(s, k))[d * count_step(s)] * decay_of(s, k, s->now);

            *n += own;
            sum += own * mean_in(s, slot_of(s, k))[d];
        }
    return sum / t;
}

/* The step of a feature that was constant in the warm-up, as a relay that was off: the distance of its second value, if that is
 * no rare one. Else what is known so far; 0 where there is a third value. */
static md_real step_of_two_values(const mapdpm_stream *s, size_t d, md_real x)
{
    const md_real known = resolution_of(s)[d], t = x - origin_of(s)[d], distance = magnitude(t);
    md_real n, k;

    if (!(distance > 0))
        return known;
    if (known <= CONSTANT_YET)
        return distance < -CONSTANT_YET && is_step(distance) ? -distance : 0;
    if (magnitude(distance + known) > SAME_DISTANCE * distance)
        return 0;
    k = number_away(s, d, t * unit_of(s)[d], &n);
    return k >= LEAST_ALIVE && k > TIES * n ? distance : known;
}

/* The step of a feature with a value that may lie off its grid: then a part of the step, or 0. */
static md_real step_with(const mapdpm_stream *s, size_t d, md_real x)
{
    const md_real known = resolution_of(s)[d], away = (x - origin_of(s)[d]) / known, least = (md_real)1e-3 * known;
    md_real step = known, rest = known * magnitude(away - nearest_whole(away));

    if (!(magnitude(away) < MOST_CELLS) || rest <= known / 64)
        return known;
    while (rest > least) {
        const md_real next = magnitude(step - rest * nearest_whole(step / rest));

        step = rest;
        rest = next;
    }
    return step > CLEAR_OF_NOISE * noises[0] * (magnitude(x) + magnitude(origin_of(s)[d])) && is_step(step) ? step : 0;
}

/* Give moments other cells. */
static void change_cells(const mapdpm_stream *s, md_real *moments, size_t d, md_real by)
{
    md_real *const squares = squares_in(s, moments) + d;

    *squares = at_least(*squares + by * counts_in(s, moments)[d * count_step(s)], 0);
}

/* Set another step: all points get its cells, and the prior its width. Returns whether the cells are others. */
static int change_step(mapdpm_stream *s, size_t d, md_real step)
{
    const md_real before = cell_of(s, d);
    md_real *const b0 = noise_scale_of(s) + d, by;
    uint32_t k;

    resolution_of(s)[d] = step;
    by = cell_of(s, d) - before;
    if (!(magnitude(by) > 0))
        return 0;
    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            change_cells(s, slot_of(s, k), d, by);
            change_cells(s, half_of(s, k, 0), d, by);
            change_cells(s, half_of(s, k, 1), d, by);
            if (HAS_BASE(s))
                change_cells(s, own_of(s, k), d, by);
        }
    if (HAS_RELEVANCE(s))
        change_cells(s, background_of(s), d, by);
    *b0 = at_least(at_least(*b0 + s->a0 * (by < 0 ? by : 0), LEAST_SHARE * *b0), s->a0 * cell_of(s, d));
    return 1;
}

void resolution_look(mapdpm_stream *s, const md_real *x)
{
    size_t d;
    uint32_t k;
    int changes = 0;

    for (d = 0; d < MD_FEATURES(s) && s->resolution == STEPS_FOUND; d++) {
        const md_real known = resolution_of(s)[d];
        md_real step = known;

        if (!is_present(x[d]) || origin_of(s)[d] >= NO_ORIGIN)
            continue;
        if (known < 0)
            step = step_of_two_values(s, d, x[d]);
        else if (known > 0)
            step = step_with(s, d, x[d]);
        if (step < known || step > known)
            changes |= change_step(s, d, step);
    }
    if (!changes)
        return;
    stream_adopt_prior(s);
    for (k = 0; k < s->width; k++)
        if (is_used(s, k))
            stream_refresh(s, k);
}

/* Whether these are steps, of values as far away as points may be. */
int resolution_is_sound(const mapdpm_stream *s)
{
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real step = resolution_of(s)[d];

        if (!(step >= -LARGEST_REAL && step <= 0) && !is_step(step))
            return 0;
        if ((step < 0 && s->resolution == STEPS_GIVEN) || !math_is_finite(origin_of(s)[d]) ||
            (!IS_WARMING(s) && !(step_of(s, d) * unit_of(s)[d] <= COORDINATE_LIMIT)))
            return 0;
    }
    return 1;
}

int resolution_set(mapdpm_stream *s, const md_real *steps)
{
    if (steps == NULL)
        return MAPDPM_E_ARGUMENT;
    memcpy(resolution_of(s), steps, MD_FEATURES(s) * sizeof *steps);
    return resolution_is_sound(s) ? MAPDPM_OK : MAPDPM_E_ARGUMENT;
}

int mapdpm_get_resolution(const mapdpm_stream *s, md_real *steps)
{
    size_t d;

    if (is_none(s) || steps == NULL || !HAS_RESOLUTION(s))
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s) && s->resolution == STEPS_FOUND)
        return MAPDPM_E_WARMING;
    for (d = 0; d < MD_FEATURES(s); d++)
        steps[d] = step_of(s, d);
    return MAPDPM_OK;
}
