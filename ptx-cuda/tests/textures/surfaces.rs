//! Surfaces of arrays and of levels of mipmapped arrays.

use ptx_cuda::abi::arrays::{ArrayDescriptor, array_flag, resource_type};
use ptx_cuda::driver::array::{cuMipmappedArrayCreate, cuMipmappedArrayGetLevel};
use ptx_cuda::driver::surface::*;
use ptx_cuda::handles::Raw;
use ptx_cuda::status::Status;

use crate::common::{U32, contents, create, descriptor, fill, kernel, load, session, sizes};
use crate::reads::resource;
use crate::session::{argument, result, succeeds};

/// Adds 1 to texel (`tid.x`, `ctaid.x` = 0) of row 1.
const INCREMENT: &str = ".version 8.0\n.target sm_80\n.address_size 64\n
.visible .entry increment(.param .u64 surface)
{
.reg .b32 %t, %x, %y, %r; .reg .b64 %surface;
ld.param.u64 %surface, [surface];
mov.u32 %t, %tid.x; shl.b32 %x, %t, 2; mov.u32 %y, 1;
suld.b.2d.b32.trap {%r}, [%surface, {%x, %y}];
add.u32 %r, %r, 1;
sust.b.2d.b32.trap [%surface, {%x, %y}], {%r};
ret;
}
";

fn surface(array: Raw) -> Result<u64, Status> {
    let resource = resource(resource_type::ARRAY, &[array as u64]);
    result(|surface| cuSurfObjectCreate(surface, Some(&resource)))
}

fn writable(size: [usize; 3]) -> ArrayDescriptor {
    ArrayDescriptor {
        flags: array_flag::SURFACE,
        ..descriptor(size, U32, 1)
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect()
}

#[test]
fn kernels_read_and_write_arrays() {
    let session = session();
    let image = writable([5, 3, 0]);
    let mipmap = writable([10, 6, 0]);
    let mipmap = result(|handle| cuMipmappedArrayCreate(handle, Some(&mipmap), 2)).unwrap();
    let level = result(|array| cuMipmappedArrayGetLevel(array, mipmap, 1)).unwrap();
    let kernel = kernel(load(INCREMENT), "increment");
    for array in [create(&image), level] {
        let before: Vec<u8> = (0..15u32).flat_map(u32::to_le_bytes).collect();
        fill(array, sizes(&image), &before);
        let surface = surface(array).unwrap();
        let found = result(|found| cuSurfObjectGetResourceDesc(found, surface)).unwrap();
        assert_eq!((found.resource_type, found.words[0]), (0, array as u64));
        succeeds(session.launch(kernel, 5, &[argument(&surface)]));
        let expected: Vec<u32> = (0..15u32).map(|n| n + u32::from(n / 5 == 1)).collect();
        assert_eq!(words(&contents(array, sizes(&image))), expected);
        succeeds(cuSurfObjectDestroy(surface));
        assert_eq!(cuSurfObjectDestroy(surface), Status::INVALID_VALUE);
        let found = result(|found| cuSurfObjectGetResourceDesc(found, surface));
        assert_eq!(found, Err(Status::INVALID_VALUE));
    }
}

#[test]
fn surfaces_need_arrays_for_surfaces() {
    let _session = session();
    let plain = create(&descriptor([4, 4, 0], U32, 1));
    assert_eq!(surface(plain), Err(Status::INVALID_VALUE));
    assert_eq!(surface(7), Err(Status::INVALID_HANDLE));
    let array = create(&writable([4, 4, 0]));
    for (kind, flags) in [
        (resource_type::MIPMAP, 0),
        (resource_type::LINEAR, 0),
        (9, 0),
        (resource_type::ARRAY, 1),
    ] {
        let mut resource = resource(kind, &[array as u64]);
        resource.flags = flags;
        let refused = result(|surface| cuSurfObjectCreate(surface, Some(&resource)));
        assert_eq!(refused, Err(Status::INVALID_VALUE));
    }
    let none = result(|surface| cuSurfObjectCreate(surface, None));
    assert_eq!(none, Err(Status::INVALID_VALUE));
}

#[test]
fn an_access_outside_of_a_surface_ends_the_context() {
    let session = session();
    let kernel = kernel(load(INCREMENT), "increment");
    let surface = surface(create(&writable([5, 3, 0]))).unwrap();
    succeeds(session.launch(kernel, 6, &[argument(&surface)]));
    assert_eq!(session.synchronize(), Status::ILLEGAL_ADDRESS);
    // The handle of a destroyed surface.
    drop(session);
    let session = self::session();
    let kernel = self::kernel(load(INCREMENT), "increment");
    succeeds(session.launch(kernel, 1, &[argument(&surface)]));
    assert_eq!(session.synchronize(), Status::LAUNCH_FAILED);
}
