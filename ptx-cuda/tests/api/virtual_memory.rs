//! Virtual memory management.

use ptx_cuda::abi::graph::{MemoryAccess, MemoryLocation};
use ptx_cuda::driver::copy::{cuMemcpyDtoH_v2, cuMemcpyHtoD_v2};
use ptx_cuda::driver::memory::{cuMemFree_v2, cuMemGetInfo_v2};
use ptx_cuda::driver::virtual_memory::*;
use ptx_cuda::status::Status;

use crate::session::{Session, argument, result, succeeds};

/// The smallest size of memory.
const PART: usize = 2 << 20;

const DEVICE: MemoryLocation = MemoryLocation { kind: 1, number: 0 };
const HOST: MemoryLocation = MemoryLocation { kind: 2, number: 0 };

const PROPERTIES: Properties = Properties {
    kind: 1,
    handle_kinds: 0,
    location: DEVICE,
    windows_data: 0,
    flags: [0; 8],
};

fn create(bytes: usize) -> Result<u64, Status> {
    result(|memory| cuMemCreate(memory, bytes, std::ptr::from_ref(&PROPERTIES), 0))
}

fn reserve(bytes: usize) -> Result<u64, Status> {
    result(|address| cuMemAddressReserve(address, bytes, 0, 0, 0))
}

fn allow(address: u64, bytes: usize, location: MemoryLocation, access: u32) -> Status {
    let description = MemoryAccess {
        location,
        flags: access,
    };
    cuMemSetAccess(address, bytes, &raw const description, 1)
}

fn write(address: u64, values: &[u32]) -> Status {
    cuMemcpyHtoD_v2(address, values.as_ptr().addr(), size_of_val(values))
}

fn used() -> usize {
    let mut total = std::mem::MaybeUninit::uninit();
    let free = result(|free| cuMemGetInfo_v2(free, Some(&mut total))).unwrap();
    // SAFETY: the function succeeded, and has written both results.
    unsafe { total.assume_init() - free }
}

#[test]
fn neighboring_parts_are_one_range() {
    let session = Session::new();
    let at_first = used();
    let granularity =
        result(|b| cuMemGetAllocationGranularity(b, std::ptr::from_ref(&PROPERTIES), 0));
    assert_eq!(granularity, Ok(PART));
    let start = reserve(3 * PART).unwrap();
    let memories = [create(PART).unwrap(), create(PART).unwrap()];
    assert_eq!(used(), at_first + 2 * PART);
    for (index, memory) in memories.into_iter().enumerate() {
        let address = start + (index * PART) as u64;
        succeeds(cuMemMap(address, PART, 0, memory, 0));
        succeeds(cuMemRelease(memory));
    }
    let middle = start + PART as u64 - 8;
    assert_eq!(write(middle, &[1, 2, 3, 4]), Status::INVALID_VALUE);
    succeeds(allow(start, 2 * PART, DEVICE, 3));
    succeeds(write(middle, &[1, 2, 3, 4]));
    assert_eq!(session.numbers(middle, 4), [1, 2, 3, 4]);
    let past_the_end = start + 2 * PART as u64 - 8;
    assert_eq!(write(past_the_end, &[0; 4]), Status::INVALID_VALUE);
    let kernel = session.kernel(
        "store",
        ".param .u64 data",
        ".reg .b64 %rd1;\nld.param.u64 %rd1, [data];\nst.global.u32 [%rd1], 9;",
    );
    succeeds(session.launch(kernel, 1, &[argument(&(middle + 8))]));
    assert_eq!(session.numbers(middle, 4), [1, 2, 9, 4]);
    assert_eq!(cuMemFree_v2(start), Status::INVALID_VALUE);
    assert_eq!(cuMemAddressFree(start, 3 * PART), Status::INVALID_VALUE);
    assert_eq!(cuMemUnmap(start, 3 * PART), Status::INVALID_VALUE);
    succeeds(cuMemUnmap(start, 2 * PART));
    assert_eq!(used(), at_first);
    assert_eq!(write(start, &[1]), Status::INVALID_VALUE);
    assert_eq!(cuMemRelease(memories[0]), Status::INVALID_VALUE);
    succeeds(cuMemAddressFree(start, 3 * PART));
    assert_eq!(cuMemAddressFree(start, 3 * PART), Status::INVALID_VALUE);
}

