"""The root of the checkout, for tests in folders of several depths."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
