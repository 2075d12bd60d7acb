// Opens the pages of `ptxkit report --format html` in Chromium and uses them.
//
// PTXKIT is the program, CHROMIUM the browser. With SCREENSHOTS=FOLDER the screenshot for docs/report.md is written there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const root = join(import.meta.dirname, "../..");
const program = process.env.PTXKIT ?? join(root, "target/debug/ptxkit");
const pictures = process.env.SCREENSHOTS;
const LARGEST_PICTURE = 400_000;

let browser;
let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "ptxkit-report-"));
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Makes a report, opens it, and collects what must not happen. */
async function open(file, colorScheme = "light") {
  const path = join(folder, "report.html");
  const start = performance.now();
  execFileSync(program, ["report", file, "-o", path], { cwd: root });
  const made = performance.now();
  const page = await browser.newPage({ viewport: { width: 1400, height: 950 }, colorScheme });
  const problems = [];
  page.on("console", (message) => problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) problems.push(`request: ${request.url()}`);
  });
  const opened = performance.now();
  await page.goto(pathToFileURL(path).href);
  await page.locator("h1").waitFor();
  console.log(`${file}: ${statSync(path).size} bytes, made in ${(made - start).toFixed(0)} ms, opened in ${(performance.now() - opened).toFixed(0)} ms`);
  return { page, problems };
}

const titles = (page) => page.locator("h2").allTextContents();

async function takePicture(page, name) {
  if (!pictures) return;
  const file = join(pictures, `${name}.png`);
  await page.screenshot({ path: file });
  assert(statSync(file).size < LARGEST_PICTURE, `${file} is too large`);
}

test("all functions of a large file", async () => {
  const { page, problems } = await open("corpus/compiled/nvcc/cub_algorithms.big.sm_80.ptx");
  const rows = page.locator("main tbody tr");
  const count = await page.locator("#list a").count();
  assert(count > 10);
  assert.equal(await rows.count(), count);
  await page.getByRole("button", { name: "Instructions", exact: true }).click();
  const numbers = (await page.locator("main tbody tr td:nth-child(3)").allTextContents()).map(Number);
  assert.deepEqual(numbers, [...numbers].sort((a, b) => b - a), "sorted by the number of instructions");
  await page.keyboard.press("/");
  await page.keyboard.type("sweep");
  const found = await page.locator("#list a:visible").count();
  assert(found > 0 && found < count, `${found} of ${count} functions`);
  await page.keyboard.press("Enter");
  await page.locator("dl").first().waitFor();
  assert((await titles(page)).includes("Memory accesses"));
  assert.match(page.url(), /#\d+$/);
  for (const index of [0, 1, count - 1]) {
    await page.evaluate((at) => { location.hash = String(at); }, index);
    await page.locator("dl").first().waitFor();
  }
  assert.deepEqual(problems, []);
  await page.close();
});

test("one kernel", async () => {
  const { page, problems } = await open("ptx-cli/tests/expect/report/tiles.ptx");
  // It is shown at once, as there are no others.
  const shown = (await titles(page)).filter((title) => title !== "Findings");
  assert.deepEqual(shown, ["Instructions", "Loops", "Memory accesses", "Live registers", "Asynchronous operations", "Control flow"]);
  assert((await page.locator("svg").count()) >= 5);
  const step = page.locator("svg[aria-label='Asynchronous operations'] rect[tabindex]").first();
  await step.focus();
  assert.match(await page.locator("#tip").textContent(), /line \d+/);
  await page.keyboard.press("Escape");
  assert(!(await page.locator("#tip").isVisible()));
  const fill = () => page.locator("svg.flow rect.box").first().getAttribute("fill");
  const before = await fill();
  await page.locator("main select").selectOption("pressure");
  assert.notEqual(await fill(), before, "another color");
  await page.locator("main").evaluate((main) => { main.scrollTop = 0; });
  await takePicture(page, "report");
  await page.getByRole("button", { name: "All functions" }).click();
  await page.locator("svg circle").first().focus();
  assert.match(await page.locator("#tip").textContent(), /FLOP/);
  await page.keyboard.press("Enter");
  await page.locator("dl").first().waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("dark, and narrow as a phone", async () => {
  const { page, problems } = await open("ptx-cli/tests/expect/report/tiles.ptx", "dark");
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(background, "rgb(13, 17, 23)");
  await page.setViewportSize({ width: 390, height: 800 });
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert(wide <= 390, `${wide} pixels`);
  assert.deepEqual(problems, []);
  await page.close();
});
