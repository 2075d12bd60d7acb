//! The places of elements that `ptxkit explain --fragments` shows are those where the machine has them: operands are filled by the tables, and the
//! result is read by them.

use ptx_report::fragments::{self, FragmentMatrix, Fragments};

use crate::element::*;
use crate::{Numbers, kernel, list, run};

/// The registers of an operand in all lanes.
struct Words {
    /// 32 or 64.
    bits: usize,
    words: Vec<[u64; 32]>,
}

impl Words {
    /// The registers that have the elements of matrices, by their tables.
    fn of(tables: &[&FragmentMatrix], element: Element, values: &[Numbers]) -> Self {
        let registers = tables.iter().map(|t| t.registers).max().unwrap_or(0);
        let mut words = vec![[0; 32]; registers];
        for (table, values) in tables.iter().zip(values) {
            for (row, places) in table.places.iter().enumerate() {
                for (column, place) in places.iter().enumerate() {
                    let code = element.encode(values.at(row, column));
                    words[place.register][place.lane] |= code << (place.index * table.bits);
                }
            }
        }
        let bits = element.bits.max(32);
        Self { bits, words }
    }

    fn bytes(&self) -> Vec<u8> {
        let words = self.words.iter().flatten();
        let of_word = |word: &u64| word.to_le_bytes()[..self.bits / 8].to_vec();
        words.flat_map(of_word).collect()
    }
}

/// The elements of a matrix in registers.
fn read(table: &FragmentMatrix, element: Element, bytes: &[u8]) -> Numbers {
    let size = element.bits.max(32) / 8;
    Numbers::new(table.rows, table.columns, |row, column| {
        let place = table.places[row][column];
        let at = (place.register * 32 + place.lane) * size;
        let word = bytes[at..at + size]
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u64::from(byte));
        let mask = u64::MAX >> (64 - table.bits);
        element.decode(word >> (place.index * table.bits) & mask)
    })
}

/// The tables of an operand, of which products of eight lanes have four.
fn tables<'f>(shown: &'f Fragments, operand: &str) -> Vec<&'f FragmentMatrix> {
    let prefix = format!("{operand} of ");
    let matrices = shown.matrices.iter();
    matrices
        .filter(|m| m.operand == operand || m.operand.starts_with(&prefix))
        .collect()
}

/// The class of registers of a type, and its type in loads and stores.
fn class(element: Element) -> (&'static str, &'static str) {
    match element.name {
        "f64" => ("%wd", "f64"),
        "f32" => ("%wf", "f32"),
        _ => ("%w", "b32"),
    }
}

/// A product with its types.
struct Shown<'a> {
    target: &'a str,
    mnemonic: String,
    factors: [Element; 2],
    c: Element,
    d: Element,
}

