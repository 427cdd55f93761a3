/* Banks: each learner equals one that learns by itself, scores are sums of its log densities, and the best one
 * answers. */
#include "learners.h"

enum { A = 4, N = 3000 };

static const md_real alphas[A] = {(md_real)0.01, 1, 10, 300};
static memory alone[A];

static mapdpm_bank *begin_bank(const mapdpm_options *o, uint32_t n, md_real half_life, md_real margin)
{
    mapdpm_bank *const b = (mapdpm_bank *)(void *)&first;

    memset(&first, 0xa5, sizeof first);
    CHECK_OK(mapdpm_bank_init(b, sizeof first, o, alphas, n, half_life, margin));
    CHECK(b->bytes == mapdpm_bank_bytes(o, n));
    return b;
}

static void equals_single_learners(const mapdpm_options *o, md_real half_life, md_real margin)
{
    mapdpm_bank *const b = begin_bank(o, A, half_life, margin);
    const double keep = half_life > 0 ? exp(-log(2.0) / (double)half_life) : 1.0;
    double sums[A] = {0}, sizes[A] = {0};
    uint64_t state = 41;
    uint32_t best = 0, i, j, switches = 0;
    md_real x[3], said[A], score, density;
    uint32_t ids[A], id;

    for (j = 0; j < A; j++) {
        mapdpm_options each = *o;

        each.alpha = alphas[j];
        (void)begin(&alone[j], &each);
    }
    for (i = 0; i < N; i++) {
        draw(&state, i < N / 2 ? 2 : 9, i < N / 2 ? 9.0 : 3.0, x);
        CHECK_OK(mapdpm_bank_learn(b, x, &id, &density));
        for (j = 0; j < A; j++)
            CHECK_OK(mapdpm_learn(&alone[j].stream, x, &ids[j], &said[j]));
        CHECK(id == ids[best] && (density == said[best] || density != density));
        for (j = 0; j < A; j++) {
            const int is_there_yet = said[j] == said[j];
            const double d = is_there_yet ? (double)said[j] - (double)said[0] : 0.0;

            sums[j] = keep * sums[j] + d;
            sizes[j] = keep * sizes[j] + fabs(d) + (is_there_yet ? EPS * fabs((double)said[j]) : 0.0);
            CHECK_OK(mapdpm_bank_score(b, j, &score));
            CHECK(fabs((double)score - sums[j]) <=
                  64 * EPS * (sizes[j] + (half_life > 0 ? (double)half_life : 1) * sizes[j]));
        }
        switches += b->best != best;
        best = b->best;
    }
    for (j = 0; j < A; j++)
        CHECK(memcmp(mapdpm_bank_stream(b, j), &alone[j], alone[j].stream.bytes) == 0);
    CHECK(mapdpm_bank_stream(b, A) == NULL && mapdpm_bank_score(b, A, &score) == MAPDPM_E_ARGUMENT);
    CHECK(switches == b->n_switches && switches > 0);
    for (j = 0; j < A; j++)
        CHECK(sums[j] <= sums[best] + (double)margin + 1e-3 * sizes[j]);
}

static void refusals(void)
{
    mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 4);
    mapdpm_bank *const b = begin_bank(&o, A, 0, 3);
    md_real x[3] = {0, 0, 0}, none[1] = {0};

    CHECK_OK(mapdpm_bank_learn(b, x, NULL, NULL));
    memcpy(&second, &first, sizeof first);
    x[1] = (md_real)1e30 * (md_real)1e30 * (md_real)1e300;
    CHECK(mapdpm_bank_learn(b, x, NULL, NULL) == MAPDPM_E_NUMBER);
    CHECK(memcmp(&second, &first, sizeof first) == 0);
    CHECK_REFUSED(mapdpm_bank_learn(b, NULL, NULL, NULL));
    CHECK_REFUSED(mapdpm_bank_learn(NULL, x, NULL, NULL));
    CHECK_REFUSED(mapdpm_bank_init(b, sizeof first, &o, alphas, 0, 0, 3));
    CHECK_REFUSED(mapdpm_bank_init(b, sizeof first, &o, none, 1, 0, 3));
    CHECK_REFUSED(mapdpm_bank_init(b, sizeof first, &o, alphas, A, 0, -1));
    CHECK(mapdpm_bank_init(b, mapdpm_bank_bytes(&o, A) - 1, &o, alphas, A, 0, 3) == MAPDPM_E_SPACE);
    o.when_full = MAPDPM_FULL_ERROR;
    CHECK(mapdpm_bank_bytes(&o, A) == 0 && mapdpm_bank_init(b, sizeof first, &o, alphas, A, 0, 3) == MAPDPM_E_ARGUMENT);
}

int main(void)
{
    mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, 8);
    const mapdpm_options cold = warming(8, 40);

    equals_single_learners(&o, 0, 3);
    equals_single_learners(&o, 200, 0);
    equals_single_learners(&cold, 200, 3);
    o.half_life = 300;
    equals_single_learners(&o, 100, 3);
    refusals();
    return REPORT();
}
