/* Moments of clusters in whole numbers, their rows of the score table, and what a merge or an eviction changes:
 * mapdpm/integers/clusters.py, step by step.
 */
#include "integers/mapdpm_int_layout.h"

#define LOG2_PI_Q16 108226

/* ---- moments ----------------------------------------------------------------------------------------------------- */

int_moments int_moments_of(const mapdpm_stream *s, uint32_t k, uint32_t part)
{
    const uint32_t D = INT_FEATURES(s);
    uint64_t *const squares = int_squares(s, k, 0);
    int32_t *const means = (int32_t *)(void *)(squares + (size_t)(PARTS * D) + 1);
    int_slot *const slot = (int_slot *)(void *)(means + (size_t)(PARTS * D));
    int_moments m;

    m.weight = &slot->weights[part];
    m.squares = squares + (size_t)(part * D);
    m.means = means + (size_t)(part * D);
    m.rests = part == WHOLE ? (uint16_t *)(void *)(slot + 1) : NULL;
    return m;
}

/* Move a mean by a share of delta, in Q13. */
static void move(const int_moments *m, uint32_t d, int32_t delta, whole_ratio share)
{
    const uint64_t step = whole_scaled(whole_abs(delta), share, 16);
    const uint32_t rest = m->rests ? m->rests[d] : 0, part = (uint32_t)step & 0xffffu;
    const uint32_t low = delta < 0 ? rest - part : rest + part;
    int32_t whole = (int32_t)(step >> 16);

    whole = delta < 0 ? -whole - (part > rest) : whole + (int32_t)(low >> 16);
    if (m->rests)
        m->rests[d] = (uint16_t)low;
    else
        whole += (int32_t)(low >> 15 & 1u);
    m->means[d] += whole;
}

/* Add a point with the weight of now. */
void int_add(const mapdpm_stream *s, const int_moments *m, const int32_t *x)
{
    const uint32_t weight = INT_FORGETS(s) ? s->weight : INT_POINT;
    const int is_first = *m->weight == 0;
    whole_ratio share;
    uint32_t d;

    *m->weight += weight;
    share = whole_divide(weight, *m->weight);
    for (d = 0; d < INT_FEATURES(s); d++) {
        const int32_t place = int_place(x[d]);
        int32_t before, after;

        if (is_first) {
            m->means[d] = place;
            continue;
        }
        before = place - int_mean(m, d);
        move(m, d, before, share);
        after = place - int_mean(m, d);
        if ((before > 0 && after > 0) || (before < 0 && after < 0)) {
            const uint64_t product = whole_times(whole_abs(before), whole_abs(after)) >> 10;
            const uint64_t high = (uint64_t)((uint32_t)(product >> 32) * weight) << 32;

            m->squares[d] += (high + whole_times((uint32_t)product, weight) + 32768) >> 16;
        }
    }
}

/* Add the points of another cluster (Chan). */
void int_unite(const mapdpm_stream *s, uint32_t k, uint32_t other)
{
    const int_moments to = int_moments_of(s, k, WHOLE), from = int_moments_of(s, other, WHOLE);
    const whole_ratio share = whole_divide(*from.weight, *to.weight + *from.weight);
    const uint32_t between = (uint32_t)whole_scaled(*to.weight, share, 0);
    uint32_t d;

    for (d = 0; d < INT_FEATURES(s); d++) {
        const int32_t delta = int_mean(&from, d) - int_mean(&to, d);

        move(&to, d, delta, share);
        to.squares[d] += from.squares[d] + whole_product(whole_square(delta), between, 26);
    }
    *to.weight += *from.weight;
}

/* ---- views ------------------------------------------------------------------------------------------------------- */

uint32_t int_weight_now(const mapdpm_stream *s, uint32_t weight)
{
    if (s->weight == INT_POINT)
        return weight;
    return (uint32_t)whole_scaled(weight, whole_divide(INT_POINT, s->weight), 0);
}

int_view int_view_of(const mapdpm_stream *s, uint32_t k, uint32_t part)
{
    int_view v;

    v.at = int_moments_of(s, k, part);
    v.weight = int_weight_now(s, *v.at.weight);
    v.factor.m = 0;
    v.factor.e = 0;
    return v;
}

void int_stretch(int_view *v, whole_ratio factor)
{
    v->weight = (uint32_t)whole_scaled(v->weight, factor, 0);
    v->factor = factor;
}

uint64_t int_squares_of(const mapdpm_stream *s, const int_view *v, uint32_t d)
{
    uint64_t squares = v->at.squares[d];

    if (s->weight != INT_POINT)
        squares = whole_scaled(squares, whole_divide(INT_POINT, s->weight), 0);
    return v->factor.m ? whole_scaled(squares, v->factor, 0) : squares;
}

/* ---- the posterior ----------------------------------------------------------------------------------------------- */

