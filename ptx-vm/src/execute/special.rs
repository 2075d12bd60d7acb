//! The values of special registers.

use ptx_isa::SpecialReg;

use super::block::Block;
use super::grid::Grid;
use super::warp::Warp;
use crate::lanes::each;

impl Block {
    /// The value of a component of a special register in a lane; 0 for registers that the machine does not have.
    pub(crate) fn special(
        &self,
        register: SpecialReg,
        component: u8,
        warp: &Warp,
        lane: usize,
        grid: &Grid<'_>,
    ) -> u128 {
        let first = warp.first;
        let index = |indices: [u32; 3]| indices.get(usize::from(component)).copied().unwrap_or(0);
        let size = |sizes: [u32; 3]| sizes.get(usize::from(component)).copied().unwrap_or(1);
        let lane = lane as u32;
        let lower_lanes = (1u32 << lane) - 1;
        // Most registers need none of these values, which divisions compute.
        let in_cluster = || each(|i| self.index[i] % grid.cluster[i].max(1));
        let clusters = || each(|i| grid.blocks[i] / grid.cluster[i].max(1));
        let steps = || grid.progress.steps() + warp.uncounted;
        let value: u64 = match register {
            SpecialReg::Tid => index(grid.thread(first + lane)).into(),
            SpecialReg::Ntid => size(grid.threads).into(),
            SpecialReg::Ctaid => index(self.index).into(),
            SpecialReg::Nctaid => size(grid.blocks).into(),
            SpecialReg::Laneid => lane.into(),
            SpecialReg::Warpid => (first / 32).into(),
            SpecialReg::Nwarpid => grid.threads_per_block().div_ceil(32).into(),
            SpecialReg::LanemaskEq => 1 << lane,
            SpecialReg::LanemaskLt => lower_lanes.into(),
            SpecialReg::LanemaskLe => (lower_lanes | 1 << lane).into(),
            SpecialReg::LanemaskGt => (!lower_lanes & !(1 << lane)).into(),
            SpecialReg::LanemaskGe => (!lower_lanes).into(),
            SpecialReg::Clusterid => index(self.cluster).into(),
            SpecialReg::Nclusterid => size(clusters()).into(),
            SpecialReg::ClusterCtaid => index(in_cluster()).into(),
            SpecialReg::ClusterNctaid => size(grid.cluster).into(),
            SpecialReg::ClusterCtarank => self.rank as u64,
            SpecialReg::ClusterNctarank => grid.cluster.iter().map(|&n| u64::from(n)).product(),
            SpecialReg::IsExplicitCluster => u64::from(grid.cluster != [1; 3]),
            SpecialReg::Smid => grid.linear(self.index) % u64::from(grid.limits.multiprocessors),
            SpecialReg::Nsmid => grid.limits.multiprocessors.into(),
            SpecialReg::Clock | SpecialReg::Clock64 | SpecialReg::Globaltimer => steps(),
            SpecialReg::ClockHi | SpecialReg::GlobaltimerHi => steps() >> 32,
            SpecialReg::GlobaltimerLo => steps() & 0xffff_ffff,
            SpecialReg::Envreg1 => grid.workspace >> 32,
            SpecialReg::Envreg2 => grid.workspace & 0xffff_ffff,
            SpecialReg::DynamicSmemSize => grid.shared.into(),
            SpecialReg::TotalSmemSize | SpecialReg::AggrSmemSize => {
                let sizes = &grid.program.variables.shared;
                sizes.needed(grid.kernel, grid.shared)
            }
            _ => 0,
        };
        value.into()
    }
}
