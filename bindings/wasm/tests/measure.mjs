// node measure.mjs FILE: the time until the first diagnostics, and per keystroke in the middle of a large file. Not a test.

import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

const start = performance.now();
const { Client, memorySize } = await import("./client.mjs");
const loaded = performance.now();

const text = readFileSync(process.argv[2], "utf8");
const before = performance.now();
const client = await Client.open(text);
const opened = performance.now();

const lines = text.split("\n");
const middle = Math.floor(lines.length / 2);
const line = middle + lines.slice(middle).findIndex((l) => /^\s*[a-z]+\.[a-z0-9.]+ .*;$/.test(l));
const indent = lines[line].search(/\S/);
const times = [];
for (let i = 0; i < 200; i++) {
  const at = { line, character: indent };
  const range = i % 2 === 0 ? { start: at, end: at } : { start: at, end: { line, character: indent + 1 } };
  const began = performance.now();
  await client.change({ range, text: i % 2 === 0 ? "x" : "" });
  times.push(performance.now() - began);
}
times.sort((a, b) => a - b);
const ms = (value) => `${value.toFixed(1)} ms`;
console.log(`${(text.length / 1e6).toFixed(2)} MB, ${lines.length} lines, ${client.diagnostics.length} diagnostics`);
console.log(`module loaded in ${ms(loaded - start)}, first diagnostics ${ms(opened - before)} after the text`);
console.log(`keystroke: median ${ms(times[100])}, 99 % ${ms(times[198])}, least ${ms(times[0])}; ${(memorySize() / 1e6).toFixed(1)} MB of memory`);
client.close();
