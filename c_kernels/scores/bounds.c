/* Bounds of the scores of a batch of points with all columns, at a fraction of the cost of scores: docs/maths.md (30).
 * The points of a batch lie in the lanes of vectors, in float: twice as many as doubles fit a vector. The bounds allow
 * for all rounding. Where floats would be too coarse, doubles are used. No result depends on bounds: what they leave
 * open is scored exactly (decision 56). Internal to the batch kernels.
 *
 * Coordinates are those of the batch: (x - origin) / unit for each feature, where units are powers of 2 so large that
 * no scale of a column exceeds 1. A product of factors, divided by that of the scales, is then at least 1. A product
 * that overflows counts as the largest power of 2, which is a lower bound. A column whose scale leaves the range makes
 * new units.
 */
#include "scores/mapdpm_scores.h"

/* After so many features, powers of 2 are taken out of a product. */
enum { FEATURES_PER_POWER = 32 };

/* A hint to the processor, and how many numbers of the data a cache line holds. */
#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#else
#define PREFETCH(address) ((void)(address))
#endif
enum { NUMBERS_PER_LINE = ALIGNMENT / sizeof(mapdpm_real) };

/* Added to a tail that has powers of 2. */
static const float HUGE_TAIL = 1e30f;

/* The range of scales in units of the batch: the product of FEATURES_PER_STEP of them is a normal number. */
static const double LEAST_SCALE[2] = {4.7e-10 /* > 2^-31 */, 1e-75};

/* The largest scale of a sum: a larger one may be infinite, and then 0 times it is no bound. */
static const double MOST_SCALE[2] = {1e38, 1e300};

/* Doubles are used if the rounding of tails in float could exceed this, in nats. */
static const double MOST_COARSE_NATS = 1.0;

/* There are no bounds if the logarithm of a tail may be off by more. */
static const double MOST_LOG_ERROR = 0.01;

/* Everything from here on is a bound that allows for each rounding. A fused multiply-add is as good, and faster. Loops
 * over features must not be jammed into the loops over points, for then GCC makes no vectors of these. */
#if defined(__clang__)
#pragma clang fp contract(fast)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast", "no-loop-unroll-and-jam")
#endif

#define LANE float
#define LANE_BITS uint32_t
#define LANE_FRACTION 23
#define LANE_POWER(bits) ((float)(int32_t)(bits) - 127.0f)
#define LANES(name) name##_of_floats
#include "scores/mapdpm_lane_bounds.h"

/* 2^52 and a small integer, as bits; 2^52 + 1023. Few processors turn integers of 64 bits into doubles. Always inlined:
 * a call amid wide vectors, of a function without them, stalls Intel processors. */
ALWAYS_INLINE double power_of_bits(uint64_t bits)
{
    double power;

    bits |= UINT64_C(0x4330000000000000);
    memcpy(&power, &bits, sizeof power);
    return power - 4503599627371519.0;
}

#define LANE double
#define LANE_BITS uint64_t
#define LANE_FRACTION 52
#define LANE_POWER(bits) power_of_bits(bits)
#define LANES(name) name##_of_doubles
#include "scores/mapdpm_lane_bounds.h"

/* Lower bounds of the leave-one-out scores of the batch with their own slots, from their tails. For products they use
 * prod (1 - u) >= 1 - sum u and the series of log(1 - y). Without a bound it is -inf. Returns the lanes without, as
 * bits. */
CLONES
static uint32_t loo_lower_bounds(const score_table *t)
{
    float constant[MD_POINTS], exponent[MD_POINTS], share[MD_POINTS];
    const float *restrict const tails = t->own_tail;
    float *restrict const least = t->least;
    uint32_t bits = 0;
    int q;

    for (q = 0; q < MD_POINTS; q++) {
        const own_bound *const own = t->own + t->own_column[q];

        constant[q] = own->constant;
        exponent[q] = own->exponent;
        share[q] = own->share;
    }
    for (q = 0; q < MD_POINTS; q++) {
        const float y = share[q] * tails[q], size = constant[q] < 0 ? -constant[q] : constant[q];
        const float loss = exponent[q] * (t->is_product ? y + y * y * (0.5f + y / (3.0f - 3.0f * y)) : y);
        const int is_valid = !t->is_product || (y > (float)-LARGEST_LOSS && y < (float)LARGEST_LOSS);

        least[q] = is_valid ? constant[q] - loss - (float)COARSE_SLACK * (2.0f + 3.0f * size + loss) : -INFINITY;
    }
    for (q = 0; q < MD_POINTS; q++)
        bits |= least[q] > -INFINITY ? 0 : UINT32_C(1) << q;
    return bits & lanes_in_use(t);
}

