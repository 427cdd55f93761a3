/* The stream learner: one point in, all of its consequences, in time O(K D) and in the caller's memory (docs/streams.md).
 *
 * Each cluster carries the moments of two halves of itself, between which it divides what it learns; where two clusters
 * would explain them better it becomes two. No point is kept.
 */
#include "mapdpm_learner.h"

/* Vectors as wide as the machine has: the same operations in the same order, none of them fused. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(MAPDPM_NO_CLONES)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

/* ---- choosing ------------------------------------------------------------------------------------------------------ */

/* What the densities of columns k .. k + n - 1, n <= BLOCK, need of x: for Normal-Gamma a product less 1, for known
 * variances a sum; infinite or NaN where a product has overflowed. And upper bounds of them. Here, and only here, the two
 * families differ. */
CLONES
static void tails_of(const mapdpm_stream *s, const real *x, size_t k, size_t n, real *restrict tails,
                     real *restrict bounds)
{
    const real *const anchor = anchor_of(s), *const unit = unit_of(s);
    const real *const constants = constants_of(s) + k, *const exponents = exponents_of(s) + k;
    const int multiplies = s->family == MAPDPM_NORMAL_GAMMA;
    real u[BLOCK] = {0};
    size_t d, j;

    for (j = 0; j < BLOCK; j++)
        tails[j] = 0;
    if (n == BLOCK && multiplies) /* the usual case, by itself: it stays in registers */
        for (d = 0; d < s->n_features; d++) {
            const real *const centre = centres_of(s, d) + k, *const scale = scales_of(s, d) + k;
            const real t = (x[d] - anchor[d]) * unit[d];

            for (j = 0; j < BLOCK; j++) {
                const real v = (t - centre[j]) * (t - centre[j]) * scale[j];

                tails[j] = tails[j] * (1 + v) + v; /* infinite at most, never NaN */
            }
        }
    else
        for (d = 0; d < s->n_features; d++) {
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
    const size_t D = s->n_features;
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

        if (s->family == MAPDPM_NORMAL_GAMMA)
            compound(&sum, &logs, u);
        else
            logs += u;
    }
    if (s->family != MAPDPM_NORMAL_GAMMA)
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

/* All clusters by their columns, whose constants hold the logarithms of the weights; those of free slots are -ALWAYS. */
static void compare_columns(const mapdpm_stream *s, const real *x, contest *c, int with_density)
{
    real tails[BLOCK], bounds[BLOCK], least = least_score(c, with_density), next = c->next_bound;
    uint32_t first, j;

    for (first = 0; first < s->width; first += BLOCK) {
        const uint32_t left = s->max_clusters - first, n = left < BLOCK ? left : BLOCK;

        tails_of(s, x, first, n, tails, bounds);
        for (j = 0; j < n; j++) {
            if (!(bounds[j] > least || bounds[j] > next))
                continue;
            if (bounds[j] > least)
                enter(c, first + j, density_of_tail(s, x, first + j, tails[j]), bounds[j], with_density);
            note_bound(c, first + j, bounds[j]);
            least = least_score(c, with_density);
            next = c->next_bound;
        }
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

static real weight_now(const mapdpm_stream *s)
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
            total_weight = weight_now(s);
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

            for (d = 0; d < s->n_features; d++)
                if (!is_there(x[d]))
                    c.density -= math_log(unit_of(s)[d]);
        }
#endif
    }
    return c;
}

/* ---- small steps --------------------------------------------------------------------------------------------------- */

void stream_record(mapdpm_stream *s, uint32_t kind, uint32_t id, uint32_t other)
{
    uint32_t *const event = ring_of(s) + WORDS_PER_EVENT * (size_t)(s->n_events % s->n_ring);

    event[0] = kind;
    event[1] = id;
    event[2] = other;
    event[3] = (uint32_t)s->n_seen;
    s->n_events++;
}

static void clear_halves(mapdpm_stream *s, uint32_t k)
{
    memset(half_of(s, k, 0), 0, 2 * half_size(s) * sizeof(real));
}

