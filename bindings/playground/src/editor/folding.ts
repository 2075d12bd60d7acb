// Folding: where the language server says.

import { codeFolding, foldGutter, foldKeymap, foldService } from "@codemirror/language";
import { StateEffect, StateField } from "@codemirror/state";
import { keymap } from "@codemirror/view";
import type { FoldingRange } from "vscode-languageserver-protocol";
import type { Session } from "../session";

/** The last line of the range that begins in a line; both are counted from 0. */
type Ranges = ReadonlyMap<number, number>;

const setRanges = StateEffect.define<Ranges>();
const ranges = StateField.define<Ranges>({
  create: () => new Map(),
  update(known, transaction) {
    for (const effect of transaction.effects) if (effect.is(setRanges)) return effect.value;
    return known;
  },
});

/** Folds from the end of the first line to the end of the last one. */
const service = foldService.of((state, lineStart, lineEnd) => {
  const last = state.field(ranges).get(state.doc.lineAt(lineStart).number - 1);
  if (last === undefined || last >= state.doc.lines) return null;
  return { from: lineEnd, to: state.doc.line(last + 1).to };
});

/** The gutter follows the answers of the server. */
const gutter = foldGutter({ foldingChanged: (update) => update.startState.field(ranges) !== update.state.field(ranges) });

export const folding = [ranges, service, codeFolding(), gutter, keymap.of(foldKeymap)];

/** Asks where the document can be folded. */
export async function refreshFolding(session: Session): Promise<void> {
  const answer = await session.ask<FoldingRange[] | null>("textDocument/foldingRange");
  if (!answer) return;
  // Of several ranges that begin in a line, the longest.
  const found = new Map<number, number>();
  for (const { startLine, endLine } of answer.result ?? []) found.set(startLine, Math.max(endLine, found.get(startLine) ?? 0));
  session.view.dispatch({ effects: setRanges.of(found) });
}
