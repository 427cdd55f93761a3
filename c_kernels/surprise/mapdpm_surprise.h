/* How unusual points are. Internal. */
#ifndef MAPDPM_SURPRISE_H
#define MAPDPM_SURPRISE_H

#include "learner/mapdpm_learner.h"

MAPDPM_INTERNAL void surprise_reset(mapdpm_stream *s, md_real rare);
MAPDPM_INTERNAL md_real surprise_nats(const mapdpm_stream *s, const md_real *x, const choice *c);
MAPDPM_INTERNAL md_real surprise_rank(const mapdpm_stream *s, md_real nats);
MAPDPM_INTERNAL void surprise_count(mapdpm_stream *s, md_real nats, md_real surprise, uint32_t k, md_real weight);
MAPDPM_INTERNAL void surprise_refresh(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void surprise_judge_all(mapdpm_stream *s);
MAPDPM_INTERNAL void surprise_seat(mapdpm_stream *s, uint32_t k);
MAPDPM_INTERNAL void surprise_merge(mapdpm_stream *s, uint32_t to, uint32_t from);
MAPDPM_INTERNAL void surprise_split(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share);
MAPDPM_INTERNAL void surprise_pool(mapdpm_stream *s, const mapdpm_stream *from);

#endif
