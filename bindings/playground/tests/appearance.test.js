// What the page looks like in all windows and colors, with each panel and example.

import assert from "node:assert/strict";
import { test } from "node:test";
import axe from "axe-core";
import { examine, examineProject, inAllWindows } from "../../../.ci/browser/appearance.js";
import { checked, openExample, playground, showPanel } from "./harness.js";

const PANELS = ["Problems", "Control flow", "Liveness", "Requirements", "Statistics", "Rewrites", "Run", "Explain"];

const open = playground();

for (const example of [null, "nbody.ptx"]) {
  test(`readable in every window: ${example ?? "the first example"}`, async () => {
    const { page, problems } = await open();
    await checked(page);
    if (example) await openExample(page, example);
    await examineProject(page);
    await page.locator(".token-keyword").first().waitFor();
    const found = [];
    await inAllWindows(page, async (window) => {
      for (const name of PANELS) {
        await showPanel(page, name);
        found.push(...await examine(page, `${name}, ${window}`, axe.source));
      }
    });
    assert.deepEqual(found, []);
    assert.deepEqual(problems, []);
    await page.close();
  });
}

test("the buttons are all visible in every window", async () => {
  const { page } = await open();
  await checked(page);
  await inAllWindows(page, async (window) => {
    const { width } = page.viewportSize();
    for (const control of await page.locator("header button, header select, [role=tab]").all()) {
      const box = await control.boundingBox();
      assert(box.x >= 0 && box.x + box.width <= width, `${await control.textContent()}, ${window}`);
    }
    const tabs = await page.getByRole("tablist").evaluate((list) => list.scrollWidth - list.clientWidth);
    assert(tabs <= 0, window);
    if (width >= 1240) {
      const tops = await page.getByRole("tab").evaluateAll((all) => all.map((tab) => tab.getBoundingClientRect().top));
      assert.equal(new Set(tops).size, 1, `the tabs are in one row: ${window}`);
    }
  });
  await page.close();
});

test("keys of the graph are those of the page of ptxkit cfg, and the panel lists them", async () => {
  const { page, problems } = await open();
  await checked(page);
  await openExample(page, "nbody.ptx");
  const panel = await showPanel(page, "Control flow");
  const viewport = panel.locator(".viewport");
  const place = () => viewport.locator(".viewport-content").evaluate((content) => content.style.transform);
  await viewport.focus();
  const fitted = await (async () => (await page.keyboard.press("0"), place()))();
  await page.keyboard.press("+");
  assert.notEqual(await place(), fitted);
  await page.keyboard.press("f");
  assert.equal(await place(), fitted, "f fits");
  await page.keyboard.press("1");
  assert.match(await place(), /scale\(1\)/);
  await page.keyboard.press("0");
  assert.equal(await place(), fitted, "0 fits");
  await page.keyboard.press("?");
  assert.match(await panel.locator(".keys").innerText(), /f or 0/);
  await page.keyboard.press("Escape");
  assert(!(await panel.locator(".keys").isVisible()));
  assert.deepEqual(problems, []);
  await page.close();
});
