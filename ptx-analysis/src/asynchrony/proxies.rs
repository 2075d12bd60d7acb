//! Ordinary writes of memory that asynchronous operations read through the async proxy, without a fence between the proxies (9.7.13.4).
//!
//! A violation is definite if the operation certainly reads bytes that are written on all paths. If the bytes cannot be compared, it is
//! possible unless asynchronous copies fill the variable as well: the operation then probably reads their data.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use ptx_ir::InstId;

use super::events::{Event, Events, Kind, Matrix, Operation};
use super::flags::Flags;
use super::mechanism::Mechanism;
use super::place::{Overlap, Place};
use super::protocol::{Protocol, follow};
use super::{Certainty, Rule, Violation};
use crate::cfg::Cfg;
use crate::dataflow::{BitSet, JoinSemiLattice};

/// The maximum number of writes that are followed.
const MOST_WRITES: usize = 512;

/// Adds the asynchronous reads that need a fence.
pub(super) fn check(events: &Events, cfg: &Cfg, violations: &mut Vec<Violation>) {
    let has_products = events.operations.iter().any(|o| !o.matrices.is_empty());
    let has_asynchronous_reads = events.all().any(
        |event| matches!(&event.kind, Kind::Memory(access) if access.asynchronous && access.reads),
    );
    if has_products || has_asynchronous_reads {
        follow(&Proxies::new(events), events, cfg, violations);
    }
}

/// A write through the generic proxy.
struct Write {
    inst: InstId,
    place: Place,
    is_shared: bool,
    /// Only some threads of the CTA execute it.
    selected: bool,
}

/// The bytes that an operation reads through the async proxy.
#[derive(Copy, Clone)]
struct AsyncRead {
    root: u32,
    /// The bytes, if they are known.
    place: Option<Place>,
}

/// The protocol that a proxy fence lies between a write and an asynchronous read.
struct Proxies<'a> {
    events: &'a Events,
    writes: Vec<Write>,
    /// The number of the first write of each instruction.
    numbers: BTreeMap<InstId, u32>,
    /// The variables that asynchronous copies fill.
    filled: BitSet,
    /// Asynchronous copies fill some memory.
    has_filling_copies: bool,
}

/// Sets of writes.
#[derive(Clone, Debug)]
struct State {
    /// The write happened after the last fence.
    written: Flags,
    /// The write is a pending copy by `cp.async`. It becomes an ordinary write when the thread waits for it.
    copied: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.written.join(&other.written) | self.copied.join(&other.copied)
    }
}

/// The operation with a number, if it is a copy by `cp.async`, which writes its destination through the generic proxy.
fn generic_copy(events: &Events, number: u32) -> Option<&Operation> {
    let operation = events.operation(number);
    operation.filter(|o| o.mechanism == Mechanism::Copies)
}

impl<'a> Proxies<'a> {
    fn new(events: &'a Events) -> Self {
        let mut protocol = Self {
            events,
            writes: Vec::new(),
            numbers: BTreeMap::new(),
            filled: BitSet::new(events.roots as u32),
            has_filling_copies: false,
        };
        for operation in &events.operations {
            if operation.mechanism == Mechanism::Mbarrier {
                protocol.has_filling_copies = true;
                if let Some(root) = operation.destination.and_then(|place| place.root) {
                    protocol.filled.insert(root);
                }
            }
        }
        for event in events.all() {
            let (place, is_shared) = match &event.kind {
                Kind::Memory(access) if access.writes && !access.asynchronous => {
                    (access.place, access.is_shared)
                }
                Kind::Start(number) => {
                    match generic_copy(events, *number).and_then(|o| o.destination) {
                        Some(place) => (place, true),
                        None => continue,
                    }
                }
                _ => continue,
            };
            if protocol.writes.len() == MOST_WRITES {
                break;
            }
            let number = protocol.writes.len() as u32;
            protocol.numbers.entry(event.inst).or_insert(number);
            protocol.writes.push(Write {
                inst: event.inst,
                place,
                is_shared,
                selected: event.selected,
            });
        }
        protocol
    }

