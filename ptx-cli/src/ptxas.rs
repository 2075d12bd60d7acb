//! Runs ptxas with `-v` and reads its report: metrics of the machine code, which only ptxas knows, and messages.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context, Result};
use ptx_report::clean;
use ptx_report::function_stats::MachineCode;
use ptx_report::sass::{self, AssemblerMessage};

/// The metrics of functions by their names.
type MachineCodes = HashMap<String, MachineCode>;

/// What ptxas compiles.
#[derive(Copy, Clone)]
pub(crate) struct Job<'a> {
    pub(crate) ptxas: &'a Path,
    pub(crate) target: &'a str,
    pub(crate) source: &'a [u8],
}

/// A compiled module.
pub(crate) struct Compiled {
    /// The metrics of the functions.
    pub(crate) machine_code: MachineCodes,
    /// What ptxas prints about the code.
    pub(crate) messages: Vec<AssemblerMessage>,
}

impl Job<'_> {
    /// Compiles a module without keeping the machine code. The inner error is the first message of ptxas if it refuses the module.
    pub(crate) fn compile(self) -> Result<Result<Compiled, String>> {
        self.run(
            Path::new(if cfg!(windows) { "NUL" } else { "/dev/null" }),
            &[],
        )
    }

    /// Compiles a module with the PTX lines of all machine instructions, and writes the machine code to a file. A module that calls functions
    /// of other modules is compiled as a part of a program.
    pub(crate) fn assemble(self, cubin: &Path) -> Result<Result<Compiled, String>> {
        match self.run(cubin, &["--generate-line-info"])? {
            Err(refusal) if refusal.contains("Unresolved extern") => {
                self.run(cubin, &["--generate-line-info", "--compile-only"])
            }
            result => Ok(result),
        }
    }

    fn run(self, output: &Path, options: &[&str]) -> Result<Result<Compiled, String>> {
        let mut child = Command::new(self.ptxas)
            .arg("-v")
            .arg(format!("-arch={}", self.target))
            .args(options)
            .arg("-o")
            .arg(output)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| self.ptxas.display().to_string())?;
        let stdin = child.stdin.take();
        let output = thread::scope(|scope| {
            // ptxas may end without reading everything.
            scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(self.source)));
            child.wait_with_output()
        })?;
        let report = [output.stdout, output.stderr].concat();
        let report = String::from_utf8_lossy(&report);
        if !output.status.success() {
            let line = report
                .lines()
                .find(|line| line.contains("error") || line.contains("fatal"))
                .unwrap_or("no message");
            return Ok(Err(clean(line).into_owned()));
        }
        let mut machine_code = read(&report);
        let messages = sass::messages(&report);
        for message in &messages {
            let function = message.function.as_ref();
            if let Some(code) = function.and_then(|name| machine_code.get_mut(name)) {
                code.messages.push(message.clone());
            }
        }
        Ok(Ok(Compiled {
            machine_code,
            messages,
        }))
    }
}

/// Reads a report.
fn read(report: &str) -> MachineCodes {
    let mut functions = MachineCodes::new();
    let mut name = "";
    for line in report.lines() {
        let text = line.split_once(" : ").map_or(line, |(_, text)| text).trim();
        if let Some(function) = text.strip_prefix("Function properties for ") {
            name = function;
            functions.entry(name.to_owned()).or_default();
        }
        let Some(code) = functions.get_mut(name) else {
            continue;
        };
        for item in text.split(", ") {
            let item = item.trim_start_matches("Used ").trim_start_matches("used ");
            let Some((number, metric)) = item.split_once(' ') else {
                continue;
            };
            let Ok(number) = number.parse() else {
                continue;
            };
            match metric {
                "registers" => code.registers = Some(number),
                "barriers" => code.barriers = number,
                "bytes stack frame" => code.stack_bytes = number,
                "bytes spill stores" => code.spill_store_bytes = number,
                "bytes spill loads" => code.spill_load_bytes = number,
                "bytes smem" => code.shared_bytes = number,
                _ => {}
            }
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_ptxas() {
        let report = "\
ptxas info    : 311 bytes gmem, 48 bytes cmem[3]
ptxas info    : Function properties for f
    16 bytes stack frame, 24 bytes spill stores, 8 bytes spill loads
ptxas info    : Compile time = 31.792 ms
ptxas info    : Compiling entry function 'k' for 'sm_89'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 28 registers, used 1 barriers, 40 bytes cumulative stack size, 512 bytes smem, 372 bytes cmem[0]
";
        let functions = read(report);
        let f = MachineCode {
            stack_bytes: 16,
            spill_store_bytes: 24,
            spill_load_bytes: 8,
            ..MachineCode::default()
        };
        let k = MachineCode {
            registers: Some(28),
            barriers: 1,
            shared_bytes: 512,
            ..MachineCode::default()
        };
        assert_eq!(functions, HashMap::from([("f".into(), f), ("k".into(), k)]));
    }
}
