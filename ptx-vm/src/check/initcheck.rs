//! `initcheck`: reads of uninitialized memory and registers.

use super::checkers::Checkers;
use super::memcheck::describe_access;
use super::register_tracking::RegisterTracking;
use super::report::{Actor, Text};
use super::sites::Sites;
use super::tensor_memory::unwritten_cell;
use super::uninitialized::{Origin, Traced, UnwrittenRead};
use super::written_bytes::WrittenBytes;
use crate::execute::{
    Block, CallFrame, Execution, Grid, LaneStep, Memory, Touch, Use, addend_predicate, determined,
};
use crate::lanes::{Place, lanes};
use crate::program::{Argument, Callee, Function, Step};
use ptx_ir::Code;

/// The longest range that is compared as a whole.
const MOST_RANGE_BYTES: u64 = 1 << 12;

impl Checkers {
    /// Checks that the bytes of reads were written, and records those of writes. Bytes that are only copied, such as the padding of structures, stay
    /// unwritten in the copy.
    pub(super) fn initcheck(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, allowed: u32) {
        self.track_memory(execution, touch, allowed);
        let site = self
            .sites
            .number(execution.function_id, execution.step_index);
        let (passive, copied) = self
            .sites
            .get(site)
            .map_or((0, 0), |site| (site.passive_elements, site.copied_elements));
        if passive != 0 && touch.usage == Use::Read {
            self.load_copied_elements(execution, touch, allowed, passive);
        }
        self.check_written(execution, touch, allowed, site);
        if copied != 0 && touch.usage == Use::Write {
            self.store_copied_elements(execution, touch, allowed, copied);
        }
    }

    /// Records the unwritten bytes of elements that are loaded only to be stored. If no byte of an access was written, the load is reported instead.
    fn load_copied_elements(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
        elements: u32,
    ) {
        let Some(Step::Load(access)) = current_step(execution) else {
            return;
        };
        let Some(written) = self.written(execution, touch.memory) else {
            return;
        };
        let mut unwritten = Vec::new();
        for lane in lanes(allowed) {
            let address = touch.addresses[lane];
            let is_reported = !written.has_any(address, touch.bytes);
            for (element, place) in (0u32..).zip(&access.places) {
                let Some(place) = place.filter(|_| elements >> element & 1 == 1) else {
                    continue;
                };
                let start = address.saturating_add(u64::from(element) * touch.element);
                let bytes = (0..touch.element.min(16))
                    .filter(|byte| {
                        written
                            .first_missing(start.saturating_add(*byte), 1)
                            .is_some()
                    })
                    .fold(0u16, |bytes, byte| bytes | 1 << byte);
                unwritten.push((place, lane, if is_reported { 0 } else { bytes }));
            }
        }
        let warp = self.own_warp(execution);
        for (place, lane, bytes) in unwritten {
            warp.set_copied(execution.call, place, lane, bytes);
        }
    }

    /// Makes stored bytes unwritten that were unwritten where they were loaded.
    fn store_copied_elements(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
        elements: u32,
    ) {
        let Some(Step::Store(access)) = current_step(execution) else {
            return;
        };
        let warp = self.own_warp(execution);
        let mut unwritten = Vec::new();
        for lane in lanes(allowed) {
            for (element, place) in (0u32..).zip(&access.places) {
                let Some(place) = place.filter(|_| elements >> element & 1 == 1) else {
                    continue;
                };
                let bytes = warp.copied(execution.call, place, lane);
                let start =
                    touch.addresses[lane].saturating_add(u64::from(element) * touch.element);
                for byte in 0..touch.element.min(16) {
                    if bytes >> byte & 1 == 1 {
                        unwritten.push(start.saturating_add(byte));
                    }
                }
            }
        }
        if let Some(written) = self.written(execution, touch.memory) {
            for address in unwritten {
                written.remove(address, 1);
            }
        }
    }

