//! The machine that runs the steps of a program. A report of a checker is an error.

use ptx_vm::{Checks, Launch, Machine};

use super::case;
use super::run::Host;

/// A machine with checkers.
pub struct Checked<'m> {
    machine: Machine<'m>,
    checks: Checks,
}

impl<'m> Checked<'m> {
    pub fn new(machine: Machine<'m>, checks: Checks) -> Self {
        Self { machine, checks }
    }
}

impl Host for Checked<'_> {
    fn allocate(&mut self, bytes: u64) -> Result<u64, String> {
        let address = self.machine.allocate(bytes).ok_or("no memory")?;
        // Buffers begin as zeros, so the checkers count them as written.
        self.machine.set_written(address, bytes);
        Ok(address)
    }

    fn variable(&mut self, name: &str) -> Result<u64, String> {
        let (address, _) = self.machine.variable(name).ok_or("no such variable")?;
        Ok(address)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.machine
            .write(address, bytes)
            .map_err(|e| e.to_string())
    }

    fn read(&mut self, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
        self.machine.read(address, bytes).map_err(|e| e.to_string())
    }

    fn launch(
        &mut self,
        step: &case::Launch,
        arguments: Vec<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, String> {
        let mut launch = Launch::new(&step.kernel);
        launch.grid = step.grid;
        launch.block = step.block;
        launch.cluster = step.cluster;
        launch.shared = step.shared;
        launch.arguments = arguments;
        launch.limits.steps = 20_000_000;
        launch.checks = self.checks;
        let result = self.machine.launch(&launch);
        // A report of a checker does not end the launch.
        match self.machine.reports().first() {
            Some(report) => Err(format!(
                "{}: {}",
                report.diagnostic(),
                report.at.instruction
            )),
            None => match result {
                Ok(outcome) => Ok(Some(outcome.output)),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    fn survives_errors(&self) -> bool {
        true
    }
}
