//! Copies of random boxes in tiled mode, in both directions, against the definition.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Swizzle, TensorElement, TensorFill, TensorInterleave, TensorMap};

use super::definition::{Elements, Tensor, loaded, rows, stored, tile};
use super::launch::{Copy, Memory, SHARED_BYTES, TENSOR_BYTES, run};

const BARRIER: &str = "mbarrier::complete_tx::bytes";

/// Elements that have whole bytes.
pub(super) const ELEMENTS: &[TensorElement] = &[
    TensorElement::U8,
    TensorElement::U16,
    TensorElement::U32,
    TensorElement::S32,
    TensorElement::U64,
    TensorElement::S64,
    TensorElement::F16,
    TensorElement::F32,
    TensorElement::F32Ftz,
    TensorElement::F64,
    TensorElement::Bf16,
    TensorElement::Tf32,
    TensorElement::Tf32Ftz,
];

/// The bytes of a row that a swizzle permits.
fn span(swizzle: Swizzle) -> u32 {
    match swizzle {
        Swizzle::None => 256,
        Swizzle::Bytes32 => 32,
        Swizzle::Bytes64 => 64,
        Swizzle::Bytes96 => 96,
        _ => 128,
    }
}

/// A random box: its tensor, its size, and its start.
pub(super) struct RandomBox {
    pub(super) tensor: Tensor,
    pub(super) box_dims: Vec<u32>,
    pub(super) start: Vec<i32>,
    pub(super) shift: u32,
}

impl RandomBox {
    pub(super) fn map(&self, address: u64) -> TensorMap {
        let tensor = &self.tensor;
        let address = address + tensor.start as u64;
        let map = TensorMap::tiled(tensor.element, address, &tensor.dims, &self.box_dims);
        tensor.finish(map)
    }
}

/// The strides of a tensor with random padding; `None` if it does not fit into memory.
pub(super) fn strides(random: &mut fastrand::Rng, tensor: &Tensor) -> Option<Vec<u64>> {
    let row = (tensor.dims[0] * u64::from(tensor.element.bits())).div_ceil(8);
    let align = 32;
    let rank = tensor.dims.len();
    let slice = tensor.slice_bytes() as u64;
    let (mut stride, slices) = match slice {
        0 => (row, 1),
        bytes => (bytes, row.div_ceil(bytes)),
    };
    let mut strides = Vec::new();
    for dim in 1..rank {
        if dim + 1 == rank {
            stride *= slices;
        }
        let is_padded = slice == 0 || dim + 1 == rank;
        if slice == 0 || dim > 1 {
            stride = stride.next_multiple_of(align)
                + if is_padded {
                    align * random.u64(0..3)
                } else {
                    0
                };
        }
        strides.push(stride);
        stride *= tensor.dims[dim];
    }
    (stride + tensor.start as u64 <= TENSOR_BYTES as u64).then_some(strides)
}

pub(super) fn random_box(
    random: &mut fastrand::Rng,
    element: TensorElement,
    swizzle: Swizzle,
    is_load: bool,
) -> RandomBox {
    loop {
        let rank = random.usize(1..=5);
        let bytes = element.bits() / 8;
        let row = 16 * random.u32(1..=span(swizzle) / 16);
        let mut box_dims = vec![row / bytes];
        let mut steps = vec![1];
        let mut dims = vec![random.u64(1..=80)];
        for _ in 1..rank {
            let step = if random.u8(..) < 100 {
                random.u32(2..=8)
            } else {
                1
            };
            steps.push(step);
            box_dims.push(random.u32(1..=6) * step - random.u32(0..step));
            dims.push(random.u64(1..=12));
        }
        let start: Vec<i32> = box_dims
            .iter()
            .zip(&dims)
            .map(|(&size, &dim)| {
                let low = if is_load { -(size as i32) - 1 } else { 0 };
                random.i32(low..=dim as i32 + 1)
            })
            .collect();
        if box_dims.iter().any(|size| *size > 256) {
            continue;
        }
        let fills = is_load && element_is_float(element) && random.bool();
        let mut tensor = Tensor {
            element,
            start: 16 * random.usize(0..8),
            dims,
            strides: Vec::new(),
            steps,
            interleave: TensorInterleave::None,
            swizzle,
            fill: if fills {
                TensorFill::Nan
            } else {
                TensorFill::Zeros
            },
        };
        let Some(padded) = strides(random, &tensor) else {
            continue;
        };
        tensor.strides = padded;
        let shift = 128 * random.u32(0..8);
        let count = tile(&tensor, &box_dims, &start).len();
        if count * bytes as usize + shift as usize + 1024 <= SHARED_BYTES {
            return RandomBox {
                tensor,
                box_dims,
                start,
                shift,
            };
        }
    }
}

fn element_is_float(element: TensorElement) -> bool {
    let name = element.name();
    name.starts_with('f') || name.starts_with("tf") || name.starts_with("bf")
}

