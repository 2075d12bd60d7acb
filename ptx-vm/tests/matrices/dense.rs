//! Products of dense matrices, whose fragments `ldmatrix` loads: its rows are 16 bytes whatever the elements are.

use crate::element::*;
use crate::{Numbers, copy_in, kernel, list, run};

/// A product.
pub(crate) struct Product<'a> {
    pub(crate) target: &'a str,
    /// What follows the layouts before the types.
    pub(crate) before: &'a str,
    /// What follows the types.
    pub(crate) after: &'a str,
    pub(crate) shape: [usize; 3],
    pub(crate) a: Element,
    pub(crate) b: Element,
    pub(crate) c: Element,
}

/// Loads the fragment of lines of bytes at an offset of shared memory to registers.
pub(crate) fn load_fragment(
    first: usize,
    lines: usize,
    bytes: usize,
    offset: usize,
) -> (String, usize) {
    let tiles = lines / 8 * (bytes / 16);
    // The matrices of 8 rows are numbered downwards first.
    let text = format!(
        "rem.u32 %r43, %t, {lines};\nmul.lo.u32 %r43, %r43, {bytes};\n\
         div.u32 %r44, %t, {lines};\nrem.u32 %r44, %r44, {};\nshl.b32 %r44, %r44, 4;\n\
         add.u32 %r43, %r43, %r44;\nmov.u32 %r44, memory;\nadd.u32 %r43, %r43, %r44;\n\
         ldmatrix.sync.aligned.m8n8.x{tiles}.shared.b16 {}, [%r43+{offset}];\n",
        bytes / 16,
        list("%r", first, tiles),
    );
    (text, tiles)
}

/// Loads or stores the addend or the result in the layout of the PTX ISA manual: rows of 8 columns.
pub(crate) fn move_addend(load: bool, c: Element, rows: usize, offset: usize) -> (String, usize) {
    let halves = rows / 8;
    let mut text = "shr.u32 %r43, %t, 2;\nand.b32 %r44, %t, 3;\n".to_string();
    if c == F16 {
        // Rows of 16 bytes in shared memory.
        text += "rem.u32 %r43, %t, 16;\nshl.b32 %r43, %r43, 4;\nmov.u32 %r44, memory;\nadd.u32 %r43, %r43, %r44;\n";
        let registers = list("%r", 20, halves);
        text += &match load {
            true => format!(
                "ldmatrix.sync.aligned.m8n8.x{halves}.shared.b16 {registers}, [%r43+{offset}];\n"
            ),
            false => format!(
                "stmatrix.sync.aligned.m8n8.x{halves}.shared.b16 [%r43+{offset}], {registers};\n"
            ),
        };
        return (text, halves);
    }
    let size = c.bits / 8;
    let (ty, register) = match c {
        F64 => ("f64", "%fd"),
        F32 => ("f32", "%f"),
        _ => ("b32", "%r"),
    };
    text += &format!(
        "mul.lo.u32 %r43, %r43, {};\nmul.lo.u32 %r44, %r44, {};\nadd.u32 %r43, %r43, %r44;\n\
         cvt.u64.u32 %rd9, %r43;\nadd.s64 %rd9, %rd9, {};\n",
        8 * size,
        2 * size,
        if load { "%rd1" } else { "%rd2" },
    );
    for half in 0..halves {
        let at = offset + half * 64 * size;
        let pair = list(register, 20 + 2 * half, 2);
        text += &match load {
            true => format!("ld.global.v2.{ty} {pair}, [%rd9+{at}];\n"),
            false => format!("st.global.v2.{ty} [%rd9+{at}], {pair};\n"),
        };
    }
    (text, 2 * halves)
}

/// Stores a result of binary16 to the output, a register of each lane for 8 rows.
fn store_halves(rows: usize) -> String {
    let mut text =
        "shl.b32 %r43, %t, 2;\ncvt.u64.u32 %rd9, %r43;\nadd.s64 %rd9, %rd9, %rd2;\n".to_string();
    for half in 0..rows / 8 {
        text += &format!("st.global.b32 [%rd9+{}], %r{};\n", 128 * half, 20 + half);
    }
    text
}

/// Copies bytes of shared memory to the output.
pub(crate) fn copy_out(bytes: usize, offset: usize) -> String {
    format!(
        "bar.sync 0;\nshl.b32 %r40, %t, 2;\nOUT: setp.ge.u32 %p1, %r40, {bytes};\n@%p1 bra DONE;\n\
         cvt.u64.u32 %rd10, %r40;\nadd.s64 %rd10, %rd10, %rd2;\n\
         mov.u32 %r42, memory;\nadd.u32 %r42, %r42, %r40;\nld.shared.b32 %r41, [%r42+{offset}];\n\
         st.global.b32 [%rd10], %r41;\nadd.u32 %r40, %r40, 128;\nbra OUT;\nDONE:\n"
    )
}

