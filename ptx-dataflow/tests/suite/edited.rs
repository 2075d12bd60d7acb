//! The analyses of a function that was edited find what they find in its text.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "tests fail by panics"
)]

use std::sync::Arc;

use ptx_dataflow::function_dataflow::FunctionDataflow;
use ptx_dataflow::ssa::{Value, ValueId};
use ptx_edit::EditModule as _;
use ptx_ir::facts::{ModuleFacts, StaleFacts};
use ptx_ir::{Module, Operand, RegId, StmtId};

const LINES: [&str; 8] = [
    "add.s32 %r0, %r1, %r2;",
    "@%p0 bra L0;",
    "setp.eq.s32 %p1, %r3, %r0;",
    "mov.b32 %r4, %r5;",
    "@!%p1 bra L1;",
    "mad.lo.s32 %r6, %r4, %r0, %r6;",
    "bra L2;",
    "ret;",
];

fn module() -> Module {
    let mut text = String::from(
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<9>;\n.reg .pred %p<2>;\n",
    );
    for i in 0..24 {
        if i % 6 == 2 {
            text += &format!("L{}:\n", i / 6);
        }
        text += LINES[i % 8];
        text.push('\n');
    }
    text += "ret;\n}\n";
    ptx_parse::parse_str(&text).module
}

/// Blocks by the places of their statements, edges, and the pressure.
fn result(module: &Module) -> impl PartialEq + std::fmt::Debug {
    let facts = ModuleFacts::new(module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
    let analysis = FunctionDataflow::new(facts);
    let order: Vec<StmtId> = facts.body().statements().map(|(id, _)| id).collect();
    let cfg = analysis.cfg();
    let blocks: Vec<_> = order
        .iter()
        .map(|&stmt| cfg.of_statement(stmt).map(|b| b.as_u32()))
        .collect();
    let sizes: Vec<usize> = cfg
        .blocks()
        .map(|(_, b)| facts.body().range(b.first, b.end).count())
        .collect();
    // Edges to all labels are in the order of the labels' ids.
    let mut edges: Vec<_> = cfg
        .blocks()
        .flat_map(|(id, _)| {
            cfg.out_edges(id)
                .map(|(_, e)| (e.from.as_u32(), e.to.as_u32(), e.when))
        })
        .collect();
    edges.sort();
    let lives: Vec<usize> = cfg
        .blocks()
        .map(|(id, _)| analysis.liveness().live_in(id).count())
        .collect();
    // What each statement reads was made by which statement.
    let ssa = analysis.ssa().expect("few phis");
    let place = |stmt: StmtId| order.iter().position(|&s| s == stmt);
    let from = |value: ValueId| match ssa.value(value) {
        Value::Def { stmt, .. } => place(stmt),
        _ => None,
    };
    let values: Vec<_> = order
        .iter()
        .map(|&stmt| {
            let uses: Vec<_> = ssa.uses(stmt).iter().map(|u| from(u.value)).collect();
            (uses, ssa.defs(stmt).map(from).collect::<Vec<_>>())
        })
        .collect();
    let peak = analysis.pressure();
    let at = peak.at.and_then(|at| order.iter().position(|&s| s == at));
    (blocks, sizes, edges, lives, values, (peak.units, at))
}

#[test]
fn analyses_see_the_order_after_edits() {
    let mut rng = fastrand::Rng::with_seed(7);
    let mut random = |below: usize| rng.usize(..below);
    let mut edits = 0;
    for _ in 0..60 {
        let mut module = module();
        let k = module.function("k").unwrap();
        for _ in 0..12 {
            let mut editor = module.edit(k).unwrap();
            let all: Vec<StmtId> = editor.body().statements().map(|(id, _)| id).collect();
            let (stmt, other) = (all[random(all.len())], all[random(all.len())]);
            let register = Operand::Reg(RegId::new(random(5) as u32));
            let done = match random(4) {
                0 => editor.move_after(stmt, other).is_ok(),
                1 => editor.remove(stmt).is_ok(),
                2 => editor.set_operand(stmt, random(3), register).is_ok(),
                _ => {
                    let new = editor
                        .inst("xor.b32", &[register, register, register])
                        .unwrap();
                    editor.insert_after(stmt, new).is_ok()
                }
            };
            edits += usize::from(done);
        }
        let text = ptx_print::verbatim(&module);
        let read = ptx_parse::parse(&text);
        assert!(!read.has_errors());
        let shown = String::from_utf8_lossy(&text);
        assert_eq!(
            format!("{:?}", result(&module)),
            format!("{:?}", result(&read.module)),
            "{shown}"
        );
    }
    assert!(edits > 300, "{edits} edits");
}

/// Facts of another module with the same number of edits are refused. A clone is the same module until one of them is edited.
#[test]
fn facts_of_another_module_are_refused() {
    const TEXT: &str =
        ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a; mov.b32 a, 1; ret; }\n";
    let mut module = ptx_parse::parse_str(TEXT).module;
    let mut clone = module.clone();
    let tables = ModuleFacts::new(&module).tables().clone();
    assert!(ModuleFacts::with_tables(&clone, tables.clone()).is_ok());
    let refused = |module, tables| ModuleFacts::with_tables(module, tables).err();
    let other = ptx_parse::parse_str(TEXT).module;
    assert_eq!(refused(&other, tables.clone()), Some(StaleFacts::Module));
    // Each copy is edited once, in another way.
    let k = module.function("k").unwrap();
    for (module, at) in [(&mut module, 1), (&mut clone, 2)] {
        let mut editor = module.edit(k).unwrap();
        let statement = editor.body().statements().nth(at).unwrap().0;
        editor.remove(statement).unwrap();
    }
    assert_eq!(module.revision(), clone.revision());
    let facts = ModuleFacts::new(&module);
    let of_k = facts.function(k).unwrap();
    let stamp = FunctionDataflow::new(of_k).stamp();
    assert_eq!(
        refused(&clone, facts.tables().clone()),
        Some(StaleFacts::Module)
    );
    let others = ModuleFacts::new(&clone);
    assert_eq!(stamp.check(of_k), Ok(()));
    let found = stamp.check(others.function(k).unwrap());
    assert_eq!(found, Err(StaleFacts::Module));
}

