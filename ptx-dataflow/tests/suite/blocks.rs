//! The blocks of control-flow graphs: where they begin, which labels begin one, and the edges between them.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;

use ptx_dataflow::cfg::{BlockId, Cfg, EdgeKind};
use ptx_ir::Statement;
use ptx_ir::facts::{Flow, FunctionFacts, ModuleFacts};

use crate::files;

/// The number of instructions of each block, and its successors: `2: 1 3`.
fn blocks(code: &str) -> Vec<String> {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{{\n.reg .pred %p;\n.reg .b32 %r<4>;\n{code}\n}}\n"
    );
    let module = ptx_parse::parse_str(&text).module;
    let facts = ModuleFacts::new(&module);
    let id = module.function("k").expect("a kernel");
    let facts = facts.function(id).expect("a body");
    let cfg = Cfg::new(facts);
    check(facts, &cfg);
    let text = |(id, block): (BlockId, &ptx_dataflow::cfg::Block)| {
        let mut text = format!("{}:", block.insts(facts.body()).count());
        for to in cfg.successors(id) {
            let _ = write!(text, " {}", to.as_u32());
        }
        text
    };
    cfg.blocks().map(text).collect()
}

/// What holds of each graph: blocks cover the statements, edges are in the order of their sources, and a label begins a block only where control may come
/// from elsewhere than the statement before it.
fn check(facts: FunctionFacts<'_>, cfg: &Cfg) {
    let body = facts.body();
    assert!(cfg.edges().map(|(_, edge)| edge.from).is_sorted());
    for (id, block) in cfg.blocks() {
        for (stmt, statement) in body.range(block.first, block.end) {
            assert_eq!(cfg.of_statement(stmt), Some(id));
            if let Statement::Label(label) = statement
                && let Some(begun) = cfg.of_label(label)
            {
                assert_eq!((begun, block.label), (id, Some(label)));
            }
        }
        let before = id.as_u32().checked_sub(1).map(BlockId::new);
        let Some(before) = before.and_then(|before| cfg.block(before)) else {
            continue;
        };
        let last = body.range(before.first, before.end).next_back();
        let ends = match last {
            Some((_, Statement::Inst(inst))) => facts.inst(inst).flow() != Flow::Next,
            Some((_, Statement::Opaque(_))) => true,
            _ => false,
        };
        let mut entering = cfg.in_edges(id).map(|(_, edge)| edge);
        let is_entered = entering.any(|edge| edge.kind != EdgeKind::Next || edge.when.is_some());
        assert!(ends || is_entered || block.is_dispatch, "block {id:?}");
    }
}

#[test]
fn labels_begin_blocks_only_if_something_jumps_to_them() {
    let cases: [(&str, &[&str]); 7] = [
        // Only debug information uses them.
        ("A: mov.u32 %r1, 1;\nB: mov.u32 %r1, 2;\nC: ret;", &["3:"]),
        // One of two labels of a place.
        ("A: B: mov.u32 %r1, 1;\n@%p bra A;\nret;", &["2: 0 1", "1:"]),
        (
            "mov.u32 %r1, 1;\nA: B: mov.u32 %r1, 1;\n@%p bra A;\nC: ret;",
            &["1: 1", "2: 1 2", "1:"],
        ),
        (
            "mov.u32 %r1, 1;\nA: B: mov.u32 %r1, 1;\n@%p bra B;\nret;",
            &["1: 1", "2: 1 2", "1:"],
        ),
        // After a jump, a block begins with or without a label.
        (
            "@%p bra B;\nA: mov.u32 %r1, 1;\nB: C: ret;",
            &["1: 2 1", "1: 2", "1:"],
        ),
        // Tables, whose labels begin no block.
        (
            "T: .branchtargets A, C;\nbrx.idx %r1, T;\nA: mov.u32 %r1, 1;\nB: mov.u32 %r1, 2;\nC: ret;",
            &["1: 1 2", "2: 2", "1:"],
        ),
        // A jump with unknown targets may lead to each label, or to the next block.
        (
            "mov.u32 %r1, 1;\nA: mov.u32 %r1, 2;\nbra %r1;\nB: mov.u32 %r1, 3;\nC: ret;",
            &["1: 1", "2: 1 2 3 2", "1: 3", "1:"],
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(blocks(code), expected, "{code}");
    }
}

#[test]
fn blocks_of_the_corpus() {
    let mut count = 0;
    for entry in files::entries(&files::own()) {
        let module = ptx_parse::parse(&entry.read()).module;
        let facts = ModuleFacts::new(&module);
        for (id, ..) in module.definitions() {
            let facts = facts.function(id).expect("a body");
            check(facts, &Cfg::new(facts));
            count += 1;
        }
    }
    assert!(count > 100, "{count} functions");
}
