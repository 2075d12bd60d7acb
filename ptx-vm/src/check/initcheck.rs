//! `initcheck`: reads of uninitialized memory and registers.

use super::checkers::Checkers;
use super::memcheck::access;
use super::report::{Actor, Text};
use super::sites::Site;
use super::state::{Followed, Origin, Traced, UnwrittenRead};
use super::unset::Variable;
use super::written_bytes::WrittenBytes;
use crate::execute::{
    CallFrame, Execution, Grid, Memory, Stepped, Touch, Unknown, Use, determined,
};
use crate::lanes::{Place, lanes};
use crate::program::{Argument, Callee, Function, Step};
use ptx_ir::Code;

/// The longest range that is compared as a whole.
const LONGEST: u64 = 1 << 12;

impl Checkers {
    /// Checks that the bytes of reads were written, and records those of writes. Bytes that are only copied, such as the padding of structures, stay
    /// unwritten in the copy.
    pub(super) fn initcheck(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, allowed: u32) {
        self.follow_memory(execution, touch, allowed);
        let site = self.sites.number(execution.id, execution.at);
        let (passive, copied) = self
            .sites
            .get(site)
            .map_or((0, 0), |site| (site.passive_elements, site.copied_elements));
        if passive != 0 && touch.usage == Use::Read {
            self.load_copied(execution, touch, (allowed, passive));
        }
        self.check_written(execution, touch, (allowed, site));
        if copied != 0 && touch.usage == Use::Write {
            self.store_copied(execution, touch, (allowed, copied));
        }
    }

    /// Records the unwritten bytes of elements that are loaded only to be stored. If no byte of an access was written, the load is reported instead.
    fn load_copied(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        (allowed, elements): (u32, u32),
    ) {
        let Some(Step::Load(access)) = execution
            .function
            .steps
            .get(execution.at as usize)
            .map(|s| &s.step)
        else {
            return;
        };
        let mut all = Vec::new();
        let Some(written) = self.written(execution, touch.memory) else {
            return;
        };
        for lane in lanes(allowed) {
            let address = touch.at[lane];
            let is_reported = !written.has_any(address, touch.bytes);
            for (element, place) in (0u32..).zip(&access.places) {
                let Some(place) = place.filter(|_| elements >> element & 1 == 1) else {
                    continue;
                };
                let start = address.saturating_add(u64::from(element) * touch.element);
                let missing = |byte: &u64| {
                    written
                        .first_missing(start.saturating_add(*byte), 1)
                        .is_some()
                };
                let bytes = (0..touch.element.min(16)).filter(missing);
                let bytes = bytes.fold(0u16, |all, byte| all | 1 << byte);
                all.push((place, lane, if is_reported { 0 } else { bytes }));
            }
        }
        let warp = self.own_warp(execution);
        for (place, lane, bytes) in all {
            warp.set_copied((execution.call, place), lane, bytes);
        }
    }

