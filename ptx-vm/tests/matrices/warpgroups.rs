//! Products of warpgroups with factors in shared memory, where the canonical layouts of PTX ISA manual 9.7.15.5.1.10 have their elements.

use crate::element::*;
use crate::{Numbers, list, run_threads, sparse};
use ptx_vm::{Launch, Machine};

/// A factor in shared memory: the rows of the first one or the columns of the second one, each with the elements that are multiplied.
#[derive(Copy, Clone, Debug)]
struct Tile {
    bits: usize,
    /// As in a descriptor: none, 128, 64 and 32 bytes.
    swizzle: usize,
    transposed: bool,
    start: usize,
    leading: usize,
    stride: usize,
    base: usize,
}

impl Tile {
    /// Any layout of `lines` lines of `depth` elements without overlaps, from an address on.
    fn any(
        random: &mut fastrand::Rng,
        bits: usize,
        [lines, depth]: [usize; 2],
        transposed: bool,
        from: usize,
    ) -> Self {
        // A sparse product needs 64 bytes of each column.
        let wide = depth * bits / 8 > 32 && !transposed;
        let swizzle = random.usize(0..if wide { 3 } else { 4 });
        let row = [16, 128, 64, 32][swizzle];
        let per_unit = 128 / bits;
        let gap = |random: &mut fastrand::Rng, step: usize| random.usize(0..3) * step;
        let base = match swizzle {
            0 => 0,
            _ => random.usize(0..row / 16),
        };
        let mut tile = Self {
            bits,
            swizzle,
            transposed,
            start: from.next_multiple_of(1024) + base * 128,
            leading: 16 * random.usize(0..1000),
            stride: 0,
            base,
        };
        // The distances of the repeated parts along both dimensions, the larger one after all parts along the other one.
        let atom = 8 * row;
        let step = if swizzle == 0 { 16 } else { atom };
        let (along_line, across) = match transposed {
            false => ((depth / per_unit).max(1), lines / 8),
            true => (lines.div_ceil(per_unit * row / 16), depth / 8),
        };
        let inner = atom + gap(random, step);
        if !transposed && swizzle != 0 {
            tile.stride = inner;
            let places = row / (depth * bits / 8).min(row);
            tile.start += random.usize(0..places) * (row / places);
            return tile;
        }
        let (first, second) = match random.bool() {
            true => (inner, along_line * inner + gap(random, step)),
            false => (across * inner + gap(random, step), inner),
        };
        // Without swizzling, transposed matrices have the distances the other way round.
        (tile.leading, tile.stride) = match (transposed, swizzle) {
            (true, 0) => (second, first),
            _ => (first, second),
        };
        tile
    }

    /// The bit of an element, as the PTX ISA manual defines it.
    fn bit(&self, line: usize, k: usize) -> usize {
        let t = 128 / self.bits;
        let s = [1, 8, 4, 2][self.swizzle];
        let (byte, element) = match (self.transposed, self.swizzle) {
            (true, 0) => (
                line / t * self.stride + k % 8 * 16 + k / 8 * self.leading,
                line % t,
            ),
            (true, _) => (
                line / t % s * 16
                    + line / t / s * self.leading
                    + k % 8 * s * 16
                    + k / 8 * self.stride,
                line % t,
            ),
            (false, 0) => (
                line % 8 * 16 + line / 8 * self.stride + k / t * self.leading,
                k % t,
            ),
            (false, _) => (
                line % 8 * s * 16 + line / 8 * self.stride + k / t * 16,
                k % t,
            ),
        };
        let address = self.start + byte;
        let (line, chunk) = ((address / 128).wrapping_sub(self.base), address / 16 % 8);
        let address = address / 128 * 128 + (chunk ^ line & (s - 1)) * 16 + address % 16;
        address * 8 + element * self.bits
    }

