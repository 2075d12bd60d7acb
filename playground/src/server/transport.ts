// The messages between the page and the thread with the language server.

import type { Transport } from "@codemirror/lsp-client";

/** Starts the language server. `failed` is called when it cannot be loaded, or when it stops. */
export function startServer(failed: (message: string) => void): Transport {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  const handlers = new Set<(message: string) => void>();
  worker.addEventListener("message", ({ data }: MessageEvent<string | { failure: string }>) => {
    if (typeof data === "string") handlers.forEach((handler) => handler(data));
    else failed(data.failure);
  });
  worker.addEventListener("error", (event) => {
    event.preventDefault();
    failed(event.message || "its script could not be loaded");
  });
  return {
    send: (message) => worker.postMessage(message),
    subscribe: (handler) => handlers.add(handler),
    unsubscribe: (handler) => handlers.delete(handler),
  };
}
