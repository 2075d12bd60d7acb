//! Occupancy: how many blocks and clusters of a kernel run at the same time.

use crate::abi::{LaunchConfig, launch_attribute};
use crate::call::{in_context, plain, with};
use crate::caller::{self, Out, given, set};
use crate::handles::Raw;
use crate::status::{Outcome, Status};

/// The flag without effect on devices with one kind of cache.
const NO_CACHING_OVERRIDE: u32 = 1;

/// A function of the program that computes the bytes of dynamic shared memory from the threads of a block: `CUoccupancyB2DSize`.
pub type DynamicOfSize = Option<extern "C" fn(i32) -> usize>;

fn threads_of(block_size: i32) -> Outcome<u32> {
    let threads = u32::try_from(block_size);
    threads.ok().filter(|t| *t > 0).ok_or(Status::INVALID_VALUE)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: Out<'_, i32>,
    function: Raw,
    block_size: i32,
    dynamic: usize,
    flags: u32,
) -> Status {
    in_context(
        "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        |driver| {
            if flags & !NO_CACHING_OVERRIDE != 0 {
                return Err(Status::INVALID_VALUE);
            }
            let threads = threads_of(block_size)?;
            set(
                blocks,
                driver.active_blocks(function, threads, dynamic as u64)? as i32,
            )
        },
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: Out<'_, i32>,
    function: Raw,
    block_size: i32,
    dynamic: usize,
) -> Status {
    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, dynamic, 0)
}

/// The size of blocks with which a multiprocessor runs the most threads; of several, the largest one. The function of the program is called while the driver is not in use.
#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid_size: Out<'_, i32>,
    block_size: Out<'_, i32>,
    function: Raw,
    dynamic_of_size: DynamicOfSize,
    dynamic: usize,
    limit: i32,
    flags: u32,
) -> Status {
    plain("cuOccupancyMaxPotentialBlockSizeWithFlags", || {
        if flags & !NO_CACHING_OVERRIDE != 0 {
            return Err(Status::INVALID_VALUE);
        }
        let limit = u32::try_from(limit).map_err(|_| Status::INVALID_VALUE)?;
        let sizes = with(|driver| {
            driver.check_context()?;
            driver.block_sizes(function, limit)
        })?;
        let (mut best_size, mut best_blocks) = (0, 0);
        for size in sizes {
            let dynamic = dynamic_of_size.map_or(dynamic, |function| function(size as i32));
            let blocks = with(|driver| driver.active_blocks(function, size, dynamic as u64))?;
            if blocks * size > best_blocks * best_size {
                (best_size, best_blocks) = (size, blocks);
            }
        }
        let multiprocessors = with(|driver| Ok(driver.multiprocessors()))?;
        set(
            grid_size,
            best_blocks.saturating_mul(multiprocessors) as i32,
        )?;
        set(block_size, best_size as i32)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid_size: Out<'_, i32>,
    block_size: Out<'_, i32>,
    function: Raw,
    dynamic_of_size: DynamicOfSize,
    dynamic: usize,
    limit: i32,
) -> Status {
    cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid_size,
        block_size,
        function,
        dynamic_of_size,
        dynamic,
        limit,
        0,
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    dynamic: Out<'_, usize>,
    function: Raw,
    blocks: i32,
    block_size: i32,
) -> Status {
    in_context("cuOccupancyAvailableDynamicSMemPerBlock", |driver| {
        let (blocks, threads) = (threads_of(blocks)?, threads_of(block_size)?);
        set(
            dynamic,
            driver.available_shared(function, blocks, threads)? as usize,
        )
    })
}

/// The number of threads of a block, the dynamic shared memory, and the blocks of a cluster of a configuration.
fn shape(config: Option<&LaunchConfig>) -> Outcome<(u32, u64, u32)> {
    let product = |sizes: [u32; 3]| {
        let mut sizes = sizes.iter();
        let product = sizes.try_fold(1u32, |product, size| product.checked_mul(*size));
        product.filter(|p| *p > 0).ok_or(Status::INVALID_VALUE)
    };
    let config = given(config)?;
    let mut cluster = [1; 3];
    for attribute in caller::slice(config.attributes, config.attribute_count as usize)? {
        if attribute.number == launch_attribute::CLUSTER_DIMENSION {
            cluster.copy_from_slice(&attribute.value[..3]);
        }
    }
    Ok((
        product(config.block)?,
        config.shared_bytes.into(),
        product(cluster)?,
    ))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxPotentialClusterSize(
    size: Out<'_, i32>,
    function: Raw,
    config: Option<&LaunchConfig>,
) -> Status {
    in_context("cuOccupancyMaxPotentialClusterSize", |driver| {
        let (threads, dynamic, _) = shape(config)?;
        set(
            size,
            driver.largest_cluster(function, threads, dynamic)? as i32,
        )
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuOccupancyMaxActiveClusters(
    clusters: Out<'_, i32>,
    function: Raw,
    config: Option<&LaunchConfig>,
) -> Status {
    in_context("cuOccupancyMaxActiveClusters", |driver| {
        let (threads, dynamic, blocks) = shape(config)?;
        set(
            clusters,
            driver.active_clusters(function, threads, dynamic, blocks)? as i32,
        )
    })
}