impl Product<'_> {
    /// The name of the instruction.
    fn mnemonic(&self, opcode: &str) -> String {
        let Self {
            before,
            after,
            a,
            b,
            c,
            ..
        } = self;
        let [m, n, k] = self.shape;
        format!(
            "{opcode}.sync.aligned.m{m}n{n}k{k}.row.col{before}.{}.{}.{}.{}{after}",
            c.name, a.name, b.name, c.name
        )
    }

    /// The result of matrices; of the first one what is stored. `operands` follow those of the matrices.
    pub(crate) fn computed(
        &self,
        [opcode, setup, operands]: [&str; 3],
        [a, b, c]: [&Numbers; 3],
        extra: &[u8],
    ) -> Numbers {
        let [rows, columns, _] = self.shape;
        let mut input = self.a.bytes(a);
        let at_b = input.len();
        input.extend(self.b.bytes(&b.transposed()));
        let at_c = input.len();
        input.extend(self.c.bytes(c));
        let at_extra = input.len();
        input.extend(extra);
        let mut body = copy_in(input.len());
        let (load, a_registers) = load_fragment(0, rows, a.columns * self.a.bits / 8, 0);
        body += &load;
        let (load, b_registers) = load_fragment(8, columns, b.rows * self.b.bits / 8, at_b);
        body += &load;
        let (load, c_registers) = move_addend(true, self.c, rows, at_c);
        body += &load;
        body += &setup.replace("EXTRA", &at_extra.to_string());
        let sum = list(
            match self.c {
                F32 => "%f",
                _ => "%r",
            },
            20,
            c_registers,
        );
        body += &format!(
            "{} {sum}, {}, {}, {sum}{operands};\n",
            self.mnemonic(opcode),
            list("%r", 0, a_registers),
            list("%r", 8, b_registers),
        );
        // Older targets cannot store matrices to shared memory.
        let through_shared = self.c == F16 && !["sm_80", "sm_89"].contains(&self.target);
        let store = match (self.c, through_shared) {
            (F16, true) => move_addend(false, F16, rows, at_c).0,
            (F16, false) => store_halves(rows),
            (c, _) => move_addend(false, c, rows, 0).0,
        };
        body += &store;
        let bytes = rows * columns * self.c.bits / 8;
        if through_shared {
            body += &copy_out(bytes, at_c);
        }
        let text = kernel(self.target, "", &body);
        self.c
            .read(rows, columns, &run(&text, &input, bytes).unwrap())
    }

    /// Compares a product of any matrices.
    fn compare(&self) {
        let mut random = fastrand::Rng::with_seed(self.shape.iter().sum::<usize>() as u64);
        let [rows, columns, depth] = self.shape;
        let a = self.a.any(&mut random, rows, depth);
        let b = self.b.any(&mut random, depth, columns);
        let c = Element {
            most: 100,
            least: -100,
            ..self.c
        }
        .any(&mut random, rows, columns);
        let found = self.computed(["mma", "", ""], [&a, &b, &c], &[]);
        assert_eq!(found, a.multiplied(&b, &c), "{}", self.mnemonic("mma"));
    }
}

fn compare(target: &str, before: &str, shape: [usize; 3], a: Element, b: Element, c: Element) {
    Product {
        target,
        before,
        after: "",
        shape,
        a,
        b,
        c,
    }
    .compare();
}

#[test]
fn half_precision() {
    for c in [F16, F32] {
        compare("sm_80", "", [16, 8, 8], F16, F16, c);
        compare("sm_80", "", [16, 8, 16], F16, F16, c);
    }
    compare("sm_80", "", [16, 8, 8], BF16, BF16, F32);
    compare("sm_80", "", [16, 8, 16], BF16, BF16, F32);
}

#[test]
fn single_precision() {
    compare("sm_80", "", [16, 8, 4], TF32, TF32, F32);
    compare("sm_80", "", [16, 8, 8], TF32, TF32, F32);
}

#[test]
fn factors_of_8_bits() {
    for a in [E4M3, E5M2] {
        for b in [E4M3, E5M2] {
            for c in [F16, F32] {
                for target in ["sm_89", "sm_90", "sm_120"] {
                    compare(target, "", [16, 8, 16], a, b, c);
                    compare(target, "", [16, 8, 32], a, b, c);
                }
            }
        }
    }
}

#[test]
fn factors_of_8_6_and_4_bits() {
    let all = [E4M3, E5M2, E3M2, E2M3, PADDED_E2M1];
    for a in all {
        for b in all {
            for c in [F16, F32] {
                compare("sm_120a", ".kind::f8f6f4", [16, 8, 32], a, b, c);
            }
        }
    }
}

