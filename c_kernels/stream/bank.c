/* The same stream learned under several alphas. The learner that has predicted best answers. */
#include "stream/mapdpm_steps.h"

/* The memory: head | scores[n], low parts[n] (reals) | learners, all of the same size. */
static size_t at_learners(uint32_t n) { return (sizeof(mapdpm_bank) + 2 * (size_t)n * sizeof(md_real) + 7) / 8 * 8; }

static md_real *scores_of(const mapdpm_bank *b)
{
    return (md_real *)(void *)((unsigned char *)(uintptr_t)b + sizeof *b);
}

static size_t stride_of(const mapdpm_bank *b) { return (b->bytes - at_learners(b->n)) / b->n; }

static mapdpm_stream *learner_of(const mapdpm_bank *b, uint32_t i)
{
    return (mapdpm_stream *)(void *)((unsigned char *)(uintptr_t)b + at_learners(b->n) + i * stride_of(b));
}

size_t mapdpm_bank_bytes(const mapdpm_options *o, uint32_t n)
{
    const uint64_t each = mapdpm_stream_bytes(o);
    uint64_t bytes;

    if (each == 0 || o->max_groups > 0 || n < 1 || n > UINT32_C(1) << 16 || o->queue > 0 || o->when_full == MAPDPM_FULL_ERROR)
        return 0;
    bytes = at_learners(n) + each * n;
    return bytes <= UINT32_MAX && bytes <= SIZE_MAX ? (size_t)bytes : 0;
}

int mapdpm_bank_init(mapdpm_bank *b, size_t bytes, const mapdpm_options *o, const md_real *alphas, uint32_t n,
                     md_real half_life, md_real margin)
{
    const size_t needed = mapdpm_bank_bytes(o, n);
    uint32_t i;
    int error = MAPDPM_OK;

    if (b == NULL || !is_aligned(b) || alphas == NULL || needed == 0 || !(margin >= 0) || !(half_life == 0 || half_life >= 1))
        return MAPDPM_E_ARGUMENT;
    if (bytes < needed)
        return MAPDPM_E_SPACE;
    memset(b, 0, at_learners(n));
    b->bytes = (uint32_t)needed;
    b->n = n;
    b->keep = half_life > 0 ? math_exp((md_real)-0.69314718055994531 / half_life) : 1;
    b->margin = margin;
    for (i = 0; i < n && error == MAPDPM_OK; i++) {
        mapdpm_options each = *o;

        each.alpha = alphas[i];
        error = alphas[i] > 0 ? mapdpm_init(learner_of(b, i), stride_of(b), &each) : MAPDPM_E_ARGUMENT;
    }
    return error;
}

/* Whether all learners can learn a point, so that none refuses it after others have learned it. */
static int check_all(const mapdpm_bank *b, const md_real *x)
{
    uint32_t i;
    int error = MAPDPM_OK;

    for (i = 0; i < b->n && error == MAPDPM_OK; i++) {
        error = stream_check_point(learner_of(b, i), x);
        if (learner_of(b, i)->next_id == MD_NONE)
            error = MAPDPM_E_IDS;
    }
    return error;
}

int mapdpm_bank_learn(mapdpm_bank *b, const md_real *x, uint32_t *id, md_real *score)
{
    md_real density, first = 0, *scores;
    uint32_t i, number;
    int error;

    if (b == NULL || x == NULL)
        return MAPDPM_E_ARGUMENT;
    error = check_all(b, x);
    if (error != MAPDPM_OK)
        return error;
    scores = scores_of(b);
    for (i = 0; i < b->n; i++) {
        error = mapdpm_learn(learner_of(b, i), x, &number, &density);
        if (error != MAPDPM_OK)
            return error;
        if (i == b->best && id)
            *id = number;
        if (i == b->best && score)
            *score = density;
        if (i == 0)
            first = density;
        scores[i] *= b->keep;
        scores[b->n + i] *= b->keep;
        if (is_present(density))
            add_compensated(scores + i, b->n, density - first);
    }
    for (number = b->best, i = 0; i < b->n; i++)
        if (scores[i] > scores[number])
            number = i;
    if (scores[number] > scores[b->best] + b->margin) {
        b->best = number;
        b->n_switches++;
    }
    return MAPDPM_OK;
}

mapdpm_stream *mapdpm_bank_stream(mapdpm_bank *b, uint32_t i)
{
    return b != NULL && i < b->n ? learner_of(b, i) : NULL;
}

int mapdpm_bank_score(const mapdpm_bank *b, uint32_t i, md_real *score)
{
    if (b == NULL || score == NULL || i >= b->n)
        return MAPDPM_E_ARGUMENT;
    *score = scores_of(b)[i];
    return MAPDPM_OK;
}
