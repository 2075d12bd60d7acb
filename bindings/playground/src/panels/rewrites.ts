// Rewrites of the whole document, shown as a difference before they are made.

import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { button, element } from "../dom";
import { editorTheme } from "../editor/theme";
import type { Rewrite, Rewritten } from "../server/protocol";
import { messageOf, type Session } from "../session";
import { isDark } from "../theme";
import { OptionsForm } from "./options_form";
import { note, type Panel } from "./panel";

class RewritesPanel implements Panel {
  readonly id = "rewrites";
  readonly title = "Rewrites";
  readonly body = element("div", { class: "panel filled" });
  private readonly select = element("select", { id: "rewrite", change: () => this.choose() });
  private readonly description = element("p");
  private readonly form = new OptionsForm(() => void this.preview());
  private readonly result = element("div", { class: "result" });
  private readonly apply = button("Apply", () => this.applyText(), { class: "primary" });
  private readonly outcome = element("span", { role: "status" });
  private rewrites: readonly Rewrite[] = [];
  private diff: EditorView | null = null;
  private text: string | null = null;

  constructor(private readonly session: Session) {}

  async refresh(): Promise<void> {
    if (!this.rewrites.length) await this.list();
    await this.preview();
  }

  themeChanged(): void {
    if (!this.body.hidden && this.diff) void this.preview();
  }

  private async list(): Promise<void> {
    this.rewrites = await this.session.client.request<object, Rewrite[]>("ptxkit/rewrites", {});
    this.select.replaceChildren(...this.rewrites.map(({ name, title }) => element("option", { value: name }, title)));
    const choice = element("label", { class: "choice" }, "Rewrite ", this.select);
    this.body.replaceChildren(element("div", { class: "bar" }, choice, this.apply, this.outcome), this.description, this.form.element, this.result);
    this.showChoice();
  }

  private get chosen(): Rewrite | undefined {
    return this.rewrites[this.select.selectedIndex];
  }

  private choose(): void {
    this.showChoice();
    void this.preview();
  }

  private showChoice(): void {
    this.description.textContent = this.chosen?.description ?? "";
    this.form.show(this.chosen?.options ?? []);
  }

  /** Shows what the rewrite changes. */
  private async preview(): Promise<void> {
    const { chosen } = this;
    if (!chosen) return;
    this.text = null;
    this.apply.disabled = true;
    const missing = this.form.missing;
    if (missing) {
      this.show(note(`Please enter: ${missing}.`));
      return;
    }
    const params = { name: chosen.name, options: this.form.values };
    try {
      const answer = await this.session.ask<Rewritten>("ptxkit/rewrite", params);
      if (answer && this.chosen === chosen) this.showResult(answer.doc.toString(), answer.result);
    } catch (error) {
      if (this.chosen === chosen) this.show(note(messageOf(error), "failure"));
    }
  }

  private show(...contents: Node[]): void {
    this.diff?.destroy();
    this.diff = null;
    this.outcome.textContent = "";
    this.result.replaceChildren(...contents);
  }

  private showResult(before: string, { text, notes }: Rewritten): void {
    const hints = notes.map((text) => note(text));
    if (before === text) {
      this.show(note("It changes nothing in this document."), ...hints);
      return;
    }
    const parent = element("div", { class: "diff" });
    this.show(...hints, parent);
    this.text = text;
    this.apply.disabled = false;
    const more = text.length - before.length;
    this.outcome.textContent = `${text.length} characters, ${Math.abs(more)} ${more > 0 ? "more" : "fewer"}`;
    this.showDifference(parent, before, text);
  }

  private showDifference(parent: HTMLElement, before: string, after: string): void {
    const extensions = [
      lineNumbers(),
      editorTheme(isDark()),
      EditorState.readOnly.of(true),
      EditorView.contentAttributes.of({ "aria-label": "Difference", tabindex: "0" }),
      unifiedMergeView({ original: before, mergeControls: false, gutter: true, collapseUnchanged: { margin: 3, minSize: 6 }, diffConfig: { scanLimit: 2000, timeout: 500 } }),
    ];
    this.diff = new EditorView({ doc: after, extensions, parent });
  }

  private applyText(): void {
    const { text } = this;
    if (text === null) return;
    const { view } = this.session;
    const { doc } = view.state;
    const line = doc.lineAt(view.state.selection.main.head).number;
    view.dispatch({ changes: { from: 0, to: doc.length, insert: text }, userEvent: "input.rewrite" });
    view.dispatch({ selection: { anchor: view.state.doc.line(Math.min(line, view.state.doc.lines)).from } });
  }
}

export function rewritesPanel(session: Session): Panel {
  return new RewritesPanel(session);
}

