//! Vertical coordinates and the lines of edges.

use std::collections::BTreeMap;

use super::channel::{self, Net, Skyline};
use super::layers::{Chain, Layered, Sideways};
use super::nest::{Arranged, Role, Wire};
use super::straighten::straighten;
use super::{End, Line, Point, Rect, Size, ports};

/// The distances of tracks from the layers above and below them, and from each other.
const ABOVE: f64 = 20.0;
const BELOW: f64 = 16.0;
const TRACK: f64 = 9.0;
/// The largest height that the tracks between two layers share.
const MOST_TRACKS: f64 = 360.0;
/// The distance of the border of a loop from what is inside, and the space for its title.
const BORDER: f64 = 16.0;
const TITLE: f64 = 22.0;
/// The distance of the lanes of edges that close a cycle.
const LANE: f64 = 10.0;
/// The length of the visible ends of an edge that is not drawn whole.
const CUT: f64 = 16.0;

/// The tracks above a layer, or below the last one.
struct Channel {
    top: f64,
    nets: Vec<Net>,
    tracks: Vec<usize>,
    spacing: f64,
}

impl Channel {
    fn y(&self, net: usize) -> f64 {
        self.top + ABOVE + self.spacing * (self.tracks[net] as f64 + 0.5)
    }
}

struct Router<'a> {
    graph: &'a Layered,
    wires: &'a [Wire],
    centers: Vec<f64>,
    channels: Vec<Channel>,
    /// The net of each arc.
    arc_nets: Vec<usize>,
    /// For each edge that closes a cycle the x of its lane, and the nets where it turns below and above.
    lanes: Vec<(f64, usize, usize)>,
    /// The top and the height of each layer.
    rows: Vec<(f64, f64)>,
}

/// Draws a region whose vertices have these horizontal middles.
pub(super) fn route(
    graph: &mut Layered,
    wires: &[Wire],
    centers: &[f64],
    is_loop: bool,
) -> Arranged {
    let mut centers = centers.to_vec();
    straighten(graph, &mut centers);
    // The order of ports depends on the lines, the lines on the ports.
    ports::spread(graph, &centers);
    straighten(graph, &mut centers);
    ports::spread(graph, &centers);
    let vertices = graph.vertices.iter().zip(&centers);
    let left = vertices.clone().map(|(v, c)| c - v.size.width / 2.0);
    let leftmost = left.fold(f64::INFINITY, f64::min);
    let border = if is_loop { BORDER } else { 0.0 };
    let (lane_of, lanes) = assign_lanes(graph);
    let shift = border + LANE * lanes as f64 - leftmost;
    let centers: Vec<f64> = centers.iter().map(|c| c + shift).collect();
    let right = graph.vertices.iter().zip(&centers);
    let right = right
        .map(|(v, c)| c + v.size.width / 2.0)
        .fold(0.0, f64::max);
    let mut router = Router {
        graph,
        wires,
        centers,
        channels: Vec::new(),
        arc_nets: vec![0; graph.arcs.len()],
        lanes: Vec::new(),
        rows: Vec::new(),
    };
    router.fill_channels(&lane_of, |lane| border + LANE * (lanes - 1 - lane) as f64);
    let height = router.stack(is_loop);
    let mut lines: Vec<Line> = graph.chains.iter().map(|c| router.chain(c)).collect();
    let back = graph.back.iter().enumerate();
    lines.extend(back.map(|(nth, side)| router.back_edge(nth, side)));
    lines.extend(graph.cut.iter().flat_map(|side| router.cut_edge(side)));
    Arranged {
        size: Size {
            width: right + border,
            height,
        },
        items: router.items(),
        starts: router.starts(),
        lines,
    }
}

