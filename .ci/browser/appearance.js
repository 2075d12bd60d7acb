// What every page must look like in every window: nothing is cut off, what scrolls shows it, text has contrast, names are demangled.
//
// Used by the tests of this folder and by those of the playground.

import assert from "node:assert/strict";

/** The windows in which pages are examined, in pixels: a phone, a laptop, a large screen. */
export const WINDOWS = [{ width: 390, height: 844 }, { width: 1240, height: 700 }, { width: 1920, height: 1080 }];
export const COLOR_SCHEMES = ["light", "dark"];

/** Elements that are cut off or outside of the window. Runs in the browser. */
function findCutElements() {
  const problems = [];
  const describe = (element) => {
    const text = (element.getAttribute("aria-label") ?? element.textContent).trim().replace(/\s+/g, " ").slice(0, 50);
    return `<${element.localName}${element.className && typeof element.className === "string" ? ` class="${element.className}"` : ""}> ${text}`;
  };
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) problems.push(`the page is ${document.documentElement.scrollWidth} pixels wide`);
  const scrolls = (element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
  const isScrolled = (element) => {
    for (let outer = element.parentElement; outer; outer = outer.parentElement) if (scrolls(outer)) return true;
    return false;
  };
  for (const element of document.body.querySelectorAll("*")) {
    if (!element.checkVisibility({ visibilityProperty: true }) || element.closest("svg, .cm-editor, .viewport") || element.localName === "option") continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    if (!isScrolled(element) && (box.left < -1 || box.right > width + 1)) problems.push(`outside of the window: ${describe(element)}`);
    const style = getComputedStyle(element);
    const isCut = element.scrollWidth > element.clientWidth + 1 && style.overflowX !== "visible" && style.display !== "inline";
    if (!isCut) continue;
    if (!scrolls(element)) {
      if (!element.closest("[title]")) problems.push(`cut without a tooltip: ${describe(element)}`);
    } else if (!element.closest(".cm-scroller, pre, .output") && !element.parentElement.matches(".frame.more-right, .frame.more-left")) {
      problems.push(`scrolls sideways without a sign: ${describe(element)}`);
    }
  }
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const [inner, outer] = [tab.getBoundingClientRect(), tab.parentElement.getBoundingClientRect()];
    if (inner.right > outer.right + 1 || inner.left < outer.left - 1 || tab.scrollWidth > tab.clientWidth + 1) problems.push(`cut tab: ${describe(tab)}`);
  }
  return problems;
}

/** Names that are not in the source language. A line with the symbol, and PTX text, may have them. Runs in the browser. */
function findMangledNames() {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const problems = [];
  while (walker.nextNode()) {
    const { parentElement: element, nodeValue } = walker.currentNode;
    if (element.closest("script, style, .symbol, .cm-editor, #panel, .viewport")) continue;
    if (!element.closest("option") && !element.checkVisibility()) continue;
    const name = nodeValue.match(/\b_(Z[A-Z]*\d|R[A-Z])\w*/);
    if (name) problems.push(`mangled name: ${name[0]}`);
  }
  return problems;
}

/** `1 instructions`. Runs in the browser. */
function findWrongPlurals() {
  const nouns = "instructions|functions|operations|registers|loops|findings|blocks|groups|accesses|matches|files|sectors|barriers|errors|warnings|problems";
  const wrong = new RegExp(`(?<![\\d.,])1 (live )?(${nouns})\\b`);
  return [document.body.innerText, ...Array.from(document.querySelectorAll("[aria-label]"), (element) => element.getAttribute("aria-label"))]
    .map((text) => text.match(wrong))
    .filter(Boolean)
    .map((match) => `plural: ${match[0]}`);
}

/** Texts with less contrast than WCAG 2 AA, and other violations of it. `axe` is the source of axe-core, which does not know that CodeMirror's text has the focus. */
async function findViolations(page, axe) {
  await page.evaluate(axe);
  const violations = await page.evaluate(async () => {
    const options = { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"], rules: { "label-content-name-mismatch": { enabled: false } } };
    const { violations: list } = await globalThis.axe.run(document, options);
    return list.flatMap(({ id, nodes }) => nodes.filter(({ target }) => !target[0].includes(".cm-scroller")).slice(0, 5).map((node) => `${id}: ${node.target.join(" ")} ${node.any[0]?.message ?? node.failureSummary}`));
  });
  return violations;
}

/** How a page does not look as it should. `label` says which page in which state it is. */
export async function examine(page, label, axe) {
  // Sizes are observed after a frame.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const problems = [
    ...(await page.evaluate(findCutElements)),
    ...(await page.evaluate(findMangledNames)),
    ...(await page.evaluate(findWrongPlurals)),
    ...(await findViolations(page, axe)),
  ];
  return [...new Set(problems)].map((problem) => `${label}: ${problem}`);
}

/** Fails if a page does not name its version, or has no link to the project, or no icon. */
export async function examineProject(page) {
  const [version, guide] = await page.locator("footer a").evaluateAll((links) => links.slice(-2).map((link) => [link.textContent, link.href]));
  assert.match(version[0], /^ptxkit \d+\.\d+\.\d+/);
  assert.match(version[1], /^https:\/\/github\.com\/ptxkit\/ptxkit\/?$/);
  assert(guide[1].startsWith(version[1]) && guide[1].endsWith(".md"), guide[1]);
  const icon = await page.locator("link[rel=icon]").getAttribute("href");
  const size = await page.evaluate(async (source) => {
    const image = new Image();
    image.src = source;
    await image.decode();
    return image.naturalWidth;
  }, icon);
  assert(size > 0, "the icon is a picture");
}

/** Calls `visit` for each window and each color scheme, and restores neither. */
export async function inAllWindows(page, visit) {
  for (const colorScheme of COLOR_SCHEMES) {
    await page.emulateMedia({ colorScheme });
    for (const window of WINDOWS) {
      await page.setViewportSize(window);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      await visit(`${window.width} pixels, ${colorScheme}`);
    }
  }
}
