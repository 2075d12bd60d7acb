// A form for the options of a rewrite.

import { element } from "../dom";
import type { RewriteOption } from "../server/protocol";

type Value = string | number | boolean;

/** How long the reader types before the options are used, in milliseconds. */
const DELAY = 250;

export class OptionsForm {
  readonly element = element("form", { class: "options", submit: (event) => event.preventDefault(), input: () => this.schedule() });
  private fields: { option: RewriteOption; input: HTMLInputElement | HTMLSelectElement }[] = [];
  private timer = 0;

  constructor(private readonly changed: () => void) {}

  /** Shows fields for options, with their defaults. */
  show(options: readonly RewriteOption[]): void {
    this.fields = options.map((option) => ({ option, input: inputOf(option) }));
    this.element.hidden = !options.length;
    this.element.replaceChildren(...this.fields.map(({ option, input }) => field(option, input)));
  }

  /** The values that are not empty. */
  get values(): Record<string, Value> {
    const entries = this.fields.map(({ option, input }) => [option.name, valueOf(option, input)] as const);
    return Object.fromEntries(entries.filter((entry): entry is [string, Value] => entry[1] !== null));
  }

  /** The first field that has to have a value, and has none. */
  get missing(): string | null {
    const empty = this.fields.find(({ option, input }) => option.default === undefined && valueOf(option, input) === null);
    return empty ? titleOf(empty.option) : null;
  }

  private schedule(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(this.changed, DELAY);
  }
}

function titleOf({ name }: RewriteOption): string {
  return name.replaceAll(/[-_]/g, " ");
}

function inputOf(option: RewriteOption): HTMLInputElement | HTMLSelectElement {
  const id = `option-${option.name}`;
  const described = `${id}-description`;
  if (option.kind === "choice") {
    const select = element("select", { id, "aria-describedby": described }, ...(option.choices ?? []).map((choice) => element("option", {}, choice)));
    if (option.default === undefined) select.prepend(element("option", { value: "" }, "Choose…"));
    select.value = String(option.default ?? "");
    return select;
  }
  const types = { bool: "checkbox", number: "number", string: "text" };
  const input = element("input", { id, type: types[option.kind], min: option.minimum, max: option.maximum, "aria-describedby": described, spellcheck: "false", autocomplete: "off" });
  if (option.kind === "bool") input.checked = option.default === true;
  else if (option.default !== undefined) input.value = String(option.default);
  return input;
}

function valueOf(option: RewriteOption, input: HTMLInputElement | HTMLSelectElement): Value | null {
  if (option.kind === "bool") return (input as HTMLInputElement).checked;
  const text = input.value.trim();
  if (!text) return null;
  return option.kind === "number" ? Number(text) : text;
}

function field(option: RewriteOption, input: HTMLElement): HTMLElement {
  const label = element("label", { for: input.id }, titleOf(option));
  const description = element("small", { id: `${input.id}-description` }, option.description);
  const parts = option.kind === "bool" ? [input, label] : [label, input];
  return element("div", { class: "field" }, ...parts, description);
}
