//! Occupancy: how many blocks of a kernel a multiprocessor runs at the same time, from the limits that the programming guide states for each compute capability.

use super::Driver;
use super::attributes::{kernel_attribute, shared_of_block, shared_of_multiprocessor};
use crate::config::Capability;
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// The threads of a warp.
const WARP_THREADS: u32 = 32;
/// The registers of a multiprocessor, and the most of a block.
const REGISTERS: u32 = 64 << 10;
/// The registers that are allocated together for a warp.
const REGISTER_UNIT: u32 = 256;
/// The number of warps of a block is rounded up to a multiple of this, for registers.
const WARP_UNIT: u32 = 4;
/// The blocks of a cluster that every device with clusters runs.
const PORTABLE_CLUSTER: u32 = 8;
/// The blocks of a cluster with the attribute for sizes that are not portable.
const LARGEST_CLUSTER: u32 = 16;
/// The number of multiprocessors that can run blocks of a cluster together.
const CLUSTER_MULTIPROCESSORS: u32 = 16;

/// The warps that a multiprocessor runs.
pub(crate) const fn warps_of_multiprocessor(capability: Capability) -> u32 {
    match (capability.major, capability.minor) {
        (7, 5) => 32,
        (8, 0) => 64,
        (8 | 12, _) => 48,
        _ => 64,
    }
}

/// The blocks that a multiprocessor runs.
pub(crate) const fn blocks_of_multiprocessor(capability: Capability) -> u32 {
    match (capability.major, capability.minor) {
        (7, 5) => 16,
        (8, 6 | 7) => 16,
        (8, 9) | (11 | 12, _) => 24,
        _ => 32,
    }
}

/// The bytes of shared memory that are allocated together.
const fn shared_unit(capability: Capability) -> u32 {
    if capability.major >= 8 { 128 } else { 256 }
}

/// The resources that a block of a kernel needs.
#[derive(Copy, Clone, Debug)]
struct BlockNeeds {
    threads: u32,
    registers_of_thread: u32,
    /// Static and dynamic shared memory in bytes.
    shared: u64,
}

/// The blocks that a multiprocessor runs at the same time.
fn active_blocks(capability: Capability, needs: BlockNeeds) -> u32 {
    let warps = needs.threads.div_ceil(WARP_THREADS);
    let of_warps = warps_of_multiprocessor(capability) / warps;
    let of_warp = (needs.registers_of_thread * WARP_THREADS).next_multiple_of(REGISTER_UNIT);
    let of_block = of_warp.saturating_mul(warps.next_multiple_of(WARP_UNIT));
    // Each quarter of a multiprocessor has a quarter of the registers.
    let of_registers = match of_warp {
        0 => u32::MAX,
        _ if of_block > REGISTERS => 0,
        _ => REGISTERS / WARP_UNIT / of_warp * WARP_UNIT / warps,
    };
    let whole = shared_of_multiprocessor(capability);
    let limit = shared_of_block(capability);
    if needs.shared > limit.into() {
        return 0;
    }
    let shared = needs.shared + u64::from(whole - limit);
    let shared = shared.next_multiple_of(shared_unit(capability).into());
    let of_shared = u64::from(whole).checked_div(shared).unwrap_or(u64::MAX);
    blocks_of_multiprocessor(capability)
        .min(of_warps)
        .min(of_registers)
        .min(of_shared.try_into().unwrap_or(u32::MAX))
}

impl Driver {
    /// The needs of a block of a kernel.
    fn block_needs(&self, kernel: Raw, threads: u32, dynamic: u64) -> Outcome<BlockNeeds> {
        let registers = self.kernel_attribute(kernel, kernel_attribute::NUM_REGS)?;
        let kernel = self.kernels.get(kernel)?;
        let shared = kernel.shared_bytes.checked_add(dynamic);
        Ok(BlockNeeds {
            threads,
            registers_of_thread: u32::try_from(registers).unwrap_or(0),
            shared: shared.ok_or(Status::INVALID_VALUE)?,
        })
    }

