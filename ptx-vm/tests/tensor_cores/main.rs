//! Sums of products that the tensor cores of GPUs made, one in each row of a table.
//!
//! `data/tensor-cores.tsv` has some of the rows, which were measured for the paper arXiv:2512.07004. `.ci/run` compares more of them, from the file
//! that `PTXKIT_TENSOR_ROWS` names.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

#[path = "../../src/matrix/dot.rs"]
#[allow(dead_code, unreachable_pub)]
mod dot;
#[path = "../../src/matrix/formats.rs"]
#[allow(dead_code, unreachable_pub)]
mod formats;
mod rule;

use ptx_isa::Target;
use ptx_vm::{Launch, Machine};

/// A sum.
struct Row {
    gpu: String,
    format: String,
    a: Vec<u32>,
    b: Vec<u32>,
    c: u32,
    single: Option<u32>,
    half: Option<u32>,
}

/// The rows of a table, without its first line.
fn rows(text: &str) -> Vec<Row> {
    let bits = |text: &str| u32::from_str_radix(text, 16).ok();
    let list = |text: &str| text.split(' ').map(|n| bits(n).unwrap()).collect();
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [gpu, format, a, b, c, single, half] = cells[..] else {
            panic!("{line}")
        };
        Row {
            gpu: gpu.into(),
            format: format.into(),
            a: list(a),
            b: list(b),
            c: bits(c).unwrap(),
            single: bits(single),
            half: bits(half),
        }
    };
    text.lines().skip(1).map(row).collect()
}

/// The architecture of a GPU.
fn target(gpu: &str) -> Target {
    let name = match gpu {
        "V100" => "sm_70",
        "A100" => "sm_80",
        "A2" => "sm_86",
        "Ada" | "L40S" => "sm_89",
        "H100" | "H200" => "sm_90",
        "B200" => "sm_100",
        other => panic!("{other}"),
    };
    name.parse().unwrap()
}

/// The bits of a number of binary32 in a format that has it.
fn encoded(format: &str, single: u32) -> u32 {
    let value = f32::from_bits(single);
    let (exponent, fraction) = match format {
        "fp16" => (5, 10),
        "bf16" => return single >> 16,
        "tf32" | "fp32" => return single,
        "E4M3" => (4, 3),
        "E5M2" => (5, 2),
        other => panic!("{other}"),
    };
    let bits = 1 + exponent + fraction;
    let codes = 0..1u32 << bits;
    // The formats are small, and the table is looked up by value.
    thread_local!(static CODES: std::cell::RefCell<std::collections::HashMap<(u32, u32), u32>> = Default::default());
    CODES.with_borrow_mut(|known| {
        if !known.contains_key(&(bits << 8 | fraction, 0)) {
            for code in codes {
                let (sign, field) = (code >> (bits - 1), code >> fraction & ((1 << exponent) - 1));
                let part = code & ((1 << fraction) - 1);
                let bias = (1 << (exponent - 1)) - 1;
                let (hidden, power) = match field {
                    0 => (0, 1 - bias),
                    field => (1 << fraction, field as i32 - bias),
                };
                let magnitude = (part | hidden) as f32 * ((power - fraction as i32) as f32).exp2();
                let number = if sign == 1 { -magnitude } else { magnitude };
                known
                    .entry((bits << 8 | fraction, number.to_bits()))
                    .or_insert(code);
            }
        }
        *known
            .get(&(bits << 8 | fraction, value.to_bits()))
            .unwrap_or_else(|| panic!("{format} {value}"))
    })
}

/// The number of binary16 that is nearest to one of binary32, as binary32.
fn nearest_half(single: u32) -> u32 {
    let value = f32::from_bits(single);
    let exponent = (single >> 23 & 0xff) as i32 - 127;
    let unit = ((exponent.max(-14) - 10) as f32).exp2();
    ((value / unit).round_ties_even() * unit).to_bits()
}

