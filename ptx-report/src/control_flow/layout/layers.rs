//! Layers, bends, and the arcs between neighbouring layers.

use std::collections::HashMap;
use std::ops::Range;

use smallvec::SmallVec;

use super::nest::{Item, Role, Wire};
use super::ports::Ports;
use super::{BENDS_PER_EDGE, MORE_BENDS, Size};

/// A region whose arcs all lead from one layer to the next.
pub(super) struct Layered {
    /// The items, and after them the bends.
    pub(super) vertices: Vec<Vertex>,
    pub(super) arcs: Vec<Arc>,
    pub(super) ports: Ports,
    /// The vertices of each layer from left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// The arcs that begin at each vertex, and those that end there.
    pub(super) down: Vec<SmallVec<[usize; 2]>>,
    pub(super) up: Vec<SmallVec<[usize; 2]>>,
    /// Arcs that are drawn as one line.
    pub(super) chains: Vec<Chain>,
    /// What is best straight.
    pub(super) trunks: Vec<Trunk>,
    /// The wires that close a cycle, with their ports.
    pub(super) back: Vec<Sideways>,
    /// The wires that are not drawn whole, with their ports.
    pub(super) cut: Vec<Sideways>,
}

/// An item or a bend.
#[derive(Copy, Clone)]
pub(super) struct Vertex {
    pub(super) layer: usize,
    pub(super) size: Size,
    pub(super) role: Option<Role>,
}

/// Part of a wire, between two neighbouring layers.
#[derive(Copy, Clone)]
pub(super) struct Arc {
    pub(super) upper: usize,
    pub(super) lower: usize,
    pub(super) upper_port: usize,
    pub(super) lower_port: usize,
    pub(super) fans_out: bool,
}

/// The part of a wire that it does not share with an earlier one.
pub(super) struct Chain {
    pub(super) wire: usize,
    pub(super) arcs: Vec<usize>,
    /// Whether it reaches the target of its wire, or joins another chain.
    pub(super) reaches_target: bool,
}

/// Vertices of lines in successive layers, from below, and the ports of the items that the lines lead to and come from.
pub(super) struct Trunk {
    pub(super) vertices: Vec<usize>,
    pub(super) lower_end: Option<usize>,
    pub(super) upper_end: Option<usize>,
}

