// The points of a source, and what the learner said about each. A bounded number is kept.

import { MOST_POINTS, NO_ID } from "./limits.js";

export class History {
  constructor(columns, low, high) {
    this.columns = columns;  // names of the features
    this.low = low;          // of the view, one a feature
    this.high = high;
    this.isSeries = true;    // whether neighbours in time are neighbours
    this.hasGaps = false;    // whether points have missing values, which are NaN
    this.labels = null;      // of the points, for people: the learner does not see them
    this.x = new Float32Array(MOST_POINTS * columns.length);
    this.id = new Uint32Array(MOST_POINTS);
    this.density = new Float32Array(MOST_POINTS);
    this.surprise = new Float32Array(MOST_POINTS);
    this.alert = new Uint8Array(MOST_POINTS);
    this.size = 0;
    this.learned = 0;
  }

  get features() { return this.columns.length; }
  get waiting() { return this.size - this.learned; }

  append(point) {
    if (this.size === MOST_POINTS) this.dropOldest(MOST_POINTS / 4);
    this.x.set(point, this.size * this.features);
    this.size++;
  }

  dropOldest(n) {
    this.x.copyWithin(0, n * this.features);
    for (const each of [this.id, this.density, this.surprise, this.alert]) each.copyWithin(0, n);
    this.size -= n;
    this.learned = Math.max(0, this.learned - n);
  }

  // The next points to learn, at most n.
  next(n) {
    const end = Math.min(this.size, this.learned + n);
    return this.x.subarray(this.learned * this.features, end * this.features);
  }

  // Keep what the learner found out about the points that it has just learned. Returns the positions of alerts.
  keep(learner) {
    const alerts = [];
    for (let i = 0; i < learner.done; i++) {
      const at = this.learned + i;
      this.id[at] = learner.found.whole[4 * i];
      this.density[at] = learner.found.real[4 * i + 1];
      this.surprise[at] = learner.found.real[4 * i + 3];
      this.alert[at] = learner.alerts[i];
      if (learner.alerts[i]) alerts.push(at);
    }
    this.learned += learner.done;
    return alerts;
  }

  // The next point cannot be learned.
  skip() {
    this.id[this.learned] = NO_ID;
    this.density[this.learned] = this.surprise[this.learned] = NaN;
    this.alert[this.learned] = 0;
    this.learned++;
  }

  // Points of a cluster that was merged get the id of the other one.
  follow(events) {
    const into = new Map(events.filter((event) => event.kind === "merged").map(({ id, other }) => [id, other]));
    if (into.size === 0) return;
    for (let i = 0; i < this.learned; i++) {
      while (into.has(this.id[i])) this.id[i] = into.get(this.id[i]);
    }
  }

  // Points of the warm-up get the ids of their clusters.
  resolve(learner) {
    for (let i = 0; i < this.learned; i++) this.id[i] = learner.resolve(this.id[i]);
  }
}
