//! The vertical coordinates of boxes, and the lines of edges.

use std::collections::BTreeMap;

use super::channel::{self, Net, Skyline};
use super::layers::{Chain, Layered, UnlayeredWire};
use super::place::straighten;
use super::region::{Arranged, Role, Wire};
use super::{End, Line, Point, Rect, Size, ports};

/// The distance of the first track from the layer above it.
const ABOVE_TRACKS: f64 = 20.0;
/// The distance of the last track from the layer below it.
const BELOW_TRACKS: f64 = 16.0;
/// The distance of two tracks.
const TRACK_DISTANCE: f64 = 9.0;
/// The largest height that the tracks between two layers share.
const MAX_TRACKS_HEIGHT: f64 = 360.0;
/// The distance of the border of a loop from what is inside, and the space for its title.
const BORDER: f64 = 16.0;
const TITLE: f64 = 22.0;
/// The distance of the lanes of edges that close a cycle.
const LANE_DISTANCE: f64 = 10.0;
/// The length of the visible ends of an edge that is cut.
const CUT_END: f64 = 16.0;

/// The tracks above a layer, or below the last one.
struct Channel {
    top: f64,
    nets: Vec<Net>,
    tracks: Vec<usize>,
    spacing: f64,
}

impl Channel {
    /// The y coordinate of the horizontal segment of a net.
    fn y(&self, net: usize) -> f64 {
        self.top + ABOVE_TRACKS + self.spacing * (self.tracks[net] as f64 + 0.5)
    }
}

/// The lane in which an edge that closes a cycle runs upwards.
struct Lane {
    x: f64,
    /// The net in which the edge turns into the lane.
    lower_net: usize,
    /// The net in which the edge leaves the lane.
    upper_net: usize,
}

struct Router<'a> {
    graph: &'a Layered,
    wires: &'a [Wire],
    centers: Vec<f64>,
    channels: Vec<Channel>,
    /// The net of each arc.
    arc_nets: Vec<usize>,
    /// The lane of each edge that closes a cycle.
    lanes: Vec<Lane>,
    /// The top of each layer.
    row_tops: Vec<f64>,
}

/// Draws a region. `centers` are the horizontal middles of its vertices.
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
    let leftmost = graph
        .vertices
        .iter()
        .zip(&centers)
        .map(|(v, center)| center - v.size.width / 2.0)
        .fold(f64::INFINITY, f64::min);
    let border = if is_loop { BORDER } else { 0.0 };
    let (edge_lanes, lane_count) = assign_lanes(graph);
    let shift = border + LANE_DISTANCE * lane_count as f64 - leftmost;
    let centers: Vec<f64> = centers.iter().map(|c| c + shift).collect();
    let right = graph
        .vertices
        .iter()
        .zip(&centers)
        .map(|(v, center)| center + v.size.width / 2.0)
        .fold(0.0, f64::max);
    let mut router = Router {
        graph,
        wires,
        centers,
        channels: Vec::new(),
        arc_nets: vec![0; graph.arcs.len()],
        lanes: Vec::new(),
        row_tops: Vec::new(),
    };
    router.fill_channels(&edge_lanes, |lane| {
        border + LANE_DISTANCE * (lane_count - 1 - lane) as f64
    });
    let height = router.stack(is_loop);
    let mut lines: Vec<Line> = graph.chains.iter().map(|c| router.chain(c)).collect();
    lines.extend(
        graph
            .back
            .iter()
            .zip(&router.lanes)
            .map(|(wire, lane)| router.back_edge(wire, lane)),
    );
    lines.extend(graph.cut.iter().flat_map(|wire| router.cut_edge(wire)));
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

/// Returns the lane of each edge that closes a cycle, counted from the right, and the number of lanes. Edges to one port share a lane.
fn assign_lanes(graph: &Layered) -> (Vec<usize>, usize) {
    struct Bundle {
        first_layer: usize,
        last_layer: usize,
        edges: Vec<usize>,
    }
    let mut by_target: BTreeMap<usize, Bundle> = BTreeMap::new();
    let layer = |port: usize| graph.vertices[graph.ports.vertex(port)].layer;
    for (nth, wire) in graph.back.iter().enumerate() {
        let bundle = by_target.entry(wire.to).or_insert(Bundle {
            first_layer: layer(wire.to),
            last_layer: 0,
            edges: Vec::new(),
        });
        bundle.last_layer = bundle.last_layer.max(layer(wire.from) + 1);
        bundle.edges.push(nth);
    }
    let mut bundles: Vec<Bundle> = by_target.into_values().collect();
    bundles.sort_by_key(|b| (b.last_layer - b.first_layer, b.first_layer));
    // In the order of their lengths, each bundle gets the first lane beyond those of the bundles that it overlaps.
    let mut skyline = Skyline::new(
        bundles
            .iter()
            .flat_map(|b| [b.first_layer as f64, b.last_layer as f64])
            .collect(),
    );
    let mut edge_lanes = vec![0; graph.back.len()];
    let mut count = 0;
    for bundle in bundles {
        let (first, last) = (bundle.first_layer as f64, bundle.last_layer as f64);
        let lane = skyline.height(first, last);
        skyline.raise(first, last, lane + 1);
        count = count.max(lane + 1);
        for edge in bundle.edges {
            edge_lanes[edge] = lane;
        }
    }
    (edge_lanes, count)
}

