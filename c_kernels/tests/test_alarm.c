/* Alarms: what alerts, when an episode ends, in points and in time, and what is refused. */
#include "check.h"
#include "mapdpm.h"

#include <math.h>

typedef mapdpm_real md_real;

static const md_real LOW = (md_real)1e-6, LEVEL = (md_real)1e-5, HIGH = (md_real)0.5;

/* One letter a point: l, h or n for NaN, and a capital L where there is an alert. */
static void points(int64_t hold, uint32_t debounce, const char *text)
{
    mapdpm_alarm alarm;

    CHECK_OK(mapdpm_alarm_init(&alarm, LEVEL, hold, debounce));
    for (; *text; text++) {
        const md_real surprise = *text == 'h' ? HIGH : *text == 'n' ? (md_real)NAN : *text == 'e' ? LEVEL : LOW;

        CHECK(mapdpm_alarm_update(&alarm, surprise) == (*text == 'L'));
    }
}

/* Equal surprises are e times themselves in the end; one alone counts for its weight; NaN and n = 1 change nothing. */
static void combined(void)
{
    md_real mean = 0, last = 1;
    int i;

    CHECK(mapdpm_combine_surprise(&mean, LOW, 1) == LOW && mean == 0);
    CHECK(mapdpm_combine_surprise(NULL, LOW, 9) == LOW);
    CHECK(isnan(mapdpm_combine_surprise(&mean, (md_real)NAN, 9)) && mean == 0);
    CHECK_NEAR(log((double)mapdpm_combine_surprise(&mean, LOW, 9)), 1 + 0.2 * log((double)LOW), 1e-5);
    for (i = 0; i < 400; i++)
        last = mapdpm_combine_surprise(&mean, LOW, 9);
    CHECK_NEAR(log((double)last), 1 + log((double)LOW), 1e-5);
    CHECK(mapdpm_combine_surprise(&mean, 0, 9) > 0);
    for (i = 0; i < 400; i++)
        last = mapdpm_combine_surprise(&mean, HIGH, 9);
    CHECK(last == 1);
}

int main(void)
{
    mapdpm_alarm alarm;

    combined();

    points(3, 1, "hhLlhhlhhhLhhlhhhhL"); /* after three high points a low one is another episode */
    points(2, 1, "hLhlhlhhLllhhhL");
    points(0, 1, "LLhLLL");
    points(2, 3, "llhllLhlhhllhllL");
    points(2, 2, "lnLhnhlL");
    points(2, 1, "LhnlhhL");
    CHECK_OK(mapdpm_alarm_init(&alarm, LEVEL, 10, 1));
    CHECK(mapdpm_alarm_update_at(&alarm, HIGH, 5) == 0 && mapdpm_alarm_update_at(&alarm, LEVEL, 1000) == 1);
    CHECK(mapdpm_alarm_update_at(&alarm, LOW, 1010) == 0); /* just within the hold */
    CHECK(mapdpm_alarm_update_at(&alarm, LOW, 900) == 0 && alarm.now == 1010);
    CHECK(mapdpm_alarm_update_at(&alarm, HIGH, 1019) == 0 && alarm.active == 1);
    CHECK(mapdpm_alarm_update_at(&alarm, (md_real)NAN, 5000) == 0 && alarm.active == 1 && alarm.now == 1019);
    CHECK(mapdpm_alarm_update_at(&alarm, HIGH, 1020) == 0 && alarm.active == 0);
    CHECK(mapdpm_alarm_update_at(&alarm, LOW, 1021) == 1 && mapdpm_alarm_update_at(&alarm, LOW, 1032) == 1);
    CHECK(mapdpm_alarm_update_at(&alarm, LOW, INT64_MAX) == 0 && mapdpm_alarm_update_at(NULL, LOW, 0) == 0);
    CHECK(mapdpm_alarm_init(NULL, LEVEL, 1, 1) == MAPDPM_E_ARGUMENT && mapdpm_alarm_update(NULL, LOW) == 0);
    CHECK_REFUSED(mapdpm_alarm_init(&alarm, 0, 1, 1));
    CHECK_REFUSED(mapdpm_alarm_init(&alarm, 1, 1, 1));
    CHECK_REFUSED(mapdpm_alarm_init(&alarm, (md_real)NAN, 1, 1));
    CHECK_REFUSED(mapdpm_alarm_init(&alarm, LEVEL, -1, 1));
    CHECK_REFUSED(mapdpm_alarm_init(&alarm, LEVEL, 1, 0));
    return REPORT();
}
