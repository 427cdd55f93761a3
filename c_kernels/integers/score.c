/* The choice of a cluster in whole numbers: mapdpm/integers/clusters.py and learner.py. */
#include "integers/mapdpm_int_layout.h"

#define FARTHEST ((UINT32_C(1) << 28) - 1) /* the largest distance in Q20, in units of the root of the scale */
#define LARGEST_TAIL ((UINT32_C(1) << 31) - 1)

/* The distance `away`, in Q13, times the root of the scale, in Q20; at most almost 256. */
WHOLE_INLINE uint32_t distance(uint32_t away, uint32_t root, uint32_t shift)
{
    if (away >> 16) {
        const uint32_t drop = away >> 23 ? 14 : 7;

        away >>= drop;
        if (shift < drop) {
            const uint32_t up = drop - shift;

            return away * root > FARTHEST >> up ? FARTHEST : (away * root) << up;
        }
        shift -= drop;
    }
    return shift < 32 ? whole_least(away * root >> shift, FARTHEST) : 0;
}

uint32_t int_distance(uint32_t away, uint32_t root, uint32_t shift) { return distance(away, root, shift); }

/* Less than a constant by a tail in Q`down`, to base 2, times the exponent: nats, Q16. */
WHOLE_INLINE int32_t less_tail(const int_row *row, uint32_t tail, int32_t down)
{
    const uint32_t bits = whole_bits(tail);
    const int32_t e = *row->scale - 128 + (int32_t)bits - down; /* tail = m 2^(bits - 16) */
    uint32_t loss = (tail << (32 - bits) >> 16) * *row->exponent;

    if (e <= 0)
        loss = e > -32 ? loss >> -e : 0;
    else
        loss = e < 31 && loss <= (UINT32_C(1) << 30) >> e ? loss << e : UINT32_C(1) << 30;
    return *row->constant - (int32_t)whole_least(loss, UINT32_C(1) << 30);
}

/* The log density of a point times the weight of the cluster of a row, in nats, Q16; below `least`, an upper bound of it. */
static int32_t score(const mapdpm_stream *s, const int32_t *constant, const int32_t *x, int32_t least)
{
    const int_row row = int_row_at(s, constant);
    uint32_t fine = 0, product = UINT32_C(1) << 15, log = 0, d, bits, top; /* product 2^(log - 15) is that of 1 + v */
    int32_t found;

    for (d = 0; d < INT_FEATURES(s); d++) {
        const uint32_t z = distance(whole_abs(int_place(x[d]) - constant[1 + d]), row.exponent[1 + d], row.scale[1 + d]);

        if (z < UINT32_C(1) << 16) { /* log2(1 + v) = (v - v^2 / 2) log2(e), in Q32 */
            const uint32_t u = z * z >> 8, h = u >> 8, v = u - (h * h >> 17);

            fine += v + ((v >> 8) * LOG2_E_LESS_1 >> 8);
        } else {
            const uint32_t one = z < UINT32_C(1) << 23 ? 24 : 14;
            const uint32_t y = z >> (z < UINT32_C(1) << 20 ? 4 : one == 24 ? 8 : 13);
            const uint32_t v = (z < UINT32_C(1) << 20 ? y * y >> 8 : y * y) + (UINT32_C(1) << one);

            bits = whole_bits(v);
            product *= v << (32 - bits) >> 16;
            log += bits - 1 - one;
            if (product >> 31) {
                product >>= 1;
                log++;
            }
            product >>= 15;
        }
    }
    if (log == 0 && product == UINT32_C(1) << 15)
        return fine > 0 ? less_tail(&row, fine, 32) : *constant;
    fine >>= 8;
    log = log < 127 ? log << 24 : UINT32_C(127) << 24;
    top = log + ((product - 32768) << 9); /* log2 x >= x - 1, 1 <= x <= 2 */
    found = less_tail(&row, whole_least(top, LARGEST_TAIL) + fine, 24);
    if (found < least)
        return found;
    top = log + (uint32_t)(whole_log2(product) - Q24(15));
    return less_tail(&row, whole_least(top, LARGEST_TAIL) + fine, 24);
}

uint32_t int_total(const mapdpm_stream *s)
{
    uint32_t k, total = 0;

    for (k = 0; k < INT_SLOTS(s); k++)
        total += *int_weight(s, k, WHOLE);
    return total;
}

/* The sum of exp(score - top). */
typedef struct {
    int32_t top;
    uint32_t sum; /* Q16 */
} score_sum;

static void add_score(score_sum *sum, int32_t score)
{
    const uint32_t gap = score > sum->top ? (uint32_t)(score - sum->top) : (uint32_t)(sum->top - score);
    const uint32_t share = gap < INT_NEGLIGIBLE ? whole_exp_minus(gap) : 0;

    if (score > sum->top) {
        sum->sum = ((sum->sum >> 8) * share >> 8) + 65536;
        sum->top = score;
    } else {
        sum->sum += share;
    }
}

int_choice int_choose(const mapdpm_stream *s, const int32_t *x, int with_density)
{
    const size_t slot_bytes = int_slot_bytes(INT_FEATURES(s)), row_bytes = int_row_bytes(INT_FEATURES(s));
    const unsigned char *slot = (const unsigned char *)int_slot_of(s, 0), *row = (const unsigned char *)int_constant(s, 0);
    int_choice c = {INT_NONE, INT_NONE, 0, 0, 0};
    int32_t best = 0, second = 0, opening;
    score_sum all;
    uint32_t k;

    opening = score(s, int_constant(s, INT_SLOTS(s)), x, INT32_MIN) + s->log_alpha;
    if (s->weight != INT_POINT)
        opening += whole_nats_of(whole_log2(s->weight), 8);
    all.top = opening;
    all.sum = 65536;
    for (k = 0; k < INT_SLOTS(s); k++, slot += slot_bytes, row += row_bytes) {
        const uint32_t weight = ((const int_slot *)(const void *)slot)->weights[WHOLE];
        int32_t found;

        if (weight == 0)
            continue;
        c.weight += weight;
        found = score(s, (const int32_t *)(const void *)row, x, all.top - (int32_t)INT_NEGLIGIBLE);
        if (c.best == INT_NONE || found > best) {
            c.second = c.best;
            second = best;
            c.best = k;
            best = found;
        } else if (c.second == INT_NONE || found > second) {
            c.second = k;
            second = found;
        }
        add_score(&all, found);
    }
    c.opens = c.best == INT_NONE || opening > best;
    if (with_density)
        c.density = all.top + whole_nats_of(whole_log2(all.sum) - whole_log2(((uint64_t)c.weight << 8) +
                                                                              (whole_times(s->alpha, s->weight) >> 8)),
                                            0);
    return c;
}
