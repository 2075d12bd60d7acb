//! What all commands have in common for a person: formats, help, success lines, names and numbers.

use std::fs;

use crate::support::{BAD, Folder, GOOD, command, objects, ptx, with_input};

const COMMANDS: [&str; 23] = [
    "check",
    "lint",
    "gate",
    "requires",
    "stats",
    "report",
    "source",
    "cfg",
    "callgraph",
    "grep",
    "diff",
    "dump",
    "explain",
    "run",
    "fmt",
    "clean",
    "strip",
    "rename",
    "retarget",
    "extract",
    "link",
    "list",
    "instrument",
];

#[test]
fn json_and_format_json_are_the_same() {
    let folder = Folder::new("same-format");
    let file = folder.file("a.ptx", GOOD);
    for arguments in [
        &["check"][..],
        &["lint"],
        &["requires"],
        &["stats"],
        &["report"],
        &["source"],
        &["cfg"],
        &["callgraph"],
        &["dump"],
        &["fmt"],
        &["clean"],
        &["strip"],
        &["extract", "--function", "k"],
        &["grep", "*"],
        &["gate", "--max", "loops=9", "--no-config"],
        &["run", "--function", "k"],
    ] {
        let (name, options) = arguments.split_first().unwrap();
        let operands: &[&str] = match *name {
            "run" => &[&file, "scratch:64"],
            "grep" => &["*", &file],
            _ => &[&file],
        };
        let options = if *name == "grep" { &[] } else { options };
        let json = ptx(&[&[*name, "--json"], options, operands].concat());
        let format = ptx(&[&[*name, "--format", "json"], options, operands].concat());
        assert_eq!(json.out, format.out, "{name}");
        assert_eq!(json.status, format.status, "{name}");
        assert!(!objects(&json.out).is_empty(), "{name}: {}", json.err);
        let both = ptx(&[&[*name, "--json", "--format", "json"], options, operands].concat());
        assert_eq!(both.status, 2, "{name}");
    }
    for name in COMMANDS {
        let help = ptx(&["help", name]).out;
        assert!(help.contains("--json"), "{name}");
        assert!(help.contains("--format <FORMAT>"), "{name}");
    }
}

#[test]
fn the_help_has_groups() {
    let help = ptx(&["help"]).out;
    let titles: Vec<&str> = help
        .lines()
        .filter(|line| line.ends_with(':') && !line.starts_with(' '))
        .collect();
    assert_eq!(
        titles,
        [
            "Check:",
            "Analyze:",
            "Run:",
            "Rewrite:",
            "Combine:",
            "Unpack:",
            "Debug:",
            "Help:",
            "Options:",
            "Examples:"
        ]
    );
    assert!(
        help.contains("\n3 an error while `run` executed a kernel"),
        "{help}"
    );
    assert_eq!(ptx::<&str>(&[]).status, 2);
    let version = ptx(&["--version"]).out;
    assert!(version.starts_with("ptxkit 0."), "{version}");
    assert!(version.contains("\nPTX: up to "), "{version}");
    assert!(version.contains("\nfeatures: "), "{version}");
    assert_eq!(ptx(&["-V"]).out.lines().count(), 1);
}

#[test]
fn success_is_one_line_on_standard_error() {
    let folder = Folder::new("success");
    let file = folder.file("in/a.ptx", GOOD);
    folder.file("in/b.ptx", GOOD);
    let root = folder.0.join("in");
    let root = root.to_str().unwrap();
    let out = folder.0.join("out");
    let out = out.to_str().unwrap();
    let linked = folder.0.join("linked.ptx");
    let linked = linked.to_str().unwrap();
    for (arguments, expected) in [
        (&["check", root][..], "2 files, no errors\n".to_owned()),
        (
            &["lint", "--only", "dead-code", root],
            "2 files, no findings\n".to_owned(),
        ),
        (
            &["strip", root, "-o", out],
            format!("2 files written to {out}\n"),
        ),
        (&["fmt", "--check", out], String::new()),
        (
            &["link", &file, "-o", linked],
            format!("1 file linked to {linked}\n"),
        ),
        (
            &["clean", "--dead", &file],
            format!("{file}: nothing to change\n"),
        ),
        (
            &[
                "retarget",
                "--target",
                "sm_100",
                "--ptx-version",
                "8.6",
                &file,
            ],
            format!("{file}: PTX 8.0 and sm_90 became PTX 8.6 and sm_100\n"),
        ),
    ] {
        let run = ptx(arguments);
        assert_eq!(run.success, expected, "{arguments:?}");
        let quiet = ptx(&[arguments, &["--quiet"]].concat());
        assert_eq!(
            (quiet.out, quiet.err.as_str()),
            (run.out, ""),
            "{arguments:?}"
        );
    }
    let run = ptx(&["run", &file, "scratch:64"]);
    assert!(
        run.success.starts_with("kernel `k`: 5 warp steps in "),
        "{}",
        run.err
    );
    let run = ptx(&["check", "--json", root]);
    assert_eq!(run.err, "");
    let run = with_input(&["check", "-"], BAD.as_bytes());
    assert_eq!(run.err, "1 error in 1 of 1 file\n");
}

