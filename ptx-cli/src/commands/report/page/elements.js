/** Makes an element of HTML: attributes whose names begin with `on` are listeners. */
function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Makes an element of SVG. */
function shape(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

const byId = (id) => document.getElementById(id);

/** The data of an element of the page. */
const data = (id) => JSON.parse(byId(id).textContent);

/** `12.3 M` */
function amount(number) {
  if (number === null || number === undefined) return "";
  for (const [size, unit] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (number >= size) return `${(number / (unit === "k" ? 1e3 : size)).toPrecision(3)} ${unit}`;
  }
  return Number.isInteger(number) ? String(number) : number.toPrecision(3);
}

/** `≥ 12.3 M` where there may be more */
function atLeast(number, unknown) {
  if (!unknown) return amount(number || null);
  return number ? `≥ ${amount(number)}` : "unknown";
}

/** Columns with the work of a row: arithmetic, and bytes by state spaces. Those of tensor memory are only shown where there are any. */
function workColumns(rows, work) {
  const number = (title, value) => ({ title, number: true, value: (row) => value(work(row)), show: (row) => amount(value(work(row))) });
  const memory = (title, spaces) => {
    const of = (row) => work(row).memory.filter((m) => spaces.includes(m.space));
    const sum = (row) => of(row).reduce((all, m) => all + m.read + m.written + m.updated, 0);
    return { title, number: true, value: (row) => sum(row) || null, show: (row) => atLeast(sum(row), of(row).some((m) => m.unknown)) };
  };
  const hasTensorMemory = rows.some((row) => work(row).memory.some((m) => m.space === "tensor"));
  return [
    number("Instructions", (w) => w.instructions), number("FLOP", (w) => w.flops || null), number("Integer", (w) => w.integer || null),
    { title: "Multiply-adds", number: true, value: (row) => work(row).multiply_adds || null, show: (row) => atLeast(work(row).multiply_adds, work(row).unknown_products) },
    memory("Global bytes", ["global", "generic"]), memory("Shared bytes", ["shared"]), ...(hasTensorMemory ? [memory("Tensor memory", ["tensor"])] : []),
    number("FLOP/byte", (w) => w.intensity),
  ];
}

/** `12.3 kB` */
function bytes(number) {
  if (number === null || number === undefined) return "unknown";
  const text = amount(number);
  return text.includes(" ") ? `${text}B` : `${text} B`;
}

/** `12.3 k instructions` */
function counts(number, noun, several) {
  return `${amount(number)} ${plural(number, noun, several)}`;
}

/** The name of a function in the source language, and the one in the text. */
const names = ({ title, name }) => (title === name ? name : `${title}\n${name}`);

/** A name that may be broken after brackets, commas and colons. */
const breakable = (text) => text.split(/(?<=[<(,:])/).flatMap((part) => [element("wbr"), part]).slice(1);

/** A message, with the code between its backquotes. */
const withCode = (text) => text.split("`").map((part, index) => (index % 2 ? element("code", {}, part) : part));

/** A box that scrolls, in a frame with a shadow on each side where the box has more. */
function framed(box) {
  const frame = element("div", { class: "frame" }, box);
  const update = () => {
    frame.classList.toggle("more-left", box.scrollLeft > 1);
    frame.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    frame.classList.toggle("more-below", box.scrollTop + box.clientHeight < box.scrollHeight - 1);
  };
  box.addEventListener("scroll", update, { passive: true });
  const sizes = new ResizeObserver(update);
  for (const one of [box, ...box.children]) sizes.observe(one);
  return frame;
}

/** A drawing that is as wide as its contents. */
const scrolling = (drawn) => framed(element("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": drawn.getAttribute("aria-label") }, drawn));

/** The width of a plot: that of the page, within limits. */
const plotWidth = () => Math.max(300, Math.min(760, byId("main").clientWidth - 28));

/** Shows a text beside the pointer or the focus while it is on an element. */
function tip(made, text) {
  const box = byId("tip");
  const show = () => {
    const at = made.getBoundingClientRect();
    box.textContent = text;
    box.hidden = false;
    box.style.left = `${Math.max(4, Math.min(at.left, innerWidth - box.offsetWidth - 8))}px`;
    box.style.top = `${at.bottom + box.offsetHeight + 10 > innerHeight ? at.top - box.offsetHeight - 6 : at.bottom + 6}px`;
  };
  const hide = () => { box.hidden = true; };
  made.addEventListener("pointerenter", show);
  made.addEventListener("pointerleave", hide);
  made.addEventListener("focus", show);
  made.addEventListener("blur", hide);
  return made;
}