/// Facts and analyses of an earlier revision, or of another function, are refused.
#[test]
fn facts_that_outlive_an_edit_are_stale() {
    let mut module = ptx_parse::parse_str(
        ".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a; mov.b32 a, 1; ret; }\n.entry l() { ret; }\n",
    )
    .module;
    let (k, l) = (module.function("k").unwrap(), module.function("l").unwrap());
    let facts = ModuleFacts::new(&module);
    let tables = facts.tables().clone();
    let of_k = facts.function(k).unwrap();
    let analysis = FunctionDataflow::new(of_k);
    let stamps = [analysis.stamp(), analysis.save().stamp()];
    for stamp in stamps {
        assert_eq!(stamp.check(of_k), Ok(()));
        let other = stamp.check(facts.function(l).unwrap());
        assert!(matches!(other, Err(StaleFacts::Function { .. })));
    }
    assert!(ModuleFacts::with_tables(&module, tables.clone()).is_ok());

    let mut editor = module.edit(k).unwrap();
    let first = editor.body().statements().nth(1).unwrap().0;
    editor.remove(first).unwrap();
    let revision = module.revision();
    let refused = ModuleFacts::with_tables(&module, tables.clone()).unwrap_err();
    assert!(matches!(refused, StaleFacts::Revision { facts: 0, module, .. } if module == revision));
    let message = format!(
        "the facts are of revision 0 of the module, which has revision {revision}: compute them again after an edit"
    );
    assert_eq!(refused.to_string(), message);
    let facts = ModuleFacts::new(&module);
    for stamp in stamps {
        assert_eq!(stamp.check(facts.function(k).unwrap()), Err(refused));
    }
    // Tables that were updated are those of the new revision.
    let mut tables = tables;
    Arc::make_mut(&mut tables).update(&module, &module.changed_since(0).functions);
    assert!(ModuleFacts::with_tables(&module, tables).is_ok());
}
