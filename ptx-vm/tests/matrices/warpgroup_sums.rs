//! Sums that have to be rounded: the warps of a warpgroup make those of `mma`, except with factors of 8 bits.

use crate::{list, run_threads};

/// Instructions that make the same sums.
struct Pair {
    /// The name of the type of the factors, and its bits.
    ty: &'static str,
    bits: usize,
    /// The bits that are random; the others are zero, so that exponents are near each other.
    mask: u32,
    /// The type of the result.
    result: &'static str,
    /// The depth of a product without sparsity.
    depth: usize,
    sparse: bool,
}

/// Registers of the result of a width of 8.
fn results(pair: &Pair) -> usize {
    if pair.result == "f16" { 2 } else { 4 }
}

/// Registers of the second factor.
fn registers_of_second(pair: &Pair) -> usize {
    if pair.sparse { 4 } else { 2 }
}

/// A kernel that loads words of its thread: the first factor, the second one for `mma`, the addend and the metadata. The second factor of the
/// warpgroup follows those of all threads.
fn kernel(pair: &Pair) -> String {
    let Pair {
        ty, result, depth, ..
    } = pair;
    let (seconds, results) = (registers_of_second(pair), results(pair));
    let (sp, depth, operands) = if pair.sparse {
        (".sp", 2 * depth, ", %m0, 0x0")
    } else {
        ("", *depth, "")
    };
    let ordered = if pair.sparse {
        "::ordered_metadata"
    } else {
        ""
    };
    let words = 4 + seconds + results + 1;
    let mut body = format!(
        "mul.lo.u32 %r1, %t, {};\ncvt.u64.u32 %rd3, %r1;\nadd.s64 %rd3, %rd3, %rd1;\n",
        4 * words
    );
    let mut at = 0;
    for (register, count) in [("%a", 4), ("%b", seconds), ("%c", results), ("%m", 1)] {
        for n in 0..count {
            body += &format!("ld.global.b32 {register}{n}, [%rd3+{at}];\n");
            at += 4;
        }
    }
    let ty_of_c = if *result == "f16" { "b32" } else { "f32" };
    for n in 0..results {
        body += &format!("mov.b32 %d{n}, %c{n};\n");
    }
    let order = if pair.bits == 16 { ", 0" } else { "" };
    body += &format!(
        "mma{sp}{ordered}.sync.aligned.m16n8k{depth}.row.col.{result}.{ty}.{ty}.{result} {c}, {a}, {b}, {c}{operands};\n\
         cvt.u64.u32 %rd4, %r2;\nshr.u64 %rd4, %rd4, 4;\nor.b64 %rd4, %rd4, {descriptor:#x};\nsetp.eq.u32 %p1, %t, %t;\n\
         wgmma.fence.sync.aligned;\n\
         wgmma.mma_async{sp}.sync.aligned.m64n8k{depth}.{result}.{ty}.{ty} {d}, {a}, %rd4{operands}, %p1, 1, 1{order};\n\
         wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n\
         mul.lo.u32 %r1, %t, {bytes};\ncvt.u64.u32 %rd3, %r1;\nadd.s64 %rd3, %rd3, %rd2;\n",
        a = list("%a", 0, 4),
        b = list("%b", 0, seconds),
        c = list("%c", 0, results),
        d = list("%d", 0, results),
        descriptor = (128u64 >> 4) << 16,
        bytes = 8 * results,
    );
    for n in 0..results {
        body += &format!(
            "st.global.{ty_of_c} [%rd3+{}], %c{n};\nst.global.{ty_of_c} [%rd3+{}], %d{n};\n",
            8 * n,
            8 * n + 4
        );
    }
    format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 memory[512];\n\
         .visible .entry k(.param .u64 input, .param .u64 output)\n{{\n\
         .reg .pred %p<4>;\n.reg .b32 %t, %r<8>, %a<4>, %b<4>, %m<1>;\n.reg .{ty_of_c} %c<4>, %d<4>;\n.reg .b64 %rd<8>;\n\
         ld.param.u64 %rd1, [input];\nld.param.u64 %rd2, [output];\nmov.u32 %t, %tid.x;\n\
         mul.wide.u32 %rd5, %t, 4;\nadd.s64 %rd5, %rd5, %rd1;\nld.global.b32 %r3, [%rd5+{}];\n\
         mov.u32 %r2, memory;\nshl.b32 %r4, %t, 2;\nadd.u32 %r4, %r4, %r2;\nst.shared.b32 [%r4], %r3;\n\
         fence.proxy.async;\nbar.sync 0;\n{body}ret;\n}}\n",
        128 * 4 * words
    )
}

