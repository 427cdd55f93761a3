/* Which columns may have the best score of a point, and which points certainly stay where they are. Bounds of the
 * scores decide that, at a fraction of the cost. Points that bounds leave open are scored exactly, so labels do not
 * depend on the bounds. Internal to the batch sweep.
 *
 * A point stays if its leave-one-out score with its own cluster is not below any other score (docs/maths.md (30)). The
 * lower bound of its own score comes from the same product as the other bounds. It uses the full statistics, so the own
 * column always exceeds it. A point is certain to stay if no other column does.
 */
#ifndef MAPDPM_CERTAIN_H
#define MAPDPM_CERTAIN_H

#include "mapdpm_tails.h"

#if HAS_VECTORS

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 4")
#endif

/* A lower bound of a leave-one-out score, from that score. */
static inline double below_score(const score_table *table, int64_t slot, double score)
{
    return score - SLACK * (1.0 + fabs(score)) -
           ROUNDING * (double)(table->likelihood.D + 4) * table->loo_exponent[slot + 1];
}

/* Beyond it the logarithm of the share that is left multiplies the rounding of the loss. */
static const double MOST_LOST = 0.95;

/* Lower bounds of leave-one-out scores that have none yet: points far out in their clusters are usual where these have
 * few points for their features. */
static inline void full_lower_bounds(const score_table *table, const int64_t *labels, double *least)
{
    int q;

    for (q = 0; q < MD_BLOCK; q++) {
        const int64_t column = labels[q] + 1;
        const double lost = table->loo_share[column] * (table->tails[q * table->stride + column] - 1.0);

        if (!(least[q] > -INFINITY) && table->clusters->counts[labels[q]] > 1 && lost < MOST_LOST)
            least[q] = below_score(table, labels[q],
                                   table->loo_constant[column] + (table->exponent[column] - 1.0) * log1p(-lost));
    }
}

/* Everything from here on is a bound that allows for each rounding. A fused multiply-add is as good, and faster. */
#if defined(__clang__)
#pragma clang fp contract(fast)
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast")
#endif

/* The kinds of bounds. SUMS need no logarithm. The logarithm of PRODUCTS is bounded by its exponent and a cubic below
 * log(1 + f), at most 0.6 % too low. ROUGH_PRODUCTS cost half as much and use log2(1 + f) >= f. A product is at least
 * 1, up to rounding. */
enum { SUMS, PRODUCTS, ROUGH_PRODUCTS };

/* Replace the tails of columns k, k + 1, ... by upper bounds of the scores. */
static inline __attribute__((always_inline)) void to_upper_bound(const score_table *table, int64_t k, vector *tail,
                                                                 const int kind)
{
    const vector upper_constant = *(const vector *)(void *)(table->upper_constant + k);
    const vector exponent =
        *(const vector *)(void *)((kind == ROUGH_PRODUCTS ? table->rough_exponent : table->exponent) + k);
    const bit_vector parts = (bit_vector)*tail;

    if (kind == ROUGH_PRODUCTS) {
        to_rough_log(tail);
    } else if (kind == PRODUCTS) {
        const vector power =
            (vector)(parts >> 52 | UINT64_C(0x4330000000000000)) - 4503599627371519.0; /* 2^52 + 1023 */
        const vector f = (vector)((parts & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000)) - 1.0;

        *tail = power * 0.693147180559945 + f * (0.994356 + f * (-0.442488 + f * 0.141278));
    } else {
        *tail *= 1.0 - ROUNDING * (double)(table->likelihood.D + 4);
    }
    *tail = upper_constant - exponent * *tail;
}

/* The points of a block for which only one column can score above `least`, as bits. The tails are there; NaN counts as
 * above. */
static inline __attribute__((always_inline)) unsigned only_one_above_with(const score_table *table, int64_t n_columns,
                                                                          const double *least, const int kind)
{
    bit_vector below[MD_BLOCK] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    unsigned bits = 0;
    int64_t k;
    int q;

    for (k = 0; k < n_columns; k += LANES_PER_VECTOR) {
        UNROLLED
        for (q = 0; q < MD_BLOCK; q++) {
            vector score = *(const vector *)(void *)(table->tails + q * table->stride + k);

            to_upper_bound(table, k, &score, kind);
            below[q] -= (bit_vector)(score <= least[q]);
        }
    }
    for (q = 0; q < MD_BLOCK; q++)
        bits |= (unsigned)(below[q][0] + below[q][1] + below[q][2] + below[q][3] + 1 == (uint64_t)n_columns) << q;
    return bits;
}

/* Lower bounds of the leave-one-out scores of a block of points with their own slots, from their tails. For products
 * they use prod (1 - u) >= 1 - sum u and the series of log(1 - y). Without a bound it is -inf. */
