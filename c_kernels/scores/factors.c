/* Bounds of the scores of a batch of points with families that are called by their verbs: the scores themselves, in
 * float. Forms that C knows are computed with the points in the lanes of vectors, and the others by verbs, point by
 * point. As with other bounds (bounds.c), what they leave open is scored exactly. Internal to the batch kernels.
 */
#include "scores/mapdpm_scores.h"

/* A larger product may have overflowed, and a smaller one of what points leave of scales has lost its digits. */
static const double MOST_EXCESS = 1e300, LEAST_LEFT = 1e-280;

/* Larger counts, and larger sums of counts, are scored by their verb. */
enum { MOST_EVENTS = 32 };
static const double MOST_SUM = 1e8;

/* No lower bound: below any score, and a float even where some add up. */
static const double NO_BOUND = -1e30;

/* Whether some of the scores have a form that C knows. */
static int has_form(const mapdpm_family_view *view)
{
    int64_t k;

    for (k = 0; k < view->n_factors; k++)
        if (has_form(&view->factors[k].view))
            return 1;
    return view->form != MAPDPM_BY_VERB;
}

int64_t features_in_lanes(const mapdpm_problem *p) { return p->verbs && has_form(p->view) ? p->n_features : 0; }

int has_factors_in_lanes(const score_table *t)
{
    return features_in_lanes(t->problem) > 0 && !t->problem->weights;
}

void load_of_factors(const score_table *t, const mapdpm_real *restrict rows)
{
    const int64_t D = t->likelihood.D;
    double *restrict const lanes = t->lanes;
    int64_t d, q;

    for (d = 0; d < D; d++)
        for (q = 0; q < MD_POINTS; q++)
            lanes[d * MD_POINTS + q] = (double)rows[q * D + d];
}

/* Everything from here on is a bound, as in bounds.c. */
#if defined(__clang__)
#pragma clang fp contract(fast)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=fast", "no-loop-unroll-and-jam")
#endif

/* Features of one form: a family with its row, whose entries are `stride` apart from one feature to the next. */
typedef struct features {
    const mapdpm_family_view *family;
    const double *row;
    int64_t D;
    int64_t stride;
    const double *lanes;
} features;

/* A term with a missing value is NaN, and left out. */
ALWAYS_INLINE void add_terms(const double *restrict terms, double *restrict scores)
{
    int64_t q;

    for (q = 0; q < MD_POINTS; q++)
        scores[q] += terms[q] == terms[q] ? terms[q] : 0.0;
}

/* Student t densities: constant - exponent log prod_d (1 + scale (x - centre)^2). Returns whether no product overflows. */
CLONES
static int add_student(const features *f, double *restrict scores)
{
    const double *const entries = f->row + f->stride * (1 + 2 * f->D), *const centres = entries + 4 * f->stride;
    const double *const scales = centres + f->D * f->stride, constant = entries[0], exponent = entries[f->stride];
    double terms[MD_POINTS] = {0};
    int64_t d, q;
    int fits = 1;

    for (d = 0; d < f->D; d++) {
        const double centre = centres[d * f->stride], scale = scales[d * f->stride];
        const double *restrict const x = f->lanes + d * MD_POINTS;

        for (q = 0; q < MD_POINTS; q++) {
            const double t = x[q] - centre, u = t * t * scale;

            terms[q] += u + terms[q] * u;
        }
    }
    for (q = 0; q < MD_POINTS; q++)
        fits &= !(terms[q] > MOST_EXCESS);
    for (q = 0; q < MD_POINTS; q++)
        terms[q] = constant - exponent * log1p_of(terms[q]) + (terms[q] - terms[q]);
    if (fits)
        add_terms(terms, scores);
    return fits;
}

