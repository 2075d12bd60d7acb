//! The variables that instructions certainly access, according to the provenance of their addresses.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::memory_access::Provenance;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, Module, Statement};

use crate::program::{Object, Program};

/// The variable that each instruction of each function accesses.
#[derive(Debug, Default)]
pub(crate) struct Objects(Vec<Vec<Option<Object>>>);

impl Objects {
    /// Finds the variables that the instructions of a module access.
    pub(crate) fn new(module: &Module, program: &Program) -> Self {
        let facts = ModuleFacts::new(module);
        let objects_of_function = |id: FuncId| {
            let facts = facts.function(id)?;
            Some(accessed(facts, id, program))
        };
        let functions = module.functions().iter();
        Self(
            functions
                .map(|(id, _)| objects_of_function(id).unwrap_or_default())
                .collect(),
        )
    }

    /// The variable that a step accesses.
    pub(super) fn get(&self, function: FuncId, at: u32) -> Option<&Object> {
        let steps = self.0.get(function.as_u32() as usize)?;
        steps.get(at as usize)?.as_ref()
    }
}

/// The variables that the steps of a function access.
fn accessed(facts: FunctionFacts<'_>, id: FuncId, program: &Program) -> Vec<Option<Object>> {
    let analysis = FunctionAnalysis::new(facts);
    let Ok(provenance) = analysis.provenance() else {
        return Vec::new();
    };
    let mut steps = Vec::new();
    for (stmt, statement) in facts.body().statements() {
        let Statement::Inst(inst) = statement else {
            continue;
        };
        let accesses = facts.inst(inst).memory().count();
        let object = |at| provenance.access(stmt, at).and_then(|p| p.object);
        let first = (accesses > 0).then(|| object(0)).flatten();
        let variable = first.filter(|&first| (1..accesses).all(|at| object(at) == Some(first)));
        steps.push(match variable {
            Some(Provenance::Variable(variable)) => {
                program.variables.object(facts.module(), id, variable)
            }
            _ => None,
        });
    }
    steps
}
