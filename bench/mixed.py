"""Tables with columns of several kinds: ``Mixed`` beside one-hot columns, prototypes, and codes taken for numbers.

Run: python bench/mixed.py [--seeds 5] [--data FOLDER] [--only "NAME;NAME"]; needs kmodes of PyPI for prototypes. Data
sets: three made ones of 600 rows, drawn anew for each seed; crabs of --data, with the species as a category. A fifth of
the rows is held out. Ways:

mixed        MAPDPM(likelihood=Mixed(...)), told the kind of each column
one-hot      scikit-learn's BayesianGaussianMixture (diagonal, a Dirichlet process of 20 components): numbers are
             standardised, each level of a category is a column of 0 and 1
prototypes   KPrototypes of kmodes, told the number of classes; it has no density
codes        MAPDPM(), each level a number

A JSON line for each data set, with medians over the seeds, in the order of the ways: K; AMI of the rows of the fit with
the classes; nats, the mean log density of the rows held out; seconds of the fit. One-hot columns and codes have
densities where levels and counts have probabilities. So they get the benefit of the doubt: densities at the levels, and
at whole numbers, are divided by their sum, of each component of the mixture, or of all combinations.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import logsumexp
from sklearn.metrics import adjusted_mutual_info_score as ami
from sklearn.mixture import BayesianGaussianMixture

from mapdpm import MAPDPM, BetaBernoulli, Categorical, GammaPoisson, Mixed, NormalGamma, NormalInverseWishart

N, HELD_OUT, COMPONENTS = 600, 5, 20
MORE = 10  # whole numbers above the largest one that is there
WAYS = ("mixed", "one-hot", "prototypes", "codes")


def rooms(rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Two temperatures, a mode, a counter and a door; the site says nothing."""
    z = rng.integers(0, 3, N)
    columns = {
        "inside": np.array([0.0, 4.0, 4.0])[z] + rng.normal(size=N),
        "outside": np.array([0.0, 0.0, 3.0])[z] + rng.normal(size=N),
        "mode": np.array(["off", "heat", "cool"])[np.where(rng.random(N) < 0.8, z, rng.integers(0, 3, N))],
        "site": rng.choice(["north", "south"], N),
        "events": rng.poisson(np.array([2.0, 2.0, 7.0])[z]),
        "door": rng.random(N) < np.array([0.2, 0.7, 0.7])[z],
    }
    return pd.DataFrame(columns), z


