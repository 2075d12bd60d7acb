//! Real files of each kind, with the content that `cuobjdump` extracts from them. `tests/data/kernel.cu` is the source of all of them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::PathBuf;

use ptx_container::{
    Compression, ContainerEntry, DEFAULT_LIMIT, EntryKind, InputFormat, entries, gunzip, unpack,
};
use ptx_ir::Code;

fn data(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    fs::read(folder.join(name)).unwrap()
}

fn all(bytes: &[u8]) -> Vec<ContainerEntry> {
    entries(bytes).collect::<Result<_, _>>().unwrap()
}

fn names(bytes: &[u8]) -> Vec<String> {
    all(bytes).iter().map(ContainerEntry::name).collect()
}

/// PTX and machine code of the kernel for `sm_90`.
fn holds_the_kernel(bytes: &[u8]) {
    let entries = all(bytes);
    let content = |kind| {
        let entry = entries.iter().find(|e| e.kind() == kind).unwrap();
        entry.content(bytes, DEFAULT_LIMIT).unwrap()
    };
    assert!(*content(EntryKind::Ptx) == *data("kernel.sm_90.ptx"));
    assert!(*content(EntryKind::Cubin) == *data("k.cubin"));
}

#[test]
fn fatbins_with_each_compression() {
    let of = |name: &str| -> Vec<Compression> {
        all(&data(name))
            .iter()
            .map(ContainerEntry::compression)
            .collect()
    };
    assert_eq!(of("none.fatbin"), [Compression::None; 2]);
    assert_eq!(of("size.fatbin"), [Compression::Zstd; 2]);
    assert_eq!(of("balance.fatbin"), [Compression::Zstd, Compression::None]);
    assert_eq!(of("speed.fatbin"), [Compression::Lz4, Compression::None]);
    for name in [
        "none.fatbin",
        "size.fatbin",
        "balance.fatbin",
        "speed.fatbin",
    ] {
        let bytes = data(name);
        assert_eq!(names(&bytes), ["1.sm_90.ptx", "1.sm_90.cubin"], "{name}");
        holds_the_kernel(&bytes);
        let first = &all(&bytes)[0];
        assert_eq!((first.kind(), first.version()), (EntryKind::Ptx, (9, 2)));
    }
}

#[test]
fn sizes_and_places() {
    let bytes = data("size.fatbin");
    let [ptx, cubin] = &all(&bytes)[..] else {
        panic!()
    };
    assert_eq!(
        (ptx.offset(), ptx.stored_size(), ptx.size()),
        (0x10, 330, 668)
    );
    assert_eq!(
        (cubin.offset(), cubin.stored_size(), cubin.size()),
        (0x1b0, 951, 3832)
    );
    assert_eq!((ptx.container(), ptx.index(), ptx.number()), (0, 0, 1));
    assert_eq!(
        (cubin.container(), cubin.index(), cubin.number()),
        (0, 1, 1)
    );
    assert_eq!(
        (ptx.flags(), ptx.flag_names()),
        (0x8011, vec!["64-bit", "linux"])
    );
    assert_eq!((cubin.version(), cubin.member()), ((1, 8), None));
    assert_eq!(ptx.compression().name(), "zstd");
}

#[test]
fn options_and_source_file() {
    let bytes = data("lineinfo.fatbin");
    let [ptx] = &all(&bytes)[..] else { panic!() };
    assert_eq!(ptx.options(), "-O1  --generate-line-info");
    assert_eq!(ptx.identifier(), "k.cu");
}

#[test]
fn targets_with_a_letter() {
    let bytes = data("variants.fatbin");
    let entries = all(&bytes);
    for (entry, target) in entries.iter().zip(["sm_100f", "sm_90a"]) {
        assert_eq!(entry.target(), target);
        let text = entry.content(&bytes, DEFAULT_LIMIT).unwrap();
        let line = format!("\n.target {target}\n");
        assert!(
            text.windows(line.len()).any(|w| w == line.as_bytes()),
            "{target}"
        );
    }
    assert_eq!(names(&bytes), ["1.sm_100f.ptx", "2.sm_90a.ptx"]);
}

#[test]
fn objects_and_libraries() {
    for name in ["k.o", "libk.so"] {
        holds_the_kernel(&data(name));
    }
}

#[test]
fn renamed_sections_do_not_matter() {
    let mut bytes = data("k.o");
    let name = b".nv_fatbin\0";
    let at = bytes.windows(name.len()).position(|w| w == name).unwrap();
    bytes[at + 1] = b'x';
    holds_the_kernel(&bytes);
    // Nor does a missing table of sections.
    let end = all(&bytes)
        .last()
        .map(|e| e.offset() + 64 + e.stored_size().next_multiple_of(8));
    bytes.truncate(end.unwrap() as usize);
    holds_the_kernel(&bytes);
}

