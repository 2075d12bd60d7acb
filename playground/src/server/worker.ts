// Runs the language server in a worker, so that typing does not wait for it.

import init, { Session } from "ptx-wasm";

let session: Session | null = null;
const waiting: string[] = [];

function receive(message: string): void {
  if (!session) {
    waiting.push(message);
    return;
  }
  try {
    for (const answer of session.receive(message)) postMessage(answer);
  } catch (error) {
    postMessage({ failure: String(error) });
  }
}

addEventListener("message", (event: MessageEvent<string>) => receive(event.data));

init().then(
  () => {
    session = new Session();
    for (const message of waiting.splice(0)) receive(message);
  },
  (error: unknown) => postMessage({ failure: String(error) }),
);
