// The page: its controls, its frames, and what tests see.

import { Brush, example } from "./brush.js";
import { Colours } from "./colours.js";
import { Slider, download, element, onFile } from "./controls.js";
import { Chooser } from "./chooser.js";
import { readTable } from "./csv.js";
import { Learner } from "./learner.js";
import { MOST_BYTES, MOST_SLOTS, WARMUP } from "./limits.js";
import { Player } from "./player.js";
import { Scatter } from "./scatter.js";
import { paintedHistory, recordingHistory, tableHistory } from "./sources.js";
import { Strip } from "./strip.js";
import { Words, fillTable, sentence, short } from "./words.js";

const SPEEDS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 50000];
const RECORDED = 10;  // points a second
const ALPHAS = [0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100];
const WIDTHS = [0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20];  // %
const HALF_LIVES = [0, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
const LEVELS = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2];
const BRUSHES = [1, 2, 3, 5, 8, 12];  // %
const PYTHON = 'from mapdpm import load\nmodel = load("stream.mdpm")\nmodel.n_clusters, model.means';
const TABLE = 200;    // milliseconds between two tables
const STRIP = 30;     // likewise
const FRAMES = 1200;  // times that are kept for tests

class Page {
  constructor(learner) {
    this.colours = new Colours();
    this.scatter = new Scatter({ field: element("field"), points: element("points"), top: element("scatter") }, this.colours);
    this.strip = new Strip(element("strip"), this.colours);
    this.words = new Words(element("events"), element("spoken"));
    this.player = new Player(learner, (what, detail) => this.heard(what, detail));
    this.brush = new Brush(element("scatter"), (x, y) => this.paint(x, y));
    this.chooser = new Chooser(element("columns"), () => this.useColumns());
    this.histories = { paint: paintedHistory() };
    this.frames = [];
    this.clusters = [];
    this.told = 0;      // when the table was filled
    this.stripped = 0;  // when the strip was drawn
    this.makeControls();
    this.choose("paint");
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.colours.read(); this.wake(); });
    for (const what of ["pointerdown", "pointermove", "brush"]) element("scatter").addEventListener(what, () => this.wake());
    addEventListener("resize", () => this.wake());
  }

  makeControls() {
    const renew = () => this.renew();
    const points = (n) => `${n.toLocaleString("en")} ${n === 1 ? "point" : "points"}`;
    this.sliders = {
      speed: new Slider("speed", SPEEDS, 200, (n) => `${points(n)} a second${this.isRealTime(n) ? ", as recorded" : ""}`,
        (value) => { this.player.speed = value; }),
      alpha: new Slider("alpha", ALPHAS, 1, String, renew),
      width: new Slider("width", WIDTHS, 4, (value) => `${value} %`, renew),
      halfLife: new Slider("half-life", HALF_LIVES, 0, (n) => n === 0 ? "off" : points(n), renew),
      slots: new Slider("slots", Array.from({ length: MOST_SLOTS - 1 }, (_, i) => i + 2), 8, String, renew),
      level: new Slider("level", LEVELS, 1e-4, (value) => `1 in ${Math.round(1 / value).toLocaleString("en")}`,
        (value) => { this.player.learner.setAlarm(value); this.wake(); }),
      brush: new Slider("brush", BRUSHES, 5, (value) => `${value} %`,
        (value) => { this.brush.radius = value / 100; this.wake(); }),
    };
    element("auto").addEventListener("change", renew);
    element("play").addEventListener("click", () => this.play(!this.player.isPlaying));
    element("step").addEventListener("click", () => { this.play(false); this.player.step(); this.wake(); });
    element("again").addEventListener("click", () => this.begin(false));
    element("clear").addEventListener("click", () => this.clear());
    element("example").addEventListener("click", () => { example((x, y) => this.paint(x, y)); element("scatter").focus(); });
    element("save").addEventListener("click", () => this.attempt(() => download("stream.mdpm", this.player.learner.save())));
    element("python").textContent = PYTHON;
    for (const input of document.getElementsByName("source")) input.addEventListener("change", () => this.choose(input.value));
    for (const axis of ["axis-x", "axis-y"]) element(axis).addEventListener("change", () => this.showAxes());
    onFile("csv", MOST_BYTES, (bytes, name) => this.openTable(readTable(bytes, name)), (why) => this.message(why));
    onFile("load", this.player.learner.file.length, (bytes) => this.open(bytes), (why) => this.refuse(why));
  }

  get settings() {
    const { alpha, width, halfLife, slots, level } = this.sliders;
    return { alpha: alpha.value, width: width.value / 100, isAuto: element("auto").checked, halfLife: halfLife.value,
      slots: slots.value, level: level.value };
  }
  isRealTime(speed) { return this.source === "recording" && speed === RECORDED; }
  get history() { return this.histories[this.source]; }

  // ---- what the user does ----

  choose(source) {
    this.source = source;
    this.histories.recording ??= source === "recording" ? recordingHistory() : undefined;
    for (const each of ["paint", "csv", "recording"]) element(`${each}-tools`).hidden = each !== source;
    element("auto").checked = source !== "paint";
    this.sliders.speed.set(source === "recording" ? RECORDED : 200);
    this.player.speed = this.sliders.speed.value;
    this.brush.isOn = source === "paint";
    const canvas = element("scatter");
    canvas.classList.toggle("paints", this.brush.isOn);
    canvas.tabIndex = this.brush.isOn ? 0 : -1;
    canvas.setAttribute("role", this.brush.isOn ? "application" : "img");
    canvas.setAttribute("aria-label", this.brush.isOn ? "Canvas to paint points on" : "Points and clusters; the table has them in numbers");
    this.message("");
    this.restart();
  }

  // Show the history of the source from its start.
  restart() {
    const history = this.history ?? paintedHistory();
    const options = () => history.columns.map((name, d) => new Option(name, d));
    element("axis-x").replaceChildren(...options());
    element("axis-y").replaceChildren(...options());
    element("axis-y").value = Math.min(1, history.features - 1);
    element("axes-tools").hidden = history.features < 3;
    this.shown = history;
    this.showAxes();
    this.begin(false);
    this.play(true);
  }

  showAxes() {
    this.scatter.show(this.shown, [Number(element("axis-x").value), Number(element("axis-y").value)]);
    this.wake();
  }

  begin(isRelearning) {
    this.colours.update([]);
    this.words.clear();
    this.scatter.show(this.shown, this.scatter.axes);
    this.attempt(() => this.player.begin(this.shown, this.settings, isRelearning));
    element("width").disabled = element("auto").checked;
    this.wake();
  }
  renew() { this.begin(true); }

  play(isPlaying) {
    this.player.isPlaying = isPlaying;
    element("play").textContent = isPlaying ? "Pause" : "Play";
    this.wake();
  }

  paint(x, y) {
    const { low, high } = this.shown;
    const inside = (share) => Math.min(1, Math.max(0, share));
    this.shown.append([x, y].map((share, d) => low[d] + inside(share) * (high[d] - low[d])));
    this.wake();
  }

  clear() {
    this.brush.clear();
    this.histories.paint = paintedHistory();
    this.restart();
  }

  openTable(table) {
    this.chooser.show(table);
    this.useColumns();
  }

  useColumns() {
    const { table, places } = this.chooser;
    this.histories.csv = undefined;
    this.message("");
    element("csv-notes").textContent = "";
    this.attempt(() => {
      const { history, notes } = tableHistory(table, places);
      this.histories.csv = history;
      element("csv-notes").textContent = [table.file, ...table.notes, ...notes].join("; ");
    });
    this.restart();
  }

  // Points of data are played to the learner from their start; those that were painted before are not its own.
  open(bytes) {
    try {
      const history = this.source === "paint" ? paintedHistory() : this.shown;
      const found = this.player.load(bytes, history);
      this.sliders.alpha.set(found.alpha);
      this.sliders.halfLife.set(found.halfLife);
      this.sliders.slots.set(found.slots);
      element("auto").checked = found.warmup > 0;
      this.histories[this.source] = this.shown = history;
      this.showAxes();
      this.words.clear();
      this.words.add(this.player.learner.seen, "The learner of a file goes on here.", "opened");
    } catch (error) {
      this.begin(true);
      this.refuse(error.message);
    }
    this.wake();
  }

  attempt(action) {
    try {
      action();
    } catch (error) {
      this.message(error.message);
    }
  }
  refuse(why) { this.message(`The learner was not opened: ${why}.`); }
  message(text) { element("message").textContent = text; }

  // ---- what the learner says ----

  heard(what, detail) {
    const now = performance.now();
    const seen = this.player.learner.seen;
    if (what === "error") {
      this.message(detail);
    } else if (what === "again") {
      this.words.add(seen, `The new learner has learned ${detail} points again.`, "again");
    } else if (what === "alerts") {
      for (const at of detail) {
        this.words.add(at + 1, `Alarm: surprise ${short(this.shown.surprise[at])}.`, "alarm");
        this.scatter.pulse(this.scatter.place(at), this.colours.alarm, now);
      }
    } else {
      this.lookAt(detail, now);
    }
  }

  lookAt(events, now) {
    const before = this.clusters;
    this.updateClusters();
    for (const event of events) {
      this.words.add(event.when, sentence(event), event.kind);
      const cluster = [...this.clusters, ...before].find(({ id }) => id === event.id);
      if (cluster) this.scatter.pulseAt(cluster.mean, this.colours.of(cluster.id), now);
    }
    if (events.some(({ kind }) => kind === "merged")) this.colours.version++;
  }

  updateClusters() {
    this.clusters = this.player.learner.isWarming ? [] : this.player.learner.clusters();
    this.colours.update(this.clusters);
  }

  // ---- frames ----

  wake() {
    if (this.isAwake) return;
    this.isAwake = true;
    this.time = performance.now();
    requestAnimationFrame(() => this.frame());
  }

  // The page sleeps when there is nothing to learn or to move.
  frame() {
    const now = performance.now();
    const seconds = Math.min(0.1, (now - this.time) / 1000);
    this.time = now;
    this.brush.hold(seconds);
    const learned = this.player.advance(seconds);
    this.updateClusters();
    this.draw(now);
    this.frames.push({ work: performance.now() - now, at: now, learned });
    if (this.frames.length > FRAMES) this.frames.shift();
    this.isAwake = this.player.isBusy || this.brush.isDown || this.scatter.isMoving;
    if (this.isAwake) requestAnimationFrame(() => this.frame());
  }

  draw(now) {
    const { halfLife, level } = this.sliders;
    const { learner } = this.player;
    this.scatter.draw({ learner, clusters: this.clusters, brush: this.brush, halfLife: halfLife.value, now });
    const { isBusy } = this.player;
    if (now - this.stripped >= STRIP || !isBusy) {
      this.strip.draw({ history: this.shown, axes: this.scatter.axes, level: level.value });
      this.stripped = now;
    }
    if (now - this.told < TABLE && isBusy) return;
    this.told = now;
    fillTable(element("clusters"), this.clusters, this.colours);
    this.words.speak(now, this.clusters.length);
    const isEmpty = this.shown.size === 0 && learner.seen === 0;
    element("empty").hidden = this.source !== "paint" || !isEmpty;
    element("no-file").hidden = this.source !== "csv" || !isEmpty;
    element("status").textContent = this.status();
  }

  status() {
    const { learner, isCatchingUp } = this.player;
    const { learned, size } = this.shown;
    if (size === 0 && learner.seen === 0) return "No points yet.";
    const points = `${learned.toLocaleString("en")} of ${size.toLocaleString("en")} points`;
    if (isCatchingUp) return `${points}: the new learner learns them again.`;
    if (learner.isWarming) return `${points}. The first ${WARMUP} set the width of clusters.`;
    const n = this.clusters.length;
    return `${points} · ${n} ${n === 1 ? "cluster" : "clusters"} · ${learner.bytes.toLocaleString("en")} bytes`;
  }
}

const page = new Page(await Learner.create());
globalThis.mapdpm = { Learner, page, readTable };
