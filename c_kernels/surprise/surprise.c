/* How unusual a point is: the calibrated tail probability of its log density (docs/maths.md, section 30).
 *
 * First the tail of the learner's own predictive: the probability that a draw has so low a density. Then the rank of
 * this number among those of all points so far, which are counted in bins. The last counts have an exponential tail:
 * decision 138.
 */
#include "surprise/mapdpm_gamma_tail.h"
#include "surprise/mapdpm_surprise.h"

/* Bins of -log(tail probability), in nats: so many for each doubling of 1 + nats. */
enum { BINS_PER_DOUBLING = 4 };
/* The tail holds at least so many counts. Its slope comes from the lower half of them, so that a few outliers have no
 * influence. */
#define TAIL_COUNTS ((md_real)16)
/* The lower half ends with a bin that its own counts have chosen. So many counts less make up for that, as
 * tests/stream/test_surprise.py simulates. */
#define CHOSEN_END ((md_real)0.15)
/* The nats of the points in the tail that are assumed before there are any. */
#define TAIL_PRIOR ((md_real)1)
/* Counts are halved after FIRST_PERIOD points, then after twice as many each time: the learner itself changes most when
 * it is young. No period is longer than MOST_PERIOD or, with forgetting, than MD_MEMORY times the weight of all clusters
 * or LEAST_PERIOD. */
enum { FIRST_PERIOD = 64, LEAST_PERIOD = 2048 };
#define MOST_PERIOD UINT32_C(2097152)
#define MD_MEMORY ((md_real)32)
/* Points of such a surprise are extreme. One that comes within APART points of another is not counted, so that an
 * episode counts once; but no more than LONGEST_RUN are left out in a row. */
#define MD_EXTREME ((md_real)1e-3)
enum { APART = 16, LONGEST_RUN = 64 };
/* A point of a rare cluster is a fault, and not counted, if only one in so many streams like this one has such a point. */
#define MD_FAULT ((md_real)1e-4)
/* No cluster counts as narrower than its density says by more than this, as a share of the variance. */
#define LEAST_VARIANCE_SHARE ((md_real)(1.0 / 64))

/* ---- the tail of the predictive ---------------------------------------------------------------------------------- */

/* The tail of draws from a cluster of n points, at a log density so many nats below the highest one, is that of a Gamma
 * variable of shape D / 2 at so many nats times the steepness (docs/maths.md (115)). It is exact for known variances and
 * in the limit of many points; else Bartlett's approximation, for a variance that is such a share of that in the density.
 */
static md_real steepness(const mapdpm_stream *s, md_real n, md_real share)
{
    const md_real exponent = s->a0 + MD_HALF * n + MD_HALF;

    if (!IS_GAMMA(s))
        return 1;
    return at_least(1 - (md_real)0.75 * (2 - share) / exponent, (md_real)0.25) / at_least(share, LEAST_VARIANCE_SHARE);
}

/* That of slot k, as of its last point, for points that have the features that x has, or all if x is NULL. The variance
 * is that about the cluster's own mean: a density takes the distance of this mean from the prior mean for variance. */
static md_real steepness_in(const mapdpm_stream *s, uint32_t k, const md_real *x)
{
    const uint32_t *const marks = marks_of(s);
    const md_real *const slot = slot_of(s, k), *const counts = counts_in(s, slot);
    md_real shares = 0, features = 0, n = -1, shrinkage = 0, freedom = 0;
    size_t d;

    for (d = 0; IS_GAMMA(s) && d < MD_FEATURES(s); d++) {
        const md_real count = counts[d * count_step(s)], mean = mean_in(s, slot)[d], squares = squares_in(s, slot)[d];
        const md_real b0 = noise_scale_of(s)[d];

        if (is_marked(marks, d) || (x && !is_present(x[d])))
            continue;
        if (count != n) {
            n = count;
            shrinkage = shrinkage_of(s, n);
            freedom = (s->a0 + MD_HALF * n) / (s->a0 + MD_HALF * at_least(n - 1, 0));
        }
        features += 1;
        shares += freedom * (posterior_b(b0, 0, mean, squares) / posterior_b(b0, shrinkage, mean, squares));
    }
    return steepness(s, *slot, features > 0 ? shares / features : 1);
}

/* To be called after the moments of slot k have changed. */
void surprise_refresh(mapdpm_stream *s, uint32_t k) { steepness_of(s)[k] = steepness_in(s, k, NULL); }