impl Shown<'_> {
    fn compare(&self) {
        let mut random = fastrand::Rng::with_seed(13);
        let shown = fragments::find(&self.mnemonic).unwrap();
        let [a, b, c, d, e, scale_a, scale_b] =
            ["a", "b", "c", "d", "e", "scale-a", "scale-b"].map(|operand| tables(&shown, operand));
        let small = Element {
            most: 100,
            least: -100,
            ..self.c
        };
        let mut any = |tables: &[&FragmentMatrix], element: Element| -> Vec<Numbers> {
            let of_table = |t: &&FragmentMatrix| element.any(&mut random, t.rows, t.columns);
            tables.iter().map(of_table).collect()
        };
        let (a_values, b_values) = (any(&a, self.factors[0]), any(&b, self.factors[1]));
        let c_values = any(&c, small);
        let indices = e
            .first()
            .map(|table| metadata(&mut random, table, self.factors[0]));
        let mut operands = vec![
            (self.factors[0], Words::of(&a, self.factors[0], &a_values)),
            (self.factors[1], Words::of(&b, self.factors[1], &b_values)),
            (self.c, Words::of(&c, self.c, &c_values)),
        ];
        if let Some(indices) = &indices {
            operands.push((S32, Words::of(&e, U2, std::slice::from_ref(indices))));
        }
        let mut powers = Vec::new();
        for table in scale_a.iter().chain(&scale_b) {
            let exponents = Numbers::new(table.rows, table.columns, |_, _| random.i64(0..=2));
            let code = |exponent| match self.mnemonic.ends_with("ue4m3") {
                true => (7 + exponent) << 3,
                false => 127 + exponent,
            };
            let codes = Numbers::new(table.rows, table.columns, |row, column| {
                code(exponents.at(row, column))
            });
            operands.push((S32, Words::of(&[table], U8, &[codes])));
            powers.push(exponents);
        }
        let result = self.run(
            &operands,
            d.iter().map(|table| table.registers).max().unwrap(),
        );
        for (part, table) in d.iter().enumerate() {
            let mut first = match &indices {
                Some(indices) => whole(&a_values[part], indices, self.factors[0]),
                None => a_values[part].clone(),
            };
            let mut second = b_values[part].transposed();
            if let [of_a, of_b] = &powers[..] {
                (first, second) = (scaled(&first, of_a), scaled(&second, of_b));
            }
            let expected = first.multiplied(&second.transposed(), &c_values[part]);
            assert_eq!(
                read(table, self.d, &result),
                expected,
                "{} {part}",
                self.mnemonic
            );
        }
    }

    /// The registers of the result. The operands are loaded to the lanes from memory.
    fn run(&self, operands: &[(Element, Words)], registers: usize) -> Vec<u8> {
        let (mut input, mut body, mut names) = (Vec::new(), String::new(), Vec::new());
        let mut count = 0;
        body += "mul.wide.u32 %rd3, %t, 4;\nmul.wide.u32 %rd4, %t, 8;\nadd.s64 %rd5, %rd3, %rd2;\nadd.s64 %rd6, %rd4, %rd2;\n\
            add.s64 %rd3, %rd3, %rd1;\nadd.s64 %rd4, %rd4, %rd1;\n";
        for (index, (element, words)) in operands.iter().enumerate() {
            let (class, ty) = if index < 2 && element.bits < 64 {
                ("%w", "b32")
            } else {
                class(*element)
            };
            let address = if words.bits == 64 { "%rd4" } else { "%rd3" };
            for register in 0..words.words.len() {
                let at = input.len() + register * words.bits * 4;
                body += &format!(
                    "ld.global.{ty} {class}{}, [{address}+{at}];\n",
                    count + register
                );
            }
            names.push(list(class, count, words.words.len()));
            count += words.words.len();
            input.extend(words.bytes());
        }
        let (class, ty) = class(self.d);
        let mut text = format!(
            "{} {}, {}, {}, {}",
            self.mnemonic,
            list(class, count, registers),
            names[0],
            names[1],
            names[2]
        );
        let single = |name: &String| name.trim_matches(['{', '}']).to_owned();
        let mut others = names.iter().skip(3).map(single);
        if self.mnemonic.contains(".sp") {
            text += &format!(", {}, 0x0", others.next().unwrap());
        }
        for scale in others {
            text += &format!(", {scale}, {{0, 0}}");
        }
        body += &format!("{text};\n");
        let (address, size) = if self.d.bits == 64 {
            ("%rd6", 8)
        } else {
            ("%rd5", 4)
        };
        for register in 0..registers {
            let at = register * size * 32;
            body += &format!(
                "st.global.{ty} [{address}+{at}], {class}{};\n",
                count + register
            );
        }
        let declarations = ".reg .b32 %w<64>;\n.reg .f32 %wf<64>;\n.reg .f64 %wd<64>;";
        let text = kernel(self.target, declarations, &body);
        run(&text, &input, registers * size * 32).unwrap()
    }
}

/// Two bits of metadata.
const U2: Element = Element {
    name: "u2",
    bits: 2,
    float: None,
    shift: 0,
    most: 3,
    least: 0,
};