/// Two loads of which one is strided, in a kernel for each file.
const STRIDED: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<9>;
    .reg .b64 %d<9>;
    ld.param.u64 %d1, [p];
    cvta.to.global.u64 %d2, %d1;
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d3, %r1, 64;
    add.s64 %d4, %d2, %d3;
    ld.global.u32 %r2, [%d4];
    st.global.u32 [%d4+4], %r2;
    ret;
}
";

#[test]
fn lints_are_counted() {
    let folder = Folder::new("lint-stat");
    folder.file("a.ptx", STRIDED);
    folder.file("b.ptx", STRIDED);
    folder.file("c.ptx", GOOD);
    let root = folder.0.to_str().unwrap();
    let run = ptx(&["lint", "--stat", root]);
    let table: Vec<Vec<&str>> = run
        .out
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(table[0], ["Lint", "Definite", "Possible", "Files"]);
    let row = table.iter().find(|row| row[0] == "uncoalesced").unwrap();
    assert_eq!(row[3..], ["2"], "{}", run.out);
    assert_eq!(
        row[1].parse::<u32>().unwrap() + row[2].parse::<u32>().unwrap(),
        4
    );
    // The same table follows the findings in several files.
    let all = ptx(&["lint", root]);
    assert!(all.err.ends_with(&run.out), "{}", all.err);
    assert!(all.out.contains("[uncoalesced, "), "{}", all.out);
    let refused = ptx(&["lint", "--stat", "--json", root]);
    assert_eq!(refused.status, 2);
}

#[test]
fn unknown_extensions_are_usage_errors() {
    let folder = Folder::new("extensions");
    let file = folder.file("a.ptx", GOOD);
    for (name, extension, known) in [
        ("cfg", "png", ".svg"),
        ("report", "xyz", ".html"),
        #[cfg(feature = "table")]
        ("table", "txt", ".parquet"),
    ] {
        let path = folder.0.join(format!("out.{extension}"));
        let mut arguments = vec![name, &file, "-o", path.to_str().unwrap()];
        if name == "table" {
            arguments.extend(["--table", "functions"]);
        }
        let run = ptx(&arguments);
        assert_eq!(run.status, 2, "{name}");
        assert!(
            run.err.contains("the extension selects no format"),
            "{}",
            run.err
        );
        assert!(run.err.contains(known), "{}", run.err);
        assert!(!path.exists(), "{name}");
    }
    let svg = folder.0.join("out.SVG");
    let run = ptx(&["cfg", &file, "-o", svg.to_str().unwrap()]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(fs::read_to_string(svg).unwrap().contains("<svg"));
}

const SCALARS: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 u, .param .s32 s, .param .f32 f, .param .b32 b, .param .align 4 .b8 t[8])
{
    .reg .b32 %r<5>;
    .reg .b64 %d<2>;
    ld.param.u64 %d1, [p];
    ld.param.u32 %r1, [u];
    ld.param.s32 %r2, [s];
    ld.param.b32 %r3, [f];
    ld.param.b32 %r4, [b];
    st.u32 [%d1], %r1;
    st.u32 [%d1+4], %r2;
    st.u32 [%d1+8], %r3;
    st.u32 [%d1+12], %r4;
    ret;
}
";

