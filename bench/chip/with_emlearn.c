/* emlearn's Gaussian mixture, and which of its components is the likeliest; model.h is written by emlearn. */
#include "model.h"
#include "scorer.h"

static float log_probabilities[N_COMPONENTS];

int scorer_begin(void) { return 0; }

int scorer_score(const float *x, uint32_t *id, float *density)
{
    const int error = (int)mixture_score(x, N_FEATURES, log_probabilities, density);
    uint32_t k;

    *id = 0;
    for (k = 1; k < N_COMPONENTS; k++)
        if (log_probabilities[k] > log_probabilities[*id])
            *id = k;
    return error;
}
