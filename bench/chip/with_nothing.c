/* No score: what the measuring itself costs, in bytes and in instructions. */
#include "scorer.h"

int scorer_begin(void) { return 0; }

int scorer_score(const float *x, uint32_t *id, float *density)
{
    *id = 0;
    *density = x[0];
    return 0;
}
