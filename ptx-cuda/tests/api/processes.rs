//! Several threads, forked processes, and many launches.

use std::fs;
use std::process::Command;
use std::thread;

use ptx_cuda::abi::{IpcEventHandle, IpcMemoryHandle};
use ptx_cuda::driver::context::{cuCtxSetCurrent, cuCtxSynchronize};
use ptx_cuda::driver::copy::cuMemcpyHtoD_v2;
use ptx_cuda::driver::event::{cuEventCreate, cuEventDestroy_v2, cuEventQuery, cuEventRecord};
use ptx_cuda::driver::ipc::{
    cuIpcCloseMemHandle, cuIpcGetEventHandle, cuIpcGetMemHandle, cuIpcOpenEventHandle,
    cuIpcOpenMemHandle_v2,
};
use ptx_cuda::driver::launch::cuLaunchKernel;
use ptx_cuda::driver::stream::{
    cuStreamCreate, cuStreamDestroy_v2, cuStreamSynchronize, cuStreamWaitEvent,
};
use ptx_cuda::driver::stream_memory::{cuStreamWaitValue32_v2, cuStreamWriteValue32_v2};
use ptx_cuda::driver::version::cuInit;
use ptx_cuda::driver::virtual_memory::cuMemRelease;
use ptx_cuda::status::Status;

use crate::session::{Session, argument, result, succeeds};
use crate::virtual_memory::{create_shared, import};

/// Adds 1 to a number.
const COUNT: &str = ".reg .b32 %r1;\n.reg .b64 %rd1;\nld.param.u64 %rd1, [data];\nld.global.u32 %r1, [%rd1];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;";

#[test]
fn threads_launch_in_their_streams() {
    let session = Session::new();
    let kernel = session.kernel("count", ".param .u64 data", COUNT);
    let addresses = [0, 1].map(|_| session.buffer(&[0u32]));
    let context = session.context;
    thread::scope(|scope| {
        for address in addresses {
            scope.spawn(move || {
                succeeds(cuCtxSetCurrent(context));
                let stream = result(|stream| cuStreamCreate(stream, 1)).unwrap();
                let arguments = [argument(&address)];
                let extra = std::ptr::null();
                for _ in 0..500 {
                    let pointers = arguments.as_ptr();
                    succeeds(cuLaunchKernel(
                        kernel, 1, 1, 1, 1, 1, 1, 0, stream, pointers, extra,
                    ));
                }
                succeeds(cuStreamSynchronize(stream));
                succeeds(cuStreamDestroy_v2(stream));
            });
        }
    });
    assert_eq!(
        addresses.map(|address| session.numbers(address, 1)[0]),
        [500, 500]
    );
}

