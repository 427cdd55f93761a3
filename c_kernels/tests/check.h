/* A minimal test harness. CHECK counts, and prints the place of a failure. */
#ifndef CHECK_H
#define CHECK_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Tests of many combinations take a part of these in `make test`, and with sanitizers, which take ten times as long. */
#ifndef PART
#if defined(__SANITIZE_ADDRESS__)
#define PART 1
#elif defined(__has_feature)
#define PART __has_feature(address_sanitizer)
#else
#define PART 0
#endif
#endif

static int checks_passed, checks_failed;

#define CHECK(condition)                                                                                              \
    do {                                                                                                              \
        if (condition) {                                                                                              \
            checks_passed++;                                                                                          \
        } else {                                                                                                      \
            checks_failed++;                                                                                          \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                            \
        }                                                                                                             \
    } while (0)

/* A call that succeeds, and one whose arguments are wrong. */
#define CHECK_OK(call) CHECK((call) == MAPDPM_OK)
#define CHECK_REFUSED(call) CHECK((call) == MAPDPM_E_ARGUMENT)

#define CHECK_NEAR(x, y, most) CHECK(fabs((double)(x) - (double)(y)) <= (most))

/* A check while a place holds another value; then it gets back its own. */
#define CHECK_WITH(place, value, condition)                                                                           \
    do {                                                                                                              \
        unsigned char kept_value[sizeof(place)];                                                                      \
        memcpy(kept_value, &(place), sizeof kept_value);                                                              \
        (place) = (value);                                                                                            \
        CHECK(condition);                                                                                             \
        memcpy(&(place), kept_value, sizeof kept_value);                                                              \
    } while (0)

#define REPORT() (printf("%s (%u-byte reals): %d passed, %d failed\n", __FILE__, (unsigned)sizeof(mapdpm_real),       \
                         checks_passed, checks_failed), checks_failed != 0)

/* xorshift64*. The numbers need not be good, but must be the same everywhere. */
static uint64_t check_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* Uniform in [-1, 1). */
static inline double check_uniform(uint64_t *state)
{
    return (double)(check_random(state) >> 11) / 4503599627370496.0 - 1.0;
}
#endif
