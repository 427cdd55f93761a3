// What happens, in words: a list for the eye, and now and then a sentence for screen readers.

const KEPT = 60;      // lines
const PAUSE = 4000;   // milliseconds between two sentences

const SENTENCES = {
  "created": ({ id }) => `Cluster ${id} begins.`,
  "split": ({ id, other }) => `Cluster ${id} splits: a part of it is now cluster ${other}.`,
  "merged": ({ id, other }) => `Cluster ${id} joins cluster ${other}.`,
  "evicted": ({ id }) => `Cluster ${id} makes room for a new one.`,
  "aged out": ({ id }) => `Cluster ${id} is forgotten.`,
  "prior revisited": () => "The prior is revisited: clusters are narrower than in the warm-up.",
  "relevant": ({ id }) => `Column ${id + 1} carries clusters from now on.`,
  "irrelevant": ({ id }) => `Column ${id + 1} carries no clusters any more.`,
};

export const sentence = (event) => SENTENCES[event.kind](event);

// Two digits of a small or large number, for people.
export const short = (value) => Number(value.toPrecision(3)).toString();

export class Words {
  constructor(list, spoken) {
    this.list = list;
    this.spoken = spoken;
    this.counts = new Map();
    this.last = -PAUSE;
  }

  clear() {
    this.list.replaceChildren();
    this.counts.clear();
  }

  add(when, text, kind) {
    const line = document.createElement("li");
    const number = document.createElement("b");
    number.textContent = when;
    line.append(number, text);
    this.list.prepend(line);
    while (this.list.childElementCount > KEPT) this.list.lastChild.remove();
    this.counts.set(kind, { n: (this.counts.get(kind)?.n ?? 0) + 1, text });
  }

  // A single event is spoken as it is, several as their numbers.
  speak(now, clusters) {
    if (this.counts.size === 0 || now - this.last < PAUSE) return;
    const parts = [...this.counts].map(([kind, { n, text }]) => n === 1 ? text : `${kind}: ${n} times.`);
    this.spoken.textContent = `${parts.join(" ")} Clusters now: ${clusters}.`;
    this.counts.clear();
    this.last = now;
  }
}

// The table of clusters, the heaviest first. Rows are used again.
export function fillTable(body, clusters, colours) {
  const sorted = [...clusters].sort((a, b) => b.weight - a.weight);
  while (body.rows.length > sorted.length) body.deleteRow(-1);
  while (body.rows.length < sorted.length) {
    const row = body.insertRow();
    for (let i = 0; i < 3; i++) row.insertCell();
  }
  sorted.forEach(({ id, weight, mean }, i) => {
    const cells = body.rows[i].cells;
    cells[0].style.setProperty("--shade", colours.of(id));
    [id, weight < 10 ? weight.toFixed(1) : Math.round(weight), mean.map(short).join(", ")].forEach((text, j) => {
      if (cells[j].textContent !== String(text)) cells[j].textContent = text;
    });
  });
}
