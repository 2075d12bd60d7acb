//! The messages about functions that failed.

use std::ffi::{CStr, CString, c_char};
use std::sync::Mutex;

use ptx_cuda::driver::context::cuCtxSetCurrent;
use ptx_cuda::driver::logs::*;
use ptx_cuda::driver::memory::{cuMemAlloc_v2, cuMemFree_v2};
use ptx_cuda::runtime::logs::*;
use ptx_cuda::status::Status;

use crate::session::{Session, result, succeeds};

const INVALID: Status = Status::INVALID_VALUE;

/// The messages from a number on in a buffer of a size, and the number of the message that is next.
fn dump(start: u32, mut bytes: usize) -> Result<(String, u32), (Status, usize)> {
    let mut buffer = vec![1 as c_char; bytes];
    let mut iterator = start;
    let status = cuLogsDumpToMemory(
        Some(&mut iterator),
        buffer.as_mut_ptr(),
        Some(&mut bytes),
        0,
    );
    if status != Status::SUCCESS {
        return Err((status, bytes));
    }
    // SAFETY: the function wrote a zero byte at the end.
    let text = unsafe { CStr::from_ptr(buffer.as_ptr()) };
    let text = text.to_str().unwrap().to_owned();
    assert_eq!(text.len(), bytes);
    Ok((text, iterator))
}

fn current() -> u32 {
    result(|iterator| cuLogsCurrent(iterator, 0)).unwrap()
}

#[test]
fn functions_that_fail_leave_messages() {
    let session = Session::new();
    let start = current();
    assert_eq!(result(|iterator| cudaLogsCurrent(iterator, 0)), Ok(start));
    assert_eq!(cuMemFree_v2(5), INVALID);
    let address = session.buffer(&[1u32]);
    succeeds(cuMemFree_v2(address));
    assert!(result(|place| cuMemAlloc_v2(place, 0)).is_err());
    let (text, next) = dump(start, 4096).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), next), (2, start + 2), "{text}");
    assert!(lines[0].ends_with("[CUDA][E] cuMemFree_v2 returned 1 CUDA_ERROR_INVALID_VALUE"));
    assert!(lines[1].contains("cuMemAlloc_v2 returned 1"));
    assert_eq!(dump(next, 4096), Ok((String::new(), next)));
    // A small buffer has the last message after a line that says that others are missing.
    let (small, _) = dump(start, lines[1].len() + 60).unwrap();
    assert!(small.starts_with("[CUDA][W]") && small.ends_with(&format!("{}\n", lines[1])));
    assert_eq!(small.lines().count(), 2);
    assert_eq!(dump(start, 8), Err((INVALID, 0)));
    assert_eq!(cuLogsCurrent(None, 0), INVALID);
    assert_eq!(result(|iterator| cuLogsCurrent(iterator, 1)), Err(INVALID));
}

#[test]
fn old_messages_are_left_out() {
    let _session = Session::new();
    let start = current();
    for _ in 0..1000 {
        assert_eq!(cuMemFree_v2(5), INVALID);
    }
    let path = std::env::temp_dir().join(format!("ptx-cuda-logs-{}", std::process::id()));
    let name = CString::new(path.to_str().unwrap()).unwrap();
    let mut iterator = start;
    succeeds(cudaLogsDumpToFile(Some(&mut iterator), name.as_ptr(), 0));
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(text.starts_with("[CUDA][W]") && text.len() < 26_000);
    assert!((100..1000).contains(&text.lines().count()));
    assert_eq!(iterator, start + 1000);
    succeeds(cuLogsDumpToFile(None, c"/dev/null".as_ptr(), 0));
    let missing = c"/no/such/folder/file".as_ptr();
    assert_eq!(cuLogsDumpToFile(None, missing, 0), INVALID);
    let (mut byte, mut bytes) = (0, 0);
    let memory = cudaLogsDumpToMemory(None, &mut byte, Some(&mut bytes), 0);
    assert_eq!(memory, INVALID);
}

static MESSAGES: Mutex<Vec<(usize, u32, usize)>> = Mutex::new(Vec::new());

extern "C" fn note(data: usize, level: u32, message: *const c_char, bytes: usize) {
    // SAFETY: the message is a text that ends with a zero byte.
    let length = unsafe { CStr::from_ptr(message) }.count_bytes();
    // A message about a function that the callback calls is not passed to it.
    assert_eq!(cuMemFree_v2(7), INVALID);
    MESSAGES.lock().unwrap().push((data, level, bytes - length));
}

#[test]
fn callbacks_get_messages() {
    let session = Session::new();
    let start = current();
    let first = result(|handle| cuLogsRegisterCallback(Some(note), 3, handle)).unwrap();
    let second = result(|handle| cudaLogsRegisterCallback(Some(note), 4, handle)).unwrap();
    assert_eq!(cuMemFree_v2(5), INVALID);
    succeeds(cuCtxSetCurrent(session.context));
    assert_eq!(*MESSAGES.lock().unwrap(), [(3, 0, 0), (4, 0, 0)]);
    assert_eq!(current(), start + 3);
    succeeds(cudaLogsUnregisterCallback(second));
    succeeds(cuLogsUnregisterCallback(first));
    assert_eq!(cuLogsUnregisterCallback(first), INVALID);
    assert_eq!(cuLogsRegisterCallback(None, 0, None), INVALID);
    assert_eq!(MESSAGES.lock().unwrap().len(), 2);
}
