"""The code of README.md and docs/*.md runs: python blocks, mapdpm commands of sh blocks, and whole C programs.

The blocks of a file run in order, in a fresh folder with a copy of ``examples``, python in one namespace. A text block
right below a python or sh block is what that block prints; ``...`` in it stands for anything. In python the comment
``# -> value`` after an expression is its repr. Blocks have no prompts, so that they can be copied. A C block with a
``main`` is compiled with the library, and run; where it asks for a switch of the library, also with that. So is
a C++ block with a ``main``, and what it prints is compared. A block after the line ``<!-- not run: reason -->`` is not
run.
"""

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

import mapdpm
from command_line import called
from compiling import SOURCE, object_of
from mapdpm import backends
from repository import ROOT
from tests.marks import complete_but

PAGES = (ROOT / "README.md", ROOT / "c_kernels" / "README.md", *(ROOT / "docs").glob("*.md"))
FILES = sorted(path.relative_to(ROOT).as_posix() for path in PAGES)
FIRST_READ = ("README.md", "docs/first-steps.md")
FENCE = re.compile(r"(?ms)^(?P<indent> *)```(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=indent)```\s*$")


RUNS = {"python", "sh"}
CLAIM = re.compile(r"#\s*->\s*(?P<value>.*)")
PROMPT = re.compile(r"^(>>> |\.\.\. |\$ )", re.MULTILINE)


class Block(NamedTuple):
    language: str
    code: str
    line: int
    prints: str = ""


def blocks(text: str) -> list[Block]:
    """Return the fenced blocks of a Markdown text that are to be run; ``line`` is that of the fence."""
    found: list[Block] = []
    end = None  # of the block before, where a text block right below it is its output
    for match in FENCE.finditer(text):
        language = match["language"].strip()
        code = re.sub(f"^{match['indent']}", "", match["code"], flags=re.MULTILINE)
        if language == "text" and end is not None and not text[end : match.start()].strip():
            found[-1] = found[-1]._replace(prints=code)
        end = None
        above = text[: match.start()].rstrip().rpartition("\n")[2]
        runs = language in RUNS or (language in {"c", "cpp"} and "int main(" in code)
        if runs and not above.strip().startswith("<!-- not run:"):
            found.append(Block(language, code, text.count("\n", 0, match.start()) + 1))
            end = match.end() if language != "c" else None
    return found


def commands(code: str) -> list[str]:
    """Return the lines that call mapdpm, continued ones joined. Others (pip, make) are not for tests."""
    lines = code.replace("\\\n", " ").splitlines()
    return [line for line in lines if re.search(r"(^|\| *)mapdpm ", line)]


