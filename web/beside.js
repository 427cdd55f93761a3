// Lines of a file that are no rows of its table: what a logger or a spreadsheet says first, units below the names.

import { isName, isTime, isWordForMissing, strip, valueOf } from "./cells.js";
import { rowsOf } from "./lines.js";
import { RULES, begins, whole } from "./rules.js";

const isComment = begins("comment");
const isRule = whole("rule");
const isFilled = (cell) => strip(cell) !== "";

function isValue(cell) {
  const text = strip(cell).replace(",", ".");
  return valueOf(text) !== null || isTime(strip(cell));
}

class Line {
  constructor(number, text, mark) {
    Object.assign(this, { number, text, cells: rowsOf([text], mark)[0] ?? [] });
  }
  get filled() { return this.cells.filter(isFilled); }
  get hasValue() { return this.cells.some(isValue); }
  get hasNames() { return this.filled.length > 0 && this.filled.every(isName); }
  isRow(width) {
    return this.cells.length === width && !(isComment(this.text) && !this.text.startsWith('"#",'));
  }
}

// The lines below the names that hold texts where all others hold numbers or times.
function unitsOf(names, rest, width) {
  const ends = (line) => line.hasValue || line.filled.length === 0 || line.filled.some(isWordForMissing);
  const first = rest.slice(0, RULES.mostUnits);
  const end = first.findIndex(ends);
  const units = end === -1 ? first : first.slice(0, end);
  const below = rest.slice(units.length).filter((row) => row.cells.length === width);
  if (!names.hasNames || rest.length === units.length) return [];
  for (const line of units) {
    if (isRule(line.text)) continue;
    if (line.cells.length !== width) return [];
    const places = line.cells.flatMap((cell, place) => isFilled(cell) ? [place] : []);
    const fits = (cell) => isValue(cell) || isWordForMissing(cell);
    if (!below.every(({ cells }) => places.every((place) => fits(cells[place])))) return [];
  }
  return units;
}

// The numbers of those first lines, [number, text], that are no rows of a table of this width. Before the names of
// columns these are lines of another width, and comments; below them, texts above numbers.
export function linesBeside(lines, mark, width) {
  const found = lines.map(([number, text]) => new Line(number, text, mark));
  const at = Math.max(0, found.findIndex((line) => line.isRow(width)));
  const names = found[at];
  const rest = found.slice(at + 1);
  let before = found.slice(0, at);
  let units = unitsOf(names, rest, width);
  const below = rest.slice(units.length, units.length + RULES.mostUnits);
  if (!(names.hasNames && below.some((line) => line.hasValue))) {
    const comments = before.filter(({ text }) => isComment(text));
    if (comments.length < before.length) return new Set();
    if (before.length > 0 && before.at(-1).cells.length === width) before = before.slice(0, -1);  // its names
    units = [];
  }
  const beside = new Set([...before, ...units].map(({ number }) => number));
  if (before.length > 0 && before.at(-1) === found[at - 1]) {
    for (let number = before.at(-1).number; number < names.number; number++) beside.add(number);
  }
  return beside;
}