impl Router<'_> {
    /// The x coordinate of a port.
    fn x(&self, port: usize) -> f64 {
        self.graph.ports.x(port, &self.centers)
    }

    fn layer(&self, port: usize) -> usize {
        self.graph.vertices[self.graph.ports.vertex(port)].layer
    }

    /// Collects the nets between the layers and assigns their tracks.
    fn fill_channels(&mut self, edge_lanes: &[usize], lane_x: impl Fn(usize) -> f64) {
        #[derive(PartialEq, Eq, PartialOrd, Ord)]
        enum Key {
            Port(usize),
            Lane(usize),
        }
        let mut channels: Vec<Vec<Net>> = vec![Vec::new(); self.graph.layers.len() + 1];
        let mut indices: BTreeMap<(usize, Key), usize> = BTreeMap::new();
        let mut net = |channel: usize, key: Key, above: Option<f64>, below: Option<f64>| {
            let nets: &mut Vec<Net> = &mut channels[channel];
            let index = *indices.entry((channel, key)).or_insert(nets.len());
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
            let (above, below) = (self.x(arc.upper_port), self.x(arc.lower_port));
            let channel = self.graph.vertices[arc.lower].layer;
            self.arc_nets[index] = net(channel, Key::Port(port), Some(above), Some(below));
        }
        for (wire, &lane) in self.graph.back.iter().zip(edge_lanes) {
            let (from, to) = (self.x(wire.from), self.x(wire.to));
            let (lower, upper) = (self.layer(wire.from) + 1, self.layer(wire.to));
            let x = lane_x(lane);
            let lower_net = net(lower, Key::Lane(lane), Some(from), None);
            net(lower, Key::Lane(lane), Some(x), None);
            let upper_net = net(upper, Key::Port(wire.to), None, Some(to));
            net(upper, Key::Port(wire.to), None, Some(x));
            self.lanes.push(Lane {
                x,
                lower_net,
                upper_net,
            });
        }
        for nets in channels {
            let (tracks, count) = channel::tracks(&nets);
            let height = (count as f64 * TRACK_DISTANCE).min(MAX_TRACKS_HEIGHT);
            self.channels.push(Channel {
                // `stack` replaces the height by the coordinate.
                top: height,
                nets,
                tracks,
                spacing: height / count.max(1) as f64,
            });
        }
    }

    /// Stacks layers and channels, and returns the height of the region.
    fn stack(&mut self, is_loop: bool) -> f64 {
        let count = self.graph.layers.len();
        // Entries and exits are at the borders.
        let has_exits = count > 0 && has_role(self.graph, count - 1, Role::Exit);
        let has_entries = count > 0 && has_role(self.graph, 0, Role::Entry);
        let mut y = 0.0;
        for channel in 0..=count {
            let is_outside = channel == 0 && has_entries || channel == count && has_exits;
            let tracks_height = std::mem::replace(&mut self.channels[channel].top, y);
            let has_title = is_loop && channel == usize::from(has_entries);
            let is_end = channel == 0 || channel == count;
            let is_empty = self.channels[channel].nets.is_empty() && is_end;
            if has_title {
                self.channels[channel].top += TITLE;
                y += TITLE;
            }
            if !is_outside && !is_empty {
                y += ABOVE_TRACKS + tracks_height + BELOW_TRACKS;
            }
            let Some(layer) = self.graph.layers.get(channel) else {
                break;
            };
            let height = layer
                .iter()
                .map(|&v| self.graph.vertices[v].size.height)
                .fold(0.0, f64::max);
            self.row_tops.push(y);
            y += height;
        }
        y
    }

    /// The rectangles of the items. They are the first vertices; the bends follow.
    fn items(&self) -> Vec<Rect> {
        self.graph
            .vertices
            .iter()
            .zip(&self.centers)
            .take_while(|(v, _)| v.role.is_some())
            .map(|(v, center)| Rect {
                left: center - v.size.width / 2.0,
                top: self.row_tops[v.layer],
                width: v.size.width,
                height: v.size.height,
            })
            .collect()
    }

    /// The point of a port at the top of its vertex.
    fn top(&self, port: usize) -> Point {
        Point {
            x: self.x(port),
            y: self.row_tops[self.layer(port)],
        }
    }

    /// The point of a port at the bottom of its vertex.
    fn bottom(&self, port: usize) -> Point {
        let vertex = &self.graph.vertices[self.graph.ports.vertex(port)];
        Point {
            x: self.x(port),
            y: self.row_tops[vertex.layer] + vertex.size.height,
        }
    }

    fn chain(&self, chain: &Chain) -> Line {
        let mut points = Vec::new();
        for (nth, &index) in chain.arcs.iter().enumerate() {
            let arc = self.graph.arcs[index];
            let (upper, lower) = (self.x(arc.upper_port), self.x(arc.lower_port));
            let channel = &self.channels[self.graph.vertices[arc.lower].layer];
            if nth == 0 {
                points.push(self.bottom(arc.upper_port));
            }
            if (upper - lower).abs() >= 0.5 {
                let y = channel.y(self.arc_nets[index]);
                points.extend([upper, lower].map(|x| Point { x, y }));
            }
            if nth + 1 == chain.arcs.len() {
                points.push(self.top(arc.lower_port));
            }
        }
        let wire = &self.wires[chain.wire];
        Line {
            edge: wire.edge,
            region: None,
            points,
            end: if chain.reaches_target {
                self.graph.vertices[wire.to.item]
                    .role
                    .map_or(End::Join, Role::end)
            } else {
                End::Join
            },
            is_back: false,
        }
    }

    /// The line of an edge that closes a cycle, which runs upwards in a lane.
    fn back_edge(&self, back: &UnlayeredWire, lane: &Lane) -> Line {
        let (from, to) = (self.bottom(back.from), self.top(back.to));
        let low = self.channels[self.layer(back.from) + 1].y(lane.lower_net);
        let high = self.channels[self.layer(back.to)].y(lane.upper_net);
        let corners = [(from.x, low), (lane.x, low), (lane.x, high), (to.x, high)];
        let mut points = vec![from];
        points.extend(corners.map(|(x, y)| Point { x, y }));
        points.push(to);
        let wire = &self.wires[back.wire];
        let target = self.graph.vertices[wire.to.item].role;
        Line {
            edge: wire.edge,
            region: None,
            points,
            end: target.map_or(End::Box, Role::end),
            is_back: true,
        }
    }

    /// The two visible ends of an edge that is cut.
    fn cut_edge(&self, cut: &UnlayeredWire) -> [Line; 2] {
        let (from, to) = (self.bottom(cut.from), self.top(cut.to));
        let wire = &self.wires[cut.wire];
        let vertical = |x, top: f64, bottom: f64, end| Line {
            edge: wire.edge,
            region: None,
            points: vec![Point { x, y: top }, Point { x, y: bottom }],
            end,
            is_back: false,
        };
        let target = self.graph.vertices[wire.to.item].role;
        [
            vertical(from.x, from.y, from.y + CUT_END, End::Cut),
            vertical(
                to.x,
                to.y - CUT_END,
                to.y,
                target.map_or(End::Box, Role::end),
            ),
        ]
    }

    /// The edges that leave boxes, and the points where they do.
    fn starts(&self) -> Vec<(usize, Point)> {
        let graph = self.graph;
        let chains = graph.chains.iter().filter_map(|chain| {
            let arc = graph.arcs[*chain.arcs.first()?];
            Some((chain.wire, arc.upper_port))
        });
        let unlayered = graph.back.iter().chain(&graph.cut);
        chains
            .chain(unlayered.map(|wire| (wire.wire, wire.from)))
            .filter_map(|(wire, port)| {
                let wire = &self.wires[wire];
                let role = graph.vertices[wire.from.item].role;
                matches!(role, Some(Role::Box(_))).then(|| (wire.edge, self.bottom(port)))
            })
            .collect()
    }
}

fn has_role(graph: &Layered, layer: usize, role: Role) -> bool {
    graph.layers[layer]
        .iter()
        .any(|&v| graph.vertices[v].role == Some(role))
}
