//! The nesting of regions: the function and its loops. Each region is laid out by itself.

use std::collections::HashMap;

use super::layers::Layered;
use super::region::{Arranged, Item, Role, Wire, WireEnd};
use super::{Input, Layout, Line, MAX_DEPTH, Point, Rect, Size, order, place, route};

/// The function or a loop.
#[derive(Default)]
struct Region {
    parent: usize,
    depth: usize,
    /// The index of the item of this region in its parent.
    item: usize,
    items: Vec<Item>,
    wires: Vec<Wire>,
}

/// The item of a box or region.
#[derive(Copy, Clone, Default)]
struct ItemPosition {
    region: usize,
    item: usize,
}

/// A port at the border of a region.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct PortKey {
    region: usize,
    /// The box to which the edges lead.
    target: usize,
    edge_kind: u8,
}
struct Nest<'a> {
    input: &'a Input<'a>,
    /// The function, and after it the loops.
    regions: Vec<Region>,
    /// The item of each box.
    boxes: Vec<ItemPosition>,
    /// The items of the ports through which edges enter regions.
    entries: HashMap<PortKey, usize>,
    /// The items of the ports through which edges leave regions.
    exits: HashMap<PortKey, usize>,
}

pub(super) fn layout(input: &Input<'_>) -> Layout {
    let mut nest = Nest::new(input);
    for edge in 0..input.edges.len() {
        nest.add_edge(edge);
    }
    nest.arrange()
}

impl<'a> Nest<'a> {
    fn new(input: &'a Input<'a>) -> Self {
        let mut regions = vec![Region::default()];
        // The region of each loop. A loop that is nested too deep has the region of the loop around it.
        let mut loop_regions = Vec::with_capacity(input.loops.len());
        for (index, info) in input.loops.iter().enumerate() {
            let parent = info.parent.map_or(0, |p| loop_regions[p]);
            let depth = regions[parent].depth + 1;
            loop_regions.push(if depth <= MAX_DEPTH {
                index + 1
            } else {
                parent
            });
            regions.push(Region {
                parent,
                depth,
                ..Region::default()
            });
        }
        let mut nest = Self {
            input,
            regions,
            boxes: vec![ItemPosition::default(); input.sizes.len()],
            entries: HashMap::new(),
            exits: HashMap::new(),
        };
        // Headers come first in their loops.
        let mut is_placed = vec![false; input.sizes.len()];
        let headers = input.loops.iter().map(|l| l.header);
        for b in headers.chain(0..input.sizes.len()) {
            if !std::mem::replace(&mut is_placed[b], true) {
                let region = input.innermost[b].map_or(0, |l| loop_regions[l]);
                let item = nest.add_item(region, Role::Box(b), input.sizes[b]);
                nest.boxes[b] = ItemPosition { region, item };
            }
        }
        for region in (1..nest.regions.len()).filter(|&r| loop_regions[r - 1] == r) {
            let parent = nest.regions[region].parent;
            nest.regions[region].item =
                nest.add_item(parent, Role::Region(region), Size::default());
        }
        nest
    }

    fn add_item(&mut self, region: usize, role: Role, size: Size) -> usize {
        let items = &mut self.regions[region].items;
        items.push(Item { size, role });
        items.len() - 1
    }

