// What the language server says about the text that is visible: the kinds of words, and hints.

import { type LSPClient, LSPPlugin } from "@codemirror/lsp-client";
import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate, WidgetType } from "@codemirror/view";
import type * as lsp from "vscode-languageserver-protocol";
import { toOffset, toRange } from "./positions";

const setDecorations = StateEffect.define<DecorationSet>();
/** Asks again, since the server has checked the document. */
const refresh = StateEffect.define<null>();

const decorations = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(set, transaction) {
    for (const effect of transaction.effects) if (effect.is(setDecorations)) return effect.value;
    return set.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

class Hint extends WidgetType {
  constructor(
    readonly text: string,
    readonly tooltip: string,
  ) {
    super();
  }

  override eq(other: Hint): boolean {
    return other.text === this.text;
  }

  toDOM(): HTMLElement {
    const span = document.createElement("span");
    span.className = "hint";
    span.textContent = this.text;
    span.title = this.tooltip;
    return span;
  }
}

const marks = new Map<string, Decoration>();
function markOf(type: string): Decoration {
  const mark = marks.get(type) ?? Decoration.mark({ class: `token-${type}` });
  marks.set(type, mark);
  return mark;
}

/** Asks about the visible text, one request after the other. */
class Visible {
  private waiting = false;
  private asked = false;

  constructor(private readonly view: EditorView) {
    this.ask();
  }

  update(update: ViewUpdate): void {
    const refreshed = update.transactions.some((t) => t.effects.some((e) => e.is(refresh)));
    if (update.viewportChanged || refreshed) this.ask();
  }

  private ask(): void {
    this.asked = true;
    if (this.waiting) return;
    this.waiting = true;
    setTimeout(() => void this.run(), 0);
  }

  private async run(): Promise<void> {
    while (this.asked) {
      this.asked = false;
      const plugin = LSPPlugin.get(this.view);
      if (plugin) await this.show(plugin).catch(() => undefined);
    }
    this.waiting = false;
  }

  private async show(plugin: LSPPlugin): Promise<void> {
    const { client, uri } = plugin;
    const { doc } = this.view.state;
    client.sync();
    const params = { textDocument: { uri }, range: toRange(doc, this.view.viewport) };
    const [tokens, hints] = await Promise.all([
      client.request<object, lsp.SemanticTokens | null>("textDocument/semanticTokens/range", params),
      client.request<object, lsp.InlayHint[] | null>("textDocument/inlayHint", params),
    ]);
    if (this.view.state.doc !== doc) {
      this.asked = true;
      return;
    }
    const found = [...tokenRanges(client, doc, tokens?.data ?? []), ...hintRanges(doc, hints ?? [])];
    this.view.dispatch({ effects: setDecorations.of(Decoration.set(found, true)) });
  }
}

type Found = ReturnType<Decoration["range"]>;

function* tokenRanges(client: LSPClient, doc: EditorView["state"]["doc"], data: number[]): Generator<Found> {
  const types = client.serverCapabilities?.semanticTokensProvider?.legend.tokenTypes ?? [];
  let line = 0;
  let character = 0;
  for (let at = 0; at + 4 < data.length; at += 5) {
    const [lines, characters, length, type] = data.slice(at, at + 4) as [number, number, number, number];
    character = lines ? characters : character + characters;
    line += lines;
    const from = toOffset(doc, { line, character });
    const to = Math.min(from + length, doc.length);
    if (from < to) yield markOf(types[type] ?? "text").range(from, to);
  }
}

function* hintRanges(doc: EditorView["state"]["doc"], hints: lsp.InlayHint[]): Generator<Found> {
  for (const { label, position, tooltip } of hints) {
    const text = typeof label === "string" ? label : label.map((part) => part.value).join("");
    const widget = new Hint(text, typeof tooltip === "string" ? tooltip : (tooltip?.value ?? ""));
    yield Decoration.widget({ widget, side: 1 }).range(toOffset(doc, position));
  }
}

export const visibleText = [decorations, ViewPlugin.fromClass(Visible)];

/** Asks about the visible text again. */
export function refreshVisible(view: EditorView): void {
  view.dispatch({ effects: refresh.of(null) });
}
