/* Moving the current point of a score table into a slot, and out of it. Internal to the batch sweeps. */
#ifndef MAPDPM_MOVING_H
#define MAPDPM_MOVING_H

#include "scores/mapdpm_certain.h"
#include "scores/mapdpm_setup.h"

/* Count one point of the current group more or less in a slot, which is empty before or after. A new cluster takes its
 * shares of the rest, an emptied slot gives them back. */
static void count_in_group(const score_table *table, int64_t slot, int64_t change)
{
    const mapdpm_groups *const g = table->groups;
    const int64_t capacity = table->clusters->capacity;

    g->table[table->group * capacity + slot] += change;
    if (table->clusters->counts[slot] > 0)
        return;
    if (change > 0)
        take_weights(g, capacity, table->group, slot);
    else
        give_weights_back(g, capacity, slot);
}

/* Put point i, the current point, into a slot. */
CLONES
static void assign(score_table *table, int64_t i, int64_t slot)
{
    const mapdpm_clusters *const z = table->clusters;

    if (table->groups)
        count_in_group(table, slot, 1);
    z->labels[i] = slot;
    statistics_add(&table->likelihood, statistics_of(table, slot), table->x, weight(table->problem, i));
    if (z->counts[slot]++ == 0)
        set_n_used(table, table->n_used + 1);
    refresh_column(table, slot);
}

/* Take point i, the current point, out of its slot. */
CLONES
static void unassign(score_table *table, int64_t i)
{
    const mapdpm_clusters *const z = table->clusters;
    const int64_t slot = z->labels[i];

    z->labels[i] = -1;
    z->counts[slot]--;
    if (table->groups)
        count_in_group(table, slot, -1);
    if (z->counts[slot] == 0)
        set_n_used(table, table->n_used - 1);
    else if (!statistics_remove(&table->likelihood, statistics_of(table, slot), table->x, weight(table->problem, i)))
        memcpy(statistics_of(table, slot), statistics_without(table, slot, i),
               (size_t)table->statistics_size * sizeof(double));
    refresh_column(table, slot);
}

#endif
