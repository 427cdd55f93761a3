"""The release: its version, its papers, its forms, and that its checks find what they look for.

``make test-wheels`` runs the checks themselves.
"""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import mapdpm
from release import builds, contents, use
from repository import ROOT

FORGE = ROOT / ".github"
GROUPS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")

needs_forge = pytest.mark.skipif(not FORGE.exists(), reason="an sdist has no files for a forge")


def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


# ---- versions --------------------------------------------------------------------------------------------------------


def test_pages_name_the_version():
    """``tests/c_kernels/test_manifests.py`` asks the manifests, ``test_packaging.py`` the header."""
    version = re.escape(mapdpm.__version__)
    date = re.search(rf"^## {version} - (\d{{4}}-\d\d-\d\d)$", page("CHANGELOG.md"), re.MULTILINE)
    assert date, "CHANGELOG.md has no heading of this version"
    assert f'date-released: "{date[1]}"' in page("CITATION.cff")
    assert re.search(rf"^This is version {version}\.", page("README.md"), re.MULTILINE)


def test_the_changelog_is_in_order():
    heads = re.findall(r"^## (.+)$", page("CHANGELOG.md"), re.MULTILINE)
    assert heads[0] == "Unreleased"
    assert heads[1].startswith(f"{mapdpm.__version__} - ")
    versions = [tuple(map(int, head.partition(" - ")[0].split("."))) for head in heads[1:]]
    assert versions == sorted(versions, reverse=True)
    assert set(re.findall(r"^### (.+)$", page("CHANGELOG.md"), re.MULTILINE)) <= set(GROUPS)


def test_breaking_changes_come_first_in_their_list():
    for part in re.split(r"^#", page("CHANGELOG.md"), flags=re.MULTILINE):
        breaking = [entry.startswith("**Breaking") for entry in re.findall(r"^- (.+)$", part, re.MULTILINE)]
        assert breaking == sorted(breaking, reverse=True), part[:40]


# ---- papers and forms ------------------------------------------------------------------------------------------------

FORMS = {
    "citation-file-format": ["CITATION.cff"],
    "github-issue-config": [".github/ISSUE_TEMPLATE/config.yml"],
    "github-issue-forms": [".github/ISSUE_TEMPLATE/bug.yml", ".github/ISSUE_TEMPLATE/feature.yml"],
    "github-workflows": [".github/workflows/ci.yml", ".github/workflows/release.yml"],
}


@pytest.mark.complete
@pytest.mark.parametrize(("schema", "names"), FORMS.items(), ids=FORMS)
def test_forms_have_their_schema(schema, names):
    pytest.importorskip("check_jsonschema")
    if not all((ROOT / name).exists() for name in names):
        pytest.skip("an sdist has no files for a forge")
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *names]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@needs_forge
def test_every_form_has_a_schema_above():
    forms = {path.relative_to(ROOT).as_posix() for path in FORGE.rglob("*.yml")}
    assert forms == {name for names in FORMS.values() for name in names if name.startswith(".github")}


@needs_forge
@pytest.mark.parametrize(
    ("name", "runs"), [("ci.yml", ".ci/run ${{ matrix.targets }}"), ("release.yml", "make release-check")]
)
def test_workflows_run_what_is_run_here(name, runs):
    yaml = pytest.importorskip("yaml")
    text = page(f".github/workflows/{name}")
    flow = yaml.safe_load(text)
    steps = [step for job in flow["jobs"].values() for step in job["steps"]]
    assert text.startswith("# Written without having been run")
    assert runs in [step.get("run") for step in steps]
    assert flow["permissions"] == {"contents": "read"}
    actions = [step["uses"] for step in steps if "uses" in step]
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+(\.\d+)*", action) for action in actions), actions


