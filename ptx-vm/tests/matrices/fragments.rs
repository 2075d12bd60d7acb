//! Fragments whose layout is unspecified: `wmma` loads, multiplies and stores.

use crate::element::*;
use crate::{Numbers, kernel, list, run};

/// The bytes of a matrix in memory whose rows, or columns, are further apart than they are long.
fn stored(element: Element, of: &Numbers, row_major: bool, stride: usize) -> Vec<u8> {
    let lines = if row_major {
        of.clone()
    } else {
        of.transposed()
    };
    element.bytes(&Numbers::new(lines.rows, stride, |row, column| {
        if column < lines.columns {
            lines.at(row, column)
        } else {
            1
        }
    }))
}

struct Test<'a> {
    target: &'a str,
    shape: [usize; 3],
    factor: Element,
    c: Element,
    d: Element,
    /// Registers of the factors.
    registers: [usize; 2],
    /// The name of the product without shape and types, with and without the types of the factors.
    opcode: &'a str,
    types: String,
}

fn layout(row_major: bool) -> &'static str {
    if row_major { "row" } else { "col" }
}

impl Test<'_> {
    fn name(&self) -> String {
        let [m, n, k] = self.shape;
        format!("m{m}n{n}k{k}")
    }

    /// Compares a product; `apart` is how many elements more than a row the rows are apart, and 0 leaves out the operand.
    fn compare(
        &self,
        [a_row, b_row, c_row]: [bool; 3],
        apart: usize,
        combined: impl Fn(i64, i64) -> i64,
    ) {
        let mut random = fastrand::Rng::with_seed(5);
        let [rows, columns, depth] = self.shape;
        let a = self.factor.any(&mut random, rows, depth);
        let b = self.factor.any(&mut random, depth, columns);
        let c = Element {
            most: 100,
            least: -100,
            ..self.c
        }
        .any(&mut random, rows, columns);
        let stride =
            |of: &Numbers, row_major: bool| apart + if row_major { of.columns } else { of.rows };
        let operand = |stride: usize| {
            if apart == 0 {
                String::new()
            } else {
                format!(", {stride}")
            }
        };
        let mut input = stored(self.factor, &a, a_row, stride(&a, a_row));
        let at_b = input.len();
        input.extend(stored(self.factor, &b, b_row, stride(&b, b_row)));
        let at_c = input.len();
        input.extend(stored(self.c, &c, c_row, stride(&c, c_row)));
        let register = |of: Element| match of {
            F64 => "%fd",
            F32 => "%f",
            _ => "%r",
        };
        let per_lane = |of: Element| (rows * columns * of.bits / (of.bits.max(32) * 32)).max(1);
        let (shape, ty) = (self.name(), self.factor.name);
        let factors = if self.factor == F64 { "%fd" } else { "%r" };
        let [first, second] = self.registers;
        let body = format!(
            "wmma.load.a.sync.aligned.{}.{shape}.global.{ty} {}, [%rd1]{};\n\
             wmma.load.b.sync.aligned.{}.{shape}.global.{ty} {}, [%rd1+{at_b}]{};\n\
             wmma.load.c.sync.aligned.{}.{shape}.{} {}, [%rd1+{at_c}]{};\n\
             {}.sync.aligned.{}.{}.{shape}.{} {}, {}, {}, {};\n\
             wmma.store.d.sync.aligned.{}.{shape}.global.{} [%rd2], {}{};\n",
            layout(a_row),
            list(factors, 0, first),
            operand(stride(&a, a_row)),
            layout(b_row),
            list(factors, 8, second),
            operand(stride(&b, b_row)),
            layout(c_row),
            self.c.name,
            list(register(self.c), 16, per_lane(self.c)),
            operand(stride(&c, c_row)),
            self.opcode,
            layout(a_row),
            layout(b_row),
            self.types,
            list(register(self.d), 24, per_lane(self.d)),
            list(factors, 0, first),
            list(factors, 8, second),
            list(register(self.c), 16, per_lane(self.c)),
            layout(c_row),
            self.d.name,
            list(register(self.d), 24, per_lane(self.d)),
            operand(stride(&c, c_row)),
        );
        let lines = if c_row {
            [rows, columns]
        } else {
            [columns, rows]
        };
        let bytes = lines[0] * (lines[1] + apart) * self.d.bits / 8;
        let found = run(&kernel(self.target, "", &body), &input, bytes).unwrap();
        let found = self.d.read(lines[0], lines[1] + apart, &found);
        let found = Numbers::new(lines[0], lines[1], |row, column| found.at(row, column));
        let found = if c_row { found } else { found.transposed() };
        let expected = Numbers::new(rows, columns, |row, column| {
            let products = (0..depth).map(|k| combined(a.at(row, k), b.at(k, column)));
            products.sum::<i64>() + c.at(row, column)
        });
        assert_eq!(
            found, expected,
            "{shape} {ty} {a_row} {b_row} {c_row} {apart}"
        );
    }

    fn all(&self) {
        for layouts in 0..8 {
            let layouts = [layouts & 1 == 0, layouts & 2 == 0, layouts & 4 == 0];
            self.compare(layouts, 0, |a, b| a * b);
            self.compare(layouts, 16, |a, b| a * b);
        }
    }
}

