// The register pressure along the text of a function, and the registers that are live at the cursor.

import { drawing, element } from "../dom";
import type { LiveLine, Liveness } from "../server/protocol";
import type { Session } from "../session";
import { FunctionChoice } from "./function_choice";
import { note, type Panel } from "./panel";

const HEIGHT = 180;
/** The space for the numbers of the axes. */
const LEFT = 34;
const BELOW = 18;

/** Where lines and numbers of registers are in the chart. */
class Scales {
  constructor(
    readonly width: number,
    private readonly first: number,
    private readonly last: number,
    private readonly most: number,
  ) {}

  x(line: number): number {
    return LEFT + ((line - this.first) / Math.max(1, this.last - this.first)) * (this.width - LEFT - 8);
  }

  y(registers: number): number {
    return 8 + (1 - registers / Math.max(1, this.most)) * (HEIGHT - BELOW - 8);
  }

  /** The line at a place of the chart. */
  line(x: number): number {
    const share = (x - LEFT) / (this.width - LEFT - 8);
    return Math.round(this.first + Math.min(1, Math.max(0, share)) * (this.last - this.first));
  }
}

class LivenessPanel implements Panel {
  readonly id = "liveness";
  readonly title = "Liveness";
  readonly body = element("div", { class: "panel" });
  private readonly choice: FunctionChoice;
  private readonly chart = element("div", { class: "chart" });
  private readonly peak = element("p", { class: "peak" });
  private readonly here = element("div", { role: "status" });
  private liveness: Liveness | null = null;
  private cursor: SVGLineElement | null = null;
  private scales: Scales | null = null;

  constructor(private readonly session: Session) {
    this.choice = new FunctionChoice(session, this.id);
  }

  async refresh(): Promise<void> {
    if (!(await this.choice.refresh())) return;
    if (!this.choice.current) {
      this.body.replaceChildren(note("The document has no function with a body."));
      return;
    }
    if (!this.chart.isConnected) this.body.replaceChildren(element("div", { class: "bar" }, this.choice.element), this.peak, this.chart, this.here);
    await this.load();
  }

  cursorMoved(): void {
    if (this.choice.followCursor()) void this.load();
    else this.showCursor();
  }

  private async load(): Promise<void> {
    const name = this.choice.current?.name;
    if (!name) return;
    const answer = await this.session.ask<Liveness | null>("ptxkit/liveness", { function: name });
    if (!answer) return;
    this.liveness = answer.result;
    this.showPeak();
    this.draw();
    this.showCursor();
  }

  private showPeak(): void {
    const peak = this.liveness?.peak;
    const line = peak?.line ?? null;
    if (!peak || line === null) {
      this.peak.replaceChildren("No register is live in this function.");
      return;
    }
    const jump = element("button", { type: "button", class: "link", click: () => this.session.goToLine(line) }, `line ${line + 1}`);
    this.peak.replaceChildren(`Most live registers: ${peak.total}, at `, jump, `. A register of 64 bits counts as two, a predicate not at all. Most of each class: ${classes(peak.perClass)}.`);
  }

  private draw(): void {
    const { lines, peak } = this.liveness ?? { lines: [], peak: { total: 0, line: null } };
    const [first, last] = [lines[0], lines.at(-1)];
    if (!first || !last) {
      this.chart.replaceChildren(note("The function has no instructions."));
      return;
    }
    const scales = new Scales(Math.max(280, this.body.clientWidth - 26), first.line, last.line, peak.total);
    this.scales = scales;
    this.cursor = drawing("line", { class: "cursor", y1: 8, y2: HEIGHT - BELOW });
    const label = `Register pressure from line ${first.line + 1} to line ${last.line + 1}, at most ${peak.total}`;
    const svg = drawing("svg", { viewBox: `0 0 ${scales.width} ${HEIGHT}`, role: "img", "aria-label": label, click: (event) => this.click(event as MouseEvent) });
    svg.append(...axes(scales, first.line, last.line, peak.total), drawing("path", { class: "curve", d: curve(scales, lines) }));
    if (peak.line !== null) svg.append(drawing("circle", { class: "maximum", cx: scales.x(peak.line), cy: scales.y(peak.total), r: 4.5 }, drawing("title", {}, `peak: ${peak.total}`)));
    svg.append(this.cursor);
    this.chart.replaceChildren(svg);
  }

  /** Moves the cursor to the line under the pointer. */
  private click(event: MouseEvent): void {
    const svg = event.currentTarget as SVGSVGElement;
    const { left, width } = svg.getBoundingClientRect();
    if (this.scales) this.session.reveal(this.scales.line(((event.clientX - left) / width) * this.scales.width));
  }

  private showCursor(): void {
    const line = this.session.cursorLine;
    const at = this.liveness?.lines.findLast((entry) => entry.line <= line);
    const inside = at && line <= (this.liveness?.lines.at(-1)?.line ?? 0);
    this.cursor?.toggleAttribute("hidden", !inside);
    if (!inside || !this.scales) {
      this.here.replaceChildren(note("The cursor is at no instruction of this function."));
      return;
    }
    for (const name of ["x1", "x2"]) this.cursor?.setAttribute(name, String(this.scales.x(line)));
    this.here.replaceChildren(
      element("h3", {}, `Live before line ${at.line + 1}`),
      element("p", {}, `${at.total} at this instruction. By class: ${classes(at.pressure)}.`),
      registers(at.live),
    );
  }
}

/** `b32: 4, pred: 1` */
function classes(counts: Record<string, number>): string {
  const used = Object.entries(counts).filter(([, count]) => count > 0);
  return used.map(([name, count]) => `${name}: ${count}`).join(", ") || "none";
}

function registers(names: string[] | null): HTMLElement {
  if (!names) return note("The function has too many registers to list them.");
  return element("ul", { class: "registers", "aria-label": "Live registers" }, ...names.map((name) => element("li", {}, element("code", {}, name))));
}

/** A line that changes where instructions are. */
function curve(scales: Scales, lines: readonly LiveLine[]): string {
  const points = lines.map(({ line, total }, index) => {
    const x = scales.x(line).toFixed(1);
    return `${index ? `H${x}` : `M${x} ${scales.y(0).toFixed(1)}`}V${scales.y(total).toFixed(1)}`;
  });
  return `${points.join("")}V${scales.y(0).toFixed(1)}Z`;
}

function axes(scales: Scales, first: number, last: number, most: number): SVGElement[] {
  const levels = [0, Math.round(most / 2), most].filter((level, index, all) => all.indexOf(level) === index);
  const parts = levels.flatMap((level) => [
    drawing("line", { class: "grid", x1: LEFT, x2: scales.width - 8, y1: scales.y(level), y2: scales.y(level) }),
    drawing("text", { x: LEFT - 6, y: scales.y(level) + 4, "text-anchor": "end" }, String(level)),
  ]);
  const lineNumber = (line: number, anchor: string): SVGElement => drawing("text", { x: scales.x(line), y: HEIGHT - 4, "text-anchor": anchor }, `line ${line + 1}`);
  return [...parts, lineNumber(first, "start"), lineNumber(last, "end")];
}

export function livenessPanel(session: Session): Panel {
  return new LivenessPanel(session);
}
