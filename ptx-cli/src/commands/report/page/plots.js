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

/** What marks a function in the plot: red squares are costly, and outlined marks are lower bounds. */
function pointShape(row, x, y) {
  const size = 5;
  const kind = ["point", isCostly(row) && "bad", isLeast(row) && "least"].filter(Boolean).join(" ");
  return isCostly(row) ? shape("rect", { class: kind, x: x - size, y: y - size, width: 2 * size, height: 2 * size }) : shape("circle", { class: kind, cx: x, cy: y, r: size });
}

/** Whether the operations or bytes of a function are more than those that are known. */
const isLeast = (row) => row.unknown_products || row.unknown_bytes;

function intensityLegend(rows) {
  const kinds = [
    ["function", { excess: 0, degree: 0 }, (row) => !isCostly(row)],
    ["function with more than twice the sectors of contiguous accesses, or with bank conflicts", { excess: 3 }, isCostly],
    ["only outlined: at least this much, the rest is unknown", { unknown_bytes: true }, isLeast],
  ];
  return element("p", { class: "legend" }, kinds.filter(([, , applies]) => rows.some(applies)).map(([text, row]) =>
    element("span", {}, shape("svg", { width: 14, height: 14, "aria-hidden": "true" }, pointShape(row, 7, 7)), text)));
}

/** The names of points, beside them, as far as they do not cover each other or points. */
function pointNames(places, width) {
  const boxes = places.map(({ x, y }) => ({ left: x - 7, right: x + 7, top: y - 7, bottom: y + 7 }));
  return places.map(({ row, x, y }) => {
    const text = row.short.length > 30 ? `${row.short.slice(0, 29)}…` : row.short;
    const length = text.length * 6.4, isLeft = x + 10 + length > width;
    const box = { left: isLeft ? x - 10 - length : x + 10, right: isLeft ? x - 10 : x + 10 + length, top: y - 7, bottom: y + 7 };
    if (box.left < 0 || boxes.some((b) => box.left < b.right && box.right > b.left && box.top < b.bottom && box.bottom > b.top)) return null;
    boxes.push(box);
    return shape("text", { class: "name", x: isLeft ? x - 10 : x + 10, y: y + 4, "text-anchor": isLeft ? "end" : "start" }, text);
  });
}

