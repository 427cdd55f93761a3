"""The compiled part of the build; everything else is in pyproject.toml."""

import copy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext


class SeparateObjects(build_ext):
    """Gives each extension its own folder of objects: both compile the same sources, for different reals."""

    def build_extension(self, ext):  # noqa: ANN001, ANN201  (setuptools has no types)
        """Build one extension with a temporary folder of its own."""
        own = copy.copy(self)
        own.build_temp = str(Path(self.build_temp) / ext.name.rpartition(".")[2])
        build_ext.build_extension(own, ext)


setup(
    cffi_modules=["build_kernels.py:float32", "build_kernels.py:float64"],
    cmdclass={"build_ext": SeparateObjects},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
