//! Every structure of `graph` against its definition, on one graph.

use super::{self as brute, BruteLoop, Random};
use ptx_dataflow::graph::{
    Dominators, Graph, Loop, LoopId, LoopKind, Loops, PostDominators, ReversePostOrder,
    is_reducible,
};
use ptx_dataflow::internals::{
    Components, ControlDependence, Digraph, Frontiers, IteratedFrontiers,
};

pub(crate) fn orders(graph: &Digraph) {
    let order = ReversePostOrder::new(graph);
    assert_eq!(
        order.order(),
        brute::reverse_post_order(graph, std::iter::once(graph.entry()))
    );
    let all = std::iter::once(graph.entry()).chain(0..graph.node_count());
    assert_eq!(
        ReversePostOrder::whole(graph).order(),
        brute::reverse_post_order(graph, all)
    );
    let reached = brute::reach(graph, graph.entry(), None);
    for n in 0..graph.node_count() {
        assert_eq!(order.position(n).is_some(), reached[n as usize]);
        let place = order.order().iter().position(|&m| m == n);
        assert_eq!(order.position(n), place.map(|p| p as u32));
    }
}

pub(crate) fn dominators(graph: &Digraph) {
    let expected = brute::dominance(graph);
    let dominators = Dominators::new(graph);
    let children = dominators.children();
    for b in 0..graph.node_count() {
        let idom = brute::immediate(&expected, b as usize);
        assert_eq!(dominators.immediate(b), idom, "{graph:?}");
        let mut above: Vec<u32> = dominators.ancestors(b).collect();
        assert!(
            above
                .windows(2)
                .all(|w| dominators.immediate(w[0]) == Some(w[1]))
        );
        above.sort();
        let all: Vec<u32> = (0..graph.node_count())
            .filter(|&a| expected[a as usize][b as usize])
            .collect();
        assert_eq!(above, all);
        assert_eq!(dominators.depth(b) as usize, all.len().saturating_sub(1));
        for a in 0..graph.node_count() {
            assert_eq!(
                dominators.dominates(a, b),
                expected[a as usize][b as usize],
                "{graph:?} {a} {b}"
            );
            assert_eq!(children.row(a).contains(&b), idom == Some(a));
        }
    }
}

/// The nearest node that dominates both of two; slow.
pub(crate) fn common_dominators(graph: &Digraph) {
    let expected = brute::dominance(graph);
    let dominators = Dominators::new(graph);
    for a in 0..graph.node_count() {
        for b in 0..graph.node_count() {
            let common = dominators.nearest_common(a, b);
            let both =
                |d: u32| expected[d as usize][a as usize] && expected[d as usize][b as usize];
            let nearest = (0..graph.node_count()).find(|&d| {
                both(d)
                    && (0..graph.node_count()).all(|e| !both(e) || expected[e as usize][d as usize])
            });
            assert_eq!(common, nearest);
        }
    }
}

pub(crate) fn post_dominators_and_control_dependence(graph: &Digraph) {
    let reversed = brute::reversed(graph);
    let expected = brute::dominance(&reversed);
    let post = PostDominators::new(graph);
    let control = ControlDependence::new(&post);
    let exit = post.virtual_exit();
    for b in 0..graph.node_count() {
        let ipdom = brute::immediate(&expected, b as usize);
        assert!(ipdom.is_some(), "every node has a way out: {graph:?}");
        assert_eq!(post.immediate(b), ipdom.filter(|&p| p != exit), "{graph:?}");
        for a in 0..graph.node_count() {
            assert_eq!(post.dominates(a, b), expected[a as usize][b as usize]);
        }
    }
    // Where each edge decides: the target's post-dominators but for those of the source.
    let strictly = |a: u32, b: u32| a != b && expected[a as usize][b as usize];
    for n in 0..graph.node_count() {
        let decides =
            |branch: u32, to: u32| expected[n as usize][to as usize] && !strictly(n, branch);
        let branches: Vec<u32> = (0..graph.node_count())
            .filter(|&b| graph.successors(b).iter().any(|&to| decides(b, to)))
            .collect();
        assert_eq!(control.of(n).collect::<Vec<_>>(), branches, "{graph:?} {n}");
        for b in 0..graph.node_count() {
            for &to in graph.successors(b) {
                assert_eq!(
                    post.dependents(b, to).any(|d| d == n),
                    decides(b, to),
                    "{graph:?} {b} {to} {n}"
                );
            }
        }
    }
}

