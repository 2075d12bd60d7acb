//! Allocations, copies and fills.

use ptx_cuda::abi::graph::MemoryLocation;
use ptx_cuda::abi::{Copy2d, Place2d, memory_type};
use ptx_cuda::driver::copy::*;
use ptx_cuda::driver::device::cuDeviceGetP2PAttribute;
use ptx_cuda::driver::fill::*;
use ptx_cuda::driver::managed::*;
use ptx_cuda::driver::memory::*;
use ptx_cuda::driver::pool::{
    cuDeviceGetDefaultMemPool, cuMemGetDefaultMemPool, cuMemGetMemPool, cuMemSetMemPool,
};
use ptx_cuda::handles::Raw;
use ptx_cuda::status::Status;

use crate::session::{Session, argument, result, succeeds};

/// Adds 7 to the first number at an address.
const ADD: &str = ".reg .b32 %r1;\n.reg .b64 %rd1;\nld.param.u64 %rd1, [data];\nld.global.u32 %r1, [%rd1];\nadd.u32 %r1, %r1, 7;\nst.global.u32 [%rd1], %r1;";

#[test]
fn allocations_end_and_are_checked() {
    let session = Session::new();
    let address = session.buffer(&[1u32, 2, 3]);
    let (mut start, mut bytes) = (
        std::mem::MaybeUninit::uninit(),
        std::mem::MaybeUninit::uninit(),
    );
    succeeds(cuMemGetAddressRange_v2(
        Some(&mut start),
        Some(&mut bytes),
        address + 4,
    ));
    // SAFETY: the function succeeded, and has written both results.
    let range = unsafe { (start.assume_init(), bytes.assume_init()) };
    assert_eq!(range, (address, 12));
    let mut number = 0u32;
    let read =
        |to: &mut u32, from, bytes| cuMemcpyDtoH_v2(std::ptr::from_mut(to).addr(), from, bytes);
    succeeds(read(&mut number, address + 8, 4));
    assert_eq!(number, 3);
    assert_eq!(read(&mut number, address + 12, 4), Status::INVALID_VALUE);
    assert_eq!(cuMemFree_v2(address + 4), Status::INVALID_VALUE);
    succeeds(cuMemFree_v2(address));
    assert_eq!(cuMemFree_v2(address), Status::INVALID_VALUE);
    assert_eq!(read(&mut number, address, 4), Status::INVALID_VALUE);
    succeeds(cuMemFree_v2(0));
    assert_eq!(result(|a| cuMemAlloc_v2(a, 0)), Err(Status::INVALID_VALUE));
    assert_eq!(
        result(|a| cuMemAlloc_v2(a, usize::MAX)),
        Err(Status::OUT_OF_MEMORY)
    );
    assert_eq!(cuMemAlloc_v2(None, 4), Status::INVALID_VALUE);
}

#[test]
fn pinned_and_managed_memory_have_one_address() {
    let session = Session::new();
    let kernel = session.kernel("add", ".param .u64 data", ADD);
    let pinned = result(|pointer| cuMemHostAlloc(pointer, 4, 2)).unwrap();
    let managed = result(|address| cuMemAllocManaged(address, 4, 1)).unwrap() as usize;
    for pointer in [pinned, managed] {
        let number = pointer as *mut u32;
        // SAFETY: the allocation has four bytes, which nothing else uses.
        unsafe { number.write(5) };
        succeeds(session.launch(kernel, 1, &[argument(&pointer)]));
        succeeds(session.synchronize());
        // SAFETY: as above.
        assert_eq!(unsafe { number.read() }, 12);
    }
    assert_eq!(result(|flags| cuMemHostGetFlags(flags, pinned)), Ok(2));
    assert_eq!(
        result(|address| cuMemHostGetDevicePointer_v2(address, pinned, 0)),
        Ok(pinned as u64)
    );
    assert_eq!(attribute(8, managed as u64), Ok(1));
    assert_eq!(attribute(2, pinned as u64), Ok(1));
    succeeds(cuMemFreeHost(pinned));
    succeeds(cuMemFree_v2(managed as u64));
}

