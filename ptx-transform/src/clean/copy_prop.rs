//! Copy propagation: instructions read the source of a copy instead of its destination.
//!
//! A read of `d` after a copy `d = s` can read `s` if the value of this copy, and no other, reaches the read, and `s` has not
//! been written since. The copy dominates such a read, so only writes of `s` that the copy dominates can come between them.
//! There must be no such write, unless all three are in one block and the write is not between the others. Asynchronous
//! instructions keep their registers, since they may read them later.

use alloc::vec::Vec;

use ptx_analysis::internals::Csr;
use ptx_analysis::ssa::{Value, ValueId};
use ptx_ir::facts::RegAccess;
use ptx_ir::{Operand, RegId, StmtId};
use ptx_isa::ScalarType;
use ptx_semantics::internals::is_copy;

use super::definition::Definition;
use super::function_view::View;
use super::rewrite::{Rewrite, Step};

pub(super) const DEFINITION: Definition = Definition {
    name: "copies",
    term: "copy propagation",
    summary: "Read the source of a copy instead of its destination",
    plan,
    finish: None,
};

/// The registers of a copy.
#[derive(Copy, Clone)]
pub(super) struct Pair {
    pub(super) to: RegId,
    pub(super) from: RegId,
}

/// If a register has more writes than this, only those in the block of the copy are examined.
const MAX_WRITES: usize = 64;

/// Decides at which statements copies of registers are still valid.
pub(super) struct Copies<'a> {
    view: &'a View<'a>,
    /// The values of each variable that statements define.
    writes: Csr,
}

impl<'a> Copies<'a> {
    pub(super) fn new(view: &'a View<'a>) -> Self {
        let writes: Vec<(u32, u32)> = view
            .ssa
            .values()
            .filter_map(|(id, value)| match value {
                Value::Def { variable, .. } => Some((variable.as_u32(), id.as_u32())),
                _ => None,
            })
            .collect();
        let variables = view.variables.len() + 1;
        Self {
            view,
            writes: Csr::new(variables, writes.iter().copied()),
        }
    }

    /// The registers of a copy of the whole width, which may be guarded.
    pub(super) fn pair(&self, stmt: StmtId) -> Option<Pair> {
        let view = self.view;
        let (inst, f) = view.inst(stmt)?;
        let signature = view.module().signature(view.body().inst(inst)?.sig);
        let is_movable_copy = is_copy(signature.opcode()?) && f.may_be_moved();
        let mut parts = f.parts();
        let operands = (parts.next()?, parts.next()?, parts.next());
        let ((Operand::Reg(to), RegAccess::Write), (Operand::Reg(from), RegAccess::Read), None) =
            operands
        else {
            return None;
        };
        let width = signature.types().next().map(ScalarType::bits);
        let register_width = |register| Some(view.variables.class(view.scalar(register)?)?.bits());
        let copies_all_bits =
            width.is_some() && register_width(to) == width && register_width(from) == width;
        (is_movable_copy && copies_all_bits).then_some(Pair { to, from })
    }

    /// Whether a register that the statement `since` reads and does not write still has that value at `stmt`, which `since`
    /// dominates.
    pub(super) fn holds(&self, register: RegId, since: StmtId, stmt: StmtId) -> bool {
        let view = self.view;
        let Some(variable) = view.scalar(register) else {
            return false;
        };
        let writes = self.writes.row(variable.as_u32());
        let writing_statement = |id: u32| match view.ssa.value(ValueId::new(id)) {
            Value::Def { stmt, .. } => stmt,
            _ => since,
        };
        let block = view.cfg.of_statement(since);
        if block.is_some() && block == view.cfg.of_statement(stmt) && view.precedes(since, stmt) {
            // Writes are in the order of the statements. The statement itself may be the first of them.
            let next = writes.partition_point(|id| view.precedes(writing_statement(*id), since));
            return !writes
                .get(next)
                .is_some_and(|id| view.precedes(writing_statement(*id), stmt));
        }
        let mut writes = writes.iter().map(|id| writing_statement(*id));
        writes.len() <= MAX_WRITES && !writes.any(|w| w == since || view.dominates(since, w))
    }

    /// The register to read instead of `register` in a statement: the first of a chain of copies that is still valid there.
    fn source(&self, stmt: StmtId, register: RegId, roots: &[Option<RegId>]) -> Option<RegId> {
        let value = self.view.read(stmt, register)?;
        let Value::Def {
            stmt: copy,
            old: None,
            ..
        } = self.view.ssa.value(value)
        else {
            return None;
        };
        let pair = self.pair(copy).filter(|p| p.to == register)?;
        let root = roots.get(value.as_u32() as usize).copied().flatten();
        let is_valid = |source: &RegId| *source != register && self.holds(*source, copy, stmt);
        root.filter(is_valid).or(Some(pair.from).filter(is_valid))
    }
}

pub(super) fn plan(view: &View<'_>) -> Vec<Step> {
    let copies = Copies::new(view);
    // For each copy, the register that its source was copied from.
    let mut roots: Vec<Option<RegId>> = vec![None; view.ssa.len()];
    let mut steps = Vec::new();
    for (stmt, inst, f) in view.reached().filter(|(_, _, f)| f.is_known()) {
        if !f.asynchronous().is_empty() {
            continue;
        }
        if let Some(Pair { to, from }) = copies.pair(stmt) {
            if to == from {
                let why = format!("{} is copied to itself", view.name(to));
                let rewrite = Rewrite::Remove;
                steps.push(Step { stmt, rewrite, why });
                continue;
            }
            let root = copies.source(stmt, from, &roots);
            for def in view.ssa.defs(stmt) {
                if let Some(slot) = roots.get_mut(def.as_u32() as usize) {
                    *slot = root;
                }
            }
        }
        let mut examined: Vec<RegId> = Vec::new();
        for place in f.reads() {
            if place.component.is_some() || examined.contains(&place.register) {
                continue;
            }
            examined.push(place.register);
            let Some(new) = copies.source(stmt, place.register, &roots) else {
                continue;
            };
            let old = place.register;
            // The operands of a call must have the types of its signature, which is not examined here.
            let declared_type = |r| view.body().reg_decl_of(r).and_then(|d| d.ty.known());
            let have_same_type = declared_type(old) == declared_type(new);
            let places = view
                .body()
                .operands(inst)
                .iter()
                .enumerate()
                .filter(|(index, _)| f.usage(*index) == Some(RegAccess::Read))
                .filter(|(_, operand)| have_same_type || !matches!(operand, Operand::List(_)))
                .map(|(index, _)| index)
                .collect();
            let rewrite = Rewrite::Read { old, new, places };
            let why = format!("{} is a copy of {}", view.name(old), view.name(new));
            steps.push(Step { stmt, rewrite, why });
        }
    }
    steps
}
