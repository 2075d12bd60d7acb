//! Streams that wait for values in memory, attributes of streams, and events.

use std::process::Command;
use std::time::Duration;

use ptx_cuda::abi::graph::StreamMemoryOperation;
use ptx_cuda::driver::context::{
    cuCtxCreate_v2, cuCtxDestroy_v2, cuCtxSetCurrent, cuCtxSynchronize,
};
use ptx_cuda::driver::copy::cuMemcpyDtoH_v2;
use ptx_cuda::driver::event::*;
use ptx_cuda::driver::graph_exec::cuGraphLaunch;
use ptx_cuda::driver::launch::cuLaunchHostFunc;
use ptx_cuda::driver::memory::{cuMemAllocManaged, cuMemHostAlloc};
use ptx_cuda::driver::stream::*;
use ptx_cuda::driver::stream_memory::*;
use ptx_cuda::driver::{capture, graph};
use ptx_cuda::handles::Raw;
use ptx_cuda::status::Status;

use crate::graphs::{calls, instantiate, note};
use crate::session::{Session, result, succeeds};

const AT_LEAST: u32 = 0;
const EQUAL: u32 = 1;
const ANY_BIT: u32 = 2;
const ANY_BIT_OF_NEITHER: u32 = 3;

fn stream(flags: u32) -> Raw {
    result(|stream| cuStreamCreate(stream, flags)).unwrap()
}

fn call(stream: Raw, number: usize) {
    succeeds(cuLaunchHostFunc(stream, Some(note), number));
}

fn wait(stream: Raw, address: u64, value: u32) {
    succeeds(cuStreamWaitValue32_v2(stream, address, value, EQUAL));
}

fn write(stream: Raw, address: u64, value: u32) {
    succeeds(cuStreamWriteValue32_v2(stream, address, value, 0));
}

#[test]
fn operations_behind_a_wait_are_performed_later() {
    let session = Session::new();
    let flag = session.buffer(&[0u32; 2]);
    let [first, second] = [stream(1), stream(1)];
    wait(first, flag, 1);
    call(first, 1);
    wait(first, flag + 4, 1);
    call(first, 2);
    call(second, 3);
    assert_eq!(calls(), [3]);
    assert_eq!(cuStreamQuery(first), Status::NOT_READY);
    succeeds(cuStreamQuery(second));
    succeeds(cuStreamSynchronize(second));
    // Another stream writes the values.
    write(second, flag, 1);
    assert_eq!(calls(), [1]);
    write(second, flag + 4, 1);
    assert_eq!(calls(), [2]);
    succeeds(cuStreamSynchronize(first));
    succeeds(cuCtxSynchronize());
}

#[test]
fn all_conditions_are_compared_as_documented() {
    let session = Session::new();
    let data = session.buffer(&[0u64]);
    let [waiting, writing] = [stream(1), stream(1)];
    // The value in memory, the operand, the condition, and whether it is met: for 32 bits.
    for (found, operand, condition, is_met) in [
        (5, 5, AT_LEAST, true),
        (6, 5, AT_LEAST, true),
        (4, 5, AT_LEAST, false),
        (1, u32::MAX, AT_LEAST, true),
        (u32::MAX, 1, AT_LEAST, false),
        (5, 5, EQUAL, true),
        (6, 5, EQUAL, false),
        (6, 2, ANY_BIT, true),
        (5, 2, ANY_BIT, false),
        (u32::MAX - 1, 0, ANY_BIT_OF_NEITHER, true),
        (u32::MAX - 1, 1, ANY_BIT_OF_NEITHER, false),
    ] {
        write(writing, data, found);
        succeeds(cuStreamWaitValue32_v2(waiting, data, operand, condition));
        let state = cuStreamQuery(waiting) == Status::SUCCESS;
        assert_eq!(state, is_met, "{found} {operand} {condition}");
        // A value that meets each condition with its operand.
        for value in [operand, operand.wrapping_add(1), !0, 0] {
            write(writing, data, value);
        }
        succeeds(cuStreamQuery(waiting));
    }
    for (found, operand, condition, is_met) in [
        (1 << 40, 1 << 40, EQUAL, true),
        (1 << 41, 1 << 40, AT_LEAST, true),
        (1, u64::MAX, AT_LEAST, true),
        (1 << 40, 1 << 41, ANY_BIT, false),
        (u64::from(u32::MAX), 0, ANY_BIT_OF_NEITHER, true),
    ] {
        succeeds(cuStreamWriteValue64_v2(writing, data, found, 0));
        succeeds(cuStreamWaitValue64_v2(waiting, data, operand, condition));
        let state = cuStreamQuery(waiting) == Status::SUCCESS;
        assert_eq!(state, is_met, "{found} {operand} {condition}");
        succeeds(cuStreamWriteValue64_v2(writing, data, operand, 0));
        succeeds(cuStreamQuery(waiting));
    }
    let invalid = Status::INVALID_VALUE;
    assert_eq!(cuStreamWaitValue32_v2(waiting, data, 0, 4), invalid);
    assert_eq!(cuStreamWaitValue32_v2(waiting, data + 1, 0, 0), invalid);
    assert_eq!(cuStreamWaitValue64_v2(waiting, data + 4, 0, 0), invalid);
    assert_eq!(cuStreamWriteValue32_v2(waiting, 64, 0, 0), invalid);
    assert_eq!(cuStreamWriteValue32_v2(waiting, 0, 0, 0), invalid);
}

