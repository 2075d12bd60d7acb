//! Occupancy: how many blocks of a kernel a multiprocessor runs at the same time, from the limits that the programming guide states for each compute capability.

use ptx_report::occupancy::{BlockNeeds, MultiprocessorLimits, Occupancy};

use super::Driver;
use super::attributes::{kernel_attribute, shared_of_block, shared_of_multiprocessor};
use crate::config::Capability;
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// The threads of a warp.
const WARP_THREADS: u32 = 32;
/// The blocks of a cluster that every device with clusters runs.
const PORTABLE_CLUSTER: u32 = 8;
/// The blocks of a cluster with the attribute for sizes that are not portable.
const LARGEST_CLUSTER: u32 = 16;
/// The number of multiprocessors that can run blocks of a cluster together.
const CLUSTER_MULTIPROCESSORS: u32 = 16;

/// The limits of a multiprocessor. Devices that the table lacks have those of the newest one.
pub(crate) fn limits(capability: Capability) -> MultiprocessorLimits {
    let (major, minor) = (capability.major, capability.minor);
    MultiprocessorLimits::of(major, minor).unwrap_or(MultiprocessorLimits::NEWEST)
}

impl Driver {
    /// The needs of a block of a kernel.
    fn block_needs(&self, kernel: Raw, threads: u32, dynamic: u64) -> Outcome<BlockNeeds> {
        let registers = self.kernel_attribute(kernel, kernel_attribute::NUM_REGS)?;
        let kernel = self.kernels.get(kernel)?;
        let shared = kernel.shared_bytes.checked_add(dynamic);
        Ok(BlockNeeds {
            threads,
            registers: u32::try_from(registers).unwrap_or(0),
            shared_bytes: shared.ok_or(Status::INVALID_VALUE)?,
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
        Ok(Occupancy::new(&limits(self.config.capability), needs).blocks)
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
        let unit = limits(capability).shared_unit;
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
