// Opens the pages of `ptxkit cfg --format html` in Chromium and uses them.
//
// PTXKIT is the program, CHROMIUM the browser. With SCREENSHOTS=FOLDER the screenshots for docs/control-flow.md are written there.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { chromium } from "playwright-core";
import { examine, examineProject, inAllWindows } from "./appearance.js";

const root = join(import.meta.dirname, "../..");
const program = process.env.PTXKIT ?? join(root, "target/debug/ptxkit");
const pictures = process.env.SCREENSHOTS;
const LARGEST_PICTURE = 300_000;

const graphs = [
  { name: "cfg-10", file: "corpus/compiled/nvcc/nbody.lineinfo.sm_100f.ptx", functions: "_Z4stepP4Bodyif", blocks: [9, 15], source: "nbody", zoom: 2.6, hover: 2 },
  { name: "cfg-130", file: "corpus/compiled/nvcc/math.O3.sm_100.ptx", functions: "_Z5realsPfPd", blocks: [120, 145], zoom: 6 },
  { name: "cfg-650", file: "corpus/compiled/nvcc/cub_algorithms.big.sm_80.ptx", functions: "*SelectSweepKernel*IjNS0_8Null*", blocks: [600, 700], zoom: 6 },
];

let browser;
let folder;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "ptxkit-browser-"));
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Draws functions of a file as a page, opens it, and collects what must not happen. */
async function open(file, functions, colorScheme = "light", options = []) {
  const page_file = join(folder, "page.html");
  const only = functions ? ["--function", functions] : [];
  execFileSync(program, ["cfg", file, ...only, ...options, "-o", page_file], { cwd: root });
  const page = await browser.newPage({ viewport: { width: 1300, height: 850 }, colorScheme });
  const problems = [];
  page.on("console", (message) => problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) problems.push(`request: ${request.url()}`);
  });
  await page.goto(pathToFileURL(page_file).href);
  await frame(page);
  return { page, problems };
}

/** Waits until what was asked for is drawn. */
const frame = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** The place of something of the graph in the window. */
const place = (page, find, argument) => page.evaluate(([text, value]) => {
  const { graph, view, metrics, canvas } = globalThis.viewer;
  const { x, y } = new Function("graph", "metrics", "value", `return (${text})(graph, metrics, value)`)(graph, metrics, value);
  const box = canvas.getBoundingClientRect();
  return { x: box.left + view.x + x * view.scale, y: box.top + view.y + y * view.scale };
}, [find.toString(), argument]);

const state = (page) => page.evaluate(() => {
  const { view, graph, drawn } = globalThis.viewer;
  return { ...view, width: graph.size.width, height: graph.size.height, blocks: graph.blocks.length, visible: graph.blocks.filter((b) => b.rect).length, drawn: drawn.blocks, milliseconds: drawn.milliseconds, loops: graph.loops.length };
});

/** How many different colors the picture of the graph has. */
const colors = (page) => page.evaluate(() => {
  const { canvas } = globalThis.viewer;
  const context = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let i = 0; i < data.length; i += 4) found.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return found.size;
});

async function checkZoom(page) {
  await page.locator("#graph").focus();
  await page.keyboard.press("1");
  await page.keyboard.press("0");
  await frame(page);
  const fitted = await state(page);
  await page.keyboard.press("1");
  await page.keyboard.press("f");
  await frame(page);
  const whole = await state(page);
  assert.equal(whole.scale, fitted.scale, "f and 0 do the same");
  assert.equal(whole.drawn, whole.blocks, "the whole graph is seen");
  assert(whole.width * whole.scale <= 1300 && whole.height * whole.scale <= 850);
  await page.mouse.move(400, 400);
  await page.mouse.wheel(0, -400);
  await frame(page);
  const larger = await state(page);
  assert(larger.scale > whole.scale * 1.5, "the wheel zooms in");
  const under = (s) => (400 - s.x) / s.scale;
  assert(Math.abs(under(whole) - under(larger)) < 1, "what is under the pointer stays there");
  await page.mouse.down();
  await page.mouse.move(450, 430, { steps: 3 });
  await page.mouse.up();
  await page.keyboard.press("ArrowDown");
  await frame(page);
  const moved = await state(page);
  assert(Math.abs(moved.x - larger.x - 50) < 1 && Math.abs(moved.y - larger.y - 30 + 80) < 1, "dragging and keys move");
  await page.keyboard.press("1");
  await frame(page);
  assert(Math.abs((await state(page)).scale - 1) < 1e-6);
}

