// What the language server reports about the document, with its fixes.

import { type Diagnostic, setDiagnostics } from "@codemirror/lint";
import { type LSPClient, type LSPClientExtension, LSPPlugin } from "@codemirror/lsp-client";
import { StateEffect, StateField } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type * as lsp from "vscode-languageserver-protocol";
import { element, withCode } from "../dom";
import { type Change, moved, type Span, toSpan } from "./positions";

export interface Fix {
  title: string;
  /** Whether nothing else can be meant. The title of another one, which is a suggestion, says so. */
  isCertain: boolean;
  changes: Change[];
}

export interface Problem extends Span {
  severity: "error" | "warning" | "info";
  /** Whether a lint found it. */
  isLint: boolean;
  code: string;
  message: string;
  related: (Span & { message: string })[];
  fixes: Fix[];
}

/** The problems of a document. */
export interface Problems {
  list: readonly Problem[];
  /** One fix for all of them. */
  all: Fix | null;
}

/** The severities of the protocol. */
const SEVERITIES: Partial<Record<number, Problem["severity"]>> = { 1: "error", 2: "warning" };
/** The source of the diagnostics of lints. */
const LINTS = "ptxkit lint";

const none: Problems = { list: [], all: null };
const setProblems = StateEffect.define<Problems>();

/** The problems, at the places where they are after changes. */
export const problemsField = StateField.define<Problems>({
  create: () => none,
  update(problems, transaction) {
    for (const effect of transaction.effects) if (effect.is(setProblems)) return effect.value;
    if (!transaction.docChanged || problems === none) return problems;
    const fix = (f: Fix): Fix => ({ ...f, changes: f.changes.map((change) => moved(change, transaction.changes)) });
    const list = problems.list.map((problem) => ({
      ...moved(problem, transaction.changes),
      related: problem.related.map((place) => moved(place, transaction.changes)),
      fixes: problem.fixes.map(fix),
    }));
    // A fix of the whole document is right only for the document that it was computed for.
    return { list, all: null };
  },
});

/** What is called when the server has checked a document, and when the fixes of its problems are known. */
export interface Received {
  checked(view: EditorView): void;
  fixesKnown(): void;
}

/** Receives diagnostics and shows them, then asks for their fixes. */
export function problemsOf(received: Received): LSPClientExtension {
  return {
    clientCapabilities: { textDocument: { publishDiagnostics: { versionSupport: true, relatedInformation: true } } },
    notificationHandlers: {
      "textDocument/publishDiagnostics": (client, params: lsp.PublishDiagnosticsParams) => {
        void receive(client, params, received).catch(() => undefined);
        return true;
      },
    },
    editorExtension: problemsField,
  };
}

async function receive(client: LSPClient, params: lsp.PublishDiagnosticsParams, { checked, fixesKnown }: Received): Promise<void> {
  const file = client.workspace.getFile(params.uri);
  const view = file?.getView();
  if (!file || !view) return;
  const isCurrent = (): boolean => params.version === undefined || params.version === file.version;
  if (isCurrent()) show(view, params.diagnostics, null);
  checked(view);
  if (!isCurrent() || !params.diagnostics.length) return;
  const actions = await codeActions(client, params, file.doc.lines);
  if (!isCurrent()) return;
  show(view, params.diagnostics, actions);
  fixesKnown();
}

/** The fixes of the whole document, in one request. */
async function codeActions(client: LSPClient, { uri, diagnostics }: lsp.PublishDiagnosticsParams, lines: number): Promise<lsp.CodeAction[]> {
  const range: lsp.Range = { start: { line: 0, character: 0 }, end: { line: lines, character: 0 } };
  const params: lsp.CodeActionParams = { textDocument: { uri }, range, context: { diagnostics } };
  return (await client.request<lsp.CodeActionParams, lsp.CodeAction[] | null>("textDocument/codeAction", params)) ?? [];
}

const placeOf = ({ from, to, code, message }: Problem): string => JSON.stringify([from, to, code, message]);
const keyOf = ({ range, code, message }: lsp.Diagnostic): string => JSON.stringify([range, code, message]);

/** Shows diagnostics. Those that were known before keep their fixes until the new ones are known. */
function show(view: EditorView, diagnostics: lsp.Diagnostic[], actions: lsp.CodeAction[] | null): void {
  const plugin = LSPPlugin.get(view);
  if (!plugin) return;
  const span = (range: lsp.Range): Span => moved(toSpan(plugin.syncedDoc, range), plugin.unsyncedChanges);
  const fixOf = (action: lsp.CodeAction): Fix => {
    const edits = Object.values(action.edit?.changes ?? {}).flat();
    return { title: action.title, isCertain: action.isPreferred ?? false, changes: edits.map((edit) => ({ ...span(edit.range), insert: edit.newText })) };
  };
  const fixes = Map.groupBy(actions ?? [], (action) => (action.diagnostics?.[0] ? keyOf(action.diagnostics[0]) : ""));
  const problemOf = (diagnostic: lsp.Diagnostic): Problem => ({
    ...span(diagnostic.range),
    severity: SEVERITIES[diagnostic.severity ?? 2] ?? "info",
    isLint: diagnostic.source === LINTS,
    code: String(diagnostic.code ?? ""),
    message: typeof diagnostic.message === "string" ? diagnostic.message : diagnostic.message.value,
    related: (diagnostic.relatedInformation ?? []).map((place) => ({ ...span(place.location.range), message: place.message })),
    fixes: (fixes.get(keyOf(diagnostic)) ?? []).map(fixOf),
  });
  const before = new Map(actions ? [] : view.state.field(problemsField).list.map((problem) => [placeOf(problem), problem.fixes]));
  const all = fixes.get("")?.[0];
  const list = diagnostics.map(problemOf).map((problem) => ({ ...problem, fixes: before.get(placeOf(problem)) ?? problem.fixes }));
  view.dispatch(setDiagnostics(view.state, list.map(asDiagnostic)), { effects: setProblems.of({ list, all: all && plugin.unsyncedChanges.empty ? fixOf(all) : null }) });
}

/** A problem as the editor shows it. */
function asDiagnostic(problem: Problem): Diagnostic {
  const { from, to, severity, code, message } = problem;
  // A fix is looked up when it is used: the document may have changed until then.
  const actions = problem.fixes.map(({ title }, index) => ({
    name: title,
    apply: (view: EditorView, at: number) => {
      const found = view.state.field(problemsField).list.find((p) => p.from === at && p.code === code && p.message === message);
      if (found?.fixes[index]) applyFix(view, found.fixes[index]);
    },
  }));
  return { from, to, severity, source: code, message, renderMessage: () => element("span", {}, ...withCode(message)), actions };
}

/** Makes the changes of a fix. */
export function applyFix(view: EditorView, fix: Fix): void {
  view.dispatch({ changes: fix.changes, userEvent: "input.fix", scrollIntoView: false });
}

/** Applies the fix of a problem at the cursor that is certain. */
export function fixAtCursor(view: EditorView): boolean {
  const { head } = view.state.selection.main;
  const line = view.state.doc.lineAt(head);
  const fixable = view.state.field(problemsField).list.filter((p) => p.fixes.some((fix) => fix.isCertain) && p.from <= line.to && line.from <= p.to);
  const nearest = fixable.find((p) => p.from <= head && head <= p.to) ?? fixable[0];
  const certain = nearest?.fixes.find((fix) => fix.isCertain);
  if (!certain) return false;
  applyFix(view, certain);
  return true;
}
