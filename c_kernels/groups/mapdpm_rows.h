/* Rows that share clusters: the cells of groups, the transitions of states in time, and what is left of a base. Internal. */
#ifndef MAPDPM_ROWS_H
#define MAPDPM_ROWS_H

#include "learner/mapdpm_learner.h"

/* With groups (groups.c). */
MAPDPM_INTERNAL void groups_reset(mapdpm_stream *s, const mapdpm_options *options);
MAPDPM_INTERNAL int groups_can_learn(const mapdpm_stream *s);
MAPDPM_INTERNAL void groups_admit(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_total(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_count(mapdpm_stream *s, uint32_t k, size_t h);
MAPDPM_INTERNAL void groups_recount(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void groups_settle(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_balance(mapdpm_stream *s);
MAPDPM_INTERNAL void groups_add(mapdpm_stream *s, uint32_t k, uint32_t row, md_real weight);
MAPDPM_INTERNAL void groups_decay(mapdpm_stream *s, uint32_t k, md_real decay);
MAPDPM_INTERNAL void groups_clear(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void groups_clear_halves(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void groups_fill_half(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void groups_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void groups_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, md_real share);
MAPDPM_INTERNAL void groups_seat(mapdpm_stream *s, uint32_t k, md_real tables);
MAPDPM_INTERNAL void groups_swap(mapdpm_stream *s, uint32_t a, uint32_t b);

/* With states in time (transitions.c). */
MAPDPM_INTERNAL void states_reset(mapdpm_stream *s, const mapdpm_options *options);
MAPDPM_INTERNAL void states_prepare(mapdpm_stream *s);
MAPDPM_INTERNAL void states_recount(mapdpm_stream *s);
MAPDPM_INTERNAL void states_count(mapdpm_stream *s, uint32_t row, uint32_t k, md_real weight);
MAPDPM_INTERNAL void states_decay(mapdpm_stream *s);
MAPDPM_INTERNAL void states_clear(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void states_clear_halves(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void states_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void states_split(mapdpm_stream *s, uint32_t k, uint32_t e, size_t lighter, md_real share);
MAPDPM_INTERNAL md_real states_merge_gain(const mapdpm_stream *s, uint32_t a, uint32_t b);
MAPDPM_INTERNAL md_real states_split_gain(const mapdpm_stream *s, uint32_t k, md_real scale);

/* With a base (base.c). */
MAPDPM_INTERNAL void base_add(mapdpm_stream *s, uint32_t k, const md_real *x, md_real weight);
MAPDPM_INTERNAL void base_decay(mapdpm_stream *s, uint32_t k, md_real decay);
MAPDPM_INTERNAL void base_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void base_split(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share);
MAPDPM_INTERNAL void base_none(mapdpm_stream *s, uint32_t k);

#endif
