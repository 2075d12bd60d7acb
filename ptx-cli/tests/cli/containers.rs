//! PTX in binary files, and files that are something else.

use std::fs;
use std::path::Path;

use crate::support::{Folder, GOOD, expect, objects, ptx, with_input};

fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ptx-container/tests/data");
    folder.join(name).to_str().unwrap().to_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().file_name());
    let mut names: Vec<_> = files.map(|f| f.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn list_shows_what_is_inside() {
    let folder = Folder::new("list");
    let file = folder.file("k.a", fs::read(data("k.a")).unwrap());
    let run = ptx(&["list", &file]);
    let found: Vec<Vec<&str>> = run
        .out
        .lines()
        .map(|l| l.split_whitespace().collect())
        .collect();
    assert_eq!(found[0], [&format!("{file}:"), "an", "archive"]);
    assert_eq!(
        found[1].join(" "),
        "Name Version Size In file Compression Flags Fatbin Member"
    );
    assert_eq!(
        found[2].join(" "),
        "1.sm_90.ptx 9.2 668 330 zstd 64-bit linux 0 k.o"
    );
    assert_eq!(
        found[3].join(" "),
        "1.sm_90.cubin 1.8 3832 951 zstd 64-bit linux 0 k.o"
    );
    assert_eq!(found.len(), 6);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    // Other columns where there is something to say.
    let run = ptx(&["list", &data("lineinfo.fatbin")]);
    assert!(
        run.out.contains("Source") && run.out.contains("-O1  --generate-line-info"),
        "{}",
        run.out
    );
}

#[test]
fn list_as_json() {
    let run = ptx(&["list", "--json", &data("size.fatbin"), &data("k.cubin")]);
    let [fatbin, cubin] = &objects(&run.out)[..] else {
        panic!("{}", run.out)
    };
    assert_eq!(
        (&fatbin["format"], &fatbin["gzip"]),
        (&"fatbin".into(), &false.into())
    );
    let ptx = &fatbin["modules"][0];
    let expected = serde_json::json!({
        "name": "1.sm_90.ptx", "kind": "ptx", "fatbin": 0, "index": 0, "member": null, "offset": 16, "version": "9.2", "target": "sm_90",
        "size": 668, "stored_size": 330, "compression": "zstd", "flags": ["64-bit", "linux"], "options": "", "identifier": "",
    });
    assert_eq!(*ptx, expected);
    assert_eq!(
        (&cubin["format"], &cubin["modules"]),
        (&"cubin".into(), &serde_json::json!([]))
    );
    assert_eq!(run.status, 2);
}

#[test]
fn extract_writes_new_files() {
    let folder = Folder::new("list-extract");
    let to = folder.0.join("deep/er");
    let run = ptx(&["list", "--extract", to.to_str().unwrap(), &data("k.a")]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(
        names(&to),
        ["k.1.sm_90.ptx", "k.2.sm_80.ptx", "k.3.sm_90.ptx"]
    );
    assert!(
        fs::read(to.join("k.1.sm_90.ptx")).unwrap() == fs::read(data("kernel.sm_90.ptx")).unwrap()
    );
    // Again, with machine code: what is there stays.
    fs::write(to.join("k.1.sm_90.ptx"), "mine").unwrap();
    let run = ptx(&[
        "list",
        "--extract",
        to.to_str().unwrap(),
        "--all",
        &data("k.a"),
    ]);
    assert_eq!(run.status, 2);
    assert!(
        run.err.contains("k.1.sm_90.ptx: File exists"),
        "{}",
        run.err
    );
    assert!(run.err.contains("k.a: 1 file written"), "{}", run.err);
    assert!(fs::read(to.join("k.1.sm_90.cubin")).unwrap() == fs::read(data("k.cubin")).unwrap());
    assert_eq!(fs::read(to.join("k.1.sm_90.ptx")).unwrap(), b"mine");
}

/// Files with equal names in several directories, or with other extensions, are all extracted.
#[test]
fn extracted_files_have_distinct_names() {
    let folder = Folder::new("list-distinct");
    let content = fs::read(data("libk.so")).unwrap();
    let mut paths = Vec::new();
    for name in ["in/debug/k.so", "in/release/k.so", "in/K.a", "in/other.so"] {
        paths.push(folder.file(name, &content));
    }
    let to = folder.0.join("out");
    let mut arguments = vec!["list", "--extract", to.to_str().unwrap()];
    arguments.extend(paths.iter().map(String::as_str));
    let run = ptx(&arguments);
    assert_eq!(run.status, 0, "{}", run.err);
    let mut stems: Vec<String> = names(&to)
        .iter()
        .map(|name| name.split(".1.").next().unwrap().to_owned())
        .collect();
    stems.dedup();
    assert_eq!(stems, ["K.a", "debug_k.so", "other", "release_k.so"]);
}

#[test]
fn commands_read_the_modules() {
    let file = data("k.a");
    let run = ptx(&["debug", "parse", "--json", &file]);
    let found: Vec<_> = objects(&run.out)
        .iter()
        .map(|l| l["file"].as_str().unwrap().to_owned())
        .collect();
    let name = |module: &str| format!("{file}!{module}");
    assert_eq!(
        found,
        [
            name("1.sm_90.ptx"),
            name("2.sm_80.ptx"),
            name("3.sm_90.ptx")
        ]
    );
    for (choice, expected) in [
        ("2.sm_80.ptx", &["2.sm_80.ptx"][..]),
        ("2", &["2.sm_80.ptx"]),
        ("sm_90", &["1.sm_90.ptx", "3.sm_90.ptx"]),
        ("k2.o", &["2.sm_80.ptx", "3.sm_90.ptx"]),
        ("*sm_8*", &["2.sm_80.ptx"]),
    ] {
        let run = ptx(&["debug", "parse", "--json", &name(choice)]);
        let found: Vec<_> = objects(&run.out)
            .iter()
            .map(|l| l["file"].as_str().unwrap().to_owned())
            .collect();
        let expected: Vec<_> = expected.iter().map(|module| name(module)).collect();
        assert_eq!(found, expected, "{choice}");
    }
    for name in ["size.fatbin", "speed.fatbin", "k.o", "libk.so"] {
        let run = ptx(&["check", &data(name)]);
        expect(&run, 0, "", "");
    }
    let run = ptx(&["stats", "--json", &name("3")]);
    assert_eq!(objects(&run.out)[0]["per_function"][0]["name"], "other");
}

#[test]
fn standard_input_may_be_a_container() {
    let run = with_input(
        &["debug", "parse", "-"],
        &fs::read(data("variants.fatbin")).unwrap(),
    );
    assert!(
        run.out.contains("<stdin>!1.sm_100f.ptx") && run.out.contains("<stdin>!2.sm_90a.ptx"),
        "{}",
        run.out
    );
    let run = with_input(&["list", "-"], &fs::read(data("k.o")).unwrap());
    assert!(run.out.starts_with("-: an ELF object\n"), "{}", run.out);
}

/// A pipe can be read only once, so that what it contains is not tried first.
#[cfg(target_os = "linux")]
#[test]
fn pipes_are_read_once() {
    let run = with_input(&["check", "/dev/stdin"], GOOD.as_bytes());
    expect(&run, 0, "", "");
    let object = fs::read(data("k.o")).unwrap();
    let run = with_input(&["debug", "parse", "/dev/stdin"], &object);
    assert!(
        run.out.contains("/dev/stdin!1.sm_90.ptx"),
        "{}{}",
        run.out,
        run.err
    );
}

#[test]
fn a_choice_that_fits_nothing() {
    let file = data("k.a");
    let run = ptx(&["check", &format!("{file}!sm_70")]);
    let err = format!(
        "ptxkit: {file}: `sm_70` is not one of the 3 modules, such as `1.sm_90.ptx`; `ptxkit list` shows them\n"
    );
    expect(&run, 2, "", &err);
    let source = data("kernel.sm_90.ptx");
    let run = ptx(&["check", &format!("{source}!1")]);
    let err =
        format!("ptxkit: {source}: PTX text, which does not contain modules to choose from\n");
    expect(&run, 2, "", &err);
}

#[test]
fn containers_are_not_rewritten() {
    let folder = Folder::new("rewrite-container");
    let file = folder.file("k.o", fs::read(data("k.o")).unwrap());
    let run = ptx(&["fmt", "--write", &file]);
    let err = format!(
        "ptxkit: {file} contains PTX, but is not a PTX file: use `--output` instead of `--write`\n"
    );
    expect(&run, 2, "", &err);
    assert!(fs::read(&file).unwrap() == fs::read(data("k.o")).unwrap());
    // One module needs no choice, several do.
    let run = ptx(&["minify", &file]);
    assert!(
        run.status == 0 && run.out.starts_with(".version 9.2"),
        "{}",
        run.err
    );
    let run = ptx(&["minify", &data("k.a")]);
    assert_eq!(run.status, 2);
    assert!(
        run.err.contains("choose one, such as `") && run.err.contains("k.a!1.sm_90.ptx`"),
        "{}",
        run.err
    );
    let to = folder.0.join("out");
    let run = ptx(&["minify", "-o", to.to_str().unwrap(), &data("k.a")]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(
        names(&to),
        ["k.1.sm_90.ptx", "k.2.sm_80.ptx", "k.3.sm_90.ptx"]
    );
}

/// A gzip file with one stored block.
fn gzip(content: &[u8]) -> Vec<u8> {
    let len = u16::try_from(content.len()).unwrap();
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1];
    bytes.extend(len.to_le_bytes());
    bytes.extend((!len).to_le_bytes());
    bytes.extend(content);
    let crc = content.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    });
    bytes.extend((!crc).to_le_bytes());
    bytes.extend(u32::from(len).to_le_bytes());
    bytes
}