/// Any metadata: ascending indices of each pair of units, which for elements of 32 bits are the halves of one element.
fn metadata(random: &mut fastrand::Rng, table: &FragmentMatrix, element: Element) -> Numbers {
    let mut indices = Numbers::new(table.rows, table.columns, |_, _| 0);
    for pair in indices.values.chunks_mut(2) {
        let first = random.i64(0..3);
        let chosen = match element.bits {
            32 if random.bool() => [2, 3],
            32 => [0, 1],
            _ => [first, random.i64(first + 1..4)],
        };
        pair.copy_from_slice(&chosen);
    }
    indices
}

/// The first factor whose stored elements and metadata are given.
fn whole(stored: &Numbers, indices: &Numbers, element: Element) -> Numbers {
    let mut whole = Numbers::new(stored.rows, 2 * stored.columns, |_, _| 0);
    for row in 0..stored.rows {
        for column in 0..stored.columns {
            let to = match element.bits {
                4 => column / 4 * 8 + 2 * indices.at(row, column / 2) as usize + column % 2,
                32 => column * 2 + indices.at(row, 2 * column) as usize / 2,
                _ => column / 2 * 4 + indices.at(row, column) as usize,
            };
            whole.values[row * 2 * stored.columns + to] = stored.at(row, column);
        }
    }
    whole
}

/// A matrix with each element multiplied by the power of two of its block.
fn scaled(of: &Numbers, powers: &Numbers) -> Numbers {
    Numbers::new(of.rows, of.columns, |row, column| {
        of.at(row, column) << powers.at(row, column * powers.columns / of.columns)
    })
}

fn compare(target: &str, opcode: &str, shapes: &[&str], suffix: [&str; 2], types: [Element; 4]) {
    let [d, a, b, c] = types;
    for shape in shapes {
        let [kind, after] = suffix;
        Shown {
            target,
            mnemonic: format!(
                "{opcode}.sync.aligned.{shape}.row.col{kind}.{}.{}.{}.{}{after}",
                d.name, a.name, b.name, c.name
            ),
            factors: [a, b],
            c,
            d,
        }
        .compare();
    }
}

const SPARSE: [&str; 2] = ["mma.sp", "mma.sp::ordered_metadata"];

#[test]
fn numbers_of_16_bits_and_more() {
    for c in [F16, F32] {
        compare(
            "sm_80",
            "mma",
            &["m16n8k8", "m16n8k16"],
            ["", ""],
            [c, F16, F16, c],
        );
        for opcode in SPARSE {
            compare(
                "sm_80",
                opcode,
                &["m16n8k16", "m16n8k32"],
                ["", ""],
                [c, F16, F16, c],
            );
        }
    }
    compare(
        "sm_80",
        "mma",
        &["m16n8k8", "m16n8k16"],
        ["", ""],
        [F32, BF16, BF16, F32],
    );
    compare(
        "sm_80",
        "mma",
        &["m16n8k4", "m16n8k8"],
        ["", ""],
        [F32, TF32, TF32, F32],
    );
    for opcode in SPARSE {
        compare(
            "sm_80",
            opcode,
            &["m16n8k16", "m16n8k32"],
            ["", ""],
            [F32, BF16, BF16, F32],
        );
        compare(
            "sm_80",
            opcode,
            &["m16n8k8", "m16n8k16"],
            ["", ""],
            [F32, TF32, TF32, F32],
        );
    }
    let shapes = ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"];
    compare("sm_90", "mma", &shapes, ["", ""], [F64; 4]);
}

