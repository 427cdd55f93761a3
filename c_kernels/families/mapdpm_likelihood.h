/* A family with its parameters, and the functions of weights that families share: mapdpm/special.py. Internal. */
#ifndef MAPDPM_LIKELIHOOD_H
#define MAPDPM_LIKELIHOOD_H

#include "mapdpm_batch.h"

#include <math.h>
#include <string.h>

#define LOG_2PI 1.8378770664093453
#define LOG_PI 1.1447298858494002
/* A product becomes a logarithm when it leaves these bounds. */
#define PRODUCT_TINY 1e-100
#define PRODUCT_HUGE 1e100
/* The share of the weight, or of the squares, that removals must leave. Less has lost four digits, and the statistics
 * must be rebuilt. */
#define LEAST_SHARE_LEFT 1e-4
/* Independent sums or products over the features, so that a processor need not wait for one to finish before the
 * next. */
enum { ACCUMULATORS = 4 };

/* Functions that run for each point are inlined into their caller, and so into each clone of it for a processor. */
#if defined(__GNUC__)
#define ALWAYS_INLINE static inline __attribute__((always_inline))
#else
#define ALWAYS_INLINE static inline
#endif

/* noise_scale is b0 of the Normal-Gamma, or the variance of the known-variance family. Normal-Gamma has also m0, c0 and
 * a0; known variance has m0 and prior_variance; squared distance has noise_scale alone; Normal-inverse-Wishart has m0,
 * c0, nu0 and psi0. */
typedef struct likelihood {
    int32_t kind;
    int64_t D;
    const mapdpm_verbs *verbs; /* NULL for the families of this room */
    const mapdpm_family_view *view;
    int64_t size;         /* of the row of a cluster */
    int64_t n_sufficient; /* of its first numbers, the statistics */
    const double *m0;
    const double *noise_scale;
    const double *prior_variance;
    const double *psi0; /* [D][D] */
    const double *resolution; /* [D] the steps that values are rounded to; NULL if all are 0 */
    double c0;
    double a0;
    double nu0;
    double *empty;   /* the statistics of an empty cluster, with what follows from them */
    double *scratch; /* [2][D]; the caller's own, for clusters are read by several threads */
} likelihood;

/* Whether clusters have full covariance matrices. */
static inline int is_full(int32_t kind) { return kind == MAPDPM_NORMAL_INVERSE_WISHART; }
/* Whether values may be missing. */
static inline int is_skipping(int32_t kind) { return kind >= MAPDPM_SKIPPING; }
/* The family itself. */
static inline int32_t plain_family(int32_t kind) { return is_skipping(kind) ? kind - MAPDPM_SKIPPING : kind; }

/* The family without its empty cluster and its scratch space. */
static inline likelihood family_of(int32_t kind, int64_t D, const double *parameters)
{
    likelihood f;

    memset(&f, 0, sizeof f);
    f.kind = kind;
    f.D = D;
    f.m0 = parameters;
    if (parameters == NULL)
        return f;
    if (plain_family(kind) == MAPDPM_NORMAL_GAMMA) {
        f.c0 = parameters[D];
        f.a0 = parameters[D + 1];
        f.noise_scale = parameters + D + 2;
    } else if (kind == MAPDPM_SQUARED_DISTANCE) {
        f.m0 = NULL;
        f.noise_scale = parameters;
    } else if (is_full(kind)) {
        f.c0 = parameters[D];
        f.nu0 = parameters[D + 1];
        f.psi0 = parameters + D + 2;
    } else {
        f.prior_variance = parameters + D;
        f.noise_scale = parameters + 2 * D;
    }
    return f;
}

/* Whether the verbs, and those of all factors, know points of any weight. */
static inline int takes_weights(const mapdpm_verbs *verbs, const mapdpm_family_view *view)
{
    int64_t k;

    for (k = 0; k < view->n_factors; k++)
        if (!takes_weights(view->factors[k].verbs, &view->factors[k].view))
            return 0;
    return verbs->log_predictive_weighted != NULL;
}

static inline double stirling_tail(double x)
{
    const double r = 1 / (x * x);
    const double tail = 1.0 / 1188 - r * (691.0 / 360360);

    return (1.0 / 12 - r * (1.0 / 360 - r * (1.0 / 1260 - r * (1.0 / 1680 - r * tail)))) / x;
}

/* log Gamma(a + h) - log Gamma(a), without either of the two: mapdpm/special.py. */
static inline double log_rising(double a, double h)
{
    double shift = 1;

    while (a < 10 || a + h < 10) {
        shift *= a / (a + h);
        a += 1;
    }
    return log(shift) + ((a - 0.5) * log1p(h / a) + h * (log(a + h) - 1)) +
           (stirling_tail(a + h) - stirling_tail(a));
}

