/* Paths of a hidden Markov model with fixed transitions and emissions. The twin of mapdpm/backends/paths.py. */
#include "mapdpm_batch.h"

#include <math.h>

static int is_chain(const mapdpm_chain *c)
{
    int64_t s;

    if (c == NULL || c->n_states < 1 || c->steps == NULL || c->n_sequences < 0 || c->begins == NULL)
        return 0;
    for (s = 0; s < c->n_sequences; s++)
        if (c->begins[s] < 0 || c->begins[s + 1] <= c->begins[s])
            return 0;
    return 1;
}

/* The best path of a sequence of points from `first` to `end`. logs has those of steps. */
static double best_path(const mapdpm_chain *c, const double *scores, const double *logs, double *best, double *after,
                        int64_t first, int64_t end, int64_t *came_from, int64_t *path)
{
    const int64_t K = c->n_states;
    int64_t t, k, v, last = 0;
    double value;

    for (k = 0; k < K; k++)
        best[k] = log(c->start[k]) + scores[first * K + k];
    for (t = first + 1; t < end; t++) {
        for (k = 0; k < K; k++) {
            int64_t came = 0;

            value = best[0] + logs[k * K];
            for (v = 1; v < K; v++)
                if (best[v] + logs[k * K + v] > value) {
                    came = v;
                    value = best[v] + logs[k * K + v];
                }
            came_from[t * K + k] = came;
            after[k] = value + scores[t * K + k];
        }
        for (k = 0; k < K; k++)
            best[k] = after[k];
    }
    for (k = 1; k < K; k++)
        if (best[k] > best[last])
            last = k;
    value = best[last];
    for (t = end - 1; t >= first; t--) {
        path[t] = last;
        if (t > first)
            last = came_from[t * K + last];
    }
    return value;
}

int mapdpm_viterbi(const mapdpm_chain *c, const double *scores, double *workspace, int64_t *came_from, int64_t *path,
                   double *log_joint)
{
    const int64_t K = c ? c->n_states : 0;
    int64_t s, k, v;

    if (!is_chain(c) || c->start == NULL || scores == NULL || workspace == NULL || came_from == NULL || path == NULL ||
        log_joint == NULL)
        return MAPDPM_E_ARGUMENT;
    for (v = 0; v < K; v++)
        for (k = 0; k < K; k++)
            workspace[k * K + v] = log(c->steps[v * K + k]);
    *log_joint = 0.0;
    for (s = 0; s < c->n_sequences; s++)
        *log_joint += best_path(c, scores, workspace, workspace + K * K, workspace + K * (K + 1), c->begins[s],
                                c->begins[s + 1], came_from, path);
    return MAPDPM_OK;
}

/* The probability of state k after one that is drawn from `before`. */
static double predicted(const mapdpm_chain *c, const double *before, int64_t k)
{
    double total = 0.0;
    int64_t v;

    for (v = 0; v < c->n_states; v++)
        total += before[v] * c->steps[v * c->n_states + k];
    return total;
}

int mapdpm_forward(const mapdpm_chain *c, const double *scores, double *filtered, double *log_totals)
{
    const int64_t K = c ? c->n_states : 0;
    int64_t s, t, k;

    if (!is_chain(c) || c->start == NULL || scores == NULL || filtered == NULL || log_totals == NULL)
        return MAPDPM_E_ARGUMENT;
    for (s = 0; s < c->n_sequences; s++) {
        log_totals[s] = 0.0;
        for (t = c->begins[s]; t < c->begins[s + 1]; t++) {
            double *const now = filtered + t * K, top = -INFINITY, total = 0.0;

            for (k = 0; k < K; k++) {
                now[k] = log(t == c->begins[s] ? c->start[k] : predicted(c, now - K, k)) + scores[t * K + k];
                top = now[k] > top ? now[k] : top;
            }
            for (k = 0; k < K; k++) {
                now[k] = exp(now[k] - top);
                total += now[k];
            }
            for (k = 0; k < K; k++)
                now[k] /= total;
            log_totals[s] += top + log(total);
        }
    }
    return MAPDPM_OK;
}

int mapdpm_backward(const mapdpm_chain *c, double *workspace, double *filtered)
{
    const int64_t K = c ? c->n_states : 0;
    int64_t s, t, k, v;

    if (!is_chain(c) || workspace == NULL || filtered == NULL)
        return MAPDPM_E_ARGUMENT;
    for (s = 0; s < c->n_sequences; s++)
        for (t = c->begins[s + 1] - 2; t >= c->begins[s]; t--) {
            double *const now = filtered + t * K, total = 0.0;

            for (k = 0; k < K; k++)
                workspace[k] = now[K + k] / predicted(c, now, k);
            for (v = 0; v < K; v++) {
                double later = 0.0;

                for (k = 0; k < K; k++)
                    later += c->steps[v * K + k] * workspace[k];
                now[v] *= later;
                total += now[v];
            }
            for (v = 0; v < K; v++)
                now[v] /= total;
        }
    return MAPDPM_OK;
}

int mapdpm_draw_path(const mapdpm_chain *c, const double *filtered, const double *uniforms, int64_t *path)
{
    const int64_t K = c ? c->n_states : 0;
    int64_t s, t, k;

    if (!is_chain(c) || filtered == NULL || uniforms == NULL || path == NULL)
        return MAPDPM_E_ARGUMENT;
    for (s = 0; s < c->n_sequences; s++)
        for (t = c->begins[s + 1] - 1; t >= c->begins[s]; t--) {
            const int64_t next = t + 1 < c->begins[s + 1] ? path[t + 1] : -1;
            double total = 0.0, left;

            for (k = 0; k < K; k++)
                total += filtered[t * K + k] * (next < 0 ? 1.0 : c->steps[k * K + next]);
            left = uniforms[t] * total;
            path[t] = 0;
            for (k = 0; k < K; k++) {
                const double share = filtered[t * K + k] * (next < 0 ? 1.0 : c->steps[k * K + next]);

                if (share > 0.0) {
                    path[t] = k;
                    left -= share;
                    if (left < 0.0)
                        break;
                }
            }
        }
    return MAPDPM_OK;
}
