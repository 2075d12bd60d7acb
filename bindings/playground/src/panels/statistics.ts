// What each function contains.

import { element, namesOf } from "../dom";
import type { Statistics } from "../server/protocol";
import type { Session } from "../session";
import { note, type Panel } from "./panel";
import { table } from "./table";

type Column = [title: string, value: (f: Statistics) => string | number];

const columns: Column[] = [
  ["Instructions", (f) => f.instructions],
  ["Blocks", (f) => f.blocks],
  ["Loops", (f) => (f.loops ? `${f.loops}, depth ${f.loop_depth}` : 0)],
  ["Pressure", (f) => f.pressure.max_b32_units],
  ["Calls", (f) => f.calls],
  ["Barriers", (f) => f.barriers],
  ["Shared bytes", (f) => f.shared_bytes],
  ["Local bytes", (f) => f.local_bytes],
  ["Tensor core", (f) => f.tensor_core.arithmetic],
];

export function statisticsPanel(session: Session): Panel {
  const body = element("div", { class: "panel" });
  let shown = "";
  const refresh = async (): Promise<void> => {
    const answer = await session.ask<Statistics[]>("ptxkit/statistics");
    if (!answer) return;
    // The document is also checked again when its lints are known.
    const text = JSON.stringify(answer.result);
    if (text === shown && body.querySelector("table")) return;
    shown = text;
    const open = new Set(Array.from(body.querySelectorAll("details[open]"), (one) => one.getAttribute("data-function")));
    if (!answer.result.length) body.replaceChildren(note("The document has no function with a body."));
    else body.replaceChildren(overview(answer.result), ...answer.result.map((f) => details(f, session)));
    for (const one of body.querySelectorAll("details")) one.open = open.has(one.getAttribute("data-function"));
  };
  return { id: "statistics", title: "Statistics", body, refresh };
}

function nameOf(f: Statistics): string {
  return f.demangled ?? f.name;
}

function overview(functions: Statistics[]): HTMLElement {
  const rows = functions.map((f) => [element("span", { title: namesOf(f) }, nameOf(f)), ...columns.map(([, value]) => value(f))]);
  return table(["Function", ...columns.map(([title]) => title)], rows, "Functions");
}

function details(f: Statistics, session: Session): HTMLElement {
  const families = Object.entries(f.families).toSorted(([, a], [, b]) => b - a);
  const parts = [element("summary", { title: namesOf(f) }, nameOf(f)), table(["Kind", "Instructions"], families, "Instructions by kind")];
  if (f.memory.length) {
    const rows = f.memory.map(({ space, access, bytes, vector, count }) => [space, access, bytes ?? "?", vector, count]);
    parts.push(table(["Space", "Access", "Bytes", "Vector", "Instructions"], rows, "Memory accesses"));
  }
  if (f.loop_list.length) parts.push(loops(f, session));
  return element("details", { "data-function": f.name }, ...parts);
}

function loops(f: Statistics, session: Session): HTMLElement {
  const rows = f.loop_list.map(({ label, line, depth, blocks, total_instructions }) => {
    const place = line === null ? (label ?? "?") : element("button", { type: "button", class: "link", click: () => session.goToLine(line - 1) }, `${label ?? "loop"}, line ${line}`);
    return [place, depth, blocks, total_instructions];
  });
  return table(["Loop", "Depth", "Blocks", "Instructions"], rows, "Loops");
}