/// The value of an attribute of an address.
fn attribute(number: u32, address: u64) -> Result<u64, Status> {
    let mut value = 0u64;
    match cuPointerGetAttribute(std::ptr::from_mut(&mut value).addr(), number, address) {
        Status::SUCCESS => Ok(value),
        status => Err(status),
    }
}

#[test]
fn registered_memory_stays_where_it_is() {
    let session = Session::new();
    let kernel = session.kernel("add", ".param .u64 data", ADD);
    let mut numbers: Vec<u32> = (0..5000).collect();
    let pointer = numbers.as_mut_ptr().addr();
    succeeds(cuMemHostRegister_v2(pointer, 20_000, 0));
    assert_eq!(
        cuMemHostRegister_v2(pointer, 20_000, 0),
        Status::HOST_MEMORY_ALREADY_REGISTERED
    );
    let address = result(|address| cuMemHostGetDevicePointer_v2(address, pointer + 40, 0)).unwrap();
    succeeds(session.launch(kernel, 1, &[argument(&address)]));
    succeeds(session.synchronize());
    assert_eq!(numbers[9..12], [9, 17, 11]);
    numbers[9] = 100;
    succeeds(cuMemHostUnregister(pointer));
    assert_eq!(
        cuMemHostUnregister(pointer),
        Status::HOST_MEMORY_NOT_REGISTERED
    );
    assert_eq!(numbers[9..12], [100, 17, 11]);
    assert!(
        numbers[12..]
            .iter()
            .zip(12..)
            .all(|(number, expected)| *number == expected)
    );
}

/// Adds to a number at an address of the host in registered memory.
fn add_at(session: &Session, kernel: Raw, pointer: usize) {
    let address = result(|address| cuMemHostGetDevicePointer_v2(address, pointer, 0)).unwrap();
    succeeds(session.launch(kernel, 1, &[argument(&address)]));
    succeeds(session.synchronize());
}

#[test]
fn registered_memory_shares_pages() {
    let session = Session::new();
    let kernel = session.kernel("add", ".param .u64 data", ADD);
    let mut numbers: Vec<u32> = (0..4096).collect();
    let start = numbers.as_mut_ptr().addr().next_multiple_of(4096);
    let first = (start - numbers.as_ptr().addr()) / 4;
    let parts = [(start, 64), (start + 64, 4160), (start + 4224, 64)];
    for (pointer, bytes) in parts {
        succeeds(cuMemHostRegister_v2(pointer, bytes, 0));
    }
    // Parts of registered ranges, and ranges around them, cannot be registered.
    for (pointer, bytes) in [(start + 32, 8), (start - 32, 64), (start - 32, 8192)] {
        assert_eq!(
            cuMemHostRegister_v2(pointer, bytes, 0),
            Status::HOST_MEMORY_ALREADY_REGISTERED
        );
    }
    for (pointer, _) in parts {
        add_at(&session, kernel, pointer);
    }
    let sums = |numbers: &[u32]| parts.map(|(pointer, _)| numbers[(pointer - start) / 4 + first]);
    let expected = [0, 16, 1056].map(|offset| (first + offset) as u32 + 7);
    assert_eq!(sums(&numbers), expected);
    // The pages of the middle part belong to others, too.
    succeeds(cuMemHostUnregister(parts[1].0));
    for (pointer, _) in [parts[0], parts[2]] {
        add_at(&session, kernel, pointer);
        succeeds(cuMemHostUnregister(pointer));
    }
    let expected = [expected[0] + 7, expected[1], expected[2] + 7];
    assert_eq!(sums(&numbers), expected);
    // The pages are those of the program again.
    numbers[first] = 1;
    succeeds(cuMemHostRegister_v2(start, 4, 0));
    add_at(&session, kernel, start);
    succeeds(cuMemHostUnregister(start));
    assert_eq!(numbers[first], 8);
}

