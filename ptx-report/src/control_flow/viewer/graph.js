
/** The least size of a collapsed loop, and the space to keep around boxes and lines. */
const COLLAPSED = { width: 230, height: 54 };
const KEEP = { box: 16, line: 7, title: 24, label: 18 };

/** A function with the places of what is visible, which depend on the loops that are collapsed. */
class Graph {
  constructor(data) {
    Object.assign(this, data);
    this.collapsed = new Set();
    this.linesTo = new Map();
    for (const line of this.lines) {
      const edge = this.edges[line.edge];
      const key = `${edge.to} ${edge.style}`;
      if (!this.linesTo.has(key)) this.linesTo.set(key, []);
      this.linesTo.get(key).push(line);
    }
    this.place();
  }

  /** The collapsed loop that hides something inside `loop`, the outermost one, or null. */
  hiddenBy(loop) {
    let found = null;
    for (let at = loop; at !== null; at = this.loops[at]?.parent ?? null) {
      if (this.collapsed.has(at)) found = at;
    }
    return found;
  }

  setCollapsed(loop, collapsed) {
    if (collapsed) this.collapsed.add(loop);
    else this.collapsed.delete(loop);
    this.place();
  }

  /** Collapses the outermost loops, or expands all. */
  setAllCollapsed(collapsed) {
    this.collapsed.clear();
    if (collapsed) this.loops.forEach((loop, index) => loop && loop.parent === null && this.collapsed.add(index));
    this.place();
  }

  /** Expands the loops around a block. */
  reveal(block) {
    for (let hidden; (hidden = this.hiddenBy(this.blocks[block].inside)) !== null;) this.setCollapsed(hidden, false);
  }

  /** Finds what is visible and where: hides what is inside collapsed loops and takes out the space that this frees. */
  place() {
    const hidden = this.loops.map((_, index) => this.hiddenBy(index));
    const isHidden = (loop) => loop !== null && hidden[loop] !== null;
    this.isHidden = isHidden;
    const [removable, kept] = [{ x: [], y: [] }, { x: [], y: [] }];
    const keep = (left, top, right, bottom, space) => {
      kept.x.push([left - space, right + space]);
      kept.y.push([top - space, bottom + space]);
    };
    for (const loop of this.collapsed) {
      if (!this.loops[loop] || hidden[loop] !== loop) continue;
      const [left, top, width, height] = this.loops[loop].at;
      removable.x.push([left, left + width]);
      removable.y.push([top, top + height]);
      const middle = left + width / 2;
      const half = Math.min(width, COLLAPSED.width) / 2;
      keep(middle - half, top, middle + half, top + Math.min(height, COLLAPSED.height), 0);
    }
    if (removable.x.length > 0) {
      for (const block of this.blocks) {
        const [left, top, width, height] = block.at;
        if (!isHidden(block.inside)) keep(left, top, left + width, top + height, KEEP.box);
      }
      for (const [index, loop] of this.loops.entries()) {
        if (!loop || isHidden(index)) continue;
        const [left, top, width, height] = loop.at;
        kept.x.push([left - 1, left + 20], [left + width - 20, left + width + 1]);
        kept.y.push([top - 1, top + KEEP.title], [top + height - 12, top + height + 1]);
      }
      for (const { points, inside } of this.lines) {
        if (isHidden(inside)) continue;
        for (let i = 2; i < points.length; i += 2) {
          const [x, y, fromX, fromY] = [points[i], points[i + 1], points[i - 2], points[i - 1]];
          if (y === fromY) kept.y.push([y - KEEP.line, y + KEEP.line]);
          if (Math.abs(x - fromX) < 1) kept.x.push([x - KEEP.line, x + KEEP.line]);
        }
      }
    }
    const [x, y] = [squeeze(removable.x, kept.x), squeeze(removable.y, kept.y)];
    const rect = ([left, top, width, height]) => {
      const place = { x: x(left), y: y(top) };
      return { ...place, width: x(left + width) - place.x, height: y(top + height) - place.y };
    };
    this.size = { width: x(this.width), height: y(this.height) };
    for (const block of this.blocks) block.rect = isHidden(block.inside) ? null : rect(block.at);
    for (const [index, loop] of this.loops.entries()) {
      if (loop) loop.rect = isHidden(index) && hidden[index] !== index ? null : rect(loop.at);
    }
    for (const line of this.lines) {
      line.path = isHidden(line.inside) ? null : Float32Array.from(line.points, (v, i) => (i % 2 ? y(v) : x(v)));
      if (line.path) line.box = bounds(line.path);
    }
    for (const edge of this.edges) {
      const from = this.blocks[edge.from];
      edge.start = from.rect && { x: x(edge.x), y: y(edge.y) };
    }
  }

  /** The parts of lines along which an edge runs: each line with the height from which on it does. */
  route(edge) {
    const { to, style, x, y } = this.edges[edge];
    const lines = this.linesTo.get(`${to} ${style}`) ?? [];
    const route = [];
    let at = [x, y];
    const seen = new Set();
    for (;;) {
      const isNext = (line) => !seen.has(line) && (starts(line.points, at) || contains(line.points, at));
      const line = lines.find((l) => !seen.has(l) && starts(l.points, at)) ?? lines.find(isNext);
      if (!line) return route;
      seen.add(line);
      route.push({ line, from: starts(line.points, at) ? 0 : at[1] });
      if (line.end === "box" || line.end === "cut") return route;
      at = line.points.slice(-2);
    }
  }
}

function bounds(path) {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (let i = 0; i < path.length; i += 2) {
    box.left = Math.min(box.left, path[i]);
    box.right = Math.max(box.right, path[i]);
    box.top = Math.min(box.top, path[i + 1]);
    box.bottom = Math.max(box.bottom, path[i + 1]);
  }
  return box;
}

const near = (a, b) => Math.abs(a - b) < 0.8;
const starts = (points, [x, y]) => near(points[0], x) && near(points[1], y);

/** Whether a point is on a vertical part of a line. */
function contains(points, [x, y]) {
  for (let i = 2; i < points.length; i += 2) {
    if (near(points[i], x) && near(points[i - 2], x) && y >= points[i - 1] - 0.2 && y <= points[i + 1] + 0.2) return true;
  }
  return false;
}
