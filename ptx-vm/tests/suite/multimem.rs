//! Multimem addresses: each denotes several memory locations.
#![allow(clippy::unwrap_used, reason = "tests fail by panics")]

use ptx_vm::{Checker, Device, Launch, RunError, StopReason};

/// Runs a body with a multimem address in `%all`, and the address of 64 bytes for results in `%out`. Gives these bytes and those of the members afterwards.
fn run(members: &[&[u32]], body: &str) -> Result<(Vec<u32>, Vec<Vec<u32>>), RunError> {
    let text = format!(
        ".version 9.3\n.target sm_100a\n.address_size 64\n.shared .align 16 .b32 words[16];\n\
         .visible .entry k(.param .u64 all, .param .u64 data)\n{{\n\
         .reg .b16 %h<16>;\n.reg .b32 %r<16>;\n.reg .f32 %f<8>;\n.reg .f64 %fd<8>;\n.reg .b64 %rd<8>;\n.reg .b64 %all, %out;\n\
         ld.param.u64 %all, [all];\nld.param.u64 %out, [data];\n{body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    let errors: Vec<_> = parsed.diagnostics.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let errors = ptx_verify::verify(&parsed.module, &ptx_verify::Options::default());
    let errors: Vec<_> = errors.iter().map(|d| &d.message).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut device = Device::new();
    let module = device.load(&parsed.module)?;
    let bytes = 4 * members[0].len() as u64;
    let mut addresses = Vec::new();
    for words in members {
        let address = device.allocate(bytes).unwrap();
        device.write_slice(address, words)?;
        addresses.push(address);
    }
    let all = device.multicast(&addresses, bytes)?;
    let out = device.allocate(64).unwrap();
    device.set_written(out, 64);
    let launch = Launch::new("k")
        .argument(all.to_le_bytes())
        .argument(out.to_le_bytes())
        .check(Checker::Memcheck)
        .check(Checker::Initcheck);
    let ended = device.launch(module, &launch);
    assert!(
        ended.is_err() || device.reports().is_empty(),
        "{:?}",
        device.reports()
    );
    ended?;
    let mut after = Vec::new();
    for address in addresses {
        after.push(device.read_slice(address, members[0].len())?);
    }
    Ok((device.read_slice(out, 16)?, after))
}

#[test]
fn integers_are_combined() {
    let values = [0xf000_000fu32, 0xff00_0003, 0x0f00_0006, 0xf0f0_0002];
    let members: Vec<[u32; 2]> = values.iter().map(|value| [0, *value]).collect();
    let members: Vec<&[u32]> = members.iter().map(|words| &words[..]).collect();
    let mut body = String::new();
    let operations = [
        "add.u32", "min.u32", "max.u32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32",
    ];
    for (index, operation) in operations.iter().enumerate() {
        body += &format!(
            "multimem.ld_reduce.relaxed.sys.global.{operation} %r1, [%all+4];\nst.global.u32 [%out+{}], %r1;\n",
            4 * index
        );
    }
    let (found, _) = run(&members, &body).unwrap();
    let signed = values.map(|value| value as i32);
    let expected = [
        values
            .iter()
            .fold(0u32, |sum, value| sum.wrapping_add(*value)),
        *values.iter().min().unwrap(),
        *values.iter().max().unwrap(),
        *signed.iter().min().unwrap() as u32,
        *signed.iter().max().unwrap() as u32,
        values.iter().fold(u32::MAX, |all, value| all & value),
        values.iter().fold(0, |all, value| all | value),
        values.iter().fold(0, |all, value| all ^ value),
    ];
    assert_eq!(found[..8], expected);
}

#[test]
fn halves_are_added_in_their_type_or_in_a_wider_one() {
    // 2048 + 1 + 1: each sum of halves is rounded to 2048; in binary32 the sum is 2050. The upper halves are 1, 2 and 3.
    let half = |value: u32| match value {
        1 => 0x3c00u32,
        2 => 0x4000,
        3 => 0x4200,
        6 => 0x4600,
        2048 => 0x6800,
        2050 => 0x6801,
        _ => panic!(),
    };
    let members = [
        [half(2048) | half(1) << 16],
        [half(1) | half(2) << 16],
        [half(1) | half(3) << 16],
    ];
    let members: Vec<&[u32]> = members.iter().map(|words| &words[..]).collect();
    let body = "multimem.ld_reduce.relaxed.sys.global.add.f16x2 %r1, [%all];\n\
                multimem.ld_reduce.relaxed.sys.global.add.acc::f32.f16x2 %r2, [%all];\n\
                multimem.ld_reduce.weak.global.max.f16x2 %r3, [%all];\n\
                multimem.ld_reduce.weak.global.min.v2.f16 {%h1, %h2}, [%all];\nmov.b32 %r4, {%h1, %h2};\n\
                st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};";
    let (found, _) = run(&members, body).unwrap();
    let expected = [
        half(2048) | half(6) << 16,
        half(2050) | half(6) << 16,
        half(2048) | half(3) << 16,
        half(1) | half(1) << 16,
    ];
    assert_eq!(found[..4], expected);
}

#[test]
fn numbers_of_8_bits_are_added() {
    // e4m3: 16 is 0x58, 1 is 0x38, 17 is not a number of the type, 18 is 0x59, 448 is 0x7e.
    let members = [[0x7e38_5858u32], [0x5838_3838], [0xd838_3838]];
    let members: Vec<&[u32]> = members.iter().map(|words| &words[..]).collect();
    let body = "multimem.ld_reduce.relaxed.sys.global.add.e4m3x4 %r1, [%all];\n\
                multimem.ld_reduce.relaxed.sys.global.add.acc::f16.e4m3x4 %r2, [%all];\n\
                multimem.ld_reduce.relaxed.sys.global.min.e4m3x4 %r3, [%all];\n\
                st.global.v4.u32 [%out], {%r1, %r2, %r3, 0};";
    let (found, _) = run(&members, body).unwrap();
    // 16 + 1 + 1: 16 in the type, 18 in halves. 1 + 1 + 1 is 3, 0x44. 448 + 16 - 16: 448 - 16 = 432 is between 416 (0x7d) and 448 and the fraction of 448 is even.
    assert_eq!(found[0], 0x7e44_5858);
    assert_eq!(found[1], 0x7e44_5959);
    assert_eq!(found[2], 0xd838_3838);
}

#[test]
fn stores_and_reductions_change_all_members() {
    let members: [&[u32]; 3] = [&[1, 2, 3, 4, 5, 6, 7, 8], &[10; 8], &[20; 8]];
    let body = "mov.u32 %r1, 100;\nmultimem.red.relaxed.sys.global.add.u32 [%all], %r1;\n\
                multimem.red.release.sys.global.max.s32 [%all+4], 9;\n\
                mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f40000000;\n\
                multimem.st.relaxed.sys.global.v2.f32 [%all+8], {%f1, %f2};\n\
                multimem.red.relaxed.sys.global.add.v2.f32 [%all+8], {%f2, %f1};\n\
                multimem.st.weak.global.b64 [%all+24], 0x500000006;";
    let (_, after) = run(&members, body).unwrap();
    let (three, two) = (3f32.to_bits(), 3f32.to_bits());
    assert_eq!(after[0], [101, 9, three, two, 5, 6, 6, 5]);
    assert_eq!(after[1], [110, 10, three, two, 10, 10, 6, 5]);
    assert_eq!(after[2], [120, 20, three, two, 20, 20, 6, 5]);
}

#[test]
fn other_accesses_end_the_run() {
    let members: [&[u32]; 2] = [&[1, 2, 3, 4], &[5, 6, 7, 8]];
    for body in [
        "ld.global.u32 %r1, [%all];",
        "st.u32 [%all], 3;",
        "red.global.add.u32 [%all], 3;",
    ] {
        let error = run_unchecked(&members, body).unwrap_err();
        let StopReason::Invalid(reason) = &error.reason else {
            panic!("{error}");
        };
        assert!(reason.contains("is a multimem address"), "{reason}");
    }
    let beyond = "multimem.st.weak.global.u32 [%all+16], 3;";
    let error = run_unchecked(&members, beyond).unwrap_err();
    assert!(
        matches!(error.reason, StopReason::OutOfBounds(_)),
        "{error}"
    );
    let misaligned = "multimem.st.weak.global.v2.f32 [%all+4], {%f1, %f1};";
    let error = run_unchecked(&members, misaligned).unwrap_err();
    assert!(matches!(error.reason, StopReason::Misaligned(_)), "{error}");
}

/// As `run`, without checkers.
fn run_unchecked(members: &[&[u32]], body: &str) -> Result<(), RunError> {
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 all)\n{{\n\
         .reg .b32 %r<4>;\n.reg .f32 %f<2>;\n.reg .b64 %all;\nld.param.u64 %all, [all];\n{body}\nret;\n}}\n"
    );
    let parsed = ptx_parse::parse_str(&text);
    let mut device = Device::new();
    let module = device.load(&parsed.module)?;
    let addresses: Vec<u64> = members
        .iter()
        .map(|_| device.allocate(16).unwrap())
        .collect();
    let all = device.multicast(&addresses, 16)?;
    device
        .launch(module, &Launch::new("k").argument(all.to_le_bytes()))
        .map(|_| ())
}