/// The lane of each edge that closes a cycle, counted from the right, and the number of lanes. Those to one port share one.
fn assign_lanes(graph: &Layered) -> (Vec<usize>, usize) {
    let mut by_target: BTreeMap<usize, (usize, usize, Vec<usize>)> = BTreeMap::new();
    let layer = |port: usize| graph.vertices[graph.ports.vertex(port)].layer;
    for (nth, side) in graph.back.iter().enumerate() {
        let entry = by_target
            .entry(side.to)
            .or_insert((layer(side.to), 0, Vec::new()));
        entry.1 = entry.1.max(layer(side.from) + 1);
        entry.2.push(nth);
    }
    let mut bundles: Vec<_> = by_target.into_values().collect();
    bundles.sort_by_key(|(first, last, _)| (last - first, *first));
    // In the order of their lengths, each in the first lane beyond those that it overlaps.
    let ends = bundles.iter().flat_map(|b| [b.0 as f64, b.1 as f64]);
    let mut skyline = Skyline::new(ends.collect());
    let mut lane_of = vec![0; graph.back.len()];
    let mut count = 0;
    for (first, last, edges) in bundles {
        let (first, last) = (first as f64, last as f64);
        let lane = skyline.height(first, last);
        skyline.raise(first, last, lane + 1);
        count = count.max(lane + 1);
        edges.iter().for_each(|&edge| lane_of[edge] = lane);
    }
    (lane_of, count)
}