/* The logarithm of a product of positive factors. The product itself may leave the range of a double, so the exponents
 * are removed as it grows. */
ALWAYS_INLINE double log_product(const double *factors, int64_t D)
{
    const uint64_t mantissa = UINT64_C(0x000fffffffffffff), one = UINT64_C(0x3ff0000000000000);
    double p[ACCUMULATORS] = {1, 1, 1, 1};
    uint64_t exponents[ACCUMULATORS] = {0, 0, 0, 0}, bits;
    int64_t d, j;

    for (d = 0; d + ACCUMULATORS <= D; d += ACCUMULATORS)
        for (j = 0; j < ACCUMULATORS; j++) {
            p[j] *= factors[d + j];
            memcpy(&bits, p + j, sizeof bits);
            exponents[j] += bits >> 52;
            bits = (bits & mantissa) | one;
            memcpy(p + j, &bits, sizeof bits);
        }
    exponents[0] += exponents[1] + exponents[2] + exponents[3];
    exponents[0] -= UINT64_C(1023) * (uint64_t)d;
    for (j = 0; d + j < D; j++) {
        p[j] *= factors[d + j];
        memcpy(&bits, p + j, sizeof bits);
        exponents[0] += (bits >> 52) - 1023;
        bits = (bits & mantissa) | one;
        memcpy(p + j, &bits, sizeof bits);
    }
    return log((p[0] * p[1]) * (p[2] * p[3])) + (double)(int64_t)exponents[0] * 0.6931471805599453;
}

/* log x for x = 2^k (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1]: k ln 2 + log(1 + f), by fdlibm's series in f / (2 +
 * f). The error is below 1 ulp. Compilers vectorise it, which libm's log prevents. x is positive, finite and not
 * subnormal. */
static inline double log_positive(double x)
{
    const uint64_t half = UINT64_C(0x3fe6a09e667f3bcd), magic = UINT64_C(0x4330000000000000); /* sqrt(1/2), 2^52 */
    uint64_t bits, mantissa, power;
    double f, s, z, w, r, e;

    memcpy(&bits, &x, sizeof bits);
    bits += UINT64_C(0x3ff0000000000000) - half;
    power = bits >> 52 | magic;
    mantissa = (bits & UINT64_C(0x000fffffffffffff)) + half;
    memcpy(&e, &power, sizeof e);
    memcpy(&f, &mantissa, sizeof f);
    e -= 4503599627371519.0; /* 2^52 + 1023 */
    f -= 1.0;
    s = f / (2.0 + f);
    z = s * s;
    w = z * z;
    r = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01)) +
        z * (6.666666666666735130e-01 +
             w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    return e * 6.93147180369123816490e-01 -
           ((0.5 * f * f - (s * (0.5 * f * f + r) + e * 1.90821492927058770002e-10)) - f);
}

/* log(1 + x) for x > -1, where 1 + x is not subnormal: what it rounds off comes back, to the first order. */
static inline double log1p_of(double x)
{
    const double s = 1.0 + x;

    return log_positive(s) + (x - (s - 1.0)) / s;
}

/* exp x for -700 < x < 700: 2^k exp r, by fdlibm's series. The error is below 1 ulp. Compilers vectorise it. */
static inline double exp_of(double x)
{
    const double shift = 6755399441055744.0; /* 1.5 2^52: adding it rounds to an integer, in the last bits */
    double k = x * 1.44269504088896338700e+00 + shift, high, low, r, z, c;
    uint64_t power, bits;

    memcpy(&power, &k, sizeof power);
    k -= shift;
    high = x - k * 6.93147180369123816490e-01;
    low = k * 1.90821492927058770002e-10;
    r = high - low;
    z = r * r;
    c = r - z * (1.66666666666666019037e-01 +
                 z * (-2.77777777770155933842e-03 +
                      z * (6.61375632143793436117e-05 + z * (-1.65339022054652515390e-06 + z * 4.13813679705723846039e-08))));
    r = 1.0 - ((low - r * c / (2.0 - c)) - high);
    memcpy(&bits, &r, sizeof bits);
    bits += power << 52;
    memcpy(&r, &bits, sizeof r);
    return r;
}

/* log Gamma(x) - x log x + x: mapdpm/special.py. */
static inline double log_gamma_excess(double x)
{
    if (x < 10)
        return lgamma(x) - x * log(x) + x;
    return 0.5 * (LOG_2PI - log(x)) + stirling_tail(x);
}


#endif
