#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use super::*;

/// The row and column of an element of a register of a lane, as PTX ISA manual 9.7.14.5.8 gives them for `m16n8k16` with elements of 16 bits.
fn documented(operand: &str, lane: usize, element: usize) -> (usize, usize) {
    let (group, member) = (lane / 4, lane % 4);
    match operand {
        "a" => {
            let lower = if matches!(element, 0..2 | 4..6) { 0 } else { 8 };
            let right = if element < 4 { 0 } else { 8 };
            (group + lower, member * 2 + element % 2 + right)
        }
        "b" => (
            member * 2 + element % 2 + if element < 2 { 0 } else { 8 },
            group,
        ),
        _ => (
            group + if element < 2 { 0 } else { 8 },
            member * 2 + element % 2,
        ),
    }
}

#[test]
fn documented_places() {
    let shown = find("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32").unwrap();
    let operands: Vec<&str> = shown.matrices.iter().map(|m| m.operand.as_str()).collect();
    assert_eq!(operands, ["a", "b", "c", "d"]);
    for matrix in &shown.matrices {
        let per_register = 32 / matrix.bits;
        let mut count = 0;
        for lane in 0..32 {
            for element in 0..matrix.registers * per_register {
                let (row, column) = documented(&matrix.operand, lane, element);
                let place = matrix.places[row][column];
                let expected = (lane, element / per_register, element % per_register);
                assert_eq!((place.lane, place.register, place.index), expected);
                count += 1;
            }
        }
        assert_eq!(count, matrix.rows * matrix.columns);
    }
}

#[test]
fn tables_of_text() {
    let shown = find("movmatrix.sync.aligned.m8n8.trans.b16").unwrap();
    let text = text(&shown);
    let expected = "\
a: the matrix, 8 × 8 of b16, 1 register per lane
  row     0–1     2–3     4–5     6–7
    0   T0 a0   T1 a0   T2 a0   T3 a0
    1   T4 a0   T5 a0   T6 a0   T7 a0
";
    assert!(text.contains(expected), "{text}");
    // The elements of a register are in one column.
    assert!(text.contains("  row      0      1"), "{text}");
    assert!(text.contains("\n  0–1  T0 d0  T4 d0   T8 d0"), "{text}");
    let picture = svg(&shown);
    assert_eq!(picture.matches("<rect").count(), 64, "{picture}");
}

#[test]
fn swizzles_of_shared_memory() {
    let shown = find("swizzle-128").unwrap();
    assert_eq!(
        shown.shared[0].offsets[3][..4],
        [3 * 128 + 48, 3 * 128 + 32, 3 * 128 + 16, 3 * 128]
    );
    assert_eq!(find("swizzle").unwrap().shared.len(), 8);
    assert!(find("swizzle-129").unwrap_err().contains("swizzle-128"));
}

#[test]
fn tensor_memory() {
    let shown = find("tcgen05.ld.sync.aligned.16x64b.x2.b32").unwrap();
    let matrix = &shown.matrices[0];
    assert_eq!((matrix.rows, matrix.columns, matrix.registers), (16, 4, 2));
    let place = matrix.places[9][3];
    assert_eq!((place.lane, place.register), (7, 1));
}

#[test]
fn undocumented_fragments_have_a_note() {
    let is_noted = |text: &str| {
        let notes = find(text).unwrap().notes;
        notes.iter().any(|note| note.contains("does not document"))
    };
    assert!(is_noted("wmma.load.a.sync.aligned.row.m16n16k16.f16"));
    assert!(is_noted(
        "wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64"
    ));
    assert!(!is_noted("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"));
}

#[test]
fn what_has_no_fragments() {
    for (text, message) in [
        ("add.s32", "`add.s32` has no fragments of matrices"),
        (
            "mma.sync.aligned.m16n8k16",
            "`mma.sync.aligned.m16n8k16` is not a complete instruction; --fragments expects an opcode with all its modifiers: `ptxkit explain mma` shows them",
        ),
        ("mmma", "unknown instruction `mmma`; did you mean `mma`?"),
    ] {
        assert_eq!(find(text).unwrap_err(), message);
    }
}
