//! What addresses point into.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use std::sync::Arc;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::memory_access::Provenance;
use ptx_analysis::provenance::{CallSummaries, Pointer};
use ptx_analysis::values::VariableRef;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{Module, StmtId};
use ptx_isa::StateSpace;

const HEAD: &str = "\
.version 8.5
.target sm_90
.address_size 64
.extern .func (.param .b64 r) malloc(.param .b64 n);
.extern .func (.param .b64 r) other(.param .b64 n);
.shared .align 16 .b8 s[256];
.shared .align 16 .b8 s2[256];
.global .align 16 .b8 g[256];
.func (.param .b64 r) id(.param .b64 a)
{ .reg .b64 %x; ld.param.b64 %x, [a]; add.s64 %x, %x, 8; st.param.b64 [r], %x; ret; }
.func (.reg .b64 r) in_registers(.reg .b64 a, .reg .b64 b)
{ add.s64 r, a, 8; ret; }
.func (.param .b64 r) even(.param .b64 a);
.func (.param .b64 r) odd(.param .b64 a)
{ .reg .b64 %x; .param .b64 x; .param .b64 y; ld.param.b64 %x, [a]; st.param.b64 [x], %x; call (y), even, (x);
ld.param.b64 %x, [y]; st.param.b64 [r], %x; ret; }
.func (.param .b64 r) even(.param .b64 a)
{ .reg .b64 %x; .reg .b32 %n; .reg .pred %p; .param .b64 x; .param .b64 y; ld.param.b64 %x, [a]; ld.b32 %n, [%x];
setp.eq.b32 %p, %n, 0; @%p bra L; st.param.b64 [x], %x; call (y), odd, (x); ld.param.b64 %x, [y]; L: st.param.b64 [r], %x; ret; }
";

/// The address of the last access of a function, and whether it is of the kind that the access takes.
fn last(module: &Module, function: &str) -> (Option<Pointer>, bool) {
    let facts = ModuleFacts::new(module);
    let calls = Arc::new(CallSummaries::new(&facts));
    let facts = facts.function(module.function(function).unwrap()).unwrap();
    let analysis = FunctionAnalysis::new(facts).with_calls(&calls);
    let provenance = analysis.provenance().unwrap();
    let mut found = None;
    for (stmt, inst) in facts.body().statements() {
        if let ptx_ir::Statement::Inst(inst) = inst
            && facts.inst(inst).memory().next().is_some()
        {
            found = Some(stmt);
        }
    }
    let stmt: StmtId = found.unwrap();
    match provenance.mismatch(stmt, 0) {
        Some(pointer) => (Some(pointer), false),
        None => (provenance.access(stmt, 0), true),
    }
}

