//! Loads and stores of tensor memory.

use ptx_vm::Launch;

use crate::{Random, launch_with};

/// The shapes, with the registers of a thread for each repetition.
const SHAPES: [(&str, usize); 5] = [
    ("32x32b", 1),
    ("16x64b", 1),
    ("16x128b", 2),
    ("16x256b", 4),
    ("16x32bx2", 1),
];

/// The thread and its register for the element of a row and a column, as the figures of the PTX ISA manual have them.
fn owner(shape: &str, row: usize, column: usize, is_second: bool) -> (usize, usize) {
    match shape {
        "32x32b" => (row, column),
        "16x64b" => (row % 8 * 4 + column % 2 * 2 + row / 8, column / 2),
        "16x128b" => (row % 8 * 4 + column % 4, column / 4 * 2 + row / 8),
        "16x256b" => (
            row % 8 * 4 + column % 8 / 2,
            column / 8 * 4 + row / 8 * 2 + column % 2,
        ),
        _ => (row + 16 * usize::from(is_second), column),
    }
}

/// An access of each warp to its lanes.
struct Access {
    shape: &'static str,
    repetitions: usize,
    registers: usize,
    packed: bool,
    /// The first lane of each warp, 0 or 16.
    row: usize,
    column: usize,
    /// The distance of the second part.
    distance: usize,
}

const COLUMNS: usize = 512;

impl Access {
    fn random(random: &mut Random, shape: &'static str, unit: usize) -> Self {
        let packed = random.below(2) == 0;
        let most = if packed { 64 } else { 128 };
        let mut repetitions = 1 << random.below(8);
        while repetitions * unit > most {
            repetitions /= 2;
        }
        let registers = repetitions * unit;
        let mut access = Self {
            shape,
            repetitions,
            registers,
            packed,
            row: if shape == "32x32b" {
                0
            } else {
                16 * random.below(2)
            },
            column: 0,
            distance: 0,
        };
        let columns = access.columns();
        if shape == "16x32bx2" {
            access.distance = columns + random.below(8);
        }
        access.column = random.below(COLUMNS - columns - access.distance + 1);
        access
    }

    /// The columns of tensor memory of each part.
    fn columns(&self) -> usize {
        let elements = match self.shape {
            "32x32b" | "16x32bx2" => self.registers,
            _ => 2 * self.registers,
        };
        elements * if self.packed { 2 } else { 1 }
    }

    fn parts(&self) -> usize {
        if self.shape == "16x32bx2" { 2 } else { 1 }
    }

    /// Calls a function for each cell of the access of a warp: the lane and the column of tensor memory, the thread and the register, and the lowest bit
    /// there.
    fn for_each_cell(&self, mut visit: impl FnMut(usize, usize, usize, usize, usize)) {
        let rows = if self.shape == "32x32b" { 32 } else { 16 };
        let per_element = if self.packed { 2 } else { 1 };
        for part in 0..self.parts() {
            for row in 0..rows {
                for column in 0..self.columns() {
                    let (thread, register) =
                        owner(self.shape, row, column / per_element, part == 1);
                    let place = self.column + part * self.distance + column;
                    visit(
                        self.row + row,
                        place,
                        thread,
                        register,
                        column % per_element * 16,
                    );
                }
            }
        }
    }