/// How rows of a kind are computed: the instruction, the elements of a register and how many rows at once.
struct Kind {
    mnemonic: String,
    /// Bits of an element of a factor.
    bits: usize,
    /// Products of a sum.
    depth: usize,
    /// Registers of the factors, the addend and the result.
    registers: [usize; 3],
}

fn kind(format: &str, depth: usize, half: bool) -> Kind {
    let ty = match format {
        "fp16" => "f16",
        "E4M3" => "e4m3",
        "E5M2" => "e5m2",
        other => other,
    };
    let bits = match ty {
        "f16" | "bf16" => 16,
        "tf32" => 32,
        _ => 8,
    };
    let accumulator = if half { "f16" } else { "f32" };
    let quads = (format, depth) == ("fp16", 4);
    let shape = if quads {
        "m8n8k4".into()
    } else {
        format!("m16n8k{depth}")
    };
    let each = 32 / bits;
    let registers = match quads {
        true => [2, 2, if half { 4 } else { 8 }],
        false => [depth / each / 2, depth / each / 4, if half { 2 } else { 4 }],
    };
    Kind {
        mnemonic: format!("mma.sync.aligned.{shape}.row.col.{accumulator}.{ty}.{ty}.{accumulator}"),
        bits,
        depth,
        registers,
    }
}

fn list(prefix: &str, first: usize, count: usize) -> String {
    let names: Vec<String> = (first..first + count)
        .map(|n| format!("{prefix}{n}"))
        .collect();
    format!("{{{}}}", names.join(", "))
}

/// A kernel in which each warp loads the registers of its lanes, multiplies, and stores the registers of the result.
fn kernel(kind: &Kind, half: bool) -> String {
    let [a, b, c] = kind.registers;
    let ty = if half { "b32" } else { "f32" };
    let mut body = String::new();
    for n in 0..a + b {
        body += &format!("ld.global.u32 %r{n}, [%rd2+{}];\n", 4 * n);
    }
    for n in 0..c {
        body += &format!("ld.global.{ty} %c{n}, [%rd2+{}];\n", 4 * (a + b + n));
    }
    let operands = [
        list("%c", 0, c),
        list("%r", 0, a),
        list("%r", a, b),
        list("%c", 0, c),
    ];
    body += &format!("{} {};\n", kind.mnemonic, operands.join(", "));
    for n in 0..c {
        body += &format!("st.global.{ty} [%rd2+{}], %c{n};\n", 4 * n);
    }
    format!(
        ".version 8.7\n.target sm_89\n.address_size 64\n.visible .entry k(.param .u64 data)\n{{\n\
         .reg .b32 %r<16>;\n.reg .{ty} %c<8>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [data];\nmov.u32 %r15, %ctaid.x;\nshl.b32 %r15, %r15, 5;\n\
         mov.u32 %r14, %tid.x;\nadd.u32 %r15, %r15, %r14;\nmul.wide.u32 %rd2, %r15, 64;\nadd.s64 %rd2, %rd2, %rd1;\n\
         {body}ret;\n}}\n"
    )
}

/// Where the elements of row `line` and column `line` are, as PTX ISA manual 9.7.14.5 states: lane, register and index in it.
fn places(kind: &Kind, line: usize, half: bool) -> [Vec<(usize, usize, usize)>; 3] {
    let each = 32 / kind.bits;
    if kind.mnemonic.contains("m8n8k4") {
        // The first of four products; the others are zero.
        let lane = line % 4 + line / 4 * 16;
        let factor: Vec<_> = (0..4).map(|k| (lane, k / 2, k % 2)).collect();
        let sum = match half {
            true => (lane, line / 2, line % 2),
            false => (
                (line & 1) + (line & 2) + line / 4 * 16,
                (line & 2) + (line & 4) + (line & 1),
                0,
            ),
        };
        return [factor.clone(), factor, vec![sum]];
    }
    let lane = |k: usize| line * 4 + k / each % 4;
    let a = (0..kind.depth).map(|k| (lane(k), k / (4 * each) * 2, k % each));
    let b = (0..kind.depth).map(|k| (lane(k), k / (4 * each), k % each));
    let c = match half {
        true => (line * 4 + line / 2, 0, line % 2),
        false => (line * 4 + line / 2, line % 2, 0),
    };
    [a.collect(), b.collect(), vec![c]]
}

