// Runs the language server in a worker, so that typing does not wait for it.

import { initSync, Session } from "ptx-wasm/ptx_wasm.js";
import text from "../../examples/mistakes.ptx?raw";

let session: Session | null = null;
const waiting: string[] = [];

function receive(message: string): void {
  if (!session) {
    waiting.push(message);
    return;
  }
  for (const answer of session.receive(message)) postMessage(answer);
  workLater();
}

let isPlanned = false;

/** Lints large documents part by part: messages that arrive are taken between the parts. */
function workLater(): void {
  if (isPlanned || !session?.hasWork()) return;
  isPlanned = true;
  setTimeout(() => {
    isPlanned = false;
    for (const message of session?.work() ?? []) postMessage(message);
    workLater();
  });
}

function start(module: WebAssembly.Module): void {
  initSync({ module });
  session = new Session();
  if (!waiting.length) warmUp();
  for (const message of waiting.splice(0)) receive(message);
}

/** Checks a document in another session while the page is still being drawn: browsers compile a function when it is called first. */
function warmUp(): void {
  const other = new Session();
  const send = (message: object): unknown => other.receive(JSON.stringify({ jsonrpc: "2.0", ...message }));
  send({ id: 1, method: "initialize", params: { processId: null, rootUri: null, capabilities: {} } });
  send({ method: "initialized", params: {} });
  send({ method: "textDocument/didOpen", params: { textDocument: { uri: "file:///warm-up.ptx", languageId: "ptx", version: 1, text } } });
  other.free();
}

// The first message is the compiled server, or messages of the client precede it.
addEventListener("message", ({ data }: MessageEvent<string | WebAssembly.Module>) => {
  try {
    if (typeof data === "string") receive(data);
    else start(data);
  } catch (error) {
    postMessage({ failure: String(error) });
  }
});
