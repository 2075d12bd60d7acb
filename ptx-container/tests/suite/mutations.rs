//! Damaged files: no panic, and a cost linear in the size.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::Path;

use ptx_container::{InputFormat, entries, gunzip};

/// Everything a program does with a file. Returns how many entries and contents were read.
fn read(bytes: &[u8]) -> (usize, usize) {
    let format = InputFormat::of(bytes);
    if format == InputFormat::Gzip {
        let _ = gunzip(bytes, 1 << 20);
    }
    let (mut found, mut contents) = (0, 0);
    for entry in entries(bytes) {
        match entry {
            Ok(entry) => {
                let _ = (
                    entry.name(),
                    entry.flag_names(),
                    entry.options(),
                    entry.identifier(),
                );
                found += 1;
                contents += usize::from(entry.content(bytes, 1 << 16).is_ok());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    (found, contents)
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Numbers that headers are sensitive to.
const NUMBERS: [u64; 10] = [
    0,
    1,
    7,
    8,
    63,
    64,
    0x7fff_ffff,
    0xffff_ffff,
    u64::MAX >> 1,
    u64::MAX,
];

fn mutate(random: &mut fastrand::Rng, bytes: &mut Vec<u8>) {
    for _ in 0..random.usize(1..5) {
        if bytes.is_empty() {
            return;
        }
        let at = random.usize(..bytes.len());
        // Most structures start at multiples of 4 near the front or after a magic number.
        let aligned = at / 4 * 4;
        match random.u8(..6) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u8(..8),
            2 | 3 => {
                let number = match random.bool() {
                    true => NUMBERS[random.usize(..NUMBERS.len())],
                    false => random.u64(..bytes.len() as u64 * 2),
                };
                let end = bytes.len().min(aligned + [2, 4, 8][random.usize(..3)]);
                let number = number.to_le_bytes();
                bytes[aligned..end].copy_from_slice(&number[..end - aligned]);
            }
            4 => bytes.truncate(at),
            _ => {
                let end = bytes.len().min(at + random.usize(..200));
                let part = bytes[at..end].to_vec();
                let to = random.usize(..bytes.len());
                bytes.splice(to..to, part);
            }
        }
    }
}

fn run(count: usize) {
    let mut random = fastrand::Rng::with_seed(11);
    let seeds = seeds();
    let (mut found, mut contents) = (0, 0);
    for _ in 0..count {
        let mut bytes = seeds[random.usize(..seeds.len())].clone();
        mutate(&mut random, &mut bytes);
        let (entries, read) = read(&bytes);
        found += entries;
        contents += read;
    }
    // Many mutations reach the entries and their contents.
    assert!(
        found > count / 2 && contents > count / 4 && contents < found,
        "{found} {contents}"
    );
}

#[test]
fn mutations() {
    run(100_000);
}

/// A name, and what makes a file of a number of parts.
type Crafted<'a> = (&'a str, &'a dyn Fn(usize) -> Vec<u8>);

/// With a quadratic cost, this would take minutes.
#[test]
fn crafted_files_take_linear_time() {
    let magic = [0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    // Fatbins that claim to reach to the end, each with an entry that does.
    let fatbins = |n: usize| {
        let mut header = [magic.as_slice(), &[0xff; 8]].concat();
        header.extend([1, 0, 1, 1, 64, 0, 0, 0]);
        header.resize(80, 0);
        header.repeat(n)
    };
    // All members share one long name.
    let archive = |n: usize| {
        let mut bytes = b"!<arch>\n".to_vec();
        let header = |name: &str, size| format!("{name:16}{:32}{size:<10}`\n", "");
        bytes.extend(header("//", n * 40).bytes());
        bytes.resize(bytes.len() + n * 40, b'x');
        bytes.extend(header("/0", 0).repeat(n).bytes());
        bytes
    };
    let magic_only = |n: usize| magic.repeat(n);
    // Comments that are not closed.
    let comments = |n: usize| b"/* ".repeat(n);
    let cases: [Crafted<'_>; 4] = [
        ("fatbins", &fatbins),
        ("archive", &archive),
        ("magic", &magic_only),
        ("comments", &comments),
    ];
    for (name, make) in cases {
        let bytes = make(100_000);
        let (found, _) = read(&bytes);
        println!("{name}: {} bytes, {found} entries", bytes.len());
    }
}
