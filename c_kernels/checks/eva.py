"""Check with Frama-C's Eva that the two files have no undefined behaviour: `python3 checks/eva.py`.

Eva computes the calls of eva.c and eva_features.c for all inputs at once, in intervals. An alarm is a place that Eva
cannot prove to be free of undefined behaviour; none is expected. Infinities and NaN are ordinary values (IEEE
arithmetic), and unsigned integers may wrap, as C allows. Out of scope, and left to the fuzzers: the warm-up, groups,
states in time, gateways, model files, pipelines that are read from files, and resolving ids and reading events, where
intervals cannot express the relation of a counter and an index.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import amalgamate  # noqa: E402  (lies beside this folder)

SMALL = "-DMAPDPM_NO_WINDOW -DMAPDPM_NO_KNOWN_VARIANCE -DMAPDPM_NO_FORGETTING -DEVA_WINDOW=0 -DEVA_HALF_LIFE=0"
LARGE = "-DEVA_WINDOW=2 -DEVA_HALF_LIFE=10"
WHOLE, PRESENT = "-DEVA_MISSING=0 -DEVA_SURPRISE=0", "-DMAPDPM_MISSING -DEVA_MISSING=1 -DEVA_SURPRISE=0"
SURPRISE = "-DEVA_MISSING=0 -DMAPDPM_SURPRISE -DEVA_SURPRISE=1"
N_KINDS = max(map(int, re.findall(r"MAPDPM_STEP_[A-Z]+ = (\d+)", (HERE.parent / "mapdpm.h").read_text())))
CASES = (
    ("least learner: any points", f"-DEVA_STREAM {SMALL} {WHOLE}"),
    ("surprise: any points", f"-DEVA_STREAM {SMALL} {SURPRISE}"),
    ("least learner: any snapshot, then any points", f"-DEVA_SNAPSHOT {SMALL} {WHOLE}"),
    ("window, forgetting: any points", f"-DEVA_STREAM {LARGE} {WHOLE}"),
    ("window, forgetting, both families: any snapshot, then any points", f"-DEVA_SNAPSHOT {LARGE} {WHOLE}"),
    ("the same with missing values", f"-DEVA_SNAPSHOT {LARGE} {PRESENT}"),
    ("the same, snapshots cut short", f"-DEVA_SHORT {LARGE} {WHOLE}"),
    *((f"features, kind {kind} of steps: any points", f"-DEVA_KIND={kind}") for kind in range(1, N_KINDS + 1)),
)
SWITCHES = "-DMAPDPM_FEATURES=2 -DMAPDPM_CLUSTERS=3 -DMAPDPM_NO_WARMUP -DMAPDPM_NO_CLONES"
OPTIONS = (
    *("-machdep", "gcc_x86_64", "-no-unicode", "-warn-special-float", "none"),
    *("-eva", "-eva-no-print", "-eva-no-show-progress", "-eva-msg-key=-initial-state,-final-states"),
    # Loops over slots and bytes are unrolled. Functions that check a file are analysed one path at a time.
    *("-eva-auto-loop-unroll", "400", "-eva-min-loop-unroll", "4", "-eva-split-return", "full"),
)
READING = (
    "run:40000,read_last:40000,mapdpm_snapshot_read_{real}:40000,read_learner:40000,stream_is_valid:5000,"
    "is_slot:2000,are_moments:200,is_kept_point:100,is_event:50,mapdpm_snapshot_options:50,read_options:50,"
    "mapdpm_file_check:50,mapdpm_header_check:50,mapdpm_stream_bytes:50,is_sound:50"
)
ONE_PATH_AT_A_TIME = {
    "EVA_SNAPSHOT": READING,
    "EVA_SHORT": READING,
    "EVA_SURPRISE=1": "surprise_nats:400,mapdpm_assess:50,next_time:20",
    "EVA_KIND": "check_of:50,mapdpm_features_step:50,bin_at:20,kept_in:5",
}

# Notes that are written into the copy for Eva: where to separate cases (split) or unite them (merge), and the facts
# that it cannot derive (admit, return 1), each with its reason.
NOTES = (
    # An address has no number in Eva. The memory of eva.c is aligned.
    ("return (uintptr_t)memory % offsetof(alignment, second) == 0;", "(void)memory; return 1;"),
    # A comparison that held proves that x is a number; Eva 25 does not conclude that.
    ("    k = (mapdpm_real)(int)(x *", "    //@ admit !\\is_NaN(x);\n    k = (mapdpm_real)(int)(x *"),
    (
        "        whole = (md_real)(int32_t)(n + MD_HALF);\n",
        (
            "        {\n            //@ admit !\\is_NaN(n);\n"
            "            whole = (md_real)(int32_t)(n + MD_HALF);\n        }\n"
        ),
    ),
    # A length counts points or milliseconds, and is at least 1.
    ("    uint32_t ratio = length / since,", "    //@ admit since > 0;\n    uint32_t ratio = length / since,"),
    # The time of the last point was in order when it came.
    (
        "    const int64_t now = *r->microseconds, last = time_before(words);\n",
        (
            "    const int64_t now = *r->microseconds, last = time_before(words);\n"
            "    //@ admit -INT64_MAX / 4 <= last <= INT64_MAX / 4;\n"
        ),
    ),
    # Nats are those of a probability, or of one less than the largest: not below 0.
    (
        "    const md_real y = x < NEGLIGIBLE",
        "    //@ admit \\is_finite(x);\n    //@ admit x >= 0;\n    const md_real y = x < NEGLIGIBLE",
    ),
    # A share of the points of a cluster.
    (
        "    const uint32_t all = standing_of(s)[k] & ~MD_RARE, part",
        (
            "    //@ admit \\is_finite(share);\n    //@ admit 0 <= share <= 1;\n"
            "    const uint32_t all = standing_of(s)[k] & ~MD_RARE, part"
        ),
    ),
    # As many bounds are read as were written: those of the slots in use.
    (
        "bounds[KEPT + MD_BLOCK], tail = 0;\n    uint32_t first, at, j, n;\n\n",
        "bounds[KEPT + MD_BLOCK], tail = 0;\n    uint32_t first, at, j, n;\n\n    //@ split s->width;\n",
    ),
    # Slot k weighs at least 1. Slot e is free, or was freed and is not k.
    (
        "            split(s, k, e);\n",
        "            //@ split e;\n            //@ admit e != k;\n            split(s, k, e);\n",
    ),
    (
        "    stream_apply_decay(s, k);\n    moments_add(s, slot_of(s, k), half_size(s), x, 1);\n",
        "    //@ split k;\n    stream_apply_decay(s, k);\n    moments_add(s, slot_of(s, k), half_size(s), x, 1);\n",
    ),
    ("    if (used != s->n_clusters ||", "    //@ slevel merge;\n    if (used != s->n_clusters ||"),
    (
        "    for (i = 0; i < RING_SIZE(s); i++)\n        if (!is_event",
        "    //@ slevel merge;\n    for (i = 0; i < RING_SIZE(s); i++)\n        if (!is_event",
    ),
    (
        "    for (i = 0; i < buffer_size(s); i++)\n        if (!is_kept_point",
        "    //@ slevel merge;\n    for (i = 0; i < buffer_size(s); i++)\n        if (!is_kept_point",
    ),
)


def annotated(source: str) -> str:
    """Return the library with NOTES in it, each at the only place of its text."""
    for old, new in NOTES:
        if source.count(old) != 1:
            sys.exit(f"eva.py: expected once in the library, found {source.count(old)} times: {old!r}; adapt NOTES")
        source = source.replace(old, new)
    return source


def analyse(folder: pathlib.Path, real: str, switches: str) -> tuple[int | None, str]:
    """Return the alarms of one case, or None if the analysis failed, and the output of Frama-C."""
    one_path = next((paths.format(real=real) for case, paths in ONE_PATH_AT_A_TIME.items() if case in switches), "")
    program = "eva_features.c" if "EVA_KIND" in switches else "eva.c"
    run = subprocess.run(
        [
            *("nice", "-n", "5", "frama-c", *OPTIONS, *(("-eva-slevel-function", one_path) if one_path else ())),
            f"-cpp-extra-args=-I{folder} -DMAPDPM_REAL={real} {SWITCHES} {switches}",
            *(str(HERE / program), str(folder / "mapdpm.c")),
        ],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    count = re.search(r"(\d+) alarms? generated by the analysis", run.stdout)
    unknown = re.search(r"Preconditions +\d+ valid +(\d+) unknown", run.stdout)  # of memcpy and memset
    accepts = "EVA_STREAM" in switches or "EVA_SHORT" in switches or "Frama_C_show_each_accepted" in run.stdout
    if run.returncode or count is None or unknown is None or not accepts:
        return None, run.stdout + run.stderr
    return int(count[1]) + int(unknown[1]), run.stdout


def main() -> int:
    """Analyse all cases in both real types; return 1 if there is an alarm."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", default="", help="only the cases whose name contains this")
    parser.add_argument("--real", choices=("float", "double"), action="append", help="only this real type")
    chosen = parser.parse_args()
    if shutil.which("frama-c") is None:
        print("skipped: no frama-c; apt-get install frama-c-base")
        return 0
    bad = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copy(HERE.parent / "mapdpm.h", folder)
        (folder / "mapdpm.c").write_text(annotated(amalgamate.amalgamated()))
        for title, switches in (case for case in CASES if chosen.case in case[0]):
            for real in chosen.real or ("float", "double"):
                start = time.monotonic()
                alarms, printed = analyse(folder, real, switches)
                seconds = time.monotonic() - start
                print(f"{title}, {real}: {'failed' if alarms is None else alarms} alarms, {seconds:.0f} s", flush=True)
                if alarms != 0:
                    bad = 1
                    places = re.findall(r"\[eva:alarm\].*\n(?:  .*\n)*", printed)
                    print("".join(places[:20]) if alarms else printed[-2000:])
    return bad


if __name__ == "__main__":
    sys.exit(main())
