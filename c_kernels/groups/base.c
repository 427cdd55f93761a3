/* A learner with a base: its clusters have a part that others saw (decision 100). What it saw itself is kept apart, so
 * that its gateway gets each point once, and can replace the rest (docs/maths.md, section 16).
 */
#include "groups/mapdpm_rows.h"

/* All of slot k is what the learner saw itself. */
void base_none(mapdpm_stream *s, uint32_t k)
{
    memcpy(own_of(s, k), slot_of(s, k), moments_size(s) * sizeof(md_real));
    *base_tables_of(s, k) = 0;
}

/* Add a point to what the learner saw itself; a weight below 0 removes one. A split may have moved it elsewhere. */
void base_add(mapdpm_stream *s, uint32_t k, const md_real *x, md_real weight)
{
    md_real *const own = own_of(s, k);

    if (weight < 0 && !(*own + weight > -weight / 1024))
        memset(own, 0, moments_size(s) * sizeof(md_real));
    else
        moments_add(s, own, half_size(s), x, weight);
}

void base_decay(mapdpm_stream *s, uint32_t k, md_real decay)
{
    moments_scale(s, own_of(s, k), half_size(s), decay);
    *base_tables_of(s, k) *= decay;
}

void base_merge(mapdpm_stream *s, uint32_t to, uint32_t from)
{
    md_real *const own = own_of(s, to), *const other = own_of(s, from);

    if (!(*own > 0))
        memcpy(own, other, moments_size(s) * sizeof(md_real));
    else if (*other > 0)
        moments_merge(s, own, other, half_size(s));
    *base_tables_of(s, to) += *base_tables_of(s, from);
}

/* So many points that lie like those of slot k. */
static void fill(const mapdpm_stream *s, uint32_t k, md_real n)
{
    md_real *const own = own_of(s, k);

    memset(own, 0, moments_size(s) * sizeof(md_real));
    if (!(n > 0))
        return;
    memcpy(own, slot_of(s, k), half_size(s) * sizeof(md_real));
    moments_scale(s, own, 0, n / *own);
    *own = n;
}

/* Slot e, which is new, takes this share of slot k. Both have their new moments. */
void base_split(mapdpm_stream *s, uint32_t k, uint32_t e, md_real share)
{
    md_real *const own = own_of(s, k);
    const md_real low = low_part(own, half_size(s)), whole = *own, part = whole_points(s, whole * share);

    fill(s, e, part);
    fill(s, k, whole - part);
    if (COMPENSATED && *own > 0)
        add_compensated(own, half_size(s), low);
    *base_tables_of(s, e) = *base_tables_of(s, k) * share;
    *base_tables_of(s, k) -= *base_tables_of(s, e);
}