#[test]
fn numbers_have_the_type_of_the_parameter() {
    let folder = Folder::new("plain-numbers");
    let path = folder.0.join("out.npy");
    let out = format!("out:{}:u32[4]", path.to_str().unwrap());
    let launch = |values: [&str; 5]| {
        let arguments = [&["run", "-", &out], &values[..]].concat();
        with_input(&arguments, SCALARS.as_bytes())
    };
    let words = || {
        let bytes = fs::read(&path).unwrap();
        let data = &bytes[bytes.len() - 16..];
        let word = |chunk: &[u8]| u32::from_le_bytes(chunk.try_into().unwrap());
        data.chunks(4).map(word).collect::<Vec<_>>()
    };
    let run = launch(["1000", "-5", "2.5", "0x10", "bytes:0011223344556677"]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(words(), [1000, 0xffff_fffb, 0x4020_0000, 16]);
    // Signed, unsigned and untyped numbers of one width are interchangeable.
    let run = launch(["s32:7", "u32:8", "f32:1", "f32:1", "bytes:0011223344556677"]);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_eq!(words(), [7, 8, 0x3f80_0000, 0x3f80_0000]);
    for (values, message) in [
        (
            ["-1", "0", "0", "0", "bytes:0011223344556677"],
            "parameter 2 `u`",
        ),
        (
            ["1.5", "0", "0", "0", "bytes:0011223344556677"],
            "is not an integer",
        ),
        (
            ["1", "0", "0", "1.5", "bytes:0011223344556677"],
            "write `f32:1.5`",
        ),
        (
            ["1", "0", "0", "0", "5"],
            "expected `bytes:` or `struct:` with 8 bytes",
        ),
    ] {
        let run = launch(values);
        assert_eq!(run.status, 2, "{values:?}");
        assert!(run.err.contains(message), "{}", run.err);
    }
    let run = with_input(&["run", "-", "a.npy"], SCALARS.as_bytes());
    assert!(run.err.contains("did you mean `in:a.npy`?"), "{}", run.err);
}

#[test]
fn targets_hints_and_lists_are_explained() {
    for (word, expected) in [
        ("sm_90a", "sm_90a: target"),
        ("bank-conflict", "PTX1514"),
        ("dead-code", "PTX1512"),
        ("nounroll", ".pragma: directive"),
        (".pragma nounroll", ".pragma: directive"),
        (".pragma \"nounroll\";", ".pragma: directive"),
        ("uninitialized-register", "PTX1509"),
    ] {
        let run = ptx(&["explain", word]);
        assert_eq!(run.status, 0, "{word}: {}", run.err);
        assert!(run.out.contains(expected), "{word}: {}", run.out);
    }
    let list = ptx(&["explain"]).out;
    for word in [
        "Instructions",
        " setp",
        " .maxntid",
        " %laneid",
        " sm_100f",
        "bank-conflict",
    ] {
        assert!(list.contains(word), "{word}");
    }
    assert!(list.contains("PTX0104 unknown-opcode"), "{list}");
    let page = ptx(&["explain", "PTX0104"]).out;
    assert!(
        page.starts_with("# PTX0104") && page.contains("```"),
        "{page}"
    );
    let formatted = ptx(&["explain", "PTX0104", "--color", "always"]).out;
    assert!(
        !formatted.contains("```") && formatted.contains("\u{1b}[1m"),
        "{formatted}"
    );
}

#[test]
fn colors_respect_the_environment() {
    let folder = Folder::new("colors");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&["grep", "ld*", &file, "--color", "always"]);
    assert!(
        run.out.contains("\u{1b}[31m\u{1b}[1mld.param.u64\u{1b}[0m"),
        "{}",
        run.out
    );
    let plain = ptx(&["grep", "ld*", &file]);
    assert!(!plain.out.contains('\u{1b}'), "{}", plain.out);
    assert_eq!(console_free(&run.out), plain.out);
}

/// A text without the codes of colors.
fn console_free(text: &str) -> String {
    let mut plain = String::new();
    for (index, part) in text.split('\u{1b}').enumerate() {
        let rest = if index == 0 {
            part
        } else {
            part.split_once('m').unwrap().1
        };
        plain += rest;
    }
    plain
}

#[test]
fn tables_fit_the_width() {
    let folder = Folder::new("widths");
    let file = folder.file("a.ptx", STRIDED);
    let output = command(&["report", &file])
        .env("COLUMNS", "80")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = text.lines().filter(|line| !line.contains(&file));
    for line in rows {
        assert!(line.chars().count() <= 80, "{line}");
    }
    // Columns that do not fit are below the row, whole words at a time.
    assert!(text.contains("\n      Address: p + 64*%tid.x\n"), "{text}");
}

#[test]
fn instructions_in_source_listings_are_ptx() {
    let folder = Folder::new("source-names");
    let text = GOOD.replace(
        " k(.param .u64 p)",
        " _Z3addPi(.param .u64 _Z3addPi_param_0)",
    );
    let file = folder.file("a.ptx", text.replace("[p]", "[_Z3addPi_param_0]"));
    let run = ptx(&["source", &file]);
    assert!(run.out.starts_with("Kernel add(int*)\n"), "{}", run.out);
    assert!(
        run.out.contains("ld.param.u64 %rd1, [_Z3addPi_param_0];"),
        "{}",
        run.out
    );
}