    /// Reports the lanes that read unwritten bytes, and records written bytes.
    fn check_written(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
        site_number: u32,
    ) {
        let is_local = touch.memory == Memory::Local;
        let sites = std::sync::Arc::clone(&self.sites);
        let site = sites.get(site_number);
        let defers = touch.memory != Memory::Global
            && touch.usage == Use::Read
            && site.is_some_and(|s| s.defers);
        if touch.memory == Memory::Global {
            self.count_written();
        }
        if !is_local && self.is_all_written(execution, touch, allowed) {
            return;
        }
        let needed = site.map_or(NeededBytes::ALL, |s| NeededBytes {
            used_bytes: if s.masked || is_local && s.copied {
                Some(0)
            } else {
                s.used_bytes
            },
            passive_elements: s.passive_elements,
        });
        let mut missing = Vec::new();
        let mut check_lane = |written: &mut WrittenBytes, lane: usize| {
            let unwritten = needed.unwritten(written, touch, lane);
            if touch.usage != Use::Read || unwritten.is_some() && !defers {
                // Each byte is reported once.
                written.insert(touch.addresses[lane], touch.bytes);
            }
            missing.extend(unwritten.map(|unwritten| (lane, unwritten)));
        };
        let mut growth = 0;
        if is_local {
            let stacks = &mut self.own_warp(execution).stacks;
            for lane in lanes(allowed) {
                let memory_before = stacks[lane].memory();
                check_lane(&mut stacks[lane], lane);
                growth += stacks[lane].memory().saturating_sub(memory_before);
            }
        } else if let Some(written) = self.written(execution, touch.memory) {
            let memory_before = written.memory();
            lanes(allowed).for_each(|lane| check_lane(written, lane));
            growth = written.memory().saturating_sub(memory_before);
        }
        if touch.memory != Memory::Global {
            self.count_growth(execution, touch.memory, growth);
        }
        if is_local {
            // The padding of structures is copied with them.
            missing.retain(|(_, unwritten)| unwritten.lacks_element);
        }
        // An instruction that copies many bytes is one access.
        missing.retain(|(lane, _)| self.unwritten >> lane & 1 == 0);
        if defers {
            // A register has one origin: that of the first lane.
            missing.reverse();
        }
        for (lane, unwritten) in missing {
            self.unwritten |= 1 << lane;
            let read = UnwrittenRead {
                usage: touch.usage,
                memory: touch.memory,
                address: touch.addresses[lane],
                bytes: touch.bytes,
                missing: unwritten.first,
            };
            if defers {
                let origin = Origin::Memory {
                    site: site_number,
                    read,
                };
                self.track_unwritten_result(execution, lane, unwritten.elements, origin);
            } else {
                self.report(execution, Code::UnwrittenMemory, lane, || read.text());
            }
        }
    }

    /// Whether all bytes of the range that lanes access in a memory that all lanes share were written before, or are written by this access, which is
    /// recorded in this case.
    fn is_all_written(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        allowed: u32,
    ) -> bool {
        let range = touch.range(allowed);
        let bytes = range.end.saturating_sub(range.start);
        let Some(written) = self.written(execution, touch.memory) else {
            return true;
        };
        if bytes > MOST_RANGE_BYTES {
            return false;
        }
        if touch.usage == Use::Write && touch.is_row(allowed, range.start) {
            written.insert(range.start, bytes);
            return true;
        }
        written.first_missing(range.start, bytes).is_none()
    }

    /// Records that elements of the result of a load are uninitialized in a lane.
    fn track_unwritten_result(
        &mut self,
        execution: &Execution<'_>,
        lane: usize,
        elements: u32,
        origin: Origin,
    ) {
        let sites = std::sync::Arc::clone(&self.sites);
        let number = sites.number(execution.function_id, execution.step_index);
        let Some(site) = sites.get(number) else {
            return;
        };
        let variables = sites.variables(execution.function_id);
        self.follows_loads |= matches!(origin, Origin::Memory { .. });
        let registers = self
            .own_warp(execution)
            .registers(execution.call, variables);
        for &register in &site.writes {
            let element = (0..32u32)
                .zip(&site.elements)
                .find(|(_, element)| **element == Some(register));
            if element.is_some_and(|(element, _)| elements >> element & 1 == 0) {
                continue;
            }
            if let Some(tracked) = registers.get_mut(register as usize) {
                tracked.initialized &= !(1 << lane);
                tracked.determined_bits = 0;
                tracked.origin = Some(Traced {
                    origin,
                    thread: None,
                });
            }
        }
    }