async function checkSearch(page, graph) {
  const field = page.locator("#search");
  await field.fill("bra");
  const count = async () => page.locator("#matches").textContent();
  assert.match(await count(), /^1 of \d+$/);
  const total = Number((await count()).split(" ")[2]);
  assert(total > 3);
  await field.press("Enter");
  assert.equal(await count(), `2 of ${total}`);
  await field.press("Shift+Enter");
  await field.press("Shift+Enter");
  assert.equal(await count(), `${total} of ${total}`);
  await page.locator("#next").click();
  assert.equal(await count(), `1 of ${total}`);
  await frame(page);
  const { x, y } = await place(page, (g) => g.blocks.find((b) => b.id === globalThis.viewer.marks.selected).rect);
  assert(x > -2000 && x < 1300 && y > -2000 && y < 850, "the match is seen");
  if (graph.source) {
    await field.fill(graph.source);
    assert.match(await count(), /^1 of/, "source files are found");
  }
  await field.fill("no such text");
  assert.equal(await count(), "0 matches");
  await field.fill("");
}

async function checkHover(page) {
  await page.evaluate(() => globalThis.viewer.close());
  await page.evaluate(() => globalThis.viewer.start());
  await frame(page);
  const first = await place(page, (g, m) => ({ x: g.blocks[0].rect.x + 30, y: g.blocks[0].rect.y + m.padding + 2.5 * m.line_height }));
  await page.mouse.move(first.x, first.y);
  const tooltip = await page.locator("#tooltip").textContent();
  assert.match(tooltip, /register pressure: \d+ of at most \d+/);
  assert.match(tooltip, /live before \(\d+\)/);
  await page.mouse.click(first.x, first.y);
  assert(await page.locator("#panel").isVisible());
  const rows = await page.locator("#panel tr").count();
  assert.equal(rows, await page.evaluate(() => globalThis.viewer.graph.blocks[0].text.length));
  await page.keyboard.press("Escape");
  assert(!(await page.locator("#panel").isVisible()));
}

async function checkCollapsing(page) {
  await page.keyboard.press("f");
  await page.keyboard.press("1");
  const before_all = await state(page);
  const title = (g) => ({ x: g.loops[0].rect.x + 40, y: g.loops[0].rect.y + 8 });
  await page.evaluate(() => {
    const { rect } = globalThis.viewer.graph.loops[0];
    globalThis.viewer.center(rect.x + 40, rect.y + 8);
  });
  await frame(page);
  const at = await place(page, title);
  await page.mouse.click(at.x, at.y);
  await frame(page);
  const collapsed = await state(page);
  assert(collapsed.visible < before_all.visible, "blocks are hidden");
  assert(collapsed.height <= before_all.height, "space is freed");
  const after_one = await place(page, title);
  assert(Math.abs(after_one.x - at.x) < 2 && Math.abs(after_one.y - at.y) < 2, "the loop stays where it is");
  await page.mouse.click(after_one.x, after_one.y);
  assert.equal((await state(page)).visible, before_all.visible);
  await page.keyboard.press("c");
  const all = await state(page);
  assert(all.visible < before_all.visible && all.height < before_all.height);
  await page.keyboard.press("e");
  assert.equal((await state(page)).height, before_all.height);
}

