/* The choice of a cluster for a point, and the density of the point under all clusters. */
#include "stream/mapdpm_steps.h"

/* The tails of x with columns k to k + n - 1, n <= MD_BLOCK: for Normal-Gamma a product less 1, infinite if it
 * overflowed; for known variances a sum. And upper bounds of the densities. */
CLONES
static void tails_of(const mapdpm_stream *s, const md_real *x, size_t k, size_t n, md_real *restrict tails,
                     md_real *restrict bounds)
{
    const uint32_t *const marks = marks_of(s);
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s);
    const md_real *const constants = constants_of(s) + k, *const exponents = exponents_of(s) + k;
    const int is_product = IS_GAMMA(s);
    md_real u[MD_BLOCK] = {0};
    size_t d, j;

    for (j = 0; j < MD_BLOCK; j++)
        tails[j] = 0;
    if (n == MD_BLOCK && is_product) /* the usual case is separate, so that it stays in registers */
        for (d = 0; d < MD_FEATURES(s); d++) {
            const md_real *const centre = centres_of(s, d) + k, *const scale = scales_of(s, d) + k;
            const md_real t = (x[d] - anchor[d]) * unit[d];

            if (is_marked(marks, d))
                continue;
            for (j = 0; j < MD_BLOCK; j++) {
                const md_real v = (t - centre[j]) * (t - centre[j]) * scale[j];

                tails[j] = tails[j] * (1 + v) + v; /* at most infinite, never NaN */
            }
        }
    else
        for (d = 0; d < MD_FEATURES(s); d++) {
            const md_real *const centre = centres_of(s, d) + k, *const scale = scales_of(s, d) + k;
            const md_real t = (x[d] - anchor[d]) * unit[d];

            if (is_marked(marks, d))
                continue;
            for (j = 0; j < n; j++)
                u[j] = (t - centre[j]) * (t - centre[j]) * scale[j];
            if (is_product)
                for (j = 0; j < MD_BLOCK; j++)
                    tails[j] = tails[j] * (1 + u[j]) + u[j];
            else
                for (j = 0; j < MD_BLOCK; j++)
                    tails[j] += u[j];
        }
    if (!is_product)
        for (j = 0; j < n; j++)
            bounds[j] = constants[j] - tails[j];
    else if (n == MD_BLOCK)
        for (j = 0; j < MD_BLOCK; j++)
            bounds[j] = constants[j] - exponents[j] * math_log_below(1 + tails[j]);
    else
        for (j = 0; j < n; j++)
            bounds[j] = constants[j] - exponents[j] * math_log_below(1 + tails[j]);
}

/* log p(x | a new cluster), with its log weight but for states in time, and an upper bound of it. If the bound is below
 * `least`, the bound is returned. */
md_real stream_score_new(const mapdpm_stream *s, const md_real *x, md_real least, md_real *bound)
{
    const size_t D = MD_FEATURES(s);
    const md_real opening = IS_TIMED(s)     ? s->opening - s->log_alpha
                            : IS_GROUPED(s) ? s->opening + (log_opening(s) - s->log_alpha)
                                            : s->opening;
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s), *const scale = prior_scale(s);
    md_real sum = 0, logs = 0;
    size_t d;

    if (HAS_MISSING(s)) {
        return *bound = density(s, empty_view(s), x) + (IS_TIMED(s) ? 0 : log_opening(s));
    }
    for (d = 0; d < D; d++) {
        const md_real t = (x[d] - anchor[d]) * unit[d], u = t * t * scale[d];

        if (IS_GAMMA(s))
            multiply_one_plus(&sum, &logs, u);
        else
            logs += u;
    }
    if (!IS_GAMMA(s))
        return *bound = opening - logs;
    *bound = opening - (s->a0 + MD_HALF) * (logs + math_log_below(1 + sum));
    return *bound < least ? *bound : opening - (s->a0 + MD_HALF) * (logs + math_log1p(sum));
}

/* The sum of exp(score - top) of all scores that matter. */
typedef struct {
    md_real top;
    md_real sum;
} score_sum;

/* The best cluster so far; the two clusters with the highest upper bounds; the sum of all scores; and if some clusters
 * are rare, that of the others. */
typedef struct {
    uint32_t best;
    uint32_t candidate;
    uint32_t runner_up;
    md_real best_score;
    md_real candidate_bound;
    md_real runner_up_bound;
    score_sum all;
    score_sum common;
    int has_rare;
} ranking;