void stream_clear(mapdpm_stream *s, uint32_t k)
{
    memset(slot_of(s, k), 0, slot_size(s) * sizeof(real));
    constants_of(s)[k] = -ALWAYS;
    partner_of(s)[k] = NONE;
    trials_of(s)[k] = 0;
    while (s->width > 0 && !is_used(s, s->width - 1))
        s->width--;
}

uint32_t stream_free_slot(const mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < s->max_clusters; k++)
        if (!is_used(s, k))
            return k;
    return NONE;
}

/* After the moments of a slot have changed. */
void stream_refresh(mapdpm_stream *s, uint32_t k)
{
    if (k >= s->width)
        s->width = k + 1;
    if (is_prepared(s))
        prepare(s, view_of(s, k, s->now), k);
}

/* Bring the moments of a slot up to now. */
void stream_settle(mapdpm_stream *s, uint32_t k)
{
    const real fade = fade_of(s, k, s->now);

    if (fade < 1) {
        moments_scale(s, slot_of(s, k), half_size(s), fade);
        moments_scale(s, half_of(s, k, 0), 0, fade);
        moments_scale(s, half_of(s, k, 1), 0, fade);
    }
    lasts(s)[k] = s->now;
}

static void forget(mapdpm_stream *s, uint32_t k, uint32_t kind)
{
    stream_relabel(s, ids_of(s)[k], NONE);
    stream_record(s, kind, ids_of(s)[k], 0);
    stream_clear(s, k);
    s->n_clusters--;
}

void stream_open(mapdpm_stream *s, uint32_t k)
{
    stream_clear(s, k);
    lasts(s)[k] = s->now;
    seen_of(s)[k] = (uint32_t)s->n_seen;
    s->n_clusters++;
}

/* One slot takes over another, both up to now; the id of the heavier stays. */
void stream_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const int keeps = !(*slot_of(s, from) > *slot_of(s, to));
    const uint32_t kept = ids_of(s)[keeps ? to : from], gone = ids_of(s)[keeps ? from : to];

    moments_merge(s, slot_of(s, to), slot_of(s, from), half_size(s));
    if ((int32_t)(seen_of(s)[from] - seen_of(s)[to]) > 0)
        seen_of(s)[to] = seen_of(s)[from];
    ids_of(s)[to] = kept;
    stream_relabel(s, gone, kept);
    stream_record(s, MAPDPM_MERGED, gone, kept);
    clear_halves(s, to);
    trials_of(s)[to] = 0;
    partner_of(s)[to] = NONE;
    stream_clear(s, from);
    s->n_clusters--;
    stream_refresh(s, to);
}

/* Forget the clusters whose weight has fallen below the floor. */
static void age_out(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < s->max_clusters; k++)
        if (is_used(s, k) && *slot_of(s, k) * fade_of(s, k, s->now) < FLOOR)
            forget(s, k, MAPDPM_AGED);
}

/* ---- splitting ----------------------------------------------------------------------------------------------------- */

/* In which half of slot k the point belongs: the one with the nearer mean, in units of the variance within halves; while
 * they are young, by the side of the cluster's mean on which it lies in one feature, the widest or the next in turn. */
static size_t half_for(const mapdpm_stream *s, uint32_t k, const real *x)
{
    const size_t D = s->n_features;
    const real *const slot = slot_of(s, k), *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1);
    const real *const mean = mean_in(s, slot), *const squares = squares_in(s, slot);
    const uint32_t trial = trials_of(s)[k] >> 16;
    size_t d, widest = (trial >> 1) % D;
    real most = -1;

    if (*h0 >= LEAST_HALF && *h1 >= LEAST_HALF)
        return is_nearer_to_second(s, slot, h0, h1, x);
    for (d = 0; d < D && trial % 2 == 0; d++) { /* each other trial by another feature */
        const real width = squares[d] / floor_of(s)[d];

        if ((!HAS_MISSING(s) || is_there(x[d])) && width > most) {
            most = width;
            widest = d;
        }
    }
    return entry(s, x, widest) > mean[widest];
}

