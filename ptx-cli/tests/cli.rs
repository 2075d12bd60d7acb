//! The program as its users meet it: exit statuses, streams, formats.

#[cfg(test)]
mod support {
    use std::ffi::OsStr;
    use std::fs;
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    /// A module without mistakes that is not in the canonical style.
    pub(crate) const GOOD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\n\
        // doubles its parameter\n.visible .entry k(.param .u64 p)\n{\n   .reg .b32 %r<4>;\n   .reg .b64 %rd<3>;\n\
        \x20  .shared .align 4 .f32 tile[4][0x8];\n\n   ld.param.u64 %rd1, [p];\n   ld.global.u32 %r1, [%rd1];\n\
        again:\n   add.s32 %r2, %r1, %r1;\n   st.global.u32 [%rd1], %r2;\n   ret;\n}\n";

    /// A module with one mistake, in line 6.
    pub(crate) const BAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n    bogus.u32 1;\n    ret;\n}\n";

    /// A folder of its own for a test, empty at first.
    pub(crate) struct Folder(pub(crate) PathBuf);

    impl Folder {
        pub(crate) fn new(test: &str) -> Self {
            let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            path.to_str().unwrap().to_owned()
        }
    }

    /// What a run of the program gave.
    pub(crate) struct Run {
        pub(crate) status: i32,
        pub(crate) out: String,
        pub(crate) err: String,
    }

    pub(crate) fn command<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptxkit"));
        command.args(arguments).stdin(Stdio::null());
        command
    }

    pub(crate) fn ptx<S: AsRef<OsStr>>(arguments: &[S]) -> Run {
        with_input(arguments, b"")
    }

    pub(crate) fn with_input<S: AsRef<OsStr>>(arguments: &[S], input: &[u8]) -> Run {
        let mut child = command(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The program may end without reading.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Run {
            status: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Asserts all three parts of a run.
    #[track_caller]
    pub(crate) fn expect(run: &Run, status: i32, out: &str, err: &str) {
        assert_eq!(run.out, out, "standard output");
        assert_eq!(run.err, err, "standard error");
        assert_eq!(run.status, status, "exit status");
    }
}

use std::fs;
use std::io::Read;
use std::process::Stdio;

use serde_json::Value;
use support::{BAD, Folder, GOOD, command, expect, ptx, with_input};

fn objects(text: &str) -> Vec<Value> {
    let lines = text.lines();
    lines.filter_map(|l| serde_json::from_str(l).ok()).collect()
}

#[test]
fn a_good_file_is_quiet() {
    let folder = Folder::new("good");
    let file = folder.file("a.ptx", GOOD);
    for format in ["human", "short", "json"] {
        expect(&ptx(&["check", "--format", format, &file]), 0, "", "");
    }
}

#[test]
fn a_mistake_is_pictured() {
    let run = with_input(&["check", "-"], BAD.as_bytes());
    assert_eq!(run.status, 1);
    assert_eq!(run.err, "1 error in 1 of 1 file\n");
    let start = "error[PTX0104]: `bogus` is no instruction of PTX\n --> <stdin>:6:5\n  |\n\
        6 |     bogus.u32 1;\n  |     ^^^^^\n";
    assert!(run.out.starts_with(start), "{}", run.out);
    assert!(run.out.ends_with("\n\n"), "{}", run.out);
}

#[test]
fn colours_only_on_demand() {
    let colored = with_input(&["check", "--color", "always", "-"], BAD.as_bytes());
    assert!(colored.out.contains("\u{1b}["));
    for when in ["auto", "never"] {
        let plain = with_input(&["check", "--color", when, "-"], BAD.as_bytes());
        assert!(!plain.out.contains('\u{1b}'));
    }
}

#[test]
fn a_mistake_in_a_line() {
    let run = with_input(&["check", "--format", "short", "-"], BAD.as_bytes());
    let line = "<stdin>:6:5: error[PTX0104]: `bogus` is no instruction of PTX\n";
    expect(&run, 1, line, "");
}

#[test]
fn a_mistake_as_json() {
    let run = with_input(&["check", "--format", "json", "-"], BAD.as_bytes());
    assert_eq!((run.status, run.err.as_str()), (1, ""));
    let found = objects(&run.out);
    assert_eq!(found.len(), 1);
    let found = &found[0];
    assert_eq!(found["schema"], 1);
    assert_eq!(found["file"], "<stdin>");
    assert_eq!(found["code"], "PTX0104");
    assert_eq!(found["severity"], "error");
    assert_eq!(found["message"], "`bogus` is no instruction of PTX");
    let start = BAD.find("bogus").unwrap();
    let span = serde_json::json!({
        "start": start, "end": start + 5,
        "line": 6, "column": 5, "end_line": 6, "end_column": 10,
    });
    assert_eq!(found["span"], span);
    assert!(found["labels"].is_array());
    assert!(found.get("help").is_some());
}

#[test]
fn labels_are_part_of_json() {
    let twice = GOOD.replace("again:", ".reg .b32 %a;\n.reg .b32 %a;");
    let run = with_input(&["check", "--format", "json", "-"], twice.as_bytes());
    let found = objects(&run.out);
    assert_eq!(found.len(), 1, "{}", run.out);
    let label = &found[0]["labels"][0];
    assert!(label["message"].is_string());
    assert_eq!(label["span"]["line"].as_u64(), Some(14), "{}", run.out);
    assert_eq!(found[0]["span"]["line"].as_u64(), Some(15), "{}", run.out);
}

#[test]
fn errors_can_be_limited() {
    let bad = BAD.replace("ret;", "bogus;\n    bogus;\n    ret;");
    let check = |most: &str| {
        let arguments = ["check", "--format", "short", "--max-errors", most, "-"];
        with_input(&arguments, bad.as_bytes())
    };
    for (most, shown, note) in [
        ("0", 0, "<stdin>: 3 more errors not shown\n"),
        ("2", 2, "<stdin>: 1 more error not shown\n"),
        ("3", 3, ""),
        ("99", 3, ""),
    ] {
        let run = check(most);
        assert_eq!(run.out.lines().count(), shown);
        assert_eq!(run.err, note);
        assert_eq!(run.status, 1);
    }
}

#[test]
fn warnings_do_not_fail_unless_denied() {
    let newer = GOOD.replace("8.0", "9.3");
    let run = with_input(&["check", "--format", "short", "-"], newer.as_bytes());
    assert!(run.out.contains("<stdin>:1:1") || run.out.contains("<stdin>:1:10"));
    assert!(run.out.contains(": warning[PTX0305]: "), "{}", run.out);
    assert_eq!(run.status, 0);
    let run = with_input(&["check", "--deny-warnings", "-"], newer.as_bytes());
    assert_eq!(run.err, "1 warning in 1 of 1 file\n");
    assert_eq!(run.status, 1);
}

#[test]
fn folders_are_searched_in_order() {
    let folder = Folder::new("folders");
    for name in [
        "b.ptx",
        "a/z.ptx",
        "a/b/c.ptx",
        "a.ptx",
        "note.txt",
        "a/ptx",
    ] {
        folder.file(name, BAD);
    }
    let root = folder.0.to_str().unwrap();
    let run = ptx(&["check", "--format", "short", &format!("{root}/b.ptx"), root]);
    let files: Vec<_> = run
        .out
        .lines()
        .filter_map(|l| l.strip_prefix(root)?.split(':').next())
        .collect();
    let order = ["/b.ptx", "/a/b/c.ptx", "/a/z.ptx", "/a.ptx", "/b.ptx"];
    assert_eq!(files, order);
    assert_eq!(run.status, 1);
}

#[test]
fn many_files_give_the_same_bytes_every_time() {
    let folder = Folder::new("many");
    for i in 0..200 {
        folder.file(&format!("{i:03}.ptx"), if i % 3 == 0 { BAD } else { GOOD });
    }
    let root = folder.0.to_str().unwrap();
    for arguments in [
        &["check", root][..],
        &["parse", root],
        &["stats", "--json", root],
        &["roundtrip", root],
        &["fmt", "--check", root],
    ] {
        let first = ptx(arguments);
        let second = ptx(arguments);
        assert!(!first.out.is_empty());
        assert!(
            first.out == second.out && first.err == second.err,
            "{arguments:?}"
        );
    }
    let run = ptx(&["parse", root]);
    let names: Vec<_> = run
        .out
        .lines()
        .filter_map(|l| l.split(": ").next())
        .collect();
    assert_eq!(names.len(), 200);
    assert!(names.is_sorted());
}

#[test]
fn a_missing_file_does_not_hide_the_others() {
    let run = with_input(
        &["check", "--format", "short", "no/such.ptx", "-"],
        BAD.as_bytes(),
    );
    assert!(run.out.starts_with("<stdin>:6:5: "));
    assert!(run.err.starts_with("ptxkit: no/such.ptx: "), "{}", run.err);
    assert_eq!(run.err.lines().count(), 1);
    assert_eq!(run.status, 2);
    for verb in ["fmt", "parse", "stats", "roundtrip", "tokens"] {
        let run = ptx(&[verb, "no/such.ptx"]);
        assert_eq!(run.status, 2, "{verb}");
        assert!(run.err.contains("no/such.ptx"), "{verb}");
    }
}

#[test]
fn a_wrong_command_line_is_misuse() {
    for arguments in [
        &[][..],
        &["bogus"],
        &["check"],
        &["check", "--format", "xml", "-"],
        &["check", "-", "-"],
        &["fmt", "--check", "--write", "x.ptx"],
        &["fmt", "--write", "-"],
        &["fmt", "--indent", "many", "-"],
        &["explain", "PTX0000"],
    ] {
        let run = ptx(arguments);
        assert_eq!(run.status, 2, "{arguments:?}");
        assert_eq!(run.out, "", "{arguments:?}");
        assert!(!run.err.is_empty(), "{arguments:?}");
    }
}

#[test]
fn help_and_version() {
    let run = ptx(&["--version"]);
    expect(
        &run,
        0,
        concat!("ptxkit ", env!("CARGO_PKG_VERSION"), "\n"),
        "",
    );
    assert!(ptx(&["--help"]).out.contains("Examples:"));
    for verb in [
        "check",
        "fmt",
        "parse",
        "stats",
        "roundtrip",
        "tokens",
        "explain",
    ] {
        let run = ptx(&[verb, "--help"]);
        assert!(run.out.contains("Examples:"), "{verb}");
        assert_eq!(run.status, 0);
    }
}

#[test]
fn any_bytes_are_read() {
    let inputs: [&[u8]; 5] = [
        b"",
        b"\xff\xfe\x00\x01",
        b"\xef\xbb\xbf.version 8.0\r\n",
        b"{{{{((((\"",
        b"// \xc3\xa4\n.version 8.0\n.target sm_90\n// \xff\n.b\xe9d\n",
    ];
    for input in inputs {
        for arguments in [
            &["check", "-"][..],
            &["check", "--format", "json", "-"],
            &["fmt", "-"],
            &["parse", "-"],
            &["stats", "-"],
            &["tokens", "-"],
            &["tokens", "--json", "-"],
            &["roundtrip", "-"],
        ] {
            let run = with_input(arguments, input);
            assert!(run.status <= 1, "{arguments:?} {input:?}: {}", run.err);
        }
        let run = with_input(&["roundtrip", "-"], input);
        assert_eq!(run.status, 0, "{}", run.out);
    }
}

#[test]
fn bytes_that_are_no_text_keep_their_columns() {
    let source = BAD.replace("    bogus", "/* \u{e4}\u{fffd} */ bogus");
    let source = source.replace('\u{fffd}', "@");
    let bytes: Vec<u8> = source
        .bytes()
        .map(|b| if b == b'@' { 0xff } else { b })
        .collect();
    let run = with_input(&["check", "-"], &bytes);
    assert!(run.out.contains("<stdin>:6:11\n"), "{}", run.out);
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(lines[3], "6 | /* ä\u{fffd} */ bogus.u32 1;");
    assert_eq!(lines[4], "  |          ^^^^^");
}

#[test]
fn long_lines_are_cut() {
    let filler = "ret; ".repeat(40_000);
    let source = BAD.replace("    bogus", &format!("{filler}bogus"));
    let source = source.replace("1;", &format!("1; {filler}"));
    let run = with_input(&["check", "-"], source.as_bytes());
    assert!(run.out.len() < 1000, "{} bytes", run.out.len());
    assert!(run.out.contains("<stdin>:6:200001\n"), "{}", run.out);
    assert!(run.out.contains("ret; bogus.u32 1; ret;"), "{}", run.out);
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let folder = Folder::new("pipe");
    let file = folder.file(
        "long.ptx",
        BAD.replace("    ret;\n", &"bogus;\n".repeat(100_000)),
    );
    for arguments in [
        &["tokens", &file][..],
        &["tokens", "--json", &file],
        &["check", &file],
        &["check", "--format", "json", &file],
    ] {
        let mut child = command(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut start = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut start).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

#[test]
fn fmt_writes_to_standard_output() {
    let folder = Folder::new("fmt");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&["fmt", &file]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(run.out.contains("// doubles its parameter"));
    assert!(
        run.out.contains("\n\tadd.s32 %r2, %r1, %r1;\n"),
        "{}",
        run.out
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), GOOD);
    let again = with_input(&["fmt", "-"], run.out.as_bytes());
    assert_eq!(again.out, run.out);
    let spaces = ptx(&["fmt", "--indent", "4", &file]);
    assert!(spaces.out.contains("\n    add.s32 "), "{}", spaces.out);
}

#[test]
fn fmt_checks() {
    let folder = Folder::new("fmt-check");
    let ugly = folder.file("ugly.ptx", GOOD);
    let pretty = folder.file("pretty.ptx", ptx(&["fmt", &ugly]).out);
    expect(&ptx(&["fmt", "--check", &pretty]), 0, "", "");
    let run = ptx(&["fmt", "--check", &ugly, &pretty]);
    expect(&run, 1, &format!("{ugly}\n"), "");
}

#[test]
fn fmt_rewrites() {
    let folder = Folder::new("fmt-write");
    let ugly = folder.file("ugly.ptx", GOOD);
    let pretty = ptx(&["fmt", &ugly]).out;
    expect(&ptx(&["fmt", "--write", &ugly]), 0, "", "");
    assert_eq!(fs::read_to_string(&ugly).unwrap(), pretty);

    // A file that is in the style already is not touched.
    let before = fs::metadata(&ugly).unwrap().modified().unwrap();
    expect(&ptx(&["fmt", "--write", &ugly]), 0, "", "");
    assert_eq!(fs::metadata(&ugly).unwrap().modified().unwrap(), before);
}

#[test]
fn fmt_leaves_files_with_errors_alone() {
    let folder = Folder::new("fmt-errors");
    let bad = folder.file("bad.ptx", BAD);
    let line = format!("{bad}:6:5: error[PTX0104]: `bogus` is no instruction of PTX\n");
    for arguments in [
        &["fmt", &bad][..],
        &["fmt", "--check", &bad],
        &["fmt", "--write", &bad],
    ] {
        expect(&ptx(arguments), 1, "", &line);
        assert_eq!(fs::read_to_string(&bad).unwrap(), BAD);
    }
}

#[test]
fn roundtrips_are_judged() {
    let folder = Folder::new("roundtrip");
    let good = folder.file("good.ptx", GOOD);
    let bad = folder.file("bad.ptx", BAD);
    let run = ptx(&["roundtrip", &good, &bad]);
    let out = format!("{good}: ok\n{bad}: ok (verbatim; 1 error)\n2 passed, 0 failed\n");
    expect(&run, 0, &out, "");
}

#[test]
fn a_file_in_one_line() {
    let line =
        "<stdin>: PTX 8.0, sm_90, 1 function, 13 statements, 5 instructions, 0 errors, 0 warnings";
    let run = with_input(&["parse", "-"], GOOD.as_bytes());
    expect(&run, 0, &format!("{line}\n"), "");
    let run = with_input(&["parse", "-"], b"");
    let line = "<stdin>: no version, no target, 0 functions, 0 statements, 0 instructions, 1 error, 0 warnings\n";
    expect(&run, 1, line, "");
}

#[test]
fn reading_is_timed() {
    let folder = Folder::new("timing");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&["parse", "--timing", &file, &file]);
    assert_eq!(run.status, 0);
    let lines: Vec<_> = run.out.lines().collect();
    assert_eq!(lines.len(), 3);
    for (line, bytes) in lines.iter().zip([1, 1, 2]) {
        let bytes = bytes * GOOD.len();
        assert!(line.contains(&format!(" {bytes} bytes, 0.0")), "{line}");
        assert!(line.contains(" MB/s, peak "), "{line}");
    }
    assert!(lines[2].starts_with("total: "));
}

/// A loop in a loop, with a barrier.
const LOOPS: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .pred %p<3>;\n\
    a: b: setp.eq.s32 %p1, 1, 2;\nbar.sync 0;\n@%p1 bra b;\n@%p2 bra a;\nret;\n}\n";

#[test]
fn statistics_count() {
    let folder = Folder::new("stats");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&["stats", "--json", "--mnemonics", &file, &file]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let found = objects(&run.out);
    assert_eq!(found.len(), 3);
    let one = serde_json::json!({
        "schema": 1, "kind": "file", "file": file, "files": 1,
        "bytes": GOOD.len(), "lines": 18, "errors": 0, "warnings": 0,
        "functions": {"kernels": 1, "device": 0, "declarations": 0},
        "statements": 13, "instructions": 5, "labels": 1,
        "comments": {"count": 1, "bytes": 24},
        "memory": {"const": 0, "global": 0, "local": 0, "shared": 128},
        "registers": {
            ".b32": {"declared": 4, "used": 2},
            ".b64": {"declared": 3, "used": 1},
        },
        "opcodes": {"add": 1, "ld": 2, "ret": 1, "st": 1},
        "mnemonics": {
            "add.s32": 1, "ld.global.u32": 1, "ld.param.u64": 1, "ret": 1, "st.global.u32": 1,
        },
        "per_function": [{
            "name": "k", "kind": "entry", "instructions": 5,
            "families": {"control": 1, "integer": 1, "movement": 3},
            "blocks": 2, "loops": 0, "loop_depth": 0, "barriers": 0,
            "pressure": {
                "max_b32_units": 3,
                "by_class": {"pred": 0, "b8": 0, "b16": 0, "b32": 1, "b64": 1, "b128": 0},
            },
            "memory": [
                {"space": "global", "access": "read", "bytes": 4, "count": 1},
                {"space": "global", "access": "write", "bytes": 4, "count": 1},
                {"space": "param", "access": "read", "bytes": 8, "count": 1},
            ],
        }],
    });
    assert_eq!(found[0], one);
    assert_eq!(found[1], one);
    let total = &found[2];
    assert_eq!(total["kind"], "total");
    assert_eq!((total.get("file"), total.get("per_function")), (None, None));
    assert_eq!(total["instructions"], 10);
    assert_eq!(total["memory"]["shared"], 256);
    assert_eq!(total["registers"][".b32"]["used"], 4);
    assert_eq!(total["mnemonics"]["ld.param.u64"], 2);

    let run = ptx(&["stats", &file]);
    assert!(run.out.starts_with(&format!("{file}:\n")), "{}", run.out);
    assert!(run.out.contains("    .b32  2 used of 4\n"), "{}", run.out);
    assert!(
        run.out
            .contains("  kernel k:\n    instructions                5\n"),
        "{}",
        run.out
    );
    assert!(
        run.out.contains("      read param, 8 bytes    1\n"),
        "{}",
        run.out
    );
    assert!(!run.out.contains("ld.param"), "{}", run.out);
    let run = ptx(&["stats", "--json", &folder.file("b.ptx", LOOPS)]);
    let found = &objects(&run.out)[0]["per_function"][0];
    let wanted = (2.into(), 2.into(), 1.into());
    assert_eq!(
        (&found["loops"], &found["loop_depth"], &found["barriers"]),
        (&wanted.0, &wanted.1, &wanted.2)
    );
}

#[test]
fn tokens_are_listed() {
    let run = with_input(&["tokens", "-"], b"a\xff\n\"x\"");
    let out = "0..1 1:1 ident \"a\"\n1..2 1:2 unknown \"\\xff\"\n2..3 1:3 whitespace \"\\n\"\n\
        3..6 2:1 string \"\\\"x\\\"\"\n";
    expect(&run, 0, out, "");
    let run = with_input(&["tokens", "--json", "-"], b"a\xff\n\"x\"");
    let found = objects(&run.out);
    assert_eq!(found.len(), 4);
    assert_eq!(found[1]["kind"], "unknown");
    assert_eq!(found[1]["text"], "\u{fffd}");
    assert_eq!(found[2]["trivia"], true);
    assert_eq!(found[3]["span"]["column"], 1);
}

#[test]
fn codes_are_explained() {
    let line = "PTX0104: an instruction that PTX does not know\n";
    let page = include_str!("../pages/PTX0104.md");
    assert!(page.contains(line));
    expect(&ptx(&["explain", "PTX0104"]), 0, page, "");
    expect(&ptx(&["explain", "104"]), 0, page, "");
    assert!(ptx(&["explain"]).out.contains(line));
    let run = ptx(&["explain", "PTX0199"]);
    assert_eq!((run.status, run.out.as_str()), (2, ""));
    assert!(run.err.contains("PTX0201"), "{}", run.err);
    let run = ptx(&["explain", "bogus"]);
    assert_eq!(run.status, 2);
}

/// What is said of some instructions is what the files under `expect/explain` say; `PTX_BLESS=1` rewrites them.
#[test]
fn instructions_are_explained() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/expect/explain");
    for name in [
        "add",
        "add.rn.ftz.f32",
        "wgmma",
        "wgmma.mma_async",
        "tcgen05.mma",
    ] {
        let run = ptx(&["explain", name]);
        let file = format!("{folder}/{name}.txt");
        if std::env::var_os("PTX_BLESS").is_some() {
            std::fs::write(&file, &run.out).unwrap();
        }
        expect(&run, 0, &std::fs::read_to_string(&file).unwrap(), "");
    }
    expect(
        &ptx(&["explain", "wgmma.mma_asnyc"]),
        2,
        "",
        "ptxkit: `.mma_asnyc` is no modifier of PTX; the nearest is `.mma_async`\n",
    );
}

