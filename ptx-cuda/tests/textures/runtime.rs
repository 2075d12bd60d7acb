//! The functions of the runtime API for arrays, textures and surfaces.

use ptx_cuda::abi::arrays::{ChannelFormat, ResourceView, RuntimeTextureDescriptor, resource_type};
use ptx_cuda::handles::Raw;
use ptx_cuda::runtime::array::*;
use ptx_cuda::runtime::surface::*;
use ptx_cuda::runtime::texture::*;
use ptx_cuda::runtime::types::Extent;
use ptx_cuda::status::Status;

use crate::common::{Random, contents, fill, session};
use crate::reads::{read, resource};
use crate::session::{result, succeeds};

const SIGNED: u32 = 0;
const UNSIGNED: u32 = 1;
const FLOAT: u32 = 2;

/// The directions of copies.
const TO_DEVICE: u32 = 1;
const TO_HOST: u32 = 2;
const ON_DEVICE: u32 = 3;
const DEFAULT: u32 = 4;

const fn extent(width: usize, height: usize, depth: usize) -> Extent {
    Extent {
        width,
        height,
        depth,
    }
}

fn malloc(format: &ChannelFormat, width: usize, height: usize) -> Raw {
    result(|array| cudaMallocArray(array, Some(format), width, height, 0)).unwrap()
}

#[test]
fn formats_are_returned_as_they_were_given() {
    let _session = session();
    let mut formats = Vec::new();
    for channels in [1, 2, 4] {
        for (bits, kind) in [
            (8, SIGNED),
            (16, SIGNED),
            (32, SIGNED),
            (8, UNSIGNED),
            (16, UNSIGNED),
            (32, UNSIGNED),
            (16, FLOAT),
            (32, FLOAT),
        ] {
            formats.push((channels, bits, kind));
        }
    }
    // Normalized integers: 8 and 16 bits, unsigned and signed.
    for (first, bits) in [(5, 8), (8, 16), (11, 8), (14, 16)] {
        for (index, channels) in [(0, 1), (1, 2), (2, 4)] {
            formats.push((channels, bits, first + index));
        }
    }
    for (channels, bits, kind) in formats {
        let bits = |channel: i32| if channel < channels { bits } else { 0 };
        let format = cudaCreateChannelDesc(bits(0), bits(1), bits(2), bits(3), kind);
        let array = malloc(&format, 5, 3);
        assert_eq!(result(|found| cudaGetChannelDesc(found, array)), Ok(format));
        let mut found = [0; 3];
        let size = result(|extent| cudaArrayGetInfo(None, extent, None, array));
        let Extent {
            width,
            height,
            depth,
        } = size.unwrap();
        found.copy_from_slice(&[width, height, depth]);
        assert_eq!(found, [5, 3, 0]);
        let flags = result(|flags| cudaArrayGetInfo(None, None, flags, array));
        assert_eq!(flags, Ok(0));
        succeeds(cudaFreeArray(array));
        assert_eq!(cudaFreeArray(array), Status::INVALID_HANDLE);
    }
    succeeds(cudaFreeArray(0));
    let create = |[x, y, z, w]: [i32; 4], kind| {
        let format = cudaCreateChannelDesc(x, y, z, w, kind);
        result(|array| cudaMallocArray(array, Some(&format), 4, 4, 0)).unwrap_err()
    };
    for (bits, kind) in [
        ([32, 32, 32, 0], FLOAT),
        ([8, 0, 8, 0], UNSIGNED),
        ([8, 16, 0, 0], UNSIGNED),
        ([64, 0, 0, 0], UNSIGNED),
        ([8, 0, 0, 0], FLOAT),
        ([-8, 0, 0, 0], SIGNED),
        ([0, 0, 0, 0], UNSIGNED),
        ([8, 0, 0, 0], 3),
        ([8, 8, 0, 0], 5),
        ([8, 0, 0, 0], 32),
        ([8, 0, 0, 0], u32::MAX),
    ] {
        let expected = Status::INVALID_CHANNEL_DESCRIPTOR;
        assert_eq!(create(bits, kind), expected, "{bits:?} {kind}");
    }
    // Compressed blocks.
    assert_eq!(create([8, 8, 8, 8], 17), Status::NOT_SUPPORTED);
    let none = result(|array| cudaMallocArray(array, None, 4, 4, 0));
    assert_eq!(none, Err(Status::INVALID_VALUE));
}

