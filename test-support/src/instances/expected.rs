//! The stored values of a module that are constants of `ptx-analysis`, which `ptx_semantics::fold` computes.

use std::collections::HashMap;

use ptx_analysis::cfg::Cfg;
use ptx_analysis::constants::Constants;
use ptx_analysis::graph::Dominators;
use ptx_analysis::reg_lanes::Variables;
use ptx_analysis::ssa::Ssa;
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
    let (cfg, variables) = (Cfg::new(facts), Variables::new(facts.body()));
    let ssa = Ssa::new(facts, &cfg, &Dominators::new(&cfg), &variables).ok()?;
    let constants = Constants::new(facts, &cfg, &variables, &ssa);
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
