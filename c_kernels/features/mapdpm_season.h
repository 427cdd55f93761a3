/* The bins of SEASONAL and SPREAD: hours and days of local time, whose visits fade. Internal; static inlines. */
#ifndef MAPDPM_SEASON_H
#define MAPDPM_SEASON_H

#include "features/mapdpm_transformers.h"

#define MOST_VISITS ((md_real)1152921504606846976.0) /* 2^60 */

/* The factor by which a visit multiplies the weight of a bin. */
static inline void tabulate_season(const mapdpm_step *t, md_real *table)
{
    *table = t->half_life > 0 ? math_exp((md_real)-0.69314718055994530942 / t->half_life) : 1;
}

/* The quotient of the floor; by > 0. */
static inline int64_t floor_of(int64_t a, int64_t by)
{
    return a / by - (a % by < 0 ? 1 : 0);
}

static inline uint32_t bin_at(const mapdpm_step *t, int64_t microseconds)
{
    const int64_t hours = floor_of(microseconds + (int64_t)t->offset * 60000000, INT64_C(3600000000));
    const int64_t days = floor_of(hours, HOURS), week = floor_of(days + 3, DAYS); /* 1970 began on a Thursday */

    if (t->n == HOURS)
        return (uint32_t)(hours - days * HOURS);
    if (t->n == DAYS)
        return (uint32_t)(days + 3 - week * DAYS);
    return (uint32_t)(hours + 3 * HOURS - week * HOURS_OF_WEEK);
}

#endif