/* Tails need it above 0: at 1e-14 they are 1, but for 1e-7. */
static md_real depth_of(md_real below, md_real steep) { return at_least(below * steep, (md_real)1e-14); }

static uint32_t features_there(const mapdpm_stream *s, const md_real *x)
{
    uint32_t d, n = 0;

    if (!HAS_MISSING(s))
        return MD_FEATURES(s);
    for (d = 0; d < MD_FEATURES(s); d++)
        n += (uint32_t)is_present(x[d]);
    return n;
}

/* The highest log density that a point with the same missing values can have in slot k, with the log weight. */
static md_real highest_score(const mapdpm_stream *s, const md_real *x, uint32_t k, md_real weight)
{
    if (HAS_MISSING(s))
        return peak(s, view_of(s, k, s->now), x) + math_log(weight);
    return constants_of(s)[k] - elapsed(s, k, s->now);
}

/* The same of a new cluster. */
static md_real highest_of_new(const mapdpm_stream *s, const md_real *x)
{
    return HAS_MISSING(s) ? peak(s, empty_view(s), x) + s->log_alpha : s->opening;
}

/* The features of a point that carry no clusters: their number, the nats by which their values lower the log density below its
 * peak, and the sum of their steepness, for the variance of all points is known. */
typedef struct {
    md_real features;
    md_real below;
    md_real steep;
} aside;

static aside aside_of(const mapdpm_stream *s, const md_real *x)
{
    const uint32_t *const marks = marks_of(s);
    aside a = {0, 0, 0};
    size_t d;

    for (d = 0; marks != NULL && d < MD_FEATURES(s); d++)
        if (is_marked(marks, d) && (!HAS_MISSING(s) || is_present(x[d]))) {
            a.features += 1;
            a.below += background_below(s, x, d);
            a.steep += 1 - (md_real)1.5 / at_least(background_count(s, d), LEAST_KNOWN);
        }
    return a;
}

/* The depth in a cluster of a point of so many features: the steepness is the mean of all. */
static md_real depth_with(const aside *a, md_real below, md_real steep, uint32_t n_features)
{
    if (!(a->features > 0))
        return depth_of(below, steep);
    steep = (((md_real)n_features - a->features) * steep + a->steep) / (md_real)n_features;
    return depth_of(below + a->below, steep);
}

CLONES
md_real surprise_nats(const mapdpm_stream *s, const md_real *x, const choice *c)
{
    const uint32_t n_features = features_there(s, x);
    small_number sum = {0, 0};
    const aside others = aside_of(s, x);
    md_real known = 0, weights[MD_BLOCK], depths[MD_BLOCK];
    uint32_t k = 0, n;

    while (k < s->width) {
        for (n = 0; k < s->width && n < MD_BLOCK; k++) {
            const md_real weight = is_used(s, k) ? *slot_of(s, k) * decay_of(s, k, s->now) : 0;

            if (weight < FORGOTTEN_WEIGHT || is_rare(s, k))
                continue;
            known += weight;
            weights[n] = weight;
            depths[n++] = depth_with(&others, highest_score(s, x, k, weight) - c->common,
                                     n_features < MD_FEATURES(s) ? steepness_in(s, k, x) : steepness_of(s)[k], n_features);
        }
        add_tails(&sum, n_features, n, weights, depths);
    }
    if (!(known > 0)) {
        known = weights[0] = 1;
        depths[0] = depth_with(&others, highest_of_new(s, x) - c->common, steepness(s, 0, 1), n_features);
        add_tails(&sum, n_features, 1, weights, depths);
    }
    return at_least(sum.nats - math_log(sum.factor / known), 0);
}

/* ---- their distribution so far ----------------------------------------------------------------------------------- */

static md_real start_of_bin(uint32_t i)
{
    return math_power_of_2((int)(i / BINS_PER_DOUBLING)) *
               (1 + (md_real)(i % BINS_PER_DOUBLING) / (md_real)BINS_PER_DOUBLING) -
           1;
}

/* By the leading bits of 1 + nats. */
static uint32_t bin_of(md_real nats)
{
    const md_real z = 1 + nats;
    uint32_t i;

    if (!(nats < start_of_bin(SURPRISE_BINS)))
        return SURPRISE_BINS - 1;
    if (MATH_IS_FLOAT) {
        memcpy(&i, &z, 4);
        i = (i >> 21) - 4 * 127;
    } else {
        uint64_t bits;

        memcpy(&bits, &z, sizeof z);
        i = (uint32_t)(bits >> 50) - 4 * 1023;
    }
    return i < SURPRISE_BINS ? i : SURPRISE_BINS - 1;
}

