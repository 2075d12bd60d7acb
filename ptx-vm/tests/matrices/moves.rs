//! Matrices that are moved between shared memory and registers.

use crate::{copy_in, kernel, list, run};

/// Runs a kernel that copies the input to shared memory; gives the words of the registers `%r0`, `%r1`… of each lane.
fn registers(target: &str, input: &[u8], body: &str, count: usize) -> Vec<Vec<u32>> {
    let mut body = copy_in(input.len()) + body;
    body += &format!(
        "cvt.u64.u32 %rd3, %t;\nmul.lo.u64 %rd3, %rd3, {};\nadd.s64 %rd3, %rd3, %rd2;\n",
        4 * count
    );
    for n in 0..count {
        body += &format!("st.global.b32 [%rd3+{}], %r{n};\n", 4 * n);
    }
    let mut text = kernel(target, "", &body);
    if body.contains(".s8.s4") {
        text = text.replacen(".version 8.8", ".version 9.4", 1);
    }
    let found = run(&text, input, 128 * count).unwrap();
    let word = |at: usize| u32::from_le_bytes(found[4 * at..][..4].try_into().unwrap());
    (0..32)
        .map(|lane| (0..count).map(|n| word(lane * count + n)).collect())
        .collect()
}

/// The address of a row of 16 bytes for each lane; all rows follow each other.
const ROW: &str = "mov.u32 %r44, memory;\nmad.lo.u32 %r44, %t, 16, %r44;\n";

fn bytes(count: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(9);
    (0..count).map(|_| random.u8(..)).collect()
}

#[test]
fn rows_of_16_bit_elements() {
    let input = bytes(512);
    let half = |matrix: usize, row: usize, column: usize| {
        let at = 128 * matrix + 16 * row + 2 * column;
        u32::from(input[at]) | u32::from(input[at + 1]) << 8
    };
    for count in [1, 2, 4] {
        for transposed in [false, true] {
            let trans = if transposed { ".trans" } else { "" };
            let load = format!(
                "{ROW}ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {}, [%r44];\n",
                list("%r", 0, count)
            );
            let found = registers("sm_75", &input, &load, count);
            for (lane, words) in found.iter().enumerate() {
                for (matrix, &word) in words.iter().enumerate() {
                    let element = |column: usize| match transposed {
                        true => half(matrix, column, lane / 4),
                        false => half(matrix, lane / 4, column),
                    };
                    let first = lane % 4 * 2;
                    assert_eq!(word, element(first) | element(first + 1) << 16);
                }
            }
        }
    }
}

#[test]
fn transposed_bytes() {
    let input = bytes(512);
    for count in [1, 2] {
        let load = format!(
            "{ROW}ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.b8 {}, [%r44];\n",
            list("%r", 0, 2 * count)
        );
        let found = registers("sm_120a", &input, &load, 2 * count);
        for (lane, words) in found.iter().enumerate() {
            for (register, &word) in words.iter().enumerate() {
                // Four columns of a row: a byte of four rows of memory.
                let byte = |n: usize| {
                    let line = register / 2 * 16 + lane % 4 * 4 + n;
                    u32::from(input[16 * line + lane / 4 + register % 2 * 8])
                };
                assert_eq!(word, byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24);
            }
        }
    }
}

#[test]
fn rows_of_fewer_bits() {
    let input = bytes(512);
    let row = |line: usize| u128::from_le_bytes(input[16 * line..][..16].try_into().unwrap());
    let unpacked = |format: &str, line: usize, column: usize| match format {
        "b8x16.b6x16_p32" => (row(line) >> (6 * column)) as u32 & 0x3f,
        "b8x16.b4x16_p64" => ((row(line) >> (4 * column)) as u32 & 0xf) << 2,
        _ => (((row(line) >> (4 * column)) as i32) << 28 >> 28) as u32 & 0xff,
    };
    for format in ["b8x16.b6x16_p32", "b8x16.b4x16_p64", "s8.s4"] {
        for count in [1, 2, 4] {
            let load = format!(
                "{ROW}ldmatrix.sync.aligned.m8n16.x{count}.shared.{format} {}, [%r44];\n",
                list("%r", 0, count)
            );
            let found = registers("sm_120a", &input, &load, count);
            for (lane, words) in found.iter().enumerate() {
                for (matrix, &word) in words.iter().enumerate() {
                    let byte = |n: usize| {
                        unpacked(format, 8 * matrix + lane / 4, lane % 4 * 4 + n) << (8 * n)
                    };
                    assert_eq!(word, byte(0) | byte(1) | byte(2) | byte(3), "{format}");
                }
            }
        }
        // This format has only one shape.
        let counts: &[usize] = if format == "s8.s4" { &[] } else { &[1, 2] };
        for &count in counts {
            let load = format!(
                "{ROW}ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.{format} {}, [%r44];\n",
                list("%r", 0, 2 * count)
            );
            let found = registers("sm_120a", &input, &load, 2 * count);
            for (lane, words) in found.iter().enumerate() {
                for (register, &word) in words.iter().enumerate() {
                    let byte = |n: usize| {
                        let line = register / 2 * 16 + lane % 4 * 4 + n;
                        unpacked(format, line, lane / 4 + register % 2 * 8) << (8 * n)
                    };
                    assert_eq!(word, byte(0) | byte(1) | byte(2) | byte(3), "{format}");
                }
            }
        }
    }
}

