//! What is claimed to be constant against a machine that runs the function, and what must be found.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panics"
)]
#![allow(clippy::too_many_lines, reason = "lists of cases")]

use crate::brute;
use brute::random::Random;
use brute::random::program::{State, program};
use ptx_dataflow::cfg::{BlockId, Cfg};
use ptx_dataflow::constants::{Constant, Constants};
use ptx_dataflow::function_dataflow::FunctionDataflow;
use ptx_dataflow::reg_lanes::VariableId;
use ptx_dataflow::ssa::Ssa;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{EntityId as _, Module, Statement, StmtId};

struct Found {
    cfg: Cfg,
    ssa: Ssa,
    constants: Constants,
    /// The statement of each instruction.
    stmts: Vec<StmtId>,
    /// The name of each variable.
    names: Vec<String>,
}

fn analyze(module: &Module) -> Found {
    let facts = ModuleFacts::new(module);
    let facts: FunctionFacts<'_> = facts.function(module.function("k").unwrap()).unwrap();
    let body = facts.body();
    let function = FunctionDataflow::new(facts);
    let variables = function.variables();
    let insts = body
        .statements()
        .filter(|(_, s)| matches!(s, Statement::Inst(_)));
    let name = |v: VariableId| {
        let register = body.registers().get(variables.place(v).register).unwrap();
        let decl = body.reg_decls().get(register.decl).unwrap();
        let number = decl
            .count
            .map_or(String::new(), |_| register.number.to_string());
        format!("{}{number}", module.name(decl.name))
    };
    Found {
        stmts: insts.map(|(stmt, _)| stmt).collect(),
        names: variables
            .ids()
            .map(name)
            .chain(["carry".to_owned()])
            .collect(),
        cfg: function.cfg().clone(),
        ssa: function.ssa().expect("few phis").clone(),
        constants: function.constants().expect("few phis").clone(),
    }
}

fn value(state: &State, name: &str) -> Option<u128> {
    let index = |rest: &str| rest.parse::<usize>().unwrap();
    if name == "carry" {
        Some(state.carry.into())
    } else if let Some(rest) = name.strip_prefix("%r") {
        Some(state.regs[index(rest)].into())
    } else {
        name.strip_prefix("%p")
            .map(|rest| state.preds[index(rest)].into())
    }
}

#[test]
fn claims_hold_when_run() {
    let mut random = Random::new(11);
    let (mut claims, mut dead, mut checked) = (0, 0, 0);
    for _ in 0..4000 {
        let program = program(&mut random);
        let parsed = ptx_parse::parse(program.text.as_bytes());
        assert!(
            parsed.diagnostics.is_empty(),
            "{:?}\n{}",
            parsed.diagnostics,
            program.text
        );
        let found = analyze(&parsed.module);
        let known = |(v, _): &(_, _)| found.constants.value(*v).known().is_some();
        claims += found.ssa.values().filter(known).count();
        let reached = brute::reach(&brute::of_cfg(&found.cfg), 0, None);
        let unused = |(b, _): &(BlockId, _)| {
            reached[b.as_u32() as usize] && !found.constants.is_executable(*b)
        };
        dead += found.cfg.blocks().filter(unused).count();
        for _ in 0..6 {
            let mut last: Option<BlockId> = None;
            program.run(State::random(&mut random), |at, before, after| {
                let stmt = found.stmts[at];
                let block = found.cfg.of_statement(stmt).unwrap();
                assert!(
                    found.constants.is_executable(block),
                    "{stmt:?}\n{}",
                    program.text
                );
                // Blocks without instructions leave no trace.
                let full = |b: &BlockId| {
                    let b = found.cfg.block(*b).unwrap();
                    found.stmts.iter().any(|s| b.first <= *s && *s < b.end)
                };
                if let Some(from) = last
                    && from != block
                    && found.cfg.successors(from).iter().all(full)
                {
                    let edges = found.cfg.out_edges(from);
                    let mut taken =
                        edges.filter(|(id, e)| e.to == block && found.constants.is_taken(*id));
                    assert!(
                        taken.next().is_some(),
                        "{from:?} to {block:?}\n{}",
                        program.text
                    );
                }
                last = Some(block);
                let mut check = |id, variable: VariableId, state: &State, what: &str| {
                    let claim = found.constants.value(id);
                    let name = &found.names[variable.index()];
                    if let Some(is) = value(state, name) {
                        let good = match claim {
                            Constant::Unreached => false,
                            Constant::Constant(bits) => bits == is,
                            Constant::Overdefined => true,
                        };
                        assert!(
                            good,
                            "{what} {name} is {is}, not {claim:?}: {stmt:?}\n{}",
                            program.text
                        );
                        checked += usize::from(claim != Constant::Overdefined);
                    }
                };
                for used in found.ssa.uses(stmt) {
                    check(used.value, used.variable, before, "read");
                }
                for def in found.ssa.defs(stmt) {
                    check(def, found.ssa.variable(def).unwrap(), after, "written");
                }
            });
        }
    }
    assert!(
        claims > 4000 && dead > 10 && checked > 20_000,
        "{claims} {dead} {checked}"
    );
}

