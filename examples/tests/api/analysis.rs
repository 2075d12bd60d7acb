use ptx_analysis::cfg::Cfg;
use ptx_analysis::fold::is_copy;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::{DepthFirst, Digraph, Dominators, PostDominators};
use ptx_ir::facts::ModuleFacts;
use ptx_isa::Opcode;

/// 0 → 1 → 3, 0 → 2 → 3, and 4 on its own.
#[test]
fn a_diamond() {
    let graph = Digraph::new(5, 0, &[(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
    let search = DepthFirst::new(&graph);
    assert_eq!(search.preorder().first(), Some(&0));
    assert_eq!(search.postorder().last(), Some(&0));
    assert_eq!(search.preorder().len(), 4);
    assert!(search.is_ancestor(0, 3) && search.is_ancestor(3, 3) && !search.is_ancestor(1, 2));
    let dominators = Dominators::new(&graph);
    assert!(dominators.strictly_dominates(0, 3));
    assert!(!dominators.strictly_dominates(1, 3) && !dominators.strictly_dominates(0, 0));
    let post = PostDominators::new(&graph);
    assert!(post.tree().strictly_dominates(3, 0));
}

#[test]
fn blocks_and_labels() {
    let text = b".version 8.0 .target sm_80 .entry k() { .reg .pred p; L: @p bra L; ret; M: ret; }";
    let module = ptx_parse::parse(text).module;
    let facts = ModuleFacts::new(&module);
    let (id, _, body) = module.definitions().next().unwrap();
    let of = facts.function(id).unwrap();
    let cfg = Cfg::new(of);
    let blocks: Vec<_> = body
        .labels()
        .ids()
        .map(|l| cfg.of_label(l).unwrap())
        .collect();
    let [looping, dead] = blocks[..] else {
        panic!("two labels")
    };
    // Entered from itself at least.
    let from = cfg
        .into_ids(looping)
        .iter()
        .map(|&e| cfg.edges()[e as usize].to);
    assert!(from.into_iter().all(|to| to == looping));
    assert!(!cfg.into_ids(looping).is_empty());
    let analysis = FunctionAnalysis::new(of);
    assert!(analysis.is_reachable(looping) && !analysis.is_reachable(dead));
    assert!(is_copy(Opcode::Mov) && !is_copy(Opcode::Add));
}
