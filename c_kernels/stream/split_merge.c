/* Splits and merges that raise the log joint, and the policies that free a slot. */
#include "stream/mapdpm_steps.h"

/* Whether a point is far from the mean of slot k, in units of its variance: its squared distance in one feature exceeds 4 +
 * 2 log D, or that in all its mean D by three standard deviations. */
static int is_unusual(const mapdpm_stream *s, uint32_t k, const md_real *x)
{
    const uint32_t *const marks = marks_of(s);
    const md_real *const slot = slot_of(s, k), *const mean = mean_in(s, slot), *const squares = squares_in(s, slot);
    const md_real n = IS_GAMMA(s) ? 2 * s->a0 + *slot : 1;
    md_real sum = 0, there = 0, most = 0;
    size_t d;

    for (d = 0; d < MD_FEATURES(s); d++) {
        const md_real away = coordinate(s, x, d) - mean[d];
        const md_real all = IS_GAMMA(s) ? 2 * noise_scale_of(s)[d] + squares[d] : noise_scale_of(s)[d];
        const md_real distance = away * (away / all) * n;

        if (is_marked(marks, d) || (HAS_MISSING(s) && !is_present(x[d])))
            continue;
        there += 1;
        sum += distance;
        most = most > distance ? most : distance;
    }
    return most > 4 + 2 * math_log(there) || (sum > there && (sum - there) * (sum - there) > 18 * there);
}

/* Look whether points of slot k have moved away: then its halves begin anew, the first with all points so far, so that the
 * second gets the new ones and can leave the slot with them alone (decision 161). A look that finds an unusual point
 * counts two, another one takes one back. */
void stream_watch(mapdpm_stream *s, uint32_t k, const md_real *x)
{
    uint32_t *const trials = trials_of(s) + k, level = *trials / TRIAL_LEVEL % (TRIAL_MOVED / TRIAL_LEVEL);

    if ((*trials & TRIAL_MOVED) || !(*slot_of(s, k) >= LEAST_WATCHED))
        return;
    *trials -= level * TRIAL_LEVEL;
    if (is_unusual(s, k, x))
        level += 2;
    else if (level > 0)
        level--;
    if (level < MOST_UNUSUAL) {
        *trials += level * TRIAL_LEVEL;
        return;
    }
    stream_clear_halves(s, k);
    memcpy(half_of(s, k, 0), slot_of(s, k), half_size(s) * sizeof(md_real));
    if (HAS_GROUPS(s))
        groups_fill_half(s, k);
    *trials = trial_of(s, k) << 16 | TRIAL_MOVED;
}

/* The half of slot k for a point: the one with the nearer mean (decision 46), in units of the variance within halves.
 * While the halves are small, the side of the cluster's mean in one feature decides: the widest feature, or each
 * feature in order. */
size_t stream_choose_half(const mapdpm_stream *s, uint32_t k, const md_real *x)
{
    const uint32_t *const marks = marks_of(s);
    const size_t D = MD_FEATURES(s);
    const md_real *const slot = slot_of(s, k), *const h0 = half_of(s, k, 0), *const h1 = half_of(s, k, 1);
    const md_real *const mean = mean_in(s, slot), *const squares = squares_in(s, slot);
    const uint32_t trial = trial_of(s, k);
    size_t d, widest = relevant_feature(s, trial >> 1);
    md_real most = -1;

    if (*h0 >= LEAST_HALF && *h1 >= LEAST_HALF)
        return (size_t)is_nearer_to_second(s, slot, h0, h1, x);
    if (trials_of(s)[k] & TRIAL_MOVED)
        return (size_t)is_unusual(s, k, x);
    for (d = 0; d < D && trial % 2 == 0; d++) { /* every second trial takes the next feature instead */
        const md_real width = squares[d] / noise_scale_of(s)[d];

        if (!is_marked(marks, d) && (!HAS_MISSING(s) || is_present(x[d])) && width > most) {
            most = width;
            widest = d;
        }
    }
    return coordinate(s, x, widest) > mean[widest];
}

