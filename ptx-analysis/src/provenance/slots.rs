//! The contents of variables that only the function accesses: stack slots, arguments and results of calls.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_ir::{EntityId as _, VarId};

use super::origin::Known;

/// The maximum number of tracked slots of a variable.
const MOST: usize = 4096;

/// A variable.
#[derive(Clone, Debug, Default)]
struct Variable {
    /// What was stored, by the offset and the number of bytes.
    slots: BTreeMap<(i64, u64), Known>,
    /// Whether it is accessed in other ways.
    is_shared: bool,
    /// The variables whose addresses are in it.
    holds: BTreeSet<VarId>,
}

/// The variables of a function.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    all: Vec<Variable>,
    pub(super) changed: bool,
}

impl Slots {
    pub(super) fn new(variables: usize) -> Self {
        Self {
            all: vec![Variable::default(); variables],
            changed: false,
        }
    }

    /// Something else may read and write a variable, and those whose addresses are in it.
    pub(super) fn escape(&mut self, variable: VarId) {
        let mut work = vec![variable];
        while let Some(next) = work.pop() {
            let Some(variable) = self.all.get_mut(next.index()) else {
                continue;
            };
            if !variable.is_shared {
                variable.is_shared = true;
                self.changed = true;
                variable.slots.clear();
                work.extend(core::mem::take(&mut variable.holds));
            }
        }
    }

    /// Something else may read and write all variables.
    pub(super) fn escape_all(&mut self) {
        for at in 0..self.all.len() {
            self.escape(VarId::new(at as u32));
        }
    }

    /// Notes a store at an offset. `held` is the variable whose address is stored.
    pub(super) fn store(
        &mut self,
        variable: VarId,
        at: (Option<i64>, u64),
        known: Known,
        held: Option<VarId>,
    ) {
        let of = self.all.get_mut(variable.index());
        let (Some(of), (Some(offset), bytes)) = (of, at) else {
            self.escape(variable);
            held.into_iter().for_each(|v| self.escape(v));
            return;
        };
        if of.is_shared || of.slots.len() >= MOST || overlaps(&of.slots, (offset, bytes)) {
            self.escape(variable);
            held.into_iter().for_each(|v| self.escape(v));
            return;
        }
        let slot = of.slots.entry((offset, bytes)).or_insert(Known::Nothing);
        let joined = slot.join(known);
        let is_new = held.is_some_and(|held| of.holds.insert(held));
        self.changed |= joined != *slot || is_new;
        *slot = joined;
    }

    /// What is loaded at an offset.
    pub(super) fn load(&mut self, variable: VarId, at: (Option<i64>, u64)) -> Known {
        let Some(of) = self.all.get(variable.index()).filter(|v| !v.is_shared) else {
            return Known::Any;
        };
        let (offset, bytes) = at;
        if let Some(found) = offset.and_then(|o| of.slots.get(&(o, bytes))) {
            return *found;
        }
        if offset.is_some_and(|o| !overlaps(&of.slots, (o, bytes))) {
            return Known::Nothing;
        }
        // A part of several slots, or any slot.
        if !of.holds.is_empty() {
            self.escape(variable);
        }
        Known::Any
    }
}

/// Whether other slots have bytes in common with one.
fn overlaps(slots: &BTreeMap<(i64, u64), Known>, (offset, bytes): (i64, u64)) -> bool {
    let end = offset.saturating_add(bytes as i64);
    let first = offset.saturating_sub(16);
    let mut near = slots.range((first, 0)..(end, 0));
    near.any(|(&(o, n), _)| (o, n) != (offset, bytes) && o.saturating_add(n as i64) > offset)
}