/// Two registers of one name, a loop, a guarded write, a dead block, and a call.
const FLOW: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.func g()\n{\n call g;\n ret;\n}\n.entry k()\n{\n\
    .reg .b32 %r<4>;\n.reg .pred %p;\n mov.b32 %r1, 0;\nL:\n add.s32 %r1, %r1, 1;\n @%p mov.b32 %r2, %r1;\n\
    { .reg .b32 %r2; mov.b32 %r2, 5; }\n setp.lt.s32 %p, %r1, 9;\n @!%p bra L;\n ret;\n bra L;\n}\n";

#[test]
fn functions_are_analysed() {
    let folder = Folder::new("analyze");
    let file = folder.file("a.ptx", FLOW);
    let run = ptx(&["analyze", "--json", "--insts", &file]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let found = objects(&run.out);
    let kernel = &found[0]["functions"][1];
    assert_eq!((&kernel["name"], &kernel["line"]), (&"k".into(), &9.into()));
    let blocks = kernel["blocks"].as_array().unwrap();
    assert_eq!(blocks.len(), 4);
    let body = serde_json::json!({
        "id": 1, "label": "L", "first_line": 14, "last_line": 19, "succ": [1, 2], "exits": false,
        "unknown": false, "reachable": true, "idom": 0, "ipdom": 2, "loop_header": 1, "loop_depth": 1,
        "uses": ["%r1", "%p"], "kills": ["%r1", "%r2#2", "%p"], "defs": ["%r1", "%r2", "%r2#2", "%p"],
        "returned": [], "live_in": ["%p", "%r1"], "live_out": ["%p", "%r1"],
    });
    assert_eq!(blocks[1], body);
    assert_eq!(
        (&blocks[2]["exits"], &blocks[2]["ipdom"]),
        (&true.into(), &Value::Null)
    );
    assert_eq!(
        (&blocks[3]["reachable"], &blocks[3]["idom"]),
        (&false.into(), &Value::Null)
    );
    assert_eq!(blocks[3]["live_in"], serde_json::json!(["%p", "%r1"]));
    let guarded = serde_json::json!({
        "line": 16, "block": 1, "mnemonic": "mov.b32", "guard": "%p", "reads": ["%p", "%r1"], "writes": [],
        "cond_writes": ["%r2"], "memory": [], "side_effects": false, "known": true,
    });
    assert_eq!(kernel["insts"][2], guarded);
    assert_eq!(kernel["pressure"]["max_b32_units"], 2);
    assert!(
        ptx(&["analyze", &file])
            .out
            .contains("k: 4 blocks, 1 loops up to 1 deep")
    );
}

#[test]
fn graphs_are_drawn() {
    let folder = Folder::new("graphs");
    let file = folder.file("a.ptx", FLOW);
    for (format, wanted) in [
        ("dot", "b1 -> b1 [label=\"!%p\"]"),
        ("mermaid", "b1 -->|\"!%p\"| b1"),
        (
            "json",
            "{\"from\":1,\"to\":1,\"kind\":\"jump\",\"guard\":\"!%p\"}",
        ),
        ("svg", ">!%p</text>"),
        ("svg", ">@!%p bra L;</text>"),
    ] {
        let run = ptx(&["cfg", "--format", format, "--function", "k", &file]);
        assert_eq!((run.status, run.err.as_str()), (0, ""));
        assert!(run.out.contains(wanted), "{}", run.out);
        let again = ptx(&["cfg", "--format", format, "--function", "k", &file]);
        assert_eq!(run.out, again.out, "same input, same bytes");
    }
    assert_eq!(ptx(&["cfg", "--function", "nobody", &file]).status, 2);
    assert_eq!(ptx(&["cfg", "--format", "svg", &file]).status, 2);
    let run = ptx(&["callgraph", "--format", "json", &file]);
    let node = &objects(&run.out)[0]["functions"][0];
    assert_eq!(
        (&node["calls"], &node["recursive"]),
        (&serde_json::json!(["g"]), &true.into())
    );
}

#[test]
fn instructions_are_found() {
    let folder = Folder::new("grep");
    let file = folder.file("a.ptx", GOOD);
    let run = ptx(&[
        "grep",
        "ld.*",
        "--where",
        "bytes>=4 && space==global && !guarded",
        &file,
    ]);
    expect(
        &run,
        0,
        &format!("{file}:13: ld.global.u32 %r1, [%rd1];\n"),
        "",
    );
    expect(
        &ptx(&["grep", "ld.*", "--where", "atomic", &file]),
        1,
        "",
        "",
    );
    assert_eq!(ptx(&["grep", "ld.*", "--where", "bytes", &file]).status, 2);
    let run = ptx(&["grep", "st*", "--json", &file]);
    assert_eq!(objects(&run.out)[0]["line"], 16);
}

#[test]
fn a_broken_rule_is_named() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.const .u32 c;\n.entry k() {\n.reg .u32 %a;\n\
        ld.volatile.const.u32 %a, [c];\nret; }\n";
    let run = with_input(&["check", "--format", "short", "-"], text.as_bytes());
    let said = "violates: not allowed: .ss is one of .const";
    assert!(run.out.contains(said), "{}", run.out);
}