/* The halves of slot k become clusters, the lighter one in a free slot e; both together weigh what k did. */
static void split(mapdpm_stream *s, uint32_t k, uint32_t e)
{
    const size_t size = half_size(s), lighter = *half_of(s, k, 1) > *half_of(s, k, 0) ? 0 : 1;
    real *const light = half_of(s, k, lighter), *const heavy = half_of(s, k, 1 - lighter);
    real *const slot = slot_of(s, k);
    const real low = low_part(slot, size), all = *light + *heavy;
    real part = *slot * (*light / all), rest;

    if (!(s->rate > 0) && part < (real)8388608) /* counts stay whole numbers; beyond, a real is one */
        part = (real)(int32_t)(part + HALF);
    rest = *slot;
    moments_scale(s, light, 0, part / *light);
    moments_scale(s, heavy, 0, (rest - part) / *heavy);
    *light = part;

    stream_open(s, e);
    ids_of(s)[e] = s->next_id++;
    memcpy(slot_of(s, e), light, size * sizeof(real));
    memcpy(slot, heavy, size * sizeof(real));
    if (COMPENSATED)
        memset(slot + size, 0, size * sizeof(real));
    *slot = rest;
    if (COMPENSATED)
        slot[size] = low;
    grow(slot, size, -part);
    seen_of(s)[e] = seen_of(s)[k];
    clear_halves(s, k);
    trials_of(s)[k] = 0;
    partner_of(s)[k] = NONE;
    stream_relabel(s, ids_of(s)[k], NONE);
    stream_record(s, MAPDPM_SPLIT, ids_of(s)[k], ids_of(s)[e]);
    stream_refresh(s, k);
    stream_refresh(s, e);
}

/* What splitting slot k would gain if its halves stood for all that it holds, or for so much as they may speak for. */
static real split_gain(const mapdpm_stream *s, uint32_t k)
{
    view v0 = half_view(s, k, 0), v1 = half_view(s, k, 1);
    const real n = *v0.moments + *v1.moments, all = *slot_of(s, k), most = SPEAKS_FOR * n;
    const real scale = (all < most ? all : most) / n;

    if (scale > 1 && n >= VOICE)
        v0.fade = v1.fade = scale;
    return -merge_gain(s, v0, v1);
}

/* ---- merging, and making room -------------------------------------------------------------------------------------- */

/* Whether the log joint rises when slots a and b merge; remembers the cheapest partner that a has been seen with. */
static int should_merge(mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const view va = view_of(s, a, s->now), vb = view_of(s, b, s->now);
    real gain;

    if (are_far(s, va, vb))
        return 0;
    gain = merge_gain(s, va, vb);
    if (partner_of(s)[a] == NONE || partner_of(s)[a] == b || -gain < *loss_of(s, a)) {
        partner_of(s)[a] = b;
        *loss_of(s, a) = -gain;
    }
    return gain > HYSTERESIS;
}

/* Slot k takes over the slot b if that raises the log joint. */
static void try_merge(mapdpm_stream *s, uint32_t k, uint32_t b)
{
    if (b != NONE && b != k && is_used(s, b) && should_merge(s, k, b)) {
        stream_settle(s, b);
        stream_merge(s, k, b);
    }
}

/* The lightest slot, its cheapest partner cached; NONE where there are no two. For clusters that have met no other. */
static uint32_t lightest_pair(mapdpm_stream *s, uint32_t spared)
{
    uint32_t k, lightest = NONE;

    for (k = 0; k < s->width; k++)
        if (k != spared && is_used(s, k) && (lightest == NONE || *slot_of(s, k) < *slot_of(s, lightest)))
            lightest = k;
    if (lightest != NONE)
        partner_of(s)[lightest] = NONE;
    for (k = 0; k < s->width && lightest != NONE; k++)
        if (k != spared && k != lightest && is_used(s, k)) {
            const real gain = merge_gain(s, view_of(s, lightest, s->now), view_of(s, k, s->now));

            if (partner_of(s)[lightest] == NONE || -gain < *loss_of(s, lightest)) {
                partner_of(s)[lightest] = k;
                *loss_of(s, lightest) = -gain;
            }
        }
    return lightest != NONE && partner_of(s)[lightest] != NONE ? lightest : NONE;
}

