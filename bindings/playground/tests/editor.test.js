// The editor: what the language server adds to it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { checked, getText, goToLine, openExample, playground, setText } from "./harness.js";

const open = playground();

const LEGAL = `.version 8.0
.target sm_80
.address_size 64
.entry k(.param .b64 p)
{
    .reg .b32 %r<4>;
    add.s32 %r1, %r2, 7;
    sub.s32 %r3, %r1, 1;
    ret;
}
`;

/** Opens the page with a document. */
async function start(text = LEGAL) {
  const { page, problems } = await open();
  await checked(page);
  await setText(page, text);
  await checked(page, /No problems/);
  return { page, problems };
}

/** A word of the text that the language server knows. */
const word = (page, text) => page.locator(".cm-content [class^=token]").getByText(text, { exact: true }).first();

test("diagnostics follow what is typed", async () => {
  const { page, problems } = await start();
  await goToLine(page, 7);
  await page.keyboard.press("End");
  await page.keyboard.press("Backspace");
  await checked(page, /^1 error$/);
  assert.equal(await page.locator(".cm-lintRange-error").count(), 1);
  await page.keyboard.type(";");
  await checked(page, /No problems/);
  assert.equal(await page.locator(".cm-lintRange-error").count(), 0);
  assert.deepEqual(problems, []);
  await page.close();
});

