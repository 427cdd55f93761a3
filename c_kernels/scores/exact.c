/* Exact scores of a batch of points with columns that do not change, for diagonal families. Every operation is rounded,
 * none depends on other points, and none is left to libm. So the bits of a score are the same whatever the processor,
 * the neighbours of the point, and the way that was chosen. Internal to the scores.
 *
 * There are two ways. If few columns matter to a point, its pairs with them are scored one by one, with the features in
 * the lanes of a vector. Else eight points are scored together, with the points in lanes. Both multiply the factors of
 * every fourth feature, and then these products.
 */
#include "scores/mapdpm_scores.h"

/* Products of factors, which are joined at the end. */
enum { MD_FACTORS = 4 };

/* A larger product may have overflowed. */
static const double MOST_EXCESS = 1e300;

static int64_t padded(int64_t D) { return round_up(D, MD_FACTORS); }

/* The centre and, behind it, the scale of a column, padded with zeros: those features change no score. */
static double *exact_row(const score_table *t, int64_t column)
{
    return t->exact_rows + 2 * padded(t->n_wide) * column;
}

void load_exact_rows(const score_table *t)
{
    const int64_t D = t->n_wide, wide = padded(D);
    int64_t k;

    if (D == 0)
        return;
    memset(t->exact_points, 0, (size_t)(MD_POINTS * wide) * sizeof(double));
    for (k = 0; k < t->n_columns; k++)
        if (is_column_used(t, k)) {
            double *const row = exact_row(t, k), *const statistics = statistics_of_column(t, k);

            memset(row, 0, (size_t)(2 * wide) * sizeof *row);
            memcpy(row, diagonal_centre(statistics, D), (size_t)D * sizeof *row);
            memcpy(row + wide, diagonal_scale(statistics, D), (size_t)D * sizeof *row);
        }
}

void load_exact_points(const score_table *t)
{
    int64_t q;

    for (q = 0; q < t->n_batch && t->n_wide > 0; q++)
        to_double(point(t, point_of_lane(t, q)), t->exact_points + q * padded(t->n_wide), t->n_wide);
}

/* The product of 1 + a and 1 + b, less 1, or the sum. A product itself would lose digits, and a large cluster multiplies
 * the loss by half its size. */
ALWAYS_INLINE double joined(double a, double b, int is_product)
{
    return is_product ? a + (b + a * b) : a + b;
}

/* The logarithm of the tail of lane q with a column, if the product overflows. */
static double long_log_tail(const score_table *t, int64_t q, int64_t column)
{
    const int64_t D = t->n_wide, wide = padded(D);
    const double *const x = t->exact_points + q * wide, *const centre = exact_row(t, column);
    double excess = 0.0, total = 0.0;
    int64_t d;

    for (d = 0; d < D; d++) {
        const double y = x[d] - centre[d], u = y * y * centre[wide + d];

        excess += u + excess * u;
        if (excess > PRODUCT_HUGE) {
            total += log1p_of(excess);
            excess = 0.0;
        }
    }
    return total + log1p_of(excess);
}

/* ---- pairs of points and columns --------------------------------------------------------------------------------- */

ALWAYS_INLINE void tails_of_pairs_with(const score_table *t, const int32_t *lanes, const int32_t *columns, int64_t n,
                                       double *restrict tails, int is_product)
{
    const int64_t wide = padded(t->n_wide);
    int64_t p, d, j;

    for (p = 0; p < n; p++) {
        const double *restrict const x = t->exact_points + lanes[p] * wide;
        const double *restrict const centre = t->exact_rows + columns[p] * 2 * wide;
        const double *restrict const scale = centre + wide;
        double a[MD_FACTORS] = {0};

        for (d = 0; d < wide; d += MD_FACTORS)
            LANE_LOOP (j = 0; j < MD_FACTORS; j++) {
                const double y = x[d + j] - centre[d + j];

                a[j] = joined(a[j], y * y * scale[d + j], is_product);
            }
        tails[p] = joined(joined(a[0], a[2], is_product), joined(a[1], a[3], is_product), is_product);
    }
}

