// Feeds the points of a history to the learner, in slices of a few milliseconds a frame.

import { WARMUP } from "./limits.js";

const BUDGET = 4;  // milliseconds of a frame
const SLICE = 64;  // points between two looks at the clock
const SETTLE = 16; // steps, likewise

export class Player {
  // tell(what, detail): "events"; "alerts", their positions; "again", the number of points learned anew; "error"
  constructor(learner, tell) {
    this.learner = learner;
    this.tell = tell;
    this.isPlaying = true;
    this.speed = 200;  // points a second
    this.due = 0;
    this.goal = 0;     // points that are learned anew, as fast as possible
  }

  // A new learner. It learns the points again that the last one knew, if `isRelearning`.
  begin(history, settings, isRelearning) {
    const { width, isAuto, ...others } = settings;
    const centre = history.low.map((low, d) => (low + history.high[d]) / 2);
    const spread = history.low.map((low, d) => width * (history.high[d] - low));
    this.goal = isRelearning ? Math.max(this.goal, this.history.learned) : 0;
    this.history = history;
    this.history.learned = 0;
    this.due = 0;
    this.learner.begin({ ...others, features: history.features, warmup: isAuto ? WARMUP : 0,
      missing: Number(history.hasGaps), centre, spread });
  }

  // Go on with a learner from a file. It learns the points of a history.
  load(bytes, history) {
    const settings = this.learner.load(bytes);
    if (settings.features !== history.features) {
      const both = `${settings.features} features, and the points here have ${history.features}`;
      throw new Error(`it has ${both}. Choose a source with as many first`);
    }
    if (history.hasGaps && !settings.missing) {
      throw new Error("it takes no missing values, and the points here have some. Make it with missing=\"skip\"");
    }
    this.goal = 0;
    this.history = history;
    this.history.learned = 0;
    return settings;
  }

  get isCatchingUp() { return this.history.learned < Math.min(this.goal, this.history.size); }
  get isBusy() {
    return this.learner.isSettling || this.isCatchingUp || (this.isPlaying && this.history.waiting > 0);
  }

  step() { this.learn(1, Infinity); }

  // The work of a frame. Returns whether anything was learned.
  advance(seconds) {
    const until = performance.now() + BUDGET;
    if (this.learner.isSettling) return this.settle(until);
    if (this.isCatchingUp) return this.learn(this.goal - this.history.learned, until);
    if (!this.isPlaying || this.history.waiting === 0) return false;
    this.due = Math.min(this.due + seconds * this.speed, Math.max(1, this.speed / 10));
    const n = Math.floor(this.due);
    this.due -= n;
    return this.learn(n, until);
  }

  settle(until) {
    do {
      if (!this.learner.settle(SETTLE)) {
        this.history.resolve(this.learner);
        this.pass([]);
        return true;
      }
    } while (performance.now() < until);
    return false;
  }

  learn(n, until) {
    const before = this.history.learned;
    const end = Math.min(this.history.size, before + n);
    while (this.history.learned < end && !this.learner.isSettling) {
      const points = this.history.next(Math.min(SLICE, end - this.history.learned));
      this.slice(points);
      if (performance.now() > until) break;
    }
    return this.history.learned > before;
  }

  slice(points) {
    let problem = null;
    try {
      this.learner.learn(points);
    } catch (error) {
      problem = error;
    }
    this.pass(this.history.keep(this.learner));
    if (problem === null) return;
    this.history.skip();
    this.tell("error", `Point ${this.history.learned} was not learned: ${problem.message}.`);
  }

  // Pass on what happened, unless the points are learned anew.
  pass(alerts) {
    const events = this.learner.takeEvents();
    this.history.follow(events);
    if (this.goal === 0) {
      if (events.length > 0) this.tell("events", events);
      if (alerts.length > 0) this.tell("alerts", alerts);
    } else if (!this.isCatchingUp && !this.learner.isSettling) {
      this.tell("again", this.goal);
      this.goal = 0;
    }
  }
}
