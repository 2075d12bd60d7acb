// The page: starts the language server, then builds everything around the editor.

import { server } from "./server/start";
import { readFragment, type Shared } from "./document/permalink";
import "./style.css";

/** What the address contains. */
async function linked(): Promise<Shared & { failure?: string }> {
  try {
    return await readFragment(location.hash);
  } catch (error) {
    return { text: null, panel: null, failure: `This link is damaged: ${error instanceof Error ? error.message : error}` };
  }
}

async function start(): Promise<void> {
  // The editor is loaded while the server is.
  const [{ App }, shared] = await Promise.all([import("./app"), linked()]);
  const app = new App(server, shared);
  if (shared.failure) app.showFailure(shared.failure);
  server.onFailure((message) => app.serverFailed(message));
  addEventListener("hashchange", async () => {
    const changed = await linked();
    if (changed.failure) app.showFailure(changed.failure);
    else app.show(changed);
  });
}

void start();