    /// Stored bytes that were not written where they come from count as unwritten.
    fn store_copied(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        (allowed, elements): (u32, u32),
    ) {
        let Some(Step::Store(access)) = execution
            .function
            .steps
            .get(execution.at as usize)
            .map(|s| &s.step)
        else {
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
                let start = touch.at[lane].saturating_add(u64::from(element) * touch.element);
                let missing = (0..touch.element.min(16)).filter(|byte| bytes >> byte & 1 == 1);
                unwritten.extend(missing.map(|byte| start.saturating_add(byte)));
            }
        }
        if let Some(written) = self.written(execution, touch.memory) {
            for byte in unwritten {
                written.remove(byte, 1);
            }
        }
    }

    fn check_written(
        &mut self,
        execution: &Execution<'_>,
        touch: &Touch<'_>,
        (allowed, site): (u32, u32),
    ) {
        let local = touch.memory == Memory::Local;
        let unused = |s: &Site| s.masked || local && s.copied;
        let masked = self.sites.get(site).is_some_and(unused);
        let defers = touch.memory != Memory::Global
            && touch.usage == Use::Read
            && self.sites.get(site).is_some_and(|s| s.defers);
        if touch.memory == Memory::Global {
            self.count_written();
        }
        if !local && self.all_written(execution, touch, allowed) {
            return;
        }
        let needed = self.sites.get(site).map_or(Needed::ALL, |s| Needed {
            used: if masked { Some(0) } else { s.used },
            passive_elements: s.passive_elements,
        });
        let mut missing = Vec::new();
        let mut more_memory = 0;
        let mut check = |written: &mut WrittenBytes, lane: usize| {
            let unwritten = needed.unwritten(written, touch, lane);
            if touch.usage != Use::Read || unwritten.is_some() && !defers {
                // Each byte is reported once.
                written.insert(touch.at[lane], touch.bytes);
            }
            missing.extend(unwritten.map(|unwritten| (lane, unwritten)));
        };
        if local {
            let stacks = &mut self.own_warp(execution).stacks;
            for lane in lanes(allowed) {
                let memory_before = stacks[lane].memory();
                check(&mut stacks[lane], lane);
                more_memory += stacks[lane].memory().saturating_sub(memory_before);
            }
        } else if let Some(written) = self.written(execution, touch.memory) {
            let memory_before = written.memory();
            lanes(allowed).for_each(|lane| check(written, lane));
            more_memory = written.memory().saturating_sub(memory_before);
        }
        if touch.memory != Memory::Global {
            self.count_more(execution, touch.memory, more_memory);
        }
        if local {
            // Padding of structures is copied with them.
            missing.retain(|(_, unwritten)| unwritten.lacks_element);
        }
        // An instruction that copies many bytes is one access.
        missing.retain(|(lane, _)| self.unwritten >> lane & 1 == 0);
        for (lane, unwritten) in missing {
            self.unwritten |= 1 << lane;
            let read = UnwrittenRead {
                usage: touch.usage,
                memory: touch.memory,
                at: touch.at[lane],
                bytes: touch.bytes,
                missing: unwritten.first,
            };
            if defers {
                self.postpone(
                    execution,
                    (lane, unwritten.elements),
                    Origin::Memory { site, read },
                );
            } else {
                self.report(execution, Code::UnwrittenMemory, lane, || read.text());
            }
        }
    }

    /// Whether all bytes were written, or are written now, of the range in which lanes access memory that all have.
    fn all_written(&mut self, execution: &Execution<'_>, touch: &Touch<'_>, allowed: u32) -> bool {
        let range = touch.range(allowed);
        let bytes = range.end.saturating_sub(range.start);
        let Some(written) = self.written(execution, touch.memory) else {
            return true;
        };
        if bytes > LONGEST {
            return false;
        }
        if touch.usage == Use::Write && touch.is_row(allowed, range.start) {
            written.insert(range.start, bytes);
            return true;
        }
        written.first_missing(range.start, bytes).is_none()
    }

    /// Records that the result of a load is uninitialized in a lane.
    fn postpone(
        &mut self,
        execution: &Execution<'_>,
        (lane, elements): (usize, u32),
        origin: Origin,
    ) {
        let sites = std::sync::Arc::clone(&self.sites);
        let Some(site) = sites.get(sites.number(execution.id, execution.at)) else {
            return;
        };
        let count = sites.variables(execution.id).len();
        let registers = self.own_warp(execution).registers(execution.call, count);
        for &variable in &site.writes {
            let mut elements_of_site = (0..32u32).zip(&site.elements);
            let element = elements_of_site.find(|(_, element)| **element == Some(variable));
            if element.is_some_and(|(element, _)| elements >> element & 1 == 0) {
                continue;
            }
            if let Some(followed) = registers.get_mut(variable as usize) {
                followed.known &= !(1 << lane);
                followed.origin = Some(Traced {
                    origin,
                    thread: None,
                });
            }
        }
    }

    /// Checks that the registers that lanes need are initialized, and records those that they write.
    pub(super) fn registers(
        &mut self,
        grid: &Grid<'_>,
        (index, warp): ([u32; 3], u32),
        (step, call): (Stepped, &CallFrame),
    ) {
        let site = self.sites.number(step.function, step.at);
        let follows = |s: &Site| !s.reads.is_empty() || !s.writes.is_empty();
        if !self.sites.get(site).is_some_and(follows) {
            return;
        }
        let sites = std::sync::Arc::clone(&self.sites);
        let Some(of) = sites.get(site) else { return };
        let block = grid.linear(index);
        let variables = sites.variables(step.function);
        let state = self.block(grid, block);
        let followed_registers = state.registers(warp, step.call, variables.len());
        let determined = |unknown: &[Unknown], results: &[Place]| {
            determined(grid, (step, call), unknown, results)
        };
        let followed = follow(followed_registers, (of, site), step, variables, &determined);
        let Some((Traced { origin, thread }, missing)) = followed else {
            return;
        };
        let (Origin::Register { site, .. } | Origin::Memory { site, .. }) = origin;
        let actor = Actor {
            site,
            block,
            thread: thread.unwrap_or(warp + missing.trailing_zeros()),
        };
        let code = match origin {
            Origin::Register { .. } => Code::UnsetRegister,
            Origin::Memory { .. } => Code::UnwrittenMemory,
        };
        let text = || match origin {
            Origin::Register { site, variable } => {
                let (function, _) = sites.place(site);
                unset(sites.variables(function).get(variable as usize))
            }
            Origin::Memory { read, .. } => read.text(),
        };
        self.reports.add((grid, &sites), code, actor, text);
    }

    /// Records the stack bytes and registers that calls write.
    pub(super) fn calls(&mut self, execution: &Execution<'_>) {
        let grid = execution.grid;
        let Some(Step::Call(call)) = execution
            .function
            .steps
            .get(execution.at as usize)
            .map(|s| &s.step)
        else {
            return;
        };
        let base = execution.frame();
        for (callee, mask) in execution.callees() {
            let Some(frame) = execution.call_frame(callee) else {
                continue;
            };
            let Some(function) = grid.program.function(frame.function) else {
                continue;
            };
            let start = frame.base;
            let results = call.results.iter().zip(&function.frame.results);
            let results = results.filter_map(|(result, parameter)| match result {
                Argument::Memory(offset) => Some((base + offset, parameter.bytes)),
                _ => None,
            });
            let variable = function.frame.variable;
            let variable = variable.map(|offset| (start + offset, call.last_bytes));
            let written: Vec<(u64, u64)> = results.chain(variable).collect();
            self.enter(execution, (callee, mask), (start, function), &written);
        }
        if let Callee::System(_) = call.callee
            && let Some(Argument::Memory(offset)) = call.results.first()
        {
            let stacks = &mut self.own_warp(execution).stacks;
            lanes(execution.active).for_each(|lane| stacks[lane].insert(base + offset, 8));
        }
    }

    /// The frame of a function that lanes call has only its parameters; other bytes are written by the call too.
    fn enter(
        &mut self,
        execution: &Execution<'_>,
        (call, mask): (usize, u32),
        (start, function): (u64, &Function),
        others: &[(u64, u64)],
    ) {
        let warp = self.own_warp(execution);
        for lane in lanes(mask) {
            let written = &mut warp.stacks[lane];
            written.remove(start, function.frame.bytes);
            warp.tainted[lane].clear(start, function.frame.bytes);
            for parameter in &function.frame.parameters {
                if let Argument::Memory(offset) = parameter.place {
                    written.insert(start + offset, parameter.bytes);
                }
            }
            for &(at, bytes) in others {
                written.insert(at, bytes);
            }
        }
        warp.forget_registers(call);
    }
}

