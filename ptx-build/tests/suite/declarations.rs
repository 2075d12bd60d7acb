//! Declarations with all their parts: their text, and that ptxas accepts it.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common::check;
use ptx_build::{
    Argument, BuildError, BuildErrorKind, Declaration, DeclarationAttribute, FunctionHeader, Init,
    ModuleBuilder, at, bracket,
};
use ptx_ir::{FunctionKind, Linkage};
use ptx_isa::{Directive, PtxVersion, ScalarType as T, StateSpace as S, Target, TargetOption};

fn module(version: (u8, u8), target: Target) -> ModuleBuilder {
    ModuleBuilder::new(PtxVersion::new(version.0, version.1), target)
}

fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn attributes() -> Result<(), BuildError> {
    let mut m = module((9, 0), Target::Sm90);
    let managed =
        Declaration::new(S::Global, T::S32, "managed").attribute(DeclarationAttribute::Managed);
    let managed = m.declare(managed.init(Init::Int(7)))?;
    let both = Declaration::new(S::Global, T::B8, "page")
        .align(16)
        .array([64]);
    m.declare(
        both.attribute(DeclarationAttribute::Managed)
            .attribute(DeclarationAttribute::Unified(19.into(), "0x60".into())),
    )?;
    let elsewhere = Declaration::new(S::Global, T::F64, "elsewhere").linkage(Linkage::Extern);
    m.declare(elsewhere.attribute(DeclarationAttribute::Unified(7.into(), 8.into())))?;
    let outside = FunctionHeader::new()
        .linkage(Linkage::Extern)
        .attribute(DeclarationAttribute::Unified(1.into(), 2.into()));
    m.declare_function(FunctionKind::Func, "outside", outside)?;
    let mut f = m.func("unified")?;
    f.attribute(DeclarationAttribute::Unified("0xAB".into(), "0xCD".into()));
    f.ret().emit(())?;
    f.finish()?;
    let mut k = m.kernel("k")?;
    let r = k.reg(T::B32);
    k.ld().global().s32((r, at(managed)))?;
    k.ret().emit(())?;
    k.finish()?;
    // An attribute whose number is not a number, and one that does not fit.
    let odd = DeclarationAttribute::Unified("1) .b32 x; (".into(), 2.into());
    let odd = Declaration::new(S::Global, T::B32, "odd").attribute(odd);
    assert_eq!(m.declare(odd).unwrap_err().kind(), BuildErrorKind::Spelling);
    let shared =
        Declaration::new(S::Shared, T::B32, "odd").attribute(DeclarationAttribute::Managed);
    assert_eq!(m.declare(shared).unwrap_err().code().to_string(), "PTX0609");
    has(
        &check(m),
        &[
            ".global .attribute(.managed) .s32 managed = 7;\n",
            ".global .attribute(.managed, .unified(19, 0x60)) .align 16 .b8 page[64];\n",
            ".extern .global .attribute(.unified(7, 8)) .f64 elsewhere;\n",
            ".extern .func .attribute(.unified(1, 2)) outside();\n",
            ".func .attribute(.unified(0xAB, 0xCD)) unified()\n{\n",
        ],
    );
    Ok(())
}

#[test]
fn aliases_and_pragmas() -> Result<(), BuildError> {
    let mut m = module((8, 0), Target::Sm80);
    m.pragma("nounroll")?;
    let x = Declaration::new(S::Param, T::B32, "x");
    let other = m.declare_func(
        "other",
        Some(Linkage::Visible),
        &[],
        std::slice::from_ref(&x),
    )?;
    let mut f = m.func("real")?;
    f.linkage(Linkage::Visible).add_param(x)?;
    f.ret().emit(())?;
    let real = f.finish()?;
    m.alias(other, real)?;
    let mut k = m.kernel("k")?;
    k.set_interface(
        FunctionHeader::new()
            .linkage(Linkage::Visible)
            .pragma(&["nounroll", "nounroll"]),
    )?;
    let r = k.reg(T::B32);
    k.mov().u32((r, 1))?;
    k.pragma("nounroll")?;
    k.call_function(other, &[], &[r.into()])?;
    k.ret().emit(())?;
    k.finish()?;
    // A function with a body is not an alias, and the headers agree.
    assert_eq!(
        m.alias(real, other).unwrap_err().code().to_string(),
        "PTX0620"
    );
    let bare = m.declare_func("bare", Some(Linkage::Extern), &[], &[])?;
    assert_eq!(
        m.alias(bare, real).unwrap_err().kind(),
        BuildErrorKind::Illegal
    );
    assert_eq!(
        m.pragma("a\"b").unwrap_err().kind(),
        BuildErrorKind::Spelling
    );
    has(
        &check(m),
        &[
            ".pragma \"nounroll\";\n",
            ".alias other, real;\n",
            ".visible .entry k()\n.pragma \"nounroll\", \"nounroll\";\n{\n",
            "\t.pragma \"nounroll\";\n",
            "\tcall other, (param",
        ],
    );
    Ok(())
}

