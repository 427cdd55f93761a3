/* SILENCE: how improbable the gap of time before the point is, and its length in seconds (docs/maths.md (139)).
 *
 * The counters are the points; the time of the last one in microseconds, in two words; all seconds, and those of
 * strange gaps; and the list of the gaps, in milliseconds.
 */
#include "features/mapdpm_longest.h"

enum { GAP_POINTS, GAP_LOW, GAP_HIGH, GAP_SECONDS, GAP_STRANGE, GAP_LIST, GAP_WORDS = GAP_LIST + LIST_WORDS };

static int64_t time_before(const uint32_t *words)
{
    const uint64_t bits = ((uint64_t)words[GAP_HIGH] << 32) | words[GAP_LOW];

    return bits <= INT64_MAX ? (int64_t)bits : -(int64_t)(UINT64_MAX - bits) - 1;
}

/* Microseconds in units of so many, rounded down, 1 to 2^31. */
static uint32_t in_units_of(int64_t microseconds, int64_t unit, uint32_t least)
{
    const int64_t units = microseconds / unit;

    return units < least ? least : (units > MOST_LENGTHS ? MOST_LENGTHS : (uint32_t)units);
}

/* A time before the last one is that of the last one. */
static void silence_run(const step_run *r)
{
    uint32_t *const words = r->words;
    const int64_t now = *r->microseconds, last = time_before(words);
    const int64_t gap = words[GAP_POINTS] > 0 && now > last ? now - last : 0;
    const uint32_t length = in_units_of(gap, 1000, 1), seconds = in_units_of(gap, 1000000, 0);

    r->result[0] = words[GAP_POINTS] > 0 && words[GAP_POINTS] >= r->p->step.n ? tail_of_length(words + GAP_LIST, length) : 1;
    r->result[1] = (md_real)(gap / 1000000) + (md_real)(gap % 1000000) / 1000000;
    if (words[GAP_POINTS] > 0) {
        const uint32_t all = words[GAP_SECONDS], strange = words[GAP_STRANGE] + seconds;

        words[GAP_SECONDS] = all < MOST_LENGTHS - seconds ? all + seconds : MOST_LENGTHS;
        if (is_left_out(words + GAP_LIST, length, strange, words[GAP_SECONDS]))
            words[GAP_STRANGE] = strange;
        else
            put_length(words + GAP_LIST, length);
    }
    if (words[GAP_POINTS] == 0 || now > last) {
        words[GAP_LOW] = (uint32_t)((uint64_t)now & UINT32_MAX);
        words[GAP_HIGH] = (uint32_t)((uint64_t)now >> 32);
    }
    words[GAP_POINTS] += words[GAP_POINTS] < MOST_LENGTHS ? 1 : 0;
}

static int is_silence(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const int64_t last = time_before(words);

    (void)p;
    (void)state;
    return words[GAP_POINTS] <= MOST_LENGTHS && words[GAP_SECONDS] <= MOST_LENGTHS &&
           words[GAP_STRANGE] <= words[GAP_SECONDS] && last >= -(INT64_MAX / 4) && last <= INT64_MAX / 4 &&
           is_list(words + GAP_LIST);
}

MAPDPM_INTERNAL const step_kind features_silence = {
    .is = USES_N | NEEDS_TIMES | IS_PAIR, .words = {GAP_WORDS, 0}, .run = silence_run, .is_state = is_silence};