test("the fix in the tooltip of a diagnostic", async () => {
  const { page, problems } = await start();
  await setText(page, LEGAL.replace("add.s32", "ad.s32"));
  await checked(page, /^1 error$/);
  await page.locator(".cm-lintRange-error").hover();
  await page.locator(".cm-tooltip .cm-diagnosticAction").first().click();
  await checked(page, /No problems/);
  assert.match(await getText(page), /add\.s32 %r1/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("F8 goes to a problem, and Ctrl+. fixes it", async () => {
  const { page, problems } = await start();
  await setText(page, LEGAL.replace("%r2, 7;", "%r2, 7"));
  await checked(page, /^1 error$/);
  await page.keyboard.press("F8");
  await page.keyboard.press("Control+.");
  await checked(page, /No problems/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("words have the colors of what they are", async () => {
  const { page, problems } = await start();
  for (const [text, kind] of [["add", "keyword"], [".reg", "macro"], [".s32", "type"], ["k", "function"], ["7", "number"]]) {
    await page.locator(`.token-${kind}`).getByText(text, { exact: true }).first().waitFor();
  }
  await page.locator(".hint", { hasText: "live" }).first().waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("hover and hints show how a warp accesses memory", async () => {
  const text = LEGAL.replace(".reg .b32 %r<4>;", ".reg .b32 %r<4>; .reg .b64 %d<4>;").replace(
    "    add.s32",
    "    ld.param.b64 %d0, [p];\n    mov.u32 %r2, %tid.x;\n    mad.wide.u32 %d1, %r2, 64, %d0;\n    ld.global.u32 %r0, [%d1];\n    add.s32",
  );
  const { page, problems } = await start(text);
  await page.locator(".hint", { hasText: "32 sectors instead of 4" }).waitFor();
  await word(page, "ld").nth(0).waitFor();
  await page.locator(".cm-line", { hasText: "ld.global" }).locator(".token-keyword").first().hover();
  const tooltip = page.locator(".cm-lsp-hover-tooltip");
  await tooltip.filter({ hasText: "64 bytes from one to the next" }).waitFor();
  await page.mouse.move(0, 0);
  await page.locator(".cm-line", { hasText: "mad.wide" }).getByText("%d1").hover();
  await tooltip.filter({ hasText: "p + 64*%tid.x" }).waitFor();
  assert.match(await tooltip.textContent(), /differs between the threads of a warp/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("hover explains an instruction", async () => {
  const { page, problems } = await start();
  await word(page, "add").hover();
  const tooltip = page.locator(".cm-lsp-hover-tooltip");
  await tooltip.waitFor();
  assert.match(await tooltip.textContent(), /Adds two/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("hover shows what the document contains as text", async () => {
  const { page, problems } = await start();
  // The comment looks like the end of the code in the Markdown of the server.
  const comment = '/*\n```\n\n<img src=y onerror="console.error(1)"><script>console.error(2)</script><b>end</b> */';
  await setText(page, `.version 8.0\n.target sm_80\n.global ${comment} .b32 x;\n`);
  await checked(page, /No problems/);
  await word(page, "x").hover();
  const tooltip = page.locator(".cm-lsp-hover-tooltip");
  await tooltip.filter({ hasText: "<b>end</b>" }).waitFor();
  assert.equal(await tooltip.locator("script, img, b").count(), 0);
  assert.deepEqual(problems, []);
  await page.close();
});

test("completion of a modifier", async () => {
  const { page, problems } = await start();
  await goToLine(page, 8);
  await page.keyboard.press("End");
  await page.keyboard.type("\nadd.s");
  const list = page.locator(".cm-tooltip-autocomplete li");
  await list.filter({ hasText: "s32" }).first().waitFor();
  await page.keyboard.type("32");
  await page.keyboard.press("Escape");
  await page.keyboard.type(" %r1, %r1, %r2;");
  await checked(page, /No problems/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("completion accepts with Enter", async () => {
  const { page, problems } = await start();
  await goToLine(page, 8);
  await page.keyboard.press("End");
  await page.keyboard.type("\nretu");
  await page.keyboard.press("Backspace");
  await page.locator(".cm-tooltip-autocomplete li[aria-selected]").waitFor();
  await page.waitForTimeout(150);
  await page.keyboard.press("Enter");
  assert.match(await getText(page), /sub\.s32 %r3, %r1, 1;\n\s*ret/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("definition, references and rename", async () => {
  const { page, problems } = await open();
  await checked(page);
  await openExample(page, "vecadd.ptx");
  const label = page.locator(".token-label").first();
  const name = await label.textContent();
  await label.click();
  await page.keyboard.press("F12");
  const line = page.locator(".cm-activeLine");
  await line.filter({ hasText: `${name}:` }).waitFor();
  await page.keyboard.press("Shift+F12");
  await page.locator(".cm-lsp-reference").first().waitFor();
  assert((await page.locator(".cm-lsp-reference").count()) >= 2);
  await page.keyboard.press("Escape");
  await line.filter({ hasText: `${name}:` }).locator(".token-label").click();
  await page.keyboard.press("F2");
  const field = page.locator(".cm-panel input");
  await field.fill("renamed");
  await field.press("Enter");
  await page.locator(".cm-line", { hasText: "renamed:" }).waitFor();
  await checked(page, /No problems/);
  const text = await getText(page);
  assert(!text.includes(`${name}:`) && text.match(/\brenamed\b/g).length >= 2);
  assert.deepEqual(problems, []);
  await page.close();
});

// The declaration of a range of registers is one of them.
test("occurrences of the name at the cursor are marked", async () => {
  const { page, problems } = await start();
  await goToLine(page, 7);
  for (let at = 0; at < 13; at += 1) await page.keyboard.press("ArrowRight");
  await page.locator(".occurrence").nth(1).waitFor();
  assert.deepEqual(await page.locator(".occurrence").allTextContents(), ["%r", "%r1", "%r1"]);
  assert.deepEqual(await page.locator(".occurrence-written").allTextContents(), ["%r", "%r1"]);
  assert.deepEqual(problems, []);
  await page.close();
});

test("formatting", async () => {
  const { page, problems } = await start();
  await setText(page, LEGAL.replace("    add.s32 %r1, %r2, 7;", "add.s32   %r1,%r2,7 ;"));
  await checked(page, /No problems/);
  await page.getByRole("button", { name: "Format" }).click();
  await page.locator("header .said", { hasText: "Formatted" }).waitFor();
  assert.match(await getText(page), /\n\s+add\.s32 +%r1, %r2, 7;\n/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("bodies of functions fold", async () => {
  const { page, problems } = await start();
  await page.locator(".cm-foldGutter span[title='Fold line']").first().waitFor();
  await page.locator(".cm-foldGutter span[title='Fold line']").first().click();
  await page.locator(".cm-foldPlaceholder").waitFor();
  assert.equal(await page.locator(".cm-line", { hasText: "add.s32" }).count(), 0);
  assert.deepEqual(problems, []);
  await page.close();
});