const SHAPES: [[usize; 3]; 3] = [[16, 16, 16], [8, 32, 16], [32, 8, 16]];

#[test]
fn half_precision() {
    for shape in SHAPES {
        for (c, d) in [(F16, F16), (F16, F32), (F32, F16), (F32, F32)] {
            for target in ["sm_75", "sm_80"] {
                let types = format!("{}.{}", d.name, c.name);
                Test {
                    target,
                    shape,
                    factor: F16,
                    c,
                    d,
                    registers: [8, 8],
                    opcode: "wmma.mma",
                    types,
                }
                .all();
            }
        }
    }
}

#[test]
fn other_numbers() {
    for (shape, registers) in SHAPES.into_iter().zip([[4, 4], [2, 8], [8, 2]]) {
        let types = "f32.bf16.bf16.f32".to_string();
        Test {
            target: "sm_80",
            shape,
            factor: BF16,
            c: F32,
            d: F32,
            registers,
            opcode: "wmma.mma",
            types,
        }
        .all();
    }
    let types = "f32.tf32.tf32.f32".to_string();
    Test {
        target: "sm_80",
        shape: [16, 16, 8],
        factor: TF32,
        c: F32,
        d: F32,
        registers: [4, 4],
        opcode: "wmma.mma",
        types,
    }
    .all();
    let types = "f64.f64.f64.f64".to_string();
    Test {
        target: "sm_80",
        shape: [8, 8, 4],
        factor: F64,
        c: F64,
        d: F64,
        registers: [1, 1],
        opcode: "wmma.mma",
        types,
    }
    .all();
}

#[test]
fn integers() {
    for (shape, registers) in SHAPES.into_iter().zip([[2, 2], [1, 4], [4, 1]]) {
        for factor in [S8, U8] {
            let types = format!("s32.{0}.{0}.s32", factor.name);
            Test {
                target: "sm_75",
                shape,
                factor,
                c: S32,
                d: S32,
                registers,
                opcode: "wmma.mma",
                types,
            }
            .all();
        }
    }
}

/// Factors of less than 8 bits have one layout each.
#[test]
fn factors_of_few_bits() {
    for apart in [0, 32] {
        for c_row in [true, false] {
            for factor in [S4, U4] {
                let types = format!("s32.{0}.{0}.s32", factor.name);
                let test = Test {
                    target: "sm_75",
                    shape: [8, 8, 32],
                    factor,
                    c: S32,
                    d: S32,
                    registers: [1, 1],
                    opcode: "wmma.mma",
                    types,
                };
                test.compare([true, false, c_row], apart, |a, b| a * b);
            }
        }
    }
    for apart in [0, 128] {
        for (opcode, combined) in [
            ("wmma.mma.xor.popc", (|a, b| a ^ b) as fn(i64, i64) -> i64),
            ("wmma.mma.and.popc", |a, b| a & b),
        ] {
            let types = "s32.b1.b1.s32".to_string();
            let test = Test {
                target: "sm_80",
                shape: [8, 8, 128],
                factor: B1,
                c: S32,
                d: S32,
                registers: [1, 1],
                opcode,
                types,
            };
            test.compare([true, false, true], apart, combined);
        }
    }
}