#[test]
fn kinds_of_warnings() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {\n.reg .b32 %a;\nadd.sat.sat.s32 %a, %a, 1;\nL:\nret; }\n";
    let check = |args: &[&str]| {
        let mut all = vec!["check", "--format", "short", "-"];
        all.extend(args);
        let run = with_input(&all, text.as_bytes());
        (run.status, run.out)
    };
    let (status, out) = check(&[]);
    assert_eq!(
        (status, out.matches("warning[PTX0516]").count()),
        (0, 1),
        "{out}"
    );
    let (status, out) = check(&["--allow", "ignored-modifier"]);
    assert_eq!((status, out.as_str()), (0, ""));
    let (status, out) = check(&["--deny", "PTX0516"]);
    assert_eq!(
        (status, out.matches("error[PTX0516]").count()),
        (1, 1),
        "{out}"
    );
    let (status, out) = check(&["--warn", "unused"]);
    assert_eq!((status, out.matches("PTX0702").count()), (0, 1), "{out}");
    let (status, _) = check(&["--warn", "nonsense"]);
    assert_eq!(status, 2);
}

const CLUSTERS: &str = "// kept\n.version 8.7 // and this\n.target sm_90\n.address_size 64\n.entry k() { griddepcontrol.wait; ret; }\n";