/* A cluster with a lower score cannot win, nor change the density. */
static md_real least_score(const ranking *r, int with_density)
{
    const md_real top = r->has_rare && r->common.top < r->all.top ? r->common.top : r->all.top;

    return with_density && top - NEGLIGIBLE < r->best_score ? top - NEGLIGIBLE : r->best_score;
}

static void add_score(score_sum *s, md_real score)
{
    if (score > s->top) {
        s->sum = s->sum * math_exp(s->top - score) + 1;
        s->top = score;
    } else if (score > s->top - NEGLIGIBLE) {
        s->sum += math_exp(score - s->top);
    }
}

/* A score may round above its bound. If the bound is below the best score, the score is ignored, so that the same
 * cluster wins with and without a density. The candidate and the runner-up are ranked by bounds alone. */
static void rank_score(const mapdpm_stream *s, ranking *r, uint32_t k, md_real score, md_real bound, int with_density)
{
    if (bound > r->best_score && score > r->best_score) {
        r->best = k;
        r->best_score = score;
    }
    if (with_density)
        add_score(&r->all, score);
    if (r->has_rare && !is_rare(s, k))
        add_score(&r->common, score);
}

static void rank_bound(ranking *r, uint32_t k, md_real bound)
{
    if (bound > r->candidate_bound) {
        r->runner_up = r->candidate;
        r->runner_up_bound = r->candidate_bound;
        r->candidate = k;
        r->candidate_bound = bound;
    } else if (bound > r->runner_up_bound) {
        r->runner_up = k;
        r->runner_up_bound = bound;
    }
}

/* Add upper bounds of the log weights for the group of the next point. Without forgetting no cluster has more tables
 * than points. The weight of a free slot is 0, and its bound stays the lowest. */
CLONES
static void weigh_block(const mapdpm_stream *s, uint32_t first, uint32_t n, md_real *restrict bounds)
{
    const uint32_t row = *row_of(s);
    const md_real *const tables = tables_of(s) + first, *const cells = row == MD_NONE ? NULL : cells_of(s, row) + first;
    const md_real per_table = s->alpha / *all_tables_of(s);
    uint32_t j;

    for (j = 0; j < n; j++)
        bounds[j] += math_log_below((cells ? cells[j] : 0) + per_table * tables[j]) + MOST_BELOW;
}

/* The score of a slot by the score table, from its tail. */
static md_real score_of_tail(const mapdpm_stream *s, const md_real *x, uint32_t k, md_real tail)
{
    const md_real density = density_of_tail(s, x, k, tail);

    return IS_GROUPED(s) ? density + math_log(group_weight(s, k, *row_of(s), 1)) : density;
}

/* The tails and bounds of the block of clusters from `first` on. Returns their number. */
uint32_t stream_bound_block(const mapdpm_stream *s, const md_real *x, uint32_t first, md_real *tails, md_real *bounds)
{
    const uint32_t room = MD_SLOTS(s) - first, left = s->width - first, n = left < MD_BLOCK ? left : MD_BLOCK;

    tails_of(s, x, first, room < MD_BLOCK ? room : MD_BLOCK, tails, bounds);
    if (IS_GROUPED(s))
        weigh_block(s, first, n, bounds);
    return n;
}

/* Rank all clusters by the score table. Its constants include the log weights, except with groups; those of free slots
 * are -LARGEST_REAL.
 * Bounds come first: usually they decide, and only one logarithm is needed. Those of the first clusters are kept for the
 * density. */
static void rank_by_score_table(const mapdpm_stream *s, const md_real *x, ranking *r, int with_density)
{
    enum { KEPT = 4 * MD_BLOCK };
    md_real tails[KEPT + MD_BLOCK], bounds[KEPT + MD_BLOCK], tail = 0;
    uint32_t first, at, j, n;

    for (first = 0; first < s->width; first += MD_BLOCK) {
        at = first < KEPT ? first : KEPT;
        n = stream_bound_block(s, x, first, &tails[at], &bounds[at]);
        for (j = 0; j < n; j++)
            if (bounds[at + j] > r->runner_up_bound) {
                if (bounds[at + j] > r->candidate_bound)
                    tail = tails[at + j];
                rank_bound(r, first + j, bounds[at + j]);
            }
    }
    if (r->candidate == MD_NONE)
        return;
    r->best = r->candidate;
    r->best_score = r->all.top = score_of_tail(s, x, r->candidate, tail);
    if (!with_density && r->runner_up_bound < r->best_score)
        return;
    for (first = 0; first < s->width; first += MD_BLOCK) {
        at = first < KEPT ? first : KEPT;
        n = s->width - first < MD_BLOCK ? s->width - first : MD_BLOCK;
        if (first >= KEPT)
            n = stream_bound_block(s, x, first, &tails[at], &bounds[at]);
        for (j = 0; j < n; j++)
            if (bounds[at + j] > least_score(r, with_density)) {
                const md_real score = score_of_tail(s, x, first + j, tails[at + j]);

                rank_score(s, r, first + j, score, bounds[at + j], with_density);
            }
    }
}

