/* Which columns may decide where a point goes, and which points surely stay where they are: by bounds of scores, which cost
 * a fraction of scores. What bounds leave open is scored, so labels do not depend on any of this. Internal to the batch
 * sweep.
 *
 * A point stays if its own cluster, as if it were not in it, scores no less than all others (docs/maths.md (30)). The
 * bound of the own score comes from the same product as the others'; of its full statistics, so that the own cluster
 * always scores above it, and a point is certain where no other does.
 */
#ifndef MAPDPM_CERTAIN_H
#define MAPDPM_CERTAIN_H

#include "mapdpm_tails.h"

#if HAS_LANES

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 4")
#endif

/* From here on nothing is more than a bound, with room for each rounding: a fused multiply-add is as good, and faster. */
#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif

static const double ONE_ROUGHLY = 4503599627370496.0 + 1023.0 * 2199023255552.0; /* 2^52 + 1023 2^41 */

/* What bounds are made of: sums; products, whose logarithm is bounded by its exponent and a cubic below log(1 + f), 0.6 % less
 * at most; or, for half the price, by log2(1 + f) >= f. A product is at least 1 but for rounding. */
enum { SUMS, PRODUCTS, ROUGH_PRODUCTS };

/* Of the tails of columns k, k + 1, ...: no score is above it. */
static inline __attribute__((always_inline)) void score_at_most(const columns *c, int64_t k, lanes *tail, const int of)
{
    const lanes top = *(const lanes *)(void *)(c->top + k);
    const lanes exponent = *(const lanes *)(void *)((of == ROUGH_PRODUCTS ? c->steepness : c->exponent) + k);
    const words parts = (words)*tail;

    if (of == ROUGH_PRODUCTS) {
        *tail = (lanes)(parts >> 11 | UINT64_C(0x4330000000000000)) - ONE_ROUGHLY;
    } else if (of == PRODUCTS) {
        const lanes power = (lanes)(parts >> 52 | UINT64_C(0x4330000000000000)) - 4503599627371519.0; /* 2^52 + 1023 */
        const lanes f = (lanes)((parts & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000)) - 1.0;

        *tail = power * 0.693147180559945 + f * (0.994356 + f * (-0.442488 + f * 0.141278));
    } else {
        *tail *= 1.0 - ROUNDINGS * (double)(c->family.D + 4);
    }
    *tail = top - exponent * *tail;
}

/* Of four points, whose tails there are, those above whose `least` only one column may score, as bits; NaN may. */
static inline __attribute__((always_inline)) unsigned only_one_above_with(const columns *c, int64_t width,
                                                                          const double *least, const int of)
{
    words below[FOUR] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    unsigned bits = 0;
    int64_t k;
    int q;

    for (k = 0; k < width; k += WIDE) {
        UNROLLED
        for (q = 0; q < FOUR; q++) {
            lanes score = *(const lanes *)(void *)(c->tails + q * c->stride + k);

            score_at_most(c, k, &score, of);
            below[q] -= (words)(score <= least[q]);
        }
    }
    for (q = 0; q < FOUR; q++)
        bits |= (unsigned)(below[q][0] + below[q][1] + below[q][2] + below[q][3] + 1 == (uint64_t)width) << q;
    return bits;
}

/* Lower bounds of the scores of four points with their own slots, as if they were not there, from their tails: of
 * products prod (1 - u) >= 1 - sum u, and log(1 - y) by its series. -inf where that says nothing. */
