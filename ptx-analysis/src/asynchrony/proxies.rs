//! Ordinary writes that asynchronous operations read without a fence between the proxies (9.7.13.4).
//!
//! A violation is definite if the operation certainly reads bytes that are written on all paths. If the bytes cannot be compared, it is
//! possible unless asynchronous copies fill the variable as well: the operation then reads what they wrote.

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

/// Writes beyond these are not followed.
const MOST: usize = 512;

/// Adds the asynchronous reads that need a fence.
pub(super) fn check(events: &Events, cfg: &Cfg, found: &mut Vec<Violation>) {
    let reads = |e: &Event| matches!(&e.kind, Kind::Memory(a) if a.asynchronous && a.reads);
    let products = events.operations.iter().any(|o| !o.matrices.is_empty());
    if products || events.all().any(reads) {
        follow(&Proxies::new(events), events, cfg, found);
    }
}

/// A write through the generic proxy.
struct Write {
    inst: InstId,
    place: Place,
    is_shared: bool,
    /// Whether only some threads of the CTA execute it.
    selected: bool,
}

struct Proxies<'a> {
    events: &'a Events,
    writes: Vec<Write>,
    /// The number of the write of each instruction.
    numbers: BTreeMap<InstId, u32>,
    /// The variables that asynchronous copies fill.
    filled: BitSet,
    /// Whether they fill any shared memory.
    is_filled: bool,
}

#[derive(Clone, Debug)]
struct State {
    /// The writes after the last fence.
    written: Flags,
    /// Copies by groups that a thread began, which are ordinary writes when they are waited for.
    copied: Flags,
}

impl JoinSemiLattice for State {
    fn join(&mut self, other: &Self) -> bool {
        self.written.join(&other.written) | self.copied.join(&other.copied)
    }
}

/// An operation whose destination is written by the thread itself, as far as other threads can tell.
fn copy(events: &Events, number: u32) -> Option<&Operation> {
    let operation = events.operation(number);
    operation.filter(|o| o.mechanism == Mechanism::Copies)
}

impl<'a> Proxies<'a> {
    fn new(events: &'a Events) -> Self {
        let mut this = Self {
            events,
            writes: Vec::new(),
            numbers: BTreeMap::new(),
            filled: BitSet::new(events.roots as u32),
            is_filled: false,
        };
        for operation in &events.operations {
            if operation.mechanism == Mechanism::Mbarrier {
                this.is_filled = true;
                if let Some(root) = operation.destination.and_then(|place| place.root) {
                    this.filled.insert(root);
                }
            }
        }
        for event in events.all() {
            let (place, is_shared) = match &event.kind {
                Kind::Memory(access) if access.writes && !access.asynchronous => {
                    (access.place, access.is_shared)
                }
                Kind::Start(number) => match copy(events, *number).and_then(|o| o.destination) {
                    Some(place) => (place, true),
                    None => continue,
                },
                _ => continue,
            };
            if this.writes.len() == MOST {
                break;
            }
            let number = this.writes.len() as u32;
            this.numbers.entry(event.inst).or_insert(number);
            this.writes.push(Write {
                inst: event.inst,
                place,
                is_shared,
                selected: event.selected,
            });
        }
        this
    }

    /// The writes on some path since the last fence.
    fn written<'s>(&'s self, state: &'s State) -> impl Iterator<Item = (&'s Write, Certainty)> {
        state.written.iter().filter_map(|number| {
            let write = self.writes.get(number as usize)?;
            Some((write, state.written.certainty(number)?))
        })
    }

    /// How certainly what is read in a variable was written after the last fence, and the last such write.
    fn read(&self, read: Read, state: &State) -> Option<(Certainty, InstId)> {
        let found = self.written(state).filter_map(|(write, on_paths)| {
            if write.place.root.is_none() || write.place.root != Some(read.root) {
                return None;
            }
            let meets = match read.place {
                Some(place) => write.place.meets(place),
                None => None,
            };
            let certainty = match meets {
                Some(Overlap::Never) => return None,
                Some(Overlap::Certain) if write.selected && !write.place.is_fixed() => {
                    Certainty::Possible
                }
                Some(Overlap::Certain) => on_paths,
                Some(Overlap::Possible) => Certainty::Possible,
                None if self.filled.contains(read.root) => return None,
                None => Certainty::Possible,
            };
            Some((certainty, write.inst))
        });
        found.max_by_key(|(certainty, inst)| (*certainty, self.events.order(*inst)))
    }

    /// The same for a matrix in shared memory.
    fn matrix(&self, matrix: &Matrix, state: &State) -> Option<(Certainty, InstId)> {
        if let Some(root) = matrix.root {
            let place = matrix.start;
            return self.read(Read { root, place }, state);
        }
        // Some of the writes may be to other variables.
        if self.is_filled {
            return None;
        }
        let mut written = self.written(state);
        let (write, _) = written
            .find(|(write, on_paths)| write.is_shared && *on_paths == Certainty::Definite)?;
        Some((Certainty::Possible, write.inst))
    }
}

/// What an operation reads through the async proxy.
#[derive(Copy, Clone)]
struct Read {
    root: u32,
    /// The bytes, if they are known.
    place: Option<Place>,
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
        let number = || self.numbers.get(&event.inst).copied();
        match &event.kind {
            Kind::Memory(access) if access.writes && !access.asynchronous => {
                number().into_iter().for_each(|n| state.written.set(n));
            }
            Kind::Start(operation) if copy(self.events, *operation).is_some() => {
                number().into_iter().for_each(|n| state.copied.set(n));
            }
            Kind::Wait(Mechanism::Copies, _) => {
                let State { written, copied } = state;
                for number in copied.iter() {
                    match copied.on_all_paths(number) {
                        true => written.set(number),
                        false => written.set_possible(number),
                    }
                }
                copied.clear();
            }
            Kind::ProxyFence { shared, global } => {
                for (number, write) in (0u32..).zip(&self.writes) {
                    let is_ordered = match write.is_shared {
                        true => *shared,
                        false => *global,
                    };
                    if is_ordered {
                        state.written.unset(number);
                    }
                }
            }
            Kind::Call => *state = self.start(),
            _ => {}
        }
    }

    fn check(&self, event: &Event, state: &State, found: &mut Vec<Violation>) {
        let worst = match &event.kind {
            Kind::Memory(access) if access.asynchronous && access.reads => {
                let place = Some(access.place);
                let root = access.place.root;
                root.and_then(|root| self.read(Read { root, place }, state))
            }
            Kind::Start(number) => {
                let operation = self.events.operation(*number).into_iter();
                let matrices = operation.flat_map(|o| &o.matrices);
                let all = matrices.filter_map(|matrix| self.matrix(matrix, state));
                all.max_by_key(|(certainty, inst)| (*certainty, self.events.order(*inst)))
            }
            _ => None,
        };
        found.extend(worst.map(|(certainty, cause)| Violation {
            inst: event.inst,
            rule: Rule::ProxyFence,
            certainty,
            cause: Some(cause),
        }));
    }
}