/* The same without the point, which is in the cluster: docs/maths.md (10), (152). */
CLONES
static void add_student_without(const features *f, double *restrict scores)
{
    const double *const entries = f->row + f->stride * (1 + 2 * f->D), *const centres = entries + 4 * f->stride;
    const double *const scales = centres + f->D * f->stride, *const resolution = f->family->fields[4];
    const double n = f->row[0], c = f->family->fields[1][0] + n, a = f->family->fields[2][0] + 0.5 * n;
    const double stretch = 2.0 * (c + 1.0) / c, share = 0.5 * c / (c - 1.0);
    double left[MD_POINTS], least[MD_POINTS], constant = 0.0;
    int64_t d, q;

    if (n > 1.0)
        constant = (double)f->D * (log_rising(a - 0.5, 0.5) - 0.5 * (LOG_2PI + log(c / (c - 1.0)))) -
                   0.5 * entries[2 * f->stride];
    for (q = 0; q < MD_POINTS; q++)
        left[q] = least[q] = n > 1.0 ? 1.0 : 0.0;
    for (d = 0; d < f->D; d++) {
        const double centre = centres[d * f->stride], cell = resolution[d] * resolution[d] / 24.0;
        const double inverse = 1.0 / (1.0 / (stretch * scales[d * f->stride]) - cell);
        const double *restrict const x = f->lanes + d * MD_POINTS;

        for (q = 0; q < MD_POINTS; q++) {
            const double t = x[q] - centre, kept = 1.0 - (cell + share * t * t) * inverse;

            left[q] *= kept;
            least[q] = kept < least[q] ? kept : least[q];
        }
    }
    for (q = 0; q < MD_POINTS; q++) {
        const int is_known = least[q] >= LEAST_SHARE_LEFT && left[q] > LEAST_LEFT;
        const double term = constant + (a - 0.5) * log_positive(is_known ? left[q] : 1.0);

        left[q] = (is_known ? term : NO_BOUND) + (left[q] - left[q]);
    }
    add_terms(left, scores);
}

/* Log probabilities of zeros and ones. */
CLONES
static void add_bernoulli(const features *f, double *restrict scores)
{
    const double *const ones = f->row + f->stride * (2 + f->D), *const zeros = ones + f->stride * f->D;
    int64_t d, q;

    for (d = 0; d < f->D; d++) {
        const double one = ones[d * f->stride], zero = zeros[d * f->stride];
        const double *restrict const x = f->lanes + d * MD_POINTS;

        for (q = 0; q < MD_POINTS; q++)
            scores[q] += x[q] == 1.0 ? one : x[q] == 0.0 ? zero : 0.0;
    }
}

CLONES
static void add_bernoulli_without(const features *f, double *restrict scores)
{
    int64_t d, q;

    for (d = 0; d < f->D; d++) {
        const double n = f->row[0], n_ones = f->row[(1 + d) * f->stride];
        const double a = f->family->fields[0][d] + n_ones, b = f->family->fields[1][d] + (n - n_ones);
        const double one = n_ones >= 1.0 ? -log1p(b / (a - 1.0)) : NO_BOUND;
        const double zero = n - n_ones >= 1.0 ? -log1p(a / (b - 1.0)) : NO_BOUND;
        const double *restrict const x = f->lanes + d * MD_POINTS;

        for (q = 0; q < MD_POINTS; q++)
            scores[q] += x[q] == 1.0 ? one : x[q] == 0.0 ? zero : 0.0;
    }
}

/* The largest count of a feature, if all are small. */
static int64_t most_events(const double *x)
{
    double most = 0.0;
    int64_t q;

    for (q = 0; q < MD_POINTS; q++)
        most = x[q] > most ? x[q] : most;
    return most <= MOST_EVENTS ? (int64_t)most : -1;
}

/* Negative binomials of counts: a rising factorial over that of 1 is a product of so many factors. Without the point, its
 * events and itself are taken out. Returns whether all counts are small. */
CLONES
static int add_poisson(const features *f, int is_without, double *restrict scores)
{
    const double n = f->row[0] - is_without, *const logs = f->row + (4 + f->D) * f->stride;
    int64_t d, q, j;

    for (d = 0; d < f->D; d++) {
        const double *restrict const x = f->lanes + d * MD_POINTS;
        const double sum = f->family->fields[0][d] + f->row[(1 + d) * f->stride], b = f->family->fields[1][d] + n;
        const double none = -log1p(1.0 / b), one = -(is_without ? log(b + 1.0) : logs[d * f->stride]);
        const int64_t most = most_events(x);
        double a[MD_POINTS], product[MD_POINTS];

        if (most < 0 || !(sum < MOST_SUM))
            return 0;
        for (q = 0; q < MD_POINTS; q++) {
            a[q] = sum - (is_without ? x[q] : 0.0);
            product[q] = 1.0;
        }
        for (j = 0; j < most; j++)
            for (q = 0; q < MD_POINTS; q++)
                product[q] *= (double)j < x[q] ? (a[q] + (double)j) / (double)(j + 1) : 1.0;
        for (q = 0; q < MD_POINTS; q++) { /* the points of other clusters may leave nothing */
            const int is_known = product[q] > LEAST_LEFT && a[q] > 0.0;
            const double term = log_positive(is_known ? product[q] : 1.0) + a[q] * none + x[q] * one;

            scores[q] += x[q] == x[q] ? (is_known ? term : NO_BOUND) : 0.0;
        }
    }
    return 1;
}

#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif

