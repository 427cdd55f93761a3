// Colours of clusters: told apart by people who are colour-blind (Okabe and Ito), and always shown beside a number.

import { NO_ID } from "./limits.js";

const N_COLOURS = 8;
const NONE = N_COLOURS;  // the grey of points without a cluster

export class Colours {
  constructor() {
    this.places = new Map();
    this.version = 0;  // grows when points must be painted again
    this.read();
  }

  // The style sheet has a set for light and one for dark.
  read() {
    const style = getComputedStyle(document.documentElement);
    const named = (name) => style.getPropertyValue(`--${name}`).trim();
    this.clusters = Array.from({ length: N_COLOURS + 1 }, (_, i) => named(`cluster-${i}`));
    Object.assign(this, { ink: named("ink"), faint: named("faint"), line: named("line"), paper: named("canvas"),
      alarm: named("alarm") });
    this.version++;
  }

  // A new cluster gets the first colour that no other has, or that which the fewest have.
  update(clusters) {
    const alive = new Set(clusters.map(({ id }) => id));
    const before = this.places.size;
    for (const id of this.places.keys()) if (!alive.has(id)) this.places.delete(id);
    if (this.places.size !== before) this.version++;
    for (const id of alive) {
      if (this.places.has(id)) continue;
      const uses = Array(N_COLOURS).fill(0);
      for (const place of this.places.values()) uses[place]++;
      this.places.set(id, uses.indexOf(Math.min(...uses)));
    }
  }

  place(id) { return id === NO_ID ? NONE : this.places.get(id) ?? NONE; }
  of(id) { return this.clusters[this.place(id)]; }
  rgb(id) {
    const hex = this.of(id);
    return [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  }
}
