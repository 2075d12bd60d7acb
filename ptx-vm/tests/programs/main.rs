//! Runs the programs of `corpus/src/programs` and compares with what the CPU computed: `corpus/README.md` describes the files.
//! `PROGRAMS` names another folder with programs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // test helpers outside #[test] functions

mod case;
mod compare;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use case::{Data, Line, Part, Place};
use libtest_mimic::{Arguments, Trial};
use ptx_vm::{Launch, Machine};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/compiled");
    let own = std::env::var_os("PROGRAMS").map(PathBuf::from);
    let mut files: Vec<PathBuf> = fs::read_dir(own.unwrap_or(compiled.join("programs")))
        .expect("the programs")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut trials = Vec::new();
    for file in files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "case"))
    {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(file).expect("a text");
        let lines = case::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let named = lines.iter().filter_map(|line| match line {
            Line::Module(path) => Some(compiled.join(path)),
            _ => None,
        });
        let prefix = format!("{name}.");
        let own = files.iter().filter(|f| {
            let of = f.file_name().unwrap_or_default().to_string_lossy();
            of.starts_with(&prefix) && of.ends_with(".ptx")
        });
        for module in named.chain(own.cloned()) {
            let kernels = module.file_stem().unwrap_or_default().to_string_lossy();
            let title = match kernels.strip_prefix(&prefix) {
                Some(variant) => format!("{name}::{variant}"),
                None => format!("{name}::{kernels}"),
            };
            let text = text.clone();
            trials.push(Trial::test(title, move || Ok(run(&text, &module)?)));
        }
    }
    trials.push(Trial::test("differences_are_found", || {
        Ok(differences_are_found()?)
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// A run of a program.
struct Run<'m> {
    machine: Machine<'m>,
    /// The addresses of the buffers.
    buffers: Vec<u64>,
    /// What the next launch fails with.
    error: Option<String>,
    output: Vec<u8>,
}

/// Runs the steps of a program with the kernels of a file.
fn run(text: &str, module: &Path) -> Result<(), String> {
    let source = fs::read(module).map_err(|e| e.to_string())?;
    let parsed = ptx_parse::parse(&source);
    if let Some(error) = parsed.diagnostics.first() {
        return Err(error.message.to_string());
    }
    let mut run = Run {
        machine: Machine::new(&parsed.module),
        buffers: Vec::new(),
        error: None,
        output: Vec::new(),
    };
    for (n, line) in case::parse(text)?.iter().enumerate() {
        run.line(line).map_err(|e| format!("line {}: {e}", n + 1))?;
    }
    Ok(())
}

impl Run<'_> {
    fn line(&mut self, line: &Line) -> Result<(), String> {
        match line {
            Line::Module(_) => {}
            Line::Buffer(bytes, content) => {
                let address = self.machine.allocate(*bytes).ok_or("no memory")?;
                self.buffers.push(address);
                self.write(address, content)?;
            }
            Line::Variable(name, content) => {
                let (address, _) = self.machine.variable(name).ok_or("no such variable")?;
                self.write(address, content)?;
            }
            Line::Launch(launch) => self.launch(launch)?,
            Line::Error(words) => self.error = Some(words.clone()),
            Line::Output(expected) => {
                if sorted(&self.output) != sorted(expected) {
                    let output = String::from_utf8_lossy(&self.output);
                    return Err(format!("it printed {output:?}"));
                }
            }
            Line::Expect(expected) => {
                let address = match &expected.place {
                    Place::Buffer(at) => self.buffers[at.buffer] + at.offset,
                    Place::Variable(name) => self.machine.variable(name).ok_or("no variable")?.0,
                };
                let data = self.bytes(&expected.data);
                let found = self.machine.read(address, data.len());
                let found = found.map_err(|e| e.to_string())?;
                compare::compare(&found, &data, expected.ty, expected.allowed)?;
            }
        }
        Ok(())
    }

    fn launch(&mut self, of: &case::Launch) -> Result<(), String> {
        let mut launch = Launch::new(&of.kernel);
        (launch.grid, launch.block) = (of.grid, of.block);
        (launch.cluster, launch.shared) = (of.cluster, of.shared);
        launch.arguments = of.arguments.iter().map(|a| self.bytes(a)).collect();
        launch.limits.steps = 20_000_000;
        match (self.machine.launch(&launch), self.error.take()) {
            (Ok(outcome), None) => {
                self.output = outcome.output;
                Ok(())
            }
            (Err(error), None) => Err(error.to_string()),
            (Ok(_), Some(words)) => Err(format!("no error with the words {words:?}")),
            (Err(error), Some(words)) if error.to_string().contains(&words) => Ok(()),
            (Err(error), Some(words)) => Err(format!("{error}: not {words:?}")),
        }
    }

    fn write(&mut self, address: u64, content: &Data) -> Result<(), String> {
        let bytes = self.bytes(content);
        let written = self.machine.write(address, &bytes);
        written.map_err(|e| e.to_string())
    }

    /// The bytes of a content, with the addresses of the buffers.
    fn bytes(&self, data: &Data) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in data {
            match part {
                Part::Bytes(all) => bytes.extend(all),
                Part::Pointer(to) => {
                    let address = self.buffers[to.buffer] + to.offset;
                    bytes.extend(address.to_le_bytes());
                }
            }
        }
        bytes
    }
}

/// The lines of a text, sorted: blocks may run in any order.
fn sorted(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
    lines.sort_unstable();
    lines
}

/// A result that differs from the expected one by more than allowed is reported.
fn differences_are_found() -> Result<(), String> {
    use case::{Allowed, Type};
    let check = |a: f32, b: f32, allowed| {
        compare::compare(&a.to_le_bytes(), &b.to_le_bytes(), Type::F32, allowed).is_ok()
    };
    let next = f32::from_bits(1.0f32.to_bits() + 1);
    let cases = [
        (check(1.0, 1.0, Allowed::Exact), true),
        (check(1.0, next, Allowed::Exact), false),
        (check(next, 1.0, Allowed::Ulps(1)), true),
        (check(-0.0, f32::from_bits(3), Allowed::Ulps(2)), false),
        (check(100.0, 101.0, Allowed::Relative(0.005)), false),
        (check(100.0, 101.0, Allowed::Absolute(1.0)), true),
        (check(f32::NAN, 1.0, Allowed::Absolute(1.0)), false),
    ];
    match cases.iter().position(|(found, expected)| found != expected) {
        Some(n) => Err(format!("comparison {n}")),
        None => Ok(()),
    }
}
