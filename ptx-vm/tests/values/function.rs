//! What is known of the functions of a module before they run.

use std::collections::HashMap;
use std::sync::Arc;

use ptx_analysis::cfg::{BlockId, Cfg};
use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::graph::Loops;
use ptx_analysis::memory_access::Accesses;
use ptx_analysis::provenance::CallSummaries;
use ptx_analysis::reg_lanes::Variables;
use ptx_analysis::ssa::{Ssa, ValueId};
use ptx_analysis::values::{Affine, Alignment, Interval, Values};
use ptx_ir::facts::ModuleFacts;
use ptx_ir::{EntityId, FuncId, InstId, Module, Statement, StmtId};

/// What the analysis knows of a value.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) width: u16,
    pub(crate) form: Affine,
    /// The form if nothing wraps, where that is another one.
    pub(crate) assumed: Option<Affine>,
    pub(crate) unsigned: Interval,
    pub(crate) signed: Interval,
    pub(crate) alignment: Alignment,
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) cfg: Cfg,
    pub(crate) loops: Loops<BlockId>,
    pub(crate) variables: Variables,
    pub(crate) ssa: Ssa,
    pub(crate) values: Values,
    pub(crate) accesses: Accesses,
    pub(crate) expected: Vec<Expected>,
    /// The statement of each instruction, and its place in the order of execution.
    statements: HashMap<InstId, (StmtId, u32)>,
    /// Whether each block has instructions.
    pub(crate) has_instructions: Vec<bool>,
    pub(crate) is_kernel: bool,
}

impl Function {
    pub(crate) fn statement(&self, inst: InstId) -> (StmtId, u32) {
        self.statements[&inst]
    }

    pub(crate) fn expected(&self, value: ValueId) -> &Expected {
        &self.expected[value.as_u32() as usize]
    }
}

/// The functions of a module that can be analyzed.
pub(crate) fn functions(module: &Module) -> HashMap<FuncId, Function> {
    let facts = ModuleFacts::new(module);
    let summaries = Arc::new(CallSummaries::new(&facts));
    let mut all = HashMap::new();
    for (id, function, body) in module.definitions() {
        let facts = facts.function(id).unwrap();
        let analysis = FunctionAnalysis::new(facts).with_calls(&summaries);
        let (Ok(ssa), Ok(values)) = (analysis.ssa(), analysis.values()) else {
            continue;
        };
        let accesses = analysis.accesses().unwrap();
        let mut statements = HashMap::new();
        let mut has_instructions = vec![false; analysis.cfg().len()];
        for (at, (stmt, statement)) in (0..).zip(body.statements()) {
            if let Statement::Inst(inst) = statement {
                statements.insert(inst, (stmt, at));
                if let Some(block) = analysis.cfg().of_statement(stmt) {
                    has_instructions[block.index()] = true;
                }
            }
        }
        let expected = ssa.values().map(|(value, _)| {
            let (width, form) = (values.width(value), values.affine(value));
            let (assumed, replaced) = values.without_wrap(&form, width);
            Expected {
                width,
                form,
                assumed: replaced.then_some(assumed),
                unsigned: values.interval(value),
                signed: values.signed_interval(value),
                alignment: values.alignment(value),
            }
        });
        let expected = expected.collect();
        let function = Function {
            is_kernel: function.kind == ptx_ir::FunctionKind::Entry,
            cfg: analysis.cfg().clone(),
            loops: analysis.loops().clone(),
            variables: analysis.variables().clone(),
            ssa: ssa.clone(),
            expected,
            values: values.clone(),
            accesses: accesses.clone(),
            statements,
            has_instructions,
        };
        all.insert(id, function);
    }
    all
}
