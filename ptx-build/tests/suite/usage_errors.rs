//! Errors of the builder, which change nothing.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use ptx_build::{
    Argument, BuildError, BuildErrorKind, Declaration, Init, ModuleBuilder, OperandExpr, at,
};
use ptx_isa::{Directive, PtxVersion, ScalarType as T, StateSpace, Target};

fn module() -> ModuleBuilder {
    ModuleBuilder::new(PtxVersion::new(7, 0), Target::Sm80)
}

fn is(error: BuildError, kind: BuildErrorKind, text: &str) {
    assert_eq!(error.kind(), kind, "{error}");
    assert_eq!(error.message(), text);
    // The code, and what to do instead.
    let (code, help) = (error.code(), error.help().unwrap());
    assert_eq!(error.to_string(), format!("{text} ({code}); {help}"));
}

#[test]
fn a_register_of_the_wrong_type() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let (a, h) = (k.reg(T::B32), k.reg(T::B16));
    for _ in 0..2 {
        let error = k.add().s32((a, a, h)).unwrap_err();
        assert_eq!(error.kind(), BuildErrorKind::Illegal);
        assert_eq!(error.text(), "add.s32 %r1, %r1, %rs1;");
        assert_eq!(error.diagnostics().len(), 1);
        let span = error.diagnostics()[0].span;
        assert_eq!(span.of(error.text().as_bytes()), b"%rs1");
        assert_eq!(error.diagnostics()[0].code.to_string(), "PTX0506");
    }
    k.add().s32((a, a, a)).unwrap();
    k.finish().unwrap();
    let module = m.finish().unwrap();
    assert_eq!(module.definitions().next().unwrap().2.inst_table().len(), 1);
}

#[test]
fn the_wrong_target_and_the_wrong_version() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let r = k.reg(T::B32);
    let error = k
        .elect()
        .sync()
        .emit((ptx_build::pair(r, !r), -1))
        .unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Illegal);
    let p = k.reg(T::Pred);
    let error = k
        .elect()
        .sync()
        .emit((ptx_build::pair(r, p), -1))
        .unwrap_err();
    assert_eq!(
        error.diagnostics()[0].code.to_string(),
        "PTX0513",
        "{error}"
    );
    assert!(error.to_string().contains("sm_90"), "{error}");
}

#[test]
fn modifiers_that_cannot_be_combined() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let f = k.reg(T::F32);
    let error = k.add().rn().global().f32((f, f, f)).unwrap_err();
    assert_eq!(
        error.diagnostics()[0].code.to_string(),
        "PTX0502",
        "{error}"
    );
    let error = k.inst("nonsense.f32", (f, f)).unwrap_err();
    assert_eq!(
        error.diagnostics()[0].code.to_string(),
        "PTX0104",
        "{error}"
    );
    is(
        k.inst("add f32", (f, f)).unwrap_err(),
        BuildErrorKind::Spelling,
        "invalid mnemonic `add f32`",
    );
    let deep = (0..20).fold(OperandExpr::Reg(f), |o, _| OperandExpr::Vector(vec![o]));
    assert_eq!(
        k.mov().emit((f, deep)).unwrap_err().kind(),
        BuildErrorKind::Argument
    );
}

#[test]
fn what_belongs_elsewhere() {
    let mut m = module();
    let mut k = m.kernel("first").unwrap();
    let (r, l) = (k.reg(T::B32), k.label());
    let p = k.param(T::B32, "p").unwrap();
    k.finish().unwrap();
    let mut k = m.kernel("second").unwrap();
    let own = k.reg(T::B32);
    let text =
        |what| format!("the {what} of `first` is used in `second`, where it does not belong");
    is(
        k.mov().b32((own, r)).unwrap_err(),
        BuildErrorKind::Foreign,
        &text("register `%r1`"),
    );
    is(
        k.ld().param().b32((own, at(p))).unwrap_err(),
        BuildErrorKind::Foreign,
        &text("variable `p`"),
    );
    is(
        k.bra().emit(l).unwrap_err(),
        BuildErrorKind::Foreign,
        &text("label `$L_1`"),
    );
    is(
        k.place(l).unwrap_err(),
        BuildErrorKind::Foreign,
        &text("label `$L_1`"),
    );
    // A guard is a register too.
    is(
        k.guard(r).mov().b32((own, own)).unwrap_err(),
        BuildErrorKind::Foreign,
        &text("register `%r1`"),
    );
    // Of another module: its registers, labels, variables and functions, those of the module itself included.
    let mut other = module();
    let global = Declaration::new(StateSpace::Global, T::B32, "global");
    let global = other.declare(global).unwrap();
    let mut f = other.func("f").unwrap();
    let (far, label) = (f.reg(T::B32), f.label());
    let param = f.param(T::B32, "p").unwrap();
    let f = f.finish().unwrap();
    let text =
        |what| format!("a {what} of another module is used in `second`, where it does not belong");
    is(
        k.mov().b32((own, far)).unwrap_err(),
        BuildErrorKind::Foreign,
        &text("register"),
    );
    is(
        k.guard(far).mov().b32((own, own)).unwrap_err(),
        BuildErrorKind::Foreign,
        &text("register"),
    );
    is(
        k.bra().emit(label).unwrap_err(),
        BuildErrorKind::Foreign,
        &text("label"),
    );
    for var in [param, global] {
        is(
            k.ld().b32((own, at(var))).unwrap_err(),
            BuildErrorKind::Foreign,
            &text("variable"),
        );
    }
    for error in [
        k.call_function(f, &[], &[]).unwrap_err(),
        k.call().emit(f).unwrap_err(),
    ] {
        is(error, BuildErrorKind::Foreign, &text("function"));
    }
    k.finish().unwrap();
    m.finish().unwrap();
}

