//! Values said to be equal against a machine that runs the function, and equalities that must be found.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail by panics"
)]

use crate::brute;
use brute::random::Random;
use brute::random::program::{State, program};
use ptx_dataflow::cfg::{BlockId, Cfg};
use ptx_dataflow::function_dataflow::FunctionDataflow;
use ptx_dataflow::graph::Dominators;
use ptx_dataflow::reg_lanes::VariableId;
use ptx_dataflow::ssa::{Ssa, Value, ValueId};
use ptx_dataflow::value_numbering::ValueNumbers;
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{EntityId as _, Module, Statement, StmtId};

struct Found {
    cfg: Cfg,
    dominators: Dominators<BlockId>,
    ssa: Ssa,
    numbers: ValueNumbers,
    stmts: Vec<StmtId>,
    names: Vec<String>,
}

fn analyze(module: &Module) -> Found {
    let facts = ModuleFacts::new(module);
    let facts = facts.function(module.function("k").unwrap()).unwrap();
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
        dominators: function.dominators().clone(),
        ssa: function.ssa().expect("few phis").clone(),
        numbers: function.value_numbers().expect("few phis").clone(),
    }
}

impl Found {
    /// Where a value is made: its block, and the place in it.
    fn home(&self, id: ValueId) -> Option<(BlockId, u32)> {
        match self.ssa.value(id) {
            Value::Unknown => None,
            Value::Entry { .. } => Some((Cfg::ENTRY, 0)),
            Value::Phi { block, .. } => Some((block, 0)),
            Value::Def { stmt, .. } => Some((self.cfg.of_statement(stmt)?, stmt.as_u32() + 1)),
        }
    }

    fn dominates(&self, a: ValueId, b: ValueId) -> bool {
        let (Some((x, i)), Some((y, j))) = (self.home(a), self.home(b)) else {
            return false;
        };
        match x == y {
            true => i <= j,
            false => self.dominators.dominates(x, y),
        }
    }

    fn value(&self, state: &State, id: ValueId) -> Option<u32> {
        let name = &self.names[self.ssa.variable(id)?.index()];
        let index = |rest: &str| rest.parse::<usize>().unwrap();
        if name == "carry" {
            Some(state.carry.into())
        } else if let Some(rest) = name.strip_prefix("%r") {
            Some(state.regs[index(rest)])
        } else {
            name.strip_prefix("%p")
                .map(|rest| state.preds[index(rest)].into())
        }
    }
}

#[test]
fn equal_numbers_are_equal_values() {
    let mut random = Random::new(12);
    let (mut pairs, mut checked) = (0, 0);
    for _ in 0..4000 {
        let program = program(&mut random);
        let parsed = ptx_parse::parse(program.text.as_bytes());
        let found = analyze(&parsed.module);
        // For each value those before it with its number.
        let ids: Vec<ValueId> = found.ssa.values().map(|(id, _)| id).collect();
        let before_it = |b: ValueId| {
            let same = |a: &ValueId| *a != b && found.numbers.same(*a, b) && found.dominates(*a, b);
            ids.iter().copied().filter(same).collect::<Vec<_>>()
        };
        let earlier: Vec<Vec<ValueId>> = ids.iter().map(|&b| before_it(b)).collect();
        pairs += earlier.iter().map(Vec::len).sum::<usize>();
        for _ in 0..6 {
            let mut latest: Vec<Option<u32>> = vec![None; ids.len()];
            let mut start = true;
            program.run(State::random(&mut random), |at, before, after| {
                let stmt = found.stmts[at];
                let block = found.cfg.of_statement(stmt).unwrap();
                let mut made: Vec<(ValueId, Option<u32>)> = Vec::new();
                if start {
                    let entries = ids
                        .iter()
                        .filter(|&&i| matches!(found.ssa.value(i), Value::Entry { .. }));
                    made.extend(entries.map(|&i| (i, found.value(before, i))));
                    start = false;
                }
                let first = found.cfg.block(block).unwrap().first;
                if !found.stmts.iter().any(|s| first <= *s && *s < stmt) {
                    made.extend(found.ssa.phis(block).map(|p| (p, found.value(before, p))));
                }
                made.extend(found.ssa.defs(stmt).map(|d| (d, found.value(after, d))));
                for &(id, value) in &made {
                    latest[id.as_u32() as usize] = value;
                }
                for (id, value) in made {
                    for &other in &earlier[id.as_u32() as usize] {
                        if let Some(then) = latest[other.as_u32() as usize] {
                            assert_eq!(
                                Some(then),
                                value,
                                "{other:?} and {id:?} at {stmt:?}\n{}",
                                program.text
                            );
                            checked += 1;
                        }
                    }
                }
            });
        }
    }
    assert!(
        pairs > 1000 && checked > 4000,
        "{pairs} pairs, {checked} checks"
    );
}

