/* The rank of a point among those so far is a probability, whatever the counts are: old ones are fractions. */
#include "check.h"
#include "learner/mapdpm_learner.h"
#include "surprise/mapdpm_surprise.h"

static uint64_t memory[1 << 12];
static const md_real prior[] = {0, 1, 1, 1}; /* m0, c0, a0, b0 */

int main(void)
{
    mapdpm_stream *const s = (mapdpm_stream *)memory;
    mapdpm_options o = {0};
    uint64_t state = 1;
    int trial;

    o.family = MAPDPM_NORMAL_GAMMA;
    o.n_features = 1;
    o.max_clusters = 4;
    o.parameters = prior;
    o.alpha = 1;
#ifdef MAPDPM_SURPRISE
    o.surprise = 1;
#endif
    CHECK_OK(mapdpm_init(s, sizeof memory, &o));
    for (trial = 0; trial < 2000 && HAS_SURPRISE(s); trial++) {
        md_real nats;
        uint32_t i;

        for (i = 0; i < SURPRISE_BINS; i++) {
            const double count = (1 + check_uniform(&state)) * (1 << trial % 8);

            tail_counts(s)[i] = check_random(&state) % 8 == 0 ? (md_real)count : 0;
        }
        *counted_in_period(s) = (uint32_t)(trial % 3);
        for (nats = 0; nats < 200; nats = 2 * nats + (md_real)0.25) {
            const md_real rank = surprise_rank(s, nats);

            CHECK(rank >= 0 && rank <= 1);
        }
    }
    return REPORT();
}