    /// Checks that the registers that lanes of a warp need are initialized, and records those that they write.
    pub(super) fn check_registers(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        warp: u32,
        step: LaneStep,
        call: &CallFrame,
    ) {
        let sites = std::sync::Arc::clone(&self.sites);
        let site_number = sites.number(step.function, step.index);
        let Some(site) = sites.get(site_number) else {
            return;
        };
        if !site.is_tracked(self.follows_loads) {
            return;
        }
        let block = grid.linear(block.index);
        let variables = sites.variables(step.function);
        let state = self.block(grid, block);
        let mut tracking = RegisterTracking {
            registers: state.registers(warp, step.call, variables),
            variables,
            site,
            site_number,
            unread: unread_addend(grid, step, call),
        };
        let Some(needed) = tracking.execute(step, |unknown, results| {
            determined(grid, step, call, unknown, results)
        }) else {
            return;
        };
        let thread = warp + needed.lanes.trailing_zeros();
        self.report_needed(grid, block, thread, needed.traced);
    }

    /// Reports that a thread needs an uninitialized value.
    pub(super) fn report_needed(
        &mut self,
        grid: &Grid<'_>,
        block: u64,
        thread: u32,
        traced: Traced,
    ) {
        let Traced {
            origin,
            thread: source,
        } = traced;
        let (code, site) = match origin {
            Origin::Register { site, .. } => (Code::UnsetRegister, site),
            Origin::Memory { site, .. } | Origin::TensorMemory { site, .. } => {
                (Code::UnwrittenMemory, site)
            }
        };
        let actor = Actor {
            site,
            block,
            thread: source.unwrap_or(thread),
        };
        let sites = std::sync::Arc::clone(&self.sites);
        self.reports
            .add(grid, &sites, code, actor, || origin.text(&sites));
    }

    /// Records the stack bytes and registers that calls write.
    pub(super) fn record_calls(&mut self, execution: &Execution<'_>) {
        let Some(Step::Call(call)) = current_step(execution) else {
            return;
        };
        let caller_base = execution.frame();
        for (callee, mask) in execution.callees() {
            let Some(frame) = execution.call_frame(callee) else {
                continue;
            };
            let Some(function) = execution.grid.program.function(frame.function) else {
                continue;
            };
            let base = frame.base;
            let mut written: Vec<(u64, u64)> = Vec::new();
            for (result, parameter) in call.results.iter().zip(&function.frame.results) {
                if let Argument::Memory(offset) = result {
                    written.push((caller_base + offset, parameter.bytes));
                }
            }
            if let Some(offset) = function.frame.unsized_parameter {
                written.push((base + offset, call.last_bytes));
            }
            self.enter_call(execution, callee, mask, function, base, &written);
        }
        if let Callee::System(_) = call.callee
            && let Some(Argument::Memory(offset)) = call.results.first()
        {
            let stacks = &mut self.own_warp(execution).stacks;
            for lane in lanes(execution.active) {
                stacks[lane].insert(caller_base + offset, 8);
            }
        }
    }

    /// Records that the frame of a called function, which begins at `base`, contains its parameters only. `written` are other ranges of the stack that
    /// the call writes, by their start and length.
    fn enter_call(
        &mut self,
        execution: &Execution<'_>,
        call: usize,
        mask: u32,
        function: &Function,
        base: u64,
        written: &[(u64, u64)],
    ) {
        let warp = self.own_warp(execution);
        for lane in lanes(mask) {
            let stack = &mut warp.stacks[lane];
            stack.remove(base, function.frame.bytes);
            warp.tainted[lane].remove(base, function.frame.bytes);
            for parameter in &function.frame.parameters {
                if let Argument::Memory(offset) = parameter.place {
                    stack.insert(base + offset, parameter.bytes);
                }
            }
            for &(start, bytes) in written {
                stack.insert(start, bytes);
            }
        }
        warp.forget_registers(call);
    }
}

