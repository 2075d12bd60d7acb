// The problems of the document, with buttons that make their fixes.

import { EditorView } from "@codemirror/view";
import { button, counted, element } from "../dom";
import { applyFix, type Problem, problemsField } from "../editor/problems";
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
  const related = problem.related.map((other) => element("li", {}, button(`${lineOf(view, other)}: ${other.message}`, () => go(other), { class: "link" })));
  return element(
    "li",
    { class: "problem" },
    place,
    element("p", {}, message ?? ""),
    ...help.map((line) => element("p", { class: "help" }, line)),
    ...(related.length ? [element("ul", {}, ...related)] : []),
    ...problem.fixes.map((fix) => button(`Fix: ${fix.title}`, () => applyFix(view, fix), { class: "fix" })),
  );
}

function lineOf(view: EditorView, { from }: Span): string {
  return `line ${view.state.doc.lineAt(Math.min(from, view.state.doc.length)).number}`;
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