/// The sums of rows of one GPU and format on the machine.
fn computed(rows: &[&Row], half: bool) -> Vec<u32> {
    let kind = kind(&rows[0].format, rows[0].a.len(), half);
    let [first, second, _] = kind.registers;
    let blocks = rows.len().div_ceil(8);
    let mut words = vec![0u32; blocks * 32 * 16];
    let accumulator = if half { "fp16" } else { "fp32" };
    let wide = if half { 16 } else { 32 };
    for (n, row) in rows.iter().enumerate() {
        let [a, b, c] = places(&kind, n % 8, half);
        let mut put = |(lane, register, index): (usize, usize, usize), bits: u32, shift: usize| {
            words[((n / 8) * 32 + lane) * 16 + register] |= bits << (index * shift);
        };
        for k in 0..kind.depth {
            put(a[k], encoded(&row.format, row.a[k]), kind.bits);
            let (lane, register, index) = b[k];
            put(
                (lane, first + register, index),
                encoded(&row.format, row.b[k]),
                kind.bits,
            );
        }
        let (lane, register, index) = c[0];
        put(
            (lane, first + second + register, index),
            encoded(accumulator, if half { nearest_half(row.c) } else { row.c }),
            wide,
        );
    }
    let text = kernel(&kind, half);
    let parsed = ptx_parse::parse_str(&text);
    assert!(
        parsed.diagnostics.is_empty(),
        "{:?}\n{text}",
        parsed.diagnostics
    );
    let mut machine = Machine::new(&parsed.module);
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let data = machine.allocate(bytes.len() as u64).unwrap();
    machine.write(data, &bytes).unwrap();
    let mut launch = Launch::new("k")
        .shape(blocks as u32, 32)
        .argument(data.to_le_bytes());
    launch.model = Some(target(&rows[0].gpu));
    machine.launch(&launch).unwrap();
    let bytes = machine.read(data, bytes.len()).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[4 * at..][..4].try_into().unwrap());
    let sums = (0..rows.len()).map(|n| {
        let (lane, register, index) = places(&kind, n % 8, half)[2][0];
        let bits = word(((n / 8) * 32 + lane) * 16 + register) >> (index * wide);
        if half { bits & 0xffff } else { bits }
    });
    sums.collect()
}

/// A kernel in which each warpgroup multiplies 8 rows of its first factor, in registers, with 8 columns in shared memory, without an addend.
fn kernel_of_warpgroups(format: &str) -> String {
    let ty = format.to_lowercase();
    let mut body = String::new();
    for n in 0..4 {
        body += &format!("ld.global.u32 %r{n}, [%rd2+{}];\n", 4 * n);
    }
    body += &format!(
        "ld.global.u32 %r4, [%rd2+16];\nmov.u32 %r5, columns;\nshl.b32 %r6, %r14, 2;\nadd.u32 %r6, %r6, %r5;\n\
         st.shared.u32 [%r6], %r4;\nfence.proxy.async;\nbar.sync 0;\n\
         cvt.u64.u32 %rd3, %r5;\nshr.u64 %rd3, %rd3, 4;\nor.b64 %rd3, %rd3, 0x80000;\nsetp.ne.u32 %p1, %r5, %r5;\n\
         wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k32.f32.{ty}.{ty} {}, {}, %rd3, %p1, 1, 1;\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
        list("%c", 0, 4),
        list("%r", 0, 4),
    );
    for n in 0..4 {
        body += &format!("st.global.f32 [%rd2+{}], %c{n};\n", 4 * n);
    }
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 columns[512];\n\
         .visible .entry k(.param .u64 data)\n{{\n\
         .reg .pred %p<2>;\n.reg .b32 %r<16>;\n.reg .f32 %c<4>;\n.reg .b64 %rd<4>;\n\
         ld.param.u64 %rd1, [data];\nmov.u32 %r15, %ctaid.x;\nshl.b32 %r15, %r15, 7;\n\
         mov.u32 %r14, %tid.x;\nadd.u32 %r15, %r15, %r14;\nmul.wide.u32 %rd2, %r15, 32;\nadd.s64 %rd2, %rd2, %rd1;\n\
         {body}ret;\n}}\n"
    )
}

