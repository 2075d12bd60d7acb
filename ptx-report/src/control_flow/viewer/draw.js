
const MONOSPACE = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
/** From which scale on text is drawn, bars instead of text, and arrow heads. */
const TEXT_SCALE = 0.42;
const BAR_SCALE = 0.14;
const ARROW_SCALE = 0.2;
const STYLES = ["always", "taken", "not-taken", "table", "unknown"];
const COLORS = ["page", "text", "dim", "border", "depth0", "depth1", "depth2", "depth3", "unreachable", "loop", "inside", "match", "select", ...STYLES];

function readColors() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(COLORS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** Draws the visible part of a graph. Returns the number of blocks that were drawn. */
function draw(context, { graph, view, metrics, colors, marks }) {
  const { scale } = view;
  const { width, height } = context.canvas;
  const ratio = view.ratio;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.fillStyle = colors.page;
  context.fillRect(0, 0, width, height);
  context.setTransform(scale * ratio, 0, 0, scale * ratio, view.x * ratio, view.y * ratio);
  const seen = {
    left: -view.x / scale,
    top: -view.y / scale,
    right: (width / ratio - view.x) / scale,
    bottom: (height / ratio - view.y) / scale,
  };
  const isSeen = (r) => r && r.x < seen.right && r.x + r.width > seen.left && r.y < seen.bottom && r.y + r.height > seen.top;
  const pixel = 1 / scale;

  graph.loops.forEach((loop, index) => {
    if (loop && isSeen(loop.rect)) drawLoop(context, loop, graph.collapsed.has(index), { colors, scale, pixel, metrics });
  });
  const isLineSeen = ({ path, box }) => path && box.left < seen.right && box.right > seen.left && box.top < seen.bottom && box.bottom > seen.top;
  const lines = graph.lines.filter(isLineSeen);
  drawLines(context, graph, lines, { colors, scale, pixel });
  drawRoutes(context, graph, marks.routes, { colors, pixel });
  let count = 0;
  for (const block of graph.blocks) {
    if (!isSeen(block.rect)) continue;
    count += 1;
    drawBlock(context, block, { graph, colors, scale, pixel, metrics, marks });
  }
  if (scale >= TEXT_SCALE) drawLabels(context, graph, seen, colors);
  return count;
}

function drawLoop(context, loop, isCollapsed, { colors, scale, pixel, metrics }) {
  const { x, y, width, height } = loop.rect;
  context.beginPath();
  context.roundRect(x, y, width, height, 6);
  context.fillStyle = isCollapsed ? colors.depth1 : colors.inside;
  context.fill();
  context.strokeStyle = colors.loop;
  context.lineWidth = Math.max(1, 0.7 * pixel);
  context.setLineDash(isCollapsed ? [] : [6, 3]);
  context.stroke();
  context.setLineDash([]);
  if (scale < BAR_SCALE && !isCollapsed) return;
  // The title stays readable when the view is zoomed out, as long as it fits.
  const size = Math.min(Math.max(11, 9 * pixel), height / 3, width / 12);
  context.font = `${size}px ${MONOSPACE}`;
  context.fillStyle = isCollapsed ? colors.text : colors.dim;
  const title = `${isCollapsed ? "▸" : "▾"} loop at ${loop.header}: ${counted(loop.blocks, "block")}, ${counted(loop.insts, "instruction")}`;
  if (!isCollapsed) {
    if (scale >= TEXT_SCALE) context.fillText(title, x + metrics.padding, y + 15, width - 2 * metrics.padding);
    return;
  }
  context.textAlign = "center";
  context.fillText(title, x + width / 2, y + height / 2 + size / 3, width - 12);
  context.textAlign = "left";
}

function drawLines(context, graph, lines, { colors, scale, pixel }) {
  const radius = scale >= TEXT_SCALE ? 5 : 0;
  for (const style of STYLES) {
    for (const back of [false, true]) {
      const chosen = lines.filter((l) => l.back === back && graph.edges[l.edge].style === style);
      if (chosen.length === 0) continue;
      context.beginPath();
      for (const { path } of chosen) trace(context, path, radius, 0);
      context.strokeStyle = colors[style];
      context.lineWidth = Math.max(back ? 2.2 : 1.3, (back ? 1.1 : 0.6) * pixel);
      context.setLineDash(style === "unknown" ? [5, 4] : []);
      context.stroke();
      context.setLineDash([]);
      if (scale < ARROW_SCALE) continue;
      context.fillStyle = colors[style];
      context.beginPath();
      for (const { path, end } of chosen) {
        if (end === "box" || end === "cut") arrow(context, path);
      }
      context.fill();
    }
  }
}

/** Adds a line with round corners to the path, from the height `from` on. */
function trace(context, path, radius, from) {
  let first = 0;
  while (first + 3 < path.length && path[first + 3] < from) first += 2;
  context.moveTo(path[first], Math.max(path[first + 1], from));
  for (let i = first + 2; i + 3 < path.length; i += 2) {
    if (radius > 0) context.arcTo(path[i], path[i + 1], path[i + 2], path[i + 3], cornerRadius(path, i, radius));
    else context.lineTo(path[i], path[i + 1]);
  }
  context.lineTo(path[path.length - 2], path[path.length - 1]);
}

function cornerRadius(path, i, radius) {
  const length = (a, b) => Math.abs(path[a] - path[b]) + Math.abs(path[a + 1] - path[b + 1]);
  return Math.min(radius, length(i - 2, i) / 2, length(i, i + 2) / 2);
}

function arrow(context, path) {
  const [x, y] = path.slice(-2);
  context.moveTo(x, y);
  context.lineTo(x - 4, y - 9);
  context.lineTo(x + 4, y - 9);
}

/** Emphasizes the edges of the block under the pointer. */
function drawRoutes(context, graph, routes, { colors, pixel }) {
  for (const { edge, parts } of routes) {
    context.beginPath();
    for (const { line, from } of parts) {
      if (!line.path) continue;
      const below = from === 0 ? 0 : line.path[1] + (from - line.points[1]);
      trace(context, line.path, 5, line.back ? 0 : below);
    }
    context.strokeStyle = colors[graph.edges[edge].style];
    context.lineWidth = Math.max(3, 2 * pixel);
    context.stroke();
  }
}

function drawBlock(context, block, { colors, scale, pixel, metrics, marks, graph }) {
  const { x, y, width, height } = block.rect;
  const matches = marks.matches.get(block.id);
  context.fillStyle = matches && scale < TEXT_SCALE ? colors.match : block.reachable ? colors[`depth${Math.min(block.depth, 3)}`] : colors.unreachable;
  context.fillRect(x, y, width, height);
  const isMarked = marks.selected === block.id || marks.hovered === block.id;
  context.strokeStyle = isMarked ? colors.select : block.exits ? colors.text : colors.border;
  context.lineWidth = Math.max(isMarked || block.exits ? 2 : 1, (isMarked ? 2 : 0.5) * pixel);
  context.strokeRect(x, y, width, height);
  const left = x + metrics.padding;
  let at = y + metrics.padding;
  if (scale >= TEXT_SCALE) {
    const row = (text, source, isRemark, isMatch, font) => {
      if (isMatch) {
        context.fillStyle = colors.match;
        context.fillRect(x + 2, at, width - 4, metrics.line_height);
      }
      const base = at + metrics.line_height - 4;
      context.font = font;
      context.fillStyle = isRemark ? colors.dim : colors.text;
      context.fillText(text, left, base);
      if (source !== null) {
        context.textAlign = "right";
        context.fillStyle = colors.dim;
        context.fillText(graph.sources[source].short, x + width - metrics.padding, base);
        context.textAlign = "left";
      }
      at += metrics.line_height;
    };
    row(block.title, null, false, matches?.has(-1), `bold 12px ${MONOSPACE}`);
    for (const [text, inst, source] of block.shown) {
      const isMatch = matches && (inst === null ? hasHidden(block, matches) : matches.has(inst));
      row(text, source, inst === null, isMatch, `12px ${MONOSPACE}`);
    }
  } else if (scale >= BAR_SCALE) {
    context.fillStyle = colors.dim;
    const bar = (text) => {
      context.fillRect(left, at + 4, text.length * metrics.char_width, metrics.line_height - 8);
      at += metrics.line_height;
    };
    context.globalAlpha = 0.8;
    bar(block.title);
    context.globalAlpha = 0.35;
    for (const [text] of block.shown) bar(text);
    context.globalAlpha = 1;
  }
}

/** Whether one of the matches is not shown in the box. */
function hasHidden(block, matches) {
  const shown = new Set(block.shown.map(([, inst]) => inst));
  return [...matches].some((inst) => inst >= 0 && !shown.has(inst));
}

function drawLabels(context, graph, seen, colors) {
  context.font = `12px ${MONOSPACE}`;
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = colors.page;
  const label = (text, x, y, color) => {
    if (x > seen.right || x < seen.left - 200 || y > seen.bottom + 20 || y < seen.top - 20) return;
    context.strokeText(text, x, y);
    context.fillStyle = color;
    context.fillText(text, x, y);
  };
  for (const { start, guard, style } of graph.edges) {
    if (start && guard) label(guard, start.x + 5, start.y + 13, colors[style]);
  }
  for (const { path, end, edge } of graph.lines) {
    if (path && end === "cut") label(`to ${graph.edges[edge].to}`, path[2] + 6, path[3] + 4, colors[graph.edges[edge].style]);
  }
}