#[test]
fn bulk_operations_reach_all_members() {
    let body = "st.shared.v4.u32 [words], {1, 2, 3, 4};\nfence.proxy.async;\n\
                mov.u32 %r1, words;\n\
                multimem.cp.async.bulk.global.shared::cta.bulk_group [%all], [%r1], 16;\n\
                multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%all+16], [%r1], 16;\n\
                cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;";
    let text_members: [&[u32]; 2] = [&[9, 9, 9, 9, 10, 10, 10, 10], &[8, 8, 8, 8, 20, 20, 20, 20]];
    let (_, after) = run(&text_members, body).unwrap();
    assert_eq!(after[0], [1, 2, 3, 4, 11, 12, 13, 14]);
    assert_eq!(after[1], [1, 2, 3, 4, 21, 22, 23, 24]);
}

#[test]
fn ranges_have_members_of_the_device() {
    let mut device = Device::new();
    let [a, b] = [16, 32].map(|bytes| device.allocate(bytes).unwrap());
    assert!(device.multicast(&[], 16).is_err());
    assert!(device.multicast(&[a, b], 32).is_err());
    assert!(device.multicast(&[a; 65], 16).is_err());
    let first = device.multicast(&[a, b + 16], 16).unwrap();
    let snapshot = device.snapshot();
    let second = device.multicast(&[b, a], 16).unwrap();
    assert_ne!(first, second);
    device.free_multicast(first).unwrap();
    assert!(device.free_multicast(first).is_err());
    device.restore(&snapshot);
    device.free_multicast(first).unwrap();
    assert!(device.free_multicast(second).is_err());
    let mut narrow = Device::builder()
        .address_size(ptx_vm::AddressSize::Bits32)
        .build();
    let c = narrow.allocate(16).unwrap();
    assert!(narrow.multicast(&[c], 16).is_err());
}
