// Reads the columns that the page holds (embedding.py), for charts and for CSV files.
// A column is a list, runs of equal items, or, where text repeats, its distinct values and such a list of codes.
window.listed = function listed(column) {
  "use strict";
  if (Array.isArray(column)) return column;
  if (column.items) return column.items.flatMap((item, place) => Array(column.lengths[place]).fill(item));
  return listed(column.codes).map((code) => (code === null ? null : column.values[code]));
};
