// Cells: the number in each, what is missing, what is a name, and what to say of a cell that has no number.

import { RULES, begins, patternOf, whole } from "./rules.js";

const SPACES = new Set(RULES.spaces);
const NUMBER = /^[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)$/i;
const NO_TEXT = patternOf("noText");
const isOf = Object.fromEntries(["decimalComma", "doubted", "withPoint", "grouped", "withUnit", "date", "ofDay"].map((name) => [name, whole(name)]));
const beginsAsDate = begins("dateCell");
const MOST_RANGES = 50;
const MISSING = new Set(RULES.missing);

export function strip(text) {
  let [first, last] = [0, text.length];
  while (first < last && SPACES.has(text[first])) first++;
  while (last > first && SPACES.has(text[last - 1])) last--;
  return text.slice(first, last);
}

// The number in a cell, which may be NaN or infinite; null where there is none.
export function valueOf(cell) {
  const text = strip(cell);
  if (!NUMBER.test(text)) return null;
  if (!/[in]/i.test(text)) return Number(text);
  return /nan/i.test(text) ? NaN : text[0] === "-" ? -Infinity : Infinity;
}

export function isText(cell) {
  const text = strip(cell);
  return text !== "" && valueOf(text) === null && !RULES.ofSensors.includes(text);
}
export const isMissing = (cell, value) => value === null ? MISSING.has(strip(cell).toLowerCase()) : Number.isNaN(value);
export const isWordForMissing = (cell) => MISSING.has(strip(cell)) || MISSING.has(strip(cell).toLowerCase());
export const isDate = (cell) => isOf.date(strip(cell)) || isOf.ofDay(strip(cell));
export const isGrouped = isOf.grouped;
export const isTime = (cell) => valueOf(cell) !== null || isOf.date(strip(cell));
export const isName = (cell) => isText(cell) && !isDate(cell);

// Whether a cell without a number begins as one, or has another separator: a wrong number, and no text.
export const isWrongNumber = (cell) => NO_TEXT.test(cell);

// 1-3,5 for 1, 2, 3, 5.
export function ranges(positions) {
  const known = new Set(positions);
  const first = positions.filter((p) => !known.has(p - 1));
  const last = positions.filter((p) => !known.has(p + 1));
  const parts = first.map((p, i) => p === last[i] ? `${p}` : `${p}-${last[i]}`);
  return parts.length > MOST_RANGES ? `${parts.slice(0, MOST_RANGES).join()}\u2026` : parts.join();
}

// A text as Python shows it, at most 40 characters of it: marks that cannot be seen, or turn the text, as their numbers.
export function shown(text) {
  const short = Array.from(text).slice(0, 40).join("");
  const quote = short.includes("'") && !short.includes('"') ? '"' : "'";
  const escapes = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [quote]: `\\${quote}`, " ": " " };
  const number = (mark) => {
    const code = mark.codePointAt(0).toString(16);
    return code.length < 3 ? `\\x${code.padStart(2, "0")}` : code.length < 5 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  };
  return quote + short.replace(/[\\'"\p{C}\p{Z}]/gu, (mark) => escapes[mark] ?? (/['"]/.test(mark) ? mark : number(mark))) + quote;
}

// The error message for a cell that holds no finite number: the problem, and what to do.
export function complaintOf(cell, value, row) {
  const text = strip(cell);
  if (value !== null) return `is not a finite number: ${shown(text)}; remove or fill such rows`;
  const number = text.slice(0, -1);
  if (text.endsWith("?") && (isOf.doubted(number) || isOf.withPoint(number))) {
    return `is ${shown(number)}, where others have decimal commas or points between thousands; write all numbers in one way`;
  }
  const numbers = row.flatMap((other, i) => valueOf(other) === null ? [] : [i + 1]);
  const choose = numbers.length > 0 ? `the columns of numbers are ${ranges(numbers)}` : "leave its column out";
  let hint = choose;
  if (isOf.decimalComma(text)) hint = "write a point for its comma, or separate cells by semicolons";
  else if (text.includes("\u2212")) hint = "write - for minus";
  else if (beginsAsDate(text)) hint = `a date or a time is no feature; ${choose}`;
  else if (isOf.grouped(text)) hint = "write numbers without marks between thousands";
  else if (isOf.withUnit(text)) hint = "write the number alone, and its unit into the name of the column";
  else if (numbers.length === 0) hint = "the file needs a column of numbers";
  else if (/[;\t ]/.test(text)) hint = "separate cells by the same mark in each row";
  return `is not a number: ${shown(text)}; ${hint}`;
}
