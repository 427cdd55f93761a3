/* Learners to test, and points for them. */
#ifndef LEARNERS_H
#define LEARNERS_H

#include "check.h"
#include "learner/mapdpm_learner.h"

#include <float.h>

enum { MD_MEMORY = 1 << 20, D_MOST = 4, K_MOST = 32 };

#ifdef MAPDPM_MISSING
enum { WITH_MISSING = 1 };
#else
enum { WITH_MISSING = 0 };
#endif
#ifdef MAPDPM_GROUPS
enum { WITH_GROUPS = 1 };
#else
enum { WITH_GROUPS = 0 };
#endif
#ifdef MAPDPM_STATES
enum { WITH_STATES = 1 };
#else
enum { WITH_STATES = 0 };
#endif

#define EPS ((double)(COMPENSATED ? FLT_EPSILON : DBL_EPSILON))

typedef union {
    uint64_t aligned;
    mapdpm_stream stream;
    unsigned char bytes[MD_MEMORY];
} memory;

static memory first, second;

static const md_real gamma_prior[2 * D_MOST + 2] = {1, -2, 3, (md_real)0.1, 2, 1, (md_real)0.5, 2};
static const md_real known_prior[3 * D_MOST] = {1, -2, 3, 100, 50, 200, 1, (md_real)0.5, 2};

static inline mapdpm_options options_of(int32_t family, uint32_t max_clusters)
{
    mapdpm_options o;

    memset(&o, 0, sizeof o);
    o.family = family;
    o.n_features = 3;
    o.max_clusters = max_clusters;
    o.alpha = 1;
    o.parameters = family == MAPDPM_NORMAL_GAMMA ? gamma_prior : known_prior;
    return o;
}

static inline mapdpm_options warming(uint32_t max_clusters, uint32_t warmup)
{
    mapdpm_options o = options_of(MAPDPM_NORMAL_GAMMA, max_clusters);

    o.warmup = warmup;
    o.parameters = NULL;
    return o;
}

static inline mapdpm_stream *begin(memory *m, const mapdpm_options *o)
{
    memset(m->bytes, 0xa5, sizeof m->bytes);
    CHECK(mapdpm_init(&m->stream, sizeof m->bytes, o) == MAPDPM_OK);
    return &m->stream;
}

/* Whether no learner begins with these options. */
static inline int is_refused(const mapdpm_options *o)
{
    return mapdpm_init(&first.stream, sizeof first.bytes, o) == MAPDPM_E_ARGUMENT;
}

static inline int is_same(const memory *a, const memory *b) { return memcmp(a, b, a->stream.bytes) == 0; }

/* A point near centre g; `apart` is about the distance between centres. */
static inline void draw_near(uint64_t *state, unsigned g, double apart, md_real *x)
{
    unsigned d;

    for (d = 0; d < 3; d++)
        x[d] = (md_real)(apart * ((g * (2 * d + 3) + d * d) % 13) + check_uniform(state) + check_uniform(state) +
                         check_uniform(state));
}

/* A point near one of `groups` centres. */
static inline void draw(uint64_t *state, unsigned groups, double apart, md_real *x)
{
    draw_near(state, (unsigned)(check_random(state) >> 33) % groups, apart, x);
}

/* Learn n such points. */
static inline void learn_drawn(mapdpm_stream *s, unsigned n, unsigned groups, double apart, uint64_t *state)
{
    md_real x[3];

    for (; n > 0; n--) {
        draw(state, groups, apart, x);
        CHECK_OK(mapdpm_learn(s, x, NULL, NULL));
    }
}

/* Whether there is a cluster with this id, and how heavy. */
static inline int has_cluster(const mapdpm_stream *s, uint32_t id, double *weight)
{
    mapdpm_cluster c;
    uint32_t k;

    for (k = 0; k < s->max_clusters; k++)
        if (mapdpm_get_cluster(s, k, &c, NULL, NULL) == 1 && c.id == id) {
            *weight = (double)c.weight + (double)c.weight_low;
            return 1;
        }
    return 0;
}

static inline double total_weight(const mapdpm_stream *s)
{
    mapdpm_cluster c;
    double total = 0;
    uint32_t k, used = 0;

    for (k = 0; k < s->max_clusters; k++)
        if (mapdpm_get_cluster(s, k, &c, NULL, NULL) == 1) {
            total += (double)c.weight + (double)c.weight_low;
            used++;
        }
    CHECK(used == s->n_clusters);
    return total;
}

#endif