#[test]
fn numbers_of_8_bits_and_fewer() {
    for a in [E4M3, E5M2] {
        for b in [E4M3, E5M2] {
            compare(
                "sm_89",
                "mma",
                &["m16n8k16", "m16n8k32"],
                ["", ""],
                [F32, a, b, F32],
            );
            compare(
                "sm_89",
                SPARSE[1],
                &["m16n8k64"],
                ["", ""],
                [F32, a, b, F32],
            );
        }
    }
    let formats = [E4M3, E5M2, E3M2, E2M3, PADDED_E2M1];
    for a in formats {
        for b in formats {
            for c in [F16, F32] {
                let kind = [".kind::f8f6f4", ""];
                compare("sm_120a", "mma", &["m16n8k32"], kind, [c, a, b, c]);
                compare("sm_120a", SPARSE[1], &["m16n8k64"], kind, [c, a, b, c]);
            }
            let kind = [".kind::mxf8f6f4.block_scale.scale_vec::1X", ".ue8m0"];
            compare("sm_120a", "mma", &["m16n8k32"], kind, [F32, a, b, F32]);
            compare("sm_120a", SPARSE[1], &["m16n8k64"], kind, [F32, a, b, F32]);
        }
    }
    for (kind, scale) in [
        (".kind::mxf4.block_scale.scale_vec::2X", ".ue8m0"),
        (".kind::mxf4nvf4.block_scale.scale_vec::2X", ".ue8m0"),
        (".kind::mxf4nvf4.block_scale.scale_vec::4X", ".ue4m3"),
    ] {
        compare(
            "sm_120a",
            "mma",
            &["m16n8k64"],
            [kind, scale],
            [F32, E2M1, E2M1, F32],
        );
        compare(
            "sm_120a",
            SPARSE[1],
            &["m16n8k128"],
            [kind, scale],
            [F32, E2M1, E2M1, F32],
        );
    }
}

#[test]
fn integers() {
    for a in [S8, U8] {
        for b in [S8, U8] {
            let shapes = ["m8n8k16", "m16n8k16", "m16n8k32"];
            compare("sm_80", "mma", &shapes, ["", ""], [S32, a, b, S32]);
            compare(
                "sm_80",
                SPARSE[0],
                &["m16n8k32", "m16n8k64"],
                ["", ""],
                [S32, a, b, S32],
            );
        }
    }
    for a in [S4, U4] {
        for b in [S4, U4] {
            let shapes = ["m8n8k32", "m16n8k32", "m16n8k64"];
            compare("sm_80", "mma", &shapes, ["", ""], [S32, a, b, S32]);
            compare(
                "sm_80",
                SPARSE[0],
                &["m16n8k64", "m16n8k128"],
                ["", ""],
                [S32, a, b, S32],
            );
        }
    }
}

#[test]
fn products_of_eight_lanes() {
    for layouts in ["row.row", "row.col", "col.row", "col.col"] {
        for (c, d) in [(F16, F16), (F16, F32), (F32, F32)] {
            Shown {
                target: "sm_75",
                mnemonic: format!(
                    "mma.sync.aligned.m8n8k4.{layouts}.{}.f16.f16.{}",
                    d.name, c.name
                ),
                factors: [F16; 2],
                c,
                d,
            }
            .compare();
        }
    }
}

/// Words of 32 elements of one bit.
#[test]
fn words_of_bits() {
    for shape in ["m8n8k128", "m16n8k128", "m16n8k256"] {
        let mut random = fastrand::Rng::with_seed(17);
        let word = Element {
            most: i64::from(u32::MAX),
            least: 0,
            ..S32
        };
        let shown = Shown {
            target: "sm_80",
            mnemonic: format!("mma.sync.aligned.{shape}.row.col.s32.b1.b1.s32.and.popc"),
            factors: [word; 2],
            c: S32,
            d: S32,
        };
        let shown_tables = fragments::find(&shown.mnemonic).unwrap();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|operand| tables(&shown_tables, operand)[0]);
        let a_values = word.any(&mut random, a.rows, a.columns);
        let b_values = word.any(&mut random, b.rows, b.columns);
        let c_values = S32.any(&mut random, c.rows, c.columns);
        let operands = [
            (word, Words::of(&[a], word, std::slice::from_ref(&a_values))),
            (word, Words::of(&[b], word, std::slice::from_ref(&b_values))),
            (S32, Words::of(&[c], S32, std::slice::from_ref(&c_values))),
        ];
        let result = read(d, S32, &shown.run(&operands, d.registers));
        let expected = Numbers::new(d.rows, d.columns, |row, column| {
            let common = |k| (a_values.at(row, k) & b_values.at(k, column)).count_ones();
            (0..a.columns).map(|k| i64::from(common(k))).sum::<i64>() + c_values.at(row, column)
        });
        assert_eq!(result, expected, "{shape}");
    }
}