/* The slot whose cached partner costs least to merge with, and that loss, computed anew; NONE where there is none. Slot
 * `spared` has no part in it. */
static uint32_t cheapest_pair(mapdpm_stream *s, uint32_t spared, real *loss)
{
    uint32_t k, best = NONE;

    for (k = 0; k < s->max_clusters; k++) {
        const uint32_t b = partner_of(s)[k];

        if (k != spared && b != spared && is_used(s, k) && b != NONE && b != k && is_used(s, b) &&
            (best == NONE || *loss_of(s, k) < *loss_of(s, best)))
            best = k;
    }
    if (best == NONE && s->when_full == MAPDPM_FULL_MERGE)
        best = lightest_pair(s, spared);
    if (best != NONE) {
        *loss = -merge_gain(s, view_of(s, best, s->now), view_of(s, partner_of(s)[best], s->now));
        *loss_of(s, best) = *loss;
    }
    return best;
}

/* The slot that is cheapest to forget, and its loss; of losses that are about equal, as those of lone points are, the one
 * that was not seen for longest. */
static uint32_t cheapest_eviction(const mapdpm_stream *s, uint32_t spared, real *loss)
{
    const real total_weight = weight_now(s) + s->alpha;
    uint32_t k, best = NONE, longest = 0;

    for (k = 0; k < s->width; k++)
        if (k != spared && is_used(s, k)) {
            const uint32_t idle = (uint32_t)s->n_seen - seen_of(s)[k];
            const real cost = eviction_loss(s, view_of(s, k, s->now), (real)idle, total_weight);

            if (best == NONE || cost < *loss - ABOUT || (cost <= *loss + ABOUT && idle > longest)) {
                best = k;
                *loss = cost;
                longest = idle;
            }
        }
    return best;
}

/* Free a slot by the policy, if that costs less than `gain`; NONE where it does not, or refuses. */
static uint32_t make_room(mapdpm_stream *s, uint32_t spared, real gain)
{
    real merging = 0, evicting = 0;
    uint32_t pair = NONE, victim = NONE;

    if (s->when_full == MAPDPM_FULL_REFUSE || s->when_full == MAPDPM_FULL_ERROR)
        return NONE;
    if (s->when_full != MAPDPM_FULL_EVICT)
        pair = cheapest_pair(s, spared, &merging);
    if (s->when_full != MAPDPM_FULL_MERGE)
        victim = cheapest_eviction(s, spared, &evicting);
    if (pair != NONE && (victim == NONE || merging <= evicting)) {
        const uint32_t b = partner_of(s)[pair];

        if (!(merging < gain))
            return NONE;
        stream_settle(s, pair);
        stream_settle(s, b);
        stream_merge(s, pair, b);
        return b;
    }
    if (victim == NONE || !(evicting < gain))
        return NONE;
    forget(s, victim, MAPDPM_EVICTED);
    return victim;
}

/* Split slot k if that raises the log joint, by more than the slot costs that must be freed for it. Returns the slot
 * where the half h is now. */
