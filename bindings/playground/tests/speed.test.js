// How long the page takes. The figures are printed; what is tested is that the measured things happen.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checked, playground } from "./harness.js";

const KEYS = 40;
/** How long Chromium loads the parts of a new window, such as the list below its address bar, in milliseconds. They take as much time as the page. */
const WINDOW = 2000;

const open = playground();

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const rounded = (values) => `${Math.round(median(values))} ms (${Math.round(Math.min(...values))} to ${Math.round(Math.max(...values))})`;

/** Records in the page when keys are pressed, when the number of problems changes, and how long the page does not react. */
function record() {
  const events = { keys: [], counts: [], blocked: [], frames: [] };
  globalThis.recorded = events;
  addEventListener("keydown", (event) => {
    const { timeStamp } = event;
    events.keys.push(timeStamp);
    requestAnimationFrame(() => setTimeout(() => events.frames.push(performance.now() - timeStamp)));
  }, { capture: true });
  new PerformanceObserver((list) => events.blocked.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: "longtask" });
  const watch = () => {
    const counts = document.querySelector("footer .counts");
    if (!counts) return requestAnimationFrame(watch);
    new MutationObserver(() => events.counts.push({ at: performance.now(), text: counts.textContent })).observe(counts, { childList: true, characterData: true, subtree: true });
    return undefined;
  };
  addEventListener("DOMContentLoaded", watch);
}

/** About 1 MB of functions. */
function large() {
  const parts = [".version 8.0\n.target sm_80\n.address_size 64\n"];
  for (let size = 0, index = 0; size < 1_000_000; index += 1) {
    const lines = [`.entry kernel${index}(.param .b64 p)\n{\n    .reg .pred %p<3>;\n    .reg .b32 %r<9>;\n    .reg .b64 %rd<3>;\n    ld.param.b64 %rd1, [p];\nLOOP:\n`];
    for (let n = 0; n < 40; n += 1) lines.push(`    add.s32 %r${(n % 7) + 1}, %r${((n + 3) % 7) + 1}, ${n};\n`);
    lines.push("    setp.lt.s32 %p1, %r1, 100;\n    @%p1 bra LOOP;\n    st.global.b32 [%rd1], %r2;\n    ret;\n}\n");
    parts.push(lines.join(""));
    size += parts.at(-1).length;
  }
  return parts.join("");
}

test("time until the first diagnostics", async () => {
  const times = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const prepare = async (page) => {
      await page.addInitScript(record);
      await page.waitForTimeout(WINDOW);
    };
    const { page, problems } = await open({ prepare });
    await checked(page, /3 errors/);
    const { first, loaded } = await page.evaluate(() => {
      const found = globalThis.recorded.counts.find(({ text }) => text === "3 errors");
      return { first: found.at, loaded: performance.getEntriesByType("navigation")[0].loadEventEnd };
    });
    times.push({ first, after: first - loaded });
    assert.deepEqual(problems, []);
    await page.context().close();
  }
  console.log(`first diagnostics: ${rounded(times.map((t) => t.after))} after load; ${rounded(times.map((t) => t.first))} after the navigation began`);
});

test("keys in a file of 1 MB", async () => {
  const folder = mkdtempSync(join(tmpdir(), "playground-"));
  const file = join(folder, "large.ptx");
  writeFileSync(file, large());
  const { page, problems } = await open({ prepare: (p) => p.addInitScript(record) });
  await checked(page);
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name: "Open…" }).click()]);
  await chooser.setFiles(file);
  await checked(page, /No problems/);
  await page.locator(".cm-content").first().focus();
  await page.keyboard.press("Control+Home");
  for (let line = 0; line < 12; line += 1) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("End");
  await page.waitForTimeout(1000);
  await page.evaluate(() => Object.values(globalThis.recorded).forEach((list) => list.splice(0)));
  // Each key makes an error or repairs it: the semicolon is removed and typed.
  for (let turn = 0; turn < KEYS; turn += 1) {
    const broken = turn % 2 === 0;
    await page.keyboard.press(broken ? "Backspace" : ";");
    await checked(page, broken ? /^1 error$/ : /No problems/);
  }
  const { keys, counts, blocked, frames } = await page.evaluate(() => globalThis.recorded);
  assert.equal(keys.length, KEYS);
  const answers = keys.map((key, index) => counts.find(({ at }) => at > key && at < (keys[index + 1] ?? Infinity))?.at - key);
  assert(answers.every((answer) => answer > 0), "each key changes the number of problems");
  console.log(`a key in a file of 1 MB: drawn after ${rounded(frames)}; diagnostics after ${rounded(answers)}; ${blocked.length} tasks of more than 50 ms`);
  rmSync(folder, { recursive: true });
  assert.deepEqual(problems, []);
  await page.close();
});
