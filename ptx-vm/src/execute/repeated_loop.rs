//! A loop that lanes of a warp may repeat for ever.
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
use super::groups::{CallFrame, Stepped};
use super::location::Memory;
use super::repeats::{Trace, repeats};
use crate::lanes::Registers;

/// A read of lanes in a loop, whose value may end it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Poll {
    pub(super) function: FuncId,
    pub(super) at: u32,
    pub(super) memory: Memory,
    /// The offset; the address in global memory.
    pub(super) address: u64,
    pub(super) bytes: u64,
    pub(super) is_mbarrier: bool,
}

/// The most reads of a loop that are remembered.
const POLLS: usize = 16;

/// The number of times that a state is reached again: memory that calls have used is then the same, too.
const MATCHES: u32 = 2;

/// An instruction of a call: the call, the function and the step.
pub(super) type Place = (usize, FuncId, u32);

/// The values of a word that a loop wrote: at the start, and now.
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
    last: Place,
    /// The least depth of calls that the lanes were in: only there, the registers of one call decide what they do.
    depth: u32,
    start: Option<Start>,
    /// The number of times that the lanes jumped back, and the number at which the state is replaced.
    arrivals: u32,
    next: u32,
    /// The number of times that the lanes came to the state again.
    matches: u32,
    /// The steps and accesses since the start.
    pub(super) trace: Trace,
    /// The words that were written since the start.
    pub(super) written: HashMap<Cell, Written>,
    polls: Vec<(Poll, Option<Cell>)>,
    /// There are more reads than are remembered.
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
            next: 1,
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

    /// Nothing that other threads do can end the loop.
    pub(super) fn is_endless(&self) -> bool {
        self.polls.is_empty() && !self.has_more_polls
    }

    /// The loop changes memory, which only its lanes access.
    pub(super) fn changes_memory(&self) -> bool {
        self.written.values().any(|written| written.changes)
    }

    pub(super) fn polls(&self) -> impl Iterator<Item = &Poll> {
        self.polls.iter().map(|(poll, _)| poll)
    }

    /// Adds what a step reads; `cell` is the word that the read begins in.
    pub(super) fn add_poll(&mut self, poll: Poll, cell: Option<Cell>) {
        if self.repeats() || self.polls.iter().any(|(first, _)| *first == poll) {
            return;
        }
        if self.polls.len() < POLLS {
            self.polls.push((poll, cell));
        } else {
            self.has_more_polls = true;
        }
    }

    /// Lanes wrote a word, which had a value before and has another or the same value now.
    pub(super) fn write(&mut self, cell: Cell, (before, now): (u32, u32)) {
        let written = self.written.entry(cell).or_insert(Written {
            first: before,
            last: now,
            changes: false,
        });
        written.last = now;
        written.changes |= before != now;
    }

    /// The lanes come to a step. Gives whether words that only they access are still private.
    pub(super) fn arrive(
        &mut self,
        grid: &Grid<'_>,
        cells: &mut Cells,
        step: Stepped,
        call: &CallFrame,
    ) -> bool {
        let place = (step.call, step.function, step.at);
        if call.depth < self.depth {
            // The callers have registers, too.
            *self = Self::new(self.lanes, place, call.depth);
            return true;
        }
        let is_back =
            (step.call, step.function) == (self.last.0, self.last.1) && step.at <= self.last.2;
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
        if self.arrivals >= self.next && !self.repeats() {
            self.restart(place, call);
        }
        are_private
    }

    /// Whether the lanes do the same again and again from here on, as they did since the start.
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
                && repeats(grid, self, cells, (&start.registers, &call.registers))
        })
    }

    /// The words that the loop changes must remain private. Such words are not a reason to wait.
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

    /// Compares later states with this one.
    fn restart(&mut self, place: Place, call: &CallFrame) {
        self.next = self.arrivals.saturating_mul(2);
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
