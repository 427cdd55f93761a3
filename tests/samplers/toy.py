"""A toy sampler whose chains carry state beside the labels: one array of each kind.

Each cluster has two sub-clusters with parameters of their own, and a coin by which its points choose a side. The coin
of a cluster is fair or biased, with equal probability. One cluster, uniformly drawn, is the leader, and the toy counts
how often it has changed. So p(z, sides, coins, leader | x) is in proportion to

    p(z) prod_k [ (1/2) prod_{i in k} P(side_i | coin_k) prod_s p(x of side s of k) ] / K.

``sides`` has an entry a point, ``coins`` an entry a cluster, ``leader`` is the name of a slot, ``changes`` is a number
that the posterior does not know, and ``heads`` has an axis of its own, as long as the largest cluster has points.
"""

from math import fsum, log

import numpy as np

from mapdpm.samplers import Chain, Info, Sampler
from mapdpm.testing import laws
from mapdpm.testing.enumeration import canonical, partitions
from mapdpm.testing.kernels import StateSpace
from mapdpm.validation import in_order_of_appearance

HEADS = np.array([0.5, 0.8])  # P(side 1) with the fair and the biased coin


class ToyChain(Chain):
    __slots__ = ()

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.carry("sides", np.zeros(self.n_points, dtype=np.int8), ("point",), kept=False)
        self.carry("coins", np.zeros(self.state.capacity, dtype=np.int64), ("cluster",), blank=-1)
        self.carry("leader", 0)
        self.carry("changes", 0)
        self.carry("heads", np.zeros(1), ("rank",))

    def become(self, labels):
        super().become(labels)
        self.aux["coins"][np.unique(labels)] = 0
        self.aux["leader"] = np.array(0)

    def slots_moved(self, to):
        super().slots_moved(to)
        if "leader" in self.aux:
            self.aux["leader"] = np.array(to[self.aux["leader"]])

    def log_joint(self):
        z, aux = self.state.labels, self.aux
        return log_joint(self.prior, self.likelihood, self.data, z, aux["sides"], aux["coins"])


def log_joint(prior, likelihood, data, z, sides, coins):
    """log p(x, z, sides, coins, leader), the coin of cluster k being ``coins[k]``."""
    terms, sizes = [], []
    for k in np.unique(z):
        sizes.append(float(np.count_nonzero(z == k)))
        for side in (0, 1):
            own = [i for i in range(len(z)) if z[i] == k and sides[i] == side]
            p = HEADS[coins[k]] if side == 1 else 1.0 - HEADS[coins[k]]
            terms += [log_marginal(likelihood, data, own), len(own) * log(p)]
    return fsum([prior.log_partition(np.array(sizes)), -len(sizes) * log(2.0), -log(len(sizes)), *terms])


_known = {}


def log_marginal(likelihood, data, points):
    """Computed once for each set of points, since a matrix asks for the same ones again and again."""
    key = (*(np.asarray(parameter).tobytes() for parameter in likelihood), data.tobytes(), tuple(points))
    if key not in _known:
        _known[key] = likelihood.log_marginal(laws.row_of(likelihood, data, points))
    return _known[key]


class Toy(Sampler):
    """Either a point moves, with its side, the coin of a new cluster and the leader; or a coin is drawn anew."""

    chain_type = ToyChain

    def chain(self, data, init, rng):
        """Give a fair coin to each cluster that a start has made."""
        chain = super().chain(data, init, rng)
        chain.become(in_order_of_appearance(chain.state.labels))
        return chain

    def move(self, chain, rng):
        if rng.integer(2) == 0:
            self._draw_coin(chain, rng)
        else:
            self._move_point(chain, rng)
        chain.refresh()  # so that clusters are renamed within a step
        sizes = np.sort(chain.sizes)[::-1]
        chain.aux["heads"] = np.cumsum(np.ones(int(sizes[0])))
        return Info(chain.n_clusters)

    def _draw_coin(self, chain, rng):
        slots = np.flatnonzero(chain.state.counts)
        k = slots[rng.integer(len(slots))]
        own = chain.aux["sides"][chain.state.labels == k]
        chain.aux["coins"][k] = rng.categorical(np.log([np.prod(np.where(own, p, 1.0 - p)) for p in HEADS]))

    def _move_point(self, chain, rng):
        """Draw from the joint of every choice: slow, and simple."""
        state, aux = chain.reserve(), chain.aux
        i, before = rng.integer(chain.n_points), aux["leader"].item()
        labels, sides, coins = state.labels.copy(), aux["sides"].copy(), aux["coins"].copy()
        rest = np.delete(labels, i)
        used = np.unique(rest)
        new = next(k for k in range(state.capacity) if k not in used)
        options, logs = [], []
        for k in (*used, new):
            for side in (0, 1):
                for coin in [coins[k]] if k != new else [0, 1]:
                    labels[i], sides[i], coins[k] = k, side, coin
                    joint = log_joint(chain.prior, chain.likelihood, chain.data, labels, sides, coins)
                    for leader in np.unique(labels):
                        options.append((k, side, coin, leader))
                        logs.append(joint)
        k, side, coin, leader = options[rng.categorical(np.array(logs))]
        labels[i] = k
        coins[np.setdiff1d(np.arange(state.capacity), labels)] = -1
        coins[k], sides[i] = coin, side
        state.labels[:] = labels
        chain._statistics(chain.likelihood, chain.data, None, state)
        aux["sides"], aux["coins"] = sides, coins
        aux["leader"] = np.array(leader)
        aux["changes"] = aux["changes"] + int(leader != before)


def states_of(n):
    """All states of ``n`` points: (labels, sides, coins, leader)."""
    found = []
    for z in partitions(n):
        K = max(z) + 1
        for bits in np.ndindex(*[2] * (n + K)):
            found += [(z, bits[:n], bits[n:], leader) for leader in range(K)]
    return StateSpace(found, enter, key)


def enter(chain, state):
    z, sides, coins, leader = state
    chain.become(np.array(z))
    chain.aux["sides"][:] = sides
    chain.aux["coins"][: len(coins)] = coins
    chain.aux["leader"] = np.array(leader)


def key(chain):
    """The state of a chain, whatever the names of its slots."""
    z = canonical(chain.state.labels)
    slot = dict(zip(z, chain.state.labels.tolist(), strict=True))
    coins = tuple(int(chain.aux["coins"][slot[name]]) for name in range(len(slot)))
    leader = next(name for name in slot if slot[name] == chain.aux["leader"])
    return z, tuple(chain.aux["sides"].tolist()), coins, leader