#[test]
fn what_a_file_requires() {
    let run = with_input(&["requires", "-"], CLUSTERS.as_bytes());
    assert!(
        run.out.contains("sm_90 and newer from PTX 7.8"),
        "{}",
        run.out
    );
    assert!(run.out.contains("5:14: griddepcontrol.wait"), "{}", run.out);
    assert_eq!(run.status, 0);
    let run = with_input(
        &["requires", "--target", "sm_80", "--json", "-"],
        CLUSTERS.as_bytes(),
    );
    let object = &objects(&run.out)[0];
    assert_eq!(object["minimal"][0]["target"], "sm_90");
    assert_eq!(object["minimal"][0]["ptx"], "7.8");
    assert_eq!(
        object["blocked"]["reasons"][0]["what"],
        "griddepcontrol.wait"
    );
    assert_eq!(run.status, 1);
}

#[test]
fn another_target_in_the_header() {
    let run = with_input(
        &[
            "retarget",
            "--target",
            "sm_90a",
            "--ptx-version",
            "lowest",
            "-",
        ],
        CLUSTERS.as_bytes(),
    );
    let wanted = CLUSTERS.replace("8.7", "8.0").replace("sm_90", "sm_90a");
    assert_eq!((run.status, run.out), (0, wanted));
    let run = with_input(&["retarget", "--target", "sm_80", "-"], CLUSTERS.as_bytes());
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    assert!(
        run.err.contains("<stdin>:5:14: error[PTX0513]"),
        "{}",
        run.err
    );
}