static inline __attribute__((always_inline)) void loo_lower_bounds(const score_table *table, const int64_t *labels,
                                                                   double *least, const int is_product)
{
    const double *const constant = table->loo_lower_constant + 1, *const exponent = table->loo_exponent + 1;
    const double *const share = table->loo_share + 1;
    const double *const tails = table->tails + 1;
    const int64_t a = labels[0], b = labels[1], e = labels[2], f = labels[3], stride = table->stride;
    const vector shares = {share[a], share[b], share[e], share[f]};
    const vector constants = {constant[a], constant[b], constant[e], constant[f]};
    const vector exponents = {exponent[a], exponent[b], exponent[e], exponent[f]};
    vector loss = {tails[a], tails[stride + b], tails[2 * stride + e], tails[3 * stride + f]};
    bit_vector is_valid = ~(bit_vector){0, 0, 0, 0};

    if (is_product) {
        const vector y = shares * (loss - 1.0) + ROUNDING * (double)(table->likelihood.D + 4);

        /* y is positive, except for a point at the centre of its cluster */
        is_valid = (bit_vector)(y < LARGEST_LOSS) & (bit_vector)(y > 0.0);
        loss = y + y * y * (0.5 + y / (3.0 - 3.0 * y));
    } else {
        loss *= shares;
    }
    loss = constants - exponents * loss;
    loss = (vector)(((bit_vector)loss & is_valid) | ((bit_vector)(loss * 0.0 - INFINITY) & ~is_valid));
    memcpy(least, &loss, sizeof loss);
}

/* Count the points from the i-th on that are certain to stay, a block at a time. For the first block that has others,
 * leave its tails, `least` and the bits of its certain points. */
static inline __attribute__((always_inline)) int64_t count_certain_with(score_table *table, int64_t i, double *least,
                                                                        unsigned *certain, const int is_product)
{
    const int64_t n_columns = round_up(table->n_columns, COLUMNS_PER_STEP), first = i;

    for (*certain = 15; *certain == 15 && i + MD_BLOCK <= table->end; i += MD_BLOCK) {
        load_block(table, i);
        if (is_product && has_two_stages(table)) {
            own_full_tails(table, table->clusters->labels + i);
            loo_lower_bounds(table, table->clusters->labels + i, least, is_product);
            full_lower_bounds(table, table->clusters->labels + i, least);
            other_full_tails(table, table->clusters->labels + i, least);
        } else {
            tails_of_block(table, n_columns, is_product);
            loo_lower_bounds(table, table->clusters->labels + i, least, is_product);
        }
        *certain = only_one_above_with(table, n_columns, least, is_product ? ROUGH_PRODUCTS : SUMS);
        if (*certain != 15 && is_product)
            *certain = only_one_above_with(table, n_columns, least, PRODUCTS);
    }
    return (*certain == 15 ? i : i - MD_BLOCK) - first;
}

CLONES
static int64_t count_certain(score_table *table, int64_t i, double *least, unsigned *certain)
{
    return table->is_product ? count_certain_with(table, i, least, certain, 1)
                             : count_certain_with(table, i, least, certain, 0);
}

CLONES
static unsigned only_one_above(const score_table *table, const double *least)
{
    const int64_t n_columns = round_up(table->n_columns, COLUMNS_PER_STEP);

    return table->is_product ? only_one_above_with(table, n_columns, least, PRODUCTS)
                             : only_one_above_with(table, n_columns, least, SUMS);
}

/* The tails of the current point, or of the current block. */
CLONES
static void compute_tails(const score_table *table, int points)
{
    const int64_t n_columns = round_up(table->n_columns, COLUMNS_PER_STEP);

    if (points == 1 && table->is_product)
        tails_of_point(table, n_columns, 1);
    else if (points == 1)
        tails_of_point(table, n_columns, 0);
    else if (table->is_product)
        tails_of_block(table, n_columns, 1);
    else
        tails_of_block(table, n_columns, 0);
}

