// The compiled language server gives the answers that `ptxkit lsp` gives. PTXKIT is that program.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { Client, NativeConnection, ROOT, closeAll, memorySize } from "./client.mjs";
import { generator, randomChange } from "./random.mjs";

const PTXKIT = process.env.PTXKIT ?? join(ROOT, "target/debug/ptxkit");

after(closeAll);

/** The texts of a folder of the corpus. */
function corpus(folder) {
  const path = join(ROOT, "corpus", folder);
  const names = readdirSync(path, { recursive: true }).filter((name) => name.endsWith(".ptx"));
  return names.sort().map((name) => [name, readFileSync(join(path, name), "utf8")]);
}

const both = async (text) => [await Client.open(text), await Client.open(text, new NativeConnection(PTXKIT))];

const whole = { start: { line: 0, character: 0 }, end: { line: 1e9, character: 0 } };

/** Requests about a document, with their parameters for a function. */
const REQUESTS = [
  ["textDocument/documentSymbol", {}],
  ["textDocument/semanticTokens/full", {}],
  ["textDocument/foldingRange", {}],
  ["textDocument/codeLens", {}],
  ["textDocument/inlayHint", { range: whole }],
  ["textDocument/codeAction", { range: whole, context: { diagnostics: [] } }],
  ["textDocument/hover", { position: { line: 12, character: 6 } }],
  ["textDocument/completion", { position: { line: 12, character: 6 } }],
  ["ptxkit/functions", {}],
  ["ptxkit/statistics", {}],
  ["ptxkit/requirements", {}],
];

/** The result of a request, or the message of its error. */
const answer = (client, method, params) => client.ask(method, params).catch((error) => error.message);

async function sameAnswers(wasm, native, method, params) {
  const [found, expected] = await Promise.all([wasm, native].map((c) => answer(c, method, params)));
  assert.deepEqual(found, expected, method);
  return found;
}

test("files of the corpus have the answers of the program", async () => {
  const files = [...corpus("hand"), ...corpus("broken")];
  assert.ok(files.length > 100);
  const [wasm, native] = await both("");
  for (const [name, text] of files) {
    await wasm.change({ text });
    await native.change({ text });
    assert.deepEqual(wasm.diagnostics, native.diagnostics, name);
  }
  wasm.close();
  native.close();
});

test("all requests have the answers of the program", async () => {
  const files = corpus("hand").filter(([, text]) => text.length < 20_000);
  const [wasm, native] = await both("");
  for (const [, text] of files.filter((_, index) => index % 8 === 0)) {
    await wasm.change({ text });
    await native.change({ text });
    for (const [method, params] of REQUESTS) await sameAnswers(wasm, native, method, params);
    for (const { name } of await wasm.ask("ptxkit/functions")) {
      for (const method of ["ptxkit/controlFlow", "ptxkit/liveness", "ptxkit/statistics"]) {
        await sameAnswers(wasm, native, method, { function: name });
      }
    }
  }
  wasm.close();
  native.close();
});

test("every rewrite has the answer of the program", async () => {
  const text = readFileSync(join(import.meta.dirname, "kernels.ptx"), "utf8");
  const [wasm, native] = await both(text);
  const required = { functions: "scale", target: "sm_90a", prefix: "my_" };
  const rewrites = await sameAnswers(wasm, native, "ptxkit/rewrites");
  assert.ok(rewrites.length > 8);
  for (const { name, options } of rewrites) {
    const values = options.filter((o) => o.default === undefined).map((o) => [o.name, required[o.name]]);
    const params = { name, options: Object.fromEntries(values) };
    const { text: rewritten } = await sameAnswers(wasm, native, "ptxkit/rewrite", params);
    assert.notEqual(rewritten, text, name);
  }
  await sameAnswers(wasm, native, "ptxkit/rewrite", { name: "retarget", options: { target: "sm_10" } });
  await assert.rejects(wasm.ask("ptxkit/liveness", { function: "other" }), /no function `other` with a body/);
  for (const word of ["add", ".target", "%tid", "PTX0104", "nothing"]) {
    await sameAnswers(wasm, native, "ptxkit/explain", { word });
  }
  wasm.close();
  native.close();
});

