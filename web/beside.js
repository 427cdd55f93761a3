// Rows of a file that are none of its table: what loggers and spreadsheets say first, units, and totals. It finds what
// mapdpm/cli/beside_table.py finds.

import { isGrouped, isName, isTime, isWordForMissing, strip, valueOf } from "./cells.js";
import { rowsOf } from "./lines.js";
import { RULES, begins, whole } from "./rules.js";

const isComment = begins("comment");
const isRule = whole("rule");
const isFilled = (cell) => strip(cell) !== "";

function isValue(cell) {
  const text = strip(cell).replace(",", ".");
  return valueOf(text) !== null || isGrouped(strip(cell)) || isTime(strip(cell));
}

class Line {
  constructor(number, text, cells) {
    Object.assign(this, { number, text, cells });
  }
  get filled() { return this.cells.filter(isFilled); }
  get hasValue() { return this.cells.some(isValue); }
  get hasNames() { return this.filled.length > 0 && this.filled.every(isName); }
  get isNote() { return this.filled.length === 1 && this.hasNames; }
  // Names stand in more columns than one.
  get isTitle() { return this.cells.length > 1 && this.filled.length === 1 && isFilled(this.cells[0]) && this.hasNames; }

  isRow(width) {
    if (this.cells.length !== width || this.isTitle || this.filled.length === 0) return false;
    return !isComment(this.text) || this.text.startsWith('"#",');
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

// Whether two lines are names together: some of the upper are of several columns, as Indoor,,Outdoor,
function spans(upper, lower, width) {
  if (lower.cells.length !== width || upper.cells.length > width || upper.filled.length < 2) return false;
  if (isComment(upper.text) || !upper.hasNames || !lower.hasNames || lower.filled.some(isWordForMissing)) return false;
  const over = (place) => isFilled(upper.cells[place] ?? "");
  return lower.cells.some((cell, place) => place > 0 && !over(place) && over(place - 1) && isFilled(cell));
}

// The name in the upper line for each column.
function namesAbove(upper, lower) {
  let last = "";
  return lower.cells.map((cell, place) => {
    last = strip(upper.cells[place] ?? "") || (isFilled(cell) ? last : "");
    return last;
  });
}

// Columns without a name and without a value, below names of others.
function emptyOf(rows, width) {
  if (rows.length < RULES.fewRows || !rows[0].filled.some(isName)) return new Set();
  const whole = rows.filter(({ cells }) => cells.length === width);
  const places = Array.from({ length: width }, (_, place) => place);
  return new Set(places.filter((place) => !whole.some(({ cells }) => isFilled(cells[place]))));
}

export const NOTHING = { beside: new Set(), above: [], upper: 0, empty: new Set() };

// What the first lines, [number, text], hold that is no row of a table of this width: the numbers of those lines
// (beside); what stands above the name of each column (above), in the line of which number (upper), 0 for none; and the
// columns that are none (empty). Before the names of columns these are lines of another width, titles, and comments;
// below them, texts above numbers.
export function linesBeside(lines, mark, width) {
  const found = lines.map(([number, text]) => new Line(number, text, rowsOf([text], mark)[0] ?? []));
  let at = Math.max(0, found.findIndex((line) => line.isRow(width)));
  let upper = null;
  if (at + 1 < found.length && spans(found[at], found[at + 1], width)) upper = found[at++];
  else if (at > 0 && spans(found[at - 1], found[at], width)) upper = found[at - 1];
  const names = found[at];
  const rest = found.slice(at + 1);
  let before = found.slice(0, at);
  let units = unitsOf(names, rest, width);
  const below = rest.slice(units.length);
  if (!(names.hasNames && below.slice(0, RULES.mostUnits).some((line) => line.hasValue))) {
    const comments = before.filter(({ text }) => isComment(text));
    if (comments.length < before.length) return NOTHING;
    if (before.length > 0 && before.at(-1).cells.length === width) before = before.slice(0, -1);  // its names
    [units, upper] = [[], null];
  }
  const beside = new Set([...before, ...units].map(({ number }) => number));
  if (before.length > 0 && before.at(-1) === found[at - 1]) {
    for (let number = before.at(-1).number; number < names.number; number++) beside.add(number);
  }
  const above = upper === null ? [] : namesAbove(upper, names);
  return { beside, above, upper: upper?.number ?? 0, empty: emptyOf([names, ...below], width) };
}

const wordAt = (cells, place) => strip(cells[place] ?? "").replace(/:+$/, "").toLowerCase();

// Whether a row is no sum of those above: they are not negative, and one is larger.
function isLess({ cells }, above, first) {
  const numberOf = (cell) => cell === undefined ? null : valueOf(cell.replace(",", "."));
  return cells.some((cell, place) => {
    const texts = [cell, ...above.map((line) => line.cells[place] ?? "")].map(strip).filter((text) => text !== "" && !isName(text));
    if (place <= first || (isGrouped(strip(cell)) && !texts.every(isGrouped))) return false;
    const total = numberOf(cell);
    const numbers = above.map((line) => numberOf(line.cells[place])).filter((number) => number !== null);
    return total !== null && numbers.length > 0 && Math.min(...numbers) >= 0 && Math.max(...numbers) > total;
  });
}

// How many of these lines, at their end, have totals or statistics of those above, by the words in a first cell.
function totals(lines) {
  const last = lines.at(-1);
  const place = last.cells.findIndex(isFilled);
  if (place === -1) return 0;
  const words = lines.map(({ cells }) => wordAt(cells, place));
  const isWord = (word) => RULES.sums.includes(word) || RULES.statistics.includes(word);
  let n = 0;
  while (n < lines.length && isWord(words.at(-n - 1))) n++;
  const isAlone = ({ cells }) => cells.length === 1 && last.cells.length > 1;
  const above = lines.slice(0, lines.length - n).filter((line) => line.filled.length > 0 && !isAlone(line));
  const block = words.slice(words.length - n);
  const known = new Set(above.map(({ cells }) => wordAt(cells, place)));
  if (n === 0 || above.length === 0 || block.some((word) => known.has(word)) || new Set(block).size < n) return 0;
  const sums = lines.slice(lines.length - n).filter((_, i) => RULES.sums.includes(block[i]));
  if (sums.some((line) => isLess(line, above, place))) return 0;
  return sums.length === 0 && isName(wordAt(above.at(-1).cells, place)) ? 0 : n;
}

// The numbers of those last rows, { line, cells }, that are no rows of the table: totals, and texts after a blank line.
// The first of them is a row.
export function rowsBelow(rows) {
  const last = rows.map(({ line, cells }) => new Line(line, "", cells));
  const least = Math.max(1, last.length - RULES.mostBelow);
  let [at, end] = [last.length, last.length];
  while (at > least) {
    if (last[at - 1].filled.length === 0) {
      at--;
      continue;
    }
    const n = totals(last.slice(0, at));
    if (n > 0) {
      at = end = Math.max(least, at - n);
      continue;
    }
    let note = at - 1;
    while (note > least && last[note].isNote && last[note - 1].isNote) note--;
    const isBelow = last[note].isNote && last[note - 1].cells.length === 0;
    if (!isBelow || last.slice(0, note).every((line) => line.filled.length === 0 || line.isNote)) break;
    at = end = note;
  }
  if (end === last.length) return [];
  return last.slice(at).filter(({ cells }) => cells.length > 0).map(({ number }) => number);
}