#[test]
fn arrays_have_layers_and_levels() {
    let _session = session();
    let float = cudaCreateChannelDesc(32, 0, 0, 0, FLOAT);
    let layers = extent(6, 4, 3);
    let array = result(|array| cudaMalloc3DArray(array, Some(&float), layers, 1)).unwrap();
    let found = result(|found| cudaArrayGetInfo(None, found, None, array)).unwrap();
    assert_eq!([found.width, found.height, found.depth], [6, 4, 3]);
    assert_eq!(
        result(|flags| cudaArrayGetInfo(None, None, flags, array)),
        Ok(1)
    );
    let memory = result(|memory| cudaArrayGetMemoryRequirements(memory, array, 0)).unwrap();
    assert_eq!(memory.bytes, 32 * 12);
    let refused = result(|array| cudaMalloc3DArray(array, Some(&float), extent(6, 0, 3), 0));
    assert_eq!(refused, Err(Status::INVALID_VALUE));
    let plane = result(|plane| cudaArrayGetPlane(plane, array, 0));
    assert_eq!(plane, Err(Status::NOT_SUPPORTED));
    let mipmap =
        result(|mipmap| cudaMallocMipmappedArray(mipmap, Some(&float), layers, 2, 1)).unwrap();
    let memory = result(|memory| cudaMipmappedArrayGetMemoryRequirements(memory, mipmap, 0));
    assert_eq!(memory.unwrap().bytes, (32 * 4 + 16 * 2) * 3);
    let level = result(|array| cudaGetMipmappedArrayLevel(array, mipmap, 1)).unwrap();
    let found = result(|found| cudaArrayGetInfo(None, found, None, level)).unwrap();
    assert_eq!([found.width, found.height, found.depth], [3, 2, 3]);
    succeeds(cudaFreeMipmappedArray(mipmap));
    succeeds(cudaFreeMipmappedArray(0));
    assert_eq!(cudaFreeMipmappedArray(mipmap), Status::INVALID_HANDLE);
    let width = result(|width| cudaDeviceGetTexture1DLinearMaxWidth(width, Some(&float), 0));
    assert_eq!(width, Ok(1 << 28));
}

/// An array of 4-byte elements with random contents: 11 columns and 7 rows.
const ROW: usize = 44;
const HEIGHT: usize = 7;

fn random_array(random: &mut Random) -> (Raw, Vec<u8>) {
    let format = cudaCreateChannelDesc(8, 8, 8, 8, UNSIGNED);
    let array = malloc(&format, ROW / 4, HEIGHT);
    let bytes = random.bytes(ROW * HEIGHT);
    fill(array, [ROW, HEIGHT, 1], &bytes);
    (array, bytes)
}

#[test]
fn rows_are_copied() {
    let _session = session();
    let mut random = Random(21);
    for round in 0..20 {
        let (array, mut model) = random_array(&mut random);
        let (x, y) = (4 * random.below(11), random.below(HEIGHT));
        let width = 4 * random.below((ROW - x) / 4 + 1);
        let height = random.below(HEIGHT - y + 1);
        let pitch = width + random.below(9);
        let source = random.bytes(pitch * height + 1);
        let from = source.as_ptr().addr();
        succeeds(if round % 2 == 0 {
            cudaMemcpy2DToArray(array, x, y, from, pitch, width, height, TO_DEVICE)
        } else {
            cudaMemcpy2DToArrayAsync(array, x, y, from, pitch, width, height, DEFAULT, 0)
        });
        for row in 0..height {
            let place = ROW * (y + row) + x;
            let bytes = &source[pitch * row..][..width];
            model[place..place + width].copy_from_slice(bytes);
        }
        assert_eq!(contents(array, [ROW, HEIGHT, 1]), model);
        let mut back = vec![0u8; pitch * height + 1];
        let to = back.as_mut_ptr().addr();
        succeeds(if round % 2 == 0 {
            cudaMemcpy2DFromArray(to, pitch, array, x, y, width, height, TO_HOST)
        } else {
            cudaMemcpy2DFromArrayAsync(to, pitch, array, x, y, width, height, TO_HOST, 0)
        });
        for row in 0..height {
            let range = pitch * row..pitch * row + width;
            assert_eq!(back[range.clone()], source[range]);
        }
        let (other, mut expected) = random_array(&mut random);
        let status = cudaMemcpy2DArrayToArray(other, x, 0, array, x, y, width, height, ON_DEVICE);
        succeeds(status);
        for row in 0..height {
            let bytes = &model[ROW * (y + row) + x..][..width];
            expected[ROW * row + x..][..width].copy_from_slice(bytes);
        }
        assert_eq!(contents(other, [ROW, HEIGHT, 1]), expected);
    }
    let (array, _) = random_array(&mut random);
    let bytes = [0u8; 512];
    let from = bytes.as_ptr().addr();
    let copy = |x, y, pitch, width, height, direction| {
        cudaMemcpy2DToArray(array, x, y, from, pitch, width, height, direction)
    };
    assert_eq!(copy(0, 0, 8, 12, 2, TO_DEVICE), Status::INVALID_PITCH_VALUE);
    assert_eq!(copy(0, 0, 44, 44, 2, 5), Status::INVALID_MEMCPY_DIRECTION);
    for status in [
        copy(4, 0, 44, 44, 2, TO_DEVICE),
        copy(0, 6, 44, 44, 2, TO_DEVICE),
        copy(2, 0, 44, 4, 2, TO_DEVICE),
        copy(usize::MAX - 3, 0, 44, 4, 2, TO_DEVICE),
    ] {
        assert_eq!(status, Status::INVALID_VALUE);
    }
}

