/* The logarithm and the other functions against libm: float against libm's double, double against its long double.
 *
 * The test takes a stride of the reals; with MAPDPM_EXHAUSTIVE=1 in the environment it takes every positive finite
 * float. It prints the largest errors, which docs/maths.md quotes.
 */
#include "check.h"
#include "arithmetic/mapdpm_math.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* If long double is no wider than double, ulps of double cannot be measured, and nothing is checked. */
typedef long double wide;

#define EPS (MATH_IS_FLOAT ? (wide)FLT_EPSILON : (wide)DBL_EPSILON)
#define LEAST (MATH_IS_FLOAT ? (md_real)FLT_MIN : (md_real)DBL_MIN)
#define LARGEST (MATH_IS_FLOAT ? (md_real)FLT_MAX : (md_real)DBL_MAX)

typedef struct {
    const char *name;
    wide worst;
    md_real where;
} error;

/* double is wide enough for float, and much faster than long double over all floats. */
static wide true_log(md_real x) { return MATH_IS_FLOAT ? (wide)log((double)x) : logl((wide)x); }
static wide true_log1p(md_real x) { return MATH_IS_FLOAT ? (wide)log1p((double)x) : log1pl((wide)x); }
static wide true_exp(md_real x) { return MATH_IS_FLOAT ? (wide)exp((double)x) : expl((wide)x); }

/* One unit in the last place of a real near x. */
static wide ulp(wide x)
{
    int exponent;

    x = fabsl(x);
    if (x < (wide)LEAST)
        return (wide)LEAST * EPS;
    (void)frexpl(x, &exponent);
    return ldexpl(EPS, exponent - 1);
}

static void note(error *e, md_real x, wide size)
{
    if (!(size <= e->worst)) { /* NaN is the largest error */
        e->worst = size;
        e->where = x;
    }
}

/* The error of a value in units in the last place of the right one. */
static void note_ulp(error *e, md_real x, md_real value, wide right)
{
    note(e, x, fabsl((wide)value - right) / ulp(right));
}

static void report(const error *e, const char *unit, wide bound)
{
    printf("%s: worst error %.3Lf %s, at %.17g\n", e->name, e->worst, unit, (double)e->where);
    CHECK(e->worst < bound);
}

static md_real from_bits(uint64_t bits)
{
    const uint32_t single = (uint32_t)bits;
    md_real x;

    if (sizeof x == 4)
        memcpy(&x, &single, 4);
    else
        memcpy(&x, &bits, sizeof x);
    return x;
}

/* The stride of the bits from one real to the next that is tested. */
static uint64_t stride_for(uint64_t n)
{
    const uint64_t asked = 400009;

    if (MATH_IS_FLOAT && getenv("MAPDPM_EXHAUSTIVE"))
        return 1;
    return n / asked + 1;
}

/* fdlibm proves log < 1 ulp for the same reduction and polynomial. log1p first rounds 1 + x, by eps / 2 where that is
 * sqrt(2); this changes the result by 0.354 eps. An ulp of the result, 0.347, is eps / 4: 1.42 ulp more. log_below: the
 * chord of log2 lies at most 0.0861 below it, 0.0597 nats, and ln 2 is reduced by 8.2e-7 at up to 1022 powers of 2. */