#[test]
fn labels_and_names() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let l = k.block().unwrap();
    is(
        k.place(l).unwrap_err(),
        BuildErrorKind::Duplicate,
        "the label `$L_1` is placed already",
    );
    k.named_reg(T::B32, "x").unwrap();
    is(
        k.named_reg(T::F32, "x").unwrap_err(),
        BuildErrorKind::Duplicate,
        "`k` has a `x` already",
    );
    is(
        k.named_label("a b").unwrap_err(),
        BuildErrorKind::Spelling,
        "invalid name `a b`",
    );
    is(
        k.named_label("$L_1").unwrap_err(),
        BuildErrorKind::Duplicate,
        "`k` has a `$L_1` already",
    );
    k.reg(T::B32);
    is(
        k.named_reg(T::B32, "%r7").unwrap_err(),
        BuildErrorKind::Duplicate,
        "`k` has a `%r7` already",
    );
    let missing = k.label();
    k.bra().emit(missing).unwrap();
    is(
        k.finish().unwrap_err(),
        BuildErrorKind::Unplaced,
        "the label `$L_2` is used in `k` but not placed",
    );
    m.kernel("k").unwrap().finish().unwrap();
    is(
        m.kernel("k").unwrap_err(),
        BuildErrorKind::Duplicate,
        "the module has a `k` already",
    );
    m.finish().unwrap();
}

#[test]
fn scopes_and_ends() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    is(
        k.close().unwrap_err(),
        BuildErrorKind::Scope,
        "no scope of `k` is open",
    );
    k.open();
    let inner = k.named_reg(T::B32, "inner").unwrap();
    k.mov().b32((inner, 1)).unwrap();
    k.close().unwrap();
    assert_eq!(
        k.mov().b32((inner, 1)).unwrap_err().kind(),
        BuildErrorKind::Foreign
    );
    let _ = k.add().rn();
    is(
        k.finish().unwrap_err(),
        BuildErrorKind::Unfinished,
        "`add.rn` was begun and not ended",
    );
}

#[test]
fn a_shadowed_register_is_not_taken_for_another() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let outer = k.named_reg(T::B32, "x").unwrap();
    k.open();
    let inner = k.named_reg(T::F32, "x").unwrap();
    assert_eq!(
        k.mov().b32((outer, 1)).unwrap_err().kind(),
        BuildErrorKind::Foreign
    );
    k.mov().f32((inner, 1.0f32)).unwrap();
    k.close().unwrap();
    k.mov().b32((outer, 1)).unwrap();
    k.finish().unwrap();
    m.finish().unwrap();
}

