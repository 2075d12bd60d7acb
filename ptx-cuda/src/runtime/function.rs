//! Kernels: their attributes, names and parameters.

use std::ffi::c_char;

use super::call::in_context;
use super::types::FunctionAttributes;
use crate::caller::{Out, set, set_if_wanted};
use crate::handles::Raw;
use crate::state::{Driver, registered};
use crate::status::{Outcome, Status};

/// The kernel of a registered function, or of a handle of a kernel, which functions accept instead of the address of a function.
pub(crate) fn kernel_of(driver: &mut Driver, function: usize) -> Outcome<Raw> {
    match driver.registered_kernel(function) {
        Err(Status::INVALID_DEVICE_FUNCTION) if driver.kernels.get(function).is_ok() => {
            Ok(function)
        }
        result => result,
    }
}

/// The numbers of attributes of kernels.
mod attribute {
    pub(super) const MAX_THREADS_PER_BLOCK: u32 = 0;
    pub(super) const SHARED_BYTES: u32 = 1;
    pub(super) const CONSTANT_BYTES: u32 = 2;
    pub(super) const LOCAL_BYTES: u32 = 3;
    pub(super) const REGISTERS: u32 = 4;
    pub(super) const PTX_VERSION: u32 = 5;
    pub(super) const BINARY_VERSION: u32 = 6;
    pub(super) const CACHE_MODE: u32 = 7;
    pub(super) const MAX_DYNAMIC_SHARED_BYTES: u32 = 8;
    pub(super) const PREFERRED_SHARED_CARVEOUT: u32 = 9;
    pub(super) const CLUSTER_MUST_BE_SET: u32 = 10;
    pub(super) const REQUIRED_CLUSTER: [u32; 3] = [11, 12, 13];
    pub(super) const NON_PORTABLE_CLUSTER: u32 = 14;
    pub(super) const CLUSTER_SCHEDULING: u32 = 15;
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncGetAttributes(
    attributes: Out<'_, FunctionAttributes>,
    function: usize,
) -> Status {
    use attribute as a;
    in_context("cudaFuncGetAttributes", |driver| {
        let kernel = kernel_of(driver, function)?;
        let value = |number| driver.kernel_attribute(kernel, number);
        let bytes = |number| value(number).map(|bytes| bytes.max(0) as usize);
        let mut required_cluster = [0; 3];
        for (size, number) in required_cluster.iter_mut().zip(a::REQUIRED_CLUSTER) {
            *size = value(number)?;
        }
        let result = FunctionAttributes {
            shared_bytes: bytes(a::SHARED_BYTES)?,
            constant_bytes: bytes(a::CONSTANT_BYTES)?,
            local_bytes: bytes(a::LOCAL_BYTES)?,
            max_threads_per_block: value(a::MAX_THREADS_PER_BLOCK)?,
            registers: value(a::REGISTERS)?,
            ptx_version: value(a::PTX_VERSION)?,
            binary_version: value(a::BINARY_VERSION)?,
            caches_as_marked: value(a::CACHE_MODE)?,
            max_dynamic_shared_bytes: value(a::MAX_DYNAMIC_SHARED_BYTES)?,
            preferred_shared_carveout: value(a::PREFERRED_SHARED_CARVEOUT)?,
            requires_cluster: value(a::CLUSTER_MUST_BE_SET)?,
            required_cluster,
            cluster_scheduling_policy: value(a::CLUSTER_SCHEDULING)?,
            allows_non_portable_clusters: value(a::NON_PORTABLE_CLUSTER)?,
            reserved: [0; 16],
        };
        set(attributes, result)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetAttribute(function: usize, number: u32, value: i32) -> Status {
    in_context("cudaFuncSetAttribute", |driver| {
        let kernel = kernel_of(driver, function)?;
        driver.set_kernel_attribute(kernel, number, value)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaKernelSetAttributeForDevice(
    kernel: Raw,
    number: u32,
    value: i32,
    device: i32,
) -> Status {
    in_context("cudaKernelSetAttributeForDevice", |driver| {
        crate::driver::device::check_device(device)?;
        driver.set_kernel_attribute(kernel, number, value)
    })
}

/// The device has one kind of cache: the preference has no effect.
#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetCacheConfig(function: usize, _preference: u32) -> Status {
    in_context("cudaFuncSetCacheConfig", |driver| {
        kernel_of(driver, function).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncSetSharedMemConfig(function: usize, _size: u32) -> Status {
    in_context("cudaFuncSetSharedMemConfig", |driver| {
        kernel_of(driver, function).map(|_| ())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncGetName(name: Out<'_, *const c_char>, function: usize) -> Status {
    in_context("cudaFuncGetName", |driver| {
        let kernel = kernel_of(driver, function)?;
        set(name, driver.kernels.get(kernel)?.c_name.as_ptr())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncGetParamInfo(
    function: usize,
    index: usize,
    offset: Out<'_, usize>,
    bytes: Out<'_, usize>,
) -> Status {
    in_context("cudaFuncGetParamInfo", |driver| {
        let kernel = kernel_of(driver, function)?;
        let parameters = &driver.kernels.get(kernel)?.parameters;
        let parameter = parameters.get(index).ok_or(Status::INVALID_VALUE)?;
        set(offset, parameter.offset as usize)?;
        set_if_wanted(bytes, parameter.bytes as usize);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaFuncGetParamCount(function: usize, count: Out<'_, usize>) -> Status {
    in_context("cudaFuncGetParamCount", |driver| {
        let kernel = kernel_of(driver, function)?;
        set(count, driver.kernels.get(kernel)?.parameters.len())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetFuncBySymbol(function: Out<'_, Raw>, symbol: usize) -> Status {
    in_context("cudaGetFuncBySymbol", |driver| {
        let kernel = driver.registered_kernel(symbol)?;
        set(function, kernel)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetKernel(kernel: Out<'_, Raw>, function: usize) -> Status {
    in_context("cudaGetKernel", |driver| {
        if !registered::is_registered(function) {
            return Err(Status::INVALID_DEVICE_FUNCTION);
        }
        let handle = driver.registered_kernel(function)?;
        set(kernel, handle)
    })
}