#[test]
fn integers() {
    for a in [S8, U8] {
        for b in [S8, U8] {
            for shape in [[8, 8, 16], [16, 8, 16], [16, 8, 32]] {
                compare("sm_80", "", shape, a, b, S32);
                compare("sm_80", ".satfinite", shape, a, b, S32);
            }
        }
    }
    for a in [S4, U4] {
        for b in [S4, U4] {
            for shape in [[8, 8, 32], [16, 8, 32], [16, 8, 64]] {
                compare("sm_80", "", shape, a, b, S32);
            }
        }
    }
}

#[test]
fn sums_of_integers_saturate_or_wrap() {
    for (modifier, expected) in [("", -0x8000_0000 + 15), (".satfinite", 0x7fff_ffff)] {
        let product = Product {
            target: "sm_80",
            before: modifier,
            after: "",
            shape: [16, 8, 16],
            a: S8,
            b: S8,
            c: S32,
        };
        let ones = |rows, columns| Numbers::new(rows, columns, |_, _| 1);
        let c = Numbers::new(16, 8, |_, _| 0x7fff_ffff);
        let found = product.computed(["mma", "", ""], [&ones(16, 16), &ones(16, 8), &c], &[]);
        assert_eq!(found, Numbers::new(16, 8, |_, _| expected));
    }
}

#[test]
fn bits() {
    let mut random = fastrand::Rng::with_seed(1);
    for [rows, columns, depth] in [[8, 8, 128], [16, 8, 128], [16, 8, 256]] {
        for operation in ["and", "xor"] {
            let a = B1.any(&mut random, rows, depth);
            let b = B1.any(&mut random, depth, columns);
            let c = S32.any(&mut random, rows, columns);
            let after = format!(".{operation}.popc");
            let shape = [rows, columns, depth];
            let product = Product {
                target: "sm_80",
                before: "",
                after: &after,
                shape,
                a: B1,
                b: B1,
                c: S32,
            };
            let expected = Numbers::new(rows, columns, |row, column| {
                let combined = |k| match operation {
                    "and" => a.at(row, k) & b.at(k, column),
                    _ => a.at(row, k) ^ b.at(k, column),
                };
                (0..depth).map(combined).sum::<i64>() + c.at(row, column)
            });
            assert_eq!(
                product.computed(["mma", "", ""], [&a, &b, &c], &[]),
                expected
            );
        }
    }
}

/// Loads or stores numbers of 64 bits: the row or column of a lane, and every fourth element of it.
#[test]
fn double_precision() {
    let mut random = fastrand::Rng::with_seed(2);
    for ([rows, columns, depth], rounding) in [
        ([8, 8, 4], ""),
        ([16, 8, 4], ".rz"),
        ([16, 8, 8], ".rm"),
        ([16, 8, 16], ".rp"),
    ] {
        let a = F64.any(&mut random, rows, depth);
        let b = F64.any(&mut random, depth, columns);
        let c = F64.any(&mut random, rows, columns);
        let mut input = F64.bytes(&a);
        let at_b = input.len();
        input.extend(F64.bytes(&b.transposed()));
        let at_c = input.len();
        input.extend(F64.bytes(&c));
        let mut body = format!(
            "shr.u32 %r1, %t, 2;\nmul.lo.u32 %r1, %r1, {};\nand.b32 %r2, %t, 3;\nshl.b32 %r2, %r2, 3;\n\
             add.u32 %r1, %r1, %r2;\ncvt.u64.u32 %rd3, %r1;\nadd.s64 %rd3, %rd3, %rd1;\n",
            8 * depth
        );
        let halves = rows / 8;
        for n in 0..depth / 4 * halves {
            let at = n / halves * 32 + n % halves * 64 * depth;
            body += &format!("ld.global.f64 %fd{n}, [%rd3+{at}];\n");
        }
        for n in 0..depth / 4 {
            body += &format!("ld.global.f64 %fd{}, [%rd3+{}];\n", 8 + n, at_b + n * 32);
        }
        let (load, count) = move_addend(true, F64, rows, at_c);
        let (store, _) = move_addend(false, F64, rows, 0);
        let sum = list("%fd", 20, count);
        body += &format!(
            "{load}mma.sync.aligned.m{rows}n{columns}k{depth}.row.col.f64.f64.f64.f64{rounding} {sum}, {}, {}, {sum};\n{store}",
            list("%fd", 0, depth / 4 * halves),
            list("%fd", 8, depth / 4),
        );
        let text = kernel("sm_90", "", &body);
        let found = F64.read(
            rows,
            columns,
            &run(&text, &input, 8 * rows * columns).unwrap(),
        );
        assert_eq!(found, a.multiplied(&b, &c));
    }
}
