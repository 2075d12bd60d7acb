// A client of the language server, either of the compiled module or of `ptxkit lsp`.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The folder that `.ci/wasm` wrote. */
const folder = process.env.PTX_WASM ?? join(import.meta.dirname, "../../playground/pkg");
const module = await import(pathToFileURL(join(folder, "ptx_wasm.js")));
const { memory } = module.initSync({ module: readFileSync(join(folder, "ptx_wasm_bg.wasm")) });

export const URI = "file:///a.ptx";
export const ROOT = join(import.meta.dirname, "../../..");

/** The memory of the module in bytes. */
export const memorySize = () => memory.buffer.byteLength;

/** A session in the module. */
export class WasmConnection {
  session = new module.Session();

  /** Messages for the client that a text from it causes. */
  async receive(text) {
    const messages = this.session.receive(text);
    while (this.session.hasWork()) messages.push(...this.session.work());
    return messages;
  }

  close() {
    this.session.free();
  }
}

const processes = new Set();

/** Ends the programs that failed tests left. */
export const closeAll = () => processes.forEach((process) => process.kill());

/** `ptxkit lsp`. Every message has an answer: requests theirs, and changes their diagnostics. */
export class NativeConnection {
  #process;
  #buffer = Buffer.alloc(0);
  #waiting = null;

  constructor(program) {
    this.#process = spawn(program, ["lsp"], { stdio: ["pipe", "pipe", "inherit"] });
    processes.add(this.#process);
    this.#process.stdout.on("data", (data) => {
      this.#buffer = Buffer.concat([this.#buffer, data]);
      this.#deliver();
    });
  }

  #deliver() {
    const end = this.#buffer.indexOf("\r\n\r\n");
    if (end < 0 || this.#waiting === null) return;
    const length = Number(/Content-Length: (\d+)/.exec(this.#buffer.subarray(0, end))[1]);
    if (this.#buffer.length < end + 4 + length) return;
    const message = this.#buffer.subarray(end + 4, end + 4 + length).toString();
    this.#buffer = this.#buffer.subarray(end + 4 + length);
    const resolve = this.#waiting;
    this.#waiting = null;
    resolve([message]);
  }

  receive(text) {
    this.#process.stdin.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
    if (JSON.parse(text).method === "initialized") return Promise.resolve([]);
    return new Promise((resolve) => {
      this.#waiting = resolve;
      this.#deliver();
    });
  }

  close() {
    this.#process.kill();
  }
}

/** A client with one open document. */
export class Client {
  #connection;
  #next = 0;
  #version = 1;
  /** The last published diagnostics. */
  diagnostics = null;

  static async open(text, connection = new WasmConnection()) {
    const client = new Client(connection);
    await client.request("initialize", { capabilities: {} });
    await client.notify("initialized", {});
    await client.notify("textDocument/didOpen", {
      textDocument: { uri: URI, languageId: "ptx", version: 1, text },
    });
    return client;
  }

  constructor(connection) {
    this.#connection = connection;
  }

  async send(message) {
    const answers = (await this.#connection.receive(message)).map((text) => JSON.parse(text));
    for (const { method, params } of answers) {
      if (method === "textDocument/publishDiagnostics") this.diagnostics = params.diagnostics;
    }
    return answers;
  }

  /** The result of a request; an error if it has one. */
  async request(method, params) {
    const id = ++this.#next;
    const answers = await this.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const answer = answers.find((a) => a.id === id);
    if (answer.error) throw new Error(answer.error.message);
    return answer.result;
  }

  /** A request about the document. */
  ask(method, params = {}) {
    return this.request(method, { textDocument: { uri: URI }, ...params });
  }

  notify(method, params) {
    return this.send(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  change(...contentChanges) {
    const textDocument = { uri: URI, version: ++this.#version };
    return this.notify("textDocument/didChange", { textDocument, contentChanges });
  }

  close() {
    this.#connection.close();
  }
}