async function takePicture(page, { name, zoom, hover }, colorScheme) {
  await page.emulateMedia({ colorScheme });
  await page.evaluate((factor) => {
    document.activeElement?.blur();
    globalThis.viewer.fit();
    globalThis.viewer.zoom(factor, globalThis.viewer.window.width / 2, 200);
  }, zoom);
  if (hover) {
    const { x, y } = await place(page, (g, m, id) => ({ x: g.blocks[id].rect.x + 30, y: g.blocks[id].rect.y + m.padding + 2.5 * m.line_height }), hover);
    await page.mouse.move(x, y);
  } else {
    await page.mouse.move(5, 400);
  }
  await frame(page);
  assert((await colors(page)) > 5, "the picture is not empty");
  if (!pictures || colorScheme !== "light") return;
  const file = join(pictures, `${name}.png`);
  await page.screenshot({ path: file });
  assert(statSync(file).size < LARGEST_PICTURE, `${file} is too large`);
}

for (const graph of graphs) {
  test(`${graph.name}: ${graph.file}`, async () => {
    const { page, problems } = await open(graph.file, graph.functions);
    const { blocks } = await state(page);
    assert(blocks >= graph.blocks[0] && blocks <= graph.blocks[1], `${blocks} blocks`);
    assert((await colors(page)) > 5, "the picture is not empty");
    await checkZoom(page);
    await checkSearch(page, graph);
    await checkHover(page);
    await checkCollapsing(page);
    await takePicture(page, graph, "dark");
    await takePicture(page, graph, "light");
    assert.deepEqual(problems, []);
    await page.close();
  });
}

/** A function with `count` blocks: loops of ten diamonds, and exits to a common end. */
function large(count) {
  const lines = [".version 8.0", ".target sm_80", ".address_size 64", ".entry k()", "{", ".reg .pred %p<3>;", ".reg .b32 %r<4>;"];
  for (let block = 0; block < count / 2; block += 1) {
    if (block % 10 === 0) lines.push(`LOOP${block}:`);
    lines.push(`add.s32 %r1, %r1, ${block};`, `@%p1 bra NEXT${block};`, "mul.lo.s32 %r2, %r1, %r1;", `NEXT${block}:`);
    if (block % 10 === 9) lines.push(`@%p2 bra LOOP${block - 9};`);
    if (block % 100 === 99) lines.push("@!%p1 bra END;");
  }
  return [...lines, "END:", "ret;", "}"].join("\n");
}

test("ten thousand blocks stay usable", async () => {
  const file = join(folder, "large.ptx");
  writeFileSync(file, large(10_000));
  const { page, problems } = await open(file);
  const { blocks, drawn } = await state(page);
  assert(blocks >= 10_000, `${blocks} blocks`);
  assert(drawn < 200, "only what is seen is drawn");
  await checkZoom(page);
  const began = Date.now();
  for (let turn = 0; turn < 10; turn += 1) {
    await page.mouse.wheel(0, turn % 2 ? 300 : -300);
    await frame(page);
  }
  const { milliseconds } = await state(page);
  console.log(`10,000 blocks: ${(Date.now() - began) / 10} ms for a turn of the wheel, ${milliseconds} ms for a frame`);
  assert(milliseconds < 500);
  await page.locator("#search").fill("9990");
  assert.match(await page.locator("#matches").textContent(), /^1 of/);
  await page.locator("#graph").focus();
  await page.keyboard.press("c");
  const all = await state(page);
  assert(all.visible < blocks / 5);
  assert.deepEqual(problems, []);
  await page.close();
});

test("several functions are listed", async () => {
  const { page, problems } = await open("corpus/compiled/nvcc/sort.O3.sm_75.ptx", null, "dark");
  const options = await page.locator("#function option").evaluateAll((all) => all.map((option) => [option.textContent, option.title]));
  assert(options.length > 3);
  assert.equal(options[0][0], "bitonic_block<int, 512> (278 blocks)");
  assert.equal(options[0][1], "void bitonic_block<int, 512>(int*)\n_Z13bitonic_blockIiLi512EEvPT_");
  assert.equal(new Set(options.map(([text]) => text)).size, options.length, "each name occurs once");
  assert.equal(await page.title(), "bitonic_block<int, 512>");
  await page.locator("#function").selectOption("1");
  assert.equal(await page.title(), "bitonic_block<double, 256>");
  assert.deepEqual(problems, []);
  await page.close();
});

