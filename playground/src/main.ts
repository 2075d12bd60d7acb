// The page: starts the language server, then builds everything around the editor.

import { server } from "./server/start";
import { App } from "./app";
import { type Shared, readFragment } from "./document/permalink";
import { messageOf } from "./session";
import "./style.css";

/** What the address contains. */
async function linked(): Promise<Shared & { failure?: string }> {
  try {
    return await readFragment(location.hash);
  } catch (error) {
    return { text: null, panel: null, failure: `This link is damaged: ${messageOf(error)}` };
  }
}

async function start(): Promise<void> {
  const shared = await linked();
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
