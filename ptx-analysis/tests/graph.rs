//! Every structure of `graph` against its definition, on thousands of random graphs.
#![allow(clippy::unwrap_used)]

mod brute;

use brute::{Random, check, random_graph};
use ptx_analysis::graph::{
    BadGraph, Components, ControlDependence, Digraph, Dominators, Loops, PostDominators,
};

/// Runs a check on 8,000 graphs.
fn on_graphs(check: impl Fn(&Digraph)) {
    let mut random = Random::new(1);
    for _ in 0..8000 {
        check(&random_graph(&mut random));
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
fn orders() {
    on_graphs(check::orders);
}

#[test]
fn dominators() {
    on_graphs(|graph| {
        check::dominators(graph);
        check::common_dominators(graph);
    });
}

#[test]
fn post_dominators_and_control_dependence() {
    on_graphs(check::post_dominators_and_control_dependence);
}

#[test]
fn frontiers() {
    let mut random = Random::new(7);
    for _ in 0..8000 {
        let graph = random_graph(&mut random);
        check::frontiers(&graph, &mut random);
    }
}

#[test]
fn loops() {
    on_graphs(check::loops);
}

#[test]
fn components() {
    on_graphs(check::components);
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
