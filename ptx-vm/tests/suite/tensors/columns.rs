//! Copies of random columns of pixels in the modes `im2col`, `im2col::w` and `im2col::w::128`, against the definition.

use ptx_vm::{Swizzle, TensorElement, TensorFill, TensorInterleave, TensorMap};

use super::definition::{Column, Tensor, im2col, wide};
use super::launch::{Copy, Memory};
use super::tiles::{ELEMENTS, bytes_of, check_load, check_store, strides};

const BARRIER: &str = "mbarrier::complete_tx::bytes";

/// A random batch of images.
fn images(
    random: &mut fastrand::Rng,
    element: TensorElement,
    interleave: TensorInterleave,
    swizzle: Swizzle,
) -> Tensor {
    loop {
        let rank = random.usize(3..=5);
        let mut dims = vec![random.u64(1..=40)];
        dims.extend((2..rank).map(|_| random.u64(3..=9)));
        dims.push(random.u64(1..=4));
        let mut tensor = Tensor {
            element,
            start: 32 * random.usize(0..4),
            steps: (0..rank)
                .map(|dim| if dim == 0 { 1 } else { random.u32(1..=3) })
                .collect(),
            dims,
            strides: Vec::new(),
            interleave,
            swizzle,
            fill: if element == TensorElement::F16 {
                TensorFill::Nan
            } else {
                TensorFill::Zeros
            },
        };
        if let Some(padded) = strides(random, &tensor) {
            tensor.strides = padded;
            return tensor;
        }
    }
}

/// A random column of pixels, and a start in its box.
fn column(random: &mut fastrand::Rng, tensor: &Tensor, is_load: bool) -> (Column, Vec<i32>) {
    let rank = tensor.dims.len();
    let of_row = match tensor.slice_bytes() {
        0 => 16,
        bytes => bytes as u32,
    };
    let (mut lower, mut upper) = (Vec::new(), Vec::new());
    let mut start = vec![0];
    if tensor.slice_bytes() == 0 {
        start[0] = random.i32(if is_load { -3..20 } else { 0..20 });
    }
    for dim in 1..rank - 1 {
        let low = if is_load {
            random.i32(-2..=1)
        } else {
            random.i32(0..=1)
        };
        let high = if is_load {
            random.i32(-1..=2)
        } else {
            -random.i32(0..=1)
        };
        lower.push(low);
        upper.push(high);
        start.push(random.i32(low..=tensor.dims[dim] as i32 - 1 + high));
    }
    start.push(random.i32(if is_load { -1..5 } else { 0..5 }));
    let column = Column {
        lower,
        upper,
        channels: of_row * 8 / tensor.element.bits() * random.u32(1..=2),
        pixels: random.u32(1..=80),
    };
    (column, start)
}

fn map(tensor: &Tensor, column: &Column, address: u64) -> TensorMap {
    let map = TensorMap::im2col(
        tensor.element,
        address + tensor.start as u64,
        &tensor.dims,
        [&column.lower, &column.upper],
        column.channels,
        column.pixels,
    );
    tensor.finish(map)
}

#[test]
fn columns_of_filters_are_copied() {
    let mut random = fastrand::Rng::with_seed(15);
    let memory = Memory::random(&mut random);
    for index in 0..90 {
        let is_load = index % 3 != 0;
        let element = ELEMENTS[index % ELEMENTS.len()];
        let (interleave, swizzle) = match index % 5 {
            0 => (TensorInterleave::Bytes16, Swizzle::Bytes64),
            1 => (TensorInterleave::Bytes32, Swizzle::Bytes32),
            2 => (TensorInterleave::None, Swizzle::Bytes32),
            3 => (TensorInterleave::None, Swizzle::Bytes128),
            _ => (TensorInterleave::None, Swizzle::None),
        };
        let tensor = images(&mut random, element, interleave, swizzle);
        let rank = tensor.dims.len();
        let (column, start) = column(&mut random, &tensor, is_load);
        let mut offsets: Vec<u16> = (2..rank).map(|_| random.u16(0..4)).collect();
        let form = if is_load {
            format!(".async.bulk.tensor.{rank}d.shared::cta.global.im2col.{BARRIER}")
        } else {
            offsets.clear();
            format!(".async.bulk.tensor.{rank}d.global.shared::cta.im2col_no_offs.bulk_group")
        };
        let elements = im2col(&tensor, &column, &start, &offsets);
        let copy = Copy {
            form: &form,
            coordinates: &start,
            offsets: &offsets,
            shift: 128 * random.u32(0..8),
            completes: is_load.then(|| bytes_of(&tensor, &elements)),
        };
        if is_load {
            check_load(&memory, &copy, &tensor, &elements, |a| {
                map(&tensor, &column, a)
            });
        } else {
            check_store(&memory, &copy, &tensor, &elements, |a| {
                map(&tensor, &column, a)
            });
        }
    }
}