    /// The writes on some path since the last fence, with their certainties.
    fn unfenced_writes<'s>(
        &'s self,
        state: &'s State,
    ) -> impl Iterator<Item = (&'s Write, Certainty)> {
        state.written.iter().filter_map(|number| {
            let write = self.writes.get(number as usize)?;
            Some((write, state.written.certainty(number)?))
        })
    }

    /// The last of the most certain writes, after the last fence, of bytes that an operation reads.
    fn conflicting_write(&self, read: AsyncRead, state: &State) -> Option<(Certainty, InstId)> {
        self.unfenced_writes(state)
            .filter_map(|(write, is_written)| {
                if write.place.root != Some(read.root) {
                    return None;
                }
                let certainty = match read.place.and_then(|place| write.place.meets(place)) {
                    Some(Overlap::Never) => return None,
                    Some(Overlap::Certain) if write.selected && !write.place.is_fixed() => {
                        Certainty::Possible
                    }
                    Some(Overlap::Certain) => is_written,
                    Some(Overlap::Possible) => Certainty::Possible,
                    None if self.filled.contains(read.root) => return None,
                    None => Certainty::Possible,
                };
                Some((certainty, write.inst))
            })
            .max_by_key(|(certainty, inst)| (*certainty, self.events.order(*inst)))
    }

    /// A write, after the last fence, of bytes of a matrix in shared memory that an operation reads.
    fn write_of_matrix(&self, matrix: &Matrix, state: &State) -> Option<(Certainty, InstId)> {
        if let Some(root) = matrix.root {
            let place = matrix.start;
            return self.conflicting_write(AsyncRead { root, place }, state);
        }
        // The variable of the matrix is unknown: it may be one that asynchronous copies fill.
        if self.has_filling_copies {
            return None;
        }
        self.unfenced_writes(state)
            .find(|(write, is_written)| write.is_shared && *is_written == Certainty::Definite)
            .map(|(write, _)| (Certainty::Possible, write.inst))
    }
}

impl Protocol for Proxies<'_> {
    type State = State;

    fn start(&self) -> State {
        State {
            written: Flags::none(self.writes.len()),
            copied: Flags::none(self.writes.len()),
        }
    }

    fn apply(&self, event: &Event, state: &mut State) {
        match &event.kind {
            Kind::Memory(access) if access.writes && !access.asynchronous => {
                if let Some(&number) = self.numbers.get(&event.inst) {
                    state.written.set(number);
                }
            }
            Kind::Start(operation) if generic_copy(self.events, *operation).is_some() => {
                if let Some(&number) = self.numbers.get(&event.inst) {
                    state.copied.set(number);
                }
            }
            Kind::Wait(Mechanism::Copies, _) => {
                let State { written, copied } = state;
                for number in copied.iter() {
                    if copied.on_all_paths(number) {
                        written.set(number);
                    } else {
                        written.set_possible(number);
                    }
                }
                copied.clear();
            }
            Kind::ProxyFence { shared, global } => {
                for (number, write) in (0u32..).zip(&self.writes) {
                    let is_fenced = if write.is_shared { *shared } else { *global };
                    if is_fenced {
                        state.written.unset(number);
                    }
                }
            }
            Kind::Call => *state = self.start(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, violations: &mut Vec<Violation>) {
        let write = match &event.kind {
            Kind::Memory(access) if access.asynchronous && access.reads => {
                access.place.root.and_then(|root| {
                    let place = Some(access.place);
                    self.conflicting_write(AsyncRead { root, place }, state)
                })
            }
            Kind::Start(number) => self
                .events
                .operation(*number)
                .into_iter()
                .flat_map(|operation| &operation.matrices)
                .filter_map(|matrix| self.write_of_matrix(matrix, state))
                .max_by_key(|(certainty, inst)| (*certainty, self.events.order(*inst))),
            _ => None,
        };
        violations.extend(write.map(|(certainty, cause)| Violation {
            inst: event.inst,
            rule: Rule::ProxyFence,
            certainty,
            cause: Some(cause),
        }));
    }
}
