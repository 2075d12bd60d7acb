
const LEAST_SCALE = 0.0002;
const GREATEST_SCALE = 4;
/** How far the keys move, in pixels, and the border of a graph that fits to the window. */
const STEP = 80;
const MARGIN = 24;

/** The name of a function in the source language, and the one in the text. */
const names = ({ title, name }) => (title === name ? name : `${title}\n${name}`);

class Viewer {
  constructor(data) {
    this.data = data;
    this.metrics = data;
    this.canvas = document.getElementById("graph");
    this.context = this.canvas.getContext("2d");
    this.tooltip = new Tooltip(document.getElementById("tooltip"));
    this.panel = new Panel(document.getElementById("panel"), this.tooltip);
    this.view = { x: 0, y: 0, scale: 1, ratio: 1 };
    this.drawn = { blocks: 0, frames: 0, milliseconds: 0 };
    this.colors = readColors();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colors = readColors();
      this.redraw();
    });
    new ResizeObserver(() => this.resize()).observe(this.canvas);
    this.resize();
    this.listFunctions();
    this.listenToPointer();
    this.listenToKeys();
    this.listenToButtons();
    this.open(0);
  }

  // Functions.

  listFunctions() {
    const list = document.getElementById("function");
    list.append(...this.data.functions.map((f, index) => {
      const option = new Option(`${f.short} (${counted(f.blocks.length, "block")})`, index);
      option.title = names(f);
      return option;
    }));
    list.onchange = () => this.open(Number(list.value));
  }

  open(index) {
    this.graph = new Graph(this.data.functions[index]);
    this.marks = { matches: new Map(), routes: [], hovered: null, selected: null };
    this.panel.hide();
    document.title = this.graph.short;
    document.getElementById("function").title = names(this.graph);
    const file = document.getElementById("file");
    file.textContent = file.title = this.graph.file;
    document.getElementById("collapse").disabled = this.graph.loops.length === 0;
    document.getElementById("expand").disabled = this.graph.loops.length === 0;
    this.runSearch(false);
    this.start();
  }

  // The part that is seen.

  resize() {
    const { width, height } = this.canvas.getBoundingClientRect();
    this.view.ratio = devicePixelRatio;
    this.canvas.width = Math.round(width * devicePixelRatio);
    this.canvas.height = Math.round(height * devicePixelRatio);
    this.redraw();
  }

  get window() {
    return { width: this.canvas.width / this.view.ratio, height: this.canvas.height / this.view.ratio };
  }

  fit() {
    const { width, height } = this.window;
    const { size } = this.graph;
    const scale = Math.min((width - 2 * MARGIN) / size.width, (height - 2 * MARGIN) / size.height, 1);
    this.view.scale = Math.max(scale, LEAST_SCALE);
    this.view.x = (width - size.width * this.view.scale) / 2;
    this.view.y = Math.max(MARGIN, (height - size.height * this.view.scale) / 2);
    this.redraw();
  }

  /** Shows the whole graph if it can be read then, else its start. */
  start() {
    this.fit();
    if (this.view.scale >= TEXT_SCALE) return;
    const { width } = this.window;
    const { rect } = this.graph.blocks[0] ?? {};
    this.view.scale = Math.max(Math.min(1, (width - 2 * MARGIN) / this.graph.size.width), 0.6);
    this.view.x = width / 2 - (rect ? rect.x + rect.width / 2 : 0) * this.view.scale;
    this.view.y = MARGIN;
    this.redraw();
  }

  zoom(factor, x = this.window.width / 2, y = this.window.height / 2) {
    const { view } = this;
    const scale = Math.min(Math.max(view.scale * factor, LEAST_SCALE), GREATEST_SCALE);
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    this.redraw();
  }

  move(dx, dy) {
    this.view.x += dx;
    this.view.y += dy;
    this.redraw();
  }

  /** Moves so that a place of the graph is in the middle of the free part of the window. */
  center(x, y) {
    const { width, height } = this.window;
    const covered = this.panel.element.hidden ? 0 : this.panel.element.offsetWidth;
    this.view.scale = Math.max(this.view.scale, 0.8);
    this.view.x = (width - covered) / 2 - x * this.view.scale;
    this.view.y = height / 2 - y * this.view.scale;
    this.redraw();
  }

  redraw() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (!this.graph) return;
      const began = performance.now();
      this.drawn.blocks = draw(this.context, this);
      this.drawn.frames += 1;
      this.drawn.milliseconds = performance.now() - began;
      document.getElementById("scale").textContent = `${Math.round(this.view.scale * 100)} %`;
    });
  }

  // Search.

  runSearch(goes = true) {
    const text = document.getElementById("search").value;
    this.found = search(this.graph, text);
    this.current = -1;
    this.marks.matches = new Map();
    for (const { block, inst } of this.found) {
      const { id } = this.graph.blocks[block];
      if (!this.marks.matches.has(id)) this.marks.matches.set(id, new Set());
      this.marks.matches.get(id).add(inst);
    }
    this.showCount(text);
    if (goes && this.found.length > 0) this.goToMatch(1);
    this.redraw();
  }

  showCount(text) {
    const found = this.current < 0 ? counted(this.found.length, "match", "matches") : `${this.current + 1} of ${this.found.length}`;
    document.getElementById("matches").textContent = text.trim() === "" ? "" : found;
  }

  goToMatch(step) {
    if (this.found.length === 0) return;
    this.current = this.current < 0 && step < 0 ? this.found.length - 1 : (this.current + step + this.found.length) % this.found.length;
    const { block: index, inst } = this.found[this.current];
    const block = this.graph.blocks[index];
    this.graph.reveal(index);
    this.marks.selected = block.id;
    const row = block.shown.findIndex((line) => line[1] === inst);
    // An instruction that is folded is shown in the panel.
    if (inst >= 0 && row < 0 || !this.panel.element.hidden) this.panel.show(this.graph, block, new Set([inst]));
    const offset = this.metrics.padding + (row + 1.5) * this.metrics.line_height;
    this.center(block.rect.x + block.rect.width / 2, block.rect.y + (row < 0 ? block.rect.height / 2 : offset));
    this.showCount(document.getElementById("search").value);
  }

  // What is under the pointer.

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    return { x: (event.clientX - box.left - this.view.x) / this.view.scale, y: (event.clientY - box.top - this.view.y) / this.view.scale };
  }

  blockAt({ x, y }) {
    return this.graph.blocks.find(({ rect: r }) => r && x >= r.x && x <= r.x + r.width && y >= r.y && y <= r.y + r.height);
  }

  /** The instruction of a block at a place, or null. */
  instAt(block, { y }) {
    const row = Math.floor((y - block.rect.y - this.metrics.padding) / this.metrics.line_height) - 1;
    return block.shown[row]?.[1] ?? null;
  }

  /** The innermost loop whose title is at a place, or that is collapsed there; -1 for none. */
  loopAt({ x, y }) {
    return this.graph.loops.findLastIndex((loop, index) => {
      const r = loop?.rect;
      if (!r || x < r.x || x > r.x + r.width || y < r.y || y > r.y + r.height) return false;
      return this.graph.collapsed.has(index) || y < r.y + 20;
    });
  }

  hover(event) {
    const place = this.at(event);
    const block = this.blockAt(place);
    const loop = block ? -1 : this.loopAt(place);
    this.canvas.classList.toggle("pointing", block !== undefined || loop >= 0);
    if ((block?.id ?? null) !== this.marks.hovered) {
      this.marks.hovered = block?.id ?? null;
      const edges = block ? [...this.graph.edges.keys()].filter((e) => this.graph.edges[e].from === block.id || this.graph.edges[e].to === block.id) : [];
      this.marks.routes = edges.slice(0, 200).map((edge) => ({ edge, parts: this.graph.route(edge) }));
      this.redraw();
    }
    const inst = block && this.view.scale >= TEXT_SCALE ? this.instAt(block, place) : null;
    if (inst !== null && inst !== undefined) this.tooltip.show(describeInst(this.graph, block, inst), event.clientX, event.clientY);
    else if (block) this.tooltip.show([[block.title, false], [counted(block.text.length, "instruction"), true]], event.clientX, event.clientY);
    else this.tooltip.hide();
  }

  click(event) {
    const place = this.at(event);
    const block = this.blockAt(place);
    const loop = block ? -1 : this.loopAt(place);
    if (block) {
      this.marks.selected = block.id;
      this.panel.show(this.graph, block, this.marks.matches.get(block.id));
    } else if (loop >= 0) {
      this.toggleLoop(loop);
    } else {
      this.close();
    }
    this.redraw();
  }

  close() {
    this.panel.hide();
    this.tooltip.hide();
    document.getElementById("keys").hidden = true;
    this.marks.selected = null;
    this.redraw();
  }

  /** Collapses or expands a loop, whose upper left corner stays where it is. */
  toggleLoop(index) {
    const corner = () => {
      const { x, y } = this.graph.loops[index].rect;
      return [x * this.view.scale, y * this.view.scale];
    };
    const [x, y] = corner();
    this.graph.setCollapsed(index, !this.graph.collapsed.has(index));
    const [newX, newY] = corner();
    this.move(x - newX, y - newY);
  }

  setAllCollapsed(collapsed) {
    this.graph.setAllCollapsed(collapsed);
    this.start();
  }

  // Events.

  listenToPointer() {
    const { canvas } = this;
    /** Where the pointers that are pressed were last, and whether they have moved: then a release is not a click. */
    const pointers = new Map();
    let hasMoved = false;
    canvas.onpointerdown = (event) => {
      if (pointers.size === 0) hasMoved = false;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      canvas.setPointerCapture(event.pointerId);
      canvas.focus();
    };
    canvas.onpointermove = (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) {
        this.hover(event);
        return;
      }
      const now = { x: event.clientX, y: event.clientY };
      hasMoved ||= Math.abs(now.x - before.x) + Math.abs(now.y - before.y) > 4;
      if (!hasMoved) return;
      pointers.set(event.pointerId, now);
      this.tooltip.hide();
      canvas.classList.add("dragging");
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) this.pinch(before, now, other);
      else this.move(now.x - before.x, now.y - before.y);
    };
    canvas.onpointerup = (event) => {
      if (pointers.size === 1 && !hasMoved) this.click(event);
      pointers.delete(event.pointerId);
      if (pointers.size === 0) canvas.classList.remove("dragging");
    };
    canvas.onpointercancel = (event) => pointers.delete(event.pointerId);
    canvas.onpointerleave = () => this.tooltip.hide();
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.tooltip.hide();
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
      if (event.shiftKey) {
        this.move(-(event.deltaX || event.deltaY) * unit, 0);
        return;
      }
      const box = canvas.getBoundingClientRect();
      this.zoom(Math.exp((-event.deltaY * unit) / (event.ctrlKey ? 120 : 400)), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
  }

  /** Zooms by the distance of a finger that has moved from another one, which stays where it is. */
  pinch(before, now, other) {
    const distance = (place) => Math.max(1, Math.hypot(place.x - other.x, place.y - other.y));
    const box = this.canvas.getBoundingClientRect();
    this.zoom(distance(now) / distance(before), other.x - box.left, other.y - box.top);
  }

  listenToKeys() {
    const page = () => this.window.height * 0.8;
    const actions = {
      ArrowLeft: () => this.move(STEP, 0),
      ArrowRight: () => this.move(-STEP, 0),
      ArrowUp: () => this.move(0, STEP),
      ArrowDown: () => this.move(0, -STEP),
      PageUp: () => this.move(0, page()),
      PageDown: () => this.move(0, -page()),
      Home: () => this.start(),
      "+": () => this.zoom(1.25),
      "=": () => this.zoom(1.25),
      "-": () => this.zoom(0.8),
      1: () => this.zoom(1 / this.view.scale),
      f: () => this.fit(),
      0: () => this.fit(),
      c: () => this.setAllCollapsed(true),
      e: () => this.setAllCollapsed(false),
      n: () => this.goToMatch(1),
      N: () => this.goToMatch(-1),
      "/": () => document.getElementById("search").focus(),
      "?": () => this.toggleHelp(),
      Escape: () => this.close(),
    };
    addEventListener("keydown", (event) => {
      const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (event.ctrlKey || event.altKey || event.metaKey || isTyping || !actions[event.key]) return;
      event.preventDefault();
      actions[event.key]();
    });
    const field = document.getElementById("search");
    field.oninput = () => this.runSearch();
    field.onkeydown = (event) => {
      if (event.key === "Enter") this.goToMatch(event.shiftKey ? -1 : 1);
      if (event.key === "Escape") this.canvas.focus();
    };
  }

  toggleHelp() {
    const keys = document.getElementById("keys");
    keys.hidden = !keys.hidden;
  }

  listenToButtons() {
    const actions = {
      previous: () => this.goToMatch(-1),
      next: () => this.goToMatch(1),
      collapse: () => this.setAllCollapsed(true),
      expand: () => this.setAllCollapsed(false),
      out: () => this.zoom(0.8),
      in: () => this.zoom(1.25),
      fit: () => this.fit(),
      help: () => this.toggleHelp(),
      close: () => this.close(),
    };
    for (const [id, action] of Object.entries(actions)) document.getElementById(id).onclick = action;
  }
}

// Named, so that a console or a test can look at it.
globalThis.viewer = new Viewer(JSON.parse(document.getElementById("data").textContent));
