"""``python -m mapdpm`` is the command ``mapdpm``."""

import sys

from mapdpm.cli import main

if __name__ == "__main__":
    sys.exit(main())