#[test]
fn metrics_are_echoed_as_typed() {
    let folder = Folder::new("metric-names");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&["gate", "--no-config", "--max", "pressure=1", &file]);
    assert!(run.out.contains("`pressure` of kernel `k`"), "{}", run.out);
    assert!(run.out.contains("--max pressure=1"), "{}", run.out);
    assert!(ptx(&["help", "diff"]).out.contains("--ptxas"));
    assert!(
        ptx(&["help", "gate"])
            .out
            .contains("registers, ptxas.registers")
    );
}

#[test]
fn machine_code_and_index_registers_have_hints() {
    let module = |line: &str| GOOD.replace("add.s32 %r2, %r1, %r1;", line);
    for (line, hint) in [
        ("mov.u32 %r2, %tid;", "%tid.x"),
        ("LDG.E R1, [R2];", "use `ld`"),
        ("LDGSTS.E.128 [R1], [R2.64];", "is machine code (SASS)"),
        ("HMMA.16816.F32 R4, R8, R2, R4;", "mma.sync"),
        ("S2UR UR4, SR_CTAID.X;", "%tid.x"),
        ("LOP3.LUT R0, R1, R2, RZ, 0xc0, !PT;", "lop3"),
    ] {
        let run = with_input(&["check", "-"], module(line).as_bytes());
        assert!(run.out.contains(hint), "{line}: {}", run.out);
    }
}

#[test]
fn findings_of_a_function() {
    let folder = Folder::new("findings-of-function");
    let second = STRIDED
        .split_once(".visible")
        .unwrap()
        .1
        .replace(" k(", " l(");
    let file = folder.file("a.ptx", format!("{STRIDED}.visible{second}"));
    let all = ptx(&["lint", "--only", "uncoalesced", &file]);
    assert!(
        all.out.contains(":13:") && all.out.contains(":26:"),
        "{}",
        all.out
    );
    for option in ["--function", "--kernel"] {
        let one = ptx(&["lint", "--only", "uncoalesced", option, "l", &file]);
        assert!(
            !one.out.contains(":13:") && one.out.contains(":26:"),
            "{}",
            one.out
        );
        let errors = folder.file(
            "b.ptx",
            format!("{STRIDED}.visible{second}").replace("ret;", "rett;"),
        );
        let one = ptx(&["check", "--format", "short", option, "l", &errors]);
        assert_eq!(one.out.lines().count(), 1, "{}", one.out);
        let unknown = ptx(&["check", option, "m", &file]);
        assert_eq!(unknown.status, 2);
        assert!(
            unknown.err.contains("no function `m` with a body"),
            "{}",
            unknown.err
        );
    }
}

/// The targets in the names of files are in the order of their numbers.
#[test]
fn files_of_directories_are_in_natural_order() {
    let folder = Folder::new("natural-order");
    for name in [
        "k.sm_100.ptx",
        "k.sm_90.ptx",
        "k.sm_90a.ptx",
        "k10.ptx",
        "k9.ptx",
        "k.ptx",
    ] {
        folder.file(name, BAD);
    }
    let path = folder.0.to_str().unwrap();
    let run = ptx(&["check", "--format", "short", path]);
    let names: Vec<&str> = run
        .out
        .lines()
        .filter_map(|line| line.strip_prefix(path)?.get(1..)?.split(':').next())
        .collect();
    let expected = [
        "k.ptx",
        "k.sm_90.ptx",
        "k.sm_90a.ptx",
        "k.sm_100.ptx",
        "k9.ptx",
        "k10.ptx",
    ];
    assert_eq!(names, expected, "{}", run.out);
}

#[test]
fn the_number_of_a_target_is_enough() {
    let name = with_input(&["requires", "--target", "sm_90a", "-"], GOOD.as_bytes());
    let number = with_input(&["requires", "--target", "90a", "-"], GOOD.as_bytes());
    assert_eq!((number.status, &number.out), (name.status, &name.out));
    assert!(name.out.contains("sm_90a"), "{}", name.out);
    let run = with_input(&["requires", "--target", "901", "-"], GOOD.as_bytes());
    assert_eq!(run.status, 2);
    assert!(run.err.contains("unknown target 901"), "{}", run.err);
}

/// A text without functions has no graphs, which is said.
#[test]
fn missing_functions_are_noted() {
    let header = ".version 8.0\n.target sm_80\n.address_size 64\n";
    for (command, note) in [
        ("cfg", "ptxkit: no function with a body\n"),
        ("callgraph", "ptxkit: <stdin>: no functions\n"),
    ] {
        let run = with_input(&[command, "-"], header.as_bytes());
        assert_eq!((run.status, run.err.as_str()), (0, note), "{command}");
    }
}
