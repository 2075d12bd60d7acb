//! Reductions of random boxes against the definition.

use ptx_vm::TensorElement;

use super::definition::{stored, tile};
use super::launch::{Copy, Memory, run};
use super::tiles::random_box;

/// Combines an element of a type; the bits of elements that are not numbers do not matter.
fn combine(operation: &str, element: TensorElement, old: u64, new: u64) -> u64 {
    let signed = matches!(element, TensorElement::S32 | TensorElement::S64);
    let bits = element.bits();
    let mask = u64::MAX >> (64 - bits);
    let extend = |value: u64| match signed {
        true => i128::from((value << (64 - bits)) as i64 >> (64 - bits)),
        false => i128::from(value),
    };
    if matches!(
        element,
        TensorElement::F16 | TensorElement::Bf16 | TensorElement::F32
    ) {
        return combine_numbers(operation, element, old, new);
    }
    let (a, b) = (extend(old), extend(new));
    mask & match operation {
        "add" => old.wrapping_add(new),
        "min" => a.min(b) as u64,
        "max" => a.max(b) as u64,
        "inc" if old >= new => 0,
        "inc" => old + 1,
        "dec" if old == 0 || old > new => new,
        "dec" => old - 1,
        "and" => old & new,
        "or" => old | new,
        _ => old ^ new,
    }
}

/// The number of bits of the exponent and of the fraction.
fn format(element: TensorElement) -> (u32, u32) {
    match element {
        TensorElement::F16 => (5, 10),
        TensorElement::Bf16 => (8, 7),
        _ => (8, 23),
    }
}

/// The value of finite bits.
fn value(element: TensorElement, bits: u64) -> f64 {
    let (exponent, fraction) = format(element);
    let bias = (1 << (exponent - 1)) - 1;
    let field = (bits >> fraction & ((1 << exponent) - 1)) as i32;
    let low = (bits & ((1 << fraction) - 1)) as f64;
    let (hidden, power) = if field == 0 { (0.0, 1) } else { (1.0, field) };
    let sign = if bits >> (exponent + fraction) & 1 == 1 {
        -1.0
    } else {
        1.0
    };
    sign * (hidden + low / f64::from(1u32 << fraction)) * 2f64.powi(power - bias)
}

/// The finite bits that are nearest to a value, those with an even fraction if two are.
fn nearest(element: TensorElement, sum: f64) -> u64 {
    let (exponent, fraction) = format(element);
    let greatest = (((1u64 << exponent) - 1) << fraction) - 1;
    let sign = u64::from(sum < 0.0) << (exponent + fraction);
    let (mut low, mut high) = (0, greatest);
    // The greatest magnitude that is at most the sum.
    while low < high {
        let middle = (low + high).div_ceil(2);
        if value(element, middle) <= sum.abs() {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let above = low + 1;
    let distance = |bits| (value(element, bits) - sum.abs()).abs();
    let nearer = if low == greatest
        || distance(low) < distance(above)
        || distance(low) == distance(above) && low % 2 == 0
    {
        low
    } else {
        above
    };
    sign | nearer
}

fn combine_numbers(operation: &str, element: TensorElement, old: u64, new: u64) -> u64 {
    let (a, b) = (value(element, old), value(element, new));
    match operation {
        "add" => nearest(element, a + b),
        "min" if a < b => old,
        "max" if a > b => old,
        _ => new,
    }
}

/// Makes numbers of moderate size of the elements that are numbers.
fn tame(bytes: &mut [u8], element: TensorElement) {
    let size = element.bits() as usize / 8;
    let mask = match element {
        // Exponents of at most 16, and of 64 to 191.
        TensorElement::F16 => 0xbf,
        TensorElement::Bf16 | TensorElement::F32 => 0xbf,
        _ => return,
    };
    for last in bytes.iter_mut().skip(size - 1).step_by(size) {
        *last = *last & mask | 1;
    }
}

#[test]
fn random_boxes_are_combined() {
    use TensorElement::{Bf16, F16, F32, S32, S64, U32, U64};
    let cases: &[(&str, &[TensorElement])] = &[
        ("add", &[U32, S32, U64, F32, F16, Bf16]),
        ("min", &[U32, S32, U64, S64, F16, Bf16]),
        ("max", &[U32, S32, U64, S64, F16, Bf16]),
        ("inc", &[U32]),
        ("dec", &[U32]),
        ("and", &[U32, S64]),
        ("or", &[S32, U64]),
        ("xor", &[U32, U64]),
    ];
    let mut random = fastrand::Rng::with_seed(18);
    let original = Memory::random(&mut random);
    let swizzles = ptx_vm::Swizzle::ALL;
    let all = cases
        .iter()
        .flat_map(|(operation, elements)| elements.iter().map(move |e| (operation, *e)));
    for (index, (operation, element)) in all.cycle().take(56).enumerate() {
        let mut memory = Memory {
            tensor: original.tensor.clone(),
            shared: original.shared.clone(),
        };
        tame(&mut memory.tensor, element);
        tame(&mut memory.shared, element);
        let case = random_box(&mut random, element, swizzles[index % 8], false);
        let rank = case.start.len();
        let form = format!(
            ".reduce.async.bulk.tensor.{rank}d.global.shared::cta.{operation}.tile.bulk_group"
        );
        let copy = Copy {
            form: &form,
            coordinates: &case.start,
            offsets: &[],
            shift: case.shift,
            completes: None,
        };
        let found = run(&copy, &memory, |address| case.map(address)).expect("a valid reduction");
        let elements = tile(&case.tensor, &case.box_dims, &case.start);
        let expected = stored(
            &case.tensor,
            &elements,
            &memory.tensor,
            &memory.shared,
            case.shift,
            &|old, new| combine(operation, element, old, new),
        );
        assert!(found.tensor == expected, "{form} {element:?}");
    }
}