/// A wire that does not run through bends.
#[derive(Copy, Clone)]
pub(super) struct Sideways {
    pub(super) wire: usize,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Layered {
    pub(super) fn new(items: &[Item], wires: &[Wire]) -> Self {
        let (order, is_back) = topological_order(items, wires);
        let layer = longest_paths(items, &order, wires, &is_back);
        let layers = layer.iter().map(|l| l + 1).max().unwrap_or(0);
        let vertex = |(item, &layer): (&Item, &usize)| Vertex {
            layer,
            size: item.size,
            role: Some(item.role),
        };
        let mut graph = Self {
            vertices: items.iter().zip(&layer).map(vertex).collect(),
            arcs: Vec::new(),
            ports: Ports::default(),
            layers: vec![Vec::new(); layers],
            down: vec![SmallVec::new(); items.len()],
            up: vec![SmallVec::new(); items.len()],
            chains: Vec::new(),
            trunks: Vec::new(),
            back: Vec::new(),
            cut: Vec::new(),
        };
        graph.add_wires(wires, &is_back);
        graph.fill_layers();
        graph
    }

    /// Whether a vertex takes no space but that of lines.
    pub(super) fn is_line(&self, vertex: usize) -> bool {
        matches!(
            self.vertices[vertex].role,
            None | Some(Role::Entry | Role::Exit)
        )
    }

    /// Adds the wires, those that share bends one after the other, the longest first.
    fn add_wires(&mut self, wires: &[Wire], is_back: &[bool]) {
        let mut numbers: HashMap<(usize, Option<usize>, u8), usize> = HashMap::new();
        let mut bundles: Vec<Vec<usize>> = Vec::new();
        for (index, wire) in wires.iter().enumerate() {
            if is_back[index] {
                let (from, to) = self.ends(wire, true);
                let wire = index;
                self.back.push(Sideways { wire, from, to });
                continue;
            }
            let key = (wire.to.item, wire.to.port, wire.kind);
            let number = *numbers.entry(key).or_insert(bundles.len());
            if number == bundles.len() {
                bundles.push(Vec::new());
            }
            bundles[number].push(index);
        }
        let span = |graph: &Self, wire: &Wire| {
            graph.vertices[wire.to.item].layer - graph.vertices[wire.from.item].layer
        };
        let mut lengths = Vec::with_capacity(bundles.len());
        for (number, bundle) in bundles.iter_mut().enumerate() {
            bundle.sort_by_key(|&wire| std::cmp::Reverse(span(self, &wires[wire])));
            lengths.push((span(self, &wires[bundle[0]]), number));
        }
        // The shortest bundles get their bends first.
        lengths.sort_unstable();
        let mut bends_left = BENDS_PER_EDGE * wires.len() + MORE_BENDS;
        let mut whole = 0;
        while let Some((length, _)) = lengths.get(whole)
            && let Some(rest) = bends_left.checked_sub(length - 1)
        {
            bends_left = rest;
            whole += 1;
        }
        let (whole, cut) = lengths.split_at(whole);
        let longest = |(length, number): &(usize, usize)| {
            let target = wires[bundles[*number][0]].to.item;
            let at = self.vertices[target].layer;
            at + 1 - length..at
        };
        let longest: Vec<Range<usize>> = whole.iter().map(longest).collect();
        let mut bends = self.add_bends(longest);
        for (_, number) in whole {
            self.add_bundle(wires, &bundles[*number], &mut bends);
        }
        for &index in cut.iter().flat_map(|(_, number)| &bundles[*number]) {
            let (from, to) = self.ends(&wires[index], false);
            let wire = index;
            self.cut.push(Sideways { wire, from, to });
        }
    }

    /// Adds the bends of lines through these layers, layer by layer, so that those that are used together are together in memory. Gives the
    /// first bend of each layer.
    fn add_bends(&mut self, lines: Vec<Range<usize>>) -> Vec<usize> {
        // How many more lines run through a layer than through the one above it.
        let mut changes = vec![0isize; self.layers.len() + 1];
        for line in lines {
            changes[line.start] += 1;
            changes[line.end] -= 1;
        }
        let start = self.vertices.len();
        let mut first = Vec::with_capacity(self.layers.len());
        let mut lines = 0;
        for (layer, change) in changes.into_iter().enumerate().take(self.layers.len()) {
            lines += change;
            first.push(self.vertices.len());
            let bend = Vertex {
                layer,
                size: Size::default(),
                role: None,
            };
            let count = self.vertices.len() + lines.unsigned_abs();
            self.vertices.resize(count, bend);
        }
        self.down.resize(self.vertices.len(), SmallVec::new());
        self.up.resize(self.vertices.len(), SmallVec::new());
        self.ports.add_bends(start..self.vertices.len());
        first
    }

    fn ends(&mut self, wire: &Wire, is_back: bool) -> (usize, usize) {
        let from = self.ports.below(wire, &self.vertices);
        let to = self.ports.above(wire, is_back, &self.vertices);
        (from, to)
    }

    /// Adds wires to one target that share their bends; `bends` has the next one of each layer.
    fn add_bundle(&mut self, wires: &[Wire], bundle: &[usize], bends: &mut [usize]) {
        let target = wires[bundle[0]].to.item;
        let at = self.vertices[target].layer;
        // The vertices of the first chain by their distance from the target, with their ports.
        let mut trunk = Vec::new();
        for &index in bundle {
            let wire = &wires[index];
            let (from, to) = self.ends(wire, false);
            let span = at - self.vertices[wire.from.item].layer;
            let is_first = trunk.is_empty();
            if is_first {
                trunk.push((target, to));
                for next in bends[at + 1 - span..at].iter_mut().rev() {
                    trunk.push((*next, self.ports.of_bend(*next)));
                    *next += 1;
                }
                self.add_trunk(&trunk, (wire.from.item, from));
            }
            let reaches_target = is_first || span == 1;
            let mut path = vec![(wire.from.item, from)];
            match reaches_target {
                true => path.extend(trunk[..span].iter().rev()),
                false => path.push(trunk[span - 1]),
            }
            let mut arcs = Vec::with_capacity(path.len() - 1);
            for (nth, ends) in path.windows(2).enumerate() {
                arcs.push(self.arcs.len());
                let ((upper, upper_port), (lower, lower_port)) = (ends[0], ends[1]);
                self.down[upper].push(self.arcs.len());
                self.up[lower].push(self.arcs.len());
                self.arcs.push(Arc {
                    upper,
                    lower,
                    upper_port,
                    lower_port,
                    fans_out: wire.fans_out && nth == 0,
                });
            }
            self.chains.push(Chain {
                wire: index,
                arcs,
                reaches_target,
            });
        }
    }

    /// Adds the vertices and ports from the target of a wire up to its source.
    fn add_trunk(&mut self, trunk: &[(usize, usize)], source: (usize, usize)) {
        let is_line = |&(vertex, _): &(usize, usize)| self.is_line(vertex);
        let end = |of: (usize, usize)| (!is_line(&of)).then_some(of.1);
        let all = trunk.iter().copied().chain([source]);
        let vertices: Vec<usize> = all.filter(is_line).map(|(vertex, _)| vertex).collect();
        if !vertices.is_empty() {
            let (lower_end, upper_end) = (trunk.first().copied().and_then(end), end(source));
            self.trunks.push(Trunk {
                vertices,
                lower_end,
                upper_end,
            });
        }
    }

    /// A first order of each layer: that of a depth-first search.
    fn fill_layers(&mut self) {
        let mut is_seen = vec![false; self.vertices.len()];
        let mut stack = Vec::new();
        for root in 0..self.vertices.len() {
            stack.push(root);
            while let Some(vertex) = stack.pop() {
                if std::mem::replace(&mut is_seen[vertex], true) {
                    continue;
                }
                self.layers[self.vertices[vertex].layer].push(vertex);
                stack.extend(self.down[vertex].iter().rev().map(|&a| self.arcs[a].lower));
            }
        }
    }
}

/// The items such that every wire leads forward but those that are marked: the ones that close a cycle.
fn topological_order(items: &[Item], wires: &[Wire]) -> (Vec<usize>, Vec<bool>) {
    #[derive(Copy, Clone, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut out = vec![Vec::new(); items.len()];
    for (index, wire) in wires.iter().enumerate() {
        out[wire.from.item].push(index);
    }
    let mut is_back = vec![false; wires.len()];
    let mut state = vec![State::New; items.len()];
    let mut order = Vec::with_capacity(items.len());
    for root in 0..items.len() {
        if state[root] != State::New {
            continue;
        }
        state[root] = State::Open;
        let mut path = vec![(root, 0)];
        while let Some((item, next)) = path.last_mut() {
            let Some(&wire) = out[*item].get(*next) else {
                state[*item] = State::Done;
                order.push(*item);
                path.pop();
                continue;
            };
            *next += 1;
            let to = wires[wire].to.item;
            match state[to] {
                State::New => {
                    state[to] = State::Open;
                    path.push((to, 0));
                }
                State::Open => is_back[wire] = true,
                State::Done => {}
            }
        }
    }
    order.reverse();
    (order, is_back)
}

/// The layer of each item: one below the lowest of its predecessors; without predecessors, one above the highest successor.
/// Entries are in the first layer, exits in a separate last one.
fn longest_paths(items: &[Item], order: &[usize], wires: &[Wire], is_back: &[bool]) -> Vec<usize> {
    let mut out = vec![Vec::new(); items.len()];
    let mut has_predecessor = vec![false; items.len()];
    for (wire, _) in wires.iter().zip(is_back).filter(|(_, back)| !**back) {
        out[wire.from.item].push(wire.to.item);
        has_predecessor[wire.to.item] = true;
    }
    let has_entry = items.iter().any(|i| i.role == Role::Entry);
    let first = |item: &Item| usize::from(has_entry && item.role != Role::Entry);
    let mut layer: Vec<usize> = items.iter().map(first).collect();
    for &upper in order {
        for &lower in &out[upper] {
            layer[lower] = layer[lower].max(layer[upper] + 1);
        }
    }
    for item in 1..items.len() {
        if !has_predecessor[item] && items[item].role != Role::Entry {
            let highest = out[item].iter().map(|&lower| layer[lower]).min();
            layer[item] = highest.map_or(layer[item], |h| h - 1);
        }
    }
    let is_exit = |(item, _): &(&Item, _)| item.role == Role::Exit;
    let inside = items.iter().zip(&layer).filter(|pair| !is_exit(pair));
    let last = inside.map(|(_, l)| l + 1).max().unwrap_or(0);
    for (_, layer) in items
        .iter()
        .zip(&mut layer)
        .filter(|(i, _)| i.role == Role::Exit)
    {
        *layer = last;
    }
    layer
}
