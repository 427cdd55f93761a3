/* Another base for a learner: what others saw is replaced by a message of its gateway (docs/maths.md, section 16). */
#include "gateway/mapdpm_summary.h"

/* Whether a slot is left of the last base: no point of it is the learner's own. */
static int is_left(const mapdpm_stream *s, uint32_t k)
{
    return is_used(s, k) && !(*own_of(s, k) > 0) && !(*base_tables_of(s, k) > 0);
}

/* Reduce each slot to what the learner saw itself. Slots without such points, or whose points are forgotten, stay until
 * the end, so that they keep their ids if they are in the new base too. */
static void leave_base(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < s->width; k++) {
        md_real *const past = past_tables_of(s) + k;

        if (!is_used(s, k))
            continue;
        stream_apply_decay(s, k);
        if (*own_of(s, k) < FORGOTTEN_WEIGHT) {
            memset(own_of(s, k), 0, moments_size(s) * sizeof(md_real));
        } else {
            memcpy(slot_of(s, k), own_of(s, k), moments_size(s) * sizeof(md_real));
            *past = at_least(*past - *base_tables_of(s, k), 0);
            groups_recount(s, k);
        }
        *base_tables_of(s, k) = 0;
    }
    groups_total(s);
}

/* The slot whose merge with a cluster of the base raises the log joint most, or MD_NONE. */
static uint32_t best_match(const mapdpm_stream *s, view v)
{
    uint32_t k, best = MD_NONE;
    md_real most = 0;

    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            const md_real gain = merge_gain(s, view_of(s, k, s->now), v);

            if (gain > most) {
                most = gain;
                best = k;
            }
        }
    return best;
}

/* A slot for a cluster that matches none, or MD_NONE. */
static uint32_t new_slot(mapdpm_stream *s)
{
    uint32_t k;

    for (k = 0; k < s->width && s->n_clusters == MD_SLOTS(s); k++)
        if (is_left(s, k))
            stream_remove(s, k, MAPDPM_EVICTED);
    k = s->n_clusters < MD_SLOTS(s) ? stream_free_slot(s) : MD_NONE;
    if (k != MD_NONE) {
        stream_open_slot(s, k);
        ids_of(s)[k] = s->next_id++;
        stream_record(s, MAPDPM_CREATED, ids_of(s)[k], 0);
    }
    return k;
}

/* Take one cluster of the base, which is in spare_of(s). */
static void take(mapdpm_stream *s, md_real tables)
{
    const size_t bytes = moments_size(s) * sizeof(md_real);
    md_real *const spare = spare_of(s);
    view v = empty_view(s);
    uint32_t k;

    v.moments = spare;
    v.decay = 1;
    set_groups(&v, NULL, tables, tables);
    k = best_match(s, v);
    if (k != MD_NONE && !is_left(s, k)) {
        moments_merge(s, slot_of(s, k), spare, half_size(s));
        past_tables_of(s)[k] += tables;
        tables_of(s)[k] += tables;
    } else {
        if (k == MD_NONE)
            k = new_slot(s);
        if (k == MD_NONE)
            return;
        memcpy(slot_of(s, k), spare, bytes);
        past_tables_of(s)[k] = tables_of(s)[k] = tables;
    }
    *base_tables_of(s, k) += tables;
    if (k >= s->width)
        s->width = k + 1;
    groups_total(s);
}

/* So many clusters of a message are found in one pass over it. */
enum { AT_ONCE = 16 };

/* Clusters of a message in order: those of most tables first, then the first ones. */
typedef struct {
    md_real tables[AT_ONCE];
    uint32_t cluster[AT_ONCE];
    uint32_t n;
} batch;

/* The next clusters after the last one of a batch, in its place; the first ones where it is empty. */
static void next_in_order(const summary *f, batch *b)
{
    const uint32_t last = b->n > 0 ? b->cluster[b->n - 1] : MD_NONE;
    const md_real most = b->n > 0 ? b->tables[b->n - 1] : 0;
    uint32_t i, at;

    b->n = 0;
    for (i = 0; i < f->n; i++) {
        const md_real tables = summary_tables(f, i);

        if (last != MD_NONE && !(tables < most || (tables <= most && i > last)))
            continue;
        if (b->n == AT_ONCE && !(tables > b->tables[AT_ONCE - 1]))
            continue;
        b->n += (uint32_t)(b->n < AT_ONCE);
        for (at = b->n - 1; at > 0 && tables > b->tables[at - 1]; at--) {
            b->tables[at] = b->tables[at - 1];
            b->cluster[at] = b->cluster[at - 1];
        }
        b->tables[at] = tables;
        b->cluster[at] = i;
    }
}

int mapdpm_set_base(mapdpm_stream *s, const unsigned char *file, size_t file_bytes)
{
    summary f;
    batch b;
    uint32_t i, k;
    int error;

    if (is_none(s) || file == NULL || !HAS_BASE(s))
        return MAPDPM_E_ARGUMENT;
    if (IS_WARMING(s))
        return MAPDPM_E_WARMING;
    error = summary_open(file, file_bytes, &f);
    if (error == MAPDPM_OK)
        error = summary_check(s, &f);
    if (error != MAPDPM_OK)
        return error;
    leave_base(s);
    b.n = 0;
    for (next_in_order(&f, &b); b.n > 0; next_in_order(&f, &b))
        for (i = 0; i < b.n; i++) {
            memset(spare_of(s), 0, moments_size(s) * sizeof(md_real));
            take(s, summary_read(s, &f, b.cluster[i], spare_of(s)));
        }
    memset(spare_of(s), 0, moments_size(s) * sizeof(md_real)); /* equal learners have equal memory */
    for (k = 0; k < s->width; k++)
        if (is_left(s, k))
            stream_remove(s, k, MAPDPM_EVICTED);
    for (k = 0; k < s->width; k++)
        if (is_used(s, k)) {
            merge_partner_of(s)[k] = MD_NONE;
            stream_refresh(s, k);
        }
    groups_balance(s);
    return MAPDPM_OK;
}
