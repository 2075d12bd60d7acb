// Runs kernels in a separate worker, so that a launch can be canceled and the language server answers meanwhile.

import { URI } from "../session";
import type { Launch, Ran } from "./protocol";
import { Server } from "./transport";

interface Message {
  id?: number;
  result?: unknown;
  error?: { message: string };
}

interface Waiting {
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

export class Runner {
  private server: Server | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private next = 1;

  /** Runs a launch of a document. */
  async run(text: string, launch: Launch): Promise<Ran> {
    if (!this.server) await this.start();
    this.notify("textDocument/didOpen", { textDocument: { uri: URI, languageId: "ptx", version: 1, text } });
    try {
      return await this.request<Ran>("ptxkit/run", { textDocument: { uri: URI }, ...launch });
    } finally {
      this.notify("textDocument/didClose", { textDocument: { uri: URI } });
    }
  }

  /** Ends the launch that is running. */
  cancel(): void {
    this.stop(new Error("The launch was canceled."));
  }

  private async start(): Promise<void> {
    const server = new Server();
    this.server = server;
    server.subscribe((message) => this.receive(JSON.parse(message) as Message));
    server.onFailure((message) => this.stop(new Error(message)));
    await this.request("initialize", { processId: null, rootUri: null, capabilities: {} });
    this.notify("initialized", {});
  }

  private stop(error: Error): void {
    this.server?.stop();
    this.server = null;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  private request<Result>(method: string, params: object): Promise<Result> {
    const id = this.next++;
    this.send({ id, method, params });
    return new Promise<unknown>((resolve, reject) => this.waiting.set(id, { resolve, reject })) as Promise<Result>;
  }

  private notify(method: string, params: object): void {
    this.send({ method, params });
  }

  private send(message: object): void {
    this.server?.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  private receive({ id, result, error }: Message): void {
    const waiting = id === undefined ? undefined : this.waiting.get(id);
    if (id === undefined || !waiting) return;
    this.waiting.delete(id);
    if (error) waiting.reject(new Error(error.message));
    else waiting.resolve(result);
  }
}
