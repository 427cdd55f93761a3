/* The parameters of a prior at the largest evidence of given clusters: Powell's method, with Brent's along each direction.
 * The twin of mapdpm/backends/evidence.py and mapdpm/line_search.py, operation by operation: both find the same bits, but
 * for full covariances, whose sums have another order.
 */
#include "families/mapdpm_priors.h"
#include "arithmetic/mapdpm_sums.h"

enum { MOST_LOGS = 4, MOST_CYCLES = 50, MOST_STEPS = 100, FULL_PARAMETERS = 3 };
#define GOLDEN_SECTION 0.3819660112501051 /* (3 - sqrt(5)) / 2 */

typedef struct search {
    const mapdpm_problem *problem;
    const mapdpm_clusters *clusters;
    const mapdpm_full_clusters *full; /* in place of both; or NULL */
    mapdpm_widths widths;
    const double *rows; /* of the clusters: from one to the next row_size numbers */
    int64_t row_size;
    int64_t n_parameters;
    double *parameters; /* those of a place */
    double *marginals;  /* of the slots in use */
} search;

/* A place, and the evidence there. */
typedef struct place {
    double logs[MOST_LOGS];
    double value;
} place;

/* A place on a line, and the evidence there. */
typedef struct spot {
    double t;
    double value;
} spot;

/* The sum of the log marginals of full covariances: O(K D). |f psi0 + S| is |psi0| times the product of all f + l. */
static double full_evidence(const mapdpm_full_clusters *z, double c0, double nu0, double f)
{
    const int64_t D = z->n_features;
    double total = z->constant;
    int64_t k, d;

    for (k = 0; k < z->n_clusters; k++) {
        const double n = z->counts[k], *squares = z->squares + k * D, *pulls = z->pulls + k * D;
        double log_determinant = 0.0, pulled = 0.0;

        for (d = 0; d < D; d++) {
            log_determinant += log(f + squares[d]);
            pulled += pulls[d] / (f + squares[d]);
            total += log_rising(0.5 * (nu0 - (double)d), 0.5 * n);
        }
        log_determinant += log1p(c0 * n / (c0 + n) * pulled);
        total += 0.5 * ((double)D * (nu0 * log(f) + log(c0 / (c0 + n))) - (nu0 + n) * log_determinant);
    }
    return total;
}

/* The sum of the log marginals of rows. */
static double rows_evidence(const search *s)
{
    const mapdpm_clusters *const z = s->clusters;
    const likelihood f = family_of(s->problem->family, s->problem->n_features, s->parameters);
    int64_t k, used = 0;

    for (k = 0; k < z->capacity; k++)
        if (z->counts[k] > 0)
            s->marginals[used++] = statistics_log_marginal(&f, s->rows + k * s->row_size);
    return sum_of(s->marginals, used);
}

/* The evidence under the parameters of a place. */
static double evidence_at(const search *s, const double *logs)
{
    double factors[MOST_LOGS];
    int64_t i;

    for (i = 0; i < s->widths.n_logs; i++)
        factors[i] = exp(logs[i]);
    for (i = 0; i < s->n_parameters; i++) {
        const int64_t log_of = s->widths.log_of[i];

        s->parameters[i] = s->widths.parameters[i] * (log_of < 0 ? 1.0 : factors[log_of]);
    }
    return s->full ? full_evidence(s->full, s->parameters[0], s->parameters[1], s->parameters[2]) : rows_evidence(s);
}

static void go_along(const search *s, const double *from, double t, const double *line, double *to)
{
    int64_t j;

    for (j = 0; j < s->widths.n_logs; j++)
        to[j] = from[j] + t * line[j];
}

static double evidence_along(const search *s, const double *from, double t, const double *line)
{
    double logs[MOST_LOGS];

    go_along(s, from, t, line, logs);
    return evidence_at(s, logs);
}

/* The place of the peak of a parabola through three points, from the first one on; infinite where there is none. */
static double peak_of(spot one, spot two, spot three)
{
    const double r = (one.t - two.t) * (one.value - three.value), s = (one.t - three.t) * (one.value - two.value);
    const double bend = 2.0 * (s - r);

    return bend != 0.0 && isfinite(bend) ? ((one.t - two.t) * r - (one.t - three.t) * s) / bend : INFINITY;
}