#[test]
fn memory_has_several_addresses_and_keeps_its_contents() {
    let session = Session::new();
    let start = reserve(2 * PART).unwrap();
    let memory = create(PART).unwrap();
    let addresses = [start, start + PART as u64];
    for address in addresses {
        succeeds(cuMemMap(address, PART, 0, memory, 0));
    }
    succeeds(allow(start, 2 * PART, DEVICE, 3));
    succeeds(write(addresses[0], &[7, 8]));
    assert_eq!(session.numbers(addresses[1], 2), [7, 8]);
    assert_eq!(
        result(|m| cuMemRetainAllocationHandle(m, addresses[1] + 4)),
        Ok(memory)
    );
    succeeds(cuMemRelease(memory));
    succeeds(cuMemUnmap(start, 2 * PART));
    let other = reserve(PART).unwrap();
    succeeds(cuMemMap(other, PART, 0, memory, 0));
    succeeds(allow(other, PART, DEVICE, 3));
    assert_eq!(session.numbers(other, 2), [7, 8]);
    succeeds(allow(other, PART, HOST, 3));
    let access =
        |location: MemoryLocation| result(|a| cuMemGetAccess(a, &raw const location, other));
    assert_eq!([access(DEVICE), access(HOST)], [Ok(3), Ok(3)]);
    // SAFETY: the memory is mapped, and the program may access it.
    assert_eq!(unsafe { (other as *const u32).read() }, 7);
    succeeds(allow(other, PART, DEVICE, 0));
    assert_eq!(access(DEVICE), Ok(0));
    let mut number = 0u32;
    let to = std::ptr::from_mut(&mut number).addr();
    assert_eq!(cuMemcpyDtoH_v2(to, other, 4), Status::INVALID_VALUE);
    succeeds(cuMemUnmap(other, PART));
    succeeds(cuMemRelease(memory));
    // New memory does not have the contents of memory that was freed.
    let memory = create(PART).unwrap();
    succeeds(cuMemMap(other, PART, 0, memory, 0));
    succeeds(allow(other, PART, DEVICE, 3));
    assert_eq!(session.numbers(other, 2), [0, 0]);
    succeeds(cuMemUnmap(other, PART));
    succeeds(cuMemRelease(memory));
    succeeds(cuMemAddressFree(other, PART));
    succeeds(cuMemAddressFree(start, 2 * PART));
}

#[test]
fn wrong_sizes_addresses_and_handles_are_refused() {
    let _session = Session::new();
    let invalid = Err(Status::INVALID_VALUE);
    assert_eq!([create(PART + 1), create(0)], [invalid; 2]);
    assert_eq!(create(1 << 50), Err(Status::OUT_OF_MEMORY));
    assert_eq!(
        [reserve(4096), reserve(usize::MAX / PART * PART)],
        [invalid, Err(Status::OUT_OF_MEMORY)]
    );
    let for_windows = Properties {
        handle_kinds: 2,
        ..PROPERTIES
    };
    assert_eq!(
        result(|memory| cuMemCreate(memory, PART, &raw const for_windows, 0)),
        Err(Status::NOT_SUPPORTED)
    );
    let start = reserve(PART).unwrap();
    let memory = create(2 * PART).unwrap();
    let map = |address, bytes, offset| cuMemMap(address, bytes, offset, memory, 0);
    assert_eq!(map(start, 2 * PART, 0), Status::INVALID_VALUE);
    assert_eq!(map(start, PART, 2 * PART), Status::INVALID_VALUE);
    assert_eq!(map(start, PART, usize::MAX), Status::INVALID_VALUE);
    assert_eq!(map(start + 8, PART, 0), Status::INVALID_VALUE);
    assert_eq!(map(u64::MAX - 7, PART, 0), Status::INVALID_VALUE);
    assert_eq!(cuMemMap(start, PART, 0, 1, 0), Status::INVALID_VALUE);
    succeeds(map(start, PART, PART));
    assert_eq!(map(start, PART, 0), Status::INVALID_VALUE);
    assert_eq!(allow(start, PART, DEVICE, 2), Status::INVALID_VALUE);
    assert_eq!(allow(start, PART / 2, DEVICE, 3), Status::INVALID_VALUE);
    assert_eq!(cuMemUnmap(start + 8, PART), Status::INVALID_VALUE);
    let properties = result(|p| cuMemGetAllocationPropertiesFromHandle(p, memory)).unwrap();
    assert_eq!(properties[0], 1);
    succeeds(cuMemUnmap(start, PART));
    succeeds(cuMemRelease(memory));
    succeeds(cuMemAddressFree(start, PART));
}

