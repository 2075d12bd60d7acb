declare module "ptx-wasm/ptx_wasm.js" {
  /** Starts a compiled WebAssembly module. */
  export function initSync(options: { module: WebAssembly.Module }): unknown;
  /** A language server. */
  export class Session {
    /** Gives it a message, and returns its messages. */
    receive(message: string): string[];
    free(): void;
    hasWork(): boolean;
    work(): string[];
  }
}
