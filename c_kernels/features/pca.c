/* PCA: `first` principal components of the n first rows, and the logarithm of what they leave of a row
 * (docs/maths.md (188), decision 165).
 *
 * The state is the mean [D], a matrix [D][D] and axes [D][D]. The matrix is the scatter of the first rows, then it is
 * diagonal: the sums of squares along the axes, which are rows, the largest first. The counter is the rows, up to n.
 */
#include "features/mapdpm_transformers.h"

enum { MOST_TURNS = 40 };
#define LEAST_OFF_DIAGONAL FLOAT_OR_DOUBLE(7.4505806e-09, 1.3877787807814457e-17) /* 2^-27, 2^-56 */
#define LEAST_RESIDUAL FLOAT_OR_DOUBLE(1e-9, 1e-9)

typedef struct {
    uint32_t D;
    md_real *mean, *matrix, *axes;
} pca_state;

static pca_state pca_of(const step_run *r)
{
    const uint32_t D = r->p->from;
    pca_state s = {D, r->state, r->state + D, r->state + D + (size_t)D * D};

    return s;
}

static md_real *entry(md_real *matrix, uint32_t D, uint32_t i, uint32_t j) { return matrix + (size_t)i * D + j; }

static md_real trace_of(const md_real *matrix, uint32_t D)
{
    md_real sum = 0;
    uint32_t i;

    for (i = 0; i < D; i++)
        sum += matrix[(size_t)i * D + i];
    return sum;
}

/* Welford's update of the mean and of the scatter, with the row as the m-th one. */
static void add_row(const pca_state *s, const md_real *x, uint32_t m)
{
    const md_real share = (md_real)(m - 1) / (md_real)m;
    uint32_t i, j;

    for (i = 0; i < s->D; i++)
        for (j = 0; j <= i; j++) {
            const md_real more = share * (x[i] - s->mean[i]) * (x[j] - s->mean[j]);

            *entry(s->matrix, s->D, i, j) += more;
            *entry(s->matrix, s->D, j, i) = *entry(s->matrix, s->D, i, j);
        }
    for (i = 0; i < s->D; i++)
        s->mean[i] += (x[i] - s->mean[i]) / (md_real)m;
}

/* A rotation of two entries. */
static void rotate(md_real *a, md_real *b, md_real c, md_real sine)
{
    const md_real x = *a, y = *b;

    *a = c * x - sine * y;
    *b = sine * x + c * y;
}

/* Jacobi's rotation of the axes p < q, after which the entry (p, q) of the matrix is 0. */
static void turn(const pca_state *s, uint32_t p, uint32_t q)
{
    const md_real off = *entry(s->matrix, s->D, p, q);
    const md_real theta = (*entry(s->matrix, s->D, q, q) - *entry(s->matrix, s->D, p, p)) / (2 * off);
    const md_real root = math_sqrt(theta * theta + 1), t = theta >= 0 ? 1 / (theta + root) : 1 / (theta - root);
    const md_real c = 1 / math_sqrt(t * t + 1);
    uint32_t i;

    for (i = 0; i < s->D; i++)
        rotate(entry(s->matrix, s->D, i, p), entry(s->matrix, s->D, i, q), c, t * c);
    for (i = 0; i < s->D; i++) {
        rotate(entry(s->matrix, s->D, p, i), entry(s->matrix, s->D, q, i), c, t * c);
        rotate(entry(s->axes, s->D, p, i), entry(s->axes, s->D, q, i), c, t * c);
    }
}

static void swap(md_real *a, md_real *b)
{
    const md_real x = *a;

    *a = *b;
    *b = x;
}