pub(crate) fn frontiers(graph: &Digraph, random: &mut Random) {
    let dominance = brute::dominance(graph);
    let dominators = Dominators::new(graph);
    let frontiers = Frontiers::new(graph, &dominators);
    let of = |a: u32| {
        let reached = dominance[a as usize][a as usize];
        if reached {
            brute::frontier(graph, &dominance, a as usize)
        } else {
            Vec::new()
        }
    };
    for a in 0..graph.node_count() {
        let expected: Vec<u32> = of(a)
            .into_iter()
            .filter(|&b| dominators.is_reachable(b))
            .collect();
        assert_eq!(
            frontiers.of(a).collect::<Vec<_>>(),
            expected,
            "{graph:?} {a}"
        );
        for b in 0..graph.node_count() {
            assert_eq!(frontiers.contains(a, b), expected.contains(&b));
        }
    }
    // One value for several queries.
    let mut iterated = IteratedFrontiers::new(&frontiers);
    for _ in 0..3 {
        iterated_frontier(graph, &of, &mut iterated, random);
    }
}

fn iterated_frontier(
    graph: &Digraph,
    of: &dyn Fn(u32) -> Vec<u32>,
    iterated: &mut IteratedFrontiers<'_>,
    random: &mut Random,
) {
    let set: Vec<u32> = (0..random.below(4))
        .map(|_| random.below(graph.node_count().into()) as u32)
        .collect();
    let mut expected: Vec<u32> = Vec::new();
    loop {
        let mut next: Vec<u32> = set.iter().chain(&expected).flat_map(|&n| of(n)).collect();
        next.sort();
        next.dedup();
        if next == expected {
            break;
        }
        expected = next;
    }
    let mut asked = Vec::new();
    let found = iterated.of(&set, |n| {
        assert!(!asked.contains(&n), "asked once about each node");
        asked.push(n);
        true
    });
    assert_eq!(found, expected, "{graph:?} {set:?}");
}

pub(crate) fn loops(graph: &Digraph) {
    let order = brute::reverse_post_order(graph, std::iter::once(graph.entry()));
    let mut expected = Vec::new();
    brute::loops(graph, &order, &[], &order, &mut expected);
    let dominators = Dominators::new(graph);
    let loops = Loops::new(graph, &dominators);
    let mut found = Vec::new();
    for (id, l) in loops.iter() {
        assert_eq!(loops.body(id).first(), Some(&l.header()));
        assert!(l.parent().is_none_or(|up| up < id));
        if let Some(up) = l.parent() {
            let outer = loops.body(up);
            assert!(loops.body(id).iter().all(|n| outer.contains(n)));
            assert_eq!(loops.get(up).unwrap().depth() + 1, l.depth());
        } else {
            assert_eq!(l.depth(), 1);
        }
        let mut body = loops.body(id).to_vec();
        body.sort();
        found.push(BruteLoop {
            header: l.header(),
            body,
            irreducible: l.kind() == LoopKind::Irreducible,
        });
        edges_of_a_loop(graph, &loops, id);
    }
    for l in &mut expected {
        l.body.sort();
    }
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "{graph:?}");
    for n in 0..graph.node_count() {
        let around: Vec<&BruteLoop> = expected.iter().filter(|l| l.body.contains(&n)).collect();
        assert_eq!(loops.depth(n) as usize, around.len());
        let innermost = around.iter().min_by_key(|l| l.body.len()).map(|l| l.header);
        assert_eq!(loops.header(n), innermost);
    }
    let reducible = brute::reducible(graph);
    assert_eq!(is_reducible(graph, &dominators), reducible, "{graph:?}");
    assert_eq!(expected.iter().all(|l| !l.irreducible), reducible);
    let natural = natural_loops(graph);
    if reducible {
        assert_eq!(found, natural);
    }
    let loops = Loops::natural(graph, &dominators);
    let mut found: Vec<BruteLoop> = loops
        .iter()
        .map(|(id, l)| natural_loop(&loops, id, l))
        .collect();
    found.sort();
    assert_eq!(found, natural, "{graph:?}");
    for n in 0..graph.node_count() {
        let around: Vec<&BruteLoop> = natural.iter().filter(|l| l.body.contains(&n)).collect();
        assert_eq!(loops.depth(n) as usize, around.len(), "{graph:?} {n}");
        let innermost = around.iter().min_by_key(|l| l.body.len()).map(|l| l.header);
        assert_eq!(loops.header(n), innermost, "{graph:?} {n}");
    }
}

