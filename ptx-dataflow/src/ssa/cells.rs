//! Cells: parts of memory that are variables of the SSA form like registers, because all accesses to them are known.

use alloc::vec::Vec;

use ptx_ir::StmtId;

use crate::reg_lanes::VariableId;

/// The kind of an access to a cell.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CellUse {
    /// Reads all of the cell.
    Read,
    /// Reads a part of the cell, or another one.
    MayRead,
    /// Writes all of the cell.
    Write,
    /// Writes a part of the cell, or another one.
    MayWrite,
}

impl CellUse {
    /// Returns whether the cell, or a part of it, may be read.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::MayRead)
    }
}

/// An access of a statement to a cell.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CellAccess {
    /// The statement.
    pub stmt: StmtId,
    /// The number of the cell.
    pub cell: u32,
    /// The kind of the access.
    pub usage: CellUse,
}

/// The cells of a function. Their variables have the numbers after that of the carry flag.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    count: u32,
    /// By statement.
    accesses: Vec<CellAccess>,
}

impl Cells {
    /// No cells.
    pub const NONE: Self = Self {
        count: 0,
        accesses: Vec::new(),
    };

    /// Creates `count` cells with these accesses.
    #[must_use]
    pub fn new(count: u32, mut accesses: Vec<CellAccess>) -> Self {
        accesses.sort_unstable();
        Self { count, accesses }
    }

    /// Returns whether there are no cells.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of cells.
    #[must_use]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// The accesses of a statement.
    #[must_use]
    pub fn of(&self, stmt: StmtId) -> &[CellAccess] {
        if self.accesses.is_empty() {
            return &[];
        }
        let start = self.accesses.partition_point(|a| a.stmt < stmt);
        let end = self.accesses.partition_point(|a| a.stmt <= stmt);
        self.accesses.get(start..end).unwrap_or_default()
    }
}

/// The variable of a cell: cells follow the carry flag.
#[must_use]
pub fn cell_variable(carry: VariableId, cell: u32) -> VariableId {
    VariableId::new(carry.as_u32() + 1 + cell)
}