/* Rank all clusters by their moments at the current time. Returns the total weight. A cluster below FORGOTTEN_WEIGHT is
 * left out, and sets *is_aged. */
static md_real rank_by_moments(const mapdpm_stream *s, const md_real *x, ranking *r, int with_density, int *is_aged)
{
    md_real total = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++) {
        view v;
        md_real weight, score;

        if (!is_used(s, k))
            continue;
        v = view_of(s, k, s->now);
        weight = v.decay * *v.moments;
        if (weight < FORGOTTEN_WEIGHT) {
            *is_aged = 1;
            continue;
        }
        if (IS_GROUPED(s)) {
            total += *row_of(s) == MD_NONE ? 0 : cells_of(s, *row_of(s))[k] * v.decay;
            weight = group_weight(s, k, *row_of(s), v.decay);
        } else {
            total += weight;
        }
        score = density(s, v, x) + math_log(weight);
        rank_score(s, r, k, score, score, with_density);
        rank_bound(r, k, score);
    }
    return total;
}

md_real stream_total_weight(const mapdpm_stream *s)
{
    md_real total = 0;
    uint32_t k;

    for (k = 0; k < s->width; k++)
        total += *slot_of(s, k) * decay_of(s, k, s->now);
    return total;
}

/* The part of a log density that no cluster changes: units, missing values, features that carry no clusters. */
md_real stream_common_term(const mapdpm_stream *s, const md_real *x)
{
    md_real total = s->log_units;
    const uint32_t *const marks = marks_of(s);
    size_t d;

    for (d = 0; (HAS_MISSING(s) || HAS_RELEVANCE(s)) && d < MD_FEATURES(s); d++)
        if (HAS_MISSING(s) && !is_present(x[d]))
            total -= math_log(unit_of(s)[d]);
        else if (is_marked(marks, d))
            total += background_density(s, x, d);
    return total;
}

/* The logarithm of a sum. Its highest term is 1, unless scores are so large that a nat does not change them. */
static md_real log_of(const score_sum *s) { return s->top + math_log(at_least(s->sum, 1)); }

static int has_rare_clusters(const mapdpm_stream *s)
{
    uint32_t k, any = 0;

    for (k = 0; HAS_SURPRISE(s) && k < s->width; k++)
        any |= standing_of(s)[k];
    return (any & MD_RARE) != 0;
}

choice stream_choose(const mapdpm_stream *s, const md_real *x, int with_density)
{
    static const score_sum none = {-LARGEST_REAL, 0};
    ranking all = {MD_NONE, MD_NONE, MD_NONE, -LARGEST_REAL, -LARGEST_REAL, -LARGEST_REAL, {0, 0}, {0, 0}, 0};
    choice c = {MD_NONE, MD_NONE, 0, 1, 0, 0, 0, 0};
    md_real total_weight = 0, opening, bound;

    if (IS_TIMED(s))
        return states_choose(s, x, with_density);
    all.all = all.common = none;
    all.has_rare = with_density && has_rare_clusters(s);
    if (is_prepared(s)) {
        rank_by_score_table(s, x, &all, with_density);
        if (with_density)
            total_weight = IS_GROUPED(s) ? points_here(s, *row_of(s)) : stream_total_weight(s);
    } else {
        total_weight = rank_by_moments(s, x, &all, with_density, &c.has_aged);
    }
    opening = stream_score_new(s, x, least_score(&all, with_density), &bound);
    if (with_density) {
        add_score(&all.all, opening);
        add_score(&all.common, opening);
    }
    c.best = all.best;
    c.second = all.candidate == all.best ? all.runner_up : all.candidate;
    c.opens = c.best == MD_NONE || (bound > all.best_score && opening > all.best_score);
    if (with_density) {
        const md_real all_weight = total_weight + s->alpha;

        const md_real sum = log_of(&all.all);

        c.density = sum - (all_weight > 0 ? math_log(all_weight) : s->log_alpha) + stream_common_term(s, x);
        c.novelty = math_exp(opening - all.all.top) / at_least(all.all.sum, 1);
        c.common = all.has_rare ? log_of(&all.common) : sum;
        c.weight = all_weight;
    }
    return c;
}
