//! The sparse solver against repeated evaluation of all equations, on random functions.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use crate::common;
use ptx_dataflow::cfg::{BlockId, Cfg, EdgeId};
use ptx_dataflow::dataflow::{JoinSemiLattice, SparseAnalysis, SparseSolver, solve_sparse};
use ptx_dataflow::function_dataflow::FunctionDataflow;
use ptx_dataflow::reg_lanes::VariableId;
use ptx_dataflow::ssa::{Ssa, Value, ValueId};
use ptx_ir::facts::{Facts, ModuleFacts};
use ptx_ir::{EntityId as _, Statement, StmtId};

/// A number if all executions compute the same one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Tag {
    Bottom,
    Number(u32),
    Several,
}

impl JoinSemiLattice for Tag {
    fn join(&mut self, other: &Self) -> bool {
        let joined = match (*self, *other) {
            (Self::Bottom, tag) | (tag, Self::Bottom) => tag,
            (a, b) if a == b => a,
            _ => Self::Several,
        };
        core::mem::replace(self, joined) != joined
    }
}

/// The number that a statement computes from the join of what it reads.
fn computed(stmt: StmtId, reads: impl ExactSizeIterator<Item = Tag>) -> Tag {
    if reads.len() == 0 {
        return Tag::Number(stmt.index() as u32 % 3);
    }
    let mut joined = Tag::Bottom;
    reads.for_each(|tag| {
        joined.join(&tag);
    });
    match joined {
        Tag::Number(number) => Tag::Number(number / 2 + 1),
        tag => tag,
    }
}

/// Whether a guard lets control follow an edge.
fn allows(when: Option<bool>, guard: Option<Tag>) -> bool {
    match (when, guard) {
        (Some(_), Some(Tag::Bottom)) => false,
        (Some(when), Some(Tag::Number(number))) => when == number.is_multiple_of(2),
        _ => true,
    }
}

fn guard(function: &FunctionDataflow<'_>, ssa: &Ssa, block: BlockId) -> Option<ValueId> {
    let range = function.cfg().block(block)?;
    let mut statements = function.body().range(range.first, range.end).rev();
    let (stmt, inst) = statements.find_map(|(stmt, statement)| match statement {
        Statement::Inst(inst) => Some((stmt, inst)),
        _ => None,
    })?;
    let (register, _) = function.facts().inst(inst).guard_register()?;
    ssa.read(stmt, function.variables().of(register).first())
}

struct Tags;

impl SparseAnalysis for Tags {
    type Domain = Tag;

    fn bottom(&self) -> Tag {
        Tag::Bottom
    }

    fn top(&self) -> Tag {
        Tag::Several
    }

    fn entry(&self, variable: VariableId) -> Tag {
        Tag::Number(variable.as_u32())
    }

    fn inst(&mut self, _facts: Facts<'_>, stmt: StmtId, solver: &mut SparseSolver<'_, Tag>) {
        let ssa = solver.ssa();
        let reads = ssa.uses(stmt).iter().map(|read| *solver.value(read.value));
        let tag = computed(stmt, reads);
        for def in ssa.defs(stmt) {
            solver.raise(def, &tag);
            if let Value::Def { old: Some(old), .. } = ssa.value(def) {
                let old = *solver.value(old);
                solver.raise(def, &old);
            }
        }
    }
}

/// [`Tags`] of the statements that control reaches if guards are numbers.
struct ReachedTags<'f, 'm>(&'f FunctionDataflow<'m>);

impl SparseAnalysis for ReachedTags<'_, '_> {
    type Domain = Tag;
    const FOLLOWS_EDGES: bool = true;

    fn bottom(&self) -> Tag {
        Tag::Bottom
    }

    fn top(&self) -> Tag {
        Tag::Several
    }

    fn entry(&self, variable: VariableId) -> Tag {
        Tags.entry(variable)
    }

    fn inst(&mut self, facts: Facts<'_>, stmt: StmtId, solver: &mut SparseSolver<'_, Tag>) {
        Tags.inst(facts, stmt, solver);
    }

    fn leave(&mut self, block: BlockId, solver: &mut SparseSolver<'_, Tag>) {
        let value = guard(self.0, solver.ssa(), block);
        let guard = value.map(|value| *solver.value(value));
        for (id, edge) in self.0.cfg().out_edges(block) {
            if allows(edge.when, guard) {
                solver.follow(id);
            }
        }
    }
}

/// The least solution, by evaluating everything until nothing changes.
struct Naive {
    tags: Vec<Tag>,
    blocks: Vec<bool>,
    edges: Vec<bool>,
}

