// The form of a launch: its shape, its checkers and the arguments of the kernel.

import { element, namesOf } from "../dom";
import type { Argument, Kernel, KernelParameter, Launch } from "../server/protocol";

const CHECKERS = ["memcheck", "initcheck", "synccheck", "racecheck"];
const TYPES = ["f32", "u32", "s32", "f64", "u64", "f16", "bf16", "u8", "b32"];
const FILLS: [value: string, title: string][] = [
  ["zero", "zeros"],
  ["one", "ones"],
  ["index", "0, 1, 2, …"],
  ["random", "random"],
  ["values", "typed values"],
];
/** The threads, elements and values that fit together in most kernels. */
const COUNT = 32;
const STEPS = 50_000_000;

type Choice = [value: string, title: string];

function input(label: string, value: string, attributes: Record<string, string> = {}): HTMLInputElement {
  return element("input", { type: "text", "aria-label": label, value, spellcheck: "false", autocomplete: "off", ...attributes });
}

function select(label: string, choices: Choice[], change: () => void): HTMLSelectElement {
  return element("select", { "aria-label": label, change }, ...choices.map(([value, title]) => element("option", { value }, title)));
}

/** The fields of an argument. */
class ArgumentFields {
  readonly element: HTMLElement;
  private readonly kind: HTMLSelectElement;
  private readonly value: HTMLInputElement;
  private readonly type: HTMLSelectElement;
  private readonly count: HTMLInputElement;
  private readonly fill: HTMLSelectElement;
  private readonly values: HTMLInputElement;

  constructor(parameter: KernelParameter, name: string) {
    const update = (): void => this.update();
    const kinds: Choice[] = [["value", "value"]];
    if (parameter.pointer) kinds.unshift(["buffer", "buffer"]);
    this.kind = select(`Kind of ${name}`, kinds, update);
    this.value = input(`Value of ${name}`, /\.b?f\d/.test(parameter.type) ? "1" : String(COUNT));
    this.type = select(`Type of ${name}`, TYPES.map((type) => [type, type]), update);
    this.count = input(`Elements of ${name}`, String(COUNT), { inputmode: "numeric" });
    this.fill = select(`Contents of ${name}`, FILLS, update);
    this.fill.value = "index";
    this.values = input(`Values of ${name}`, "1, 2, 3");
    this.element = element(
      "div",
      { class: "argument", role: "group", "aria-label": name },
      element("span", { class: "parameter" }, element("code", {}, name), ` ${parameter.type}`),
      this.kind,
      this.value,
      this.type,
      this.count,
      this.fill,
      this.values,
    );
    update();
  }

  get argument(): Argument {
    if (this.kind.value === "value") return { value: this.value.value };
    return { buffer: { type: this.type.value, count: wholeNumber(this.count), fill: this.fill.value, values: this.values.value } };
  }

  private update(): void {
    const isBuffer = this.kind.value === "buffer";
    this.value.hidden = isBuffer;
    for (const field of [this.type, this.count, this.fill]) field.hidden = !isBuffer;
    this.values.hidden = !isBuffer || this.fill.value !== "values";
  }
}

function wholeNumber(field: HTMLInputElement): number {
  const value = Number(field.value.trim());
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${field.ariaLabel}: expected a whole number`);
  return value;
}

/** One to three sizes. */
function sizes(field: HTMLInputElement): [number, number, number] {
  const all = field.value.split(",").map((size) => Number(size.trim()));
  if (all.length > 3 || all.some((size) => !Number.isSafeInteger(size) || size < 1 || size > 0xffffffff)) throw new Error(`${field.ariaLabel}: expected one to three sizes, such as 16, 8`);
  return [all[0] ?? 1, all[1] ?? 1, all[2] ?? 1];
}

export class RunForm {
  readonly element: HTMLFormElement;
  private readonly kernel = element("select", { id: "run-kernel", change: () => this.showArguments() });
  private readonly grid = input("Grid", "1");
  private readonly block = input("Block", String(COUNT));
  private readonly shared = input("Shared bytes", "0", { inputmode: "numeric" });
  private readonly steps = input("Most steps", String(STEPS), { inputmode: "numeric" });
  private readonly checks = CHECKERS.map((name) => element("input", { type: "checkbox", name, "aria-label": name }));
  private readonly profile = element("input", { type: "checkbox", "aria-label": "profile" });
  private readonly list = element("div", { class: "arguments" });
  private kernels: readonly Kernel[] = [];
  private fields: ArgumentFields[] = [];
  /** What the fields of the arguments were made for. */
  private shown = "";

  constructor(submit: () => void) {
    const labeled = (title: string, field: HTMLElement): HTMLElement => element("label", {}, `${title} `, field);
    const box = (field: HTMLInputElement): HTMLElement => element("label", { class: "box" }, field, ` ${field.ariaLabel ?? ""}`);
    this.element = element(
      "form",
      {
        class: "run-form",
        submit: (event) => {
          event.preventDefault();
          submit();
        },
      },
      element("div", { class: "bar" }, element("label", { class: "choice" }, "Kernel ", this.kernel)),
      element("div", { class: "shape" }, labeled("Grid", this.grid), labeled("Block", this.block), labeled("Shared bytes", this.shared), labeled("Most steps", this.steps)),
      this.list,
      element("div", { class: "checks" }, ...this.checks.map(box), box(this.profile)),
    );
  }

  /** Shows the kernels of a document; what was typed stays if it fits. */
  show(kernels: readonly Kernel[]): void {
    const before = this.kernel.value;
    this.kernels = kernels;
    this.kernel.replaceChildren(...kernels.map(({ name, demangled }) => element("option", { value: name, title: namesOf({ name, demangled }) }, demangled ?? name)));
    if (kernels.some(({ name }) => name === before)) this.kernel.value = before;
    this.showArguments();
  }

  private get current(): Kernel | undefined {
    return this.kernels[this.kernel.selectedIndex];
  }

  private showArguments(): void {
    const parameters = this.current?.parameters ?? [];
    const wanted = JSON.stringify([this.current?.name, parameters]);
    if (wanted === this.shown) return;
    this.shown = wanted;
    const names = this.names;
    this.fields = parameters.map((parameter, index) => new ArgumentFields(parameter, names[index] ?? ""));
    this.list.replaceChildren(...this.fields.map((field) => field.element));
  }

  /** The names of the parameters. */
  get names(): string[] {
    // Compilers put the name of the kernel before the names of its parameters.
    const prefix = `${this.current?.name}_`;
    return (this.current?.parameters ?? []).map(({ name }, index) => name?.replace(prefix, "") ?? `parameter ${index + 1}`);
  }

  /** What the form says. Throws an error that names the field that is wrong. */
  get launch(): Launch {
    return {
      kernel: this.current?.name ?? "",
      grid: sizes(this.grid),
      block: sizes(this.block),
      shared: wholeNumber(this.shared),
      steps: wholeNumber(this.steps),
      checks: this.checks.filter(({ checked }) => checked).map(({ name }) => name),
      profile: this.profile.checked,
      arguments: this.fields.map((field) => field.argument),
    };
  }
}
