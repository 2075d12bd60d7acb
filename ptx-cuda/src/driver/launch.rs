//! Launches of kernels and of functions of the program.

use std::ffi::c_void;

use crate::abi::{LaunchConfig, launch_attribute};
use crate::call::enqueue;
use crate::caller::{self, given};
use crate::handles::Raw;
use crate::state::{Driver, HostFunction, KernelLaunch, Operation};
use crate::status::{Outcome, Status};

/// Values that mark the entries of the list `extra`.
const EXTRA_END: usize = 0;
const EXTRA_BUFFER: usize = 1;
const EXTRA_BUFFER_BYTES: usize = 2;

/// The arguments of a launch: pointers to each, or one buffer with all of them.
#[derive(Copy, Clone)]
pub(crate) struct Arguments {
    pub(crate) pointers: *const *const c_void,
    pub(crate) extra: *const usize,
}

impl Arguments {
    /// The bytes of each parameter of a kernel.
    pub(crate) fn bytes(self, driver: &Driver, kernel: Raw) -> Outcome<Vec<Vec<u8>>> {
        let parameters = &driver.kernels.get(kernel)?.parameters;
        if parameters.is_empty() {
            return Ok(Vec::new());
        }
        if !self.pointers.is_null() {
            let pointers = caller::slice(self.pointers, parameters.len())?;
            let each = parameters.iter().zip(pointers);
            return each
                .map(|(parameter, pointer)| {
                    Ok(caller::bytes(pointer.addr(), parameter.bytes as usize)?.to_vec())
                })
                .collect();
        }
        let (buffer, bytes) = self.buffer()?;
        parameters
            .iter()
            .map(|parameter| {
                let end = parameter.offset + parameter.bytes;
                if end > bytes as u64 {
                    return Err(Status::INVALID_VALUE);
                }
                let address = buffer + parameter.offset as usize;
                Ok(caller::bytes(address, parameter.bytes as usize)?.to_vec())
            })
            .collect()
    }

    /// The address and the size of the buffer with all arguments.
    fn buffer(self) -> Outcome<(usize, usize)> {
        let (mut address, mut bytes) = (0, 0);
        let mut entry = self.extra;
        loop {
            match caller::read(entry)? {
                EXTRA_END => break,
                EXTRA_BUFFER => address = caller::read(entry.wrapping_add(1))?,
                EXTRA_BUFFER_BYTES => {
                    let pointer: usize = caller::read(entry.wrapping_add(1))?;
                    bytes = caller::read(pointer as *const usize)?;
                }
                _ => return Err(Status::INVALID_VALUE),
            }
            entry = entry.wrapping_add(2);
        }
        if address == 0 {
            return Err(Status::INVALID_VALUE);
        }
        Ok((address, bytes))
    }
}

/// An operation that launches a kernel, after the checks that a driver makes at once.
pub(crate) fn launch_operation(driver: &Driver, launch: KernelLaunch) -> Outcome<Operation> {
    driver.check_launch(&launch)?;
    Ok(Operation::Launch(Box::new(launch)))
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchKernel(
    function: Raw,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: u32,
    stream: Raw,
    pointers: *const *const c_void,
    extra: *const usize,
) -> Status {
    enqueue("cuLaunchKernel", stream, |driver| {
        let launch = KernelLaunch {
            kernel: function,
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            cluster: [1; 3],
            shared: shared_bytes,
            cooperative: false,
            arguments: Arguments { pointers, extra }.bytes(driver, function)?,
        };
        launch_operation(driver, launch)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchCooperativeKernel(
    function: Raw,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    block_z: u32,
    shared_bytes: u32,
    stream: Raw,
    pointers: *const *const c_void,
) -> Status {
    enqueue("cuLaunchCooperativeKernel", stream, |driver| {
        let extra = std::ptr::null();
        let launch = KernelLaunch {
            kernel: function,
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            cluster: [1; 3],
            shared: shared_bytes,
            cooperative: true,
            arguments: Arguments { pointers, extra }.bytes(driver, function)?,
        };
        launch_operation(driver, launch)
    })
}

/// The launch of a configuration. Programmatic launches begin after the kernels before them, which the documentation allows.
pub(crate) fn configured(
    driver: &Driver,
    kernel: Raw,
    config: &LaunchConfig,
    arguments: Arguments,
) -> Outcome<KernelLaunch> {
    let mut launch = KernelLaunch {
        kernel,
        grid: config.grid,
        block: config.block,
        cluster: [1; 3],
        shared: config.shared_bytes,
        cooperative: false,
        arguments: arguments.bytes(driver, kernel)?,
    };
    for attribute in caller::slice(config.attributes, config.attribute_count as usize)? {
        match attribute.number {
            launch_attribute::COOPERATIVE => launch.cooperative = attribute.value[0] != 0,
            launch_attribute::CLUSTER_DIMENSION => {
                launch.cluster.copy_from_slice(&attribute.value[..3]);
            }
            _ => {}
        }
    }
    Ok(launch)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchKernelEx(
    config: Option<&LaunchConfig>,
    function: Raw,
    pointers: *const *const c_void,
    extra: *const usize,
) -> Status {
    let stream = config.map_or(0, |config| config.stream);
    enqueue("cuLaunchKernelEx", stream, |driver| {
        let arguments = Arguments { pointers, extra };
        let launch = configured(driver, function, given(config)?, arguments)?;
        launch_operation(driver, launch)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchHostFunc(
    stream: Raw,
    function: Option<extern "C" fn(usize)>,
    data: usize,
) -> Status {
    enqueue("cuLaunchHostFunc", stream, |_| {
        let function = function.ok_or(Status::INVALID_VALUE)?;
        Ok(Operation::Host(HostFunction::Plain(function, data)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuLaunchHostFunc_v2(
    stream: Raw,
    function: Option<extern "C" fn(usize)>,
    data: usize,
    _synchronization: u32,
) -> Status {
    cuLaunchHostFunc(stream, function, data)
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamAddCallback(
    stream: Raw,
    callback: Option<extern "C" fn(Raw, u32, usize)>,
    data: usize,
    _flags: u32,
) -> Status {
    enqueue("cuStreamAddCallback", stream, |_| {
        let callback = callback.ok_or(Status::INVALID_VALUE)?;
        Ok(Operation::Host(HostFunction::WithStatus(callback, data)))
    })
}
