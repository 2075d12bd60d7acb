//! `initcheck`: uninitialized values that pass through the memory of a CTA or of a thread.

use super::checkers::Checkers;
use super::initcheck::current_step;
use super::uninitialized::{Origin, TaintedBytes, Traced};
use crate::execute::{Execution, Memory, Touch, Use};
use crate::lanes::lanes;
use crate::program::Step;

/// The elements of an access of one lane.
struct Elements<'a> {
    /// The number of the tracked register of each element, if it has one.
    registers: &'a [Option<u32>],
    /// The bytes of an element.
    bytes: u64,
}

impl Elements<'_> {
    /// The register and the address of each element with a tracked register, if the first element is at `start`.
    fn tracked(&self, start: u64) -> impl Iterator<Item = (u32, u64)> {
        (0..)
            .zip(self.registers)
            .filter_map(move |(element, register)| {
                Some(((*register)?, start.wrapping_add(element * self.bytes)))
            })
    }
}

impl Checkers {
    /// Tracks values that lanes store to memory of the CTA or the thread, or load from it.
    pub(super) fn track_memory(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
    ) {
        let is_tracked = matches!(touch.memory, Memory::Shared(_) | Memory::Local);
        if !is_tracked || !self.sites.tracks_memory(self.follows_loads) {
            return;
        }
        let sites = std::sync::Arc::clone(&self.sites);
        let site_number = sites.number(execution.function_id, execution.step_index);
        let elements = Elements {
            registers: sites
                .get(site_number)
                .map_or(&[][..], |site| &site.elements),
            bytes: touch.element,
        };
        match touch.usage {
            Use::Read if elements.registers.is_empty() => {
                self.check_tainted(execution, touch, allowed)
            }
            Use::Read => self.track_load(execution, touch, allowed, &elements),
            Use::Write => self.track_store(execution, touch, allowed, &elements, site_number),
            Use::ReadWrite => self.check_tainted(execution, touch, allowed),
        }
    }

    /// Reports lanes that use all bytes of an access, of which some have values that were loaded from memory that was never written.
    fn check_tainted(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, allowed: u32) {
        let is_load = matches!(current_step(execution), Some(Step::Load(_)));
        if is_load || !self.has_tainted_bytes(execution, touch.memory, allowed) {
            return;
        }
        for lane in lanes(allowed) {
            let Some(tainted) = self.tainted_bytes(execution, touch.memory, lane) else {
                continue;
            };
            let origin = tainted.first_origin(touch.addresses[lane], touch.bytes);
            if let Some(traced) =
                origin.filter(|traced| matches!(traced.origin, Origin::Memory { .. }))
            {
                tainted.remove(touch.addresses[lane], touch.bytes);
                let block = execution.grid.linear(execution.block.index);
                let thread = execution.warp.first + lane as u32;
                self.report_needed(execution.grid, block, thread, traced);
            }
        }
    }

    fn track_load(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
        elements: &Elements<'_>,
    ) {
        if !self.has_tainted_bytes(execution, touch.memory, allowed) {
            return;
        }
        let sites = std::sync::Arc::clone(&self.sites);
        let variables = sites.variables(execution.function_id);
        // The origin of the first lane is reported.
        let mut registers_with_origin = Vec::new();
        for lane in lanes(allowed) {
            let Some(tainted) = self.tainted_bytes(execution, touch.memory, lane) else {
                continue;
            };
            let loaded: Vec<(u32, Traced)> = elements
                .tracked(touch.addresses[lane])
                .filter_map(|(register, address)| {
                    Some((register, tainted.origin(address, touch.element)?))
                })
                .collect();
            let registers = self
                .own_warp(execution)
                .registers(execution.call, variables);
            for (register, origin) in loaded {
                if let Some(tracked) = registers.get_mut(register as usize) {
                    tracked.initialized &= !(1 << lane);
                    if !registers_with_origin.contains(&register) {
                        tracked.origin = Some(origin);
                        registers_with_origin.push(register);
                    }
                }
            }
        }
    }

    fn track_store(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
        elements: &Elements<'_>,
        site: u32,
    ) {
        let sites = std::sync::Arc::clone(&self.sites);
        let variables = sites.variables(execution.function_id);
        let registers = self
            .own_warp(execution)
            .registers(execution.call, variables);
        let are_initialized = elements.registers.iter().flatten().all(|&register| {
            registers
                .get(register as usize)
                .is_none_or(|tracked| allowed & !tracked.initialized == 0)
        });
        if are_initialized && !self.has_tainted_bytes(execution, touch.memory, allowed) {
            return;
        }
        for lane in lanes(allowed) {
            let thread = execution.warp.first + lane as u32;
            let registers = self
                .own_warp(execution)
                .registers(execution.call, variables);
            let stored: Vec<(u64, Traced)> = elements
                .tracked(touch.addresses[lane])
                .filter_map(|(register, address)| {
                    let tracked = registers.get(register as usize)?;
                    let origin = tracked.origin_in_lane(lane, site, register, thread)?;
                    Some((address, origin))
                })
                .collect();
            let Some(tainted) = self.tainted_bytes(execution, touch.memory, lane) else {
                continue;
            };
            let memory_before = tainted.memory();
            tainted.remove(touch.addresses[lane], touch.bytes);
            for (address, origin) in stored {
                tainted.insert(address, touch.element, origin);
            }
            let growth = tainted.memory().saturating_sub(memory_before);
            self.count_growth(execution, touch.memory, growth);
        }
    }

    /// Counts that the sets of bytes of a memory of a CTA or of a thread grew.
    pub(super) fn count_growth(&mut self, execution: &Execution<'_>, memory: Memory, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let state = match memory {
            Memory::Shared(rank) => self.block_of_rank(execution, rank).1,
            _ => self.block(execution.grid, execution.grid.linear(execution.block.index)),
        };
        state.count_growth(bytes);
    }

    /// Whether a memory contains uninitialized values, of any lane of a mask.
    fn has_tainted_bytes(&mut self, execution: &Execution<'_>, memory: Memory, mask: u32) -> bool {
        match memory {
            Memory::Shared(rank) => !self.block_of_rank(execution, rank).1.tainted.is_empty(),
            Memory::Local => {
                let tainted = &self.own_warp(execution).tainted;
                lanes(mask).any(|lane| tainted.get(lane).is_some_and(|bytes| !bytes.is_empty()))
            }
            Memory::Global | Memory::Parameter => false,
        }
    }

    fn tainted_bytes(
        &mut self,
        execution: &Execution<'_>,
        memory: Memory,
        lane: usize,
    ) -> Option<&mut TaintedBytes> {
        match memory {
            Memory::Shared(rank) => Some(&mut self.block_of_rank(execution, rank).1.tainted),
            Memory::Local => self.own_warp(execution).tainted.get_mut(lane),
            Memory::Global | Memory::Parameter => None,
        }
    }
}
