//! Creation, descriptions and destruction of arrays and mipmapped arrays.

use ptx_cuda::abi::arrays::{ArrayDescriptor, ImageDescriptor, array_flag};
use ptx_cuda::driver::array::*;
use ptx_cuda::driver::memory::cuMemGetInfo_v2;
use ptx_cuda::status::Status;

use crate::common::{F32, U8, U32, create, descriptor, layered, session};
use crate::session::{result, succeeds};

fn free_bytes() -> usize {
    result(|free| cuMemGetInfo_v2(free, None)).unwrap()
}

#[test]
fn descriptions_are_those_of_the_program() {
    let _session = session();
    let all = free_bytes();
    let flags = |flags, descriptor| ArrayDescriptor {
        flags,
        ..descriptor
    };
    let descriptors = [
        descriptor([7, 0, 0], F32, 4),
        descriptor([7, 3, 0], U8, 1),
        descriptor([7, 3, 2], U32, 2),
        layered([7, 0, 5], U8, 4),
        layered([7, 3, 5], 0x10, 2),
        flags(array_flag::CUBEMAP, descriptor([4, 4, 6], F32, 1)),
        flags(
            array_flag::CUBEMAP | array_flag::LAYERED,
            descriptor([4, 4, 12], 0xc2, 4),
        ),
        flags(array_flag::SURFACE, descriptor([32768, 0, 0], 8, 1)),
        flags(array_flag::GATHER, descriptor([5, 5, 0], 0xc9, 1)),
    ];
    let arrays = descriptors.map(|descriptor| create(&descriptor));
    assert!(free_bytes() < all);
    for (array, expected) in arrays.into_iter().zip(descriptors) {
        let found = result(|found| cuArray3DGetDescriptor_v2(found, array)).unwrap();
        assert_eq!(found, expected);
        let image = result(|found| cuArrayGetDescriptor_v2(found, array)).unwrap();
        assert_eq!(
            [image.width, image.height],
            [expected.width, expected.height]
        );
        assert_eq!(
            [image.format, image.channels],
            [expected.format, expected.channels]
        );
        let plane = result(|plane| cuArrayGetPlane(plane, array, 0));
        assert_eq!(plane, Err(Status::NOT_SUPPORTED));
    }
    for array in arrays {
        succeeds(cuArrayDestroy(array));
        assert_eq!(cuArrayDestroy(array), Status::INVALID_HANDLE);
        let found = result(|found| cuArray3DGetDescriptor_v2(found, array));
        assert_eq!(found, Err(Status::INVALID_HANDLE));
    }
    assert_eq!(free_bytes(), all);
}

#[test]
fn sizes_formats_and_flags_are_checked() {
    let _session = session();
    let refused = |descriptor: ArrayDescriptor| {
        result(|array| cuArray3DCreate_v2(array, Some(&descriptor))).unwrap_err()
    };
    let flags = |flags, size| ArrayDescriptor {
        flags,
        ..descriptor(size, F32, 1)
    };
    let cubes = array_flag::CUBEMAP | array_flag::LAYERED;
    for invalid in [
        descriptor([0, 0, 0], F32, 1),
        descriptor([0, 4, 0], F32, 1),
        descriptor([4, 0, 4], F32, 1),
        descriptor([131_073, 0, 0], F32, 1),
        descriptor([4, 65_537, 0], F32, 1),
        descriptor([4, 4, 16_385], F32, 1),
        descriptor([usize::MAX, usize::MAX, usize::MAX], F32, 1),
        descriptor([4, 4, 0], F32, 3),
        descriptor([4, 4, 0], F32, 0),
        descriptor([4, 4, 0], 0, 1),
        descriptor([4, 4, 0], 0xc2, 2),
        descriptor([4, 4, 0], 0x21, 1),
        layered([4, 4, 0], F32, 1),
        layered([4, 4, 2049], F32, 1),
        layered([32_769, 0, 2], F32, 1),
        flags(array_flag::CUBEMAP, [4, 3, 6]),
        flags(array_flag::CUBEMAP, [4, 4, 12]),
        flags(cubes, [4, 4, 7]),
        flags(cubes, [4, 4, 2052]),
        flags(array_flag::SURFACE, [32_769, 0, 0]),
        flags(array_flag::GATHER, [40_000, 4, 0]),
        flags(array_flag::GATHER, [4, 4, 4]),
        flags(0x8000, [4, 4, 0]),
    ] {
        assert_eq!(refused(invalid), Status::INVALID_VALUE, "{invalid:?}");
    }
    // Sparse arrays, and formats with several planes.
    for unsupported in [
        flags(0x40, [4, 4, 0]),
        flags(0x80, [4, 4, 0]),
        descriptor([4, 4, 0], 0xb0, 1),
        descriptor([4, 4, 0], 0x91, 4),
    ] {
        assert_eq!(refused(unsupported), Status::NOT_SUPPORTED);
    }
    // More than the device has.
    let large = layered([32_768, 32_768, 2048], F32, 4);
    assert_eq!(refused(large), Status::OUT_OF_MEMORY);
    assert_eq!(
        cuArray3DCreate_v2(None, Some(&descriptor([4, 4, 0], F32, 1))),
        Status::INVALID_VALUE
    );
    let none = result(|array| cuArrayCreate_v2(array, None));
    assert_eq!(none, Err(Status::INVALID_VALUE));
}