    /// Writes a matrix to an image of shared memory.
    fn write(&self, of: Element, matrix: &Numbers, memory: &mut Vec<u8>) {
        for line in 0..matrix.rows {
            for k in 0..matrix.columns {
                let code = of.encode(matrix.at(line, k));
                let first = self.bit(line, k);
                memory.resize(memory.len().max((first + self.bits).div_ceil(8)), 0x55);
                for bit in 0..self.bits {
                    let (byte, shift) = ((first + bit) / 8, (first + bit) % 8);
                    memory[byte] &= !(1 << shift);
                    memory[byte] |= ((code >> bit & 1) as u8) << shift;
                }
            }
        }
    }

    /// Puts the descriptor in a register; shared memory starts at `memory`.
    fn descriptor(&self, register: &str) -> String {
        let constant = (self.leading as u64 >> 4 & 0x3fff) << 16
            | (self.stride as u64 >> 4 & 0x3fff) << 32
            | (self.base as u64) << 49
            | (self.swizzle as u64) << 62;
        format!(
            "mov.u32 %r60, memory;\nadd.u32 %r60, %r60, {};\nand.b32 %r60, %r60, 0x3ffff;\nshr.u32 %r60, %r60, 4;\n\
             cvt.u64.u32 {register}, %r60;\nor.b64 {register}, {register}, {constant:#x};\n",
            self.start
        )
    }
}

/// The place of the first factor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum First {
    Registers,
    Shared,
    Transposed,
}

/// A product of a warpgroup.
#[derive(Copy, Clone, Debug)]
struct Product {
    types: [Element; 3],
    width: usize,
    depth: usize,
    first: First,
    second_transposed: bool,
    /// The selector of a sparse product.
    selector: Option<usize>,
    negated: [bool; 2],
    accumulates: bool,
    modifier: &'static str,
}

/// Loads words of the thread from an offset of the input.
fn load(register: &str, count: usize, offset: usize) -> String {
    let mut text = format!(
        "mul.lo.u32 %r60, %t, {};\ncvt.u64.u32 %rd9, %r60;\nadd.s64 %rd9, %rd9, %rd1;\n",
        4 * count
    );
    for n in 0..count {
        text += &format!("ld.global.b32 {register}{n}, [%rd9+{}];\n", offset + 4 * n);
    }
    text
}