/* The halves of slot k become two clusters, the lighter one in the free slot e. Together they keep the weight of k. */
NOT_INLINED
static void split(mapdpm_stream *s, uint32_t k, uint32_t e)
{
    const size_t size = half_size(s), lighter = *half_of(s, k, 1) > *half_of(s, k, 0) ? 0 : 1;
    md_real *const light = half_of(s, k, lighter), *const heavy = half_of(s, k, 1 - lighter);
    md_real *const slot = slot_of(s, k);
    const md_real low = low_part(slot, size), share = *light / (*light + *heavy);
    const md_real rest = *slot, part = whole_points(s, rest * share);

    moments_scale(s, light, 0, part / *light);
    moments_scale(s, heavy, 0, (rest - part) / *heavy);
    *light = part;

    stream_open_slot(s, e);
    ids_of(s)[e] = s->next_id++;
    if (IS_GROUPED(s))
        groups_split(s, k, e, lighter, share);
    memcpy(slot_of(s, e), light, size * sizeof(md_real));
    memcpy(slot, heavy, size * sizeof(md_real));
    if (COMPENSATED)
        memset(slot + size, 0, size * sizeof(md_real));
    *slot = rest;
    if (COMPENSATED)
        slot[size] = low;
    add_compensated(slot, size, -part);
    if (HAS_BASE(s))
        base_split(s, k, e, share);
    if (IS_TIMED(s))
        states_split(s, k, e, lighter, share);
    last_seen_of(s)[e] = last_seen_of(s)[k];
    stream_clear_halves(s, k);
    trials_of(s)[k] = 0;
    merge_partner_of(s)[k] = MD_NONE;
    stream_relabel_window(s, ids_of(s)[k], MD_NONE);
    stream_record(s, MAPDPM_SPLIT, ids_of(s)[k], ids_of(s)[e]);
    stream_refresh(s, k);
    stream_refresh(s, e);
    if (HAS_SURPRISE(s))
        surprise_split(s, k, e, share);
    if (IS_GROUPED(s)) {
        groups_recount(s, k);
        groups_recount(s, e);
        groups_total(s);
    }
}

/* The gain of splitting slot k if its halves stood for the whole cluster, or for as much of it as they may stand for.
 * If an upper bound is too little already, the bound. */
NOT_INLINED
static md_real split_gain(const mapdpm_stream *s, uint32_t k)
{
    view v0 = half_view(s, k, 0), v1 = half_view(s, k, 1);
    const md_real n = *v0.moments + *v1.moments, all = *slot_of(s, k), most = EXTRAPOLATION * n;
    const md_real scale = (all < most ? all : most) / n;

    if (scale > 1 && n >= LARGE_HALF)
        v0.decay = v1.decay = scale;
    if (IS_TIMED(s))
        return states_split_gain(s, k, v0.decay) - merge_data_gain(s, v0, v1);
    if (IS_GROUPED(s)) { /* the exact gain takes several logarithms a group */
        const md_real gain = -merge_data_gain(s, v0, v1) - least_groups_gain(s, v0, v1);

        if (gain <= HYSTERESIS)
            return gain;
    }
    return -merge_gain(s, v0, v1);
}

/* ---- merging, and freeing a slot --------------------------------------------------------------------------------- */

static md_real pair_gain(const mapdpm_stream *s, uint32_t a, uint32_t b)
{
    const view va = view_of(s, a, s->now), vb = view_of(s, b, s->now);

    return IS_TIMED(s) ? merge_data_gain(s, va, vb) + states_merge_gain(s, a, b) : merge_gain(s, va, vb);
}

/* Whether the merge of slots a and b raises the log joint. Remembers the cheapest partner that a has met. */
static int should_merge(mapdpm_stream *s, uint32_t a, uint32_t b)
{
    md_real gain;

    if (merge_surely_loses(s, view_of(s, a, s->now), view_of(s, b, s->now)))
        return 0;
    gain = pair_gain(s, a, b);
    if (merge_partner_of(s)[a] == MD_NONE || merge_partner_of(s)[a] == b || -gain < *merge_loss_of(s, a)) {
        merge_partner_of(s)[a] = b;
        *merge_loss_of(s, a) = -gain;
    }
    return gain > HYSTERESIS;
}

/* Merge slot b into slot k if that raises the log joint. */
void stream_try_merge(mapdpm_stream *s, uint32_t k, uint32_t b)
{
    if (b != MD_NONE && b != k && is_used(s, b) && should_merge(s, k, b)) {
        stream_apply_decay(s, b);
        stream_merge(s, k, b);
    }
}

/* The lightest slot and its cheapest merge partner, which is cached. Returns whether there are two slots. For clusters
 * that have met no other. */
static int lightest_pair(mapdpm_stream *s, uint32_t spared, uint32_t *to, uint32_t *from)
{
    uint32_t k, lightest = MD_NONE;
    int found = 0;

    for (k = 0; k < s->width; k++)
        if (k != spared && is_used(s, k) && (lightest == MD_NONE || *slot_of(s, k) < *slot_of(s, lightest)))
            lightest = k;
    for (k = 0; k < s->width && lightest != MD_NONE; k++)
        if (k != spared && k != lightest && is_used(s, k)) {
            const md_real gain = pair_gain(s, lightest, k);

            if (!found || -gain < *merge_loss_of(s, lightest)) {
                merge_partner_of(s)[lightest] = k;
                *merge_loss_of(s, lightest) = -gain;
                *to = lightest;
                *from = k;
                found = 1;
            }
        }
    return found;
}

/* The slot whose cached merge costs least, its partner, and the recomputed loss. Slot `spared` is left out. Returns
 * whether there is a pair. */