/// The sums that warpgroups make of the products of 32 factors of 8 bits.
fn computed_by_warpgroups(rows: &[&Row]) -> Vec<u32> {
    let blocks = rows.len().div_ceil(8);
    // Each thread has 8 words: four of the first factor, and one of the columns.
    let mut words = vec![0u32; blocks * 128 * 8];
    for (n, row) in rows.iter().enumerate() {
        for k in 0..32 {
            let (word, shift) = (k / 4, k % 4 * 8);
            let thread = n / 8 * 128 + n % 8 * 4 + word % 4;
            words[thread * 8 + word / 4 * 2] |= encoded(&row.format, row.a[k]) << shift;
            // 16 bytes of each column, then the next ones.
            let thread = n / 8 * 128 + word / 4 * 32 + n % 8 * 4 + word % 4;
            words[thread * 8 + 4] |= encoded(&row.format, row.b[k]) << shift;
        }
    }
    let parsed = ptx_parse::parse_str(&kernel_of_warpgroups(&rows[0].format));
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let mut machine = Machine::new(&parsed.module);
    let data = machine.allocate(4 * words.len() as u64).unwrap();
    machine.write_slice(data, &words).unwrap();
    let launch = Launch::new("k")
        .shape(blocks as u32, 128)
        .argument(data.to_le_bytes());
    machine.launch(&launch).unwrap();
    let words: Vec<u32> = machine.read_slice(data, words.len()).unwrap();
    let sums = (0..rows.len()).map(|n| {
        let (block, line) = (n / 8, n % 8);
        words[(block * 128 + line * 4 + line / 2) * 8 + line % 2]
    });
    sums.collect()
}

/// Whether no instruction of a warp made the row: on these GPUs it is one of warpgroups. These rows were measured without the addend.
fn is_of_warp_groups(row: &Row, half: bool) -> bool {
    !half && row.format.starts_with('E') && row.gpu.starts_with('H')
}

/// Compares all rows; gives how many were compared.
fn compare(text: &str) -> usize {
    let all = rows(text);
    let mut compared = 0;
    let mut kinds: Vec<(&str, &str)> = all.iter().map(|r| (&*r.gpu, &*r.format)).collect();
    kinds.dedup();
    for (gpu, format) in kinds {
        for half in [false, true] {
            let measured = |row: &Row| if half { row.half } else { row.single };
            let of_kind = |row: &&Row| row.gpu == gpu && row.format == format;
            let rows: Vec<&Row> = all
                .iter()
                .filter(of_kind)
                .filter(|r| measured(r).is_some())
                .collect();
            if rows.is_empty() {
                continue;
            }
            let sums = match is_of_warp_groups(rows[0], half) {
                true => computed_by_warpgroups(&rows),
                false => computed(&rows, half),
            };
            let mut different = 0;
            for (row, sum) in rows.iter().zip(sums) {
                let expected = measured(row).unwrap();
                let expected = if half {
                    encoded("fp16", expected)
                } else {
                    expected
                };
                different += usize::from(sum != expected);
            }
            assert_eq!(
                different,
                0,
                "{gpu} {format} half: {half}, of {}",
                rows.len()
            );
            compared += rows.len();
        }
    }
    compared
}

#[test]
fn sums_are_those_of_gpus() {
    assert!(compare(include_str!("../data/tensor-cores.tsv")) > 500);
}

#[test]
#[ignore = "needs a file with rows: .ci/run"]
fn all_measured_sums_are_those_of_gpus() {
    let path = std::env::var("PTXKIT_TENSOR_ROWS").unwrap();
    assert!(compare(&std::fs::read_to_string(path).unwrap()) > 40_000);
}