impl Router<'_> {
    fn port(&self, port: usize) -> f64 {
        self.graph.ports.x(port, &self.centers)
    }

    fn layer(&self, port: usize) -> usize {
        self.graph.vertices[self.graph.ports.vertex(port)].layer
    }

    /// Collects the nets between the layers and assigns their tracks.
    fn fill_channels(&mut self, lane_of: &[usize], lane_x: impl Fn(usize) -> f64) {
        #[derive(PartialEq, Eq, PartialOrd, Ord)]
        enum Key {
            Port(usize),
            Lane(usize),
        }
        let mut channels: Vec<Vec<Net>> = vec![Vec::new(); self.graph.layers.len() + 1];
        let mut known: BTreeMap<(usize, Key), usize> = BTreeMap::new();
        let mut net = |channel: usize, key: Key, above: Option<f64>, below: Option<f64>| {
            let nets: &mut Vec<Net> = &mut channels[channel];
            let index = *known.entry((channel, key)).or_insert(nets.len());
            if index == nets.len() {
                nets.push(Net::default());
            }
            nets[index].above.extend(above);
            nets[index].below.extend(below);
            index
        };
        for (index, arc) in self.graph.arcs.iter().enumerate() {
            let port = if arc.fans_out {
                arc.upper_port
            } else {
                arc.lower_port
            };
            let (above, below) = (self.port(arc.upper_port), self.port(arc.lower_port));
            let channel = self.graph.vertices[arc.lower].layer;
            self.arc_nets[index] = net(channel, Key::Port(port), Some(above), Some(below));
        }
        for (side, &lane) in self.graph.back.iter().zip(lane_of) {
            let (from, to) = (self.port(side.from), self.port(side.to));
            let (lower, upper) = (self.layer(side.from) + 1, self.layer(side.to));
            let x = lane_x(lane);
            let below = net(lower, Key::Lane(lane), Some(from), None);
            net(lower, Key::Lane(lane), Some(x), None);
            let above = net(upper, Key::Port(side.to), None, Some(to));
            net(upper, Key::Port(side.to), None, Some(x));
            self.lanes.push((x, below, above));
        }
        for nets in channels {
            let (tracks, count) = channel::tracks(&nets);
            let height = (count as f64 * TRACK).min(MOST_TRACKS);
            self.channels.push(Channel {
                top: height,
                nets,
                tracks,
                spacing: height / count.max(1) as f64,
            });
        }
    }

    /// Stacks layers and channels; returns the height of the region.
    fn stack(&mut self, is_loop: bool) -> f64 {
        let count = self.graph.layers.len();
        // Entries and exits are at the borders.
        let has_exits = count > 0 && has_role(self.graph, count - 1, Role::Exit);
        let has_entries = count > 0 && has_role(self.graph, 0, Role::Entry);
        let mut y = 0.0;
        for channel in 0..=count {
            let is_outside = channel == 0 && has_entries || channel == count && has_exits;
            let tracks = std::mem::replace(&mut self.channels[channel].top, y);
            let title = is_loop && channel == usize::from(has_entries);
            let is_end = channel == 0 || channel == count;
            let is_empty = self.channels[channel].nets.is_empty() && is_end;
            if title {
                self.channels[channel].top += TITLE;
                y += TITLE;
            }
            if !is_outside && !is_empty {
                y += ABOVE + tracks + BELOW;
            } else if !is_outside && is_loop && channel == count {
                y += BORDER;
            }
            let Some(layer) = self.graph.layers.get(channel) else {
                break;
            };
            let heights = layer.iter().map(|&v| self.graph.vertices[v].size.height);
            let height = heights.fold(0.0, f64::max);
            self.rows.push((y, height));
            y += height;
        }
        y
    }

    fn items(&self) -> Vec<Rect> {
        let items = self.graph.vertices.iter().zip(&self.centers);
        let items = items.take_while(|(v, _)| v.role.is_some());
        items
            .map(|(v, center)| Rect {
                left: center - v.size.width / 2.0,
                top: self.rows[v.layer].0,
                width: v.size.width,
                height: v.size.height,
            })
            .collect()
    }

    /// The upper or the lower end of a vertex.
    fn end(&self, port: usize, is_below: bool) -> Point {
        let vertex = &self.graph.vertices[self.graph.ports.vertex(port)];
        let top = self.rows[vertex.layer].0;
        Point {
            x: self.port(port),
            y: top + if is_below { vertex.size.height } else { 0.0 },
        }
    }

    fn chain(&self, chain: &Chain) -> Line {
        let mut points = Vec::new();
        for (nth, &index) in chain.arcs.iter().enumerate() {
            let arc = self.graph.arcs[index];
            let (upper, lower) = (self.port(arc.upper_port), self.port(arc.lower_port));
            let channel = &self.channels[self.graph.vertices[arc.lower].layer];
            if nth == 0 {
                points.push(self.end(arc.upper_port, true));
            }
            if (upper - lower).abs() >= 0.5 {
                let y = channel.y(self.arc_nets[index]);
                points.extend([upper, lower].map(|x| Point { x, y }));
            }
            if nth + 1 == chain.arcs.len() {
                points.push(self.end(arc.lower_port, false));
            }
        }
        let wire = &self.wires[chain.wire];
        Line {
            edge: wire.edge,
            region: None,
            points,
            end: match chain.reaches_target {
                true => self.graph.vertices[wire.to.item]
                    .role
                    .map_or(End::Join, Role::end),
                false => End::Join,
            },
            is_back: false,
        }
    }

    fn back_edge(&self, nth: usize, side: &Sideways) -> Line {
        let (x, below, above) = self.lanes[nth];
        let (from, to) = (self.end(side.from, true), self.end(side.to, false));
        let low = self.channels[self.layer(side.from) + 1].y(below);
        let high = self.channels[self.layer(side.to)].y(above);
        let at = |x, y| Point { x, y };
        let wire = &self.wires[side.wire];
        let target = self.graph.vertices[wire.to.item].role;
        Line {
            edge: wire.edge,
            region: None,
            points: vec![
                from,
                at(from.x, low),
                at(x, low),
                at(x, high),
                at(to.x, high),
                to,
            ],
            end: target.map_or(End::Box, Role::end),
            is_back: true,
        }
    }

    /// The two ends of an edge that is not drawn whole.
    fn cut_edge(&self, side: &Sideways) -> [Line; 2] {
        let (from, to) = (self.end(side.from, true), self.end(side.to, false));
        let wire = &self.wires[side.wire];
        let vertical = |x, top: f64, bottom: f64, end| Line {
            edge: wire.edge,
            region: None,
            points: vec![Point { x, y: top }, Point { x, y: bottom }],
            end,
            is_back: false,
        };
        let target = self.graph.vertices[wire.to.item].role;
        [
            vertical(from.x, from.y, from.y + CUT, End::Cut),
            vertical(to.x, to.y - CUT, to.y, target.map_or(End::Box, Role::end)),
        ]
    }

    /// Where the wires that leave boxes begin.
    fn starts(&self) -> Vec<(usize, Point)> {
        let graph = self.graph;
        let chains = graph.chains.iter().filter_map(|chain| {
            let arc = graph.arcs[*chain.arcs.first()?];
            Some((chain.wire, arc.upper_port))
        });
        let sideways = graph.back.iter().chain(&graph.cut);
        let all = chains.chain(sideways.map(|side| (side.wire, side.from)));
        let from_box = |(wire, port): (usize, usize)| {
            let wire = &self.wires[wire];
            let role = graph.vertices[wire.from.item].role;
            matches!(role, Some(Role::Box(_))).then(|| (wire.edge, self.end(port, true)))
        };
        all.filter_map(from_box).collect()
    }
}

fn has_role(graph: &Layered, layer: usize, role: Role) -> bool {
    let mut vertices = graph.layers[layer].iter();
    vertices.any(|&v| graph.vertices[v].role == Some(role))
}