/// Memory that may be shared, and a descriptor of it.
pub(crate) fn create_shared() -> (u64, i32) {
    let properties = Properties {
        handle_kinds: 1,
        ..PROPERTIES
    };
    let memory = result(|memory| cuMemCreate(memory, PART, &raw const properties, 0)).unwrap();
    let mut descriptor = -1;
    let place = std::ptr::from_mut(&mut descriptor).expose_provenance();
    succeeds(cuMemExportToShareableHandle(place, memory, 1, 0));
    (memory, descriptor)
}

/// The address at which the memory of a descriptor is mapped, and the memory.
pub(crate) fn import(descriptor: i32) -> (u64, u64) {
    let handle = descriptor as usize;
    let memory = result(|memory| cuMemImportFromShareableHandle(memory, handle, 1)).unwrap();
    let address = reserve(PART).unwrap();
    succeeds(cuMemMap(address, PART, 0, memory, 0));
    succeeds(allow(address, PART, DEVICE, 3));
    (address, memory)
}

#[test]
fn memory_is_shared_by_a_descriptor() {
    let session = Session::new();
    let at_first = used();
    let (memory, descriptor) = create_shared();
    assert_eq!(used(), at_first + PART);
    let start = reserve(PART).unwrap();
    succeeds(cuMemMap(start, PART, 0, memory, 0));
    succeeds(allow(start, PART, DEVICE, 3));
    succeeds(write(start, &[5, 6]));
    let (address, imported) = import(descriptor);
    assert_eq!(session.numbers(address, 2), [5, 6]);
    succeeds(write(address + 4, &[7]));
    assert_eq!(session.numbers(start, 2), [5, 7]);
    let properties = result(|p| cuMemGetAllocationPropertiesFromHandle(p, imported)).unwrap();
    assert_eq!([properties[0], properties[4], properties[8]], [1; 3]);
    assert_eq!(used(), at_first + PART);
    for (address, memory) in [(start, memory), (address, imported)] {
        succeeds(cuMemUnmap(address, PART));
        succeeds(cuMemRelease(memory));
        succeeds(cuMemAddressFree(address, PART));
    }
    assert_eq!(used(), at_first);
    // The descriptor keeps the contents.
    let (address, imported) = import(descriptor);
    assert_eq!(session.numbers(address, 2), [5, 7]);
    succeeds(cuMemUnmap(address, PART));
    succeeds(cuMemRelease(imported));
    succeeds(cuMemAddressFree(address, PART));
    // SAFETY: the descriptor is that of this test.
    assert_eq!(unsafe { libc::close(descriptor) }, 0);
}

#[test]
fn descriptors_of_something_else_are_refused() {
    let _session = Session::new();
    let import = |handle, kind| {
        result(|memory| cuMemImportFromShareableHandle(memory, handle, kind)).map(|_| ())
    };
    for handle in [0, 12345, usize::MAX] {
        assert_eq!(import(handle, 1), Err(Status::INVALID_VALUE));
    }
    let memory = create(PART).unwrap();
    let mut descriptor = -1;
    let place = std::ptr::from_mut(&mut descriptor).expose_provenance();
    let export = |place, memory, kind| cuMemExportToShareableHandle(place, memory, kind, 0);
    assert_eq!(export(place, memory, 1), Status::INVALID_VALUE);
    succeeds(cuMemRelease(memory));
    let (memory, descriptor) = create_shared();
    assert_eq!(import(descriptor as usize, 2), Err(Status::INVALID_VALUE));
    assert_eq!(export(place, memory, 2), Status::INVALID_VALUE);
    assert_eq!(export(0, memory, 1), Status::INVALID_VALUE);
    succeeds(cuMemRelease(memory));
    assert_eq!(export(place, memory, 1), Status::INVALID_VALUE);
    // SAFETY: the descriptor is that of this test.
    assert_eq!(unsafe { libc::close(descriptor) }, 0);
}