@needs_forge
def test_the_jobs_of_ci_are_all_that_make_test_all_runs():
    """And ``test-wheels``, which is too long for it."""
    yaml = pytest.importorskip("yaml")
    (job,) = yaml.safe_load(page(".github/workflows/ci.yml"))["jobs"].values()
    targets = " ".join(part["targets"] for part in job["strategy"]["matrix"]["include"]).split()
    rest = re.search(r"^test-rest:.*\n((?:\t.*\n)+)", page("Makefile"), re.MULTILINE)[1]
    parts = " ".join(re.findall(r"\$\(PARALLEL\) (.*)", rest)).split()
    assert sorted(targets) == sorted(
        ["test", "test-wheels", *(part for part in parts if not part.startswith(".venv/"))]
    )


# ---- builds ----------------------------------------------------------------------------------------------------------


def tar(path, names, **fields):
    with tarfile.open(path, "w:gz") as file:
        for name in names:
            member = tarfile.TarInfo(f"mapdpm-1/{name}")
            member.size = len(name)
            for field, value in fields.items():
                setattr(member, field, value)
            file.addfile(member, io.BytesIO(name.encode()))
    return path


def test_an_sdist_does_not_tell_who_packed_it_or_when(tmp_path):
    first = tar(tmp_path / "first.tar.gz", ["a", "b"], mtime=1, uid=7, uname="me", mode=0o600)
    second = tar(tmp_path / "second.tar.gz", ["b", "a"], mtime=2, gid=8, gname="us", mode=0o664)
    executable = tar(tmp_path / "third.tar.gz", ["a", "b"], mode=0o700)
    for path in (first, second, executable):
        builds.normalise(path)
    assert first.read_bytes() == second.read_bytes() != executable.read_bytes()
    assert contents.members(first) == {"a": b"a", "b": b"b"}


COMPARE = """
#include <math.h>
#include <stdint.h>
#include <string.h>
double new_exp(double), new_lgamma(double), new_log(double);
__asm__(".symver new_exp,exp@GLIBC_2.29");
__asm__(".symver new_lgamma,lgamma@GLIBC_2.23");
__asm__(".symver new_log,log@GLIBC_2.29");
static int differ(double a, double b) { return !(isnan(a) && isnan(b)) && memcmp(&a, &b, sizeof a) != 0; }
int main(void)
{
    uint64_t bits = 88172645463325252u;
    int i, found = 0;
    for (i = 0; i < 1000000; i++) {
        double any, x;
        bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
        memcpy(&any, &bits, sizeof any);
        x = (double)(int64_t)bits * 0x1p-53;
        found |= differ(exp(any), new_exp(any)) | differ(exp(x), new_exp(x)) | differ(log(any), new_log(any));
        found |= differ(log(fabs(x)), new_log(fabs(x))) | differ(lgamma(fabs(x)), new_lgamma(fabs(x)));
    }
    return found;
}
"""


def test_old_names_of_glibc_have_the_results_of_the_new_ones(tmp_path):
    """Both are in the library of this machine: the program is linked with the old names by the header."""
    if os.uname().machine != "x86_64" or shutil.which("gcc") is None or os.confstr("CS_GNU_LIBC_VERSION") is None:
        pytest.skip("needs gcc and glibc on x86-64: apt-get install build-essential")
    (tmp_path / "compare.c").write_text(COMPARE)
    flags = ["-O1", "-fno-builtin", "-include", ROOT / "release" / "old_glibc.h"]
    done = subprocess.run(
        ["gcc", *flags, "compare.c", "-lm", "-o", "compare"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if "GLIBC_2.29" in done.stderr:
        pytest.skip("this glibc is older than 2.29")
    assert done.returncode == 0, done.stderr
    subprocess.run([tmp_path / "compare"], check=True)
    symbols = (tmp_path / "compare").read_bytes()
    assert b"GLIBC_2.2.5" in symbols
    assert b"GLIBC_2.29" in symbols


# ---- contents --------------------------------------------------------------------------------------------------------


def wheel(folder, *, without=(), more=(), module=b"code"):
    """A wheel that holds what the sources of this tree ask for, but for what a test changes."""
    names = contents.expected_in_wheel(ROOT, "1.2.3") - set(without) | set(more)
    path = folder / "mapdpm-1.2.3-cp311-abi3-manylinux_2_17_x86_64.whl"
    metadata = 'Name: mapdpm\nRequires-Dist: numpy>=1\nRequires-Dist: numba; extra == "numba"\n'
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, metadata if name.endswith("METADATA") else module)
    return path


def test_a_wheel_holds_the_package_and_nothing_else(tmp_path):
    assert contents.look_into_wheel(wheel(tmp_path), ROOT) == ["numpy>=1"]
    names = contents.members(wheel(tmp_path))
    assert {"mapdpm/backends/_c64.abi3.so", "mapdpm/c_kernels/mapdpm.h", "mapdpm/py.typed"} <= set(names)
    assert not [name for name in names if re.match(r"(tests|bench|release)\b", name)]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"more": ["tests/conftest.py"]}, "tests/conftest.py"),
        ({"more": ["mapdpm/c_kernels/notes.txt"]}, "notes.txt"),
        ({"without": ["mapdpm/py.typed"]}, "py.typed"),
        ({"without": ["mapdpm/c_kernels/batch/sweep.c"]}, "sweep.c"),
    ],
)
def test_a_wheel_with_less_or_more_is_refused(tmp_path, change, named):
    with pytest.raises(SystemExit, match=named):
        contents.look_into_wheel(wheel(tmp_path, **change), ROOT)


