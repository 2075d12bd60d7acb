//! The code of a kernel: instructions, targets of branches, heads of loops.

use std::collections::HashMap;

use ptx_dataflow::function_dataflow::FunctionDataflow;
use ptx_ir::facts::{FunctionFacts, Space, Targets};
use ptx_ir::{Declarations, InstId, LabelId, Operand, Statement, StmtId};
use ptx_isa::StateSpace;
use ptx_semantics::Place;

use super::thread::is_clock;

/// The code of a kernel.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) instructions: Vec<InstId>,
    /// The statement of each instruction.
    pub(super) statements: Vec<StmtId>,
    /// The number of the instruction after each label.
    labels: HashMap<LabelId, usize>,
    /// For each head of a loop, the registers that are read later.
    heads: HashMap<usize, Vec<Place>>,
    /// Whether no instruction mentions what differs between threads: a special register, or shared memory of the CTA.
    pub(super) is_uniform: bool,
    /// Whether an instruction reads a clock.
    pub(super) reads_clock: bool,
    /// Whether an instruction starts an asynchronous operation.
    pub(super) is_asynchronous: bool,
}

impl Code {
    pub(super) fn new(facts: FunctionFacts<'_>) -> Self {
        let body = facts.body();
        let mut instructions = Vec::new();
        let mut statements = Vec::new();
        let mut labels = HashMap::new();
        for (statement_id, statement) in body.statements() {
            match statement {
                Statement::Inst(id) => {
                    instructions.push(id);
                    statements.push(statement_id);
                }
                Statement::Label(label) => {
                    labels.insert(label, instructions.len());
                }
                _ => {}
            }
        }
        let declares_shared = |declarations: &Declarations| {
            declarations
                .decls
                .values()
                .any(|declaration| declaration.space.base() == StateSpace::Shared)
        };
        let has_shared =
            declares_shared(body.declarations()) || declares_shared(facts.module().declarations());
        let is_uniform = !has_shared && instructions.iter().all(|&id| {
            let inst = facts.inst(id);
            let is_common = |operand: Operand| {
                !matches!(operand, Operand::Special(_) | Operand::Component(..))
            };
            inst.parts().all(|(operand, _)| is_common(operand))
                && inst.memory().all(|access| {
                    !matches!(access.space, Space::State(space) if space.base() == StateSpace::Shared)
                })
        });
        let is_asynchronous = instructions
            .iter()
            .any(|&id| !facts.inst(id).asynchronous().is_empty());
        let reads_clock = instructions.iter().any(|&id| {
            let inst = facts.inst(id);
            inst.parts().any(
                |(operand, _)| matches!(operand, Operand::Special(register) if is_clock(register)),
            )
        });
        let dataflow = FunctionDataflow::new(facts);
        let mut heads = HashMap::new();
        for (number, &id) in instructions.iter().enumerate() {
            let Targets::Label(label) = facts.inst(id).targets() else {
                continue;
            };
            let Some(&target) = labels.get(&label) else {
                continue;
            };
            let Some(&statement) = statements.get(target) else {
                continue;
            };
            if target <= number {
                let live = dataflow
                    .live_before(statement)
                    .iter()
                    .filter_map(|variable| {
                        Place::of_register(body, dataflow.variables().place(variable))
                    })
                    .collect();
                heads.insert(target, live);
            }
        }
        Self {
            instructions,
            statements,
            labels,
            heads,
            is_uniform,
            reads_clock,
            is_asynchronous,
        }
    }

    /// The registers that are read later, if a loop starts at an instruction.
    pub(super) fn head(&self, number: usize) -> Option<&[Place]> {
        Some(self.heads.get(&number)?)
    }

    /// The number of the instruction after a label.
    pub(super) fn target(&self, label: LabelId) -> Option<usize> {
        self.labels.get(&label).copied()
    }
}