/// The step that is executed.
pub(super) fn current_step<'e>(execution: &Execution<'e>) -> Option<&'e Step> {
    let target = execution
        .function
        .steps
        .get(execution.step_index as usize)?;
    Some(&target.step)
}

/// The bytes of a read that have to be written.
struct NeededBytes {
    /// The mask of the used bytes, if it is known.
    used_bytes: Option<u32>,
    /// The elements that are unused or only stored. They matter if no byte of the access was written.
    passive_elements: u32,
}

/// The unwritten bytes of an access of a lane.
struct Unwritten {
    /// The address of the first unwritten byte.
    first: u64,
    /// The elements with unwritten bytes: a bit for each.
    elements: u32,
    /// No byte of some element was written.
    lacks_element: bool,
}

impl NeededBytes {
    const ALL: Self = Self {
        used_bytes: None,
        passive_elements: 0,
    };

    /// The unwritten bytes that a lane needs; `None` if all bytes are written.
    fn unwritten(
        &self,
        written: &WrittenBytes,
        touch: &Touch<'_>,
        lane: usize,
    ) -> Option<Unwritten> {
        let (start, bytes) = (touch.addresses[lane], touch.bytes);
        if touch.usage == Use::Write {
            return None;
        }
        let first = written.first_missing(start, bytes)?;
        if let Some(used_bytes) = self.used_bytes.filter(|_| touch.usage == Use::Read) {
            let first = (0..bytes.min(32))
                .filter(|byte| used_bytes >> byte & 1 == 1)
                .find_map(|byte| written.first_missing(start.saturating_add(byte), 1))?;
            return Some(Unwritten {
                first,
                elements: u32::MAX,
                lacks_element: true,
            });
        }
        let element_bytes = touch.element.max(1);
        let mut elements = 0;
        for element in 0..bytes.div_ceil(element_bytes).min(32) {
            let element_start = start.saturating_add(element * element_bytes);
            let is_missing = written
                .first_missing(element_start, element_bytes)
                .is_some();
            elements |= u32::from(is_missing) << element;
        }
        let is_read_of_elements = touch.usage == Use::Read && touch.element != 0;
        if is_read_of_elements
            && elements & !self.passive_elements == 0
            && written.has_any(start, bytes)
        {
            return None;
        }
        Some(Unwritten {
            first,
            elements,
            lacks_element: written.lacks_element(start, bytes, touch.element),
        })
    }
}

impl Origin {
    /// The text of a report about a value with this origin.
    fn text(&self, sites: &Sites) -> Text {
        match *self {
            Self::Register { site, register } => {
                let (function, _) = sites.place(site);
                let variable = sites.variables(function).get(register as usize);
                let name = variable.map_or("", |v| &v.name);
                Text {
                    message: format!("{name} is read but was never written by this thread"),
                    other: None,
                    help: "write the register on every path to this instruction",
                }
            }
            Self::Memory { read, .. } => read.text(),
            Self::TensorMemory { cell, .. } => unwritten_cell(cell, None),
        }
    }
}

impl UnwrittenRead {
    fn text(&self) -> Text {
        let access = describe_access(self.usage, self.bytes);
        let (address, missing) = (self.address, self.missing);
        let memory = match self.memory {
            Memory::Global => "global",
            Memory::Shared(_) => "shared",
            Memory::Local => "local",
            Memory::Parameter => "parameter",
        };
        Text {
            message: format!(
                "{access} at {address:#x} in {memory} memory includes the uninitialized byte at {missing:#x}"
            ),
            other: None,
            help: "write the memory before the read, on every path and in every thread",
        }
    }
}

/// The registers of an addend that an instruction does not read, since its predicate is false.
fn unread_addend<'a>(grid: &Grid<'a>, step: LaneStep, call: &CallFrame) -> &'a [Place] {
    let target = grid
        .program
        .function(step.function)
        .and_then(|function| function.steps.get(step.index as usize));
    let Some(Step::Act(act)) = target.map(|target| &target.step) else {
        return &[];
    };
    match addend_predicate(act) {
        Some((predicate, places))
            if lanes(step.active).all(|lane| call.registers.get(predicate, lane) == 0) =>
        {
            places
        }
        _ => &[],
    }
}
