/* The arithmetic of groups: tables, weights, and the prior of a cluster whose points have groups (docs/maths.md,
 * section 16). Internal; static inlines.
 */
#ifndef MAPDPM_GROUPS_H
#define MAPDPM_GROUPS_H

#include "learner/mapdpm_densities.h"

/* A cluster has at least so many tables, so that no share is 0. */
#define LEAST_TABLES ((md_real)1e-3)
/* A lower bound of a logarithm plus this is an upper bound. */
#define MOST_BELOW ((md_real)0.0601)
/* A pseudo-count is at least so large, so that no quotient leaves the normal numbers. */
#define LEAST_PSEUDO_COUNT FLOAT_OR_DOUBLE(1e-18, 1e-200)

/* log Gamma(x) - log Gamma(x1) - log Gamma(x2) for positive numbers. Its large terms cancel in the formula, not in
 * rounded numbers. */
static inline md_real gamma_merge(md_real x1, md_real x2, md_real x)
{
    const md_real over = x - x1 - x2;
    md_real r, r1, r2;
    const md_real tails = math_excess(x, &r) - math_excess(x1, &r1) - math_excess(x2, &r2);

    return tails + x1 * math_log(x / x1) + x2 * math_log(x / x2) + over * (math_log(x) - 1) +
           MD_HALF * (math_log(r1 / r * r2) - MATH_LOG_2PI);
}

/* ---- what a view has besides ------------------------------------------------------------------------------------ */

#ifdef MAPDPM_GROUPS
static inline const md_real *cells_in(view v) { return v.cells; }
static inline md_real past_in(view v) { return v.past; }
static inline md_real tables_in(view v) { return v.tables; }
static inline void set_groups(view *v, const md_real *cells, md_real past, md_real tables)
{
    v->cells = cells;
    v->past = past;
    v->tables = tables;
}
#else
static inline const md_real *cells_in(view v) { return v.moments; }
static inline md_real past_in(view v) { return (void)v, (md_real)0; }
static inline md_real tables_in(view v) { return (void)v, (md_real)0; }
static inline void set_groups(view *v, const md_real *cells, md_real past, md_real tables)
{
    (void)v, (void)cells, (void)past, (void)tables;
}
#endif

/* The points of group g. A view without cells has none. */
static inline md_real points_in(const mapdpm_stream *s, view v, size_t g)
{
    return cells_in(v) ? v.decay * cells_in(v)[g * MD_SLOTS(s)] : 0;
}

