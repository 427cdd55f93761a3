/* Merges that raise the log joint, the cheapest pair first, some of them ahead. The twin of
 * mapdpm/backends/agglomeration.py.
 */
#include "families/mapdpm_priors.h"

enum { LOOK_AHEAD = 8 };

typedef struct pair {
    int64_t kept;
    int64_t gone;
    double loss;
} pair;

/* Merges under way, on a copy of the statistics. */
typedef struct merging {
    const mapdpm_problem *problem;
    const mapdpm_pairs *pairs;
    likelihood likelihood;
    int64_t size;
    int64_t n_sufficient;
    mapdpm_clusters ahead;
    int64_t n_used;
    int64_t *stale; /* [capacity] */
    void *losses_space;
} merging;

/* Bring the cheapest partners up to date with the rows that have changed. */
static int update(const merging *m)
{
    int64_t k, j;

    for (k = 0; k < m->ahead.capacity; k++) {
        const double *const row = m->ahead.rows + k * m->size;
        double *const known = m->pairs->known + k * m->n_sufficient;

        for (j = 0; j < m->n_sufficient && row[j] == known[j]; j++)
            ;
        m->stale[k] = j < m->n_sufficient;
        memcpy(known, row, (size_t)m->n_sufficient * sizeof *known);
    }
    return mapdpm_merge_losses(m->problem, &m->ahead, m->losses_space, m->stale, m->pairs->partners, m->pairs->losses);
}

static pair cheapest(const merging *m)
{
    const double *const losses = m->pairs->losses;
    double least = INFINITY;
    pair found;
    int64_t k;

    for (k = 0; k < m->ahead.capacity; k++)
        least = losses[k] < least ? losses[k] : least;
    for (k = 0; -losses[k] < -least - TOLERANCE * (1.0 + fabs(least)); k++)
        ;
    found.kept = k;
    found.gone = m->pairs->partners[k];
    found.loss = losses[k] + log_new(m->problem, m->n_used - 1, 1.0);
    return found;
}

/* Merge a pair ahead. Returns the size of its log marginals. */
static double merge_pair(merging *m, pair p)
{
    double *const kept = m->ahead.rows + p.kept * m->size, *const gone = m->ahead.rows + p.gone * m->size;
    const double magnitude =
        fabs(statistics_log_marginal(&m->likelihood, kept) + statistics_log_marginal(&m->likelihood, gone));

    statistics_merge(&m->likelihood, kept, gone);
    statistics_prepare(&m->likelihood, kept);
    statistics_clear(&m->likelihood, gone);
    m->ahead.counts[p.kept] += m->ahead.counts[p.gone];
    m->ahead.counts[p.gone] = 0;
    m->n_used--;
    return magnitude;
}

static void copy_slot(const merging *m, const mapdpm_clusters *z, int64_t k)
{
    z->counts[k] = m->ahead.counts[k];
    memcpy(z->rows + k * m->size, m->ahead.rows + k * m->size, (size_t)m->size * sizeof *z->rows);
}

/* Do what was done ahead. */
static void commit(const merging *m, const mapdpm_clusters *z, const pair *pending, int64_t n)
{
    int64_t i, j;

    for (j = 0; j < n; j++) {
        for (i = 0; i < m->problem->n_points; i++)
            z->labels[i] = z->labels[i] == pending[j].gone ? pending[j].kept : z->labels[i];
        copy_slot(m, z, pending[j].kept);
        copy_slot(m, z, pending[j].gone);
    }
}

size_t mapdpm_merge_bytes(const mapdpm_problem *problem, int64_t capacity)
{
    if (!has_sizes(problem) || capacity < 1)
        return 0;
    return sizeof(double) * (size_t)((capacity + 1) * statistics_size(problem) + 2 * likelihood_doubles(problem)) +
           sizeof(int64_t) * 2 * (size_t)capacity;
}

static void set_up(merging *m, const mapdpm_problem *p, const mapdpm_clusters *z, double *next,
                   const mapdpm_pairs *pairs)
{
    int64_t k;

    m->problem = p;
    m->pairs = pairs;
    m->size = statistics_size(p);
    m->n_sufficient = sufficient_size(p);
    m->likelihood = likelihood_of(p, next);
    m->losses_space = next += likelihood_doubles(p);
    m->ahead.rows = next += m->size + likelihood_doubles(p);
    m->ahead.counts = (int64_t *)(void *)(next + z->capacity * m->size);
    m->stale = m->ahead.counts + z->capacity;
    m->ahead.capacity = z->capacity;
    m->ahead.labels = NULL;
    m->ahead.base = NULL;
    memcpy(m->ahead.rows, z->rows, (size_t)(z->capacity * m->size) * sizeof *z->rows);
    memcpy(m->ahead.counts, z->counts, (size_t)z->capacity * sizeof *z->counts);
    for (k = 0, m->n_used = 0; k < z->capacity; k++)
        m->n_used += z->counts[k] > 0;
}

int mapdpm_merge(const mapdpm_problem *problem, const mapdpm_clusters *clusters, void *workspace,
                 const mapdpm_pairs *pairs, int64_t most, int64_t *merged)
{
    pair pending[LOOK_AHEAD];
    int64_t n_pending = 0;
    double gain = 0.0, magnitude = 0.0;
    merging m;

    if (!is_batch_call(problem, clusters) || workspace == NULL || pairs == NULL || pairs->known == NULL ||
        pairs->partners == NULL || pairs->losses == NULL || merged == NULL ||
        !are_labels_in_range(problem, clusters, -1))
        return MAPDPM_E_ARGUMENT;
    set_up(&m, problem, clusters, (double *)workspace, pairs);
    *merged = 0;
    while (m.n_used > 1 && n_pending < LOOK_AHEAD && *merged < most) {
        const int error = update(&m);

        if (error != MAPDPM_OK)
            return error;
        pending[n_pending] = cheapest(&m);
        if (pending[n_pending].gone < 0) /* no loss is a number */
            break;
        gain -= pending[n_pending].loss;
        magnitude += merge_pair(&m, pending[n_pending++]);
        if (gain > TOLERANCE * (1.0 + fabs(magnitude))) {
            commit(&m, clusters, pending, n_pending);
            *merged += n_pending;
            n_pending = 0;
            gain = magnitude = 0.0;
        }
    }
    return MAPDPM_OK;
}
