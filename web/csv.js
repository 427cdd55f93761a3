// A file of separated values as a table of numbers. It is read as the command line reads it with --missing skip; where it
// cannot be, a message names the line and the column.

import { complaintOf, isDate, isMissing, isText, isWrongNumber, strip, valueOf } from "./cells.js";
import { rowsBelow } from "./beside.js";
import { refuseWhatIsNoText, textOf } from "./bytes.js";
import { formOf, leftOut, namesOf, unusual } from "./form.js";
import { Rows } from "./lines.js";
import { MOST_FEATURES, MOST_LISTED, MOST_POINTS } from "./limits.js";
import { plainCells } from "./marks.js";
import { reasonAgainst } from "./reasons.js";
import { RULES } from "./rules.js";

const LONGEST_NAME = 60;

const counted = (n, thing) => `${n.toLocaleString("en")} ${thing}${n === 1 ? "" : "s"}`;

// The rows of a text, at least one and all of one width.
class TableRows {
  constructor(text, form) {
    Object.assign(this, { rows: new Rows(text, form.delimiter), form, width: 0, held: [], isEnd: false, below: [], late: [] });
  }

  // The next row, without lines that are none, and without the blank cell after a separator at the end.
  ofTable() {
    const { beside, empty, trailing } = this.form;
    let row = this.rows.next();
    while (row !== null && beside.has(row.line)) row = this.rows.next();
    if (row === null) return null;
    const { line, cells } = row;
    const wrong = [...empty].find((place) => strip(cells[place] ?? "") !== "");
    if (wrong !== undefined) {
      throw new Error(`: line ${line}, column ${wrong + 1} has a value, but neither a name nor a value before; name the column`);
    }
    return trailing && cells.at(-1) === "" ? { line, cells: cells.slice(0, -1) } : row;
  }

  // The same without those below the table. Some are held back, since the end of the file tells what they are.
  aboveEnd() {
    while (!this.isEnd && this.held.length <= RULES.below) {
      const row = this.ofTable();
      if (row !== null) {
        this.held.push(row);
        continue;
      }
      this.isEnd = true;
      this.below = rowsBelow(this.held);
      this.held = this.held.filter(({ line }) => !this.below.includes(line));
    }
    return this.held.shift() ?? null;
  }

  // The next row; a blank one between others has blank cells.
  next() {
    if (this.late.length > 0) return this.late.shift();
    const blanks = [];
    for (let row = this.aboveEnd(); row !== null; row = this.aboveEnd()) {
      const { line, cells } = row;
      if (cells.length === 0) {
        if (this.width && blanks.length <= RULES.mostBlank) blanks.push({ line, cells: Array(this.width).fill("") });
        continue;
      }
      if (blanks.length > RULES.mostBlank) {
        throw new Error(`: line ${blanks[0].line} is blank, and so are the ${RULES.mostBlank} after it`);
      }
      this.width ||= cells.length;
      if (cells.length !== this.width) {
        throw new Error(`: line ${line} has ${cells.length} column${cells.length === 1 ? "" : "s"}, but the first row has ${this.width}`);
      }
      this.late = [...blanks, { line, cells: plainCells(cells, this.form) }];
      return this.late.shift();
    }
    if (!this.width) throw new Error(" is empty; choose a file with one point a row");
    return null;
  }
}