static inline __attribute__((always_inline)) void own_at_least(const columns *c, const int64_t *labels, double *least,
                                                               const int multiplies)
{
    const double *const top = c->own_top + 1, *const exponent = c->own_exponent + 1, *const share = c->own_share + 1;
    const double *const tails = c->tails + 1;
    const int64_t a = labels[0], b = labels[1], e = labels[2], f = labels[3], stride = c->stride;
    const lanes shares = {share[a], share[b], share[e], share[f]}, tops = {top[a], top[b], top[e], top[f]};
    const lanes exponents = {exponent[a], exponent[b], exponent[e], exponent[f]};
    lanes loss = {tails[a], tails[stride + b], tails[2 * stride + e], tails[3 * stride + f]};
    words says = ~(words){0, 0, 0, 0};

    if (multiplies) {
        const lanes y = shares * (loss - 1.0) + ROUNDINGS * (double)(c->family.D + 4);

        says = (words)(y < MOST_LOST) & (words)(y > 0.0); /* it is, but for a point that lies where its cluster does */
        loss = y + y * y * (0.5 + y / (3.0 - 3.0 * y));
    } else {
        loss *= shares;
    }
    loss = tops - exponents * loss;
    loss = (lanes)(((words)loss & says) | ((words)(loss * 0.0 - INFINITY) & ~says));
    memcpy(least, &loss, sizeof loss);
}

/* How many points from the i-th on are certain, four at a time; then of the four that are not all: tails, least, bits. */
static inline __attribute__((always_inline)) int64_t run_with(columns *c, int64_t i, double *least, unsigned *sure,
                                                              const int multiplies)
{
    const int64_t width = padded(c->width, LANES), first = i;

    for (*sure = 15; *sure == 15 && i + FOUR <= c->problem->n_points; i += FOUR) {
        take_four(c, i);
        four_with(c, width, multiplies);
        own_at_least(c, c->clusters->labels + i, least, multiplies);
        *sure = only_one_above_with(c, width, least, multiplies ? ROUGH_PRODUCTS : SUMS);
        if (*sure != 15 && multiplies)
            *sure = only_one_above_with(c, width, least, PRODUCTS);
    }
    return (*sure == 15 ? i : i - FOUR) - first;
}

CLONES
static int64_t run_of_certain(columns *c, int64_t i, double *least, unsigned *sure)
{
    return c->multiplies ? run_with(c, i, least, sure, 1) : run_with(c, i, least, sure, 0);
}

CLONES
static unsigned only_one_above(const columns *c, const double *least)
{
    const int64_t width = padded(c->width, LANES);

    return c->multiplies ? only_one_above_with(c, width, least, PRODUCTS) : only_one_above_with(c, width, least, SUMS);
}

/* Tails of c->x, or of c->four. */
CLONES
static void bound(const columns *c, int points)
{
    const int64_t width = padded(c->width, LANES);

    if (points == 1 && c->multiplies)
        one_with(c, width, 1);
    else if (points == 1)
        one_with(c, width, 0);
    else if (c->multiplies)
        four_with(c, width, 1);
    else
        four_with(c, width, 0);
}

/* Upper bounds of all scores of a point from its tails, into c->scores; and the largest. */
CLONES
static double scores_at_most(const columns *c, const double *tails)
{
    const int64_t width = padded(c->width, WIDE);
    lanes most = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    int64_t k;

    for (k = 0; k < width; k += WIDE) {
        lanes score = *(const lanes *)(void *)(tails + k);
        words more;

        score_at_most(c, k, &score, c->multiplies ? PRODUCTS : SUMS);
        more = (words)(score > most);
        most = (lanes)(((words)score & more) | ((words)most & ~more));
        *(lanes *)(void *)(c->scores + k) = score;
    }
    most[0] = most[0] > most[1] ? most[0] : most[1];
    most[2] = most[2] > most[3] ? most[2] : most[3];
    return most[0] > most[2] ? most[0] : most[2];
}

#if defined(__clang__)
#pragma clang fp contract(off)
#else
#pragma GCC pop_options
#endif

/* After run_of_certain: of the four points from the i-th on, bits of those that surely stay now that own scores are
 * known, which are cheap beside those of all columns. */
static inline unsigned certain_by_own_score(columns *c, int64_t i, double *least, unsigned sure)
{
    const int64_t *const labels = c->clusters->labels + i, D = c->family.D;
    double own;
    int64_t q;
    int again = 0;

    for (q = 0; q < FOUR; q++)
        if (!(sure >> q & 1) && c->clusters->counts[labels[q]] > 1 &&
            own_in_closed_form(c, labels[q], c->four + q * D, &own)) {
            least[q] = own - SLACK * (1.0 + fabs(own)) - ROUNDINGS * (double)D * c->own_exponent[labels[q] + 1];
            again = 1;
        }
    return again ? only_one_above(c, least) : sure;
}

