// The control-flow graph of a function. Its blocks are linked with the text, both ways.

import { element } from "../dom";
import type { Block, ControlFlow } from "../server/protocol";
import type { Session } from "../session";
import { isDark } from "../theme";
import { FunctionChoice } from "./function_choice";
import { note, type Panel } from "./panel";
import { Viewport } from "./viewport";

const STYLE = `
:host { display: block; }
svg { display: block; }
[data-block] { cursor: pointer; outline: none; }
[data-block]:focus-visible rect, [data-block]:hover rect { stroke: var(--select); stroke-width: 2px; }
[data-block].current rect { stroke: var(--select); stroke-width: 3.5px; }
`;

class ControlFlowPanel implements Panel {
  readonly id = "control-flow";
  readonly title = "Control flow";
  readonly body = element("div", { class: "panel filled" });
  private readonly choice: FunctionChoice;
  private readonly viewport = new Viewport("Control-flow graph");
  private readonly info = element("p", { class: "info", role: "status" });
  private readonly host = element("div");
  private blocks: readonly Block[] = [];
  private drawn: string | null = null;
  private current: number | null = null;

  constructor(private readonly session: Session) {
    this.choice = new FunctionChoice(session, this.id);
    this.host.attachShadow({ mode: "open" });
  }

  async refresh(): Promise<void> {
    if (!(await this.choice.refresh())) return;
    if (!this.choice.current) {
      this.drawn = null;
      this.body.replaceChildren(note("The document has no function with a body."));
      return;
    }
    if (!this.viewport.element.isConnected) {
      this.body.replaceChildren(element("div", { class: "bar" }, this.choice.element, this.viewport.controls), this.viewport.element, this.info);
    }
    await this.draw();
  }

  cursorMoved(): void {
    if (this.choice.followCursor()) void this.draw();
    else this.markCurrent();
  }

  themeChanged(): void {
    if (!this.body.hidden && this.drawn) void this.draw();
  }

  private async draw(): Promise<void> {
    const name = this.choice.current?.name;
    if (!name) return;
    const answer = await this.session.ask<ControlFlow>("ptxkit/controlFlow", { function: name, theme: isDark() ? "dark" : "light" });
    if (!answer) return;
    this.blocks = answer.result.blocks;
    this.showPicture(answer.result.svg);
    if (this.drawn !== name) this.viewport.fit();
    this.drawn = name;
    this.current = null;
    this.markCurrent();
  }

  private showPicture(svg: string): void {
    const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    for (const block of picture.querySelectorAll("[data-block]")) this.prepare(block);
    this.host.shadowRoot?.replaceChildren(element("style", {}, STYLE), picture);
    this.viewport.show(this.host, Number(picture.getAttribute("width")), Number(picture.getAttribute("height")));
  }

  /** Makes a block of the picture a button. */
  private prepare(drawn: Element): void {
    const block = this.blocks.find(({ id }) => String(id) === drawn.getAttribute("data-block"));
    if (!block) return;
    const select = (): void => this.session.select(block.range);
    drawn.setAttribute("tabindex", "0");
    drawn.setAttribute("role", "button");
    drawn.setAttribute("aria-label", `Block ${block.id}, ${lines(block)}`);
    drawn.addEventListener("click", select);
    drawn.addEventListener("keydown", (event) => {
      if ((event as KeyboardEvent).key !== "Enter") return;
      event.preventDefault();
      select();
    });
  }

  /** Marks the block of the cursor. */
  private markCurrent(): void {
    const line = this.session.cursorLine;
    const block = this.blocks.find(({ range }) => range.start.line <= line && line <= range.end.line) ?? null;
    const root = this.host.shadowRoot;
    root?.querySelector(".current")?.classList.remove("current");
    this.info.textContent = block ? describe(block) : "The cursor is in no block.";
    const drawn = block && root?.querySelector(`[data-block="${block.id}"]`);
    drawn?.classList.add("current");
    if (drawn && block.id !== this.current) this.viewport.reveal(drawn.getBoundingClientRect());
    this.current = block?.id ?? null;
  }
}

function lines({ range }: Block): string {
  const [first, last] = [range.start.line + 1, range.end.line + 1];
  return first === last ? `line ${first}` : `lines ${first} to ${last}`;
}

function describe(block: Block): string {
  const list = (names: string[] | null): string => (names ? names.join(", ") || "none" : "too many to list");
  return `Block ${block.id}, ${lines(block)}, loop depth ${block.loopDepth}, pressure ${block.pressure}. Live before: ${list(block.liveIn)}. Live after: ${list(block.liveOut)}.`;
}

export function controlFlowPanel(session: Session): Panel {
  return new ControlFlowPanel(session);
}
