//! Copies between arrays, the device and the host, of random regions, against arrays of bytes.

use ptx_cuda::abi::{Copy2d, Copy3d, Place2d, Place3d, memory_type};
use ptx_cuda::driver::array::{cuMipmappedArrayCreate, cuMipmappedArrayGetLevel};
use ptx_cuda::driver::copy::*;
use ptx_cuda::handles::Raw;
use ptx_cuda::status::Status;

use crate::common::{
    F32, NOWHERE, Random, U8, U32, contents, create, descriptor, fill, in_array, layered, on_host,
    session, sizes,
};
use crate::session::{result, succeeds};

/// Memory with rows and layers: the bytes, and the sizes in bytes, rows and layers.
#[derive(Clone)]
struct Model {
    bytes: Vec<u8>,
    sizes: [usize; 3],
}

impl Model {
    fn random(random: &mut Random, sizes: [usize; 3]) -> Self {
        Self {
            bytes: random.bytes(sizes.iter().product()),
            sizes,
        }
    }

    fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.sizes[1] + y) * self.sizes[0] + x
    }

    /// Copies a region byte by byte.
    fn copy(&mut self, to: [usize; 3], from: &Self, start: [usize; 3], region: [usize; 3]) {
        for z in 0..region[2] {
            for y in 0..region[1] {
                for x in 0..region[0] {
                    let source = from.index([start[0] + x, start[1] + y, start[2] + z]);
                    let target = self.index([to[0] + x, to[1] + y, to[2] + z]);
                    self.bytes[target] = from.bytes[source];
                }
            }
        }
    }
}

/// The kinds of memory of an end of a copy.
#[derive(Copy, Clone, PartialEq)]
enum Kind {
    Host,
    Device,
    Unified,
    Array,
}

/// Memory on the host, on the device or in an array, with its expected contents.
struct Memory {
    kind: Kind,
    model: Model,
    host: Vec<u8>,
    device: u64,
    array: Raw,
}

impl Memory {
    fn new(random: &mut Random, kind: Kind, sizes: [usize; 3], array: Raw) -> Self {
        let model = Model::random(random, sizes);
        let mut memory = Self {
            kind,
            host: model.bytes.clone(),
            device: 0,
            array,
            model,
        };
        match kind {
            Kind::Device | Kind::Unified => {
                let bytes = memory.host.len();
                memory.device =
                    result(|address| ptx_cuda::driver::memory::cuMemAlloc_v2(address, bytes))
                        .unwrap();
                succeeds(cuMemcpyHtoD_v2(
                    memory.device,
                    memory.host.as_ptr().addr(),
                    bytes,
                ));
            }
            Kind::Array => fill(array, sizes, &memory.host),
            Kind::Host => {}
        }
        memory
    }

    fn place(&mut self, [x_bytes, y, z]: [usize; 3]) -> Place3d {
        Place3d {
            x_bytes,
            y,
            z,
            memory_type: match self.kind {
                Kind::Host => memory_type::HOST,
                Kind::Device => memory_type::DEVICE,
                Kind::Unified => memory_type::UNIFIED,
                Kind::Array => memory_type::ARRAY,
            },
            host: self.host.as_mut_ptr().addr(),
            device: self.device,
            array: self.array,
            pitch: self.model.sizes[0],
            height: self.model.sizes[1],
            ..NOWHERE
        }
    }

    fn check(&self) {
        let bytes = match self.kind {
            Kind::Host => self.host.clone(),
            Kind::Array => contents(self.array, self.model.sizes),
            Kind::Device | Kind::Unified => {
                let mut bytes = vec![0; self.host.len()];
                succeeds(cuMemcpyDtoH_v2(
                    bytes.as_mut_ptr().addr(),
                    self.device,
                    bytes.len(),
                ));
                bytes
            }
        };
        assert!(bytes == self.model.bytes);
    }
}

/// A random region that fits in both sizes, with its position in each. All widths are multiples of the element.
fn region(
    random: &mut Random,
    sizes: [[usize; 3]; 2],
    element: usize,
) -> ([usize; 3], [[usize; 3]; 2]) {
    let mut region = [0; 3];
    let mut positions = [[0; 3]; 2];
    for dimension in 0..3 {
        let unit = if dimension == 0 { element } else { 1 };
        let most = sizes[0][dimension].min(sizes[1][dimension]) / unit;
        let count = random.below(most + 1);
        region[dimension] = count * unit;
        for (position, size) in positions.iter_mut().zip(sizes) {
            let left = size[dimension] / unit - count;
            position[dimension] = unit * random.below(left + 1);
        }
    }
    (region, positions)
}