fn natural_loop(loops: &Loops, id: LoopId, l: &Loop) -> BruteLoop {
    assert_eq!(l.kind(), LoopKind::Natural);
    let mut body = loops.body(id).to_vec();
    body.sort();
    BruteLoop {
        header: l.header(),
        body,
        irreducible: false,
    }
}

/// Exits, latches and the preheader of a loop against their definitions.
fn edges_of_a_loop(graph: &Digraph, loops: &Loops, id: LoopId) {
    let (body, header) = (loops.body(id), loops.get(id).unwrap().header());
    for n in 0..graph.node_count() {
        assert_eq!(loops.contains(id, n), body.contains(&n));
    }
    let edges = |from: u32| graph.successors(from).iter().map(move |&to| (from, to));
    let exits = body.iter().flat_map(|&n| edges(n));
    let exits: Vec<_> = exits.filter(|(_, to)| !body.contains(to)).collect();
    assert_eq!(loops.exits(graph, id).collect::<Vec<_>>(), exits);
    let before = graph.predecessors(header).iter().copied();
    let (latches, outside): (Vec<u32>, Vec<u32>) = before.partition(|n| body.contains(n));
    assert_eq!(loops.latches(graph, id).collect::<Vec<_>>(), latches);
    let natural = loops.get(id).unwrap().kind() == LoopKind::Natural;
    let preheader = match *outside {
        [n] if natural && graph.successors(n) == [header] && !graph.exits(n) => Some(n),
        _ => None,
    };
    assert_eq!(loops.preheader(graph, id), preheader);
}

/// For each header the nodes that reach a back edge's source without passing the header.
fn natural_loops(graph: &Digraph) -> Vec<BruteLoop> {
    let dominance = brute::dominance(graph);
    (0..graph.node_count())
        .filter_map(|header| {
            let latches: Vec<u32> = graph
                .predecessors(header)
                .iter()
                .copied()
                .filter(|&p| dominance[header as usize][p as usize])
                .collect();
            let inside = |n: &u32| {
                *n == header
                    || dominance[*n as usize][*n as usize] && {
                        let reach = brute::reach(graph, *n, Some(header));
                        latches.iter().any(|&l| reach[l as usize])
                    }
            };
            let body = (0..graph.node_count()).filter(inside).collect();
            (!latches.is_empty()).then_some(BruteLoop {
                header,
                body,
                irreducible: false,
            })
        })
        .collect()
}

pub(crate) fn components(graph: &Digraph) {
    let expected = brute::components(graph);
    let components = Components::new(graph);
    for a in 0..graph.node_count() {
        let id = components.of(a).unwrap();
        let together: Vec<u32> = (0..graph.node_count())
            .filter(|&b| expected[a as usize][b as usize])
            .collect();
        assert_eq!(components.members(id), together);
        assert!(
            graph
                .successors(a)
                .iter()
                .all(|&to| components.of(to).unwrap() >= id)
        );
    }
}
