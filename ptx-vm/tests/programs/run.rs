//! Runs the steps of a program.

use ptx_vm::{Checks, Launch, Machine};

use super::case::{self, Data, Line, Part, Place};
use super::compare;

/// A run of a program.
struct Run<'m> {
    machine: Machine<'m>,
    /// The addresses of the buffers.
    buffers: Vec<u64>,
    /// What the next launch fails with.
    error: Option<String>,
    output: Vec<u8>,
    checks: Checks,
}

/// Runs the steps of a program with the kernels of a module; the checkers find nothing.
pub(crate) fn run(text: &str, module: &[u8], checks: Checks) -> Result<(), String> {
    let parsed = ptx_parse::parse(module);
    if let Some(error) = parsed.diagnostics.first() {
        return Err(error.message.to_string());
    }
    let mut run = Run {
        machine: Machine::new(&parsed.module),
        buffers: Vec::new(),
        error: None,
        output: Vec::new(),
        checks,
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
                // What has no content is zero.
                self.machine.set_written(address, *bytes);
                self.write(address, content)?;
            }
            Line::Variable(name, content) => {
                let (address, _) = self.machine.variable(name).ok_or("no such variable")?;
                self.write(address, content)?;
            }
            Line::Write(to, content) => self.write(self.address(*to), content)?,
            Line::Fill(to, bytes, value) => self.store(self.address(*to), &vec![*value; *bytes])?,
            Line::Copy { to, from, bytes } => {
                let content = self.machine.read(self.address(*from), *bytes);
                let content = content.map_err(|e| e.to_string())?;
                self.store(self.address(*to), &content)?;
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
                    Place::Buffer(at) => self.address(*at),
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
        launch.checks = self.checks;
        let result = self.machine.launch(&launch);
        // What a checker reports does not end the launch.
        let result = match self.machine.reports().first() {
            Some(report) => Err(format!(
                "{}: {}",
                report.diagnostic(),
                report.at.instruction
            )),
            None => result.map_err(|e| e.to_string()),
        };
        match (result, self.error.take()) {
            (Ok(outcome), None) => {
                self.output = outcome.output;
                Ok(())
            }
            (Err(error), None) => Err(error),
            (Ok(_), Some(words)) => Err(format!("no error with the words {words:?}")),
            (Err(error), Some(words)) if error.contains(&words) => Ok(()),
            (Err(error), Some(words)) => Err(format!("{error}: not {words:?}")),
        }
    }

    fn write(&mut self, address: u64, content: &Data) -> Result<(), String> {
        self.store(address, &self.bytes(content))
    }

    fn store(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let written = self.machine.write(address, bytes);
        written.map_err(|e| e.to_string())
    }

    fn address(&self, at: case::Pointer) -> u64 {
        self.buffers[at.buffer] + at.offset
    }

    /// The bytes of a content, with the addresses of the buffers.
    fn bytes(&self, data: &Data) -> Vec<u8> {
        let mut bytes = Vec::new();
        for part in data {
            match part {
                Part::Bytes(all) => bytes.extend(all),
                Part::Pointer(to) => {
                    bytes.extend(self.address(*to).to_le_bytes());
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
