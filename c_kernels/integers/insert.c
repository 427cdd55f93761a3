/* Clusters that were found elsewhere, into a learner in whole numbers: mapdpm/integers/learner.py, step by step. */
#include "integers/mapdpm_int_layout.h"

/* A number of points of now, in the weights of the learner; `value` < 2^61. */
static uint64_t weighted(const mapdpm_stream *s, uint64_t value)
{
    return (value >> 8) * s->weight + ((value & 255u) * s->weight >> 8);
}

int mapdpm_insert(mapdpm_stream *s, const mapdpm_cluster *cluster, const int32_t *mean, const uint64_t *squares)
{
    uint64_t weight;
    int_moments m;
    uint32_t d, j, k, n;

    if (s == NULL || s->bytes == 0 || cluster == NULL || mean == NULL || squares == NULL || cluster->weight == 0 ||
        cluster->id < s->next_id)
        return MAPDPM_E_ARGUMENT;
    weight = weighted(s, cluster->weight);
    if (int_total(s) + weight > INT_LARGEST_WEIGHT >> (INT_FORGETS(s) ? 1 : 0)) /* the rest is for points of a half-life */
        return MAPDPM_E_RANGE;
    for (d = 0; d < INT_FEATURES(s); d++)
        if (mean[d] < int_place(-32768) || mean[d] > int_place(32767) || squares[d] > (uint64_t)cluster->weight << 30)
            return MAPDPM_E_RANGE;
    if (s->n_clusters == INT_SLOTS(s))
        return MAPDPM_E_SPACE;
    if (s->next_id == MAPDPM_NO_ID)
        return MAPDPM_E_IDS;
    if (cluster->id != MAPDPM_NO_ID)
        s->next_id = cluster->id;
    n = (cluster->weight + 128) >> 8;
    s->n_seen += n;
    for (j = 0; j < INT_SLOTS(s); j++) /* the others do not become idle by this */
        int_slot_of(s, j)->seen += n;
    k = int_free(s);
    int_open(s, k);
    m = int_moments_of(s, k, WHOLE);
    *m.weight = (uint32_t)weight;
    for (d = 0; d < INT_FEATURES(s); d++) {
        m.means[d] = mean[d] - int_place(int_centre(s)[d]);
        m.squares[d] = weighted(s, squares[d]);
    }
    int_prepare(s, k);
    return MAPDPM_OK;
}