static void logarithms(void)
{
    static error of_log = {"log", 0, 0}, of_log1p = {"log1p", 0, 0}, below = {"log_below", 0, 0};
    const uint64_t end = math_bits(LARGEST), step = stride_for(end);
    uint64_t bits;
    int is_below = 1;

    for (bits = 1; bits <= end; bits += step) {
        const md_real x = from_bits(bits);
        note_ulp(&of_log, x, math_log(x), true_log(x));
        note_ulp(&of_log1p, x, math_log1p(x), true_log1p(x));
        if (x >= LEAST) {
            const wide gap = true_log(x) - (wide)math_log_below(x);

            is_below &= gap >= 0;
            note(&below, x, gap);
        }
    }
    /* Around 1, where results are small, and on both sides of the point where log1p changes its method. */
    for (bits = 0; bits < 200000; bits++) {
        const md_real x = from_bits(math_bits(1) - 100000 + bits),
                      y = from_bits(math_bits((md_real)0.41421356) - 100000 + bits);

        note_ulp(&of_log, x, math_log(x), true_log(x));
        note_ulp(&of_log1p, y, math_log1p(y), true_log1p(y));
        is_below &= (wide)math_log_below(x) <= true_log(x);
    }
    CHECK(math_log(1) == 0 && math_log1p(0) == 0 && math_log_below(1) == 0);
    CHECK(is_below);
    report(&of_log, "ulp", 1);
    report(&of_log1p, "ulp", (wide)2.42);
    report(&below, "nats below", (wide)0.0606);
}

/* Half an ulp for the last product. As much for y where it is below 1: there its ulp is half that of 1 + r (1 + ...).
 * The polynomial's truncation is far smaller. */
static void exponential(void)
{
    static error e = {"exp", 0, 0};
    const md_real last = MATH_IS_FLOAT ? (md_real)-87 : (md_real)-708;
    const uint64_t end = math_bits(-last), step = stride_for(end);
    uint64_t bits;

    for (bits = 0; bits < end; bits += step) {
        const md_real x = -from_bits(bits);

        note_ulp(&e, x, math_exp(x), true_exp(x));
    }
    for (bits = 0; bits < 400000; bits++) { /* most floats are near 0; these are not */
        const md_real x = last * (md_real)bits / 400000;

        note_ulp(&e, x, math_exp(x), true_exp(x));
    }
    CHECK(math_exp(0) == 1 && math_exp(last) == 0 && math_exp(-LARGEST) == 0 && math_exp(-(md_real)INFINITY) == 0);
    CHECK(math_exp((md_real)NAN) == 0);
    report(&e, "ulp", (wide)1.5);
}

#define TWO_PI 6.28318530717958647692528676655900577L

/* h(x) = lgamma(x) - x log x + x. Beyond 100 by Stirling's series, because the terms cancel even in a long double. */
static wide true_excess(wide x)
{
    const wide r = 1 / (x * x);

    if (x > 100)
        return (logl(TWO_PI) - logl(x)) / 2 + (1 / 12.0L - r * (1 / 360.0L - r * (1 / 1260.0L - r / 1680))) / x;
    return lgammal(x) - x * logl(x) + x;
}

static wide true_half_rising(wide a)
{
    const wide r = 1 / (a * a);

    if (a > 100)
        return logl(a) / 2 - (1 / 8.0L - r * (1 / 192.0L - r * (1 / 640.0L - r * 17 / 14336))) / a;
    return lgammal(a + 0.5L) - lgammal(a);
}

/* In eps (1 + |value|), because the parts are large where their sum is small. */
static void note_gamma(error *excess, error *rising, md_real x)
{
    const wide right = true_excess((wide)x), right2 = true_half_rising((wide)x);
    md_real root, square;
    const md_real v = math_excess(x, &root), w = math_half_rising(x, &square);

    note(excess, x, fabsl((logl(TWO_PI) - logl((wide)root)) / 2 + (wide)v - right) / (EPS * (1 + fabsl(right))));
    note(rising, x, fabsl((wide)w + logl((wide)square) / 2 - right2) / (EPS * (1 + fabsl(right2))));
}

/* excess below 8 has x log((x + 8) / x) - 8. The sum, the quotient, the logarithm, the product and the difference round
 * by at most 4 + 4 + 3 + 2 + 1 eps. half_rising below 10 multiplies twice 10 factors, each off by half an eps twice: 20
 * eps if all errors had the same sign. The measured errors stay below 5. */
