//! Recorded approximations, with `ptx-vm` in the place of a GPU: what is read back gives what the device gave.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panics")]

mod common;

use common::Defective;
use ptx_isa::{PtxVersion, Target};
use ptx_vm::Launch;
use runner::approximations::{Approximation, Table, record};
use runner::{Abilities, Device, VirtualMachine};

/// The lowest bits of inputs of 32 bits that are zero in these tests.
const SKIP: u32 = 17;

const ABILITIES: Abilities = Abilities {
    version: PtxVersion::CURRENT,
    target: Target::Sm90,
};

fn find(name: &str) -> Approximation {
    let all = Approximation::all(ABILITIES.version, ABILITIES.target);
    all.into_iter().find(|a| a.name == name).unwrap()
}

/// Records an instruction, writes a file and reads it.
fn written(device: &dyn Device, of: &Approximation) -> (Table, Table) {
    let table =
        record(device, ABILITIES, of, SKIP).unwrap_or_else(|e| panic!("{}: {e:#}", of.name));
    let bytes = table.to_bytes();
    let read = Table::from_bytes(&bytes).unwrap_or_else(|e| panic!("{}: {e:#}", of.name));
    assert_eq!(read.to_bytes(), bytes, "{}", of.name);
    assert_eq!(read.check().unwrap(), Ok(()), "{}", of.name);
    (table, read)
}

/// What a device returns for some inputs of 32 bits, by a kernel that is not the one of the recorder.
fn results(device: &dyn Device, name: &str, inputs: &[u32]) -> Vec<u32> {
    let text = format!(
        ".version 9.2\n.target sm_90\n.address_size 64\n.visible .entry one(.param .b64 p)\n{{\n\
         .reg .b64 at;\n.reg .b32 x;\nld.param.b64 at, [p];\nmov.u32 x, %tid.x;\nmad.wide.u32 at, x, 4, at;\n\
         ld.global.b32 x, [at];\n{name} x, x;\nst.global.b32 [at], x;\nret;\n}}\n"
    );
    let mut module = device.load(&text).unwrap();
    let buffer = module.allocate(4 * inputs.len() as u64).unwrap();
    let bytes: Vec<u8> = inputs.iter().flat_map(|i| i.to_le_bytes()).collect();
    module.write(buffer, &bytes).unwrap();
    let launch = Launch::new("one").shape(1, inputs.len() as u32);
    module
        .launch(&launch.argument(buffer.to_le_bytes()))
        .unwrap();
    let bytes = module.read(buffer, bytes.len()).unwrap();
    let words = bytes.as_chunks().0.iter();
    words.map(|w| u32::from_le_bytes(*w)).collect()
}

#[test]
fn the_forms_are_those_of_the_tables() {
    let all = Approximation::all(ABILITIES.version, ABILITIES.target);
    let names: Vec<&str> = all.iter().map(|a| a.name.as_str()).collect();
    for one in [
        "sin.approx.f32",
        "sin.approx.ftz.f32",
        "rcp.approx.ftz.f64",
        "tanh.approx.bf16x2",
        "ex2.approx.ftz.bf16",
    ] {
        assert!(names.contains(&one), "{one}: {names:?}");
    }
    for none in [
        "rsqrt.approx.f64",
        "div.approx.f32",
        "rcp.rn.f32",
        "sin.f32",
    ] {
        assert!(!names.contains(&none), "{none}: {names:?}");
    }
    assert_eq!(names.len(), 25, "{names:?}");
    let old = Approximation::all(ABILITIES.version, Target::Sm80);
    assert!(old.iter().all(|a| a.name != "tanh.approx.bf16x2"));
}

#[test]
fn what_is_read_back_is_what_the_device_gave() {
    for of in Approximation::all(ABILITIES.version, ABILITIES.target) {
        let (_, read) = written(&VirtualMachine, &of);
        assert_eq!(read.header().device, "ptx-vm");
        if of.name.ends_with(".f32") {
            let inputs: Vec<u32> = (0..1000)
                .map(|n| (n * 0x0041_8937) & !((1 << SKIP) - 1))
                .collect();
            let results = results(&VirtualMachine, &of.name, &inputs);
            for (input, result) in inputs.iter().zip(results) {
                let found = read.evaluate(*input).unwrap();
                assert_eq!(found, Some(result), "{} {input:#x}", of.name);
            }
            assert_eq!(read.evaluate(1).unwrap(), None);
        }
    }
}

