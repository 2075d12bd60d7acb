// Runs the language server in a worker, so that typing does not wait for it.

import { initSync, Session } from "ptx-wasm/ptx_wasm.js";

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
  for (const message of waiting.splice(0)) receive(message);
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