/* The same cluster without points. */
static inline view faded(view v)
{
    v.decay = 0;
    return v;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static inline md_real at_least(md_real x, md_real least) { return x > least ? x : least; }

/* A group with n points in a cluster has min(n, 1) + a log(this) tables there, for a pseudo-count a: docs/maths.md
 * (59). */
static inline md_real table_factor(md_real n, md_real a) { return n > 1 ? (n + a - MD_HALF) / (a + MD_HALF) : 1; }

/* The expected number of tables of two clusters together. */
static inline md_real count_tables(const mapdpm_stream *s, view v1, view v2, md_real a)
{
    md_real whole = 0, product = 1, logs = 0;
    size_t g;

    for (g = 0; g < groups_of(s); g++) {
        const md_real n = points_in(s, v1, g) + points_in(s, v2, g);

        whole += n > 1 ? 1 : n;
        if (n > 1)
            multiply_into(&product, &logs, table_factor(n, a));
    }
    return whole + a * (logs + math_log(product));
}

/* The tables of a slot whose weight has decayed. A cluster has no more tables than points. */
static inline md_real tables_at(const mapdpm_stream *s, uint32_t k, md_real decay)
{
    const md_real n = *slot_of(s, k) * decay, tables = tables_of(s)[k];

    return tables < n ? tables : n;
}

/* The pseudo-count of a share of all tables and gamma. */
static inline md_real pseudo_count(const mapdpm_stream *s, md_real tables, md_real all)
{
    return at_least(s->alpha * (tables / all), LEAST_PSEUDO_COUNT);
}

/* The weight of a slot for the next point of the group in a row, which may be MD_NONE. The weights of all slots and of
 * a new cluster sum to alpha plus the points of the group. */
static inline md_real group_weight(const mapdpm_stream *s, uint32_t k, uint32_t row, md_real decay)
{
    const md_real n = row == MD_NONE ? 0 : cells_of(s, row)[k] * decay;

    return n + pseudo_count(s, tables_at(s, k, decay), *all_tables_of(s));
}

/* The points of the group in a row. */
static inline md_real points_here(const mapdpm_stream *s, uint32_t row)
{
    md_real total = 0;
    uint32_t k;

    for (k = 0; k < s->width && row != MD_NONE; k++)
        if (is_used(s, k))
            total += cells_of(s, row)[k] * decay_of(s, k, s->now);
    return total;
}

/* The log weight of a new cluster. */
static inline md_real log_opening(const mapdpm_stream *s)
{
    return IS_GROUPED(s) ? s->log_alpha + (*log_gamma_of(s) - math_log(*all_tables_of(s))) : s->log_alpha;
}

/* ---- the prior --------------------------------------------------------------------------------------------------- */

/* Two clusters: the expected tables and the pseudo-count of each, and all tables and gamma with these. */
typedef struct {
    md_real e1;
    md_real e2;
    md_real a1;
    md_real a2;
    md_real all;
} two_tables;

static inline two_tables tables_of_two(const mapdpm_stream *s, view v1, view v2)
{
    const md_real all = *all_tables_of(s);
    const view nothing = faded(v2);
    two_tables t;

    t.e1 = at_least(past_in(v1) + count_tables(s, v1, nothing, pseudo_count(s, tables_in(v1), all)), LEAST_TABLES);
    t.e2 = at_least(past_in(v2) + count_tables(s, v2, nothing, pseudo_count(s, tables_in(v2), all)), LEAST_TABLES);
    t.all = all - tables_in(v1) - tables_in(v2) + t.e1 + t.e2;
    t.a1 = pseudo_count(s, t.e1, t.all);
    t.a2 = pseudo_count(s, t.e2, t.all);
    return t;
}

/* The gain of the log prior when two clusters become one (docs/maths.md (60)). */
static inline md_real merge_groups_term(const mapdpm_stream *s, view v1, view v2)
{
    const two_tables t = tables_of_two(s, v1, v2);
    const md_real both = count_tables(s, v1, v2, pseudo_count(s, t.e1 + t.e2, t.all));
    const md_real e = at_least(past_in(v1) + past_in(v2) + both, LEAST_TABLES), after = t.all - t.e1 - t.e2 + e;
    const md_real a1 = t.a1, a2 = t.a2, a = pseudo_count(s, e, after);
    md_real total = -*log_gamma_of(s), product = 1, logs = 0, cells = 0, r, r1, r2;
    size_t g;

    for (g = 0; g < groups_of(s); g++) {
        const md_real n1 = points_in(s, v1, g), n2 = points_in(s, v2, g);

        if (!(n1 + n2 > 0))
            continue;
        cells += 1;
        total += gamma_merge(a1 + 1 + n1, a2 + 1 + n2, a + 1 + n1 + n2);
        multiply_into(&product, &logs, a / (a + n1 + n2));
        multiply_into(&product, &logs, (a1 + n1) / a1);
        multiply_into(&product, &logs, (a2 + n2) / a2);
    }
    total += logs + math_log(product) - cells * gamma_merge(a1 + 1, a2 + 1, a + 1);
    total += past_in(v1) * math_log(a / a1) + past_in(v2) * math_log(a / a2);
    total += (t.all - t.e1 - t.e2 - MD_HALF) * math_log(t.all / after);
    total += math_excess(e, &r) - math_excess(t.e1, &r1) - math_excess(t.e2, &r2);
    return total + MD_HALF * (math_log(r1 / r * r2) - MATH_LOG_2PI);
}

/* The number of groups that have points in both clusters. */
static inline md_real meetings_of(const mapdpm_stream *s, view v1, view v2)
{
    md_real meetings = 0;
    size_t g;

    for (g = 0; g < groups_of(s); g++)
        if (points_in(s, v1, g) > 0 && points_in(s, v2, g) > 0)
            meetings += 1;
    return meetings;
}

/* What that gain may exceed the entropy of the labels by, if so many groups meet. */
static inline md_real most_groups_gain(const mapdpm_stream *s, view v1, view v2, md_real meetings)
{
    const md_real least = tables_in(v1) < tables_in(v2) ? tables_in(v1) : tables_in(v2);
    const md_real rarest = math_log_below(pseudo_count(s, least, *all_tables_of(s)));
    const md_real n = v1.decay * *v1.moments + v2.decay * *v2.moments;

    return meetings * (2 + math_log_below(n) - (rarest < 0 ? rarest : 0)) + least +
           (*log_gamma_of(s) < 0 ? -*log_gamma_of(s) : 0);
}

/* A lower bound of that gain (docs/maths.md, section 16). A lower bound of a logarithm costs no more than a product. */
static inline md_real least_groups_gain(const mapdpm_stream *s, view v1, view v2)
{
    const two_tables t = tables_of_two(s, v1, v2);
    const md_real rarest = t.a1 < t.a2 ? t.a1 : t.a2, each = -(math_log_below(rarest) + MOST_BELOW) - (md_real)1.1;
    md_real total = -*log_gamma_of(s) - (md_real)1.5;
    size_t g;

    for (g = 0; g < groups_of(s); g++) {
        const md_real n1 = points_in(s, v1, g), n2 = points_in(s, v2, g), n = n1 + n2;

        if (n1 >= 1 && n2 >= 1)
            total += at_least(n1 * math_log_below(n / n1) + n2 * math_log_below(n / n2) +
                                  MD_HALF * math_log_below(n1 * (n2 / n)) + each -
                                  (t.a1 + t.a2) * (1 + (math_log_below(n) + MOST_BELOW)),
                              0);
    }
    return total;
}

/* log prod_g a^(n_g) / a, with rising factorials: the weights by which the points of a cluster joined it. */
static inline md_real joining_term(const mapdpm_stream *s, view v)
{
    const md_real a = pseudo_count(s, at_least(tables_in(v), LEAST_TABLES), *all_tables_of(s));
    md_real total = 0, product = 1, logs = 0, roots = 1, root_logs = 0, root, empty_root, empty;
    size_t g;

    empty = math_excess(a + 1, &empty_root) + (a + 1) * (math_log(a + 1) - 1);
    for (g = 0; g < groups_of(s); g++) {
        const md_real n = points_in(s, v, g), x = a + 1 + n;

        if (!(n > 0))
            continue;
        total += math_excess(x, &root) + x * (math_log(x) - 1) - empty;
        multiply_into(&roots, &root_logs, empty_root / root);
        multiply_into(&product, &logs, a / (a + n));
    }
    return total + MD_HALF * (root_logs + math_log(roots)) + logs + math_log(product) - math_log(a);
}

#endif