/// A lane of a warpgroup has the registers of each eight columns one after the other, and rows as in the product of one warp.
#[test]
fn warpgroups_continue_the_products_of_warps() {
    let find = |mnemonic: &str| fragments::find(mnemonic).unwrap();
    for columns in (8..=256).step_by(8) {
        for (types, factor, warp) in [
            ("f32.f16.f16", "k16", "m16n8k16.row.col.f32.f16.f16.f32"),
            ("f16.f16.f16", "k16", "m16n8k16.row.col.f16.f16.f16.f16"),
            ("f32.e4m3.e5m2", "k32", "m16n8k32.row.col.f32.e4m3.e5m2.f32"),
            ("f32.tf32.tf32", "k8", "m16n8k8.row.col.f32.tf32.tf32.f32"),
        ] {
            let group = find(&format!(
                "wgmma.mma_async.sync.aligned.m64n{columns}{factor}.{types}"
            ));
            let warp = find(&format!("mma.sync.aligned.{warp}"));
            let table = |shown: &Fragments, operand: &str| tables(shown, operand)[0].places.clone();
            assert_eq!(table(&group, "a"), table(&warp, "a"), "{types}");
            let (d, one) = (table(&group, "d"), table(&warp, "d"));
            let registers = tables(&warp, "d")[0].registers;
            for row in 0..16 {
                for column in 0..columns {
                    let (place, first) = (d[row][column], one[row][column % 8]);
                    assert_eq!((place.lane, place.index), (first.lane, first.index));
                    assert_eq!(place.register, first.register + column / 8 * registers);
                }
            }
        }
    }
}

/// What loads of whole matrices write to registers.
#[test]
fn loads_of_whole_matrices() {
    let shapes = ["m16n16k16", "m8n32k16", "m32n8k16"];
    let mut cases: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for shape in shapes {
        for ty in ["f16", "bf16", "s8", "u8"] {
            cases.push((shape, ty, vec!["a", "b"]));
        }
        cases.push((shape, "f16", vec!["c"]));
        cases.push((shape, "f32", vec!["c"]));
        cases.push((shape, "s32", vec!["c"]));
    }
    cases.push(("m16n16k8", "tf32", vec!["a", "b"]));
    cases.push(("m16n16k8", "f32", vec!["c"]));
    cases.push(("m8n8k4", "f64", vec!["a", "b", "c"]));
    let mut random = fastrand::Rng::with_seed(19);
    for (shape, ty, operands) in cases {
        for operand in operands {
            for layout in ["row", "col"] {
                let mnemonic =
                    format!("wmma.load.{operand}.sync.aligned.{layout}.{shape}.global.{ty}");
                let shown = fragments::find(&mnemonic).unwrap();
                let table = &shown.matrices[0];
                let size = table.bits / 8;
                let input: Vec<u8> = (0..table.rows * table.columns * size)
                    .map(|_| random.u8(..))
                    .collect();
                let (class, store, bytes) = match ty {
                    "f64" => ("%wd", "f64", 8),
                    "f32" => ("%wf", "f32", 4),
                    _ => ("%w", "b32", 4),
                };
                // Some fragments have copies of their registers.
                let count = match (ty, operand) {
                    ("f16", "a" | "b") => 8,
                    _ => table.registers,
                };
                let mut body = format!(
                    "{mnemonic} {}, [%rd1];\nmul.wide.u32 %rd3, %t, {bytes};\nadd.s64 %rd3, %rd3, %rd2;\n",
                    list(class, 0, count)
                );
                for register in 0..table.registers {
                    body += &format!(
                        "st.global.{store} [%rd3+{}], {class}{register};\n",
                        register * 32 * bytes
                    );
                }
                let declarations = ".reg .b32 %w<64>;\n.reg .f32 %wf<64>;\n.reg .f64 %wd<64>;";
                let output = run(
                    &kernel("sm_80", declarations, &body),
                    &input,
                    table.registers * 32 * bytes,
                )
                .unwrap();
                for (row, places) in table.places.iter().enumerate() {
                    for (column, place) in places.iter().enumerate() {
                        let index = match layout {
                            "row" => row * table.columns + column,
                            _ => column * table.rows + row,
                        };
                        let at = (place.register * 32 + place.lane) * bytes + place.index * size;
                        assert_eq!(
                            output[at..at + size],
                            input[index * size..(index + 1) * size],
                            "{mnemonic} {row} {column}"
                        );
                    }
                }
            }
        }
    }
}

