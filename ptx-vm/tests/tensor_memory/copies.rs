//! Copies from shared memory to tensor memory, and shifts.

use crate::elements::Layout;
use crate::{Experiment, Random};

const COLUMNS: usize = 32;

/// The shapes with the rows and bits of a tile, and the lanes of each row.
type Lanes = fn(usize) -> Vec<usize>;
const SHAPES: [(&str, usize, usize, Lanes); 6] = [
    ("128x256b", 128, 256, |row| vec![row]),
    ("128x128b", 128, 128, |row| vec![row]),
    ("4x256b", 4, 256, |row| vec![32 * row + 31]),
    ("64x128b.warpx2::02_13", 64, 128, |row| vec![row, row + 64]),
    ("64x128b.warpx2::01_23", 64, 128, |row| {
        let first = if row < 32 { row } else { row + 32 };
        vec![first, first + 32]
    }),
    ("32x128b.warpx4", 32, 128, |row| {
        (0..4).map(|warp| row + 32 * warp).collect()
    }),
];

/// The bytes of 16 packed elements of `bits` bits: those of 4 bits are in the middle of a byte.
fn expanded(unit: &[u8], bits: usize) -> Vec<u8> {
    let unit = u128::from_le_bytes(unit.try_into().unwrap());
    let shift = if bits == 4 { 2 } else { 0 };
    (0..16)
        .map(|index| ((unit >> (bits * index) & ((1 << bits) - 1)) << shift) as u8)
        .collect()
}

#[test]
fn tiles_of_all_shapes() {
    let mut random = Random::new(50);
    for (shape, rows, bits, lanes) in SHAPES {
        for format in ["", ".b8x16.b4x16_p64", ".b8x16.b6x16_p32"] {
            let mut experiment = Experiment::new(COLUMNS, "");
            experiment.shared = vec![random.bytes(crate::BUFFER)];
            experiment.cells = vec![random.words(128 * COLUMNS)];
            let (layout, end) = Layout::random(&mut random, 0, rows, bits / 8, 16, false);
            assert!(end <= crate::BUFFER);
            let column = 4 * random.below(4);
            let first_lane = if rows == 4 { 31 << 16 } else { 0 };
            experiment.body = format!(
                "shr.u32 %r20, %buffer, 4;\ncvt.u64.u32 %rd9, %r20;\nadd.s64 %rd9, %rd9, {};\ntcgen05.cp.cta_group::1.{shape}{format} [%taddr+{}], %rd9;",
                layout.descriptor(),
                first_lane + column
            );
            let mut expected = experiment.cells.clone();
            for row in 0..rows {
                let mut bytes = Vec::new();
                for unit in 0..bits / 128 {
                    let (address, _) = layout.place(16, row, 16 * unit);
                    let unit = &experiment.shared[0][address..address + 16];
                    bytes.extend(match format {
                        "" => unit.to_vec(),
                        ".b8x16.b4x16_p64" => expanded(unit, 4),
                        _ => expanded(unit, 6),
                    });
                }
                for lane in lanes(row) {
                    for (index, cell) in bytes.chunks(4).enumerate() {
                        expected[0][lane * COLUMNS + column + index] =
                            u32::from_le_bytes(cell.try_into().unwrap());
                    }
                }
            }
            assert!(experiment.run() == expected, "{shape}{format}");
        }
    }
}

#[test]
fn lanes_are_shifted() {
    let mut random = Random::new(51);
    let mut experiment = Experiment::new(
        COLUMNS,
        "tcgen05.shift.cta_group::1.down [%taddr+0x400010];",
    );
    experiment.cells = vec![random.words(128 * COLUMNS)];
    let mut expected = experiment.cells.clone();
    for lane in 64..95 {
        for column in 16..24 {
            expected[0][lane * COLUMNS + column] =
                experiment.cells[0][(lane + 1) * COLUMNS + column];
        }
    }
    assert!(experiment.run() == expected);
    experiment.body = "tcgen05.shift.cta_group::1.down [%taddr+0x410010];".into();
    assert!(experiment.error().contains("multiple of 32"));
}

#[test]
fn wrong_copies_are_errors() {
    let experiment = |address: &str, descriptor: u64| {
        Experiment::new(
            COLUMNS,
            format!(
                "mov.b64 %rd9, {descriptor};\ntcgen05.cp.cta_group::1.128x128b [{address}], %rd9;"
            ),
        )
        .error()
    };
    let valid = 8u64 << 16 | 16 << 32 | 1 << 46;
    assert!(experiment("%taddr", valid ^ 1 << 46).contains("bits 46 to 48"));
    assert!(experiment("%taddr", valid | 3 << 61).contains("swizzling mode 3"));
    assert!(experiment("%taddr+0x10000", valid).contains("lane 128"));
    assert!(experiment("%taddr+510", valid).contains("column 512"));
    assert!(experiment("%taddr", valid | 0x3f00).contains("0x3f000"));
}
