/* Points against clusters that stay as they are: all scores, the best slot, the log density. The twin of
 * mapdpm/backends/generic.py. What is found of a point does not depend on the points beside it.
 */
#include "mapdpm_certain.h"
#include "mapdpm_setup.h"

/* Scores NEGLIGIBLE nats below the best do not change a density: exp(-45) of a thousand clusters is below half an ulp. */
static const double NEGLIGIBLE = 45.0;

/* x = 2^k (1 + f) with f in [sqrt(1/2) - 1, sqrt(2) - 1], and log x = k ln 2 + log(1 + f) by fdlibm's series in
 * f / (2 + f): 1 ulp, and several at once, as libm's is not. x is positive, finite and not subnormal. */
static inline double log_in_lanes(double x)
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

CLONES
static void log_each(double *restrict products, int64_t n)
{
    int64_t k;

    for (k = 0; k < n; k++)
        products[k] = log_in_lanes(products[k]);
}

#if HAS_LANES

/* With every operation rounded, for scores. */
CLONES
static void plain_tails_of_four(const columns *c)
{
    four_with(c, padded(c->width, LANES), 1);
}

/* Scores of points i .. i + 3 of Normal-Gamma data with all columns, in the place of tails; of which points they are sound,
 * as bits: of those whose products are finite. */
static unsigned score_four(columns *c, int64_t i)
{
    const int64_t width = padded(c->width, LANES);
    unsigned sound = 0;
    int64_t q, k;

    if (!c->has_tails || !c->multiplies)
        return 0;
    take_four(c, i);
    plain_tails_of_four(c);
    for (q = 0; q < FOUR; q++) {
        double *const scores = c->tails + q * c->stride;
        int64_t too_large = 0;

        for (k = 0; k < width; k++)
            too_large += !(scores[k] < 1e300);
        log_each(scores, width);
        for (k = 0; k < width; k++)
            scores[k] = c->constant[k] + c->log_size[k] - c->exponent[k] * scores[k];
        sound |= (unsigned)(too_large == 0) << q;
    }
    return sound;
}

#else

static unsigned score_four(columns *c, int64_t i)
{
    (void)c;
    (void)i;
    return 0;
}

#endif

/* The product of many factors near 1 is off by as many roundings, and a large cluster multiplies its logarithm by half its
 * size. Large clusters that score within NEGLIGIBLE of the best, and so matter, are scored plainly. */
static void score_large(columns *c, double *scores)
{
    double best = -INFINITY;
    int64_t k;

    for (k = 0; k < c->width; k++)
        best = scores[k] > best ? scores[k] : best;
    for (k = 0; k < c->width; k++)
        if (scores[k] >= best - NEGLIGIBLE && is_large(c, c->exponent[k]))
            scores[k] = score_column(c, k, c->x);
}

static double normaliser_of(const columns *c)
{
    double total = 0.0;
    int64_t k;

    for (k = 0; k < c->clusters->capacity; k++)
        total += c->clusters->counts[k] > 0 ? row(c, k)[0] : 0.0;
    return log_normaliser(c->problem, total);
}

int mapdpm_score(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, double *scores)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace, 0);
    double normaliser, exponent = 0.0;
    int64_t i, k;
    unsigned sound = 0;

    if (error != MAPDPM_OK || scores == NULL)
        return error != MAPDPM_OK ? error : MAPDPM_E_ARGUMENT;
    for (k = 1; k < c.width; k++)
        exponent = c.exponent[k] > exponent ? c.exponent[k] : exponent;
    normaliser = normaliser_of(&c);
    for (i = 0; i < problem->n_points; i++) {
        double *const out = scores + i * clusters->capacity, *from = c.scores;

        look_at(&c, i);
        if (i % FOUR == 0)
            sound = score_four(&c, i);
        if (sound >> i % FOUR & 1) {
            from = c.tails + i % FOUR * c.stride;
            if (is_large(&c, exponent))
                score_large(&c, from);
        } else {
            (void)score_plainly(&c, i, -1);
        }
        for (k = 0; k < clusters->capacity; k++)
            out[k] = k + 1 < c.width ? from[k + 1] + normaliser : -INFINITY;
        if (c.free_slot >= 0)
            out[c.free_slot] = from[0] + normaliser;
    }
    return MAPDPM_OK;
}

/* Candidates of point i + q, of the four that are there. */
static int64_t candidates_of(columns *c, int64_t i, int64_t q, double band)
{
    c->x = c->four + q * c->family.D;
    return score_candidates(c, i + q, -1, c->has_tails ? c->tails + q * c->stride : NULL, band);
}

static void look_at_four(columns *c, int64_t i)
{
    take_four(c, i);
    if (c->has_tails)
        bound(c, FOUR);
}

int mapdpm_best_slots(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace, int may_open,
                      int64_t *slots)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace, 1);
    int64_t i, q, column;

    if (error != MAPDPM_OK || slots == NULL)
        return error != MAPDPM_OK ? error : MAPDPM_E_ARGUMENT;
    if (!may_open)
        c.free_slot = -1;
    for (i = 0; i < problem->n_points; i += FOUR) {
        look_at_four(&c, i);
        for (q = 0; q < FOUR && i + q < problem->n_points; q++) {
            column = best_column(&c, candidates_of(&c, i, q, 0.0), c.free_slot >= 0, -1);
            slots[i + q] = column == 0 ? c.free_slot : column - 1;
        }
    }
    return MAPDPM_OK;
}

int mapdpm_log_densities(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                         double *log_densities)
{
    columns c;
    const int error = set_up(&c, problem, clusters, workspace, 1);
    double normaliser;
    int64_t i, q, j;

    if (error != MAPDPM_OK || log_densities == NULL)
        return error != MAPDPM_OK ? error : MAPDPM_E_ARGUMENT;
    normaliser = normaliser_of(&c);
    for (i = 0; i < problem->n_points; i += FOUR) {
        look_at_four(&c, i);
        for (q = 0; q < FOUR && i + q < problem->n_points; q++) {
            const int64_t n = candidates_of(&c, i, q, NEGLIGIBLE);
            double best = -INFINITY, sum = 0.0;

            for (j = 0; j < n; j++)
                best = c.scores[c.listed[j]] > best ? c.scores[c.listed[j]] : best;
            for (j = 0; j < n; j++)
                if (c.scores[c.listed[j]] >= best - NEGLIGIBLE)
                    sum += exp(c.scores[c.listed[j]] - best);
            log_densities[i + q] = best + log(sum) + normaliser;
        }
    }
    return MAPDPM_OK;
}
