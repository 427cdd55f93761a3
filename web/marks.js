// The marks in numbers: the decimal one, and that between thousands. It finds what mapdpm/cli/marks.py finds.

import { strip } from "./cells.js";
import { RULES, whole } from "./rules.js";

const isWithComma = whole("withComma");
const isWithPoint = whole("withPoint");
const isDoubted = whole("doubted");
const DECIMAL = { ".": isWithPoint, ",": isWithComma };
const OTHER = { ".": ",", ",": "." };
const PATTERNS = Object.fromEntries(RULES.marks.map((mark) => {
  const [grouped, clear, small] = ["grouped", "clear", "small"].map((kind) => whole(`${kind} ${mark}`));
  return [mark, { grouped, clear, small, all: new RegExp(RULES.between[mark], "gu") }];
}));

// Whether a mark stands between thousands in the cells of rows.
function isBetween(mark, cells, rows, width) {
  const { grouped, clear, small } = PATTERNS[mark];
  if (DECIMAL[mark] && cells.some((cell) => DECIMAL[mark](cell) && !grouped(cell))) return false;
  if (cells.some(clear)) return true;
  const table = rows.slice(1).filter((row) => row.length === width);
  for (let place = 0; table.length > 0 && place < width; place++) {
    const numbers = [...new Set(table.map((row) => strip(row[place])).filter((cell) => /[0-9]/.test(cell)))];
    const high = numbers.filter(grouped);
    const low = numbers.filter((cell) => !grouped(cell) && small(cell));
    const few = Math.min(high.length, low.filter((cell) => cell !== "0").length) < RULES.fewestMarks;
    if (!few && high.length + low.length === numbers.length) return true;
  }
  return false;
}

// The decimal mark and that between thousands, null if unknown. Without commas a comma separates cells.
export function marksOf(rows, width, commas) {
  const cells = rows.flat();
  const thousands = RULES.marks.find((mark) => isBetween(mark, cells, rows, width)) ?? null;
  const isComma = (cell) => isWithComma(cell) || (thousands !== null && cell.includes(",") && PATTERNS[thousands].grouped(cell));
  return { decimal: OTHER[thousands] ?? (commas && cells.some(isComma) ? "," : "."), thousands };
}

// A cell as JavaScript reads it; a number that may be a thousand times another one ends with a "?".
function plainNumber(cell, { decimal, thousands }) {
  if (decimal === "," && isWithComma(cell)) return cell.replaceAll(",", ".");
  const marks = thousands === null ? RULES.marks.filter((mark) => mark !== decimal) : [thousands];
  for (const mark of marks) {
    const { grouped, clear, all } = PATTERNS[mark];
    if ((thousands === null ? clear : grouped)(cell)) return strip(cell).replace(all, "").replaceAll(",", ".");
  }
  return decimal === "," && thousands === null && isDoubted(cell) ? `${strip(cell)}?` : cell;
}

// Cells whose numbers have a point, and no mark else.
export const plainCells = (cells, form) => {
  return form.decimal === "." && form.thousands === null ? cells : cells.map((cell) => plainNumber(cell, form));
};
