//! The machine that runs the steps of a program. A report of a checker is an error.

use ptx_vm::{Array, ArrayDescription, Checks, Launch, Machine, TextureDescription};

use super::case;
use super::run::Host;

/// A machine with checkers.
pub struct Checked<'m> {
    machine: Machine<'m>,
    checks: Checks,
    arrays: Vec<Array>,
}

impl<'m> Checked<'m> {
    pub fn new(machine: Machine<'m>, checks: Checks) -> Self {
        Self {
            machine,
            checks,
            arrays: Vec::new(),
        }
    }

    fn array(&self, number: usize) -> Result<Array, String> {
        self.arrays
            .get(number)
            .copied()
            .ok_or("no such array".into())
    }
}

fn describe(error: impl ToString) -> String {
    error.to_string()
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

    fn create_array(&mut self, array: &case::Array) -> Result<(), String> {
        let channel = array.format.parse().map_err(describe)?;
        let description = ArrayDescription::with_shape(&array.geometry, &array.shape, channel)
            .map_err(describe)?
            .levels(array.levels);
        let array = self.machine.create_array(&description);
        self.arrays.push(array.map_err(describe)?);
        Ok(())
    }

    fn write_level(&mut self, level: case::Level, bytes: &[u8]) -> Result<(), String> {
        let array = self.array(level.array)?;
        let written = self.machine.write_array(array, level.level, bytes);
        written.map_err(describe)
    }

    fn read_level(&mut self, level: case::Level) -> Result<Vec<u8>, String> {
        let array = self.array(level.array)?;
        self.machine
            .read_array(array, level.level)
            .map_err(describe)
    }

    fn create_texture(
        &mut self,
        array: usize,
        properties: &[(String, String)],
    ) -> Result<u64, String> {
        let mut description = TextureDescription::default();
        for (name, value) in properties {
            description.set(name, value).map_err(describe)?;
        }
        let array = self.array(array)?;
        let texture = self.machine.create_texture(array, &description);
        texture.map_err(describe)
    }

    fn create_surface(&mut self, level: case::Level) -> Result<u64, String> {
        let array = self.array(level.array)?;
        let surface = self.machine.create_surface(array, level.level);
        surface.map_err(describe)
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
