//! Shared memory during an execution: numbers that the slice stores at constant addresses, such as the work that each warp is given.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::Operand;
use ptx_ir::facts::{Facts, MemoryAccess, Space};
use ptx_isa::{Access, StateSpace};

use super::machine::Machine;
use super::values::{LaneMask, Value};
use crate::values::VariableRef;

/// The bytes that were stored, by their addresses. Other bytes are unknown.
#[derive(Clone, Debug, Default)]
pub(super) struct SharedMemory(BTreeMap<u64, u8>);

impl SharedMemory {
    /// Stores the low bytes of a number; they are unknown afterwards if the number is.
    fn store(&mut self, address: u64, bytes: u64, number: Option<u64>) {
        for (place, index) in (0..bytes.min(8)).map(|index| (address.wrapping_add(index), index)) {
            match number {
                Some(number) => self.0.insert(place, (number >> (8 * index)) as u8),
                None => self.0.remove(&place),
            };
        }
    }

    /// The number in memory. Narrow numbers that may be negative are unknown.
    fn load(&self, address: u64, bytes: u64) -> Option<u64> {
        if !(1..=8).contains(&bytes) {
            return None;
        }
        let number = (0..bytes).try_fold(0, |number, index| {
            let byte = self.0.get(&address.wrapping_add(index))?;
            Some(number | u64::from(*byte) << (8 * index))
        })?;
        let is_negative = number >> (8 * bytes - 1) & 1 == 1;
        (bytes >= 4 || !is_negative).then_some(number)
    }
}

fn is_shared(access: &MemoryAccess) -> bool {
    matches!(access.space, Space::State(space) if space.base() == StateSpace::Shared)
        && !access.is_mbarrier
        && access.data.is_some()
}

/// The access of an instruction that loads registers from shared memory.
pub(super) fn shared_load(facts: Facts<'_>) -> Option<MemoryAccess> {
    facts
        .memory()
        .find(|access| access.access == Access::Read && is_shared(access))
}

/// The write of an instruction to shared memory.
pub(super) fn shared_write(facts: Facts<'_>) -> Option<MemoryAccess> {
    let is_shared =
        |space| matches!(space, Space::State(space) if space.base() == StateSpace::Shared);
    facts
        .memory()
        .find(|access| !access.is_mbarrier && access.writes() && is_shared(access.space))
}

/// The access of an instruction that reads shared memory before the next one is executed.
pub(super) fn shared_read(facts: Facts<'_>) -> Option<MemoryAccess> {
    let is_shared =
        |space| matches!(space, Space::State(space) if space.base() == StateSpace::Shared);
    let is_read = |access: &MemoryAccess| {
        access.access == Access::Read && !access.is_mbarrier && is_shared(access.space)
    };
    let mut accesses = facts.memory().filter(|_| facts.asynchronous().is_empty());
    let access = accesses.next().filter(is_read)?;
    (access.base.is_some() && accesses.next().is_none()).then_some(access)
}

/// The access of an instruction that stores registers at a constant address of a variable in shared memory.
pub(super) fn shared_store(facts: Facts<'_>) -> Option<MemoryAccess> {
    facts.memory().find(|access| {
        access.access == Access::Write
            && is_shared(access)
            && access.offset.is_some()
            && access
                .base
                .is_some_and(|base| VariableRef::of(base).is_some())
    })
}

impl Machine<'_> {
    /// The registers or numbers of an access, and the bytes of each.
    fn elements(&self, access: &MemoryAccess) -> Option<(Vec<Operand>, u64)> {
        let elements = match access.data? {
            (Operand::Vector(list), _) => self.function.body().pool().list(list).to_vec(),
            (operand, _) => vec![operand],
        };
        let bytes = access.bytes?.checked_div(elements.len() as u64)?;
        Some((elements, bytes))
    }

    /// Stores registers in shared memory.
    pub(super) fn store_shared(&mut self, index: usize, facts: Facts<'_>, access: &MemoryAccess) {
        let mask = self.guarded_lanes(index, facts);
        if mask == Some(0) {
            return;
        }
        let address = access
            .base
            .and_then(|base| self.operand(index, facts, base).get(0))
            .zip(access.offset)
            .map(|(base, offset)| base.wrapping_add_signed(offset));
        let (Some(address), Some((elements, bytes))) = (address, self.elements(access)) else {
            return;
        };
        for (element, number) in elements.into_iter().zip(0..) {
            let value = mask.and_then(|mask| self.operand(index, facts, element).uniform(mask));
            self.memory
                .store(address.wrapping_add(number * bytes), bytes, value);
        }
    }

    /// Loads registers from shared memory.
    pub(super) fn load_shared(
        &mut self,
        index: usize,
        facts: Facts<'_>,
        access: &MemoryAccess,
        mask: LaneMask,
    ) {
        let base = access.base.map(|base| self.operand(index, facts, base));
        let Some((elements, bytes)) = self.elements(access) else {
            return;
        };
        for (element, number) in elements.into_iter().zip(0..) {
            let Some(place) = facts.place(element) else {
                continue;
            };
            let value = Value::of_lanes(mask, |lane| {
                let address = base
                    .as_ref()?
                    .get(lane)?
                    .wrapping_add_signed(access.offset?);
                self.memory
                    .load(address.wrapping_add(number * bytes), bytes)
            });
            self.set_register(index, place, &value, mask);
        }
    }
}