#[test]
fn members_of_archives() {
    let bytes = data("k.a");
    holds_the_kernel(&bytes);
    let list: Vec<_> = all(&bytes)
        .iter()
        .map(|e| (e.member().unwrap().to_owned(), e.name()))
        .collect();
    let expected = [
        ("k.o", "1.sm_90.ptx"),
        ("k.o", "1.sm_90.cubin"),
        ("k2.o", "2.sm_80.ptx"),
        ("k2.o", "3.sm_90.ptx"),
    ];
    assert_eq!(
        list,
        expected.map(|(member, name)| (member.to_owned(), name.to_owned()))
    );
}

/// Members with the header of an archive around each.
fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in members {
        let size = content.len();
        bytes.extend(format!("{name:16}0           0     0     644     {size:<10}`\n").bytes());
        bytes.extend(*content);
        bytes.resize(bytes.len().next_multiple_of(2), b'\n');
    }
    bytes
}

#[test]
fn names_of_members() {
    let fatbin = data("variants.fatbin");
    let bsd = [b"bsd.o\0\0\0", &*fatbin].concat();
    let members: [(&str, &[u8]); 5] = [
        ("//", b"a_rather_long_name.o/\nanother_long_name.o/\n"),
        ("short.o/", &fatbin),
        ("/22", &fatbin),
        ("#1/8", &bsd),
        ("text.txt/", b".version 9.0"),
    ];
    let bytes = archive(&members);
    let mut found: Vec<_> = all(&bytes)
        .iter()
        .map(|e| e.member().unwrap().to_owned())
        .collect();
    found.dedup();
    assert_eq!(found, ["short.o", "another_long_name.o", "bsd.o"]);
}

/// A DLL or an object with one section.
fn windows(fatbin: &[u8], is_dll: bool, name: &[u8; 8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if is_dll {
        bytes.extend(b"MZ");
        bytes.resize(0x3c, 0);
        bytes.extend(0x40u32.to_le_bytes());
        bytes.extend(b"PE\0\0");
    }
    let optional: u16 = if is_dll { 0xf0 } else { 0 };
    bytes.extend([0x64, 0x86, 1, 0]);
    bytes.extend([0; 12]);
    bytes.extend(optional.to_le_bytes());
    bytes.extend([0; 2]);
    bytes.resize(bytes.len() + usize::from(optional), 0);
    let start = (bytes.len() + 40).next_multiple_of(8) as u32;
    bytes.extend(name);
    for number in [
        fatbin.len() as u32,
        0,
        fatbin.len() as u32,
        start,
        0,
        0,
        0,
        0x4000_0040,
    ] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.resize(start as usize, 0);
    bytes.extend(fatbin);
    bytes
}

#[test]
fn windows_executables_and_objects() {
    for name in [b".nv_fatb", b"renamed\0"] {
        for is_dll in [true, false] {
            holds_the_kernel(&windows(&data("size.fatbin"), is_dll, name));
        }
    }
}

#[test]
fn several_fatbins_in_one_file() {
    let bytes = [
        data("none.fatbin"),
        vec![0; 24],
        data("size.fatbin"),
        data("lto.fatbin"),
    ]
    .concat();
    let list: Vec<_> = all(&bytes)
        .iter()
        .map(|e| (e.container(), e.name()))
        .collect();
    let expected = [
        (0, "1.sm_90.ptx"),
        (0, "1.sm_90.cubin"),
        (1, "2.sm_90.ptx"),
        (1, "2.sm_90.cubin"),
        (2, "3.sm_90.ptx"),
        (2, "1.sm_90.nvvm"),
    ];
    assert_eq!(
        list,
        expected.map(|(container, name)| (container, name.to_owned()))
    );
}

#[test]
fn obfuscated_content_is_refused() {
    let bytes = data("lto.fatbin");
    let entries = all(&bytes);
    let nvvm = entries
        .iter()
        .find(|e| e.kind() == EntryKind::Nvvm)
        .unwrap();
    assert_eq!(nvvm.options(), "-ftz=0 -prec_div=1 -prec_sqrt=1 -fmad=1");
    assert!(nvvm.flag_names().contains(&"obfuscated"));
    let error = nvvm.content(&bytes, DEFAULT_LIMIT).unwrap_err();
    assert_eq!(error.code(), Code::UnsupportedContainer);
    assert_eq!(
        error.to_string(),
        "PTX1104: byte 0x1d0: 1.sm_90.nvvm: the content is obfuscated"
    );
}

#[test]
fn compressed_files() {
    use std::io::Write as _;
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&data("k.o")).unwrap();
    let gzip = gzip.finish().unwrap();
    holds_the_kernel(&gunzip(&gzip, DEFAULT_LIMIT).unwrap());
    assert_eq!(
        gunzip(&gzip, 1000).unwrap_err().code(),
        Code::ContentTooLarge
    );
    assert_eq!(
        gunzip(&gzip[..500], DEFAULT_LIMIT).unwrap_err().code(),
        Code::CorruptContent
    );
}

