import { resolve } from "node:path";
import { defineConfig } from "vite";

// The folder with the WebAssembly module that `.ci/wasm` builds.
const wasm = process.env.PTX_WASM ?? resolve(import.meta.dirname, "pkg");

export default defineConfig({
  // Relative addresses: the page works in any folder of a file server.
  base: "./",
  resolve: { alias: [{ find: /^ptx-wasm(?=\/)/, replacement: wasm }] },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 1500 },
  worker: { format: "es" },
});
