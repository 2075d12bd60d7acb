//! Launches from kernels: the work that a grid leaves to be done after it.
//!
//! The machine performs it when the grid has ended, in the order in which threads requested it. This order is one of those that streams allow.

use std::collections::HashMap;

use ptx_ir::FuncId;

use crate::account::{Held, Purpose};
use crate::error::StopReason;
use crate::execute::Grid;

/// A launch from a kernel, with all operands.
#[derive(Debug)]
pub(crate) struct ChildLaunch {
    pub(crate) configuration: Configuration,
    /// The bytes of the parameters.
    pub(crate) parameters: Vec<u8>,
    /// The memory that the launch uses until it begins.
    _held: Held,
}

/// The kernel and the shape of a launch from a kernel.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Configuration {
    pub(crate) kernel: FuncId,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// The size of dynamic shared memory in bytes.
    pub(crate) shared: u32,
}

/// Rows of bytes in global memory.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Rows {
    pub(crate) address: u64,
    /// The bytes from one row to the next one.
    pub(crate) pitch: u64,
}

impl Rows {
    /// The address of a row.
    pub(crate) const fn row(self, row: u64) -> u64 {
        self.address.wrapping_add(row.wrapping_mul(self.pitch))
    }
}

/// The bytes that are copied.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Source {
    Memory(Rows),
    /// All bytes are equal.
    Byte(u8),
}

/// A copy of `height` rows of `width` bytes.
#[derive(Copy, Clone, Debug)]
pub(crate) struct CopyOfRows {
    pub(crate) target: Rows,
    pub(crate) source: Source,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

/// Work that a thread requests from the device runtime.
#[derive(Debug)]
pub(crate) enum Work {
    Launch(ChildLaunch),
    Copy(CopyOfRows),
}

/// The time at which work begins.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// After the grid that requests it.
    Child,
    /// After the grid that requests it and all of its other work.
    Tail,
}

/// The work that the threads of a grid requested, in order.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    pub(crate) children: Vec<Work>,
    pub(crate) tail: Vec<Work>,
    /// The launches whose parameters are being written, by the addresses of these.
    pub(super) prepared: HashMap<u64, Configuration>,
    /// The number of streams and events that were created.
    pub(super) handles: u64,
}

/// The memory that requested work uses, besides the bytes of parameters.
const WORK_BYTES: u64 = 2 * size_of::<Work>() as u64;

impl Launches {
    /// The number of launches that have not begun, and of those whose parameters are being written.
    pub(super) fn pending(&self) -> usize {
        self.children.len() + self.tail.len() + self.prepared.len()
    }

    pub(super) fn add(&mut self, work: Work, start: Start) {
        match start {
            Start::Child => self.children.push(work),
            Start::Tail => self.tail.push(work),
        }
    }
}

impl ChildLaunch {
    /// A launch, whose memory is counted.
    pub(super) fn new(
        configuration: Configuration,
        parameters: Vec<u8>,
        grid: &Grid<'_>,
    ) -> Result<Self, StopReason> {
        let mut held = Held::new(std::sync::Arc::clone(grid.account()));
        held.take(WORK_BYTES + parameters.len() as u64, Purpose::Launches)?;
        Ok(Self {
            configuration,
            parameters,
            _held: held,
        })
    }
}
