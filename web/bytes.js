// The kind of a file by its bytes: text in some encoding, or something else, which is refused in words. The messages of
// errors go on where the name of the file ends.

import { RULES, patternOf } from "./rules.js";

const UTF_8 = "utf-8";
const NO_CP1252 = [0x81, 0x8d, 0x8f, 0x90, 0x9d];  // bytes that Windows-1252 leaves out, and browsers read as controls
const BINARY = patternOf("binary");
const NOT_TEXT = [
  ["model", ' is a model file, not a CSV file of points; "Open a learner" takes it'],
  ["gzip", " is compressed; unpack it first"],
  ["zip", " is a file of Excel or ZIP, and this page reads text; save it as CSV"],
  ["oldExcel", " is a file of Excel, and this page reads text; save it as CSV"],
  ["parquet", " is a file of Parquet, and this page reads text; save it as CSV"],
];

const startsWith = (bytes, mark) => mark.every((byte, i) => bytes[i] === byte);

// The length of the character that begins at a byte, in UTF-8: 0 where none does, -1 where the bytes end before it.
function lengthAt(bytes, i) {
  const first = bytes[i];
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (let k = 1; k < length; k++) {
    if (i + k >= bytes.length) return -1;
    const [low, high] = k > 1 ? [0x80, 0xbf]
      : [{ 0xe0: 0xa0, 0xf0: 0x90 }[first] ?? 0x80, { 0xed: 0x9f, 0xf4: 0x8f }[first] ?? 0xbf];
    if (bytes[i + k] < low || bytes[i + k] > high) return 0;
  }
  return length;
}

// UTF-8 where the beginning is, or is no text at all; else UTF-16 by its mark and zeros, or Windows-1252.
export function encodingOf(sample) {
  const marks = { "utf-16le": [0xff, 0xfe], "utf-16be": [0xfe, 0xff] };
  for (const [name, mark] of Object.entries(marks)) {
    if (startsWith(sample, mark)) return sample.includes(0) ? name : UTF_8;
  }
  let [right, wrong] = [0, 0];  // characters beyond ASCII, and bytes of none
  for (let i = 0; i < sample.length;) {
    const length = lengthAt(sample, i);
    if (length < 0) break;
    if (length === 0) wrong++;
    if (length > 1) right++;
    i += Math.max(1, length);
  }
  const isBinary = BINARY.test(String.fromCharCode(...sample)) || startsWith(sample, RULES.magic.model);
  return wrong <= right || isBinary ? UTF_8 : "windows-1252";
}

// The text of a file; an Error where it is none.
export function textOf(bytes, encoding) {
  const isWrong = encoding === "windows-1252" && bytes.some((byte) => NO_CP1252.includes(byte));
  try {
    if (!isWrong) return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    // It is no text, as is said below.
  }
  const name = { "utf-8": "UTF-8", "windows-1252": "cp1252" }[encoding] ?? "utf-16";
  throw new Error(` is not a text file in ${name}; save it as CSV in UTF-8`);
}

// The text of the beginning, whatever it is.
export const sampleText = (sample, encoding) => new TextDecoder(encoding).decode(sample, { stream: true });

export function refuseWhatIsNoText(bytes) {
  for (const [name, words] of NOT_TEXT) {
    if (startsWith(bytes, RULES.magic[name])) throw new Error(words);
  }
}
