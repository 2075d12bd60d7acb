// The page: starts the language server, then builds everything around the editor.

import "./style.css";
import { App } from "./app";
import { startServer } from "./server/transport";

// First, since loading the server takes longest.
let app: App | null = null;
let failure: string | null = null;
const server = startServer((message) => {
  failure ??= message;
  app?.serverFailed(failure);
});
app = new App(server);
if (failure) app.serverFailed(failure);
void app.start();
