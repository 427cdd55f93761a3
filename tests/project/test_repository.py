"""The repository: the files at its root, and the hook that checks the subjects of commits."""

import os
import re
import shutil
import subprocess

import pytest

from repository import ROOT

HOOK = ROOT / ".githooks" / "commit-msg"
AT_THE_ROOT = {
    ".ci",
    ".editorconfig",
    ".githooks",
    ".github",
    ".gitignore",
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "MANIFEST.in",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "bench",
    "build_kernels.py",
    "c_kernels",
    "docs",
    "examples",
    "mapdpm",
    "pyproject.toml",
    "release",
    "setup.py",
    "tests",
    "web",
}
"""All that may lie there. Profiles, logs and pictures of a run do not."""

OFFER = "git config core.hooksPath .githooks"

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
needs_hook = pytest.mark.skipif(not HOOK.exists(), reason="an sdist has no hooks")


@needs_git
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout of git: nothing is tracked")
def test_nothing_else_lies_at_the_root():
    asked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if asked.returncode:
        pytest.skip(f"git does not answer here: {asked.stderr.strip()}")
    tracked = {name.partition("/")[0] for name in asked.stdout.split("\0") if name}
    assert tracked - AT_THE_ROOT == set()
    assert {name for name in AT_THE_ROOT - tracked if not (ROOT / name).exists()} == set()


# ---- the hook --------------------------------------------------------------------------------------------------------

FITS = "Mend: " + "a" * 66
ACCEPTED = {
    "72 characters": FITS,
    "72 characters of two bytes each": "ä" * 72,
    "a long body": f"{FITS}\n\n{'b' * 200}",
    "comments and blank lines first": f"# {'c' * 80}\n\n{FITS}",
    "a fixup": f"fixup! {FITS}",
    "a fixup of a fixup": f"fixup! squash! amend! {FITS}",
    "a merge": f"Merge branch '{'d' * 80}' into main",
    "the diff of commit --verbose": f"Short\n# ---- >8 ----\n# {'e' * 80}\ndiff {'f' * 80}",
    "nothing, which git refuses": "",
}
REFUSED = {
    "73 characters": (f"{FITS}a", 73),
    "a subject in two lines": (f"{FITS}\nab", 75),
    "73 characters of two bytes each": ("ä" * 73, 73),
    "a fixup of what is too long": (f"fixup! {FITS}a", 73),
    "no merge": (f"Merges {'a' * 70}", 77),
}


def hooked(tmp_path, message, **environment):
    (tmp_path / "message").write_text(message, encoding="utf-8")
    return subprocess.run(
        ["sh", HOOK, "message"], cwd=tmp_path, capture_output=True, check=False, env=os.environ | environment
    )


@needs_hook
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize("message", ACCEPTED.values(), ids=ACCEPTED)
def test_the_hook_takes(tmp_path, message, locale):
    done = hooked(tmp_path, f"{message}\n", LC_ALL=locale)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@needs_hook
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
@pytest.mark.parametrize(("message", "length"), REFUSED.values(), ids=REFUSED)
def test_the_hook_refuses(tmp_path, message, length, locale):
    done = hooked(tmp_path, f"{message}\n", LC_ALL=locale)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (1, b"", 1)
    assert f"at most 72 characters, got {length}: ".encode() in done.stderr


@needs_hook
@needs_git
def test_git_runs_the_hook_where_the_offer_was_taken(tmp_path):
    shutil.copytree(ROOT / ".githooks", tmp_path / ".githooks")
    named = {f"GIT_{who}_{what}": "nobody" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*words):
        known = {"cwd": tmp_path, "capture_output": True, "text": True, "env": os.environ | named}
        return subprocess.run(["git", *words], check=False, **known)

    assert git("init").returncode == 0
    assert git(*OFFER.split()[1:]).returncode == 0
    assert git("commit", "--allow-empty", "-m", FITS).returncode == 0
    refused = git("commit", "--allow-empty", "-m", f"{FITS}a")
    assert (refused.returncode, "got 73" in refused.stderr) == (1, True)
    assert git("log", "--format=%s").stdout == f"{FITS}\n"


@needs_hook
@needs_git
@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_lint_offers_the_hook_once(tmp_path):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("python", "ruff", "mypy"):
        (tools / name).symlink_to("/bin/true")

    def lint():
        words = ["make", "-f", ROOT / "Makefile", "-o", ".venv/tested", "lint", f"BIN={tools}"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert OFFER not in lint()  # no checkout
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert lint().count(OFFER) == 1
    hooks = subprocess.run(["git", "config", "core.hooksPath"], cwd=tmp_path, capture_output=True, check=False)
    assert hooks.stdout == b""  # nobody was asked
    subprocess.run(OFFER.split(), cwd=tmp_path, check=True)
    assert OFFER not in lint()


def test_files_of_the_package_are_small():
    """A reader holds a file in the head: half of them have at most 130 lines, and none has more than 350."""
    lengths = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "mapdpm").rglob("*.py"))
    assert lengths[-1] <= 350
    assert lengths[len(lengths) // 2] <= 130


def test_all_packages_are_in_the_wheel():
    listed = set(re.findall(r'^  "(mapdpm[\w.]*)",', (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
    found = {".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "mapdpm").rglob("__init__.py")}
    assert found <= listed
