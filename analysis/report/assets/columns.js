// Reads the columns that the page holds (embedding.py), for charts and for CSV files.
// window.unpacked: the value of a script element with JSON, a promise if it is compressed.
window.unpacked = function unpacked(script) {
  "use strict";
  const value = JSON.parse(script.textContent);
  if (!value.gzip) return value;
  const bytes = Uint8Array.from(atob(value.gzip), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
};

// A column is a list, runs of equal items, or, where text repeats, its distinct values and such a list of codes.
window.listed = function listed(column) {
  "use strict";
  if (Array.isArray(column)) return column;
  if (column.items) return column.items.flatMap((item, place) => Array(column.lengths[place]).fill(item));
  return listed(column.codes).map((code) => (code === null ? null : column.values[code]));
};
