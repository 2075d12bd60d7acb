//! Which registers are live where: whose value may still be read.
//!
//! A backward may-analysis over sets of registers, joined by union. A guarded write does not end the life of a value. The
//! registers that hold the results of a function are read by its caller: they are live where it returns, though not where
//! its thread ends.
//! Instead of sets that are iterated to a fixed point, each register is followed on its own from its reads up to its
//! unconditional writes, so that time and memory are those of the result and not blocks times registers. Unreachable
//! blocks are no exception. Exact for the paths of the graph.

use alloc::vec::Vec;

use crate::block_summary::Summary;
use crate::cfg::{BlockId, Cfg};
use crate::graph::Csr;
use crate::reg_lanes::Variables;

/// The variables live at the start and at the end of each block, in ascending order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Liveness {
    live_in: Csr,
    live_out: Csr,
}

impl Liveness {
    /// Follows every variable.
    pub fn new(cfg: &Cfg, summary: &Summary, variables: &Variables) -> Self {
        let blocks = cfg.len() as u32;
        // From blocks to variables and back: who reads each, who ends it.
        let turned = |lists: &Csr| {
            let pairs = (0..blocks).flat_map(|b| lists.row(b).iter().map(move |&v| (v, b)));
            Csr::new(variables.len(), pairs)
        };
        let (readers, killers) = (turned(&summary.uses), turned(&summary.kills));
        let returning = turned(&summary.returned);
        // The last variable seen at the start, at the end, and ended in each block, counted from one.
        let mut at_start = alloc::vec![0u32; cfg.len()];
        let mut at_end = at_start.clone();
        let mut ended = at_start.clone();
        let (mut ins, mut outs) = (Vec::new(), Vec::new());
        let mut work = Vec::new();
        for variable in 0..variables.len() as u32 {
            let stamp = variable + 1;
            let (readers, returning) = (readers.row(variable), returning.row(variable));
            if readers.is_empty() && returning.is_empty() {
                continue;
            }
            for &block in killers.row(variable) {
                set(&mut ended, block, stamp);
            }
            for &block in readers {
                set(&mut at_start, block, stamp);
                ins.push((block, variable));
                work.push(block);
            }
            let mut behind = |block: u32, work: &mut Vec<u32>| {
                if set(&mut at_end, block, stamp) {
                    outs.push((block, variable));
                    if !has(&ended, block, stamp) && set(&mut at_start, block, stamp) {
                        ins.push((block, variable));
                        work.push(block);
                    }
                }
            };
            for &block in returning {
                behind(block, &mut work);
            }
            while let Some(block) = work.pop() {
                for edge in cfg.into(BlockId::new(block)) {
                    behind(edge.from.as_u32(), &mut work);
                }
            }
        }
        Self {
            live_in: Csr::new(cfg.len(), ins.iter().copied()),
            live_out: Csr::new(cfg.len(), outs.iter().copied()),
        }
    }

    /// What is live before the first instruction of a block.
    pub fn live_in(&self, block: BlockId) -> &[u32] {
        self.live_in.row(block.as_u32())
    }

    /// What is live behind the last instruction of a block.
    pub fn live_out(&self, block: BlockId) -> &[u32] {
        self.live_out.row(block.as_u32())
    }
}

fn has(stamps: &[u32], block: u32, stamp: u32) -> bool {
    stamps.get(block as usize) == Some(&stamp)
}

/// Sets a stamp; false if it was there.
fn set(stamps: &mut [u32], block: u32, stamp: u32) -> bool {
    match stamps.get_mut(block as usize) {
        Some(entry) if *entry != stamp => {
            *entry = stamp;
            true
        }
        _ => false,
    }
}
