//! Every structure of `graph` against its definition, on thousands of random graphs.
#![allow(clippy::unwrap_used)]

mod brute;

use brute::{BruteLoop, Random, random_graph};
use ptx_analysis::graph::{
    BadGraph, Components, ControlDependence, DepthFirst, Digraph, Dominators, Frontiers, Graph,
    Loops, PostDominators, ReversePostOrder, is_reducible, iterated_frontier,
};

/// Runs a check on 8,000 graphs.
fn on_graphs(check: impl Fn(&Digraph)) {
    let mut random = Random(1);
    for _ in 0..8000 {
        check(&random_graph(&mut random));
    }
}

#[test]
fn ends_must_be_nodes() {
    assert_eq!(Digraph::new(2, 2, &[]), Err(BadGraph::Entry(2)));
    assert_eq!(Digraph::new(2, 0, &[(1, 2)]), Err(BadGraph::Edge(1, 2)));
    let nothing = Digraph::new(0, 0, &[]).unwrap();
    assert!(Dominators::new(&nothing).order().is_empty());
    assert!(
        Loops::new(&nothing, &Dominators::new(&nothing))
            .all()
            .is_empty()
    );
    assert!(PostDominators::new(&nothing).leaving().is_empty());
    assert!(Components::new(&nothing).is_empty());
}

#[test]
fn orders() {
    on_graphs(|graph| {
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
        let search = DepthFirst::new(graph);
        for n in 0..graph.node_count() {
            assert_eq!(order.position(n).is_some(), reached[n as usize]);
            assert_eq!(search.reached(n), reached[n as usize]);
            let place = order.order().iter().position(|&m| m == n);
            assert_eq!(order.position(n), place.map(|p| p as u32));
        }
    });
}

#[test]
fn dominators() {
    on_graphs(|graph| {
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
                let common = dominators.nearest_common(a, b);
                let both =
                    |d: u32| expected[d as usize][a as usize] && expected[d as usize][b as usize];
                let nearest = (0..graph.node_count()).find(|&d| {
                    both(d)
                        && (0..graph.node_count())
                            .all(|e| !both(e) || expected[e as usize][d as usize])
                });
                assert_eq!(common, nearest);
            }
        }
    });
}

#[test]
fn post_dominators_and_control_dependence() {
    on_graphs(|graph| {
        let reversed = brute::reversed(graph);
        let expected = brute::dominance(&reversed);
        let post = PostDominators::new(graph);
        let control = ControlDependence::new(&post);
        let exit = post.virtual_exit();
        for b in 0..graph.node_count() {
            let ipdom = brute::immediate(&expected, b as usize);
            assert!(ipdom.is_some(), "every node has a way out: {graph:?}");
            assert_eq!(post.immediate(b), ipdom.filter(|&p| p != exit), "{graph:?}");
            assert_eq!(post.reconvergence(b), post.immediate(b));
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
            assert_eq!(control.of(n), branches, "{graph:?} {n}");
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
    });
}

#[test]
fn frontiers() {
    let mut random = Random(7);
    for _ in 0..8000 {
        let graph = random_graph(&mut random);
        let dominance = brute::dominance(&graph);
        let dominators = Dominators::new(&graph);
        let frontiers = Frontiers::new(&graph, &dominators);
        let of = |a: u32| {
            let reached = dominance[a as usize][a as usize];
            if reached {
                brute::frontier(&graph, &dominance, a as usize)
            } else {
                Vec::new()
            }
        };
        for a in 0..graph.node_count() {
            let expected: Vec<u32> = of(a)
                .into_iter()
                .filter(|&b| dominators.reached(b))
                .collect();
            assert_eq!(frontiers.of(a), expected, "{graph:?} {a}");
        }
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
        let found = iterated_frontier(&graph, &dominators, &dominators.children(), &set);
        assert_eq!(found, expected, "{graph:?} {set:?}");
    }
}

#[test]
fn loops() {
    on_graphs(|graph| {
        let order = brute::reverse_post_order(graph, std::iter::once(graph.entry()));
        let mut expected = Vec::new();
        brute::loops(graph, &order, &[], &order, &mut expected);
        let dominators = Dominators::new(graph);
        let loops = Loops::new(graph, &dominators);
        let mut found = Vec::new();
        for (id, l) in loops.all().iter().enumerate() {
            let id = ptx_analysis::graph::LoopId(id as u32);
            assert_eq!(loops.body(id).first(), Some(&l.header));
            assert!(l.parent.is_none_or(|up| up < id));
            if let Some(up) = l.parent {
                let outer = loops.body(up);
                assert!(loops.body(id).iter().all(|n| outer.contains(n)));
                assert_eq!(loops.get(up).unwrap().depth + 1, l.depth);
            } else {
                assert_eq!(l.depth, 1);
            }
            let mut body = loops.body(id).to_vec();
            body.sort();
            found.push(BruteLoop {
                header: l.header,
                body,
                irreducible: l.irreducible,
            });
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
        if reducible {
            assert_eq!(found, natural_loops(graph));
        }
    });
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

#[test]
fn components() {
    on_graphs(|graph| {
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
    });
}

#[test]
fn a_branch_in_an_endless_loop_reconverges() {
    // 0 → 1; 1 branches to 2 and 3, both go on to 4, which goes back to 1.
    let graph = Digraph::new(5, 0, &[(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 1)]).unwrap();
    let post = PostDominators::new(&graph);
    assert_eq!(post.leaving(), [4]);
    assert_eq!(post.reconvergence(1), Some(4));
    assert_eq!(ControlDependence::new(&post).of(2), [1]);
}

#[cfg(feature = "petgraph")]
#[test]
fn dominators_of_petgraph() {
    use ptx_analysis::graph::Petgraph;
    on_graphs(|graph| {
        let ours = Dominators::new(graph);
        let theirs = petgraph::algo::dominators::simple_fast(Petgraph(graph), graph.entry());
        for n in 0..graph.node_count() {
            assert_eq!(ours.immediate(n), theirs.immediate_dominator(n));
        }
        let components = petgraph::algo::tarjan_scc(Petgraph(graph));
        assert_eq!(components.len(), Components::new(graph).len());
    });
}
