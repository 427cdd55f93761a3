/* The step of a feature: the grid m q + c on which its values lie, found in the warm-up as in a table (docs/maths.md, section
 * 36). A grid of decimals comes first; then the smallest gap, or a part of it; last the usual distance of repeated values.
 */
#include "stream/mapdpm_grid.h"

/* How far values may be off, as a share of the largest: the noise of some operations on reals, of many on those of eight bytes,
 * and of those of four bytes that are read as eight. */
static const md_real noises[3] = {FLOAT_OR_DOUBLE(2.384185791015625e-7, 4.440892098500626e-16),
                                  (md_real)4.547473508864641e-13, NOISE_OF_SINGLE};
/* The finest step that is no decimal, in units of printed values, which lie off by OFF_IN_PRINT of one. */
#define CLEAR_OF_UNITS ((md_real)5)
#define OFF_IN_PRINT ((md_real)0.55)
/* Beyond so many cells a value, a grid says nothing of equal ones; beyond so many, it may be that of two values alone. */
#define SPARSE ((md_real)16)
#define LONELY ((md_real)4)
/* Nats of evidence for a grid: how improbable it is that random values lie on it. */
#define EVIDENCE ((md_real)20)
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

static md_real grid_value(const grid_values *v, size_t i) { return warmup_point(v->s, v->order[i])[v->d]; }
static md_real grid_gap(const grid_values *v, size_t i) { return grid_value(v, i) - grid_value(v, i - 1); }
static int is_evident(size_t n, md_real step, md_real noise) { return (md_real)n * math_log(step / noise) >= EVIDENCE; }

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
            common = common_divisor(common, magnitude(nearest_whole(x / unit) - nearest_whole(first / unit)), 0);
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

    resolution_of(s)[d] = v.distinct == 1 ? CONSTANT_YET : 0;
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
