//! Occupancy, with numbers that were computed by hand from the limits of compute capability 8.0: 64 warps, 32 blocks, 65536 registers, 164 KiB of shared memory.

use ptx_cuda::abi::{LaunchAttribute, LaunchConfig, launch_attribute};
use ptx_cuda::driver::kernel::cuFuncSetAttribute;
use ptx_cuda::driver::occupancy::*;
use ptx_cuda::status::Status;

use crate::session::{Session, result};

extern "C" fn four_bytes_for_each_thread(threads: i32) -> usize {
    4 * threads as usize
}

extern "C" fn too_much_for_large_blocks(threads: i32) -> usize {
    if threads > 256 { 200 << 10 } else { 0 }
}

#[test]
fn blocks_are_limited_by_warps_blocks_and_shared_memory() {
    let session = Session::new();
    let plain = session.kernel("plain", "", "");
    let blocks = |kernel, threads, dynamic| {
        result(|n| cuOccupancyMaxActiveBlocksPerMultiprocessor(n, kernel, threads, dynamic))
    };
    for (threads, expected) in [(32, 32), (64, 32), (96, 21), (256, 8), (768, 2), (1024, 2)] {
        assert_eq!(blocks(plain, threads, 0), Ok(expected), "{threads}");
    }
    // Each block also takes 1 KiB.
    for (dynamic, expected) in [
        (1, 32),
        (9 << 10, 16),
        (40 << 10, 4),
        (81 << 10, 2),
        (163 << 10, 1),
    ] {
        assert_eq!(blocks(plain, 32, dynamic), Ok(expected), "{dynamic}");
    }
    assert_eq!(blocks(plain, 32, (163 << 10) + 1), Ok(0));
    assert_eq!(blocks(plain, 32, usize::MAX), Ok(0));
    assert_eq!(blocks(plain, 0, 0), Err(Status::INVALID_VALUE));
    assert_eq!(blocks(plain, -1, 0), Err(Status::INVALID_VALUE));
    assert_eq!(blocks(plain, 2048, 0), Ok(0));
    assert!(blocks(0, 32, 0).is_err());
    let fixed = session.kernel("fixed", "", ".shared .align 4 .b8 tile[32768];");
    assert_eq!(blocks(fixed, 32, 0), Ok(4));
    assert_eq!(blocks(fixed, 32, 8 << 10), Ok(4));
    assert_eq!(blocks(fixed, 32, (8 << 10) + 1), Ok(3));
    let available = |kernel, blocks, threads| {
        result(|bytes| cuOccupancyAvailableDynamicSMemPerBlock(bytes, kernel, blocks, threads))
    };
    for count in 1..=4 {
        let bytes = available(fixed, count, 32).unwrap();
        assert!(blocks(fixed, 32, bytes).unwrap() >= count);
        assert!(blocks(fixed, 32, bytes + 128).unwrap() < count);
    }
    assert_eq!(available(fixed, 5, 32), Err(Status::INVALID_VALUE));
}

#[test]
fn the_best_block_size_is_found() {
    let session = Session::new();
    let plain = session.kernel("plain", "", "");
    let best = |dynamic_of_size, dynamic, limit| {
        let mut grid = std::mem::MaybeUninit::zeroed();
        let size = result(|size| {
            cuOccupancyMaxPotentialBlockSize(
                Some(&mut grid),
                size,
                plain,
                dynamic_of_size,
                dynamic,
                limit,
            )
        })?;
        // SAFETY: the number was initialized with zero.
        Ok::<(i32, i32), Status>((unsafe { grid.assume_init() }, size))
    };
    assert_eq!(best(None, 0, 0), Ok((32, 1024)));
    assert_eq!(best(None, 0, 256), Ok((8 * 16, 256)));
    // Of 100, 96, 64 and 32 threads, 64 fill the multiprocessor.
    assert_eq!(best(None, 0, 100), Ok((32 * 16, 64)));
    assert_eq!(best(None, 100 << 10, 0), Ok((16, 1024)));
    assert_eq!(best(Some(four_bytes_for_each_thread), 0, 0), Ok((32, 1024)));
    assert_eq!(
        best(Some(too_much_for_large_blocks), 0, 0),
        Ok((8 * 16, 256))
    );
    assert_eq!(best(None, 0, -1), Err(Status::INVALID_VALUE));
}

#[test]
fn devices_without_clusters_say_so() {
    let session = Session::new();
    let plain = session.kernel("plain", "", "");
    let config = LaunchConfig {
        grid: [1; 3],
        block: [32, 1, 1],
        shared_bytes: 0,
        stream: 0,
        attributes: std::ptr::null(),
        attribute_count: 0,
    };
    let clusters = result(|n| cuOccupancyMaxActiveClusters(n, plain, Some(&config)));
    assert_eq!(clusters, Err(Status::NOT_SUPPORTED));
    let size = result(|n| cuOccupancyMaxPotentialClusterSize(n, plain, Some(&config)));
    assert_eq!(size, Err(Status::NOT_SUPPORTED));
    assert_eq!(
        result(|n| cuOccupancyMaxActiveClusters(n, plain, None)),
        Err(Status::INVALID_VALUE)
    );
}

/// The variable that is set in the process with another compute capability.
const CHILD: &str = "PTXKIT_TEST_CLUSTERS";

#[test]
fn clusters_are_limited_by_the_blocks_of_all_multiprocessors() {
    if std::env::var_os(CHILD).is_none() {
        let test = "occupancy::clusters_are_limited_by_the_blocks_of_all_multiprocessors";
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact"])
            .env(CHILD, "1")
            .env("PTXKIT_CUDA_CC", "9.0")
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let session = Session::new();
    let plain = session.kernel("plain", "", "");
    // 16 multiprocessors, each of which runs two blocks of 1024 threads.
    let clusters = |blocks, dynamic| {
        let mut value = [0; 16];
        value[..3].copy_from_slice(&[blocks, 1, 1]);
        let attribute = LaunchAttribute {
            number: launch_attribute::CLUSTER_DIMENSION,
            padding: 0,
            value,
        };
        let config = LaunchConfig {
            grid: [16, 1, 1],
            block: [1024, 1, 1],
            shared_bytes: dynamic,
            stream: 0,
            attributes: &attribute,
            attribute_count: 1,
        };
        let count = result(|n| cuOccupancyMaxActiveClusters(n, plain, Some(&config)));
        let largest = result(|n| cuOccupancyMaxPotentialClusterSize(n, plain, Some(&config)));
        (count, largest)
    };
    assert_eq!(clusters(1, 0), (Ok(32), Ok(8)));
    assert_eq!(clusters(8, 0), (Ok(4), Ok(8)));
    // One block for each multiprocessor fits.
    assert_eq!(clusters(8, 200 << 10), (Ok(2), Ok(8)));
    assert_eq!(clusters(8, 228 << 10), (Ok(0), Ok(0)));
    assert_eq!(clusters(16, 0), (Ok(0), Ok(8)));
    assert_eq!(clusters(17, 0).0, Err(Status::INVALID_CLUSTER_SIZE));
    const NON_PORTABLE_CLUSTER_SIZE: u32 = 14;
    let allowed = cuFuncSetAttribute(plain, NON_PORTABLE_CLUSTER_SIZE, 1);
    assert_eq!(allowed, Status::SUCCESS);
    assert_eq!(clusters(16, 0), (Ok(2), Ok(16)));
}