/// The same of a kernel with this body.
fn pointer(body: &str) -> Option<(String, Pointer)> {
    let text = format!(
        "{HEAD}.visible .entry k(.param .u64 .ptr .global p, .param .u64 q, .param .u64 n)\n{{\n\
        .local .align 8 .b8 stack[64];\n.reg .b32 %r<8>; .reg .b64 %d<8>; .reg .pred %p<2>;\n\
        .param .b64 x; .param .b64 y;\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\n{body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let module = parsed.module;
    let wrong = ptx_verify::verify(&module, &ptx_verify::Options::default());
    assert!(wrong.is_empty(), "{wrong:?}");
    let (found, fits) = last(&module, "k");
    let found = found?;
    let name = match found.object {
        Some(Provenance::Variable(VariableRef::Module(id))) => module
            .name(module.symbols().get(id).unwrap().name)
            .to_owned(),
        Some(Provenance::Variable(VariableRef::Local(id))) => {
            let body = module.body(module.function("k").unwrap()).unwrap();
            module.name(body.vars().get(id).unwrap().name).to_owned()
        }
        Some(Provenance::Parameter { variable, offset }) => {
            let body = module.body(module.function("k").unwrap()).unwrap();
            let name = module.name(body.vars().get(variable).unwrap().name);
            format!("*{name}+{offset}")
        }
        Some(Provenance::Allocation(_)) => "allocation".into(),
        _ => "?".into(),
    };
    let kind = if fits { "" } else { ", of another kind" };
    Some((name + kind, found))
}

/// The object and the state space.
fn object(body: &str) -> (String, Option<StateSpace>) {
    pointer(body).map_or((String::from("unknown"), None), |(name, p)| (name, p.space))
}

#[track_caller]
fn is(body: &str, name: &str, space: Option<StateSpace>) {
    assert_eq!(object(body), (name.into(), space), "{body}");
}

const SHARED: Option<StateSpace> = Some(StateSpace::Shared);
const GLOBAL: Option<StateSpace> = Some(StateSpace::Global);
const LOCAL: Option<StateSpace> = Some(StateSpace::Local);

#[test]
fn begins_of_addresses() {
    is(
        "mov.u64 %d0, s;\ncvta.shared.u64 %d0, %d0;\nld.b32 %r0, [%d0];",
        "s",
        SHARED,
    );
    is("mov.u64 %d0, s;\nld.shared.b32 %r0, [%d0];", "s", SHARED);
    is(
        "mov.u32 %r1, s;\nadd.s32 %r1, %r1, %r2;\nld.shared.b32 %r0, [%r1];",
        "s",
        SHARED,
    );
    is("mov.u64 %d0, g;\nld.b32 %r0, [%d0];", "g", GLOBAL);
    is("ld.param.u64 %d0, [p];\nld.b32 %r0, [%d0];", "*p+0", GLOBAL);
    is("ld.param.u64 %d0, [q];\nld.b32 %r0, [%d0];", "*q+0", None);
    is(
        "ld.param.u64 %d0, [q];\ncvta.to.global.u64 %d0, %d0;\nld.global.b32 %r0, [%d0];",
        "*q+0",
        GLOBAL,
    );
    is(
        "ld.param.u64 %d1, [n];\nalloca.u64 %d0, %d1;\ncvta.local.u64 %d0, %d0;\nld.b32 %r0, [%d0];",
        "allocation",
        LOCAL,
    );
    is(
        "mov.u64 %d0, 16;\nst.param.b64 [x], %d0;\ncall (y), malloc, (x);\nld.param.b64 %d0, [y];\nst.b32 [%d0+4], %r0;",
        "allocation",
        GLOBAL,
    );
    is(
        "ld.param.u64 %d0, [p];\nld.u64 %d0, [%d0];\nld.b32 %r0, [%d0];",
        "unknown",
        None,
    );
    is(
        "ld.param.u64 %d0, [q];\nld.u64 %d0, [%d0];\ncvta.to.shared.u64 %d0, %d0;\ncvta.shared.u64 %d0, %d0;\nld.b32 %r0, [%d0];",
        "?",
        SHARED,
    );
}

#[test]
fn addresses_of_another_kind() {
    let is_other = |body: &str, name: &str, space| {
        is(body, &format!("{name}, of another kind"), space);
    };
    is_other("mov.u64 %d0, s; ld.b32 %r0, [%d0];", "s", SHARED);
    is_other(
        "cvta.shared.u64 %d0, s; ld.shared.b32 %r0, [%d0];",
        "s",
        SHARED,
    );
    is_other(
        "mov.u64 %d0, stack; ld.shared.b32 %r0, [%d0];",
        "stack",
        LOCAL,
    );
    is_other("mov.u64 %d0, g; ld.shared.b32 %r0, [%d0];", "g", GLOBAL);
    let truncated =
        "mov.u64 %d0, s; cvta.shared.u64 %d1, %d0; cvt.u32.u64 %r1, %d1; ld.shared.b32 %r0, [%r1];";
    is_other(truncated, "s", SHARED);
    // An address in the state space has 32 bits, and an address in global memory is a generic one.
    is(
        "mov.u64 %d0, s; cvt.u32.u64 %r1, %d0; ld.shared.b32 %r0, [%r1];",
        "s",
        SHARED,
    );
    is("mov.u64 %d0, g; ld.b32 %r0, [%d0];", "g", GLOBAL);
}

#[test]
fn sums() {
    let sum = |line: &str| {
        object(&format!(
            "ld.param.u64 %d0, [p];\nld.param.u64 %d1, [q];\nld.param.u64 %d2, [n];\nld.u64 %d3, [%d1];\n{line}\nld.b32 %r0, [%d0];"
        ))
    };
    for line in [
        "add.s64 %d0, %d0, %d2;",
        "add.s64 %d0, %d2, %d0;",
        "add.s64 %d0, %d0, %d3;",
        "mad.lo.s64 %d0, %d2, %d3, %d0;",
        "mad.wide.u32 %d0, %r1, 4, %d0;",
        "and.b64 %d0, %d0, -16;",
        "sub.s64 %d0, %d0, 4;",
    ] {
        assert_eq!(sum(line), ("*p+0".into(), GLOBAL), "{line}");
    }
    for line in [
        "sub.s64 %d0, %d0, %d1;",
        "add.s64 %d0, %d1, %d2;",
        "add.s64 %d0, %d1, %d3;",
        "shl.b64 %d0, %d0, 1;",
        "sub.s64 %d4, %d1, %d0;\nadd.s64 %d0, %d0, %d4;",
    ] {
        assert_eq!(sum(line), ("unknown".into(), None), "{line}");
    }
}

#[test]
fn ways_that_meet() {
    let start = "mov.u64 %d0, s;\ncvta.shared.u64 %d0, %d0;\nmov.u64 %d1, s2;\ncvta.shared.u64 %d1, %d1;\nmov.u64 %d2, g;\n";
    let of = |lines: &str| object(&format!("{start}{lines}\nld.b32 %r0, [%d3];"));
    assert_eq!(of("selp.b64 %d3, %d0, %d0, %p0;"), ("s".into(), SHARED));
    assert_eq!(of("selp.b64 %d3, %d0, %d1, %p0;"), ("?".into(), SHARED));
    assert_eq!(of("selp.b64 %d3, %d0, 0, %p0;"), ("s".into(), SHARED));
    assert_eq!(of("selp.b64 %d3, %d0, %d2, %p0;"), ("unknown".into(), None));
    assert_eq!(
        of("mov.b64 %d3, %d0;\n@%p0 mov.b64 %d3, %d2;"),
        ("unknown".into(), None)
    );
    let repeated = "mov.b64 %d3, %d0;\nL: add.s64 %d3, %d3, 4;\n@%p0 bra L;";
    assert_eq!(of(repeated), ("s".into(), SHARED));
    let (_, pointer) = pointer(&format!("{start}{repeated}\nld.b32 %r0, [%d3];")).unwrap();
    assert_eq!(pointer.offset, None);
}

#[test]
fn stack_slots() {
    let start = "mov.u64 %d7, stack;\ncvta.local.u64 %d6, %d7;\nmov.u64 %d0, s;\ncvta.shared.u64 %d0, %d0;\nmov.u64 %d2, g;\n";
    let of = |lines: &str| object(&format!("{start}{lines}\nld.b32 %r0, [%d3];"));
    let s = ("s".to_owned(), SHARED);
    let unknown = ("unknown".to_owned(), None);
    assert_eq!(of("st.u64 [%d6], %d0;\nld.u64 %d3, [%d6];"), s);
    assert_eq!(
        of("st.u64 [%d6+8], %d0;\nadd.s64 %d5, %d6, 8;\nld.u64 %d3, [%d5];"),
        s
    );
    assert_eq!(
        of("st.local.u64 [%d7+8], %d0;\nst.u64 [%d6], %d2;\nld.u64 %d3, [%d6+8];"),
        s
    );
    assert_eq!(
        of("st.v2.u64 [%d6], {%d2, %d0};\nld.local.u64 %d3, [stack+8];"),
        s
    );
    // The address of the variable is in one of the same slots.
    assert_eq!(
        of("st.u64 [%d6+16], %d6;\nst.u64 [%d6], %d0;\nld.u64 %d5, [%d6+16];\nld.u64 %d3, [%d5];"),
        s
    );
    assert_eq!(
        of("st.u64 [%d6], %d0;\nst.u64 [%d6], %d2;\nld.u64 %d3, [%d6];"),
        unknown
    );
    assert_eq!(
        of("st.u64 [%d6], %d0;\nst.u32 [%d6+4], %r1;\nld.u64 %d3, [%d6];"),
        unknown
    );
    // Others may write it.
    assert_eq!(
        of("st.u64 [%d6], %d0;\nst.u64 [%d2], %d6;\nld.u64 %d3, [%d6];"),
        unknown
    );
    assert_eq!(
        of("st.u64 [%d6], %d0;\nst.param.b64 [x], %d6;\ncall (y), other, (x);\nld.u64 %d3, [%d6];"),
        unknown
    );
    assert_eq!(
        of(
            "st.u64 [%d6], %d0;\nmul.wide.u32 %d5, %r1, 8;\nadd.s64 %d5, %d5, %d6;\nst.u64 [%d5], %d2;\nld.u64 %d3, [%d6];"
        ),
        unknown
    );
    assert_eq!(
        of(
            "st.u64 [%d6], %d0;\nselp.b64 %d5, %d6, %d2, %p0;\nst.u64 [%d5], %d2;\nld.u64 %d3, [%d6];"
        ),
        unknown
    );
}

#[test]
fn calls_of_functions() {
    let call = |callee: &str, given: &str| {
        object(&format!(
            "mov.u64 %d0, s;\ncvta.shared.u64 %d0, %d0;\nmov.u64 %d1, g;\nst.param.b64 [x], {given};\n\
            call (y), {callee}, (x);\nld.param.b64 %d2, [y];\nld.b32 %r0, [%d2];"
        ))
    };
    assert_eq!(call("id", "%d0"), ("s".into(), SHARED));
    assert_eq!(call("id", "%d1"), ("g".into(), GLOBAL));
    assert_eq!(call("odd", "%d1"), ("g".into(), GLOBAL));
    assert_eq!(call("other", "%d0"), ("unknown".into(), None));
    let registers = "mov.u64 %d0, s;\ncvta.shared.u64 %d0, %d0;\ncall (%d1), in_registers, (%d0, %d0);\nld.b32 %r0, [%d1];";
    assert_eq!(object(registers), ("unknown".into(), None));
}

#[test]
fn arguments_of_functions() {
    let given = |calls: &str| {
        let text = format!(
            "{HEAD}.func get(.param .b64 a)\n{{ .reg .b64 %x; .reg .b32 %r; ld.param.b64 %x, [a]; ld.b32 %r, [%x]; ret; }}\n\
            .visible .entry k()\n{{ .reg .b64 %d<3>; .param .b64 x;\nmov.u64 %d0, s;\ncvta.shared.u64 %d0, %d0;\nmov.u64 %d1, s2;\n\
            cvta.shared.u64 %d1, %d1;\nmov.u64 %d2, g;\n{calls}\nret; }}\n"
        );
        let parsed = ptx_parse::parse_str(&text);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        last(&parsed.module, "get").0.map(|p| (p.object, p.space))
    };
    let call = |from: &str| format!("st.param.b64 [x], {from};\ncall get, (x);\n");
    let one = given(&call("%d0"));
    assert!(
        matches!(one, Some((Some(Provenance::Variable(_)), SHARED))),
        "{one:?}"
    );
    let both = given(&[call("%d0"), call("%d1")].concat());
    assert!(
        matches!(both, Some((Some(Provenance::Parameter { .. }), SHARED))),
        "{both:?}"
    );
    let different = given(&[call("%d0"), call("%d2")].concat());
    assert!(
        matches!(different, Some((Some(Provenance::Parameter { .. }), None))),
        "{different:?}"
    );
}
