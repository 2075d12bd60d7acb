//! The solver against naive iteration and against the meet over all paths; the sets against `BTreeSet`.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use crate::brute;
use brute::{Random, random_graph, reach};
use ptx_dataflow::dataflow::{
    Analysis, BitSet, Cursor, Direction, Incomplete, JoinSemiLattice, solve,
};
use ptx_dataflow::graph::Graph;
use ptx_dataflow::internals::{Digraph, SparseSet};
use ptx_dataflow::reg_lanes::{VariableId, VariableSet};
use std::collections::BTreeSet;

const FACTS: u32 = 150;

/// Each instruction takes one fact out and puts one in; some edges take a fact out, some are never taken.
struct Random150<const BACKWARD: bool> {
    blocks: Vec<Vec<(u32, u32)>>,
    seed: u64,
}

impl<const BACKWARD: bool> Random150<BACKWARD> {
    fn new(random: &mut Random, nodes: u32) -> Self {
        let pair = |random: &mut Random| {
            (
                random.below(FACTS.into()) as u32,
                random.below(FACTS.into()) as u32,
            )
        };
        let blocks = (0..nodes)
            .map(|_| (0..random.below(5)).map(|_| pair(random)).collect())
            .collect();
        Self {
            blocks,
            seed: random.next(),
        }
    }
}

impl<const BACKWARD: bool> Analysis for Random150<BACKWARD> {
    type Node = u32;
    type Domain = SparseSet;
    const DIRECTION: Direction = if BACKWARD {
        Direction::Backward
    } else {
        Direction::Forward
    };
    const EDGES: bool = true;
    fn bottom(&self) -> SparseSet {
        SparseSet::new()
    }
    fn boundary(&self) -> SparseSet {
        [0, 70, 149].into_iter().collect()
    }
    fn len(&self, block: u32) -> u32 {
        self.blocks[block as usize].len() as u32
    }
    fn effect(&self, block: u32, index: u32, state: &mut SparseSet) {
        let (kill, add) = self.blocks[block as usize][index as usize];
        state.remove(kill);
        state.insert(add);
    }
    fn edge(&self, from: u32, to: u32, state: &mut SparseSet) -> bool {
        let mut random = Random::new(self.seed ^ u64::from(from * 100 + to));
        state.remove(random.below(FACTS.into()) as u32);
        random.below(8) != 0
    }
}

/// Sweeps over all edges until nothing changes: the least solution by Kleene.
fn naive<A: Analysis<Node = u32>>(graph: &Digraph, analysis: &A) -> Vec<Option<A::Domain>> {
    let backward = A::DIRECTION == Direction::Backward;
    let mut states: Vec<Option<A::Domain>> = (0..graph.node_count())
        .map(|n| match backward {
            true if graph.exits(n) => Some(analysis.boundary()),
            true => Some(analysis.bottom()),
            false => (n == graph.entry()).then(|| analysis.boundary()),
        })
        .collect();
    loop {
        let mut changed = false;
        for from in 0..graph.node_count() {
            for &to in graph.successors(from) {
                let (source, target) = if backward { (to, from) } else { (from, to) };
                let Some(mut state) = states[source as usize].clone() else {
                    continue;
                };
                analysis.block(source, &mut state);
                if analysis.edge(from, to, &mut state) {
                    match &mut states[target as usize] {
                        Some(old) => changed |= old.join(&state),
                        none => {
                            *none = Some(state);
                            changed = true;
                        }
                    }
                }
            }
        }
        if !changed {
            return states;
        }
    }
}

fn least<const BACKWARD: bool>(seed: u64) {
    let mut random = Random::new(seed);
    for _ in 0..3000 {
        let graph = random_graph(&mut random);
        let analysis = Random150::<BACKWARD>::new(&mut random, graph.node_count());
        let expected = naive(&graph, &analysis);
        let solution = solve(&graph, &analysis, u64::MAX).unwrap();
        for n in 0..graph.node_count() {
            assert_eq!(
                solution.state(n),
                expected[n as usize].as_ref(),
                "{graph:?} {n}"
            );
        }
        let steps = solution.steps();
        assert_eq!(solve(&graph, &analysis, steps).as_ref(), Ok(&solution));
        if steps > 0 {
            let stopped: Incomplete = solve(&graph, &analysis, steps - 1).unwrap_err();
            assert_eq!(stopped.steps, steps - 1);
        }
    }
}

#[test]
fn forward_is_the_least_solution() {
    least::<false>(3);
}

#[test]
fn backward_is_the_least_solution() {
    least::<true>(4);
}

/// Joins the effects of every single path, on graphs without cycles. These effects distribute over joins.
#[test]
fn equals_the_meet_over_all_paths() {
    let mut random = Random::new(5);
    for _ in 0..2000 {
        let nodes = 1 + random.below(8) as u32;
        let edges: Vec<(u32, u32)> = (0..random.below(u64::from(nodes) * 2))
            .map(|_| {
                (
                    random.below(nodes.into()) as u32,
                    random.below(nodes.into()) as u32,
                )
            })
            .filter(|(a, b)| a < b)
            .collect();
        let graph = Digraph::new(nodes, 0, &edges).unwrap();
        let analysis = Random150::<false>::new(&mut random, nodes);
        let mut expected: Vec<Option<SparseSet>> = vec![None; nodes as usize];
        let mut paths = vec![(0, analysis.boundary())];
        while let Some((at, state)) = paths.pop() {
            match &mut expected[at as usize] {
                Some(old) => {
                    old.join(&state);
                }
                none => *none = Some(state.clone()),
            }
            for &to in graph.successors(at) {
                let mut state = state.clone();
                analysis.block(at, &mut state);
                if analysis.edge(at, to, &mut state) {
                    paths.push((to, state));
                }
            }
        }
        let solution = solve(&graph, &analysis, u64::MAX).unwrap();
        for n in 0..nodes {
            assert_eq!(solution.state(n), expected[n as usize].as_ref());
        }
    }
}

