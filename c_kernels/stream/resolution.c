/* The steps of features as the learner knows them: given, found in the warm-up (grid.c), or learned later, where values turn
 * out to be others. Each point adds the variance of its cell to the squares of its cluster (docs/maths.md, section 34;
 * decision 164).
 */
#include "stream/mapdpm_grid.h"

/* Distances of two values are the same up to this share. */
#define SAME_DISTANCE ((md_real)1e-6)
/* A value that a feature did not have in the warm-up is no rare one from so many points on. */
#define LEAST_ALIVE ((md_real)8)

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

/* The step of a feature with a value that may lie off its decimal grid: then the largest of which both its step and the distance
 * of the value are multiples, if it is clear of noise; or 0. */
static md_real step_with(const mapdpm_stream *s, size_t d, md_real x)
{
    const md_real known = resolution_of(s)[d], distance = magnitude(x - origin_of(s)[d]);
    const md_real rest = magnitude(distance - known * nearest_whole(distance / known));
    const md_real noise = NOISE_OF_SINGLE * (magnitude(x) + magnitude(origin_of(s)[d]) + known);
    md_real step;

    if (!(distance / known < MOST_CELLS && rest > noise))
        return known;
    step = common_divisor(known, rest, noise * known);
    step = distance / nearest_whole(distance / step); /* exact again */
    return step > CLEAR_OF_NOISE * noise && is_step(step) ? step : 0;
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