fn naive(function: &FunctionDataflow<'_>, ssa: &Ssa, follows_edges: bool) -> Naive {
    let cfg = function.cfg();
    let start = |(_, value)| match value {
        Value::Unknown => Tag::Several,
        Value::Entry { variable } => Tag::Number(variable.as_u32()),
        _ => Tag::Bottom,
    };
    let mut naive = Naive {
        tags: ssa.values().map(start).collect(),
        blocks: cfg
            .blocks()
            .map(|(id, _)| !follows_edges && function.is_reachable(id))
            .collect(),
        edges: cfg
            .edges()
            .map(|(_, edge)| !follows_edges && function.is_reachable(edge.from))
            .collect(),
    };
    naive.blocks[Cfg::ENTRY.index()] = true;
    loop {
        let mut changed = false;
        for (block, range) in cfg.blocks() {
            if !naive.blocks[block.index()] {
                continue;
            }
            for phi in ssa.phis(block) {
                let edges: Vec<EdgeId> = cfg.in_edges(block).map(|(id, _)| id).collect();
                for (index, arg) in ssa.args(phi).iter().enumerate() {
                    let is_taken = edges
                        .get(index)
                        .is_none_or(|id| naive.edges[id.as_u32() as usize]);
                    if is_taken {
                        let tag = naive.tags[arg.as_u32() as usize];
                        changed |= naive.tags[phi.as_u32() as usize].join(&tag);
                    }
                }
            }
            for (stmt, _) in function.body().range(range.first, range.end) {
                let reads = ssa.uses(stmt).iter();
                let tag = computed(
                    stmt,
                    reads.map(|read| naive.tags[read.value.as_u32() as usize]),
                );
                for def in ssa.defs(stmt) {
                    changed |= naive.tags[def.as_u32() as usize].join(&tag);
                    if let Value::Def { old: Some(old), .. } = ssa.value(def) {
                        let old = naive.tags[old.as_u32() as usize];
                        changed |= naive.tags[def.as_u32() as usize].join(&old);
                    }
                }
            }
            let guard = guard(function, ssa, block).map(|id| naive.tags[id.as_u32() as usize]);
            for (id, edge) in cfg.out_edges(block) {
                if allows(edge.when, guard) || !follows_edges {
                    let taken = &mut naive.edges[id.as_u32() as usize];
                    changed |= !core::mem::replace(taken, true);
                    naive.blocks[edge.to.index()] = true;
                }
            }
        }
        if !changed {
            return naive;
        }
    }
}

fn each_sample(check: impl Fn(&FunctionDataflow<'_>, &str)) {
    for seed in 1..=2000 {
        let sample = common::function(seed, 40);
        let parsed = ptx_parse::parse(sample.text.as_bytes());
        let facts = ModuleFacts::new(&parsed.module);
        let kernel = parsed.module.function("k").unwrap();
        check(
            &FunctionDataflow::new(facts.function(kernel).unwrap()),
            &sample.text,
        );
    }
}

#[test]
fn facts_are_the_least_solution() {
    each_sample(|function, text| {
        let ssa = function.ssa().unwrap();
        let expected = naive(function, ssa, false);
        let solution = solve_sparse(function, &mut Tags, u32::MAX).unwrap();
        assert!(solution.is_complete());
        assert_eq!(solution.into_values(), expected.tags, "{text}");
    });
}

#[test]
fn followed_edges_are_the_least_solution() {
    each_sample(|function, text| {
        let ssa = function.ssa().unwrap();
        let expected = naive(function, ssa, true);
        let solution = solve_sparse(function, &mut ReachedTags(function), u32::MAX).unwrap();
        for (block, _) in function.cfg().blocks() {
            assert_eq!(
                solution.is_executable(block),
                expected.blocks[block.index()],
                "{block:?}\n{text}"
            );
        }
        for (id, _) in function.cfg().edges() {
            assert_eq!(
                solution.is_followed(id),
                expected.edges[id.as_u32() as usize],
                "{id:?}\n{text}"
            );
        }
        assert_eq!(solution.into_values(), expected.tags, "{text}");
    });
}

#[test]
fn gives_up_after_the_last_sweep() {
    let text = b".version 8.0\n.target sm_80\n.entry k() { .reg .b32 a, b; .reg .pred p;\n\
        mov.b32 a, 1; mov.b32 b, 1; L: add.s32 b, a, a; add.s32 a, b, 1; setp.lt.s32 p, a, 9; @p bra L; ret; }";
    let module = ptx_parse::parse(text).module;
    let facts = ModuleFacts::new(&module);
    let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
    let complete = solve_sparse(&function, &mut Tags, 2).unwrap();
    assert!(complete.is_complete());
    assert!(complete.into_values().contains(&Tag::Number(0)));
    let incomplete = solve_sparse(&function, &mut Tags, 1).unwrap();
    assert!(!incomplete.is_complete());
    assert!(
        incomplete
            .into_values()
            .iter()
            .all(|tag| *tag == Tag::Several)
    );
    let reached = solve_sparse(&function, &mut ReachedTags(&function), 1).unwrap();
    assert!(
        function
            .cfg()
            .edges()
            .all(|(id, _)| reached.is_followed(id))
    );
}