#[test]
fn parameters_that_are_registers() -> Result<(), BuildError> {
    let mut m = module((8, 0), Target::Sm80);
    let mut f = m.func("sum")?;
    let total = f.add_register_result(T::B32, "total")?;
    let (a, b) = (
        f.add_register_param(T::B32, "a")?,
        f.add_register_param(T::B32, "b")?,
    );
    f.add().s32((total, a, b))?;
    f.ret().emit(())?;
    let sum = f.finish()?;
    let mut k = m.kernel("k")?;
    let (x, y) = (k.reg(T::B32), k.reg(T::B32));
    k.mov().u32((x, 3))?;
    k.call_function(sum, &[y.into()], &[x.into(), 4.into()])?;
    let parts = Argument::Parts(vec![(0, T::B32, x.into())]);
    let wrong = k.call_function(sum, &[y.into()], &[parts, 4.into()]);
    assert_eq!(
        wrong.unwrap_err().message(),
        "`a` is a register and takes one value"
    );
    k.ret().emit(())?;
    // A kernel has no results and no register parameters.
    assert_eq!(
        k.add_register_result(T::B32, "r")
            .unwrap_err()
            .code()
            .to_string(),
        "PTX0614"
    );
    k.finish()?;
    let mut own = m.kernel("own")?;
    assert_eq!(
        own.add_register_param(T::B32, "r").unwrap_err().kind(),
        BuildErrorKind::Illegal
    );
    own.ret().emit(())?;
    own.finish()?;
    has(
        &check(m),
        &[
            ".func (.reg .b32 total) sum(\n\t.reg .b32 a,\n\t.reg .b32 b\n)\n",
            "\tcall (%r2), sum, (%r1, 4);\n",
        ],
    );
    Ok(())
}

#[test]
fn textures_samplers_and_surfaces() -> Result<(), BuildError> {
    let mut m = module((8, 0), Target::Sm80);
    m.target_option(TargetOption::TexmodeIndependent);
    let field = |name: &str, value: &str| Init::Field(name.into(), value.into());
    let opaque = |ty, name: &str| Declaration::new(S::Global, ty, name);
    let size = vec![
        field("width", "256"),
        field("height", "0x80"),
        field("channel_order", "5"),
    ];
    let t = m.declare(opaque(T::Texref, "t").init(Init::List(size)))?;
    let modes = vec![
        field("addr_mode_0", "wrap"),
        field("filter_mode", "linear"),
        field("force_unnormalized_coords", "1"),
    ];
    let s = m.declare(opaque(T::Samplerref, "s").init(Init::List(modes)))?;
    let surface =
        m.declare(opaque(T::Surfref, "f").init(Init::List(vec![field("width", "64")])))?;
    m.declare(opaque(T::Texref, "rows").array([3]))?;
    let mut k = m.kernel("k")?;
    let v = [(); 4].map(|()| k.reg(T::B32));
    let (x, y) = (k.reg(T::F32), k.reg(T::F32));
    let place = ptx_build::OperandExpr::from([x, y]);
    k.tex()
        .d2d()
        .v4()
        .of_s32()
        .f32((v, bracket([t.into(), s.into(), place])))?;
    k.suld()
        .b()
        .d1d()
        .of_b32()
        .trap()
        .emit((v[0], bracket([surface.into(), [v[1]].into()])))?;
    k.ret().emit(())?;
    k.finish()?;
    // Fields and values that there are not.
    let mut wrong = |name: &str, value: &str| {
        let init = Init::List(vec![field(name, value)]);
        m.declare(opaque(T::Samplerref, "w").init(init))
            .unwrap_err()
            .kind()
    };
    assert_eq!(wrong("address", "wrap"), BuildErrorKind::Illegal);
    assert_eq!(wrong("addr_mode_0", "wrapped"), BuildErrorKind::Illegal);
    assert_eq!(wrong("addr mode", "wrap"), BuildErrorKind::Spelling);
    assert_eq!(wrong("addr_mode_0", "a;b"), BuildErrorKind::Spelling);
    let inside = Declaration::new(S::Shared, T::Texref, "inside");
    assert_eq!(
        m.declare(inside).unwrap_err().kind(),
        BuildErrorKind::Illegal
    );
    has(
        &check(m),
        &[
            ".target sm_80, texmode_independent\n",
            ".global .texref t = {width = 256, height = 0x80, channel_order = 5};\n",
            ".global .samplerref s = {addr_mode_0 = wrap, filter_mode = linear, force_unnormalized_coords = 1};\n",
            ".global .surfref f = {width = 64};\n",
            ".global .texref rows[3];\n",
            "\ttex.2d.v4.s32.f32 {%r1, %r2, %r3, %r4}, [t, s, {%f1, %f2}];\n",
        ],
    );
    Ok(())
}

