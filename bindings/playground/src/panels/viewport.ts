// A drawing that can be moved and zoomed: by dragging, the wheel, two fingers, keys and buttons.

import { button, element } from "../dom";

const SMALLEST = 0.05;
const LARGEST = 4;
/** How far an arrow key moves, in pixels. */
const STEP = 60;

/** What keys and pointers do, the same as in the page that `ptxkit cfg` writes. */
const KEYS: readonly [string, string][] = [
  ["drag, arrow keys", "move"],
  ["wheel, two fingers, + −", "zoom"],
  ["1", "original size"],
  ["f or 0", "fit to the window"],
  ["click, Enter", "select the text of a block"],
  ["?", "show or hide the keys"],
];

interface Point {
  x: number;
  y: number;
}

export class Viewport {
  readonly element: HTMLElement;
  readonly controls: HTMLElement;
  private readonly keys = element("dl", { class: "keys", hidden: true }, ...KEYS.flatMap(([keys, action]) => [element("dt", {}, keys), element("dd", {}, action)]));
  private readonly content = element("div", { class: "viewport-content" });
  private readonly pointers = new Map<number, Point>();
  private at: Point = { x: 0, y: 0 };
  private scale = 1;
  private size = { width: 0, height: 0 };
  /** Whether the pointer has moved the drawing since it was pressed: then its release is not a click. */
  private dragged = false;

  constructor(label: string) {
    this.element = element("div", { class: "viewport", tabindex: 0, role: "group", "aria-label": `${label}: arrow keys move, plus and minus zoom, 1 shows the original size, f or 0 fits` }, this.content, this.keys);
    this.controls = element(
      "span",
      { class: "zoom", role: "group", "aria-label": "Zoom" },
      button("−", () => this.zoom(1 / 1.3), { "aria-label": "Zoom out", title: "Zoom out (-)" }),
      button("+", () => this.zoom(1.3), { "aria-label": "Zoom in", title: "Zoom in (+)" }),
      button("Fit", () => this.fit(), { title: "Fit to the window (f or 0)" }),
      button("?", () => this.toggleKeys(), { "aria-label": "Keys", title: "Keys (?)" }),
    );
    this.element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("pointerdown", (event) => this.press(event));
    this.element.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"] as const) this.element.addEventListener(name, (event) => this.pointers.delete(event.pointerId));
    this.element.addEventListener("click", (event) => this.dragged && event.stopPropagation(), { capture: true });
  }

  private toggleKeys(): void {
    this.keys.hidden = !this.keys.hidden;
  }

  /** Replaces the drawing. */
  show(content: Node, width: number, height: number): void {
    this.content.replaceChildren(content);
    this.size = { width, height };
  }

  /** Shows the whole drawing, or its upper part in a legible size. */
  fit(): void {
    const { clientWidth, clientHeight } = this.element;
    const whole = Math.min(clientWidth / this.size.width, clientHeight / this.size.height);
    this.scale = Math.min(1, Math.max(whole, Math.min(clientWidth / this.size.width, 0.5), SMALLEST));
    this.at = { x: Math.max(0, (clientWidth - this.size.width * this.scale) / 2), y: 0 };
    this.apply();
  }

  /** Moves the drawing so that a place of the window is visible. */
  reveal(place: DOMRect): void {
    const frame = this.element.getBoundingClientRect();
    const shift = (start: number, end: number, low: number, high: number): number => {
      if (end - start > high - low || start < low) return low - start;
      return end > high ? high - end : 0;
    };
    const margin = 8;
    this.at.x += shift(place.left, place.right, frame.left + margin, frame.right - margin);
    this.at.y += shift(place.top, place.bottom, frame.top + margin, frame.bottom - margin);
    this.apply();
  }

  private apply(): void {
    this.content.style.transform = `translate(${this.at.x}px, ${this.at.y}px) scale(${this.scale})`;
  }

  private zoom(factor: number, center: Point = { x: this.element.clientWidth / 2, y: this.element.clientHeight / 2 }): void {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor));
    const ratio = scale / this.scale;
    this.at = { x: center.x - (center.x - this.at.x) * ratio, y: center.y - (center.y - this.at.y) * ratio };
    this.scale = scale;
    this.apply();
  }

  private inside(event: MouseEvent): Point {
    const { left, top } = this.element.getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY / 400), this.inside(event));
  }

  private key(event: KeyboardEvent): void {
    const steps: Record<string, Point> = { ArrowLeft: { x: STEP, y: 0 }, ArrowRight: { x: -STEP, y: 0 }, ArrowUp: { x: 0, y: STEP }, ArrowDown: { x: 0, y: -STEP } };
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = steps[event.key];
    if (step) this.at = { x: this.at.x + step.x, y: this.at.y + step.y };
    else if (event.key === "+" || event.key === "=") this.zoom(1.3);
    else if (event.key === "-") this.zoom(1 / 1.3);
    else if (event.key === "1") this.zoom(1 / this.scale);
    else if (event.key === "?") this.toggleKeys();
    else if (event.key === "Escape") this.keys.hidden = true;
    else if (event.key === "f" || event.key === "0") this.fit();
    else return;
    event.preventDefault();
    this.apply();
  }

  private press(event: PointerEvent): void {
    this.pointers.set(event.pointerId, this.inside(event));
    if (this.pointers.size === 1) this.dragged = false;
  }

  private move(event: PointerEvent): void {
    const before = this.pointers.get(event.pointerId);
    if (!before) return;
    const now = this.inside(event);
    if (!this.dragged && Math.hypot(now.x - before.x, now.y - before.y) < 4) return;
    // Not earlier, since the element that captures the pointer gets the click.
    if (!this.dragged) this.element.setPointerCapture(event.pointerId);
    this.dragged = true;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, now);
    if (other) {
      const distance = (a: Point, b: Point): number => Math.hypot(a.x - b.x, a.y - b.y);
      this.zoom(distance(now, other) / Math.max(1, distance(before, other)), other);
    } else {
      this.at = { x: this.at.x + now.x - before.x, y: this.at.y + now.y - before.y };
      this.apply();
    }
  }
}
