// The panel that runs kernels.

import assert from "node:assert/strict";
import { test } from "node:test";
import { checked, playground, setText, showPanel } from "./harness.js";

const open = playground();

const HEADER = ".version 8.5\n.target sm_90\n.address_size 64\n";
const SCALE = `${HEADER}.visible .entry scale(.param .u64 data, .param .f32 factor)
{
    .reg .b32 %r<2>; .reg .f32 %f<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    ld.param.f32 %f1, [factor];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f2, [%rd1];
    mul.f32 %f2, %f2, %f1;
    st.global.f32 [%rd1], %f2;
    ret;
}
`;
const PRINT = `${HEADER}.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .b8 text[7] = {111, 107, 61, 37, 117, 10, 0};
.visible .entry tell(.param .u32 n)
{
    .local .align 8 .b8 arguments[8];
    .reg .b32 %r<2>; .reg .b64 %a<3>;
    ld.param.u32 %r1, [n];
    st.local.u32 [arguments], %r1;
    mov.b64 %a1, arguments;
    cvta.local.u64 %a1, %a1;
    cvta.global.u64 %a2, text;
    { .param .b64 f; .param .b64 a; .param .b32 r;
    st.param.b64 [f], %a2; st.param.b64 [a], %a1;
    call.uni (r), vprintf, (f, a); }
    ret;
}
`;
/** Counts to 2^62: it does not end in the time of a test, and every iteration changes the register that its end depends on, so this is not a deadlock. */
const LONG = `${HEADER}.visible .entry count()
{
    .reg .pred %p<2>;
    .reg .b64 %rd<2>;
    mov.u64 %rd1, 0;
$L1:
    add.u64 %rd1, %rd1, 1;
    setp.lt.u64 %p1, %rd1, 4611686018427387904;
    @%p1 bra $L1;
    ret;
}
`;

/** A loop that nothing can end. */
const ENDLESS = `${HEADER}.visible .entry spin()
{
$L1:
    bra $L1;
}
`;

/** Opens the panel with a document. */
async function start(text) {
  const { page, problems } = await open();
  await checked(page);
  await setText(page, text);
  await checked(page, /No problems/);
  const panel = await showPanel(page, "Run");
  await panel.getByLabel("Grid").waitFor();
  return { page, problems, panel };
}

const run = (panel) => panel.getByRole("button", { name: "Run", exact: true }).click();
const summary = (panel, text) => panel.locator(".run-summary", { hasText: text }).waitFor();

test("Run: buffers, values, the curve and the profile", async () => {
  const { page, problems, panel } = await start(SCALE);
  await panel.getByLabel("Value of factor").fill("2.5");
  await panel.getByLabel("profile").check();
  await run(panel);
  await summary(panel, "Done after 9 steps of warps.");
  const values = await panel.getByLabel("Values of data", { exact: true }).getByRole("listitem").allTextContents();
  assert.equal(values.length, 32);
  assert.deepEqual(values.slice(0, 4), ["0", "2.5", "5", "7.5"]);
  assert.match(await panel.locator(".buffer summary").textContent(), /^data: 32 elements of type f32, 31 changed$/);
  assert.equal(await panel.getByRole("img", { name: "Values of data from 0 to 77.5" }).count(), 1);
  const rows = panel.getByRole("table", { name: "Profile" }).locator("tbody tr");
  assert.equal(await rows.count(), 9);
  assert.match(await rows.nth(5).textContent(), /^line 12132\.0128ld\.global\.f32 %f2, \[%rd1\];$/);
  await rows.nth(5).getByRole("button").click();
  assert.match(await page.locator("footer .place").textContent(), /^Line 12,/);
  // Typed values, fewer than threads: a checker finds the accesses beyond them.
  await panel.getByLabel("Contents of data").selectOption("values");
  await panel.getByLabel("Values of data", { exact: true }).first().fill("4, -1");
  await panel.getByLabel("Elements of data").fill("4");
  await panel.getByLabel("memcheck").check();
  await run(panel);
  await summary(panel, "2 findings");
  const found = panel.getByLabel("Errors").getByRole("listitem");
  assert.match(await found.first().textContent(), /PTX1401.*line 12/);
  const few = await panel.locator("ol.values li").allTextContents();
  assert.deepEqual(few, ["10", "-2.5", "10", "-2.5"]);
  assert.deepEqual(problems, []);
  await page.close();
});

test("Run: what a kernel prints, and arguments that are wrong", async () => {
  const { page, problems, panel } = await start(PRINT);
  await panel.getByLabel("Block").fill("2");
  await run(panel);
  await summary(panel, "Done");
  assert.equal(await panel.getByLabel("Output").textContent(), "ok=32\nok=32\n");
  await panel.getByLabel("Value of n").fill("many");
  await run(panel);
  await panel.getByRole("alert").filter({ hasText: "`many` is not an integer" }).waitFor();
  await panel.getByLabel("Grid").fill("1,1,1,1");
  await run(panel);
  await panel.getByRole("alert").filter({ hasText: "Grid: expected one to three sizes" }).waitFor();
  assert.deepEqual(problems, []);
  await page.close();
});

test("Run: a loop that nothing can end is a deadlock", async () => {
  const { page, problems, panel } = await start(ENDLESS);
  await run(panel);
  await summary(panel, "The launch failed.");
  assert.match(await panel.getByLabel("Errors").textContent(), /PTX1304/);
  assert.deepEqual(problems, []);
  await page.close();
});

test("Run: a kernel that takes too long is canceled, or comes to its limit", async () => {
  const { page, problems, panel } = await start(LONG);
  await panel.getByLabel("Most steps").fill("1000000000000");
  await run(panel);
  await panel.getByText("Running…").waitFor();
  // The page and the language server answer meanwhile.
  const explain = await showPanel(page, "Explain");
  assert(await explain.isVisible());
  await showPanel(page, "Run");
  await panel.getByRole("button", { name: "Cancel" }).click();
  await panel.getByRole("alert").filter({ hasText: "The launch was canceled." }).waitFor();
  await panel.getByLabel("Most steps").fill("100000");
  await run(panel);
  await summary(panel, "The launch failed.");
  assert.match(await panel.getByLabel("Errors").textContent(), /PTX1306|limit/);
  assert.deepEqual(problems, []);
  await page.close();
});
