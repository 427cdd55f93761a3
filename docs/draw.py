"""Draw docs/pictures/*.png anew: run the python blocks of docs/plots.md in this folder. ``python docs/draw.py``."""  # noqa: INP001

import os
import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)


def main() -> None:
    """Run the blocks in order, in one namespace, as tests/docs/test_docs.py does."""
    page = HERE / "plots.md"
    os.chdir(HERE)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(block, page, "exec"), namespace)  # noqa: S102  (our own page)


if __name__ == "__main__":
    main()
