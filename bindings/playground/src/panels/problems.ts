// The problems of the document, with buttons that make their fixes.

import { EditorView } from "@codemirror/view";
import { button, counted, element, withCode } from "../dom";
import { applyFix, type Fix, type Problem, problemsField } from "../editor/problems";
import type { Span } from "../editor/positions";
import { lintsAreOn, setLints } from "../lints";
import type { Session } from "../session";
import { note, type Panel } from "./panel";

/** The most problems that are listed. */
const MOST = 200;
/** The id of the switch of lints. */
const SWITCH = "lints-switch";

export function problemsPanel(session: Session): Panel {
  const body = element("div", { class: "panel" });
  const { view } = session;
  const go = ({ from, to }: Span): void => {
    view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    view.focus();
  };
  const refresh = (): void => {
    const { list, all } = view.state.field(problemsField);
    const [lints, problems] = [list.filter((problem) => problem.isLint), list.filter((problem) => !problem.isLint)];
    const listed = (group: readonly Problem[]): HTMLElement[] => [
      element("ol", { class: "problems" }, ...group.slice(0, MOST).map((problem) => item(session, problem, go))),
      ...(group.length > MOST ? [note(`${group.length - MOST} more are not listed.`)] : []),
    ];
    const parts: HTMLElement[] = [element("p", { class: "summary" }, ofProblems(problems))];
    if (all) parts.push(button(capitalized(all.title), () => applyFix(view, all), { class: "primary" }));
    parts.push(...listed(problems), lintsGroup(session, problems, lints, listed(lints)));
    const hadFocus = document.activeElement?.id === SWITCH;
    body.replaceChildren(...parts);
    if (hadFocus) document.getElementById(SWITCH)?.focus();
  };
  return { id: "problems", title: "Problems", body, refresh };
}

/** `2 errors, 1 warning`, `No problems, 3 findings of lints` */
export function summary(list: readonly Problem[]): string {
  const lints = list.filter((problem) => problem.isLint).length;
  const problems = ofProblems(list.filter((problem) => !problem.isLint));
  return lints ? `${problems}, ${counted(lints, "finding")} of lints` : problems;
}

function ofProblems(list: readonly Problem[]): string {
  const errors = list.filter((problem) => problem.severity === "error").length;
  const parts = [errors && counted(errors, "error"), list.length - errors && counted(list.length - errors, "warning")];
  return parts.filter(Boolean).join(", ") || "No problems";
}

/** What lints find, and whether they are on. */
function lintsGroup({ client }: Session, problems: readonly Problem[], lints: readonly Problem[], list: HTMLElement[]): HTMLElement {
  const change = (event: Event): void => setLints(client, (event.target as HTMLInputElement).checked);
  const on = lintsAreOn();
  const label = element("label", {}, element("input", { id: SWITCH, type: "checkbox", checked: on, change }), " Look for likely mistakes and slow code");
  const hasErrors = problems.some(({ severity }) => severity === "error");
  const none = hasErrors ? "Lints wait until the errors are repaired." : "Lints find nothing.";
  const found = lints.length ? [element("p", { class: "summary" }, counted(lints.length, "finding")), ...list] : [note(none)];
  return element("section", { class: "lints", "aria-label": "Lints" }, element("h3", {}, "Lints"), label, ...(on ? found : []));
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
    ...problem.fixes.map((fix) => codeButton(fix.isCertain ? `Fix: ${effectOf(view, fix)}` : capitalized(fix.title), () => applyFix(view, fix), "fix")),
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