#[test]
fn bytes_of_addresses() -> Result<(), BuildError> {
    let mut m = module((8, 0), Target::Sm80);
    let table = m.declare(Declaration::new(S::Global, T::B32, "table").array([4]))?;
    let mut f = m.func("callee")?;
    f.ret().emit(())?;
    let callee = f.finish()?;
    let byte = |n: u32, of: Init| {
        Init::Masked(
            format!("0x{:X}", 0xFFu64 << (8 * n)).as_str().into(),
            Box::new(of),
        )
    };
    let all = (0..8).map(|n| byte(n, Init::Address(table, 0)));
    let whole = Declaration::new(S::Global, T::U8, "whole").array([8]);
    m.declare(whole.init(Init::List(all.collect())))?;
    let some = vec![
        Init::Int(7),
        byte(0, Init::Address(table, 4)),
        byte(1, Init::Generic(table, 0)),
        byte(
            2,
            Init::Plus(Box::new(Init::Address(table, 0)), "0x8".into()),
        ),
        byte(0, Init::Function(callee)),
    ];
    m.declare(
        Declaration::new(S::Global, T::U8, "some")
            .unsized_array()
            .init(Init::List(some)),
    )?;
    // A byte goes into bytes, and a mask is one byte.
    let wide = Declaration::new(S::Global, T::B32, "wide").init(byte(0, Init::Address(table, 0)));
    assert_eq!(m.declare(wide).unwrap_err().code().to_string(), "PTX0611");
    let mask = Init::Masked("0x1FF".into(), Box::new(Init::Address(table, 0)));
    let odd = Declaration::new(S::Global, T::U8, "odd").init(mask);
    assert_eq!(m.declare(odd).unwrap_err().kind(), BuildErrorKind::Illegal);
    let mask = Init::Masked("0xFF(".into(), Box::new(Init::Address(table, 0)));
    let odd = Declaration::new(S::Global, T::U8, "odd").init(mask);
    assert_eq!(m.declare(odd).unwrap_err().kind(), BuildErrorKind::Spelling);
    has(
        &check(m),
        &[
            "whole[8] = {0xFF(table), 0xFF00(table), 0xFF0000(table), 0xFF000000(table), ",
            ".u8 some[] = {7, 0xFF(table+4), 0xFF00(generic(table)), 0xFF0000(table+0x8), 0xFF(callee)};\n",
        ],
    );
    Ok(())
}

#[test]
fn initial_values_that_are_too_many_or_of_the_wrong_sort() {
    let mut m = module((8, 0), Target::Sm80);
    let four = || Declaration::new(S::Global, T::B32, "four").array([4]);
    let list = |n: i64| Init::List((0..n).map(Init::Int).collect());
    let mut code = |d: Declaration| m.declare(d).unwrap_err().code().to_string();
    assert_eq!(code(four().init(list(5))), "PTX0612");
    assert_eq!(code(four().init(Init::Text("abc".into()))), "PTX0101");
    assert_eq!(
        code(Declaration::new(S::Shared, T::B32, "s").init(Init::Int(1))),
        "PTX0613"
    );
    assert_eq!(
        code(Declaration::new(S::Global, T::B32, "x1").range(4)),
        "PTX0403"
    );
    m.declare(four().init(list(4))).unwrap();
    m.finish().unwrap();
}

#[test]
fn directives_before_a_body() -> Result<(), BuildError> {
    let mut m = module((8, 0), Target::Sm90);
    let mut k = m.kernel("k")?;
    k.directive(Directive::Reqntid, &[32, 4])
        .directive(Directive::Reqnctapercluster, &[2]);
    k.ret().emit(())?;
    k.finish()?;
    has(
        &m.text(),
        &[".entry k()\n.reqntid 32, 4\n.reqnctapercluster 2\n{\n"],
    );
    // A wrong number of numbers, and a directive that belongs elsewhere.
    for (directive, numbers, code) in [
        (Directive::Maxntid, &[][..], "PTX0616"),
        (Directive::Maxntid, &[1, 2, 3, 4], "PTX0616"),
        (Directive::Version, &[8, 0], "PTX0110"),
    ] {
        let mut m = module((8, 0), Target::Sm90);
        let mut k = m.kernel("k")?;
        k.directive(directive, numbers);
        assert_eq!(k.finish().unwrap_err().code().to_string(), code);
    }
    check(m);
    Ok(())
}