/* Any family, point by point; without the point, of those that are in the column. */
static void add_by_verb(const score_table *t, const mapdpm_verbs *verbs, const features *f, int64_t without,
                        double *scores)
{
    double *const x = t->scratch;
    int64_t d, q;

    for (q = 0; q < t->n_batch; q++) {
        int is_any_there = 0;
        double term = NAN;

        for (d = 0; d < f->family->n_columns; d++) {
            x[d] = f->lanes[d * MD_POINTS + q];
            is_any_there |= x[d] == x[d];
        }
        if (!is_any_there || (without && t->own_column[q] != without))
            continue;
        if (!without)
            term = verbs->log_predictive(f->family, f->row, x);
        else if (verbs->log_predictive_without)
            term = verbs->log_predictive_without(f->family, f->row, x);
        scores[q] += term == term ? term : NO_BOUND;
    }
}

/* Features of a form that C knows. Returns whether that is done. */
static int add_by_form(const features *f, int32_t form, int64_t without, double *scores)
{
    if (form == MAPDPM_STUDENT && !without)
        return add_student(f, scores);
    if (form == MAPDPM_POISSON)
        return add_poisson(f, without > 0, scores);
    if (form == MAPDPM_STUDENT)
        add_student_without(f, scores);
    else if (form == MAPDPM_BERNOULLI && !without)
        add_bernoulli(f, scores);
    else if (form == MAPDPM_BERNOULLI)
        add_bernoulli_without(f, scores);
    return form != MAPDPM_BY_VERB;
}

/* Add the scores of the batch with a row of a family; or, for the points in column `without`, those without the point. */
static void add_scores(const score_table *t, const mapdpm_verbs *verbs, const mapdpm_family_view *family,
                       const double *row, const double *lanes, int64_t without, double *scores)
{
    const features all = {family, row, family->n_entries, 1, lanes};
    const int64_t n = family->n_factors;
    double sums[MD_POINTS] = {0};
    int64_t k, q;
    int is_done = 1;

    if (n > 0 && family->factors[0].stride == 1 && family->form == MAPDPM_BY_VERB) {
        for (k = 0; k < n; k++) {
            const mapdpm_factor *const f = family->factors + k;

            add_scores(t, f->verbs, &f->view, row + f->place, lanes + f->column * MD_POINTS, without, scores);
        }
        return;
    }
    for (k = 0; k < n && is_done; k++) { /* features whose rows lie side by side */
        const mapdpm_factor *const f = family->factors + k;
        const features one = {&f->view, row + f->place, 1, f->stride, lanes + f->column * MD_POINTS};

        is_done = add_by_form(&one, family->form, without, sums);
    }
    if (n == 0)
        is_done = add_by_form(&all, family->form, without, sums);
    if (!is_done) {
        memset(sums, 0, sizeof sums);
        add_by_verb(t, verbs, &all, without, sums);
    }
    for (q = 0; q < MD_POINTS; q++)
        scores[q] += sums[q];
}

/* What float and other orders of operations may change in a score. */
static inline double slack_of(double score) { return 2.0 * COARSE_SLACK * (1.0 + fabs(score)); }

void bound_columns_of_factors(const score_table *t, int64_t first, int64_t end)
{
    int64_t k, q;

    for (k = first; k < end; k++) {
        float *const bounds = t->bounds + k * MD_POINTS;
        double scores[MD_POINTS] = {0};

        if (is_column_used(t, k))
            add_scores(t, t->likelihood.verbs, t->likelihood.view, statistics_of_column(t, k), t->lanes, 0, scores);
        for (q = 0; q < MD_POINTS; q++)
            bounds[q] = is_column_used(t, k) ? (float)(scores[q] + slack_of(scores[q])) : NEVER;
    }
}

void least_of_factors(score_table *t)
{
    int64_t j, q;

    for (q = 0; q < MD_POINTS; q++)
        t->least[q] = -INFINITY;
    for (j = 0; j < t->n_batch; j++) {
        const int64_t column = t->own_column[j];
        double scores[MD_POINTS] = {0}, weight;

        if (t->least[j] > -INFINITY || column == 0 || t->clusters->counts[column - 1] < 2)
            continue;
        weight = log_weight_of(t, column - 1, statistics_of(t, column - 1)[0] - 1.0, 1);
        add_scores(t, t->likelihood.verbs, t->likelihood.view, statistics_of(t, column - 1), t->lanes, column, scores);
        for (q = 0; q < t->n_batch; q++)
            if (t->own_column[q] == column)
                t->least[q] = (float)(scores[q] + weight - slack_of(scores[q]) - slack_of(weight));
    }
}