/* The points of the batch above whose `least` only one column can score, as bits: their own. NaN counts as above. */
CLONES
static uint32_t only_one_above(const score_table *t)
{
    const float *restrict const least = t->least;
    int32_t counts[MD_POINTS] = {0};
    uint32_t bits = 0;
    int64_t k;
    int q;

    for (k = 0; k < t->n_columns; k++) {
        const float *restrict const bounds = t->bounds + k * MD_POINTS;
        const float weight = t->weight[k];

        for (q = 0; q < MD_POINTS; q++)
            counts[q] += !(bounds[q] + weight <= least[q]);
    }
    for (q = 0; q < MD_POINTS; q++)
        bits |= counts[q] == 1 ? UINT32_C(1) << q : 0;
    return bits & lanes_in_use(t);
}

/* The points of the batch that no column of three can attract, as bits: two that have changed, and a new cluster. */
CLONES
static uint32_t unattracted(const score_table *t, int64_t a, int64_t b)
{
    const int64_t columns[3] = {0, a, b};
    int32_t is_attracted[MD_POINTS] = {0};
    uint32_t bits = 0;
    int j, q;

    for (j = 0; j < 3; j++) {
        const float *restrict const bounds = t->bounds + columns[j] * MD_POINTS;
        const float weight = t->weight[columns[j]];

        for (q = 0; q < MD_POINTS; q++)
            is_attracted[q] |= !(bounds[q] + weight <= t->least[q]);
    }
    for (q = 0; q < MD_POINTS; q++)
        bits |= (!is_attracted[q] & (t->own_column[q] != a) & (t->own_column[q] != b)) ? UINT32_C(1) << q : 0;
    return bits;
}

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

/* ---- columns ----------------------------------------------------------------------------------------------------- */

/* How far rounding may take the tail of a diagonal column: log_error bounds the error of the logarithm of a product, or
 * the relative error of a sum; tail_error is what a sum may be off besides (docs/maths.md, section 5). */
ALWAYS_INLINE void set_errors(score_table *t, int64_t column, const double *centre, const double *inverse)
{
    const double rounding = t->in_double ? 1.2e-16 : 6e-8; /* > 2^-53, 2^-24 */
    const int64_t D = t->n_wide;
    double far[ACCUMULATORS] = {0, 0, 0, 0};
    int64_t d, j;

    for (d = 0; d + ACCUMULATORS <= D; d += ACCUMULATORS)
        for (j = 0; j < ACCUMULATORS; j++) {
            const double m = centre[d + j] - t->origin[d + j];

            far[j] += m * m * inverse[d + j];
        }
    for (; d < D; d++)
        far[0] += (centre[d] - t->origin[d]) * (centre[d] - t->origin[d]) * inverse[d];
    far[0] = (far[0] + far[1]) + (far[2] + far[3]);
    t->log_error[column] =
        1.05 * rounding * (10.0 * (double)(D + 4) + (t->is_product ? 2.0 * sqrt((double)D * far[0]) : 0.0));
    t->tail_error[column] = t->is_product ? 0.0 : 2.1 * rounding * far[0];
}

CLONES
int set_bounds_of(score_table *t, int64_t column, const double *centre, const double *scale, const double *inverse)
{
    const double constant = t->constant[column], exponent = t->exponent[column];
    int fit = 1;

    if (t->n_wide > 0) {
        set_errors(t, column, centre, inverse);
        fit = t->in_double ? set_row_of_doubles(t, column, centre, scale, inverse)
                           : set_row_of_floats(t, column, centre, scale, inverse);
    } else {
        t->log_error[column] = ROUNDING * (double)(t->likelihood.D + 4);
    }
    t->upper[column] = (float)(constant + (t->is_product ? exponent * t->log_error[column] : t->tail_error[column]) +
                               COARSE_SLACK * (1.0 + fabs(constant)));
    t->slope[column] = (float)((t->is_product ? exponent : 1.0 - t->log_error[column]) * (1.0 - SLOPE_SLACK));
    return fit && t->log_error[column] < MOST_LOG_ERROR &&
           (t->in_double || exponent * t->log_error[column] < MOST_COARSE_NATS);
}

#include "scores/mapdpm_full_tails.h"

/* ---- the batch --------------------------------------------------------------------------------------------------- */

/* The points of the batch as rows, one behind another: the data itself, or a copy whose last row is repeated. */
static inline const mapdpm_real *rows_of_batch(const score_table *table)
{
    const int64_t D = table->likelihood.D;
    int64_t q;

    if (table->order == NULL && table->n_batch == MD_POINTS)
        return point(table, table->batch);
    for (q = 0; q < MD_POINTS; q++)
        memcpy(table->rows + q * D, point(table, point_of_lane(table, q < table->n_batch ? q : table->n_batch - 1)),
               (size_t)D * sizeof(mapdpm_real));
    return table->rows;
}

