const UNIFORM = ["grid", "cluster", "cta", "warp", "varying"];

/** The color of a value between 0 and 1: from the page to a color. */
const shade = (share, color) => `color-mix(in srgb, var(--${color}) ${Math.round(share * 100)}%, var(--panel))`;

/** What may color the blocks: a color, and a sentence for the tooltip. */
const COLORINGS = {
  divergence: {
    title: "Divergence",
    share: (block) => UNIFORM.indexOf(block.uniform) / 4,
    color: "bad",
    text: (block) => `uniformly executed: ${block.uniform}; uniform branch: ${block.branch}`,
    legend: "the darker, the fewer threads execute a block together: grid, cluster, CTA, warp, varying",
  },
  pressure: {
    title: "Live registers",
    share: (block, most) => block.pressure / Math.max(1, most.pressure),
    color: "floating",
    text: (block) => `${counted(block.pressure, "live register")} of 32 bits`,
    legend: "the darker, the more registers are live",
  },
  findings: {
    title: "Findings of lints",
    share: (block, most) => block.findings / Math.max(1, most.findings),
    color: "warn",
    text: (block) => counted(block.findings, "finding"),
    legend: "the darker, the more findings in a block",
  },
  depth: {
    title: "Loop depth",
    share: (block, most) => block.loop_depth / Math.max(1, most.loop_depth),
    color: "tensor",
    text: (block) => `in ${counted(block.loop_depth, "loop")}`,
    legend: "the darker, the more deeply nested in loops",
  },
};

/** The control-flow graph with a choice of colors. */
function flowGraph(details) {
  const { drawing, blocks } = details;
  if (!drawing) return element("p", { class: "dim" }, "The graph has too many blocks to be drawn here; use ptxkit cfg.");
  for (const block of blocks) block.findings = details.finding_counts[block.id] ?? 0;
  const most = { findings: Math.max(...blocks.map((b) => b.findings)), pressure: Math.max(...blocks.map((b) => b.pressure)), loop_depth: Math.max(...blocks.map((b) => b.loop_depth)) };
  const legend = element("p", { class: "dim" });
  const boxes = blocks.map((block) => {
    const [x, y, width, height] = drawing.boxes[block.id];
    const rect = shape("rect", { class: "box", x, y, width, height });
    const label = block.label ? `${block.id}: ${block.label.length > 14 ? `${block.label.slice(0, 13)}…` : block.label}` : String(block.id);
    const text = shape("text", { x: x + width / 2, y: y + height / 2 + 4 }, label);
    return { block, rect, text, group: shape("g", { tabindex: 0, role: "img" }, rect, text) };
  });
  const paint = (name) => {
    const coloring = COLORINGS[name];
    legend.textContent = coloring.legend;
    for (const { block, rect, group } of boxes) {
      const share = coloring.share(block, most);
      rect.setAttribute("fill", block.reachable ? shade(0.55 * share, coloring.color) : "var(--line)");
      const text = `block ${block.id}, line ${block.line}, ${counted(block.instructions, "instruction")}\n${coloring.text(block)}`;
      group.setAttribute("aria-label", text);
      group.lines = text;
    }
  };
  boxes.forEach(({ group }) => liveTip(group));
  const choice = element("select", { "aria-label": "Colors of blocks", onchange: (event) => paint(event.target.value) },
    Object.entries(COLORINGS).map(([name, { title }]) => element("option", { value: name }, title)));
  paint("divergence");
  const loops = drawing.loops.filter(Boolean).map(([x, y, width, height]) => shape("rect", { class: "loop", x, y, width, height }));
  // Jumps through tables lead to boxes without instructions.
  const drawn = new Set(blocks.map((block) => block.id));
  const others = drawing.boxes.filter((_, id) => !drawn.has(id)).map(([x, y, width, height]) => shape("rect", { class: "box", x, y, width, height, fill: "var(--panel)" }));
  const lines = drawing.lines.map((line) => shape("path", {
    class: line.back ? "back" : null, d: line.points.map((at, i) => `${i === 0 ? "M" : i % 2 ? " " : "L"}${at}`).join(""), "marker-end": line.arrow ? "url(#arrow)" : null,
  }));
  const arrow = shape("defs", {}, shape("marker", { id: "arrow", markerUnits: "userSpaceOnUse", markerWidth: 9, markerHeight: 8, refX: 8, refY: 4, orient: "auto" }, shape("path", { d: "M0 0L9 4L0 8z", style: "fill:var(--dim);stroke:none" })));
  const svg = shape("svg", { class: "flow wide", width: drawing.width + 16, height: drawing.height + 16, viewBox: `-8 -8 ${drawing.width + 16} ${drawing.height + 16}`, role: "group", "aria-label": "Control-flow graph" }, arrow, loops, lines, others, boxes.map(({ group }) => group));
  return element("div", {}, choice, legend, framed(element("div", { class: "tall" }, svg)));
}

/** A tooltip whose text changes with the colors. */
function liveTip(group) {
  Object.defineProperty(group, "lines", { writable: true, value: "" });
  const shown = tip(group, "");
  for (const name of ["pointerenter", "focus"]) shown.addEventListener(name, () => { byId("tip").textContent = group.lines; });
}
