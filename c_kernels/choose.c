/* Which cluster a point belongs to, and its density under all of them. */
#include "mapdpm_learner.h"

/* Vectors as wide as the machine has: the same operations in the same order, none of them fused. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(MAPDPM_NO_CLONES)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

/* What the densities of columns k .. k + n - 1, n <= BLOCK, need of x: for Normal-Gamma a product less 1, infinite where
 * it has overflowed, for known variances a sum. And upper bounds of the densities. */
CLONES
static void tails_of(const mapdpm_stream *s, const real *x, size_t k, size_t n, real *restrict tails,
                     real *restrict bounds)
{
    const real *const anchor = anchor_of(s), *const unit = unit_of(s);
    const real *const constants = constants_of(s) + k, *const exponents = exponents_of(s) + k;
    const int multiplies = IS_GAMMA(s);
    real u[BLOCK] = {0};
    size_t d, j;

    for (j = 0; j < BLOCK; j++)
        tails[j] = 0;
    if (n == BLOCK && multiplies) /* the usual case, by itself: it stays in registers */
        for (d = 0; d < FEATURES(s); d++) {
            const real *const centre = centres_of(s, d) + k, *const scale = scales_of(s, d) + k;
            const real t = (x[d] - anchor[d]) * unit[d];

            for (j = 0; j < BLOCK; j++) {
                const real v = (t - centre[j]) * (t - centre[j]) * scale[j];

                tails[j] = tails[j] * (1 + v) + v; /* infinite at most, never NaN */
            }
        }
    else
        for (d = 0; d < FEATURES(s); d++) {
            const real *const centre = centres_of(s, d) + k, *const scale = scales_of(s, d) + k;
            const real t = (x[d] - anchor[d]) * unit[d];

            for (j = 0; j < n; j++)
                u[j] = (t - centre[j]) * (t - centre[j]) * scale[j];
            if (multiplies)
                for (j = 0; j < BLOCK; j++)
                    tails[j] = tails[j] * (1 + u[j]) + u[j];
            else
                for (j = 0; j < BLOCK; j++)
                    tails[j] += u[j];
        }
    if (!multiplies)
        for (j = 0; j < n; j++)
            bounds[j] = constants[j] - tails[j];
    else if (n == BLOCK)
        for (j = 0; j < BLOCK; j++)
            bounds[j] = constants[j] - exponents[j] * math_log_below(1 + tails[j]);
    else
        for (j = 0; j < n; j++)
            bounds[j] = constants[j] - exponents[j] * math_log_below(1 + tails[j]);
}

/* log p(x | a new cluster) + log alpha, and an upper bound of it, which is all there is where it is below `least`. */
static real score_new(const mapdpm_stream *s, const real *x, real least, real *bound)
{
    const size_t D = FEATURES(s);
    const real *const anchor = anchor_of(s), *const unit = unit_of(s), *const scale = prior_scale(s);
    real sum = 0, logs = 0;
    size_t d;

    if (HAS_MISSING(s)) {
        view empty;

        empty.moments = slot_of(s, 0);
        empty.fade = 0;
        return *bound = density(s, empty, x) + s->log_alpha;
    }
    for (d = 0; d < D; d++) {
        const real t = (x[d] - anchor[d]) * unit[d], u = t * t * scale[d];

        if (IS_GAMMA(s))
            compound(&sum, &logs, u);
        else
            logs += u;
    }
    if (!IS_GAMMA(s))
        return *bound = s->opening - logs;
    *bound = s->opening - (s->a0 + HALF) * (logs + math_log_below(1 + sum));
    return *bound < least ? *bound : s->opening - (s->a0 + HALF) * (logs + math_log1p(sum));
}

/* The best cluster so far, the two that are best by upper bounds of their scores, and the sum of the exponentials of all
 * scores that matter, relative to the largest. */
typedef struct {
    uint32_t best;
    uint32_t likely;
    uint32_t next;
    real best_score;
    real likely_bound;
    real next_bound;
    real top;
    real sum;
} contest;

/* A cluster whose score is below this cannot win, nor be seen in the density. */
static real least_score(const contest *c, int with_density)
{
    return with_density && c->top - NEGLIGIBLE < c->best_score ? c->top - NEGLIGIBLE : c->best_score;
}

static void add_score(contest *c, real score)
{
    if (score > c->top) {
        c->sum = c->sum * math_exp(c->top - score) + 1;
        c->top = score;
    } else if (score > c->top - NEGLIGIBLE) {
        c->sum += math_exp(score - c->top);
    }
}

