// Highlights where the name at the cursor is read and written.

import { LSPPlugin } from "@codemirror/lsp-client";
import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import type { DocumentHighlight } from "vscode-languageserver-protocol";
import { toSpan } from "./positions";

/** How long the cursor is at a place before the server is asked, in milliseconds. */
const DELAY = 150;

const setOccurrences = StateEffect.define<DecorationSet>();
const occurrencesField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    for (const effect of transaction.effects) if (effect.is(setOccurrences)) return effect.value;
    return set.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const read = Decoration.mark({ class: "occurrence" });
const written = Decoration.mark({ class: "occurrence occurrence-written" });

class Occurrences {
  private timer = 0;

  constructor(private readonly view: EditorView) {}

  update(update: ViewUpdate): void {
    if (!update.selectionSet && !update.docChanged) return;
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.show().catch(() => undefined), DELAY);
  }

  destroy(): void {
    clearTimeout(this.timer);
  }

  private async show(): Promise<void> {
    const plugin = LSPPlugin.get(this.view);
    if (!plugin) return;
    plugin.client.sync();
    const { doc, selection } = this.view.state;
    const params = { textDocument: { uri: plugin.uri }, position: plugin.toPosition(selection.main.head) };
    const found = await plugin.client.request<object, DocumentHighlight[] | null>("textDocument/documentHighlight", params);
    if (this.view.state.doc !== doc) return;
    const marked = (found ?? []).map(({ range, kind }) => ({ ...toSpan(doc, range), mark: kind === 3 ? written : read }));
    const ranges = marked.filter(({ from, to }) => from < to).map(({ from, to, mark }) => mark.range(from, to));
    this.view.dispatch({ effects: setOccurrences.of(Decoration.set(ranges, true)) });
  }
}

export const occurrences = [occurrencesField, ViewPlugin.fromClass(Occurrences)];
