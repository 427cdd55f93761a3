// A CSV file as columns of numbers, or a message that says what is wrong with it.

import { MOST_FEATURES, MOST_POINTS } from "./limits.js";

const isNumber = (text) => text.trim() !== "" && Number.isFinite(Number(text));

function cellsOf(line, mark) {
  const cells = [""];
  let isQuoted = false;
  for (const character of line) {
    if (character === '"') isQuoted = !isQuoted;
    else if (character === mark && !isQuoted) cells.push("");
    else cells[cells.length - 1] += character;
  }
  return cells.map((cell) => cell.trim());
}

function linesOf(text) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/).map((line, i) => ({ row: i + 1, line }));
  const full = lines.filter(({ line }) => line.trim() !== "");
  if (full.length === 0) throw new Error("The file is empty. Choose a CSV file of numbers with one point a row.");
  const times = (mark) => full[0].line.split(mark).length;
  const mark = [",", ";", "\t"].reduce((best, each) => times(each) > times(best) ? each : best);
  return full.map(({ row, line }) => ({ row, cells: cellsOf(line, mark) }));
}

// The positions of the columns of numbers, by the first row.
function numericColumns(names, { row, cells }, notes) {
  const all = names.map((_, column) => column).filter((column) => isNumber(cells[column] ?? ""));
  const others = names.filter((_, column) => !all.includes(column));
  if (all.length === 0) throw new Error(`Row ${row} has no number. The file needs a column of numbers.`);
  if (others.length > 0) notes.push(`Left out, as they are no numbers: ${others.join(", ")}.`);
  if (all.length > MOST_FEATURES) notes.push(`Of ${all.length} columns of numbers, the first ${MOST_FEATURES} are used.`);
  return all.slice(0, MOST_FEATURES);
}

// columns: names; rows: their numbers; notes: what was left out.
export function readCsv(text) {
  const lines = linesOf(text);
  const hasHeader = !lines[0].cells.some(isNumber);
  const names = lines[0].cells.map((cell, i) => hasHeader && cell ? cell : `column ${i + 1}`);
  const points = hasHeader ? lines.slice(1) : lines;
  if (points.length < 2) throw new Error(`A point is a row of numbers. The file needs 2 or more, got ${points.length}.`);
  const notes = [];
  const chosen = numericColumns(names, points[0], notes);
  if (points.length > MOST_POINTS) notes.push(`Of ${points.length} rows, the first ${MOST_POINTS} are used.`);
  const rows = points.slice(0, MOST_POINTS).map(({ row, cells }) => {
    if (cells.length !== names.length) {
      throw new Error(`Row ${row} must have ${names.length} cells as the first row has, got ${cells.length}.`);
    }
    return chosen.map((column) => {
      if (isNumber(cells[column])) return Number(cells[column]);
      const where = `Row ${row}, column ${names[column]}`;
      throw new Error(`${where}: the cell must be a number, got "${cells[column]}". Correct it, or remove the row.`);
    });
  });
  return { columns: chosen.map((column) => names[column]), rows, notes };
}