/** A plot with logarithmic scales, whose axes cover the decades of `xs` and `ys`: its size, the functions of coordinates, and the lines and titles of the axes. */
function logarithmicPlot(xs, ys, titles) {
  const width = plotWidth(), height = Math.min(360, width * 0.8), [left, bottom, top, right] = [54, 42, 14, 16];
  const [x0, x1] = decades(xs), [y0, y1] = decades(ys);
  const x = (value) => left + (Math.log10(value) - x0) / (x1 - x0) * (width - left - right);
  const y = (value) => height - bottom - (Math.log10(value) - y0) / (y1 - y0) * (height - bottom - top);
  const axes = [];
  for (let exponent = x0; exponent <= x1; exponent++) {
    const at = x(10 ** exponent);
    axes.push(shape("line", { class: "grid", x1: at, x2: at, y1: top, y2: height - bottom }), shape("text", { x: at, y: height - bottom + 16, "text-anchor": "middle" }, power(exponent)));
  }
  for (let exponent = y0; exponent <= y1; exponent++) {
    const at = y(10 ** exponent);
    axes.push(shape("line", { class: "grid", x1: left, x2: width - right, y1: at, y2: at }), shape("text", { x: left - 8, y: at + 4, "text-anchor": "end" }, power(exponent)));
  }
  const middle = (height - bottom + top) / 2;
  axes.push(shape("text", { class: "axis-title", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, titles.x));
  axes.push(shape("text", { class: "axis-title", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, titles.y));
  return { width, height, x, y, axes, lowest: 10 ** x0, highest: 10 ** x1, bottom: 10 ** y0 };
}

/** The marks of functions in a plot, with links to their pages, and their names as far as they fit. */
function functionMarks(places, width, details) {
  const marks = places.map((place) => tip(shape("a", { href: `#${place.index}`, "aria-label": place.row.title }, pointShape(place.row, place.x, place.y)), `${place.row.title}\n${details(place.row)}`));
  return [pointNames(places, width), marks];
}

/** Functions by intensity and operations, both on logarithmic scales. */
function intensityPlot(functions) {
  const points = functions.map((row, index) => ({ row, index })).filter(({ row }) => row.intensity > 0 && row.flops > 0);
  if (!points.length) return element("p", { class: "dim" }, "No function has both floating-point operations and global memory accesses.");
  const plot = logarithmicPlot(points.map((p) => p.row.intensity), points.map((p) => p.row.flops), { x: "FLOP per byte of global memory", y: "FLOP per warp" });
  const places = points.map(({ row, index }) => ({ row, index, x: plot.x(row.intensity), y: plot.y(row.flops) }));
  const marks = functionMarks(places, plot.width, (row) => `${amount(row.intensity)} FLOP/byte, ${atLeast(row.flops, row.unknown_products)} FLOP`);
  const missing = functions.length - points.length;
  return element("div", {},
    element("p", { class: "dim" }, "Further to the right: more arithmetic per byte; further up: more arithmetic. With the size of a launch (--grid), the report shows the roofs of a device."),
    shape("svg", { width: plot.width, height: plot.height, viewBox: `0 0 ${plot.width} ${plot.height}`, role: "group", "aria-label": "Functions by intensity" }, plot.axes, ...marks),
    intensityLegend(points.map(({ row }) => row)),
    missing ? element("p", { class: "dim" }, `${counted(missing, "function")} without floating-point operations or without global memory accesses ${missing === 1 ? "is" : "are"} not shown.`) : null);
}

/** How many registers are live along the text. */
function pressureCurve(pressure) {
  const [width, height, left, bottom] = [plotWidth(), 190, 44, 34];
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
  const steps = width < 500 ? 2 : 4;
  for (let step = 0; step <= steps; step++) {
    const index = Math.round((count - 1) * step / steps);
    parts.push(shape("text", { x: x(index), y: height - 14, "text-anchor": step === 0 ? "start" : step === steps ? "end" : "middle" }, `line ${pressure.lines[index]}`));
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
      tip(shape("rect", { class: value >= bad ? "bar bad" : "bar", x, y: height - bottom - size, width: each - 10, height: size, rx: 2 }), `${label} ${value}: ${counted(count, "access", "accesses")}`),
      shape("text", { class: "value", x: x + (each - 10) / 2, y: height - bottom - size - 5, "text-anchor": "middle" }, String(count)),
      shape("text", { x: x + (each - 10) / 2, y: height - bottom + 14, "text-anchor": "middle" }, String(value)),
    ];
  });
  bars.push(shape("text", { x: left, y: height - 6 }, label));
  return scrolling(shape("svg", { class: "wide", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, bars.flat()));
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
    const flying = step.in_flight.map((f) => `${f.completion}: ${counted(f.groups, "group")} in flight${f.open ? `, ${counted(f.open, "operation")} in no group` : ""}`);
    const where = step.source ? `line ${step.line}, ${step.source}` : `line ${step.line}`;
    const text = [step.mnemonic, where, step.leaves === null ? null : `leaves ${counted(step.leaves, "group")} in flight`, ...flying].filter(Boolean).join("\n");
    parts.push(tip(shape("rect", { x: x + 2, y: 14 + lane * row, width: each - 4, height: row - 6, rx: 3, fill: `var(--${LANE_COLORS[step.kind]})`, tabindex: 0, role: "img", "aria-label": text }), text));
    for (const f of step.in_flight) {
      const y = 14 + (lanes.length + completions.indexOf(f.completion)) * row;
      parts.push(shape("rect", { class: "area", x, y, width: each, height: row - 6 }), shape("text", { class: "value", x: x + each / 2, y: y + 13, "text-anchor": "middle" }, f.open ? `${f.groups}+` : String(f.groups)));
    }
    if (index % 5 === 0) parts.push(shape("text", { x, y: height - 4 }, String(step.line)));
  });
  return scrolling(shape("svg", { class: "wide", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Asynchronous operations" }, parts));
}
