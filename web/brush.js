// The brush paints points with a little scatter, by pointer or by keys. The same strokes give the same points.

const KEY_STEP = 0.02;    // of the canvas
const KEY_POINTS = 12;    // a press of the space bar
const POINTS_A_SECOND = 150;
const EXAMPLE = 3000;      // points

// Random numbers with a stated start (mulberry32).
export function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Two independent normal numbers (Box and Muller).
export function normals(random) {
  const radius = Math.sqrt(-2 * Math.log(1 - random()));
  const angle = 2 * Math.PI * random();
  return [radius * Math.cos(angle), radius * Math.sin(angle)];
}

export class Brush {
  // paint(x, y) gets places as shares of the canvas, from the lower left.
  constructor(canvas, paint) {
    this.canvas = canvas;
    this.paint = paint;
    this.radius = 0.05;  // a standard deviation, as a share of the height
    this.at = [0.5, 0.5];
    this.isOn = false;
    this.isShown = false;
    this.isDown = false;
    this.due = 0;
    this.clear();
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { this.isDown = false; });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  clear() { this.random = generator(1); }

  press(event) {
    if (!this.isOn) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.isDown = true;
    this.move(event);
    this.scatter(1);
  }

  move(event) {
    if (!this.isOn) return;
    const box = this.canvas.getBoundingClientRect();
    this.isShown = true;
    this.at = [(event.clientX - box.left) / box.width, 1 - (event.clientY - box.top) / box.height];
  }

  key(event) {
    const [right, up] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] }[event.key] ?? [0, 0];
    const step = event.shiftKey ? 5 * KEY_STEP : KEY_STEP;
    const isMove = right !== 0 || up !== 0;
    if (!this.isOn || !(isMove || event.key === " ")) return;
    event.preventDefault();
    this.isShown = true;
    this.at = [this.at[0] + right * step, this.at[1] + up * step].map((share) => Math.min(1, Math.max(0, share)));
    if (!isMove) this.scatter(KEY_POINTS);
    this.canvas.dispatchEvent(new Event("brush"));
  }

  // Of a pointer that is held down.
  hold(seconds) {
    if (!this.isDown) return;
    this.due += seconds * POINTS_A_SECOND;
    this.scatter(Math.floor(this.due));
    this.due %= 1;
  }

  scatter(n) {
    const box = this.canvas.getBoundingClientRect();
    for (let i = 0; i < n; i++) {
      const [right, up] = normals(this.random);
      this.paint(this.at[0] + right * this.radius * box.height / box.width, this.at[1] + up * this.radius);
    }
  }
}

// A story for those who do not want to paint: one source stays, one parts into two, and one ends as another begins.
export function example(paint) {
  const random = generator(7);
  for (let i = 0; i < EXAMPLE; i++) {
    const t = i / EXAMPLE;
    const apart = 0.22 * Math.min(1, Math.max(0, 3 * t - 0.5));
    const places = [[0.2, 0.3], [0.5 - apart, 0.72], [0.5 + apart, 0.72], t < 0.5 ? [0.68, 0.25] : [0.86, 0.36]];
    const [x, y] = places[Math.floor(places.length * random())];
    const [right, up] = normals(random);
    paint(x + 0.03 * right, y + 0.048 * up);
  }
}
