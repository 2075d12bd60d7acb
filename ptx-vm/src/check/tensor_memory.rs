//! Reports about tensor memory: cells that are read but were never written, and columns that a CTA did not free.

use ptx_ir::Code;

use super::checkers::Checkers;
use super::report::{Actor, Text};
use super::uninitialized::{Origin, Traced};
use crate::execute::{Block, Execution, Grid};
use crate::lanes::Place;
use crate::memory::tensor::{Allocation, TensorAddress};

/// The text of a report about a cell that was not written, with the rank of its CTA in the cluster if that is another one.
pub(super) fn unwritten_cell(cell: TensorAddress, other_rank: Option<usize>) -> Text {
    let block = other_rank.map_or(String::new(), |rank| format!(" of the CTA of rank {rank}"));
    let TensorAddress { lane: row, column } = cell;
    Text {
        message: format!(
            "a read of tensor memory{block} includes the uninitialized cell in lane {row}, column {column}"
        ),
        other: None,
        help: "write the cell before it is read; a product that is the first one must not be added to its result",
    }
}

impl Checkers {
    /// Reports a read of a cell that was not written after the allocation of its column.
    pub(super) fn report_unwritten_cell(
        &mut self,
        execution: &Execution<'_>,
        lane: usize,
        rank: usize,
        cell: TensorAddress,
    ) {
        let other_rank = (rank != execution.block.rank).then_some(rank);
        self.report(execution, Code::UnwrittenMemory, lane, || {
            unwritten_cell(cell, other_rank)
        });
    }

    /// Records the registers that a load read from cells which were not written, with the threads, and the first of these cells. They are reported where
    /// they are needed.
    pub(super) fn track_unwritten_cells(
        &mut self,
        execution: &Execution<'_>,
        registers: &[(Place, u32)],
        cell: TensorAddress,
    ) {
        let sites = std::sync::Arc::clone(&self.sites);
        let number = sites.number(execution.function_id, execution.step_index);
        let Some(site) = sites.get(number) else {
            return;
        };
        let variables = sites.variables(execution.function_id);
        let warp = self.own_warp(execution);
        let tracked = warp.registers(execution.call, variables);
        for &register in &site.writes {
            let place = variables.get(register as usize).map(|v| v.place);
            let unwritten = registers.iter().find(|(p, _)| Some(*p) == place);
            if let (Some((_, mask)), Some(tracked)) =
                (unwritten, tracked.get_mut(register as usize))
            {
                tracked.initialized &= !mask;
                tracked.determined_bits = 0;
                tracked.origin = Some(Traced {
                    origin: Origin::TensorMemory { site: number, cell },
                    thread: None,
                });
            }
        }
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