/* As many points from the i-th on as surely stay; then tails of up to four, and of which of these that is known, as bits. */
static inline int64_t pass_certain(columns *c, int64_t i, unsigned *sure)
{
    double least[FOUR];
    const int64_t passed = run_of_certain(c, i, least, sure);

    if (*sure != 15) {
        *sure = certain_by_own_score(c, i + passed, least, *sure);
        return passed;
    }
    *sure = 0;
    if (i + passed < c->problem->n_points) {
        take_four(c, i + passed);
        bound(c, FOUR);
    }
    return passed;
}

/* As score_candidates, by tails. */
static inline int64_t score_by_bounds(columns *c, int64_t i, int64_t slot, const double *tails, double band)
{
    const int alone = slot >= 0 && c->clusters->counts[slot] == 1;
    const int64_t own = slot >= 0 ? slot + 1 : -1;
    double *const scores = c->scores, top = scores_at_most(c, tails), best = -INFINITY;
    int64_t k, seed = 0, n = 0;

    while (scores[seed] < top)
        seed++;
    if (seed != own)
        scores[seed] = score_column(c, seed, c->x);
    if (own >= 0)
        best = scores[own] = alone ? -INFINITY : score_own(c, slot, i);
    if (alone)
        scores[0] = score_column(c, 0, c->x) + (log_new(c->problem, c->used - 1, 1.0) - c->log_size[0]);
    else if (c->free_slot < 0)
        scores[0] = -INFINITY;
    best = scores[seed] > best ? scores[seed] : best;
    best = alone && scores[0] > best ? scores[0] : best;
    for (k = 0; k < c->width; k++) {
        if (scores[k] < best - band - 2.0 * TOLERANCE * (1.0 + fabs(best)))
            continue;
        if (k != seed && k != own && !(alone && k == 0)) {
            scores[k] = score_column(c, k, c->x);
            best = scores[k] > best ? scores[k] : best;
        }
        c->listed[n++] = k;
    }
    return n;
}

#else

static inline int64_t pass_certain(columns *c, int64_t i, unsigned *sure)
{
    (void)c;
    (void)i;
    *sure = 0;
    return 0;
}

static inline void bound(const columns *c, int points)
{
    (void)c;
    (void)points;
}

static inline int64_t score_by_bounds(columns *c, int64_t i, int64_t slot, const double *tails, double band)
{
    (void)c;
    (void)i;
    (void)slot;
    (void)tails;
    (void)band;
    return 0;
}

#endif

/* ---- which columns may decide ------------------------------------------------------------------------------------ */

/* Score point i, in c->x, with its own slot, or -1, and with all columns that by their tails (NULL where there are none) may
 * be within band nats of the best, or within its tolerance. Their scores, and in c->listed in order which they are; returns
 * how many. */
static inline int64_t score_candidates(columns *c, int64_t i, int64_t slot, const double *tails, double band)
{
    int64_t k;

    if (tails != NULL)
        return score_by_bounds(c, i, slot, tails, band);
    if (!score_all(c, i, slot) && c->free_slot < 0)
        c->scores[0] = -INFINITY;
    for (k = 0; k < c->width; k++)
        c->listed[k] = k;
    return c->width;
}

/* objective.best_slot over the n columns listed: `stay` if within the tolerance of the best, else the lowest slot, else
 * column 0. */
static inline int64_t best_column(const columns *c, int64_t n, int may_open, int64_t stay)
{
    const double *const scores = c->scores;
    double best = -INFINITY, least;
    int64_t j;

    for (j = 0; j < n; j++)
        if (scores[c->listed[j]] > best && (may_open || c->listed[j] > 0))
            best = scores[c->listed[j]];
    least = best - TOLERANCE * (1.0 + fabs(best));
    if (stay >= 0 && scores[stay] >= least)
        return stay;
    for (j = 0; j < n; j++)
        if (scores[c->listed[j]] >= least && c->listed[j] > 0)
            return c->listed[j];
    return may_open ? 0 : (stay >= 0 ? stay : 1);
}

#endif
