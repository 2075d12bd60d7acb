// What a launch did: what it printed, errors, buffers and the profile.

import { counted, drawing, element, withCode } from "../dom";
import type { BufferAfter, Ran, RunProblem } from "../server/protocol";
import type { Session } from "../session";
import { table } from "./table";

const WIDTH = 320;
const HEIGHT = 90;

/** The result of a launch whose parameters have these names. */
export function result(ran: Ran, names: readonly string[], session: Session): HTMLElement[] {
  const parts = [summary(ran)];
  const problems = [...(ran.error ? [ran.error] : []), ...ran.findings];
  if (problems.length) parts.push(element("ul", { class: "run-problems", "aria-label": "Errors" }, ...problems.map((problem) => shown(problem, session))));
  if (ran.output) parts.push(element("h3", {}, "Output"), element("pre", { class: "output", "aria-label": "Output" }, ran.output));
  parts.push(...ran.buffers.map((after) => buffer(after, names[after.parameter] ?? "")));
  if (ran.profile) parts.push(profile(ran, session));
  return parts;
}

function summary(ran: Ran): HTMLElement {
  const found = ran.findings.length ? `, ${counted(ran.findings.length, "finding")}` : "";
  const text = ran.steps === null ? "The launch failed" : `Done after ${ran.steps.toLocaleString("en")} steps of warps`;
  return element("p", { class: "run-summary", role: "status" }, `${text}${found}.`);
}

function shown({ code, message, help, range }: RunProblem, session: Session): HTMLElement {
  const place = range ? element("button", { type: "button", class: "link", click: () => session.goToLine(range.start.line) }, `line ${range.start.line + 1}`) : "";
  const parts = [...withCode(message), code ? ` [${code}] ` : " ", place];
  return element("li", {}, ...parts, help ? element("small", {}, ...withCode(help)) : "");
}

function buffer(after: BufferAfter, name: string): HTMLElement {
  const title = `${name}: ${counted(after.count, "element")} of type ${after.type}, ${after.changed} changed`;
  const rest = after.count > after.values.length ? ` The first ${after.values.length} are shown.` : "";
  const values = after.values.map((value, index) => element("li", { title: `element ${index}` }, value));
  return element(
    "details",
    { open: after.changed > 0, class: "buffer" },
    element("summary", {}, title),
    plot(after, name),
    element("ol", { class: "values", start: 0, "aria-label": `Values of ${name}` }, ...values),
    rest ? element("p", { class: "note" }, rest) : "",
  );
}

/** The values as a curve, with gaps where they are not finite. */
function plot({ samples }: BufferAfter, name: string): SVGElement {
  const finite = samples.filter((value): value is number => value !== null);
  const [least, most] = [Math.min(...finite), Math.max(...finite)];
  const range = most - least || 1;
  const x = (index: number): string => ((index / Math.max(1, samples.length - 1)) * (WIDTH - 8) + 4).toFixed(1);
  const y = (value: number): string => ((1 - (value - least) / range) * (HEIGHT - 16) + 8).toFixed(1);
  let path = "";
  samples.forEach((value, index) => {
    if (value !== null) path += `${index > 0 && samples[index - 1] !== null ? "L" : "M"}${x(index)} ${y(value)}`;
  });
  const label = finite.length ? `Values of ${name} from ${least} to ${most}` : `Values of ${name}: none is finite`;
  const svg = drawing("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label });
  svg.append(drawing("path", { class: "values", d: path || "M0 0" }));
  return svg;
}

function profile({ profile: lines }: Ran, session: Session): HTMLElement {
  const rows = (lines ?? []).map(({ line, executions, lanes, bytes }) => {
    const place = element("button", { type: "button", class: "link", click: () => session.goToLine(line) }, `line ${line + 1}`);
    const text = session.view.state.doc.lines > line ? session.view.state.doc.line(line + 1).text.trim() : "";
    return [place, executions, (lanes / executions).toFixed(1), bytes || "", element("code", {}, text)];
  });
  return table(["Line", "Executed", "Lanes", "Bytes", "Instruction"], rows, "Profile");
}
