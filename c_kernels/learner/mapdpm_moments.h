/* The moments of a stream's clusters: sums that forget, and take missing values. The prior mean is 0 in their coordinates
 * (docs/maths.md, section 10). Apart from those of the batch sweep: decision 44. Internal; static inlines.
 */
#ifndef MAPDPM_MOMENTS_H
#define MAPDPM_MOMENTS_H

#include "learner/mapdpm_layout.h"
#include "arithmetic/mapdpm_math.h"

#define MD_HALF ((md_real)0.5)
/* A point farther from the prior mean is refused. */
#define COORDINATE_LIMIT FLOAT_OR_DOUBLE(1e9, 1e75)

/* Moments at some time: weights and squares are to be multiplied by `decay`. With groups: the cells, to be multiplied
 * too; tables of groups that are gone; and all tables of the cluster. Without them, a view stays small. */
typedef struct {
    const md_real *moments;
    md_real decay;
#ifdef MAPDPM_GROUPS
    const md_real *cells;
    md_real past;
    md_real tables;
#endif
} view;

/* Moments of no point. Any slot will do, for its weight does not count. */
static inline view empty_view(const mapdpm_stream *s)
{
    view v;

    memset(&v, 0, sizeof v);
    v.moments = slot_of(s, 0);
    return v;
}

static inline int is_present(md_real x) { return !math_is_nan(x); }
static inline md_real coordinate(const mapdpm_stream *s, const md_real *x, size_t d)
{
    return (x[d] - anchor_of(s)[d]) * unit_of(s)[d];
}

/* Conversions between a whole number, 0 <= x < 2^62, and a real. On a chip without such instructions compilers would
 * use arithmetic on double, or large functions. */
static inline uint64_t to_uint64(md_real x)
{
    const uint32_t high = (uint32_t)(x / 4294967296);

    return (uint64_t)high << 32 | (uint32_t)(x - (md_real)high * 4294967296);
}

static inline md_real to_real(uint64_t n) { return (md_real)(uint32_t)(n >> 32) * 4294967296 + (md_real)(uint32_t)n; }

static inline int is_used(const mapdpm_stream *s, uint32_t k) { return *slot_of(s, k) > 0; }

/* The factor that the weight of a cluster has decayed by since it last learned, and minus its logarithm. */
static inline md_real elapsed(const mapdpm_stream *s, uint32_t k, int64_t now)
{
    return FORGETS(s) ? to_real((uint64_t)(now - last_times_of(s)[k])) * s->rate : 0;
}
static inline md_real decay_of(const mapdpm_stream *s, uint32_t k, int64_t now)
{
    return FORGETS(s) ? math_exp(-elapsed(s, k, now)) : 1;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* *sum += x, by Knuth's two-sum. The rounding error is added to the real `low` places behind; with low = 0 it is
 * lost. */
static inline void add_compensated(md_real *sum, size_t low, md_real x)
{
    if (COMPENSATED && low) {
        const md_real old = *sum, all = old + x, rest = all - old;
        const md_real lost = sum[low] + ((old - (all - rest)) + (x - rest));

        *sum = all + lost;
        sum[low] = lost - (*sum - all);
    } else {
        *sum += x;
    }
}

static inline md_real low_part(const md_real *sum, size_t low) { return COMPENSATED && low ? sum[low] : 0; }

/* Add a point of weight w; w < 0 removes one, but never the last. Where its values have steps, it adds the variance of
 * its cells, too (docs/maths.md, section 34). */
static inline void moments_add(const mapdpm_stream *s, md_real *moments, size_t low, const md_real *x, md_real w)
{
    md_real *const mean = mean_in(s, moments), *const squares = squares_in(s, moments),
                   *const counts = counts_in(s, moments);
    const md_real *const anchor = anchor_of(s), *const unit = unit_of(s);
    md_real share;
    size_t d;

    add_compensated(moments, low, w);
    share = w / *moments;
    for (d = 0; d < MD_FEATURES(s); d++) {
        md_real delta, t;

        if (HAS_MISSING(s)) {
            if (!is_present(x[d]))
                continue;
            add_compensated(counts + d, low, w);
            if (w < 0 && !(counts[d] > -w / 1024)) { /* the last value is gone: the rest is rounding */
                counts[d] = mean[d] = squares[d] = 0;
                if (COMPENSATED && low)
                    counts[low + d] = mean[low + d] = squares[low + d] = 0;
                continue;
            }
            share = w / counts[d];
        }
        t = (x[d] - anchor[d]) * unit[d];
        delta = (t - mean[d]) - low_part(mean + d, low);
        add_compensated(mean + d, low, delta * share);
        add_compensated(squares + d, low, w * delta * ((t - mean[d]) - low_part(mean + d, low)));
        if (HAS_RESOLUTION(s))
            add_compensated(squares + d, low, w * cell_of(s, d));
        if (!(squares[d] > 0)) { /* rounding: the mean may step past a value that it almost equals */
            squares[d] = 0;
            if (COMPENSATED && low)
                squares[low + d] = 0;
        }
    }
}

/* The union of two clusters (Chan): `from` is added to `to`. */
static inline void moments_merge(const mapdpm_stream *s, md_real *to, const md_real *from, size_t low)
{
    md_real *const mean = mean_in(s, to), *const squares = squares_in(s, to), *const counts = counts_in(s, to);
    const md_real *const mean2 = mean_in(s, from), *const squares2 = squares_in(s, from),
                         *const counts2 = counts_in(s, from);
    md_real n = *to, m = *from;
    size_t d;

    add_compensated(to, low, m);
    add_compensated(to, low, low_part(from, low));
    for (d = 0; d < MD_FEATURES(s); d++) {
        md_real delta, all = n + m;

        if (HAS_MISSING(s)) {
            n = counts[d];
            m = counts2[d];
            all = n + m;
            if (!(m > 0))
                continue;
            add_compensated(counts + d, low, m);
            add_compensated(counts + d, low, low_part(counts2 + d, low));
        }
        delta = (mean2[d] - mean[d]) + (low_part(mean2 + d, low) - low_part(mean + d, low));
        add_compensated(mean + d, low, delta * (m / all));
        add_compensated(squares + d, low, squares2[d]);
        add_compensated(squares + d, low, low_part(squares2 + d, low));
        add_compensated(squares + d, low, delta * delta * (n * (m / all)));
    }
}

/* Multiply weights and squares by g: to forget, or to let a half stand for the whole. */
static inline void moments_scale(const mapdpm_stream *s, md_real *moments, size_t low, md_real g)
{
    const size_t n = half_size(s), mean = (size_t)(mean_in(s, moments) - moments), D = MD_FEATURES(s);
    size_t i;

    for (i = 0; i < n; i++) {
        if (i >= mean && i < mean + D)
            continue;
        moments[i] *= g;
        if (COMPENSATED && low)
            moments[low + i] *= g;
    }
}

#endif