#[test]
fn bytes_continue_in_the_next_row() {
    let _session = session();
    let mut random = Random(22);
    for round in 0..20 {
        let (array, mut model) = random_array(&mut random);
        let (x, y) = (4 * random.below(11), random.below(HEIGHT));
        let start = ROW * y + x;
        let count = 4 * random.below((ROW * HEIGHT - start) / 4 + 1);
        let source = random.bytes(count + 1);
        let from = source.as_ptr().addr();
        succeeds(if round % 2 == 0 {
            cudaMemcpyToArray(array, x, y, from, count, TO_DEVICE)
        } else {
            cudaMemcpyToArrayAsync(array, x, y, from, count, TO_DEVICE, 0)
        });
        model[start..start + count].copy_from_slice(&source[..count]);
        assert_eq!(contents(array, [ROW, HEIGHT, 1]), model);
        let mut back = vec![0u8; count + 1];
        let to = back.as_mut_ptr().addr();
        succeeds(if round % 2 == 0 {
            cudaMemcpyFromArray(to, array, x, y, count, TO_HOST)
        } else {
            cudaMemcpyFromArrayAsync(to, array, x, y, count, TO_HOST, 0)
        });
        assert_eq!(back[..count], source[..count]);
        let (other, mut expected) = random_array(&mut random);
        succeeds(cudaMemcpyArrayToArray(
            other, x, y, array, 0, 0, count, ON_DEVICE,
        ));
        expected[start..start + count].copy_from_slice(&model[..count]);
        assert_eq!(contents(other, [ROW, HEIGHT, 1]), expected);
        let status = cudaMemcpyToArray(array, x, y, from, ROW * HEIGHT - start + 4, TO_DEVICE);
        assert_eq!(status, Status::INVALID_VALUE);
    }
}

const READ_2D: &str = "tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%texture, {%c0, %c1}];";