/// A copy, a constant, an address of known space, dead and unreachable code.
const UNTIDY: &str = "\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
    .reg .b32 %r<5>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [p]; // the pointer
    cvta.global.u64 %d2, %d1;
    mov.b64 %d3, %d2;
    mov.u32 %r1, 6;
    mul.lo.u32 %r2, %r1, 7;
    st.u32 [%d3+4], %r2;
    bra out;
    add.u32 %r3, %r2, 1;
unused:
out:
    ret;
}
";

#[test]
fn a_file_is_cleaned_up() {
    let head = UNTIDY.split("    cvta").next().unwrap();
    let run = with_input(&["clean", "-"], UNTIDY.as_bytes());
    let wanted = format!(
        "{head}    cvta.global.u64 %d2, %d1;\n    st.global.u32 [%d2+4], 42;\n    bra out;\nout:\n    ret;\n}}\n"
    );
    assert_eq!((run.status, run.out.as_str()), (0, wanted.as_str()));
    let again = with_input(&["clean", "-"], wanted.as_bytes());
    assert_eq!((again.status, again.out), (0, wanted));

    let run = with_input(
        &["clean", "--copies", "--unreachable", "-"],
        UNTIDY.as_bytes(),
    );
    let wanted = UNTIDY
        .replace("[%d3+4]", "[%d2+4]")
        .replace("    add.u32 %r3, %r2, 1;\nunused:\n", "");
    assert_eq!((run.status, run.out), (0, wanted));
}

