"""The code of README.md and docs/*.md runs: python blocks, mapdpm commands of console blocks, and whole C programs.

The blocks of a file run in order, in a fresh folder with a copy of ``examples``, python in one namespace. A block with
``>>>`` is compared as a doctest. A C block with a ``main`` is compiled with the library, and run. A block after the
line ``<!-- not run: reason -->`` is not run.
"""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import mapdpm
from repository import ROOT
from tests.marks import complete_but

PAGES = (ROOT / "README.md", ROOT / "c_kernels" / "README.md", *(ROOT / "docs").glob("*.md"))
FILES = sorted(path.relative_to(ROOT).as_posix() for path in PAGES)
FIRST_READ = ("README.md", "docs/first-steps.md")
FENCE = re.compile(r"(?ms)^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```\s*$")


class Block(NamedTuple):
    language: str
    code: str
    line: int


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a Markdown text that are to be run; ``line`` is that of the fence."""
    found = []
    for match in FENCE.finditer(text):
        above = text[: match.start()].rstrip().rpartition("\n")[2]
        language = match["language"].strip()
        runs = language in {"python", "console"} or (language == "c" and "int main(" in match["code"])
        if runs and not above.strip().startswith("<!-- not run:"):
            code = re.sub(f"^{match['indent']}", "", match["code"], flags=re.MULTILINE)
            found.append(Block(language, code, text.count("\n", 0, match.start()) + 1))
    return found


def commands(code: str) -> list[tuple[str, str]]:
    """Return the lines after ``$`` that call mapdpm, continued ones joined, and the output that is shown below each.

    Others (pip, make) are not for tests.
    """
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", code.replace("\\\n", " "), flags=re.MULTILINE)
    return [(line, output) for line, output in found if re.search(r"(^|\| *)mapdpm ", line)]


def run_python(block: Block, file: str, namespace: dict) -> None:
    if ">>>" in block.code:
        test = doctest.DocTestParser().get_doctest(block.code, namespace, file, file, block.line)
        report: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        runner.run(test, out=report.append, clear_globs=False)
        namespace.update(test.globs)
        assert not runner.failures, "".join(report)
    else:
        exec(compile("\n" * block.line + block.code, ROOT / file, "exec"), namespace)  # noqa: S102


def run_command(command: str, where: str, output: str = "") -> None:
    # Through the shell, for pipes and redirections; the mapdpm of this interpreter, whatever else is on the PATH.
    ours = f"{shlex.quote(sys.executable)} -m mapdpm"
    home = str(Path(mapdpm.__file__).resolve().parent.parent)
    paths = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
    run = subprocess.run(  # noqa: S602
        re.sub(r"(^|\|\s*)mapdpm\b", rf"\1{ours}", command),
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": paths},
    )
    assert run.returncode == 0, f"{where}: $ {command}\n{run.stdout}{run.stderr}"
    shown = doctest.OutputChecker().check_output(output, run.stdout, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert shown or not output, f"{where}: $ {command}\n{run.stdout}instead of\n{output}"


def run_c(block: Block, where: str, folder: Path) -> None:
    """Compile a program with the files of the library that it says it needs, warnings being errors, and run it."""
    kernels = Path(mapdpm.get_include())
    stream = [f"{name}.c" for name in ("online", "choose", "clusters", "split_merge", "warmup", "window", "stream")]
    batch = ["sweep.c"] if "mapdpm_batch.h" in block.code else ["snapshot.c"]
    needed = ["mapdpm.c", *(stream if "mapdpm_stream" in block.code else batch)]
    source, program = folder / "block.c", folder / "block"
    source.write_text(block.code, encoding="utf-8")
    flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{kernels}"]
    compiler = shlex.split(os.environ.get("CC", "cc"))
    compile_it = [*compiler, *flags, source, *(kernels / name for name in needed), "-lm", "-o", program]
    for command in (compile_it, [program]):
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"{where}: {run.stdout}{run.stderr}"


@pytest.mark.parametrize("file", complete_but(FIRST_READ, FILES))
def test_the_code_runs(file, tmp_path, monkeypatch):
    if (ROOT / "examples").is_dir():
        shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": "__main__"}
    for block in blocks((ROOT / file).read_text(encoding="utf-8")):
        if block.language == "python":
            run_python(block, file, namespace)
        elif block.language == "c":
            run_c(block, f"{file}:{block.line}", tmp_path)
        else:
            for command, output in commands(block.code):
                run_command(command, f"{file}:{block.line}", output)


def test_blocks_are_found():
    text = "a\n```python\nx = 1\n```\n<!-- not run: why -->\n```python\ny\n```\n```text\nz\n```\n"
    text += "```console\n$ mapdpm fit a.csv \\\n    --alpha 1\nout\n$ pip install mapdpm\n```\n"
    found = blocks(text)
    assert found[0] == Block("python", "x = 1\n", 2)
    assert [block.language for block in found] == ["python", "console"]
    assert [(c.split(), out) for c, out in commands(found[1].code)] == [
        (["mapdpm", "fit", "a.csv", "--alpha", "1"], "out\n")
    ]
    assert commands("$ cat a.csv | mapdpm fit -\n$ make\n") == [("cat a.csv | mapdpm fit -", "")]
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("```python") > 0


def test_c_programs_are_found():
    text = "```c\nint x;\n```\n```c\nint main(void) { return 0; }\n```\n"
    text += "<!-- not run: why -->\n```c\nint main(void);\n```\n"
    assert blocks(text) == [Block("c", "int main(void) { return 0; }\n", 4)]


def test_a_wrong_example_fails(tmp_path):
    with pytest.raises(AssertionError, match="Expected"):
        run_python(Block("python", ">>> 1 + 1\n3\n", 1), "README.md", {})
    with pytest.raises(ZeroDivisionError):
        run_python(Block("python", "1 / 0\n", 1), "README.md", {})
    with pytest.raises(AssertionError, match=r"here: \$ mapdpm no-such-command"):
        run_command("mapdpm no-such-command", "here")
    with pytest.raises(AssertionError, match="instead of"):
        run_command("mapdpm --version", "here", "mapdpm 0.0\n")
    with pytest.raises(AssertionError, match="here: "):
        run_c(Block("c", "int main(void) { return 1; }\n", 1), "here", tmp_path)
    with pytest.raises(AssertionError, match="unused variable"):
        run_c(Block("c", "int main(void) { int unused; return 0; }\n", 1), "here", tmp_path)
