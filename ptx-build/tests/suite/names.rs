//! Names, scopes and guards where they could come to mean something else than what was said: found by random calls, kept here.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common::check;
use ptx_build::{
    Argument, BuildErrorKind, Declaration, FunctionHeader, Init, ModuleBuilder, at, select,
};
use ptx_ir::FunctionKind;
use ptx_isa::{Component, PtxVersion, ScalarType as T, SpecialReg, StateSpace as S, Target};

fn module() -> ModuleBuilder {
    ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80)
}

fn param(name: &str) -> Declaration {
    Declaration::new(S::Param, T::B32, name)
}

#[test]
fn a_guard_is_for_one_statement_alone() {
    let mut m = module();
    let f = m
        .declare_func("f", Some(ptx_ir::Linkage::Extern), &[], &[])
        .unwrap();
    let mut k = m.kernel("k").unwrap();
    let p = k.reg(T::Pred);
    // What is refused takes its guard along.
    assert!(k.guard(p).inst("no mnemonic", ()).is_err());
    k.ret().emit(()).unwrap();
    assert!(
        k.guard(p)
            .call_function(f, &[], &[Argument::from(1)])
            .is_err()
    );
    assert!(k.guard(p).asm("}", &[]).is_err());
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    assert!(
        m.text()
            .contains("{\n\t.reg .pred %p<2>;\n\tret;\n\tret;\n}\n"),
        "{}",
        m.text()
    );
    let mut k = m.kernel("dangling").unwrap();
    let p = k.reg(T::Pred);
    k.guard(p);
    let error = k.finish().unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Unfinished);
    assert_eq!(
        error.message(),
        "no statement follows the guard `%p1` in `dangling`"
    );
}

#[test]
fn a_label_is_placed_where_it_is_reached() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let (outer, inner) = (k.label(), k.label());
    k.bra().emit(outer).unwrap();
    k.open();
    let error = k.place(outer).unwrap_err();
    assert_eq!(
        (error.kind(), error.code().to_string().as_str()),
        (BuildErrorKind::Scope, "PTX0204")
    );
    k.bra().emit(outer).unwrap();
    k.place(inner).unwrap();
    // Its name is taken in that scope, and only there.
    assert_eq!(
        k.named_reg(T::B32, "$L_2").unwrap_err().kind(),
        BuildErrorKind::Duplicate
    );
    k.bra().emit(inner).unwrap();
    k.close().unwrap();
    let error = k.bra().emit(inner).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Foreign);
    // One with a name stays in the scope that it was named in.
    let named = k.named_label("named").unwrap();
    k.open();
    assert_eq!(k.place(named).unwrap_err().kind(), BuildErrorKind::Scope);
    k.close().unwrap();
    k.place(named).unwrap();
    k.place(outer).unwrap();
    // A statement that was refused needs no label.
    let unused = k.label();
    assert!(k.add().s32((unused, unused, 1)).is_err());
    // A label that is branched to is not a table.
    let place = k.label();
    k.bra().emit(place).unwrap();
    assert_eq!(
        k.place_branch_targets(place, &[named]).unwrap_err().kind(),
        BuildErrorKind::Argument
    );
    k.place(place).unwrap();
    // And a table no place to jump to.
    let table = k.branch_targets(&[place]).unwrap();
    assert_eq!(
        k.branch_targets(&[table]).unwrap_err().kind(),
        BuildErrorKind::Argument
    );
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    check(m);
}

#[test]
fn names_of_the_module_that_a_function_hides() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let (r, jump) = (k.reg(T::B32), k.named_label("jump").unwrap());
    let global = |name: &str| Declaration::new(S::Global, T::B32, name);
    // Declared now, and hidden by registers that are there already.
    let same = k.module().declare(global("%r1")).unwrap();
    let other = k.module().declare(global("%r2")).unwrap();
    for hidden in [same, other] {
        let error = k.ld().global().b32((r, at(hidden))).unwrap_err();
        assert_eq!(error.kind(), BuildErrorKind::Foreign, "{error}");
        let address = Declaration::new(S::Shared, T::U64, "s").init(Init::Address(hidden, 0));
        assert_eq!(
            k.declare(address).unwrap_err().kind(),
            BuildErrorKind::Foreign
        );
    }
    // A label that is placed later: until then its name means the variable.
    k.module().declare(global("jump")).unwrap();
    assert_eq!(
        k.bra().emit(jump).unwrap_err().kind(),
        BuildErrorKind::Duplicate
    );
    k.place(jump).unwrap();
    k.bra().emit(jump).unwrap();
    // A special register hidden by a register of the same name.
    k.mov()
        .u32((r, select(SpecialReg::Tid, Component::X)))
        .unwrap();
    k.named_reg(T::B32, "%tid").unwrap();
    assert_eq!(
        k.mov()
            .u32((r, select(SpecialReg::Tid, Component::X)))
            .unwrap_err()
            .kind(),
        BuildErrorKind::Foreign
    );
    // A parameter does not hide what was mentioned before.
    assert_eq!(
        k.param(T::B32, "jump").unwrap_err().kind(),
        BuildErrorKind::Duplicate
    );
    k.finish().unwrap();
    let reserved = m.declare(global("%laneid")).unwrap_err();
    assert_eq!(reserved.code().to_string(), "PTX0205");
    assert_eq!(
        m.kernel("WARP_SZ").unwrap_err().code().to_string(),
        "PTX0205"
    );
    m.item(".global .b32 written;").unwrap();
    assert_eq!(
        m.declare(global("written")).unwrap_err().kind(),
        BuildErrorKind::Duplicate
    );
    assert_eq!(
        m.item(".global .b32 written;").unwrap_err().kind(),
        BuildErrorKind::Duplicate
    );
    m.finish().unwrap();
}

