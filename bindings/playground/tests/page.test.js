// The page: links, files, colors, small windows, keys, failures.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import { checked, getText, openExample, playground, setText, showPanel } from "./harness.js";

const open = playground();

test("a link restores the text and the panel", async () => {
  const { page, problems } = await open();
  await checked(page);
  const text = `.version 8.0\n.target sm_80\n// ${"äöü 🦀 ".repeat(50)}\n`;
  await setText(page, text);
  await checked(page, /No problems/);
  await showPanel(page, "Requirements");
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.locator("header .said").filter({ hasText: /link/i }).waitFor();
  const address = page.url();
  assert.match(address, /#panel=requirements&text=[\w-]+$/);
  assert(address.length < 400, "the text is compressed");
  const again = await open({ fragment: new URL(address).hash });
  await checked(again.page, /No problems/);
  assert.equal(await getText(again.page), text);
  assert.equal(await again.page.getByRole("tab", { selected: true }).textContent(), "Requirements");
  assert.deepEqual([...problems, ...again.problems], []);
  // A link that is opened in the same page.
  await setText(again.page, "");
  await again.page.evaluate(() => (location.hash = ""));
  await again.page.evaluate((hash) => (location.hash = hash), new URL(address).hash);
  await again.page.waitForFunction(() => document.querySelector(".cm-content").textContent.includes(".version"));
  assert.equal(await getText(again.page), text);
  await page.close();
  await again.page.close();
});

const notText = deflateRawSync(Buffer.from([0x2e, 0xff])).toString("base64url");
for (const [what, text] of [["not compressed", "AAAA"], ["not text", notText], ["not Base64", "!"]]) {
  test(`a damaged link says so: ${what}`, async () => {
    const { page, problems } = await open({ fragment: `#panel=problems&text=${text}` });
    await page.getByRole("alert").filter({ hasText: "This link is damaged" }).waitFor();
    await checked(page, /3 errors/);
    assert.deepEqual(problems, []);
    await page.close();
  });
}

test("dark and light colors", async () => {
  const background = (page) => page.evaluate(() => getComputedStyle(document.querySelector(".cm-editor")).backgroundColor);
  const { page, problems } = await open({ colorScheme: "dark" });
  await checked(page);
  const dark = await background(page);
  assert.equal(dark, "rgb(13, 17, 23)");
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
  assert.equal(await background(page), "rgb(255, 255, 255)");
  await page.getByRole("button", { name: /dark colors/ }).click();
  assert.equal(await background(page), dark);
  await page.reload();
  await checked(page);
  assert.equal(await background(page), dark, "the choice is kept");
  assert.deepEqual(problems, []);
  await page.close();
});

/** Contrast as WCAG 2 defines it. */
function contrast(a, b) {
  const luminance = (color) => {
    const [r, g, b2] = color.match(/\d+(\.\d+)?/g).map((c) => {
      const share = Number(c) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b2;
  };
  const [low, high] = [luminance(a), luminance(b)].toSorted((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

for (const colorScheme of ["light", "dark"]) {
  test(`text is legible: ${colorScheme}`, async () => {
    const { page } = await open({ colorScheme });
    await checked(page);
    await page.locator(".token-keyword").first().waitFor();
    const found = await page.evaluate(() => {
      const names = ["text", "dim", "accent", "error", "warning", "instruction", "modifier", "type", "directive", "special", "function", "label", "number", "string", "comment"];
      const style = getComputedStyle(document.documentElement);
      const probe = document.body.appendChild(document.createElement("i"));
      const resolve = (name) => ((probe.style.color = style.getPropertyValue(`--${name}`)), getComputedStyle(probe).color);
      return { page: resolve("page"), bar: resolve("bar"), onAccent: resolve("on-accent"), accent: resolve("accent"), colors: names.map((name) => [name, resolve(name)]) };
    });
    for (const [name, color] of found.colors) for (const background of [found.page, found.bar]) assert(contrast(color, background) >= 4.5, `${name}: ${contrast(color, background)}`);
    assert(contrast(found.onAccent, found.accent) >= 4.5, "buttons");
    await page.close();
  });
}

test("a phone", async () => {
  const { page, problems } = await open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await checked(page);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, "the page does not scroll sideways");
  const box = async (selector) => page.locator(selector).boundingBox();
  const [editor, panels] = [await box(".editor"), await box(".panels")];
  assert(editor.height > 250 && panels.height > 250, "the editor and a panel are visible");
  assert(panels.y >= editor.y + editor.height - 1, "one above the other");
  for (const name of ["Control flow", "Requirements", "Rewrites", "Problems"]) {
    await page.getByRole("tab", { name }).tap();
    await page.getByRole("tabpanel", { name }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  }
  await page.getByRole("button", { name: /Make all/ }).tap();
  await checked(page, /No problems/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("keys alone: from the first button to a fix and a panel", async () => {
  const { page, problems } = await open();
  await checked(page);
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const focused = () => page.evaluate(() => {
    const { activeElement: e } = document;
    return e.getAttribute("aria-label") ?? e.textContent;
  });
  const order = [];
  for (let at = 0; at < 40 && order.at(-1) !== "Problems"; at += 1) {
    await press("Tab");
    order.push(await focused());
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    const editor = await page.evaluate(() => document.activeElement.classList.contains("cm-content"));
    assert(editor || outline !== "none", `${order.at(-1)} shows that it has the focus`);
  }
  assert.equal(order[0], "Open an example");
  assert(order.includes("PTX source"), "the editor does not keep the focus");
  assert.equal(order.at(-1), "Problems");
  await press("ArrowRight");
  assert.equal(await focused(), "Control flow");
  await press("End");
  assert.equal(await focused(), "Explain");
  await press("Home");
  assert.equal(await focused(), "Problems");
  await press("Tab");
  assert.match(await focused(), /Make all 3 fixes/);
  await press("Enter");
  await checked(page, /No problems/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("files are opened, dropped and downloaded", async () => {
  const folder = mkdtempSync(join(tmpdir(), "playground-"));
  const file = join(folder, "mine.ptx");
  const text = ".version 8.0\n.target sm_90\n// a file\n";
  writeFileSync(file, text);
  const { page, problems } = await open();
  await checked(page);
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.getByRole("button", { name: "Open…" }).click()]);
  await chooser.setFiles(file);
  await checked(page, /No problems/);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
  assert.equal(download.suggestedFilename(), "mine.ptx");
  assert.equal(await getText(page), text);
  await page.evaluate(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([".version 8.1\n.target sm_100\n"], "other.ptx"));
    const init = { dataTransfer: transfer, bubbles: true, cancelable: true };
    const target = document.querySelector(".cm-content");
    target.dispatchEvent(new DragEvent("dragover", init));
    target.dispatchEvent(new DragEvent("drop", init));
  });
  await page.locator(".cm-line", { hasText: "sm_100" }).waitFor();
  assert.equal(await getText(page), ".version 8.1\n.target sm_100\n");
  rmSync(folder, { recursive: true });
  assert.deepEqual(problems, []);
  await page.close();
});

test("every example opens", async () => {
  const { page, problems } = await open();
  await checked(page);
  const files = await page.getByLabel("Open an example").locator("option").evaluateAll((all) => all.map((o) => o.value).filter(Boolean));
  assert(files.length >= 5);
  for (const file of files.toReversed()) {
    await openExample(page, file);
    await checked(page, file === "mistakes.ptx" ? /3 errors/ : /No problems|warning/);
  }
  assert.deepEqual(problems, []);
  await page.close();
});

test("a failure to load the language server is visible, and editing works", { skip: Boolean(process.env.PLAYGROUND_URL) }, async () => {
  const { page } = await open({ prepare: (p) => p.route("**/*.wasm", (route) => route.abort()) });
  await page.getByRole("alert").filter({ hasText: "language server cannot run" }).waitFor();
  await page.getByRole("button", { name: "Reload" }).waitFor();
  await setText(page, ".version 8.0\n");
  assert.equal(await getText(page), ".version 8.0\n");
  await page.close();
});

test("the document is not sent anywhere", async () => {
  const { page, problems } = await open();
  await checked(page);
  await setText(page, ".version 8.0\n.target sm_80\n");
  await checked(page, /No problems/);
  const refused = await page.evaluate(() => fetch("https://example.org/").then(() => false, () => true));
  assert(refused, "requests of other servers are refused");
  problems.splice(0, problems.length, ...problems.filter((p) => !p.includes("example.org") && !p.includes("Content Security Policy")));
  assert.deepEqual(problems, []);
  await page.close();
});
