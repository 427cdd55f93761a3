/* Points that surely stay where they are, by bounds, four at a time: in a sweep where few points move that is nearly
 * all of them, and bounds cost a fraction of scores. Who is not certain is scored as ever, so labels do not depend on any
 * of this. Internal to the batch sweep.
 *
 * A point stays if its own cluster, as if it were not in it, scores no less than all others (docs/maths.md (30)). The
 * bound of the own score comes from the same product as the others'; of its full statistics, so that the own cluster
 * always scores above it, and a point is certain where no other does.
 */
#ifndef MAPDPM_CERTAIN_H
#define MAPDPM_CERTAIN_H

#include "mapdpm_four.h"

#if defined(__GNUC__)

/* From here on nothing is more than a bound, with room for each rounding: a fused multiply-add is as good, and faster. */
#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif

CLONES
static void products_of_four(const columns *c, int64_t width)
{
    tails_of_four(c, width, 1);
}

CLONES
static void sums_of_four(const columns *c, int64_t width)
{
    tails_of_four(c, width, 0);
}

/* Of four points, whose tails there are, those above whose `least` only one column may score, as bits; NaN may. Of a
 * product, which is at least 1 but for rounding, the logarithm is bounded by its exponent and a cubic below log(1 + f),
 * 0.6 % less at most. */
CLONES
static unsigned only_one_above(const columns *c, int64_t width, const double *least)
{
    const int multiplies = c->family.kind == MAPDPM_NORMAL_GAMMA;
    const double kept = 1.0 - ROUNDINGS * (double)(c->family.D + 4);
    words below[FOUR] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    unsigned bits = 0;
    int64_t k;
    int q;

    for (k = 0; k < width; k += WIDE) {
        const lanes top = *(const lanes *)(void *)(c->top + k), exponent = *(const lanes *)(void *)(c->exponent + k);

        UNROLLED
        for (q = 0; q < FOUR; q++) {
            lanes tail = *(const lanes *)(void *)(c->tails + q * c->stride + k);

            if (multiplies) {
                const words parts = (words)tail;
                const lanes power =
                    (lanes)(parts >> 52 | UINT64_C(0x4330000000000000)) - 4503599627371519.0; /* 2^52 + 1023 */
                const lanes f = (lanes)((parts & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000)) - 1.0;

                tail = power * 0.693147180559945 + f * (0.994356 + f * (-0.442488 + f * 0.141278));
            } else {
                tail *= kept;
            }
            below[q] -= (words)(top - exponent * tail <= least[q]);
        }
    }
    for (q = 0; q < FOUR; q++)
        bits |= (unsigned)(below[q][0] + below[q][1] + below[q][2] + below[q][3] + 1 == (uint64_t)width) << q;
    return bits;
}

/* Lower bounds of the scores of four points with their own slots, as if they were not there, from their tails: of
 * products prod (1 - u) >= 1 - sum u, and log(1 - y) by its series. -inf where that says nothing. */
CLONES
static void own_at_least(const columns *c, const int64_t *labels, double *least)
{
    const double *const top = c->own_top + 1, *const exponent = c->own_exponent + 1, *const share = c->own_share + 1;
    const double *const tails = c->tails + 1;
    const int64_t a = labels[0], b = labels[1], e = labels[2], f = labels[3], stride = c->stride;
    const lanes shares = {share[a], share[b], share[e], share[f]}, tops = {top[a], top[b], top[e], top[f]};
    const lanes exponents = {exponent[a], exponent[b], exponent[e], exponent[f]};
    lanes loss = {tails[a], tails[stride + b], tails[2 * stride + e], tails[3 * stride + f]};
    words says = ~(words){0, 0, 0, 0};

    if (c->family.kind == MAPDPM_NORMAL_GAMMA) {
        const lanes y = shares * (loss - 1.0) + ROUNDINGS * (double)(c->family.D + 4);

        says = (words)(y < MOST_LOST) & (words)(y > 0.0); /* it is, but for a point that lies where its cluster does */
        loss = y + y * y * (0.5 + y / (3.0 - 3.0 * y));
    } else {
        loss *= shares;
    }
    loss = tops - exponents * loss;
    *(lanes *)(void *)least = (lanes)(((words)loss & says) | ((words)(loss * 0.0 - INFINITY) & ~says));
}

#if defined(__clang__)
#pragma clang fp contract(off)
#else
#pragma GCC pop_options
#endif

/* Of points i .. i + 3 those that surely stay, as bits. */
static unsigned certain(columns *c, int64_t i)
{
    const int64_t D = c->family.D, width = padded(c->width);
    const int64_t *const labels = c->clusters->labels + i;
    double *const least = c->least, own;
    int64_t q;
    unsigned sure;
    int again = 0;

    if (!prepare_four(c, i))
        return 0;
    if (c->family.kind == MAPDPM_NORMAL_GAMMA)
        products_of_four(c, width);
    else
        sums_of_four(c, width);
    own_at_least(c, labels, least);
    sure = only_one_above(c, width, least);
    for (q = 0; q < FOUR; q++) /* the own score itself is cheap, beside those of all columns */
        if (!(sure >> q & 1) && c->clusters->counts[labels[q]] > 1 &&
            own_in_closed_form(c, labels[q], c->four + q * D, &own)) {
            least[q] = own - SLACK * (1.0 + fabs(own)) - ROUNDINGS * (double)D * c->own_exponent[labels[q] + 1];
            again = 1;
        }
    return again ? only_one_above(c, width, least) : sure;
}

#else /* nothing is certain, and everything is scored */

static unsigned certain(columns *c, int64_t i)
{
    (void)c;
    (void)i;
    return 0;
}

#endif

#endif