#[test]
fn fresh_names_make_way() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    k.registers(&Declaration::new(S::Reg, T::B64, "%r").range(4))
        .unwrap();
    let fresh = k.reg(T::B32);
    assert_eq!(k.name_of(fresh), "%r_1");
    k.mov().b32((fresh, 1)).unwrap();
    // `x10` is member 10 of `x`, never member 0 of `x1`.
    let digits = k
        .registers(&Declaration::new(S::Reg, T::B32, "x1").range(4))
        .unwrap();
    assert_eq!(
        k.member(digits[0], 0).unwrap_err().code().to_string(),
        "PTX0206"
    );
    assert_eq!(
        k.reg_range(T::B32, "y1", 4).unwrap_err().kind(),
        BuildErrorKind::Argument
    );
    let shared = Declaration::new(S::Shared, T::B32, "z1").range(4);
    assert_eq!(
        k.declare(shared).unwrap_err().kind(),
        BuildErrorKind::Argument
    );
    let array = Declaration::new(S::Shared, T::B32, "z").range(4).array([2]);
    assert_eq!(
        k.declare(array).unwrap_err().kind(),
        BuildErrorKind::Argument
    );
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    check(m);
}

#[test]
fn interfaces_that_are_known() {
    let mut m = module();
    let mut f = m.func("f").unwrap();
    let own = f.handle();
    f.call().emit(own).unwrap();
    // Who calls it knows no parameters.
    let error = f.param(T::B32, "late").unwrap_err();
    assert_eq!(
        error.message(),
        "`f` is mentioned already with the interface that it had"
    );
    // Declared inside of it, and known there alone until it is finished.
    f.open();
    let result = FunctionHeader::new()
        .linkage(ptx_ir::Linkage::Extern)
        .result(param("r"));
    let inner = f
        .declare_function(FunctionKind::Func, "inner", result)
        .unwrap();
    f.close().unwrap();
    let r = f.reg(T::B32);
    assert_eq!(
        f.call_function(inner, &[r.into()], &[]).unwrap_err().kind(),
        BuildErrorKind::Unplaced
    );
    f.ret().emit(()).unwrap();
    f.finish().unwrap();
    let mut k = m.kernel("k").unwrap();
    let r = k.reg(T::B32);
    k.call_function(inner, &[r.into()], &[]).unwrap();
    // Begun inside of another one, and written before it.
    let outer = k.handle();
    let mut g = k.module().func("g").unwrap();
    let address = g.reg(T::B64);
    let error = g.mov().u64((address, outer)).unwrap_err();
    assert_eq!(
        (error.kind(), error.code().to_string().as_str()),
        (BuildErrorKind::Unplaced, "PTX0203")
    );
    g.ret().emit(()).unwrap();
    let g = g.finish().unwrap();
    k.call_function(g, &[], &[]).unwrap();
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    // Another kind, other parameters.
    let mut declare = |kind, of| {
        m.declare_function(kind, "g", of)
            .map(drop)
            .unwrap_err()
            .kind()
    };
    assert_eq!(
        declare(FunctionKind::Entry, FunctionHeader::new()),
        BuildErrorKind::Duplicate
    );
    assert_eq!(
        declare(FunctionKind::Func, FunctionHeader::new().param(param("p"))),
        BuildErrorKind::Illegal
    );
    check(m);
}

#[test]
fn a_header_is_set_once() {
    let mut m = module();
    let mut f = m.func("f").unwrap();
    // Refused as a whole: neither name is taken.
    let twice = FunctionHeader::new().param(param("a")).param(param("a"));
    assert!(f.set_interface(twice).is_err());
    f.named_reg(T::B32, "taken").unwrap();
    // ptxas would take the local variable for it.
    f.open();
    f.declare(param("inside")).unwrap();
    f.close().unwrap();
    assert_eq!(
        f.param(T::B32, "inside").unwrap_err().kind(),
        BuildErrorKind::Duplicate
    );
    let taken = FunctionHeader::new()
        .param(param("a"))
        .param(param("taken"));
    assert_eq!(
        f.set_interface(taken).unwrap_err().kind(),
        BuildErrorKind::Duplicate
    );
    f.param(T::B32, "a").unwrap();
    let more = FunctionHeader::new().param(param("b"));
    assert_eq!(
        f.set_interface(more).unwrap_err().kind(),
        BuildErrorKind::Argument
    );
    // A parameter belongs to the whole function, wherever it is added.
    f.open();
    f.param(T::B32, "c").unwrap();
    f.close().unwrap();
    assert_eq!(
        f.named_reg(T::B32, "c").unwrap_err().kind(),
        BuildErrorKind::Duplicate
    );
    assert!(f.add_param(Declaration::new(S::Reg, T::B32, "r")).is_err());
    assert!(
        f.add_param(param("l").linkage(ptx_ir::Linkage::Visible))
            .is_err()
    );
    f.ret().emit(()).unwrap();
    f.finish().unwrap();
    check(m);
}
