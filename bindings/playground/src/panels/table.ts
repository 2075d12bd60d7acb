// Tables of panels.

import { element, framed } from "../dom";

/** A table; rows begin with their name. */
export function table(titles: string[], rows: (string | number | Node)[][], caption: string): HTMLElement {
  const head = element("tr", {}, ...titles.map((title) => element("th", { scope: "col" }, title)));
  const cells = (row: (string | number | Node)[]): HTMLElement[] =>
    row.map((value, index) => element(index ? "td" : "th", index ? {} : { scope: "row" }, typeof value === "number" ? String(value) : value));
  const body = rows.map((row) => element("tr", {}, ...cells(row)));
  const all = element("table", { class: "data" }, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body));
  return framed(element("div", { class: "scrolled", tabindex: 0, role: "region", "aria-label": caption }, all));
}
