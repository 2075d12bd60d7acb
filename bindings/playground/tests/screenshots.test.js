// Takes the screenshots in docs/playground.md; with SCREENSHOTS=FOLDER they are written there.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { checked, goToLine, openExample, playground, showPanel } from "./harness.js";

const LARGEST = 250_000;

const open = playground();

async function take(page, name) {
  const picture = await page.screenshot();
  assert(picture.length > 20_000 && picture.length < LARGEST, `${name}: ${picture.length} bytes`);
  if (process.env.SCREENSHOTS) writeFileSync(join(process.env.SCREENSHOTS, `${name}.png`), picture);
}

test("light: problems and their fixes", async () => {
  const { page, problems } = await open({ viewport: { width: 1240, height: 700 } });
  await checked(page, /3 errors/);
  await page.locator(".token-keyword").first().waitFor();
  await goToLine(page, 34);
  await page.locator(".occurrence, .cm-activeLine").first().waitFor();
  await take(page, "playground-light");
  assert.deepEqual(problems, []);
  await page.close();
});

test("dark: a control-flow graph", async () => {
  const { page, problems } = await open({ viewport: { width: 1240, height: 700 }, colorScheme: "dark" });
  await checked(page);
  await openExample(page, "nbody.ptx");
  const panel = await showPanel(page, "Control flow");
  await panel.locator("[data-block]").nth(3).press("Enter");
  await panel.locator(".info", { hasText: "Block" }).waitFor();
  await take(page, "playground-dark");
  assert.deepEqual(problems, []);
  await page.close();
});

test("phone: register pressure", async () => {
  const { page, problems } = await open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await checked(page);
  await openExample(page, "vecadd.ptx");
  const panel = await showPanel(page, "Liveness");
  await panel.locator(".peak button").click();
  await panel.locator(".registers").waitFor();
  await take(page, "playground-phone");
  assert.deepEqual(problems, []);
  await page.close();
});
