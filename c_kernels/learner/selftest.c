/* Whether this build computes as all others do. A flag of the compiler that the sources cannot forbid, a flag of the
 * linker or a mode of the processor may change arithmetic; then this says so. No value is known to the compiler, so
 * that nothing is computed before the program runs.
 */
#include "learner/mapdpm_densities.h"

enum { TEST_POINTS = 40, TEST_LOW = 3 }; /* moments: weight, mean, squares; then what rounding lost of each */

/* The CRC-32 of what was computed, continued by the bits of x, lowest byte first. */
static uint32_t with_bits(uint32_t crc, md_real x)
{
    const uint64_t bits = math_bits(x);
    unsigned char bytes[sizeof bits];
    size_t i;

    for (i = 0; i < sizeof x; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    return mapdpm_crc32(crc, bytes, sizeof x);
}

/* Whether there are NaN, infinity and numbers below the least normal one. */
static int has_special_values(md_real one)
{
    const volatile md_real unordered = math_nan();
    const md_real nan = unordered, infinity = one * FLOAT_OR_DOUBLE(FLT_MAX, DBL_MAX) * 2;
    const md_real least = one * FLOAT_OR_DOUBLE(FLT_MIN, DBL_MIN);
    const volatile md_real half = least / 2;
    const md_real below = half;

    return !(nan == nan) && !(nan >= 0) && !(nan < 0) && math_is_nan(nan) && !math_is_finite(nan) &&
           !math_is_finite(infinity) && !math_is_nan(infinity) && infinity > 0 && math_is_nan(infinity - infinity) &&
           below > 0 && below + below == least;
}

/* Single operations, each of which some flag would replace by others. */
static uint32_t crc_of_operations(uint32_t crc, md_real one)
{
    const md_real seven = one * 7;
    const md_real step = FLOAT_OR_DOUBLE(1.0 / 4096, 1.0 / 134217728), near = one + step;
    const md_real large = one * FLOAT_OR_DOUBLE(16777215, 9007199254740991), third = one / 3;
    const md_real all = large + third, rest = all - large;
    md_real n = one, sum[2];
    int i;

    for (i = 0; i < 9; i++, n += one) { /* divisions by the same number, and by a constant */
        crc = with_bits(crc, n / seven);
        crc = with_bits(crc, (n + 9) / seven + (n + 4) / seven);
        crc = with_bits(crc, n / 10);
    }
    crc = with_bits(crc, near * near - (one + 2 * step));          /* 0, unless fused */
    crc = with_bits(crc, (large - (all - rest)) + (third - rest)); /* 0 if sums were reordered */
    sum[0] = large;
    sum[1] = one - one;
    for (i = 0; i < 9; i++)
        add_compensated(sum, 1, one);
    return with_bits(with_bits(crc, sum[0]), sum[1]);
}

/* A cluster of one feature learns a stream: the steps of moments_add and normal_gamma_density. */
static uint32_t crc_of_cluster(uint32_t crc, md_real one)
{
    md_real moments[2 * TEST_LOW], *const mean = moments + 1, *const squares = moments + 2;
    uint32_t random = 2463534242u;
    int i;

    for (i = 0; i < 2 * TEST_LOW; i++)
        moments[i] = one - one;
    for (i = 0; i < TEST_POINTS; i++) {
        const md_real a = one + MD_HALF * *moments, c = *moments + (md_real)0.05;
        md_real square, excess = 0, logs = 0, x, delta, scale, nats;

        random = random * 1664525u + 1013904223u;
        x = (one * (md_real)(int32_t)(random >> 16) - 32768) / 3072;
        nats = math_half_rising(a, &square);
        scale = MD_HALF * c / (c + 1) / posterior_b(one, (md_real)0.05 * (*moments / c), *mean, *squares);
        delta = x - *moments / c * *mean;
        multiply_one_plus(&excess, &logs, delta * delta * scale);
        nats += MD_HALF * math_log(scale * (square / MATH_PI)) - (a + MD_HALF) * (logs + math_log1p(excess));
        crc = with_bits(crc, nats);
        crc = with_bits(crc, math_exp(nats - 1));

        add_compensated(moments, TEST_LOW, one);
        delta = (x - *mean) - low_part(mean, TEST_LOW);
        add_compensated(mean, TEST_LOW, delta * (one / *moments));
        add_compensated(squares, TEST_LOW, one * delta * ((x - *mean) - low_part(mean, TEST_LOW)));
    }
    for (i = 0; i < 2 * TEST_LOW; i++)
        crc = with_bits(crc, moments[i]);
    return crc;
}

int mapdpm_selftest(void)
{
    const volatile md_real unknown = 1;
    const md_real one = unknown;
    const uint32_t crc = crc_of_cluster(crc_of_operations(0, one), one);
    const uint32_t known = MATH_IS_FLOAT ? 0x581b1c4cu : 0x56f7df78u;

    return has_special_values(one) && crc == known ? MAPDPM_OK : MAPDPM_E_ARITHMETIC;
}
