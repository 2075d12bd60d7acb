// The messages between the page and the worker with the language server.

import type { Transport } from "@codemirror/lsp-client";
import wasm from "ptx-wasm/ptx_wasm_bg.wasm?url";

/** Compiles the language server while it is loaded, if the file server says that it is WebAssembly. */
async function compile(): Promise<WebAssembly.Module> {
  const response = await fetch(wasm);
  if (!response.ok) throw new Error(`its file could not be loaded (${response.status})`);
  const isDeclared = response.headers.get("content-type") === "application/wasm";
  return isDeclared ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** The compiled server, which all workers share. */
let compiled: Promise<WebAssembly.Module> | null = null;

export class Server implements Transport {
  private readonly worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module" });
  private readonly handlers = new Set<(message: string) => void>();
  private failure: string | null = null;
  private failed: (message: string) => void = () => undefined;

  constructor() {
    this.worker.addEventListener("message", ({ data }: MessageEvent<string | { failure: string }>) => {
      if (typeof data === "string") this.handlers.forEach((handler) => handler(data));
      else this.fail(data.failure);
    });
    this.worker.addEventListener("error", (event) => {
      event.preventDefault();
      this.fail(event.message || "its script could not be loaded");
    });
    // The script of the worker is loaded at the same time.
    compiled ??= compile();
    compiled.then(
      (module) => this.worker.postMessage(module),
      (error: unknown) => this.fail(String(error)),
    );
  }

  send(message: string): void {
    this.worker.postMessage(message);
  }

  subscribe(handler: (message: string) => void): void {
    this.handlers.add(handler);
  }

  unsubscribe(handler: (message: string) => void): void {
    this.handlers.delete(handler);
  }

  /** Calls a function when the server cannot be loaded, or stops; at once if that has happened. */
  onFailure(failed: (message: string) => void): void {
    this.failed = failed;
    if (this.failure !== null) failed(this.failure);
  }

  /** Ends the worker, whatever it does. */
  stop(): void {
    this.handlers.clear();
    this.worker.terminate();
  }

  private fail(message: string): void {
    if (this.failure !== null) return;
    this.failure = message;
    this.failed(message);
  }
}
