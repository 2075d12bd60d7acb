// On which targets each function is legal, and what excludes the others.

import { button, element, framed, namesOf, withCode } from "../dom";
import type { FunctionNeeds, Needs, Requirements } from "../server/protocol";
import type { Session } from "../session";
import type { Panel } from "./panel";

interface Row {
  name: string;
  /** All names of the function. */
  names: string;
  needs: Needs;
}

class RequirementsPanel implements Panel {
  readonly id = "requirements";
  readonly title = "Requirements";
  readonly body = element("div", { class: "panel" });
  private readonly reasons = element("section", { class: "reasons", "aria-live": "polite" });
  /** The row whose reasons are shown. */
  private chosen = "";

  constructor(private readonly session: Session) {}

  async refresh(): Promise<void> {
    const answer = await this.session.ask<Requirements>("ptxkit/requirements");
    if (!answer) return;
    const { targets, functions, module } = answer.result;
    const rows: Row[] = [{ name: "The whole file", names: "", needs: module }, ...functions.map((f) => ({ name: nameOf(f), names: namesOf(f), needs: f }))];
    const table = element("table", { class: "matrix" }, head(targets), element("tbody", {}, ...rows.map((row) => this.row(row, targets))));
    const explanation = "The lowest PTX version on each target; an empty cell means that it is not legal there. A name shows the reasons.";
    this.body.replaceChildren(element("p", {}, explanation), framed(element("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": "Requirements by target" }, table)), this.reasons);
    const shown = rows.find((row) => row.name === this.chosen) ?? rows[0];
    if (shown) this.showReasons(shown);
  }

  private row(row: Row, targets: string[]): HTMLElement {
    const cells = targets.map((target, index) => cell(target, row.needs.versions[index] ?? null));
    const name = button(row.name, () => this.showReasons(row), { class: "link", title: row.names || undefined });
    return element("tr", {}, element("th", { scope: "row" }, name), ...cells);
  }

  private showReasons({ name, needs }: Row): void {
    this.chosen = name;
    const lowest = needs.version === null ? "It is legal with no PTX version." : `It needs PTX ${needs.version} or newer.`;
    const items = needs.reasons.map((reason) => {
      const jump = button("", () => this.session.select(reason.range), { class: "link" });
      jump.append(...withCode(reason.text));
      return element("li", {}, jump);
    });
    const list = items.length ? element("ul", {}, ...items) : element("p", {}, "Nothing in it needs more than the first version.");
    this.reasons.replaceChildren(element("h3", {}, name), element("p", {}, lowest), list);
  }
}

function nameOf({ kind, name, demangled }: FunctionNeeds): string {
  return `${kind} ${demangled ?? name}`;
}

function head(targets: string[]): HTMLElement {
  const names = targets.map((target) => element("th", { scope: "col" }, element("span", {}, target)));
  return element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Function"), ...names));
}

function cell(target: string, version: string | null): HTMLElement {
  const text = version === null ? `not legal on ${target}` : `legal on ${target} from PTX ${version}`;
  return element("td", { class: version === null ? "no" : "yes", title: text, "aria-label": text }, version ?? "");
}

export function requirementsPanel(session: Session): Panel {
  return new RequirementsPanel(session);
}
