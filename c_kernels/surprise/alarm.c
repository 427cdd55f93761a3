/* Alarms: an alert where surprises stay at or below a level, one for each episode (docs/alarms.md). */
#include "arithmetic/mapdpm_math.h"

int mapdpm_alarm_init(mapdpm_alarm *alarm, mapdpm_real level, int64_t hold, uint32_t debounce)
{
    if (alarm == NULL || !(level > 0 && level < 1) || hold < 0 || hold > INT64_MAX / 2 || debounce < 1)
        return MAPDPM_E_ARGUMENT;
    alarm->now = 0;
    alarm->last = 0;
    alarm->hold = hold;
    alarm->level = level;
    alarm->debounce = debounce;
    alarm->run = 0;
    alarm->active = 0;
    return MAPDPM_OK;
}

static int update(mapdpm_alarm *alarm, mapdpm_real surprise, int64_t now)
{
    const int low = surprise <= alarm->level;
    const int64_t since = now - alarm->last;

    alarm->now = now;
    if (alarm->active != 0 && (low ? since > alarm->hold : since >= alarm->hold)) { /* it was quiet for long enough */
        alarm->active = 0;
        alarm->run = 0;
    }
    if (low == 0) {
        if (alarm->active == 0)
            alarm->run = 0;
        return 0;
    }
    alarm->last = now;
    if (alarm->active != 0)
        return 0;
    alarm->run++;
    if (alarm->run < alarm->debounce)
        return 0;
    alarm->active = 1;
    return 1;
}

static int is_tail(mapdpm_real surprise) { return !math_is_nan(surprise) && surprise >= 0; }

int mapdpm_alarm_update(mapdpm_alarm *alarm, mapdpm_real surprise)
{
    if (alarm == NULL || !is_tail(surprise) || alarm->now >= INT64_MAX / 2)
        return 0;
    return update(alarm, surprise, alarm->now + 1);
}

int mapdpm_alarm_update_at(mapdpm_alarm *alarm, mapdpm_real surprise, int64_t microseconds)
{
    if (alarm == NULL || !is_tail(surprise) || microseconds > INT64_MAX / 2 || microseconds < -(INT64_MAX / 2))
        return 0;
    if ((alarm->active == 0u && alarm->run == 0u) || microseconds > alarm->now) /* or there is no past that matters */
        return update(alarm, surprise, microseconds);
    return update(alarm, surprise, alarm->now);
}

mapdpm_real mapdpm_combine_surprise(mapdpm_real *mean, mapdpm_real surprise, uint32_t n)
{
    const mapdpm_real least = FLOAT_OR_DOUBLE(1.17549435e-38, 2.2250738585072014e-308);
    mapdpm_real value;

    if (mean == NULL || n <= 1 || !is_tail(surprise))
        return surprise;
    *mean += (math_log(surprise > least ? surprise : least) - *mean) * (2 / ((mapdpm_real)n + 1));
    value = math_exp(1 + *mean);
    return value < 1 ? value : 1;
}