/* Brent's method from t = 0: the best t between low and high, within the tolerance. */
static double highest_along(const search *s, const double *from, const double *line, double low, double high)
{
    const double near = 0.5 * s->widths.tolerance, start = 0.0 > low ? 0.0 : low;
    double step = 0.0, before = 0.0;
    spot best, second, third;
    int n;

    best.t = start < high ? start : high;
    best.value = evidence_along(s, from, best.t, line);
    second = third = best;
    for (n = 0; n < MOST_STEPS; n++) {
        const double middle = 0.5 * (low + high), wanted = peak_of(best, second, third);
        const int trusted = low < best.t + wanted && best.t + wanted < high && fabs(wanted) < 0.5 * fabs(before);
        spot next;

        if (fabs(best.t - middle) + 0.5 * (high - low) <= 2.0 * near)
            break;
        before = step;
        if (trusted) {
            step = wanted;
            if (best.t + step - low < 2.0 * near || high - best.t - step < 2.0 * near)
                step = copysign(near, middle - best.t);
        } else {
            before = (best.t >= middle ? low : high) - best.t;
            step = GOLDEN_SECTION * before;
        }
        next.t = best.t + (fabs(step) >= near ? step : copysign(near, step));
        next.value = evidence_along(s, from, next.t, line);
        if (next.value >= best.value) {
            *(next.t >= best.t ? &low : &high) = best.t;
            third = second;
            second = best;
            best = next;
            continue;
        }
        *(next.t < best.t ? &low : &high) = next.t;
        if (next.value >= second.value || second.t == best.t) {
            third = second;
            second = next;
        } else if (next.value >= third.value || third.t == best.t || third.t == second.t) {
            third = next;
        }
    }
    return best.t;
}

/* Go to the best place along a line, within the box, where that is better. Returns the gain. */
static double climb_along(const search *s, place *at, const double *line)
{
    const double before = at->value;
    double low = -INFINITY, high = INFINITY;
    place there;
    int64_t j;

    for (j = 0; j < s->widths.n_logs; j++)
        if (line[j] != 0.0) {
            const double one = (s->widths.low[j] - at->logs[j]) / line[j];
            const double two = (s->widths.high[j] - at->logs[j]) / line[j];
            const double nearer = one < two ? one : two, farther = one < two ? two : one;

            low = nearer > low ? nearer : low;
            high = farther < high ? farther : high;
        }
    go_along(s, at->logs, highest_along(s, at->logs, line, low, high), line, there.logs);
    there.value = evidence_at(s, there.logs);
    if (there.value > before)
        *at = there;
    return at->value - before;
}

/* Whether the joint change of a cycle makes a good direction, by the value as far ahead again (Powell). */
static int is_worth_it(double further, double best, double before, double most)
{
    const double bend = 2.0 * (2.0 * best - before - further) * ((best - before - most) * (best - before - most));

    return further > before && bend < most * ((further - before) * (further - before));
}

static void reset_to_axes(double lines[MOST_LOGS][MOST_LOGS])
{
    int j;

    memset(lines, 0, sizeof(double[MOST_LOGS][MOST_LOGS]));
    for (j = 0; j < MOST_LOGS; j++)
        lines[j][j] = 1.0;
}

/* Climb along the change of a cycle, which becomes the last direction, in place of the one that gained most. */
static void climb_along_change(const search *s, place *at, const double *change, double lines[MOST_LOGS][MOST_LOGS],
                               int64_t most)
{
    const int64_t n = s->widths.n_logs;
    double line[MOST_LOGS], largest = 0.0;
    int64_t j;

    for (j = 0; j < n; j++)
        largest = fabs(change[j]) > largest ? fabs(change[j]) : largest;
    for (j = 0; j < n; j++)
        line[j] = change[j] / largest;
    (void)climb_along(s, at, line);
    memmove(lines[most], lines[most + 1], (size_t)(n - 1 - most) * sizeof lines[0]);
    memcpy(lines[n - 1], line, (size_t)n * sizeof line[0]);
}

static void climb(const search *s, place *at)
{
    const mapdpm_widths *const w = &s->widths;
    double lines[MOST_LOGS][MOST_LOGS];
    int cycle, are_axes = 1;

    reset_to_axes(lines);
    for (cycle = 0; cycle < MOST_CYCLES; cycle++) {
        const place first = *at;
        double change[MOST_LOGS], further[MOST_LOGS], gains[MOST_LOGS] = {0.0};
        int64_t j, most = 0;

        for (j = 0; j < w->n_logs; j++) {
            gains[j] = climb_along(s, at, lines[j]);
            most = gains[j] > gains[most] ? j : most;
        }
        if (at->value - first.value <= w->gain * (1.0 + fabs(at->value))) {
            if (are_axes)
                return;
            reset_to_axes(lines); /* others may all lead out of the box */
            are_axes = 1;
            continue;
        }
        for (j = 0; j < w->n_logs; j++) {
            change[j] = at->logs[j] - first.logs[j];
            further[j] = at->logs[j] + change[j];
            further[j] = further[j] > w->low[j] ? further[j] : w->low[j];
            further[j] = further[j] < w->high[j] ? further[j] : w->high[j];
        }
        if (is_worth_it(evidence_at(s, further), at->value, first.value, gains[most])) {
            climb_along_change(s, at, change, lines, most);
            are_axes = 0;
        }
    }
}

