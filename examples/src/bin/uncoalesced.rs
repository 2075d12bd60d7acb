//! Finds loads from global memory whose neighboring threads do not read neighboring elements: a sparse dataflow analysis.
//! `cargo run -p ptx-examples --bin uncoalesced -- FILE`
//!
//! The *stride* of a value is its difference between a thread and the thread before it, if both execute the same instructions: 1 for `%tid.x`,
//! 0 for a value that is equal in all threads. Sums, differences, products with constants, shifts and conversions have strides, in loops as well.
//! Loads with unknown strides, such as those with an index from memory, are not reported; neither are loads of one address by all threads.

use std::error::Error;

use ptxkit::analysis::dataflow::{JoinSemiLattice, SparseAnalysis, SparseSolver, solve_sparse};
use ptxkit::analysis::function_analysis::FunctionAnalysis;
use ptxkit::analysis::ssa::ValueId;
use ptxkit::ir::facts::{Facts, ModuleFacts, Space};
use ptxkit::ir::{LineIndex, Operand, Statement, StmtId};
use ptxkit::isa::{Access, Component, Modifier, Opcode, Selector, SpecialReg, StateSpace};

/// The lattice of strides, from the least to the greatest fact.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Stride {
    /// The value is not computed.
    Unreached,
    Constant(i64),
    Unknown,
}
use Stride::{Constant, Unknown, Unreached};

impl JoinSemiLattice for Stride {
    fn join(&mut self, other: &Self) -> bool {
        let joined = match (*self, *other) {
            (Unreached, stride) | (stride, Unreached) => stride,
            (left, right) if left == right => left,
            _ => Unknown,
        };
        std::mem::replace(self, joined) != joined
    }
}

impl Stride {
    /// Combines two strides by a function, which returns `None` if the result has no stride.
    fn combine(self, other: Self, function: impl Fn(i64, i64) -> Option<i64>) -> Self {
        match (self, other) {
            (Unknown, _) | (_, Unknown) => Unknown,
            (Constant(left), Constant(right)) => function(left, right).map_or(Unknown, Constant),
            _ => Unreached,
        }
    }
}

/// Returns the stride of an operand of a statement. `value` returns the strides of values in SSA form.
fn operand_stride(
    function: &FunctionAnalysis<'_>,
    stmt: StmtId,
    operand: Operand,
    value: impl Fn(ValueId) -> Stride,
) -> Stride {
    let x = Selector::Component(Component::X);
    match operand {
        Operand::Small(_) | Operand::Imm(_) | Operand::Var(_) | Operand::Symbol(_) => Constant(0),
        Operand::Special(SpecialReg::Laneid) => Constant(1),
        Operand::Special(register) if register.is_volatile() => Unknown,
        Operand::Special(register) if register.text().contains("lanemask") => Unknown,
        Operand::Special(_) => Constant(0),
        Operand::Component(selector, vector) => match function.body().pool().get(vector) {
            Operand::Special(SpecialReg::Tid) => Constant(i64::from(selector == x)),
            Operand::Special(_) => Constant(0),
            _ => Unknown,
        },
        Operand::Reg(register) => {
            let variable = function.variables().of(register.into()).next();
            let read = variable.and_then(|variable| function.ssa().ok()?.read(stmt, variable));
            read.map_or(Unknown, value)
        }
        _ => Unknown,
    }
}

struct StrideAnalysis<'a> {
    function: &'a FunctionAnalysis<'a>,
}

impl StrideAnalysis<'_> {
    /// Returns the stride of the result of an instruction.
    fn result(&self, facts: Facts<'_>, stmt: StmtId, solver: &SparseSolver<'_, Stride>) -> Stride {
        let pool = facts.body().pool();
        let stride = |index: usize| match facts.source(index) {
            Some(source) => {
                operand_stride(self.function, stmt, source.operand, |id| *solver.value(id))
            }
            None => Unknown,
        };
        let number = |index: usize| pool.integer(facts.source(index)?.operand);
        // A product of values that are equal in all threads is equal, too; a constant factor multiplies a stride.
        let product = || {
            stride(0).combine(stride(1), |left, right| match (left, right) {
                (0, 0) => Some(0),
                (0, right) => right.checked_mul(number(0)?),
                (left, 0) => left.checked_mul(number(1)?),
                _ => None,
            })
        };
        let is_high = facts.has_modifier(Modifier::Hi);
        match facts.opcode() {
            Some(Opcode::Mov | Opcode::Cvta | Opcode::Cvt) => stride(0),
            Some(Opcode::Add) => stride(0).combine(stride(1), i64::checked_add),
            Some(Opcode::Sub) => stride(0).combine(stride(1), i64::checked_sub),
            Some(Opcode::Shl) => stride(0).combine(stride(1), |left, _| {
                left.checked_mul(1 << number(1)?.clamp(0, 62))
            }),
            Some(Opcode::Mul) if !is_high => product(),
            Some(Opcode::Mad) if !is_high => product().combine(stride(2), i64::checked_add),
            Some(Opcode::Ld) if facts.has_modifier(Modifier::Param) => Constant(0),
            // Any other computation of equal values has equal results.
            _ if facts.may_be_moved() && facts.memory().next().is_none() => {
                (0..facts.sources().count()).fold(Constant(0), |combined, index| {
                    combined.combine(stride(index), |left, right| {
                        (left == 0 && right == 0).then_some(0)
                    })
                })
            }
            _ => Unknown,
        }
    }
}

impl SparseAnalysis for StrideAnalysis<'_> {
    type Domain = Stride;

    fn bottom(&self) -> Stride {
        Unreached
    }

    fn top(&self) -> Stride {
        Unknown
    }

    fn inst(&mut self, facts: Facts<'_>, stmt: StmtId, solver: &mut SparseSolver<'_, Stride>) {
        let result = match facts.guard() {
            Some(_) => Unknown,
            None => self.result(facts, stmt, solver),
        };
        for definition in solver.ssa().defs(stmt) {
            solver.raise(definition, &result);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;
    let source = std::fs::read(path)?;
    let lines = LineIndex::new(&source);
    let module = ptxkit::parse::parse(&source).module;
    let module_facts = ModuleFacts::new(&module);
    for (id, _, body) in module.definitions() {
        let function = FunctionAnalysis::new(module_facts.function(id).ok_or("no facts")?);
        let mut analysis = StrideAnalysis {
            function: &function,
        };
        let strides = solve_sparse(&function, &mut analysis, u32::MAX)?;
        for (stmt, statement) in body.statements() {
            let Statement::Inst(inst) = statement else {
                continue;
            };
            for access in function.facts().inst(inst).memory() {
                let is_global_load = access.access == Access::Read
                    && access.space == Space::State(StateSpace::Global);
                let (Some(base), Some(bytes), true) = (access.base, access.bytes, is_global_load)
                else {
                    continue;
                };
                let stride = operand_stride(&function, stmt, base, |value| *strides.value(value));
                if let Constant(stride) = stride
                    && stride != 0
                    && stride.unsigned_abs() != bytes
                {
                    println!(
                        "{}:{}: {bytes} bytes each, {stride} bytes from thread to thread",
                        module.function_name(id),
                        lines.position(body.source_span(stmt).start).line
                    );
                }
            }
        }
    }
    Ok(())
}