    /// A kernel of four warps that writes `cells` to tensor memory, stores and loads registers, and reads the cells again.
    fn run(&self, cells: &[u32], registers: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let list = |name: &str, count: usize| {
            let names: Vec<String> = (0..count).map(|i| format!("%{name}{i}")).collect();
            names.join(", ")
        };
        let (values, chunk) = (list("v", self.registers), list("c", 32));
        let Self {
            shape, repetitions, ..
        } = self;
        let distance = if self.parts() == 2 {
            format!(", {}", self.distance)
        } else {
            String::new()
        };
        let (pack, unpack) = if self.packed {
            (".pack::16b", ".unpack::16b")
        } else {
            ("", "")
        };
        let mut text = format!(
            ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 data) .reqntid 128\n{{\n\
             .reg .b32 {chunk};\n.reg .b32 {all};\n.reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p;\n.shared .align 4 .b32 address;\n\
             ld.param.u64 %rd1, [data];\nmov.u32 %r0, %tid.x;\nsetp.ge.u32 %p, %r0, 32;\n@%p bra GO;\n\
             tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 512;\nGO: bar.sync 0;\nld.shared.b32 %r1, [address];\n\
             and.b32 %r2, %r0, 96;\nshl.b32 %r2, %r2, 16;\nadd.u32 %r2, %r2, %r1;\nadd.u32 %r3, %r2, {base};\n\
             mul.wide.u32 %rd2, %r0, {row};\nadd.s64 %rd2, %rd2, %rd1;\nmul.wide.u32 %rd3, %r0, 512;\nadd.s64 %rd3, %rd3, %rd1;\n",
            all = list("v", 128),
            base = self.row << 16 | self.column,
            row = 4 * COLUMNS,
        );
        let each_chunk = |text: &mut String, before: &str, after: &str, store: bool| {
            for first in (0..COLUMNS).step_by(32) {
                *text += &before.replace("FIRST", &first.to_string());
                for register in 0..32 {
                    let offset = 4 * (first + register);
                    *text += &if store {
                        format!("st.global.b32 [%rd2+{offset}], %c{register};\n")
                    } else {
                        format!("ld.global.b32 %c{register}, [%rd2+{offset}];\n")
                    };
                }
                *text += &after.replace("FIRST", &first.to_string());
            }
        };
        let store = format!("tcgen05.st.sync.aligned.32x32b.x32.b32 [%r2+FIRST], {{{chunk}}};\n");
        let load = format!(
            "tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{chunk}}}, [%r2+FIRST];\ntcgen05.wait::ld.sync.aligned;\n"
        );
        each_chunk(&mut text, "", &store, false);
        text += "tcgen05.wait::st.sync.aligned;\n";
        let first_register = 4 * 128 * COLUMNS;
        text += &format!(
            "tcgen05.ld.sync.aligned.{shape}.x{repetitions}{pack}.b32 {{{values}}}, [%r3]{distance};\ntcgen05.wait::ld.sync.aligned;\n"
        );
        for register in 0..self.registers {
            let offset = first_register + 4 * register;
            text += &format!(
                "ld.global.b32 %r4, [%rd3+{offset}];\nst.global.b32 [%rd3+{offset}], %v{register};\nmov.b32 %v{register}, %r4;\n"
            );
        }
        text += &format!(
            "tcgen05.st.sync.aligned.{shape}.x{repetitions}{unpack}.b32 [%r3]{distance}, {{{values}}};\ntcgen05.wait::st.sync.aligned;\n"
        );
        each_chunk(&mut text, &load, "", true);
        text += "bar.sync 0;\n@%p bra END;\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 512;\nEND: ret;\n}\n";
        let bytes: Vec<u8> = cells
            .iter()
            .chain(registers)
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let bytes = launch_with(&text, &bytes, Launch::new("k").shape(1, 128)).unwrap();
        let words: Vec<u32> = bytes
            .chunks(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
            .collect();
        let (cells, registers) = words.split_at(128 * COLUMNS);
        (cells.to_vec(), registers.to_vec())
    }
}

#[test]
fn fragments_of_all_shapes() {
    let mut random = Random::new(10);
    for (shape, unit) in SHAPES {
        for _ in 0..4 {
            let access = Access::random(&mut random, shape, unit);
            let cells = random.words(128 * COLUMNS);
            let registers = random.words(128 * 128);
            let (mut expected_cells, mut expected_registers) = (cells.clone(), registers.clone());
            for warp in 0..4 {
                for thread in 0..32 {
                    let first = (warp * 32 + thread) * 128;
                    expected_registers[first..first + access.registers].fill(0);
                }
                access.for_each_cell(|lane, column, thread, register, bit| {
                    let cell = (warp * 32 + lane) * COLUMNS + column;
                    let register = (warp * 32 + thread) * 128 + register;
                    if access.packed {
                        expected_registers[register] |= (cells[cell] & 0xffff) << bit;
                        expected_cells[cell] = registers[register] >> bit & 0xffff;
                    } else {
                        expected_registers[register] = cells[cell];
                        expected_cells[cell] = registers[register];
                    }
                });
            }
            let (found_cells, found_registers) = access.run(&cells, &registers);
            let what = format!("{shape}.x{} {}", access.repetitions, access.packed);
            assert!(found_registers == expected_registers, "registers of {what}");
            assert!(found_cells == expected_cells, "cells of {what}");
        }
    }
}

/// The tables of `ptxkit explain --fragments` are the places with which runs are compared above.
#[test]
fn shown_fragments_of_all_shapes() {
    for (shape, unit) in SHAPES {
        for repetitions in [1, 2, 4, 8, 16, 32, 64, 128] {
            if repetitions * unit > 128 {
                continue;
            }
            for opcode in ["ld", "st"] {
                let parts = if shape == "16x32bx2" { 2 } else { 1 };
                let name = format!("tcgen05.{opcode}.sync.aligned.{shape}.x{repetitions}.b32");
                let shown = ptx_report::fragments::find(&name).unwrap();
                assert_eq!(shown.matrices.len(), parts, "{name}");
                for (part, matrix) in shown.matrices.iter().enumerate() {
                    assert_eq!(matrix.registers, repetitions * unit, "{name}");
                    for (row, places) in matrix.places.iter().enumerate() {
                        for (column, place) in places.iter().enumerate() {
                            let expected = owner(shape, row, column, part == 1);
                            assert_eq!((place.lane, place.register), expected, "{name}");
                        }
                    }
                }
            }
        }
    }
}

/// Runs instructions of one warp on 32 columns of tensor memory that contain `words` in each lane, with results in `%v0` to `%v3`.
fn run(target: &str, words: [u32; 4], body: &str) -> Result<[u32; 4], String> {
    let text = format!(
        ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 data) .reqntid 64\n{{\n\
         .reg .b32 %v<8>; .reg .f32 %f<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p;\n.shared .align 4 .b32 address;\n\
         ld.param.u64 %rd1, [data];\nmov.u32 %r0, %tid.x;\nsetp.ge.u32 %p, %r0, 32;\n@%p bra END;\n\
         tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;\nld.shared.b32 %r1, [address];\n\
         ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%rd1];\n\
         tcgen05.st.sync.aligned.32x32b.x4.b32 [%r1], {{%v0, %v1, %v2, %v3}};\ntcgen05.wait::st.sync.aligned;\n{body}\n\
         st.global.v4.b32 [%rd1], {{%v0, %v1, %v2, %v3}};\n\
         tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;\nEND: ret;\n}}\n"
    );
    let bytes = words.map(u32::to_le_bytes).concat();
    let bytes = launch_with(&text, &bytes, Launch::new("k").shape(1, 64))
        .map_err(|error| error.to_string())?;
    let word =
        |index: usize| u32::from_le_bytes(bytes[4 * index..4 * index + 4].try_into().unwrap());
    Ok(core::array::from_fn(word))
}

