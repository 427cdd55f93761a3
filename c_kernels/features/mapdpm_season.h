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

/* What is left of a after the floor; by > 0. */
static inline int64_t rest_of(int64_t a, int64_t by)
{
    const int64_t rest = a % by;

    return rest < 0 ? rest + by : rest;
}

static inline uint32_t bin_at(const mapdpm_step *t, int64_t microseconds)
{
    const int64_t hours = floor_of(microseconds + (int64_t)t->offset * 60000000, INT64_C(3600000000));

    if (t->n == HOURS)
        return (uint32_t)rest_of(hours, HOURS);
    if (t->n == DAYS)
        return (uint32_t)rest_of(floor_of(hours, HOURS) + 3, DAYS); /* 1970 began on a Thursday */
    return (uint32_t)rest_of(hours + 3 * HOURS, HOURS_OF_WEEK);
}

#endif
