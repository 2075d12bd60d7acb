/** The row of the code that shows a line of the file; `null` if the page does not show it. */
const codeRow = (line) => document.querySelector(`.listing tr[data-line="${line}"]`);

/** A line number that shows its line in the code. */
function lineLink(line) {
  if (line === null || line === undefined) return "";
  return element("button", { class: "link", title: "Show the line in the code", onclick: () => goToLine(line) }, String(line));
}

function goToLine(line) {
  const row = codeRow(line);
  if (!row) return;
  select(row);
  row.scrollIntoView({ block: "center" });
  row.focus({ preventScroll: true });
}

/** Marks a line, and all lines that come from the same source line. */
function select(row) {
  for (const marked of document.querySelectorAll(".listing .linked, .listing .selected")) marked.classList.remove("linked", "selected");
  row.classList.add("selected");
  const { source } = row.dataset;
  if (source === undefined) return;
  for (const other of document.querySelectorAll(`.listing tr[data-source="${source}"]`)) other.classList.add("linked");
}

/** Source lines, PTX and machine code beside each other. */
function codePane(code, losses) {
  if (!code.lines.length) return [element("p", { class: "dim" }, "The code is not in the page because the file has too many lines: ptxkit sass and ptxkit source show it.")];
  const lossOf = new Map(losses.map((loss) => [loss.line, loss]));
  const most = Math.max(1, ...code.lines.map((line) => line.counts?.executions ?? 0));
  let last = null;
  const rows = code.lines.map((line) => {
    const source = line.source === undefined ? null : code.sources[line.source];
    const isNew = source !== null && line.source !== last;
    if (source !== null) last = line.source;
    const cells = [element("td", { class: "number" }, String(line.line))];
    if (code.has_counts) {
      const counts = line.counts;
      const share = counts ? Math.round((60 * counts.executions) / most) : 0;
      cells.push(
        element("td", { class: "number", style: share ? `background: color-mix(in srgb, var(--floating) ${share}%, transparent)` : null }, counts ? amount(counts.executions) : ""),
        element("td", { class: "number" }, counts?.sectors ? amount(counts.sectors) : ""), element("td", { class: "number" }, counts?.conflicts ? amount(counts.conflicts) : ""));
    }
    if (code.sources.length) cells.push(element("td", { class: "source" }, isNew ? [element("small", {}, source.place), source.text ? ` ${source.text}` : ""] : ""));
    cells.push(element("td", { class: line.is_label ? "label" : "ptx" }, line.text));
    if (code.has_machine_code) {
      const hidden = line.all_sass ? [`… ${line.all_sass - line.sass.length} more`] : [];
      cells.push(element("td", { class: "sass" }, [...(line.sass ?? []), ...hidden].join("\n")));
    }
    const row = element("tr", { "data-line": line.line, "data-source": line.source ?? null, tabindex: -1, class: lossOf.has(line.line) ? "bad" : null }, cells);
    row.addEventListener("click", () => select(row));
    return row;
  });
  const heads = ["Line", ...(code.has_counts ? ["Executions", "Sectors", "Conflicts"] : []), ...(code.sources.length ? ["Source"] : []), "PTX", ...(code.has_machine_code ? ["Machine code"] : [])];
  const table = element("table", { class: "listing" }, element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))), element("tbody", {}, rows));
  const notes = [
    code.has_machine_code ? null : "Machine code is shown with --ptxas and --sass.",
    code.lines.length < code.all ? `The first ${code.lines.length} of ${code.all} lines.` : null,
  ].filter(Boolean);
  return [
    notes.length ? element("p", { class: "dim" }, notes.join(" ")) : null,
    framed(element("div", { class: "tall", tabindex: 0, role: "region", "aria-label": "Code" }, table)),
  ];
}

/** The source lines that lose most sectors. */
function lossTable(losses) {
  const columns = [
    { title: "Line", number: true, value: (l) => l.line, show: (l) => lineLink(l.line) }, { title: "Source", value: (l) => l.source }, { title: "Instruction", value: (l) => l.mnemonic, class: "code" },
    { title: "Excess sectors", number: true, value: (l) => l.excess, show: (l) => amount(l.excess), class: "cost", about: "Sectors beyond those that contiguous accesses need" },
    { title: "Sectors", number: true, value: (l) => l.sectors, show: (l) => amount(l.sectors) }, { title: "Executions", number: true, value: (l) => l.executions, show: (l) => amount(l.executions) }, { title: "Accesses", number: true, value: (l) => l.accesses },
  ];
  const measured = losses.some((loss) => loss.is_measured);
  return [
    element("p", { class: "dim" }, measured ? "As the profile counted them." : "Of one warp; each loop is assumed to have the same number of iterations as in the sums above."),
    sortable(columns, losses, { label: "Lost sectors", row: () => ({ class: "bad" }) }),
  ];
}

/** What ptxas made of the function. */
function machineFacts(details) {
  const facts = [];
  const { ptxas, sass } = details;
  if (ptxas) {
    const spills = ptxas.spill_store_bytes + ptxas.spill_load_bytes;
    facts.push(["Machine code", [ptxas.registers === undefined ? null : counted(ptxas.registers, "register"), spills ? `${bytes(spills)} of spills` : "no spills", ptxas.shared_bytes ? `${bytes(ptxas.shared_bytes)} of shared memory` : null].filter(Boolean).join(", ")]);
    for (const message of ptxas.messages ?? []) facts.push([message.code ?? "ptxas", `${message.line ? `line ${message.line}: ` : ""}${message.message}`]);
  }
  if (sass) {
    facts.push(["Machine instructions", amount(sass.instructions)]);
    const wide = Object.entries(sass.opcodes).filter(([opcode]) => /^(LD|ST)[GSL](STS)?\b|MMA\b|^LDSM|^UTMA/.test(opcode)).sort((a, b) => b[1] - a[1]).slice(0, 10);
    if (wide.length) facts.push(["Memory and matrices", wide.map(([opcode, count]) => `${opcode} ${count}`).join(", ")]);
    const spilled = sass.local.filter((l) => l.spills).slice(0, 8);
    if (spilled.length) facts.push(["Spills by line", spilled.map((l) => `line ${l.line}: ${counted(l.stores, "store")}, ${counted(l.loads, "load")}`).join("; ")]);
    const unrolled = sass.loops.filter((l) => l.line && l.copies > 1);
    if (unrolled.length) facts.push(["Unrolled loops", unrolled.map((l) => `line ${l.line}: about ${l.copies} times`).join("; ")]);
  }
  return facts;
}
