// The look of the editor; the colors are in style.css.

import { Compartment, type Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

const look = {
  "&": { height: "100%", backgroundColor: "var(--page)", color: "var(--text)" },
  "&.cm-focused": { outline: "1px solid var(--accent)", outlineOffset: "-1px" },
  ".cm-scroller": { fontFamily: "var(--code-font)", fontSize: "var(--code-size)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--bar)", color: "var(--dim)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "var(--active-line)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--active-line)", color: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-tooltip": { backgroundColor: "var(--bar)", color: "var(--text)", border: "1px solid var(--border)", borderRadius: "6px", maxWidth: "min(44rem, 92vw)" },
  ".cm-tooltip.cm-tooltip-hover, .cm-lsp-hover-tooltip": { maxHeight: "min(18rem, 45vh)", overflow: "auto" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-panels": { backgroundColor: "var(--bar)", color: "var(--text)" },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--on-accent)", padding: "3px 8px" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--bar)", border: "1px solid var(--border)", color: "var(--dim)" },
};

const theme = new Compartment();

function themeOf(dark: boolean): Extension {
  return EditorView.theme(look, { dark });
}

export function editorTheme(dark: boolean): Extension {
  return theme.of(themeOf(dark));
}

/** Changes the theme of an editor. */
export function setEditorTheme(view: EditorView, dark: boolean): void {
  view.dispatch({ effects: theme.reconfigure(themeOf(dark)) });
}