/* Upper bounds of all scores of a point, from its tails, into table->scores. Returns the highest. */
CLONES
static double upper_bounds(const score_table *table, const double *tails)
{
    const int64_t n_columns = round_up(table->n_columns, LANES_PER_VECTOR);
    vector most = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    int64_t k;

    for (k = 0; k < n_columns; k += LANES_PER_VECTOR) {
        vector score = *(const vector *)(void *)(tails + k);
        bit_vector more;

        to_upper_bound(table, k, &score, table->is_product ? PRODUCTS : SUMS);
        more = (bit_vector)(score > most);
        most = (vector)(((bit_vector)score & more) | ((bit_vector)most & ~more));
        *(vector *)(void *)(table->scores + k) = score;
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

/* After count_certain: the bits of the certain points of the block at i, once the exact leave-one-out scores are known.
 * These cost little compared with the scores of all columns. */
static inline unsigned certain_by_exact_score(score_table *table, int64_t i, double *least, unsigned certain)
{
    const int64_t *const labels = table->clusters->labels + i, D = table->likelihood.D;
    double own;
    int64_t q;
    int recheck = 0;

    for (q = 0; q < MD_BLOCK; q++)
        if (!(certain >> q & 1) && table->clusters->counts[labels[q]] > 1 &&
            leave_one_out_in_closed_form(table, labels[q], table->block + q * D, &own)) {
            least[q] = below_score(table, labels[q], own);
            recheck = 1;
        }
    return recheck ? only_one_above(table, least) : certain;
}

/* Skip the points from the i-th on that are certain to stay, and return their number. Then leave the tails of the next
 * block, and the bits of its certain points. */
static inline int64_t skip_certain(score_table *table, int64_t i, unsigned *certain)
{
    double least[MD_BLOCK];
    const int64_t passed = count_certain(table, i, least, certain);

    if (*certain != 15) {
        *certain = certain_by_exact_score(table, i + passed, least, *certain);
        return passed;
    }
    *certain = 0;
    if (i + passed < table->end) {
        load_block(table, i + passed);
        compute_tails(table, MD_BLOCK);
    }
    return passed;
}

/* As score_candidates, from tails. */
static inline int64_t score_candidates_by_bounds(score_table *table, int64_t i, int64_t slot, const double *tails,
                                                 double band)
{
    const int alone = slot >= 0 && table->clusters->counts[slot] == 1;
    const int64_t own = slot >= 0 ? slot + 1 : -1;
    double *const scores = table->scores, highest = upper_bounds(table, tails), best = -INFINITY;
    int64_t k, seed = 0, n = 0;

    while (scores[seed] < highest)
        seed++;
    if (seed != own)
        scores[seed] = score_column(table, seed, table->x);
    if (own >= 0)
        best = scores[own] = alone ? -INFINITY : score_leave_one_out(table, slot, i);
    if (alone)
        scores[0] = score_new_for_lone_point(table, slot);
    else if (table->free_slot < 0)
        scores[0] = -INFINITY;
    best = scores[seed] > best ? scores[seed] : best;
    best = alone && scores[0] > best ? scores[0] : best;
    for (k = 0; k < table->n_columns; k++) {
        if (scores[k] < best - band - 2.0 * TOLERANCE * (1.0 + fabs(best)))
            continue;
        if (k != seed && k != own && !(alone && k == 0)) {
            scores[k] = score_column(table, k, table->x);
            best = scores[k] > best ? scores[k] : best;
        }
        table->candidates[n++] = k;
    }
    return n;
}

#else

static inline int64_t skip_certain(score_table *table, int64_t i, unsigned *certain)
{
    (void)table;
    (void)i;
    *certain = 0;
    return 0;
}

static inline void compute_tails(const score_table *table, int points)
{
    (void)table;
    (void)points;
}

static inline int64_t score_candidates_by_bounds(score_table *table, int64_t i, int64_t slot, const double *tails,
                                                 double band)
{
    (void)table;
    (void)i;
    (void)slot;
    (void)tails;
    (void)band;
    return 0;
}

#endif

/* ---- the columns that may have the best score -------------------------------------------------------------------- */

/* Score point i, the current point, with its own slot (or -1) and with all columns whose score may be within `band`
 * nats of the best, or within its tolerance, by the tails (NULL: all columns). The scores go to table->scores, the
 * columns to table->candidates in ascending order. Returns the number of candidates. */
static inline int64_t score_candidates(score_table *table, int64_t i, int64_t slot, const double *tails, double band)
{
    int64_t k;

    if (tails != NULL)
        return score_candidates_by_bounds(table, i, slot, tails, band);
    if (!score_all(table, i, slot) && table->free_slot < 0)
        table->scores[0] = -INFINITY;
    for (k = 0; k < table->n_columns; k++)
        table->candidates[k] = k;
    return table->n_columns;
}

/* objective.best_slot over the n candidates: `stay` if it is within the tolerance of the best, else the lowest slot
 * that is, else column 0. */
static inline int64_t best_column(const score_table *table, int64_t n, int may_open, int64_t stay)
{
    const double *const scores = table->scores;
    double best = -INFINITY, least;
    int64_t j;

    for (j = 0; j < n; j++)
        if (scores[table->candidates[j]] > best && (may_open || table->candidates[j] > 0))
            best = scores[table->candidates[j]];
    least = best - TOLERANCE * (1.0 + fabs(best));
    if (stay >= 0 && scores[stay] >= least)
        return stay;
    for (j = 0; j < n; j++)
        if (scores[table->candidates[j]] >= least && table->candidates[j] > 0)
            return table->candidates[j];
    return may_open ? 0 : (stay >= 0 ? stay : 1);
}

#endif
