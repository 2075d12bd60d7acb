//! The variables that instructions certainly access, according to the provenance of their addresses.

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::memory_access::Provenance;
use ptx_ir::facts::{FunctionFacts, ModuleFacts};
use ptx_ir::{FuncId, Module, Statement};
use ptx_isa::Proxy;

use crate::program::{Object, Program};

/// The variable that each instruction of each function accesses.
#[derive(Debug, Default)]
pub(crate) struct Objects(Vec<Vec<Option<Object>>>);

impl Objects {
    /// Finds the variables that the instructions of a module access.
    pub(crate) fn new(module: &Module, program: &Program) -> Self {
        let facts = ModuleFacts::new(module);
        let objects = module
            .functions()
            .iter()
            .map(|(id, _)| match facts.function(id) {
                Some(function) => accessed_objects(function, id, program),
                None => Vec::new(),
            });
        Self(objects.collect())
    }

    /// The variable that a step accesses.
    pub(super) fn get(&self, function: FuncId, step_index: u32) -> Option<&Object> {
        let objects = self.0.get(function.as_u32() as usize)?;
        objects.get(step_index as usize)?.as_ref()
    }
}

/// The variable that each step of a function accesses.
fn accessed_objects(
    facts: FunctionFacts<'_>,
    id: FuncId,
    program: &Program,
) -> Vec<Option<Object>> {
    let analysis = FunctionAnalysis::new(facts);
    let Ok(provenance) = analysis.provenance() else {
        return Vec::new();
    };
    let mut objects = Vec::new();
    for (stmt, statement) in facts.body().statements() {
        let Statement::Inst(inst) = statement else {
            continue;
        };
        let inst = facts.inst(inst);
        // The operand names a texture or a surface, whose texels are elsewhere.
        let names_texels = matches!(inst.proxy(), Proxy::Texture | Proxy::Surface);
        let accesses = if names_texels {
            0
        } else {
            inst.memory().count()
        };
        let object = |access| provenance.access(stmt, access).and_then(|p| p.object);
        let first = if accesses > 0 { object(0) } else { None };
        let only = first.filter(|_| (1..accesses).all(|access| object(access) == first));
        objects.push(match only {
            Some(Provenance::Variable(variable)) => {
                program.variables.object(facts.module(), id, variable)
            }
            _ => None,
        });
    }
    objects
}