/// The results of most binades are those of others, where only the exponent changes.
#[test]
fn binades_are_compressed() {
    let lines = |name: &str, word: &str| {
        let (table, _) = written(&VirtualMachine, &find(name));
        let bytes = table.to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let lines = text.lines();
        lines.filter(|l| l.contains(word)).count()
    };
    let like = lines("rcp.approx.ftz.f32", " like ");
    assert!(like > 490, "{like}");
    let like = lines("rsqrt.approx.ftz.f32", " like ");
    assert!(like > 240, "{like}");
    let whole = lines("ex2.approx.ftz.f32", " whole ");
    assert!(whole >= 6, "{whole}");
    let sum = lines("lg2.approx.ftz.f32", " sum ");
    assert!(sum > 0, "{sum}");
    let differences = lines("sin.approx.ftz.f32", " differences ");
    assert!(differences < 200, "{differences}");
}

/// A device with other tables: each result is kept, however it differs.
#[test]
fn other_devices_have_other_tables() {
    let coarse = |text: &str| {
        text.lines()
            .flat_map(|line| match line.contains(".approx") {
                true => vec![line, "and.b32 x, x, 0xfffffff4;", "xor.b32 x, x, 0x40;"],
                false => vec![line],
            })
            .collect::<Vec<_>>()
            .join("\n")
    };
    let device = Defective {
        text: coarse,
        ..Defective::NONE
    };
    for name in ["rcp.approx.ftz.f32", "ex2.approx.f32", "tanh.approx.f32"] {
        let of = find(name);
        let (own, read) = written(&device, &of);
        let (other, _) = written(&VirtualMachine, &of);
        assert_eq!(own.hash(), read.hash());
        assert_ne!(own.hash(), other.hash(), "{name}");
        let inputs: Vec<u32> = (0..1000)
            .map(|n| (n * 0x0041_8937) & !((1 << SKIP) - 1))
            .collect();
        for (input, result) in inputs.iter().zip(results(&device, name, &inputs)) {
            let found = read.evaluate(*input).unwrap();
            assert_eq!(found, Some(result), "{name} {input:#x}");
        }
    }
}

/// A result that depends on what is not recorded is an error, not a table.
#[test]
fn results_that_are_not_recorded_are_refused() {
    let device = Defective {
        text: |text| text.replace("ex2.approx.f16x2 x, x;", "mov.u32 x, %clock;"),
        ..Defective::NONE
    };
    let error = record(&device, ABILITIES, &find("ex2.approx.f16x2"), 0).unwrap_err();
    assert!(error.to_string().contains("elements"), "{error}");
    let device = Defective {
        text: |text| text.replace("rcp.approx.ftz.f64 wide, wide;", "not.b64 wide, wide;"),
        ..Defective::NONE
    };
    let error = record(&device, ABILITIES, &find("rcp.approx.ftz.f64"), 16).unwrap_err();
    assert!(error.to_string().contains("low half"), "{error}");
}

#[test]
fn damaged_files_are_refused() {
    let (table, _) = written(&VirtualMachine, &find("rcp.approx.ftz.f32"));
    let bytes = table.to_bytes();
    let mut rng = fastrand::Rng::with_seed(1);
    for _ in 0..200 {
        let mut damaged = bytes.clone();
        let at = rng.usize(..damaged.len());
        damaged[at] ^= 1 << rng.u8(..8);
        if let Ok(read) = Table::from_bytes(&damaged) {
            // Only the description may differ, or how a number is written, or the results have other hashes.
            let same = read.check().is_ok_and(|checked| checked.is_ok());
            let described = read.header() != table.header();
            assert!(!same || described || read.to_bytes() == bytes, "byte {at}");
        }
        assert!(Table::from_bytes(&bytes[..at]).is_err(), "{at} bytes");
    }
}
