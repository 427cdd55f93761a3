"""The learner in the page: the same bits as that of Python."""

import base64
import csv

import numpy as np
import pytest

from mapdpm import Alarm, NormalGamma, OnlineMAPDPM, load
from repository import ROOT

N = 10_000
WARMUP = 100
LEVEL = 1e-3
LEARN = """
async ({ settings, points }) => {
  const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const textOf = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text);
  };
  const x = new Float32Array(bytesOf(points).buffer);
  const n = x.length / settings.features;
  const learner = await mapdpm.Learner.create();
  learner.begin(settings);
  const ids = new Uint32Array(n), reals = new Float32Array(3 * n), alerts = new Uint32Array(n), events = [];
  for (let i = 0; i < n;) {
    while (learner.isSettling && learner.settle(7));
    learner.learn(x.subarray(i * settings.features, Math.min(n, i + 100) * settings.features));
    for (let j = 0; j < learner.done; j++, i++) {
      ids[i] = learner.found.whole[4 * j];
      reals.set(learner.found.real.subarray(4 * j + 1, 4 * j + 4), 3 * i);
      alerts[i] = learner.alerts[j];
    }
    for (const { kind, id, other, when } of learner.takeEvents()) events.push([kind, id, other, when]);
  }
  const file = learner.save();
  return { ids: textOf(ids), reals: textOf(reals), alerts: textOf(alerts), file: textOf(file), events };
}
"""


def stream(n_features):
    """Three sources; the first is replaced by a wide one halfway, and some points lie far off."""
    rng = np.random.default_rng(n_features)
    source = rng.integers(0, 3, N)
    source[N // 2 :][source[N // 2 :] == 0] = 3
    centres = rng.normal(0.0, 8.0, (4, n_features))
    x = centres[source] + rng.normal(size=(N, n_features)) * np.where(source == 3, 3.0, 1.0)[:, None]
    x[rng.random(N) < 0.002] *= 5.0
    return x.astype(np.float32)


def watch():
    with (ROOT / "examples" / "data" / "smartwatch.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return np.array([[row[name] for name in ("accel_x", "accel_y", "accel_z")] for row in rows], dtype=np.float32)


POINTS = {"2 features": lambda: stream(2), "3 features": lambda: stream(3), "recording": watch}
CASES = [
    (points, slots, half_life, auto)
    for points in POINTS
    for slots in (4, 16)
    for half_life in (0, 300)
    for auto in (0, 1)
]


@pytest.mark.complete
@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_page_finds_what_python_finds(page, tmp_path, case):
    points, slots, half_life, auto = case
    x = POINTS[points]()
    centre, spread = np.full(x.shape[1], 1.5, np.float32), np.full(x.shape[1], 1.25, np.float32)
    settings = {
        "features": x.shape[1],
        "slots": slots,
        "warmup": WARMUP if auto else 0,
        "alpha": 1.5,
        "halfLife": half_life,
        "centre": centre.tolist(),
        "spread": spread.tolist(),
        "level": LEVEL,
    }
    got = page.evaluate(LEARN, {"settings": settings, "points": base64.b64encode(x.tobytes()).decode()})
    ids, reals, alerts = (
        np.frombuffer(base64.b64decode(got[name]), kind)
        for name, kind in (("ids", "<u4"), ("reals", "<f4"), ("alerts", "<u4"))
    )

    prior = "auto" if auto else NormalGamma(centre, 0.05, 1.0, spread * spread)
    model = OnlineMAPDPM(
        slots,
        alpha=1.5,
        likelihood=prior,
        warmup=WARMUP,
        n_features=x.shape[1],
        half_life=half_life or None,
        dtype="float32",
    )
    found = model.learn_many_assessed(x)
    expected = np.stack([found.log_density, found.novelty, found.surprise], axis=1).astype(np.float32)
    assert (ids == found.id).all()
    assert np.array_equal(reals.reshape(-1, 3), expected, equal_nan=True)
    assert len(np.unique(ids[WARMUP:])) > 4

    alarm = Alarm(LEVEL)
    assert alerts.tolist() == [int(alarm.update(each) is not None) for each in found.surprise.tolist()]
    last = [[event.kind, event.id] for event in model.events]
    assert [[kind, number if kind != "prior revisited" else -1] for kind, number, _, _ in got["events"]][
        -len(last) :
    ] == last
    assert len(got["events"]) == model.n_events

    (tmp_path / "stream.mdpm").write_bytes(base64.b64decode(got["file"]))
    again = load(tmp_path / "stream.mdpm")
    model.save(tmp_path / "python.mdpm")
    assert again.to_bytes() == load(tmp_path / "python.mdpm").to_bytes()
    assert (again.learn_many(x[:500]) == model.learn_many(x[:500])).all()
