// The layer of points. New ones are added to it. When colours, ages or the size change, a second layer is painted, some
// points a frame, and then takes its place: so no frame is long.

import { Sheet, disc } from "./canvas.js";

const SHOWN = 4000;    // points
const STAMPS = 400;    // points that a frame paints
const RADIUS = 2.2;
const REPAINT = 400;   // milliseconds between two ages of a point
const BANDS = 8;       // of age

class Layer {
  constructor(canvas, scale) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.scale = scale;
    this.learned = this.size = 0;  // where the next points to paint begin
  }

  // Empty the layer. The first point is the next to paint.
  clear(first) {
    this.pen.setTransform(1, 0, 0, 1, 0, 0);
    this.pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.learned = this.size = first;
  }

  stamp(picture, [x, y]) {
    const half = picture.width / 2;
    this.pen.drawImage(picture, Math.round(x * this.scale - half), Math.round(y * this.scale - half));
  }

  // Paint up to n points, with alpha and picture of each. Those that wait come last, so that they lie below nothing.
  advance(n, history, { alpha, picture, waiting, place }) {
    const learned = Math.min(history.learned, this.learned + n);
    let before = 0;
    for (; this.learned < learned; this.learned++) {
      const now = alpha(this.learned);
      if (now !== before) this.pen.globalAlpha = now;
      before = now;
      this.stamp(picture(this.learned), place(this.learned));
    }
    if (waiting === null || this.learned < history.learned) return;
    this.size = Math.max(this.size, this.learned);
    this.pen.globalAlpha = 0.3;
    const size = Math.min(history.size, this.size + n);
    for (; this.size < size; this.size++) this.stamp(waiting, place(this.size));
  }
}

export class Points {
  constructor(element) {
    this.sheet = new Sheet(element);
    this.front = this.back = null;
    this.state = {};
    this.painted = 0;
  }

  // place(i) is that of point i on the canvas.
  draw(history, colours, { halfLife, axes, now, place }) {
    const { width, height, scale } = this.sheet;
    const state = { history, shape: [width, height, scale, ...axes].join(), halfLife, version: colours.version };
    const isOther = this.isOther(state, history);
    if (isOther) this.front = this.back = null;
    if (isOther || this.state.version !== state.version || this.isOld(history, halfLife, now)) this.begin(history, colours, now);
    this.state = state;
    const ink = {
      // With a half-life, a point is as faint as it counts.
      alpha: (i) => 0.06 + 0.7 * (halfLife > 0 ? Math.ceil(BANDS * 2 ** ((i - history.learned) / halfLife)) / BANDS : 1),
      picture: (i) => this.stamps[colours.place(history.id[i])],
      waiting: history.isSeries ? null : this.waiting,
      place,
    };
    this.front.advance(STAMPS, history, ink);
    if (this.back !== null) this.advanceBack(history, ink);
    this.isBehind = this.back !== null || this.front.learned < history.learned;
  }

  advanceBack(history, ink) {
    this.back.advance(STAMPS, history, ink);
    if (this.back.learned < history.learned) return;
    this.front.clear(this.back.learned);
    this.front.size = this.back.size;
    this.front.pen.globalAlpha = 1;
    this.front.pen.drawImage(this.back.canvas, 0, 0);
    this.back = null;
  }

  // Whether nothing of the layer remains true.
  isOther(state, history) {
    const isSame = ["history", "shape", "halfLife"].every((key) => state[key] === this.state[key]);
    return !isSame || this.front.learned > history.learned || history.learned - this.front.learned > SHOWN;
  }

  isOld(history, halfLife, now) {
    return halfLife > 0 && this.back === null && history.learned > this.learned && now - this.painted > REPAINT;
  }

  begin(history, colours, now) {
    const { element, scale } = this.sheet;
    const first = Math.max(0, history.learned - SHOWN);
    if (this.front === null) {
      this.front = new Layer(element, scale);
      this.front.clear(first);
    } else {
      const canvas = document.createElement("canvas");
      Object.assign(canvas, { width: element.width, height: element.height });
      this.back = new Layer(canvas, scale);
      this.back.clear(first);
    }
    this.painted = now;
    this.learned = history.learned;
    this.stamps = colours.clusters.map((colour) => disc(RADIUS, scale, colour));
    this.waiting = disc(1.3, scale, colours.faint);
  }
}
