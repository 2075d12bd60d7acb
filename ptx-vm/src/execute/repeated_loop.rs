//! Loops that lanes of a warp may repeat for ever.
//!
//! ```text
//!   arrival   1   2   3   4   5   6   7   8        lanes jump back to an instruction
//!   start     s1  s2      s4              s8       the state that is compared with later ones
//! ```
//!
//! The state at each power of two is kept, so that a loop of any length is found once the kept state is in it.

use std::collections::HashMap;

use ptx_ir::FuncId;

use super::cells::{Cell, Cells, LaneSet};
use super::grid::Grid;
use super::groups::{CallFrame, LaneStep};
use super::location::Memory;
use super::repeats::{Trace, repeats};
use crate::lanes::Registers;

/// A read of lanes in a loop, whose value may end it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Poll {
    pub(super) function: FuncId,
    pub(super) step_index: u32,
    pub(super) memory: Memory,
    /// The offset in the memory; in global memory the address.
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) is_mbarrier: bool,
}

/// The maximum number of reads of a loop that are recorded.
const MOST_POLLS: usize = 16;

/// The number of times that a state must be reached again. The memory that calls have used is then the same, too.
const MATCHES: u32 = 2;

/// An instruction of a call: the index of the call, the function, and the index of the step.
pub(super) type Place = (usize, FuncId, u32);

/// The values of a word that a loop wrote: at the start, and after the last write.
#[derive(Copy, Clone, Debug)]
pub(super) struct Written {
    pub(super) first: u32,
    pub(super) last: u32,
    /// A step gave it another value.
    pub(super) changes: bool,
}

/// The state of lanes when they come to an instruction.
#[derive(Debug)]
struct Start {
    place: Place,
    registers: Registers,
    /// The end of the stack.
    top: u64,
}

/// Lanes that may repeat a loop.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) lanes: LaneSet,
    /// The last instruction of the lanes.
    last: Place,
    /// The least depth of the calls that the lanes were in. States are compared at this depth, where the registers of one call decide the steps.
    depth: u32,
    /// The state that is compared with later ones.
    start: Option<Start>,
    /// The number of times that the lanes jumped back.
    arrivals: u32,
    /// The number of arrivals at which `start` is replaced.
    next_restart: u32,
    /// The number of times that the lanes reached the state again.
    matches: u32,
    /// The steps and accesses since the start.
    pub(super) trace: Trace,
    /// The words that were written since the start.
    pub(super) written: HashMap<Cell, Written>,
    /// The reads since the start, with the word in which each begins.
    polls: Vec<(Poll, Option<Cell>)>,
    /// There are more reads than are recorded.
    has_more_polls: bool,
}

impl Loop {
    pub(super) fn new(lanes: LaneSet, last: Place, depth: u32) -> Self {
        Self {
            lanes,
            last,
            depth,
            start: None,
            arrivals: 0,
            next_restart: 1,
            matches: 0,
            trace: Trace::default(),
            written: HashMap::new(),
            polls: Vec::new(),
            has_more_polls: false,
        }
    }

    /// The instruction that the lanes are at.
    pub(super) const fn place(&self) -> Place {
        self.last
    }

    pub(super) const fn repeats(&self) -> bool {
        self.matches >= MATCHES
    }

    /// Whether other threads cannot end the loop, since it reads nothing that they can change.
    pub(super) fn is_endless(&self) -> bool {
        self.polls.is_empty() && !self.has_more_polls
    }

    /// Whether the loop changes memory, which only its lanes access.
    pub(super) fn changes_memory(&self) -> bool {
        self.written.values().any(|written| written.changes)
    }

    pub(super) fn polls(&self) -> impl Iterator<Item = &Poll> {
        self.polls.iter().map(|(poll, _)| poll)
    }

    /// Adds a read of a step, which begins in the word `cell`.
    pub(super) fn add_poll(&mut self, poll: Poll, cell: Option<Cell>) {
        if self.repeats() || self.polls.iter().any(|(first, _)| *first == poll) {
            return;
        }
        if self.polls.len() < MOST_POLLS {
            self.polls.push((poll, cell));
        } else {
            self.has_more_polls = true;
        }
    }

    /// Records a write of lanes to a word.
    pub(super) fn record_write(&mut self, cell: Cell, old_value: u32, new_value: u32) {
        let written = self.written.entry(cell).or_insert(Written {
            first: old_value,
            last: new_value,
            changes: false,
        });
        written.last = new_value;
        written.changes |= old_value != new_value;
    }

    /// Records that the lanes reach a step. Returns false if a word that the loop changes is not private.
    pub(super) fn arrive(
        &mut self,
        grid: &Grid<'_>,
        cells: &mut Cells,
        step: LaneStep,
        call: &CallFrame,
    ) -> bool {
        let place = (step.call, step.function, step.index);
        if call.depth < self.depth {
            // The registers of the caller decide the steps from now on.
            *self = Self::new(self.lanes, place, call.depth);
            return true;
        }
        let is_back =
            (step.call, step.function) == (self.last.0, self.last.1) && step.index <= self.last.2;
        self.last = place;
        if !is_back || self.repeats() || call.depth > self.depth {
            return true;
        }
        self.arrivals += 1;
        let mut are_private = true;
        if self.is_at_start_again(grid, cells, place, call) {
            self.matches += 1;
            are_private = self.rely_on_private_words(cells);
        }
        if self.arrivals >= self.next_restart && !self.repeats() {
            self.restart(place, call);
        }
        are_private
    }

    /// Whether the lanes are in the state of the start, so that they repeat the steps since then.
    fn is_at_start_again(
        &self,
        grid: &Grid<'_>,
        cells: &Cells,
        place: Place,
        call: &CallFrame,
    ) -> bool {
        self.start.as_ref().is_some_and(|start| {
            start.place == place
                && start.top == call.top
                && repeats(grid, self, cells, &start.registers, &call.registers)
        })
    }

    /// Makes the words private that the loop changes; returns false if some have other users. Reads of such words do not wait for other threads.
    fn rely_on_private_words(&mut self, cells: &mut Cells) -> bool {
        let lanes = self.lanes;
        let mut are_private = true;
        for cell in self.written.keys() {
            if cells.is_only_user(*cell, lanes) {
                are_private &= cells.make_private(*cell);
            }
        }
        let written = &self.written;
        self.polls.retain(|(_, cell)| {
            let changes = cell.and_then(|cell| written.get(&cell)).map(|w| w.changes);
            changes != Some(true)
        });
        are_private
    }

    /// Makes the current state the one that is compared with later ones.
    fn restart(&mut self, place: Place, call: &CallFrame) {
        self.next_restart = self.arrivals.saturating_mul(2);
        self.start = Some(Start {
            place,
            registers: call.registers.clone(),
            top: call.top,
        });
        self.matches = 0;
        self.trace = Trace::default();
        self.written.clear();
        self.polls.clear();
        self.has_more_polls = false;
    }
}
