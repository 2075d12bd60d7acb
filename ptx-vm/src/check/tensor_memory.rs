//! Reports about tensor memory: cells that are read but were never written, and columns that a CTA did not free.

use ptx_ir::Code;

use super::checkers::Checkers;
use super::report::{Actor, Text};
use crate::execute::{Block, Execution, Grid};
use crate::memory::tensor::{Allocation, TensorAddress};

impl Checkers {
    /// Reports a read of a cell that was not written after the allocation of its column.
    pub(super) fn report_unwritten_cell(
        &mut self,
        execution: &Execution<'_>,
        lane: usize,
        rank: usize,
        cell: TensorAddress,
    ) {
        let block = if rank == execution.block.rank {
            String::new()
        } else {
            format!(" of the CTA of rank {rank}")
        };
        let TensorAddress { lane: row, column } = cell;
        self.report(execution, Code::UnwrittenMemory, lane, || Text {
            message: format!(
                "a read of tensor memory{block} includes the uninitialized cell in lane {row}, column {column}"
            ),
            other: None,
            help: "write the cell before it is read; a product that is the first one must not be added to its result",
        });
    }

    /// Reports columns that are still allocated at the end of a CTA.
    pub(super) fn report_kept_columns(
        &mut self,
        grid: &Grid<'_>,
        block: &Block,
        allocation: &Allocation,
    ) {
        let Allocation {
            start,
            columns,
            allocator,
        } = *allocation;
        let actor = Actor {
            site: self.sites.number(allocator.function, allocator.step_index),
            block: grid.linear(block.index),
            thread: allocator.thread,
        };
        let last = start + columns - 1;
        self.reports
            .add(grid, &self.sites, Code::KeptTensorMemory, actor, || Text {
                message: format!(
                    "the columns {start} to {last} of tensor memory are not freed before the CTA ends"
                ),
                other: None,
                help: "free all columns in one warp of the CTA before it ends",
            });
    }
}
