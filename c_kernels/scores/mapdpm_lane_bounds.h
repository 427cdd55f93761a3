/* Bounds of the scores of a batch of points, in the lanes of vectors of one type of number. Included for float and for
 * double: #define LANE, LANE_BITS (an integer of the same size), LANE_FRACTION (the bits of its fraction), LANE_POWER
 * (the exponent field of such an integer, as a LANE) and LANES(name). bounds.c says what the bounds are.
 *
 * These are plain loops over the points of a batch; compilers make vectors of them, as wide as a clone has.
 */

#define LANE_ONE ((((LANE_BITS)1 << (sizeof(LANE) == 4 ? 7 : 10)) - 1) << LANE_FRACTION) /* the bits of 1 */

/* The centre, scale and norms of a column. */
static inline LANE *LANES(row)(const score_table *t, int64_t column)
{
    return (LANE *)(void *)(t->lane_rows + column * lane_row_size(t->n_wide));
}

/* Write a column in units of the batch. Returns whether its scales are in the range that units allow. */
ALWAYS_INLINE int LANES(set_row)(const score_table *t, int64_t column, const double *centre, const double *scale,
                                 const double *inverse)
{
    const int64_t D = t->n_wide;
    const double *restrict const origin = t->origin, *restrict const per_unit = t->per_unit;
    const double *restrict const square = t->is_product ? t->per_square : t->square;
    const double least = t->is_product ? LEAST_SCALE[sizeof(LANE) > 4] : 0.0;
    const double most = t->is_product ? 1.0 : MOST_SCALE[sizeof(LANE) > 4];
    LANE *restrict const row = LANES(row)(t, column), *const norm = row + 2 * D;
    int64_t d;
    int leaves = 0;

    for (d = 0; d < D; d++) {
        const double g = scale[d] * square[d];

        row[d] = (LANE)((centre[d] - origin[d]) * per_unit[d]);
        row[D + d] = (LANE)g;
        leaves |= !(g >= least && g <= most);
    }
    for (d = 0; d + FEATURES_PER_STEP <= D && t->is_product; d += FEATURES_PER_STEP) {
        const double a = inverse[d] * t->square[d], b = inverse[d + 1] * t->square[d + 1];
        const double e = inverse[d + 2] * t->square[d + 2], f = inverse[d + 3] * t->square[d + 3];

        norm[d / FEATURES_PER_STEP] = (LANE)(a * b * (e * f));
    }
    if (d < D && t->is_product) {
        double product = 1.0;
        int64_t j;

        for (j = d; j < D; j++)
            product *= inverse[j] * t->square[j];
        norm[d / FEATURES_PER_STEP] = (LANE)product;
    }
    return !leaves;
}

/* Put the rows of a batch into lanes, in its units. Meanwhile `next`, those of the batch after it, come nearer. */
CLONES
static void LANES(load)(const score_table *t, const mapdpm_real *restrict rows, const mapdpm_real *next)
{
    const int64_t D = t->n_wide;
    LANE *restrict const lanes = (LANE *)(void *)t->lanes;
    int64_t d, q;

    for (d = 0; d < D; d++) {
        const double origin = t->origin[d], per_unit = t->per_unit[d];

        for (q = 0; q < MD_POINTS; q += NUMBERS_PER_LINE)
            PREFETCH(next + d * MD_POINTS + q);
        for (q = 0; q < MD_POINTS; q++)
            lanes[d * MD_POINTS + q] = (LANE)(((double)rows[q * D + d] - origin) * per_unit);
    }
}

/* Multiply products by the factors of four features, and divide by their scales. */
ALWAYS_INLINE void LANES(multiply)(LANE *restrict p, const LANE *restrict x, const LANE *c, const LANE *g, LANE norm)
{
    const LANE c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], g0 = g[0], g1 = g[1], g2 = g[2], g3 = g[3];
    int64_t q;

    for (q = 0; q < MD_POINTS; q++) {
        const LANE t0 = x[q] - c0, t1 = x[MD_POINTS + q] - c1;
        const LANE t2 = x[2 * MD_POINTS + q] - c2, t3 = x[3 * MD_POINTS + q] - c3;

        p[q] *= ((g0 + t0 * t0) * (g1 + t1 * t1)) * ((g2 + t2 * t2) * (g3 + t3 * t3)) * norm;
    }
}

/* The same of one feature, of fewer than four that are left. The norm comes last: what overflows before it would have
 * overflowed after it, as norms are 1 or more. */
ALWAYS_INLINE void LANES(multiply_one)(LANE *restrict p, const LANE *restrict x, LANE c, LANE g, LANE norm)
{
    int64_t q;

    for (q = 0; q < MD_POINTS; q++)
        p[q] = p[q] * (g + (x[q] - c) * (x[q] - c)) * norm;
}