#[test]
fn compressed_files() {
    let folder = Folder::new("gzip");
    let text = folder.file("good.ptx.gz", gzip(GOOD.as_bytes()));
    expect(&ptx(&["check", &text]), 0, "", "");
    let run = ptx(&["fmt", "--write", &text]);
    assert!(
        run.status == 2 && run.err.contains("use `--output` instead of `--write`"),
        "{}",
        run.err
    );
    let object = folder.file("k.o.gz", gzip(&fs::read(data("k.o")).unwrap()));
    let run = ptx(&["debug", "parse", &object]);
    assert!(
        run.status == 0 && run.out.contains("k.o.gz!1.sm_90.ptx"),
        "{}{}",
        run.out,
        run.err
    );
    let run = ptx(&["list", &object]);
    assert!(
        run.out
            .starts_with(&format!("{object}: an ELF object in a gzip file\n")),
        "{}",
        run.out
    );
    let to = folder.0.join("out");
    let run = ptx(&["fmt", "-o", to.to_str().unwrap(), &text, &object]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(names(&to), ["good.ptx", "k.o.1.sm_90.ptx"]);
}

#[test]
fn other_files_are_named() {
    let folder = Folder::new("other-files");
    let utf16: Vec<u8> = GOOD.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: [(&str, &[u8], &str); 6] = [
        (
            "k.cubin",
            &fs::read(data("k.cubin")).unwrap(),
            "a cubin, which is machine code without PTX",
        ),
        ("wide.ptx", &utf16, "text in UTF-16"),
        ("k.bc", b"BC\xc0\xde\x35\x14\0\0", "LLVM bitcode"),
        (
            "k.bc.gz",
            &gzip(b"BC\xc0\xde\x35\x14\0\0"),
            "LLVM bitcode in a gzip file",
        ),
        (
            "k.cu",
            b"__global__ void k() {}\n",
            "C++ or CUDA C++ source",
        ),
        ("zeros", &[0; 100], "a binary file of an unknown format"),
    ];
    for (name, content, what) in cases {
        let file = folder.file(name, content);
        let err = format!("ptxkit: {file}: PTX1101: expected PTX, found {what}\n");
        expect(&ptx(&["check", &file]), 2, "", &err);
        let run = ptx(&["list", &file]);
        expect(&run, 2, &format!("{file}: {what}\n"), &err);
    }
    let source = data("kernel.sm_90.ptx");
    expect(
        &ptx(&["list", &source]),
        0,
        &format!("{source}: PTX text\n"),
        "",
    );
    // In a directory, too.
    let only = Folder::new("other-files-in-a-folder");
    let file = only.file("wide.ptx", &utf16);
    let err = format!("ptxkit: {file}: PTX1101: expected PTX, found text in UTF-16\n");
    expect(&ptx(&["check", only.0.to_str().unwrap()]), 2, "", &err);
    assert_eq!(ptx(&["explain", "PTX1101"]).status, 0);
}

#[test]
fn containers_without_ptx() {
    let folder = Folder::new("without-ptx");
    let whole = fs::read(data("variants.fatbin")).unwrap();
    let mut others = whole.clone();
    // Both entries become machine code.
    let first = 16;
    others[first] = 2;
    let next = first + 80 + usize::from(u16::from_le_bytes([whole[first + 8], whole[first + 9]]));
    others[next] = 2;
    let file = folder.file("others.fatbin", &others);
    let err = format!(
        "ptxkit: {file}: PTX1101: expected PTX, found a fatbin without PTX, but with 2 other modules\n"
    );
    expect(&ptx(&["check", &file]), 2, "", &err);
    assert_eq!(ptx(&["list", &file]).status, 0);
}

#[test]
fn damaged_containers() {
    let folder = Folder::new("damaged-containers");
    let whole = fs::read(data("variants.fatbin")).unwrap();
    let file = folder.file("cut.fatbin", &whole[..1000]);
    let err = format!(
        "ptxkit: {file}: PTX1102: byte 0x2f8: an entry is larger than what is left of its fatbin\n"
    );
    let run = ptx(&["debug", "parse", &file]);
    assert_eq!((run.status, run.err), (2, err.clone()));
    assert!(run.out.contains("!1.sm_100f.ptx"), "{}", run.out);
    let run = ptx(&["list", "--json", &file]);
    assert_eq!((run.status, run.err), (2, err));
    assert_eq!(objects(&run.out)[0]["errors"][0]["code"], "PTX1102");
    let mut broken = fs::read(data("size.fatbin")).unwrap();
    broken[0x60..0x70].fill(0xff);
    let file = folder.file("broken.fatbin", broken);
    let run = ptx(&["check", &file]);
    assert!(
        run.status == 2
            && run
                .err
                .contains("PTX1105: byte 0x10: 1.sm_90.ptx: invalid zstd"),
        "{}",
        run.err
    );
    let missing = folder.0.join("missing.so!sm_90");
    assert_eq!(ptx(&["check", missing.to_str().unwrap()]).status, 2);
}

/// A heading of `cuobjdump -ptx`.
fn heading(kind: &str, target: &str) -> String {
    format!(
        "\nFatbin {kind} code:\n================\narch = {target}\ncode version = [9,2]\nhost = linux\ncompile_size = 64bit\ncompressed\n\n"
    )
}

#[test]
fn text_of_cuobjdump_is_a_container() {
    let folder = Folder::new("cuobjdump");
    let second = GOOD.replace("sm_90", "sm_100a").replace("8.0", "8.6");
    let dump = [
        heading("elf", "sm_90"),
        heading("ptx", "sm_90"),
        GOOD.to_owned(),
        heading("ptx", "sm_100"),
        second,
    ]
    .concat();
    let file = folder.file("dump.ptx", &dump);
    let run = ptx(&["list", "--json", &file]);
    let list = objects(&run.out).remove(0);
    assert_eq!((run.status, &list["format"]), (0, &"cuobjdump".into()));
    let names: Vec<&str> = list["modules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["1.sm_90.ptx", "2.sm_100a.ptx"]);
    // Each module is checked for itself: the same kernel is not declared twice.
    expect(&ptx(&["check", &file]), 0, "", "");
    let windows = folder.file("windows/dump.ptx", dump.replace('\n', "\r\n"));
    expect(&ptx(&["check", &windows]), 0, "", "");
    // Also in directories, and chosen by name.
    let run = ptx(&["debug", "parse", "--json", folder.0.to_str().unwrap()]);
    assert_eq!((run.status, objects(&run.out).len()), (0, 4), "{}", run.err);
    let chosen = format!("{file}!2.sm_100a.ptx");
    let run = ptx(&["retarget", "--target", "sm_103a", &chosen]);
    assert!(
        run.out.starts_with(".version 8.8\n.target sm_103a\n"),
        "{}",
        run.out
    );
    let run = ptx(&["run", "--grid", "1", "--block", "1", &chosen, "scratch:64"]);
    assert_eq!(run.status, 0, "{}", run.err);
}

#[test]
fn list_of_a_directory() {
    let folder = Folder::new("list-directory");
    folder.file("lib/k.o", fs::read(data("k.o")).unwrap());
    folder.file("size.fatbin", fs::read(data("size.fatbin")).unwrap());
    folder.file("notes.txt", "nothing");
    folder.file("a.ptx", GOOD);
    let run = ptx(&["list", "--json", folder.0.to_str().unwrap()]);
    let files = objects(&run.out);
    assert_eq!((run.status, files.len()), (0, 2), "{}", run.err);
    let empty = Folder::new("list-empty-directory");
    let run = ptx(&["list", empty.0.to_str().unwrap()]);
    assert_eq!(run.status, 2);
    assert!(run.err.contains("no file with PTX"), "{}", run.err);
}

/// A zip archive with stored files.
fn zip(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut all, mut directory) = (Vec::new(), Vec::new());
    let numbers = |bytes: &mut Vec<u8>, numbers: &[(usize, usize)]| {
        for (value, width) in numbers {
            bytes.extend_from_slice(&value.to_le_bytes()[..*width]);
        }
    };
    for (name, content) in files {
        let (at, size) = (all.len(), content.len());
        let common = [
            (0, 2),
            (0, 2),
            (0, 4),
            (0, 4),
            (size, 4),
            (size, 4),
            (name.len(), 2),
            (0, 2),
        ];
        all.extend_from_slice(b"PK\x03\x04\x14\0");
        numbers(&mut all, &common);
        all.extend_from_slice(name.as_bytes());
        all.extend_from_slice(content);
        directory.extend_from_slice(b"PK\x01\x02\x14\0\x14\0");
        numbers(&mut directory, &common);
        numbers(&mut directory, &[(0, 2), (0, 2), (0, 2), (0, 4), (at, 4)]);
        directory.extend_from_slice(name.as_bytes());
    }
    let at = all.len();
    all.extend_from_slice(&directory);
    all.extend_from_slice(b"PK\x05\x06");
    let count = files.len();
    numbers(
        &mut all,
        &[
            (0, 2),
            (0, 2),
            (count, 2),
            (count, 2),
            (directory.len(), 4),
            (at, 4),
            (0, 2),
        ],
    );
    all
}

#[test]
fn wheels_are_read() {
    let folder = Folder::new("wheel");
    let files = [
        ("k/__init__.py", b"import os".to_vec()),
        ("k/libk.so", fs::read(data("libk.so")).unwrap()),
        ("k/size.fatbin", fs::read(data("size.fatbin")).unwrap()),
    ];
    let wheel = folder.file("k.whl", zip(&files));
    let run = ptx(&["list", "--json", &wheel]);
    let list = objects(&run.out).remove(0);
    assert_eq!(
        (run.status, &list["format"]),
        (0, &"zip".into()),
        "{}",
        run.err
    );
    let modules = list["modules"].as_array().unwrap();
    assert!(modules.iter().any(|m| m["member"] == "k/libk.so"));
    assert!(
        modules
            .iter()
            .any(|m| m["member"] == "k/size.fatbin" && m["kind"] == "ptx")
    );
    let run = ptx(&["check", &wheel]);
    assert_eq!(run.status, 0, "{}{}", run.out, run.err);
    assert_eq!(ptx(&["list", folder.0.to_str().unwrap()]).status, 0);
    let damaged = folder.file("damaged.whl", b"PK\x03\x04\0\0");
    let run = ptx(&["check", &damaged]);
    assert_eq!(run.status, 2);
    assert!(run.err.contains("PTX1103"), "{}", run.err);
}

/// In a directory, machine code without PTX is accepted, and texts are counted.
#[test]
fn a_directory_may_have_only_machine_code_and_texts() {
    let folder = Folder::new("list-machine-code");
    folder.file("k.cubin", fs::read(data("k.cubin")).unwrap());
    folder.file("a.ptx", GOOD);
    folder.file("b/a.ptx", GOOD);
    let run = ptx(&["list", folder.0.to_str().unwrap()]);
    assert_eq!(
        (run.status, run.err.as_str()),
        (0, "0 PTX modules in 0 of 1 file, 1 cubin; 2 PTX texts\n")
    );
    assert!(run.out.contains("k.cubin: a cubin"), "{}", run.out);
}
