// The editor of the document.

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, indentUnit } from "@codemirror/language";
import { lintGutter, nextDiagnostic, previousDiagnostic } from "@codemirror/lint";
import { findReferencesKeymap, formatKeymap, hoverTooltips, jumpToDefinition, jumpToDefinitionKeymap, LSPClient, renameKeymap, serverCompletion, type Transport } from "@codemirror/lsp-client";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, rectangularSelection } from "@codemirror/view";
import { startLints } from "../lints";
import { sanitized } from "../server/markdown";
import { Session, URI } from "../session";
import { folding } from "./folding";
import { occurrences } from "./occurrences";
import { fixAtCursor, problemsOf } from "./problems";
import { answered, synchronize } from "./synchronize";
import { editorTheme } from "./theme";
import { refreshVisible, visibleText } from "./visible";

/** The longest time that a request may take, in milliseconds. */
const TIMEOUT = 120_000;

/** What happens in the editor. */
export interface Events {
  /** The language server has checked the document as it is. */
  checked(): void;
  /** The fixes of the problems are known. */
  fixesKnown(): void;
  /** The document or the selection has changed. */
  updated(): void;
}

/** Creates the editor and connects it with the language server. */
export function createSession(parent: HTMLElement, text: string, dark: boolean, server: Transport, events: Events): Session {
  const checked = (view: EditorView): void => {
    events.checked();
    answered(view);
    refreshVisible(view);
  };
  const client = new LSPClient({ timeout: TIMEOUT, sanitizeHTML: sanitized, extensions: [problemsOf({ checked, fixesKnown: events.fixesKnown })] });
  client.connect(server);
  void startLints(client);
  const notify = EditorView.updateListener.of((update) => {
    if (update.docChanged || update.selectionSet) events.updated();
  });
  const state = EditorState.create({ doc: text, extensions: [editing(), editorTheme(dark), client.plugin(URI, "ptx"), language(), notify] });
  return new Session(client, new EditorView({ state, parent }));
}

/** What every editor has. Tab is not bound: it moves the focus. */
function editing(): Extension {
  return [
    lineNumbers(),
    highlightActiveLine(),
    highlightActiveLineGutter(),
    history(),
    drawSelection(),
    rectangularSelection(),
    bracketMatching(),
    search({ top: true }),
    highlightSelectionMatches({ minSelectionLength: 2 }),
    indentUnit.of("    "),
    EditorView.contentAttributes.of({ "aria-label": "PTX source", spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
    keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
  ];
}

/** What the language server adds. */
function language(): Extension {
  return [
    synchronize,
    visibleText,
    occurrences,
    folding,
    lintGutter(),
    serverCompletion({ override: true }),
    hoverTooltips(),
    EditorView.domEventHandlers({ mousedown: definitionAtPointer }),
    keymap.of([
      ...formatKeymap,
      ...renameKeymap,
      ...jumpToDefinitionKeymap,
      ...findReferencesKeymap,
      { key: "F8", run: nextDiagnostic },
      { key: "Shift-F8", run: previousDiagnostic },
      { key: "Mod-.", run: fixAtCursor },
    ]),
  ];
}

/** With Ctrl or Cmd, a click shows where a name is declared. */
function definitionAtPointer(event: MouseEvent, view: EditorView): boolean {
  const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
  if (!(event.ctrlKey || event.metaKey) || event.button !== 0 || at === null) return false;
  view.dispatch({ selection: { anchor: at } });
  return jumpToDefinition(view);
}