/// Loads and stores of rows with their own addresses, and transposition.
#[test]
fn rows_with_their_own_addresses() {
    let mut random = fastrand::Rng::with_seed(23);
    let input: Vec<u8> = (0..512).map(|_| random.u8(..)).collect();
    for (target, shape, counts, ty) in [
        ("sm_75", "m8n8", &[1, 2, 4][..], "b16"),
        ("sm_120a", "m16n16", &[1, 2], "b8"),
    ] {
        for count in counts {
            for trans in ["", ".trans"] {
                if ty == "b8" && trans.is_empty() {
                    continue;
                }
                let mnemonic = format!("ldmatrix.sync.aligned.{shape}.x{count}{trans}.shared.{ty}");
                let shown = fragments::find(&mnemonic).unwrap();
                let registers = shown.matrices.iter().map(|m| m.registers).max().unwrap();
                let mut body = crate::copy_in(input.len());
                body += &format!(
                    "mov.u32 %r44, memory;\nmad.lo.u32 %r44, %t, 16, %r44;\n{mnemonic} {}, [%r44];\n\
                     mul.wide.u32 %rd3, %t, 4;\nadd.s64 %rd3, %rd3, %rd2;\n",
                    list("%r", 0, registers)
                );
                for register in 0..registers {
                    body += &format!("st.global.b32 [%rd3+{}], %r{register};\n", 128 * register);
                }
                let output = run(&kernel(target, "", &body), &input, 128 * registers).unwrap();
                for table in &shown.matrices {
                    let size = table.bits / 8;
                    for (row, places) in table.places.iter().enumerate() {
                        for (column, place) in places.iter().enumerate() {
                            let (line, index) = if trans.is_empty() {
                                (row, column)
                            } else {
                                (column, row)
                            };
                            let from = 16 * table.address_lanes[line] + index * size;
                            let at = 128 * place.register + 4 * place.lane + place.index * size;
                            assert_eq!(
                                output[at..at + size],
                                input[from..from + size],
                                "{mnemonic}"
                            );
                        }
                    }
                }
            }
        }
    }
    let shown = fragments::find("movmatrix.sync.aligned.m8n8.trans.b16").unwrap();
    let [a, d] = &shown.matrices[..] else {
        panic!("two matrices");
    };
    let body = "mul.wide.u32 %rd3, %t, 4;\nadd.s64 %rd4, %rd3, %rd1;\nld.global.b32 %r0, [%rd4];\n\
        movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r0;\nadd.s64 %rd3, %rd3, %rd2;\nst.global.b32 [%rd3], %r1;\n";
    let output = run(&kernel("sm_75", "", body), &input[..128], 128).unwrap();
    for row in 0..8 {
        for column in 0..8 {
            let at = |table: &FragmentMatrix| {
                let place = table.places[row][column];
                4 * place.lane + 2 * place.index
            };
            assert_eq!(output[at(d)..at(d) + 2], input[at(a)..at(a) + 2]);
        }
    }
}
