/* What a transformer is to the pipeline, and the memory layout of a pipeline. Internal; static inlines.
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
#define LARGEST_BLOCK UINT32_C(1048576)
enum { MOST_AXES = 256 };
enum { HOURS = 24, DAYS = 7, HOURS_OF_WEEK = 168, MINUTES_OF_DAY = 1440 };

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

/* ---- the kinds of steps: each has a file ------------------------------------------------------------------------- */

/* What a kind is: the fields of mapdpm_step that it uses besides its source, and what its results are. features.c
 * checks these fields, and that all others are 0. */
enum {
    USES_N = 1,      /* n is 1 to 2^20 */
    USES_SEASON = 2, /* n is 24, 7 or 168 */
    USES_SECOND = 4, /* the result has the features of both sources */
    USES_BAND = 8,   /* first and end */
    USES_OFFSET = 16,
    USES_CENTRED = 32,
    USES_HALF_LIFE = 64,
    NEEDS_TIMES = 128,
    HAS_LAGS = 256, /* the result has n + 1 times the features of the source; else as many */
    IN_BLOCKS = 512, /* n points give one result. The first counter is the points of the block; all is 0 after it */
    HAS_LENGTHS = 1024, /* the result has a length behind each of them: twice the features of the source */
    IS_PAIR = 2048,     /* the result has two features, whatever the source */
    USES_EVERY = 4096,  /* first is 1 to n; the result has the source's features for every so many of n points */
    HAS_PARTS = 8192,   /* first is 2 to n / 2; the result has the source's features so many times */
    HAS_COMPONENTS = 16384, /* first is 1 to the features of the source, at most MOST_AXES; the result has one more.
                             * A row with a missing value has no result, and the step does not see it */
    WARMS_UP = 32768 /* no result comes before the first counter, of points, is n. It stays n */
};

/* The counters of AUTOPERIOD. */
enum { AUTOPERIOD_POINTS, AUTOPERIOD_AT, AUTOPERIOD_PART, AUTOPERIOD_PERIOD, AUTOPERIOD_WORDS };

/* What a step works on at a point. */
typedef struct {
    const planned_step *p;
    const md_real *x;            /* result of the source */
    const md_real *second;       /* result of the second source */
    const int64_t *microseconds; /* NULL where the program gave no time */
    const md_real *table;
    md_real *state;
    uint32_t *words;
    md_real *result;
} step_run;

typedef struct {
    uint16_t is;      /* the sum of what it is */
    uint8_t state[4]; /* reals of each feature of the source: so many, and for each of n, each bin, and each feature */
    uint8_t words[2]; /* counters of the step; behind them, of each feature */
    uint8_t table;    /* coefficients of the step; of each bin where it has a band */
    /* Compute the coefficients. NULL: there are none. */
    void (*tabulate)(const mapdpm_step *t, md_real *table);
    /* Take a point and write the result; in a block, only at its last sample. */
    void (*run)(const step_run *r);
    /* Whether points could have left this state, which a file holds. NULL: there is none. */
    int (*is_state)(const planned_step *p, const md_real *state, const uint32_t *words);
} step_kind;

MAPDPM_INTERNAL_CONSTANT const step_kind features_lag, features_difference, features_centre, features_seasonal,
    features_rms, features_crest, features_band, features_join, features_stuck, features_silence,
    features_window, features_spread, features_smooth, features_autoperiod, features_pca,
    features_clock;

/* The kind of a number; NULL where there is none. */
MAPDPM_INTERNAL const step_kind *features_kind(uint32_t kind);

/* ---- for the files of the kinds ---------------------------------------------------------------------------------- */

static inline int is_missing(md_real x) { return math_is_nan(x); }

static inline uint32_t n_bins(const mapdpm_step *t) { return t->end - t->first; }

static inline int are_between(const md_real *x, size_t n, md_real least, md_real most)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (!(x[i] >= least && x[i] <= most))
            return 0;
    return 1;
}

/* Whether entries are values of points, or missing. */
static inline int are_values(const md_real *x, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (!is_missing(x[i]) && !are_between(x + i, 1, -FEATURE_LIMIT, FEATURE_LIMIT))
            return 0;
    return 1;
}

/* ---- the parts of the memory ------------------------------------------------------------------------------------- */

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

/* Make a pipeline that has seen nothing from n steps, of the program or of a file. */
MAPDPM_INTERNAL int features_plan(mapdpm_features *f, const mapdpm_step *steps, const unsigned char *file, uint32_t n,
                                  uint32_t n_features);
/* The bytes of its memory; 0 if a step is invalid. */
MAPDPM_INTERNAL uint64_t features_size(const mapdpm_step *steps, const unsigned char *file, uint32_t n,
                                       uint32_t n_features);
/* Step i of a file. */
MAPDPM_INTERNAL mapdpm_step features_step_in(const unsigned char *file, uint32_t i);

#endif
