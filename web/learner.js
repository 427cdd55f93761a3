// The C library as WebAssembly. Each learner is an instance of the program, with memory of its own.

import { MOST_EVENTS, MOST_FEATURES, MOST_SLOTS } from "./limits.js";

const EVENT_KINDS = ["", "created", "split", "merged", "evicted", "aged out", "prior revisited",
  "relevant", "irrelevant"];

// Why a file is no learner for this page, by the error of the library.
const REFUSED = {
  foreign: "the file holds no learner of mapdpm",
  truncated: "the file is not whole; save it again",
  damaged: "the file is damaged; save it again",
  newer: "the file is of a newer version than this page",
  real: 'the file holds float64; save a learner of dtype="float32"',
  kind: "the file holds another kind of model; this page takes OnlineMAPDPM with NormalGamma and surprise",
  space: `the learner is too large; this page takes ${MOST_FEATURES} features, ${MOST_SLOTS} slots and a warm-up of 1,000 points`,
};

let compiled = null;

// The program stands in the page, in base64: the page has no other file.
function program() {
  const text = document.getElementById("program").textContent.trim();
  compiled ??= WebAssembly.compile(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)));
  return compiled;
}

export class Learner {
  // It learns after begin, or load.
  static async create() { return new Learner(await WebAssembly.instantiate(await program(), {})); }

  constructor(instance) {
    const c = instance.exports;
    const at = (address, type, n) => new type(c.memory.buffer, address, n);
    const n = c.batch();
    this.c = c;
    this.batch = n;
    this.done = 0;
    this.whole = at(c.settings_at(), Uint32Array, 4);
    this.real = at(c.settings_at() + 16, Float32Array, 2 + 2 * MOST_FEATURES);
    this.points = at(c.points_at(), Float32Array, n * MOST_FEATURES);
    this.found = { whole: at(c.found_at(), Uint32Array, 4 * n), real: at(c.found_at(), Float32Array, 4 * n) };
    this.alerts = at(c.alerts_at(), Uint32Array, n);
    this.ids = at(c.ids_at(), Uint32Array, n);
    this.densities = at(c.densities_at(), Float32Array, n);
    this.events = at(c.events_at(), Uint32Array, 4 * MOST_EVENTS);
    const size = (2 + 2 * MOST_FEATURES) * MOST_SLOTS;
    this.slots = { whole: at(c.clusters_at(), Uint32Array, size), real: at(c.clusters_at(), Float32Array, size) };
    this.file = at(c.file_at(), Uint8Array, c.file_capacity());
  }

  // Begin with features, slots, warmup (0: a stated width), missing (1: NaN is a missing value), alpha, halfLife (0: none),
  // centre and spread of the stated width, and level (of alarms).
  begin(settings) {
    const { features, slots, warmup, missing = 0, alpha, halfLife, centre = [], spread = [], level = 1e-4 } = settings;
    this.whole.set([features, slots, warmup, missing]);
    this.real.fill(0);
    this.real.set([alpha, halfLife]);
    this.real.set(centre, 2);
    this.real.set(spread, 2 + MOST_FEATURES);
    this.features = features;
    this.check(this.c.begin());
    this.setAlarm(level);
  }

  check(error, words = {}) {
    if (!error) return;
    const at = this.c.error_name(error);
    const bytes = new Uint8Array(this.c.memory.buffer, at, 200);
    const name = String.fromCharCode(...bytes.subarray(0, bytes.indexOf(0)));
    throw new Error(words[name] ?? name);
  }

  setAlarm(level) { this.check(this.c.set_alarm(level)); }
  get seen() { return this.c.n_seen(); }
  get bytes() { return this.c.n_bytes(); }
  get isWarming() { return this.c.is_warming() === 1; }
  get isSettling() { return this.c.is_settling() === 1; }

  // Learn at most a batch of points. done is their number, which is smaller at the end of a warm-up or after an error.
  learn(points) {
    this.points.set(points);
    this.done = this.c.learn(points.length / this.features);
    this.check(this.c.last_error());
  }

  // Take steps of the end of a warm-up. Returns whether work is left.
  settle(steps) {
    const more = this.c.settle(steps) === 1;
    if (!more) this.check(this.c.last_error());
    return more;
  }

  takeEvents() {
    const events = [];
    const n = this.c.take_events();
    for (let i = 0; i < n; i++) {
      const [kind, id, other, when] = this.events.subarray(4 * i, 4 * i + 4);
      events.push({ kind: EVENT_KINDS[kind], id, other, when });
    }
    return events;
  }

  clusters() {
    const step = 2 + 2 * MOST_FEATURES;
    const n = this.c.get_clusters();
    return Array.from({ length: n }, (_, k) => {
      const reals = this.slots.real.subarray(k * step, (k + 1) * step);
      return {
        id: this.slots.whole[k * step],
        weight: reals[1],
        mean: [...reals.subarray(2, 2 + this.features)],
        deviation: [...reals.subarray(2 + MOST_FEATURES, 2 + MOST_FEATURES + this.features)].map(Math.sqrt),
      };
    });
  }

  // The best cluster and the log density of points that are not learned; NO_ID and NaN where there is none.
  predict(points) {
    const n = points.length / this.features;
    const found = { ids: new Uint32Array(n), densities: new Float32Array(n) };
    for (let first = 0; first < n; first += this.batch) {
      const here = Math.min(this.batch, n - first);
      this.points.set(points.subarray(first * this.features, (first + here) * this.features));
      this.c.predict(here);
      found.ids.set(this.ids.subarray(0, here), first);
      found.densities.set(this.densities.subarray(0, here), first);
    }
    return found;
  }

  // The current id of a cluster that had this id; NO_ID if it is gone.
  resolve(id) { return this.c.resolve(id) >>> 0; }

  save() {
    const n = this.c.save();
    this.check(this.c.last_error());
    return this.file.slice(0, n);
  }

  load(bytes) {
    if (bytes.length > this.file.length) {
      throw new Error(`the file has ${bytes.length} bytes; this page reads up to ${this.file.length}`);
    }
    this.file.set(bytes);
    this.check(this.c.load(bytes.length), REFUSED);
    this.features = this.whole[0];
    return { features: this.whole[0], slots: this.whole[1], warmup: this.whole[2],
      missing: this.whole[3], alpha: this.real[0], halfLife: this.real[1] };
  }
}
