//! The division of a region into layers: bends, and the arcs between neighboring layers.

use std::collections::HashMap;
use std::ops::Range;

use smallvec::SmallVec;

use super::ports::Ports;
use super::region::{Item, Role, Wire};
use super::{BENDS_PER_EDGE, BENDS_PER_REGION, Size};

/// A region whose arcs all lead from one layer to the next.
pub(super) struct Layered {
    /// The items, and after them the bends.
    pub(super) vertices: Vec<Vertex>,
    pub(super) arcs: Vec<Arc>,
    pub(super) ports: Ports,
    /// The vertices of each layer from left to right.
    pub(super) layers: Vec<Vec<usize>>,
    /// The arcs that begin at each vertex.
    pub(super) down: Vec<SmallVec<[usize; 2]>>,
    /// The arcs that end at each vertex.
    pub(super) up: Vec<SmallVec<[usize; 2]>>,
    /// Sequences of arcs that are drawn as one line.
    pub(super) chains: Vec<Chain>,
    /// Sequences of bends that should have the same x coordinate.
    pub(super) trunks: Vec<Trunk>,
    /// The wires that close a cycle, with their ports.
    pub(super) back: Vec<UnlayeredWire>,
    /// The wires of which only the ends are drawn, with their ports.
    pub(super) cut: Vec<UnlayeredWire>,
}

/// An item or a bend.
#[derive(Copy, Clone)]
pub(super) struct Vertex {
    pub(super) layer: usize,
    pub(super) size: Size,
    /// The role of an item; `None` for a bend.
    pub(super) role: Option<Role>,
}

/// Part of a wire, between two neighboring layers.
#[derive(Copy, Clone)]
pub(super) struct Arc {
    pub(super) upper: usize,
    pub(super) lower: usize,
    pub(super) upper_port: usize,
    pub(super) lower_port: usize,
    /// The arc shares its upper end with the others of its kind.
    pub(super) fans_out: bool,
}

/// The part of a wire that it does not share with an earlier one.
pub(super) struct Chain {
    pub(super) wire: usize,
    pub(super) arcs: Vec<usize>,
    /// Whether the chain reaches the target of its wire. Otherwise it joins another chain.
    pub(super) reaches_target: bool,
}

/// The bends of a line in successive layers, from below.
pub(super) struct Trunk {
    pub(super) vertices: Vec<usize>,
    /// The port of the item below the lowest bend.
    pub(super) lower_end: Option<usize>,
    /// The port of the item above the highest bend.
    pub(super) upper_end: Option<usize>,
}

/// A wire that does not run through bends.
#[derive(Copy, Clone)]
pub(super) struct UnlayeredWire {
    pub(super) wire: usize,
    /// The port where the wire begins.
    pub(super) from: usize,
    /// The port where the wire ends.
    pub(super) to: usize,
}

/// A vertex that a line passes, and the port where it does.
#[derive(Copy, Clone)]
struct Stop {
    vertex: usize,
    port: usize,
}

