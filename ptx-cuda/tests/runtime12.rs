//! The functions whose parameters CUDA 12 declares in another way than CUDA 13.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test"
)]

mod support;

use support::{Library, library_folder, to};

#[test]
fn parameters_are_those_of_cuda_12() {
    let folder = library_folder("runtime12");
    let library = Library::open(&folder.join("libcudart.so.12"));
    let mut version = 0i32;
    library.succeed("cudaRuntimeGetVersion", &[to(&mut version)]);
    assert_eq!(version / 1000, 12);
    let mut pointer = 0usize;
    library.succeed("cudaMallocManaged", &[to(&mut pointer), 64, 1]);
    // The third parameter is a device, and the fourth one a stream; -1 is the host.
    library.succeed("cudaMemPrefetchAsync", &[pointer, 64, 0, 0]);
    library.succeed("cudaMemPrefetchAsync", &[pointer, 64, u32::MAX as usize, 0]);
    assert_eq!(
        library.call("cudaMemPrefetchAsync", &[pointer, 64, 0, 0x1234]),
        400
    );
    assert_eq!(
        library.call("cudaMemPrefetchAsync", &[pointer, 64, 5, 0]),
        101
    );
    let device_location = 1;
    library.succeed(
        "cudaMemPrefetchAsync_v2",
        &[pointer, 64, device_location, 0, 0],
    );
    library.succeed("cudaMemAdvise", &[pointer, 64, 3, 0]);
    library.succeed("cudaMemAdvise_v2", &[pointer, 64, 3, device_location]);
    // The structure is 1032 bytes long, and contains the clock rate after the sizes of grids.
    let mut properties = [0xeeu8; 1040];
    library.succeed("cudaGetDeviceProperties_v2", &[to(&mut properties), 0]);
    assert_eq!(properties[1031], 0);
    assert_eq!(properties[1032], 0xee);
    // The attributes of pointers have no reserved words.
    let mut attributes = [0xeeu8; 40];
    library.succeed("cudaPointerGetAttributes", &[to(&mut attributes), pointer]);
    assert_eq!(attributes[23], 0);
    assert_eq!(attributes[24], 0xee);
    std::fs::remove_dir_all(folder).unwrap();
}