/* c0 + n in Q16; twice a. */
static uint64_t pseudo_count(const mapdpm_stream *s, uint32_t n) { return s->c0 + ((uint64_t)n << 8); }
static uint32_t twice_a(const mapdpm_stream *s, uint32_t n) { return s->twice_a0 + n; }

/* c0 n / (c0 + n), in Q16. */
static uint32_t shrinkage(const mapdpm_stream *s, uint32_t n)
{
    return (uint32_t)whole_scaled(n, whole_divide(s->c0, pseudo_count(s, n)), 8);
}

/* The logarithm of twice the posterior b of a feature, to base 2, in Q24 of Q8. */
static int32_t log_spread(const mapdpm_stream *s, uint32_t d, uint32_t shrink, int32_t mean, uint64_t squares)
{
    return whole_log2(int_twice_b0(s)[d] + squares + whole_product(whole_square(mean), shrink, 34));
}

/* log2 Gamma(max(n, 1)), in Q16. */
static int64_t log_size(uint32_t n)
{
    const uint32_t size = n > INT_POINT ? n : INT_POINT;

    return whole_log_gamma(2 * size) + 86884 - (int64_t)((uint64_t)size * LOG2_E_Q16 >> 8);
}

static int64_t nats64(int64_t bits)
{
    const int64_t high = whole_down64(bits, 16);

    return high * LN2_Q16 + (int64_t)((uint64_t)(bits - high * 65536) * LN2_Q16 >> 16);
}

/* ---- the score table --------------------------------------------------------------------------------------------- */

/* (a + 1/2) ln 2. */
static whole_ratio exponent_of(uint32_t twice_a)
{
    whole_ratio r;
    uint32_t bits;

    r.m = whole_top(whole_times(twice_a + INT_POINT, LN2_Q16), &bits) >> 16;
    r.e = (int32_t)bits - 16 - 25;
    return r;
}

/* Row k of the score table. Row INT_SLOTS is that of a new cluster. */
void int_prepare(const mapdpm_stream *s, uint32_t k)
{
    const int is_new = k == INT_SLOTS(s);
    const uint32_t D = INT_FEATURES(s), weight = is_new ? 0 : *int_weight(s, k, WHOLE);
    const uint32_t n = int_weight_now(s, weight);
    const uint64_t pseudo = pseudo_count(s, n);
    const whole_ratio to_prior = whole_divide(s->c0, pseudo),
                      exponent = exponent_of(twice_a(s, n));
    const uint32_t shrink = (uint32_t)whole_scaled(n, to_prior, 8);
    const int32_t stretch = whole_log2(pseudo) - whole_log2(pseudo + 65536);
    int32_t logs = (int32_t)D * (2 * whole_down(whole_half_rising(twice_a(s, n)), 8) - LOG2_PI_Q16);
    int32_t *const constant = int_constant(s, k);
    uint16_t *const exponents = (uint16_t *)(void *)(constant + 1 + D);
    uint8_t *const scales = (uint8_t *)(void *)(exponents + 1 + D);
    const int_view v = int_view_of(s, is_new ? 0 : k, WHOLE);
    uint32_t d;

    for (d = 0; d < D; d++) {
        const int32_t mean = is_new ? 0 : int_mean(&v.at, d);
        const int32_t scale = stretch - (log_spread(s, d, shrink, mean, is_new ? 0 : int_squares_of(s, &v, d)) - Q24(8));
        const int32_t whole = whole_down(scale, 25);
        const int32_t pull = (int32_t)whole_scaled(whole_abs(mean), to_prior, 0);

        exponents[1 + d] = (uint16_t)(whole_power(((uint32_t)scale >> 9) & 0xffffu) >> 1);
        scales[1 + d] = (uint8_t)(8 - whole);
        constant[1 + d] = mean < 0 ? mean + pull : mean - pull;
        logs += whole_down(scale, 8);
    }
    if (weight > 0)
        logs += 2 * whole_down(whole_log2(weight) - Q24(8), 8);
    *constant = whole_nats(whole_down(logs, 1));
    *exponents = (uint16_t)exponent.m;
    *scales = (uint8_t)(exponent.e + 128);
}

/* ---- merging ----------------------------------------------------------------------------------------------------- */