test("random changes have the diagnostics of the program", async () => {
  const original = readFileSync(join(import.meta.dirname, "kernels.ptx"), "utf8");
  const [wasm, native] = await both(original);
  const random = generator(7);
  let text = original;
  for (let step = 0; step < 1000; step++) {
    const next = randomChange(text, random);
    await wasm.change(next.change);
    await native.change(next.change);
    text = next.text;
    assert.deepEqual(wasm.diagnostics, native.diagnostics, `step ${step}:\n${text}`);
    // Most changes meet a document that is mostly in order.
    if (wasm.diagnostics.length > 8) {
      text = original;
      await wasm.change({ text });
      await native.change({ text });
    }
  }
  for (const [method, params] of REQUESTS) await sameAnswers(wasm, native, method, params);
  const fresh = await Client.open(text);
  assert.deepEqual(wasm.diagnostics, fresh.diagnostics);
  [wasm, native, fresh].forEach((client) => client.close());
});

test("messages that make no sense do not end the session", async () => {
  const client = await Client.open(".version 8.0\n.target sm_90\n.entry k() { ret; }\n");
  const messages = [
    "", "{", "null", "[]", "7", '"x"', "{}", '{"id":1}', '{"method":7}', "\u0000", "\ud800", "é".repeat(1000), "[".repeat(100_000),
    '{"jsonrpc":"2.0","id":[],"method":"textDocument/hover","params":{}}',
    '{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{"textDocument":{"uri":"%"},"position":{"line":-1,"character":0}}}',
    '{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///a.ptx","version":2},"contentChanges":7}}',
    '{"jsonrpc":"2.0","id":1,"method":"ptxkit/rewrite","params":{"textDocument":{"uri":"file:///a.ptx"},"name":"strip","options":[]}}',
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}',
  ];
  for (const message of messages) await client.send(message);
  const random = generator(3);
  const valid = JSON.stringify({ jsonrpc: "2.0", id: 9, method: "ptxkit/functions", params: { textDocument: { uri: "file:///a.ptx" } } });
  for (let i = 0; i < 2000; i++) {
    const at = Math.floor(random() * valid.length);
    const character = String.fromCharCode(Math.floor(random() * 0x3000));
    await client.send(valid.slice(0, at) + character + valid.slice(at + Math.floor(random() * 4)));
  }
  const functions = await client.ask("ptxkit/functions");
  assert.deepEqual(functions.map((f) => f.name), ["k"]);
  client.close();
});

test("deeply nested and long texts are read", async () => {
  const client = await Client.open("");
  const texts = ["{".repeat(200_000), "(".repeat(200_000), "[".repeat(200_000), `.entry k() { ${"{".repeat(50_000)}`, "-".repeat(300_000), `.global .b32 x = ${"(".repeat(100_000)}1;`];
  for (const text of texts) {
    await client.change({ text });
    assert.ok(client.diagnostics.length > 0);
  }
  await client.change({ text: ".version 8.0\n.target sm_90\n" });
  assert.deepEqual(client.diagnostics, []);
  client.close();
});

test("memory does not grow with the number of changes", async () => {
  const kernels = readFileSync(join(import.meta.dirname, "kernels.ptx"), "utf8");
  const body = kernels.slice(kernels.indexOf(".visible"));
  let text = kernels.slice(0, kernels.indexOf(".visible"));
  for (let i = 0; i < 40; i++) text += body.replace(/\bscale\b/g, `scale${i}`).replace(/\bsum\b/g, `sum${i}`);
  const client = await Client.open(text);
  const line = text.split("\n").findIndex((l) => l.includes("fma."));
  const at = { line, character: 0 };
  const changes = async (count) => {
    for (let i = 0; i < count; i++) {
      await client.change({ range: { start: at, end: at }, text: "x" });
      await client.change({ range: { start: at, end: { line, character: 1 } }, text: "" });
    }
  };
  await changes(500);
  const before = memorySize();
  await changes(4000);
  assert.ok(memorySize() <= before * 1.1, `${before} bytes became ${memorySize()}`);
  assert.deepEqual(client.diagnostics, []);
  client.close();
});
