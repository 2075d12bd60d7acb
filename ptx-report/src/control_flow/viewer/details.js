
/** The most registers that a tooltip lists. */
const MOST_REGISTERS = 60;

/** The most machine instructions that are listed with an instruction. */
const MOST_MACHINE_INSTRUCTIONS = 40;

/** The machine instructions of an instruction, as far as they are listed. */
function machineCode({ sass = [] }) {
  const left = sass.length - MOST_MACHINE_INSTRUCTIONS;
  return left > 0 ? [...sass.slice(0, MOST_MACHINE_INSTRUCTIONS), `and ${left} more`] : sass;
}

/** The numbers of the registers that are live before and after an instruction; null if they are not known. */
function liveAt(block, inst) {
  if (!block.live_out) return null;
  let after = new Set(block.live_out);
  for (let at = block.insts.length - 1; ; at -= 1) {
    const before = new Set(after);
    block.insts[at].written.forEach((register) => before.delete(register));
    block.insts[at].read.forEach((register) => before.add(register));
    if (at === inst) return { before, after };
    after = before;
  }
}

/** The lines of the tooltip of an instruction, each with whether it is of less importance. */
function describeInst(graph, block, inst) {
  const { source, units } = block.insts[inst];
  const lines = [[block.text[inst], false]];
  if (source !== null) lines.push([graph.sources[source].full, true]);
  lines.push([`register pressure: ${units} of at most ${graph.units} (units of 32 bits)`, true]);
  const live = liveAt(block, inst);
  if (live) {
    const list = (set) => {
      const names = [...set].map((register) => graph.registers[register]);
      const more = names.length > MOST_REGISTERS ? ` and ${names.length - MOST_REGISTERS} more` : "";
      return names.length === 0 ? "none" : names.slice(0, MOST_REGISTERS).join(" ") + more;
    };
    lines.push([`live before (${live.before.size}): ${list(live.before)}`, false]);
    const added = [...live.after].filter((register) => !live.before.has(register));
    const ended = [...live.before].filter((register) => !live.after.has(register));
    if (added.length > 0) lines.push([`live from here: ${list(added)}`, false]);
    if (ended.length > 0) lines.push([`last use: ${list(ended)}`, false]);
  }
  for (const text of machineCode(block.insts[inst])) lines.push([text, true]);
  return lines;
}

class Tooltip {
  constructor(element) {
    this.element = element;
  }

  show(lines, x, y) {
    this.element.replaceChildren(...lines.map(([text, isDim]) => {
      const line = document.createElement("div");
      line.textContent = text;
      if (isDim) line.className = "dim";
      return line;
    }));
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    this.element.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
    this.element.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18}px`;
  }

  hide() {
    this.element.hidden = true;
  }
}

/** Long names without their middle; the tooltip has them whole. */
const foldNames = (text) => text.replace(/[\w$]{45,}/g, (name) => `${name.slice(0, 20)}…${name.slice(-20)}`);

/** All instructions of a block beside the graph. */
class Panel {
  constructor(element, tooltip) {
    this.element = element;
    this.tooltip = tooltip;
  }

  show(graph, block, matches) {
    const [title, summary, table] = this.element.querySelectorAll("h2, p, table");
    title.textContent = block.title;
    const edges = (from, to) => graph.edges.filter((e) => e[from] === block.id).map((e) => e[to] + (e.guard ? ` (${e.guard})` : ""));
    const [into, out] = [edges("to", "from"), edges("from", "to")];
    const parts = [counted(block.text.length, "instruction"), block.depth > 0 ? `loop depth ${block.depth}` : "", block.reachable ? "" : "unreachable"];
    parts.push(into.length ? `from ${into.join(", ")}` : "", out.length ? `to ${out.join(", ")}` : "", block.exits ? "leaves the function" : "");
    summary.textContent = parts.filter(Boolean).join("; ");
    let last = null;
    table.replaceChildren(...block.text.map((text, inst) => {
      const { source, units } = block.insts[inst];
      const row = document.createElement("tr");
      const shown = source !== null && source !== last ? graph.sources[source].short : "";
      last = source;
      for (const [name, value] of [["text", foldNames(text)], ["source", shown], ["units", units]]) {
        const cell = row.insertCell();
        cell.className = name;
        cell.textContent = value;
      }
      const code = machineCode(block.insts[inst]);
      if (code.length) {
        const list = document.createElement("div");
        list.className = "sass";
        list.textContent = code.join("\n");
        row.cells[0].append(list);
      }
      row.cells[2].title = "register pressure";
      row.className = matches?.has(inst) ? "match" : "";
      row.onmousemove = (event) => this.tooltip.show(describeInst(graph, block, inst), event.clientX, event.clientY);
      row.onmouseleave = () => this.tooltip.hide();
      return row;
    }));
    this.element.hidden = false;
    table.querySelector(".match")?.scrollIntoView({ block: "nearest" });
  }

  hide() {
    this.element.hidden = true;
  }
}
