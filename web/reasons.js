// Why a column is no feature unless one says so: it holds text or times, or is one number, or counts rows.

import { RULES } from "./rules.js";

function median(values) {
  const sorted = Float64Array.from(values).sort();
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// Whether numbers, all different, count their rows or rise with them.
function countsRows(present) {
  const steps = present.slice(1).map((value, i) => value - present[i]);
  if (steps.every((step) => step > 0) || steps.every((step) => step < 0)) {
    const usual = median(steps);
    const same = steps.filter((step) => Math.abs(step - usual) <= 1e-6 * Math.abs(usual)).length;
    if (same >= RULES.steady * steps.length || present[0] >= RULES.told) return true;
  }
  const [low, high] = present.reduce(([least, most], value) => [Math.min(least, value), Math.max(most, value)], [Infinity, -Infinity]);
  return present.every(Number.isInteger) && high - low === present.length - 1;
}

// In words; empty where there is none. A name is null in a file without names.
export function reasonAgainst({ name, kind, numbers, values, size, wrong }) {
  if (kind === null) return "no value";
  if (kind === "time") return "dates or times";
  if (kind === "text" || numbers === 0) return "text";
  if (name === "") return "no name, like an index";
  if (wrong !== null) return "";  // a number that is written wrong is to be mended
  const present = values.subarray(0, size).filter((value) => !Number.isNaN(value));
  const distinct = new Set(present).size;
  if (distinct === 1) return `constant: ${present[0]}`;
  const word = name?.toLowerCase();
  if (distinct === present.length && present.length >= RULES.fewestRows && countsRows(present)) return "a row number or a time?";
  if (RULES.classes.includes(word) && distinct <= Math.min(RULES.mostClasses, Math.max(2, size >> 1))) return "a class?";
  return RULES.numbersOfRows.includes(word) && distinct > size >> 1 ? "a row number?" : "";
}
