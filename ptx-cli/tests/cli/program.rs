//! What all commands share: inputs, exit statuses, streams.

use std::io::Read;
use std::process::Stdio;

use crate::support::{BAD, Folder, GOOD, command, expect, ptx, with_input};

#[test]
fn directories_are_searched_in_order() {
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
fn output_is_deterministic() {
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
fn usage_errors() {
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
fn any_input_is_accepted() {
    let inputs: [&[u8]; 5] = [
        b"",
        b"\xff\x80\x01\x02",
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
fn a_closed_pipe_is_not_an_error() {
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
