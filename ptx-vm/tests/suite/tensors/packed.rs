//! Copies of elements of 4 and 6 bits against the definition.

use ptx_vm::{Swizzle, TensorElement, TensorFill, TensorInterleave, TensorMap};

use super::definition::{Tensor, tile};
use super::launch::{Copy, Memory};
use super::tiles::{bytes_of, check_load, check_store, strides};

const SWIZZLES: &[Swizzle] = &[
    Swizzle::None,
    Swizzle::Bytes128,
    Swizzle::Bytes128Atom32,
    Swizzle::Bytes128Atom64,
];

#[test]
fn packed_elements_are_copied() {
    let mut random = fastrand::Rng::with_seed(17);
    let memory = Memory::random(&mut random);
    for index in 0..60 {
        let (element, is_load) = [
            (TensorElement::B4x16, true),
            (TensorElement::B4x16, false),
            (TensorElement::B4x16P64, true),
            (TensorElement::B6x16P32, true),
            (TensorElement::B6x16P32, false),
        ][index % 5];
        let is_padded = element != TensorElement::B4x16;
        let rank = random.usize(1..=3);
        let mut box_dims = vec![if is_padded {
            128
        } else {
            32 * random.u32(1..=8)
        }];
        let mut dims = vec![if is_padded {
            128 * random.u64(1..=2)
        } else {
            2 * random.u64(1..=100)
        }];
        let low = if is_load { -1 } else { 0 };
        let first = if is_padded { 128 } else { 2 };
        let mut start = vec![first * random.i32(low..3)];
        for _ in 1..rank {
            box_dims.push(random.u32(1..=4));
            dims.push(random.u64(1..=8));
            start.push(random.i32(low..6));
        }
        let mut tensor = Tensor {
            element,
            start: 32 * random.usize(0..4),
            steps: vec![1; rank],
            dims,
            strides: Vec::new(),
            interleave: TensorInterleave::None,
            swizzle: SWIZZLES[random.usize(0..SWIZZLES.len())],
            fill: TensorFill::Zeros,
        };
        tensor.strides = strides(&mut random, &tensor).expect("tensors of this test are small");
        let form = if is_load {
            format!(
                ".async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes"
            )
        } else {
            format!(".async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group")
        };
        let elements = tile(&tensor, &box_dims, &start);
        let copy = Copy {
            form: &form,
            coordinates: &start,
            offsets: &[],
            shift: 128 * random.u32(0..8),
            completes: is_load.then(|| bytes_of(&tensor, &elements)),
        };
        let map = |address: u64| {
            let address = address + tensor.start as u64;
            tensor.finish(TensorMap::tiled(element, address, &tensor.dims, &box_dims))
        };
        if is_load {
            check_load(&memory, &copy, &tensor, &elements, map);
        } else {
            check_store(&memory, &copy, &tensor, &elements, map);
        }
    }
}
