/* The columns of the score table: what a cluster, or a new one, adds to the scores of points, and to their bounds. */
#include "scores/mapdpm_scores.h"

const size_terms *size_terms_of(const score_table *table, double n)
{
    size_terms *const terms = table->size_cache + ((uint64_t)n & (SIZE_CACHE - 1));

    if (terms->n != n) {
        terms->n = n;
        terms->log_constant = statistics_log_constant(&table->likelihood, n);
        terms->log_weight = table->problem->weights ? 0.0 : n > 0.0 ? log_existing(table->problem, n, 1.0) : -INFINITY;
    }
    return terms;
}

double log_weight_of(score_table *table, int64_t slot, double n, int64_t less)
{
    const mapdpm_groups *const g = table->groups;
    const int64_t capacity = table->clusters->capacity;

    if (table->states)
        return log_or_never(weight_of_step(table->states, capacity, table->before, slot, table->after));
    if (g == NULL)
        return size_terms_of(table, n)->log_weight;
    return log_or_never((double)(g->table[table->group * capacity + slot] - less) +
                        weights_above(g, capacity, table->group)[slot]);
}

/* The copy for bounds is rounded up. */
void set_log_weight(score_table *table, int64_t column, double log_weight)
{
    table->log_weight[column] = log_weight;
    table->weight[column] =
        log_weight > -INFINITY ? (float)(log_weight + 2.0 * COARSE_SLACK * (1.0 + fabs(log_weight))) : -INFINITY;
}

/* Write the derived entries of a cluster into a column. For products, `spread` is 1 / scale. Returns whether the units
 * fit. */
ALWAYS_INLINE int set_column(score_table *table, int64_t column, double *statistics, const double *spread)
{
    const int64_t D = table->n_wide;
    const double *const constants = statistics_constants(&table->likelihood, statistics);
    const double *const inverse = diagonal_scale(statistics, D);

    if (table->likelihood.verbs)
        return 1;
    if (table->is_full)
        triangle_invert_diagonal(full_factor(statistics, table->likelihood.D),
                                 table->inverse + column * table->likelihood.D, table->likelihood.D);
    table->constant[column] = constants[0];
    table->exponent[column] = constants[1];
    return !table->has_units ||
           set_bounds_of(table, column, diagonal_centre(statistics, D), table->is_product ? spread : inverse, inverse);
}

/* The bounds of a leave-one-out score, from constants that set_leave_one_out has computed. Rounding may have lowered the
 * tail of a product by twice log_error, as it is below 2; and the loss grows at most 1 / (1 - LARGEST_LOSS) times as much
 * as the tail. */
static void set_own_bound(score_table *t, int64_t column)
{
    const double constant = t->loo_constant[column], rounding = t->log_error[column];
    const double share = t->loo_share[column] * (1.0 + SLOPE_SLACK);
    const double exponent = t->loo_exponent[column] * (1.0 + SLOPE_SLACK + (t->is_product ? 0.0 : 2.0 * rounding));
    const double error = exponent * share * (t->is_product ? 5.0 * rounding : 1.1 * t->tail_error[column]);
    own_bound *const own = t->own + column;

    own->constant = (float)(constant - error - COARSE_SLACK * (1.0 + fabs(constant)));
    own->exponent = (float)exponent;
    own->share = (float)share;
}

/* Complete the constants of leave-one-out scores of a slot by its prior weight. */
static void set_leave_one_out_weight(score_table *table, int64_t slot)
{
    const int64_t column = slot + 1;
    const double left = statistics_of(table, slot)[0] - 1.0;

    table->loo_constant[column] = table->loo_base[column] + log_weight_of(table, slot, left, 1);
    set_own_bound(table, column);
}

/* No point of a column has a bound of its leave-one-out score. */
static void forget_leave_one_out(score_table *table, int64_t column)
{
    table->loo_share[column] = table->loo_exponent[column] = table->loo_base[column] = 0.0;
    table->loo_constant[column] = -INFINITY;
    set_own_bound(table, column);
}

/* Change the scales of leave-one-out scores of a Normal-Gamma, from the full statistics, for rounded values: without the
 * cell of the point (docs/maths.md (152)). Returns the sum of log u, and in *most how much the scales grow at most. */
static double take_cells_out(const likelihood *f, double n, const double *scale, double *loo_scale, double *most)
{
    const double c = f->c0 + n, stretch = 2.0 * (c + 1.0) / c;
    double lost = 0.0, logs = 0.0;
    int64_t d;

    *most = 1.0;
    for (d = 0; d < f->D; d++) {
        const double cell = cell_of(f, d), b = 1.0 / (stretch * scale[d]); /* of one cell more than the statistics have */
        const double growth = b / (b - cell), u = 0.5 * cell / (b - 0.5 * cell);

        loo_scale[d] *= growth;
        *most = growth > *most ? growth : *most;
        lost += u - lost * u; /* 1 - the product of all 1 - u */
        if (lost > LARGEST_LOSS) {
            logs += log1p(-lost);
            lost = 0.0;
        }
    }
    return logs + log1p(-lost);
}