def is_as_shown(shown: str, got: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(shown, got, flags)


def claims_of(code: str) -> dict[int, str]:
    """Return what the comments ``# -> value`` say, by line."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    found = {token.start[0]: CLAIM.fullmatch(token.string) for token in comments}
    return {line: match["value"] for line, match in found.items() if match}


def run_python(block: Block, file: str, namespace: dict) -> None:
    """Run the statements one by one; check the values in comments, and what is printed where the page shows it."""
    claims = claims_of(block.code)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for statement in ast.parse(block.code).body:
            line = block.line + statement.end_lineno
            where = f"{file}:{line}"
            claimed = claims.pop(statement.end_lineno, None)
            ast.increment_lineno(statement, block.line)
            if claimed is None:
                exec(compile(ast.Module([statement], []), ROOT / file, "exec"), namespace)  # noqa: S102
                continue
            assert isinstance(statement, ast.Expr), f"{where}: only an expression has a value"
            value = repr(eval(compile(ast.Expression(statement.value), ROOT / file, "eval"), namespace))  # noqa: S307
            assert is_as_shown(f"{claimed}\n", f"{value}\n"), f"{where}: {value} instead of {claimed}"
    assert not claims, f"{file}: values of no expression: {claims}"
    got = printed.getvalue()
    where = f"{file}:{block.line}"
    assert not block.prints or is_as_shown(block.prints, got), f"{where}: printed\n{got}instead of\n{block.prints}"


def run_command(command: str, where: str) -> str:
    """Run a line of a shell; return what it printed. A command without pipes needs no other process."""
    if not re.search(r"[|<>&;$*]", command):
        try:
            run = called(*shlex.split(command)[1:])
        except SystemExit as end:
            run = subprocess.CompletedProcess(command, end.code, "", "")
        assert run.returncode == 0, f"{where}: {command}\n{run.stdout}{run.stderr}"
        return run.stdout
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
    assert run.returncode == 0, f"{where}: {command}\n{run.stdout}{run.stderr}"
    return run.stdout


def run_commands(block: Block, where: str) -> None:
    """Run the mapdpm commands of a block. If the page shows an output, it is that of all of them."""
    got = "".join(run_command(command, where) for command in commands(block.code))
    assert not block.prints or is_as_shown(block.prints, got), f"{where}: printed\n{got}instead of\n{block.prints}"


def run_c(block: Block, where: str, folder: Path) -> None:
    """Compile a program with the files of the library that it says it needs, warnings being errors, and run it."""
    kernels = Path(mapdpm.get_include())
    rooms = ["batch", "scores"] if "mapdpm_batch.h" in block.code else ["files"]
    rooms += ["groups", "stream", "surprise"] if "mapdpm_stream" in block.code else []
    rooms += ["learner"] if "mapdpm_selftest" in block.code else []
    rooms += ["features"] if "mapdpm_features" in block.code else []
    needed = [kernels / "mapdpm.c", *(path for room in rooms for path in sorted((kernels / room).glob("*.c")))]
    source, program = folder / "block.c", folder / "block"
    source.write_text(block.code, encoding="utf-8")
    pair, in_float, builds = [SOURCE / "mapdpm.c"], ["-DMAPDPM_REAL=float"], [(needed, [])]
    if where.startswith("c_kernels/"):  # its page is about the two files, and about float
        builds = [(pair, in_float)]
    if "mapdpm_score" in block.code:
        builds = [(pair, ["-DMAPDPM_REAL=int"])]
    for switch in re.findall(r"#ifdef (MAPDPM_\w+)", block.code):
        builds += [(pair, [f"-D{switch}", *more]) for more in ([], in_float)]
    cc = os.environ.get("CC", "cc")
    for sources, switches in builds:
        flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-DMAPDPM_NO_CLONES", *switches]
        objects = [object_of(path, *flags, compiler=cc) for path in sources]
        for command in ([*shlex.split(cc), *flags, f"-I{kernels}", source, *objects, "-lm", "-o", program], [program]):
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert run.returncode == 0, f"{where}: {run.stdout}{run.stderr}"


def run_cpp(block: Block, where: str, folder: Path) -> None:
    """Compile a C++ program with the two files, warnings being errors; check what it prints."""
    pair = SOURCE
    cxx = shutil.which("g++") or pytest.skip("there is no g++; apt-get install g++")
    (folder / "block.cpp").write_text(block.code, encoding="utf-8")
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-DMAPDPM_REAL=float", f"-I{pair}"]
    for command in (
        [*compiler, "-std=c99", *flags, "-c", pair / "mapdpm.c", "-o", "mapdpm.o"],
        [cxx, "-std=c++11", *flags, "block.cpp", "mapdpm.o", "-o", "block"],
        [folder / "block"],
    ):
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert run.returncode == 0, f"{where}: {run.stdout}{run.stderr}"
    assert not block.prints or is_as_shown(block.prints, run.stdout), f"{where}: printed\n{run.stdout}"


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
        elif block.language == "cpp":
            run_cpp(block, f"{file}:{block.line}", tmp_path)
        else:
            run_commands(block, f"{file}:{block.line}")


@pytest.mark.parametrize("file", FILES)
def test_blocks_can_be_copied(file):
    """No prompts; no comments in lines of a shell, for zsh takes them as arguments."""
    for match in FENCE.finditer((ROOT / file).read_text(encoding="utf-8")):
        if match["language"].strip() in RUNS:
            assert not PROMPT.search(match["code"]), match["code"]
            assert match["language"].strip() != "sh" or not re.search(r"(^|\s)#", match["code"]), match["code"]


def test_each_function_of_a_backend_is_described():
    page = (ROOT / "docs" / "adding-a-backend.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)\(", page, flags=re.MULTILINE)) == sorted(backends.functions())


def test_blocks_are_found():
    text = "a\n```python\nx = 1\n```\n<!-- not run: why -->\n```python\ny\n```\n\n```text\nz\n```\n"
    text += "```sh\nmapdpm fit a.csv \\\n    --alpha 1\npip install mapdpm\n```\n\n```text\nout\n```\n"
    text += "```sh\nmapdpm demo\n```\nNot what it prints:\n```text\nz\n```\n"
    found = blocks(text)
    assert found[0] == Block("python", "x = 1\n", 2)
    assert [(block.language, block.prints) for block in found] == [("python", ""), ("sh", "out\n"), ("sh", "")]
    assert [command.split() for command in commands(found[1].code)] == [["mapdpm", "fit", "a.csv", "--alpha", "1"]]
    assert commands("cat a.csv | mapdpm fit -\nmake\n") == ["cat a.csv | mapdpm fit -"]
    assert claims_of('x = "# -> 1"\nx  # -> 2\n') == {2: "2"}
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("```python") > 0


def test_c_programs_are_found():
    text = "```c\nint x;\n```\n```c\nint main(void) { return 0; }\n```\n"
    text += "<!-- not run: why -->\n```c\nint main(void);\n```\n"
    assert blocks(text) == [Block("c", "int main(void) { return 0; }\n", 4)]


@pytest.mark.parametrize(
    ("code", "prints", "error"),
    [
        ("1 + 1  # -> 3\n", "", r"README.md:2: 2 instead of 3"),
        ("max(\n    1,\n    2,\n)  # -> 3\n", "", r"README.md:5: 2 instead of 3"),
        ("x = 1  # -> 1\n", "", "only an expression"),
        ("for i in range(3):\n    i  # -> 7\n    pass\n", "", "values of no expression"),
        ("print(1)\n", "2\n", r"printed\s+1\s+instead of\s+2"),
        ("1\n", "1\n", r"printed\s+instead of\s+1"),
    ],
)
def test_a_wrong_result_fails(code, prints, error):
    with pytest.raises(AssertionError, match=error):
        run_python(Block("python", code, 1, prints), "README.md", {})


def test_a_right_result_passes():
    run_python(Block("python", "x = [1,\n     2]\nx  # -> [1, 2]\nprint(x)\n", 1, "[1, ...]\n"), "README.md", {})


def test_a_wrong_example_fails(tmp_path):
    with pytest.raises(ZeroDivisionError):
        run_python(Block("python", "1 / 0\n", 1), "README.md", {})
    with pytest.raises(AssertionError, match="here: mapdpm no-such-command"):
        run_command("mapdpm no-such-command", "here")
    with pytest.raises(AssertionError, match="instead of"):
        run_commands(Block("sh", "mapdpm --version\n", 1, "mapdpm 0.0\n"), "here")
    with pytest.raises(AssertionError, match="here: "):
        run_c(Block("c", "int main(void) { return 1; }\n", 1), "here", tmp_path)
    with pytest.raises(AssertionError, match="unused variable"):
        run_c(Block("c", "int main(void) { int unused; return 0; }\n", 1), "here", tmp_path)


@pytest.mark.parametrize("file", [file for file in FILES if file != "docs/papers.md"])
def test_no_page_has_a_paragraph_twice(file):
    """Each fact once: an edit that goes wrong may repeat half a page. papers.md is written by a script."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / file).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    said = Counter(each for each in text.split("\n\n") if len(each) > 80)
    assert [each for each, times in said.items() if times > 1] == []
