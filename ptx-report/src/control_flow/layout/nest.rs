//! Regions: the function and its loops, each laid out by itself.

use std::collections::HashMap;

use super::layers::Layered;
use super::{End, Input, Layout, Line, MAX_DEPTH, Point, Rect, Size, order, place, route};

/// What is placed in a region.
#[derive(Copy, Clone)]
pub(super) struct Item {
    pub(super) size: Size,
    pub(super) role: Role,
}

#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Role {
    /// A box of the input.
    Box(usize),
    /// A region inside.
    Region(usize),
    /// Where edges enter the region, at its upper border.
    Entry,
    /// Where edges leave it, at its lower border.
    Exit,
}

/// An edge between two items of a region, or what several edges have in common there.
#[derive(Copy, Clone)]
pub(super) struct Wire {
    pub(super) from: Place,
    pub(super) to: Place,
    pub(super) edge: usize,
    pub(super) kind: u8,
    pub(super) fans_out: bool,
}

/// An end of a wire.
#[derive(Copy, Clone)]
pub(super) struct Place {
    pub(super) item: usize,
    /// At a region, the item of the region that is at its border.
    pub(super) port: Option<usize>,
    /// At a region, the distance of the port from the left.
    pub(super) x: Option<f64>,
}

/// The function or a loop.
#[derive(Default)]
struct Region {
    parent: usize,
    depth: usize,
    /// Its item in its parent.
    item: usize,
    items: Vec<Item>,
    wires: Vec<Wire>,
}

/// A region that was laid out, with its upper left corner at the origin.
pub(super) struct Arranged {
    pub(super) size: Size,
    pub(super) items: Vec<Rect>,
    pub(super) lines: Vec<Line>,
    /// Where the wires begin that leave boxes, by edge.
    pub(super) starts: Vec<(usize, Point)>,
}

struct Nest<'a> {
    input: &'a Input<'a>,
    /// The function, and after it the loops.
    regions: Vec<Region>,
    /// The region and the item of each box.
    boxes: Vec<(usize, usize)>,
    /// The ports for a target and a kind of edge at the borders of a region.
    entries: HashMap<(usize, usize, u8), usize>,
    exits: HashMap<(usize, usize, u8), usize>,
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
        // The region of each loop: that of the loop around it if it is too deep.
        let mut of_loop = Vec::with_capacity(input.loops.len());
        for (index, info) in input.loops.iter().enumerate() {
            let parent = info.parent.map_or(0, |p| of_loop[p]);
            let depth = regions[parent].depth + 1;
            let is_own = depth <= MAX_DEPTH;
            of_loop.push(if is_own { index + 1 } else { parent });
            regions.push(Region {
                parent,
                depth,
                ..Region::default()
            });
        }
        let mut nest = Self {
            input,
            regions,
            boxes: vec![(0, 0); input.sizes.len()],
            entries: HashMap::new(),
            exits: HashMap::new(),
        };
        let region_of = |b: usize| input.innermost[b].map_or(0, |l| of_loop[l]);
        // Headers come first in their loops.
        let mut is_placed = vec![false; input.sizes.len()];
        let headers = input.loops.iter().map(|l| l.header);
        for b in headers.chain(0..input.sizes.len()) {
            if !std::mem::replace(&mut is_placed[b], true) {
                let item = nest.add_item(region_of(b), Role::Box(b), input.sizes[b]);
                nest.boxes[b] = (region_of(b), item);
            }
        }
        for region in (1..nest.regions.len()).filter(|&r| of_loop[r - 1] == r) {
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
    fn add_edge(&mut self, edge: usize) {
        let of = self.input.edges[edge];
        let (mut above, item) = self.boxes[of.from];
        let (mut inside, target) = self.boxes[of.to];
        let at = |item, port| Place {
            item,
            port,
            x: None,
        };
        let wire = |from, to, fans_out| Wire {
            from,
            to,
            edge,
            kind: of.kind,
            fans_out,
        };
        let (mut from, mut to) = (at(item, None), at(target, None));
        let mut fans_out = of.fans_out;
        // The regions to leave, up to the one that contains both ends.
        while self.regions[above].depth > self.regions[inside].depth
            || !self.contains(above, inside)
        {
            let key = (above, of.to, of.kind);
            let known = self.exits.get(&key).copied();
            let port = known.unwrap_or_else(|| self.add_item(above, Role::Exit, Size::default()));
            self.exits.insert(key, port);
            let region = &mut self.regions[above];
            region.wires.push(wire(from, at(port, None), fans_out));
            if known.is_some() {
                return;
            }
            from = at(region.item, Some(port));
            fans_out = false;
            above = region.parent;
        }
        // The regions to enter, from the innermost outwards.
        while inside != above {
            let key = (inside, of.to, of.kind);
            let known = self.entries.get(&key).copied();
            let port = known.unwrap_or_else(|| self.add_item(inside, Role::Entry, Size::default()));
            self.entries.insert(key, port);
            let region = &mut self.regions[inside];
            if known.is_none() {
                region.wires.push(wire(at(port, None), to, false));
            }
            to = at(region.item, Some(port));
            inside = region.parent;
        }
        self.regions[above].wires.push(wire(from, to, fans_out));
    }

    /// Whether a region is another one or around it.
    fn contains(&self, outer: usize, mut inner: usize) -> bool {
        while self.regions[inner].depth > self.regions[outer].depth {
            inner = self.regions[inner].parent;
        }
        inner == outer
    }

    /// Lays the regions out, the innermost first, and puts them together.
    fn arrange(mut self) -> Layout {
        let mut arranged: Vec<Option<Arranged>> = Vec::new();
        arranged.resize_with(self.regions.len(), || None);
        for index in (0..self.regions.len()).rev() {
            let region = &mut self.regions[index];
            if index > 0 && region.items.is_empty() {
                continue;
            }
            let inside = |item: &Item| match item.role {
                Role::Region(inner) => arranged[inner].as_ref(),
                _ => None,
            };
            for item in &mut region.items {
                item.size = inside(item).map_or(item.size, |a| a.size);
            }
            let items = &region.items;
            for wire in &mut region.wires {
                for end in [&mut wire.from, &mut wire.to] {
                    let port = inside(&items[end.item]).zip(end.port);
                    end.x = port.map(|(region, port)| region.items[port].left);
                }
            }
            let mut graph = Layered::new(&region.items, &region.wires);
            order::reduce_crossings(&mut graph);
            let centers = place::place(&graph);
            let is_loop = index > 0;
            arranged[index] = Some(route::route(&mut graph, &region.wires, &centers, is_loop));
        }
        self.put_together(arranged)
    }

    fn put_together(&self, arranged: Vec<Option<Arranged>>) -> Layout {
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

impl Role {
    /// How a line ends at an item of this role.
    pub(super) fn end(self) -> End {
        match self {
            Self::Box(_) => End::Box,
            _ => End::Border,
        }
    }
}