/// The bytes of a read that have to be written.
struct Needed {
    /// The bytes that are used, if a pragma says so.
    used: Option<u32>,
    /// The elements that nothing uses, or that are only stored. They matter if no byte of the access was written.
    passive_elements: u32,
}

/// The unwritten bytes of an access of a lane.
struct Unwritten {
    first: u64,
    /// The elements with unwritten bytes: a bit for each.
    elements: u32,
    /// No byte of an element was written.
    lacks_element: bool,
}

impl Needed {
    const ALL: Self = Self {
        used: None,
        passive_elements: 0,
    };

    /// The unwritten bytes that a lane needs; `None` if all bytes are written.
    fn unwritten(
        &self,
        written: &WrittenBytes,
        touch: &Touch<'_>,
        lane: usize,
    ) -> Option<Unwritten> {
        let (at, bytes) = (touch.at[lane], touch.bytes);
        if touch.usage == Use::Write {
            return None;
        }
        let first = written.first_missing(at, bytes)?;
        if let Some(used) = self.used.filter(|_| touch.usage == Use::Read) {
            let mut used = (0..bytes.min(32)).filter(|byte| used >> byte & 1 == 1);
            let first = used.find_map(|byte| written.first_missing(at.saturating_add(byte), 1))?;
            return Some(Unwritten {
                first,
                elements: u32::MAX,
                lacks_element: true,
            });
        }
        let each = touch.element.max(1);
        let mut elements = 0;
        for element in 0..bytes.div_ceil(each).min(32) {
            let start = at.saturating_add(element * each);
            elements |= u32::from(written.first_missing(start, each).is_some()) << element;
        }
        let is_read_of_elements = touch.usage == Use::Read && touch.element != 0;
        if is_read_of_elements
            && elements & !self.passive_elements == 0
            && written.has_any(at, bytes)
        {
            return None;
        }
        Some(Unwritten {
            first,
            elements,
            lacks_element: written.lacks_element(at, bytes, touch.element),
        })
    }
}

