//! What files are recognized as.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

use ptx_container::InputFormat;

fn data(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fs::read(folder.join(name)).unwrap()
}

#[test]
fn files_are_recognized() {
    use InputFormat::*;
    for (name, format) in [
        ("kernel.sm_90.ptx", Ptx),
        ("kernel.cu", CudaSource),
        ("size.fatbin", Fatbin),
        ("k.o", ElfObject),
        ("libk.so", Elf),
        ("k.cubin", Cubin),
        ("k.a", Archive),
    ] {
        assert_eq!(InputFormat::of(&data(name)), format, "{name}");
    }
    let utf16: Vec<u8> = ".version 9.0\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let with_mark = [&[0xff, 0xfe], &*utf16].concat();
    // The name of the first file, and the rest of its header.
    let mut tar = b"k.ptx".to_vec();
    tar.resize(257, 0);
    tar.extend_from_slice(b"ustar  \0.version 9.0\n.target sm_90\n");
    let cases: &[(&[u8], InputFormat)] = &[
        (b"", Text),
        (b"\xef\xbb\xbf// comment\n/* another */ .version 9.0", Ptx),
        (b"#define N 4\n.version 9.0\n", Text),
        (b"// only a comment", Text),
        (b"add.s32 %r1, %r2, %r3;", Text),
        (b"#include <cuda.h>\nint main() {}", CudaSource),
        (
            b"; ModuleID = 'k'\ntarget triple = \"nvptx64\"\ndefine void @k()",
            LlvmIr,
        ),
        (b"BC\xc0\xde\x35\x14", Bitcode),
        (b"\x1f\x8b\x08\0", Gzip),
        (b"\x28\xb5\x2f\xfd", Zstd),
        (b"PK\x03\x04", Zip),
        (b"!<thin>\n", ThinArchive),
        (b"\x01\x5a\xe5\x1e", OldFatbin),
        (b"MZ\x90\0", Pe),
        (b"MZ is a text", Text),
        (b"\x64\x86\x01\0", CoffObject),
        (b"some\0bytes", Binary),
        (&tar, Tar),
        (&utf16, Utf16),
        (&with_mark, Utf16),
    ];
    for (bytes, format) in cases {
        assert_eq!(
            InputFormat::of(bytes),
            *format,
            "{:?}",
            bytes.escape_ascii().to_string()
        );
    }
    assert_eq!(
        Cubin.to_string(),
        "a cubin, which is machine code without PTX"
    );
    assert_eq!(
        (Cubin.name(), Cubin.is_container(), Elf.is_container()),
        ("cubin", false, true)
    );
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false if path.extension().is_some_and(|e| e == "ptx") => found.push(path),
            false => {}
        }
    }
}

/// No PTX file of the corpus is taken for something else, damaged ones included.
#[test]
fn ptx_files_are_text() {
    let mut found = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus"),
        &mut found,
    );
    assert!(found.len() > 100);
    for path in found {
        let format = InputFormat::of(&fs::read(&path).unwrap());
        assert!(
            matches!(format, InputFormat::Ptx | InputFormat::Text),
            "{}: {format}",
            path.display()
        );
    }
}