#[test]
fn images_and_lines_are_created() {
    let _session = session();
    for height in [0, 9] {
        let expected = ImageDescriptor {
            width: 5,
            height,
            format: U32,
            channels: 2,
        };
        let array = result(|array| cuArrayCreate_v2(array, Some(&expected))).unwrap();
        let found = result(|found| cuArrayGetDescriptor_v2(found, array)).unwrap();
        assert_eq!(found, expected);
        let memory = result(|memory| cuArrayGetMemoryRequirements(memory, array, 0)).unwrap();
        // Rows of 40 bytes begin at multiples of 16.
        assert_eq!(memory.bytes, 48 * height.max(1));
        let wrong = result(|memory| cuArrayGetMemoryRequirements(memory, array, 1));
        assert_eq!(wrong, Err(Status::INVALID_DEVICE));
    }
}

#[test]
fn levels_of_mipmaps_are_arrays() {
    let _session = session();
    let all = free_bytes();
    for (base, wanted, expected) in [
        (
            descriptor([8, 3, 0], F32, 1),
            9,
            vec![[8, 3, 0], [4, 1, 0], [2, 1, 0], [1, 1, 0]],
        ),
        (descriptor([5, 0, 0], F32, 1), 2, vec![[5, 0, 0], [2, 0, 0]]),
        (
            descriptor([2, 3, 5], U8, 4),
            3,
            vec![[2, 3, 5], [1, 1, 2], [1, 1, 1]],
        ),
        (layered([4, 2, 7], U8, 4), 0, vec![[4, 2, 7]]),
        (
            layered([4, 2, 7], U8, 4),
            8,
            vec![[4, 2, 7], [2, 1, 7], [1, 1, 7]],
        ),
    ] {
        let mipmap = result(|mipmap| cuMipmappedArrayCreate(mipmap, Some(&base), wanted)).unwrap();
        let memory = result(|memory| cuMipmappedArrayGetMemoryRequirements(memory, mipmap, 0));
        assert!(memory.unwrap().bytes > 0);
        let level = |level| result(|array| cuMipmappedArrayGetLevel(array, mipmap, level));
        for (number, size) in expected.iter().enumerate() {
            let array = level(number as u32).unwrap();
            assert_eq!(level(number as u32), Ok(array));
            let found = result(|found| cuArray3DGetDescriptor_v2(found, array)).unwrap();
            assert_eq!([found.width, found.height, found.depth], *size);
            assert_eq!((found.format, found.flags), (base.format, base.flags));
            // The level ends with its mipmap.
            assert_eq!(cuArrayDestroy(array), Status::INVALID_HANDLE);
        }
        let last = level(expected.len() as u32 - 1).unwrap();
        assert_eq!(level(expected.len() as u32), Err(Status::INVALID_VALUE));
        succeeds(cuMipmappedArrayDestroy(mipmap));
        assert_eq!(cuMipmappedArrayDestroy(mipmap), Status::INVALID_HANDLE);
        assert_eq!(level(0), Err(Status::INVALID_HANDLE));
        let found = result(|found| cuArray3DGetDescriptor_v2(found, last));
        assert_eq!(found, Err(Status::INVALID_HANDLE));
    }
    assert_eq!(free_bytes(), all);
    let long = descriptor([40_000, 4, 0], F32, 1);
    let refused = result(|mipmap| cuMipmappedArrayCreate(mipmap, Some(&long), 2));
    assert_eq!(refused, Err(Status::INVALID_VALUE));
}

#[test]
fn a_context_ends_with_its_arrays() {
    let first = session();
    let array = create(&descriptor([64, 64, 0], F32, 1));
    drop(first);
    let _session = session();
    assert_eq!(cuArrayDestroy(array), Status::INVALID_HANDLE);
    let width = result(|width| cuDeviceGetTexture1DLinearMaxWidth(width, F32, 4, 0));
    assert_eq!(width, Ok(1 << 28));
}

#[test]
fn arrays_without_number_are_created_and_destroyed() {
    let _session = session();
    let base = descriptor([64, 64, 0], F32, 4);
    for _ in 0..5_000 {
        let array = create(&base);
        succeeds(cuArrayDestroy(array));
    }
}
