//! The number of threads changes no output.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{Folder, GOOD, command, ptx};

#[test]
fn output_does_not_depend_on_the_number_of_threads() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/compiled/nvcc");
    let text = fs::read_to_string(corpus.join("cub_algorithms.big.sm_80.ptx")).unwrap();
    // Wrong types, undeclared names and syntax errors here and there.
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (i, line) in lines.iter_mut().enumerate().filter(|(i, _)| i % 997 == 0) {
        *line = match i % 3 {
            0 => line.replace(".u32", ".f16"),
            1 => line.replace("%r1", "%s1"),
            _ => line.replace(',', ",,"),
        };
    }
    let folder = Folder::new("threads");
    let file = folder.file("wrong.ptx", lines.join("\n"));
    let commands: &[&[&str]] = &[
        &["check", "--warn", "all", "--format", "short"],
        &["requires"],
        &["dump", "--analysis"],
        &["stats", "--json"],
        &["callgraph"],
        #[cfg(feature = "table")]
        &["table", "--table", "functions", "--format", "ndjson"],
    ];
    for &arguments in commands {
        let run = |command: &mut Command| {
            let output = command.arg(&file).output().unwrap();
            assert!(!output.stdout.is_empty(), "{arguments:?}");
            (output.status.code(), output.stdout, output.stderr)
        };
        let one = run(command(arguments).args(["--jobs", "1"]));
        for threads in ["1", "4"] {
            let other = run(command(arguments).env("RAYON_NUM_THREADS", threads));
            assert!(one == other, "{arguments:?} {threads}");
        }
    }
}

/// Each thread writes to standard error.
#[test]
fn details_of_several_files_are_written() {
    let folder = Folder::new("threads_details");
    let files = ["a.ptx", "b.ptx"].map(|name| folder.file(name, GOOD));
    let mut arguments = vec!["check", "-v"];
    arguments.extend(files.iter().map(String::as_str));
    let run = ptx(&arguments);
    assert_eq!((run.status, run.out.as_str()), (0, ""), "{}", run.err);
    assert_eq!(run.err.matches("bytes read in").count(), 2, "{}", run.err);
}
