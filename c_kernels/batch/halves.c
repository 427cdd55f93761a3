/* The search for the best two clusters of some points: several starts, each followed by sweeps. The twin of
 * mapdpm/backends/halves.py, operation by operation.
 */
#include "batch/mapdpm_cut.h"
#include "arithmetic/mapdpm_sums.h"

enum { LINES = 3, POWER_STEPS = 12, BYTES = 8 };
#define ROUNDING 1e-12 /* a column is constant if its standard deviation is at most this share of its largest entry */
#define SMALLEST 1e-100

/* A point and its place along a line. */
typedef struct ranked {
    uint64_t key;
    int64_t point;
} ranked;

/* The workspace of a search. */
typedef struct search {
    const mapdpm_problem *problem;
    const mapdpm_halves *halves;
    int64_t n;
    int64_t D;
    double *columns;   /* [D][n] the standardised points, or their vectors */
    double *projected; /* [n] */
    double *direction; /* [D] */
    cutter cutter;
    double *sweeps;
    ranked *ranks;      /* [2][n] */
    int64_t *order;     /* [n] */
    int64_t *labels;    /* [n] of the present start */
    mapdpm_clusters now;
    unsigned char *sides;  /* [n] whether a point is on the other side than the first one */
    const int64_t *draws; /* that are left */
} search;

/* ---- points as vectors ------------------------------------------------------------------------------------------- */

/* Mean 0 and standard deviation 1, or 0 where all entries are equal. A missing value is at the mean. */
static void standardise(double *column, double *spare, int64_t n)
{
    double present = 0.0, largest = 0.0, mean, scale;
    int64_t i;

    for (i = 0; i < n; i++) {
        present += is_there(column[i]);
        spare[i] = is_there(column[i]) ? column[i] : 0.0;
    }
    if (present < (double)n)
        for (i = 0, mean = sum_of(spare, n) / (present > 1.0 ? present : 1.0); i < n; i++)
            column[i] = is_there(column[i]) ? column[i] : mean;
    for (i = 0; i < n; i++)
        largest = fabs(column[i]) > largest ? fabs(column[i]) : largest;
    for (i = 0, mean = sum_of(column, n) / (double)n; i < n; i++)
        column[i] -= mean;
    scale = sqrt(dot_of(column, column, n) / (double)n);
    for (i = 0, scale = scale > ROUNDING * largest ? 1.0 / scale : 0.0; i < n; i++)
        column[i] *= scale;
}

static void project(const search *s, const double *direction)
{
    int64_t i, d;

    memset(s->projected, 0, (size_t)s->n * sizeof *s->projected);
    for (d = 0; d < s->D; d++)
        for (i = 0; i < s->n; i++)
            s->projected[i] += s->columns[d * s->n + i] * direction[d];
}

/* Project on the direction of largest variance, by power iteration. */
static void project_widest(const search *s)
{
    double *const direction = s->direction;
    int64_t d, step;

    memcpy(direction, s->halves->direction, (size_t)s->D * sizeof *direction);
    for (step = 0; step < POWER_STEPS; step++) {
        double largest = SMALLEST;

        project(s, direction);
        for (d = 0; d < s->D; d++) {
            direction[d] = dot_of(s->columns + d * s->n, s->projected, s->n);
            largest = fabs(direction[d]) > largest ? fabs(direction[d]) : largest;
        }
        for (d = 0; d < s->D; d++)
            direction[d] /= largest;
    }
    project(s, direction);
}

/* The point farthest from point `from`, or from the mean where that is -1; the first of equals. */
static int64_t farthest(const search *s, int64_t from)
{
    int64_t i, d, best = 0;

    memset(s->projected, 0, (size_t)s->n * sizeof *s->projected);
    for (d = 0; d < s->D; d++) {
        const double *const column = s->columns + d * s->n;
        const double centre = from < 0 ? 0.0 : column[from];

        for (i = 0; i < s->n; i++)
            s->projected[i] += (column[i] - centre) * (column[i] - centre);
    }
    for (i = 1; i < s->n; i++)
        best = s->projected[i] > s->projected[best] ? i : best;
    return best;
}

/* ---- cuts -------------------------------------------------------------------------------------------------------- */

/* The bits of a number, in an order of integers that is that of numbers. */
static uint64_t key_of(double x)
{
    uint64_t bits;

    x += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(0x8000000000000000);
}

/* Sort the points by their keys, byte by byte from the last one; equals stay in order. The number of bytes is even, so
 * the result is where it began. */
static void sort(ranked *points, ranked *spare, int64_t n)
{
    int64_t counts[BYTES][256] = {{0}}, i;
    ranked *from = points, *to = spare, *other;
    int byte, value;

    for (i = 0; i < n; i++)
        for (byte = 0; byte < BYTES; byte++)
            counts[byte][from[i].key >> 8 * byte & 255]++;
    for (byte = 0; byte < BYTES; byte++) {
        int64_t *const begins = counts[byte], total = 0;

        for (value = 0; value < 256; value++) {
            const int64_t more = begins[value];

            begins[value] = total;
            total += more;
        }
        for (i = 0; i < n; i++)
            to[begins[from[i].key >> 8 * byte & 255]++] = from[i];
        other = from;
        from = to;
        to = other;
    }
}