/* The number of points, each of weight 1, that are as precise as the counts, relative to the weight of the counts. Those
 * from before the last halving have weights 1/2, 1/4, ...: OLD_PRECISION is the mean of their squares over their mean,
 * where periods double. */
#define OLD_PRECISION ((md_real)0.42857143)
static md_real precision_of(const mapdpm_stream *s, md_real all)
{
    const md_real recent = (md_real)*counted_in_period(s), old = at_least(all - recent, 0);

    return all > 0 ? (old + recent) / (OLD_PRECISION * old + recent) : 1;
}

/* The tail: where it starts, the counts in it, those of its lower part, and the nats by which these exceed the start; the
 * others count as if they ended there (type II censoring). */
typedef struct {
    uint32_t bin;
    md_real counts;
    md_real lower;
    md_real nats;
} tail_of_counts;

static tail_of_counts find_tail(const md_real *counts, md_real precision)
{
    const md_real least = TAIL_COUNTS / precision;
    tail_of_counts tail = {SURPRISE_BINS, 0, 0, 0};
    md_real start;
    uint32_t i;

    while (tail.bin > 0 && tail.counts < least)
        tail.counts += counts[--tail.bin];
    tail.counts *= precision;
    start = start_of_bin(tail.bin);
    for (i = tail.bin; i < SURPRISE_BINS && tail.lower < MD_HALF * tail.counts; i++)
        if (counts[i] > 0) {
            const md_real width = start_of_bin(i + 1) - start_of_bin(i);

            tail.lower += counts[i] * precision;
            tail.nats += counts[i] * precision * (start_of_bin(i) - start + width / (2 + width / 3));
        }
    tail.nats += (tail.counts - tail.lower) * (start_of_bin(i) - start);
    return tail;
}

/* The sum of the counts from bin `first` up to bin `end` - 1, in four sums, so that an addition does not wait for the one
 * before. */
static md_real sum_of_counts(const md_real *counts, uint32_t first, uint32_t end)
{
    md_real sums[4] = {0, 0, 0, 0};
    uint32_t i, j;

    for (i = first; i + 4 <= end; i += 4)
        for (j = 0; j < 4; j++)
            sums[j] += counts[i + j];
    for (; i < end; i++)
        sums[(i - first) % 4] += counts[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

md_real surprise_rank(const mapdpm_stream *s, md_real nats)
{
    const md_real *const counts = tail_counts(s);
    const uint32_t bin = bin_of(nats);
    const md_real above = sum_of_counts(counts, bin + 1, SURPRISE_BINS);
    const md_real all = sum_of_counts(counts, 0, bin + 1) + above, precision = precision_of(s, all);
    const md_real all_with_it = all * precision + 1;
    md_real share, width;

    if (above * precision < TAIL_COUNTS) { /* by rounding, the tail may begin at the next bin */
        const tail_of_counts tail = find_tail(counts, precision);
        const md_real c = at_least(nats - start_of_bin(tail.bin), 0) / (TAIL_PRIOR + tail.nats);
        const md_real power = at_least(tail.lower - CHOSEN_END, 0);

        share = (tail.counts + 1) / all_with_it * math_exp(-(TAIL_PRIOR * c + power * math_log1p(c)));
        return share < 1 ? share : 1;
    }
    width = math_exp(start_of_bin(bin) - start_of_bin(bin + 1));
    share = above * precision +
            (math_exp(start_of_bin(bin) - nats) - width) / (1 - width) * (counts[bin] * precision + 1);
    return share < all_with_it ? share / all_with_it : 1;
}

/* ---- rare clusters ----------------------------------------------------------------------------------------------- */

/* Mark slot k as rare, or not (decision 139). The standing of free slots is 0. */
static void judge(mapdpm_stream *s, uint32_t k)
{
    uint32_t *const standing = standing_of(s), own = standing[k] & ~MD_RARE;
    uint64_t lighter = 0, all = 0;
    uint32_t j;

    for (j = 0; j < s->width; j++) {
        const uint32_t other = standing[j] & ~MD_RARE;

        all += other;
        lighter += other < own + (uint32_t)(j <= k) ? other : 0;
    }
    standing[k] = own | (to_real(lighter) <= *rare_share(s) * to_real(all) ? MD_RARE : 0);
}

void surprise_judge_all(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k))
            judge(s, k);
}