#[test]
fn regions_are_copied_between_all_kinds_of_memory() {
    let _session = session();
    let mut random = Random(7);
    let kinds = [Kind::Host, Kind::Device, Kind::Unified, Kind::Array];
    let shapes = [
        descriptor([13, 0, 0], F32, 2),
        descriptor([9, 7, 0], U32, 2),
        descriptor([6, 5, 4], U32, 2),
        layered([8, 0, 5], U32, 2),
        layered([5, 6, 3], F32, 2),
        descriptor([17, 3, 3], 0x10, 4),
    ];
    for _ in 0..12 {
        for from in kinds {
            for to in kinds {
                let descriptors = [0; 2].map(|_| shapes[random.below(shapes.len())]);
                let [mut from, mut to] =
                    [(from, descriptors[0]), (to, descriptors[1])].map(|(kind, descriptor)| {
                        let array = create(&descriptor);
                        Memory::new(&mut random, kind, sizes(&descriptor), array)
                    });
                let ends = [from.model.sizes, to.model.sizes];
                let (region, [start, target]) = region(&mut random, ends, 8);
                let copy = Copy3d {
                    from: from.place(start),
                    to: to.place(target),
                    width_bytes: region[0],
                    height: region[1],
                    depth: region[2],
                };
                let status = match random.below(2) {
                    0 => cuMemcpy3D_v2(Some(&copy)),
                    _ => cuMemcpy3DAsync_v2(Some(&copy), 0),
                };
                succeeds(status);
                to.model.copy(target, &from.model, start, region);
                from.check();
                to.check();
            }
        }
    }
}

#[test]
fn rows_are_copied_between_images() {
    let _session = session();
    let mut random = Random(3);
    let image = descriptor([11, 6, 0], U8, 4);
    for round in 0..30 {
        let [mut from, mut to] = [0; 2].map(|_| {
            let kind = [Kind::Host, Kind::Device, Kind::Array][random.below(3)];
            Memory::new(&mut random, kind, sizes(&image), create(&image))
        });
        let ends = [from.model.sizes, to.model.sizes];
        let (mut region, [start, target]) = region(&mut random, ends, 4);
        region[2] = 1;
        let flat = |place: Place3d| Place2d {
            x_bytes: place.x_bytes,
            y: place.y,
            memory_type: place.memory_type,
            host: place.host,
            device: place.device,
            array: place.array,
            pitch: place.pitch,
        };
        let copy = Copy2d {
            from: flat(from.place([start[0], start[1], 0])),
            to: flat(to.place([target[0], target[1], 0])),
            width_bytes: region[0],
            height: region[1],
        };
        succeeds(match round % 3 {
            0 => cuMemcpy2D_v2(Some(&copy)),
            1 => cuMemcpy2DUnaligned_v2(Some(&copy)),
            _ => cuMemcpy2DAsync_v2(Some(&copy), 0),
        });
        to.model.copy(
            [target[0], target[1], 0],
            &from.model,
            [start[0], start[1], 0],
            region,
        );
        to.check();
    }
}

#[test]
fn bytes_of_arrays_are_copied_in_the_order_of_rows() {
    let _session = session();
    let mut random = Random(11);
    for shape in [
        descriptor([100, 0, 0], F32, 1),
        descriptor([7, 9, 0], U8, 4),
        layered([3, 4, 5], F32, 1),
    ] {
        let sizes = sizes(&shape);
        let length: usize = sizes.iter().product();
        for _ in 0..30 {
            let array = create(&shape);
            let mut model = random.bytes(length);
            fill(array, sizes, &model);
            let mut piece = || {
                let start = 4 * random.below(length / 4);
                (start, 4 * random.below((length - start) / 4 + 1))
            };
            let ((a, a_bytes), (b, b_bytes), (c, c_bytes)) = (piece(), piece(), piece());
            let source = random.bytes(length);
            succeeds(cuMemcpyHtoA_v2(array, a, source.as_ptr().addr(), a_bytes));
            model[a..a + a_bytes].copy_from_slice(&source[..a_bytes]);
            let mut back = vec![0; length];
            succeeds(cuMemcpyAtoH_v2(back.as_mut_ptr().addr(), array, b, b_bytes));
            assert_eq!(back[..b_bytes], model[b..b + b_bytes]);
            let device =
                result(|address| ptx_cuda::driver::memory::cuMemAlloc_v2(address, length)).unwrap();
            succeeds(cuMemcpyAtoD_v2(device, array, c, c_bytes));
            succeeds(cuMemcpyDtoH_v2(back.as_mut_ptr().addr(), device, c_bytes));
            assert_eq!(back[..c_bytes], model[c..c + c_bytes]);
            succeeds(cuMemcpyHtoD_v2(device, source.as_ptr().addr(), length));
            succeeds(cuMemcpyDtoA_v2(array, b, device, b_bytes));
            model[b..b + b_bytes].copy_from_slice(&source[..b_bytes]);
            let other = create(&descriptor([length, 0, 0], U8, 1));
            succeeds(cuMemcpyAtoA_v2(other, 0, array, 0, length));
            assert_eq!(contents(other, [length, 1, 1]), model);
            succeeds(cuMemcpyHtoAAsync_v2(
                array,
                0,
                source.as_ptr().addr(),
                length,
                0,
            ));
            succeeds(cuMemcpyAtoHAsync_v2(
                back.as_mut_ptr().addr(),
                array,
                0,
                length,
                0,
            ));
            assert_eq!(back, source);
        }
    }
}

