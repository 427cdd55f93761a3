/* For bench/worst_case.py, which runs it under callgrind: learns a file of points, the last of them by learn_counted.
 * worst_case POINTS n_points n_features max_clusters half_life n_counted */
#include "mapdpm.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) void learn_counted(mapdpm_stream *stream, const mapdpm_real *x, uint32_t *id)
{
    (void)mapdpm_learn(stream, x, id, NULL);
}

int main(int argc, char **argv)
{
    mapdpm_options options = {0};
    mapdpm_stream *stream;
    mapdpm_real *x;
    size_t n, D, counted, done, i, bytes;
    uint32_t id;
    FILE *file;

    if (argc != 7 || (file = fopen(argv[1], "rb")) == NULL)
        return 1;
    n = strtoul(argv[2], NULL, 10);
    D = strtoul(argv[3], NULL, 10);
    counted = strtoul(argv[6], NULL, 10);
    options.family = MAPDPM_NORMAL_GAMMA;
    options.n_features = (uint32_t)D;
    options.max_clusters = (uint32_t)strtoul(argv[4], NULL, 10);
    options.half_life = (mapdpm_real)strtod(argv[5], NULL);
    options.warmup = 200;
    options.alpha = 1;
    bytes = mapdpm_stream_bytes(&options);
    stream = malloc(bytes);
    x = malloc(n * D * sizeof *x);
    if (stream == NULL || x == NULL || fread(x, sizeof *x, n * D, file) != n * D || counted > n)
        return 2;
    if (mapdpm_init(stream, bytes, &options) != MAPDPM_OK)
        return 3;
    if (mapdpm_learn_many(stream, x, NULL, n - counted, NULL, NULL, &done) != MAPDPM_OK)
        return 4;
    for (i = n - counted; i < n; i++)
        learn_counted(stream, x + i * D, &id);
    printf("%u\n", (unsigned)stream->n_clusters);
    return 0;
}
