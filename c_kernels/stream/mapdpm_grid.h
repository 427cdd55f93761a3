/* Grids m q + c of values, for the files that find the steps of features (grid.c) and follow them (resolution.c). Internal;
 * static inlines.
 */
#ifndef MAPDPM_GRID_H
#define MAPDPM_GRID_H

#include "stream/mapdpm_steps.h"

/* How far values may be off, as a share of the largest, where all are reals of four bytes. */
#define NOISE_OF_SINGLE ((md_real)2.384185791015625e-7)
/* A step of so many noises is clear of them. */
#define CLEAR_OF_NOISE ((md_real)16)
/* From this share of all points on, equal values matter, and a value is no rare one. */
#define TIES ((md_real)0.02)
/* The marks of a feature that has had no second value, and of one whose values need not be whole steps away from another. */
#define CONSTANT_YET ((md_real)-1e30)
#define NO_ORIGIN ((md_real)1e30)
/* A sum with WHOLE has no fraction, if what is added to it is a number below MOST_CELLS. */
#define WHOLE FLOAT_OR_DOUBLE(12582912, 6755399441055744.0)
#define MOST_CELLS FLOAT_OR_DOUBLE(2097152, 1125899906842624.0)

static inline md_real nearest_whole(md_real x) { return (x + WHOLE) - WHOLE; }
static inline md_real magnitude(md_real x) { return x < 0 ? -x : x; }

/* The greatest common divisor of two numbers >= 0, a multiple of which is off by least / divisor: Euclid, whose remainders are
 * off by as many times as much as they are divided by. */
static inline md_real common_divisor(md_real a, md_real b, md_real least)
{
    while (b > 0 && !(a > 0 && a * b <= least)) {
        const md_real rest = magnitude(a - b * nearest_whole(a / b));

        a = b;
        b = rest;
    }
    return a;
}

static inline int is_step(md_real step)
{
    return step > 0 && step * step > LEAST_VARIANCE && step * step <= MOST_VARIANCE;
}

#endif
