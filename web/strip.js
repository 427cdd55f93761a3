// The strip below: the last points as a series, their clusters, log densities and surprises.

import { Sheet } from "./canvas.js";

const SHOWN = 600;     // points
const LEAST = 1e-6;    // surprise at the lower edge
const DEPTH = 30;      // nats below the highest log density
const NARROW = 12;     // height of the ribbon of clusters
const TEXT = 17;       // height of a line of text
const MARGIN = 8;

export class Strip {
  constructor(element, colours) {
    this.sheet = new Sheet(element);
    this.colours = colours;
  }

  draw({ history, axes, level }) {
    const { sheet } = this;
    const first = Math.max(0, history.learned - SHOWN);
    const span = { first, last: history.learned, x: (i) => (i - first) / SHOWN * sheet.width };
    const rest = sheet.height - NARROW - 4 * TEXT - 3.5 * MARGIN;
    sheet.clear();
    sheet.pen.lineWidth = 1;
    this.top = MARGIN / 2;
    this.drawSeries(history, axes, span, rest * 0.5);
    this.drawRibbon(history, span);
    this.drawDensity(history, span, rest * 0.25);
    this.drawSurprise(history, level, span, rest * 0.25);
  }

  name(text, x = 8) {
    const { pen } = this.sheet;
    pen.font = "12px ui-sans-serif, system-ui, sans-serif";
    pen.textAlign = "left";
    pen.textBaseline = "top";
    pen.globalAlpha = 1;
    pen.fillStyle = this.colours.faint;
    pen.fillText(text, x, this.top);
  }

  line(y, { first, last, x }) {
    const { pen } = this.sheet;
    pen.beginPath();
    for (let i = first; i < last; i++) {
      const height = y(i);
      if (!Number.isNaN(height)) pen.lineTo(x(i), height);
    }
    pen.stroke();
  }

  // A series in time as lines, darker where the canvas above shows the feature; points in no order as dots.
  drawSeries(history, axes, span, height) {
    const { pen } = this.sheet;
    this.name(history.columns.join(", "));
    this.top += TEXT;
    pen.strokeStyle = this.colours.ink;
    history.columns.forEach((_, d) => {
      const scale = height / (history.high[d] - history.low[d]);
      const y = (i) => this.top + scale * (history.high[d] - history.x[i * history.features + d]);
      pen.globalAlpha = axes[0] === d ? 0.9 : axes[1] === d ? 0.55 : 0.22;
      if (history.isSeries) this.line(y, span);
      else this.dots(y, history, span);
    });
    this.top += height + MARGIN;
  }

  dots(y, history, { first, last, x }) {
    const { pen } = this.sheet;
    for (let i = first; i < last; i++) {
      pen.fillStyle = this.colours.of(history.id[i]);
      pen.fillRect(x(i), y(i) - 1, 2, 2);
    }
  }

  // The cluster of each point, and below it what people know about the points.
  drawRibbon(history, { first, last, x }) {
    const { pen } = this.sheet;
    pen.globalAlpha = 1;
    for (let i = first, from = first; i < last; i++) {
      if (i + 1 < last && history.id[i + 1] === history.id[from]) continue;
      pen.fillStyle = this.colours.of(history.id[from]);
      pen.fillRect(x(from), this.top, x(i + 1) - x(from), NARROW);
      from = i + 1;
    }
    this.top += NARROW + 2;
    if (history.labels === null) this.name("cluster");
    for (let i = first; history.labels !== null && i < last; i++) {
      if (i === first || history.labels[i] !== history.labels[i - 1]) this.name(history.labels[i], x(i) + 8);
    }
    this.top += TEXT + MARGIN / 2;
  }

  drawDensity(history, span, height) {
    let [low, high] = [Infinity, -Infinity];
    for (let i = span.first; i < span.last; i++) {
      high = history.density[i] > high ? history.density[i] : high;
      low = history.density[i] < low ? history.density[i] : low;
    }
    low = Math.max(low, high - DEPTH);
    this.name("log density");
    this.top += TEXT;
    this.sheet.pen.strokeStyle = this.colours.ink;
    this.sheet.pen.globalAlpha = 0.8;
    this.line((i) => this.top + height * Math.min(1, (high - history.density[i]) / (high - low || 1)), span);
    this.top += height + MARGIN;
  }

  // On a log scale, with the level of the alarm; alerts are marked.
  drawSurprise(history, level, span, height) {
    const { pen, width } = this.sheet;
    this.name("surprise, and the level of the alarm");
    this.top += TEXT;
    const y = (surprise) => this.top + height * Math.min(1, Math.log(surprise) / Math.log(LEAST));
    pen.strokeStyle = this.colours.ink;
    pen.globalAlpha = 0.8;
    this.line((i) => y(history.surprise[i]), span);
    pen.strokeStyle = pen.fillStyle = this.colours.alarm;
    pen.globalAlpha = 1;
    pen.setLineDash([5, 4]);
    pen.beginPath();
    pen.moveTo(0, y(level));
    pen.lineTo(width, y(level));
    pen.stroke();
    pen.setLineDash([]);
    for (let i = span.first; i < span.last; i++) {
      if (!history.alert[i]) continue;
      pen.beginPath();
      pen.arc(span.x(i), y(history.surprise[i]), 4, 0, 2 * Math.PI);
      pen.fill();
    }
  }
}