test("machine code of instructions", { skip: !(process.env.PTXAS && process.env.NVDISASM) && "PTXAS and NVDISASM name the programs" }, async () => {
  const options = ["--ptxas", process.env.PTXAS, "--nvdisasm", process.env.NVDISASM];
  const { page, problems } = await open("corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx", "*pipelined*", "light", options);
  const index = await page.evaluate(() => {
    const { graph, panel } = globalThis.viewer;
    const isProduct = (text) => text.startsWith("mma.sync");
    const block = graph.blocks.find((b) => b.text.some(isProduct));
    panel.show(graph, block);
    return block.text.findIndex(isProduct);
  });
  const row = page.locator("#panel tr").nth(index);
  assert.match(await row.locator(".sass").textContent(), /HMMA/);
  await row.hover();
  assert.match(await page.locator("#tooltip").textContent(), /HMMA/);
  // Each machine instruction is shown once.
  const addresses = await page.evaluate(() => globalThis.viewer.graph.blocks.flatMap((b) => b.insts.flatMap(({ sass = [] }) => sass.map((text) => text.split(" ")[0]))));
  assert(addresses.length > 100 && new Set(addresses).size === addresses.length, `${addresses.length} machine instructions`);
  const faults = [];
  await inAllWindows(page, async (window) => faults.push(...await examine(page, window, axe.source)));
  assert.deepEqual(faults, []);
  assert.deepEqual(problems, []);
  await page.close();
});

test("readable in every window", async () => {
  const { page, problems } = await open("corpus/compiled/nvcc/matrix.lineinfo.sm_100f.ptx");
  await examineProject(page);
  const found = [];
  await inAllWindows(page, async (window) => {
    found.push(...await examine(page, window, axe.source));
    await page.keyboard.press("?");
    found.push(...await examine(page, `keys, ${window}`, axe.source));
    assert.match(await page.locator("#keys").innerText(), /f or 0/);
    await page.keyboard.press("Escape");
    await page.evaluate(() => globalThis.viewer.panel.show(globalThis.viewer.graph, globalThis.viewer.graph.blocks[0], new Set([1])));
    found.push(...await examine(page, `all instructions of a block, ${window}`, axe.source));
    await page.keyboard.press("Escape");
  });
  assert.deepEqual(found, []);
  assert.deepEqual(problems, []);
  await page.close();
});

test("text on blocks has contrast", async () => {
  const { page } = await open("corpus/compiled/nvcc/sort.O3.sm_75.ptx");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const colors = await page.evaluate(() => {
      const style = getComputedStyle(document.documentElement);
      return Object.fromEntries(["page", "bar", "depth0", "depth1", "depth2", "depth3", "unreachable", "match", "text", "dim"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    });
    const luminance = (color) => {
      const [r, g, b] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    for (const text of ["text", "dim"]) {
      for (const box of ["page", "bar", "depth0", "depth1", "depth2", "depth3", "unreachable", "match"]) {
        const [low, high] = [luminance(colors[text]), luminance(colors[box])].sort((a, b) => a - b);
        const contrast = (high + 0.05) / (low + 0.05);
        assert(contrast >= 4.5, `${text} on ${box}, ${colorScheme}: ${contrast}`);
      }
    }
  }
  await page.close();
});

test("two fingers zoom", async () => {
  const { page } = await open("corpus/compiled/nvcc/sort.O3.sm_75.ptx");
  const before = await state(page);
  await page.evaluate(() => {
    const { canvas } = globalThis.viewer;
    canvas.setPointerCapture = () => {};
    const send = (type, pointerId, clientX) => canvas.dispatchEvent(new PointerEvent(type, { pointerId, pointerType: "touch", clientX, clientY: 300, bubbles: true }));
    send("pointerdown", 11, 300);
    send("pointerdown", 12, 400);
    send("pointermove", 12, 500);
    send("pointerup", 12, 500);
    send("pointerup", 11, 300);
  });
  await frame(page);
  assert(Math.abs((await state(page)).scale / before.scale - 2) < 0.01);
  assert(!(await page.locator("#panel").isVisible()), "fingers do not click");
  await page.close();
});