#[test]
fn copies_beyond_arrays_are_refused() {
    let _session = session();
    let array = create(&descriptor([8, 4, 0], F32, 1));
    let mut memory = vec![1u8; 4096];
    let host = memory.as_mut_ptr().addr();
    let whole = Copy3d {
        from: on_host(host),
        to: in_array(array, [0; 3]),
        width_bytes: 32,
        height: 4,
        depth: 1,
    };
    succeeds(cuMemcpy3D_v2(Some(&whole)));
    let change = |change: &dyn Fn(&mut Copy3d)| {
        let mut copy = whole;
        change(&mut copy);
        cuMemcpy3D_v2(Some(&copy))
    };
    for status in [
        change(&|copy| copy.width_bytes = 36),
        change(&|copy| copy.height = 5),
        change(&|copy| copy.depth = 2),
        change(&|copy| copy.to.x_bytes = 4),
        change(&|copy| copy.to.x_bytes = usize::MAX - 3),
        change(&|copy| copy.to.y = 1),
        change(&|copy| copy.to.z = usize::MAX),
        change(&|copy| {
            copy.width_bytes = 4;
            copy.to.x_bytes = 2;
        }),
        change(&|copy| copy.to.level = 1),
        change(&|copy| copy.from.pitch = 31),
        change(&|copy| copy.from.height = 3),
        change(&|copy| copy.from.pitch = 1 << 31),
        change(&|copy| copy.from.memory_type = 5),
        change(&|copy| copy.from.host = 0),
    ] {
        assert_eq!(status, Status::INVALID_VALUE);
    }
    for array in [0, array + 16, usize::MAX] {
        let status = change(&|copy| copy.to.array = array);
        assert_eq!(status, Status::INVALID_HANDLE);
        assert_eq!(cuMemcpyHtoA_v2(array, 0, host, 4), Status::INVALID_HANDLE);
        assert_eq!(cuMemcpyAtoH_v2(host, array, 0, 4), Status::INVALID_HANDLE);
    }
    // Copies of nothing do nothing.
    succeeds(change(&|copy| copy.width_bytes = 0));
    succeeds(change(&|copy| {
        copy.height = 0;
        copy.to.y = 4;
    }));
    for (offset, bytes) in [(0, 129), (128, 4), (2, 4), (usize::MAX, 4), (4, usize::MAX)] {
        let status = cuMemcpyHtoA_v2(array, offset, host, bytes);
        assert_eq!(status, Status::INVALID_VALUE, "{offset} {bytes}");
    }
    assert_eq!(cuMemcpyAtoD_v2(0, array, 0, 3), Status::INVALID_VALUE);
    assert_eq!(
        cuMemcpyAtoA_v2(array, 64, array, 0, 6),
        Status::INVALID_VALUE
    );
    assert_eq!(cuMemcpy3D_v2(None), Status::INVALID_VALUE);
    assert_eq!(cuMemcpy2D_v2(None), Status::INVALID_VALUE);
    assert_eq!(contents(array, [32, 4, 1]), [1; 128]);
}

#[test]
fn levels_of_mipmaps_are_copied() {
    let _session = session();
    let base = layered([10, 6, 3], U32, 1);
    let mipmap = result(|mipmap| cuMipmappedArrayCreate(mipmap, Some(&base), 3)).unwrap();
    let mut random = Random(5);
    let level_sizes = [[40, 6, 3], [20, 3, 3], [8, 1, 3]];
    let levels: Vec<(Raw, Vec<u8>)> = (0..3)
        .map(|level| {
            let array = result(|array| cuMipmappedArrayGetLevel(array, mipmap, level)).unwrap();
            let sizes = level_sizes[level as usize];
            let bytes = random.bytes(sizes.iter().product());
            fill(array, sizes, &bytes);
            (array, bytes)
        })
        .collect();
    for ((array, bytes), sizes) in levels.iter().zip(level_sizes) {
        assert_eq!(contents(*array, sizes), *bytes);
    }
}