/// Whether the two last instructions make the same value.
fn same(body: &str) -> bool {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.global .b32 g;\n.entry k()\n{{\n.reg .pred %p<5>;\n\
         .reg .b32 %r<9>;\n.reg .b64 %d<4>;\n.reg .v2 .b32 V;\n.reg .f32 %f<4>;\n{body}\n}}\n"
    );
    let parsed = ptx_parse::parse(text.as_bytes());
    assert!(
        parsed.diagnostics.is_empty(),
        "{:?}\n{body}",
        parsed.diagnostics
    );
    let found = analyze(&parsed.module);
    let [.., a, b] = &*found.stmts else {
        unreachable!("two instructions")
    };
    let made = |stmt: StmtId| found.ssa.defs(stmt).next().unwrap();
    found.numbers.same(made(*a), made(*b))
}

#[test]
fn what_must_be_found() {
    for body in [
        "add.u32 %r1, %r2, %r3; add.u32 %r4, %r2, %r3;",
        "add.u32 %r1, %r2, %r3; add.u32 %r4, %r3, %r2;",
        "mov.u32 %r5, %r2; sub.u32 %r1, %r2, 7; sub.u32 %r4, %r5, 7;",
        "mov.u32 %r1, 7; mov.u32 %r4, 7;",
        "mov.u32 %r1, %tid.x; mov.u32 %r4, %tid.x;",
        "mov.u64 %d1, g; mov.u64 %d2, g;",
        "mov.b32 V.x, %r2; mov.b32 V.y, %r2; not.b32 %r1, V.x; not.b32 %r2, V.y;",
        "mov.b64 %d1, {%r1, %r2}; mov.b64 %d2, {%r1, %r2};",
        "@%p1 add.u32 %r1, %r2, %r3;\n@%p1 mov.u32 %r1, 5; mov.u32 %r5, %r1; mov.u32 %r6, %r5;",
        // One guard, the same before: one merge.
        "mov.u32 %r1, 1; mov.u32 %r4, 1; @%p1 mov.u32 %r1, %r2; @%p1 mov.u32 %r4, %r2;",
        // Equal in both branches.
        "@%p1 bra A;\nadd.u32 %r5, %r2, 1; mov.u32 %r6, 2; bra B;\nA: add.u32 %r5, %r2, 1; mov.u32 %r6, 2;\n\
         B: sub.u32 %r1, %r5, %r6; add.u32 %r7, %r2, 1; mov.u32 %r8, 2; sub.u32 %r3, %r5, %r6; sub.u32 %r4, %r7, %r8;",
        // Two phis of one block.
        "@%p1 bra A;\nmov.u32 %r5, 1; mov.u32 %r6, 1; bra B;\nA: mov.u32 %r5, 2; mov.u32 %r6, 2;\n\
         B: not.b32 %r1, %r5; not.b32 %r4, %r6;",
        "add.cc.u32 %r5, %r2, %r3; addc.u32 %r1, 0, 0; addc.u32 %r4, 0, 0;",
        "setp.lt.u32 %p2, %r2, %r3; setp.lt.u32 %p3, %r2, %r3;",
    ] {
        assert!(same(body), "{body}");
    }
}

#[test]
fn what_must_not_be_said() {
    for body in [
        "add.u32 %r1, %r2, %r3; add.s32 %r4, %r2, 3;",
        "sub.u32 %r1, %r2, %r3; sub.u32 %r4, %r3, %r2;",
        "ld.global.b32 %r1, [%d1]; ld.global.b32 %r4, [%d1];",
        "mov.u32 %r1, %clock; mov.u32 %r4, %clock;",
        "add.u32 %r1, %r2, 1; mov.u32 %r2, 3; @%p2 add.u32 %r2, %r3, 1; add.u32 %r5, %r2, 1; add.u32 %r4, %r2, 2;",
        "@%p1 mov.u32 %r1, %r2; @%p2 mov.u32 %r4, %r2;",
        "mov.u32 %r1, 1; mov.u32 %r4, 1; @%p1 mov.u32 %r1, %r2; @!%p1 mov.u32 %r4, %r2;",
        "activemask.b32 %r1; activemask.b32 %r4;",
        "shfl.sync.idx.b32 %r1, %r2, 0, 31, -1; shfl.sync.idx.b32 %r4, %r2, 0, 31, -1;",
        "atom.global.add.u32 %r1, [%d1], 1; atom.global.add.u32 %r4, [%d1], 1;",
        "add.cc.u32 %r5, %r2, %r3; addc.cc.u32 %r1, 0, 0; addc.u32 %r4, 0, 0;",
        "setp.lt.u32 %p2, %r2, %r3; setp.ge.u32 %p3, %r2, %r3;",
    ] {
        assert!(!same(body), "{body}");
    }
}
