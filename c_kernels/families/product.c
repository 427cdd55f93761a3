/* A product of families over columns of the points, whose values may be missing. A row is a weight, and then the rows of
 * the factors, each of which has its own points: those with values there. The twin of mapdpm/likelihoods/_product.py,
 * and of _skipping.py, where each column has a factor, and the rows lie side by side.
 */
#include "families/mapdpm_likelihood.h"

/* The columns of a factor, or NULL if it is left out, because none of them is there. If only some are, it is a product,
 * which knows what to leave out. */
static const double *columns_of(const mapdpm_factor *f, const double *x)
{
    const double *const own = x + f->column;
    int64_t d;

    for (d = 0; d < f->view.n_columns; d++)
        if (own[d] == own[d])
            return own;
    return NULL;
}

/* n numbers of a factor, or a copy of them in `room` if they are no neighbours. */
static const double *gathered(const mapdpm_factor *f, const double *from, int64_t n, double *room)
{
    int64_t j;

    if (f->stride == 1)
        return from;
    for (j = 0; j < n; j++)
        room[j] = from[j * f->stride];
    return room;
}

static const double *row_of(const mapdpm_factor *f, const double *row, double *room)
{
    return gathered(f, row + f->place, f->view.size, room);
}

/* Where a factor may write its row; put_back brings it there. */
static double *place_of(const mapdpm_factor *f, double *row, double *room)
{
    return f->stride == 1 ? row + f->place : room;
}

/* The same, with the row. */
static double *taken(const mapdpm_factor *f, double *row, double *room)
{
    (void)row_of(f, row, room);
    return place_of(f, row, room);
}

static void put_back(const mapdpm_factor *f, double *row, const double *own)
{
    int64_t j;

    for (j = 0; j < f->view.size && f->stride != 1; j++)
        row[f->place + j * f->stride] = own[j];
}

static void product_init(const mapdpm_family_view *self, double *row)
{
    double room[MAPDPM_MOST_GATHERED];
    int64_t k;

    row[0] = 0.0;
    for (k = 0; k < self->n_factors; k++) {
        const mapdpm_factor *const f = self->factors + k;
        double *const own = place_of(f, row, room);

        f->verbs->init(&f->view, own);
        put_back(f, row, own);
    }
}

static void product_prepare(const mapdpm_family_view *self, double *row)
{
    double room[MAPDPM_MOST_GATHERED];
    int64_t k;

    for (k = 0; k < self->n_factors; k++) {
        const mapdpm_factor *const f = self->factors + k;
        double *const own = taken(f, row, room);

        f->verbs->prepare(&f->view, own);
        put_back(f, row, own);
    }
}

static void product_add(const mapdpm_family_view *self, double *row, const double *x, double w)
{
    double room[MAPDPM_MOST_GATHERED];
    int64_t k;

    row[0] += w;
    for (k = 0; k < self->n_factors; k++) {
        const mapdpm_factor *const f = self->factors + k;
        const double *const columns = columns_of(f, x);
        double *own;

        if (columns == NULL)
            continue;
        own = taken(f, row, room);
        f->verbs->add(&f->view, own, columns, w);
        put_back(f, row, own);
    }
}

/* The inverse of product_add. A factor that loses its last point is empty; whole weights say so exactly. */
static int product_remove(const mapdpm_family_view *self, double *row, const double *x, double w)
{
    const double left = row[0] - w;
    const int is_whole = w == floor(w);
    double room[MAPDPM_MOST_GATHERED];
    int64_t k;

    if (left < LEAST_SHARE_LEFT * row[0] && !(left > 0.0 && is_whole && row[0] == floor(row[0])))
        return 0;
    row[0] = left;
    for (k = 0; k < self->n_factors; k++) {
        const mapdpm_factor *const f = self->factors + k;
        const double *const columns = columns_of(f, x);
        double *own;
        int is_fine = 1;

        if (columns == NULL)
            continue;
        own = taken(f, row, room);
        if (own[0] == w && is_whole)
            f->verbs->init(&f->view, own);
        else
            is_fine = own[0] > w && f->verbs->remove(&f->view, own, columns, w);
        put_back(f, row, own);
        if (!is_fine)
            return 0;
    }
    return 1;
}

static void product_merge(const mapdpm_family_view *self, double *row, const double *other)
{
    double room[MAPDPM_MOST_GATHERED], others[MAPDPM_MOST_GATHERED];
    int64_t k;

    row[0] += other[0];
    for (k = 0; k < self->n_factors; k++) {
        const mapdpm_factor *const f = self->factors + k;
        double *const own = taken(f, row, room);

        f->verbs->merge(&f->view, own, gathered(f, other + f->place, f->view.n_statistics, others));
        put_back(f, row, own);
    }
}

