// The panels beside the editor.

import assert from "node:assert/strict";
import { test } from "node:test";
import { checked, getText, goToLine, openExample, playground, setText, showPanel } from "./harness.js";

const open = playground();

const cursorLine = async (page) => Number(/^Line (\d+)/.exec(await page.locator("footer .place").textContent())[1]);

/** Opens the page with an example and a panel. */
async function start(panel, example) {
  const { page, problems } = await open();
  await checked(page);
  if (example) await openExample(page, example);
  return { page, problems, panel: await showPanel(page, panel) };
}

test("Problems: the list, the places, a fix of one and of all", async () => {
  const { page, problems, panel } = await start("Problems");
  await panel.locator(".problem").nth(2).waitFor();
  assert.equal(await panel.locator(".problem").count(), 3);
  const second = panel.locator(".problem").nth(1);
  const line = Number(/line (\d+)/.exec(await second.locator(".place").textContent())[1]);
  await second.locator(".place").click();
  assert.equal(await cursorLine(page), line);
  assert(await page.locator(".cm-content").first().evaluate((e) => e === document.activeElement), "the editor has the focus");
  await second.getByRole("button", { name: /^Fix: / }).click();
  await checked(page, /^2 errors$/);
  assert.match(await getText(page), /mul\.rn\.f32/);
  await panel.locator(".problem").nth(1).waitFor();
  await panel.getByRole("button", { name: "Make all 2 fixes of this file" }).click();
  await checked(page, /No problems/);
  await panel.locator(".summary", { hasText: /No problems/ }).waitFor();
  assert.match(await getText(page), /cvta\.to\.global\.u64[\s\S]*st\.global\.f32 \[%rd4\], %f3;/);
  await page.locator(".cm-content").first().focus();
  await page.keyboard.press("Control+Z");
  await checked(page, /^2 errors$/);
  assert.deepEqual(problems, []);
  await page.close();
});

const SLOW = `.version 8.0
.target sm_80
.address_size 64
.entry k(.param .u64 .ptr .global .align 16 p)
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %d<4>;
    ld.param.u64 %d0, [p];
    mov.u32 %r0, %tid.x;
    mad.wide.u32 %d1, %r0, 64, %d0;
    ld.global.u32 %r1, [%d1];
    setp.lt.u32 %p, %r0, 7;
    @%p bra $L1;
    st.global.u32 [%d0], %r1;
$L1:
    ret;
}
`;

