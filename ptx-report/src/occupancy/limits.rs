//! The limits of multiprocessors, from the programming guide's table of compute capabilities.

/// The resources of a multiprocessor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MultiprocessorLimits {
    /// The compute capability: major and minor number.
    pub capability: (u32, u32),
    /// The most warps that run at the same time.
    pub warps: u32,
    /// The most CTAs that run at the same time.
    pub blocks: u32,
    /// The shared memory in bytes.
    pub shared: u32,
    /// The shared memory in bytes that is reserved for each CTA.
    pub reserved_shared: u32,
    /// The unit in bytes in which shared memory is allocated.
    pub shared_unit: u32,
}

/// The 32-bit registers of a multiprocessor, and the most of a CTA.
pub const REGISTERS: u32 = 64 << 10;
/// The registers that are allocated together for a warp.
pub(super) const REGISTER_UNIT: u32 = 256;
/// The most registers of a thread.
pub const MOST_REGISTERS: u32 = 255;
/// The parts of a multiprocessor: each has its part of the registers, and warps are distributed among them.
pub(super) const PARTITIONS: u32 = 4;
/// The most threads of a CTA.
pub(super) const MOST_THREADS: u32 = 1024;

const fn row(
    capability: (u32, u32),
    warps: u32,
    blocks: u32,
    shared_kib: u32,
    reserved_shared: u32,
    shared_unit: u32,
) -> MultiprocessorLimits {
    MultiprocessorLimits {
        capability,
        warps,
        blocks,
        shared: shared_kib << 10,
        reserved_shared,
        shared_unit,
    }
}

/// The rows of the table, in the order of the compute capabilities.
pub(super) const LIMITS: [MultiprocessorLimits; 13] = [
    //  capability  warps  CTAs  KiB of shared memory, bytes reserved, unit
    row((7, 0), 64, 32, 96, 0, 256),
    row((7, 2), 64, 32, 96, 0, 256),
    row((7, 5), 32, 16, 64, 0, 256),
    row((8, 0), 64, 32, 164, 1024, 128),
    row((8, 6), 48, 16, 100, 1024, 128),
    row((8, 7), 48, 16, 164, 1024, 128),
    row((8, 9), 48, 24, 100, 1024, 128),
    row((9, 0), 64, 32, 228, 1024, 128),
    row((10, 0), 64, 32, 228, 1024, 128),
    row((10, 3), 64, 32, 228, 1024, 128),
    row((11, 0), 48, 24, 228, 1024, 128),
    row((12, 0), 48, 24, 100, 1024, 128),
    row((12, 1), 48, 24, 100, 1024, 128),
];