#[test]
fn declarations_and_calls() {
    let mut m = module();
    let error = m
        .declare(Declaration::new(StateSpace::Local, T::B32, "x"))
        .unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Illegal, "{error}");
    let text = Declaration::new(StateSpace::Global, T::F32, "x").init(Init::Constant("a;".into()));
    is(
        m.declare(text).unwrap_err(),
        BuildErrorKind::Spelling,
        "invalid constant `a;`",
    );
    m.declare(Declaration::new(StateSpace::Global, T::F32, "x"))
        .unwrap();
    let twice = m.declare(Declaration::new(StateSpace::Global, T::F32, "x"));
    is(
        twice.unwrap_err(),
        BuildErrorKind::Duplicate,
        "the module has a `x` already",
    );
    let mut f = m.func("f").unwrap();
    f.param(T::B32, "p").unwrap();
    let f = f.finish().unwrap();
    let mut k = m.kernel("k").unwrap();
    let r = k.reg(T::Pred);
    is(
        k.call_function(f, &[], &[]).unwrap_err(),
        BuildErrorKind::Argument,
        "0 arguments for the 1 of `f`",
    );
    let error = k.call_function(f, &[], &[Argument::from(r)]).unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Illegal, "{error}");
    // Nothing of it remains, not even the label after a guarded call.
    let error = k
        .guard(r)
        .call_function(f, &[], &[Argument::from(r)])
        .unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Illegal, "{error}");
    // The header is checked when the function is finished.
    k.directive(Directive::Maxntid, &[0]);
    let error = k.finish().unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Illegal, "{error}");
    assert!(
        error.text().contains(".entry k()\n.maxntid 0\n{"),
        "{error}"
    );
    // The module is as if the kernel had never been begun.
    assert!(m.kernel("k").is_ok());
    assert_eq!(m.finish().unwrap().definitions().count(), 1);
}

#[test]
fn fragments() {
    let mut m = module();
    let mut k = m.kernel("k").unwrap();
    let (r, f) = (k.reg(T::B32), k.reg(T::F32));
    let error = k
        .asm("add.s32 {d}, {a}, 1;", &[("d", r.into()), ("a", f.into())])
        .unwrap_err();
    let (text, found) = (error.text(), &error.diagnostics()[0]);
    assert_eq!(text, "add.s32 {d}, {a}, 1;");
    assert_eq!(found.span.of(text.as_bytes()), b"{a}");
    assert!(found.message.contains("`{a}`"), "{error}");
    // A label at a place outside the text is omitted.
    let error = k.asm(".reg .b32 {a};", &[("a", r.into())]).unwrap_err();
    assert_eq!(error.code().to_string(), "PTX0202");
    assert_eq!(error.diagnostics()[0].labels, []);
    is(
        k.asm("}", &[]).unwrap_err(),
        BuildErrorKind::Scope,
        "the braces of the fragment do not match",
    );
    let error = k
        .asm("add.s32 {d}, {unknown}, 1;", &[("d", r.into())])
        .unwrap_err();
    assert_eq!(error.kind(), BuildErrorKind::Illegal);
    k.finish().unwrap();
    assert!(
        m.finish()
            .unwrap()
            .definitions()
            .next()
            .unwrap()
            .2
            .inst_table()
            .is_empty()
    );
}

/// A function that was declared has its parameters and results already; the error names their handles.
#[test]
fn a_part_of_a_declared_function_is_added_again() {
    let mut m = module();
    let part = |space, name| Declaration::new(space, T::B32, name);
    let results = [part(StateSpace::Param, "r")];
    let params = [part(StateSpace::Param, "x"), part(StateSpace::Param, "y")];
    let f = m.declare_func("f", None, &results, &params).unwrap();
    let g = m
        .declare_func("g", None, &[], &[part(StateSpace::Reg, "a")])
        .unwrap();
    let help = |error: &BuildError| error.help().unwrap_or_default().to_owned();
    let mut b = m.define(f).unwrap();
    let error = b.result(part(StateSpace::Param, "r")).unwrap_err();
    assert_eq!(help(&error), "use `result_variable(0)`");
    let text = "`f` is declared with 1 result: `r` cannot be added";
    is(error, BuildErrorKind::Argument, text);
    let error = b.param(T::B32, "y").unwrap_err();
    assert_eq!(help(&error), "use `param_variable(1)`");
    let text = "`f` is declared with 2 parameters: `y` cannot be added";
    is(error, BuildErrorKind::Argument, text);
    assert!(b.result_variable(0).is_some());
    b.ret().emit(()).unwrap();
    b.finish().unwrap();
    let mut b = m.define(g).unwrap();
    let error = b.add_register_param(T::B32, "a").unwrap_err();
    assert_eq!(help(&error), "use `param_register(0)`");
    let error = b.result(part(StateSpace::Param, "r")).unwrap_err();
    assert_eq!(help(&error), "declare the function with this result");
    let text = "`g` is declared with 0 results: `r` cannot be added";
    is(error, BuildErrorKind::Argument, text);
    b.ret().emit(()).unwrap();
    b.finish().unwrap();
    m.finish().unwrap();
}
