// Where points come from: painted, a CSV file, or the recording in the page.

import { History } from "./history.js";

const PAINTED = 10;  // both features of painted points go from 0 to here

export function paintedHistory() {
  const history = new History(["x", "y"], [0, 0], [PAINTED, PAINTED]);
  history.isSeries = false;
  return history;
}

// The view of data has a margin. A constant column gets a view, too; missing values are NaN.
function viewOf(rows, column) {
  let low = Infinity;
  let high = -Infinity;
  for (const row of rows) {
    if (row[column] < low) low = row[column];
    if (row[column] > high) high = row[column];
  }
  const margin = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  return [low - margin, high + margin];
}

function historyOf(columns, rows) {
  const views = columns.map((_, column) => viewOf(rows, column));
  const history = new History(columns, views.map(([low]) => low), views.map(([, high]) => high));
  for (const row of rows) history.append(row);
  history.hasGaps = rows.some((row) => row.some(Number.isNaN));
  return history;
}

// The history of these columns of a table, and notes on its rows.
export function tableHistory(table, places) {
  const { names, points, notes } = table.choose(places);
  return { history: historyOf(names, points), notes };
}

// The recording stands in the page: its readings as float32 in base64, and when each activity begins.
export function recordingHistory() {
  const { columns, readings, activities } = JSON.parse(document.getElementById("recording").textContent);
  const bytes = Uint8Array.from(atob(readings), (c) => c.charCodeAt(0));
  const values = new Float32Array(bytes.buffer);
  const n = columns.length;
  const history = historyOf(columns, Array.from({ length: values.length / n }, (_, i) => values.subarray(i * n, (i + 1) * n)));
  history.labels = Array.from({ length: history.size });
  for (const [first, activity] of activities) history.labels.fill(activity, first);
  return history;
}