#[test]
fn memory_of_the_stack_is_registered() {
    let session = Session::new();
    let kernel = session.kernel("add", ".param .u64 data", ADD);
    let mut numbers = [5u32, 6, 7];
    for number in [1, 2] {
        let pointer = numbers.as_mut_ptr().addr();
        succeeds(cuMemHostRegister_v2(pointer + 4 * number, 4, 0));
        add_at(&session, kernel, pointer + 4 * number);
    }
    for number in [1, 2] {
        succeeds(cuMemHostUnregister(
            numbers.as_mut_ptr().addr() + 4 * number,
        ));
    }
    assert_eq!(numbers, [5, 13, 14]);
}

#[test]
fn memory_that_cannot_be_read_is_not_registered() {
    let _session = Session::new();
    let null = std::ptr::null_mut();
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping at an address that the system chooses.
    let pages = unsafe { libc::mmap(null, 4096, libc::PROT_NONE, flags, -1, 0) };
    assert_eq!(
        cuMemHostRegister_v2(pages.addr(), 4096, 0),
        Status::INVALID_VALUE
    );
    assert_eq!(
        cuMemHostUnregister(pages.addr()),
        Status::HOST_MEMORY_NOT_REGISTERED
    );
}

#[test]
fn rows_are_copied() {
    let session = Session::new();
    let from = session.buffer(&(0u32..64).collect::<Vec<_>>());
    let mut target = [0u32; 12];
    let copy = Copy2d {
        from: Place2d {
            x_bytes: 8,
            y: 3,
            memory_type: memory_type::DEVICE,
            host: 0,
            device: from,
            array: 0,
            pitch: 32,
        },
        to: Place2d {
            x_bytes: 4,
            y: 1,
            memory_type: memory_type::HOST,
            host: target.as_mut_ptr().addr(),
            device: 0,
            array: 0,
            pitch: 16,
        },
        width_bytes: 8,
        height: 2,
    };
    succeeds(cuMemcpy2D_v2(Some(&copy)));
    assert_eq!(target, [0, 0, 0, 0, 0, 26, 27, 0, 0, 34, 35, 0]);
    let outside = Copy2d { height: 6, ..copy };
    assert_eq!(cuMemcpy2D_v2(Some(&outside)), Status::INVALID_VALUE);
    assert_eq!(cuMemcpy2D_v2(None), Status::INVALID_VALUE);
}

#[test]
fn memory_is_filled() {
    let session = Session::new();
    let address = session.buffer(&[u32::MAX; 16]);
    succeeds(cuMemsetD8_v2(address + 1, 1, 2));
    succeeds(cuMemsetD16_v2(address + 4, 0x203, 2));
    succeeds(cuMemsetD2D32_v2(address + 16, 16, 9, 1, 3));
    let expected = [
        0xff01_01ff,
        0x203_0203,
        u32::MAX,
        u32::MAX,
        9,
        u32::MAX,
        u32::MAX,
        u32::MAX,
        9,
        u32::MAX,
        u32::MAX,
        u32::MAX,
        9,
        u32::MAX,
        u32::MAX,
        u32::MAX,
    ];
    assert_eq!(session.numbers(address, 16), expected);
    assert_eq!(cuMemsetD32_v2(address + 1, 0, 1), Status::INVALID_VALUE);
    assert_eq!(cuMemsetD32_v2(address, 0, 17), Status::INVALID_VALUE);
}

