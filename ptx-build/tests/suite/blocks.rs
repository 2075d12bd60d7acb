//! Blocks that are filled in any order, and copies that happen at once.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ptx_build::{BuildError, BuildErrorKind, ModuleBuilder, OperandExpr};
use ptx_isa::{PtxVersion, ScalarType as T, Target};

fn module() -> ModuleBuilder {
    ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80)
}

#[test]
fn text_has_the_order_of_creation() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let i = k.reg(T::B32);
    let (head, body, exit) = (k.create_block(), k.create_block(), k.create_block());
    let unused = k.create_block();
    k.switch_to(exit).unwrap();
    k.ret().emit(()).unwrap();
    k.switch_to(body).unwrap();
    // Declared while a later block is current, used in an earlier one.
    let late = k.named_reg(T::B32, "late").unwrap();
    k.add().s32((i, i, late)).unwrap();
    k.bra().emit(head).unwrap();
    k.switch_to(head).unwrap();
    let p = k.reg(T::Pred);
    k.setp().ge().s32((p, i, late)).unwrap();
    k.switch_to_entry().unwrap();
    k.mov().b32((i, 0)).unwrap();
    k.switch_to(head).unwrap();
    k.guard(p).bra().emit(exit).unwrap();
    k.switch_to_entry().unwrap();
    k.mov().b32((late, 1)).unwrap();
    assert_eq!(k.name_of_label(unused), "$L_4");
    k.finish().unwrap();
    let module = m.finish().unwrap();
    let text = crate::common::printed(&module);
    let expected = "{
\t.reg .b32 %r<2>;
\t.reg .pred %p<2>;
\t.reg .b32 late;
\tmov.b32 %r1, 0;
\tmov.b32 late, 1;
$L_1:
\tsetp.ge.s32 %p1, %r1, late;
\t@%p1 bra $L_3;
$L_2:
\tadd.s32 %r1, %r1, late;
\tbra $L_1;
$L_3:
\tret;
}
";
    assert!(text.ends_with(expected), "{text}");
}

#[test]
fn tables_precede_the_blocks_that_use_them() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let i = k.reg(T::B32);
    let (dispatch, zero, one) = (k.create_block(), k.create_block(), k.create_block());
    k.switch_to(one).unwrap();
    let table = k.branch_targets(&[zero, one]).unwrap();
    k.ret().emit(()).unwrap();
    k.switch_to(zero).unwrap();
    k.ret().emit(()).unwrap();
    k.switch_to(dispatch).unwrap();
    k.brx().idx().emit((i, table)).unwrap();
    k.finish().unwrap();
    m.finish().unwrap();
}

#[test]
fn blocks_that_cannot_be_selected() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let (label, block) = (k.label(), k.create_block());
    let error = k.switch_to(label).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Argument, "{error}");
    k.open();
    let error = k.switch_to(block).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Scope, "{error}");
    let error = k.switch_to_entry().unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Scope, "{error}");
    k.close().unwrap();
    k.bra().emit(block).unwrap();
    let error = k.finish().unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Unplaced, "{error}");
    let mut k = m.kernel("other").unwrap();
    let error = k.switch_to(block).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Foreign, "{error}");
}

/// What the moves of a text do to the numbered registers.
fn run(text: &str, values: &mut Vec<i64>) {
    let moves = text
        .lines()
        .filter_map(|l| l.trim().strip_prefix("mov.b32 "));
    for line in moves {
        let (to, from) = line.trim_end_matches(';').split_once(", ").unwrap();
        let number = |name: &str| name.strip_prefix("%r").map(|n| n.parse::<usize>().unwrap());
        let value = match number(from) {
            Some(register) => values[register],
            None => from.parse().unwrap(),
        };
        let to = number(to).unwrap();
        if values.len() <= to {
            values.resize(to + 1, -1);
        }
        values[to] = value;
    }
}

proptest::proptest! {
    #[test]
    fn parallel_copies_read_before_they_write(sources in proptest::collection::vec(0usize..12, 1..12)) {
        let mut m = module();
        let mut k = m.kernel("k").unwrap();
        let registers: Vec<_> = (0..12).map(|_| k.reg(T::B32)).collect();
        let copies: Vec<_> = sources
            .iter()
            .enumerate()
            .map(|(to, from)| match from {
                11 => (registers[to], OperandExpr::Int(100)),
                from => (registers[to], registers[*from].into()),
            })
            .collect();
        k.parallel_copy(&copies).unwrap();
        k.finish().unwrap();
        let mut values: Vec<i64> = (0..13).collect();
        run(&m.text(), &mut values);
        for (to, from) in sources.iter().enumerate() {
            let expected = if *from == 11 { 100 } else { *from as i64 + 1 };
            assert_eq!(values[to + 1], expected, "{}", m.text());
        }
        m.finish().unwrap();
    }
}

#[test]
fn parallel_copies_of_each_type() {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 3), Target::Sm90);
    let mut k = m.kernel("k").unwrap();
    for ty in [
        T::Pred,
        T::B16,
        T::B32,
        T::B64,
        T::B128,
        T::F16,
        T::F16x2,
        T::F32,
        T::F64,
        T::S16,
        T::S32,
        T::U64,
    ] {
        let (a, b) = (k.reg(ty), k.reg(ty));
        k.parallel_copy(&[(a, b.into()), (b, a.into())])
            .unwrap_or_else(|e| panic!("{ty}: {e}"));
    }
    k.finish().unwrap();
    m.finish().unwrap();
}

#[test]
fn refused_parallel_copies_add_nothing() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let (a, b, wide) = (k.reg(T::B32), k.reg(T::B32), k.reg(T::B64));
    let twice = k.parallel_copy(&[(a, b.into()), (a, 1.into())]);
    assert_eq!(twice.unwrap_err().kind(), BuildErrorKind::Argument);
    let widths = k.parallel_copy(&[(a, b.into()), (b, wide.into())]);
    assert_eq!(widths.unwrap_err().kind(), BuildErrorKind::Illegal);
    k.finish().unwrap();
    assert!(!m.text().contains("mov"), "{}", m.text());
}

#[test]
fn functions_are_built_while_another_one_is() -> Result<(), BuildError> {
    let mut m = module();
    // More text than the bodies of one allocation have.
    for i in 0..200 {
        let mut outer = m.kernel(&format!("outer{i}"))?;
        let (a, b) = (outer.reg(T::B32), outer.reg(T::F32));
        outer.add().s32((a, a, i))?;
        let mut inner = outer.module().kernel(&format!("inner{i}"))?;
        let c = inner.reg(T::B64);
        inner.add().s64((c, c, i))?;
        match i % 3 {
            0 => inner.abandon(),
            _ => drop(inner.finish()?),
        }
        outer.add().rn().f32((b, b, b))?;
        outer.ret().emit(())?;
        match i % 5 {
            0 => drop(outer),
            _ => drop(outer.finish()?),
        }
    }
    crate::common::same_as_parsed(&m.finish()?);
    Ok(())
}

#[test]
fn leaked_function_is_reported() -> Result<(), BuildError> {
    let mut m = module();
    std::mem::forget(m.kernel("k")?);
    let error = m.finish().unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Unfinished);
    Ok(())
}