#[test]
fn the_default_stream_waits_for_blocking_streams() {
    let session = Session::new();
    let flag = session.buffer(&[0u32]);
    let [blocking, other, free] = [stream(0), stream(0), stream(1)];
    wait(blocking, flag, 1);
    call(0, 1);
    // After the operation of the default stream.
    call(other, 2);
    call(free, 3);
    assert_eq!(calls(), [3]);
    let mut value = 0u32;
    let copied = cuMemcpyDtoH_v2(std::ptr::from_mut(&mut value).addr(), flag, 4);
    assert_eq!(copied, Status::LAUNCH_TIMEOUT);
    write(free, flag, 1);
    assert_eq!(calls(), [1, 2]);
    succeeds(cuStreamSynchronize(0));
}

#[test]
fn events_are_recorded_when_their_streams_reach_them() {
    let session = Session::new();
    let flag = session.buffer(&[0u32]);
    let [first, second, third] = [stream(1), stream(1), stream(1)];
    let [start, event] = [(); 2].map(|()| result(|event| cuEventCreate(event, 0)).unwrap());
    succeeds(cuEventRecord(start, first));
    wait(first, flag, 1);
    succeeds(cuEventRecord(event, first));
    succeeds(cuStreamWaitEvent(second, event, 0));
    call(second, 2);
    assert_eq!(cuEventQuery(event), Status::NOT_READY);
    let elapsed = || result(|time| cuEventElapsedTime(time, start, event));
    assert_eq!(elapsed(), Err(Status::NOT_READY));
    assert!(calls().is_empty());
    write(third, flag, 1);
    assert_eq!(calls(), [2]);
    succeeds(cuEventSynchronize(event));
    assert!(elapsed().unwrap() >= 0.0);
    // A stream that is destroyed performs its operations.
    wait(first, flag, 2);
    call(first, 3);
    succeeds(cuStreamDestroy_v2(first));
    assert!(calls().is_empty());
    write(third, flag, 2);
    assert_eq!(calls(), [3]);
}

#[test]
fn batches_and_graphs_wait_in_their_middle() {
    let session = Session::new();
    let data = session.buffer(&[0u32, 0, 6, 0]);
    let [stream, other] = [stream(1), stream(1)];
    let operation = |words: [u64; 4]| {
        let [a, b, c, d] = words;
        StreamMemoryOperation {
            words: [a, b, c, d, 0, 0],
        }
    };
    let list = [
        operation([2, data, 1, 0]),
        operation([1, data + 4, 1, 1]),
        operation([8, 5 | 0b1110 << 32, data + 8, 3]),
        operation([6, 0, 0, 0]),
    ];
    let append = |stream| cuStreamBatchMemOp_v2(stream, 4, list.as_ptr(), 0);
    succeeds(append(stream));
    assert_eq!(session.numbers(data, 4), [1, 0, 6, 0]);
    write(other, data + 4, 1);
    assert_eq!(session.numbers(data, 4), [1, 1, 2, 0]);
    // In a graph, with calls before and after.
    write(other, data + 4, 0);
    succeeds(capture::cuStreamBeginCapture_v2(stream, 2));
    call(stream, 1);
    succeeds(append(stream));
    call(stream, 2);
    let graph = result(|graph| capture::cuStreamEndCapture(stream, graph)).unwrap();
    let exec = instantiate(graph);
    succeeds(cuGraphLaunch(exec, stream));
    call(stream, 3);
    assert_eq!(calls(), [1]);
    write(other, data + 4, 1);
    assert_eq!(calls(), [2, 3]);
    succeeds(graph::cuGraphDestroy(graph));
    assert_eq!(
        cuStreamBatchMemOp_v2(stream, 257, list.as_ptr(), 0),
        Status::INVALID_VALUE
    );
    assert_eq!(
        cuStreamBatchMemOp_v2(stream, 1, std::ptr::null(), 0),
        Status::INVALID_VALUE
    );
    assert_eq!(
        cuStreamBatchMemOp_v2(stream, 1, &operation([7, data, 0, 0]), 0),
        Status::INVALID_VALUE
    );
}

#[test]
fn another_thread_can_end_a_wait() {
    let session = Session::new();
    let context = session.context;
    let flag = result(|pointer| cuMemHostAlloc(pointer, 4, 0)).unwrap();
    let stream = stream(1);
    wait(stream, flag as u64, 7);
    call(stream, 1);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            let flag = std::ptr::with_exposed_provenance_mut::<u32>(flag);
            // SAFETY: the memory was allocated above, and nothing else writes it.
            unsafe { flag.write_volatile(7) };
        });
        succeeds(cuStreamSynchronize(stream));
    });
    assert_eq!(calls(), [1]);
    // By a function of the driver.
    wait(stream, flag as u64, 8);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            succeeds(cuCtxSetCurrent(context));
            write(self::stream(1), flag as u64, 8);
        });
        succeeds(cuCtxSynchronize());
    });
}

