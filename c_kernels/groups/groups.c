/* The steps of a learner whose points have groups (docs/maths.md, section 16): rows, cells, tables, shares. A cell is the
 * number of points of a group in a slot. The tables of a slot are its weight for a group without points.
 */
#include "groups/mapdpm_rows.h"

/* After a warm-up, or with another base, the tables are the fixed point of so many rounds. */
enum { TABLE_ROUNDS = 8 };
/* Between sums of all tables, so many points add to the last sum. */
#define TOTAL_PERIOD 256u

int groups_can_learn(const mapdpm_stream *s)
{
    return *group_of(s) != MD_NONE &&
           (*row_of(s) != MD_NONE || *n_groups_of(s) < groups_of(s) || *groups_full_of(s) == MAPDPM_GROUPS_REPLACE);
}

void groups_reset(mapdpm_stream *s, const mapdpm_options *o)
{
    size_t i;

    *groups_full_of(s) = o->when_groups_full;
    *group_of(s) = *row_of(s) = MD_NONE;
    *gamma_of(s) = *all_tables_of(s) = o->gamma;
    *log_gamma_of(s) = math_log(o->gamma);
    for (i = 0; i < buffer_size(s); i++)
        point_rows_of(s)[i] = MD_NONE;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void clear_cell(const mapdpm_stream *s, md_real *cell)
{
    *cell = 0;
    if (COMPENSATED)
        cell[n_cells(s)] = 0;
}

/* Free a row. Its tables stay, so that the shares do not forget the group. */
static void leave_row(mapdpm_stream *s, uint32_t row)
{
    uint32_t k;
    size_t i;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            md_real *const cell = cells_of(s, row) + k;
            const md_real a = pseudo_count(s, tables_at(s, k, decay_of(s, k, s->now)), *all_tables_of(s));

            past_tables_of(s)[k] += (*cell > 1 ? 1 : *cell) + a * math_log(table_factor(*cell, a));
            half_cells_of(s, 0, row)[k] = half_cells_of(s, 1, row)[k] = 0;
            clear_cell(s, cell);
        }
    for (i = 0; i < buffer_size(s); i++)
        if (point_rows_of(s)[i] == row)
            point_rows_of(s)[i] = MD_NONE;
}

/* The row of the group that was seen least recently. */
static uint32_t idlest_row(const mapdpm_stream *s)
{
    uint32_t row, idlest = 0, longest = 0;

    for (row = 0; row < groups_of(s); row++) {
        const uint32_t idle = (uint32_t)s->n_seen - group_seen_of(s)[row];

        if (idle > longest) {
            longest = idle;
            idlest = row;
        }
    }
    return idlest;
}

/* The current group, whose point is learned, gets a row if it has none. */
void groups_admit(mapdpm_stream *s)
{
    uint32_t row = *row_of(s);

    if (row == MD_NONE) {
        if (*n_groups_of(s) < groups_of(s)) {
            row = *n_groups_of(s);
            *n_groups_of(s) = row + 1;
        } else {
            row = idlest_row(s);
            leave_row(s, row);
        }
        *row_of(s) = row;
        group_numbers_of(s)[row] = *group_of(s);
    }
    group_seen_of(s)[row] = (uint32_t)s->n_seen;
}

int mapdpm_set_group(mapdpm_stream *s, uint32_t group)
{
    uint32_t row;

    if (is_none(s) || !HAS_GROUPS(s))
        return MAPDPM_E_ARGUMENT;
    if (*group_of(s) == group)
        return MAPDPM_OK;
    *group_of(s) = group;
    *row_of(s) = MD_NONE;
    for (row = 0; row < *n_groups_of(s) && group != MD_NONE; row++)
        if (group_numbers_of(s)[row] == group) {
            *row_of(s) = row;
            break;
        }
    return MAPDPM_OK;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* To be called when the time or the tables of a slot have changed. */
void groups_total(mapdpm_stream *s)
{
    md_real all = *gamma_of(s);
    uint32_t k;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k))
            all += tables_at(s, k, decay_of(s, k, s->now));
    *all_tables_of(s) = all;
}

/* Count the tables of a slot, which is up to date, from its cells. */
void groups_recount(mapdpm_stream *s, uint32_t k) /* decision 99 */
{
    const view v = view_of(s, k, s->now);
    const md_real a = pseudo_count(s, tables_in(v), *all_tables_of(s));
    const md_real tables = past_in(v) + count_tables(s, v, faded(v), a);

    tables_of(s)[k] = at_least(tables, LEAST_TABLES);
    tables_of(s)[k] = tables_at(s, k, 1);
}

/* Add to a cell of a slot that is up to date. A split may have given the slot too little of a group. */
void groups_add(mapdpm_stream *s, uint32_t k, uint32_t row, md_real weight)
{
    md_real *const cell = cells_of(s, row == MD_NONE ? 0 : row) + k;

    if (row == MD_NONE)
        return;
    add_compensated(cell, n_cells(s), weight);
    if (*cell < 0)
        clear_cell(s, cell);
}

/* A point of the current group has joined slot k, and its half h. It sits at a new table with probability a / (a + n),
 * which is added to the tables. If points are forgotten, the tables are counted anew. */
void groups_count(mapdpm_stream *s, uint32_t k, size_t h)
{
    const md_real n = cells_of(s, *row_of(s))[k], a = s->alpha * (tables_of(s)[k] / *all_tables_of(s));
    const md_real more = n > 0 ? a / (a + n) : 1;

    tables_of(s)[k] += more;
    groups_add(s, k, *row_of(s), 1);
    if (MD_SPLITS)
        half_cells_of(s, h, *row_of(s))[k] += 1;
    if (FORGETS(s))
        groups_recount(s, k);
    if (FORGETS(s) || s->n_seen % TOTAL_PERIOD == 0)
        groups_total(s);
    else
        *all_tables_of(s) += more;
}

