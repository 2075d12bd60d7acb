//! Occupancy of functions of the program.

use super::call::prepared;
use super::function::kernel_of;
use super::types::LaunchConfig;
use crate::abi;
use crate::call::with;
use crate::caller::Out;
use crate::driver::occupancy as o;
use crate::handles::Raw;
use crate::status::Status;

/// The result of a function for the kernel of a function of the program.
fn of_kernel(name: &str, function: usize, result: impl FnOnce(Raw) -> Status) -> Status {
    prepared(name, || match with(|driver| kernel_of(driver, function)) {
        Ok(kernel) => result(kernel),
        Err(status) => status,
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: Out<'_, i32>,
    function: usize,
    block_size: i32,
    dynamic: usize,
    flags: u32,
) -> Status {
    let name = "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags";
    of_kernel(name, function, |kernel| {
        o::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            blocks, kernel, block_size, dynamic, flags,
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: Out<'_, i32>,
    function: usize,
    block_size: i32,
    dynamic: usize,
) -> Status {
    cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, dynamic, 0)
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaOccupancyAvailableDynamicSMemPerBlock(
    dynamic: Out<'_, usize>,
    function: usize,
    blocks: i32,
    block_size: i32,
) -> Status {
    let name = "cudaOccupancyAvailableDynamicSMemPerBlock";
    of_kernel(name, function, |kernel| {
        o::cuOccupancyAvailableDynamicSMemPerBlock(dynamic, kernel, blocks, block_size)
    })
}

/// The configuration of the driver API.
fn configuration(config: &LaunchConfig) -> abi::LaunchConfig {
    abi::LaunchConfig {
        grid: config.grid.sizes(),
        block: config.block.sizes(),
        // More shared memory than the largest number is too much, too.
        shared_bytes: u32::try_from(config.shared_bytes).unwrap_or(u32::MAX),
        stream: config.stream,
        attributes: config.attributes,
        attribute_count: config.attribute_count,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaOccupancyMaxPotentialClusterSize(
    size: Out<'_, i32>,
    function: usize,
    config: Option<&LaunchConfig>,
) -> Status {
    let config = config.map(configuration);
    of_kernel("cudaOccupancyMaxPotentialClusterSize", function, |kernel| {
        o::cuOccupancyMaxPotentialClusterSize(size, kernel, config.as_ref())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaOccupancyMaxActiveClusters(
    clusters: Out<'_, i32>,
    function: usize,
    config: Option<&LaunchConfig>,
) -> Status {
    let config = config.map(configuration);
    of_kernel("cudaOccupancyMaxActiveClusters", function, |kernel| {
        o::cuOccupancyMaxActiveClusters(clusters, kernel, config.as_ref())
    })
}