/// The variable that is set in the process in which a wait cannot end.
const CHILD: &str = "PTXKIT_TEST_ENDLESS_WAIT";

#[test]
fn a_wait_that_cannot_end_is_an_error() {
    if std::env::var_os(CHILD).is_some() {
        let session = Session::new();
        let flag = session.buffer(&[0u32]);
        let stream = stream(1);
        wait(stream, flag, 1);
        assert_eq!(cuStreamSynchronize(stream), Status::LAUNCH_TIMEOUT);
        assert_eq!(cuCtxSynchronize(), Status::LAUNCH_TIMEOUT);
        // The stream can still go on.
        write(self::stream(1), flag, 1);
        succeeds(cuStreamSynchronize(stream));
        return;
    }
    let test = "streams::a_wait_that_cannot_end_is_an_error";
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, "1")
        .env("PTXKIT_CUDA_TIMEOUT", "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(
        errors.contains("cuStreamSynchronize cannot end"),
        "{errors}"
    );
    assert!(errors.contains("to be 0x1"), "{errors}");
}

#[test]
fn attributes_of_streams_can_be_set_and_copied() {
    let _session = Session::new();
    let [first, second] = [stream(0), stream(0)];
    let get = |stream, number| result(|value| cuStreamGetAttribute(stream, number, value));
    assert_eq!(get(first, 3).unwrap()[0], 1);
    assert_eq!(get(first, 8).unwrap()[0], 0);
    let mut value = [0u32; 16];
    value[0] = -3i32 as u32;
    succeeds(cuStreamSetAttribute(first, 8, Some(&value)));
    assert_eq!(result(|p| cuStreamGetPriority(first, p)), Ok(-3));
    value[0] = 4;
    succeeds(cuStreamSetAttribute(first, 3, Some(&value)));
    succeeds(cuStreamCopyAttributes(second, first));
    assert_eq!(get(second, 3), Ok(value));
    assert_eq!(result(|p| cuStreamGetPriority(second, p)), Ok(-3));
    let invalid = Status::INVALID_VALUE;
    assert_eq!(get(first, 2), Err(invalid));
    assert_eq!(cuStreamSetAttribute(first, 99, Some(&value)), invalid);
    assert_eq!(cuStreamSetAttribute(first, 3, None), invalid);
    assert!(get(12345, 3).is_err());
    let managed = result(|address| cuMemAllocManaged(address, 256, 1)).unwrap();
    succeeds(cuStreamAttachMemAsync(first, managed, 0, 4));
    assert_eq!(cuStreamAttachMemAsync(0, managed, 0, 4), invalid);
    assert_eq!(cuStreamAttachMemAsync(first, managed + 1, 0, 4), invalid);
    assert_eq!(cuStreamAttachMemAsync(first, managed, 0, 8), invalid);
    assert_eq!(cuStreamAttachMemAsync(first, 0, 0, 1), invalid);
}

#[test]
fn flags_of_events_decide_what_they_can_do() {
    let session = Session::new();
    let create = |flags| result(|event| cuEventCreate(event, flags));
    let [plain, untimed] = [create(1).unwrap(), create(2).unwrap()];
    create(6).unwrap();
    for wrong in [4, 8, u32::MAX] {
        assert_eq!(create(wrong), Err(Status::INVALID_VALUE));
    }
    // An event that was never recorded is complete, but has no time.
    succeeds(cuEventQuery(plain));
    succeeds(cuEventSynchronize(plain));
    succeeds(cuStreamWaitEvent(0, plain, 0));
    let elapsed = |start, end| result(|time| cuEventElapsedTime(time, start, end));
    assert_eq!(elapsed(plain, plain), Err(Status::INVALID_HANDLE));
    succeeds(cuEventRecord(plain, 0));
    succeeds(cuEventRecord(untimed, 0));
    assert_eq!(elapsed(plain, plain), Ok(0.0));
    assert_eq!(elapsed(plain, untimed), Err(Status::INVALID_HANDLE));
    // An event and a stream of different contexts.
    let other = result(|context| cuCtxCreate_v2(context, 0, 0)).unwrap();
    let foreign = stream(0);
    assert_eq!(cuEventRecord(plain, foreign), Status::INVALID_HANDLE);
    succeeds(cuStreamWaitEvent(foreign, plain, 0));
    succeeds(cuCtxDestroy_v2(other));
    succeeds(cuCtxSetCurrent(session.context));
    succeeds(cuEventDestroy_v2(plain));
    assert_eq!(cuEventQuery(plain), Status::INVALID_HANDLE);
    assert_eq!(cuEventRecord(plain, 0), Status::INVALID_HANDLE);
}
