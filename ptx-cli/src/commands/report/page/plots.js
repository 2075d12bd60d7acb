const CLASSES = ["tensor", "floating", "integer", "global", "shared", "other_memory", "asynchronous", "synchronization", "control", "other"];

/** A bar of the classes of instructions. */
function mixBar(classes, large) {
  const all = Object.values(classes).reduce((sum, count) => sum + count, 0);
  const parts = CLASSES.filter((name) => classes[name]).map((name) => {
    const part = element("span", { style: `flex:${classes[name]};background:var(--${name})` });
    return tip(part, `${name.replace("_", " ")}: ${amount(classes[name])}, ${(100 * classes[name] / all).toFixed(1)} %`);
  });
  const words = CLASSES.filter((name) => classes[name]).map((name) => `${name.replace("_", " ")} ${classes[name]}`);
  return element("div", { class: large ? "mix large" : "mix", role: "img", "aria-label": words.join(", ") }, parts);
}

function mixLegend(classes) {
  return element("div", { class: "legend" }, CLASSES.filter((name) => classes[name]).map((name) =>
    element("span", {}, element("i", { style: `background:var(--${name})` }), `${name.replace("_", " ")} ${amount(classes[name])}`)));
}

/** Powers of ten around all values. */
function decades(values) {
  const logs = values.map(Math.log10);
  const low = Math.floor(Math.min(...logs)), high = Math.max(Math.ceil(Math.max(...logs)), low + 1);
  return [low, high];
}

const power = (exponent) => (exponent >= -2 && exponent <= 3 ? String(10 ** exponent) : `1e${exponent}`);

