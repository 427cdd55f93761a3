"""MAPDPM_NO_SPLIT: a learner that never splits, whose snapshots go to and fro."""

import pytest

from compiling import SOURCE, need, run

# Learn n points, from a snapshot or from the start. They are of two clusters, which one cluster of a wide prior takes
# first: its halves tell them apart. Print the error, the numbers of clusters, splits and points, and
# whether halves have points.
PROGRAM = r"""
#include "mapdpm.c" /* for half_of */
#include <stdio.h>
#include <stdlib.h>
#ifndef RUN
#define RUN 1
#endif
enum { D = 1, K = 4 };
static uint64_t memory[8192];
static unsigned char file[32768];

static int begin(mapdpm_stream *s, const char *from)
{
    static const mapdpm_real prior[] = {0, (mapdpm_real)0.05, 2, 20};
    mapdpm_options o = {0};
    FILE *f = fopen(from, "rb");

    o.family = MAPDPM_NORMAL_GAMMA;
    o.n_features = D;
    o.max_clusters = K;
    o.alpha = (mapdpm_real)0.0001;
    o.parameters = prior;
    OPTIONS;
    if (f == NULL)
        return mapdpm_init(s, sizeof memory, &o);
    const size_t n = fread(file, 1, sizeof file, f);
    fclose(f);
    return mapdpm_snapshot_read(s, sizeof memory, file, n);
}

int main(int argc, char **argv)
{
    mapdpm_stream *s = (mapdpm_stream *)(void *)memory;
    unsigned random = 12345, splits = 0;
    md_real halves = 0;
    uint32_t k;
    uint64_t e;
    size_t bytes = 0;
    int error = argc == 4 ? begin(s, argv[1]) : 1, n;

    for (n = 0; error == 0 && n < atoi(argv[2]); n++) {
        mapdpm_real x = (mapdpm_real)(n / RUN % 2 * 6 - 3);

        for (int i = 0; i < 4; i++, random = random * 1664525u + 1013904223u)
            x += (mapdpm_real)(random >> 16) / 65536 - (mapdpm_real)0.5;
        GROUP;
        error = error ? error : mapdpm_learn(s, &x, NULL, NULL);
    }
    for (e = 0; e < s->n_events; e++) {
        mapdpm_event event;

        splits += mapdpm_get_event(s, e, &event) == 0 && event.kind == MAPDPM_SPLIT;
    }
    for (k = 0; k < K; k++)
        halves += is_used(s, k) ? *half_of(s, k, 0) + *half_of(s, k, 1) : 0;
    error = error ? error : mapdpm_snapshot_write(s, file, sizeof file, &bytes);
    FILE *f = fopen(argv[3], "wb");
    fwrite(file, 1, bytes, f);
    fclose(f);
    printf("%d %u %u %u %d\n", error, (unsigned)s->n_clusters, splits, (unsigned)s->n_seen, halves > 0);
    return 0;
}
"""
KINDS = {
    "plain": ("", "", ""),
    "window": ("", "o.window = 20; o.half_life = 400", ""),
    "groups": (
        "-DMAPDPM_GROUPS",
        "o.max_groups = 2; o.gamma = 1",
        "error = mapdpm_set_group(s, (uint32_t)n / 3u % 2u)",
    ),
    "states": ("-DMAPDPM_STATES -DRUN=16", "o.alpha = 1; o.lag = 1; o.gamma = 1; o.kappa = 4", ""),
}


@pytest.mark.complete
@pytest.mark.parametrize("kind", KINDS)
def test_clusters_never_split_and_snapshots_are_compatible(kind, tmp_path):
    switches, options, group = KINDS[kind]
    (tmp_path / "program.c").write_text(PROGRAM.replace("OPTIONS;", f"{options};").replace("GROUP;", f"{group};"))
    flags = f"-std=c99 -O0 -Wall -Wextra -Werror -DMAPDPM_REAL=float -DMAPDPM_NO_CLONES {switches} -I{SOURCE}".split()
    for name, more in (("splits", []), ("never", ["-DMAPDPM_NO_SPLIT"])):
        run(need("gcc"), *flags, *more, tmp_path / "program.c", "-o", tmp_path / name)

    def learned(name, start, n, to):
        error, *found = map(int, run(tmp_path / name, tmp_path / start, n, tmp_path / to).split())
        assert error == 0
        return found

    assert learned("splits", "none", 200, "two")[:3] == [2, 1, 200]
    assert learned("never", "none", 200, "one") == [1, 0, 200, 0]
    assert learned("never", "two", 200, "more")[:3] == [2, 1, 400]  # it learns on with the clusters that it got
    assert learned("splits", "one", 200, "other")[:3] == [2, 1, 400]  # the other library splits what it got
    assert learned("splits", "none", 10, "halves") == [1, 0, 10, 1]
    assert learned("never", "halves", 200, "old")[1:] == [0, 210, 0]  # halves that are out of date are emptied
    assert learned("never", "halves", 0, "same") == [1, 0, 10, 1]
    assert (tmp_path / "same").read_bytes() == (tmp_path / "halves").read_bytes()
