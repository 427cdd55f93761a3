// The large picture: density, points, clusters as ellipses with their numbers, and a pulse where something happens. It
// has three canvases, one above the other. The browser puts them together, so a frame draws only what is new.

import { Sheet } from "./canvas.js";
import { Points } from "./points.js";

const DEVIATIONS = 2;  // of an ellipse
const LEAST = 12;      // radius, so that the number fits
const PULSE = 900;     // milliseconds
const FIELD = { columns: 48, rows: 30, every: 250, depth: 7 };  // of the density; depth in nats

export class Scatter {
  constructor({ field, points, top }, colours) {
    this.sheet = new Sheet(top);
    this.colours = colours;
    this.points = new Points(points);
    this.pulses = [];
    this.field = Object.assign(field, { width: FIELD.columns, height: FIELD.rows });
    this.isCalm = matchMedia("(prefers-reduced-motion: reduce)");
  }

  // Set the data and the two features that are shown. Pulses of the data before end.
  show(history, axes) {
    this.history = history;
    this.axes = axes;
    this.pulses = [];
    this.fieldIsKnown = false;
  }

  x(value) {
    const d = this.axes[0];
    return (value - this.history.low[d]) / (this.history.high[d] - this.history.low[d]) * this.sheet.width;
  }
  y(value) {
    const d = this.axes[1];
    return (this.history.high[d] - value) / (this.history.high[d] - this.history.low[d]) * this.sheet.height;
  }
  place(i) {
    const at = i * this.history.features;
    return [this.x(this.history.x[at + this.axes[0]]), this.y(this.history.x[at + this.axes[1]])];
  }

  pulse(where, colour, now) {
    this.pulses.push({ where, colour, from: now });
    if (this.pulses.length > 24) this.pulses.shift();
  }
  pulseAt(mean, colour, now) { this.pulse([this.x(mean[this.axes[0]]), this.y(mean[this.axes[1]])], colour, now); }
  get isMoving() { return this.pulses.length > 0 || this.points.isBehind; }

  draw({ learner, clusters, brush, halfLife, now }) {
    const place = (i) => this.place(i);
    this.drawField(learner, now);
    this.points.draw(this.history, this.colours, { halfLife, axes: this.axes, now, place });
    this.sheet.clear();
    for (const cluster of clusters) this.drawCluster(cluster);
    this.drawPulses(now);
    if (brush.isOn && brush.isShown) this.drawBrush(brush);
  }

  // Where points are expected, in the colour of the cluster that they would join. Only for two features.
  drawField(learner, now) {
    const isShown = this.history.features === 2 && learner.seen > 0 && !learner.isWarming;
    this.field.hidden = !isShown;
    if (!isShown) {
      this.fieldIsKnown = false;
    } else if (!this.fieldIsKnown || (now - this.fieldTime > FIELD.every && this.fieldSeen !== learner.seen)) {
      this.computeField(learner);
      Object.assign(this, { fieldTime: now, fieldSeen: learner.seen, fieldIsKnown: true });
    }
  }

  computeField(learner) {
    const { low, high } = this.history;
    const [a, b] = this.axes;
    const places = new Float32Array(2 * FIELD.columns * FIELD.rows);
    for (let i = 0; i < places.length / 2; i++) {
      places[2 * i + a] = low[a] + (high[a] - low[a]) * (i % FIELD.columns + 0.5) / FIELD.columns;
      places[2 * i + b] = high[b] - (high[b] - low[b]) * (Math.floor(i / FIELD.columns) + 0.5) / FIELD.rows;
    }
    const { ids, densities } = learner.predict(places);
    const most = densities.reduce((best, density) => density > best ? density : best, -Infinity);
    const pen = this.field.getContext("2d");
    const picture = pen.createImageData(FIELD.columns, FIELD.rows);
    const shades = new Map();
    for (let i = 0; i < ids.length; i++) {
      if (!shades.has(ids[i])) shades.set(ids[i], this.colours.rgb(ids[i]));
      picture.data.set(shades.get(ids[i]), 4 * i);
      picture.data[4 * i + 3] = 70 * Math.max(0, 1 + (densities[i] - most) / FIELD.depth);
    }
    pen.putImageData(picture, 0, 0);
  }

  drawCluster({ id, mean, deviation }) {
    const { pen, width, height } = this.sheet;
    const [a, b] = this.axes;
    const [x, y] = [this.x(mean[a]), this.y(mean[b])];
    const wide = DEVIATIONS * deviation[a] / (this.history.high[a] - this.history.low[a]) * width;
    const tall = DEVIATIONS * deviation[b] / (this.history.high[b] - this.history.low[b]) * height;
    pen.globalAlpha = 1;
    pen.strokeStyle = this.colours.of(id);
    pen.lineWidth = 2;
    pen.beginPath();
    pen.ellipse(x, y, Math.max(LEAST, wide), Math.max(LEAST, tall), 0, 0, 2 * Math.PI);
    pen.stroke();
    pen.font = "600 14px ui-sans-serif, system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.lineJoin = "round";
    pen.lineWidth = 4;
    pen.strokeStyle = this.colours.paper;
    pen.strokeText(id, x, y);
    pen.fillStyle = this.colours.ink;
    pen.fillText(id, x, y);
  }

  drawPulses(now) {
    const { pen } = this.sheet;
    this.pulses = this.pulses.filter(({ from }) => now - from < PULSE);
    for (const { where: [x, y], colour, from } of this.pulses) {
      const age = this.isCalm.matches ? 0.3 : (now - from) / PULSE;
      pen.globalAlpha = 1 - age;
      pen.strokeStyle = colour;
      pen.lineWidth = 3;
      pen.beginPath();
      pen.arc(x, y, 8 + 40 * age, 0, 2 * Math.PI);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  drawBrush({ at: [right, up], radius }) {
    const { pen, width, height } = this.sheet;
    pen.strokeStyle = this.colours.ink;
    pen.lineWidth = 1.5;
    pen.setLineDash([4, 4]);
    pen.beginPath();
    pen.arc(right * width, (1 - up) * height, Math.max(4, 2 * radius * height), 0, 2 * Math.PI);
    pen.stroke();
    pen.setLineDash([]);
  }
}