#[test]
fn loads_combine_what_a_thread_loads() {
    let combined = |words: [u32; 4], operation: &str| {
        let body = format!(
            "tcgen05.ld.red.sync.aligned.32x32b.x4.{operation} {{%v0, %v1, %v2, %v3}}, %r5, [%r1];\ntcgen05.wait::ld.sync.aligned;\nmov.b32 %v0, %r5;"
        );
        let found = run("sm_103a", words, &body).unwrap();
        assert_eq!(found[1..], words[1..]);
        found[0]
    };
    let words = [5, u32::MAX, 7, 2];
    assert_eq!(combined(words, "min.u32"), 2);
    assert_eq!(combined(words, "max.u32"), u32::MAX);
    assert_eq!(combined(words, "min.s32"), u32::MAX);
    assert_eq!(combined(words, "max.s32"), 7);
    let numbers = [1.5f32, -8.0, 0.25, 3.0].map(f32::to_bits);
    assert_eq!(combined(numbers, "max.f32"), 3f32.to_bits());
    assert_eq!(combined(numbers, "min.f32"), (-8f32).to_bits());
    assert_eq!(combined(numbers, "max.abs.f32"), 8f32.to_bits());
    let with_nan = [1.5f32, f32::NAN, 0.25, 3.0].map(f32::to_bits);
    assert_eq!(combined(with_nan, "max.f32"), 3f32.to_bits());
    assert_eq!(combined(with_nan, "max.NaN.f32"), 0x7fff_ffff);
}

#[test]
fn accesses_outside_of_the_lanes_of_a_warp_or_of_allocated_columns_are_errors() {
    let load = |address: &str| {
        let body =
            format!("tcgen05.ld.sync.aligned.32x32b.x4.b32 {{%v0, %v1, %v2, %v3}}, [{address}];");
        run("sm_100a", [1, 2, 3, 4], &body)
    };
    assert_eq!(load("%r1").unwrap(), [1, 2, 3, 4]);
    assert!(load("%r1+0x200000").unwrap_err().contains("lanes 32 to 63"));
    assert!(load("%r1+0x100000").unwrap_err().contains("lanes 16 to 47"));
    assert!(load("%r1+29").unwrap_err().contains("column 32"));
    let body = "mad.lo.u32 %r2, %r0, 1, %r1;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {%v0}, [%r2];";
    assert!(
        run("sm_100a", [0; 4], body)
            .unwrap_err()
            .contains("differs between the lanes")
    );
}
