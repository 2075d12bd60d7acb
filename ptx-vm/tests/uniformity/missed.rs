//! Why values that were uniform in every run are not called so: the first value on the way back from them whose operands are all called uniform.

use std::collections::{HashMap, HashSet};

use ptx_analysis::function_analysis::FunctionAnalysis;
use ptx_analysis::reg_lanes::VariableId;
use ptx_analysis::ssa::{Ssa, Value, ValueId};
use ptx_analysis::uniformity::{FunctionUniformity, Uniformity};
use ptx_ir::facts::FunctionFacts;
use ptx_ir::{Statement, StmtId};

/// A register that a statement writes.
type Def = (StmtId, VariableId);

/// The values that the values of a function are computed of.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    /// The definitions that each one reads, through phis, and whether there are any of these.
    all: HashMap<Def, (Vec<Def>, bool)>,
    /// The instruction of each statement, without its operands.
    names: HashMap<StmtId, String>,
}

impl Sources {
    pub(crate) fn new(facts: FunctionFacts<'_>) -> Self {
        let analysis = FunctionAnalysis::new(facts);
        let Ok(ssa) = analysis.ssa() else {
            return Self::default();
        };
        let mut sources = Self::default();
        for (_, value) in ssa.values() {
            let Value::Def {
                stmt,
                variable,
                old,
            } = value
            else {
                continue;
            };
            let uses = ssa.uses(stmt).iter().map(|of| of.value);
            let found = definitions(ssa, uses.chain(old));
            sources.all.insert((stmt, variable), found);
            if let Some(Statement::Inst(inst)) = facts.body().statement(stmt) {
                let module = facts.module();
                let signature = facts.body().inst(inst).map(|i| i.sig);
                let name = signature.map(|s| module.signature(s).text().to_owned());
                sources.names.insert(stmt, name.unwrap_or_default());
            }
        }
        sources
    }

    /// What a value that is not called uniform in a group owes that to.
    pub(crate) fn cause(&self, claims: &FunctionUniformity, of: Def, group: Uniformity) -> String {
        let (mut at, mut seen) = (of, HashSet::new());
        while seen.insert(at) {
            let Some((sources, _)) = self.all.get(&at) else {
                break;
            };
            let lower = |d: &&Def| claims.def(d.0, d.1) > group && !seen.contains(*d);
            match sources.iter().find(lower) {
                Some(next) => at = *next,
                None => break,
            }
        }
        let through = self.all.get(&at).is_some_and(|(_, phis)| *phis);
        let name = self.names.get(&at.0).map_or("?", String::as_str);
        format!("{name}{}", if through { " (of a phi)" } else { "" })
    }
}

/// The definitions that values come from, and whether there is a phi between.
fn definitions(ssa: &Ssa, values: impl Iterator<Item = ValueId>) -> (Vec<Def>, bool) {
    let (mut found, mut phis) = (Vec::new(), false);
    let (mut seen, mut work) = (HashSet::new(), values.collect::<Vec<_>>());
    while let Some(value) = work.pop() {
        match ssa.value(value) {
            Value::Def { stmt, variable, .. } => found.push((stmt, variable)),
            Value::Phi { .. } if seen.insert(value) => {
                phis = true;
                work.extend(ssa.args(value));
            }
            _ => {}
        }
    }
    (found, phis)
}
