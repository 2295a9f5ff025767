// SPDX-License-Identifier: MIT
// The SVG is complete without this: with it, it can be zoomed and searched.
(() => {
const svg = document.documentElement, $ = id => document.getElementById(id);
const NS = 'http://www.w3.org/2000/svg', MARGIN = 10, ROW = 17, COLUMN = 7.23;
const drawn = Number(svg.getAttribute('width')) - 2 * MARGIN, height = Number(svg.getAttribute('height'));
// Callers come before what they call.
const frames = Array.from($('frames').children, g => {
  const rect = g.querySelector('rect'), number = k => Number(rect.getAttribute(k));
  return { g, rect, text: g.querySelector('text'), name: g.querySelector('title').textContent.split('\n')[0], x: number('x') - MARGIN, w: number('width'), y: number('y') };
});
const level = f => Math.round(Math.abs(frames[0].y - f.y) / ROW);
const ys = frames.map(f => f.y), middle = ys.reduce((a, b) => Math.min(a, b)) + ys.reduce((a, b) => Math.max(a, b));
const ends = new Array(frames.length).fill(frames.length);
for (let i = 0, open = []; i < frames.length; i++) {
  while (open.length > level(frames[i])) ends[open.pop()] = i;
  open.push(i);
}
let width = drawn, zoomed = 0, query = '';

function place(f, x, w) {
  f.rect.setAttribute('x', MARGIN + x);
  f.rect.setAttribute('width', Math.max(w - (w > 3 ? 0.7 : 0), 0.3));
  const shown = w - 6 >= 3 * COLUMN ? cut(f.name, Math.floor((w - 6) / COLUMN)) : '';
  if (!shown && !f.text) return;
  if (!f.text) {
    f.text = document.createElementNS(NS, 'text');
    f.text.setAttribute('y', f.y + 12);
    f.g.append(f.text);
  }
  f.text.setAttribute('x', MARGIN + x + 3);
  f.text.textContent = shown;
}
function draw() {
  const z = frames[zoomed], scale = width / z.w;
  frames.forEach((f, i) => {
    const above = i < zoomed && ends[i] > zoomed, inside = i >= zoomed && i < ends[zoomed];
    f.g.style.display = above || inside ? '' : 'none';
    f.g.style.opacity = above ? 0.6 : '';
    if (above) place(f, 0, width); else if (inside) place(f, (f.x - z.x) * scale, f.w * scale);
  });
  $('reset').style.display = zoomed ? '' : 'none';
}
function search() {
  const test = query ? matcher(query) : () => false;
  let sum = 0, covered = 0;
  frames.forEach((f, i) => {
    const is = i > 0 && test(f.name);
    f.g.classList.toggle('match', is);
    f.g.classList.toggle('other', Boolean(query) && !is);
    if (is && i >= covered) { sum += f.w; covered = ends[i]; }
  });
  $('share').textContent = query ? percent(sum, frames[0].w) + ' match' : '';
}
function address() {
  const p = new URLSearchParams();
  if (zoomed) p.set('zoom', zoomed);
  if (query) p.set('search', query);
  try { history.replaceState(null, '', '#' + p); } catch (e) { /* not where it is embedded */ }
}
function turn() { // the root below, or above
  for (const f of frames) {
    f.y = middle - f.y;
    f.rect.setAttribute('y', f.y);
    if (f.text) f.text.setAttribute('y', f.y + 12);
  }
}
function zoom(i) { zoomed = i; draw(); address(); }
function fit() { // to the width of the window
  width = Math.max(window.innerWidth - 2 * MARGIN, 300);
  svg.setAttribute('width', width + 2 * MARGIN);
  svg.setAttribute('viewBox', `0 0 ${width + 2 * MARGIN} ${height}`);
  draw();
}
function box() {
  const host = document.createElementNS(NS, 'foreignObject'), input = document.createElementNS('http://www.w3.org/1999/xhtml', 'input');
  for (const [k, v] of [['x', MARGIN], ['y', $('tools').dataset.y], ['width', 175], ['height', 28]]) host.setAttribute(k, v);
  for (const [k, v] of [['type', 'search'], ['placeholder', 'Search: text or regexp'], ['aria-label', 'Search frames'], ['style', 'width:100%;box-sizing:border-box;font:12px system-ui,sans-serif;padding:3px 8px']]) input.setAttribute(k, v);
  input.addEventListener('input', () => { query = input.value; search(); address(); });
  host.append(input);
  svg.append(host);
  return input;
}
const input = box();
$('tools').style.display = '';
frames.forEach((f, i) => f.g.addEventListener('click', () => zoom(i)));
$('reset').addEventListener('click', () => zoom(0));
$('turn').addEventListener('click', turn);
addEventListener('resize', fit);
addEventListener('keydown', e => {
  if (e.key === 'i' && e.target !== input) turn();
  else if (e.key === 'Escape') { if (query) { query = input.value = ''; search(); address(); } else zoom(0); }
  else if (e.target !== input && (e.key === '/' || (e.ctrlKey || e.metaKey) && e.key.toLowerCase() === 'f')) { input.focus(); e.preventDefault(); }
});
const from = new URLSearchParams(location.hash.slice(1)), wanted = Number(from.get('zoom'));
if (Number.isInteger(wanted) && wanted > 0 && wanted < frames.length) zoomed = wanted;
query = input.value = from.get('search') || '';
fit();
search();
})();