    /// The blocks of a kernel that a multiprocessor runs at the same time.
    pub(crate) fn active_blocks(&self, kernel: Raw, threads: u32, dynamic: u64) -> Outcome<u32> {
        if threads == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let most = self.kernel_attribute(kernel, kernel_attribute::MAX_THREADS_PER_BLOCK)?;
        let needs = self.block_needs(kernel, threads, dynamic)?;
        if threads > most.unsigned_abs() {
            return Ok(0);
        }
        Ok(active_blocks(self.config.capability, needs))
    }

    /// The numbers of threads of a block from which a program chooses, the largest one first: those up to `limit`, or up to that of the kernel if `limit` is 0.
    pub(crate) fn block_sizes(&self, kernel: Raw, limit: u32) -> Outcome<Vec<u32>> {
        let most = self.kernel_attribute(kernel, kernel_attribute::MAX_THREADS_PER_BLOCK)?;
        let most = most.unsigned_abs();
        let most = if limit == 0 { most } else { most.min(limit) };
        let rounded = most.next_multiple_of(WARP_THREADS);
        let sizes = (1..=rounded / WARP_THREADS).rev();
        Ok(sizes
            .map(|warps| (warps * WARP_THREADS).min(most))
            .collect())
    }

    /// The largest dynamic shared memory in bytes with which a multiprocessor runs `blocks` blocks at the same time.
    pub(crate) fn available_shared(&self, kernel: Raw, blocks: u32, threads: u32) -> Outcome<u64> {
        let capability = self.config.capability;
        if blocks == 0 || self.active_blocks(kernel, threads, 0)? < blocks {
            return Err(Status::INVALID_VALUE);
        }
        let unit = shared_unit(capability);
        let whole = shared_of_multiprocessor(capability);
        let reserved = whole - shared_of_block(capability);
        let of_block = (whole / blocks / unit * unit).saturating_sub(reserved);
        let of_block = of_block.min(shared_of_block(capability));
        let fixed = self.kernels.get(kernel)?.shared_bytes;
        Ok(u64::from(of_block).saturating_sub(fixed))
    }

    /// The most blocks that a cluster of a kernel may have.
    pub(crate) fn largest_cluster(&self, kernel: Raw, threads: u32, dynamic: u64) -> Outcome<u32> {
        if self.config.capability.major < 9 {
            return Err(Status::NOT_SUPPORTED);
        }
        let allows_large =
            self.kernel_attribute(kernel, kernel_attribute::NON_PORTABLE_CLUSTER_SIZE)?;
        let limit = if allows_large != 0 {
            LARGEST_CLUSTER
        } else {
            PORTABLE_CLUSTER
        };
        let active = self.active_blocks(kernel, threads, dynamic)?;
        let together = CLUSTER_MULTIPROCESSORS.min(self.config.multiprocessors);
        let fitting = active.saturating_mul(together).min(limit);
        Ok(match fitting {
            0 => 0,
            // The largest power of two.
            blocks => 1 << blocks.ilog2(),
        })
    }

    /// The clusters of a kernel that the device runs at the same time.
    pub(crate) fn active_clusters(
        &self,
        kernel: Raw,
        threads: u32,
        dynamic: u64,
        blocks: u32,
    ) -> Outcome<u32> {
        if blocks == 0 || blocks > LARGEST_CLUSTER {
            return Err(Status::INVALID_CLUSTER_SIZE);
        }
        if blocks > self.largest_cluster(kernel, threads, dynamic)? {
            return Ok(0);
        }
        let active = self.active_blocks(kernel, threads, dynamic)?;
        let multiprocessors = self.config.multiprocessors;
        let groups = multiprocessors / CLUSTER_MULTIPROCESSORS;
        let remaining = multiprocessors % CLUSTER_MULTIPROCESSORS;
        let in_group = active.saturating_mul(CLUSTER_MULTIPROCESSORS) / blocks;
        let in_rest = active.saturating_mul(remaining) / blocks;
        Ok(groups.saturating_mul(in_group).saturating_add(in_rest))
    }

    /// The number of multiprocessors.
    pub(crate) const fn multiprocessors(&self) -> u32 {
        self.config.multiprocessors
    }
}
