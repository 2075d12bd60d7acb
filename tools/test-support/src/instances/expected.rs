//! The stored values of a module that are constants of `ptx-analysis`, which `ptx_semantics::fold` computes.

use std::collections::HashMap;

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_ir::facts::{FunctionFacts, MemoryAccess, ModuleFacts, RegAccess};
use ptx_ir::{Operand, Statement, StmtId};

/// The known values of a kernel by their offsets.
pub type Known = HashMap<u32, u64>;

/// For each kernel, by name, the stored values that are known.
pub fn stored(text: &str) -> HashMap<String, Known> {
    let module = ptx_parse::parse(text.as_bytes()).module;
    let facts = ModuleFacts::new(&module);
    module
        .definitions()
        .filter_map(|(id, function, _)| {
            let name = module.name(function.name).to_owned();
            Some((name, stored_by_kernel(facts.function(id)?)?))
        })
        .collect()
}

fn stored_by_kernel(facts: FunctionFacts<'_>) -> Option<Known> {
    let function = FunctionAnalysis::new(facts);
    let variables = function.variables();
    let ssa = function.ssa().ok()?;
    let constants = function.constants().ok()?;
    let stored_value = |stmt: StmtId, access: MemoryAccess| {
        let Some((Operand::Reg(register), RegAccess::Read)) = access.data else {
            return None;
        };
        let variable = variables.of(register.into()).next()?;
        let bits = constants.value(ssa.read(stmt, variable)?).known()?;
        Some((u32::try_from(access.offset?).ok()?, bits as u64))
    };
    let mut values = Known::new();
    for (stmt, statement) in facts.body().statements() {
        if let Statement::Inst(inst) = statement {
            let accesses = facts.inst(inst).memory();
            values.extend(accesses.filter_map(|access| stored_value(stmt, access)));
        }
    }
    Some(values)
}