/* The largest entry of an axis is positive, and the largest sums of squares come first. */
static void sort_axes(const pca_state *s)
{
    uint32_t i, j;

    for (i = 0; i < s->D; i++) {
        md_real *const axis = s->axes + (size_t)i * s->D;
        uint32_t most = i, largest = 0;

        for (j = i + 1; j < s->D; j++)
            if (*entry(s->matrix, s->D, j, j) > *entry(s->matrix, s->D, most, most))
                most = j;
        swap(entry(s->matrix, s->D, i, i), entry(s->matrix, s->D, most, most));
        for (j = 0; j < s->D; j++)
            swap(axis + j, entry(s->axes, s->D, most, j));
        for (j = 1; j < s->D; j++)
            if (axis[j] * axis[j] > axis[largest] * axis[largest])
                largest = j;
        if (axis[largest] < 0)
            for (j = 0; j < s->D; j++)
                axis[j] = -axis[j];
    }
}

/* The axes of the scatter, by cyclic Jacobi rotations. The matrix has a trace of 1 meanwhile: what is negligible beside
 * that is left. */
static void find_axes(const pca_state *s)
{
    const uint32_t D = s->D;
    const md_real trace = trace_of(s->matrix, D);
    uint32_t i, j, turned = 1, sweep;

    for (i = 0; i < D; i++)
        *entry(s->axes, D, i, i) = 1;
    if (!(trace > 0))
        return;
    for (i = 0; i < D; i++)
        for (j = 0; j < D; j++)
            *entry(s->matrix, D, i, j) /= trace;
    for (sweep = 0; turned != 0 && sweep < MOST_TURNS; sweep++) {
        turned = 0;
        for (i = 0; i < D; i++)
            for (j = i + 1; j < D; j++) {
                const md_real off = *entry(s->matrix, D, i, j);

                if (off > LEAST_OFF_DIAGONAL || off < -LEAST_OFF_DIAGONAL) {
                    turn(s, i, j);
                    turned = 1;
                }
            }
    }
    sort_axes(s);
    for (i = 0; i < D; i++)
        for (j = 0; j < D; j++) {
            md_real *const to = entry(s->matrix, D, i, j);

            *to = i == j && *to > 0 ? *to * trace : 0;
        }
}

/* The components of a row, and behind them the logarithm of the rest over the mean square of the first rows. */
static void write_components(const step_run *r, const pca_state *s)
{
    const uint32_t m = r->p->step.first, D = s->D;
    const md_real square = trace_of(s->matrix, D) / (md_real)r->p->step.n, unit = square > 0 ? square : 1;
    md_real rest = 0;
    uint32_t i, d;

    for (i = 0; i < m; i++) {
        md_real sum = 0;

        for (d = 0; d < D; d++)
            sum += s->axes[(size_t)i * D + d] * (r->x[d] - s->mean[d]);
        r->result[i] = sum;
    }
    for (d = 0; d < D; d++) {
        md_real left = r->x[d] - s->mean[d];

        for (i = 0; i < m; i++)
            left -= s->axes[(size_t)i * D + d] * r->result[i];
        rest += left * left;
    }
    r->result[m] = math_log((rest < FEATURE_LIMIT * unit ? rest / unit : FEATURE_LIMIT) + LEAST_RESIDUAL);
}

static void pca_run(const step_run *r)
{
    const pca_state s = pca_of(r);

    if (r->words[0] < r->p->step.n) {
        add_row(&s, r->x, ++r->words[0]);
        if (r->words[0] == r->p->step.n)
            find_axes(&s);
    }
    if (r->words[0] == r->p->step.n)
        write_components(r, &s);
}

/* A scatter that no rows have does no harm: all numbers have limits. */
static int is_pca(const planned_step *p, const md_real *state, const uint32_t *words)
{
    const size_t D = p->from, square = D * D;
    const md_real most = 2 * FEATURE_LIMIT, largest = most * most * 1048576;

    (void)words;
    return are_between(state, D, -most, most) && are_between(state + D, square, -largest, largest) &&
           are_between(state + D + square, square, (md_real)-1.01, (md_real)1.01);
}

MAPDPM_INTERNAL const step_kind features_pca = {.is = USES_N | HAS_COMPONENTS | WARMS_UP,
                                                .state = {1, 0, 0, 2},
                                                .words = {1, 0},
                                                .run = pca_run,
                                                .is_state = is_pca};
