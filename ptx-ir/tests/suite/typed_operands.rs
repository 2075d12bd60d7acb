//! The operands of instructions with the facts that their forms state.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use ptx_ir::facts::{ModuleFacts, RegAccess, TypedOperand};
use ptx_ir::{EntityId as _, Module, Operand};
use ptx_isa::{Role, ScalarType};

fn module(declarations: &str, statement: &str) -> Module {
    let text =
        format!(".version 8.0\n.target sm_80\n.entry k() {{ {declarations} {statement} L: ret; }}");
    ptx_parse::parse(text.as_bytes())
        .into_result()
        .expect("a module without errors")
}

/// Calls `check` with the operands, the sources and the destinations of the first instruction.
fn with_operands(
    module: &Module,
    check: impl FnOnce(&[TypedOperand], &[TypedOperand], &[TypedOperand]),
) {
    let facts = ModuleFacts::new(module);
    let (id, _, body) = module.definitions().next().unwrap();
    let inst = facts
        .function(id)
        .unwrap()
        .inst(body.insts().next().unwrap().0);
    let all: Vec<_> = inst.operands().collect();
    for operand in &all {
        assert_eq!(inst.operand(operand.index), Some(*operand));
    }
    let (sources, destinations): (Vec<_>, Vec<_>) =
        (inst.sources().collect(), inst.destinations().collect());
    assert_eq!(inst.source(0).as_ref(), sources.first());
    assert_eq!(inst.source(sources.len()), None);
    assert_eq!(inst.destination(0).as_ref(), destinations.first());
    check(&all, &sources, &destinations);
}

#[test]
fn comparisons_have_two_results_and_typed_sources() {
    let module = module(
        ".reg .pred p, q; .reg .f32 a;",
        "setp.lt.and.f32 p|q, a, 0f3F800000, !q;",
    );
    with_operands(&module, |all, sources, destinations| {
        let types: Vec<_> = all.iter().map(|o| o.ty).collect();
        let (predicate, float) = (Some(ScalarType::Pred), Some(ScalarType::F32));
        assert_eq!(types, [predicate, predicate, float, float, predicate]);
        assert_eq!(destinations.len(), 2);
        assert_eq!(sources.len(), 3);
        assert!(matches!(sources[1].operand, Operand::Imm(_)));
        assert!(matches!(sources[2].operand, Operand::Not(_)));
        assert!(destinations.iter().all(|o| o.access == RegAccess::Write));
    });
}

#[test]
fn operands_that_are_not_written_keep_their_index() {
    let module = module("", "bar.sync 0;");
    with_operands(&module, |all, sources, destinations| {
        assert_eq!((all.len(), destinations.len()), (1, 0));
        assert_eq!((all[0].index, all[0].operand), (0, Operand::Small(0)));
        assert_eq!(sources, all);
    });
    let module = self::module("", "bar.sync 1, 64;");
    with_operands(&module, |all, _, _| {
        assert_eq!(all[1].index, 1);
        assert_eq!(all[1].operand, Operand::Small(64));
    });
}

#[test]
fn addresses_and_labels_are_neither_sources_nor_destinations() {
    let module = self::module(
        ".reg .b64 a; .reg .f32 x, y;",
        "ld.global.v2.f32 {x, y}, [a];",
    );
    with_operands(&module, |all, sources, destinations| {
        assert_eq!(destinations[0].ty, Some(ScalarType::F32));
        assert!(matches!(destinations[0].operand, Operand::Vector(_)));
        assert_eq!((all[1].role, all[1].access), (Role::Addr, RegAccess::Read));
        assert!(sources.is_empty());
    });
    let module = self::module("", "bra L;");
    with_operands(&module, |all, sources, destinations| {
        assert_eq!(all[0].role, Role::Label);
        assert_eq!(all[0].ty, None);
        assert!(sources.is_empty() && destinations.is_empty());
    });
}

#[test]
fn unknown_instructions_have_no_operands() {
    let module = ptx_parse::parse(
        b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a; mov.b32.f64 a, a, a; }",
    )
    .module;
    let facts = ModuleFacts::new(&module);
    let (id, _, body) = module.definitions().next().unwrap();
    let inst = facts
        .function(id)
        .unwrap()
        .inst(ptx_ir::InstId::from_index(0));
    assert!(body.inst_table().len() == 1 && !inst.is_known());
    assert_eq!(inst.operands().count(), 0);
    assert_eq!((inst.operand(0), inst.source(0)), (None, None));
}
