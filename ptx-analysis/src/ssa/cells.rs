//! Parts of memory that are values like registers, because all accesses to them are known.

use alloc::vec::Vec;

use ptx_ir::StmtId;

/// What a statement does with a cell.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum CellUse {
    /// It reads all of the cell.
    Read,
    /// It reads a part of it, or another one.
    MayRead,
    /// It writes all of the cell.
    Write,
    /// It writes a part of it, or another one.
    MayWrite,
}

impl CellUse {
    pub(crate) const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::MayRead)
    }
}

/// An access of a statement to a cell.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct CellAccess {
    pub(crate) stmt: StmtId,
    pub(crate) cell: u32,
    pub(crate) usage: CellUse,
}

/// Cells of memory, whose variables have the numbers after that of the carry flag.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    count: u32,
    /// By statement.
    accesses: Vec<CellAccess>,
}

impl Cells {
    /// No cells.
    pub(crate) const NONE: Self = Self {
        count: 0,
        accesses: Vec::new(),
    };

    pub(crate) fn new(count: u32, mut accesses: Vec<CellAccess>) -> Self {
        accesses.sort_unstable();
        Self { count, accesses }
    }

    /// Returns whether there are no cells.
    pub(crate) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The number of cells.
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// What a statement does with cells.
    pub(crate) fn of(&self, stmt: StmtId) -> &[CellAccess] {
        if self.accesses.is_empty() {
            return &[];
        }
        let start = self.accesses.partition_point(|a| a.stmt < stmt);
        let end = self.accesses.partition_point(|a| a.stmt <= stmt);
        self.accesses.get(start..end).unwrap_or_default()
    }
}
