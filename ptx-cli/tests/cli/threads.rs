//! The number of threads changes no output.

use std::fs;
use std::path::Path;

use crate::support::{Folder, command};

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
    let commands: [&[&str]; 5] = [
        &["check", "--warn", "all", "--format", "short"],
        &["requires"],
        &["analyze"],
        &["stats", "--json"],
        &["callgraph"],
    ];
    for arguments in commands {
        let run = |threads: &str| {
            let mut command = command(arguments);
            command.arg(&file).env("RAYON_NUM_THREADS", threads);
            let output = command.output().unwrap();
            assert!(!output.stdout.is_empty(), "{arguments:?}");
            (output.status.code(), output.stdout, output.stderr)
        };
        assert!(run("1") == run("4"), "{arguments:?}");
    }
}
