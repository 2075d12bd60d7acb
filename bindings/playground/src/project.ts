// The project and its version, which `vite.config.ts` reads from the manifest of the workspace.

import { element } from "./dom";

declare const PROJECT_ADDRESS: string;
declare const PROJECT_VERSION: string;

/** Links to the project and to the guide of the page. */
export function projectLinks(): HTMLElement {
  const link = (address: string, text: string): HTMLElement => element("a", { href: address, target: "_blank", rel: "noopener" }, text);
  return element("span", { class: "project" }, link(PROJECT_ADDRESS, `ptxkit ${PROJECT_VERSION}`), " ", link(`${PROJECT_ADDRESS}/blob/main/docs/playground.md`, "Guide"));
}
