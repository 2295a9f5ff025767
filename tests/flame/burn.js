// SPDX-License-Identifier: MIT
// Burns in a compiled function.
function innerBurn(n) {
  let sum = 0;
  for (let i = 0; i < n; i++) sum = (sum + i * 7) % 1000003;
  return sum;
}

function outerBurn(ms) {
  const end = Date.now() + ms;
  let sum = 0;
  while (Date.now() < end) sum += innerBurn(100000);
  return sum;
}

process.exitCode = outerBurn(700) < 0 ? 1 : 0;