#[test]
fn forked_processes_cannot_use_the_driver() {
    let _session = Session::new();
    // SAFETY: the new process calls functions that take no lock, and ends at once.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused =
            [cuCtxSynchronize(), cuInit(0)].map(|status| status == Status::NOT_INITIALIZED);
        // SAFETY: the process ends without the handlers of the test program.
        unsafe { libc::_exit(if refused == [true; 2] { 7 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: `status` is valid for a write.
    unsafe { libc::waitpid(child, &mut status, 0) };
    assert_eq!(libc::WEXITSTATUS(status), 7);
    succeeds(cuCtxSynchronize());
}

/// The environment variable with the handle that a test passes to another process.
const HANDLE: &str = "PTXKIT_TEST_IPC_HANDLE";

/// The handle that the process that started this one passed to it.
fn handle_of_parent() -> [u8; 64] {
    let text = std::env::var(HANDLE).unwrap();
    let mut handle = [0; 64];
    for (byte, digits) in handle.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap();
    }
    handle
}

/// Runs a test in another process, and passes a handle to it.
fn run_in_another_process(test: &str, handle: &[u8; 64]) {
    let text: String = handle.iter().map(|byte| format!("{byte:02x}")).collect();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", test])
        .env(HANDLE, text)
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
}

/// In a process that the test below starts: opens the memory twice, adds 1 to the numbers with a kernel, and closes it.
#[test]
#[ignore = "the test `memory_is_shared_with_another_process` runs it in another process"]
fn memory_of_another_process() {
    let session = Session::new();
    let handle = IpcMemoryHandle(handle_of_parent());
    let open = || result(|address| cuIpcOpenMemHandle_v2(address, handle, 1)).unwrap();
    let address = open();
    assert_eq!(open(), address);
    assert_eq!(session.numbers(address, 3), [41, 7, 8]);
    succeeds(cuIpcCloseMemHandle(address));
    let kernel = session.kernel("count", ".param .u64 data", COUNT);
    succeeds(session.launch(kernel, 1, &[argument(&address)]));
    assert_eq!(session.numbers(address, 1), [42]);
    succeeds(cuIpcCloseMemHandle(address));
    assert_eq!(cuIpcCloseMemHandle(address), Status::INVALID_VALUE);
    // The addresses are used again, for memory of this process.
    assert_eq!(session.numbers(session.buffer(&[5u32]), 1), [5]);
}

#[test]
fn memory_is_shared_with_another_process() {
    let session = Session::new();
    session.buffer(&[1u32]);
    let address = session.buffer(&[41u32, 7, 8]);
    let handle = result(|handle| cuIpcGetMemHandle(handle, address)).unwrap();
    assert_eq!(
        result(|handle| cuIpcGetMemHandle(handle, 4096)),
        Err(Status::INVALID_VALUE)
    );
    let open = |handle| result(|address| cuIpcOpenMemHandle_v2(address, handle, 1));
    assert_eq!(open(handle), Err(Status::INVALID_CONTEXT));
    assert_eq!(open(IpcMemoryHandle([0; 64])), Err(Status::INVALID_VALUE));
    // A process that does not exist, and one that is not such a program.
    for process in [u32::MAX, 1] {
        let mut other = handle;
        other.0[8..12].copy_from_slice(&process.to_le_bytes());
        assert_eq!(open(other), Err(Status::INVALID_VALUE));
    }
    run_in_another_process("processes::memory_of_another_process", &handle.0);
    assert_eq!(session.numbers(address, 3), [42, 7, 8]);
}

/// In a process that the test below starts: maps the memory of the descriptor, and adds 1 to the number with a kernel.
#[test]
#[ignore = "the test `mapped_memory_is_shared_with_another_process` runs it in another process"]
fn mapped_memory_of_another_process() {
    let session = Session::new();
    let [descriptor @ .., _, _, _, _] = *handle_of_parent().first_chunk::<8>().unwrap();
    let (address, memory) = import(i32::from_ne_bytes(descriptor));
    let kernel = session.kernel("count", ".param .u64 data", COUNT);
    succeeds(session.launch(kernel, 1, &[argument(&address)]));
    assert_eq!(session.numbers(address, 1), [42]);
    succeeds(cuMemRelease(memory));
}

#[test]
fn mapped_memory_is_shared_with_another_process() {
    let session = Session::new();
    let (memory, descriptor) = create_shared();
    let (address, imported) = import(descriptor);
    succeeds(cuMemcpyHtoD_v2(
        address,
        std::ptr::from_ref(&41u32).expose_provenance(),
        4,
    ));
    // SAFETY: the descriptor is open. The other process inherits it.
    assert_eq!(unsafe { libc::fcntl(descriptor, libc::F_SETFD, 0) }, 0);
    let mut handle = [0; 64];
    handle[..4].copy_from_slice(&descriptor.to_ne_bytes());
    run_in_another_process("processes::mapped_memory_of_another_process", &handle);
    assert_eq!(session.numbers(address, 1), [42]);
    // SAFETY: the descriptor is that of this test.
    assert_eq!(unsafe { libc::close(descriptor) }, 0);
    for memory in [memory, imported] {
        succeeds(cuMemRelease(memory));
    }
}

/// The flags of an event for several processes.
const FOR_PROCESSES: u32 = 6;

/// In a process that the test below starts: the event has a record that was not performed. This process performs another one.
#[test]
#[ignore = "the test `events_are_shared_with_another_process` runs it in another process"]
fn event_of_another_process() {
    let _session = Session::new();
    let handle = IpcEventHandle(handle_of_parent());
    let event = result(|event| cuIpcOpenEventHandle(event, handle)).unwrap();
    assert_eq!(cuEventQuery(event), Status::NOT_READY);
    // An event of another process has no handle in this one.
    assert_eq!(
        result(|handle| cuIpcGetEventHandle(handle, event)),
        Err(Status::INVALID_HANDLE)
    );
    succeeds(cuEventRecord(event, 0));
    succeeds(cuEventQuery(event));
    succeeds(cuStreamWaitEvent(0, event, 0));
    succeeds(cuStreamSynchronize(0));
    succeeds(cuEventDestroy_v2(event));
}

#[test]
fn events_are_shared_with_another_process() {
    let session = Session::new();
    let plain = result(|event| cuEventCreate(event, 2)).unwrap();
    assert_eq!(
        result(|handle| cuIpcGetEventHandle(handle, plain)),
        Err(Status::INVALID_HANDLE)
    );
    let event = result(|event| cuEventCreate(event, FOR_PROCESSES)).unwrap();
    let handle = result(|handle| cuIpcGetEventHandle(handle, event)).unwrap();
    let again = result(|handle| cuIpcGetEventHandle(handle, event)).unwrap();
    assert_eq!(handle, again);
    let open = |handle| result(|event| cuIpcOpenEventHandle(event, handle));
    assert_eq!(open(handle), Err(Status::INVALID_CONTEXT));
    assert_eq!(open(IpcEventHandle([0; 64])), Err(Status::INVALID_VALUE));
    // The handle of memory is not that of an event.
    let memory = result(|handle| cuIpcGetMemHandle(handle, session.buffer(&[0u32]))).unwrap();
    assert_eq!(open(IpcEventHandle(memory.0)), Err(Status::INVALID_VALUE));
    // A stream that waits for a value has not performed the record.
    let value = session.buffer(&[0u32]);
    let stream = result(|stream| cuStreamCreate(stream, 1)).unwrap();
    succeeds(cuStreamWaitValue32_v2(stream, value, 1, 1));
    succeeds(cuEventRecord(event, stream));
    assert_eq!(cuEventQuery(event), Status::NOT_READY);
    run_in_another_process("processes::event_of_another_process", &handle.0);
    succeeds(cuEventQuery(event));
    succeeds(cuStreamWriteValue32_v2(0, value, 1, 0));
    succeeds(cuStreamSynchronize(stream));
    succeeds(cuStreamDestroy_v2(stream));
    succeeds(cuEventDestroy_v2(event));
}

/// The memory of this process in pages.
fn resident_pages() -> u64 {
    let sizes = fs::read_to_string("/proc/self/statm").unwrap();
    sizes
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap()
}

#[test]
fn launches_keep_no_memory() {
    let session = Session::new();
    let kernel = session.kernel("count", ".param .u64 data", COUNT);
    let address = session.buffer(&[0u32]);
    let launches = |count| {
        for _ in 0..count {
            succeeds(session.launch(kernel, 1, &[argument(&address)]));
        }
    };
    launches(1000);
    let before = resident_pages();
    launches(20_000);
    // A page more for each hundred launches would be 40 bytes for each.
    assert!(resident_pages() < before + 200);
    assert_eq!(session.numbers(address, 1), [21_000]);
}
