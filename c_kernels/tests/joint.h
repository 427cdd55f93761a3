/* The log joint of a partition, without the terms that all partitions of its points share: from the marginals, by the
 * formula of the prior. For tests of moves.
 */
#ifndef MAPDPM_TEST_JOINT_H
#define MAPDPM_TEST_JOINT_H

#include "check.h"
#include "mapdpm_batch.h"

#include <math.h>
#include <stdlib.h>

static double joint_of(const mapdpm_problem *p, const mapdpm_clusters *z)
{
    const int64_t size = mapdpm_row_size(p);
    void *const workspace = malloc(mapdpm_workspace_bytes(p, z->capacity));
    double *const marginals = (double *)malloc((size_t)z->capacity * sizeof(double)), joint = 0.0;
    int64_t k, used = 0;

    CHECK(mapdpm_statistics(p, z, workspace) == MAPDPM_OK);
    CHECK(mapdpm_log_marginals(p, z, workspace, marginals) == MAPDPM_OK);
    for (k = 0; k < z->capacity; k++)
        if (z->counts[k] > 0) {
            joint += marginals[k];
            joint += p->penalty > 0.0 ? 0.0 : lgamma(z->rows[k * size] - p->discount) - lgamma(1.0 - p->discount);
            if (used++ > 0) /* all partitions open a first cluster */
                joint += p->penalty > 0.0 ? -p->penalty : log(p->alpha + (double)(used - 1) * p->discount);
        }
    free(marginals);
    free(workspace);
    return joint;
}

#endif
