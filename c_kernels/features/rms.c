/* RMS and CREST: of blocks of n points, the root mean square, and the largest distance from the mean over it
 * (docs/maths.md (134), (135)). The state is mean[D], squares[D], and of CREST low[D], high[D].
 */
#include "features/mapdpm_blocks.h"

/* Add a value to the mean and to the sum of squares about it, or to the sum of squares about 0. */
static void add_square(const planned_step *p, md_real x, uint32_t count, md_real *mean, md_real *squares)
{
    const md_real delta = x - *mean;

    if (p->step.centred != 0) {
        *mean += delta / (md_real)count;
        *squares += delta * (x - *mean);
    } else {
        *squares += x * x;
    }
}

static md_real rms_of(md_real squares, uint32_t count)
{
    return count > 0 ? math_sqrt(squares / (md_real)count) : math_nan();
}

static void rms_run(const step_run *r)
{
    const uint32_t D = r->p->from;
    uint32_t *const counts = r->words + 1;
    md_real *const mean = r->state, *const squares = mean + D;
    uint32_t d;

    for (d = 0; d < D; d++)
        if (!is_missing(r->x[d])) {
            counts[d]++;
            add_square(r->p, r->x[d], counts[d], mean + d, squares + d);
        }
    for (d = 0; is_last(r) && d < D; d++)
        r->result[d] = rms_of(squares[d], counts[d]);
}

/* The largest distance from the mean, over the root mean square. */
static md_real crest_of(md_real low, md_real high, md_real mean, md_real rms)
{
    const md_real above = high - mean, below = mean - low, peak = above > below ? above : below;

    return rms > 0 ? peak / rms : (is_missing(rms) ? rms : 0);
}

static void crest_run(const step_run *r)
{
    const uint32_t D = r->p->from;
    const uint32_t *const counts = r->words + 1;
    md_real *const low = r->state + 2 * (size_t)D, *const high = low + D;
    uint32_t d;

    rms_run(r);
    for (d = 0; d < D; d++) {
        const md_real x = r->x[d];

        if (is_missing(x))
            continue;
        low[d] = counts[d] == 1 || x < low[d] ? x : low[d];
        high[d] = counts[d] == 1 || x > high[d] ? x : high[d];
    }
    for (d = 0; is_last(r) && d < D; d++)
        r->result[d] = crest_of(low[d], high[d], r->state[d], r->result[d]);
}

static int is_rms(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const size_t D = p->from;

    return is_part_of_block(p, state, words) &&
           are_between(state + D, D, 0, FEATURE_LIMIT * FEATURE_LIMIT * 16777216);
}

static int is_crest(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const size_t D = p->from;

    return is_rms(p, state, words) && are_between(state + 2 * D, 2 * D, -2 * FEATURE_LIMIT, 2 * FEATURE_LIMIT);
}

MAPDPM_INTERNAL const step_kind features_rms = {.is = USES_N | USES_CENTRED | IN_BLOCKS,
                                                .state = {2, 0, 0, 0},
                                                .words = {1, 1},
                                                .run = rms_run,
                                                .is_state = is_rms};
MAPDPM_INTERNAL const step_kind features_crest = {.is = USES_N | USES_CENTRED | IN_BLOCKS,
                                                  .state = {4, 0, 0, 0},
                                                  .words = {1, 1},
                                                  .run = crest_run,
                                                  .is_state = is_crest};
