//! The definitions, written down directly: slow and obviously right.
#![allow(dead_code, clippy::unwrap_used)]

pub(crate) mod check;
pub(crate) use test_support::random;

use ptx_dataflow::cfg::{BlockId, Cfg};
use ptx_dataflow::graph::Graph;
use ptx_dataflow::internals::Digraph;
pub(crate) use random::Random;

/// A graph of 1 to 12 nodes; self loops, parallel edges, unreachable nodes, no exits: all of it comes up.
pub(crate) fn random_graph(random: &mut Random) -> Digraph {
    let nodes = 1 + random.below(12);
    let edges: Vec<_> = (0..random.below(nodes * 2 + 2))
        .map(|_| (random.below(nodes) as u32, random.below(nodes) as u32))
        .collect();
    let graph = Digraph::new(nodes as u32, random.below(nodes) as u32, &edges).unwrap();
    if random.below(3) == 0 {
        let exits: Vec<_> = (0..random.below(3))
            .map(|_| random.below(nodes) as u32)
            .collect();
        return graph.with_exits(&exits);
    }
    graph
}

/// The blocks and edges of a function as a graph with the same exits.
pub(crate) fn of_cfg(cfg: &Cfg) -> Digraph {
    let edges = cfg.edges().map(|(_, e)| (e.from.as_u32(), e.to.as_u32()));
    let edges: Vec<(u32, u32)> = edges.collect();
    let exits = cfg.nodes().filter(|&b| cfg.exits(b)).map(BlockId::as_u32);
    let exits: Vec<u32> = exits.collect();
    Digraph::new(cfg.node_count(), cfg.entry().as_u32(), &edges)
        .unwrap()
        .with_exits(&exits)
}

/// The nodes that `from` reaches on paths that avoid `without`.
pub(crate) fn reach(graph: &impl Graph<Node = u32>, from: u32, without: Option<u32>) -> Vec<bool> {
    let mut seen = vec![false; graph.node_count() as usize];
    let mut work = vec![from];
    while let Some(node) = work.pop() {
        if Some(node) != without && !std::mem::replace(&mut seen[node as usize], true) {
            work.extend(graph.successors(node));
        }
    }
    seen
}

pub(crate) type Relation = Vec<Vec<bool>>;

/// `[a][b]`: the entry reaches `b`, but not without `a`.
pub(crate) fn dominance(graph: &impl Graph<Node = u32>) -> Relation {
    let reached = reach(graph, graph.entry(), None);
    (0..graph.node_count())
        .map(|a| {
            let without = reach(graph, graph.entry(), Some(a));
            (0..reached.len())
                .map(|b| reached[b] && !without[b])
                .collect()
        })
        .collect()
}

/// The strict dominator that all other strict dominators dominate.
pub(crate) fn immediate(dominance: &Relation, node: usize) -> Option<u32> {
    let strict: Vec<usize> = (0..dominance.len())
        .filter(|&a| a != node && dominance[a][node])
        .collect();
    strict
        .iter()
        .copied()
        .find(|&d| strict.iter().all(|&a| dominance[a][d]))
        .map(|d| d as u32)
}

pub(crate) fn frontier(graph: &impl Graph<Node = u32>, dominance: &Relation, a: usize) -> Vec<u32> {
    (0..graph.node_count())
        .filter(|&b| {
            graph
                .predecessors(b)
                .iter()
                .any(|&p| dominance[a][p as usize])
                && !(dominance[a][b as usize] && a != b as usize)
        })
        .collect()
}

/// Two nodes are in one component if each reaches the other.
pub(crate) fn components(graph: &impl Graph<Node = u32>) -> Relation {
    let reach: Vec<_> = (0..graph.node_count())
        .map(|n| reach(graph, n, None))
        .collect();
    (0..reach.len())
        .map(|a| {
            (0..reach.len())
                .map(|b| reach[a][b] && reach[b][a])
                .collect()
        })
        .collect()
}

/// Recursive depth-first search: the nodes in reverse post-order.
pub(crate) fn reverse_post_order(
    graph: &impl Graph<Node = u32>,
    roots: impl Iterator<Item = u32>,
) -> Vec<u32> {
    fn walk(graph: &impl Graph<Node = u32>, node: u32, seen: &mut [bool], post: &mut Vec<u32>) {
        if std::mem::replace(&mut seen[node as usize], true) {
            return;
        }
        for &next in graph.successors(node) {
            walk(graph, next, seen, post);
        }
        post.push(node);
    }
    let (mut seen, mut post) = (vec![false; graph.node_count() as usize], Vec::new());
    for root in roots {
        walk(graph, root, &mut seen, &mut post);
    }
    post.reverse();
    post
}