/// The words of all threads for matrix elements, each of which has a thread, a register and an index in it.
fn words(
    registers: usize,
    of: Element,
    matrix: &Numbers,
    place: impl Fn(usize, usize) -> [usize; 3],
) -> Vec<u8> {
    let mut words = vec![0u32; 128 * registers];
    for row in 0..matrix.rows {
        for column in 0..matrix.columns {
            let [thread, register, index] = place(row, column);
            let code = of.encode(matrix.at(row, column)) as u32;
            words[thread * registers + register] |= code << (index * of.bits);
        }
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The thread, register and index of an element of the first factor.
fn place_of_factor(bits: usize, row: usize, k: usize) -> [usize; 3] {
    let elements = 32 / bits;
    let word = k / elements;
    let lane = row % 8 * 4 + word % 4;
    [
        row / 16 * 32 + lane,
        word / 4 * 2 + row % 16 / 8,
        k % elements,
    ]
}

/// The thread, register and index of an element of the result.
fn place_of_result(bits: usize, row: usize, column: usize) -> [usize; 3] {
    let element = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
    let elements = 32 / bits;
    let lane = row % 8 * 4 + column % 8 / 2;
    [row / 16 * 32 + lane, element / elements, element % elements]
}

/// The first factor: what is stored, the matrix, and the metadata of the threads.
fn first_factor(random: &mut fastrand::Rng, product: &Product) -> (Numbers, Numbers, Vec<u8>) {
    let [of, ..] = product.types;
    let Some(selector) = product.selector else {
        let matrix = of.any(random, 64, product.depth);
        return (matrix.clone(), matrix, Vec::new());
    };
    let parts: Vec<sparse::Sparse> = (0..4)
        .map(|_| sparse::any(random, of, product.depth, selector))
        .collect();
    let stacked = |part: fn(&sparse::Sparse) -> &Numbers| {
        Numbers::new(64, part(&parts[0]).columns, |row, column| {
            part(&parts[row / 16]).at(row % 16, column)
        })
    };
    let metadata = parts.iter().flat_map(sparse::Sparse::metadata).collect();
    (stacked(|p| &p.stored), stacked(|p| &p.whole), metadata)
}

impl Product {
    fn mnemonic(&self) -> String {
        let Self {
            types: [a, b, c],
            width,
            depth,
            ..
        } = self;
        let sparse = self.selector.map_or("", |_| ".sp");
        let (saturates, after) = match self.modifier {
            ".satfinite" => (".satfinite", ""),
            other => ("", other),
        };
        format!(
            "wgmma.mma_async{sparse}.sync.aligned.m64n{width}k{depth}{saturates}.{}.{}.{}{after}",
            c.name, a.name, b.name
        )
    }

    /// The operands after the factors.
    fn modes(&self) -> String {
        let [a, _, _] = self.types;
        let mut text = String::new();
        if let Some(selector) = self.selector {
            text += &format!(", %m0, {selector}");
        }
        text += ", %p1";
        if a.float.is_some() {
            let [a, b] = self.negated.map(|negated| if negated { -1 } else { 1 });
            text += &format!(", {a}, {b}");
        }
        if a.bits == 16 {
            if self.first != First::Registers {
                text += &format!(", {}", u8::from(self.first == First::Transposed));
            }
            text += &format!(", {}", u8::from(self.second_transposed));
        }
        text
    }

    /// The text of the kernel.
    fn kernel(&self, tiles: [Tile; 2], shared: usize, offsets: [usize; 3]) -> String {
        let [_, _, c] = self.types;
        let registers = self.width * c.bits / 64;
        let ty = if c == F32 { "f32" } else { "b32" };
        let [at_a, at_c, at_metadata] = offsets;
        let mut body = load("%c", registers, at_c) + &load("%m", 1, at_metadata);
        if self.first == First::Registers {
            body += &load("%a", 4, at_a);
        } else {
            body += &tiles[0].descriptor("%rd3");
        }
        body += &tiles[1].descriptor("%rd4");
        let factor = match self.first {
            First::Registers => list("%a", 0, 4),
            _ => "%rd3".into(),
        };
        body += &format!(
            "setp.{}.u32 %p1, %t, %t;\nwgmma.fence.sync.aligned;\n{} {}, {factor}, %rd4{};\n\
             wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
             mul.lo.u32 %r60, %t, {};\ncvt.u64.u32 %rd9, %r60;\nadd.s64 %rd9, %rd9, %rd2;\n",
            if self.accumulates { "eq" } else { "ne" },
            self.mnemonic(),
            list("%c", 0, registers),
            self.modes(),
            4 * registers,
        );
        for n in 0..registers {
            body += &format!("st.global.{ty} [%rd9+{}], %c{n};\n", 4 * n);
        }
        format!(
            ".version 8.8\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 memory[];\n\
             .visible .entry k(.param .u64 input, .param .u64 output)\n{{\n\
             .reg .pred %p<4>;\n.reg .b32 %t, %r<64>, %a<4>, %m<1>;\n.reg .{ty} %c<{registers}>;\n.reg .b64 %rd<16>;\n\
             ld.param.u64 %rd1, [input];\nld.param.u64 %rd2, [output];\nmov.u32 %t, %tid.x;\n\
             shl.b32 %r40, %t, 2;\nCOPY: setp.ge.u32 %p1, %r40, {shared};\n@%p1 bra COPIED;\n\
             cvt.u64.u32 %rd10, %r40;\nadd.s64 %rd10, %rd10, %rd1;\nld.global.b32 %r41, [%rd10];\n\
             mov.u32 %r42, memory;\nadd.u32 %r42, %r42, %r40;\nst.shared.b32 [%r42], %r41;\n\
             add.u32 %r40, %r40, 512;\nbra COPY;\nCOPIED: fence.proxy.async;\nbar.sync 0;\n{body}ret;\n}}\n"
        )
    }

    /// Compares a product of any matrices in any layouts.
    fn compare(&self, random: &mut fastrand::Rng) {
        let [a, b, c] = self.types;
        let (stored, whole, metadata) = first_factor(random, self);
        let second = b.any(random, self.depth, self.width);
        let most = if self.modifier == ".satfinite" {
            i64::from(i32::MAX)
        } else {
            100
        };
        let addend = Element {
            most,
            least: -most,
            ..c
        }
        .any(random, 64, self.width);
        let mut memory = Vec::new();
        let size = [64, stored.columns];
        let transposed = self.first == First::Transposed;
        let first = Tile::any(random, a.bits, size, transposed, 0);
        if self.first != First::Registers {
            first.write(a, &stored, &mut memory);
        }
        let size = [self.width, self.depth];
        let tile = Tile::any(random, b.bits, size, self.second_transposed, memory.len());
        tile.write(b, &second.transposed(), &mut memory);
        let shared = memory.len().next_multiple_of(4);
        let mut input = memory;
        input.resize(shared, 0);
        let at_a = input.len();
        if self.first == First::Registers {
            input.extend(words(4, a, &stored, |row, k| {
                place_of_factor(a.bits, row, k)
            }));
        }
        let at_c = input.len();
        let registers = self.width * c.bits / 64;
        let place = |row, column| place_of_result(c.bits, row, column);
        input.extend(words(registers, c, &addend, place));
        let at_metadata = input.len();
        input.extend(metadata);
        input.resize(input.len().max(at_metadata + 512), 0);
        let text = self.kernel([first, tile], shared, [at_a, at_c, at_metadata]);
        let output = run_threads(&text, [128, shared], &input, 512 * registers).unwrap();
        let found = Numbers::new(64, self.width, |row, column| {
            let [thread, register, index] = place(row, column);
            let at = 4 * (thread * registers + register);
            let word = u32::from_le_bytes(output[at..at + 4].try_into().unwrap());
            c.decode(u64::from(word) >> (index * c.bits) & (u64::MAX >> (64 - c.bits)))
        });
        let sign = if self.negated[0] == self.negated[1] {
            1
        } else {
            -1
        };
        let addend_sign = i64::from(self.accumulates);
        let expected = Numbers::new(64, self.width, |row, column| {
            let products = (0..self.depth).map(|k| whole.at(row, k) * second.at(k, column));
            let sum = sign * products.sum::<i64>() + addend_sign * addend.at(row, column);
            match self.modifier {
                ".satfinite" => sum.clamp(i32::MIN.into(), i32::MAX.into()),
                _ => sum,
            }
        });
        assert_eq!(found, expected, "{self:?} {first:?} {tile:?}");
    }
}

/// Compares products of some widths with all places and orders of the factors.
fn compare(types: [Element; 3], depth: usize, selectors: usize, modifier: &'static str) {
    let mut random = fastrand::Rng::with_seed(depth as u64);
    let [a, _, _] = types;
    let orders = if a.bits == 16 {
        &[false, true][..]
    } else {
        &[false]
    };
    let firsts = match a.bits {
        16 => &[First::Registers, First::Shared, First::Transposed][..],
        _ => &[First::Registers, First::Shared],
    };
    let sparse = (0..selectors).map(Some);
    for selector in sparse.chain([None]) {
        for &first in firsts {
            for &second_transposed in orders {
                let step = if a.float.is_none() { 2 } else { 1 };
                let width = 8 * match random.usize(0..3) {
                    0 => random.usize(1..=3),
                    _ => random.usize(1..=32 / step) * step,
                };
                Product {
                    types,
                    width,
                    depth: if selector.is_some() { 2 * depth } else { depth },
                    first,
                    second_transposed,
                    selector,
                    negated: [
                        a.float.is_some() && random.bool(),
                        a.float.is_some() && random.bool(),
                    ],
                    accumulates: random.bool(),
                    modifier,
                }
                .compare(&mut random);
            }
        }
    }
}

#[test]
fn half_precision() {
    compare([F16, F16, F16], 16, 2, "");
    compare([F16, F16, F32], 16, 2, "");
    compare([BF16, BF16, F32], 16, 2, "");
}

#[test]
fn single_precision() {
    compare([TF32, TF32, F32], 8, 2, "");
}

#[test]
fn factors_of_8_bits() {
    for a in [E4M3, E5M2] {
        for b in [E4M3, E5M2] {
            for c in [F16, F32] {
                compare([a, b, c], 32, 1, "");
            }
        }
    }
}

#[test]
fn integers() {
    for a in [S8, U8] {
        for b in [S8, U8] {
            compare([a, b, S32], 32, 1, "");
            compare([a, b, S32], 32, 1, ".satfinite");
        }
    }
}

#[test]
fn bits() {
    for _ in 0..4 {
        compare([B1, B1, S32], 256, 0, ".and.popc");
    }
}

#[test]
fn all_widths() {
    let mut random = fastrand::Rng::with_seed(3);
    for width in 1..=32 {
        let product = Product {
            types: [BF16, BF16, F32],
            width: 8 * width,
            depth: 16,
            first: [First::Registers, First::Shared, First::Transposed][width % 3],
            second_transposed: width % 2 == 1,
            selector: None,
            negated: [false; 2],
            accumulates: true,
            modifier: "",
        };
        product.compare(&mut random);
    }
}

/// The error of a product with a descriptor that instructions compute in `%rd4`.
fn error(threads: usize, descriptor: &str) -> String {
    let text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.shared .align 1024 .b8 memory[4096];\n\
         .visible .entry k(.param .u64 input, .param .u64 output)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %t;\n.reg .f32 %c<4>;\n.reg .b64 %rd<16>;\n\
         mov.u32 %t, %tid.x;\nsetp.ne.u32 %p1, %t, %t;\nmov.b64 %rd3, 0;\nmov.b64 %rd4, 0x800080000;\n{descriptor}\n\
         wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {}, %rd3, %rd4, %p1, 1, 1, 0, 0;\nret;\n}}\n",
        list("%c", 0, 4)
    );
    let parsed = ptx_parse::parse_str(&text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let launch = Launch::new("k")
        .shape(1, threads as u32)
        .argument(0u64.to_le_bytes())
        .argument(0u64.to_le_bytes());
    let error = Machine::new(&parsed.module).launch(&launch).unwrap_err();
    error.reason.to_string()
}

#[test]
fn operands_that_are_not_valid_end_the_run() {
    assert_eq!(
        error(128, "cvt.u64.u32 %rd4, %t;\nshr.u64 %rd4, %rd4, 3;"),
        "the matrix descriptor must be the same in all lanes: it is 0x0 in lane 0 and 0x1 in lane 8"
    );
    assert_eq!(
        error(128, "setp.eq.u32 %p1, %t, 33;"),
        "the predicate must be the same in all lanes: it is 0x0 in lane 0 and 0x1 in lane 1"
    );
    assert_eq!(
        error(160, ""),
        "the warpgroup has 32 threads, since the CTA ends; it must have 128"
    );
    assert_eq!(
        error(128, "mov.b64 %rd4, 0x8000800ff;"),
        "address 0x1070 is out of bounds"
    );
    assert_eq!(
        error(
            128,
            "setp.lt.u32 %p2, %t, 96;\n@%p2 bra L;\nret;\nL: mov.b64 %rd4, 0x800000100;"
        ),
        "address 0x1000 is out of bounds"
    );
    assert_eq!(
        error(128, "setp.eq.u32 %p2, %t, 7;\n@%p2 exit;"),
        "the warp does not have 32 threads"
    );
}
