//! Live code: the instructions with effects, and the instructions whose results they depend on.
//!
//! Instructions with effects are live, and so are the values of the registers that hold the results of the function where it returns. The values that
//! a live instruction reads are live as well: all writes that reach it, and the old value if such a write is guarded. All other
//! instructions are dead, including cycles of instructions that only use the results of each other. Instructions that the lanes of a mask
//! execute together are live, since other lanes may wait for them or read their sources.
//!
//! Cost: linear in the instructions and values.

use alloc::vec::Vec;

use ptx_ir::facts::{Facts, FunctionFacts};
use ptx_ir::{EntityId, Statement, StmtId};

use crate::ssa::{Ssa, Value, ValueId};

/// The live instructions of a function.
///
/// ```
/// use ptx_dataflow::function_dataflow::FunctionDataflow;
/// use ptx_ir::facts::ModuleFacts;
/// let text = b".version 8.0\n.target sm_80\n.address_size 64\n.entry k() { .reg .b32 a; .reg .b64 d;\n\
///     mov.b32 a, 1; neg.s32 a, a; mov.b64 d, 0; st.global.b64 [d], d; ret; }";
/// let module = ptx_parse::parse(text).module;
/// let facts = ModuleFacts::new(&module);
/// let function = FunctionDataflow::new(facts.function(module.function("k").unwrap()).unwrap());
/// let live = function.live_code()?;
/// let statements = function.body().statements().skip(2);
/// let found: Vec<bool> = statements.map(|(stmt, _)| live.contains(stmt)).collect();
/// assert_eq!(found, [false, false, true, true, true]);
/// # Ok::<(), ptx_dataflow::AnalysisError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LiveCode {
    statements: Vec<bool>,
}

impl LiveCode {
    /// Follows the values of a function from the instructions with effects back to their definitions.
    pub(crate) fn new(facts: FunctionFacts<'_>, ssa: &Ssa) -> Self {
        crate::builds::record("live code", facts);
        let body = facts.body();
        let mut marks = Marks {
            ssa,
            statements: vec![false; body.statement_table().len()],
            values: vec![false; ssa.len()],
            worklist: Vec::new(),
        };
        for (stmt, statement) in body.statements() {
            match statement {
                Statement::Inst(inst) if is_removable(&facts.inst(inst)) => {}
                Statement::Inst(_) | Statement::Opaque(_) => marks.mark_statement(stmt),
                _ => {}
            }
        }
        marks
            .worklist
            .extend(ssa.returned().iter().map(|returned| returned.value));
        marks.mark_values();
        Self {
            statements: marks.statements,
        }
    }

    /// Returns whether a statement is live. Only instructions and statements that were not recognized are.
    #[must_use]
    pub fn contains(&self, stmt: StmtId) -> bool {
        self.statements.get(stmt.index()) == Some(&true)
    }
}

/// Returns whether an instruction can be removed if its results are not read.
fn is_removable(facts: &Facts<'_>) -> bool {
    facts.may_be_removed() && facts.member_mask().is_none()
}

/// The live statements and values.
struct Marks<'a> {
    ssa: &'a Ssa,
    statements: Vec<bool>,
    values: Vec<bool>,
    worklist: Vec<ValueId>,
}

impl Marks<'_> {
    /// Marks a statement, and adds the values that it reads to the worklist.
    fn mark_statement(&mut self, stmt: StmtId) {
        if let Some(is_live @ false) = self.statements.get_mut(stmt.index()) {
            *is_live = true;
            let uses = self.ssa.uses(stmt).iter();
            self.worklist.extend(uses.map(|u| u.value));
        }
    }

    /// Marks the values of the worklist, and the statements and values that they depend on.
    fn mark_values(&mut self) {
        while let Some(value) = self.worklist.pop() {
            match self.values.get_mut(value.index()) {
                Some(is_live @ false) => *is_live = true,
                _ => continue,
            }
            match self.ssa.value(value) {
                Value::Def { stmt, old, .. } => {
                    self.worklist.extend(old);
                    self.mark_statement(stmt);
                }
                Value::Phi { .. } => self.worklist.extend(self.ssa.args(value)),
                Value::Unknown | Value::Entry { .. } => {}
            }
        }
    }
}
