//! What all commands share: inputs, exit statuses, streams.

use std::io::Read;
use std::process::Stdio;

use crate::support::{
    BAD, Folder, GOOD, command, expect, not_found, objects, ptx, with_input, with_slashes,
};

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
        .filter_map(|l| Some(with_slashes(l.strip_prefix(root)?.split(':').next()?)))
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
        &["debug", "parse", root][..],
        &["dump", "--analysis", root],
        &["stats", "--json", root],
        &["debug", "roundtrip", root],
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
    let run = ptx(&["debug", "parse", root]);
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
}

/// All commands that read PTX, with the options that they need.
const READERS: [&[&str]; 23] = [
    &["callgraph"],
    &["cfg"],
    &["check"],
    &["clean"],
    &["debug", "parse"],
    &["debug", "roundtrip"],
    &["debug", "tokens"],
    &["dump"],
    &["dump", "--analysis"],
    &["extract", "--kernel", "k"],
    &["flatten"],
    &["fmt"],
    &["gate", "--no-config", "--max", "loops=0"],
    &["grep", "add*"],
    &["instrument", "--probe", "trace"],
    &["link"],
    &["minify"],
    &["renumber"],
    &["requires"],
    &["retarget", "--target", "sm_90"],
    &["source"],
    &["stats"],
    &["strip"],
];

#[test]
fn inputs_that_match_no_file_are_errors() {
    let folder = Folder::new("no-files");
    let empty = folder.0.to_str().unwrap();
    folder.file("note.txt", GOOD);
    for command in READERS {
        for (input, message) in [
            ("no/such.ptx", "ptxkit: no/such.ptx: "),
            (empty, ": no .ptx file in this directory\n"),
        ] {
            let run = ptx(&[command, &[input]].concat());
            assert_eq!(run.status, 2, "{command:?} {input}");
            assert!(run.err.contains(message), "{command:?}: {}", run.err);
        }
    }
}

/// Options of the program are options of each command.
#[test]
fn every_command_takes_the_options_of_the_program() {
    let folder = Folder::new("global-options");
    let file = folder.file("a.ptx", GOOD);
    for command in READERS {
        let plain = ptx(&[command, &[&file]].concat());
        assert!(plain.status <= 1, "{command:?}: {}", plain.err);
        let quiet = [
            "--quiet",
            "--jobs",
            "1",
            "--color",
            "never",
            "--no-demangle",
            &file,
        ];
        let quiet = ptx(&[command, &quiet].concat());
        assert_eq!(
            (quiet.status, &quiet.out),
            (plain.status, &plain.out),
            "{command:?}"
        );
        let verbose = ptx(&[command, &["-v", "-j2", &file]].concat());
        assert!(
            verbose.err.contains(" bytes read in "),
            "{command:?}: {}",
            verbose.err
        );
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
    let run = ptx(&["-V"]);
    expect(
        &run,
        0,
        concat!("ptxkit ", env!("CARGO_PKG_VERSION"), "\n"),
        "",
    );
    assert!(ptx(&["--help"]).out.contains("Examples:"));
    for command in [
        &["check"][..],
        &["fmt"],
        &["debug", "parse"],
        &["stats"],
        &["debug", "roundtrip"],
        &["debug", "tokens"],
        &["explain"],
    ] {
        let run = ptx(&[command, &["--help"]].concat());
        assert!(run.out.contains("Examples:"), "{command:?}");
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
            &["debug", "parse", "-"],
            &["stats", "-"],
            &["debug", "tokens", "-"],
            &["debug", "tokens", "--json", "-"],
            &["debug", "roundtrip", "-"],
            &["dump", "--analysis", "-"],
        ] {
            let run = with_input(arguments, input);
            assert!(run.status <= 1, "{arguments:?} {input:?}: {}", run.err);
        }
        let run = with_input(&["debug", "roundtrip", "-"], input);
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
        &["debug", "tokens", &file][..],
        &["debug", "tokens", "--json", &file],
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
fn inputs_that_cannot_be_read_in_json() {
    let folder = Folder::new("unreadable");
    let good = folder.file("good.ptx", GOOD);
    let empty = folder.0.join("empty");
    std::fs::create_dir(&empty).unwrap();
    let missing = folder.0.join("missing.ptx");
    let (empty, missing) = (empty.to_str().unwrap(), missing.to_str().unwrap());
    let cubin = folder.file("k.cubin", b"\x7fELF\x02\x01\x01\0");
    for arguments in [
        "check --format json",
        "gate --no-config --max blocks=9 --format json",
        "requires --json",
        "retarget --json --target sm_80",
        "clean --explain --json",
        "link --json",
        "fmt --check --json",
        "debug parse --json",
        "stats --json",
        "source --json",
        "debug roundtrip --json",
        "dump",
        "dump --analysis",
        "dump --format json",
        "cfg --format json",
        "callgraph --format json",
        "grep * --json",
        "debug tokens --json",
        "list --json",
    ] {
        let mut all: Vec<&str> = arguments.split(' ').collect();
        let directory = if all[0] == "list" { missing } else { empty };
        all.extend([missing, &good, directory, &cubin]);
        let run = ptx(&all);
        assert_eq!(run.status, 2, "{arguments}: {}", run.err);
        let objects = objects(&run.out);
        let failed: Vec<_> = objects
            .iter()
            .filter(|o| o.get("error").is_some())
            .collect();
        let files: Vec<_> = failed.iter().map(|o| o["file"].as_str().unwrap()).collect();
        // `list` shows what there is in any file.
        let expected = [missing, directory, &cubin];
        let count = if all[0] == "list" { 2 } else { 3 };
        assert_eq!(files, expected[..count], "{arguments}");
        let first = &objects[0];
        assert_eq!(
            (&first["schema"], &first["file"]),
            (&1.into(), &missing.into())
        );
        let error = first["error"].as_str().unwrap();
        assert_eq!(error, not_found());
        assert!(
            run.err.contains(&format!("ptxkit: {missing}: {error}")),
            "{}",
            run.err
        );
        assert_eq!(first.as_object().unwrap().len(), 3);
    }
    let run = ptx(&["diff", "--json", missing, &good]);
    assert_eq!((run.status, objects(&run.out).len()), (2, 1));
    assert_eq!(ptx(&["debug", "parse", missing]).out, "");
}
