/* The longest of the lengths so far, and the tail probability of another one (docs/maths.md (139)). Internal; static
 * inlines.
 *
 * A list is LIST_WORDS counters: the number of lengths, then the LONGEST longest ones, in falling order, 0 where there
 * are fewer.
 */
#ifndef MAPDPM_LONGEST_H
#define MAPDPM_LONGEST_H

#include "features/mapdpm_transformers.h"

enum { LONGEST = 16, LIST_WORDS = 1 + LONGEST, SHARE_OF_STRANGE = 50 };
#define MOST_LENGTHS UINT32_C(2147483648)
#define STRANGE FLOAT_OR_DOUBLE(1e-4, 1e-4)

static inline uint32_t kept_in(const uint32_t *list)
{
    const uint32_t n = list[0];

    return n < LONGEST ? n : LONGEST;
}

/* How often a length has doubled since another one, which is not 0. */
static inline uint32_t doublings(uint32_t length, uint32_t since)
{
    uint32_t ratio = length / since, k = 0;

    for (; ratio > 1; ratio /= 2)
        k++;
    return k;
}

/* The probability that the next length is at least so long. Among the longest it is a rank; beyond them each doubling
 * has the share of those that doubled, of the longest ones, under a uniform prior. 1 where nothing is known. */
static inline md_real tail_of_length(const uint32_t *list, uint32_t length)
{
    const uint32_t m = kept_in(list), *const longest = list + 1;
    const md_real all = (md_real)list[0] + 1;
    uint32_t longer = 0, doubled = 0, i, k;
    md_real p;

    if (m == 0 || length <= longest[m - 1])
        return 1;
    while (longer < m && longest[longer] >= length)
        longer++;
    if (longer > 0)
        return ((md_real)longer + 1) / all;
    for (i = 0; i < m; i++)
        doubled += doublings(longest[i], longest[m - 1]);
    k = doublings(length, longest[m - 1]);
    p = ((md_real)m + 1) / all;
    for (i = 0; i < k; i++)
        p *= (md_real)(doubled + 1 + i) / (md_real)(doubled + m + 2 + i);
    return p * all < 1 ? p : 1 / all;
}

static inline void put_length(uint32_t *list, uint32_t length)
{
    const uint32_t m = kept_in(list);
    uint32_t *const longest = list + 1;
    uint32_t i = m < LONGEST ? m : LONGEST - 1;

    if (m < LONGEST || length > longest[i]) {
        for (; i > 0 && longest[i - 1] < length; i--)
            longest[i] = longest[i - 1];
        longest[i] = length;
    }
    if (list[0] < MOST_LENGTHS)
        list[0]++;
}

/* Whether a length that has ended is left out: it is strange, and all strange ones together are at most a fiftieth. */
static inline int is_left_out(const uint32_t *list, uint32_t length, uint32_t strange, uint32_t all)
{
    return strange <= all / SHARE_OF_STRANGE && tail_of_length(list, length) <= STRANGE;
}

static inline int is_list(const uint32_t *list)
{
    const uint32_t m = kept_in(list);
    uint32_t i;

    for (i = 0; i < LONGEST; i++)
        if (i < m ? list[1 + i] < 1 || (i > 0 && list[1 + i] > list[i]) : list[1 + i] != 0)
            return 0;
    return list[0] <= MOST_LENGTHS;
}

#endif
