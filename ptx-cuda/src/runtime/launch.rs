//! Launches of kernels and of functions of the program.

use std::ffi::c_void;

use super::call::enqueue;
use super::function::kernel_of;
use super::types::{Dim3, LaunchConfig};
use crate::abi;
use crate::caller::given;
use crate::driver::launch::{Arguments, configured, launch_operation};
use crate::handles::Raw;
use crate::state::{BLOCK_THREADS, Driver, HostFunction, KernelLaunch, Operation};
use crate::status::{Outcome, Status};

/// An operation that launches a kernel. Sizes that the device does not allow are another error than in the driver API.
fn operation(driver: &Driver, launch: KernelLaunch) -> Outcome<Operation> {
    if !launch.has_valid_sizes(BLOCK_THREADS) {
        return Err(Status::INVALID_CONFIGURATION);
    }
    launch_operation(driver, launch)
}

/// The result of a function that launches the kernel of a function with the sizes of the grid and of blocks.
pub(super) fn launch_kernel(
    name: &str,
    function: usize,
    [grid, block]: [Dim3; 2],
    pointers: *const *const c_void,
    shared_bytes: usize,
    stream: Raw,
    cooperative: bool,
) -> Status {
    enqueue(name, stream, |driver| {
        let kernel = kernel_of(driver, function)?;
        let extra = std::ptr::null();
        let launch = KernelLaunch {
            kernel,
            grid: grid.sizes(),
            block: block.sizes(),
            cluster: [1; 3],
            shared: u32::try_from(shared_bytes).map_err(|_| Status::INVALID_VALUE)?,
            cooperative,
            arguments: Arguments { pointers, extra }.bytes(driver, kernel)?,
        };
        operation(driver, launch)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchKernel(
    function: usize,
    grid: Dim3,
    block: Dim3,
    arguments: *const *const c_void,
    shared_bytes: usize,
    stream: Raw,
) -> Status {
    launch_kernel(
        "cudaLaunchKernel",
        function,
        [grid, block],
        arguments,
        shared_bytes,
        stream,
        false,
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchCooperativeKernel(
    function: usize,
    grid: Dim3,
    block: Dim3,
    arguments: *const *const c_void,
    shared_bytes: usize,
    stream: Raw,
) -> Status {
    launch_kernel(
        "cudaLaunchCooperativeKernel",
        function,
        [grid, block],
        arguments,
        shared_bytes,
        stream,
        true,
    )
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchKernelExC(
    config: Option<&LaunchConfig>,
    function: usize,
    pointers: *const *const c_void,
) -> Status {
    let stream = config.map_or(0, |config| config.stream);
    enqueue("cudaLaunchKernelExC", stream, |driver| {
        let config = given(config)?;
        let kernel = kernel_of(driver, function)?;
        let config = abi::LaunchConfig {
            grid: config.grid.sizes(),
            block: config.block.sizes(),
            shared_bytes: u32::try_from(config.shared_bytes).map_err(|_| Status::INVALID_VALUE)?,
            stream: config.stream,
            attributes: config.attributes,
            attribute_count: config.attribute_count,
        };
        let extra = std::ptr::null();
        let launch = configured(driver, kernel, &config, Arguments { pointers, extra })?;
        operation(driver, launch)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchHostFunc(
    stream: Raw,
    function: Option<extern "C" fn(usize)>,
    data: usize,
) -> Status {
    enqueue("cudaLaunchHostFunc", stream, |_| {
        let function = function.ok_or(Status::INVALID_VALUE)?;
        Ok(Operation::Host(HostFunction::Plain(function, data)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaLaunchHostFunc_v2(
    stream: Raw,
    function: Option<extern "C" fn(usize)>,
    data: usize,
    _synchronization: u32,
) -> Status {
    cudaLaunchHostFunc(stream, function, data)
}
