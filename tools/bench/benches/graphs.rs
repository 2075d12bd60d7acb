//! Time of each structure on shapes that break quadratic algorithms. Doubling the size should double the time.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use divan::{Bencher, black_box};
use ptx_analysis::graph::{Dominators, Loops, PostDominators, ReversePostOrder, is_reducible};
use ptx_analysis::internals::{
    Components, ControlDependence, Digraph, Frontiers, IteratedFrontiers,
};

fn main() {
    divan::main();
}

const SIZES: [u32; 2] = [50_000, 100_000];

#[derive(Clone, Copy, Debug)]
enum Family {
    /// A chain of blocks.
    Chain,
    /// A sequence of `if` statements with two branches.
    Diamonds,
    /// Two chains with edges between them: nearly every node is a join.
    Ladder,
    /// A loop nest: all headers, then all latches.
    Nest,
    /// A branch to all other blocks, which all lead to the last block.
    Switch,
    /// A chain whose blocks are all successors of the entry, with edges back from all blocks: irreducible.
    Tangle,
}

const SHAPES: [Family; 6] = [
    Family::Chain,
    Family::Diamonds,
    Family::Ladder,
    Family::Nest,
    Family::Switch,
    Family::Tangle,
];

fn graph(family: Family, n: u32) -> Digraph {
    let mut edges = Vec::new();
    match family {
        Family::Chain => edges.extend((1..n).map(|i| (i - 1, i))),
        Family::Diamonds => {
            for i in (0..n - 3).step_by(3) {
                edges.extend([(i, i + 1), (i, i + 2), (i + 1, i + 3), (i + 2, i + 3)]);
            }
        }
        Family::Ladder => {
            for i in (0..n - 3).step_by(2) {
                edges.extend([(i, i + 1), (i, i + 2), (i + 1, i + 3)]);
            }
        }
        Family::Nest => {
            let half = n / 2;
            edges.extend((1..n).map(|i| (i - 1, i)));
            edges.extend((0..half).map(|i| (half + i, half - 1 - i)));
        }
        Family::Switch => {
            edges.extend((1..n - 1).map(|i| (0, i)));
            edges.extend((1..n - 1).map(|i| (i, n - 1)));
        }
        Family::Tangle => {
            edges.extend((1..n).map(|i| (i - 1, i)));
            edges.extend((1..n).map(|i| (i, i / 2)));
            edges.extend((1..n).map(|i| (0, i)));
        }
    }
    Digraph::new(n, 0, &edges).unwrap()
}

macro_rules! bench {
    ($name:ident, |$g:ident, $d:ident| $run:expr) => {
        #[divan::bench_group(sample_count = 10)]
        mod $name {
            use super::*;

            #[divan::bench(args = SHAPES, consts = SIZES)]
            fn $name<const N: u32>(bencher: Bencher<'_, '_>, shape: Family) {
                let $g = &graph(shape, N);
                let $d = &Dominators::new($g);
                let _ = $d;
                bencher.bench_local(|| black_box($run));
            }
        }
    };
}

bench!(order, |g, d| ReversePostOrder::new(g));
bench!(dominators, |g, d| Dominators::new(g));
bench!(post_dominators, |g, d| PostDominators::new(g));
bench!(loops, |g, d| Loops::new(g, d));
bench!(reducible, |g, d| is_reducible(g, d));
bench!(components, |g, d| Components::new(g));
bench!(every_node_defined, |g, d| {
    let frontiers = Frontiers::new(g, d);
    let order = ReversePostOrder::new(g);
    IteratedFrontiers::new(&frontiers).of(order.order(), |_| true)
});
bench!(control_dependence, |g, d| ControlDependence::new(
    &PostDominators::new(g)
));