#[test]
fn sizes_at_extremes_are_errors() {
    let session = Session::new();
    let address = session.buffer(&[0u32; 4]);
    let mut number = 0u32;
    let host = std::ptr::from_mut(&mut number).addr();
    for bytes in [17, usize::MAX, usize::MAX / 2, 1 << 62] {
        assert_eq!(cuMemcpyHtoD_v2(address, host, bytes), Status::INVALID_VALUE);
        assert_eq!(
            cuMemcpyDtoD_v2(address, address, bytes),
            Status::INVALID_VALUE
        );
        assert_eq!(cuMemsetD8_v2(address, 0, bytes), Status::INVALID_VALUE);
        assert_eq!(cuMemsetD32_v2(address, 0, bytes), Status::INVALID_VALUE);
        assert_eq!(
            cuMemsetD2D8_v2(address, bytes, 0, 4, 2),
            Status::INVALID_VALUE
        );
    }
    assert_eq!(
        cuMemHostRegister_v2(host, usize::MAX, 0),
        Status::INVALID_VALUE
    );
    assert_eq!(cuMemcpyDtoH_v2(0, address, 4), Status::INVALID_VALUE);
}

#[test]
fn ranges_of_managed_memory_have_attributes() {
    let session = Session::new();
    let managed = result(|address| cuMemAllocManaged(address, 64, 1)).unwrap() as usize;
    let device = session.buffer(&[0u32]) as usize;
    let invalid = Status::INVALID_VALUE;
    let [mut read_mostly, mut preferred] = [7, 7];
    // The attributes 1 and 2: no data is mostly read, and no place is preferred.
    let mut get = |number, address| cuMemRangeGetAttribute(&mut read_mostly, 4, number, address, 4);
    succeeds(get(1, managed));
    assert_eq!([get(9, managed), get(1, device)], [invalid; 2]);
    assert_eq!(read_mostly, 0);
    read_mostly = 7;
    let values: [*mut i32; 2] = [&mut read_mostly, &mut preferred];
    let (sizes, numbers) = ([4, 4], [1, 2]);
    let (values, sizes, numbers) = (values.as_ptr(), sizes.as_ptr(), numbers.as_ptr());
    succeeds(cuMemRangeGetAttributes(
        values, sizes, numbers, 2, managed, 64,
    ));
    assert_eq!([read_mostly, preferred], [0, -2]);

    let (addresses, sizes) = ([managed, managed + 32], [32, 32]);
    let wrong = [managed, device];
    for (addresses, expected) in [(addresses, Status::SUCCESS), (wrong, invalid)] {
        let (addresses, sizes) = (addresses.as_ptr(), sizes.as_ptr());
        let results = [
            cuMemPrefetchBatchAsync(addresses, sizes, 2, 0, 0, 0, 0, 0),
            cuMemDiscardBatchAsync(addresses, sizes, 2, 0, 0),
            cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, 2, 0, 0, 0, 0, 0),
        ];
        assert_eq!(results, [expected; 3]);
    }
}

#[test]
fn the_device_has_a_pool_and_no_peer() {
    let _session = Session::new();
    let location = MemoryLocation { kind: 1, number: 0 };
    let pool = result(|pool| cuDeviceGetDefaultMemPool(pool, 0)).unwrap();
    let pinned = 1;
    let of_location = result(|pool| cuMemGetDefaultMemPool(pool, Some(&location), pinned));
    assert_eq!(of_location, Ok(pool));
    let of_location = result(|pool| cuMemGetMemPool(pool, Some(&location), pinned));
    assert_eq!(of_location, Ok(pool));
    succeeds(cuMemSetMemPool(Some(&location), pinned, pool));
    let invalid = Status::INVALID_VALUE;
    assert_eq!(cuMemSetMemPool(Some(&location), pinned, pool + 1), invalid);
    let other = MemoryLocation { kind: 1, number: 1 };
    let of_other = result(|pool| cuMemGetMemPool(pool, Some(&other), pinned));
    assert_eq!(of_other, Err(Status::INVALID_DEVICE));
    let attribute = |number, peer| result(|value| cuDeviceGetP2PAttribute(value, number, 0, peer));
    assert_eq!(attribute(1, 0), Err(Status::INVALID_DEVICE));
    assert_eq!(attribute(1, 1), Err(Status::INVALID_DEVICE));
    assert_eq!(attribute(0, 0), Err(invalid));
}
