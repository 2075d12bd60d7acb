// Sends changes of the document to the language server: one at a time, since the next one can contain all changes until then.

import { LSPPlugin } from "@codemirror/lsp-client";
import { type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";

/** The longest time that the next change waits for an answer, in milliseconds. */
const LONGEST_WAIT = 1000;

class Synchronizer {
  /** When the change was sent that is not answered. */
  private sent: number | null = null;
  private scheduled = false;

  update(update: ViewUpdate): void {
    if (update.docChanged) this.schedule(update.view);
  }

  /** The server has checked a document. */
  answered(view: EditorView): void {
    this.sent = null;
    this.schedule(view);
  }

  private schedule(view: EditorView): void {
    if (this.scheduled) return;
    this.scheduled = true;
    // The plugin of the language server is updated after this one.
    queueMicrotask(() => {
      this.scheduled = false;
      this.send(view);
    });
  }

  private send(view: EditorView): void {
    const plugin = LSPPlugin.get(view);
    const waits = this.sent !== null && performance.now() - this.sent < LONGEST_WAIT;
    if (!plugin || plugin.unsyncedChanges.empty || waits) return;
    this.sent = performance.now();
    plugin.client.sync();
  }
}

const synchronizer = ViewPlugin.fromClass(Synchronizer);

export const synchronize = synchronizer.extension;

/** Says that the server has checked a document. */
export function answered(view: EditorView): void {
  view.plugin(synchronizer)?.answered(view);
}