    /// Adds the wires of an edge to the regions that it passes, except those that it shares with earlier edges.
    fn add_edge(&mut self, index: usize) {
        let edge = self.input.edges[index];
        let (source, target) = (self.boxes[edge.from], self.boxes[edge.to]);
        let key = |region| PortKey {
            region,
            target: edge.to,
            edge_kind: edge.kind,
        };
        let wire = |from, to, fans_out| Wire {
            from,
            to,
            edge: index,
            kind: edge.kind,
            fans_out,
        };
        let (mut from, mut to) = (WireEnd::item(source.item), WireEnd::item(target.item));
        let mut fans_out = edge.fans_out;
        // Leaves regions, until one contains both ends.
        let mut outer = source.region;
        while !self.contains(outer, target.region) {
            let existing = self.exits.get(&key(outer)).copied();
            let port =
                existing.unwrap_or_else(|| self.add_item(outer, Role::Exit, Size::default()));
            self.exits.insert(key(outer), port);
            let region = &mut self.regions[outer];
            region.wires.push(wire(from, WireEnd::item(port), fans_out));
            if existing.is_some() {
                return;
            }
            from = WireEnd::port(region.item, port);
            fans_out = false;
            outer = region.parent;
        }
        // Enters regions, from the innermost outwards.
        let mut inner = target.region;
        while inner != outer {
            let existing = self.entries.get(&key(inner)).copied();
            let port =
                existing.unwrap_or_else(|| self.add_item(inner, Role::Entry, Size::default()));
            self.entries.insert(key(inner), port);
            let region = &mut self.regions[inner];
            if existing.is_none() {
                region.wires.push(wire(WireEnd::item(port), to, false));
            }
            to = WireEnd::port(region.item, port);
            inner = region.parent;
        }
        self.regions[outer].wires.push(wire(from, to, fans_out));
    }

    /// Whether two regions are equal or the first one is around the second one.
    fn contains(&self, outer: usize, mut inner: usize) -> bool {
        while self.regions[inner].depth > self.regions[outer].depth {
            inner = self.regions[inner].parent;
        }
        inner == outer
    }

    /// Lays the regions out, the innermost first, and moves their contents to their positions in the drawing.
    fn arrange(mut self) -> Layout {
        let mut arranged: Vec<Option<Arranged>> = Vec::new();
        arranged.resize_with(self.regions.len(), || None);
        for index in (0..self.regions.len()).rev() {
            let region = &mut self.regions[index];
            if index > 0 && region.items.is_empty() {
                continue;
            }
            let nested_region = |item: &Item| match item.role {
                Role::Region(inner) => arranged[inner].as_ref(),
                _ => None,
            };
            for item in &mut region.items {
                item.size = nested_region(item).map_or(item.size, |nested| nested.size);
            }
            let items = &region.items;
            for wire in &mut region.wires {
                for end in [&mut wire.from, &mut wire.to] {
                    end.x = nested_region(&items[end.item])
                        .zip(end.port)
                        .map(|(nested, port)| nested.items[port].left);
                }
            }
            let mut graph = Layered::new(&region.items, &region.wires);
            order::reduce_crossings(&mut graph);
            let centers = place::place(&graph);
            let is_loop = index > 0;
            arranged[index] = Some(route::route(&mut graph, &region.wires, &centers, is_loop));
        }
        self.assemble(arranged)
    }

    /// Moves the contents of each region to the position of the region in the drawing.
    fn assemble(&self, arranged: Vec<Option<Arranged>>) -> Layout {
        let mut layout = Layout {
            boxes: vec![Rect::default(); self.input.sizes.len()],
            loops: vec![None; self.input.loops.len()],
            starts: vec![Point::default(); self.input.edges.len()],
            ..Layout::default()
        };
        let mut corners = vec![Point::default(); self.regions.len()];
        for (index, region) in arranged.into_iter().enumerate() {
            let Some(region) = region else {
                continue;
            };
            let corner = corners[index];
            for (item, rect) in self.regions[index].items.iter().zip(&region.items) {
                let rect = Rect {
                    left: rect.left + corner.x,
                    top: rect.top + corner.y,
                    ..*rect
                };
                match item.role {
                    Role::Box(b) => layout.boxes[b] = rect,
                    Role::Region(inner) => {
                        corners[inner] = Point {
                            x: rect.left,
                            y: rect.top,
                        };
                        layout.loops[inner - 1] = Some(rect);
                    }
                    Role::Entry | Role::Exit => {}
                }
            }
            let moved = |p: &Point| Point {
                x: p.x + corner.x,
                y: p.y + corner.y,
            };
            layout
                .lines
                .extend(region.lines.into_iter().map(|line| Line {
                    points: line.points.iter().map(moved).collect(),
                    region: index.checked_sub(1),
                    ..line
                }));
            for (edge, start) in region.starts {
                layout.starts[edge] = moved(&start);
            }
            if index == 0 {
                (layout.width, layout.height) = (region.size.width, region.size.height);
            }
        }
        layout
    }
}
