/* The memory layout of a pipeline of transformers. Internal; static inlines.
 *
 * head | steps, planned[n] | state of each step (reals, which a file holds) | derived: tables and results of each step
 * (reals) | counters of each step (uint32, which a file holds). docs/c-library.md counts every word.
 */
#ifndef MAPDPM_TRANSFORMERS_H
#define MAPDPM_TRANSFORMERS_H

#include "arithmetic/mapdpm_math.h"

/* Whether there is no pipeline: no memory, or memory that mapdpm_features_init or _read could not fill. */
static inline int is_no_pipeline(const mapdpm_features *f) { return f == NULL || f->bytes == 0; }

enum { MOST_STEPS = 64 };
#define LARGEST_WIDTH UINT32_C(65536)
#define LONGEST_LAG UINT32_C(65535)
#define LARGEST_BLOCK UINT32_C(1048576)
enum { HOURS = 24, DAYS = 7, HOURS_OF_WEEK = 168, MINUTES_OF_DAY = 1440 };
/* Reals a feature of CENTRE besides its ring, and of SEASONAL besides its bins. */
enum { CENTRE_SUMS = 4, SEASONAL_SUMS = 2 };

/* The largest value of a point or a result: the squares of a block have a sum. */
#define FEATURE_LIMIT FLOAT_OR_DOUBLE(1125899906842624, 3.1217485503159922e+144)

/* A step, and the places of its parts. */
typedef struct {
    mapdpm_step step;
    uint32_t from;      /* features of the source */
    uint32_t width;     /* features of the result */
    uint32_t emits;     /* 1: the result is that of the last point */
    uint32_t at_state;  /* first of its reals */
    uint32_t at_table;  /* first of its coefficients */
    uint32_t at_result; /* first value of its result */
    uint32_t at_words;  /* first of its counters */
    uint32_t reserved;
} planned_step;

/* The sizes of the parts of a step. */
typedef struct {
    uint64_t state, table, words;
} step_sizes;

static inline planned_step *steps_of(const mapdpm_features *f)
{
    return (planned_step *)(void *)((unsigned char *)(uintptr_t)f + sizeof *f);
}
static inline md_real *state_of(const mapdpm_features *f) { return (md_real *)(void *)(steps_of(f) + f->n_steps); }
static inline md_real *derived_of(const mapdpm_features *f) { return state_of(f) + f->n_state; }
static inline uint32_t *counters_of(const mapdpm_features *f)
{
    return (uint32_t *)(void *)(derived_of(f) + f->n_derived);
}

static inline int is_missing(md_real x) { return math_is_nan(x); }

static inline uint32_t n_bins(const planned_step *p) { return p->step.end - p->step.first; }

/* Make a pipeline that has seen nothing from n steps, of the program or of a file. */
MAPDPM_INTERNAL int features_plan(mapdpm_features *f, const mapdpm_step *steps, const unsigned char *file, uint32_t n,
                                  uint32_t n_features);
/* The bytes of its memory; 0 if a step is invalid. */
MAPDPM_INTERNAL uint64_t features_size(const mapdpm_step *steps, const unsigned char *file, uint32_t n,
                                       uint32_t n_features);
/* Step i of a file. */
MAPDPM_INTERNAL mapdpm_step features_step_in(const unsigned char *file, uint32_t i);

/* The result of one step for the result x of its source. Returns 1 if something came out. */
MAPDPM_INTERNAL int features_run(const mapdpm_features *f, planned_step *p, const md_real *x,
                                 const int64_t *microseconds);
/* Compute the coefficients of a step. */
MAPDPM_INTERNAL void features_tabulate(const planned_step *p, md_real *table);
/* The results of blocks. */
MAPDPM_INTERNAL int features_block(const planned_step *p, const md_real *x, md_real *state, const md_real *table,
                                   uint32_t *words, md_real *result);

#endif
