use ptx_analysis::calls::CallGraph;
use ptx_analysis::cfg::Cfg;
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::{Digraph, Dominators, PostDominators, ReversePostOrder};
use ptx_analysis::source_lines::file_number;
use ptx_ir::facts::ModuleFacts;
use ptx_isa::Opcode;
use ptx_semantics::fold::is_copy;

/// 0 → 1 → 3, 0 → 2 → 3, and 4 on its own.
#[test]
fn a_diamond() {
    let graph = Digraph::new(5, 0, &[(0, 1), (0, 2), (1, 3), (2, 3)]).unwrap();
    let order = ReversePostOrder::new(&graph);
    assert_eq!(order.order(), [0, 2, 1, 3]);
    assert_eq!((order.position(3), order.position(4)), (Some(3), None));
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
    assert!(cfg.in_edges(looping).all(|(_, e)| e.to == looping));
    assert_ne!(cfg.in_edges(looping).len(), 0);
    let analysis = FunctionAnalysis::new(of);
    assert!(analysis.is_reachable(looping) && !analysis.is_reachable(dead));
    assert!(is_copy(Opcode::Mov) && !is_copy(Opcode::Add));
}

#[test]
fn calls_and_taken_addresses() {
    let text =
        b".version 8.0 .target sm_80 .address_size 64 .func leaf() { ret; } .func taken() { ret; }
        .entry k() { .reg .b64 p; call leaf; call leaf; mov.b64 p, taken; ret; }";
    let module = ptx_parse::parse(text).module;
    let calls = CallGraph::new(&ModuleFacts::new(&module));
    let id = |name| module.function(name).unwrap();
    assert_eq!(calls.calls_of(id("k")).count(), 2);
    assert_eq!(calls.calls_of(id("leaf")).count(), 0);
    assert_eq!(calls.address_taken(), [id("taken")]);
    assert!(calls.is_address_taken(id("taken")) && !calls.is_address_taken(id("leaf")));
}

#[test]
fn numbers_of_files() {
    let text =
        b".version 8.0 .target sm_80 .address_size 64 .file 7 \"a.cu\" .pragma \"nounroll\";";
    let module = ptx_parse::parse(text).module;
    let files = module
        .directives()
        .values()
        .map(|d| file_number(&module, d));
    assert_eq!(files.flatten().collect::<Vec<_>>(), [7]);
}
