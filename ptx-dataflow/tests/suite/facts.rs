//! What selected instructions do, one line each: registers, memory, control, effects.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use std::fmt::Write as _;

use ptx_ir::facts::{Facts, Flow, ModuleFacts, RegisterComponent, Space};
use ptx_ir::{Module, Statement};

const HEADER: &str = ".version 8.8
.target sm_100a
.address_size 64
.global .b32 g[4];
.shared .b64 bar;
.func (.param .b32 o) f(.param .b32 i);
.func () never() .noreturn;
";
const REGISTERS: &str = ".reg .pred %p<4>;
.reg .b16 %h<4>;
.reg .b32 %r<9>;
.reg .b64 %d<4>;
.reg .f32 %f<9>;
.reg .v4 .f32 %v;
.param .b32 p0;
.param .b32 p1;
";

fn place(module: &Module, facts: &ptx_ir::Body, place: RegisterComponent) -> String {
    let register = facts.registers().get(place.register).expect("a register");
    let decl = facts.reg_decls().get(register.decl).expect("a declaration");
    let mut text = module.name(decl.name).to_owned();
    if decl.count.is_some() {
        write!(text, "{}", register.number).expect("text");
    }
    if let Some(component) = place.component {
        write!(text, ".{component}").expect("text");
    }
    text
}

/// `guard | reads -> writes ?maybe | memory | the rest`
fn line(module: &Module, body: &ptx_ir::Body, facts: &Facts<'_>) -> String {
    let list = |places: &mut dyn Iterator<Item = RegisterComponent>| {
        places
            .map(|p| place(module, body, p))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let mut out = format!(
        "{} -> {}",
        list(&mut facts.reads()),
        list(&mut facts.writes())
    );
    let maybe = list(&mut facts.conditional_writes());
    if !maybe.is_empty() {
        write!(out, " ?{maybe}").expect("text");
    }
    for access in facts.memory() {
        let space = match access.space {
            Space::State(space) => space.text().to_owned(),
            other => format!("{other:?}").to_lowercase(),
        };
        let bytes = access.bytes.map_or("?".into(), |b| b.to_string());
        write!(out, " | {:?} {space} {bytes}", access.access).expect("text");
        if let Some(offset) = access.offset.filter(|o| *o != 0) {
            write!(out, " +{offset}").expect("text");
        }
        for word in [access.order, access.scope].into_iter().flatten() {
            out += word.text();
        }
    }
    if facts.flow() != Flow::Next {
        write!(out, " | {:?}", facts.flow()).expect("text");
        if !facts.falls_through() {
            out += " away";
        }
    }
    for (step, what) in facts.asynchronous() {
        write!(out, " | {step:?} {what:?}").expect("text");
    }
    if let Some(group) = facts.convergence() {
        write!(out, " | together {group:?}").expect("text");
    }
    for (is, name) in [
        (facts.member_mask().is_some(), "lanes"),
        (facts.reads_carry(), "reads-carry"),
        (facts.writes_carry(), "writes-carry"),
        (facts.is_volatile(), "volatile"),
        (facts.is_fence(), "fence"),
        (facts.is_barrier(), "barrier"),
        (facts.is_uniform(), "uniform"),
        (facts.is_one_thread(), "one-thread"),
        (!facts.may_be_removed(), "stays"),
        (facts.may_be_removed() && !facts.may_be_moved(), "not-moved"),
        (!facts.is_known(), "unknown"),
    ] {
        if is {
            write!(out, " | {name}").expect("text");
        }
    }
    out
}

fn check(instruction: &str, wanted: &str) {
    let text = format!("{HEADER}.entry k()\n{{\n{REGISTERS}L:\n{instruction}\n}}\n");
    let parsed = ptx_parse::parse(text.as_bytes());
    let module = &parsed.module;
    let facts = ModuleFacts::new(module);
    let kernel = module.function("k").expect("the kernel");
    let facts = facts.function(kernel).expect("its body");
    let mut insts = facts.body().statements().filter_map(|(_, s)| match s {
        Statement::Inst(inst) => Some(facts.inst(inst)),
        _ => None,
    });
    let last = insts.next_back().expect("an instruction");
    assert_eq!(line(module, facts.body(), &last), wanted, "{instruction}");
}

#[test]
fn registers() {
    check("add.s32 %r1, %r2, %r3;", "%r2 %r3 -> %r1");
    check("@!%p1 add.s32 %r1, %r2, 3;", "%p1 %r2 ->  ?%r1");
    check("setp.lt.s32 %p1|%p2, %r2, 3;", "%r2 -> %p1 %p2");
    check("mov.b64 {%r1, _}, %d1;", "%d1 -> %r1");
    check("mov.f32 %v.y, %f1;", "%f1 -> %v.1");
    check(
        "add.cc.u32 %r1, %r2, %r3;",
        "%r2 %r3 -> %r1 | writes-carry | not-moved",
    );
    check(
        "addc.u32 %r1, %r2, %r3;",
        "%r2 %r3 -> %r1 | reads-carry | not-moved",
    );
    check("mov.u32 %r1, %clock;", " -> %r1 | volatile | stays");
    check("mov.u32 %r1, %tid.x;", " -> %r1");
    check(
        "shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;",
        "%r2 -> %r1 %p1 | lanes | not-moved",
    );
    check(
        "activemask.b32 %r1;",
        " -> %r1 | together Active | not-moved",
    );
}

#[test]
fn memory() {
    check(
        "ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%d1+16];",
        "%d1 -> %f1 %f2 %f3 %f4 | Read .global 16 +16.weak",
    );
    check(
        "ld.global.v4.f32 %v, [%d1];",
        "%d1 -> %v | Read .global 16.weak",
    );
    check("ld.b32 %r1, [%d1];", "%d1 -> %r1 | Read generic 4.weak");
    check(
        "ld.acquire.gpu.b32 %r1, [%d1];",
        "%d1 -> %r1 | Read generic 4.acquire.gpu | stays",
    );
    check(
        "@%p1 st.shared.u8 [%r1], %h1;",
        "%p1 %r1 %h1 ->  | Write .shared 1.weak | stays",
    );
    check(
        "atom.global.add.u32 %r1, [%d1], %r2;",
        "%d1 %r2 -> %r1 | ReadModifyWrite .global 4.relaxed.gpu | stays",
    );
    check(
        "red.release.sys.global.add.u64 [%d1], %d2;",
        "%d1 %d2 ->  | ReadModifyWrite .global 8.release.sys | stays",
    );
    check(
        "ld.volatile.global.u32 %r1, [g+4];",
        " -> %r1 | Read .global 4 +4.volatile.sys | volatile | stays",
    );
    check(
        "mbarrier.arrive.shared.b64 %d1, [bar];",
        " -> %d1 | ReadModifyWrite .shared 8.release.cta | stays",
    );
    check("fence.acq_rel.gpu;", " ->  | fence | stays");
    check("bar.sync 0;", " ->  | together Cta | barrier | stays");
}

#[test]
fn asynchronous() {
    check(
        "cp.async.ca.shared.global [%r1], [%d1], 16;",
        "%r1 %d1 ->  | Write .shared 16.weak | Read .global 16.weak | CpAsync Start | stays",
    );
    check("cp.async.wait_group 1;", " ->  | CpAsync Wait | stays");
    check(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1], %r2, [bar];",
        "%r1 %d1 %r2 ->  | Write .shared::cluster ?.weak | Read .global ?.weak | ReadModifyWrite .shared::cluster 8.release.cluster | Mbarrier Start | stays",
    );
    check(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d1, {%r2, %r3}], [bar];",
        "%r1 %d1 %r2 %r3 ->  | Write .shared::cluster ?.weak | Read generic 128 | ReadModifyWrite .shared::cluster 8.release.cluster | Read .global ?.weak | Mbarrier Start | stays",
    );
    check(
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r1], 16;",
        "%d1 %r1 ->  | ReadModifyWrite .global 16.relaxed.gpu | Read .shared::cta 16.weak | Bulk Start | stays",
    );
    check(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3];",
        "%r1 %r2 %r3 ->  | Write .shared::cluster 4.weak | ReadModifyWrite .shared::cluster 8.release.cluster | Mbarrier Start | stays",
    );
    check(
        "st.async.release.gpu.global.u32 [%d1], %r2;",
        "%d1 %r2 ->  | Write .global 4.release.gpu | stays",
    );
    check(
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r1], %r2, [%r3];",
        "%r1 %r2 %r3 ->  | ReadModifyWrite .shared::cluster 4.relaxed.cluster | ReadModifyWrite .shared::cluster 8.release.cluster | Mbarrier Start | stays",
    );
    check(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%d1];",
        "%d1 ->  | ReadModifyWrite generic 8 | Tcgen05 Commit | one-thread | stays",
    );
}

