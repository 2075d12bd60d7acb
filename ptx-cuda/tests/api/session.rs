//! A session of a test: the driver is initialized, and the primary context is current. Tests run one after the other, as the state of the driver is global.

use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ptx_cuda::driver::context::cuCtxSynchronize;
use ptx_cuda::driver::context::{
    cuCtxSetCurrent, cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxRetain,
};
use ptx_cuda::driver::copy::{cuMemcpyDtoH_v2, cuMemcpyHtoD_v2};
use ptx_cuda::driver::launch::cuLaunchKernel;
use ptx_cuda::driver::memory::cuMemAlloc_v2;
use ptx_cuda::driver::module::{cuModuleGetFunction, cuModuleLoadData};
use ptx_cuda::driver::version::cuInit;
use ptx_cuda::handles::Raw;
use ptx_cuda::status::Status;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A session. When it ends, the objects of the primary context are destroyed.
pub(crate) struct Session {
    pub(crate) context: Raw,
    _turn: MutexGuard<'static, ()>,
}

/// The result that a function writes, if it succeeds.
pub(crate) fn result<T>(
    function: impl FnOnce(Option<&mut MaybeUninit<T>>) -> Status,
) -> Result<T, Status> {
    let mut value = MaybeUninit::zeroed();
    match function(Some(&mut value)) {
        // SAFETY: a function that succeeds has written the result.
        Status::SUCCESS => Ok(unsafe { value.assume_init() }),
        status => Err(status),
    }
}

/// Fails unless a function succeeded.
#[track_caller]
pub(crate) fn succeeds(status: Status) {
    assert_eq!(status, Status::SUCCESS, "{:?}", status.driver_name());
}

impl Session {
    pub(crate) fn new() -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        succeeds(cuInit(0));
        let context = result(|context| cuDevicePrimaryCtxRetain(context, 0)).unwrap();
        succeeds(cuCtxSetCurrent(context));
        Self {
            context,
            _turn: turn,
        }
    }

    /// Allocates memory with contents.
    pub(crate) fn buffer<T: Copy>(&self, values: &[T]) -> u64 {
        let bytes = size_of_val(values);
        let address = result(|address| cuMemAlloc_v2(address, bytes)).unwrap();
        succeeds(cuMemcpyHtoD_v2(address, values.as_ptr().addr(), bytes));
        address
    }

    /// The numbers at an address.
    pub(crate) fn numbers(&self, address: u64, len: usize) -> Vec<u32> {
        let mut values = vec![0u32; len];
        succeeds(cuMemcpyDtoH_v2(
            values.as_mut_ptr().addr(),
            address,
            4 * len,
        ));
        values
    }

    /// The kernel of a module that consists of one.
    pub(crate) fn kernel(&self, name: &str, parameters: &str, body: &str) -> Raw {
        let module = self.module(name, parameters, body);
        let name = CString::new(name).unwrap();
        result(|function| cuModuleGetFunction(function, module, name.as_ptr())).unwrap()
    }

    /// A module with one kernel.
    pub(crate) fn module(&self, name: &str, parameters: &str, body: &str) -> Raw {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {name}({parameters})\n{{\n{body}\nret;\n}}\n"
        );
        let text = CString::new(text).unwrap();
        result(|module| cuModuleLoadData(module, text.as_ptr().cast())).unwrap()
    }

    /// Launches one block of a kernel.
    pub(crate) fn launch(&self, kernel: Raw, threads: u32, arguments: &[*const c_void]) -> Status {
        let extra = std::ptr::null();
        cuLaunchKernel(
            kernel,
            1,
            1,
            1,
            threads,
            1,
            1,
            0,
            0,
            arguments.as_ptr(),
            extra,
        )
    }

    /// Waits for the device.
    pub(crate) fn synchronize(&self) -> Status {
        cuCtxSynchronize()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        cuDevicePrimaryCtxReset_v2(0);
        cuCtxSetCurrent(0);
    }
}

/// A pointer to an argument.
pub(crate) fn argument<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}
