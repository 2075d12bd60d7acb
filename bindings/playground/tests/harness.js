// Serves the built page from a folder of a file server, and opens it in Chromium.
//
// CHROMIUM is the browser, DIST the folder that `vite build` wrote. With PLAYGROUND_URL, a page that is already served is tested.

import assert from "node:assert/strict";
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize, resolve } from "node:path";
import { after, before } from "node:test";
import { chromium } from "playwright-core";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".ptx": "text/plain; charset=utf-8" };
const dist = resolve(process.env.DIST ?? join(import.meta.dirname, "../dist"));
/** Not the root: the page works in any folder. */
const FOLDER = "/some/folder/";

/** A file server without any other function. */
async function serve() {
  if (process.env.PLAYGROUND_URL) return { url: process.env.PLAYGROUND_URL, close: () => {} };
  assert(existsSync(join(dist, "index.html")), `${dist} has no page: run \`npm run build\``);
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://host").pathname);
    const inside = path.startsWith(FOLDER) ? path.slice(FOLDER.length) || "index.html" : "..";
    const file = join(dist, normalize(inside));
    if (!file.startsWith(dist) || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    createReadStream(file).pipe(response);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}${FOLDER}`, close: () => server.close() };
}

const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });

/** Serves the page and starts a browser for the tests of a file. Returns a function that opens the page, with the options of `openPage`. */
export function playground() {
  let server;
  let browser;
  before(async () => {
    server = await serve();
    browser = await launch();
  });
  after(async () => {
    await browser?.close();
    server?.close();
  });
  return (options) => openPage(browser, server.url, options);
}

/**
 * Opens the page. `problems` collects what must not happen: messages on the console, errors, requests of other servers.
 * `prepare` may change the browser's page before the address is opened.
 */
async function openPage(browser, url, { fragment = "", prepare, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const problems = [];
  page.on("console", (message) => problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  const allowed = (address) => address.startsWith(url) || /^(data|blob):/.test(address) || address.startsWith(new URL("/bridge/", url).href) && Boolean(process.env.PLAYGROUND_URL);
  context.on("request", (request) => {
    if (!allowed(request.url())) problems.push(`request: ${request.url()}`);
  });
  await prepare?.(page);
  await page.goto(url + fragment);
  return { page, problems };
}

/** Waits until the language server has checked the document. */
export const checked = (page, counts = /error|warning|No problems/) => page.locator("footer .counts").filter({ hasText: counts }).waitFor();

/** Replaces the document, as a reader who pastes text does. */
export async function setText(page, text) {
  await page.locator(".cm-content").first().focus();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

/** The document; what is not visible is read in parts, since the editor only has visible lines in the page. */
export async function getText(page) {
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()]);
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export const showPanel = async (page, name) => {
  await page.getByRole("tab", { name }).click();
  const panel = page.getByRole("tabpanel", { name });
  await page.waitForFunction(() => !document.querySelector("[role=tabpanel]:not([hidden])")?.hasAttribute("aria-busy"));
  return panel;
};

/** Opens an example and waits until it is checked. */
export async function openExample(page, file) {
  const before = await page.locator(".cm-content").first().textContent();
  await page.getByLabel("Open an example").selectOption(file);
  await page.waitForFunction((text) => document.querySelector(".cm-content")?.textContent !== text, before);
  await checked(page);
}

/** Puts the cursor in a line, counted from 1. */
export async function goToLine(page, line) {
  await page.locator(".cm-content").first().focus();
  await page.keyboard.press("Control+Home");
  for (let at = 1; at < line; at += 1) await page.keyboard.press("ArrowDown");
}