/// Two bits for each of the two stored elements of four.
fn metadata(random: &mut fastrand::Rng, bits: usize) -> u32 {
    (0..8).fold(0, |word, group| {
        let pair = match bits {
            32 => [0b1110, 0b0100][random.usize(0..2)],
            _ => {
                let first = random.u32(0..3);
                first | random.u32(first + 1..4) << 2
            }
        };
        word | pair << (4 * group)
    })
}

fn compare(pair: &Pair) {
    let mut random = fastrand::Rng::with_seed(11);
    let text = kernel(pair);
    let (seconds, results) = (registers_of_second(pair), results(pair));
    for round in 0..6 {
        // In one of the rounds any bits, which are infinities and NaNs as well.
        let base = match pair.ty {
            "f16" => 0x3c00_3c00,
            "bf16" => 0x3f00_3f00,
            _ => 0x3f00_0000,
        };
        let mut factor = || match round {
            5 => random.u32(..),
            _ => random.u32(..) & pair.mask | base & !pair.mask,
        };
        let firsts: Vec<u32> = (0..512).map(|_| factor()).collect();
        // 8 columns, each of `4 · seconds` words.
        let columns: Vec<u32> = (0..32 * seconds).map(|_| factor()).collect();
        let mut input = Vec::new();
        for thread in 0..128 {
            let lane = thread % 32;
            input.extend(&firsts[4 * thread..][..4]);
            for n in 0..seconds {
                input.push(columns[lane / 4 * 4 * seconds + n * 4 + lane % 4]);
            }
            for _ in 0..results {
                let sign_and_fraction = random.u32(..);
                input.push(match (pair.result, round) {
                    (_, 5) => sign_and_fraction,
                    ("f16", _) => sign_and_fraction & 0x8fff_8fff | 0x4000_4000,
                    _ => sign_and_fraction & 0x81ff_ffff | 0x4000_0000,
                });
            }
            input.push(metadata(&mut random, pair.bits));
        }
        // In shared memory, core matrices of 8 columns with 16 bytes each follow each other.
        for unit in 0..seconds {
            for column in 0..8 {
                input.extend(&columns[column * 4 * seconds + unit * 4..][..4]);
            }
        }
        input.resize(input.len() + 128, 0);
        let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).collect();
        let output = run_threads(&text, [128, 0], &bytes, 128 * 8 * results).unwrap();
        for (n, both) in output.chunks(8).enumerate() {
            assert_eq!(
                both[..4],
                both[4..],
                "{} {} {round} {n}",
                pair.ty,
                pair.result
            );
        }
        if round < 5 {
            let distinct: std::collections::HashSet<&[u8]> = output.chunks(8).collect();
            assert!(distinct.len() > 100, "{}", distinct.len());
        }
    }
}

#[test]
fn sums_are_those_of_a_warp() {
    for sparse in [false, true] {
        for (ty, bits, mask, result, depth) in [
            ("f16", 16, 0x8fff_8fff, "f32", 16),
            ("f16", 16, 0x8fff_8fff, "f16", 16),
            ("bf16", 16, 0x83ff_83ff, "f32", 16),
            ("tf32", 32, 0x83ff_ffff, "f32", 8),
        ] {
            compare(&Pair {
                ty,
                bits,
                mask,
                result,
                depth,
                sparse,
            });
        }
    }
}