/// Loads elements, and compares shared memory with the definition.
pub(super) fn check_load(
    memory: &Memory,
    copy: &Copy<'_>,
    tensor: &Tensor,
    elements: &Elements,
    map: impl FnOnce(u64) -> TensorMap,
) {
    let found = run(copy, memory, map).unwrap();
    let expected = loaded(tensor, elements, &memory.tensor, &memory.shared, copy.shift);
    assert!(
        found.shared == expected,
        "{} {:?} {tensor:?}",
        copy.form,
        copy.coordinates
    );
    assert!(found.tensor == memory.tensor);
}

/// Stores elements, and compares the tensor with the definition.
pub(super) fn check_store(
    memory: &Memory,
    copy: &Copy<'_>,
    tensor: &Tensor,
    elements: &Elements,
    map: impl FnOnce(u64) -> TensorMap,
) {
    let found = run(copy, memory, map).unwrap();
    let expected = stored(
        tensor,
        elements,
        &memory.tensor,
        &memory.shared,
        copy.shift,
        &|_, new| new,
    );
    assert!(
        found.tensor == expected,
        "{} {:?} {tensor:?}",
        copy.form,
        copy.coordinates
    );
    assert!(found.shared == memory.shared);
}

/// The bytes of elements without gaps.
pub(super) fn bytes_of(tensor: &Tensor, elements: &Elements) -> u32 {
    elements.len() as u32 * tensor.element.bits() / 8
}

#[test]
fn random_boxes_are_loaded() {
    let mut random = fastrand::Rng::with_seed(11);
    let memory = Memory::random(&mut random);
    for (index, swizzle) in Swizzle::ALL.into_iter().cycle().take(120).enumerate() {
        let element = ELEMENTS[index % ELEMENTS.len()];
        let case = random_box(&mut random, element, swizzle, true);
        let rank = case.start.len();
        let (target, mode) = [("cta", ".tile"), ("cluster", "")][index % 2];
        let form = format!(".async.bulk.tensor.{rank}d.shared::{target}.global{mode}.{BARRIER}");
        let elements = tile(&case.tensor, &case.box_dims, &case.start);
        let copy = Copy {
            form: &form,
            coordinates: &case.start,
            offsets: &[],
            shift: case.shift,
            completes: Some(bytes_of(&case.tensor, &elements)),
        };
        check_load(&memory, &copy, &case.tensor, &elements, |a| case.map(a));
    }
}

#[test]
fn random_boxes_are_stored() {
    let mut random = fastrand::Rng::with_seed(12);
    let memory = Memory::random(&mut random);
    for (index, swizzle) in Swizzle::ALL.into_iter().cycle().take(120).enumerate() {
        let element = ELEMENTS[index % ELEMENTS.len()];
        let case = random_box(&mut random, element, swizzle, false);
        let rank = case.start.len();
        let form = format!(".async.bulk.tensor.{rank}d.global.shared::cta.tile.bulk_group");
        let elements = tile(&case.tensor, &case.box_dims, &case.start);
        let copy = Copy {
            form: &form,
            coordinates: &case.start,
            offsets: &[],
            shift: case.shift,
            completes: None,
        };
        check_store(&memory, &copy, &case.tensor, &elements, |a| case.map(a));
    }
}

#[test]
fn rows_are_gathered_and_scattered() {
    let mut random = fastrand::Rng::with_seed(13);
    let memory = Memory::random(&mut random);
    for (index, swizzle) in Swizzle::ALL.into_iter().cycle().take(48).enumerate() {
        let is_load = index % 2 == 0;
        let element = ELEMENTS[index % ELEMENTS.len()];
        let case = loop {
            let case = random_box(&mut random, element, swizzle, is_load);
            if case.start.len() == 2 {
                break case;
            }
        };
        let case = RandomBox {
            box_dims: vec![case.box_dims[0], 1],
            ..case
        };
        let mut coordinates = vec![case.start[0]];
        let low = if is_load { -3 } else { 0 };
        // Different rows: scattered rows would be written in any order.
        while coordinates.len() < 5 {
            let row = random.i32(low..20);
            if !coordinates[1..].contains(&row) {
                coordinates.push(row);
            }
        }
        let form = if is_load {
            format!(".async.bulk.tensor.2d.shared::cta.global.tile::gather4.{BARRIER}")
        } else {
            ".async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group".into()
        };
        let elements = rows(case.box_dims[0], &coordinates);
        let bytes = bytes_of(&case.tensor, &elements);
        let copy = Copy {
            form: &form,
            coordinates: &coordinates,
            offsets: &[],
            shift: case.shift,
            completes: is_load.then_some(bytes),
        };
        if is_load {
            check_load(&memory, &copy, &case.tensor, &elements, |a| case.map(a));
        } else {
            check_store(&memory, &copy, &case.tensor, &elements, |a| case.map(a));
        }
    }
}
