// SPDX-License-Identifier: MIT
// What the page and the SVG share: how things are said and how names are searched.
'use strict';
const grouped = n => n.toLocaleString('en-GB');
function percent(part, whole) {
  const p = whole > 0 ? 100 * part / whole : 0;
  return (p === 0 || p >= 99.995 ? p.toFixed(0) : p >= 0.01 ? p.toFixed(2) : p.toPrecision(1)) + '\u00a0%';
}
// A substring, or a regular expression if it is a valid one; capital letters count if there are any.
function matcher(query) {
  const fold = query === query.toLowerCase() ? s => s.toLowerCase() : s => s;
  let regexp = null;
  try { regexp = new RegExp(query, fold('A') === 'a' ? 'iu' : 'u'); } catch (e) { /* taken literally */ }
  return name => fold(name).includes(query) || regexp !== null && regexp.test(name);
}
// Cut on code points, to a number of columns.
function cut(name, columns) {
  if (name.length <= columns) return name;
  const signs = Array.from(name.slice(0, 2 * columns + 2));
  return signs.length <= columns && 2 * columns + 2 >= name.length ? name : signs.slice(0, Math.max(columns - 1, 0)).join('') + '…';
}
