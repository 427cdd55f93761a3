/* The steps that the files of the stream learner share. Internal. */
#ifndef MAPDPM_STEPS_H
#define MAPDPM_STEPS_H

#include "groups/mapdpm_rows.h"
#include "learner/mapdpm_learner.h"
#include "surprise/mapdpm_surprise.h"

MAPDPM_INTERNAL int stream_reset(mapdpm_stream *s, const mapdpm_options *options);
MAPDPM_INTERNAL md_real stream_parameter(const mapdpm_stream *s, size_t i);
MAPDPM_INTERNAL choice stream_choose(const mapdpm_stream *s, const md_real *x, int with_density);
MAPDPM_INTERNAL int stream_check_point(const mapdpm_stream *s, const md_real *x);
MAPDPM_INTERNAL md_real stream_total_weight(const mapdpm_stream *s);
MAPDPM_INTERNAL size_t stream_choose_half(const mapdpm_stream *s, uint32_t k, const md_real *x);
MAPDPM_INTERNAL void stream_watch(mapdpm_stream *s, uint32_t k, const md_real *x);
MAPDPM_INTERNAL uint32_t stream_try_split(mapdpm_stream *s, uint32_t k, size_t h);
MAPDPM_INTERNAL void stream_try_merge(mapdpm_stream *s, uint32_t k, uint32_t b);
MAPDPM_INTERNAL uint32_t stream_make_room(mapdpm_stream *s, uint32_t spared, md_real gain);
MAPDPM_INTERNAL void stream_clear_halves(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_remove(mapdpm_stream *s, uint32_t k, uint32_t kind);
MAPDPM_INTERNAL void stream_remove_aged(mapdpm_stream *s);
MAPDPM_INTERNAL void stream_open_slot(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL int stream_set_prior(mapdpm_stream *s, const md_real *parameters);
MAPDPM_INTERNAL void stream_clear_slot(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_apply_decay(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_refresh(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void stream_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void stream_relabel_window(mapdpm_stream *s, uint32_t from, uint32_t to);
MAPDPM_INTERNAL void stream_revisit(mapdpm_stream *s, const md_real *x, uint32_t id);
MAPDPM_INTERNAL void stream_record(mapdpm_stream *s, uint32_t kind, uint32_t id, uint32_t other);
MAPDPM_INTERNAL uint32_t stream_free_slot(const mapdpm_stream *s);
MAPDPM_INTERNAL md_real stream_unit_for(md_real variance);
MAPDPM_INTERNAL void stream_prepare_opening(mapdpm_stream *s);
MAPDPM_INTERNAL md_real stream_gain_of_split(const mapdpm_stream *s, uint32_t k);

/* Where widths come from: the moments of clusters, or those of their halves, where there are two. */
enum { FROM_CLUSTERS = 0, FROM_HALVES = 1 };

/* The sum of squares of a feature about the grand mean, the number of its values, and the sum about the means of clusters or
 * halves with its degrees of freedom. */
typedef struct {
    md_real total;
    md_real points;
    md_real within;
    md_real degrees;
} feature_spread;
MAPDPM_INTERNAL feature_spread stream_spread(const mapdpm_stream *s, size_t d, int source);
MAPDPM_INTERNAL void stream_revisit_prior(mapdpm_stream *s);
MAPDPM_INTERNAL void stream_adopt_prior(mapdpm_stream *s);

/* Features that carry clusters (relevance.c), and the search of the warm-up for them (relevance_search.c). */
MAPDPM_INTERNAL md_real relevance_gain(const mapdpm_stream *s, size_t d);
MAPDPM_INTERNAL md_real *relevance_gains(const mapdpm_stream *s);
MAPDPM_INTERNAL md_real relevance_least(const md_real *gains, size_t D);
MAPDPM_INTERNAL int relevance_mark(mapdpm_stream *s, size_t d, int relevant);
MAPDPM_INTERNAL int relevance_repeats(const mapdpm_stream *s);
MAPDPM_INTERNAL md_real relevance_joint(const mapdpm_stream *s);
MAPDPM_INTERNAL int relevance_next(mapdpm_stream *s, settling *z, md_real joint);
MAPDPM_INTERNAL int relevance_is_chosen(const settling *z);
MAPDPM_INTERNAL void relevance_learn(mapdpm_stream *s, const md_real *x, int64_t before);
MAPDPM_INTERNAL void relevance_judge(mapdpm_stream *s);

/* The steps of features (resolution.c). */
MAPDPM_INTERNAL int resolution_is_sound(const mapdpm_stream *s);
MAPDPM_INTERNAL void resolution_look(mapdpm_stream *s, const md_real *x);
MAPDPM_INTERNAL int resolution_set(mapdpm_stream *s, const md_real *steps);
MAPDPM_INTERNAL void resolution_find(mapdpm_stream *s, size_t d);

MAPDPM_INTERNAL int stream_is_valid(const mapdpm_stream *s);

/* The end of the warm-up (warmup.c, settle.c): begin, and take a step, which returns whether there are more, or an
 * error. */
MAPDPM_INTERNAL const md_real *warmup_point(const mapdpm_stream *s, size_t i);
MAPDPM_INTERNAL void warmup_add_point(mapdpm_stream *s, size_t i, uint32_t k, md_real weight);
MAPDPM_INTERNAL void warmup_spread(const mapdpm_stream *s, size_t d, md_real *mean, md_real *variance);
MAPDPM_INTERNAL void warmup_begin(settling *z);
MAPDPM_INTERNAL int warmup_step(mapdpm_stream *s, settling *z);
MAPDPM_INTERNAL void settle_begin(settling *z);
MAPDPM_INTERNAL int settle_step(mapdpm_stream *s, settling *z);

/* Points that wait (queue.c), and how they are learned (online.c). */
MAPDPM_INTERNAL int queue_add(mapdpm_stream *s, const md_real *x, int64_t now);
MAPDPM_INTERNAL int64_t queue_latest(const mapdpm_stream *s);
MAPDPM_INTERNAL int stream_learn(mapdpm_stream *s, const md_real *x, int64_t now, uint32_t *id, md_real *score,
                                 mapdpm_assessment *a);
MAPDPM_INTERNAL void stream_settled(mapdpm_stream *s);

/* Assessments (assess.c). */
MAPDPM_INTERNAL void stream_assess_nothing(mapdpm_assessment *a);
MAPDPM_INTERNAL void stream_assess(const mapdpm_stream *s, const choice *c, md_real surprise, mapdpm_assessment *a);

/* With states in time: filter.c, which shares three steps of choose.c. */
MAPDPM_INTERNAL choice states_choose(const mapdpm_stream *s, const md_real *x, int with_density);
MAPDPM_INTERNAL void states_believe(const mapdpm_stream *s, uint32_t chosen, md_real *belief);
MAPDPM_INTERNAL uint32_t stream_bound_block(const mapdpm_stream *s, const md_real *x, uint32_t first, md_real *tails,
                                            md_real *bounds);
MAPDPM_INTERNAL md_real stream_score_new(const mapdpm_stream *s, const md_real *x, md_real least, md_real *bound);
MAPDPM_INTERNAL md_real stream_common_term(const mapdpm_stream *s, const md_real *x);
/* blocks.c. */
MAPDPM_INTERNAL void states_learn_block(mapdpm_stream *s, uint32_t k, const md_real *x, size_t n);
MAPDPM_INTERNAL void states_try_change(mapdpm_stream *s, int reserves);
/* smoothing.c. */
MAPDPM_INTERNAL int states_expect(const mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL int states_will_age(const mapdpm_stream *s, int64_t before);
MAPDPM_INTERNAL void states_settle(mapdpm_stream *s, size_t m, int reserves);
MAPDPM_INTERNAL uint32_t states_learn(mapdpm_stream *s, uint32_t k, int is_new, const md_real *x);
MAPDPM_INTERNAL void states_begin(mapdpm_stream *s);
MAPDPM_INTERNAL void states_removed(mapdpm_stream *s);

#endif
