// Whether lints examine the document: on, until the reader turns them off.

import type { LSPClient } from "@codemirror/lsp-client";

const KEY = "ptxkit-lints";

let isOn = stored();

/** What the reader has chosen. The storage may be forbidden. */
function stored(): boolean {
  try {
    return localStorage.getItem(KEY) !== "off";
  } catch {
    return true;
  }
}

export function lintsAreOn(): boolean {
  return isOn;
}

/** Tells the language server what the reader chose before. */
export async function startLints(client: LSPClient): Promise<void> {
  if (isOn) return;
  await client.initializing;
  configure(client);
}

/** Turns lints on or off, and remembers it. The server then publishes what it finds. */
export function setLints(client: LSPClient, on: boolean): void {
  isOn = on;
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // The choice lasts as long as the page.
  }
  configure(client);
}

function configure(client: LSPClient): void {
  client.notification("workspace/didChangeConfiguration", { settings: { ptxkit: { lints: isOn } } });
}
