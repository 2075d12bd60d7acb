//! The contents of variables that only the function accesses: stack slots, arguments and results of calls.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use ptx_ir::{EntityId as _, StmtId, VarId};

use super::lattice::AbstractValue;

/// The maximum number of tracked slots of a variable.
const MAX_SLOTS: usize = 4096;

/// The maximum number of bytes of an access.
const MAX_BYTES: i64 = 16;

/// A part of a variable that is accessed as a whole.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Slot {
    /// The offset of its first byte.
    pub(super) offset: i64,
    /// The number of its bytes.
    pub(super) bytes: u64,
}

impl Slot {
    fn end(self) -> i64 {
        self.offset.saturating_add(self.bytes as i64)
    }
}

/// A variable.
#[derive(Clone, Debug, Default)]
struct Variable {
    /// The join of the values that are stored to each slot.
    slots: BTreeMap<Slot, AbstractValue>,
    /// Something else than loads and stores of this function may access it: its slots are not tracked.
    is_shared: bool,
    /// The variables whose addresses are stored in it.
    stored_addresses: BTreeSet<VarId>,
    /// The statements that loaded from it before it was shared.
    loads: BTreeSet<StmtId>,
}

/// The variables of a function.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    variables: Vec<Variable>,
    /// The variables that changed since [`take_changed_loads`](Self::take_changed_loads).
    changed: Vec<VarId>,
}

impl Slots {
    pub(super) fn new(variables: usize) -> Self {
        Self {
            variables: vec![Variable::default(); variables],
            changed: Vec::new(),
        }
    }

    /// Takes the statements that loaded from variables which changed afterwards.
    pub(super) fn take_changed_loads(&mut self) -> BTreeSet<StmtId> {
        let mut loads = BTreeSet::new();
        for id in core::mem::take(&mut self.changed) {
            if let Some(variable) = self.variables.get_mut(id.index()) {
                loads.append(&mut variable.loads);
            }
        }
        loads
    }

    /// Something else may read and write a variable, and those whose addresses are in it.
    pub(super) fn escape(&mut self, variable: VarId) {
        let mut worklist = vec![variable];
        while let Some(id) = worklist.pop() {
            let Some(variable) = self.variables.get_mut(id.index()) else {
                continue;
            };
            if !variable.is_shared {
                variable.is_shared = true;
                variable.slots.clear();
                worklist.extend(core::mem::take(&mut variable.stored_addresses));
                self.changed.push(id);
            }
        }
    }

    /// Something else may read and write all variables.
    pub(super) fn escape_all(&mut self) {
        for index in 0..self.variables.len() {
            self.escape(VarId::new(index as u32));
        }
    }

    /// Records a store to a slot; `None` is an unknown part of the variable. `address_of` is the variable whose address is stored.
    pub(super) fn store(
        &mut self,
        id: VarId,
        slot: Option<Slot>,
        value: AbstractValue,
        address_of: Option<VarId>,
    ) {
        let variable = self.variables.get_mut(id.index());
        let tracked = variable.zip(slot).filter(|(variable, slot)| {
            !variable.is_shared
                && variable.slots.len() < MAX_SLOTS
                && !overlaps(&variable.slots, *slot)
        });
        let Some((variable, slot)) = tracked else {
            self.escape(id);
            address_of
                .into_iter()
                .for_each(|stored| self.escape(stored));
            return;
        };
        let content = variable
            .slots
            .entry(slot)
            .or_insert(AbstractValue::Undefined);
        let joined = content.join(value);
        let is_new = address_of.is_some_and(|stored| variable.stored_addresses.insert(stored));
        if joined != *content || is_new {
            *content = joined;
            self.changed.push(id);
        }
    }

    /// The value that a statement loads from a slot; `None` is an unknown part of the variable. The statement is visited again if the value changes.
    pub(super) fn load(&mut self, stmt: StmtId, id: VarId, slot: Option<Slot>) -> AbstractValue {
        if let Some(variable) = self.variables.get_mut(id.index())
            && !variable.is_shared
        {
            variable.loads.insert(stmt);
        }
        self.content(id, slot)
    }

    /// The join of the values in a slot; `None` is an unknown part of the variable.
    pub(super) fn content(&mut self, id: VarId, slot: Option<Slot>) -> AbstractValue {
        let variable = self.variables.get(id.index());
        let Some(variable) = variable.filter(|variable| !variable.is_shared) else {
            return AbstractValue::AddressOrNumber;
        };
        if let Some(slot) = slot {
            if let Some(content) = variable.slots.get(&slot) {
                return *content;
            }
            if !overlaps(&variable.slots, slot) {
                return AbstractValue::Undefined;
            }
        }
        // A part of several slots, or any slot.
        if !variable.stored_addresses.is_empty() {
            self.escape(id);
        }
        AbstractValue::AddressOrNumber
    }
}

/// Returns whether other slots have bytes in common with `slot`. Slots have at most [`MAX_BYTES`] bytes.
fn overlaps(slots: &BTreeMap<Slot, AbstractValue>, slot: Slot) -> bool {
    let first = Slot {
        offset: slot.offset.saturating_sub(MAX_BYTES),
        bytes: 0,
    };
    let end = Slot {
        offset: slot.end(),
        bytes: 0,
    };
    let mut near = slots.range(first..end);
    near.any(|(&other, _)| other != slot && other.end() > slot.offset)
}