static uint32_t try_split(mapdpm_stream *s, uint32_t k, size_t h)
{
    const real n0 = *half_of(s, k, 0), n1 = *half_of(s, k, 1);
    const uint32_t trial = trials_of(s)[k] >> 16;
    real gain;

    trials_of(s)[k]++;
    if (!(n0 >= LEAST_HALF && n1 >= LEAST_HALF) || s->next_id == NONE)
        return k;
    if (!(*slot_of(s, k) * ((n0 < n1 ? n0 : n1) / (n0 + n1)) >= 1)) /* a window has taken so much out */
        return k;
    gain = trials_of(s)[k] % EVERY == 0 ? split_gain(s, k) - HYSTERESIS - math_log(*slot_of(s, k)) : 0;
    if (gain > 0) {
        const size_t lighter = n1 > n0 ? 0 : 1;
        const uint32_t e = s->n_clusters < s->max_clusters ? stream_free_slot(s) : make_room(s, k, gain);

        if (e != NONE) {
            split(s, k, e);
            return h == lighter ? e : k;
        }
    }
    if ((trials_of(s)[k] & 0xffffu) >= (TRIAL << (trial < DOUBLINGS ? trial : DOUBLINGS))) {
        clear_halves(s, k);
        trials_of(s)[k] = (trial + 1) << 16;
    }
    return k;
}

/* ---- learning ------------------------------------------------------------------------------------------------------ */

static real not_a_number(void)
{
    const uint32_t single = 0x7fc00000u;
    const uint64_t whole = UINT64_C(0x7ff8000000000000);
    real value;

    if (sizeof value == 4)
        memcpy(&value, &single, 4);
    else
        memcpy(&value, &whole, sizeof value);
    return value;
}

/* MAPDPM_OK where x is a point that can be learned or scored. */
static int check_point(const mapdpm_stream *s, const real *x)
{
    const real *const anchor = anchor_of(s), *const unit = unit_of(s);
    const real most = s->warming ? WARMUP_LIMIT : LIMIT;
    size_t d, n_there = 0;

    for (d = 0; d < s->n_features; d++) {
        const real place = s->warming ? x[d] : (x[d] - anchor[d]) * unit[d];

        if (HAS_MISSING(s) && !is_there(x[d]))
            continue;
        if (!(place >= -most && place <= most))
            return x[d] - x[d] == 0 ? MAPDPM_E_RANGE : MAPDPM_E_NUMBER; /* infinity less itself is NaN */
        n_there++;
    }
    return n_there > 0 ? MAPDPM_OK : MAPDPM_E_NUMBER;
}

static int learn_warming(mapdpm_stream *s, const real *x, uint32_t *id)
{
    const size_t i = (size_t)s->n_seen, D = s->n_features;

    memcpy(points_of(s) + i * D, x, D * sizeof(real));
    times_of(s)[i] = s->now;
    *id = (uint32_t)i;
    s->n_seen++;
    return s->n_seen == s->warmup ? stream_hand_over(s) : MAPDPM_OK;
}

/* The point joins slot k, new or not; then what follows from that. Returns the slot where it is in the end. */
static uint32_t join(mapdpm_stream *s, uint32_t k, uint32_t second, const real *x)
{
    size_t h;

    stream_settle(s, k);
    moments_add(s, slot_of(s, k), half_size(s), x, 1);
    seen_of(s)[k] = (uint32_t)s->n_seen;
    h = half_for(s, k, x);
    moments_add(s, half_of(s, k, h), 0, x, 1);
    stream_refresh(s, k);
    k = try_split(s, k, h);
    try_merge(s, k, second);
    s->turn = s->turn + 1 < s->max_clusters ? s->turn + 1 : 0;
    try_merge(s, k, s->turn);
    return k;
}

static int learn(mapdpm_stream *s, const real *x, int64_t now, uint32_t *id, real *score)
{
    const int64_t before = s->now;
    choice c;
    uint32_t k;
    int error = check_point(s, x);

    if (error != MAPDPM_OK)
        return error;
    s->now = now;
    if (s->warming) {
        if (score)
            *score = not_a_number();
        return learn_warming(s, x, id);
    }
    c = stream_choose(s, x, score != NULL);
    k = c.best;
    if (c.opens && s->n_clusters == s->max_clusters && !c.has_aged && s->when_full == MAPDPM_FULL_ERROR)
        error = MAPDPM_E_FULL;
    if (c.opens && s->next_id == NONE)
        error = MAPDPM_E_IDS;
    if (error != MAPDPM_OK) {
        s->now = before;
        return error;
    }
    s->n_seen++;
    if (c.has_aged)
        age_out(s);
    if (c.opens) {
        uint32_t e = s->n_clusters < s->max_clusters ? stream_free_slot(s) : make_room(s, NONE, ALWAYS);

        if (e != NONE) {
            stream_open(s, e);
            ids_of(s)[e] = s->next_id++;
            stream_record(s, MAPDPM_CREATED, ids_of(s)[e], 0);
            c.second = k;
            k = e;
        }
    }
    k = join(s, k, c.second, x);
    if (score)
        *score = c.density;
    *id = ids_of(s)[k];
    if (s->window > 0)
        stream_revisit(s, x, *id);
    return MAPDPM_OK;
}

