// Positions of the language server in a document.

import type { ChangeDesc, Text } from "@codemirror/state";
import type { Position, Range } from "vscode-languageserver-protocol";

export interface Span {
  from: number;
  to: number;
}

/** A replacement of a span. */
export interface Change extends Span {
  insert: string;
}

/** The offset of a position; the nearest one if the document has no such position. */
export function toOffset(doc: Text, position: Position): number {
  if (position.line >= doc.lines) return doc.length;
  const line = doc.line(position.line + 1);
  return Math.min(line.from + position.character, line.to);
}

export function toSpan(doc: Text, range: Range): Span {
  return { from: toOffset(doc, range.start), to: toOffset(doc, range.end) };
}

export function toRange(doc: Text, { from, to }: Span): Range {
  const position = (offset: number): Position => {
    const line = doc.lineAt(offset);
    return { line: line.number - 1, character: offset - line.from };
  };
  return { start: position(from), end: position(to) };
}

/** Where a span is after changes of the document. */
export function moved<S extends Span>(span: S, changes: ChangeDesc): S {
  const from = changes.mapPos(span.from, 1);
  return { ...span, from, to: Math.max(from, changes.mapPos(span.to, -1)) };
}
