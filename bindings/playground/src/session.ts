// The document, its editor and the language server: what the panels work with.

import type { LSPClient } from "@codemirror/lsp-client";
import type { Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import type { Range, TextEdit } from "vscode-languageserver-protocol";
import { type Change, toSpan } from "./editor/positions";

/** The address of the document for the language server. */
export const URI = "file:///playground.ptx";

export class Session {
  /** The name that the document has when it is downloaded. */
  fileName = "kernel.ptx";

  constructor(
    readonly client: LSPClient,
    readonly view: EditorView,
  ) {}

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Asks the server about the document as it is now. The answer is `null` if the document changed since. */
  async ask<Result>(method: string, params: object = {}): Promise<{ result: Result; doc: Text } | null> {
    this.client.sync();
    const doc = this.view.state.doc;
    const result = await this.client.request<object, Result>(method, { textDocument: { uri: URI }, ...params });
    return this.view.state.doc.eq(doc) ? { result, doc } : null;
  }

  /** Replaces the document by another one. */
  open(text: string, name?: string): void {
    if (name) this.fileName = name;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: 0 }, scrollIntoView: true });
  }

  /** Selects a range and makes it visible. */
  select(range: Range): void {
    const { from, to } = toSpan(this.view.state.doc, range);
    this.view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    this.view.focus();
  }

  /** Puts the cursor at the beginning of a line, counted from 0. The focus stays where it is. */
  reveal(line: number): void {
    const { from } = toSpan(this.view.state.doc, { start: { line, character: 0 }, end: { line, character: 0 } });
    this.view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  }

  /** Puts the cursor at the beginning of a line, counted from 0, with the focus. */
  goToLine(line: number): void {
    this.reveal(line);
    this.view.focus();
  }

  /** The line of the cursor, counted from 0. */
  get cursorLine(): number {
    const { doc, selection } = this.view.state;
    return doc.lineAt(selection.main.head).number - 1;
  }

  /** Makes changes, as one step for undo. */
  change(changes: readonly Change[]): void {
    this.view.dispatch({ changes, userEvent: "input.fix" });
  }

  /** Reformats the document. */
  async format(): Promise<string | null> {
    try {
      const answer = await this.ask<TextEdit[] | null>("textDocument/formatting", { options: { tabSize: 4, insertSpaces: true } });
      const edits = answer?.result ?? [];
      if (answer && edits.length) this.change(edits.map((edit) => ({ ...toSpan(answer.doc, edit.range), insert: edit.newText })));
      return null;
    } catch (error) {
      return messageOf(error);
    }
  }
}

/** The message of an error, or of an answer that is one. */
export function messageOf(error: unknown): string {
  const message = (error as { message?: unknown } | null)?.message;
  return typeof message === "string" ? message : String(error);
}