/// What the last instruction reads in its last register.
fn last_read(body: &str) -> Constant {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{{\n.reg .pred %p<4>;\n\
         .reg .b16 %h<4>;\n.reg .b32 %r<8>;\n.reg .b64 %d<4>;\n.reg .v2 .b32 V;\n.reg .f32 %f<4>;\n{body}\n}}\n"
    );
    let parsed = ptx_parse::parse(text.as_bytes());
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let found = analyze(&parsed.module);
    let stmt = *found.stmts.last().unwrap();
    let used = found.ssa.uses(stmt).last().unwrap();
    found.constants.value(used.value)
}

#[test]
fn what_must_be_found() {
    let out = "st.global.b32 [%d3], %r1;";
    let known = |body: &str, bits: u128| {
        assert_eq!(
            last_read(&format!("{body}\n{out}")),
            Constant::Constant(bits),
            "{body}"
        );
    };
    let varies = |body: &str| {
        assert_eq!(
            last_read(&format!("{body}\n{out}")),
            Constant::Overdefined,
            "{body}"
        );
    };
    known("mov.u32 %r1, 7;", 7);
    known("mov.u32 %r2, 7; mul.lo.u32 %r1, %r2, -1;", 0xffff_fff9);
    // The classic: the branch is never taken, because the constant goes round unchanged.
    known(
        "mov.u32 %r1, 1; ld.global.u32 %r3, [%d3];\nL: setp.eq.u32 %p0, %r1, 1; @%p0 bra M; mov.u32 %r1, 2;\n\
         M: setp.lt.u32 %p1, %r3, 9; @%p1 bra L;",
        1,
    );
    varies("mov.u32 %r1, 1;\nL: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra L;");
    known(
        "mov.u32 %r1, 1; setp.eq.u32 %p0|%p1, %r1, 2; @%p0 mov.u32 %r1, 5; @%p1 mov.u32 %r1, 6;",
        6,
    );
    known(
        "ld.global.u32 %r2, [%d3]; setp.eq.u32 %p0, 1, 1; selp.u32 %r1, 4, %r2, %p0;",
        4,
    );
    known("mov.pred %p0, 0; selp.u32 %r1, 4, 5, %p0;", 5);
    known("ld.global.u32 %r2, [%d3]; and.b32 %r1, %r2, 0;", 0);
    varies(
        "ld.global.u32 %r2, [%d3]; setp.eq.u32 %p0, %r2, 1; mov.u32 %r1, 1; @%p0 mov.u32 %r1, 2;",
    );
    known(
        "ld.global.u32 %r2, [%d3]; setp.eq.u32 %p0, %r2, 1; mov.u32 %r1, 2; @%p0 mov.u32 %r1, 2;",
        2,
    );
    known(
        "mov.u32 %r2, 1;\nT: .branchtargets A, B;\nbrx.idx %r2, T;\nA: mov.u32 %r1, 3; bra C;\nB: mov.u32 %r1, 4;\nC:",
        4,
    );
    known(
        "mov.u32 %r2, -1; add.cc.u32 %r3, %r2, 1; addc.u32 %r1, 0, 0;",
        1,
    );
    known("mov.b32 V.x, 5; mov.b32 V.y, 6; mov.b32 %r1, V.y;", 6);
    known(
        "mov.b32 %r2, 1; mov.b32 %r3, 2; mov.b64 %d0, {%r2, %r3}; mov.b64 {%r4, %r1}, %d0;",
        2,
    );
    known("mov.b64 %d0, 0x100000002; mov.b64 {_, %r1}, %d0;", 1);
    known("mov.b16 %h0, 0xffff; cvt.s32.s16 %r1, %h0;", 0xffff_ffff);
    known("mov.u32 %r2, 255; cvt.s8.u32 %r1, %r2;", 0xffff_ffff);
    known("mov.u32 %r2, 255; cvt.u8.u32 %r1, %r2;", 255);
    known(
        "mov.f32 %f0, 0f3F800000; add.rn.f32 %f1, %f0, %f0; mov.b32 %r1, %f1;",
        0x4000_0000,
    );
    // Bytes and half words of a register, and signs before it.
    let three = "mov.u32 %r2, 0x1280; mov.u32 %r3, 5; mov.u32 %r4, 0x01020304;";
    for (inst, bits) in [
        ("vadd.s32.s32.u32 %r1, %r2.b0, %r3", 0xffff_ff85),
        ("vadd.u32.u32.u32 %r1.b2, %r2.b1, %r3, %r4", 0x0117_0304),
        ("vmad.s32.s32.s32 %r1, %r3, -%r3, %r4", 0x0102_02eb),
        ("vmad.s32.s32.s32 %r1, %r2.b0, %r3, -%r3", 0xffff_fd7b),
        (
            "vadd2.u32.u32.u32 %r1.h1, %r2.h00, %r4.h32, %r3",
            0x1382_0005,
        ),
        (
            "mov.v2.b16 {%h0, %h1}, {%h2, %h3}; mov.b32 %r1, {%h0, %h1}",
            0x6_0005,
        ),
    ] {
        let halves = "mov.b16 %h2, 5; mov.b16 %h3, 6;";
        known(&format!("{three} {halves} {inst};"), bits);
    }
    varies("mov.u32 %r3, 5; vadd.u32.u32.u32 %r1.b0, %r2.b0, %r3, %r3;");
    // What an edge would bring that is never taken.
    known(
        "mov.u32 %r1, 5; mov.pred %p0, 0; @%p0 bra M; mov.u32 %r1, 6;\nM:",
        6,
    );
    varies("mov.u32 %r1, %tid.x;");
}