/* Move the powers of 2 of products to `powers`, so that they do not overflow. An infinite one becomes a lower bound. */
ALWAYS_INLINE void LANES(take_powers)(LANE *restrict p, LANE *restrict powers)
{
    int64_t q;

    for (q = 0; q < MD_POINTS; q++) {
        LANE_BITS bits;

        memcpy(&bits, p + q, sizeof bits);
        powers[q] += LANE_POWER(bits >> LANE_FRACTION);
        bits = (bits & (((LANE_BITS)1 << LANE_FRACTION) - 1)) | LANE_ONE;
        memcpy(p + q, &bits, sizeof bits);
    }
}

/* Bounds from the tails of n lanes. Those of products are at least 1, up to rounding, when 2^powers comes back; NULL
 * stands for no powers. The logarithm is bounded by its exponent and a cubic below log(1 + f), at most 0.6 %
 * too low. */
ALWAYS_INLINE void LANES(bound_by_tails)(const score_table *t, int64_t k, const LANE *restrict tails,
                                         const LANE *restrict powers, int64_t n)
{
    const LANE upper = (LANE)t->upper[k], slope = (LANE)t->slope[k];
    const LANE less = t->is_product ? 1 : 0;
    float *restrict const bounds = t->bounds + k * MD_POINTS;
    float *restrict const own = t->own_tail;
    const int32_t *restrict const columns = t->own_column;
    float rest[MD_POINTS];
    int64_t q;

    if (t->is_product)
        for (q = 0; q < n; q++) {
            LANE_BITS bits;
            LANE power, f;

            memcpy(&bits, tails + q, sizeof bits);
            power = LANE_POWER(bits >> LANE_FRACTION) + (powers ? powers[q] : 0);
            bits = (bits & (((LANE_BITS)1 << LANE_FRACTION) - 1)) | LANE_ONE;
            memcpy(&f, &bits, sizeof f);
            f -= 1;
            bounds[q] = (float)(upper - slope * (power * (LANE)0.6931471 +
                                                 f * ((LANE)0.994356 + f * ((LANE)-0.442488 + f * (LANE)0.141278))));
        }
    else
        for (q = 0; q < n; q++)
            bounds[q] = (float)(upper - slope * tails[q]);
    for (q = 0; q < n; q++)
        rest[q] = (float)(tails[q] - less + (powers ? powers[q] * (LANE)HUGE_TAIL : 0));
    for (q = 0; q < n; q++)
        own[q] = columns[q] == k ? rest[q] : own[q];
}

/* The bounds of a column. */
ALWAYS_INLINE void LANES(bound_column)(const score_table *t, int64_t k)
{
    const int64_t D = t->n_wide;
    const LANE *const lanes = (const LANE *)(const void *)t->lanes, *const centre = LANES(row)(t, k);
    const LANE *const scale = centre + D, *const norm = scale + D;
    LANE p[MD_POINTS], powers[MD_POINTS] = {0};
    int64_t d, q;

    for (q = 0; q < MD_POINTS; q++)
        p[q] = t->is_product ? 1 : 0;
    if (t->is_product) {
        for (d = 0; d + FEATURES_PER_STEP <= D; d += FEATURES_PER_STEP) {
            LANES(multiply)(p, lanes + d * MD_POINTS, centre + d, scale + d, norm[d / FEATURES_PER_STEP]);
            if (d % FEATURES_PER_POWER == FEATURES_PER_POWER - FEATURES_PER_STEP)
                LANES(take_powers)(p, powers);
        }
        for (; d < D; d++)
            LANES(multiply_one)(p, lanes + d * MD_POINTS, centre[d], scale[d], d + 1 < D ? 1 : norm[d / FEATURES_PER_STEP]);
    } else {
        for (d = 0; d < D; d++) {
            const LANE *restrict const x = lanes + d * MD_POINTS;
            const LANE c = centre[d], g = scale[d];

            for (q = 0; q < MD_POINTS; q++)
                p[q] += g * (x[q] - c) * (x[q] - c);
        }
    }
    if (D < FEATURES_PER_POWER)
        LANES(bound_by_tails)(t, k, p, NULL, MD_POINTS);
    else
        LANES(bound_by_tails)(t, k, p, powers, MD_POINTS);
}

/* The bounds of the columns from `first` to before `end`. */
CLONES
static void LANES(bound_columns)(const score_table *t, int64_t first, int64_t end)
{
    int64_t k, q;

    for (k = first; k < end; k++)
        if (is_column_used(t, k))
            LANES(bound_column)(t, k);
        else
            for (q = 0; q < MD_POINTS; q++)
                t->bounds[k * MD_POINTS + q] = NEVER;
}

#undef LANE
#undef LANE_BITS
#undef LANE_FRACTION
#undef LANE_POWER
#undef LANE_ONE
#undef LANES