static int cheapest_pair(mapdpm_stream *s, uint32_t spared, uint32_t *to, uint32_t *from, md_real *loss)
{
    uint32_t k;
    int found = 0;

    for (k = 0; k < MD_SLOTS(s); k++) {
        const uint32_t b = merge_partner_of(s)[k];

        if (k != spared && b != spared && is_used(s, k) && b != MD_NONE && b != k && is_used(s, b) &&
            (!found || *merge_loss_of(s, k) < *merge_loss_of(s, *to))) {
            *to = k;
            *from = b;
            found = 1;
        }
    }
    if (!found && WHEN_FULL(s) == MAPDPM_FULL_MERGE)
        found = lightest_pair(s, spared, to, from);
    if (found) {
        *loss = -pair_gain(s, *to, *from);
        *merge_loss_of(s, *to) = *loss;
    }
    return found;
}

/* The slot whose eviction costs least, and its loss. Ties within TIE_NATS, as between single points, go to the cluster
 * unseen for longest. A split may evict (decision 48), but no state that points wait for. */
NOT_INLINED
static uint32_t cheapest_eviction(const mapdpm_stream *s, uint32_t spared, md_real *loss)
{
    const md_real total_weight = stream_total_weight(s) + s->alpha, prior_term = log_prior(s);
    uint32_t k, best = MD_NONE, longest = 0;

    for (k = 0; k < s->width; k++)
        if (k != spared && is_used(s, k) && !(IS_TIMED(s) && spared != MD_NONE && states_expect(s, k))) {
            const uint32_t idle = (uint32_t)s->n_seen - last_seen_of(s)[k];
            const md_real cost = eviction_loss(s, view_of(s, k, s->now), prior_term, (md_real)idle, total_weight);

            if (best == MD_NONE || cost < *loss - TIE_NATS || (cost <= *loss + TIE_NATS && idle > longest)) {
                best = k;
                *loss = cost;
                longest = idle;
            }
        }
    return best;
}

/* Free a slot by the policy if that costs less than `gain`. Returns MD_NONE if it costs more or the policy refuses. */
uint32_t stream_make_room(mapdpm_stream *s, uint32_t spared, md_real gain)
{
    md_real merging = 0, evicting = 0;
    uint32_t to = 0, from = 0, victim = MD_NONE;
    int is_pair = 0;

    if (WHEN_FULL(s) == MAPDPM_FULL_REFUSE || WHEN_FULL(s) == MAPDPM_FULL_ERROR)
        return MD_NONE;
    if (WHEN_FULL(s) != MAPDPM_FULL_EVICT)
        is_pair = cheapest_pair(s, spared, &to, &from, &merging);
    if (WHEN_FULL(s) != MAPDPM_FULL_MERGE)
        victim = cheapest_eviction(s, spared, &evicting);
    if (is_pair && (victim == MD_NONE || merging <= evicting)) {
        if (!(merging < gain))
            return MD_NONE;
        stream_apply_decay(s, to);
        stream_apply_decay(s, from);
        stream_merge(s, to, from);
        return from;
    }
    if (victim == MD_NONE || !(evicting < gain))
        return MD_NONE;
    stream_remove(s, victim, MAPDPM_EVICTED);
    if (IS_GROUPED(s))
        groups_total(s);
    return victim;
}

/* The gain of a split of slot k beyond what it must gain; below 0 if it has no two halves. */
md_real stream_gain_of_split(const mapdpm_stream *s, uint32_t k)
{
    const md_real n0 = *half_of(s, k, 0), n1 = *half_of(s, k, 1);

    if (!MD_SPLITS || !(n0 >= LEAST_HALF && n1 >= LEAST_HALF))
        return -1;
    if (!(*slot_of(s, k) * ((n0 < n1 ? n0 : n1) / (n0 + n1)) >= 1)) /* a window has removed too much */
        return -1;
    return split_gain(s, k) - HYSTERESIS - math_log(*slot_of(s, k));
}

/* Split slot k if that raises the log joint by more than the cost of freeing a slot for it. Returns the slot of half
 * h. */
uint32_t stream_try_split(mapdpm_stream *s, uint32_t k, size_t h)
{
    const md_real n0 = *half_of(s, k, 0), n1 = *half_of(s, k, 1);
    const uint32_t trial = trial_of(s, k);
    md_real gain;

    if (!MD_SPLITS) { /* halves from a snapshot of another library would be out of date when one goes back */
        stream_clear_halves(s, k);
        trials_of(s)[k] = trial << 16;
        return k;
    }
    if (!(n0 >= LEAST_HALF && n1 >= LEAST_HALF) || s->next_id == MD_NONE)
        return k;
    gain = stream_gain_of_split(s, k);
    if (gain > 0) {
        const size_t lighter = n1 > n0 ? 0 : 1;
        const uint32_t e = s->n_clusters < MD_SLOTS(s) ? stream_free_slot(s) : stream_make_room(s, k, gain);

        if (e != MD_NONE) {
            split(s, k, e);
            return h == lighter ? e : k;
        }
    }
    if ((trials_of(s)[k] & 0xffffu) >= (TRIAL_LENGTH << (trial < DOUBLINGS ? trial : DOUBLINGS))) {
        stream_clear_halves(s, k);
        trials_of(s)[k] = (trial + 1) << 16;
    }
    return k;
}
