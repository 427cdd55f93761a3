"""Saving, for models of more than one flat partition."""

from __future__ import annotations

import abc
import os
from typing import Any

from mapdpm.estimators.packed import PackedMixture
from mapdpm.files import container, disk


class SavedMixture(PackedMixture):
    """A fitted model that is written as a mixture and what its class adds."""

    @abc.abstractmethod
    def _settings(self) -> Any:
        """The parameters, checked."""

    @abc.abstractmethod
    def _extras(self) -> dict[str, Any]:
        """The extras of the file."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to ``path``, wholly or not at all; ``mapdpm.load`` reads it. No pickle.

        ValueError where the file could not hold it: a name of a group is no str, int, float or bool, or the family has
        no number in the format.
        """
        disk.write_file(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The model in the format of docs/format.md, with all fitted attributes."""
        self._check_fitted()
        self._settings()  # a parameter set since the fit may be invalid: the file could not be read again
        return container.pack(self._mixture, self._extras(), kind=self._kind)