/* Count the tables of all slots, which are up to date, until they agree with the shares. */
void groups_balance(mapdpm_stream *s)
{
    uint32_t k;
    int round;

    for (round = 0; round < TABLE_ROUNDS; round++) {
        groups_total(s);
        for (k = 0; k < s->width; k++)
            if (is_used(s, k))
                groups_recount(s, k);
    }
    groups_total(s);
}

/* The cells are filled, and the tables are not. */
void groups_settle(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < s->width; k++)
        tables_of(s)[k] = *slot_of(s, k);
    groups_balance(s);
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

void groups_clear(mapdpm_stream *s, uint32_t k)
{
    md_real *const cells = cells_of(s, 0);
    size_t i;

    tables_of(s)[k] = past_tables_of(s)[k] = 0;
    for (i = k; i < (3 + COMPENSATED) * n_cells(s); i += MD_SLOTS(s))
        cells[i] = 0;
}

void groups_clear_halves(mapdpm_stream *s, uint32_t k)
{
    md_real *const cells = half_cells_of(s, 0, 0);
    size_t i;

    for (i = k; i < 2 * n_cells(s); i += MD_SLOTS(s))
        cells[i] = 0;
}

/* The first half of slot k has the points of all groups. */
void groups_fill_half(mapdpm_stream *s, uint32_t k)
{
    size_t row;

    for (row = 0; row < groups_of(s); row++)
        half_cells_of(s, 0, row)[k] = cells_of(s, row)[k];
}

void groups_decay(mapdpm_stream *s, uint32_t k, md_real decay)
{
    md_real *const past = past_tables_of(s);
    size_t i;

    for (i = k; i < (1 + (3 + COMPENSATED) * groups_of(s)) * MD_SLOTS(s); i += MD_SLOTS(s)) /* all but the tables */
        past[i] *= decay;
}

/* Slot `from`, which is cleared afterwards, goes into slot `to`. Both are up to date, and have their old weights. */
void groups_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    const size_t low = n_cells(s);
    size_t g;

    tables_of(s)[to] = tables_at(s, to, 1) + tables_at(s, from, 1);
    past_tables_of(s)[to] += past_tables_of(s)[from];
    for (g = 0; g < groups_of(s); g++) {
        md_real *const row = cells_of(s, g);

        add_compensated(row + to, low, row[from]);
        add_compensated(row + to, low, low_part(row + from, low));
    }
}

/* The lighter half of slot k, with this share of its points, becomes slot e, which is empty. Slot k has its old weight.
 * A group divides as its points in the halves do, because groups often differ where a cluster divides: divided like all
 * points, half of each group would stay in the wrong cluster, for good. One point more divides like all points. */
void groups_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, md_real share)
{
    const md_real tables = tables_at(s, k, 1);
    md_real *const past = past_tables_of(s);
    size_t g;

    tables_of(s)[e] = tables * share;
    tables_of(s)[k] = tables - tables_of(s)[e];
    past[e] = past[k] * share;
    past[k] -= past[e];
    for (g = 0; g < groups_of(s); g++) {
        const md_real light = half_cells_of(s, lighter, g)[k], heavy = half_cells_of(s, 1 - lighter, g)[k];
        const md_real part = whole_points(s, cells_of(s, g)[k] * ((light + share) / (light + heavy + 1)));

        cells_of(s, g)[e] = part;
        groups_add(s, k, (uint32_t)g, -part);
    }
}

/* The cluster of a new slot has tables of groups that are not here. The total does not know them yet. */
void groups_seat(mapdpm_stream *s, uint32_t k, md_real tables)
{
    tables_of(s)[k] = at_least(tables, LEAST_TABLES);
    past_tables_of(s)[k] = tables_of(s)[k] = tables_at(s, k, 1);
}

void groups_swap(mapdpm_stream *s, uint32_t a, uint32_t b)
{
    md_real *const reals = tables_of(s);
    size_t i;

    for (i = 0; i + 1 < group_reals(s); i += MD_SLOTS(s)) {
        const md_real t = reals[i + a];

        reals[i + a] = reals[i + b];
        reals[i + b] = t;
    }
}

/* ---- the public functions ---------------------------------------------------------------------------------------- */

/* The probabilities of the slots for the next point of the group in a row, or of a group without points. */
static void write_shares(const mapdpm_stream *s, uint32_t row, md_real *shares)
{
    const md_real all = s->alpha + points_here(s, row);
    uint32_t k;

    for (k = 0; k < MD_SLOTS(s); k++) {
        const md_real decay = is_used(s, k) ? decay_of(s, k, s->now) : 0;

        shares[k] = decay > 0 ? group_weight(s, k, row, decay) / all : 0;
    }
    shares[MD_SLOTS(s)] = s->alpha * (*gamma_of(s) / *all_tables_of(s)) / all;
}

int mapdpm_get_group(const mapdpm_stream *s, uint32_t row, uint32_t *group, md_real *shares)
{
    if (is_none(s) || !HAS_GROUPS(s) || group == NULL || row >= groups_of(s))
        return MAPDPM_E_ARGUMENT;
    if (row >= *n_groups_of(s))
        return 0;
    *group = group_numbers_of(s)[row];
    if (shares)
        write_shares(s, row, shares);
    return 1;
}

int mapdpm_get_shares(const mapdpm_stream *s, md_real *shares)
{
    if (is_none(s) || !HAS_GROUPS(s) || shares == NULL)
        return MAPDPM_E_ARGUMENT;
    write_shares(s, MD_NONE, shares);
    return MAPDPM_OK;
}