/* The points of an inserted cluster have the standing of points that were learned. */
void surprise_seat(mapdpm_stream *s, uint32_t k)
{
    const md_real n = *slot_of(s, k);

    standing_of(s)[k] = n < (md_real)MOST_STANDING ? (uint32_t)(n + MD_HALF) : MOST_STANDING;
}

void surprise_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const uint32_t sum = (standing_of(s)[to] & ~MD_RARE) + (standing_of(s)[from] & ~MD_RARE);

    standing_of(s)[to] = sum < MOST_STANDING ? sum : MOST_STANDING;
    standing_of(s)[from] = 0;
    judge(s, to);
}

/* Slot e has been given a share of the points of slot k. */
void surprise_split(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share)
{
    const uint32_t all = standing_of(s)[k] & ~MD_RARE, part = (uint32_t)((md_real)all * share);

    standing_of(s)[e] = part < all ? part : all;
    standing_of(s)[k] = all - standing_of(s)[e];
    judge(s, k);
    judge(s, e);
}

static void halve_counts(mapdpm_stream *s, int with_standing)
{
    uint32_t *const standing = standing_of(s), i;

    for (i = 0; i < SURPRISE_BINS; i++)
        tail_counts(s)[i] *= MD_HALF;
    for (i = 0; with_standing && i < MD_SLOTS(s); i++)
        standing[i] = (standing[i] & MD_RARE) | (((standing[i] & ~MD_RARE) + 1) / 2);
}

static uint32_t longest_period(const mapdpm_stream *s, md_real weight)
{
    const md_real memory = weight * MD_MEMORY;

    if (!FORGETS(s) || !(memory < (md_real)MOST_PERIOD))
        return MOST_PERIOD;
    return memory > (md_real)LEAST_PERIOD ? (uint32_t)memory : (uint32_t)LEAST_PERIOD;
}

/* Whether a point in slot k counts: not if it is a fault, nor if it goes on with an episode of extreme points. */
static int counts_as_new(mapdpm_stream *s, md_real surprise, uint32_t k)
{
    uint32_t *const since = since_extreme(s), *const left_out = left_out_in_run(s);
    const int goes_on = *since < APART && surprise <= MD_EXTREME && *left_out < LONGEST_RUN;
    int is_fault = 0;

    if (surprise <= MD_EXTREME && is_rare(s, k))
        is_fault = surprise * (1 + sum_of_counts(tail_counts(s), 0, SURPRISE_BINS)) <= MD_FAULT;
    if (surprise <= MD_EXTREME) {
        *since = 0;
        *left_out += (uint32_t)goes_on;
    } else if (*since < APART) {
        ++*since;
    } else {
        *left_out = 0;
    }
    return !goes_on && !is_fault;
}

/* Count a point of such a surprise that has joined slot k, where the weight of all clusters was `weight`. */
void surprise_count(mapdpm_stream *s, md_real nats, md_real surprise, uint32_t k, md_real weight)
{
    uint32_t *const next = next_to_check(s), *const period = counting_period(s), *const counted = counted_in_period(s);

    if ((standing_of(s)[k] & ~MD_RARE) < MOST_STANDING)
        standing_of(s)[k]++;
    judge(s, k);
    if (counts_as_new(s, surprise, k))
        tail_counts(s)[bin_of(nats)] += 1;
    if (++*counted >= (*period > 0 ? *period : (uint32_t)FIRST_PERIOD)) {
        const uint32_t most = longest_period(s, weight), twice = 2 * *counted;

        halve_counts(s, twice >= most);
        *period = twice < most ? twice : most;
        *counted = 0;
    }
    *next = *next + 1 < MD_SLOTS(s) ? *next + 1 : 0;
    if (is_used(s, *next)) /* its share may have changed though it was not seen */
        judge(s, *next);
}

/* Nothing is counted yet: no point is extreme. */
void surprise_reset(mapdpm_stream *s, md_real rare)
{
    *rare_share(s) = rare;
    *since_extreme(s) = APART;
}

/* Add what another learner has counted. */
void surprise_pool(mapdpm_stream *s, const mapdpm_stream *from)
{
    uint32_t i;

    if (*counting_period(from) > *counting_period(s))
        *counting_period(s) = *counting_period(from);
    for (i = 0; i < SURPRISE_BINS; i++)
        tail_counts(s)[i] += tail_counts(from)[i];
}