// A text of a file as it is shown: a page is no place for a name of a thousand letters.
const cut = (text) => text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}\u2026` : text;

// A column as it is read: its name, null in a file without names; its numbers, NaN where they are missing; and the first
// cell that is none.
class Column {
  constructor(place, name) {
    const title = name ? cut(name) : `column ${place + 1}`;
    Object.assign(this, { place, name, title, values: new Float64Array(MOST_POINTS), size: 0, missing: 0, numbers: 0,
      kind: null, wrong: null });
  }

  get isLearnable() { return this.kind === "number" && this.numbers > 0; }

  take(cell, line, row) {
    const value = valueOf(cell);
    if (isMissing(cell, value)) {
      this.missing++;
    } else {
      this.kind ??= value === null && isDate(cell) ? "time" : value !== null || isWrongNumber(cell) ? "number" : "text";
      if (Number.isFinite(value)) this.numbers++;
      else this.wrong ??= { line, complaint: complaintOf(cell, value, row) };
    }
    this.values[this.size++] = value ?? NaN;
  }
}

class Table {
  constructor(file, columns, broken, notes) {
    Object.assign(this, { file, columns, broken, notes, rows: columns[0].size });
    for (const column of columns) column.reason = reasonAgainst(column);
  }

  get learnable() { return this.columns.filter((column) => column.isLearnable); }

  // The places of the columns that are features unless one says otherwise: the first ones without a reason against them.
  get usual() {
    const without = this.learnable.filter(({ reason }) => reason === "");
    return (without.length > 0 ? without : this.learnable).slice(0, MOST_FEATURES).map(({ place }) => place);
  }

  // The rows of these columns that have a value: names; points; notes on rows that have none, or not all.
  choose(places) {
    if (places.length === 0 && this.learnable.length > 0) throw new Error("No column is chosen; tick one or more");
    const columns = places.length > 0 ? this.columns.filter(({ place }) => places.includes(place)) : this.columns;
    const wrong = columns.filter((column) => column.wrong !== null).sort((a, b) => a.wrong.line - b.wrong.line)[0];
    if (wrong !== undefined) {
      const name = wrong.name ? ` (${wrong.title})` : "";
      throw new Error(`${this.file}: line ${wrong.wrong.line}, column ${wrong.place + 1}${name} ${wrong.wrong.complaint}`);
    }
    if (this.broken !== null) throw new Error(`${this.file}${this.broken.message}`);
    const points = Array.from({ length: this.rows }, (_, i) => columns.map(({ values }) => values[i]));
    const full = points.filter((point) => !point.every(Number.isNaN));
    if (full.length === 0) throw new Error(`${this.file} has no value at all in these columns; choose others`);
    const notes = [];
    if (full.length < points.length) {
      const first = points.findIndex((point) => point.every(Number.isNaN)) + 1;
      const left = counted(points.length - full.length, "row");
      notes.push(`${left} without any value left out, the first is row ${first} of the data`);
    }
    const partial = full.filter((point) => point.some(Number.isNaN)).length;
    if (partial > 0) notes.push(`${counted(partial, "row")} with missing values learned from the values that are there`);
    return { names: columns.map(({ title }) => title), points: full, notes };
  }
}

// Read what is left. isMore: whether there are more rows than are kept; broken: the Error that ended it before its time,
// for a wrong cell of a line before is said first, if its column is chosen.
function takeRows(columns, names, rows, source) {
  const readsNumbers = () => columns.some(({ kind }) => kind !== "text");
  const isAgain = ({ cells }) => names !== null && cells.every((cell, place) => cell === names[place]) && readsNumbers();
  const again = [];
  try {
    for (;;) {
      const row = rows.shift() ?? source.next();
      const isMore = row !== null && columns[0].size === MOST_POINTS;
      if (row === null || isMore) return { isMore, again, broken: null };
      if (isAgain(row)) {
        again.push(row.line);
        continue;
      }
      for (const column of columns) column.take(row.cells[column.place], row.line, row.cells);
    }
  } catch (broken) {
    return { isMore: false, again, broken };
  }
}

function read(bytes, file) {
  refuseWhatIsNoText(bytes);
  const form = formOf(bytes);
  const source = new TableRows(textOf(bytes, form.encoding), form);
  const first = source.next();
  const second = source.next();
  const cells = namesOf(first.cells.map(strip), form);
  const isHeader = form.years || cells.some(isText);
  const listed = cells.slice(0, MOST_LISTED).map((cell, place) => new Column(place, isHeader ? cell : null));
  const columns = listed.filter(({ place }) => !form.empty.has(place));
  const rows = [...(isHeader ? [] : [first]), ...(second === null ? [] : [second])];
  const { isMore, again, broken } = takeRows(columns, isHeader ? first.cells : null, rows, source);
  const { size } = columns[0];
  if (size === 0) throw broken ?? new Error(" has a header but no rows of data");
  const notes = unusual(form);
  if (source.below.length > 0) notes.push(leftOut(source.below));
  if (again.length > 0) {
    notes.push(`the names of columns come again in line ${again[0]}${again.length > 1 ? ` and ${again.length - 1} more` : ""}: left out`);
  }
  if (isMore) notes.push(`only the first ${counted(size, "row")} are used`);
  if (cells.length > MOST_LISTED) notes.push(`only the first ${MOST_LISTED} of ${cells.length} columns can be chosen`);
  return new Table(file, columns, broken, notes);
}

// The table in the bytes of a file; an Error where they hold none.
export function readTable(bytes, file) {
  try {
    return read(bytes, file);
  } catch (error) {
    throw new Error(`${file}${error.message}`);
  }
}
