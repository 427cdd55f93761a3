"""The real data of Liang2007 and Chang2013: handwritten digits, and documents as counts of words."""

from __future__ import annotations

from typing import Any

import numpy as np
from exhibits import Setting

from mapdpm.data.counts import Counts

DIGITS, NEWS = "images/mnist_train60k.npz", "text/ap_bow.npz"


def digits(setting: Setting, n: int, D: int) -> Any:
    """The first ``n`` digits of MNIST, pixels standardised, in ``D`` principal components."""
    images = np.load(setting.file(DIGITS))["images"][:n].reshape(n, -1).astype(float)
    images = (images - images.mean(axis=0)) / np.maximum(images.std(axis=0), 1.0)
    return images @ np.linalg.svd(images, full_matrices=False)[2][:D].T


def news(setting: Setting) -> Counts:
    """The 2,246 documents of AP as counts of 10,473 words."""
    bag = np.load(setting.file(NEWS))
    values, indices, indptr = (bag[name] for name in ("data", "indices", "indptr"))
    return Counts(values.astype(float), indices.astype(np.int64), indptr.astype(np.int64), int(bag["shape"][1]))
