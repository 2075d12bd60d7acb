//! Kernels from end to end: built, printed, read again, and checked by NVIDIA's assembler where `PTXAS` names it.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common::check;
use ptx_build::{
    Argument, BuildError, Declaration, FunctionHeader, Init, ModuleBuilder, at, select,
};
use ptx_isa::{
    Component, Directive, PtxVersion, ScalarType as T, SpecialReg, StateSpace as S, Target,
};

#[test]
fn saxpy() -> Result<(), BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    m.file(1, "saxpy.cu")?;
    let mut k = m.kernel("saxpy")?;
    k.linkage(ptx_ir::Linkage::Visible)
        .directive(Directive::Maxntid, &[256]);
    let n = k.param(T::U32, "n")?;
    let a = k.param(T::F32, "a")?;
    let x =
        k.add_param(Declaration::new(S::Param, T::U64, "x").pointer(Some(S::Global), Some(4)))?;
    let y = k.param(T::U64, "y")?;
    let (rn, i, block, size, thread) = (
        k.reg(T::B32),
        k.reg(T::B32),
        k.reg(T::B32),
        k.reg(T::B32),
        k.reg(T::B32),
    );
    let (px, py, offset) = (k.reg(T::B64), k.reg(T::B64), k.reg(T::B64));
    let (fa, fx, fy) = (k.reg(T::F32), k.reg(T::F32), k.reg(T::F32));
    let (outside, end) = (k.reg(T::Pred), k.label());
    k.loc(1, 3, 5);
    k.comment("which element");
    k.ld().param().u32((rn, at(n)))?;
    k.mov()
        .u32((block, select(SpecialReg::Ctaid, Component::X)))?;
    k.mov()
        .u32((size, select(SpecialReg::Ntid, Component::X)))?;
    k.mov()
        .u32((thread, select(SpecialReg::Tid, Component::X)))?;
    k.mad().lo().s32((i, block, size, thread))?;
    k.setp().ge().u32((outside, i, rn))?;
    k.guard(outside).bra().emit(end)?;
    k.ld().param().f32((fa, at(a)))?;
    k.ld().param().u64((px, at(x)))?;
    k.ld().param().u64((py, at(y)))?;
    k.mul().wide().u32((offset, i, 4))?;
    k.add().s64((px, px, offset))?;
    k.add().s64((py, py, offset))?;
    k.ld().global().nc().f32((fx, at(px)))?;
    k.ld().global().f32((fy, at(py)))?;
    k.fma().rn().f32((fy, fa, fx, fy))?;
    k.st().global().f32((at(py), fy))?;
    k.place(end)?;
    k.ret().emit(())?;
    k.finish()?;
    let text = check(m);
    assert!(
        text.contains("\tmad.lo.s32 %r2, %r3, %r4, %r5;\n"),
        "{text}"
    );
    assert!(text.contains("\t// which element\n"), "{text}");
    Ok(())
}

#[test]
fn shared_memory_and_a_barrier() -> Result<(), BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm90);
    let table = Init::List((0..20).map(Init::Int).collect());
    let table = m.declare(
        Declaration::new(S::Const, T::S32, "table")
            .array([20])
            .init(table),
    )?;
    m.declare(Declaration::new(S::Global, T::U64, "where").init(Init::Generic(table, 4)))?;
    let mut k = m.kernel("reverse")?;
    let p = k.param(T::U64, "p")?;
    let tile = k.declare(
        Declaration::new(S::Shared, T::B32, "tile")
            .align(16)
            .array([64]),
    )?;
    let (tid, base, back, v) = (k.reg(T::B32), k.reg(T::B32), k.reg(T::B32), k.reg(T::B32));
    let to = k.reg(T::B64);
    k.ld().param().u64((to, at(p)))?;
    k.mov().u32((tid, select(SpecialReg::Tid, Component::X)))?;
    k.mov().u32((base, tile))?;
    k.open();
    let scaled = k.named_reg(T::B32, "scaled")?;
    k.shl().b32((scaled, tid, 2))?;
    k.add().s32((base, base, scaled))?;
    k.close()?;
    k.st().shared().u32((at(base), tid))?;
    k.bar().sync().emit(0)?;
    k.ld().shared().b32((back, tile + 4))?;
    k.ld().const_().s32((v, table + 8))?;
    k.add().s32((v, v, back))?;
    k.st().global().u32((at(to), v))?;
    k.ret().emit(())?;
    k.finish()?;
    check(m);
    Ok(())
}

