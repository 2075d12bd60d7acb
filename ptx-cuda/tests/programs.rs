//! Programs in CUDA C++, compiled by the `nvcc` that `NVCC` names, which check themselves.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test"
)]

mod support;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The source files of a program: a file, or the files of a folder.
fn sources(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The text after a mark in a comment of the sources.
fn comment(sources: &[PathBuf], mark: &str) -> Option<String> {
    sources.iter().find_map(|path| {
        let text = fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(mark));
        line.map(str::to_owned)
    })
}

/// Compiles and runs a program; the reason for which it fails.
fn run(nvcc: &str, program: &Path, folder: &Path) -> Result<(), String> {
    let sources = sources(program);
    let executable = folder.join(program.file_stem().unwrap());
    let mut compiler = Command::new(nvcc);
    compiler.args(["-cudart", "shared", "-std=c++17"]);
    compiler.args(["-gencode", "arch=compute_80,code=compute_80", "-L"]);
    compiler
        .arg(folder)
        .args(&sources)
        .arg("-o")
        .arg(&executable);
    if let Some(flags) = comment(&sources, "// flags: ") {
        compiler.args(flags.split(' '));
    }
    let output = compiler.output().unwrap();
    if !output.status.success() {
        return Err(format!(
            "does not compile: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let mut command = Command::new(&executable);
    command.env("LD_LIBRARY_PATH", folder);
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}\n{text}{errors}", output.status));
    }
    match comment(&sources, "// expect: ") {
        Some(expected) if text != expected.replace("\\n", "\n") => {
            Err(format!("expected the output {expected}, found {text}"))
        }
        _ => Ok(()),
    }
}

#[test]
fn programs_run() {
    let Ok(nvcc) = env::var("NVCC") else {
        eprintln!("skipped: the variable NVCC does not name a compiler");
        return;
    };
    let folder = support::library_folder("programs");
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let mut failed = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(programs).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension != "cu") {
            continue;
        }
        count += 1;
        if let Err(reason) = run(&nvcc, &path, &folder) {
            failed.push(format!("{}: {reason}", path.display()));
        }
    }
    fs::remove_dir_all(folder).unwrap();
    assert!(count >= 30);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
