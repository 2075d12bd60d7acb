//! A function that is refused, abandoned or dropped leaves its module as it was.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ptx_build::{BuildErrorKind, Declaration, ModuleBuilder, at};
use ptx_ir::{FunctionKind, Linkage};
use ptx_isa::{PtxVersion, ScalarType as T, StateSpace, Target};

use crate::common::printed;

fn module() -> ModuleBuilder {
    ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80)
}

#[test]
fn refused_kernel_can_be_built_again() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let label = k.label();
    k.bra().emit(label).unwrap();
    let error = k.finish().unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Unplaced);
    let mut k = m.kernel("k").unwrap();
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    let module = m.finish().unwrap();
    assert_eq!(module.definitions().count(), 1);
    assert!(!printed(&module).contains("bra"));
}

#[test]
fn abandoned_and_dropped_functions_leave_nothing() {
    let mut m = module();
    let before = m.text();
    m.kernel("k").unwrap().abandon();
    drop(m.kernel("k").unwrap());
    let mut f = m.func("k").unwrap();
    f.param(T::B32, "x").unwrap();
    f.declare_function(FunctionKind::Func, "inner", Default::default())
        .unwrap();
    f.loc(7, 1, 1);
    f.abandon();
    assert_eq!(m.text(), before);
    assert_eq!(m.declare_func("inner", None, &[], &[]).map(drop), Ok(()));
    let mut k = m.kernel("k").unwrap();
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    m.finish().unwrap();
}

#[test]
fn handle_of_a_abandoned_function_is_refused() {
    let mut m = module();
    let f = m.func("f").unwrap();
    let handle = f.handle();
    f.abandon();
    let mut k = m.kernel("k").unwrap();
    let error = k.call_function(handle, &[], &[]).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Foreign, "{error}");
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    m.finish().unwrap();
}

#[test]
fn declared_function_that_is_refused_can_be_defined_again() {
    let mut m = module();
    let x = Declaration::new(StateSpace::Param, T::B32, "x");
    let f = m.declare_func("f", None, &[], &[x]).unwrap();
    let mut b = m.define(f).unwrap();
    let label = b.label();
    b.bra().emit(label).unwrap();
    assert!(b.finish().is_err());
    m.define(f).unwrap().abandon();
    let mut b = m.define(f).unwrap();
    assert!(b.param_variable(0).is_some());
    b.ret().emit(()).unwrap();
    b.finish().unwrap();
    m.finish().unwrap();
}

#[test]
fn registers_that_no_statement_mentions_are_not_declared() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let wide = k.reg(T::B128);
    let (a, b) = (k.reg(T::B64), k.reg(T::B64));
    // `.b128` registers require PTX 8.3.
    assert!(k.mov().b128((wide, [a, b])).is_err());
    k.mov().b64((a, b)).unwrap();
    k.ret().emit(()).unwrap();
    k.finish().unwrap();
    let module = m.finish().unwrap();
    assert!(!printed(&module).contains(".b128"), "{}", printed(&module));
    assert!(printed(&module).contains(".reg .b64 %rd<3>;"));
}

#[test]
fn definition_has_the_parameters_that_were_declared() {
    let mut m = module();
    let r = Declaration::new(StateSpace::Param, T::B32, "r");
    let x = Declaration::new(StateSpace::Param, T::B32, "x");
    let y = Declaration::new(StateSpace::Reg, T::B32, "y");
    let f = m
        .declare_func("f", Some(Linkage::Visible), &[r], &[x, y])
        .unwrap();
    let mut b = m.define(f).unwrap();
    let result = b.result_variable(0).unwrap();
    let x = b.param_variable(0).unwrap();
    let y = b.param_register(1).unwrap();
    assert_eq!(b.param_variable(1), None);
    assert_eq!(b.param_register(0), None);
    assert_eq!(b.param_variable(2), None);
    let sum = b.reg(T::B32);
    b.ld().param().b32((sum, at(x))).unwrap();
    b.add().s32((sum, sum, y)).unwrap();
    b.st().param().b32((at(result), sum)).unwrap();
    b.ret().emit(()).unwrap();
    b.finish().unwrap();
    let module = m.finish().unwrap();
    assert!(
        printed(&module)
            .contains(".visible .func (.param .b32 r) f(\n\t.param .b32 x,\n\t.reg .b32 y\n)\n{")
    );
}