#[test]
fn control() {
    check("@%p1 bra L;", "%p1 ->  | Jump | stays");
    check("bra.uni L;", " ->  | Jump away | uniform | stays");
    check("ret;", " ->  | Return away | stays");
    check("@%p1 exit;", "%p1 ->  | Exit | stays");
    check("trap;", " ->  | Trap away | stays");
    check(
        "call (p0), f, (p1);",
        " ->  | Write .param ? | Read .param ? | ReadWrite any ? | Call | writes-carry | stays",
    );
    check(
        "call never;",
        " ->  | ReadWrite any ? | Call away | writes-carry | stays",
    );
}

#[test]
fn what_is_not_known_may_do_anything() {
    let worst = "%r1 %r2 ->  ?%r1 %r2 | ReadWrite any ? | Unknown | reads-carry | writes-carry | stays | unknown";
    check("frobnicate.s32 %r1, %r2;", worst);
    check("add.frob %r1, %r2;", worst);
    check("add.s32 %r1, %r2;", worst);
    check("add.s32 [%r1], {%r2, 1};", worst);
}

#[test]
fn an_index_of_an_array_counts_elements() {
    for (address, wanted) in [
        ("[array+4]", Some(4)),
        ("array[0]", Some(0)),
        ("array[1]", None),
        ("array[%r1]", None),
    ] {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.shared .u32 array[4];\n\
             .entry k()\n{{\n.reg .b32 %r<3>;\nld.shared.u32 %r2, {address};\n}}\n"
        );
        let parsed = ptx_parse::parse(text.as_bytes());
        assert!(parsed.diagnostics.is_empty(), "{address}");
        let facts = ModuleFacts::new(&parsed.module);
        let kernel = parsed.module.function("k").expect("the kernel");
        let facts = facts.function(kernel).expect("its body");
        let mut insts = facts.body().insts();
        let (inst, _) = insts.next().expect("the load");
        let offset = facts.inst(inst).memory().next().expect("memory").offset;
        assert_eq!(offset, wanted, "{address}");
    }
}
