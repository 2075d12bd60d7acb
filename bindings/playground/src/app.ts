// The parts of the page and how they work together.

import type { Transport } from "@codemirror/lsp-client";
import { first } from "./document/examples";
import { acceptDrops } from "./document/files";
import { fragmentOf, type Shared } from "./document/permalink";
import { element } from "./dom";
import { createSession } from "./editor/editor";
import { refreshFolding } from "./editor/folding";
import { problemsField } from "./editor/problems";
import { setEditorTheme } from "./editor/theme";
import { controlFlowPanel } from "./panels/control_flow";
import { explainPanel } from "./panels/explain";
import { livenessPanel } from "./panels/liveness";
import type { PanelOf } from "./panels/panel";
import { problemsPanel, summary } from "./panels/problems";
import { requirementsPanel } from "./panels/requirements";
import { rewritesPanel } from "./panels/rewrites";
import { runPanel } from "./panels/run";
import { statisticsPanel } from "./panels/statistics";
import { Tabs } from "./panels/tabs";
import { projectLinks } from "./project";
import type { Session } from "./session";
import { isDark, startTheme } from "./theme";
import { toolbar } from "./toolbar";

const panels: PanelOf[] = [problemsPanel, controlFlowPanel, livenessPanel, requirementsPanel, statisticsPanel, rewritesPanel, runPanel, explainPanel];
/** How long nothing is typed before the list of problems is drawn again, and before another panel is computed again, in milliseconds. */
const PROBLEMS_DELAY = 60;
const PANEL_DELAY = 150;
const FOLDING_DELAY = 400;

export class App {
  readonly session: Session;
  readonly tabs: Tabs;
  private readonly failure = element("div", { class: "banner", role: "alert", hidden: true });
  private readonly counts = element("span", { role: "status", class: "counts" }, "Loading…");
  private readonly place = element("span", { class: "place" });
  private panelTimer = 0;
  private foldingTimer = 0;

  /** Shows what a link contains, else the first example. */
  constructor(server: Transport, shared: Shared) {
    const invertTheme = startTheme((dark) => this.themeChanged(dark));
    const editor = element("section", { class: "editor", "aria-label": "Editor" });
    const events = { checked: () => this.checked(), fixesKnown: () => this.fixesKnown(), updated: () => this.updated() };
    this.session = createSession(editor, shared.text ?? first.text, isDark(), server, events);
    this.tabs = new Tabs(panels.map((panel) => panel(this.session)));
    const bar = toolbar(this.session, { invertTheme, link: () => this.link() });
    const status = element("footer", {}, this.counts, this.place, projectLinks());
    document.body.append(bar, this.failure, element("main", {}, editor, this.tabs.element), status);
    acceptDrops(this.session);
    if (shared.panel) this.tabs.show(shared.panel);
    this.updated();
  }

  /** Shows what a link contains. */
  show({ text, panel }: Shared): void {
    if (panel) this.tabs.show(panel);
    if (text !== null) this.session.open(text);
  }

  /** Puts a link to the document and the panel into the address bar, and returns it. */
  private async link(): Promise<string> {
    history.replaceState(null, "", await fragmentOf(this.session.text, this.tabs.currentId));
    return location.href;
  }

  serverFailed(message: string): void {
    this.counts.textContent = "Not checked";
    this.showFailure(`The language server cannot run: ${message}. Editing works; checks, hints and panels do not.`, true);
  }

  showFailure(message: string, reload = false): void {
    this.failure.hidden = false;
    this.failure.replaceChildren(message, " ");
    if (reload) this.failure.append(element("button", { type: "button", click: () => location.reload() }, "Reload"));
  }

  /** The language server has checked the document. */
  private checked(): void {
    const { list } = this.session.view.state.field(problemsField);
    this.counts.textContent = summary(list);
    this.updatePanel();
    clearTimeout(this.foldingTimer);
    this.foldingTimer = window.setTimeout(() => void refreshFolding(this.session).catch(() => undefined), FOLDING_DELAY);
  }

  private fixesKnown(): void {
    if (this.tabs.currentId === "problems") this.updatePanel();
  }

  private updatePanel(): void {
    clearTimeout(this.panelTimer);
    this.panelTimer = window.setTimeout(() => this.tabs.outdated(), this.tabs.currentId === "problems" ? PROBLEMS_DELAY : PANEL_DELAY);
  }

  private updated(): void {
    const { doc, selection } = this.session.view.state;
    const line = doc.lineAt(selection.main.head);
    this.place.textContent = `Line ${line.number}, column ${selection.main.head - line.from + 1}`;
    this.tabs.cursorMoved();
  }

  private themeChanged(dark: boolean): void {
    setEditorTheme(this.session.view, dark);
    this.tabs.themeChanged();
  }
}
