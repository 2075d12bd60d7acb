// The problems of the document, with buttons that make their fixes.

import { EditorView } from "@codemirror/view";
import { button, counted, element, withCode } from "../dom";
import { applyFix, type Fix, type Problem, problemsField } from "../editor/problems";
import type { Span } from "../editor/positions";
import type { Session } from "../session";
import { note, type Panel } from "./panel";

/** The most problems that are listed. */
const MOST = 200;

export function problemsPanel(session: Session): Panel {
  const body = element("div", { class: "panel" });
  const { view } = session;
  const go = ({ from, to }: Span): void => {
    view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    view.focus();
  };
  const refresh = (): void => {
    const { list, all } = view.state.field(problemsField);
    const parts: HTMLElement[] = [element("p", { class: "summary" }, summary(list))];
    if (all) parts.push(button(capitalized(all.title), () => applyFix(view, all), { class: "primary" }));
    parts.push(element("ol", { class: "problems" }, ...list.slice(0, MOST).map((problem) => item(session, problem, go))));
    if (list.length > MOST) parts.push(note(`${list.length - MOST} more are not listed.`));
    body.replaceChildren(...parts);
  };
  return { id: "problems", title: "Problems", body, refresh };
}

/** `2 errors, 1 warning` */
export function summary(list: readonly Problem[]): string {
  const errors = list.filter((problem) => problem.severity === "error").length;
  const parts = [errors && counted(errors, "error"), list.length - errors && counted(list.length - errors, "warning")];
  return parts.filter(Boolean).join(", ") || "No problems";
}

function item(session: Session, problem: Problem, go: (span: Span) => void): HTMLElement {
  const { view } = session;
  const [message, ...help] = problem.message.split("\n");
  const place = button("", () => go(problem), { class: "place" });
  place.append(element("span", { class: problem.severity }, problem.severity), ` ${lineOf(view, problem)} `, element("code", {}, problem.code));
  const related = problem.related.map((other) => element("li", {}, codeButton(`${lineOf(view, other)}: ${other.message}`, () => go(other), "link")));
  return element(
    "li",
    { class: "problem" },
    place,
    element("p", {}, ...withCode(message ?? "")),
    ...help.map((line) => element("p", { class: "help" }, ...withCode(line))),
    ...(related.length ? [element("ul", {}, ...related)] : []),
    ...problem.fixes.map((fix) => codeButton(`Fix: ${effectOf(view, fix)}`, () => applyFix(view, fix), "fix")),
  );
}

function codeButton(text: string, click: () => void, kind: string): HTMLElement {
  const created = button("", click, { class: kind });
  created.append(...withCode(text));
  return created;
}

/** What a fix does, if it is one short change; else its title. */
function effectOf(view: EditorView, { title, changes }: Fix): string {
  const [change, more] = changes;
  if (!change || more) return title;
  const [before, after] = [view.state.sliceDoc(change.from, change.to), change.insert.trim()];
  if (`${before}${after}`.includes("\n") || `${before}${after}`.includes("`")) return title;
  if (!before) return `insert \`${after}\``;
  return after ? `replace \`${before}\` by \`${after}\`` : `remove \`${before.trim()}\``;
}

function lineOf(view: EditorView, { from }: Span): string {
  return `line ${view.state.doc.lineAt(Math.min(from, view.state.doc.length)).number}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
