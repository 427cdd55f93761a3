"""Where the checkout lies: tests stand in folders of several depths."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
