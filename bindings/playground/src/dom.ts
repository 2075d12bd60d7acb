// Elements of the page.

type Listener = (event: Event) => void;
type Attribute = string | number | boolean | Listener | undefined;

/** Creates an element. An attribute with a function is a listener, `true` an attribute without a value. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, Attribute> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const created = document.createElement(tag);
  setAttributes(created, attributes);
  created.append(...children);
  return created;
}

/** Creates an element of an SVG drawing. */
export function drawing<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Record<string, Attribute> = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[Tag] {
  const created = document.createElementNS("http://www.w3.org/2000/svg", tag);
  setAttributes(created, attributes);
  created.append(...children);
  return created;
}

function setAttributes(target: Element, attributes: Record<string, Attribute>): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") target.addEventListener(name, value);
    else if (value === true) target.setAttribute(name, "");
    else if (value !== false && value !== undefined) target.setAttribute(name, String(value));
  }
}

/** A button with a text. */
export function button(text: string, click: () => void, attributes: Record<string, Attribute> = {}): HTMLButtonElement {
  return element("button", { type: "button", click, ...attributes }, text);
}

/** A box that scrolls, in a frame with a shadow on each side where the box has more. */
export function framed(box: HTMLElement): HTMLElement {
  const frame = element("div", { class: "frame" }, box);
  const update = (): void => {
    frame.classList.toggle("more-left", box.scrollLeft > 1);
    frame.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  };
  box.addEventListener("scroll", update, { passive: true });
  const sizes = new ResizeObserver(update);
  for (const observed of [box, ...box.children]) sizes.observe(observed);
  return frame;
}

/** The name of a function in the source language, and the one in the text if it differs. */
export function namesOf({ name, demangled }: { name: string; demangled: string | null }): string {
  return demangled ? `${demangled}\n${name}` : name;
}

/** `1 error`, `2 errors` */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** Text with code between backticks. */
export function withCode(text: string): (Node | string)[] {
  return text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));
}
