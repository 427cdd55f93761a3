/* Points of many groups in one call. */
#include "stream/mapdpm_steps.h"

int mapdpm_learn_groups(mapdpm_stream *s, const md_real *x, const uint32_t *groups, const int64_t *microseconds,
                        size_t n, uint32_t *ids, md_real *scores, size_t *done)
{
    size_t i, one;
    int error = MAPDPM_OK;

    if (is_none(s) || x == NULL || groups == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        error = mapdpm_set_group(s, groups[i]);
        if (error == MAPDPM_OK)
            error = mapdpm_learn_many(s, x + i * MD_FEATURES(s), microseconds ? microseconds + i : NULL, 1,
                                      ids ? ids + i : NULL, scores ? scores + i : NULL, &one);
        if (error != MAPDPM_OK)
            break;
    }
    *done = i;
    return error;
}

int mapdpm_predict_groups(mapdpm_stream *s, const md_real *x, const uint32_t *groups, size_t n, uint32_t *ids,
                          md_real *scores, size_t *done)
{
    size_t i;
    int error = MAPDPM_OK;

    if (is_none(s) || x == NULL || groups == NULL || done == NULL)
        return MAPDPM_E_ARGUMENT;
    for (i = 0; i < n; i++) {
        error = mapdpm_set_group(s, groups[i]);
        if (error == MAPDPM_OK)
            error = mapdpm_predict(s, x + i * MD_FEATURES(s), ids ? ids + i : NULL, scores ? scores + i : NULL);
        if (error != MAPDPM_OK)
            break;
    }
    *done = i;
    return error;
}