def answers(rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Six questions of three answers each, and an age: four types of people."""
    z = rng.integers(0, 4, N)
    tables = rng.dirichlet(np.full(3, 0.5), (4, 6))
    columns: dict[str, Any] = {"age": 25.0 + 12.0 * z + 6.0 * rng.normal(size=N)}
    for q in range(6):
        columns[f"question {q}"] = np.array(["yes", "no", "maybe"])[[rng.choice(3, p=tables[k, q]) for k in z]]
    return pd.DataFrame(columns), z


def machines(rng: np.random.Generator) -> tuple[pd.DataFrame, Any]:
    """Two relays, a counter of faults and a power: five states, some of which differ in flags alone."""
    z = rng.integers(0, 5, N)
    columns = {
        "power": np.array([0.0, 3.0, 3.0, 6.0, 6.0])[z] + 0.7 * rng.normal(size=N),
        "pump": rng.random(N) < np.array([0.02, 0.03, 0.97, 0.97, 0.97])[z],
        "valve": rng.random(N) < np.array([0.02, 0.97, 0.97, 0.05, 0.95])[z],
        "faults": rng.poisson(np.array([0.3, 1.0, 1.0, 6.0, 6.0])[z]),
    }
    return pd.DataFrame(columns), z


def crabs(folder: Path) -> Callable[[np.random.Generator], tuple[pd.DataFrame, Any]]:
    """Five measures with their covariances, and the species; classes are those of species and sex."""

    def read(_: np.random.Generator) -> tuple[pd.DataFrame, Any]:
        table = pd.read_csv(folder / "tabular" / "crabs.csv")
        return table[["FL", "RW", "CL", "CW", "BD", "sp"]], (table.sp + table.sex).to_numpy()

    return read


def product(frame: pd.DataFrame) -> Mixed:
    """The product by the types of the columns; whole numbers are counts, and crabs have covariances."""
    numbers = [name for name in frame if frame[name].dtype.kind == "f"]
    family = NormalInverseWishart if "FL" in frame else NormalGamma
    parts: dict[Any, Any] = {tuple(numbers): family}
    for name in frame:
        if name not in numbers:
            parts[name] = {"b": BetaBernoulli, "i": GammaPoisson}.get(frame[name].dtype.kind, Categorical)
    return Mixed(parts)


class Coded(NamedTuple):
    """The columns of numbers; whole numbers; and the codes of those with levels, with the number of levels of each."""

    numbers: Any
    counts: Any
    codes: Any
    n_levels: list[int]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Coded:
        """The columns of a table by their types."""
        kinds = {name: frame[name].dtype.kind for name in frame}
        levels = [pd.Categorical(frame[name]) for name in frame if kinds[name] not in "if"]
        numbers, counts = (frame[[name for name in frame if kinds[name] == kind]].to_numpy(float) for kind in "fi")
        codes = np.stack([each.codes for each in levels], axis=1)
        return cls(numbers, counts, codes, [len(each.categories) for each in levels])

    def grids(self) -> list[Any]:
        """The values that each count may have."""
        return [np.arange(column.max() + MORE) for column in self.counts.T]


def mixed(train: pd.DataFrame, test: pd.DataFrame, _: int) -> tuple[Any, float]:
    """Labels, and nats."""
    model = MAPDPM(likelihood=product(train)).fit(train)
    return model.labels_, model.score(test)


def one_hot(train: pd.DataFrame, test: pd.DataFrame, n: int) -> tuple[Any, float]:
    """Labels, and nats: of each component, densities at the levels, and at whole numbers, that sum to 1."""
    table = Coded.of(pd.concat([train, test]))
    plain = np.concatenate([table.numbers, table.counts], axis=1)
    centre, scale = plain[: len(train)].mean(axis=0), plain[: len(train)].std(axis=0)
    hot = [np.eye(L)[table.codes[:, j]] for j, L in enumerate(table.n_levels)]
    vectors = np.concatenate([(plain - centre) / scale, *hot], axis=1)
    model = BayesianGaussianMixture(n_components=COMPONENTS, covariance_type="diag", random_state=n, max_iter=500)
    labels = model.fit(vectors[: len(train)]).predict(vectors[: len(train)])
    means, spread = model.means_, np.sqrt(model.covariances_)
    held, D = vectors[len(train) :], table.numbers.shape[1]
    logs = np.log(model.weights_) + stats.norm(means[:, :D], spread[:, :D]).logpdf(held[:, None, :D]).sum(axis=2)
    for at, grid in enumerate(table.grids(), D):
        law = stats.norm(means[:, at], spread[:, at])
        logs = logs + law.logpdf(held[:, at, None])
        logs -= logsumexp(law.logpdf(((grid - centre[at]) / scale[at])[:, None]), axis=0)
    at = plain.shape[1]
    for j, L in enumerate(table.n_levels):
        law = stats.norm(means[None, :, at : at + L], spread[None, :, at : at + L])
        levels = np.stack([law.logpdf(np.eye(L)[level]).sum(axis=2)[0] for level in range(L)])
        logs = logs + (levels - logsumexp(levels, axis=0))[table.codes[len(train) :, j]]
        at += L
    return labels, float(logsumexp(logs, axis=1).mean() - np.log(scale[:D]).sum())


def prototypes(train: pd.DataFrame, _: pd.DataFrame, n_classes: int) -> tuple[Any, float]:
    """Labels; there is no density."""
    from kmodes.kprototypes import KPrototypes  # noqa: PLC0415  (of PyPI)

    places = [place for place, name in enumerate(train) if train[name].dtype.kind not in "if"]
    numbers = [name for place, name in enumerate(train) if place not in places]
    scaled = train.astype(dict.fromkeys(numbers, float)).copy()
    scaled[numbers] = (scaled[numbers] - scaled[numbers].mean()) / scaled[numbers].std()
    model = KPrototypes(n_clusters=n_classes, random_state=0, n_init=5)
    return model.fit_predict(scaled.to_numpy(dtype=object), categorical=places), np.nan


def by_codes(train: pd.DataFrame, test: pd.DataFrame, _: int) -> tuple[Any, float]:
    """Labels, and nats: the density of the numbers alone, times the share of the levels and counts of the row."""
    table = Coded.of(pd.concat([train, test]))
    X = np.concatenate([table.numbers, table.counts, table.codes.astype(float)], axis=1)
    model = MAPDPM(missing="skip").fit(X[: len(train)])
    held, D = X[len(train) :], table.numbers.shape[1]
    alone, other = held.copy(), held.copy()
    alone[:, D:] = np.nan
    total = np.full(len(held), -np.inf)
    for levels in itertools.product(*table.grids(), *map(range, table.n_levels)):
        other[:, D:] = levels
        total = np.logaddexp(total, model.score_samples(other))
    shares = model.score_samples(held) - total
    return model.labels_, float((model.score_samples(alone) + shares).mean())


RUNS: dict[str, Callable[..., tuple[Any, float]]] = dict(zip(WAYS, (mixed, one_hot, prototypes, by_codes), strict=True))


def measured(draw: Callable[[np.random.Generator], tuple[pd.DataFrame, Any]], seed: int) -> list[list[float]]:
    """K, AMI, nats and seconds of each way."""
    rng = np.random.default_rng(seed)
    frame, classes = draw(rng)
    held = rng.permutation(len(frame)) % HELD_OUT == 0
    train, test = frame[~held], frame[held]
    found = []
    for way in WAYS:
        started = time.perf_counter()
        labels, nats = RUNS[way](train, test, len(np.unique(classes)))
        seconds = time.perf_counter() - started
        found.append([len(np.unique(labels)), float(ami(classes[~held], labels)), nats, seconds])
    return found


def main() -> None:
    """Print a line for each data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", type=Path, default=os.environ.get("MAPDPM_DATA"))
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    sets: dict[str, Any] = {"rooms": rooms, "answers": answers, "machines": machines}
    if arguments.data is not None:
        sets["crabs"] = crabs(arguments.data)
    chosen = arguments.only.split(";") if arguments.only else list(sets)
    for name in chosen:
        medians = np.median([measured(sets[name], seed) for seed in range(arguments.seeds)], axis=0)
        columns = zip(("K", "AMI", "nats", "seconds"), medians.T.round(3).tolist(), strict=True)
        print(json.dumps({"set": name, **dict(columns)}), flush=True)


if __name__ == "__main__":
    main()
