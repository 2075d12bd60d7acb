declare module "ptx-wasm" {
  /** Loads the WebAssembly module. */
  export default function init(): Promise<unknown>;
  /** A language server. */
  export class Session {
    /** Gives it a message, and returns its messages. */
    receive(message: string): string[];
  }
}
