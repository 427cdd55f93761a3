/* A free slot in whole numbers: the cheapest merge, or the cheapest eviction. The learner of reals does the same in
 * stream/split_merge.c.
 */
#include "integers/mapdpm_int_layout.h"

#define TIE_Q16 66 /* losses within a thousandth of a nat are ties */

/* The lightest slot and its cheapest merge partner. Returns whether there are two slots. For clusters that have met no
 * other. */
static int lightest_pair(mapdpm_stream *s, uint32_t spared, uint32_t *to, uint32_t *from)
{
    uint32_t k, lightest = INT_NONE;

    for (k = 0; k < INT_SLOTS(s); k++)
        if (k != spared && int_is_used(s, k) &&
            (lightest == INT_NONE || *int_weight(s, k, WHOLE) < *int_weight(s, lightest, WHOLE)))
            lightest = k;
    if (lightest == INT_NONE)
        return 0;
    *to = lightest;
    *from = INT_NONE;
    for (k = 0; k < INT_SLOTS(s); k++)
        if (k != spared && k != lightest && int_is_used(s, k)) {
            const int64_t loss = -int_pair_gain(s, lightest, k);

            if (*from == INT_NONE || loss < *int_loss(s, lightest)) {
                *from = k;
                *int_partner(s, lightest) = (uint8_t)k;
                *int_loss(s, lightest) = loss;
            }
        }
    return *from != INT_NONE;
}

/* The slot whose cached merge costs least, its partner, and the recomputed loss. Returns whether there is a pair. */
static int cheapest_pair(mapdpm_stream *s, uint32_t spared, uint32_t *to, uint32_t *from, int64_t *loss)
{
    uint32_t k;
    int found = 0;

    for (k = 0; k < INT_SLOTS(s); k++) {
        const uint32_t b = *int_partner(s, k);

        if (k != spared && b != spared && int_is_used(s, k) && b != INT_NONE && b != k && int_is_used(s, b) &&
            (!found || *int_loss(s, k) < *int_loss(s, *to))) {
            *to = k;
            *from = b;
            found = 1;
        }
    }
    if (!found && INT_WHEN_FULL(s) == MAPDPM_FULL_MERGE)
        found = lightest_pair(s, spared, to, from);
    if (found)
        *loss = *int_loss(s, *to) = -int_pair_gain(s, *to, *from);
    return found;
}

/* The slot whose eviction costs least, and its loss. Ties go to the cluster unseen for longest. */
static uint32_t cheapest_eviction(const mapdpm_stream *s, uint32_t spared, int64_t *loss)
{
    const uint32_t total = int_weight_now(s, int_total(s)) + (s->alpha >> 8);
    uint32_t k, best = INT_NONE, longest = 0;

    for (k = 0; k < INT_SLOTS(s); k++)
        if (k != spared && int_is_used(s, k)) {
            const uint32_t idle = (uint32_t)s->n_seen - int_slot_of(s, k)->seen;
            const int64_t cost = int_eviction_loss(s, k, idle, total);

            if (best == INT_NONE || cost < *loss - TIE_Q16 || (cost <= *loss + TIE_Q16 && idle > longest)) {
                best = k;
                *loss = cost;
                longest = idle;
            }
        }
    return best;
}

/* Free a slot by the policy if that costs less than `gain`. Returns INT_NONE if it costs more or the policy refuses. */
uint32_t int_make_room(mapdpm_stream *s, uint32_t spared, int64_t gain)
{
    int64_t merging = 0, evicting = 0;
    uint32_t to = 0, from = 0, victim = INT_NONE;
    int is_pair = 0;

    if (INT_WHEN_FULL(s) == MAPDPM_FULL_REFUSE || INT_WHEN_FULL(s) == MAPDPM_FULL_ERROR)
        return INT_NONE;
    if (INT_WHEN_FULL(s) != MAPDPM_FULL_EVICT)
        is_pair = cheapest_pair(s, spared, &to, &from, &merging);
    if (INT_WHEN_FULL(s) != MAPDPM_FULL_MERGE)
        victim = cheapest_eviction(s, spared, &evicting);
    if (is_pair && (victim == INT_NONE || merging <= evicting)) {
        if (merging >= gain)
            return INT_NONE;
        int_merge(s, to, from);
        return from;
    }
    if (victim == INT_NONE || evicting >= gain)
        return INT_NONE;
    int_remove(s, victim, MAPDPM_EVICTED);
    return victim;
}