#[test]
fn columns_along_the_width_are_loaded() {
    let mut random = fastrand::Rng::with_seed(16);
    let memory = Memory::random(&mut random);
    let swizzles = [
        Swizzle::Bytes64,
        Swizzle::Bytes128,
        Swizzle::Bytes128Atom32,
        Swizzle::Bytes96,
    ];
    for index in 0..60 {
        let is_128 = index % 2 == 0;
        let element = ELEMENTS[index % ELEMENTS.len()];
        let swizzle = swizzles[random.usize(0..if is_128 { 3 } else { 4 })];
        let tensor = images(&mut random, element, TensorInterleave::None, swizzle);
        let rank = tensor.dims.len();
        let (mut column, mut start) = column(&mut random, &tensor, true);
        column.lower.truncate(1);
        column.upper.truncate(1);
        // The first pixel may be left of the box.
        if random.bool() {
            start[1] = column.lower[0] - random.i32(0..4);
        }
        let halo = random.u16(0..6);
        let offset = random.u16(0..4);
        let (mode, pixels) = if is_128 {
            (".im2col::w::128", 0)
        } else {
            (".im2col::w", column.pixels)
        };
        let form = format!(".async.bulk.tensor.{rank}d.shared::cta.global{mode}.{BARRIER}");
        let elements = wide(&tensor, &column, &start, halo, offset, is_128);
        let copy = Copy {
            form: &form,
            coordinates: &start,
            offsets: &[halo, offset],
            shift: 128 * random.u32(0..8),
            completes: Some(bytes_of(&tensor, &elements)),
        };
        check_load(&memory, &copy, &tensor, &elements, |address| {
            let map = TensorMap::im2col_wide(
                tensor.element,
                address + tensor.start as u64,
                &tensor.dims,
                [column.lower[0], column.upper[0]],
                column.channels,
                pixels,
            );
            tensor.finish(map)
        });
    }
}

/// The first example of the PTX ISA manual: the rest of an image from (7, 4) on, and 15 pixels of the next one.
#[test]
fn the_example_of_the_specification_has_the_pixels_that_its_figure_shows() {
    let tensor = Tensor {
        element: TensorElement::U16,
        start: 0,
        dims: vec![64, 9, 14, 64],
        strides: vec![128, 1152, 16128],
        steps: vec![1; 4],
        interleave: TensorInterleave::None,
        swizzle: Swizzle::None,
        fill: TensorFill::Zeros,
    };
    let column = Column {
        lower: vec![-1, -1],
        upper: vec![-1, -1],
        channels: 8,
        pixels: 64,
    };
    let elements = im2col(&tensor, &column, &[0, 4, 7, 7], &[0, 0]);
    let pixels: Vec<&[i64]> = elements.iter().step_by(8).map(|e| &e[1..]).collect();
    assert_eq!(
        pixels[..5],
        [[4, 7, 7], [5, 7, 7], [6, 7, 7], [7, 7, 7], [-1, 8, 7]]
    );
    assert_eq!(pixels[48..50], [[7, 12, 7], [-1, -1, 8]]);
    assert_eq!(pixels.len(), 64);
}
