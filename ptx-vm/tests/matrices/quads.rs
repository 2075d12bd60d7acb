//! Four products of 8 × 8 × 4 at once, each in eight lanes.

use crate::element::*;
use crate::{Numbers, kernel, list, run};

/// Where element `index` of a fragment is in its matrix: PTX ISA manual 9.7.14.5.1.
fn place(matrix: char, row_major: bool, wide: bool, lane: usize, index: usize) -> (usize, usize) {
    let high = 4 * (lane / 16);
    match (matrix, row_major) {
        ('a', true) => (lane % 4 + high, index),
        ('a', false) => (index % 4 + high, lane % 4),
        ('b', true) => (lane % 4, index + high),
        ('b', false) => (index, lane % 4 + high),
        _ if wide => (
            (lane & 1) + (index & 2) + high,
            (index & 4) + (lane & 2) + (index & 1),
        ),
        _ => (lane % 4 + high, index),
    }
}

/// The words of a fragment of four matrices, in the order of the lanes.
fn words(
    matrices: &[Numbers],
    element: Element,
    count: usize,
    place: impl Fn(usize, usize) -> (usize, usize),
) -> Vec<u8> {
    let mut bytes = Vec::new();
    for lane in 0..32 {
        let matrix = &matrices[lane % 16 / 4];
        let values = Numbers::new(1, count, |_, index| {
            let (row, column) = place(lane, index);
            matrix.at(row, column)
        });
        bytes.extend(element.bytes(&values));
    }
    bytes
}

fn compare(target: &str, layouts: [bool; 2], c: Element, d: Element) {
    let mut random = fastrand::Rng::with_seed(3);
    let mut four = |rows, columns| -> Vec<Numbers> {
        (0..4)
            .map(|_| F16.any(&mut random, rows, columns))
            .collect()
    };
    let (a, b, addend) = (four(8, 4), four(4, 8), four(8, 8));
    let mut input = words(&a, F16, 4, |lane, index| {
        place('a', layouts[0], false, lane, index)
    });
    input.extend(words(&b, F16, 4, |lane, index| {
        place('b', layouts[1], false, lane, index)
    }));
    input.extend(words(&addend, c, 8, |lane, index| {
        place('c', true, c == F32, lane, index)
    }));
    let mut body = "cvt.u64.u32 %rd3, %t;\nmul.lo.u64 %rd4, %rd3, 8;\nadd.s64 %rd4, %rd4, %rd1;\n\
         ld.global.v2.b32 {%r0, %r1}, [%rd4];\nld.global.v2.b32 {%r2, %r3}, [%rd4+256];\n"
        .to_string();
    let registers = |of: Element| of.bits / 4;
    let (from, to) = (registers(c), registers(d));
    let kind = |of: Element| {
        if of == F32 {
            ("%f", "f32")
        } else {
            ("%r", "b32")
        }
    };
    body += &format!(
        "mul.lo.u64 %rd5, %rd3, {};\nadd.s64 %rd5, %rd5, %rd1;\n",
        4 * from
    );
    for n in 0..from {
        body += &format!(
            "ld.global.{} {}{}, [%rd5+{}];\n",
            kind(c).1,
            kind(c).0,
            8 + n,
            512 + 4 * n
        );
    }
    let layout = |row_major: bool| if row_major { "row" } else { "col" };
    body += &format!(
        "mma.sync.aligned.m8n8k4.{}.{}.{}.f16.f16.{} {}, {{%r0, %r1}}, {{%r2, %r3}}, {};\n",
        layout(layouts[0]),
        layout(layouts[1]),
        d.name,
        c.name,
        list(kind(d).0, 20, to),
        list(kind(c).0, 8, from),
    );
    body += &format!(
        "mul.lo.u64 %rd6, %rd3, {};\nadd.s64 %rd6, %rd6, %rd2;\n",
        4 * to
    );
    for n in 0..to {
        body += &format!(
            "st.global.{} [%rd6+{}], {}{};\n",
            kind(d).1,
            4 * n,
            kind(d).0,
            20 + n
        );
    }
    let found = run(&kernel(target, "", &body), &input, 128 * to).unwrap();
    let products: Vec<Numbers> = (0..4).map(|n| a[n].multiplied(&b[n], &addend[n])).collect();
    let expected = words(&products, d, 8, |lane, index| {
        place('d', true, d == F32, lane, index)
    });
    assert_eq!(found, expected, "{target} {layouts:?}");
}

#[test]
fn each_eight_lanes_multiply() {
    for target in ["sm_75", "sm_80"] {
        for layouts in [[true, true], [true, false], [false, true], [false, false]] {
            compare(target, layouts, F16, F16);
            compare(target, layouts, F16, F32);
            compare(target, layouts, F32, F32);
        }
    }
}