/// Stores of what was loaded: the bytes of the output are those of the input, in the order that `expected` gives.
fn stored(
    target: &str,
    body: &str,
    bytes_in: usize,
    bytes_out: usize,
    expected: impl Fn(usize) -> usize,
) {
    let input = bytes(bytes_in);
    let body = copy_in(bytes_in) + ROW + body + &crate::dense::copy_out(bytes_out, 0);
    let found = run(&kernel(target, "", &body), &input, bytes_out).unwrap();
    let wanted: Vec<u8> = (0..bytes_out).map(|at| input[expected(at)]).collect();
    assert_eq!(found, wanted, "{body}");
}

#[test]
fn stores_are_the_inverse_of_loads() {
    for count in [1, 2, 4] {
        let registers = list("%r", 0, count);
        for (load, store) in [
            ("", ""),
            (".trans", ""),
            ("", ".trans"),
            (".trans", ".trans"),
        ] {
            let body = format!(
                "ldmatrix.sync.aligned.m8n8.x{count}{load}.shared.b16 {registers}, [%r44];\n\
                 stmatrix.sync.aligned.m8n8.x{count}{store}.shared.b16 [%r44], {registers};\n"
            );
            stored("sm_90", &body, 512, 128 * count, |at| match load == store {
                true => at,
                false => at / 128 * 128 + at % 16 / 2 * 16 + at % 128 / 16 * 2 + at % 2,
            });
        }
        // A word of each lane, in the order of the lanes: columns of 16 bytes.
        let mut body = String::from(
            "mad.lo.u32 %r45, %t, 4, 0;\nmov.u32 %r46, memory;\nadd.u32 %r45, %r45, %r46;\n",
        );
        for n in 0..count {
            body += &format!("ld.shared.b32 %r{n}, [%r45+{}];\n", 128 * n);
        }
        body += &format!(
            "bar.sync 0;\nstmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [%r44], {registers};\n"
        );
        stored("sm_120a", &body, 512, 128 * count, |at| {
            let (matrix, column, row) = (at / 128, at % 128 / 16, at % 16);
            // The lane of the row and the pair of columns; bytes 2 and 3 belong to the lower half.
            let lane = row % 8 * 4 + column / 2;
            128 * matrix + 4 * lane + row / 8 * 2 + column % 2
        });
    }
}

#[test]
fn matrices_in_registers_are_transposed() {
    let input = bytes(128);
    let body = "mad.lo.u32 %r45, %t, 4, 0;\nmov.u32 %r46, memory;\nadd.u32 %r45, %r45, %r46;\nld.shared.b32 %r1, [%r45];\n\
                movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;\n";
    let found = registers("sm_75", &input, body, 1);
    for (lane, words) in found.iter().enumerate() {
        let half = |row: usize, column: usize| {
            let at = 16 * row + 2 * column;
            u32::from(input[at]) | u32::from(input[at + 1]) << 8
        };
        let first = lane % 4 * 2;
        assert_eq!(
            words[0],
            half(first, lane / 4) | half(first + 1, lane / 4) << 16
        );
    }
}

#[test]
fn rows_must_be_aligned() {
    let body = "mov.u32 %r44, memory;\nmad.lo.u32 %r44, %t, 16, %r44;\nadd.u32 %r44, %r44, 8;\n\
                ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r44];\n";
    let error = run(&kernel("sm_75", "", body), &[0; 4], 4).unwrap_err();
    assert!(
        matches!(error.reason, ptx_vm::StopReason::Misaligned(_)),
        "{error}"
    );
}