/* Where the bound is below the best score the score has no say, though it may round above its bound: so the same cluster
 * wins whether a density is asked for or not. The likely ones are settled by bounds alone. */
static void enter(contest *c, uint32_t k, real score, real bound, int with_density)
{
    if (bound > c->best_score && score > c->best_score) {
        c->best = k;
        c->best_score = score;
    }
    if (with_density)
        add_score(c, score);
}

static void note_bound(contest *c, uint32_t k, real bound)
{
    if (bound > c->likely_bound) {
        c->next = c->likely;
        c->next_bound = c->likely_bound;
        c->likely = k;
        c->likely_bound = bound;
    } else if (bound > c->next_bound) {
        c->next = k;
        c->next_bound = bound;
    }
}

/* Tails and bounds of the block of clusters from `first` on. Returns how many there are. */
static uint32_t bound_block(const mapdpm_stream *s, const real *x, uint32_t first, real *tails, real *bounds)
{
    const uint32_t room = SLOTS(s) - first, left = s->width - first;

    tails_of(s, x, first, room < BLOCK ? room : BLOCK, tails, bounds);
    return left < BLOCK ? left : BLOCK;
}

/* All clusters by their columns, whose constants hold the logarithms of the weights; those of free slots are -ALWAYS.
 * First by bounds: mostly they say which one is best, and there is one logarithm to take. */
static void compare_columns(const mapdpm_stream *s, const real *x, contest *c, int with_density)
{
    real tails[BLOCK], bounds[BLOCK], tail = 0;
    uint32_t first, j, n;

    for (first = 0; first < s->width; first += BLOCK) {
        n = bound_block(s, x, first, tails, bounds);
        for (j = 0; j < n; j++)
            if (bounds[j] > c->next_bound) {
                if (bounds[j] > c->likely_bound)
                    tail = tails[j];
                note_bound(c, first + j, bounds[j]);
            }
    }
    if (c->likely == NONE)
        return;
    c->best = c->likely;
    c->best_score = c->top = density_of_tail(s, x, c->likely, tail);
    if (!with_density && c->next_bound < c->best_score)
        return;
    for (first = 0; first < s->width; first += BLOCK) {
        n = bound_block(s, x, first, tails, bounds);
        for (j = 0; j < n; j++)
            if (bounds[j] > least_score(c, with_density))
                enter(c, first + j, density_of_tail(s, x, first + j, tails[j]), bounds[j], with_density);
    }
}

/* All clusters by their moments as they are now. Returns the total weight. A cluster below the floor has no part any
 * more; *is_aged says that there is one. */
static real compare_moments(const mapdpm_stream *s, const real *x, contest *c, int with_density, int *is_aged)
{
    real total = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++) {
        view v;
        real weight, score;

        if (!is_used(s, k))
            continue;
        v = view_of(s, k, s->now);
        weight = v.fade * *v.moments;
        if (weight < FLOOR) {
            *is_aged = 1;
            continue;
        }
        total += weight;
        score = density(s, v, x) + math_log(weight);
        enter(c, k, score, score, with_density);
        note_bound(c, k, score);
    }
    return total;
}

real stream_weight(const mapdpm_stream *s)
{
    real total = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        total += *slot_of(s, k) * fade_of(s, k, s->now);
    return total;
}

choice stream_choose(const mapdpm_stream *s, const real *x, int with_density)
{
    contest all = {NONE, NONE, NONE, -ALWAYS, -ALWAYS, -ALWAYS, -ALWAYS, 0};
    choice c = {NONE, NONE, 0, 1, 0};
    real total_weight = 0, opening, bound;

    if (is_prepared(s)) {
        compare_columns(s, x, &all, with_density);
        if (with_density)
            total_weight = stream_weight(s);
    } else {
        total_weight = compare_moments(s, x, &all, with_density, &c.has_aged);
    }
    opening = score_new(s, x, least_score(&all, with_density), &bound);
    if (with_density)
        add_score(&all, opening);
    c.best = all.best;
    c.second = all.likely == all.best ? all.next : all.likely;
    c.opens = c.best == NONE || (bound > all.best_score && opening > all.best_score);
    if (with_density) {
        const real all_weight = total_weight + s->alpha;

        c.density = all.top + math_log(all.sum) - (all_weight > 0 ? math_log(all_weight) : s->log_alpha) + s->log_units;
#ifdef MAPDPM_MISSING
        if (HAS_MISSING(s)) {
            size_t d;

            for (d = 0; d < FEATURES(s); d++)
                if (!is_there(x[d]))
                    c.density -= math_log(unit_of(s)[d]);
        }
#endif
    }
    return c;
}
