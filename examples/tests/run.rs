//! Each example runs on a file of the corpus and says what it should.
#![allow(clippy::unwrap_used)] // test helpers outside #[test] functions

use std::process::Command;

fn run(program: &str, file: &str) -> String {
    let file = format!("{}/../corpus/{file}", env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(program).arg(file).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

const FILE: &str = "compiled/nvcc/nbody.O3.sm_86.ptx";

#[test]
fn kernels() {
    let text = run(env!("CARGO_BIN_EXE_kernels"), FILE);
    assert!(
        text.contains("  parameter ") && text.contains(" registers .b32\n"),
        "{text}"
    );
}

#[test]
fn global_loads() {
    let text = run(env!("CARGO_BIN_EXE_global_loads"), FILE);
    assert!(
        text.lines().all(|l| l.contains(" bytes")) && text.contains(": 4 bytes"),
        "{text}"
    );
}

#[test]
fn reformat() {
    let text = run(env!("CARGO_BIN_EXE_reformat"), FILE);
    assert!(
        text.starts_with("//\n") && text.contains("\n    ret;\n}\n"),
        "{text}"
    );
}

#[test]
fn pressure() {
    let text = run(env!("CARGO_BIN_EXE_pressure"), FILE);
    assert!(
        text.contains("  .global: read by ")
            && text.contains(" registers of 32 bits alive in line "),
        "{text}"
    );
}