def test_a_module_that_names_a_folder_of_its_builder_is_refused(tmp_path):
    with pytest.raises(AssertionError, match="/home/me/build"):
        contents.look_into_wheel(wheel(tmp_path, module=b"\0/home/me/build\0"), ROOT)


def test_an_sdist_holds_all_but_what_serves_a_checkout(tmp_path):
    source = tmp_path / "source"
    for name in ("setup.py", ".ci/run", ".gitignore", "tests/test_one.py"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("")
    expected = ["setup.py", "tests/test_one.py", "PKG-INFO", "setup.cfg"]
    expected += [f"mapdpm.egg-info/{name}" for name in contents.ABOUT_AN_SDIST]
    contents.look_into_sdist(tar(tmp_path / "good.tar.gz", expected), source)
    with pytest.raises(SystemExit, match=r"test_one\.py"):
        contents.look_into_sdist(tar(tmp_path / "less.tar.gz", [expected[0], *expected[2:]]), source)
    with pytest.raises(SystemExit, match=r"\.ci/run"):
        contents.look_into_sdist(tar(tmp_path / "more.tar.gz", [*expected, ".ci/run"]), source)


# ---- use and description ---------------------------------------------------------------------------------------------


def test_machines_must_agree():
    first = {"python": "3.11", "labels": [0, 1], "stream": "00ff"}
    use.agree(first, first | {"python": "3.13"})
    for key, value in (("labels", [0, 0]), ("stream", "00fe")):
        with pytest.raises(AssertionError, match=f"{key}: Python 3.13"):
            use.agree(first, first | {"python": "3.13", key: value})


def test_the_oldest_and_the_newest_python_are_found():
    oldest, newest = use.pythons()
    assert oldest.version <= sys.version_info[:3] <= newest.version
    assert Path(newest.path).exists()


@pytest.mark.complete
def test_the_list_of_contents_is_valid_and_always_the_same(tmp_path):
    pytest.importorskip("cyclonedx")
    from release import sbom

    sdist, built = tar(tmp_path / "mapdpm-1.2.3.tar.gz", ["a"]), wheel(tmp_path)
    document = sbom.described("1.2.3", sdist, [built], ["numpy>=1.23", "cffi>=1.15"])
    assert document == sbom.described("1.2.3", sdist, [built], ["numpy>=1.23", "cffi>=1.15"])
    sbom.write(tmp_path / "good.json", document)
    names = [component["name"] for component in json.loads((tmp_path / "good.json").read_text())["components"]]
    assert names[:2] == ["numpy", "cffi"]
    assert {
        "mapdpm/c_kernels/batch/sweep.c",
        "mapdpm/example_data/smartwatch.csv",
        "mapdpm/backends/_c32.abi3.so",
    } < set(names)
    with pytest.raises(SystemExit, match=r"bad\.json is no valid CycloneDX"):
        sbom.write(tmp_path / "bad.json", document | {"components": [{"name": "no type"}]})
