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
[data-block][data-shade="1"] rect:first-of-type { fill: color-mix(in srgb, var(--accent) 22%, transparent); }
[data-block][data-shade="2"] rect:first-of-type { fill: color-mix(in srgb, var(--warning) 30%, transparent); }
[data-block][data-shade="3"] rect:first-of-type { fill: color-mix(in srgb, var(--error) 35%, transparent); }
[data-block].current rect { stroke: var(--select); stroke-width: 3.5px; }
`;

/** What colors of blocks show. Blocks get a shade from 0 (no color) to 3. */
const COLORS: readonly { name: string; title: string; legend: string; shade(block: Block, most: number): number }[] = [
  { name: "none", title: "No colors", legend: "", shade: () => 0 },
  {
    name: "divergence",
    title: "Divergence",
    legend: "Red: only some threads of a warp may execute it. Yellow: they may separate at its end.",
    shade: ({ uniform, branch }) => (uniform === "varying" ? 3 : branch === "varying" ? 2 : 0),
  },
  {
    name: "pressure",
    title: "Live registers",
    legend: "Red: at least nine tenths of the most live registers. Yellow: at least two thirds. Blue: at least one third.",
    shade: ({ pressure }, most) => (pressure === 0 ? 0 : pressure >= 0.9 * most ? 3 : pressure * 3 >= 2 * most ? 2 : pressure * 3 >= most ? 1 : 0),
  },
  { name: "lints", title: "Lints", legend: "Yellow: lints report something in it.", shade: ({ lints }) => (lints.length ? 2 : 0) },
];

class ControlFlowPanel implements Panel {
  readonly id = "control-flow";
  readonly title = "Control flow";
  readonly body = element("div", { class: "panel filled" });
  private readonly choice: FunctionChoice;
  private readonly viewport = new Viewport("Control-flow graph");
  private readonly info = element("p", { class: "info", role: "status" });
  private readonly host = element("div");
  private readonly colors = element("select", { "aria-label": "Colors", change: () => this.color() }, ...COLORS.map(({ name, title }) => element("option", { value: name }, title)));
  private readonly legend = element("p", { class: "note legend" });
  private blocks: readonly Block[] = [];
  private drawn: string | null = null;
  private picture = "";
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
      this.body.replaceChildren(element("div", { class: "bar" }, this.choice.element, this.colors, this.viewport.controls), this.viewport.element, this.legend, this.info);
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
    // The document is also checked again when its lints are known: they only change colors.
    if (answer.result.svg === this.picture && this.drawn === name) this.color();
    else this.showPicture(answer.result.svg);
    if (this.drawn !== name) this.viewport.fit();
    this.drawn = name;
    this.markCurrent();
  }

  private showPicture(svg: string): void {
    this.picture = svg;
    this.current = null;
    const picture = new DOMParser().parseFromString(svg, "image/svg+xml").documentElement;
    for (const block of picture.querySelectorAll("[data-block]")) this.prepare(block);
    this.host.shadowRoot?.replaceChildren(element("style", {}, STYLE), picture);
    this.color();
    this.viewport.show(this.host, Number(picture.getAttribute("width")), Number(picture.getAttribute("height")));
  }

  /** Gives the blocks of the picture the chosen colors. */
  private color(): void {
    const chosen = COLORS.find(({ name }) => name === this.colors.value);
    const most = Math.max(0, ...this.blocks.map(({ pressure }) => pressure));
    this.legend.textContent = chosen?.legend ?? "";
    this.legend.hidden = !chosen?.legend;
    for (const block of this.blocks) {
      const shade = chosen?.shade(block, most) ?? 0;
      this.host.shadowRoot?.querySelector(`[data-block="${block.id}"]`)?.setAttribute("data-shade", String(shade));
    }
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
  const lints = block.lints.length ? ` Lints: ${block.lints.join(", ")}.` : "";
  return `Block ${block.id}, ${lines(block)}, loop depth ${block.loopDepth}, pressure ${block.pressure}${divergence(block)}. Live before: ${list(block.liveIn)}. Live after: ${list(block.liveOut)}.${lints}`;
}

function divergence({ uniform, branch }: Block): string {
  if (uniform === "varying") return ", executed by some threads of a warp";
  return branch === "varying" ? ", threads of a warp may separate at its end" : "";
}

export function controlFlowPanel(session: Session): Panel {
  return new ControlFlowPanel(session);
}
