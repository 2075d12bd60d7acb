"use strict";

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

/** The last part of the name of a function, without its namespaces, parameters and result. */
function shortTitle(title) {
  const name = title.replace("(anonymous namespace)::", "").split(/[<(]/)[0].trim();
  return name.split(/::|\s/).pop() || title;
}

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