test("Problems: lints are a separate group, with a switch that is remembered", async () => {
  const { page, problems, panel } = await start("Problems");
  await setText(page, SLOW);
  await checked(page, /No problems, 1 finding of lints/);
  const lints = panel.getByRole("region", { name: "Lints" });
  assert.match(await lints.locator(".problem").textContent(), /PTX1513[\s\S]*uncoalesced/);
  await page.locator(".cm-lintRange").first().waitFor();
  await lints.locator(".place").click();
  assert.equal(await cursorLine(page), 12);
  const toggle = lints.getByRole("checkbox");
  await toggle.uncheck();
  await checked(page, /^No problems$/);
  await panel.locator(".problem").waitFor({ state: "detached" });
  await page.reload();
  await checked(page);
  await setText(page, SLOW);
  await checked(page, /^No problems$/);
  assert.equal(await toggle.isChecked(), false, "the choice is kept");
  await toggle.check();
  await checked(page, /1 finding of lints/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("Control flow: colors of divergence, live registers and lints", async () => {
  const { page, problems } = await start("Problems");
  await setText(page, SLOW);
  await checked(page, /finding of lints/);
  const panel = await showPanel(page, "Control flow");
  await panel.locator("[data-block]").first().waitFor();
  const shades = () => panel.locator("[data-block]").evaluateAll((all) => all.map((e) => e.dataset.shade));
  assert.deepEqual(await shades(), ["0", "0", "0"]);
  const choose = (name) => panel.getByLabel("Colors").selectOption(name);
  await choose("divergence");
  assert.deepEqual(await shades(), ["2", "3", "0"]);
  assert.match(await panel.locator(".legend").textContent(), /Red: only some threads/);
  await choose("lints");
  assert.deepEqual(await shades(), ["2", "0", "0"]);
  await choose("pressure");
  assert.equal((await shades())[0], "3");
  await goToLine(page, 15);
  await panel.locator(".info", { hasText: "executed by some threads of a warp" }).waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("Control flow: blocks and text are linked both ways", async () => {
  const { page, problems, panel } = await start("Control flow", "nbody.ptx");
  const blocks = panel.locator("[data-block]");
  await blocks.first().waitFor();
  const count = await blocks.count();
  assert(count >= 9, `${count} blocks`);
  await blocks.nth(2).focus();
  await page.keyboard.press("Enter");
  const label = await blocks.nth(2).getAttribute("aria-label");
  const first = Number(/lines? (\d+)/.exec(label)[1]);
  await panel.locator(".info", { hasText: label }).waitFor();
  assert.equal(await page.locator(".cm-content").first().evaluate((e) => e === document.activeElement), true);
  const selected = await page.evaluate(() => getSelection().toString());
  assert(selected.length > 0, "the text of the block is selected");
  await page.keyboard.press("ArrowLeft");
  assert.equal(await cursorLine(page), first);
  assert.equal(await panel.locator(".current").getAttribute("aria-label"), label);
  const lines = (await getText(page)).split("\n");
  await goToLine(page, lines.findLastIndex((text) => text.trim() === "ret;") + 1);
  await page.waitForFunction((old) => {
    const host = [...document.querySelectorAll(".viewport-content > div")].find((e) => e.shadowRoot);
    const now = host?.shadowRoot.querySelector(".current");
    return now && now.getAttribute("aria-label") !== old;
  }, label);
  assert.deepEqual(problems, []);
  await page.close();
});

test("Control flow: zoom, movement and a click on a block", async () => {
  const { page, problems, panel } = await start("Control flow", "nbody.ptx");
  const block = panel.locator("[data-block]").first();
  await block.waitFor();
  const width = async () => (await block.boundingBox()).width;
  const before = await width();
  await panel.getByRole("button", { name: "Zoom in" }).click();
  assert((await width()) > before * 1.2);
  await panel.locator(".viewport").hover();
  await page.mouse.wheel(0, 400);
  const { x, y } = await block.boundingBox();
  const frame = await panel.locator(".viewport").boundingBox();
  await page.mouse.move(frame.x + frame.width - 20, frame.y + frame.height - 20);
  await page.mouse.down();
  await page.mouse.move(frame.x + frame.width - 60, frame.y + frame.height - 50, { steps: 4 });
  await page.mouse.up();
  const moved = await block.boundingBox();
  assert(Math.abs(moved.x - x + 40) < 6 && Math.abs(moved.y - y + 30) < 6, "dragging moves the drawing");
  await panel.locator(".viewport").focus();
  await page.keyboard.press("0");
  await panel.locator("[data-block]").nth(1).click();
  const label = await panel.locator("[data-block]").nth(1).getAttribute("aria-label");
  await panel.locator(".info", { hasText: label }).waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("Control flow: another function, and one that changes", async () => {
  const { page, problems, panel } = await start("Control flow", "vecadd.ptx");
  const blocks = panel.locator("[data-block]");
  await blocks.first().waitFor();
  const count = await blocks.count();
  const names = await panel.getByLabel("Function").locator("option").allTextContents();
  assert(names.length >= 3);
  await panel.getByLabel("Function").selectOption({ index: 1 });
  await page.waitForFunction((old) => {
    const host = [...document.querySelectorAll(".viewport-content > div")].find((e) => e.shadowRoot);
    return host.shadowRoot.querySelectorAll("[data-block]").length !== old;
  }, count);
  await setText(page, ".version 8.0\n.target sm_80\n.entry k()\n{\n    ret;\n}\n");
  await page.waitForFunction(() => {
    const host = [...document.querySelectorAll(".viewport-content > div")].find((e) => e.shadowRoot);
    return host.shadowRoot.querySelectorAll("[data-block]").length === 1;
  });
  await setText(page, ".version 8.0\n.target sm_80\n");
  await panel.getByText("no function with a body").waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("Liveness: the curve, the peak and the registers at the cursor", async () => {
  const { page, problems } = await start("Problems");
  await page.getByRole("button", { name: /Make all/ }).click();
  await checked(page, /No problems/);
  const panel = await showPanel(page, "Liveness");
  await panel.locator(".chart .curve").waitFor();
  const [, most, line] = /Most live registers: (\d+), at line (\d+)/.exec(await panel.locator(".peak").textContent());
  assert.equal(Number(most), 9, "the loaded value, the factor, three integers and two addresses");
  assert.equal(await panel.locator(".chart .maximum").count(), 1);
  await panel.locator(".peak button").click();
  assert.equal(await cursorLine(page), Number(line));
  await panel.getByRole("heading", { name: `Live before line ${line}` }).waitFor();
  assert((await panel.locator(".registers").textContent()).includes("%f1"));
  assert.equal(await panel.locator(".chart .cursor").getAttribute("x1"), await panel.locator(".chart .maximum").getAttribute("cx"));
  await goToLine(page, 24);
  await panel.getByRole("heading", { name: "Live before line 24" }).waitFor();
  assert.deepEqual((await panel.locator(".registers li").allTextContents()).toSorted(), ["%f1", "%r1", "%r2", "%r3", "%rd2"]);
  const box = await panel.locator(".chart svg").boundingBox();
  await page.mouse.click(box.x + box.width - 12, box.y + box.height / 2);
  assert((await cursorLine(page)) > 35, "a click on the chart moves the cursor");
  assert.deepEqual(problems, []);
  await page.close();
});

test("Requirements: versions and targets, and the reasons", async () => {
  const { page, problems, panel } = await start("Requirements", "blackwell.ptx");
  const header = panel.locator("thead th");
  const targets = await header.allTextContents();
  assert(targets.includes("sm_100a") && targets.includes("sm_80"));
  const row = panel.locator("tbody tr").first();
  const cell = (target) => row.locator("td").nth(targets.indexOf(target) - 1);
  assert.match(await cell("sm_80").getAttribute("class"), /no/);
  assert.match(await cell("sm_100a").textContent(), /^\d+\.\d$/);
  const reason = panel.locator(".reasons li button").first();
  const text = await reason.textContent();
  const line = Number(/^(\d+):/.exec(text)?.[1] ?? 0);
  await reason.click();
  if (line) assert.equal(await cursorLine(page), line);
  else assert((await cursorLine(page)) > 1, "the cursor is at the instruction");
  await panel.locator("tbody tr").nth(1).getByRole("button").click();
  assert.match(await panel.locator(".reasons h3").textContent(), /^(kernel|function) /);
  assert.deepEqual(problems, []);
  await page.close();
});

test("Statistics: functions, memory accesses and loops", async () => {
  const { page, problems, panel } = await start("Statistics", "nbody.ptx");
  const table = panel.getByRole("table", { name: "Functions" });
  await table.waitFor();
  assert.match(await table.textContent(), /step\(Body\*, int, float\)/);
  await panel.locator("summary").first().click();
  assert.match(await panel.getByRole("table", { name: "Memory accesses" }).first().textContent(), /globalread/);
  const loop = panel.getByRole("table", { name: "Loops" }).getByRole("button").first();
  const line = Number(/line (\d+)/.exec(await loop.textContent())[1]);
  await loop.click();
  assert.equal(await cursorLine(page), line);
  assert.deepEqual(problems, []);
  await page.close();
});

test("Rewrites: each one is shown as a difference, or says why not", async () => {
  const { page, problems, panel } = await start("Rewrites", "vecadd.ptx");
  const select = panel.getByLabel("Rewrite");
  await select.locator("option").first().waitFor({ state: "attached" });
  const names = await select.locator("option").evaluateAll((all) => all.map((o) => o.value));
  assert(names.length >= 5, `${names}`);
  let changes = 0;
  for (const name of names) {
    await select.selectOption(name);
    await panel.locator(".result").locator(".diff, .note, .failure").first().waitFor();
    changes += await panel.locator(".diff .cm-changedLine, .diff .cm-deletedChunk").first().isVisible().catch(() => false);
  }
  assert(changes >= 3, `${changes} rewrites change the file`);
  assert.deepEqual(problems, []);
  await page.close();
});

test("Rewrites: the options are used, and the result is applied", async () => {
  const { page, problems, panel } = await start("Rewrites", "vecadd.ptx");
  const before = await getText(page);
  await panel.getByLabel("Rewrite").selectOption("strip");
  await panel.locator(".diff").waitFor();
  await panel.getByRole("button", { name: "Apply" }).click();
  await checked(page, /No problems/);
  const after = await getText(page);
  assert(after.length < before.length && !after.includes("//"), "comments are removed");
  await page.locator(".cm-content").first().focus();
  await page.keyboard.press("Control+Z");
  await page.waitForFunction((size) => document.querySelector(".cm-content").textContent.length > size, 0);
  assert.equal(await getText(page), before);
  assert.deepEqual(problems, []);
  await page.close();
});

test("Explain: the word at the cursor, a search, and what does not exist", async () => {
  const { page, problems } = await open();
  await checked(page);
  await goToLine(page, 25);
  const panel = await showPanel(page, "Explain");
  await panel.locator(".answer strong").first().waitFor();
  const field = panel.getByRole("searchbox");
  assert.equal(await field.inputValue(), "mad.lo.s32");
  await field.fill("%tid");
  await panel.locator(".answer", { hasText: "thread" }).waitFor();
  await field.fill("PTX0105");
  await panel.locator(".answer", { hasText: "PTX0105" }).waitFor();
  await field.fill("nonsense");
  await panel.getByText("PTX has no “nonsense”").waitFor();
  await panel.getByRole("button", { name: "mma", exact: true }).click();
  await panel.locator(".answer", { hasText: /matri/ }).waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});