/* ---- what programs call -------------------------------------------------------------------------------------------- */

int mapdpm_learn(mapdpm_stream *s, const real *x, uint32_t *id, real *score)
{
    uint32_t unasked;
    int error;

    if (s == NULL || x == NULL)
        return MAPDPM_E_ARGUMENT;
    if (s->clock == CLOCK_MICROSECONDS)
        return MAPDPM_E_TIME;
    error = learn(s, x, s->now + 1, id ? id : &unasked, score);
    if (error == MAPDPM_OK)
        s->clock = CLOCK_POINTS;
    return error;
}

int mapdpm_learn_at(mapdpm_stream *s, const real *x, int64_t microseconds, uint32_t *id, real *score)
{
    uint32_t unasked;
    const int starts = s != NULL && s->clock == CLOCK_UNKNOWN;
    real rate;
    uint32_t k;
    int error;

    if (s == NULL || x == NULL)
        return MAPDPM_E_ARGUMENT;
    /* Within 2^62 microseconds of 0, so that differences are sound: 146,000 years. */
    if (s->clock == CLOCK_POINTS || (!starts && microseconds < s->now) || microseconds > INT64_MAX / 2 ||
        microseconds < -(INT64_MAX / 2))
        return MAPDPM_E_TIME;
    rate = s->rate;
    if (starts) { /* what was inserted before there was a time is as of now */
        s->rate = rate / 1000000;
        for (k = 0; k < s->width; k++)
            lasts(s)[k] = microseconds;
    }
    error = learn(s, x, microseconds, id ? id : &unasked, score);
    if (error == MAPDPM_OK)
        s->clock = CLOCK_MICROSECONDS;
    else
        s->rate = rate;
    for (k = 0; starts && error != MAPDPM_OK && k < s->width; k++)
        lasts(s)[k] = s->now;
    return error;
}

int mapdpm_learn_many(mapdpm_stream *s, const real *x, size_t n, uint32_t *ids, real *scores, size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (s == NULL || x == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        error = mapdpm_learn(s, x + i * s->n_features, ids ? ids + i : NULL, scores ? scores + i : NULL);
        if (error != MAPDPM_OK)
            break;
    }
    *done = i;
    return error;
}

int mapdpm_predict(const mapdpm_stream *s, const real *x, uint32_t *id, real *score)
{
    choice c;
    int error;

    if (s == NULL || x == NULL)
        return MAPDPM_E_ARGUMENT;
    error = check_point(s, x);
    if (error != MAPDPM_OK)
        return error;
    if (s->warming) {
        if (score)
            *score = not_a_number();
        return id ? MAPDPM_E_WARMING : MAPDPM_OK;
    }
    c = stream_choose(s, x, score != NULL);
    if (score)
        *score = c.density;
    if (id == NULL)
        return MAPDPM_OK;
    if (c.best == NONE)
        return MAPDPM_E_WARMING;
    *id = ids_of(s)[c.best];
    return MAPDPM_OK;
}

int mapdpm_predict_many(const mapdpm_stream *s, const real *x, size_t n, uint32_t *ids, real *scores, size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (s == NULL || x == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        error = mapdpm_predict(s, x + i * s->n_features, ids ? ids + i : NULL, scores ? scores + i : NULL);
        if (error != MAPDPM_OK)
            break;
    }
    *done = i;
    return error;
}
