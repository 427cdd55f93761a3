// The form of a file of separated values: separator, decimal mark and encoding, found from its first lines.

import { NOTHING, linesBeside } from "./beside.js";
import { encodingOf, sampleText } from "./bytes.js";
import { isName, ranges, shown, strip, valueOf } from "./cells.js";
import { linesOf, rowsOf } from "./lines.js";
import { marksOf } from "./marks.js";
import { RULES, begins, patternOf, whole } from "./rules.js";

const isValue = whole("value");
const isMarkup = begins("markup");
const isProtocol = whole("protocol");
const isFieldNumber = whole("fieldNumber");
const FIELD = patternOf("field", "g");

// The width of nearly all rows: a logger may say something else first.
function usualWidth(rows) {
  const counts = new Map();
  for (const { length } of rows) counts.set(length, (counts.get(length) ?? 0) + 1);
  let [width, most] = [0, 0];
  for (const [each, n] of counts) if (n > most) [width, most] = [each, n];
  return most > 0 && most >= RULES.nearlyAll * rows.length ? width : null;
}

// The separator by which lines have one width and most cells are numbers; a comma where none is better.
function separatorOf(lines) {
  let [best, most] = [RULES.separators[0], 0];
  for (const mark of RULES.separators) {
    const all = rowsOf(lines, mark);
    const width = usualWidth(all);
    if (width === null || width === 1 || (mark === " " && most > 0)) continue;  // dates have spaces, too
    const rows = all.filter((row) => row.length === width);
    const cells = (rows.length > 1 ? rows.slice(1) : rows).flat();
    const numbers = cells.filter(isValue).length;
    if (mark === " " && 2 * numbers < cells.length) continue;
    if ((1 + numbers) / cells.length > most * 1.0001) [best, most] = [mark, (1 + numbers) / cells.length];
  }
  return best;
}

// Whether there is nothing after the last separator of each row, and no name for it.
function hasEnds(rows, width) {
  const [names] = rows;
  if (width === 1 || !names.some(isName)) return false;
  if (rows.slice(1).some((row) => row.length === width && row.at(-1) !== "")) return false;
  return names.length === width - 1 || (names.length === width && names.at(-1) === "");
}

const isYear = (value) => Number.isInteger(value) && RULES.years[0] <= value && value <= RULES.years[1];

// Whether the first row has names that are years, one after the other, and the second row has other values.
function areYears([names, row]) {
  if (row === undefined || names.length !== row.length) return false;
  const places = names.flatMap((cell, place) => strip(cell) !== "" && !isName(cell) ? [place] : []);
  const above = places.map((place) => valueOf(names[place]));
  const rises = above.length > 1 && above.slice(0, -1).every((year, i) => isYear(year) && year + 1 === above[i + 1]);
  return rises && !places.every((place) => isYear(valueOf(row[place])));
}

// An Error for a text that begins as something else than a table.
export function refuseWhatIsNoTable(text) {
  const begin = text.trimStart();
  const line = begin.split("\n", 1)[0].trim();
  const isField = ([, , value]) => isFieldNumber(value) || RULES.fieldFlags.includes(value.toLowerCase());
  if (RULES.json.some((mark) => begin.startsWith(mark))) throw new Error(" holds JSON, which mapdpm stream reads; this page takes tables");
  if (line.includes("=") && isProtocol(line) && [...line.matchAll(FIELD)].some(isField)) {
    throw new Error(" holds InfluxDB line protocol, which mapdpm stream reads; this page takes tables");
  }
  if (isMarkup(begin)) throw new Error(" is a web page or XML, not a table; save it as CSV");
}

// The form of a file: delimiter, decimal, thousands, encoding, what is beside the table (as linesBeside has it), and whether each
// row ends with a separator (trailing).
export function formOf(bytes) {
  const sample = bytes.subarray(0, RULES.sample);
  const encoding = encodingOf(sample);
  const text = sampleText(sample, encoding);
  refuseWhatIsNoTable(text);
  const lines = linesOf(text);
  if (sample.length === RULES.sample) lines.pop();
  const numbered = lines.map((line, i) => [i + 1, line]).filter(([, line]) => strip(line) !== "").slice(0, RULES.lines);
  const full = numbered.map(([, line]) => line);
  const delimiter = separatorOf(full);
  const rows = rowsOf(full, delimiter);
  const width = usualWidth(rows);
  const form = { delimiter, years: areYears(rows), ...marksOf(rows, width, delimiter !== ","), encoding, ...NOTHING, trailing: false };
  if (width === null || rows.length < RULES.few) return form;
  const beside = linesBeside(numbered, delimiter, width);
  form.years = areYears(rowsOf(numbered.filter(([number]) => !beside.beside.has(number)).map(([, line]) => line), delimiter));
  const trailing = hasEnds(rows, width);
  if (trailing) beside.empty.delete(width - 1);
  return { ...form, ...beside, trailing };
}

// The names of columns: those of the first row, and what stands above them.
export function namesOf(cells, { above }) {
  return above.length === 0 ? cells : cells.map((cell, place) => strip(`${above[place]} ${cell}`));
}

// The unusual parts of a form, in words.
export function unusual({ delimiter, decimal, thousands, encoding, years, beside, upper, empty }) {
  const said = [];
  const names = { ...RULES.names, "windows-1252": RULES.names.cp1252, "utf-16le": "UTF-16", "utf-16be": "UTF-16" };
  if (delimiter !== ",") said.push(`cells separated by ${names[delimiter] ?? shown(delimiter)}`);
  if (decimal !== ".") said.push("decimals by commas");
  if (thousands !== null) said.push(`thousands by ${RULES.marksInWords[thousands]}`);
  if (encoding !== "utf-8") said.push(`text in ${names[encoding]}`);
  const none = [...beside].filter((number) => number !== upper);
  if (none.length > 0) said.push(leftOut(none));
  if (years) said.push("years as names of columns");
  if (upper > 0) said.push("names of columns in two lines");
  if (empty.size > 0) said.push(`empty column${empty.size > 1 ? "s" : ""} ${inWords([...empty].map((place) => place + 1))} left out`);
  return said;
}

const inWords = (numbers) => ranges([...numbers].sort((a, b) => a - b));

// Which lines are no rows of the table, in words.
export const leftOut = (numbers) => `line${numbers.length > 1 ? "s" : ""} ${inWords(numbers)} left out, as no row of the table`;
