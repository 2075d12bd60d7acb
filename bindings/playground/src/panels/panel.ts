// What the panels beside the editor have in common.

import { element } from "../dom";
import type { Session } from "../session";

export interface Panel {
  readonly id: string;
  readonly title: string;
  readonly body: HTMLElement;
  /** Shows the document as it is. Called when the panel is visible and the document was checked since the last call. */
  refresh(): Promise<void> | void;
  /** The cursor has moved. Called when the panel is visible and up to date. */
  cursorMoved?(): void;
  /** The colors have changed. */
  themeChanged?(): void;
}

/** Creates a panel of a session. */
export type PanelOf = (session: Session) => Panel;

/** A message instead of the contents of a panel. */
export function note(text: string, kind: "note" | "failure" = "note"): HTMLElement {
  return element("p", { class: kind, role: kind === "failure" ? "alert" : undefined }, text);
}