/// The texts for a variable that was never written.
fn unset(variable: Option<&Variable>) -> Text {
    let name = variable.map_or("", |v| &v.name);
    Text {
        message: format!("{name} is read but was never written by this thread"),
        other: None,
        help: "write the register on every path to this instruction",
    }
}

impl UnwrittenRead {
    fn text(&self) -> Text {
        let (what, at, missing) = (access(self.usage, self.bytes), self.at, self.missing);
        let memory = match self.memory {
            Memory::Global => "global",
            Memory::Shared(_) => "shared",
            Memory::Local => "local",
            Memory::Parameter => "parameter",
        };
        Text {
            message: format!(
                "{what} at {at:#x} in {memory} memory includes the uninitialized byte at {missing:#x}"
            ),
            other: None,
            help: "write the memory before the read, on every path and in every thread",
        }
    }
}

/// Gives the lanes in which results do not depend on registers.
type Determined<'a> = &'a dyn Fn(&[Unknown], &[Place]) -> u32;

/// Follows variables over an instruction. Gives the first one that is needed and has no value, with the instruction that read it first, and the
/// lanes.
fn follow(
    known: &mut [Followed],
    (of, site): (&Site, u32),
    step: Stepped,
    variables: &[Variable],
    determined: Determined<'_>,
) -> Option<(Traced, u32)> {
    let mut needed = None;
    let (mut unknown, mut origin) = (Vec::new(), None);
    for &variable in &of.reads {
        let Some(followed) = known.get_mut(variable as usize) else {
            continue;
        };
        let is_guard = of.guard == Some(variable);
        let reading = if is_guard { step.mask } else { step.active };
        let missing = reading & !followed.known;
        if missing == 0 {
            continue;
        }
        let from = followed.origin;
        let from = from.unwrap_or(Traced {
            origin: Origin::Register { site, variable },
            thread: None,
        });
        if of.computes && !is_guard {
            unknown.extend(variables.get(variable as usize).map(|v| Unknown {
                place: v.place,
                bits: v.bits,
                lanes: missing,
            }));
            origin.get_or_insert(from);
        } else {
            needed.get_or_insert((from, missing));
            // Each register is reported once.
            followed.known |= missing;
        }
    }
    let mut without = unknown.iter().fold(0, |all, one| all | one.lanes);
    if without != 0 {
        let written = of.writes.iter().filter_map(|&v| variables.get(v as usize));
        let results: Vec<Place> = written.map(|v| v.place).collect();
        without &= !determined(&unknown, &results);
    }
    for &variable in &of.writes {
        if let Some(followed) = known.get_mut(variable as usize) {
            followed.known = followed.known & !step.active | step.active & !without;
            followed.origin = origin.or(followed.origin);
        }
    }
    needed
}