#[test]
fn every_change_is_explained() {
    let run = with_input(
        &["clean", "--explain", "--spaces", "--unreachable", "-"],
        UNTIDY.as_bytes(),
    );
    assert_eq!(
        (run.status, run.out.as_str()),
        (
            0,
            "<stdin>:13: st.u32 [%d3+4], %r2;: spaces: %d3 is an address in .global\n\
             <stdin>:15: add.u32 %r3, %r2, 1;: unreachable: control never gets here\n\
             <stdin>:16: unused:: unreachable: nothing mentions it\n"
        )
    );
    let run = with_input(
        &["clean", "-"],
        UNTIDY.replace("%r1, 6", "%r1 6").as_bytes(),
    );
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    assert!(run.err.contains("<stdin>:11"), "{}", run.err);
    assert!(run.err.contains("not written"), "{}", run.err);
}

#[test]
fn probes_at_every_access() {
    let folder = Folder::new("instrument");
    let (good, sites) = (folder.file("good.ptx", GOOD), folder.file("sites.tsv", ""));
    let run = ptx(&[
        "instrument",
        "--probe",
        "trace",
        "--records",
        "100",
        "--sites",
        &sites,
        &good,
    ]);
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    assert!(
        run.out.contains(".b8 ptx_trace_records[3200];\n"),
        "{}",
        run.out
    );
    assert_eq!(run.out.matches(" call ptx_trace_record, (").count(), 2);
    let listed = std::fs::read_to_string(&sites).unwrap();
    let wanted = "id\tfunction\tline\twhen\tinstruction\n0\tk\t13\tafter\tld.global.u32 %r1, [%rd1];\n1\tk\t16\tbefore\tst.global.u32 [%rd1], %r2;\n";
    assert_eq!(listed, wanted);

    let arguments = [
        "instrument",
        "--probe",
        "bounds",
        "--low",
        "0x10",
        "--high",
        "32",
        "--name",
        "b",
        "-",
    ];
    let run = with_input(&arguments, GOOD.as_bytes());
    assert!(
        run.out.contains(".u64 b[2] = {0x10, 0x20};\n"),
        "{}",
        run.out
    );
    assert_eq!((run.status, run.out.matches(" trap;\n").count()), (0, 2));
    let again = with_input(&arguments, run.out.as_bytes());
    let said = "<stdin>: not written: the name `b` is taken; --name gives another one\n";
    assert_eq!(
        (again.status, again.out.as_str(), again.err.as_str()),
        (1, "", said)
    );

    let run = with_input(&["instrument", "--probe", "trace", "-"], BAD.as_bytes());
    assert_eq!((run.status, run.out.as_str()), (1, ""));
    let run = with_input(
        &["instrument", "--probe", "bounds", "--space", "param", "-"],
        GOOD.as_bytes(),
    );
    assert_eq!((run.status, run.out.as_str()), (2, ""));
}