/* Label the points by the best cut along the keys, if it is better than *best_joint. */
static void cut_along(const search *s, const double *keys, double *best_joint)
{
    double joint;
    int64_t i, first;

    for (i = 0; i < s->n; i++) {
        s->ranks[i].key = key_of(keys[i]);
        s->ranks[i].point = i;
    }
    sort(s->ranks, s->ranks + s->n, s->n);
    for (i = 0; i < s->n; i++)
        s->order[i] = s->ranks[i].point;
    first = best_cut(&s->cutter, s->order, &joint);
    if (*best_joint > -INFINITY && !(joint - *best_joint > TOLERANCE * (1.0 + fabs(*best_joint))))
        return;
    *best_joint = joint;
    for (i = 0; i < s->n; i++)
        s->labels[s->order[i]] = i >= first;
}

static void cut_along_lines(search *s, int by_axes)
{
    const int64_t n_lines = s->D < LINES ? s->D : LINES;
    double best_joint = -INFINITY;
    int64_t line, d;

    for (line = 0; line < n_lines; line++) {
        const int64_t one = *s->draws++, two = by_axes ? 0 : *s->draws++;

        for (d = 0; d < s->D && !by_axes; d++)
            s->direction[d] = s->columns[d * s->n + one] - s->columns[d * s->n + two];
        if (!by_axes)
            project(s, s->direction);
        cut_along(s, by_axes ? s->columns + one * s->n : s->projected, &best_joint);
    }
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

/* Two clusters from one point each, that the others join in the order drawn. */
static int start_around(search *s, int64_t one, int64_t two)
{
    const int64_t *const drawn = s->draws;
    int64_t i, n_order = 0, position = 0;
    int error;

    for (i = 0; i < s->n; i++)
        s->labels[i] = -1;
    s->labels[one] = 0;
    s->labels[two] = 1;
    for (i = 0; i < s->n; i++)
        if (s->labels[drawn[i]] < 0)
            s->order[n_order++] = drawn[i];
    s->draws += s->n;
    error = mapdpm_statistics(s->problem, &s->now, s->sweeps);
    if (error == MAPDPM_OK && n_order > 0)
        error = mapdpm_sequential_start(s->problem, &s->now, s->sweeps, s->order, n_order, 0, &position);
    return error;
}

static int begin(search *s, int64_t start)
{
    double best_joint = -INFINITY;
    int64_t one, two;

    switch (start) {
    case MAPDPM_WIDEST:
        project_widest(s);
        cut_along(s, s->projected, &best_joint);
        return MAPDPM_OK;
    case MAPDPM_FARTHEST_PAIR:
        one = farthest(s, -1);
        two = farthest(s, one);
        return start_around(s, one, two != one ? two : (one + 1) % s->n);
    case MAPDPM_RANDOM_PAIR:
        one = *s->draws++;
        two = *s->draws++;
        return start_around(s, one, two);
    default:
        cut_along_lines(s, start == MAPDPM_AXES);
        return MAPDPM_OK;
    }
}

/* Whether the present halves were tried before; from now on they were. */
static int were_tried(const search *s, int64_t *n_tried)
{
    int64_t i, t;

    for (i = 0; i < s->n; i++)
        s->sides[i] = s->labels[i] == s->labels[0];
    for (t = 0; t < *n_tried; t++)
        if (memcmp(s->halves->tried + t * s->n, s->sides, (size_t)s->n) == 0)
            return 1;
    memcpy(s->halves->tried + *n_tried * s->n, s->sides, (size_t)s->n);
    ++*n_tried;
    return 0;
}

/* The present cluster's term of the log joint, without that of opening it. */
static double term_of(const search *s, int64_t k)
{
    const double *const row = s->now.rows + k * s->cutter.size;

    return statistics_log_marginal(&s->cutter.likelihood, row) + log_size_term(s->problem, row[0]);
}

/* The log joint of all points as one cluster, without the terms that it shares with that of halves. */
static int join_all(const search *s, double *log_joint)
{
    int error;

    memset(s->labels, 0, (size_t)s->n * sizeof *s->labels);
    error = mapdpm_statistics(s->problem, &s->now, s->sweeps);
    *log_joint = term_of(s, 0);
    return error;
}

/* The same of the present halves; -inf if one of them is empty. */
static double joint_of_halves(const search *s)
{
    if (s->now.counts[0] == 0 || s->now.counts[1] == 0)
        return -INFINITY;
    return term_of(s, 0) + term_of(s, 1) + log_new(s->problem, 1, 1.0);
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

size_t mapdpm_halves_bytes(const mapdpm_problem *problem, int64_t n_points, int64_t width, int64_t n_atoms)
{
    if (!has_sizes(problem) || n_points < 2 || width < 1 || n_atoms < 2)
        return 0;
    return sizeof(double) * (size_t)((width + 1) * n_points + width + cut_doubles(problem, n_atoms) +
                                     2 * statistics_size(problem)) +
           (mapdpm_workspace_bytes(problem, 2) / sizeof(double) + 1) * sizeof(double) +
           sizeof(ranked) * 2 * (size_t)n_points + sizeof(int64_t) * (2 * (size_t)n_points + 2) + (size_t)n_points;
}

/* Whether the draws are as many as the starts need, and in range. */
static int are_draws(const mapdpm_problem *p, const mapdpm_halves *h)
{
    const int64_t n = p->n_points, n_lines = h->width < LINES ? h->width : LINES;
    int64_t at = 0, t, i;

    for (t = 0; t < h->n_starts; t++) {
        const int64_t start = h->starts[t], below = start == MAPDPM_AXES ? h->width : n;
        const int64_t more = start == MAPDPM_WIDEST          ? 0
                             : start == MAPDPM_FARTHEST_PAIR ? n
                             : start == MAPDPM_RANDOM_PAIR   ? n + 2
                             : start == MAPDPM_DIFFERENCES   ? 2 * n_lines
                                                             : n_lines;

        if (start < MAPDPM_WIDEST || start > MAPDPM_AXES || more > h->n_draws - at ||
            (start == MAPDPM_WIDEST && h->direction == NULL))
            return 0;
        for (i = 0; i < more; i++)
            if (h->draws[at + i] < 0 || h->draws[at + i] >= below)
                return 0;
        if (start == MAPDPM_RANDOM_PAIR && h->draws[at] == h->draws[at + 1])
            return 0;
        at += more;
    }
    return 1;
}

static void lay_out(search *s, const mapdpm_problem *p, int64_t n_atoms, double *next)
{
    const int64_t size = statistics_size(p);

    s->columns = next;
    s->projected = next += s->D * s->n;
    s->direction = next += s->n;
    s->cutter = cutter_of(p, next += s->D, n_atoms);
    s->now.rows = next += cut_doubles(p, n_atoms);
    s->sweeps = next += 2 * size;
    next += mapdpm_workspace_bytes(p, 2) / sizeof(double) + 1;
    s->ranks = (ranked *)(void *)next;
    s->order = (int64_t *)(void *)(s->ranks + 2 * s->n);
    s->labels = s->order + s->n;
    s->now.counts = s->labels + s->n;
    s->sides = (unsigned char *)(s->now.counts + 2);
    s->now.capacity = 2;
    s->now.labels = s->labels;
    s->now.base = NULL;
}

/* Set up the search. Returns 0 where an argument is missing or out of range. */
static int set_up(search *s, const mapdpm_problem *p, const mapdpm_clusters *best, void *workspace,
                  const mapdpm_halves *h)
{
    int64_t i, d;

    if (!is_batch_call(p, best) || best->capacity != 2 || best->labels == NULL || p->n_points < 2 ||
        workspace == NULL || h == NULL || h->n_starts < 0 || h->starts == NULL || h->draws == NULL || h->n_atoms < 2 ||
        h->n_tried < 0 || h->tried == NULL ||
        (h->vectors ? h->width < 1 : p->data == NULL || h->width != p->n_features) || !are_draws(p, h))
        return 0;
    s->problem = p;
    s->halves = h;
    s->n = p->n_points;
    s->D = h->width;
    s->draws = h->draws;
    lay_out(s, p, h->n_atoms < s->n ? h->n_atoms : s->n, (double *)workspace);
    for (d = 0; d < s->D; d++) {
        for (i = 0; i < s->n; i++)
            s->columns[d * s->n + i] = h->vectors ? h->vectors[i * s->D + d] : p->data[i * s->D + d];
        standardise(s->columns + d * s->n, s->projected, s->n);
    }
    return 1;
}

static void copy_halves(const search *s, const mapdpm_clusters *to)
{
    const int64_t size = statistics_size(s->problem);

    memcpy(to->labels, s->now.labels, (size_t)s->n * sizeof *to->labels);
    memcpy(to->counts, s->now.counts, 2 * sizeof *to->counts);
    memcpy(to->rows, s->now.rows, 2 * (size_t)size * sizeof *to->rows);
}

int mapdpm_best_halves(const mapdpm_problem *problem, const mapdpm_clusters *best, void *workspace,
                       mapdpm_halves *halves, double *log_joints)
{
    search s;
    int64_t t;
    int error;

    if (log_joints == NULL || !set_up(&s, problem, best, workspace, halves))
        return MAPDPM_E_ARGUMENT;
    error = join_all(&s, &log_joints[0]);
    log_joints[1] = -INFINITY;
    for (t = 0; t < halves->n_starts && error == MAPDPM_OK; t++) {
        double joint;

        error = begin(&s, halves->starts[t]);
        if (error != MAPDPM_OK || were_tried(&s, &halves->n_tried))
            continue;
        error = mapdpm_settle(problem, &s.now, s.sweeps, halves->most_sweeps);
        joint = joint_of_halves(&s);
        if (joint > -INFINITY &&
            (log_joints[1] == -INFINITY || joint - log_joints[1] > TOLERANCE * (1.0 + fabs(log_joints[1])))) {
            log_joints[1] = joint;
            copy_halves(&s, best);
        }
    }
    return error;
}
