"""The compiled part of the build; everything else is in pyproject.toml."""

import copy
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel


class SeparateObjects(build_ext):
    """Gives each extension its own folder of objects: they compile the same sources, for different reals.

    The extensions are built at the same time, so each needs a folder of its own.
    """

    def initialize_options(self):  # noqa: ANN201
        """Build the extensions in threads; ``--parallel 1`` builds one after the other."""
        super().initialize_options()
        self.parallel = True

    def build_extension(self, ext):  # noqa: ANN001, ANN201  (setuptools has no types)
        """Build one extension with a temporary folder of its own."""
        own = copy.copy(self)
        own.build_temp = str(Path(self.build_temp) / ext.name.rpartition(".")[2])
        build_ext.build_extension(own, ext)


class NoModulesBesideData(build_py):
    """Leaves out the programs that lie in folders of data, such as c_kernels/amalgamate.py: they are no modules."""

    def find_package_modules(self, package, package_dir):  # noqa: ANN001, ANN201
        """Return the modules of a package; none where the folder is not a package of Python."""
        is_package = Path(package_dir, "__init__.py").exists()
        return super().find_package_modules(package, package_dir) if is_package else []


class EditableByPath(editable_wheel):
    """Installs an editable mapdpm as a path in a .pth file, and not as a hook of the import system.

    Setuptools uses a hook if any package lies elsewhere than its name says, as the folders of data do. Python asks a
    hook after all paths, so a script beside a clone named ``mapdpm`` would import that folder as a namespace package.
    A regular package on a path takes precedence over such a folder. The data is found in the tree.
    """

    def finalize_options(self):  # noqa: ANN201
        """Keep the packages that lie where their names say."""
        elsewhere = {name for name, path in self.distribution.package_dir.items() if path != name.replace(".", "/")}
        self.distribution.packages = [name for name in self.distribution.packages if name not in elsewhere]
        self.distribution.package_dir = {"": "."}
        super().finalize_options()


# A free-threaded Python has no stable interface of 3.11: setuptools refuses the option, and cffi does without.
STABLE = {} if sysconfig.get_config_var("Py_GIL_DISABLED") else {"bdist_wheel": {"py_limited_api": "cp311"}}

setup(
    cffi_modules=["build_kernels.py:float32", "build_kernels.py:float64", "build_kernels.py:int16"],
    cmdclass={"build_ext": SeparateObjects, "build_py": NoModulesBesideData, "editable_wheel": EditableByPath},
    options=STABLE,
)