#[test]
fn names_and_text_rewritten() {
    use support::{BAD, GOOD, ptx, with_input};

    let run = with_input(&["rename", "k=kernel", "%r=%x", "-"], GOOD.as_bytes());
    assert_eq!((run.status, run.err.as_str()), (0, ""));
    let wanted = GOOD
        .replace(".entry k", ".entry kernel")
        .replace("%r<", "%x<")
        .replace("%r1", "%x1")
        .replace("%r2", "%x2");
    assert_eq!(run.out, wanted);
    for (words, status, said) in [
        (&["%r=%rd"][..], 1, "line 13"),
        (&["tile=%tid"], 1, "no name that can be declared"),
        (&["none=some"], 1, "nothing is named `none`"),
        (&["--function", "none", "p=q"], 1, "nothing is named `none`"),
        (&["tile"], 2, "`tile` is not OLD=NEW"),
        (&[], 2, "nothing to rename"),
    ] {
        let arguments = [&["rename"], words, &["-"]].concat();
        let run = with_input(&arguments, GOOD.as_bytes());
        assert_eq!((run.status, run.out.as_str()), (status, ""), "{words:?}");
        assert!(run.err.contains(said), "{words:?}: {}", run.err);
    }

    let run = with_input(&["strip", "-"], GOOD.as_bytes());
    let wanted = GOOD.replace("// doubles its parameter\n", "");
    assert_eq!((run.status, run.out, run.err.as_str()), (0, wanted, ""));

    let run = with_input(&["minify", "-"], GOOD.as_bytes());
    let small = ".version 8.0 .target sm_90 .address_size 64 .visible.entry k(.param.u64 c){.reg.b32 a<2>;.reg.b64 b<1>;\
        .shared.align 4 .f32 aa[4][0x8];ld.param.u64 b0,[c];ld.global.u32 a0,[b0];d:add.s32 a1,a0,a0;st.global.u32[b0],a1;ret;}";
    assert_eq!((run.status, run.out.as_str()), (0, small));
    let sizes = format!("{} bytes became {} ", GOOD.len(), small.len());
    assert!(
        run.err.starts_with(&format!("<stdin>: {sizes}")),
        "{}",
        run.err
    );

    let run = with_input(&["renumber", "-"], GOOD.as_bytes());
    assert!(run.out.contains(".reg .b32 %r<2>;\n"), "{}", run.out);
    assert!(run.out.contains("add.s32 %r1, %r0, %r0;\n"), "{}", run.out);

    let run = with_input(&["flatten", "-"], GOOD.as_bytes());
    assert_eq!((run.status, run.out.as_str()), (0, GOOD));
    for command in ["strip", "minify", "renumber", "flatten"] {
        let run = with_input(&[command, "-"], BAD.as_bytes());
        assert_eq!((run.status, run.out.as_str()), (1, ""), "{command}");
        assert_eq!(ptx(&[command]).status, 2);
    }
}
