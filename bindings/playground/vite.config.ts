import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { defineConfig, type Plugin } from "vite";

const root = resolve(import.meta.dirname, "../..");
// The folder with the WebAssembly module that `.ci/wasm` builds.
const wasm = process.env.PTX_WASM ?? resolve(import.meta.dirname, "pkg");

/** A field of all packages of the workspace. */
function packageField(name: string): string {
  const manifest = readFileSync(resolve(root, "Cargo.toml"), "utf8");
  const value = manifest.match(new RegExp(`^${name} = "(.*)"$`, "m"))?.[1];
  if (!value) throw new Error(`Cargo.toml has no ${name}`);
  return value;
}

/** Puts the icon of all pages of the project into the page. */
const icon: Plugin = {
  name: "icon",
  transformIndexHtml: (html) => html.replace("@icon@", () => readFileSync(resolve(root, "ptx-report/src/page/icon.svg"), "utf8").trim()),
};

export default defineConfig({
  // Relative addresses: the page works in any folder of a file server.
  base: "./",
  plugins: [icon],
  define: { PROJECT_ADDRESS: JSON.stringify(packageField("repository")), PROJECT_VERSION: JSON.stringify(packageField("version")) },
  resolve: { alias: [{ find: /^ptx-wasm(?=\/)/, replacement: wasm }] },
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 1500 },
  worker: { format: "es" },
});
