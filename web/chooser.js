// The columns of a file as boxes to tick. Those that are no features by themselves say why; names are text, never markup.

import { MOST_FEATURES } from "./limits.js";

function part(kind, text, name = "") {
  const made = document.createElement(kind);
  made.className = name;
  made.textContent = text;
  return made;
}

function told({ isLearnable, reason, missing, wrong }) {
  const said = [reason, wrong !== null && isLearnable ? `line ${wrong.line} is no number` : ""];
  return [...said, missing > 0 && isLearnable ? `${missing.toLocaleString("en")} missing` : ""].filter(Boolean).join(", ");
}

export class Chooser {
  // change() is called when another box is ticked.
  constructor(fieldset, change) {
    this.fieldset = fieldset;
    this.change = change;
  }

  show(table) {
    this.table = table;
    this.boxes = table.columns.map((column) => this.box(column, table.usual.includes(column.place)));
    this.fieldset.replaceChildren(part("legend", "Columns"), ...this.boxes.map((box) => box.parentElement));
    this.fieldset.hidden = false;
    this.bound();
  }

  box(column, isOn) {
    const label = part("label", "", "check");
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: isOn });
    box.addEventListener("change", () => {
      this.bound();
      this.change();
    });
    label.append(box, part("bdi", column.title), part("span", told(column), "note"));
    return box;
  }

  // Columns without numbers cannot be ticked, nor more than a learner takes.
  bound() {
    const isFull = this.places.length >= MOST_FEATURES;
    this.boxes.forEach((box, i) => {
      box.disabled = !this.table.columns[i].isLearnable || (isFull && !box.checked);
    });
  }

  get places() { return this.boxes.flatMap((box, i) => box.checked ? [this.table.columns[i].place] : []); }
}