/* The constants of leave-one-out scores of points of weight 1, from the full statistics (docs/maths.md (10), (14),
 * (113)), and of their bounds. */
ALWAYS_INLINE void set_leave_one_out(score_table *table, int64_t slot)
{
    const likelihood *const f = &table->likelihood;
    const int64_t D = f->D, column = slot + 1;
    double *const statistics = statistics_of(table, slot), *const scale = diagonal_scale(statistics, D);
    double *const loo_scale = table->loo_scale + slot * table->n_wide;
    const double n = statistics[0], left = n - 1.0, *const constants = statistics_constants(f, statistics);
    double share = 0.0, constant, exponent = 1.0;
    int64_t d;

    if (table->clusters->counts[slot] < 2 || table->problem->weights || f->verbs) {
        forget_leave_one_out(table, column); /* a point that is alone is scored in full, and verbs have no such form */
        return;
    }
    if (is_skipping(f->kind)) {
        constant = 0.0; /* each feature has its own */
    } else if (table->is_full) {
        const double cn = f->c0 + n;

        share = (cn + 1.0) / (cn - 1.0);
        constant = size_terms_of(table, left)->log_constant - constants[3];
        exponent = constants[1] - 1.0;
    } else if (f->kind == MAPDPM_NORMAL_KNOWN_VARIANCE) {
        for (d = 0; d < D; d++)
            loo_scale[d] = f->noise_scale[d] * ((f->noise_scale[d] + n * f->prior_variance[d]) /
                                                (f->noise_scale[d] + left * f->prior_variance[d]));
        constant = -0.5 * ((double)D * LOG_2PI + log_product(loo_scale, D)) - known_cost_of_cells(f);
        for (d = 0; d < D; d++) {
            loo_scale[d] *= 0.5 / (f->noise_scale[d] * f->noise_scale[d]);
            share = loo_scale[d] / scale[d] > share ? loo_scale[d] / scale[d] : share;
        }
    } else {
        if (f->kind == MAPDPM_NORMAL_GAMMA) {
            const double cn = f->c0 + n;

            share = (cn + 1.0) / (cn - 1.0);
            constant = (double)D * size_terms_of(table, left)->log_constant - 0.5 * constants[2];
            exponent = f->a0 + 0.5 * n - 0.5;
        } else {
            share = (n + 1.0) / left;
            constant = 0.0;
        }
        for (d = 0; d < D; d++)
            loo_scale[d] = scale[d] * share;
        if (f->resolution) {
            double most;

            constant += exponent * take_cells_out(f, n, scale, loo_scale, &most);
            share *= most;
        }
    }
    table->loo_base[column] = constant;
    table->loo_share[column] = share * (1.0 + SLACK);
    table->loo_exponent[column] = exponent * (1.0 + (double)D * SLACK);
    set_leave_one_out_weight(table, slot);
}

void set_n_used(score_table *table, int64_t used)
{
    const int64_t capacity = table->clusters->capacity;

    table->n_used = used;
    if (table->states)
        set_log_weight(table, 0, log_or_never(weight_of_new_state(table->states, capacity, table->after)));
    else if (table->groups)
        set_log_weight(table, 0, log_or_never(weights_above(table->groups, capacity, table->group)[capacity]));
    else
        set_log_weight(table, 0, log_new(table->problem, used, 1.0));
}

/* Fill the column of a slot in use. The derived entries of its statistics are up to date. Returns whether the units
 * fit. */
ALWAYS_INLINE int fill_column(score_table *table, int64_t slot, const double *spread)
{
    const int64_t column = slot + 1;
    int fit;

    set_log_weight(table, column, log_weight_of(table, slot, statistics_of(table, slot)[0], 0));
    table->n_columns = column + 1 > table->n_columns ? column + 1 : table->n_columns;
    fit = set_column(table, column, statistics_of(table, slot), spread);
    if (!table->is_start)
        set_leave_one_out(table, slot);
    return fit;
}

void set_log_weights(score_table *table)
{
    int64_t k;

    for (k = 0; k < table->clusters->capacity; k++)
        if (table->clusters->counts[k] > 0) {
            set_log_weight(table, k + 1, log_weight_of(table, k, 0.0, 0));
            if (table->clusters->counts[k] > 1)
                set_leave_one_out_weight(table, k);
        }
    set_n_used(table, table->n_used);
}

void set_group(score_table *table, int64_t group)
{
    if (table->group == group)
        return;
    table->group = group;
    set_log_weights(table);
}

static void find_free_slot(score_table *table)
{
    const mapdpm_clusters *const z = table->clusters;
    int64_t k;

    for (k = 0; k < z->capacity && z->counts[k] > 0; k++)
        ;
    table->free_slot = k < z->capacity ? k : -1;
}

