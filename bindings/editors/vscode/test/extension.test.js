// The extension as it is packaged, with an imitation of the editor.
const test = require("node:test");
const assert = require("node:assert");
const Module = require("node:module");
const path = require("node:path");
const { functionAt } = require("../src/function-at");
const { problem, run } = require("../src/program");

const program = process.env.PTXKIT ?? path.join(__dirname, "../../../../target/debug/ptxkit");
const kernel = `.version 8.0
.target sm_80
.func (.param .b32 r) helper(.param .b32 a)
{
    ret;
}
.visible .entry
    kernel(.param .u64 data)
{
    bra done;
done:
    ret;
}
.weak .func .attribute(.unified(1, 2)) last() { ret; }`;

test("the function at each line", () => {
  const names = kernel.split("\n").map((_, line) => functionAt(kernel, line));
  const expected = [undefined, undefined, "helper", "helper", "helper", "helper", ...Array(7).fill("kernel"), "last"];
  assert.deepStrictEqual(names, expected);
  assert.strictEqual(functionAt(kernel, 1000), "last");
  assert.strictEqual(functionAt("", 0), undefined);
});

test("why a program cannot be used", async () => {
  assert.strictEqual(await problem(program), undefined);
  assert.match(await problem("/no/such/ptxkit"), /was not found/);
  assert.match(await problem(__filename), /cannot be executed/);
  assert.match(await problem("false"), /has no language server/);
});

/** An object whose properties are all classes, functions and objects of the same kind. */
function anything() {
  const target = function () {};
  return new Proxy(target, { get: (_, name) => (name === "prototype" ? target.prototype : anything()), apply: () => anything() });
}

/** Loads the packaged extension without a program, and calls `use` with what it registered and showed. */
async function withEditor(use) {
  const seen = { program: "/no/such/ptxkit", commands: new Map(), errors: [], messages: [], pages: [] };
  const register = (name, run) => (seen.commands.set(name, run), { dispose() {} });
  const parts = {
    commands: { registerCommand: register, registerTextEditorCommand: register },
    workspace: {
      getConfiguration: () => ({ get: () => seen.program }),
      onDidChangeConfiguration: () => ({ dispose() {} }),
    },
    window: {
      showErrorMessage: async (text) => void seen.errors.push(text),
      showInformationMessage: async (text) => void seen.messages.push(text),
      createWebviewPanel: (_, title) => {
        const page = { title, webview: { html: "" } };
        seen.pages.push(page);
        return page;
      },
    },
    ViewColumn: { Beside: -2 },
  };
  const editor = new Proxy({}, { get: (_, name) => parts[name] ?? anything() });
  const load = Module._load;
  Module._load = (name, ...rest) => (name === "vscode" ? editor : load(name, ...rest));
  const file = require.resolve("../dist/extension.js");
  try {
    delete require.cache[file];
    const extension = require(file);
    await extension.activate({ subscriptions: [] });
    await use(seen);
    await extension.deactivate();
  } finally {
    Module._load = load;
  }
}

const at = (line) => ({ document: { getText: () => kernel }, selection: { active: { line } } });

test("a missing program is explained once, and the commands exist", () =>
  withEditor(async (seen) => {
    assert.deepStrictEqual([...seen.commands.keys()].sort(), ["ptx.restartServer", "ptx.showControlFlowGraph"]);
    assert.strictEqual(seen.errors.length, 1);
    assert.match(seen.errors[0], /`\/no\/such\/ptxkit` was not found\. Install ptxkit, or set `ptx\.server\.path`/);
    await seen.commands.get("ptx.restartServer")();
    await seen.commands.get("ptx.showControlFlowGraph")(at(8));
    assert.strictEqual(seen.errors.length, 3);
  }));

test("the control-flow graph of the function at the cursor", () =>
  withEditor(async (seen) => {
    const show = seen.commands.get("ptx.showControlFlowGraph");
    await show(at(0));
    assert.deepStrictEqual(seen.messages, ["There is no function at the cursor."]);
    seen.program = program;
    await show(at(8));
    assert.deepStrictEqual([seen.errors.length, seen.pages.map((p) => p.title)], [1, ["kernel"]]);
    assert.match(seen.pages[0].webview.html, /<html[^]*done[^]*<\/html>/);
  }));