/** Functions by intensity and operations, both on logarithmic scales. `choose` is called with the index of a function. */
function roofline(functions, choose) {
  const points = functions.map((row, index) => ({ row, index })).filter(({ row }) => row.intensity > 0 && row.flops > 0);
  if (!points.length) return element("p", { class: "dim" }, "No function has both floating-point operations and global memory accesses.");
  const [width, height, left, bottom] = [760, 360, 60, 42];
  const [x0, x1] = decades(points.map((p) => p.row.intensity)), [y0, y1] = decades(points.map((p) => p.row.flops));
  const x = (value) => left + (Math.log10(value) - x0) / (x1 - x0) * (width - left - 16);
  const y = (value) => height - bottom - (Math.log10(value) - y0) / (y1 - y0) * (height - bottom - 14);
  const lines = [];
  for (let e = x0; e <= x1; e++) {
    const at = x(10 ** e);
    lines.push(shape("line", { class: "grid", x1: at, x2: at, y1: 14, y2: height - bottom }), shape("text", { x: at, y: height - bottom + 16, "text-anchor": "middle" }, power(e)));
  }
  for (let e = y0; e <= y1; e++) {
    const at = y(10 ** e);
    lines.push(shape("line", { class: "grid", x1: left, x2: width - 16, y1: at, y2: at }), shape("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, power(e)));
  }
  lines.push(shape("text", { x: (left + width) / 2, y: height - 6, "text-anchor": "middle" }, "floating-point operations per byte of global memory"));
  lines.push(shape("text", { x: 12, y: height / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${height / 2})` }, "floating-point operations per warp"));
  const dots = points.map(({ row, index }) => tip(shape("circle", {
    class: "point", cx: x(row.intensity), cy: y(row.flops), r: 5, tabindex: 0, role: "link", "aria-label": row.title,
    onclick: () => choose(index), onkeydown: (event) => event.key === "Enter" && choose(index),
  }), `${row.title}\n${amount(row.intensity)} FLOP/byte, ${amount(row.flops)} FLOP`));
  return element("div", { class: "scroll" }, shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Functions by intensity" }, lines, dots));
}

/** How many registers are live along the text. */
function pressureCurve(pressure) {
  const [width, height, left, bottom] = [760, 190, 44, 34];
  const most = Math.max(pressure.units, 1), count = pressure.points.length;
  if (!count) return null;
  const x = (index) => left + (count > 1 ? index / (count - 1) : 0.5) * (width - left - 12);
  const y = (units) => height - bottom - units / most * (height - bottom - 22);
  const path = pressure.points.map((units, index) => `${index ? "L" : "M"}${x(index).toFixed(1)} ${y(units).toFixed(1)}`).join("");
  const parts = [];
  for (const share of [0, 0.5, 1]) {
    const units = Math.round(most * share);
    parts.push(shape("line", { class: "grid", x1: left, x2: width - 12, y1: y(units), y2: y(units) }), shape("text", { x: left - 6, y: y(units) + 4, "text-anchor": "end" }, String(units)));
  }
  for (let step = 0; step <= 4; step++) {
    const index = Math.round((count - 1) * step / 4);
    parts.push(shape("text", { x: x(index), y: height - 14, "text-anchor": step === 0 ? "start" : step === 4 ? "end" : "middle" }, `line ${pressure.lines[index]}`));
  }
  parts.push(shape("path", { class: "area", d: `${path}L${x(count - 1)} ${y(0)}L${x(0)} ${y(0)}Z` }), shape("path", { class: "curve", d: path }));
  const peak = pressure.points.indexOf(pressure.units);
  if (peak >= 0) {
    const where = pressure.peak_source ? `${pressure.units} at line ${pressure.peak_line}, ${pressure.peak_source}` : `${pressure.units} at line ${pressure.peak_line}`;
    const anchor = x(peak) > width / 2 ? "end" : "start";
    parts.push(shape("line", { class: "mark", x1: x(peak), x2: x(peak), y1: 16, y2: y(0) }), shape("text", { class: "value", x: x(peak) + (anchor === "end" ? -5 : 5), y: 12, "text-anchor": anchor }, where));
  }
  return shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Live registers along the text" }, parts);
}

/** A bar for each value; those from `bad` on are marked. */
function histogram(counts, label, bad) {
  const entries = Object.entries(counts).map(([value, count]) => [Number(value), count]).sort((a, b) => a[0] - b[0]);
  if (!entries.length) return null;
  const [height, left, bottom, each] = [170, 10, 36, 42];
  const width = Math.max(200, left + entries.length * each + 10), most = Math.max(...entries.map(([, count]) => count));
  const bars = entries.map(([value, count], index) => {
    const size = Math.max(2, count / most * (height - bottom - 20)), x = left + index * each;
    return [
      tip(shape("rect", { class: value >= bad ? "bar bad" : "bar", x, y: height - bottom - size, width: each - 10, height: size, rx: 2 }), `${label} ${value}: ${count} accesses`),
      shape("text", { class: "value", x: x + (each - 10) / 2, y: height - bottom - size - 5, "text-anchor": "middle" }, String(count)),
      shape("text", { x: x + (each - 10) / 2, y: height - bottom + 14, "text-anchor": "middle" }, String(value)),
    ];
  });
  bars.push(shape("text", { x: left, y: height - 6 }, label));
  return element("div", { class: "scroll" }, shape("svg", { class: "wide", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, bars.flat()));
}

const LANES = ["copy", "start", "product", "commit", "wait", "barrier", "fence"];
const LANE_COLORS = { copy: "global", start: "shared", product: "tensor", commit: "asynchronous", wait: "floating", barrier: "synchronization", fence: "control" };

/** The steps of a pipeline from left to right, in a lane for each kind; below them the groups in flight. */
function timeline(steps) {
  const lanes = LANES.filter((kind) => steps.some((step) => step.kind === kind));
  const completions = [...new Set(steps.flatMap((step) => step.in_flight.map((f) => f.completion)))];
  const [left, row, each] = [118, 24, 20];
  const width = left + steps.length * each + 20, height = 22 + (lanes.length + completions.length) * row + 18;
  const parts = [];
  lanes.forEach((kind, lane) => {
    const y = 14 + lane * row;
    parts.push(shape("text", { class: "value", x: 0, y: y + 13 }, kind), shape("line", { class: "axis", x1: left, x2: width, y1: y + 9, y2: y + 9 }));
  });
  completions.forEach((name, index) => {
    const y = 14 + (lanes.length + index) * row;
    parts.push(shape("text", { x: 0, y: y + 13 }, `${name} in flight`));
  });
  steps.forEach((step, index) => {
    const x = left + index * each, lane = lanes.indexOf(step.kind);
    const flying = step.in_flight.map((f) => `${f.completion}: ${f.groups} groups in flight${f.open ? `, ${f.open} operations in no group` : ""}`);
    const where = step.source ? `line ${step.line}, ${step.source}` : `line ${step.line}`;
    const text = [step.mnemonic, where, step.leaves === null ? null : `leaves ${step.leaves} groups in flight`, ...flying].filter(Boolean).join("\n");
    parts.push(tip(shape("rect", { x: x + 2, y: 14 + lane * row, width: each - 4, height: row - 6, rx: 3, fill: `var(--${LANE_COLORS[step.kind]})`, tabindex: 0, "aria-label": text }), text));
    for (const f of step.in_flight) {
      const y = 14 + (lanes.length + completions.indexOf(f.completion)) * row;
      parts.push(shape("rect", { class: "area", x, y, width: each, height: row - 6 }), shape("text", { class: "value", x: x + each / 2, y: y + 13, "text-anchor": "middle" }, f.open ? `${f.groups}+` : String(f.groups)));
    }
    if (index % 5 === 0) parts.push(shape("text", { x, y: height - 4 }, String(step.line)));
  });
  return element("div", { class: "scroll" }, shape("svg", { class: "wide", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Asynchronous operations" }, parts));
}