/* 1 / scale of prepared statistics, for products. It only reads them: other threads may read them too. */
static const double *spread_of(const score_table *table, double *statistics)
{
    int64_t d;

    for (d = 0; d < table->n_wide && table->is_product; d++)
        table->scratch[d] = 1.0 / diagonal_scale(statistics, table->n_wide)[d];
    return table->scratch;
}

/* ---- units ------------------------------------------------------------------------------------------------------- */

/* A scale in new units is at most 1 / this. */
static const double SCALE_OF_UNITS = 16.0;

/* Choose units for the columns in use: their mean centre, and the least powers of 2 that leave scales some room to grow.
 * Returns 0 if there are none. */
static int choose_units(score_table *table)
{
    const int64_t D = table->n_wide;
    int64_t k, d, used = 0;

    memset(table->origin, 0, (size_t)D * sizeof(double));
    for (d = 0; d < D; d++)
        table->unit[d] = 1.0 / diagonal_scale(table->likelihood.empty, D)[d];
    for (k = 1; k < table->n_columns; k++)
        if (is_column_used(table, k)) {
            double *const statistics = statistics_of(table, k - 1);

            for (d = 0; d < D; d++) {
                const double g = 1.0 / diagonal_scale(statistics, D)[d];

                table->origin[d] += diagonal_centre(statistics, D)[d];
                table->unit[d] = table->unit[d] > g ? table->unit[d] : g;
            }
            used++;
        }
    for (d = 0; d < D; d++) {
        int power;

        if (!(table->unit[d] > 1e-280 && table->unit[d] < 1e280))
            return 0;
        (void)frexp(sqrt(SCALE_OF_UNITS * table->unit[d]), &power);
        table->unit[d] = ldexp(1.0, power);
        table->per_unit[d] = ldexp(1.0, -power);
        table->square[d] = ldexp(1.0, 2 * power);
        table->per_square[d] = ldexp(1.0, -2 * power);
        table->origin[d] = used ? table->origin[d] / (double)used : diagonal_centre(table->likelihood.empty, D)[d];
    }
    return 1;
}

int set_all_bounds(score_table *table)
{
    int64_t k;
    int fit = 1;

    for (k = 0; k < table->n_columns; k++)
        if (is_column_used(table, k)) {
            double *const statistics = k > 0 ? statistics_of(table, k - 1) : table->likelihood.empty;
            const double *const inverse = diagonal_scale(statistics, table->n_wide);

            fit &= set_bounds_of(table, k, diagonal_centre(statistics, table->n_wide),
                                 table->is_product ? spread_of(table, statistics) : inverse, inverse);
            set_own_bound(table, k);
        }
    return fit;
}

/* Choose new units, and write all columns in them. If they do not fit in double either, there are no bounds. */
static void set_units(score_table *table)
{
    table->is_stale = table->has_units = 1;
    table->has_bounds = choose_units(table) && (set_all_bounds(table) || table->is_full ||
                                                (!table->in_double && (table->in_double = 1) && set_all_bounds(table)));
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

/* A column that is not in use. */
static void clear_column(score_table *table, int64_t column)
{
    table->constant[column] = table->exponent[column] = table->log_error[column] = table->tail_error[column] = 0.0;
    table->upper[column] = table->slope[column] = 0.0f;
    set_log_weight(table, column, -INFINITY);
    forget_leave_one_out(table, column);
}

void fill_columns(score_table *table)
{
    const mapdpm_problem *const p = table->problem;
    const mapdpm_clusters *const z = table->clusters;
    int64_t k, used = 0;

    for (k = 0; k < SIZE_CACHE; k++)
        table->size_cache[k].n = -1.0;
    for (k = 0; k < table->stride; k++)
        clear_column(table, k);
    table->n_columns = 1;
    (void)set_column(table, 0, table->likelihood.empty, NULL);
    for (k = 0; k < z->capacity; k++)
        if (z->counts[k] > 0) {
            (void)fill_column(table, k, NULL); /* has no units yet, so spreads are not read */
            used++;
        }
    find_free_slot(table);
    set_n_used(table, used);
    table->has_bounds = 0;
    if (!p->weights && !p->verbs && !is_skipping(p->family) && (HAS_VECTORS || !table->is_full))
        set_units(table);
    table->by_factors = has_factors_in_lanes(table);
    table->has_bounds |= table->by_factors;
}

/* ---- after a change ---------------------------------------------------------------------------------------------- */

CLONES
void refresh_column(score_table *table, int64_t slot)
{
    const int64_t is_free = table->clusters->counts[slot] == 0, column = slot + 1;
    double *const statistics = statistics_of(table, slot);

    if (is_free) {
        statistics_clear(&table->likelihood, statistics);
        set_log_weight(table, column, -INFINITY);
        forget_leave_one_out(table, column);
    } else {
        statistics_prepare_with(&table->likelihood, statistics, size_terms_of(table, statistics[0])->log_constant,
                                table->scratch);
        if (!fill_column(table, slot, table->scratch) && table->has_bounds)
            set_units(table);
    }
    if (is_free || slot == table->free_slot)
        find_free_slot(table);
}