static void gammas(void)
{
    static error excess = {"excess", 0, 0}, rising = {"half_rising", 0, 0};
    static error excess_at = {"excess at 8", 0, 0}, rising_at = {"half_rising at 10", 0, 0}, unused = {"", 0, 0};
    const md_real least = MATH_IS_FLOAT ? (md_real)1e-9 : (md_real)1e-30,
                  most = MATH_IS_FLOAT ? (md_real)1e18 : (md_real)1e30;
    const uint64_t first = math_bits(least), end = math_bits(most), step = (end - first) / 400009 + 1;
    uint64_t bits;
    int i;

    for (bits = first; bits < end; bits += step)
        note_gamma(&excess, &rising, from_bits(bits));
    for (i = 0; i < 200000; i++)
        note_gamma(&excess, &rising, (md_real)(i + 1) / 5000);
    for (i = -20000; i < 20000; i++) {
        note_gamma(&excess_at, &unused, from_bits(math_bits(8) + (uint64_t)(int64_t)i));
        note_gamma(&unused, &rising_at, from_bits(math_bits(10) + (uint64_t)(int64_t)i));
    }
    report(&excess, "eps (1 + |value|)", 14);
    report(&excess_at, "eps (1 + |value|)", 14);
    report(&rising, "eps (1 + |value|)", 5);
    report(&rising_at, "eps (1 + |value|)", 5);
}

/* The root is correctly rounded: half an ulp, and exact where there is an exact root. */
static void roots(void)
{
    static error root = {"sqrt", 0, 0}, inverse = {"1 / sqrt", 0, 0};
    const uint64_t end = math_bits(LARGEST), step = end / 300007 + 1;
    uint64_t bits;
    int i;

    for (bits = 1; bits < end; bits += step) {
        const md_real x = from_bits(bits);
        const wide right = MATH_IS_FLOAT ? (wide)sqrt((double)x) : sqrtl((wide)x);

        note_ulp(&root, x, math_sqrt(x), right);
        if (x >= LEAST)
            note(&inverse, x, fabsl((wide)math_inverse_root(x) - 1 / right) / ulp(1 / right));
    }
    for (i = 0; i < 4000; i++)
        CHECK(math_sqrt((md_real)i * (md_real)i) <= (md_real)i && math_sqrt((md_real)i * (md_real)i) >= (md_real)i);
    report(&root, "ulp", MATH_IS_FLOAT ? 0.5000001L : 0.501L);
    report(&inverse, "ulp", 4); /* four roundings of the last step */
}

/* Half an ulp for the last sum, and less than a quarter for all before: its term is below x / 9. */
static void sines(void)
{
    static error sine = {"sin", 0, 0};
    const uint64_t begin = math_bits((md_real)1e-9), end = math_bits((md_real)0.78539816),
                   step = (end - begin) / 300007 + 1;
    uint64_t bits;

    for (bits = begin; bits < end; bits += step) {
        const md_real x = from_bits(bits);
        const wide right = MATH_IS_FLOAT ? (wide)sin((double)x) : sinl((wide)x);

        note_ulp(&sine, x, math_sin(x), right);
    }
    report(&sine, "ulp", 1);
}

static void special_values(void)
{
    const md_real infinity = (md_real)INFINITY, largest = FLOAT_OR_DOUBLE(FLT_MAX, DBL_MAX);

    CHECK(math_is_nan(math_nan()) && math_is_nan(-math_nan()) && !math_is_finite(math_nan()));
    CHECK(!math_is_nan(infinity) && !math_is_finite(infinity) && !math_is_nan(-infinity) && !math_is_finite(-infinity));
    CHECK(math_is_nan(from_bits(math_bits(infinity) + 1)) && !math_is_finite(from_bits(math_bits(infinity) + 1)));
    CHECK(math_is_finite(largest) && math_is_finite(-largest) && !math_is_nan(largest) && math_is_finite(0));
    CHECK_OK(mapdpm_selftest());
}

int main(void)
{
    special_values();
    if (LDBL_MANT_DIG >= DBL_MANT_DIG + 8 || MATH_IS_FLOAT) {
        logarithms();
        exponential();
        gammas();
        roots();
        sines();
    }
    return REPORT();
}
