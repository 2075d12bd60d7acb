//! `cargo xtask ci --nightly`: everything that has random inputs, with another seed each day. What fails is added to the files that the steps
//! `regressions`, `oracle` and `fuzz` repeat.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Result, bail};

use super::steps::{assembler_command, clients};
use super::{Context, StepRun, TestProgram, WORKSPACE};

/// Seconds for which each fuzz target runs.
const FUZZ_SECONDS: &str = "120";

const REGRESSIONS: &str = "tools/conformance/regressions/tests.tsv";

/// Runs all tests, comparisons and fuzz targets with the seed of the context.
pub(super) fn run(context: &Context) -> Result<()> {
    println!("seed {}", context.seed);
    let log = context.target.join("logs/nightly.txt");
    let _ = fs::remove_file(&log);
    let step = StepRun { context, log };
    let mut failed = Vec::new();
    let (tests, all_passed) = failed_tests(&step)?;
    file_tests(&context.root.join(REGRESSIONS), &tests)?;
    // A program that was killed names no failed test.
    if !all_passed {
        failed.push("tests");
    }
    let mut oracle = assembler_command(&step, context.built("oracle"))?;
    oracle.args(["ci", "--require-ptxas", "--file-failures"]);
    if step.execute(&mut oracle).is_err() {
        failed.push("comparisons with ptxas");
    }
    if !fuzz(&step)? {
        failed.push("fuzz targets");
    }
    let mut growth = step.command(".ci/growth")?;
    if step.execute(growth.arg(context.built("ptxkit"))).is_err() {
        failed.push("cost on inputs of double size");
    }
    if cfg!(target_os = "linux") && step.script("sanitize", &[]).is_err() {
        failed.push("tests with AddressSanitizer");
    }
    if clients(&step, &[OsStr::new("--nightly")]).is_err() {
        failed.push("CUDA libraries from PyPI and crates.io");
    }
    if step.script("install", &[]).is_err() {
        failed.push("commands of the guides that install something");
    }
    if !failed.is_empty() {
        println!("{}", fs::read_to_string(&step.log).unwrap_or_default());
        bail!("failed with seed {}: {}", context.seed, failed.join(", "));
    }
    Ok(())
}

/// Runs every test program. Returns a line for each test that failed (seed, package, program and test), and whether all programs succeeded.
fn failed_tests(step: &StepRun<'_>) -> Result<(Vec<String>, bool)> {
    step.cargo("build", &WORKSPACE)?;
    let (mut lines, mut all_passed) = (Vec::new(), true);
    for program in step.build_tests(&[])? {
        let mut command = step.command(&program.executable)?;
        let output = command
            .current_dir(step.context.root.join(&program.package))
            .stdout(Stdio::piped())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        step.write_line(&text)?;
        println!(
            "{} {}: {}",
            program.package.display(),
            program.name,
            output.status
        );
        if !output.status.success() {
            all_passed = false;
            lines.extend(lines_of_failures(&program, &text, &step.context.seed));
        }
    }
    Ok((lines, all_passed))
}

/// The tests that the output of a program names as failed.
fn lines_of_failures(program: &TestProgram, output: &str, seed: &str) -> Vec<String> {
    let package = program.package.display();
    let failed = output.lines().filter_map(|line| {
        let test = line.strip_prefix("test ")?.strip_suffix(" ... FAILED")?;
        let name = test.split_whitespace().next()?;
        Some(format!("{seed}\t{package}\t{}\t{name}", program.name))
    });
    failed.collect()
}

fn file_tests(file: &Path, lines: &[String]) -> Result<()> {
    let mut text = fs::read_to_string(file)?;
    for line in lines {
        if !text.lines().any(|filed| filed == line) {
            text += line;
            text.push('\n');
        }
    }
    fs::write(file, text)?;
    Ok(())
}

/// Runs each fuzz target; returns whether all hold. An input that fails is copied to the saved inputs of its target.
fn fuzz(step: &StepRun<'_>) -> Result<bool> {
    let folder = step.context.root.join("tools/fuzz");
    let mut holds = true;
    for line in fs::read_to_string(folder.join("targets.txt"))?.lines() {
        let target = line.split(' ').next().unwrap_or_default();
        let before = artifacts(&folder)?;
        let mut command = step.command("cargo")?;
        command
            .args(["run", "--quiet", "--release", "--bin", "run", "--", target])
            .args(["--seconds", FUZZ_SECONDS, "--seed", &step.context.seed])
            .env("CARGO_TARGET_DIR", step.context.target.join("fuzz"))
            .current_dir(&folder);
        if step.execute(&mut command).is_ok() {
            continue;
        }
        holds = false;
        let saved = folder.join("corpus").join(target);
        fs::create_dir_all(&saved)?;
        for name in artifacts(&folder)?.difference(&before) {
            if name.to_string_lossy().starts_with(target) {
                fs::copy(folder.join("artifacts").join(name), saved.join(name))?;
            }
        }
    }
    Ok(holds)
}

/// The names of the inputs that fuzz targets failed on.
fn artifacts(folder: &Path) -> Result<BTreeSet<OsString>> {
    let mut names = BTreeSet::new();
    if let Ok(entries) = fs::read_dir(folder.join("artifacts")) {
        for entry in entries {
            names.insert(entry?.file_name());
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::TestProgram;
    use super::lines_of_failures;

    #[test]
    fn failed_tests_are_filed_with_their_seed() {
        let program = TestProgram {
            package: PathBuf::from("ptx-vm"),
            name: "suite".to_owned(),
            executable: PathBuf::new(),
        };
        let output = "running 3 tests\ntest a::b ... ok\ntest c::d ... FAILED\ntest e - should panic ... FAILED\n";
        let expected = ["7\tptx-vm\tsuite\tc::d", "7\tptx-vm\tsuite\te"];
        assert_eq!(lines_of_failures(&program, output, "7"), expected);
    }
}