static double product_log_predictive(const mapdpm_family_view *self, const double *row, const double *x)
{
    double room[MAPDPM_MOST_GATHERED], total = 0.0;
    int64_t k;

    for (k = 0; k < self->n_factors; k++) {
        const mapdpm_factor *const f = self->factors + k;
        const double *const columns = columns_of(f, x);

        if (columns != NULL)
            total += f->verbs->log_predictive(&f->view, row_of(f, row, room), columns);
    }
    return total;
}

static double product_log_predictive_weighted(const mapdpm_family_view *self, const double *row, const double *x,
                                              double w)
{
    double room[MAPDPM_MOST_GATHERED], total = 0.0;
    int64_t k;

    for (k = 0; k < self->n_factors; k++) {
        const mapdpm_factor *const f = self->factors + k;
        const double *const columns = columns_of(f, x);

        if (columns != NULL)
            total += f->verbs->log_predictive_weighted(&f->view, row_of(f, row, room), columns, w);
    }
    return total;
}

static double product_log_marginal(const mapdpm_family_view *self, const double *row)
{
    double room[MAPDPM_MOST_GATHERED], total = 0.0;
    int64_t k;

    for (k = 0; k < self->n_factors; k++) {
        const mapdpm_factor *const f = self->factors + k;

        total += f->verbs->log_marginal(&f->view, row_of(f, row, room));
    }
    return total;
}

/* The sum over the factors of which both have points: elsewhere the union is one of the two. */
static double product_log_merge(const mapdpm_family_view *self, const double *both, const double *row,
                                const double *other)
{
    double rooms[3][MAPDPM_MOST_GATHERED], total = 0.0;
    int64_t k;

    for (k = 0; k < self->n_factors; k++) {
        const mapdpm_factor *const f = self->factors + k;

        if (row[f->place] > 0.0 && other[f->place] > 0.0)
            total += f->verbs->log_merge(&f->view, row_of(f, both, rooms[0]), row_of(f, row, rooms[1]),
                                         row_of(f, other, rooms[2]));
    }
    return total;
}

static double product_log_likelihood(const mapdpm_family_view *self, const double *parameters, const double *x)
{
    double room[MAPDPM_MOST_GATHERED], total = 0.0;
    int64_t k;

    for (k = 0; k < self->n_factors; k++) {
        const mapdpm_factor *const f = self->factors + k;
        const double *const columns = columns_of(f, x);

        if (columns != NULL)
            total += f->verbs->log_likelihood(
                &f->view, gathered(f, parameters + f->parameters, f->view.n_parameters, room), columns);
    }
    return total;
}

/* The log predictive of one factor without the point, by a removal from a copy; NaN if that fails. */
static double factor_without(const mapdpm_factor *f, const double *row, const double *x)
{
    double copy[MAPDPM_MOST_GATHERED];

    if (f->view.size > MAPDPM_MOST_GATHERED)
        return NAN;
    if (f->stride == 1)
        memcpy(copy, row + f->place, (size_t)f->view.size * sizeof *copy);
    else
        (void)row_of(f, row, copy);
    if (copy[0] == 1.0)
        f->verbs->init(&f->view, copy);
    else if (copy[0] < 1.0 || !f->verbs->remove(&f->view, copy, x, 1.0))
        return NAN;
    f->verbs->prepare(&f->view, copy);
    return f->verbs->log_predictive(&f->view, copy, x);
}

static double product_log_predictive_without(const mapdpm_family_view *self, const double *row, const double *x)
{
    double room[MAPDPM_MOST_GATHERED], total = 0.0;
    int64_t k;

    for (k = 0; k < self->n_factors && total == total; k++) {
        const mapdpm_factor *const f = self->factors + k;
        const double *const columns = columns_of(f, x);
        double own = NAN;

        if (columns == NULL)
            continue;
        if (f->verbs->log_predictive_without)
            own = f->verbs->log_predictive_without(&f->view, row_of(f, row, room), columns);
        total += own == own ? own : factor_without(f, row, columns);
    }
    return total;
}

static const mapdpm_verbs product = {
    product_init,
    product_prepare,
    product_add,
    product_remove,
    product_merge,
    product_log_predictive,
    product_log_predictive_weighted,
    product_log_marginal,
    product_log_merge,
    product_log_likelihood,
    product_log_predictive_without,
};

const mapdpm_verbs *mapdpm_verbs_of_product(void) { return &product; }
