// Lines of separated values as cells, as Python's csv.reader has them; a quoted cell may span lines.

import { RULES } from "./rules.js";

const BREAKS = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

// The lines of a text, where each mark that Python takes for an end of line ends one.
export function linesOf(text) {
  const lines = text.split(BREAKS);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

const NONE = [];

// The rows of a text: the number of their first line, from 1, and their cells; blank lines have none.
export class Rows {
  constructor(text, mark) {
    Object.assign(this, { text, mark, at: 0, number: 0, feed: -1, turn: -1 });
  }

  // Where the line ends, and where the next one begins. Each of the two marks is looked for once, however rare it is.
  lineEnd() {
    const { text, at } = this;
    if (this.feed < at) this.feed = text.indexOf("\n", at) >>> 0;
    if (this.turn < at) this.turn = text.indexOf("\r", at) >>> 0;
    this.end = Math.min(this.feed, this.turn, text.length);
    this.then = Math.min(text.length, this.turn + 1 === this.feed ? this.feed + 1 : this.end + 1);
  }

  next() {
    if (this.at >= this.text.length) return null;
    const { mark } = this;
    const line = ++this.number;
    let parser = null;
    for (let [length, columns] = [0, 0];; this.number++) {
      this.lineEnd();
      const { at, end, then } = this;
      this.at = then;
      if (at === end && parser === null) return { line, cells: NONE };
      length += then - at;
      if (length > RULES.longestLine) throw new Error(`: line ${line} is longer than ${RULES.longestLine} characters`);
      const content = this.text.slice(at, end);
      const cells = content.split(mark);
      columns += cells.length - 1;
      if (columns >= RULES.mostColumns) throw new Error(`: line ${line} has more than ${RULES.mostColumns} columns`);
      const isPlain = parser === null && mark !== " " && !content.includes('"') && content.length <= RULES.longestCell;
      if (isPlain) return { line, cells };
      parser ??= new Parser(mark, () => this.number);
      parser.take(content);
      const rest = this.text.slice(end, then);
      if (!parser.isQuoted || then >= this.text.length) return { line, cells: parser.end(rest) };
      parser.add(rest);
    }
  }
}

// The states of Python's csv.reader: at the start of a cell, in one, in quotes, behind a quote in quotes.
const [START, INSIDE, QUOTED, BEHIND] = [0, 1, 2, 3];

class Parser {
  constructor(mark, line) {
    Object.assign(this, { mark, line, state: START, cells: [], cell: [], length: 0, isBegun: false });
  }
  get isQuoted() { return this.state === QUOTED; }

  add(text) {
    this.cell.push(text);
    this.length += text.length;
    if (this.length <= RULES.longestCell) return;
    throw new Error(`: line ${this.line()} is not CSV: field larger than field limit (${RULES.longestCell})`);
  }
  keep() {
    this.cells.push(this.cell.join(""));
    [this.cell, this.length, this.state] = [[], 0, START];
  }

  take(text) {
    this.isBegun ||= text !== "";
    for (let i = 0; i < text.length;) {
      const c = text[i];
      if (this.state === QUOTED) {
        const quote = text.indexOf('"', i);
        this.add(text.slice(i, quote === -1 ? text.length : quote));
        if (quote === -1) return;
        this.state = BEHIND;
        i = quote + 1;
        continue;
      }
      i++;
      if (this.state === BEHIND && c === '"') {
        this.add(c);
        this.state = QUOTED;
      } else if (this.state === START && c === '"') {
        this.state = QUOTED;
      } else if (this.state === START && c === " " && this.mark === " ") {
        continue;
      } else if (c === this.mark) {
        this.keep();
      } else {
        let last = i;
        while (last < text.length && text[last] !== this.mark) last++;
        this.add(text.slice(i - 1, last));
        this.state = INSIDE;
        i = last;
      }
    }
  }

  // The cells of the row. Quotes that never end hold all that comes.
  end(rest = "") {
    if (this.isQuoted && rest) this.add(rest);
    if (this.isBegun) this.keep();
    return this.cells;
  }
}

// The rows of lines without their ends, but for blank ones.
export function rowsOf(lines, mark) {
  const rows = [];
  for (let i = 0; i < lines.length; i++) {
    const parser = new Parser(mark, () => i + 1);
    parser.take(lines[i]);
    while (parser.isQuoted && i + 1 < lines.length) parser.take(lines[++i]);
    rows.push(parser.end());
  }
  return rows.filter((row) => row.length > 0);
}