/* The rows behind those of the batch, if there are as many, else any. */
static inline const mapdpm_real *next_rows(const score_table *table)
{
    const int64_t after = table->batch + table->n_batch;

    if (table->order == NULL && after + MD_POINTS <= table->problem->n_points)
        return point(table, after);
    return table->rows;
}

void load_points(score_table *table, const int64_t *order, int64_t first, int64_t end)
{
    const int64_t most = table->is_full ? MD_BLOCK : MD_POINTS;

    table->order = order;
    table->batch = first;
    table->n_batch = end - first < most ? end - first : most;
    table->is_stale = 0;
    memset(table->own_column, 0, MD_POINTS * sizeof *table->own_column);
    if (table->has_bounds && table->by_factors)
        load_of_factors(table, rows_of_batch(table));
    else if (table->has_bounds && table->is_full)
        load_of_full(table);
    else if (table->has_bounds && table->in_double)
        load_of_doubles(table, rows_of_batch(table), next_rows(table));
    else if (table->has_bounds)
        load_of_floats(table, rows_of_batch(table), next_rows(table));
}

void load_batch(score_table *table, const int64_t *order, int64_t first, int64_t end)
{
    int64_t q;

    load_points(table, order, first, end);
    for (q = 0; q < table->n_batch && order == NULL; q++)
        table->own_column[q] = (int32_t)(table->clusters->labels[first + q] + 1);
    for (q = 0; q < table->n_batch && order != NULL; q++)
        table->own_column[q] = (int32_t)(slot_of_lane(table, q) + 1);
}

/* The bounds of the batch with the columns from `first` to before `end`. */
static inline void bound_columns(const score_table *table, int64_t first, int64_t end)
{
    if (table->by_factors)
        bound_columns_of_factors(table, first, end);
    else if (table->is_full)
        bound_columns_of_full(table, first, end);
    else if (table->in_double)
        bound_columns_of_doubles(table, first, end);
    else
        bound_columns_of_floats(table, first, end);
}

/* Beyond it the logarithm of the share that is left multiplies the rounding of the loss. */
static const double MOST_LOST = 0.95;

void bound_all_columns(const score_table *table)
{
    if (table->has_bounds)
        bound_columns(table, 0, table->n_columns);
}

/* A lower bound of a leave-one-out score, from that score. */
static inline float below_score(const score_table *table, int64_t column, double score)
{
    return (float)(score - 2.0 * COARSE_SLACK * (1.0 + fabs(score)) -
                   ROUNDING * (double)(table->likelihood.D + 4) * table->loo_exponent[column]);
}

/* Lower bounds of leave-one-out scores that have none yet. Points far out in their clusters are usual where these have
 * few points for their features. Their scores cost little compared with those of all columns. */
static inline void far_lower_bounds(score_table *table, uint32_t missing)
{
    for (; missing != 0; missing &= missing - 1) {
        const int q = lowest_bit(missing);
        const int64_t column = table->own_column[q];
        const double lost = table->loo_share[column] * (double)table->own_tail[q];
        double score;

        if (!(table->loo_constant[column] > -INFINITY))
            continue;
        if (table->is_full) {
            if (lost < MOST_LOST)
                table->least[q] = below_score(table, column, table->loo_constant[column] +
                                                                 (table->exponent[column] - 1.0) * log1p(-lost));
            continue;
        }
        load_point(table, point_of_lane(table, q));
        if (leave_one_out_in_closed_form(table, column - 1, table->x, &score))
            table->least[q] = below_score(table, column, score);
    }
}

uint32_t bound_batch(score_table *table)
{
    if (!table->has_bounds)
        return 0;
    if (has_two_stages(table))
        bound_own_of_full(table);
    else
        bound_columns(table, 0, table->n_columns);
    if (table->by_factors)
        least_of_factors(table);
    else
        far_lower_bounds(table, loo_lower_bounds(table));
    if (has_two_stages(table))
        bound_others_of_full(table);
    return only_one_above(table);
}

uint32_t bound_batch_after_move(score_table *table, int64_t q, int64_t from, int64_t to, uint32_t certain)
{
    if (q + 1 == table->n_batch || !table->has_bounds)
        return 0;
    if (table->is_stale) {
        load_batch(table, table->order, table->batch, table->batch + table->n_batch);
        return bound_batch(table);
    }
    if (from > 0)
        bound_columns(table, from, from + 1);
    bound_columns(table, to, to + 1);
    return certain == 0 || table->groups ? 0 : certain & unattracted(table, from, to);
}