static int is_box(const double *low, const double *high, int64_t n_logs)
{
    int64_t i;

    for (i = 0; i < n_logs; i++)
        if (!(low[i] <= high[i]))
            return 0;
    return 1;
}

static int are_widths(const mapdpm_widths *w, int64_t n_parameters, int64_t n_parts)
{
    int64_t i;

    if (w == NULL || w->n_logs < 0 || w->n_logs > MOST_LOGS || w->parameters == NULL || w->log_of == NULL ||
        w->low == NULL || w->high == NULL || !(w->tolerance > 0.0))
        return 0;
    for (i = 0; i < n_parameters; i++)
        if (w->log_of[i] >= w->n_logs)
            return 0;
    return is_box(w->low, w->high, n_parts * w->n_logs);
}

/* Climb from logs, which are moved into the box. evidence[2]: at the start, and in the end. */
static void search_from(const search *s, double *logs, double *evidence)
{
    const mapdpm_widths *const w = &s->widths;
    place at;
    int64_t j;

    evidence[0] = evidence[1] = evidence_at(s, logs);
    if (w->n_logs == 0)
        return;
    for (j = 0; j < w->n_logs; j++) {
        at.logs[j] = logs[j] > w->low[j] ? logs[j] : w->low[j];
        at.logs[j] = at.logs[j] < w->high[j] ? at.logs[j] : w->high[j];
    }
    at.value = evidence_at(s, at.logs);
    climb(s, &at);
    memcpy(logs, at.logs, (size_t)w->n_logs * sizeof *logs);
    evidence[1] = at.value;
}

/* Whether the rows of all parts lie within those of the clusters. */
static int are_parts(const mapdpm_alike_parts *parts, int64_t size)
{
    int64_t i;

    if (parts == NULL || parts->n_parts < 0 || parts->at == NULL || parts->row_size < size)
        return 0;
    for (i = 0; i < parts->n_parts; i++)
        if (parts->at[i] < 0 || parts->at[i] > parts->row_size - size)
            return 0;
    return 1;
}

int mapdpm_largest_evidence(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                            const mapdpm_alike_parts *parts, const mapdpm_widths *widths, double *logs,
                            double *evidence)
{
    search s;
    int64_t i;

    if (!is_batch_call(problem, clusters) || workspace == NULL || logs == NULL || evidence == NULL || problem->verbs ||
        is_full(problem->family) || problem->family == MAPDPM_SQUARED_DISTANCE ||
        !are_parts(parts, statistics_size(problem)))
        return MAPDPM_E_ARGUMENT;
    s.n_parameters = plain_family(problem->family) == MAPDPM_NORMAL_GAMMA ? 2 * problem->n_features + 2
                                                                          : 3 * problem->n_features;
    if (!are_widths(widths, s.n_parameters, parts->n_parts))
        return MAPDPM_E_ARGUMENT;
    s.problem = problem;
    s.clusters = clusters;
    s.full = NULL;
    s.widths = *widths;
    s.row_size = parts->row_size;
    s.parameters = (double *)workspace;
    s.marginals = s.parameters + s.n_parameters;
    for (i = 0; i < parts->n_parts; i++) {
        s.rows = clusters->rows + parts->at[i];
        search_from(&s, logs, evidence + 2 * i);
        s.widths.parameters += s.n_parameters;
        s.widths.low += widths->n_logs;
        s.widths.high += widths->n_logs;
        logs += widths->n_logs;
    }
    return MAPDPM_OK;
}

int mapdpm_largest_full_evidence(const mapdpm_full_clusters *clusters, const mapdpm_widths *widths, double *logs,
                                 double *evidence)
{
    double parameters[FULL_PARAMETERS];
    search s;

    if (clusters == NULL || clusters->n_clusters < 0 || clusters->n_features < 1 || clusters->counts == NULL ||
        clusters->squares == NULL || clusters->pulls == NULL || logs == NULL || evidence == NULL ||
        !are_widths(widths, FULL_PARAMETERS, 1))
        return MAPDPM_E_ARGUMENT;
    s.problem = NULL;
    s.clusters = NULL;
    s.full = clusters;
    s.widths = *widths;
    s.rows = NULL;
    s.row_size = 0;
    s.n_parameters = FULL_PARAMETERS;
    s.parameters = parameters;
    s.marginals = NULL;
    search_from(&s, logs, evidence);
    return MAPDPM_OK;
}
