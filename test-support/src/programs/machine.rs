//! The machine that runs the steps of a program; the checkers find nothing.

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
        // What has no content is zero.
        self.machine.set_written(address, bytes);
        Ok(address)
    }

    fn variable(&mut self, name: &str) -> Result<u64, String> {
        let (address, _) = self.machine.variable(name).ok_or("no such variable")?;
        Ok(address)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        let written = self.machine.write(address, bytes);
        written.map_err(|e| e.to_string())
    }

    fn read(&mut self, address: u64, bytes: usize) -> Result<Vec<u8>, String> {
        let found = self.machine.read(address, bytes);
        found.map_err(|e| e.to_string())
    }

    fn launch(
        &mut self,
        of: &case::Launch,
        arguments: Vec<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, String> {
        let mut launch = Launch::new(&of.kernel);
        (launch.grid, launch.block) = (of.grid, of.block);
        (launch.cluster, launch.shared) = (of.cluster, of.shared);
        launch.arguments = arguments;
        launch.limits.steps = 20_000_000;
        launch.checks = self.checks;
        let result = self.machine.launch(&launch);
        // What a checker reports does not end the launch.
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
