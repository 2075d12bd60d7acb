// Opens the pages of `ptxkit report --format html` in Chromium and uses them.
//
// PTXKIT is the program, CHROMIUM the browser. With SCREENSHOTS=FOLDER the screenshot for docs/report.md is written there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import axe from "axe-core";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { examine, examineProject, inAllWindows } from "./appearance.js";

const root = join(import.meta.dirname, "../..");
const program = process.env.PTXKIT ?? join(root, "target/debug/ptxkit");
const pictures = process.env.SCREENSHOTS;
const LARGEST_PICTURE = 200_000;

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
async function open(file, colorScheme = "light", options = []) {
  const path = join(folder, "report.html");
  const start = performance.now();
  execFileSync(program, ["report", file, "-o", path, ...options], { cwd: root });
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
  const shown = (await titles(page)).filter((title) => title !== "Findings" && title !== "Lost sectors");
  assert.deepEqual(shown, ["Code", "Instructions", "Loops", "Memory accesses", "Live registers", "Asynchronous operations", "Control flow"]);
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
  await page.getByRole("button", { name: "All functions" }).click();
  await page.locator("main svg a").first().focus();
  assert.match(await page.locator("#tip").textContent(), /FLOP/);
  await page.keyboard.press("Enter");
  await page.locator("dl").first().waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("the roofline of a launch", async () => {
  const launch = ["--block", "256", "--grid", "4096", "--arg", "n=4096", "--device", "H200"];
  const { page, problems } = await open("corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx", "light", launch);
  assert.deepEqual(await titles(page), ["Roofline", "Functions"]);
  const roofline = page.locator("svg[aria-label='Roofline of H200 SXM']");
  // The bandwidth and the peaks of tensor cores, 16-bit arithmetic, single and double precision.
  assert.equal(await roofline.locator(".roof").count(), 5);
  // Marks are on a roof or below it: y grows downwards.
  const end = (name) => roofline.locator(".roof").first().getAttribute(name).then(Number);
  const [x1, y1, x2, y2] = await Promise.all(["x1", "y1", "x2", "y2"].map(end));
  const marks = await roofline.locator("circle.point").evaluateAll((all) => all.map((mark) => [Number(mark.getAttribute("cx")), Number(mark.getAttribute("cy"))]));
  assert(marks.length > 5, `${marks.length} marks`);
  for (const [x, y] of marks) assert(y >= y1 + (x - x1) / (x2 - x1) * (y2 - y1) - 0.1, `${x}, ${y} is above the bandwidth`);
  await page.locator("#list a", { hasText: "tiled<8, double>" }).click();
  assert((await titles(page)).includes("Launch"));
  const bars = page.locator(".time");
  assert((await bars.count()) >= 3);
  const widths = await bars.evaluateAll((all) => all.map((bar) => bar.getBoundingClientRect().width));
  assert.deepEqual(widths, [...widths].sort((a, b) => b - a), "the longest time first");
  const faults = [];
  await inAllWindows(page, async (window) => {
    await show(page, null);
    faults.push(...await examine(page, `all functions, ${window}`, axe.source));
    await show(page, 1);
    faults.push(...await examine(page, `a function, ${window}`, axe.source));
  });
  assert.deepEqual(faults, []);
  assert.deepEqual(problems, []);
  await page.close();
});

test("source lines, PTX and machine code are linked", async () => {
  const file = "corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx";
  const counts = join(folder, "counts.json");
  const profile = { launches: [{ kernel: "_Z9pipelinedPK6__halfS1_Pfi", profile: [{ function: null, line: 2094, executions: 12345, lanes: 395040, memory: [] }] }] };
  writeFileSync(counts, JSON.stringify(profile));
  const { PTXAS, NVDISASM } = process.env;
  const machine = PTXAS && NVDISASM ? ["--ptxas", PTXAS, "--nvdisasm", NVDISASM, "--sass"] : [];
  const { page, problems } = await open(file, "light", ["--profile", counts, ...machine]);
  await page.locator("#list a", { hasText: "pipelined" }).click();
  const row = page.locator(".listing tr[data-line='2094']");
  assert.match(await row.textContent(), /12\.3 k/);
  assert.match(await row.textContent(), /matrix\.cu:\d+/);
  if (machine.length) assert((await page.locator(".listing td.sass", { hasText: "HMMA" }).count()) > 0, "machine code");
  await row.click();
  const source = await row.getAttribute("data-source");
  assert.equal(await page.locator(".listing tr.linked").count(), await page.locator(`.listing tr[data-source='${source}']`).count());
  assert.equal(await page.locator(".listing tr.selected").count(), 1);
  // The number of a line leads to the code.
  const link = page.getByRole("region", { name: "Accesses" }).locator("button.link").first();
  const line = await link.textContent();
  await link.click();
  assert.equal(await page.locator(".listing tr.selected").getAttribute("data-line"), line);
  assert(await page.locator(".listing tr.selected").isVisible());
  assert.deepEqual(problems, []);
  await page.close();
});

test("dark colors", async () => {
  const { page, problems } = await open("ptx-cli/tests/expect/report/tiles.ptx", "dark");
  const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(background, "rgb(13, 17, 23)");
  assert.deepEqual(problems, []);
  await page.close();
});

test("the screenshot of the documentation", async () => {
  const { page, problems } = await open("corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx");
  await page.setViewportSize({ width: 1240, height: 700 });
  await page.locator("#list a", { hasText: "pipelined" }).click();
  await page.locator("main dl").first().waitFor();
  await takePicture(page, "screenshot-report");
  assert.deepEqual(problems, []);
  await page.close();
});

for (const [width, scheme] of [[1240, "light"], [1920, "dark"]]) {
  test(`the screenshot of code, ${width} pixels, ${scheme}`, async () => {
    const { PTXAS, NVDISASM } = process.env;
    const machine = PTXAS && NVDISASM ? ["--ptxas", PTXAS, "--nvdisasm", NVDISASM, "--sass"] : [];
    const { page, problems } = await open("corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx", scheme, machine);
    await page.setViewportSize({ width, height: width > 1500 ? 560 : 640 });
    await page.locator("#list a", { hasText: "pipelined" }).click();
    await page.locator(".listing td.source small").nth(12).click();
    await page.locator("h2", { hasText: "Code" }).evaluate((title) => title.scrollIntoView());
    // The machine code is beside the PTX without scrolling.
    if (machine.length) assert(await page.locator(".listing td.sass").first().isVisible());
    await takePicture(page, `screenshot-report-code-${width}`);
    assert.deepEqual(problems, []);
    await page.close();
  });
}

for (const [width, scheme] of [[1240, "light"], [1920, "dark"]]) {
  test(`the screenshot of a roofline, ${width} pixels, ${scheme}`, async () => {
    const launch = ["--block", "256", "--grid", "4096", "--arg", "n=4096", "--device", "H200"];
    const { page, problems } = await open("corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx", scheme, launch);
    await page.setViewportSize({ width, height: 700 });
    if (width > 1500) await page.locator("#list a", { hasText: "tiled<8, double>" }).click();
    await page.locator("svg[aria-label='Roofline of H200 SXM']").waitFor();
    if (width > 1500) await page.locator("h2", { hasText: "Launch" }).evaluate((title) => title.scrollIntoView());
    await takePicture(page, `screenshot-roofline-${width}`);
    assert.deepEqual(problems, []);
    await page.close();
  });
}

/** Shows a function, or all of them with `null`. */
async function show(page, index) {
  await page.evaluate((hash) => { location.hash = hash; }, index === null ? "" : String(index));
  await page.locator(index === null ? "main h2:has-text('Functions')" : "main dl").first().waitFor();
}

for (const { file, functions } of [
  { file: "ptx-cli/tests/expect/report/tiles.ptx", functions: [0] },
  { file: "corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx", functions: [0, 3, 10] },
  { file: "corpus/compiled/nvcc/cub_algorithms.big.sm_80.ptx", functions: [2] },
  { file: "corpus/compiled/rust/follow_in_rows.rustc196.sm_80.ptx", functions: [1] },
]) {
  test(`readable in every window: ${file}`, async () => {
    const { page, problems } = await open(file);
    await examineProject(page);
    const found = [];
    await inAllWindows(page, async (window) => {
      await show(page, null);
      found.push(...await examine(page, `all functions, ${window}`, axe.source));
      for (const index of functions) {
        await show(page, index);
        found.push(...await examine(page, `function ${index}, ${window}`, axe.source));
      }
    });
    assert.deepEqual(found, []);
    assert.deepEqual(problems, []);
    await page.close();
  });
}

test("rows of functions differ, and have all names as a tooltip", async () => {
  for (const file of ["corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx", "corpus/compiled/nvcc/cub_algorithms.big.sm_80.ptx"]) {
    const { page } = await open(file);
    const rows = await page.locator("main td.name").evaluateAll((cells) => cells.map((cell) => [cell.textContent, cell.title]));
    assert.equal(new Set(rows.map(([text]) => text)).size, rows.length, "each name occurs once");
    for (const [text, title] of rows) assert(!text.includes("::detail::") && /(^|\n)_Z\w+$/.test(title), `${text} ${title}`);
    assert.deepEqual([...new Set(await page.locator("main td:nth-child(2)").allTextContents())], ["kernel"]);
    await page.close();
  }
});

test("the table of functions fits into a window of 1400 pixels", async () => {
  const { page } = await open("corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx");
  const hidden = await page.locator("main .tall").evaluate((box) => box.scrollWidth - box.clientWidth);
  assert(hidden <= 0, `${hidden} pixels are hidden`);
  await page.setViewportSize({ width: 800, height: 800 });
  await page.locator("main .frame.more-right").waitFor();
  await page.locator("main .tall").evaluate((box) => { box.scrollLeft = box.scrollWidth; });
  await page.locator("main .frame.more-left:not(.more-right)").waitFor();
  await page.close();
});

test("the plot has titles of its axes, names of points, and a legend", async () => {
  const { page } = await open("corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx");
  const plot = page.getByRole("group", { name: "Functions by intensity" });
  assert.deepEqual(await plot.locator(".axis-title").allTextContents(), ["FLOP per byte of global memory", "FLOP per warp"]);
  assert((await plot.locator("text.name").count()) > 0);
  assert.match(await page.locator("main .legend").first().textContent(), /function/);
  assert.match(await page.locator("main").textContent(), /functions? without floating-point operations/);
  await page.keyboard.press("?");
  assert.match(await page.locator("#keys").innerText(), /all functions/);
  await page.keyboard.press("Escape");
  assert(!(await page.locator("#keys").isVisible()));
  await page.close();
});

test("the colors of the graph leave the text of blocks legible", async () => {
  const { page } = await open("corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx");
  await show(page, 0);
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const name of await page.locator("main select option").evaluateAll((options) => options.map((o) => o.value))) {
      await page.locator("main select").selectOption(name);
      const least = await page.evaluate(() => {
        const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
        const luminance = (color) => {
          context.fillStyle = color;
          context.fillRect(0, 0, 1, 1);
          const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        return Math.min(...Array.from(document.querySelectorAll("svg.flow g"), (group) => {
          const [rect, text] = ["rect", "text"].map((tag) => luminance(getComputedStyle(group.querySelector(tag)).fill));
          return (Math.max(rect, text) + 0.05) / (Math.min(rect, text) + 0.05);
        }));
      });
      assert(least >= 4.5, `${name}, ${colorScheme}: ${least}`);
    }
  }
  await page.close();
});