/* By how much the log joint rises when two clusters become one, in nats, Q16: without the large terms that cancel. */
int64_t int_merge_gain(const mapdpm_stream *s, const int_view *a, const int_view *b)
{
    const uint32_t D = INT_FEATURES(s), n = a->weight + b->weight;
    const uint32_t x0 = s->twice_a0, xa = twice_a(s, a->weight), xb = twice_a(s, b->weight);
    const whole_ratio share = whole_divide(b->weight, n);
    const uint32_t between = (uint32_t)whole_scaled(a->weight, share, 0);
    const uint32_t of_a = shrinkage(s, a->weight), of_b = shrinkage(s, b->weight), of_all = shrinkage(s, n);
    int64_t bits = whole_log_gamma(twice_a(s, n)) + whole_log_gamma(x0) - whole_log_gamma(xa) - whole_log_gamma(xb);
    uint32_t d;

    bits += whole_down(whole_log2(pseudo_count(s, a->weight)) + whole_log2(pseudo_count(s, b->weight)) -
                           whole_log2(s->c0) - whole_log2(pseudo_count(s, n)),
                       9);
    bits *= (int32_t)D;
    for (d = 0; d < D; d++) {
        const int32_t mean_a = int_mean(&a->at, d), mean_b = int_mean(&b->at, d), delta = mean_b - mean_a;
        const int32_t part = (int32_t)whole_scaled(whole_abs(delta), share, 0);
        const int32_t mean = delta < 0 ? mean_a - part : mean_a + part;
        const uint64_t squares_a = int_squares_of(s, a, d), squares_b = int_squares_of(s, b, d);
        const uint64_t squares = squares_a + squares_b + whole_product(whole_square(delta), between, 26);
        const int32_t log_a = log_spread(s, d, of_a, mean_a, squares_a);
        const int32_t log_b = log_spread(s, d, of_b, mean_b, squares_b);
        const int32_t log_all = log_spread(s, d, of_all, mean, squares);
        const int32_t log_prior = whole_log2(int_twice_b0(s)[d]);

        bits += whole_part(xa, log_a - log_all, 17) + whole_part(xb, log_b - log_all, 17) +
                whole_part(x0, log_all - log_prior, 17);
    }
    bits += log_size(n) - log_size(a->weight) - log_size(b->weight);
    return nats64(bits) - s->log_alpha;
}

/* ---- eviction ---------------------------------------------------------------------------------------------------- */

/* The cluster's term of the log joint without alpha, in nats, Q16: log p of its points, and log Gamma(n). */
static int64_t joint_term(const mapdpm_stream *s, const int_view *v)
{
    const uint32_t D = INT_FEATURES(s), x = twice_a(s, v->weight), shrink = shrinkage(s, v->weight);
    int64_t bits = whole_log_gamma(x) - whole_log_gamma(s->twice_a0) - (int64_t)((uint64_t)v->weight * LOG2_E_Q16 >> 9) -
                   (int64_t)((uint64_t)v->weight * LOG2_PI_Q16 >> 9);
    uint32_t d;

    bits += whole_down(whole_log2(s->c0) - whole_log2(pseudo_count(s, v->weight)), 9);
    bits *= (int32_t)D;
    for (d = 0; d < D; d++) {
        const int32_t before = whole_log2(int_twice_b0(s)[d]) - Q24(8);
        const int32_t after = log_spread(s, d, shrink, int_mean(&v->at, d), int_squares_of(s, v, d)) - Q24(8);

        bits += whole_part(s->twice_a0, before, 17) - whole_part(x, after, 17);
    }
    return nats64(bits + log_size(v->weight));
}

/* Log p of a point as a cluster of its own, at the root mean square distance of the points from the prior mean. */
static int64_t alone(const mapdpm_stream *s, const int_view *v)
{
    const whole_ratio near = whole_divide(s->c0, (uint64_t)s->c0 + 65536), one = whole_divide(INT_POINT, v->weight);
    int64_t tail = 0;
    uint32_t d;

    for (d = 0; d < INT_FEATURES(s); d++) {
        const uint64_t away = whole_scaled(int_squares_of(s, v, d), one, 0) + (whole_square(int_mean(&v->at, d)) >> 18);
        uint64_t u = whole_scaled(whole_scaled(away, whole_divide(1, int_twice_b0(s)[d]), 24), near, 0);

        if (u > UINT32_MAX)
            u = UINT32_MAX;
        tail += whole_log2(u + (UINT32_C(1) << 24)) - Q24(24);
    }
    return *int_constant(s, INT_SLOTS(s)) -
           nats64((int64_t)((uint64_t)(s->twice_a0 + INT_POINT) * ((uint64_t)tail >> 8) >> 9));
}

/* The loss of the log joint if each point of the cluster were alone. It shrinks with the time since the cluster was last
 * seen (docs/maths.md (27)). */
int64_t int_eviction_loss(const mapdpm_stream *s, uint32_t k, uint32_t idle, uint32_t total)
{
    const int_view v = int_view_of(s, k, WHOLE);
    const uint32_t size = v.weight > INT_POINT ? v.weight : INT_POINT;
    const int64_t loss = joint_term(s, &v) + whole_down64(((int64_t)INT_POINT - (int64_t)size) * s->log_alpha, 8) -
                         whole_down64((int64_t)v.weight * alone(s, &v), 8);
    const uint64_t time = whole_scaled(idle, whole_divide(v.weight, 3 * (uint64_t)total), 16);
    const uint32_t share = whole_exp_minus(time < INT_NEGLIGIBLE ? (uint32_t)time : INT_NEGLIGIBLE);
    const int64_t left = (int64_t)((uint64_t)(loss < 0 ? -loss : loss) * share >> 16);

    return loss < 0 ? -left : left;
}
