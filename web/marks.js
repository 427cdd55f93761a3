// The marks in numbers: the decimal one, and that between thousands. It finds what mapdpm/cli/marks.py finds.

import { strip } from "./cells.js";
import { RULES, whole } from "./rules.js";

const isWithComma = whole("withComma");
const isWithPoint = whole("withPoint");
const isDoubted = whole("doubted");
const DECIMAL = { ".": isWithPoint, ",": isWithComma };
const OTHER = { ".": ",", ",": "." };
const PATTERNS = Object.fromEntries(RULES.marks.map((mark) => {
  const found = ["grouped", "clear", "twice", "small"].map((kind) => [kind, whole(`${kind} ${mark}`)]);
  return [mark, { ...Object.fromEntries(found), all: new RegExp(RULES.between[mark], "gu") }];
}));

// Whether a mark stands between thousands in the cells of a table of columns.
function isBetween(mark, cells, columns, commas) {
  const { grouped, clear, twice, small } = PATTERNS[mark];
  const isDecimal = (other) => cells.some((cell) => DECIMAL[other](cell) && !PATTERNS[other].grouped(cell));
  if (mark in OTHER && isDecimal(mark)) return false;
  if (cells.some(clear)) return true;
  if (mark === "." && !commas) return false;  // decimals, as in most files
  const fewest = !(mark in OTHER) || isDecimal(OTHER[mark]) ? 1 : RULES.highMarks;
  return columns.some((column) => {
    const numbers = [...new Set(column.map(strip).filter((cell) => /[0-9]/.test(cell)))];
    const high = numbers.filter(grouped);
    const low = numbers.filter((cell) => !grouped(cell) && small(cell));
    const several = high.filter(twice).length;
    const varies = several > 0 && several < numbers.length;
    const enough = high.length >= fewest && (fewest === 1 || low.filter((cell) => cell !== "0").length >= RULES.lowMarks);
    return high.length > 0 && high.length + low.length === numbers.length && (varies || enough);
  });
}

// The decimal mark and that between thousands, null if unknown. Without commas a comma separates cells.
export function marksOf(rows, width, commas) {
  const cells = rows.flat();
  const table = rows.slice(1).filter((row) => row.length === width);
  const columns = table.length > 0 ? table[0].map((_, place) => table.map((row) => row[place])) : [];
  const thousands = RULES.marks.find((mark) => isBetween(mark, cells, columns, commas)) ?? null;
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
  const isWrong = thousands === "." && isWithPoint(cell);
  return isWrong || (decimal === "," && thousands === null && isDoubted(cell)) ? `${strip(cell)}?` : cell;
}

// Cells whose numbers have a point, and no mark else.
export const plainCells = (cells, form) => {
  return form.decimal === "." && form.thousands === null ? cells : cells.map((cell) => plainNumber(cell, form));
};