#[test]
fn textures_have_their_own_descriptions() {
    let session = session();
    let bytes = cudaCreateChannelDesc(8, 8, 0, 0, UNSIGNED);
    let array = malloc(&bytes, 4, 2);
    fill(array, [8, 2, 1], &(0..16).collect::<Vec<u8>>());
    let resource = resource(resource_type::ARRAY, &[array as u64]);
    let settings = RuntimeTextureDescriptor {
        address_modes: [1; 3],
        filter: 1,
        read_mode: 1,
        normalized_coordinates: 1,
        border_color: [0.5; 4],
        max_anisotropy: 2,
        ..RuntimeTextureDescriptor::default()
    };
    let create = |settings: &RuntimeTextureDescriptor| {
        result(|texture| cudaCreateTextureObject(texture, Some(&resource), Some(settings), None))
    };
    let texture = create(&settings).unwrap();
    let center = [0.5f32.to_bits(), 0.5f32.to_bits(), 0, 0];
    let found = read(&session, READ_2D, texture, &[center])[0].map(f32::from_bits);
    // The mean of texels 1 and 2 of both rows.
    assert!((found[0] - 7.0 / 255.0).abs() < 1e-6 && (found[1] - 8.0 / 255.0).abs() < 1e-6);
    let back = result(|found| cudaGetTextureObjectTextureDesc(found, texture));
    assert_eq!(back, Ok(settings));
    let back = result(|found| cudaGetTextureObjectResourceDesc(found, texture));
    assert_eq!(back, Ok(resource));
    let none = result(|found| cudaGetTextureObjectResourceViewDesc(found, texture));
    assert_eq!(none, Err(Status::INVALID_VALUE));
    succeeds(cudaDestroyTextureObject(texture));
    assert_eq!(cudaDestroyTextureObject(texture), Status::INVALID_VALUE);
    // Integers are not filtered.
    let integers = RuntimeTextureDescriptor {
        read_mode: 0,
        ..settings
    };
    assert_eq!(create(&integers), Err(Status::INVALID_FILTER_SETTING));
    let wrong = RuntimeTextureDescriptor {
        read_mode: 2,
        filter: 0,
        ..settings
    };
    assert_eq!(create(&wrong), Err(Status::INVALID_VALUE));
    let view = ResourceView {
        // One channel of unsigned integers of 16 bits.
        format: 7,
        width: 4,
        height: 2,
        ..ResourceView::default()
    };
    let points = RuntimeTextureDescriptor::default();
    let texture = result(|texture| {
        cudaCreateTextureObject(texture, Some(&resource), Some(&points), Some(&view))
    })
    .unwrap();
    let instruction = "tex.2d.v4.u32.s32 {%r0, %r1, %r2, %r3}, [%texture, {%c0, %c1}];";
    let found = read(&session, instruction, texture, &[[1, 1, 0, 0]]);
    assert_eq!(found, [[0x0b0a, 0, 0, 0]]);
    let back = result(|found| cudaGetTextureObjectResourceViewDesc(found, texture));
    assert_eq!(back, Ok(view));
}

#[test]
fn linear_memory_has_a_format_of_the_runtime() {
    let session = session();
    let numbers: Vec<f32> = (0..64u8).map(f32::from).collect();
    let address = session.buffer(&numbers);
    // Two channels of 32 bits, floating-point.
    let format = [32 | 32 << 32, 0, 2];
    let linear = resource(
        resource_type::LINEAR,
        &[address, format[0], format[1], format[2], 256],
    );
    let points = RuntimeTextureDescriptor::default();
    let create = |resource, settings| {
        result(|texture| cudaCreateTextureObject(texture, Some(resource), Some(settings), None))
    };
    let texture = create(&linear, &points).unwrap();
    let instruction = "tex.1d.v4.f32.s32 {%r0, %r1, %r2, %r3}, [%texture, {%c0}];";
    let found = read(
        &session,
        instruction,
        texture,
        &[[31, 0, 0, 0], [32, 0, 0, 0]],
    );
    let found = found.concat();
    assert_eq!(found[..2], [62.0f32, 63.0].map(f32::to_bits));
    assert_eq!(found[4..6], [0, 0]);
    let back = result(|found| cudaGetTextureObjectResourceDesc(found, texture));
    assert_eq!(back, Ok(linear));
    let rows = resource(resource_type::PITCH, &[address, 32, 0, 2, 8, 4, 64]);
    let filtered = RuntimeTextureDescriptor {
        filter: 1,
        address_modes: [1; 3],
        ..points
    };
    let texture = create(&rows, &filtered).unwrap();
    let place = [2.0f32.to_bits(), 1.5f32.to_bits(), 0, 0];
    let found = read(&session, READ_2D, texture, &[place]);
    assert_eq!(f32::from_bits(found[0][0]), 17.5);
    let back = result(|found| cudaGetTextureObjectResourceDesc(found, texture));
    assert_eq!(back, Ok(rows));
    let three = resource(
        resource_type::LINEAR,
        &[address, format[0], 32, format[2], 256],
    );
    let refused = create(&three, &points);
    assert_eq!(refused, Err(Status::INVALID_CHANNEL_DESCRIPTOR));
}

#[test]
fn surfaces_are_created() {
    let _session = session();
    let format = cudaCreateChannelDesc(32, 0, 0, 0, UNSIGNED);
    let array = result(|array| cudaMallocArray(array, Some(&format), 4, 4, 2)).unwrap();
    let description = resource(resource_type::ARRAY, &[array as u64]);
    let surface = result(|surface| cudaCreateSurfaceObject(surface, Some(&description)));
    let surface = surface.unwrap();
    let found = result(|found| cudaGetSurfaceObjectResourceDesc(found, surface));
    assert_eq!(found, Ok(description));
    succeeds(cudaDestroySurfaceObject(surface));
    assert_eq!(cudaDestroySurfaceObject(surface), Status::INVALID_VALUE);
}
