// The tabs of the panels, as ARIA describes them: arrow keys move between the tabs, and only the selected one is in the order of Tab.

import { element } from "../dom";
import { messageOf } from "../session";
import { note, type Panel } from "./panel";

export class Tabs {
  readonly element: HTMLElement;
  private readonly tabs = new Map<string, HTMLButtonElement>();
  private readonly list: HTMLElement;
  private current: Panel;
  /** The panels that show the document as it is. */
  private readonly fresh = new Set<Panel>();

  constructor(private readonly panels: readonly Panel[]) {
    this.list = element("div", { role: "tablist", "aria-label": "Panels", keydown: (event) => this.moveByKey(event as KeyboardEvent) });
    for (const { id, title, body } of panels) {
      const tab = element("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}`, click: () => this.show(id) }, title);
      this.tabs.set(id, tab);
      this.list.append(tab);
      for (const [name, value] of Object.entries({ role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}` })) body.setAttribute(name, value);
    }
    this.element = element("section", { class: "panels", "aria-label": "Analyses" }, this.list, ...panels.map((panel) => panel.body));
    this.current = panels[0] as Panel;
    this.select(this.current);
  }

  get currentId(): string {
    return this.current.id;
  }

  /** Shows a panel; nothing happens if there is none with the id. */
  show(id: string): void {
    const panel = this.panels.find((p) => p.id === id);
    if (!panel) return;
    this.select(panel);
    void this.update();
  }

  /** The document was checked: what the panels show is out of date. */
  outdated(): void {
    this.fresh.clear();
    void this.update();
  }

  cursorMoved(): void {
    if (this.fresh.has(this.current)) this.current.cursorMoved?.();
  }

  themeChanged(): void {
    for (const panel of this.panels) panel.themeChanged?.();
  }

  private select(panel: Panel): void {
    this.current = panel;
    for (const { id, body } of this.panels) {
      const tab = this.tabs.get(id);
      const selected = id === panel.id;
      body.hidden = !selected;
      tab?.setAttribute("aria-selected", String(selected));
      if (tab) tab.tabIndex = selected ? 0 : -1;
    }
    this.tabs.get(panel.id)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  private async update(): Promise<void> {
    const panel = this.current;
    if (this.fresh.has(panel)) {
      panel.cursorMoved?.();
      return;
    }
    this.fresh.add(panel);
    panel.body.setAttribute("aria-busy", "true");
    try {
      await panel.refresh();
    } catch (error) {
      panel.body.replaceChildren(note(messageOf(error), "failure"));
    }
    panel.body.removeAttribute("aria-busy");
  }

  private moveByKey(event: KeyboardEvent): void {
    const at = this.panels.indexOf(this.current);
    const count = this.panels.length;
    const targets: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: count - 1 };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    const { id } = this.panels[(target + count) % count] as Panel;
    this.show(id);
    this.tabs.get(id)?.focus();
  }
}