/// A wheel, by itself and in a gzip file, is an archive of its files.
#[test]
fn files_are_unpacked() {
    use std::io::Write as _;
    let wheel = data("k.whl");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&wheel).unwrap();
    let gzip = gzip.finish().unwrap();
    for (file, name) in [
        (&wheel, "a zip archive or Python wheel"),
        (&gzip, "a zip archive or Python wheel in a gzip file"),
    ] {
        let unpacked = unpack(file, DEFAULT_LIMIT).unwrap();
        assert_eq!(unpacked.format, InputFormat::Archive);
        assert_eq!(unpacked.to_string(), name);
        holds_the_kernel(&unpacked.content.unwrap());
        let code = unpack(file, 1000).unwrap_err().code();
        assert_eq!(code, Code::ContentTooLarge);
    }
    let object = unpack(&data("k.o"), DEFAULT_LIMIT).unwrap();
    assert_eq!(
        (object.format, object.content),
        (InputFormat::ElfObject, None)
    );
}

/// The codes of the errors of a file, those of contents included.
fn codes(bytes: &[u8]) -> Vec<Code> {
    let found = entries(bytes).map(|entry| entry?.content(bytes, DEFAULT_LIMIT).map(drop));
    found
        .filter_map(|result| Some(result.err()?.code()))
        .collect()
}

fn with(name: &str, at: usize, new: &[u8]) -> Vec<u8> {
    let mut bytes = data(name);
    bytes[at..at + new.len()].copy_from_slice(new);
    bytes
}

#[test]
fn damaged_fatbins() {
    let truncated = [Code::TruncatedContainer];
    let malformed = [Code::MalformedContainer];
    for len in [4, 12, 15, 40, 79, 200] {
        assert_eq!(codes(&data("none.fatbin")[..len]), truncated, "{len} bytes");
    }
    // After the first of two entries.
    assert_eq!(codes(&data("none.fatbin")[..0x300]), truncated);
    assert_eq!(
        entries(&data("none.fatbin")[..0x300])
            .filter(Result::is_ok)
            .count(),
        1
    );
    assert_eq!(
        codes(&with("none.fatbin", 4, &[2])),
        [Code::UnsupportedContainer]
    );
    assert_eq!(
        codes(&with("none.fatbin", 6, &[32])),
        [Code::UnsupportedContainer]
    );
    assert_eq!(codes(&with("none.fatbin", 0x14, &[63])), malformed);
    assert_eq!(codes(&with("size.fatbin", 0x20, &[0xff; 4])), malformed);
    assert_eq!(codes(&with("none.fatbin", 0x18, &[0xff; 8])), truncated);
    assert_eq!(
        codes(&with("size.fatbin", 0x38, &[0; 8])),
        [Code::UnsupportedContainer]
    );
    for name in ["size.fatbin", "speed.fatbin"] {
        assert_eq!(
            codes(&with(name, 0x60, &[0xff; 16])),
            [Code::CorruptContent],
            "{name}"
        );
        assert_eq!(
            codes(&with(name, 0x48, &[1])),
            [Code::CorruptContent],
            "{name}"
        );
    }
    // A fatbin after a damaged one is found.
    let bytes = [with("none.fatbin", 0x14, &[63]), data("variants.fatbin")].concat();
    assert_eq!(
        (codes(&bytes), entries(&bytes).filter(Result::is_ok).count()),
        (malformed.to_vec(), 2)
    );
}

#[test]
fn damaged_archives_and_objects() {
    let bytes = data("k.a");
    assert_eq!(codes(&bytes[..bytes.len() - 2]), [Code::TruncatedContainer]);
    assert_eq!(codes(&bytes[..80]), [Code::TruncatedContainer]);
    assert_eq!(codes(b"!<arch>\nno header"), [Code::TruncatedContainer]);
    assert_eq!(
        codes(&with("k.a", 8 + 48, b"x")),
        [Code::MalformedContainer]
    );
    let windows = windows(&data("none.fatbin"), true, b".nv_fatb");
    let error = entries(&windows[..windows.len() - 8])
        .find_map(Result::err)
        .unwrap();
    assert_eq!(
        (error.code(), error.offset()),
        (Code::TruncatedContainer, 0x170)
    );
    assert_eq!(
        error.message(),
        "a section with fatbins ends after the end of the file"
    );
    let bytes = archive(&[("broken.o", &data("none.fatbin")[..0x300])]);
    let error = entries(&bytes).find_map(Result::err).unwrap();
    assert_eq!(error.member(), Some("broken.o"));
}

#[test]
fn files_without_fatbins() {
    for name in ["k.cubin", "kernel.cu", "kernel.sm_90.ptx"] {
        assert_eq!(names(&data(name)), [""; 0], "{name}");
    }
    // The start of a fatbin by chance.
    let mut bytes = vec![0; 4096];
    bytes[64..68].copy_from_slice(&[0x50, 0xed, 0x55, 0xba]);
    bytes[128..136].copy_from_slice(&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
    bytes[136] = 100;
    assert_eq!((names(&bytes), codes(&bytes)), (vec![], vec![]));
}