#[test]
fn calls() -> Result<(), BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    let scalar = |name: &str| Declaration::new(S::Param, T::B32, name);
    let bytes = |name: &str| Declaration::new(S::Param, T::B8, name).align(8);
    let mut f = m.func("twice")?;
    let r = f.result(scalar("r"))?;
    let x = f.param(T::B32, "x")?;
    let v = f.reg(T::B32);
    f.ld().param().b32((v, at(x)))?;
    f.add().s32((v, v, v))?;
    f.st().param().b32((at(r), v))?;
    f.ret().emit(())?;
    let twice = f.finish()?;
    let sum = m.declare_func(
        "sum",
        Some(ptx_ir::Linkage::Extern),
        &[scalar("r")],
        &[scalar("n"), bytes("rest").unsized_array()],
    )?;
    let take = m.declare_func(
        "take",
        Some(ptx_ir::Linkage::Extern),
        &[bytes("r").array([16])],
        &[bytes("p").array([16])],
    )?;
    let mut k = m.kernel("k")?;
    let (a, b, p) = (k.reg(T::B32), k.reg(T::B32), k.reg(T::Pred));
    let (d, target) = (k.reg(T::B64), k.reg(T::B64));
    k.mov().b32((a, 21))?;
    k.setp().eq().s32((p, a, 21))?;
    k.call_function(twice, &[b.into()], &[a.into()])?;
    k.guard(p).call_function(twice, &[b.into()], &[a.into()])?;
    k.mov().b64((d, 7))?;
    let rest = Argument::Variadic(vec![(T::B32, a.into()), (T::B64, d.into())]);
    k.call_function(sum, &[b.into()], &[2.into(), rest])?;
    let parts = |first, second| Argument::Parts(vec![(0, T::B64, first), (8, T::B32, second)]);
    k.call_function(
        take,
        &[parts(d.into(), a.into())],
        &[parts(d.into(), 5.into())],
    )?;
    k.mov().u64((target, twice))?;
    let targets = k.call_targets(&[twice])?;
    let shape = FunctionHeader::new().result(scalar("_")).param(scalar("_"));
    k.call_indirect(target, targets, &shape, &[b.into()], &[a.into()])?;
    let prototype = k.call_prototype(&[scalar("_")], &[scalar("_")])?;
    k.call_indirect(target, prototype, &shape, &[b.into()], &[a.into()])?;
    k.ret().emit(())?;
    k.finish()?;
    let text = check(m);
    // A 64-bit value follows a 32-bit value, aligned.
    assert!(
        text.contains("[16];\n") && text.contains("+8], %rd1;\n"),
        "{text}"
    );
    let calls = text.lines().filter(|l| l.trim().starts_with("call "));
    assert_eq!(calls.count(), 6, "{text}");
    assert!(
        text.contains("\t@!%p1 bra $L_1;\n\t{\n") && text.contains("\t}\n$L_1:\n"),
        "{text}"
    );
    Ok(())
}

#[test]
fn a_matrix_product() -> Result<(), BuildError> {
    let mut m = ModuleBuilder::new(PtxVersion::new(8, 0), Target::Sm80);
    let mut k = m.kernel("mma")?;
    let p = k.param(T::U64, "p")?;
    let to = k.reg(T::B64);
    k.ld().param().u64((to, at(p)))?;
    let d = [(); 4].map(|()| k.reg(T::F32));
    let a = [(); 4].map(|()| k.reg(T::B32));
    let b = [(); 2].map(|()| k.reg(T::B32));
    k.ld().global().v4().b32((a, at(to)))?;
    k.ld().global().v2().b32((b, to + 16))?;
    for d in d {
        k.mov().f32((d, 0.0f32))?;
    }
    k.mma()
        .sync()
        .aligned()
        .m16n8k16()
        .row()
        .col()
        .of_f32()
        .of_f16()
        .of_f16()
        .of_f32()
        .emit((d, a, b, d))?;
    k.st().global().v4().f32((at(to), d))?;
    let t = k.reg(T::F32);
    let report = k.asm(
        "{\n.reg .f32 t;\nadd.f32 t, {x}, {x};\nst.global.f32 [{p}], t;\n}",
        &[("x", d[0].into()), ("p", to.into())],
    )?;
    assert_eq!(report.reads(), ["x", "p", "t"]);
    assert_eq!((report.memory().len(), report.instruction_count()), (1, 2));
    k.asm(
        "add.f32 {t}, {x}, {x};",
        &[("x", d[0].into()), ("t", t.into())],
    )?;
    k.ret().emit(())?;
    k.finish()?;
    check(m);
    Ok(())
}