/// The reversed graph with its virtual exit, as `post.rs` defines it.
pub(crate) fn reversed(graph: &Digraph) -> Digraph {
    let exit = graph.node_count();
    let mut edges = Vec::new();
    for from in 0..exit {
        edges.extend(graph.successors(from).iter().map(|&to| (to, from)));
        if graph.exits(from) {
            edges.push((exit, from));
        }
    }
    let together = components(graph);
    let order = reverse_post_order(graph, std::iter::once(graph.entry()).chain(0..exit));
    for &header in &order {
        let members: Vec<u32> = (0..exit)
            .filter(|&n| together[header as usize][n as usize])
            .collect();
        let first = order.iter().find(|n| members.contains(n)) == Some(&header);
        let endless = members
            .iter()
            .all(|&n| !graph.exits(n) && graph.successors(n).iter().all(|to| members.contains(to)));
        if first && endless {
            for &latch in &members {
                if graph.successors(latch).contains(&header) || members.len() == 1 {
                    edges.push((exit, latch));
                }
            }
        }
    }
    Digraph::new(exit + 1, exit, &edges).unwrap()
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Clone)]
pub(crate) struct BruteLoop {
    pub(crate) header: u32,
    pub(crate) body: Vec<u32>,
    pub(crate) irreducible: bool,
}

/// Loops by nested strongly connected components.
pub(crate) fn loops(
    graph: &Digraph,
    nodes: &[u32],
    banned: &[u32],
    order: &[u32],
    found: &mut Vec<BruteLoop>,
) {
    // Edges inside `nodes` that do not lead to a banned header.
    let edges: Vec<(u32, u32)> = nodes
        .iter()
        .flat_map(|&from| graph.successors(from).iter().map(move |&to| (from, to)))
        .filter(|(_, to)| nodes.contains(to) && !banned.contains(to))
        .collect();
    let part = Digraph::new(graph.node_count(), graph.entry(), &edges).unwrap();
    let together = components(&part);
    let mut seen = Vec::new();
    for &header in order.iter().filter(|n| nodes.contains(n)) {
        if seen.contains(&header) {
            continue;
        }
        let body: Vec<u32> = nodes
            .iter()
            .copied()
            .filter(|&n| together[header as usize][n as usize])
            .collect();
        seen.extend(&body);
        if !edges
            .iter()
            .any(|(from, to)| body.contains(from) && body.contains(to))
        {
            continue;
        }
        let entered = |n: &u32| {
            *n != header
                && graph
                    .predecessors(*n)
                    .iter()
                    .any(|p| order.contains(p) && !body.contains(p))
        };
        let irreducible = body.iter().any(entered);
        found.push(BruteLoop {
            header,
            body: body.clone(),
            irreducible,
        });
        let banned: Vec<u32> = banned.iter().copied().chain([header]).collect();
        loops(graph, &body, &banned, order, found);
    }
}

/// Reducible by T1 and T2: deleting self loops and merging nodes into their only predecessor leaves one node.
pub(crate) fn reducible(graph: &impl Graph<Node = u32>) -> bool {
    let reached = reach(graph, graph.entry(), None);
    let mut nodes: Vec<u32> = (0..graph.node_count())
        .filter(|&n| reached[n as usize])
        .collect();
    let mut edges: std::collections::BTreeSet<(u32, u32)> = nodes
        .iter()
        .flat_map(|&n| graph.successors(n).iter().map(move |&to| (n, to)))
        .collect();
    loop {
        edges.retain(|(from, to)| from != to);
        let only = |n: u32| {
            let from: Vec<u32> = edges.iter().filter(|e| e.1 == n).map(|e| e.0).collect();
            (n != graph.entry() && from.len() == 1).then(|| from[0])
        };
        let Some((node, into)) = nodes.iter().find_map(|&n| only(n).map(|into| (n, into))) else {
            return nodes.len() == 1;
        };
        nodes.retain(|&n| n != node);
        edges = edges
            .into_iter()
            .map(|(a, b)| (if a == node { into } else { a }, b))
            .filter(|e| e.1 != node)
            .collect();
    }
}