CLONES
void exact_scores_of_pairs(const score_table *t, const int32_t *lanes, const int32_t *columns, int64_t n,
                           double *restrict tails, double *restrict scores)
{
    int64_t p;
    int overflows = 0;

    if (!t->is_product) {
        tails_of_pairs_with(t, lanes, columns, n, tails, 0);
        for (p = 0; p < n; p++)
            scores[p] = t->constant[columns[p]] + t->log_weight[columns[p]] - tails[p];
        return;
    }
    tails_of_pairs_with(t, lanes, columns, n, tails, 1);
    for (p = 0; p < n; p++)
        overflows |= !(tails[p] < MOST_EXCESS);
    for (p = 0; p < n; p++)
        tails[p] = log1p_of(tails[p]);
    for (p = 0; p < n && overflows; p++)
        if (!(tails[p] < log(MOST_EXCESS)))
            tails[p] = long_log_tail(t, lanes[p], columns[p]);
    for (p = 0; p < n; p++)
        scores[p] = t->constant[columns[p]] + t->log_weight[columns[p]] - t->exponent[columns[p]] * tails[p];
}

/* ---- groups of points -------------------------------------------------------------------------------------------- */

CLONES
void load_group(const score_table *t, int64_t q)
{
    const int64_t wide = padded(t->n_wide);
    const double *restrict const x = t->exact_points + q * wide;
    double *restrict const group = t->group_points;
    int64_t d, j;

    for (d = 0; d < wide; d++)
        for (j = 0; j < MD_SCORED; j++)
            group[d * MD_SCORED + j] = x[j * wide + d];
}

ALWAYS_INLINE void tails_of_group_with(const score_table *t, int64_t column, double *restrict tails, int is_product)
{
    const int64_t wide = padded(t->n_wide);
    const double *const centre = exact_row(t, column), *const scale = centre + wide;
    double a0[MD_SCORED] = {0}, a1[MD_SCORED] = {0}, a2[MD_SCORED] = {0}, a3[MD_SCORED] = {0};
    int64_t d, j;

    for (d = 0; d < wide; d += MD_FACTORS) {
        const double *restrict const x = t->group_points + d * MD_SCORED;
        const double c0 = centre[d], c1 = centre[d + 1], c2 = centre[d + 2], c3 = centre[d + 3];
        const double s0 = scale[d], s1 = scale[d + 1], s2 = scale[d + 2], s3 = scale[d + 3];

        LANE_LOOP (j = 0; j < MD_SCORED; j++) {
            const double y0 = x[j] - c0, y1 = x[MD_SCORED + j] - c1;
            const double y2 = x[2 * MD_SCORED + j] - c2, y3 = x[3 * MD_SCORED + j] - c3;

            a0[j] = joined(a0[j], y0 * y0 * s0, is_product);
            a1[j] = joined(a1[j], y1 * y1 * s1, is_product);
            a2[j] = joined(a2[j], y2 * y2 * s2, is_product);
            a3[j] = joined(a3[j], y3 * y3 * s3, is_product);
        }
    }
    LANE_LOOP (j = 0; j < MD_SCORED; j++)
        tails[j] = joined(joined(a0[j], a2[j], is_product), joined(a1[j], a3[j], is_product), is_product);
}

CLONES
void exact_scores_of_group(const score_table *t, int64_t q, int64_t column, double *restrict scores)
{
    const double constant = t->constant[column] + t->log_weight[column], exponent = t->exponent[column];
    double tails[MD_SCORED];
    int64_t j;
    int overflows = 0;

    if (!t->is_product) {
        tails_of_group_with(t, column, tails, 0);
        for (j = 0; j < MD_SCORED; j++)
            scores[j] = constant - tails[j];
        return;
    }
    tails_of_group_with(t, column, tails, 1);
    for (j = 0; j < MD_SCORED; j++)
        overflows |= !(tails[j] < MOST_EXCESS);
    LANE_LOOP (j = 0; j < MD_SCORED; j++)
        scores[j] = constant - exponent * log1p_of(tails[j]);
    for (j = 0; j < MD_SCORED && overflows; j++)
        if (!(tails[j] < MOST_EXCESS))
            scores[j] = constant - exponent * long_log_tail(t, q + j, column);
}
