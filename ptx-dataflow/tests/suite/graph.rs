//! Every structure of a graph against its definition and against petgraph, on thousands of random graphs.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use crate::brute;
use brute::{Random, check};
use petgraph::algo::{dominators, tarjan_scc};
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use ptx_dataflow::graph::{Dominators, Graph as _, Loops, PostDominators};
use ptx_dataflow::internals::{BadGraph, Components, ControlDependence, Digraph};

/// Graphs of 1 to 12 nodes, with self loops, parallel edges, unreachable nodes and all or a few exits.
fn graphs() -> impl Strategy<Value = Digraph> {
    let parts = (1u32..=12).prop_flat_map(|nodes| {
        let node = 0..nodes;
        let edge = (node.clone(), node.clone());
        let edges = prop::collection::vec(edge, 0..=2 * nodes as usize + 1);
        let exits = prop::collection::vec(node.clone(), 0..3);
        (Just(nodes), node, edges, prop::option::weighted(0.3, exits))
    });
    parts.prop_map(|(nodes, entry, edges, exits)| {
        let graph = Digraph::new(nodes, entry, &edges).unwrap();
        match exits {
            Some(exits) => graph.with_exits(&exits),
            None => graph,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn orders(graph in graphs()) {
        check::orders(&graph);
    }

    #[test]
    fn dominators_are_as_defined(graph in graphs()) {
        check::dominators(&graph);
        check::common_dominators(&graph);
    }

    #[test]
    fn post_dominators_and_control_dependence(graph in graphs()) {
        check::post_dominators_and_control_dependence(&graph);
    }

    #[test]
    fn frontiers(graph in graphs(), seed in any::<u64>()) {
        check::frontiers(&graph, &mut Random::new(seed));
    }

    #[test]
    fn loops(graph in graphs()) {
        check::loops(&graph);
    }

    #[test]
    fn components(graph in graphs()) {
        check::components(&graph);
    }

    #[test]
    fn petgraph_agrees(graph in graphs()) {
        let mut theirs = DiGraph::<(), ()>::new();
        for _ in 0..graph.node_count() {
            theirs.add_node(());
        }
        for from in 0..graph.node_count() {
            for &to in graph.successors(from) {
                theirs.add_edge(NodeIndex::new(from as usize), NodeIndex::new(to as usize), ());
            }
        }
        let entry = NodeIndex::new(graph.entry() as usize);
        let (ours, tree) = (Dominators::new(&graph), dominators::simple_fast(&theirs, entry));
        for node in 0..graph.node_count() {
            let immediate = tree.immediate_dominator(NodeIndex::new(node as usize));
            prop_assert_eq!(ours.immediate(node), immediate.map(|n| n.index() as u32));
        }
        let components = Components::new(&graph);
        let of_petgraph = tarjan_scc(&theirs);
        prop_assert_eq!(components.len(), of_petgraph.len());
        for members in of_petgraph {
            let of = |n: &NodeIndex| components.of(n.index() as u32);
            prop_assert!(members.iter().all(|n| of(n) == of(&members[0])));
        }
    }
}

#[test]
fn ends_must_be_nodes() {
    assert_eq!(Digraph::new(2, 2, &[]), Err(BadGraph::Entry(2)));
    assert_eq!(Digraph::new(2, 0, &[(1, 2)]), Err(BadGraph::Edge(1, 2)));
    let nothing = Digraph::new(0, 0, &[]).unwrap();
    assert_eq!(Dominators::new(&nothing).order().len(), 0);
    assert!(Loops::new(&nothing, &Dominators::new(&nothing)).is_empty());
    assert_eq!(PostDominators::new(&nothing).leaving().len(), 0);
    assert!(Components::new(&nothing).is_empty());
}

#[test]
fn a_branch_in_an_endless_loop_reconverges() {
    // 0 → 1; 1 branches to 2 and 3, both go on to 4, which goes back to 1.
    let graph = Digraph::new(5, 0, &[(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 1)]).unwrap();
    let post = PostDominators::new(&graph);
    assert!(post.leaving().eq([4]));
    assert_eq!(post.immediate(1), Some(4));
    assert!(ControlDependence::new(&post).of(2).eq([1]));
}

#[cfg(feature = "petgraph")]
#[test]
fn graphs_are_graphs_of_petgraph() {
    use ptx_dataflow::graph::Petgraph;
    let graph = Digraph::new(4, 0, &[(0, 1), (1, 2), (2, 1), (2, 3)]).unwrap();
    let tree = dominators::simple_fast(Petgraph(&graph), graph.entry());
    assert_eq!(tree.immediate_dominator(3), Some(2));
    assert_eq!(tarjan_scc(Petgraph(&graph)).len(), 3);
}
