// Explains instructions, modifiers, directives, special registers, types and codes of diagnostics.

import { button, element } from "../dom";
import { markdownToHtml } from "../server/markdown";
import { messageOf, type Session } from "../session";
import { note, type Panel } from "./panel";

const SUGGESTIONS = ["add.f32", "ld.global", "mma", "cp.async", ".maxntid", "%tid", ".f16x2"];
/** How long the reader types before the server is asked, in milliseconds. */
const DELAY = 120;

class ExplainPanel implements Panel {
  readonly id = "explain";
  readonly title = "Explain";
  readonly body = element("div", { class: "panel" });
  private readonly input = element("input", { id: "explain-word", type: "search", spellcheck: "false", autocomplete: "off", autocapitalize: "off", input: () => this.schedule() });
  private readonly answer = element("article", { class: "answer", "aria-live": "polite" });
  private timer = 0;

  constructor(private readonly session: Session) {
    const label = element("label", { for: "explain-word" }, "Instruction, directive, special register, type or code of a diagnostic");
    const suggestions = SUGGESTIONS.map((word) => button(word, () => this.search(word), { class: "suggestion" }));
    this.body.append(label, this.input, element("p", { class: "suggestions" }, ...suggestions), this.answer);
  }

  /** The answers do not depend on the document: the first time, the word at the cursor is explained. */
  refresh(): void {
    if (this.input.value) return;
    const word = wordAtCursor(this.session);
    if (word) this.search(word);
  }

  private schedule(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.show(), DELAY);
  }

  private search(word: string): void {
    this.input.value = word;
    void this.show();
  }

  private async show(): Promise<void> {
    const word = this.input.value.trim();
    if (!word) {
      this.answer.replaceChildren();
      return;
    }
    try {
      const markdown = await this.session.client.request<object, string | null>("ptxkit/explain", { word });
      if (word !== this.input.value.trim()) return;
      if (markdown) this.answer.innerHTML = markdownToHtml(markdown);
      else this.answer.replaceChildren(note(`PTX has no “${word}”.`));
    } catch (error) {
      this.answer.replaceChildren(note(messageOf(error), "failure"));
    }
  }
}

/** The word at the cursor, with its dots and percent signs, or else the first one of the line. */
function wordAtCursor({ view }: Session): string | null {
  const { doc, selection } = view.state;
  const line = doc.lineAt(selection.main.head);
  const at = selection.main.head - line.from;
  const before = /[\w.%:]*$/.exec(line.text.slice(0, at))?.[0] ?? "";
  const after = /^[\w.%:]*/.exec(line.text.slice(at))?.[0] ?? "";
  const word = before + after || (/[\w.%:]+/.exec(line.text)?.[0] ?? "");
  return /^[.%]?[a-z]/.test(word) ? word : null;
}

export function explainPanel(session: Session): Panel {
  return new ExplainPanel(session);
}
