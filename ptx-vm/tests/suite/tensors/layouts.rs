//! Copies of random boxes of interleaved tensors against the definition.

use ptx_vm::{Swizzle, TensorElement, TensorInterleave};

use super::definition::tile;
use super::launch::{Copy, Memory};
use super::tiles::{ELEMENTS, RandomBox, bytes_of, check_load, check_store, random_box, strides};

/// A random box of an interleaved tensor.
fn interleaved(
    random: &mut fastrand::Rng,
    element: TensorElement,
    interleave: TensorInterleave,
    is_load: bool,
) -> RandomBox {
    let swizzle = match interleave {
        TensorInterleave::Bytes32 => Swizzle::Bytes32,
        _ => Swizzle::ALL[[0, 1, 2, 4, 5, 6, 7][random.usize(0..7)]],
    };
    loop {
        let mut case = random_box(random, element, swizzle, is_load);
        if case.start.len() < 3 {
            continue;
        }
        let tensor = &mut case.tensor;
        tensor.interleave = interleave;
        tensor.start = tensor.start / 32 * 32;
        tensor.steps[0] = random.u32(1..=2);
        tensor.dims[0] = random.u64(1..=40);
        let Some(padded) = strides(random, tensor) else {
            continue;
        };
        tensor.strides = padded;
        let of_slice = tensor.slice_bytes() as u32 * 8 / element.bits();
        case.box_dims[0] = of_slice * random.u32(1..=2);
        case.start[0] = of_slice as i32 * random.i32(if is_load { -1..3 } else { 0..3 });
        let elements = tile(&case.tensor, &case.box_dims, &case.start).len();
        if case.box_dims[0] <= 256 && elements * element.bits() as usize / 8 <= 16384 {
            return case;
        }
    }
}

#[test]
fn boxes_of_interleaved_tensors_are_copied() {
    let mut random = fastrand::Rng::with_seed(14);
    let memory = Memory::random(&mut random);
    let interleaves = [TensorInterleave::Bytes16, TensorInterleave::Bytes32];
    for index in 0..60 {
        let is_load = index % 3 != 0;
        let element = ELEMENTS[index % ELEMENTS.len()];
        let case = interleaved(&mut random, element, interleaves[index % 2], is_load);
        let rank = case.start.len();
        let form = if is_load {
            format!(
                ".async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
            )
        } else {
            format!(".async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group")
        };
        let elements = tile(&case.tensor, &case.box_dims, &case.start);
        let copy = Copy {
            form: &form,
            coordinates: &case.start,
            offsets: &[],
            shift: case.shift,
            completes: is_load.then(|| bytes_of(&case.tensor, &elements)),
        };
        if is_load {
            check_load(&memory, &copy, &case.tensor, &elements, |a| case.map(a));
        } else {
            check_store(&memory, &copy, &case.tensor, &elements, |a| case.map(a));
        }
    }
}
