/* The program that Frama-C's Eva must show to be free of undefined behaviour (eva.py). A learner is made from options
 * (EVA_STREAM), or from any bytes that are accepted as its snapshot (EVA_SNAPSHOT); then it gets any points at any
 * times, without end. EVA_SHORT takes any bytes that are too short for a snapshot.
 *
 * Sizes are fixed at compile time, because the layout of the memory must be numbers and not intervals.
 */
#include "mapdpm.h"

#include <__fc_builtin.h>

enum { D = MAPDPM_FEATURES, K = MAPDPM_CLUSTERS };
enum {
    PARAMETERS = 2 * D + 2, /* of either family, as D is 2 */
    SURPRISE_BYTES = EVA_SURPRISE * MAPDPM_SURPRISE_BYTES(K),
    BYTES = MAPDPM_STATE_BYTES_WITH(D, K, 0, EVA_WINDOW, EVA_MISSING) + SURPRISE_BYTES,
    HEADER_BYTES = 40,
    FLAGS = 10, /* where they are in the header */
    OPTIONS_BYTES = 4 * 4 + 3 * sizeof(mapdpm_real),
    COUNTERS_BYTES = 3 * 8 + 6 * 4,
    EXTRA_BYTES = 3,
    FILE_BYTES = MAPDPM_SNAPSHOT_BYTES_WITH(D, K, 0, EVA_WINDOW, EVA_MISSING) + EXTRA_BYTES
};

static volatile int again, by_time;
static volatile int64_t any_time;
static volatile uint32_t any_word;
static uint64_t memory[(BYTES + 7) / 8];
static unsigned char file[FILE_BYTES];

/* All functions that do not relate an index to a counter, as events and resolving an id do. */
static void go_on_for_ever(mapdpm_stream *s)
{
    mapdpm_real x[D], mean[D], variance[D], anchor[D], parameters[PARAMETERS], score;
    mapdpm_cluster cluster;
#if EVA_SURPRISE
    mapdpm_assessment assessment;
#endif
    uint32_t id;
    size_t n;

    /*@ loop unroll 0;
        loop widen_hints "all", 2, 3, 5; */
    while (again) {
        Frama_C_make_unknown((char *)x, sizeof x);
        (void)mapdpm_predict(s, x, &id, &score);
        (void)mapdpm_get_cluster(s, any_word, &cluster, mean, variance);
        (void)mapdpm_get_prior(s, anchor, parameters);
#if EVA_SURPRISE
        (void)mapdpm_assess(s, x, NULL, &assessment);
        (void)mapdpm_learn_assessed(s, x, NULL, &assessment);
#endif
        if (by_time)
            (void)mapdpm_learn_at(s, x, any_time, &id, &score);
        else
            (void)mapdpm_learn(s, x, &id, &score);
    }
    (void)mapdpm_snapshot_write(s, file, sizeof file, &n);
}

#ifdef EVA_STREAM
void run(mapdpm_stream *s)
{
    static const mapdpm_real prior[PARAMETERS] = {0, 0, 0.05f, 1, 1, 1}; /* m0, c0, a0, b0 */
    mapdpm_options o = {0};

    o.family = MAPDPM_NORMAL_GAMMA;
    o.n_features = D;
    o.max_clusters = K;
    o.window = EVA_WINDOW;
    o.missing = EVA_MISSING;
    o.surprise = EVA_SURPRISE;
    o.rare = EVA_SURPRISE ? 0.02f : 0;
    o.parameters = prior;
    o.alpha = 1;
    o.half_life = EVA_HALF_LIFE;
    if (mapdpm_init(s, sizeof memory, &o) == MAPDPM_OK)
        go_on_for_ever(s);
}
#else
static void put_word(unsigned char *p, uint32_t value)
{
    int i;

    for (i = 0; i < 4; i++)
        p[i] = (unsigned char)(value >> 8 * i);
}

/* Read the last n bytes of the array, so that the byte behind them is outside. */
static int read_last(mapdpm_stream *s, size_t n)
{
    unsigned char *const p = file + (FILE_BYTES - n);
    mapdpm_options o;

    Frama_C_make_unknown((char *)p, n);
    if (n >= HEADER_BYTES + OPTIONS_BYTES) {
        p[FLAGS] = p[FLAGS + 1] = 0;   /* what the flags add has no room in this memory */
        put_word(p + HEADER_BYTES, 0); /* the warm-up */
        put_word(p + HEADER_BYTES + 4, EVA_WINDOW);
        put_word(p + HEADER_BYTES + 12, EVA_MISSING);
    }
    if (mapdpm_snapshot_options(p, n, &o) != MAPDPM_OK)
        return 0;
    return mapdpm_snapshot_read(s, sizeof memory, p, n) == MAPDPM_OK;
}

void run(mapdpm_stream *s)
{
#ifdef EVA_SHORT
    static const size_t lengths[] = {
        0, 3, 4, HEADER_BYTES + 3, HEADER_BYTES + 4, HEADER_BYTES + OPTIONS_BYTES + COUNTERS_BYTES + 3,
        HEADER_BYTES + OPTIONS_BYTES + COUNTERS_BYTES + 4, FILE_BYTES - EXTRA_BYTES - 1};
    size_t i;

    for (i = 0; i < sizeof lengths / sizeof *lengths; i++)
        (void)read_last(s, lengths[i]);
#else
    if (read_last(s, FILE_BYTES)) {
        //@ slevel merge;
        Frama_C_show_each_accepted(s->turn, s->width, s->n_clusters);
        go_on_for_ever(s);
    }
#endif
}
#endif

int main(void)
{
    run((mapdpm_stream *)memory);
    return 0;
}