impl Layered {
    pub(super) fn new(items: &[Item], wires: &[Wire]) -> Self {
        let (order, is_back) = topological_order(items, wires);
        let layer = longest_paths(items, &order, wires, &is_back);
        let layers = layer.iter().map(|l| l + 1).max().unwrap_or(0);
        let mut graph = Self {
            vertices: items
                .iter()
                .zip(&layer)
                .map(|(item, &layer)| Vertex {
                    layer,
                    size: item.size,
                    role: Some(item.role),
                })
                .collect(),
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

    /// Whether a vertex has no box: a bend, or an entry or exit of the region.
    pub(super) fn is_line(&self, vertex: usize) -> bool {
        matches!(
            self.vertices[vertex].role,
            None | Some(Role::Entry | Role::Exit)
        )
    }

    /// Adds the wires. Those that share bends form a bundle, and are added one after the other, the longest first.
    fn add_wires(&mut self, wires: &[Wire], is_back: &[bool]) {
        let mut numbers: HashMap<(usize, Option<usize>, u8), usize> = HashMap::new();
        let mut bundles: Vec<Vec<usize>> = Vec::new();
        for (index, wire) in wires.iter().enumerate() {
            if is_back[index] {
                let (from, to) = self.add_ports(wire, true);
                let wire = index;
                self.back.push(UnlayeredWire { wire, from, to });
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
        let mut available_bends = BENDS_PER_EDGE * wires.len() + BENDS_PER_REGION;
        let mut drawn_count = 0;
        while let Some((length, _)) = lengths.get(drawn_count)
            && let Some(remaining) = available_bends.checked_sub(length - 1)
        {
            available_bends = remaining;
            drawn_count += 1;
        }
        let (drawn, cut) = lengths.split_at(drawn_count);
        let bend_layers = drawn
            .iter()
            .map(|(length, number)| {
                let target = wires[bundles[*number][0]].to.item;
                let end = self.vertices[target].layer;
                end + 1 - length..end
            })
            .collect();
        let mut bends = self.add_bends(bend_layers);
        for (_, number) in drawn {
            self.add_bundle(wires, &bundles[*number], &mut bends);
        }
        for &wire in cut.iter().flat_map(|(_, number)| &bundles[*number]) {
            let (from, to) = self.add_ports(&wires[wire], false);
            self.cut.push(UnlayeredWire { wire, from, to });
        }
    }

    /// Adds the bends of lines through these layers, layer by layer, so that bends that are used together are together in memory. Returns the
    /// first bend of each layer.
    fn add_bends(&mut self, lines: Vec<Range<usize>>) -> Vec<usize> {
        // The number of lines through a layer minus the number through the one above it.
        let mut changes = vec![0isize; self.layers.len() + 1];
        for line in lines {
            changes[line.start] += 1;
            changes[line.end] -= 1;
        }
        let start = self.vertices.len();
        let mut first_bends = Vec::with_capacity(self.layers.len());
        let mut lines = 0;
        for (layer, change) in changes.into_iter().enumerate().take(self.layers.len()) {
            lines += change;
            first_bends.push(self.vertices.len());
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
        first_bends
    }

    /// Adds the ports where a wire begins and ends.
    fn add_ports(&mut self, wire: &Wire, is_back: bool) -> (usize, usize) {
        let from = self.ports.below(wire, &self.vertices);
        let to = self.ports.above(wire, is_back, &self.vertices);
        (from, to)
    }

    /// Adds wires to one target that share their bends. `bends` contains the next unused bend of each layer.
    fn add_bundle(&mut self, wires: &[Wire], bundle: &[usize], bends: &mut [usize]) {
        let target = wires[bundle[0]].to.item;
        let target_layer = self.vertices[target].layer;
        // The stops of the first chain, by their distance from the target.
        let mut trunk = Vec::new();
        for &index in bundle {
            let wire = &wires[index];
            let (from, to) = self.add_ports(wire, false);
            let source = Stop {
                vertex: wire.from.item,
                port: from,
            };
            let span = target_layer - self.vertices[source.vertex].layer;
            let is_first = trunk.is_empty();
            if is_first {
                trunk.push(Stop {
                    vertex: target,
                    port: to,
                });
                for bend in bends[target_layer + 1 - span..target_layer]
                    .iter_mut()
                    .rev()
                {
                    trunk.push(Stop {
                        vertex: *bend,
                        port: self.ports.port_of_bend(*bend),
                    });
                    *bend += 1;
                }
                self.add_trunk(&trunk, source);
            }
            let reaches_target = is_first || span == 1;
            let mut path = vec![source];
            if reaches_target {
                path.extend(trunk[..span].iter().rev());
            } else {
                path.push(trunk[span - 1]);
            }
            let mut arcs = Vec::with_capacity(path.len() - 1);
            for (nth, ends) in path.windows(2).enumerate() {
                let (upper, lower) = (ends[0], ends[1]);
                arcs.push(self.arcs.len());
                self.down[upper.vertex].push(self.arcs.len());
                self.up[lower.vertex].push(self.arcs.len());
                self.arcs.push(Arc {
                    upper: upper.vertex,
                    lower: lower.vertex,
                    upper_port: upper.port,
                    lower_port: lower.port,
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

    /// Adds the bends of a line as a trunk. `stops` lead from the target of the line up to the vertex below `source`.
    fn add_trunk(&mut self, stops: &[Stop], source: Stop) {
        let item_port = |stop: &Stop| (!self.is_line(stop.vertex)).then_some(stop.port);
        let vertices: Vec<usize> = stops
            .iter()
            .chain([&source])
            .map(|stop| stop.vertex)
            .filter(|&vertex| self.is_line(vertex))
            .collect();
        if !vertices.is_empty() {
            let lower_end = stops.first().and_then(item_port);
            let upper_end = item_port(&source);
            self.trunks.push(Trunk {
                vertices,
                lower_end,
                upper_end,
            });
        }
    }

    /// Fills the layers in the order of a depth-first search.
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

/// Returns an order of the items, and marks the wires that close a cycle. All other wires lead forward in this order.
fn topological_order(items: &[Item], wires: &[Wire]) -> (Vec<usize>, Vec<bool>) {
    #[derive(Copy, Clone, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut outgoing = vec![Vec::new(); items.len()];
    for (index, wire) in wires.iter().enumerate() {
        outgoing[wire.from.item].push(index);
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
            let Some(&wire) = outgoing[*item].get(*next) else {
                state[*item] = State::Done;
                order.push(*item);
                path.pop();
                continue;
            };
            *next += 1;
            let target = wires[wire].to.item;
            match state[target] {
                State::New => {
                    state[target] = State::Open;
                    path.push((target, 0));
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
    let mut successors = vec![Vec::new(); items.len()];
    let mut has_predecessor = vec![false; items.len()];
    for (wire, _) in wires.iter().zip(is_back).filter(|(_, back)| !**back) {
        successors[wire.from.item].push(wire.to.item);
        has_predecessor[wire.to.item] = true;
    }
    let has_entry = items.iter().any(|i| i.role == Role::Entry);
    let mut layer: Vec<usize> = items
        .iter()
        .map(|item| usize::from(has_entry && item.role != Role::Entry))
        .collect();
    for &upper in order {
        for &lower in &successors[upper] {
            layer[lower] = layer[lower].max(layer[upper] + 1);
        }
    }
    for item in 1..items.len() {
        if !has_predecessor[item] && items[item].role != Role::Entry {
            let highest = successors[item].iter().map(|&lower| layer[lower]).min();
            layer[item] = highest.map_or(layer[item], |h| h - 1);
        }
    }
    let last = items
        .iter()
        .zip(&layer)
        .filter(|(item, _)| item.role != Role::Exit)
        .map(|(_, layer)| layer + 1)
        .max()
        .unwrap_or(0);
    for (_, layer) in items
        .iter()
        .zip(&mut layer)
        .filter(|(item, _)| item.role == Role::Exit)
    {
        *layer = last;
    }
    layer
}
