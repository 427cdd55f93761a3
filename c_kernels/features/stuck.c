/* STUCK: how improbable the present run of equal values is, and its length (docs/maths.md (139)).
 *
 * Of each feature the state is its value [D], then values that may be common [N_COMMON][D]. The counters of a feature
 * stand together: points, those in strange runs, the length of the run, whether its value was common before, a number
 * for each value that may be common, and the lists of the runs of other values and of common ones.
 */
#include "features/mapdpm_longest.h"

enum { N_COMMON = 4, SHARE_OF_COMMON = 16 };
enum {
    STUCK_POINTS,
    STUCK_STRANGE,
    STUCK_RUN,
    STUCK_COMMON,
    STUCK_NUMBERS,
    STUCK_LISTS = STUCK_NUMBERS + N_COMMON,
    STUCK_WORDS = STUCK_LISTS + 2 * LIST_WORDS
};

/* A missing value equals a missing one: that a value stays away is a run, too. */
static int is_same_value(md_real a, md_real b) { return a >= b && a <= b ? 1 : is_missing(a) && is_missing(b); }

static uint32_t *runs_of(uint32_t *words, uint32_t is_common) { return words + STUCK_LISTS + is_common * LIST_WORDS; }

static uint32_t is_common(const uint32_t *words, const md_real *common, uint32_t D, md_real x)
{
    uint32_t i;

    for (i = 0; i < N_COMMON; i++)
        if (words[STUCK_NUMBERS + i] > 0 && is_same_value(common[(size_t)i * D], x))
            return words[STUCK_NUMBERS + i] >= words[STUCK_POINTS] / SHARE_OF_COMMON;
    return 0;
}

/* Misra and Gries: a value with more than a fifth of the points has a number. */
static void count_common(uint32_t *words, md_real *common, uint32_t D, md_real x)
{
    uint32_t *const numbers = words + STUCK_NUMBERS;
    uint32_t i, empty = N_COMMON;

    for (i = 0; i < N_COMMON; i++) {
        if (numbers[i] > 0 && is_same_value(common[(size_t)i * D], x)) {
            numbers[i]++;
            return;
        }
        if (numbers[i] == 0)
            empty = i;
    }
    if (empty < N_COMMON) {
        numbers[empty] = 1;
        common[(size_t)empty * D] = x;
        return;
    }
    for (i = 0; i < N_COMMON; i++)
        numbers[i]--;
}

/* The run is over: it counts as one of the values that are as common as its own is now. */
static void end_run(uint32_t *words, const md_real *common, uint32_t D, md_real x)
{
    const uint32_t run = words[STUCK_RUN], strange = words[STUCK_STRANGE] + run;

    if (is_left_out(runs_of(words, words[STUCK_COMMON]), run, strange, words[STUCK_POINTS]))
        words[STUCK_STRANGE] = strange;
    else
        put_length(runs_of(words, is_common(words, common, D, x)), run);
    words[STUCK_RUN] = 0;
}

static void halve_stuck(uint32_t *words)
{
    uint32_t i;

    words[STUCK_POINTS] /= 2;
    words[STUCK_STRANGE] /= 2;
    words[STUCK_RUN] /= 2;
    for (i = 0; i < N_COMMON; i++)
        words[STUCK_NUMBERS + i] /= 2;
}

static void stuck_run(const step_run *r)
{
    const uint32_t D = r->p->from, n = r->p->step.n;
    uint32_t d;

    for (d = 0; d < D; d++) {
        uint32_t *const words = r->words + (size_t)d * STUCK_WORDS;
        md_real *const value = r->state + d, *const common = value + D;
        const md_real x = r->x[d];

        if (words[STUCK_RUN] > 0 && !is_same_value(x, *value))
            end_run(words, common, D, *value);
        if (words[STUCK_RUN] == 0) {
            *value = x;
            words[STUCK_COMMON] = is_common(words, common, D, x);
        }
        if (words[STUCK_POINTS] == MOST_LENGTHS)
            halve_stuck(words);
        words[STUCK_POINTS]++;
        words[STUCK_RUN]++;
        count_common(words, common, D, x);
        r->result[d] = words[STUCK_POINTS] > n ? tail_of_length(runs_of(words, words[STUCK_COMMON]), words[STUCK_RUN]) : 1;
        r->result[D + d] = (md_real)words[STUCK_RUN];
    }
}

static int is_stuck(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const uint32_t D = p->from;
    uint32_t d, i;

    for (d = 0; d < D; d++, words += STUCK_WORDS) {
        if (words[STUCK_POINTS] > MOST_LENGTHS || words[STUCK_STRANGE] > words[STUCK_POINTS] || words[STUCK_RUN] > words[STUCK_POINTS] ||
            words[STUCK_COMMON] > 1 || !is_list(words + STUCK_LISTS) || !is_list(words + STUCK_LISTS + LIST_WORDS))
            return 0;
        for (i = 0; i < N_COMMON; i++)
            if (words[STUCK_NUMBERS + i] > words[STUCK_POINTS])
                return 0;
    }
    return are_values(state, (1 + (size_t)N_COMMON) * D);
}

MAPDPM_INTERNAL const step_kind features_stuck = {.is = USES_N | HAS_LENGTHS,
                                                  .state = {1 + N_COMMON, 0, 0, 0},
                                                  .words = {0, STUCK_WORDS},
                                                  .run = stuck_run,
                                                  .is_state = is_stuck};
