// Which function a panel shows: the one of the cursor, or the last one that the cursor was in.

import { element, namesOf } from "../dom";
import type { FunctionInfo } from "../server/protocol";
import type { Session } from "../session";

export class FunctionChoice {
  readonly element: HTMLElement;
  private readonly select: HTMLSelectElement;
  private functions: readonly FunctionInfo[] = [];
  private name: string | null = null;

  constructor(
    private readonly session: Session,
    id: string,
  ) {
    this.select = element("select", { id: `${id}-function`, change: () => this.goTo(this.select.selectedIndex) });
    this.element = element("label", { class: "choice" }, "Function ", this.select);
  }

  /** The function to show; `null` if there is none. */
  get current(): FunctionInfo | null {
    return this.functions.find((f) => f.name === this.name) ?? null;
  }

  /** Lists the functions of the document. Returns `false` if the document has changed in the meantime. */
  async refresh(): Promise<boolean> {
    const answer = await this.session.ask<FunctionInfo[]>("ptxkit/functions");
    if (!answer) return false;
    this.functions = answer.result;
    this.select.replaceChildren(...this.functions.map((f) => element("option", { value: f.name, title: namesOf(f) }, f.demangled ?? f.name)));
    if (!this.current) this.name = this.functions[0]?.name ?? null;
    this.followCursor();
    return true;
  }

  /** Chooses the function of the cursor. Returns whether that is another one than before. */
  followCursor(): boolean {
    const line = this.session.cursorLine;
    const inside = this.functions.find(({ range }) => range.start.line <= line && line <= range.end.line);
    const before = this.name;
    if (inside) this.name = inside.name;
    this.select.selectedIndex = this.functions.findIndex((f) => f.name === this.name);
    this.select.title = this.current ? namesOf(this.current) : "";
    return this.name !== before;
  }

  private goTo(index: number): void {
    const chosen = this.functions[index];
    if (!chosen) return;
    const { line } = chosen.range.start;
    this.session.reveal(line);
  }
}
