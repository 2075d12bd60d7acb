/** A table that can be sorted by any column. A column has a title, a value, and perhaps `show`, `class` and `number`. */
function sortable(columns, rows, options = {}) {
  const body = element("tbody");
  const made = rows.map((row) => {
    const cells = columns.map((column) => {
      const shown = column.show ? column.show(row) : column.value(row);
      return element("td", { class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null, title: column.hint?.(row) }, shown === null || shown === undefined ? "" : shown);
    });
    return { row, made: element("tr", options.row?.(row) ?? {}, cells) };
  });
  const heads = columns.map((column, index) => element("th", { class: column.number ? "number" : null, scope: "col" },
    column.value ? element("button", { title: column.about, onclick: () => sort(index) }, column.title) : column.title));
  let order = [-1, 1];
  function sort(index) {
    const { value, number } = columns[index];
    const direction = order[0] === index ? -order[1] : number ? -1 : 1;
    order = [index, direction];
    heads.forEach((head, at) => head.setAttribute("aria-sort", at !== index ? "none" : direction > 0 ? "ascending" : "descending"));
    const missing = (v) => v === null || v === undefined || v === "";
    made.sort((a, b) => {
      const [left, right] = [value(a.row), value(b.row)];
      if (missing(left) || missing(right)) return missing(left) - missing(right);
      return direction * (typeof left === "number" ? left - right : String(left).localeCompare(String(right)));
    });
    body.append(...made.map((entry) => entry.made));
  }
  body.append(...made.map((entry) => entry.made));
  const table = element("table", {}, element("thead", {}, element("tr", {}, heads)), body);
  return framed(element("div", { class: "tall", tabindex: 0, role: "region", "aria-label": options.label ?? "Table" }, table));
}

/** Says that a list is not complete. */
const shortened = (list, what) => (list.list.length < list.all ? element("p", { class: "dim" }, `${list.list.length} of ${list.all} ${what}; ptxkit report --format json has all of them.`) : null);