fn cursor<const BACKWARD: bool>() {
    let mut random = Random::new(6);
    for _ in 0..500 {
        let graph = random_graph(&mut random);
        let analysis = Random150::<BACKWARD>::new(&mut random, graph.node_count());
        let solution = solve(&graph, &analysis, u64::MAX).unwrap();
        let mut cursor = Cursor::new(&analysis, &solution);
        for _ in 0..40 {
            let block = random.below(graph.node_count().into()) as u32;
            let len = analysis.len(block);
            let index = random.below(u64::from(len) + 2) as u32;
            let expected =
                solution
                    .state(block)
                    .cloned()
                    .filter(|_| index <= len)
                    .map(|mut state| {
                        let before: Vec<u32> = if BACKWARD {
                            (index..len).rev().collect()
                        } else {
                            (0..index).collect()
                        };
                        before
                            .iter()
                            .for_each(|&i| analysis.effect(block, i, &mut state));
                        state
                    });
            assert_eq!(cursor.before(block, index), expected.as_ref());
            if index > 0 {
                assert_eq!(cursor.after(block, index - 1), expected.as_ref());
            }
            let end = if BACKWARD { 0 } else { len };
            assert_eq!(
                cursor.before(block, end),
                solution.through(&analysis, block).as_ref()
            );
        }
    }
}

#[test]
fn a_cursor_replays() {
    cursor::<false>();
    cursor::<true>();
}

#[test]
fn forward_states_are_of_reached_blocks() {
    let mut random = Random::new(9);
    for _ in 0..500 {
        let graph = random_graph(&mut random);
        let mut analysis = Random150::<false>::new(&mut random, graph.node_count());
        analysis.seed = 0;
        let solution = solve(&graph, &analysis, u64::MAX).unwrap();
        let reached = reach(&graph, graph.entry(), None);
        assert!(
            (0..graph.node_count()).all(|n| solution.state(n).is_none() || reached[n as usize])
        );
    }
}

#[test]
fn sets() {
    let mut random = Random::new(8);
    for round in 0..2000 {
        let universe = 1 + random.below(400);
        let mut pick = || -> BTreeSet<u32> {
            let count = random.below(if round % 2 == 0 { 6 } else { 200 });
            (0..count).map(|_| random.below(universe) as u32).collect()
        };
        let (a, b) = (pick(), pick());
        let dense = |set: &BTreeSet<u32>| {
            let mut bits = BitSet::new(universe as u32);
            set.iter()
                .for_each(|&i| assert!(bits.insert(i) && !bits.insert(i)));
            bits
        };
        let sparse = |set: &BTreeSet<u32>| set.iter().copied().collect::<SparseSet>();
        type Operation = (
            fn(&mut BitSet, &BitSet) -> bool,
            fn(&mut SparseSet, &SparseSet) -> bool,
            fn(&BTreeSet<u32>, &BTreeSet<u32>) -> BTreeSet<u32>,
        );
        let operations: [Operation; 3] = [
            (BitSet::union, SparseSet::union, |a, b| a | b),
            (BitSet::intersect, SparseSet::intersect, |a, b| a & b),
            (BitSet::subtract, SparseSet::subtract, |a, b| a - b),
        ];
        for (on_dense, on_sparse, on_btree) in operations {
            let expected = on_btree(&a, &b);
            let (mut d, mut s) = (dense(&a), sparse(&a));
            assert_eq!(on_dense(&mut d, &dense(&b)), expected != a);
            assert_eq!(on_sparse(&mut s, &sparse(&b)), expected != a);
            assert_eq!(
                (d.iter().collect::<BTreeSet<_>>(), d.count()),
                (expected.clone(), expected.len())
            );
            assert_eq!(s, sparse(&expected));
            assert_eq!(
                (s.iter().collect::<BTreeSet<_>>(), s.count()),
                (expected.clone(), expected.len())
            );
            assert_eq!(
                (d.is_empty(), s.is_empty()),
                (expected.is_empty(), expected.is_empty())
            );
        }
        let (mut d, mut s) = (dense(&a), sparse(&a));
        for &i in &b {
            assert_eq!(
                (d.contains(i), s.contains(i)),
                (a.contains(&i), a.contains(&i))
            );
            assert_eq!((d.remove(i), s.remove(i)), (a.contains(&i), a.contains(&i)));
        }
        assert_eq!((d, s), (dense(&(&a - &b)), sparse(&(&a - &b))));
    }
    let mut small = BitSet::new(3);
    assert!(!small.insert(3) && small.is_empty());
}

#[test]
fn sets_of_variables_are_joined_by_their_union() {
    let set =
        |numbers: [u32; 2]| -> VariableSet { numbers.into_iter().map(VariableId::new).collect() };
    let mut joined = set([1, 70]);
    assert!(joined.join(&set([70, 3])));
    assert!(!joined.join(&set([70, 3])));
    let numbers: Vec<u32> = joined.iter().map(VariableId::as_u32).collect();
    assert_eq!(numbers, [1, 3, 70]);
}
